"""What engines cost: processor time of Dask and Spark over that of memory, interleaved; and a long run.

``python -m benchmarks scaling`` takes 10^7 rows. ``SFUMATO_ROWS=1e8`` takes more; ``SFUMATO_LONG=1e9`` adds a run of so
many rows, which are written to a temporary folder first (16 bytes each) where there is room.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import sfumato as sf
from benchmarks.timing import row
from sfumato.engines.cells import Cells
from sfumato.engines.memory import MemoryEngine
from sfumato.engines.passes import Counts, Pass

BOX = sf.Box({"a": (0, 10), "b": (0, 10)})
LABELLED = sf.Box({"a": (0, 10), "b": (0, 10), "y": sf.Categorical([0, 1])})
DENSITY = Counts(Cells(BOX, (256, 256)))
_GROUP = 1_000_000


def write(path: Path, rows: int, columns: str = "aby") -> Path:
    """Made-up records as Parquet, a million in each row group."""
    generator = np.random.default_rng(1)
    schema = pa.schema([(name, pa.float64()) for name in columns])
    with parquet.ParquetWriter(path, schema, compression="none", use_dictionary=False) as file:
        for start in range(0, rows, _GROUP):
            count = min(_GROUP, rows - start)
            points = generator.uniform(0, 10, size=(2, count))
            made = {"a": points[0], "b": points[1], "y": (points[0] + generator.normal(size=count) > 5) * 1.0}
            file.write_table(pa.table({name: made[name] for name in columns}), row_group_size=_GROUP)
    return path


@dataclass(frozen=True)
class Watching(MemoryEngine):
    """Remembers what was folded."""

    passes: list[Pass] = field(default_factory=list)

    def fold(self, records: Any, one: Pass) -> Any:
        self.passes.append(one)
        return super().fold(records, one)


def gradient() -> Pass:
    """One gradient of a logistic regression, curvature included."""
    engine, generator = Watching(), np.random.default_rng(2)
    points = generator.uniform(0, 10, size=(2, 500))
    table = pa.table({"a": points[0], "b": points[1], "y": np.arange(500) % 2 * 1.0})
    target = sf.LogisticRegression(3.0, response="y", classes=[0, 1], mechanism="output")
    sf.release(target, table, BOX, sf.Privacy(epsilon=1.0), engine=engine)
    return max((one for one in engine.passes if hasattr(one, "slices")), key=lambda one: one.size)


def used() -> float:
    """Processor time of this process and all that it started, so far."""
    import psutil

    me = psutil.Process()
    total = 0.0
    for process in [me, *me.children(recursive=True)]:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system + times.children_user + times.children_system  # those that ended, too
    return total


def interleaved(calls: dict[str, Callable[[], Any]], repeats: int = 5) -> dict[str, float]:
    """The median processor time of each, one after the other so many times, after a warm-up."""
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats + 1):
        for name, call in calls.items():
            before = used()
            call()
            found[name].append(used() - before)
    return {name: statistics.median(times[1:]) for name, times in found.items()}


def folding(engine: Any, data: Any, one: Pass) -> Callable[[], Any]:
    """A fold, from opening on: nothing that was made stays for the next."""
    return lambda: engine.fold(engine.open(data, one.box, "row"), one)


def on_dask(path: Path, rows: int) -> list[dict[str, Any]]:
    import dask.dataframe as dd

    lines = []
    for what, one in (("density of 2 columns", DENSITY), ("one gradient", gradient())):
        frame = dd.read_parquet(path, columns=list(one.box.names))
        times = interleaved(
            {
                "memory": folding(MemoryEngine(), path, one),
                "paths": folding(sf.engines.Dask(), path, one),
                "frame": folding(sf.engines.Dask(), frame, one),
            }
        )
        lines += [
            row(f"Dask from paths, {rows:.0e} rows, {what}", times["paths"] / times["memory"], "of memory", "<= 1.3"),
            row(f"Dask from a frame, {rows:.0e} rows, {what}", times["frame"] / times["memory"], "of memory", "<= 2"),
        ]
    return lines


def on_spark(path: Path, rows: int) -> list[dict[str, Any]]:
    from sfumato.engines.spark import session_at

    spark = session_at("local[2]")
    spark.sparkContext.setLogLevel("OFF")
    engine, lines = sf.engines.Spark(spark), []

    def count(batches: Any) -> Any:
        yield pa.record_batch({"rows": [sum(batch.num_rows for batch in batches)]})

    for what, one, most in (("density of 2 columns", DENSITY, "<= 5"), ("one gradient", gradient(), "<= 1.3")):
        frame = spark.read.parquet(str(path)).select(*one.box.names)
        times = interleaved(
            {
                "memory": folding(MemoryEngine(), path, one),
                "paths": folding(engine, path, one),
                "frame": folding(engine, frame, one),
                "count": lambda frame=frame: frame.mapInArrow(count, "rows long").collect(),
            },
            3,
        )
        asked = "<= 1.5" if one is DENSITY else None
        frames, paths = times["frame"] / times["count"], times["paths"] / times["memory"]
        lines += [
            row(f"Spark from a frame, {rows:.0e} rows, {what}", frames, "of counting", asked),
            row(f"Spark from paths, {rows:.0e} rows, {what}", paths, "of memory", most if rows >= 1e8 else None),
        ]
    spark.stop()
    return lines


_LONG = """
import resource, sys, time
import sfumato as sf
from benchmarks.scaling import DENSITY
engine = sf.engines.Dask()
engine.fold(engine.open(sys.argv[3], DENSITY.box, "row"), DENSITY)  # imports take longer than ten million rows
start = time.process_time()
totals = engine.fold(engine.open(sys.argv[1], DENSITY.box, "row"), DENSITY)
assert totals.rows == int(sys.argv[2])
print(time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)
"""


def long_run(folder: Path, rows: int) -> list[dict[str, Any]]:
    """A density by Dask of very many rows: how much memory, and whether time is linear from 10^7 on."""
    if shutil.disk_usage(folder).free < 1.5 * 16 * rows:
        return [row(f"density by Dask, {rows:.0e} rows: skipped, the disk is too small", 0, "-")]
    found, warm = {}, write(folder / "warm.parquet", 10**5, "ab")
    for size in (10**7, rows):
        path = write(folder / "long.parquet", size, "ab")
        command = [sys.executable, "-c", _LONG, str(path), str(size), str(warm)]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        found[size] = (float(said[0]) / size, float(said[1]))
        path.unlink()
    ratio = found[rows][0] / found[10**7][0]
    return [
        row(f"density by Dask, {rows:.0e} rows: memory", found[rows][1], "GB", "<= 1"),
        row(f"density by Dask, {rows:.0e} rows: time for each row over that of 1e+07", ratio, "times", "<= 1.2"),
        row(f"density by Dask, {rows:.0e} rows: processor time", found[rows][0] * rows, "s"),
    ]


def run() -> list[dict[str, Any]]:
    """All of it."""
    rows, long = int(float(os.environ.get("SFUMATO_ROWS", "1e7"))), os.environ.get("SFUMATO_LONG")
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "records.parquet", rows)
        lines += on_dask(path, rows)
        if shutil.which("java"):
            lines += on_spark(path, rows)
        path.unlink()
        lines += long_run(Path(folder), int(float(long))) if long else []
    return lines
