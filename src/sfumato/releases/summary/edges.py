"""Sharp ranges between two smooth functions: what a summary knows of a question that is not smooth.

On the circle whose cosine a column is, Selberg's functions lie above and below an arc everywhere. They are among those
that a summary answers without approximation, and means over records are ordered as the functions are. That all of this
holds, also for several columns at once, is Theorem 9 of docs/proofs/moments.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Range:
    """A range of a column of numbers, as cosines of angles; ends at or beyond the bounds are none.

    ``low`` and ``high`` are angles from 0 to pi, ``low`` being that of the upper end.
    """

    low: float
    high: float

    @classmethod
    def of(cls, ends: Sequence[float | None], bounds: tuple[float, float]) -> Range:
        """From ends in the column's units; None for an open end. Records beyond the bounds were brought into them."""
        middle, half = bounds[0] / 2 + bounds[1] / 2, bounds[1] / 2 - bounds[0] / 2
        low, high = (default if end is None else end for end, default in zip(ends, bounds, strict=True))
        cosines = [min(1.0, max(-1.0, (end - middle) / half)) for end in (high, low)]
        return cls(math.acos(cosines[0]), max(math.acos(cosines[0]), math.acos(cosines[1])))

    @property
    def sharp(self) -> bool:
        """Whether it has an edge at all."""
        return self.low > 0 or self.high < math.pi

    def between(self, count: int) -> tuple[Floats, Floats]:
        """``(count,)`` coefficients of cosines: of a function below the sharp range, and of one above it."""
        if self.low == 0:
            arcs = [(-self.high, self.high)]
        elif self.high == math.pi:
            arcs = [(self.low, 2 * math.pi - self.low)]
        else:
            arcs = [(self.low, self.high), (-self.high, -self.low)]
        parts = [_selberg(start, stop, count - 1) for start, stop in arcs]
        return sum(p[0] for p in parts), sum(p[1] for p in parts)  # type: ignore[return-value]


def _selberg(start: float, stop: float, most: int) -> tuple[Floats, Floats]:
    """The even parts, as coefficients of cosines, of Selberg's minorant and majorant of an arc between two angles."""
    turn, k = 2 * math.pi, np.arange(1, most + 1)
    t = k / (most + 1)
    # The sawtooth's coefficients, damped; where the damping is none this is the arc's own Fourier series.
    damped = (math.pi * t * (1 - t) / np.tan(math.pi * t) + t) / (math.pi * k)
    wave = damped * (np.sin(k * stop) - np.sin(k * start))
    fejer = (1 - t) * (np.cos(k * start) + np.cos(k * stop)) / (most + 1)
    length, more = (stop - start) / turn, 1 / (most + 1)
    return np.concatenate([[length - more], wave - fejer]), np.concatenate([[length + more], wave + fejer])
