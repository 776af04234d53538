"""Means, variances, quantiles and summaries of families that are drawn anew each run, beside peers and fixed choices.

Nothing can be tuned on it: shapes, bounds and places are random, the seed is printed and stays with the rows. Peers are
their mechanisms, as published, with the same bounds and epsilon: a mean and a variance by themselves with Laplace noise
(as OpenDP's and diffprivlib's), the joint exponential mechanism (Gillenwater et al.) and recursive quantiles (Kaplan et
al.) on gaps between records. Errors are absolute, means over releases; what is worse than the best peer is told in
standard errors of the difference.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

import sfumato as sf
from benchmarks.timing import row

EPSILONS = (0.1, 1.0)
ROWS, FEW = 10_000, 1_000
LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9)
REPEATS = {"mean": 200, "variance": 200, "quantiles": 40}
ALLOWED = "<= 3"  # standard errors
CHOICES = ((7, "full"), (8, "cross"), (12, "cross"), (24, "cross"), (5, 2), (8, 2), (12, 1))
ASKED = 40

Values = np.ndarray
Made = tuple[Values, float, float, float]  # values, bounds, and the step they are recorded in


def _skewed(rng: np.random.Generator, n: int) -> Made:
    values = np.exp(rng.normal(rng.uniform(8, 11), rng.uniform(0.4, 1.2), n))
    high = 10.0 ** math.ceil(math.log10(np.median(values)) + 1)
    return values, 0.0, high, 0.01


def _edge(rng: np.random.Generator, n: int) -> Made:
    return rng.exponential(rng.uniform(0.005, 0.05), n), 0.0, 1.0, 1e-9


def _ages(rng: np.random.Generator, n: int) -> Made:
    return np.floor(rng.gamma(rng.uniform(4, 12), rng.uniform(3, 6), n)), 0.0, 110.0, 1.0


def _ties(rng: np.random.Generator, n: int) -> Made:
    step = float(rng.choice([0.5, 5.0, 10.0]))
    return np.round(rng.normal(100, rng.uniform(5, 25), n) / step) * step, 0.0, 300.0, step


def _spike(rng: np.random.Generator, n: int) -> Made:
    values = rng.gamma(2, rng.uniform(5, 20), n)
    return np.where(rng.random(n) < rng.uniform(0.1, 0.5), 20.0, values), 0.0, 200.0, 0.01


def _even(rng: np.random.Generator, n: int) -> Made:
    return rng.uniform(-1, 1, n), -1.0, 1.0, 1e-9


def _towns(rng: np.random.Generator, n: int) -> Made:
    places = rng.uniform(0, 100, 6)
    return rng.choice(places, n) + rng.normal(0, rng.uniform(0.2, 3), n), 0.0, 100.0, 1e-6


FAMILIES: dict[str, Callable[[np.random.Generator, int], Made]] = {
    "skewed": _skewed, "at the edge": _edge, "whole numbers": _ages, "heavy ties": _ties, "a spike": _spike,
    "even": _even, "towns": _towns,
}  # fmt: skip


# --- peers ----------------------------------------------------------------------------------------------------------


def _widths(values: Values, low: float, high: float) -> tuple[Values, Values]:
    """Ends of the gaps between records, and the logarithms of how wide they are; ties are set apart by very little."""
    spread = np.sort(np.clip(values, low, high)) + 1e-10 * (high - low) * np.linspace(0, 1, len(values))
    ends = np.concatenate([[low], np.clip(spread, low, high), [high]])
    return ends, np.log(np.maximum(np.diff(ends), 1e-15 * (high - low)))


def joint_exponential(values: Values, low: float, high: float, epsilon: float, rng: np.random.Generator) -> Values:
    """All levels at once, by dynamic programming over all pairs of gaps."""
    n, (ends, wide) = len(values), _widths(values, low, high)
    apart = np.arange(n + 1)[None, :] - np.arange(n + 1)[:, None]
    shares = np.diff([0.0, *LEVELS, 1.0])
    weigh = [np.where(apart >= 0, -epsilon / 4 * np.abs(apart - share * n), -np.inf) for share in shares]
    after = [wide - epsilon / 4 * np.abs(n - np.arange(n + 1) - shares[-1] * n)]
    for step in reversed(weigh[1:-1]):
        after.append(wide + np.logaddexp.reduce(step + after[-1][None, :], axis=1))
    place, found = 0, []
    for step, beyond in zip(weigh[:-1], reversed(after), strict=True):
        logs = step[place] + beyond
        place = int(np.argmax(logs + rng.gumbel(size=n + 1)))
        found.append(rng.uniform(ends[place], ends[place + 1]))
    return np.sort(found)


def recursive(values: Values, low: float, high: float, epsilon: float, rng: np.random.Generator) -> Values:
    """The middle level first, then those on either side of it, among the records there."""
    depth = math.ceil(math.log2(len(LEVELS) + 1))

    def one(part: Values, a: float, b: float, levels: list[float], before: float, share: float) -> list[float]:
        if not levels:
            return []
        middle = len(levels) // 2
        level = (levels[middle] - before) / share
        ends, wide = _widths(part, a, max(b, a + 1e-9 * (high - low)))
        logs = wide - epsilon / (2 * depth) * np.abs(np.arange(len(part) + 1) - level * len(part))
        place = int(np.argmax(logs + rng.gumbel(size=len(logs))))
        value = float(rng.uniform(ends[place], ends[place + 1]))
        left = one(part[part < value], a, value, levels[:middle], before, levels[middle] - before)
        rest = before + share - levels[middle]
        return [*left, value, *one(part[part >= value], value, b, levels[middle + 1 :], levels[middle], rest)]

    return np.array(one(values, low, high, list(LEVELS), 0.0, 1.0))


# --- one quantity ---------------------------------------------------------------------------------------------------


def _scored(errors: Values) -> tuple[float, float]:
    return float(np.mean(errors)), float(np.std(errors) / math.sqrt(len(errors)))


def _ours(statistic: str, made: Made, epsilon: float, **settings: Any) -> tuple[float, float]:
    values, low, high, step = made
    kind = sf.Integer(low, high) if step == 1 else (low, high)
    truth, box, grant = _truth(statistic, values), sf.Box({"x": kind}), sf.Privacy(epsilon=epsilon)
    target = sf.Statistic(statistic, "x", **settings)
    found = [np.abs(sf.release(target, values, box, grant).value - truth).mean() for _ in range(REPEATS[statistic])]
    return _scored(np.array(found))


def _truth(statistic: str, values: Values) -> Any:
    plain = {"mean": np.mean, "variance": np.var, "quantiles": lambda v: np.quantile(v, LEVELS)}
    return plain[statistic](values)


def _peers(statistic: str, made: Made, epsilon: float, rng: np.random.Generator) -> dict[str, tuple[float, float]]:
    values, low, high, step = made
    count = REPEATS[statistic]
    if statistic != "quantiles":
        moved = (high - low) ** (1 if statistic == "mean" else 2) / (len(values) * epsilon)
        return {"by itself": _scored(np.abs(rng.laplace(0, moved, 4 * count)))}
    truth, found = _truth(statistic, values), {}
    for name, peer in (("joint exponential", joint_exponential), ("recursive", recursive)):
        drawn = [peer(values, low, high, epsilon, rng) for _ in range(count)]
        rounded = [
            np.round(one / step) * step if step >= 0.5 else one for one in drawn
        ]  # told of whole steps, as we are
        found[name] = _scored(np.abs(np.array(rounded) - truth).mean(axis=1))
    return found


def _compared(
    family: str, statistic: str, made: Made, epsilon: float, rng: np.random.Generator
) -> list[dict[str, Any]]:
    settings: dict[str, Any] = {}
    if statistic == "quantiles":
        settings = {"probabilities": LEVELS, "interval": "none"}
        settings |= {"step": made[3]} if made[3] >= 0.5 and made[3] != 1 else {}
    at = {"section": f"{statistic} of {family}, n = {len(made[0]):,}, epsilon {epsilon:g}: mean absolute error"}
    ours = _ours(statistic, made, epsilon, **settings)
    theirs = _peers(statistic, made, epsilon, rng)
    rows = [row("sfumato, as it comes", ours[0], "", **at)]
    rows += [row(name, score[0], "", **at) for name, score in theirs.items()]
    best = min(theirs.values())
    spread = math.hypot(ours[1], best[1]) or 1e-300
    rows.append(row("sfumato over the best peer", ours[0] / max(best[0], 1e-300), "times", **at))
    rows.append(
        row("worse than the best peer by", (ours[0] - best[0]) / spread, "standard errors", asked=ALLOWED, **at)
    )
    return rows


# --- summaries ------------------------------------------------------------------------------------------------------


def _mixed(rng: np.random.Generator) -> tuple[pd.DataFrame, sf.Box]:
    """Two columns of numbers and two of categories, in clusters."""
    crowd = rng.integers(0, 4, ROWS)
    centre, wide = rng.uniform(-0.7, 0.7, (4, 2)), rng.uniform(0.05, 0.4, (4, 2))
    x, y = np.clip(centre[crowd] + wide[crowd] * rng.normal(size=(ROWS, 2)), -1, 1).T
    g = np.where(rng.random(ROWS) < rng.random(4)[crowd], "a", "b")
    h = np.array(list("pqrs"))[(crowd + rng.integers(0, 2, ROWS)) % 4]
    box = sf.Box({"x": (-1, 1), "y": (-1, 1), "g": sf.Categorical(["a", "b"]), "h": sf.Categorical(list("pqrs"))})
    return pd.DataFrame({"x": x, "y": y, "g": g, "h": h}), box


def _asked(rng: np.random.Generator, hard: bool) -> list[dict[str, Any]]:
    """Conditions on one to three columns: bumps (centre, width) or ranges, and categories."""
    found = []
    while len(found) < ASKED:
        names = [str(name) for name in rng.choice(["x", "y", "g", "h"], size=rng.integers(1, 4), replace=False)]
        one: dict[str, Any] = {
            name: str(rng.choice(list("ab" if name == "g" else "pqrs"))) for name in names if name in "gh"
        }
        for name in (name for name in names if name in "xy"):
            ends = tuple(sorted(rng.uniform(-1, 1, 2).tolist()))
            one[name] = ends if hard else (rng.uniform(-0.9, 0.9), float(rng.choice([0.25, 0.5, 1.0])))
        if not hard or {"x", "y"} & {*names}:
            found.append(one)
    return found


def _share(table: pd.DataFrame, question: dict[str, Any], hard: bool) -> float:
    met = np.ones(len(table))
    for name, told in question.items():
        column = table[name].to_numpy()
        if isinstance(told, str):
            met = met * (column == told)
        elif hard:
            met = met * ((column >= told[0]) & (column <= told[1]))
        else:
            met = met * np.exp(-(((column - told[0]) / told[1]) ** 2) / 2)
    return float(met.mean())


def _answered(summary: Any, question: dict[str, Any], hard: bool) -> float:
    if hard:
        return float(summary.share(question, softness=0).value)
    parts = [
        f'({name} == "{told}")' if isinstance(told, str) else f"bump({name}, {told[0]:.12f}, {told[1]})"
        for name, told in question.items()
    ]
    return float(summary.answer(f"mean({' * '.join(parts)})").value)


def _summaries(rng: np.random.Generator) -> list[dict[str, Any]]:
    rows = []
    for grant in (sf.Privacy(epsilon=1.0), sf.Privacy(epsilon=1.0, delta=1e-6), sf.Privacy(epsilon=0.1)):
        table, box = _mixed(rng)
        for hard in (False, True):
            questions = _asked(rng, hard)
            truth = np.array([_share(table, one, hard) for one in questions])
            errors = {}
            for choice in ("auto", *CHOICES):
                given = {} if choice == "auto" else {"degree": choice[0], "interactions": choice[1]}
                summary = sf.summarize(table, box, grant, **given)
                answers = np.array([_answered(summary, one, hard) for one in questions])
                errors[choice] = float(np.abs(answers - truth).mean())
            what = "ranges with hard edges" if hard else "bumps"
            at = {"section": f"summary of four mixed columns, n = {ROWS:,}, {grant!r}, {what}: mean absolute error"}
            best = min((error, str(name)) for name, error in errors.items() if name != "auto")
            rows.append(row("as it comes", errors["auto"], "", **at))
            rows.append(row(f"the best fixed choice, {best[1]}", best[0], "", **at))
            rows.append(row("as it comes over the best", errors["auto"] / best[0], "times", **at))
    return rows


def run() -> list[dict[str, Any]]:
    """A section for each family, quantity and epsilon; the seed comes first."""
    seed = secrets.randbits(32)
    rng = np.random.default_rng(seed)
    rows = [row("seed", seed, "", section="drawn anew each run")]
    for family, make in FAMILIES.items():
        for statistic in ("mean", "variance", "quantiles"):
            values, low, high, step = make(rng, FEW if statistic == "quantiles" else ROWS)
            made = np.clip(values, low, high), low, high, step
            for epsilon in EPSILONS:
                rows += _compared(family, statistic, made, epsilon, rng)
    return [*rows, *_summaries(rng)]
