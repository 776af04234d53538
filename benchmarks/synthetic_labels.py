"""Where the constants of ``method="auto"`` come from: made-up tables alone, ``python -m benchmarks.synthetic_labels``.

Two classes in five families: labels that follow a linear rule of correlated columns, classes whose means differ
column by column, both shifts and correlation; redundant columns, which three factors make most of and labels follow;
and groups of unequal size, in which columns measure nearly the same, as in many wide tables. For each number of rows,
columns and epsilon: the area under the curve of a logistic regression that is trained on the rows of each private
table, judged on fresh records; and the worst error of bumps of all columns, the label among them. Means over families
and rounds; after the bar the areas by family.
"""

from __future__ import annotations

import sys
import warnings
from fractions import Fraction
from itertools import product

import numpy as np
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

import sfumato as sf
from sfumato.targets import tables

FAMILIES = ("rule", "shifts", "both", "redundant", "groups")
CASES = ((12_000, 10), (12_000, 40), (12_000, 100))
EPSILONS = (1.0, 3.0)
SHARES = (Fraction(3, 10), Fraction(1, 2))
JUDGED = 4000


def made_up(family: str, rows: int, columns: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Records in [-1, 1], and whether each is of the second class."""
    mixing = rng.normal(size=(3, columns)) * (0 if family == "shifts" else 0.7)
    weights, apart = rng.normal(size=columns) / columns**0.5, rng.normal(size=columns) * 2 / columns**0.5
    classes = rng.random(rows) < rng.uniform(0.2, 0.5)
    hidden = rng.normal(size=(rows, 3)) @ mixing + rng.normal(size=(rows, columns))
    if family in ("redundant", "groups"):
        count = 3 if family == "redundant" else max(3, columns // 8)
        factors = rng.normal(size=(rows, count))
        if family == "groups":
            mixing = 2.4 * np.eye(count)[rng.choice(count, columns, p=rng.dirichlet(np.ones(count)))].T
        else:
            mixing = 1.5 * rng.normal(size=(count, columns))
        every = norm.cdf((factors @ mixing + rng.normal(size=(rows, columns))) / 2.5)
        score = factors @ rng.normal(size=count)
        return 2 * every - 1, rng.random(rows) < 1 / (1 + np.exp(-3 * (score - score.std() * 0.7)))
    if family == "rule":
        score = hidden @ weights
        classes = rng.random(rows) < 1 / (1 + np.exp(-3 * (score - score.std() * 0.7)))
    else:
        hidden = hidden + classes[:, None] * apart
    return np.clip(hidden / 4, -1, 1), classes


def judged(made: np.ndarray, classes: np.ndarray, records: np.ndarray, true: np.ndarray) -> float:
    """The area under the curve of a logistic regression of some rows at fresh records."""
    if len(np.unique(classes)) < 2:
        return 0.5
    model = LogisticRegression(max_iter=300).fit(made, classes)
    return float(roc_auc_score(true, model.decision_function(records)))


def main(rounds: int) -> None:
    """One line for each case: the area of every method, and the worst error of its rows."""
    warnings.simplefilter("ignore")
    names = ["strata", *(f"rule {share}" for share in SHARES)]
    print(" rows columns epsilon n eps/d   real  " + "  ".join(names), "(area under the curve / worst error)")
    for (rows, columns), epsilon in product(CASES, EPSILONS):
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in ["real", *names]}
        for family, number in product(FAMILIES, range(rounds)):
            rng = np.random.default_rng([rows, columns, number, FAMILIES.index(family)])
            every, classes = made_up(family, rows + JUDGED, columns, rng)
            records, truth = every[:rows], classes[:rows]
            centres = rng.uniform(-1, 1, (200, columns + 1))

            def answers(made: np.ndarray, told: np.ndarray, centres: np.ndarray = centres) -> np.ndarray:
                rows = np.column_stack([made, 2.0 * told - 1])
                far = (rows**2).sum(axis=1)[:, None] + (centres**2).sum(axis=1) - 2 * rows @ centres.T
                return np.exp(-far / centres.shape[1]).mean(axis=0)

            true = answers(records, truth)
            fresh = every[rows:], classes[rows:]
            found["real"].append((judged(records, truth, *fresh), 0.0))
            box = sf.Box({**{f"x{i}": (-1, 1) for i in range(columns)}, "c": sf.Categorical([0, 1])})
            data = {**{f"x{i}": records[:, i] for i in range(columns)}, "c": truth.astype(float)}
            for name, share in zip(names, (None, *SHARES), strict=True):
                tables._LEARNED = share or SHARES[0]
                method = "strata" if share is None else "rule"
                privacy = sf.Privacy(epsilon=epsilon)
                table = sf.synthesize(data, box, privacy, label="c", method=method).data
                made = np.stack([table[f"x{i}"].to_numpy() for i in range(columns)], axis=1)
                told = table["c"].to_numpy() == 1
                found[name].append((judged(made, told, *fresh), float(np.abs(answers(made, told) - true).max())))
        means = {name: np.mean(values, axis=0) for name, values in found.items()}
        each = " ".join(
            f"{family[:4]} " + "/".join(f"{found[name][i * rounds][0]:.2f}" for name in found)
            for i, family in enumerate(FAMILIES)
        )
        own = f"{rows:5d} {columns:7d} {epsilon:7.1f} {rows * epsilon / columns:7.0f}  {means.pop('real')[0]:.3f}  "
        print(own + "  ".join(f"{area:.3f}/{worst:.4f}" for area, worst in means.values()), "|", each, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
