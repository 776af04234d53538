"""One small lattice for each column: what a naive Bayes classifier is written in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.bases.base import Basis
from sfumato.bases.density.binning import MassLattice
from sfumato.core.box import Box, Categorical


@dataclass(frozen=True)
class Attributes(Basis):
    """For each column of a box a lattice of masses, or None: then its categories are counted, or its moments taken.

    >>> from sfumato.bases.density.binning import Binning
    >>> Attributes((Binning(10), None)).size(Box({"age": (0, 110), "sex": Categorical(["f", "m"])}))
    12
    """

    lattices: tuple[MassLattice | None, ...]

    def sizes(self, box: Box) -> tuple[int, ...]:
        """How many numbers each column has, for one class: masses, counts, or two moments and a count."""
        found = []
        for i, (column, lattice) in enumerate(zip(box.columns, self.lattices, strict=True)):
            counted = len(column.categories) if isinstance(column, Categorical) else 3
            found.append(counted if lattice is None else lattice.size(alone(box, i)))
        return tuple(found)

    def size(self, box: Box) -> int:
        return sum(self.sizes(box))

    def to_json(self) -> dict[str, Any]:
        return {"name": "attributes", "lattices": [None if part is None else part.to_json() for part in self.lattices]}


def alone(box: Box, column: int) -> Box:
    """The box of one of the columns."""
    return Box({box.names[column]: box.columns[column]})


def numeric(box: Box) -> Sequence[int]:
    """Which columns are numbers."""
    return [i for i, column in enumerate(box.columns) if not isinstance(column, Categorical)]
