"""Processes that race for one limit on a server: through the ledger, and by schemes that are known to be wrong.

A round: sixteen processes each try to charge epsilon 1 to one account of limit 8, half of them to each of two books.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import time
from dataclasses import replace
from pathlib import Path

import psycopg

import sfumato as sf
from sfumato.accounting.events import event_of_grant

PROCESSES = 16
LIMIT = 8
_BARE = """
CREATE TABLE race_accounts (id BIGINT PRIMARY KEY, most BIGINT NOT NULL);
CREATE TABLE race_entries (account BIGINT, book BIGINT, number BIGINT, PRIMARY KEY (account, book, number))"""
_BOTH = "(SELECT count(*) FROM race_entries WHERE account = %(a)s)"
_MINE = "(SELECT coalesce(max(number), 0) FROM race_entries WHERE account = %(a)s AND book = %(b)s)"
_READ = f"SELECT most, {_BOTH}, {_MINE} FROM race_accounts WHERE id = %(a)s"
_LOCK = "SELECT most FROM race_accounts WHERE id = %(a)s FOR UPDATE"
# How a transaction begins, and its statements up to the one whose result decides.
SCHEMES = {
    "lock, then read": ("READ COMMITTED", (_LOCK, _READ)),
    "primary key alone": ("READ COMMITTED", (_READ,)),
    "repeatable read": ("REPEATABLE READ", (_READ,)),
    "lock and read in one statement": ("READ COMMITTED", (_READ + " FOR UPDATE",)),
}


def event(random_book: bool = False):
    made = event_of_grant(sf.Privacy(epsilon=1.0))
    return replace(made, confidence=0.999) if random_book else made


class Ours:
    """Charges to the ledger."""

    def __init__(self, url: str) -> None:
        self._url = url

    def prepare(self, number: int) -> None:
        sf.Ledger(self._url).account(f"race {number}", limit=sf.Privacy(epsilon=float(LIMIT)))

    def look(self, number: int) -> None:
        """What a process has looked at before, it charges in fewer messages: every second round is such."""
        if number % 2:
            sf.Account(self._url, f"race {number}").remaining()

    def charge(self, number: int, book: int) -> bool:
        try:
            sf.Account(self._url, f"race {number}").charge(event(bool(book)))
        except sf.errors.BudgetExceededError:
            return False
        return True


class Bare:
    """Charges to a bare table, by a scheme; what collides is tried again."""

    def __init__(self, address: str, scheme: str) -> None:
        self._address, (self._level, self._statements) = address, SCHEMES[scheme]
        self._connection = None

    def _open(self):
        if self._connection is None:
            self._connection = psycopg.connect(self._address, autocommit=True)
        return self._connection

    def make(self) -> None:
        with psycopg.connect(self._address, autocommit=True) as connection:
            connection.execute(_BARE)

    def prepare(self, number: int) -> None:
        with psycopg.connect(self._address, autocommit=True) as connection:
            connection.execute("INSERT INTO race_accounts VALUES (%s, %s)", (number, LIMIT))

    def look(self, number: int) -> None:
        self._open()

    def charge(self, number: int, book: int) -> bool:
        connection, names = self._open(), {"a": number, "b": book}
        for _ in range(50):
            try:
                connection.execute(f"BEGIN ISOLATION LEVEL {self._level}")
                for statement in self._statements:
                    found = connection.execute(statement, names).fetchone()
                most, spent, newest = found
                if spent < most:
                    connection.execute("INSERT INTO race_entries VALUES (%s, %s, %s)", (number, book, newest + 1))
                connection.execute("COMMIT")
                return spent < most
            except (psycopg.errors.UniqueViolation, psycopg.errors.SerializationFailure):
                connection.execute("ROLLBACK")
        return False


def _racer(way, book, numbers, gate, won, failed) -> None:
    try:
        for place, number in enumerate(numbers):
            gate.wait(120)
            way.look(number)
            gate.wait(120)
            if way.charge(number, book):
                with won.get_lock():
                    won[place] += 1
            gate.wait(120)
    except BaseException:
        failed.value = 1
        gate.abort()
        raise


def race(way, rounds: int, start: int = 0) -> list[int]:
    """How many charges were admitted in each round; rounds are numbered from ``start``."""
    numbers = range(start, start + rounds)
    context = multiprocessing.get_context("fork")
    gate, won, failed = context.Barrier(PROCESSES + 1), context.Array("i", rounds), context.Value("i", 0)
    racers = [
        context.Process(target=_racer, args=(way, k % 2, numbers, gate, won, failed), daemon=True)
        for k in range(PROCESSES)
    ]
    for racer in racers:
        racer.start()
    for number in numbers:
        way.prepare(number)
        for _ in ("there", "looked", "done"):
            gate.wait(120)
    for racer in racers:
        racer.join(60)
    assert not failed.value
    return list(won)


def _charge_on(url: str, file: str, stop) -> None:
    """Charge for ever, and write down what was acknowledged."""
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    account = sf.Account(url, "crash")
    while not stop.value:
        try:
            os.write(handle, f"{account.charge(event())}\n".encode())
        except sf.errors.LedgerError:
            time.sleep(0.01)


def crash(server, url: str, folder: Path, crashes: int, seed: int = 7) -> tuple[set[int], set[int]]:
    """Crash a server again and again while four processes charge; what they were told, and what is there."""
    context, rng = multiprocessing.get_context("fork"), random.Random(seed)
    account = sf.Ledger(url).account("crash", limit=sf.Privacy(epsilon=1e9))
    stop, files = context.Value("i", 0), [str(folder / f"{k}.txt") for k in range(4)]
    chargers = [context.Process(target=_charge_on, args=(url, file, stop), daemon=True) for file in files]
    for charger in chargers:
        charger.start()
    for _ in range(crashes):
        time.sleep(rng.uniform(0.1, 0.5))
        server.stop("immediate")
        server.start()
    time.sleep(0.3)
    stop.value = 1
    for charger in chargers:
        charger.join(60)
    told = [int(line) for file in files for line in Path(file).read_text().split()]
    assert len(told) == len(set(told))  # no entry was given to two
    return set(told), {entry.number for entry in account.history()}


def _busy(url: str, name: str, seconds: float, gate, done) -> None:
    account = sf.Account(url, name)
    account.charge(event())
    gate.wait(120)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        account.charge(event())
        with done.get_lock():
            done.value += 1


def together(url: str, name: str, processes: int, seconds: float) -> float:
    """Charges a second of several processes to one account."""
    context = multiprocessing.get_context("fork")
    gate, done = context.Barrier(processes + 1), context.Value("i", 0)
    busy = [context.Process(target=_busy, args=(url, name, seconds, gate, done), daemon=True) for _ in range(processes)]
    for one in busy:
        one.start()
    gate.wait(120)
    start = time.perf_counter()
    for one in busy:
        one.join(120)
    return done.value / (time.perf_counter() - start)
