"""Noise inside an objective: how much it must be, against many digits, and what is drawn."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import sfumato as sf
from sfumato.core import mechanism
from sfumato.core.mechanism import draw_objective
from sfumato.core.objective import Objective, ObjectiveLaw, calibrate_objective
from sfumato.errors import ParameterError, ParameterTypeError

GIVEN = {"size": 5, "blocks": 1, "lipschitz": 1.0, "curvature": 0.25, "norm": 1.5, "strength": 100.0}
SHAPES = [(1, 1), (5, 1), (7, 3)]
APPROXIMATE = [(1.0, 1e-5), (0.1, 1e-6), (5.0, 1e-9), (0.5, 1e-3)]


def objective(**changes):
    return Objective(**(GIVEN | changes))


# --- what is refused ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GIVEN)
@pytest.mark.parametrize("value", [0, -1])
def test_numbers_must_be_positive(name, value):
    with pytest.raises(ParameterError, match=f"{name}.*{name}={value}"):
        objective(**{name: value})


@pytest.mark.parametrize("name", GIVEN)
def test_numbers_must_be_numbers(name):
    with pytest.raises(ParameterTypeError, match=name):
        objective(**{name: "3"})


@pytest.mark.parametrize("name", ["lipschitz", "curvature", "norm", "strength"])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_numbers_must_be_finite(name, value):
    with pytest.raises(ParameterError, match=f"{name} must be finite"):
        objective(**{name: value})


@pytest.mark.parametrize(
    "privacy",
    [sf.Privacy(rho=0.5), sf.Privacy(epsilon=1.0, unit=sf.Person("who", 2)), sf.Privacy(rho=1.0, unit=sf.Person(0, 1))],
)
def test_concentrated_grants_and_persons_need_output_noise(privacy):
    with pytest.raises(ParameterError, match="use output noise instead"):
        calibrate_objective(objective(), privacy)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_curvature_that_eats_the_grant_is_refused(delta):
    steep = objective(strength=0.1)  # costs log(1 + 0.25 * 2.25 / 0.1) = 1.89
    with pytest.raises(ParameterError, match=r"curvature alone costs epsilon=1.89.*smaller C, or output noise"):
        calibrate_objective(steep, sf.Privacy(epsilon=1.5, delta=delta))
    assert calibrate_objective(steep, sf.Privacy(epsilon=1.95, delta=delta)).scale > 0


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_grant_that_the_curvature_eats_exactly_is_refused(delta):
    with pytest.raises(ParameterError, match="curvature alone"):
        calibrate_objective(objective(), sf.Privacy(epsilon=objective().curvature_cost, delta=delta))


# --- what noise costs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("blocks", [1, 2, 5])
@pytest.mark.parametrize("strength", [0.01, 1.0, 1e3, 1e12])
def test_the_curvature_costs_its_logarithm_from_above(blocks, strength):
    found = objective(blocks=blocks, strength=strength).curvature_cost
    with mpmath.workdps(50):
        exact = blocks * mpmath.log1p(mpmath.mpf(0.25) * mpmath.mpf(1.5) ** 2 / mpmath.mpf(strength))
        assert exact <= found <= exact * (1 + mpmath.mpf(2) ** -40)


@pytest.mark.parametrize("blocks", [1, 3])
def test_a_replaced_record_moves_the_gradient_twice_as_far_as_a_removed_one(blocks):
    found = objective(blocks=blocks, lipschitz=0.7, norm=1.3)
    one = math.sqrt(blocks) * 0.7 * 1.3
    assert one <= found.reach("add-remove") <= one * (1 + 1e-12)
    assert 2 * one <= found.reach("replace") <= 2 * one * (1 + 1e-12)


@pytest.mark.parametrize(("size", "blocks"), SHAPES)
@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 7.5])
def test_pure_noise_has_the_scale_of_reach_over_what_is_left(size, blocks, neighbours, epsilon):
    learner = objective(size=size, blocks=blocks)
    law = calibrate_objective(learner, sf.Privacy(epsilon=epsilon, neighbours=neighbours))
    assert (law.kind, law.size) == ("l2", size * blocks)
    exact = Fraction(learner.reach(neighbours)) / Fraction(epsilon - learner.curvature_cost)
    found = law.scale * Fraction(2) ** law.exponent
    assert exact <= found <= exact * (1 + Fraction(1, 10**12))


@pytest.mark.few(8)
@pytest.mark.parametrize(("size", "blocks"), SHAPES)
@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
@pytest.mark.parametrize(("epsilon", "delta"), APPROXIMATE)
def test_gaussian_noise_keeps_delta_and_wastes_little(size, blocks, neighbours, epsilon, delta):
    """The expectation that defines delta, by quadrature: never above, and above it with 3 % less noise."""
    learner = objective(size=size, blocks=blocks)
    law = calibrate_objective(learner, sf.Privacy(epsilon=epsilon, delta=delta, neighbours=neighbours))
    assert (law.kind, law.size) == ("gaussian", size * blocks)
    ratio, left = learner.reach(neighbours) / law.deviation, epsilon - learner.curvature_cost
    assert expected_excess(ratio, left, 2 * blocks) <= delta
    assert expected_excess(ratio / 0.97, left, 2 * blocks) > delta


def expected_excess(ratio, epsilon, dimension):
    """``E[(1 - exp(epsilon - loss))_+]`` with ``loss = ratio^2 / 2 + ratio * chi``."""
    with mpmath.workdps(30):
        ratio, epsilon = mpmath.mpf(ratio), mpmath.mpf(epsilon)
        start = max(mpmath.mpf(0), epsilon / ratio - ratio / 2)
        scale = mpmath.mpf(2) ** (1 - mpmath.mpf(dimension) / 2) / mpmath.gamma(mpmath.mpf(dimension) / 2)

        def excess(x):
            density = scale * x ** (dimension - 1) * mpmath.exp(-x * x / 2)
            return density * -mpmath.expm1(epsilon - ratio * ratio / 2 - ratio * x)

        return mpmath.quad(excess, [start + i for i in (0, 0.3, 1, 2, 4, 8, 16)])


def test_more_privacy_is_more_noise():
    for delta in (0.0, 1e-6):
        scales = [calibrate_objective(objective(), sf.Privacy(epsilon=e, delta=delta)).deviation for e in (0.1, 1, 10)]
        assert scales == sorted(scales, reverse=True)


# --- the grid -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lipschitz", [1e-12, 1.0, 1e9])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_grid_is_a_millionth_of_the_scale(lipschitz, delta):
    law = calibrate_objective(objective(lipschitz=lipschitz), sf.Privacy(epsilon=1.0, delta=delta))
    assert 2**19 <= law.scale <= 2**20
    assert law.deviation == pytest.approx(float(law.scale) * 2.0**law.exponent, rel=1e-15)


def test_rounding_is_half_a_step_in_every_coordinate():
    law = ObjectiveLaw("l2", 9, -10, Fraction(2**20))
    assert 1.5 * 2.0**-10 <= law.rounding <= 1.5 * 2.0**-10 * (1 + 1e-12)


# --- drawing --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["l2", "gaussian"])
def test_what_is_drawn_lies_on_the_grid(kind):
    found = draw_objective(ObjectiveLaw(kind, 6, -7, Fraction(2**20)))
    assert found.shape == (6,)
    assert found.dtype == np.float64
    assert (found * 2**7 == np.rint(found * 2**7)).all()
    assert (found != 0).any()  # all zero with probability below 1e-30


@pytest.mark.parametrize(("kind", "name"), [("l2", "l2_knorm"), ("gaussian", "rounded_gaussian")])
def test_each_law_has_its_sampler(kind, name, monkeypatch):
    asked = []

    def sampler(size, scale):
        asked.append((size, scale))
        return np.arange(size)

    monkeypatch.setattr(mechanism.sampling, name, sampler)
    assert draw_objective(ObjectiveLaw(kind, 3, -1, Fraction(7, 2))).tolist() == [0.0, 0.5, 1.0]
    assert asked == [(3, Fraction(7, 2))]


def test_two_draws_differ():
    """Also after seeding: they agree with probability below 1e-100."""
    law = ObjectiveLaw("gaussian", 20, 0, Fraction(2**20))
    draws = []
    for _ in range(2):
        np.random.seed(3)
        draws.append(draw_objective(law).tolist())
    assert draws[0] != draws[1]
