"""Where the constants of ``shares="auto"`` come from: made-up tables alone, ``python -m benchmarks.synthetic_rule``.

Tables of three families (even, skewed and correlated columns, two or three classes), sizes and epsilons. For each
candidate the worst of a few hundred questions: bumps of two columns, and bumps of all of them. Geometric means.
"""

from __future__ import annotations

import sys
import warnings
from itertools import product

import numpy as np

import sfumato as sf

CANDIDATES = {
    "plain .60": {"means": 0.6, "norm": 0.4},
    "plain .75": {"means": 0.75, "norm": 0.25},
    "plain .90": {"means": 0.9, "norm": 0.1},
    "spread .45": {"means": 0.45, "norm": 0.1, "spreads": 0.45},
    "spread .60": {"means": 0.6, "norm": 0.1, "spreads": 0.3},
    "spread .75": {"means": 0.75, "norm": 0.1, "spreads": 0.15},
    "paired .25": {"means": 0.25, "norm": 0.05, "spreads": 0.2, "pairs": 0.5},
    "paired .35": {"means": 0.35, "norm": 0.05, "spreads": 0.2, "pairs": 0.4},
    "paired .50": {"means": 0.5, "norm": 0.05, "spreads": 0.2, "pairs": 0.25},
}
SIZES = ((1500, 6), (1500, 20), (12_000, 6), (12_000, 20))
EPSILONS = (0.2, 1.0, 5.0)


def made_up(family: str, rows: int, columns: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Records in [-1, 1] and their classes."""
    classes = rng.choice(3, rows, p=[0.6, 0.3, 0.1]) if family != "even" else rng.integers(0, 2, rows)
    shift = rng.normal(0, 0.15, (3, columns))[classes]
    if family == "even":
        return np.clip(rng.uniform(-0.8, 0.8, (rows, columns)) + shift, -1, 1), classes
    hidden = rng.normal(size=(rows, 3)) @ rng.normal(size=(3, columns)) / 2 + rng.normal(size=(rows, columns))
    if family == "skewed":
        scale = rng.uniform(0.05, 0.5, columns)
        return np.clip(-1 + scale * np.exp(0.6 * hidden) + np.abs(shift), -1, 1), classes
    return np.clip(rng.uniform(0.15, 0.45, columns) * hidden + rng.uniform(-0.5, 0.5, columns) + shift, -1, 1), classes


def questions(records: np.ndarray, rng: np.random.Generator) -> tuple[list[tuple[list[int], np.ndarray]], np.ndarray]:
    """Bumps of pairs of columns at records, and centres of bumps of all columns."""
    columns = records.shape[1]
    pairs = [rng.choice(columns, 2, replace=False).tolist() for _ in range(60)]
    return [(pair, records[rng.integers(len(records)), pair]) for pair in pairs], rng.uniform(-1, 1, (200, columns))


def answers(records: np.ndarray, bumps: list[tuple[list[int], np.ndarray]], wide: np.ndarray) -> tuple[np.ndarray, ...]:
    """The means of all questions over some records."""
    narrow = [np.exp(-((records[:, pair] - at) ** 2).sum(axis=1) / 0.5).mean() for pair, at in bumps]
    distance = np.maximum((records**2).sum(axis=1)[:, None] + (wide**2).sum(axis=1) - 2 * records @ wide.T, 0.0)
    return np.array(narrow), np.exp(-distance / (2 * (0.5 * records.shape[1]))).mean(axis=0)


def main(rounds: int) -> None:
    """One line for each size and epsilon: the error of every candidate."""
    warnings.simplefilter("ignore")
    print("rows columns epsilon  " + "  ".join(CANDIDATES), "(pairs of columns / all columns, worst)")
    for (rows, columns), epsilon in product(SIZES, EPSILONS):
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in CANDIDATES}
        for family, number in product(("even", "skewed", "correlated"), range(rounds)):
            rng = np.random.default_rng([rows, columns, number])
            records, classes = made_up(family, rows, columns, rng)
            asked = questions(records, rng)
            true = answers(records, *asked)
            box = sf.Box({**{f"x{i}": (-1, 1) for i in range(columns)}, "c": sf.Categorical([0, 1, 2])})
            data = {**{f"x{i}": records[:, i] for i in range(columns)}, "c": classes.astype(float)}
            for name, shares in CANDIDATES.items():
                table = sf.synthesize(data, box, sf.Privacy(epsilon=epsilon), label="c", shares=shares, rows=2000).data
                made = np.stack([table[f"x{i}"].to_numpy() for i in range(columns)], axis=1)
                one, all_ = (np.abs(a - b).max() for a, b in zip(answers(made, *asked), true, strict=True))
                found[name].append((one, all_))
        means = {name: np.exp(np.log(errors).mean(axis=0)) for name, errors in found.items()}
        told = "  ".join(f"{one:.3f}/{all_:.4f}" for one, all_ in means.values())
        print(f"{rows:6d} {columns:3d} {epsilon:4.1f}  {told}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
