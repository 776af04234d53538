"""Empirical Bayes: what many noisy numbers of one kind say about each other. Post-processing of public numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_GRID = 201
_ROUNDS = 200
_OPEN = 20  # values that the prior is held open for
_FEW = 8  # numbers below which nothing is learned about the others
_BLOCK = 2**22
_CLEAR = 0.5  # spread over noise, in squares, from which a shape of the prior can be seen


def posterior_means(values: Floats, variances: Floats) -> Floats:
    """The mean of each number in [-1, 1] given its noisy value, under the prior on a grid that fits all values best.

    The non-parametric maximum-likelihood prior of Kiefer and Wolfowitz, by expectation and maximisation; as if there
    had been a few values more, evenly spread, so that a few dozen do not make up a prior of spikes.
    """
    grid = np.linspace(-1.0, 1.0, _GRID)
    if len(values) < _FEW:
        return np.clip(values, -1.0, 1.0)
    block = max(1, _BLOCK // _GRID)
    parts = [slice(start, start + block) for start in range(0, len(values), block)]
    prior = np.full(_GRID, 1 / _GRID)
    for _ in range(_ROUNDS):
        likely = sum(_posterior(values[p], variances[p], grid, prior).sum(axis=0) for p in parts)
        prior = (likely + _OPEN / _GRID) / (len(values) + _OPEN)
    return np.concatenate([_posterior(values[p], variances[p], grid, prior) @ grid for p in parts])


def _posterior(values: Floats, variances: Floats, grid: Floats, prior: Floats) -> Floats:
    exponent = -0.5 * (values[:, None] - grid) ** 2 / variances[:, None]
    chance = np.exp(exponent - exponent.max(axis=1, keepdims=True)) * prior
    return np.asarray(chance / np.maximum(chance.sum(axis=1, keepdims=True), 1e-300))


def shrunk_to_zero(values: Floats, variances: Floats) -> Floats:
    """Noisy numbers, most of them about zero: pulled there as far as their own spread does not speak for them."""
    if len(values) < _FEW:
        return values
    weights = 1 / variances
    spread = max(0.0, float(np.average(values**2 - variances, weights=weights)))
    if spread > _CLEAR * float(np.average(variances, weights=weights)):
        return posterior_means(values, variances)
    return np.asarray(values * spread / (spread + variances))
