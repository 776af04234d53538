"""Peers for maps that spend their budget on where records are: the adaptive grid and PrivTree, as published.

Both publish a mass for each of some rectangles. What is compared is the kernel density of that measure, spread evenly
over each rectangle, after the nearest non-negative masses of sum one. Both papers add and remove records; where records
are replaced the same noise costs twice the epsilon, so they get half of it.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr

from benchmarks.density_baselines import to_simplex

Values = np.ndarray
Leaves = tuple[Values, Values, Values]  # lower corners, upper corners, noisy counts

_FIRST, _SECOND, _FEWEST, _HALF = 10.0, 5.0, 10, 0.5  # constants of Qardaji, Yang and Li (2013)
_DEEPEST = 12  # PrivTree: beyond this cells are below any bandwidth here


def adaptive_grid(records: Values, epsilon: float, rng: np.random.Generator) -> Leaves:
    """A coarse grid, each of whose cells gets a grid of its own by its noisy count; both counts are then reconciled."""
    spent, n = epsilon / 2, len(records)
    coarse = max(_FEWEST, math.ceil(math.sqrt(n * spent / _FIRST) / 4))
    counts = np.histogram2d(*records.T, bins=coarse, range=[(0, 1)] * 2)[0]
    noisy = counts + rng.laplace(scale=1 / (_HALF * spent), size=counts.shape)
    lows, highs, masses = [], [], []
    for (i, j), first in np.ndenumerate(noisy):
        parts = max(1, math.ceil(math.sqrt(max(first, 0.0) * (1 - _HALF) * spent / _SECOND)))
        ends = [(np.arange(parts + 1) / parts + k) / coarse for k in (i, j)]
        inside = np.histogram2d(*records.T, bins=ends)[0] if counts[i, j] else np.zeros((parts, parts))
        second = inside + rng.laplace(scale=1 / ((1 - _HALF) * spent), size=inside.shape)
        # The two sums are averaged by their precisions, and the difference spread evenly.
        weight = (_HALF * parts) ** 2 / ((1 - _HALF) ** 2 + (_HALF * parts) ** 2)
        second += weight * (first - second.sum()) / parts**2
        low = np.stack(np.meshgrid(ends[0][:-1], ends[1][:-1], indexing="ij"), axis=-1).reshape(-1, 2)
        lows.append(low)
        highs.append(low + 1 / (coarse * parts))
        masses.append(second.ravel())
    return np.concatenate(lows), np.concatenate(highs), np.concatenate(masses)


def priv_tree(records: Values, epsilon: float, rng: np.random.Generator) -> Leaves:
    """A quadtree whose cells are split where a count, less a bias that grows with depth, is noisily positive.

    Half of the budget goes to the tree and half to the leaves' counts (Zhang, Xiao and Xie, 2016; four parts, threshold
    zero).
    """
    scale = (2 * 4 - 1) / (4 - 1) / (epsilon / 4)
    bias = scale * math.log(4)
    lows, highs, masses = [], [], []
    waiting = [(np.zeros(2), 0, records)]
    while waiting:
        low, depth, inside = waiting.pop()
        biased = max(len(inside) - depth * bias, -bias)
        side = 2.0**-depth
        if depth < _DEEPEST and biased + rng.laplace(scale=scale) > 0:
            middle = low + side / 2
            right = inside >= middle
            for a in (0, 1):
                for b in (0, 1):
                    corner = low + side / 2 * np.array([a, b])
                    waiting.append((corner, depth + 1, inside[(right[:, 0] == a) & (right[:, 1] == b)]))
            continue
        lows.append(low)
        highs.append(low + side)
        masses.append(len(inside) + rng.laplace(scale=1 / (epsilon / 4)))
    return np.array(lows), np.array(highs), np.array(masses)


def smoothed(leaves: Leaves, axes: list[Values], bandwidth: float) -> Values:
    """The kernel density of the measure, on a grid."""
    lows, highs, counts = leaves
    masses = to_simplex((counts / max(float(counts.sum()), 1.0))[None, :])[0]
    shares = [
        (ndtr((axis - lows[:, i, None]) / bandwidth) - ndtr((axis - highs[:, i, None]) / bandwidth))
        / (highs[:, i, None] - lows[:, i, None])
        for i, axis in enumerate(axes)
    ]
    return np.asarray((shares[0] * masses[:, None]).T @ shares[1])


PEERS = {"adaptive grid": adaptive_grid, "PrivTree": priv_tree}
