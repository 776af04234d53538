"""Estimators that follow scikit-learn's conventions, for code that already speaks them.

Every ``fit`` is a release and spends privacy budget; see docs/estimators.md before cross-validating anything.
"""

from __future__ import annotations

from sfumato.extras import need

need("sklearn", "estimators")  # says which extra is missing

from sfumato.estimators.density import PrivateKernelDensity  # noqa: E402

# What scikit-learn's checks ask of an estimator that this one cannot give, and why; for check_estimator and
# parametrize_with_checks. (Checks that noise makes meaningless are left out by the tag ``non_deterministic``.)
_COLUMNS = "the check fits {} columns, and a density has at most 3: its lattice grows as a power of their number"
EXPECTED_FAILED_CHECKS = {
    "check_dtype_object": (
        "an array of objects is refused by its dtype: whether each value is a number is private, and an error that "
        "depends on it would be an unpaid release"
    ),
    "check_estimators_dtypes": _COLUMNS.format(5),
    "check_fit2d_1sample": _COLUMNS.format(10),
    "check_n_features_in_after_fitting": _COLUMNS.format(4),
    "check_positive_only_tag_during_fit": _COLUMNS.format(10),
}

__all__ = ["EXPECTED_FAILED_CHECKS", "PrivateKernelDensity"]
