"""What is chosen for a learner from public quantities: its features, how strongly it is regularised, its rank.

Predictions rest on a public reference: records spread evenly over the box, labelled by which side of its middle they
lie on.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.base import Basis
from sfumato.bases.lattice.bernstein import Bernstein
from sfumato.bases.machine.kernels import Kernel, LinearKernel, Precomputed
from sfumato.bases.machine.landmarks import Coordinates, FeatureMap, Landmarks, feature_map, spread
from sfumato.bases.machine.learner import Learner
from sfumato.bases.machine.losses import Hinge, Loss, SmoothedHinge
from sfumato.core.box import Box
from sfumato.core.calibration import calibrate
from sfumato.core.certificate import Certificate
from sfumato.core.gaussian import noise_multiplier
from sfumato.core.privacy import Privacy
from sfumato.releases.uncertainty import mean_largest

Floats = NDArray[np.float64]

_REFERENCE = {1: 101, 2: 441, 3: 1000}  # points of the reference, by the box's dimension
_REFERENCE_MANY = 512
_CURVATURE_SHARE = 20  # the curvature may cost one part in so many of epsilon ...
_CURVATURE_SHARE_PURE = 60  # ... and less where the noise is larger
_NOISE = 0.25  # the deviation of output noise that C="auto" aims at; margins are of the order of 1
_LARGEST_C = 2.0**17
_MOST_DIRECTIONS = 256
_USUAL_RANK = 16
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


def public_strength(
    loss: Loss, mechanism: str, kappa: float, rows: int, outputs: int, privacy: Privacy, size: int | None
) -> float:
    """``C="auto"``: as little regularisation as the privacy allows.

    Under objective noise the curvature costs ``curvature C kappa^2 / n`` of epsilon: one part in 20 (pure: in 60).
    Under output noise C is what gives noise of a fixed, tolerable size.
    """
    most = _LARGEST_C / kappa**2
    pure = privacy.rho is None and privacy.delta == 0
    if mechanism == "objective":
        assert privacy.epsilon is not None and loss.curvature is not None
        share = _CURVATURE_SHARE_PURE if pure else _CURVATURE_SHARE
        return _rounded(min(most, rows * privacy.epsilon / (share * loss.curvature * kappa**2 * outputs)))
    strength = privacy.epsilon if privacy.epsilon is not None else math.sqrt(2 * (privacy.rho or 0.0))
    if pure:
        factor = math.sqrt(outputs * (size or _USUAL_RANK) + 1) / strength
    else:
        factor = 1 / strength if privacy.rho is not None else noise_multiplier(strength, privacy.delta)
    apart = 2 * math.sqrt(outputs) * kappa**2 / rows * factor  # the noise at C = 1, for slopes of at most 1
    low, high = 2.0**-20, most  # the squared loss's slopes grow with C, so C is searched for
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if apart * middle * loss.steepest(middle, kappa) < _NOISE else (low, middle)
    return _rounded(low)


def _rounded(value: float) -> float:
    """A number that a person can read, next to this one."""
    return float(f"{value:.4g}")


@lru_cache(maxsize=32)
def reference(features: FeatureMap) -> Floats:
    """``(N, r)``: the features of records spread evenly over the box."""
    if isinstance(features.kernel, Precomputed):
        return features(np.asarray(features.kernel.gram))
    return features(spread(features.box, _REFERENCE.get(features.box.dimension, _REFERENCE_MANY)))


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
    joint = learner.distance * math.sqrt(learner.outputs)
    row = Certificate("l2", joint, learner.privacy.neighbours, "proved", "regularised-erm")
    law, _ = calibrate(row.for_unit(learner.privacy), size, learner.privacy)
    return mean_largest([_padded(seen, size)], law)


def _padded(weights: Floats, size: int) -> Floats:
    """One of several functions that share a noise vector."""
    return np.pad(weights, ((0, 0), (0, size - weights.shape[1])))


@lru_cache(maxsize=32)
def best_rank(whole: FeatureMap, learner: Learner) -> int:
    """How many directions to keep: more of them miss less of the learner and add more noise."""
    ranks = _candidates(whole)
    noises = [predicted_noise(_restricted(whole, rank), learner) for rank in ranks]
    errors = [math.hypot(*pair) for pair in zip(noises, reference_misses(whole, ranks, learner), strict=True)]
    return ranks[int(np.argmin(errors))]


def reference_misses(whole: FeatureMap, ranks: list[int], learner: Learner) -> list[float]:
    """By how much, at most on the reference, learners with fewer directions miss one that has them all.

    The root mean square over several reference labels.
    """
    seen, sides = reference(whole), _sides(whole)
    full = _reference_fit(seen, sides, learner)
    missed = [np.abs(full - _reference_fit(seen[:, :rank], sides, learner)).max(axis=0) for rank in ranks]
    return [float(np.sqrt(np.mean(m**2))) for m in missed]


def _candidates(whole: FeatureMap) -> list[int]:
    """Ranks worth trying: where the spectrum has a gap (directions of equal weight belong together), not too many."""
    assert whole.whitening is not None
    spectrum = 1 / np.einsum("ij,ij->j", whole.whitening, whole.whitening)
    gaps = np.flatnonzero(spectrum[1:] < 0.98 * spectrum[:-1]) + 1
    found = [int(rank) for rank in gaps if rank <= _MOST_DIRECTIONS] + [min(whole.size, _MOST_DIRECTIONS)]
    return found[:10] + found[10:][:: 1 + len(found) // 25]


def _sides(features: FeatureMap) -> Floats:
    """``(N, j)``: reference labels, some easy and some not.

    On which side of the middle a record lies along each of the first columns and along their sum; whether two columns
    lie on the same side; whether it is near the middle or far away.
    """
    if isinstance(features.kernel, Precomputed):
        points = np.asarray(features.kernel.gram)
    else:
        points = spread(features.box, _REFERENCE.get(features.box.dimension, _REFERENCE_MANY))
    centred = (points - points.mean(axis=0))[:, :3] / (np.ptp(points, axis=0)[:3] + 1e-300)
    distance = np.linalg.norm(centred, axis=1)
    checks = centred[:, :-1] * centred[:, 1:]
    measures = np.column_stack([centred, centred.sum(axis=1), checks, distance - np.median(distance)])
    return np.where(measures > 0, 1.0, -1.0)


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
