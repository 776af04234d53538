"""Priestley-Chao regression as it was printed, simulated: nothing is published."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

import sfumato as sf
from benchmarks.density_baselines import peak
from benchmarks.reproduce import BOX

DEGREES, ORDERS = tuple(range(1, 21)), (1, 2, 3, 4, 5, 6, 8, 12, 20)
BANDWIDTHS = (0.02, 0.03, 0.05, 0.07, 0.1, 0.14, 0.2, 0.3)
DRAWS = 10  # of the noise, for each set of records

Choice = tuple[float, int, int]  # bandwidth, degree, order


def priestley_chao(x: np.ndarray, y: np.ndarray, bandwidth: float, points: np.ndarray) -> np.ndarray:
    """The printed estimator: ``1/b sum_{i>=2} (x_i - x_{i-1}) K((x - x_i)/b) y_i``, K a Gaussian density."""
    order = np.lexsort((y, x))
    x, y = x[order], y[order]
    scaled = (points[:, None] - x[None, 1:]) / bandwidth
    return np.exp(-0.5 * scaled**2) @ (np.diff(x) * y[1:]) * peak(bandwidth)


def nadaraya_watson(x: np.ndarray, y: np.ndarray, bandwidth: float, points: np.ndarray) -> np.ndarray:
    """The mean response with Gaussian weights, without privacy."""
    weights = np.exp(-0.5 * ((points[:, None] - x[None, :]) / bandwidth) ** 2)
    return weights @ y / weights.sum(axis=1)


def least_gap(x: np.ndarray) -> float:
    """The least c for which the printed condition holds: each record has another one within ``c / n``."""
    gaps = np.diff(np.sort(x))
    return float(len(x) * np.minimum(np.append(gaps, np.inf), np.insert(gaps, 0, np.inf)).max())


def printed_sensitivity(n: int, half: float, gap: float, bandwidth: float) -> float:
    """``4 B c sup K / (n b)``, B half the range: it was derived for records that meet that condition."""
    return 4 * half * gap * peak(bandwidth) / n


@lru_cache(maxsize=2)
def _weights(ends: tuple[float, float, int]) -> dict[tuple[int, int], np.ndarray]:
    """What the lattice's values weigh at points from one end to the other, by degree and order."""
    points = np.linspace(*ends)
    return {(k, h): sf.Bernstein(k, h).axis_weights(BOX, 0, points, 0) for k in DEGREES for h in ORDERS}


def printed_errors(
    x: np.ndarray, y: np.ndarray, truth: np.ndarray, ends: tuple[float, float, int], half: float, epsilon: float,
    rng: np.random.Generator,
) -> dict[Choice, float]:  # fmt: skip
    """Mean sup errors of the printed mechanism on these records, by bandwidth, degree and order.

    Independent Laplace noise ``S (k+1) / epsilon`` on each value of the lattice; c is the least that the records allow.
    """
    gap, found = least_gap(x), {}
    for bandwidth in BANDWIDTHS:
        scale = printed_sensitivity(len(x), half, gap, bandwidth) / epsilon
        for k in DEGREES:
            lattice = priestley_chao(x, y, bandwidth, np.arange(k + 1) / k)
            noisy = lattice + rng.laplace(scale=scale * (k + 1), size=(DRAWS, k + 1))
            for h in ORDERS:
                errors = np.abs(noisy @ _weights(ends)[k, h].T - truth).max(axis=1)
                found[bandwidth, k, h] = float(errors.mean())
    return found


def best_on_average(tables: Sequence[dict[Choice, float]], orders: Sequence[int]) -> tuple[Choice, np.ndarray]:
    """The choice of least mean error with one of these orders, and its errors on each set of records."""
    allowed = [choice for choice in tables[0] if choice[2] in orders]
    winner = min(allowed, key=lambda choice: math.fsum(table[choice] for table in tables))
    return winner, np.array([table[winner] for table in tables])
