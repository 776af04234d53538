"""Reports and batches, byte by byte; and everything that is neither is rejected with a reason."""

import hmac
import struct

import numpy as np
import pytest

from sfumato.errors import ParameterError, ParameterTypeError
from sfumato.local.wire import (
    LARGEST_BATCH,
    RejectedError,
    batch_size,
    check_key,
    pack_batch,
    pack_report,
    unpack_batches,
    unpack_report,
)

PRINT = bytes(range(8))
BITS = np.array([1, 0, 1, 1, 0, 0, 0, 1, 1, 1], dtype=np.uint8)


def batches(data, width=1, bitwise=True, key=None):
    return [(b.first, b.count, bytes(b.payload)) for b in unpack_batches(data, PRINT, width, bitwise, key)]


def batch(magic=b"SFMB", version=2, bits=1, print_=PRINT, first=0, count=3, body=b"\x05"):
    return struct.pack("<4sBB8sQQ", magic, version, bits, print_, first, count) + body


# --- one report -------------------------------------------------------------------------------------------------


def test_a_report_is_version_flags_fingerprint_payload():
    assert pack_report(PRINT, b"\x01", None) == b"\x02\x00" + PRINT + b"\x01"


def test_a_report_with_a_number_has_it_in_eight_bytes_least_first():
    report = pack_report(PRINT, b"\x01", 0x0102030405)
    assert report == b"\x02\x01" + PRINT + b"\x05\x04\x03\x02\x01\x00\x00\x00" + b"\x01"


@pytest.mark.parametrize("slot", [None, 0, 17, 2**48 - 1])
@pytest.mark.parametrize("payload", [b"\x00", b"\x01", bytes(24)])
def test_reports_come_back(slot, payload):
    report = pack_report(PRINT, payload, slot)
    for data in (report, bytearray(report), memoryview(report)):
        assert unpack_report(data, PRINT, len(payload)) == (payload, slot)


@pytest.mark.parametrize(
    ("report", "reason"),
    [
        ("text", "not bytes"),
        (None, "not bytes"),
        (17, "not bytes"),
        ([1, 0], "not bytes"),
        (b"", "truncated"),
        (b"\x02\x00" + PRINT[:7], "truncated"),
        (b"\x00\x00" + PRINT + b"\x01", "another version"),
        (b"\x01\x00" + PRINT + b"\x01", "another version"),
        (b"\x02\x00" + PRINT[::-1] + b"\x01", "another protocol"),
        (b"\x02\x02" + PRINT + b"\x01", "malformed"),
        (b"\x02\xff" + PRINT + b"\x01", "malformed"),
        (b"\x02\x00" + PRINT, "another length"),
        (b"\x02\x00" + PRINT + b"\x01\x00", "another length"),
        (b"\x02\x01" + PRINT + b"\x01", "another length"),
        (b"\x02\x00" + PRINT + bytes(8) + b"\x01", "another length"),
    ],
)
def test_what_is_no_report_is_rejected(report, reason):
    with pytest.raises(RejectedError, match=f"^{reason}$"):
        unpack_report(report, PRINT, 1)


# --- batches ----------------------------------------------------------------------------------------------------


def test_a_batch_packs_bits_least_first():
    assert pack_batch(PRINT, 7, BITS, True) == batch(first=7, count=10, body=b"\x8d\x03")


def test_a_batch_of_bytes_has_them_one_after_the_other():
    payload = np.arange(6, dtype=np.uint8).reshape(3, 2)
    assert pack_batch(PRINT, 7, payload, False) == batch(bits=0, first=7, count=3, body=bytes(range(6)))


def test_batches_come_back_one_after_the_other():
    data = (
        pack_batch(PRINT, 0, BITS, True) + pack_batch(PRINT, 10, BITS[:0], True) + pack_batch(PRINT, 10, BITS[:3], True)
    )
    assert batches(data) == [(0, 10, b"\x8d\x03"), (10, 0, b""), (10, 3, b"\x05")]
    assert batches(b"") == []
    assert batches(bytearray(data)) == batches(memoryview(data)) == batches(data)


def test_sizes_of_payloads():
    assert [batch_size(count, 1, True) for count in (0, 1, 8, 9)] == [0, 1, 1, 2]
    assert batch_size(5, 24, False) == 120


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("text", "not bytes"),
        (None, "not bytes"),
        (b"SFMB", "truncated"),
        (batch()[:-2], "truncated"),
        (batch(body=b""), "truncated"),
        (batch(count=9), "truncated"),
        (batch(magic=b"PK\x03\x04"), "malformed"),
        (batch(version=1), "another version"),
        (batch(print_=bytes(8)), "another protocol"),
        (batch(bits=0), "malformed"),
        (batch(bits=7), "malformed"),
        (batch(bits=3), "no key"),
        (batch(magic=b"SFMR", version=1), "malformed"),
        (batch(count=LARGEST_BATCH + 1), "malformed"),
        (batch(count=2**64 - 1), "malformed"),
        (batch(count=LARGEST_BATCH), "truncated"),
        (bytes(30), "malformed"),
        (b"\xff" * 1000, "malformed"),
    ],
)
def test_what_is_no_batch_is_rejected(data, reason):
    with pytest.raises(RejectedError, match=f"^{reason}$"):
        batches(data)


def test_good_batches_come_before_the_bad_one():
    """What follows a bad one cannot be found: a stream ends there."""
    found = unpack_batches(batch() + b"rubbish" + batch(), PRINT, 1, True)
    assert next(found).count == 3
    with pytest.raises(RejectedError, match=r"truncated|malformed"):
        next(found)


# --- seals ------------------------------------------------------------------------------------------------------

KEY = bytes(range(16))


def test_a_seal_is_an_hmac_of_everything_before_it():
    sealed = pack_batch(PRINT, 7, BITS, True, KEY)
    plain = batch(bits=3, first=7, count=10, body=b"\x8d\x03")
    assert sealed == plain + hmac.new(KEY, plain, "sha256").digest()
    assert batches(sealed + sealed, key=KEY) == [(7, 10, b"\x8d\x03")] * 2


def test_nothing_but_what_was_sealed_is_believed():
    sealed = pack_batch(PRINT, 7, BITS, True, KEY)
    for place in range(len(sealed)):
        forged = bytearray(sealed)
        forged[place] ^= 1
        with pytest.raises(RejectedError):
            batches(forged, key=KEY)
    for data, key, reason in ((sealed, None, "no key"), (batch(), KEY, "not sealed"), (sealed, KEY * 2, "another key")):
        with pytest.raises(RejectedError, match=reason):
            batches(data, key=key)


@pytest.mark.parametrize(("key", "error"), [("0123456789abcdef", ParameterTypeError), (b"too short", ParameterError)])
def test_a_key_is_sixteen_bytes_or_more(key, error):
    with pytest.raises(error, match="key must"):
        check_key(key)


def test_a_head_is_believed_as_far_as_the_bytes_are_there():
    """Thirty bytes that speak of four thousand million people are thirty bytes."""
    with pytest.raises(RejectedError, match="truncated"):
        batches(batch(count=LARGEST_BATCH, body=b""))
