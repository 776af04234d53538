"""``--engine``, ``--scheduler`` and ``--master``, on any command that publishes."""

import shutil
import subprocess
import sys

import numpy as np
import pytest

import sfumato as sf
from opening import counted
from sfumato.engines.memory import MemoryEngine

ORDER = ("cohort.csv", "--column", "age:0:110", "--bandwidth", "12", "--basis", "binning:9", "--epsilon", "1", "--json")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ages = np.random.default_rng(5).normal(50, 12, 200).round(1)
    (tmp_path / "cohort.csv").write_text("age\n" + "\n".join(map(str, ages)) + "\n")
    return tmp_path


def test_dask_publishes_what_memory_does(sfumato, here, monkeypatch):
    pytest.importorskip("dask", reason="Dask is not installed")
    from sfumato.engines.dask import Dask

    seen, fold = [], Dask.fold
    monkeypatch.setattr(Dask, "fold", lambda self, *rest: seen.append(fold(self, *rest)) or seen[-1])
    found = sfumato("density", *ORDER, "--engine", "dask").data
    assert found["kind"] == sfumato("density", *ORDER, "--force", "--engine=memory").data["kind"]
    assert len(seen) == 1
    cells = seen[0].counts((-1,))
    rows, counts = counted("cohort.csv", sf.Box({"age": (0, 110)}), cells.shape, engine=MemoryEngine())
    assert (seen[0].rows, cells.tolist()) == (rows, counts.tolist())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--engine", "ray"), "--engine must be memory, dask or spark, got 'ray'"),
        (("--scheduler", "tcp://127.0.0.1:1"), "--scheduler goes with --engine dask, got --engine memory"),
        (("--engine", "dask", "--master", "local"), "--master goes with --engine spark, got --engine dask"),
        (("--engine",), "--engine needs a value"),
    ],
)
def test_refusals(sfumato, here, options, words):
    found = sfumato("density", *ORDER[:-1], *options)
    found.failed(2, words)
    assert not (here / "cohort.sfumato").exists()


def test_no_java_is_said(monkeypatch, tmp_path):
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    from sfumato.engines import spark
    from sfumato.errors import EngineError

    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineError, match=r"Spark needs Java 17 or later, and none was found: install Java 17"):
        spark._check_java()
    old = tmp_path / "java"
    old.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    old.chmod(0o755)
    with pytest.raises(EngineError, match=r"Spark needs Java 17 or later, got Java 11 \("):
        spark._check_java()


@pytest.mark.slow
def test_a_master_that_is_not_there_is_said(here):
    """In a process of its own, as one has one session of Spark's."""
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    if shutil.which("java") is None:
        pytest.skip("there is no Java to run Spark on")
    command = [
        sys.executable,
        "-m",
        "sfumato.cli",
        "density",
        *ORDER[:-1],
        "--engine",
        "spark",
        "--master",
        "spork://x",
    ]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    told = " ".join(run.stderr.split())
    assert run.returncode == 1 and "no session of Spark could be started at 'spork://x'" in told
    assert "nothing was released, and nothing was charged" in told
    assert not (here / "cohort.sfumato").exists()


def test_a_server_of_spark_connect_that_is_not_there_is_said(monkeypatch):
    """Its client alone asks for many minutes."""
    for name in ("pyspark", "grpc", "grpc_status"):
        pytest.importorskip(name, reason="Spark Connect is not installed")
    from sfumato.engines import spark
    from sfumato.errors import EngineError

    monkeypatch.setattr(spark, "_PATIENCE", 0.5)
    words = r"no session of Spark could be started at 'sc://127.0.0.1:1' .* nothing was charged"
    with pytest.raises(EngineError, match=words):
        spark.session_at("sc://127.0.0.1:1")


def test_a_server_of_spark_connect_needs_its_client(monkeypatch):
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    from sfumato.engines.spark import session_at
    from sfumato.errors import MissingExtraError

    monkeypatch.setitem(sys.modules, "grpc", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'sfumato\[spark\]'"):
        session_at("sc://127.0.0.1:1")
