"""Published densities: what they answer, their bands, and their files."""

import json
import math
from itertools import pairwise
from unittest import mock

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save as pack

import sfumato as sf
from sfumato.bases.density.kernel import GaussianKernel
from sfumato.bases.unit import from_unit, to_unit
from sfumato.errors import FileFormatError, OutsideBoxError, ParameterError

LINE = sf.Box({"t": (0, 10)})
DAY = sf.Box({"hour": sf.Periodic(0, 24)})
PLANE = sf.Box({"x": (0, 10), "y": (0, 5)})
SURE = sf.Privacy(epsilon=1e6)
GRID = np.linspace(0, 10, 101)
DATA = np.random.default_rng(1).beta(2, 4, size=2000) * 10


def truth(data, points, bandwidth, box=LINE):
    """The kernel density estimate of the records, with no privacy."""
    data, points = np.reshape(data, (-1, box.dimension)), np.reshape(points, (-1, box.dimension))
    return GaussianKernel.of(bandwidth, box).values(box, to_unit(box, points), to_unit(box, data)).mean(axis=1)


def publish(data=DATA, bandwidth=0.8, box=LINE, privacy=SURE, basis="auto", **options):
    return sf.release(sf.KDE(bandwidth, **options), data, box, privacy, basis=basis)


@pytest.fixture(scope="module")
def sure():
    return publish()


@pytest.fixture(scope="module")
def noisy():
    return publish(privacy=sf.Privacy(epsilon=0.5))


@pytest.fixture(scope="module")
def plane():
    data = np.random.default_rng(2).beta(2, 3, size=(1500, 2)) * [10, 5]
    return data, publish(data, [1.0, 0.6], PLANE)


# --- values -----------------------------------------------------------------------------------------------------


@pytest.mark.few(4)
@pytest.mark.parametrize("post", ["simplex", "none"])
@pytest.mark.parametrize("basis", ["auto", sf.Binning(40), sf.SplitLattice(25, 0.4), sf.Bernstein(40, 4)])
def test_with_next_to_no_noise_it_is_the_kernel_density_estimate(basis, post):
    release = publish(basis=basis, post=post)
    assert release(GRID) == pytest.approx(truth(DATA, GRID, 0.8), abs=0.003)


@pytest.mark.parametrize("privacy", [sf.Privacy(epsilon=1e6, neighbours="add-remove"), sf.Privacy(rho=1e10)])
def test_other_grants_publish_the_same(privacy):
    assert publish(privacy=privacy)(GRID) == pytest.approx(truth(DATA, GRID, 0.8), abs=0.003)


def test_on_a_circle_it_goes_round():
    data = np.random.default_rng(3).normal(23.5, 2, size=2000) % 24
    release = publish(data, 1.5, DAY)
    hours = np.linspace(0, 24, 49)
    assert release(hours) == pytest.approx(truth(data, hours, 1.5, DAY), abs=0.002)
    assert release([0.0]) == pytest.approx(release([24.0]), rel=1e-9)
    assert release.integrate() == pytest.approx(1.0, abs=1e-9)


def test_two_columns(plane):
    data, release = plane
    points = from_unit(PLANE, np.random.default_rng(4).uniform(size=(50, 2)))
    assert release(points) == pytest.approx(truth(data, points, [1.0, 0.6], PLANE), abs=0.002)


@pytest.mark.few(1)
@pytest.mark.parametrize("matrix", [[[1.0, 0.4], [0.4, 0.5]], [[1.0, -0.4], [-0.4, 0.5]], [[1.0, 0.0], [0.0, 0.36]]])
def test_a_bandwidth_matrix(matrix):
    """Negative and zero covariances are covariances too."""
    data = np.random.default_rng(2).beta(2, 3, size=(1500, 2)) * [10, 5]
    release = publish(data, matrix, PLANE)
    points = from_unit(PLANE, np.random.default_rng(4).uniform(size=(30, 2)))
    assert release(points) == pytest.approx(truth(data, points, matrix, PLANE), abs=0.003)
    assert release.covariance == pytest.approx(np.array(matrix))
    assert release.bandwidth == pytest.approx(np.sqrt(np.diag(matrix)))


def test_three_columns():
    box = sf.Box([(0, 1)] * 3)
    data = np.random.default_rng(2).beta(2, 3, size=(1000, 3))
    release = publish(data, 0.25, box)
    points = np.random.default_rng(4).uniform(size=(40, 3))
    assert release(points) == pytest.approx(truth(data, points, 0.25, box), rel=0.02, abs=0.01)
    low, high = release.band(points)
    assert (low <= release(points)).all() and (release(points) <= high).all()


def test_a_simplex_is_a_probability_measure_however_loud_the_noise():
    release = publish(DATA[:20], privacy=sf.Privacy(epsilon=0.01))
    measure = release.expansion.measure
    assert measure.min() >= 0
    assert measure.sum() == pytest.approx(1.0, abs=1e-9)
    assert (release(GRID) >= 0).all()


def test_none_may_be_negative():
    options = {"privacy": sf.Privacy(epsilon=0.5), "post": "none", "basis": sf.Binning(20)}
    assert min(publish(DATA[:100], **options)(GRID).min() for _ in range(5)) < 0


def test_properties(noisy):
    assert noisy.kind == "density"
    assert noisy.box == LINE
    assert noisy.bandwidth.tolist() == [0.8]  # as it was passed
    assert noisy.covariance.tolist() == [[0.8 * 0.8]]
    assert noisy.coefficients.shape == (noisy.basis.size(LINE),)
    assert noisy.law.size == noisy.basis.size(LINE)
    assert "0.5-differential privacy" in repr(noisy)
    assert noisy.choice.automatic
    assert "least regret" in str(noisy.choice) and "predicted" in str(noisy.choice)
    assert noisy.choice.basis == repr(noisy.basis)
    given = publish(basis=sf.Binning(12))
    assert not given.choice.automatic
    assert "given by the caller" in str(given.choice)


def test_points_outside_are_refused_or_clipped(noisy):
    for method in (noisy, noisy.band):
        with pytest.raises(OutsideBoxError):
            method([11.0])
        assert np.array_equal(method([11.0], outside="clip"), method([10.0]))


# --- bands ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("include", ["noise", "total", "worst"])
def test_a_band_surrounds_the_released_value(noisy, include):
    low, high = noisy.band(GRID, include=include)
    assert low.shape == high.shape == GRID.shape
    assert (low <= noisy(GRID)).all() and (noisy(GRID) <= high).all()
    assert (low < high).all()


def test_a_density_is_neither_negative_nor_above_its_kernel(noisy):
    for release in (noisy, publish(DATA[:20], privacy=sf.Privacy(epsilon=0.01))):
        low, high = release.band(GRID)
        assert low.min() >= 0
        assert high.max() <= 1 / (0.8 * math.sqrt(2 * math.pi)) * (1 + 1e-12)


def test_wider_for_more_confidence_and_for_more_doubt():
    release = publish(DATA, privacy=sf.Privacy(epsilon=0.5), post="none", missing="none")
    widths = [np.diff(release.band(GRID, confidence=c, include="noise"), axis=0).mean() for c in (0.5, 0.9, 0.99)]
    assert widths == sorted(widths)
    by_doubt = [np.diff(release.band(GRID, include=i), axis=0).mean() for i in ("noise", "total", "worst")]
    assert by_doubt == sorted(by_doubt)
    assert by_doubt[0] < by_doubt[1] < by_doubt[2]


def test_a_private_count_makes_bands_wider():
    widths = []
    for missing in ("none", "drop"):
        release = publish(DATA[:200], privacy=sf.Privacy(epsilon=2.0), basis=sf.Binning(12), missing=missing)
        widths.append(np.diff(release.band(GRID, include="noise"), axis=0).max())
    assert widths[1] > widths[0]


@pytest.mark.few(4)
@pytest.mark.parametrize("value", [0.0, 3.7, 5.0, 10.0])
@pytest.mark.parametrize("basis", ["auto", sf.Binning(11), sf.SplitLattice(11, 0.02), sf.Bernstein(12, 2)])
def test_the_worst_band_holds_even_if_all_records_are_equal(basis, value):
    data = np.full(500, value)
    release = publish(data, 1.0, basis=basis)
    low, high = release.band(GRID, include="worst")
    exact = truth(data, GRID, 1.0)
    slack = 1e-6  # the shares themselves are rounded, to 2**-24
    assert (low <= exact + slack).all() and (exact <= high + slack).all()


def test_the_worst_band_of_a_matrix_holds_even_if_all_records_are_equal():
    box, matrix = sf.Box([(0, 1), (0, 1)]), [[0.02, 0.01], [0.01, 0.02]]
    data = np.full((500, 2), 0.5)
    release = publish(data, matrix, box, basis=sf.Binning(11))
    points = np.random.default_rng(5).uniform(0.2, 0.8, size=(40, 2))
    low, high = release.band(points, include="worst")
    exact = truth(data, points, matrix, box)
    assert (low <= exact).all() and (exact <= high).all()


@pytest.mark.parametrize("bad", [0, 1, -0.1, math.nan, "high", None])
def test_confidence_must_be_a_probability(noisy, bad):
    with pytest.raises(ParameterError, match="confidence"):
        noisy.band([1.0], confidence=bad)
    with pytest.raises(ParameterError, match="confidence"):
        noisy.count_band(confidence=bad)


def test_include_must_be_a_known_word(noisy):
    with pytest.raises(ParameterError, match="include must be one of 'noise', 'total', 'worst', got include='all'"):
        noisy.band([1.0], include="all")


def test_no_points_have_an_empty_band(noisy):
    for include in ("noise", "total", "worst"):
        low, high = noisy.band([], include=include)
        assert low.shape == high.shape == (0,)


# --- how many ---------------------------------------------------------------------------------------------------


def test_a_public_count_is_exact():
    release = publish(DATA[:300], privacy=sf.Privacy(epsilon=0.5), missing="none")
    assert release.count == 300
    assert release.count_band() == (300, 300)


def test_a_private_count_is_noisy_and_banded():
    release = publish(DATA[:300], privacy=sf.Privacy(epsilon=1.0, neighbours="add-remove"))
    assert release.count != 300
    assert release.count == pytest.approx(300, abs=60)
    low, high = release.count_band(0.999)
    assert low < 300 < high
    assert release.count_band(0.5)[0] > low


def test_missing_values_are_noticed():
    data = DATA.copy()
    data[:1200] = np.nan
    release = publish(data)
    assert release.count == pytest.approx(800, abs=1)
    assert release(GRID) == pytest.approx(truth(data[1200:], GRID, 0.8), abs=0.003)
    low, high = release.count_band()
    assert low <= 800 <= high <= 2000


def test_declared_complete_data_put_missing_values_in_the_middle():
    data = DATA.copy()
    data[:500] = np.nan
    filled = np.where(np.isnan(data), 5.0, data)
    release = publish(data, missing="none")
    assert release.count == 2000
    assert release(GRID) == pytest.approx(truth(filled, GRID, 0.8), abs=0.005)


def test_a_person_has_several_rows():
    who = np.arange(600) // 3
    table = {"t": DATA[:600], "who": who}
    import pandas as pd

    release = publish(pd.DataFrame(table), privacy=sf.Privacy(epsilon=1e6, unit=sf.Person("who", max_rows=3)))
    assert release.count == pytest.approx(600, abs=1)
    assert release(GRID) == pytest.approx(truth(DATA[:600], GRID, 0.8), abs=0.005)


# --- marginals and derivatives ----------------------------------------------------------------------------------


def test_a_marginal_is_the_release_of_the_column(plane):
    data, release = plane
    line = release.marginal("x")
    assert line.box == sf.Box({"x": (0, 10)})
    assert line.bandwidth.tolist() == [1.0]
    exact = truth(data[:, 0], GRID, 1.0)
    assert line(GRID) == pytest.approx(exact, abs=0.002)
    assert line(GRID) == pytest.approx(publish(data[:, 0], 1.0)(GRID), abs=0.003)
    assert line.guarantee == release.guarantee
    wary = publish(data, [1.0, 0.6], PLANE, sf.Privacy(epsilon=100.0)).marginal("x")
    low, high = wary.band(GRID, confidence=0.9999)
    assert (low <= exact).all() and (exact <= high).all()


def test_a_marginal_of_a_matrix_takes_its_part_of_the_matrix():
    data = np.random.default_rng(2).beta(2, 3, size=(1500, 2)) * [10, 5]
    line = publish(data, [[1.0, 0.4], [0.4, 0.5]], PLANE, sf.Privacy(epsilon=100.0)).marginal(1)
    assert line.covariance.tolist() == [[0.5]]
    points, box = np.linspace(0, 5, 51), sf.Box({"y": (0, 5)})
    exact = truth(data[:, 1], points, math.sqrt(0.5), box)
    assert line(points) == pytest.approx(exact, abs=0.02)
    low, high = line.band(points, confidence=0.9999)
    assert (low <= exact).all() and (exact <= high).all()


def test_a_marginal_of_a_marginal():
    box = sf.Box({"a": (0, 1), "b": (0, 1), "c": (0, 1)})
    data = np.random.default_rng(2).beta([2, 3, 4], 3, size=(500, 3))
    release = publish(data, 0.3, box)
    two = release.marginal(["a", "c"])
    assert two.box.names == ("a", "c")
    once, twice = release.marginal("c"), two.marginal("c")
    points = np.linspace(0, 1, 21)
    assert once(points) == pytest.approx(twice(points), rel=1e-9)
    assert np.array(once.band(points)) == pytest.approx(np.array(twice.band(points)), rel=1e-9)
    assert once(points) == pytest.approx(truth(data[:, 2], points, 0.3, sf.Box([(0, 1)])), abs=0.03)


@pytest.mark.parametrize("columns", [["x", "y"], [], "z", 2, [0, 1]])
def test_a_marginal_needs_some_but_not_all_columns(plane, columns):
    with pytest.raises(ParameterError, match="column"):
        plane[1].marginal(columns)


def test_what_has_no_marginal_says_so(plane):
    with pytest.raises(ParameterError, match="not of its derivative"):
        plane[1].derivative("x").marginal("x")
    bernstein = publish(np.zeros((50, 2)), [1.0, 0.6], PLANE, basis=sf.Bernstein(6, 2))
    with pytest.raises(ParameterError, match="basis='auto'"):
        bernstein.marginal("x")


def test_a_derivative_is_that_of_the_estimate(sure):
    slope, step = sure.derivative(), 1e-4
    inner = GRID[1:-1]
    assert slope(inner) == pytest.approx((sure(inner + step) - sure(inner - step)) / (2 * step), abs=1e-6)
    exact = (truth(DATA, inner + step, 0.8) - truth(DATA, inner - step, 0.8)) / (2 * step)
    low, high = slope.band(inner)
    assert (low <= exact).all() and (exact <= high).all()


# --- bands worth looking at ---------------------------------------------------------------------------------------


def plane_of(basis):
    """20,000 standard normal records on a plane: a density whose error is about .003. The noise is always the same."""
    box = sf.Box({"x": (-4, 4), "y": (-4, 4)})
    records = np.clip(np.random.default_rng(3).normal(size=(20_000, 2)), -4, 4)
    with mock.patch("os.urandom", np.random.default_rng(17).bytes):
        return publish(records, 0.3, box, sf.Privacy(epsilon=1.0), basis=basis)


@pytest.fixture(scope="module")
def normal():
    return plane_of("auto")


def test_the_default_band_is_near_the_error(normal):
    """No random error is looked at: the half-width is at most three times the error that was predicted."""
    axis = np.linspace(-4, 4, 41)
    low, high = normal.band_on_grid([axis, axis])
    assert ((high - low) / 2).max() < 3 * normal.choice.predicted_error
    worst = np.subtract(*normal.band_on_grid([axis, axis], include="worst")[::-1]) / 2
    assert worst.max() < 0.5 * normal.covariance[0, 0] ** -1 / (2 * np.pi)  # far below what equal records would need


@pytest.mark.parametrize("most", [1000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_a_point_keeps_its_width_among_many(normal, most):
    """Alone, among 10, 10^3 and 10^5 others: 1.5 to 1.6 times as wide in all (it varies with the noisy count).

    So much for a lattice whose misses, which do not grow, are a good part of the band. Those of the default lattice are
    smaller: its band is narrower for any number of points, and grows as the largest noise among them does.
    """
    points = np.random.default_rng(4).uniform(-4, 4, size=(most, 2))
    points[0] = 0.0
    counts = [count for count in (1, 10, 1000, 100_000) if count <= most]

    def widths_of(release):
        return [float(np.subtract(*release.band(points[:count])[::-1])[0]) for count in counts]

    widths = widths_of(plane_of(sf.Binning(28)))
    assert all(b > 0.99 * a for a, b in pairwise(widths))
    assert widths[-1] < 1.65 * widths[0]
    assert all(mine < other for mine, other in zip(widths_of(normal), widths, strict=True))


# --- files ------------------------------------------------------------------------------------------------------

FLAVOURS = {
    "auto": {},
    "binning": {"basis": sf.Binning(12)},
    "split": {"basis": sf.SplitLattice(12, 1 / 3)},
    "none": {"post": "none"},
    "bernstein": {"basis": sf.Bernstein(12, 3)},
    "bernstein none": {"basis": sf.Bernstein(12, 3), "post": "none"},
    "gaussian": {"privacy": sf.Privacy(epsilon=1.0, delta=1e-6)},
    "private count": {"privacy": sf.Privacy(epsilon=1.0, neighbours="add-remove")},
    "complete": {"missing": "none"},
    "circle": {"box": DAY, "bandwidth": 1.7},
    "no rows": {"data": np.zeros(0), "privacy": sf.Privacy(epsilon=1.0, neighbours="add-remove")},
    "one row": {"data": np.zeros(1)},
    "awkward bandwidth": {"bandwidth": 0.1 + 0.2},
}


@pytest.mark.few(4)
@pytest.mark.parametrize("name", FLAVOURS)
def test_everything_comes_back_bit_by_bit(name, tmp_path):
    release = publish(**{"privacy": sf.Privacy(epsilon=1.0), **FLAVOURS[name]})
    release.save(tmp_path / "d.sfumato")
    loaded = sf.load(tmp_path / "d.sfumato")
    points = from_unit(release.box, np.linspace(0, 1, 17)[:, None])
    assert type(loaded) is sf.DensityRelease
    assert loaded(points).tobytes() == release(points).tobytes()
    for include in ("noise", "total", "worst"):
        for mine, other in zip(
            loaded.band(points, include=include), release.band(points, include=include), strict=True
        ):
            assert mine.tobytes() == other.tobytes()
    assert (loaded.count, loaded.count_band()) == (release.count, release.count_band())
    assert (loaded.basis, loaded.choice, loaded.post) == (release.basis, release.choice, release.post)
    assert loaded.covariance.tobytes() == release.covariance.tobytes()
    loaded.save(tmp_path / "again.sfumato")
    assert (tmp_path / "again.sfumato").read_bytes() == (tmp_path / "d.sfumato").read_bytes()


def test_two_columns_and_a_matrix_come_back(tmp_path):
    data = np.random.default_rng(2).uniform(size=(200, 2)) * [10, 5]
    release = publish(data, [[1.0, 0.4], [0.4, 0.5]], PLANE, sf.Privacy(epsilon=1.0))
    release.save(tmp_path / "d.sfumato")
    loaded = sf.load(tmp_path / "d.sfumato")
    points = [[1.0, 2.0], [10.0, 5.0]]
    assert loaded(points).tobytes() == release(points).tobytes()
    assert loaded.marginal("y").band([1.0])[1].tobytes() == release.marginal("y").band([1.0])[1].tobytes()


def test_a_kernel_that_is_finer_than_a_matrix_may_be_comes_back(tmp_path):
    release = publish(np.full((200, 2), 2.0), [0.1, 0.05], PLANE, sf.Privacy(epsilon=1.0), sf.Binning(5))
    release.save(tmp_path / "d.sfumato")
    assert sf.load(tmp_path / "d.sfumato")([[1.0, 2.0]]).tobytes() == release([[1.0, 2.0]]).tobytes()


def test_parts_are_not_saved(plane, sure, tmp_path):
    for part in (plane[1].marginal("x"), sure.derivative()):
        with pytest.raises(ParameterError, match="save the density itself"):
            part.save(tmp_path / "part.sfumato")
    assert not list(tmp_path.iterdir())


def read(path):
    with safe_open(path, framework="numpy") as container:
        return json.loads(container.metadata()["sfumato"]), {k: container.get_tensor(k) for k in container.keys()}  # noqa: SIM118


def write(path, document, arrays):
    path.write_bytes(pack(arrays, metadata={"sfumato": json.dumps(document)}))


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "small.sfumato"
    publish(basis=sf.SplitLattice(6, 0.5), privacy=sf.Privacy(epsilon=1.0)).save(file)
    return file


def put(*keys):
    *where, last, value = keys

    def change(document):
        for key in where:
            document = document[key]
        document[last] = value

    return change


HOSTILE = {
    "extra key": put("content", "extra", 1),
    "no content": put("content", {}),
    "basis missing": lambda d: d["content"].pop("basis"),
    "basis is text": put("content", "basis", "binning"),
    "basis unknown": put("content", "basis", {"name": "os.system"}),
    "basis with extra key": put("content", "basis", "extra", 1),
    "another number of points": put("content", "basis", "points", 7),
    "points of two columns": put("content", "basis", "points", [6, 6]),
    "points huge": put("content", "basis", "points", 10**30),
    "points negative": put("content", "basis", "points", -6),
    "points true": put("content", "basis", "points", True),
    "width zero": put("content", "basis", "width", 0.0),
    "width of two columns": put("content", "basis", "width", [0.5, 0.5]),
    "width nan": put("content", "basis", "width", math.nan),
    "covariance not positive": put("content", "covariance", [[-0.64]]),
    "covariance zero": put("content", "covariance", [[0.0]]),
    "covariance nan": put("content", "covariance", [[math.nan]]),
    "covariance of two columns": put("content", "covariance", [[0.64, 0.0], [0.0, 0.64]]),
    "covariance wider than the box": put("content", "covariance", [[1e6]]),
    "covariance too narrow": put("content", "covariance", [[1e-16]]),
    "covariance is text": put("content", "covariance", [["0.64"]]),
    "covariance is flat": put("content", "covariance", [0.64]),
    "covariance true": put("content", "covariance", [[True]]),
    "covariance empty": put("content", "covariance", []),
    "rows negative": put("content", "rows", -1),
    "rows a float": put("content", "rows", 2000.0),
    "rows text": put("content", "rows", "2000"),
    "rows true": put("content", "rows", True),
    "rows huge": put("content", "rows", 10**30),
    "rows where they are private": put("guarantee", "neighbours", "add-remove"),
    "complete without rows": lambda d: d["content"].update(rows=None, complete=True),
    "cells missing": lambda d: d["content"].pop("cells"),
    "cells zero": put("content", "cells", [0]),
    "cells of two columns": put("content", "cells", [1024, 1024]),
    "cells text": put("content", "cells", "many"),
    "complete a number": put("content", "complete", 1),
    "complete missing": lambda d: d["content"].pop("complete"),
    "post unknown": put("content", "post", "magic"),
    "choice missing": put("content", "choice", {}),
    "choice null": put("content", "choice", None),
    "choice with extra key": put("content", "choice", "extra", 1),
    "predicted error text": put("content", "choice", "predicted_error", "small"),
    "predicted error nan": put("content", "choice", "predicted_error", math.nan),
    "noise of another size": put("noise", "size", 5),
    "kind function": put("kind", "function"),
    "kind grouped": put("kind", "grouped-density"),
    "categorical box": put("box", "columns", 0, {"name": "t", "kind": "categorical", "categories": ["a", "b"]}),
    "bernstein without rows": lambda d: d["content"].update(
        basis={"name": "bernstein", "degree": 5, "order": 1}, rows=None
    ),
}


@pytest.mark.few(12)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_document_is_refused(path, name):
    document, arrays = read(path)
    HOSTILE[name](document)
    write(path, document, arrays)
    with pytest.raises(FileFormatError, match=r"small\.sfumato"):
        sf.load(path)


def changed(name, place, value):
    def change(arrays):
        arrays[name] = arrays[name].copy()
        arrays[name][place] = value

    return change


DAMAGED = {
    "measure nan": changed("measure", 3, np.nan),
    "measure infinite": changed("measure", 3, np.inf),
    "masses nan": changed("masses", 3, np.nan),
    "measure negative": changed("measure", 3, -0.1),
    "measure of more than one": lambda a: a.update(measure=a["measure"] * 2),
    "measure of nothing": lambda a: a.update(measure=a["measure"] * 0),
    "measure empty": lambda a: a.update(measure=np.zeros(0)),
    "measure of one node": lambda a: a.update(measure=np.ones(1)),
    "measure of two columns": lambda a: a.update(measure=np.full((2, 2), 0.25)),
    "measure missing": lambda a: a.pop("measure"),
    "masses missing": lambda a: a.pop("masses"),
    "masses too short": lambda a: a.update(masses=a["masses"][:-1]),
    "masses too long": lambda a: a.update(masses=np.append(a["masses"], 0.0)),
    "masses in a table": lambda a: a.update(masses=a["masses"].reshape(2, 3)),
    "measure in single precision": lambda a: a.update(measure=a["measure"].astype(np.float32)),
    "masses whole numbers": lambda a: a.update(masses=np.ones(6, dtype=np.int64)),
    "records riding along": lambda a: a.update(records=np.zeros(3)),
}


@pytest.mark.few(4)
@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_arrays_are_refused(path, name):
    document, arrays = read(path)
    DAMAGED[name](arrays)
    write(path, document, arrays)
    with pytest.raises(FileFormatError, match=r"small\.sfumato"):
        sf.load(path)


def test_a_signed_measure_is_fine_where_it_was_asked_for(path):
    document, arrays = read(path)
    arrays["measure"] = arrays["measure"] - 0.05
    put("content", "post", "none")(document)
    write(path, document, arrays)
    assert sf.load(path)([1.0]).shape == (1,)


def test_a_covariance_that_is_not_positive_definite_is_refused(tmp_path):
    file = tmp_path / "plane.sfumato"
    data = np.zeros((10, 2))
    publish(data, [[1.0, 0.4], [0.4, 0.5]], PLANE, sf.Privacy(epsilon=1.0)).save(file)
    document, arrays = read(file)
    for wrong in ([[1.0, 0.8], [0.8, 0.5]], [[1.0, 0.4], [0.3, 0.5]], [[1.0, 0.4]], [[1.0], [0.4, 0.5]]):
        put("content", "covariance", wrong)(document)
        write(file, document, arrays)
        with pytest.raises(FileFormatError):
            sf.load(file)


@pytest.mark.parametrize("flip", [0x01, 0x80])
def test_a_flipped_byte_is_refused_or_gives_a_working_release(path, flip):
    whole = path.read_bytes()
    header = 8 + int.from_bytes(whole[:8], "little")
    for place in range(0, header, 11):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ flip]) + whole[place + 1 :])
        try:
            release = sf.load(path)
        except FileFormatError:
            continue
        with np.errstate(all="ignore"):
            low, high = release.band(from_unit(release.box, np.full((1, 1), 0.5)))
        assert low.shape == high.shape == (1,)
