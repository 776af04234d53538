"""A private density behind scikit-learn's methods: fit, score, sample, and a budget that stops cross-validation.

Run it: ``python examples/density_sklearn.py``. The patients are simulated; no real person is in them.
It needs ``pip install 'sfumato[estimators,ledger]'`` and pandas.
"""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.neighbors import KernelDensity

import sfumato as sf
from sfumato.errors import BudgetExceededError
from sfumato.estimators import PrivateKernelDensity

rng = np.random.default_rng(3)
age = np.concatenate([rng.normal(35, 8, size=6000), rng.normal(68, 7, size=4000)])
patients = pd.DataFrame({"age": age, "bmi": 22 + 0.06 * age + rng.normal(0, 3, size=len(age))})

# Bounds are public knowledge; they never come from the table, not even through a scaler.
bounds = {"age": (0, 110), "bmi": (10, 60)}

with tempfile.TemporaryDirectory() as folder:
    account = sf.Ledger(Path(folder) / "budget.db").account("clinic-2026", limit=sf.Privacy(epsilon=2.0))
    model = PrivateKernelDensity(bandwidth=[10.0, 5.0], bounds=bounds, epsilon=1.0, ledger=account)
    model.fit(patients)
    print(model.release_.guarantee)

    # Public points: any order of named columns will do, and points outside the bounds have density zero.
    points = pd.DataFrame({"bmi": [24.0, 27.0, 24.0], "age": [35.0, 68.0, 150.0]})
    exact = KernelDensity(bandwidth=1.0).fit(patients / [10.0, 5.0])  # not private: for comparison only
    here = exact.score_samples(points[["age", "bmi"]] / [10.0, 5.0]) - np.log(10.0 * 5.0)
    print("\n  age    bmi   log density   without privacy")
    for (_, row), private, plain in zip(points.iterrows(), model.score_samples(points), here, strict=True):
        print(f"{row['age']:5.0f}  {row['bmi']:5.1f}   {private:11.3f}   {plain:15.3f}")

    print("\nfive made-up patients (age, bmi):")
    print(model.sample(5, random_state=0).round(1))

    # Every fit spends epsilon = 1. The account has 1 left, so the second fold is refused before any noise is drawn.
    print("\ncross-validation:")
    try:
        for fold, (train, _) in enumerate(KFold(5).split(patients)):
            clone(model).fit(patients.iloc[train])
            print(f"fold {fold}: fitted, {account.remaining()}")
    except BudgetExceededError as error:
        print(f"refused: {error}")
