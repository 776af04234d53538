"""What the package weighs: the time of ``import sfumato`` and the size of its wheel."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.timing import row


def import_seconds(statement: str, repeats: int = 9) -> float:
    """The median time of a fresh interpreter that runs one import statement."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", statement], check=True)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def wheel_kilobytes() -> float:
    """The size of the wheel that pip builds from this checkout."""
    root = Path(__file__).parents[1]
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, str(root)]
        subprocess.run(command, check=True)
        return next(Path(folder).glob("*.whl")).stat().st_size / 1000


def run() -> list[dict[str, Any]]:
    """Both figures, and the ratio to importing numpy and scipy."""
    ours, theirs = import_seconds("import sfumato"), import_seconds("import numpy, scipy")
    everything = import_seconds("import sfumato; sfumato.release; sfumato.load")
    return [
        row("import sfumato", ours * 1e3, "ms"),
        row("import numpy, scipy", theirs * 1e3, "ms"),
        row("  ratio", ours / theirs, "times as long"),
        row("import sfumato, then use sf.release and sf.load", everything * 1e3, "ms"),
        row("wheel", wheel_kilobytes(), "kB"),
    ]
