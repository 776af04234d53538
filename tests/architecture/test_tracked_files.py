"""What is tracked belongs here: nothing that an editor, a merge, a tool or a test left behind."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOP = {".ci", ".gitignore", "CHANGELOG.md", "LICENSE", "Makefile", "README.md", "pyproject.toml"}
FOLDERS = {"benchmarks", "docs", "examples", "src", "tests"}
# Left behind by a patch or a merge, an editor, a tool.
STRAY = re.compile(
    r".*(\.orig|\.rej|\.bak|\.tmp|\.sw[a-p]|~|\.log|\.prof|\.py[co]|\.db|\.sqlite3?|\.part)|.*/?[.]#.*|core"
)
NAME = re.compile(r"[A-Za-z0-9_./-]+")


def listed(*options: str) -> list[str]:
    """The names that ``git ls-files`` prints."""
    try:
        run = subprocess.run(["git", "ls-files", "-z", *options], cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout: nothing is tracked")
    return [name for name in run.stdout.split("\0") if name]


def strays(names: list[str]) -> list[str]:
    """The names that nothing of the project has."""
    known = [name for name in names if name.split("/")[0] in TOP | FOLDERS]
    plain = [name for name in known if NAME.fullmatch(name) and not STRAY.fullmatch(name.split("/")[-1])]
    return [name for name in names if name not in plain]


def test_no_stray_file_is_tracked():
    assert not strays(listed())


def test_nothing_lies_about_that_a_patch_or_an_editor_left():
    """Files that are not tracked yet may have any place, but not the names of leftovers."""
    assert not [name for name in listed("--others", "--exclude-standard") if STRAY.fullmatch(name.split("/")[-1])]


def test_nothing_tracked_is_ignored():
    assert not listed("--cached", "--ignored", "--exclude-standard")


@pytest.mark.parametrize(
    "name",
    [
        "src/sfumato/targets/machine/machine.py.orig",
        "docs/a.md.rej",
        "src/a.py~",
        "left\nbehind",
        "SECRET",
        "tests/.#a.py",
    ],
)
def test_a_stray_name_is_found(name):
    assert strays(["src/sfumato/core/box.py", name]) == [name]
