"""The ledger on a server under fire: processes that race for one limit, and a server that crashes."""

from __future__ import annotations

import pytest

import sfumato as sf
from servers import races

pytestmark = pytest.mark.slow


def test_sixteen_processes_never_overspend_two_books(postgres):
    """Forty rounds; ``python -m benchmarks team-ledger`` runs a thousand."""
    assert races.race(races.Ours(postgres.url(postgres.database())), 40) == [races.LIMIT] * 40


@pytest.mark.parametrize("scheme", [name for name in races.SCHEMES if name != "lock, then read"])
def test_wrong_schemes_are_caught(postgres, scheme):
    """Each overspends in more than half of the rounds: that ten in a row do not has a chance below 1e-3."""
    way = races.Bare(f"host=127.0.0.1 port={postgres.port} dbname={postgres.database()} user=owner", scheme)
    way.make()
    for start in range(0, 30, 10):
        if max(races.race(way, 10, start)) > races.LIMIT:
            return
    pytest.fail(f"{scheme} did not overspend in thirty rounds")


def test_crashes_lose_no_acknowledged_charge(tmp_path):
    from servers.postgres import Server, missing

    if (why := missing()) is not None:
        pytest.skip(why)
    server = Server().start()
    try:
        url = server.url(server.database())
        told, there = races.crash(server, url, tmp_path, 4)
        assert told and told <= there
        sf.Ledger(url).verify()
    finally:
        server.remove()
