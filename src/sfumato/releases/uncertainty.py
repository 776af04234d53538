"""How wrong the noise can have made a function: bands from the public noise law alone.

Two ways. *Simulated*: draw the public law many times, take a high order statistic of the largest standardised
deviation over the points; the rank is chosen so that the band covers with the stated confidence in all but one
in a thousand simulations. *Closed form*, when points or coefficients are too many to simulate: the law's norm
has a known quantile, and the dual norm of the weights at a point says how much of it can reach that point.
Simulation never sees data and uses a public, fixed seed, so a release always shows the same band.
"""

from __future__ import annotations

import math
from functools import reduce

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtrik, gammaincinv, ndtri

from sfumato.bases.base import LatticeBasis
from sfumato.bases.lattice.expansion import Expansion
from sfumato.core.box import Box
from sfumato.core.calibration import NoiseLaw
from sfumato.core.objective import ObjectiveLaw

Floats = NDArray[np.float64]

DRAWS = 2000
_SEED = 20170204
_LARGEST_SIZE = 20_000  # coefficients
_LARGEST_WORK = 10_000_000  # points times coefficients
_LARGEST_GRID = 200_000  # points on which the largest noise over a box is searched


def half_width(expansion: Expansion, law: NoiseLaw, points: ArrayLike, confidence: float, outside: str) -> Floats:
    """The half-width of a band that holds simultaneously at all points."""
    return half_width_of(expansion.weights(points, outside), law, confidence)


def half_width_of(axes: list[Floats], law: NoiseLaw, confidence: float) -> Floats:
    """The same for given weights: per axis ``(m, n_j)``, whose tensor products act on the coefficients."""
    rank = coverage_rank(confidence)
    simulate = rank <= DRAWS and law.size <= _LARGEST_SIZE and len(axes[0]) * law.size <= _LARGEST_WORK
    if simulate and len(axes[0]):
        width = _simulated(reduce(_row_products, axes), law, rank)
    else:
        width = _closed_form(axes, law, confidence)
    # Rounding the values, and the noise itself, to the grid costs up to half a step each.
    return width + law.step * _norms(axes, 1)


def coverage_rank(confidence: float) -> int:
    """Which order statistic of the draws covers with this confidence in all but one in a thousand simulations."""
    return math.ceil(float(bdtrik(0.999, DRAWS, confidence))) + 1  # the binomial quantile, and one more


def _row_products(left: Floats, right: Floats) -> Floats:
    """Row-wise tensor products: ``(m, a)`` and ``(m, b)`` to ``(m, a * b)``."""
    return (left[:, :, None] * right[:, None, :]).reshape(len(left), -1)


def _norms(axes: list[Floats], order: int) -> Floats:
    """The L1 or L2 norm of the full weight vector at each point: norms of tensor products multiply."""
    return np.asarray(math.prod(np.linalg.norm(axis, ord=order, axis=1) for axis in axes))


def simulate_noise(law: NoiseLaw | ObjectiveLaw, draws: int, generator: np.random.Generator) -> Floats:
    """``(draws, size)`` from the law's continuous limit, in the coefficients' own units."""
    shape, scale = (draws, law.size), law.deviation
    if law.kind == "laplace":
        return generator.laplace(scale=scale, size=shape)
    if law.kind == "gaussian":
        return generator.normal(scale=scale, size=shape)
    if law.kind == "linf":
        radius = generator.gamma(law.size + 1, scale, size=(draws, 1))
        return radius * generator.uniform(-1, 1, size=shape)
    direction = generator.normal(size=shape)
    radius = generator.gamma(law.size, scale, size=(draws, 1))
    return np.asarray(radius * direction / np.linalg.norm(direction, axis=1, keepdims=True))


def _simulated(weights: Floats, law: NoiseLaw, rank: int) -> Floats:
    generator = np.random.default_rng(_SEED)
    # Every law here is invariant under sign flips of each coefficient: uncorrelated, with equal variances.
    size = np.linalg.norm(weights, axis=1)
    size = np.where(size > 0, size, 1.0)
    standard = weights / size[:, None]
    block = max(1, min(DRAWS, 20_000_000 // max(law.size, len(weights))))
    largest = np.concatenate(
        [
            np.abs(standard @ simulate_noise(law, min(block, DRAWS - start), generator).T).max(axis=0)
            for start in range(0, DRAWS, block)
        ]
    )
    return np.asarray(np.sort(largest)[rank - 1] * size)


def simulated_sums(law: NoiseLaw, weights: Floats, rank: int) -> Floats:
    """The ``rank``-th smallest size of each weighted sum ``(q, used)`` of simulated noise, each by itself.

    Only coefficients that some sum uses are drawn: the others do not matter to it.
    """
    if not weights.size:
        return np.zeros(len(weights))
    generator = np.random.default_rng(_SEED)
    block = max(1, min(DRAWS, _LARGEST_WORK // max(weights.shape[1], len(weights))))
    sums = []
    for start in range(0, DRAWS, block):
        shape = (min(block, DRAWS - start), weights.shape[1])
        if law.kind == "laplace":
            noise = generator.laplace(scale=law.deviation, size=shape)
        elif law.kind == "linf":
            radius = generator.gamma(law.size + 1, law.deviation, size=(shape[0], 1))
            noise = radius * generator.uniform(-1, 1, size=shape)
        else:  # a few coordinates of an evenly spread direction: the others only matter by their length
            normal = generator.normal(size=shape)
            rest = generator.chisquare(law.size - shape[1], size=(shape[0], 1)) if law.size > shape[1] else 0.0
            radius = generator.gamma(law.size, law.deviation, size=(shape[0], 1))
            noise = radius * normal / np.sqrt((normal**2).sum(axis=1, keepdims=True) + rest)
        sums.append(np.abs(noise @ weights.T))
    every = np.concatenate(sums)
    return np.asarray(np.partition(every, rank - 1, axis=0)[rank - 1])


def widths_of_each(law: NoiseLaw, confidence: float) -> Floats:
    """How far noise moves each single coefficient, all at once with this confidence: no simulation is needed."""
    if law.kind == "l2":  # the quantile of its own norm would be generous
        return half_width_of([np.eye(law.size)], law, confidence)
    return np.full(law.size, norm_quantile(law, confidence)[0] + law.step)


def mean_largest(axes: list[Floats], law: NoiseLaw | ObjectiveLaw) -> float:
    """The mean, over simulated noise, of the largest error at points with these weights."""
    generator = np.random.default_rng(_SEED)
    weights = reduce(_row_products, axes)
    return float(np.abs(weights @ simulate_noise(law, 200, generator).T).max(axis=0).mean())


def _closed_form(axes: list[Floats], law: NoiseLaw, confidence: float) -> Floats:
    quantile, dual = norm_quantile(law, confidence)
    return _norms(axes, dual) * quantile


def norm_quantile(law: NoiseLaw, confidence: float) -> tuple[float, int]:
    """A quantile of the noise vector's natural norm, and the order of the dual norm (1 for L-infinity, 2 for L2)."""
    scale = law.deviation
    miss = -math.expm1(math.log(confidence) / law.size)  # what each of the independent coefficients may miss
    if law.kind == "laplace":
        return -scale * math.log(miss), 1
    if law.kind == "gaussian":
        return -scale * float(ndtri(miss / 2)), 1
    # A K-norm vector of dimension N has a Gamma(N) norm.
    return scale * float(gammaincinv(law.size, confidence)), 1 if law.kind == "linf" else 2


def norm_mean(law: NoiseLaw) -> float:
    """The mean of the noise vector's natural norm, or for Gaussian noise a bound on it."""
    if law.kind == "laplace":
        return law.deviation * (math.log(law.size) + 0.5773 + 0.5 / law.size)  # harmonic numbers
    if law.kind == "gaussian":
        return law.deviation * math.sqrt(2 * math.log(2 * law.size))
    return law.deviation * law.size


def sup_noise(basis: LatticeBasis, box: Box, law: NoiseLaw, confidence: float) -> tuple[float, float]:
    """The mean, and a quantile from above, of the largest error that the noise makes anywhere in the box."""
    nodes = [basis.norming_nodes(degree) for degree in basis.degrees(box)]
    factor = math.prod(slack for _, slack in nodes)
    reach = math.prod(basis.lebesgue_constant(degree) for degree in basis.degrees(box))
    rank = coverage_rank(confidence)
    if rank > DRAWS or law.size > _LARGEST_SIZE or math.prod(len(unit) for unit, _ in nodes) > _LARGEST_GRID:
        # Bounds instead of simulation; for the L2 law they are generous, its dual norm is smaller.
        return reach * norm_mean(law), reach * (norm_quantile(law, confidence)[0] + law.step)
    axes = [basis.axis_weights(box, axis, unit, 0) for axis, (unit, _) in enumerate(nodes)]
    generator = np.random.default_rng(_SEED)
    largest = np.empty(DRAWS)
    for i in range(DRAWS):
        tensor = simulate_noise(law, 1, generator).reshape(basis.shape(box))
        for weights in axes:  # contracts the first axis and moves on to the next
            tensor = np.tensordot(tensor, weights, axes=(0, 1))
        largest[i] = np.abs(tensor).max()
    return float(largest.mean()), float(np.sort(largest)[rank - 1]) * factor + reach * law.step
