"""Columns by themselves, in a dict, or as a query: tables like any other, each value read alone."""

from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.engines.columns import tabular
from sfumato.engines.tables import open_table
from sfumato.errors import SchemaError

X = sf.Box({"x": (0, 10)})
THREE = sf.Box({"x": (0, 10), "g": sf.Categorical(["a", "b"]), "d": (date(2024, 1, 1), date(2025, 1, 1))})
GRANT = sf.Privacy(epsilon=1.0)


def read(data, box=X, unit="row"):
    parts = list(open_table(data, box, unit).batches(box, 2))
    return [[value for part in parts for value in plain(part[i])] for i in range(box.dimension)]


def plain(values):
    return values if isinstance(values, list) else np.asarray(values).tolist()


@pytest.mark.parametrize(
    "data",
    [
        pd.Series([1.0, None, 3.0], name="x"), pd.Series([1.0, None, 3.0]), pl.Series("x", [1, None, 3]),
        pl.Series([1, None, 3]), pa.array([1, None, 3]), pa.chunked_array([[1], [None, 3]]),
        pd.Series([1.0, None, 3.0], name="x", index=["b", "a", "a"]), pl.LazyFrame({"x": [1, None, 3], "y": [0, 0, 0]}),
        {"x": [1, None, 3]}, {"x": (1, "three", 3)}, {"x": np.array([1.0, np.nan, 3.0])},
        {"x": pl.Series([1, None, 3])},
        {"x": np.ma.array([1, 2, 3], mask=[0, 1, 0])}, {"x": np.array([1, None, 3], dtype=object)},
    ],
    ids=lambda data: type(data).__name__,
)  # fmt: skip
def test_one_column(data):
    np.testing.assert_array_equal(read(data), [[1.0, np.nan, 3.0]])


@pytest.mark.parametrize("form", [list, np.array, pd.Series, pl.Series, pa.array], ids=lambda form: form.__name__)
def test_columns_of_every_form_side_by_side(form):
    data = {
        "x": [1, 2**70, "no"],
        "g": form(["a", "b", "c"]),
        "d": pl.Series([date(2024, 3, 1), None, date(2020, 1, 1)]),
    }
    numbers, texts, days = read(data, THREE)
    np.testing.assert_array_equal(numbers, [1.0, float(2**70), np.nan])
    assert texts == ["a", "b", "c"]
    np.testing.assert_array_equal(days, [19783.0, np.nan, 18262.0])


def test_one_value_of_a_list_changes_no_other():
    usual = {"x": [1, 2, 3], "g": ["a", "b", "a"], "d": ["2024-03-01", "2024-03-02", "2024-03-03"]}
    for hostile in (None, "a", 10**400, 1j, [1, 2], np.zeros(3), object(), "\ud800", date(2024, 3, 1), pd.NaT):
        for name in usual:
            changed = {**usual, name: [usual[name][0], hostile, usual[name][2]]}
            kept = [[column[0], column[2]] for column in read(changed, THREE)]
            assert kept == [[column[0], column[2]] for column in read(usual, THREE)]


ARRAYS = {
    "text": ["a", "b"], "no UTF-8": ["a", "\ud800"], "moments": [pd.Timestamp("2024-03-01")] * 2, "numbers": [1, 2],
    "durations": [pd.Timedelta(1)] * 2, "periods": [pd.Period("2024", "D")] * 2,
    "attoseconds": [np.datetime64(1, "as")] * 2,
    "nothing": [None, pd.NaT],
}  # fmt: skip


@pytest.mark.parametrize("values", ARRAYS.values(), ids=ARRAYS)
@pytest.mark.parametrize("form", [pd.arrays.NumpyExtensionArray, lambda given: pd.Index(given, dtype=object)])
def test_pandas_finds_no_type_for_objects(form, values):
    given = np.empty(2, dtype=object)
    given[:] = values
    series = tabular(form(given))
    assert series.dtype == object
    assert all(found is value for found, value in zip(series.array, values, strict=True))
    assert read({"x": [1, 2], "g": form(given), "d": form(given)}, THREE)


def test_arrays_of_pandas_are_what_their_type_says():
    letters = np.array(["a", "b"])
    letters.view(np.uint32)[1] = 0x110000  # no letter
    assert read({"g": pd.arrays.NumpyExtensionArray(letters)}, sf.Box({"g": THREE.columns[1]})) == [["a", "\ufffd"]]
    days = pd.arrays.NumpyExtensionArray(np.array(["2024-03-01", "NaT"], dtype="M8[D]"))
    np.testing.assert_array_equal(read({"d": days}, sf.Box({"d": THREE.columns[2]})), [[19783.0, np.nan]])
    for numbers in (pd.array([1, None], dtype="Int64"), pd.arrays.NumpyExtensionArray(np.array([1.0, np.nan]))):
        np.testing.assert_array_equal(read({"x": numbers}), [[1.0, np.nan]])


def test_persons():
    data = {"x": [1, 2, 3, 4], "who": ["p", "p", "p", None]}
    assert read(data, X, sf.Person("who", 2)) == [[1.0, 2.0]]
    assert read({"x": pl.Series(data["x"]), "who": pa.array(data["who"])}, X, sf.Person("who", 1)) == [[1.0]]
    with pytest.raises(SchemaError, match="tell persons apart"):
        read(pl.Series("x", [1]), X, sf.Person("who", 2))


def test_a_black_box_sees_a_dict():
    data = {"x": [-1, "a", 3], "g": np.array(["a", "c", "b"]), "d": ["2030-01-01", 3, None], "note": [None, 1, "b"]}
    seen = open_table(data, THREE, "row").native
    np.testing.assert_array_equal(seen["x"], [0.0, np.nan, 3.0])
    assert seen["g"].tolist() == ["a", None, "b"]
    np.testing.assert_array_equal(seen["d"], np.array(["2025-01-01", "NaT", "NaT"], dtype="M8[us]"))
    assert seen["note"].tolist() == [None, 1, "b"]
    series = open_table({"x": pl.Series([-1, 3])}, X, "row").native["x"]
    assert isinstance(series, pl.Series) and series.to_list() == [0.0, 3.0]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"x": 3}, "must be a list, an array of one axis or a series, got int"),
        ({"x": np.zeros((2, 2))}, "got a 2-D array of float64"),
        ({"x": [1], "y": [1, 2]}, "as long as each other"),
        ({}, "at least one"),
        ({1: [2]}, "names that are text"),
        ({"x": np.array(["1"])}, "'x' must hold numbers"),
        ({"x": pl.Series(["1"])}, "'x' must be numeric"),
        ({"y": [1]}, "no column 'x'"),
        (pd.Series([1.0], name="y"), "no column 'x'"),
        (
            pl.LazyFrame({"x": ["secret"]}).with_columns(pl.col("x").cast(pl.Int64)),
            r"collected \(InvalidOperationError\)$",
        ),
    ],
)
def test_what_the_schema_refuses(data, words):
    with pytest.raises(SchemaError, match=words) as error:
        read(data)
    assert "secret" not in str(error.value)


def test_a_column_without_a_name_for_several():
    with pytest.raises(SchemaError, match="a column without a name is none of"):
        read(pl.Series([1.0]), THREE)


def test_points_and_reports_and_estimators():
    release = sf.release(sf.KDE(2.0), {"x": list(range(10)) * 20}, X, GRANT, basis=sf.Binning(6))
    expected = release([1.0, 2.0]).tolist()
    for points in ({"x": [1.0, 2.0]}, pl.LazyFrame({"x": [1.0, 2.0]}), pd.Series([1.0, 2.0]), pl.Series([1.0, 2.0])):
        assert release(points).tolist() == expected
    protocol = sf.local.Density(X, 1.0)
    for records in ({"x": [1, "a", None]}, pl.LazyFrame({"x": [1, 2, 3]}), pd.Series([1.0, 2.0, 3.0])):
        assert len(protocol.encode_many(records)) == len(protocol.encode_many([[1.0]] * 3))
    with pytest.raises(SchemaError, match="as long as each other"):
        protocol.encode_many({"x": [1], "y": [1, 2]})
    from sfumato.estimators import PrivateKernelDensity

    for features in ({"x": [1.0, 2.0] * 20}, pl.LazyFrame({"x": [1.0, 2.0] * 20})):
        model = PrivateKernelDensity(2.0, bounds={"x": (0, 10)}, epsilon=1.0).fit(features)
        assert model.score_samples({"x": [1.0]}).shape == (1,)
