"""A function written in a basis: evaluate, differentiate, integrate."""

import math

import numpy as np
import pytest
from scipy.interpolate import BPoly

from sfumato.bases.lattice.bernstein import Bernstein, Step
from sfumato.bases.lattice.expansion import Expansion
from sfumato.bases.unit import from_unit
from sfumato.core.box import Box
from sfumato.errors import OutsideBoxError, ParameterError

LINE = Box({"t": (2.0, 6.0)})
PLANE = Box({"x": (0, 2), "y": (-1, 1)})
GENERATOR = np.random.default_rng(8)


def line(order=1, degree=7):
    return Expansion(Bernstein(degree, order), LINE, GENERATOR.normal(size=degree + 1))


# --- evaluation -------------------------------------------------------------------------------------------------


def test_plain_bernstein_agrees_with_scipy():
    function = line()
    points = np.linspace(2, 6, 50)
    reference = BPoly(function.coefficients[:, None], [2.0, 6.0])
    assert function(points) == pytest.approx(reference(points), abs=1e-13)


@pytest.mark.parametrize("points", [3.0, [3.0], [[3.0]], np.array([3]), (3,)])
def test_one_column_takes_flat_points(points):
    assert line()(points).shape == (1,)


def test_values_are_one_double_per_point():
    found = Expansion(Bernstein(3), PLANE, np.zeros(16))([[0, 0], [1, 1], [2, -1]])
    assert found.shape == (3,)
    assert found.dtype == np.float64


def test_no_points_give_no_values():
    assert line()([]).shape == (0,)


def test_points_outside_are_refused_or_clipped():
    function = line()
    with pytest.raises(OutsideBoxError):
        function([1.9])
    assert function([1.9, 7.0], outside="clip").tolist() == function([2.0, 6.0]).tolist()


@pytest.mark.parametrize("basis", [Bernstein(4), Bernstein((3, 5), 3), Step((2, 3))])
def test_weights_say_how_values_depend_on_coefficients(basis):
    coefficients = GENERATOR.normal(size=basis.size(PLANE))
    function = Expansion(basis, PLANE, coefficients)
    points = from_unit(PLANE, GENERATOR.uniform(size=(9, 2)))
    first, second = function.weights(points)
    tensor = coefficients.reshape(basis.shape(PLANE))
    assert np.einsum("mi,mj,ij->m", first, second, tensor) == pytest.approx(function(points), abs=1e-12)


def test_weights_of_a_derivative_count_user_units():
    function = line(order=2).derivative()
    points = [2.5, 5.0]
    assert function.weights(points)[0] @ function.coefficients == pytest.approx(function(points), abs=1e-12)


# --- derivatives ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1, 2, 4])
def test_derivative_in_user_units(order):
    function = line(order)
    points, step = np.linspace(2.1, 5.9, 20), 1e-5
    numeric = (function(points + step) - function(points - step)) / (2 * step)
    assert function.derivative()(points) == pytest.approx(numeric, abs=1e-6)


def test_derivative_of_a_cubic_is_exact():
    """Order 200 iterates are not needed: x^2 is exact up to the known factor 1 - 1/k."""
    function = Bernstein(10).approximate(lambda p: ((p[:, 0] - 2) / 4) ** 2, LINE)
    points = np.linspace(2, 6, 9)
    unit = (points - 2) / 4
    expected = (2 * unit * (1 - 1 / 10) + 1 / 10) / 4
    assert function.derivative()(points) == pytest.approx(expected, abs=1e-13)


def test_second_and_mixed_derivatives():
    function = Bernstein(6, 2).approximate(lambda p: np.sin(p[:, 0]) * np.exp(p[:, 1]), PLANE)
    points, step = np.array([[0.5, 0.2], [1.5, -0.7]]), 1e-4
    mixed = function.derivative("x").derivative("y")
    right, left = (function.derivative("x")(points + np.array([0, s])) for s in (step, -step))
    assert mixed(points) == pytest.approx((right - left) / (2 * step), abs=1e-6)
    assert mixed(points) == pytest.approx(function.derivative("y").derivative("x")(points), abs=1e-12)
    assert mixed.derivatives == (1, 1)


def test_derivatives_beyond_the_degree_vanish():
    function = Expansion(Bernstein(1), LINE, np.array([0.0, 4.0]))
    for expected in (1.0, 0.0, 0.0, 0.0):
        function = function.derivative()
        assert function([2.0, 3.0, 6.0]).tolist() == [expected] * 3


@pytest.mark.parametrize("column", ["y", 1])
def test_columns_go_by_name_or_position(column):
    function = Expansion(Bernstein(3), PLANE, GENERATOR.normal(size=16))
    assert function.derivative(column).derivatives == (0, 1)


@pytest.mark.parametrize("column", ["z", 2, -1, 1.5, None])
def test_an_unknown_column_is_refused(column):
    with pytest.raises(ParameterError, match="column"):
        Expansion(Bernstein(3), PLANE, np.zeros(16)).derivative(column)


def test_a_step_function_has_no_derivative():
    with pytest.raises(ParameterError, match="no derivative"):
        Expansion(Step(3), LINE, np.zeros(4)).derivative()


# --- integrals --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1, 3])
@pytest.mark.parametrize("part", [None, {"t": (2, 6)}, {"t": (2.5, 3)}, [(4, 4)], [(2, 5.5)], {}])
def test_integral_in_user_units(order, part):
    function = line(order)
    low, high = (2.0, 6.0) if part in (None, {}) else (part["t"] if isinstance(part, dict) else part[0])
    nodes, weights = np.polynomial.legendre.leggauss(20)
    points = low + (nodes + 1) / 2 * (high - low)
    numeric = weights @ function(points) * (high - low) / 2
    assert function.integrate(part) == pytest.approx(numeric, abs=1e-12)


def test_integral_over_part_of_a_plane():
    function = Bernstein(5, 2).approximate(lambda p: p[:, 0] * p[:, 1] + 1, PLANE)
    assert function.integrate() == pytest.approx(4.0)
    assert function.integrate({"y": (0, 1)}) == pytest.approx(1.0 + 2.0)
    assert function.integrate([(0, 1), (0, 1)]) == pytest.approx(0.25 + 1.0)


def test_integral_of_steps():
    function = Expansion(Step(2), Box([(0, 4)]), np.array([1.0, 10.0, 100.0]))
    assert function.integrate() == pytest.approx(1 + 20 + 100)
    assert function.integrate([(0.5, 2)]) == pytest.approx(0.5 + 10)


def test_integrals_add_up():
    function = line(2)
    assert function.integrate([(2, 3)]) + function.integrate([(3, 6)]) == pytest.approx(function.integrate(), abs=1e-13)


@pytest.mark.parametrize(
    "part", [{"t": (1, 3)}, {"t": (3, 7)}, {"t": (5, 3)}, {"t": (math.nan, 3)}, {"t": (3, math.inf)}]
)
def test_an_integral_outside_the_box_is_refused(part):
    with pytest.raises(OutsideBoxError, match="over"):
        line().integrate(part)


@pytest.mark.parametrize("part", [{"z": (0, 1)}, [(2, 3), (2, 3)], []])
def test_an_integral_over_unknown_columns_is_refused(part):
    with pytest.raises(ParameterError):
        line().integrate(part)


def test_derivatives_are_not_integrated():
    with pytest.raises(ParameterError, match="derivative"):
        line().derivative().integrate()


# --- making one -------------------------------------------------------------------------------------------------


def test_coefficients_are_copied_and_frozen():
    values = np.zeros(8)
    function = Expansion(Bernstein(7), LINE, values)
    values[0] = 99.0
    assert function.coefficients[0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        function.coefficients[0] = 1.0


@pytest.mark.parametrize("count", [0, 7, 9])
def test_the_number_of_coefficients_must_fit(count):
    with pytest.raises(ParameterError, match="8"):
        Expansion(Bernstein(7), LINE, np.zeros(count))


def test_an_expansion_is_immutable():
    with pytest.raises(AttributeError):
        line().basis = Bernstein(3)
