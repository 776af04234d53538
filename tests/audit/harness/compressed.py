"""Sparse arrays in compressed rows: a record is what is written of it, in any order, twice, or beyond the matrix."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
from scipy.sparse import csr_array, csr_matrix

from harness.hostile import DOUBLES, PYTHON_TEXT, some, whole_numbers
from harness.reading import Container, Record, Wanted

_PLACES = (0, 0, 1, 2, -1, 3, 2**31 - 1, -(2**31))


@dataclass(frozen=True)
class Sparse(Container):
    """Compressed rows of doubles or whole numbers, or with y of a pair if there is a response."""

    columns: tuple[str, ...]
    kind: type
    dtype: str
    response: str | None
    labels: str  # the type of y
    name: str = "sparse"

    def record(self, values: Mapping[str, Any]) -> Record:
        cells = [values[name] for name in self.columns if name != self.response]
        return tuple(enumerate(map(self._number, cells))), values.get(self.response or "")

    def _number(self, value: float) -> Any:
        return int(value) if self.dtype == "int64" else value

    def hostile(self, rng: Random, record: Record) -> Record:
        draw = whole_numbers(64) if self.dtype == "int64" else DOUBLES
        cells = list(record[0]) if rng.random() < 0.5 else []
        cells += [(rng.choice(_PLACES), draw(rng)) for _ in range(rng.randrange(6))]
        rng.shuffle(cells)
        if self.response is None or rng.random() < 0.5:
            return tuple(cells), record[1]
        return tuple(cells), PYTHON_TEXT(rng)[:16] if self.labels == "U16" else some((0.0, 0.5, math.nan))(rng)

    def build(self, records: Sequence[Record]) -> Any:
        rows = [record[0] for record in records]
        made = self.kind((len(rows), len(self.columns) - (self.response is not None)), dtype=self.dtype)
        made.data = np.array([value for row in rows for _, value in row], dtype=self.dtype)
        made.indices = np.array([place for row in rows for place, _ in row], dtype=np.int32)
        made.indptr = np.cumsum([0, *map(len, rows)], dtype=np.int32)
        if self.response is None:
            return made
        return made, np.array([record[1] for record in records], dtype=self.labels)

    def __repr__(self) -> str:
        return f"{self.kind.__name__}({self.dtype}, {', '.join(self.columns)})"


def sparse(rng: Random, wanted: Wanted) -> Container:
    labels = "U16" if wanted.response == "c" else "float64"
    dtype = rng.choice(["float64", "float64", "int64"])
    return Sparse(wanted.columns, rng.choice([csr_array, csr_matrix]), dtype, wanted.response, labels)
