"""Publish counts, means, quartiles and a statistic of your own, each with an interval, from one account.

Run it: ``python examples/everyday_statistics.py``. The patients are simulated; no real person is in them.
"""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import sfumato as sf

rng = np.random.default_rng(1)
age = np.clip(rng.gamma(9, 5, size=20_000), 0, 110)
bmi = np.where(rng.random(20_000) < 0.02, np.nan, rng.normal(22 + 0.08 * age, 4))  # some were not measured
patients = pd.DataFrame({"sex": rng.choice(["F", "M"], size=20_000), "age": age, "bmi": bmi})
box = sf.Box({"age": (0, 110), "bmi": (10, 60), "sex": sf.Categorical(["F", "M"])})


def years_above_sixty(data):
    """Whole years, so that their sum is exact; an age that is missing adds none."""
    return np.nansum(np.clip(np.rint(data["age"]) - 60, 0, 50))


with tempfile.TemporaryDirectory() as folder:
    account = sf.Ledger(Path(folder) / "budget.db").account("clinic-2026", limit=sf.Privacy(epsilon=2.0))

    def publish(statistic, epsilon):
        """One release, paid from the account."""
        return sf.release(statistic, patients, box, sf.Privacy(epsilon=epsilon), ledger=account)

    measured = publish(sf.Statistic("count", "bmi"), 0.1)
    low, high = measured.interval(confidence=0.95)
    print(f"BMI known of {measured.value:.0f} patients, between {low:.0f} and {high:.0f}")

    means = publish(sf.Statistic("mean", ["age", "bmi"]), 0.4)
    for name, value, a, b in zip(means.labels[0], means.value, *means.interval(), strict=True):
        print(f"mean {name}: {value:.2f}, between {a:.2f} and {b:.2f}")

    # Values and limits come from the same noisy counts.
    quartiles = publish(sf.Statistic("quantiles", "age"), 0.6)
    for level, value, a, b in zip(quartiles.labels[0], quartiles.value, *quartiles.interval(), strict=True):
        print(f"quantile {level} of age: {value:.2f}, between {a:.2f} and {b:.2f}")

    table = publish(sf.Statistic("histogram", ["age", "sex"], bins=4), 0.4)
    print(pd.DataFrame(table.value, *table.labels).astype(int))

    # A function of yours: replacing one patient moves it by at most 50 years.
    own = publish(sf.Statistic(years_above_sixty, "age", sensitivity=50), 0.5)
    print(f"years lived above sixty: {own.value:,.0f}")
    print(own.guarantee)
    print(account.remaining())
