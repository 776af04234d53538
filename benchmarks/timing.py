"""Timing in one run: the median of a few repeats, after a warm-up."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any


def seconds(call: Callable[[], Any], repeats: int = 5) -> float:
    """The median wall-clock time of a call."""
    call()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def row(what: str, value: float, unit: str) -> dict[str, Any]:
    """One line of a benchmark's table."""
    return {"what": what, "value": value, "unit": unit}
