"""Which measure lies behind noisy masses: against sorting, and against solvers that share no code with the library."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.optimize import minimize

import sfumato as sf
from sfumato.bases.density.measure import _bend, _lowered, nearest_measure, preference, smoothing_matrix, to_simplex

LINE, DAY = sf.Box([(0, 1)]), sf.Box([sf.Periodic(0, 1)])


def sorted_projection(values):
    """The projection onto the simplex by sorting (Held, Wolfe and Crowder)."""
    ordered = np.sort(values.ravel())[::-1]
    above = (np.cumsum(ordered) - 1) / np.arange(1, ordered.size + 1)
    level = above[np.flatnonzero(ordered > above)[-1]]
    return np.maximum(values - level, 0)


@given(arrays.arrays(np.float64, st.integers(1, 30), elements=st.floats(-1e3, 1e3)))
def test_projecting_agrees_with_sorting(values):
    found = to_simplex(values)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1.0, abs=1e-9)
    assert found == pytest.approx(sorted_projection(values), abs=1e-9)


@given(arrays.arrays(np.float64, st.tuples(st.integers(1, 5), st.integers(1, 5)), elements=st.floats(-2, 2)))
def test_projecting_a_table_is_projecting_its_numbers(values):
    assert to_simplex(values) == pytest.approx(sorted_projection(values), abs=1e-12)


@given(arrays.arrays(np.float64, 6, elements=st.floats(0, 1)))
def test_what_is_on_the_simplex_stays(values):
    if values.sum() > 0:
        point = values / values.sum()
        assert to_simplex(point) == pytest.approx(point, abs=1e-12)


@given(arrays.arrays(np.float64, st.integers(1, 30), elements=st.floats(-1e3, 1e3)), st.floats(-2e3, 2e3))
def test_projecting_from_any_guess_is_the_same(values, guess):
    expected, level = _lowered(values, -np.inf)
    found, other = _lowered(values, guess)
    assert np.array_equal(found, expected)
    assert other == level


def test_values_in_which_one_is_lost_are_projected_too():
    assert to_simplex(np.array([1e20, -1e20, 1e20])).tolist() == [0.5, 0, 0.5]


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
def test_bend_is_the_gradient_of_the_squared_differences(axis, wrapped):
    generator = np.random.default_rng(1)
    measure, step = generator.normal(size=(5, 4)), 1e-6

    def rough(values):
        moved = np.roll(values, -1, axis) - values if wrapped else np.diff(values, axis=axis)
        return float((moved**2).sum()) / 2

    expected = np.zeros_like(measure)
    for place in np.ndindex(measure.shape):
        change = np.zeros_like(measure)
        change[place] = step
        expected[place] = (rough(measure + change) - rough(measure - change)) / (2 * step)
    found = np.ones_like(measure)
    _bend(found, measure, axis, 3.0, wrapped)
    assert found == pytest.approx(1 + 3 * expected, abs=1e-7)


# --- the nearest measure ----------------------------------------------------------------------------------------


def objective(measure, shares, masses, variance, wrapped):
    """What the nearest measure minimises, written out for one axis."""
    count = len(measure)
    differences = np.roll(measure, -1) - measure if wrapped else np.diff(measure)
    rough = preference(variance, (count,))[0]
    return float(((shares.T @ measure - masses) ** 2).sum() / 2 + rough * (differences**2).sum() / 2)


def case(box, nodes=21, points=7, variance=1e-4, seed=1):
    lattice = sf.Binning(points)
    wrapped = box is DAY
    places = np.arange(nodes) / (nodes if wrapped else nodes - 1)
    shares = lattice.axis_shares(box, 0, places)
    generator = np.random.default_rng(seed)
    truth = generator.dirichlet(np.full(nodes, 0.3))
    masses = shares.T @ truth + generator.laplace(scale=np.sqrt(variance / 2), size=points)
    return shares, truth, masses, wrapped


@pytest.mark.few(4)
@pytest.mark.parametrize("box", [LINE, DAY])
@pytest.mark.parametrize("variance", [1e-8, 1e-4, 1e-2, 10.0])
@pytest.mark.parametrize("seed", [1, 2])
def test_no_other_solver_does_better(box, variance, seed):
    shares, _, masses, wrapped = case(box, variance=variance, seed=seed)
    found = nearest_measure([shares], masses, variance, [wrapped])
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1.0, abs=1e-12)
    dense = shares.toarray()
    other = minimize(
        lambda m: objective(m, dense, masses, variance, wrapped),
        np.full(len(found), 1 / len(found)),
        method="SLSQP",
        bounds=[(0, 1)] * len(found),
        constraints={"type": "eq", "fun": lambda m: m.sum() - 1},
        options={"maxiter": 500, "ftol": 1e-14},
    )
    best = sorted_projection(other.x)  # exactly feasible
    mine, others = (objective(m, dense, masses, variance, wrapped) for m in (found, best))
    # It stops once further steps matter less than the noise did: a hundredth of the noise's own misfit.
    assert mine <= others * (1 + 1e-6) + 1e-2 * variance * len(masses) / 2


@pytest.mark.parametrize("box", [LINE, DAY])
def test_without_noise_the_masses_come_back(box):
    shares, truth, _, wrapped = case(box)
    masses = shares.T @ truth
    found = nearest_measure([shares], masses, 1e-12, [wrapped])
    assert shares.T @ found == pytest.approx(masses, abs=2e-4)


def test_projecting_brings_masses_nearer_to_the_truth():
    for seed in range(20):
        shares, truth, masses, wrapped = case(LINE, variance=1e-3, seed=seed)
        found = nearest_measure([shares], masses, 1e-12, [wrapped])  # no preference for smoothness
        exact = shares.T @ truth
        assert np.linalg.norm(shares.T @ found - exact) <= np.linalg.norm(masses - exact) * (1 + 1e-3)


def test_much_noise_leaves_a_flat_measure():
    shares, _, masses, wrapped = case(LINE, variance=1e-4)
    found = nearest_measure([shares], masses, 1e6, [wrapped])
    assert found == pytest.approx(1 / len(found), abs=1e-5)


def test_turning_the_circle_turns_the_measure():
    nodes, points = 24, 8
    shares = sf.Binning(points).axis_shares(DAY, 0, np.arange(nodes) / nodes)
    masses = np.random.default_rng(3).dirichlet(np.ones(points)) + 0.02
    found = nearest_measure([shares], masses, 1e-3, [True])
    turned = nearest_measure([shares], np.roll(masses, 3), 1e-3, [True])
    assert turned == pytest.approx(np.roll(found, 9), abs=1e-12)


def test_two_axes_are_solved_together():
    generator = np.random.default_rng(4)
    lattices = [sf.Binning(4), sf.Binning(5)]
    shares = [b.axis_shares(LINE, 0, np.linspace(0, 1, n)) for b, n in zip(lattices, (7, 8), strict=True)]
    truth = generator.dirichlet(np.full(56, 0.5)).reshape(7, 8)
    masses = shares[0].T @ truth @ shares[1].toarray()
    found = nearest_measure(shares, masses, 1e-12, [False, False])
    assert found.shape == (7, 8)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1.0, abs=1e-12)
    assert shares[0].T @ found @ shares[1].toarray() == pytest.approx(masses, abs=1e-3)


# --- the smooth one ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("box", [LINE, DAY])
@pytest.mark.parametrize("variance", [1e-9, 1e-4, 1.0])
def test_the_smoothing_matrix_solves_the_normal_equations(box, variance):
    shares, _, masses, wrapped = case(box)
    found = smoothing_matrix(shares, variance, wrapped) @ masses
    dense = shares.toarray()
    best = objective(found, dense, masses, variance, wrapped)
    generator = np.random.default_rng(5)
    for size in (1e-1, 1e-3):
        for _ in range(20):
            other = found + size * generator.normal(size=len(found))
            assert objective(other, dense, masses, variance, wrapped) >= best - 1e-15


@pytest.mark.parametrize("variance", [1e4, 1e10, 1e25])
def test_however_much_noise_the_matrix_exists_and_is_flat(variance):
    """A ridge beyond doubles made the system singular: one row at epsilon = 1e-5 crashed."""
    shares, _, masses, _ = case(LINE)
    found = smoothing_matrix(shares, variance, False) @ masses
    assert np.isfinite(found).all()
    assert np.ptp(found) <= 1e-3 * np.abs(found).mean()
