"""Noise inside an objective: how much of it a regularised learner needs.

The learner minimises ``sum_i loss_i(w) + (strength / 2) ||w||^2 + <b, w>``; b is the noise. docs/proofs/objective.md
proves that the exact minimiser is private, and how the door's own noise covers what a solver and the rounding of b
leave open.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from sfumato.checks import as_written, positive_integer, positive_number
from sfumato.core.gaussian import chi_delta, smallest
from sfumato.core.privacy import Privacy
from sfumato.errors import ParameterError

_FINENESS = 20  # b is rounded to 2**-20 of its scale
_UP = 1 + 2.0**-48  # covers the rounding of a few products


@dataclass(frozen=True)
class Objective:
    """What the proof needs to know about a learner; all of it public.

    Parameters
    ----------
    size, blocks
        Coefficients of each learner, and how many learners share the records (one for each class against the rest).
    lipschitz, curvature
        Bounds on the first and second derivative of the loss as a function of ``<w, x>``, **for every w**; the loss is
        convex and its second derivative continuous.
    norm
        A bound on ``||x||``.
    strength
        The quadratic term's factor, in a sum (not a mean) of losses.
    """

    size: int
    blocks: int
    lipschitz: float
    curvature: float
    norm: float
    strength: float

    def __post_init__(self) -> None:
        for name in ("size", "blocks"):
            positive_integer(name, getattr(self, name))
        for name in ("lipschitz", "curvature", "norm", "strength"):
            positive_number(name, getattr(self, name))

    @property
    def curvature_cost(self) -> float:
        """``eps_J``: how much the Jacobian of ``b -> w`` can differ between neighbours, in epsilon, from above."""
        return self.blocks * math.log1p(self.curvature * self.norm**2 / self.strength * _UP) * _UP

    def reach(self, neighbours: str) -> float:
        """How far, in Euclidean norm, neighbours can move the gradient of the sum of losses."""
        records = 2 if neighbours == "replace" else 1
        return records * math.sqrt(self.blocks) * self.lipschitz * self.norm * _UP


@dataclass(frozen=True)
class ObjectiveLaw:
    """The law of b: a real vector, rounded to multiples of ``2**exponent``.

    ``scale`` is in grid steps: the deviation of a ``"gaussian"``; an ``"l2"`` law has density proportional to
    ``exp(-||b|| / scale)``.
    """

    kind: str
    size: int
    exponent: int
    scale: Fraction

    @property
    def deviation(self) -> float:
        """The scale in the gradient's own units."""
        return float(self.scale) * 2.0**self.exponent

    @property
    def rounding(self) -> float:
        """How far, in Euclidean norm, the rounded b can lie from the real one."""
        return 2.0**self.exponent * math.sqrt(self.size) * 0.5 * _UP


def calibrate_objective(objective: Objective, privacy: Privacy) -> ObjectiveLaw:
    """The least noise for which the exact minimiser is private as granted."""
    if privacy.epsilon is None or privacy.unit != "row":
        raise ParameterError("noise in the objective needs epsilon (not rho) and single rows; use output noise instead")
    left = (privacy.epsilon - objective.curvature_cost) / _UP
    if left <= 0:
        raise ParameterError(
            f"the curvature alone costs epsilon={objective.curvature_cost:.3g}, got epsilon={privacy.epsilon!r}: "
            "choose a smaller C, or output noise"
        )
    reach, dimension = objective.reach(privacy.neighbours), 2 * objective.blocks
    if privacy.delta == 0:
        kind, deviation = "l2", Fraction(reach) / as_written(left)
    else:
        # With a ratio q of reach to deviation, two records shift b by at most q deviations within a known subspace.
        inverse = smallest(lambda s: chi_delta(1 / s, left, dimension) <= privacy.delta, start=1.0)
        kind, deviation = "gaussian", Fraction(reach) * Fraction(inverse)
    exponent = math.frexp(float(deviation))[1] - _FINENESS
    size = objective.size * objective.blocks
    return ObjectiveLaw(kind, size, exponent, deviation / Fraction(2) ** exponent)
