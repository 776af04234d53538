"""Quantiles from a tree of noisy counts: one draw of noise tells the values and, in ranks, how far off they may be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, ClassVar

import numpy as np

from sfumato.bases.density.measure import to_simplex
from sfumato.bases.statistics.quantiles import Grid, QuantileBasis, decimals, quantile_column, sorted_levels
from sfumato.bases.statistics.sums import Floats, Integers, Limits, SumOfRecords
from sfumato.core.box import Box, Integer, Interval
from sfumato.core.calibration import NoiseLaw
from sfumato.core.privacy import Guarantee, Privacy
from sfumato.errors import ParameterError
from sfumato.laws import sum_quantile

HIGHEST = 16  # layers
LARGEST_FAN = 1024  # limits take as many quantiles of noise as there are sums of different numbers of nodes
_MOST = 2**15  # cells: a file then stays below 300 kB
_EACH = 1_000  # whole numbers up to which each has a cell of its own
_DECADES = 5  # of steps to choose among
_SPREAD = 0.1  # of the box: how far the middle of the records that a plan has in mind is spread out
_DEVIATIONS = 2.0  # of the noise that it counts with


@dataclass(frozen=True)
class QuantileTree(SumOfRecords, QuantileBasis):
    """How many records fall into each cell of a public grid, into each ``fan`` cells together, and so on upwards.

    The root, all records, is not among them. A record is counted once in each of ``height`` layers, or, if it has no
    value, in one more number where ``absent`` says so: with a public number of records, that makes a total.

    Parameters
    ----------
    asked
        The levels that were asked for, ascending.
    grid
        Candidates, each the middle of a cell.
    complete
        Whether the caller says that nothing is missing.
    fan, height
        How many nodes of a layer make one of the layer above, and how many layers there are.
    absent
        Whether the last number counts the records without a value.

    >>> QuantileTree("median", (0.5,), Grid(0, 100, 0), True, 10, 2).layers
    [(0, 10), (10, 110)]
    """

    statistic: str
    asked: tuple[float, ...]
    grid: Grid
    complete: bool
    fan: int
    height: int
    absent: bool = False
    exponent: ClassVar[int | None] = 0

    @classmethod
    def plan(
        cls, statistic: str, asked: Sequence[float], box: Box, rows: int, privacy: Privacy, complete: bool,
        noise: tuple[float, float], step: float | None = None,
    ) -> QuantileTree:  # fmt: skip
        """The cells and the layers that theory says are best, from public quantities alone.

        Parameters
        ----------
        rows
            The number of records, or what to expect.
        noise
            The deviation of the noise for neighbours that are one apart, in L1 and in L2.
        step
            From one cell to the next, where the caller says so.
        """
        levels, best, least = sorted_levels(asked), None, math.inf
        absent = not complete and privacy.neighbours == "replace" and privacy.unit == "row"  # free: Theorem 11
        for grid in _grids(quantile_column(box), step):
            for height in range(1, HIGHEST + 1):
                fan = _fan(grid.count, height)
                if fan > LARGEST_FAN:
                    continue
                tree = cls(statistic, levels, grid, complete, fan, height, absent)
                deviation = min(
                    unit * tree.apart(box, privacy, norm) for unit, norm in zip(noise, ("l1", "l2"), strict=True)
                )
                error = tree._expected_error(box, rows, deviation)
                if error < least:
                    best, least = tree, error
                if fan == 2:
                    break
        assert best is not None
        return best

    def _expected_error(self, box: Box, rows: int, deviation: float) -> float:
        """In shares of the box: half a cell, and the noise in a rank, where records are as spread out as in mind."""
        whole = isinstance(box.columns[0], Integer) and self.grid.step == 1
        half = 0.0 if whole else float(self.grid.step) / (box.high[0] - box.low[0]) / 2
        nodes = self.height * (self.fan - 1) / 6  # the mean of a r / (a + r)
        return half + _SPREAD * _DEVIATIONS * deviation * math.sqrt(nodes) / max(1, rows)

    # --- what is summed ---------------------------------------------------------------------------------------

    @property
    def spans(self) -> list[int]:
        """How many cells a node of each layer has, from above."""
        return [self.fan ** (self.height - layer) for layer in range(1, self.height + 1)]

    @property
    def layers(self) -> list[tuple[int, int]]:
        """From where to where the numbers of each layer are, from above."""
        sizes = [-(-self.grid.count // span) for span in self.spans]
        return list(pairwise(accumulate(sizes, initial=0)))

    def size(self, box: Box) -> int:
        return self.layers[-1][1] + self.absent

    def to_json(self) -> dict[str, Any]:
        return {"statistic": self.statistic, "asked": list(self.asked), "grid": vars(self.grid),
                "complete": self.complete, "fan": self.fan, "height": self.height, "absent": self.absent}  # fmt: skip

    def sums(self, counts: Integers, records: int) -> Integers:
        """All layers, from the counts in the cells; then how many of the records are in none, where that is told."""
        layers = [np.add.reduceat(counts, np.arange(0, len(counts), span)) for span in self.spans]
        rest = np.array([records - int(counts.sum())] if self.absent else [], dtype=np.int64)  # no float comes near
        return np.concatenate([*layers, rest])

    def apart(self, box: Box, privacy: Privacy, norm: str) -> int | float:
        """Of absent records only where the number of all is public: rows that a person loses would be among them."""
        if self.absent and (privacy.neighbours != "replace" or privacy.unit != "row"):
            raise ParameterError("absent records are only counted where single rows are replaced; use absent=False")
        return super().apart(box, privacy, norm)

    def pair(self, box: Box, norm: str) -> int | float:
        """A record moves from one node to another in each layer; losing its value, it moves no more than that."""
        return 2 * self.height if norm == "l1" else math.nextafter(math.sqrt(2 * self.height), math.inf)

    def single(self, box: Box, norm: str) -> int | float:
        return self.height if norm == "l1" else math.nextafter(math.sqrt(self.height), math.inf)

    # --- how it is read ---------------------------------------------------------------------------------------

    def estimate(self, box: Box, values: Floats, rows: int | None) -> Floats:
        """From the root down: the nearest counts that are not negative and add up to the node above."""
        total = self._total(values, rows)
        if total is None:
            total = float(values[slice(*self.layers[0])].sum())
        places = np.array([self._descent(values, max(1.0, total), level) for level in self.asked])
        return self.shaped(np.sort(np.clip(self.grid.values()[places], box.low[0], box.high[0])))

    def _descent(self, values: Floats, total: float, level: float) -> int:
        place, rank = 0, level * total
        for first, last in self.layers:
            start = place * self.fan
            noisy = values[first + start : min(last, first + start + self.fan)]
            counts = to_simplex(noisy / total) * total
            up_to = np.cumsum(counts)
            inside = float(np.clip(rank, 1e-9 * total, (1 - 1e-9) * total))  # of a node that holds something
            child = min(int(np.searchsorted(up_to, inside)), len(counts) - 1)
            rank, total, place = inside - up_to[child] + counts[child], max(1.0, counts[child]), start + child
        return place

    def own_widths(self, law: NoiseLaw | None, guarantee: Guarantee, confidence: float, rows: int | None) -> Floats:
        assert law is not None
        return self.rank_widths(law, confidence, rows)

    def rank_widths(self, law: NoiseLaw, confidence: float, rows: int | None) -> Floats:
        """How far noise moves the rank at the upper edge of each cell but the last, ``(levels, cells - 1)``.

        On one side and at one edge: a quantile lies in one cell, and only the edges of that cell must hold.
        """
        miss = (1 - confidence) / (2 * len(self.asked))
        sides, found = np.unique(np.stack(self._nodes()), axis=1, return_inverse=True)
        weights = self._weights(sides[0], sides[1], rows)
        widths = [
            [
                sum_quantile(law, np.array([1 - w, w, abs(w - level)]), np.array([*times, self.absent]), miss)
                for w, times in zip(row, sides.T, strict=True)
            ]
            for row, level in zip(weights, self.asked, strict=True)
        ]
        return np.array(widths)[:, found.ravel()]

    def limits(self, box: Box, values: Floats, widths: Floats, rows: int | None) -> Limits:
        """``widths`` are ranks, for each level and edge: docs/proofs/statistics.md, Theorem 11."""
        weights, (left, right) = self._weights(*self._nodes(), rows), self._sides(values)
        levels = np.array(self.asked)[:, None]
        excess = (1 - weights) * left - weights * right + (weights - levels) * (self._total(values, rows) or 0.0)
        last, widths = self.grid.count - 1, widths + 2.0**-20 + 2.0**-40 * (np.abs(left) + np.abs(right))  # rounding
        lowest = [int(np.append(np.flatnonzero(kept), last)[0]) for kept in excess >= -1 - widths]
        highest = [int(np.append(0, 1 + np.flatnonzero(kept))[-1]) for kept in excess <= 1 + widths]
        low, high = self._cell_ends(box)
        return self.shaped(low[lowest]), self.shaped(high[highest])

    def _total(self, values: Floats, rows: int | None) -> float | None:
        """How many records have a value: known, or but for the noise in one number; None if it is private."""
        if rows is None or not (self.complete or self.absent):
            return None
        return float(rows - values[-1]) if self.absent else float(rows)

    def _weights(self, left: Integers, right: Integers, rows: int | None) -> Floats:
        """What nodes on the right count for, those on the left the rest of one; ``(levels, edges)``.

        With a known total either side alone tells a rank, and the best mixture is by their numbers of nodes.
        """
        levels = np.array(self.asked)[:, None]
        if rows is not None and (self.complete or self.absent):
            return np.broadcast_to(left / np.maximum(1, left + right), (len(levels), left.size))
        return np.broadcast_to(levels, (len(levels), left.size))

    def _nodes(self) -> tuple[Integers, Integers]:
        """How many nodes make up what lies to the left and to the right of the upper edge of each cell but the last."""
        return self._sides(None)

    def _sides(self, values: Floats | None) -> tuple[Any, Any]:
        """Sums over the nodes on both sides of each edge, or, without values, their numbers."""
        cells = np.arange(self.grid.count - 1)
        left, right = 0, 0
        for span, (first, last) in zip(self.spans, self.layers, strict=True):
            numbers = np.ones(last - first, dtype=np.int64) if values is None else values[first:last]
            up_to = np.concatenate([[0], np.cumsum(numbers)])
            node = cells // span
            above = node // self.fan * self.fan
            left = left + up_to[node] - up_to[above]
            right = right + up_to[np.minimum(above + self.fan, last - first)] - up_to[node + 1]
            if span == 1:  # the cell itself
                left = left + numbers[:-1]
        return left, right

    def _cell_ends(self, box: Box) -> tuple[Floats, Floats]:
        """Between which values of the box the records of each cell lie."""
        low, high = self.grid.values(-1), self.grid.values(1)
        if isinstance(box.columns[0], Integer):
            low, high = np.ceil(low), np.floor(high)
        low[0], high[-1] = box.low[0], box.high[0]
        return np.clip(low, box.low[0], box.high[0]), np.clip(high, box.low[0], box.high[0])


def _grids(column: Interval, step: float | None) -> list[Grid]:
    """Grids in steps of 1, 2 and 5 times powers of ten, from the finest with not too many cells; or the one given."""
    if step is not None:
        grid = Grid.around(column, *decimals(column, step))
        if not 2 <= grid.count <= _MOST:
            raise ParameterError.of(
                "step", f"must make 2 to {_MOST} cells, got step={step!r}, which makes {grid.count}"
            )
        return [grid]
    if isinstance(column, Integer) and column.high - column.low < _EACH:
        return [Grid.around(column, 0, 1)]
    finest = math.floor(math.log10(_MOST / (column.high - column.low))) + 1
    steps = [(digits, factor) for digits in range(finest, finest - _DECADES, -1) for factor in (1, 2, 5)]
    whole = isinstance(column, Integer)
    grids = [Grid.around(column, digits, factor) for digits, factor in steps if digits <= 0 or not whole]
    return [grid for grid in grids if 2 <= grid.count <= _MOST]


def _fan(count: int, height: int) -> int:
    """The least fan with which so many layers have enough cells."""
    fan: int = max(2, math.floor(count ** (1 / height)))
    while fan**height < count:
        fan += 1
    return fan
