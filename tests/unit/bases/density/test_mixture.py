"""Mixtures of kernels on nodes: values, derivatives and integrals against sums written out."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

import sfumato as sf
from sfumato.bases.density import mixture
from sfumato.bases.density.kernel import GaussianKernel
from sfumato.bases.density.mixture import Mixture, node_positions
from sfumato.bases.unit import from_unit
from sfumato.errors import OutsideBoxError, ParameterError

LINE = sf.Box({"t": (-2, 8)})
DAY = sf.Box({"hour": sf.Periodic(0, 24)})
PLANE = sf.Box({"x": (0, 10), "y": (0, 5)})
MATRIX = [[1.0, 0.3], [0.3, 0.5]]


def make(box, bandwidth, shape, seed=1):
    measure = np.random.default_rng(seed).dirichlet(np.ones(int(np.prod(shape)))).reshape(shape)
    return Mixture(box, GaussianKernel.of(bandwidth, box), measure)


def test_values_are_sums_of_normal_densities():
    function = make(LINE, 0.8, (9,))
    points, nodes = np.linspace(-2, 8, 23), np.linspace(-2, 8, 9)
    expected = norm.pdf(points[:, None] - nodes, scale=0.8) @ function.measure
    assert function(points) == pytest.approx(expected, rel=1e-12)


def test_values_on_a_circle_go_round():
    function = make(DAY, 2.0, (8,))
    points, nodes = np.linspace(0, 24, 23), np.arange(8) * 3.0
    apart = points[:, None] - nodes
    expected = sum(norm.pdf(apart + 24 * k, scale=2.0) for k in range(-4, 5)) @ function.measure
    assert function(points) == pytest.approx(expected, rel=1e-10)
    assert function([0.0]) == pytest.approx(function([24.0]), rel=1e-12)


@pytest.mark.parametrize("bandwidth", [[1.0, 0.6], MATRIX])
def test_values_of_two_columns(bandwidth):
    function = make(PLANE, bandwidth, (5, 4))
    points = from_unit(PLANE, np.random.default_rng(2).uniform(size=(13, 2)))
    nodes = np.stack(np.meshgrid(np.linspace(0, 10, 5), np.linspace(0, 5, 4), indexing="ij"), axis=-1).reshape(-1, 2)
    covariance = MATRIX if bandwidth is MATRIX else np.diag([1.0, 0.36])
    expected = [multivariate_normal.pdf(nodes - p, cov=covariance) @ function.measure.ravel() for p in points]
    assert function(points) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("bandwidth", [[1.0, 0.6], MATRIX])
def test_blocks_change_nothing(bandwidth, monkeypatch):
    function = make(PLANE, bandwidth, (5, 4))
    points = from_unit(PLANE, np.random.default_rng(2).uniform(size=(13, 2)))
    whole = function(points)
    monkeypatch.setattr(mixture, "_BLOCK", 1)
    assert function(points) == pytest.approx(whole, rel=1e-13)


def test_three_columns_are_a_product_where_the_measure_is():
    box = sf.Box([(0, 4), sf.Periodic(0, 6), (0, 5)])
    parts = [np.random.default_rng(i).dirichlet(np.ones(n)) for i, n in enumerate((4, 5, 6))]
    function = Mixture(box, GaussianKernel.of([0.7, 0.9, 0.8], box), np.einsum("a,b,c->abc", *parts))
    lines = [
        Mixture(sf.Box([column]), GaussianKernel.of(b, sf.Box([column])), part)
        for column, b, part in zip(box.columns, (0.7, 0.9, 0.8), parts, strict=True)
    ]
    points = from_unit(box, np.random.default_rng(7).uniform(size=(11, 3)))
    expected = np.prod([line(points[:, i]) for i, line in enumerate(lines)], axis=0)
    assert function(points) == pytest.approx(expected, rel=1e-11)
    assert function.integrate() == pytest.approx(np.prod([line.integrate() for line in lines]))


def test_derivatives_are_finite_differences():
    function, step = make(PLANE, [1.0, 0.6], (5, 4)), 1e-5
    points = from_unit(PLANE, np.random.default_rng(2).uniform(0.1, 0.9, size=(9, 2)))
    for axis, name in enumerate(PLANE.names):
        move = step * (np.arange(2) == axis)
        expected = (function(points + move) - function(points - move)) / (2 * step)
        assert function.derivative(name)(points) == pytest.approx(expected, abs=1e-8)
        mixed = function.derivative(name).derivative("y")
        slope = function.derivative("y")
        expected = (slope(points + move) - slope(points - move)) / (2 * step)
        assert mixed(points) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("bandwidth", [[1.0, 0.6], MATRIX])
def test_integrals_are_those_of_a_fine_grid(bandwidth):
    function = make(PLANE, bandwidth, (5, 4))
    for over in (None, {"x": (2.5, 7.0)}, {"x": (1, 2), "y": (0, 4)}):
        low = np.array([(over or {}).get(name, (0, 0))[0] for name in PLANE.names])
        high = np.array([(over or {}).get(name, (0, top))[1] for name, top in (("x", 10), ("y", 5))])
        steps = (np.arange(400) + 0.5) / 400
        grid = np.stack(np.meshgrid(*(a + steps * (b - a) for a, b in zip(low, high, strict=True))), axis=-1)
        expected = function(grid.reshape(-1, 2)).mean() * np.prod(high - low)
        assert function.integrate(over) == pytest.approx(expected, rel=1e-5)


def test_round_a_circle_nothing_is_lost():
    assert make(DAY, 3.0, (8,)).integrate() == pytest.approx(1.0, abs=1e-12)


def test_derivatives_have_limits():
    with pytest.raises(ParameterError, match="not its derivative"):
        make(LINE, 0.8, (9,)).derivative().integrate()
    with pytest.raises(ParameterError, match="bandwidth matrix"):
        make(PLANE, MATRIX, (5, 4)).derivative("x")
    with pytest.raises(ParameterError, match="column"):
        make(PLANE, [1.0, 0.6], (5, 4)).derivative()


def test_a_measure_does_not_change():
    measure = np.full(9, 1 / 9)
    function = Mixture(LINE, GaussianKernel.of(0.8, LINE), measure)
    before = function([1.0])
    measure[:] = 0
    assert function([1.0]).tolist() == before.tolist()
    with pytest.raises(ValueError, match="read-only"):
        function.measure[0] = 1
    with pytest.raises(ValueError, match="WRITEABLE"):
        function.measure.setflags(write=True)


def test_a_measure_of_the_wrong_shape_is_refused():
    for shape in ((9, 2), (1,), ()):
        with pytest.raises(ParameterError, match="shape"):
            Mixture(LINE, GaussianKernel.of(0.8, LINE), np.ones(shape))


def test_points_outside_and_no_points():
    function = make(LINE, 0.8, (9,))
    with pytest.raises(OutsideBoxError):
        function([9.0])
    assert function([9.0], "clip") == pytest.approx(function([8.0]))
    assert function([]).shape == (0,)


# --- nodes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("box", "bandwidth"),
    [(LINE, 0.8), (LINE, 10.0), (LINE, 0.007), (DAY, 2.0), (PLANE, [1.0, 0.2]), (sf.Box([(0, 1)] * 3), 0.1)],
)
def test_nodes_lie_closer_than_the_kernel_is_wide(box, bandwidth):
    kernel = GaussianKernel.of(bandwidth, box)
    for axis, (nodes, column) in enumerate(zip(node_positions(box, kernel), box.intervals(), strict=True)):
        assert nodes[0] == 0.0
        periodic = isinstance(column, sf.Periodic)
        assert nodes[-1] == pytest.approx(1 - 1 / len(nodes) if periodic else 1.0)
        assert np.diff(nodes).max() * (column.high - column.low) <= kernel.resolution[axis] / 2.4


def test_a_kernel_too_narrow_says_what_is_wide_enough():
    box = sf.Box({"x": (0, 10), "y": (0, 10)})
    with pytest.raises(ParameterError, match=r"bandwidth 0.04 of column 'x'.*at least 0.0488.*enlarge") as error:
        node_positions(box, GaussianKernel.of([0.04, 1.0], box))
    assert "publish fewer columns" in str(error.value)
    node_positions(box, GaussianKernel.of([0.0489, 1.0], box))
