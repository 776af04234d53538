"""Ledgers of version 1 are upgraded where they lie, whole or not at all."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.accounting import sqlite as store
from sfumato.accounting.store import close_all
from sfumato.errors import LedgerError
from unit.accounting.support import as_version_one, event

LIMIT = sf.Privacy(epsilon=3.0, delta=1e-6)


@pytest.fixture
def old(tmp_path):
    """A ledger of version 1 with two accounts, and entries in three books."""
    ledger = sf.Ledger(tmp_path / "budget.db")
    first = ledger.account("clinic", limit=LIMIT)
    second = ledger.account("shop", limit=sf.Privacy(rho=1.0))
    for epsilon in (1.0, 0.5):
        first.charge(event(epsilon))
        second.charge(event(epsilon))
    first.charge(event(0.25, confidence=0.9))
    with second.spend(event(0.125)):
        pass
    as_version_one(ledger.path)
    return ledger.path


def everything(path):
    accounts = sf.Ledger(path).accounts()
    return [(a.name, a.remaining(), a.remaining(random=True), a.history()) for a in accounts]


def test_an_old_ledger_opens_with_all_that_it_had(old, tmp_path):
    (clinic, shop), path = sf.Ledger(old).accounts(), old
    assert (clinic.remaining().epsilon, clinic.remaining(random=True).epsilon) == (1.5, 1.25)
    assert [entry.status for entry in shop.history()] == ["reserved", "reserved", "published"]
    before = everything(path)
    close_all()
    assert everything(path) == before  # sealed, chained and counted
    clinic.charge(event(1.25))
    with pytest.raises(sf.errors.BudgetExceededError):
        clinic.charge(event(0.001))
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (3,)


@pytest.mark.parametrize(("mode", "kept"), [(0o644, 0o600), (0o600, 0o600), (0o664, 0o660), (0o666, 0o660)])
def test_an_upgrade_takes_the_file_from_others(old, mode, kept):
    os.chmod(old, mode)
    sf.Ledger(old)
    assert [stat.S_IMODE(os.stat(old + part).st_mode) for part in ("", "-count")] == [kept, kept]


def test_an_upgrade_that_is_cut_off_did_not_happen(old, monkeypatch):
    def crash(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(store, "upgrade", crash)
    with pytest.raises(KeyboardInterrupt):
        sf.Ledger(old)
    monkeypatch.undo()
    assert sf.Ledger(old).account("clinic").remaining().epsilon == 1.5


CHANGES = {
    "sums": "UPDATE entries SET sums_json = replace(sums_json, '15e', '10e')",
    "no sums": "UPDATE entries SET sums_json = '{}x'",
    "gap": "DELETE FROM entries WHERE id = 2 * 1099511627776 + 1",
    "account": "DELETE FROM accounts WHERE name = 'shop'",
    "limit": "UPDATE accounts SET limit_json = '[]'",
    "accountant": "UPDATE accounts SET accountant = 'magic'",
    "event": "UPDATE entries SET event_json = '{}'",
    "text": "UPDATE entries SET event_json = 'x'",
    "shape": """UPDATE entries SET sums_json = '{"basic": ["1e0"], "zcdp": [], "gaussian": ["1e1", "1e1"]}'""",
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_damaged_old_ledger_is_refused_and_left_alone(old, change):
    with contextlib.closing(sqlite3.connect(old, isolation_level=None)) as connection:
        connection.execute(change)
    for _ in range(2):
        with pytest.raises(LedgerError, match=r"damaged|newer sfumato"):
            sf.Ledger(old)
    with contextlib.closing(sqlite3.connect(old)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)


def test_sums_that_are_more_than_the_events_are_kept(old):
    """A better accountant may count less than an older one did: nothing is given back unasked."""
    with contextlib.closing(sqlite3.connect(old, isolation_level=None)) as connection:
        connection.execute("UPDATE entries SET sums_json = replace(sums_json, '15e', '25e')")
    account = sf.Ledger(old).account("clinic")
    assert account.remaining().epsilon == 0.5
    account.recount()
    assert account.remaining().epsilon == 1.5


def test_an_old_copy_over_an_upgraded_ledger_is_noticed(old, tmp_path):
    saved = Path(old).read_bytes()
    sf.Ledger(old).account("clinic").charge(event(1.25))
    close_all()
    Path(old).write_bytes(saved)
    with pytest.raises(LedgerError, match="is of version 1, and its counter has seen 10 rows"):
        sf.Ledger(old)
    assert sf.Ledger.adopt(old).account("clinic").remaining().epsilon == 1.5
