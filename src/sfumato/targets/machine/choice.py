"""How ``"auto"`` chooses kernel, C and directions of a learner, from public quantities alone.

The error of what is shipped is predicted on made-up records: spread over the box, or over the middle of it (real
records fill less than their bounds), with several labels, some of them hard. A learner whose loss is replaced by a
parabola of the loss's usual curvature misses labels by what it must shrink, and noise of a known law is added: both
are sums over the directions of the records' second moments. The candidate of the least mean squared error is taken.
Nothing here reads a record, and nothing was fitted to any.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.machine.coordinates import coded, reach_of, spread, width_of
from sfumato.bases.machine.descent import certify_descent
from sfumato.bases.machine.kernels import RBF, Kernel, LinearKernel, Precomputed
from sfumato.bases.machine.landmarks import FeatureMap
from sfumato.bases.machine.learner import Learner
from sfumato.bases.machine.losses import Loss
from sfumato.core.box import Box, Categorical
from sfumato.core.calibration import calibrate
from sfumato.core.certificate import Certificate
from sfumato.laws import noise_variance
from sfumato.threads import on_one_thread

Floats = NDArray[np.float64]
Ranks = tuple[int | None, ...]

_POINTS, _MOST_POINTS = 512, 1024  # made-up records: more of them in many columns
_FILLED = (1.0, 0.5, 0.25)  # the part of the box, along each column, that they fill
_WIDTHS = (0.5, 1.0, 2.0, 4.0)  # of Gaussian kernels: gamma times the root of the number of coordinates
_MARGIN = 2.0  # where a classifier's functions should be, on either side of 0
BENT = 0.6  # the usual curvature of a margin loss, as a part of the largest
_CORNER = 0.25  # ... and a hinge's
_LARGEST_C, _SMALLEST_C = 2.0**17, -16  # times kappa squared; as a power of the root of two
_CONSTANT = 0.25  # of a linear learner that starts from the classes' shares, in lengths of the longest record
_MOST_DIRECTIONS, _RANKS = 128, 8
_MANY = 8  # coordinates of a record beyond which Gaussian kernels are not considered: distances tell too little


@dataclass(frozen=True)
class Scene:
    """Made-up records in a learner's features: the directions of their second moments, and what labels they have.

    ``moments`` are eigenvalues, ``(r,)``; ``shares`` the labels' covariances with each direction, ``(r, labels)``.
    """

    moments: Floats
    shares: Floats

    @cached_property
    def told(self) -> Floats:
        """How much of the labels' squares each direction can tell, on average over the labels."""
        return np.asarray((self.shares**2).mean(axis=1) / self.moments)

    def error(self, pull: Floats, noise: Floats) -> float:
        """The mean squared error, in squares of the labels, where directions are shrunk by ``pull`` (kept: 1)."""
        return float(1 + (pull * (pull - 2)) @ self.told + self.moments @ noise)


def public_points(box: Box, filled: float) -> Floats:
    """Made-up records that fill a part of the box, around its middle; categories are all there."""
    inside, points = coded(box), spread(box, min(_MOST_POINTS, max(_POINTS, 2 * box.dimension)))
    numbers = [not isinstance(column, Categorical) for column in box.columns]
    middle = inside.low / 2 + inside.high / 2
    points[:, numbers] = (middle + filled * (points - middle))[:, numbers]
    return inside.clean(points)


def sides(points: Floats) -> Floats:
    """``(N, j)``: labels of -1 and 1, some easy and some not.

    On which side of the middle a record lies along each of the first columns and along their sum; whether two columns
    lie on the same side; whether it is near the middle or far away.
    """
    centred = (points - points.mean(axis=0))[:, :3] / (np.ptp(points, axis=0)[:3] + 1e-300)
    distance = np.linalg.norm(centred, axis=1)
    checks = centred[:, :-1] * centred[:, 1:]
    measures = np.column_stack([centred, centred.sum(axis=1), checks, distance - np.median(distance)])
    return np.where(measures > 0, 1.0, -1.0)


@lru_cache(maxsize=32)
@on_one_thread  # matrices are small
def scenes(features: FeatureMap, ranks: Ranks) -> tuple[tuple[Scene, ...], ...]:
    """What a learner with its first directions, so many, meets in each part of the box."""
    if isinstance(features.kernel, Precomputed):
        rows = [np.asarray(features.kernel.gram)]
    else:
        rows = [public_points(features.box, filled) for filled in _FILLED]
    made = [(features(points), sides(points)) for points in rows]
    return tuple(tuple(_scene(seen[:, :rank], labels) for seen, labels in made) for rank in ranks)


def _scene(seen: Floats, labels: Floats) -> Scene:
    moments, vectors = np.linalg.eigh(seen.T @ seen / len(seen))
    shares = vectors.T @ (seen.T @ labels) / len(seen)
    kept = moments > 1e-12 * moments[-1]
    return Scene(moments[kept], shares[kept])


@dataclass(frozen=True)
class Noise:
    """The noise of a learner: a law's kind, and the deviation of each weight (under objective noise: undampened)."""

    kind: str
    deviation: float
    inside: bool

    def variance(self, size: int) -> float:
        """Of each of so many weights."""
        return noise_variance(self.kind, size) * self.deviation**2


def noise_of(learner: Learner, curvature: float = 0.25) -> Noise:
    """By public quantities; a law's scale is the same whatever the number of weights.

    Of gradient descent, that in each step's mean gradient, for a loss of this curvature.
    """
    if learner.mechanism == "descent":
        descent, rate = learner.descent(curvature), learner.schedule(curvature).rate
        certificate = certify_descent(descent, False, learner.privacy)
        law, _ = calibrate(certificate, 1, descent.grant(learner.privacy), "gaussian")
        return Noise("gaussian", law.deviation / rate, True)
    if learner.mechanism == "objective":
        inside = learner.noise(1).law
        return Noise(inside.kind, inside.deviation * learner.C / learner.rows, True)
    joint = learner.distance * math.sqrt(learner.outputs)
    row = Certificate("l2", joint, learner.privacy.neighbours, "proved", "regularised-erm")
    law, _ = calibrate(row.for_unit(learner.privacy), 1, learner.privacy)
    return Noise("l2" if law.kind != "gaussian" else law.kind, law.deviation, False)


def usual_bend(loss: Loss, shares: tuple[float, ...] | None = None) -> float:
    """The curvature to expect of a loss at a record: where classes are of unequal sizes, a logistic loss has less."""
    if loss.curvature is None:
        return _CORNER
    if loss.on != "margin":
        return 1.0  # of the squared loss as of the one that stands in for it: noise alone tells them apart
    if shares is not None:
        return BENT * float(np.mean([share * (1 - share) for share in shares]))
    return BENT * loss.curvature


def predicted_errors(features: FeatureMap, ranks: Ranks, learner: Learner, bend: float) -> list[float]:
    """For each rank, the mean squared error of what this learner would publish, in squares of its margins."""
    noise, found = noise_of(learner, bend / BENT), []
    weight, scale = bend * learner.C, _MARGIN if learner.loss.on == "margin" else 1.0
    for rank, met in zip(ranks, scenes(features, ranks), strict=True):
        variance, total = noise.variance(learner.outputs * (rank or features.size)), 0.0
        for scene in met:
            pull, gain = _response(learner, noise, weight, bend, scene.moments)
            sampled = (pull / scene.moments) ** 2 / bend / learner.rows * scene.moments
            total += scene.error(pull, (variance * gain + sampled) / scale**2)
        found.append(total)
    return found


def _response(learner: Learner, noise: Noise, weight: float, bend: float, moments: Floats) -> tuple[Floats, Floats]:
    """Along each direction: what is left of the labels' pull, and by how much the noise's variance is multiplied."""
    if learner.mechanism == "descent":
        return learner.schedule(bend / BENT).response(bend * moments)
    left = 1 / (weight * moments + 1)
    return 1 - left, left**2 if noise.inside else np.ones_like(left)


@dataclass(frozen=True)
class Chosen:
    """A learner with its C, how many directions it keeps (None: all), and the error to expect."""

    learner: Learner
    rank: int | None
    error: float


def best_strength(
    features: FeatureMap, ranks: Ranks, make: Callable[[float], Learner], bend: float, most: float = math.inf
) -> Chosen:
    """The C, up to ``most``, and the number of directions of least predicted error.

    Powers of two; the error falls and rises again with C, so that it need not be followed all the way.
    """
    largest = min(most, _LARGEST_C / features.norm**2)
    best: Chosen | None = None
    for power in range(_SMALLEST_C, math.floor(2 * math.log2(largest)) + 1):
        learner = make(float(f"{2.0 ** (power / 2):.4g}"))
        if learner.mechanism == "objective" and not learner.affordable:
            break
        found = best_rank(features, ranks, learner, bend)
        if best is not None and found.error > 1.05 * best.error:
            break
        best = found if best is None or found.error < best.error else best
    if best is None:
        learner = make(float(f"{min(largest, 2.0 ** (_SMALLEST_C / 2)):.4g}"))
        return Chosen(learner, ranks[-1], math.inf)
    return best


def best_rank(features: FeatureMap, ranks: Ranks, learner: Learner, bend: float) -> Chosen:
    """The number of directions of least predicted error: more of them miss less of the labels and add more noise."""
    errors = predicted_errors(features, ranks, learner, bend)
    place = int(np.argmin(errors))
    return Chosen(learner, ranks[place], errors[place])


@lru_cache(maxsize=32)
def ranks_of(whole: FeatureMap) -> Ranks:
    """Ranks worth trying: where the spectrum has a gap (directions of equal weight belong together), not too many."""
    if whole.whitening is None:
        return (None,)
    spectrum = 1 / np.einsum("ij,ij->j", whole.whitening, whole.whitening)
    gaps = np.flatnonzero(spectrum[1:] < 0.98 * spectrum[:-1]) + 1
    most = min(whole.size, _MOST_DIRECTIONS)
    found = [int(rank) for rank in gaps if rank <= most] + [most]
    wanted = np.unique(np.geomspace(1, most, _RANKS).round())
    return tuple(sorted({min(found, key=lambda rank: abs(rank - goal)) for goal in wanted}))


def linear_for(box: Box, started: bool) -> LinearKernel:
    """A linear kernel with a constant: a short one where the classes' shares are known, as it only corrects them."""
    if not started:
        return LinearKernel()
    return LinearKernel(float(f"{_CONSTANT * max(2.0**-10, reach_of(box)):.3g}"))


def gaussians_for(box: Box) -> list[Kernel]:
    """Gaussian kernels of several widths; in many columns none: their distances tell too little."""
    seen = sum(map(width_of, box.columns))
    if seen > _MANY:
        return []
    return [RBF(float(f"{width / math.sqrt(seen):.3g}")) for width in _WIDTHS]


def many_columns(kernel: Kernel, box: Box) -> bool:
    """Whether a learner is linear in more coordinates than Gaussian kernels are considered for."""
    return isinstance(kernel, LinearKernel) and sum(map(width_of, box.columns)) > _MANY
