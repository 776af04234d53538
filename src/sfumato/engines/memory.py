"""Summing fixed-point contributions: the engine interface, and the engine that works in memory.

An engine adds up integers that each depend on one record alone. Integer addition is associative, so every
engine, every chunk size and every order of records gives the same bits. No number of records is too many: it may be
private, and nothing may depend on it but time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.checks import positive_integer
from sfumato.core.box import Box
from sfumato.core.whole import Wide
from sfumato.engines.cells import Cells, Counts
from sfumato.engines.files import ahead
from sfumato.engines.tables import Table
from sfumato.engines.totals import MOST_ROWS, RunningTotal
from sfumato.threads import on_one_thread

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Contribution = Callable[[Floats], Integers]
Features = Callable[[list[Any]], Iterable[tuple[Floats, Floats]]]

# Rows that are put into cells at a time: numbers on the way stay in the cache, and in memory that malloc keeps.
_BLOCK = 16_384
_HELD = MOST_ROWS  # integers that contributions may hold at once
_EXACT = 2**53  # doubles are whole numbers up to here, so sums below are exact in any order


class Engine(Protocol):
    """Anything that can add up what each record of a table contributes."""

    def sum(self, table: Table, box: Box, contribution: Contribution, size: int, budget: int) -> Wide:
        """``(size,)``: the sum over all records of ``contribution(records)``, rows of ``(m, size)`` integers.

        ``budget`` bounds the size of every single integer, and is at most ``2**38``.
        """
        ...

    def count(self, table: Table, cells: Cells) -> Counts:
        """How many records fall into each cell, in one pass over the table."""
        ...

    def products(self, table: Table, box: Box, features: Features, shape: tuple[int, int], budget: int) -> Wide:
        """``shape``: the sum over all records of ``left_i right_j``, in one pass over the table.

        ``features`` turns some records' columns, as they were read, into pairs of ``(a, m)`` and ``(b, m)`` whole
        numbers (as doubles), block by block, each depending on one record alone; ``budget`` bounds every product.
        """
        ...


@dataclass(frozen=True)
class MemoryEngine:
    """Sums and counts chunk by chunk in this process; a file is read as it goes, whatever its size.

    >>> from sfumato.engines.tables import open_table
    >>> box = Box([(0, 10)])
    >>> table = open_table(np.array([1.0, 2.0, 3.0]), box, "row")
    >>> MemoryEngine().sum(table, box, lambda x: x.astype(np.int64), size=1, budget=10)
    <private numbers>
    """

    chunk_rows: int = 65_536

    def __post_init__(self) -> None:
        positive_integer("chunk_rows", self.chunk_rows)

    def sum(self, table: Table, box: Box, contribution: Contribution, size: int, budget: int) -> Wide:
        total = RunningTotal((size,), budget)
        # Wide contributions come in shorter chunks: what is held at once does not depend on how many there are.
        for records in table.chunks(box, min(self.chunk_rows, max(1, _HELD // size))):
            total.part(len(records))[:] += contribution(records).sum(axis=0)
        return total.whole()

    def count(self, table: Table, cells: Cells) -> Counts:
        total = np.zeros(cells.size, dtype=np.int64)
        rows = 0
        for columns in table.batches(cells.box, self.chunk_rows):
            size = len(columns[0])
            rows += size
            for start in range(0, size, _BLOCK):
                np.add.at(total, cells.index([values[start : start + _BLOCK] for values in columns]), 1)
        return Counts(total.reshape(cells.shape), rows)

    @on_one_thread  # the other core makes the next block
    def products(self, table: Table, box: Box, features: Features, shape: tuple[int, int], budget: int) -> Wide:
        total, part, unsaved = RunningTotal(shape, budget), np.zeros(shape), 0
        for columns in table.batches(box, min(self.chunk_rows, max(1, _HELD // (4 * box.dimension)))):
            for left, right in ahead(iter(features(columns))):
                assert left.shape[1] * budget <= _EXACT, "blocks must be short enough to add up exactly"
                if (unsaved + left.shape[1]) * budget > _EXACT:
                    total.part(unsaved)[:] += part.astype(np.int64)
                    part[:], unsaved = 0.0, 0
                part += left @ right.T
                unsaved += left.shape[1]
        total.part(unsaved)[:] += part.astype(np.int64)
        return total.whole()
