"""Looking at private numbers, which the package itself lets nobody do: for tests only."""

import numpy as np

from sfumato.core.mechanism import Private
from sfumato.core.whole import Wide
from sfumato.engines.cells import Cells
from sfumato.engines.memory import MemoryEngine
from sfumato.engines.passes import Counts
from sfumato.engines.tables import open_table
from sfumato.engines.totals import Totals


def numbers_of(private):
    """The numbers of a ``Private`` vector or a ``Wide`` array: int64 where they fit, else Python's integers."""
    values = private._values if isinstance(private, Private) else private
    if not isinstance(values, Wide):
        return values
    exact = values._high.astype(object) * 2**48 + values._low.astype(object)
    return exact.astype(np.int64) if all(abs(number) < 2**63 for number in exact.flat) else exact


def wide(numbers):
    """A ``Wide`` array of any integers."""
    exact = np.array(numbers, dtype=object)
    return Wide((exact % 2**48).astype(np.int64), (exact // 2**48).astype(np.int64))


def blocks_of(examples):
    """The features and targets that every pass over a solver's examples sees, block by block."""
    source = examples._source
    return [block for _, block in source.records.blocks(examples.features, source.engine.chunk_rows)]


def counted(data, box, shape, unit="row", engine=None):
    """How many records there are, and how many fall into each cell."""
    engine = engine or MemoryEngine()
    totals = engine.fold(engine.open(data, box, unit), Counts(Cells(box, shape)))
    return totals.rows, totals.counts(shape)


def places_kept(frame, box, unit, columns=None):
    """Which rows of a pandas frame count."""
    return open_table(frame.assign(place=np.arange(len(frame))), box, unit, columns).native["place"].to_numpy()


def chunks_of(table, box, rows=1000):
    """``(m, l)`` cleaned records of a table's numeric columns, at most so many at a time."""
    for columns in table.batches(box, rows):
        yield box.clean(np.stack(columns, axis=1))


def fold_blocks(one, blocks):
    """What a pass adds up over blocks that are here already."""
    totals = Totals(one.size, one.largest)
    for block in blocks:
        one.add(totals.part(len(block[0])), block)
    return totals
