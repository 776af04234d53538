"""A ledger in PostgreSQL: for teams whose curators work on several machines.

Who charges locks the chain's row, in READ COMMITTED, and reads in later statements: each of these sees what the one
before it in the queue has committed. (A lock and a read in one statement see what was there when they began to wait;
REPEATABLE READ sees what was there at the first statement; both overspend, docs/proofs/accounting.md.) The lock is
the ledger's: its facts are one chain. ``synchronous_commit`` is on for every charge, whatever the server's default.

What the counter is to a file, the *anchor* is to a server: which cluster, timeline and database the ledger was made
in. A dump that was restored elsewhere, a recovery to an earlier moment and a standby that was promoted have another.
What a process has seen, it remembers; ``?counter=PATH`` in the address keeps that in a file of the client's.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any
from uuid import uuid4

import psycopg
import sqlalchemy as sa
from psycopg.pq import TransactionStatus

from sfumato.accounting import counter, seal, store
from sfumato.accounting.migrations import MIGRATIONS, anchors, make, versions
from sfumato.accounting.schema import VERSION, Ahead, Rows, chain
from sfumato.accounting.seal import DamageError, State
from sfumato.errors import LedgerError, ParameterError

SCHEMA = "sfumato"
_OLDEST = 120000  # the first server whose recovery and settings are what is asked for here
_LOCK = """SELECT identity, count, head, current_setting('synchronous_commit'), current_setting('fsync')
    FROM chain WHERE id = 1 FOR UPDATE"""
_WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE"
_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
_MAKING = "SELECT pg_advisory_xact_lock(1599107696)"  # for tables that are not there yet
_ANCHOR = """SELECT (SELECT system_identifier FROM pg_control_system()) || '/'
    || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) || '/'
    || (SELECT oid FROM pg_database WHERE datname = current_database())"""
_MANY = 1000  # statements in one message
_SECRET = ("password", "sslpassword")
_ADOPT = (
    "nothing was released. Charges after the copy was made are not in it: bring the newest back, or count what is "
    "missing as spent, and let its owner make it a ledger of its own with 'sfumato ledger adopt'"
)

# The newest state of each ledger that this process has seen: what is found later must go on from there.
_seen: dict[str, State] = {}


class ServerStore(store.Store):
    """A ledger in a database of a PostgreSQL server."""

    @cached_property
    def _url(self) -> sa.URL:
        try:
            return sa.make_url(self.address).set(drivername="postgresql+psycopg")
        except (sa.exc.ArgumentError, ValueError):
            raise ParameterError(
                "path must be like 'postgresql+psycopg://user@host:5432/database'; what was given cannot be read, and "
                "is not repeated here because of its password"
            ) from None

    @property
    def words(self) -> str:
        hidden = {key: "***" if key in _SECRET else value for key, value in self._url.query.items()}
        return self._url.set(query=hidden).render_as_string(hide_password=True)

    @property
    def _counter(self) -> str | None:
        found = self._url.query.get("counter")
        return os.path.abspath(found) if isinstance(found, str) and found else None

    def exists(self) -> bool:
        with store.lock, self._clear_errors():
            connection = self._connected()
            try:
                return _made(connection)
            finally:
                store.let_go(connection)

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A transaction that sees one state of the ledger."""
        with store.lock, self._clear_errors():
            connection = self._begun(_READ)
            with _ending(connection):
                yield connection
                _commit(connection)

    @contextmanager
    def writing(self, ahead: Ahead = ()) -> Iterator[sa.Connection]:
        """A transaction that holds the ledger alone; it is on disk when the block is left, or did not happen."""
        with ExitStack() as stack:
            stack.enter_context(store.lock)
            stack.enter_context(self._clear_errors())
            held = None if self._counter is None else stack.enter_context(self._holding(self._counter))
            connection = self._begun(_WRITE, ahead)
            with _ending(connection):
                self._agree(connection.info["state"], None if held is None else held.seen)
                yield connection
                _commit(connection)
            _seen[self.address] = connection.info["state"]
            if held is not None:
                held.advance(connection.info["state"])

    def adopt(self) -> None:
        with store.lock, self._clear_errors():
            self.close()
            _seen.pop(self.address, None)
            store.connections[self.address] = self._open(adopting=True)

    def forget(self) -> None:
        with store.lock:
            known = store.connections.get(self.address)
            if known is not None and not _ready(known):
                self.close()

    def _begun(self, begin: str, ahead: Ahead = ()) -> sa.Connection:
        """A transaction that has begun, with the ledger's lock if it is for writing.

        A connection that broke while nobody used it is noticed here, before anything has happened: it is opened anew,
        once.
        """
        known = store.connections.get(self.address)
        if known is not None and not _ready(known):
            self.close()
            known = None
        if known is not None:
            try:
                return _begin(known, begin, ahead)
            except psycopg.OperationalError:
                if _ready(known, within=True):
                    raise
                self.close()
        known = store.connections[self.address] = self._open()
        return _begin(known, begin, ahead)

    def _connected(self) -> sa.Connection:
        """A new connection with settings of ours, to a server that keeps what it has acknowledged."""
        kept = {key: value for key, value in self._url.query.items() if key != "counter"}
        ours = {"connect_timeout": 10, "application_name": "sfumato"}
        engine = sa.create_engine(
            self._url.set(query=kept),
            connect_args={key: value for key, value in ours.items() if key not in kept},
            isolation_level="AUTOCOMMIT",  # SQLAlchemy leaves BEGIN and COMMIT to us
            poolclass=sa.pool.NullPool,
        )
        connection = engine.connect()
        try:
            milliseconds = int(1000 * store.WAIT_SECONDS)
            for setting in (
                f"search_path TO {SCHEMA}, pg_temp",
                "synchronous_commit TO on",
                f"lock_timeout TO {milliseconds}",
                # Whoever stopped in the middle of a charge lets the others go on; and has not charged.
                f"idle_in_transaction_session_timeout TO {3 * milliseconds}",
            ):
                connection.exec_driver_sql(f"SET {setting}")
            _check_server(connection, self.words)
        except BaseException:
            store.let_go(connection)
            raise
        return connection

    def _open(self, adopting: bool = False) -> sa.Connection:
        connection = self._connected()
        try:
            if not _made(connection):
                _in_order(connection, self.words)
            _migrate(connection, self.words)
            if adopting:
                _take(connection)
                if self._counter is not None:  # that of another does not fit
                    with suppress(FileNotFoundError):
                        os.unlink(self._counter)
            self._check(connection)
        except BaseException:
            store.let_go(connection)
            raise
        return connection

    def _check(self, connection: sa.Connection) -> None:
        """Refuse a ledger that is damaged, is a copy, or has lost what this process or its counter has seen."""
        beside = self._counter
        seen = None if beside is None else counter.read(beside)  # first: what is read later may be ahead of it
        _begin(connection, _READ)
        with _ending(connection):
            there = connection.execute(sa.select(anchors.c.anchor).order_by(anchors.c.id.desc()).limit(1)).scalar()
            heads, now = seal.verify(connection), seal.state(connection)
            here = connection.exec_driver_sql(_ANCHOR).scalar_one()
            _commit(connection)
        if there != here:
            raise LedgerError(
                f"{self.words} is a copy, was restored, or a standby has taken over (it is in {here}, and was made in "
                f"{there}); {_ADOPT}"
            )
        for old in (_seen.get(self.address), seen):
            self._agree(now, old)
            if old is not None and heads[old.count] != old.head:
                raise LedgerError(f"{self.words} is not the ledger that was seen before; {_ADOPT}")
        if beside is not None and seen is None:
            counter.write_new(beside, now, None)
        _seen[self.address] = now

    def _agree(self, now: State, counted: State | None) -> None:
        """Refuse a ledger that has lost what was seen of it."""
        for old in (_seen.get(self.address), counted):
            if old is not None and (old.identity != now.identity or old.count > now.count):
                raise LedgerError(
                    f"{self.words} has {now.count} rows, and {old.count} were seen: some are lost; {_ADOPT}"
                )

    @contextmanager
    def _holding(self, beside: str) -> Iterator[counter.Held]:
        if not os.path.exists(beside):
            self.close()  # the next opening makes it
            store.connections[self.address] = self._open()
        with counter.holding(beside, store.WAIT_SECONDS) as held:
            yield held

    @contextmanager
    def _clear_errors(self) -> Iterator[None]:
        try:
            yield
        except DamageError as error:
            raise LedgerError(
                f"the ledger {self.words} refused, nothing was released: it is damaged ({error}); restore the newest "
                "backup"
            ) from None
        except _UncertainError:
            raise LedgerError(
                f"the ledger {self.words}: the server was gone while a charge was being written; nothing was released. "
                "If the charge is on record, it counts. It is safe to try again"
            ) from None
        except (sa.exc.SQLAlchemyError, psycopg.Error) as error:
            raise LedgerError(f"the ledger {self.words} refused, nothing was released: {self._reason(error)}") from None

    def _reason(self, error: Exception) -> str:
        cause = getattr(error, "orig", None) or error
        for kind, why in _REASONS.items():
            if isinstance(cause, kind):
                return why
        lines = str(cause).strip().splitlines()
        said = lines[0] if lines else type(cause).__name__
        for secret in (self._url.password, *(self._url.query.get(key) for key in _SECRET)):
            said = said.replace(secret, "***") if isinstance(secret, str) and secret else said
        gone = isinstance(cause, psycopg.OperationalError)
        return f"{said}; the server cannot be reached or is gone, and it is safe to try again" if gone else said


_REASONS: dict[type[Exception], str] = {
    psycopg.errors.LockNotAvailable: f"another process has held it for {store.WAIT_SECONDS:g} seconds; try again",
    psycopg.errors.InsufficientPrivilege: "this role may not do that; ask the ledger's owner (docs/deployment.md)",
    psycopg.errors.ReadOnlySqlTransaction: "the server only reads; give the address of the primary",
    psycopg.errors.DiskFull: "the server's disk is full; make room",
    psycopg.errors.IntegrityConstraintViolation: "rows are only ever appended, each after the newest; try again",
    psycopg.errors.IntegrityError: "another process was faster; try again",
}


class Waiting(list[str]):
    """Statements that are sent together with the commit, or when they are many."""

    def __init__(self, driver: Any) -> None:
        super().__init__()
        self._driver, self._binding, self.written = driver, psycopg.ClientCursor(driver), False

    def add(self, text: str, parameters: dict[str, Any]) -> None:
        """Keep a statement for later."""
        self.written = True
        self.append(self._binding.mogrify(text, parameters))
        if len(self) >= _MANY:
            self._driver.execute("; ".join(self))
            self.clear()


class _UncertainError(Exception):
    """The connection broke while a commit was under way: it may or may not have happened."""


def _driver(connection: sa.Connection) -> Any:
    return connection.connection.driver_connection


def _ready(connection: sa.Connection, within: bool = False) -> bool:
    """Whether a connection can be used: open, and not left in a transaction by an interrupt, or ``within`` one."""
    if connection.closed or connection.invalidated:
        return False
    driver = _driver(connection)
    return not driver.closed and (within or driver.info.transaction_status == TransactionStatus.IDLE)


def _begin(connection: sa.Connection, begin: str, ahead: Ahead = ()) -> sa.Connection:
    """Begin, lock in the statement after it, and read in those after that: in one round trip."""
    driver, info = _driver(connection), connection.info
    info["waiting"], info["known"] = Waiting(driver), None
    if begin == _READ:
        driver.execute(begin)
        return connection
    info["known"] = {}
    reads = [sql.postgresql % {name: int(number) for name, number in names.items()} for sql, names in ahead]
    # Each statement has a snapshot of its own: those after the lock see what was committed before it was given.
    locked = driver.execute("; ".join([begin, _LOCK, *reads]))
    locked.nextset()
    found = locked.fetchall()
    for sql, names in ahead:
        locked.nextset()
        info["known"][(sql, *names.values())] = Rows(locked.fetchall())
    if len(found) != 1 or [type(part) for part in found[0][:3]] != [str, int, str]:
        with suppress(psycopg.Error):
            driver.execute("ROLLBACK")
        raise DamageError("its count is missing")
    if found[0][3:] != ("on", "on"):  # a pool gave the connection to somebody else, or the server was reconfigured
        with suppress(psycopg.Error):
            driver.execute("ROLLBACK")
        raise LedgerError(
            "nothing was released: the connection has lost its setting synchronous_commit=on, or the server its "
            "fsync=on; connect to the server itself, or pool whole sessions"
        )
    info["state"] = State(*found[0][:3])
    return connection


def _commit(connection: sa.Connection) -> None:
    """Send what waits, and the commit, in one round trip; on disk when this returns."""
    driver, waiting = _driver(connection), connection.info["waiting"]
    try:
        last = driver.execute("; ".join([*waiting, "COMMIT"]))
    except psycopg.OperationalError:
        if driver.closed and waiting.written:
            raise _UncertainError from None
        raise
    while last.nextset():
        pass
    if last.statusmessage != "COMMIT":  # the server answers a failed transaction with ROLLBACK, and no error
        raise LedgerError("the server has not committed; nothing was released, and it is safe to try again")


@contextmanager
def _ending(connection: sa.Connection) -> Iterator[None]:
    """Roll back whatever a block leaves undone; a connection on which that fails is not used again."""
    driver = _driver(connection)
    try:
        yield
    except BaseException:
        try:
            driver.execute("ROLLBACK")
        except psycopg.Error:
            driver.close()
        raise


def _check_server(connection: sa.Connection, words: str) -> None:
    """Refuse servers that may lose what they have acknowledged."""
    version = int(connection.exec_driver_sql("SHOW server_version_num").scalar_one())
    if version < _OLDEST:
        raise LedgerError(f"{words}: PostgreSQL {version // 10000}, a ledger needs {_OLDEST // 10000} or later")
    if connection.exec_driver_sql("SELECT pg_is_in_recovery()").scalar_one():
        raise LedgerError(f"{words} is a replica or is being recovered; give the address of the primary")
    if connection.exec_driver_sql("SHOW fsync").scalar_one() != "on":
        raise LedgerError(f"{words} runs with fsync=off: a power cut would give budget back; switch fsync on")


def _made(connection: sa.Connection) -> bool:
    return bool(connection.exec_driver_sql(f"SELECT to_regclass('{SCHEMA}.chain') IS NOT NULL").scalar_one())


def _in_order(connection: sa.Connection, words: str) -> None:
    """Make schema and tables, one process after the other; the second finds them there."""
    connection.exec_driver_sql(_WRITE)
    with _ending(connection):
        connection.exec_driver_sql(_MAKING)
        if not _made(connection):
            if connection.exec_driver_sql(f"SELECT to_regnamespace('{SCHEMA}') IS NOT NULL").scalar_one():
                tables = sa.text("SELECT count(*) FROM pg_tables WHERE schemaname = :schema")
                if connection.execute(tables, {"schema": SCHEMA}).scalar_one():
                    raise LedgerError(f"{words}: its schema {SCHEMA!r} is not a ledger; choose another database")
            else:
                connection.exec_driver_sql(f"CREATE SCHEMA {SCHEMA}")
            make(connection)
            seal.start(connection, uuid4().hex)
            _anchor(connection)
        connection.exec_driver_sql("COMMIT")


def _anchor(connection: sa.Connection) -> None:
    number = connection.execute(sa.select(sa.func.coalesce(sa.func.max(anchors.c.id), 0))).scalar_one()
    here = connection.exec_driver_sql(_ANCHOR).scalar_one()
    connection.execute(sa.insert(anchors), {"id": number + 1, "anchor": here, "created": _now()})


def _migrate(connection: sa.Connection, words: str) -> None:
    """Bring tables to today's version; refuse those of a newer sfumato."""

    def found() -> int:
        version: int = connection.execute(sa.select(sa.func.max(versions.c.version))).scalar_one() or 0
        if not version <= VERSION or any(old not in MIGRATIONS for old in range(version, VERSION)):
            raise LedgerError(
                f"{words}: ledger version {version}, this sfumato knows version {VERSION}; upgrade sfumato"
            )
        return version

    if found() == VERSION:
        return
    connection.exec_driver_sql(_WRITE)
    with _ending(connection):
        connection.exec_driver_sql(_MAKING)
        connection.exec_driver_sql(_LOCK)
        for old in range(found(), VERSION):
            MIGRATIONS[old](connection)
            connection.execute(sa.insert(versions), {"version": old + 1, "created": _now()})
        connection.exec_driver_sql("COMMIT")


def _take(connection: sa.Connection) -> None:
    """Make a copy a ledger of its own: another identity, and the anchor of where it is. Refuse one that is damaged."""
    connection.exec_driver_sql(_WRITE)
    with _ending(connection):
        connection.exec_driver_sql(_LOCK)
        seal.verify(connection)
        now = replace(seal.state(connection), identity=uuid4().hex)
        connection.execute(sa.update(chain).values(identity=now.identity))
        _anchor(connection)
        connection.exec_driver_sql("COMMIT")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
