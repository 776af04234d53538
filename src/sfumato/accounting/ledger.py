"""The durable record of what each data set has spent.

    ledger = sf.Ledger("budget.db")
    account = ledger.account("clinic-2026", limit=sf.Privacy(epsilon=3, delta=1e-6))
    sf.release(..., ledger=account)

The order is: reserve, draw, mark published. A crash between the first two wastes budget, never privacy.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from heapq import merge
from typing import Any

import sqlalchemy as sa

from sfumato.accounting.address import is_url, settled, store_of
from sfumato.accounting.balance import (
    AccountState,
    Balance,
    Quote,
    charged,
    limit_from_json,
    limit_to_json,
    limit_words,
    refusal,
    replayed,
    sums_from_json,
    sums_to_json,
)
from sfumato.accounting.binding import append_act, append_salt, check_raised, fingerprint, refuse_twice, salt_of
from sfumato.accounting.charge import Told
from sfumato.accounting.compose import ACCOUNTANTS, accountant_name
from sfumato.accounting.events import Event, event_from_json, event_of_grant, event_of_release, event_of_selection
from sfumato.accounting.evidence import Verified, imported, verified, write_export
from sfumato.accounting.schema import (
    BOOK_SIZE,
    BOOKS,
    Ahead,
    accounts,
    acts,
    compiled,
    entries,
    place,
    publications,
    run,
)
from sfumato.accounting.seal import append, checked, sealed
from sfumato.accounting.store import Store, remembered
from sfumato.accounting.tight import check_plan, planned, rooms, stock_of
from sfumato.checks import as_written, did_you_mean, one_of, shown
from sfumato.core.privacy import Guarantee, Privacy
from sfumato.errors import BudgetExceededError, LedgerError, ParameterError, ParameterTypeError
from sfumato.releases.base import Receipt
from sfumato.releases.writer import digest

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
_ACT_NAMES = [column.name for column in acts.c]
_ENTRY = compiled(sa.select(entries).where(entries.c.id == sa.bindparam("entry")))
# The limit that was set last, where the first one was raised.
_mine = acts.alias()
_RAISED = compiled(
    sa.select(acts).where(
        acts.c.id
        == sa.select(sa.func.max(_mine.c.id))
        .where(_mine.c.id > sa.bindparam("start"), _mine.c.id < sa.bindparam("stop"))
        .where(_mine.c.kind == sa.literal_column("'limit'"))
        .scalar_subquery()
    )
)


@dataclass(frozen=True)
class Entry:
    """One line of an account's history."""

    number: int
    status: str
    created: str
    random: bool
    event: Event
    release: str = ""  # the digest of what was published


class Ledger:
    """The record of what every data set has spent, shared safely by threads and processes.

    Parameters
    ----------
    path
        A file, or the address of a PostgreSQL database that several machines share,
        ``"postgresql+psycopg://curator@host/ledger"``.

    >>> import tempfile, os
    >>> ledger = Ledger(os.path.join(tempfile.mkdtemp(), "budget.db"))
    >>> ledger.account("clinic", limit=Privacy(epsilon=3)).remaining().epsilon
    3.0
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = settled(path)
        self._store = store_of(self.path)
        self._store.forget()
        with self._store.reading():
            pass  # opens it, or says what is wrong with it

    @classmethod
    def adopt(cls, path: str | os.PathLike[str]) -> Ledger:
        """Take a copy as a ledger of its own: one that was restored, or moved without its counter.

        What was charged after the copy was made is not in it: count that as spent yourself. The ledger from which
        it was copied must not be used any more, or the data set has two budgets.
        """
        there = store_of(settled(path))
        if not there.exists():
            raise LedgerError(f"{there.words if is_url(there.address) else os.fsdecode(path)}: there is no such ledger")
        there.adopt()
        return cls(path)

    def account(
        self,
        name: str,
        limit: Privacy | None = None,
        accountant: str | None = None,
        *,
        plan: Sequence[Any] | None = None,
        data: Any = None,
    ) -> Account:
        """Open an account, or create it when a ``limit`` is given.

        Parameters
        ----------
        limit
            What may be spent in total; it also fixes the neighbouring relation and the unit.
        accountant
            ``"basic"`` (the default), ``"zcdp"`` (the default for a limit in rho), ``"gaussian"``, or ``"best"``,
            which splits delta evenly among those that apply and admits what any of them admits: the choice for many
            releases. ``"tight"`` adds up privacy loss distributions, of a ``plan``. Fixed at creation.
        plan
            For ``"tight"``, and ``"best"``: what will be asked for, written down before anything is seen; an
            ``sf.Privacy``, ``sf.plan(...)`` or event for each release, or ``(it, count)``, where one count may be None,
            for as many as fit. A release then takes the least of the plan that covers it, in any order.
        data
            A table to which the account is bound, wherever it is kept (a path, a list of paths, a frame of Dask's): its
            salted fingerprint is kept, and another account of this ledger is not given the same data.
        """
        if not isinstance(name, str) or not name or not name.isprintable():
            raise ParameterTypeError(f"name must be printable text, got name={shown(name)}")
        if accountant is not None:
            one_of("accountant", accountant, ("best", "tight", *ACCOUNTANTS))
        account = Account(self.path, name)
        if limit is None:
            for what, given in (("accountant", accountant), ("plan", plan)):
                if given is not None:
                    raise ParameterError(f"{what}={shown(given)} is fixed when an account is created: give a limit too")
            account.remaining()  # says so if there is no such account
        elif not isinstance(limit, Privacy):
            raise ParameterTypeError(f"limit must be an sf.Privacy, got limit={shown(limit)}")
        else:
            self._create(name, limit, _counted(accountant, limit, plan), data)
        if data is not None:
            account.bind(data)
        return account

    def _create(self, name: str, limit: Privacy, accountant: str, data: Any) -> None:
        rooms(limit, accountant)  # refuses an accountant that cannot count the limit
        text, account = limit_to_json(limit), Account(self.path, name)
        mark = None if data is None else account.fingerprint(data)
        with self._store.writing() as connection:
            row = connection.execute(sa.select(accounts).where(accounts.c.name == name)).one_or_none()
            if row is not None:
                checked("accounts", row._mapping)
                now = account._limit(connection, row.id, row.limit_json)
                if (now, row.accountant) != (text, accountant):
                    there = f"{limit_words(limit_from_json(now))}, accountant {accountant_name(row.accountant)!r}"
                    raise LedgerError(
                        f"account {name!r} exists with another limit or accountant ({there}); choose another name, or "
                        "raise its limit with raise_limit"
                    )
                return
            if mark is not None:
                refuse_twice(connection, 0, mark)
            number = connection.execute(sa.select(sa.func.max(accounts.c.id))).scalar_one() or 0
            values = {"id": number + 1, "name": name, "limit_json": text, "accountant": accountant, "created": _now()}
            append(connection, "accounts", values)

    def verify(self, releases: Sequence[Any] = ()) -> Verified:
        """Check every fact, and that releases are those that were published under their entries; raises if not so."""
        return verified(self._store, [(release, digest(release)) for release in releases])

    def export(self, path: str | os.PathLike[str]) -> None:
        """Write all facts to a file, as lines of JSON that keep the chain."""
        write_export(self._store, path)

    @classmethod
    def from_export(cls, file: str | os.PathLike[str], path: str | os.PathLike[str]) -> Ledger:
        """Make a ledger of what another has exported; the other must not be used any more."""
        made = cls(path)
        imported(file, made._store)
        return made

    def accounts(self) -> list[Account]:
        """All accounts, in the order of their creation."""
        with self._store.reading() as connection:
            names = connection.execute(sa.select(accounts.c.name).order_by(accounts.c.id)).scalars().all()
        return [Account(self.path, name) for name in names]

    def __repr__(self) -> str:
        return f"Ledger({self._store.words!r})"


@dataclass(frozen=True)
class Account:
    """A handle on one data set's budget: an address, never a balance. Copy it, clone it, send it to workers.

    Entries under *random* differential privacy are kept in a book of their own. If the limit has a ``gamma``, theirs
    add up to at most that; ``gamma=0`` takes none of them.
    """

    path: str
    name: str

    def __repr__(self) -> str:
        return f"Account(path={self._store.words!r}, name={self.name!r})"  # without a password

    @property
    def _store(self) -> Store:
        return store_of(self.path)

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
        with self._store.reading() as connection:
            books, together = self._books(connection)
        return (together if random else books["dp"]).balance()

    def would_cost(self, what: Privacy | Event | Any, *more: Privacy | Event | Any) -> Quote:
        """What a release would cost: an ``sf.Privacy``, an ``sf.plan`` or an event; nothing is charged.

        With ``more``, what all of them would cost, one after the other.
        """
        events = [_as_event(one) for one in (what, *more)]
        with self._store.reading() as connection:
            books, together = self._books(connection)
            fits = _after(together, events).fits() and all(self._gamma_left(connection, one) >= 0 for one in events)
        state = together if any(event.confidence < 1 for event in events) else books["dp"]
        return Quote(fits, state.balance(), _after(state, events).balance() if fits else None)

    def history(self) -> list[Entry]:
        """Every entry, oldest first. ``reserved`` entries were charged, but no release is known to have come."""
        found = []
        with self._store.reading() as connection:
            account = self._account(connection).id
            for book in BOOKS:
                start = place(account, book)
                mine = entries.c.id.between(start, start + BOOK_SIZE - 1)
                out = _published(connection, start)
                for r in connection.execute(sa.select(entries).where(mine).order_by(entries.c.id)):
                    checked("entries", r._mapping)
                    event, status = event_from_json(r.event_json), "published" if r.id in out else r.status
                    found.append(Entry(r.id - start, status, r.created, book == "random", event, out.get(r.id, "")))
        # Each book in its own order, which no change of the clock can upset.
        books = [[entry for entry in found if entry.random == random] for random in (False, True)]
        return list(merge(*books, key=lambda entry: entry.created))

    def recount(self) -> None:
        """Add up all entries anew, for instance after an accountant has become better."""
        with self._store.writing() as connection:
            zero = self._books(connection)[0]["dp"].zero()
            start = place(zero.account, BOOKS[0])
            mine = entries.c.id.between(start, start + len(BOOKS) * BOOK_SIZE - 1)
            rows = connection.execute(sa.select(entries).where(mine).order_by(entries.c.count)).mappings().all()
            for row in rows:
                checked("entries", row)
            newest = {}
            for row, state in zip(rows, replayed(zero, rows), strict=True):
                newest[row["id"] // BOOK_SIZE] = row, sums_to_json(state.sums)
            for row, sums in newest.values():
                values = {"sums_json": sums, "seal": sealed("entries", {**row, "sums_json": sums})[1]}
                connection.execute(sa.update(entries).where(entries.c.id == row["id"]).values(values))

    def charge(self, event: Event) -> int:
        """Check and reserve in one transaction: on disk when this returns, refused and unchanged when it raises.

        Returns the number of the entry. ``spend`` is what release paths use.
        """
        return self._reserve(event)[0]

    def _reserve(self, event: Event) -> tuple[int, AccountState, str]:
        """Charge; the entry's number, the account then (with all entries for a random one), the chain's head."""
        book = _book(event.confidence < 1)
        with self._store.writing(self._ahead()) as connection:
            books, together = self._books(connection)
            after, entry = charged(books, book, event)
            if not after.fits():
                raise BudgetExceededError(refusal(together, event))
            if self._gamma_left(connection, event) < 0:
                raise BudgetExceededError(
                    f"account {self.name!r} allows gamma {after.limit.gamma!r} in all for sampled sensitivities, and "
                    f"this release has confidence {event.confidence!r}; nothing was released"
                )
            values = {
                "id": place(after.account, book) + entry.entries,
                "event_json": event.to_json(),
                "sums_json": sums_to_json(entry.sums),
                "status": "reserved",
                "created": _now(),
            }
            head = append(connection, "entries", values)
        return entry.entries, after if book == "random" else entry, head

    @contextmanager
    def spend(self, event: Event, told: Told | None = None) -> Iterator[Receipt]:
        """Reserve; let the block draw its noise; record the publication. The one place where budgets are spent."""
        number, state, head = self._reserve(event)
        balance = state.balance()
        limit = limit_words(balance.limit)
        receipt = Receipt(self.name, number, balance.accountant, limit, balance.spent, balance.words(), head)
        yield receipt
        try:
            self._publish(event, number, "" if told is None else told.release)
        except LedgerError as error:
            raise LedgerError(f"entry {number} of account {self.name!r} is charged, but: {error}") from None

    def _publish(self, event: Event, number: int, digest: str) -> None:
        """Record that the release of an entry is out."""
        with self._store.writing() as connection:
            entry = place(self._account(connection).id, _book(event.confidence < 1)) + number
            found = run(connection, _ENTRY, {"entry": entry}).fetchall()
            if len(found) != 1:
                raise LedgerError(f"entry {number} has gone; nothing was released")
            checked("entries", dict(zip(_NAMES, found[0], strict=True)))
            append(connection, "publications", {"id": entry, "release": digest, "created": _now()})

    def raise_limit(self, limit: Privacy, why: str) -> None:
        """Raise what may be spent in total: an act of the ledger's owner that is recorded for ever, with its reason.

        The promise is the new limit's from then on, also for what was released before. Whoever raises a limit because
        of what releases have shown has in truth granted the new one from the start.
        """
        if not isinstance(limit, Privacy):
            raise ParameterTypeError(f"limit must be an sf.Privacy, got limit={shown(limit)}")
        if not isinstance(why, str) or not why.strip() or not why.isprintable():
            raise ParameterTypeError(f"why must say in printable text why the limit is raised, got why={shown(why)}")
        with self._store.writing() as connection:
            row = self._account(connection)
            old = limit_from_json(self._limit(connection, row.id, row.limit_json))
            check_plan(self.name, stock_of(row.accountant))
            check_raised(self.name, old, limit)
            rooms(limit, row.accountant)  # refuses a limit that the accountant cannot count
            body = {"limit": limit_to_json(limit), "why": why, "before": limit_to_json(old)}
            append_act(connection, row.id, "limit", json.dumps(body), _now())

    def fingerprint(self, data: Any) -> str:
        """The fingerprint of data under this ledger's salt: the same wherever and in whichever order they are kept."""
        with self._store.reading() as connection:
            salt = salt_of(connection)
        if salt is None:
            with self._store.writing() as connection:
                salt = salt_of(connection) or append_salt(connection, _now())
        return fingerprint(data, salt)

    def bind(self, data: Any) -> None:
        """Bind the account to data: another account of this ledger is not given the same.

        Parameters
        ----------
        data
            A path or a list of paths, an array, a table, or a frame of Dask's or Spark's: names and values count, in
            any order; of a file that is no table its bytes.
        """
        mark = self.fingerprint(data)
        with self._store.writing() as connection:
            account = self._account(connection).id
            if not refuse_twice(connection, account, mark):
                append_act(connection, account, "data", mark, _now())

    def _ahead(self) -> Ahead:
        """What a charge reads, where the account's number is known from before."""
        row = remembered(self.path).get(self.name)
        return () if row is None else ((_RAISED, _range_of_acts(row.id)), (_NEWEST, _edges(row.id)))

    def _account(self, connection: sa.Connection) -> Any:
        """The account's own row, which never changes: read once for as long as the file is open."""
        known = connection.info.setdefault("accounts", {})
        if self.name not in known:
            mine = sa.select(accounts).where(accounts.c.name == self.name)
            row = connection.execute(mine).one_or_none()
            if row is None:
                near = did_you_mean(self.name, connection.execute(sa.select(accounts.c.name)).scalars())
                raise LedgerError(
                    f"{self._store.words} has no account {self.name!r}{near}; create it with a limit first"
                )
            checked("accounts", row._mapping)
            known[self.name] = row
        return known[self.name]

    def _limit(self, connection: sa.Connection, account: int, first: str) -> str:
        """The limit as it is now: the first one, or what it was raised to last."""
        found = run(connection, _RAISED, _range_of_acts(account)).fetchall()
        if not found:
            return first
        row = dict(zip(_ACT_NAMES, found[0], strict=True))
        checked("acts", row)
        limit: str = json.loads(row["body"])["limit"]
        return limit

    def _gamma_left(self, connection: sa.Connection, event: Event) -> Fraction:
        """What is left of the limit's gamma after an event: shortfalls of all random entries add up (union bound)."""
        row = self._account(connection)
        gamma = limit_from_json(self._limit(connection, row.id, row.limit_json)).gamma
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
        limit = limit_from_json(self._limit(connection, row.id, row.limit_json))
        empty = AccountState(self.name, row.id, limit, row.accountant, {}, 0).zero()
        books = dict.fromkeys(BOOKS, empty)
        start, middle = (place(row.id, book) for book in BOOKS)
        for found in run(connection, _NEWEST, _edges(row.id)).fetchall():
            entry = dict(zip(_NAMES, found, strict=True))
            checked("entries", entry)
            book, first = (BOOKS[1], middle) if entry["id"] > middle else (BOOKS[0], start)
            books[book] = empty.with_sums(sums_from_json(entry["sums_json"]), entry["id"] - first)
        return books, books["dp"].joined(books["random"])


def _edges(account: int) -> dict[str, int]:
    """Where the two books of an account lie, side by side."""
    start, middle = (place(account, book) for book in BOOKS)
    return {"start": start, "middle": middle, "stop": middle + BOOK_SIZE}


def _range_of_acts(account: int) -> dict[str, int]:
    return {"start": account * BOOK_SIZE, "stop": (account + 1) * BOOK_SIZE}


def _after(state: AccountState, events: Sequence[Event]) -> AccountState:
    for event in events:
        state = state.plus(event)
    return state


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


def _counted(accountant: str | None, limit: Privacy, plan: Sequence[Any] | None) -> str:
    """How spending is added up, as an account keeps it; a plan is part of it."""
    name = accountant or ("basic" if limit.rho is None else "zcdp")
    if plan is None:
        if name == "tight":
            raise ParameterError.of("plan", "must say what will be asked for where accountant='tight', got none")
        return name
    if name not in ("tight", "best"):
        raise ParameterError.of("plan", f"is for accountant='tight' or 'best', got accountant={name!r}")
    return planned(name, limit, [(_as_event(item), count) for item, count in map(_with_count, plan)])


def _with_count(item: Any) -> tuple[Any, int | None]:
    if not isinstance(item, tuple):
        return item, 1
    if len(item) != 2 or not (item[1] is None or (type(item[1]) is int and item[1] > 0)):
        raise ParameterError.of("plan", f"must hold grants, or (grant, count) with a positive count, got {shown(item)}")
    return item


def _published(connection: sa.Connection, start: int) -> dict[int, str]:
    """The entries of a book whose releases are out, with their digests."""
    mine = publications.c.id.between(start, start + BOOK_SIZE - 1)
    found = {}
    for row in connection.execute(sa.select(publications).where(mine)).mappings():
        checked("publications", row)
        found[row["id"]] = row["release"]
    return found


def _grant_of(promise: Guarantee) -> Privacy:
    return Privacy(promise.epsilon, 0.0, promise.rho, promise.neighbours, promise.unit)


def _book(random: bool) -> str:
    return "random" if random else "dp"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
