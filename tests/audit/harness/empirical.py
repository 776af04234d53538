"""An empirical lower bound on epsilon from many releases on a worst pair, with exact confidence."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.stats import beta

Sampler = Callable[[int], np.ndarray]

GRIDS = (8, 16, 24, 32, 40, 48, 50, 51, 52, 53)


def events(sample: np.ndarray) -> np.ndarray:
    """``(m, e)`` indicators of public events of ``(m,)`` or ``(m, d)`` outputs.

    Thresholds, and "is a multiple of 2**-k near zero", which no exact mechanism reveals and float noise does.
    """
    outputs = np.asarray(sample, dtype=np.float64).reshape(len(sample), -1)
    size = np.abs(outputs).max(axis=1)
    columns = []
    for k in GRIDS:
        on_grid = (np.ldexp(outputs, k) == np.rint(np.ldexp(outputs, k))).all(axis=1)
        columns += [on_grid, ~on_grid, on_grid & (size < 0.0625), ~on_grid & (size < 0.0625)]
    return np.stack(columns, axis=1)


def epsilon_lower_bound(
    first: Sampler,
    second: Sampler,
    draws: int,
    statistic: Callable[[np.ndarray], np.ndarray] | None = None,
    delta: float = 0.0,
    alpha: float = 1e-9,
) -> float:
    """A lower bound on the epsilon of a mechanism that is wrong with probability at most ``alpha``.

    ``first(m)`` and ``second(m)`` run the mechanism m times on the two data sets of a pair. Half of the draws
    choose the event (a threshold of ``statistic``, ideally the likelihood ratio, or an entry of ``events``),
    the other half bound its two probabilities by Clopper and Pearson.
    """
    best_event = _choose(first(draws), second(draws), statistic, delta)
    hits = [int(best_event(sampler(draws)).sum()) for sampler in (first, second)]
    bounds = []
    for a, b in ((hits[0], hits[1]), (hits[1], hits[0])):
        low = float(beta.ppf(alpha / 4, a, draws - a + 1)) if a else 0.0
        high = float(beta.ppf(1 - alpha / 4, b + 1, draws - b)) if b < draws else 1.0
        bounds.append(math.log((low - delta) / high) if low > delta else 0.0)
    return max(0.0, *bounds)


def _choose(
    first: np.ndarray, second: np.ndarray, statistic: Callable[[np.ndarray], np.ndarray] | None, delta: float
) -> Callable[[np.ndarray], np.ndarray]:
    """The event whose cautious estimate of the log ratio is largest on these samples."""

    def score(p: np.ndarray, q: np.ndarray, m: int) -> np.ndarray:
        cautious_p = p - 4 * np.sqrt(p * (1 - p) / m + 1 / m**2)
        cautious_q = q + 4 * np.sqrt(q * (1 - q) / m + 1 / m**2)
        return np.log(np.maximum(cautious_p - delta, 1e-12) / cautious_q)

    m = len(first)
    p, q = events(first).mean(axis=0), events(second).mean(axis=0)
    ratios = np.maximum(score(p, q, m), score(q, p, m))
    index = int(ratios.argmax())
    best, chosen = float(ratios[index]), (lambda sample: events(sample)[:, index])
    if statistic is not None:
        a, b = statistic(first), statistic(second)
        thresholds = np.quantile(np.concatenate([a, b]), np.linspace(0.01, 0.99, 99))
        p = (a[:, None] >= thresholds).mean(axis=0)
        q = (b[:, None] >= thresholds).mean(axis=0)
        for ratio, upper in (
            (np.maximum(score(p, q, m), score(q, p, m)), True),
            (np.maximum(score(1 - p, 1 - q, m), score(1 - q, 1 - p, m)), False),
        ):
            i = int(ratio.argmax())
            if ratio[i] > best:
                best, threshold, above = float(ratio[i]), float(thresholds[i]), upper
                chosen = lambda sample, t=threshold, u=above: (statistic(sample) >= t) == u  # noqa: E731
    return chosen
