"""Public points of the unit cube by their coordinates: each coordinate of an axis once, whatever the points are.

Functions here are products along the axes, so what an axis contributes is worked out once for each coordinate, and
points that form a grid (as those of a picture do) are served axis by axis.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
AxisWeights = Callable[[int, Floats], Floats]  # an axis and positions in [0, 1] on it to ``(m, n)`` weights

_SPARE = 4  # a grid with this many times the points is still worth working out as a whole
_BLOCK = 2**21  # numbers held at once


@dataclass(frozen=True, eq=False)
class Places:
    """``(m,)`` points: ``axes`` holds the sorted coordinates that occur, ``index`` says which of them each point has.

    >>> Places.of(np.array([[0.5, 1.0], [0.5, 0.0]])).axes
    [array([0.5]), array([0., 1.])]
    """

    axes: list[Floats]
    index: tuple[NDArray[np.intp], ...]

    @classmethod
    def of(cls, unit: Floats) -> Places:
        """From ``(m, l)`` coordinates."""
        found = [np.unique(column, return_inverse=True) for column in unit.T]
        return cls([values for values, _ in found], tuple(inverse.reshape(-1) for _, inverse in found))

    def __len__(self) -> int:
        return len(self.index[0])

    @property
    def unit(self) -> Floats:
        """The ``(m, l)`` coordinates."""
        return np.stack([axis[i] for axis, i in zip(self.axes, self.index, strict=True)], axis=1)

    @property
    def on_grid(self) -> bool:
        """Whether the points nearly fill the grid of their coordinates (along one axis there is nothing to gain)."""
        return len(self.axes) > 1 and math.prod(map(len, self.axes)) <= _SPARE * len(self)

    def product(self, factors: Sequence[Floats]) -> Floats:
        """``(m,)``: the product of what each axis has for its coordinates."""
        return np.asarray(math.prod(values[i] for values, i in zip(factors, self.index, strict=True)))

    def apply_tables(self, tables: Sequence[Floats], tensor: Floats) -> Floats:
        """``(m,)``: the same for weights that are given, ``(coordinates, n)`` along each axis."""
        if self.on_grid:
            return self.apply(lambda i, _: tables[i], tensor)
        found, block = np.empty(len(self)), max(1, _BLOCK // max(1, tensor.size))
        for start in range(0, len(self), block):
            rows = [table[index[start : start + block]] for table, index in zip(tables, self.index, strict=True)]
            found[start : start + block] = _applied(rows, tensor)
        return found

    def apply(self, weigh: AxisWeights, tensor: Floats) -> Floats:
        """``(m,)``: tensor products of the axes' weights, applied to a tensor: axis by axis, or block by block."""
        if self.on_grid:
            for i, coordinates in enumerate(self.axes):  # contracts the first axis, and appends the coordinates
                tensor = np.tensordot(tensor, weigh(i, coordinates), axes=(0, 1))
            return np.asarray(tensor[self.index])
        unit, found = self.unit, np.empty(len(self))
        block = max(1, _BLOCK // tensor.size)
        for start in range(0, len(self), block):
            part = unit[start : start + block]
            found[start : start + block] = _applied([weigh(i, part[:, i]) for i in range(tensor.ndim)], tensor)
        return found


def _applied(rows: Sequence[Floats], tensor: Floats) -> Floats:
    """Tensor products of the rows of tables, one row of each for each point, applied to a tensor."""
    value = rows[0] @ tensor.reshape(len(tensor), -1)
    for table in rows[1:]:
        value = np.einsum("mk,mkr->mr", table, value.reshape(len(table), table.shape[1], -1))
    return np.asarray(value[:, 0])
