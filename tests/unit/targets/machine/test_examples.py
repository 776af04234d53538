"""Labelled records: every kind of table gives the same examples, and what was not declared says nothing."""

import copy
import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import sfumato as sf
from opening import blocks_of
from sfumato.bases.machine.losses import Logistic
from sfumato.engines import memory
from sfumato.engines.memory import MemoryEngine
from sfumato.errors import PrivateDataError, SchemaError
from sfumato.releases.machine.response import Response
from sfumato.targets.machine.examples import FixedPoint, Labelled, LabelledFeatures
from sfumato.targets.machine.gradient import BLOCK
from sfumato.targets.machine.learner import features_of
from sfumato.targets.machine.solver import Problem, Weights, evaluate

BOX = sf.Box({"age": (0, 110), "bmi": (10, 60)})
ILL = Response("ill", classes=("no", "yes"))
GRADE = Response("grade", classes=(1, 2, 5))
SCORE = Response("score", range=(-10.0, 30.0))
AGES = [34.0, -5.0, math.nan, 1e300, 0.5, 110.0, 20.0, 20.0]
BMIS = [21.5, 99.0, 30.0, math.nan, 10.0, 60.0, 30.0, 30.0]
CLEAN = [[34.0, 21.5], [0.0, 60.0], [math.nan, 30.0], [110.0, math.nan], [0.5, 10.0], [110.0, 60.0], [20.0, 30.0]]
CLEAN.append([20.0, 30.0])
ILLS = ["yes", "no", "no", "yes", "maybe", "", None, "yes"]
ILL_TARGETS = [[1.0], [-1.0], [-1.0], [1.0], [math.nan], [math.nan], [math.nan], [1.0]]
GRADES = [1.0, 2.0, 5.0, 3.0, math.nan, 1.5, 5.0, 2.0]
NONE = [math.nan] * 3
GRADE_TARGETS = [[1, -1, -1], [-1, 1, -1], [-1, -1, 1], NONE, NONE, NONE, [-1, -1, 1], [-1, 1, -1]]
SCORES = [-10.0, 30.0, 10.0, 99.0, -99.0, math.nan, 20.0, 0.0]
SCORE_TARGETS = [[-1.0], [1.0], [0.0], [1.0], [-1.0], [math.nan], [0.5], [-0.5]]


def optional(values):
    return [None if isinstance(v, float) and math.isnan(v) else v for v in values]


COLUMNS = {"age": AGES, "bmi": BMIS, "ill": ILLS, "grade": GRADES, "score": SCORES}
PLAIN = {name: optional(values) for name, values in COLUMNS.items()}


def as_csv(tmp_path):
    rows = zip(*PLAIN.values(), strict=True)
    lines = [",".join("" if v is None else str(v) for v in row) for row in rows]
    (tmp_path / "t.csv").write_text(",".join(COLUMNS) + "\n" + "\n".join(lines) + "\n")
    return tmp_path / "t.csv"


def as_parquet(tmp_path):
    parquet.write_table(pa.table(PLAIN), tmp_path / "t.parquet", row_group_size=3)
    return tmp_path / "t.parquet"


SOURCES = {
    "pandas": lambda _: pd.DataFrame(COLUMNS),
    "pandas nullable": lambda _: pd.DataFrame(COLUMNS).convert_dtypes(),
    "pandas categorical": lambda _: pd.DataFrame(COLUMNS | {"ill": pd.Categorical(ILLS)}),
    "polars": lambda _: pl.DataFrame(PLAIN),
    "polars categorical": lambda _: pl.DataFrame(PLAIN).with_columns(pl.col("ill").cast(pl.Categorical)),
    "pyarrow": lambda _: pa.table(PLAIN),
    "pyarrow dictionary": lambda _: pa.table(PLAIN | {"ill": pa.array(ILLS).dictionary_encode()}),
    "csv": as_csv,
    "parquet": as_parquet,
}
responses = pytest.mark.parametrize(
    ("response", "targets"),
    [(ILL, ILL_TARGETS), (GRADE, GRADE_TARGETS), (SCORE, SCORE_TARGETS)],
    ids=["text", "n", "r"],
)


def labelled(data, response, box=BOX, unit="row"):
    engine = MemoryEngine()
    return Labelled(engine.open(data, box, unit, {response.name: response.column}), response, engine)


def joined(gathered, box=BOX):
    """Cleaned records and their targets, as they are read."""
    features = LabelledFeatures(features_of(sf.LinearKernel(), sf.Coordinates(), box), gathered.response)
    numbers = np.concatenate([features.read(c) for c in gathered.records.whole().batches(features.box, 3)])
    return numbers[:, : box.dimension], numbers[:, box.dimension :]


# --- the same examples from everywhere --------------------------------------------------------------------------


@responses
@pytest.mark.parametrize("source", SOURCES)
def test_every_table_gives_the_same_records_and_targets(source, response, targets, tmp_path):
    gathered = labelled(SOURCES[source](tmp_path), response)
    assert gathered.rows == 8
    records, found = joined(gathered)
    assert np.array_equal(records, CLEAN, equal_nan=True)
    assert np.array_equal(found, targets, equal_nan=True)


@responses
def test_pairs_of_arrays_give_them_too(response, targets):
    """Text in an array has no missing value; the word stands for one that is not declared."""
    y = np.array(["" if v is None else v for v in ILLS]) if response is ILL else np.array(COLUMNS[response.name])
    for data in ((np.array([AGES, BMIS]).T, y), (np.array([AGES, BMIS]).T, y[:, None])):
        records, found = joined(labelled(data, response))
        assert np.array_equal(records, CLEAN, equal_nan=True)
        assert np.array_equal(found, targets, equal_nan=True)


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.float32, bool])
def test_classes_of_every_type_of_number(dtype):
    y = np.array([0, 1, 1], dtype=dtype)
    _, found = joined(labelled((np.zeros((3, 2)), y), Response("y", classes=(0, 1))))
    assert found.tolist() == [[-1.0], [1.0], [1.0]]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e308, 5e-324, 1 + 1e-15])
def test_any_number_that_is_no_class_says_nothing(value):
    with np.errstate(all="raise"):
        _, found = joined(labelled((np.zeros((2, 2)), np.array([value, 1.0])), GRADE))
    assert np.isnan(found[0]).all()
    assert found[1].tolist() == [1.0, -1.0, -1.0]


def test_records_of_a_bounded_norm_are_scaled_back():
    box = sf.Box([(-10, 10), (-10, 10)], max_norm=5.0)
    records, _ = joined(labelled((np.array([[6.0, 8.0]]), np.zeros(1)), SCORE, box), box)
    assert records[0] == pytest.approx([3.0, 4.0])


def test_only_the_rows_of_persons_that_are_kept():
    data = pl.DataFrame({"age": [1.0, 1.0, 3.0], "bmi": [20.0] * 3, "score": [0.0] * 3, "who": ["a", "a", "b"]})
    assert joined(labelled(data, SCORE, unit=sf.Person("who", 1)))[0][:, 0].tolist() == [1.0, 3.0]


# --- the schema -------------------------------------------------------------------------------------------------


def test_an_array_has_no_response():
    with pytest.raises(SchemaError, match=r"an array has no column 'ill'; pass an \(X, y\) pair, or a table"):
        joined(labelled(np.zeros((3, 2)), ILL))


@pytest.mark.parametrize(
    ("y", "response"), [(np.zeros(3), ILL), (np.array(["a"] * 3), SCORE), (np.array(["1"] * 3), GRADE)]
)
def test_a_response_of_the_other_type_is_refused(y, response):
    with pytest.raises(SchemaError, match=r"y must hold one value for each row, (text|numbers) as declared"):
        joined(labelled((np.zeros((3, 2)), y), response))


def test_several_responses_are_refused():
    with pytest.raises(SchemaError, match="one value for each row, numbers as declared"):
        joined(labelled((np.zeros((3, 2)), np.zeros((3, 2))), SCORE))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_table_without_the_response_is_refused(make):
    with pytest.raises(SchemaError, match="no column 'ill'"):
        labelled(make({"age": [1.0], "bmi": [20.0]}), ILL)
    with pytest.raises(SchemaError, match="no column 'bmi'"):
        joined(labelled(make({"age": [1.0], "ill": ["no"]}), ILL))
    with pytest.raises(SchemaError, match="'ill' must hold text"):
        labelled(make({"age": [1.0], "bmi": [20.0], "ill": [1]}), ILL)


# --- blocks -----------------------------------------------------------------------------------------------------


def cloud(rows):
    generator = np.random.default_rng(rows)
    points = generator.uniform(-20, 130, size=(rows, 2))
    points[::7, 0] = np.nan
    return points, np.where(generator.uniform(size=rows) < 0.1, 9.0, np.where(points[:, 1] > 40, 5.0, 1.0))


TWO = Response("y", classes=(1, 5))
FEATURES = features_of(sf.RBF(2.0), sf.Landmarks(16), BOX)


def fixed(data, features=FEATURES, every=1):
    return FixedPoint(labelled(data, TWO), features, every)


@pytest.mark.parametrize("rows", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 20_000])
def test_blocks_are_of_one_shape_and_hold_every_record_once(rows):
    points, y = cloud(rows)
    example = fixed((points, y))
    blocks = blocks_of(example)
    assert all(f.shape == (BLOCK, FEATURES.size) and t.shape == (BLOCK, 1) for f, t in blocks)
    known = np.concatenate([np.zeros(0), *(t[:, 0] for _, t in blocks)])
    kept = np.isin(y, (1.0, 5.0)) & ~np.isnan(points[:, 0])
    assert np.array_equal(known[~np.isnan(known)], np.where(y[kept] == 5.0, 1.0, -1.0))


def test_records_that_say_nothing_have_no_features():
    points, y = cloud(3000)
    for features, targets in blocks_of(fixed((points, y))):
        silent = np.isnan(targets[:, 0])
        assert silent.any() and not features[silent].any()
        assert features[~silent].any(axis=1).all()


def test_a_user_kernel_never_sees_a_missing_value_or_an_undeclared_label():
    seen = []

    def watching(x, z):
        seen.append(x.copy())
        return np.exp(-((x[:, None] - z[None]) ** 2).sum(axis=2))

    features = features_of(sf.UserKernel(watching, 1.0), sf.Landmarks(9), BOX)
    seen.clear()
    points, y = np.array([[np.nan, 20.0], [110.0, 60.0], [0.0, 10.0]]), np.array([1.0, 7.0, 5.0])
    blocks_of(fixed((points, y), features))
    assert np.unique(np.concatenate(seen), axis=0).tolist() == [[-0.5, -0.5], [0.0, 0.0]]


def test_passes_see_the_same_whether_features_are_kept_or_computed_again(monkeypatch):
    data = cloud(9000)
    kept = fixed(data)
    first, second = blocks_of(kept), blocks_of(kept)
    monkeypatch.setattr(memory, "_KEPT", 10)
    again = fixed(data)
    for blocks in (second, blocks_of(again), blocks_of(again)):
        for (f, t), (g, u) in zip(first, blocks, strict=True):
            assert np.array_equal(f, g) and np.array_equal(t, u, equal_nan=True)


def test_however_the_table_is_cut_a_pass_finds_the_same_bits(tmp_path):
    points, y = cloud(15_000)
    columns = {"age": points[:, 0], "bmi": points[:, 1], "y": y}
    table = pa.table(columns)
    parquet.write_table(table, tmp_path / "t.parquet", row_group_size=1234)
    pd.DataFrame(columns).to_csv(tmp_path / "t.csv", index=False)
    sources = [
        (points, y), pd.DataFrame(columns), pl.DataFrame(columns), table, tmp_path / "t.parquet", tmp_path / "t.csv",
        pa.concat_tables([table[:100], table[100:9000], table[9000:]]),
        (points[::-1].copy(), y[::-1].copy()),
    ]  # fmt: skip
    weights = Weights(np.random.default_rng(1).normal(size=(1, FEATURES.size)))
    found = set()
    for source in sources:
        problem = Problem(fixed(source), Logistic(), 1e-3, 1.0, np.zeros((1, FEATURES.size)))
        point = evaluate(problem, weights, curved=True)
        found.add((point.gradient.tobytes(), point.hessian.tobytes()))
    assert len(found) == 1


@pytest.mark.parametrize("every", [2, 7, 100])
def test_a_sample_is_chosen_by_what_records_hold(every):
    """About one in ``every``: within five standard deviations, which the fixed data meet or not once and for all."""
    rows = 20_000
    points = np.random.default_rng(every).uniform(0, 110, size=(rows, 2))
    y = np.where(np.arange(rows) % 2, 1.0, 5.0)
    features = features_of(sf.LinearKernel(0.0), sf.Coordinates(), BOX)

    def chosen(order):
        few = FixedPoint(labelled((points[order], y[order]), TWO), features).sample(every)
        found = np.concatenate([np.c_[f, t][~np.isnan(t[:, 0])] for f, t in blocks_of(few)])
        assert few.known() == len(found)
        return found[np.lexsort(found.T)]

    seen = chosen(slice(None))
    assert abs(len(seen) - rows / every) < 5 * math.sqrt(rows / every)
    assert np.array_equal(seen, chosen(slice(None, None, -1)))
    assert abs(np.count_nonzero(seen[:, -1] > 0) - len(seen) / 2) < 5 * math.sqrt(len(seen)) / 2


def test_equal_records_are_chosen_together():
    features = features_of(sf.LinearKernel(0.0), sf.Coordinates(), BOX)
    for row in np.random.default_rng(1).uniform(0, 110, size=(20, 2)):
        few = FixedPoint(labelled((np.tile(row, (50, 1)), np.full(50, 5.0)), TWO), features).sample(3)
        assert few.known() in (0, 50)


def test_examples_that_say_nothing_are_not_counted():
    points = np.array([[30.0, 20.0], [np.nan, 20.0], [40.0, 25.0], [41.0, 25.0]])
    features = features_of(sf.LinearKernel(0.0), sf.Coordinates(), BOX)
    assert FixedPoint(labelled((points, np.array([1.0, 5.0, 3.0, 5.0])), TWO), features).known() == 2


# --- private ----------------------------------------------------------------------------------------------------


def test_neither_prints_copies_nor_pickles():
    source = labelled(cloud(10), TWO)
    for thing, text in ((source, "<private labelled records>"), (fixed(cloud(10)), "<private examples>")):
        assert repr(thing) == str(thing) == text
        for leak in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(PrivateDataError):
                leak(thing)
