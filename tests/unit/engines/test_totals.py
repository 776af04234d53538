"""Totals: exact however many records there are, and closed."""

import copy
import pickle

import numpy as np
import pytest

from opening import numbers_of
from sfumato.core.whole import LARGEST_STEP, Wide
from sfumato.engines.totals import LARGEST, MOST_ROWS, Totals
from sfumato.errors import ParameterError, PrivateDataError


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("largest", [1, 2**12, 2**37 - 1, LARGEST_STEP])
@pytest.mark.parametrize("rows", [1, 65_536, MOST_ROWS])
def test_totals_are_exact(rows, largest, sign):
    total = Totals(2, largest)
    for _ in range(5):
        total.part(rows)[:] += np.array([sign * rows * largest, rows])
    assert numbers_of(total.wide()).tolist() == [5 * sign * rows * largest, 5 * rows]


def test_the_64_bits_are_emptied_before_they_are_full():
    total = Totals(1, LARGEST_STEP)
    for _ in range(1000):
        part = total.part(MOST_ROWS)
        part += MOST_ROWS * LARGEST_STEP
        assert 0 < part[0] <= 2**62
    assert numbers_of(total.wide()).tolist() == [1000 * 2**60]
    assert numbers_of(total.wide()).tolist() == [1000 * 2**60]  # looking changes nothing
    assert isinstance(total.open((1,)), Wide) and numbers_of(total.open((1,))).tolist() == [1000 * 2**60]


def test_what_fits_64_bits_stays_there_for_tables():
    total = Totals(1, 2**12)
    total.part(MOST_ROWS)[:] += MOST_ROWS * 2**12
    assert total.open((1,)).dtype == np.int64 and total.open((1,)).tolist() == [2**34]


@pytest.mark.parametrize("largest", [0, -1, LARGEST + 1])
def test_steps_have_a_public_bound(largest):
    with pytest.raises(ParameterError, match="largest"):
        Totals(1, largest)


def test_totals_are_closed():
    total = Totals(1, 10)
    total.part(1)[:] += 7
    assert repr(total) == "<private sums>"
    for look in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(PrivateDataError):
            look(total)


def filled(rows, largest, numbers, times=1):
    total = Totals(len(numbers), largest)
    for _ in range(times):
        total.part(rows)[:] += np.array(numbers)
    return total


def test_totals_add_up_in_any_order():
    one, two = filled(MOST_ROWS, LARGEST_STEP, [2**60, -5], times=7), filled(3, 10, [-30, 7])
    for both in (one + two, two + one):
        assert numbers_of(both.wide()).tolist() == [7 * 2**60 - 30, -28]
        assert both.rows == 7 * MOST_ROWS + 3
        both.part(1)[:] += 1
        assert numbers_of(both.wide()).tolist() == [7 * 2**60 - 29, -27]


def test_counts_fit_64_bits_also_where_others_were_folded_with_them():
    one = filled(MOST_ROWS, LARGEST, [2**62, MOST_ROWS], times=9)
    sums, counts = one.split([1, 1], [LARGEST, 1])
    assert counts.counts((1, 1)).tolist() == [[9 * MOST_ROWS]]
    assert counts.rows == sums.rows == 9 * MOST_ROWS
    assert sums.doubles().tolist() == [9 * 2.0**62]
    with pytest.raises(AssertionError, match="counts"):
        sums.counts((1,))


def test_what_steers_a_solver_does_not_pass_the_door():
    with pytest.raises(AssertionError, match="door"):
        filled(1, LARGEST_STEP + 1, [1]).wide()


def test_nobody_writes_into_what_was_opened():
    total = filled(1, 1, [1, 0])
    for numbers in (total.counts((2,)), total.open((1, 2))):
        with pytest.raises(ValueError, match="read-only"):
            numbers[0] = 7
