"""Which store an address leads to."""

from __future__ import annotations

import os
from functools import lru_cache

from sfumato.accounting.sqlite import FileStore
from sfumato.accounting.store import Store
from sfumato.errors import ParameterError
from sfumato.extras import need_version

_SCHEMES = ("postgresql+psycopg", "postgresql")


def is_url(address: str) -> bool:
    """Whether an address is a database's and not a file's."""
    return "://" in address


def store_of(address: str) -> Store:
    """The store at an address; a path leads to a file."""
    if not is_url(address):
        return FileStore(address)
    scheme = address.partition("://")[0]
    if scheme not in _SCHEMES:
        raise ParameterError(
            "path must be a file or start with 'postgresql+psycopg://': a ledger is kept there and nowhere else, got "
            f"path={scheme + '://...'!r}"
        )
    need_version("psycopg", "postgres", (3, 1))
    return _server(address)


@lru_cache(maxsize=64)
def _server(address: str) -> Store:
    """A store on a server: an address that is read once, and no state."""
    from sfumato.accounting.postgres import ServerStore

    return ServerStore(address)


def settled(path: str | os.PathLike[str]) -> str:
    """An address that is the same from every folder; refuses what cannot last."""
    name = os.fsdecode(path)
    if not name or name == ":memory:" or "\0" in name:
        raise ParameterError(f"path must be a file, because a ledger must last, got path={path!r}")
    return name if is_url(name) else os.path.abspath(name)
