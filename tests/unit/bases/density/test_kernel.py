"""The Gaussian kernel: against scipy's normal density, finite differences and quadrature."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import multivariate_normal, norm

import sfumato as sf
from sfumato.bases.density.kernel import GaussianKernel
from sfumato.errors import ParameterError, ParameterTypeError

LINE = sf.Box({"t": (-2, 8)})
DAY = sf.Box({"hour": sf.Periodic(0, 24)})
PLANE = sf.Box({"age": (0, 110), "bmi": (10, 60)})
MIXED = sf.Box({"hour": sf.Periodic(0, 24), "t": (-2, 8)})
MATRIX = [[4.0, 1.5], [1.5, 2.25]]


def wrapped_normal(distance, deviation, period, rounds=30):
    """The density of a normal variable on a circle, summed far beyond any need."""
    return sum(norm.pdf(distance + k * period, scale=deviation) for k in range(-rounds, rounds + 1))


# --- values -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("deviation", [0.01, 0.7, 10.0])
def test_one_column_is_the_normal_density_in_user_units(deviation):
    kernel = GaussianKernel.of(deviation, LINE)
    points, nodes = np.linspace(0, 1, 31), np.array([0.0, 0.33, 1.0])
    expected = norm.pdf((points[:, None] - nodes) * 10, scale=deviation)
    assert kernel.axis_values(LINE.intervals()[0], 0, points, nodes) == pytest.approx(expected, rel=1e-12, abs=1e-300)
    assert kernel.values(LINE, points[:, None], nodes[:, None]) == pytest.approx(expected, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("deviation", [0.1, 3.0, 24.0])
def test_a_periodic_column_is_the_wrapped_normal_density(deviation):
    kernel = GaussianKernel.of(deviation, DAY)
    points, nodes = np.linspace(0, 1, 25), np.array([0.0, 0.4, 0.99])
    expected = wrapped_normal((points[:, None] - nodes) * 24, deviation, 24)
    assert kernel.axis_values(DAY.intervals()[0], 0, points, nodes) == pytest.approx(expected, rel=1e-10, abs=1e-16)
    assert kernel.values(DAY, points[:, None], nodes[:, None]) == pytest.approx(expected, rel=1e-10, abs=1e-16)


def test_a_circle_has_no_ends():
    kernel = GaussianKernel.of(2.0, DAY)
    ends = kernel.axis_values(DAY.intervals()[0], 0, np.array([0.0, 1.0]), np.array([0.0, 0.1, 0.9, 1.0]))
    assert ends[0] == pytest.approx(ends[1], rel=1e-12)
    assert ends[:, 0] == pytest.approx(ends[:, 3], rel=1e-12)
    assert ends[0, 1] == pytest.approx(ends[0, 2], rel=1e-12)


def test_a_matrix_is_the_multivariate_normal_density():
    kernel = GaussianKernel.of(MATRIX, PLANE)
    unit, nodes = np.random.default_rng(1).uniform(0.4, 0.5, size=(2, 9, 2))
    widths = np.array([110, 50])
    expected = np.array([[multivariate_normal.pdf((u - v) * widths, cov=MATRIX) for v in nodes] for u in unit])
    assert kernel.values(PLANE, unit, nodes) == pytest.approx(expected, rel=1e-10)


def test_a_wrapped_matrix_sums_over_the_rounds():
    covariance = [[9.0, 2.0], [2.0, 1.0]]
    kernel = GaussianKernel.of(covariance, MIXED)
    unit, nodes = np.random.default_rng(2).uniform(size=(2, 7, 2))
    expected = np.zeros((7, 7))
    for i, u in enumerate(unit):
        for j, v in enumerate(nodes):
            steps = [((u - v) * [24, 10]) + [24 * k, 0] for k in range(-6, 7)]
            expected[i, j] = multivariate_normal.pdf(steps, cov=covariance).sum()
    assert kernel.values(MIXED, unit, nodes) == pytest.approx(expected, rel=1e-9, abs=1e-18)


def test_a_product_equals_its_matrix():
    one, two = GaussianKernel.of([3.0, 2.0], MIXED), GaussianKernel.of([[9.0, 0.0], [0.0, 4.0]], MIXED)
    assert one == two
    assert one.diagonal
    unit = np.random.default_rng(3).uniform(size=(5, 2))
    product = [one.axis_values(c, i, unit[:, i], unit[:, i]) for i, c in enumerate(MIXED.intervals())]
    assert one.values(MIXED, unit, unit) == pytest.approx(product[0] * product[1], rel=1e-10)


# --- derivatives and masses -------------------------------------------------------------------------------------


@pytest.mark.parametrize("box", [LINE, DAY])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_derivatives_are_those_of_finite_differences(box, order):
    kernel, column = GaussianKernel.of(1.5, box), box.intervals()[0]
    points, nodes, step = np.linspace(0.05, 0.95, 19), np.array([0.0, 0.31, 1.0]), 1e-5
    width = column.high - column.low
    ahead, behind = (kernel.axis_values(column, 0, points + s * step, nodes, order - 1) for s in (1, -1))
    found = kernel.axis_values(column, 0, points, nodes, order)
    assert found == pytest.approx((ahead - behind) / (2 * step * width), abs=1e-6 * np.abs(found).max() + 1e-9)


@pytest.mark.parametrize("box", [LINE, DAY])
@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.2, 0.45), (0.6, 0.6)])
def test_masses_are_integrals(box, low, high):
    kernel, column = GaussianKernel.of(1.5, box), box.intervals()[0]
    nodes, width = np.array([0.0, 0.31, 0.97]), column.high - column.low
    for node, mass in zip(nodes, kernel.axis_mass(column, 0, low, high, nodes), strict=True):

        def value(u, node=node):
            return kernel.axis_values(column, 0, np.array([u]), np.array([node]))[0, 0] * width

        assert mass == pytest.approx(quad(value, low, high, limit=200)[0], abs=1e-9)


@pytest.mark.parametrize("deviation", [0.05, 2.0, 24.0])
def test_round_a_circle_the_mass_is_one_whatever_the_place(deviation):
    kernel = GaussianKernel.of(deviation, DAY)
    assert kernel.axis_mass(DAY.intervals()[0], 0, 0.0, 1.0, np.linspace(0, 1, 9)) == pytest.approx(1.0, abs=1e-12)


def test_on_an_interval_the_mass_is_one_in_the_middle_and_half_at_the_ends():
    mass = GaussianKernel.of(0.5, LINE).axis_mass(LINE.intervals()[0], 0, 0.0, 1.0, np.array([0.0, 0.5, 1.0]))
    assert mass == pytest.approx([0.5, 1.0, 0.5], abs=1e-12)


# --- what it says of itself -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("box", "bandwidth"),
    [(LINE, 0.7), (DAY, 2.0), (DAY, 20.0), (PLANE, [5.0, 2.0]), (PLANE, MATRIX), (MIXED, [9.0, 1])],
)
def test_peak_and_slope_bound_everything(box, bandwidth):
    kernel = GaussianKernel.of(bandwidth, box)
    generator = np.random.default_rng(4)
    unit, nodes = generator.uniform(size=(2, 400, box.dimension))
    nodes = np.concatenate([nodes, unit + generator.normal(scale=0.02, size=unit.shape).clip(-unit, 1 - unit)])
    values = kernel.values(box, unit, nodes)
    peak = kernel.values(box, unit[:1], unit[:1])[0, 0]
    assert kernel.peak(box) == pytest.approx(peak, rel=1e-9)
    assert values.max() <= kernel.peak(box) * (1 + 1e-12)
    widths, step = box.high - box.low, 1e-6
    for axis in range(box.dimension):
        moved = unit + step * (np.arange(box.dimension) == axis)
        slope = np.abs(kernel.values(box, moved, nodes) - values).max() / (step * widths[axis])
        assert slope <= kernel.slope(box, (0,) * box.dimension)[axis] * 1.001
        assert (
            kernel.slope(box, (0,) * box.dimension)[axis] <= 4 * slope or not kernel.diagonal
        )  # and not absurdly cautious


def test_resolution_is_the_deviation_given_the_other_columns():
    kernel = GaussianKernel.of(MATRIX, PLANE)
    assert kernel.deviations == pytest.approx((2.0, 1.5))
    assert not kernel.diagonal
    assert kernel.resolution == pytest.approx((math.sqrt(4 - 1.5**2 / 2.25), math.sqrt(2.25 - 1.5**2 / 4)))
    assert GaussianKernel.of([2.0, 1.5], PLANE).resolution == pytest.approx((2.0, 1.5))


# --- refusals ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bandwidth", "words"),
    [
        (0.0, "positive.*0.0"),
        (-1.0, "positive.*-1.0"),
        (math.nan, "finite.*nan"),
        (math.inf, "finite.*inf"),
        (51.0, "column 'bmi' is 50 wide.*51.0"),
        (1e-9, "column 'age'.*choose a larger bandwidth"),
        ([1.0], r"one per column \(2: \['age', 'bmi'\]\).*\[1.0\]"),
        ([1.0, 2.0, 3.0], "one per column"),
        ([], "one per column"),
        ([[4.0, 3.0], [3.0, 2.25]], r"positive definite.*\[\[4.0, 3.0\], \[3.0, 2.25\]\]"),
        ([[4.0, 3.0], [3.0, 2.0]], "positive definite"),
        ([[-4.0, 0.0], [0.0, 2.0]], "positive definite"),
        ([[4.0, 1.0], [0.9, 2.0]], "symmetric"),
        ([[4.0, 0.0]], r"2 x 2.*\(1, 2\)"),
        ([[4.0, math.nan], [math.nan, 2.0]], "finite"),
        ([[4.0, 0.0], [0.0, 2600.0]], "column 'bmi' is 50 wide"),
        ([[[1.0]]], "one per column"),
    ],
)
def test_a_bad_bandwidth_is_refused_and_named(bandwidth, words):
    with pytest.raises(ParameterError, match=words):
        GaussianKernel.of(bandwidth, PLANE)


@pytest.mark.parametrize("bandwidth", ["wide", object(), [1.0, "x"], [[1.0], [1.0, 2.0]]])
def test_what_is_no_number_is_a_type_error(bandwidth):
    with pytest.raises(ParameterTypeError, match="bandwidth"):
        GaussianKernel.of(bandwidth, PLANE)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_units_beyond_the_squares_of_doubles_are_refused(scale):
    with pytest.raises(ParameterError, match="use other units"):
        GaussianKernel.of(scale / 10, sf.Box({"t": (0, scale)}))


@pytest.mark.parametrize("scale", [1e-90, 1e90])
def test_less_extreme_units_are_fine(scale):
    box = sf.Box({"t": (0, scale)})
    kernel = GaussianKernel.of(scale / 10, box)
    assert kernel.peak(box) * scale == pytest.approx(norm.pdf(0) * 10)


def test_a_bandwidth_of_the_whole_column_is_one_wherever_it_comes_back():
    """What is planned for an axis has its deviation from a product of numbers: a rounding more, and it was refused."""
    box = sf.Box({"t": sf.Date("2024-01-01T08:00Z", "2024-01-01T08:00:01Z")})
    whole = box.high[0] - box.low[0]
    assert sf.release(sf.KDE(whole), np.full((1, 1), box.low[0]), box, sf.Privacy(rho=1e-9)).bandwidth
    with pytest.raises(ParameterError, match="must not exceed the box"):
        GaussianKernel.of(whole * (1 + 1e-9), box)
