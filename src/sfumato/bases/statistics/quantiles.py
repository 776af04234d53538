"""Quantiles of one column, on a public grid of values; those that are chosen, and what their ranks say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from sfumato.bases.statistics.sums import Floats, Integers, Limits, StatisticBasis
from sfumato.checks import as_written, probability
from sfumato.core.box import Box, Date, Integer, Interval, Periodic
from sfumato.core.calibration import DEEPEST, LEAST_EPSILON, MOST_CANDIDATES, MOST_VALUES, NoiseLaw
from sfumato.core.neighbours import rows_per_unit
from sfumato.core.privacy import Guarantee, Privacy
from sfumato.errors import ParameterError

LARGEST_GRID = 2**22
LARGEST_FACTOR = 10**9  # of a step in powers of ten
_MOST = 100_000  # values to choose from; between a tenth of this and this, in powers of ten
_PLACES = 2**17  # about so many places to choose jointly from: 0.07 s for each value
_FEWEST, MOST_SPLITS = 12, 64  # places of each value: a level within one is off by a part of its records
_FINEST_LEVEL = 10**6  # levels are read to six decimals, so that scores are whole numbers


@dataclass(frozen=True)
class Grid:
    """Multiples of a decimal step: ``(first, ..., first + count - 1) * factor * 10**-digits``.

    Data that were recorded in decimals lie on it.
    """

    first: int
    count: int
    digits: int
    factor: int = 1

    def __repr__(self) -> str:
        """As ever where the step is a power of ten."""
        factor = "" if self.factor == 1 else f", factor={self.factor}"
        return f"Grid(first={self.first}, count={self.count}, digits={self.digits}{factor})"

    @classmethod
    def over(cls, column: Interval, step: float | None = None) -> Grid:
        """Multiples of this step; else whole numbers, of such a column; else the finest grid that is not too large."""
        finest = math.floor(math.log10(_MOST / (column.high - column.low)))
        digits, factor = (0 if isinstance(column, Integer) else finest, 1) if step is None else decimals(column, step)
        apart = factor * Fraction(10) ** -digits
        first, last = math.ceil(Fraction(column.low) / apart), math.floor(Fraction(column.high) / apart)
        if not 1 <= last - first + 1 <= LARGEST_GRID:
            named = "step" if step is not None else "column"
            raise ParameterError(
                f"there are {last - first + 1} values in steps of {float(apart):g} to choose from, 1 to {LARGEST_GRID} "
                f"are allowed: {'give another step' if step is not None else 'declare a real column'}",
                parameter=named,
            )
        return cls(first, last - first + 1, digits, factor)

    def coarser(self, column: Interval) -> Grid:
        """Of the column in twice or five times these steps, if need be, so that each value has places enough."""
        for times in (1, 2, 5):
            found = self if times == 1 else Grid.over(column, float(times * self.step))
            if _FEWEST * found.count <= MOST_CANDIDATES:
                break
        return found

    @classmethod
    def around(cls, column: Interval, digits: int, factor: int) -> Grid:
        """The grid of this step on which every value of the column is within half a step of a candidate."""
        step, half = factor * Fraction(10) ** -digits, Fraction(1, 2)
        first, last = math.floor(Fraction(column.low) / step + half), math.ceil(Fraction(column.high) / step - half)
        return cls(first, last - first + 1, digits, factor)

    @property
    def step(self) -> Fraction:
        """From one candidate to the next."""
        return self.factor * Fraction(10) ** -self.digits

    def values(self, halves: int = 0) -> Floats:
        """The candidates themselves, or so many half steps from them, each the double nearest to its decimal number."""
        # From 0: beyond 2**53 steps of one would vanish.
        whole = (self.first + np.arange(self.count, dtype=np.float64)) * self.factor
        whole += halves * self.factor / 2
        return whole / 10.0**self.digits if self.digits >= 0 else whole * 10.0**-self.digits

    def edges(self, column: Interval | None = None) -> Interval:
        """The interval of which each candidate is the middle of one cell: records go to the nearest candidate."""
        ends = (self.first - Fraction(1, 2)) * self.step, (self.first + self.count - Fraction(1, 2)) * self.step
        kind = Date if isinstance(column, Date) else Interval  # dates are read as such
        return kind(float(ends[0]), float(ends[1]))


def decimals(column: Interval, step: float) -> tuple[int, int]:
    """A step as so many units of a power of ten: digits after the point, and how many units."""
    written = as_written(step)
    if written <= 0 or (isinstance(column, Integer) and written.denominator > 1):
        kind = "a whole number above 0 for a column of whole numbers" if isinstance(column, Integer) else "above 0"
        raise ParameterError.of("step", f"must be {kind}, got step={step!r}")
    digits = 0
    while (written * Fraction(10) ** digits).denominator > 1:
        digits += 1
    while digits <= 0 and written * Fraction(10) ** digits % 10 == 0:
        digits -= 1
    factor = int(written * Fraction(10) ** digits)
    if factor > LARGEST_FACTOR:
        raise ParameterError.of("step", f"must have at most nine digits, got step={step!r}")
    return digits, factor


class QuantileBasis(StatisticBasis):
    """What the quantiles of one column are written in: the levels that were asked for, ascending, and a grid."""

    asked: tuple[float, ...]
    grid: Grid
    complete: bool

    def shaped(self, values: Floats) -> Floats:
        """One number for each level asked for; a median is a single one."""
        return values.reshape(()) if self.statistic == "median" else values

    def labels(self, box: Box) -> list[list[str]]:
        return [] if self.statistic == "median" else [[f"{level:g}" for level in self.asked]]


@dataclass(frozen=True)
class Quantiles(QuantileBasis):
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
    splits
        0 where each level is chosen by itself; else all are chosen jointly, in as few groups as can be, and a value
        that many records share is a candidate so many times, each with another part of them below.

    >>> Quantiles("median", (0.5,), Grid(0, 111, 0), True).levels
    (Fraction(1, 2),)
    """

    statistic: str
    asked: tuple[float, ...]
    grid: Grid
    complete: bool
    flank: float = 0.0
    share: float = 0.0
    splits: int = 0
    exponent: ClassVar[int | None] = None

    def __repr__(self) -> str:
        """As ever where each is chosen by itself."""
        names = ("statistic", "asked", "grid", "complete", "flank", "share", *(["splits"] if self.splits else []))
        return f"Quantiles({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    @classmethod
    def plan(
        cls, statistic: str, asked: tuple[float, ...], box: Box, complete: bool, privacy: Privacy,
        step: float | None = None, rows: int | None = None,
    ) -> Quantiles:  # fmt: skip
        """Everything chosen from public quantities; what is planned now has no flanks, older files may.

        Several levels are chosen jointly wherever that is sure to be better, whatever the data: of ``rows`` records, a
        public number, as long as values that many of them share have places enough (docs/proofs/statistics.md).
        """
        levels, column = sorted_levels(asked), quantile_column(box)
        grid = Grid.over(column, step)
        groups = -(-len(set(levels)) // MOST_VALUES)
        strength = privacy.epsilon if privacy.epsilon is not None else math.sqrt(8 * (privacy.rho or 0.0) / groups)
        share = strength / (groups if privacy.epsilon is not None else 1)
        alone = cls(statistic, levels, grid, complete)
        if len(set(levels)) == 1 or share < 2 * LEAST_EPSILON or rows is None:
            return alone
        found = grid if step is not None or isinstance(column, Integer) else grid.coarser(column)
        counts = {min(MOST_SPLITS, places // found.count) for places in (_PLACES, MOST_CANDIDATES)}
        jointly = [replace(alone, grid=found, splits=splits) for splits in sorted(counts) if splits >= _FEWEST]
        return next((one for one in jointly if one.resolves(rows, share, privacy)), alone)

    def resolves(self, rows: int, epsilon: float, privacy: Privacy) -> bool:
        """Whether levels chosen jointly are told apart from any other values even where all records share one.

        A number between two levels is then off by at most the part of the records that one place has; other values
        weigh the floor, and of these there are as many as candidates.
        """
        for levels in self.groups:
            unit = 2 * self.splits * math.lcm(*(level.denominator for level in levels))
            rate = epsilon * unit / (2 * self.joint_sensitivity(levels, privacy))
            if rate * rows / self.splits > DEEPEST / (len(levels) + 1) - math.log(MOST_CANDIDATES):
                return False
        return True

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

    @property
    def groups(self) -> list[list[Fraction]]:
        """The different levels that are chosen jointly, each group with an equal part of the grant."""
        different = sorted({as_written(level) for level in self.asked})
        count = -(-len(different) // MOST_VALUES)
        return [different[start::count] for start in range(count)]

    def size(self, box: Box) -> int:
        return len(self.levels)

    def to_json(self) -> dict[str, Any]:
        grid = {"first": self.grid.first, "count": self.grid.count, "digits": self.grid.digits}
        grid |= {} if self.grid.factor == 1 else {"factor": self.grid.factor}
        jointly = {"splits": self.splits} if self.splits else {}
        return {"statistic": self.statistic, "asked": list(self.asked), "grid": grid, "complete": self.complete,
                "flank": self.flank, "share": self.share, **jointly}  # fmt: skip

    # --- several at once --------------------------------------------------------------------------------------

    def ranks(self, counts: Integers, levels: Sequence[Fraction]) -> tuple[Integers, list[int]]:
        """For each candidate and split how many records lie below, and how many to want between the levels.

        All in parts of a record: ``2 splits`` for the splits, times the levels' common denominator.
        """
        whole = math.lcm(*(level.denominator for level in levels))
        unit, total = 2 * self.splits * whole, int(counts.sum())
        if total * unit >= 2**62:  # Python's integers do not overflow: slower, and all that differs is time
            counts = counts.astype(object)
        odd = 2 * np.arange(self.splits, dtype=np.int64) + 1
        below = (np.cumsum(counts) - counts)[:, None] * (2 * self.splits)
        ranks = (below + counts[:, None] * odd).ravel() * whole
        marks = [0, *(int(level * whole) for level in levels), whole]
        return ranks, [(high - low) * total * 2 * self.splits for low, high in pairwise(marks)]

    def joint_sensitivity(self, levels: Sequence[Fraction], privacy: Privacy) -> int:
        """How far neighbours move the sum of what is too many or too few between the levels: Theorem 13."""
        whole = math.lcm(*(level.denominator for level in levels))
        moved = 2 * whole
        if privacy.neighbours == "add-remove":
            moved -= 2 * min(int((high - low) * whole) for low, high in pairwise([Fraction(0), *levels, Fraction(1)]))
        return 2 * self.splits * moved * rows_per_unit(privacy.unit)

    def chosen(self, places: Sequence[Sequence[int]]) -> Floats:
        """The values of the levels asked for, from the places that were chosen in each group."""
        values = self.grid.values()
        found = {
            level: values[place // self.splits]
            for levels, group in zip(self.groups, places, strict=True)
            for level, place in zip(levels, group, strict=True)
        }
        return np.array([found[as_written(level)] for level in self.asked])

    # --- each by itself ---------------------------------------------------------------------------------------

    def scores(self, counts: Integers, level: Fraction) -> Integers:
        """Minus how many records too many lie below or above each candidate, times the level's denominator.

        With L below, G at or above: ``(1 - q) L - q G``, and the like for those above. It is not cut at 0, so that a
        quantile that many records share stands out from its neighbours.
        """
        q, whole = level.numerator, level.denominator
        total = int(counts.sum())
        if total * whole >= 2**62:  # Python's integers do not overflow: slower, and all that differs is time
            counts = counts.astype(object)
        up_to = np.cumsum(counts)
        below, above = up_to - counts, total - up_to
        excess = np.maximum(whole * below - q * total, whole * above - (whole - q) * total)
        # Scores beyond 2**53 are as bad as each other: the door brings them all there.
        return np.asarray(-np.clip(excess, -(2**62), 2**62), dtype=np.int64)

    def apart(self, box: Box, privacy: Privacy, norm: str) -> int:
        """The largest sensitivity of any rank, in records: docs/proofs/statistics.md."""
        return rows_per_unit(privacy.unit)

    def sensitivity(self, level: Fraction, privacy: Privacy) -> int:
        """How far neighbours move a score: a whole rank, or, where records come or go, the larger share of one."""
        moved = level.denominator
        if privacy.neighbours == "add-remove":
            moved = max(level.numerator, level.denominator - level.numerator)
        return moved * rows_per_unit(privacy.unit)

    def own_widths(self, law: NoiseLaw | None, guarantee: Guarantee, confidence: float, rows: int | None) -> Floats:
        return self.rank_errors(guarantee, confidence)

    def rank_errors(self, guarantee: Guarantee | Privacy, confidence: float) -> Floats:
        """How many ranks each selection is off at most, all at once with this confidence.

        Of levels that are chosen jointly a prediction, for each group, where no value is shared by many records.
        """
        privacy = Privacy(guarantee.epsilon, 0.0, guarantee.rho, guarantee.neighbours, guarantee.unit)
        if self.splits:
            return np.array([self._joint_error(group, privacy, confidence) for group in self.groups])
        miss = (1 - confidence) / len(self.levels)
        errors = [
            rank_error(privacy, part, self.grid.count, miss, self.sensitivity(level, privacy) / level.denominator)
            for level, part in zip(self.levels, self.parts, strict=True)
        ]
        return np.array(errors)

    def _joint_error(self, levels: Sequence[Fraction], privacy: Privacy, confidence: float) -> float:
        """Numbers between levels are off by Laplace noise that adds up to nothing: docs/proofs/statistics.md."""
        count, groups = len(levels), len(self.groups)
        epsilon = math.sqrt(8 * privacy.rho / groups) if privacy.rho is not None else (privacy.epsilon or 0.0) / groups
        unit = 2 * self.splits * math.lcm(*(level.denominator for level in levels))
        scale = 2 * self.joint_sensitivity(levels, privacy) / (unit * epsilon)
        middle = (count + 1) // 2
        tail = math.log(2 * count * groups / (1 - confidence))
        deviation = math.sqrt(2 * middle * (count + 1 - middle) / (count + 1))
        return scale * (deviation * math.sqrt(2 * tail) + tail)

    def estimate(self, box: Box, values: Floats, rows: int | None) -> Floats:
        return self.shaped(np.sort(values[: len(self.asked)]))

    def limits(self, box: Box, values: Floats, widths: Floats, rows: int | None) -> Limits:
        """``widths`` are ranks: a value whose rank is surely too low lies below the quantile, and vice versa."""
        low, high = np.full(len(self.asked), box.low[0]), np.full(len(self.asked), box.high[0])
        # A record stands at its nearest candidate, which is less than a step away, also beyond the last one.
        step = 0.0 if isinstance(box.columns[0], Integer) else float(self.grid.step)
        if rows is not None and self.complete and not self.splits:
            ranks = np.array([float(level) * rows for level in self.levels])
            for i, level in enumerate(self.asked):
                wanted = level * rows
                low[i] = max([low[i], *(values[ranks + widths < wanted - 1e-6] - step)])
                high[i] = min([high[i], *(values[ranks - widths > wanted + 1] + step)])
        return self.shaped(low), self.shaped(high)


def check_level(value: object) -> float:
    """A level strictly between 0 and 1 with at most six decimals."""
    level = probability("probabilities", value)
    if _FINEST_LEVEL % as_written(level).denominator:
        raise ParameterError.of("probabilities", f"must have at most six decimals, got {value!r}")
    return level


def sorted_levels(asked: Sequence[float]) -> tuple[float, ...]:
    """Levels as they are kept."""
    return tuple(sorted(check_level(level) for level in asked))


def quantile_column(box: Box) -> Interval:
    """The one column of a box that has quantiles."""
    column = box.intervals()[0]
    if box.dimension != 1 or isinstance(column, Periodic):
        raise ParameterError(f"quantiles need one column that is not periodic, got {box!r}")
    if column.high - column.low < 1e-290:
        raise ParameterError(
            f"quantiles need a column wider than 1e-290, got ({column.low!r}, {column.high!r})", parameter="column"
        )
    return column


def rank_error(privacy: Privacy, part: Fraction, candidates: int, miss: float, sensitivity: float) -> float:
    """How many ranks a selection is off at most, but for a probability ``miss``: docs/proofs/selection.md."""
    if privacy.epsilon is not None:
        epsilon = privacy.epsilon * float(part)
    else:
        epsilon = math.sqrt(8 * (privacy.rho or 0.0) * float(part))
    # The last term: scores are rounded to a grid of at most 2**-16 of their sensitivity.
    return 2 * sensitivity * (1 + 2.0**-15) / epsilon * math.log(candidates / miss) + sensitivity * 2.0**-16
