"""Train from one file and print the peak of extra memory in MiB, and the seconds; run by ``machines_speed``."""

from __future__ import annotations

import resource
import sys
import time

import numpy as np

import sfumato as sf
from benchmarks.machines_speed import BASIS, BOX, PRIVACY, TARGET, drawn


def peak() -> float:
    """The high-water mark of this process, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


def main(path: str) -> None:
    sf.release(TARGET, drawn(2000, 0), BOX, PRIVACY, basis=BASIS)  # imports, public tables, the algebra's buffers
    before, start = peak(), time.perf_counter()
    release = sf.release(TARGET, path, BOX, PRIVACY, basis=BASIS)
    taken = time.perf_counter() - start
    assert np.isfinite(release.weights).all()
    print(peak() - before, taken)


if __name__ == "__main__":
    main(sys.argv[1])
