"""Progress: whatever takes a while says what it is, in its order, and nothing private; on a terminal alone."""

import os
import pty
import re
import sys
from threading import Event

import pytest

from contracts.folding import FOLDING, ROWS, WHOLE, released
from sfumato.cli import output
from sfumato.cli.options import Settings
from sfumato.cli.progress import WatchedEngine
from sfumato.engines.memory import MemoryEngine
from sfumato.steps import step, watched


@pytest.mark.few(8)
@pytest.mark.parametrize("name", [*FOLDING, *WHOLE])
def test_rows_are_counted_for_every_target(name):
    """Each record once, or once for each pass over the columns themselves; a solver's later passes read none."""
    read = []
    released(name, WatchedEngine(read.append))
    assert sum(read) % ROWS == 0 and 1 <= sum(read) // ROWS <= 2


@pytest.mark.few(12)
@pytest.mark.parametrize("name", [*FOLDING, *WHOLE])
def test_every_step_is_told_in_its_order(name):
    told = []
    with watched(told.append):
        released(name, MemoryEngine())
    assert told == ["choosing a basis", told[1], told[2], "working out the release"]
    assert told[1] in ("adding up", "training") and told[2] in ("drawing noise", "choosing in private")


def test_nobody_need_watch():
    step("unseen")


class Context:
    """What a command knows of its options."""

    obj = Settings()


def test_a_step_inside_another_one_is_not_shown_twice(monkeypatch, capsys):
    """A terminal has room for one thing that moves."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(output, "_PATIENCE", 0.0)
    with output.working(Context(), "answering"):
        with output.working(Context(), "reading r.sfumato"):
            Event().wait(0.3)
        Event().wait(0.1)
    shown = capsys.readouterr().err
    assert "answering" in shown and "reading" not in shown
    assert not output._MOVING


PATIENT = "import sfumato.cli.output as output; output._PATIENCE = 0.0; from sfumato.cli.main import run; run()"


def seen(folder, *args):
    """What a person sees of a command on a terminal, without colours and movements, and its exit code."""
    child, terminal = pty.fork()
    if not child:
        os.chdir(folder)
        os.environ |= {"TERM": "xterm", "COLUMNS": "120"}
        os.execv(sys.executable, [sys.executable, "-c", PATIENT, *args])
    parts = []
    while True:
        try:
            parts.append(os.read(terminal, 2**16))
        except OSError:  # the other side has closed
            break
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", b"".join(parts).decode()), status


@pytest.mark.slow  # processes of their own
@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
def test_a_person_at_a_terminal_sees_every_step(tmp_path, neighbours):
    (tmp_path / "cohort.csv").write_text("age\n" + "".join(f"{20 + i % 60}\n" for i in range(200_000)))
    asked = ("density", "cohort.csv", "--column", "age:0:110", "--epsilon", "1", "--neighbours", neighbours)
    shown, status = seen(tmp_path, *asked, "--plot", "d.png", "--report", "d.html")
    assert status == 0
    places = [shown.find(words) for words in ("reading cohort.csv", "drawing", "writing the report", "Published")]
    assert -1 not in places and places == sorted(places)
    before = shown[: places[-1]]
    assert neighbours == "replace" or not re.search(r"\d,?\d* rows", before)  # how many there are is private
    shown, status = seen(tmp_path, "report", "density.sfumato", "-o", "again.html")
    assert status == 0 and "writing the report" in shown
