"""Keys on the command line: made, signed with, trusted."""

import stat
import sys

import pytest

import sfumato as sf

pytest.importorskip("cryptography")


@pytest.fixture
def made(sfumato, tmp_path):
    (tmp_path / "data.csv").write_text("age\n" + "\n".join(str(20 + i % 60) for i in range(200)) + "\n")
    assert sfumato("keys", "new", "clinic.pem").code == 0
    assert sfumato("keys", "new", "other.pem").code == 0
    return tmp_path


def published(sfumato, *more):
    return sfumato("statistic", "data.csv", "mean", "age", "--column", "age:0:110", "--epsilon", "1", *more)


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are those of POSIX")
def test_a_private_key_is_for_its_owner_alone(made):
    assert stat.S_IMODE((made / "clinic.pem").stat().st_mode) == 0o600


def test_a_key_is_never_replaced(made, sfumato):
    before = (made / "clinic.pem").read_bytes()
    sfumato("keys", "new", "clinic.pem").failed(2, "is there already")
    assert (made / "clinic.pem").read_bytes() == before
    (made / "half.pem.pub").write_text("x")
    sfumato("keys", "new", "half.pem").failed(2, "is there already")
    assert not (made / "half.pem").exists()


def test_what_is_published_with_a_key_is_signed(made, sfumato):
    assert published(sfumato, "--key", "clinic.pem", "-o", "r.sfumato").code == 0
    assert sf.load(made / "r.sfumato", trust=made / "clinic.pem.pub").statistic == "mean"
    who = sfumato("inspect", "r.sfumato", "--json").data["signature"]
    assert who["trusted"] is False
    told = sfumato("inspect", "r.sfumato", "--trust", "clinic.pem.pub", "--trust", "other.pem.pub", "--json").data
    assert told["signature"] == {"key": who["key"], "trusted": True}
    assert "which you trust" in sfumato("inspect", "r.sfumato", "--trust", "clinic.pem.pub").out.replace("\n", " ")
    sfumato("inspect", "r.sfumato", "--trust", "other.pem.pub").failed(3, "signed by another key")


def test_what_is_not_signed_is_refused_by_every_command_that_reads(made, sfumato):
    assert published(sfumato, "-o", "r.sfumato").code == 0
    assert "signature" in sfumato("inspect", "r.sfumato").out
    for command in (["inspect"], ["evaluate"], ["answer"], ["predict"], ["plot"], ["report"]):
        given = {"evaluate": ["data.csv"], "answer": ["mean(age)"], "predict": ["data.csv"]}.get(command[0], [])
        sfumato(*command, "r.sfumato", *given, "--trust", "clinic.pem.pub").failed(3, "not signed")


def test_a_key_that_is_none_is_found_before_anything_is_paid(made, sfumato):
    (made / "none.pem").write_text("nothing")
    result = published(sfumato, "--key", "none.pem", "-o", "r.sfumato")
    result.failed(2, "--key")
    assert not (made / "r.sfumato").exists()
