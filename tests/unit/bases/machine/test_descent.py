"""The public numbers of gradient descent."""

import math
from dataclasses import replace

import numpy as np
import pytest

import sfumato as sf
from sfumato.bases.machine.descent import (
    MOMENTUM,
    budget_of,
    certify_descent,
    descent_of,
    gradient_exponent,
    schedule_of,
    slope_unit,
)
from sfumato.core.gaussian import noise_multiplier


def walked(schedule, curvature, noise):
    """A parabola with its lowest point at 1, descended with this noise in each step's gradient."""
    weight = speed = 0.0
    for one in noise:
        speed = MOMENTUM * speed + schedule.rate * (curvature * (weight - 1) + one)
        weight = schedule.kept * weight - speed
    return weight


@pytest.mark.parametrize("strength", [0.1, 30.0, 1e4])
@pytest.mark.parametrize("curvature", [1e-4, 0.01, 0.25])
def test_the_response_is_that_of_a_parabola(strength, curvature):
    schedule = schedule_of(strength, 0.25, 1.0, 1000)
    reached, squares = schedule.response(np.array([curvature]))
    quiet = np.zeros(schedule.steps)
    assert reached[0] == pytest.approx(walked(schedule, curvature, quiet), rel=1e-12)
    alone = [walked(schedule, curvature, np.eye(schedule.steps)[t]) - reached[0] for t in range(schedule.steps)]
    assert squares[0] == pytest.approx(np.square(alone).sum(), rel=1e-6)


@pytest.mark.parametrize("strength", [1e-3, 1.0, 1e5])
def test_steps_are_stable_wherever_records_lie(strength):
    """All records at the far end of one direction, and twice the curvature that the loss starts with."""
    schedule = schedule_of(strength, 0.25, 3.0, 77)
    assert 0 < schedule.kept < 1
    reached, squares = schedule.response(np.array([2 * 0.25 * 9.0]))
    assert 0 < reached[0] < 2.1
    assert squares[0] < 64 * (schedule.rate / (1 - MOMENTUM)) ** 2


def test_the_rate_is_a_power_of_two_of_a_sum():
    schedule = schedule_of(10.0, 0.25, 1.0, 1000)
    assert math.frexp(schedule.rate / 1000)[0] == 0.5
    descent = descent_of(schedule, 1000, 1.0, 1.0, 1, 5.0)
    assert 2.0 ** (descent.exponent - gradient_exponent(1.0, 1.0)) == schedule.rate / 1000


@pytest.mark.parametrize("steepest", [0.05, 1.0, 3.0, None])
@pytest.mark.parametrize("norm", [0.3, 1.0, 8.7])
def test_the_budget_is_half_of_the_longest_gradient(steepest, norm):
    slope = 2.0 if steepest is None else steepest
    one = budget_of(steepest, norm, 1) * 2.0 ** gradient_exponent(steepest, norm)
    assert one == pytest.approx(slope * norm / 2, rel=1e-9)
    assert one <= slope * norm / 2
    assert budget_of(steepest, norm, 5) == budget_of(steepest, norm, 2) > budget_of(steepest, norm, 1) >= 2**33
    assert slope_unit(steepest) > slope


@pytest.mark.parametrize("privacy", [sf.Privacy(0.5, 1e-8), sf.Privacy(15.0, 1e-2), sf.Privacy(rho=0.2)])
def test_what_a_step_may_use_adds_up_to_the_grant(privacy):
    descent = descent_of(schedule_of(10.0, 0.25, 1.0, 100), 100, 1.0, 1.0, 1, 5.0)
    whole = descent.steps * descent.grant(privacy).rho
    limit = privacy.rho or 1 / (2 * noise_multiplier(privacy.epsilon, privacy.delta) ** 2)
    assert (1 - 1e-9) * limit < whole <= limit
    assert descent.grant(privacy).neighbours == privacy.neighbours


def test_persons_and_relations_multiply_the_budget():
    descent = descent_of(schedule_of(10.0, 0.25, 1.0, 100), 100, 1.0, 1.0, 1, 5.0)
    row = sf.Privacy(1.0, 1e-6)
    persons = replace(row, neighbours="add-remove", unit=sf.Person("who", 3))
    assert certify_descent(descent, False, row).bound == 2 * descent.budget
    assert certify_descent(descent, False, persons).bound == 3 * descent.budget
    assert certify_descent(descent, True, row).assumptions == ("the caller's kernel reads each record alone",)
    assert certify_descent(descent, True, row).proof == "descent"


def test_noise_moved_the_learner_within_the_ball():
    descent = descent_of(schedule_of(10.0, 0.25, 1.0, 100), 100, 1.0, 1.0, 1, 5.0)
    assert 10.0 <= descent.radius(0.95) < 10.001
