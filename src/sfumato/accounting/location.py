"""Which files can hold a ledger: one regular file with one name, in a folder that all who use it share."""

from __future__ import annotations

import os
import stat

from sfumato.errors import LedgerError

PAGE = 4096  # SQLite's files are whole pages
_SPARSE = 64  # times as long as it is on disk: more than any file system compresses a ledger
_OWNER = 0o600
_GROUP = 0o660


def prepare(path: str) -> None:
    """Refuse what cannot be a ledger, before SQLite opens it; a new file is its owner's alone."""
    real = os.path.realpath(path)
    try:
        # Exclusively: a file that is there must not be opened beside SQLite, see file_of.
        handle = os.open(real, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _OWNER)
        os.fchmod(handle, _OWNER)  # whatever the umask
        os.close(handle)
    except FileExistsError:
        pass
    except OSError:
        why = "it cannot be opened; does its folder exist and may you write there?"
        raise LedgerError(f"the ledger {path} refused, nothing was released: {why}") from None
    found = os.stat(real)
    if not stat.S_ISREG(found.st_mode):
        raise LedgerError(f"{path} cannot be opened as a ledger, it is not a regular file; choose another path")
    if found.st_size > _SPARSE * max(found.st_blocks * 512, PAGE):
        raise LedgerError(f"{path} is mostly a hole: no ledger; restore a backup or choose another path")
    if mounted_alone(real):
        raise LedgerError(
            f"{path} is mounted by itself (docker -v budget.db:...), so its log and its counter would lie in another "
            f"folder than for those who use it elsewhere; mount its folder instead (docker -v folder:...)"
        )


def mounted_alone(path: str) -> bool:
    """Whether a file is a mount point by itself: a bind mount of one file, as containers make them."""
    mounts = _mount(path), _mount(os.path.dirname(path))
    if None not in mounts:
        return mounts[0] != mounts[1]
    return os.stat(path).st_dev != os.stat(os.path.dirname(path)).st_dev


def _mount(path: str) -> str | None:
    """The number of the mount through which a path is reached; None where the system does not tell."""
    if not hasattr(os, "O_PATH"):
        return None
    handle = os.open(path, os.O_PATH | os.O_CLOEXEC)  # closing such a handle drops no locks
    try:
        with open(f"/proc/self/fdinfo/{handle}") as file:
            return next((line.split()[1] for line in file if line.startswith("mnt_id:")), None)
    except OSError:
        return None
    finally:
        os.close(handle)


def file_of(path: str) -> tuple[int, int]:
    """Which file a path leads to. A hard link would have a log of its own, and so a second budget: refused.

    The file is never opened to look into it: closing it again would drop the locks that SQLite holds on it in this
    process, and another process could throw away the log.
    """
    try:
        found = os.stat(path)
    except OSError:
        return (0, 0)
    if not found.st_size or found.st_size % PAGE:
        return (0, 0)  # not a database any more: something has written over it
    if found.st_nlink > 1:
        raise LedgerError(f"{path} has {found.st_nlink} hard links; a ledger must have one name, use symbolic links")
    return found.st_dev, found.st_ino


def tighten(path: str) -> None:
    """Take a file from everybody but its owner, and its group if that may write: somebody shares it on purpose."""
    mode = stat.S_IMODE(os.stat(path).st_mode)
    kept = mode & (_GROUP if mode & stat.S_IWGRP else _OWNER)
    if kept != mode:
        try:
            os.chmod(path, kept)
        except OSError as error:
            raise LedgerError(f"{path}: only its owner may upgrade the ledger ({error.strerror})") from None
