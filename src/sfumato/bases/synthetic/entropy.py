"""Densities of greatest entropy, given noisy moments: for each column and class ``exp(a x + b x^2 + ...)``.

The dual is convex, and the noise's variance is a ridge in it: moments that noise alone could have made pull at nothing.
Newton's steps are shortened until they help, for each column by itself: plain ones diverge where a column sits at a
bound. Where no length helps, the density is so narrow that its curvature says nothing a step further on: curvature is
added then, tenfold until a step helps again. Everything here is computed from public numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_STEPS = 200  # of Newton, at most; a dozen are usual
_NEAR = 1e-12  # what a step must promise to be taken
_HALVINGS = 12
_DAMPED = 1e-3  # the curvature, in parts of its diagonal, that is added where no step helps; then ten times as much
_LEAST_RIDGE = 1e-7  # of moments without noise; a density has no infinite slopes
_RARE = 1e-3  # the least weight of a class
_STEEPEST = 60.0  # curvature that all columns may have in common
_BISECTIONS = 30


@dataclass(frozen=True, eq=False)
class Moments:
    """What is wanted of the densities of some columns on one grid.

    Parameters
    ----------
    base
        ``(G,)``: logarithms of the weights of the grid's cells.
    own, common
        ``(F, G)`` and ``(H, G)``: features with a coefficient for each class, and with one for all classes.
    shares
        ``(K,)``: weights of the classes.
    wanted, unsure
        ``(d, K, F)`` means of the own features, and ``(K,)`` or ``(d, K, F)`` variances of their noise.
    pooled, doubt, usual
        ``(d, H)`` means of the common features over all classes, ``(H,)`` variances, and the coefficients that are
        taken where noise hides the rest.
    """

    base: Floats
    own: Floats
    common: Floats
    shares: Floats
    wanted: Floats
    unsure: Floats
    pooled: Floats
    doubt: Floats
    usual: Floats


def densities(moments: Moments, start: Floats | None = None) -> tuple[Floats, Floats]:
    """``(d, K, G)`` weights of cells, of sum one for each class, and ``(d, K F + H)`` coefficients."""
    problem = _Dual(moments)
    at = np.zeros((problem.columns, problem.size)) if start is None else start
    value, slope, curvature = problem.at(at)
    damping, diagonal = np.zeros(problem.columns), np.arange(problem.size)
    for _ in range(_STEPS):
        curvature[:, diagonal, diagonal] *= 1 + damping[:, None]
        move: Floats = np.asarray(np.linalg.solve(curvature, slope[:, :, None])[:, :, 0], dtype=np.float64)
        promised = (move * slope).sum(axis=1)
        if promised.max() < _NEAR:
            break
        at, value, helped = _shortened(problem.value, at, move, value, promised)
        damping = np.where(helped, np.where(damping > _DAMPED, damping / 10, 0.0), np.maximum(10 * damping, _DAMPED))
        _, slope, curvature = problem.at(at)
    return problem.weights(at), at


def _shortened(
    of: Callable[[Floats], Floats], at: Floats, move: Floats, value: Floats, promised: Floats
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """A step for each column, halved until it brings a part of what it promises; and whether one did."""
    length = np.ones(len(at))
    for _ in range(_HALVINGS):
        new = at - length[:, None] * move
        reached = of(new)
        helps = reached <= value - 0.1 * length * promised
        if helps.all():
            return new, reached, helps
        length = np.where(helps, length, length / 2)
    length = np.where(helps, length, 0.0)
    new = at - length[:, None] * move
    return new, of(new), helps


class _Dual:
    """The convex dual of all columns at once; its minimum has the moments that are wanted, up to the ridge."""

    def __init__(self, moments: Moments) -> None:
        self.m = moments
        self.columns, self.classes, self.features = moments.wanted.shape
        self.size = self.classes * self.features + len(moments.common)
        shares = np.maximum(moments.shares, _RARE)
        self.shares = shares / shares.sum()
        unsure = moments.unsure.reshape(-1, 1) if moments.unsure.ndim == 1 else moments.unsure
        self.ridge = np.broadcast_to(np.maximum(unsure, _LEAST_RIDGE), moments.wanted.shape)
        self.doubt = np.maximum(moments.doubt, _LEAST_RIDGE)

    def _split(self, at: Floats) -> tuple[Floats, Floats]:
        cut = self.classes * self.features
        return at[:, :cut].reshape(self.columns, self.classes, self.features), at[:, cut:]

    def _logs(self, at: Floats) -> Floats:
        own, common = self._split(at)
        return np.asarray(own @ self.m.own + (common @ self.m.common)[:, None, :] + self.m.base)

    def weights(self, at: Floats) -> Floats:
        """``(d, K, G)``: the densities' weights of cells."""
        logs = self._logs(at)
        weights = np.exp(logs - logs.max(axis=2, keepdims=True))
        return np.asarray(weights / weights.sum(axis=2, keepdims=True))

    def value(self, at: Floats) -> Floats:
        """``(d,)``: the dual."""
        logs, (own, common) = self._logs(at), self._split(at)
        top = logs.max(axis=2)
        size = top + np.log(np.exp(logs - top[:, :, None]).sum(axis=2))
        each = size + (self.ridge / 2 * own**2 - own * self.m.wanted).sum(axis=2)
        apart = common - self.m.usual
        return np.asarray(each @ self.shares + (self.doubt / 2 * apart**2 - common * self.m.pooled).sum(axis=1))

    def at(self, at: Floats) -> tuple[Floats, Floats, Floats]:
        """``(d,)`` values, ``(d, V)`` slopes and ``(d, V, V)`` curvatures."""
        weights, (own, common) = self.weights(at), self._split(at)
        features = np.concatenate([self.m.own, self.m.common])
        means = weights @ features.T
        second = np.einsum("dkg,ig,jg->dkij", weights, features, features, optimize=True)
        spread = (second - means[:, :, :, None] * means[:, :, None, :]) * self.shares[:, None, None]
        f, cut = self.features, self.classes * self.features
        curvature = np.zeros((self.columns, self.size, self.size))
        for k in range(self.classes):
            rows = slice(k * f, (k + 1) * f)
            curvature[:, rows, rows] = spread[:, k, :f, :f]
            curvature[:, rows, cut:] = spread[:, k, :f, f:]
            curvature[:, cut:, rows] = spread[:, k, f:, :f]
        curvature[:, cut:, cut:] = spread[:, :, f:, f:].sum(axis=1)
        ridge = (self.ridge * self.shares[:, None]).reshape(self.columns, cut)
        diagonal = np.concatenate([ridge, np.broadcast_to(self.doubt, common.shape)], axis=1)
        curvature[:, np.arange(self.size), np.arange(self.size)] += diagonal
        first = (means[:, :, :f] - self.m.wanted + self.ridge * own) * self.shares[:, None]
        pooled = np.einsum("dki,k->di", means[:, :, f:], self.shares) - self.m.pooled
        slope = np.concatenate(
            [first.reshape(self.columns, cut), pooled + self.doubt * (common - self.m.usual)], axis=1
        )
        return self.value(at), slope, curvature


def common_curvature(fitted: Callable[[float, Floats | None], tuple[Floats, Floats]], feature: Floats, shares: Floats,
                     wanted: float) -> float:  # fmt: skip
    """The one coefficient of a feature in all densities with which its mean over classes and columns is ``wanted``.

    ``fitted`` gives the densities for a coefficient; the mean rises with it.
    """
    low, high, start = -_STEEPEST, _STEEPEST, None
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        weights, start = fitted(middle, start)
        mean = float(((weights @ feature) @ shares).mean())
        low, high = (middle, high) if mean < wanted else (low, middle)
    return (low + high) / 2
