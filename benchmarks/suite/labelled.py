"""Labelled tables that are made up anew in each run: sparse, imbalanced, mixed, small, wide."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

import sfumato as sf

TEST = 10_000


@dataclass(frozen=True)
class Labelled:
    """Rows to learn from and rows to be judged on, with the chance of the second class where it is known."""

    name: str
    records: np.ndarray
    labels: np.ndarray
    test: np.ndarray
    truth: np.ndarray
    box: sf.Box
    classes: tuple[int, ...] = (0, 1)


def _intercept(scores: np.ndarray, share: float) -> float:
    """What must be added to logits so that this share of labels is one."""
    low, high = -40.0, 40.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if expit(scores + middle).mean() < share else (low, middle)
    return low


def _labelled(rng: np.random.Generator, scores: np.ndarray, share: float) -> np.ndarray:
    return (rng.random(len(scores)) < expit(scores + _intercept(scores, share))).astype(np.int64)


def _split(name: str, records: np.ndarray, labels: np.ndarray, box: sf.Box, **more: tuple[int, ...]) -> Labelled:
    return Labelled(name, records[TEST:], labels[TEST:], records[:TEST], labels[:TEST], box, **more)


def sparse(rng: np.random.Generator, rows: int = 50_000, columns: int = 300, share: float = 0.03) -> Labelled:
    """Zeros and ones with frequencies from a power law, of which some speak for the rare class."""
    often = np.clip(rng.pareto(rng.uniform(0.8, 1.5), columns) * rng.uniform(0.005, 0.02), 0.002, 0.4)
    slopes = rng.normal(0, rng.uniform(0.8, 1.6), columns) * (rng.random(columns) < rng.uniform(0.3, 1))
    records = (rng.random((rows + TEST, columns)) < often).astype(np.float64)
    longest = float(np.sqrt(np.ceil(often.sum() + 3 * np.sqrt(often.sum()))))  # what nearly all rows stay below
    box = sf.Box([(0, 1)] * columns, max_norm=longest)
    return _split("sparse", records, _labelled(rng, records @ slopes, share), box)


def wide(rng: np.random.Generator) -> Labelled:
    """As many columns, but labels that are balanced."""
    made = sparse(rng, share=rng.uniform(0.3, 0.5))
    return Labelled("wide", *(getattr(made, name) for name in ("records", "labels", "test", "truth", "box")))


def _numbers(rng: np.random.Generator, rows: int, columns: int) -> tuple[np.ndarray, sf.Box]:
    """Correlated columns, some of them skewed, in bounds that are wider than the records."""
    mixing = np.eye(columns) + 0.4 * rng.standard_normal((columns, columns)) / np.sqrt(columns)
    records = rng.standard_normal((rows, columns)) @ mixing
    skewed = rng.random(columns) < 0.4
    records[:, skewed] = np.exp(0.6 * records[:, skewed])
    low, high = records.min(axis=0), records.max(axis=0)
    room = rng.uniform(0, 0.5, columns) * (high - low)
    return records, sf.Box([(float(a), float(b)) for a, b in zip(low - room / 2, high + room, strict=True)])


def imbalanced(rng: np.random.Generator) -> Labelled:
    """Numbers, one label in twenty."""
    columns = int(rng.integers(5, 25))
    records, box = _numbers(rng, 20_000 + TEST, columns)
    seen = (records - records.mean(axis=0)) / records.std(axis=0)
    scores = seen @ rng.normal(0, 1, columns)
    return _split("imbalanced", records, _labelled(rng, scores, 0.05), box)


def small(rng: np.random.Generator) -> Labelled:
    """Six numeric columns, 10,000 rows, labels that depend on each column by some smooth curve."""
    records, box = _numbers(rng, 10_000 + TEST, 6)
    seen = (records - records.mean(axis=0)) / records.std(axis=0)
    curves = (
        rng.normal(0, 0.6, 6) * seen + rng.normal(0, 0.4, 6) * (seen**2 - 1) + np.sin(seen * rng.uniform(0.5, 2, 6))
    )
    return _split(
        "small", records, _labelled(rng, rng.uniform(0.4, 1) * curves.sum(axis=1), rng.uniform(0.3, 0.6)), box
    )


def mixed(rng: np.random.Generator) -> Labelled:
    """Numbers and zeros and ones, three classes."""
    numbers, kinds = int(rng.integers(2, 6)), int(rng.integers(3, 12))
    records, box = _numbers(rng, 20_000 + TEST, numbers)
    flags = (rng.random((len(records), kinds)) < rng.uniform(0.1, 0.6, kinds)).astype(np.float64)
    seen = np.concatenate([(records - records.mean(axis=0)) / records.std(axis=0), flags], axis=1)
    scores = seen @ rng.normal(0, 0.8, (numbers + kinds, 3)) + 0.5 * np.abs(seen[:, :1]) * rng.normal(0, 1, 3)
    labels = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    whole = sf.Box([(c.low, c.high) for c in box.intervals()] + [(0, 1)] * kinds)
    return _split("mixed", np.concatenate([records, flags], axis=1), labels, whole, classes=(0, 1, 2))


FAMILIES: dict[str, Callable[[np.random.Generator], Labelled]] = {
    "sparse": sparse, "wide": wide, "imbalanced": imbalanced, "small": small, "mixed": mixed,
}  # fmt: skip


def auc(scores: np.ndarray, truth: np.ndarray) -> float:
    """The chance that a record of the second class scores above one of the first."""
    from scipy.stats import rankdata

    ones = truth > 0
    many = int(ones.sum())
    return float((rankdata(scores)[ones].sum() - many * (many + 1) / 2) / (many * (len(truth) - many)))


def balanced_accuracy(given: np.ndarray, truth: np.ndarray) -> float:
    """The mean of the accuracies within each class."""
    return float(np.mean([np.mean(given[truth == k] == k) for k in np.unique(truth)]))
