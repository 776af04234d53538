"""The engine that works in memory: its sums, its limits. The shared checks are in tests/contracts."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.engines.memory import MemoryEngine
from sfumato.engines.tables import open_table
from sfumato.errors import ParameterError, ParameterTypeError

BOX = sf.Box([(0, 10), (0, 10)])


def table(records):
    return open_table(np.asarray(records, dtype=float).reshape(-1, 2), BOX, "row")


def whole(records):
    return np.nan_to_num(records).astype(np.int64)


def test_it_adds_up_what_records_contribute():
    assert MemoryEngine().sum(table([[1, 2], [3, 4], [5, 6]]), BOX, whole, 2, 10).tolist() == [9, 12]


def test_records_are_cleaned_first():
    assert MemoryEngine().sum(table([[-5, 99], [np.nan, np.inf]]), BOX, whole, 2, 10).tolist() == [0, 20]


def test_no_records_add_up_to_nothing():
    found = MemoryEngine().sum(table([]), BOX, whole, 2, 10)
    assert found.tolist() == [0, 0]
    assert found.dtype == np.int64


def test_a_contribution_sees_at_most_one_chunk():
    seen = []
    MemoryEngine(chunk_rows=2).sum(table(np.zeros((5, 2))), BOX, lambda x: seen.append(len(x)) or whole(x), 2, 10)
    assert seen == [2, 2, 1]


def test_sums_beyond_64_bits_are_refused_before_anything_is_read():
    with pytest.raises(ParameterError, match="64 bits"):
        MemoryEngine().sum(table(np.zeros((4, 2))), BOX, lambda x: 1 / 0, 2, 2**60)


def test_large_sums_are_exact():
    budget = 2**55
    found = MemoryEngine(chunk_rows=7).sum(
        table(np.zeros((31, 2))), BOX, lambda x: np.full((len(x), 1), budget, dtype=np.int64), 1, budget
    )
    assert found.tolist() == [31 * budget]


@pytest.mark.parametrize("rows", [0, -1])
def test_chunks_must_have_rows(rows):
    with pytest.raises(ParameterError, match="chunk_rows"):
        MemoryEngine(chunk_rows=rows)


def test_chunk_rows_must_be_whole():
    with pytest.raises(ParameterTypeError, match="chunk_rows"):
        MemoryEngine(chunk_rows=1.5)
