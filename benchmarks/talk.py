"""The talk's Priestley-Chao regression: utility against privacy, n = 5000, k = 10, h = 3, 1000 repeats.

The talk does not say how its records were drawn; these are the R package's own example of this regression,
``x sin(10 x)`` plus normal noise of deviation .2 with x uniform, smoothed with b = .1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import sfumato as sf
from benchmarks.regression import CURVES, RANGE, RECORDS, draw
from benchmarks.regression_baselines import least_gap, priestley_chao, printed_sensitivity
from benchmarks.reproduce import BOX, GRID

DEGREE, ORDER, BANDWIDTH, REPEATS, QUICK = 10, 3, 0.1, 1000, 10
EPSILONS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, math.inf)
HALF = (RANGE[1] - RANGE[0]) / 2
BASIS = sf.Bernstein(DEGREE, ORDER)
NODES = np.arange(DEGREE + 1) / DEGREE


def talk_regression(quick: bool = False) -> list[dict[str, Any]]:
    """Mean sup error against the regression without privacy, by epsilon; and how far one record can move it."""
    repeats = QUICK if quick else REPEATS
    records = draw(CURVES["waves: x sin(10 x)"], 0)
    gap = least_gap(records[0])
    title = f"mean sup error on [0, 1], n = {RECORDS}, k = {DEGREE}, h = {ORDER}, b = {BANDWIDTH}, {repeats} repeats"
    rows = [{"table": title, "eps": epsilon, **errors(*records, gap, epsilon, repeats)} for epsilon in EPSILONS]
    return [*rows, *moved(gap)]


def talk_weights() -> np.ndarray:
    """What the lattice's values weigh at the grid by the talk's operator ``B - B^2 + B^3``, without ``C(h, i)``."""
    plain, nodes = (sf.Bernstein(DEGREE).axis_weights(BOX, 0, points, 0) for points in (GRID, NODES))
    return plain @ (np.eye(DEGREE + 1) - nodes + nodes @ nodes)


def errors(x: np.ndarray, y: np.ndarray, gap: float, epsilon: float, repeats: int) -> dict[str, float]:
    """Printed: simulated, c the least that the records allow. Corrected: real releases with clipped gaps, c = 4."""
    truth, lattice = (priestley_chao(x, y, BANDWIDTH, points) for points in (GRID, NODES))
    scale = printed_sensitivity(len(x), HALF, gap, BANDWIDTH) * (DEGREE + 1) / epsilon
    noisy = lattice + np.random.default_rng(20170725).laplace(scale=scale, size=(repeats, DEGREE + 1))
    found = {
        name: float(np.abs(noisy @ weights.T - truth).max(axis=1).mean())
        for name, weights in (
            ("printed, talk's operator", talk_weights()),
            ("printed", BASIS.axis_weights(BOX, 0, GRID, 0)),
        )
    }
    target = sf.PriestleyChao(BANDWIDTH, response="y", range=RANGE)
    for name, noise in (("corrected, Laplace", "laplace"), ("corrected, joint noise", "auto")):
        quiet = math.isinf(epsilon)
        privacy = sf.Privacy(epsilon=1e9 if quiet else epsilon)
        releases = (
            sf.release(target, (x[:, None], y), BOX, privacy, basis=BASIS, noise=noise)
            for _ in range(1 if quiet else repeats)
        )
        found[name] = float(np.mean([np.abs(release(GRID) - truth).max() for release in releases]))
    return found


def moved(gap: float) -> list[dict[str, Any]]:
    """Two neighbours that meet the printed condition: one label changes on the far side of an empty stretch."""
    edges = np.array([0.0, 0.25, 0.75, 1.0])
    half = RECORDS // 2
    x = np.concatenate([np.linspace(*edges[:2], half), np.linspace(*edges[2:], half)])
    low, high = np.full(RECORDS, RANGE[0]), np.full(RECORDS, RANGE[0])
    high[half] = RANGE[1]
    bound, points = printed_sensitivity(RECORDS, HALF, gap, BANDWIDTH), np.arange(21) / 20
    printed = np.abs(np.subtract(*(priestley_chao(x, y, BANDWIDTH, points) for y in (low, high)))).max()
    target, quiet = sf.PriestleyChao(BANDWIDTH, response="y", range=RANGE), sf.Privacy(epsilon=1e9)
    clipped = [sf.release(target, (x[:, None], y), BOX, quiet, basis=sf.Step(20))(points) for y in (low, high)]
    certified = target.certificate(BASIS, BOX, RECORDS, sf.Privacy(epsilon=1.0)).bound
    title = "records in [0, .25] and [.75, 1], the label at .75 changes: how far the curve moves"
    return [
        {"table": title, "estimator": name, "c needed": needed, "c": c, "sensitivity": s, "moved": m, "ratio": m / s}
        for name, needed, c, s, m in (
            ("printed", least_gap(x), gap, bound, float(printed)),
            ("corrected", None, target.gap, float(certified), float(np.abs(np.subtract(*clipped)).max())),
        )
    ]
