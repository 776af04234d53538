"""scikit-learn's faces of ``sf.KernelMachine`` and ``sf.Ridge`` for a response within a declared range."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from sfumato.accounting.charge import Payer
from sfumato.errors import ParameterError
from sfumato.estimators.learners import KernelLearner, LinearLearner, PrivateSupervised

Floats = NDArray[np.float64]


class PrivateRegressor(RegressorMixin, PrivateSupervised):  # type: ignore[misc]
    """A regression of a response within a declared range."""

    response_range: Any

    def _declared(self) -> dict[str, Any]:
        if self.response_range is None:
            raise ParameterError(
                "response_range must be given: (low, high) for y, known without looking at the data, such as "
                "response_range=(60, 220); it is never inferred from y"
            )
        return {"range": self.response_range}


@dataclass(eq=False, repr=False)
class PrivateKernelRegressor(KernelLearner, PrivateRegressor):
    """A kernel regression under differential privacy, with the methods of ``sklearn.kernel_ridge.KernelRidge``.

    Parameters that are not named here are those of ``PrivateKernelClassifier``, and what it says of every ``fit``, of
    ``score`` and of steps before it holds here.

    Parameters
    ----------
    loss
        ``"huber"`` (smoothed), ``"squared"``, or an object such as ``sf.SmoothedHuber(threshold=0.5)``, whose threshold
        is in units of half the response's range.
    response_range
        Public limits of y, ``(low, high)``, never inferred from it. Responses outside are moved to them, and so are
        predictions.
    C
        How much the **mean** loss weighs, for responses brought to [-1, 1] by their range. scikit-learn's ``alpha`` of
        a ridge regression is ``n / (2 C)``. ``"auto"`` follows a public rule.

    Attributes
    ----------
    release_
        The ``sf.MachineRelease``; its ``band`` says how far the noise can have moved each prediction.

    Formal guarantee: as for ``PrivateKernelClassifier``.

    >>> X = np.linspace(0, 1, 5000).reshape(-1, 1)
    >>> model = PrivateKernelRegressor(gamma=5.0, bounds=(0, 1), response_range=(-1, 1), epsilon=1.0)
    >>> model.fit(X, np.sin(6 * X[:, 0])).predict([[0.25], [0.75]]).round() + 0.0
    array([ 1., -1.])
    """

    loss: Any = "huber"
    _: KW_ONLY
    kernel: Any = "rbf"
    gamma: float = 0.5
    degree: int = 3
    coef0: float = 1.0
    C: float | str = "auto"
    bounds: Any = None
    response_range: Any = None
    epsilon: float = 1.0
    delta: float = 0.0
    ledger: Payer | None = None
    neighbours: str = "replace"
    landmarks: Any = None
    rank: int | None = None
    mechanism: str = "auto"
    max_norm: float | None = None
    expected_rows: int | None = None


@dataclass(eq=False, repr=False)
class PrivateRidge(LinearLearner, PrivateRegressor):
    """A linear regression with a quadratic penalty under differential privacy, with the methods of scikit-learn's.

    Parameters that are not named here are those of ``PrivateKernelClassifier``, and what it says of every ``fit``, of
    ``score`` and of steps before it holds here. Where noise in the objective is predicted to serve better, a smoothed
    Huber loss stands in for the squared one; ``mechanism="output"`` keeps the square.

    Parameters
    ----------
    C
        How much the **mean** squared loss weighs, for responses brought to [-1, 1] and features in box widths:
        scikit-learn's ``alpha`` is ``n / (2 C)``. ``"auto"`` follows a public rule.
    response_range
        Public limits of y, ``(low, high)``, never inferred from it. Responses and predictions are moved to them.
    fit_intercept
        Whether there is an intercept. It is penalised like the slopes: one that is not has no bounded sensitivity.

    Attributes
    ----------
    coef_, intercept_
        ``(n_features,)`` and a number: slopes and intercept in the units of the features and of y. They describe points
        within the bounds and predictions within the range; ``predict`` moves others there.

    Formal guarantee: as for ``PrivateKernelClassifier``.

    >>> X = np.linspace(0, 100, 20000).reshape(-1, 1)
    >>> model = PrivateRidge(bounds=[(0, 100)], response_range=(0, 200), epsilon=1.0).fit(X, 50 + X[:, 0])
    >>> np.allclose(model.coef_, [1.0], atol=0.2), abs(model.intercept_ - 50) < 10
    (True, True)
    """

    loss = "squared"

    C: float | str = "auto"
    _: KW_ONLY
    bounds: Any = None
    response_range: Any = None
    fit_intercept: bool = True
    epsilon: float = 1.0
    delta: float = 0.0
    ledger: Payer | None = None
    neighbours: str = "replace"
    mechanism: str = "auto"
    max_norm: float | None = None
    expected_rows: int | None = None

    @property
    def coef_(self) -> Floats:
        """The slopes of the prediction, in units of y by units of each feature."""
        return np.asarray(self.release_.linear()[0][0])

    @property
    def intercept_(self) -> float:
        """The prediction at zero, if that lies within the bounds."""
        return float(self.release_.linear()[1][0])
