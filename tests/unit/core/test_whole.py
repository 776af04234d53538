"""Whole numbers beyond 64 bits: closed, of one form, and public maps of them. Against Python's in tests/property."""

import copy
import math
import pickle

import numpy as np
import pytest

import sfumato as sf
from opening import numbers_of, wide
from sfumato.bases.density.shares import shape_of_cells, share_bits
from sfumato.core.whole import LARGEST_STEP, Wide, map_counts
from sfumato.engines.cells import MAX_CELLS
from sfumato.errors import PrivateDataError

SECRET = 123_456_789 * 2**40


@pytest.mark.parametrize("look", [copy.copy, copy.deepcopy, pickle.dumps])
def test_it_is_closed(look):
    with pytest.raises(PrivateDataError):
        look(wide([SECRET]))
    assert repr(wide([SECRET])) == str(wide([SECRET])) == "<private numbers>"


def test_it_has_no_other_attributes():
    with pytest.raises(AttributeError):
        wide([1]).note = 1


def test_numbers_that_fit_are_had_in_64_bits():
    numbers = [0, 1, -1, 2**48, 2**48 + 3, -(2**50) - 7, 2**63 - 1, -(2**63)]
    assert wide(numbers).integers().tolist() == numbers


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.uint64, object])
def test_limbs_are_64_bit_integers(dtype):
    with pytest.raises(PrivateDataError, match="int64"):
        Wide(np.zeros(3, dtype=dtype))


@pytest.mark.parametrize("number", [0, 1, -1, 2**47, -(2**47), 2**48, -(2**48), 2**63 - 1, -(2**63)])
def test_limbs_are_a_function_of_the_number(number):
    """Carried over, whatever the limbs that it was given in."""
    found = Wide(np.array([number]))
    assert numbers_of(found).tolist() == [number] and 0 <= found._low[0] < 2**48
    for moved in (-5, 1, 1000):
        other = Wide(found._low + moved * 2**48, found._high - moved)
        assert (other._low[0], other._high[0]) == (found._low[0], found._high[0])


def test_what_is_made_of_it_shares_no_memory():
    numbers = np.arange(4)
    first = Wide(numbers)
    second = first[1:]
    numbers[:] = 99
    second._low[:] = 77
    assert numbers_of(first).tolist() == [0, 1, 2, 3]


def test_parts_and_shapes():
    square = wide([[2**70, -1], [3, 2**80]])
    assert square.shape == (2, 2)
    assert numbers_of(square[0]).tolist() == [2**70, -1]
    assert numbers_of(square[[1, 0], [1, 0]]).tolist() == [2**80, 2**70]
    assert numbers_of(Wide.joined([square[0], square[1][:1]])).tolist() == [2**70, -1, 3]


@pytest.mark.parametrize(
    ("numbers", "limbs"), [([1, 0, 2**48 - 1], 1), ([2**70, 5, 0], 2), ([0, 3, -1], 2), ([-(2**99)] * 3, 2), ([7], 1)]
)
def test_what_was_packed_is_unpacked_and_upper_limbs_are_sent_where_there_are_any(numbers, limbs):
    packed = wide(numbers).packed()
    assert len(packed) == 8 * limbs * len(numbers)
    assert numbers_of(Wide.unpacked(packed, len(numbers))).tolist() == numbers


@pytest.mark.parametrize("number", [0, 1, 2**62, 2**70])
def test_a_map_that_could_wrap_around_is_refused_whatever_the_counts_are(number):
    with pytest.raises(AssertionError, match="64 bits"):
        map_counts(lambda x: x, wide([number] * 4), 2**52)


def test_every_table_of_the_library_may_be_applied():
    """Public sizes: cells times the largest sum of a record's shares."""
    for columns in (1, 2, 3):
        box = sf.Box([(0, 1)] * columns)
        assert math.prod(shape_of_cells(box, 1)) * 2 ** share_bits(box) < 2**54
    assert MAX_CELLS * 2**27 < 2**54  # naive Bayes: 24 bits, and at most three times as much for moments


def test_maps_of_usual_counts_are_applied_once():
    seen = []
    map_counts(lambda x: seen.append(1) or 2 * x, np.arange(10), 2)
    map_counts(lambda x: seen.append(1) or 2 * x, Wide(np.arange(10)), 2)
    assert len(seen) == 2


def test_as_many_records_as_there_can_be_stay_below_what_the_proof_allows():
    assert 2**62 * LARGEST_STEP == 2**100


@pytest.mark.parametrize(("number", "times"), [(2**53 - 1, 1), (2**59 - 128, 1), (2**59, 13), (2**61 - 2**9, 13)])
def test_a_map_is_applied_digit_by_digit_where_its_sums_could_wrap_around(number, times):
    seen = []
    counts = np.array([number - 2**40, 0, 2**40])
    found = map_counts(lambda x: seen.append(int(x.max())) or 3 * x + x[::-1], counts, 4)
    assert numbers_of(found).tolist() == [3 * number - 2**41, 0, number + 2**41]
    assert len(seen) == times
    assert times == 1 or max(seen) < 2**8


def test_the_largest_map_is_applied_and_no_larger_one():
    assert numbers_of(map_counts(lambda x: 2**53 * x, wide([1]), 2**53)).tolist() == [2**53]
    with pytest.raises(AssertionError, match="64 bits"):
        map_counts(lambda x: x, wide([1]), 2**54)


@pytest.mark.parametrize("numbers", [[2**70, 1], [1, 2**70], [2**100 - 1, 0], [5, 2**48]])
def test_a_single_number_of_many_bits_is_mapped_with_all_of_them(numbers):
    assert numbers_of(map_counts(lambda x: 2 * x, wide(numbers), 2)).tolist() == [2 * number for number in numbers]
