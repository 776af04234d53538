"""Evidence: what is verified, what lines of an export say, and that no edit of them passes."""

from __future__ import annotations

import json
import os
import random

import pytest

import sfumato as sf
from servers.edits import edited, found_by
from sfumato.accounting.evidence import exported, read_export
from sfumato.accounting.seal import DamageError
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
    state, facts = read_export(payload)
    rng = random.Random(seed)
    return [found_by(edited(payload, rng), state.head, facts) for _ in range(count)]


def test_edits_are_found(ledger):
    found = edits(ledger, 400, 1)
    assert None not in found
    assert found.count("witness") > 5  # all hashes made to fit: only a head that somebody has kept tells
    assert found.count("lines") > 300


@pytest.mark.slow
def test_ten_thousand_edits_are_found(ledger):
    found = edits(ledger, 10_000, 2)
    assert None not in found
    assert found.count("allowed") < 300  # larger sums or another name, all hashes made to fit: no fact is changed


def test_what_an_export_looks_like(ledger, tmp_path):
    ledger.export(tmp_path / "lines.jsonl")
    assert os.stat(tmp_path / "lines.jsonl").st_mode & 0o777 == 0o600
    first, *middle, last = map(json.loads, (tmp_path / "lines.jsonl").read_text().splitlines())
    assert (first["sfumato-ledger"], first["count"]) == (3, len(middle))
    assert [one["count"] for one in middle] == list(range(1, len(middle) + 1))
    assert {one["table"] for one in middle} == {"accounts", "entries", "publications", "acts"}
    assert last["lines"] == len(middle) + 1


def test_sums_below_their_events_are_found(ledger):
    """Even with every hash made to fit: events are kept, and add up to more."""
    from servers.edits import _fitted, line

    lines = exported(ledger._store).splitlines(keepends=True)
    newest = max(k for k, one in enumerate(lines) if b'"table":"entries"' in one)
    data = json.loads(lines[newest])
    data["sums_json"] = data["sums_json"].replace("1e400", "5e399")
    lines[newest] = line(data)
    with pytest.raises(DamageError, match="less than its entries add up to"):
        read_export(_fitted(lines, 3))


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
    as_version_two(path)
    again = sf.Ledger(path)
    assert again.account("clinic").remaining().epsilon == 8.0
    with account.spend(event()):
        pass
    close_all()
    assert [entry.status for entry in account.history()] == ["reserved", "published"]
    again.verify()
