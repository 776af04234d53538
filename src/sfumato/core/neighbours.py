"""Who is protected: which data sets are neighbours, and what one unit of data is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.checks import positive_integer, shown
from sfumato.errors import ParameterTypeError

RELATIONS = ("replace", "add-remove")


@dataclass(frozen=True)
class Person:
    """The protected unit is a person with up to ``max_rows`` rows, told apart by an identifier column.

    Only the first ``max_rows`` rows of each person are used; rows without an identifier belong to nobody
    and are dropped. Both rules read one person's rows only (docs/proofs/persons.md).

    >>> Person("patient_id", max_rows=5).max_rows
    5
    """

    column: str | int
    max_rows: int

    def __post_init__(self) -> None:
        if isinstance(self.column, bool) or not isinstance(self.column, str | int):
            raise ParameterTypeError(f"column must be a name or a position, got column={shown(self.column)}")
        object.__setattr__(self, "max_rows", positive_integer("max_rows", self.max_rows))

    def rows_kept(self, identifiers: Iterable[Any]) -> NDArray[np.bool_]:
        """Say for each row, in order, whether it is among its person's first ``max_rows``.

        ``identifiers`` are hashable; None, empty text and not-a-number mean that the row belongs to nobody.
        """
        seen: dict[Any, int] = {}
        kept = []
        for identifier in identifiers:
            if identifier is None or identifier == "" or identifier != identifier:
                kept.append(False)
                continue
            count = seen.get(identifier, 0)
            seen[identifier] = count + 1
            kept.append(count < self.max_rows)
        return np.array(kept, dtype=np.bool_)


Unit = str | Person


def rows_per_unit(unit: Unit) -> int:
    """How many rows one protected unit can have."""
    return unit.max_rows if isinstance(unit, Person) else 1
