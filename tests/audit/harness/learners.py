"""A learner whose private vector can be looked at, and minimisers to compare it with."""

from __future__ import annotations

import itertools
import math

import numpy as np

import sfumato as sf
from harness.hunter import hunt
from opening import blocks_of
from sfumato.core.mechanism import Private
from sfumato.engines.memory import MemoryEngine
from sfumato.targets.machine.examples import FixedPoint
from sfumato.targets.machine.learner import features_of

BOX = sf.Box([(0, 1), (0, 1)])
NOBODY = "a label that nobody declared"
LONG = np.longdouble


class Opened:
    """A settled target whose private vector can be looked at: data in, numbers out."""

    def __init__(self, target, basis, relation="replace", n=8, box=BOX, privacy=None):
        self.privacy = privacy or sf.Privacy(epsilon=1.0, neighbours=relation)
        self.rows, self.n = n, n if relation == "replace" else None
        self.basis, self.box = basis, box
        self.target = target.settled(box, self.n, self.privacy, basis)
        self.certificate = self.target.certificate(basis, box, self.n, self.privacy)
        self.features = features_of(target.kernel, basis, box)

    @property
    def learner(self):
        return self.target.settled_learner

    def labelled(self, points, labels):
        engine = MemoryEngine()
        records = engine.open((points, labels), self.box, "row", self.target.columns)
        return self.target.gather(records, self.box, engine)

    def examples(self, points, labels):
        return FixedPoint(self.labelled(points, labels), self.features)

    def __call__(self, points, labels):
        private = self.target.coefficients(self.labelled(points, labels), self.basis, self.box, self.certificate)
        assert isinstance(private, Private)
        return private._values

    def of_records(self, data):
        """Records of the hunter: the last column is the label. Some say nothing, some lie outside the box."""
        points = np.where(data[:, :-1] > 1.15, np.nan, data[:, :-1])
        if self.target.classes is None:
            return self(points, data[:, -1])
        known = np.array([*self.target.classes, NOBODY])
        return self(points, known[np.clip(data[:, -1].astype(int), 0, len(known) - 1)])

    def hunted(self, seed=0, restarts=5, steps=24):
        classes = self.target.classes
        low = np.array([-0.2] * self.box.dimension + [-1.2 if classes is None else 0.0])
        high = np.array([1.2] * self.box.dimension + [1.2 if classes is None else len(classes) + 0.3])
        relation, norm = self.privacy.neighbours, self.certificate.norm
        return hunt(self.of_records, low, high, self.rows, norm, relation, seed, restarts, steps).distance


def seen_by_solver(opened, points, targets):
    """``(n, r)`` features and targets of the records that say something, exactly as the solver has them."""
    features, known = (np.concatenate(part) for part in zip(*blocks_of(opened.examples(points, targets)), strict=True))
    kept = ~np.isnan(known[:, 0])
    return features[kept].astype(LONG) * LONG(2.0) ** opened.features.exponent, known[kept, 0].astype(LONG)


def slopes(loss, at):
    """The losses' derivatives to 64 bits; ``at`` is the margin, or the residual."""
    with np.errstate(over="ignore"):
        return _slopes(loss, at)


def _slopes(loss, at):
    if loss.name == "logistic":
        return -1 / (1 + np.exp(at))
    if loss.name == "smoothed-hinge":
        return -1 / (1 + np.exp((at - 1) / LONG(loss.width)))
    if loss.name == "huber":
        return at / np.sqrt(1 + (at / LONG(loss.threshold)) ** 2)
    return 2 * at


def exact_minimiser(loss, seen, targets, scale, offset):
    """Newton's method whose gradient and weights have 64 bits: good to far below ``2**-50`` of what is at stake."""
    w, scale = np.zeros(seen.shape[1], dtype=LONG), LONG(scale)

    def gradient(at):
        values = seen @ at
        slope = slopes(loss, values * targets) * targets if loss.on == "margin" else slopes(loss, values - targets)
        return scale * (seen.T @ slope) + at + offset

    def curvature(at):
        values = (seen @ at).astype(float)
        where = values * targets.astype(float) - loss.centre if loss.on == "margin" else values - targets.astype(float)
        few = seen.astype(float)
        return float(scale) * few.T @ (few * loss.bend(where)[:, None]) + np.eye(len(at))

    g = gradient(w)
    for _ in range(400):
        step = np.linalg.solve(curvature(w), g.astype(float)).astype(LONG)
        length = LONG(1)
        while length > 1e-12 and not np.linalg.norm(gradient(w - length * step)) < np.linalg.norm(g):
            length /= 2
        if length <= 1e-12:
            break
        w = w - length * step
        g = gradient(w)
    return w, float(np.linalg.norm(g))


def hinge_minimiser(seen, signs, scale):
    """The hinge's minimiser by trying every split of the records into beyond, on and within the margin."""
    rows = (signs[:, None] * seen).astype(float)
    best, least = np.zeros(rows.shape[1]), math.inf
    for states in itertools.product((0, 1, None), repeat=len(rows)):
        alpha = np.array([1.0 if s == 1 else 0.0 for s in states])
        free = [i for i, s in enumerate(states) if s is None]
        if free:
            needed = 1 - rows[free] @ (scale * rows.T @ alpha)
            alpha[free] = np.clip(np.linalg.lstsq(scale * rows[free] @ rows[free].T, needed, rcond=None)[0], 0, 1)
        w = scale * rows.T @ alpha
        margins = 1 - rows @ w
        gap = scale * float((np.maximum(margins, 0) - alpha * margins).sum())
        if gap < least:
            best, least = w, gap
    return best, math.sqrt(2 * max(least, 0))
