"""Regularised learners in a kernel's span: classifiers and regressions that can be handed out.

``C * mean(loss) + 1/2 ||w||^2``. Output noise is added to the minimiser, whose distance between neighbours is bounded
by strong convexity; objective noise is put into what is minimised, where the data's own curvature dampens it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.bases.base import Basis
from sfumato.bases.bernstein import Bernstein
from sfumato.bases.kernels import LinearKernel, UserKernel, kernel_of
from sfumato.bases.landmarks import Coordinates, FeatureMap, Landmarks, reach_of
from sfumato.checks import one_of, positive_integer, positive_number, share_of
from sfumato.core.box import Box
from sfumato.core.calibration import NoiseLaw
from sfumato.core.certificate import Certificate
from sfumato.core.mechanism import Private
from sfumato.core.objective import Objective, calibrate_objective, draw_objective
from sfumato.core.privacy import Privacy
from sfumato.engines.memory import Engine
from sfumato.engines.tables import Table
from sfumato.errors import ParameterError
from sfumato.releases.machine import Handed, MachineRelease, ObjectiveNoise
from sfumato.releases.response import Response
from sfumato.targets.base import Errors, Published, Target
from sfumato.targets.examples import FixedPoint, Labelled
from sfumato.targets.learning import Forecast, best_rank, features_of, public_strength
from sfumato.targets.losses import Hinge, Loss, SmoothedHuber, Squared, UserLoss, loss_of
from sfumato.targets.solver import Problem, minimise

_EXPECTED_ROWS = 10_000  # where the number of rows is private and nobody says what to expect
_DOOR = Fraction(1, 50)  # the share of the grant that covers what the solver leaves open, under objective noise
_FLOAT = 2.0**-45  # relative error of a gradient as the solver computes it, from above (docs/proofs/solver.md)
_SAMPLE = 100  # a first guess is fitted to this many records for each feature


@dataclass(frozen=True)
class KernelMachine(Target):
    """Publish a learner: the minimiser of ``C * mean(loss) + 1/2 ||w||^2`` in the span of a kernel.

    Parameters
    ----------
    loss
        ``"hinge"``, ``"logistic"``, ``"squared"``, ``"huber"`` (smoothed), ``"smoothed-hinge"``, or an object such as
        ``sf.SmoothedHuber(threshold=0.5)`` or ``sf.UserLoss(...)``.
    kernel
        ``"rbf"``, ``"matern"``, ``"polynomial"``, ``"linear"``, or an object such as ``sf.RBF(gamma=0.5)``; it acts on
        features in box widths from the box's middle, or on ``x / max_norm`` where the box has a ``max_norm``.
    C
        How much the *mean* loss weighs. scikit-learn's ``C`` multiplies the *sum*: this one is n times theirs.
        ``"auto"`` follows a public rule (number of rows, kernel, privacy).
    response
        The column to predict; of an ``(X, y)`` pair, y.
    classes, range
        What it can be: a list of classes, or ``(low, high)``. A label outside the list contributes nothing, a number
        outside the range is clipped.
    mechanism
        ``"output"``, ``"objective"`` (twice differentiable losses of bounded slope), or ``"auto"``: the one of less
        predicted error.
    expected_rows
        A public guess of the number of rows, where that number itself is private.

    Formal guarantee: ``certificate`` bounds what one record can move (docs/proofs/regularised-erm.md); objective noise
    is private by docs/proofs/objective.md.

    >>> KernelMachine("hinge", "rbf", C=1.0, response="ill", classes=["no", "yes"]).describe()[1]
    ('loss', 'hinge')
    """

    loss: Any = "logistic"
    kernel: Any = "rbf"
    C: float | str = "auto"
    response: str = "label"
    classes: Sequence[Any] | None = None
    range: tuple[float, float] | None = None
    mechanism: str = "auto"
    expected_rows: int | None = None
    settled_for: tuple[int | None, Privacy] | None = None

    bases = (Landmarks, Coordinates, Bernstein)

    def __post_init__(self) -> None:
        told = Response(self.response, self.classes, self.range)  # type: ignore[arg-type]
        object.__setattr__(self, "classes", told.classes)
        object.__setattr__(self, "range", told.range)
        object.__setattr__(self, "loss", loss_of(self.loss))
        object.__setattr__(self, "kernel", kernel_of(self.kernel))
        if isinstance(self.C, str):
            one_of("C", self.C, ("auto",))
        else:
            object.__setattr__(self, "C", positive_number("C", self.C))
        one_of("mechanism", self.mechanism, ("auto", "output", "objective"))
        if self.expected_rows is not None:
            positive_integer("expected_rows", self.expected_rows)
        wanted = "residual" if self.classes is None else "margin"
        if self.loss.on != wanted and not (wanted == "margin" and self.loss.on == "residual"):
            raise ParameterError(f"loss={self.loss!r} needs classes=[...]; for a range use 'squared' or 'huber'")

    @property
    def told(self) -> Response:
        """The response."""
        return Response(self.response, self.classes, self.range)  # type: ignore[arg-type]

    @property
    def columns(self) -> Any:  # type: ignore[override]
        """The response's column, which the data must have beside the box's."""
        return {self.response: self.told.column}

    def check_box(self, box: Box) -> None:
        super().check_box(box)
        if self.response in box.names:
            raise ParameterError(
                f"response={self.response!r} is also a column of the box: leave it out of the box, its classes or "
                "range are declared in the target"
            )

    def kappa(self, box: Box) -> float:
        """The largest norm of a record's features."""
        return math.sqrt(self.kernel.largest(reach_of(box))) * (1 + 2.0**-50)

    # --- what is settled from public quantities ---------------------------------------------------------------

    def settled(self, box: Box, n: int | None, privacy: Privacy, basis: Any = "auto") -> KernelMachine:
        """The same with a mechanism and a number for C; a squared loss under objective noise becomes a Huber loss."""
        target = replace(self, settled_for=(n, privacy))
        options = [m for m in ("objective", "output") if self.mechanism in ("auto", m)]
        refusals = {m: target._refusal(m, privacy, basis) for m in options}
        possible = [m for m in options if refusals[m] is None]
        if not possible:
            raise ParameterError(str(refusals[options[0]]))
        found = [target._with(m, box, n, privacy, basis) for m in possible]
        found = [t for t in found if t._affordable(box, n, privacy)] or found[-1:]
        if len(found) == 1 or isinstance(self.C, str):
            return found[0]
        return min(found, key=lambda t: t._forecast(t._given_or_chosen(basis, box, n, privacy), box).noise)

    def _refusal(self, mechanism: str, privacy: Privacy, basis: Any) -> str | None:
        """Why a mechanism cannot serve, if so."""
        if mechanism == "output":
            private = privacy.neighbours != "replace" or privacy.unit != "row"
            return (
                "loss='squared' needs a public number of rows; use loss='huber'"
                if (private and isinstance(self.loss, Squared))
                else None
            )
        if not self.loss.smooth and not isinstance(self.loss, Squared):
            return f"mechanism='objective' needs a twice differentiable loss of bounded slope, got loss={self.loss!r}"
        if privacy.rho is not None or privacy.unit != "row":
            return "mechanism='objective' needs epsilon (not rho) and unit='row'; use mechanism='output'"
        if isinstance(basis, Bernstein):
            return "sf.Bernstein goes with mechanism='output'; objective noise is on the learner's coefficients"
        return None

    def _with(self, mechanism: str, box: Box, n: int | None, privacy: Privacy, basis: Any) -> KernelMachine:
        loss = SmoothedHuber() if mechanism == "objective" and isinstance(self.loss, Squared) else self.loss
        target = replace(self, mechanism=mechanism, loss=loss)
        if isinstance(self.C, str):
            size = self._features(basis, box).size if isinstance(basis, Basis) else None
            rows, outputs = self._rows(n), self.told.outputs
            target = replace(target, C=public_strength(loss, mechanism, self.kappa(box), rows, outputs, privacy, size))
        return target

    def _affordable(self, box: Box, n: int | None, privacy: Privacy) -> bool:
        if self.mechanism == "output":
            return True
        assert privacy.epsilon is not None
        return self._objective(1, box, n).curvature_cost < 0.9 * share_of(privacy.epsilon, 1 - _DOOR)

    def _rows(self, n: int | None) -> int:
        return max(1, n or self.expected_rows or _EXPECTED_ROWS)

    def _objective(self, size: int, box: Box, n: int | None) -> Objective:
        loss: Loss = self.loss
        assert loss.lipschitz is not None and loss.curvature is not None and not isinstance(self.C, str)
        strength = self._rows(n) / self.C
        return Objective(size, self.told.outputs, loss.lipschitz, loss.curvature, self.kappa(box), strength)

    def _objective_noise(self, features: FeatureMap) -> ObjectiveNoise:
        """The noise in the objective, for what the door leaves of the grant."""
        assert self.settled_for is not None
        n, privacy = self.settled_for
        part, objective = _part(privacy, 1 - _DOOR), self._objective(features.size, features.box, n)
        assert part.epsilon is not None
        return ObjectiveNoise(objective, calibrate_objective(objective, part), part.epsilon, part.delta)

    def door(self, privacy: Privacy) -> Privacy:
        """What of the grant is left for the noise that is added at the end."""
        return _part(privacy, _DOOR) if self.mechanism == "objective" else privacy

    # --- the pipeline -------------------------------------------------------------------------------------------

    def gather(self, table: Table, box: Box, engine: Engine) -> Labelled:
        return Labelled(table, self.told)

    def check_basis(self, basis: Basis, box: Box) -> None:
        super().check_basis(basis, box)
        features_of(self.kernel, basis, box)

    def size(self, basis: Basis, box: Box) -> int:
        each = basis.size(box) if isinstance(basis, Bernstein) else features_of(self.kernel, basis, box).size
        return each * self.told.outputs

    def _given_or_chosen(self, basis: Any, box: Box, n: int | None, privacy: Privacy) -> Basis:
        return basis if isinstance(basis, Basis) else self.choose_basis(box, n, privacy)

    def choose_basis(self, box: Box, n: int | None, privacy: Privacy) -> Basis:
        """The coordinates for a linear kernel; else as many whitened directions as lower the predicted error."""
        if isinstance(self.kernel, LinearKernel):
            return Coordinates()
        whole = Landmarks()
        features = features_of(self.kernel, whole, box)
        rank = best_rank(features, lambda part: self._forecast_of(part, whole, box), self.C)
        return Landmarks(rank=rank)

    def _distance(self, box: Box, n: int | None, privacy: Privacy) -> float:
        """How far, in Euclidean norm, neighbours can move each learner's exact minimiser under output noise."""
        assert not isinstance(self.C, str)
        records = 2 if privacy.neighbours == "replace" else 1
        kappa = self.kappa(box)
        return records * self.loss.steepest(self.C, kappa) * self.C * kappa / self._rows(n) * (1 + 2.0**-48)

    def _tolerance(self, features: FeatureMap, n: int | None, privacy: Privacy) -> float:
        """How near each learner's minimiser the solver comes: a public number, met whatever the data."""
        assert not isinstance(self.C, str)
        kappa = features.norm
        floor = _FLOAT * self.C * self.loss.steepest(self.C, kappa) * kappa
        if self.mechanism == "objective":
            stiffest = 1 + self.C * self.loss.curvature * kappa**2
            noise = self._objective_noise(features).law.deviation * self.C / self._rows(n)
            return noise / stiffest / 2**16 + floor  # a small part of what the noise does where it does least
        distance = self._distance(features.box, n, privacy)
        if isinstance(self.loss, Hinge):
            return distance / 2**9 + (self.C * kappa + math.sqrt(self.C)) / 2**22
        return distance / 2**12 + floor

    def certificate(self, basis: Basis, box: Box, n: int | None, privacy: Privacy) -> Certificate:
        """Neighbours' minimisers are at most ``2 M C kappa / n`` apart, the solver's at most twice its tolerance more.

        Under objective noise b, given the exact minimiser, only the solver's distance and the rounding of b are left
        (docs/proofs/regularised-erm.md, solver.md, objective.md).
        """
        features = self._features(basis, box)
        apart, page = 2 * (self._tolerance(features, n, privacy) + self._float_error(features)), "regularised-erm"
        if self.mechanism == "output":
            apart += self._distance(box, n, privacy)
        else:
            law, page = self._objective_noise(features).law, "objective"
            apart += 2 * law.rounding * self.C / self._rows(n)
        if isinstance(basis, Bernstein):  # at each point, each learner moves by at most kappa times its distance
            most = (apart + 8 * self._float_error(features)) * features.norm
            row = Certificate("linf", most, privacy.neighbours, "proved", page, None, self._notes())
        else:
            joint = apart * math.sqrt(self.told.outputs) * (1 + 2.0**-48)
            row = Certificate("l2", joint, privacy.neighbours, "proved", page, None, self._notes())
        return row.for_unit(privacy)

    def _features(self, basis: Basis, box: Box) -> FeatureMap:
        return features_of(self.kernel, basis, box)

    def _float_error(self, features: FeatureMap) -> float:
        assert not isinstance(self.C, str)
        return _FLOAT * self.C * self.loss.steepest(self.C, features.norm) * features.norm

    def _notes(self) -> tuple[str, ...]:
        notes = []
        if isinstance(self.kernel, UserKernel):
            notes.append("the caller's kernel reads each record alone")
        if isinstance(self.loss, UserLoss):
            notes.append("the caller's loss is convex, with the curvature that was declared")
        return tuple(notes)

    def coefficients(self, gathered: Labelled, basis: Basis, box: Box, certificate: Certificate) -> Private:
        assert self.settled_for is not None and not isinstance(self.C, str)
        n, privacy = self.settled_for
        features = self._features(basis, box)
        shape = (self.told.outputs, features.size)
        offset, scale = np.zeros(shape), self.C / self._rows(n)
        if self.mechanism == "objective":
            offset = scale * draw_objective(self._objective_noise(features).law).reshape(shape)
        loss = self.loss
        steepest = 2 * loss.steepest(
            self.C, features.norm
        )  # room above the squared loss's bound, which is at minimisers
        examples = FixedPoint(gathered, features)
        problem = Problem(examples, loss, scale, steepest, offset)
        start = None
        rows = _SAMPLE * max(features.size, 50)
        if gathered.rows > 8 * rows and not isinstance(loss, Hinge):
            few = Problem(examples.sample(rows), loss, self.C / rows, steepest, offset)
            start = minimise(few, 2.0**-20 * self._float_error(features) / _FLOAT)
        learned = minimise(problem, self._tolerance(features, n, privacy), start)
        most = 4 * self._float_error(features) / _FLOAT  # no exact minimiser is so long, but one under a monstrous b
        learned = np.clip(learned, -most, most)
        if isinstance(basis, Bernstein):
            learned = np.asarray(learned @ features(box.clean(basis.lattice(box))).T)
        return Private(learned.ravel(), certificate)

    # --- predictions and the release ----------------------------------------------------------------------------

    def _forecast(self, basis: Basis, box: Box) -> Forecast:
        return self._forecast_of(self._features(basis, box), basis, box)

    def _forecast_of(self, features: FeatureMap, basis: Basis, box: Box) -> Forecast:
        assert self.settled_for is not None and not isinstance(self.C, str)
        n, privacy = self.settled_for
        if self.mechanism == "objective":
            law, curvature = self._objective_noise(features).law, self.loss.curvature
            return Forecast.of_objective(features, law, self.C, self._rows(n), curvature)
        joint = self._distance(box, n, privacy) * math.sqrt(self.told.outputs)
        return Forecast.of_output(features, joint, features.size * self.told.outputs, privacy)

    def predict(self, basis: Basis, box: Box, law: NoiseLaw, n: int | None, confidence: float) -> Errors:
        forecast = self._forecast(basis, box)
        handed = self._handed(basis, box, law)
        return Errors(forecast.noise, handed.worst_width(law, confidence), None, None)

    def _handed(self, basis: Basis, box: Box, law: NoiseLaw) -> Handed:
        """The public part of the release."""
        features = self._features(basis, box)
        noise = None
        if self.mechanism == "objective":
            noise = self._objective_noise(features)
        return Handed(features, basis if isinstance(basis, Bernstein) else None, self.told, self.loss.name, noise)

    def finish(self, published: Published) -> MachineRelease:
        handed = self._handed(published.basis, published.box, published.law)
        return MachineRelease(
            guarantee=published.guarantee,
            law=published.law,
            target=self.describe(),
            receipt=published.receipt,
            handed=handed,
            weights=published.values.reshape(self.told.outputs, -1),
        )

    def describe(self) -> tuple[tuple[str, str], ...]:
        what = "regression" if self.classes is None else "classifier"
        return (
            ("target", what),
            ("loss", repr(self.loss)),
            ("kernel", repr(self.kernel)),
            ("C (times the mean loss)", repr(self.C)),
            ("response", self.response),
            ("mechanism", self.mechanism),
        )


def _part(privacy: Privacy, share: Fraction) -> Privacy:
    assert privacy.epsilon is not None
    return replace(privacy, epsilon=share_of(privacy.epsilon, share), delta=share_of(privacy.delta, share))
