"""What travels from a device to the collector: docs/wire-format.md, with test vectors.

A report is ``version, flags, fingerprint of the protocol, [number of the person], payload``; a batch packs many reports
of consecutive persons under one header. All numbers are little-endian.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Payload = NDArray[np.uint8]

VERSION = 1
SLOTTED = 1  # the report carries the number that the device drew for itself
_HEAD = struct.Struct("<BB8s")
_SLOT = struct.Struct("<Q")
_BATCH = struct.Struct("<4sBB8sQQ")
_MAGIC = b"SFMR"
LARGEST_BATCH = 2**32


class RejectedError(Exception):
    """A report that is not one of this protocol: it is counted, and nothing else happens."""


def pack_report(fingerprint: bytes, payload: bytes, slot: int | None) -> bytes:
    """One report."""
    head = _HEAD.pack(VERSION, 0 if slot is None else SLOTTED, fingerprint)
    return head + (b"" if slot is None else _SLOT.pack(slot)) + payload


def unpack_report(report: object, fingerprint: bytes, width: int) -> tuple[bytes, int | None]:
    """The payload of one report, and the number that it carries, if any."""
    if not isinstance(report, bytes | bytearray | memoryview):
        raise RejectedError("not bytes")
    data = bytes(report)
    if len(data) < _HEAD.size:
        raise RejectedError("truncated")
    version, flags, print_ = _HEAD.unpack_from(data)
    if version != VERSION:
        raise RejectedError("another version")
    if print_ != fingerprint:
        raise RejectedError("another protocol")
    if flags not in (0, SLOTTED):
        raise RejectedError("malformed")
    start = _HEAD.size + (_SLOT.size if flags else 0)
    if len(data) != start + width:
        raise RejectedError("another length")
    return data[start:], _SLOT.unpack_from(data, _HEAD.size)[0] if flags else None


@dataclass(frozen=True)
class Batch:
    """Reports of persons ``first, first + 1, ...``; payloads are bits, packed, or bytes."""

    first: int
    count: int
    payload: memoryview


def batch_size(count: int, width: int, bitwise: bool) -> int:
    """How many bytes the payload of a batch has."""
    return (count + 7) // 8 if bitwise else count * width


def pack_batch(fingerprint: bytes, first: int, payload: Payload, bitwise: bool) -> bytes:
    """Many reports of consecutive persons: ``(m,)`` bits or ``(m, width)`` bytes."""
    body = np.packbits(payload, bitorder="little") if bitwise else payload
    return _BATCH.pack(_MAGIC, VERSION, int(bitwise), fingerprint, first, len(payload)) + body.tobytes()


def unpack_batches(data: object, fingerprint: bytes, width: int, bitwise: bool) -> Iterator[Batch]:
    """The batches of which the data consist; raises ``RejectedError`` at the first thing that is none."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise RejectedError("not bytes")
    view, start = memoryview(data), 0
    view = view.cast("B") if view.c_contiguous else memoryview(view.tobytes())
    while start < len(view):
        if len(view) - start < _BATCH.size:
            raise RejectedError("truncated")
        magic, version, bits, print_, first, count = _BATCH.unpack_from(view, start)
        if magic != _MAGIC:
            raise RejectedError("malformed")
        if version != VERSION:
            raise RejectedError("another version")
        if print_ != fingerprint:
            raise RejectedError("another protocol")
        size = batch_size(count, width, bitwise)
        if bits != int(bitwise) or count > LARGEST_BATCH:
            raise RejectedError("malformed")
        start += _BATCH.size
        if len(view) - start < size:
            raise RejectedError("truncated")
        yield Batch(first, count, view[start : start + size])
        start += size
