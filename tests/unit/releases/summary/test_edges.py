"""Selberg's functions lie on their sides of a sharp range, everywhere, and close in as fast as they can."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.releases.summary.edges import Range

ANGLES = np.linspace(0, math.pi, 2001)
COSINES = np.cos(ANGLES)


@given(st.floats(-1.2, 1.2), st.floats(-1.2, 1.2), st.integers(1, 60))
def test_one_lies_below_the_range_and_one_above(one, other, count):
    low, high = min(one, other), max(one, other)
    below, above = Range.of((low, high), (-1.0, 1.0)).between(count)
    waves = np.cos(np.outer(ANGLES, np.arange(count)))
    sharp = (low <= COSINES) & (high >= COSINES)
    inside = waves[np.abs(COSINES - low) + np.abs(COSINES - high) > 1e-9]  # at an edge it is either
    assert len(inside) and (waves @ below <= sharp + 1e-9).all() and (waves @ above >= sharp - 1e-9).all()


@pytest.mark.parametrize(("ends", "arcs"), [((-0.3, 0.6), 2), ((None, 0.6), 1), ((0.1, None), 1)])
def test_each_arc_costs_one_over_the_number_of_frequencies(ends, arcs):
    found = Range.of(ends, (-1.0, 1.0))
    for count in (4, 17):
        below, above = found.between(count)
        length = (found.high - found.low) / math.pi
        assert above[0] - length == pytest.approx(arcs / count) == pytest.approx(length - below[0])


def test_ends_at_or_beyond_the_bounds_are_none():
    assert not Range.of((None, None), (0.0, 110.0)).sharp and not Range.of((-5, 110), (0.0, 110.0)).sharp
    assert Range.of((0, 60), (0.0, 110.0)) == Range.of((None, 60), (0.0, 110.0))
    assert Range.of((60, 20), (0.0, 110.0)).low == Range.of((60, 20), (0.0, 110.0)).high  # nobody
