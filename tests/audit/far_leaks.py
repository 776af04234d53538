"""Folds over hostile records on Dask or Spark, each in its own process: ``python far_leaks.py KIND FOLDER [control]``.

Kinds are dask, spark, connect (Spark Connect), cast (a frame of Spark's that fails by itself) and spill (workers of
Dask that have no room).

Whatever it raises is printed, as a notebook would. ``test_far_leaks.py`` looks for the marker in all that is left.
"""

from __future__ import annotations

import logging
import sys
import traceback
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

import sfumato as sf
from contracts.far import Telling
from sfumato.engines.cells import Cells
from sfumato.engines.passes import Counts

MARKER = 9007199254740993  # a whole number that no double holds: a cast that is safe names it
WORD = "MARKER-hidden-word"
BOX = sf.Box({"a": (0, 10), "t": sf.Categorical(["f", "m"])})


def rows():
    return pa.table(
        {
            "a": pa.array([MARKER, 3, 4, None] * 25, pa.int64()),
            "t": pa.array([WORD, "f", None, "m"] * 25),
            "who": pa.array([WORD, "p", "q", ""] * 25),
        }
    )


def files(folder):
    """A Parquet file whose text is no text, and a CSV file with a torn line."""
    bad = pa.array([WORD.encode() + b"\xff", b"f", None, b"m"] * 25, pa.binary()).view(pa.string())
    parquet.write_table(rows().set_column(1, "t", bad), folder / "bad.parquet", row_group_size=30)
    (folder / "torn.csv").write_text(f'a,t\n{MARKER},{WORD}\n"{WORD},1\n{MARKER},{WORD},{WORD},2\n{WORD},f\n')
    return [folder / "bad.parquet", folder / "torn.csv"]


def attempt(what):
    try:
        what()
    except BaseException:
        traceback.print_exc()
        print("an exception", file=sys.stderr)


def folds(engine, frame, sources, ledger):
    """Passes that work and one that tells, for rows and persons; a learner; tables; a file that is none any more."""
    counts, tell = Counts(Cells(BOX, (5, 2))), Telling(BOX)
    for data in (frame, *sources):
        for unit in ("row", sf.Person("who", 2)):
            for one in (counts, tell):
                attempt(lambda d=data, u=unit, p=one: engine.fold(engine.open(d, BOX, u), p))
    line, pure = sf.Box({"a": (0, 10)}), sf.Privacy(epsilon=1.0)
    learner = sf.LogisticRegression(3.0, response="t", classes=["f", "m"], mechanism="output")
    attempt(lambda: sf.release(learner, frame, line, pure, engine=engine))
    attempt(lambda: sf.synthesize(frame, BOX, pure, engine=engine))
    attempt(lambda: sf.Ledger(ledger).account("clinic", pure, data=frame))
    records = engine.open(sources[0], BOX, "row")
    sources[0].write_bytes(WORD.encode() * 100)
    attempt(lambda: engine.fold(records, counts))


def on_dask(folder, hostile):
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    cluster = LocalCluster(
        n_workers=1, threads_per_worker=2, local_directory=str(folder / "temporary"), dashboard_address="127.0.0.1:0"
    )
    with Client(cluster) as client:
        frame = dd.from_pandas(rows().to_pandas(), npartitions=4)
        folds(sf.engines.Dask(client), frame, hostile, folder / "budget.db")
        if "control" in sys.argv:
            # of one word alone, as which partition fails first, and at which word, is a matter of chance
            attempt(lambda: frame["t"][frame["t"] == WORD].astype(float).compute())
        (folder / "workers.log").write_text(repr(client.get_worker_logs()) + repr(client.get_scheduler_logs()))
    cluster.close()


def on_spark(folder, hostile):
    from pyspark.sql import SparkSession

    options = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": (folder / "events").as_uri(),
        "spark.local.dir": str(folder / "temporary"),
        "spark.io.encryption.enabled": "true",
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in options.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("INFO")
    frame = spark.createDataFrame([tuple(row.values()) for row in rows().to_pylist()], "a bigint, t string, who string")
    folds(sf.engines.Spark(spark), frame.repartition(3), hostile, folder / "budget.db")
    if "control" in sys.argv:

        def cast(batches):
            for batch in batches:
                yield pa.record_batch({"a": batch.column(0).cast(pa.float64())})

        attempt(lambda: frame.select("a").mapInArrow(cast, "a double").collect())
    spark.stop()


def on_connect(folder, hostile):
    from contracts.connecting import OPTIONS, client, frame_of

    OPTIONS["spark.local.dir"] = str(folder / "temporary")
    OPTIONS["spark.io.encryption.enabled"] = "true"
    spark = client()
    frame = frame_of(spark, rows().to_pandas().fillna({"a": 0.0})).repartition(3)
    folds(sf.engines.Spark(spark), frame, hostile, folder / "budget.db")


def on_cast(folder, hostile):
    """What Java logs, and PySpark's own logger of errors, quote a text that is cast to a number."""
    from sfumato.engines.spark import session_at

    spark = session_at("local[1]")
    frame = spark.createDataFrame([(WORD,)], "t string").selectExpr("cast(t as double) as a")
    box = sf.Box({"a": (0, 10)})
    attempt(lambda: sf.release(sf.KDE(1.0), frame, box, sf.Privacy(epsilon=1.0)))
    if "control" in sys.argv:
        attempt(frame.collect)
    spark.stop()
    attempt(lambda: sf.release(sf.KDE(1.0), frame, box, sf.Privacy(epsilon=1.0)))  # Spark went away


def on_spill(folder, hostile):
    """Partitions, features and persons' rows that workers hold where the least memory is too much."""
    import dask
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    for what in ("target", "spill"):
        dask.config.set({f"distributed.worker.memory.{what}": 1e-7 if "control" in sys.argv else False})
    place = str(folder / "temporary")
    cluster = LocalCluster(n_workers=1, memory_limit="1GiB", local_directory=place, dashboard_address="127.0.0.1:0")
    with Client(cluster) as client:
        frame = dd.from_pandas(rows().to_pandas(), npartitions=4).persist(scheduler=client)
        records = (engine := sf.engines.Dask(client)).open(frame, BOX, sf.Person("who", 2))
        attempt(lambda: engine.fold(records, Counts(Cells(BOX, (5, 2)))))
        for spilled in (folder / "temporary").rglob("*"):  # they go with the worker
            if spilled.is_file():
                (folder / f"{spilled.name[-20:]}.kept").write_bytes(spilled.read_bytes())
    cluster.close()


KINDS = {"dask": on_dask, "spark": on_spark, "connect": on_connect, "cast": on_cast, "spill": on_spill}

if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    place = Path(sys.argv[2])
    for name in ("data", "events", "temporary"):
        (place / name).mkdir()
    KINDS[sys.argv[1]](place, files(place / "data"))
