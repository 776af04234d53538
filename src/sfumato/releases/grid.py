"""A published function on a whole grid of points at once, as pictures and maps need it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.core.box import Box
from sfumato.errors import ParameterError

Floats = NDArray[np.float64]


def grid_points(box: Box, axes: Sequence[ArrayLike]) -> tuple[Floats, tuple[int, ...]]:
    """``(m, l)`` points, last column fastest, and the grid's shape, from one list of coordinates for each column."""
    rows = [np.asarray(axis, dtype=np.float64).reshape(-1) for axis in axes]
    if len(rows) != box.dimension:
        raise ParameterError.of(
            "axes", f"needs the coordinates of each of {list(box.names)}, got {len(rows)} list(s) of them"
        )
    grid = np.meshgrid(*rows, indexing="ij")
    return np.stack([g.ravel() for g in grid], axis=1), grid[0].shape


class Gridded:
    """A release on grids: worked out axis by axis, so that a fine grid costs hardly more than a coarse one."""

    box: Any

    def on_grid(self, axes: Sequence[ArrayLike]) -> Floats:
        """The values on the grid of these coordinates (one list for each column), as a tensor of its shape."""
        points, shape = grid_points(self.box, axes)
        return np.asarray(self(points).reshape(shape))  # type: ignore[operator]

    def band_on_grid(
        self, axes: Sequence[ArrayLike], confidence: float = 0.95, **settings: Any
    ) -> tuple[Floats, Floats]:
        """Lower and upper limits that hold on the whole grid at once, as tensors of its shape.

        ``settings`` are those of ``band``.
        """
        points, shape = grid_points(self.box, axes)
        low, high = self.band(points, confidence, **settings)  # type: ignore[attr-defined]
        return low.reshape(shape), high.reshape(shape)
