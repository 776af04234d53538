"""What an account has spent and has left, in numbers and in words."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

from sfumato.accounting.compose import ACCOUNTANTS, Amount, accountant_name, below
from sfumato.accounting.events import Event, event_from_json, under_relation
from sfumato.accounting.loss import Stock
from sfumato.accounting.schema import BOOK_SIZE, BOOKS
from sfumato.accounting.tight import TIGHT, pure_left, rooms, stock_of, taken, taken_words
from sfumato.codec import decode_unit, encode_unit
from sfumato.core.neighbours import Person
from sfumato.core.privacy import Privacy

Sums = dict[str, Amount | None]


@dataclass(frozen=True)
class Balance:
    """What an account has left.

    ``epsilon`` is the largest pure epsilon that would still be admitted, by the accountant named; ``delta`` and
    ``rho`` are what the basic and the zCDP accountant have left (None where they do not apply).
    """

    account: str
    limit: Privacy
    accountant: str
    epsilon: float
    delta: float | None
    rho: float | None
    entries: int
    spent: str

    def words(self) -> str:
        """What is left, in the words of the accountant that leaves most."""
        if self.limit.rho is not None:
            return f"rho {0.0 if self.rho is None else self.rho:.6g}"
        return f"epsilon {self.epsilon:.6g}"

    def __str__(self) -> str:
        return f"{self.account}: {self.words()} left of {limit_words(self.limit)} ({self.accountant} accounting)"


@dataclass(frozen=True)
class Quote:
    """What a release would cost: whether it fits, and the balance before and after (None if it does not fit)."""

    fits: bool
    before: Balance
    after: Balance | None


@dataclass(frozen=True)
class AccountState:
    """An account's sums at one moment, and what they leave."""

    name: str
    account: int
    limit: Privacy
    accountant: str
    sums: Sums
    entries: int

    def zero(self) -> AccountState:
        """The same account before anything was spent."""
        return self.with_sums({name: (0,) * len(room) for name, room in self._capacities().items()}, 0)

    def with_sums(self, sums: Sums, count: int) -> AccountState:
        """The same account at another moment."""
        return replace(self, sums=sums, entries=count)

    def plus(self, event: Event) -> AccountState:
        """The state after one more event; a sum that cannot be known any more is None."""
        counted = under_relation(event, self.limit)
        sums: Sums = {}
        for name, total in self.sums.items():
            try:
                sums[name] = self._with(name, total, counted)
            except OverflowError:  # beyond all counting
                sums[name] = None
        return self.with_sums(sums, self.entries + 1)

    def _with(self, name: str, total: Amount | None, event: Event) -> Amount | None:
        if name == TIGHT:
            return None if total is None else taken(self._stock, total, event)
        return _added(total, ACCOUNTANTS[name].cost(event))

    def moved(self, before: AccountState, after: AccountState) -> AccountState:
        """A book with what an event has added to all entries together: a plan has one stock for both books."""
        sums: Sums = {}
        for name, total in self.sums.items():
            old, new = before.sums.get(name), after.sums.get(name)
            sums[name] = None if old is None or new is None else _added(total, _less(new, old))
        return self.with_sums(sums, self.entries + 1)

    def joined(self, other: AccountState) -> AccountState:
        """The entries of two books of the account together."""
        if not other.entries:
            return self
        sums = {name: _added(total, other.sums.get(name)) for name, total in self.sums.items()}
        return self.with_sums(sums, self.entries + other.entries)

    def fits(self) -> bool:
        """Whether any accountant has room for all of it; sums never shrink, so this held at every earlier entry too."""
        return bool(self._left)

    def short_of(self) -> list[str]:
        """Of what too much was spent, where epsilons and deltas are added up; empty where they are not."""
        total, room = self.sums.get("basic"), self._capacities().get("basic")
        if total is None or room is None:
            return []
        return [name for name, a, b in zip(("epsilon", "delta"), total, room, strict=True) if a > b]

    def balance(self) -> Balance:
        """What is left, by the accountant that leaves most."""
        left = self._left
        room = {name: self._pure(name, amount) for name, amount in left.items()}
        best = max(room, key=lambda name: room[name], default=None)
        epsilon = 0.0 if best is None else room[best]
        basic, zcdp = left.get("basic"), left.get("zcdp")
        named = best or accountant_name(self.accountant)
        return Balance(
            self.name,
            self.limit,
            named,
            epsilon,
            None if basic is None else below(basic[1]),
            None if zcdp is None else below(zcdp[0]),
            self.entries,
            self._spent(named),
        )

    def _pure(self, name: str, left: Amount) -> float:
        return pure_left(self._stock, left) if name == TIGHT else ACCOUNTANTS[name].pure_epsilon(left)

    def _spent(self, name: str) -> str:
        total = self.sums.get(name)
        return taken_words(self._stock, total) if name == TIGHT and total is not None else _spent_words(name, total)

    @property
    def _stock(self) -> Stock:
        return stock_of(self.accountant) or Stock()

    @cached_property
    def _left(self) -> dict[str, Amount]:
        """For each accountant whose sums are within capacity: what is left of it."""
        left = {}
        for name, capacity in self._capacities().items():
            total = self.sums.get(name)
            if total is not None and all(a <= b for a, b in zip(total, capacity, strict=True)):
                left[name] = tuple(b - a for a, b in zip(total, capacity, strict=True))
        return left

    def _capacities(self) -> dict[str, Amount]:
        return _cached_capacities(self.limit, self.accountant)


def charged(books: Mapping[str, AccountState], book: str, event: Event) -> tuple[AccountState, AccountState]:
    """What all entries of an account add up to once an event is charged to one of its books, and what the book does."""
    together = books["dp"].joined(books["random"])
    after, mine = together.plus(event), books[book]
    return after, after if mine is together else mine.moved(together, after)


def replayed(zero: AccountState, rows: Iterable[Mapping[Any, Any]]) -> Iterator[AccountState]:
    """What the book of each entry of an account added up to with it.

    Parameters
    ----------
    zero
        The account before anything was spent, under the limit that it has now.
    rows
        Its entries, in the order in which they were charged.
    """
    books = dict.fromkeys(BOOKS, zero)
    for row in rows:
        book = BOOKS[row["id"] // BOOK_SIZE % len(BOOKS)]
        books[book] = charged(books, book, event_from_json(row["event_json"]))[1]
        yield books[book]


def _less(first: Amount, second: Amount) -> Amount:
    return tuple(a - b for a, b in zip(first, second, strict=True))


def _added(first: Amount | None, second: Amount | None) -> Amount | None:
    if first is None or second is None:
        return None
    return tuple(a + b for a, b in zip(first, second, strict=True))


@lru_cache(maxsize=256)
def _cached_capacities(limit: Privacy, accountant: str) -> dict[str, Amount]:
    return rooms(limit, accountant)


# --- plain data -------------------------------------------------------------------------------------------


def limit_to_json(limit: Privacy) -> str:
    """Text for a limit; equal limits give equal texts."""
    fields = {name: value for name, value in vars(limit).items() if name != "gamma" or value is not None}
    return json.dumps({**fields, "unit": encode_unit(limit.unit)}, sort_keys=True, allow_nan=False)


@lru_cache(maxsize=256)
def limit_from_json(text: str) -> Privacy:
    """Rebuild a limit."""
    data = json.loads(text)
    return Privacy(**{**data, "unit": decode_unit(data["unit"])})


def sums_to_json(sums: Sums) -> str:
    """Text for exact sums: digits and a power of ten."""
    return json.dumps({n: None if total is None else [_short(a) for a in total] for n, total in sums.items()})


def _short(amount: int) -> str:
    digits = str(amount)
    kept = digits.rstrip("0") or "0"
    return f"{kept}e{len(digits) - len(kept)}"


def sums_from_json(text: str) -> Sums:
    """Rebuild exact sums."""
    return {n: None if total is None else tuple(map(_long, total)) for n, total in json.loads(text).items()}


def _long(text: str) -> int:
    digits, zeros = text.split("e")
    power: int = 10 ** int(zeros)  # many times faster than reading all the zeros as text
    return int(digits) * power


# --- words ------------------------------------------------------------------------------------------------


def limit_words(limit: Privacy) -> str:
    """A limit as a person would say it."""
    unit = f"person (column {limit.unit.column!r})" if isinstance(limit.unit, Person) else "row"
    verb = "replacing" if limit.neighbours == "replace" else "adding or removing"
    gamma = "" if limit.gamma is None else f", gamma {limit.gamma:.6g}"
    return f"{_amount_words(limit.epsilon, limit.delta, limit.rho)}{gamma} for {verb} one {unit}"


def event_words(event: Event) -> str:
    """What an event promises, as a person would say it."""
    return _amount_words(event.epsilon, event.delta, event.rho)


def refusal(state: AccountState, event: Event) -> str:
    """Why an event does not fit: what was asked, spent and is left, with all digits."""
    left = state.balance()
    asked = _exact_words(event.epsilon, event.delta, event.rho)
    room = f"rho {left.rho!r}" if state.limit.rho is not None else _exact_words(left.epsilon, left.delta, None)
    only_delta = state.plus(event).short_of() == ["delta"]
    if only_delta:
        room = f"epsilon {left.epsilon!r}, delta {left.delta or 0.0!r}"
    shared = accountant_name(state.accountant) == "best" and state.limit.delta and event.delta
    hint = "; accountant='best' shares delta among three accountants, 'basic' uses all of it" if shared else ""
    why = ": there is epsilon left, but not enough delta" if only_delta else ""
    if event.rho is not None and set(state.sums) == {"basic"}:
        why = ": epsilons are added up here, and rho has none; ask for epsilon, or pay from a limit in rho, or one "
        why += "with a delta and accountant='best'"
    return (
        f"account {state.name!r}: asked for {asked}, spent so far {left.spent}, left {room} of "
        f"{limit_words(state.limit)}{why}; nothing was released{hint}"
    )


def _exact_words(epsilon: float | None, delta: float | None, rho: float | None) -> str:
    if rho is not None:
        return f"rho {rho!r}"
    return f"epsilon {epsilon!r}" + (f", delta {delta!r}" if delta else "")


def _amount_words(epsilon: float | None, delta: float | None, rho: float | None) -> str:
    if rho is not None:
        return f"rho {rho:.6g}"
    return f"epsilon {epsilon:.6g}" + (f", delta {delta:.6g}" if delta else "")


def _spent_words(accountant: str, total: Amount | None) -> str:
    if total is None:
        return "more than can be told"
    if accountant == "basic":
        return _amount_words(below(total[0]), below(total[1]), None)
    if accountant == "zcdp":
        return f"rho {below(total[0]):.6g}"
    return f"mu {below(total[0]) ** 0.5:.6g}"
