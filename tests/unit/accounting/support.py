"""Ledgers in the states that tests need."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3

import sfumato as sf
from sfumato.accounting.events import event_of_grant
from sfumato.accounting.store import close_all

PARTS = ("", "-wal", "-count")


def event(epsilon=1.0, confidence=1.0):
    made = event_of_grant(sf.Privacy(epsilon=epsilon))
    return type(made)(**{**vars(made), "confidence": confidence})


def copied(path, folder):
    """The files of a ledger in another folder, as a backup would have them; the log may be in use."""
    os.makedirs(folder, exist_ok=True)
    for part in PARTS:
        if os.path.exists(f"{path}{part}"):
            shutil.copyfile(f"{path}{part}", os.path.join(folder, os.path.basename(path) + part))
    return os.path.join(folder, os.path.basename(path))


def as_version_two(path):
    """Turn a ledger into what the second version of sfumato wrote: what was published is the status of an entry.

    Only for ledgers without acts, in which nothing was published: these are facts, and the chain has them.
    """
    close_all()
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as old:
        for table in ("publications", "acts"):
            assert not old.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            old.execute(f"DROP TABLE {table}")
        old.execute("PRAGMA user_version=2")


def as_version_one(path):
    """Turn a ledger into what the first version of sfumato wrote: no seals, no chain, no counter."""
    close_all()
    os.unlink(f"{path}-count")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as old:
        old.execute("PRAGMA journal_mode=WAL")
        old.execute("UPDATE entries SET status = 'published' WHERE id IN (SELECT id FROM publications)")
        for table in ("accounts", "entries"):
            for column in ("count", "seal"):
                old.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        for table in ("chain", "publications", "acts"):
            old.execute(f"DROP TABLE {table}")
        old.execute("PRAGMA user_version=1")
