"""Questions about where records are: no records are missed by more than their masses allow."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.bases.density.placement import Placement
from sfumato.bases.density.questions import position, within
from sfumato.bases.places import Places

LINE, DAY = sf.Box([(0, 1)]), sf.Box([sf.Periodic(0, 1)])
HALF = 0.5 / 2**15
LATTICES = [sf.Binning(9), sf.SplitLattice(12, 0.06), sf.SplitLattice(7, 0.01)]
RANGES = [[(0.0, 0.4)], [(0.31, 0.33)], [(0.5, 0.5)], [(0.2, 0.9)], [(0.0, 0.1), (0.8, 1.0)]]


def records(rng):
    """Single ones, clusters at an edge, lattice points, samples."""
    for place in (0.0, 0.31, 0.4, 0.5, 0.9, 1.0, rng.random()):
        yield np.array([place])
        yield np.clip(place + rng.normal(0, 0.003, 20), 0, 1)
    yield np.arange(9) / 8
    yield rng.random(500)


@pytest.mark.parametrize("box", [LINE, DAY])
@pytest.mark.parametrize("lattice", LATTICES)
def test_no_records_are_missed_by_more_than_their_masses_allow(box, lattice):
    asked = within(lattice, box, 0, RANGES, HALF)
    every = np.arange(len(RANGES))
    placement = Placement(Places([every.astype(float)], (every,)), [HALF], [asked.misses])
    for found in records(np.random.default_rng(5)):
        middles = (np.floor(found * 2**15 * (1 - 1e-12)) + 0.5) / 2**15
        masses = lattice.axis_shares(box, 0, middles).toarray().sum(axis=0)
        truth = np.array([sum(((found >= a) & (found <= b)).sum() for a, b in ranges) for ranges in RANGES])
        missed = np.abs(truth - asked.weights @ masses)
        assert (missed <= placement.worst(masses) + 1e-9).all()
        assert (missed <= len(found) * placement.single() + 1e-9).all()


@pytest.mark.parametrize("lattice", LATTICES)
def test_evenly_spread_records_are_counted_right(lattice):
    asked = within(lattice, LINE, 0, RANGES, HALF)
    places = (np.arange(20_000) + 0.5) / 20_000
    masses = lattice.axis_shares(LINE, 0, places).toarray().mean(axis=0)
    sizes = [sum(b - a for a, b in ranges) for ranges in RANGES]
    assert asked.weights @ masses == pytest.approx(sizes, abs=0.02)


def test_a_mean_is_read_off_binned_masses_exactly():
    asked = position(sf.Binning(9), LINE, 0)
    places = np.random.default_rng(1).random(50)
    masses = sf.Binning(9).axis_shares(LINE, 0, places).toarray().mean(axis=0)
    assert asked.weights @ masses == pytest.approx([places.mean() - 0.5], abs=1e-12)
    assert asked.misses.miss.max() < 1e-12
