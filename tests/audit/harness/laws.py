"""Goodness of fit of samplers to their laws, with a stated false-alarm rate."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.stats import chi2

ALPHA = 1e-9  # the false-alarm rate of one test; the suite runs fewer than a hundred


def fits_cells(counts: np.ndarray, probabilities: np.ndarray, alpha: float = ALPHA) -> bool:
    """Pearson's chi-square test on cells; cells expected below 20 are pooled."""
    expected = probabilities * counts.sum()
    order = np.argsort(expected)
    counts, expected = counts[order], expected[order]
    small = int(np.searchsorted(np.cumsum(expected), 20.0)) + 1 if expected[0] < 20 else 0
    while small and small < len(expected) and expected[small] < 20:
        small += 1
    if small:
        counts = np.append(counts[small:], counts[:small].sum())
        expected = np.append(expected[small:], expected[:small].sum())
    statistic = float(((counts - expected) ** 2 / expected).sum())
    return statistic < float(chi2.isf(alpha, len(counts) - 1))


def fits_distribution(sample: np.ndarray, cdf: Callable[[np.ndarray], np.ndarray], cells: int = 64) -> bool:
    """Bins a one-dimensional sample into about equally likely cells of its law and tests the counts.

    ``cdf(x)`` is ``P(X <= x)``. Cell edges come from the law's own quantiles, not from the sample.
    """
    span = np.abs(sample).max() + 1
    low, high = np.full(cells - 1, -span, dtype=np.float64), np.full(cells - 1, span, dtype=np.float64)
    levels = np.arange(1, cells) / cells
    for _ in range(80):  # bisection for the quantiles
        middle = (low + high) / 2
        below = cdf(middle) < levels
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    edges = np.unique(np.floor(high) + 0.5) if np.issubdtype(sample.dtype, np.integer) else np.unique(high)
    probabilities = np.diff(np.concatenate([[0.0], cdf(edges), [1.0]]))
    counts = np.bincount(np.searchsorted(edges, sample), minlength=len(edges) + 1)
    return fits_cells(counts, probabilities)
