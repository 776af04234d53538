"""scikit-learn's own checks, and that no expected failure is out of date."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator, estimator_checks_generator, parametrize_with_checks

from sfumato.estimators import (
    EXPECTED_FAILED_CHECKS,
    PrivateKernelClassifier,
    PrivateKernelDensity,
    PrivateKernelRegressor,
    PrivateKernelSmoother,
    PrivateLogisticRegression,
    PrivateNaiveBayes,
    PrivateRidge,
)

QUIET = 1e6  # an epsilon without noise to speak of, as the checks measure accuracy and compare predictions
CLASSES = (0, 1, 2)  # what most checks make up


def estimators():
    """Bounds that hold whatever the checks make up; settings that are quick."""
    kernel = {"landmarks": 16, "C": 10.0}
    wide = {"bounds": (-10, 10), "epsilon": QUIET}
    exact = {"bounds": (-5, 5), "response_range": (-300, 300), "epsilon": 1e8, "C": 1e4}  # 0.01 in 600 must not show
    return {
        "density": PrivateKernelDensity(8.0, bounds=(-10, 10)),
        "hinge": PrivateKernelClassifier(classes=CLASSES, **kernel, **wide),
        "logistic": PrivateKernelClassifier("logistic", classes=CLASSES, **kernel, **wide),
        "logistic regression": PrivateLogisticRegression(classes=CLASSES, **wide),
        "regression": PrivateKernelRegressor(landmarks=32, **exact),
        "ridge": PrivateRidge(**exact),
        "smoother": PrivateKernelSmoother(8.0, bounds=(-10, 10), response_range=(-300, 300)),
        "normal bayes": PrivateNaiveBayes("normal", classes=CLASSES, **wide),
        "kernel bayes": PrivateNaiveBayes(classes=CLASSES, **wide),
    }


QUICK = (
    "density",
    "logistic regression",
    "ridge",
)  # one of each sort; others take the same ways


def expected(estimator):
    return EXPECTED_FAILED_CHECKS[type(estimator).__name__]


def named(check):
    return getattr(check, "func", check).__name__


@pytest.mark.few(28)
@parametrize_with_checks(
    [estimator for kind, estimator in estimators().items() if kind in QUICK], expected_failed_checks=expected
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [estimator for kind, estimator in estimators().items() if kind not in QUICK], expected_failed_checks=expected
)
def test_scikit_learn_checks_of_the_others(estimator, check):
    check(estimator)


def test_check_estimator_itself():
    estimator = estimators()["density"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # skipped checks
        results = check_estimator(estimator, expected_failed_checks={**expected(estimator)}, on_fail="raise")
    states = {result["check_name"]: result["status"] for result in results}
    assert {name for name, state in states.items() if state == "xfail"} == set(expected(estimator))
    # Noise makes the first meaningless (the tag non_deterministic); the second is about other kinds of arrays.
    skipped = {name for name, state in states.items() if state == "skipped"}
    assert skipped <= {"check_pipeline_consistency", "check_array_api_input"}


LOUD = 1e-4  # with this epsilon two fits agree only if all their predictions end up at one limit or class
TRIES = 40
LISTED = [
    pytest.param(kind, estimator, check, id=f"{kind}-{named(check)}")
    for kind, estimator in estimators().items()
    if kind not in ("hinge", "kernel bayes")  # without probabilities one of the hinge's has nothing to check
    for _, check in estimator_checks_generator(estimator, mark=None)
    if named(check) in expected(estimator)
]
WORDS = {
    "check_dtype_object": "Did not raise",
    "check_estimators_pickle": "contains NaN",
    "check_fit_idempotent": "Idempotency check failed",
    "check_supervised_y_2d": "Not equal to tolerance",
    "check_supervised_y_no_nan": "should have raised error",
    "check_classifiers_regression_target": "continuous target",
    "check_classifiers_classes": "y must hold numbers, as was declared",
    "check_regressors_train": "X is a list of rows",
    "check_classifiers_train": "",  # a bare assertion about the shape of the decision function
    "check_decision_proba_consistency": "Arrays are not equal",
    "check_estimator_sparse_array": "on sparse data",  # a bare assertion about the shape of the probabilities
    "check_estimator_sparse_matrix": "on sparse data",
}


@pytest.mark.parametrize("kind", estimators())
def test_every_listed_check_exists(kind):
    estimator = estimators()[kind]
    checks = {named(check) for _, check in estimator_checks_generator(estimator, mark=None)}
    assert set(expected(estimator)) <= checks


def failure(check, estimator):
    """What a check says, None if it passes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about columns of y
        try:
            check(estimator)
        except (ValueError, AssertionError) as error:
            return f"{error} {error.__cause__} {error.__context__}"
    return None


@pytest.mark.few(6)
@pytest.mark.parametrize(("kind", "estimator", "check"), LISTED)
def test_every_listed_check_fails_for_the_reason_it_gives(kind, estimator, check):
    """False alarms: noise that makes two fits agree with a chance of at most 1/2, forty times: 1e-12 for each check."""
    noise = "noise" in expected(estimator)[named(check)]
    if noise:
        estimator = estimators()[kind].set_params(epsilon=LOUD)
    said = (failure(check, estimator) for _ in range(TRIES if noise else 1))
    chain = next((words for words in said if words is not None), None)
    assert chain is not None
    lattice = "3 columns" if "3:" in expected(estimator)[named(check)] else None
    assert (lattice or WORDS[named(check)]) in chain


class DeclaresTheWidth:
    """For the checks alone: declares the bounds of every column that a check made up, which a caller would know."""

    def fit(self, X, y):
        pair = self.bounds
        self.bounds = [pair] * np.asarray(X).shape[1]
        try:
            return super().fit(X, y)
        finally:
            self.bounds = pair


class DeclaresWhatItSees(DeclaresTheWidth):
    """And the classes."""

    def fit(self, X, y):
        self._seen = np.unique(y)
        return super().fit(X, y)

    def _declared(self):
        return {"classes": self._seen}


class KernelThatDeclares(DeclaresWhatItSees, PrivateKernelClassifier):
    pass


class RegressionThatDeclares(DeclaresWhatItSees, PrivateLogisticRegression):
    pass


class BayesThatDeclares(DeclaresWhatItSees, PrivateNaiveBayes):
    pass


class RidgeThatDeclares(DeclaresTheWidth, PrivateRidge):
    pass


class KernelRegressionThatDeclares(DeclaresTheWidth, PrivateKernelRegressor):
    pass


DECLARING = {
    "logistic": KernelThatDeclares("logistic", bounds=(-10, 10), epsilon=QUIET, landmarks=16, C=10.0),
    "logistic regression": RegressionThatDeclares(bounds=(-10, 10), epsilon=QUIET),
    "normal bayes": BayesThatDeclares("normal", bounds=(-10, 10), epsilon=QUIET),
    "ridge": RidgeThatDeclares(**estimators()["ridge"].get_params()),
    "regression": KernelRegressionThatDeclares(**estimators()["regression"].get_params()),
}
ABOUT_SCHEMA = (
    "check_classifiers_classes",
    "check_classifiers_train",
    "check_decision_proba_consistency",
    "check_regressors_train",
)


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        pytest.param(estimator, check, id=f"{kind}-{named(check)}-{number}")
        for kind, estimator in DECLARING.items()
        for number, (_, check) in enumerate(estimator_checks_generator(estimator, mark=None))
        if named(check) in ABOUT_SCHEMA
    ],
)
def test_checks_about_classes_and_columns_pass_once_those_are_declared(estimator, check):
    check(estimator)
