"""scikit-learn's face of ``sf.NaiveBayes``: a classifier of numbers and categories, published column by column."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from sfumato.accounting.charge import Payer
from sfumato.core.box import Interval
from sfumato.estimators.classifiers import PrivateClassifier
from sfumato.estimators.density import SMALLEST
from sfumato.releases.bayes.bayes import NaiveBayesRelease
from sfumato.targets.naive_bayes import NaiveBayes

Floats = NDArray[np.float64]


@dataclass(eq=False, repr=False)
class PrivateNaiveBayes(PrivateClassifier):
    """A naive Bayes classifier under differential privacy, with the methods of ``sklearn.naive_bayes.GaussianNB``.

    What ``PrivateKernelClassifier`` says of every ``fit``, of ``score`` and of steps before it holds here. Columns may
    be numbers or, in a data frame, text with declared categories; all of them are in one release.

    Parameters
    ----------
    likelihood
        Of numeric columns: ``"kernel"``, a density for each class, or ``"normal"``, its mean and deviation alone.
        Categories are counted.
    bandwidth
        Of the kernels: ``"auto"``, a public rule, or a list of one number per numeric column, in its units.
    bounds
        Public limits, never inferred from X: an ``sf.Box``; a dict of column names to ``(low, high)`` or
        ``sf.Categorical([...])``; a list of these, one per column; or one pair for every column. Numbers outside are
        moved to the bounds. A record with a missing value or an undeclared category contributes nothing; at a point
        such a value says nothing about the class, the others do.
    classes
        All labels that y could hold, text or numbers, never inferred from y. Two or more; a record with another label
        contributes nothing. They are put in order, as ``classes_`` has them.
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
        The ``sf.NaiveBayesRelease``: bands of the probabilities, counts of the classes, ``save`` and ``report``.
    guarantee_
        What it promises.
    classes_, n_features_in_, feature_names_in_
        As scikit-learn has them; with named bounds, the names are in the order of the bounds.

    Formal guarantee: ``release_``, and all that is computed from it and from public points, satisfies
    ``release_.guarantee``, which is what ``sf.release`` promises.

    >>> X = np.linspace(20, 60, 5000).reshape(-1, 1)
    >>> model = PrivateNaiveBayes(bounds=[(0, 100)], classes=("old", "young"), epsilon=1.0)
    >>> model.fit(X, np.where(X[:, 0] > 40, "old", "young")).predict([[25.0], [55.0]]).tolist()
    ['young', 'old']
    >>> print(model.guarantee_)
    1-differential privacy for replacing one row, central model
    """

    release_: NaiveBayesRelease = field(init=False)

    likelihood: str = "kernel"
    _: KW_ONLY
    bandwidth: Any = "auto"
    bounds: Any = None
    classes: Any = None
    epsilon: float = 1.0
    delta: float = 0.0
    ledger: Payer | None = None
    neighbours: str = "replace"
    expected_rows: int | None = None

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """``(n_samples, n_classes)``: the probability of each class, in the order of ``classes_``."""
        points = self._inside(X)
        return self.release_.predict_proba(points)

    def predict_log_proba(self, X: Any) -> Floats:  # noqa: N803
        """The logarithm of ``predict_proba``, at least ``log(2**-1022)``, about -708.4."""
        points = self._inside(X)
        return np.asarray(np.log(np.maximum(self.release_.predict_proba(points), SMALLEST)))

    def _inside(self, data: Any) -> dict[str, NDArray[Any]]:
        check_is_fitted(self)
        box = self.release_.box
        found = zip(box.names, box.columns, self._columns(data, depth=5), strict=True)
        return {name: kind.clean(values) if isinstance(kind, Interval) else values for name, kind, values in found}

    def _target(self, declared: dict[str, Any]) -> NaiveBayes:
        settings: dict[str, Any] = {"likelihood": self.likelihood, "expected_rows": self.expected_rows}
        return NaiveBayes("y", bandwidth=self.bandwidth, **declared, **settings)
