"""Private classifiers and regressions behind scikit-learn's methods: their numbers, data, parameters and budget."""

from __future__ import annotations

import pickle
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import get_scorer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import sfumato as sf
from sfumato.errors import BudgetExceededError, OutsideBoxError, ParameterError, SchemaError, SfumatoError
from sfumato.estimators import (
    PrivateKernelClassifier,
    PrivateKernelRegressor,
    PrivateKernelSmoother,
    PrivateLogisticRegression,
    PrivateNaiveBayes,
    PrivateRidge,
)

RNG = np.random.default_rng(7)
X = np.column_stack([RNG.uniform(20, 80, 400), RNG.uniform(15, 45, 400)])
ILL = np.where(X[:, 0] / 60 + X[:, 1] / 30 + RNG.normal(0, 0.2, 400) > 1.8, "yes", "no")
PRESSURE = 60 + X[:, 0] + 0.5 * X[:, 1] + RNG.normal(0, 5, 400)
BOUNDS = {"age": (0, 100), "bmi": (10, 60)}
SCALED = (X - [50, 35]) / [100, 50]  # what the learners see
CLEAR = np.array([[25.0, 18.0], [78.0, 44.0]])  # points whose classes are beyond doubt
QUIET = 1e6  # an epsilon without noise to speak of


def kernel(**options):
    return PrivateKernelClassifier(**{"bounds": BOUNDS, "classes": ("no", "yes"), "landmarks": 25, **options})


def logistic(**options):
    return PrivateLogisticRegression(**{"bounds": BOUNDS, "classes": ("no", "yes"), "epsilon": QUIET, **options})


def regressor(**options):
    return PrivateKernelRegressor(**{"bounds": BOUNDS, "response_range": (50, 200), "landmarks": 25, **options})


def ridge(**options):
    return PrivateRidge(**{"bounds": BOUNDS, "response_range": (50, 200), "epsilon": QUIET, **options})


def smoother(**options):
    settings = {"bandwidth": [20.0, 10.0], "bounds": BOUNDS, "response_range": (50, 200)}
    return PrivateKernelSmoother(**{**settings, **options})


def bayes(**options):
    return PrivateNaiveBayes(**{"bandwidth": [20.0, 10.0], "bounds": BOUNDS, "classes": ("no", "yes"), **options})


MAKERS = {
    "kernel": (kernel, ILL),
    "logistic": (logistic, ILL),
    "regressor": (regressor, PRESSURE),
    "ridge": (ridge, PRESSURE),
    "smoother": (smoother, PRESSURE),
    "bayes": (bayes, ILL),
}
REFUSE = {kind: pair for kind, pair in MAKERS.items() if kind != "bayes"}  # points without a value
EACH = pytest.mark.parametrize(("make", "y"), MAKERS.values(), ids=MAKERS)


@pytest.fixture
def account(tmp_path):
    return sf.Ledger(tmp_path / "budget.db").account("clinic", limit=sf.Privacy(epsilon=2.0))


class TestNumbers:
    def test_logistic_regression_with_n_times_the_c(self):
        ours = logistic(C=40.0, prior="even").fit(X, ILL)
        wide = np.column_stack([SCALED, np.ones(400)])  # the intercept is penalised like the slopes
        theirs = LogisticRegression(C=40.0 / 400, fit_intercept=False, tol=1e-10, max_iter=1000).fit(wide, ILL)
        slopes = theirs.coef_[0, :2] / [100, 50]
        assert np.allclose(ours.coef_, [slopes], atol=1e-4)
        assert np.allclose(ours.intercept_, theirs.coef_[0, 2] - slopes @ [50, 35], atol=1e-3)
        assert np.allclose(ours.predict_proba(X), theirs.predict_proba(wide), atol=1e-3)
        assert np.allclose(ours.decision_function(X), X @ ours.coef_[0] + ours.intercept_)
        assert ours.coef_.shape == (1, 2)
        assert ours.intercept_.shape == (1,)

    def test_ridge_with_alpha_n_over_two_c(self):
        ours = ridge(C=20.0, mechanism="output", epsilon=1e8).fit(X, PRESSURE)
        wide = np.column_stack([SCALED, np.ones(400)])
        theirs = Ridge(alpha=400 / 40, fit_intercept=False).fit(wide, (PRESSURE - 125) / 75)
        slopes = 75 * theirs.coef_[:2] / [100, 50]
        assert np.allclose(ours.coef_, slopes, atol=1e-4)
        assert ours.intercept_ == pytest.approx(125 + 75 * theirs.coef_[2] - slopes @ [50, 35], abs=1e-2)
        assert np.allclose(ours.predict(X), X @ ours.coef_ + ours.intercept_)
        assert ours.coef_.shape == (2,)
        assert isinstance(ours.intercept_, float)

    def test_kernel_ridge_with_alpha_n_over_two_c(self):
        ours = regressor(loss="squared", C=20.0, mechanism="output", epsilon=1e8, landmarks=100).fit(X, PRESSURE)
        theirs = KernelRidge(alpha=400 / 40, kernel="rbf", gamma=0.5).fit(SCALED, (PRESSURE - 125) / 75)
        assert np.allclose(ours.predict(X), 125 + 75 * theirs.predict(SCALED), atol=0.1)

    def test_without_an_intercept(self):
        assert logistic(fit_intercept=False).fit(X, ILL).release_.weights.shape == (1, 2)
        assert ridge(fit_intercept=False).fit(X, PRESSURE).release_.weights.shape == (1, 2)

    @pytest.mark.few(1)
    @EACH
    def test_each_fit_draws_new_noise(self, make, y):
        model = make()
        first, second = (model.fit(X, y).release_.arrays() for _ in range(2))
        assert any(not np.array_equal(first[name], second[name]) for name in first)

    def test_they_are_as_good_as_their_data(self):
        assert kernel(epsilon=QUIET, C=30.0).fit(X, ILL).score(X, ILL) > 0.8
        assert logistic().fit(X, ILL).score(X, ILL) > 0.8
        assert regressor(epsilon=QUIET).fit(X, PRESSURE).score(X, PRESSURE) > 0.8
        assert ridge().fit(X, PRESSURE).score(X, PRESSURE) > 0.8

    def test_methods_are_those_of_the_release(self):
        model = kernel(loss="logistic").fit(X, ILL)
        assert np.array_equal(model.decision_function(X), model.release_.decision(X))
        assert np.array_equal(model.predict_proba(X), model.release_.probability(X))
        assert np.array_equal(model.predict(X), model.release_.predict(X))
        assert np.array_equal(model.certain(X, 0.9), model.release_.certain(X, 0.9))

    def test_certainty(self):
        assert kernel(epsilon=QUIET).fit(X, ILL).certain(CLEAR).tolist() == [True, True]
        with pytest.raises(ParameterError, match="confidence"):
            kernel().fit(X, ILL).certain(X, confidence=95)

    @pytest.mark.few(3)
    @EACH
    def test_delta_neighbours_and_expected_rows_reach_the_release(self, make, y):
        options = {"loss": "huber"} if make is regressor else {}
        model = make(epsilon=0.5, delta=1e-6, neighbours="add-remove", expected_rows=400, **options).fit(X, y)
        guarantee = model.guarantee_
        assert guarantee is model.release_.guarantee
        assert (guarantee.epsilon, guarantee.delta, guarantee.neighbours) == (0.5, 1e-6, "add-remove")


class TestClasses:
    def test_they_are_in_order_as_scikit_learns_scorers_expect(self):
        model = logistic(classes=("yes", "no")).fit(X, ILL)
        assert model.classes_.tolist() == ["no", "yes"]
        assert model.predict(CLEAR).tolist() == ["no", "yes"]
        assert (model.decision_function(CLEAR) > 0).tolist() == [False, True]
        assert get_scorer("roc_auc")(model, X, ILL) > 0.9

    @pytest.mark.parametrize(
        ("classes", "y"),
        [
            ((-1, 1), np.where(ILL == "yes", 1, -1)),
            ((0.5, 2), np.where(ILL == "yes", 2, 0.5)),
            ((False, True), ILL == "yes"),
        ],
        ids=str,
    )
    def test_numbers_and_flags(self, classes, y):
        model = logistic(classes=classes).fit(X, y)
        assert model.classes_.tolist() == list(classes)
        assert model.predict(CLEAR).tolist() == list(classes)

    @pytest.mark.parametrize("make", [kernel, logistic])
    def test_more_than_two(self, make):
        age = np.digitize(X[:, 0], [40, 60])
        options = {"loss": "logistic", "C": "auto"} if make is kernel else {}
        model = make(classes=(2, 0, 1), epsilon=QUIET, **options).fit(X, age)
        assert model.classes_.tolist() == [0, 1, 2]
        assert model.decision_function(X).shape == model.predict_proba(X).shape == (400, 3)
        assert np.allclose(model.predict_proba(X).sum(axis=1), 1)
        assert np.array_equal(model.predict(X), model.decision_function(X).argmax(axis=1))
        assert model.certain(X).shape == (400,)
        if make is logistic:
            assert (model.coef_.shape, model.intercept_.shape) == ((3, 2), (3,))
            assert np.allclose(model.decision_function(X), X @ model.coef_.T + model.intercept_)

    @pytest.mark.parametrize("make", [kernel, logistic, bayes])
    def test_they_are_never_inferred(self, make):
        with pytest.raises(ParameterError, match=r"classes must be given.*never inferred from y"):
            make(classes=None).fit(X, ILL)

    @pytest.mark.parametrize(
        "classes", [(), ("no",), ("no", "no"), ("no", 1), "no", 2, (0, np.nan), ([0], [1])], ids=str
    )
    @pytest.mark.parametrize("make", [logistic, bayes])
    def test_bad_ones(self, make, classes):
        with pytest.raises(ParameterError):
            make(classes=classes).fit(X, ILL)

    def test_an_undeclared_label_contributes_nothing(self):
        strange = ILL.copy().astype("U10")
        strange[200:] = "unknown"
        kept = logistic(C=50.0).fit(X[:200], ILL[:200])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = logistic(C=100.0).fit(X, strange)  # the mean is over all rows, which are public
        assert np.allclose(model.coef_, kept.coef_, atol=1e-4)
        assert model.classes_.tolist() == ["no", "yes"]

    def test_probabilities_are_for_the_logistic_loss(self):
        assert hasattr(kernel(loss="logistic"), "predict_proba")
        for loss in ("hinge", "smoothed-hinge", "magic", None):
            assert not hasattr(kernel(loss=loss), "predict_proba")
        assert hasattr(logistic(), "predict_proba")
        model = kernel(loss="hinge").fit(X, ILL).set_params(loss="logistic")
        with pytest.raises(ParameterError, match="probabilities need loss='logistic'"):
            model.predict_proba(X)


class TestRange:
    @pytest.mark.parametrize("make", [regressor, ridge, smoother])
    def test_it_is_never_inferred(self, make):
        with pytest.raises(ParameterError, match=r"response_range must be given.*never inferred from y"):
            make(response_range=None).fit(X, PRESSURE)

    @pytest.mark.parametrize("pair", [(5, 5), (2, 1), (0,), (0, np.inf), "01", 3], ids=str)
    @pytest.mark.parametrize("make", [ridge, smoother])
    def test_bad_ones(self, make, pair):
        with pytest.raises(ParameterError):
            make(response_range=pair).fit(X, PRESSURE)

    @pytest.mark.parametrize("make", [regressor, ridge, smoother])
    def test_predictions_stay_in_it(self, make):
        found = make(epsilon=0.01, response_range=(100, 120)).fit(X, PRESSURE).predict(X)
        assert found.min() >= 100
        assert found.max() <= 120

    def test_responses_are_moved_to_it(self):
        model = ridge(C=50.0)
        far = np.where(PRESSURE > 125, np.inf, -1e300)
        near = np.where(PRESSURE > 125, 200.0, 50.0)
        assert np.allclose(model.fit(X, far).coef_, model.fit(X, near).coef_, atol=1e-2)


class TestBounds:
    @EACH
    def test_they_are_never_inferred(self, make, y):
        with pytest.raises(ParameterError, match=r"bounds must be given.*never inferred"):
            make(bounds=None).fit(X, y)

    @pytest.mark.few(3)
    @EACH
    def test_points_outside_are_moved_to_them(self, make, y):
        model = make().fit(X, y)
        assert np.array_equal(model.predict([[200.0, -5.0]]), model.predict([[100.0, 10.0]]))
        assert np.array_equal(model.predict([[np.inf, 20.0]]), model.predict([[100.0, 20.0]]))

    def test_a_curve_refuses_categories(self):
        bounds = {"age": (0, 100), "sex": sf.Categorical(["f", "m"])}
        frame = pd.DataFrame({"age": X[:, 0], "sex": ["f", "m"] * 200})
        with pytest.raises(ParameterError, match="categorical"):
            smoother(bounds=bounds).fit(frame, PRESSURE)

    def test_a_circle_has_no_outside(self):
        model = ridge(bounds=[sf.Periodic(0, 24)]).fit(X[:, :1] % 24, PRESSURE)
        assert model.predict([[25.0]]) == pytest.approx(model.predict([[1.0]]))

    def test_max_norm(self):
        model = logistic(bounds=(-100, 100), max_norm=50.0, C=10.0).fit(X, ILL)
        assert model.release_.box.max_norm == 50.0
        assert np.allclose(model.decision_function([[60.0, 80.0]]), model.decision_function([[30.0, 40.0]]))
        named = logistic(bounds={"age": (-100, 100), "bmi": (-100, 100)}, max_norm=50.0).fit(X, ILL)
        assert named.release_.box.names == ("age", "bmi")
        given = sf.Box([(-100, 100), (-100, 100)], max_norm=50.0)
        assert logistic(bounds=given).fit(X, ILL).release_.box.max_norm == 50.0
        with pytest.raises(ParameterError, match="max_norm is given twice"):
            logistic(bounds=given, max_norm=40.0).fit(X, ILL)
        with pytest.raises(ParameterError, match="contain 0"):
            logistic(max_norm=50.0).fit(X, ILL)


FRAMES = {
    "pandas": (pd.DataFrame, lambda name, values: pd.Series(values, name=name)),
    "polars": (pl.DataFrame, pl.Series),
    "pyarrow": (pa.table, lambda name, values: pa.chunked_array([values])),  # which has no name
}


@pytest.mark.parametrize(("frame", "series"), FRAMES.values(), ids=FRAMES)
class TestFrames:
    def test_columns_by_name_and_responses_by_place(self, frame, series):
        table = frame({"bmi": X[:, 1], "age": X[:, 0]})
        labels = series("ill", ILL.tolist())
        model = logistic(C=40.0).fit(table, labels)
        assert model.feature_names_in_.tolist() == ["age", "bmi"]
        assert model.n_features_in_ == 2
        assert model.release_.response.name == getattr(labels, "name", "y")
        assert np.allclose(model.coef_, logistic(C=40.0).fit(X, ILL).coef_, atol=1e-4)
        assert np.array_equal(model.predict(table), model.release_.predict(X))

    def test_numbers(self, frame, series):
        table = frame({"age": X[:, 0], "bmi": X[:, 1]})
        model = ridge(C=40.0).fit(table, series("pressure", PRESSURE))
        assert np.allclose(model.coef_, ridge(C=40.0).fit(X, PRESSURE).coef_, atol=1e-2)

    def test_wrong_names(self, frame, series):
        with pytest.raises(SchemaError, match="names must be those of bounds"):
            ridge().fit(frame({"age": X[:, 0], "weight": X[:, 1]}), PRESSURE)
        with pytest.raises(SchemaError, match="names must be those of bounds"):
            ridge().fit(X, PRESSURE).predict(frame({"age": X[:, 0]}))


class TestData:
    @pytest.mark.few(3)
    @EACH
    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300])
    def test_no_value_raises_or_warns(self, make, y, value):
        data = X.copy()
        data[3, 0] = value
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", sf.errors.NothingThereWarning)  # which noisy numbers decide on
            make().fit(data, y).predict(X)
            make().fit(np.full((5, 2), value), y[:5]).predict(X)
            if y is PRESSURE:
                make().fit(X, np.full(400, value)).predict(X)

    def test_a_record_without_a_value_contributes_nothing(self):
        data, pressure = X.copy(), PRESSURE.copy()
        data[100:150, 0], pressure[150:200] = np.nan, np.nan
        kept = np.r_[0:100, 200:400]
        some = ridge(C=30.0).fit(X[kept], PRESSURE[kept])
        assert np.allclose(ridge(C=40.0).fit(data, pressure).coef_, some.coef_, atol=1e-2)

    @pytest.mark.parametrize(("make", "y"), REFUSE.values(), ids=REFUSE)
    def test_points_without_a_value_are_refused(self, make, y):
        points = X[:5].copy()
        points[2, 1] = np.nan
        with pytest.raises(OutsideBoxError, match=r"contains NaN in 1 of 5 rows, the first is row 2"):
            make().fit(X, y).predict(points)

    def test_errors_do_not_name_values(self):
        for y in (np.array([b"secret"] * 400), np.array([["secret", "secret"]] * 400), ["secret"]):
            with pytest.raises(SfumatoError) as caught:
                logistic().fit(X, y)
            assert "secret" not in str(caught.value)
            assert caught.value.__suppress_context__ or caught.value.__context__ is None

    @pytest.mark.few(1)
    @EACH
    def test_a_private_number_of_rows_may_be_none(self, make, y):
        frame = pd.DataFrame({"age": [], "bmi": []}, dtype=float)
        for data in (np.zeros((0, 2)), frame):
            model = make(neighbours="add-remove", **({"loss": "huber"} if make is regressor else {}))
            points = X[:3] if data is not frame else pd.DataFrame(X[:3], columns=["age", "bmi"])
            assert model.fit(data, y[:0]).predict(points).shape == (3,)
            with pytest.raises(SchemaError, match="0 sample"):
                make().fit(data, y[:0])

    def test_a_change_between_names_and_none_warns_the_caller(self):
        model = ridge(bounds=(0, 100)).fit(X, PRESSURE)
        with pytest.warns(UserWarning, match="fitted without feature names") as caught:
            model.predict(pd.DataFrame(X, columns=["age", "bmi"]))
        assert caught[0].filename == __file__

    @EACH
    def test_the_estimator_keeps_the_release_only(self, make, y):
        model = make().fit(X, y)
        assert set(vars(model)) == {*model.get_params(), "release_", "n_features_in_", "_by_name"}


class TestParameters:
    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("rbf", sf.RBF(0.25)),
            ("poly", sf.Polynomial(2, 0.25, 0.5)),
            ("polynomial", sf.Polynomial(2, 0.25, 0.5)),
            ("matern", sf.Matern()),
            (sf.Matern(2.5, 0.5), sf.Matern(2.5, 0.5)),
        ],
        ids=str,
    )
    def test_kernels(self, name, expected):
        model = kernel(kernel=name, gamma=0.25, degree=2, coef0=0.5).fit(X, ILL)
        assert model.release_.handed.features.kernel == expected

    def test_a_linear_kernel_has_no_landmarks(self):
        assert kernel(kernel="linear", landmarks=None).fit(X, ILL).release_.linear()[0].shape == (1, 2)
        for options in ({"landmarks": 25}, {"landmarks": None, "rank": 2}):
            with pytest.raises(ParameterError, match="not for a linear kernel"):
                kernel(kernel="linear", **options).fit(X, ILL)

    def test_kernels_of_ones_own(self):
        public = SCALED[:12]
        gram = np.exp(-((public[:, None] - public) ** 2).sum(axis=2))
        given = sf.Precomputed(gram, bound=1.0)
        rows = np.exp(-((SCALED[:, None] - public) ** 2).sum(axis=2))
        model = kernel(kernel=given, bounds=given.box, landmarks=None, C=30.0, epsilon=QUIET).fit(rows, ILL)
        assert model.score(rows, ILL) > 0.8
        mine = sf.UserKernel(lambda left, right: (left @ right.T + 1) ** 2, bound=2.5)
        assert kernel(kernel=mine, C=30.0, epsilon=QUIET).fit(X, ILL).score(X, ILL) > 0.8

    def test_landmarks_and_rank(self):
        assert kernel(landmarks=9).fit(X, ILL).release_.handed.features.nodes.shape == (9, 2)
        public = np.array([[20.0, 20.0], [50.0, 30.0], [80.0, 40.0]])
        model = kernel(landmarks=public, rank=2).fit(X, ILL)
        assert np.array_equal(model.release_.handed.features.nodes, public)
        assert model.release_.weights.shape == (1, 2)
        assert kernel(landmarks=None, rank=3).fit(X, ILL).release_.weights.shape == (1, 3)
        assert np.array_equal(clone(model).landmarks, public)

    def test_the_mechanism_and_c(self):
        for mechanism in ("output", "objective"):
            assert logistic(mechanism=mechanism).fit(X, ILL).release_.mechanism == mechanism
        auto = dict(logistic(C="auto", epsilon=1.0).fit(X, ILL).release_.target)
        assert float(auto["C (times the mean loss)"]) > 0

    @pytest.mark.parametrize(
        "options",
        [
            {"epsilon": 0},
            {"delta": 2.0},
            {"neighbours": "swap"},
            {"C": 0},
            {"C": "scale"},
            {"loss": "magic"},
            {"loss": 3},
            {"kernel": "sigmoid"},
            {"kernel": 3},
            {"gamma": "scale"},
            {"gamma": -1.0},
            {"kernel": "poly", "degree": 0},
            {"kernel": "poly", "coef0": -1},
            {"landmarks": 0},
            {"landmarks": [[1e9, 0.0]]},
            {"rank": 0},
            {"loss": "hinge", "mechanism": "objective"},
            {"mechanism": "magic"},
            {"max_norm": -1.0},
            {"expected_rows": 0},
            {"bounds": "age"},
            {"ledger": "budget.db"},
        ],
        ids=str,
    )
    def test_bad_ones_are_refused_by_fit_alone(self, options):
        model = kernel(**options)
        with pytest.raises(ParameterError):
            model.fit(X, ILL)
        assert not hasattr(model, "release_")
        assert not hasattr(model, "classes_")

    def test_more_bad_ones(self):
        with pytest.raises(ParameterError, match="fit_intercept must be True or False"):
            ridge(fit_intercept="yes").fit(X, PRESSURE)
        with pytest.raises(ParameterError, match="needs classes"):
            regressor(loss="hinge").fit(X, PRESSURE)
        with pytest.raises(ParameterError, match="scikit-learn's words read the private records"):
            kernel(gamma="scale").fit(X, ILL)

    @EACH
    def test_unfitted(self, make, y):
        for name in ("predict", "decision_function", "predict_proba", "predict_log_proba", "certain", "band"):
            if hasattr(make(), name):
                with pytest.raises(NotFittedError):
                    getattr(make(), name)(X)
        for name in ("coef_", "guarantee_", "classes_"):
            assert not hasattr(make(), name)

    @pytest.mark.few(3)
    @EACH
    def test_kinds_clones_and_pickles(self, make, y):
        model = make(delta=1e-6).fit(X, y)
        assert (is_classifier(model), is_regressor(model)) == (y is ILL, y is not ILL)
        twin = clone(model)
        assert not hasattr(twin, "release_")
        assert repr(twin) == repr(model)
        again = pickle.loads(pickle.dumps(model))
        assert np.array_equal(again.predict(X), model.predict(X))


class TestBudget:
    @pytest.mark.few(1)
    @EACH
    def test_every_fit_pays_and_a_refused_one_keeps_the_release(self, make, y, account):
        model = make(epsilon=1.0, ledger=account).fit(X, y)
        paid = clone(model).fit(X, y).release_
        assert paid.receipt.account == "clinic"
        assert account.remaining().epsilon == 0
        kept = model.release_
        with pytest.raises(BudgetExceededError):
            model.fit(X, y)
        assert model.release_ is kept

    def test_what_cannot_be_fitted_costs_nothing(self, account):
        model = logistic(epsilon=1.0, ledger=account)
        for data, y in ((X[:, :1], ILL), (X, ILL[:-1]), (X, PRESSURE), (X, None)):
            with pytest.raises(SchemaError):
                model.fit(data, y)
        assert account.history() == []

    def test_the_ledger_stops_cross_validation(self, account):
        with pytest.raises(BudgetExceededError):
            cross_val_score(logistic(epsilon=1.0, ledger=account), X, ILL, cv=5, error_score="raise")
        assert account.remaining().epsilon == 0

    def test_in_a_pipeline(self, account):
        steps = make_pipeline(FunctionTransformer(np.log1p), logistic(bounds=(0, 5), epsilon=1.0, ledger=account))
        fitted = steps.fit(X, ILL)
        assert account.remaining().epsilon == 1.0
        assert fitted.predict_proba(X).shape == (400, 2)
        assert 0 <= fitted.score(X, ILL) <= 1


def names_of_the_example(heading):
    page = (Path(__file__).parents[3] / "docs" / "estimators.md").read_text()
    code = re.search(rf"## {heading}\n\n```python\n(.*?)```", page, re.DOTALL).group(1)
    names = {}
    exec(code, names)
    return names


def test_the_examples_of_the_guide_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = names_of_the_example("Classifiers and regressions")
    assert names["model"].predict(names["points"]).tolist() == ["no", "yes"]
    assert names["line"].coef_.shape == (2,)
    names = names_of_the_example("Curves and naive Bayes")
    assert names["model"].predict(names["people"]).tolist() == ["no", "yes"]
    assert (names["low"] <= names["curve"].predict(names["points"])).all()


def test_categories_of_a_data_frame():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.uniform(0, 110, 2000), "sex": rng.choice(["F", "M", "?"], 2000)})
    y = np.where(X["sex"] == "M", "yes", "no")
    bounds = {"age": (0, 110), "sex": sf.Categorical(["F", "M"])}
    model = PrivateLogisticRegression(bounds=bounds, classes=("no", "yes"), epsilon=1e3).fit(X, y)
    known = X["sex"] != "?"
    assert model.score(X[known], y[known]) > 0.99 and model.coef_.shape == (1, 3)
    with pytest.raises(OutsideBoxError, match="undeclared categories"):
        model.predict(X)
