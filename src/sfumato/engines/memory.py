"""Summing fixed-point contributions: the engine interface, and the engine that works in memory.

An engine adds up integers that each depend on one record alone. Integer addition is associative, so every
engine, every chunk size and every order of records gives the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.checks import positive_integer
from sfumato.core.box import Box
from sfumato.engines.cells import Cells, Counts
from sfumato.engines.tables import Table
from sfumato.errors import ParameterError

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Contribution = Callable[[Floats], Integers]

# Rows that are put into cells at a time: numbers on the way stay in the cache, and in memory that malloc keeps.
_BLOCK = 16_384
_HELD = 2**24  # integers that contributions may hold at once


class Engine(Protocol):
    """Anything that can add up what each record of a table contributes."""

    def sum(self, table: Table, box: Box, contribution: Contribution, size: int, budget: int) -> Integers:
        """``(size,)``: the sum over all records of ``contribution(records)``, rows of ``(m, size)`` integers.

        ``budget`` bounds the size of every single integer.
        """
        ...

    def count(self, table: Table, cells: Cells) -> Counts:
        """How many records fall into each cell, in one pass over the table."""
        ...


@dataclass(frozen=True)
class MemoryEngine:
    """Sums and counts chunk by chunk in this process; a file is read as it goes, whatever its size.

    >>> from sfumato.engines.tables import open_table
    >>> box = Box([(0, 10)])
    >>> table = open_table(np.array([1.0, 2.0, 3.0]), box, "row")
    >>> MemoryEngine().sum(table, box, lambda x: x.astype(np.int64), size=1, budget=10).tolist()
    [6]
    """

    chunk_rows: int = 65_536

    def __post_init__(self) -> None:
        positive_integer("chunk_rows", self.chunk_rows)

    def sum(self, table: Table, box: Box, contribution: Contribution, size: int, budget: int) -> Integers:
        if table.rows * budget >= 2**61:
            raise ParameterError(f"so many records of up to {budget} steps do not fit 64 bits: use a coarser grid")
        total = np.zeros(size, dtype=np.int64)
        # Wide contributions come in shorter chunks: what is held at once does not depend on how many there are.
        for records in table.chunks(box, min(self.chunk_rows, max(1, _HELD // size))):
            total += contribution(records).sum(axis=0)
        return total

    def count(self, table: Table, cells: Cells) -> Counts:
        total = np.zeros(cells.size, dtype=np.int64)
        rows = 0
        for columns in table.batches(cells.box, self.chunk_rows):
            size = len(columns[0])
            rows += size
            for start in range(0, size, _BLOCK):
                np.add.at(total, cells.index([values[start : start + _BLOCK] for values in columns]), 1)
        return Counts(total.reshape(cells.shape), rows)
