"""Regularised learners in a kernel's span: classifiers and regressions that can be handed out.

``C * mean(loss) + 1/2 ||w||^2``. Output noise is added to the minimiser, whose distance between neighbours is bounded
by strong convexity; objective noise is put into what is minimised, where the data's own curvature dampens it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.base import Basis
from sfumato.bases.lattice.bernstein import Bernstein
from sfumato.bases.machine.coordinates import reach_of
from sfumato.bases.machine.descent import Descent, certify_descent
from sfumato.bases.machine.kernels import RBF, Kernel, LinearKernel, Precomputed, UserKernel, kernel_of
from sfumato.bases.machine.landmarks import Coordinates, Landmarks, kappa_of
from sfumato.bases.machine.learner import Learner, certify_learner, unfit
from sfumato.bases.machine.losses import Hinge, Loss, SmoothedHuber, Squared, loss_of
from sfumato.checks import one_of, positive_integer, positive_number
from sfumato.core.box import Box
from sfumato.core.calibration import NoiseLaw
from sfumato.core.certificate import Certificate
from sfumato.core.mechanism import Private, draw_objective
from sfumato.core.privacy import Privacy
from sfumato.engines.engine import Engine, Records
from sfumato.errors import ParameterError
from sfumato.faces.views import check_groups
from sfumato.releases.machine.machine import Handed, MachineRelease, Recipe
from sfumato.releases.machine.prior import Prior, known_prior
from sfumato.releases.machine.response import Response
from sfumato.targets.base import Errors, Measured, Published, Step, Target
from sfumato.targets.machine.choice import (
    BENT,
    Chosen,
    best_rank,
    best_strength,
    gaussians_for,
    linear_for,
    many_columns,
    ranks_of,
    usual_bend,
)
from sfumato.targets.machine.descent import Steps, descend, within
from sfumato.targets.machine.examples import FixedPoint, Labelled
from sfumato.targets.machine.learner import (
    features_of,
    predicted_noise,
    prior_share,
    reference_misses,
)
from sfumato.targets.machine.solver import Problem, minimise
from sfumato.targets.statistic import Statistic

Floats = NDArray[np.float64]

_MECHANISMS = ("descent", "objective", "output")
_EXPECTED_ROWS = 10_000  # where the number of rows is private and nobody says what to expect
_DIGITS = 2.0**-47  # of the noise term: a gradient is not asked to be smaller (docs/proofs/solver.md, Theorem 5)
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
        ``"auto"`` (linear, or in few columns an RBF of a width by a public rule), ``"rbf"``, ``"matern"``,
        ``"polynomial"``, ``"linear"``, or an object such as ``sf.RBF(gamma=0.5)``; it acts on
        features in box widths from the box's middle, or on ``x / max_norm`` where the box has a ``max_norm``. It sees
        a category as the corner of a simplex whose corners are one box width apart: one-hot, and centred.
    C
        How much the *mean* loss weighs. scikit-learn's ``C`` multiplies the *sum*: this one is n times theirs.
        ``"auto"`` is that of least predicted error: by the number of rows, the box, the kernel, the privacy, and the
        classes' published shares.
    response
        The column to predict; of an ``(X, y)`` pair, y.
    classes, range
        What it can be: a list of classes, or ``(low, high)``. A label outside the list contributes nothing, a number
        outside the range is clipped.
    mechanism
        ``"output"``, ``"objective"`` (twice differentiable losses of bounded slope), ``"descent"`` (gradient descent
        with noise in every step; losses without corners, delta > 0 or rho), or ``"auto"``: the one of less predicted
        error, of which descent is one for linear learners of many columns.
    expected_rows
        A public guess of the number of rows, where that number itself is private. It steers accuracy: beyond it each
        record weighs a little less, and all of them together never more than 64 times as many. Only Gaussian noise in
        the objective assumes that there are no more than that, and then the guarantee says so.
    prior
        The classes' shares, which a logistic loss starts from and which thresholds and weights of classes need.
        ``"auto"``: noisy counts of the classes are published first, for a small share of the grant; a list: you know
        them without looking at the data; ``"even"``: none. Other losses have none.

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
    prior: Any = "auto"
    learner: Learner | None = field(default=None, repr=False)  # by ``settled``, not by callers
    rank: int | None = field(default=None, repr=False)
    left_open: bool = field(default=False, repr=False)  # whether C was
    undecided: bool = field(default=False, repr=False)  # whether shares of classes may make it a descent

    bases = (Landmarks, Coordinates, Bernstein)
    work = "training"

    def __post_init__(self) -> None:
        told = Response(self.response, self.classes, self.range)  # type: ignore[arg-type]
        object.__setattr__(self, "classes", told.classes)
        object.__setattr__(self, "range", told.range)
        object.__setattr__(self, "loss", loss_of(self.loss))
        if not isinstance(self.kernel, str) or self.kernel not in ("auto", "linear"):  # which wait for a box
            object.__setattr__(self, "kernel", kernel_of(self.kernel))
        if isinstance(self.C, str):
            one_of("C", self.C, ("auto",))
        else:
            object.__setattr__(self, "C", positive_number("C", self.C))
        one_of("mechanism", self.mechanism, ("auto", *_MECHANISMS))
        if self.expected_rows is not None:
            positive_integer("expected_rows", self.expected_rows)
        self._check_prior()
        wanted = "residual" if self.classes is None else "margin"
        if self.loss.on != wanted and not (wanted == "margin" and self.loss.on == "residual"):
            raise ParameterError(
                f"loss={self.loss!r} needs classes=[...]; for a range use 'squared' or 'huber'", parameter="loss"
            )

    def _check_prior(self) -> None:
        if isinstance(self.prior, Prior) or (isinstance(self.prior, str) and self.prior in ("auto", "even")):
            return
        if isinstance(self.prior, str):
            one_of("prior", self.prior, ("auto", "even"))
        if self.classes is None or not self.loss.chances:
            raise ParameterError.of("prior", f"is for loss='logistic' and classes, got loss={self.loss!r}")
        object.__setattr__(self, "prior", known_prior(self.prior, self.told))

    @property
    def told(self) -> Response:
        """The response."""
        return Response(self.response, self.classes, self.range)  # type: ignore[arg-type]

    @property
    def columns(self) -> Any:  # type: ignore[override]
        """The response's column, which the data must have beside the box's."""
        return {self.response: self.told.column}

    def check_box(self, box: Box) -> None:
        if isinstance(self.kernel, Precomputed):
            box.intervals()
        if self.response in box.names:
            raise ParameterError(
                f"response={self.response!r} is also a column of the box: leave it out of the box, its classes or "
                "range are declared in the target",
                parameter="response",
            )

    # --- what is settled from public quantities ---------------------------------------------------------------

    def settled(self, box: Box, n: int | None, privacy: Privacy, basis: Any = "auto") -> KernelMachine:
        """The same with a mechanism and a number for C; a squared loss under objective noise becomes a Huber loss."""
        if isinstance(basis, Basis):
            super().check_basis(basis, box)
        kernels = self._kernels(box, basis)
        wide = self.mechanism == "descent" or any(many_columns(kernel, box) for kernel in kernels)
        options = [m for m in _MECHANISMS if self.mechanism in ("auto", m) and (m != "descent" or wide)]
        refusals = {m: self._refusal(m, privacy, basis) for m in options}
        possible = [m for m in options if refusals[m] is None]
        if not possible:
            raise ParameterError(str(refusals[options[-1]]), parameter="mechanism")
        found = [
            self._with(m, kernel, box, n, privacy, basis)
            for m in possible
            for kernel in kernels
            if self.mechanism == m or m != "descent" or many_columns(kernel, box)
        ]
        able = [c for c in found if c[1].learner.mechanism != "objective" or c[1].learner.affordable]
        kernel, best = min(able or found[-1:], key=lambda c: c[1].error)
        learner, left_open = best.learner, self.left_open or isinstance(self.C, str)
        settled = replace(self, kernel=kernel, learner=learner, rank=best.rank, left_open=left_open)
        if left_open and self.mechanism == "auto" and many_columns(kernel, box):
            settled = replace(settled, undecided="descent" in possible and learner.mechanism != "descent")
        return replace(settled, loss=learner.loss, C=learner.C, mechanism=learner.mechanism)

    def _bend(self, loss: Loss) -> float:
        return usual_bend(loss, None if self._prior is None else self._prior.shares)

    def _kernels(self, box: Box, basis: Any) -> list[Kernel]:
        """Those to choose among: the caller's, or what public rules consider."""
        if isinstance(self.kernel, Kernel):
            return [self.kernel]
        linear = linear_for(box, self._prior is not None or self._may_ask)
        if self.kernel == "linear" or isinstance(basis, Coordinates):
            return [linear]
        return gaussians_for(box) or [RBF()] if isinstance(basis, Landmarks) else [linear, *gaussians_for(box)]

    def _refusal(self, mechanism: str, privacy: Privacy, basis: Any) -> str | None:
        """Why a mechanism cannot serve, if so."""
        if mechanism != "output" and isinstance(basis, Bernstein):
            return f"sf.Bernstein goes with mechanism='output'; {mechanism} noise is on the learner's coefficients"
        return unfit(self._loss_for(mechanism), mechanism, privacy)

    def _loss_for(self, mechanism: str) -> Loss:
        """A squared loss has no bounded slope, which noise in the objective needs: Huber's stands in."""
        return SmoothedHuber() if mechanism == "objective" and isinstance(self.loss, Squared) else self.loss

    def _with(
        self, mechanism: str, kernel: Kernel, box: Box, n: int | None, privacy: Privacy, basis: Any
    ) -> tuple[Kernel, Chosen]:
        """The best learner with this mechanism and kernel, as far as public quantities tell."""
        loss, kappa = self._loss_for(mechanism), kappa_of(kernel.largest(reach_of(box)))
        rows, outputs = max(1, n or self.expected_rows or _EXPECTED_ROWS), self.told.outputs
        usual = Coordinates() if isinstance(kernel, LinearKernel) else Landmarks()
        features = features_of(kernel, basis if isinstance(basis, Basis) else usual, box)
        ranks = (None,) if isinstance(basis, Basis) else ranks_of(features)

        def make(strength: float) -> Learner:
            return Learner(loss, strength, mechanism, kappa, rows, outputs, privacy)

        if isinstance(self.C, str):
            return kernel, best_strength(features, ranks, make, self._bend(loss))
        learner = make(self.C)
        able = mechanism != "objective" or learner.affordable
        return kernel, best_rank(features, ranks, learner, self._bend(loss)) if able else Chosen(
            learner, ranks[-1], math.inf
        )

    @property
    def settled_learner(self) -> Learner:
        """The learner's public numbers; ``settled`` has found them."""
        assert self.learner is not None
        return self.learner

    @property
    def descent(self) -> Descent | None:
        """The public numbers of gradient descent, where that is the mechanism."""
        learner = self.settled_learner
        return learner.descent(self._bend(learner.loss) / BENT) if learner.mechanism == "descent" else None

    @property
    def inside(self) -> str:
        return self.settled_learner.mechanism

    def door(self, privacy: Privacy) -> Privacy:
        return self.settled_learner.door(privacy) if self.descent is None else self.descent.grant(privacy)

    def together(self, mu: float | None) -> float | None:
        return None if self.descent is None or mu is None else self.descent.ratio(mu)

    def before(self, box: Box, n: int | None, privacy: Privacy, free: bool) -> Step | None:
        """Noisy counts of the classes, where the loss has use for them."""
        if not self._may_ask:
            return None
        rows = n or self.expected_rows or _EXPECTED_ROWS
        own = Box({self.response: self.told.column})
        return Step(Statistic("histogram", self.response), prior_share(rows, privacy), own)

    def after(
        self, measured: Measured, basis: Basis, box: Box, n: int | None, granted: Privacy, rest: Privacy
    ) -> tuple[KernelMachine, Basis]:
        """The same, starting from these counts: classes of unequal sizes bend a loss less, and want a smaller C."""
        counts = tuple(measured.numbers.tolist())
        told = replace(self, prior=Prior(counts, measured.law, measured.step.share))
        if not self.left_open:
            return told, basis
        features, found = features_of(self.kernel, basis, box), []
        for old in self._among():
            made = partial(_stronger, old)
            found.append(best_strength(features, (None,), made, told._bend(old.loss), self.settled_learner.C))
        best = min(found, key=lambda one: one.error).learner
        return replace(told, C=best.C, learner=best, mechanism=best.mechanism, loss=best.loss), basis

    def _among(self) -> list[Learner]:
        """The learner, and where the classes' shares may make it one, that with gradient descent."""
        own = self.settled_learner
        return [own, replace(own, mechanism="descent")] if self.undecided else [own]

    def others(self) -> list[Target]:
        """The same with another mechanism, as long as the classes' shares are not known."""
        return [replace(self, mechanism=one.mechanism, learner=None, undecided=False) for one in self._among()[1:]]

    @property
    def _may_ask(self) -> bool:
        return isinstance(self.prior, str) and self.prior == "auto" and self.classes is not None and self.loss.chances

    @property
    def _prior(self) -> Prior | None:
        return self.prior if isinstance(self.prior, Prior) else None

    # --- the pipeline -------------------------------------------------------------------------------------------

    def gather(self, records: Records, box: Box, engine: Engine) -> Labelled:
        """Nothing is read yet: what to make of records depends on the basis."""
        return Labelled(records, self.told, engine)

    def check_basis(self, basis: Basis, box: Box) -> None:
        super().check_basis(basis, box)
        features_of(self._kernels(box, basis)[0], basis, box)

    def check_drawable(self, box: Box, basis: Any) -> None:
        check_groups(self.classes or (), "classes")

    def size(self, basis: Basis, box: Box) -> int:
        return self._size(basis, box) * self.told.outputs

    def _size(self, basis: Basis, box: Box) -> int:
        return basis.size(box) if isinstance(basis, Bernstein) else features_of(self.kernel, basis, box).size

    def choose_basis(self, box: Box, n: int | None, privacy: Privacy) -> Basis:
        """The coordinates for a linear kernel; else as many whitened directions as lower the predicted error."""
        if isinstance(self.kernel, LinearKernel):
            return Coordinates()
        return Landmarks(rank=self.rank)

    def certificate(self, basis: Basis, box: Box, n: int | None, privacy: Privacy) -> Certificate:
        """Neighbours' minimisers are near each other, and so is what a solver leaves open: regularised-erm.md.

        See also docs/proofs/whitening.md, solver.md, objective.md and descent.md.
        """
        features, lattice = features_of(self.kernel, basis, box), basis if isinstance(basis, Bernstein) else None
        users = isinstance(self.kernel, UserKernel)
        if self.descent is not None:
            return certify_descent(self.descent, users, privacy)
        return certify_learner(self.settled_learner, features, lattice, users, privacy)

    def coefficients(self, gathered: Labelled, basis: Basis, box: Box, certificate: Certificate) -> Private:
        learner, features = self.settled_learner, features_of(self.kernel, basis, box)
        shape, priors = (
            (learner.outputs, features.size),
            () if self._prior is None else tuple(self._prior.offsets.tolist()),
        )
        if self.descent is not None:
            kept = learner.schedule(self._bend(learner.loss) / BENT).kept
            grant = self.descent.grant(learner.privacy)
            return descend(
                FixedPoint(gathered, features), Steps(self.descent, learner.loss, kept, priors, certificate, grant)
            )
        offset, scale = np.zeros(shape), learner.C / learner.rows
        if learner.mechanism == "objective":
            offset = scale * draw_objective(learner.noise(features.size).law).reshape(shape)
        # Slopes are cut off at twice their bound, which for the squared loss holds at minimisers only.
        steepest = 2 * learner.loss.steepest(learner.C, learner.kappa)
        examples = FixedPoint(gathered, features)
        # A monstrous noise term drowns the last digits, and puts the minimiser so far out that the ball shrinks errors.
        digits = _DIGITS * np.linalg.norm(offset, axis=1)
        known = examples.known() if learner.guessed else 0
        weight = float(learner.weight(known))
        problem = Problem(examples, learner.loss, scale * weight, steepest, offset, priors)
        start, rows = None, _SAMPLE * max(features.size, 50)
        if gathered.rows > 8 * rows and not isinstance(learner.loss, Hinge):
            every = gathered.rows // rows  # of so many, one stands for all; together for no more than there are
            few = examples.sample(every)
            most = (known if learner.guessed else gathered.rows) / max(1, few.known())
            start = minimise(
                replace(problem, examples=few, scale=problem.scale * min(every, most)),
                np.maximum(2.0**-20 * learner.longest, digits),
            )
        learned = minimise(problem, np.maximum(learner.tolerance(features.size), digits), start)
        # Moving to a ball brings nobody further apart, and errors relative to w are then relative to the ball.
        length = np.linalg.norm(learned, axis=1, keepdims=True)
        learned *= learner.ball / np.maximum(length, learner.ball)
        if isinstance(basis, Bernstein):
            learned = learned @ features(box.clean(basis.lattice(box))).T
        return Private(learned.ravel(), certificate)

    # --- predictions and the release ----------------------------------------------------------------------------

    def _forecast(self, basis: Any, box: Box, n: int | None, privacy: Privacy) -> float:
        chosen = basis if isinstance(basis, Basis) else self.choose_basis(box, n, privacy)
        return predicted_noise(features_of(self.kernel, chosen, box), self.settled_learner)

    def predict(self, basis: Basis, box: Box, law: NoiseLaw, n: int | None, confidence: float) -> Errors:
        handed = self._handed(basis, box)
        if isinstance(basis, Bernstein):
            return Errors(handed.mean_noise(law), handed.worst_width(law, confidence), None, None)
        mean = self._forecast(basis, box, n, self.settled_learner.privacy)
        missed = 0.0
        if isinstance(basis, Landmarks):
            whole = features_of(self.kernel, basis.whole, box)
            missed = reference_misses(whole, [self._size(basis, box)], self.settled_learner)[0]
        return Errors(mean, handed.worst_width(law, confidence), missed, None)

    def noise_words(self, basis: Basis, box: Box, law: NoiseLaw) -> str:
        told = super().noise_words(basis, box, law)
        if self.settled_learner.mechanism == "output":
            return told
        if self.descent is not None:
            return f"{told}, in each of {self.descent.steps} steps of gradient descent"
        inside = self.settled_learner.noise(self._size(basis, box)).law
        return f"{inside.kind}, scale {inside.deviation:.4g}, in the objective; on its minimiser {told}"

    def _handed(self, basis: Basis, box: Box) -> Handed:
        """The public part of the release."""
        learner, features = self.settled_learner, features_of(self.kernel, basis, box)
        noise = learner.noise(features.size) if learner.mechanism == "objective" else None
        recipe = Recipe(self.loss.to_json(), learner.C, learner.rows)
        lattice = basis if isinstance(basis, Bernstein) else None
        return Handed(features, lattice, self.told, self.loss.name, noise, recipe, self._prior, self.descent)

    def finish(self, published: Published) -> MachineRelease:
        handed = self._handed(published.basis, published.box)
        weights = published.values.reshape(self.told.outputs, -1)
        return MachineRelease(
            guarantee=published.guarantee,
            law=published.law,
            target=(*self.describe(), ("features", handed.words())),
            receipt=published.receipt,
            handed=handed,
            weights=weights if self.descent is None else within(weights, self.descent.ball),
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


def _stronger(learner: Learner, strength: float) -> Learner:
    return replace(learner, C=strength)
