"""A ledger's tables in PostgreSQL: made once, brought to today's version one step after the other."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import sqlalchemy as sa

from sfumato.accounting.schema import FACTS, VERSION, chain, metadata
from sfumato.accounting.seal import FACTS_OF

_own = sa.MetaData()
# Which versions the tables have had; the newest counts.
versions = sa.Table(
    "versions", _own, sa.Column("version", sa.BigInteger, primary_key=True), sa.Column("created", sa.Text)
)
# In which cluster, timeline and database the ledger was made or adopted; the newest counts.
anchors = sa.Table(
    "anchors",
    _own,
    sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("anchor", sa.Text, nullable=False),
    sa.Column("created", sa.Text, nullable=False),
)

# From a version to the next, in a transaction that holds the ledger. PostgreSQL came with version 3.
MIGRATIONS: dict[int, Callable[[sa.Connection], None]] = {}

_REFUSE = """CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'a ledger is only ever appended to' USING ERRCODE = 'integrity_constraint_violation'; END $$"""


def make(connection: sa.Connection) -> None:
    """The tables of today, and triggers by which the server itself refuses edits, its owner's mistakes included.

    Sums are no fact: a recount may change them. The chain advances by one fact at a time, so that two charges that
    follow the same one cannot both be committed, whatever happens to the locks.
    """
    metadata.create_all(connection, checkfirst=False)
    _own.create_all(connection, checkfirst=False)
    connection.exec_driver_sql(_REFUSE)
    for table in (*FACTS, chain, anchors, versions):
        facts = FACTS_OF.get(table.name, ("id", "anchor", "created") if table is anchors else ("version", "created"))
        old, new = (", ".join(f'{which}."{name}"' for name in facts) for which in ("OLD", "NEW"))
        changed = f"ROW({old}) IS DISTINCT FROM ROW({new})"
        if table is chain:
            changed = 'NEW.identity = OLD.identity AND NEW."count" <> OLD."count" + 1'
        for event, row, when in (
            ("DELETE", "ROW", ""),
            ("TRUNCATE", "STATEMENT", ""),
            ("UPDATE", "ROW", f"WHEN ({changed})"),
        ):
            connection.exec_driver_sql(
                f"CREATE TRIGGER no_{event.lower()} BEFORE {event} ON {table.name} FOR EACH {row} {when} "
                "EXECUTE FUNCTION refuse()"
            )
    today = {"version": VERSION, "created": datetime.now(UTC).isoformat(timespec="seconds")}
    connection.execute(sa.insert(versions), today)
