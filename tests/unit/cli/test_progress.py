"""Progress: every command's engine says how many rows it has read, whatever is published."""

import pytest

from contracts.folding import FOLDING, ROWS, WHOLE, released
from sfumato.cli.progress import WatchedEngine


@pytest.mark.parametrize("name", [*FOLDING, *WHOLE])
def test_rows_are_counted_for_every_target(name):
    """Each record once, or once for each pass over the columns themselves; a solver's later passes read none."""
    read, done = [], []
    released(name, WatchedEngine(read.append, lambda: done.append(name)))
    assert sum(read) % ROWS == 0 and 1 <= sum(read) // ROWS <= 2
    assert bool(done) == (name in FOLDING)
