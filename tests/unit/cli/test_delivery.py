"""What was paid for arrives, whatever fails after the charge: the release is written, and the command says where."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.cli import delivery
from unit.cli.test_outputs import COMMANDS, PAYING

ARGUMENTS = (*PAYING, "-o", "out/r.sfumato", "--plot", "out/r.png", "--report", "out/r.html")


def full(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture
def here(sfumato, tmp_path, monkeypatch):
    """Records, an account with room, a folder for what comes out and another one for what finds no room there."""
    lines = [f"{20 + i % 60},{'yes' if i % 3 else 'no'},{100 + i % 50},{i % 7}" for i in range(60)]
    (tmp_path / "cohort.csv").write_text("age,ill,bp,ward\n" + "\n".join(lines) + "\n")
    (tmp_path / "out").mkdir()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.setattr(delivery.tempfile, "tempdir", str(tmp_path / "elsewhere"))
    monkeypatch.setattr(delivery, "_ELSEWHERE", ())
    monkeypatch.setenv("HOME", str(tmp_path / "elsewhere"))
    sf.Ledger(tmp_path / "b.db").account("clinic", limit=sf.Privacy(epsilon=9.0))
    return sfumato


def spent(folder):
    return len(sf.Ledger(folder / "b.db").account("clinic").history())


def told(result, *words):
    """It failed after the charge: one line, no traceback, and not the status of a wrong use.

    Noise decides whether it is also said that next to no record may be there.
    """
    assert result.code == 1, (result.code, result.err)
    (line,) = [line for line in result.err.splitlines() if not line.startswith("warning: ")]
    assert line.startswith("error: the release was published")
    for part in words:
        assert part in result.err, (part, result.err)


@pytest.mark.few(1)
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
@pytest.mark.parametrize("broken", ["drawing.files.draw", "pages.write"], ids=["picture", "report"])
def test_a_picture_or_a_page_that_fails_leaves_the_release(here, tmp_path, monkeypatch, command, broken):
    monkeypatch.setattr(f"sfumato.{broken}", full)
    what, name, again = ("the picture", "r.png", "plot") if "draw" in broken else ("the report", "r.html", "report")
    result = here(*command, *ARGUMENTS)
    told(result, "is in out/r.sfumato", f"{what} failed: No space left on device", f"sfumato {again} out/r.sfumato")
    assert sorted(os.listdir(tmp_path / "out")) == sorted({"r.sfumato", "r.png", "r.html"} - {name})
    assert "Published" in result.out and name not in result.out  # what there is, is told
    sf.load(tmp_path / "out" / "r.sfumato")
    steps = 2 if "classify" in command and "naive-bayes" not in command else 1
    assert spent(tmp_path) == steps


def test_an_error_that_nobody_thought_of_is_no_traceback(here, monkeypatch):
    def odd(*_, **__):
        raise RuntimeError("out of ink")

    monkeypatch.setattr("sfumato.drawing.files.draw", odd)
    told(here(*COMMANDS["statistic"], *ARGUMENTS), "the picture failed: RuntimeError: out of ink")


def test_a_full_disk_sends_the_release_elsewhere(here, tmp_path, monkeypatch):
    from sfumato.releases import writer

    write = writer.write_plain
    monkeypatch.setattr(
        writer, "write_plain", lambda path, bytes_: full() if "out/" in str(path) else write(path, bytes_)
    )
    result = here(*COMMANDS["statistic"], *PAYING, "-o", "out/r.sfumato")
    (found,) = (tmp_path / "elsewhere").glob("sfumato-*/r.sfumato")
    told(result, f"is in {found}", "out/r.sfumato could not be written (No space left on device)")
    assert str(found) in result.out and sf.load(found).statistic == "mean"
    assert found.parent.stat().st_mode & 0o077 == 0  # its owner's alone


def test_a_folder_that_vanishes_while_records_are_read(here, tmp_path, monkeypatch):
    real = sf.release

    def slow(*given, **settings):
        release = real(*given, **settings)
        shutil.rmtree(tmp_path / "out")
        return release

    monkeypatch.setattr(sf, "release", slow, raising=False)
    result = here(*COMMANDS["statistic"], *ARGUMENTS)
    (found,) = (tmp_path / "elsewhere").glob("sfumato-*/r.sfumato")
    told(result, f"is in {found}", "there is no such folder", "the picture failed", "the report failed")
    assert spent(tmp_path) == 1 and sf.load(found).statistic == "mean"


def test_where_nothing_can_be_written_that_is_said(here, tmp_path, monkeypatch):
    monkeypatch.setattr("sfumato.releases.writer.write_plain", full)
    told(here(*COMMANDS["statistic"], *PAYING, "-o", "out/r.sfumato"), "it is lost")
    assert os.listdir(tmp_path / "elsewhere") == []


def test_what_cannot_be_read_back_is_beside(here, tmp_path, monkeypatch):
    monkeypatch.setattr("sfumato.releases.value.ValueRelease.rebuild", full)
    monkeypatch.setattr("sfumato.pipeline.rehearse_order", lambda *_: None)  # which would have found out before
    told(here(*COMMANDS["statistic"], *PAYING, "-o", "out/r.sfumato"), "the release is in out/r.sfumato.unread")
    assert os.listdir(tmp_path / "out") == ["r.sfumato.unread"]


def test_interrupting_a_picture_says_where_the_release_is(here, tmp_path, monkeypatch):
    def impatient(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("sfumato.drawing.files.draw", impatient)
    result = here(*COMMANDS["statistic"], *ARGUMENTS)
    assert result.code == 130 and "published and is in out/r.sfumato" in result.err and "interrupted" in result.err
    sf.load(tmp_path / "out" / "r.sfumato")


def test_with_json_the_error_is_json_too(here, monkeypatch):
    import json

    monkeypatch.setattr("sfumato.drawing.files.draw", full)
    result = here(*COMMANDS["statistic"], *ARGUMENTS, "--json")
    assert result.code == 1 and "the picture failed" in json.loads(result.err)["error"]
    shown = json.loads(result.out)
    assert shown["written"] == "out/r.sfumato" and shown["plot"] is None and shown["report"] == "out/r.html"


def test_the_demo_says_so_too(here, tmp_path, monkeypatch):
    monkeypatch.setattr("sfumato.drawing.files.draw", full)
    told(here("demo"), "is in demo/age.sfumato", "the picture failed")
    sf.load(tmp_path / "demo" / "age.sfumato")


DEFECTS = {
    "the release": "releases.value.ValueRelease.__post_init__",
    "its bytes": "releases.value.ValueRelease.rebuild",
    "its words": "faces.value.ValueFace.rows",
    "what it warns of": "faces.value.ValueFace.nothing_there",
}


@pytest.mark.parametrize("place", DEFECTS.values(), ids=DEFECTS)
def test_a_defect_of_ours_shows_before_the_charge(here, tmp_path, monkeypatch, place):
    """Whatever would have failed once the release is paid for fails on made-up records first."""

    def broken(*_, **__):
        raise ZeroDivisionError("out of order")

    monkeypatch.setattr(f"sfumato.{place}", broken)
    here(*COMMANDS["statistic"], *ARGUMENTS).failed(2, "sfumato failed on made-up records where a release would have")
    assert spent(tmp_path) == 0 and not os.listdir(tmp_path / "out")


# --- before the charge -------------------------------------------------------------------------------------------

WARDS = "ward=" + ",".join(map(str, range(7)))
DRAWABLE = {
    "seven groups": ("density", "cohort.csv", "--column", "age:0:110", "--by", WARDS, "--bandwidth", "9"),
    "a polynomial of three columns": (
        *("density", "cohort.csv", "--column", "age:0:110", "--column", "bp:0:300", "--column", "ward:0:9"),
        *("--bandwidth", "30,90,3", "--basis", "bernstein:2"),
    ),
}
UNDRAWABLE = {
    "seven classes": ("classify", "cohort.csv", "--label", WARDS, "--column", "age:0:110", "--landmarks", "4"),
    "a table of three columns": (
        *("statistic", "cohort.csv", "histogram", "--column", "age:0:110"),
        *("--column", "bp:0:300", "--column", "ward:0:9", "--bins", "3"),
    ),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("command", DRAWABLE.values(), ids=DRAWABLE)
def test_what_has_small_panels_is_not_refused(here, tmp_path, command):
    result = here(*command, *PAYING, "-o", "out/r.sfumato", "--plot", "out/r.png")
    assert result.code == 0 and sorted(os.listdir(tmp_path / "out")) == ["r.png", "r.sfumato"], result.err


@pytest.mark.parametrize("command", UNDRAWABLE.values(), ids=UNDRAWABLE)
def test_a_picture_that_cannot_be_drawn_is_refused_before_the_charge(here, tmp_path, command):
    here(*command, *PAYING, "-o", "out/r.sfumato", "--plot", "out/r.png").failed(2, "--plot: a picture")
    assert spent(tmp_path) == 0 and os.listdir(tmp_path / "out") == []


@pytest.mark.parametrize("command", UNDRAWABLE.values(), ids=UNDRAWABLE)
def test_it_is_the_picture_alone_that_is_refused(here, tmp_path, command):
    """What public parameters refuse is what the release itself refuses, and its page does without."""
    result = here(*command, *PAYING, "-o", "out/r.sfumato", "--report", "out/r.html")
    assert result.code == 0, result.err
    here("plot", "out/r.sfumato").failed(2, "a picture")


def test_collect_reads_its_key_before_it_collects(here, tmp_path):
    box = sf.Box({"age": (0, 110)})
    protocol = sf.local.Density(box, epsilon=1.0, lattice=4, seed=1)
    protocol.save(tmp_path / "p.json")
    Path(tmp_path / "reports").write_bytes(b"no report at all")
    failed = here("local", "collect", "p.json", "reports", "--key", "no.pem", "--checkpoint", "c")
    failed.failed(3, "--key: ")
    assert not (tmp_path / "c").exists()


# --- interrupts after the charge ---------------------------------------------------------------------------------


def impatient(*_, **__):
    raise KeyboardInterrupt


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_interrupting_the_rows_of_a_table_leaves_the_release(here, tmp_path, monkeypatch, ending):
    name = {".csv": "to_csv", ".parquet": "to_parquet"}[ending]
    monkeypatch.setattr(f"sfumato.releases.synthetic.table.TableRelease.{name}", impatient)
    result = here(*COMMANDS["synthesize"], *ARGUMENTS, "--data", f"out/rows{ending}")
    assert result.code == 130 and "published and is in out/r.sfumato" in result.err
    assert os.listdir(tmp_path / "out") == ["r.sfumato"] and spent(tmp_path) == 1
    sf.load(tmp_path / "out" / "r.sfumato")


def test_interrupting_a_public_test_leaves_the_release(here, tmp_path, monkeypatch):
    monkeypatch.setattr("sfumato.cli.public_errors.count_errors", impatient)
    shutil.copy("cohort.csv", "open.csv")
    result = here(*COMMANDS["classify"], *ARGUMENTS, "--public-test", "open.csv")
    assert result.code == 130 and "published and is in out/r.sfumato" in result.err
    sf.load(tmp_path / "out" / "r.sfumato")


@pytest.mark.few(7)
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
@pytest.mark.parametrize("place", ["pipeline._finish", "pipeline.nothing_there", "cli.delivery.Delivery._save"])
def test_an_interrupt_between_noise_and_file_waits_for_the_file(here, tmp_path, monkeypatch, command, place):
    """The signal comes once, while the release is worked out, looked at or written."""
    import importlib

    module, name = f"sfumato.{place}".rsplit(".", 1)
    try:
        owner = importlib.import_module(module)
    except ModuleNotFoundError:
        owner = delivery.Delivery
    real, sent = getattr(owner, name), []

    def once(*given, **how):
        if not sent and (name != "_finish" or given[-1] is not None):  # a rehearsal has no receipt
            sent.append(True)
            raise KeyboardInterrupt
        return real(*given, **how)

    monkeypatch.setattr(owner, name, once)
    result = here(*command, *PAYING, "-o", "out/r.sfumato")
    assert sent and result.code == 130 and "published and is in out/r.sfumato" in result.err, result.err
    sf.load(tmp_path / "out" / "r.sfumato")


def test_an_interrupt_before_the_noise_says_what_is_charged(here, tmp_path, monkeypatch):
    monkeypatch.setattr("sfumato.pipeline.publish", impatient)
    monkeypatch.setattr("sfumato.pipeline.rehearse_order", lambda *_: None)
    result = here(*COMMANDS["statistic"], *PAYING, "-o", "out/r.sfumato")
    assert result.code == 130 and "entry 1 of account 'clinic' is charged and counts" in result.err
    assert spent(tmp_path) == 1 and not os.listdir(tmp_path / "out")


# --- one name for two files --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("taken", "words"),
    [
        ("cohort.csv", "cohort.csv is the data"),
        ("r.csv", "r.csv is the file of --output"),
        ("out/../p.csv", "is the file of --report"),
        ("b.csv", "b.csv belongs to the ledger"),
        ("b.csv-wal", "--data must end in"),
    ],
)
def test_rows_are_held_apart_before_the_charge(here, tmp_path, taken, words):
    account = sf.Ledger(tmp_path / "b.csv").account("clinic", limit=sf.Privacy(epsilon=9.0))
    paying = ("--epsilon", "1", "--ledger", "b.csv", "--account", "clinic")
    outputs = ("-o", "r.csv", "--report", "p.csv", "--data", taken, "--force")
    here(*COMMANDS["synthesize"], *paying, *outputs).failed(2, words)
    assert not account.history()
