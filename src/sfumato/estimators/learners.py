"""What classifiers and regressions have in common: one ``fit``, which is a release, and public points."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from sfumato.accounting.charge import Payer
from sfumato.bases.base import Basis
from sfumato.bases.machine.coordinates import coded, decoded
from sfumato.bases.machine.kernels import RBF, Kernel, LinearKernel, Polynomial, kernel_of
from sfumato.bases.machine.landmarks import Landmarks
from sfumato.checks import shown
from sfumato.core.box import Box, Categorical
from sfumato.core.privacy import Privacy
from sfumato.errors import OutsideBoxError, ParameterError, ParameterTypeError
from sfumato.estimators.base import PrivateEstimator
from sfumato.estimators.inputs import check_rows, declared_width, public_box, read_features
from sfumato.estimators.responses import read_response, response_name
from sfumato.estimators.surroundings import warn_of_unpaid_learning
from sfumato.pipeline import release
from sfumato.releases.machine.machine import MachineRelease
from sfumato.releases.machine.response import Response
from sfumato.targets.machine.examples import places_of
from sfumato.targets.machine.machine import KernelMachine


class PrivateSupervised(PrivateEstimator, ABC):
    """Whatever learns y from X and is published by ``fit``; subclasses say what it is, and what y can be."""

    # parameters of every subclass
    bounds: Any
    epsilon: float
    delta: float
    ledger: Payer | None
    neighbours: str
    expected_rows: int | None

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803 scikit-learn's name
        """Publish what X tells of y: this spends ``epsilon`` and ``delta``, each time.

        No value makes it raise: records with a missing value (NaN, or in a list what is no number), a missing response
        or an undeclared label contribute nothing, features and numbers outside their bounds are moved to them. If it
        raises, what an earlier ``fit`` published stays.

        Parameters
        ----------
        X
            An array, or a pandas, polars or pyarrow table, of shape ``(n_samples, n_features)``; or a list of rows,
            if ``bounds`` name each column. In it, and in an array of objects, each value is read by itself, and a row
            of another length is one without values.
        y
            The responses, ``(n_samples,)``: a list, an array or a series, of text or of numbers as was declared. In a
            list or an array of objects, a value of the other type contributes nothing, too.
        """
        warn_of_unpaid_learning(self)
        privacy = Privacy(epsilon=self.epsilon, delta=self.delta, neighbours=self.neighbours)
        declared = self._declared()
        basis, target = self._basis(), self._target(declared)
        features = read_features(X, declared_width(self.bounds), self._sparse)
        box, by_name = public_box(self.bounds, features)
        box = self._domain(box)
        if self.neighbours == "replace":  # else the number of rows is private
            check_rows(features)
        told = Response(response_name(y, box), **declared)
        target = replace(target, response=told.name)
        target.check_box(box)
        records = features.labelled(box, told.name, read_response(y, told.column, features.rows))
        released = release(target, records, box, privacy, basis=basis, ledger=self.ledger)
        self._remember(released, features, by_name)
        return self

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """``(n_samples,)``: the class, or the number within ``response_range``, at each public point.

        Points outside the bounds are moved to them, as records are in ``fit``; a point with a missing value is
        refused, except by ``PrivateNaiveBayes``, where it is as silent as in a record.
        """
        points = self._inside(X)
        found: NDArray[Any] = self.release_.predict(points)
        return found

    def _inside(self, data: Any) -> Any:
        """Public points as the release takes them, moved into the bounds by the rule that moves records."""
        check_is_fitted(self)
        box, columns = self.release_.box, self._columns(data, depth=5)
        found = [
            places_of(v, c) if isinstance(c, Categorical) else v for v, c in zip(columns, box.columns, strict=True)
        ]
        points = coded(box).clean(np.stack(found, axis=1))
        missing = np.flatnonzero(np.isnan(points).any(axis=1))
        if missing.size:
            raise OutsideBoxError(
                f"Input X contains NaN in {missing.size} of {len(points)} rows, the first is row {missing[0]}: there "
                "is no prediction without all features, or from undeclared categories; drop or fill such rows"
            )
        return decoded(box, points)

    @abstractmethod
    def _target(self, declared: dict[str, Any]) -> Any:
        """What is to be published, with a ``response``, refusing parameters that are wrong."""

    def _basis(self) -> Basis | str:
        return "auto"

    @abstractmethod
    def _declared(self) -> dict[str, Any]:
        """``classes`` or ``range`` as the caller declared them, refusing to go without."""

    def _domain(self, box: Box) -> Box:
        """The box with what other parameters say of it, refusing columns that cannot be served."""
        return box

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class PrivateLearner(PrivateSupervised):
    """A kernel machine."""

    release_: MachineRelease

    loss: Any
    C: float | str
    max_norm: float | None
    mechanism: str
    _sparse = True

    def _target(self, declared: dict[str, Any]) -> KernelMachine:
        settings: dict[str, Any] = {"mechanism": self.mechanism, "expected_rows": self.expected_rows}
        return KernelMachine(self.loss, self._kernel(), self.C, **declared, **settings)

    @abstractmethod
    def _kernel(self) -> Kernel | str:
        """The kernel that the parameters describe; by name where the box decides the rest."""

    def _domain(self, box: Box) -> Box:
        return with_max_norm(box, self.max_norm)


class KernelLearner(PrivateLearner):
    """A learner with a kernel, in the span of public landmarks."""

    kernel: Any
    gamma: float | None
    degree: int
    coef0: float
    landmarks: Any
    rank: int | None

    def _kernel(self) -> Kernel | str:
        gamma = self._gamma()
        if isinstance(self.kernel, str) and (self.kernel == "rbf" or (self.kernel == "auto" and gamma is not None)):
            return RBF() if gamma is None else RBF(gamma)
        if isinstance(self.kernel, str) and self.kernel in ("poly", "polynomial"):
            return Polynomial(self.degree, 1.0 if gamma is None else gamma, self.coef0)
        if isinstance(self.kernel, str) and self.kernel in ("auto", "linear"):
            return self.kernel
        return kernel_of(self.kernel)

    def _gamma(self) -> float | None:
        if isinstance(self.gamma, str):
            raise ParameterTypeError(
                f"gamma must be a number, got gamma={shown(self.gamma)}: scikit-learn's words read the private records"
            )
        return self.gamma

    def _basis(self) -> Basis | str:
        if self.landmarks is None and self.rank is None:
            return "auto"
        if isinstance(self._kernel(), LinearKernel) or self._kernel() == "linear":
            raise ParameterError("landmarks and rank are not for a linear kernel, which lives in the features as given")
        return Landmarks(self.landmarks, self.rank)


class LinearLearner(PrivateLearner):
    """A learner that is linear in the features."""

    fit_intercept: bool

    def _kernel(self) -> Kernel | str:
        if not isinstance(self.fit_intercept, bool | np.bool_):
            raise ParameterTypeError(
                f"fit_intercept must be True or False, got fit_intercept={shown(self.fit_intercept)}"
            )
        return "linear" if self.fit_intercept else LinearKernel(0.0)


def with_max_norm(box: Box, max_norm: float | None) -> Box:
    """The box, with a limit on the Euclidean norm of a record."""
    if max_norm is None:
        return box
    if box.max_norm is not None and box.max_norm != max_norm:
        raise ParameterError(f"max_norm is given twice: {box.max_norm!r} in bounds, and max_norm={max_norm!r}")
    columns = dict(zip(box.names, box.columns, strict=True)) if box.named else list(box.columns)
    return Box(columns, max_norm=max_norm)
