"""The neighbour hunter: searches for data sets D ~ D' that move a coefficient vector further than certified."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sfumato.core.certificate import Certificate

Statistic = Callable[[np.ndarray], np.ndarray]

NORMS = {
    "linf": lambda v: float(np.abs(v).max(initial=0)),
    "l1": lambda v: float(np.abs(v).sum()),
    "l2": lambda v: float(np.linalg.norm(v)),
    "flow": lambda v: float(np.abs(v).sum() + abs(v.sum())),
}


def norm_of(certificate: Certificate) -> Callable[[np.ndarray], float]:
    """The norm of a certificate, as a function of a difference."""
    if certificate.norm != "l1-linf":
        return NORMS[certificate.norm]
    ends = np.cumsum(certificate.blocks)[:-1]
    return lambda v: sum(map(NORMS["linf"], np.split(v, ends)))


@dataclass(frozen=True)
class Hunt:
    """The worst pair found: how far it moves the statistic, and the pair."""

    distance: float
    first: np.ndarray
    second: np.ndarray


def hunt(
    statistic: Statistic,
    low: np.ndarray,
    high: np.ndarray,
    n: int,
    norm: str,
    relation: str = "replace",
    seed: int = 0,
    restarts: int = 30,
    steps: int = 60,
) -> Hunt:
    """Random restarts from telling data sets (corners, clusters, copies), then hill climbing record by record.

    ``statistic`` maps ``(n, d)`` records with columns between ``low`` and ``high`` to a vector. The search is
    blind to how the statistic works: it moves the changed record, then the others, keeping what is worse.
    """
    rng = np.random.default_rng(seed)
    measure = NORMS[norm]
    best = Hunt(-1.0, np.empty(0), np.empty(0))

    def distance(first: np.ndarray, second: np.ndarray) -> float:
        return measure(np.asarray(statistic(first)) - np.asarray(statistic(second)))

    for _ in range(restarts):
        first = _telling_data(rng, low, high, n)
        second = _neighbour(rng, first, low, high, relation)
        reached = distance(first, second)
        for _ in range(steps):
            trial = _perturb(rng, first, second, low, high)
            trial_distance = distance(*trial)
            if trial_distance >= reached:
                (first, second), reached = trial, trial_distance
        if reached > best.distance:
            best = Hunt(reached, first, second)
    return best


def _telling_data(rng: np.random.Generator, low: np.ndarray, high: np.ndarray, n: int) -> np.ndarray:
    shape = (n, len(low))
    kind = rng.integers(4)
    if kind == 0:
        return rng.uniform(low, high, size=shape)
    if kind == 1:  # corners of the box
        return np.where(rng.random(shape) < 0.5, low, high)
    if kind == 2:  # everybody at one place
        return np.tile(rng.uniform(low, high), (n, 1))
    return np.tile(np.where(rng.random(len(low)) < 0.5, low, high), (n, 1))


def _fresh_record(rng: np.random.Generator, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    corner = np.where(rng.random(len(low)) < 0.5, low, high)
    return np.where(rng.random(len(low)) < 0.5, corner, rng.uniform(low, high))


def _neighbour(
    rng: np.random.Generator, data: np.ndarray, low: np.ndarray, high: np.ndarray, relation: str
) -> np.ndarray:
    if relation == "add-remove":
        return data[1:]
    other = data.copy()
    other[0] = _fresh_record(rng, low, high)
    return other


def _perturb(
    rng: np.random.Generator, first: np.ndarray, second: np.ndarray, low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Change one record: the one that differs (on either side), or one that both share."""
    first, second = first.copy(), second.copy()
    same_size = len(first) == len(second)
    choice = rng.integers(3)
    near = rng.random() < 0.5

    def moved(record: np.ndarray) -> np.ndarray:
        if near:
            return np.clip(record + rng.normal(scale=0.05 * (high - low)), low, high)
        return _fresh_record(rng, low, high)

    if choice == 0 or len(first) == 1:
        first[0] = moved(first[0])
    elif choice == 1 and same_size:
        second[0] = moved(second[0])
    else:
        i = rng.integers(1, len(first))
        first[i] = moved(first[i])
        second[i if same_size else i - 1] = first[i]
    return first, second
