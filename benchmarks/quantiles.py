"""Medians from a tree of counts beside chosen ones, on made-up columns: how far off, and how close their limits are.

No data of anybody's: families with a public seed. Limits are at 95 %, so of 200 releases about 10 may miss the median.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import sfumato as sf
from benchmarks.timing import row

REPEATS = 200
GRANTS = ((1_000, 0.1), (1_000, 1.0), (10_000, 0.5), (100_000, 1.0))
FAMILIES: dict[str, tuple[tuple[float, float], Callable[[np.random.Generator, int], np.ndarray]]] = {
    "incomes": ((0, 500_000), lambda rng, n: np.exp(rng.normal(math.log(20_000), 0.8, n))),
    "ages": ((0, 110), lambda rng, n: rng.gamma(9, 5, n)),
    "even": ((0, 1), lambda rng, n: rng.random(n)),
}


def released(values: np.ndarray, bounds: tuple[float, float], epsilon: float, interval: str) -> np.ndarray:
    """So many medians, each with its limits: ``(repeats, 3)``."""
    target, box = sf.Statistic("median", interval=interval), sf.Box({"x": bounds})
    releases = (sf.release(target, values, box, sf.Privacy(epsilon=epsilon)) for _ in range(REPEATS))
    return np.array([(found.value, *found.interval(0.95)) for found in releases])


def run() -> list[dict[str, Any]]:
    """A section for each family and grant."""
    rows = []
    for family, (bounds, made) in FAMILIES.items():
        for n, epsilon in GRANTS:
            values = np.clip(made(np.random.default_rng(n), n), *bounds)
            ordered, middle = np.sort(values), float(np.median(values))
            at = {"section": f"median of {family}, n = {n:,}, epsilon {epsilon:g}, {REPEATS} releases"}
            for interval, words in (("counts", "tree of counts"), ("none", "chosen")):
                found, low, high = released(values, bounds, epsilon, interval).T
                ranks = np.abs(np.searchsorted(ordered, found) - n / 2)
                rows.append(row(f"{words}: mean error", float(np.abs(found - middle).mean()), "of the column", **at))
                rows.append(row(f"{words}: mean error", float(ranks.mean()), "ranks", **at))
                if interval == "counts":
                    covered = int(((low <= middle) & (middle <= high)).sum())
                    rows.append(row("limits apart, on average", float((high - low).mean()), "of the column", **at))
                    rows.append(row("limits hold", covered, f"of {REPEATS}", **at))
    return [*rows, *deciles()]


def deciles() -> list[dict[str, Any]]:
    """Nine levels at once: chosen ones share the grant, counts serve them all."""
    (bounds, made), n, levels = FAMILIES["ages"], 10_000, np.arange(1, 10) / 10
    values, box = np.clip(made(np.random.default_rng(n), n), *bounds), sf.Box({"x": bounds})
    ordered, rows = np.sort(values), []
    for interval, words in (("counts", "tree of counts"), ("none", "chosen")):
        target = sf.Statistic("quantiles", probabilities=levels.tolist(), interval=interval)
        found = [sf.release(target, values, box, sf.Privacy(epsilon=0.5)).value for _ in range(REPEATS)]
        off = float(np.abs(np.searchsorted(ordered, found) - levels * n).mean())
        at = {"section": f"deciles of ages, n = {n:,}, epsilon 0.5, {REPEATS} releases"}
        rows.append(row(f"{words}: mean error", off, "ranks", **at))
    return rows
