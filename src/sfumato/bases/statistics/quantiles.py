"""Quantiles chosen from a public grid of values: which values, which levels, and what their ranks say."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from sfumato.bases.statistics.sums import Floats, Integers, Limits, Summary
from sfumato.checks import as_written, probability
from sfumato.core.box import Box, Integer, Interval, Periodic
from sfumato.core.neighbours import rows_per_unit
from sfumato.core.privacy import Guarantee, Privacy
from sfumato.errors import ParameterError

LARGEST_GRID = 2**22
_MOST = 100_000  # values to choose from; between a tenth of this and this, in powers of ten
_FINEST_LEVEL = 10**6  # levels are read to six decimals, so that scores are whole numbers


@dataclass(frozen=True)
class Grid:
    """Multiples of a power of ten: ``(first, ..., first + count - 1) * 10**-digits``.

    Data that were recorded in decimals lie on it.
    """

    first: int
    count: int
    digits: int

    @classmethod
    def over(cls, column: Interval) -> Grid:
        """The whole numbers of a whole-number column, else the finest grid that is not too large."""
        if column.high - column.low < 1e-290:
            raise ParameterError(
                f"quantiles need a column wider than 1e-290, got ({column.low!r}, {column.high!r})", parameter="column"
            )
        finest = math.floor(math.log10(_MOST / (column.high - column.low)))
        digits = 0 if isinstance(column, Integer) else finest
        step = Fraction(10) ** -digits
        first, last = math.ceil(Fraction(column.low) / step), math.floor(Fraction(column.high) / step)
        if last - first + 1 > LARGEST_GRID:
            raise ParameterError(
                f"there are {last - first + 1} whole numbers to choose from; declare a real column", parameter="column"
            )
        return cls(first, last - first + 1, digits)

    def values(self) -> Floats:
        """The candidates themselves, each the double nearest to its decimal number."""
        whole = self.first + np.arange(self.count, dtype=np.float64)  # from 0: beyond 2**53 steps of one would vanish
        return whole / 10.0**self.digits if self.digits >= 0 else whole * 10.0**-self.digits

    def edges(self) -> Interval:
        """The interval of which each candidate is the middle of one cell: records go to the nearest candidate."""
        scale = Fraction(10) ** -self.digits
        ends = (self.first - Fraction(1, 2)) * scale, (self.first + self.count - Fraction(1, 2)) * scale
        return Interval(float(ends[0]), float(ends[1]))


@dataclass(frozen=True)
class Quantiles(Summary):
    """The values at some levels of one column, each chosen from a grid.

    Parameters
    ----------
    asked
        The levels that were asked for, ascending.
    flank
        How far from each the levels are that make its limits; 0 for none.
    share
        Which part of the grant pays for the flanks.
    complete
        Whether the caller says that nothing is missing.

    >>> Quantiles("median", (0.5,), Grid(0, 111, 0), True).levels
    (Fraction(1, 2),)
    """

    statistic: str
    asked: tuple[float, ...]
    grid: Grid
    complete: bool
    flank: float = 0.0
    share: float = 0.0
    exponent: ClassVar[int | None] = None

    @classmethod
    def plan(
        cls, statistic: str, asked: tuple[float, ...], box: Box, n: int | None, privacy: Privacy, complete: bool,
        share: float,
    ) -> Quantiles:  # fmt: skip
        """Everything chosen from public quantities: with a share for limits, flanks that hold in 95 of 100."""
        column = box.intervals()[0]
        if box.dimension != 1 or isinstance(column, Periodic):
            raise ParameterError(f"quantiles need one column that is not periodic, got {box!r}")
        levels = tuple(sorted(check_level(level) for level in asked))
        bare = cls(statistic, levels, Grid.over(column), complete)
        if not share:
            return bare
        if not n or not complete:
            raise ParameterError.of(
                "interval_share", "needs a public number of values: neighbours='replace', unit='row', missing='none'"
            )
        # As far out as three times as many levels, two thirds of which live on the share, are surely off by.
        part = as_written(share) / (2 * len(levels))
        far = (rank_error(privacy, part, bare.grid.count, 0.05 / (3 * len(levels)), 1.0) + 2) / n
        flank = min(0.5, math.ceil(far * _FINEST_LEVEL) / _FINEST_LEVEL)
        return cls(statistic, levels, bare.grid, complete, flank, share)

    @property
    def levels(self) -> tuple[Fraction, ...]:
        """Every level that is selected: those asked for, then for each the two beside it."""
        asked = [as_written(level) for level in self.asked]
        if not self.share:
            return tuple(asked)
        wide = as_written(self.flank)
        beside = [side for level in asked for side in (max(level - wide, Fraction(0)), min(level + wide, Fraction(1)))]
        return tuple(asked + beside)

    @property
    def parts(self) -> tuple[Fraction, ...]:
        """Which part of the grant each selection gets; all together, the whole."""
        share, count = as_written(self.share), len(self.asked)
        own = [(1 - share) / count] * count
        return tuple(own + [share / (2 * count)] * (len(self.levels) - count))

    def size(self, box: Box) -> int:
        return len(self.levels)

    def to_json(self) -> dict[str, Any]:
        grid = vars(self.grid)
        return {"statistic": self.statistic, "asked": list(self.asked), "grid": grid, "complete": self.complete,
                "flank": self.flank, "share": self.share}  # fmt: skip

    def scores(self, counts: Integers, level: Fraction) -> Integers:
        """Minus how many records too many lie below or above each candidate, times the level's denominator.

        With L below, G at or above: ``(1 - q) L - q G``, and the like for those above; 0 where it is a quantile.
        """
        q, whole = level.numerator, level.denominator
        total = int(counts.sum())
        if total * whole >= 2**62:  # Python's integers do not overflow: slower, and all that differs is time
            counts = counts.astype(object)
        up_to = np.cumsum(counts)
        below, above = up_to - counts, total - up_to
        excess = np.maximum(whole * below - q * total, whole * above - (whole - q) * total)
        # Scores beyond 2**53 are as bad as each other: the door brings them all there.
        return np.asarray(-np.clip(excess, 0, 2**62), dtype=np.int64)

    def apart(self, box: Box, privacy: Privacy, norm: str) -> int:
        """The largest sensitivity of any rank, in records: docs/proofs/statistics.md."""
        return rows_per_unit(privacy.unit)

    def sensitivity(self, level: Fraction, privacy: Privacy) -> int:
        """How far neighbours move a score: a whole rank, or, where records come or go, the larger share of one."""
        moved = level.denominator
        if privacy.neighbours == "add-remove":
            moved = max(level.numerator, level.denominator - level.numerator)
        return moved * rows_per_unit(privacy.unit)

    def rank_errors(self, guarantee: Guarantee | Privacy, confidence: float) -> Floats:
        """How many ranks each selection is off at most, all at once with this confidence."""
        privacy = Privacy(guarantee.epsilon, 0.0, guarantee.rho, guarantee.neighbours, guarantee.unit)
        miss = (1 - confidence) / len(self.levels)
        errors = [
            rank_error(privacy, part, self.grid.count, miss, self.sensitivity(level, privacy) / level.denominator)
            for level, part in zip(self.levels, self.parts, strict=True)
        ]
        return np.array(errors)

    def estimate(self, box: Box, values: Floats, rows: int | None) -> Floats:
        found = np.sort(values[: len(self.asked)])
        return found.reshape(()) if self.statistic == "median" else found

    def limits(self, box: Box, values: Floats, widths: Floats, rows: int | None) -> Limits:
        """``widths`` are ranks: a value whose rank is surely too low lies below the quantile, and vice versa."""
        low, high = np.full(len(self.asked), box.low[0]), np.full(len(self.asked), box.high[0])
        # A record stands at its nearest candidate, which is less than a step away, also beyond the last one.
        step = 0.0 if isinstance(box.columns[0], Integer) else float(Fraction(10) ** -self.grid.digits)
        if rows is not None and self.complete:
            ranks = np.array([float(level) * rows for level in self.levels])
            for i, level in enumerate(self.asked):
                wanted = level * rows
                low[i] = max([low[i], *(values[ranks + widths < wanted - 1e-6] - step)])
                high[i] = min([high[i], *(values[ranks - widths > wanted + 1] + step)])
        shape = () if self.statistic == "median" else low.shape
        return low.reshape(shape), high.reshape(shape)

    def labels(self, box: Box) -> list[list[str]]:
        return [] if self.statistic == "median" else [[f"{level:g}" for level in self.asked]]


def check_level(value: object) -> float:
    """A level strictly between 0 and 1 with at most six decimals."""
    level = probability("probabilities", value)
    if _FINEST_LEVEL % as_written(level).denominator:
        raise ParameterError.of("probabilities", f"must have at most six decimals, got {value!r}")
    return level


def rank_error(privacy: Privacy, part: Fraction, candidates: int, miss: float, sensitivity: float) -> float:
    """How many ranks a selection is off at most, but for a probability ``miss``: docs/proofs/selection.md."""
    if privacy.epsilon is not None:
        epsilon = privacy.epsilon * float(part)
    else:
        epsilon = math.sqrt(8 * (privacy.rho or 0.0) * float(part))
    # The last term: scores are rounded to a grid of at most 2**-16 of their sensitivity.
    return 2 * sensitivity * (1 + 2.0**-15) / epsilon * math.log(candidates / miss) + sensitivity * 2.0**-16
