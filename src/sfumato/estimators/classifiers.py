"""scikit-learn's faces of ``sf.KernelMachine`` and ``sf.LogisticRegression`` for declared classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if

from sfumato.accounting.charge import Payer
from sfumato.bases.machine.losses import Logistic
from sfumato.checks import positive_number, shown
from sfumato.errors import ParameterError, ParameterTypeError
from sfumato.estimators.learners import KernelLearner, LinearLearner, PrivateLearner, PrivateSupervised
from sfumato.releases.machine.response import Response
from sfumato.targets.machine.machine import KernelMachine

Floats = NDArray[np.float64]


def _has_probabilities(estimator: Any) -> bool:
    loss = estimator.loss
    return isinstance(loss, Logistic) or (isinstance(loss, str) and loss == "logistic")


class PrivateClassifier(ClassifierMixin, PrivateSupervised):  # type: ignore[misc]
    """What classifiers of declared classes share."""

    classes: Any

    @property
    def classes_(self) -> NDArray[Any]:
        """The declared classes in sorted order, which is scikit-learn's."""
        return np.array(self.release_.classes)

    def certain(self, X: Any, confidence: float = 0.95) -> NDArray[np.bool_]:  # noqa: N803
        """``(n_samples,)``: whether the predicted class is surely the one that no noise would have given.

        Formal guarantee: with probability at least ``confidence`` over the noise of ``fit``, it is so at every one of
        these points that is said to be certain.
        """
        points = self._inside(X)
        found: NDArray[np.bool_] = self.release_.certain(points, confidence)
        return found

    def _declared(self) -> dict[str, Any]:
        if self.classes is None:
            raise ParameterError(
                "classes must be given: all labels that y could hold, known without looking at the data, such as "
                "classes=('no', 'yes'); they are never inferred from y"
            )
        told = Response("y", self.classes)
        assert told.classes is not None
        return {"classes": sorted(told.classes)}


class DecidingClassifier(PrivateClassifier, PrivateLearner):
    """A classifier that decides by the sign, or the largest, of published functions."""

    class_weight: Any
    prior: Any

    def _target(self, declared: dict[str, Any]) -> KernelMachine:
        self._weights(declared["classes"])
        return replace(super()._target(declared), prior=self._given_prior(declared["classes"]))

    def _given_prior(self, classes: list[Any]) -> Any:
        """Shares of the declared classes in sorted order: a list is in the order in which they were declared."""
        if isinstance(self.prior, str) or not isinstance(self.prior, Sequence | np.ndarray):
            return self.prior
        told = Response("y", self.classes).classes or ()
        if len(self.prior) != len(told):
            return self.prior  # which the target refuses
        known = dict(zip(told, self.prior, strict=True))
        return [known[label] for label in classes]

    def _weights(self, classes: Sequence[Any]) -> list[float] | str | None:
        """``class_weight`` as the release takes it, in the order of the classes."""
        given = self.class_weight
        if given is None or (isinstance(given, str) and given == "balanced"):
            return given
        if not isinstance(given, Mapping):
            raise ParameterTypeError.of(
                "class_weight", f"must be None, 'balanced' or a dict of classes to weights, got {shown(given)}"
            )
        unknown = [label for label in given if label not in classes]
        if unknown:
            raise ParameterError.of("class_weight", f"must name declared classes {list(classes)}, got {unknown[0]!r}")
        return [positive_number("a weight of class_weight", given.get(label, 1.0)) for label in classes]

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """``(n_samples,)``: the class at each public point, with mistakes weighed by ``class_weight``."""
        points = self._inside(X)
        return self.release_.predict(points, weights=self._weights(self.release_.classes or ()))

    def certain(self, X: Any, confidence: float = 0.95) -> NDArray[np.bool_]:  # noqa: N803
        """``(n_samples,)``: whether the predicted class is surely the one that no noise would have given.

        Formal guarantee: with probability at least ``confidence`` over the noise of ``fit``, it is so at every one of
        these points that is said to be certain.
        """
        points = self._inside(X)
        return self.release_.certain(points, confidence, weights=self._weights(self.release_.classes or ()))

    def decision_function(self, X: Any) -> Floats:  # noqa: N803
        """``(n_samples,)`` for two classes, positive for the second; ``(n_samples, n_classes)`` for more."""
        points = self._inside(X)
        return self.release_.decision(points)

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """``(n_samples, n_classes)``: the chance of each class; there are chances for ``loss="logistic"`` only."""
        points = self._inside(X)
        return self.release_.probability(points)


@dataclass(eq=False, repr=False)
class PrivateKernelClassifier(KernelLearner, DecidingClassifier):
    """A kernel classifier under differential privacy, with the methods of ``sklearn.svm.SVC``.

    **Every call of ``fit`` is a release and spends ``epsilon``.** Cross-validation, searches, bagging and
    one-vs-rest wrappers call it many times. Pass ``ledger``, and an account with a limit stops that.

    **``score`` and ``predict`` protect the records of ``fit``, not the points that you pass to them**, and steps that
    are fitted on the same records before this one are not protected at all (docs/estimators.md).

    Parameters
    ----------
    loss
        ``"logistic"`` (which has ``predict_proba``), ``"hinge"``, ``"smoothed-hinge"``, ``"squared"``, ``"huber"``, or
        an object such as ``sf.UserLoss(...)``.
    kernel
        ``"rbf"``, ``"poly"``, ``"matern"``, ``"linear"``, or an object such as ``sf.RBF(gamma=0.5)``. It acts on
        features in box widths from the middle of the bounds, or on ``x / max_norm``. ``"auto"``: a linear kernel, or
        in few columns an RBF of one of several widths, whichever has less predicted error.
    gamma, degree, coef0
        Of the names ``"rbf"`` (gamma, 0.5 by default) and ``"poly"`` (1): ``(gamma <x, z> + coef0) ** degree``.
    C
        How much the **mean** loss weighs: scikit-learn's ``C`` multiplies the sum, so this one is n times theirs.
        ``"auto"`` follows a public rule.
    bounds
        Public limits, never inferred from X: an ``sf.Box``; a dict of column names to ``(low, high)`` or, in a
        data frame, ``sf.Categorical([...])``; a list of these, one per column; or one pair for every column. Records
        and points outside are moved to them.
    classes
        All labels that y could hold, text or numbers, never inferred from y. Two or more; a record with another label
        contributes nothing. They are put in order, as ``classes_`` has them.
    epsilon, delta
        What one ``fit`` may spend; ``delta=0`` is pure differential privacy.
    ledger
        The account that pays, ``sf.Ledger(path).account(name)``. Clones pay from the same account.
    neighbours
        ``"replace"`` (the number of rows is public) or ``"add-remove"`` (it is not).
    landmarks, rank
        Public points, or how many to spread over the bounds, and how many directions of theirs to keep; by default
        what lowers the predicted error. Points must not come from the private records.
    mechanism
        ``"output"``, ``"objective"``, ``"descent"``, or ``"auto"``: the one of less predicted error.
    max_norm
        Records are also scaled back to this Euclidean norm; the bounds must then contain 0.
    expected_rows
        A public guess of the number of rows, where that number itself is private.
    class_weight
        What a mistake costs in each class: None, a dict, or ``"balanced"``, by the classes' published shares. It
        moves the thresholds of ``predict`` and costs no privacy; scores and chances stay. For ``loss="logistic"``.
    prior
        The classes' shares, from which a logistic loss starts: ``"auto"`` publishes noisy counts of the classes first,
        for a small part of ``epsilon``; a list, in the order of ``classes``, if you know them without looking at the
        data; ``"even"`` for none.

    Attributes
    ----------
    release_
        The ``sf.MachineRelease``: bands, the certain share of the box, ``save``, ``plot`` and ``report``.
    guarantee_
        What it promises.
    classes_, n_features_in_, feature_names_in_
        As scikit-learn has them; with named bounds, the names are in the order of the bounds.

    Formal guarantee: ``release_``, and all that is computed from it and from public points, satisfies
    ``release_.guarantee``, which is what ``sf.release`` promises.

    >>> X = np.stack(np.meshgrid(np.linspace(0, 1, 45), np.linspace(0, 1, 45)), axis=-1).reshape(-1, 2)
    >>> y = np.where(X[:, 0] > X[:, 1], "right", "left")
    >>> model = PrivateKernelClassifier(bounds=(0, 1), classes=("left", "right"), epsilon=1.0).fit(X, y)
    >>> print(model.release_.guarantee)
    1-differential privacy for replacing one row, central model
    >>> model.predict([[0.1, 0.9], [0.9, 0.1]]).tolist()
    ['left', 'right']
    """

    loss: Any = "logistic"
    _: KW_ONLY
    kernel: Any = "auto"
    gamma: float | None = None
    degree: int = 3
    coef0: float = 1.0
    C: float | str = "auto"
    bounds: Any = None
    classes: Any = None
    epsilon: float = 1.0
    delta: float = 0.0
    ledger: Payer | None = None
    neighbours: str = "replace"
    landmarks: Any = None
    rank: int | None = None
    mechanism: str = "auto"
    max_norm: float | None = None
    expected_rows: int | None = None
    class_weight: Any = None
    prior: Any = "auto"


@dataclass(eq=False, repr=False)
class PrivateLogisticRegression(LinearLearner, DecidingClassifier):
    """A logistic regression under differential privacy, with the methods of scikit-learn's.

    Parameters are those of ``PrivateKernelClassifier``, and what it says of every ``fit``, of ``score`` and of steps
    before it holds here. More than two classes are told apart one against the rest, in one release.

    Parameters
    ----------
    C
        How much the **mean** loss weighs: n times scikit-learn's. The penalty is on slopes for features in box widths
        from the middle of the bounds (or ``x / max_norm``).
    fit_intercept
        Whether there is an intercept. It is penalised like the slopes: one that is not has no bounded sensitivity.

    Attributes
    ----------
    coef_, intercept_
        ``(1, n_features)`` and ``(1,)`` for two classes, else one row for each class: slopes in the features' own
        units. They describe points within the bounds; others are moved there first.

    Formal guarantee: as for ``PrivateKernelClassifier``.

    >>> X = np.linspace(20, 60, 5000).reshape(-1, 1)
    >>> model = PrivateLogisticRegression(bounds=[(0, 100)], classes=(0, 1), epsilon=1.0).fit(X, X[:, 0] > 40)
    >>> bool(model.coef_[0, 0] > 0), model.predict([[25.0], [55.0]]).tolist()
    (True, [0, 1])
    """

    loss = "logistic"

    C: float | str = "auto"
    _: KW_ONLY
    bounds: Any = None
    classes: Any = None
    fit_intercept: bool = True
    epsilon: float = 1.0
    delta: float = 0.0
    ledger: Payer | None = None
    neighbours: str = "replace"
    mechanism: str = "auto"
    max_norm: float | None = None
    expected_rows: int | None = None
    class_weight: Any = None
    prior: Any = "auto"

    @property
    def coef_(self) -> Floats:
        """The slopes of ``decision_function`` in the features' units; one for each category (``release_.terms``)."""
        return self.release_.linear()[0]

    @property
    def intercept_(self) -> Floats:
        """The value of ``decision_function`` at zero, if that lies within the bounds."""
        return self.release_.linear()[1]
