"""The paper's questions, and what stands beside private tables: rows that are even, independent, or real.

A question is the mean over rows of ten Gaussian bumps, with centres uniform in the cube and weights of sum one.
"""

from __future__ import annotations

import itertools

import numpy as np

from benchmarks.synthetic_data import Table

SIGMAS = (2, 4, 6, 8, 10)
BUMPS = 10
BINS = 16  # of the independent histograms
_ROWS = 512  # at a time


class Questions:
    """Questions about rows of the cube, each for all widths."""

    def __init__(self, columns: int, count: int, seed: int) -> None:
        rng = np.random.default_rng([count, columns, seed])
        self.centres = rng.uniform(-1, 1, (count * BUMPS, columns)).astype(np.float32)
        weights = rng.random((count, BUMPS))
        self.weights = weights / weights.sum(axis=1, keepdims=True)

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """``(sigmas, count)`` answers."""
        total = np.zeros((len(SIGMAS), len(self.centres)))
        rows, squares = rows.astype(np.float32), (self.centres**2).sum(axis=1)
        for start in range(0, len(rows), _ROWS):
            some = rows[start : start + _ROWS]
            far = np.maximum((some**2).sum(axis=1)[:, None] + squares - 2 * (some @ self.centres.T), 0)
            for place, sigma in enumerate(SIGMAS):
                total[place] += np.exp(far * np.float32(-0.5 / sigma**2)).sum(axis=0, dtype=np.float64)
        return (total.reshape(len(SIGMAS), -1, BUMPS) * self.weights).sum(axis=2) / len(rows)


class Pairs:
    """Bumps of width .5 on all pairs of columns, at records."""

    def __init__(self, rows: np.ndarray, each: int = 10) -> None:
        rng = np.random.default_rng(231)
        self.pairs = list(itertools.combinations(range(rows.shape[1]), 2))
        self.centres = [rows[rng.integers(len(rows), size=each)][:, pair] for pair in self.pairs]

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """The mean of every bump."""
        found = []
        for pair, centres in zip(self.pairs, self.centres, strict=True):
            far = ((rows[:, None, pair] - centres) ** 2).sum(axis=2)
            found.append(np.exp(-far / (2 * 0.5**2)).mean(axis=0))
        return np.concatenate(found)


def even_rows(table: Table, count: int, rng: np.random.Generator) -> np.ndarray:
    """Rows of numbers drawn uniformly: no record is looked at."""
    return rng.uniform(-1, 1, (count, table.box.dimension))


def histogram_rows(table: Table, count: int, epsilon: float, rng: np.random.Generator) -> np.ndarray:
    """Columns by themselves, each from a histogram with Laplace noise for its part of epsilon."""
    records, found = table.scaled(), []
    edges = np.linspace(-1, 1, BINS + 1)
    for column in records.T:
        counts = np.histogram(column, edges)[0] + rng.laplace(scale=2 * records.shape[1] / epsilon, size=BINS)
        shares = np.maximum(counts, 0) + 1e-12
        cells = rng.choice(BINS, count, p=shares / shares.sum())
        found.append(edges[cells] + rng.random(count) * (edges[1] - edges[0]))
    return np.stack(found, axis=1)


def real_rows(table: Table, count: int, rng: np.random.Generator) -> np.ndarray:
    """Some of the records themselves: nothing is private."""
    return table.scaled()[rng.choice(len(table), count, replace=False)]


def shuffled_rows(table: Table, rng: np.random.Generator) -> np.ndarray:
    """The real columns, each in an order of its own: independence without any noise."""
    return np.stack([rng.permutation(column) for column in table.scaled().T], axis=1)
