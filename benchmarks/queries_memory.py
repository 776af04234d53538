"""Summarise one file, print the peak of extra memory in MiB and the seconds; ``queries_speed`` runs it (Linux)."""

from __future__ import annotations

import sys
import time

import sfumato as sf
from benchmarks.machines_memory import peak
from benchmarks.queries_speed import PRIVACY, WIDE, drawn


def main(path: str) -> None:
    box = sf.Box({f"x{j}": (-1, 1) for j in range(WIDE)})
    sf.summarize(drawn(2000, WIDE), sf.Box([(-1, 1)] * WIDE), PRIVACY, degree=3, interactions=2)  # imports, tables
    before, start = peak(), time.perf_counter()
    sf.summarize(path, box, PRIVACY, degree=3, interactions=2)
    print(peak() - before, time.perf_counter() - start)


if __name__ == "__main__":
    main(sys.argv[1])
