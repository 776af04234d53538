"""The engine that works in memory, in this process; a file is read as it goes, whatever its size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from sfumato.checks import positive_integer
from sfumato.core.box import Box
from sfumato.core.neighbours import Unit
from sfumato.core.whole import Sealed
from sfumato.engines.passes import Features, Pass, Values
from sfumato.engines.table import Columns, Table
from sfumato.engines.tables import open_table
from sfumato.engines.totals import MOST_ROWS, Totals

_HELD = 2**22  # numbers that are read at a time
_FEW = 8  # one number in so many is not 0: then products of compressed rows are quicker, too
_KEPT = 2**30  # bytes of features that are kept between passes; what is more is made again in each


class MemoryRecords(Sealed):
    """An opened table, and beside it the features that were made of its records."""

    __slots__ = ("_kept", "_table")

    def __init__(self, table: Table) -> None:
        self._table = table
        self._kept: dict[Features, list[tuple[int, Values]]] = {}

    def __repr__(self) -> str:
        return "<private records>"

    @property
    def rows(self) -> int:
        """The number of records."""
        return self._table.rows

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What reading each record alone rests on that nobody can check, in words for the guarantee."""
        return self._table.assumptions

    def whole(self) -> Table:
        """All of them as one table."""
        return self._table

    def blocks(self, features: Features, rows: int, compressed: bool = False) -> Iterator[tuple[int, Values]]:
        """Features of all records, as they were made in the first pass, and of how many, block by block.

        ``compressed`` says whether matrices of which most is 0 may come as compressed rows.
        """
        if features in self._kept:
            yield from ((count, _unpacked(values, compressed)) for count, values in self._kept[features])
            return
        kept: list[tuple[int, Values]] | None = []
        size = 0
        for count, values in self._made(features, rows):
            if kept is not None:
                kept.append((count, _packed(values)))
                size += sum(_bytes(part) for part in kept[-1][1])
                if size > _KEPT:
                    kept = None
            yield count, values
        if kept is not None:
            self._kept[features] = kept

    def _made(self, features: Features, rows: int) -> Iterator[tuple[int, Values]]:
        return blocks_of(self._table, features, rows)


def blocks_of(table: Table, features: Features, rows: int) -> Iterator[tuple[int, Values]]:
    """Features of all records, and of how many: full blocks, wherever the pieces of the table end, and a last one."""
    waiting: list[Any] = []
    count = 0
    for columns in table.batches(features.box, rows):
        numbers = features.read(columns)
        waiting, count = [*waiting, numbers], count + len(numbers)
        if count < features.block:
            continue
        joined = np.concatenate(waiting) if len(waiting) > 1 else numbers
        for start in range(0, count - features.block + 1, features.block):
            yield features.block, features.make(joined[start : start + features.block])
        count %= features.block
        waiting = [joined[len(joined) - count :]] if count else []
    if count:
        yield count, features.make(np.concatenate(waiting))


def _packed(values: Values) -> Values:
    """The same numbers in less room: without those that are 0, if most are, or in 32 bits, if these hold them.

    Whole numbers of 20 bits fit 32. Zeros are left out of the features alone, which come first: no pass takes what is
    read beside them so, and how many responses lie in the middle of their range is private.
    """
    found: list[Any] = []
    for place, part in enumerate(values):
        few = np.count_nonzero(part) * _FEW <= part.size
        if place == 0 and part.ndim == 2 and part.dtype == np.float64 and few:
            found.append(csr_array(part))
            continue
        with np.errstate(all="ignore"):  # a warning that depends on values would be an output
            short = part.astype(np.float32) if part.dtype == np.float64 else part
        found.append(short if np.array_equal(short, part, equal_nan=True) else part)
    return found


def _unpacked(values: Values, compressed: bool) -> Values:
    plain = [part if compressed or not isinstance(part, csr_array) else part.toarray() for part in values]
    return [part.astype(np.float64) if part.dtype == np.float32 else part for part in plain]


def _bytes(part: Any) -> int:
    parts = (part.data, part.indices, part.indptr) if isinstance(part, csr_array) else (part,)
    return sum(one.nbytes for one in parts)


@dataclass(frozen=True)
class MemoryEngine:
    """Folds passes chunk by chunk.

    >>> from sfumato.engines.cells import Cells
    >>> from sfumato.engines.passes import Counts
    >>> engine, box = MemoryEngine(), Box([(0, 10)])
    >>> engine.fold(engine.open(np.array([1.0, 2.0, 3.0]), box, "row"), Counts(Cells(box, (5,))))
    <private sums>
    """

    chunk_rows: int = 65_536

    def __post_init__(self) -> None:
        positive_integer("chunk_rows", self.chunk_rows)

    def open(self, data: Any, box: Box, unit: Unit, columns: Columns = None) -> MemoryRecords:
        """Open the data and check their schema; ``columns`` are those that must be there, by default the box's."""
        return MemoryRecords(open_table(data, box, unit, columns))

    def fold(self, records: MemoryRecords, one: Pass) -> Totals:
        """What a pass adds up over all records."""
        totals, features = Totals(one.size, one.largest), one.features
        rows = rows_at_once(one, self.chunk_rows)
        if features is None:
            for columns in records.whole().batches(one.box, rows):
                one.add(totals.part(len(columns[0])), columns)
        else:
            for count, block in records.blocks(features, rows, getattr(one, "compressed", False)):
                one.add(totals.part(count), block)
        return totals


def rows_at_once(one: Pass, most: int = 65_536) -> int:
    """How many records are read at a time.

    Wide records come in shorter chunks: what is held at once does not depend on how many columns there are. Those of
    which features are made stay in the cache.
    """
    rows = min(most, MOST_ROWS, max(1, _HELD // one.box.dimension))
    return rows if one.features is None else min(rows, 4 * one.features.block)
