"""Evidence: what is verified, what lines of an export say, and that no edit of them passes."""

from __future__ import annotations

import contextlib
import json
import os
import random
import sqlite3

import pytest

import sfumato as sf
from servers.edits import edited, found_by
from sfumato.accounting.evidence import exported, read_export
from sfumato.accounting.seal import sealed
from sfumato.accounting.store import close_all
from sfumato.errors import LedgerError, MissingFileError
from unit.accounting.support import as_version_two, event

LIMIT = sf.Privacy(epsilon=9.0, delta=1e-6)


@pytest.fixture
def ledger(tmp_path):
    made = sf.Ledger(tmp_path / "budget.db")
    account = made.account("clinic", limit=LIMIT, accountant="best")
    shop = made.account("shop", limit=LIMIT)
    for k in range(4):
        with account.spend(event(0.5, confidence=0.99 if k % 2 else 1.0)):
            pass
        shop.charge(event(0.25))
    shop.raise_limit(sf.Privacy(epsilon=10.0, delta=1e-6), "the board agreed")
    return made


def edits(ledger, count, seed):
    payload = exported(ledger._store)
    head, _ = read_export(payload)
    rng = random.Random(seed)
    return [found_by(edited(payload, rng), head) for _ in range(count)]


def test_edits_are_found(ledger):
    found = edits(ledger, 400, 1)
    assert None not in found
    assert found.count("witness") > 5  # all hashes made to fit: only a head that somebody has kept tells
    assert found.count("lines") > 300


@pytest.mark.slow
def test_ten_thousand_edits_are_found(ledger):
    found = edits(ledger, 10_000, 2)
    assert None not in found
    assert found.count("lines") > 8_000
    assert found.count("witness") > 200  # rewritten down to the head: there is no secret in an export


def test_an_export_says_nothing_that_its_chain_does_not_cover(ledger):
    """No edit that leaves the chain as it was is one: there is nothing else in the lines but counts and one hash."""
    from sfumato.accounting.seal import FACTS_OF

    first, *middle, _ = map(json.loads, exported(ledger._store).splitlines())
    assert set(first) == {"sfumato-ledger", "count", "head"}
    assert all(set(one) == {"table", *FACTS_OF[one["table"]]} for one in middle)


def test_what_an_export_looks_like(ledger, tmp_path):
    ledger.export(tmp_path / "lines.jsonl")
    assert os.stat(tmp_path / "lines.jsonl").st_mode & 0o777 == 0o600
    first, *middle, last = map(json.loads, (tmp_path / "lines.jsonl").read_text().splitlines())
    assert (first["sfumato-ledger"], first["count"]) == (3, len(middle))
    assert [one["count"] for one in middle] == list(range(1, len(middle) + 1))
    assert {one["table"] for one in middle} == {"accounts", "entries", "publications", "acts"}
    assert last["lines"] == len(middle) + 1


@pytest.mark.few(1)
@pytest.mark.parametrize("plan", [None, [(sf.Privacy(epsilon=0.25), 6), (sf.Privacy(epsilon=0.5), 6)]])
def test_an_imported_ledger_adds_up_anew_to_the_same(tmp_path, plan):
    """Both books, mixed, a raised limit, and a plan of which both draw."""
    if plan is not None:
        pytest.importorskip("dp_accounting", reason="dp-accounting is not installed")
    made = sf.Ledger(tmp_path / "budget.db")
    account = made.account("clinic", limit=LIMIT, accountant="best", plan=plan)
    for k in range(8):
        account.charge(event(0.5 if k % 3 else 0.25, confidence=0.99 if k in (1, 4, 5) else 1.0))
        if k == 5 and plan is None:
            account.raise_limit(sf.Privacy(epsilon=10.0, delta=1e-6), "the board agreed")
    made.verify()
    made.export(tmp_path / "lines.jsonl")
    again = sf.Ledger.from_export(tmp_path / "lines.jsonl", tmp_path / "again.db")
    assert sums_in(tmp_path / "again.db") == sums_in(tmp_path / "budget.db")
    again.verify()
    account.recount()
    assert sums_in(tmp_path / "again.db") == sums_in(tmp_path / "budget.db")


def sums_in(path):
    close_all()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT id, sums_json, status FROM entries ORDER BY id").fetchall()


@pytest.mark.parametrize("new", ["5e399", "2e400", "1000000001e391"])
def test_sums_that_events_do_not_add_up_to_are_found(ledger, new):
    """Sums are no facts, and whoever writes the file can seal them anew: events add up to something else."""
    close_all()
    with contextlib.closing(sqlite3.connect(ledger.path, isolation_level=None)) as file:
        file.row_factory = sqlite3.Row
        found = file.execute("SELECT * FROM entries WHERE sums_json LIKE '%\"1e400\"%' ORDER BY id DESC").fetchone()
        newest = dict(found, sums_json=found["sums_json"].replace("1e400", new))
        values = newest["sums_json"], sealed("entries", newest)[1], newest["id"]
        file.execute("UPDATE entries SET sums_json = ?, seal = ? WHERE id = ?", values)
    again = sf.Ledger(ledger.path)
    with pytest.raises(LedgerError, match="the sums of account 'shop' are not what its entries add up to"):
        again.verify()
    again.account("shop").recount()
    again.verify()


def test_what_cannot_be_imported(ledger, tmp_path):
    new = tmp_path / "new.db"
    with pytest.raises(MissingFileError, match="cannot be read"):
        sf.Ledger.from_export(tmp_path / "none.jsonl", new)
    for text in (b"", b"{}\n", b"[]\n[]\n", b"\xff\xfe\n\n", b"[" * 100_000 + b"\n{}\n"):
        (tmp_path / "bad.jsonl").write_bytes(text)
        with pytest.raises(LedgerError, match="not an export of a ledger as it was written"):
            sf.Ledger.from_export(tmp_path / "bad.jsonl", new)
    assert sf.Ledger(new).accounts() == []


def test_an_entry_whose_publication_was_lost_is_told(ledger, tmp_path):
    found = ledger.verify()
    assert (found.entries, found.published, found.accounts) == (8, 4, 2)


def test_ledgers_of_version_two_go_on(tmp_path):
    path = str(tmp_path / "old.db")
    account = sf.Ledger(path).account("clinic", limit=LIMIT)
    account.charge(event())
    account.charge(event(0.5))
    as_version_two(path)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.execute("UPDATE entries SET status = 'published' WHERE id % 2 = 1")  # as published entries were
    again = sf.Ledger(path)
    assert again.account("clinic").remaining().epsilon == 7.5
    assert [entry.status for entry in account.history()] == ["published", "reserved"]
    with account.spend(event()):
        pass
    close_all()
    assert [entry.status for entry in account.history()] == ["published", "reserved", "published"]
    assert again.verify().published == 2
    again.export(tmp_path / "lines.jsonl")
    moved = sf.Ledger.from_export(tmp_path / "lines.jsonl", tmp_path / "new.db")
    assert moved.account("clinic").history() == account.history()
