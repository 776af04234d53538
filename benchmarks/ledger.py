"""Durable charges against bare one-row durable transactions, and remaining() on short and long histories."""

from __future__ import annotations

import sqlite3
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import sfumato as sf
from benchmarks.timing import row
from sfumato.accounting.events import event_of_grant

ROUNDS = 400


def bare_connection(path: Path) -> sqlite3.Connection:
    """SQLite with the same durability as the ledger, and nothing else."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE entries (id INTEGER PRIMARY KEY, event_json TEXT, sums_json TEXT)")
    return connection


def bare_charge(connection: sqlite3.Connection, text: str) -> None:
    """One row, on disk when it returns."""
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("INSERT INTO entries (event_json, sums_json) VALUES (?, ?)", (text, text))
    connection.execute("COMMIT")


def run() -> list[dict[str, Any]]:
    """Medians of interleaved rounds, so that both see the same disk."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        folder = Path(name)
        event = event_of_grant(sf.Privacy(epsilon=0.5))
        text = event.to_json()
        account = sf.Ledger(folder / "budget.db").account("bench", limit=sf.Privacy(epsilon=1e9, delta=1e-6))
        bare = bare_connection(folder / "bare.db")
        charges, bares = [], []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            bare_charge(bare, text)
            middle = time.perf_counter()
            account.charge(event)
            charges.append(time.perf_counter() - middle)
            bares.append(middle - start)
        rows = [
            row("durable charges", 1 / statistics.median(charges[20:]), "a second"),
            row("bare one-row durable transactions", 1 / statistics.median(bares[20:]), "a second"),
            row("  ratio", statistics.median(bares[20:]) / statistics.median(charges[20:]), "of the bare rate"),
        ]
        return rows + remaining_rows(folder)


def remaining_rows(folder: Path) -> list[dict[str, Any]]:
    """The cost of remaining() after 100 and after 10,000 entries."""
    event = event_of_grant(sf.Privacy(epsilon=0.5))
    times = {}
    for entries in (100, 10_000):
        account = sf.Ledger(folder / f"{entries}.db").account("bench", limit=sf.Privacy(epsilon=1e9, delta=1e-6))
        for _ in range(entries):
            account.charge(event)
        samples = []
        for _ in range(200):
            start = time.perf_counter()
            account.remaining()
            samples.append(time.perf_counter() - start)
        times[entries] = statistics.median(samples)
    return [
        row("remaining() on 100 entries", times[100] * 1e6, "us"),
        row("remaining() on 10,000 entries", times[10_000] * 1e6, "us"),
        row("  ratio", times[10_000] / times[100], "times the cost"),
    ]
