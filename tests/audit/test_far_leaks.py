"""Nothing private is in what a cluster leaves behind: exceptions, workers' logs, event log, temporary folders."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from far_leaks import MARKER, WORD

HERE = Path(__file__).parent
FORMS = [
    str(MARKER).encode(),
    WORD.encode(),
    struct.pack("<q", MARKER),
    struct.pack(">q", MARKER),
    WORD.encode("utf-16le"),
]


def left_behind(folder, *args):
    """All that a run prints, and all files that it leaves, those of the data apart."""
    spark = args[0] in ("spark", "connect", "cast")
    if spark and shutil.which("java") is None:
        pytest.skip("there is no Java to run Spark on")
    for module in {"connect": ("pyspark", "grpc", "grpc_status")}.get(
        args[0], ("pyspark" if spark else "distributed",)
    ):
        pytest.importorskip(module, reason="the engine is not installed")
    path = os.pathsep.join(filter(None, [str(HERE), str(HERE.parent), os.environ.get("PYTHONPATH")]))
    folder.mkdir(exist_ok=True)
    env = dict(os.environ, TMPDIR=str(folder), PYTHONPATH=path, PYSPARK_PYTHON=sys.executable)
    command = [sys.executable, str(HERE / "far_leaks.py"), args[0], str(folder), *args[1:]]
    run = subprocess.run(command, capture_output=True, env=env, timeout=500, check=False)
    assert run.returncode == 0, run.stderr.decode()[-3000:]
    places = [place for place in folder.rglob("*") if place.is_file() and "data" not in place.relative_to(folder).parts]
    return {"printed": run.stdout + run.stderr, **{str(place): place.read_bytes() for place in places}}


def hits(found):
    return {place for place, content in found.items() for form in FORMS if form in content}


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["dask", "spark", "connect"])
def test_nothing_of_a_record_is_left_behind(engine, tmp_path):
    found = left_behind(tmp_path, engine)
    assert not hits(found)
    told = found["printed"].decode()
    assert told.count("an exception") >= 4  # the passes that tell, and the file that is no table any more
    assert "a worker could not finish its part" in told and "a worker could not read its part" in told
    assert engine != "spark" or any("events" in place for place in found)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["dask", "spark"])
def test_negative_control_a_plain_cast_is_found(engine, tmp_path):
    found = hits(left_behind(tmp_path, engine, "control"))
    assert "printed" in found
    assert any("events" in place or "log" in place for place in found)


@pytest.mark.slow
def test_a_frame_of_sparks_that_fails_is_not_quoted_to_whoever_asked_us(tmp_path):
    """PySpark has a logger of its own in the process that asks; Java's is off in a session that sfumato starts."""
    found = left_behind(tmp_path / "ours", "cast")
    assert not hits(found)
    told = found["printed"].decode()
    assert told.count("Spark could not compute the data") == 2  # the frame fails, and then Spark is gone
    assert told.count("nothing was released, and nothing was charged") == 2
    plain = left_behind(tmp_path / "plain", "cast", "control")["printed"].decode()
    assert '"logger": "SQLQueryContextLogger"' in plain and WORD in plain  # somebody else's errors are logged as ever


@pytest.mark.slow
def test_workers_of_dask_that_may_not_spill_write_nothing(tmp_path):
    """The setting that docs/scaling.md names, where spilling writes records in plain."""
    assert not hits(left_behind(tmp_path / "off", "spill"))
    found = hits(left_behind(tmp_path / "on", "spill", "control"))
    assert any(place.endswith(".kept") for place in found)
