"""Tight accounting of a plan: what will be asked for is written down first, and releases draw from that stock.

Privacy loss distributions of releases that were fixed beforehand add up tightly. Whether a next one may still come must
then not be decided by a sum over what happened to be asked for: parameters that follow from earlier results break such
a sum. Here the list is fixed and public before the first release; order, queries and when to stop are free
(docs/proofs/accounting.md, Theorem 7).
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sfumato.accounting.compose import ACCOUNTANTS, Amount, accountant_name, below, capacities, grains, largest
from sfumato.accounting.events import Event, event_of_grant, under_relation
from sfumato.accounting.loss import Stock, delta_of, epsilon_of, least_delta, too_small
from sfumato.checks import probability
from sfumato.core.gaussian import gaussian_delta, zcdp_delta
from sfumato.core.privacy import Privacy
from sfumato.errors import LedgerError, ParameterError, ParameterTypeError

TIGHT = "tight"
_ROOM = 1 + 1e-9  # in sums of squares, for the roundings of those who calibrate
_MOST = 10**6  # releases in a plan


@dataclass(frozen=True)
class Composed:
    """What a fixed list of releases adds up to: the least epsilon at a delta, and the accountant that says so."""

    epsilon: float
    delta: float
    accountant: str

    def __str__(self) -> str:
        return f"epsilon {self.epsilon:.6g}, delta {self.delta:.6g} ({self.accountant} accounting)"


def composed(plan: Sequence[Any], delta: float) -> Composed:
    """Say what releases add up to, by the tightest accountant that is valid for them.

    Parameters
    ----------
    plan
        An ``sf.Privacy`` or an event for each release, or ``(it, count)``. They must be fixed beforehand: what is
        chosen after seeing results needs an account, which is a privacy filter.
    delta
        At which epsilon is wanted.

    Formal guarantee: all of the releases together are ``(epsilon, delta)``-DP, for the plan's relation and unit.

    >>> composed([(Privacy(epsilon=0.1), 64)], 1e-6).accountant
    'tight'
    """
    delta = probability("delta", delta)
    events = [(event_of_grant(one) if isinstance(one, Privacy) else one, count) for one, count in counted(plan)]
    for event, _ in events:
        if not isinstance(event, Event):
            raise ParameterTypeError(f"plan must hold sf.Privacy or events, got {type(event).__name__}")
    relations = {(event.neighbours, event.unit) for event, _ in events}
    if len(relations) > 1:
        raise ParameterError.of("plan", "must have one relation and one unit")
    found = _by_sums(events, delta)
    stock = _stock(events)
    if stock is not None and (delta > least_delta(stock) or not found):  # alone, it says why it cannot answer
        found[TIGHT] = epsilon_of(stock, delta)
    if not found:
        raise ParameterError(f"no accountant can count this plan at delta={delta!r}")
    best = min(found, key=lambda name: found[name])
    return Composed(found[best], delta, best)


def _by_sums(events: list[tuple[Event, int]], delta: float) -> dict[str, float]:
    """The epsilon of every accountant that adds up."""
    found = {}
    totals: dict[str, Amount | None] = {}
    for name, accountant in ACCOUNTANTS.items():
        costs = [(accountant.cost(event), count) for event, count in events]
        known = [(cost, count) for cost, count in costs if cost is not None]
        whole = len(known) == len(costs) and known
        totals[name] = tuple(sum(c[k] * n for c, n in known) for k in range(len(known[0][0]))) if whole else None
    basic, rho, squares = (totals[name] for name in ("basic", "zcdp", "gaussian"))
    if basic is not None and basic[1] <= grains(delta):
        found["basic"] = math.nextafter(below(basic[0]), math.inf)
    if rho is not None:
        found["zcdp"] = _least(lambda epsilon: zcdp_delta(_above(rho[0]), epsilon), delta)
    if squares is not None:
        found["gaussian"] = _least(lambda epsilon: gaussian_delta(math.sqrt(_above(squares[0])), epsilon), delta)
    return found


def _above(amount: int) -> float:
    return math.nextafter(below(amount), math.inf) * (1 + 1e-12)


def _least(curve: Any, delta: float) -> float:
    """The least epsilon, from above, at which a decreasing curve is within delta."""
    beyond = largest(lambda epsilon: curve(epsilon) > delta)
    return beyond * (1 + 1e-9) + 1e-12


def counted(plan: Sequence[Any]) -> list[tuple[Any, int]]:
    """The items of a plan with their counts."""
    pairs = [item if isinstance(item, tuple) else (item, 1) for item in plan]
    for pair in pairs:
        if len(pair) != 2 or type(pair[1]) is not int or not 0 < pair[1] <= _MOST:
            raise ParameterError.of(
                "plan", f"must hold grants, or (grant, count) with a count up to {_MOST}, got {pair!r}"
            )
    if not pairs:
        raise ParameterError.of("plan", "must hold at least one release, got none")
    return pairs


def _stock(events: Sequence[tuple[Event, int]]) -> Stock | None:
    """What a list of events can be drawn from; None if one of them cannot be counted."""
    atoms: dict[tuple[float, float], int] = {}
    rho = squares = 0.0
    for event, count in events:
        if event.mu is not None:
            squares += count * event.mu**2 * _ROOM
        elif event.epsilon is not None and event.delta is not None:
            if event.epsilon > 700 or event.delta >= 1:
                return None
            key = (event.epsilon, event.delta)
            atoms[key] = atoms.get(key, 0) + count
        elif event.rho is not None:
            rho += count * event.rho * _ROOM
        else:
            return None
    return Stock(tuple(sorted((*key, count) for key, count in atoms.items())), rho, squares)


# --- accounts with a plan ---------------------------------------------------------------------------------


def planned(name: str, limit: Privacy, items: Sequence[tuple[Event, int | None]]) -> str:
    """An accountant with its plan as an account keeps it; refuses a plan that does not fit the limit."""
    if limit.epsilon is None or not limit.delta:
        raise ParameterError.of("plan", f"needs a limit with epsilon and delta, got {limit}")
    share = _share(limit, name)
    fixed = [(under_relation(event, limit), count) for event, count in items if count is not None]
    free = [under_relation(event, limit) for event, count in items if count is None]
    if len(free) > 1:
        raise ParameterError.of("plan", "can leave one count open, got several that are None")

    def fits(more: int) -> bool:
        stock = _stock([*fixed, *((event, more) for event in free if more)])
        if stock is None:
            raise ParameterError.of("plan", "has a release that privacy loss distributions cannot count")
        assert limit.epsilon is not None
        return not stock.draws or delta_of(stock, limit.epsilon) <= share

    if not items or not fits(0) or (free and not fits(1)):
        _check_delta(_stock([*fixed, *((event, 1) for event in free)]), share, limit)
        raise ParameterError.of(
            "plan", f"must hold releases, and fit {limit}: together they cost more, or there are none"
        )
    events = [*fixed, *((event, _most(fits)) for event in free)]
    stock = _stock(events)
    assert stock is not None
    return f"{name} {_text(stock)}"


def _check_delta(stock: Stock | None, share: float, limit: Privacy) -> None:
    """Refuse a plan that would cost too much whatever it holds, as no delta as small is told from roundoff."""
    if stock is not None and share <= (least := least_delta(stock)):
        raise ParameterError.of("plan", f"needs a larger limit: {too_small(limit.delta, least * limit.delta / share)}")


def _most(fits: Any) -> int:
    """The largest count that fits, up to a million."""
    low, high = 1, 2
    while high < _MOST and fits(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _share(limit: Privacy, name: str) -> float:
    """The part of the limit's delta that is the plan's."""
    if name == TIGHT:
        return limit.delta
    return math.nextafter(limit.delta / (1 + len(capacities(limit, "best"))), 0.0)


def _text(stock: Stock) -> str:
    return json.dumps({"atoms": stock.atoms, "gaussian": stock.gaussian, "rho": stock.rho})


@lru_cache(maxsize=256)
def stock_of(accountant: str) -> Stock | None:
    """The plan of an account; None if it has none."""
    _, _, text = accountant.partition(" ")
    if not text:
        return None
    data = json.loads(text)
    return Stock(tuple((e, d, int(n)) for e, d, n in data["atoms"]), data["rho"], data["gaussian"])


def rooms(limit: Privacy, accountant: str) -> dict[str, Amount]:
    """The capacity of every accountant that an account uses; that of a plan is what it holds, part by part."""
    stock, name = stock_of(accountant), accountant_name(accountant)
    if stock is None:
        return capacities(limit, name)
    mine = (*(count for _, _, count in stock.atoms), grains(stock.rho), grains(stock.gaussian))
    if name == TIGHT:
        return {TIGHT: mine}
    return capacities(limit, name, others=1) | {TIGHT: mine}


def taken(stock: Stock, total: Amount, event: Event) -> Amount | None:
    """What is taken from a plan once an event, too, was drawn from it; None if nothing left of it covers the event."""
    now, parts = list(total), len(stock.atoms)
    if event.mu is not None:
        cost = ACCOUNTANTS["gaussian"].cost(event)
        if cost is not None and now[parts + 1] + cost[0] <= grains(stock.gaussian):
            now[parts + 1] += cost[0]
            return tuple(now)
    if event.epsilon is not None and event.delta is not None:
        for k, (epsilon, delta, count) in enumerate(stock.atoms):
            if event.epsilon <= epsilon and event.delta <= delta and now[k] < count:
                now[k] += 1
                return tuple(now)
    if event.rho is not None and now[parts] + grains(event.rho) <= grains(stock.rho):
        now[parts] += grains(event.rho)
        return tuple(now)
    return None


def pure_left(stock: Stock, left: Amount) -> float:
    """The largest pure epsilon that a plan still covers."""
    return max((epsilon for (epsilon, _, _), n in zip(stock.atoms, left, strict=False) if n > 0), default=0.0)


def taken_words(stock: Stock, total: Amount) -> str:
    """What was drawn from a plan, as a person would say it."""
    parts = [f"{n} of {count} at epsilon {e:.6g}" for (e, _, count), n in zip(stock.atoms, total, strict=False)]
    for k, (name, all_of_it) in enumerate((("rho", stock.rho), ("squares of mu", stock.gaussian))):
        if all_of_it:
            parts.append(f"{name} {below(total[len(stock.atoms) + k]):.6g} of {all_of_it:.6g}")
    return ", ".join(parts)


def check_plan(name: str, stock: Stock | None) -> None:
    """Refuse to change the limit of an account with a plan."""
    if stock is not None:
        raise LedgerError(f"account {name!r} has a plan, which is fixed like its limit; make another account")
