"""Densities: lattice masses of known distributions, along each column, by every randomizer."""

import math

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ParameterError
from sfumato.local.density import walsh_hadamard
from sfumato.local.public import public_below, public_dither, public_words

LINE = sf.Box({"t": (0.0, 4.0)})
PLANE = sf.Box({"x": (0, 1), "y": (-1, 1)})
SPACE = sf.Box([(0, 1), (0, 10), (-5, 5)])


@pytest.fixture
def unflipped(monkeypatch):
    """No bit is flipped: what remains is which question is asked, and the public rounding."""
    monkeypatch.setattr("sfumato.core.sampling.words32", lambda count: np.full(count, 2**32 - 1, dtype=np.uint32))


def collected(protocol, records):
    collector = protocol.collector()
    assert collector.add_batch(protocol.encode_many(records)) == len(records)
    return collector.release()


def shares(protocol, records):
    """The exact lattice masses: each record is shared among the points around it, in proportion to nearness."""
    scaled = (records - protocol.box.low) / (protocol.box.high - protocol.box.low) * (np.array(protocol.shape) - 1)
    masses = np.ones((len(records), 1))
    for column, size in zip(scaled.T, protocol.shape, strict=True):
        hats = np.maximum(0.0, 1 - np.abs(column[:, None] - np.arange(size)))
        masses = (masses[:, :, None] * hats[:, None, :]).reshape(len(records), -1)
    return masses.mean(axis=0)


# --- parameters -------------------------------------------------------------------------------------------------


def test_questions_are_the_rows_of_a_hadamard_matrix_but_the_first():
    assert sf.local.Density(PLANE, epsilon=1.0, lattice=11).questions == 127
    assert sf.local.Density(LINE, epsilon=1.0, lattice=2).questions == 1
    assert sf.local.Density(LINE, epsilon=1.0, lattice=8).questions == 7
    assert sf.local.Density(LINE, epsilon=1.0, lattice=9).questions == 15
    assert sf.local.Density(PLANE, epsilon=1.0, lattice=11, randomizer="bit").questions == 121


def test_lattices():
    assert sf.local.Density(PLANE, epsilon=1.0, lattice=5).shape == (5, 5)
    assert sf.local.Density(PLANE, epsilon=1.0, lattice=[5, 3]).shape == (5, 3)
    assert sf.local.Density(PLANE, epsilon=1.0, lattice=[5, 3]).lattice == (5, 3)
    assert sf.local.Density(SPACE, epsilon=1.0, lattice=(5, 3, 2)).points == 30


@pytest.mark.parametrize("lattice", [1, 0, -3, (3,), (3, 4, 5), (3, 1), 2.5, "11", None, True])
def test_lattices_need_two_points_along_each_column(lattice):
    with pytest.raises(ParameterError, match="lattice"):
        sf.local.Density(PLANE, epsilon=1.0, lattice=lattice)


def test_lattices_too_large_are_refused():
    with pytest.raises(ParameterError, match="at most 1,048,576"):
        sf.local.Density(PLANE, epsilon=1.0, lattice=1025)
    assert sf.local.Density(PLANE, epsilon=1.0, lattice=1024).points == 2**20


def test_unknown_randomizers_and_columns_are_refused():
    with pytest.raises(ParameterError, match=r"randomizer must be one of 'hadamard'"):
        sf.local.Density(PLANE, epsilon=1.0, randomizer="magic")
    with pytest.raises(ParameterError, match="column 'a' is categorical"):
        sf.local.Density(sf.Box({"a": sf.Categorical([0, 1])}), epsilon=1.0)


@pytest.mark.parametrize("randomizer", ["bit", "hadamard", "laplace"])
def test_randomizers_that_serve_any_epsilon(randomizer):
    for epsilon in (1e-3, 20.0):
        sf.local.Density(LINE, epsilon=epsilon, lattice=3, randomizer=randomizer).encode([0.3], user=1)


@pytest.mark.parametrize(("randomizer", "epsilon"), [("loglog", 1.5), ("likelihood", 9.0), ("privunit", 17.0)])
def test_randomizers_that_do_not(randomizer, epsilon):
    with pytest.raises(ParameterError, match="epsilon"):
        sf.local.Density(LINE, epsilon=epsilon, lattice=3, randomizer=randomizer, seed=1)


def test_an_epsilon_too_small_to_say_anything_is_refused():
    with pytest.raises(ParameterError, match="epsilon"):
        sf.local.Density(LINE, epsilon=1e-12, lattice=3)
    assert len(sf.local.Density(LINE, epsilon=1e300, lattice=3).encode([0.3], user=1)) == 11


# --- what is public and what is told ----------------------------------------------------------------------------


def test_the_transform_is_that_of_the_matrix():
    values = np.random.default_rng(1).normal(size=16)
    matrix = np.array([[(-1.0) ** bin(i & j).count("1") for j in range(16)] for i in range(16)])
    assert walsh_hadamard(values) == pytest.approx(matrix @ values)
    assert walsh_hadamard(np.array([3.0])).tolist() == [3.0]


def test_the_bit_is_the_sign_of_a_rounded_point_in_a_public_row(unflipped):
    """As a device in another language would do it: docs/wire-format.md."""
    protocol = sf.local.Density(SPACE, epsilon=1.0, lattice=(5, 3, 4), seed=11)
    records = np.random.default_rng(2).uniform(SPACE.low, SPACE.high, size=(200, 3))
    for user, record in enumerate(records):
        word = public_words(11, np.array([user], dtype=np.uint64))
        more = public_words(11, np.array([user], dtype=np.uint64), 3)
        dithers = [public_dither(word, 0)[0], public_dither(word, 1)[0], public_dither(more, 0)[0]]
        scaled = (record - SPACE.low) / (SPACE.high - SPACE.low) * (np.array([5, 3, 4]) - 1)
        i, j, k = (math.floor(value + dither) for value, dither in zip(scaled, dithers, strict=True))
        row = int(public_below(word, 63)[0]) + 1
        expected = bin(((i * 3 + j) * 4 + k) & row).count("1") % 2
        assert protocol.encode(record, user=user)[-1] == expected


def test_rounding_is_to_a_neighbour_and_right_on_average():
    protocol = sf.local.Density(LINE, epsilon=1.0, lattice=5, seed=3)
    users = np.arange(100_000, dtype=np.uint64)
    for value in (0.0, 0.25, 1.7, 3.999, 4.0):
        scaled = protocol._scaled(np.full((1, len(users)), value))
        cells = protocol._cells(scaled, public_words(3, users), users)
        assert {*np.unique(cells)} <= {math.floor(value), math.ceil(value)}
        assert cells.mean() == pytest.approx(value, abs=6.5 * 0.5 / math.sqrt(len(users)) + 2**-16)


@pytest.mark.parametrize("side", [(0, 5e-324), (0, 1e-310), (-8e307, 8e307)])
def test_boxes_as_small_and_large_as_can_be(side, recwarn):
    box = sf.Box([side])
    for protocol in (sf.local.Density(box, epsilon=1.0, lattice=3), sf.local.SmoothQueries(box, epsilon=1.0)):
        for value in (*side, math.nan):
            assert len(protocol.encode([value], user=1)) == 11
    assert not recwarn


# --- lattice masses ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("box", "lattice"), [(LINE, 5), (PLANE, (3, 4)), (SPACE, (2, 3, 2))])
def test_people_at_one_lattice_point(unflipped, box, lattice):
    """All signs are known without error once every question was asked: the mass is where the people are."""
    protocol = sf.local.Density(box, epsilon=40.0, lattice=lattice, seed=5)
    for point in (0, protocol.points // 2, protocol.points - 1):
        place = np.array(np.unravel_index(point, protocol.shape)) / (np.array(protocol.shape) - 1)
        record = box.low + place * (box.high - box.low)
        release = collected(protocol, np.tile(record, (1000, 1)))
        expected = np.zeros(protocol.points)
        expected[point] = 1.0
        assert release.masses == pytest.approx(expected, abs=1e-8)


@pytest.mark.few(3)
@pytest.mark.parametrize("randomizer", ["hadamard", "bit", "laplace", "privunit"])
@pytest.mark.parametrize(("box", "lattice"), [(LINE, 4), (PLANE, (2, 3))])
def test_masses_of_known_distributions(randomizer, box, lattice):
    """Within seven of their own standard deviations; hardly any noise, so that it is the lattice that is tested."""
    epsilon, people = {"laplace": (2000.0, 3000), "privunit": (12.0, 2000)}.get(randomizer, (30.0, 20_000))
    protocol = sf.local.Density(box, epsilon=epsilon, lattice=lattice, randomizer=randomizer, seed=5)
    generator = np.random.default_rng(8)
    records = box.low + generator.beta(2, 5, size=(people, box.dimension)) * (box.high - box.low)
    release = collected(protocol, records)
    assert release.masses.shape == (protocol.points,)
    assert np.abs(release.masses - shares(protocol, records)).max() < 7 * release.mass_error
    assert release.mass_error < 0.06


@pytest.mark.parametrize("randomizer", ["likelihood", "loglog"])
def test_masses_by_public_numbers(randomizer):
    protocol = sf.local.Density(LINE, epsilon=1.0, lattice=3, randomizer=randomizer, seed=5)
    records = 4 * np.random.default_rng(8).beta(2, 5, size=(60_000, 1))
    release = collected(protocol, records)
    assert np.abs(release.masses - shares(protocol, records)).max() < 7 * release.mass_error
    assert release.mass_error < 0.05


def test_a_known_density_comes_back():
    """A triangle on three columns of which one rises: the function itself, up to its lattice."""
    protocol = sf.local.Density(SPACE, epsilon=30.0, lattice=(5, 2, 2), seed=5)
    records = np.random.default_rng(1).uniform(SPACE.low, SPACE.high, size=(200_000, 3))
    records[:, 0] = np.sqrt(records[:, 0])  # density 2 x
    release = collected(protocol, records)
    points = np.array([[x, 5.0, 0.0] for x in (0.25, 0.5, 0.75)])
    assert release(points) * 100 == pytest.approx([0.5, 1.0, 1.5], abs=0.15)


def test_few_reports_are_a_release_too():
    protocol = sf.local.Density(PLANE, epsilon=1.0, lattice=11, seed=5)
    release = collected(protocol, np.array([[0.5, 0.5]]))
    assert np.isfinite(release.masses).all()
    assert (release(np.array([[0.5, 0.0]])) >= 0).all()
    assert release.integrate() == pytest.approx(1.0)
    assert release.reports == 1


def test_the_spread_of_a_mass():
    protocol = sf.local.Density(PLANE, epsilon=1.0, lattice=11)
    assert protocol.spread(1.0) == pytest.approx(4 * 127 / 128**2)
    assert sf.local.Density(PLANE, epsilon=1.0, lattice=11, randomizer="bit").spread(1.0) == 1.0
