"""The counter beside a ledger: how many rows were written, so that a ledger that lost some is noticed.

It is written after every commit and before a charge returns. So it is never ahead of the database, unless the
database has lost something: a copy from yesterday, a log that was deleted, a new file under the old name. Whoever
writes holds it alone: two processes whose logs are not the same file still meet here.

Two slots, written in turn, each with a check of its own: a power cut in the middle of one leaves the other.
"""

from __future__ import annotations

import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256

from sfumato.accounting.seal import State
from sfumato.codec import write_plain
from sfumato.errors import LedgerError

RESTORE = (
    "nothing was released. Bring back the newest ledger and its -count together; if this is the newest that there is, "
    "count what is missing as spent, and make it a ledger of its own with 'sfumato ledger adopt'"
)
_SUFFIX = "-count"
_SLOT = 512  # a disk writes a sector whole or not at all
_sync = getattr(os, "fdatasync", os.fsync)


def counter_of(path: str) -> str:
    """Where the counter of a ledger lies: beside the file itself, not beside a symbolic link to it."""
    return os.path.realpath(path) + _SUFFIX


def read(counter: str) -> State | None:
    """The newest state that was written; None if there is no counter."""
    try:
        handle = os.open(counter, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unusable(counter, error.strerror) from None
    try:
        return _newest(handle, counter)[1]
    finally:
        os.close(handle)


def write_new(counter: str, state: State, like: str | None) -> None:
    """Write a new counter, whole or not at all, for those who may use the file ``like``; for its owner if None."""
    try:
        write_plain(counter, _line(state) * 2, private=like is None, like=like)
    except OSError as error:
        raise _unusable(counter, error.strerror) from None


class Held:
    """A counter that nobody else can write."""

    def __init__(self, counter: str, handle: int) -> None:
        self._counter, self._handle = counter, handle
        self._slot, self.seen = _newest(handle, counter)

    def advance(self, state: State) -> None:
        """Record a state, unless a later one is there already."""
        if state.count <= self.seen.count:
            return
        try:
            os.pwrite(self._handle, _line(state), _SLOT * (1 - self._slot))
            _sync(self._handle)
        except OSError as error:
            why = f"its counter cannot be written ({error.strerror}); nothing was released"
            raise LedgerError(f"{_ledger_of(self._counter)}: the charge is on disk and counts, but {why}") from None


@contextmanager
def holding(counter: str, seconds: float) -> Iterator[Held]:
    """Hold a counter alone, waiting for it no longer than some seconds."""
    try:
        handle = os.open(counter, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise missing(counter) from None
    except OSError as error:
        raise _unusable(counter, error.strerror) from None
    try:
        _lock(handle, counter, seconds)
        yield Held(counter, handle)
    finally:
        os.close(handle)  # which lets go of it


def _lock(handle: int, counter: str, seconds: float) -> None:
    end, pause = time.monotonic() + seconds, 0.0005
    while True:
        try:
            return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                raise _unusable(counter, f"another process has held it for {seconds:g} seconds") from None
        except OSError as error:
            raise _unusable(counter, error.strerror) from None
        time.sleep(pause)
        pause = min(2 * pause, 0.02)


def agree(counter: str, now: State, seen: State | None) -> None:
    """Refuse a ledger that has lost what its counter has seen."""
    if seen is None:
        raise missing(counter)
    if seen.identity != now.identity:
        raise other(counter)
    if seen.count > now.count:
        lost = f"has {now.count} rows, and its counter has seen {seen.count}: some are lost"
        raise LedgerError(f"{_ledger_of(counter)} {lost}; {RESTORE}")


def missing(counter: str) -> LedgerError:
    """What to say of a ledger without its counter."""
    return LedgerError(
        f"{_ledger_of(counter)} has lost its counter, {os.path.basename(counter)}, or is a copy; {RESTORE}"
    )


def other(counter: str) -> LedgerError:
    """What to say of a ledger beside the counter of another."""
    return LedgerError(f"{_ledger_of(counter)} is not the ledger that its counter belongs to; {RESTORE}")


def _ledger_of(counter: str) -> str:
    return counter.removesuffix(_SUFFIX)


def _newest(handle: int, counter: str) -> tuple[int, State]:
    """The slot that was written last, and what it says."""
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode) or found.st_size != 2 * _SLOT:
        raise _unusable(counter, "it is not a counter of sfumato's")
    text = os.pread(handle, 2 * _SLOT, 0)
    slots = [(slot, _parsed(text[slot * _SLOT : (slot + 1) * _SLOT])) for slot in (0, 1)]
    whole = [(slot, state) for slot, state in slots if state is not None]
    if not whole:
        raise _unusable(counter, "it is damaged")
    return max(whole, key=lambda pair: pair[1].count)


def _line(state: State) -> bytes:
    text = f"{state.identity} {state.count} {state.head}"
    return f"{text} {sha256(text.encode()).hexdigest()}".ljust(_SLOT - 1).encode() + b"\n"


def _parsed(line: bytes) -> State | None:
    """What a slot says; None if it was not written whole."""
    try:
        identity, count, head, _ = line.decode("ascii").split()
        state = State(identity, int(count), head)
    except ValueError:
        return None
    return state if _line(state) == line else None


def _unusable(counter: str, why: str | None) -> LedgerError:
    return LedgerError(f"{counter}, the ledger's counter, cannot be used ({why}); {RESTORE}")
