"""How wide a density's default band is, and how often it holds: families, smooth and spiky, and four data sets.

A release is made once without noise worth mentioning; its masses then get fresh noise of the right law, so that many
releases are cheap. The error is that of the released function, on a grid, against the kernel density estimate of the
records; the band is held to the same estimate at all points of the grid at once.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

import sfumato as sf
from benchmarks.density_grid import RECORDS, families
from benchmarks.timing import row
from sfumato.core.calibration import calibrate
from sfumato.releases.density import masses as inside
from sfumato.releases.density.masses import NoisyMasses
from sfumato.releases.uncertainty import simulate_noise
from sfumato.targets.density.density import KDE

Data = Callable[[np.random.Generator, int, int], np.ndarray]

CONFIDENCE, DRAWS, ERRORS = 0.95, 200, 12
# Columns: bandwidth in a box of side one, records, points along each axis.
SIZES = {1: (0.04, 10_000, 201), 2: (0.05, 20_000, 41), 3: (0.07, 20_000, 15)}
EPSILONS = (1.0, 0.1)
WIDEST = 3.0  # times the mean error, for smooth records
CELLS = ((0.05, 1.0), (0.05, 0.1), (0.1, 1.0), (0.1, 0.1))  # of the density benchmark: bandwidth, epsilon
BEATS = "whole numbers, 1 a bandwidth"  # about a lattice step apart: what the default band does not promise


def _atoms(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    places = rng.random((12, d))[rng.integers(0, 12, n)]
    return np.where(rng.random((n, 1)) < 0.4, places, rng.random((n, d)))


def _incomes(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    incomes = np.where(rng.random((n, 1)) < 0.2, 0.0, rng.lognormal(10, 0.6, (n, d)))
    return np.log1p(incomes) / 13


def _whole(steps: float) -> Data:
    """Normal records, rounded to so many steps for each bandwidth."""

    def made(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
        step = SIZES[d][0] / steps
        return np.rint(rng.normal(0.5, 0.13, (n, d)) / step) * step

    return made


SMOOTH: dict[str, Data] = {
    "normal": lambda rng, n, d: rng.normal(0.5, 0.13, (n, d)),
    "two bumps": lambda rng, n, d: rng.choice([0.35, 0.65], (n, 1)) + rng.normal(0, 0.1, (n, d)),
    "uniform": lambda rng, n, d: rng.random((n, d)),
    "beta(2, 5)": lambda rng, n, d: rng.beta(2, 5, (n, d)),
}
SPIKY: dict[str, Data] = {
    "uniform with hard edges": lambda rng, n, d: 0.3 + 0.4 * rng.random((n, d)),
    "ties: 40 % at 12 places": _atoms,
    "log incomes, a fifth zero": _incomes,
    "40 narrow towns": lambda rng, n, d: rng.random((40, d))[rng.integers(0, 40, n)] + rng.normal(0, 0.004, (n, d)),
    "all in one cell": lambda rng, n, d: 0.4371 + rng.uniform(-1e-4, 1e-4, (n, d)),
    "whole numbers, 4 a bandwidth": _whole(4),
    "whole numbers, 2 a bandwidth": _whole(2),
    BEATS: _whole(1),
}


def estimate(records: np.ndarray, axes: list[np.ndarray], bandwidth: float) -> np.ndarray:
    """The kernel density estimate on a grid, in blocks of records."""
    total = np.zeros(tuple(map(len, axes)))
    for start in range(0, len(records), 2000):
        part = records[start : start + 2000]
        tables = [np.exp(-0.5 * ((axis[:, None] - part[:, i]) / bandwidth) ** 2) for i, axis in enumerate(axes)]
        letters = "abc"[: len(axes)]
        total += np.einsum(",".join(f"{c}x" for c in letters) + f"->{letters}", *tables, optimize=True)
    return np.asarray(total / (len(records) * (bandwidth * math.sqrt(2 * math.pi)) ** len(axes)))


@contextmanager
def once(stored: dict[Any, Any] = {}) -> Iterator[None]:  # noqa: B006
    """What is the same for every draw (widths of the noise, tables of the misses) is worked out once for each law."""

    def kept(call: Callable[..., Any], key: Callable[..., Any]) -> Callable[..., Any]:
        def answered(*given: Any) -> Any:
            if key(*given) not in stored:
                if len(stored) > 8:
                    stored.clear()
                stored[key(*given)] = call(*given)
            return stored[key(*given)]

        return answered

    real = inside.half_width_at, inside.Placement.of
    inside.half_width_at = kept(real[0], lambda _, places, law, *more: ("noise", len(places), law, more))
    inside.Placement.of = kept(real[1], lambda linear, places, *_: ("misses", len(places), linear))
    try:
        yield
    finally:
        inside.half_width_at, inside.Placement.of = real


def measure(made: Data, dimension: int, epsilon: float) -> dict[str, float]:
    """Mean sup error, half-widths of the default band in errors, and its coverage, of a generated family."""
    bandwidth, n, count = SIZES[dimension]
    records = np.clip(made(np.random.default_rng(20261118), n, dimension), 0, 1)
    return measure_records(records, bandwidth, epsilon, count)


def measure_records(records: np.ndarray, bandwidth: float, epsilon: float, count: int) -> dict[str, float]:
    """The same of records in a box of side one, on a grid of so many points along each axis."""
    n, dimension = records.shape
    box, target, privacy = sf.Box([(0, 1)] * dimension), KDE(bandwidth, missing="none"), sf.Privacy(epsilon=epsilon)
    basis = target.choose_basis(box, n, privacy)
    exact = sf.release(target, records, box, sf.Privacy(epsilon=1e6), basis=basis)
    law, _ = calibrate(target.certificate(basis, box, n, privacy), basis.size(box), privacy)
    masses: NoisyMasses = replace(exact.masses, law=law)
    axes = [np.linspace(0, 1, count)] * dimension
    truth = estimate(records, axes, bandwidth).ravel()
    unit = np.stack([g.ravel() for g in np.meshgrid(*axes, indexing="ij")], axis=1)
    every, still = tuple(range(dimension)), (0,) * dimension
    rng, errors, widths, held = np.random.default_rng(7), [], [], 0
    for draw in range(DRAWS):
        noisy = replace(masses, values=masses.values + simulate_noise(law, 1, rng)[0])
        with once():
            low, high = noisy.limits(unit, still, every, CONFIDENCE, "total")
        held += bool(((low <= truth) & (truth <= high)).all())
        if draw < ERRORS:
            value = noisy.surface("simplex")(unit)
            errors.append(np.abs(value - truth).max())
            widths.append((np.maximum(high, value) - np.maximum(np.minimum(low, value), 0)) / 2)
    error, width = float(np.mean(errors)), np.mean(widths, axis=0)
    return {"error": error, "widest": width.max() / error, "mean": width.mean() / error, "held": held / DRAWS}


def run() -> list[dict[str, Any]]:
    """All tables."""
    rows = []
    for dimension in SIZES:
        for epsilon in EPSILONS:
            bandwidth, n, _ = SIZES[dimension]
            section = f"{dimension} column(s), n = {n}, bandwidth {bandwidth}, epsilon = {epsilon:g}"
            for name, made in (SMOOTH | SPIKY).items():
                found = measure(made, dimension, epsilon)
                more = {"section": section, "error": found["error"], "mean half-width": found["mean"]}
                asked = f"<= {WIDEST:g}" if name in SMOOTH else None
                rows.append(
                    row(f"{name}: largest half-width", found["widest"], "times the mean sup error", asked, **more)
                )
                sure = None if name == BEATS else f">= {CONFIDENCE - 0.05:g}"  # of 200, chance takes five in a hundred
                rows.append(row(f"{name}: held", found["held"], f"of {DRAWS}", sure, **more))
                _tell(f"{dimension} {epsilon:<4} {name:30s}", found)
    return [*rows, *_of_the_density_benchmark()]


def _of_the_density_benchmark() -> list[dict[str, Any]]:
    """The four data sets on which errors of densities are measured, at its bandwidths and epsilons."""
    rows = []
    for bandwidth, epsilon in CELLS:
        section = (
            f"data of the density benchmark, 1 column, n = {RECORDS}, bandwidth {bandwidth:g}, epsilon = {epsilon:g}"
        )
        for name, records in families().items():
            found = measure_records(records.reshape(-1, 1), bandwidth, epsilon, SIZES[1][2])
            more = {"section": section, "error": found["error"], "mean half-width": found["mean"]}
            wide = (f"{name}: largest half-width", found["widest"], "times the mean sup error", f"<= {WIDEST:g}")
            rows += [row(*wide, **more)]
            rows += [row(f"{name}: held", found["held"], f"of {DRAWS}", f">= {CONFIDENCE - 0.05:g}", **more)]
            _tell(f"{bandwidth} {epsilon:<4} {name:30s}", found)
    return rows


def _tell(which: str, found: dict[str, float]) -> None:
    print(which, " ".join(f"{key}={value:.3g}" for key, value in found.items()), file=sys.stderr, flush=True)
