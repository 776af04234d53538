"""Questions that any density on a box can answer: probabilities, quantiles, means, modes, samples.

A density is a measure seen through a kernel. Where records are is a question to the measure, which the release holds;
the surface is blurred by the kernel, and reaches a little beyond the edges of the box, where it is left out
(``of="surface"``). Everything is computed from the release, so nothing costs any further privacy.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.bases.density.mixture import Heap
from sfumato.bases.lattice.expansion import SubBox, bounds_of, column_axis, sub_boxes
from sfumato.bases.unit import from_unit, in_units, records_in_units, wrapped
from sfumato.checks import finite_number, one_of, positive_integer
from sfumato.core.box import Box, Integer, Periodic
from sfumato.errors import ParameterError

Floats = NDArray[np.float64]

SOURCES = ("measure", "surface")

_CELLS = {1: 4000, 2: 300, 3: 80}  # along each axis


class Distribution(ABC):
    """What follows from a box, the values of a density on it, and its integral over parts of it."""

    @property
    @abstractmethod
    def box(self) -> Box:
        """The public domain."""

    @abstractmethod
    def __call__(self, points: ArrayLike, outside: str = "refuse") -> Floats:
        """The density at points in user units."""

    @abstractmethod
    def integrate(self, over: SubBox | None = None) -> float:
        """The integral over the box or a sub-box."""

    def _heap(self) -> Heap | None:
        """The measure behind the density, or None where there is no such thing."""
        return None

    @cached_property
    def _grid(self) -> Heap:
        """The surface as a heap of fine cells."""
        count = _CELLS[self.box.dimension]
        unit = (np.arange(count) + 0.5) / count
        edges = [np.arange(count + 1) / count] * self.box.dimension
        return Heap(self.box, [unit] * self.box.dimension, edges, self._on_grid([unit] * self.box.dimension))

    def _of(self, of: str) -> Heap:
        """What is asked: the measure, or the surface (also where there is no measure)."""
        one_of("of", of, SOURCES)
        found = self._heap() if of == "measure" else None
        return (self._grid if found is None else found).certain()

    def _on_grid(self, axes: list[Floats]) -> Floats:
        """The density on a grid of positions in [0, 1] along each axis."""
        grid = np.meshgrid(*axes, indexing="ij")
        points = from_unit(self.box, np.stack([g.ravel() for g in grid], axis=1))
        return self(points).reshape(tuple(map(len, axes)))

    def probability(self, over: SubBox | None = None, of: str = "measure") -> float:
        """The probability of a sub-box such as ``{"age": (18, 65)}`` (one pair will do for one column).

        Of a column of whole numbers, it is that of those within, both ends included: each stands for the half on both
        sides of it. Round a circle 24 is 0, and ``(22, 4)`` goes through it.

        Parameters
        ----------
        of
            ``"measure"``: the share of the released measure, which estimates the share of the records. ``"surface"``:
            the integral of the density, blurred by its kernel, divided by that over the whole box.
        """
        one_of("of", of, SOURCES)
        over = around_whole_numbers(self.box, over)
        heap = self._heap() if of == "measure" else None
        if heap is None:
            whole, part = self.integrate(), self.integrate(over)
        else:
            whole, part = (sum(heap.within(*ends) for ends in sub_boxes(self.box, region)) for region in (None, over))
        return float(np.clip(part / whole, 0.0, 1.0)) if whole > 0 else float("nan")

    def quantile(self, level: ArrayLike, column: str | int | None = None, of: str = "measure") -> Any:
        """The value below which this share of the distribution lies, of one column (of a circle: from its bound).

        ``of`` is as for ``probability``.
        """
        levels = np.asarray(level, dtype=np.float64)
        if not ((levels >= 0) & (levels <= 1)).all():
            raise ParameterError(f"level must lie in [0, 1], got level={level!r}")
        axis = column_axis(self.box, column)
        masses, edges = self._of(of).along(axis)
        found = np.interp(levels, np.concatenate([[0.0], np.cumsum(masses)]) / masses.sum(), edges)
        return in_units(self.box.columns[axis], found)

    def mean(self, column: str | int | None = None, of: str = "measure") -> Any:
        """The mean of one column; of a periodic one the circular mean, the direction of the mean of its directions.

        ``of`` is as for ``probability``.
        """
        axis = column_axis(self.box, column)
        heap = self._of(of)
        masses, places = heap.along(axis)[0], heap.in_units(axis, heap.places[axis])
        kind = self.box.intervals()[axis]
        if not isinstance(kind, Periodic):
            return in_units(kind, places @ masses)
        turn = 2 * np.pi / (kind.high - kind.low)
        direction = np.angle(np.exp(1j * turn * (places - kind.low)) @ masses)
        return float(wrapped(kind, kind.low + direction / turn))

    def mode(self) -> NDArray[Any]:
        """``(l,)``: where the density is largest."""
        heap = self._grid.certain()
        place = np.unravel_index(int(heap.masses.argmax()), heap.masses.shape)
        found = [heap.in_units(i, heap.places[i][[k]])[0] for i, k in enumerate(place)]
        return np.asarray(records_in_units(self.box, np.array([found]))[0])

    def sample(self, size: int, seed: int | None = None, of: str = "measure") -> NDArray[Any]:
        """``(size, l)`` made-up records drawn from the release: public, like the release itself.

        They are as records are brought into the box: whole numbers where those are declared, dates for dates. ``of`` is
        as for ``probability``: draws of the surface are blurred by the kernel, as those of a kernel density estimate.
        """
        count = positive_integer("size", size)
        if seed is not None:
            finite_number("seed", seed)
        generator = np.random.default_rng(seed)
        heap = self._of(of)
        chosen = np.unravel_index(
            generator.choice(heap.masses.size, size=count, p=heap.masses.ravel()), heap.masses.shape
        )
        rows = []
        for axis, cells in enumerate(chosen):
            ends = heap.in_units(axis, heap.edges[axis])
            rows.append(ends[cells] + np.diff(ends)[cells] * generator.random(count))
        return records_in_units(self.box, self.box.clean(np.stack(rows, axis=1)))


def around_whole_numbers(box: Box, over: SubBox | None) -> SubBox:
    """A sub-box whose sides along columns of whole numbers lie half-way between two of them, or at the box's own."""
    sides = bounds_of(box, over)
    for name, (low, high) in sides.items():
        column = box.columns[column_axis(box, name)]
        if isinstance(column, Integer) and column.low - 0.5 <= low <= high <= column.high + 0.5:
            first, last = math.ceil(low) - 0.5, math.floor(high) + 0.5
            sides[name] = (max(first, column.low), max(first, column.low, min(last, column.high)))
        elif isinstance(column, Periodic) and column.whole and math.isfinite(low) and math.isfinite(high):
            end = high if high >= low else low + (high - low) % (column.high - column.low)  # round the circle
            first = math.ceil(low) - 0.5
            sides[name] = (first, max(first, math.floor(end) + 0.5))
    return sides
