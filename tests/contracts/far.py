"""Frames of Dask and Spark for tests, one session for all of them, and a reason where there is none."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sfumato as sf

TESTS = str(Path(__file__).parents[1])  # where workers find the passes below


@dataclass(frozen=True)
class Dying:
    """A pass that kills its worker, as often as there are files to remove, and else counts."""

    folder: str
    box: sf.Box
    features = None
    size = 1
    largest = 1

    def add(self, total, columns):
        for name in os.listdir(self.folder)[:1]:
            os.remove(os.path.join(self.folder, name))
            os.kill(os.getpid(), signal.SIGKILL)
        total += np.count_nonzero(columns[0] > 5)


@dataclass(frozen=True)
class Telling:
    """A pass that raises what it reads, and prints and warns of it."""

    box: sf.Box
    features = None
    size = 1
    largest = 1

    def add(self, total, columns):
        import warnings

        told = " ".join(str(value) for values in columns for value in list(values))
        warnings.warn(told, stacklevel=1)
        raise ValueError(told)


def dask_frame(data, parts):
    """A Dask DataFrame of a pandas frame, in so many partitions as far as rows go."""
    pytest.importorskip("dask.dataframe", reason="Dask is not installed")
    import dask.dataframe as dd

    cuts = np.linspace(0, len(data), parts + 1).astype(int)
    return dd.concat([dd.from_pandas(data.iloc[a:b], npartitions=1) for a, b in pairwise(cuts)])


@cache
def session():
    """A Spark session of two threads that is quiet and writes an event log; the test is skipped where none starts."""
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("there is no Java to run Spark on")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [TESTS, os.environ.get("PYTHONPATH")]))
    from pyspark.sql import SparkSession

    options = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.adaptive.enabled": "false",
    }
    builder = SparkSession.builder.master("local[2,4]").appName("tests")
    for name, value in options.items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    return made


def plain(data):
    """Rows of Python's own values, and the types of the columns in words of SQL."""
    named = {"f": "double", "i": "bigint", "M": "timestamp_ntz"}
    kinds = ", ".join(
        f"`{key.replace('`', '``')}` {named.get(kind.kind, 'string')}" for key, kind in data.dtypes.items()
    )
    rows = [tuple(None if pd.isna(value) else _own(value) for value in row) for row in data.itertuples(index=False)]
    return rows, kinds


def _own(value):
    if isinstance(value, pd.Timestamp):
        return value.to_pydatetime()
    return getattr(value, "item", lambda: value)()


def spark_frame(data, parts):
    """A Spark DataFrame of a pandas frame, in so many partitions."""
    made = session()
    rows, kinds = plain(data)
    return made.createDataFrame(made.sparkContext.parallelize(rows, parts), kinds)
