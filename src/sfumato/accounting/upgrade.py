"""Ledgers of version 1, which had neither seals nor a chain, become ledgers of today."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from sfumato.accounting.balance import AccountState, limit_from_json, sums_from_json
from sfumato.accounting.compose import Amount
from sfumato.accounting.events import event_from_json
from sfumato.accounting.schema import BOOK_SIZE, BOOKS, accounts, entries, place
from sfumato.accounting.seal import DamageError, append, sound, start
from sfumato.accounting.tight import TIGHT


def upgrade(connection: sa.Connection, identity: str) -> None:
    """Seal and chain everything, in the transaction that is open; refuse sums that are below their events'."""
    sound(connection)
    old = {table.name: _rows(connection, table) for table in (accounts, entries)}
    try:
        check_books(old["accounts"], old["entries"])
    except (LookupError, TypeError, ValueError, ArithmeticError):
        raise DamageError("an entry or an account cannot be read") from None
    for table in (accounts, entries):
        connection.exec_driver_sql(f"DROP TABLE {table.name}")
    start(connection, identity)
    for name, rows in old.items():
        for row in rows:
            append(connection, name, row)


def _rows(connection: sa.Connection, table: sa.Table) -> list[dict[str, Any]]:
    columns = [column for column in table.c if column.name not in ("count", "seal")]
    return [dict(row) for row in connection.execute(sa.select(*columns).order_by(table.c.id)).mappings()]


def check_books(old_accounts: list[dict[str, Any]], old_entries: list[dict[str, Any]]) -> None:
    """Refuse accounts and entries that do not belong together; entries are ordered by their numbers."""
    books: dict[int, list[dict[str, Any]]] = {}
    for entry in old_entries:
        books.setdefault(entry["id"] // BOOK_SIZE, []).append(entry)
    for account in old_accounts:
        for book in BOOKS:
            first = place(account["id"], book)
            _check_book(account, books.pop(first // BOOK_SIZE, []), first)
    if books:
        raise DamageError("there are entries of no account")


def _check_book(account: dict[str, Any], book: list[dict[str, Any]], start: int) -> None:
    """Refuse a book with gaps, and one whose newest sums are less than its events add up to."""
    if [entry["id"] - start for entry in book] != list(range(1, len(book) + 1)):
        raise DamageError(f"entries of account {account['name']!r} are missing")
    limit = limit_from_json(account["limit_json"])
    state = AccountState(account["name"], account["id"], limit, account["accountant"], {}, 0).zero()
    for entry in book:
        state = state.plus(event_from_json(entry["event_json"]))
    kept = sums_from_json(book[-1]["sums_json"]) if book else state.sums
    for name, total in state.sums.items():
        mine = kept.get(name)
        if mine is None:
            continue
        if total is None or any(a < b for a, b in zip(_parts(name, mine), _parts(name, total), strict=True)):
            raise DamageError(f"the sums of account {account['name']!r} are less than its entries add up to")


def _parts(name: str, total: Amount) -> Amount:
    """What is compared of a sum: of a plan, how many were drawn, because the other book may have taken the least."""
    return (sum(total[:-2]), *total[-2:]) if name == TIGHT else total
