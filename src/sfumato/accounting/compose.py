"""Accountants: each turns events into a cost that adds up, and knows how much of it a limit allows.

All three are privacy filters: they stay valid when every event, its parameters included, is chosen after seeing
the earlier results, because they only ever stop before a fixed sum is exceeded (docs/proofs/accounting.md).

Amounts are whole numbers of grains of ``10**-400``, in which every double is exact as the decimal number that it
prints as: 0.1 is one tenth, and ten of them make one. Costs are rounded up and capacities down where a formula is not
exact; sums and comparisons always are.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist

from sfumato.accounting.events import Event
from sfumato.checks import as_written
from sfumato.core.gaussian import gaussian_delta, zcdp_delta
from sfumato.core.privacy import Privacy
from sfumato.errors import ParameterError

Amount = tuple[int, ...]

GRAINS = 10**400  # in one
_COARSE = 10**360  # costs that are not exact are rounded up to multiples of 1e-40, to keep the ledger small
_LARGEST_PURE = 600.0  # the Gaussian accountant counts no larger pure epsilon


@lru_cache(maxsize=4096)
def grains(value: float) -> int:
    """A double as a whole number of grains, exactly as it is written."""
    if not math.isfinite(value):
        raise OverflowError(value)
    written = as_written(value)
    return written.numerator * GRAINS // written.denominator


def below(amount: int) -> float:
    """The largest double that is not above an amount of grains."""
    number = amount / GRAINS
    return number if grains(number) <= amount else math.nextafter(number, -math.inf)


def _up(value: float) -> int:
    """A floating-point result as grains, with room for its rounding errors; few digits keep the ledger small."""
    return (grains(value * (1 + 1e-9)) // _COARSE + 1) * _COARSE


def largest(satisfies: Callable[[float], bool]) -> float:
    """The largest number, from below and to 1e-12, at which a decreasing condition still holds; 0 if none does."""
    low, high = 0.0, 1.0
    while satisfies(high) and high < 1e12:
        low, high = high, 2 * high
    if low == 0.0:
        while not satisfies(high) and high > 1e-150:
            low, high = 0.0, high / 2
        if not satisfies(high):
            return 0.0
        low, high = high, 2 * high
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if satisfies(middle) else (low, middle)
    return low


class Accountant(ABC):
    """A cost per event that adds up, and a capacity per limit."""

    name: str

    @abstractmethod
    def cost(self, event: Event) -> Amount | None:
        """What the event adds, componentwise; the relation and the unit are those of the account already."""

    @abstractmethod
    def capacity(self, limit: Privacy) -> Amount | None:
        """How much of it the limit allows, componentwise; None where the limit has no meaning here."""

    @abstractmethod
    def pure_epsilon(self, left: Amount) -> float:
        """The largest pure epsilon that still fits into what is left, rounded down."""


class Basic(Accountant):
    """Epsilons and deltas add up, in exact rational arithmetic."""

    name = "basic"

    def cost(self, event: Event) -> Amount | None:
        if event.epsilon is None or event.delta is None:
            return None
        return grains(event.epsilon), grains(event.delta)

    def capacity(self, limit: Privacy) -> Amount | None:
        return None if limit.epsilon is None else (grains(limit.epsilon), grains(limit.delta))

    def pure_epsilon(self, left: Amount) -> float:
        return below(left[0])


class Concentrated(Accountant):
    """Rhos add up: epsilon-DP is epsilon**2/2-zCDP, the exponential mechanism epsilon**2/8, Gaussian noise mu**2/2."""

    name = "zcdp"

    def cost(self, event: Event) -> Amount | None:
        if event.rho is not None:
            return (grains(event.rho),)
        if event.mu is not None:
            return (_up(event.mu**2 / 2),)
        if event.epsilon is None or event.delta:
            return None
        divisor = 8 if event.mechanism == "exponential" else 2
        return (-(-(grains(event.epsilon) ** 2) // (divisor * GRAINS)),)  # rounded up

    def capacity(self, limit: Privacy) -> Amount | None:
        if limit.rho is not None:
            return (grains(limit.rho),)
        if limit.epsilon is None or not limit.delta:
            return None
        epsilon, delta = limit.epsilon, limit.delta
        return (grains(largest(lambda rho: zcdp_delta(rho, epsilon) <= delta)),)

    def pure_epsilon(self, left: Amount) -> float:
        return math.sqrt(2 * below(left[0])) * (1 - 1e-12)


class Gaussian(Accountant):
    """Squares of mu add up, exactly. A pure epsilon counts as the mu whose curve passes below randomised response."""

    name = "gaussian"

    def cost(self, event: Event) -> Amount | None:
        if event.mu is not None:
            return (_up(event.mu**2),)
        if event.epsilon is None or event.delta or event.epsilon > _LARGEST_PURE:
            return None
        if event.epsilon < 1e-3:  # the formula below would cancel; this is never smaller (accounting.md, Theorem 4)
            return (_up(math.pi / 2 * event.epsilon**2),)
        return (_up((2 * NormalDist().inv_cdf(1 / (1 + math.exp(event.epsilon)))) ** 2),)

    def capacity(self, limit: Privacy) -> Amount | None:
        if limit.epsilon is None or not limit.delta:
            return None
        epsilon, delta = limit.epsilon, limit.delta
        mu = largest(lambda mu: gaussian_delta(mu, epsilon) <= delta)
        return (grains(mu**2 * (1 - 1e-15)),)

    def pure_epsilon(self, left: Amount) -> float:
        tail = math.erfc(math.sqrt(below(left[0]) / 8)) / 2
        largest_counted = math.exp(-_LARGEST_PURE)
        return max(0.0, math.log((1 - tail) / max(tail, largest_counted)) * (1 - 1e-8) - 1e-12)


ACCOUNTANTS: dict[str, Accountant] = {a.name: a for a in (Basic(), Concentrated(), Gaussian())}


def accountant_name(accountant: str) -> str:
    """The name of an account's accountant, without its plan."""
    return accountant.partition(" ")[0]


def capacities(limit: Privacy, accountant: str, others: int = 0) -> dict[str, Amount]:
    """The capacity of every accountant that an account uses; ``others`` have a share of delta besides.

    ``"best"`` uses all that can count the limit. The basic accountant, and whichever others turn a delta into
    room, share the limit's delta evenly; a release is admitted while any of them has room, which is sound
    because the deltas of the shares add up to the limit's (docs/proofs/accounting.md).
    """
    if accountant != "best":
        capacity = ACCOUNTANTS[accountant].capacity(limit)
        if capacity is None:
            raise ParameterError(f"accountant={accountant!r} cannot count this limit: {limit}")
        return {accountant: capacity}
    usable = [a for a in ACCOUNTANTS.values() if a.capacity(limit) is not None]
    shared = limit
    if limit.delta < 1e-290 and limit.delta:  # too small to be shared
        usable = [ACCOUNTANTS["basic"]]
    if limit.delta and len(usable) + others > 1:
        share = math.nextafter(limit.delta / (len(usable) + others), 0.0)
        shared = Privacy(limit.epsilon, share, None, limit.neighbours, limit.unit)
    found = {a.name: a.capacity(shared) for a in usable}
    return {name: capacity for name, capacity in found.items() if capacity is not None}
