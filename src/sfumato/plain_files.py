"""Plain files, opened without waiting, read up to a limit and written whole: what devices and servers share.

A path may lead to a pipe that never speaks, a device, or a file of a terabyte without a byte on the disk. All of these
are refused before anything is read. Standard library only.
"""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path
from typing import BinaryIO

from sfumato.checks import shown
from sfumato.errors import FileFormatError, MissingFileError, ParameterTypeError


def open_plain(path: str | os.PathLike[str], solid: bool = True) -> BinaryIO:
    """A file that is open for reading; pipes, devices, folders and, if ``solid``, files with holes are refused at once.

    >>> open_plain("no-such-file")
    Traceback (most recent call last):
    ...
    sfumato.errors.MissingFileError: no-such-file: there is no such file
    """
    name = os.fspath(_checked(path))
    try:
        if not stat.S_ISREG(os.stat(name).st_mode):  # opening a pipe waits, opening a device may do anything
            raise FileFormatError(f"{name}: a folder, a pipe or a device, not a plain file")
        file = open(name, "rb", opener=_without_waiting)  # noqa: SIM115 the caller closes it
    except FileNotFoundError:
        raise MissingFileError(f"{name}: there is no such file") from None
    except OSError as error:
        raise FileFormatError(f"{name}: cannot be read ({error.strerror})") from None
    try:
        _check_solid(file.fileno(), name, solid)
    except BaseException:
        file.close()
        raise
    return file


def read_plain(path: str | os.PathLike[str], largest: int, what: str) -> bytes:
    """All bytes of a plain file, refusing one of more than ``largest`` bytes; errors say ``what`` it should be."""
    with open_plain(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > largest:
            raise FileFormatError(f"{os.fspath(path)}: too large for {what} ({size} bytes, at most {largest})")
        return file.read(size)  # never more than was seen, whoever writes meanwhile


def write_plain(path: str | os.PathLike[str], payload: bytes, private: bool = False) -> None:
    """Write a whole file: a crash leaves the old one or none, never half of it, and a link is replaced, not followed.

    Parameters
    ----------
    private
        Whether only its owner may read it; else the umask says who may.
    """
    target = _checked(path)
    if not target.parent.is_dir():
        raise MissingFileError(f"{target}: there is no such folder")
    # In a folder of its own the file is made under the umask, and nobody else can put another in its place.
    folder = tempfile.mkdtemp(dir=target.parent, prefix=".sfumato-")
    temporary = os.path.join(folder, "whole")
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666)
        with os.fdopen(handle, "wb") as file:
            file.write(payload)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    finally:
        Path(temporary).unlink(missing_ok=True)
        os.rmdir(folder)


def _checked(path: str | os.PathLike[str]) -> Path:
    if not isinstance(path, str | os.PathLike):
        raise ParameterTypeError(f"path must be a file's path, got path={shown(path)}")
    return Path(path)


def _check_solid(handle: int, name: str, solid: bool) -> None:
    """Refuse what has become something else since it was looked at, and what has holes."""
    seen = os.fstat(handle)
    if not stat.S_ISREG(seen.st_mode):
        raise FileFormatError(f"{name}: not a plain file")
    # Where a file system does not know of holes, the first one is said to be at the end.
    if solid and hasattr(os, "SEEK_HOLE") and seen.st_size and os.lseek(handle, 0, os.SEEK_HOLE) < seen.st_size:
        raise FileFormatError(f"{name}: has holes, stretches of its {seen.st_size} bytes that nobody wrote")
    os.lseek(handle, 0, os.SEEK_SET)


def _without_waiting(name: str, flags: int) -> int:
    """Open a file that may have become a pipe since it was looked at."""
    return os.open(name, flags | getattr(os, "O_NONBLOCK", 0))
