"""The private naive Bayes classifier: its numbers, its classes, its columns of text, its parameters and its budget.

What it shares with learners, such as missing bounds and ledgers, is in ``test_learners``.
"""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import sfumato as sf
from sfumato.errors import BudgetExceededError, ParameterError, SchemaError, SfumatoError, UnpaidLearningWarning
from sfumato.estimators import PrivateNaiveBayes, check_pipeline

RNG = np.random.default_rng(13)
ILL = np.where(RNG.random(1000) < 0.4, "yes", "no")
SICK = (ILL == "yes").astype(float)
X = np.column_stack([RNG.normal(45 + 15 * SICK, 8), RNG.normal(25 + 5 * SICK, 3)])
CITY = np.where(RNG.random(1000) < 0.3 + 0.5 * SICK, "Ulm", "Bonn")
FLOOR = RNG.binomial(3, 0.3 + 0.4 * SICK)
NUMBERS = {"age": (0, 100), "bmi": (10, 60)}
MIXED = {"age": (0, 100), "city": sf.Categorical(["Bonn", "Ulm"]), "floor": sf.Categorical([0, 1, 2, 3])}
CLEAR = np.array([[30.0, 20.0], [70.0, 35.0]])  # points whose classes are beyond doubt
QUIET = 1e7  # an epsilon without noise to speak of


def normal(**options):
    """Two numbers, quick to fit."""
    return PrivateNaiveBayes(
        **{"likelihood": "normal", "bounds": NUMBERS, "classes": ("no", "yes"), "epsilon": QUIET, **options}
    )


def kernel(**options):
    return normal(**{"likelihood": "kernel", "bandwidth": [5.0, 3.0], **options})


def mixed(**options):
    """A number, and categories that are text and numbers."""
    return normal(**{"bounds": MIXED, **options})


BOTH = pytest.mark.parametrize("make", [normal, kernel])


@pytest.fixture
def account(tmp_path):
    return sf.Ledger(tmp_path / "budget.db").account("clinic", limit=sf.Privacy(epsilon=2.0))


class TestNumbers:
    def test_normal_likelihoods_are_scikit_learns(self):
        theirs = GaussianNB().fit(X, ILL)
        assert np.allclose(normal().fit(X, ILL).predict_proba(X), theirs.predict_proba(X), atol=0.01)

    def test_counted_categories_are_scikit_learns(self):
        frame = pd.DataFrame({"city": CITY, "floor": FLOOR})
        bounds = {name: MIXED[name] for name in frame}
        theirs = CategoricalNB(alpha=1e-9).fit(np.column_stack([CITY == "Ulm", FLOOR]), ILL)
        found = normal(bounds=bounds).fit(frame, ILL).predict_proba(frame)
        assert np.allclose(found, theirs.predict_proba(np.column_stack([CITY == "Ulm", FLOOR])), atol=1e-3)

    def test_kernel_likelihoods(self):
        prior = np.array([np.mean(ILL == "no"), np.mean(ILL == "yes")])
        at, odds = np.array([[40.0, 24.0], [50.0, 27.0], [60.0, 31.0]]), np.ones((3, 2))
        for column, width in ((0, 5.0), (1, 3.0)):
            for k, label in enumerate(("no", "yes")):
                there = X[label == ILL, column]
                odds[:, k] *= np.exp(-0.5 * ((at[:, column, None] - there) / width) ** 2).mean(axis=1)
        odds *= prior
        found = kernel().fit(X, ILL).predict_proba(at)
        assert np.allclose(found, odds / odds.sum(axis=1, keepdims=True), atol=0.01)

    @BOTH
    def test_it_is_the_release_of_the_same_target(self, make):
        model = make().fit(X, ILL)
        target = sf.NaiveBayes("y", ["no", "yes"], bandwidth=model.bandwidth, likelihood=model.likelihood)
        plain = sf.release(target, (X, ILL), sf.Box(NUMBERS), sf.Privacy(epsilon=QUIET))
        assert model.release_.target == plain.target
        assert model.guarantee_ == plain.guarantee
        assert np.allclose(model.predict_proba(X), plain.predict_proba(X, outside="clip"), atol=1e-3)
        assert np.array_equal(model.predict(CLEAR), plain.predict(CLEAR))

    @pytest.mark.few(1)
    @BOTH
    def test_probabilities(self, make):
        model = make(epsilon=1.0).fit(X, ILL)
        found = model.predict_proba(X)
        assert found.shape == (1000, 2)
        assert np.allclose(found.sum(axis=1), 1)
        assert np.allclose(np.exp(model.predict_log_proba(X)), found)
        assert np.array_equal(model.predict(X), model.classes_[found.argmax(axis=1)])
        assert not hasattr(model, "decision_function")  # as scikit-learn's: its scorers take the probabilities
        assert get_scorer("roc_auc")(make().fit(X, ILL), X, ILL) > 0.9

    def test_logarithms_have_a_floor(self):
        far = np.concatenate([np.full((500, 60), -0.9), np.full((500, 60), 0.9)])
        model = normal(bounds=(-1, 1), classes=(0, 1)).fit(far, np.repeat([0, 1], 500))
        found = model.predict_log_proba([[-0.9] * 60])
        assert found.tolist() == [[0.0, pytest.approx(-708.396, abs=1e-3)]]

    def test_certainty(self):
        assert normal().fit(X, ILL).certain(CLEAR).tolist() == [True, True]
        assert not normal(epsilon=1e-3).fit(X, ILL).certain(CLEAR).any()
        with pytest.raises(ParameterError, match="confidence"):
            normal().fit(X, ILL).certain(CLEAR, confidence=95)

    @BOTH
    def test_points_outside_are_moved_to_the_bounds(self, make):
        model = make(epsilon=1.0).fit(X, ILL)
        found = model.predict_proba([[200.0, -np.inf], [-5.0, 30.0]])
        assert np.array_equal(found, model.predict_proba([[100.0, 10.0], [0.0, 30.0]]))

    @BOTH
    def test_a_missing_value_says_nothing(self, make):
        model = make().fit(X, ILL)
        shares = model.release_.counts / model.release_.counts.sum()
        assert np.allclose(model.predict_proba([[np.nan, np.nan]]), [shares])
        alone = make(bounds={"age": (0, 100)}, bandwidth=[5.0]).fit(X[:, :1], ILL)
        assert np.allclose(model.predict_proba([[50.0, np.nan]]), alone.predict_proba([[50.0]]), atol=1e-3)

    def test_a_record_without_a_value_counts_for_nothing(self):
        some = X.copy()
        some[:500, 0] = np.nan
        model = normal().fit(some, ILL)
        for likelihood in model.release_.likelihoods:
            assert np.allclose(likelihood.counts.sum(), 500, atol=0.1)


class TestClasses:
    def test_they_are_in_order_as_scikit_learns_scorers_expect(self):
        model = normal(classes=("yes", "no")).fit(X, ILL)
        assert model.classes_.tolist() == ["no", "yes"]
        assert model.predict(CLEAR).tolist() == ["no", "yes"]
        assert (model.predict_proba(CLEAR)[:, 1] > 0.5).tolist() == [False, True]

    @pytest.mark.parametrize(
        ("classes", "y"), [((-1, 1), 2 * SICK - 1), ((0.5, 2), 0.5 + 1.5 * SICK), ((False, True), SICK > 0)], ids=str
    )
    def test_numbers_and_flags(self, classes, y):
        model = normal(classes=classes).fit(X, y)
        assert model.classes_.tolist() == list(classes)
        assert model.predict(CLEAR).tolist() == list(classes)

    def test_an_undeclared_label_contributes_nothing(self):
        strange = ILL.astype("U10")
        strange[400:] = "unknown"
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = normal().fit(X, strange)
        assert model.classes_.tolist() == ["no", "yes"]
        assert np.allclose(model.predict_proba(X), normal().fit(X[:400], ILL[:400]).predict_proba(X), atol=1e-3)

    def test_a_declared_one_may_be_absent(self):
        model = normal(classes=("maybe", "no", "yes")).fit(X, ILL)
        assert model.predict_proba(X).shape == (1000, 3)
        assert model.predict(CLEAR).tolist() == ["no", "yes"]

    def test_labels_of_the_wrong_type_are_refused_by_it(self, account):
        with pytest.raises(SchemaError, match="y must hold text, as was declared"):
            normal(ledger=account).fit(X, SICK)
        assert account.history() == []


def pandas_categories(columns):
    return pd.DataFrame({**columns, "city": pd.Categorical(columns["city"])})


FRAMES = {
    "pandas": pd.DataFrame,
    "pandas categories": pandas_categories,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
}


def records(order=("city", "floor", "age"), rows=slice(None)):
    whole = {"age": X[:, 0], "city": CITY.astype(object), "floor": FLOOR}
    return {name: list(whole[name][rows]) for name in order}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
class TestFrames:
    def test_categories_beside_numbers(self, frame):
        model = mixed().fit(frame(records()), ILL)
        assert model.feature_names_in_.tolist() == ["age", "city", "floor"]
        assert model.n_features_in_ == 3
        table = pd.DataFrame({**records(), "ill": ILL})
        target = sf.NaiveBayes("ill", ["no", "yes"], likelihood="normal")
        plain = sf.release(target, table, sf.Box(MIXED), sf.Privacy(epsilon=QUIET))
        found = model.predict_proba(frame(records()))
        assert np.allclose(found, plain.predict_proba(table, outside="clip"), atol=1e-3)
        assert np.array_equal(found, model.predict_proba(frame(records(("age", "floor", "city")))))

    def test_bounds_without_names_go_by_position(self, frame):
        order = ("age", "city", "floor")
        model = mixed(bounds=list(MIXED.values())).fit(frame(records(order)), ILL)
        named = mixed().fit(frame(records(order)), ILL)
        some = frame(records(order, slice(50)))
        assert np.allclose(model.predict_proba(some), named.predict_proba(some), atol=1e-3)
        with pytest.raises(SchemaError, match="same order as they were in fit"):
            model.predict(frame(records()))

    def test_undeclared_and_missing_categories_say_nothing(self, frame):
        strange = records()
        strange["city"][:300] = ["Rome"] * 150 + [None] * 150
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = mixed().fit(frame(strange), ILL)
            found = model.predict_proba(frame({"age": [50.0] * 2, "city": ["Rome", None], "floor": [1, 7]}))
        assert np.allclose(model.release_.likelihoods[1].counts.sum(), 700, atol=0.1)
        alone = mixed(bounds={"age": (0, 100)}).fit(X[:, :1], ILL).predict_proba([[50.0]])
        assert np.allclose(found[1], alone, atol=0.01)  # floor 7 was not declared either
        assert not np.allclose(found[0], alone, atol=0.01)

    def test_a_private_number_of_rows_may_be_none(self, frame):
        empty = pd.DataFrame({"age": [], "city": [], "floor": []}).astype({"age": float, "city": str, "floor": float})
        model = mixed(neighbours="add-remove", epsilon=1.0).fit(empty, ILL[:0])
        assert model.predict(frame(records())).shape == (1000,)

    def test_types_are_those_of_the_declaration(self, frame):
        with pytest.raises(SchemaError, match="'city' must hold text"):
            mixed().fit(pd.DataFrame({**records(), "city": FLOOR}), ILL)
        with pytest.raises(SchemaError, match="'floor' must hold numbers"):
            mixed().fit(frame({**records(), "floor": list(CITY)}), ILL)
        with pytest.raises(SchemaError, match="names must be those of bounds"):
            mixed().fit(frame(records(("age", "city"))), ILL)


class TestData:
    def test_numeric_categories_in_an_array(self):
        bounds = [(0, 100), sf.Categorical([0, 1, 2, 3])]
        model = normal(bounds=bounds).fit(np.column_stack([X[:, 0], FLOOR]), ILL)
        found = model.predict_proba([[50.0, 1], [50.0, 7], [50.0, np.nan]])
        assert np.array_equal(found[1], found[2])
        assert not np.array_equal(found[0], found[1])

    def test_text_categories_need_a_data_frame(self):
        with pytest.raises(SchemaError, match=r"must hold the columns .* as real numbers"):
            mixed().fit(np.zeros((5, 3)), ILL[:5])
        with pytest.raises(SchemaError, match="must hold real numbers"):
            mixed().fit(np.array([["30", "Ulm", "1"]] * 5), ILL[:5])

    def test_columns_without_names(self):
        frame = pd.DataFrame(records(("age", "city", "floor"))).set_axis([0, 1, 2], axis=1)
        model = mixed(bounds=list(MIXED.values())).fit(frame, ILL)
        assert not hasattr(model, "feature_names_in_")
        assert model.predict(frame).shape == (1000,)

    def test_rows_of_a_frame_and_labels_meet_by_place(self):
        frame, order = pd.DataFrame(records()), RNG.permutation(1000)
        labels = pd.Series(ILL, name="ill")
        shuffled = mixed().fit(frame.iloc[order], labels.iloc[order].reset_index(drop=True))
        assert np.allclose(shuffled.predict_proba(frame), mixed().fit(frame, labels).predict_proba(frame), atol=1e-3)
        assert shuffled.release_.response.name == "ill"

    def test_a_response_named_as_a_feature(self):
        model = mixed().fit(pd.DataFrame(records()), pd.Series(ILL, name="city"))
        assert model.release_.response.name == "city_"

    @pytest.mark.parametrize("y", [ILL, list(ILL), pd.Series(ILL), pl.Series(ILL.tolist())], ids=lambda y: str(type(y)))
    def test_labels_of_every_kind(self, y):
        assert mixed().fit(pd.DataFrame(records()), y).score(pd.DataFrame(records()), ILL) > 0.8

    def test_numeric_labels_beside_text(self):
        frame, wide = pd.DataFrame(records()), SICK.astype(np.longdouble)
        for y in (SICK.astype(np.float16), SICK > 0, SICK.astype(np.uint8), wide):
            assert mixed(classes=(0, 1)).fit(frame, y).score(frame, SICK) > 0.8

    def test_errors_do_not_name_values(self):
        for data in (np.array([["secret"] * 3] * 5, dtype=object), [["secret"] * 3] * 5):
            with pytest.raises(SfumatoError) as caught:
                mixed().fit(data, ILL[:5])
            assert "secret" not in str(caught.value)


class TestParameters:
    @pytest.mark.parametrize(
        "options",
        [
            {"epsilon": 0},
            {"delta": 2.0},
            {"neighbours": "swap"},
            {"likelihood": "magic"},
            {"bandwidth": 5.0},
            {"bandwidth": [5.0]},
            {"bandwidth": [5.0, 0.0]},
            {"bandwidth": "silverman"},
            {"bandwidth": sf.Tuned([[1.0, 1.0], [2.0, 2.0]])},
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

    def test_they_are_kept_as_given(self):
        model = kernel(delta=1e-6, neighbours="add-remove", expected_rows=500)
        assert set(model.get_params()) == {
            "likelihood", "bandwidth", "bounds", "classes", "epsilon", "delta", "ledger", "neighbours", "expected_rows"
        }  # fmt: skip
        twin = clone(model.fit(X, ILL)).set_params(likelihood="normal")
        assert not hasattr(twin, "release_")
        assert twin.get_params() == {**model.get_params(), "likelihood": "normal"}
        assert clone(mixed(bounds=sf.Box(MIXED))).bounds == sf.Box(MIXED)

    @BOTH
    def test_a_fitted_one_travels(self, make):
        model = make(epsilon=1.0).fit(X, ILL)
        again = pickle.loads(pickle.dumps(model))
        assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
        assert np.array_equal(again.certain(CLEAR), model.certain(CLEAR))
        assert again.guarantee_ == model.guarantee_

    def test_the_default_bandwidth_is_a_public_rule(self):
        first, second = (
            dict(kernel(bandwidth="auto", epsilon=1.0).fit(x, ILL).release_.target)["bandwidth"]
            for x in (X, np.zeros((1000, 2)))
        )
        assert first == second


class TestSurroundings:
    def test_in_a_pipeline(self, account):
        steps = make_pipeline(FunctionTransformer(np.log1p), normal(bounds=(0, 5), epsilon=1.0, ledger=account))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fitted = check_pipeline(clone(steps)).fit(X, ILL)
        assert account.remaining().epsilon == 1.0
        assert fitted.predict_proba(X).shape == (1000, 2)

    def test_a_scaler_before_it_is_noticed(self):
        with pytest.warns(UnpaidLearningWarning, match="'standardscaler'"):
            make_pipeline(StandardScaler(), normal(bounds=(-4, 4))).fit(X, ILL)

    def test_the_ledger_stops_a_grid_search(self, account):
        model = normal(epsilon=1.0, ledger=account)
        search = GridSearchCV(model, {"likelihood": ["normal", "kernel"]}, cv=KFold(3), error_score="raise")
        with pytest.warns(UnpaidLearningWarning, match="GridSearchCV"), pytest.raises(BudgetExceededError):
            search.fit(X, ILL)
        assert account.remaining().epsilon == 0
