"""Fingerprints: the same for the same data, another for others, and nothing of the data in an error."""

from __future__ import annotations

from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from harness.hostile import OBJECTS
from pyarrow import parquet

import sfumato as sf
from contracts.far import dask_frame, spark_frame
from sfumato.accounting.binding import fingerprint
from sfumato.engines.columns import _key
from sfumato.engines.contents import _plain
from sfumato.errors import EngineError, ParameterError, ParameterTypeError

SALT, OTHER = "0a" * 32, "0b" * 32
COLUMNS = {"age": [1.5, 2.5, 3.5], "name": ["a", "b", "c"]}


ROWS = {
    "age": [1.5, 2.5, None, -0.0],
    "count": [1, 2, 3, 2**40],
    "name": ["a", "ü", "", "x y"],
    "day": [date(2020, 1, 1), date(1969, 1, 2), None, date(2020, 1, 1)],
}


@pytest.fixture
def files(tmp_path):
    """The same table as a Parquet file, a folder of them, a list, and as CSV."""
    table = pa.table(ROWS)
    (tmp_path / "folder.parquet").mkdir()
    parts = {"one": table, "two": table[:1], "three": table[1:]}
    for name, part in (parts | {"folder.parquet/a": table[2:], "folder.parquet/b": table[:2]}).items():
        parquet.write_table(part, tmp_path / f"{name}.parquet", row_group_size=2)
    table.to_pandas().to_csv(tmp_path / "one.csv", index=False)
    several = [tmp_path / "three.parquet", str(tmp_path / "two.parquet")]
    one = tmp_path / "one.csv"
    return [tmp_path / "one.parquet", tmp_path / "folder.parquet", several, one, sf.Csv(one)]


def test_the_same_table_however_it_is_held(files):
    table = pa.table(ROWS)
    frame, objects = table.to_pandas(), {name: _objects(values) for name, values in ROWS.items()}
    held = [
        ROWS, table, pa.concat_tables([table.slice(0, 1), table.slice(1)]), table.take([3, 1, 0, 2]), table.to_reader(),
        table.select(["name", "age", "day", "count"]), frame, frame[::-1], frame.convert_dtypes(),
        frame.astype({"name": "category"}), pl.DataFrame(ROWS), pl.DataFrame(ROWS).lazy(), objects, *files,
    ]  # fmt: skip
    assert len({fingerprint(one, SALT) for one in held}) == 1


def test_a_frame_of_dasks_is_the_same_and_stays_where_it_is(monkeypatch):
    frame = pa.table(ROWS).to_pandas()
    data = dask_frame(frame, 3)
    monkeypatch.setattr(type(data), "compute", None)
    assert fingerprint(data, SALT) == fingerprint(frame, SALT)
    assert fingerprint(dask_frame(frame[:3], 2), SALT) != fingerprint(frame, SALT)


@pytest.mark.slow
def test_a_frame_of_sparks_is_the_same():
    frame = pd.DataFrame({"age": [1.5, 2.5, np.nan], "a.b": [1, 2, 3], "name": ["a", "ü", "x"]})
    assert fingerprint(spark_frame(frame, 2), SALT) == fingerprint(frame, SALT)


def test_a_worker_that_fails_is_told_by_a_sentence():
    dask = pytest.importorskip("dask", reason="Dask is not installed")
    dd = pytest.importorskip("dask.dataframe", reason="Dask is not installed")
    data = dask_frame(pd.DataFrame({"a": [1, 2]}), 2)
    parts = [dask.delayed(part) for part in (pd.DataFrame({"a": [1]}), pd.DataFrame({"secret": [2]}))]
    spoiled = dd.from_delayed(parts, meta=data._meta, verify_meta=False)
    with pytest.raises(EngineError, match="a worker could not finish its part") as caught:
        fingerprint(spoiled, SALT)
    assert "secret" not in str(caught.value)


def test_an_array_is_a_table_whose_columns_are_numbered():
    array = np.arange(6.0).reshape(3, 2)
    held = [array, array[::-1], array.astype(np.float32), array.astype(int), pd.DataFrame(array), array.astype(object)]
    assert len({fingerprint(one, SALT) for one in held}) == 1
    assert fingerprint((array, array[:, 0]), SALT) == fingerprint(pd.DataFrame(array).assign(y=array[:, 0]), SALT)
    assert fingerprint(np.ma.array(array, mask=array == 2), SALT) != fingerprint(array, SALT)


def test_others_are_told_apart(tmp_path):
    for name in ("a.csv", "b.csv", "a.bin", "b.bin"):
        (tmp_path / name).write_text("age\n1\n" if name[0] == "a" else "age\n2\n")
    array = np.arange(6.0)
    several = [
        *(tmp_path / name for name in ("a.csv", "b.csv", "a.bin", "b.bin")), [tmp_path / "a.csv"] * 2,
        array, array.reshape(2, 3), array + 1, np.append(array, 0.0), array[1:], array[:0],
        COLUMNS, {**COLUMNS, "age": [1.5, 2.5, 3.25]}, {"age": COLUMNS["age"]}, {"ages": COLUMNS["age"]},
        {**COLUMNS, "age": [2.5, 1.5, 3.5]},  # the same values in other rows
        {"age": COLUMNS["name"], "name": COLUMNS["age"]},
    ]  # fmt: skip
    assert len({fingerprint(one, SALT) for one in several}) == len(several)
    assert not {fingerprint(one, SALT) for one in several} & {fingerprint(one, OTHER) for one in several}


def _objects(values):
    found = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        found[place] = value
    return found


HELD = {
    "a frame": lambda values: pd.DataFrame({"a": pd.Series(_objects(values), dtype=object)}),
    "a dict": lambda values: {"a": list(values)},
    "an array": _objects,
    "an array of pandas'": lambda values: {"a": pd.arrays.NumpyExtensionArray(_objects(values))},
}


@pytest.mark.parametrize("held", HELD.values(), ids=HELD)
def test_no_value_raises_and_none_is_overlooked(held, capfd):
    """A library finds a type for all objects of a column or raises: one value would decide on that.

    What engines read as missing, because nobody knows what it is, is missing here too.
    """
    found = [fingerprint(held(["a", "b", value]), SALT) for value in OBJECTS]
    known = {str(_plain(_key(value))) for value in OBJECTS}
    assert len(known) > 30 and len({*found}) >= len(known) - 1  # both zeros are one
    assert fingerprint(held(["a", 1, 10**5000]), SALT) == fingerprint(held(["a", 1, 10**5000]), SALT)
    assert capfd.readouterr() == ("", "")


def test_no_label_raises():
    for value in OBJECTS:
        fingerprint(pd.DataFrame({"a": [1, 2]}, index=pd.Index(_objects(["a", value]), dtype=object)), SALT)


def test_errors_tell_nothing_of_the_data(tmp_path):
    with pytest.raises(ParameterError, match="cannot be read"):
        fingerprint(tmp_path / "none.csv", SALT)
    with pytest.raises(ParameterTypeError, match=r"must be a numpy array.*or an sf\.Csv") as caught:
        fingerprint({"secret", 5}, SALT)
    assert "secret" not in str(caught.value)


def _pieces_of_dictionaries(*entries):
    """A column of which each piece has a dictionary of its own, with 8-bit places."""
    made = [pa.DictionaryArray.from_arrays(pa.array(range(len(own)), pa.int8()), own) for own in entries]
    return pa.table({"a": pa.chunked_array(made)})


def test_dictionaries_need_not_fit_together():
    """Whether Arrow can put them into one depends on what they hold: how many entries, whether one is missing."""
    first = pa.array([f"a{place}" for place in range(100)])
    others = [pa.array([f"b{place}" for place in range(count)]) for count in (20, 100)] + [pa.array(["a", None])]
    found = [fingerprint(_pieces_of_dictionaries(first, other), SALT) for other in others]
    assert len({*found}) == len(others)
    assert found == [fingerprint(_pieces_of_dictionaries(first, other), SALT) for other in others]
    stream = _pieces_of_dictionaries(first, others[1]).to_reader()
    assert fingerprint(stream, SALT) == found[1]


def test_numbers_that_are_no_letters_are_some_letter():
    """Python raises where it makes text of them, and one record would have the whole table refused."""
    plain = np.array([("f", "x", 1.0), ("m", "y", 2.0)], dtype=[("sex", "U1"), ("more", ">U2"), ("age", "f8")])
    held = plain["sex"].copy()
    held.view(np.uint32)[1] = 0x110000
    size = plain.itemsize
    record = (0x110000).to_bytes(4, "little") + (0x110000).to_bytes(4, "big") + plain.tobytes()[size + 8 :]
    found = np.frombuffer(plain.tobytes()[:size] + record, plain.dtype)
    hidden = np.ma.MaskedArray(held, [False, True])
    X = np.zeros((2, 1))
    assert len({fingerprint((X, y), SALT) for y in (plain["sex"], held, hidden)}) == 3
    assert len({fingerprint((X, y), SALT) for y in (plain, found, np.ma.MaskedArray(found))}) == 2
    assert fingerprint(held, SALT) == fingerprint(np.array(["f", "\ufffd"]), SALT)


def test_an_array_of_moments():
    moments = np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[us]")
    assert len({fingerprint(one, SALT) for one in (moments, moments[1:], moments[:0], moments.view(np.int64))}) == 4
    assert fingerprint(moments, SALT) == fingerprint(moments.astype("datetime64[s]"), SALT)
    spans = np.array([1, 2, "NaT"], dtype="timedelta64[us]")
    assert fingerprint(spans, SALT) == fingerprint(spans.astype("timedelta64[ns]"), SALT)
    assert fingerprint(spans, SALT) == fingerprint(pd.DataFrame({"0": spans}), SALT)
    assert fingerprint(spans, SALT) != fingerprint(spans.view(np.int64), SALT)
