"""Random damage to a ledger's files: no bit that flips gives budget back, and none ends in a foreign exception."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.accounting import counter, ledger, seal
from sfumato.accounting.events import event_of_grant
from sfumato.accounting.store import close_all
from sfumato.errors import LedgerError

LIMITS = {
    "spent": sf.Privacy(epsilon=3.0),
    "half": sf.Privacy(epsilon=2.0, delta=1e-6),
    "random": sf.Privacy(epsilon=9.0, gamma=0.5),
}
LEFT = {"spent": 0.0, "half": 1.0, "random": 8.5}
PARTS = ("", "-wal", "-count")


def event(epsilon, confidence=1.0):
    made = event_of_grant(sf.Privacy(epsilon=epsilon))
    return type(made)(**{**vars(made), "confidence": confidence})


@pytest.fixture(scope="module")
def files():
    """A ledger partly in its file and partly in its log, as a killed process leaves it; and the same one closed."""
    folder = Path(tempfile.mkdtemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
    path = folder / "budget.db"
    accounts = {name: sf.Ledger(path).account(name, limit=limit) for name, limit in LIMITS.items()}
    accounts["spent"].charge(event(1.0))
    accounts["random"].charge(event(0.25, 0.75))
    close_all()
    accounts["spent"].charge(event(2.0))
    accounts["half"].charge(event(1.0))
    accounts["random"].charge(event(0.25, 0.75))
    in_use = {part: Path(f"{path}{part}").read_bytes() for part in PARTS}
    close_all()
    closed = {part: Path(f"{path}{part}").read_bytes() for part in ("", "-count")}
    yield folder, {"in use": in_use, "closed": closed}
    shutil.rmtree(folder)


def gained(folder, files) -> str | None:
    """What a curator's program gets out of these files that it should not; None if nothing."""
    path = folder / "tried.db"
    for part in (*PARTS, "-shm", "-journal"):
        Path(f"{path}{part}").unlink(missing_ok=True)
    for part, content in files.items():
        Path(f"{path}{part}").write_bytes(content)
    try:
        for name, limit in LIMITS.items():
            account = sf.Ledger(path).account(name, limit=limit)
            if account.remaining(random=True).epsilon > LEFT[name]:
                return f"{name} has {account.remaining(random=True)}"
            account.history()
        sf.Ledger(path).account("spent").charge(event(1e-9))
        return "one more was charged"
    except sf.errors.BudgetExceededError:
        pass
    except LedgerError:
        return None
    finally:
        close_all()
    try:
        sf.Ledger(path).account("random").charge(event(1e-9, 0.999))
        return "one more gamma was charged"
    except LedgerError:
        return None
    finally:
        close_all()


def flipped(content: bytes, bit: int) -> bytes:
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


STATES = pytest.mark.parametrize("state", ["in use", "closed"])


def attack(folder, found, flips: int, seed: int) -> list[str]:
    rng, gains = random.Random(seed), []
    for _ in range(flips):
        part = rng.choices(list(found), [len(content) for content in found.values()])[0]
        bit = rng.randrange(8 * len(found[part]))
        what = gained(folder, found | {part: flipped(found[part], bit)})
        gains += [f"bit {bit} of {part or 'the file'}: {what}"] if what else []
    return gains


@pytest.mark.few(1)
@STATES
def test_no_bit_of_some_that_flips_gives_budget_back(files, state):
    folder, found = files
    assert gained(folder, found[state]) is None
    assert attack(folder, found[state], 75, 1) == []


@pytest.mark.slow
@STATES
def test_no_bit_of_many_that_flips_gives_budget_back(files, state):
    folder, found = files
    assert attack(folder, found[state], 2000, 2) == []


def texts(content: bytes, *words: bytes):
    """The bits of the places where words stand."""
    for word in words:
        place = content.find(word)
        while place >= 0:
            yield from range(8 * place, 8 * (place + len(word)))
            place = content.find(word, place + 1)


@STATES
def test_no_bit_of_a_limit_or_a_sum_gives_budget_back(files, state):
    folder, found = files[0], files[1][state]
    for part in set(found) - {"-count"}:
        for bit in list(texts(found[part], b'"epsilon": 3.0', b'["3e', b'["1e'))[::5]:
            assert gained(folder, found | {part: flipped(found[part], bit)}) is None


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("keep", [0.0, 0.3, 0.9, 0.999])
def test_no_file_that_is_cut_or_lost_gives_budget_back(files, part, keep):
    folder, found = files[0], files[1]["in use"]
    assert gained(folder, found | {part: found[part][: int(keep * len(found[part]))]}) is None
    assert gained(folder, {name: content for name, content in found.items() if name != part}) is None


def test_the_attack_finds_a_ledger_without_seals(files, monkeypatch):
    """Negative control: the same damage, when nothing is checked."""
    folder, found = files
    monkeypatch.setattr(seal, "verify", lambda connection: [seal.START] * 99)
    monkeypatch.setattr(counter, "agree", lambda *_: None)
    monkeypatch.setattr(counter, "read", lambda _: None)
    for module in (seal, ledger):
        monkeypatch.setattr(module, "checked", lambda table, row: "")
    assert gained(folder, {part: found["in use"][part] for part in ("", "-count")})  # the log is gone
    bits = texts(found["closed"][""], b"3e400")  # what the account that is used up adds up to
    assert any(gained(folder, found["closed"] | {"": flipped(found["closed"][""], bit)}) for bit in list(bits)[:8])


OPEN = """
import sys
import sfumato as sf
from sfumato.accounting.events import event_of_grant
account = sf.Ledger(sys.argv[1]).account("race", limit=sf.Privacy(epsilon=5.0))
try:
    account.charge(event_of_grant(sf.Privacy(epsilon=1.0)))
    print("charged")
except sf.errors.BudgetExceededError:
    print("refused")
"""


@pytest.mark.slow
def test_processes_that_create_one_ledger_at_once_share_it(tmp_path):
    for name in ("one.db", "two.db"):
        command = [sys.executable, "-c", OPEN, str(tmp_path / name)]
        racers = [
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(8)
        ]
        told = [racer.communicate(timeout=120) for racer in racers]
        assert sorted(out.strip() for out, _ in told) == ["charged"] * 5 + ["refused"] * 3, told


def test_opening_waits_while_another_process_still_makes_the_file(tmp_path):
    """SQLite does not wait by itself for a change of journal where somebody is writing: it says "locked" at once."""
    path = tmp_path / "budget.db"
    sf.Ledger(path).account("race", limit=sf.Privacy(epsilon=5.0))
    close_all()
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("PRAGMA journal_mode=delete")
    other.execute("BEGIN IMMEDIATE")
    threading.Timer(0.3, lambda: other.execute("ROLLBACK")).start()
    assert [account.name for account in sf.Ledger(path).accounts()] == ["race"]
