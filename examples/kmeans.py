"""A mechanism of your own in one small class: k-means centres, round by round, paid from an account.

Run it: ``python examples/kmeans.py``. The customers are simulated; no real person is in them.
docs/extending.md derives the sensitivity.
"""

import math
import tempfile
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path

import numpy as np

import sfumato as sf
from sfumato.errors import ParameterError


@dataclass(frozen=True)
class KMeans:
    """Lloyd's algorithm on noisy sums and counts, with an equal part of the grant for each round.

    Parameters
    ----------
    start
        Public starting points, one row for each centre, in units in which the box is [-1, 1].
    rounds
        How many; public, because stopping early would tell something.

    Formal guarantee: each round is a release, and all of them together cost ``privacy`` (basic composition).
    """

    start: np.ndarray
    rounds: int = 5

    def release(self, data, box, privacy, ledger=None):
        """Noisy centres in the box's units, and what all rounds together promise."""
        count, columns = self.start.shape
        # Rounded down, so that the parts never add up to more than the grant.
        part = replace(privacy, epsilon=math.floor(privacy.epsilon / self.rounds * 1e12) / 1e12)
        centres = self.start
        for _ in range(self.rounds):
            step = sf.Statistic(
                lambda records, centres=centres: sums_and_counts(to_unit(box, records), centres).ravel(),
                sensitivity=2 * (columns + 1),
                norm="l1",
                length=count * (columns + 1),
            )
            release = sf.release(step, data, box, part, ledger=ledger)
            noisy = release.value.reshape(count, columns + 1)
            # A centre stays where it was if what it attracts could be noise alone.
            moved = np.clip(noisy[:, :-1] / np.maximum(noisy[:, -1:], 1), -1, 1)
            centres = np.where(noisy[:, -1:] > 3 * release.law.deviation, moved, centres)
        return from_unit(box, centres), replace(release.guarantee, epsilon=privacy.epsilon)


def to_unit(box, records):
    """Records in [-1, 1], as multiples of 2**-10 so that sums of them are exact; a missing value is in the middle."""
    unit = 2 * (np.clip(records, box.low, box.high) - box.low) / (box.high - box.low) - 1
    return np.nan_to_num(np.rint(unit * 1024)) / 1024


def from_unit(box, unit):
    """And back."""
    return box.low + (unit + 1) / 2 * (box.high - box.low)


def sums_and_counts(unit, centres):
    """For each centre: the sum of the records nearest to it, and last their number."""
    apart = sum((unit[:, [j]] - centres[:, j]) ** 2 for j in range(unit.shape[1]))  # each record for itself
    near = np.eye(len(centres))[apart.argmin(axis=1)]
    return np.column_stack([near.T @ unit, near.sum(axis=0)])


def lloyd(records):
    """The same without noise, in one go: an object, not an array."""
    unit, centres = to_unit(BOX, records), START
    for _ in range(10):
        table = sums_and_counts(unit, centres)
        centres = np.where(table[:, -1:] > 0, table[:, :-1] / np.maximum(table[:, -1:], 1), centres)
    return {"centres": centres, "sizes": table[:, -1]}


def matched(first, second):
    """How far apart two sets of centres are if their order does not matter."""
    a, b = first["centres"], second["centres"]
    return min(np.abs(a - b[list(order)]).sum() for order in permutations(range(len(b))))


def in_place(first, second):
    """The L1 distance of the numbers that would be released."""
    return np.abs(first["centres"] - second["centres"]).sum()


BOX = sf.Box({"age": (0, 100), "spending": (0, 100)})
START = np.array([[-0.5, -0.5], [-0.5, 0.5], [0.5, -0.5], [0.5, 0.5]])
rng = np.random.default_rng(4)
blobs = np.array([[25, 20], [30, 70], [60, 35], [75, 80]])
customers = blobs[rng.integers(4, size=16_000)] + rng.normal(0, 6, size=(16_000, 2))  # stands for something private

with tempfile.TemporaryDirectory() as folder:
    limit = sf.Privacy(epsilon=2.5, gamma=0.05)
    account = sf.Ledger(Path(folder) / "budget.db").account("shop-2026", limit=limit)
    centres, guarantee = KMeans(START).release(customers, BOX, sf.Privacy(epsilon=1.0), ledger=account)
    print("centres, noise in each of five rounds:\n", centres.round(1))
    print(guarantee, "\n")

    # For comparison: the centres of the last round only, with a sensitivity that nobody has proved. The oracle is a
    # density of the customers, released for half an epsilon.
    density = sf.release(sf.KDE(bandwidth=5), customers, BOX, sf.Privacy(epsilon=0.5), ledger=account)
    oracle = sf.oracles.density(density)
    plan = {"n": len(customers), "gamma": 0.05, "rule": "exchangeable", "seed": 1}
    unordered = sf.sample_sensitivity(lloyd, oracle, norm=matched, **plan)
    ordered = sf.sample_sensitivity(lloyd, oracle, norm=in_place, stands_for="l1", **plan)
    print(f"sampled: {unordered.bound:.4f} matched, {ordered.bound:.4f} in place")

    def in_one_go(certificate):
        """The centres with one draw of noise."""
        flat = sf.Statistic(lambda records: lloyd(records)["centres"].ravel(), sensitivity=certificate, length=8)
        return sf.release(flat, customers, BOX, sf.Privacy(epsilon=1.0, gamma=0.05), ledger=account)

    try:
        in_one_go(unordered)  # a smaller distance than that of the noise: it promises nothing
    except ParameterError as error:
        print(f"refused: {error}")
    once = in_one_go(ordered)
    print("centres, noise once:\n", from_unit(BOX, once.value.reshape(4, 2)).round(1))
    print(once.guarantee, "\n")
    print(account.remaining(random=True))
