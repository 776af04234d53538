"""A ledger on a server: what it refuses, what it survives, what it notices, and who may do what."""

from __future__ import annotations

import contextlib
import os
import pickle
import re
import threading
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.accounting import migrations, store
from sfumato.accounting.store import close_all
from sfumato.errors import LedgerError, MissingExtraError, ParameterError
from unit.accounting.support import event

SECRET = "hush-hush"
LIMIT = sf.Privacy(epsilon=9.0, delta=1e-6)


@pytest.fixture
def database(postgres):
    return postgres.database()


@pytest.fixture
def url(postgres, database):
    return postgres.url(database, password=SECRET)


@pytest.fixture
def account(url):
    return sf.Ledger(url).account("clinic", limit=LIMIT)


@pytest.fixture
def own(request):
    """A server that a test may break."""
    from servers.postgres import Server, missing

    if (why := missing()) is not None:
        pytest.skip(why)
    server = Server(settings=getattr(request, "param", None)).start()
    yield server
    close_all()
    server.remove()


# --- addresses ---


def test_passwords_are_never_shown(account, url, postgres):
    shown = [repr(sf.Ledger(url)), repr(account), str(account)]
    for address in (postgres.url("nowhere", password=SECRET), f"{postgres.url('nowhere')}?password={SECRET}"):
        with pytest.raises(LedgerError, match="does not exist") as caught:
            sf.Ledger(address)
        shown.append(str(caught.value))
    with pytest.raises(LedgerError, match="no account 'x'") as caught:
        sf.Ledger(url).account("x")
    shown.append(str(caught.value))
    with pytest.raises(ParameterError) as caught:
        sf.Ledger(f"postgresql+psycopg://me:{SECRET}@host:port/x")
    shown.append(str(caught.value))
    with pytest.raises(ParameterError, match=r"must be a file or start with 'postgresql\+psycopg://'") as caught:
        sf.Ledger(f"mysql://me:{SECRET}@host/x")
    shown.append(str(caught.value))
    assert not [text for text in shown if SECRET in text]
    assert "***" in shown[0] and "***" in shown[1]
    assert pickle.loads(pickle.dumps(account)) == account  # a handle still leads there


def test_the_plain_scheme_is_the_same(url, account):
    account.charge(event())
    assert sf.Ledger(url.replace("+psycopg", "")).account("clinic").remaining().epsilon == 8.0


def test_without_the_driver_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'sfumato\[postgres\]'"):
        sf.Ledger("postgresql+psycopg://me@127.0.0.1:1/x")


# --- servers ---


def test_a_server_that_is_not_there(monkeypatch):
    with pytest.raises(LedgerError, match=r"nothing was released: .*safe to try again"):
        sf.Ledger("postgresql+psycopg://me@127.0.0.1:1/x")


@pytest.mark.parametrize("own", [{"fsync": "off"}], indirect=True)
def test_a_server_without_fsync_is_refused(own):
    with pytest.raises(LedgerError, match="fsync=off: a power cut would give budget back"):
        sf.Ledger(own.url("postgres"))


@pytest.mark.slow
def test_a_replica_is_refused(own):
    address = own.url(own.database())
    sf.Ledger(address).account("clinic", limit=LIMIT)
    close_all()
    own.stop("fast")
    (own.data / "standby.signal").touch()
    own.start()
    with pytest.raises(LedgerError, match="is a replica or is being recovered"):
        sf.Ledger(address)


def test_charges_are_synchronous_whatever_the_default(account, postgres, database):
    postgres.sql(f"ALTER DATABASE {database} SET synchronous_commit TO off")
    close_all()
    account.charge(event())
    connection = store.connections[account.path]
    assert connection.exec_driver_sql("SHOW synchronous_commit").scalar_one() == "on"
    connection.exec_driver_sql("SET synchronous_commit TO off")  # as if a pool had given it to somebody else
    with pytest.raises(LedgerError, match="lost its setting synchronous_commit=on"):
        account.charge(event())
    assert len(account.history()) == 1


def test_a_lock_is_not_waited_for_for_ever(account, postgres, database, monkeypatch):
    monkeypatch.setattr(store, "WAIT_SECONDS", 0.1)
    close_all()
    account.charge(event())
    import psycopg

    address = f"host=127.0.0.1 port={postgres.port} dbname={database} user=owner"
    with psycopg.connect(address) as holder:
        holder.execute("SELECT * FROM sfumato.chain FOR UPDATE")
        with pytest.raises(LedgerError, match="another process has held it for"):
            account.charge(event())
        assert account.remaining().epsilon == 8.0  # reading does not wait
    account.charge(event())


# --- connections that break ---


def test_one_reconnect_before_a_charge_begins(account, postgres):
    account.charge(event())
    postgres.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'sfumato'")
    assert account.charge(event()) == 2


def test_a_server_gone_in_the_middle_of_a_charge(account, postgres):
    account.charge(event())
    words = r"gone while a charge was being written; nothing was released\. If the charge is on record, it counts"
    end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'sfumato'"
    with pytest.raises(LedgerError, match=words), account._store.writing() as connection:
        connection.info["waiting"].add("SELECT %(a)s", {"a": len(postgres.sql(end))})
    assert (len(account.history()), account.charge(event())) == (1, 2)


def test_a_commit_that_the_server_took_back_is_no_commit(account):
    words = "has not committed"
    with pytest.raises(LedgerError, match=words), account._store.writing() as one, contextlib.suppress(Exception):
        one.connection.driver_connection.execute("SELECT 1/0")
    assert account.charge(event()) == 1


# --- copies and losses ---


def test_a_copy_is_refused_until_it_is_adopted(account, postgres, database):
    account.charge(event())
    close_all()
    copy = postgres.url(postgres.database(like=database))
    with pytest.raises(LedgerError, match=r"is a copy, was restored, or a standby has taken over"):
        sf.Ledger(copy)
    adopted = sf.Ledger.adopt(copy).account("clinic")
    assert adopted.remaining().epsilon == 8.0
    adopted.charge(event())
    assert account.remaining().epsilon == 8.0


def _set_back(postgres, database, to):
    """What restoring a physical backup does: an older state, in the same place. Triggers are no part of that."""
    for table in ("accounts", "entries", "publications", "acts", "chain"):
        postgres.sql(f"ALTER TABLE sfumato.{table} DISABLE TRIGGER USER", database)
        if table != "chain":
            postgres.sql(f"DELETE FROM sfumato.{table} WHERE count > {to[0]}", database)
    postgres.sql(f"UPDATE sfumato.chain SET count = {to[0]}, head = '{to[1]}'", database)


def test_what_a_process_has_seen_it_does_not_forget(account, postgres, database):
    old = postgres.sql("SELECT count, head FROM sfumato.chain", database)[0]
    account.charge(event())
    _set_back(postgres, database, old)
    with pytest.raises(LedgerError, match="has 1 rows, and 2 were seen: some are lost"):
        account.charge(event())
    close_all()
    with pytest.raises(LedgerError, match="some are lost"):
        account.remaining()


def test_a_counter_of_the_clients_notices_too(url, postgres, database, tmp_path):
    beside = tmp_path / "seen"
    address = f"{url}?counter={beside}"
    account = sf.Ledger(address).account("clinic", limit=LIMIT)
    old = postgres.sql("SELECT count, head FROM sfumato.chain", database)[0]
    account.charge(event())
    assert (os.stat(beside).st_mode & 0o777, "counter=" in repr(account)) == (0o600, True)
    _set_back(postgres, database, old)
    close_all()
    from sfumato.accounting import postgres as module

    module._seen.clear()  # another process
    with pytest.raises(LedgerError, match="some are lost"):
        sf.Ledger(address)
    sf.Ledger(url)  # without it, nobody knows


def test_an_adopted_ledger_has_a_new_counter(url, postgres, database, tmp_path):
    address = f"{url}?counter={tmp_path / 'seen'}"
    sf.Ledger(address).account("clinic", limit=LIMIT).charge(event())
    close_all()
    copy = f"{postgres.url(postgres.database(like=database))}?counter={tmp_path / 'seen'}"
    with pytest.raises(LedgerError, match="is a copy"):
        sf.Ledger(copy)
    sf.Ledger.adopt(copy).account("clinic").charge(event())
    with pytest.raises(LedgerError, match="some are lost"):
        sf.Account(address, "clinic").charge(event())  # the counter is the copy's now


@pytest.mark.slow
def test_a_server_that_is_reconfigured_is_noticed(own):
    account = sf.Ledger(own.url(own.database())).account("clinic", limit=LIMIT)
    account.charge(event())
    own.sql("ALTER SYSTEM SET fsync = off")
    own.sql("SELECT pg_reload_conf(), pg_sleep(0.5)")
    with pytest.raises(LedgerError, match="or the server its fsync=on"):
        account.charge(event())


def test_damage_is_noticed(account, postgres, database):
    account.charge(event())
    close_all()
    postgres.sql("ALTER TABLE sfumato.entries DISABLE TRIGGER USER", database)
    postgres.sql("UPDATE sfumato.entries SET event_json = replace(event_json, '1.0', '0.5')", database)
    with pytest.raises(LedgerError, match="it is damaged"):
        account.remaining()


# --- versions ---


def test_a_newer_version_is_refused(account, url, postgres, database):
    postgres.sql("INSERT INTO sfumato.versions VALUES (99, 'later')", database)
    close_all()
    with pytest.raises(LedgerError, match="ledger version 99, this sfumato knows version 3; upgrade sfumato"):
        sf.Ledger(url)


def test_migrations_run_once_and_in_order(account, url, postgres, database, monkeypatch):
    done = []
    from sfumato.accounting import postgres as module

    monkeypatch.setattr(module, "VERSION", 5)
    monkeypatch.setitem(migrations.MIGRATIONS, 3, lambda connection: done.append(3))
    monkeypatch.setitem(migrations.MIGRATIONS, 4, lambda connection: done.append(4))
    for _ in range(2):
        close_all()
        sf.Ledger(url).account("clinic").charge(event())
    assert done == [3, 4]
    assert postgres.sql("SELECT max(version) FROM sfumato.versions", database) == [(5,)]


def test_somebody_elses_schema_is_left_alone(postgres, database, url):
    postgres.sql("CREATE SCHEMA sfumato; CREATE TABLE sfumato.paintings (id BIGINT)", database)
    with pytest.raises(LedgerError, match="schema 'sfumato' is not a ledger"):
        sf.Ledger(url)


def test_many_open_a_new_ledger_at_once(url):
    found, threads = [], []
    for _ in range(4):
        close_all()
        threads.append(threading.Thread(target=lambda: found.append(sf.Ledger(url))))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4


# --- roles ---


def sql_of_the_guide() -> str:
    text = (Path(__file__).parents[3] / "docs" / "deployment.md").read_text()
    return re.search(r"```sql\n(.*?)```", text, re.DOTALL)[1]


@pytest.fixture
def roles(postgres, database, account):
    for statement in sql_of_the_guide().split(";"):
        if statement.strip():
            with contextlib.suppress(__import__("psycopg").errors.DuplicateObject):  # roles are the whole server's
                postgres.sql(statement, database)
    return database


def test_a_writer_appends_and_edits_nothing(roles, postgres, account):
    import psycopg

    writer = sf.Account(postgres.url(roles, user="sfumato_writer"), "clinic")
    with writer.spend(event()):
        pass
    assert (writer.remaining().epsilon, account.remaining().epsilon) == (8.0, 8.0)
    assert account.history()[0].status == "published"
    for statement in (
        "DELETE FROM sfumato.entries",
        "UPDATE sfumato.entries SET sums_json = '{}'",
        "UPDATE sfumato.accounts SET limit_json = ''",
        "TRUNCATE sfumato.publications",
        "DROP TABLE sfumato.entries",
        "INSERT INTO sfumato.versions VALUES (7, '')",
        "INSERT INTO sfumato.acts VALUES (1, 0, 'limit', '', '', 9, '')",
        "UPDATE sfumato.chain SET identity = 'mine'",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            postgres.sql(statement, roles, user="sfumato_writer")
    for refused in (
        lambda: writer.raise_limit(sf.Privacy(epsilon=99.0, delta=1e-6), "because"),
        lambda: sf.Ledger(writer.path).account("mine", limit=LIMIT),
        writer.recount,
    ):
        with pytest.raises(LedgerError, match="this role may not do that; ask the ledger's owner"):
            refused()


def test_a_reader_reads(roles, postgres, account):
    account.charge(event())
    reader = sf.Account(postgres.url(roles, user="sfumato_reader"), "clinic")
    assert reader.remaining().epsilon == 8.0
    with pytest.raises(LedgerError, match="this role may not do that"):
        reader.charge(event())


def test_not_even_the_owner_edits(account, postgres, database):
    import psycopg

    account.charge(event())
    for statement in (
        "DELETE FROM sfumato.entries",
        "UPDATE sfumato.entries SET event_json = '{}'",
        "TRUNCATE sfumato.chain",
        "UPDATE sfumato.chain SET count = 0",
        "UPDATE sfumato.accounts SET limit_json = '{}'",
    ):
        with pytest.raises(psycopg.errors.IntegrityConstraintViolation, match="only ever appended to"):
            postgres.sql(statement, database)


def test_an_old_server_is_refused():
    """No such server is here: what one would say of itself is enough, and nothing else is asked of it."""
    from sfumato.accounting.postgres import _check_server

    class Server:
        asked = []

        def exec_driver_sql(self, text):
            self.asked.append(text)
            return self

        def scalar_one(self):
            return "110022"

    with pytest.raises(LedgerError, match="db: PostgreSQL 11, a ledger needs 12 or later"):
        _check_server(Server(), "db")
    assert Server.asked == ["SHOW server_version_num"]
