"""What the README shows runs as it is printed, in the folder that the demo leaves."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sfumato.cli.app import app

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", README, re.M | re.S)
SNIPPETS = [text for language, text in BLOCKS if language == "python"]
LINES = [line for language, text in BLOCKS if not language for line in text.splitlines() if line.startswith("sfumato ")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What ``make demo`` leaves."""
    made = tmp_path_factory.mktemp("demo")
    result = CliRunner().invoke(app, ["demo", "--folder", str(made)])
    assert result.exit_code == 0, result.output
    return made


def test_there_is_something_to_run():
    assert len(LINES) > 15 and len(SNIPPETS) > 5


@pytest.mark.slow
def test_every_command_runs(folder, monkeypatch):
    monkeypatch.chdir(folder)
    for line in LINES:
        result = CliRunner().invoke(app, shlex.split(line, comments=True)[1:])
        assert result.exit_code == 0, f"{line}\n{result.output}"


@pytest.mark.slow
def test_every_snippet_runs(folder):
    """One after the other, in one program, as somebody would paste them."""
    program = "\n".join(SNIPPETS)
    shown = subprocess.run(
        [sys.executable, "-W", "error::sfumato.errors.NothingThereWarning", "-c", program],
        cwd=folder,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert shown.returncode == 0, shown.stderr
