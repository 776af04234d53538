"""What an owner does to an account, recorded for ever: raising its limit, binding it to data."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Mapping
from contextlib import suppress
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
from sfumato.values import asked, column, confined, is_array, is_mapping, is_row, parts_of

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
        plain = np.ascontiguousarray(data)
        if data.size:  # of moments numpy lends no bytes
            found.update((plain.view(np.int64) if plain.dtype.kind in "mM" else plain).data)
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
    table = _as_arrow(data)
    whole = None if table is None else _in_one_piece(table)
    if whole is None:
        _add_values(found, _columns_of(data if table is None else table))
        return
    table = whole.select(sorted(whole.column_names)).replace_schema_metadata(None)
    with pa.ipc.new_stream(pa.PythonFile(_Hashing(found), mode="w"), table.schema) as writer:
        writer.write_table(table)


def _as_arrow(data: Any) -> Any:
    """The same as a table of Arrow's; None where it is none, or holds objects for which Arrow finds no type."""
    with confined():  # whether it does depends on values
        return pa.table(data)
    return None


def _in_one_piece(table: Any) -> Any:
    """The same however it was cut; None where Arrow cannot put its pieces together, which depends on values.

    So it is of dictionaries with more entries than their places can tell apart, or with a gap among them.
    """
    with suppress(pa.ArrowException):
        return table.combine_chunks()
    return None


def _columns_of(data: Any) -> Mapping[str, Any]:
    """The columns of what is a table, or an array of objects, by its type."""
    if isinstance(data, np.ndarray):
        return {json.dumps(["array", data.shape]): data.reshape(-1)}
    if is_mapping(data) and all(is_row(values) or is_array(values) for values in data.values()):
        return {str(name): values for name, values in data.items()}
    parts = parts_of(data)
    if parts is None:
        raise ParameterTypeError(
            f"data must be a file's path, an array or a table to be bound to, got {type(data).__name__}"
        )
    names = data.column_names if hasattr(type(data), "column_names") else data.columns
    return dict(zip(map(str, names), parts, strict=True))


def _add_values(found: Any, columns: Mapping[str, Any]) -> None:
    """Each value by itself, as what it says of itself."""
    for name in sorted(columns):
        values = column(columns[name]).tolist()
        found.update(json.dumps([name, len(values)]).encode())
        for value in values:
            said = _said(value)
            found.update(len(said).to_bytes(8, "little") + said)


def _said(value: Any) -> bytes:
    with asked(value):
        kind: Any = type(value)
        told = "" if kind.__repr__ is object.__repr__ else repr(value)  # where in memory it is says nothing of it
        return f"{kind.__qualname__} {told}".encode("utf-8", "surrogatepass")
    return b""
