"""Counts by sign and power of two: which cell, which edges, and which bounds follow."""

import math

import numpy as np
import pytest

import sfumato as sf
from sfumato.bases.statistics.magnitudes import LARGEST, SMALLEST, WIDEST, Magnitudes
from sfumato.core.privacy import Privacy
from sfumato.errors import ParameterError

BOX = sf.Box([(-WIDEST, WIDEST)])
CELLS = Magnitudes()
SIZE = CELLS.size(BOX)


def counts(values, threshold=1.0):
    """Noise-free counts of these values."""
    found = np.bincount(CELLS.index(np.asarray(values, dtype=np.float64)), minlength=SIZE)
    return Magnitudes(threshold).estimate(BOX, found.astype(np.float64), None).tolist()


def test_every_value_lies_in_its_cell():
    generator = np.random.default_rng(1)
    values = np.concatenate(
        [
            generator.choice([-1.0, 1.0], size=4000) * 2.0 ** generator.uniform(SMALLEST - 2, LARGEST, size=4000),
            2.0 ** np.arange(SMALLEST, LARGEST + 1),
            -(2.0 ** np.arange(SMALLEST, LARGEST + 1)),
            np.nextafter(2.0 ** np.arange(SMALLEST + 1, LARGEST), np.inf),
            [0.0, -0.0, 5e-324, -5e-324, WIDEST, -WIDEST],
        ]
    )
    low, high = (edge[CELLS.index(values)] for edge in CELLS.edges())
    small = np.abs(values) <= 2.0**SMALLEST
    assert ((low <= values) & (values <= high))[~small].all()
    assert (CELLS.index(values[small]) == SIZE // 2).all()
    assert (np.abs(values) > np.minimum(np.abs(low), np.abs(high)))[~small].all()  # the inner edge is another cell's


def test_cells_are_mirror_images():
    values = np.array([1e-9, 0.3, 1.0, 7.0, 1e18])
    assert (CELLS.index(values) + CELLS.index(-values)).tolist() == [SIZE - 1] * 5
    low, high = CELLS.edges()
    assert low.tolist() == (-high[::-1]).tolist()
    assert (low[0], high[-1]) == (-WIDEST, WIDEST)
    assert (np.diff(low) >= 0).all()


@pytest.mark.parametrize(
    ("values", "bounds"),
    [
        ([3.0, 100.0], [2.0, 128.0]),
        ([-3.0, 100.0], [-4.0, 128.0]),
        ([-3.0, -100.0], [-128.0, -2.0]),
        ([1.0], [0.5, 1.0]),
        ([1.0000001], [1.0, 2.0]),
        ([0.0], [-(2.0**SMALLEST), 2.0**SMALLEST]),
        ([0.0, 5.0], [0.0, 8.0]),
        ([-WIDEST, WIDEST], [-WIDEST, WIDEST]),
    ],
)
def test_bounds_are_the_outer_edges_of_what_is_there(values, bounds):
    assert counts(values) == bounds


def test_a_cell_must_reach_the_threshold():
    assert counts([3.0] * 5 + [100.0], threshold=2.0) == [2.0, 4.0]
    assert counts([3.0] * 5 + [100.0] * 2, threshold=2.0) == [2.0, 128.0]


def test_the_fullest_cell_if_none_does():
    assert counts([3.0] * 5 + [100.0], threshold=50.0) == [2.0, 4.0]
    low, high = counts([], threshold=50.0)
    assert low < high


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e6])
def test_whatever_the_noise_the_bounds_are_bounds(size):
    for seed in range(50):
        noise = np.random.default_rng(seed).laplace(size=SIZE) * size
        low, high = Magnitudes(3.0).estimate(BOX, noise, None)
        assert -WIDEST <= low < high <= WIDEST


def test_neighbours_move_two_counts_by_one():
    row, add = Privacy(epsilon=1.0), Privacy(epsilon=1.0, neighbours="add-remove")
    assert (CELLS.apart(BOX, row, "l1"), CELLS.apart(BOX, add, "l1"), CELLS.apart(BOX, add, "l2")) == (2, 1, 1)
    assert 2 <= CELLS.apart(BOX, row, "l2") ** 2 <= 2 * (1 + 1e-12)
    assert CELLS.apart(BOX, Privacy(epsilon=1.0, unit=sf.Person("id", 3)), "l1") == 6


def test_bounds_have_names_and_no_interval():
    assert CELLS.labels(BOX) == [["low", "high"]]
    with pytest.raises(ParameterError, match="have no interval"):
        CELLS.limits(BOX, np.zeros(SIZE), np.zeros(SIZE), None)


def test_the_threshold_is_kept():
    assert Magnitudes(12.5).to_json() == {"statistic": "bounds", "threshold": 12.5}
    assert math.isfinite(Magnitudes().threshold)
