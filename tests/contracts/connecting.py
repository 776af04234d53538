"""Folds through Spark Connect: ``python -m contracts.connecting``, as a process has sessions of one kind only.

A server on this machine, and its client as others get one; what adds up to other bits than in memory is printed.
"""

from __future__ import annotations

import os

from pyspark.sql import SparkSession

import sfumato as sf
from contracts.far import plain
from contracts.folding import LINE, PURE, passes_of, table
from contracts.test_far_engines import crowd, of_persons
from contracts.test_passes import folded
from sfumato.engines.engine import engine_for
from sfumato.engines.memory import MemoryEngine
from sfumato.engines.spark import session_at
from sfumato.errors import SchemaError

OPTIONS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
}


def client():
    """A server of two threads on this machine, at a port that is free, and a session that knows its address alone."""
    from pyspark.sql.connect.client import DefaultChannelBuilder  # pytest imports this module too: not everybody has it

    os.environ |= {"SPARK_TESTING": "1", "SPARK_CONNECT_AUTHENTICATE_TOKEN": "not-a-secret"}
    builder = SparkSession.builder.remote("local[2]")
    for name, value in OPTIONS.items():
        builder = builder.config(name, value)
    builder.getOrCreate()
    return session_at(f"sc://localhost:{DefaultChannelBuilder.default_port()}")


def frame_of(spark, data):
    """A Spark DataFrame of a pandas frame."""
    return spark.createDataFrame(*plain(data))


def main() -> None:
    spark = client()
    data, persons = table(), crowd("whole")
    frame, of_people = frame_of(spark, data[::-1]).repartition(3), frame_of(spark, persons).repartition(2)
    engine = engine_for("auto", frame)
    assert type(engine).__name__ == "Spark" and engine.session is not None
    for name in ("count", "logistic regression"):
        (one, *_) = passes_of(name)
        same = folded(one, frame, one.box, engine) == folded(one, data, one.box, MemoryEngine())
        print(f"{name}: {'the same' if same else 'other bits'}")
    (one, *_) = passes_of("density")
    same = of_persons(engine, of_people, one) == of_persons(MemoryEngine(), persons, one)
    print(f"persons: {'the same' if same else 'other bits'}")
    print(type(sf.release(sf.KDE(1.0), frame, LINE, PURE)).__name__)
    try:
        engine.open(frame, sf.Box({"z": (0, 1)}), "row")
    except SchemaError as error:
        print(error)


if __name__ == "__main__":
    main()
