"""Timing in one run: the median of a few repeats, after a warm-up; and one line of a table."""

from __future__ import annotations

import operator
import statistics
import time
from collections.abc import Callable
from typing import Any

_COMPARE = {"<=": operator.le, ">=": operator.ge}


def seconds(call: Callable[[], Any], repeats: int = 5, before: Callable[[], Any] | None = None) -> float:
    """The median wall-clock time of a call; ``before`` runs ahead of each, outside the time."""
    times = []
    for _ in range(repeats + 1):
        if before is not None:
            before()
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:])


def row(
    what: str, value: float, unit: str, asked: str | None = None, aim: float | None = None, **more: Any
) -> dict[str, Any]:
    """One line of a benchmark's table; ``asked`` is a comparison such as ``">= 500"``, ``aim`` a better limit."""
    line = {"what": what, "value": value, "unit": unit, **more}
    if asked is not None:
        sign, limit = asked.split()
        line |= {"asked": asked, "met": bool(_COMPARE[sign](value, float(limit)))}
        if aim is not None:
            line |= {"aim": aim, "aim_met": bool(_COMPARE[sign](value, aim))}
    return line
