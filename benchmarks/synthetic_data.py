"""The data of the synthetic tables' figures: three UCI tables with their boxes, where the shared data are.

Columns are scaled to [-1, 1] by the ends of their boxes. Cardiotocography: 21 features and NSP (three classes);
Nursery: codes of 8 attributes and whether the class is ``priority``, one against the rest; Nomao: 89 numbers, 29 codes
of two or three values, and the class.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

import sfumato as sf
from benchmarks.reproduce import SHARED

DATA = SHARED / "data"
_CTG_WHOLE = ("LB", "ASTV", "ALTV", "Width", "Min", "Max", "Nmax", "Nzeros", "Mode", "Mean", "Median", "Variance",
              "Tendency")  # fmt: skip
_NURSERY = {  # the attributes' values in the order of the data set's documentation
    "parents": ("usual", "pretentious", "great_pret"),
    "has_nurs": ("proper", "less_proper", "improper", "critical", "very_crit"),
    "form": ("complete", "completed", "incomplete", "foster"),
    "children": ("1", "2", "3", "more"),
    "housing": ("convenient", "less_conv", "critical"),
    "finance": ("convenient", "inconv"),
    "social": ("nonprob", "slightly_prob", "problematic"),
    "health": ("recommended", "priority", "not_recom"),
}


@dataclass(frozen=True, eq=False)
class Table:
    """Records as they are released, and the label's name."""

    name: str
    columns: dict[str, np.ndarray]
    box: sf.Box
    label: str

    def __len__(self) -> int:
        return len(self.columns[self.label])

    def some(self, rows: np.ndarray) -> Table:
        """Some of the records."""
        return Table(self.name, {name: values[rows] for name, values in self.columns.items()}, self.box, self.label)

    @property
    def plain(self) -> sf.Box:
        """The box with the label as a number like the others."""
        kind = self.box.columns[self.box.names.index(self.label)]
        assert isinstance(kind, sf.Categorical)
        ends = sf.Integer(min(kind.categories), max(kind.categories))
        own = dict(zip(self.box.names, self.box.columns, strict=True))
        return sf.Box({**own, self.label: ends})

    def scaled(self, columns: dict[str, np.ndarray] | None = None) -> np.ndarray:
        """``(rows, d)``: records, or rows of the same columns, in the cube."""
        found = []
        for name, kind in zip(self.plain.names, self.plain.columns, strict=True):
            values = np.asarray((columns or self.columns)[name], dtype=np.float64)
            found.append(2 * (values - kind.low) / (kind.high - kind.low) - 1)
        return np.stack(found, axis=1)


def there() -> bool:
    """Whether the shared tables are there."""
    return all((DATA / name).exists() for name in ("ctg.csv", "nursery.data.gz", "nomao.arff.gz"))


def _ends(values: np.ndarray) -> tuple[float, float]:
    return float(values.min()), float(values.max())


@lru_cache(maxsize=1)
def cardiotocography() -> Table:
    """2126 records of 22 columns."""
    raw = np.genfromtxt(DATA / "ctg.csv", delimiter=",", names=True)
    names = [name for name in raw.dtype.names or () if name != "CLASS"]
    columns = {name: np.ascontiguousarray(raw[name]) for name in names}
    box: dict[str, Any] = {
        name: sf.Integer(*_ends(values)) if name in _CTG_WHOLE else _ends(values) for name, values in columns.items()
    }
    return Table("CTG", columns, sf.Box({**box, "NSP": sf.Categorical([1, 2, 3])}), "NSP")


@lru_cache(maxsize=1)
def nursery() -> Table:
    """12,958 records of 9 columns: without the two of class ``recommend``, as in the paper."""
    with gzip.open(DATA / "nursery.data.gz", "rt") as file:
        cells = [line.strip().split(",") for line in file if line.strip()]
    cells = [row for row in cells if row[-1] != "recommend"]
    columns = {
        name: np.array([values.index(row[j]) for row in cells], dtype=np.float64)
        for j, (name, values) in enumerate(_NURSERY.items())
    }
    columns["priority"] = np.array([row[-1] == "priority" for row in cells], dtype=np.float64)
    box: dict[str, Any] = {name: sf.Integer(0, len(values) - 1) for name, values in _NURSERY.items()}
    return Table("NUR", columns, sf.Box({**box, "priority": sf.Categorical([0, 1])}), "priority")


@lru_cache(maxsize=1)
def nomao() -> Table:
    """34,465 records of 119 columns."""
    with gzip.open(DATA / "nomao.arff.gz", "rt") as file:
        lines = [line.strip() for line in file]
    start = next(i for i, line in enumerate(lines) if line.lower() == "@data")
    told = [line.split(maxsplit=2)[1:] for line in lines[:start] if line.startswith("@attribute")]
    values = np.loadtxt(lines[start + 1 :], delimiter=",", comments="@")
    columns = {name: np.ascontiguousarray(values[:, j]) for j, (name, _) in enumerate(told)}
    box: dict[str, Any] = {
        name: (0, 1) if kind == "numeric" else sf.Integer(1, 1 + kind.count(",")) for name, kind in told
    }
    return Table("NOM", columns, sf.Box({**box, "Class": sf.Categorical([1, 2])}), "Class")


TABLES: dict[str, Callable[[], Table]] = {"CTG": cardiotocography, "NUR": nursery, "NOM": nomao}
