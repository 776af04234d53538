"""Every row of a ledger is sealed by a hash, and all of them hang on one chain: damage and loss are noticed.

An account, an entry, a publication or an act is a *fact*: numbered by a count that only grows, and linked to all
facts before it, ``head = H(head + fact)``. The newest count and head are in the database and, once more, in the
counter beside it (``counter.py``). The sums of an entry are no fact (a recount may change them): the row's seal covers
both.

This is against accidents: bits that flip, files that are lost or older than they should be. Whoever can write the
files can compute hashes too.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from sfumato.accounting.schema import FACTS, chain, compiled, later, metadata, on_server, run

START = "0" * 64
_STATUS = ("reserved", "published")
FACTS_OF = {
    "accounts": ("count", "id", "name", "limit_json", "accountant", "created"),
    "entries": ("count", "id", "event_json", "created"),
    "publications": ("count", "id", "release", "created"),
    "acts": ("count", "id", "account", "kind", "body", "created"),
}
_STATE = compiled(sa.select(chain.c.identity, chain.c.count, chain.c.head))
_ADVANCE = compiled(
    sa.update(chain)
    .where(chain.c.id == sa.literal_column("1"))
    .values(count=sa.bindparam("new_count"), head=sa.bindparam("new_head"))
)
_ALL = {table.name: compiled(sa.select(table)) for table in FACTS}
_INSERT = {table.name: compiled(sa.insert(table)) for table in FACTS}


class DamageError(Exception):
    """What is wrong with a ledger; ``store`` says in which file, and what to do."""


@dataclass(frozen=True)
class State:
    """Which ledger, how many facts, and the head of their chain."""

    identity: str
    count: int
    head: str


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def state(connection: sa.Connection) -> State:
    """The count and the head as the database has them; ``append`` goes on from there in the same transaction."""
    found = run(connection, _STATE, {}).fetchall()
    if len(found) != 1 or [type(part) for part in found[0]] != [str, int, str]:
        raise DamageError("its count is missing")
    now = connection.info["state"] = State(*found[0])
    return now


def start(connection: sa.Connection, identity: str) -> None:
    """Begin the chain of a ledger in which nothing was written yet; a file has no tables before."""
    if not on_server(connection):
        metadata.create_all(connection)
    connection.execute(sa.insert(chain), {"id": 1, "identity": identity, "count": 0, "head": START})
    state(connection)


def append(connection: sa.Connection, table: str, row: dict[str, Any]) -> str:
    """Write a new fact, sealed, at the end of the chain; returns the chain's new head."""
    before: State = connection.info["state"]
    written = row | {"count": before.count + 1}
    fact, seal = sealed(table, written)
    later(connection, _INSERT[table], written | {"seal": seal})
    after = State(before.identity, before.count + 1, _hash(before.head + fact))
    later(connection, _ADVANCE, {"new_count": after.count, "new_head": after.head})
    connection.info["state"] = after
    return after.head


def sealed(table: str, row: Mapping[Any, Any]) -> tuple[str, str]:
    """The fact and the seal of a row."""
    try:
        fact = _hash(json.dumps([table, *(row[name] for name in FACTS_OF[table])]))
        return fact, _hash(fact + row.get("sums_json", ""))
    except TypeError:  # a text that has become bytes, or nothing
        raise DamageError(f"a row of its {table} is not what was written") from None


def checked(table: str, row: Mapping[Any, Any]) -> str:
    """Refuse a row that is not what was written; returns its fact."""
    fact, seal = sealed(table, row)
    if seal != row["seal"] or row.get("status", _STATUS[0]) not in _STATUS:
        raise DamageError(f"a row of its {table} is not what was written")
    return fact


def heads(facts: Iterable[str]) -> list[str]:
    """The heads of a chain, the one before the first fact included."""
    found = [START]
    for fact in facts:
        found.append(_hash(found[-1] + fact))
    return found


def verify(connection: sa.Connection) -> list[str]:
    """Refuse a database in which any page, row or link is not what was written; returns the heads of its chain."""
    sound(connection)
    facts = []
    for table in FACTS:
        names = [column.name for column in table.c]
        for found in run(connection, _ALL[table.name], {}):  # by the driver: there may be many
            row = dict(zip(names, found, strict=True))
            facts.append((row["count"], checked(table.name, row)))
    facts.sort()
    links, now = heads(fact for _, fact in facts), state(connection)
    if [count for count, _ in facts] != list(range(1, now.count + 1)) or links[-1] != now.head:
        raise DamageError(f"it has {len(facts)} rows, and {now.count} were written, or not these")
    return links


def sound(connection: sa.Connection) -> None:
    """Refuse a file whose pages do not fit together; a server looks after its own."""
    if not on_server(connection) and connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar_one() != "ok":
        raise DamageError("its pages do not fit together")
