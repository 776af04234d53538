"""Which measure lies behind noisy lattice masses? Two answers, both post-processing of public numbers.

*Nearest*: of all measures on the nodes that are non-negative and of the right total, the one whose lattice masses are
nearest to the noisy ones, with a slight preference for smooth measures where the noise leaves the choice open. The
true masses belong to such a measure, so the projection can only come nearer to them.
*Smooth*: without the constraints, a fixed matrix applied to the masses; its error has a law that bands can use.

Both prefer smoothness as a Gaussian prior would: a unit of squared slope of the density, on the box scaled to the unit
cube, weighs ``ROUGHNESS`` times the variance of the noise. More data, or more epsilon, and the preference vanishes; of
the nearest measure faster still, once noise is below the mean mass of a few nodes: the constraints then do what it is
for, and it would only spread points of mass.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

from sfumato.bases.density.binning import contract

Floats = NDArray[np.float64]

ROUGHNESS = 0.01  # a density on the unit cube may well rise by ten from one side to the other
_LOUD = 3.0  # mean masses of a node: noise from which on the nearest measure has all of the preference
_STEPS = 1500
_ROUND, _ENOUGH, _UNSEEN = 25, 0.03, 0.2
_DENSE = 600  # nodes
_SMALL = 128  # nodes along each of several axes up to which full matrices are faster than sparse ones
_LEAST_RIDGE = 1e-10
_MOST_RIDGE = 1e10  # far beyond that all is flat, and the misfit would drown in rounding


def nearest_measure(
    shares: Sequence[Any], masses: Floats, variance: float, wrapped: Sequence[bool], start: Floats | None = None
) -> Floats:
    """The probability measure on the nodes whose lattice masses come nearest to ``masses`` (which sum to about one).

    Parameters
    ----------
    shares
        Per axis ``(nodes, points)``: what a record at each node gives to each lattice point.
    variance
        Of the noise in each mass.
    wrapped
        Per axis: whether its last node neighbours its first.
    start
        A (signed) measure to begin near; by default the flat one.
    """
    shape = tuple(s.shape[0] for s in shares)
    cell, rough = math.prod(1 / n for n in shape), preference(variance, shape)
    # The largest curvature: largest row sum times largest column sum bounds a non-negative matrix's squared norm.
    steep = math.prod(float(s.sum(axis=0).max() * s.sum(axis=1).max()) for s in shares) + 4 * sum(rough)
    if len(shares) > 1:
        shares = [s.toarray() if s.shape[0] <= _SMALL else s for s in shares]
    back = [s.T if isinstance(s, np.ndarray) else s.T.tocsr() for s in shares]
    slope_at = _slope(shares, back, masses, rough, wrapped)
    measure = momentum = np.full(shape, cell) if start is None else to_simplex(start)
    speed, level = 1.0, -math.inf
    before = contract(back, measure)
    for number in range(1, _STEPS + 1):  # accelerated projected gradient, restarted whenever it overshoots
        moved, level = _lowered(momentum - slope_at(momentum) / steep, level)
        step = moved - measure
        faster = (1 + math.sqrt(1 + 4 * speed * speed)) / 2
        if float(((momentum - moved) * step).sum()) > 0:
            faster, momentum = 1.0, moved
        else:
            momentum = moved + (speed - 1) / faster * step
        measure, speed = moved, faster
        if number % _ROUND == 0:
            # Once a round moves no mass by more than a little of the largest misfit (what no measure fits), or of the
            # noise, further ones change nothing that shows: what still moves are measures with the same masses.
            reached = contract(back, measure)
            little = max(_ENOUGH * float(np.abs(reached - masses).max()), _UNSEEN * math.sqrt(variance))
            if float(np.abs(reached - before).max()) < little:
                break
            before = reached
    return measure


def preference(variance: float, shape: Sequence[int]) -> list[float]:
    """How much a squared difference between neighbouring nodes of the nearest measure weighs, along each axis."""
    cell = math.prod(1 / n for n in shape)
    loud = min(1.0, math.sqrt(variance) / (_LOUD * cell)) ** 2
    return [ROUGHNESS * variance * loud * n**2 / cell for n in shape]


def _slope(
    shares: Sequence[Any], back: Sequence[Any], masses: Floats, rough: Sequence[float], wrapped: Sequence[bool]
) -> Callable[[Floats], Floats]:
    """The gradient of half the misfit plus roughness; ``back`` are the shares, transposed."""
    if len(shares) == 1 and shares[0].shape[0] <= _DENSE:  # one small matrix is faster than its sparse factors
        bent = _differences(shares[0].shape[0], wrapped[0])
        matrix = (shares[0] @ back[0] + rough[0] * (bent.T @ bent)).toarray()
        offset = shares[0] @ masses
        return lambda measure: matrix @ measure - offset

    def slope(measure: Floats) -> Floats:
        found = contract(shares, contract(back, measure) - masses)
        for axis, weight in enumerate(rough):
            _bend(found, measure, axis, weight, wrapped[axis])
        return found

    return slope


def _bend(found: Floats, measure: Floats, axis: int, weight: float, wrapped: bool) -> None:
    """Add the gradient of half the sum of squared differences along an axis: minus the second difference, weighed."""
    target, rows = np.moveaxis(found, axis, 0), np.moveaxis(measure, axis, 0)
    steps = weight * (rows[1:] - rows[:-1])
    target[:-1] -= steps
    target[1:] += steps
    if wrapped:
        across = weight * (rows[0] - rows[-1])
        target[-1] -= across
        target[0] += across


def to_simplex(values: Floats) -> Floats:
    """The nearest point that is non-negative and sums to one."""
    return _lowered(values, -math.inf)[0]


def _lowered(values: Floats, guess: float) -> tuple[Floats, float]:
    """That point, and by how much values are lowered (Michelot): lower all, drop what falls below zero.

    This is Newton's method on a convex function: from any guess below the largest value the first step leads to where
    too little is dropped, and from there on levels rise.
    """
    every = values.ravel()
    level, kept = guess, every[every > guess] if guess > -math.inf else every
    rising = False
    while kept.size:
        new = (float(kept.sum()) - 1) / kept.size
        if rising and new <= level:
            return np.asarray(np.maximum(values - level, 0)), level
        kept = kept[kept > new] if rising else every[every > new]
        level, rising = new, True
    if not rising:  # the guess was above all of them
        return _lowered(values, -math.inf)
    largest = values == values.max()  # so large that one is lost in their rounding
    return largest / np.count_nonzero(largest), level


def smoothing_matrix(shares: Any, variance: float, wrapped: bool) -> Floats:
    """``(nodes, points)``: masses to the signed measure that minimises misfit plus roughness, without constraints."""
    count = shares.shape[0]
    difference = _differences(count, wrapped)
    ridge = min(max(ROUGHNESS * variance * count**3, _LEAST_RIDGE), _MOST_RIDGE)
    system = (shares @ shares.T + ridge * (difference.T @ difference)).tocsc()
    return np.asarray(splu(system).solve(shares.toarray()))


def _differences(count: int, wrapped: bool) -> Any:
    ones = np.ones(count)
    matrix = sparse.diags_array([-ones, ones[:-1]], offsets=[0, 1]).tolil()
    if wrapped:
        matrix[count - 1, 0] = 1.0
        return matrix.tocsr()
    return matrix.tocsr()[: count - 1]
