"""The ledger under fire: processes that race each other, and processes that are killed at random moments."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf

RACER = """
import sys
import sfumato as sf
from sfumato.accounting.events import event_of_grant
account = sf.Ledger(sys.argv[1]).account("race")
event = event_of_grant(sf.Privacy(epsilon=1.0))
succeeded = 0
for _ in range(int(sys.argv[2])):
    try:
        account.charge(event)
        succeeded += 1
    except sf.errors.BudgetExceededError:
        pass
print(succeeded)
"""


def publish_one(account: sf.Account | None) -> sf.FunctionRelease:
    target = sf.BlackBox(lambda data: lambda points: 0 * points[:, 0], sensitivity=0.1)
    box, privacy, basis = sf.Box([(0, 1)]), sf.Privacy(epsilon=1.0), sf.Bernstein(3)
    return sf.release(target, np.zeros(3), box, privacy, basis=basis, ledger=account)


def publish_for_ever(path: str, folder: str) -> None:
    account = sf.Ledger(path).account("kill")
    while True:
        release = publish_one(account)
        release.save(f"{folder}/{release.receipt.entry}.sfumato")


@pytest.mark.slow
def test_sixteen_processes_race_for_a_thousand_charges(tmp_path):
    """2,000 attempts against a limit that allows 1,000: exactly 1,000 succeed."""
    path = str(tmp_path / "race.db")
    account = sf.Ledger(path).account("race", limit=sf.Privacy(epsilon=1000.0))
    command = [sys.executable, "-c", RACER, path, "125"]
    racers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(16)]
    succeeded = [int(racer.communicate(timeout=300)[0]) for racer in racers]
    assert sum(succeeded) == 1000
    assert len(account.history()) == 1000
    assert account.remaining().epsilon == 0.0


def publishing(path: str, folder: Path) -> multiprocessing.Process:
    """Fork a process that publishes as fast as it can."""
    process = multiprocessing.get_context("fork").Process(target=publish_for_ever, args=(path, str(folder)))
    process.start()
    return process


def kill(process: multiprocessing.Process) -> None:
    os.kill(process.pid, signal.SIGKILL)
    process.join()


def time_of_a_release(path: str, folder: Path) -> float:
    """How long a fork takes here until its first release is there: the moments of kills must suit disk and load."""
    start, process = time.perf_counter(), publishing(path, folder)
    while not any(folder.glob("*.sfumato")) and time.perf_counter() < start + 60:
        time.sleep(0.001)
    took = time.perf_counter() - start
    kill(process)
    return took


@pytest.mark.slow
def test_two_hundred_kills_leave_no_release_unpaid(tmp_path):
    """No artefact without a charge, at most one charge wasted a kill, and the database opens every time."""
    path, folder, kills = str(tmp_path / "kill.db"), tmp_path / "out", 200
    folder.mkdir()
    account = sf.Ledger(path).account("kill", limit=sf.Privacy(epsilon=1e9))
    publish_one(None).save(tmp_path / "warm.sfumato")  # loads every module, so that the forks start publishing at once
    rng, took = random.Random(7), time_of_a_release(path, folder)
    for _ in range(kills - 1):
        process = publishing(path, folder)
        time.sleep(rng.uniform(0.1, 3) * took)
        kill(process)
        assert account.remaining().entries >= 0  # it opens
    charged = {entry.number: entry.status for entry in account.history()}
    published = {int(file.stem) for file in folder.glob("*.sfumato")}
    assert len(published) > kills / 4  # the kills came while releases were being made
    assert published <= set(charged)
    assert all(charged[number] == "published" for number in published)
    assert len(charged) - len(published) <= kills
    for number in published:
        sf.load(folder / f"{number}.sfumato")  # a file is whole or not there
