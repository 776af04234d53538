"""Ledgers of version 1, which had neither seals nor a chain, become ledgers of today."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from sfumato.accounting.balance import AccountState, limit_from_json, sums_from_json
from sfumato.accounting.events import event_from_json
from sfumato.accounting.schema import BOOK_SIZE, BOOKS, accounts, entries, place
from sfumato.accounting.seal import DamageError, append, sound, start

Books = dict[int, list[dict[str, Any]]]


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
    publish_old(connection)


def publish_old(connection: sa.Connection) -> None:
    """What was published is a fact of its own since version 3, and was the status of an entry, which no hash covers."""
    old = sa.select(entries.c.id, entries.c.created).where(entries.c.status == "published").order_by(entries.c.count)
    for row in connection.execute(old).mappings().all():
        append(connection, "publications", {"release": "", **row})
    connection.execute(sa.update(entries).where(entries.c.status == "published").values(status="reserved"))


def _rows(connection: sa.Connection, table: sa.Table) -> list[dict[str, Any]]:
    columns = [column for column in table.c if column.name not in ("count", "seal")]
    return [dict(row) for row in connection.execute(sa.select(*columns).order_by(table.c.id)).mappings()]


def check_books(old_accounts: list[dict[str, Any]], old_entries: list[dict[str, Any]]) -> None:
    """Refuse accounts and entries that do not belong together, and sums below what events add up to."""
    books = check_numbers(old_accounts, old_entries)
    for account in old_accounts:
        for book in BOOKS:
            _check_sums(account, books[place(account["id"], book) // BOOK_SIZE])


def check_numbers(old_accounts: list[dict[str, Any]], old_entries: list[dict[str, Any]]) -> Books:
    """The entries of each book, in order; refuses books with gaps, and those of no account."""
    books: Books = {place(row["id"], book) // BOOK_SIZE: [] for row in old_accounts for book in BOOKS}
    for entry in sorted(old_entries, key=lambda row: row["id"]):
        if entry["id"] // BOOK_SIZE not in books:
            raise DamageError("there are entries of no account")
        books[entry["id"] // BOOK_SIZE].append(entry)
    for account in old_accounts:
        for book in BOOKS:
            start = place(account["id"], book)
            mine = books[start // BOOK_SIZE]
            if [entry["id"] - start for entry in mine] != list(range(1, len(mine) + 1)):
                raise DamageError(f"entries of account {account['name']!r} are missing")
    return books


def _check_sums(account: dict[str, Any], book: list[dict[str, Any]]) -> None:
    """Refuse a book whose newest sums are less than its events add up to."""
    limit = limit_from_json(account["limit_json"])
    state = AccountState(account["name"], account["id"], limit, account["accountant"], {}, 0).zero()
    for entry in book:
        state = state.plus(event_from_json(entry["event_json"]))
    kept = sums_from_json(book[-1]["sums_json"]) if book else state.sums
    for name, total in state.sums.items():
        mine = kept.get(name)
        if mine is None:
            continue
        if total is None or any(a < b for a, b in zip(mine, total, strict=True)):
            raise DamageError(f"the sums of account {account['name']!r} are less than its entries add up to")
