"""Which rows of a person count: as many as may, by what they hold, whatever their order and whoever else is there."""

import math
import uuid
from collections import Counter
from datetime import date
from decimal import Decimal
from fractions import Fraction
from unittest import mock

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

import sfumato as sf
from opening import places_kept
from sfumato.bits import GOLDEN, stirred
from sfumato.engines import persons
from sfumato.engines.columns import _key, arrow_coded, joined
from sfumato.engines.persons import _least, _least_of_each, _number, rows_kept
from sfumato.engines.tables import open_table

BOX = sf.Box(
    {"age": (0, 110), "hour": sf.Periodic(0, 24), "visits": sf.Integer(0, 9), "sex": sf.Categorical(["f", "m"])}
)
NUMBER = sf.Box({"age": (0, 110)})


def kept(identifiers, most=2, values=None):
    """Which rows count, of rows that hold one number each, or nothing."""
    if values is None:
        kinds, read = {}, None
    else:
        kinds, read = {"age": NUMBER.columns[0]}, lambda box, rows: iter([[np.array(values, dtype=float)]])
    pieces = [(list(identifiers), np.arange(len(identifiers)))]
    return rows_kept(sf.Person("id", most), pieces, kinds, read)


# --- how many, and whose ----------------------------------------------------------------------------------------


def test_of_equal_rows_the_first_are_kept():
    assert kept(["a", "b", "a", "a", "b", "b", "c"]).tolist() == [True, True, True, False, True, False, True]
    assert kept("aaab", 2, [5, 5, 5, 5]).tolist() == [True, True, False, True]


@pytest.mark.parametrize("nobody", [None, "", math.nan, np.float64("nan"), np.datetime64("NaT")])
def test_rows_of_nobody_are_dropped(nobody):
    assert kept([nobody, "a", nobody, nobody]).tolist() == [False, True, False, False]


@pytest.mark.parametrize("identifier", [0, 0.0, False, "0", b"x", ("a", 1), 10**400, math.inf, "\ud800", frozenset()])
def test_any_hashable_identifier_will_do(identifier):
    assert kept([identifier] * 3).tolist() == [True, True, False]
    assert kept([identifier] * 3, 1, [1, 2, 3]).sum() == 1


def test_no_rows_are_fine():
    assert kept([]).tolist() == kept([], 1, []).tolist() == []
    assert kept([]).dtype == np.bool_


def reference(owners, first, second, most):
    """The same choice, one person after the other, in plain Python."""
    chosen = Counter()
    for owner in set(owners):
        rows = Counter((a, b) for o, a, b in zip(owners, first, second, strict=True) if o == owner)
        ranks = [
            (a if j == 0 else int(stirred(np.array([(a + j * GOLDEN) % 2**64], dtype=np.uint64))[0]), a, b)
            for (a, b), many in rows.items()
            for j in range(many)
        ]
        chosen.update((owner, a, b) for _, a, b in sorted(ranks)[:most])
    found = []
    for row in zip(owners, first, second, strict=True):
        found.append(chosen[row] > 0)
        chosen[row] -= 1
    return found


WORDS = st.sampled_from([0, 1, 2, 2**63, 2**64 - 1])
ROWS = st.lists(st.tuples(st.sampled_from([0, 1, 2, 70_000]), WORDS, WORDS), min_size=1, max_size=30)


@given(ROWS, st.integers(1, 4))
def test_no_hash_lets_anybody_have_more_rows_or_a_say_in_anothers(rows, most):
    """Hashes are chosen here: those of one person equal to another's, those of unequal rows equal."""
    owners, first, second = zip(*rows, strict=True)
    arrays = np.array(owners), np.array(first, dtype=np.uint64), np.array(second, dtype=np.uint64)
    found = _least(*arrays, most)
    with mock.patch.object(persons, "_SORTED", 3):  # some persons at a time
        assert _least_of_each(*arrays, most).tolist() == found.tolist()
    assert found.tolist() == reference(owners, first, second, most)
    for owner in set(owners):
        mine = arrays[0] == owner
        assert found[mine].sum() == min(most, mine.sum())
        assert found[mine].tolist() == _least(*(array[mine] for array in arrays), most).tolist()


TABLES = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([0.0, -0.0, 1.0, 1.5, math.nan, 500, 110])))


@given(TABLES, st.integers(1, 3), st.randoms())
def test_the_order_of_rows_does_not_matter(rows, most, random):
    def counted(table):
        names, values = [name for name, _ in table], [value for _, value in table]
        cleaned = [str(float(np.clip(value, 0, 110)) + 0.0) for value in values]
        return Counter(
            pair for pair, keep in zip(zip(names, cleaned, strict=True), kept(names, most, values), strict=True) if keep
        )

    found = counted(rows)
    assert all(sum(many for (name, _), many in found.items() if name == who) <= most for who in "abc")
    assert counted(random.sample(rows, len(rows))) == found
    mine = [row for row in rows if row[0] == "a"]
    assert counted(mine) == Counter({pair: many for pair, many in found.items() if pair[0] == "a"})


@pytest.mark.parametrize("lane", [0, 1])
def test_rows_of_one_hash_are_ordered_by_what_they_hold(lane, monkeypatch):
    """Half of the hash is spoilt; the other half is still what decides."""
    absorb = persons._absorb

    def spoilt(*words_and_rest):
        absorb(*words_and_rest)
        words_and_rest[lane][:] = 7

    monkeypatch.setattr(persons, "_absorb", spoilt)
    values = np.arange(12.0)
    found = values[kept("a" * 12, 4, values)]
    backwards = values[::-1][kept("a" * 12, 4, values[::-1])]
    assert sorted(found) == sorted(backwards) and len(found) == 4


# --- which ------------------------------------------------------------------------------------------------------


def test_every_row_counts_as_often_as_any_other():
    """One row of its own among nine copies of another: a tenth of persons keep it if one row counts, not a half.

    Nothing is random here, as the hash is fixed; a fair choice would be this far off once in 10**9 times.
    """
    people = 20_000
    values = np.tile([1.0, 2, 2, 2, 2, 2, 2, 2, 2, 2], people)
    for most in (1, 3):
        rare = kept(np.repeat(np.arange(people), 10).tolist(), most, values)[::10].mean()
        assert abs(rare - most / 10) < 6 * math.sqrt(most / 10 * (1 - most / 10) / people)


def test_sums_of_rows_that_count_are_not_biased():
    people, rng = 4000, np.random.default_rng(3)
    values = rng.uniform(0, 110, size=people * 6)
    chosen = kept(np.repeat(np.arange(people), 6).tolist(), 2, values)
    assert abs(values[chosen].mean() - values.mean()) < 6 * 110 / math.sqrt(12 * 2 * people)
    places = np.bincount(np.flatnonzero(chosen) % 6) / people  # nor are early rows
    assert np.abs(places - 1 / 3).max() < 6 * math.sqrt(2 / 9 / people)


def test_persons_prefer_different_rows():
    values = np.tile(np.arange(5.0), 500)
    for name_of in (int, "p{}".format, lambda i: (i, "x"), lambda i: b"%d-" % i):
        names = map(name_of, range(500))
        chosen = values[kept([name for name in names for _ in range(5)], 1, values)]
        assert np.bincount(chosen.astype(int), minlength=5).min() > 50


def test_the_choice_is_the_same_for_ever():
    """Files of one table must give one release now and later: the hash is public and fixed."""
    values = [3.0, 14.0, 15.0, 92.0, 65.0, 35.0, 89.0, 79.0]
    found = {name: np.array(values)[kept([name] * 8, 3, values)].tolist() for name in ("a", 7, "7", 0.5)}
    assert found == {"a": [14.0, 35.0, 89.0], 7: [3.0, 15.0, 92.0], "7": [3.0, 15.0, 92.0], 0.5: [3.0, 65.0, 35.0]}
    assert found[7] == found["7"]  # as a CSV file has it


@pytest.mark.parametrize(
    "family",
    [
        [1, 1.0, True, Decimal(1), Fraction(1), 1 + 0j, "1", "1.0", b"1"],
        [2**70, float(2**70), Decimal(2**70), str(2**70)],
        [_key(date(2020, 1, 2)), "2020-01-02"],
        [uuid.UUID(int=5), str(uuid.UUID(int=5))],
        [(1, 2.0), (1.0, 2)],
        [0.0, -0.0, 0, False],
        [math.inf, "inf"],
    ],
    ids=repr,
)
def test_equal_identifiers_have_equal_salts(family):
    keys = dict(enumerate(family))
    salts = persons.salts_of(keys, np.arange(len(family)))
    assert len(set(salts.tolist())) == 1


@pytest.mark.parametrize("strange", ["nan", "1_0", "\ud800", "9" * 5000, "1e999", b"\xff", 1j, None, (), "٣"])
def test_no_identifier_raises(strange):
    assert isinstance(float(_number(strange)), float)


# --- tables -----------------------------------------------------------------------------------------------------


def table(rows=240, seed=4):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.choice([1.5, 2.5, -0.0, 0.0, 120.0, 1e308, np.nan], rows),
            "hour": rng.integers(-30, 60, rows) / 2,
            "visits": rng.integers(0, 12, rows) / 2,
            "sex": rng.choice(["f", "m", "x", ""], rows),
            "id": rng.integers(0, 30, rows),
            "other": np.arange(rows) * 1.0,
        }
    )


def as_parquet(frame, tmp_path):
    parquet.write_table(pa.Table.from_pandas(frame, preserve_index=False), tmp_path / "t.parquet", row_group_size=7)
    return tmp_path / "t.parquet"


def as_csv(frame, tmp_path):
    frame.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


def as_chunks(frame, _):
    whole = pa.Table.from_pandas(frame, preserve_index=False)
    return pa.concat_tables([whole[start : start + 11] for start in range(0, len(frame), 11)])


CONTAINERS = {
    "pandas": lambda frame, _: frame,
    "pandas of arrow": lambda frame, _: frame.convert_dtypes(dtype_backend="pyarrow"),
    "pandas with text as names": lambda frame, _: frame.assign(id=frame["id"].astype(str)),
    "pandas with odd names": lambda frame, _: frame.assign(id=frame["id"].astype(object)),
    "polars": lambda frame, _: pl.from_pandas(frame),
    "polars with text as names": lambda frame, _: pl.from_pandas(frame.assign(id=frame["id"].astype(str))),
    "arrow in chunks": as_chunks,
    "arrow with a dictionary": lambda frame, _: pa.table(
        {name: frame[name] for name in frame if name != "id"} | {"id": pa.array(frame["id"]).dictionary_encode()}
    ),
    "parquet": as_parquet,
    "csv": as_csv,
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_containers_and_formats_do_not_matter(name, tmp_path):
    frame = table()
    expected = open_table(frame, BOX, sf.Person("id", 3)).native["other"].tolist()
    assert 60 < len(expected) < 100 and sorted(expected) == expected
    native = open_table(CONTAINERS[name](frame, tmp_path), BOX, sf.Person("id", 3)).native
    assert [float(place) for place in native["other"].to_numpy()] == expected


def test_an_array_keeps_the_same_rows():
    frame = table()[["age", "visits", "id", "other"]]
    box = sf.Box({"age": (0, 110), "visits": sf.Integer(0, 9)})
    wide = sf.Box([(0, 110), sf.Integer(0, 9), (0, 5)])
    expected = places_kept(frame, box, sf.Person("id", 2)).tolist()
    array = frame[["age", "visits", "id"]].to_numpy()
    for data in (array, np.ma.masked_invalid(array)):
        found = open_table(data, wide, sf.Person(2, 2)).native
        assert np.array_equal(found, array[expected], equal_nan=True)


def test_a_box_without_names_reads_columns_of_its_own():
    frame = table().rename(columns={"age": "x0", "visits": "x1"})
    unnamed, named = sf.Box([(0, 110), (0, 9)]), sf.Box({"x0": (0, 110), "x1": (0, 9)})
    unit = sf.Person("id", 2)
    assert places_kept(frame, unnamed, unit).tolist() == places_kept(frame, named, unit).tolist()
    assert places_kept(frame, unnamed, unit).tolist() != places_kept(table(), unnamed, unit).tolist()
    odd = frame.assign(x1="text")  # which nobody asks for
    assert len(places_kept(odd, unnamed, unit, [])) == len(places_kept(frame, unnamed, unit))


def test_the_response_is_part_of_a_row():
    frame = pd.DataFrame({"age": 1.0, "y": np.arange(40.0), "g": ["a", "b"] * 20, "id": 1})
    for target in (sf.NadarayaWatson(1.0, "y", (0, 40)), sf.Ridge(3.0, response="y", range=(0, 40))):
        rows = places_kept(frame, NUMBER, sf.Person("id", 5), target.columns)
        again = places_kept(frame[::-1], NUMBER, sf.Person("id", 5), target.columns)
        assert sorted(rows) == sorted(39 - again)
    target = sf.NaiveBayes("g", ["a", "b"])
    rows = places_kept(frame, NUMBER, sf.Person("id", 5), target.columns)
    again = places_kept(frame[::-1], NUMBER, sf.Person("id", 5), target.columns)
    assert Counter(frame["g"].iloc[rows]) == Counter(frame["g"].iloc[39 - again])


def test_joined_arrays_have_one_dictionary_a_run(monkeypatch):
    from sfumato.engines import columns

    monkeypatch.setattr(columns, "_BYTES", 100)
    parts = [pa.array([i % 5, None, i % 3]) for i in range(20)]
    runs = list(joined(iter(parts)))
    assert 1 < len(runs) < 20
    found = [keys[place] for run in runs for keys, places in arrow_coded(run) for place in places]
    assert found == [value for part in parts for value in part.to_pylist()]
