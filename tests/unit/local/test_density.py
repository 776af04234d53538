"""Densities: lattice masses of known distributions, along each column, by every randomizer."""

import math

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ParameterError
from sfumato.faces.collected import one_column
from sfumato.local.density import walsh_hadamard
from sfumato.local.protocol import from_json
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
    assert sf.local.Density(PLANE, epsilon=1.0, lattice=11, randomizer="hadamard").questions == 127
    assert sf.local.Density(LINE, epsilon=1.0, lattice=2, randomizer="hadamard").questions == 1
    assert sf.local.Density(LINE, epsilon=1.0, lattice=8, randomizer="hadamard").questions == 7
    assert sf.local.Density(LINE, epsilon=1.0, lattice=9, randomizer="hadamard").questions == 15
    assert sf.local.Density(PLANE, epsilon=1.0, lattice=11, randomizer="bit").questions == 121


def test_lattices():
    assert sf.local.Density(PLANE, epsilon=1.0, lattice=5, randomizer="hadamard").shape == (5, 5)
    assert sf.local.Density(PLANE, epsilon=1.0, lattice=[5, 3], randomizer="hadamard").shape == (5, 3)
    assert sf.local.Density(PLANE, epsilon=1.0, lattice=[5, 3], randomizer="hadamard").lattice == (5, 3)
    assert sf.local.Density(SPACE, epsilon=1.0, lattice=(5, 3, 2), randomizer="hadamard").points == 30


@pytest.mark.parametrize("lattice", [1, 0, -3, (3,), (3, 4, 5), (3, 1), 2.5, "11", None, True])
def test_lattices_need_two_points_along_each_column(lattice):
    with pytest.raises(ParameterError, match="lattice"):
        sf.local.Density(PLANE, epsilon=1.0, lattice=lattice, randomizer="hadamard")


def test_lattices_too_large_are_refused():
    with pytest.raises(ParameterError, match="at most 1,048,576"):
        sf.local.Density(PLANE, epsilon=1.0, lattice=1025, randomizer="hadamard")
    assert sf.local.Density(PLANE, epsilon=1.0, lattice=1024, randomizer="hadamard").points == 2**20


def test_unknown_randomizers_and_columns_are_refused():
    with pytest.raises(ParameterError, match=r"randomizer must be one of 'auto', 'hadamard'"):
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
        sf.local.Density(LINE, epsilon=1e-12, lattice=3, randomizer="hadamard")
    assert len(sf.local.Density(LINE, epsilon=1e300, lattice=3, randomizer="hadamard").encode([0.3], user=1)) == 11


# --- what is public and what is told ----------------------------------------------------------------------------


def test_the_transform_is_that_of_the_matrix():
    values = np.random.default_rng(1).normal(size=16)
    matrix = np.array([[(-1.0) ** bin(i & j).count("1") for j in range(16)] for i in range(16)])
    assert walsh_hadamard(values) == pytest.approx(matrix @ values)
    assert walsh_hadamard(np.array([3.0])).tolist() == [3.0]


def test_the_bit_is_the_sign_of_a_rounded_point_in_a_public_row(unflipped):
    """As a device in another language would do it: docs/wire-format.md."""
    protocol = sf.local.Density(SPACE, epsilon=1.0, lattice=(5, 3, 4), seed=11, randomizer="hadamard")
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
    protocol = sf.local.Density(LINE, epsilon=1.0, lattice=5, seed=3, randomizer="hadamard")
    users = np.arange(100_000, dtype=np.uint64)
    for value in (0.0, 0.25, 1.7, 3.999, 4.0):
        scaled = protocol._scaled(np.full((1, len(users)), value))
        cells = protocol._cells(scaled, public_words(3, users), users)
        assert {*np.unique(cells)} <= {math.floor(value), math.ceil(value)}
        assert cells.mean() == pytest.approx(value, abs=6.5 * 0.5 / math.sqrt(len(users)) + 2**-16)


@pytest.mark.parametrize("side", [(0, 5e-324), (0, 1e-310), (-8e307, 8e307)])
def test_boxes_as_small_and_large_as_can_be(side, recwarn):
    box = sf.Box([side])
    for protocol in (
        sf.local.Density(box, epsilon=1.0, lattice=3, randomizer="hadamard"),
        sf.local.SmoothQueries(box, epsilon=1.0),
    ):
        for value in (*side, math.nan):
            assert len(protocol.encode([value], user=1)) == 11
    assert not recwarn


# --- lattice masses ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("box", "lattice"), [(LINE, 5), (PLANE, (3, 4)), (SPACE, (2, 3, 2))])
def test_people_at_one_lattice_point(unflipped, box, lattice):
    """All signs are known without error once every question was asked: the mass is where the people are."""
    protocol = sf.local.Density(box, epsilon=40.0, lattice=lattice, seed=5, randomizer="hadamard")
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
    protocol = sf.local.Density(SPACE, epsilon=30.0, lattice=(5, 2, 2), seed=5, randomizer="hadamard")
    records = np.random.default_rng(1).uniform(SPACE.low, SPACE.high, size=(200_000, 3))
    records[:, 0] = np.sqrt(records[:, 0])  # density 2 x
    release = collected(protocol, records)
    points = np.array([[x, 5.0, 0.0] for x in (0.25, 0.5, 0.75)])
    assert release(points) * 100 == pytest.approx([0.5, 1.0, 1.5], abs=0.15)


def test_few_reports_are_a_release_too():
    protocol = sf.local.Density(PLANE, epsilon=1.0, lattice=11, seed=5, randomizer="hadamard")
    release = collected(protocol, np.array([[0.5, 0.5]]))
    assert np.isfinite(release.masses).all()
    assert (release(np.array([[0.5, 0.0]])) >= 0).all()
    assert release.integrate() == pytest.approx(1.0)
    assert release.reports == 1


def test_the_spread_of_a_mass():
    protocol = sf.local.Density(PLANE, epsilon=1.0, lattice=11, randomizer="hadamard")
    assert protocol.spread(1.0) == pytest.approx(4 * 127 / 128**2)
    assert sf.local.Density(PLANE, epsilon=1.0, lattice=11, randomizer="bit").spread(1.0) == 1.0


# --- circles --------------------------------------------------------------------------------------------------------

HOURS = sf.Box({"hour": sf.Periodic(0, 24)})


@pytest.mark.parametrize("randomizer", ["hadamard", "bit"])
def test_a_lattice_goes_round_a_circle(randomizer):
    """Everybody just before midnight: once all of it lay at one end, and the band missed what was missing at the other.

    Estimates are within .0045, so that .03 is seven deviations; both fail in less than one of ten million runs.
    """
    protocol = sf.local.Density(HOURS, epsilon=12.0, lattice=8, seed=1, randomizer=randomizer)
    release = collected(protocol, np.full((6000, 1), 23.5))
    places = np.arange(9) * 3.0
    truth = np.array([5 / 6, 0, 0, 0, 0, 0, 0, 1 / 6, 5 / 6]) / 3  # half an hour before the point at 24, which is 0
    assert release([0.0]) == release([24.0]) == release([48.0])
    assert np.abs(release(places) - truth).max() < 0.03
    low, high = release.band(places, 1 - 1e-8)
    assert (low <= truth + 1e-12).all() and (truth <= high + 1e-12).all()
    assert release.integrate() == pytest.approx(1.0)
    assert release.integrate((21, 3)) > 0.5


def test_circles_beside_other_columns():
    protocol = sf.local.Density(
        sf.Box({"x": (0, 1), "hour": HOURS.columns[0]}), 20.0, lattice=(3, 4), seed=1, randomizer="hadamard"
    )
    release = collected(protocol, np.tile([0.5, 23.0], (6000, 1)))
    assert release.lattice.wrapped == (False, True)
    assert release([[0.5, 0.0]]) == release([[0.5, 24.0]])
    assert release([[0.5, 0.0]])[0] == pytest.approx(5 / 6 / 6 / 0.5, abs=0.05)
    assert one_column(release, "hour")([0.0]) == one_column(release, "hour")([24.0])


def test_files_keep_circles_and_old_ones_have_none(tmp_path):
    protocol = sf.local.Density(HOURS, epsilon=4.0, lattice=8, seed=1, randomizer="hadamard")
    protocol.save(tmp_path / "p.json")
    assert sf.local.load(tmp_path / "p.json") == protocol
    old = protocol.to_json()
    assert old["parameters"].pop("circles") is True
    before = from_json(old)
    assert before.wrapped == (False,) and before.fingerprint != protocol.fingerprint
    assert before.to_json() == old
    release = collected(protocol, np.full((100, 1), 1.0))
    release.save(tmp_path / "c.sfumato")
    assert sf.load(tmp_path / "c.sfumato")([1.0, 24.0]).tolist() == release([1.0, 24.0]).tolist()
    assert "circles" not in sf.local.Density(sf.Box({"x": (0, 1)}), 1.0, seed=1).settings()
    fields = collected(before, np.full((100, 1), 1.0)).fields()
    assert "circles" not in fields


# --- what is chosen -------------------------------------------------------------------------------------------------


def test_the_lattice_is_chosen_from_epsilon_and_people():
    sides = [sf.local.Density(LINE, epsilon=1.0, people=n).lattice for n in (10**3, 10**5, 10**7)]
    assert sides == sorted(sides) and sides[0] < sides[-1]
    assert sf.local.Density(LINE, epsilon=1.0).lattice == sides[1]  # of a hundred thousand
    assert sf.local.Density(LINE, epsilon=4.0).lattice > sides[1] > sf.local.Density(LINE, epsilon=0.1).lattice


def test_the_file_says_which_lattice_and_randomizer_were_chosen(tmp_path):
    protocol = sf.local.Density(LINE, epsilon=1.0, lattice="auto", people=10**4)
    protocol.save(tmp_path / "p.json")
    loaded = sf.local.load(tmp_path / "p.json")
    assert loaded == protocol and loaded.people is None
    assert loaded.settings() == {"lattice": protocol.lattice, "randomizer": "subset"}


def test_other_words_for_a_lattice_are_refused():
    with pytest.raises(ParameterError, match=r"lattice must be 'auto', got lattice='fine'|lattice must be"):
        sf.local.Density(LINE, epsilon=1.0, lattice="fine")
    with pytest.raises(ParameterError, match="people is for lattice='auto'"):
        sf.local.Density(LINE, epsilon=1.0, lattice=5, people=1000)
    with pytest.raises(ParameterError, match="people must be"):
        sf.local.Density(LINE, epsilon=1.0, people=0)


@pytest.mark.parametrize(("epsilon", "name"), [(0.1, "hadamard"), (1.0, "subset"), (17.0, "hadamard")])
def test_the_randomizer_is_chosen_by_variance(epsilon, name):
    assert sf.local.Density(LINE, epsilon=epsilon, lattice=64).randomizer == name
    assert sf.local.Density(sf.Box([(0, 1)] * 2), epsilon=epsilon, lattice=100).randomizer == "hadamard"


def test_masses_by_subsets_are_those_of_the_people():
    """Within seven standard deviations of what is stated."""
    protocol = sf.local.Density(sf.Box([(0, 1)]), epsilon=2.0, lattice=5, seed=3, randomizer="subset")
    records = np.random.default_rng(1).beta(2, 5, size=(40_000, 1))
    collector = protocol.collector()
    collector.add_batch(protocol.encode_many(records))
    scaled = records[:, 0] * 4
    truth = np.maximum(0, 1 - np.abs(scaled[:, None] - np.arange(5))).mean(axis=0)
    release = collector.release()
    assert release.masses.sum() == pytest.approx(1)
    # A dither rounds as well: a fair share of people who differ, at most a quarter each.
    assert np.abs(release.masses - truth).max() < 7 * math.hypot(release.mass_error, 0.5 / math.sqrt(len(records)))
