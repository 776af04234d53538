"""What the estimators share: the names and the width that ``fit`` saw, and public points read the same way."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from sfumato.core.box import Box
from sfumato.core.privacy import Guarantee
from sfumato.estimators.inputs import Features, check_as_fitted, check_rows, public_box, read_features


class PrivateEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator that keeps a release, and of the records nothing but the schema."""

    release_: Any
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]
    _by_name: bool
    _sparse: ClassVar[bool] = False  # whether X may be a sparse matrix

    def _remember(self, released: Any, features: Features, by_name: bool) -> None:
        """Take over what was published; only here does a fit change the estimator."""
        self.release_, self._by_name, self.n_features_in_ = released, by_name, released.box.dimension
        if features.names is not None:
            self.feature_names_in_ = np.array(released.box.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    @property
    def guarantee_(self) -> Guarantee:
        """What the last ``fit`` promises: that of the release."""
        promised: Guarantee = self.release_.guarantee
        return promised

    def _columns(self, data: Any, depth: int = 4) -> list[NDArray[Any]]:
        """Public points, column by column in the order of the box, with the names and the width that ``fit`` saw.

        ``depth`` is how far down the stack, from the check of names, the caller is whom a warning concerns.
        """
        features, box = read_features(data, self.n_features_in_, self._sparse), self.release_.box
        check_rows(features)
        if features.names is None or not self._by_name:
            known = getattr(self, "feature_names_in_", None)
            names = None if known is None else tuple(known)
            check_as_fitted(type(self).__name__, features, self.n_features_in_, names, depth)
        fitted = box if self._by_name else Box(list(box.columns))
        return features.columns(public_box(fitted, features)[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan, tags.input_tags.sparse = True, self._sparse
        tags.non_deterministic = True
        return tags
