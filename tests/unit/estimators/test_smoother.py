"""The private kernel smoother: its curve, its columns, its parameters and its budget.

What it shares with learners, such as data, missing values and ledgers, is in ``test_learners``.
"""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import sfumato as sf
from sfumato.errors import BudgetExceededError, ParameterError, SchemaError, UnpaidLearningWarning
from sfumato.estimators import PrivateKernelSmoother, check_pipeline

RNG = np.random.default_rng(11)
AGE = RNG.uniform(20, 80, size=(600, 1))
PRESSURE = 120 + 30 * np.sin(AGE[:, 0] / 12) + RNG.normal(0, 5, size=600)
POINTS = np.linspace(25, 75, 40).reshape(-1, 1)
QUIET = 1e7  # an epsilon without noise to speak of


def curve(**options):
    """One column, quick to fit."""
    settings = {"bandwidth": 5.0, "bounds": [(0, 100)], "response_range": (60, 220), "epsilon": QUIET}
    return PrivateKernelSmoother(**{**settings, **options})


def exact(points, records, responses, bandwidth):
    """The kernel regression itself."""
    distances = ((points[:, None] - records) / bandwidth) ** 2
    weights = np.exp(-0.5 * distances.sum(axis=2))
    return weights @ responses / weights.sum(axis=1)


@pytest.fixture
def account(tmp_path):
    return sf.Ledger(tmp_path / "budget.db").account("clinic", limit=sf.Privacy(epsilon=2.0))


class TestNumbers:
    def test_almost_without_noise_it_is_the_kernel_regression(self):
        found = curve().fit(AGE, PRESSURE).predict(POINTS)
        assert np.allclose(found, exact(POINTS, AGE, PRESSURE, 5.0), atol=0.5)

    def test_two_columns(self):
        wide = np.column_stack([AGE[:, 0], RNG.uniform(15, 45, 600)])
        response = PRESSURE + wide[:, 1]
        model = curve(bandwidth=[10.0, 5.0], bounds={"age": (0, 100), "bmi": (10, 60)}).fit(wide, response)
        at = np.array([[40.0, 20.0], [60.0, 30.0], [30.0, 40.0]])
        assert np.allclose(model.predict(at), exact(at, wide, response, np.array([10.0, 5.0])), atol=1.0)

    def test_it_is_the_release_of_the_same_target(self):
        target = sf.NadarayaWatson(5.0, response="y", range=(60, 220))
        plain = sf.release(target, (AGE, PRESSURE), sf.Box([(0, 100)]), sf.Privacy(epsilon=QUIET))
        model = curve().fit(AGE, PRESSURE)
        assert model.release_.target == plain.target
        assert model.release_.rows == plain.rows == 600
        assert model.guarantee_ == plain.guarantee
        assert np.allclose(model.predict(POINTS), plain(POINTS), atol=0.01)

    def test_methods_are_those_of_the_release(self):
        model = curve(epsilon=1.0).fit(AGE, PRESSURE)
        assert np.array_equal(model.predict(POINTS), model.release_(POINTS))
        for ours, theirs in zip(
            model.band(POINTS, 0.9, include="noise"), model.release_.band(POINTS, 0.9, "noise"), strict=True
        ):
            assert np.array_equal(ours, theirs)

    def test_the_band_holds_the_curve_and_narrows_with_epsilon(self):
        widths = []
        for epsilon in (1.0, 100.0):
            model = curve(epsilon=epsilon).fit(AGE, PRESSURE)
            low, high = model.band(POINTS)
            assert (low <= model.predict(POINTS)).all()
            assert (model.predict(POINTS) <= high).all()
            widths.append(np.mean(high - low))
        assert widths[1] < widths[0]

    def test_points_outside_are_moved_to_the_bounds(self):
        model = curve().fit(AGE, PRESSURE)
        assert np.array_equal(model.predict([[-5.0], [np.inf]]), model.predict([[0.0], [100.0]]))
        assert np.array_equal(model.band([[-5.0]]), model.band([[0.0]]))

    def test_a_circle_has_no_outside(self):
        model = curve(bounds=[sf.Periodic(0, 24)], bandwidth=2.0).fit(AGE % 24, PRESSURE)
        assert np.allclose(model.predict([[25.0]]), model.predict([[1.0]]))

    def test_responses_outside_the_range_are_moved_to_it(self):
        far = np.where(PRESSURE > 120, np.inf, -1e300)
        near = np.where(PRESSURE > 120, 220.0, 60.0)
        assert np.allclose(curve().fit(AGE, far).predict(POINTS), curve().fit(AGE, near).predict(POINTS), atol=0.01)

    def test_records_without_a_value_or_a_response_contribute_nothing(self):
        data, response = AGE.copy(), PRESSURE.copy()
        data[:100], response[100:200] = np.nan, np.nan
        kept = curve().fit(AGE[200:], PRESSURE[200:])
        assert np.allclose(curve().fit(data, response).predict(POINTS), kept.predict(POINTS), atol=0.05)

    def test_it_scores(self):
        assert curve().fit(AGE, PRESSURE).score(AGE, PRESSURE) > 0.8

    def test_the_default_bandwidth_is_a_public_rule(self):
        first, second = (
            dict(curve(bandwidth="auto", epsilon=1.0).fit(x, PRESSURE).release_.target)["bandwidth"]
            for x in (AGE, np.zeros((600, 1)))
        )
        assert first == second


class TestColumns:
    @pytest.mark.parametrize("width", [4, 7])
    def test_more_than_three_are_refused_in_words(self, width, account):
        with pytest.raises(ParameterError, match=rf"1 to 3 columns, got {width} .*PrivateKernelRegressor"):
            curve(bounds=(0, 100), ledger=account).fit(np.zeros((10, width)), np.zeros(10))
        assert account.history() == []

    def test_by_name_whatever_their_order(self):
        bounds = {"age": (0, 100), "bmi": (10, 60)}
        frame = pd.DataFrame({"bmi": RNG.uniform(15, 45, 600), "age": AGE[:, 0]})
        model = curve(bandwidth=[20.0, 10.0], bounds=bounds).fit(frame, pd.Series(PRESSURE, name="bp"))
        assert model.feature_names_in_.tolist() == ["age", "bmi"]
        assert model.release_.response.name == "bp"
        assert np.array_equal(model.predict(frame), model.predict(frame[["age", "bmi"]]))
        with pytest.raises(SchemaError, match="names must be those of bounds"):
            model.predict(frame[["age"]])

    def test_the_width_must_be_that_of_fit(self):
        with pytest.raises(SchemaError, match="X has 2 features, but PrivateKernelSmoother is expecting 1"):
            curve().fit(AGE, PRESSURE).predict(np.zeros((5, 2)))


class TestParameters:
    @pytest.mark.parametrize(
        "options",
        [
            {"epsilon": 0},
            {"delta": 2.0},
            {"neighbours": "swap"},
            {"bandwidth": 0.0},
            {"bandwidth": -1.0},
            {"bandwidth": "silverman"},
            {"bandwidth": [1.0, 2.0]},
            {"bandwidth": sf.Tuned([1.0, 2.0])},
            {"expected_rows": 0},
            {"bounds": "age"},
            {"ledger": "budget.db"},
        ],
        ids=str,
    )
    def test_bad_ones_are_refused_by_fit_alone(self, options):
        model = curve(**options)
        with pytest.raises(ParameterError):
            model.fit(AGE, PRESSURE)
        assert not hasattr(model, "release_")

    @pytest.mark.parametrize("options", [{"confidence": 95}, {"include": "magic"}], ids=str)
    def test_bad_bands(self, options):
        with pytest.raises(ParameterError):
            curve().fit(AGE, PRESSURE).band(POINTS, **options)

    def test_they_are_kept_as_given(self):
        model = curve(delta=1e-6, neighbours="add-remove", expected_rows=500)
        assert set(model.get_params()) == {
            "bandwidth", "bounds", "response_range", "epsilon", "delta", "ledger", "neighbours", "expected_rows"
        }  # fmt: skip
        twin = clone(model.fit(AGE, PRESSURE)).set_params(bandwidth=7.0)
        assert not hasattr(twin, "release_")
        assert twin.get_params() == {**model.get_params(), "bandwidth": 7.0}

    def test_a_fitted_one_travels(self):
        model = curve(epsilon=1.0).fit(AGE, PRESSURE)
        again = pickle.loads(pickle.dumps(model))
        assert np.array_equal(again.predict(POINTS), model.predict(POINTS))
        assert np.array_equal(again.band(POINTS), model.band(POINTS))
        assert again.guarantee_ == model.guarantee_


class TestSurroundings:
    def test_in_a_pipeline(self, account):
        steps = make_pipeline(FunctionTransformer(np.sqrt), curve(bounds=(0, 10), bandwidth=0.5, epsilon=1.0))
        steps.set_params(privatekernelsmoother__ledger=account)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fitted = check_pipeline(clone(steps)).fit(AGE, PRESSURE)
        assert account.remaining().epsilon == 1.0
        assert fitted.predict(POINTS).shape == (40,)

    def test_a_scaler_before_it_is_noticed(self):
        steps = make_pipeline(StandardScaler(), curve(bounds=(-3, 3), bandwidth=0.5))
        with pytest.warns(UnpaidLearningWarning, match="'standardscaler'"):
            steps.fit(AGE, PRESSURE)

    def test_the_ledger_stops_a_grid_search(self, account):
        model = curve(epsilon=1.0, ledger=account)
        search = GridSearchCV(model, {"bandwidth": [5.0, 10.0]}, cv=KFold(3), error_score="raise")
        with pytest.warns(UnpaidLearningWarning, match="GridSearchCV"), pytest.raises(BudgetExceededError):
            search.fit(AGE, PRESSURE)
        assert account.remaining().epsilon == 0

    @pytest.mark.slow
    def test_a_grid_search_without_a_ledger_is_many_releases(self):
        search = GridSearchCV(curve(), {"bandwidth": [5.0, 40.0]}, cv=KFold(2))
        with pytest.warns(UnpaidLearningWarning, match="a release of its own"):
            search.fit(AGE, PRESSURE)
        assert search.best_params_ == {"bandwidth": 5.0}
