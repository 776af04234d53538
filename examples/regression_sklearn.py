"""A private regression curve and a private naive Bayes classifier behind scikit-learn's methods.

Run it: ``python examples/regression_sklearn.py``. The patients are simulated; no real person is in them.
It needs ``pip install 'sfumato[estimators,ledger]'`` and pandas.
"""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import sfumato as sf
from sfumato.errors import BudgetExceededError
from sfumato.estimators import PrivateKernelSmoother, PrivateNaiveBayes

rng = np.random.default_rng(3)
age = rng.uniform(20, 90, size=20_000)
smoker = rng.choice(["never", "former", "daily"], p=[0.5, 0.3, 0.2], size=len(age))
pressure = 112 + 30 / (1 + np.exp((52 - age) / 8)) + rng.normal(0, 10, size=len(age))  # rises in middle age
risk = age / 30 + pressure / 60 + 0.8 * (smoker == "daily") - 4.6 + rng.normal(0, 0.5, size=len(age))
ill = pd.Series(np.where(risk > 0, "yes", "no"), name="ill")
patients = pd.DataFrame({"age": age, "pressure": pressure, "smoker": smoker})

with tempfile.TemporaryDirectory() as folder:
    account = sf.Ledger(Path(folder) / "budget.db").account("clinic-2026", limit=sf.Privacy(epsilon=2.0))

    # Bounds, the range of the response and all categories are public knowledge; they never come from the table.
    curve = PrivateKernelSmoother(
        bandwidth=4.0, bounds={"age": (0, 110)}, response_range=(60, 220), epsilon=1.0, ledger=account
    )
    curve.fit(patients[["age"]], patients["pressure"])  # one release: spends epsilon 1
    print(curve.guarantee_)

    points = pd.DataFrame({"age": [30.0, 50.0, 70.0, 120.0]})  # the last is moved to the bound, 110
    low, high = curve.band(points, confidence=0.95)
    table = points.assign(pressure=curve.predict(points), low=low, high=high)
    print(f"\n{table.round(1).to_string(index=False)}")
    print("(hardly anybody is 110: there the band says that the curve knows nothing)")

    bounds = {"age": (0, 110), "pressure": (60, 220), "smoker": sf.Categorical(["never", "former", "daily"])}
    model = PrivateNaiveBayes(bounds=bounds, classes=("no", "yes"), epsilon=1.0, ledger=account)
    model.fit(patients, ill)  # numbers and categories in one release: spends epsilon 1
    people = pd.DataFrame(
        {"age": [30.0, 55.0, 80.0], "pressure": [115.0, np.nan, 140.0], "smoker": ["never", "daily", "unknown"]}
    )  # a missing value, or an undeclared category, says nothing about the class
    found = people.assign(
        ill=model.predict(people), probability=model.predict_proba(people)[:, 1], certain=model.certain(people)
    )
    print(f"\n{found.round(2).to_string(index=False)}")
    print(f"\n{account.remaining()}")

    try:
        curve.fit(patients[["age"]], patients["pressure"])
    except BudgetExceededError as error:
        print(f"refused: {error}")
