"""Protocols: public, immutable, written as JSON, and the same for everybody who reads them."""

import dataclasses
import hashlib
import json
import os
import stat

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import FileFormatError, MissingFileError, ParameterError, ParameterTypeError, SchemaError
from sfumato.local.protocol import MOST_USERS, from_json

BOX = sf.Box({"age": (0, 110), "bmi": (10, 60)})
GROUPS = sf.Box({"smoker": sf.Categorical(["no", "yes"]), "stage": sf.Categorical([1, 2, 3])})


def density(**options):
    return sf.local.Density(BOX, **{"epsilon": 1.0, "seed": 7, "lattice": 4, "randomizer": "hadamard", **options})


# --- what makes a protocol --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [sf.local.Density, sf.local.SmoothQueries])
@pytest.mark.parametrize("epsilon", [0.0, -1.0, float("inf"), float("nan")])
def test_epsilon_is_positive_and_finite(kind, epsilon):
    with pytest.raises(ParameterError, match="epsilon must be"):
        kind(BOX, epsilon=epsilon)


@pytest.mark.parametrize("epsilon", ["1", None, True, [1.0]])
def test_epsilon_is_a_number(epsilon):
    with pytest.raises(ParameterTypeError, match="epsilon must be a number"):
        density(epsilon=epsilon)


@pytest.mark.parametrize("box", [None, [(0, 1)], {"age": (0, 1)}])
def test_a_box_is_a_box(box):
    with pytest.raises(ParameterTypeError, match=r"sf\.Box with public bounds"):
        sf.local.Density(box, epsilon=1.0)


def test_a_largest_norm_is_refused():
    with pytest.raises(ParameterError, match="max_norm"):
        sf.local.Density(sf.Box([(-1, 1)], max_norm=1.0), epsilon=1.0)


@pytest.mark.parametrize("seed", [-1, 2**63, 1.5, "7", True])
def test_seeds_are_whole_numbers(seed):
    with pytest.raises(ParameterError, match=r"seed must be a whole number in \[0, 2\*\*63\)"):
        density(seed=seed)


def test_without_a_seed_one_is_drawn():
    seeds = {density(seed=None).seed for _ in range(5)}
    assert len(seeds) == 5
    assert all(0 <= seed < 2**53 for seed in seeds)


@pytest.mark.parametrize("users", [0, -1, MOST_USERS + 1])
def test_numbers_of_people(users):
    with pytest.raises(ParameterError, match="users must be at"):
        density(users=users)


def test_it_cannot_be_changed():
    protocol = density()
    for field in dataclasses.fields(protocol):
        with pytest.raises(AttributeError):
            setattr(protocol, field.name, None)
    assert hash(protocol) == hash(density())
    assert protocol == density()


def test_it_promises_pure_local_privacy():
    guarantee = density(epsilon=0.5).guarantee
    assert (guarantee.model, guarantee.epsilon, guarantee.delta) == ("local", 0.5, 0.0)
    assert (guarantee.neighbours, guarantee.unit, guarantee.confidence) == ("replace", "row", 1.0)


# --- encoding ---------------------------------------------------------------------------------------------------


def test_a_report_is_one_bit_under_a_header():
    report = density().encode([30, 25], user=17)
    assert isinstance(report, bytes)
    assert len(report) == 11
    assert report[:2] == b"\x02\x00"
    assert report[2:10] == density().fingerprint
    assert report[10] in (0, 1)


def test_a_batch_is_one_bit_a_person():
    batch = density().encode_many(np.zeros((1000, 2)), first_user=5)
    assert len(batch) == 30 + 125
    assert int.from_bytes(batch[14:22], "little") == 5
    assert int.from_bytes(batch[22:30], "little") == 1000


def test_a_number_is_given_unless_devices_draw_it():
    with pytest.raises(ParameterError, match="user must be the number that was given"):
        density().encode([30, 25])
    with pytest.raises(ParameterError, match="user must be left out"):
        density(numbers="drawn").encode([30, 25], user=3)
    with pytest.raises(ParameterError, match="numbers"):
        density(numbers="chosen")


@pytest.mark.parametrize("randomizer", ["likelihood", "loglog"])
def test_nobody_draws_a_number_that_counts_hundreds_of_times(randomizer):
    with pytest.raises(ParameterError, match="needs numbers='given'"):
        density(numbers="drawn", randomizer=randomizer)
    with pytest.raises(ParameterError, match="needs numbers='given'"):
        sf.local.SmoothQueries(sf.Box([(0, 1)]), 1.0, numbers="drawn", randomizer=randomizer)


def test_a_device_may_draw_its_number():
    protocol = density(users=1000, numbers="drawn")
    reports = [protocol.encode([30, 25]) for _ in range(50)]
    slots = {int.from_bytes(report[10:18], "little") for report in reports}
    assert all(len(report) == 19 and report[1] == 1 for report in reports)
    assert len(slots) > 25
    assert max(slots) < 1000


@pytest.mark.parametrize("record", [[30, 25], (30, 25), np.array([30, 25]), {"bmi": 25, "age": 30}])
def test_forms_of_a_record(record):
    assert len(density().encode(record, user=3)) == 11


def test_a_record_of_one_column_may_be_a_number():
    assert len(sf.local.Density(sf.Box([(0, 1)]), epsilon=1.0).encode(0.3, user=3)) == 11


@pytest.mark.parametrize("record", [[1], [1, 2, 3], 5.0, {"age": 3}])
def test_records_of_another_form_are_refused(record):
    with pytest.raises(SchemaError, match=r"2 values|no column 'bmi'"):
        density().encode(record, user=3)


@pytest.mark.parametrize("record", [[None, None], [float("nan"), "text"], [1e300, -1e300], [float("inf"), object()]])
def test_whatever_is_held_is_encoded(record, recwarn):
    assert len(density().encode(record, user=3)) == 11
    assert not recwarn


@pytest.mark.parametrize(("held", "counts"), [([-5, 99], [0, 60]), ([None, 1e9], [55, 60]), (["x", "12"], [55, 12])])
def test_records_are_clipped_and_replaced_on_the_device(held, counts, monkeypatch):
    monkeypatch.setattr("sfumato.core.sampling.words32", lambda count: np.full(count, 2**31, dtype=np.uint32))
    users = range(40)
    assert [density().encode(held, user=u) for u in users] == [density().encode(counts, user=u) for u in users]


@pytest.mark.parametrize("user", [1.0, "3", True, [2]])
def test_persons_are_whole_numbers(user):
    with pytest.raises(ParameterTypeError, match="user must be a whole number"):
        density().encode([30, 25], user=user)


def test_more_people_than_the_public_randomness_covers():
    protocol = density(users=100)
    assert protocol.encode([30, 25], user=np.int64(99))
    for user in (-1, 100, 2**70):
        with pytest.raises(ParameterError, match=r"users must lie in \[0, 100\).*larger users="):
            protocol.encode([30, 25], user=user)
    protocol.encode_many(np.zeros((100, 2)))
    with pytest.raises(ParameterError, match="got 1 to 100"):
        protocol.encode_many(np.zeros((100, 2)), first_user=1)


def test_encoding_one_is_encoding_many(monkeypatch):
    monkeypatch.setattr("sfumato.core.sampling.words32", lambda count: np.full(count, 2**31, dtype=np.uint32))
    records = np.random.default_rng(1).uniform([0, 10], [110, 60], size=(50, 2))
    batch = density().encode_many(records, first_user=100)
    bits = np.unpackbits(np.frombuffer(batch[30:], dtype=np.uint8), count=50, bitorder="little")
    assert [density().encode(record, user=100 + i)[-1] for i, record in enumerate(records)] == bits.tolist()


def test_more_people_than_a_block(monkeypatch):
    monkeypatch.setattr("sfumato.core.sampling.words32", lambda count: np.full(count, 2**31, dtype=np.uint32))
    records = np.random.default_rng(1).uniform([0, 10], [110, 60], size=(2**14 + 9, 2))
    whole = density().encode_many(records)
    tail = density().encode_many(records[2**14 :], first_user=2**14)
    assert whole[30 + 2**11 :] == tail[30:]


def test_records_are_left_as_they_are():
    records = np.array([[30.0, 99.0], [np.nan, 25.0]])
    before = records.copy()
    density().encode_many(records)
    assert np.array_equal(records, before, equal_nan=True)


# --- as a file --------------------------------------------------------------------------------------------------

EVERY = [
    density(),
    density(lattice=(4, 5), randomizer="bit", epsilon=0.1),
    sf.local.Density(sf.Box([sf.Integer(0, 9), sf.Periodic(0, 24)]), epsilon=2.5),
    sf.local.SmoothQueries(BOX, epsilon=1.0, degree=(3, 4), seed=1),
    sf.local.SmoothQueries(GROUPS, epsilon=1.0, interactions=1, randomizer="laplace", seed=1),
    sf.local.Marginals(GROUPS, epsilon=1.0, seed=1),
    sf.local.Marginals(GROUPS, epsilon=1.0, ways=1, people=500, randomizer="hadamard"),
    sf.local.Marginals(sf.Box({"ä": sf.Categorical([0, 1])}), epsilon=1.0, ways=1, randomizer="chebyshev"),
]


@pytest.mark.parametrize("protocol", EVERY, ids=lambda p: f"{p.kind}-{p.settings()['randomizer']}")
def test_what_is_saved_is_loaded(protocol, tmp_path):
    protocol.save(tmp_path / "protocol.json")
    loaded = sf.local.load(tmp_path / "protocol.json")
    assert loaded == protocol
    assert type(loaded) is type(protocol)
    assert loaded.fingerprint == protocol.fingerprint
    assert loaded.to_json() == protocol.to_json()
    assert str(loaded.guarantee) == str(protocol.guarantee)


def test_the_fingerprint_is_that_of_the_sorted_json():
    text = json.dumps(density().to_json(), sort_keys=True, separators=(",", ":"))
    assert density().fingerprint == hashlib.sha256(text.encode()).digest()[:8]


def test_whatever_is_agreed_on_changes_the_fingerprint():
    prints = {protocol.fingerprint for protocol in EVERY}
    prints |= {density(epsilon=1.5).fingerprint, density(seed=8).fingerprint, density(users=10).fingerprint}
    prints |= {density(lattice=5).fingerprint, density(randomizer="bit").fingerprint}
    renamed = sf.Box({"age": (0, 110), "BMI": (10, 60)})
    prints.add(sf.local.Density(renamed, epsilon=1.0, seed=7, lattice=4, randomizer="hadamard").fingerprint)
    assert len(prints) == len(EVERY) + 6


@pytest.mark.parametrize(
    "change",
    [
        {"format": "sfumato"},
        {"version": 1},
        {"version": "1"},
        {"kind": "median"},
        {"kind": "marginals"},
        {"epsilon": 0},
        {"epsilon": -1.0},
        {"epsilon": "1"},
        {"epsilon": None},
        {"randomizer": "laplace"},
        {"seed": None},
        {"seed": -1},
        {"users": 0},
        {"users": 1e300},
        {"named": False},
        {"named": None},
        {"box": []},
        {"box": None},
        {"box": [{"name": "age", "kind": "interval", "low": 1.0, "high": 0.0}]},
        {"box": [{"name": "age", "kind": "interval", "low": 0.0, "high": 1.0, "note": "hello"}]},
        {"box": [{"name": "age", "kind": "magic", "low": 0.0, "high": 1.0}]},
        {"box": [{"name": "age", "kind": "interval", "low": 0.0, "high": 1.0}] * 2},
        {"parameters": {}},
        {"parameters": {"lattice": 4, "randomizer": "hadamard", "more": 1}},
        {"parameters": {"lattice": 4, "randomizer": "hadamard", "epsilon": 2.0}},
        {"parameters": {"lattice": 1, "randomizer": "hadamard"}},
        {"parameters": {"lattice": 10**9, "randomizer": "hadamard"}},
        {"parameters": [4]},
        {"note": "hello"},
    ],
)
def test_files_that_are_no_protocol_are_refused(change, tmp_path):
    path = tmp_path / "protocol.json"
    path.write_text(json.dumps({**density().to_json(), **change}))
    with pytest.raises(FileFormatError, match="protocol"):
        sf.local.load(path)


@pytest.mark.parametrize("key", sorted(density().to_json()))
def test_every_entry_is_needed(key):
    data = density().to_json()
    del data[key]
    with pytest.raises((FileFormatError, LookupError, ParameterError)):
        from_json(data)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "17", '"protocol"', "NaN", "[" * 50_000, "\udcff", "\0" * 100])
def test_other_files_are_refused(text, tmp_path):
    path = tmp_path / "protocol.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(FileFormatError, match="protocol"):
        sf.local.load(path)


def test_a_file_too_large_is_not_read(tmp_path):
    path = tmp_path / "protocol.json"
    path.write_bytes(b" " * (2**26 + 1))
    with pytest.raises(FileFormatError, match="too large"):
        sf.local.load(path)


def test_there_must_be_a_file(tmp_path):
    with pytest.raises(MissingFileError, match="no such file"):
        sf.local.load(tmp_path / "none.json")
    with pytest.raises(FileFormatError):
        sf.local.load(tmp_path)


def test_messages_name_the_file(tmp_path):
    path = tmp_path / "protocol.json"
    for text in (
        "[]",
        '{"format": "sfumato-protocol", "version": 2}',
        '{"format": "sfumato-protocol", "version": true}',
    ):
        path.write_text(text)
        with pytest.raises(FileFormatError, match=r"protocol\.json: "):
            sf.local.load(path)
    with pytest.raises(ParameterTypeError, match="path"):
        sf.local.load(None)


# --- hostile files ----------------------------------------------------------------------------------------------


def test_a_protocol_that_shows_one_epsilon_and_means_another_is_refused(tmp_path):
    """The standard reader takes the last of two equal keys, and nobody would see it."""
    density(epsilon=50.0).save(tmp_path / "p.json")
    text = (tmp_path / "p.json").read_text()
    assert '"epsilon": 50.0' in text
    (tmp_path / "p.json").write_text(text.replace("{", '{"epsilon": 1.0,', 1))
    with pytest.raises(FileFormatError, match="the key 'epsilon' stands twice"):
        sf.local.load(tmp_path / "p.json")


@pytest.mark.parametrize("text", ["[" * 10**5, '{"format": NaN}', '{"format": 1e999}', b"\xff\xfe", "1" * 5000])
def test_what_is_no_plain_json_is_refused(text, tmp_path):
    path = tmp_path / "p.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(FileFormatError, match=r"p\.json: "):
        sf.local.load(path)


def test_pipes_holes_and_endless_files_are_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "long").open("wb") as file:
        file.truncate(2**40)
    (tmp_path / "large").write_bytes(b" " * (2**26 + 1))
    for name in ("pipe", "long", "large"):
        with pytest.raises(FileFormatError, match=r"not a plain file|has holes|too large for a protocol"):
            sf.local.load(tmp_path / name)


def test_saving_follows_no_link_and_leaves_nothing_behind(tmp_path):
    (tmp_path / "precious").write_text("precious")
    (tmp_path / f".p.json.{os.getpid()}").symlink_to(tmp_path / "precious")  # where an unfinished file used to be
    (tmp_path / "p.json").symlink_to(tmp_path / "precious")
    density().save(tmp_path / "p.json")
    assert (tmp_path / "precious").read_text() == "precious"
    assert sf.local.load(tmp_path / "p.json") == density()
    assert stat.S_IMODE((tmp_path / "p.json").stat().st_mode) == 0o666 & ~umask()


def umask():
    found = os.umask(0o022)
    os.umask(found)
    return found


YESNO = sf.Categorical(["no", "yes"])


@pytest.mark.parametrize(
    ("make", "allowed"),
    [
        (lambda: density(randomizer="privunit", lattice=33), "2 to 1,024 questions"),
        (lambda: density(randomizer="laplace", lattice=65), "at most 4,096"),
        (lambda: sf.local.SmoothQueries(BOX, 1.0, degree=65, randomizer="laplace"), "at most 4,096"),
        (lambda: density(lattice=1025), "at most 1,048,576"),
        (
            lambda: sf.local.Density(sf.Box([(0, 1)] * 3000), 1.0, lattice=10**9, randomizer="hadamard"),
            "at most 1,048,576",
        ),
        (lambda: sf.local.SmoothQueries(sf.Box([(0, 1)] * 300), 1.0, degree=4, interactions="cross"), "at most 3,495"),
        (lambda: sf.local.SmoothQueries(sf.Box([(0, 1)] * 10), 1.0, degree=4), "at most 104,857"),
        (lambda: tables(1025, 2), "at most 524,288"),
        (lambda: tables(20, 20), "at most 52,428"),
        (lambda: tables(3000, 1500), "coefficients or more, at most 2,097,152 are allowed"),
    ],
)
def test_what_would_take_a_device_seconds_is_refused(make, allowed):
    with pytest.raises(ParameterError, match=allowed):
        make()


def tables(columns, ways):
    return sf.local.Marginals(sf.Box({f"c{i}": YESNO for i in range(columns)}), 1.0, ways=ways)
