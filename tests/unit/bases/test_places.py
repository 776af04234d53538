"""Points by their coordinates: grids are recognised in any order, whatever way values are worked out."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.bases.places import Places
from sfumato.errors import ParameterError


def mesh(*axes):
    return np.stack([g.ravel() for g in np.meshgrid(*axes, indexing="ij")], axis=1)


def test_grids_are_recognised_in_any_order():
    points = mesh(np.linspace(0, 1, 7), np.linspace(0, 1, 5))
    for order in (np.arange(35), np.random.default_rng(1).permutation(35)):
        places = Places.of(points[order])
        assert places.on_grid
        assert (places.unit == points[order]).all()
    assert not Places.of(np.random.default_rng(2).uniform(size=(35, 2))).on_grid
    assert len(Places.of(np.zeros((0, 2)))) == 0


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_values_are_the_same_axis_by_axis_and_block_by_block(dimension):
    rng = np.random.default_rng(3)
    tensor, nodes = rng.normal(size=(4, 5, 6)[:dimension]), [np.linspace(0, 1, n) for n in (4, 5, 6)]

    def weigh(axis, unit):
        return np.cos(unit[:, None] - nodes[axis])

    def one(point):
        value = tensor
        for axis in range(dimension):
            value = weigh(axis, point[axis : axis + 1])[0] @ value.reshape(len(nodes[axis]), -1)
        return value.item()

    grid = mesh(*[np.linspace(0, 1, 6)] * dimension)
    for unit in (grid, rng.uniform(size=(50, dimension)), np.zeros((0, dimension))):
        assert Places.of(unit).apply(weigh, tensor) == pytest.approx(np.array([one(p) for p in unit]))


BOX = sf.Box({"x": (0, 10), "y": (0, 5)})
DATA = np.random.default_rng(4).uniform(0, 5, size=(200, 2))


@pytest.mark.parametrize(
    "release",
    [
        sf.release(sf.KDE(0.8), DATA, BOX, sf.Privacy(epsilon=1.0)),
        sf.release(
            sf.BlackBox(lambda rows: lambda p: p[:, 0], sensitivity=1.0),
            DATA,
            BOX,
            sf.Privacy(epsilon=1.0),
            basis=sf.Bernstein(6),
        ),
    ],
)
def test_releases_on_grids(release):
    axes = [np.linspace(0, 10, 9), np.linspace(0, 5, 4)]
    points = mesh(*axes)
    assert release.on_grid(axes) == pytest.approx(release(points).reshape(9, 4))
    assert release.on_grid(axes).ravel() == pytest.approx([float(release(p[None])[0]) for p in points])
    low, high = release.band_on_grid(axes, 0.9, include="noise")
    expected = np.array(release.band(points, 0.9, include="noise")).reshape(2, 9, 4)
    assert np.array([low, high]) == pytest.approx(expected)
    with pytest.raises(ParameterError, match="coordinates of each of"):
        release.on_grid(axes[:1])
