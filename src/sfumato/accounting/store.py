"""The ledger's database: tables, connections and transactions on SQLite, through SQLAlchemy Core.

Durability and isolation are SQLite's: write-ahead log, ``synchronous=FULL`` (a committed charge survives a power
cut), and ``BEGIN IMMEDIATE`` for every write, so that a check and its charge see and change the same state.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite as sqlite_dialect

from sfumato.errors import LedgerError

_APPLICATION = 0x5F0A70  # marks the file as ours
_VERSION = 1
_WAIT_SECONDS = 20.0
_PAGE = 4096  # SQLite's files are whole pages

metadata = sa.MetaData()

accounts = sa.Table(
    "accounts",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("limit_json", sa.Text, nullable=False),
    sa.Column("accountant", sa.Text, nullable=False),
    sa.Column("created", sa.Text, nullable=False),
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


# One connection a process and file, used under one lock (SQLite admits one writer at a time anyway). Connections
# must not cross a fork: a child that inherits one shares locks it does not hold. So none is open while forking.
_lock = threading.RLock()
_connections: dict[str, sa.Connection] = {}


def close_all() -> None:
    """Close every connection of this process; the next use opens a new one."""
    with _lock:
        while _connections:
            _connections.popitem()[1].close()


def _before_fork() -> None:
    _lock.acquire()
    close_all()


def _after_fork_in_child() -> None:
    global _lock
    _lock = threading.RLock()  # the old one may belong to a thread that does not exist here


os.register_at_fork(before=_before_fork, after_in_parent=lambda: _lock.release(), after_in_child=_after_fork_in_child)


def connect(path: str) -> sa.Connection:
    """The process's connection to a ledger, opened and checked; hold the lock while using it."""
    known = _connections.get(path)
    if known is not None and (known.invalidated or known.connection.in_transaction):
        _connections.pop(path).close()  # an interrupt came at a bad moment: start again
        known = None
    if known is None:
        known = _connections[path] = _open(path)
    elif known.info["file"] != _file_of(path):
        raise LedgerError(f"{path} was replaced, removed or damaged while in use; nothing was released. Open it anew")
    return known


def _open(path: str) -> sa.Connection:
    # In autocommit mode SQLAlchemy leaves BEGIN and COMMIT to us.
    engine = sa.create_engine(
        sa.URL.create("sqlite", database=path),
        connect_args={"timeout": _WAIT_SECONDS, "check_same_thread": False},
        isolation_level="AUTOCOMMIT",
        poolclass=sa.pool.NullPool,
    )
    connection = engine.connect()
    try:
        _open_schema(connection, path)
        connection.info["file"] = _file_of(path)
    except BaseException:
        connection.close()
        raise
    return connection


def forget(path: str) -> None:
    """Let go of a file that was replaced or removed, so that its path can be opened anew."""
    with _lock:
        known = _connections.get(path)
        if known is not None and (known.invalidated or known.info["file"] != _file_of(path)):
            _connections.pop(path).close()


def _file_of(path: str) -> tuple[int, int]:
    """Which file a path leads to. A hard link would have a log of its own, and so a second budget: refused.

    The file is never opened to look into it: closing it again would drop the locks that SQLite holds on it in this
    process, and another process could throw away the log.
    """
    try:
        found = os.stat(path)
    except OSError:
        return (0, 0)
    if not found.st_size or found.st_size % _PAGE:
        return (0, 0)  # not a database any more: something has written over it
    if found.st_nlink > 1:
        raise LedgerError(f"{path} has {found.st_nlink} hard links; a ledger must have one name, use symbolic links")
    return found.st_dev, found.st_ino


@contextmanager
def reading(path: str) -> Iterator[sa.Connection]:
    """A transaction that sees one state of the ledger."""
    with _transaction(path, "BEGIN") as connection:
        yield connection


@contextmanager
def writing(path: str) -> Iterator[sa.Connection]:
    """A transaction that holds the ledger alone; it is on disk when the block is left, or did not happen."""
    with _transaction(path, "BEGIN IMMEDIATE") as connection:
        yield connection


@contextmanager
def _transaction(path: str, begin: str) -> Iterator[sa.Connection]:
    with _lock, _clear_errors(path):
        connection = connect(path)
        driver = connection.connection.cursor()  # these three words need none of SQLAlchemy's care, and it shows
        try:
            driver.execute(begin)
            yield connection
            driver.execute("COMMIT")
        except BaseException:
            # After some errors SQLite has rolled back already; saying so again would hide the first error.
            with suppress(sqlite3.Error):
                driver.execute("ROLLBACK")
            raise


def _open_schema(connection: sa.Connection, path: str) -> None:
    """Create the tables in a new file; refuse a file that is not a ledger of ours."""
    if not _identity(connection, path):
        connection.exec_driver_sql(f"PRAGMA page_size={_PAGE}")
        connection.exec_driver_sql("PRAGMA journal_mode=WAL")
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        if not _identity(connection, path):  # another process may have been faster
            metadata.create_all(connection)
            connection.exec_driver_sql(f"PRAGMA application_id={_APPLICATION}")
            connection.exec_driver_sql(f"PRAGMA user_version={_VERSION}")
        connection.exec_driver_sql("COMMIT")
    connection.exec_driver_sql("PRAGMA synchronous=FULL")
    connection.exec_driver_sql("PRAGMA foreign_keys=ON")


def _identity(connection: sa.Connection, path: str) -> bool:
    """Whether the file is a ledger already; False for an empty file."""
    # The count comes first: whoever creates the tables sets the marks in the same transaction, so that tables are
    # never seen without marks.
    tables = connection.exec_driver_sql("SELECT count(*) FROM sqlite_master").scalar_one()
    application = connection.exec_driver_sql("PRAGMA application_id").scalar_one()
    version = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
    if application == 0 and tables == 0:
        return False
    if application != _APPLICATION:
        raise LedgerError(f"{path}: a database, but not a sfumato ledger; choose another file")
    if version != _VERSION:
        raise LedgerError(f"{path}: ledger version {version}, this sfumato knows version {_VERSION}; upgrade sfumato")
    return True


_REASONS = {
    "locked": f"another process has held it for {_WAIT_SECONDS:g} seconds; try again",
    "readonly": "it is read-only; make the file and its folder writable",
    "full": "the disk is full; make room",
    "malformed": "it is damaged; restore a backup",
    "not a database": "it is not a database; choose another file",
    "unable to open": "it cannot be opened; does its folder exist and may you write there?",
    "no such table": "its tables are missing; restore a backup",
    "disk i/o": "the disk failed",
}


@contextmanager
def _clear_errors(path: str) -> Iterator[None]:
    try:
        yield
    except json.JSONDecodeError:
        raise LedgerError(f"the ledger {path} refused, nothing was released: an entry is damaged") from None
    except (sa.exc.SQLAlchemyError, sqlite3.Error) as error:
        text = str(getattr(error, "orig", error)).lower()
        reason = next((why for key, why in _REASONS.items() if key in text), text)
        raise LedgerError(f"the ledger {path} refused, nothing was released: {reason}") from None
