"""The promised approximation errors hold for functions whose derivatives are known, and Theorem 3's degrees."""

import math

import numpy as np
import pytest

from sfumato.bases.lattice.bernstein import Bernstein, Step
from sfumato.bases.lattice.expansion import Expansion
from sfumato.bases.lattice.smoothness import Hoelder, Linear, Smooth, smoothness_from_json
from sfumato.core.box import Box
from sfumato.errors import ParameterError, ParameterTypeError

LINE = Box([(0, 1)])
SQUARE = Box([(0, 1), (0, 1)])
FINE = np.linspace(0, 1, 2001)
GRID = np.stack(np.meshgrid(FINE[::40], FINE[::40]), axis=-1).reshape(-1, 2)


def error(function, basis, box):
    """The largest error seen."""
    points = FINE[:, None] if box.dimension == 1 else GRID
    found = Expansion(basis, box, function(basis.lattice(box)))
    return float(np.abs(found(points) - function(points)).max())


def sine(frequency):
    """Every derivative of order j is at most frequency**j."""
    return lambda p: np.sin(frequency * p.sum(axis=1)), lambda order: max(1.0, frequency) ** order


def exponential(rate):
    return lambda p: np.exp(rate * p[:, 0]), lambda order: max(1.0, rate) ** order * math.exp(rate)


def monomial(power):
    return (
        lambda p: p[:, 0] ** power,
        lambda order: max(float(math.perm(power, j)) for j in range(min(order, power) + 1)),
    )


SMOOTH_FUNCTIONS = [sine(1), sine(3), sine(2 * math.pi), exponential(1), exponential(4), monomial(2), monomial(9)]


@pytest.mark.few(28)
@pytest.mark.parametrize("degree", [1, 2, 5, 10, 20, 50, 100])
@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("declared", [2, 4, 6, 8])
def test_the_bound_for_smooth_functions_of_one_variable(declared, order, degree):
    basis = Bernstein(degree, order)
    for function, bound in SMOOTH_FUNCTIONS:
        promised = Smooth(declared, bound(declared)).approximation_error(basis, LINE)
        assert error(function, basis, LINE) <= promised * (1 + 1e-12) + 1e-12


@pytest.mark.parametrize("degree", [2, 5, 10, (4, 20)])
@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_the_bound_for_smooth_functions_of_two_variables(order, degree):
    basis = Bernstein(degree, order)
    for function, bound in (sine(1), sine(3), sine(6)):
        promised = Smooth(2 * order, bound(2 * order)).approximation_error(basis, SQUARE)
        assert error(function, basis, SQUARE) <= promised * (1 + 1e-12) + 1e-12


def test_the_bound_is_not_absurd():
    """For the plain operator and x^2 it is attained."""
    for degree in (1, 5, 20):
        function, bound = monomial(2)
        assert error(function, Bernstein(degree), LINE) == pytest.approx(
            Smooth(2, bound(2)).approximation_error(Bernstein(degree), LINE), rel=1e-6
        )


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_the_bound_falls_with_the_promised_power_of_the_degree(order):
    promise = Smooth(2 * order, 1.0)
    ratio = promise.bernstein_error(1000, order) / promise.bernstein_error(2000, order)
    assert ratio == pytest.approx(2**order, rel=0.01)


@pytest.mark.parametrize("degree", [1, 10, 50])
@pytest.mark.parametrize("extra", [1, 2, 3])
def test_iterating_beyond_what_was_promised_may_double_the_error_each_time(extra, degree):
    """I - B has norm at most 2, and no more is known of functions with so few derivatives."""
    smooth, rough = Smooth(4, 1.5), Hoelder(0.5, 1.5)
    assert smooth.bernstein_error(degree, 2 + extra) == pytest.approx(2**extra * smooth.bernstein_error(degree, 2))
    assert rough.bernstein_error(degree, 1 + extra) == pytest.approx(2**extra * rough.bernstein_error(degree, 1))


def rough(exponent, at):
    """|x - at|^exponent is Hoelder with constant 1."""
    return lambda p: np.abs(p - at).max(axis=1) ** exponent


@pytest.mark.few(20)
@pytest.mark.parametrize("degree", [1, 2, 5, 20, 100])
@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("exponent", [0.25, 0.5, 1.0])
def test_the_bound_for_rough_functions(exponent, order, degree):
    basis, promise = Bernstein(degree, order), Hoelder(exponent, 1.0)
    for at in (0.0, 0.3, 0.5):
        assert error(rough(exponent, at), basis, LINE) <= promise.approximation_error(basis, LINE) + 1e-12


@pytest.mark.parametrize("degree", [2, 10, (3, 15)])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_bound_for_rough_functions_of_two_variables(order, degree):
    basis, promise = Bernstein(degree, order), Hoelder(0.5, 1.0)
    assert error(rough(0.5, 0.4), basis, SQUARE) <= promise.approximation_error(basis, SQUARE) + 1e-12


@pytest.mark.parametrize("box", [LINE, SQUARE])
@pytest.mark.parametrize("degree", [1, 3, 10, 31])
def test_the_bounds_for_step_functions(degree, box):
    basis = Step(degree)
    function, bound = sine(3)
    assert error(function, basis, box) <= Smooth(2, bound(2)).approximation_error(basis, box) + 1e-12
    for exponent in (0.5, 1.0):
        promised = Hoelder(exponent, 1.0).approximation_error(basis, box)
        assert error(rough(exponent, 0.4), basis, box) <= promised + 1e-12


@pytest.mark.parametrize("order", [1, 2, 4])
def test_linear_functions_have_no_error(order):
    basis = Bernstein((1, 5), order)
    assert Linear().approximation_error(basis, SQUARE) == 0.0
    assert error(lambda p: 2 + p[:, 0] - 3 * p[:, 1] + p[:, 0] * p[:, 1], basis, SQUARE) < 1e-12


def test_linear_functions_have_no_bound_in_steps():
    assert Linear().approximation_error(Step(10), LINE) == math.inf


def test_errors_of_axes_add_up():
    promise = Smooth(2, 1.0)
    one, other = promise.bernstein_error(10, 1), promise.bernstein_error(30, 1)
    assert promise.approximation_error(Bernstein((10, 30)), SQUARE) == pytest.approx(one + other)


# --- Theorem 3 --------------------------------------------------------------------------------------------------

S, EPSILON, BETA = 1e-4, 0.5, 0.05
RATIO = EPSILON / (S * math.log(1 / BETA))


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_degree_of_smooth_functions(order, dimension):
    basis = Smooth(2 * order, 1.0).basis(Box([(0, 1)] * dimension), S, EPSILON, BETA)
    assert basis == Bernstein(max(1, round(RATIO ** (1 / (order + dimension)))), order)


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("exponent", [0.3, 0.5, 1.0])
def test_degree_of_rough_functions(exponent, dimension):
    basis = Hoelder(exponent, 1.0).basis(Box([(0, 1)] * dimension), S, EPSILON, BETA)
    assert basis == Bernstein(max(1, round(RATIO ** (2 / (2 * dimension + exponent)))), 1)


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_degree_of_linear_functions(dimension):
    assert Linear().basis(Box([(0, 1)] * dimension), S, EPSILON, BETA) == Bernstein(1, 1)


@pytest.mark.parametrize("promise", [Smooth(4, 1.0), Hoelder(0.5, 1.0), Linear()])
def test_hopeless_noise_gets_degree_one(promise):
    assert promise.basis(LINE, 1e6, 1e-6).degree == 1


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("promise", [Smooth(2, 1.0), Smooth(4, 1.0), Smooth(8, 1.0), Hoelder(0.5, 1.0)])
def test_an_automatic_basis_can_always_be_used(promise, dimension):
    box = Box([(0, 1)] * dimension)
    for sensitivity in (1e-9, 1e-12, 1e-30, 1e-300):
        assert promise.basis(box, sensitivity, 1.0).size(box) >= 2**dimension


@pytest.mark.parametrize("name", ["sensitivity", "epsilon"])
@pytest.mark.parametrize("value", [0, -1, math.inf, math.nan])
def test_degrees_need_positive_numbers(name, value):
    arguments = {"sensitivity": 1.0, "epsilon": 1.0} | {name: value}
    with pytest.raises(ParameterError, match=name):
        Smooth(2, 1.0).basis(LINE, **arguments)


# --- declarations -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("derivatives", [1, 3, 0, -2])
def test_derivatives_must_be_even_and_positive(derivatives):
    with pytest.raises(ParameterError, match=f"derivatives={derivatives}"):
        Smooth(derivatives, 1.0)


@pytest.mark.parametrize("derivatives", [2.0, "2", None])
def test_derivatives_must_be_whole(derivatives):
    with pytest.raises(ParameterTypeError, match="derivatives"):
        Smooth(derivatives, 1.0)


@pytest.mark.parametrize("bound", [0, -1, math.inf, math.nan])
def test_bounds_must_be_positive_and_finite(bound):
    with pytest.raises(ParameterError, match="bound"):
        Smooth(2, bound)
    with pytest.raises(ParameterError, match="constant"):
        Hoelder(0.5, bound)


@pytest.mark.parametrize("exponent", [0, -0.5, 1.0001, math.nan])
def test_exponents_must_lie_in_the_unit_interval(exponent):
    with pytest.raises(ParameterError, match="exponent"):
        Hoelder(exponent, 1.0)


@pytest.mark.parametrize("promise", [Smooth(4, 2.5), Hoelder(0.5, 3.0), Linear(), None])
def test_plain_data_and_back(promise):
    assert smoothness_from_json(None if promise is None else promise.to_json()) == promise


@pytest.mark.parametrize("promise", [Smooth(np.int64(4), np.float32(2.5)), Hoelder(np.float32(0.5), np.int64(3))])
def test_plain_data_is_plain_whatever_numbers_were_given(promise):
    assert all(type(value) in (str, int, float) for value in promise.to_json().values())


def test_an_unknown_promise_is_refused():
    with pytest.raises(ParameterError, match="magic"):
        smoothness_from_json({"name": "magic"})
