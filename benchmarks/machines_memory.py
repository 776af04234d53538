"""Train from one file, print the peak of extra memory in MiB and the seconds; ``machines_speed`` runs it (Linux)."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path

import numpy as np

import sfumato as sf
from benchmarks.machines_speed import BASIS, BOX, PRIVACY, TARGET, drawn


def peak() -> float:
    """The high-water mark of this process, in MiB.

    Not ``getrusage``: what it reports is at least what the parent held when it started this process.
    """
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) / 2**10


def main(path: str) -> None:
    sf.release(TARGET, drawn(2000, 0), BOX, PRIVACY, basis=BASIS)  # imports, public tables, the algebra's buffers
    before, start = peak(), time.perf_counter()
    release = sf.release(TARGET, path, BOX, PRIVACY, basis=BASIS)
    taken = time.perf_counter() - start
    assert np.isfinite(release.weights).all()
    print(peak() - before, taken)


if __name__ == "__main__":
    main(sys.argv[1])
