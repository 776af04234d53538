"""The simulated clinic of ``sfumato demo``, and the functions of it that the demo publishes.

No real person is in here: the cohort is a simulation with a public seed. That is why this module may use a seeded
generator; noise that protects anybody comes from ``core/sampling.py`` and cannot be seeded.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

PATIENTS = 10_000
_SEED = 20_261_115  # public: whoever runs the demo gets the same people

# Written down before anybody looked at the cohort, as bounds must be.
BOX = """\
# The public box of the simulated clinic cohort. Bounds are common knowledge, not taken from the data.

[columns.age]
low = 0
high = 110

[columns.bmi]
low = 10
high = 60

[columns.systolic]
low = 60
high = 240
"""


def cohort(patients: int = PATIENTS) -> dict[str, Floats]:
    """Simulate patients, one row each: age in years, body mass index, systolic blood pressure in mmHg.

    Parameters
    ----------
    patients
        How many.
    """
    import numpy as np

    generator = np.random.default_rng(_SEED)
    young = generator.random(patients) < 0.35
    age = np.where(young, generator.normal(31, 8, patients), generator.normal(64, 12, patients))
    age = np.clip(np.rint(age), 0, 104)
    bmi = 20 + 0.07 * age + generator.normal(0, 4, patients) + generator.gamma(2, 1.5, patients)
    pressure = 98 + 0.45 * age + 0.8 * (bmi - 25) + generator.normal(0, 11, patients)
    return {"age": age, "bmi": np.clip(np.round(bmi, 1), 13, 55), "systolic": np.rint(np.clip(pressure, 75, 225))}


def cohort_csv(patients: int = PATIENTS) -> str:
    """The cohort as the text of a CSV file."""
    import csv

    columns = cohort(patients)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*([f"{value:g}" for value in values] for values in columns.values()), strict=True))
    return text.getvalue()


class Study(NamedTuple):
    """One density to publish: ``bandwidths`` holds the kernel's deviation along each column, in the column's units."""

    name: str
    words: str
    bandwidths: dict[str, float]


# Bandwidths are public: they were chosen for what should be seen, not from the people.
STUDIES = (
    Study("age", "how patients are spread over age", {"age": 4.0}),
    Study("age-bmi", "how patients are spread over age and BMI", {"age": 6.0, "bmi": 2.5}),
)

# Where the demo suggests to evaluate the first release.
POINTS = "age\n" + "".join(f"{age}\n" for age in range(20, 100, 10))
