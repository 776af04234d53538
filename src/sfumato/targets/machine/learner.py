"""What is predicted of a learner from public quantities: how far noise moves it, and what fewer directions miss.

Predictions rest on a public reference: records spread evenly over the box, labelled by which side of its middle they
lie on.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.base import Basis
from sfumato.bases.lattice.bernstein import Bernstein
from sfumato.bases.machine.coordinates import spread
from sfumato.bases.machine.descent import certify_descent
from sfumato.bases.machine.kernels import Kernel, LinearKernel, Precomputed
from sfumato.bases.machine.landmarks import Coordinates, FeatureMap, Landmarks, feature_map
from sfumato.bases.machine.learner import Learner
from sfumato.bases.machine.losses import Hinge, SmoothedHinge
from sfumato.core.box import Box
from sfumato.core.calibration import calibrate
from sfumato.core.certificate import Certificate
from sfumato.core.privacy import Privacy
from sfumato.releases.uncertainty import mean_largest
from sfumato.targets.machine.choice import sides

Floats = NDArray[np.float64]

_REFERENCE = {1: 101, 2: 441, 3: 1000}  # points of the reference, by the box's dimension
_REFERENCE_MANY = 512
_PRIOR_LEAST, _PRIOR_MOST, _PRIOR_NOISE = Fraction(1, 50), Fraction(1, 10), 0.01
_REFERENCE_STEPS = 6
_CORNER = 0.5  # a hinge is rounded over this width for predictions
_SURE = 4.0  # beyond this, a function's value no longer matters for its label


@lru_cache(maxsize=32)
def features_of(kernel: Kernel, basis: Basis, box: Box) -> FeatureMap:
    """The features of a kernel in a basis; a learner whose values on a lattice are published has the usual ones."""
    if isinstance(basis, Bernstein):
        basis.size(box)
        basis = Coordinates() if isinstance(kernel, LinearKernel) else Landmarks()
    return feature_map(kernel, basis, box)


def prior_share(rows: int, privacy: Privacy) -> Fraction:
    """The part of the grant that pays for counts of the classes: their noise is then a hundredth of the records."""
    strength = privacy.epsilon if privacy.epsilon is not None else math.sqrt(2 * (privacy.rho or 0.0))
    return min(_PRIOR_MOST, max(_PRIOR_LEAST, Fraction(round(2 / _PRIOR_NOISE / (rows * strength) * 1000), 1000)))


@lru_cache(maxsize=32)
def reference(features: FeatureMap) -> Floats:
    """``(N, r)``: the features of records spread evenly over the box."""
    return features(_reference_points(features))


def _reference_points(features: FeatureMap) -> Floats:
    if isinstance(features.kernel, Precomputed):
        return np.asarray(features.kernel.gram)
    return spread(features.box, _REFERENCE.get(features.box.dimension, _REFERENCE_MANY))


def _restricted(features: FeatureMap, rank: int) -> FeatureMap:
    """The same map with its first directions only."""
    assert features.whitening is not None
    return replace(features, whitening=features.whitening[:, :rank])


def predicted_noise(features: FeatureMap, learner: Learner) -> float:
    """The mean of the largest error that noise makes anywhere on the reference, in one of the learner's functions.

    Objective noise is dampened by the curvature that the reference would have (half the largest).
    """
    seen, size = reference(features), features.size * learner.outputs
    if learner.mechanism == "objective":
        assert learner.loss.curvature is not None
        bent = np.eye(features.size) + (learner.C * learner.loss.curvature / 2 / len(seen)) * (seen.T @ seen)
        weights = np.asarray(np.linalg.solve(bent, seen.T).T, dtype=np.float64) * (learner.C / learner.rows)
        return mean_largest([_padded(weights, size)], learner.noise(features.size).law)
    if learner.mechanism == "descent":
        return _predicted_steps(seen, learner)
    joint = learner.distance * math.sqrt(learner.outputs)
    row = Certificate("l2", joint, learner.privacy.neighbours, "proved", "regularised-erm")
    law, _ = calibrate(row.for_unit(learner.privacy), size, learner.privacy)
    return mean_largest([_padded(seen, size)], law)


def _predicted_steps(seen: Floats, learner: Learner) -> float:
    """The same of gradient descent: what the noise of all steps leaves along each direction of the reference."""
    assert learner.loss.curvature is not None
    descent, schedule = learner.descent(learner.loss.curvature), learner.schedule(learner.loss.curvature)
    moments, vectors = np.linalg.eigh(seen.T @ seen / len(seen))
    left = np.sqrt(schedule.response(learner.loss.curvature * moments)[1]) / schedule.rate
    size = seen.shape[1] * learner.outputs
    certificate = certify_descent(descent, False, learner.privacy)
    law, _ = calibrate(certificate, size, descent.grant(learner.privacy), "gaussian")
    return mean_largest([_padded((seen @ vectors * left) @ vectors.T, size)], law)


def _padded(weights: Floats, size: int) -> Floats:
    """One of several functions that share a noise vector."""
    return np.pad(weights, ((0, 0), (0, size - weights.shape[1])))


def reference_misses(whole: FeatureMap, ranks: list[int], learner: Learner) -> list[float]:
    """By how much, at most on the reference, learners with fewer directions miss one that has them all.

    The root mean square over several reference labels.
    """
    seen, labels = reference(whole), sides(_reference_points(whole))
    full = _reference_fit(seen, labels, learner)
    missed = [np.abs(full - _reference_fit(seen[:, :rank], labels, learner)).max(axis=0) for rank in ranks]
    return [float(np.sqrt(np.mean(m**2))) for m in missed]


def _reference_fit(seen: Floats, sides: Floats, learner: Learner) -> Floats:
    """``(N, j)``: the values, on the reference, of learners of these labels without noise, by a few Newton steps."""
    loss = SmoothedHinge(_CORNER) if isinstance(learner.loss, Hinge) else learner.loss
    rows, size = seen.shape
    values = np.empty_like(sides)
    for j, side in enumerate(sides.T):
        sign = side if loss.on == "margin" else np.ones(rows)
        centre = loss.centre if loss.on == "margin" else side
        weights = np.zeros(size)
        for _ in range(_REFERENCE_STEPS):
            at = sign * (seen @ weights) - centre
            gradient = seen.T @ (sign * loss.slope(at)) * (learner.C / rows) + weights
            bent = (seen * loss.bend(at)[:, None]).T @ seen * (learner.C / rows) + np.eye(size)
            weights = weights - np.linalg.solve(bent, gradient)
        values[:, j] = seen @ weights
    return np.clip(values, -_SURE, _SURE)
