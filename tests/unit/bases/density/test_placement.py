"""What a lattice cannot show: the envelope holds for any records, and what is rough is found."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.bases.density.kernel import GaussianKernel
from sfumato.bases.density.placement import Placement, rough_masses
from sfumato.bases.density.reconstruction import MeasureReconstruction
from sfumato.bases.places import Places

LINE, CIRCLE = sf.Box([(0, 10)]), sf.Box([sf.Periodic(0, 10)])
PLANE = sf.Box({"x": (0, 10), "y": sf.Periodic(0, 5)})
LATTICES = {
    "binning": (LINE, sf.Binning(12), 1.0),
    "coarse": (LINE, sf.SplitLattice(6, 0.4), 0.8),
    "wide": (LINE, sf.SplitLattice(15, 0.9), 1.0),
    "circle": (CIRCLE, sf.Binning(9), 1.0),
    "round": (CIRCLE, sf.SplitLattice(10, 0.5), 0.9),
    "plane": (PLANE, sf.Binning((9, 7)), (1.0, 0.7)),
    "split plane": (PLANE, sf.SplitLattice((8, 6), (0.5, 0.4)), (1.1, 0.7)),
}


def built(name, orders=None):
    box, lattice, bandwidth = LATTICES[name]
    linear = MeasureReconstruction(box, GaussianKernel.of(bandwidth, box), lattice, 1e-6)
    unit = np.random.default_rng(1).uniform(size=(40, box.dimension))
    orders = orders or (0,) * box.dimension
    return linear, unit, Placement.of(linear, Places.of(unit), orders, [1 / 2048] * box.dimension), orders


def missed(linear, unit, orders, records, counted):
    """The sum over records of kernel minus reconstruction, which sees them where they are counted; and their masses."""
    truth, given, shares = np.ones((len(unit), len(records))), np.ones((len(unit), len(records))), None
    for i, column in enumerate(linear.box.intervals()):
        truth *= linear.kernel.axis_values(column, i, unit[:, i], records[:, i], orders[i])
        features = linear.axis_features(i, counted[:, i])
        given *= linear.axis_weights(i, unit[:, i], orders[i]) @ features.T
        shares = features if shares is None else np.einsum("ra,rb->rab", shares, features)
    return (truth - given).sum(axis=1), shares.sum(axis=0)


@pytest.mark.parametrize("name", LATTICES)
def test_no_records_are_missed_by_more_than_their_masses_allow(name):
    """A hunt: single records, equal ones, clusters, grids, each somewhere in its counting cell."""
    linear, unit, placement, orders = built(name)
    rng = np.random.default_rng(2)
    for trial in range(60):
        records = rng.uniform(size=(rng.choice([1, 1, 3, 30]), linear.box.dimension))
        if trial % 3 == 0:  # in a cluster narrower than a cell
            records = np.clip(records[:1] + rng.normal(0, 0.02, size=(20, linear.box.dimension)), 0, 1)
        counted = (np.minimum(np.floor(records * 1024), 1023) + 0.5) / 1024
        found, masses = missed(linear, unit, orders, records, counted)
        assert (np.abs(found) <= placement.worst(masses) * (1 + 1e-9)).all()
        assert (np.abs(found) <= len(records) * placement.single() * (1 + 1e-9)).all()


@pytest.mark.parametrize("name", ["binning", "coarse", "round"])
def test_the_bound_holds_for_slopes_too(name):
    linear, unit, placement, orders = built(name, (1,))
    for place in np.random.default_rng(3).uniform(size=(60, 1, 1)):
        found, masses = missed(linear, unit, orders, place, place)
        assert (np.abs(found) <= placement.worst(masses) * (1 + 1e-9)).all()


def test_the_bound_is_not_a_hundred_times_too_wide():
    """Of smooth records it allows all misses in one direction: no more than a few times the mean size of a miss."""
    linear, unit, placement, orders = built("binning")
    records = (np.arange(2000)[:, None] + 0.5) / 2000
    sizes = np.mean([np.abs(missed(linear, unit, orders, r[None], r[None])[0]) for r in records[::10]], axis=0)
    masses = missed(linear, unit, orders, records, records)[1]
    assert (placement.worst(masses) < 4 * 2000 * sizes + 0.02 * 2000).all()


@pytest.mark.parametrize("name", ["binning", "wide", "circle", "round", "plane", "split plane"])
@pytest.mark.parametrize("offset", [None, 0.0, 0.5])
def test_records_that_lie_alike_are_missed_by_no_more_than_worked_out(name, offset):
    """Evenly spread, on the lattice points, and half-way: a smooth density of many records."""
    linear, unit, placement, _ = built(name)
    axes = []
    for i, column in enumerate(linear.box.intervals()):
        lattice = linear.basis.positions(linear.box, i)
        step = lattice[1] - lattice[0]
        place = (np.arange(100) + 0.5) / 100 if offset is None else lattice + offset * step
        axes.append(place[place < 1] if isinstance(column, sf.Periodic) else place[place <= 1])
    records = np.stack([g.ravel() for g in np.meshgrid(*axes, indexing="ij")], axis=1)
    density = np.prod(1 + 0.5 * np.cos(2 * np.pi * records), axis=1)
    shares, truth, given = None, np.ones((len(unit), len(records))), np.ones((len(unit), len(records)))
    for i, column in enumerate(linear.box.intervals()):
        features = linear.axis_features(i, records[:, i])
        truth *= linear.kernel.axis_values(column, i, unit[:, i], records[:, i])
        given *= linear.axis_weights(i, unit[:, i], 0) @ features.T
        shares = features if shares is None else np.einsum("ra,rb->rab", shares, features)
    weight = 1e6 / density.sum() * density
    masses = np.tensordot(weight, shares, axes=1)
    assert (np.abs((truth - given) @ weight) <= 1.5 * placement.alike(masses, 0.0) + 1e-4 * (truth @ weight)).all()


# --- what is rough ----------------------------------------------------------------------------------------------------


def masses_of(records, linear):
    return linear.axis_features(0, np.atleast_1d(records)).sum(axis=0)


@pytest.mark.parametrize("name", ["binning", "wide", "circle", "round"])
def test_smooth_masses_are_not_rough(name):
    linear = built(name)[0]
    places = (np.arange(4000) + 0.5) / 4000
    wave = 1 + 0.3 * np.cos(2 * np.pi * places)
    masses = wave @ linear.axis_features(0, places)
    assert rough_masses(masses, 1.0, linear.basis, linear.box).max() == 0.0


@pytest.mark.parametrize("name", ["binning", "circle", "round"])
@pytest.mark.parametrize("place", [0.0, 0.31, 0.38, 0.5])
def test_an_atom_is_found_wherever_it_is(name, place):
    """All of it, and little more."""
    linear = built(name)[0]
    flat = masses_of((np.arange(4000) + 0.5) / 4000, linear)
    atom = 2000 * masses_of(place, linear)
    rough = rough_masses(flat + atom, 5.0, linear.basis, linear.box)
    near = atom > 200
    assert rough[near].sum() >= 0.9 * 2000
    assert rough.sum() < flat.sum() + 2000


def test_noise_and_samples_are_not_taken_for_roughness():
    """Of 2000 masses hardly one in a hundred is beyond three deviations, and those few count."""
    box = sf.Box([(0, 100)])
    linear = MeasureReconstruction(box, GaussianKernel.of(0.2, box), sf.Binning(500), 1e-6)
    rng = np.random.default_rng(5)
    found = [
        rough_masses(rng.poisson(100, 500) + rng.laplace(0, 3, 500), 3 * np.sqrt(2), linear.basis, linear.box)
        for _ in range(4)
    ]
    assert 0 < np.mean(np.array(found) > 0) < 0.02


def test_few_points_tell_nothing():
    box = sf.Box([(0, 1)])
    linear = MeasureReconstruction(box, GaussianKernel.of(0.3, box), sf.Binning(3), 1e-6)
    masses = np.array([10.0, 20.0, 30.0])
    assert (rough_masses(masses, 0.1, linear.basis, linear.box) >= masses).all()
