"""What travels from a device to the collector: docs/wire-format.md, with test vectors.

A report is ``version, flags, fingerprint of the protocol, [number of the person], payload``. A batch packs many reports
of consecutive persons under one head: only a gateway that the operator trusts sends one, and may seal it with a key
that both hold. All numbers are little-endian.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError, ParameterTypeError

Payload = NDArray[np.uint8]

VERSION = 2
NUMBERED = 1  # a flag of a report: it carries the number that the device drew for itself
PACKED, SEALED = 1, 2  # flags of a batch: payloads are bits; a seal stands at the end
_HEAD = struct.Struct("<BB8s")
_NUMBER = struct.Struct("<Q")
_BATCH = struct.Struct("<4sBB8sQQ")
BATCH = b"SFMB"  # how a batch begins
SEAL = 32  # bytes
SHORTEST_KEY = 16
LARGEST_BATCH = 2**32
# Every reason for which a collector leaves something out.
REASONS = frozenset(
    {"not bytes", "truncated", "damaged", "another version", "another protocol", "malformed", "another length",
     "no number", "own number", "two numbers", "unknown person", "another first person", "second report", "not sealed",
     "no key", "another key"}
)  # fmt: skip


class RejectedError(Exception):
    """Something that is no report of this protocol: it is counted, and nothing else happens."""


def report_size(width: int, numbered: bool) -> int:
    """How many bytes a report has whose payload has ``width``."""
    return _HEAD.size + (_NUMBER.size if numbered else 0) + width


def pack_report(fingerprint: bytes, payload: bytes, number: int | None) -> bytes:
    """One report."""
    head = _HEAD.pack(VERSION, 0 if number is None else NUMBERED, fingerprint)
    return head + (b"" if number is None else _NUMBER.pack(number)) + payload


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
    if flags not in (0, NUMBERED):
        raise RejectedError("malformed")
    if len(data) != report_size(width, bool(flags)):
        raise RejectedError("another length")
    return data[-width:], _NUMBER.unpack_from(data, _HEAD.size)[0] if flags else None


@dataclass(frozen=True)
class Batch:
    """Reports of persons ``first, first + 1, ...``; payloads are bits, packed, or bytes. It ends at ``stop``."""

    first: int
    count: int
    payload: memoryview
    stop: int


def check_key(key: bytes | None) -> None:
    """Refuse what is no key."""
    if key is not None and not isinstance(key, bytes):
        raise ParameterTypeError.of(
            "key", f"must be bytes that only the gateway and the collector hold, got {type(key)}"
        )
    if key is not None and len(key) < SHORTEST_KEY:
        raise ParameterError.of("key", f"must have {SHORTEST_KEY} bytes or more, got {len(key)}: take 32 random ones")


def seal(key: bytes, data: bytes | memoryview) -> bytes:
    """HMAC-SHA256."""
    return hmac.digest(key, data, hashlib.sha256)


def batch_size(count: int, width: int, bitwise: bool) -> int:
    """How many bytes the payload of a batch has."""
    return (count + 7) // 8 if bitwise else count * width


def pack_batch(fingerprint: bytes, first: int, payload: Payload, bitwise: bool, key: bytes | None = None) -> bytes:
    """Many reports of consecutive persons: ``(m,)`` bits or ``(m, width)`` bytes."""
    body = np.packbits(payload, bitorder="little") if bitwise else payload
    flags = (PACKED if bitwise else 0) | (0 if key is None else SEALED)
    data = _BATCH.pack(BATCH, VERSION, flags, fingerprint, first, len(payload)) + body.tobytes()
    return data if key is None else data + seal(key, data)


def unpack_batches(
    data: object, fingerprint: bytes, width: int, bitwise: bool, key: bytes | None = None, start: int = 0
) -> Iterator[Batch]:
    """The batches of which the data consist; raises ``RejectedError`` at the first thing that is none.

    A head is believed only as far as the bytes that it speaks of are there; with a key, only behind its seal.
    """
    if not isinstance(data, bytes | bytearray | memoryview):
        raise RejectedError("not bytes")
    view = memoryview(data)
    view = view.cast("B") if view.c_contiguous else memoryview(view.tobytes())
    while start < len(view):
        if len(view) - start < _BATCH.size:
            raise RejectedError("truncated")
        magic, version, flags, print_, first, count = _BATCH.unpack_from(view, start)
        if magic != BATCH:
            raise RejectedError("malformed")
        if version != VERSION:
            raise RejectedError("another version")
        if print_ != fingerprint:
            raise RejectedError("another protocol")
        if flags & ~SEALED != (PACKED if bitwise else 0) or count > LARGEST_BATCH:
            raise RejectedError("malformed")
        sealed = bool(flags & SEALED)
        if sealed != (key is not None):
            raise RejectedError("no key" if sealed else "not sealed")
        body = start + _BATCH.size
        end = body + batch_size(count, width, bitwise)
        stop = end + (SEAL if sealed else 0)
        if stop > len(view):
            raise RejectedError("truncated")
        if key is not None and not hmac.compare_digest(seal(key, view[start:end]), bytes(view[end:stop])):
            raise RejectedError("another key")
        yield Batch(first, count, view[body:end], stop)
        start = stop
