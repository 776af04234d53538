"""The simulated clinic of ``sfumato demo``, and the functions of it that the demo publishes.

No real person is in here: the cohort is a simulation with a public seed. That is why this module may use a seeded
generator; noise that protects anybody comes from ``core/sampling.py`` and cannot be seeded.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Columns = dict[str, NDArray[Any]]

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

[columns.bp]
low = 60
high = 220
"""

# The same for the map: apart, because most functions of the clinic have nothing to do with places.
HOMES = """\
# Where the simulated patients may live, in degrees.

[columns.longitude]
low = 8.5
high = 11.5

[columns.latitude]
low = 47.5
high = 49.5
"""

# Where the simulated patients live: towns of a land that there is not, and how many live in each for one in the last.
_TOWNS = {
    (10.1, 48.4): 40,
    (9.2, 48.8): 25,
    (11.0, 49.1): 12,
    (10.9, 47.9): 8,
    (8.9, 47.8): 5,
    (9.8, 49.2): 4,
    (8.8, 49.2): 3,
    (9.7, 47.7): 2,
    (10.4, 48.9): 2,
    (11.2, 48.5): 1,
}


def cohort(patients: int = PATIENTS) -> Columns:
    """Simulate patients, one row each: age, body mass index, blood pressure, illness, smoking, where they live.

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
    odds = 0.09 * (age - 62) + 0.22 * (bmi - 29)
    ill = np.where(generator.random(patients) < 1 / (1 + np.exp(-odds)), "yes", "no")
    smoker = generator.choice(["never", "former", "daily"], patients, p=[0.55, 0.27, 0.18])
    sizes = np.array(list(_TOWNS.values()), dtype=np.float64)
    town = np.array(list(_TOWNS))[generator.choice(len(sizes), patients, p=sizes / sizes.sum())]
    east, north = (town + generator.normal(0, (0.06, 0.04), (patients, 2))).T
    return {
        "age": age,
        "bmi": np.clip(np.round(bmi, 1), 13, 55),
        "bp": np.rint(np.clip(pressure, 75, 215)),
        "ill": ill,
        "smoker": smoker,
        "longitude": np.round(np.clip(east, 8.55, 11.45), 3),
        "latitude": np.round(np.clip(north, 47.55, 49.45), 3),
    }


def cohort_csv(patients: int = PATIENTS) -> str:
    """The cohort as the text of a CSV file."""
    import csv

    columns = cohort(patients)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(map(_told, values) for values in columns.values()), strict=True))
    return text.getvalue()


def _told(value: Any) -> str:
    return str(value) if isinstance(value, str) else f"{value:g}"


class Study(NamedTuple):
    """One function to publish.

    Parameters
    ----------
    columns
        What it is a function of.
    bandwidths
        Of a density, the kernel's deviation along each, in its units; none for a classifier of who is ill.
    box
        The file that bounds them.
    """

    name: str
    words: str
    columns: tuple[str, ...]
    bandwidths: tuple[float, ...] = ()
    box: str = "columns.toml"

    @property
    def target(self) -> Any:
        """What is published."""
        import sfumato as sf

        if self.bandwidths:
            return sf.KDE(bandwidth=list(self.bandwidths))
        # A smaller C than the automatic one is about as accurate here, and its limits say more.
        return sf.KernelMachine("logistic", sf.RBF(gamma=4.0), 200.0, response="ill", classes=["no", "yes"])


# Bandwidths are public: they were chosen for what should be seen, not from the people.
STUDIES = (
    Study("age", "how patients are spread over age", ("age",), (4.0,)),
    Study("homes", "a map of where patients live", ("longitude", "latitude"), (0.06, 0.04), "homes.toml"),
    Study("illness", "a classifier: who is ill, by age and BMI", ("age", "bmi")),
)

# People who are not among the patients, for what predicts.
NEW = "age,bmi,smoker\n25,21.5,never\n41,33,daily\n58,27.4,former\n83,24,never\n"

# Where the demo suggests to evaluate the first release.
POINTS = "age\n" + "".join(f"{age}\n" for age in range(20, 100, 10))
