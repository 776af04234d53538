"""The collector: nothing is lost, nothing is counted twice, nothing foreign is taken."""

from collections import Counter
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ParameterError, ParameterTypeError
from sfumato.local import Collector
from sfumato.local.wire import pack_batch, pack_report
from unit.local.support import BOX, RECORDS, P, filled, filled_of, same


def separate(batch):
    """The single reports that a batch of bits stands for."""
    count = int.from_bytes(batch[22:30], "little")
    bits = np.unpackbits(np.frombuffer(batch[30:], dtype=np.uint8), count=count, bitorder="little")
    return [pack_report(P.fingerprint, bytes([bit]), None) for bit in bits]


# --- adding -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [0, 17, 2**14 - 5, 2**20 - 600])
def test_adding_one_by_one_is_adding_many(first):
    batch = P.encode_many(RECORDS, first_user=first)
    many, one, listed = P.collector(), P.collector(), P.collector()
    assert many.add_batch(batch, first_user=first) == 600
    reports = separate(batch)
    assert all(one.add(report, user=first + i) for i, report in enumerate(reports))
    assert listed.add_many(reports, first_user=first) == 600
    assert same(many, one)
    assert same(many, listed)


def test_batches_carry_the_number_of_their_first_person():
    batch = P.encode_many(RECORDS, first_user=100)
    given, carried = P.collector(), P.collector()
    given.add_batch(batch, first_user=100)
    carried.add_batch(batch)
    assert same(given, carried)


def test_batches_one_after_the_other():
    parts = [P.encode_many(RECORDS[i : i + 100], first_user=i) for i in range(0, 600, 100)]
    together, apart = P.collector(), P.collector()
    assert together.add_batch(b"".join(parts), first_user=0) == 600
    for part in parts:
        apart.add_batch(part)
    assert same(together, apart)


@pytest.mark.slow
def test_more_people_than_a_block():
    records = np.random.default_rng(1).uniform(size=(17_000, 2))
    batch = P.encode_many(records, first_user=5)
    whole, parts = P.collector(), P.collector()
    assert whole.add_batch(batch) == 17_000
    assert sum(parts.add(report, user=5 + i) for i, report in enumerate(separate(batch))) == 17_000
    assert same(whole, parts)


def test_whole_blocks_take_the_same_way():
    """A batch that fills a block of numbers is noted at once; one that does not, bit by bit."""
    records = np.random.default_rng(1).uniform(size=(2**15, 2))
    batch = P.encode_many(records)
    quick, slow = P.collector(), P.collector()
    quick.add_batch(batch)
    payload = np.unpackbits(np.frombuffer(batch[30:], dtype=np.uint8), bitorder="little")
    for part in (slice(0, 1000), slice(1000, 2**15)):
        slow.add_batch(pack_batch(P.fingerprint, part.start, payload[part], True))
    assert same(quick, slow)
    assert quick.add_batch(batch) == 0
    assert quick.rejected == {"second report": 2**15}


def test_a_number_that_the_device_drew_comes_with_the_report():
    drawing = replace(P, numbers="drawn")
    collector = drawing.collector()
    report = drawing.encode([0.2, 0.3])
    slot = int.from_bytes(report[10:18], "little")
    assert slot < P.users
    assert collector.add(report) and collector.reports == 1
    other = P.collector()
    other.add(pack_report(P.fingerprint, report[18:], None), user=slot)
    assert np.array_equal(collector._state["bits"], other._state["bits"])


@pytest.mark.parametrize("user", [1.0, "3", True, -1, [2]])
def test_persons_are_whole_numbers(user):
    with pytest.raises(ParameterTypeError, match="user must be a whole number"):
        P.collector().add(P.encode([0, 0], user=1), user=user)


@pytest.mark.parametrize("first", [0.0, "0", True, -1])
def test_first_persons_are_whole_numbers(first):
    with pytest.raises(ParameterTypeError, match="user must be a whole number"):
        P.collector().add_batch(P.encode_many(np.zeros((9, 2))), first_user=first)


def test_views_with_gaps_are_read_as_their_bytes():
    data = np.repeat(np.frombuffer(P.encode_many(np.zeros((9, 2))), dtype=np.uint8), 2).tobytes()
    assert P.collector().add_batch(memoryview(data)[::2]) == 9


# --- rejecting --------------------------------------------------------------------------------------------------

GOOD = pack_report(P.fingerprint, b"\x01", None)  # not drawn: workers must agree on the names of tests
OTHERS = {
    "seed": sf.local.Density(BOX, epsilon=1.0, lattice=4, seed=8, users=2**20, randomizer="hadamard"),
    "epsilon": sf.local.Density(BOX, epsilon=2.0, lattice=4, seed=7, users=2**20, randomizer="hadamard"),
    "lattice": sf.local.Density(BOX, epsilon=1.0, lattice=(4, 5), seed=7, users=2**20, randomizer="hadamard"),
    "users": sf.local.Density(BOX, epsilon=1.0, lattice=4, seed=7, users=2**21, randomizer="hadamard"),
    "box": sf.local.Density(
        sf.Box({"x": (0, 1), "y": (0, 2)}), epsilon=1.0, lattice=4, seed=7, users=2**20, randomizer="hadamard"
    ),
    "randomizer": sf.local.Density(BOX, epsilon=1.0, lattice=4, seed=7, users=2**20, randomizer="bit"),
    "kind": sf.local.SmoothQueries(BOX, epsilon=1.0, seed=7, users=2**20),
}


@pytest.mark.parametrize(
    ("report", "user", "reason"),
    [
        (b"\x01" + GOOD[1:], 3, "another version"),
        (GOOD[:-1], 3, "another length"),
        (GOOD + b"\x00", 3, "another length"),
        (GOOD[:7], 3, "truncated"),
        (b"", 3, "truncated"),
        ("text", 3, "not bytes"),
        (GOOD[:-1] + b"\x02", 3, "malformed"),
        (GOOD[:1] + b"\x04" + GOOD[2:], 3, "malformed"),
        (GOOD, None, "no number"),
        (GOOD, 2**20, "unknown person"),
        (pack_report(P.fingerprint, b"\x01", 5), 3, "own number"),
        (pack_report(P.fingerprint, b"\x01", 5), None, "own number"),
        (pack_batch(P.fingerprint, 0, np.ones(8, dtype=np.uint8), True), 3, "another version"),
        *[(pack_report(other.fingerprint, b"\x01", None), 3, "another protocol") for other in OTHERS.values()],
    ],
)
def test_what_is_no_report_of_this_protocol_is_rejected_and_counted(report, user, reason):
    collector = P.collector()
    assert collector.add(report, user=user) is False
    assert collector.rejected == {reason: 1}
    assert collector.reports == 0
    assert not collector._state["bits"].any()
    assert collector.add(GOOD, user=3)  # a rejected report leaves no trace: the person can still report


@pytest.mark.parametrize("name", OTHERS)
def test_batches_of_other_protocols_are_rejected(name):
    collector = P.collector()
    assert collector.add_batch(OTHERS[name].encode_many(RECORDS)) == 0
    assert collector.rejected == {"another protocol": 1}
    with pytest.raises(ParameterError, match="different protocols"):
        collector + OTHERS[name].collector()


@pytest.mark.parametrize(
    ("number", "user", "reason"),
    [(5, 3, "two numbers"), (None, None, "no number"), (None, 3, "no number"), (2**20, None, "unknown person"),
     (2**64 - 1, None, "unknown person")],
)  # fmt: skip
def test_where_devices_draw_numbers_nobody_else_gives_them(number, user, reason):
    collector = replace(P, numbers="drawn").collector()
    assert not collector.add(pack_report(collector.protocol.fingerprint, b"\x01", number), user=user)
    assert collector.rejected == {reason: 1}


def test_many_reports_are_no_batch():
    """A batch speaks for many people: nobody sends one who was not named as a gateway."""
    collector = P.collector()
    for data in (P.encode_many(RECORDS), bytearray(P.encode_many(RECORDS))):
        with pytest.raises(ParameterTypeError, match="add_batch, if you trust"):
            collector.add_many(data)
        assert collector.add(data, user=3) is False
        assert collector.add_many([bytes(data)]) == 0
    assert collector.reports == 0


def test_messages_come_in_any_order_and_the_first_of_a_person_counts():
    ones, zeros = (pack_report(P.fingerprint, payload, None) for payload in (b"\x01", b"\x00"))
    messages = [(ones, 9), (b"junk", 3), (zeros, 9), (zeros, 2), (ones, 2**20), (ones, 2), (ones, None), (b"", 2)]
    collector = P.collector()
    assert collector.add_messages(messages) == 2
    assert collector.rejected == {"truncated": 2, "second report": 2, "unknown person": 1, "no number": 1}
    alone = P.collector()
    assert alone.add(ones, user=9) and alone.add(zeros, user=2)
    assert np.array_equal(alone._state["bits"], collector._state["bits"])


def test_a_whole_block_with_a_person_twice_is_no_whole_block():
    messages = [(GOOD, i) for i in range(1023)] + [(GOOD, 500)]
    collector = P.collector()
    assert collector.add_messages([(GOOD, i) for i in [*range(1022), 500, 1023]]) == 1023
    assert collector.rejected == {"second report": 1}
    assert collector.add(GOOD, user=1022)
    assert P.collector().add_messages(messages) == 1023


def test_a_truncated_file_gives_what_came_whole():
    data = P.encode_many(RECORDS[:50]) + P.encode_many(RECORDS[:50], first_user=50)
    collector = P.collector()
    assert collector.add_batch(data[:-1]) == 50
    assert collector.rejected == {"truncated": 1}
    collector.rejected.clear()
    assert same(collector, filled_of(data[: len(data) // 2]))


def test_batches_of_other_persons_than_said():
    collector = P.collector()
    assert collector.add_batch(P.encode_many(RECORDS[:30], first_user=10), first_user=0) == 0
    assert collector.rejected == {"another first person": 30}
    two = P.encode_many(RECORDS[:30], first_user=0) + P.encode_many(RECORDS[:30], first_user=30)
    assert collector.add_batch(two, first_user=0) == 60


def test_batches_of_persons_that_there_cannot_be():
    collector = P.collector()
    for first in (2**20 - 5, 2**20, 2**64 - 1):
        assert collector.add_batch(pack_batch(P.fingerprint, first, np.zeros(6, dtype=np.uint8), True)) == 0
    assert collector.rejected == {"unknown person": 18}


def test_bytes_that_no_device_sends_are_left_out_of_a_batch():
    protocol = sf.local.Density(BOX, epsilon=1.0, lattice=3, seed=7, randomizer="loglog")
    payload = np.array([[0], [16], [15], [255]], dtype=np.uint8)
    collector = protocol.collector()
    assert collector.add_batch(pack_batch(protocol.fingerprint, 0, payload, False)) == 2
    assert collector.rejected == {"malformed": 2}
    assert collector.add(pack_report(protocol.fingerprint, b"\x03", None), user=1)


def test_zero_reports_are_no_release():
    with pytest.raises(ParameterError, match="no reports yet: add some"):
        P.collector().release()
    collector = P.collector()
    collector.add(b"rubbish", user=1)
    with pytest.raises(ParameterError, match=r"no reports yet \(1 were rejected: \{'truncated': 1\}\)"):
        collector.estimate()


# --- second reports ---------------------------------------------------------------------------------------------


def test_a_second_report_of_a_person_is_refused_and_counted():
    collector = filled(count=50)
    before = collector._state["bits"].copy()
    assert collector.add(P.encode([0, 0], user=49), user=49) is False
    assert collector.add_batch(P.encode_many(RECORDS[:50])) == 0
    assert collector.add_many(separate(P.encode_many(RECORDS[:3])), first_user=10) == 0
    assert collector.rejected == {"second report": 54}
    assert collector.reports == 50
    assert np.array_equal(collector._state["bits"], before)


def test_of_a_batch_only_those_who_have_reported_are_refused():
    collector = filled(first=20, count=10)
    assert collector.add_batch(P.encode_many(RECORDS[:50])) == 40
    assert collector.rejected == {"second report": 10}
    assert collector.reports == 50


def test_a_person_twice_in_one_stream_is_counted_once():
    batch = P.encode_many(RECORDS[:30])
    collector = P.collector()
    assert collector.add_batch(batch + batch) == 30
    assert collector.rejected == {"second report": 30}


def test_second_reports_are_refused_after_a_merge_and_after_a_checkpoint(tmp_path):
    merged = filled(0, 30) + filled(30, 30)
    merged.save(tmp_path / "checkpoint")
    resumed, _ = Collector.resume(tmp_path / "checkpoint", P)
    for collector in (merged, resumed):
        assert collector.add(P.encode([0, 0], user=59), user=59) is False
        assert collector.add_batch(P.encode_many(RECORDS[:61])) == 1
        assert collector.rejected == {"second report": 61}


def test_collectors_that_share_a_person_are_not_merged():
    with pytest.raises(ParameterError, match="reported to both"):
        filled(0, 30) + filled(29, 30)


# --- merging ----------------------------------------------------------------------------------------------------


def test_merging_is_collecting():
    batch = P.encode_many(RECORDS)
    payload = np.unpackbits(np.frombuffer(batch[30:], dtype=np.uint8), count=600, bitorder="little")
    parts = [filled_of(pack_batch(P.fingerprint, i, payload[i : i + 100], True)) for i in range(0, 600, 100)]
    whole = filled_of(batch)
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    assert same(total, whole)


def test_the_order_and_the_grouping_do_not_matter():
    a, b, c = filled(0, 40), filled(100, 50), filled(2**14 - 7, 60)
    a.add(b"x", user=1), b.add(b"x", user=1), b.add(GOOD, user=None)
    whole = (a + b) + c
    for one, two, three in permutations([a, b, c]):
        assert same((one + two) + three, whole)
        assert same(one + (two + three), whole)
    assert whole.rejected == Counter({"truncated": 2, "no number": 1})
    assert same(whole + P.collector(), whole)


def test_merging_leaves_the_parts_as_they_are():
    a, b = filled(0, 40), filled(40, 40)
    merged = a + b
    merged.add(P.encode([0, 0], user=500), user=500)
    assert (a.reports, b.reports, merged.reports) == (40, 40, 81)
    assert (a + b).reports == 80


def test_only_collectors_are_merged():
    with pytest.raises(TypeError):
        P.collector() + 1


def test_it_says_what_it_is():
    collector = filled(0, 30)
    collector.add(b"x", user=1)
    assert repr(collector) == "<Collector of 30 reports, 1 rejected; density>"
