"""Oracles: made-up records of the right number and law, the same from the same stream; and what is refused."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato import oracles
from sfumato.engines.tables import open_table
from sfumato.errors import ParameterError, ParameterTypeError
from sfumato.oracles import Oracle, fresh_seed, stream

BOX = sf.Box({"age": (0, 110), "visits": sf.Integer(0.5, 3.5), "hour": sf.Periodic(0, 24)})
MIXED = sf.Box({"age": (0, 110), "sex": sf.Categorical(["F", "M"]), "grade": sf.Categorical([1, 2, 3])})

READY = {
    "uniform": oracles.uniform(BOX),
    "table": oracles.uniform(MIXED, table=True),
    "gaussian": oracles.gaussian(),
    "correlated": oracles.gaussian([1.0, 2.0], covariance=[[2.0, 0.5], [0.5, 1.0]]),
    "array": oracles.bootstrap(np.arange(12.0).reshape(6, 2)),
    "list": oracles.bootstrap([1.0, 2.0, 3.0]),
    "pandas": oracles.bootstrap(pd.DataFrame({"a": [1.0, 2.0]}, index=[7, 7])),
    "polars": oracles.bootstrap(pl.DataFrame({"a": [1.0, 2.0]})),
    "pyarrow": oracles.bootstrap(pa.table({"a": [1.0, 2.0]})),
}


def text_of(records):
    return str(records.to_pydict() if isinstance(records, pa.Table) else records)


# --- every oracle ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", READY)
@pytest.mark.parametrize("n", [1, 2, 50])
def test_it_returns_as_many_records_as_it_was_asked_for(name, n):
    assert len(READY[name](n)) == n
    assert len(READY[name].draw(n, stream(1, 0))) == n


@pytest.mark.parametrize("name", READY)
def test_the_same_stream_draws_the_same_records(name):
    one, two, other = (text_of(READY[name].draw(40, stream(3, i))) for i in (5, 5, 6))
    assert one == two != other


@pytest.mark.parametrize("name", READY)
def test_calls_are_fresh(name):
    assert text_of(READY[name](60)) != text_of(READY[name](60))


@pytest.mark.parametrize("name", READY)
def test_its_law_is_said_in_words(name):
    assert str(READY[name]) == READY[name].name
    assert READY[name].spent is None


@pytest.mark.parametrize("n", [0, -1, 1.5, None, True])
def test_the_number_must_be_whole_and_positive(n):
    with pytest.raises(ParameterError, match="n must be"):
        READY["gaussian"](n)


def test_an_oracle_of_ones_own_is_two_things_and_a_stream():
    own = Oracle("ones", lambda n, generator: np.ones(n))
    assert own(3).tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(AttributeError):
        own.name = "twos"


def test_streams_are_apart_and_seeds_are_new():
    assert len({stream(1, i).integers(2**62) for i in range(100)}) == 100
    assert stream(1, 0).integers(2**62) != stream(2, 0).integers(2**62)
    assert fresh_seed() != fresh_seed()


# --- uniform ---------------------------------------------------------------------------------------------------------


def test_uniform_fills_the_box():
    records = oracles.uniform(BOX).draw(4000, stream(1, 0))
    assert records.shape == (4000, 3)
    assert (records >= [0, 1, 0]).all() and (records <= [110, 3, 24]).all()
    assert np.unique(records[:, 1]).tolist() == [1.0, 2.0, 3.0]
    # Seven standard errors: wrong with probability below 1e-10.
    assert abs(records[:, 0].mean() - 55) < 7 * 110 / math.sqrt(12 * 4000)


def test_one_column_is_a_flat_array():
    assert oracles.uniform(sf.Box([(0, 1)]))(5).shape == (5,)


def test_a_table_has_the_names_of_the_box():
    table = oracles.uniform(MIXED, table=True).draw(300, stream(1, 0))
    assert table.column_names == ["age", "sex", "grade"]
    assert set(table.column("sex").to_pylist()) == {"F", "M"}
    assert set(table.column("grade").to_pylist()) == {1, 2, 3}


def test_categories_need_a_table():
    with pytest.raises(ParameterError, match="column 'sex' is categorical"):
        oracles.uniform(MIXED)


@pytest.mark.parametrize("box", [None, (0, 1), [(0, 1)]])
def test_uniform_needs_a_box(box):
    with pytest.raises(ParameterTypeError, match=r"box must be an sf.Box"):
        oracles.uniform(box)


# --- Gaussian --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mean", "deviation", "shape"), [(0.0, 1.0, ()), ([0.0, 1.0], 2.0, (2,)), ([0.0, 1.0], [2.0, 3.0], (2,))]
)
def test_gaussian_shapes(mean, deviation, shape):
    assert oracles.gaussian(mean, deviation)(5).shape == (5, *shape)


def test_gaussian_moments():
    """Of 20,000 draws, within seven standard errors: wrong with probability below 1e-10."""
    records = oracles.gaussian([3.0, -1.0], [2.0, 0.5]).draw(20_000, stream(1, 0))
    assert np.abs((records.mean(axis=0) - [3, -1]) / [2, 0.5]).max() < 7 / math.sqrt(20_000)
    assert np.abs(records.std(axis=0) / [2, 0.5] - 1).max() < 7 / math.sqrt(2 * 20_000)


def test_correlated_moments():
    wanted = np.array([[2.0, 0.5], [0.5, 1.0]])
    records = READY["correlated"].draw(20_000, stream(1, 0))
    assert np.abs(np.cov(records.T) - wanted).max() < 7 * 2 * math.sqrt(2 / 20_000)
    assert np.abs(records.mean(axis=0) - [1, 2]).max() < 7 * math.sqrt(2 / 20_000)


@pytest.mark.parametrize(
    ("mean", "deviation"), [(math.nan, 1), (math.inf, 1), (0, 0), (0, -1), (0, math.inf), ([0, 0], [1, 0])]
)
def test_gaussian_needs_finite_numbers(mean, deviation):
    with pytest.raises(ParameterError, match="mean and deviation must be finite, deviation positive"):
        oracles.gaussian(mean, deviation)


@pytest.mark.parametrize(
    ("mean", "covariance"), [(0.0, [[1.0]]), ([0.0], [[1.0, 0.0]]), ([0.0, 0.0], [[1.0]]), ([0.0], [[math.nan]])]
)
def test_a_covariance_must_fit_the_mean(mean, covariance):
    with pytest.raises(ParameterError, match="covariance must be a finite matrix, one row per entry of the mean"):
        oracles.gaussian(mean, covariance=covariance)


def test_a_covariance_must_be_one():
    with pytest.raises(ParameterError, match="covariance must be positive definite"):
        oracles.gaussian([0.0, 0.0], covariance=[[1.0, 2.0], [2.0, 1.0]])


# --- bootstrap -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["array", "list", "pandas", "polars", "pyarrow"])
def test_bootstrap_keeps_the_kind_of_table(name):
    kinds = {"array": np.ndarray, "list": list, "pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table}
    assert isinstance(READY[name](9), kinds[name])


def test_bootstrap_draws_whole_records_with_replacement():
    drawn = READY["array"].draw(200, stream(1, 0))
    assert {tuple(record) for record in drawn} == {(2.0 * i, 2.0 * i + 1) for i in range(6)}
    assert set(READY["list"].draw(50, stream(1, 0))) == {1.0, 2.0, 3.0}
    assert set(READY["pandas"].draw(50, stream(1, 0))["a"]) == {1.0, 2.0}


def test_bootstrap_says_of_what():
    assert oracles.bootstrap([1, 2], "the 2010 census").name == "bootstrap of the 2010 census (2 records)"


@pytest.mark.parametrize("public", [[], np.zeros((0, 2)), pd.DataFrame({"a": []}), pa.table({"a": []})])
def test_bootstrap_needs_records(public):
    with pytest.raises(ParameterError, match="at least one record, got none"):
        oracles.bootstrap(public)


@pytest.mark.parametrize("public", [None, 3, "census.csv", {"a": [1]}, ([1], [2])])
def test_bootstrap_needs_a_table(public):
    with pytest.raises(ParameterTypeError, match="public must be an array, a list or a data frame"):
        oracles.bootstrap(public)


# --- a density that was released -------------------------------------------------------------------------------------


def test_a_released_density_says_what_it_cost(tmp_path):
    account = sf.Ledger(tmp_path / "budget.db").account("clinic", limit=sf.Privacy(epsilon=1.0))
    line = sf.Box({"age": (0, 110)})
    data = pd.DataFrame({"age": np.linspace(20, 80, 200)})
    free = sf.release(sf.KDE(9.0), data, line, sf.Privacy(epsilon=0.5))
    paid = sf.release(sf.KDE(9.0), data, line, sf.Privacy(epsilon=0.5), ledger=account)
    assert oracles.density(free).spent == free.guarantee
    assert "charged to no account" in oracles.density(free).name
    assert "0.5-differential privacy" in oracles.density(paid).name
    assert "entry 1 of account 'clinic'" in oracles.density(paid).name


@pytest.mark.parametrize("dimension", [1, 2])
def test_records_of_a_released_density_follow_it(dimension):
    """4,000 draws, mean within seven standard errors (the deviation is at most half the box): below 1e-10."""
    box = sf.Box([(0, 1)] * dimension)
    data = np.random.default_rng(3).normal(0.3, 0.05, size=(5000, dimension))
    release = sf.release(sf.KDE([0.1] * dimension), data, box, sf.Privacy(epsilon=5.0))
    oracle = oracles.density(release)
    records = oracle.draw(4000, stream(1, 0))
    assert records.shape == ((4000,) if dimension == 1 else (4000, 2))
    assert (records >= 0).all() and (records <= 1).all()
    assert np.abs(records.mean(axis=0) - release.sample(4000, seed=5).mean(axis=0).squeeze()).max() < 10 * 0.5 / 63
    assert text_of(oracle.draw(9, stream(1, 1))) == text_of(oracle.draw(9, stream(1, 1)))


@pytest.mark.parametrize("release", [None, 3, np.zeros(4), "density.sfumato"])
def test_a_density_must_be_released(release):
    with pytest.raises(ParameterTypeError, match="release must be a released density"):
        oracles.density(release)


def test_a_statistic_is_no_density():
    value = sf.release(sf.Statistic("mean"), np.zeros(9), sf.Box([(0, 1)]), sf.Privacy(epsilon=1.0))
    with pytest.raises(ParameterTypeError, match="release must be a released density"):
        oracles.density(value)


# --- with the schema of a table -------------------------------------------------------------------------------------


DECLARED = dict(zip(MIXED.names, MIXED.columns, strict=True))
EMPTY = {
    "pandas": pd.DataFrame(
        {
            "age": pd.Series([], dtype=float),
            "sex": pd.Series([], dtype=object),
            "grade": pd.Series([], dtype=float),
            "whole": pd.Series([], dtype="Int64"),
            "group": pd.Series([], dtype="category"),
            "day": pd.Series([], dtype="datetime64[ns]"),
            "flag": pd.Series([], dtype=bool),
        }
    ),
    "polars": pl.DataFrame(
        schema={
            "age": pl.Float64,
            "sex": pl.String,
            "grade": pl.Float64,
            "whole": pl.Int16,
            "group": pl.Categorical,
            "day": pl.Date,
            "flag": pl.Boolean,
            "list": pl.List(pl.Int8),
        }
    ),
    "pyarrow": pa.schema(
        {"age": pa.float64(), "sex": pa.large_string(), "grade": pa.float64(), "whole": pa.int8(), "day": pa.date32()}
    ).empty_table(),
}


@pytest.mark.parametrize("kind", EMPTY)
def test_a_made_up_table_has_the_types_of_the_empty_one(kind):
    empty = EMPTY[kind]
    made = oracles.like(empty, DECLARED).draw(30, stream(1, 0))
    assert type(made) is type(empty) and len(made) == 30
    types = (lambda frame: frame.dtypes.astype(str).to_dict()) if kind == "pandas" else lambda frame: frame.schema
    assert str(types(made)) == str(types(empty))
    assert set(made["sex"].to_pylist() if kind == "pyarrow" else made["sex"]) == {"F", "M"}
    assert all(0 <= age <= 110 for age in np.asarray(made["age"]))
    assert len(set(np.asarray(made["whole"]).tolist())) > 1  # what was not declared varies, too
    assert text_of(oracles.like(empty, DECLARED).draw(30, stream(1, 0))) == text_of(made)


def test_arrays_of_another_width_hold_small_numbers():
    kinds = dict(zip(("a", "b"), sf.Box([(5, 6), (7, 8)]).columns, strict=True))
    assert (oracles.like(np.empty((0, 2)), kinds)(20) >= 5).all()
    other = oracles.like(np.empty((0, 3), dtype=np.float32), kinds)(20)
    assert other.shape == (20, 3) and other.dtype == np.float32 and (abs(other) <= 2).all()
    first, second = oracles.like((np.empty((0, 2)), np.empty(0, dtype="U5")), kinds)(20)
    assert first.shape == (20, 2) and second.dtype.kind == "U" and set(second) <= {"a", "b", "c"}


def test_dates_and_whole_circles():
    box = sf.Box({"d": ("2024-01-01T00:00Z", "2025-01-01T00:00Z"), "w": sf.Periodic(0, 7, whole=True)})
    table = sf.oracles.uniform(box, table=True)(200)
    assert str(table["d"].type) == "timestamp[us, tz=UTC]"
    assert set(table["w"].to_pylist()) == set(range(7))
    ((days, _),) = open_table(table, box, "row").batches(box, 200)
    assert box.low[0] <= days.min() < days.max() <= box.high[0]
    assert sf.oracles.uniform(sf.Box({"d": box.columns[0]}))(3).dtype == np.dtype("M8[us]")
    assert sf.oracles.uniform(box)(3).shape == (3, 2)
