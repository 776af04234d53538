"""Fixed weights that turn masses into values: what they reproduce, and bounds on what they miss."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.bases.density.kernel import GaussianKernel
from sfumato.bases.density.prediction import references
from sfumato.bases.density.reconstruction import MeasureReconstruction, PolynomialReconstruction, reconstruction

LINE = sf.Box([(0, 1)])
DAY = sf.Box([sf.Periodic(0, 1)])
PLANE = sf.Box([(0, 1), sf.Periodic(0, 2)])
SQUARE = sf.Box([(0, 1), (0, 1)])
CASES = {
    "binning": (LINE, sf.Binning(21), 0.1),
    "coarse binning": (LINE, sf.Binning(11), 0.1),
    "two points": (LINE, sf.Binning(2), 0.3),
    "split": (LINE, sf.SplitLattice(15, 0.05), 0.1),
    "split, hardly": (LINE, sf.SplitLattice(11, 0.001), 0.1),
    "circle": (DAY, sf.Binning(16), 0.1),
    "split circle": (DAY, sf.SplitLattice(12, 0.06), 0.1),
    "polynomial": (LINE, sf.Bernstein(20, 3), 0.15),
    "plane": (PLANE, sf.Binning((11, 12)), [0.15, 0.3]),
    "split plane": (PLANE, sf.SplitLattice((9, 10), (0.08, 0.15)), [0.15, 0.3]),
}


def make(name, variance=1e-8):
    box, basis, bandwidth = CASES[name]
    return reconstruction(box, GaussianKernel.of(bandwidth, box), basis, variance)


def misses(linear, unit, places, derivatives=None):
    """``(points, records)``: kernel minus reconstruction, for one record at each place."""
    still = derivatives or (0,) * linear.box.dimension
    wanted, given = np.ones((len(unit), len(places))), np.ones((len(unit), len(places)))
    for i, column in enumerate(linear.box.intervals()):
        wanted = wanted * linear.kernel.axis_values(column, i, unit[:, i], places[:, i], still[i])
        given = given * (linear.weights(unit, still)[i] @ linear.axis_features(i, places[:, i]).T)
    return wanted - given


def spots(linear, count, seed=1):
    """Random places and, along each axis, lattice points, middles and ends, where extremes tend to be."""
    generator = np.random.default_rng(seed)
    shape = linear.basis.shape(linear.box)
    special = [np.concatenate([np.arange(n) / n, (np.arange(n) + 0.5) / n, np.linspace(0, 1, n)]) for n in shape]
    mixed = np.stack([generator.choice(s, count) for s in special], axis=1)
    return np.concatenate([generator.uniform(size=(count, len(shape))), mixed])


def test_each_basis_has_its_reconstruction():
    assert isinstance(make("binning"), MeasureReconstruction)
    assert isinstance(make("polynomial"), PolynomialReconstruction)


@pytest.mark.few(8)
@pytest.mark.parametrize("variance", [0.0, 1e-6, 1e-3])
@pytest.mark.parametrize("name", CASES)
def test_no_single_record_is_missed_by_more_than_the_worst(name, variance):
    linear = make(name, variance)
    unit = np.random.default_rng(2).uniform(size=(40, linear.box.dimension))
    bound = linear.worst_miss(unit, (0,) * linear.box.dimension)
    found = np.abs(misses(linear, unit, spots(linear, 3000))).max(axis=1)
    assert (found <= bound).all()
    if linear.box.dimension == 1:
        assert (found >= bound / 1.15).all()  # and it is not a lazy bound


@pytest.mark.parametrize("name", ["binning", "split circle", "plane"])
def test_derivatives_are_bounded_too(name):
    linear = make(name)
    orders = (1,) + (0,) * (linear.box.dimension - 1)
    unit = np.random.default_rng(2).uniform(size=(20, linear.box.dimension))
    found = np.abs(misses(linear, unit, spots(linear, 2000), orders)).max(axis=1)
    assert (found <= linear.worst_miss(unit, orders)).all()


@pytest.mark.parametrize("name", CASES)
def test_no_data_set_is_missed_by_more_than_the_worst(name):
    linear = make(name)
    unit = np.random.default_rng(3).uniform(size=(20, linear.box.dimension))
    bound = linear.worst_miss(unit, (0,) * linear.box.dimension)
    for seed in range(5):
        generator = np.random.default_rng(seed)
        places = generator.beta(*generator.uniform(0.3, 5, size=2), size=(50, linear.box.dimension))
        assert (np.abs(misses(linear, unit, places).mean(axis=1)) <= bound).all()


@pytest.mark.parametrize("basis", [sf.Binning(11), sf.SplitLattice(10, 0.06), sf.Binning((6, 12))])
def test_a_kernel_that_is_no_product_is_bounded_too(basis):
    kernel = GaussianKernel.of([[0.02, 0.01], [0.01, 0.02]], SQUARE)
    linear = reconstruction(SQUARE, kernel, basis, 1e-8)
    unit, places = np.random.default_rng(4).uniform(size=(6, 2)), spots(linear, 3000)
    weights = linear.weights(unit, (0, 0))[0].reshape(len(unit), *basis.shape(SQUARE))
    features = [linear.axis_features(i, places[:, i]) for i in range(2)]
    given = np.einsum("mab,na,nb->mn", weights, *features, optimize=True)
    found = np.abs(kernel.values(SQUARE, unit, places) - given).max(axis=1)
    bound = linear.worst_miss(unit, (0, 0))
    assert (found <= bound).all()
    assert (found >= bound / 1.4).all()


def test_places_that_are_known_are_enough():
    linear, unit = make("binning"), np.linspace(0, 1, 9)[:, None]
    places = (np.arange(64) + 0.5) / 64
    bound = linear.worst_miss(unit, (0,), [places])
    assert (np.abs(misses(linear, unit, places[:, None])).max(axis=1) <= bound).all()
    assert (bound <= linear.worst_miss(unit, (0,)) * 1.0001).all()


# --- what it misses of ordinary data ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["binning", "coarse binning", "split", "circle", "polynomial"])
def test_the_typical_miss_covers_the_reference_densities(name):
    """Each reference density itself, which is a sample without end, and most finite samples."""
    linear = make(name)
    deviation = linear.kernel.resolution[0] / (linear.box.high - linear.box.low)[0]
    places, unit = (np.arange(400) + 0.5) / 400, np.linspace(0, 1, 200)[:, None]
    table = misses(linear, unit, places[:, None])
    known = references(deviation, places)
    endless = np.abs(table @ known.T).max()
    assert linear.typical_miss((0,), np.inf) == pytest.approx(endless, rel=0.02)
    generator, rows = np.random.default_rng(5), 500
    typical = linear.typical_miss((0,), rows)
    samples = [generator.multinomial(rows, k) / rows for k in known for _ in range(30)]
    missed = np.mean([np.abs(table @ s).max() > typical for s in samples])
    assert missed <= 0.2  # two standard deviations, at the one place where they are largest


def test_a_matrix_knows_that_samples_are_rough():
    kernel = GaussianKernel.of([[0.03, 0.01], [0.01, 0.03]], SQUARE)
    linear = reconstruction(SQUARE, kernel, sf.Binning(7), 1e-6)
    few, many, endless = (linear.typical_miss((0, 0), rows) for rows in (50, 5000, np.inf))
    assert few > many > endless > 0


def test_a_matrix_that_is_hardly_one_agrees_with_a_product():
    basis, rows = sf.Binning(9), 1000
    product = reconstruction(SQUARE, GaussianKernel.of([0.2, 0.2], SQUARE), basis, 1e-6)
    matrix = reconstruction(SQUARE, GaussianKernel.of([[0.04, 1e-9], [1e-9, 0.04]], SQUARE), basis, 1e-6)
    unit = np.random.default_rng(6).uniform(size=(8, 2))
    rows_of = product.weights(unit, (0, 0))
    flat = np.einsum("ma,mb->mab", *rows_of).reshape(8, -1)
    assert matrix.weights(unit, (0, 0))[0] == pytest.approx(flat, abs=1e-5 * np.abs(flat).max())
    assert matrix.typical_miss((0, 0), rows) == pytest.approx(
        product.typical_miss((0, 0), rows), rel=0.4
    )  # on a coarser grid
    assert (matrix.worst_miss(unit, (0, 0)) <= product.worst_miss(unit, (0, 0)) * 1.3).all()


def test_more_noise_means_smoother_weights():
    unit = np.linspace(0, 1, 50)[:, None]
    sizes = [np.linalg.norm(make("binning", v).weights(unit, (0,))[0]) for v in (1e-10, 1e-4, 1e-2, 1.0)]
    assert sizes == sorted(sizes, reverse=True)


def test_the_largest_sum_is_the_largest():
    linear = make("polynomial")
    sums = linear.axis_features(0, np.linspace(0, 1, 5001)).sum(axis=1)
    assert linear.largest_sum == pytest.approx(sums.max(), rel=1e-6)
    assert linear.largest_sum >= sums.max()
