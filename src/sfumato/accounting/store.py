"""Where a ledger is kept: a file of SQLite's, or a database of PostgreSQL's. What both do is this interface.

One connection a process and ledger, used under one lock. Connections must not cross a fork: a child that inherits one
shares locks that it does not hold. So none is open while forking.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, suppress
from typing import Any

import sqlalchemy as sa

from sfumato.accounting.schema import Ahead

WAIT_SECONDS = 20.0

lock = threading.RLock()
connections: dict[str, sa.Connection] = {}


class Store(ABC):
    """Transactions on one ledger, and what is checked around them.

    Parameters
    ----------
    address
        A file's absolute path, or the URL of a database.
    """

    def __init__(self, address: str) -> None:
        self.address = address

    @property
    @abstractmethod
    def words(self) -> str:
        """The address as errors may show it."""

    @abstractmethod
    def exists(self) -> bool:
        """Whether there is a ledger; nothing is made."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[sa.Connection]:
        """A transaction that sees one state of the ledger."""

    @abstractmethod
    def writing(self, ahead: Ahead = ()) -> AbstractContextManager[sa.Connection]:
        """A transaction that holds the ledger alone; it is on disk when the block is left, or did not happen."""

    @abstractmethod
    def adopt(self) -> None:
        """Take a copy as a ledger of its own."""

    @abstractmethod
    def forget(self) -> None:
        """Let go of a connection that leads nowhere any more, so that the address can be opened anew."""

    def close(self) -> None:
        """Close this process's connection; the next use opens a new one, and checks everything."""
        with lock:
            known = connections.pop(self.address, None)
            if known is not None:
                let_go(known)


def remembered(address: str) -> dict[str, Any]:
    """The accounts of a ledger that this process's connection has read, by name: their rows never change."""
    with lock:
        known = connections.get(address)
        if known is None or known.closed or known.invalidated:
            return {}
        found: dict[str, Any] = known.info.setdefault("accounts", {})
        return found


def let_go(connection: sa.Connection) -> None:
    """Close a connection, also one whose other side is gone."""
    with suppress(sa.exc.SQLAlchemyError):  # which first says good-bye
        connection.close()


def close_all() -> None:
    """Close every connection of this process; the next use opens a new one."""
    with lock:
        while connections:
            let_go(connections.popitem()[1])


def _before_fork() -> None:
    lock.acquire()
    close_all()


def _after_fork_in_child() -> None:
    global lock
    lock = threading.RLock()  # the old one may belong to a thread that does not exist here


os.register_at_fork(before=_before_fork, after_in_parent=lambda: lock.release(), after_in_child=_after_fork_in_child)
