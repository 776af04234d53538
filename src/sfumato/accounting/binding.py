"""What an owner does to an account, recorded for ever: raising its limit, binding it to data."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from contextlib import suppress
from typing import Any
from uuid import uuid4

import sqlalchemy as sa

from sfumato.accounting.balance import limit_words
from sfumato.accounting.schema import BOOK_SIZE, accounts, acts
from sfumato.accounting.seal import append, checked
from sfumato.core.privacy import Privacy
from sfumato.engines.contents import Contents, contents
from sfumato.engines.engine import HasContents, engine_for
from sfumato.errors import LedgerError, MissingFileError, ParameterError, SchemaError

_CHUNK = 1 << 20
_LEDGER = 0  # the number of no account: acts on the ledger itself


def append_act(connection: sa.Connection, account: int, kind: str, body: str, when: str) -> None:
    """Record an act on an account."""
    start = account * BOOK_SIZE
    mine = acts.c.id.between(start, start + BOOK_SIZE - 1)
    newest = connection.execute(sa.select(sa.func.max(acts.c.id)).where(mine)).scalar_one() or start
    values = {"id": newest + 1, "account": account, "kind": kind, "body": body, "created": when}
    append(connection, "acts", values)


def check_raised(name: str, old: Privacy, new: Privacy) -> None:
    """Refuse a limit that is not above the old one, in the same relation and unit."""
    same = (old.neighbours, old.unit, old.epsilon is None) == (new.neighbours, new.unit, new.epsilon is None)
    pairs = ((old.epsilon, new.epsilon), (old.rho, new.rho), (old.delta, new.delta))
    gamma = new.gamma is None or (old.gamma is not None and new.gamma >= old.gamma)
    if not same or not gamma or any((a or 0.0) > (b or 0.0) for a, b in pairs) or new == old:
        raise ParameterError(
            f"account {name!r} has {limit_words(old)}; a limit is only ever raised, in the same relation and unit, got "
            f"{limit_words(new)}"
        )


def salt_of(connection: sa.Connection) -> str | None:
    """The ledger's salt for fingerprints; None before it has one."""
    row = connection.execute(sa.select(acts).where(acts.c.id == _LEDGER + 1)).mappings().one_or_none()
    if row is None:
        return None
    checked("acts", row)
    return str(row["body"])


def append_salt(connection: sa.Connection, when: str) -> str:
    """Give the ledger a salt."""
    salt = uuid4().hex + uuid4().hex
    append_act(connection, _LEDGER, "salt", salt, when)
    return salt


def refuse_twice(connection: sa.Connection, account: int, mark: str) -> bool:
    """Refuse data that another account is bound to; whether this account is bound to them already."""
    same = (acts.c.kind == "data") & (acts.c.body == mark)
    for row in connection.execute(sa.select(acts).where(same)).mappings():
        checked("acts", row)
        if row["account"] != account:
            named = sa.select(accounts.c.name).where(accounts.c.id == row["account"])
            other = connection.execute(named).scalar_one()
            raise LedgerError(
                f"account {other!r} is bound to the same data: one data set has one account, or its budget counts twice"
            )
        return True
    return False


def fingerprint(data: Any, salt: str) -> str:
    """A salted hash of what a table holds, wherever it is kept; of a file that is no table, of its bytes."""
    key = bytes.fromhex(salt)
    engine = engine_for("auto", data)
    with suppress(_NoTableError):
        known = engine.contents(data, key) if isinstance(engine, HasContents) else _contents(data, key)
        said = json.dumps(["table", known.names, known.rows, known.sums])
        return hmac.new(key, said.encode(), hashlib.sha256).hexdigest()
    found = hmac.new(key, b"file", hashlib.sha256)
    _add_file(found, data)
    return found.hexdigest()


class _NoTableError(Exception):
    """A file is of no kind that is read as a table."""


def _contents(data: Any, salt: bytes) -> Contents:
    try:
        return contents(data, salt)
    except MissingFileError:
        raise ParameterError(f"data: {data} cannot be read: there is no such file") from None
    except SchemaError:
        if isinstance(data, str | os.PathLike) and os.path.isfile(data):
            raise _NoTableError from None
        raise


def _add_file(found: Any, path: str | os.PathLike[str]) -> None:
    try:
        with open(path, "rb") as file:
            while chunk := file.read(_CHUNK):
                found.update(chunk)
    except OSError as error:
        raise ParameterError(f"data: {os.fspath(path)} cannot be read ({error.strerror})") from None
