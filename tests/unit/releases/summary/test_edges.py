"""Selberg's functions lie on their sides of a sharp range, everywhere, and close in as fast as they can."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import ParameterError
from sfumato.releases.summary.edges import Range, ends_of, soft_ends, softened

ANGLES = np.linspace(0, math.pi, 2001)
COSINES = np.cos(ANGLES)


@given(st.floats(-1.2, 1.2), st.floats(-1.2, 1.2), st.integers(1, 60))
def test_one_lies_below_the_range_and_one_above(one, other, count):
    low, high = min(one, other), max(one, other)
    below, above = Range.of([(low, high)], (-1.0, 1.0)).between(count)
    waves = np.cos(np.outer(ANGLES, np.arange(count)))
    sharp = (low <= COSINES) & (high >= COSINES)
    inside = waves[np.abs(COSINES - low) + np.abs(COSINES - high) > 1e-9]  # at an edge it is either
    assert len(inside) and (waves @ below <= sharp + 1e-9).all() and (waves @ above >= sharp - 1e-9).all()


@pytest.mark.parametrize(("ends", "arcs"), [((-0.3, 0.6), 2), ((None, 0.6), 1), ((0.1, None), 1)])
def test_each_arc_costs_one_over_the_number_of_frequencies(ends, arcs):
    found = Range.of([ends], (-1.0, 1.0))
    for count in (4, 17):
        below, above = found.between(count)
        length = (found.pieces[0][1] - found.pieces[0][0]) / math.pi
        assert above[0] - length == pytest.approx(arcs / count) == pytest.approx(length - below[0])


def test_ends_at_or_beyond_the_bounds_are_none():
    whole, beyond = (Range.of([ends], (0.0, 110.0)) for ends in ((None, None), (-5, 110)))
    assert not whole.sharp and not beyond.sharp
    assert Range.of([(0, 60)], (0.0, 110.0)) == Range.of([(None, 60)], (0.0, 110.0))


@given(st.floats(-1, -0.05), st.floats(0.05, 1), st.integers(1, 60))
def test_two_ranges_have_limits_together(low, high, count):
    """As a range round a circle is, which goes through the bounds."""
    around = Range.of([(high, 1.0), (-1.0, low)], (-1.0, 1.0))
    below, above = around.between(count)
    waves = np.cos(np.outer(ANGLES, np.arange(count)))
    sharp = (low >= COSINES) | (high <= COSINES)
    inside = waves[np.abs(COSINES - low) + np.abs(COSINES - high) > 1e-9]
    assert len(inside) and (waves @ below <= sharp + 1e-9).all() and (waves @ above >= sharp - 1e-9).all()
    middles = np.cos((np.arange(4000) + 0.5) * math.pi / 4000)
    assert np.abs(around.within(4000) - ((middles <= low) | (middles >= high))).sum() <= 2


DAY = sf.Periodic(0, 24)


@pytest.mark.few(2)
@pytest.mark.parametrize("low", [0.5, 6.0, 22.0, 23.7])
@pytest.mark.parametrize("softness", [0.3, 2.0, 8.0, 500.0])
def test_edges_go_round_a_circle(low, softness):
    """It is the range, blurred by a normal distribution that was wrapped round."""
    first, last, around = soft_ends(DAY, ends_of(DAY, "hour", low, low + 5))
    at = np.linspace(0, 24, 97)
    fine = (np.arange(1000) + 0.5) / 1000 * 5 + low
    away = at[:, None] - fine
    turns = np.arange(-60, 61) if softness < 100 else np.arange(-400, 401)
    kernel = sum(np.exp(-(((away + 24 * turn) / softness) ** 2) / 2) for turn in turns)
    blurred = kernel.mean(axis=1) * 5 / (softness * math.sqrt(2 * math.pi))
    assert softened(at, first, last, softness, around) == pytest.approx(blurred, abs=1e-5)


def test_ranges_that_end_before_they_begin():
    assert ends_of(DAY, "hour", 22, 4) == ends_of(DAY, "hour", 22, 28) == [(22, 24), (0, 4)]
    assert ends_of(DAY, "hour", 22, None) == [(22, 24)] and ends_of(DAY, "hour", None, 4) == [(0, 4)]
    assert soft_ends(DAY, ends_of(DAY, "hour", -30, 30)) == (None, None, None)
    assert soft_ends(DAY, [(0, 4)]) == (None, 4, None)  # nobody has to be told apart at the bound
    line = sf.core.box.Interval(0, 24)
    for kind, low, high in ((line, 22, 4), (line, 4, 4), (DAY, 4, 4)):
        with pytest.raises(ParameterError, match="the range of column 'hour' must end above its beginning"):
            ends_of(kind, "hour", low, high)
