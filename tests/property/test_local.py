"""For any bytes and any records: devices never fail, collectors never take what is foreign, merging is an algebra."""

import json
import math
import warnings

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import sfumato as sf
from contracts.protocol_contract import same
from effort import tries
from sfumato.local.wire import RejectedError, pack_batch, pack_report, unpack_batches, unpack_report

PLANE = sf.Box({"x": (0, 10), "y": (-1, 1)})
MIXED = sf.Box({"x": sf.Integer(0, 9), "group": sf.Categorical(["a", "b", "c"]), "code": sf.Categorical([1, 2.5])})
GROUPS = sf.Box({"a": sf.Categorical(["a", "b"]), "b": sf.Categorical([1, 2, 3])})
P = sf.local.Density(PLANE, epsilon=1.0, lattice=3, seed=7, users=10**6, randomizer="hadamard")
PROTOCOLS = [
    P,
    sf.local.Density(PLANE, epsilon=1.0, lattice=3, seed=7, randomizer="bit"),
    sf.local.Density(PLANE, epsilon=1.0, lattice=2, seed=7, randomizer="laplace"),
    sf.local.Density(PLANE, epsilon=1.0, lattice=2, seed=7, randomizer="loglog"),
    sf.local.SmoothQueries(PLANE, epsilon=1.0, degree=3, seed=7),
    sf.local.SmoothQueries(MIXED, epsilon=1.0, degree=3, seed=7),
    sf.local.Marginals(GROUPS, epsilon=1.0, seed=7),
]
SPECIAL = [math.nan, math.inf, -math.inf, 1.7e308, -1.7e308, 5e-324, -0.0, 0.0, 1.0, 10.0, 1e17]
numbers = st.one_of(st.floats(), st.integers(-(10**400), 10**400), st.sampled_from(SPECIAL))
values = st.one_of(
    numbers, st.none(), st.booleans(), st.text(max_size=4), st.sampled_from("abc"), st.binary(max_size=3), st.just(2.5)
)
protocols = st.sampled_from(PROTOCOLS)
users = st.integers(0, 10**6 - 2)


def as_float(value):
    return float(value) if isinstance(value, float) or abs(value) < 10**300 else math.inf


def quietly(function, *arguments, **options):
    """With every warning and floating-point trap an error."""
    with warnings.catch_warnings(), np.errstate(over="raise", divide="raise", invalid="raise"):
        warnings.simplefilter("error")
        return function(*arguments, **options)


# --- any records ------------------------------------------------------------------------------------------------


@given(protocols, st.data(), users)
def test_any_record_is_encoded_and_taken(protocol, data, user):
    dimension = protocol.box.dimension
    record = data.draw(st.lists(values, min_size=dimension, max_size=dimension))
    as_mapping = dict(zip(protocol.box.names, record, strict=True))
    collector = protocol.collector()
    assert collector.add(quietly(protocol.encode, record, user=user), user=user)
    assert collector.add(quietly(protocol.encode, as_mapping, user=user + 1), user=user + 1)
    assert not collector.rejected


@given(st.integers(0, 40).flatmap(lambda n: arrays.arrays(np.float64, (n, 2), elements=numbers.map(as_float))), users)
def test_any_array_is_encoded_and_taken(records, first):
    first = min(first, 10**6 - len(records))
    for protocol in PROTOCOLS[:5]:
        collector = protocol.collector()
        assert collector.add_batch(quietly(protocol.encode_many, records, first_user=first)) == len(records)
        if len(records):
            release = collector.release()
            assert all(np.isfinite(part).all() for part in release.arrays().values())


@given(st.lists(st.tuples(values, values), max_size=20))
def test_any_categories_give_tables(rows):
    protocol = PROTOCOLS[-1]
    collector = protocol.collector()
    assert collector.add_batch(quietly(protocol.encode_many, [list(row) for row in rows])) == len(rows)
    if rows:
        table = quietly(collector.release().table, ["a", "b"])
        assert table.min() >= 0
        assert math.isclose(table.sum(), 1.0, rel_tol=1e-9)


# --- any bytes --------------------------------------------------------------------------------------------------


@tries(300)
@given(st.one_of(st.binary(max_size=40), st.binary(max_size=9).map(lambda tail: b"\x02\x00" + P.fingerprint + tail)))
def test_any_bytes_are_a_report_or_rejected(data):
    try:
        payload, slot = unpack_report(data, P.fingerprint, 1)
    except RejectedError:
        return
    assert pack_report(P.fingerprint, payload, slot) == data


@tries(300)
@given(st.data())
def test_any_damage_to_a_batch_is_survived(data):
    """Bytes are changed, cut out, put in: the collector takes some reports or none, and goes on."""
    batch = bytearray(P.encode_many(np.zeros((20, 2)), first_user=3) + P.encode_many(np.zeros((9, 2)), first_user=50))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, max(0, len(batch) - 1)))
        what = data.draw(st.sampled_from(["change", "cut", "insert"]))
        if what == "change" and batch:
            batch[place] = data.draw(st.integers(0, 255))
        elif what == "cut":
            del batch[place : place + data.draw(st.integers(1, 10))]
        else:
            batch[place:place] = data.draw(st.binary(max_size=10))
    collector = P.collector()
    taken = quietly(collector.add_batch, bytes(batch))
    assert taken == collector.reports == int(collector._state["bits"].sum())
    assert 0 <= taken <= 8 * len(batch)


GOOD = pack_report(P.fingerprint, b"\x01", None)
FRAMES = [P.frame(GOOD, user=user) for user in range(8)]
evil = st.one_of(
    st.binary(max_size=60),
    st.sampled_from([FRAMES[0], GOOD, P.file_head, P.fingerprint * 5, b"".join(FRAMES[:3]), GOOD[:-1] + b"\x02"]),
)


@tries(150)
@given(st.data())
def test_no_message_and_no_damage_touches_anybody_elses_report(data):
    """Senders say anything, frames are torn, changed and grown: whoever was not touched is counted, once."""
    sent, touched = [], set()
    for user, frame in enumerate(FRAMES):
        for k in range(data.draw(st.integers(0, 1))):
            sent.append(P.frame(data.draw(evil), user=1000 + 8 * user + k))
        if data.draw(st.integers(0, 3)) == 0:
            touched.add(user)
            at, end = sorted(data.draw(st.tuples(st.integers(0, 27), st.integers(0, 27))))
            frame = frame[:at] + data.draw(evil) + frame[end:]
        sent.append(frame)
    data_, collector = P.file_head + b"".join(sent), P.collector()
    taken = quietly(collector.add_frames, data_)
    noted = {1024 * key + int(i) for key, row in collector._seen.items()
             for i in np.flatnonzero(np.unpackbits(row, bitorder="little"))}  # fmt: skip
    assert set(range(8)) - touched <= noted
    assert taken == collector.reports == len(noted) <= len(sent)
    assert quietly(collector.add_frames, data_) == 0  # said again, nothing counts again


@given(st.binary(max_size=200))
def test_any_bytes_are_batches_or_rejected(data):
    try:
        found = [(batch.first, batch.count, bytes(batch.payload)) for batch in unpack_batches(data, bytes(8), 2, False)]
    except RejectedError:
        return
    packed = [
        pack_batch(bytes(8), first, np.frombuffer(body, dtype=np.uint8).reshape(-1, 2), False)
        for first, _, body in found
    ]
    assert b"".join(packed) == data


@given(st.integers(0, 2**48), arrays.arrays(np.uint8, st.integers(0, 60), elements=st.integers(0, 1)))
def test_bits_come_back_from_batches(first, bits):
    (batch,) = unpack_batches(pack_batch(b"12345678", first, bits, True), b"12345678", 1, True)
    assert (batch.first, batch.count) == (first, len(bits))
    found = np.unpackbits(np.frombuffer(batch.payload, dtype=np.uint8), count=len(bits), bitorder="little")
    assert np.array_equal(found, bits)


plain = values.filter(lambda value: not isinstance(value, bytes))
changes = st.dictionaries(
    st.sampled_from(sorted(P.to_json())), st.one_of(plain, st.lists(plain, max_size=2)), max_size=3
)


@given(changes)
def test_any_protocol_file_is_read_or_refused(tmp_path_factory, change):
    path = tmp_path_factory.mktemp("protocols") / "p.json"
    path.write_text(json.dumps({**P.to_json(), **change}))
    try:
        protocol = sf.local.load(path)
    except sf.errors.SfumatoError:
        return
    assert protocol.to_json() == {**P.to_json(), **change}


# --- the algebra of collectors ----------------------------------------------------------------------------------

ranges = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 30)), min_size=3, max_size=3)


def collectors(protocol, lengths, rubbish):
    """Three collectors of different people, each with some rejected reports."""
    found, start = [], 0
    for (gap, count), wrong in zip(lengths, rubbish, strict=True):
        collector = protocol.collector()
        record = ["a", 1] if protocol.kind == "marginals" else [0] * protocol.box.dimension
        start += 600 * gap  # also into other blocks of numbers
        collector.add_batch(protocol.encode_many([record] * count, first_user=start))
        start += count
        for report in wrong:
            collector.add(report, user=0)
        found.append(collector)
    return found


@tries(60)
@given(protocols, ranges, st.lists(st.lists(st.binary(max_size=12), max_size=3), min_size=3, max_size=3))
def test_merging_is_associative_and_commutative_and_has_a_unit(protocol, lengths, rubbish):
    a, b, c = collectors(protocol, lengths, rubbish)
    whole = (a + b) + c
    assert same(whole, a + (b + c))
    assert same(whole, (c + b) + a)
    assert same(whole, b + (a + c))
    assert same(a + protocol.collector(), a)
    assert whole.reports == sum(count for _, count in lengths)


@tries(60)
@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 30)), max_size=6), st.randoms(use_true_random=False))
def test_every_person_counts_once_in_whatever_order_batches_come(spans, random):
    batches = [P.encode_many(np.zeros((count, 2)), first_user=first) for first, count in spans]
    random.shuffle(batches)
    collector = P.collector()
    for batch in batches:
        collector.add_batch(batch)
    people = {first + i for first, count in spans for i in range(count)}
    assert collector.reports == len(people) == int(collector._state["bits"].sum())
    assert collector.rejected["second report"] == sum(count for _, count in spans) - len(people)
