"""Frequencies and tables in the local model, on people drawn anew each run, beside what else could have been used.

Peers are optimised unary encoding and subset selection as printed, by their exact variance for the people at hand, and
the library's own Hadamard sign.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np

import sfumato as sf
from benchmarks.timing import row

EPSILONS = (0.5, 1.0, 2.0, 4.0)
PEOPLE, RUNS = 4_000, 80


def run() -> list[dict[str, Any]]:
    """All figures."""
    generator = np.random.default_rng()
    return [*frequencies(generator), *tables(generator)]


def families(generator: np.random.Generator) -> dict[str, np.ndarray]:
    """Shares of 3 to 200 categories: even, of many sizes, falling, and with one that most people have."""
    few, some, many = (int(size) for size in generator.integers([3, 12, 60], [12, 60, 200]))
    falling = (np.arange(some) + 1.0) ** -generator.uniform(0.8, 2.0)
    heap = generator.dirichlet(np.ones(some)) * 0.3
    heap[generator.integers(some)] += 0.7
    return {
        f"even, {few}": np.full(few, 1 / few),
        f"falling, {some}": falling / falling.sum(),
        f"a heap, {some}": heap,
        f"at random, {many}": generator.dirichlet(np.full(many, 0.5)),
        "at random, 22": generator.dirichlet(np.ones(22)),
    }


def measured(shares: np.ndarray, epsilon: float, randomizer: str, generator: np.random.Generator) -> float:
    """The mean squared error of raw shares, times the people."""
    box, total = sf.Box({"c": sf.Categorical(range(len(shares)))}), 0.0
    for _ in range(RUNS):
        held = generator.choice(len(shares), p=shares, size=PEOPLE)
        protocol = sf.local.Marginals(box, epsilon, ways=1, randomizer=randomizer)
        collector = protocol.collector()
        collector.add_batch(protocol.encode_many(held.astype(float)[:, None]))
        truth = np.bincount(held, minlength=len(shares)) / PEOPLE
        total += float(np.mean((collector.release().table("c", raw=True) - truth) ** 2)) * PEOPLE / RUNS
    return total


def peers(size: int, epsilon: float) -> dict[str, float]:
    """The mean variance over categories, times the people: the same whatever people hold."""
    odds = math.exp(epsilon)
    return {
        "OUE": _mean(size, 0.5, 1 / (1 + odds)),
        "subset selection": min(_subset(size, k, odds) for k in _kept(size, odds)),
    }


def _kept(size: int, odds: float) -> set[int]:
    near = size / (1 + odds)
    return {max(1, math.floor(near)), max(1, min(size - 1, math.ceil(near)))}


def _subset(size: int, kept: int, odds: float) -> float:
    own = kept * odds / (kept * odds + size - kept)
    return _mean(size, own, (kept - own) / (size - 1))


def _mean(size: int, own: float, other: float) -> float:
    return (own * (1 - own) + (size - 1) * other * (1 - other)) / (size * (own - other) ** 2)


def frequencies(generator: np.random.Generator) -> list[dict[str, Any]]:
    """The default's variance over that of the best of three."""
    rows, ratios = [], []
    for epsilon in EPSILONS:
        at = {"section": f"frequencies, epsilon = {epsilon:g}: variance of a share times people, mean over categories"}
        for name, shares in families(generator).items():
            default = measured(shares, epsilon, "auto", generator)
            others = peers(len(shares), epsilon) | {"Hadamard": measured(shares, epsilon, "hadamard", generator)}
            ratio = default / min(others.values())
            ratios.append(ratio)
            rows.append(row(f"{name}: sf.local.Marginals", default, "", **at))
            rows += [row(f"  {peer}", value, "", **at) for peer, value in others.items()]
            # A mean of so many squares of normal numbers has this relative deviation.
            spread = math.sqrt(2 / (RUNS * (len(shares) - 1)))
            rows.append(row("  over the best", ratio, "times", spread=spread, **at))
    at = {"section": "frequencies, all families and epsilons"}
    rows.append(
        row(
            "mean ratio to the best of Hadamard, OUE, subset selection",
            float(np.mean(ratios)),
            "times",
            "<= 1.05",
            **at,
        )
    )
    return rows


# --- tables -----------------------------------------------------------------------------------------------


def columns(people: int, generator: np.random.Generator) -> np.ndarray:
    """Six categorical columns that a hidden group has in common, more or less."""
    groups = 4
    hidden = generator.choice(groups, p=generator.dirichlet(np.ones(groups)), size=people)
    strength, found = generator.uniform(0.1, 1.5), []
    for size in generator.integers(2, 9, size=6):
        chances = np.exp(generator.normal(size=size) + strength * generator.normal(size=(groups, size)))
        below = np.cumsum(chances / chances.sum(axis=1, keepdims=True), axis=1)[:, :-1]
        found.append((generator.random(people)[:, None] > below[hidden]).sum(axis=1))
    return np.array(found).T


def tables(generator: np.random.Generator, people: int = 100_000, runs: int = 6) -> list[dict[str, Any]]:
    """The mean absolute error of all two-way tables, over that of the products of the release's own shares."""
    rows = []
    for epsilon in (0.1, 0.3, 1.0, 3.0):
        ours, products = [], []
        for _ in range(runs):
            records = columns(people, generator)
            sizes = records.max(axis=0) + 1
            box = sf.Box({f"c{j}": sf.Categorical(range(max(2, size))) for j, size in enumerate(sizes)})
            protocol = sf.local.Marginals(box, epsilon, ways=2, people=people)
            collector = protocol.collector()
            collector.add_batch(protocol.encode_many(records.astype(float)))
            release = collector.release()
            for i, j in combinations(range(6), 2):
                truth = np.zeros((max(2, sizes[i]), max(2, sizes[j])))
                np.add.at(truth, (records[:, i], records[:, j]), 1 / people)
                names = [box.names[i], box.names[j]]
                ours.append(np.abs(release.table(names) - truth).mean())
                products.append(np.abs(np.outer(*map(release.table, names)) - truth).mean())
        at = {"section": f"two-way tables of six categorical columns, {people:,} people, epsilon = {epsilon:g}"}
        ours_mean, product = float(np.mean(ours)), float(np.mean(products))
        rows.append(row("mean absolute error", ours_mean, "", **at))
        rows.append(row("  over products of the same shares", ours_mean / product, "times", "<= 1.005", **at))
    return rows
