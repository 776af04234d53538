"""Everyday statistics: what may be asked for, the same from every kind of table, and nothing that values can break."""

import math
import signal
import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import sfumato as sf
from opening import places_kept
from sfumato.bases.statistics.centred import CentredSquares
from sfumato.bases.statistics.moments import Moments
from sfumato.bases.statistics.sums import Given, Tally, Total
from sfumato.bases.statistics.tree import QuantileTree
from sfumato.errors import ParameterError, ParameterTypeError, SchemaError

BOX = sf.Box({"age": (0, 110), "bmi": (10, 60), "sex": sf.Categorical(["F", "M"])})
NUMBERS = sf.Box({"age": (0, 110), "bmi": (10, 60)})
ROW = sf.Privacy(epsilon=1.0)
SURE = sf.Privacy(epsilon=1e9)  # noise far below 1e-6 of any number here
GRANTS = [
    ROW,
    sf.Privacy(rho=0.5),
    sf.Privacy(epsilon=1.0, delta=1e-6),
    sf.Privacy(epsilon=1.0, neighbours="add-remove"),
    sf.Privacy(rho=0.1, neighbours="add-remove"),
]
BUILT_IN = ["count", "sum", "mean", "variance", "covariance", "median", "quantiles", "histogram", "proportions"]


def about(what):
    """The columns that a built-in statistic is asked about here."""
    if what in ("count", "histogram"):
        return ["age", "sex"]
    return {"proportions": "sex", "median": "age", "quantiles": "age"}.get(what, ["age", "bmi"])


def generated(rows=401, seed=3):  # an odd number has one median
    generator = np.random.default_rng(seed)
    age, bmi = np.round(generator.uniform(1, 109, size=rows), 2), np.round(generator.normal(27, 4, size=rows), 1)
    return {"age": age, "bmi": np.clip(bmi, 10, 60), "sex": generator.choice(["F", "M"], size=rows).tolist()}


def plain(what, table):
    """The same statistic by numpy."""
    both = np.stack([table["age"], table["bmi"]], axis=1)
    sexes = np.array(table["sex"])
    cells = np.minimum(table["age"] / 11, 9).astype(int)
    return {
        "count": len(both),
        "sum": both.sum(axis=0),
        "mean": both.mean(axis=0),
        "variance": both.var(axis=0),
        "covariance": np.cov(both.T, bias=True),
        "median": np.quantile(table["age"], 0.5, method="inverted_cdf"),
        "quantiles": np.quantile(table["age"], [0.25, 0.5, 0.75], method="inverted_cdf"),
        "histogram": np.array([[np.sum((cells == c) & (sexes == s)) for s in "FM"] for c in range(10)]),
        "proportions": np.array([np.mean(sexes == s) for s in "FM"]),
    }[what]


def as_csv(table, folder):
    pd.DataFrame(table).to_csv(folder / "t.csv", index=False)
    return str(folder / "t.csv")


def as_parquet(table, folder):
    parquet.write_table(pa.table(table), folder / "t.parquet")
    return folder / "t.parquet"


SOURCES = {
    "pandas": lambda table, folder: pd.DataFrame(table),
    "polars": lambda table, folder: pl.DataFrame(table),
    "pyarrow": lambda table, folder: pa.table(table),
    "csv": as_csv,
    "parquet": as_parquet,
}


# --- what may be asked for -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["average", "", None, 3, ["mean"]])
def test_a_statistic_is_a_known_word_or_a_function(what):
    with pytest.raises(ParameterError, match="what must be one of 'count', 'histogram', 'proportions', 'sum'"):
        sf.Statistic(what)


@pytest.mark.parametrize("column", [["age", "age"], [], ["age", 3], [None]])
def test_columns_are_different_names(column):
    with pytest.raises(ParameterTypeError, match="column must be a name or several different names"):
        sf.Statistic("mean", column)


def test_missing_values_are_dropped_or_there_are_none():
    with pytest.raises(ParameterError, match="missing must be one of 'drop', 'none', got missing='keep'"):
        sf.Statistic("mean", missing="keep")


@pytest.mark.parametrize("name", ["sensitivity", "range", "fallback"])
def test_what_is_known_need_not_be_stated(name):
    with pytest.raises(ParameterError, match=f"{name} is for a function of yours; that of a mean is known"):
        sf.Statistic("mean", **{name: (0, 1) if name == "range" else 1.0})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"bins": 5}, "bins are for a histogram, got what='mean'"),
        ({"probabilities": [0.5]}, "probabilities are for quantiles, got what='mean'"),
        ({"interval": "none"}, "interval is for quantiles, got what='mean'"),
    ],
)
def test_options_belong_to_their_statistic(options, words):
    with pytest.raises(ParameterError, match=words):
        sf.Statistic("mean", **options)


@pytest.mark.parametrize("interval", ["paid", None, True, 0.3])
def test_an_interval_comes_from_counts_or_not_at_all(interval):
    with pytest.raises(ParameterError, match="interval must"):
        sf.Statistic("median", interval=interval)


@pytest.mark.parametrize("levels", [[], [0.5, 1.0], [0.1234567], ["0.5"]])
def test_levels_are_checked(levels):
    with pytest.raises(ParameterError, match="probabilities must"):
        sf.Statistic("quantiles", probabilities=levels)


def test_quartiles_are_the_default():
    assert sf.Statistic("quantiles").probabilities == (0.25, 0.5, 0.75)
    with pytest.raises(ParameterError, match="probabilities are for quantiles, got what='median'"):
        sf.Statistic("median", probabilities=[0.25])


@pytest.mark.parametrize("bins", [0, -1, 1.5, "ab", [3, 0], True])
def test_bins_are_whole_and_positive(bins):
    with pytest.raises(ParameterError, match="bins"):
        sf.plan(sf.Statistic("histogram", bins=bins), NUMBERS, ROW, 10)


@pytest.mark.parametrize("bins", [[3], [3, 4, 5], ()])
def test_bins_are_one_number_or_one_per_numeric_column(bins):
    with pytest.raises(ParameterError, match=r"bins needs one number, or one per numeric column \(2\)"):
        sf.plan(sf.Statistic("histogram", bins=bins), NUMBERS, ROW, 10)


def test_a_histogram_must_not_be_larger_than_memory():
    with pytest.raises(ParameterError, match="at most 16777216 cells in all"):
        sf.plan(sf.Statistic("histogram", bins=10_000), NUMBERS, ROW, 10)


@pytest.mark.parametrize("what", ["sum", "mean", "variance", "covariance", "median", "quantiles"])
def test_numbers_are_needed_for_numeric_statistics(what):
    with pytest.raises(ParameterError, match="column 'sex' is categorical; this needs numeric columns"):
        sf.plan(sf.Statistic(what, "sex"), BOX, ROW, 10)


def test_proportions_are_of_categories():
    with pytest.raises(ParameterError, match=r"proportions need sf.Categorical columns, 'age' is not"):
        sf.plan(sf.Statistic("proportions", "age"), BOX, ROW, 10)


@pytest.mark.parametrize("what", ["median", "quantiles"])
def test_quantiles_are_of_one_column(what):
    with pytest.raises(ParameterError, match=rf"{what} is of one column, got \['age', 'bmi'\]; name one"):
        sf.plan(sf.Statistic(what), NUMBERS, ROW, 10)


@pytest.mark.parametrize("what", BUILT_IN)
def test_an_unknown_column_is_said(what):
    with pytest.raises(ParameterError, match=r"column must be among those of the box .*got 'height'"):
        sf.plan(sf.Statistic(what, "height"), BOX, ROW, 10)


@pytest.mark.parametrize("what", ["mean", "median"])
def test_a_statistic_needs_no_basis(what):
    with pytest.raises(ParameterTypeError, match="a statistic needs no basis"):
        sf.release(sf.Statistic(what, "age"), pd.DataFrame(generated()), BOX, ROW, basis=sf.Bernstein(3))


def test_a_choice_has_no_noise_to_choose():
    with pytest.raises(ParameterError, match="noise must be 'auto' for what is chosen, not perturbed"):
        sf.release(sf.Statistic("median", "age", interval="none"), pd.DataFrame(generated()), BOX, ROW, noise="laplace")


def test_counts_of_quantiles_need_independent_noise():
    with pytest.raises(ParameterError, match=r"noise must be 'auto' or one of .* for quantiles, got 'l2'"):
        sf.plan(sf.Statistic("median", "age"), BOX, ROW, 100, noise="l2")
    assert sf.plan(sf.Statistic("median", "age"), BOX, ROW, 100, noise="laplace").law.kind == "laplace"


def test_a_missing_column_of_the_data_is_said():
    with pytest.raises(SchemaError, match="no column 'age'"):
        sf.release(sf.Statistic("mean", "age"), pd.DataFrame({"bmi": [20.0]}), BOX, ROW)
    with pytest.raises(SchemaError, match="the box has 3 columns, the array has 2"):
        sf.release(sf.Statistic("mean", "age"), np.zeros((4, 2)), BOX, ROW)


def test_only_the_columns_that_it_is_about_must_be_there():
    found = sf.release(sf.Statistic("mean", "age"), pd.DataFrame({"age": [20.0, 40.0]}), BOX, SURE)
    assert found.value == pytest.approx(30.0, rel=1e-6)
    assert found.box.names == ("age",)


# --- what is summed ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("what", "kind"),
    [("count", Tally), ("histogram", Tally), ("sum", Total), ("mean", Moments), ("median", QuantileTree)],
)
def test_each_statistic_has_its_summary(what, kind):
    assert isinstance(sf.plan(sf.Statistic(what, "age"), BOX, ROW, 10).basis, kind)
    assert isinstance(sf.plan(sf.Statistic(np.mean, sensitivity=1.0), BOX, ROW, 10).basis, Given)


def test_a_complete_mean_of_a_public_number_needs_no_count():
    grants = [ROW, sf.Privacy(epsilon=1.0, neighbours="add-remove"), sf.Privacy(epsilon=1.0, unit=sf.Person("id", 2))]
    weights = [sf.Statistic("mean", "age", "none").choose_basis(BOX, None, grant).weight for grant in grants]
    assert weights[0] == 0 < min(weights[1:])
    assert sf.Statistic("mean", "age", "drop").choose_basis(BOX, 10, ROW).weight > 0


@pytest.mark.parametrize("what", ["count", "sum", "mean", "variance", "covariance", "histogram"])
@pytest.mark.parametrize("grant", GRANTS, ids=str)
def test_certificates_are_enforced_and_name_their_page(what, grant):
    target = sf.Statistic(what, ["age", "bmi"])
    basis = target.choose_basis(BOX, 10, grant)
    certificate = target.certificate(basis, BOX, 10, grant)
    assert (certificate.known, certificate.proof, certificate.relation) == ("enforced", "statistics", grant.neighbours)
    assert certificate.exponent == basis.exponent
    assert certificate.bound == basis.apart(NUMBERS, grant, certificate.norm)


@pytest.mark.parametrize(("epsilon", "delta", "kind"), [(1.0, 1e-6, "laplace"), (0.1, 0.2, "gaussian")])
def test_delta_is_used_where_it_helps(epsilon, delta, kind):
    """One number: Laplace noise is smaller unless delta is large; many: Gaussian noise is."""
    grant = sf.Privacy(epsilon=epsilon, delta=delta)
    plan = sf.plan(sf.Statistic("sum", "age"), BOX, grant, 10)
    assert plan.law.kind == kind
    assert plan.guarantee.delta == (0.0 if kind == "laplace" else delta)
    assert sf.plan(sf.Statistic("covariance"), sf.Box([(0, 1)] * 20), grant, 10).law.kind == "gaussian"


@pytest.mark.few(15)
@pytest.mark.parametrize("what", BUILT_IN)
@pytest.mark.parametrize("grant", GRANTS, ids=str)
def test_a_plan_is_what_the_release_will_be(what, grant):
    target = sf.Statistic(what, about(what))
    plan = sf.plan(target, BOX, grant, 401)
    found = sf.release(target, pd.DataFrame(generated()), BOX, grant)
    assert plan.guarantee == found.guarantee
    if isinstance(plan.basis, CentredSquares):  # about centres that nobody knows before
        assert (plan.law.kind, plan.basis.share) == (found.law.kind, found.summary.share)
    else:
        assert (plan.law, plan.basis) == (found.law, found.summary)
    assert 0 < plan.mean_noise_error <= plan.noise_error
    assert plan.ranks == (what in ("median", "quantiles"))
    assert str(plan).startswith("basis")
    assert (found.guarantee.epsilon, found.guarantee.rho) == (grant.epsilon, grant.rho)


# --- the same from every kind of table -----------------------------------------------------------------------------


@pytest.mark.few(30)
@pytest.mark.parametrize("what", BUILT_IN)
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("missing", ["drop", "none"])
def test_with_next_to_no_noise_every_table_gives_the_plain_answer(what, source, missing, tmp_path):
    table = generated()
    target = sf.Statistic(what, about(what), missing)
    found = sf.release(target, SOURCES[source](table, tmp_path), BOX, SURE)
    assert found.value == pytest.approx(plain(what, table), rel=1e-6)
    assert found.rows == 401


@pytest.mark.parametrize("what", ["count", "sum", "mean", "variance", "covariance"])
@pytest.mark.parametrize(
    "grant", [SURE, sf.Privacy(rho=1e18), sf.Privacy(epsilon=1e9, neighbours="add-remove")], ids=str
)
def test_arrays_and_pairs_give_the_plain_answer(what, grant):
    table = generated()
    both = np.stack([table["age"], table["bmi"]], axis=1)
    for data in (both, (both, np.zeros(401))):
        found = sf.release(sf.Statistic(what, ["age", "bmi"]), data, NUMBERS, grant)
        assert found.value == pytest.approx(plain(what, table), rel=1e-6)
    one = sf.release(sf.Statistic("sum", "bmi"), both, NUMBERS, grant)
    assert one.value == pytest.approx(both[:, 1].sum(), rel=1e-6)
    swapped = sf.release(sf.Statistic("sum", ["bmi", "age"]), both, NUMBERS, grant)
    assert swapped.value == pytest.approx(both.sum(axis=0)[::-1], rel=1e-6)


@pytest.mark.few(8)
@pytest.mark.parametrize("what", BUILT_IN)
@pytest.mark.parametrize("source", SOURCES)
def test_persons_bring_so_many_rows_only(what, source, tmp_path):
    table = generated(42) | {"id": [i % 7 for i in range(42)]}
    places = places_kept(pd.DataFrame(table), BOX, sf.Person("id", 3))
    assert np.bincount(places % 7).tolist() == [3] * 7
    kept = {name: np.asarray(column)[places] for name, column in table.items()}
    grant = sf.Privacy(epsilon=1e10, unit=sf.Person("id", 3))
    found = sf.release(sf.Statistic(what, about(what)), SOURCES[source](table, tmp_path), BOX, grant)
    assert found.value == pytest.approx(plain(what, kept), rel=1e-6)
    assert found.rows is None  # how many rows there are is private


def test_chunks_and_order_do_not_change_the_integers(monkeypatch):
    from sfumato.core import mechanism
    from sfumato.engines.memory import MemoryEngine

    monkeypatch.setattr(mechanism, "draw", lambda law: np.zeros(law.size, dtype=np.int64))
    frame = pd.DataFrame(generated())
    shuffled = frame.sample(frac=1, random_state=1)
    for what in ("sum", "mean", "variance", "covariance", "histogram", "count"):
        target = sf.Statistic(what, ["age", "bmi"])
        found = [
            sf.release(target, data, BOX, ROW, engine=MemoryEngine(rows)).numbers.tobytes()
            for data, rows in ((frame, 10**6), (frame, 7), (shuffled, 10**6))
        ]
        assert len(set(found)) == 1


# --- missing, strange and no values --------------------------------------------------------------------------------


def test_records_with_a_missing_value_count_for_nothing():
    data = pd.DataFrame({"age": [10.0, math.nan, 30.0], "bmi": [20.0, 20.0, math.nan], "sex": ["F", "X", None]})
    answers = {"count": 3, "sum": 40, "mean": 20, "variance": 100}
    for what, wanted in answers.items():
        column = "bmi" if what == "count" else "age"
        found = sf.release(sf.Statistic(what, column), data, BOX, SURE).value
        assert found == pytest.approx(2 if what == "count" else wanted, rel=1e-6)
    assert sf.release(sf.Statistic("count"), data, BOX, SURE).value == 1.0
    assert sf.release(sf.Statistic("proportions", "sex"), data, BOX, SURE).value.tolist() == [1.0, 0.0]


def test_where_nothing_should_be_missing_the_middle_stands_in():
    data = pd.DataFrame({"age": [10.0, math.nan, 30.0]})
    found = sf.release(sf.Statistic("mean", "age", "none"), data, BOX, SURE)
    assert found.value == pytest.approx((10 + 55 + 30) / 3, rel=1e-6)


HOSTILE = [math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, 1e-300, -0.0, 2.0**63]


@pytest.mark.few(24)
@pytest.mark.parametrize("what", [*BUILT_IN[:-1]])
@pytest.mark.parametrize("missing", ["drop", "none"])
@pytest.mark.parametrize("data", [[], HOSTILE, [math.nan] * 5, [math.inf]], ids=["none", "all", "missing", "infinite"])
@pytest.mark.parametrize("grant", GRANTS, ids=str)
def test_no_values_raise_or_warn(what, missing, data, grant):
    column = np.array(data, dtype=np.float64)
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", sf.errors.NothingThereWarning)  # which noisy numbers decide on
        if not data and (grant.neighbours, grant.unit) == ("replace", "row"):  # then their number is public
            with pytest.raises(sf.errors.SchemaError, match="no records"):
                sf.release(sf.Statistic(what, "x", missing), column, sf.Box({"x": (0, 10)}), grant)
            return
        found = sf.release(sf.Statistic(what, "x", missing), column, sf.Box({"x": (0, 10)}), grant)
        low, high = found.interval()
        assert np.all(np.isfinite(found.value))
        assert np.all(low <= found.value) and np.all(found.value <= high)


# --- functions of the caller's -------------------------------------------------------------------------------------


def test_a_function_sees_the_callers_table_and_its_numbers_are_published():
    data = pd.DataFrame({"age": [20.0, 40.0, 999.0]})
    target = sf.Statistic(lambda t: [t["age"].mean(), len(t)], "age", sensitivity=1e-9, length=2)
    found = sf.release(target, data, sf.Box({"age": (0, 110)}), ROW)
    assert found.value == pytest.approx([170 / 3, 3], abs=1e-6)
    assert found.statistic == "your own"


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_a_stated_sensitivity_is_said_to_be_stated(norm):
    target = sf.Statistic(np.mean, sensitivity=0.1, norm=norm)
    found = sf.release(target, np.zeros(9), sf.Box([(0, 1)]), ROW)
    assert found.guarantee.assumptions[0] == f"the {norm} sensitivity 0.1 to one row is stated by the caller"
    assert ("stated sensitivity", "0.1") in found.target
    assert found.law.certificate.norm == norm


def test_a_range_bounds_how_far_anything_can_move():
    for norm, factor in (("l1", 4.0), ("l2", 2.0), ("linf", 1.0)):
        target = sf.Statistic(np.mean, sensitivity=99.0, norm=norm, length=4, range=(0, 1))
        certificate = sf.plan(target, NUMBERS, ROW, 10).law.certificate
        assert (certificate.known, certificate.norm) == ("enforced", norm)
        assert factor <= certificate.bound <= factor * (1 + 1e-12)


def fail(data):
    raise RuntimeError(f"the secret is {data}")


def leave(data):
    sys.exit(3)


@pytest.mark.parametrize(
    "what", [fail, leave, lambda d: "text", lambda d: [1.0, 2.0], lambda d: None, lambda d: math.nan, lambda d: 1 / 0]
)
def test_whatever_goes_wrong_gives_the_fallback(what):
    target = sf.Statistic(what, sensitivity=1e-9, fallback=7.0)
    found = sf.release(target, np.zeros(4), sf.Box([(0, 1)]), ROW, rehearse=False)
    assert found.value == pytest.approx(7.0, abs=1e-6)


@pytest.mark.parametrize("other", [1, 9, None])
def test_a_gap_in_what_a_function_returns_changes_no_other_number(other):
    """numpy reads it as the last entry of the dictionary."""
    made = pa.chunked_array([pa.array([5, other, None]).dictionary_encode()])
    target = sf.Statistic(lambda data: made, sensitivity=1e-9, length=3, fallback=7.0)
    found = sf.release(target, np.zeros(4), sf.Box([(0, 1)]), ROW, rehearse=False).value
    assert found == pytest.approx([5, 7 if other is None else other, 7], abs=1e-6)


def test_the_fallback_is_the_middle_of_the_range_or_zero():
    assert sf.Statistic(fail, sensitivity=1.0).fallback == 0.0
    assert sf.Statistic(fail, sensitivity=1.0, range=(2, 4)).fallback == 3.0
    with pytest.raises(ParameterError, match=r"fallback must lie in range=\(2.0, 4.0\), got fallback=5"):
        sf.Statistic(fail, sensitivity=1.0, range=(2, 4), fallback=5)


def test_values_are_kept_within_the_range():
    target = sf.Statistic(lambda d: [-9.0, 0.25, math.inf], sensitivity=1e-9, length=3, range=(0, 1))
    assert sf.release(target, np.zeros(4), sf.Box([(0, 1)]), ROW).value == pytest.approx([0, 0.25, 0.5], abs=1e-6)


def test_an_interrupt_that_was_sent_is_the_callers(interruptible):
    def stop(data):
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        sf.release(sf.Statistic(stop, sensitivity=1.0), np.zeros(4), sf.Box([(0, 1)]), ROW, rehearse=False)


def test_a_value_that_raises_an_interrupt_is_a_failure_of_the_function():
    """Once the process ended there, without a release and unpaid."""

    class Interrupting:
        def __float__(self):
            raise KeyboardInterrupt("a private value")

    def added(data):
        return sum(map(float, data["note"]))

    target = sf.Statistic(added, ["note"], sensitivity=1e-6, fallback=0.25)
    for last, value in ((2.0, 3.0), (Interrupting(), 0.25)):
        data = pd.DataFrame({"age": [30.0, 40.0], "note": pd.Series([1.0, last], dtype=object)})
        made = sf.release(target, data, sf.Box({"age": (0, 110)}), SURE, rehearse=False)
        assert made.value == pytest.approx(value, abs=1e-6)


def test_a_rehearsal_shows_errors():
    with pytest.raises(RuntimeError, match="secret"):
        sf.Statistic(fail, sensitivity=1.0).rehearse([1])
    assert sf.Statistic(np.mean, sensitivity=1.0).rehearse(np.array([1.0, 3.0])).tolist() == [2.0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "sensitivity is missing: state how far one row can move the numbers, or use sf.sample_sensitivity"),
        ({"sensitivity": 0.0}, "sensitivity must be positive"),
        ({"sensitivity": "1"}, "sensitivity must be a number"),
        ({"sensitivity": 1.0, "norm": "l3"}, "norm must be one of 'linf', 'l1', 'l2', got norm='l3'"),
        ({"sensitivity": 1.0, "norm": "user"}, "norm must be one of"),
        ({"sensitivity": 1.0, "length": 0}, "length must be at least 1"),
        ({"sensitivity": 1.0, "range": (1, 1)}, "range must have low < high"),
        ({"sensitivity": 1.0, "range": (0, math.inf)}, r"range\[1\] must be finite"),
        ({"sensitivity": 1.0, "range": 3}, r"range must be a pair \(low, high\)"),
        ({"sensitivity": 1.0, "fallback": math.nan}, "fallback must be finite"),
        ({"sensitivity": 1.0, "bins": 3}, "bins is for built-in statistics, got bins=3"),
        ({"sensitivity": 1.0, "probabilities": [0.5]}, "probabilities is for built-in statistics"),
        ({"sensitivity": 1.0, "interval": "none"}, "interval is for built-in statistics"),
        ({"sensitivity": 1.0, "missing": "keep"}, "missing must be one of"),
    ],
)
def test_what_a_function_must_declare(options, words):
    with pytest.raises(ParameterError, match=words):
        sf.Statistic(np.mean, **options)


def test_descriptions_are_public_text():
    assert sf.Statistic("mean", ["age", "bmi"]).describe() == (
        ("target", "mean of age, bmi"),
        ("missing values", "drop"),
    )
    assert sf.Statistic("count").describe()[0] == ("target", "count")
    own = dict(sf.Statistic(np.mean, sensitivity=0.5, range=(0, 1)).describe())
    assert own == {
        "target": "statistic of the caller's (mean)",
        "stated sensitivity": "0.5",
        "range": "(0.0, 1.0)",
        "fallback": "0.5",
    }


# --- cells of histograms -------------------------------------------------------------------------------------------

AGE = sf.Integer(0, 110)
WHOLE = sf.Box({"age": AGE, "sex": sf.Categorical(["F", "M"])})


def test_every_whole_number_has_a_cell_and_the_total_is_the_number_of_rows():
    ages = pd.DataFrame({"age": np.repeat([0.0, 17.0, 18.0, 110.0], [3, 4, 5, 6])})
    found = sf.release(sf.Statistic("histogram", "age", missing="none"), ages, WHOLE, SURE)
    assert found.labels == [[str(k) for k in range(111)]]
    assert found.value[[0, 17, 18, 110]] == pytest.approx([3, 4, 5, 6])
    for epsilon in (0.1, 1.0):
        noisy = sf.release(sf.Statistic("histogram", "age", missing="none"), ages, WHOLE, sf.Privacy(epsilon=epsilon))
        assert noisy.value.sum() == pytest.approx(18) and noisy.value.min() >= 0
        dropped = sf.release(sf.Statistic("histogram", "age"), ages, WHOLE, sf.Privacy(epsilon=epsilon))
        assert dropped.value.sum() <= 18 + 1e-9


def test_cells_between_edges_have_their_lower_one():
    ages = pd.DataFrame({"age": [0.0, 17.0, 18.0, 64.0, 65.0, 110.0, 300.0], "sex": list("FFFMMMM")})
    found = sf.release(sf.Statistic("histogram", "age", edges=[18, 65]), ages, WHOLE, SURE)
    assert found.labels == [["0 to 17", "18 to 64", "65 to 110"]]
    assert found.value == pytest.approx([2, 2, 3])
    both = sf.Statistic("histogram", edges={"age": [18, 65]})
    assert sf.release(both, ages, WHOLE, SURE).value == pytest.approx(np.array([[2, 0], [1, 1], [0, 3]]))
    real = sf.Box({"age": (0, 110)})
    found = sf.release(sf.Statistic("histogram", edges=[18.0, 64.5]), ages[["age"]], real, SURE)
    assert found.labels == [["0 to 18", "18 to 64.5", "64.5 to 110"]] and found.value == pytest.approx([2, 2, 3])


def test_whole_numbers_beside_other_columns_have_few_cells():
    assert sf.plan(sf.Statistic("histogram"), WHOLE, ROW, 10).basis.shape == (10, 2)
    (names,) = sf.plan(sf.Statistic("histogram", "age", bins=5), WHOLE, ROW, 10).basis.labels(sf.Box({"age": AGE}))
    assert names[:2] == ["0 to 21", "22 to 43"]
    assert sf.plan(sf.Statistic("histogram"), sf.Box({"x": sf.Integer(0, 10**6)}), ROW, 10).basis.shape == (10,)


def test_edges_and_bins_exclude_each_other():
    with pytest.raises(ParameterError, match="edges and bins cannot both say"):
        sf.plan(sf.Statistic("histogram", "age", bins=3, edges=[18]), WHOLE, ROW, 10)
    with pytest.raises(ParameterError, match="edges are for a histogram, got what='mean'"):
        sf.Statistic("mean", "age", edges=[18])


# --- circles ------------------------------------------------------------------------------------------------------

HOURS = sf.Box({"hour": sf.Periodic(0, 24, whole=True), "age": (0, 110)})


@pytest.mark.parametrize("what", ["sum", "mean", "variance", "covariance"])
def test_a_circle_has_no_sum_and_no_mean_of_numbers(what, tmp_path):
    account = sf.Ledger(tmp_path / "b.db").account("clinic", limit=sf.Privacy(epsilon=9.0))
    data = {"hour": [23, 0, 1], "age": [20.0, 30.0, 40.0]}
    with pytest.raises(ParameterError, match=r"'hour' goes round a circle.*sf\.KDE"):
        sf.release(sf.Statistic(what), data, HOURS, sf.Privacy(epsilon=1.0), ledger=account)
    assert not account.history()
    sf.release(sf.Statistic(what, "age"), data, HOURS, sf.Privacy(epsilon=1.0))


def test_every_whole_number_of_a_circle_has_a_cell(monkeypatch):
    from sfumato.core import mechanism

    monkeypatch.setattr(mechanism, "draw", lambda law: np.zeros(law.size, dtype=np.int64))
    hours = np.arange(24).repeat(np.arange(1, 25))
    found = sf.release(sf.Statistic("histogram", "hour"), {"hour": hours + 24}, HOURS, sf.Privacy(epsilon=1.0))
    assert found.value == pytest.approx(np.arange(1, 25)) and found.labels == [[str(hour) for hour in range(24)]]
    late = sf.Statistic("histogram", "hour", edges=[6, 12, 18])
    assert sf.release(late, {"hour": hours}, HOURS, sf.Privacy(epsilon=1.0)).labels == [
        ["0 to 5", "6 to 11", "12 to 17", "18 to 23"]
    ]
