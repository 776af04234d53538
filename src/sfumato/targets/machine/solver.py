"""Minimising ``scale * sum_i loss_i(w) + 1/2 ||w||^2 + <offset, w>`` until a public tolerance is met, in few passes.

Newton's method, each pass of which is a fold. Features are fixed-point integers, w is cut into slices of few bits, and
then every matrix product is a sum of integers below 2**53: gradient, slack and curvature are the same in any order,
however the records are cut. The gradient norm bounds the distance to the minimiser because the objective is 1-strongly
convex; for the hinge a duality gap does. The loop ends when the bound is met, never before: how many passes that takes
is the only thing that depends on the data. It does end: after a public number of Newton passes come plain gradient
steps, whose end is proved for the arithmetic that runs (docs/proofs/solver.md, docs/sharp-edges.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from sfumato.bases.machine.losses import Hinge, Loss, SmoothedHinge
from sfumato.engines.passes import Features, Pass
from sfumato.engines.totals import Totals
from sfumato.targets.machine.gradient import (
    SHARP,
    SLACK,
    SLICE,
    SLICES,
    SLOPE,
    SLOPE_SLICES,
    Gradient,
    Squares,
    two_sum,
)

Floats = NDArray[np.float64]

_NEWTON_PASSES = 10_000  # a public number; dozens are usual, hundreds were seen on data made to be hard


class Examples(Protocol):
    """Fixed-point features and targets, over which passes are folded; every pass sees the same."""

    size: int
    outputs: int
    exponent: int

    @property
    def features(self) -> Features:
        """What makes them: ``(BLOCK, size)`` whole numbers, and ``(BLOCK, outputs)`` targets, NaN in silent rows."""
        ...

    def fold(self, one: Pass) -> Totals:
        """What a pass adds up over all of them."""
        ...


@dataclass(frozen=True)
class Problem:
    """One regularised learner for each output; ``slope_bound`` bounds the slopes that can occur.

    ``offset`` is a vector in the objective, ``priors`` what is added to each function before its loss.
    """

    examples: Examples
    loss: Loss
    scale: float
    slope_bound: float
    offset: Floats
    priors: tuple[float, ...] = ()


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
        return Weights(*two_sum(self.high, step + self.low))

    def slices(self) -> tuple[Floats, Floats]:
        """``(size, 4 * outputs)`` whole numbers up to 2**27, and for each output what the first of them count.

        That is a power of two of the output's own: a large one takes no digits from the others.
        """
        largest = np.maximum(np.abs(self.high).max(axis=1), 2.0**-900)
        unit = np.ldexp(1.0 / SLICE, np.frexp(largest)[1])
        rest, parts = self.high / unit[:, None], []
        for i in range(SLICES):
            if i == 2:  # all of the first double is in the first two, unless it is small beside the largest
                rest = rest + self.low * SLICE**2 / unit[:, None]
            parts.append(np.rint(rest))
            rest = (rest - parts[-1]) * SLICE
        return np.concatenate(parts).T.copy(), unit


def evaluate(problem: Problem, weights: Weights, *, curved: bool) -> Point:
    """One pass over the examples."""
    examples, loss = problem.examples, problem.loss
    outputs, size = examples.outputs, examples.size
    step, top = 2.0**examples.exponent, 2.0 ** math.frexp(problem.slope_bound)[1]
    slices, unit = weights.slices()
    tables = (3 if isinstance(loss, SmoothedHinge) and loss.width < SHARP else 1) if curved else 0
    weighing = (slices.tobytes(), tuple(unit.tolist()), tables, problem.priors)
    one = Gradient(examples.features, loss, top, (outputs, size), examples.exponent, *weighing)
    slopes, slacks, _ = one.ends
    numbers = examples.fold(one).doubles()
    total = numbers[:slopes].reshape(size, SLOPE_SLICES * outputs)
    sums = np.zeros((size, outputs))
    for i in reversed(range(SLOPE_SLICES)):  # the least significant first
        sums += total[:, i * outputs : (i + 1) * outputs] * (top / SLOPE ** (i + 1))
    gradient = (problem.scale * step) * sums.T + weights.high + problem.offset
    gradient += weights.low
    slack = numbers[slopes:slacks] * (loss.width / SLACK if isinstance(loss, SmoothedHinge) else 0.0)
    hessian = None
    if curved:
        assert loss.curvature is not None
        parts = numbers[slacks:].reshape(tables, outputs, size, size)
        hessian = parts[0] * (problem.scale * step * step * loss.curvature)
        for i in range(1, tables):
            hessian += parts[i] * (problem.scale * step * step * loss.curvature / SLOPE**i)
    return Point(gradient, hessian, problem.scale * slack)


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
    squares = float(problem.examples.fold(Squares(problem.examples.features)).doubles()[0])
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
        rounded = replace(problem, loss=SmoothedHinge(width))
        # On the path the slack is of the order of the width; a gradient much smaller than it needs is wasted effort.
        coarse = max(math.sqrt(goal), 0.1 * math.sqrt(width * problem.scale * problem.slope_bound))
        weights, point = _newton(rounded, weights, min(coarse, 0.3))
        if (point.slack + point.norms**2 / 2 <= goal).all():
            return weights
        width /= 8
