"""The public numbers of one learner: how far neighbours move it, how near the solver comes, what noise it needs."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import gammaincinv

from sfumato.bases.lattice.bernstein import Bernstein
from sfumato.bases.machine.descent import ALONE, Descent, Schedule, descent_of, schedule_of
from sfumato.bases.machine.landmarks import FeatureMap
from sfumato.bases.machine.losses import Declared, Hinge, Loss, UserLoss
from sfumato.checks import as_written, share_of
from sfumato.core.certificate import Certificate
from sfumato.core.objective import Objective, ObjectiveLaw, calibrate_objective
from sfumato.core.privacy import Privacy
from sfumato.errors import ParameterError

_DOOR = Fraction(1, 50)  # the share of the grant that covers what the solver leaves open, under objective noise
_MOST_AT_THE_DOOR = Fraction(1)  # epsilon: with less noise than that on so fine a grid, weights would not fit 64 bits
_FLOAT = 2.0**-45  # relative error of a gradient, and of rounding w to doubles, from above (docs/proofs/solver.md)
_LARGEST_C = 2.0**25  # times curvature and kappa squared: beyond this doubles do not resolve the minimiser
_LARGEST_TABLE = 2**23  # kernel values between a lattice and landmarks
_UP = 1 + 2.0**-48  # covers the rounding of a few products
_TAPER = Fraction(1, 256)  # what bounding the records' total weight adds to a distance, where their number is private
_HEAVIEST = (1 + _TAPER) ** 2 / (4 * _TAPER)  # ... and that bound, as a multiple of the rows expected: 64.5


@dataclass(frozen=True)
class ObjectiveNoise:
    """The noise that was put into the objective: what it was calibrated for, its law, and the part that paid for it."""

    objective: Objective
    law: ObjectiveLaw
    epsilon: float
    delta: float

    def radius(self, confidence: float) -> float:
        """How far, at most, this noise moved the learners: ``||b|| / strength``, with this confidence."""
        size = self.law.size
        if self.law.kind == "l2":
            longest = float(gammaincinv(size, confidence))
        else:
            longest = math.sqrt(2 * float(gammaincinv(size / 2, confidence)))
        # What the solver leaves open is at most 2**-16 of it.
        return (longest * self.law.deviation + self.law.rounding) / self.objective.strength * (1 + 2.0**-15)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        law = {**vars(self.law), "scale": str(self.law.scale)}
        return {"objective": dict(vars(self.objective)), "law": law, "epsilon": self.epsilon, "delta": self.delta}


@dataclass(frozen=True)
class Learner:
    """``C * mean(loss) + 1/2 ||w||^2``, once for each output, over records whose features have norm at most kappa.

    ``rows`` is what the sum of losses is divided by: the public number of rows, or a public guess of a private one.
    """

    loss: Loss
    C: float
    mechanism: str
    kappa: float
    rows: int
    outputs: int
    privacy: Privacy

    def __post_init__(self) -> None:
        why = unfit(self.loss, self.mechanism, self.privacy)
        if why is not None:
            raise ParameterError(why, parameter="mechanism")
        curvature = max(1.0, self.loss.curvature or 1.0)
        if self.C * curvature * self.kappa**2 > _LARGEST_C:
            raise ParameterError.of(
                "C",
                f"must not exceed {_LARGEST_C / (curvature * self.kappa**2):.4g} for this loss and kernel (64-bit "
                f"numbers do not resolve the minimiser), got C={self.C!r}; C multiplies the mean loss, not the sum",
            )

        for name, value in (
            ("C times the steepest slope", self.longest),
            ("the distance of neighbours", self.distance),
        ):
            if not 1e-100 < value < 1e100:
                raise ParameterError(
                    f"{name} is {value:.3g}, beyond what squares of numbers can hold; got C={self.C!r}", parameter="C"
                )

    @property
    def longest(self) -> float:
        """``C M kappa``: a bound on the norm of each noiseless minimiser."""
        return self.C * self.loss.steepest(self.C, self.kappa) * self.kappa * _UP

    @property
    def ball(self) -> float:
        """What is published lies within this norm: far more than a minimiser needs, unless the noise is monstrous.

        Where the number of rows is private, a minimiser can exceed it if there are 16 times as many as expected.
        """
        return (16 if self.guessed else 4) * self.longest

    @property
    def guessed(self) -> bool:
        """Whether ``rows`` is a guess of a private number."""
        return _rows_are_private(self.privacy)

    @property
    def assumes_few(self) -> bool:
        """Whether the guarantee assumes at most ``most_rows`` rows: Gaussian noise in the objective of private many."""
        return self.guessed and self.mechanism == "objective" and self.privacy.delta > 0

    @property
    def most_rows(self) -> int:
        """From as many rows on, their losses weigh no more together."""
        return int(_HEAVIEST * self.rows)

    def weight(self, known: int) -> Fraction:
        """What each of this many records' losses is multiplied by, so that all together weigh at most ``_HEAVIEST``.

        One record changes the weighted sum of gradients by at most ``1 + _TAPER`` times the steepest slope
        (docs/proofs/regularised-erm.md, Theorem 8).
        """
        share = Fraction(known, self.rows)
        if not self.guessed or share <= 1:
            return Fraction(1)
        if self.assumes_few:
            return min(Fraction(1), Fraction(self.most_rows, known))
        return 1 + _TAPER * (1 - share) if share <= (1 + _TAPER) / (2 * _TAPER) else _HEAVIEST / share

    @property
    def taper(self) -> float:
        """How much further neighbours are apart because weights depend on how many records there are."""
        return 1 + float(_TAPER) if self.guessed and not self.assumes_few else 1.0

    @property
    def distance(self) -> float:
        """How far, in Euclidean norm, neighbours can move each noiseless minimiser (docs/proofs/regularised-erm.md)."""
        records = 2 if self.privacy.neighbours == "replace" else 1
        return records * self.longest / self.rows * self.taper * _UP

    @property
    def float_error(self) -> float:
        """How far arithmetic in doubles can put the solver off; a private number of rows may far exceed the guess."""
        return _FLOAT * self.longest * (64 if self.guessed else 1)

    def objective(self, size: int) -> Objective:
        """What objective noise rests on, for this many features."""
        lipschitz, curvature, strength = self.loss.lipschitz, self.loss.curvature, self.rows / self.C
        assert lipschitz is not None and curvature is not None
        if (
            self.taper > 1
        ):  # one record changes all the others' weights, by little (docs/proofs/objective.md, Theorem 4)
            turn = 2 * _TAPER / (1 + _TAPER) / self.rows
            bent = math.expm1(size * float(turn * (1 + turn)) * _UP) * strength / self.kappa**2 * _UP
            lipschitz, curvature = lipschitz * self.taper * _UP, max(curvature, bent)
        return Objective(size, self.outputs, lipschitz, curvature, self.kappa, strength)

    def noise(self, size: int) -> ObjectiveNoise:
        """The noise in the objective, for what the door leaves of the grant."""
        part, objective = _split(self.privacy)[0], self.objective(size)
        assert part.epsilon is not None
        return ObjectiveNoise(objective, calibrate_objective(objective, part), part.epsilon, part.delta)

    def schedule(self, curvature: float) -> Schedule:
        """The steps of gradient descent, for a loss that has this curvature where it starts."""
        return schedule_of(self.C, curvature, self.kappa, self.rows)

    def descent(self, curvature: float) -> Descent:
        """The same in whole numbers. The ball is larger than the minimiser of any loss that starts below 1."""
        ball = 4 * min(self.C * (self.loss.lipschitz or 1.0) * self.kappa, math.sqrt(2 * self.C))
        steepest, schedule = self.loss.lipschitz, self.schedule(curvature)
        return descent_of(schedule, self.rows, steepest, self.kappa, self.outputs, ball)

    @property
    def affordable(self) -> bool:
        """Whether the curvature leaves objective noise enough of the grant to be worth considering."""
        granted = _split(self.privacy)[0].epsilon
        assert granted is not None
        return self.objective(1).curvature_cost < 0.9 * granted

    def tolerance(self, size: int) -> float:
        """How near each minimiser the solver comes: a public number, met whatever the data."""
        if isinstance(self.loss, Hinge):
            return self.distance / 2**9 + (self.C * self.kappa + math.sqrt(self.C)) / 2**22
        if self.mechanism == "output":
            return self.distance / 2**12 + self.float_error
        assert self.loss.curvature is not None
        stiffest = 1 + self.C * self.loss.curvature * self.kappa**2
        return self.noise(size).law.deviation * self.C / self.rows / stiffest / 2**16 + self.float_error

    def left_open(self, size: int) -> float:
        """How far, at most, what is published can lie from the exact minimiser under the exact b."""
        rounding = 0.0 if self.mechanism == "output" else self.noise(size).law.rounding * self.C / self.rows
        return (self.tolerance(size) * (1 + 2.0**-38) + self.float_error + rounding) * _UP

    def door(self, privacy: Privacy) -> Privacy:
        """What of the grant is left for the noise that is added at the end."""
        return _split(privacy)[1] if self.mechanism == "objective" else privacy


def _rows_are_private(privacy: Privacy) -> bool:
    return privacy.neighbours != "replace" or privacy.unit != "row"


def unfit(loss: Loss, mechanism: str, privacy: Privacy) -> str | None:
    """Why no proof covers a loss with this mechanism and grant, if so: no file can promise it either."""
    if mechanism == "output":
        unbounded = loss.lipschitz is None and _rows_are_private(privacy)
        return f"loss={loss.name!r} needs a public number of rows; use loss='huber'" if unbounded else None
    if mechanism == "descent":
        if loss.curvature is None:
            return f"mechanism='descent' needs a loss without corners, got loss={loss!r}"
        pure = privacy.rho is None and privacy.delta == 0
        return "mechanism='descent' takes Gaussian noise: grant delta > 0, or rho" if pure else None
    if not loss.smooth:
        return f"mechanism='objective' needs a twice differentiable loss of bounded slope, got loss={loss!r}"
    if privacy.rho is not None or privacy.unit != "row":
        return "mechanism='objective' needs epsilon (not rho) and unit='row'; use mechanism='output'"
    return None


@lru_cache(maxsize=32)  # it is asked for every C
def _split(privacy: Privacy) -> tuple[Privacy, Privacy]:
    """What pays for noise in the objective, and what pays for noise at the door; together at most the grant."""
    assert privacy.epsilon is not None
    share = min(_DOOR, _MOST_AT_THE_DOOR / as_written(privacy.epsilon))
    inside, door = (
        replace(privacy, epsilon=share_of(privacy.epsilon, part), delta=share_of(privacy.delta, part))
        for part in (1 - share, share)
    )
    return inside, door


@lru_cache(maxsize=32)
def longest_features(features: FeatureMap, lattice: Bernstein) -> float:
    """The largest norm that the features have at a point of a lattice, as they are computed there."""
    points, wide = lattice.size(features.box), features.size if features.nodes is None else len(features.nodes)
    if points * wide > _LARGEST_TABLE:
        raise ParameterError(
            f"the lattice has {points:,} points and the kernel {wide:,} landmarks, together at most "
            f"{_LARGEST_TABLE:,}: lower the degree, or the number of columns"
        )
    return float(np.linalg.norm(features(features.box.clean(lattice.lattice(features.box))), axis=1).max())


def certify_learner(
    learner: Learner, features: FeatureMap, lattice: Bernstein | None, users_kernel: bool, privacy: Privacy
) -> Certificate:
    """Neighbours' minimisers are near each other, and so is what a solver leaves open: regularised-erm.md.

    Under objective noise, given the exact minimiser, only what is left open can differ. See also whitening.md,
    solver.md and objective.md in docs/proofs.
    """
    apart, page = 2 * learner.left_open(features.size), "objective"
    if learner.mechanism == "output":
        apart, page = apart + learner.distance, "regularised-erm"
    norm, bound = "l2", apart * math.sqrt(learner.outputs) * (1 + 2.0**-48)
    if lattice is not None:  # at each point, each function moves by its features' norm times its distance
        norm, bound = "linf", (apart + 8 * learner.float_error) * longest_features(features, lattice) * (1 + 2.0**-40)
    row = Certificate(norm, bound, privacy.neighbours, "proved", page, None, _notes(users_kernel, learner))
    return row.for_unit(privacy)


def _notes(users_kernel: bool, learner: Learner) -> tuple[str, ...]:
    """What the code cannot check."""
    notes = []
    if users_kernel:
        notes.append(ALONE)
    if isinstance(learner.loss, UserLoss | Declared):
        notes.append("the caller's loss is convex, with the curvature that was declared")
    if learner.assumes_few:
        notes.append(f"at most {learner.most_rows} records, where expected_rows={learner.rows} were expected")
    return tuple(notes)
