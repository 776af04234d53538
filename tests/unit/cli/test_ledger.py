"""Commands on the ledger, and the account that pays."""

import json
import os

import pytest

import sfumato as sf
from sfumato.accounting.events import Event
from sfumato.accounting.store import close_all
from sfumato.cli.options import Settings, paying_account
from sfumato.errors import LedgerError, ParameterError
from unit.cli.support import published


def create(sfumato, *args):
    return sfumato("ledger", "create", "b.db", "clinic", *args)


class TestCreate:
    def test_an_account(self, sfumato):
        out = create(sfumato, "--epsilon", "3", "--delta", "1e-6").out
        assert "account 'clinic' in b.db: created" in out and "epsilon 3, delta 1e-06 for replacing one row" in out
        assert "was there already" in create(sfumato, "--epsilon", "3", "--delta", "1e-6").out
        assert sf.Ledger("b.db").account("clinic").limit == sf.Privacy(3, 1e-6)

    def test_all_options(self, sfumato):
        args = ("--rho", "0.5", "--neighbours", "add-remove", "--person", "patient:id:5", "--accountant", "zcdp")
        data = create(sfumato, *args, "--json").data
        assert data["created"] and data["accountant"] == "zcdp" and data["left"]["rho"] == 0.5
        expected = sf.Privacy(rho=0.5, neighbours="add-remove", unit=sf.Person("patient:id", 5))
        assert sf.Ledger("b.db").account("clinic").limit == expected
        assert data["limit"]["unit"] == {"column": "patient:id", "max_rows": 5}

    @pytest.mark.parametrize(
        ("args", "words"),
        [
            ([], "give either epsilon"),
            (["--epsilon", "1", "--rho", "1"], "give either epsilon"),
            (["--epsilon", "0"], "epsilon must be positive"),
            (["--epsilon", "1", "--delta", "2"], "delta must lie in"),
            (["--epsilon", "1", "--neighbours", "next"], "neighbours must be one of 'replace', 'add-remove'"),
            (["--epsilon", "1", "--accountant", "mine"], "accountant must be one of"),
            (["--epsilon", "1", "--accountant", "zcdp"], "cannot count this limit"),
            (["--epsilon", "1", "--person", "patient"], "--person must be COLUMN:MAXROWS"),
            (["--epsilon", "1", "--person", ":3"], "--person must be COLUMN:MAXROWS"),
            (["--epsilon", "1", "--person", "patient:many"], "--person must be COLUMN:MAXROWS"),
            (["--epsilon", "1", "--person", "patient:0"], "max_rows must be at least 1"),
        ],
    )
    def test_bad_limits(self, sfumato, args, words):
        create(sfumato, *args).failed(2, words)

    def test_bad_files(self, sfumato, tmp_path):
        create(sfumato, "--epsilon", "1")
        create(sfumato, "--epsilon", "2").failed(4, "exists with another limit")
        sfumato("ledger", "create", "no/b.db", "x", "--epsilon", "1").failed(4, "cannot be opened")
        (tmp_path / "text.db").write_text("this is not a database, though it is long enough to be mistaken for one")
        sfumato("ledger", "create", "text.db", "x", "--epsilon", "1").failed(4, "not a database")
        sfumato("ledger", "create", "b.db", "", "--epsilon", "1").failed(2, "name must be printable text")


@pytest.fixture
def spent(tmp_path):
    ledger = sf.Ledger(tmp_path / "b.db")
    account = ledger.account("clinic", limit=sf.Privacy(epsilon=3))
    ledger.account("other", limit=sf.Privacy(rho=1))
    published(sf.Box([(0, 1)]), sf.Bernstein(2), ledger=account)
    return account


class TestShow:
    def test_accounts(self, sfumato, spent):
        for args in (["ledger", "show", "b.db"], ["--ledger", "b.db", "ledger", "show"]):
            lines = sfumato(*args).out.splitlines()
            assert lines[0].split() == ["account", "left", "spent", "limit", "accountant", "entries"]
            assert "clinic" in lines[1] and "epsilon 2" in lines[1] and lines[1].split()[-1] == "1"
            assert "other" in lines[2] and "rho 1 for replacing one row" in lines[2]
        data = sfumato("ledger", "show", "b.db", "--json").data
        assert [a["account"] for a in data["accounts"]] == ["clinic", "other"]
        assert data["accounts"][0]["left"]["epsilon"] == 2.0 and data["accounts"][0]["limit"]["epsilon"] == 3.0

    def test_history(self, sfumato, spent):
        out = sfumato("ledger", "show", "b.db", "--account", "clinic").out
        assert "other" not in out and "published" in out and "black box" in out and "linf" in out
        assert "nothing was spent yet" in sfumato("ledger", "show", "b.db", "--account", "other").out
        (entry,) = sfumato("ledger", "show", "b.db", "--account", "clinic", "--json").data["history"]
        assert (entry["epsilon"], entry["status"], entry["entry"]) == (1.0, "published", 1)

    def test_the_book_of_random_differential_privacy(self, sfumato, spent):
        spent.charge(Event("linf", 0.5, 0.0, None, None, "replace", "row", confidence=0.9, what="sampled"))
        out = sfumato("ledger", "show", "b.db", "--account", "clinic").out
        assert "clinic (with random)" in out and "epsilon 0.5 (random)" in out and "reserved" in out

    def test_an_empty_ledger(self, sfumato, tmp_path):
        sf.Ledger(tmp_path / "empty.db")
        assert "no accounts yet" in sfumato("ledger", "show", "empty.db").out
        assert "no accounts yet" in sfumato("ledger", "remaining", "empty.db").out
        assert sfumato("ledger", "remaining", "empty.db", "--json").data["accounts"] == []

    @pytest.mark.parametrize("command", ["show", "remaining"])
    def test_errors(self, sfumato, spent, tmp_path, command):
        sfumato("ledger", command).failed(2, "which ledger?")
        sfumato("ledger", command, "nothing.db").failed(4, "there is no such ledger")
        assert not (tmp_path / "nothing.db").exists()
        sfumato("ledger", command, tmp_path).failed(4, "cannot be opened")
        sfumato("ledger", command, "b.db", "--account", "nobody").failed(4, "no account 'nobody'")


class TestRemaining:
    def test_one_and_all(self, sfumato, spent):
        line = "clinic: epsilon 2 left of epsilon 3 for replacing one row (basic accounting)"
        assert sfumato("ledger", "remaining", "--ledger", "b.db", "--account", "clinic").out == f"{line}\n"
        assert sfumato("ledger", "remaining", "b.db").out.splitlines()[0] == line
        data = sfumato("--json", "ledger", "remaining", "b.db", "--account=other").data
        assert data["accounts"][0]["left"] == {
            "words": "rho 1",
            "epsilon": pytest.approx(2**0.5),
            "delta": None,
            "rho": 1.0,
        }


class Context:
    def __init__(self, **given):
        self.obj = Settings(**given)


class TestPayingAccount:
    def test_none_and_one(self, spent, tmp_path):
        assert paying_account(Context()) is None
        assert paying_account(Context(ledger=str(tmp_path / "b.db"), account="clinic")) == spent

    def test_errors(self, spent, tmp_path):
        with pytest.raises(ParameterError, match=r"give --account NAME; .* has 'clinic', 'other'"):
            paying_account(Context(ledger=str(tmp_path / "b.db")))
        with pytest.raises(ParameterError, match="which ledger"):
            paying_account(Context(account="clinic"))
        with pytest.raises(LedgerError, match="no account 'x'"):
            paying_account(Context(ledger=str(tmp_path / "b.db"), account="x"))
        with pytest.raises(LedgerError, match="no such ledger"):
            paying_account(Context(ledger=str(tmp_path / "c.db"), account="x"))


@pytest.mark.slow  # those of other commands start and end the same way
def test_a_process_of_its_own(shell):
    assert shell("ledger", "create", "b.db", "clinic", "--epsilon", "1").returncode == 0
    data = json.loads(shell("ledger", "remaining", "b.db", "--json").stdout)
    assert data["accounts"][0]["left"]["epsilon"] == 1.0
    refused = shell("ledger", "create", "b.db", "clinic", "--epsilon", "2", "--json")
    assert refused.returncode == 4 and "another limit" in json.loads(refused.stderr)["error"]


def test_a_restored_ledger_is_adopted(sfumato, tmp_path):
    sf.Ledger(tmp_path / "b.db").account("clinic", limit=sf.Privacy(epsilon=9.0))
    close_all()
    os.unlink(tmp_path / "b.db-count")
    sfumato("ledger", "remaining", "b.db").failed(4, "'sfumato ledger adopt'")
    assert "count as spent whatever was released" in sfumato("ledger", "adopt", "b.db").out
    assert "epsilon 9 left" in sfumato("ledger", "remaining", "b.db").out
    sfumato("ledger", "adopt", "no.db").failed(4, "there is no such ledger")


class TestEvidence:
    def test_verify_export_import_raise(self, sfumato, tmp_path):
        account = sf.Ledger(tmp_path / "b.db").account("clinic", limit=sf.Privacy(epsilon=3.0))
        published(sf.Box([(0, 1)]), sf.Bernstein(2), ledger=account).save(tmp_path / "r.sfumato")
        seen = sfumato("ledger", "verify", "b.db", "--release", "r.sfumato")
        assert "every seal and link holds" in seen.out and "1 accounts, 1 entries, 1 published" in seen.out
        raised = sfumato("ledger", "raise", "b.db", "--account", "clinic", "--epsilon", "5", "--why", "agreed")
        assert "limit raised" in raised.out
        sfumato("ledger", "raise", "b.db", "--account", "clinic", "--epsilon", "4", "--why", "x").failed(2, "only ever")
        sfumato("ledger", "raise", "b.db", "--epsilon", "9", "--why", "x").failed(2, "which account")
        assert "all facts" in sfumato("ledger", "export", "b.db", "-o", "lines.jsonl").out
        assert "imported" in sfumato("ledger", "import", "lines.jsonl", "c.db").out
        data = json.loads(sfumato("ledger", "verify", "c.db", "--release", "r.sfumato", "--json").out)
        assert (data["count"], data["entries"], data["releases"]) == (4, 1, 1)
        (tmp_path / "lines.jsonl").write_text((tmp_path / "lines.jsonl").read_text().replace("clinic", "clinix", 1))
        sfumato("ledger", "import", "lines.jsonl", "d.db").failed(4, "as it was written")

    def test_plans_and_data(self, sfumato, tmp_path):
        (tmp_path / "a.csv").write_text("age\n1\n")
        create = ("--epsilon", "3", "--delta", "1e-6", "--data", "a.csv")
        made = sfumato("ledger", "create", "b.db", "x", *create, "--accountant", "tight", "--plan", "0.1x*")
        assert "0 of 4" in made.out and "at epsilon 0.1" in made.out
        sfumato("ledger", "create", "b.db", "y", *create).failed(4, "'x' is bound to the same data")
        sfumato("ledger", "create", "b.db", "y", "--epsilon", "3", "--delta", "1e-6", "--accountant", "tight",
                "--plan", "a lot").failed(2, "must be like 0.1x64")  # fmt: skip

    def test_on_a_server(self, sfumato, postgres):
        address = postgres.url(postgres.database())
        sfumato("ledger", "show", address).failed(4, "there is no such ledger")
        made = sfumato("ledger", "create", address, "clinic", "--epsilon", "3")
        assert "created" in made.out and "hush" not in made.out
        data = json.loads(sfumato("ledger", "remaining", "--ledger", address, "--json").out)
        assert data["accounts"][0]["left"]["epsilon"] == 3.0 and "***" in data["ledger"]
