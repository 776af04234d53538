"""The counter beside a ledger: whatever the ledger loses is noticed."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import stat
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.accounting import counter
from sfumato.accounting import sqlite as store
from sfumato.accounting.seal import State
from sfumato.accounting.store import close_all
from sfumato.errors import LedgerError
from unit.accounting.support import copied, event

LIMIT = sf.Privacy(epsilon=3.0)


@pytest.fixture
def account(tmp_path):
    (tmp_path / "live").mkdir()
    return sf.Ledger(tmp_path / "live" / "budget.db").account("clinic", limit=LIMIT)


def refused(path, words):
    """Neither opening nor creating the account anew gets past it."""
    close_all()
    with pytest.raises(LedgerError, match=words):
        sf.Ledger(path).account("clinic", limit=LIMIT).charge(event())


def test_a_deleted_log_is_noticed(account, tmp_path):
    account.charge(event(3.0))
    copy = copied(account.path, tmp_path / "copy")
    assert os.path.getsize(f"{copy}-wal")
    os.unlink(f"{copy}-wal")
    refused(copy, "has 0 rows, and its counter has seen 2: some are lost; nothing was released")


def test_a_log_that_goes_while_the_ledger_is_in_use_is_noticed(account):
    """Two processes whose logs are not the same file meet at the counter."""
    account.charge(event())
    with sqlite3.connect(account.path) as other:
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    os.unlink(f"{account.path}-wal")
    os.unlink(f"{account.path}-shm")
    link = f"{account.path}-link"
    os.symlink(account.path, link)  # a second connection of this process, with a log of its own
    other = sf.Ledger(link).account("clinic")
    account.charge(event(2.0))
    with pytest.raises(LedgerError, match=r"some are lost|damaged|refused"):
        other.charge(event(2.0))
    assert account.remaining().epsilon == 0


@pytest.mark.parametrize("parts", [("",), ("", "-wal")])
def test_an_older_copy_is_noticed(account, tmp_path, parts):
    account.charge(event())
    close_all()
    old = copied(account.path, tmp_path / "old")
    account.charge(event(2.0))
    close_all()
    new = copied(account.path, tmp_path / "new")
    for part in parts:
        if os.path.exists(old + part):
            os.replace(old + part, new + part)
    refused(new, "some are lost")


def test_an_older_copy_over_a_ledger_in_use_is_noticed(account, tmp_path):
    account.charge(event())
    close_all()
    old = copied(account.path, tmp_path / "old")
    account.charge(event(2.0))
    with open(account.path, "r+b") as file, open(old, "rb") as before:
        file.write(before.read())
    with pytest.raises(LedgerError):
        account.charge(event())


def test_a_removed_ledger_is_noticed(account):
    account.charge(event(3.0))
    close_all()
    os.unlink(account.path)
    refused(account.path, "is new, and its counter has seen 2 rows of another")


def test_a_ledger_without_its_counter_is_a_copy(account, tmp_path):
    account.charge(event())
    close_all()
    copy = copied(account.path, tmp_path / "copy")
    os.unlink(f"{copy}-count")
    refused(copy, "has lost its counter, budget.db-count, or is a copy")
    os.unlink(f"{account.path}-count")
    with pytest.raises(LedgerError, match="lost its counter"):
        account.charge(event())


def test_the_counter_of_another_ledger_does_not_fit(account, tmp_path):
    other = sf.Ledger(tmp_path / "other.db")
    close_all()
    os.replace(f"{other.path}-count", f"{account.path}-count")
    refused(account.path, "not the ledger that its counter belongs to")


def test_a_copy_that_went_its_own_way_does_not_come_back(account, tmp_path):
    """The same ledger, charged with other things twice: the longer one is not what the counter has seen."""
    account.charge(event())
    close_all()
    copy = copied(account.path, tmp_path / "copy")
    account.charge(event(2.0))
    twin = sf.Ledger(copy).account("clinic")
    for _ in range(3):
        twin.charge(event(0.001))
    close_all()
    os.replace(copy, account.path)
    refused(account.path, "not the ledger that its counter belongs to")


def test_adopting_makes_a_copy_a_ledger_of_its_own(account, tmp_path):
    account.charge(event())
    close_all()
    copy = copied(account.path, tmp_path / "copy")
    os.unlink(f"{copy}-count")
    adopted = sf.Ledger.adopt(copy).account("clinic")
    assert adopted.remaining().epsilon == 2.0
    adopted.charge(event())
    close_all()
    os.replace(f"{account.path}-count", f"{copy}-count")
    refused(copy, "not the ledger that its counter belongs to")
    with pytest.raises(LedgerError, match="no such ledger"):
        sf.Ledger.adopt(tmp_path / "nothing.db")


def test_what_was_never_lost_is_no_alarm(account):
    """A crash after the commit and before the counter leaves the counter behind: that is fine."""
    beside = Path(counter.counter_of(account.path))
    before = beside.read_bytes()
    account.charge(event())
    beside.write_bytes(before)
    close_all()
    account.charge(event())
    assert account.remaining().epsilon == 1.0


def test_half_a_slot_leaves_the_other(account):
    account.charge(event())
    account.charge(event())
    beside = counter.counter_of(account.path)
    newest = counter.read(beside)
    text = bytearray(Path(beside).read_bytes())
    place = text.index(f" {newest.count} ".encode())
    text[place : place + 40] = b"\0" * 40
    Path(beside).write_bytes(text)
    assert counter.read(beside).count == newest.count - 1
    account.charge(event())
    assert counter.read(beside).count == newest.count + 1


@pytest.mark.parametrize("text", [b"", b"budget: plenty", b" " * 1024, b"\xff" * 1024, b"1" * 4096])
def test_a_counter_that_is_none_is_refused(account, text):
    close_all()
    with open(f"{account.path}-count", "wb") as file:
        file.write(text)
    refused(account.path, "the ledger's counter, cannot be used")


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/zero", path)])
def test_a_counter_that_is_no_file_is_refused_at_once(account, make):
    close_all()
    os.unlink(f"{account.path}-count")
    make(f"{account.path}-count")
    refused(account.path, "the ledger's counter, cannot be used")


def test_a_counter_that_another_process_holds_is_said(account, monkeypatch):
    monkeypatch.setattr(store, "_WAIT_SECONDS", 0.01)
    with open(f"{account.path}-count") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(LedgerError, match="another process has held it"):
            account.charge(event())
    account.charge(event())
    assert account.remaining().epsilon == 2.0


def test_a_counter_that_cannot_be_written_stops_the_release(account, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(counter, "_sync", full)
    with pytest.raises(LedgerError, match=r"is on disk and counts, but .* \(No space left on device\)"):
        account.charge(event())
    monkeypatch.undo()
    assert account.remaining().epsilon == 2.0


def test_a_counter_never_goes_back(tmp_path):
    beside = str(tmp_path / "x-count")
    (tmp_path / "x").touch()
    counter.write_new(beside, State("a", 5, "h"), str(tmp_path / "x"))
    with counter.holding(beside, 1) as held:
        held.advance(State("a", 4, "h"))
    assert counter.read(beside) == State("a", 5, "h")


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_every_file_is_its_owners_alone(tmp_path, umask):
    before = os.umask(umask)
    try:
        account = sf.Ledger(tmp_path / "budget.db").account("clinic", limit=LIMIT)
        account.charge(event())
    finally:
        os.umask(before)
    modes = {part: stat.S_IMODE(os.stat(account.path + part).st_mode) for part in ("", "-wal", "-shm", "-count")}
    assert set(modes.values()) == {0o600}
    os.chmod(account.path, 0o660)  # shared on purpose: what is made later is shared too
    close_all()
    os.unlink(f"{account.path}-count")
    sf.Ledger.adopt(account.path)
    assert stat.S_IMODE(os.stat(f"{account.path}-count").st_mode) == 0o660
