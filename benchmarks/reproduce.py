"""Reproduce published figures: ``make reproduce WHAT=bernstein-fig1``.

Runs without the shared reference figures too; where they are, it prints them beside. A figure that needs shared data
is skipped, with the reason, where there are none.
"""

from __future__ import annotations

import csv
import importlib
import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np

import sfumato as sf

SHARED = Path(__file__).parents[2] / "shared"
BOX = sf.Box([(0, 1)])
GRID = np.linspace(0, 1, 1000)
DEGREE, RECORDS, REPEATS = 20, 5000, 200
EPSILONS = (0.01, 0.1, 1.0, 10.0, math.inf)


def mixture() -> np.ndarray:
    """The paper's data: the shared draw, or a draw of the same mixture, rejected to [0, 1]."""
    path = SHARED / "data" / "fig1_mixture.csv"
    if path.exists():
        return np.loadtxt(path, skiprows=1)
    rng = np.random.default_rng(20170204)
    first = rng.random(4 * RECORDS) < 0.4
    means, variances = np.where(first, 0.5, 0.75), np.where(first, 0.02, 0.005)
    draws = rng.normal(means, np.sqrt(variances))
    return draws[(draws >= 0) & (draws <= 1)][:RECORDS]


def reference() -> dict[tuple[float, int, float], float]:
    """What the R package diffpriv achieved on the shared draw, by (bandwidth, order, epsilon)."""
    path = SHARED / "reference" / "diffpriv_fig1.csv"
    if not path.exists():
        return {}
    with path.open() as file:
        rows = list(csv.DictReader(file))
    return {(float(r["b"]), int(r["h"]), float(r["eps"])): float(r["mean_maxerr"]) for r in rows}


def density(records: np.ndarray, bandwidth: float, points: np.ndarray) -> np.ndarray:
    """The kernel estimate with a Gaussian kernel."""
    scaled = (points.reshape(-1, 1) - records[None, :]) / bandwidth
    return np.exp(-(scaled**2) / 2).mean(axis=1) / (bandwidth * math.sqrt(2 * math.pi))


def sup_error(lattice: np.ndarray, truth: np.ndarray, privacy: sf.Privacy | None, **release: Any) -> float:
    """The mean, over 200 releases of these lattice values, of the largest error on the grid; None is without noise."""

    def function(_: np.ndarray) -> np.ndarray:
        return lattice

    if privacy is None:
        return float(np.abs(release["basis"].approximate(function, BOX)(GRID) - truth).max())
    target = sf.BlackBox(lambda _: function, sensitivity=release.pop("sensitivity"))
    releases = (sf.release(target, np.zeros(1), BOX, privacy, **release) for _ in range(REPEATS))
    return float(np.mean([np.abs(release(GRID) - truth).max() for release in releases]))


def bernstein_fig1() -> list[dict[str, Any]]:
    """Figure 1: mean sup error of private kernel estimates, by order, epsilon and bandwidth, and the step baseline."""
    records, known, rows = mixture(), reference(), []
    for bandwidth in (0.05, 0.1):
        nodes = np.arange(DEGREE + 1) / DEGREE
        lattice, truth = density(records, bandwidth, nodes), density(records, bandwidth, GRID)
        sensitivity = 1 / (len(records) * bandwidth * math.sqrt(2 * math.pi))
        for epsilon in EPSILONS:
            for order in (0, 1, 2, 3, 4, 5):
                basis = sf.Bernstein(DEGREE, order) if order else sf.Step(DEGREE)
                privacy = None if math.isinf(epsilon) else sf.Privacy(epsilon=epsilon)
                errors = {
                    noise: sup_error(lattice, truth, privacy, basis=basis, noise=noise, sensitivity=sensitivity)
                    for noise in ("laplace", "auto")
                }
                row = {"b": bandwidth, "eps": epsilon, "order": order or "step", "paper": errors["laplace"]}
                rows.append({**row, "sfumato": errors["auto"], "diffpriv": known.get((bandwidth, order, epsilon))})
    return rows


# By figure: where it is made (the others need scikit-learn), and its columns by other names.
FIGURES = {
    "bernstein-fig1": "reproduce:bernstein_fig1",
    "bernstein-fig2": "machine_figures:bernstein_fig2",
    "kernel-fig2a": "machine_figures:kernel_fig2a",
    "kernel-fig2b": "machine_figures:kernel_fig2b",
    "talk-regression": "talk:talk_regression",
    "table4": "synthetic_figures:table4",
    "table5": "synthetic_figures:table5",
}
QUICK = (
    "talk-regression",
    "table4",
    "table5",
)  # those that also run with a few repeats: WHAT="talk-regression --quick"
TITLES = {"paper": "paper noise", "sfumato": "default noise", "diffpriv": "diffpriv (R)"}


def show(rows: list[dict[str, Any]], titles: dict[str, str]) -> None:
    """One line a case, one table after the other; a cell without a value is empty."""
    tables: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        tables.setdefault(row.get("table", ""), []).append({k: v for k, v in row.items() if k != "table"})
    for name, part in tables.items():
        if name:
            print(f"\n{name}")
        cells = [[titles.get(key, key) for key in part[0]], *([_text(v) for v in row.values()] for row in part)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        for line in cells:
            print("  ".join(f"{text:>{width}}" for text, width in zip(line, widths, strict=True)))


def _text(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def main(arguments: list[str]) -> None:
    quick = arguments[1:] == ["--quick"] and arguments[0] in QUICK
    arguments = arguments[:1] if quick else arguments
    if len(arguments) != 1 or arguments[0] not in FIGURES:
        raise SystemExit(f"usage: make reproduce WHAT=...; there are: {', '.join(FIGURES)}")
    module, function = FIGURES[arguments[0]].split(":")
    rows = getattr(importlib.import_module(f"benchmarks.{module}"), function)(**({"quick": True} if quick else {}))
    if not rows:
        return
    show(rows, TITLES if arguments[0] == "bernstein-fig1" else {})
    if quick:  # a few repeats are no result
        return
    path = Path(__file__).parent / "results" / f"{arguments[0]}.json"
    plain = [{k: "inf" if v == math.inf else v for k, v in row.items()} for row in rows]
    path.write_text(json.dumps({"figure": arguments[0], "rows": plain}, indent=1, allow_nan=False) + "\n")
    print(f"-> {path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}")


if __name__ == "__main__":
    main(sys.argv[1:])
