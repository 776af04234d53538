"""What an owner does to an account, recorded for ever: raising its limit, binding it to data."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import sqlalchemy as sa

from sfumato.accounting.balance import limit_words
from sfumato.accounting.schema import BOOK_SIZE, accounts, acts
from sfumato.accounting.seal import append, checked
from sfumato.core.privacy import Privacy
from sfumato.errors import LedgerError, ParameterError, ParameterTypeError

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
    """A salted hash of a file's bytes, or of a table's columns, types and values in their order."""
    found = hmac.new(bytes.fromhex(salt), digestmod=hashlib.sha256)
    if isinstance(data, (str, os.PathLike)):
        _add_file(found, data)
    elif isinstance(data, np.ndarray) and data.dtype != object:
        found.update(json.dumps(["array", data.dtype.str, data.shape]).encode())
        found.update(np.ascontiguousarray(data).data if data.size else b"")
    else:
        _add_table(found, data)
    return found.hexdigest()


def _add_file(found: Any, path: str | os.PathLike[str]) -> None:
    found.update(b"file")
    try:
        with open(path, "rb") as file:
            while chunk := file.read(_CHUNK):
                found.update(chunk)
    except OSError as error:
        raise ParameterError(f"data: {os.fspath(path)} cannot be read ({error.strerror})") from None


class _Hashing:
    """A file that keeps nothing but a hash of what is written."""

    closed = False

    def __init__(self, found: Any) -> None:
        self._found = found

    def write(self, chunk: Any) -> int:
        self._found.update(chunk)
        return len(chunk)

    def flush(self) -> None:
        """Nothing waits."""


def _add_table(found: Any, data: Any) -> None:
    found.update(b"table")
    try:
        table = pa.table(data)
    except Exception:
        raise ParameterTypeError(
            f"data must be a file's path, an array or a table to be bound to, got {type(data).__name__}"
        ) from None
    table = table.select(sorted(table.column_names)).replace_schema_metadata(None).combine_chunks()
    with pa.ipc.new_stream(pa.PythonFile(_Hashing(found), mode="w"), table.schema) as writer:
        writer.write_table(table)
