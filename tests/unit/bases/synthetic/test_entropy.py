"""Densities of greatest entropy: their moments, at bounds too, and what noise leaves of them."""

import numpy as np
import pytest

from sfumato.bases.synthetic.contributions import chebyshev, half_turn
from sfumato.bases.synthetic.entropy import Moments, common_curvature, densities

EDGES = -np.cos(np.linspace(0, np.pi, 161))
X, BASE = (EDGES[:-1] + EDGES[1:]) / 2, np.log(np.diff(EDGES))
SQUARE = chebyshev(X, 2)[0]


def problem(means, shares, unsure=0.0, pooled=None, doubt=0.0, usual=0.0):
    """Columns of these class means; with a common shape where their pooled ``T_2`` are given."""
    wanted = np.asarray(means, dtype=float)[:, :, None]
    common = np.zeros((0, len(X))) if pooled is None else SQUARE[None, :]
    pooled = np.zeros((len(wanted), 0)) if pooled is None else np.asarray(pooled, dtype=float)[:, None]
    count = len(common)
    return Moments(BASE, X[None, :], common, np.asarray(shares, dtype=float), wanted, np.full(len(shares), unsure),
                   pooled, np.full(count, doubt), np.full(count, usual))  # fmt: skip


@pytest.mark.parametrize("mean", [0.0, 0.3, -0.9, 0.99, -0.999])
def test_means_are_met_also_near_a_bound(mean):
    """Plain Newton steps diverge from about .9 on."""
    weights, _ = densities(problem([[mean]], [1.0]))
    assert weights.shape == (1, 1, 160)
    assert weights.sum() == pytest.approx(1.0)
    assert (weights >= 0).all()
    assert float(weights[0, 0] @ X) == pytest.approx(mean, abs=2e-4)


def test_without_moments_a_column_is_even():
    weights, at = densities(problem([[0.0]], [1.0]))
    assert weights[0, 0] == pytest.approx(np.diff(EDGES) / 2, rel=1e-9)
    assert np.abs(at).max() < 1e-9


def test_classes_have_slopes_of_their_own_and_one_shape():
    shares, means, square = [0.3, 0.7], [[-0.4, 0.1], [0.5, 0.6]], [-0.5, 0.1]
    weights, at = densities(problem(means, shares, pooled=square))
    assert weights @ X == pytest.approx(np.array(means), abs=1e-5)
    assert (weights @ SQUARE) @ shares == pytest.approx(square, abs=1e-5)
    second = np.diff(np.log(weights) - BASE, n=2, axis=2)  # of both classes the same, up to the grid
    assert at.shape == (2, 3)
    assert second[:, 0] == pytest.approx(second[:, 1], abs=0.3)


def test_moments_that_noise_could_have_made_pull_at_nothing():
    """A ridge of variance 1 leaves a mean of .3 a quarter at most; the rest goes with the noise."""
    weights, _ = densities(problem([[0.3]], [1.0], unsure=1.0))
    assert 0.02 < float(weights[0, 0] @ X) < 0.1
    usual, _ = densities(problem([[0.0]], [1.0], pooled=[0.5], doubt=1e6, usual=-2.0))
    bent = np.exp(BASE - 2.0 * SQUARE)
    assert usual[0, 0] == pytest.approx(bent / bent.sum(), abs=1e-6)


def _hard_columns(order):
    """Means of ``T_1, ..., T_order`` of columns with an atom, at a bound or inside, and of skewed ones."""
    even = (np.arange(2000) + 0.5) / 2000
    columns = {
        "skewed": -1 + 2 * even**12,
        "steep": np.clip(-1 + 0.02 / (1.001 - even), -1, 1),
        "at a bound": np.full(2000, -1.0),
        "inside": np.full(2000, 0.2),
        "two atoms": np.where(even < 0.78, -1.0, np.where(even < 0.91, 0.0, 1.0)),
        "rare end": np.where(even < 0.99, -1.0, 1.0),
        "atom and rest": np.where(even < 0.9, -0.98, 2 * even - 1),
    }
    return {name: np.stack([x, *chebyshev(x, order)]).mean(axis=1) for name, x in columns.items()}


@pytest.mark.parametrize("order", [3, 4])
@pytest.mark.parametrize("unsure", [1e-9, 1e-5])
def test_skewed_and_atomic_columns_have_their_moments_at_every_order(order, unsure):
    """Where no shorter step helped, a column once stayed where it was for good: means .3 off."""
    wanted, shapes = np.stack(list(_hard_columns(order).values())), np.stack(chebyshev(X, order))
    weights, at = densities(
        Moments(BASE, X[None, :], shapes, np.ones(1), wanted[:, None, :1], np.array([unsure]), wanted[:, 1:],
                np.full(order - 1, unsure), np.zeros(order - 1))
    )  # fmt: skip
    found = weights[:, 0] @ np.vstack([X, shapes]).T
    ridge = at * max(unsure, 1e-7)  # what the minimum of the dual leaves, exactly
    assert found + ridge == pytest.approx(wanted, abs=1e-4)
    assert found == pytest.approx(wanted, abs=0.01)


@pytest.mark.parametrize("order", [3, 4])
def test_classes_share_a_hard_shape(order):
    shares, shapes = np.array([0.8, 0.15, 0.05]), np.stack(chebyshev(X, order))
    moments = np.stack(list(_hard_columns(order).values()))
    means = np.clip(moments[:, :1] + np.array([0.0, 0.01, -0.03]), -1, 1)
    weights, at = densities(
        Moments(BASE, X[None, :], shapes, shares, means[:, :, None], np.full(3, 1e-4), moments[:, 1:],
                np.full(order - 1, 1e-4), np.zeros(order - 1))
    )  # fmt: skip
    own, common = at[:, :3], at[:, 3:]
    assert weights @ X + 1e-4 * own == pytest.approx(means, abs=1e-4)
    assert np.einsum("dkg,hg,k->dh", weights, shapes, shares) + 1e-4 * common == pytest.approx(moments[:, 1:], abs=1e-4)


def test_several_columns_are_what_each_is_alone():
    means = [[0.1, 0.2], [-0.95, -0.2], [0.0, 0.9]]
    together, _ = densities(problem(means, [0.5, 0.5]))
    for one, found in zip(means, together, strict=True):
        alone, _ = densities(problem([one], [0.5, 0.5]))
        assert found == pytest.approx(alone[0], abs=1e-5)


def test_a_class_that_nobody_is_in_is_no_obstacle():
    weights, _ = densities(problem([[0.2, -0.7]], [1.0, 0.0]))
    assert np.isfinite(weights).all()
    assert float(weights[0, 0] @ X) == pytest.approx(0.2, abs=1e-4)


def test_one_curvature_carries_the_size_of_all():
    shares = np.array([1.0])

    def bent(curvature, start):
        one = problem([[0.1], [-0.5]], shares)
        return densities(Moments(BASE + curvature * SQUARE, *list(vars(one).values())[1:]), start)

    found = common_curvature(bent, SQUARE, shares, -0.4)
    assert float((bent(found, None)[0] @ SQUARE).mean()) == pytest.approx(-0.4, abs=1e-5)


def test_circles_and_polynomials():
    turn = np.linspace(-1, 1, 101)
    cosine, sine = half_turn(turn)
    assert cosine == pytest.approx(np.cos(np.pi * turn), abs=1e-9)
    assert sine == pytest.approx(np.sin(np.pi * turn), abs=1e-9)
    for order, found in zip((2, 3, 4), chebyshev(turn, 4), strict=True):
        assert found == pytest.approx(np.cos(order * np.arccos(turn)), abs=1e-12)
