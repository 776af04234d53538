"""Means, variances and covariances from noisy moments of rescaled columns.

Each column becomes ``z = (x - middle) / half-width`` in [-1, 1]. One record contributes z, for second moments
``z_i z_j`` (``z^2 - 1/2`` on the diagonal, which is centred so that a missing record moves less), and a weight that
counts it where the number of records is not public.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.statistics.sums import BITS, UNIT, Floats, Integers, Limits, SumOfRecords, root, without_missing
from sfumato.core.box import Box
from sfumato.core.calibration import NoiseLaw
from sfumato.laws import noise_deviation

_ROUNDING = 4.0 / UNIT  # what fixed-point moments are off at most
_TELLING = 1.5  # deviations by which a noisy count must be short of all rows before some are taken to be missing


@dataclass(frozen=True)
class Moments(SumOfRecords):
    """The moments behind a ``"mean"``, a ``"variance"`` (of each column) or a ``"covariance"`` (matrix).

    Parameters
    ----------
    weight
        What each record adds to the last number, which counts them; 0 where their number is public and complete.

    >>> Moments("mean", True, 0).pair(Box({"age": (0, 110)}), "l1") == 2 * UNIT
    True
    """

    statistic: str
    complete: bool
    weight: int

    @classmethod
    def counting(cls, statistic: str, box: Box, complete: bool, norm: str, replace: bool) -> Moments:
        """Moments with a count: free of charge where neighbours replace, half as heavy as the rest where they do not.

        Where they replace, two records that are both there cancel in the count: the weight may be as large as makes
        one record alone no further from nothing than two can be from each other.
        """
        bare = cls(statistic, complete, 0)
        one, two = bare.single(box, norm), bare.pair(box, norm)
        weight = one // 2
        if replace:
            weight = two - one if norm == "l1" else math.isqrt(two * two - one * one) - 1
        return cls(statistic, complete, min(weight, 64 * UNIT))  # below what a record may add to a sum

    def seconds(self, dimension: int) -> list[tuple[int, int]]:
        """Which second moments there are."""
        if self.statistic == "mean":
            return []
        if self.statistic == "variance":
            return [(i, i) for i in range(dimension)]
        return [(i, j) for i in range(dimension) for j in range(i, dimension)]

    def size(self, box: Box) -> int:
        count = box.dimension
        seconds = {"mean": 0, "variance": count, "covariance": count * (count + 1) // 2}[self.statistic]
        return count + seconds + (self.weight > 0)

    def to_json(self) -> dict[str, Any]:
        return {"statistic": self.statistic, "complete": self.complete, "weight": self.weight}

    def contributions(self, box: Box, records: Floats) -> Integers:
        """``(m, size)`` integers, from cleaned records."""
        first, missing = self.steps(box, records)
        parts = [first[:, i] for i in range(box.dimension)]
        for i, j in self.seconds(box.dimension):
            product = (first[:, i] * first[:, j]) >> BITS  # at most 2**60 before, rounded down
            parts.append(product - UNIT // 2 if i == j else product)
        if self.weight:
            parts.append(np.full(len(records), self.weight, dtype=np.int64))
        return added(parts, None if self.complete else missing)

    def steps(self, box: Box, records: Floats) -> tuple[Integers, NDArray[np.bool_]]:
        """Z of each column in steps, and which records have a value missing."""
        filled, missing = without_missing(box, records)
        with np.errstate(all="ignore"):  # a warning that depends on values would be an output
            filled -= _middle(box)  # in place, as what follows: three passes over memory less
            filled /= half_width(box)
            filled *= UNIT
            steps = np.rint(filled, out=filled)
        # The half of the narrowest widths is 0: what is not a number there is in the middle, and bounded like the rest.
        return np.clip(np.where(np.isnan(steps), 0.0, steps), -UNIT, UNIT).astype(np.int64), missing

    def pair(self, box: Box, norm: str) -> int:
        """A column alone: 2 for z; with its square 9/4 in L1, 2 in L2. With products too: docs/proofs/statistics.md.

        Every second moment is rounded down, by less than a step.
        """
        columns, rounded = box.dimension, len(self.seconds(box.dimension))
        if norm == "l1":
            if self.statistic == "covariance":
                return int(columns * (columns + 2) ** 2 * UNIT // (2 * (columns + 1)) + rounded)
            return int(columns * (2 * UNIT if self.statistic == "mean" else 9 * UNIT // 4) + rounded)
        squares = (columns + 1) ** 2 // 4 if self.statistic == "covariance" else columns
        return root(4 * squares * UNIT**2) + (root(rounded) if rounded else 0)

    def single(self, box: Box, norm: str) -> int:
        """A column alone: 1 for z; with its centred square 3/2 in L1, sqrt(5/4) in L2. A product: 1. And the weight."""
        columns, products = self._numbers(box)
        if norm == "l1":
            own = UNIT if self.statistic == "mean" else 3 * UNIT // 2
            return int(columns * own + products * UNIT + self.weight)
        own_square = UNIT**2 if self.statistic == "mean" else 5 * UNIT**2 // 4
        return root(columns * own_square + products * UNIT**2 + self.weight**2)

    def _numbers(self, box: Box) -> tuple[int, int]:
        """How many columns, and how many products of different ones."""
        crossed = self.statistic == "covariance"
        return box.dimension, box.dimension * (box.dimension - 1) // 2 if crossed else 0

    def steadied(self, values: Floats, law: NoiseLaw | None, rows: int | None) -> Floats:
        return full_count(values, self.weight, law, rows)

    def estimate(self, box: Box, values: Floats, rows: int | None) -> Floats:
        count = max(1.0, self._count(values, rows))
        if rows is not None:
            count = min(count, max(1.0, rows))
        first = np.clip(values[: box.dimension] / count, -1.0, 1.0)
        if self.statistic == "mean":
            return shaped(_middle(box) + half_width(box) * first)
        spread = np.zeros((box.dimension, box.dimension))
        for (i, j), value in self._second(box, values):
            spread[i, j] = spread[j, i] = value / count + 0.5 * (i == j) - first[i] * first[j]
        if self.statistic == "variance":
            return shaped(half_width(box) ** 2 * np.clip(np.diag(spread), 0.0, 1.0))
        return np.outer(half_width(box), half_width(box)) * _non_negative(spread)

    def counted(self, values: Floats, deviation: float) -> tuple[float, float]:
        """The noisy number of records, and the standard deviation of its noise; for moments that count."""
        return self._count(values, None), deviation * UNIT / self.weight

    def _count(self, values: Floats, rows: int | None) -> float:
        if self.weight:
            return float(values[-1] * UNIT / self.weight)
        return float(rows or 0)

    def _second(self, box: Box, values: Floats) -> Iterator[tuple[tuple[int, int], float]]:
        pairs = self.seconds(box.dimension)
        yield from zip(pairs, values[box.dimension :][: len(pairs)].tolist(), strict=True)

    def limits(self, box: Box, values: Floats, widths: Floats, rows: int | None) -> Limits:
        count, width = self._count(values, rows), float(widths[-1]) * UNIT / self.weight if self.weight else 0.0
        most = np.inf if rows is None else max(1.0, float(rows))
        fewest, many = (float(np.clip(count + sign * width, 1.0, most)) for sign in (-1, 1))

        def over(middle: Floats, wide: Floats) -> Limits:
            """Limits of a sum divided by the number of records."""
            low, high = middle - wide, middle + wide
            least = np.minimum(low / fewest, low / many) - _ROUNDING
            return least, np.maximum(high / fewest, high / many) + _ROUNDING

        low, high = (np.clip(end, -1.0, 1.0) for end in over(values[: box.dimension], widths[: box.dimension]))
        if self.statistic == "mean":
            return shaped(_middle(box) + half_width(box) * low), shaped(_middle(box) + half_width(box) * high)
        spread_low, spread_high = (np.zeros((box.dimension, box.dimension)) for _ in range(2))
        for place, (i, j) in enumerate(self.seconds(box.dimension), start=box.dimension):
            second_low, second_high = over(values[place], widths[place])
            products = [a * b for a in (low[i], high[i]) for b in (low[j], high[j])]
            least = 0.0 if i == j and low[i] <= 0 <= high[i] else min(products)
            spread_low[i, j] = spread_low[j, i] = second_low + 0.5 * (i == j) - max(products)
            spread_high[i, j] = spread_high[j, i] = second_high + 0.5 * (i == j) - least
        if self.statistic == "variance":
            ends = (np.clip(np.diag(end), 0.0, 1.0) * half_width(box) ** 2 for end in (spread_low, spread_high))
        else:
            floor = np.where(np.eye(box.dimension, dtype=np.bool_), 0.0, -1.0)
            ends = (
                np.clip(e, floor, 1.0) * np.outer(half_width(box), half_width(box)) for e in (spread_low, spread_high)
            )
        return shaped(next(ends)), shaped(next(ends))

    def typical(self, box: Box, rows: int) -> Floats:
        numbers = np.zeros(self.size(box))
        if self.weight:
            numbers[-1] = rows * self.weight / UNIT
        return numbers

    def labels(self, box: Box) -> list[list[str]]:
        if self.statistic == "covariance":
            return [list(box.names)] * 2
        return [] if box.dimension == 1 else [list(box.names)]


def added(parts: list[Integers], missing: NDArray[np.bool_] | None) -> Integers:
    """What records add, a column for each part; nothing where a value is missing.

    Columns lie one after the other in memory, where adding up each of them is several times as fast.
    """
    whole = np.stack(parts)
    if missing is not None:
        whole *= ~missing
    return whole.T


def full_count(values: Floats, weight: int, law: NoiseLaw | None, rows: int | None) -> Floats:
    """The same numbers, but that nothing is taken to be missing where the noisy count does not tell otherwise."""
    if not weight or rows is None or law is None:
        return values
    whole = rows * weight / UNIT
    if whole - values[-1] >= _TELLING * noise_deviation(law):
        return values
    return np.append(values[:-1], whole)


def _middle(box: Box) -> Floats:
    return box.low / 2 + box.high / 2


def half_width(box: Box) -> Floats:
    """Of each column."""
    return box.high / 2 - box.low / 2


def shaped(values: Floats) -> Floats:
    """A number for one column, an array for several."""
    return values.reshape(()) if values.shape == (1,) else values


def _non_negative(matrix: NDArray[np.float64]) -> Floats:
    """The nearest matrix that a covariance can be: no negative eigenvalue, no variance above one."""
    sizes, directions = np.linalg.eigh(np.clip(matrix, -1.0, 1.0))
    return np.asarray((directions * np.maximum(sizes, 0.0)) @ directions.T)
