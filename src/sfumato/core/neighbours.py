"""Who is protected: which data sets are neighbours, and what one unit of data is."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.checks import positive_integer, shown
from sfumato.errors import ParameterTypeError

RELATIONS = ("replace", "add-remove")


@dataclass(frozen=True)
class Person:
    """The protected unit is a person with up to ``max_rows`` rows, told apart by an identifier column.

    Of a person who has more rows, ``max_rows`` count: which of them is a public function of that person's rows, and
    not of their order. Rows without an identifier belong to nobody and are dropped (docs/proofs/persons.md).

    >>> Person("patient_id", max_rows=5).max_rows
    5
    """

    column: str | int
    max_rows: int

    def __post_init__(self) -> None:
        if isinstance(self.column, bool) or not isinstance(self.column, str | int):
            raise ParameterTypeError(f"column must be a name or a position, got column={shown(self.column)}")
        object.__setattr__(self, "max_rows", positive_integer("max_rows", self.max_rows))


Unit = str | Person


def rows_per_unit(unit: Unit) -> int:
    """How many rows one protected unit can have."""
    return unit.max_rows if isinstance(unit, Person) else 1
