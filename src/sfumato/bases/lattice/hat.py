"""Piecewise linear functions on a lattice: hat functions, which are a partition of unity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.base import LatticeBasis
from sfumato.errors import ParameterError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Hat(LatticeBasis):
    """Linear interpolation between lattice values along each axis.

    >>> Hat(2).axis_values(2, np.array([0.25])).tolist()
    [[0.5, 0.5, 0.0]]
    """

    def axis_values(self, degree: int, unit: Floats, derivative: int = 0) -> Floats:
        if derivative:
            raise ParameterError("a piecewise linear function has no derivative at lattice points; use sf.Bernstein")
        return np.asarray(np.maximum(0.0, 1 - np.abs(unit[:, None] * degree - np.arange(degree + 1))))

    def axis_transform(self, degree: int) -> Floats | None:
        return None

    def axis_integral(self, degree: int, low: float, high: float) -> Floats:
        ends = []
        for end in (low, high):
            near = np.clip(end * degree - np.arange(degree + 1), -1.0, 1.0)
            whole = np.where(near < 0, (1 + near) ** 2 / 2, 1 - (1 - near) ** 2 / 2)  # the integral of a hat up to here
            whole[0] -= 0.5  # half of the first hat lies outside
            ends.append(whole)
        return np.asarray((ends[1] - ends[0]) / degree)

    def to_json(self) -> dict[str, Any]:
        degree = self.degree if isinstance(self.degree, int) else list(self.degree)
        return {"name": "hat", "degree": degree}

    def norming_nodes(self, degree: int) -> tuple[Floats, float]:
        return np.arange(degree + 1) / degree, 1.0

    def lebesgue_constant(self, degree: int | None = None) -> float:
        """1: between lattice points, the function is a mean of its values at them."""
        return 1.0
