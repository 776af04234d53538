"""Passes: what is added up over records, as public objects that can be sent to wherever the records are.

A pass is frozen, equal to its own pickle, and holds plain data and functions of modules, never data of a record's. It
reads each record alone; what it adds are whole numbers, so that cutting and order do not matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.core.box import Box, Column
from sfumato.core.whole import LARGEST_STEP
from sfumato.engines.files import ahead
from sfumato.engines.totals import Totals
from sfumato.errors import ParameterError
from sfumato.threads import on_one_thread

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Values = list[Any]

# Rows that are looked at at a time: numbers on the way stay in the cache, and in memory that malloc keeps.
_BLOCK = 16_384
_HELD = 2**24  # integers that contributions may hold at once
_EXACT = 2**53  # doubles are whole numbers up to here, so sums below are exact in any order


class Reading(Protocol):
    """Something that reads records."""

    @property
    def box(self) -> Box:
        """The columns that it reads, the response included."""
        ...


class Features(Reading, Protocol):
    """What is made of records once, and read by several passes: public, frozen and picklable as they are.

    Making it again elsewhere could round differently: an engine keeps what was made beside the records.
    """

    @property
    def block(self) -> int:
        """How many records are made at a time, always: what is made of one must not depend on how many others."""
        ...

    @property
    def width(self) -> int:
        """How many numbers are made of a record."""
        ...

    @property
    def every(self) -> int:
        """One record in so many takes part; with 1, each of them does, whatever it holds."""
        ...

    def read(self, columns: Values) -> Floats:
        """``(m, k)`` numbers, a row for each record that takes part; each from its record alone."""
        ...

    def make(self, numbers: Floats) -> Values:
        """The features of at most ``block`` such rows, as columns of ``block``."""
        ...


class Pass(Reading, Protocol):
    """What one fold adds up."""

    @property
    def features(self) -> Features | None:
        """What it reads instead of the columns themselves, where that is to be made once for several passes."""
        ...

    @property
    def size(self) -> int:
        """How many numbers it adds up."""
        ...

    @property
    def largest(self) -> int:
        """A bound on the size of one record's part of any number."""
        ...

    def add(self, total: Integers, columns: Values) -> None:
        """Add, in place, what some records contribute: each by itself, and never with an error because of values.

        ``columns`` are those of the box, in its order, as they were read: do not write into them.
        """
        ...


class CellRule(Reading, Protocol):
    """Which of a public number of cells each record falls into, if any."""

    @property
    def size(self) -> int:
        """The number of cells."""
        ...

    def index(self, columns: Values) -> Integers:
        """The cells of the records that have one."""
        ...


@dataclass(frozen=True)
class Counts:
    """How many records fall into each cell.

    >>> from sfumato.engines.cells import Cells
    >>> total = np.zeros(2, dtype=np.int64)
    >>> Counts(Cells(Box([(0, 10)]), (2,))).add(total, [np.array([1.0, 2.0, 9.0])])
    >>> total.tolist()
    [2, 1]
    """

    cells: CellRule
    features = None
    largest = 1

    @property
    def box(self) -> Box:
        return self.cells.box

    @property
    def size(self) -> int:
        return self.cells.size

    def add(self, total: Integers, columns: Values) -> None:
        for start in range(0, len(columns[0]), _BLOCK):
            np.add.at(total, self.cells.index([values[start : start + _BLOCK] for values in columns]), 1)


class Rule(Protocol):
    """A public rule that turns cleaned records into integers."""

    def size(self, box: Box) -> int:
        """How many."""
        ...

    def contributions(self, box: Box, records: Floats) -> Integers:
        """``(m, size)`` integers, each row from its record alone."""
        ...


@dataclass(frozen=True)
class Contributions:
    """The sum of a few integers of each record of numeric columns."""

    box: Box
    rule: Rule
    largest: int
    features = None

    def __post_init__(self) -> None:
        if not 1 <= self.largest <= LARGEST_STEP:
            raise ParameterError(
                f"largest must lie in [1, {LARGEST_STEP}], got largest={self.largest!r}: use a coarser grid"
            )

    @property
    def size(self) -> int:
        return self.rule.size(self.box)

    def add(self, total: Integers, columns: Values) -> None:
        # Many contributions come in shorter blocks: what is held at once does not depend on how many there are.
        block = min(_BLOCK, max(1, _HELD // self.size))
        for start in range(0, len(columns[0]), block):
            records = self.box.clean(np.stack([values[start : start + block] for values in columns], axis=1))
            total += self.rule.contributions(self.box, records).sum(axis=0)


class Factors(Reading, Protocol):
    """A public rule that turns records into pairs of whole numbers, of which products are summed."""

    @property
    def shape(self) -> tuple[int, int]:
        """How many whole numbers there are on either side."""
        ...

    @property
    def largest(self) -> int:
        """A bound on the size of a product."""
        ...

    def pairs(self, columns: Values) -> Any:
        """Pairs of ``(a, m)`` and ``(b, m)`` whole numbers, as doubles, block by block.

        A pair need not last longer than until the next but one is asked for.
        """
        ...


@dataclass(frozen=True)
class Products:
    """The sum over records of ``left_i right_j``, at the speed of matrix products."""

    factors: Factors
    features = None

    @property
    def box(self) -> Box:
        return self.factors.box

    @property
    def size(self) -> int:
        return self.factors.shape[0] * self.factors.shape[1]

    @property
    def largest(self) -> int:
        return self.factors.largest

    @on_one_thread  # the other core makes the next block
    def add(self, total: Integers, columns: Values) -> None:
        sums, part, unsaved = total.reshape(self.factors.shape), np.zeros(self.factors.shape), 0
        product = np.empty(self.factors.shape)
        for left, right in ahead(iter(self.factors.pairs(columns))):
            assert left.shape[1] * self.largest <= _EXACT, "blocks must be short enough to add up exactly"
            if (unsaved + left.shape[1]) * self.largest > _EXACT:
                sums += part.astype(np.int64)
                part[:], unsaved = 0.0, 0
            part += np.matmul(left, right.T, out=product)
            unsaved += left.shape[1]
        sums += part.astype(np.int64)


@dataclass(frozen=True)
class Together:
    """Several passes as one: the records are read once, for all of them."""

    passes: tuple[Pass, ...]

    def __post_init__(self) -> None:
        if not self.passes or any(one.features != self.passes[0].features for one in self.passes):
            raise ParameterError("passes that are folded together must be one or more, and read the same features")
        for one in self.passes:
            columns = dict(zip(one.box.names, one.box.columns, strict=True))
            kinds = dict(zip(self.box.names, self.box.columns, strict=True))
            if any(kinds[name] != column for name, column in columns.items()):
                raise ParameterError(f"passes that are folded together must agree on their columns, got {one.box!r}")

    @property
    def box(self) -> Box:
        columns: dict[str, Column] = {}
        for one in self.passes:
            columns |= dict(zip(one.box.names, one.box.columns, strict=True))
        return Box(columns)

    @property
    def features(self) -> Features | None:
        return self.passes[0].features

    @property
    def size(self) -> int:
        return sum(one.size for one in self.passes)

    @property
    def largest(self) -> int:
        return max(one.largest for one in self.passes)

    def add(self, total: Integers, columns: Values) -> None:
        known = dict(zip(self.box.names, columns, strict=False))
        for one, (start, end) in zip(self.passes, pairwise(self._ends()), strict=True):
            one.add(total[start:end], columns if self.features else [known[name] for name in one.box.names])

    def _ends(self) -> list[int]:
        return list(accumulate((one.size for one in self.passes), initial=0))

    def split(self, totals: Totals) -> list[Totals]:
        """What each of the passes would have added up by itself."""
        return totals.split([one.size for one in self.passes], [one.largest for one in self.passes])
