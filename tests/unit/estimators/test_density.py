"""The private kernel density estimator: its data, its budget, its numbers."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KernelDensity
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

import sfumato as sf
from sfumato.errors import (
    BudgetExceededError,
    ParameterError,
    ParameterTypeError,
    SchemaError,
    SfumatoError,
    UnpaidLearningWarning,
)
from sfumato.estimators import PrivateKernelDensity

RNG = np.random.default_rng(5)
ONE = RNG.normal(50, 10, size=(400, 1))
AGES = np.concatenate([ONE, RNG.normal(27, 4, size=(400, 1))], axis=1)
BOUNDS = {"age": (0, 100), "bmi": (10, 60)}
QUIET = 1e6  # an epsilon without noise to speak of


def line(**options):
    """One column, quick to fit."""
    return PrivateKernelDensity(**{"bandwidth": 10.0, "bounds": [(0, 100)], **options})


def plane(**options):
    """Two columns called age and bmi."""
    return PrivateKernelDensity(**{"bandwidth": [20.0, 10.0], "bounds": BOUNDS, "epsilon": QUIET, **options})


@pytest.fixture
def account(tmp_path):
    return sf.Ledger(tmp_path / "budget.db").account("clinic", limit=sf.Privacy(epsilon=2.0))


class TestNumbers:
    def test_almost_without_noise_it_is_the_kernel_density(self):
        plain = KernelDensity(bandwidth=10.0).fit(ONE)
        points = np.linspace(20, 80, 30).reshape(-1, 1)
        private = line(epsilon=QUIET).fit(ONE).score_samples(points)
        assert np.allclose(private, plain.score_samples(points), atol=0.02)

    def test_scores_are_the_logarithm_of_the_release(self):
        model = line().fit(ONE)
        points = np.array([[10.0], [50.0], [100.0]])
        assert np.array_equal(model.score_samples(points), np.log(model.release_(points)))
        assert model.score(points) == pytest.approx(model.score_samples(points).sum())

    def test_outside_the_bounds_is_minus_infinity(self):
        found = line().fit(ONE).score_samples([[-0.01], [0.0], [100.0], [100.01], [np.inf]])
        assert np.isneginf(found).tolist() == [True, False, False, True, True]

    def test_a_missing_point_has_no_score(self):
        found = plane().fit(AGES).score_samples([[np.nan, 20.0], [50.0, 27.0]])
        assert np.isnan(found).tolist() == [True, False]

    def test_a_circle_has_no_outside(self):
        model = line(bounds=[sf.Periodic(0, 24)], bandwidth=2.0).fit(ONE % 24)
        first, second, third = model.score_samples([[1.0], [25.0], [-23.0]])
        assert first == pytest.approx(second) == pytest.approx(third)

    @pytest.mark.parametrize("post", ["simplex", "none"])
    def test_the_floor(self, post):
        model = line(bandwidth=1.0, post=post).fit(np.full((300, 1), 99.0))
        found = model.score_samples(np.linspace(0, 100, 500).reshape(-1, 1))
        assert np.isfinite(found).all()
        assert found.min() >= np.log(2.0**-1022)

    def test_without_post_processing_negative_densities_meet_the_floor(self):
        model = line(bandwidth=1.0, post="none", epsilon=0.05).fit(ONE)
        points = np.linspace(0, 100, 500).reshape(-1, 1)
        below = model.release_(points) <= 0
        assert below.any()  # fails for no noise in practice: hundreds of independent signs
        assert np.allclose(model.score_samples(points)[below], np.log(2.0**-1022))

    def test_each_fit_draws_new_noise(self):
        model = line()
        first = model.fit(ONE).release_
        assert not np.array_equal(first.coefficients, model.fit(ONE).release_.coefficients)

    def test_the_bandwidth_may_be_tuned(self):
        model = line(bandwidth=sf.Tuned([5.0, 20.0])).fit(ONE)
        assert float(model.release_.bandwidth[0]) in (5.0, 20.0)

    def test_the_default_bandwidth_is_a_public_rule(self):
        first, second = (line(bandwidth="auto").fit(x).release_.bandwidth for x in (ONE, np.zeros((400, 1))))
        assert np.array_equal(first, second)

    def test_delta_and_neighbours_reach_the_guarantee(self):
        guarantee = line(epsilon=0.5, delta=1e-6, neighbours="add-remove").fit(ONE).release_.guarantee
        assert (guarantee.epsilon, guarantee.delta, guarantee.neighbours) == (0.5, 1e-6, "add-remove")


class TestSamples:
    def test_shape_and_bounds(self):
        drawn = plane().fit(AGES).sample(50)
        assert drawn.shape == (50, 2)
        assert ((drawn >= [0, 10]) & (drawn <= [100, 60])).all()

    def test_a_seed_repeats_them(self):
        model = line().fit(ONE)
        assert np.array_equal(model.sample(9, random_state=1), model.sample(9, random_state=1))
        assert not np.array_equal(model.sample(9, random_state=1), model.sample(9, random_state=2))
        state = np.random.RandomState(1)
        assert not np.array_equal(model.sample(9, random_state=state), model.sample(9, random_state=state))
        np.random.seed(3)
        first = model.sample()
        np.random.seed(3)
        assert np.array_equal(first, model.sample())

    @pytest.mark.parametrize("arguments", [(0,), (2.5,), (1, "seed"), (1, 0.5)])
    def test_bad_arguments(self, arguments):
        with pytest.raises(ParameterError):
            line().fit(ONE).sample(*arguments)


class TestBounds:
    def test_they_are_never_inferred(self):
        with pytest.raises(ParameterError, match=r"bounds must be given.*never inferred"):
            PrivateKernelDensity().fit(ONE)

    @pytest.mark.few(2)
    @pytest.mark.parametrize(
        "bounds",
        [BOUNDS, sf.Box(BOUNDS), sf.Box(list(BOUNDS.values())), [(0, 100), (10, 60)], np.array([[0, 100], [10, 60]])],
    )
    def test_all_forms(self, bounds):
        box = plane(bounds=bounds).fit(AGES).release_.box
        assert (box.low.tolist(), box.high.tolist()) == ([0.0, 10.0], [100.0, 60.0])

    @pytest.mark.parametrize("bounds", [(0, 100), [0, 100], np.array([0.0, 100.0])])
    @pytest.mark.parametrize("width", [1, 2])
    def test_one_pair_is_for_every_column(self, bounds, width):
        box = line(bounds=bounds, bandwidth=30.0).fit(AGES[:, :width]).release_.box
        assert box.low.tolist() == [0.0] * width
        assert box.high.tolist() == [100.0] * width

    @pytest.mark.parametrize("bounds", [[(0, 100)], {"age": (0, 100)}, [(0, 1), (0, 1), (0, 1)]])
    def test_the_wrong_number_of_columns(self, bounds):
        with pytest.raises(SchemaError, match="X has 2"):
            plane(bounds=bounds, bandwidth=5.0).fit(AGES)

    @pytest.mark.parametrize("bounds", ["age", 5, {"age": 3}, [(5, 5)], [(0, np.inf)], []])
    def test_bad_bounds(self, bounds):
        with pytest.raises(ParameterError):
            line(bounds=bounds).fit(ONE)

    def test_categories_and_many_columns_are_refused(self):
        with pytest.raises(ParameterError, match="categorical"):
            line(bounds=[sf.Categorical([0, 1])]).fit(ONE)
        with pytest.raises(ParameterError, match="at most 3 columns"):
            line(bounds=(0, 1)).fit(np.zeros((10, 4)))


FRAMES = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
}


@pytest.mark.few(1)
@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
class TestFrames:
    def frame(self, make, *names, values=AGES):
        order = {"age": 0, "bmi": 1}
        return make({name: values[:, order.get(name, 0)] for name in names})

    def test_named_bounds_find_columns_in_any_order(self, make):
        model = plane().fit(self.frame(make, "bmi", "age"))
        assert model.feature_names_in_.tolist() == ["age", "bmi"]
        assert model.feature_names_in_.dtype == object
        plain = plane().fit(AGES)
        assert np.allclose(model.release_.coefficients, plain.release_.coefficients, atol=0.1)
        some = self.frame(make, "bmi", "age", values=AGES[:20])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = model.score_samples(some)
        assert np.array_equal(found, model.score_samples(self.frame(make, "age", "bmi", values=AGES[:20])))

    @pytest.mark.few(1)
    @pytest.mark.parametrize("names", [("age",), ("age", "bmi", "weight"), ("age", "weight")])
    def test_names_must_be_those_of_the_bounds(self, make, names):
        with pytest.raises(SchemaError, match="names must be those of bounds"):
            plane().fit(self.frame(make, *names))
        for fitted in (self.frame(make, "age", "bmi"), AGES):
            with pytest.raises(SchemaError, match="names must be those of bounds"):
                plane().fit(fitted).score_samples(self.frame(make, *names))

    def test_bounds_without_names_go_by_position(self, make):
        model = plane(bounds=list(BOUNDS.values())).fit(self.frame(make, "bmi", "age"))
        assert model.feature_names_in_.tolist() == ["bmi", "age"]
        assert model.release_.box.names == ("bmi", "age")
        assert model.release_.box.high.tolist() == [100.0, 60.0]
        with pytest.raises(SchemaError, match="same order as they were in fit"):
            model.score_samples(self.frame(make, "age", "bmi"))
        with pytest.raises(SchemaError, match="unseen at fit time"):
            model.score_samples(self.frame(make, "bmi", "weight"))

    def test_a_change_between_names_and_none_warns(self, make):
        model = plane(bounds=list(BOUNDS.values())).fit(self.frame(make, "age", "bmi"))
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            found = model.score_samples(AGES[:5])
        assert np.array_equal(found, model.score_samples(self.frame(make, "age", "bmi", values=AGES[:5])))
        model = plane(bounds=list(BOUNDS.values())).fit(AGES)
        with pytest.warns(UserWarning, match="fitted without feature names"):
            found = model.score_samples(self.frame(make, "age", "bmi", values=AGES[:5]))
        assert np.array_equal(found, model.score_samples(AGES[:5]))

    def test_text_is_refused_by_its_type(self, make):
        with pytest.raises(SchemaError, match="must be numeric"):
            line(bounds={"age": (0, 100)}).fit(make({"age": ["secret"] * 5}))

    def test_missing_values_are_dropped(self, make):
        model = line(bounds={"age": (0, 100)}).fit(make({"age": [None, 3.0, None, 4.0]}))
        assert np.isfinite(model.score_samples(make({"age": [3.0]}))).all()


class TestData:
    def test_columns_without_names(self):
        frame = pd.DataFrame(AGES)
        for bounds in (BOUNDS, list(BOUNDS.values())):
            model = plane(bounds=bounds).fit(frame)
            assert not hasattr(model, "feature_names_in_")
            assert np.array_equal(model.score_samples(frame[:9]), model.score_samples(AGES[:9]))

    def test_the_width_must_be_that_of_fit(self):
        for bounds in (BOUNDS, list(BOUNDS.values())):
            with pytest.raises(SchemaError, match="X has 1 features, but PrivateKernelDensity is expecting 2 features"):
                plane(bounds=bounds).fit(AGES).score_samples(ONE)

    def test_names_go_when_a_second_fit_has_none(self):
        model = plane().fit(pd.DataFrame(AGES, columns=["age", "bmi"])).fit(AGES)
        assert not hasattr(model, "feature_names_in_")
        assert model.n_features_in_ == 2

    def test_mixed_names_and_twins_are_refused(self):
        with pytest.raises(ParameterTypeError, match="all text"):
            plane().fit(pd.DataFrame(AGES, columns=["age", 1]))
        with pytest.raises(SchemaError, match="same name"):
            plane().fit(pd.DataFrame(AGES, columns=["age", "age"]))

    @pytest.mark.parametrize(
        "data",
        [
            ONE[:, 0],
            ONE[None],
            5.0,
            None,
            "ages.csv",
            np.array([["a"]]),
            {"age": 1.0},
            np.array([[1j]]),
            np.zeros((0, 1)),
            np.zeros((5, 0)),
            pd.DataFrame({"age": []}, dtype=float),
        ],
        ids=str,
    )
    def test_what_is_no_table_of_numbers(self, data):
        with pytest.raises(SchemaError):
            line().fit(data)
        with pytest.raises(SchemaError):
            line().fit(ONE).score_samples(data)

    def test_errors_do_not_name_values(self):
        for data in (np.array([["secret"]]), np.array(["secret"], dtype=object), "secret", {"secret": 1}, {"secret"}):
            with pytest.raises(SfumatoError) as caught:
                line().fit(data)
            assert "secret" not in str(caught.value)
            assert caught.value.__cause__ is None
            assert caught.value.__suppress_context__ or caught.value.__context__ is None

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300, 5e-324])
    def test_no_value_raises_or_warns(self, value):
        data = ONE.copy()
        data[7] = value
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", sf.errors.NothingThereWarning)  # which noisy numbers decide on
            assert np.isfinite(line().fit(data).score_samples(ONE[:3])).all()
            line().fit(np.full((5, 1), value))

    def test_a_private_number_of_rows_may_be_none(self):
        model = line(neighbours="add-remove").fit(np.zeros((0, 1)))
        assert np.isfinite(model.score_samples([[50.0]])).all()

    def test_the_estimator_keeps_the_release_only(self):
        model = line().fit(ONE)
        assert set(vars(model)) == {*model.get_params(), "release_", "n_features_in_", "_by_name"}

    def test_points_are_scored_one_by_one_as_together(self):
        model = plane().fit(AGES)
        together = model.score_samples(AGES[:20])
        assert np.allclose(together, [model.score_samples(row[None])[0] for row in AGES[:20]], rtol=1e-12)


class TestParameters:
    @pytest.mark.parametrize(
        "options",
        [
            {"epsilon": 0},
            {"epsilon": "1"},
            {"delta": 2.0},
            {"neighbours": "swap"},
            {"post": "magic"},
            {"bandwidth": -1.0},
            {"bandwidth": "silverman"},
            {"bandwidth": [1.0, 2.0]},
            {"ledger": "budget.db"},
        ],
        ids=str,
    )
    def test_bad_ones_are_refused_by_fit_alone(self, options):
        model = line(**options)
        with pytest.raises(ParameterError):
            model.fit(ONE)
        assert not hasattr(model, "release_")

    def test_unfitted(self):
        for method in (line().score_samples, line().score):
            with pytest.raises(NotFittedError):
                method(ONE)
        with pytest.raises(NotFittedError):
            line().sample()

    def test_clones_and_pickles(self):
        model = plane(delta=1e-6, neighbours="add-remove", post="none").fit(AGES)
        twin = clone(model)
        assert not hasattr(twin, "release_")
        assert repr(twin) == repr(model)
        assert clone(plane(bounds=sf.Box(BOUNDS))).get_params()["bounds"] == sf.Box(BOUNDS)
        again = pickle.loads(pickle.dumps(model))
        assert np.array_equal(again.score_samples(AGES[:9]), model.score_samples(AGES[:9]))
        assert twin.set_params(epsilon=0.25).epsilon == 0.25


class TestBudget:
    def test_every_fit_pays(self, account):
        model = line(epsilon=0.5, ledger=account).fit(ONE)
        assert model.release_.receipt.account == "clinic"
        model.fit(ONE)
        assert account.remaining().epsilon == 1.0

    def test_a_refused_fit_keeps_the_earlier_release(self, account):
        model = line(epsilon=1.5, ledger=account).fit(ONE)
        paid = model.release_
        with pytest.raises(BudgetExceededError):
            model.fit(np.zeros((10, 1)))
        assert model.release_ is paid
        assert len(account.history()) == 1

    def test_what_cannot_be_fitted_costs_nothing(self, account):
        for data in (AGES, ONE[:, 0], np.array([["a"]])):
            with pytest.raises(SchemaError):
                line(ledger=account).fit(data)
        assert account.history() == []

    def test_clones_pay_from_the_same_account(self, account):
        twin = clone(line(ledger=account))
        assert twin.ledger is account
        twin.fit(ONE)
        assert account.remaining().epsilon == 1.0

    def test_in_a_pipeline(self, account):
        steps = Pipeline([("public", FunctionTransformer()), ("density", line(ledger=account))])
        fitted = clone(steps).fit(ONE)
        assert fitted["density"].ledger is account
        assert account.remaining().epsilon == 1.0
        assert np.isfinite(fitted.score_samples(ONE[:5])).all()
        assert fitted.score(ONE[:5]) == pytest.approx(fitted.score_samples(ONE[:5]).sum())

    def test_names_pass_through_a_pipeline(self):
        frame = pd.DataFrame(AGES, columns=["age", "bmi"])
        fitted = make_pipeline(FunctionTransformer(), plane()).fit(frame)
        assert fitted[-1].feature_names_in_.tolist() == ["age", "bmi"]

    def test_the_ledger_stops_cross_validation(self, account):
        with pytest.raises(BudgetExceededError):
            cross_val_score(line(ledger=account), ONE, cv=5, error_score="raise")
        assert [entry.status for entry in account.history()] == ["published"] * 2
        assert account.remaining().epsilon == 0

    def test_the_ledger_stops_a_grid_search(self, account):
        search = GridSearchCV(line(ledger=account), {"bandwidth": [5.0, 10.0]}, cv=3, error_score="raise")
        with pytest.warns(UnpaidLearningWarning, match="GridSearchCV"), pytest.raises(BudgetExceededError):
            search.fit(ONE)
        assert account.remaining().epsilon == 0

    def test_a_search_that_swallows_errors_spends_no_more(self, account):
        search = GridSearchCV(line(ledger=account), {"bandwidth": [5.0, 10.0]}, cv=3, error_score=np.nan)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(BudgetExceededError):  # by the last fit, on all rows
                search.fit(ONE)
        assert len(account.history()) == 2


def test_without_scikit_learn_the_extra_is_named():
    code = "import sys; sys.modules['sklearn'] = None; import sfumato.estimators"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "sklearn is not installed; pip install 'sfumato[estimators]'" in result.stderr
