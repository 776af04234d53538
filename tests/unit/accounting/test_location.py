"""Which files can hold a ledger."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.accounting import location
from sfumato.accounting import sqlite as store
from sfumato.accounting.store import close_all
from sfumato.errors import LedgerError


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/zero", path)])
def test_what_is_no_file_is_refused_at_once(tmp_path, make):
    make(tmp_path / "budget.db")
    with pytest.raises(LedgerError, match="not a regular file"):
        sf.Ledger(tmp_path / "budget.db")


def test_a_hole_is_refused_at_once(tmp_path):
    path = tmp_path / "budget.db"
    path.touch()
    os.truncate(path, 2**40)
    with pytest.raises(LedgerError, match="mostly a hole"):
        sf.Ledger(path)
    sf.Ledger(tmp_path / "other.db")
    close_all()
    os.truncate(tmp_path / "other.db", 2**40)
    with pytest.raises(LedgerError, match="mostly a hole"):
        sf.Ledger(tmp_path / "other.db")


def test_a_file_that_is_mounted_by_itself_is_refused(tmp_path, monkeypatch):
    """As the system would tell of it; tests/durability mounts one."""
    path = tmp_path / "budget.db"
    monkeypatch.setattr(location, "_mount", lambda name: "63" if name == str(path) else "43")
    with pytest.raises(LedgerError, match=r"is mounted by itself .*mount its folder instead"):
        sf.Ledger(path)
    monkeypatch.setattr(location, "_mount", lambda name: None)  # no /proc: devices are what is left
    sf.Ledger(path)
    close_all()

    def elsewhere(name):
        found = os.lstat(name)
        return os.stat_result((*found[:2], 99 if name == str(path) else 98, *found[3:10]))

    monkeypatch.setattr(location.os, "stat", elsewhere)
    assert location.mounted_alone(str(path))


@pytest.mark.skipif(not os.path.exists("/proc/locks"), reason="the system does not tell who holds locks")
def test_looking_at_the_mount_drops_no_locks(tmp_path):
    """Closing a handle on the file would drop SQLite's locks on it in this process."""
    path = str(tmp_path / "budget.db")
    account = sf.Ledger(path).account("clinic", limit=sf.Privacy(epsilon=1.0))
    connection = store.connect(path)
    connection.exec_driver_sql("BEGIN IMMEDIATE")
    locks = Path("/proc/locks").read_text().count(f":{os.stat(path).st_ino} ")
    location.mounted_alone(path)
    assert Path("/proc/locks").read_text().count(f":{os.stat(path).st_ino} ") == locks >= 1
    connection.exec_driver_sql("ROLLBACK")
    assert account.remaining().epsilon == 1.0


def test_a_link_leads_to_one_ledger_with_one_counter(tmp_path):
    (tmp_path / "real").mkdir()
    os.symlink(tmp_path / "real" / "budget.db", tmp_path / "link.db")
    by_link = sf.Ledger(tmp_path / "link.db").account("clinic", limit=sf.Privacy(epsilon=1.0))
    assert sorted(os.listdir(tmp_path)) == ["link.db", "real"]
    assert os.stat(tmp_path / "real" / "budget.db").st_mode & 0o777 == 0o600
    assert sf.Ledger(tmp_path / "real" / "budget.db").account("clinic").remaining() == by_link.remaining()


def test_an_empty_file_becomes_a_ledger(tmp_path):
    (tmp_path / "budget.db").touch()
    sf.Ledger(tmp_path / "budget.db").account("clinic", limit=sf.Privacy(epsilon=1.0))
    with sqlite3.connect(tmp_path / "budget.db") as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
