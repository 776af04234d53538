"""The rule of ``basis="auto"``: finer with less noise, no finer than nodes, on whole numbers where there are any."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.bases.density.kernel import GaussianKernel
from sfumato.bases.density.mixture import check_points
from sfumato.bases.density.rule import _RULE, choose, noise_to_mass, whole_axes

LINE, DAY, PLANE = sf.Box({"x": (0, 10)}), sf.Box({"x": sf.Periodic(0, 24)}), sf.Box([(0, 10), (0, 2)])
CELLS = (1024,)


@pytest.mark.parametrize(
    ("box", "bandwidth"), [(LINE, 0.3), (LINE, 10.0), (DAY, 1.0), (PLANE, [0.5, 0.1]), (LINE, 0.01)]
)
def test_less_noise_calls_for_finer_lattices_that_fit(box, bandwidth):
    kernel = GaussianKernel.of(bandwidth, box)
    found = [choose(box, kernel, deviation, CELLS * box.dimension) for deviation in np.geomspace(10, 1e-9, 12)]
    sizes = [lattice.size(box) for lattice in found]
    assert sizes == sorted(sizes)
    for lattice in found:
        check_points(box, kernel, lattice)
        assert min(lattice.shape(box)) >= 2


def test_the_step_depends_on_noise_over_mass_and_is_shorter_with_several_columns():
    kernels = [(LINE, GaussianKernel.of(0.1, LINE)), (PLANE, GaussianKernel.of([0.5, 0.1], PLANE))]
    for level in (-3.3, -1.2, 0.2):
        steps = []
        for box, kernel in kernels:
            deviation = 10**level / noise_to_mass(box, kernel, 1.0)
            lattice = choose(box, kernel, deviation, CELLS * box.dimension)
            steps.append((box.high - box.low)[0] / (lattice.shape(box)[0] - 1) / kernel.resolution[0])
        assert 0.9 * steps[0] == pytest.approx(steps[1], rel=0.1)


def test_the_rule_rises_and_its_shares_overlap_where_it_is_fine():
    steps = [step for _, step, _ in _RULE]
    assert steps == sorted(steps)
    assert all(width >= step for _, step, width in _RULE[:4])


@pytest.mark.parametrize("deviation", [1e-3, 1e-4, 1e-7])
def test_whole_numbers_are_followed(deviation):
    box = sf.Box({"age": sf.Integer(0, 110)})
    lattice = choose(box, GaussianKernel.of(1.0, box), deviation, CELLS)
    assert lattice.shape(box) == (111,)
    shares = lattice.axis_shares(box, 0, np.arange(111) / 110).toarray()
    assert shares == pytest.approx(np.eye(111), abs=1e-12)
    week = sf.Box({"day": sf.Periodic(0, 7, whole=True)})
    assert choose(week, GaussianKernel.of(1.0, week), deviation, CELLS).shape(week) == (7,)


@pytest.mark.parametrize("column", [sf.Integer(0.5, 110.5), (0, 110)])
def test_other_columns_are_not(column):
    box = sf.Box({"age": column})
    assert choose(box, GaussianKernel.of(1.0, box), 1e-7, CELLS).shape(box)[0] > 200


def test_wide_bandwidths_need_no_step_for_each_whole_number():
    box = sf.Box({"income": sf.Integer(0, 100_000)})
    assert choose(box, GaussianKernel.of(2000.0, box), 1e-4, CELLS).shape(box)[0] < 200


def test_a_linear_reconstruction_keeps_its_prediction_and_gaussian_noise_its_own_lattice():
    privacy = sf.Privacy(epsilon=1.0)
    for post in ("simplex", "none"):
        release = sf.release(sf.KDE(0.5, post=post), np.linspace(1, 9, 500), LINE, privacy)
        assert release.choice.automatic
        assert ("regret" in release.choice.reason) == (post == "simplex")
    smooth = sf.KDE(0.5).choose_basis(LINE, 500, sf.Privacy(epsilon=1.0, delta=1e-6))
    assert isinstance(smooth, sf.SplitLattice)


def test_whole_numbers_are_known_where_each_has_cells_of_its_own():
    box = sf.Box({"age": sf.Integer(0, 110), "x": (0, 1)})
    for lattice, cells, expected in (
        (sf.SplitLattice((111, 8), (0.1, 0.1)), (1024, 1024), (0,)),
        (sf.SplitLattice((111, 8), (0.1, 0.1)), (128, 128), ()),
        (sf.SplitLattice((110, 8), (0.1, 0.1)), (1024, 1024), ()),
        (sf.SplitLattice((111, 8), (0.3, 0.1)), (1024, 1024), ()),
        (sf.Binning((111, 8)), (1024, 1024), ()),
    ):
        assert whole_axes(box, lattice, cells) == expected


@pytest.mark.parametrize("privacy", [sf.Privacy(epsilon=1.0), sf.Privacy(rho=0.1)])
def test_densities_of_whole_numbers_are_exact_but_for_noise(privacy):
    """The measure lies on the numbers, its surface is the estimate but for noise, and ranges are sums of masses."""
    ages = np.random.default_rng(2).binomial(40, 0.4, 4000).astype(float)
    box = sf.Box({"age": sf.Integer(0, 40)})
    release = sf.release(sf.KDE(1.0), ages, box, sf.Privacy(epsilon=1e6))
    points = np.linspace(0, 40, 101)
    truth = np.exp(-0.5 * (points[:, None] - ages) ** 2).mean(axis=1) / np.sqrt(2 * np.pi)
    assert release(points) == pytest.approx(truth, abs=1e-5)
    assert release.probability((10, 15)) == pytest.approx(((ages >= 10) & (ages <= 15)).mean(), abs=1e-4)
    noisy = sf.release(sf.KDE(1.0), ages, box, privacy)
    assert noisy.masses.whole == (0,) and noisy.expansion.measure.shape == (41,)
    low, high = noisy.band(points)
    noise = np.subtract(*noisy.band(points, include="noise")[::-1])
    assert (high - low).max() < 1.5 * noise.max()  # next to nothing but noise
    low, high = noisy.probability_band((10, 15), confidence=1 - 1e-8)
    assert low <= ((ages >= 10) & (ages <= 15)).mean() <= high
    assert high - low < 0.1
