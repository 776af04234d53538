"""The tables of a ledger, where in them a book's entries lie, and statements for both kinds of database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite as sqlite_dialect
from sqlalchemy.dialects.postgresql import psycopg as postgres_dialect

APPLICATION = 0x5F0A70  # marks the file as ours
VERSION = 3

metadata = sa.MetaData()
# SQLite's own row number is called INTEGER, and has 64 bits there.
_Number = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def _sealed(name: str, *columns: sa.Column[Any]) -> sa.Table:
    """A table of facts: rows that are only ever appended, each with its place in the chain, and sealed."""
    number = sa.Column("id", _Number, primary_key=True, autoincrement=False)
    after = ("created", sa.Text), ("count", _Number), ("seal", sa.Text)
    rest = (sa.Column(key, kind, nullable=False) for key, kind in after)
    return sa.Table(name, metadata, number, *columns, *rest)


def _text(name: str, **more: Any) -> sa.Column[Any]:
    return sa.Column(name, sa.Text, nullable=False, **more)


accounts = _sealed("accounts", _text("name", unique=True), _text("limit_json"), _text("accountant"))
# Each entry keeps what its book adds up to with it, so that a charge reads one row and writes one. These sums are
# a cache of the events: Account.recount() rebuilds the newest.
#
# ``id`` is place(account, book) + number. It needs no index beside the table, so a charge touches one page; and no
# two charges can follow the same entry, whatever happens to the locks. ``status`` is "reserved"; ledgers before
# version 3 changed it to "published", where there is a publication today.
entries = _sealed("entries", _text("event_json"), _text("sums_json"), _text("status"))
# That the release of an entry is out, and its digest; ``id`` is the entry's.
publications = _sealed("publications", _text("release"))
# What the owner of a ledger did to an account: a limit raised, data bound to it.
acts = _sealed("acts", sa.Column("account", _Number, nullable=False), _text("kind"), _text("body"))
# One row: which ledger this is, how many facts were ever written, and the hash that chains them.
chain = sa.Table(
    "chain",
    metadata,
    sa.Column("id", _Number, primary_key=True, autoincrement=False),
    _text("identity"),
    sa.Column("count", _Number, nullable=False),
    _text("head"),
)

FACTS = (accounts, entries, publications, acts)
BOOKS = ("dp", "random")
BOOK_SIZE = 2**40


def place(account: int, book: str) -> int:
    """Where a book's entries start: entry n of it has id ``place + n``."""
    return (2 * account + BOOKS.index(book)) * BOOK_SIZE


@dataclass(frozen=True)
class Sql:
    """A statement of the charging path as text, for each kind of database."""

    sqlite: str
    postgresql: str


# Statements, with numbers for parameters, that are run first in a transaction: a server far away is told at once.
Ahead = Sequence[tuple[Sql, dict[str, Any]]]


def compiled(statement: sa.ClauseElement) -> Sql:
    """The SQL text of a statement, for ``run``; its parameters keep their names."""
    on_file = statement.compile(dialect=sqlite_dialect.dialect(paramstyle="named"))
    remote = statement.compile(dialect=postgres_dialect.dialect())  # type: ignore[no-untyped-call]
    return Sql(str(on_file), str(remote))


def run(connection: sa.Connection, sql: Sql, parameters: dict[str, Any]) -> Any:
    """Run a compiled statement on the driver itself: a charge is on disk in half the time that way."""
    known = connection.info.get("known")
    if known is not None and (found := known.get((sql, *parameters.values()))) is not None:
        return found
    text = sql.postgresql if on_server(connection) else sql.sqlite
    return connection.connection.cursor().execute(text, parameters)


class Rows(list[tuple[Any, ...]]):
    """What a statement has found already."""

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All of it."""
        return self


def on_server(connection: sa.Connection) -> bool:
    """Whether this is PostgreSQL's."""
    return connection.dialect.name == "postgresql"


def later(connection: sa.Connection, sql: Sql, parameters: dict[str, Any]) -> None:
    """Run a statement whose result nobody needs: at once, or together with the commit where a server is far away."""
    waiting = connection.info.get("waiting")
    if waiting is None:
        run(connection, sql, parameters)
    else:
        waiting.add(sql.postgresql, parameters)
