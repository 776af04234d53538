"""Lattices of masses: every record spreads exactly one, near to where it is."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import sfumato as sf
from sfumato.bases.density.binning import along, contract, lattice_from_json, whole_shares
from sfumato.errors import ParameterError, ParameterTypeError

LINE = sf.Box({"t": (0, 10)})
DAY = sf.Box({"hour": sf.Periodic(0, 24)})
PLANE = sf.Box({"age": (0, 110), "bmi": (10, 60)})
LATTICES = [sf.Binning(2), sf.Binning(9), sf.SplitLattice(9, 0.8), sf.SplitLattice(9, 1e-6), sf.SplitLattice(7, 10.0)]
PLACES = np.concatenate([np.random.default_rng(1).uniform(size=300), np.linspace(0, 1, 97), [0.0, 1.0, 0.5]])


@pytest.mark.parametrize("box", [LINE, DAY])
@pytest.mark.parametrize("lattice", LATTICES)
def test_shares_are_not_negative_and_add_up_to_one(lattice, box):
    shares = lattice.axis_shares(box, 0, PLACES)
    assert shares.shape == (len(PLACES), lattice.size(box))
    assert shares.data.min() >= 0
    assert np.asarray(shares.sum(axis=1)).ravel() == pytest.approx(1.0, abs=1e-14)


def test_binning_shares_a_record_between_its_neighbours():
    shares = sf.Binning(5).axis_shares(LINE, 0, np.array([0.0, 0.1, 0.25, 0.9, 1.0])).toarray()
    expected = [[1, 0, 0, 0, 0], [0.6, 0.4, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0, 0, 0.4, 0.6], [0, 0, 0, 0, 1]]
    assert shares == pytest.approx(np.array(expected), abs=1e-12)


def test_binning_goes_round_the_circle():
    shares = sf.Binning(4).axis_shares(DAY, 0, np.array([0.0, 0.875, 1.0])).toarray()
    assert shares == pytest.approx(np.array([[1, 0, 0, 0], [0.5, 0, 0, 0.5], [1, 0, 0, 0]]), abs=1e-12)


@pytest.mark.parametrize("points", [2, 3, 17])
def test_binning_keeps_the_mean(points):
    """Linear binning reproduces linear functions: masses times positions give back the place."""
    lattice = sf.Binning(points)
    assert lattice.axis_shares(LINE, 0, PLACES) @ lattice.positions(LINE, 0) == pytest.approx(PLACES, abs=1e-12)


@pytest.mark.parametrize(("box", "width"), [(LINE, 10.0), (DAY, 24.0)])
def test_split_shares_are_gaussian_values_divided_by_their_sum(box, width):
    deviation, count = 0.9, 15
    lattice = sf.SplitLattice(count, deviation)
    nodes = lattice.positions(box, 0) * width
    apart = PLACES[:, None] * width - nodes
    values = np.exp(-0.5 * (apart / deviation) ** 2)
    if box is DAY:
        values = sum(np.exp(-0.5 * ((apart + 24 * k) / deviation) ** 2) for k in range(-3, 4))
    expected = values / values.sum(axis=1, keepdims=True)
    assert lattice.axis_shares(box, 0, PLACES).toarray() == pytest.approx(expected, abs=1e-8)


def test_a_very_narrow_split_gives_all_to_the_nearest_point():
    shares = sf.SplitLattice(11, 1e-9).axis_shares(LINE, 0, np.array([0.0, 0.149, 0.151, 1.0])).toarray()
    assert shares.argmax(axis=1).tolist() == [0, 1, 2, 10]
    assert shares.max(axis=1).tolist() == [1.0] * 4


@pytest.mark.parametrize("width", [1e-100, 1e-200, 5e-324])
def test_a_width_whose_square_vanishes_still_gives_all_to_the_nearest_point(width):
    with np.errstate(all="raise", under="ignore"):
        shares = sf.SplitLattice(11, width).axis_shares(LINE, 0, np.array([0.0, 0.149, 0.151])).toarray()
    assert shares.argmax(axis=1).tolist() == [0, 1, 2]
    assert shares.sum(axis=1).tolist() == [1.0] * 3


def test_widths_and_points_are_per_column():
    lattice = sf.SplitLattice((5, 7), (8.0, 4.0))
    assert lattice.shape(PLANE) == (5, 7)
    assert lattice.size(PLANE) == 35
    alone = sf.SplitLattice(7, 4.0).axis_shares(sf.Box({"bmi": (10, 60)}), 0, PLACES)
    assert np.array_equal(lattice.axis_shares(PLANE, 1, PLACES).toarray(), alone.toarray())
    assert along(lattice, [1], 2) == sf.SplitLattice((7,), (4.0,))
    assert along(sf.Binning(6), [0], 2) == sf.Binning((6,))
    assert along(sf.SplitLattice(6, 2.0), [0, 1], 2) == sf.SplitLattice((6, 6), (2.0, 2.0))


def test_the_longest_record_is_the_longest_of_all():
    lattice = sf.SplitLattice((5, 7), (30.0, 9.0))
    shares = [lattice.axis_shares(PLANE, i, PLACES).toarray() for i in range(2)]
    every = np.einsum("ma,nb->mnab", shares[0][:60], shares[1][:60])
    found = lattice.longest(PLANE, [PLACES[:60], PLACES[:60]])
    assert found == pytest.approx(np.sqrt((every**2).sum(axis=(2, 3))).max())
    assert sf.Binning(9).longest(LINE, [np.linspace(0, 1, 9)]) == pytest.approx(1.0)


# --- whole shares -----------------------------------------------------------------------------------------------


@pytest.mark.few(14)
@pytest.mark.parametrize("total", [1, 7, 2**10, 2**24])
@pytest.mark.parametrize("box", [LINE, DAY])
@pytest.mark.parametrize("lattice", LATTICES)
def test_whole_shares_add_up_to_exactly_the_total(lattice, box, total):
    shares = lattice.axis_shares(box, 0, PLACES)
    whole = whole_shares(shares, total)
    assert whole.dtype == np.int64
    assert whole.data.min() >= 0
    assert (np.asarray(whole.sum(axis=1)).ravel() == total).all()
    assert np.abs(whole.toarray() - shares.toarray() * total).max() <= lattice.size(box)


@given(st.lists(st.lists(st.floats(1e-12, 1), min_size=1, max_size=6), min_size=1, max_size=5), st.integers(1, 2**24))
def test_whole_shares_of_any_rows(rows, total):
    data = np.concatenate([np.array(row) / sum(row) for row in rows])
    starts = np.cumsum([0, *map(len, rows)])
    indices = np.concatenate([np.arange(len(row)) for row in rows])
    whole = whole_shares(sparse.csr_array((data, indices, starts), shape=(len(rows), 6)), total)
    assert (whole.sum(axis=1) == total).all()
    assert whole.data.min() >= 0


def test_contract_applies_a_table_to_each_axis():
    generator = np.random.default_rng(5)
    tensor, one, two = generator.normal(size=(3, 4)), generator.normal(size=(5, 3)), generator.normal(size=(2, 4))
    assert contract([one, two], tensor) == pytest.approx(one @ tensor @ two.T)
    assert contract([sparse.csr_array(one), two], tensor) == pytest.approx(one @ tensor @ two.T)


# --- plain data and refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "lattice", [sf.Binning(4), sf.Binning((4, 5)), sf.SplitLattice(4, 1.5), sf.SplitLattice((4, 5), (0.5, 1 / 3))]
)
def test_a_lattice_comes_back_from_plain_data(lattice):
    assert lattice_from_json(lattice.to_json()) == lattice


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"name": "binning"},
        {"name": "os.system", "points": 4},
        {"name": "binning", "points": 4, "width": 1.0},
        {"name": "binning", "points": 4, "extra": 1},
        {"name": "split", "points": 4},
        {"name": "binning", "points": 1},
        {"name": "binning", "points": 0},
        {"name": "binning", "points": -5},
        {"name": "binning", "points": 4.0},
        {"name": "binning", "points": True},
        {"name": "binning", "points": "44"},
        {"name": "binning", "points": []},
        {"name": "binning", "points": [[4]]},
        {"name": "binning", "points": None},
        {"name": "binning", "points": {"a": 4}},
        {"name": "split", "points": 4, "width": 0.0},
        {"name": "split", "points": 4, "width": -1.0},
        {"name": "split", "points": 4, "width": math.nan},
        {"name": "split", "points": 4, "width": math.inf},
        {"name": "split", "points": 4, "width": "1"},
        {"name": "split", "points": 4, "width": [1.0, None]},
    ],
)
def test_hostile_plain_data_are_refused(data):
    with pytest.raises(ParameterError):
        lattice_from_json(data)


def test_too_few_points_say_how_many_are_needed():
    with pytest.raises(ParameterError, match=r"at least 2.*points=1"):
        sf.Binning(1)
    with pytest.raises(ParameterTypeError, match="points"):
        sf.Binning(2.5)


def test_a_wrong_number_of_points_or_widths_is_named():
    with pytest.raises(ParameterError, match=r"points.*one per column \(2\).*\(3, 4, 5\)"):
        sf.Binning((3, 4, 5)).shape(PLANE)
    with pytest.raises(ParameterError, match=r"width.*one per column \(2\).*\(1.0,\)"):
        sf.SplitLattice(4, (1.0,)).axis_shares(PLANE, 0, np.zeros(1))


@pytest.mark.parametrize(
    ("lattice", "column"), [(sf.SplitLattice(4, 51.0), "bmi"), (sf.SplitLattice(4, (111.0, 9.0)), "age")]
)
def test_shares_wider_than_the_box_are_refused(lattice, column):
    with pytest.raises(ParameterError, match=f"width must not exceed the box: column '{column}'"):
        lattice.axis_shares(PLANE, PLANE.names.index(column), np.zeros(1))


def test_a_lattice_too_large_is_refused_with_advice():
    with pytest.raises(ParameterError, match=r"100000 x 100000.*lower points=100000 or enlarge the bandwidth"):
        sf.Binning(100_000).shape(PLANE)


def test_four_columns_are_refused_with_advice():
    with pytest.raises(ParameterError, match=r"at most 3 columns, got 4.*Release several densities"):
        sf.Binning(2).shape(sf.Box([(0, 1)] * 4))


def test_categories_have_no_lattice():
    with pytest.raises(ParameterError, match="categorical"):
        sf.Binning(2).shape(sf.Box({"sex": sf.Categorical(["F", "M"])}))
