"""The whole interface as a user meets it, and every error it must raise."""

import math
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.checks import as_written
from sfumato.engines.memory import MemoryEngine
from sfumato.errors import (
    BudgetExceededError,
    InterruptedReleaseError,
    OutsideBoxError,
    ParameterError,
    ParameterTypeError,
    SchemaError,
    SfumatoError,
)
from sfumato.targets.base import Choosing
from sfumato.targets.black_box import BlackBox
from sfumato.targets.statistic import ChosenStatistic

BOX = sf.Box({"age": (0, 110), "bmi": (10, 60)})
LINE = sf.Box([(0, 1)])
PURE = sf.Privacy(epsilon=1.0)
BASIS = sf.Bernstein(degree=4, order=2)
DATA = {"age": [20.0, 40.0, 60.0], "bmi": [20.0, 25.0, 30.0]}
POINTS = [[30.0, 22.0], [0.0, 60.0]]


def fit(data):
    """Something like a risk model: it uses the data and the points."""
    middle = float(np.mean(np.asarray(data["age"], dtype=float)))
    return lambda points: 1 / (1 + np.exp((middle - points[:, 0]) / 20))


@pytest.fixture
def target():
    return sf.BlackBox(fit, sensitivity=0.05, range=(0, 1), fallback=0.5)


def line(values, **options):
    return sf.BlackBox(lambda data: lambda points: values, sensitivity=0.1, **options)


# --- the interface ------------------------------------------------------------------------------------------------


def test_from_records_to_a_file_and_back(target, tmp_path):
    r = sf.release(target, pd.DataFrame(DATA), BOX, sf.Privacy(epsilon=1.0), basis=sf.Bernstein(degree=20, order=3))
    assert r(POINTS).shape == (2,)
    lo, hi = r.band(POINTS, confidence=0.95)
    assert (lo < r(POINTS)).all() and (r(POINTS) < hi).all()
    g = r.guarantee
    assert (g.epsilon, g.delta, g.neighbours, g.model) == (1.0, 0.0, "replace", "central")
    r.save(tmp_path / "risk.sfumato")
    assert sf.load(tmp_path / "risk.sfumato")(POINTS).tolist() == r(POINTS).tolist()


def test_noise_free_approximation_of_a_public_function():
    f = sf.Bernstein(degree=20, order=3).approximate(lambda p: p[:, 0] * p[:, 1], BOX)
    assert f(POINTS) == pytest.approx([30.0 * 22.0, 0.0], abs=1e-6)


def test_noise_and_selection_are_there():
    assert sf.noise.laplace([1.0, 2.0], l1=1.0, epsilon=1.0).shape == (2,)
    assert sf.noise.gaussian([1.0, 2.0], l2=1.0, epsilon=1.0, delta=1e-6).shape == (2,)
    assert sf.select(["a", "b"], [0.0, 1.0], sensitivity=1.0, privacy=PURE) in ("a", "b")


def test_one_column_takes_flat_points():
    r = sf.release(line(np.zeros(5)), np.zeros(3), LINE, PURE, basis=sf.Bernstein(4))
    assert r([0.1, 0.2]).shape == (2,)
    assert r([[0.1], [0.2]]).shape == (2,)
    assert r(0.5).shape == (1,)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_without_noise_the_release_is_the_approximation(make, target, no_noise):
    r = sf.release(target, make(DATA), BOX, PURE, basis=BASIS)
    assert r(POINTS) == pytest.approx(BASIS.approximate(fit(DATA), BOX)(POINTS), abs=1e-3)


def test_arrays_pairs_and_files(no_noise, tmp_path):
    def mean(data):
        return lambda points: np.full(len(points), float(np.mean(data[0] if isinstance(data, tuple) else data)))

    box, basis = sf.Box([(0, 1)]), sf.Bernstein(1)
    target = sf.BlackBox(mean, sensitivity=0.1, range=(0, 10))
    assert sf.release(target, np.array([1.0, 3.0]), box, PURE, basis=basis)([0.5]) == pytest.approx([2.0], abs=1e-3)
    assert sf.release(target, (np.array([4.0]), np.array([9.0])), box, PURE, basis=basis)([0.5]) == pytest.approx(
        [4.0], abs=1e-3
    )
    (tmp_path / "t.csv").write_text("x\n2\n4\nbad\n")
    target = sf.BlackBox(lambda t: mean([v for v in t["x"].to_pylist() if v == v and v is not None]), sensitivity=0.1)
    found = sf.release(target, tmp_path / "t.csv", sf.Box({"x": (0, 3)}), PURE, basis=basis)([0.5])
    assert found == pytest.approx([2.5], abs=1e-3)


@pytest.mark.parametrize(
    ("privacy", "noise", "kind"),
    [
        (PURE, "auto", "linf"),
        (PURE, "laplace", "laplace"),
        (PURE, "l2", "l2"),
        (sf.Privacy(epsilon=1.0, delta=1e-6), "auto", "gaussian"),
        (sf.Privacy(rho=0.5), "auto", "gaussian"),
        (sf.Privacy(epsilon=1.0, delta=1e-6), "linf", "linf"),
    ],
)
def test_every_noise(privacy, noise, kind):
    r = sf.release(line(np.zeros(5)), np.zeros(3), LINE, privacy, basis=sf.Bernstein(4), noise=noise)
    assert r.law.kind == kind
    assert np.isfinite(r([0.0, 0.5, 1.0])).all()
    assert (r.guarantee.epsilon, r.guarantee.rho) == (privacy.epsilon, privacy.rho)


def test_the_basis_may_be_chosen_from_a_promise():
    target = sf.BlackBox(lambda d: lambda p: p[:, 0], sensitivity=0.001, smoothness=sf.Smooth(4, 1.0))
    r = sf.release(target, np.zeros(3), LINE, PURE)
    assert r.basis == sf.Smooth(4, 1.0).basis(LINE, 0.001, 1.0)
    assert (np.diff(r.band([0.5], include="total"), axis=0) > np.diff(r.band([0.5]), axis=0)).all()


def test_a_release_says_what_it_rests_on(target):
    r = sf.release(target, pl.DataFrame(DATA), BOX, PURE, basis=BASIS)
    assert "stated by the caller" in str(r.guarantee)
    assert dict(r.target)["target"] == "black box"


def test_persons(no_noise):
    data = pl.DataFrame({"x": [0.0, 0.0, 9.0, 1.0], "id": ["a", "a", "a", "b"]})
    target = sf.BlackBox(lambda t: lambda p: np.full(len(p), t["x"].sum()), sensitivity=0.01, columns=["x", "id"])
    privacy = sf.Privacy(epsilon=1.0, unit=sf.Person("id", max_rows=2), neighbours="add-remove")
    r = sf.release(target, data, LINE, privacy, basis=sf.Bernstein(1))
    assert r([0.5]) == pytest.approx([1.0], abs=1e-3)
    assert r.guarantee.unit == sf.Person("id", 2)
    assert "one person (up to 2 rows)" in str(r.guarantee)


def test_a_person_of_more_rows_gets_more_noise():
    def deviation(rows):
        privacy = sf.Privacy(epsilon=1.0, unit=sf.Person(0, max_rows=rows))
        return sf.release(line(np.zeros(2)), np.zeros((3, 1)), LINE, privacy, basis=sf.Bernstein(1)).law.deviation

    assert deviation(4) == pytest.approx(4 * deviation(1), rel=1e-3)


def test_an_engine_may_be_given(target):
    assert sf.release(target, pl.DataFrame(DATA), BOX, PURE, basis=BASIS, engine=MemoryEngine(chunk_rows=1))(
        POINTS
    ).shape == (2,)


def test_derivatives_and_integrals(target):
    r = sf.release(target, pl.DataFrame(DATA), BOX, PURE, basis=BASIS)
    assert r.derivative("age")(POINTS).shape == (2,)
    assert math.isfinite(r.integrate({"age": (0, 50)}))


# --- planning -----------------------------------------------------------------------------------------------------


def test_a_plan_reads_no_data(target):
    plan = sf.plan(target, BOX, PURE, basis=BASIS)
    assert isinstance(plan, sf.Plan)
    assert 0 < plan.mean_noise_error < plan.noise_error
    assert plan.approximation_error is None
    assert plan.total_error is None


def test_a_plan_is_what_the_release_will_be(target):
    plan = sf.plan(target, BOX, PURE, basis=BASIS)
    r = sf.release(target, pl.DataFrame(DATA), BOX, PURE, basis=BASIS)
    assert plan.law == r.law
    assert plan.guarantee == r.guarantee
    assert plan.basis == r.basis


def test_a_plan_with_a_promise_knows_the_total_error():
    target = sf.BlackBox(lambda d: None, sensitivity=1e-3, smoothness=sf.Smooth(4, 1.0))
    plan = sf.plan(target, LINE, PURE)
    assert plan.total_error == plan.noise_error + plan.approximation_error
    assert plan.lower_bound == pytest.approx(1e-3, rel=1e-6)
    assert "lower bound" in str(plan)


def test_a_plan_prints():
    text = str(sf.plan(line(np.zeros(5)), LINE, PURE, basis=sf.Bernstein(4)))
    assert "5 coefficients" in text
    assert "1-differential privacy" in text
    assert "declare the target's smoothness" in text


def test_less_privacy_is_less_error():
    errors = [sf.plan(line(None), LINE, sf.Privacy(epsilon=e), basis=sf.Bernstein(4)).noise_error for e in (0.1, 1, 10)]
    assert errors == sorted(errors, reverse=True)


@pytest.mark.parametrize("n", [0, -1, 1.5, "many"])
def test_a_plan_checks_n(n):
    with pytest.raises(ParameterError, match="n"):
        sf.plan(line(None), LINE, PURE, n, basis=BASIS)


@pytest.mark.parametrize("confidence", [0, 1, math.nan])
def test_a_plan_checks_its_confidence(confidence):
    with pytest.raises(ParameterError, match="confidence"):
        sf.plan(line(None), LINE, PURE, basis=BASIS, confidence=confidence)


# --- errors that must be raised -------------------------------------------------------------------------------------


@pytest.mark.parametrize("box", [None, {"age": (0, 1)}, [(0, 1)], "auto"])
def test_a_missing_box_is_refused(target, box):
    with pytest.raises(ParameterTypeError, match="box") as error:
        sf.release(target, pl.DataFrame(DATA), box, PURE, basis=BASIS)
    assert str(error.value).endswith(repr(box) if box in (None, "auto") else type(box).__name__)  # a list may be data
    with pytest.raises(ParameterTypeError, match="box"):
        sf.plan(target, box, PURE, basis=BASIS)


@pytest.mark.parametrize("bounds", [None, (), (0,), "auto", 5])
def test_missing_bounds_are_refused(bounds):
    with pytest.raises(ParameterTypeError, match="'age' needs public bounds"):
        sf.Box({"age": bounds})


@pytest.mark.parametrize("bounds", [(1, 1), (2, 1)])
def test_low_must_be_below_high(bounds):
    with pytest.raises(ParameterError, match=f"'age'.*low={float(bounds[0])!r}"):
        sf.Box({"age": bounds})


@pytest.mark.parametrize("bounds", [(math.nan, 1), (0, math.nan), (-math.inf, 1), (0, math.inf)])
def test_bounds_must_be_finite(bounds):
    with pytest.raises(ParameterError, match=r"'age'.*finite"):
        sf.Box({"age": bounds})


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_missing_column_is_refused(make, target):
    with pytest.raises(SchemaError, match="'bmi'"):
        sf.release(target, make({"age": [1.0]}), BOX, PURE, basis=BASIS)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_column_of_text_is_refused(make, target):
    with pytest.raises(SchemaError, match="'bmi'"):
        sf.release(target, make({"age": [1.0], "bmi": ["secret"]}), BOX, PURE, basis=BASIS)


def test_an_array_of_text_is_refused(target):
    with pytest.raises(SchemaError, match="array"):
        sf.release(target, np.array([["a", "b"]]), BOX, PURE, basis=BASIS)


@pytest.mark.parametrize("data", [None, 3, [[1, 2]], {1, 2}])
def test_what_is_no_table_is_refused(target, data):
    with pytest.raises(ParameterTypeError, match="data"):
        sf.release(target, data, BOX, PURE, basis=BASIS)


@pytest.mark.parametrize("epsilon", [0, -1.0, math.inf, math.nan])
def test_epsilon_must_be_positive_and_finite(epsilon):
    with pytest.raises(ParameterError, match="epsilon") as error:
        sf.Privacy(epsilon=epsilon)
    assert f"epsilon={epsilon!r}" in str(error.value)


@pytest.mark.parametrize("delta", [-1e-9, 1.0, 1.5, math.nan])
def test_delta_must_lie_below_one(delta):
    with pytest.raises(ParameterError, match="delta") as error:
        sf.Privacy(epsilon=1.0, delta=delta)
    assert f"delta={delta!r}" in str(error.value)


@pytest.mark.parametrize("privacy", [None, 1.0, {"epsilon": 1.0}])
def test_privacy_must_be_a_grant(target, privacy):
    with pytest.raises(ParameterTypeError, match="privacy"):
        sf.release(target, pl.DataFrame(DATA), BOX, privacy, basis=BASIS)


@pytest.mark.parametrize("sensitivity", [None, 0, -1.0, math.inf, math.nan])
def test_sensitivity_must_be_positive_and_finite(sensitivity):
    with pytest.raises(ParameterError, match="sensitivity"):
        sf.BlackBox(fit, sensitivity=sensitivity)


def test_sensitivity_must_be_given():
    with pytest.raises(TypeError, match="sensitivity"):
        sf.BlackBox(fit)


@pytest.mark.parametrize("degree", [0, -3])
def test_degree_must_be_positive(degree):
    with pytest.raises(ParameterError, match=f"degree={degree}"):
        sf.Bernstein(degree=degree)


def test_a_lattice_too_large_for_memory_is_refused_before_fit_runs():
    box = sf.Box([(0, 1)] * 8)
    target = sf.BlackBox(lambda data: pytest.fail("fit ran"), sensitivity=0.1)
    with pytest.raises(ParameterError) as error:
        sf.release(target, np.zeros((3, 8)), box, PURE, basis=sf.Bernstein(50))
    assert "51 x 51" in str(error.value)
    assert "GiB" in str(error.value)
    assert "lower degree=50" in str(error.value)


@pytest.mark.parametrize("wrong", [lambda data: None, None, "black box", 3, BlackBox])
def test_what_is_no_target_is_refused(wrong):
    with pytest.raises(ParameterTypeError, match="target"):
        sf.release(wrong, np.zeros(3), LINE, PURE, basis=BASIS)


@pytest.mark.parametrize("wrong", [None, 3, "model"])
def test_a_fit_that_cannot_be_called_is_refused(wrong):
    with pytest.raises(ParameterTypeError, match="callable"):
        sf.BlackBox(wrong, sensitivity=1.0)


@pytest.mark.parametrize("basis", [None, "bernstein", 20, sf.Bernstein])
def test_what_is_no_basis_is_refused(target, basis):
    with pytest.raises(ParameterTypeError, match="basis"):
        sf.release(target, pl.DataFrame(DATA), BOX, PURE, basis=basis)


def test_a_basis_must_be_given_or_promised(target):
    with pytest.raises(ParameterError, match="basis is missing"):
        sf.release(target, pl.DataFrame(DATA), BOX, PURE)


@pytest.mark.parametrize("noise", ["cauchy", None])
def test_unknown_noise_is_refused(target, noise):
    with pytest.raises(ParameterError, match="noise"):
        sf.release(target, pl.DataFrame(DATA), BOX, PURE, basis=BASIS, noise=noise)


def test_noise_that_does_not_fit_the_grant_is_refused_before_fit_runs():
    target = sf.BlackBox(lambda data: pytest.fail("fit ran"), sensitivity=0.1)
    with pytest.raises(ParameterError, match="never pure"):
        sf.release(target, np.zeros(3), LINE, PURE, basis=BASIS, noise="gaussian")


def test_a_categorical_box_is_refused():
    box = sf.Box({"sex": sf.Categorical(["f", "m"])})
    with pytest.raises(ParameterError, match="'sex'"):
        sf.release(line(None), pl.DataFrame({"sex": ["f"]}), box, PURE, basis=sf.Bernstein(2))


@pytest.mark.parametrize("points", [[[111.0, 20.0]], [[-1.0, 20.0]], [[50.0, math.inf]], [[math.nan, 20.0]]])
def test_points_outside_are_refused(target, points):
    r = sf.release(target, pl.DataFrame(DATA), BOX, PURE, basis=BASIS)
    for ask in (r, r.band):
        with pytest.raises(OutsideBoxError):
            ask(points)


def test_points_outside_may_be_clipped(target):
    r = sf.release(target, pl.DataFrame(DATA), BOX, PURE, basis=BASIS)
    assert r([[111.0, 5.0]], outside="clip").tolist() == r([[110.0, 10.0]]).tolist()
    assert np.array_equal(r.band([[111.0, 5.0]], outside="clip"), r.band([[110.0, 10.0]]))


@pytest.mark.parametrize("points", [[30.0, 22.0], [[30.0]], [[30.0, 22.0, 1.0]]])
def test_points_of_the_wrong_shape_are_refused(target, points):
    r = sf.release(target, pl.DataFrame(DATA), BOX, PURE, basis=BASIS)
    with pytest.raises(ParameterError, match=r"shape \(m, 2\)"):
        r(points)


def test_every_error_is_a_sfumato_error():
    for broken in (
        lambda: sf.Box({}),
        lambda: sf.Privacy(epsilon=-1),
        lambda: sf.Bernstein(0),
        lambda: sf.load("nowhere"),
    ):
        with pytest.raises(SfumatoError):
            broken()


# --- errors that must not be raised -----------------------------------------------------------------------------------

HOSTILE = {
    "outside the bounds": {"age": [-1e9, 1e300, 500.0], "bmi": [0.0, 1e9, -5.0]},
    "infinite": {"age": [math.inf, -math.inf, 5.0], "bmi": [20.0, 30.0, math.inf]},
    "missing": {"age": [None, 40.0, None], "bmi": [20.0, None, None]},
    "not numbers": {"age": [math.nan, 40.0, 50.0], "bmi": [math.nan, math.nan, 20.0]},
    "large integers": {"age": [2**53 + 1, -(2**62), 3], "bmi": [2**63 - 1, 0, 1]},
    "booleans": {"age": [True, False, True], "bmi": [True, True, False]},
}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("name", HOSTILE)
def test_no_values_raise(make, name, target):
    with np.errstate(all="raise"):
        r = sf.release(target, make(HOSTILE[name]), BOX, PURE, basis=BASIS)
    assert np.isfinite(r(POINTS)).all()


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_fit_never_sees_a_value_outside_the_bounds(make):
    seen = []

    def look(data):
        for name in ("age", "bmi"):
            column = data[name]
            seen.extend(column.to_pylist() if make is pa.table else column.to_list())
        return lambda points: points[:, 0]

    target = sf.BlackBox(look, sensitivity=0.1)
    sf.release(target, make(HOSTILE["outside the bounds"]), BOX, PURE, basis=BASIS, rehearse=False)
    assert seen == [0.0, 110.0, 110.0, 10.0, 60.0, 10.0]


def boom(*arguments):
    raise RuntimeError("secret")


@pytest.mark.parametrize(
    "broken",
    [
        boom,
        lambda data: boom,
        lambda data: None,
        lambda data: lambda points: np.nan,
        lambda data: lambda points: np.full(len(points), np.inf),
        lambda data: lambda points: np.zeros((3, 3)),
        lambda data: lambda points: "text",
    ],
)
def test_a_black_box_that_fails_publishes_its_fallback(broken, no_noise):
    target = sf.BlackBox(broken, sensitivity=0.1, range=(0, 1), fallback=0.25)
    r = sf.release(target, np.zeros(3), LINE, PURE, basis=sf.Bernstein(3), rehearse=False)
    assert r([0.0, 0.4, 1.0]) == pytest.approx([0.25] * 3, abs=1e-3)


def test_no_data_at_all_publishes_something_where_their_number_is_private(no_noise):
    private = sf.Privacy(epsilon=1.0, neighbours="add-remove")
    target = sf.BlackBox(lambda data: lambda points: np.full(len(points), data.mean()), sensitivity=0.1, range=(0, 1))
    with np.errstate(all="raise"):
        r = sf.release(target, np.zeros(0), LINE, private, basis=sf.Bernstein(1))
    assert r([0.5]) == pytest.approx([0.5], abs=1e-3)
    with pytest.raises(sf.errors.SchemaError, match="no records"):  # a number of rows that is public
        sf.release(target, np.zeros(0), LINE, PURE, basis=sf.Bernstein(1))


@pytest.mark.parametrize(
    "identifiers", [["a", None, ""], [1.5, math.nan, math.inf], [[1], [2], None], [b"x", b"", None]]
)
def test_no_identifiers_raise(identifiers):
    data = pl.DataFrame({"age": [1.0, 2.0, 3.0], "bmi": [20.0, 30.0, 40.0], "id": identifiers})
    target = sf.BlackBox(lambda d: lambda p: p[:, 0], sensitivity=0.1)
    privacy = sf.Privacy(epsilon=1.0, unit=sf.Person("id", 1))
    assert sf.release(target, data, BOX, privacy, basis=BASIS)(POINTS).shape == (2,)


# --- noise inside the coefficients --------------------------------------------------------------------------------

CLOUD = np.random.default_rng(3).uniform(size=(200, 1))
SIDE = np.where(CLOUD[:, 0] > 0.5, 1, 0)


def learner(how, loss="logistic", prior="even"):
    return sf.KernelMachine(loss, sf.RBF(2.0), 5.0, classes=[0, 1], mechanism=how, prior=prior)


@pytest.fixture
def account(tmp_path):
    return sf.Ledger(tmp_path / "budget.db").account("clinic", limit=sf.Privacy(epsilon=10.0, delta=1e-5))


@pytest.mark.parametrize(
    "privacy", [PURE, sf.Privacy(epsilon=0.3, delta=1e-6), sf.Privacy(0.3, neighbours="add-remove")]
)
def test_noise_in_the_objective_and_at_the_door_promise_the_grant_together(privacy):
    r = sf.release(learner("objective"), (CLOUD, SIDE), LINE, privacy)
    g, door = r.guarantee, learner("objective").settled(LINE, 200, privacy).door(privacy)
    assert (g.epsilon, g.delta, g.rho, g.mu) == (privacy.epsilon, privacy.delta, None, None)
    assert (g.neighbours, g.unit) == (privacy.neighbours, "row")
    assert door.epsilon < privacy.epsilon / 49
    inside = r.handed.objective
    assert inside.epsilon + door.epsilon == pytest.approx(privacy.epsilon, rel=1e-12)
    assert inside.delta + door.delta == pytest.approx(privacy.delta, rel=1e-12)


def test_noise_at_the_door_alone_has_the_whole_grant():
    privacy = sf.Privacy(epsilon=1.0, delta=1e-6)
    target = learner("output").settled(LINE, 200, privacy)
    assert target.door(privacy) == privacy
    assert sf.release(learner("output"), (CLOUD, SIDE), LINE, privacy).guarantee.mu is not None


def test_the_ledger_says_where_the_noise_went(account):
    """The law at the door is not what protects the data, so an objective's event does not show it."""
    privacy = sf.Privacy(epsilon=1.0, delta=1e-6, neighbours="replace")
    r = sf.release(learner("objective"), (CLOUD, SIDE), LINE, privacy, ledger=account)
    sf.release(learner("output", "hinge"), (CLOUD, SIDE), LINE, privacy, ledger=account)
    first, second = (entry.event for entry in account.history())
    assert (first.mechanism, first.what, first.details, first.mu) == ("objective", "classifier", "{}", None)
    assert (first.epsilon, first.delta) == (1.0, 1e-6)
    assert (second.mechanism, second.mu is None, second.details != "{}") == ("gaussian", False, True)
    assert r.receipt.entry == 1


def test_an_account_that_cannot_pay_releases_no_learner(tmp_path):
    poor = sf.Ledger(tmp_path / "budget.db").account("poor", limit=sf.Privacy(epsilon=0.5))
    with pytest.raises(BudgetExceededError):
        sf.release(learner("objective"), (CLOUD, SIDE), LINE, PURE, ledger=poor)
    assert poor.history() == []


@pytest.mark.parametrize("prior", ["even", "auto", (0.3, 0.7)])
@pytest.mark.parametrize("how", ["objective", "output"])
def test_a_plan_of_a_learner_is_what_the_release_will_be(how, prior):
    plan = sf.plan(learner(how, prior=prior), LINE, PURE, 200)
    r = sf.release(learner(how, prior=prior), (CLOUD, SIDE), LINE, PURE)
    assert (plan.law, plan.guarantee) == (r.law, r.guarantee)
    assert plan.basis.rank == r.handed.size()
    assert 0 < plan.mean_noise_error < plan.noise_error
    assert plan.lower_bound is None
    assert ("in the objective" in plan.noise) == ("in the objective" in str(plan)) == (how == "objective")


# --- what is published first --------------------------------------------------------------------------------------


@pytest.mark.few(4)
@pytest.mark.parametrize(
    "privacy",
    [
        PURE,
        sf.Privacy(epsilon=0.3, delta=1e-6),
        sf.Privacy(0.3, neighbours="add-remove"),
        sf.Privacy(rho=0.2),
        sf.Privacy(0.5, 1e-6, unit=sf.Person("who", max_rows=2)),
    ],
)
@pytest.mark.parametrize("prior", ["auto", "even"])
def test_counts_of_classes_and_the_learner_promise_the_grant_together(privacy, prior, tmp_path):
    data = {"x0": CLOUD[:, 0], "label": SIDE, "who": np.arange(200) // 2}
    account = sf.Ledger(tmp_path / "budget.db").account("clinic", limit=privacy)
    r = sf.release(learner("auto", prior=prior), data, LINE, privacy, ledger=account)
    g, events = r.guarantee, [entry.event for entry in account.history()]
    assert (g.epsilon, g.delta if privacy.rho is None else 0.0, g.rho) == (privacy.epsilon, privacy.delta, privacy.rho)
    name = "epsilon" if privacy.rho is None else "rho"
    paid = [as_written(getattr(event, name)) for event in events]
    assert len(paid) == (2 if prior == "auto" else 1)
    assert float(as_written(getattr(privacy, name)) * (1 - Fraction(1, 10**12))) <= sum(paid)
    assert sum(paid) <= as_written(getattr(privacy, name))
    if prior == "auto":
        assert events[0].what == "histogram of label" and not events[0].delta
        assert events[0].neighbours == privacy.neighbours and events[0].unit == privacy.unit
        bound = {"replace": 2, "add-remove": 1}[privacy.neighbours] * (1 if privacy.unit == "row" else 2)
        assert r.handed.prior.law.certificate.bound >= (bound if privacy.rho is None else math.sqrt(bound))
        assert r.handed.prior.share <= Fraction(1, 10)


def test_what_comes_first_is_not_paid_if_the_rest_cannot_be(tmp_path):
    poor = sf.Ledger(tmp_path / "budget.db").account("poor", limit=sf.Privacy(epsilon=0.5))
    with pytest.raises(BudgetExceededError, match="both steps"):
        sf.release(learner("objective", prior="auto"), (CLOUD, SIDE), LINE, PURE, ledger=poor)
    assert poor.history() == []


# --- statistics, chosen or perturbed ---------------------------------------------------------------------------------

PEOPLE = pd.DataFrame({"age": np.linspace(18, 90, 101), "bmi": np.linspace(18, 40, 101)[::-1]})
MEDIAN = sf.Statistic("median", "age", interval="none")


def test_a_statistic_from_records_to_a_file_and_back(tmp_path):
    r = sf.release(sf.Statistic("mean", "age"), PEOPLE, BOX, sf.Privacy(epsilon=1.0))
    low, high = r.interval(confidence=0.95)
    assert low < r.value < high
    r.save(tmp_path / "mean.sfumato")
    assert sf.load(tmp_path / "mean.sfumato").value == r.value
    assert r.guarantee.epsilon == 1.0


@pytest.mark.few(1)
@pytest.mark.parametrize("grant", [PURE, sf.Privacy(rho=0.5), sf.Privacy(epsilon=1.0, delta=1e-6)])
def test_a_choice_promises_the_grant_and_never_uses_delta(grant):
    r = sf.release(sf.Statistic("quantiles", "age", interval="none"), PEOPLE, BOX, grant)
    assert r.law is None
    promised = r.guarantee
    assert (promised.epsilon, promised.rho, promised.mu) == (grant.epsilon, grant.rho, None)
    assert promised.delta == (None if grant.epsilon is None else 0.0)


def test_each_level_is_chosen_with_its_part_of_the_grant(monkeypatch):
    seen = []

    def watch(scores, sensitivity, privacy, method):
        seen.append((sensitivity, privacy, method))
        return 7

    monkeypatch.setattr("sfumato.pipeline.pick", watch)
    target = sf.Statistic("quantiles", "age", "none", probabilities=[0.25, 0.5, 0.6, 0.7], interval="none")
    r = sf.release(target, PEOPLE, BOX, sf.Privacy(epsilon=0.001))  # too little to choose them jointly
    assert len(seen) == 4
    assert sum(privacy.epsilon for _, privacy, _ in seen) == pytest.approx(0.001)
    assert math.fsum(privacy.epsilon for _, privacy, _ in seen) <= 0.001
    assert [privacy.epsilon for _, privacy, _ in seen] == pytest.approx([0.00025] * 4)
    assert {method for _, _, method in seen} == {"permute-and-flip"}
    assert r.numbers.tolist() == [0.07] * 4  # the eighth candidate of the grid


def test_a_choice_is_paid_before_it_is_made(tmp_path, monkeypatch):
    account = sf.Ledger(tmp_path / "budget.db").account("clinic", limit=PURE)

    def crash(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("sfumato.pipeline.pick", crash)
        with pytest.raises(KeyboardInterrupt):
            sf.release(MEDIAN, PEOPLE, BOX, sf.Privacy(epsilon=0.75), ledger=account)
    assert [entry.status for entry in account.history()] == ["reserved"]
    with pytest.raises(BudgetExceededError):
        sf.release(MEDIAN, PEOPLE, BOX, sf.Privacy(epsilon=0.75), ledger=account)


def test_a_plan_of_a_choice_prints():
    plan = sf.plan(MEDIAN, BOX, PURE, 1000)
    assert "permute-and-flip" in str(plan) and " of the records, in rank, with confidence 0.95" in str(plan)
    assert 0 < plan.mean_noise_error < plan.noise_error < 0.1
    assert plan.total_error == plan.noise_error
    assert "exponential" in sf.plan(MEDIAN, BOX, sf.Privacy(rho=0.5), 1000).noise


def test_levels_are_chosen_jointly_in_groups_that_share_the_grant(monkeypatch):
    seen = []

    def watch(ranks, wanted, sensitivity, privacy):
        seen.append((len(wanted), privacy.epsilon))
        return [7] * (len(wanted) - 1)

    monkeypatch.setattr("sfumato.pipeline.pick_jointly", watch)
    few, many = ([round(k / 100, 2) for k in range(1, count)] for count in (5, 21))
    for levels, wanted in ((few, [(5, 1.0)]), (many, [(11, 0.5), (11, 0.5)])):
        seen.clear()
        target = sf.Statistic("quantiles", "age", "none", probabilities=levels, interval="none")
        release = sf.release(target, PEOPLE, BOX, PURE)
        assert seen == wanted and release.value.shape == (len(levels),)
    assert "exponential" in sf.plan(target, BOX, PURE, 1000).noise


def test_scores_do_not_print(monkeypatch):
    seen = []
    real = ChosenStatistic.ballots
    monkeypatch.setattr(ChosenStatistic, "ballots", lambda *a: seen.extend(real(*a)) or seen)
    sf.release(MEDIAN, PEOPLE, BOX, PURE)
    assert repr(seen) == "[<private scores>]"


def test_only_quantiles_are_chosen(target):
    assert not isinstance(target, Choosing)
    for what in ("median", "quantiles"):
        assert isinstance(sf.Statistic(what, "age", interval="none").settled(BOX, 10, PURE), Choosing)
        assert not isinstance(sf.Statistic(what, "age").settled(BOX, 10, PURE), Choosing)
    assert not isinstance(sf.Statistic("mean", "age").settled(BOX, 10, PURE), Choosing)


@pytest.mark.parametrize("noise", ["auto", "laplace"])
def test_what_is_planned_is_what_is_released(target, noise):
    given = {"basis": sf.Bernstein(4), "noise": noise}
    plan = sf.plan(target, BOX, PURE, len(PEOPLE), **given)
    released = sf.release(target, PEOPLE, BOX, PURE, **given)
    assert (plan.law, plan.guarantee) == (released.law, released.guarantee)


def test_a_plan_does_not_settle_by_a_number_of_rows_that_is_private():
    private = sf.Privacy(1.0, neighbours="add-remove")
    few, many = (sf.plan(sf.KDE(0.1), LINE, private, n) for n in (500, 100_000))
    assert few.basis == many.basis == sf.release(sf.KDE(0.1), np.linspace(0, 1, 500), LINE, private).basis


def test_a_plan_refuses_what_a_release_would_refuse():
    """Numbers beyond 64 bits are found without any data."""
    wide, given = sf.BlackBox(lambda _: lambda x: x[:, 0], 1e-30, range=(-1e30, 1e30)), {"basis": sf.Bernstein(4)}
    for refused in (
        lambda: sf.plan(wide, BOX, PURE, **given),
        lambda: sf.release(wide, PEOPLE, BOX, PURE, **given),
    ):
        with pytest.raises(ParameterError, match="beyond 64-bit integers"):
            refused()


def test_a_warning_about_random_privacy_points_at_the_caller():
    certificate = sf.sample_sensitivity(np.mean, sf.oracles.uniform(LINE), 9, m=19, rule="exchangeable", progress=False)
    own = sf.Statistic(np.mean, sensitivity=certificate)
    for ask in (lambda: sf.release(own, np.zeros(9), LINE, PURE), lambda: sf.plan(own, LINE, PURE, 9)):
        with pytest.warns(sf.errors.RandomPrivacyWarning, match=r"grant sf.Privacy\(..., gamma=0.05\)") as caught:
            ask()
        assert [w.filename for w in caught] == [__file__]


# --- what looks at private numbers is silent ------------------------------------------------------------------------

STEPS = {
    "gather": (sf.KDE(bandwidth=0.1), "auto"),
    "coefficients": (sf.KDE(bandwidth=0.1), "auto"),
    "scores": (sf.KDE(bandwidth=sf.Tuned([0.1, 0.2])), "auto"),
    "ballots": (sf.Statistic("median", interval="none"), "auto"),
}


@pytest.mark.parametrize("step", STEPS)
def test_no_step_can_warn_of_private_numbers(step, monkeypatch):
    """Whatever the caller's filters are: a warning would be an output, and under "error" an exception."""
    target, basis = STEPS[step]
    settled = target.settled(LINE, 50, PURE) if step == "ballots" else target
    kind = next(k for k in type(settled).__mro__ if step in vars(k))
    done = getattr(kind, step)

    def loudly(*given):
        warnings.warn("a private number is large", stacklevel=2)
        assert np.isinf(np.array([1e300]) * 1e300).all()
        return done(*given)

    monkeypatch.setattr(kind, step, loudly)
    with warnings.catch_warnings(record=True) as seen, np.errstate(all="raise", under="ignore"):
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", sf.errors.NothingThereWarning)  # which noisy numbers decide on
        sf.release(target, np.linspace(0, 1, 50), LINE, PURE, basis=basis)
    assert not seen


@pytest.mark.parametrize(
    "account",
    [{"limit": sf.Privacy(rho=0.1)}, {"limit": sf.Privacy(3.0, 1e-6), "accountant": "zcdp"},
     {"limit": sf.Privacy(1.2, 1e-5), "accountant": "gaussian"}],
)  # fmt: skip
@pytest.mark.parametrize("what", ["variance", "learner"])
def test_an_account_that_can_pay_the_first_step_only_pays_nothing(account, what, tmp_path):
    """What a step is charged for need not be what the grant as a whole would be."""
    payer = sf.Ledger(tmp_path / "budget.db").account("poor", **account)
    grant, line = sf.Privacy(epsilon=1.0, delta=1e-6), sf.Box({"x0": (0, 1)})
    x = np.linspace(0, 1, 20_000)
    order = (sf.Statistic("variance"), x[:, None], line) if what == "variance" else None
    order = order or (learner("objective", prior="auto"), (x[:400, None], (x[:400] > 0.5).astype(int)), LINE)
    with pytest.raises(BudgetExceededError, match="both steps"):
        sf.release(*order, grant, ledger=payer)
    assert payer.history() == []


def test_quantiles_that_cannot_be_chosen_jointly_are_refused_before_they_are_paid(tmp_path):
    box, ages = sf.Box({"age": (0, 100)}), np.arange(100.0)
    made = sf.release(sf.Statistic("quantiles", interval="none"), ages, box, sf.Privacy(epsilon=1.0))
    payer = sf.Ledger(tmp_path / "budget.db").account("clinic", limit=sf.Privacy(epsilon=1.0))
    with pytest.raises(ParameterError, match="too small an epsilon"):
        sf.release(
            sf.Statistic("quantiles", interval="none"), ages, box, sf.Privacy(epsilon=1e-4), basis=made.summary,
            ledger=payer,
        )  # fmt: skip
    assert payer.history() == []


# --- interrupts ---------------------------------------------------------------------------------------------------


def impatient(*_, **__):
    raise KeyboardInterrupt


def at_the_end(what):
    if what == "working out the release":
        raise KeyboardInterrupt


@pytest.mark.parametrize("place", ["step", "nothing_there"])
@pytest.mark.parametrize("what", [sf.Statistic("mean", "age"), sf.Statistic("median", "age", interval="none")])
def test_an_interrupt_after_the_noise_can_finish_the_release(tmp_path, monkeypatch, what, place):
    """Both of perturbed and of chosen releases; with and without a ledger; once or twice."""
    account = sf.Ledger(tmp_path / "b.db").account("clinic", limit=sf.Privacy(epsilon=9.0))
    for ledger, said in ((None, "interrupted after the noise"), (account, "entry 1 of account 'clinic'")):
        with monkeypatch.context() as patch:
            patch.setattr(f"sfumato.pipeline.{place}", at_the_end if place == "step" else impatient)
            with pytest.raises(KeyboardInterrupt) as stopped:
                sf.release(what, DATA, BOX, PURE, ledger=ledger)
            assert isinstance(stopped.value, InterruptedReleaseError)
            notes = getattr(stopped.value, "__notes__", [])
            assert said in " ".join([str(stopped.value), *notes]) and bool(notes) == (ledger is not None)
        first, again = stopped.value.finish(), stopped.value.finish()
        assert np.array_equal(first.value, again.value)
    assert len(account.history()) == 1


def test_an_interrupt_before_the_noise_says_what_is_charged(tmp_path, monkeypatch):
    account = sf.Ledger(tmp_path / "b.db").account("clinic", limit=sf.Privacy(epsilon=9.0))
    monkeypatch.setattr("sfumato.pipeline.publish", impatient)
    with pytest.raises(KeyboardInterrupt) as stopped:
        sf.release(sf.Statistic("mean", "age"), DATA, BOX, PURE, ledger=account)
    assert not isinstance(stopped.value, InterruptedReleaseError)
    assert stopped.value.__notes__ == ["entry 1 of account 'clinic' is charged and counts"]
