"""Questions that any density on a box can answer: probabilities, quantiles, means, modes, samples.

They speak of the density *within the box*: a kernel reaches a little beyond its edges, and that part is left out.
Everything is computed from the released function, so nothing costs any further privacy.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.bases.lattice.expansion import SubBox, column_axis
from sfumato.bases.unit import from_unit
from sfumato.checks import finite_number, positive_integer
from sfumato.core.box import Box
from sfumato.errors import ParameterError

Floats = NDArray[np.float64]

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

    @cached_property
    def _grid(self) -> tuple[list[Floats], Floats]:
        """The middles of fine cells along each axis in user units, and each cell's probability."""
        count = _CELLS[self.box.dimension]
        unit = (np.arange(count) + 0.5) / count
        values = np.maximum(self._on_grid([unit] * self.box.dimension), 0.0)
        total = float(values.sum())
        if not total > 0:  # noise without shape constraints can leave nothing: say no more than the box does
            values, total = np.ones(values.shape), float(values.size)
        return [c.low + unit * (c.high - c.low) for c in self.box.intervals()], values / total

    def _on_grid(self, axes: list[Floats]) -> Floats:
        """The density on a grid of positions in [0, 1] along each axis."""
        grid = np.meshgrid(*axes, indexing="ij")
        points = from_unit(self.box, np.stack([g.ravel() for g in grid], axis=1))
        return self(points).reshape(tuple(map(len, axes)))

    def probability(self, over: SubBox | None = None) -> float:
        """The probability of a sub-box such as ``{"age": (18, 65)}`` (one pair will do for one column)."""
        whole = self.integrate()
        return float(np.clip(self.integrate(over) / whole, 0.0, 1.0)) if whole > 0 else float("nan")

    def _axis_masses(self, column: str | int | None) -> tuple[Floats, Floats, int]:
        axes, masses = self._grid
        axis = column_axis(self.box, column)
        return axes[axis], masses.sum(axis=tuple(i for i in range(masses.ndim) if i != axis)), axis

    def quantile(self, level: ArrayLike, column: str | int | None = None) -> Floats | float:
        """The value below which this share of the distribution lies, of one column."""
        levels = np.asarray(level, dtype=np.float64)
        if not ((levels >= 0) & (levels <= 1)).all():
            raise ParameterError(f"level must lie in [0, 1], got level={level!r}")
        _, masses, axis = self._axis_masses(column)
        edges = np.linspace(self.box.low[axis], self.box.high[axis], len(masses) + 1)
        found = np.interp(levels, np.concatenate([[0.0], np.cumsum(masses)]) / masses.sum(), edges)
        return float(found) if levels.ndim == 0 else found

    def mean(self, column: str | int | None = None) -> float:
        """The mean of one column."""
        places, masses, _ = self._axis_masses(column)
        return float(places @ masses)

    def mode(self) -> Floats:
        """``(l,)``: where the density is largest."""
        axes, masses = self._grid
        place = np.unravel_index(int(masses.argmax()), masses.shape)
        return np.array([axis[i] for axis, i in zip(axes, place, strict=True)])

    def sample(self, size: int, seed: int | None = None) -> Floats:
        """``(size, l)`` made-up records drawn from the released density: public, like the release itself."""
        count = positive_integer("size", size)
        if seed is not None:
            finite_number("seed", seed)
        generator = np.random.default_rng(seed)
        axes, masses = self._grid
        chosen = np.unravel_index(generator.choice(masses.size, size=count, p=masses.ravel()), masses.shape)
        widths = [(high - low) / len(a) for low, high, a in zip(self.box.low, self.box.high, axes, strict=True)]
        rows = [a[i] + w * generator.uniform(-0.5, 0.5, count) for a, i, w in zip(axes, chosen, widths, strict=True)]
        return np.asarray(np.clip(np.stack(rows, axis=1), self.box.low, self.box.high))
