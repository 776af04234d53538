"""Files of reports: no message reaches beyond its frame, what is damaged costs itself only, and reading is linear."""

import struct
import zlib

import numpy as np
import pytest

from sfumato.errors import FileFormatError, ParameterError, ParameterTypeError
from sfumato.local import frames
from sfumato.local.frames import begin, blocks, file_head, pack_frame
from sfumato.local.wire import pack_batch, pack_report
from unit.local.support import P, same

PRINT = P.fingerprint
GOOD = pack_report(PRINT, b"\x01", None)
HEAD = 16


def told(data, start=HEAD, largest=P.longest):
    """All messages, how many stretches were damaged, what is unread."""
    found = list(blocks(data, start, PRINT, largest))
    return [m for b in found for m in b.messages], sum(b.damaged for b in found), found[-1].unread


def framed(count, first=0):
    return [P.frame(GOOD, user=first + i) for i in range(count)]


# --- bytes ------------------------------------------------------------------------------------------------------


def test_a_frame_is_checksum_length_person_message():
    rest = struct.pack("<LQ", 11, 7) + GOOD
    assert P.frame(GOOD, user=7) == struct.pack("<L", zlib.crc32(rest)) + rest
    assert P.file_head == b"SFMF\x02\x00\x00\x00" + PRINT
    assert told(P.file_head + P.frame(GOOD, user=7) + P.frame(b"")) == ([(GOOD, 7), (b"", None)], 0, 0)


@pytest.mark.parametrize("user", [-1, 2**20, "3", 1.5, True])
def test_frames_are_for_persons_of_the_protocol(user):
    with pytest.raises((ParameterError, ParameterTypeError)):
        P.frame(GOOD, user=user)


@pytest.mark.parametrize("length", [0, 1, 10, 11, 12, 13, 100, 10**6])
def test_of_a_message_that_is_too_long_a_beginning_is_kept_that_is_no_report(length):
    frame = P.frame(GOOD + bytes(length), user=7)
    assert len(frame) <= 16 + P.longest + 1
    collector = P.collector()
    assert collector.add_frames(P.file_head + frame + P.frame(GOOD, user=8)) == (1 if length else 2)
    assert collector.rejected == ({"another length": 1} if length else {})


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (pack_batch(PRINT, 0, np.ones(9, dtype=np.uint8), True), "a gateway's batches"),
        (b"SFMR\x01\x01" + PRINT + bytes(16), "a gateway's batches"),
        (b"\x01\x01" + PRINT + bytes(9), "not a file of reports"),
        (GOOD, "not a file of reports"),
        (b"SFMF\x01\x00\x00\x00" + PRINT, "version 1, this sfumato reads version 2"),
        (b"SFMF\x02\x00\x00\x00" + bytes(8), "of another protocol"),
        (b"SFMF\x02\x00\x00\x01" + PRINT, "of another protocol"),
    ],
)
def test_other_files_are_refused_with_the_reason(data, words):
    with pytest.raises(FileFormatError, match=words):
        P.collector().add_frames(data)


def test_a_head_that_is_not_written_yet_is_no_error():
    for size in range(HEAD):
        assert begin(P.file_head[:size], PRINT) == 0
        assert P.collector().add_frames(P.file_head[:size]) == 0
    assert begin(P.file_head, PRINT) == HEAD


# --- the takeover -----------------------------------------------------------------------------------------------


def test_one_message_cannot_take_over_a_collection():
    """Thirty bytes that say "2,889,000 people follow", among 2,000 honest reports: one rejected message."""
    takeover = b"SFMR\x01\x01" + PRINT + (10**6).to_bytes(8, "little") + (2_889_000).to_bytes(8, "little")
    newer = pack_batch(PRINT, 0, np.ones(0, dtype=np.uint8), True)[:22] + (2_889_000).to_bytes(8, "little")
    honest = framed(2000)
    alone, attacked = P.collector(), P.collector()
    assert alone.add_frames(P.file_head + b"".join(honest)) == 2000
    sent = [*honest[:700], P.frame(takeover, user=5000), *honest[700:900], P.frame(newer, user=5001), *honest[900:]]
    assert attacked.add_frames(P.file_head + b"".join(sent)) == 2000
    assert attacked.rejected == {"another version": 2}
    attacked.rejected.clear()
    assert same(alone, attacked)


def test_no_message_hides_or_adds_another_report():
    """Whatever one sender says, everybody else's reports are the same, and the sender counts once at most."""
    generator, others = np.random.default_rng(4), framed(6, first=10)
    evil = [P.frame(GOOD, user=3), P.frame(GOOD, user=3)[:-1], P.file_head, b"".join(framed(3)), GOOD * 3, b""]
    evil += [generator.bytes(int(generator.integers(0, 60))) for _ in range(100)]
    evil += [PRINT * k for k in range(1, 9)] + [struct.pack("<LLQ", 0, k, 1) for k in (0, 11, 2**31, 2**32 - 1)]
    for message in evil:
        data = P.file_head + b"".join([*others[:3], P.frame(message, user=500), *others[3:]])
        collector = P.collector()
        taken = collector.add_frames(data)
        assert {int(bit) for key in collector._seen for bit in bits(collector, key)} >= set(range(10, 16))
        assert taken + sum(collector.rejected.values()) == 7


def bits(collector, key):
    return key * 1024 + np.flatnonzero(np.unpackbits(collector._seen[key], bitorder="little"))


# --- damage -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cut", range(1, 27))
def test_a_torn_frame_costs_itself_only(cut):
    """A server that went down in the middle of a frame, and then went on."""
    parts = framed(5)
    data = P.file_head + parts[0] + parts[1][:cut] + b"".join(parts[2:])
    assert told(data) == ([(GOOD, user) for user in (0, 2, 3, 4)], 1, 0)


@pytest.mark.few(27)
@pytest.mark.parametrize("place", range(27))
@pytest.mark.parametrize("change", [1, 128, 255])
def test_a_changed_byte_costs_its_frame_only(place, change):
    damaged = bytearray(P.frame(GOOD, user=1))
    damaged[place] ^= change
    parts = framed(4)
    data = P.file_head + parts[0] + bytes(damaged) + b"".join(parts[2:])
    assert told(data) == ([(GOOD, user) for user in (0, 2, 3)], 1, 0)


def test_what_stands_at_the_end_is_unread_until_it_is_whole():
    data = P.file_head + b"".join(framed(3))
    for size in range(HEAD, len(data) + 1):
        messages, damaged, unread = told(data[:size])
        whole = (size - HEAD) // 27
        assert (len(messages), damaged, unread) == (whole, 0, (size - HEAD) % 27)
    again = list(blocks(data, HEAD + 27, PRINT, P.longest))
    assert [user for block in again for _, user in block.messages] == [1, 2]


def test_files_that_are_put_together_lose_a_head_only():
    data = (P.file_head + b"".join(framed(3))) + (P.file_head + b"".join(framed(3, first=3)))
    assert told(data) == ([(GOOD, user) for user in range(6)], 1, 0)


def test_blocks_end_where_they_say(monkeypatch):
    monkeypatch.setattr(frames, "_BLOCK", 4)
    data = P.file_head + b"".join(framed(10))
    assert [(b.stop, len(b.messages)) for b in blocks(data, HEAD, PRINT, P.longest)] == [
        (HEAD + 4 * 27, 4), (HEAD + 8 * 27, 4), (HEAD + 10 * 27, 2)]  # fmt: skip
    monkeypatch.setattr(frames, "_BLOCK_BYTES", 22)
    assert [len(b.messages) for b in blocks(data, HEAD, PRINT, P.longest)] == [2] * 5 + [0]


# --- linear -----------------------------------------------------------------------------------------------------


class Counted:
    """Bytes that count how many of them are looked at."""

    def __init__(self, data):
        self.data, self.seen = data, 0

    def __len__(self):
        return len(self.data)

    def __getitem__(self, part):
        found = self.data[part]
        self.seen += len(found)
        return found

    def find(self, sub, start):
        found = self.data.find(sub, start)
        self.seen += (len(self.data) if found < 0 else found + len(sub)) - start
        return found


FRAME = P.frame(GOOD, user=3)
HOSTILE = {
    "old heads of batches": b"SFMR\x01\x01" + PRINT + bytes(8) + (2**31).to_bytes(8, "little"),
    "heads of files": file_head(PRINT),
    "fingerprints": PRINT,
    "frames with bad checksums": b"\x00" + FRAME[1:],
    "lengths that are too large": struct.pack("<LLQ", 1, 2**32 - 1, 3) + GOOD,
    "whole frames and torn ones": FRAME + FRAME[:17],
    "empty frames": pack_frame(b"", 3, P.longest),
    "zeros": bytes(30),
    "reports without frames": GOOD,
}


@pytest.mark.parametrize("unit", HOSTILE.values(), ids=HOSTILE)
def test_every_byte_is_looked_at_a_few_times(unit):
    """However a file was made up: per byte no more than the longest report and some, at any size."""
    for size in (10_000, 100_000):
        view = Counted((unit * (size // len(unit) + 1))[:size])
        total = sum(len(block.messages) for block in blocks(view, 0, PRINT, P.longest))
        assert view.seen <= 8 * size
        assert total <= size // 16


def test_a_reader_that_turns_back_would_be_noticed():
    """The check above, on a reader that searches anew from every byte."""
    view = Counted(HOSTILE["fingerprints"] * 1000)
    for place in range(len(view)):
        view.find(b"SFMF", place)
    assert view.seen > 8 * len(view)
