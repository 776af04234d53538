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


# --- products ---------------------------------------------------------------------------------------------------


def pair(columns):
    """The columns themselves on one side, ones and the first column on the other, three records at a time."""
    values = np.nan_to_num(np.stack(columns))
    for start in range(0, values.shape[1], 3):
        part = values[:, start : start + 3]
        yield part, np.stack([np.ones(part.shape[1]), part[0]])


def test_it_adds_up_products():
    found = MemoryEngine().products(table([[1, 2], [3, 4], [5, 6], [7, 8]]), BOX, pair, (2, 2), 100)
    assert found.tolist() == [[16, 84], [20, 100]]
    assert found.dtype == np.int64


def test_products_see_columns_as_they_were_read():
    """Cleaning is left to the features, which know the kinds of the columns."""
    seen = []
    MemoryEngine().products(
        table([[-5, 99], [np.nan, 1]]), BOX, lambda c: seen.append(np.stack(c)) or pair(c), (2, 2), 10**4
    )
    assert np.array_equal(seen[0], [[-5, np.nan], [99, 1]], equal_nan=True)


def test_no_records_have_no_products():
    assert MemoryEngine().products(table([]), BOX, pair, (2, 2), 10).tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize("rows", [1, 3, 31])
def test_large_products_are_exact(rows):
    """Doubles are whole numbers up to 2**53 only: parts are put into integers before they exceed that.

    Blocks of 31 records of 48 bits just fit.
    """
    factor, records = 2.0**24 - 1, 200

    def features(columns):
        yield np.full((1, len(columns[0])), factor), np.full((1, len(columns[0])), factor)

    found = MemoryEngine(chunk_rows=rows).products(
        table(np.zeros((records, 2))), BOX, features, (1, 1), int(factor) ** 2
    )
    assert found.tolist() == [[records * (2**24 - 1) ** 2]]


def test_products_beyond_64_bits_are_refused():
    with pytest.raises(ParameterError, match="64 bits"):
        MemoryEngine().products(table(np.zeros((4, 2))), BOX, pair, (2, 2), 2**60)
