"""All that runs on a worker: fixed sentences instead of errors, fingerprints without order, answers as bytes."""

import pickle
import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sfumato as sf
from contracts.far import Telling
from contracts.folding import passes_of, table
from opening import numbers_of, wide
from sfumato.engines import workers
from sfumato.engines.clusters import attempt
from sfumato.engines.shuffle import _as_bytes, _from_bytes, bundle, chosen, chosen_batches, split, split_batches, stored
from sfumato.engines.totals import Totals
from sfumato.engines.workers import (
    SENTENCES,
    VERSIONS,
    Answer,
    BatchPart,
    Fingerprint,
    FramePart,
    Piece,
    Stream,
    asked,
    fold,
    guarded,
)
from sfumato.errors import EngineError, MissingExtraError, SchemaError
from sfumato.extras import need_version

BOX = sf.Box({"a": (0, 10), "t": sf.Categorical(["f", "m"])})
KINDS = dict(zip(BOX.names, BOX.columns, strict=True))


# --- sentences ------------------------------------------------------------------------------------------------------


class Panic(BaseException):
    """As libraries of other languages raise."""


@pytest.mark.parametrize(
    ("error", "trouble"),
    [(ValueError, 3), (SchemaError, 1), (MemoryError, 2), (Panic, 3), (RecursionError, 3), (OSError, 3)],
)
def test_whatever_is_raised_a_sentence_is_what_comes_back(error, trouble):
    @guarded
    def fails(secret):
        raise error(secret)

    answer = fails("secret")
    assert (answer.trouble, answer.rows, answer.limbs) == (trouble, 0, b"")
    assert "secret" not in repr(answer) and "secret" not in SENTENCES[trouble]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_who_stops_a_worker_stops_it_and_nothing_is_told(error):
    @guarded
    def stopped():
        raise error("secret")

    with pytest.raises(SystemExit) as caught:
        stopped()
    assert str(caught.value) == "1" and caught.value.__context__ is None


def test_a_worker_of_another_version_says_which():
    one = passes_of("density")[0]
    part = FramePart(table(), KINDS)
    assert asked(VERSIONS, fold, part, one) == fold(part, one)
    answer = asked("sfumato 0.0.9 on Python 3.11", fold, part, one)
    assert (answer.trouble, answer.rows, answer.limbs) == (4, 0, VERSIONS.encode())
    assert Answer.from_bytes(answer.to_bytes()) == answer


OTHERS = "sfumato 9.9.9 on Python 3.99"


@pytest.mark.few(1)
@pytest.mark.parametrize("unit", ["row", sf.Person("y", 2)])
@pytest.mark.parametrize("name", ["density", "ridge regression"])
def test_who_asks_workers_of_other_versions_hears_both(name, unit, monkeypatch):
    from contracts.far import dask_frame

    one, engine = passes_of(name)[0], sf.engines.Dask()  # first: its module takes the versions as it finds them
    monkeypatch.setattr("sfumato.engines.workers.VERSIONS", OTHERS)
    records = engine.open(dask_frame(table(), 3), one.box, unit, [])
    wanted = rf"a worker has other versions than this process \({OTHERS}\): nothing was .* Install {VERSIONS} there"
    with pytest.raises(EngineError, match=wanted):
        engine.fold(records, one)


def test_another_python_of_sparks_is_told_too():
    class Unreadable(Exception):
        def __str__(self):
            raise RuntimeError

    def fails(error):
        raise error

    with pytest.raises(EngineError, match=rf"other versions than this process \(another Python\).*Install {VERSIONS}"):
        attempt("Spark", lambda: fails(ValueError("secret [PYTHON_VERSION_MISMATCH] Python in worker has 3.9")))
    with pytest.raises(EngineError, match=rf"could not compute the data \(Unreadable\).*has every worker {VERSIONS}"):
        attempt("Spark", lambda: fails(Unreadable()))


def test_nothing_is_warned_of(recwarn):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answer = fold(FramePart(table(), KINDS), Telling(BOX))
    assert answer.trouble == 3
    assert not recwarn.list


def test_a_partition_without_its_columns_is_a_sentence():
    assert fold(FramePart(table()[["b"]], KINDS), passes_of("density")[0]).trouble == 1


INFERRED = {
    "moments": pd.to_datetime([3, 5], unit="ns"), "moments in seconds": pd.to_datetime([3, 5], unit="s").as_unit("s"),
    "zoned moments": pd.to_datetime([3, 5], unit="ns", utc=True), "durations": pd.to_timedelta([3, 5], unit="ns"),
    "durations in seconds": pd.to_timedelta([3, 5], unit="s").as_unit("s"),
    "periods": pd.period_range("1973", periods=2, freq="Y"),
    "categories of moments": pd.Categorical(pd.to_datetime([3, 5], unit="ns")),
    "text": pd.Index(["3", "a"], dtype="string"),
    "Arrow's durations": pd.array([pd.Timedelta(3, "ns")] * 2, dtype="duration[ns][pyarrow]"),
    "complex": pd.Index([3 + 0j, 5j]), "truth": pd.Index([True, False]), "numbers": pd.Index([3, 5]),
}  # fmt: skip
HELD = {
    "number": sf.Box({"a": (0, 10)}),
    "code": sf.Box({"a": sf.Categorical([1, 3])}),
    "text": sf.Box({"a": sf.Categorical(["a", "b"])}),
    "date": sf.Box({"a": ("1969-01-01", "2025-01-01")}),
}


@pytest.mark.parametrize("box", HELD.values(), ids=HELD)
@pytest.mark.parametrize("values", INFERRED.values(), ids=INFERRED)
def test_no_record_decides_how_the_others_of_a_partition_are_read(values, box):
    """What pandas made of all its values together is read as each of them is among objects."""
    kinds = dict(zip(box.names, box.columns, strict=True))
    alone = pd.Series(values, name="a")

    def read(frame):
        (found,) = next(FramePart(frame, kinds).table().batches(box, 9))
        return stored(found, box.columns[0])[:2]

    mixed = pd.DataFrame({"a": pd.Series([*alone, object()], dtype=object)})
    np.testing.assert_array_equal(read(alone.to_frame()), read(mixed))


def test_a_file_that_changed_is_a_sentence(tmp_path):
    (tmp_path / "t.csv").write_text("a,t\n1,f\n")
    piece = Piece(str(tmp_path / "t.csv"), None, (("a", ""), ("t", "")))
    one = passes_of("density")[0]
    assert fold(piece, one).rows == 1
    (tmp_path / "t.csv").write_text("t,a\n1,f\n")
    assert fold(piece, one).trouble == 1
    (tmp_path / "t.csv").unlink()
    assert fold(piece, one).trouble == 1


# --- fingerprints ---------------------------------------------------------------------------------------------------


def mark(frame):
    return fold(FramePart(frame, KINDS), Seeing(BOX)).mark


@dataclass(frozen=True)
class Seeing:
    """A pass that adds nothing."""

    box: sf.Box
    features = None
    size = 0
    largest = 1

    def add(self, total, columns):
        pass


def test_a_fingerprint_knows_no_order():
    assert mark(table()) == mark(table()[::-1]) == mark(table().sample(frac=1, random_state=1))


def test_a_fingerprint_sees_every_change():
    """Of one value by one bit, of one category, and of two values that change places."""
    plain = pd.DataFrame({"a": np.random.default_rng(1).uniform(0, 10, 40), "t": ["f", "m"] * 20})
    seen = {mark(plain)}
    for row in range(40):
        a, t = plain["a"].to_numpy().copy(), plain["t"].to_list()
        a[row], t[row] = np.nextafter(a[row], 99), "m" if t[row] == "f" else "f"
        seen |= {mark(plain.assign(a=a)), mark(plain.assign(t=t))}
    a = plain["a"].to_numpy()
    seen.add(mark(plain.assign(a=[a[1], a[0], *a[2:]])))
    assert len(seen) == 82


def test_small_whole_numbers_have_different_fingerprints():
    """As doubles they have few bits, all of them at the top."""
    box = sf.Box({"a": (0, 10), "b": (0, 10)})
    seen = set()
    for first in range(40):
        for second in range(40):
            one = Fingerprint()
            one.columns([np.array([float(first)]), np.array([float(second)])], box)
            seen.add(tuple(one.sums))
    assert len(seen) == 1600


def test_blocks_have_fingerprints_of_their_rows():
    values = np.random.default_rng(1).normal(size=(50, 4))
    whole, parts = Fingerprint(), Fingerprint()
    whole.block(50, [values[:, :3], values[:, 3:]])
    for start in range(0, 50, 10):
        parts.block(10, [values[start : start + 12, :3], values[start : start + 12, 3:]])
    assert (whole.rows, whole.sums) == (parts.rows, parts.sums)


# --- what is sent ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("numbers", [[0, 5, -5], [2**62, -(2**62), 1], [2**100, -(2**100), 2**48]])
def test_sums_of_any_size_arrive(numbers):
    totals = Totals(3, 2**30)
    totals._saved, totals.rows = wide(numbers), 7
    found = Totals.received(totals.packed(), totals.rows, 3, 2**30)
    assert (found.rows, numbers_of(found._whole()).tolist()) == (7, numbers)


def test_an_answer_is_bytes_and_again_an_answer():
    answer = Answer(0, 12, (2**64 - 1, 3), b"limbs")
    assert Answer.from_bytes(answer.to_bytes()) == pickle.loads(pickle.dumps(answer)) == answer
    assert repr(answer) == "<private sums>"


@pytest.mark.parametrize(
    "key",
    [
        "a",
        "",
        "é",
        "\udcff",
        0,
        -(2**63),
        2**64,
        0.1,
        1e300,
        -1.5,
        True,
        ("moment", -(2**99)),
        ("time", ("duration", 5)),
    ],
)
def test_identifiers_are_bytes_and_again_identifiers(key):
    assert _from_bytes(_as_bytes(key)) == key


DAYS = pd.to_datetime([0, 100], unit="s")
ZONED = DAYS.tz_localize("UTC")
SPANS = pd.to_timedelta([1, 90], unit="min")
MONTHS = pd.period_range("2020-01", periods=2, freq="M")
STAMPS = pa.array([0, 86_400], pa.timestamp("s"))


@pytest.mark.parametrize(
    "forms",
    [
        [DAYS.as_unit("ns"), DAYS.as_unit("s"), DAYS.astype("category"), DAYS.astype(object)],
        [ZONED.as_unit("ms"), ZONED.as_unit("us").tz_convert("Europe/Berlin"), ZONED.astype(object)],
        [SPANS.as_unit("ns"), SPANS.as_unit("s"), SPANS.astype(object)],
        [MONTHS, MONTHS.astype("category"), MONTHS.astype(object)],
        [STAMPS, STAMPS.cast(pa.timestamp("ns")), pd.to_datetime([0, 86_400], unit="s").astype(object)],
        [pa.array([0, 1], pa.date32()), pa.array([0, 1], pa.date32()).cast(pa.date64())],
        [
            pa.array([b"a", b"\xff"]),
            pa.array([b"a", b"\xff"], pa.large_binary()),
            pd.Index([b"a", b"\xff"], dtype=object),
        ],
    ],
    ids=["moments", "zoned moments", "durations", "periods", "Arrow's", "Arrow's dates", "bytes"],
)
def test_who_is_no_number_is_one_person_in_parts_of_different_types(forms):
    """A single text among them makes objects of a part, one nanosecond makes another unit of it."""
    whole = [pd.arrays.ArrowExtensionArray(form) if isinstance(form, pa.Array) else form for form in forms]
    parts = [FramePart(pd.DataFrame({"who": form, "a": [1.0, 2.0], "t": ["f"] * 2}), KINDS) for form in whole]
    found = [split(part, "who", KINDS, 4) for part in parts]
    kept = [chosen([bundle(one, place) for one in found], sf.Person("who", 1)) for place in range(4)]
    assert sum(len(rows.values["a"]) for rows in kept) == 2


@pytest.mark.parametrize("kind", [pa.timestamp("us", "UTC"), pa.date32(), pa.time64("us"), pa.duration("us")], ids=str)
def test_points_in_time_travel_as_batches(kind):
    """As Spark sends them."""
    counts = pa.array([5, 5, 7, None, -7], pa.int32() if kind.bit_width == 32 else pa.int64())
    batch = pa.record_batch({"who": counts.view(kind), "a": [1.0] * 5, "t": ["f"] * 5})
    sent = list(split_batches([BatchPart(batch)], "who", KINDS))
    (found,) = chosen_batches(sent, sf.Person("who", 1), KINDS)
    assert not np.asarray(found.column("trouble")).any() and found.num_rows == 3


def test_both_zeros_are_one_person():
    assert _as_bytes(0.0) == _as_bytes(-0.0)


def test_features_that_were_kept_are_what_they_were():
    one = passes_of("logistic regression")[-1]
    batch = pa.RecordBatch.from_pandas(table(), preserve_index=False)
    names = [*one.box.names]
    made = [*workers.feature_batches([Stream([batch.select(names)], names)], one.features)]
    cut = [piece.slice(start, 500) for piece in made for start in range(0, piece.num_rows, 500)]
    straight = fold(FramePart(table(), dict(zip(names, one.box.columns, strict=True))), one)
    assert fold(workers.Kept(iter(cut[::-1])), one) == straight


def test_features_that_failed_say_so():
    one = passes_of("logistic regression")[-1]
    (made,) = workers.feature_batches([FramePart(pd.DataFrame({"b": [1.0]}), {"a": BOX.columns[0]})], one.features)
    assert fold(workers.Kept([made]), one).trouble == 1


# --- versions -------------------------------------------------------------------------------------------------------


def test_an_old_version_is_said():
    with pytest.raises(MissingExtraError, match=r"numpy 99.1 or later is needed, got .*pip install 'sfumato\[dask\]'"):
        need_version("numpy", "dask", (99, 1))
    assert need_version("numpy", "dask", (1, 26)) is np


# --- features that come out differently -----------------------------------------------------------------------------


def test_features_that_are_made_again_and_differ_are_refused(monkeypatch):
    """As on a processor of another type, in a worker that took over from one that died."""
    pytest.importorskip("dask.dataframe", reason="Dask is not installed")
    from contracts.far import dask_frame
    from sfumato.targets.machine.examples import LabelledFeatures

    made, make = [], LabelledFeatures.make

    def other(self, numbers):
        values = make(self, numbers)
        made.append(numbers)
        values[0][0, 0] += len(made) > 4
        return values

    one = passes_of("logistic regression")[-1]
    engine = sf.engines.Dask()
    monkeypatch.setattr("sfumato.engines.dask._KEPT", 0)
    monkeypatch.setattr(LabelledFeatures, "make", other)
    records = engine.open(dask_frame(table(), 4), one.box, "row")
    engine.fold(records, one)
    with pytest.raises(EngineError, match="changed between two passes"):
        engine.fold(records, one)
