"""A file of reports: a server frames each message as it comes, and no message can reach beyond its own frame.

A frame is ``checksum, length, number of the person, message``: docs/wire-format.md. The server writes all but the
message, and a length is never more than a report of the protocol has. What is damaged is left out, and reading goes on
at the next frame that is whole. Every byte is looked at a bounded number of times, whatever it says.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol as Interface

from sfumato.errors import FileFormatError
from sfumato.local.wire import BATCH, VERSION

_FILE = struct.Struct("<4sB3x8s")
_FRAME = struct.Struct("<LLQ")
_MAGIC = b"SFMF"
_NOBODY = 2**64 - 1  # no number was given: the message brings its own
_BEFORE_PRINT = 2  # bytes of a report before its fingerprint: version and flags
_OLD = b"SFMR"  # how a batch of version 1 began
_BLOCK = 2**12  # frames at a time,
_BLOCK_BYTES = 2**22  # or so many bytes of them


class View(Interface):
    """Bytes, or a file that looks like them."""

    def __len__(self) -> int: ...
    def __getitem__(self, part: slice, /) -> bytes: ...
    def find(self, sub: bytes, start: int, /) -> int: ...


def file_head(fingerprint: bytes) -> bytes:
    """How a file of reports of a protocol begins."""
    return _FILE.pack(_MAGIC, VERSION, fingerprint)


def pack_frame(message: bytes, user: int | None, largest: int) -> bytes:
    """One message in its frame; of one that is longer than any report only a beginning, which is none."""
    kept = bytes(message[: largest + 1])
    rest = struct.pack("<LQ", len(kept), _NOBODY if user is None else user) + kept
    return struct.pack("<L", zlib.crc32(rest)) + rest


def begin(view: View, fingerprint: bytes) -> int:
    """Where the first frame is, or 0 if the head is not written yet; refuses a file of another kind or protocol."""
    head, found = file_head(fingerprint), view[: _FILE.size]
    if found == head:
        return _FILE.size
    if found[:4] in (BATCH, _OLD):
        raise FileFormatError(
            "a gateway's batches, not single reports: add them as such (add_batch, --gateway), if you trust whoever "
            "wrote them"
        )
    if head.startswith(found):
        return 0
    if found[:4] != _MAGIC:
        raise FileFormatError("not a file of reports")
    if found[4:5] != head[4:5]:
        raise FileFormatError(f"a file of reports of version {found[4]}, this sfumato reads version {VERSION}")
    raise FileFormatError("a file of reports of another protocol")


@dataclass(frozen=True)
class Block:
    """Some messages, each with the number of its person; everything before ``stop`` is told.

    ``damaged`` stretches were left out; ``unread`` bytes at the very end are no frame yet.
    """

    stop: int
    messages: list[tuple[bytes, int | None]]
    damaged: int
    unread: int = 0


def blocks(view: View, start: int, fingerprint: bytes, largest: int) -> Iterator[Block]:
    """The messages of a file from a place on, in blocks; the last one tells what is unread."""
    place, damaged, size = start, 0, 0
    messages: list[tuple[bytes, int | None]] = []
    while place < len(view):
        frame = _frame(view, place, largest)
        if frame is None:
            after = _next(view, place + 1, fingerprint, largest)
            if after is None:
                break
            damaged, place = damaged + 1, after
            continue
        message, user = frame
        messages.append((message, user))
        place += _FRAME.size + len(message)
        size += len(message)
        if len(messages) >= _BLOCK or size >= _BLOCK_BYTES:
            yield Block(place, messages, damaged)
            messages, damaged, size = [], 0, 0
    yield Block(place, messages, damaged, len(view) - place)


def _frame(view: View, place: int, largest: int) -> tuple[bytes, int | None] | None:
    """The message and the person of a frame that begins here and is whole."""
    head = view[place : place + _FRAME.size]
    if len(head) < _FRAME.size:
        return None
    checksum, length, user = _FRAME.unpack(head)
    if length > largest + 1:
        return None
    message = view[place + _FRAME.size : place + _FRAME.size + length]
    if len(message) < length or zlib.crc32(message, zlib.crc32(head[4:])) != checksum:
        return None
    return message, None if user == _NOBODY else user


def _next(view: View, start: int, fingerprint: bytes, largest: int) -> int | None:
    """Where the next whole frame with a report of this protocol begins; the search never turns back."""
    ahead = _FRAME.size + _BEFORE_PRINT
    found = view.find(fingerprint, start + ahead)
    while found >= 0:
        if _frame(view, found - ahead, largest) is not None:
            return found - ahead
        found = view.find(fingerprint, found + 1)
    return None
