"""The ledger on PostgreSQL: races for one limit, crashes, rates; tight composition; edits of exported chains."""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import sfumato as sf
from benchmarks.timing import row
from sfumato.accounting.store import close_all

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

ROUNDS = 1000
WRONG_ROUNDS = 40
CRASHES = 50
RUNS = 5
EDITS = 10_000


def run() -> list[dict[str, Any]]:
    """All of them; the rows of a server are left out where there is none."""
    from servers.postgres import Server, missing

    rows = []
    if (why := missing()) is not None:
        print(f"no server: {why}")
    else:
        server = Server().start()
        try:
            rows += rate_rows(server) + race_rows(server) + crash_rows(server)
        finally:
            close_all()
            server.remove()
    return rows + tight_rows() + edit_rows()


def race_rows(server: Any) -> list[dict[str, Any]]:
    from servers import races

    admitted = races.race(races.Ours(server.url(server.database())), ROUNDS)
    close_all()
    over = sum(count > races.LIMIT for count in admitted)
    rows = [
        row(f"16 processes, two books, one limit: overspent in {ROUNDS} rounds", over, "rounds", asked="<= 0"),
        row("  rounds in which not all of the limit was admitted", sum(n < races.LIMIT for n in admitted), "rounds"),
    ]
    for scheme in races.SCHEMES:
        database = server.database()
        way = races.Bare(f"host=127.0.0.1 port={server.port} dbname={database} user=owner", scheme)
        way.make()
        over = sum(count > races.LIMIT for count in races.race(way, WRONG_ROUNDS))
        asked = "<= 0" if scheme == "lock, then read" else ">= 1"
        rows.append(
            row(f"  {scheme}, on a bare table: overspent in {WRONG_ROUNDS} rounds", over, "rounds", asked=asked)
        )
    return rows


def crash_rows(server: Any) -> list[dict[str, Any]]:
    from servers import races

    with tempfile.TemporaryDirectory() as folder:
        told, there = races.crash(server, server.url(server.database()), Path(folder), CRASHES)
    return [
        row(f"acknowledged charges lost in {CRASHES} immediate crashes", len(told - there), "charges", asked="<= 0"),
        row("  acknowledged", len(told), "charges"),
    ]


def rate_rows(server: Any) -> list[dict[str, Any]]:
    """Medians of interleaved charges and bare transactions, and of interleaved runs of one process and of sixteen."""
    import psycopg

    from servers import races

    database = server.database()
    url, event = server.url(database), races.event()
    account = sf.Ledger(url).account("rates", limit=sf.Privacy(epsilon=1e9, delta=1e-6))
    bare = psycopg.connect(f"host=127.0.0.1 port={server.port} dbname={database} user=owner", autocommit=True)
    bare.execute("SET synchronous_commit TO on")
    bare.execute("CREATE TABLE bare (id BIGINT PRIMARY KEY GENERATED ALWAYS AS IDENTITY, event TEXT, sums TEXT)")
    text, bares, charges = event.to_json(), [], []
    for _ in range(400):
        start = time.perf_counter()
        bare.execute("BEGIN")
        bare.execute("INSERT INTO bare (event, sums) VALUES (%s, %s)", (text, text))
        bare.execute("COMMIT")
        middle = time.perf_counter()
        account.charge(event)
        charges.append(time.perf_counter() - middle)
        bares.append(middle - start)
    bare.close()
    single, many = [], []
    for _ in range(RUNS):
        single.append(races.together(url, "rates", 1, 3.0))
        many.append(races.together(url, "rates", 16, 3.0))
    one, plain = statistics.median(charges[20:]), statistics.median(bares[20:])
    ratios = [b / a for a, b in zip(single, many, strict=True)]
    return [
        row("PostgreSQL: charges of one connection", 1 / one, "a second"),
        row("  of bare one-row transactions", plain / one, "of the bare rate", asked=">= 0.9"),
        row("PostgreSQL: charges of 16 processes to one account", statistics.median(many), "a second"),
        row("  of one process's", statistics.median(ratios), "of its rate", asked=">= 0.7"),
    ]


def mixed() -> list[tuple[str, float, float]]:
    """A hundred releases: pure ones, Gaussian ones and those of a learner with (epsilon, delta)."""
    pure = [("pure", 0.02 + 0.003 * k, 0.0) for k in range(50)]
    return pure + [("gaussian", 0.1 + 0.01 * k, 1e-9) for k in range(30)] + [("approximate", 0.05, 1e-9)] * 20


def tight_rows() -> list[dict[str, Any]]:
    """A hundred mixed releases beside dp-accounting's own figure, and sixty-four of epsilon 0.1."""
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as pld

    from sfumato.accounting.events import event_of_grant

    events, own = [], pld.identity()
    for kind, epsilon, delta in mixed():
        event = event_of_grant(sf.Privacy(epsilon=epsilon, delta=delta))
        if kind == "gaussian":
            own = own.compose(pld.from_gaussian_mechanism(1 / event.mu))
        else:
            event = replace(event, mu=None)
            own = own.compose(pld.from_privacy_parameters(common.DifferentialPrivacyParameters(epsilon, delta)))
        events.append(event)
    theirs, found = own.get_epsilon_for_delta(1e-6), sf.composed(events, 1e-6)
    basic = sum(epsilon for _, epsilon, _ in mixed())
    many = sf.composed([(sf.Privacy(epsilon=0.1), 64)], 1e-6)
    words = f"100 mixed releases by the {found.accountant} accountant"
    return [
        row(words, found.epsilon, "epsilon at delta 1e-6"),
        row("  beside dp-accounting's own figure", abs(found.epsilon / theirs - 1), "off", asked="<= 0.01"),
        row("  below basic composition", 1 - found.epsilon / basic, "less", asked=">= 0.25"),
        row(
            "64 releases of epsilon 0.1: beside basic composition", 6.4 / many.epsilon, "times as many", asked=">= 1.7"
        ),
    ]


def edit_rows() -> list[dict[str, Any]]:
    """Edits of an exported chain, by what finds them."""
    from servers import edits, races
    from sfumato.accounting.evidence import exported, read_export

    with tempfile.TemporaryDirectory() as folder:
        ledger = sf.Ledger(Path(folder) / "budget.db")
        account = ledger.account("clinic", limit=sf.Privacy(epsilon=99.0, delta=1e-6), accountant="best")
        for k in range(8):
            with account.spend(races.event(bool(k % 2))):
                pass
        account.raise_limit(sf.Privacy(epsilon=100.0, delta=1e-6), "the board agreed")
        payload = exported(ledger._store)
        close_all()
    (head, _), rng = read_export(payload), random.Random(1)
    found = [edits.found_by(edits.edited(payload, rng), head) for _ in range(EDITS)]
    return [
        row(f"{EDITS:,} edits of an exported chain: not found", found.count(None), "edits", asked="<= 0"),
        row("  found by the lines themselves", found.count("lines"), "edits"),
        row("  rewritten down to the head: only a head that a release or an earlier export has kept tells",
            found.count("witness"), "edits"),
    ]  # fmt: skip
