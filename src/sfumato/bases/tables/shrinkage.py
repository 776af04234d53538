"""Empirical Bayes: what many noisy numbers of one kind say about each other. Post-processing of public numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_GRID = 201
_POINTS = np.linspace(-1.0, 1.0, _GRID)
_ROUNDS = 200
_OPEN = 1 / 3  # values that the prior is held open for, over those that there are
_FEW = 8  # numbers below which nothing is learned about the others
_BLOCK = 2**22
_RARELY = 2.0  # deviations of a spread that noise alone shows
_CLEAR = 0.5  # spread over noise, in squares, from which a shape of the prior can be seen


def posterior_means(values: Floats, variances: Floats) -> Floats:
    """The mean of each number in [-1, 1] given its noisy value, under the prior on a grid that fits all values best.

    The non-parametric maximum-likelihood prior of Kiefer and Wolfowitz, by expectation and maximisation; as if there
    had been a third more values, evenly spread, so that a few dozen do not make up a prior of spikes.
    """
    if len(values) < _FEW:
        return np.clip(values, -1.0, 1.0)
    return np.concatenate([chances @ _POINTS for chances in _posteriors(values, variances)])


def posterior_medians(values: Floats, variances: Floats) -> Floats:
    """The same with medians, which have the smallest absolute error: a rare category is more often called absent."""
    if len(values) < _FEW:
        return np.clip(values, -1.0, 1.0)
    halves = [np.argmax(np.cumsum(chances, axis=1) >= 0.5, axis=1) for chances in _posteriors(values, variances)]
    return np.asarray(_POINTS[np.concatenate(halves)])


def _posteriors(values: Floats, variances: Floats) -> Iterator[Floats]:
    """The chances of every point of the grid given each value, a block of values at a time."""
    block = max(1, _BLOCK // _GRID)
    parts = [slice(start, start + block) for start in range(0, len(values), block)]
    prior = np.full(_GRID, 1 / _GRID)
    for _ in range(_ROUNDS):
        likely = sum(_posterior(values[p], variances[p], _POINTS, prior).sum(axis=0) for p in parts)
        prior = (likely / len(values) + _OPEN / _GRID) / (1 + _OPEN)
    for p in parts:
        yield _posterior(values[p], variances[p], _POINTS, prior)


def _posterior(values: Floats, variances: Floats, grid: Floats, prior: Floats) -> Floats:
    exponent = -0.5 * (values[:, None] - grid) ** 2 / variances[:, None]
    chance = np.exp(exponent - exponent.max(axis=1, keepdims=True)) * prior
    return np.asarray(chance / np.maximum(chance.sum(axis=1, keepdims=True), 1e-300))


def shrunk_to_zero(values: Floats, variances: Floats) -> Floats:
    """Noisy numbers in [-1, 1], most of them about zero: pulled there as far as their spread does not speak for them.

    Each counts by its precision, and only what noise alone would rarely show counts as spread: where nothing is known,
    all of them become zero.
    """
    if len(values) < _FEW:
        return values
    weights = 1 / variances**2  # a square less its variance has twice this one's square as variance
    chance = _RARELY * float(np.sqrt(2 / weights.sum()))
    spread = min(1.0, max(0.0, float(np.average(values**2 - variances, weights=weights)) - chance))
    if spread > _CLEAR * float(np.average(variances, weights=weights)):
        return posterior_means(values, variances)
    return np.asarray(values * spread / (spread + variances))
