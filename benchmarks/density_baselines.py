"""What a private density had to beat: simulated baselines (numpy noise: nothing is published) and recorded figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy.special import ndtr

import sfumato as sf
from benchmarks.reproduce import BOX, GRID, density

DRAWS = 200
DEGREES = (*range(2, 21), 22, 25, 28, 32, 36, 40)
ORDERS = (1, 2, 3, 4, 5)
BINS = (*range(2, 31), 34, 38, 44, 50, 60, 70, 80, 100, 120, 150, 200)

# Theory, section 7: measured elsewhere on another draw of the same distribution, n = 5000, with corrected constants.
RECORDED = {
    "LSQ-FGT (ICML'23), corrected, recorded": (0.452, 0.110, 0.0170, 1.10, 0.125, 0.0337),
    "PMM (COLT'23), corrected, recorded": (0.695, 0.112, 0.0172, 1.69, 0.280, 0.0418),
}

Score = tuple[float, float]  # a mean and its standard error


def score(errors: np.ndarray) -> Score:
    """The mean of largest errors and its standard error."""
    return float(errors.mean()), float(errors.std(ddof=1) / math.sqrt(len(errors)))


def peak(bandwidth: float) -> float:
    """The largest value of the kernel."""
    return 1 / (bandwidth * math.sqrt(2 * math.pi))


def packing_bound(bandwidth: float, epsilon: float, n: int) -> float:
    """No pure mechanism has a mean sup error of a smaller order than this."""
    return math.log(1 / (2 * bandwidth)) * peak(bandwidth) / (2 * n * epsilon)


def best(scores: dict[Any, Score]) -> tuple[Any, Score]:
    """The choice of least mean error: picked with hindsight."""
    winner = min(scores, key=lambda choice: scores[choice][0])
    return winner, scores[winner]


def polynomial_errors(
    records: np.ndarray, bandwidth: float, scale: Callable[[int], float], degrees: Iterable[int], seed: int
) -> dict[tuple[int, int], Score]:
    """Mean sup errors of noisy Bernstein polynomials, by degree and order; ``scale(degree)`` is the Laplace scale."""
    truth, rng, found = density(records, bandwidth, GRID), np.random.default_rng(seed), {}
    for degree in degrees:
        lattice = density(records, bandwidth, np.arange(degree + 1) / degree)
        noisy = lattice + rng.laplace(scale=scale(degree), size=(DRAWS, degree + 1))
        for order in ORDERS:
            weights = sf.Bernstein(degree, order).axis_weights(BOX, 0, GRID, 0)
            found[degree, order] = score(np.abs(noisy @ weights.T - truth).max(axis=1))
    return found


def printed_mechanism(records: np.ndarray, bandwidth: float, epsilon: float) -> dict[tuple[int, int], Score]:
    """The paper's mechanism: independent Laplace noise of scale ``S (k + 1) / epsilon``, ``S = sup K / n``."""
    sensitivity = peak(bandwidth) / len(records)
    degrees = sorted({20, *DEGREES})
    return polynomial_errors(records, bandwidth, lambda k: sensitivity * (k + 1) / epsilon, degrees, 1)


def tight_mechanism(records: np.ndarray, bandwidth: float, epsilon: float) -> dict[tuple[int, int], Score]:
    """The same polynomial with the L1 sensitivity that its lattice really has."""

    def scale(degree: int) -> float:
        places, nodes = np.linspace(0, 1, 20 * degree + 1), np.arange(degree + 1) / degree
        steps = (places[:, None] - nodes[None, :]) / bandwidth
        largest = float(np.exp(-0.5 * steps**2).sum(axis=1).max()) * peak(bandwidth)
        return 2 * largest / (len(records) * epsilon)

    return polynomial_errors(records, bandwidth, scale, DEGREES, 2)


def histograms(records: np.ndarray, bandwidth: float, epsilon: float) -> dict[str, tuple[int, Score]]:
    """A noisy histogram at its best number of bins: as steps, and smoothed by the kernel; raw, or made a density."""
    truth, rng = density(records, bandwidth, GRID), np.random.default_rng(3)
    found: dict[str, dict[int, Score]] = {}
    for bins in BINS:
        shares = np.histogram(records, bins=bins, range=(0, 1))[0] / len(records)
        noisy = shares + rng.laplace(scale=2 / (len(records) * epsilon), size=(DRAWS, bins))
        where = np.minimum((GRID * bins).astype(int), bins - 1)
        edges = np.linspace(0, 1, bins + 1)
        below = ndtr((GRID[:, None] - edges[None, :]) / bandwidth)
        smooth = (below[:, :-1] - below[:, 1:]) * bins
        for label, masses in (("raw", noisy), ("made a density", to_simplex(noisy))):
            steps, curve = masses[:, where] * bins, masses @ smooth.T
            found.setdefault(f"noisy histogram, steps, {label}", {})[bins] = score(np.abs(steps - truth).max(axis=1))
            found.setdefault(f"noisy histogram * K_b, {label}", {})[bins] = score(np.abs(curve - truth).max(axis=1))
    return {name: best(scores) for name, scores in found.items()}


def to_simplex(values: np.ndarray) -> np.ndarray:
    """Each row's nearest point that is non-negative and sums to one."""
    ordered = np.sort(values, axis=1)[:, ::-1]
    excess = (np.cumsum(ordered, axis=1) - 1) / np.arange(1, values.shape[1] + 1)
    last = (ordered > excess).sum(axis=1) - 1
    return np.maximum(values - excess[np.arange(len(values)), last][:, None], 0)


def printed_plane(
    lattice: Callable[[int], np.ndarray], truth: np.ndarray, axis: np.ndarray, n: int, bandwidth: float, epsilon: float
) -> tuple[tuple[int, int], Score]:
    """The paper's mechanism on the unit square at its best degree and order; ``lattice(k)`` are its true values."""
    rng, found = np.random.default_rng(4), {}
    for degree in range(4, 15):
        scale = peak(bandwidth) ** 2 / n * (degree + 1) ** 2 / epsilon
        noisy = lattice(degree) + rng.laplace(scale=scale, size=(DRAWS, degree + 1, degree + 1))
        for order in (1, 2, 3, 4):
            weights = sf.Bernstein(degree, order).axis_weights(BOX, 0, axis, 0)
            errors = np.abs(weights @ noisy @ weights.T - truth)
            found[degree, order] = score(errors.reshape(DRAWS, -1).max(axis=1))
    return best(found)
