"""Minimising ``scale * sum_i loss_i(w) + 1/2 ||w||^2 + <offset, w>`` until a public tolerance is met, in few passes.

Newton's method. Its steps need not be exact, but what decides when to stop is: features are fixed-point integers, w is
cut into slices of a few bits, and then every matrix product is a sum of integers below 2**53, the same in any order on
any machine. The gradient norm bounds the distance to the minimiser because the objective is 1-strongly convex; for
the hinge a duality gap does. The loop ends when the bound is met, never before: how many passes that takes is the only
thing that depends on the data. It does end: after a public number of Newton passes come plain gradient steps, whose end
is proved for the arithmetic that runs (docs/proofs/solver.md, docs/sharp-edges.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from sfumato.bases.losses import Hinge, Loss, SmoothedHinge

Floats = NDArray[np.float64]

# Rows at a time, always: a record's features must not depend on how many others there are, nor on its place among them.
# Linear algebra libraries round the last rows of a matrix differently unless their number is a multiple of the tiles
# that they work in; this is one of all tiles in use (8, 12, 16, 24, 32, 48, ...).
BLOCK = 3072
_SLICE = 2.0**27  # slices of w
_SLICES = 4
_SLOPE = 2.0**20  # slices of the loss's slopes; BLOCK rows of them times 20-bit features stay below 2**53
_SLOPE_SLICES = 3
_NEWTON_PASSES = 10_000  # a public number; dozens are usual, hundreds were seen on data made to be hard


class Examples(Protocol):
    """Fixed-point features and targets, block by block; every pass sees the same."""

    size: int
    outputs: int
    exponent: int

    def blocks(self) -> Iterator[tuple[Floats, Floats]]:
        """``(BLOCK, size)`` integers as doubles, and ``(BLOCK, outputs)`` targets, NaN in rows that say nothing."""
        ...


@dataclass(frozen=True)
class Problem:
    """One regularised learner for each output; ``slope_bound`` bounds the slopes that can occur."""

    examples: Examples
    loss: Loss
    scale: float
    slope_bound: float
    offset: Floats


@dataclass(frozen=True)
class Point:
    """What one pass finds at w: gradients, Hessians if asked for, and for a hinge how much the dual still lacks."""

    gradient: Floats
    hessian: Floats | None
    slack: Floats

    @property
    def norms(self) -> Floats:
        """The size of each output's gradient."""
        return np.asarray(np.linalg.norm(self.gradient, axis=1))


class Weights:
    """``(outputs, size)`` numbers of twice the usual precision: an unevaluated sum of two doubles."""

    def __init__(self, high: Floats, low: Floats | None = None) -> None:
        self.high, self.low = high, np.zeros_like(high) if low is None else low

    def moved(self, step: Floats) -> Weights:
        """The weights plus a step, renormalised."""
        return Weights(*_two_sum(self.high, step + self.low))

    def slices(self) -> tuple[Floats, Floats]:
        """``(size, 4 * outputs)`` whole numbers up to 2**27, and for each output what the first of them count.

        That is a power of two of the output's own: a large one takes no digits from the others.
        """
        largest = np.maximum(np.abs(self.high).max(axis=1), 2.0**-900)
        unit = np.ldexp(1.0 / _SLICE, np.frexp(largest)[1])
        rest, parts = self.high / unit[:, None], []
        for i in range(_SLICES):
            if i == 2:  # all of the first double is in the first two, unless it is small beside the largest
                rest = rest + self.low * _SLICE**2 / unit[:, None]
            parts.append(np.rint(rest))
            rest = (rest - parts[-1]) * _SLICE
        return np.concatenate(parts).T.copy(), unit


def evaluate(problem: Problem, weights: Weights, *, curved: bool) -> Point:
    """One pass over the examples."""
    examples, loss = problem.examples, problem.loss
    outputs, size = examples.outputs, examples.size
    step = 2.0**examples.exponent
    slices, unit = weights.slices()
    top = 2.0 ** math.frexp(problem.slope_bound)[1]
    total = np.zeros((size, _SLOPE_SLICES * outputs), dtype=object)  # Python's integers do not overflow
    hessian = np.zeros((outputs, size, size)) if curved else None
    slack = np.zeros(outputs)
    for features, targets in examples.blocks():
        product = features @ slices  # exact
        parts = [product[:, i * outputs : (i + 1) * outputs] * (unit * step / _SLICE**i) for i in range(_SLICES)]
        at, sign = _arguments(loss, targets, parts)
        slope = np.clip(loss.slope(at), -top, top)
        total += (features.T @ _slope_slices(slope * sign, top)).astype(np.int64)
        if isinstance(loss, SmoothedHinge):
            slack += _dual_slack(at, slope, sign)
        if hessian is not None:
            _add_curvature(hessian, features, loss.bend(at) * sign * sign)
    sums = np.zeros((size, outputs))
    for i in reversed(range(_SLOPE_SLICES)):  # the least significant first
        sums += total[:, i * outputs : (i + 1) * outputs].astype(np.float64) * (top / _SLOPE ** (i + 1))
    gradient = (problem.scale * step) * sums.T + weights.high + problem.offset
    gradient += weights.low
    if hessian is not None:
        hessian *= problem.scale * step * step
    return Point(gradient, hessian, problem.scale * slack)


def _arguments(loss: Loss, targets: Floats, parts: list[Floats]) -> tuple[Floats, Floats]:
    """Where the loss is evaluated, and the sign (0: the row says nothing) with which its slope enters.

    The value ``<w, x>`` is the sum of the parts; what each addition rounds away is kept and added last.
    """
    known = ~np.isnan(targets)
    sure = np.where(known, targets, 0.0)
    sign = sure if loss.on == "margin" else known.astype(np.float64)
    total, lost = np.where(loss.on == "margin", -loss.centre, -sure), np.zeros_like(sure)
    for part in parts:
        total, error = _two_sum(total, sign * part)
        lost += error
    return total + lost, sign


def _two_sum(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """The sum of two doubles, and exactly what its rounding has lost (Knuth)."""
    total = first + second
    part = total - first
    return total, (first - (total - part)) + (second - part)


def _slope_slices(slope: Floats, top: float) -> Floats:
    """Slopes as whole numbers of 20 bits each, most significant first."""
    rest, parts = slope / top, []
    for _ in range(_SLOPE_SLICES):
        rest = rest * _SLOPE
        parts.append(np.rint(rest))
        rest = rest - parts[-1]
    return np.concatenate(parts, axis=1)


def _dual_slack(at: Floats, slope: Floats, sign: Floats) -> Floats:
    """``sum max(0, 1 - m) - alpha (1 - m)`` with dual variables ``alpha = -slope``: each term is at least 0."""
    alpha = -slope
    return np.asarray(np.where(sign == 0, 0.0, np.abs(at) * np.where(at < 0, 1 - alpha, alpha)).sum(axis=0))


def _add_curvature(hessian: Floats, features: Floats, bend: Floats) -> None:
    for k, weight in enumerate(bend.T):
        rows = weight > 1e-12 * weight.max(initial=0.0)
        if np.count_nonzero(rows) < len(rows) // 2:  # a sharp hinge bends at few records
            part = features[rows] * np.sqrt(weight[rows])[:, None]
        else:
            part = features * np.sqrt(weight)[:, None]
        hessian[k] += part.T @ part


def minimise(problem: Problem, tolerance: float | Floats, start: Floats | None = None) -> Floats:
    """``(outputs, size)``: within ``tolerance`` (one, or one for each output) of each exact minimiser, Euclidean."""
    shape = (problem.examples.outputs, problem.examples.size)
    weights = Weights(np.zeros(shape) if start is None else start.copy())
    if isinstance(problem.loss, Hinge):
        weights = _along_the_path(problem, weights, float(np.min(tolerance)))
    else:
        weights = _newton(problem, weights, tolerance)[0]
    return weights.high + weights.low


def _newton(problem: Problem, weights: Weights, tolerance: float | Floats) -> tuple[Weights, Point]:
    """Newton's method: a step is shortened until the objective falls or the gradient halves; then, if need be, descent.

    A gradient counts as halved only against the smallest so far: the objective may rise on the way, and without that
    memory the two ways of being better could undo each other for ever.
    """
    point = evaluate(problem, weights, curved=True)
    factors = _factors(point)
    length = np.ones(len(point.norms))
    ratio = np.ones(len(point.norms))
    smallest = point.norms
    for _ in range(_NEWTON_PASSES):
        if (point.norms <= tolerance).all():
            return weights, point
        if point.hessian is None:  # the step that should have been the last was not; an old Hessian may lead nowhere
            point = evaluate(problem, weights, curved=True)
            factors = _factors(point)
        going = point.norms > tolerance
        step = np.stack([cho_solve(f, g) for f, g in zip(factors, point.gradient, strict=True)])
        # Convergence is quadratic: when this step should be the last, its Hessian would not be used.
        last = (point.norms * ratio**2 <= tolerance / 4).all()
        trial = weights.moved(-(going * length)[:, None] * step)
        found = evaluate(problem, trial, curved=not last)
        # Along the step the objective falls at first, and falls still at a trial that is not beyond the lowest point.
        before, after = (np.einsum("ij,ij->i", g, step) for g in (point.gradient, found.gradient))
        better = ~going | (after >= 0) | (found.norms <= smallest / 2)
        smallest = np.where(better, np.minimum(smallest, found.norms), smallest)
        ratio = np.where(better & (length == 1), found.norms / np.maximum(point.norms, 1e-300), 1.0)
        weights = Weights(_chosen(better, trial.high, weights.high), _chosen(better, trial.low, weights.low))
        point = Point(
            _chosen(better, found.gradient, point.gradient), found.hessian, np.where(better, found.slack, point.slack)
        )
        if found.hessian is not None:
            factors = [new if ok else old for new, ok, old in zip(_factors(found), better, factors, strict=True)]
        # Where it would be for a parabola, of which the objective rises at a trial that is no better.
        nearer = np.clip(before / np.where(better, 1.0, np.maximum(before - after, 1e-300)), 1 / 16, 1 / 2)
        length = np.where(better, np.minimum(1.0, 4 * length), length * nearer)
    return _descend(problem, weights, tolerance)


def _descend(problem: Problem, weights: Weights, tolerance: float | Floats) -> tuple[Weights, Point]:
    """Gradient steps until the tolerance is met: slow, and sure to end also where rounding leads Newton's astray.

    A step of one over the largest curvature lowers the objective as long as the gradient exceeds its own error.
    """
    assert problem.loss.curvature is not None
    squares = sum(float(np.square(features).sum()) for features, _ in problem.examples.blocks())
    stiffest = 1 + problem.scale * problem.loss.curvature * squares * 4.0**problem.examples.exponent * (1 + 2.0**-20)
    while True:
        point = evaluate(problem, weights, curved=False)
        going = point.norms > tolerance
        if not going.any():
            return weights, point
        weights = weights.moved(-(going / stiffest)[:, None] * point.gradient)


def _chosen(which: NDArray[np.bool_], yes: Floats, no: Floats) -> Floats:
    return np.where(which[:, None], yes, no)


def _factors(point: Point) -> list[tuple[Floats, bool]]:
    assert point.hessian is not None
    return [_factor(h, 1.0) for h in point.hessian]


def _factor(hessian: Floats, ridge: float) -> tuple[Floats, bool]:
    """A factor of the Hessian and its ridge; more of it where rounding has lost positive definiteness.

    An error would depend on the data; a step that is not quite Newton's costs time only.
    """
    try:
        factor, lower = cho_factor(hessian + ridge * np.eye(len(hessian)), lower=True)
    except np.linalg.LinAlgError:
        return _factor(hessian, max(16 * ridge, 1e-14 * float(np.trace(hessian))))
    return factor, bool(lower)


def _along_the_path(problem: Problem, weights: Weights, tolerance: float) -> Weights:
    """The hinge: round its corner less and less, until the duality gap says that the minimiser is near enough.

    The slopes of a rounded hinge are feasible dual variables, and then the gap is ``slack + 1/2 ||gradient||^2``, a
    sum of terms that are not negative: no digits cancel. A gap G puts w within ``sqrt(2 G)``.
    """
    goal = tolerance**2 / 2 * (1 - 2.0**-20)
    width = 1.0
    while True:
        rounded = Problem(problem.examples, SmoothedHinge(width), problem.scale, problem.slope_bound, problem.offset)
        # On the path the slack is of the order of the width; a gradient much smaller than it needs is wasted effort.
        coarse = max(math.sqrt(goal), 0.1 * math.sqrt(width * problem.scale * problem.slope_bound))
        weights, point = _newton(rounded, weights, min(coarse, 0.3))
        if (point.slack + point.norms**2 / 2 <= goal).all():
            return weights
        width /= 8
