"""Cosine coefficients of public functions: full and sparse grids, what they get right, and damping."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import iv

import sfumato as sf
from sfumato.bases.moments.quadrature import (
    balanced,
    category_nodes,
    category_values,
    coefficients_at,
    fine_axis,
    grid_for,
    jackson_factors,
    nested_axis,
    query_values,
    sparse_coefficients,
    to_user,
)
from sfumato.errors import ParameterError

PLANE = sf.Box({"age": (0, 110), "bmi": (10, 60)})
SQUARE = sf.Box([(-1, 1)] * 2)
MIXED = sf.Box({"x": (-1, 1), "sex": sf.Categorical(["F", "M"]), "grade": sf.Categorical([5, 1, 2.5])})


def cube(dimension):
    return sf.Box([(-1, 1)] * dimension)


# --- points and categories --------------------------------------------------------------------------------------


@pytest.mark.few(3)
@pytest.mark.parametrize("count", [1, 2, 3, 8, 65, 256])
@pytest.mark.parametrize("axis", [fine_axis, nested_axis])
def test_the_table_undoes_the_transform(axis, count):
    found = axis(count)
    assert found.table.T @ found.transform == pytest.approx(np.eye(count), abs=1e-12)
    assert ((found.nodes >= -1) & (found.nodes <= 1)).all()


@pytest.mark.parametrize("axis", [fine_axis, nested_axis])
def test_chebyshev_polynomials_have_one_coefficient(axis):
    found = axis(9)
    for r in range(9):
        values = np.polynomial.chebyshev.chebval(found.nodes, np.eye(9)[r])
        assert found.transform @ values == pytest.approx(np.eye(9)[r], abs=1e-14)


def test_nested_points_are_nested():
    for level in range(1, 9):
        coarse, fine = nested_axis(2**level + 1).nodes, nested_axis(2 ** (level + 1) + 1).nodes
        assert fine[::2] == pytest.approx(coarse, abs=1e-15)
    assert nested_axis(1).nodes.tolist() == [0.0]
    assert 0.0 in nested_axis(3).nodes


@pytest.mark.parametrize("count", [2, 3, 4, 7, 50])
def test_categories_lie_at_evenly_spaced_angles(count):
    nodes = category_nodes(count)
    assert nodes == pytest.approx(np.cos(math.pi * np.arange(count) / (count - 1)), abs=1e-15)
    assert (nodes[0], nodes[-1]) == (1.0, -1.0)
    assert count % 2 == 0 or nodes[count // 2] == 0.0


def test_queries_see_numbers_or_positions_of_categories():
    assert category_values(sf.Categorical(["F", "M"])).tolist() == [0.0, 1.0]
    assert category_values(sf.Categorical([5, 1, 2.5])).tolist() == [5.0, 1.0, 2.5]
    scaled = np.array([[-1.0, 1.0, 1.0], [0.0, -1.0, 0.0], [1.0, 1.0, -1.0]])
    assert to_user(MIXED, (0, 1, 2), scaled).tolist() == [[-1.0, 0.0, 5.0], [0.0, 1.0, 1.0], [1.0, 0.0, 2.5]]


def test_points_are_in_the_users_units_and_in_the_box():
    found = to_user(PLANE, (1, 0), np.array([[-1.0, 1.0], [0.0, -1.0], [1.0, 0.0]]))
    assert found.tolist() == [[10.0, 110.0], [35.0, 0.0], [60.0, 55.0]]


# --- full grids -------------------------------------------------------------------------------------------------


def test_a_grid_sees_beyond_the_frequencies_of_a_summary():
    for shape, columns in (((8, 8), (0, 1)), ((8, 8), (1,)), ((100, 3), (0, 1)), ((30, 30), (1, 0))):
        grid = grid_for(PLANE, columns, shape)
        assert all(points >= 2 * shape[j] for points, j in zip(grid.shape, columns, strict=True))
        assert grid.points().shape == (math.prod(grid.shape), len(columns))
    assert grid_for(MIXED, (0, 1, 2), (8, 2, 3)).shape[1:] == (2, 3)


def test_a_grid_that_does_not_fit_says_what_helps():
    box = sf.Box([(0, 1)] * 4)
    with pytest.raises(ParameterError, match=r"a full grid on columns \['x0', 'x1', 'x2', 'x3'\].*fewer columns"):
        grid_for(box, range(4), (40,) * 4)


def test_coefficients_of_an_exponential_are_bessel_functions():
    grid = grid_for(SQUARE, (0, 1), (8, 8))
    found = grid.coefficients(query_values(lambda p: np.exp(0.7 * p[:, 0] - 1.3 * p[:, 1]), grid.points()))
    r = np.arange(30)
    first, second = (np.where(r, 2, 1) * iv(r, slope) for slope in (0.7, -1.3))
    assert found[:30, :30] == pytest.approx(np.outer(first, second), abs=1e-14)
    assert grid.evaluate(found).ravel() == pytest.approx(np.exp(grid.points() @ [0.7, -1.3]), abs=1e-12)


def test_every_function_of_categories_is_a_sum_of_cosines():
    grid = grid_for(MIXED, (2, 1), (4, 2, 3))
    values = np.random.default_rng(3).normal(size=6)
    assert grid.evaluate(grid.coefficients(values)).ravel() == pytest.approx(values, abs=1e-14)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        (lambda p: p, r"must return shape \(\d+,\), got shape \(\d+, 2\)"),
        (lambda p: p[:-1, 0], "must return shape"),
        (lambda p: p[:, 0] * 1j, "must return real numbers"),
        (lambda p: np.where(p[:, 0] > 50, np.nan, 1.0), "finite numbers everywhere in the box, got none at"),
        (lambda p: np.where(p[:, 1] < 11, np.inf, 1.0), "finite numbers everywhere in the box, got none at"),
    ],
)
def test_what_is_not_one_number_for_each_point_is_refused(query, words):
    with pytest.raises(ParameterError, match=words):
        query_values(query, grid_for(PLANE, (0, 1), (8, 8)).points())


def test_a_query_may_return_a_constant_or_a_column():
    points = grid_for(PLANE, (0, 1), (8, 8)).points()
    assert (query_values(lambda p: 3, points) == 3).all()
    assert np.array_equal(query_values(lambda p: p[:, [0]], points), points[:, 0])


# --- sparse grids -----------------------------------------------------------------------------------------------


def integral(found):
    """The mean over even angles: the coefficient of frequency zero."""
    return float(found.values[(found.frequencies == 0).all(axis=1)][0])


def product_of(slopes, transform=np.exp):
    return lambda p: transform(p @ slopes)


@pytest.mark.few(1)
@pytest.mark.parametrize(("dimension", "level"), [(5, None), (5, 7), pytest.param(6, 8, marks=pytest.mark.slow)])
def test_integrals_of_smooth_functions(dimension, level):
    slopes = np.linspace(0.1, 0.6, dimension)
    exponential = sparse_coefficients(product_of(slopes), cube(dimension), range(dimension), level)
    assert integral(exponential) == pytest.approx(math.prod(iv(0, slopes)), abs=1e-10)
    wave = sparse_coefficients(product_of(slopes, np.cos), cube(dimension), range(dimension), level)
    assert integral(wave) == pytest.approx(math.prod(iv(0, 1j * s).real for s in slopes), abs=1e-10)
    bump = sparse_coefficients(lambda p: np.exp(-((p / 5) ** 2).sum(axis=1)), cube(dimension), range(dimension), level)
    one = math.exp(-0.02) * iv(0, 0.02)
    assert integral(bump) == pytest.approx(one**dimension, abs=1e-10)


def test_more_levels_come_nearer():
    slopes = np.linspace(0.3, 1.2, 5)
    exact = math.prod(iv(0, slopes))
    errors = [
        abs(integral(sparse_coefficients(product_of(slopes), cube(5), range(5), k)) - exact) for k in range(0, 8, 2)
    ]
    assert all(later < sooner / 30 for sooner, later in itertools.pairwise(errors))
    assert errors[-1] < 1e-7


@pytest.mark.parametrize("dimension", [5, 6])
def test_polynomials_are_exact_once_their_levels_are_there(dimension):
    """A column of power 1 or 2 needs level 1, of power 3 or 4 level 2; the sum of the levels is what counts."""
    for powers in ((2, 1), (1, 1, 1), (4, 1), (2, 2, 2), (3, 0, 2)):
        needed = sum(0 if k == 0 else 1 if k <= 2 else 2 for k in powers)
        padded = np.array(powers + (0,) * (dimension - len(powers)))
        found = sparse_coefficients(lambda p, k=padded: (p**k).prod(axis=1), cube(dimension), range(dimension), needed)
        points = np.random.default_rng(2).uniform(-1, 1, size=(20, dimension))
        waves = np.cos(np.arccos(points)[:, None, :] * found.frequencies[None]).prod(axis=2)
        assert waves @ found.values == pytest.approx((points**padded).prod(axis=1), abs=1e-13)


def test_a_sparse_grid_agrees_with_a_full_one():
    def query(p):
        return np.exp(0.4 * p[:, 0] - 0.3 * p[:, 1] + 0.2 * p[:, 0] * p[:, 1])

    full, sparse = grid_for(SQUARE, (0, 1), (6, 6)), sparse_coefficients(query, SQUARE, (0, 1), 8)
    wanted = np.indices((6, 6)).reshape(2, -1).T
    values, beyond = coefficients_at(sparse, wanted)
    exact = full.coefficients(query_values(query, full.points()))
    assert values == pytest.approx(exact[:6, :6].ravel(), abs=1e-12)
    assert beyond == pytest.approx(np.abs(exact).sum() - np.abs(exact[:6, :6]).sum(), abs=1e-9)
    assert sparse.change < 1e-9


def test_categories_of_a_sparse_grid_are_exact():
    box = sf.Box({**dict.fromkeys("abcd", (-1, 1)), "sex": sf.Categorical(["F", "M"]), "g": sf.Categorical([5, 1, 2])})
    found = sparse_coefficients(lambda p: (p[:, 4] == 1) * (p[:, 5] == 5) * p[:, 0], box, range(6), 3)
    angles = np.array([[0.3, 1.0, 2.0, 0.5, s, g] for s in (0, math.pi) for g in (0, math.pi / 2, math.pi)])
    values = np.cos(angles[:, None, :] * found.frequencies[None]).prod(axis=2) @ found.values
    assert values == pytest.approx([0, 0, 0, math.cos(0.3), 0, 0], abs=1e-13)


def test_columns_of_a_sparse_grid_may_have_any_order():
    box = sf.Box([(0, 10), (-1, 1), (5, 6), (0, 2), (-3, 3)])
    forth = sparse_coefficients(lambda p: p[:, 0] * p[:, 2], box, (0, 1, 2, 3, 4), 2)
    back = sparse_coefficients(lambda p: p[:, 4] * p[:, 2], box, (4, 3, 2, 1, 0), 2)
    assert integral(forth) == pytest.approx(5 * 5.5)
    assert integral(back) == pytest.approx(5 * 5.5)
    few = np.indices((2,) * 5).reshape(5, -1).T
    assert coefficients_at(forth, few)[0] == pytest.approx(coefficients_at(back, few[:, ::-1])[0], abs=1e-12)


def test_frequencies_that_a_sparse_grid_lacks_have_no_coefficient():
    found = sparse_coefficients(lambda p: p[:, 0], cube(5), range(5), 1)
    values, beyond = coefficients_at(found, np.array([[1, 0, 0, 0, 0], [9, 9, 9, 9, 9]]))
    assert values == pytest.approx([1.0, 0.0], abs=1e-14)
    assert beyond == pytest.approx(0.0, abs=1e-14)


@pytest.mark.parametrize("bad", [lambda p: p[:, 0] * np.nan, lambda p: p, lambda p: 1j * p[:, 0]])
def test_a_sparse_grid_refuses_bad_queries_too(bad):
    with pytest.raises(ParameterError):
        sparse_coefficients(bad, cube(5), range(5))


# --- damping ----------------------------------------------------------------------------------------------------


def multiplier(degree, smoothness, frequency):
    """The paper's operator I_{t-1,K} on cos(n x), by numerical integration of its kernel (Definitions 7 and 8)."""
    power = math.ceil((smoothness + 3) / 2)
    points = (degree - 1) // power + 1

    def kernel(s):
        return (math.sin(points * s / 2) / math.sin(s / 2)) ** (2 * power) if s else points ** (2.0 * power)

    whole = quad(kernel, 0, math.pi, limit=500, epsabs=0, epsrel=1e-12)[0]
    total = 0.0
    for k in range(1, smoothness + 2):
        wave = quad(lambda s, k=k: kernel(s) * math.cos(frequency * k * s), 0, math.pi, limit=500, epsrel=1e-10)[0]
        total -= (-1) ** k * math.comb(smoothness + 1, k) * wave / whole
    return total


@pytest.mark.parametrize(("degree", "smoothness"), [(1, 2), (4, 2), (9, 2), (16, 6), (13, 4), (25, 1)])
def test_damping_is_that_of_the_paper(degree, smoothness):
    found = jackson_factors(degree, smoothness)
    assert found.shape == (degree,)
    assert found[0] == pytest.approx(1.0, abs=1e-12)  # constants are kept
    expected = [multiplier(degree, smoothness, n) for n in range(degree)]
    assert found == pytest.approx(np.array(expected), abs=1e-7)


@pytest.mark.few(1)
@pytest.mark.parametrize("noise", [0.0, 1e-4, 0.01, 1.0, 100.0])
@pytest.mark.parametrize("sharpness", [1.0, 8.0])
def test_balanced_coefficients_are_never_worse_than_plain_ones(noise, sharpness):
    grid = grid_for(SQUARE, (0, 1), (5, 5))
    values = query_values(lambda p: np.exp(-sharpness * (p**2).sum(axis=1)), grid.points())
    kept = np.zeros(grid.shape, dtype=bool)
    kept[:5, :5] = True

    def cost(c):
        return np.abs(values.reshape(grid.shape) - grid.evaluate(c)).max() + noise * math.sqrt(
            (c**2).sum() - c[0, 0] ** 2
        )

    plain = np.where(kept, grid.coefficients(values), 0.0)
    found = balanced(values, grid, kept, noise)
    assert (found[~kept] == 0).all()
    assert cost(found) <= cost(plain)
    if noise == 100.0:  # then nothing but the constant is worth its noise, and the best one halves the range
        assert cost(found) == pytest.approx(np.ptp(values) / 2, rel=0.01)
