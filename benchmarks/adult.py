"""UCI Adult where it is: the six numeric and eight categorical columns, with bounds and categories that are public.

Categories are those that the data's documentation (``adult.names``) lists; a ``?`` is a missing value, as it says.
Bounds were written down from general knowledge, not from the records: the survey asks persons above 16; 16 levels of
schooling; a week has at most 99 hours and a gain at most 99,999 dollars, as the survey codes them. Of weights and
losses only the order of magnitude is known, so their bounds are wide.
"""

from __future__ import annotations

import csv
import gzip
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

import sfumato as sf
from benchmarks.reproduce import SHARED

NUMERIC = {
    "age": (16, 100),
    "fnlwgt": (0, 1_500_000),
    "education-num": (1, 16),
    "capital-gain": (0, 100_000),
    "capital-loss": (0, 5000),
    "hours-per-week": (0, 100),
}
CATEGORIES = {
    "workclass": "Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay Never-worked",
    "education": "Bachelors Some-college 11th HS-grad Prof-school Assoc-acdm Assoc-voc 9th 7th-8th 12th Masters "
    "1st-4th 10th Doctorate 5th-6th Preschool",
    "marital-status": "Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent "
    "Married-AF-spouse",
    "occupation": "Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty Handlers-cleaners "
    "Machine-op-inspct Adm-clerical Farming-fishing Transport-moving Priv-house-serv Protective-serv Armed-Forces",
    "relationship": "Wife Own-child Husband Not-in-family Other-relative Unmarried",
    "race": "White Asian-Pac-Islander Amer-Indian-Eskimo Other Black",
    "sex": "Female Male",
    "native-country": "United-States Cambodia England Puerto-Rico Canada Germany Outlying-US(Guam-USVI-etc) India "
    "Japan Greece South China Cuba Iran Honduras Philippines Italy Poland Jamaica Vietnam Mexico Portugal Ireland "
    "France Dominican-Republic Laos Ecuador Taiwan Haiti Columbia Hungary Guatemala Nicaragua Scotland Thailand "
    "Yugoslavia El-Salvador Trinadad&Tobago Peru Hong Holand-Netherlands",
}
NAMES = (
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship"),
    *("race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income"),
)
CLASSES = ("<=50K", ">50K")
LABEL = "income"

Columns = dict[str, np.ndarray]


@dataclass(frozen=True)
class Adult:
    """Rows to learn from and rows to be judged on, column by column, with their labels."""

    records: Columns
    test: Columns

    def __len__(self) -> int:
        return len(self.records[LABEL])

    def numbers(self, part: Columns) -> np.ndarray:
        """The numeric columns as a matrix."""
        return np.stack([part[name] for name in NUMERIC], axis=1)


def box(numeric_only: bool = False) -> sf.Box:
    """The public bounds and categories."""
    words = {} if numeric_only else {name: sf.Categorical(text.split()) for name, text in CATEGORIES.items()}
    return sf.Box({**NUMERIC, **words})


@lru_cache(maxsize=1)
def adult() -> Adult | None:
    """32,561 rows to learn from and 16,281 to test on; None without the shared data."""
    paths = [SHARED / "data" / f"adult.{name}.gz" for name in ("data", "test")]
    if not all(path.exists() for path in paths):
        return None
    return Adult(*(_read(path) for path in paths))


def _read(path: object) -> Columns:
    with gzip.open(str(path), "rt", newline="") as file:
        rows = [row for row in csv.reader(file, skipinitialspace=True) if len(row) == len(NAMES)]
    found = dict(zip(NAMES, map(np.array, zip(*rows, strict=True)), strict=True))
    found[LABEL] = np.char.rstrip(found[LABEL], ".")  # as they end in the test file
    return {name: values.astype(float) if name in NUMERIC else values.astype(object) for name, values in found.items()}
