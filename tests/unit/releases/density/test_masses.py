"""Noisy masses: denominators, limits, and which columns remain."""

from dataclasses import replace
from functools import reduce

import numpy as np
import pytest

import sfumato as sf
from sfumato.bases.density.kernel import GaussianKernel
from sfumato.bases.unit import from_unit
from sfumato.core.calibration import calibrate
from sfumato.core.certificate import Certificate
from sfumato.errors import ParameterError
from sfumato.releases.density import masses as masses_module
from sfumato.releases.density.masses import NoisyMasses, kept_box, kept_kernel
from sfumato.releases.uncertainty import half_width_of

LINE = sf.Box({"t": (0, 10)})
PLANE = sf.Box({"x": (0, 10), "y": (0, 5)})
GRID = np.linspace(0, 1, 21)[:, None]


def make(values, rows=None, complete=False, epsilon=1.0, lattice=None, box=LINE, bandwidth=1.0):
    lattice = lattice or sf.Binning(len(values))
    privacy = sf.Privacy(epsilon=epsilon)
    law, _ = calibrate(Certificate("l1", 2.0, "replace", "proved", "binning"), len(values), privacy)
    kernel, cells = GaussianKernel.of(bandwidth, box), (1024,) * box.dimension
    return NoisyMasses(box, kernel, lattice, np.array(values, dtype=np.float64), law, rows, complete, cells)


def test_a_complete_table_is_divided_by_its_rows():
    masses = make([5.0] * 10, rows=100, complete=True)
    assert masses.total == 100
    assert masses.counts_everyone


def test_an_empty_table_is_divided_by_one():
    assert make([0.0] * 10, rows=0, complete=True).total == 1.0


def test_a_total_close_to_the_rows_is_taken_for_them():
    unsure = make([1.0] * 10).deviation * np.sqrt(10)
    assert make([10 - 0.29 * unsure / 3] * 10, rows=100).total == 100
    assert make([10 - 0.31 * unsure] * 10, rows=100).total == pytest.approx(100 - 3.1 * unsure)
    assert make([20.0] * 10, rows=100).total == 100  # never more than there are


def test_a_private_total_is_the_noisy_sum_but_not_absurdly_small():
    masses = make([30.0] * 10)
    assert masses.total == 300
    assert make([-5.0] * 10).total == pytest.approx(masses.deviation * np.sqrt(10))
    assert make([0.0] * 10, epsilon=1e6).total == 1.0
    assert [make([value] * 10).counted for value in (-5.0, 0.0, 30.0)] == [0.0, 0.0, 300.0]


def test_limits_of_a_mean_of_unknown_size():
    """Lower limits are divided by the largest number that there may be, upper ones by the smallest."""
    masses = make([30.0] * 10)
    low, high = masses._divide(np.array([10.0, -10.0]), np.array([20.0, -5.0]), 50.0)
    assert low == pytest.approx([10 / 350, -10 / 250])
    assert high == pytest.approx([20 / 250, -5 / 350])


def test_rows_limit_what_there_may_be():
    low, _ = make([30.0] * 10, rows=320)._divide(np.array([10.0]), np.array([20.0]), 50.0)
    assert low == pytest.approx([10 / 320])


def test_without_a_certain_record_nothing_is_known_from_above():
    low, high = make([1.0] * 10)._divide(np.array([1.0, -1.0]), np.array([2.0, -0.5]), 50.0)
    assert low.tolist() == [1 / 60, -np.inf]
    assert high.tolist() == [np.inf, -0.5 / 60]


def test_limits_surround_the_linear_reconstruction():
    masses = make(np.random.default_rng(1).dirichlet(np.ones(12)) * 500, rows=500, complete=True)
    low, high = masses.limits(GRID, (0,), (0,), 0.95, "noise")
    linear = masses.reconstruction().weights(GRID, (0,))[0] @ masses.values / 500
    assert (low + high) / 2 == pytest.approx(linear)


def test_a_linear_surface_is_the_linear_reconstruction():
    for bandwidth in ([1.0, 0.7], [[1.0, 0.3], [0.3, 0.5]]):
        values = np.random.default_rng(1).dirichlet(np.ones(80)) * 500
        masses = make(values, 500, True, lattice=sf.Binning((10, 8)), box=PLANE, bandwidth=bandwidth)
        unit = np.random.default_rng(2).uniform(size=(9, 2))
        tables = masses.reconstruction().weights(unit, (0, 0))
        expected = reduce(lambda a, b: (a[:, :, None] * b[:, None, :]).reshape(9, -1), tables) @ values / 500
        assert masses.surface("none")(from_unit(PLANE, unit)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("bandwidth", [[1.0, 0.7], [[1.0, 0.3], [0.3, 0.5]]])
def test_weights_on_some_columns_count_every_mass(bandwidth):
    values = np.random.default_rng(1).uniform(size=80)
    masses = make(values, 500, True, lattice=sf.Binning((10, 8)), box=PLANE, bandwidth=bandwidth)
    for kept, summed in (((0,), 1), ((1,), 0)):
        tables = masses.reconstruction(kept).weights(GRID, (0,))
        expected = tables[0] @ values.reshape(10, 8).sum(axis=summed) / 500
        assert np.mean(masses.limits(GRID, (0,), kept, 0.95, "noise"), axis=0) == pytest.approx(expected)


def test_worst_limits_know_how_coarse_the_cells_are():
    """A record may be half a cell away from where it is counted: at most the slope of the kernel over half a cell."""
    masses = make([10.0] * 12, rows=120, complete=True)
    coarse = replace(masses, cells=(16,))
    steepest = np.exp(-0.5) / np.sqrt(2 * np.pi)  # of the standard normal density
    wide, narrow = (np.diff(m.limits(GRID, (0,), (0,), 0.95, "worst"), axis=0) for m in (coarse, masses))
    more = (wide - narrow) / 2
    assert (more > 0.02 * steepest * 10 / 32).all()
    assert (more <= steepest * 10 / 32 * 1.01).all()


# --- limits of sums ---------------------------------------------------------------------------------------------


def test_limits_of_sums_surround_the_weighted_masses():
    values = np.random.default_rng(1).dirichlet(np.ones(12)) * 500
    masses = make(values)
    weights = masses.reconstruction().weights(GRID, (0,))
    low, high = masses.sum_limits(GRID, 0.95, "noise")
    assert (low + high) / 2 == pytest.approx(weights[0] @ values)
    assert (high - low) / 2 == pytest.approx(half_width_of(weights, masses.law, 0.95))


def test_limits_of_sums_do_not_know_the_number_of_records():
    """Whether the rows are public makes no difference, and a sum without records is nought give or take."""
    values = np.random.default_rng(1).dirichlet(np.ones(12)) * 500
    private, public = (make(values, rows).sum_limits(GRID, 0.9, "noise") for rows in (None, 500))
    assert np.array(private) == pytest.approx(np.array(public), rel=1e-6)
    low, high = make([0.0] * 12).sum_limits(GRID, 0.9, "noise")
    assert low == pytest.approx(-high)
    assert (high > 0).all()


@pytest.mark.parametrize("rows", [None, 480])
def test_limits_include_what_the_basis_misses(rows):
    """More than the noise alone, and no more than every record missed as the worst one is."""
    masses = make([40.0] * 12, rows)
    linear = masses.reconstruction()
    widths = {i: np.subtract(*masses.sum_limits(GRID, 0.9, i)[::-1]) / 2 for i in ("noise", "total", "worst")}
    most = 480 + half_width_of([np.ones((1, 12))], masses.law, 0.91)[0] * 1.2
    single = most * (linear.worst_miss(GRID, (0,)) + masses._rounding((0,), (0,)))
    assert (widths["noise"] < widths["total"]).all()
    assert (widths["total"] <= widths["worst"]).all()
    assert (widths["worst"] <= 1.2 * widths["noise"] + single).all()


def test_the_default_limits_are_near_the_noise_where_masses_are_smooth_and_wide_where_not():
    smooth = 400 * np.exp(-0.5 * ((np.arange(25) - 12) / 4) ** 2)
    atom = smooth.copy()
    atom[8] += 300
    noise, even, rough, worst = (
        np.subtract(*make(values).sum_limits(GRID, 0.9, include)[::-1]) / 2
        for values, include in ((smooth, "noise"), (smooth, "total"), (atom, "total"), (atom, "worst"))
    )
    assert (even < 1.6 * noise).all()
    assert rough.max() > 1.5 * even.max()
    assert (rough <= worst).all()


@pytest.mark.parametrize("include", ["total", "worst"])
def test_very_many_scattered_points_have_the_limits_of_each(include):
    """Worked out at the corners of a fine grid: as wide, and hardly wider."""
    values = 400 * np.random.default_rng(1).dirichlet(np.ones(63))
    masses = make(values, lattice=sf.Binning((9, 7)), box=PLANE, bandwidth=[1.0, 0.7])
    unit = np.random.default_rng(2).uniform(size=(9000, 2))
    linear, most = masses.reconstruction(), 500.0
    many, few = (masses._missed(linear, u, (0, 0), (0, 1), 0.005, most, include) for u in (unit, unit[:500]))
    assert (many[:500] >= 0.97 * few).all()  # its share of what may go wrong is smaller among fewer
    assert (many[:500] < 1.1 * few + 0.1 * few.max()).all()


@pytest.mark.parametrize("include", ["total", "worst"])
def test_scattered_points_share_corners_where_a_whole_grid_would_have_more(include, monkeypatch):
    """Limits are those of each point or a little wider, and coordinates are worked out once for all points."""
    generator = np.random.default_rng(6)
    values = np.round(2000 * generator.dirichlet(np.full(36, 5.0)))
    masses = make(values, rows=2000, complete=True, lattice=sf.Binning(6), box=PLANE, bandwidth=(1.0, 0.5))
    unit = generator.uniform(size=(3000, 2))
    each = masses.limits(unit, (0, 0), (0, 1), 0.95, include)
    monkeypatch.setattr(masses_module, "_AT_ONCE", 500)
    linear = masses.reconstruction((0, 1))
    corners, index = masses_module._around(linear, unit)
    grid = np.prod([len(axis) for axis in corners.axes])
    assert grid > 3000 and sum(map(len, corners.axes)) < 300 and len(corners) <= grid
    around = corners.unit[index]
    assert (around.min(axis=1) <= unit + 1e-12).all() and (unit <= around.max(axis=1) + 1e-12).all()
    shared = masses.limits(unit, (0, 0), (0, 1), 0.95, include)
    assert (shared[0] <= each[0] + 1e-12).all() and (each[1] <= shared[1] + 1e-12).all()
    before, after = (limits[1] - limits[0] for limits in (each, shared))
    assert (after < 1.1 * before + 0.1 * before.max()).all()


def test_corners_are_left_where_they_are_no_less_work():
    masses = make(np.ones(6), rows=6, complete=True)
    linear = masses.reconstruction((0,))
    assert masses_module._around(linear, np.linspace(0, 1, 20)[:, None]) is None
    assert masses_module._around(linear, np.linspace(0, 1, 200)[:, None]) is not None


def test_without_records_nothing_can_be_missed():
    masses = make([-50.0] * 12)
    narrow, wide = (np.subtract(*masses.sum_limits(GRID, 0.9, i)[::-1]) for i in ("noise", "worst"))
    assert wide == pytest.approx(narrow, rel=0.2)  # the total's own limit is held at the same time


def test_limits_of_sums_grow_with_confidence_and_noise():
    masses = make([40.0] * 12)
    widths = [np.subtract(*masses.sum_limits(GRID, c, "noise")[::-1]) for c in (0.5, 0.9, 0.99)]
    assert (widths[0] < widths[1]).all() and (widths[1] < widths[2]).all()
    quiet = np.subtract(*make([40.0] * 12, epsilon=100.0).sum_limits(GRID, 0.9, "noise")[::-1])
    assert quiet.mean() < widths[1].mean() / 10


def test_limits_of_sums_on_two_columns():
    values = np.random.default_rng(1).dirichlet(np.ones(80)) * 500
    masses = make(values, lattice=sf.Binning((10, 8)), box=PLANE, bandwidth=[1.0, 0.7])
    unit = np.random.default_rng(2).uniform(size=(9, 2))
    low, high = masses.sum_limits(unit, 0.9, "noise")
    one, two = masses.reconstruction().weights(unit, (0, 0))
    assert (low + high) / 2 == pytest.approx(np.einsum("mi,mj,ij->m", one, two, values.reshape(10, 8)))


def test_kept_columns():
    assert kept_box(PLANE, [1]) == sf.Box({"y": (0, 5)})
    assert kept_box(sf.Box([(0, 1), (0, 2)]), [1]) == sf.Box([(0, 2)])
    kernel = GaussianKernel.of([[1.0, 0.3], [0.3, 0.5]], PLANE)
    assert kept_kernel(kernel, [1]).covariance == ((0.5,),)
    assert kept_kernel(kernel, [0, 1]) == kernel


def test_sizes_must_fit():
    with pytest.raises(ParameterError, match="expected 9 masses"):
        make([1.0] * 10, lattice=sf.Binning(9))


def test_the_papers_lattice_needs_a_public_number_of_rows():
    with pytest.raises(ParameterError, match="public number of rows"):
        make([1.0] * 10, lattice=sf.Bernstein(9))
    masses = make([1.0] * 10, rows=10, lattice=sf.Bernstein(9))
    apart = np.linspace(0, 10, 10) - np.linspace(0, 10, 2001)[:, None]
    largest = (np.exp(-0.5 * apart**2) / np.sqrt(2 * np.pi)).sum(axis=1).max()
    assert masses.scale == pytest.approx(largest, rel=1e-5)
    assert masses.counts_everyone


def test_values_do_not_change():
    values = np.ones(10)
    masses = make(values)
    values[:] = 0
    assert masses.values.sum() == 10
    with pytest.raises(ValueError, match="read-only"):
        masses.values[0] = 3
