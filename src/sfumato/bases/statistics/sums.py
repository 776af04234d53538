"""What a statistic is written in: a few integers that are sums over records, and how to read them.

One record's contribution is a bounded integer vector that depends on that record alone, so how far neighbours are apart
is a matter of whole numbers (docs/proofs/statistics.md).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.base import Basis
from sfumato.bases.density.measure import to_simplex
from sfumato.bases.unit import in_words, is_whole
from sfumato.core.box import Box, Categorical
from sfumato.core.calibration import NoiseLaw
from sfumato.core.certificate import Certificate
from sfumato.core.neighbours import rows_per_unit
from sfumato.core.privacy import Guarantee, Privacy

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Limits = tuple[Floats, Floats]

BITS = 30
UNIT = 2**BITS  # steps in one: a column's half-width, or its largest value


class StatisticBasis(Basis):
    """A public rule that turns records into numbers, and noisy numbers into a statistic with limits."""

    statistic: str
    exponent: ClassVar[int | None] = -BITS

    @abstractmethod
    def apart(self, box: Box, privacy: Privacy, norm: str) -> int | float:
        """How far neighbours can be apart, in steps of ``2**exponent``, in ``"l1"`` or ``"l2"``."""

    def certified(self, box: Box, privacy: Privacy, norm: str) -> Certificate:
        """The enforced certificate of a sum of bounded integer vectors: docs/proofs/statistics.md."""
        bound = self.apart(box, privacy, norm)
        return Certificate(norm, bound, privacy.neighbours, "enforced", "statistics", self.exponent)

    @abstractmethod
    def estimate(self, box: Box, values: Floats, rows: int | None) -> Floats:
        """The statistic from the noisy numbers; ``rows`` is the public number of records, or None."""

    def steadied(self, values: Floats, law: NoiseLaw | None, rows: int | None) -> Floats:
        """The numbers that ``estimate`` is to read, where the noise itself tells that some of them mean nothing."""
        return values

    @abstractmethod
    def limits(self, box: Box, values: Floats, widths: Floats, rows: int | None) -> Limits:
        """Limits of the statistic of the records themselves, if every number is within its width of the true one."""

    def own_widths(
        self, law: NoiseLaw | None, guarantee: Guarantee, confidence: float, rows: int | None
    ) -> Floats | None:
        """Widths for ``limits`` where they are not how far noise moves each number: None where they are."""
        return None

    def typical(self, box: Box, rows: int) -> Floats:
        """Numbers to expect of so many records, for predictions."""
        return np.zeros(self.size(box))

    @abstractmethod
    def labels(self, box: Box) -> list[list[str]]:
        """Names of the entries of the statistic, along each of its axes; none for a single number."""


class SumOfRecords(StatisticBasis):
    """A summary that is a sum of bounded integer vectors, one for each record."""

    complete: bool  # whether the caller says that nothing is missing

    @abstractmethod
    def pair(self, box: Box, norm: str) -> int | float:
        """How far apart two records' contributions can be."""

    @abstractmethod
    def single(self, box: Box, norm: str) -> int | float:
        """How large one record's contribution can be."""

    def apart(self, box: Box, privacy: Privacy, norm: str) -> int | float:
        """One record leaves, and another comes where neighbours replace; or none does, if its value is missing.

        A person's rows are exchanged one by one, and those left over leave or come: docs/proofs/statistics.md.
        """
        far = self.single(box, norm)
        if privacy.neighbours == "replace":
            exchanged = self.pair(box, norm)
            far = exchanged if self.complete and privacy.unit == "row" else max(far, exchanged)
        far *= rows_per_unit(privacy.unit)
        return max(1, far) if isinstance(far, int) else math.nextafter(far, math.inf)


def root(square: int) -> int:
    """A whole number not below the square root."""
    return math.isqrt(square) + 1


@dataclass(frozen=True)
class Total(SumOfRecords):
    """The sum of each column; a record with a missing value adds nothing (or, if ``complete``, the box's middle).

    >>> Total(True).single(Box({"age": (0, 110)}), "l1") == UNIT
    True
    """

    complete: bool
    statistic = "sum"

    def size(self, box: Box) -> int:
        return box.dimension

    def to_json(self) -> dict[str, Any]:
        return {"statistic": self.statistic, "complete": self.complete}

    def scales(self, box: Box) -> Floats:
        """The largest size that a value of each column can have, which counts as one."""
        return np.array([max(abs(c.low), abs(c.high)) for c in box.intervals()])

    def contributions(self, box: Box, records: Floats) -> Integers:
        """``(m, l)`` integers, from cleaned records."""
        filled, missing = without_missing(box, records)
        with np.errstate(all="ignore"):  # a warning that depends on values would be an output
            steps = np.rint(filled / self.scales(box) * UNIT)
        whole = np.clip(steps, *self._range(box)).astype(np.int64)
        return whole if self.complete else np.where(missing[:, None], 0, whole)

    def _range(self, box: Box) -> tuple[Integers, Integers]:
        ends = [np.rint(end / self.scales(box) * UNIT).astype(np.int64) for end in (box.low, box.high)]
        return ends[0], ends[1]

    def pair(self, box: Box, norm: str) -> int:
        low, high = self._range(box)
        return _length(high - low, norm)

    def single(self, box: Box, norm: str) -> int:
        low, high = self._range(box)
        return _length(np.maximum(np.abs(low), np.abs(high)), norm)

    def estimate(self, box: Box, values: Floats, rows: int | None) -> Floats:
        return self._shaped(box, values * self.scales(box))

    def limits(self, box: Box, values: Floats, widths: Floats, rows: int | None) -> Limits:
        # Each record was rounded to the grid by half a step; of a private number of them, 2**31 are allowed for.
        rounding = 1.0 if rows is None else rows / UNIT
        low, high = ((values + sign * (widths + rounding)) * self.scales(box) for sign in (-1, 1))
        if rows is not None:
            least = box.low if self.complete else np.minimum(box.low, 0.0)
            most = box.high if self.complete else np.maximum(box.high, 0.0)
            low, high = (np.clip(end, least * rows, most * rows) for end in (low, high))
        return self._shaped(box, low), self._shaped(box, high)

    def _shaped(self, box: Box, values: Floats) -> Floats:
        return values.reshape(()) if box.dimension == 1 else values

    def labels(self, box: Box) -> list[list[str]]:
        return [] if box.dimension == 1 else [list(box.names)]


def _length(sizes: Integers, norm: str) -> int:
    whole = [int(size) for size in sizes]
    return sum(whole) if norm == "l1" else root(sum(size * size for size in whole))


def without_missing(box: Box, records: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Cleaned records with the box's middle where a value is missing, and which records have one missing."""
    holes = np.isnan(records)
    return np.where(holes, box.low / 2 + box.high / 2, records), np.asarray(holes.any(axis=1))


@dataclass(frozen=True)
class Tally(SumOfRecords):
    """How many records fall into each cell of a public grid: counts, a histogram, or proportions.

    Parameters
    ----------
    statistic
        ``"count"``, ``"histogram"`` or ``"proportions"``.
    shape
        Cells along each column; a single cell for a count.
    edges
        Of the cells along each column, ascending; None where they are equal, or categories.

    >>> Tally("histogram", (10,), False).size(Box({"age": (0, 110)}))
    10
    """

    statistic: str
    shape: tuple[int, ...]
    complete: bool
    edges: tuple[tuple[float, ...] | None, ...] | None = field(default=None, repr=False)  # may be many
    exponent: ClassVar[int | None] = 0

    def size(self, box: Box) -> int:
        return math.prod(self.shape)

    def to_json(self) -> dict[str, Any]:
        told = {"statistic": self.statistic, "shape": list(self.shape), "complete": self.complete}
        sides = None if self.edges is None else [None if side is None else list(side) for side in self.edges]
        return told if sides is None else {**told, "edges": sides}

    def pair(self, box: Box, norm: str) -> int | float:
        """A record moves from one cell to another; a count stays."""
        if math.prod(self.shape) == 1:
            return 1
        return 2 if norm == "l1" else math.nextafter(math.sqrt(2), 2)

    def single(self, box: Box, norm: str) -> int:
        return 1

    def estimate(self, box: Box, values: Floats, rows: int | None) -> Floats:
        """The nearest counts that are not negative and add up to the records, or, with some missing, to no more."""
        counts = np.maximum(values, 0.0)
        many = self.statistic == "histogram" and rows is not None and counts.sum() > rows
        if rows is not None and (self.complete or many):
            counts = to_simplex(values / max(1, rows)) * rows
        elif rows is not None:
            counts = np.minimum(counts, rows)
        if self.statistic == "proportions":
            counts = counts / max(1.0, rows if rows is not None and self.complete else counts.sum())
        return counts.reshape(() if self.statistic == "count" else self.shape)

    def limits(self, box: Box, values: Floats, widths: Floats, rows: int | None) -> Limits:
        most = np.inf if rows is None else float(rows)
        low, high = np.clip(values - widths, 0.0, most), np.clip(values + widths, 0.0, most)
        if self.statistic == "proportions" and self.complete and rows is not None:
            low, high = low / max(1, rows), high / max(1, rows)
        elif self.statistic == "proportions":
            # A share is smallest when its own cell has few and all the others many.
            rest_low, rest_high = low.sum() - low, high.sum() - high
            low, high = low / np.maximum(low + rest_high, 1e-300), high / np.maximum(high + rest_low, 1e-300)
        shape = () if self.statistic == "count" else self.shape
        return low.reshape(shape), high.reshape(shape)

    def typical(self, box: Box, rows: int) -> Floats:
        return np.full(self.size(box), rows / self.size(box))

    def labels(self, box: Box) -> list[list[str]]:
        if self.statistic == "count":
            return []
        return [self._names(box, axis) for axis in range(box.dimension)]

    def sides(self, box: Box, axis: int) -> Floats | None:
        """The edges of the cells along a column; None for categories."""
        column = box.columns[axis]
        if isinstance(column, Categorical):
            return None
        given = None if self.edges is None else self.edges[axis]
        return np.linspace(column.low, column.high, self.shape[axis] + 1) if given is None else np.array(given)

    def _names(self, box: Box, axis: int) -> list[str]:
        column, sides = box.columns[axis], self.sides(box, axis)
        if sides is None:
            assert isinstance(column, Categorical)
            return [str(category) for category in column.categories]
        if is_whole(column) and self.edges is not None and self.edges[axis] is not None:
            whole = [(math.ceil(a), math.ceil(b) - 1) for a, b in pairwise(sides)]
            return [f"{first:g}" if first == last else f"{first:g} to {last:g}" for first, last in whole]
        return [f"{in_words(column, a, 'g')} to {in_words(column, b, 'g')}" for a, b in pairwise(sides)]


@dataclass(frozen=True)
class Given(StatisticBasis):
    """The numbers that a procedure of the caller's returns, as they are, within public limits if there are any.

    >>> Given(2, (0.0, 1.0)).size(Box([(0, 1)]))
    2
    """

    length: int
    range: tuple[float, float] | None = None
    statistic = "your own"
    exponent: ClassVar[int | None] = None

    def size(self, box: Box) -> int:
        return self.length

    def to_json(self) -> dict[str, Any]:
        limits = None if self.range is None else list(self.range)
        return {"statistic": self.statistic, "length": self.length, "range": limits}

    def apart(self, box: Box, privacy: Privacy, norm: str) -> float:
        """Nothing follows from the form of the numbers alone."""
        return 0.0

    def estimate(self, box: Box, values: Floats, rows: int | None) -> Floats:
        return self._within(values)

    def limits(self, box: Box, values: Floats, widths: Floats, rows: int | None) -> Limits:
        return self._within(values - widths), self._within(values + widths)

    def widest(self, norm: str) -> float:
        """How far apart any two vectors within the range are, from above; infinitely in a norm of the caller's."""
        if self.range is None:
            return math.inf
        width = math.nextafter(self.range[1] - self.range[0], math.inf)
        factor = {"linf": 1.0, "l1": float(self.length), "l2": math.sqrt(self.length)}.get(norm, math.inf)
        return math.nextafter(width * factor, math.inf)

    def _within(self, values: Floats) -> Floats:
        kept = values if self.range is None else np.clip(values, *self.range)
        return kept.reshape(()) if self.length == 1 else kept

    def labels(self, box: Box) -> list[list[str]]:
        return [] if self.length == 1 else [[str(i) for i in range(self.length)]]
