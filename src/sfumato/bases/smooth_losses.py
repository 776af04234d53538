"""Smooth losses by name, public functions of a margin or a residual, as devices work them out. Numpy only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SmoothLoss:
    """A convex function of a margin ``y f`` (then it falls), or of a residual ``f - y`` (then it is even)."""

    of_margin: bool
    value: Callable[[Floats], Floats]

    def at(self, scores: Floats, y: Floats) -> Floats:
        """The loss of scores, if ``y`` in [-1, 1] is what they are about."""
        return self.value(y * scores if self.of_margin else scores - y)

    def limits(self, largest: float) -> tuple[float, float]:
        """The smallest and the largest loss of a score of at most this size."""
        ends = np.array([largest, -largest]) if self.of_margin else np.array([0.0, 1 + largest])
        low, high = self.value(ends).tolist()
        return low, high


# Those of learners (bases/machine/losses.py), with their default widths.
SMOOTH: dict[str, SmoothLoss] = {
    "logistic": SmoothLoss(True, lambda m: np.logaddexp(0.0, -m)),
    "squared": SmoothLoss(False, np.square),
    "huber": SmoothLoss(False, lambda r: np.sqrt(1 + r**2) - 1),
    "smoothed-hinge": SmoothLoss(True, lambda m: np.logaddexp(0.0, 2 * (1 - m)) / 2),
}
