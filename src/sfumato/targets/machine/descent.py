"""Gradient descent in which each step sees the sum of its records' gradients through the door, with exact noise.

The noise of all steps but the last is drawn here, before the charge, and is as private as the records until then: the
weights leave with the last step's noise alone, which ``publish`` adds (docs/proofs/descent.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.machine.descent import MOMENTUM, SLOPE_BITS, Descent, slope_unit
from sfumato.bases.machine.losses import Loss
from sfumato.core.certificate import Certificate
from sfumato.core.mechanism import Private, publish
from sfumato.core.privacy import Privacy
from sfumato.core.quantize import round_vector
from sfumato.core.whole import Wide
from sfumato.targets.machine.examples import FixedPoint
from sfumato.targets.machine.gradient import SLICE, ClippedGradient

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Steps:
    """What every step is taken with: public numbers, and how much of the weights a step keeps."""

    descent: Descent
    loss: Loss
    kept: float
    offsets: tuple[float, ...]
    certificate: Certificate
    grant: Privacy  # of one step


def descend(examples: FixedPoint, steps: Steps) -> Private:
    """The weights before the last step's noise, sealed; given what all other steps saw, two records of one step apart.

    Formal guarantee: published with ``steps.grant``, all noisy sums together keep what ``Descent.grant`` was given.
    """
    shape, descent = (examples.outputs, examples.size), steps.descent
    weights, speed = np.zeros(shape), np.zeros(shape)
    for _ in range(descent.steps - 1):
        noisy, _, _ = publish(_summed(examples, steps, weights), steps.grant, "gaussian")
        speed = MOMENTUM * speed + noisy.reshape(shape)
        weights = within(steps.kept * weights + speed, descent.ball)
    before = steps.kept * weights + MOMENTUM * speed
    return _summed(examples, steps, weights, Wide(round_vector(before.ravel(), descent.exponent)))


def within(weights: Floats, ball: float) -> Floats:
    """The weights, each output's moved to the ball."""
    length = np.linalg.norm(weights, axis=1, keepdims=True)
    return np.asarray(weights * (ball / np.maximum(length, ball)))


def _summed(examples: FixedPoint, steps: Steps, weights: Floats, more: Wide | None = None) -> Private:
    """What a step adds to the weights, and ``more``."""
    descent, loss, shape = steps.descent, steps.loss, (examples.outputs, examples.size)
    unit = 2.0 ** np.frexp(max(float(np.abs(weights).max()), 2.0**-900))[1] / SLICE
    whole = np.ascontiguousarray(np.rint(weights / unit).T)
    one = ClippedGradient(
        examples.features,
        loss,
        slope_unit(loss.lipschitz),
        SLOPE_BITS,
        descent.budget,
        shape,
        examples.exponent,
        whole.tobytes(),
        float(unit),
        steps.offsets,
    )
    total = examples.fold(one).wide()
    return Private(total if more is None else total + more, steps.certificate)
