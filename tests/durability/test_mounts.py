"""One file mounted in two places, as containers do it: never two budgets. Needs the right to mount."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

import sfumato as sf
from sfumato.accounting.store import close_all

MOUNTED = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'
SPEND = """
import sys
import sfumato as sf
from sfumato.accounting import location
from sfumato.accounting.events import event_of_grant
if sys.argv[3] == "blind":
    location.mounted_alone = lambda path: False
try:
    account = sf.Ledger(sys.argv[1]).account("clinic", limit=sf.Privacy(epsilon=1.0))
    print("ready", flush=True)
    sys.stdin.readline()
    account.charge(event_of_grant(sf.Privacy(epsilon=float(sys.argv[2]))))
    print("charged")
except sf.errors.LedgerError as error:
    print(type(error).__name__, error)
"""


def can_mount() -> bool:
    command = ["unshare", "-m", "sh", "-c", "mount --bind /proc/self/mountinfo /proc/self/mountinfo || exit 1"]
    return shutil.which("unshare") is not None and subprocess.run(command, capture_output=True).returncode == 0


pytestmark = pytest.mark.skipif(not can_mount(), reason="no right to mount here")


def spender(path, epsilon, how="seeing", mount=()):
    """A process that opens the ledger, and charges when it is told to; perhaps in a world with a mount of its own."""
    command = [sys.executable, "-c", SPEND, str(path), str(epsilon), how]
    if mount:
        command = ["unshare", "-m", "sh", "-c", MOUNTED, "sh", *map(str, mount), *command]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.fixture
def places(tmp_path):
    for name in ("host", "container"):
        (tmp_path / name).mkdir()
    return tmp_path / "host" / "budget.db", tmp_path / "container" / "budget.db"


def test_a_file_that_is_mounted_by_itself_is_refused(places):
    host, container = places
    sf.Ledger(host).account("clinic", limit=sf.Privacy(epsilon=1.0))
    container.touch()
    told = spender(container, 1.0, mount=(host, container)).communicate("\n", timeout=60)[0]
    assert told.startswith("LedgerError") and "mount its folder instead" in told


@pytest.mark.slow
def test_a_folder_that_is_mounted_is_fine(places):
    host, container = places
    account = sf.Ledger(host).account("clinic", limit=sf.Privacy(epsilon=1.0))
    told = spender(container, 1.0, mount=(host.parent, container.parent)).communicate("\n", timeout=60)[0]
    assert told.split() == ["ready", "charged"]
    assert account.remaining().epsilon == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("first", ["host", "container", "nobody"])
def test_who_does_not_see_the_mount_misses_the_counter(places, first):
    """Both sides open one file at once, by two folders, and neither is told of the mount: one of them is charged."""
    host, container = places
    host.touch()
    container.touch()
    if first == "host":
        sf.Ledger(host).account("clinic", limit=sf.Privacy(epsilon=1.0))
        close_all()
    if first == "container":
        spender(container, 0.125, "blind", mount=(host, container)).communicate("\n", timeout=60)
    sides = [spender(host, 0.875), spender(container, 0.875, "blind", mount=(host, container))]
    told = [side.communicate("\n", timeout=60)[0] for side in sides]
    assert sum("charged" in words for words in told) == 1
    assert sum("lost its counter" in words for words in told) == 1


@pytest.mark.slow
def test_a_copy_is_not_adopted_while_the_other_side_has_it_open(places, monkeypatch):
    host, container = places
    account = sf.Ledger(host).account("clinic", limit=sf.Privacy(epsilon=1.0))
    assert account.remaining().epsilon == 1.0
    container.touch()
    adopting = SPEND.replace("sf.Ledger(sys.argv[1])", "sf.Ledger.adopt(sys.argv[1])")
    adopting = adopting.replace(
        "import sys", "import sys\nfrom sfumato.accounting import store\nstore._WAIT_SECONDS = 0.1"
    )
    command = ["unshare", "-m", "sh", "-c", MOUNTED, "sh", str(host), str(container), sys.executable, "-c", adopting]
    told = subprocess.run(
        [*command, str(container), "1", "blind"], input="\n", capture_output=True, text=True, timeout=60
    )
    assert told.stdout.startswith("LedgerError") and "another process" in told.stdout
    assert os.path.exists(f"{host}-count") and not os.path.exists(f"{container}-count")
