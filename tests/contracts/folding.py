"""Every target with data for it, the passes that it folds, and engines that watch or refuse."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

import numpy as np
import pandas as pd

import sfumato as sf
from sfumato.engines.memory import MemoryEngine
from sfumato.targets.bounds import Bounds

ROWS = 400
PURE, ADDING = sf.Privacy(epsilon=1.0), sf.Privacy(epsilon=1.0, neighbours="add-remove")
LINE, PLANE = sf.Box({"a": (0, 10)}), sf.Box({"a": (0, 10), "b": (0, 10)})
MIXED = sf.Box({"a": (0, 10), "t": sf.Categorical(["f", "m"]), "b": sf.Periodic(0, 8), "g": sf.Categorical([0, 1])})
YEAR, ROUND, TWO = sf.Date("2024-01-01", "2025-01-01"), sf.Periodic(0, 8), sf.Categorical(["f", "m"])
DAYS = sf.Box({"d": YEAR})


def table(seed=17):
    """Records with values that are missing, infinite, far outside, of no declared category, or no day of the year."""
    rng = np.random.default_rng(seed)
    numbers = rng.uniform(-1, 11, size=(ROWS, 3))
    numbers.ravel()[rng.integers(0, numbers.size, 60)] = [np.nan, np.inf, -np.inf, 1e308, -0.0, 5e-324] * 10
    text, group = rng.choice(["f", "m", "x", ""], ROWS), rng.integers(0, 3, ROWS) * 1.0
    seconds = pd.to_timedelta(rng.integers(-30 * 86_400, 400 * 86_400, ROWS), unit="s")
    day = pd.Series(pd.Timestamp("2024-01-01") + seconds).mask(rng.random(ROWS) < 0.1)
    return pd.DataFrame({"a": numbers[:, 0], "b": numbers[:, 1], "y": numbers[:, 2], "t": text, "g": group, "d": day})


def count_rows(data):
    return len(data)


def constant(data):
    return lambda points: np.full(len(points), float(len(data)))


FOLDING = {
    **{what: (sf.Statistic(what), PLANE, PURE) for what in ("sum", "mean", "variance", "covariance", "histogram")},
    "count": (sf.Statistic("count"), MIXED, ADDING),
    "proportions": (sf.Statistic("proportions", "t"), MIXED, PURE),
    "median": (sf.Statistic("median"), LINE, PURE),
    "quantiles": (sf.Statistic("quantiles", "b"), PLANE, ADDING),
    "chosen quantiles": (sf.Statistic("quantiles", "b", interval="none"), PLANE, ADDING),
    "density": (sf.KDE(1.0), LINE, PURE),
    "tuned density": (sf.KDE(sf.Tuned([0.8, 1.6])), LINE, PURE),
    "densities": (sf.KDE(1.0, by="t"), sf.Box({"a": (0, 10), "t": sf.Categorical(["f", "m"])}), ADDING),
    "moments": (sf.CosineMoments(4), MIXED, PURE),
    "moments of pairs": (sf.CosineMoments(interactions=2), PLANE, ADDING),
    "tables": (sf.TableMoments("t"), MIXED, PURE),
    "tables of pairs": (sf.TableMoments(shares={"means": 0.5, "pairs": 0.5}), PLANE, ADDING),
    "components": (sf.PrincipalComponents(2, noise="covariance"), PLANE, PURE),
    "curve": (sf.NadarayaWatson(1.0, response="y", range=(0, 10)), LINE, PURE),
    "naive Bayes": (sf.NaiveBayes("t", ["f", "m"]), PLANE, PURE),
    "normal naive Bayes": (sf.NaiveBayes("g", [0, 1], likelihood="normal"), PLANE, ADDING),
    "bounds": (Bounds(), sf.Box({"a": (-(2.0**64), 2.0**64)}), ADDING),
    "support vectors": (sf.KernelMachine("hinge", "rbf", 3.0, "t", ["f", "m"], mechanism="output"), PLANE, PURE),
    "logistic regression": (
        sf.LogisticRegression(3.0, response="g", classes=[0, 1, 2], prior=(3, 2, 1)),
        PLANE,
        ADDING,
    ),
    "ridge regression": (sf.Ridge(3.0, response="y", range=(0, 10), mechanism="output"), PLANE, PURE),
    "Huber regression": (sf.KernelMachine("huber", "matern", 3.0, "y", None, (0, 10)), PLANE, PURE),
    "density of days": (sf.KDE(20.0), DAYS, PURE),
    "density round a circle": (sf.KDE(1.0), sf.Box({"b": ROUND}), PURE),
    "median day": (sf.Statistic("median"), DAYS, PURE),
    "curve of days": (sf.NadarayaWatson(20.0, response="y", range=(0, 10)), DAYS, PURE),
    "naive Bayes of days": (sf.NaiveBayes("t", ["f", "m"]), sf.Box({"d": YEAR, "b": ROUND}), PURE),
    "tables of days": (sf.TableMoments("g"), sf.Box({"a": (0, 10), "d": YEAR, "g": sf.Categorical([0, 1])}), PURE),
    "ridge regression on categories": (
        sf.Ridge(3.0, response="y", range=(0, 10), mechanism="output"),
        sf.Box({"a": (0, 10), "t": TWO, "d": YEAR, "b": ROUND}),
        PURE,
    ),
    "kernel machine on categories": (
        sf.KernelMachine("logistic", "rbf", 3.0, "g", [0, 1], mechanism="output", prior="even"),
        sf.Box({"t": TWO, "b": ROUND}),
        PURE,
    ),
}
# Later passes of these depend on what was published before them.
STEPPING = {
    "variance in two steps": (sf.Statistic("variance"), LINE, sf.Privacy(epsilon=20.0)),
    "components by products": (sf.PrincipalComponents(2, noise="products"), PLANE, ADDING),
    "descent": (
        sf.LogisticRegression(3.0, response="g", classes=[0, 1, 2], prior=(3, 2, 1), mechanism="descent"),
        sf.Box({"a": (0, 10), "t": TWO}),
        sf.Privacy(epsilon=1.0, delta=1e-6),
    ),
    "logistic regression from noisy shares": (
        sf.LogisticRegression(3.0, response="g", classes=[0, 1, 2]),
        PLANE,
        PURE,
    ),
}
SUMMING = FOLDING | STEPPING
WHOLE = {
    "black box": (sf.BlackBox(constant, sensitivity=1.0), LINE, PURE),
    "statistic of the caller's": (sf.Statistic(count_rows, sensitivity=1.0), LINE, PURE),
    "Priestley-Chao regression": (sf.PriestleyChao(1.0, response="y", range=(0, 10)), LINE, PURE),
}

BASES = {
    "black box": sf.Bernstein(3), "support vectors": sf.Landmarks(9), "Huber regression": sf.Landmarks(9),
}  # fmt: skip


def released(name, engine=None, data=None):
    target, box, privacy = {**SUMMING, **WHOLE}[name]
    data = table() if data is None else data
    return sf.release(target, data, box, privacy, engine=engine, basis=BASES.get(name, "auto"))


@dataclass(frozen=True)
class Watching(MemoryEngine):
    """Remembers what was folded."""

    passes: list = field(default_factory=list)

    def fold(self, records, one):
        self.passes.append(one)
        return super().fold(records, one)


@cache
def passes_of(name):
    """What a target folds, each kind of pass once."""
    engine = Watching()
    released(name, engine)
    kinds = {(type(one), one.size, type(getattr(one, "rule", None))): one for one in engine.passes}
    return list(kinds.values())
