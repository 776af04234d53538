"""Choosing several values at once, in order, by how many records lie between them: one exponential mechanism.

A vector of candidates ``k_1 <= ... <= k_m`` has the weight ``prod_j phi(ranks[k_j] - ranks[k_{j-1}] - wanted_j)`` with
``phi(x) = exp(-rate |x|) + exp(-floor)``. Sums over all vectors are taken from the last value to the first, of positive
numbers only and in doubles, so that each is right to a tiny factor; what that factor costs is taken off epsilon. The
floor keeps every weight far above the smallest double. docs/proofs/selection.md, Theorem 7, proves it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.core import sampling
from sfumato.core.calibration import DEEPEST, LEAST_EPSILON, MOST_CANDIDATES, MOST_VALUES
from sfumato.errors import ParameterError

Floats = NDArray[np.float64]

_SLACK = 2.0**-18  # of epsilon, for the errors of doubles


def check_jointly(ranks: NDArray[np.int64], wanted: Sequence[int], epsilon: float) -> None:
    """Refuse what cannot be chosen jointly, by public quantities: how many candidates and values, and epsilon."""
    if not (1 < len(wanted) <= MOST_VALUES + 1 and len(ranks) <= MOST_CANDIDATES and epsilon >= LEAST_EPSILON):
        raise ParameterError(f"too many values or candidates, or too small an epsilon to choose jointly: {epsilon!r}")


@np.errstate(all="ignore")  # whether a weight underflows depends on private ranks
def joint_exponential(ranks: NDArray[np.int64], wanted: Sequence[int], sensitivity: int, epsilon: float) -> list[int]:
    """Places ``k_1 <= ... <= k_m`` in ``ranks`` (ascending) with about ``wanted_j`` between each and the one before.

    Before the first there is rank 0, and beyond the last one the sum of all that is wanted. Neighbours move
    ``sum_j |ranks[k_j] - ranks[k_{j-1}] - wanted_j|`` by at most ``sensitivity``, whatever the places.

    Formal guarantee: pure ``epsilon``-DP and ``epsilon**2 / 8``-zCDP.
    """
    check_jointly(ranks, wanted, epsilon)
    rate, floor = float(Fraction(epsilon - _SLACK) / (2 * sensitivity)), math.exp(-DEEPEST / len(wanted))
    after = _messages(ranks, wanted, rate, floor)
    places: list[int] = []
    for target, beyond in zip(wanted[:-1], after, strict=True):
        start, reached = (places[-1], ranks[places[-1]]) if places else (0, 0)
        weights = _weight(ranks[start:] - reached - target, rate, floor) * beyond[start:]
        places.append(start + categorical(weights))
    return places


def _weight(off: NDArray[np.int64], rate: float, floor: float) -> Floats:
    return np.asarray(np.exp(-rate * np.abs(off).astype(np.float64)) + floor, dtype=np.float64)


def _messages(ranks: NDArray[np.int64], wanted: Sequence[int], rate: float, floor: float) -> list[Floats]:
    """For each value, and each place that it may have: the weight of all that can follow, summed."""
    steps = np.diff(ranks, prepend=ranks[:1]).astype(np.float64)
    decay = np.exp(-rate * steps)
    found = [_weight(sum(wanted) - ranks - wanted[-1], rate, floor)]
    for target in reversed(wanted[1:-1]):
        last = np.searchsorted(ranks, ranks + target, side="right") - 1  # up to here there are no more than wanted
        near, beyond = _windows(found[-1], decay, last), _suffixes(found[-1], decay)
        short = np.exp(-rate * (ranks + target - ranks[last]).astype(np.float64))
        following = np.minimum(last + 1, len(ranks) - 1)
        over = np.exp(-rate * np.abs(ranks[following] - ranks - target).astype(np.float64))
        least = floor * np.cumsum(found[-1][::-1])[::-1]
        found.append(near * short + np.where(last + 1 < len(ranks), beyond[following] * over, 0.0) + least)
    return found[::-1]


def _suffixes(values: Floats, decay: Floats) -> Floats:
    """``sum_{k >= i} values[k] exp(-rate (ranks[k] - ranks[i]))``."""
    total, found = 0.0, []
    for value, factor in zip(values[::-1].tolist(), [0.0, *decay[:0:-1].tolist()], strict=True):
        total = value + factor * total
        found.append(total)
    return np.array(found[::-1])


def _windows(values: Floats, decay: Floats, last: NDArray[np.int64]) -> Floats:
    """``sum_{k = i}^{last[i]} values[k] exp(-rate (ranks[last[i]] - ranks[k]))``; ``last`` ascends, ``last[i] >= i``.

    A queue of two stacks: sums towards a pivot, and from it onwards; nothing is ever subtracted.
    """
    numbers, factors, found = values.tolist(), decay.tolist(), []
    back = [0.0] * len(numbers)
    pivot = end = -1
    shrunk, front = 1.0, 0.0
    for i, stop in enumerate(last.tolist()):
        while end < stop:
            end += 1
            front = front * factors[end] + numbers[end]
            shrunk *= factors[end]
        if i > pivot:  # all that is in the window moves to the other stack
            pivot, shrunk, front = end, 1.0, 0.0
            total, factor = 0.0, 1.0
            for k in range(end, i - 1, -1):
                total += factor * numbers[k]
                back[k] = total
                factor *= factors[k]
        found.append(back[i] * shrunk + front)
    return np.array(found)


def categorical(weights: Floats) -> int:
    """A place with probability proportional to its weight, a positive double, exactly.

    First a binade, by whole numbers: a double is a 53-bit mantissa times a power of two. Then by rejection within it.
    """
    mantissas, exponents = np.frexp(weights)
    whole, binades = (mantissas * 2.0**53).astype(np.int64), exponents - exponents.min()
    # Sums of 2**18 numbers below 2**27 are exact in doubles.
    high, low = (np.bincount(binades, part).tolist() for part in (whole >> 26, whole & (2**26 - 1)))
    sizes = [((int(h) << 26) + int(part)) << binade for binade, (h, part) in enumerate(zip(high, low, strict=True))]
    drawn, chosen = sampling.integer_below(sum(sizes)), 0
    while drawn >= sizes[chosen]:
        drawn, chosen = drawn - sizes[chosen], chosen + 1
    inside = np.flatnonzero(binades == chosen)
    while True:
        place = int(inside[sampling.uniform_below(np.array([len(inside)]))[0]])
        if sampling.words53(1)[0] < whole[place]:
            return place
