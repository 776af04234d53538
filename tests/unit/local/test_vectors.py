"""Test vectors: every device must ask, round, flip and pack like this for ever."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from sfumato.local.protocol import from_json
from unit.local.make_vectors import CASES, FILE, KEY, quiet, vectors

STORED = json.loads(FILE.read_text(encoding="utf-8"))


def test_vectors_are_what_this_version_computes():
    assert json.loads(json.dumps(vectors())) == STORED


@pytest.fixture(params=sorted(CASES))
def stored(request):
    return STORED["cases"][request.param]


def test_protocols_can_still_be_read(stored):
    protocol = from_json(stored["protocol"])
    assert protocol.fingerprint.hex() == stored["fingerprint"]
    assert protocol.asked(np.array(stored["users"], dtype=np.uint64)).tolist() == stored["questions"]


def test_stored_reports_are_still_taken(stored):
    protocol = from_json(stored["protocol"])
    one, many = protocol.collector(), protocol.collector()
    for user, report in zip(stored["users"], stored["reports"], strict=True):
        assert one.add(bytes.fromhex(report), user=user)
    assert many.add_batch(bytes.fromhex(stored["batch"]), first_user=100) == len(stored["users"])
    sealed, framed = protocol.collector(), protocol.collector()
    assert sealed.add_batch(bytes.fromhex(stored["sealed batch"]), key=KEY) == len(stored["users"])
    assert framed.add_frames(bytes.fromhex(stored["file head"] + stored["frame"])) == 1
    drawn = replace(protocol, numbers="drawn").collector()
    assert drawn.add(bytes.fromhex(stored["with a number of its own"]))
    assert not one.rejected + many.rejected + sealed.rejected + framed.rejected + drawn.rejected


def test_reports_and_batches_carry_the_same_bits(stored):
    batch = bytes.fromhex(stored["batch"])
    bits = np.unpackbits(np.frombuffer(batch[30:], dtype=np.uint8), count=8, bitorder="little")
    assert [bytes.fromhex(report)[-1] for report in stored["reports"]] == bits.tolist()


def test_devices_compute_the_stored_reports(stored):
    protocol, (first, second) = from_json(stored["protocol"]), quiet()
    with first, second:
        found = [protocol.encode(row, user=u).hex() for row, u in zip(stored["records"], stored["users"], strict=True)]
    assert found == stored["reports"]


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 5.0])
def test_thresholds_are_those_of_the_formula(epsilon):
    """The least whole number of 2**32 words that keeps the odds below e to the epsilon."""
    threshold = STORED["flip threshold"][str(epsilon)]
    assert threshold == math.ceil(2**32 / (1 + math.exp(epsilon)))
    assert (2**32 - threshold) / threshold <= math.exp(epsilon)


def test_all_kinds_are_here():
    assert {case["protocol"]["kind"] for case in STORED["cases"].values()} == {"density", "smooth-queries", "marginals"}
