"""Sharp ranges between two smooth functions: what a summary knows of a question that is not smooth.

On the circle whose cosine a column is, Selberg's functions lie above and below an arc everywhere. They are among those
that a summary answers without approximation, and means over records are ordered as the functions are. That all of this
holds, also for several columns at once, is Theorem 9 of docs/proofs/moments.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

from sfumato.bases.unit import arcs, in_units
from sfumato.checks import shown
from sfumato.core.box import Interval, Periodic
from sfumato.errors import ParameterError

Floats = NDArray[np.float64]

_REACH = 7  # deviations beyond which an edge counts for nothing: less than 1e-11


@dataclass(frozen=True)
class Range:
    """A range of a column of numbers, as cosines of angles; ends at or beyond the bounds are none.

    ``pieces`` are ranges of angles from 0 to pi, apart from each other: two where it goes through a circle's bounds.
    """

    pieces: tuple[tuple[float, float], ...]

    @classmethod
    def of(cls, ranges: Sequence[tuple[float | None, float | None]], bounds: tuple[float, float]) -> Range:
        """From ranges in the column's units; None for an open end. Records beyond the bounds were brought into them."""
        middle, half = bounds[0] / 2 + bounds[1] / 2, bounds[1] / 2 - bounds[0] / 2

        def angles(ends: tuple[float | None, float | None]) -> tuple[float, float]:
            low, high = (bound if end is None else end for end, bound in zip(ends, bounds, strict=True))
            first, last = (math.acos(min(1.0, max(-1.0, (end - middle) / half))) for end in (high, low))
            return first, max(first, last)

        return cls(tuple(angles(ends) for ends in ranges))

    @property
    def sharp(self) -> bool:
        """Whether it has an edge at all."""
        return self.pieces != ((0.0, math.pi),)

    def within(self, count: int) -> Floats:
        """Which part of each of so many even cells of angles lies in it."""
        edges = np.linspace(0, math.pi, count + 1)
        overlaps = [np.minimum(edges[1:], high) - np.maximum(edges[:-1], low) for low, high in self.pieces]
        return np.asarray(sum(np.clip(overlap * count / math.pi, 0.0, 1.0) for overlap in overlaps))

    def between(self, count: int) -> tuple[Floats, Floats]:
        """``(count,)`` coefficients of cosines: of a function below the sharp range, and of one above it."""
        arcs = []
        for low, high in self.pieces:
            if low == 0:
                arcs.append((-high, high))
            elif high == math.pi:
                arcs.append((low, 2 * math.pi - low))
            else:
                arcs += [(low, high), (-high, -low)]
        parts = [_selberg(start, stop, count - 1) for start, stop in arcs]
        return sum(p[0] for p in parts), sum(p[1] for p in parts)  # type: ignore[return-value]


def ends_of(kind: Interval, name: str, low: float | None, high: float | None) -> list[tuple[float, float]]:
    """A range of a column between its bounds, where it is open; two ranges where it goes through a circle's bounds.

    A range that does not end above its beginning is refused, but for one that goes round a circle.
    """
    start, stop = kind.low if low is None else low, kind.high if high is None else high
    if start == stop if isinstance(kind, Periodic) else None not in (low, high) and start >= stop:
        got = f"({in_units(kind, start)}, {in_units(kind, stop)})"
        raise ParameterError(f"the range of column {shown(name)} must end above its beginning, got {got}")
    return arcs(kind, start, stop) if isinstance(kind, Periodic) else [(start, stop)]


def soft_ends(kind: Interval, ranges: Sequence[tuple[float, float]]) -> tuple[float | None, float | None, float | None]:
    """Where a range has edges to soften, and the way round if they go round a circle.

    At or beyond a bound there is none: nobody is there to be told apart. A circle's range with two edges goes round.
    """
    low, high = ranges[0][0], ranges[-1][1]
    if len(ranges) == 2:
        return low, high + (kind.high - kind.low), kind.high - kind.low
    ends = None if low <= kind.low else low, None if high >= kind.high else high
    return *ends, kind.high - kind.low if isinstance(kind, Periodic) and None not in ends else None


def turns(low: float, high: float, softness: float, around: float) -> list[tuple[float, float]]:
    """The same range once for each turn from which its soft edges reach; softer than a circle is wide they are flat."""
    reach = 2 + math.ceil(_REACH * min(softness, around) / around)
    return [(low + turn * around, high + turn * around) for turn in range(-reach, reach + 1)]


def softened(x: Any, low: float | None, high: float | None, softness: float, around: float | None) -> Any:
    """A range with Gaussian edges at ``x``; ``around`` is the way round a circle, if it goes round one."""
    edge = min(softness, around or math.inf) * math.sqrt(2)
    if around is not None and low is not None and high is not None:
        pairs = turns(low, high, softness, around)
        return sum((erf((x - start) / edge) - erf((x - stop) / edge)) / 2 for start, stop in pairs)
    found = np.ones_like(x)
    for end, sign in ((low, 1.0), (high, -1.0)):
        if end is not None:
            found = found * (1 + sign * erf((x - end) / edge)) / 2
    return found


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
