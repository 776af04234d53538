"""scikit-learn's face of ``sf.NadarayaWatson``: a regression curve whose every ``fit`` is a private release."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting.charge import Payer
from sfumato.bases.density.binning import LARGEST_DIMENSION
from sfumato.core.box import Box
from sfumato.errors import ParameterError
from sfumato.estimators.regressors import PrivateRegressor
from sfumato.releases.curve import CurveRelease
from sfumato.targets.nadaraya_watson import NadarayaWatson

Floats = NDArray[np.float64]


@dataclass(eq=False, repr=False)
class PrivateKernelSmoother(PrivateRegressor):
    """A Nadaraya-Watson regression under differential privacy: y averaged with the weights of a kernel.

    What ``PrivateKernelClassifier`` says of every ``fit``, of ``score`` and of steps before it holds here.

    Parameters
    ----------
    bandwidth
        The kernel's standard deviation in the columns' units: a number, one per column, a covariance matrix, or
        ``"auto"``, a public rule.
    bounds
        Public limits, never inferred from X: an ``sf.Box``; a dict of column names to ``(low, high)``; a list of
        ``(low, high)``, one per column; or one pair for every column. One to three numeric columns. Records and points
        outside are moved to the bounds.
    response_range
        Public limits of y, ``(low, high)``, never inferred from it. Responses outside are moved to them; predictions
        lie within.
    epsilon, delta
        What one ``fit`` may spend; ``delta=0`` is pure differential privacy.
    ledger
        The account that pays, ``sf.Ledger(path).account(name)``. Clones pay from the same account.
    neighbours
        ``"replace"`` (the number of rows is public) or ``"add-remove"`` (it is not).
    expected_rows
        A public guess of the number of rows, where that number itself is private.

    Attributes
    ----------
    release_
        The ``sf.CurveRelease``: bands, the densities behind the curve, ``save``, ``plot`` and ``report``.
    guarantee_
        What it promises.
    n_features_in_, feature_names_in_
        As scikit-learn has them; with named bounds, the names are in the order of the bounds.

    Formal guarantee: ``release_``, and all that is computed from it and from public points, satisfies
    ``release_.guarantee``, which is what ``sf.release`` promises.

    >>> X = np.linspace(0, 1, 5000).reshape(-1, 1)
    >>> model = PrivateKernelSmoother(0.05, bounds=(0, 1), response_range=(-1, 1), epsilon=1.0)
    >>> model.fit(X, np.sin(6 * X[:, 0])).predict([[0.25], [0.75]]).round() + 0.0
    array([ 1., -1.])
    >>> print(model.guarantee_)
    1-differential privacy for replacing one row, central model
    """

    release_: CurveRelease = field(init=False)

    bandwidth: Any = "auto"
    _: KW_ONLY
    bounds: Any = None
    response_range: Any = None
    epsilon: float = 1.0
    delta: float = 0.0
    ledger: Payer | None = None
    neighbours: str = "replace"
    expected_rows: int | None = None

    def predict(self, X: Any) -> Floats:  # noqa: N803
        """``(n_samples,)``: the mean response at each public point.

        Points outside the bounds are moved to them, as records are in ``fit``; a point with a missing value is
        refused. Where there are hardly any records, it leans towards their overall mean.
        """
        points = self._inside(X)
        return self.release_(points)

    def band(
        self,
        X: Any,  # noqa: N803
        confidence: float = 0.95,
        include: str = "total",
    ) -> tuple[Floats, Floats]:
        """Lower and upper limits, ``(n_samples,)`` each, of the kernel regression of the records without noise.

        Parameters
        ----------
        include
            ``"noise"``, ``"total"`` or ``"worst"``, as for a density.

        Formal guarantee: with probability at least ``confidence`` over the noise of ``fit``, they hold at all of these
        points at once.
        """
        points = self._inside(X)
        return self.release_.band(points, confidence, include)

    def _target(self, declared: dict[str, Any]) -> NadarayaWatson:
        return NadarayaWatson(self.bandwidth, **declared, expected_rows=self.expected_rows)

    def _domain(self, box: Box) -> Box:
        if len(box.intervals()) > LARGEST_DIMENSION:
            raise ParameterError(
                f"PrivateKernelSmoother regresses on 1 to {LARGEST_DIMENSION} columns, got {box.dimension} "
                f"({list(box.names)}): choose some that are known to matter without looking at the data, or take "
                "PrivateKernelRegressor, which has no such limit"
            )
        return box
