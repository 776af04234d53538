"""Seals and the chain: a ledger in which anything is not what was written is refused, in our own words."""

from __future__ import annotations

import contextlib
import sqlite3

import pytest

import sfumato as sf
from sfumato.accounting.store import close_all
from sfumato.errors import LedgerError
from unit.accounting.support import event

LIMIT = sf.Privacy(epsilon=3.0, gamma=0.5)


@pytest.fixture
def account(tmp_path):
    account = sf.Ledger(tmp_path / "budget.db").account("clinic", limit=LIMIT)
    account.charge(event(1.0))
    account.charge(event(1.0))
    account.charge(event(0.5, confidence=0.75))
    return account


def tamper(path, *statements):
    """Change the tables behind the ledger's back, consistently as far as SQLite can tell."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


CHANGES = {
    "sums": "UPDATE entries SET sums_json = replace(sums_json, '2e', '1e')",
    "event": """UPDATE entries SET event_json = replace(event_json, '"epsilon": 1.0', '"epsilon": 0.0')""",
    "gamma": "UPDATE entries SET event_json = replace(event_json, '0.75', '0.95')",
    "created": "UPDATE entries SET created = '1970-01-01T00:00:00+00:00'",
    "status": "UPDATE entries SET status = 'reserve'",
    "newest": "DELETE FROM entries WHERE id = (SELECT max(id) FROM entries WHERE id < 3 * 1099511627776)",
    "all": "DELETE FROM entries",
    "moved": "UPDATE entries SET id = id + 8 * 1099511627776",
    "limit": "UPDATE accounts SET limit_json = replace(limit_json, '3.0', '7.0')",
    "name": "UPDATE accounts SET name = 'clinib'",
    "accountant": "UPDATE accounts SET accountant = 'best'",
    "account": "DELETE FROM accounts",
    "number": "UPDATE accounts SET id = 5",
    "bytes": "UPDATE entries SET sums_json = CAST(sums_json AS BLOB)",
    "null": "UPDATE entries SET event_json = ''",
    "count": "UPDATE chain SET count = count - 1",
    "head": "UPDATE chain SET head = replace(head, '0', '1')",
    "chain": "DELETE FROM chain",
    "two chains": "INSERT INTO chain SELECT 2, identity, count, head FROM chain",
    "chain of blobs": "UPDATE chain SET head = CAST(head AS BLOB)",
    "order": "UPDATE entries SET count = 6 - count",
}


@pytest.mark.few(10)
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_nothing_is_changed_unnoticed(account, change):
    close_all()
    tamper(account.path, change)
    with pytest.raises(LedgerError, match=r"damaged .*restore the newest backup"):
        sf.Ledger(account.path).account("clinic", limit=LIMIT)


@pytest.mark.parametrize("what", ["sums", "gamma", "bytes", "chain"])
def test_what_a_charge_rests_on_is_checked_each_time(account, what):
    """Also in a process that has the ledger open."""
    account.remaining()
    tamper(account.path, CHANGES[what])
    with pytest.raises(LedgerError, match="damaged"):
        account.charge(event(0.25, confidence=0.9))


def test_an_account_that_came_later_is_checked_too(account, tmp_path):
    ledger = sf.Ledger(account.path)
    ledger.account("second", limit=sf.Privacy(epsilon=1.0))
    close_all()
    ledger = sf.Ledger(account.path)
    tamper(account.path, "UPDATE accounts SET limit_json = replace(limit_json, '1.0', '9.0')")
    with pytest.raises(LedgerError, match="damaged"):
        ledger.account("second")


def test_a_recount_keeps_the_chain_and_seals_anew(account):
    account.recount()
    close_all()
    assert account.remaining(random=True).epsilon == 0.5
    account.charge(event(0.5))
    assert len(account.history()) == 4
    close_all()
    tamper(account.path, CHANGES["sums"])
    with pytest.raises(LedgerError, match="damaged"):
        account.recount()


def test_marking_an_entry_published_leaves_the_seal(account):
    with account.spend(event(0.25)):
        pass
    close_all()
    assert [entry.status for entry in account.history()].count("published") == 1
