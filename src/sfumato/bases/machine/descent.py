"""Gradient descent with noise in every step: its public schedule, how far one record moves a step, what pays for it.

Full-batch steps with momentum. A record's gradient is a whole number times its fixed-point features, of an enforced
norm, so that the sum of a step is exact; given the steps before, it moves by at most two such norms. All steps
together are one Gaussian mechanism (docs/proofs/descent.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.machine.landmarks import exponent_of
from sfumato.bases.repeated import grant_of_one, ratio_of_all
from sfumato.core.certificate import Certificate, certify_sum
from sfumato.core.privacy import Privacy

Floats = NDArray[np.float64]

STEPS = 64  # of noise it takes no more than fewer do: what adds up over steps is as much smaller in each
MOMENTUM = 0.9375  # directions in which the loss is flat move sixteen times as far
SLOPE_BITS = 17  # of a slope that is as steep as the loss allows
_CLIP = 0.5  # of the longest gradient: where a logistic learner starts, no record's is longer
_UNBOUNDED = 2.0  # the slope of a squared loss at its start, of responses at either end
ALONE = "the caller's kernel reads each record alone"


@dataclass(frozen=True)
class Schedule:
    """The steps of one learner: of what size, and how much of the weights each keeps. ``rate`` is for a mean loss."""

    rate: float
    kept: float
    steps: int = STEPS

    def response(self, curvatures: Floats) -> tuple[Floats, Floats]:
        """Along directions of these curvatures of the mean loss: what of the minimiser is reached, in its units.

        And the sum of squares of what unit noise in each step's mean gradient leaves in the weights.
        """
        weight, speed = np.zeros_like(curvatures), np.zeros_like(curvatures)
        moved, push, squares = np.zeros_like(curvatures), np.full_like(curvatures, self.rate), np.zeros_like(curvatures)
        for _ in range(self.steps):
            speed = MOMENTUM * speed + self.rate * curvatures * (weight - 1)
            weight = self.kept * weight - speed
            moved = self.kept * moved - push
            squares += moved**2
            push = MOMENTUM * push + self.rate * curvatures * moved
        return weight, squares


def schedule_of(strength: float, curvature: float, norm: float, rows: int) -> Schedule:
    """Steps that are stable wherever records lie, for a loss of this curvature: a quarter of what momentum allows.

    ``strength`` is C, ``norm`` the largest of a record's features. What a sum over ``rows`` records is multiplied by is
    a power of two.
    """
    best = 1 / (curvature * norm**2 + 1 / ((1 - MOMENTUM) * strength))
    rate = rows * 2.0 ** (math.frexp(best / rows)[1] - 1)
    return Schedule(rate, 1 - rate / ((1 - MOMENTUM) * strength))


@dataclass(frozen=True)
class Descent:
    """What privacy rests on, all of it public.

    Parameters
    ----------
    steps
        How many sums are published to whoever takes the next step.
    budget, exponent
        No record's part of a sum is longer than ``budget`` steps of ``2**exponent``; these are weights: the rate, a
        power of two, is in them.
    ball
        The weights are kept within this norm.
    """

    steps: int
    budget: int
    exponent: int
    ball: float

    def radius(self, confidence: float) -> float:
        """How far, at most, noise moved the learner: whatever it did, both lie in the ball."""
        return 2 * self.ball * (1 + 2.0**-40)

    def grant(self, privacy: Privacy) -> Privacy:
        """What the noise of one step may use, so that all together keep the grant."""
        return grant_of_one(privacy, self.steps)

    def ratio(self, mu: float) -> float:
        """The ratio of sensitivity to noise of all steps together, from that of one."""
        return ratio_of_all(mu, self.steps)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return vars(self)


def descent_of(
    schedule: Schedule, rows: int, steepest: float | None, norm: float, outputs: int, ball: float
) -> Descent:
    """The integers of a schedule: gradients in steps of which the rate, a power of two, makes weights."""
    rate = math.frexp(schedule.rate / rows)[1] - 1
    return Descent(schedule.steps, budget_of(steepest, norm, outputs), gradient_exponent(steepest, norm) + rate, ball)


def slope_unit(steepest: float | None) -> float:
    """A power of two above every slope; of a loss whose slope has no bound, what slopes are cut off at."""
    return 2.0 ** math.frexp(2 * _UNBOUNDED if steepest is None else steepest)[1]


def gradient_exponent(steepest: float | None, norm: float) -> int:
    """A record's gradient is a whole number times ``2**exponent``."""
    return exponent_of(norm) + math.frexp(slope_unit(steepest))[1] - 1 - SLOPE_BITS


def budget_of(steepest: float | None, norm: float, outputs: int) -> int:
    """The norm that no record's gradient exceeds, in these steps: of several outputs, two can be steep at once."""
    longest = _CLIP * (_UNBOUNDED if steepest is None else steepest) * norm * math.sqrt(min(outputs, 2))
    return math.floor(longest * 2.0 ** -gradient_exponent(steepest, norm))


def certify_descent(descent: Descent, users_kernel: bool, privacy: Privacy) -> Certificate:
    """Given the steps before it, one record moves a step by what its own gradient may be: descent.md in docs/proofs."""
    row = certify_sum("l2", descent.budget, descent.exponent, privacy)
    return replace(row, proof="descent", assumptions=(ALONE,) if users_kernel else ())
