"""What scikit-learn's checks ask of an estimator that a private one cannot give, and why, by the estimator's name.

For ``check_estimator`` and ``parametrize_with_checks``. Other checks that noise makes meaningless are left out by the
tag ``non_deterministic``.
"""

from __future__ import annotations

_OBJECTS = {
    "check_dtype_object": (
        "the check expects an error for a value that is no number: it is a missing one, as an error that depends on it "
        "would be an unpaid release"
    )
}
_COLUMNS = "the check fits {} columns, and a lattice serves at most 3: it grows as a power of their number"
_LATTICE = {
    "check_dtype_object": _COLUMNS.format(10),
    "check_estimators_dtypes": _COLUMNS.format(5),
    "check_fit2d_1sample": _COLUMNS.format(10),
    "check_n_features_in_after_fitting": _COLUMNS.format(4),
    "check_positive_only_tag_during_fit": _COLUMNS.format(10),
}
_NOISE = "the check compares two fits, and every fit draws new noise, which cannot be seeded"
_NOISY = {"check_fit_idempotent": _NOISE, "check_supervised_y_2d": _NOISE}
_POINTS = {
    "check_estimators_pickle": (
        "the check predicts at points with missing values because fit takes records with missing values; such points "
        "are public and refused"
    )
}
_RESPONSES = {
    "check_supervised_y_no_nan": (
        "the check expects an error for an infinite or missing response: it contributes nothing or is clipped, as an "
        "error that depends on it would be an unpaid release"
    )
}
_LEARNERS = {**_OBJECTS, **_NOISY, **_POINTS, **_RESPONSES}
_LISTS = {
    "check_regressors_train": (
        "the check fits a list of rows under one pair of bounds for every column; how many there are must then be told "
        "by an array or by bounds for each, as one record would decide on it"
    )
}
_REGRESSORS = {**_LEARNERS, **_LISTS}
_CLASSES = "the check expects the classes that it finds in y; here they are declared, and an absent one keeps its place"
_LABELS = {
    "check_classifiers_classes": _CLASSES,
    "check_classifiers_train": _CLASSES,
    "check_classifiers_regression_target": (
        "the check expects an error for labels that are no classes: an undeclared label contributes nothing, as an "
        "error that depends on it would be an unpaid release"
    ),
}
_CLASSIFIERS = {
    **_LEARNERS,
    **_LABELS,
    "check_decision_proba_consistency": _CLASSES,
    "check_estimator_sparse_array": _CLASSES,
    "check_estimator_sparse_matrix": _CLASSES,
}

EXPECTED_FAILED_CHECKS: dict[str, dict[str, str]] = {
    "PrivateKernelDensity": _LATTICE,
    "PrivateKernelClassifier": _CLASSIFIERS,
    "PrivateLogisticRegression": _CLASSIFIERS,
    "PrivateNaiveBayes": {**_OBJECTS, **_NOISY, **_RESPONSES, **_LABELS},
    "PrivateKernelRegressor": _REGRESSORS,
    "PrivateRidge": _REGRESSORS,
    "PrivateKernelSmoother": {
        **_LATTICE,
        **_NOISY,
        **_POINTS,
        "check_regressor_data_not_an_array": _COLUMNS.format(10),
        "check_regressors_int": _COLUMNS.format(10),
        "check_regressors_no_decision_function": _COLUMNS.format(4),
        "check_regressors_train": _COLUMNS.format(10),
    },
}
