"""Choosing: always a candidate, never an error, the best one when privacy is nearly nothing."""

import copy
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.privacy import Privacy
from sfumato.core.selection import AboveThreshold, _on_grid, exponential_mechanism, permute_and_flip
from sfumato.errors import ParameterError, PrivateDataError

MECHANISMS = [permute_and_flip, exponential_mechanism]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_best_is_chosen_when_it_is_far_ahead(mechanism):
    """Another is chosen with probability below e**-1e5."""
    for _ in range(50):
        assert mechanism(np.array([0.0, 1.0, 0.5]), 1e-6, 1.0) == 1


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("worst", [math.nan, -math.inf, -1e300])
def test_what_is_not_a_number_is_the_worst(mechanism, worst):
    for _ in range(50):
        assert mechanism(np.array([worst, 0.0, worst]), 1.0, 1.0) == 1


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("scores", [[math.nan] * 3, [math.inf] * 3, [-math.inf] * 3, [0.0] * 3, [1e308, -1e308, 0.0]])
def test_any_scores_give_an_index(mechanism, scores):
    for _ in range(20):
        assert mechanism(np.array(scores), 1.0, 1.0) in (0, 1, 2)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_equal_scores_are_all_chosen_sometimes(mechanism):
    """One of three is missed by 200 draws with probability below 3 (2/3)**200 < 1e-34."""
    assert {mechanism(np.zeros(3), 1.0, 1.0) for _ in range(200)} == {0, 1, 2}


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_one_candidate_is_always_chosen(mechanism):
    assert mechanism(np.array([math.nan]), 1.0, 1e-9) == 0


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("epsilon", [5e-324, 1e-300, 1e300, 1.7e308])
@pytest.mark.parametrize("sensitivity", [5e-324, 1e-300, 1.0, 1e300])
def test_extreme_parameters_are_fine(mechanism, epsilon, sensitivity):
    with np.errstate(all="ignore"):
        assert mechanism(np.array([0.0, 1.0]), sensitivity, epsilon) in (0, 1)


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=5),
    st.floats(1e-6, 1e3),
    st.lists(st.floats(-1, 1), min_size=5, max_size=5),
)
def test_neighbouring_scores_are_no_further_apart_on_the_grid_than_is_paid_for(scores, sensitivity, moves):
    here = np.array(scores)
    there = here + np.array(moves[: len(scores)]) * sensitivity
    inside = [abs(Fraction(a) - Fraction(b)) <= Fraction(sensitivity) for a, b in zip(here, there, strict=True)]
    (one, steps), (other, _) = _on_grid(here, sensitivity), _on_grid(there, sensitivity)
    assert (np.abs(one - other)[inside] <= steps).all()


@pytest.mark.parametrize("sensitivity", [1e-6, 0.1, 1.0, 3.0, 1e9])
def test_the_grid_costs_little(sensitivity):
    _, steps = _on_grid(np.zeros(1), sensitivity)
    assert 2**16 <= steps - 1 < 2**17


# --- above threshold ------------------------------------------------------------------------------------------


def threshold(sensitivity=1e-9, at=0.0):
    return AboveThreshold(at, sensitivity, Privacy(epsilon=1.0))


def test_far_below_is_no_and_far_above_is_yes():
    """Each answer is wrong with probability below e**-1e7."""
    asked = threshold()
    assert [asked.above(-1.0), asked.above(-0.5), asked.above(1.0)] == [False, False, True]


def test_after_the_first_yes_it_refuses():
    asked = threshold()
    assert asked.above(1.0)
    for value in (1.0, -1.0, math.nan):
        with pytest.raises(ParameterError, match="spent"):
            asked.above(value)


def test_not_a_number_is_below():
    asked = threshold()
    assert not asked.above(math.nan)
    assert not asked.above(-math.inf)
    assert asked.above(math.inf)


def test_repr_shows_no_number():
    asked = threshold(at=12345.0)
    assert repr(asked) == "<AboveThreshold, waiting>"
    asked.above(1e9)
    assert repr(asked) == "<AboveThreshold, fired>"


def test_it_has_no_dictionary():
    assert not hasattr(threshold(), "__dict__")


def test_it_needs_a_pure_epsilon():
    with pytest.raises(ParameterError, match="rho"):
        AboveThreshold(0.0, 1.0, Privacy(rho=1.0))


@pytest.mark.parametrize("sensitivity", [0, -1, math.inf, math.nan, None, "1"])
def test_sensitivity_must_be_positive(sensitivity):
    with pytest.raises(ParameterError, match="sensitivity"):
        AboveThreshold(0.0, sensitivity, Privacy(epsilon=1.0))


@pytest.mark.parametrize("at", [math.inf, math.nan, None])
def test_the_threshold_must_be_finite(at):
    with pytest.raises(ParameterError, match="threshold"):
        AboveThreshold(at, 1.0, Privacy(epsilon=1.0))


@pytest.mark.parametrize("value", [10**400, -(10**400), np.float32(0.5), np.int64(7), 2**64, True, 5e-324, -0.0])
def test_any_number_may_be_asked_about(value):
    assert threshold(sensitivity=1.0).above(value) in (True, False)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_threshold_cannot_be_copied(duplicate):
    """A copy made before the first yes would say a second one for free."""
    with pytest.raises(PrivateDataError):
        duplicate(threshold())
