"""Classifiers as they come, on tables made up anew in each run, beside fixed choices, naive Bayes and gradient descent.

Families have random parameters, and the seed is drawn by the operating system: nothing can be tuned on them. "Best in
hindsight" is picked on the test records of the very table.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import expit

import sfumato as sf
from benchmarks.suite.labelled import FAMILIES, Labelled, auc, balanced_accuracy
from benchmarks.timing import row
from sfumato.core.gaussian import noise_multiplier

STRENGTHS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, 10_000.0)
TABLES = 3  # of each family
STEPS, RATES, CLIPS = (20, 60), (1.0, 4.0, 16.0), (1.0, 2.0, 4.0)  # of gradient descent


def run() -> list[dict[str, Any]]:
    """Every family in turn."""
    seed = secrets.randbits(32)
    print(f"  seed {seed}")
    tables = [
        [FAMILIES[name](np.random.default_rng([seed, k, i])) for i in range(TABLES)] for k, name in enumerate(FAMILIES)
    ]
    sparse, wide, imbalanced, small, mixed = tables
    return [
        *of_sparse(sparse),
        *of_wide(wide),
        *of_imbalanced(imbalanced),
        *of_small("small", small),
        *of_small("mixed", mixed),
    ]


def published(table: Labelled, privacy: sf.Privacy, strength: float | str = "auto", kernel: Any = "auto") -> Any:
    """A learner as it comes, or with another C."""
    target = sf.KernelMachine("logistic", kernel, strength, classes=table.classes)
    return sf.release(target, (table.records, table.labels), table.box, privacy)


def narrowed(table: Labelled, privacy: sf.Privacy) -> Any:
    """A learner as it comes, in a private box for a tenth of the grant."""
    assert privacy.epsilon is not None
    inner, _ = sf.private_box(table.records, table.box, sf.Privacy(privacy.epsilon / 10))
    return published(replace(table, box=inner), sf.Privacy(privacy.epsilon * 0.9, privacy.delta))


def mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))


def best_fixed(table: Labelled, privacy: sf.Privacy, score: Any) -> float:
    """With the C that is best in hindsight."""
    found = []
    for strength in STRENGTHS:
        try:
            found.append(score(published(table, privacy, strength), table))
        except sf.ParameterError:  # the curvature alone would cost more than the grant
            continue
    return max(found)


def rank_score(release: Any, table: Labelled) -> float:
    """AUC."""
    return auc(release(table.test, outside="clip"), table.truth)


def accuracy(release: Any, table: Labelled) -> float:
    """The share of labels that are right."""
    return float(np.mean(release.predict(table.test, outside="clip") == table.truth))


def descent(table: Labelled, epsilon: float, delta: float, seed: int = 0) -> float:
    """The AUC of full-batch DP gradient descent with an intercept, best in hindsight over steps, rate and clipping."""
    rng, rows = np.random.default_rng(seed), len(table.labels)
    seen = np.column_stack([table.records, np.ones(rows)])
    signs, longest = np.where(table.labels > 0, 1.0, -1.0), np.linalg.norm(seen, axis=1)
    best = 0.0
    for steps in STEPS:
        for clip in CLIPS:
            noise = 2 * clip * noise_multiplier(epsilon, delta) * np.sqrt(steps)
            for rate in RATES:
                weights = np.zeros(seen.shape[1])
                for _ in range(steps):
                    slope = -expit(-signs * (seen @ weights)) * signs
                    slope *= np.minimum(1, clip / np.maximum(np.abs(slope) * longest, 1e-300))
                    weights -= rate / rows * (seen.T @ slope + noise * rng.standard_normal(len(weights)))
                best = max(best, auc(table.test @ weights[:-1], table.truth))
    return best


def of_sparse(tables: list[Labelled], epsilon: float = 1.0, delta: float = 1e-6) -> list[dict[str, Any]]:
    """Three ones in a hundred labels, 300 columns of zeros and ones."""
    privacy = sf.Privacy(epsilon, delta)
    at = {
        "section": f"sparse: 50,000 rows, 300 columns, 3 % positives, eps {epsilon:g}, delta {delta:g}; {TABLES} tables"
    }
    models = [published(table, privacy) for table in tables]
    ours = mean(map(rank_score, models, tables))
    theirs = mean(descent(table, epsilon, delta) for table in tables)
    plain, weighed = (
        mean(balanced_accuracy(m.predict(t.test, weights=w), t.truth) for m, t in zip(models, tables, strict=True))
        for w in (None, "balanced")
    )
    return [
        row("as it comes", ours, "AUC", **at),
        row("DP gradient descent, best in hindsight", theirs, "AUC", **at),
        row("  below it", theirs - ours, "AUC", "<= 0.01", **at),
        row("balanced accuracy, labels as they come", plain, "", **at),
        row("balanced accuracy, weights='balanced'", weighed, "", **at),
        row("  above", weighed - plain, "", ">= 0.15", **at),
    ]


def of_wide(tables: list[Labelled], epsilon: float = 0.1) -> list[dict[str, Any]]:
    """Many columns at little privacy, against the C that is best in hindsight."""
    privacy = sf.Privacy(epsilon)
    at = {"section": f"wide: 50,000 rows, 300 columns, pure eps {epsilon:g}; {TABLES} tables"}
    ours = mean(rank_score(published(table, privacy), table) for table in tables)
    best = mean(best_fixed(table, privacy, rank_score) for table in tables)
    return [
        row("as it comes", ours, "AUC", **at),
        row("best fixed C, in hindsight", best, "AUC", **at),
        row("  below it", best - ours, "AUC", "<= 0.02", **at),
    ]


def of_imbalanced(tables: list[Labelled], epsilon: float = 1.0) -> list[dict[str, Any]]:
    """One positive in twenty, against the best C and without privacy."""
    privacy = sf.Privacy(epsilon)
    at = {"section": f"imbalanced: 20,000 rows, 5 to 24 numeric columns, 5 % positives, pure eps {epsilon:g}"}
    models = [published(table, privacy) for table in tables]
    best = mean(best_fixed(table, privacy, rank_score) for table in tables)
    weighed = mean(
        balanced_accuracy(m.predict(t.test, weights="balanced"), t.truth) for m, t in zip(models, tables, strict=True)
    )
    return [
        row("as it comes", mean(map(rank_score, models, tables)), "AUC", **at),
        row("in a private box", mean(rank_score(narrowed(table, privacy), table) for table in tables), "AUC", **at),
        row("best fixed C, in hindsight", best, "AUC", **at),
        row("balanced accuracy, weights='balanced'", weighed, "", **at),
    ]


def of_small(name: str, tables: list[Labelled], epsilon: float = 1.0) -> list[dict[str, Any]]:
    """Beside naive Bayes and the larger class."""
    privacy = sf.Privacy(epsilon)
    at = {"section": f"{name}, pure eps {epsilon:g}: accuracy; {TABLES} tables"}
    ours = mean(accuracy(published(table, privacy), table) for table in tables)
    bayes = mean(
        accuracy(sf.release(sf.NaiveBayes("label", list(t.classes)), (t.records, t.labels), t.box, privacy), t)
        for t in tables
    )
    inner = mean(accuracy(narrowed(table, privacy), table) for table in tables)
    larger = mean(max(np.mean(t.truth == k) for k in t.classes) for t in tables)
    return [
        row("as it comes", ours, "accuracy", **at),
        row("in a private box", inner, "accuracy", **at),
        row("naive Bayes", bayes, "accuracy", **at),
        row("  below it", bayes - ours, "accuracy", "<= 0.01", **at),
        row("  below it, in a private box", bayes - inner, "accuracy", "<= 0.01", **at),
        row("always the larger class", larger, "accuracy", **at),
    ]
