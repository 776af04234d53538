"""scikit-learn's face of ``sf.KDE``: a kernel density estimate whose every ``fit`` is a private release."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import DensityMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sfumato.accounting.charge import Payer
from sfumato.checks import positive_integer
from sfumato.core.box import Periodic
from sfumato.core.privacy import Privacy
from sfumato.errors import ParameterError
from sfumato.estimators.base import PrivateEstimator
from sfumato.estimators.inputs import check_rows, declared_width, public_box, read_features
from sfumato.estimators.surroundings import warn_of_unpaid_learning
from sfumato.pipeline import release
from sfumato.releases.density.density import DensityRelease
from sfumato.targets.density.density import KDE

Floats = NDArray[np.float64]

SMALLEST = float(np.finfo(np.float64).tiny)  # 2**-1022: its logarithm is about -708.4


@dataclass(eq=False, repr=False)
class PrivateKernelDensity(DensityMixin, PrivateEstimator):  # type: ignore[misc]
    """A kernel density estimate under differential privacy, with the methods of ``sklearn.neighbors.KernelDensity``.

    **Every call of ``fit`` is a release and spends ``epsilon``.** Cross-validation, grid search and bagging call it
    many times: five folds at ``epsilon=1`` promise 5 to some of the people, not 1. Pass ``ledger``, and an account with
    a limit stops that. To choose a bandwidth by the data, use ``sf.Tuned``, which pays once (docs/estimators.md).

    **``score`` and ``score_samples`` protect the records of ``fit``, not the points that you pass to them.** Do not
    publish scores of private records.

    Parameters
    ----------
    bandwidth
        The kernel's standard deviation in the columns' units: a number, one per column, a covariance matrix,
        ``sf.Tuned([...])``, or ``"auto"``, a public rule.
    bounds
        Public limits, never inferred from X: an ``sf.Box``; a dict of column names to ``(low, high)``; a list of
        ``(low, high)``, one per column; or one pair for every column. Columns of a data frame are found by name if
        bounds have names, whatever their order, and by position otherwise. At most three columns. Records outside
        are moved to the bounds.
    epsilon, delta
        What one ``fit`` may spend; ``delta=0`` is pure differential privacy.
    ledger
        The account that pays, ``sf.Ledger(path).account(name)``. Clones pay from the same account.
    neighbours
        ``"replace"`` (the number of rows is public) or ``"add-remove"`` (it is not).
    post
        ``"simplex"``: a probability density. ``"none"``: unbiased, possibly negative.

    Attributes
    ----------
    release_
        The ``sf.DensityRelease``: bands, marginals, quantiles, ``save``, ``plot`` and ``report``.
    guarantee_
        What it promises.
    n_features_in_, feature_names_in_
        As scikit-learn has them; with named bounds, the names are in the order of the bounds.

    Formal guarantee: ``release_``, and all that is computed from it and from public points, satisfies
    ``release_.guarantee``, which is what ``sf.release`` promises.

    >>> ages = np.linspace(20, 60, 2000).reshape(-1, 1)
    >>> model = PrivateKernelDensity(bandwidth=5.0, bounds={"age": (0, 110)}, epsilon=1.0).fit(ages)
    >>> print(model.release_.guarantee)
    1-differential privacy for replacing one row, central model
    >>> inside, outside = model.score_samples([[40.0], [120.0]])
    >>> bool(inside > -10), float(outside)
    (True, -inf)
    >>> model.sample(5, random_state=0).shape
    (5, 1)
    """

    release_: DensityRelease = field(init=False)

    bandwidth: Any = "auto"
    _: KW_ONLY
    bounds: Any = None
    epsilon: float = 1.0
    delta: float = 0.0
    ledger: Payer | None = None
    neighbours: str = "replace"
    post: str = "simplex"

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803 scikit-learn's name
        """Publish the density of X: this spends ``epsilon`` and ``delta``, each time.

        No value makes it raise: records with a missing value (NaN, or in a list what is no number) are dropped,
        infinities are moved to the bounds. If it raises, what an earlier ``fit`` published stays.

        Parameters
        ----------
        X
            An array, or a pandas, polars or pyarrow table, of shape ``(n_samples, n_features)``; or a list of rows,
            if ``bounds`` name each column. In it, and in an array of objects, each value is read by itself, and a row
            of another length is one without values.
        y
            Ignored.
        """
        warn_of_unpaid_learning(self)
        privacy = Privacy(epsilon=self.epsilon, delta=self.delta, neighbours=self.neighbours)
        target = KDE(self.bandwidth, post=self.post)
        features = read_features(X, declared_width(self.bounds))
        box, by_name = public_box(self.bounds, features)
        if self.neighbours == "replace":  # else the number of rows is private
            check_rows(features)
        released = release(target, features.table(box), box, privacy, ledger=self.ledger)
        self._remember(released, features, by_name)
        return self

    def score_samples(self, X: Any) -> Floats:  # noqa: N803
        """``(n_samples,)``: the logarithm of the density at public points.

        It is ``-inf`` outside the bounds, where the density is not published (periodic columns have no outside), and
        NaN where a value is missing. Within the bounds it is at least ``log(2**-1022)``, about -708.4, also where the
        density is zero or, with ``post="none"``, negative.
        """
        check_is_fitted(self)
        points = np.stack(self._columns(X), axis=1)
        box = self.release_.box
        for axis, column in enumerate(box.intervals()):
            if isinstance(column, Periodic):
                points[:, axis] = column.clean(points[:, axis])
        missing = np.isnan(points).any(axis=1)
        inside = ((points >= box.low) & (points <= box.high)).all(axis=1)
        found = np.where(missing, np.nan, -np.inf)
        found[inside] = np.log(np.maximum(self.release_(points[inside]), SMALLEST))
        return found

    def score(self, X: Any, y: Any = None) -> float:  # noqa: N803
        """The sum of ``score_samples(X)``: the log-likelihood of public points. ``y`` is ignored."""
        return float(self.score_samples(X).sum())

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Floats:
        """``(n_samples, n_features)`` made-up records from the published density; they cost no further privacy.

        As scikit-learn's, they are blurred by the kernel; ``release_.sample`` draws from the measure behind it.

        Parameters
        ----------
        random_state
            A whole number, a ``RandomState``, or None for numpy's global one. It has nothing to do with the noise of
            ``fit``, which cannot be seeded.
        """
        check_is_fitted(self)
        count = positive_integer("n_samples", n_samples)
        try:
            generator = check_random_state(random_state)
        except ValueError as error:
            raise ParameterError(f"random_state: {error}") from None
        return self.release_.sample(count, seed=int(generator.randint(2**53, dtype=np.int64)), of="surface")
