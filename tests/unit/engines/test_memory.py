"""The engine that works in memory: its folds, its limits. The shared checks are in tests/contracts."""

import copy
import pickle
from dataclasses import dataclass

import numpy as np
import pytest

import sfumato as sf
from opening import numbers_of
from sfumato.engines import memory
from sfumato.engines.cells import Cells
from sfumato.engines.memory import MemoryEngine, MemoryRecords
from sfumato.engines.passes import Contributions, Counts, Products, Together
from sfumato.errors import ParameterError, ParameterTypeError, PrivateDataError

BOX = sf.Box([(0, 10), (0, 10)])


def opened(records):
    return MemoryEngine().open(np.asarray(records, dtype=float).reshape(-1, 2), BOX, "row")


@dataclass(frozen=True)
class Whole:
    """Records of whole numbers contribute themselves."""

    def size(self, box):
        return box.dimension

    def contributions(self, box, records):
        return np.nan_to_num(records).astype(np.int64)


def summed(records, engine=None, largest=10, rule=None):
    return numbers_of((engine or MemoryEngine()).fold(records, Contributions(BOX, rule or Whole(), largest)).wide())


def test_it_adds_up_what_records_contribute():
    assert summed(opened([[1, 2], [3, 4], [5, 6]])).tolist() == [9, 12]


def test_records_are_cleaned_first():
    assert summed(opened([[-5, 99], [np.nan, np.inf]])).tolist() == [0, 20]


def test_no_records_add_up_to_nothing():
    assert summed(opened([])).tolist() == [0, 0]


def test_a_pass_sees_at_most_one_chunk():
    seen = []

    class Watching(Whole):
        def contributions(self, box, records):
            seen.append(len(records))
            return super().contributions(box, records)

    summed(opened(np.zeros((5, 2))), MemoryEngine(chunk_rows=2), rule=Watching())
    assert seen == [2, 2, 1]


class Claiming:
    """A table of few records that says that it has many."""

    def __init__(self, rows, times=3):
        self.rows, self._times = rows, times

    def batches(self, box, rows):
        for _ in range(self._times):
            yield [Long([2.0] * 5), np.full(5, 3.0)]


class Long(list):
    def __len__(self):
        return 2**60


@dataclass(frozen=True)
class Sure:
    """A pass that adds the same, whatever it is given."""

    numbers: tuple[int, ...]
    largest: int
    box = BOX
    features = None

    @property
    def size(self):
        return len(self.numbers)

    def add(self, total, columns):
        total += np.array(self.numbers)


def test_no_number_of_rows_is_refused():
    """It may be private, and then a refusal would tell it."""
    found = MemoryEngine().fold(MemoryRecords(Claiming(2**60)), Sure((5, -5), 2**38))
    assert numbers_of(found.wide()).tolist() == [15, -15]
    assert found.rows == 3 * 2**60


@pytest.mark.parametrize("largest", [0, -1, 2**38 + 1])
def test_steps_that_would_fill_two_limbs_are_refused_before_anything_is_read(largest):
    """A public number: 2**62 records of 2**38 steps are the most there may be."""
    with pytest.raises(ParameterError, match="largest"):
        Contributions(BOX, Whole(), largest)


def test_sums_beyond_64_bits_are_exact():
    """Chunks of 2**22 records of 2**38 steps, of which more than four do not fit 64 bits."""

    class Endless(Claiming):
        def batches(self, box, rows):
            assert rows <= 2**22
            yield from [[np.broadcast_to(1.0, 2**22)] * 2] * self._times

    one = Sure((2**60, -(2**60)), 2**38)
    found = MemoryEngine(chunk_rows=2**30).fold(MemoryRecords(Endless(1, times=12)), one)
    assert numbers_of(found.wide()).tolist() == [3 * 2**62, -3 * 2**62]


def test_records_do_not_print_pickle_or_copy():
    records = opened([[1, 2]])
    assert repr(records) == str(records) == "<private records>"
    for leak in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(PrivateDataError):
            leak(records)


@pytest.mark.parametrize("rows", [0, -1])
def test_chunks_must_have_rows(rows):
    with pytest.raises(ParameterError, match="chunk_rows"):
        MemoryEngine(chunk_rows=rows)


def test_chunk_rows_must_be_whole():
    with pytest.raises(ParameterTypeError, match="chunk_rows"):
        MemoryEngine(chunk_rows=1.5)


# --- products ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pair:
    """The columns themselves on one side, ones and the first column on the other, three records at a time."""

    largest: int = 100
    box = BOX
    shape = (2, 2)

    def pairs(self, columns):
        values = np.nan_to_num(np.stack(columns))
        for start in range(0, values.shape[1], 3):
            part = values[:, start : start + 3]
            yield part, np.stack([np.ones(part.shape[1]), part[0]])


def multiplied(records, factors, engine=None):
    found = (engine or MemoryEngine()).fold(records, Products(factors))
    return numbers_of(found.wide()).reshape(factors.shape).tolist()


def test_it_adds_up_products():
    assert multiplied(opened([[1, 2], [3, 4], [5, 6], [7, 8]]), Pair()) == [[16, 84], [20, 100]]


def test_products_see_columns_as_they_were_read():
    """Cleaning is left to the factors, which know the kinds of the columns."""
    seen = []

    class Watching(Pair):
        def pairs(self, columns):
            seen.append(np.stack(columns))
            return super().pairs(columns)

    multiplied(opened([[-5, 99], [np.nan, 1]]), Watching(10**4))
    assert np.array_equal(seen[0], [[-5, np.nan], [99, 1]], equal_nan=True)


def test_no_records_have_no_products():
    assert multiplied(opened([]), Pair()) == [[0, 0], [0, 0]]


@pytest.mark.parametrize("rows", [1_000, 5_461, 32_767])
def test_large_products_are_exact(rows):
    """Doubles are whole numbers up to 2**53 only: parts are put into integers before they exceed that.

    Blocks of 32,767 records of 38 bits just fit.
    """
    factor, records = 2.0**19 - 1, 100_000

    class Large(Pair):
        shape = (1, 1)

        def pairs(self, columns):
            yield np.full((1, len(columns[0])), factor), np.full((1, len(columns[0])), factor)

    found = multiplied(opened(np.zeros((records, 2))), Large(int(factor) ** 2), MemoryEngine(chunk_rows=rows))
    assert found == [[records * (2**19 - 1) ** 2]]


# --- features that are made once ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Doubled:
    """Twice the first column, seven records at a time."""

    name: str = "doubled"
    box = BOX
    block = 7
    width = 1

    def read(self, columns):
        made.append(("read", len(columns[0])))
        return np.stack(columns, axis=1)

    def make(self, numbers):
        made.append(("make", len(numbers)))
        padded = np.zeros(7)
        padded[: len(numbers)] = 2 * numbers[:, 0]
        return [padded]


@dataclass(frozen=True)
class Adding:
    features: Doubled
    box = BOX
    size = 1
    largest = 100

    def add(self, total, columns):
        assert columns[0].shape == (7,)
        total += int(columns[0].sum())


made = []


@pytest.mark.parametrize("chunk_rows", [1, 3, 7, 10, 100])
def test_features_are_made_once_in_full_blocks(chunk_rows):
    made.clear()
    engine, records = MemoryEngine(chunk_rows), opened([[i, 0] for i in range(24)])
    for _ in range(3):
        found = engine.fold(records, Adding(Doubled()))
        assert (found.doubles().tolist(), found.rows) == ([2.0 * sum(range(24))], 24)
    assert [count for what, count in made if what == "make"] == [7, 7, 7, 3]
    assert sum(count for what, count in made if what == "read") == 24
    engine.fold(records, Adding(Doubled("others")))
    assert len([count for what, count in made if what == "make"]) == 8


def test_features_that_are_too_many_are_made_again(monkeypatch):
    monkeypatch.setattr(memory, "_KEPT", 20)
    made.clear()
    engine, records = MemoryEngine(10), opened([[i, 0] for i in range(24)])
    for _ in range(3):
        assert engine.fold(records, Adding(Doubled())).doubles().tolist() == [2.0 * sum(range(24))]
    assert [count for what, count in made if what == "make"] == [7, 7, 7, 3] * 3


# --- passes as one --------------------------------------------------------------------------------------------------


def test_passes_that_are_folded_together_add_up_as_they_do_alone():
    engine, records = MemoryEngine(3), opened(np.random.default_rng(2).uniform(-1, 11, size=(50, 2)))
    narrow = sf.Box({"x1": (0, 10)})
    passes = (
        Contributions(BOX, Whole(), 10), Counts(Cells(narrow, (4,))), Products(Pair(121)), Counts(Cells(BOX, (2, 3))),
    )  # fmt: skip
    both = Together(passes)
    parts = both.split(engine.fold(records, both))
    assert (both.size, both.largest, both.box.names) == (2 + 4 + 4 + 6, 121, ("x0", "x1"))
    for one, found in zip(passes, parts, strict=True):
        alone = engine.fold(records, one)
        assert numbers_of(found.wide()).tolist() == numbers_of(alone.wide()).tolist()
        assert found.rows == alone.rows == 50
    assert parts[1].counts((4,)).sum() == parts[3].counts((2, 3)).sum() == 50


def test_passes_over_the_same_features_can_be_folded_together():
    engine, records = MemoryEngine(10), opened([[i, 0] for i in range(24)])
    both = Together((Adding(Doubled()), Adding(Doubled())))
    assert [t.doubles().tolist() for t in both.split(engine.fold(records, both))] == [[552.0], [552.0]]


@pytest.mark.parametrize(
    "passes",
    [
        (),
        (Adding(Doubled()), Adding(Doubled("others"))),
        (Adding(Doubled()), Counts(Cells(BOX, (2, 3)))),
        (Counts(Cells(BOX, (2, 3))), Counts(Cells(sf.Box([(0, 1)]), (2,)))),
    ],
)
def test_passes_that_cannot_be_folded_together_are_refused(passes):
    with pytest.raises(ParameterError, match="folded together"):
        Together(passes)
