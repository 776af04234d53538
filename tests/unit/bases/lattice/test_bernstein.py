"""Iterated Bernstein polynomials against exact rational arithmetic, and their constants."""

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from sfumato.bases.lattice.bernstein import Bernstein, Step, basis_from_json, bernstein_derivatives, bernstein_values
from sfumato.bases.unit import from_unit, to_unit
from sfumato.core.box import Box, Categorical
from sfumato.errors import OutsideBoxError, ParameterError, ParameterTypeError

UNIT = Box([(0, 1)])
POINTS = [0.0, 2.0**-40, 0.001, 0.1, 0.25, 1 / 3, 0.5, 0.7071, 0.999, 1.0]


def exact_values(degree, point):
    """All b_{v,degree}(point), exactly."""
    x = Fraction(point)
    return [math.comb(degree, v) * x**v * (1 - x) ** (degree - v) for v in range(degree + 1)]


@cache
def exact_transforms(degree, highest):
    """``sum_{j<h} (I - M)^j f`` for h = 1, 2, ..., ``highest`` at the lattice values f = ``wave``, exactly."""
    unit = degree**degree
    matrix = [
        [math.comb(degree, v) * u**v * (degree - u) ** (degree - v) for v in range(degree + 1)]
        for u in range(degree + 1)
    ]
    numbers, shared = [int(256 * value) for value in wave(degree)], 256
    totals = [[Fraction(n, shared) for n in numbers]]
    for _ in range(highest - 1):
        numbers = [unit * n - sum(map(int.__mul__, row, numbers)) for n, row in zip(numbers, matrix, strict=True)]
        shared *= unit
        totals.append([a + Fraction(n, shared) for a, n in zip(totals[-1], numbers, strict=True)])
    return totals


def wave(degree):
    """Doubles that are neither smooth nor small at the lattice points."""
    return [float(math.floor(1000 * math.sin(3 * v))) / 256 for v in range(degree + 1)]


# --- the plain basis ------------------------------------------------------------------------------------------


@pytest.mark.few(1)
@pytest.mark.parametrize("degree", [1, 2, 5, 31, 200, 500])
def test_values_to_the_last_digits(degree):
    points = POINTS if degree < 500 else [0.001, 1 / 3]
    found = bernstein_values(degree, np.array(points))
    for row, point in zip(found, points, strict=True):
        for value, exact in zip(row.tolist(), exact_values(degree, point), strict=True):
            if exact > 1e-150:
                assert abs(Fraction(value) / exact - 1) < 1e-12
            else:
                assert 0 <= value <= 1e-149


@pytest.mark.parametrize("degree", [501, 700, 2000])
def test_values_of_large_degrees(degree):
    points = [0.001, 0.25, 0.5, 0.999]
    found = bernstein_values(degree, np.array(points))
    for row, point in zip(found, points, strict=True):
        likely = range(max(0, int(degree * point) - 3), min(degree, int(degree * point) + 3) + 1)
        x = Fraction(point)
        for v in likely:
            exact = float(math.comb(degree, v) * x**v * (1 - x) ** (degree - v))
            assert row[v] == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("degree", [1, 7, 200, 500, 501, 5000, 100_000])
def test_partition_of_unity(degree):
    points = np.array([0.0, 1e-9, 0.3, 0.5, 1 - 1e-9, 1.0])
    found = bernstein_values(degree, points)
    assert (found >= 0).all()
    assert found.sum(axis=1) == pytest.approx(np.ones(6), abs=1e-8 if degree > 500 else 1e-12)


@pytest.mark.parametrize("degree", [1, 2, 200, 501, 5000])
def test_ends_are_interpolated_exactly(degree):
    found = bernstein_values(degree, np.array([0.0, 1.0]))
    assert found[0].tolist() == [1.0] + [0.0] * degree
    assert found[1].tolist() == [0.0] * degree + [1.0]


def test_no_points():
    assert bernstein_values(5, np.zeros(0)).shape == (0, 6)


# --- derivatives ----------------------------------------------------------------------------------------------


def exact_derivative(degree, order, point):
    """The derivative of each basis polynomial by the finite formula: k!/(k-d)! sum_i (-1)^(d-i) C(d,i) b_{v-i,k-d}."""
    lower = exact_values(degree - order, point) if order <= degree else []
    factor = math.perm(degree, order) if order <= degree else 0
    return [
        factor
        * sum(
            (-1) ** (order - i) * math.comb(order, i) * lower[v - i]
            for i in range(order + 1)
            if 0 <= v - i < len(lower)
        )
        for v in range(degree + 1)
    ]


@pytest.mark.parametrize("degree", [1, 2, 5, 60])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_derivatives_are_the_finite_formula(degree, order):
    found = bernstein_derivatives(degree, np.array(POINTS), order)
    for row, point in zip(found, POINTS, strict=True):
        exact = [float(value) for value in exact_derivative(degree, order, point)]
        assert row.tolist() == pytest.approx(exact, rel=1e-11, abs=1e-11 * degree**order)


@pytest.mark.parametrize(("degree", "order"), [(1, 2), (1, 3), (1, 9), (2, 3), (2, 4), (5, 6), (5, 50)])
def test_derivatives_beyond_the_degree_vanish(degree, order):
    found = bernstein_derivatives(degree, np.array([0.0, 0.3, 1.0]), order)
    assert found.shape == (3, degree + 1)
    assert not found.any()


def test_derivative_of_order_zero_is_the_value():
    points = np.array(POINTS)
    assert np.array_equal(bernstein_derivatives(9, points, 0), bernstein_values(9, points))


def test_derivatives_sum_to_zero():
    for order in (1, 2, 3):
        found = bernstein_derivatives(40, np.array(POINTS), order)
        assert found.sum(axis=1) == pytest.approx(np.zeros(len(POINTS)), abs=1e-8)


# --- integrals ------------------------------------------------------------------------------------------------


def exact_integral(degree, low, high):
    """Each basis polynomial over [low, high], exactly, from its monomials."""
    a, b = Fraction(low), Fraction(high)
    result = []
    for v in range(degree + 1):
        total = Fraction(0)
        for j in range(degree - v + 1):
            sign = (-1) ** j * math.comb(degree, v) * math.comb(degree - v, j)
            total += Fraction(sign, v + j + 1) * (b ** (v + j + 1) - a ** (v + j + 1))
        result.append(float(total))
    return result


@pytest.mark.parametrize("degree", [1, 2, 5, 40])
@pytest.mark.parametrize(("low", "high"), [(0, 1), (0, 0.5), (0.25, 0.75), (0.9, 1), (0.3, 0.3), (0.1, 0.1001)])
def test_integrals_over_parts(degree, low, high):
    found = Bernstein(degree).axis_integral(degree, low, high)
    assert found.tolist() == pytest.approx(exact_integral(degree, low, high), abs=1e-15)


def test_integrals_of_a_large_degree_share_the_interval():
    assert Bernstein(3000).axis_integral(3000, 0.2, 0.7).sum() == pytest.approx(0.5, abs=1e-9)


# --- the iterated operator --------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
def test_degree_200_against_exact_rationals(order):
    degree = 200
    coefficients = exact_transforms(degree, 5)[order - 1]
    function = Bernstein(degree, order).approximate(lambda p: np.array(wave(degree)), UNIT)
    size = max(abs(float(c)) for c in coefficients)
    for point in POINTS:
        exact = sum(map(Fraction.__mul__, exact_values(degree, point), coefficients))
        assert function([point])[0] == pytest.approx(float(exact), rel=1e-11, abs=1e-12 * size)


@pytest.mark.parametrize("degree", [1, 2, 3, 10, 30])
@pytest.mark.parametrize("order", [1, 2, 3, 5, 8])
def test_it_is_the_literal_i_minus_i_minus_b_to_the_h(degree, order):
    """As an operator on functions: apply I - B to the function h times, on the lattice and at the points."""
    points = np.array(POINTS)
    lattice = np.arange(degree + 1) / degree
    on_lattice, at_points = np.array(wave(degree)), np.zeros(len(points))
    start_lattice, start_points = on_lattice.copy(), at_points.copy()
    for _ in range(order):  # at the points f itself is taken as 0: it cancels in I - (I - B)^h
        at_points = at_points - bernstein_values(degree, points) @ on_lattice
        on_lattice = on_lattice - bernstein_values(degree, lattice) @ on_lattice
    literal = start_points - at_points
    function = Bernstein(degree, order).approximate(lambda p: start_lattice, UNIT)
    assert function(points) == pytest.approx(literal, abs=1e-11)


@pytest.mark.parametrize("degree", [1, 2, 7, 50, 200])
@pytest.mark.parametrize("order", [1, 2, 5, 20])
def test_constants_and_lines_are_reproduced(degree, order):
    function = Bernstein(degree, order).approximate(lambda p: 3.0 - 2.0 * p[:, 0], UNIT)
    assert function(POINTS) == pytest.approx(3.0 - 2.0 * np.array(POINTS), abs=1e-12)


def test_lines_are_reproduced_on_any_box():
    box = Box([(-7, 3), (1000, 1001)])
    function = Bernstein((4, 9), 3).approximate(lambda p: p[:, 0] * p[:, 1] - p[:, 1], box)
    points = np.array([[-7, 1000], [0.3, 1000.25], [3, 1001]])
    assert function(points) == pytest.approx(points[:, 0] * points[:, 1] - points[:, 1], rel=1e-12)


def test_iterating_improves_a_smooth_function():
    points = np.linspace(0, 1, 101)
    errors = [
        np.abs(Bernstein(40, h).approximate(lambda p: np.sin(6 * p[:, 0]), UNIT)(points) - np.sin(6 * points)).max()
        for h in (1, 2, 3, 5)
    ]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < errors[0] / 30


def test_degrees_may_differ_by_axis_in_three_dimensions():
    box = Box({"a": (0, 1), "b": (-1, 1), "c": (0, 10)})
    basis = Bernstein((3, 5, 2), 2)
    assert basis.shape(box) == (4, 6, 3)
    assert basis.size(box) == 72
    generator = np.random.default_rng(0)
    coefficients = generator.normal(size=72)
    function = basis.approximate(lambda p: coefficients, box)
    points = from_unit(box, generator.uniform(size=(20, 3)))
    unit = to_unit(box, points)
    tensor = coefficients.reshape(4, 6, 3)
    weights = []
    for axis, degree in enumerate((3, 5, 2)):
        matrix = bernstein_values(degree, np.arange(degree + 1) / degree)
        weights.append(bernstein_values(degree, unit[:, axis]) @ (2 * np.eye(degree + 1) - matrix))
    assert function(points) == pytest.approx(np.einsum("mi,mj,mk,ijk->m", *weights, tensor), abs=1e-12)


def test_the_lattice_lists_the_last_column_fastest():
    box = Box([(0, 1), (10, 20)])
    assert Bernstein((1, 2)).lattice(box).tolist() == [[0, 10], [0, 15], [0, 20], [1, 10], [1, 15], [1, 20]]


def test_evaluation_in_blocks_is_the_same(monkeypatch):
    box = Box([(0, 1), (0, 1)])
    function = Bernstein(6, 2).approximate(lambda p: np.sin(9 * p[:, 0]) + p[:, 1] ** 3, box)
    points = np.random.default_rng(3).uniform(size=(50, 2))
    whole = function(points)
    monkeypatch.setattr("sfumato.bases.base._BLOCK", 50)
    assert function(points) == pytest.approx(whole, abs=1e-14)


# --- constants ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("degree", [20, 50, 100])
@pytest.mark.parametrize(("order", "constant"), [(1, 1.0), (2, 1.16), (3, 1.23), (5, 1.30)])
def test_lebesgue_constants(degree, order, constant):
    assert Bernstein(degree, order).lebesgue_constant(degree) == pytest.approx(constant, abs=0.03)


def test_lebesgue_constant_of_several_degrees_is_that_of_the_largest():
    assert Bernstein((5, 30), 3).lebesgue_constant() == Bernstein(30, 3).lebesgue_constant(30)


@pytest.mark.parametrize("degree", [1, 2, 10, 77])
@pytest.mark.parametrize("order", [2, 4])
def test_lebesgue_constant_is_tight(degree, order):
    basis = Bernstein(degree, order)
    points = np.linspace(0, 1, 20 * degree + 1)
    seen = np.abs(basis.axis_weights(UNIT, 0, points, 0)).sum(axis=1).max()
    assert seen <= basis.lebesgue_constant(degree) <= max(1.0, seen) * 1.005


# --- what is refused --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [Bernstein, Step])
@pytest.mark.parametrize("degree", [0, -1, (3, 0), [2, -2]])
def test_degree_must_be_positive(make, degree):
    with pytest.raises(ParameterError, match="degree") as error:
        make(degree)
    assert "at least 1" in str(error.value)


@pytest.mark.parametrize("make", [Bernstein, Step])
@pytest.mark.parametrize("degree", [1.5, None, True, "20", (2, "3")])
def test_degree_must_be_whole(make, degree):
    with pytest.raises(ParameterTypeError, match="degree"):
        make(degree)


@pytest.mark.parametrize("order", [0, -1, 101])
def test_order_must_be_in_range(order):
    with pytest.raises(ParameterError, match=f"order={order}"):
        Bernstein(5, order)


def test_high_orders_of_high_degrees_are_refused():
    with pytest.raises(ParameterError, match="degree=5000"):
        Bernstein(5000, 2)


def test_degrees_must_fit_the_box():
    with pytest.raises(ParameterError, match=r"degree=\(3, 4\)"):
        Bernstein((3, 4)).shape(UNIT)


def test_a_lattice_too_large_says_its_size_and_what_to_lower():
    with pytest.raises(ParameterError) as error:
        Bernstein(100).shape(Box([(0, 1)] * 6))
    text = str(error.value)
    assert "101 x 101 x 101 x 101 x 101 x 101" in text
    assert "1.06e+12 points" in text
    assert "GiB" in text
    assert "lower degree=100" in text
    assert "columns (6)" in text


@pytest.mark.parametrize("basis", [Bernstein(10**9), Step(10**9), Bernstein(10**5, 1)])
def test_a_lattice_too_large_is_refused_before_any_memory_is_used(basis):
    with pytest.raises(ParameterError, match="lower degree"):
        basis.lattice(Box([(0, 1)] * 3))


def test_categorical_columns_are_refused():
    with pytest.raises(ParameterError, match="sex"):
        Bernstein(3).lattice(Box({"sex": Categorical(["f", "m"])}))


@pytest.mark.parametrize("values", [[1.0, 2.0], np.zeros((4, 2)), np.zeros(5)])
def test_a_function_of_the_wrong_shape_is_refused(values):
    with pytest.raises(ParameterError, match="shape"):
        Bernstein(3).approximate(lambda p: values, UNIT)


def test_a_function_may_return_a_column():
    assert Bernstein(3).approximate(lambda p: p, UNIT)([0.5]) == pytest.approx([0.5])


def test_approximate_refuses_points_outside():
    function = Bernstein(3).approximate(lambda p: p[:, 0], UNIT)
    with pytest.raises(OutsideBoxError):
        function([1.5])
    assert function([1.5, -2.0], outside="clip") == pytest.approx([1.0, 0.0])


# --- the step baseline ------------------------------------------------------------------------------------------


def test_step_takes_the_nearest_lattice_value():
    values = Step(4).axis_values(4, np.array([0.0, 0.12, 0.13, 0.5, 0.87, 0.88, 1.0]))
    assert values.argmax(axis=1).tolist() == [0, 0, 1, 2, 3, 4, 4]
    assert (values.sum(axis=1) == 1).all()


def test_step_has_no_derivative():
    with pytest.raises(ParameterError, match="no derivative"):
        Step(4).axis_values(4, np.array([0.5]), 1)


@pytest.mark.parametrize(
    ("low", "high", "shares"),
    [
        (0, 1, [1 / 8, 1 / 4, 1 / 4, 1 / 4, 1 / 8]),
        (0, 0.125, [1 / 8, 0, 0, 0, 0]),
        (0.5, 0.75, [0, 0, 1 / 8, 1 / 8, 0]),
    ],
)
def test_step_integrals(low, high, shares):
    assert Step(4).axis_integral(4, low, high).tolist() == pytest.approx(shares)


def test_step_of_a_large_degree_needs_no_square_matrix():
    """A million lattice points are within the limit; their square is not."""
    degree = 10**6
    values = Step(degree).axis_values(degree, np.array([0.25]))
    assert values.shape == (1, degree + 1)
    assert values[0, degree // 4] == 1.0


# --- plain data -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("basis", [Bernstein(5), Bernstein((2, 3), 4), Step(7), Step((1, 2))])
def test_plain_data_and_back(basis):
    assert basis_from_json(basis.to_json()) == basis


def test_an_unknown_basis_is_refused():
    with pytest.raises(ParameterError, match=r"os\.system"):
        basis_from_json({"name": "os.system", "degree": 3})
