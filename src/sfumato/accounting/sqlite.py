"""A ledger in a file: connections and transactions on SQLite, through SQLAlchemy Core.

Durability and isolation are SQLite's: write-ahead log, ``synchronous=EXTRA`` (a committed charge survives a power
cut), and ``BEGIN IMMEDIATE`` for every write, so that a check and its charge see and change the same state. That what
was committed is still there, and is what was written, is checked by ``seal`` and ``counter``.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import Any
from uuid import uuid4

import sqlalchemy as sa

from sfumato.accounting import counter, seal, store
from sfumato.accounting.location import PAGE, file_of, prepare, tighten
from sfumato.accounting.schema import APPLICATION, VERSION, Ahead, chain, metadata
from sfumato.accounting.seal import DamageError, State
from sfumato.accounting.upgrade import publish_old, upgrade
from sfumato.errors import LedgerError

_WAIT_SECONDS = store.WAIT_SECONDS
_CHAINED = 2  # the version from which on there are seals, a chain and a counter


class FileStore(store.Store):
    """A ledger in a file."""

    @property
    def words(self) -> str:
        return self.address

    def exists(self) -> bool:
        return os.path.exists(self.address)

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A transaction that sees one state of the ledger."""
        with store.lock, _clear_errors(self.address):
            connection = connect(self.address)
            with _transaction(connection, "BEGIN"):
                yield connection

    @contextmanager
    def writing(self, ahead: Ahead = ()) -> Iterator[sa.Connection]:
        """A transaction that holds the ledger alone; it is on disk when the block is left, or did not happen."""
        with store.lock, _clear_errors(self.address):
            connection = connect(self.address)
            beside = connection.info["counter"]
            with counter.holding(beside, _WAIT_SECONDS) as held:
                with _transaction(connection, "BEGIN IMMEDIATE"):
                    counter.agree(beside, seal.state(connection), held.seen)
                    yield connection
                # Only now, and before anybody hears of it: the counter must not be ahead of what is on disk.
                held.advance(connection.info["state"])

    def adopt(self) -> None:
        with store.lock, _clear_errors(self.address):
            self.close()
            store.connections[self.address] = _open(self.address, adopting=True)

    def forget(self) -> None:
        """Let go of a file that was replaced or removed."""
        with store.lock:
            known = store.connections.get(self.address)
            if known is not None and (known.invalidated or known.info["file"] != file_of(self.address)):
                self.close()

    def erase(self) -> None:
        """Remove a ledger from the disk: for accounts of people who do not exist, and of nobody else."""
        with store.lock:
            self.close()
            for name in (os.path.realpath(self.address), counter.counter_of(self.address)):
                os.unlink(name)


def connect(path: str) -> sa.Connection:
    """The process's connection to a ledger, opened and checked; hold the lock while using it."""
    known = store.connections.get(path)
    if known is not None and (known.invalidated or known.connection.in_transaction):
        store.connections.pop(path).close()  # an interrupt came at a bad moment: start again
        known = None
    if known is None:
        known = store.connections[path] = _open(path)
    elif known.info["file"] != file_of(path):
        raise LedgerError(f"{path} was replaced, removed or damaged while in use; nothing was released. Open it anew")
    return known


def _open(path: str, adopting: bool = False) -> sa.Connection:
    prepare(path)
    # In autocommit mode SQLAlchemy leaves BEGIN and COMMIT to us.
    engine = sa.create_engine(
        sa.URL.create("sqlite", database=path),
        connect_args={"timeout": _WAIT_SECONDS, "check_same_thread": False},
        isolation_level="AUTOCOMMIT",
        poolclass=sa.pool.NullPool,
    )
    connection = engine.connect()
    try:
        connection.info["counter"] = counter.counter_of(path)
        _open_schema(connection, path, adopting)
        if adopting:
            _take(connection, path)
        _check(connection)
        connection.info["file"] = file_of(path)
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def _transaction(connection: sa.Connection, begin: str) -> Iterator[None]:
    driver = connection.connection.cursor()  # these three words need none of SQLAlchemy's care, and it shows
    try:
        driver.execute(begin)
        yield
        driver.execute("COMMIT")
    except BaseException:
        # After some errors SQLite has rolled back already; saying so again would hide the first error.
        with suppress(sqlite3.Error):
            driver.execute("ROLLBACK")
        raise


def _open_schema(connection: sa.Connection, path: str, adopting: bool) -> None:
    """Create the tables in a new file, upgrade old ones; refuse a file that is not a ledger of ours."""
    connection.exec_driver_sql("PRAGMA synchronous=EXTRA")  # FULL, and the folder too once a journal is removed
    version = _version(connection, path)
    if version < _CHAINED:
        if version:
            _journal(connection, path, "delete")
        else:
            connection.exec_driver_sql(f"PRAGMA page_size={PAGE}")
        # In the file itself, under its own lock, and not in a log: whoever reaches the file by another folder, where
        # its log is not seen, still sees that it is a ledger, and misses its counter.
        with _transaction(connection, "BEGIN IMMEDIATE"):
            version = _version(connection, path)
            if version < _CHAINED:  # another process may have been faster
                _make(connection, path, version, adopting)
            now = seal.state(connection)
        with counter.holding(connection.info["counter"], _WAIT_SECONDS) as held:
            held.advance(now)
    _journal(connection, path, "wal")
    if version == _CHAINED:
        _add_tables(connection, adopting)


def _add_tables(connection: sa.Connection, adopting: bool) -> None:
    """Bring a ledger of version 2, which is chained and counted, to that of today."""
    beside = connection.info["counter"]
    with ExitStack() as stack:
        held = None if adopting else stack.enter_context(counter.holding(beside, _WAIT_SECONDS))
        with _transaction(connection, "BEGIN IMMEDIATE"):
            metadata.create_all(connection)
            seal.verify(connection)
            now = seal.state(connection)
            if held is not None:
                counter.agree(beside, now, held.seen)
            publish_old(connection)
            connection.exec_driver_sql(f"PRAGMA user_version={VERSION}")
        if held is not None:
            held.advance(connection.info["state"])


def _journal(connection: sa.Connection, path: str, mode: str) -> None:
    """Change how SQLite keeps what is not yet in the file; "delete" waits until nobody else has the file open."""
    if _patiently(lambda: connection.exec_driver_sql(f"PRAGMA journal_mode={mode}").scalar_one()) != mode:
        raise LedgerError(f"{path}: its file system does not take SQLite's logs; choose a local disk for the ledger")


def _patiently(change: Callable[[], Any]) -> Any:
    """Try again while the file is locked, for a change of journal: SQLite itself does not wait for that.

    Whoever changes the journal holds one lock and wants another, and two of them could wait for each other for ever.
    """
    until = time.monotonic() + _WAIT_SECONDS
    while True:
        try:
            return change()
        except sa.exc.OperationalError as error:
            if "locked" not in str(error.orig) or time.monotonic() > until:
                raise
        time.sleep(0.002 * (1 + os.getpid() % 8))  # not all of them at the same moment again


def _make(connection: sa.Connection, path: str, version: int, adopting: bool) -> None:
    """The tables of today, in a transaction that is open, and a counter that waits for them."""
    seen = None if adopting and version else counter.read(connection.info["counter"])
    if seen is not None and seen.count:
        what = f"is of version {version}" if version else "is new"
        raise LedgerError(f"{path} {what}, and its counter has seen {seen.count} rows of another; {counter.RESTORE}")
    if version:
        tighten(os.path.realpath(path))
    identity = uuid4().hex
    # First the counter: without one, a ledger is taken for a copy. Zero agrees with everything.
    counter.write_new(connection.info["counter"], State(identity, 0, seal.START), path)
    if version:
        upgrade(connection, identity)
    else:
        seal.start(connection, identity)
        connection.exec_driver_sql(f"PRAGMA application_id={APPLICATION}")
    connection.exec_driver_sql(f"PRAGMA user_version={VERSION}")


def _version(connection: sa.Connection, path: str) -> int:
    """The version of a ledger; 0 for an empty file."""
    # The count comes first: whoever creates the tables sets the marks in the same transaction, so that tables are
    # never seen without marks.
    tables = connection.exec_driver_sql("SELECT count(*) FROM sqlite_master").scalar_one()
    application = connection.exec_driver_sql("PRAGMA application_id").scalar_one()
    version: int = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
    if application == 0 and tables == 0:
        return 0
    if application != APPLICATION:
        raise LedgerError(f"{path}: a database, but not a sfumato ledger; choose another file")
    if not 0 < version <= VERSION:
        raise LedgerError(f"{path}: ledger version {version}, this sfumato knows version {VERSION}; upgrade sfumato")
    return version


def _check(connection: sa.Connection) -> None:
    """Refuse a ledger that is damaged, or has lost something."""
    beside = connection.info["counter"]
    seen = counter.read(beside)  # first: what is read later may be ahead of it
    with _transaction(connection, "BEGIN"):
        heads = seal.verify(connection)
        counter.agree(beside, seal.state(connection), seen)
    if seen is not None and heads[seen.count] != seen.head:
        raise counter.other(beside)


def _take(connection: sa.Connection, path: str) -> None:
    """Make a copy a ledger of its own: the counter of another does not fit it. Refuse one that is damaged."""
    _journal(connection, path, "delete")
    with _transaction(connection, "BEGIN IMMEDIATE"):
        seal.verify(connection)
        now = replace(seal.state(connection), identity=uuid4().hex)
        connection.execute(sa.update(chain).values(identity=now.identity))
    counter.write_new(connection.info["counter"], now, path)
    _journal(connection, path, "wal")


_REASONS = {
    "locked": f"another process has held it for {_WAIT_SECONDS:g} seconds; try again",
    "readonly": "it is read-only; make the file and its folder writable",
    "full": "the disk is full; make room",
    "malformed": "it is damaged; restore the newest backup, with its -count",
    "decode": "it is damaged; restore the newest backup, with its -count",
    "not a database": "it is not a database; choose another file",
    "unable to open": "it cannot be opened; does its folder exist and may you write there?",
    "no such table": "its tables are missing; restore a backup",
    "disk i/o": "the disk failed",
}


@contextmanager
def _clear_errors(path: str) -> Iterator[None]:
    try:
        yield
    except (DamageError, UnicodeDecodeError) as error:  # a damaged schema can be in SQLite's own words about it
        what = error if isinstance(error, DamageError) else "its schema cannot be read"
        why = f"it is damaged ({what}); restore the newest backup, with its -count"
        raise LedgerError(f"the ledger {path} refused, nothing was released: {why}") from None
    except (sa.exc.SQLAlchemyError, sqlite3.Error) as error:
        text = str(getattr(error, "orig", error)).lower()
        reason = next((why for key, why in _REASONS.items() if key in text), text)
        raise LedgerError(f"the ledger {path} refused, nothing was released: {reason}") from None
