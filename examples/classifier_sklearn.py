"""A private classifier and a private regression behind scikit-learn's methods.

Run it: ``python examples/classifier_sklearn.py``. The patients are simulated; no real person is in them.
It needs ``pip install 'sfumato[estimators,ledger]'`` and pandas.
"""

import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sfumato as sf
from sfumato.errors import UnpaidLearningWarning
from sfumato.estimators import PrivateKernelClassifier, PrivateRidge, check_pipeline

rng = np.random.default_rng(3)
patients = pd.DataFrame({"age": rng.uniform(20, 90, size=20_000), "bmi": rng.normal(27, 5, size=20_000)})
risk = patients["age"] / 35 + patients["bmi"] / 12 - 4 + rng.normal(0, 0.4, size=len(patients))
ill = pd.Series(np.where(risk > 0, "yes", "no"), name="ill")
pressure = 70 + 0.7 * patients["age"] + 0.8 * patients["bmi"] + rng.normal(0, 8, size=len(patients))

# Bounds, classes and ranges are public knowledge; they never come from the table.
bounds = {"age": (0, 110), "bmi": (10, 60)}

with tempfile.TemporaryDirectory() as folder:
    account = sf.Ledger(Path(folder) / "budget.db").account("clinic-2026", limit=sf.Privacy(epsilon=2.0))

    model = PrivateKernelClassifier(
        "hinge", gamma=2.0, C=10.0, bounds=bounds, classes=("no", "yes"), epsilon=1.0, ledger=account
    )
    model.fit(patients, ill)  # one release: spends epsilon 1
    print(model.release_.guarantee)

    points = pd.DataFrame({"age": [30.0, 50.0, 80.0], "bmi": [20.0, 30.0, 35.0]})
    table = points.assign(ill=model.predict(points), certain=model.certain(points, confidence=0.95))
    print(f"\n{table.to_string(index=False)}")
    print(f"\nthe label is certain on {model.release_.certain_share():.0%} of the box")

    line = PrivateRidge(bounds=bounds, response_range=(60, 220), epsilon=1.0, ledger=account)
    line.fit(patients, pressure)
    slopes = zip(line.feature_names_in_, line.coef_, strict=True)
    print("\nblood pressure rises by " + ", ".join(f"{slope:.2f} for {name}" for name, slope in slopes), end=" ")
    print("(the patients were made with 0.70 and 0.80; the penalty shrinks slopes)")
    print(account.remaining())

# A scaler learns from the same patients without noise. sfumato notices it in a pipeline, and only there.
leaky = make_pipeline(StandardScaler(), PrivateRidge(bounds=(-4, 4), response_range=(60, 220)))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", UnpaidLearningWarning)
    leaky.fit(patients, pressure)
print(f"\nwarned: {caught[0].message}")
try:
    check_pipeline(leaky)
except ValueError as error:
    print(f"refused: {error}")
