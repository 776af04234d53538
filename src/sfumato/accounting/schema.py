"""The tables of a ledger, and where in them a book's entries lie."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite as sqlite_dialect

APPLICATION = 0x5F0A70  # marks the file as ours
VERSION = 2

metadata = sa.MetaData()

accounts = sa.Table(
    "accounts",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("limit_json", sa.Text, nullable=False),
    sa.Column("accountant", sa.Text, nullable=False),
    sa.Column("created", sa.Text, nullable=False),
    sa.Column("count", sa.Integer, nullable=False),
    sa.Column("seal", sa.Text, nullable=False),
)
# Each entry keeps what its book adds up to with it, so that a charge reads one row and writes one. These sums are
# a cache of the events: Account.recount() rebuilds the newest.
#
# ``id`` is place(account, book) + number. It needs no index beside the table, so a charge touches one page; and no
# two charges can follow the same entry, whatever happens to the locks.
entries = sa.Table(
    "entries",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("event_json", sa.Text, nullable=False),
    sa.Column("sums_json", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("created", sa.Text, nullable=False),
    sa.Column("count", sa.Integer, nullable=False),
    sa.Column("seal", sa.Text, nullable=False),
)
# One row: which ledger this is, how many accounts and entries were ever written, and the hash that chains them.
chain = sa.Table(
    "chain",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("identity", sa.Text, nullable=False),
    sa.Column("count", sa.Integer, nullable=False),
    sa.Column("head", sa.Text, nullable=False),
)

BOOKS = ("dp", "random")
BOOK_SIZE = 2**40


def place(account: int, book: str) -> int:
    """Where a book's entries start: entry n of it has id ``place + n``."""
    return (2 * account + BOOKS.index(book)) * BOOK_SIZE


def compiled(statement: sa.ClauseElement) -> str:
    """The SQL text of a statement of the charging path, for ``run``; its parameters keep their names."""
    return str(statement.compile(dialect=sqlite_dialect.dialect(paramstyle="named")))


def run(connection: sa.Connection, sql: str, parameters: dict[str, Any]) -> Any:
    """Run a compiled statement on the driver itself: a charge is on disk in half the time that way."""
    return connection.connection.cursor().execute(sql, parameters)
