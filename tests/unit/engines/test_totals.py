"""Running totals: exact however many records there are, and closed."""

import copy
import pickle

import numpy as np
import pytest

from opening import numbers_of
from sfumato.core.whole import LARGEST_STEP, Wide
from sfumato.engines.totals import MOST_ROWS, RunningTotal
from sfumato.errors import ParameterError, PrivateDataError


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("largest", [1, 2**12, 2**37 - 1, LARGEST_STEP])
@pytest.mark.parametrize("rows", [1, 65_536, MOST_ROWS])
def test_totals_are_exact(rows, largest, sign):
    total = RunningTotal((2,), largest)
    for _ in range(5):
        total.part(rows)[:] += np.array([sign * rows * largest, rows])
    assert numbers_of(total.whole()).tolist() == [5 * sign * rows * largest, 5 * rows]


def test_the_64_bits_are_emptied_before_they_are_full():
    total = RunningTotal((1,), LARGEST_STEP)
    for _ in range(1000):
        part = total.part(MOST_ROWS)
        part += MOST_ROWS * LARGEST_STEP
        assert 0 < part[0] <= 2**62
    assert numbers_of(total.whole()).tolist() == [1000 * 2**62]
    assert numbers_of(total.whole()).tolist() == [1000 * 2**62]  # looking changes nothing
    assert isinstance(total.counts(), Wide) and numbers_of(total.counts()).tolist() == [1000 * 2**62]


def test_what_fits_64_bits_stays_there_for_tables():
    total = RunningTotal((1,), 2**12)
    total.part(MOST_ROWS)[:] += MOST_ROWS * 2**12
    assert total.counts().dtype == np.int64 and total.counts().tolist() == [2**36]


@pytest.mark.parametrize("largest", [0, LARGEST_STEP + 1])
def test_steps_have_a_public_bound(largest):
    with pytest.raises(ParameterError, match="budget"):
        RunningTotal((1,), largest)


def test_totals_are_closed():
    total = RunningTotal((1,), 10)
    total.part(1)[:] += 7
    assert repr(total) == "<private sums>"
    for look in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(PrivateDataError):
            look(total)
