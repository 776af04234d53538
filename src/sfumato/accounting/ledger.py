"""The durable record of what each data set has spent.

    ledger = sf.Ledger("budget.db")
    account = ledger.account("clinic-2026", limit=sf.Privacy(epsilon=3, delta=1e-6))
    sf.release(..., ledger=account)

The order is: reserve, draw, mark published. A crash between the first two wastes budget, never privacy.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from heapq import merge
from typing import Any

import sqlalchemy as sa

from sfumato.accounting.balance import (
    AccountState,
    Balance,
    Quote,
    limit_from_json,
    limit_to_json,
    limit_words,
    refusal,
    sums_from_json,
    sums_to_json,
)
from sfumato.accounting.compose import ACCOUNTANTS, capacities
from sfumato.accounting.events import Event, event_from_json, event_of_grant, event_of_release, event_of_selection
from sfumato.accounting.schema import BOOK_SIZE, BOOKS, accounts, compiled, entries, place, run
from sfumato.accounting.sealing import append, checked, sealed
from sfumato.accounting.store import adopt, forget, reading, writing
from sfumato.checks import as_written, one_of, shown
from sfumato.core.privacy import Guarantee, Privacy
from sfumato.errors import BudgetExceededError, LedgerError, ParameterError, ParameterTypeError
from sfumato.releases.base import Receipt

# The newest entry of a book knows the book's sums; both books of an account, which lie side by side, in one query.
_NEWEST = compiled(
    sa.select(entries).where(
        entries.c.id.in_(
            [
                sa.select(sa.func.max(newest.c.id))
                .where(newest.c.id > sa.bindparam(start), newest.c.id < sa.bindparam(stop))
                .scalar_subquery()
                for newest, start, stop in (
                    (entries.alias(), "start", "middle"),
                    (entries.alias(), "middle", "stop"),
                )
            ]
        )
    )
)
_NAMES = [column.name for column in entries.c]
_PUBLISHED = compiled(
    sa.update(entries).where(entries.c.id == sa.bindparam("entry")).values(status=sa.literal_column("'published'"))
)


@dataclass(frozen=True)
class Entry:
    """One line of an account's history."""

    number: int
    status: str
    created: str
    random: bool
    event: Event


class Ledger:
    """A file that records what every data set has spent, shared safely by threads and processes.

    >>> import tempfile, os
    >>> ledger = Ledger(os.path.join(tempfile.mkdtemp(), "budget.db"))
    >>> ledger.account("clinic", limit=Privacy(epsilon=3)).remaining().epsilon
    3.0
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        name = os.fsdecode(path)
        if not name or name == ":memory:" or "\0" in name:
            raise ParameterError(f"path must be a file, because a ledger must last, got path={path!r}")
        self.path = os.path.abspath(name)
        forget(self.path)
        with reading(self.path):
            pass  # opens the file, or says what is wrong with it

    @classmethod
    def adopt(cls, path: str | os.PathLike[str]) -> Ledger:
        """Take a copy as a ledger of its own: one that was restored, or moved without its counter.

        What was charged after the copy was made is not in it: count that as spent yourself. The ledger from which
        it was copied must not be used any more, or the data set has two budgets.
        """
        if not os.path.exists(path):
            raise LedgerError(f"{os.fsdecode(path)}: there is no such ledger")
        adopt(os.path.abspath(os.fsdecode(path)))
        return cls(path)

    def account(self, name: str, limit: Privacy | None = None, accountant: str | None = None) -> Account:
        """Open an account, or create it when a ``limit`` is given.

        Parameters
        ----------
        limit
            What may be spent in total; it also fixes the neighbouring relation and the unit.
        accountant
            ``"basic"`` (the default), ``"zcdp"`` (the default for a limit in rho), ``"gaussian"``, or ``"best"``,
            which splits delta evenly among those that apply and admits what any of them admits: the choice for many
            releases. Fixed at creation.
        """
        if not isinstance(name, str) or not name or not name.isprintable():
            raise ParameterTypeError(f"name must be printable text, got name={shown(name)}")
        if accountant is not None:
            one_of("accountant", accountant, ("best", *ACCOUNTANTS))
        account = Account(self.path, name)
        if limit is None:
            if accountant is not None:
                raise ParameterError(f"accountant={accountant!r} is fixed when an account is created: give a limit too")
            account.remaining()  # says so if there is no such account
            return account
        if not isinstance(limit, Privacy):
            raise ParameterTypeError(f"limit must be an sf.Privacy, got limit={shown(limit)}")
        self._create(name, limit, accountant or ("basic" if limit.rho is None else "zcdp"))
        return account

    def _create(self, name: str, limit: Privacy, accountant: str) -> None:
        capacities(limit, accountant)  # refuses an accountant that cannot count the limit
        text = limit_to_json(limit)
        with writing(self.path) as connection:
            row = connection.execute(sa.select(accounts).where(accounts.c.name == name)).one_or_none()
            if row is not None:
                checked("accounts", row._mapping)
                if (row.limit_json, row.accountant) != (text, accountant):
                    there = f"{limit_words(limit_from_json(row.limit_json))}, accountant {row.accountant!r}"
                    raise LedgerError(
                        f"account {name!r} exists with another limit or accountant ({there}); choose another name"
                    )
                return
            number = connection.execute(sa.select(sa.func.max(accounts.c.id))).scalar_one() or 0
            values = {"id": number + 1, "name": name, "limit_json": text, "accountant": accountant, "created": _now()}
            append(connection, "accounts", values)

    def accounts(self) -> list[Account]:
        """All accounts, in the order of their creation."""
        with reading(self.path) as connection:
            names = connection.execute(sa.select(accounts.c.name).order_by(accounts.c.id)).scalars().all()
        return [Account(self.path, name) for name in names]

    def __repr__(self) -> str:
        return f"Ledger({self.path!r})"


@dataclass(frozen=True)
class Account:
    """A handle on one data set's budget: an address, never a balance. Copy it, clone it, send it to workers.

    Entries under *random* differential privacy are kept in a book of their own. If the limit has a ``gamma``, theirs
    add up to at most that; ``gamma=0`` takes none of them.
    """

    path: str
    name: str

    def __sklearn_clone__(self) -> Account:
        """A clone pays from the same account."""
        return self

    @property
    def limit(self) -> Privacy:
        """What may be spent in total."""
        return self.remaining().limit

    def remaining(self, *, random: bool = False) -> Balance:
        """What is left for releases under differential privacy.

        With ``random=True``: what is left once entries under random differential privacy are counted too. A
        release must fit both, so that all together stay within the limit, with the confidence of the random ones.
        """
        with reading(self.path) as connection:
            books, together = self._books(connection)
        return (together if random else books["dp"]).balance()

    def would_cost(self, what: Privacy | Event | Any) -> Quote:
        """What a release would cost: an ``sf.Privacy``, an ``sf.plan`` or an event; nothing is charged."""
        event = _as_event(what)
        with reading(self.path) as connection:
            books, together = self._books(connection)
            fits = together.plus(event).fits() and self._gamma_left(connection, event) >= 0
        state = together if event.confidence < 1 else books["dp"]
        return Quote(fits, state.balance(), state.plus(event).balance() if fits else None)

    def history(self) -> list[Entry]:
        """Every entry, oldest first. ``reserved`` entries were charged, but no release is known to have come."""
        found = []
        with reading(self.path) as connection:
            account = self._account(connection).id
            for book in BOOKS:
                start = place(account, book)
                mine = entries.c.id.between(start, start + BOOK_SIZE - 1)
                for r in connection.execute(sa.select(entries).where(mine).order_by(entries.c.id)):
                    checked("entries", r._mapping)
                    event = event_from_json(r.event_json)
                    found.append(Entry(r.id - start, r.status, r.created, book == "random", event))
        # Each book in its own order, which no change of the clock can upset.
        books = [[entry for entry in found if entry.random == random] for random in (False, True)]
        return list(merge(*books, key=lambda entry: entry.created))

    def recount(self) -> None:
        """Add up all entries anew, for instance after an accountant has become better."""
        with writing(self.path) as connection:
            for book in BOOKS:
                state = self._books(connection)[0][book]
                start = place(state.account, book)
                mine = entries.c.id.between(start, start + BOOK_SIZE - 1)
                again = state.zero()
                newest = None
                for newest in connection.execute(sa.select(entries).where(mine).order_by(entries.c.id)).mappings():
                    checked("entries", newest)
                    again = again.plus(event_from_json(newest["event_json"]))
                if newest is not None:
                    sums = sums_to_json(again.sums)
                    values = {"sums_json": sums, "seal": sealed("entries", {**newest, "sums_json": sums})[1]}
                    connection.execute(sa.update(entries).where(entries.c.id == newest["id"]).values(values))

    def charge(self, event: Event) -> int:
        """Check and reserve in one transaction: on disk when this returns, refused and unchanged when it raises.

        Returns the number of the entry. ``spend`` is what release paths use.
        """
        return self._reserve(event)[0]

    def _reserve(self, event: Event) -> tuple[int, AccountState]:
        """Charge; the entry's number, and the account as it is then (with all entries for a random one)."""
        book = _book(event.confidence < 1)
        with writing(self.path) as connection:
            books, together = self._books(connection)
            after = together.plus(event)
            if not after.fits():
                raise BudgetExceededError(refusal(together, event))
            if self._gamma_left(connection, event) < 0:
                raise BudgetExceededError(
                    f"account {self.name!r} allows gamma {after.limit.gamma!r} in all for sampled sensitivities, and "
                    f"this release has confidence {event.confidence!r}; nothing was released"
                )
            mine = books[book]
            entry = after if mine is together else mine.plus(event)
            values = {
                "id": place(mine.account, book) + entry.entries,
                "event_json": event.to_json(),
                "sums_json": sums_to_json(entry.sums),
                "status": "reserved",
                "created": _now(),
            }
            append(connection, "entries", values)
        return entry.entries, after if book == "random" else entry

    @contextmanager
    def spend(self, event: Event) -> Iterator[Receipt]:
        """Reserve; let the block draw its noise; mark the entry published. The one place where budgets are spent."""
        number, state = self._reserve(event)
        balance = state.balance()
        limit = limit_words(balance.limit)
        receipt = Receipt(self.name, number, balance.accountant, limit, balance.spent, balance.words())
        yield receipt
        try:
            with writing(self.path) as connection:
                start = place(self._account(connection).id, _book(event.confidence < 1))
                marked = run(connection, _PUBLISHED, {"entry": start + receipt.entry}).rowcount
        except LedgerError as error:
            raise LedgerError(f"entry {receipt.entry} of account {self.name!r} is charged, but: {error}") from None
        if marked != 1:
            raise LedgerError(f"entry {receipt.entry} of account {self.name!r} has gone; nothing was released")

    def _account(self, connection: sa.Connection) -> Any:
        """The account's own row, which never changes: read once for as long as the file is open."""
        known = connection.info.setdefault("accounts", {})
        if self.name not in known:
            mine = sa.select(accounts).where(accounts.c.name == self.name)
            row = connection.execute(mine).one_or_none()
            if row is None:
                raise LedgerError(f"{self.path} has no account {self.name!r}; create it with a limit first")
            checked("accounts", row._mapping)
            known[self.name] = row
        return known[self.name]

    def _gamma_left(self, connection: sa.Connection, event: Event) -> Fraction:
        """What is left of the limit's gamma after an event: shortfalls of all random entries add up (union bound)."""
        row = self._account(connection)
        gamma = limit_from_json(row.limit_json).gamma
        if gamma is None or event.confidence == 1:
            return Fraction(1)
        start = place(row.id, "random")
        mine = entries.c.id.between(start, start + BOOK_SIZE - 1)
        spent = Fraction(0)
        for entry in connection.execute(sa.select(entries).where(mine)).mappings():
            checked("entries", entry)
            spent += 1 - as_written(event_from_json(entry["event_json"]).confidence)
        # A confidence is one minus a gamma, rounded to a double: a slack of 1e-15 makes up for that.
        return as_written(gamma) - spent - (1 - as_written(event.confidence)) + Fraction(1, 10**15)

    def _books(self, connection: sa.Connection) -> tuple[dict[str, AccountState], AccountState]:
        """What each book adds up to, and what all entries add up to together."""
        row = self._account(connection)
        empty = AccountState(self.name, row.id, limit_from_json(row.limit_json), row.accountant, {}, 0).zero()
        books = dict.fromkeys(BOOKS, empty)
        start, middle = (place(row.id, book) for book in BOOKS)
        edges = {"start": start, "middle": middle, "stop": middle + BOOK_SIZE}
        for found in run(connection, _NEWEST, edges):
            entry = dict(zip(_NAMES, found, strict=True))
            checked("entries", entry)
            book, first = (BOOKS[1], middle) if entry["id"] > middle else (BOOKS[0], start)
            books[book] = empty.with_sums(sums_from_json(entry["sums_json"]), entry["id"] - first)
        return books, books["dp"].joined(books["random"])


def _as_event(what: Any) -> Event:
    """An event, from one, from a grant, or from a plan (anything with a guarantee)."""
    if isinstance(what, Event):
        return what
    if isinstance(what, Privacy):
        return event_of_grant(what)
    guarantee = getattr(what, "guarantee", None)
    if isinstance(guarantee, Guarantee):
        if what.law is None:  # chosen, not perturbed
            return event_of_selection("planned", _grant_of(guarantee), "planned")
        return event_of_release(what.law, guarantee, "planned")
    raise ParameterTypeError(f"would_cost takes an sf.Privacy, an sf.plan(...) or an event, got {type(what).__name__}")


def _grant_of(promise: Guarantee) -> Privacy:
    return Privacy(promise.epsilon, 0.0, promise.rho, promise.neighbours, promise.unit)


def _book(random: bool) -> str:
    return "random" if random else "dp"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
