"""The commands of the local model: protocols, reports, hostile files, crashes, simulations, plans.

Noise cannot be seeded: each check of a noisy number fails by chance with a probability below 1e-9.
"""

import json
import os
import stat
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.cli.local import people, reports
from sfumato.cli.local.people import compared, made_up, read_people
from sfumato.cli.local.protocols import whole_numbers
from sfumato.cli.local.reports import Places, Reading, load_checkpoint, save_checkpoint
from sfumato.engines import lines
from sfumato.errors import FileFormatError, MissingFileError, ParameterError
from sfumato.local.wire import unpack_batches

NUMBERS = "[columns.age]\nlow = 0\nhigh = 110\n[columns.bmi]\nlow = 10\nhigh = 60\n"
GROUPS = '[columns.sex]\ncategories = ["F", "M"]\n[columns.ward]\ncategories = [1, 2, 3]\n'
PEOPLE = 400


@pytest.fixture
def here(sfumato, tmp_path):
    """Records and boxes beside a runner of commands."""
    generator = np.random.default_rng(3)
    lines = ["age,bmi,sex,ward"]
    for _ in range(PEOPLE):
        age, bmi = generator.normal(50, 12), generator.normal(27, 4)
        lines.append(f"{age:.1f},{bmi:.1f},{generator.choice(['F', 'M'])},{generator.integers(1, 4)}")
    lines[3] = ",,,"  # what is missing is replaced on the device
    lines[4] = "-50,1e9,other,99"
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "numbers.toml").write_text(NUMBERS)
    (tmp_path / "groups.toml").write_text(GROUPS)
    return tmp_path


def init(sfumato, kind="density", *more, box="numbers.toml", name="p.json"):
    result = sfumato("local", "init", "--kind", kind, "--box", box, "--epsilon", 1, *more, "-o", name)
    assert result.code == 0, result.err
    return sf.local.load(name)


# --- init -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "box", "more", "words"),
    [
        ("density", "numbers.toml", ("--lattice", "5,7"), ["5 x 7 lattice points of age, bmi", "subset, 1 byte"]),
        (
            "density",
            "numbers.toml",
            ("--randomizer", "laplace", "--lattice", 3),
            ["each person answers all", "72 bytes"],
        ),
        ("smooth-queries", "numbers.toml", ("--degree", 4), ["15 cosine moments of age, bmi"]),
        ("smooth-queries", "numbers.toml", ("--degree", "4,3", "--interactions", 1), ["5 cosine moments"]),
        ("smooth-queries", "numbers.toml", ("--interactions", "cross"), ["cosine moments"]),
        ("marginals", "groups.toml", ("--ways", 2, "--people", 500), ["tables of up to 2 columns of sex, ward"]),
    ],
)
def test_a_protocol_is_made(sfumato, here, kind, box, more, words):
    result = sfumato(
        "local", "init", "--kind", kind, "--box", box, "--epsilon", 1, *more, "--users", 5000, "-o", "p.json"
    )
    assert result.code == 0 and result.err == ""
    protocol = sf.local.load("p.json")
    assert (protocol.kind, protocol.epsilon, protocol.users) == (kind, 1.0, 5000)
    for word in (*words, f"Made a protocol: {kind}.", "local model", protocol.fingerprint.hex(), "0 to 4,999"):
        assert word in result.out


def test_a_protocol_as_plain_data(sfumato, here):
    result = sfumato("local", "init", "--kind", "density", "--box", "numbers.toml", "--epsilon", 2, "--json")
    assert result.data["protocol"] == json.loads((here / "protocol.json").read_text())
    assert result.data["written"] == "protocol.json"


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((), "what is collected? give --kind, one of density, smooth-queries, marginals"),
        (("--kind", "histogram"), "got 'histogram'"),
        (("--kind", "density"), "which columns? give --box"),
        (("--kind", "density", "--box", "numbers.toml"), "give --epsilon E"),
        (("--kind", "density", "--box", "numbers.toml", "--epsilon", 0), "--epsilon must be positive"),
        (("--kind", "density", "--box", "groups.toml", "--epsilon", 1), "--box: column 'sex' is categorical"),
        (("--kind", "marginals", "--box", "numbers.toml", "--epsilon", 1), "--box: column 'age' is numeric"),
        (("--kind", "density", "--box", "numbers.toml", "--epsilon", 1, "--ways", 2), "--ways is for --kind marginals"),
        (("--kind", "density", "--box", "numbers.toml", "--epsilon", 1, "--lattice", "1"), "--lattice needs"),
        (("--kind", "density", "--box", "numbers.toml", "--epsilon", 1, "--lattice", "a"), "--lattice needs a whole"),
        (
            ("--kind", "density", "--box", "numbers.toml", "--epsilon", 1, "--randomizer", "x"),
            "is one of auto, hadamard, subset, bit",
        ),
        (("--kind", "density", "--box", "numbers.toml", "--epsilon", 1, "--users", 0), "--users must be at least 1"),
        (("--kind", "smooth-queries", "--box", "numbers.toml", "--epsilon", 1, "--interactions", "x"), "interactions"),
        (("--kind", "density", "--box", "numbers.toml", "--epsilon", 1, "-o", "no/p.json"), "there is no folder 'no'"),
    ],
)
def test_what_makes_no_protocol(sfumato, here, args, words):
    sfumato("local", "init", *args).failed(2, words)


def test_a_protocol_that_is_there_stays(sfumato, here):
    init(sfumato)
    before = (here / "p.json").read_text()
    again = ("local", "init", "--kind", "density", "--box", "numbers.toml", "--epsilon", 1, "-o", "p.json")
    sfumato(*again).failed(2, "is there already")
    assert (here / "p.json").read_text() == before
    assert sfumato(*again, "--force").code == 0
    assert (here / "p.json").read_text() != before  # another seed


def test_numbers_of_options():
    assert (whole_numbers("--x", None), whole_numbers("--x", "3"), whole_numbers("--x", "3,4")) == (None, 3, (3, 4))


# --- encode and collect -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "box", "more"),
    [
        ("density", "numbers.toml", ()),
        ("density", "numbers.toml", ("--randomizer", "laplace", "--lattice", 3)),
        ("density", "numbers.toml", ("--randomizer", "loglog")),
        ("smooth-queries", "numbers.toml", ()),
        ("marginals", "groups.toml", ()),
    ],
)
def test_from_records_to_a_release(sfumato, here, kind, box, more):
    protocol = init(sfumato, kind, *more, box=box)
    told = sfumato("local", "encode", "p.json", "people.csv", "--first-user", 7, "-o", "r.bin", "--json").data
    assert (told["people"], told["first_user"], told["next_user"]) == (PEOPLE, 7, PEOPLE + 7)
    assert told["bytes"] == (here / "r.bin").stat().st_size
    result = sfumato("local", "collect", "p.json", "--gateway", "r.bin", "-o", "c.sfumato")
    assert result.code == 0 and result.err == ""
    for words in ("Collected", "1-differential privacy", "nobody had to be trusted", f"reports    {PEOPLE}", "none"):
        assert words in result.out
    release = sf.load("c.sfumato")
    assert release.guarantee == protocol.guarantee and release.guarantee.model == "local"


def test_a_cell_that_is_no_text_is_no_category_and_is_not_shown(sfumato, here):
    ends, letters = np.array([0, 7, 8, 9], dtype=np.int32), b"SECRET\xffFM"
    texts = pa.StringArray.from_buffers(3, pa.py_buffer(ends.tobytes()), pa.py_buffer(letters))
    table = pa.table({"sex": texts, "ward": [1, 2, 3]})  # Arrow checks no text that it reads
    pq.write_table(table, here / "people.parquet")
    protocol = init(sfumato, "marginals", box="groups.toml")
    result = sfumato("local", "encode", "p.json", "people.parquet", "--json")
    assert (result.code, result.err, result.data["people"]) == (0, "", 3)
    (people,) = read_people(here / "people.parquet", protocol.box)
    assert people["sex"].tolist() == [None, "F", "M"]
    assert sfumato("local", "simulate", "p.json", "people.parquet").code == 0


@pytest.mark.parametrize("long", ["0" * 40 + "7", '"7', "", "\xff" * 90])
def test_no_record_decides_where_a_batch_ends(sfumato, here, long, monkeypatch):
    """A file comes in pieces of so many bytes, and once a batch ended where a piece did."""
    monkeypatch.setattr(lines, "BLOCK", 64)
    monkeypatch.setattr(people, "AT_ONCE", 16)
    protocol, found = init(sfumato), []
    for name, third in (("short", "7"), ("long", long)):
        rows = ["age,bmi", *(f"{third if i == 2 else i},30" for i in range(41))]
        (here / f"{name}.csv").write_text("\n".join(rows), encoding="latin-1")
        assert sfumato("local", "encode", "p.json", f"{name}.csv", "-o", f"{name}.bin").code == 0
        channel, sent = protocol.channel, (here / f"{name}.bin").read_bytes()
        found.append(
            [(b.first, b.count) for b in unpack_batches(sent, protocol.fingerprint, channel.width, channel.bitwise)]
        )
    assert found == [[(0, 16), (16, 16), (32, 9)]] * 2


def test_what_encoding_says(sfumato, here):
    init(sfumato)
    result = sfumato("local", "encode", "p.json", "people.csv", "-o", "r.bin")
    for words in ("Encoded 400 persons.", "numbers 0 to 399", "--first-user 400", "saw the records"):
        assert words in result.out
    assert "on the device" in " ".join(sfumato("local", "encode", "--help").out.split())


@pytest.mark.slow
def test_the_page_and_the_picture(sfumato, here):
    pytest.importorskip("matplotlib")
    init(sfumato)
    sfumato("local", "encode", "p.json", "people.csv")
    result = sfumato(
        "local", "collect", "p.json", "--gateway", "reports.batch", "--report", "c.html", "--plot", "c.png", "--json"
    )
    assert (result.data["report"], result.data["plot"], result.data["reports"]) == ("c.html", "c.png", PEOPLE)
    assert "nobody had to be trusted" in (here / "c.html").read_text()
    assert (here / "c.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.few(8)
@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (("encode", "no.json", "people.csv"), 3, "no.json: there is no such file"),
        (("encode", "people.csv", "people.csv"), 3, "people.csv: not JSON"),
        (("encode", "pipe", "people.csv"), 3, "not a plain file"),
        (
            ("encode", "p.json", "people.csv", "--batch-key", "short.key"),
            2,
            "--batch-key: key must have 16 bytes or more, got 3",
        ),
        (("encode", "p.json", "no.csv"), 3, "no.csv: there is no such file"),
        (("encode", "p.json", "people.csv", "--first-user", 2**50), 2, "--first-user: users must lie in"),
        (("encode", "p.json", "people.csv", "--first-user", -1), 2, "--first-user: users must lie in"),
        (("encode", "p.json", "people.csv", "-o", "p.json", "--force"), 2, "is what is read"),
        (("encode", "m.json", "numbers.csv"), 2, "the first line must name the columns that are needed"),
        (("collect", "p.json"), 2, "which reports? give REPORTS"),
        (("collect", "p.json", "no.bin"), 3, "no.bin: there is no such file"),
        (("collect", "p.json", "--gateway", "no.bin"), 3, "no.bin: there is no such file"),
        (("collect", "p.json", "people.csv"), 3, "people.csv: not a file of reports"),
        (("collect", "p.json", "--gateway", "people.csv"), 2, "no report was taken, rejected: 1, malformed: 1"),
        (("collect", "p.json", "some.batch"), 3, "some.batch: a gateway's batches, not single reports"),
        (("collect", "p.json", "pipe"), 3, "not a plain file"),
        (("collect", "p.json", "--gateway", "pipe"), 3, "not a plain file"),
        (("collect", "p.json", "holes"), 3, "has holes"),
        (
            ("collect", "p.json", "empty.bin", "--checkpoint", "pipe"),
            2,
            "--checkpoint: pipe: cannot be written, it is not a file",
        ),
        (("collect", "p.json", "empty.bin", "--batch-key", "pipe"), 3, "not a plain file"),
        (("collect", "p.json", "empty.bin", "--batch-key", "short.key"), 2, "--batch-key: key must have 16 bytes"),
        (("collect", "p.json", "empty.bin"), 2, "no report was taken, rejected: none"),
        (("collect", "p.json", "empty.bin", "--gateway", "empty.bin"), 2, "is given twice"),
        (("collect", "p.json", "empty.bin", "--checkpoint", "empty.bin"), 2, "choose another name"),
        (("collect", "p.json", "empty.bin", "empty.bin"), 2, "is given twice"),
        (("collect", "p.json", "empty.bin", "-o", "empty.bin", "--force"), 2, "choose another name"),
        (("collect", "p.json", "empty.bin", "--checkpoint", "people.csv"), 3, "not a valid checkpoint"),
        (("collect", "p.json", "empty.bin", "--checkpoint", "no/s.ckpt"), 2, "there is no folder"),
        (("simulate", "p.json"), 2, "who reports?"),
        (("simulate", "p.json", "--people", 0), 2, "--people must lie in"),
    ],
)
def test_what_cannot_work(sfumato, here, args, code, words):
    init(sfumato)
    init(sfumato, "marginals", box="groups.toml", name="m.json")
    (here / "numbers.csv").write_text("age,bmi\n1,2\n")
    (here / "empty.bin").write_bytes(b"")
    (here / "short.key").write_bytes(b"abc")
    (here / "some.batch").write_bytes(sf.local.load("p.json").encode_many(np.zeros((5, 2))))
    os.mkfifo(here / "pipe")
    with (here / "holes").open("wb") as file:
        file.truncate(2**40)
    sfumato("local", *args).failed(code, words)
    assert not list(here.glob("*.half")) and not list(here.glob(".*"))


# --- hostile files ----------------------------------------------------------------------------------------------


def reports_file(protocol, parts):
    """Framed reports of so many people each, and what stands between them."""
    data, first = protocol.file_head, 0
    for part in parts:
        if isinstance(part, bytes):
            data += part
        else:
            people = range(first, first + part)
            data += b"".join(protocol.frame(protocol.encode([30.0, 30.0], user=i), user=i) for i in people)
            first += part
    return data


def test_hostile_reports_are_counted_and_nothing_else(sfumato, here):
    bits = ("density", "--randomizer", "hadamard")
    protocol, other = init(sfumato, *bits), init(sfumato, *bits, name="other.json")
    batch = protocol.encode_many(np.full((8, 2), 30.0), 900)
    huge = batch[:22] + (2**31).to_bytes(8, "little")
    report = protocol.encode([30.0, 30.0], user=950)
    numbered = report[:1] + b"\x01" + report[2:10] + bytes(8) + report[10:]
    sent = [huge, batch, other.encode([30.0, 30.0], user=1), b"\x01" + report[1:], report[:-1] + b"\x07", numbered,
            report, b"noise" * 50]  # fmt: skip
    frames = [protocol.frame(message, user=950 + i) for i, message in enumerate(sent)]
    parts = [100, b"noise" * 50, 50, *frames[:4], 20, *frames[4:], 30, frames[0][:-1]]
    (here / "r.bin").write_bytes(reports_file(protocol, parts))
    data = sfumato("local", "collect", "p.json", "r.bin", "--json").data
    assert data["reports"] == 201
    assert data["rejected"] == {
        "damaged": 1,
        "another version": 4,  # two heads of batches, a report of version 1, noise
        "another protocol": 1,
        "malformed": 1,
        "own number": 1,
        "truncated": 1,
    }


@pytest.mark.slow
def test_one_message_does_not_take_over_a_collection(sfumato, here):
    """Once, thirty bytes among honest reports made thousands of people out of what followed."""
    protocol = init(sfumato)
    old = b"SFMR\x01\x01" + protocol.fingerprint + (10**6).to_bytes(8, "little") + (8 * 20_000).to_bytes(8, "little")
    for evil in (protocol.frame(old, user=9999), old):  # also if a server forgot to frame it
        (here / "r.bin").write_bytes(reports_file(protocol, [300, evil, 300]))
        data = sfumato("local", "collect", "p.json", "r.bin", "--force", "--json").data
        assert data["reports"] == 600 and sum(data["rejected"].values()) == 1


def test_batches_are_read_from_gateways_only_and_with_a_key_from_its_holder_only(sfumato, here):
    init(sfumato)
    (here / "k").write_bytes(bytes(range(32)))
    (here / "other").write_bytes(bytes(range(1, 33)))
    for name, key in (("open", ()), ("sealed", ("--batch-key", "k"))):
        assert sfumato("local", "encode", "p.json", "people.csv", *key, "-o", f"{name}.batch").code == 0
    collect = ("local", "collect", "p.json", "--force", "--gateway")
    assert sfumato(*collect, "open.batch", "--json").data["reports"] == PEOPLE
    assert sfumato(*collect, "sealed.batch", "--batch-key", "k", "--json").data["reports"] == PEOPLE
    sfumato(*collect, "open.batch", "--batch-key", "k").failed(2, "not sealed: 1")
    sfumato(*collect, "sealed.batch").failed(2, "no key: 1")
    sfumato(*collect, "sealed.batch", "--batch-key", "other").failed(2, "another key: 1")
    both = sfumato(*collect, "sealed.batch", "--batch-key", "k", "--gateway", "open.batch", "--json").data
    assert (both["reports"], both["rejected"]) == (PEOPLE, {"not sealed": 1})


def test_a_sealed_batch_and_a_signed_release_have_keys_of_their_own(sfumato, here):
    init(sfumato)
    (here / "k").write_bytes(bytes(range(32)))
    assert sfumato("keys", "new", "clinic.pem").code == 0
    assert sfumato("local", "encode", "p.json", "people.csv", "--batch-key", "k").code == 0
    collect = ("local", "collect", "p.json", "--gateway", "reports.batch", "--key", "clinic.pem")
    assert sfumato(*collect, "--batch-key", "k", "--json").data["reports"] == PEOPLE
    assert sf.load("release.sfumato", trust="clinic.pem.pub").guarantee.model == "local"


def test_a_batch_that_is_sent_again_counts_once(sfumato, here):
    protocol = init(sfumato)
    batch = protocol.encode_many(np.full((500, 2), 30.0))
    (here / "a.bin").write_bytes(batch)
    (here / "b.bin").write_bytes(batch)
    data = sfumato("local", "collect", "p.json", "--gateway", "a.bin", "--gateway", "b.bin", "--json").data
    assert (data["reports"], data["rejected"]) == (500, {"second report": 500})


@pytest.mark.few(5)
@pytest.mark.parametrize("seed", range(20))
def test_no_file_stops_the_collector(sfumato, here, seed):
    """Bytes of a good file behind its head, changed at random; what was changed is all that is lost."""
    protocol, generator = init(sfumato), np.random.default_rng(seed)
    data, changes = bytearray(reports_file(protocol, [60])), int(generator.integers(1, 12))
    for _ in range(changes):
        data[int(generator.integers(16, len(data)))] = int(generator.integers(0, 256))
    (here / "r.bin").write_bytes(bytes(data))
    reading = Reading(protocol.collector(), Places())
    reading.read(here / "r.bin", lambda: None, lambda _: None)
    assert 60 - changes <= reading.collector.reports <= 60


# --- crashes ----------------------------------------------------------------------------------------------------


class Crash(Exception):
    """The machine went down."""


def read_all(reading, reports, gateway, save=lambda: None):
    reading.read(reports, save, lambda _: None)
    save()
    reading.read_gateway(gateway, None, save, lambda _: None)
    save()
    return reading


def same(one, other):
    assert one.reports == other.reports and one.rejected == other.rejected
    assert all(np.array_equal(values, other._state[name]) for name, values in one._state.items())


@pytest.mark.few(3)
@pytest.mark.parametrize("crash_at", range(1, 9))
def test_a_crash_loses_nothing_and_counts_nothing_twice(here, sfumato, monkeypatch, crash_at):
    monkeypatch.setattr(reports, "EVERY", 0.0)  # a checkpoint after every block
    monkeypatch.setattr("sfumato.local.frames._BLOCK", 100)
    protocol = init(sfumato)
    (here / "a.bin").write_bytes(reports_file(protocol, [100, b"junk", 202]))
    later = protocol.encode_many(np.full((300, 2), 20.0), 5000) + protocol.encode_many(np.full((9, 2), 1.0), 9000)
    (here / "b.bin").write_bytes(later)
    files, checkpoint = [here / "a.bin", here / "b.bin"], here / "s.ckpt"
    whole = read_all(Reading(protocol.collector(), Places()), *files).collector
    reading, saves = Reading(protocol.collector(), Places()), 0

    def save_and_crash():
        nonlocal saves
        saves += 1
        if saves == crash_at:
            raise Crash
        save_checkpoint(checkpoint, reading)

    with pytest.raises(Crash):
        read_all(reading, *files, save=save_and_crash)
    again = load_checkpoint(checkpoint, protocol) if checkpoint.exists() else Reading(protocol.collector(), Places())
    read_all(again, *files)
    same(again.collector, whole)
    assert again.collector.reports == 611


def test_a_checkpoint_grows_from_day_to_day(sfumato, here):
    protocol = init(sfumato)
    collect = ("local", "collect", "p.json", "r.bin", "--checkpoint", "s.ckpt", "--force", "--json")
    whole = reports_file(protocol, [200])
    first, second = whole[: 16 + 100 * 27], whole[16 + 100 * 27 :]
    (here / "r.bin").write_bytes(first + second[:9])
    data = sfumato(*collect).data
    assert (data["reports"], data["new"], data["rejected"]) == (100, 100, {"truncated": 1})
    (here / "r.bin").write_bytes(first + second)  # the writer has finished
    data = sfumato(*collect).data
    assert (data["reports"], data["new"], data["rejected"]) == (200, 100, {})
    assert sfumato(*collect).data["new"] == 0
    (here / "r.bin").write_bytes(second + first)
    sfumato(*collect[:-1]).failed(2, "does not begin with what the checkpoint has read of it")


def test_a_gateways_file_grows_too(sfumato, here):
    protocol = init(sfumato)
    collect = ("local", "collect", "p.json", "--gateway", "r.bin", "--checkpoint", "s.ckpt", "--force", "--json")
    first, second = (protocol.encode_many(np.full((100, 2), 30.0), start) for start in (0, 100))
    (here / "r.bin").write_bytes(first + second[:-3])
    data = sfumato(*collect).data
    assert (data["reports"], data["new"], data["rejected"]) == (100, 100, {"truncated": 1})
    (here / "r.bin").write_bytes(first + second)  # the writer has finished
    data = sfumato(*collect).data
    assert (data["reports"], data["new"], data["rejected"]) == (200, 100, {})
    assert stat.S_IMODE((here / "s.ckpt").stat().st_mode) == 0o600


def test_what_is_said_of_a_later_run(sfumato, here):
    init(sfumato)
    sfumato("local", "encode", "p.json", "people.csv", "-o", "a.bin")
    sfumato("local", "encode", "p.json", "people.csv", "--first-user", 400, "-o", "b.bin")
    for name in ("a", "b"):
        result = sfumato(
            "local", "collect", "p.json", "--gateway", f"{name}.bin", "--checkpoint", "s.ckpt", "-o", f"{name}.sfumato"
        )
    assert "800 (400 of them new)" in result.out and "s.ckpt  the checkpoint" in result.out


def test_a_checkpoint_of_another_protocol_is_refused(sfumato, here):
    protocol, other = init(sfumato), init(sfumato, name="other.json")
    (here / "r.bin").write_bytes(other.encode_many(np.full((5, 2), 30.0)))
    assert sfumato("local", "collect", "other.json", "--gateway", "r.bin", "--checkpoint", "s.ckpt").code == 0
    result = sfumato("local", "collect", "p.json", "--gateway", "r.bin", "--checkpoint", "s.ckpt", "-o", "x.sfumato")
    result.failed(2, "--checkpoint: s.ckpt: is of another protocol")
    assert load_checkpoint(here / "s.ckpt", other).collector.reports == 5
    with pytest.raises(MissingFileError):
        load_checkpoint(here / "no.ckpt", protocol)


@pytest.mark.parametrize("content", [b"", b"PK", b"[]", b"\xff" * 100])
def test_damaged_checkpoints_are_refused(sfumato, here, content):
    protocol, path = init(sfumato), here / "s.ckpt"
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match="not a valid checkpoint"):
        load_checkpoint(path, protocol)


@pytest.mark.parametrize(
    "places",
    [0, {}, {"at": {"x": 3}, "digests": {}}, {"at": [], "digests": []}, {"at": {"x": -1}, "digests": {"x": "0" * 64}},
     {"at": {"x": True}, "digests": {"x": "0" * 64}}, {"at": {"x": 1}, "digests": {"x": 3}}, {"at": {}, "more": {}}],
)  # fmt: skip
def test_checkpoints_with_forged_places_are_refused(sfumato, here, places):
    protocol, path = init(sfumato), here / "s.ckpt"
    protocol.collector().save(path, places)
    with pytest.raises(FileFormatError, match="not a valid checkpoint"):
        load_checkpoint(path, protocol)


def test_rejections_are_in_the_checkpoint_but_not_those_of_an_unfinished_end(sfumato, here):
    protocol, path = init(sfumato), here / "r.bin"
    path.write_bytes(reports_file(protocol, [10, b"junk", 10, b"tail"]))
    reading = Reading(protocol.collector(), Places())
    reading.read(path, lambda: None, lambda _: None)
    save_checkpoint(here / "s.ckpt", reading)
    again = load_checkpoint(here / "s.ckpt", protocol)
    assert reading.pending == {"truncated": 1}
    assert again.collector.rejected == reading.collector.rejected and not again.pending
    assert sum(again.collector.rejected.values()) == 1


# --- simulate and plan ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "box", "what"),
    [
        ("density", "numbers.toml", "64 lattice masses"),
        ("smooth-queries", "numbers.toml", "35 cosine moments"),
        ("marginals", "groups.toml", "6 cells of tables of 2 columns"),
    ],
)
def test_a_simulation_is_as_good_as_planned(sfumato, here, kind, box, what):
    """Estimates are normal with the planned deviation at most: beyond 7 of them with probability 3e-12 each."""
    init(sfumato, kind, box=box)
    before = sorted(path.name for path in here.iterdir())
    for args in (("--people", 20_000), ("people.csv",), ("people.csv", "--people", 20_000)):
        data = sfumato("local", "simulate", "p.json", *args, "--json").data
        assert data["largest_error"] < 7 * data["planned_deviation"] and data["mean_error"] > 0
        assert data["people"] == (PEOPLE if args == ("people.csv",) else 20_000)
    text = sfumato("local", "simulate", "p.json", "people.csv").out
    for words in ("A simulation with 400 persons", f"compared          {what}", "bit a person", "planned"):
        assert words in text
    assert sorted(path.name for path in here.iterdir()) == before


def test_the_truth_of_a_simulation_is_the_truth():
    """Without noise (epsilon so large that nothing is flipped) and with everybody at a lattice point."""
    box = sf.Box({"a": (0, 4), "b": (0, 2)})
    protocol = sf.local.Density(box, 1.0, seed=1, lattice=(5, 3))
    people = made_up(box, 10).repeated(1)
    people = type(people)(("a", "b"), (np.array([0.0, 4.0, 1.5, np.nan]), np.array([0.0, 9.0, 1.0, 1.0])))
    collector = protocol.collector()
    collector.add_batch(protocol.encode_many(people))
    _, truth, _ = compared(protocol, collector.release(), people)
    wanted = np.zeros((5, 3))
    wanted[0, 0] = wanted[4, 2] = wanted[2, 1] = 0.25
    wanted[1, 1] += 0.125
    wanted[2, 1] += 0.125
    assert np.allclose(truth.reshape(5, 3), wanted)


def test_people_who_do_not_exist_are_within_the_box():
    box = sf.Box({"a": (-3, 5), "b": sf.Categorical(["x", "y", "z"]), "c": sf.Integer(0, 9)})
    people = made_up(box, 1000)
    assert people["a"].min() >= -3 and people["a"].max() <= 5 and len(people) == 1000
    counts = Counter(people["b"].tolist())
    assert counts["x"] > counts["y"] > counts["z"] > 0


def test_a_plan_and_its_inverse(sfumato, here):
    args = ("local", "plan", "--kind", "density", "--box", "numbers.toml", "--lattice", 11, "--epsilon", 1, "--json")
    given = sfumato(*args, "--people", 1_000_000).data
    assert 0.001 < given["deviation"] < 0.0025 < given["error"]
    back = sfumato(*args, "--error", given["error"]).data
    assert abs(back["people"] - 1_000_000) <= 1
    errors = [row["error"] for row in given["compared"]]
    people = [row["people"] for row in back["compared"]]
    assert errors == sorted(errors, reverse=True) and people == sorted(people, reverse=True) and len(errors) == 5
    assert list(here.glob("*.json")) == []


def test_what_a_plan_says(sfumato, here):
    result = sfumato("local", "plan", "--kind", "marginals", "--box", "groups.toml", "--epsilon", 1, "--error", ".01")
    for words in ("A plan: nobody was asked anything", "tables of up to 2 columns", "0.01 of any", "epsilon", "0.25"):
        assert words in result.out
    init(sfumato, "density", "--randomizer", "loglog")
    data = sfumato("local", "plan", "--protocol", "p.json", "--people", 1000, "--json").data
    assert len(data["compared"]) == 3  # this randomizer serves no larger epsilon


def test_a_plan_says_how_people_tell_and_which_lattice_suits(sfumato, here):
    args = ("local", "plan", "--kind", "density", "--box", "numbers.toml", "--epsilon", 1)
    told = sfumato(*args, "--people", 1_000_000, "--lattice", 11)
    assert "randomizer     subset: variance 3.61 over the people; hadamard 4.61" in told.out
    data = sfumato(*args, "--people", 10_000, "--lattice", "auto", "--json").data
    assert data["protocol"]["parameters"]["lattice"] == 6 and set(data["variances"]) == {"subset", "hadamard"}
    made = sfumato("local", "init", "--kind", "density", "--box", "numbers.toml", "--epsilon", 1, "--people", 1_000_000)
    assert "11 x 11 lattice points" in made.out


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--kind", "density", "--box", "numbers.toml", "--epsilon", 1), "give --people N"),
        (("--protocol", "p.json", "--people", 3, "--error", 1), "one of them"),
        (("--protocol", "p.json", "--kind", "density", "--people", 3), "not both"),
        (("--protocol", "p.json", "--people", 0), "--people must be at least 1"),
        (("--protocol", "p.json", "--error", 0), "--error must be positive"),
        (("--protocol", "p.json", "--error", 1, "--confidence", 2), "--confidence must lie"),
    ],
)
def test_what_makes_no_plan(sfumato, here, args, words):
    init(sfumato)
    sfumato("local", "plan", *args).failed(2, words)


def test_places_of_unknown_files_are_the_beginning(tmp_path):
    path = tmp_path / "x.bin"
    path.write_bytes(b"abc")
    places = Places({str(path): 2}, {str(path): "0"})
    with pytest.raises(ParameterError, match="does not begin"):
        places.start(path, b"abc")
    assert places.start(tmp_path / "y.bin", b"abc")[0] == 0


# --- linear models --------------------------------------------------------------------------------------------------

LINEAR = NUMBERS + '[columns.sex]\ncategories = ["F", "M"]\n'
MODEL = ("--kind", "linear-model", "--box", "linear.toml", "--epsilon", 4)


@pytest.fixture
def learning(here):
    (here / "linear.toml").write_text(LINEAR)
    return here


def test_a_linear_model_from_the_box_to_predictions(sfumato, learning):
    made = sfumato("local", "init", *MODEL, "--response", "sex", "--scale", "age:50:12", "-o", "p.json")
    assert "linear-model: sex from age, bmi" in made.out and "privunit, 1 byte" in made.out
    assert sf.local.load("p.json").scales == ((50.0, 12.0), (35.0, 12.5))
    told = sfumato("local", "simulate", "p.json", "people.csv")
    assert "compared          9 moments" in told.out
    sfumato("local", "encode", "p.json", "people.csv", "-o", "r.batch")
    taken = sfumato("local", "collect", "p.json", "--gateway", "r.batch", "-o", "m.sfumato", "--report", "m.html")
    assert "second moments of age and bmi, and how they go with sex" in taken.out and "a unit of 12" in taken.out
    assert "How the response goes with each column" in (learning / "m.html").read_text()
    said = sfumato("predict", "m.sfumato", "people.csv", "-o", "new.csv")
    assert "Predicted sex for 399 of 400 rows." in said.out
    assert (learning / "new.csv").read_text().splitlines()[0] == "age,bmi,sex,ward,prediction,decision"
    data = sfumato("inspect", "m.sfumato", "--json").data
    assert data["response"] == "sex" and len(data["coefficients"]) == len(data["slopes"]) == 2


def test_public_records_shorten_what_is_told(sfumato, learning):
    (learning / "open.csv").write_text("age,bmi\n" + "\n".join(f"{30 + i},{20 + i % 9}" for i in range(40)) + "\n")
    made = sfumato("local", "init", *MODEL, "--response", "sex", "--public", "open.csv", "-o", "p.json")
    assert "with public second moments" in made.out
    assert sf.local.load("p.json").questions == 3
    assert sfumato("local", "plan", "--protocol", "p.json", "--people", 1000).code == 0
    assert sfumato("local", "simulate", "p.json", "people.csv").code == 0


def test_a_linear_model_of_a_number(sfumato, learning):
    init(sfumato, "linear-model", "--response", "bmi")
    told = sfumato("local", "simulate", "p.json", "people.csv")
    assert "compared          5 moments" in told.out
    sfumato("local", "encode", "p.json", "people.csv", "-o", "r.batch")
    sfumato("local", "collect", "p.json", "--gateway", "r.batch", "-o", "m.sfumato")
    assert "Predicted bmi for" in sfumato("predict", "m.sfumato", "people.csv", "-o", "new.csv").out


def test_a_linear_model_of_dates_and_of_a_circle(sfumato, here):
    """A date as the centre of a scale, a date predicted, and a circle with two slopes, also from public records."""
    days = "low = 2024-01-01\nhigh = 2025-12-31\n"
    round_clock = '[columns.hour]\nlow = 0\nhigh = 24\nkind = "periodic"\n'
    (here / "dates.toml").write_text(f"[columns.visit]\n{days}{round_clock}[columns.back]\n{days}")
    rows = [f"2024-{1 + i % 12:02}-{1 + i % 28:02},{i % 24},2025-{1 + i % 12:02}-{1 + i % 28:02}" for i in range(300)]
    (here / "visits.csv").write_text("visit,hour,back\n" + "\n".join(rows) + "\n")
    made = ("local", "init", "--kind", "linear-model", "--box", "dates.toml", "--epsilon", 4, "--response", "back")
    assert sfumato(*made, "--scale", "visit:2024-07-01:60", "--public", "visits.csv", "-o", "q.json").code == 0
    assert sf.local.load("q.json").scales[0] == (19905.0, 60.0) and sf.local.load("q.json").questions == 5
    sfumato(*made, "--scale", "visit:soon:60").failed(2, "--scale needs NAME:CENTRE:UNIT")
    sfumato(*made, "-o", "p.json")
    sfumato("local", "encode", "p.json", "visits.csv", "-o", "r.batch")
    taken = sfumato("local", "collect", "p.json", "--gateway", "r.batch", "-o", "m.sfumato", "--report", "m.html")
    assert "cos hour: " in taken.out and "sin hour" in (here / "m.html").read_text()
    assert "Predicted back for 300" in sfumato("predict", "m.sfumato", "visits.csv", "-o", "new.csv").out
    last = [line.split(",")[-1] for line in (here / "new.csv").read_text().splitlines()[1:]]
    assert all(sf.Box({"d": (text, "2026-01-01")}) for text in last) and {text[:3] for text in last} == {"202"}
    assert sfumato("inspect", "m.sfumato", "--json").data["columns"] == ["visit", "cos hour", "sin hour"]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((), "give --response NAME"),
        (("--response", "sexx"), "did you mean 'sex'"),
        (("--response", "sex", "--scale", "age:5"), "--scale needs NAME:CENTRE:UNIT"),
        (("--response", "sex", "--lattice", "5"), "--lattice is for --kind density"),
        (("--response", "sex", "--randomizer", "bit"), "there is only one for linear-model"),
    ],
)
def test_what_makes_no_linear_model(sfumato, learning, args, words):
    sfumato("local", "init", *MODEL, *args).failed(2, words)


def test_public_records_that_are_not_there(sfumato, learning):
    sfumato("local", "init", *MODEL, "--response", "sex", "--public", "none.csv").failed(
        3, "none.csv: there is no such"
    )


def test_what_a_linear_model_does_not_do(sfumato, learning):
    init(sfumato, "linear-model", "--response", "sex", box="linear.toml")
    sfumato("local", "encode", "p.json", "people.csv", "-o", "r.batch")
    sfumato("local", "collect", "p.json", "--gateway", "r.batch", "-o", "m.sfumato")
    sfumato("predict", "m.sfumato", "people.csv", "-o", "n.csv", "--certain").failed(2, "--certain is not for")
    sfumato("evaluate", "m.sfumato", "people.csv").failed(2, "collected-moments")


# --- mean losses ----------------------------------------------------------------------------------------------------

RISK = (
    *("--kind", "risk", "--box", "linear.toml", "--epsilon", 4, "--loss", "logistic", "--response", "sex"),
    *("--parameter", "age:-2:2", "--parameter", "intercept:-1:1", "--lattice", "4,3", "--degree", 2),
)


@pytest.mark.slow
def test_a_mean_loss_from_the_box_to_its_lowest_point(sfumato, learning):
    made = sfumato("local", "init", *RISK, "--ridge", 0.1, "-o", "p.json")
    assert "risk: logistic loss about sex at 4 x 3 values of age, intercept" in made.out and "bit, 1 bit" in made.out
    protocol = sf.local.load("p.json")
    assert protocol.parameters == sf.Box({"age": (-2, 2), "intercept": (-1, 1)}) and protocol.ridge == 0.1
    assert "compared          12 mean losses" in sfumato("local", "simulate", "p.json", "people.csv").out
    sfumato("local", "encode", "p.json", "people.csv", "-o", "r.batch")
    taken = sfumato("local", "collect", "p.json", "--gateway", "r.batch", "-o", "m.sfumato", "--report", "m.html")
    assert "a polynomial through 4 x 3 lattice points" in taken.out
    assert "with a ridge of 0.1 at age = " in taken.out and "(confidence 0.95)" in taken.out
    assert "The mean loss of those who reported" in (learning / "m.html").read_text()
    (learning / "at.csv").write_text("age,intercept\n0,0\n1,0.5\n")
    assert len(sfumato("evaluate", "m.sfumato", "at.csv").out.splitlines()) == 3
    data = sfumato("inspect", "m.sfumato", "--json").data
    assert data["loss"] == "logistic" and len(data["lowest"]["parameters"]) == 2


def test_a_mean_loss_is_planned(sfumato, learning):
    planned = sfumato("local", "plan", *RISK, "--range", "0:2", "--people", 1000, "--json").data
    assert planned["protocol"]["parameters"]["range"] == [0.0, 2.0] and planned["deviation"] > 0.05


def test_a_loss_of_ones_own_is_collected_but_not_encoded_here(sfumato, learning):
    own = ["own" if word == "logistic" else word for word in RISK]
    sfumato("local", "init", *own, "--range", "0:1", "-o", "p.json")
    sfumato("local", "encode", "p.json", "people.csv").failed(2, "with_loss(function) first")
    device = sf.local.load("p.json").with_loss(lambda weights, record: 0.5)
    (learning / "r.bin").write_bytes(device.file_head + device.frame(device.encode([40, 20, "F"], user=3), user=3))
    assert sfumato("local", "collect", "p.json", "r.bin", "-o", "m.sfumato").code == 0


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--parameter", "age:5"), "--parameter needs NAME:LOW:HIGH"),
        (("--range", "5"), "--range needs LOW:HIGH"),
        (("--loss", "hinge"), "use sf.local.GeneralizedLinear"),
        (("--scale", "age:38:14"), "--scale is for --kind linear-model"),
        (("--randomizer", "hadamard"), "--randomizer for risk is one of bit"),
        (("--parameter", "age:5:2"), "low must be below high"),
    ],
)
def test_what_makes_no_mean_loss(sfumato, learning, args, words):
    sfumato("local", "init", *RISK, *args).failed(2, words)


@pytest.mark.parametrize("missing", ["--loss", "--parameter", "--lattice", "--degree"])
def test_what_a_mean_loss_needs(sfumato, learning, missing):
    places = [place for place, word in enumerate(RISK) if word == missing]
    left = [word for place, word in enumerate(RISK) if not {place, place - 1} & set(places)]
    sfumato("local", "init", *left).failed(2, f"--kind risk needs {missing}")


# --- gradients ------------------------------------------------------------------------------------------------------

WALK = ("--kind", "generalized-linear", "--box", "linear.toml", "--epsilon", 4)


def test_gradients_from_the_box_to_predictions(sfumato, learning):
    made = sfumato("local", "init", *WALK, "--response", "sex", "--copies", "gaussian", "--delta", 1e-6, "-o", "p.json")
    assert "sex from age, bmi by the hinge loss, 2 gaussian copies, 64 steps" in made.out and "(4, 1e-06)-" in made.out
    assert "steps        64, each person is in one" in made.out and "questions" not in made.out
    assert "compared          3 means of what copies are of" in sfumato("local", "simulate", "p.json", "people.csv").out
    sfumato("local", "encode", "p.json", "people.csv", "-o", "r.batch")
    taken = sfumato("local", "collect", "p.json", "--gateway", "r.batch", "-o", "m.sfumato", "--report", "m.html")
    assert "by one pass of gradients of the hinge loss" in taken.out and "is not known" in taken.out
    assert "1e-06" in (learning / "m.html").read_text()
    assert "Predicted sex for 399" in sfumato("predict", "m.sfumato", "people.csv", "-o", "new.csv").out
    assert len(sfumato("inspect", "m.sfumato", "--json").data["weights"]) == 3
    assert sfumato("local", "plan", *WALK, "--response", "sex", "--people", 1000).code == 0


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((), "give --response NAME"),
        (("--response", "sex", "--delta", 1e-6), "delta must be 0 for copies='privunit'"),
        (("--response", "sex", "--copies", "gaussian"), "delta must lie in"),
        (("--response", "bmi"), "has categories in column 'sex'"),
        (("--response", "sex", "--randomizer", "bit"), "there is only one for generalized-linear"),
    ],
)
def test_what_makes_no_gradients(sfumato, learning, args, words):
    sfumato("local", "init", *WALK, *args).failed(2, words)
