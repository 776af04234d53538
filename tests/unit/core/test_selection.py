"""Choosing: always a candidate, never an error, the best one when privacy is nearly nothing."""

import copy
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core import sampling
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
    (one,), steps = _on_grid(np.array([1e9]), sensitivity)
    assert 2**16 <= steps - 1 < 2**17
    if sensitivity >= 0.1:  # else 1e9 is beyond the grid's whole numbers
        assert steps - 1 <= Fraction(sensitivity) * int(one) / 10**9 < steps


def test_the_grid_is_not_finer_than_doubles_allow():
    (number,), steps = _on_grid(np.array([2.0**-999]), 5e-324)
    assert (number, steps) == (2, 1)


# --- the exact law of each choice, with the draws in our hands --------------------------------------------------------

SENSITIVITY = 0.75  # 98304 steps of 2**-17, and one more for the rounding
SCORES = np.array([1.0, 2.5, math.nan, 2.5, -1e300])
GAPS = [3 * 2**16, 0, 2**61 + 5 * 2**16, 0, 2**61 + 5 * 2**16]


@pytest.fixture
def coins(monkeypatch):
    """Let coins show what is chosen, in order, and keep what was asked of them."""

    def feed(*chosen):
        asked, waiting = [], list(chosen)

        def toss(rates, errors, exact):
            asked.append((rates.tolist(), errors.tolist(), [exact(i) for i in range(len(rates))]))
            return np.resize(np.array(waiting.pop(0)), len(rates))

        monkeypatch.setattr(sampling, "bernoulli_exp", toss)
        return asked

    return feed


@pytest.fixture
def numbers(monkeypatch):
    """Let uniform numbers and Laplace noise be what is chosen, in order, and keep what was asked for."""

    def feed(name, *chosen):
        asked, waiting = [], list(chosen)
        monkeypatch.setattr(sampling, name, lambda *what: asked.append(what) or np.array(waiting.pop(0)))
        return asked

    return feed


def assert_rates(asked, gaps):
    """Heads have probability ``exp(-epsilon gap / (2 steps))``: exactly, and in doubles within their error."""
    rates, errors, exact = asked
    assert exact == [gap * Fraction(1, 10) / (2 * 98305) for gap in gaps]
    for rate, error, true in zip(rates, errors, exact, strict=True):
        assert abs(Fraction(rate) - true) <= Fraction(error) / 2  # twice as much room as is needed
        assert error <= rate * 2.0**-48


def test_permute_and_flip_tosses_a_coin_for_each_gap_and_takes_any_of_the_heads(coins, numbers):
    tossed, drawn = coins([True, False, True, True, False]), numbers("uniform_below", [1])
    assert permute_and_flip(SCORES, SENSITIVITY, 0.1) == 2
    assert [bounds.tolist() for (bounds,) in drawn] == [[3]]
    assert_rates(tossed[0], GAPS)


def test_the_exponential_mechanism_takes_the_first_uniform_try_that_is_accepted(coins, numbers):
    tries = np.resize([4, 0, 3, 1, 2], 69)
    tossed = coins([False], [False, False, True, True, False, True])
    drawn = numbers("uniform_below", tries, tries)
    assert exponential_mechanism(SCORES, SENSITIVITY, 0.1) == 3
    assert [set(bounds.tolist()) for (bounds,) in drawn] == [{5}, {5}]
    for one in tossed:
        assert_rates(one, [GAPS[i] for i in tries])


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_no_scores_make_a_warning(mechanism):
    with np.errstate(over="raise", divide="raise", invalid="raise"):
        assert mechanism(np.array([0.0, -math.inf, math.nan]), 1.0, 1e300) == 0


def test_half_of_epsilon_hides_the_threshold_and_half_the_value(numbers):
    """With a sensitivity of 65537 steps: Laplace noise of twice that over epsilon, and of four times that."""
    drawn = numbers("discrete_laplace", [5], [4], [-(2**40)], [5])
    asked = AboveThreshold(3.0, 1.0, Privacy(epsilon=0.1))
    assert [asked.above(3.0), asked.above(9.0), asked.above(3.0)] == [False, False, True]  # equal is above
    assert drawn == [(1, Fraction(2 * 65537 * 10))] + [(1, Fraction(4 * 65537 * 10))] * 3


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


def test_threads_take_turns(monkeypatch):
    """Two that ask at once would hear two answers for the price of one."""
    asked = threshold()
    monkeypatch.setattr(sampling, "discrete_laplace", lambda *_: np.array([0]) if asked._lock.locked() else None)
    assert asked.above(1.0)


def test_noise_beyond_64_bits_is_refused():
    least = 65537 / 2.0**48  # with a sensitivity of 65537 steps
    AboveThreshold(0.0, 1.0, Privacy(epsilon=least))
    with pytest.raises(ParameterError, match="epsilon is too small"):
        AboveThreshold(0.0, 1.0, Privacy(epsilon=math.nextafter(least, 0.0)))


@pytest.mark.parametrize("value", [[1.0], [[1.0]], [1.0, 2.0], []])
def test_one_number_is_asked_about_at_a_time(value):
    with pytest.raises(ParameterError, match="one number"):
        threshold().above(np.array(value))
