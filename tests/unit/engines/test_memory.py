"""The engine that works in memory: its sums, its limits. The shared checks are in tests/contracts."""

import numpy as np
import pytest

import sfumato as sf
from opening import numbers_of
from sfumato.engines.memory import MemoryEngine
from sfumato.engines.tables import open_table
from sfumato.errors import ParameterError, ParameterTypeError

BOX = sf.Box([(0, 10), (0, 10)])


def table(records):
    return open_table(np.asarray(records, dtype=float).reshape(-1, 2), BOX, "row")


def whole(records):
    return np.nan_to_num(records).astype(np.int64)


def test_it_adds_up_what_records_contribute():
    assert numbers_of(MemoryEngine().sum(table([[1, 2], [3, 4], [5, 6]]), BOX, whole, 2, 10)).tolist() == [9, 12]


def test_records_are_cleaned_first():
    found = MemoryEngine().sum(table([[-5, 99], [np.nan, np.inf]]), BOX, whole, 2, 10)
    assert numbers_of(found).tolist() == [0, 20]


def test_no_records_add_up_to_nothing():
    found = MemoryEngine().sum(table([]), BOX, whole, 2, 10)
    assert numbers_of(found).tolist() == [0, 0]


def test_a_contribution_sees_at_most_one_chunk():
    seen = []
    MemoryEngine(chunk_rows=2).sum(table(np.zeros((5, 2))), BOX, lambda x: seen.append(len(x)) or whole(x), 2, 10)
    assert seen == [2, 2, 1]


class Claiming:
    """A table of few records that says that it has many."""

    def __init__(self, rows, times=3):
        self.rows, self._times = rows, times

    def chunks(self, box, rows):
        for _ in range(self._times):
            yield np.ones((5, 2))

    def batches(self, box, rows):
        for _ in range(self._times):
            yield [Long([2.0] * 5), np.full(5, 3.0)]


class Long(list):
    def __len__(self):
        return 2**60


def test_no_number_of_rows_is_refused():
    """It may be private, and then a refusal would tell it."""
    found = MemoryEngine().sum(Claiming(2**60), BOX, whole, 2, 2**38)
    assert numbers_of(found).tolist() == [15, 15]
    found = MemoryEngine().products(
        Claiming(2**60), BOX, lambda c: iter([(np.full((2, 5), 2.0), np.ones((1, 5)))]), (2, 1), 2**32
    )
    assert numbers_of(found).tolist() == [[30], [30]]


@pytest.mark.parametrize("budget", [0, -1, 2**38 + 1])
def test_steps_that_would_fill_two_limbs_are_refused_before_anything_is_read(budget):
    """A public number: 2**62 records of 2**38 steps are the most there may be."""
    with pytest.raises(ParameterError, match="budget"):
        MemoryEngine().sum(table(np.zeros((4, 2))), BOX, lambda x: 1 / 0, 2, budget)


def test_sums_beyond_64_bits_are_exact():
    """3 * 2**24 records of 2**38 steps, of which chunks of 2**24 are the longest that fit 64 bits."""
    size, budget = 2**24, 2**38

    class Endless(Claiming):
        def chunks(self, box, rows):
            yield from [np.broadcast_to(np.ones((1, 2)), (size, 2))] * self._times

    def contribution(records):
        assert len(records) == size

        class Each:
            def sum(self, axis):
                return np.array([size * budget, -size * budget])

        return Each()

    found = MemoryEngine().sum(Endless(3 * size), BOX, contribution, 2, budget)
    assert numbers_of(found).tolist() == [3 * 2**62, -3 * 2**62]


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
    assert numbers_of(found).tolist() == [[16, 84], [20, 100]]


def test_products_see_columns_as_they_were_read():
    """Cleaning is left to the features, which know the kinds of the columns."""
    seen = []
    MemoryEngine().products(
        table([[-5, 99], [np.nan, 1]]), BOX, lambda c: seen.append(np.stack(c)) or pair(c), (2, 2), 10**4
    )
    assert np.array_equal(seen[0], [[-5, np.nan], [99, 1]], equal_nan=True)


def test_no_records_have_no_products():
    assert numbers_of(MemoryEngine().products(table([]), BOX, pair, (2, 2), 10)).tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize("rows", [1_000, 5_461, 32_767])
def test_large_products_are_exact(rows):
    """Doubles are whole numbers up to 2**53 only: parts are put into integers before they exceed that.

    Blocks of 32,767 records of 38 bits just fit.
    """
    factor, records = 2.0**19 - 1, 100_000

    def features(columns):
        yield np.full((1, len(columns[0])), factor), np.full((1, len(columns[0])), factor)

    found = MemoryEngine(chunk_rows=rows).products(
        table(np.zeros((records, 2))), BOX, features, (1, 1), int(factor) ** 2
    )
    assert numbers_of(found).tolist() == [[records * (2**19 - 1) ** 2]]
