"""Steps and wrappers that learn from the private records: what is noticed, and what passes."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
)

from sfumato.errors import ParameterError, ParameterTypeError, SfumatoError, UnpaidLearningWarning
from sfumato.estimators import PrivateKernelDensity, PrivateLogisticRegression, PrivateRidge, check_pipeline

X = np.random.default_rng(4).uniform(size=(60, 2))
Y = np.where(X[:, 0] > 0.5, 1, 0)


def learner(**options):
    return PrivateLogisticRegression(**{"bounds": (0, 1), "classes": (0, 1), **options})


class Doubled(BaseEstimator):
    """A transformer of somebody's own, which does not say whether it learns."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return 2 * X


class Fitted:
    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X


GIVEN = [[0, 1], [0, 1]]
LEARN = {
    "StandardScaler": StandardScaler(),
    "PCA": PCA(),
    "SimpleImputer": SimpleImputer(),
    "KBinsDiscretizer": KBinsDiscretizer(),
    "OneHotEncoder": OneHotEncoder(handle_unknown="ignore"),
    "OrdinalEncoder": OrdinalEncoder(categories=GIVEN),  # refuses, and prints, values that are not given
    "Doubled": Doubled(),
    "Fitted": Fitted(),
    "limits": OneHotEncoder(categories=GIVEN, handle_unknown="ignore", min_frequency=3),
    "union": FeatureUnion([("same", "passthrough"), ("scaled", StandardScaler())]),
    "columns": ColumnTransformer([("scaled", StandardScaler(), [0])]),
    "remainder": ColumnTransformer([("same", "passthrough", [0])], remainder=StandardScaler()),
    "nested": make_pipeline(Normalizer(), StandardScaler()),
}
LEARN_NOTHING = {
    "passthrough": "passthrough",
    "None": None,
    "FunctionTransformer": FunctionTransformer(np.log1p),
    "Normalizer": Normalizer(),
    "Binarizer": Binarizer(),
    "PolynomialFeatures": PolynomialFeatures(2),
    "FrozenEstimator": FrozenEstimator(StandardScaler().fit([[0.0, 0.0], [1.0, 1.0]])),
    "OneHotEncoder": OneHotEncoder(categories=GIVEN, handle_unknown="ignore", sparse_output=False),
    "OrdinalEncoder": OrdinalEncoder(categories=GIVEN, handle_unknown="use_encoded_value", unknown_value=-1),
    "union": FeatureUnion([("same", "passthrough"), ("squares", PolynomialFeatures(2))]),
    "columns": ColumnTransformer([("same", "passthrough", [0]), ("log", FunctionTransformer(np.log1p), [1])]),
    "nested": make_pipeline(Normalizer(), Binarizer()),
}


class TestCheckPipeline:
    @pytest.mark.parametrize("step", LEARN.values(), ids=LEARN)
    def test_steps_that_learn_are_named(self, step):
        with pytest.raises(ParameterError, match=r"without noise.*'first"):
            check_pipeline(Pipeline([("first", step), ("last", learner())]))

    @pytest.mark.parametrize("step", LEARN_NOTHING.values(), ids=LEARN_NOTHING)
    def test_steps_that_learn_nothing_pass(self, step):
        pipeline = Pipeline([("first", step), ("last", learner())])
        assert check_pipeline(pipeline) is pipeline

    def test_parts_are_named_as_scikit_learn_names_them(self):
        pipeline = Pipeline([("first", LEARN["nested"]), ("second", PCA()), ("last", learner())])
        with pytest.raises(ParameterError, match=r"'first__standardscaler' \(StandardScaler\), 'second' \(PCA\);"):
            check_pipeline(pipeline)

    def test_the_last_step_is_the_estimator(self):
        assert len(check_pipeline(make_pipeline(learner()))) == 1

    @pytest.mark.parametrize("what", [None, StandardScaler(), [("a", StandardScaler())]], ids=str)
    def test_what_is_no_pipeline(self, what):
        with pytest.raises(ParameterTypeError, match="must be a scikit-learn Pipeline"):
            check_pipeline(what)


class TestWarnings:
    @pytest.mark.parametrize("step", [StandardScaler(), PCA(), LEARN["nested"]], ids=str)
    @pytest.mark.parametrize("last", [learner(), PrivateKernelDensity(0.5, bounds=(-3, 3))], ids=["learner", "density"])
    def test_a_fitted_step_before_it(self, step, last):
        with pytest.warns(UnpaidLearningWarning, match=r"called by a Pipeline that voids its guarantee.*'first"):
            Pipeline([("first", step), ("last", last)]).fit(X, Y)

    @pytest.mark.parametrize("name", ["FunctionTransformer", "FrozenEstimator", "columns", "nested"])
    def test_no_false_alarm(self, name):
        pipeline = Pipeline([("first", LEARN_NOTHING[name]), ("last", learner(bounds=(-3, 3)))])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            pipeline.fit(X, Y)
            learner().fit(X, Y)

    def test_a_pipeline_around_a_pipeline(self):
        inner = make_pipeline(Normalizer(), learner())
        with pytest.warns(UnpaidLearningWarning, match="'scaler'"):
            Pipeline([("scaler", StandardScaler()), ("inner", inner)]).fit(X, Y)

    def test_a_pipeline_in_a_cross_validation(self):
        pipeline = make_pipeline(StandardScaler(), learner())
        with pytest.warns(UnpaidLearningWarning, match="'standardscaler'"):
            cross_val_score(pipeline, X, Y, cv=2)

    @pytest.mark.parametrize(
        ("make", "name"),
        [
            (lambda: GridSearchCV(learner(), {"C": [1.0, 2.0]}, cv=2), "GridSearchCV"),
            (lambda: CalibratedClassifierCV(learner(), cv=2), "CalibratedClassifierCV"),
            (
                lambda: TransformedTargetRegressor(
                    PrivateRidge(bounds=(0, 1), response_range=(-3, 3)), transformer=StandardScaler()
                ),
                "TransformedTargetRegressor",
            ),
        ],
    )
    def test_wrappers_that_learn_beside(self, make, name):
        with pytest.warns(UnpaidLearningWarning, match=f"called by {name}.fit"):
            make().fit(X, Y)

    def test_ones_own_code_is_not_accused(self):
        class Mine(BaseEstimator):
            def fit(self, X, y):
                self.inner_ = learner().fit(X, y)
                return self

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            Mine().fit(X, Y)

    def test_as_an_error_it_comes_before_anything_is_spent(self, tmp_path):
        import sfumato as sf

        account = sf.Ledger(tmp_path / "budget.db").account("clinic", limit=sf.Privacy(epsilon=2.0))
        pipeline = make_pipeline(StandardScaler(), learner(ledger=account))
        with warnings.catch_warnings():
            warnings.simplefilter("error", UnpaidLearningWarning)
            with pytest.raises(SfumatoError):
                pipeline.fit(X, Y)
        assert account.history() == []
