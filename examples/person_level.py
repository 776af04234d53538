"""Protect persons, not rows: patients with several visits each, and a curve of blood pressure by age.

Run it: ``python examples/person_level.py``. The visits are simulated; no real person is in them.
"""

import numpy as np
import pyarrow as pa

import sfumato as sf

rng = np.random.default_rng(2)
patients = np.repeat(np.arange(4000), rng.integers(1, 6, size=4000))
ages = rng.uniform(20, 90, size=len(patients))
pressure = 100 + 0.5 * ages + rng.normal(0, 12, size=len(patients))
visits = pa.table({"patient": patients, "age": ages, "bp": pressure})

PUBLIC_VISITS = 8000  # a public constant; dividing by the actual number of rows would not be private


def fit(table):
    """Sums of blood pressure near each age, over a public constant; columns with bounds are clipped to them."""
    age, bp = np.asarray(table["age"]), np.asarray(table["bp"])
    return lambda points: (np.exp(-((points - age) ** 2) / 200) * bp).sum(axis=1) / PUBLIC_VISITS


# Adding or removing one row moves the curve by at most 220 / 8000; up to 3 rows of a person count. Which of them is
# chosen by the columns with bounds, so that the order of the table has no say.
target = sf.BlackBox(fit, sensitivity=220 / PUBLIC_VISITS, columns={"age": (20, 90), "bp": (60, 220)})
unit = sf.Person("patient", max_rows=3)
privacy = sf.Privacy(epsilon=2.0, neighbours="add-remove", unit=unit)
release = sf.release(target, visits, sf.Box({"age": (20, 90)}), privacy, basis=sf.Bernstein(degree=8, order=2))
print(release.guarantee)
print(release(np.array([30.0, 50.0, 70.0])).round(2))
