"""A runner for the command line, and a few small releases to run it on."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache

import pytest
from typer import testing
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.app import app
from unit.cli.support import published, renamed


class Result:
    """What a command did; ``data`` is its JSON document."""

    def __init__(self, result):
        self.code, self.out, self.err = result.exit_code, result.stdout, result.stderr
        # Anything but SystemExit is a traceback for the user.
        assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)

    @property
    def data(self):
        assert self.code == 0, self.err
        return json.loads(self.out)

    def failed(self, code, words):
        """It failed with one line."""
        assert self.code == code, (self.code, self.err)
        assert self.err.startswith("error: ") and self.err.count("\n") == 1
        assert words in self.err
        assert self.out == ""


@pytest.fixture(scope="session", autouse=True)
def _one_tree():
    """Commands and their options are made of the same functions at each call, which takes longer than most commands."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(testing, "_get_command", cache(testing._get_command))
        yield


@pytest.fixture
def sfumato(tmp_path, monkeypatch):
    """Run a command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*args, input=None):
        return Result(CliRunner().invoke(app, [str(arg) for arg in args], input=input))

    return run


@pytest.fixture
def shell(tmp_path):
    """Run a command in a process of its own."""

    def run(*args, **settings):
        command = [sys.executable, "-m", "sfumato.cli", *map(str, args)]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, **settings)

    return run


@pytest.fixture
def curve(tmp_path):
    """A release of one named column."""
    release = published(sf.Box([(0, 110)]), sf.Bernstein(4))  # data without names need a box without
    named = renamed(release, sf.Box({"age": (0, 110)}))
    named.save(tmp_path / "curve.sfumato")
    return tmp_path / "curve.sfumato"


@pytest.fixture
def surface(tmp_path):
    """A release of two columns without names."""
    published(sf.Box([(0, 1), (0, 2)]), sf.Bernstein((2, 3), order=2)).save(tmp_path / "surface.sfumato")
    return tmp_path / "surface.sfumato"
