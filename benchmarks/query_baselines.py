"""What smooth queries are compared with: the paper's algorithms as printed, histograms, direct sums, FINUFFT."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from itertools import product

import numpy as np

from sfumato.bases.moments.quadrature import jackson_factors

Floats = np.ndarray
L1_FACTOR = 1.2173  # of t^d / n: what one record moves all moments by in L1; the paper prints 1


# --- answers ----------------------------------------------------------------------------------------------


def bump_tables(values: Floats, centres: Floats, sigma: float) -> Floats:
    """``(q, m)``: Gaussian bumps of one column."""
    return np.exp(-((centres[:, None] - values[None, :]) ** 2) / (2 * sigma**2))


def exact_bumps(records: Floats, centres: Floats, sigma: float) -> Floats:
    """``(q,)``: the records' own means of products of bumps."""
    found, block = np.zeros(len(centres)), 4000
    for start in range(0, len(records), block):
        part = records[start : start + block]
        axes = [bump_tables(part[:, j], centres[:, j], sigma) for j in range(records.shape[1])]
        found += np.prod(axes, axis=0).sum(axis=1)
    return found / len(records)


def moments_of(records: Floats, degree: int) -> Floats:
    """``(t, t)``: cosine moments of two columns, without noise."""
    angles = np.arccos(np.clip(records, -1, 1))
    left, right = (np.cos(np.outer(np.arange(degree), angles[:, j])) for j in (0, 1))
    return left @ right.T / len(records)


def cosine_coefficients(centres: Floats, sigma: float, count: int = 128) -> Floats:
    """``(q, count)`` cosine coefficients of bumps of one column."""
    angles = (np.arange(count) + 0.5) * (math.pi / count)
    transform = np.cos(np.outer(np.arange(count), angles)) * (2 / count)
    transform[0] /= 2
    return bump_tables(np.cos(angles), centres, sigma) @ transform.T


def printed(
    moments: Floats, n: int, degree: int, smoothness: int, centres: Floats, sigma: float, rng: np.random.Generator
) -> Floats:
    """Algorithms 1 and 2 at epsilon = 1: Laplace noise (its sensitivity corrected), Jackson's factors."""
    noisy = moments[:degree, :degree] + rng.laplace(scale=L1_FACTOR * degree**2 / n, size=(degree, degree))
    noisy[0, 0] = 1.0
    damping = jackson_factors(degree, smoothness)
    axes = [cosine_coefficients(centres[:, j], sigma)[:, :degree] * damping for j in (0, 1)]
    return np.einsum("qi,ij,qj->q", axes[0], noisy, axes[1])


def histogram(
    records: Floats, cells: int, centres: Floats, sigma: float, rng: np.random.Generator, epsilon: float = 1.0
) -> Floats:
    """Shares of records in square cells with Laplace noise; every record is taken to be in the middle of its cell."""
    counts, *_ = np.histogram2d(*records.T, bins=cells, range=((-1, 1), (-1, 1)))
    noisy = (counts + rng.laplace(scale=2 / epsilon, size=counts.shape)) / len(records)
    middles = (np.arange(cells) + 0.5) * (2 / cells) - 1
    left, right = (bump_tables(middles, centres[:, j], sigma) for j in (0, 1))
    return np.einsum("qi,ij,qj->q", left, noisy, right)


# --- the (epsilon, delta) scale ---------------------------------------------------------------------------


def delta_of_laplace(shifts: Floats, epsilon: float, width: float = 64.0, count: int = 2**17) -> float:
    """``delta(epsilon)`` of Laplace noise of scale 1 on coordinates that move by ``shifts``, by Fourier inversion."""
    a = np.abs(shifts[shifts != 0.0])
    frequency = 2 * np.pi * np.fft.fftfreq(count, d=width / count)
    spectrum = np.ones(count, dtype=complex)
    for value, times in zip(*np.unique(np.round(a, 12), return_counts=True), strict=True):
        inner = (1 - np.exp(-value * (1 + 2j * frequency))) / (1 + 2j * frequency)
        one = 0.5 * (np.exp(1j * frequency * value) * (1 + inner) + np.exp(-value - 1j * frequency * value))
        spectrum *= one**times
    masses = np.fft.fft(spectrum).real / count  # at k width / count, wrapped
    losses = np.fft.fftfreq(count, d=1 / width)
    above = losses > epsilon
    return float(masses[above] @ -np.expm1(epsilon - losses[above]))


def epsilon_of_laplace(shifts: Floats, delta: float) -> float:
    """The epsilon that is really spent at this delta."""
    low, high = 0.0, 30.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_of_laplace(shifts, middle) > delta else (low, middle)
    return high


# --- the printed quadrature -------------------------------------------------------------------------------


def printed_rule(level: int) -> tuple[Floats, Floats]:
    """Section 3.3.4: zeros of the Chebyshev polynomial of degree m = 2^k, weights (9) of Clenshaw-Curtis *extrema*."""
    m = 2**level
    j = np.arange(1, m + 1)
    nodes = np.cos((2 * j - 1) * math.pi / (2 * m))
    r = np.arange(1, m // 2 + 1)
    halved = np.where(r == m // 2, 0.5, 1.0)
    sums = (halved / (1 - 4 * r**2)) @ np.cos(2 * math.pi * np.outer(r, j - 1) / m)
    weights = 2 / m * (1 + 2 * sums)
    weights[0] = 1 / ((m + 1) * (m - 1))
    return nodes, weights


def _levels(dimension: int, largest: int) -> Iterator[tuple[int, ...]]:
    """Levels of at least one whose sum is at most ``largest``."""
    return (k for k in product(range(1, largest + 1), repeat=dimension) if sum(k) <= largest)


def printed_mean(axis: Callable[[Floats], Floats], dimension: int, level: int, differences: bool) -> float:
    """The mean over all angles of a product of equal functions of one column, by the printed sparse grid.

    The Jacobian that the paper leaves out is put back. Zeros are never nested: taken at its word, the rule adds up the
    full grids of all levels and subtracts nothing. With ``differences`` it is read as Smolyak's, of the printed rule.
    """
    rules = [printed_rule(k) for k in range(1, level + 1)]
    single = [float(weights @ axis(np.cos(math.pi * nodes))) / 2 for nodes, weights in rules]
    steps = [single[0], *np.diff(single)] if differences else single
    return sum(math.prod(steps[k - 1] for k in chosen) for chosen in _levels(dimension, level + dimension - 1))


# --- sums and evaluation ----------------------------------------------------------------------------------


def plain_sums(angles: Floats, frequencies: Floats) -> float:
    """Seconds for the direct sum: cosines of every frequency are computed where they are needed."""
    start = time.perf_counter()
    for frequency in frequencies:
        np.mean(np.prod([np.cos(r * column) for r, column in zip(frequency, angles, strict=True)], axis=0))
    return time.perf_counter() - start


def table_sums(tables: list[Floats], frequencies: Floats) -> float:
    """Seconds for the same sums from tables of cosines that were computed before."""
    start = time.perf_counter()
    for frequency in frequencies:
        rows = [table[r] for r, table in zip(frequency, tables, strict=True)]
        np.dot(np.multiply(*rows[:2]), rows[2])
    return time.perf_counter() - start


def tables_of(points: Floats, degree: int) -> list[Floats]:
    """``(t, m)`` for each column: Chebyshev polynomials by their recurrence."""
    found = []
    for values in points.T:
        table = np.ones((degree, len(values)))
        table[1] = values
        for r in range(2, degree):
            table[r] = 2 * values * table[r - 1] - table[r - 2]
        found.append(table)
    return found


def evaluated(coefficients: Floats, points: Floats, block: int = 2048) -> Floats:
    """A sum of cosines at scattered points: tables, and one matrix product for the last column."""
    degree, parts = coefficients.shape[0], []
    for start in range(0, len(points), block):
        tables = tables_of(points[start : start + block], degree)
        values = coefficients.reshape(-1, degree) @ tables[-1]
        for table in tables[-2::-1]:
            values = np.einsum("kim,im->km", values.reshape(-1, degree, values.shape[-1]), table)
        parts.append(values[0])
    return np.concatenate(parts)


def by_nufft(coefficients: Floats, points: Floats, tolerance: float) -> Floats:
    """The same by FINUFFT's transform of type 2, in one thread; cosines become complex exponentials of both signs."""
    import finufft

    degree, dimension = coefficients.shape[0], coefficients.ndim
    both = np.abs(np.arange(1 - degree, degree))
    halves = np.meshgrid(*[np.where(both == 0, 1.0, 0.5)] * dimension, indexing="ij")
    spread = coefficients[np.ix_(*[both] * dimension)] * np.prod(halves, axis=0)
    transform = {2: finufft.nufft2d2, 3: finufft.nufft3d2}[dimension]
    angles = [np.ascontiguousarray(np.arccos(column)) for column in points.T]
    return transform(*angles, spread.astype(complex), eps=tolerance, nthreads=1).real
