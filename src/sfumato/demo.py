"""The simulated clinic of ``sfumato demo``, and the functions of it that the demo publishes.

No real person is in here: the cohort is a simulation with a public seed. That is why this module may use a seeded
generator; noise that protects anybody comes from ``core/sampling.py`` and cannot be seeded.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

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
    generator = np.random.default_rng(_SEED)
    young = generator.random(patients) < 0.35
    age = np.where(young, generator.normal(31, 8, patients), generator.normal(64, 12, patients))
    age = np.clip(np.rint(age), 0, 104)
    bmi = 20 + 0.07 * age + generator.normal(0, 4, patients) + generator.gamma(2, 1.5, patients)
    pressure = 98 + 0.45 * age + 0.8 * (bmi - 25) + generator.normal(0, 11, patients)
    return {"age": age, "bmi": np.clip(np.round(bmi, 1), 13, 55), "systolic": np.rint(np.clip(pressure, 75, 225))}


def cohort_csv(patients: int = PATIENTS) -> str:
    """The cohort as the text of a CSV file."""
    columns = cohort(patients)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*([f"{value:g}" for value in values] for values in columns.values()), strict=True))
    return text.getvalue()


@dataclass(frozen=True)
class Study:
    """One function to publish: the density of the cohort over some columns, smoothed by a Gaussian kernel.

    ``bandwidths`` holds the kernel's standard deviation along each column, in the column's units; ``degree`` and
    ``order`` are those of the Bernstein basis. All of it is public.
    """

    name: str
    words: str
    bandwidths: dict[str, float]
    degree: int
    order: int

    @property
    def peak(self) -> float:
        """The largest value of the kernel anywhere."""
        return math.prod(1 / (h * math.sqrt(2 * math.pi)) for h in self.bandwidths.values())

    def sensitivity(self, patients: int) -> float:
        """How far replacing one patient can move the density at any point.

        The density is the mean over a public number n of patients of a kernel with values in [0, peak]. Replacing
        one patient exchanges one of the n values for another in [0, peak], which moves the mean by at most peak / n
        (not 2 peak / n: both values are >= 0). A patient with a missing value counts as 0, which is in [0, peak] too.
        The factor leaves room for the rounding of sums of doubles, of a relative size of about n * 1e-16.
        """
        return self.peak / patients * (1 + 1e-9)

    def fit(self, patients: int) -> Callable[[Any], Callable[[Floats], Floats]]:
        """The procedure for ``sf.BlackBox``: from a table of patients to their smoothed density."""

        def density(table: Any) -> Callable[[Floats], Floats]:
            # The pipeline has clipped these columns to the box; missing cells are NaN.
            people = [np.asarray(table[name], dtype=np.float64) for name in self.bandwidths]

            def at(points: Floats) -> Floats:
                total = np.zeros((len(points), len(people[0])))
                for column, values, h in zip(points.T, people, self.bandwidths.values(), strict=True):
                    total += ((column[:, None] - values[None, :]) / h) ** 2
                kernel = np.nan_to_num(self.peak * np.exp(-total / 2), nan=0.0)
                # Divided by the public number, not by the number of rows read: see ``sensitivity``.
                return np.asarray(kernel.sum(axis=1) / patients)

            return at

        return density


# Bandwidths, degrees and orders were tried out on these simulated people, as they should be on made-up ones.
STUDIES = (
    Study("age", "how patients are spread over age", {"age": 6.0}, 40, 12),
    Study("age-bmi", "how patients are spread over age and BMI", {"age": 10.0, "bmi": 5.0}, 14, 12),
)

# Where the demo suggests to evaluate the first release.
POINTS = "age\n" + "".join(f"{age}\n" for age in range(20, 100, 10))
