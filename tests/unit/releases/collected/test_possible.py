"""The nearest mean loss that people can have: that it is one, and that there is none nearer."""

import numpy as np
import pytest

from sfumato.bases.lattice.chebyshev import chebyshev_points
from sfumato.bases.smooth_losses import SMOOTH
from sfumato.releases.collected.possible import PossibleLoss, _losses

REACH = {1: 2.0, 2: 1.0, 3: 0.7}


def lattice(dimension, side=6):
    axis = REACH[dimension] * (2 * chebyshev_points(side) - 1)
    return np.stack([one.ravel() for one in np.meshgrid(*[axis] * dimension, indexing="ij")], axis=1)


def limits(loss, dimension):
    return SMOOTH[loss].limits(dimension * REACH[dimension])


def people(loss, dimension, count=300, seed=1):
    """Columns in [-1, 1], and a response: what a loss is of."""
    generator = np.random.default_rng(seed)
    columns, y = generator.uniform(-1, 1, size=(count, dimension)), generator.uniform(-1, 1, size=count)
    return columns, y, lambda at: SMOOTH[loss].at(at @ columns.T, y).mean(axis=1)


@pytest.mark.few(5)
@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("loss", SMOOTH)
def test_what_people_told_without_noise_is_found(loss, dimension):
    points, (_, _, mean) = lattice(dimension), people(loss, dimension)
    found = PossibleLoss.nearest(loss, limits(loss, dimension), points, mean(points))
    assert found.shares.sum() == pytest.approx(1.0) and (found.shares > 0).all()
    other = np.random.default_rng(2).uniform(-REACH[dimension], REACH[dimension], size=(200, dimension))
    assert found(other) == pytest.approx(mean(other), abs=2e-3)


@pytest.mark.parametrize(("loss", "dimension"), [("logistic", 2), ("huber", 1), ("squared", 2)])
def test_there_is_none_nearer(loss, dimension):
    """What is left of the values makes no acute angle with the way to any record: so for a convex set."""
    points, ends = lattice(dimension), limits(loss, dimension)
    values = np.random.default_rng(3).uniform(*ends, size=len(points))
    found = PossibleLoss.nearest(loss, ends, points, values)
    left = values - found(points)
    coordinates = found.records.shape[1]
    records = np.random.default_rng(4).choice(np.linspace(-1, 1, 17), size=(2000, coordinates))
    low, high = ends
    ways = low + (high - low) * _losses(loss, ends, points, records) - found(points)[:, None]
    assert (left @ ways <= 1e-9 * np.linalg.norm(left) * np.linalg.norm(ways, axis=0) + 1e-12).all()
    assert np.linalg.norm(left) > 0.1  # noise alone is not possible


@pytest.mark.parametrize("loss", SMOOTH)
def test_it_is_nearer_to_the_truth_than_what_was_told(loss):
    """Always, for a convex set that has the truth in it; and by far, for most noise is not possible."""
    points, generator = lattice(2, side=7), np.random.default_rng(5)
    truth = people(loss, 2)[2](points)
    for _ in range(10):
        noise = generator.normal(scale=0.05, size=len(points))
        found = PossibleLoss.nearest(loss, limits(loss, 2), points, truth + noise)
        assert np.linalg.norm(found(points) - truth) < 0.6 * np.linalg.norm(noise)


def test_what_is_clipped_is_clipped_there_too():
    points, (columns, y, _) = lattice(1), people("squared", 1)
    ends = (0.1, 0.9)
    told = np.clip(SMOOTH["squared"].at(points @ columns.T, y), *ends).mean(axis=1)
    assert PossibleLoss.nearest("squared", ends, points, told)(points) == pytest.approx(told, abs=2e-3)
    without = PossibleLoss.nearest("squared", limits("squared", 1), points, told)
    assert np.abs(without(points) - told).max() > 0.01


@pytest.mark.slow
def test_a_large_lattice_has_a_coarse_grid_of_records():
    points, (_, _, mean) = lattice(3, side=16), people("huber", 3)
    found = PossibleLoss.nearest("huber", limits("huber", 3), points, mean(points))
    assert set(found.records.ravel()) <= {-1.0, -0.5, 0.0, 0.5, 1.0}
    assert found(points) == pytest.approx(mean(points), abs=1e-3)
