"""A published learner: it classifies or predicts for ever, and says where the noise could have changed its mind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from sfumato.bases.base import frozen
from sfumato.bases.lattice.bernstein import Bernstein, basis_from_json
from sfumato.bases.lattice.expansion import Expansion
from sfumato.bases.machine.coordinates import decoded, reach_of, read_records, spread, terms_of
from sfumato.bases.machine.descent import Descent
from sfumato.bases.machine.kernels import Kernel, LinearKernel, Precomputed, UserKernel, kernel_from_json
from sfumato.bases.machine.landmarks import FeatureMap, check_placed, kappa_of
from sfumato.bases.machine.learner import Learner, ObjectiveNoise
from sfumato.bases.machine.losses import loss_from_json
from sfumato.bases.unit import to_unit
from sfumato.checks import one_of, positive_number, probability, whole_number
from sfumato.codec import LARGEST_COUNT, exact_keys
from sfumato.core.box import Box, Categorical
from sfumato.core.calibration import NoiseLaw
from sfumato.core.privacy import Guarantee, Privacy
from sfumato.errors import ParameterError
from sfumato.releases.base import Release
from sfumato.releases.file.certified import granted_of
from sfumato.releases.file.learned import checked_learner, descent_from_json, objective_from_json
from sfumato.releases.machine.prior import Prior, prior_from_json
from sfumato.releases.machine.response import Response, response_from_json
from sfumato.releases.uncertainty import half_width_of, mean_largest
from sfumato.upwards import Shown

Floats = NDArray[np.float64]
Weights = Sequence[float] | str | None

_AT_ONCE = 2**22  # kernel values held at once
_SHARE_POINTS = {1: 400, 2: 900, 3: 1000}
_SHARE_POINTS_MANY = 1000


@dataclass(frozen=True)
class Recipe:
    """What a learner's sensitivity follows from, beside its kernel: the loss, C, and the rows that C was divided by."""

    loss: dict[str, Any]
    C: float
    rows: int

    @classmethod
    def from_json(cls, data: Any) -> Recipe:
        """Rebuild it."""
        exact_keys(data, {"loss", "C", "rows"}, "the learner")
        rows = whole_number("rows", data["rows"], 1, LARGEST_COUNT)
        return cls(loss_from_json(data["loss"]).to_json(), positive_number("C", data["C"]), rows)

    def learner(self, mechanism: str, kappa: float, outputs: int, grant: Privacy) -> Learner:
        """All public numbers of the learner."""
        return Learner(loss_from_json(self.loss), self.C, mechanism, kappa, self.rows, outputs, grant)


@dataclass(frozen=True)
class Handed:
    """The public side of a learner: its features, its response, and how noise went in."""

    features: FeatureMap
    lattice: Bernstein | None
    response: Response
    loss: str
    objective: ObjectiveNoise | None
    recipe: Recipe | None = None
    prior: Prior | None = None
    descent: Descent | None = None

    @property
    def inside(self) -> ObjectiveNoise | Descent | None:
        """What drew noise before the door."""
        return self.objective or self.descent

    def granted(self, promised: Guarantee) -> Privacy:
        """What of the grant behind a promise was left for the learner itself."""
        grant = granted_of(promised)
        return grant if self.prior is None else self.prior.rest(grant)

    def size(self) -> int:
        """Coefficients of each function."""
        return self.features.size if self.lattice is None else self.lattice.size(self.features.box)

    def words(self) -> str:
        """What the functions are written in."""
        features = self.features
        if self.lattice is not None:
            return f"values on the lattice of {self.lattice!r}"
        if features.nodes is None:
            width = terms_of(features.box)[1].shape[1]
            constant = " and a constant" if features.size > width else ""
            return f"{width} coordinates{constant}"
        return f"{features.size} whitened directions at {len(features.nodes)} public landmarks"

    def values(self, weights: Floats, points: Floats) -> Floats:
        """``(m, outputs)``: the functions at cleaned points."""
        box, start = self.features.box, 0.0 if self.prior is None else self.prior.offsets
        if self.lattice is not None:
            return np.stack([Expansion(self.lattice, box, w)(points) for w in weights], axis=1) + start
        wide = self.features.size if self.features.nodes is None else self.features.nodes.shape[0]
        block = max(1, _AT_ONCE // max(1, wide))
        parts = [self.features(points[i : i + block]) @ weights.T for i in range(0, len(points), block)]
        return np.concatenate(parts) + start if parts else np.zeros((0, len(weights)))

    def half_width(self, law: NoiseLaw, points: Floats, confidence: float) -> Floats:
        """``(m,)``: how far noise can have moved each function, at all points at once with this confidence."""
        outputs = self.response.outputs
        share = 1 - (1 - confidence) / (outputs if self.inside is None else outputs + 1)
        width = half_width_of(self._axes(points), law, share)
        if self.inside is None:
            return width
        reach = np.linalg.norm(self.features(points), axis=1) * self.inside.radius(share)
        return np.asarray(width + reach)

    def _axes(self, points: Floats) -> list[Floats]:
        """Weights whose tensor products act on the coefficients: those of the first of the functions, here."""
        box = self.features.box
        one = np.zeros((len(points), self.response.outputs))
        one[:, 0] = 1.0  # several functions share a noise vector
        if self.lattice is None:
            return [one, self.features(points)]
        unit = to_unit(box, points)
        return [one, *(self.lattice.axis_weights(box, axis, unit[:, axis], 0) for axis in range(box.dimension))]

    def mean_noise(self, law: NoiseLaw) -> float:
        """The mean of the largest error that the noise of this law makes on points spread over the box."""
        return mean_largest(self._axes(self.spread()), law)

    def worst_width(self, law: NoiseLaw, confidence: float) -> float:
        """The largest half-width on points spread over the box."""
        return float(self.half_width(law, self.spread(), confidence).max())

    def spread(self) -> Floats:
        """Public points all over the box; where records are rows of kernel values, those of the public objects."""
        box, kernel = self.features.box, self.features.kernel
        if isinstance(kernel, Precomputed):
            return np.asarray(kernel.gram)
        return spread(box, _SHARE_POINTS.get(box.dimension, _SHARE_POINTS_MANY))


@dataclass(frozen=True, eq=False, kw_only=True)
class MachineRelease(Shown, Release):
    """A learner that was trained on private data and can be handed out.

    Call it at ``(m, d)`` points in user units: for two classes, the function whose sign is the label, positive for the
    second; for more, one function each; for a range, the prediction.
    """

    kind: ClassVar[str] = "machine"

    handed: Handed
    weights: Floats

    def __post_init__(self) -> None:
        weights = frozen(self.weights).reshape(self.handed.response.outputs, self.handed.size())
        object.__setattr__(self, "weights", weights)

    @property
    def box(self) -> Box:
        return self.handed.features.box

    @property
    def response(self) -> Response:
        """What is predicted."""
        return self.handed.response

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """The declared classes; None for a regression."""
        return self.handed.response.classes

    @property
    def mechanism(self) -> str:
        """Where the noise went: into the ``"output"``, the ``"objective"``, or each step of a ``"descent"``."""
        if self.handed.descent is not None:
            return "descent"
        return "output" if self.handed.objective is None else "objective"

    def _cleaned(self, points: ArrayLike, outside: str) -> Floats:
        return read_records(self.box, points, outside)

    def decision(self, points: ArrayLike, outside: str = "clip") -> Floats:
        """``(m,)``, or ``(m, classes)`` for more than two: the functions themselves."""
        values = self.handed.values(self.weights, self._cleaned(points, outside))
        return values[:, 0] if self.response.outputs == 1 else values

    def __call__(self, points: ArrayLike, outside: str = "refuse") -> Floats:
        """The functions of a classifier, the prediction of a regression."""
        values = self.decision(points, outside)
        return values if self.classes is not None else self.response.to_range(np.clip(values, -1, 1))

    @property
    def prior(self) -> tuple[float, ...] | None:
        """The share of each class, as it was published first or told by the caller; None where nothing is known."""
        return None if self.handed.prior is None else self.handed.prior.shares

    def predict(self, points: ArrayLike, outside: str = "clip", weights: Weights = None) -> NDArray[Any]:
        """``(m,)``: the class, or the number within the declared range.

        Predictions are for records, which are moved into the box as those were that it learned from; what evaluates a
        function at points (``release(points)``, ``band``) refuses those outside, unless ``outside="clip"``.
        ``weights`` are what a mistake costs in each class, one number each; ``"balanced"`` weighs classes by their
        published shares, so that rare ones are found. That costs no privacy.
        """
        if self.classes is None:
            return self(points, outside)
        values = self.decision(points, outside).reshape(-1, self.response.outputs)
        return self.response.labels(self._leaning(values, weights))

    def _leaning(self, values: Floats, weights: Weights) -> Floats:
        """``(m, outputs)``: functions whose sign, or largest, is the label where mistakes have these weights."""
        if weights is None:
            return values
        costs = np.log(self._costs(weights))
        if self.response.outputs == 1:
            return np.asarray(values + (costs[1] - costs[0]))
        return np.asarray(costs - np.logaddexp(0.0, -values))

    def _costs(self, weights: Weights) -> Floats:
        if self.classes is None or self.handed.loss != "logistic":
            raise ParameterError.of("weights", f"need loss='logistic' and classes, this has loss={self.handed.loss!r}")
        if isinstance(weights, str):
            one_of("weights", weights, ("balanced",))
            if self.prior is None:
                raise ParameterError.of(
                    "weights", "'balanced' need the classes' shares, which prior='even' left out; give numbers instead"
                )
            return np.asarray(1 / np.array(self.prior))
        listed = [] if weights is None else [positive_number("a weight", weight) for weight in weights]
        if len(listed) != len(self.classes):
            raise ParameterError.of("weights", f"must be one for each of {len(self.classes)} classes, got {weights!r}")
        return np.array(listed)

    def probability(self, points: ArrayLike, outside: str = "clip") -> Floats:
        """``(m, classes)``: the chances of each class, for the logistic loss.

        With more than two classes, the one-against-the-rest chances are brought to sum 1.
        """
        if self.classes is None or self.handed.loss != "logistic":
            raise ParameterError(f"probabilities need loss='logistic' and classes, this has loss={self.handed.loss!r}")
        values = self.decision(points, outside)
        if values.ndim == 1:
            return np.stack([expit(-values), expit(values)], axis=1)
        chances = expit(values)
        return np.asarray(chances / np.maximum(chances.sum(axis=1, keepdims=True), 1e-300))

    def band(self, points: ArrayLike, confidence: float = 0.95, outside: str = "refuse") -> tuple[Floats, Floats]:
        """Lower and upper limits of what ``release(points)`` would be without noise, at all the points at once.

        Formal guarantee: with probability at least ``confidence`` over the noise, whatever the data, all limits hold.
        Output noise has a public law. Objective noise b moves the learner by at most ``||b|| / strength``, noise in
        steps within a public ball, which is all that can be said without looking at the data again: wide limits.
        """
        points = self._cleaned(points, outside)
        width = self.handed.half_width(self.law, points, probability("confidence", confidence))
        values = self.handed.values(self.weights, points)
        low, high = values - width[:, None], values + width[:, None]
        if self.classes is None:
            low, high = (self.response.to_range(np.clip(v, -1, 1)) for v in (low, high))
        return (low[:, 0], high[:, 0]) if self.response.outputs == 1 else (low, high)

    def certain(
        self, points: ArrayLike, confidence: float = 0.95, outside: str = "clip", weights: Weights = None
    ) -> NDArray[np.bool_]:
        """``(m,)``: whether the label (with these ``weights``) is surely the one that no noise would have given.

        Formal guarantee: with probability at least ``confidence`` over the noise, it is so at every point that is said
        to be certain.
        """
        if self.classes is None:
            raise ParameterError("certainty is about labels; for a regression use band()")
        limits, outputs = self.band(points, confidence, outside), self.response.outputs
        low, high = (self._leaning(limit.reshape(-1, outputs), weights) for limit in limits)
        if outputs == 1:
            return np.asarray((low > 0) | (high <= 0))[:, 0]
        best = self._leaning(self.decision(points, outside), weights).argmax(axis=1)
        rows = np.arange(len(best))
        others = high.copy()
        others[rows, best] = -np.inf
        return np.asarray(low[rows, best] > others.max(axis=1))

    def everywhere(self) -> Any:
        """Public points all over the box, in user units."""
        return decoded(self.box, self.handed.spread())

    def certain_share(self, confidence: float = 0.95) -> float:
        """The share of the box, on points spread evenly over it, where the label is certain."""
        return float(self.certain(self.everywhere(), confidence).mean())

    @property
    def terms(self) -> tuple[str, ...]:
        """What ``linear()`` has slopes of: columns of numbers, and each category of the others."""
        return terms_of(self.box)[0]

    def linear(self) -> tuple[Floats, Floats]:
        """``(outputs, terms)`` slopes and ``(outputs,)`` intercepts in user units, of a linear kernel.

        They give a classifier's decision, and a regression's prediction before it is clipped to its range. The slope of
        a category (``terms`` has them in order) is what is added where a record has it.
        """
        kernel, box = self.handed.features.kernel, self.box
        own = self.handed.features.nodes is None and self.handed.lattice is None
        if not isinstance(kernel, LinearKernel) or not own:
            raise ParameterError("slopes are for a linear kernel in its own coordinates")
        matrix = terms_of(box)[1]
        slopes, constant = self.weights[:, : matrix.shape[1]] @ matrix.T, self.weights[:, matrix.shape[1] :].sum(axis=1)
        intercept = constant * kernel.constant
        if self.handed.prior is not None:
            intercept = intercept + self.handed.prior.offsets
        if box.max_norm is not None:
            slopes = slopes / box.max_norm
        else:
            width, middle = units_of(box)
            slopes = slopes / width
            intercept = intercept - slopes @ middle
        if self.classes is not None:
            return slopes, intercept
        low, high = self.response.to_range(np.array([-1.0, 1.0]))
        return slopes * (high / 2 - low / 2), self.response.to_range(intercept)

    def with_kernel(self, kernel: UserKernel | Kernel | Callable[..., Any]) -> MachineRelease:
        """The same release with its user's kernel, which no file holds."""
        if not isinstance(kernel, Kernel):
            kernel = UserKernel(kernel, self.handed.features.norm**2)
        features = replace(self.handed.features, kernel=kernel)
        return replace(self, handed=replace(self.handed, features=features))

    def __repr__(self) -> str:
        what = "classifier" if self.classes is not None else "regression"
        return f"<MachineRelease: {what} of {self.response.name!r} on {self.box!r}: {self.guarantee}>"

    def arrays(self) -> dict[str, Floats]:
        features = self.handed.features
        found = {"coefficients": self.weights}
        if features.nodes is not None and features.whitening is not None:
            found |= {"landmarks": features.nodes, "whitening": features.whitening}
        return found

    def fields(self) -> dict[str, Any]:
        handed = self.handed
        kernel = handed.features.kernel
        if kernel is None:
            raise ParameterError("attach the kernel with release.with_kernel(function) before saving again")
        return {
            "kernel": kernel.to_json(),
            "norm": handed.features.norm,
            "basis": None if handed.lattice is None else handed.lattice.to_json(),
            "response": handed.response.to_json(),
            "loss": handed.loss,
            "objective": None if handed.objective is None else handed.objective.to_json(),
            **({} if handed.recipe is None else {"learner": vars(handed.recipe)}),
            **({} if handed.prior is None else {"prior": handed.prior.to_json()}),
            **({} if handed.descent is None else {"descent": handed.descent.to_json()}),
        }

    @classmethod
    def rebuild(cls, common: dict[str, Any], box: Box, fields: dict[str, Any], arrays: dict[str, Floats]) -> Self:
        later = {"learner", "prior", "descent"} & {*fields}  # the first files had none
        exact_keys(fields, {"kernel", "norm", "basis", "response", "loss", "objective", *later}, "the content")
        kernel = kernel_from_json(fields["kernel"], arrays.get("landmarks"))
        linear = isinstance(kernel, LinearKernel) and "landmarks" not in arrays
        exact_keys(arrays, {"coefficients"} if linear else {"coefficients", "landmarks", "whitening"}, "the file")
        nodes, whitening = arrays.get("landmarks"), arrays.get("whitening")
        both = nodes is None or whitening is None or nodes.ndim == whitening.ndim == 2
        if not both or len(arrays.get("landmarks", ())) != len(arrays.get("whitening", ())):
            raise ParameterError("the landmarks and their whitening do not fit each other")
        features = FeatureMap(box, kernel, nodes, whitening, positive_number("norm", fields["norm"]))
        check_placed(features)
        largest = fields["kernel"]["bound"] if kernel is None else kernel.largest(reach_of(box))
        if features.norm < kappa_of(largest) * (1 - 1e-9):
            raise ParameterError("the kernel has longer features than the file says")
        lattice = None if fields["basis"] is None else basis_from_json(fields["basis"])
        if lattice is not None and not isinstance(lattice, Bernstein):
            raise ParameterError("a learner's lattice must be sf.Bernstein")
        response, recipe, prior = response_from_json(fields["response"]), None, None
        if "learner" in later:
            recipe = Recipe.from_json(fields["learner"])
        if "prior" in later:
            prior = prior_from_json(fields["prior"], response, granted_of(common["guarantee"]))
        descent = descent_from_json(fields["descent"]) if "descent" in later else None
        handed = Handed(features, lattice, response, str(fields["loss"]), None, recipe, prior, descent)
        weights = arrays["coefficients"]
        if weights.shape != (response.outputs, handed.size()) or common["law"].size != weights.size:
            raise ParameterError("the noise law, the features and the coefficients differ in size")
        if fields["objective"] is not None:
            noise = objective_from_json(fields["objective"], common, handed)
            handed = replace(handed, objective=noise)
        return cls(**checked_learner(common, handed, kernel is None), handed=handed, weights=weights)


def units_of(box: Box) -> tuple[Floats, Floats]:
    """``(terms,)``: the width and the middle of each column of numbers; a category is one of its own."""
    found: list[tuple[float, float]] = []
    for column in box.columns:
        if isinstance(column, Categorical):
            found += [(1.0, 0.0)] * len(column.categories)
        else:
            found.append((column.high - column.low, column.low / 2 + column.high / 2))
    width, middle = np.array(found).T
    return width, middle
