"""Dask and Spark add up to the same bits as memory, whatever the order, the partitions and the batches."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from functools import cache

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import sfumato as sf
from contracts.far import TESTS, dask_frame, session, spark_frame
from contracts.folding import MIXED, PLANE, PURE, ROWS, STEPPING, SUMMING, TWO, WHOLE, YEAR, passes_of, released, table
from contracts.test_passes import folded, shuffled
from opening import numbers_of
from sfumato.engines.cells import Cells
from sfumato.engines.memory import MemoryEngine
from sfumato.engines.passes import Counts, Together
from sfumato.errors import EngineError, ParameterError, ParameterTypeError, SchemaError

targets = pytest.mark.parametrize("name", SUMMING)


def expected(one):
    return folded(one, table(), one.box, MemoryEngine())


@pytest.mark.few(1)
@targets
def test_dask_adds_up_to_the_same_bits(name):
    data = table()
    for one in passes_of(name):
        found = [folded(one, dask_frame(data[::-1], 13), one.box, sf.engines.Dask())]
        found += [folded(one, dask_frame(shuffled(data), parts), one.box, sf.engines.Dask()) for parts in (1, 8)]
        assert found == [expected(one)] * 3


@cache
def all_passes():
    """Every pass of every target, those that agree on their columns as one: a job of Spark's takes seconds."""
    groups, single = [], []
    for one in (one for name in SUMMING for one in passes_of(name)):
        if one.features is not None:
            single.append(one)
            continue
        for place, group in enumerate(groups):
            with suppress(ParameterError):
                groups[place] = Together((*group.passes, one))
                break
        else:
            groups.append(Together((one,)))
    assert sum(len(group.passes) for group in groups) + len(single) > 25
    return [*groups, *single]


@cache
def many():
    """More rows than a batch has, in one partition too."""
    return pd.concat([table(seed) for seed in range(5)], ignore_index=True)


@pytest.mark.slow
@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("parts", [1, 8, 13])
def test_spark_adds_up_to_the_same_bits(parts, place):
    """Every pass, on reversed rows, in batches of 777."""
    session().conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "777")
    try:
        frame = spark_frame(many()[::-1], parts)
        for one in all_passes()[place::3]:
            want = folded(one, many(), one.box, MemoryEngine())
            assert folded(one, many()[::-1], one.box, MemoryEngine(777)) == want
            assert folded(one, frame, one.box, sf.engines.Spark(session())) == want
    finally:
        session().conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")


# --- paths ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path):
    """The same records as one Parquet file of many row groups, a folder of files, a CSV file, and three of them."""
    data = table().replace([np.inf, -np.inf], 1e308)  # in a CSV file that is no number
    arrow = pa.Table.from_pandas(data, preserve_index=False)
    (tmp_path / "folder.parquet").mkdir()
    parquet.write_table(arrow, tmp_path / "one.parquet", row_group_size=31)
    paths = []
    for place, start in enumerate(range(0, ROWS, 150)):
        parquet.write_table(arrow[start : start + 150], tmp_path / "folder.parquet" / f"{place}.parquet")
        paths.append(tmp_path / f"{place}.csv")
        data[start : start + 150].to_csv(paths[-1], index=False)
    data.to_csv(tmp_path / "all.csv", index=False)
    return [tmp_path / "one.parquet", tmp_path / "folder.parquet", str(tmp_path / "all.csv"), paths]


@pytest.mark.few(2)
@pytest.mark.parametrize("name", ["density", "count", "moments", "logistic regression", "curve", "bounds"])
def test_dask_reads_files_to_the_same_bits(name, files, monkeypatch):
    monkeypatch.setattr("sfumato.engines.clusters._ROWS", 60)
    for one in passes_of(name):
        want = folded(one, files[0], one.box, MemoryEngine())
        for data in files:
            assert folded(one, data, one.box, sf.engines.Dask()) == want


@pytest.mark.slow
@pytest.mark.parametrize("name", ["count", "logistic regression"])
def test_spark_reads_files_to_the_same_bits(name, files, monkeypatch):
    monkeypatch.setattr("sfumato.engines.clusters._ROWS", 60)
    (one, *_) = passes_of(name)
    want = folded(one, files[0], one.box, MemoryEngine())
    for data in (files[1], files[3]):
        assert folded(one, data, one.box, sf.engines.Spark(session())) == want


def test_files_of_one_list_must_have_the_same_columns(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    (tmp_path / "b.csv").write_text("b,a\n1,2\n")
    with pytest.raises(SchemaError, match="must have the same columns"):
        sf.engines.Dask().open([tmp_path / "a.csv", tmp_path / "b.csv"], sf.Box({"a": (0, 1)}), "row")


# --- releases -------------------------------------------------------------------------------------------------------


LEARNERS = {  # none that starts from noisy counts: its weights are another draw each time
    "logistic": sf.KernelMachine("logistic", "rbf", 3.0, "t", ["f", "m"], mechanism="output", prior="even"),
    "hinge": sf.KernelMachine("hinge", sf.LinearKernel(), 3.0, "t", ["f", "m"], mechanism="output"),
    "squared": sf.Ridge(3.0, response="y", range=(0, 10), mechanism="output"),
    "several classes": sf.LogisticRegression(3.0, response="g", classes=[0, 1, 2], mechanism="output", prior="even"),
    "on categories": sf.KernelMachine("hinge", "rbf", 3.0, "g", [0, 1], mechanism="output"),
}
ON = {"on categories": sf.Box({"a": (0, 10), "t": TWO, "d": YEAR})}


def weights(monkeypatch, name, data, engine):
    """What a learner has learned, before noise, and in how many passes."""
    from sfumato import pipeline

    seen, publish = [], pipeline.publish

    def watched(private, *rest):
        seen.append(private._values.tobytes())
        return publish(private, *rest)

    monkeypatch.setattr(pipeline, "publish", watched)
    basis, passes = sf.Landmarks(9) if name in ("logistic", "on categories") else "auto", 0

    class Counting(type(engine)):
        def fold(self, records, one):
            nonlocal passes
            passes += 1
            return super().fold(records, one)

    counting = Counting(*vars(engine).values())
    sf.release(LEARNERS[name], data, ON.get(name, PLANE), PURE, engine=counting, basis=basis)
    monkeypatch.undo()
    return seen[0], passes


@pytest.mark.few(1)
@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner_has_the_same_weights_on_dask(name, monkeypatch):
    data = table()
    bits, passes = weights(monkeypatch, name, data, MemoryEngine())
    for frame in (dask_frame(data[::-1], 8), dask_frame(shuffled(data), 3)):
        found, again = weights(monkeypatch, name, frame, sf.engines.Dask())
        assert found == bits
        assert again <= passes + 1


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner_has_the_same_weights_on_spark(name, monkeypatch):
    data = table()
    bits, passes = weights(monkeypatch, name, data, MemoryEngine())
    found, again = weights(monkeypatch, name, spark_frame(shuffled(data), 2), sf.engines.Spark(session()))
    assert found == bits
    assert again <= passes + 1


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("name", "of_a_frame", "of_parquet"),
    [
        ("density", 1, 1),
        ("curve", 1, 1),
        ("naive Bayes", 1, 1),
        ("moments", 1, 1),
        ("bounds", 1, 1),
        ("count", 1, 1),
        ("mean", 2, 1),
        ("variance", 2, 1),
        ("variance in two steps", 3, 2),
        ("tables", 2, 1),
        ("descent", 65, 64),
    ],
)
def test_targets_take_as_many_passes_as_is_told(name, of_a_frame, of_parquet, files, monkeypatch):
    """The table of docs/scaling.md."""
    folds, fold = [], sf.engines.Dask.fold
    monkeypatch.setattr(sf.engines.Dask, "fold", lambda *given: folds.append(given) or fold(*given))
    for data, count in ((dask_frame(table(), 2), of_a_frame), (files[0], of_parquet)):
        folds.clear()
        released(name, sf.engines.Dask(), data)
        assert len(folds) == count


def test_frames_of_dask_are_recognised():
    assert released("mean", "auto", dask_frame(table(), 3)).guarantee == released("mean").guarantee
    assert released("count", "auto", dask_frame(table(), 3)).guarantee == released("count").guarantee


@pytest.mark.few(1)
@pytest.mark.parametrize("name", STEPPING)
def test_what_follows_noise_is_released_from_frames_too(name):
    assert released(name, "auto", dask_frame(table(), 3)).guarantee == released(name).guarantee


def test_every_call_that_takes_data_takes_frames():
    def made(data):
        return [
            sf.synthesize(data, MIXED, PURE, label="t").guarantee,
            sf.summarize(data, PLANE, PURE, degree=4).guarantee,
            sf.private_bounds(data, "a", PURE).guarantee,
        ]

    assert made(dask_frame(table(), 3)) == made(table())


@pytest.mark.slow
def test_frames_of_spark_are_recognised():
    assert released("mean", "auto", spark_frame(table(), 3)).guarantee == released("mean").guarantee


@pytest.mark.parametrize("name", WHOLE)
def test_what_is_no_sum_says_that_it_needs_the_whole(name):
    with pytest.raises(ParameterError, match="needs the whole table at once"):
        released(name, "auto", dask_frame(table(), 3))


# --- refusals -------------------------------------------------------------------------------------------------------


def test_a_frame_without_the_columns_is_refused():
    with pytest.raises(SchemaError, match="the data have no column 'a'"):
        released("mean", data=dask_frame(table()[["b", "y"]], 2))
    with pytest.raises(SchemaError, match="column 'a' must be numeric"):
        released("mean", data=dask_frame(table().assign(a="text"), 2))


def test_a_table_in_memory_is_none_of_dasks():
    with pytest.raises(ParameterTypeError, match="must be a Dask DataFrame, a path"):
        released("mean", sf.engines.Dask())
    with pytest.raises(ParameterTypeError, match="client must be a distributed"):
        sf.engines.Dask("tcp://somewhere")


def test_a_frame_that_changes_between_passes_is_refused():
    def restless(part):
        return part.assign(a=np.random.default_rng().uniform(0, 10, len(part)))

    data = dask_frame(table(), 4)
    engine, (one,) = sf.engines.Dask(), passes_of("density")
    records = engine.open(data.map_partitions(restless, meta=data._meta), one.box, "row")
    engine.fold(records, one)
    with pytest.raises(EngineError, match=r"changed between two passes.*nothing was released, and nothing was charged"):
        engine.fold(records, one)


def test_a_frame_that_grows_before_its_features_are_made_is_refused(tmp_path):
    """The number of rows is public under replacement: a learner's sensitivity is for as many as were counted."""
    grown = tmp_path / "grown"

    def growing(part):
        return pd.concat([part, part]) if grown.exists() else part

    data = dask_frame(table(), 4)
    engine, one = sf.engines.Dask(), passes_of("ridge regression")[-1]
    assert one.features is not None
    records = engine.open(data.map_partitions(growing, meta=data._meta), one.box, "row")
    assert records.rows == ROWS
    grown.touch()
    with pytest.raises(EngineError, match="changed between two passes"):
        engine.fold(records, one)


def test_a_frame_that_grows_before_a_learner_learns_is_not_released():
    seen = []

    def growing(part):
        seen.append(1)
        return part if len(seen) < 5 else pd.concat([part, part, part])

    data = dask_frame(table(), 4)
    with pytest.raises(EngineError, match="changed between two passes"):
        released("ridge regression", "auto", data.map_partitions(growing, meta=data._meta))


def test_a_sample_of_the_features_has_another_number_of_rows():
    from dataclasses import replace

    one = passes_of("logistic regression")[-1]
    engine = sf.engines.Dask()
    records = engine.open(dask_frame(table(), 4), one.box, "row")
    few = engine.fold(records, replace(one, features=replace(one.features, every=4)))
    assert 0 < few.rows < ROWS / 2 < engine.fold(records, one).rows == records.rows == ROWS


@pytest.mark.slow
@pytest.mark.parametrize("kept", [True, False])
def test_a_spark_frame_that_grows_before_its_features_are_made_is_refused(kept, tmp_path, monkeypatch):
    monkeypatch.setattr("sfumato.engines.spark._KEPT", 2**24 if kept else 0)
    grown = str(tmp_path / "grown")

    def growing(batches):
        for batch in batches:
            yield batch
            if os.path.exists(grown):
                yield batch

    frame = spark_frame(table(), 3)
    engine, one = sf.engines.Spark(session()), passes_of("ridge regression")[-1]
    records = engine.open(frame.mapInArrow(growing, frame.schema), one.box, "row")
    assert records.rows == ROWS
    (tmp_path / "grown").touch()
    with pytest.raises(EngineError, match="changed between two passes"):
        engine.fold(records, one)


@pytest.mark.slow
def test_a_random_column_of_spark_is_refused_where_features_are_made_again(monkeypatch):
    """Catalyst takes the function for deterministic, as nobody said otherwise."""
    from pyspark.sql.functions import udf

    monkeypatch.setattr("sfumato.engines.spark._KEPT", 0)
    frame = spark_frame(table(), 3).withColumn("a", udf(lambda: float(os.urandom(1)[0]), "double")())
    with pytest.raises(EngineError, match=r"changed between two passes.*nothing was released, and nothing was charged"):
        released("ridge regression", sf.engines.Spark(session()), frame)


@pytest.mark.slow
def test_a_random_column_of_spark_is_drawn_once_where_features_are_kept():
    """Whatever was drawn, it is one table then: two passes over it see the same, and count it once."""
    from pyspark.sql.functions import udf

    frame = spark_frame(table(), 3).withColumn("a", udf(lambda: float(os.urandom(1)[0]), "double")())
    engine, one = sf.engines.Spark(session()), passes_of("ridge regression")[-1]
    records = engine.open(frame, one.box, "row")
    found = [numbers_of(engine.fold(records, one)._whole()).tolist() for _ in range(2)]
    assert found[0] == found[1]
    assert records.rows == ROWS


def test_a_partition_of_other_types_is_read_value_by_value():
    """Dask's own types are what the first partition had, or somebody declared: others may hold anything."""

    def spoiled(part, number):
        return part.astype({"a": object}).assign(a=[None, "12", *part["a"][2:]]) if number % 2 else part

    data = dask_frame(table(), 1)
    import dask
    import dask.dataframe as dd

    parts = [dask.delayed(spoiled)(table()[start : start + 100], start // 100) for start in range(0, ROWS, 100)]
    mixed = dd.from_delayed(parts, meta=data._meta, verify_meta=False)
    one = passes_of("density")[0]
    clean = table()
    clean.loc[[100, 101, 300, 301], "a"] = np.nan
    assert folded(one, mixed, one.box, sf.engines.Dask()) == folded(one, clean, one.box, MemoryEngine())


@pytest.mark.slow
def test_truth_with_a_value_missing_is_truth_on_spark():
    """By way of pandas a null would make objects of one part's booleans: a schema that depends on a value."""
    values = [True, False, True, None] * 3 + [True] * 7
    box = sf.Box({"b": sf.Categorical([True, False])})
    one = Counts(Cells(box, (2,)))
    frame = session().createDataFrame(session().sparkContext.parallelize([(v,) for v in values], 3), "b boolean")
    want = folded(one, pa.table({"b": values}), box, MemoryEngine())
    assert folded(one, frame, box, sf.engines.Spark()) == want == (19, [13, 3])


@pytest.mark.slow
def test_spark_connect_adds_up_to_the_same_bits():
    """In a process of its own, with a server beside it."""
    for name in ("pyspark", "grpc", "grpc_status"):
        pytest.importorskip(name, reason="Spark Connect is not installed")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("there is no Java to run Spark on")
    path = os.pathsep.join(filter(None, [TESTS, os.environ.get("PYTHONPATH")]))
    env = dict(os.environ, PYTHONPATH=path, PYSPARK_PYTHON=sys.executable)
    command = [sys.executable, "-W", "ignore", "-m", "contracts.connecting"]
    run = subprocess.run(command, env=env, capture_output=True, text=True, timeout=900, check=False)
    *said, refused = run.stdout.splitlines() or [""]
    same = [f"{name}: the same" for name in ("count", "logistic regression", "persons")]
    assert said == [*same, "DensityRelease"], run.stderr[-3000:]
    assert refused.startswith("the data have no column 'z'")


@pytest.mark.slow
def test_workers_of_spark_of_other_versions_say_so(monkeypatch):
    """The versions of whoever asks travel with each job; here it is this process that lies."""
    frame = spark_frame(table(), 2)
    monkeypatch.setattr("sfumato.engines.spark.VERSIONS", "sfumato 0.0.9 on Python 3.11")
    monkeypatch.setattr("sfumato.engines.clusters.VERSIONS", "sfumato 0.0.9 on Python 3.11")
    for name, unit in (("density", "row"), ("ridge regression", "row"), ("density", sf.Person("g", 2))):
        one = passes_of(name)[0]
        engine = sf.engines.Spark(session())
        records = engine.open(frame, one.box, unit, [])
        with pytest.raises(EngineError, match=r"a worker has other versions than this process \(sfumato .* on Python"):
            engine.fold(records, one)


NAMES = {"a": "a.b", "b": "A.B", "y": "y`", "t": "`t.` x", "g": "ß.g c0"}


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["row", "person"])
def test_columns_of_spark_may_have_any_names(unit):
    """Dots, backticks and names that differ in cases alone mean something else to Spark."""
    columns = dict(zip(MIXED.names, MIXED.columns, strict=True))
    box = sf.Box({NAMES[name]: kind for name, kind in columns.items()})
    one = Counts(Cells(box, (5, 2, 4, 2)))
    data = (crowd("whole") if unit == "person" else table()).rename(columns=NAMES | {"who": "w.`ho"})
    whose = sf.Person("w.`ho", 3) if unit == "person" else "row"
    memory, spark = MemoryEngine(), sf.engines.Spark(session())
    want = memory.fold(memory.open(data, box, whose, []), one)
    found = spark.fold(spark.open(spark_frame(data, 2), box, whose, []), one)
    assert numbers_of(found._whole()).tolist() == numbers_of(want._whole()).tolist()
    target = sf.Ridge(3.0, response="y`", range=(0, 10), mechanism="output")
    learned = sf.release(target, spark_frame(data, 2), sf.Box({"a.b": (0, 10), "A.B": (0, 10)}), PURE, engine=spark)
    assert type(learned).__name__ == "MachineRelease"


# --- persons --------------------------------------------------------------------------------------------------------


def crowd(kind):
    """Rows of ninety persons, some of them copies, and some of nobody, whose identifiers are of some type."""
    data = table().replace([np.inf, -np.inf], 1e308)
    data = pd.concat([data, data[::4]], ignore_index=True)
    who = np.arange(len(data)) % 90
    return data.assign(who={"whole": who, "text": [f"p{n}" if n else "" for n in who], "doubles": who / 4}[kind])


def of_persons(engine, data, one):
    totals = engine.fold(engine.open(data, one.box, sf.Person("who", 3), []), one)
    return totals.rows, numbers_of(totals._whole()).tolist()


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["whole", "text", "doubles"])
@pytest.mark.parametrize(
    "name", ["density", "count", "logistic regression", "curve", "variance", "descent", "tables of days"]
)
def test_the_same_rows_of_persons_count_on_dask(name, kind, tmp_path, monkeypatch):
    monkeypatch.setattr("sfumato.engines.clusters._ROWS", 60)
    data = crowd(kind)
    parquet.write_table(pa.Table.from_pandas(data, preserve_index=False), tmp_path / "t.parquet", row_group_size=50)
    data.to_csv(tmp_path / "t.csv", index=False)
    one = passes_of(name)[-1]
    want = of_persons(MemoryEngine(), data, one)
    assert 0 < want[0] <= 270
    for source in (dask_frame(shuffled(data), 7), dask_frame(data, 1), tmp_path / "t.parquet", tmp_path / "t.csv"):
        assert of_persons(sf.engines.Dask(), source, one) == want


def test_a_person_whose_number_has_two_types_is_one():
    """One missing value makes doubles of the whole numbers beside it, in its own partition."""
    import dask
    import dask.dataframe as dd

    data = table().assign(who=1)
    parts = [data[:200], data[200:].astype({"who": float})]
    mixed = dd.from_delayed([dask.delayed(part) for part in parts], meta=data[:0], verify_meta=False)
    one = passes_of("density")[0]
    assert of_persons(sf.engines.Dask(), mixed, one) == of_persons(MemoryEngine(), data, one)
    assert of_persons(sf.engines.Dask(), mixed, one)[0] == 3


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind"), [("count", "whole"), ("count", "text"), ("logistic regression", "doubles")])
def test_the_same_rows_of_persons_count_on_spark(name, kind, tmp_path, monkeypatch):
    monkeypatch.setattr("sfumato.engines.clusters._ROWS", 200)
    data, one = crowd(kind), passes_of(name)[-1]
    parquet.write_table(pa.Table.from_pandas(data, preserve_index=False), tmp_path / "t.parquet", row_group_size=150)
    want = of_persons(MemoryEngine(), data, one)
    for source in (spark_frame(shuffled(data), 3), tmp_path / "t.parquet"):
        assert of_persons(sf.engines.Spark(session()), source, one) == want
