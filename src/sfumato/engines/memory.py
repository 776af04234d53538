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
from sfumato.engines.tables import Table
from sfumato.errors import ParameterError

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Contribution = Callable[[Floats], Integers]


class Engine(Protocol):
    """Anything that can add up what each record of a table contributes."""

    def sum(self, table: Table, box: Box, contribution: Contribution, size: int, budget: int) -> Integers:
        """``(size,)``: the sum over all records of ``contribution(records)``, rows of ``(m, size)`` integers.

        ``budget`` bounds the size of every single integer.
        """
        ...


@dataclass(frozen=True)
class MemoryEngine:
    """Sums chunk by chunk in this process.

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
        for records in table.chunks(box, self.chunk_rows):
            total += contribution(records).sum(axis=0)
        return total
