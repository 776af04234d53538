"""Tables: every kind gives the same cleaned columns, only the schema raises, and each record is read alone."""

import copy
import gzip
import math
import pickle
import warnings
from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

import sfumato as sf
from opening import chunks_of
from sfumato.engines.cells import positions
from sfumato.engines.columns import arrow_identifiers
from sfumato.engines.tables import open_table
from sfumato.errors import ParameterTypeError, PrivateDataError, SchemaError

BOX = sf.Box({"age": (0, 110), "bmi": (10, 60)})
AGE = sf.Box({"age": (0, 110)})
RAW = np.array(
    [[34.0, 21.5], [-5.0, 99.0], [math.nan, 30.0], [1e300, math.nan], [0.1, 10.0], [110.0, 60.0], [2.0**60, -0.0]]
)
CLEAN = [[34.0, 21.5], [0.0, 60.0], [math.nan, 30.0], [110.0, math.nan], [0.1, 10.0], [110.0, 60.0], [110.0, 10.0]]
FRAMES = [pd.DataFrame, pl.DataFrame, pa.table]


def with_missing(column):
    return [None if math.isnan(value) else value for value in column.tolist()]


def text_of(raw):
    lines = [",".join("" if math.isnan(value) else repr(value) for value in row) for row in raw.tolist()]
    return "age,bmi\n" + "\n".join(lines) + "\n"


def as_csv(raw, tmp_path):
    (tmp_path / "t.csv").write_text(text_of(raw))
    return str(tmp_path / "t.csv")


def as_csv_gz(raw, tmp_path):
    with gzip.open(tmp_path / "t.csv.gz", "wt") as file:
        file.write(text_of(raw))
    return tmp_path / "t.csv.gz"


def as_tsv(raw, tmp_path):
    (tmp_path / "t.tsv").write_text(text_of(raw).replace(",", "\t"))
    return tmp_path / "t.tsv"


def as_arrow(raw, tmp_path):
    return pa.table({"age": with_missing(raw[:, 0]), "bmi": with_missing(raw[:, 1])})


def as_parquet(raw, tmp_path):
    parquet.write_table(as_arrow(raw, tmp_path), tmp_path / "t.parquet")
    return tmp_path / "t.parquet"


SOURCES = {
    "numpy": lambda raw, tmp_path: raw,
    "pair": lambda raw, tmp_path: (raw, np.zeros(len(raw))),
    "pandas": lambda raw, tmp_path: pd.DataFrame(raw, columns=["age", "bmi"]),
    "pandas of a strange index": lambda raw, tmp_path: pd.DataFrame(
        raw, columns=["age", "bmi"], index=[5, 3, 3, 0, 9, 7, 1]
    ),
    "pandas nullable": lambda raw, tmp_path: pd.DataFrame(raw, columns=["age", "bmi"]).convert_dtypes(),
    "pandas on arrow": lambda raw, tmp_path: pd.DataFrame(raw, columns=["age", "bmi"]).astype("float64[pyarrow]"),
    "polars": lambda raw, tmp_path: pl.DataFrame({"age": with_missing(raw[:, 0]), "bmi": with_missing(raw[:, 1])}),
    "pyarrow": as_arrow,
    "pyarrow in chunks": lambda raw, tmp_path: pa.concat_tables(
        [as_arrow(raw[:3], tmp_path), as_arrow(raw[3:], tmp_path)]
    ),
    "other columns and another order": lambda raw, tmp_path: pl.DataFrame(
        {"name": list("abcdefg"), "bmi": raw[:, 1], "age": raw[:, 0]}
    ),
    "csv": as_csv,
    "csv.gz": as_csv_gz,
    "tsv": as_tsv,
    "parquet": as_parquet,
}


def chunks(table, box=BOX, rows=1000):
    return np.concatenate([np.zeros((0, box.dimension)), *chunks_of(table, box, rows)])


# --- the same columns from everywhere ---------------------------------------------------------------------------


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_gives_the_same_cleaned_columns(source, tmp_path):
    table = open_table(SOURCES[source](RAW, tmp_path), BOX, "row")
    assert table.rows == len(RAW)
    found = chunks(table)
    assert found.dtype == np.float64
    assert np.array_equal(found, CLEAN, equal_nan=True)


@pytest.mark.few(14)
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("rows", [1, 2, 7])
def test_chunks_do_not_matter(source, rows, tmp_path):
    table = open_table(SOURCES[source](RAW, tmp_path), BOX, "row")
    assert np.array_equal(chunks(table, rows=rows), CLEAN, equal_nan=True)


@pytest.mark.parametrize("make", FRAMES)
def test_a_black_box_sees_its_own_kind_of_table_cleaned(make):
    native = open_table(make({"age": [-5.0, 300.0], "other": ["a", "b"]}), AGE, "row").native
    assert type(native) is type(make({"age": [1.0]}))
    assert list(native["age"].to_pylist() if make is pa.table else native["age"]) == [0.0, 110.0]
    assert list(native["other"].to_pylist() if make is pa.table else native["other"]) == ["a", "b"]


@pytest.mark.parametrize("make", FRAMES)
def test_the_callers_table_is_left_alone(make):
    data = make({"age": [-5.0, 300.0]})
    open_table(data, AGE, "row")
    assert data.equals(make({"age": [-5.0, 300.0]}))


def test_an_array_of_one_dimension_is_one_column():
    assert chunks(open_table(np.array([-1.0, 5.0, 500.0]), AGE, "row"), AGE).tolist() == [[0.0], [5.0], [110.0]]


@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int32", "int64", "uint64", "float16", "float32", "float64", "bool"]
)
def test_arrays_of_any_real_type(dtype):
    assert chunks(open_table(np.array([0, 1], dtype=dtype), AGE, "row"), AGE).tolist() == [[0.0], [1.0]]


@pytest.mark.parametrize("shape", [(0,), (0, 1)])
def test_an_empty_array_has_no_records(shape):
    table = open_table(np.zeros(shape), AGE, "row")
    assert table.rows == 0
    assert chunks(table, AGE).shape == (0, 1)


@pytest.mark.parametrize("make", FRAMES)
def test_an_empty_frame_has_no_records(make):
    table = open_table(make({"age": np.zeros(0)}), AGE, "row")
    assert table.rows == 0
    assert chunks(table, AGE).shape == (0, 1)


def test_a_csv_file_of_a_header_alone_has_no_records(tmp_path):
    (tmp_path / "t.csv").write_text("age,bmi\n")
    assert chunks(open_table(tmp_path / "t.csv", BOX, "row")).shape == (0, 2)


def test_an_array_must_have_the_columns_of_the_box():
    with pytest.raises(SchemaError, match="2 columns"):
        chunks(open_table(np.zeros((3, 3)), BOX, "row"))


def test_repr_shows_no_number():
    assert repr(open_table(np.array([123.0]), AGE, "row")) == "<private table of ndarray>"


# --- the schema raises ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", FRAMES)
def test_a_missing_column_is_named(make):
    with pytest.raises(SchemaError, match="'bmi'") as error:
        open_table(make({"age": [1.0]}), BOX, "row")
    assert "age" in str(error.value)


@pytest.mark.parametrize("make", FRAMES)
@pytest.mark.parametrize(
    "values", [["a", "b"], ["1", "2"], [date(2020, 1, 1), None], [datetime.now(tz=UTC), None], [[1.0], [2.0]]]
)
def test_a_column_that_is_not_numeric_is_refused(make, values):
    with pytest.raises(SchemaError, match="'age' must be numeric"):
        open_table(make({"age": values}), AGE, "row")


def test_the_refusal_shows_no_value():
    with pytest.raises(SchemaError) as error:
        open_table(pl.DataFrame({"age": ["secret"]}), AGE, "row")
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    "array",
    [
        np.array(["a"]),
        np.array([None, 1.0]),
        np.array([1j]),
        np.zeros((2, 2, 2)),
        np.array(1.0),
        np.array(["2020-01-01"], dtype="datetime64[D]"),
        np.zeros(2, dtype=[("age", "f8")]),
    ],
)
def test_an_array_that_is_not_a_table_of_numbers_is_refused(array):
    with pytest.raises(SchemaError, match="array"):
        open_table(array, AGE, "row")


@pytest.mark.parametrize("data", [[[1.0]], [1.0], 3, object(), {1.0}, iter([1.0])])
def test_what_is_no_table_is_refused(data):
    with pytest.raises(ParameterTypeError, match="data must be"):
        open_table(data, AGE, "row")


def test_no_data_is_refused():
    with pytest.raises(ParameterTypeError, match="data=None"):
        open_table(None, AGE, "row")


@pytest.mark.parametrize("pair", [(), (np.zeros(3),), (np.zeros(3), np.zeros(3), np.zeros(3))])
def test_a_tuple_must_be_a_pair(pair):
    with pytest.raises(ParameterTypeError, match="pair"):
        open_table(pair, AGE, "row")


@pytest.mark.parametrize(
    "pair", [(np.zeros(3), np.zeros(4)), (np.array(1.0), np.zeros(1)), (np.zeros((2, 3)), np.zeros(3))]
)
def test_the_parts_of_a_pair_must_have_as_many_rows(pair):
    with pytest.raises(SchemaError, match="rows"):
        open_table(pair, AGE, "row")


@pytest.mark.parametrize("part", [[1.0, 2.0], np.array([1.0, None]), "ab", None])
def test_the_parts_of_a_pair_have_a_type(part):
    # One value decides what numpy makes of a list: the error would be an output.
    with pytest.raises(ParameterTypeError, match="numpy array"):
        open_table((np.zeros(2), part), AGE, "row")


@pytest.mark.parametrize("name", ["t.xlsx", "t", "t.json", "t.csv.zip"])
def test_other_files_are_refused(name, tmp_path):
    (tmp_path / name).write_text("age\n1\n")
    with pytest.raises(SchemaError, match="must end in"):
        open_table(tmp_path / name, AGE, "row")


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet"])
def test_a_missing_file_is_refused(name, tmp_path):
    with pytest.raises(SchemaError, match="no such file"):
        open_table(tmp_path / name, AGE, "row")


@pytest.mark.parametrize("name", ["t.parquet", "t.csv.gz", "t.pq"])
def test_a_file_of_another_kind_is_refused(name, tmp_path):
    (tmp_path / name).write_text("age\n1\n")
    with pytest.raises(SchemaError, match="cannot be read"):
        open_table(tmp_path / name, AGE, "row")


@pytest.mark.parametrize("text", ["", "age,age\n1,2\n", "\n1\n"])
def test_a_csv_file_must_name_its_columns(text, tmp_path):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(SchemaError):
        open_table(tmp_path / "t.csv", AGE, "row")


def test_a_missing_column_of_a_csv_file_is_named(tmp_path):
    (tmp_path / "t.csv").write_text("age,height\n1,2\n")
    with pytest.raises(SchemaError, match="'bmi'"):
        open_table(tmp_path / "t.csv", BOX, "row")


def test_two_columns_of_one_name_are_refused():
    data = pd.DataFrame([[1.0, 2.0]], columns=["age", "age"])
    with pytest.raises(SchemaError):
        open_table(data, AGE, "row")
    with pytest.raises(SchemaError):
        open_table(pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0])], names=["age", "age"]), AGE, "row")


@pytest.mark.parametrize("columns", [["sbp"], {"sbp": (60, 220)}])
def test_declared_columns_must_be_there(columns):
    with pytest.raises(SchemaError, match="'sbp'"):
        open_table(pl.DataFrame({"age": [1.0]}), AGE, "row", columns)
    assert open_table(pl.DataFrame({"sbp": [1.0]}), AGE, "row", columns).rows == 1


def test_declared_bounds_are_enforced():
    native = open_table(pl.DataFrame({"sbp": [1.0, 500.0]}), AGE, "row", {"sbp": (60, 220)}).native
    assert native["sbp"].to_list() == [60.0, 220.0]


def test_an_unnamed_box_asks_for_no_columns():
    native = open_table(pl.DataFrame({"anything": ["x"]}), sf.Box([(0, 1)]), "row").native
    assert native["anything"].to_list() == ["x"]


# --- values never raise -----------------------------------------------------------------------------------------

CELLS = {
    "34": 34.0,
    " 34 ": 34.0,
    "+5": 5.0,
    "-5": 0.0,
    "5.": 5.0,
    ".5": 0.5,
    "1e1": 10.0,
    "1E+1": 10.0,
    "1e999": 110.0,
    "-1e999": 0.0,
    "1e-999": 0.0,
    "0" * 400 + "7": 7.0,
    "9" * 400: 110.0,
    "": None,
    " ": None,
    "NA": None,
    "nan": None,
    "NaN": None,
    "inf": None,
    "-Infinity": None,
    "null": None,
    "abc": None,
    "12abc": None,
    "1_000": None,
    "0x10": None,
    "1e": None,
    "1 2": None,
    "--1": None,
    "٣": None,
    '"a\rb"': None,
    '"1,5"': None,
    '"5"': 5.0,
    "é": None,
}


@pytest.mark.few(30)
@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("good_first", [True, False])
def test_a_csv_cell_is_a_number_or_missing(cell, good_first, tmp_path):
    rows = ["7,x", f"{cell},y"] if good_first else [f"{cell},y", "7,x"]
    (tmp_path / "t.csv").write_text("age,note\n" + "\n".join(rows) + "\n", encoding="utf-8")
    found = chunks(open_table(tmp_path / "t.csv", AGE, "row"), AGE).ravel().tolist()
    expected = math.nan if CELLS[cell] is None else CELLS[cell]
    assert np.array_equal(found, [7.0, expected] if good_first else [expected, 7.0], equal_nan=True)


@pytest.mark.parametrize("cell", [b"\xff\xfe", b"\x00", b"\xed\xa0\x80", b'"\xff"'])
def test_bytes_that_are_no_text_are_missing(cell, tmp_path):
    (tmp_path / "t.csv").write_bytes(b"age,note\n7,x\n" + cell + b",y\n8," + cell + b"\n")
    found = chunks(open_table(tmp_path / "t.csv", AGE, "row"), AGE).ravel().tolist()
    assert np.array_equal(found, [7.0, math.nan, 8.0], equal_nan=True)


def test_a_torn_line_spoils_no_other(tmp_path):
    (tmp_path / "t.csv").write_text("age,bmi\n30,20\n31\n32,21,5\n33,22\n")
    found = chunks(open_table(tmp_path / "t.csv", BOX, "row")).tolist()
    assert [30.0, 20.0] in found
    assert [33.0, 22.0] in found


def test_one_csv_record_does_not_change_how_others_are_read(tmp_path):
    """Leading zeros, dates and numbers stay text in columns that declare nothing."""
    for last in ("1", "2020-01-01", "x", "true", "", "1.5"):
        (tmp_path / "t.csv").write_text(f"age,code\n7,01\n8,{last}\n")
        native = open_table(tmp_path / "t.csv", AGE, "row").native
        assert native["code"].to_pylist() == ["01", last]


@given(st.lists(st.binary(max_size=12).filter(lambda b: not set(b) & set(b'\r\n,"')), min_size=1, max_size=5))
def test_no_csv_cell_raises(tmp_path_factory, cells):
    file = tmp_path_factory.mktemp("csv") / "t.csv"
    file.write_bytes(b"age,note\n" + b"".join(b"%b,%b\n" % (cell, cell) for cell in cells))
    found = chunks(open_table(file, AGE, "row"), AGE)
    assert len(found) == len(cells)
    assert (np.isnan(found) | ((found >= 0) & (found <= 110))).all()


@pytest.mark.parametrize("make", FRAMES)
@pytest.mark.parametrize(
    "values",
    [
        [2**53 + 1, -(2**53) - 1, 0],
        [2**63 - 1, -(2**63)],
        [math.inf, -math.inf, math.nan],
        [1.7e308, 5e-324, -0.0],
        [True, False],
        [None, 3],
        [3.5, None],
    ],
)
def test_no_number_in_a_frame_raises(make, values):
    with np.errstate(all="raise"):
        found = chunks(open_table(make({"age": values}), AGE, "row"), AGE)
    assert (np.isnan(found) | ((found >= 0) & (found <= 110))).all()


@pytest.mark.parametrize("make", [pl.DataFrame, pa.table])
def test_decimals_are_numbers(make):
    data = make({"age": [Decimal("100000000000000000000"), Decimal("-3.5"), None, Decimal("7.25")]})
    found = chunks(open_table(data, AGE, "row"), AGE).ravel()
    assert np.array_equal(found, [110.0, 0.0, math.nan, 7.25], equal_nan=True)


@pytest.mark.parametrize(
    "dtype", ["Int64", "UInt8", "Float32", "boolean", "int64[pyarrow]", "double[pyarrow]", "uint64"]
)
def test_pandas_types_with_and_without_missing_values(dtype):
    values = [0, 1] if dtype == "uint64" else [0, 1, None]
    found = chunks(open_table(pd.DataFrame({"age": pd.array(values, dtype=dtype)}), AGE, "row"), AGE).ravel()
    assert np.array_equal(found, [0.0, 1.0, math.nan][: len(values)], equal_nan=True)


@pytest.mark.parametrize("value", [2**53 + 1, 2**63 - 1, -(2**63)])
def test_large_integers_on_arrow(value):
    data = pd.DataFrame({"age": pd.array([value, None], dtype="int64[pyarrow]")})
    assert chunks(open_table(data, AGE, "row"), AGE)[0, 0] in (0.0, 110.0)


@pytest.mark.parametrize("dtype", [pl.Int8, pl.UInt64, pl.Int128, pl.Float32, pl.Decimal(20, 2), pl.Boolean])
def test_polars_types(dtype):
    data = pl.DataFrame({"age": pl.Series([0, 1, None]).cast(dtype)})
    found = chunks(open_table(data, AGE, "row"), AGE).ravel()
    assert np.array_equal(found, [0.0, 1.0, math.nan], equal_nan=True)


# --- categories -------------------------------------------------------------------------------------------------

SEX = sf.Box({"sex": sf.Categorical(["f", "m"])})
GRADE = sf.Box({"grade": sf.Categorical([1, 2, 3])})


def column(native, name):
    """A column as a list, with None for what is missing, whatever the kind of table."""
    values = native[name].to_pylist() if isinstance(native, pa.Table) else native[name].to_list()
    return [None if value is None or value != value else value for value in values]


@pytest.mark.parametrize("make", FRAMES)
@pytest.mark.parametrize("values", [["f", "x", None, "m"], ["f", "", "F", "m"]])
def test_unknown_categories_become_missing(make, values):
    native = open_table(make({"sex": values, "n": [1, 2, 3, 4]}), SEX, "row").native
    assert column(native, "sex") == ["f", None, None, "m"]
    assert column(native, "n") == [1, 2, 3, 4]


@pytest.mark.parametrize("make", FRAMES)
def test_categories_may_be_numbers(make):
    assert column(open_table(make({"grade": [1, 7, 3]}), GRADE, "row").native, "grade") == [1, None, 3]
    assert column(open_table(make({"grade": [1.0, 2.5, None]}), GRADE, "row").native, "grade") == [1, None, None]


def test_categories_in_a_csv_file_whatever_the_cells_look_like(tmp_path):
    box = sf.Box({"code": sf.Categorical(["1", "01"])})
    for last, kept in (("1", "1"), ("01", "01"), ("x", None), ("", None), ("1.0", None)):
        (tmp_path / "t.csv").write_text(f"code,n\n1,1\n{last},2\n")
        assert column(open_table(tmp_path / "t.csv", box, "row").native, "code") == ["1", kept]


def test_categorical_types_of_the_frames():
    for data in (
        pd.DataFrame({"sex": pd.Categorical(["f", "x", None])}),
        pl.DataFrame({"sex": pl.Series(["f", "x", None], dtype=pl.Categorical)}),
        pl.DataFrame({"sex": pl.Series(["f", "x", None], dtype=pl.Enum(["f", "x"]))}),
        pa.table({"sex": pa.array(["f", "x", None]).dictionary_encode()}),
        pd.DataFrame({"sex": pd.array(["f", "x", None], dtype="string")}),
    ):
        assert column(open_table(data, SEX, "row").native, "sex") == ["f", None, None]


@pytest.mark.parametrize("make", FRAMES)
def test_categories_of_the_other_type_are_refused(make):
    with pytest.raises(SchemaError, match="'sex'"):
        open_table(make({"sex": [1, 2]}), SEX, "row")
    with pytest.raises(SchemaError, match="'grade'"):
        open_table(make({"grade": ["1", "2"]}), GRADE, "row")


# --- with a response --------------------------------------------------------------------------------------------


def with_response(table, box, kind, rows):
    parts = list(labelled(table, box, kind, rows))
    return np.concatenate([np.stack(columns, axis=1) for columns, _ in parts]), [v for _, part in parts for v in part]


def labelled(table, box, kind, rows=9):
    """A box's columns, and one more."""
    wide = sf.Box({**dict(zip(box.names, box.columns, strict=True)), "y": kind})
    return ((columns, values) for *columns, values in table.batches(wide, rows))


@pytest.mark.parametrize("rows", [1, 2, 3, 100])
def test_a_response_comes_with_its_records_in_any_chunks(rows, tmp_path):
    raw, y = np.array([[1.0, 20.0], [math.nan, 30.0], [500.0, -1.0]]), np.array([0.5, math.nan, -7.0])
    data = {"bmi": raw[:, 1], "y": y, "age": raw[:, 0]}
    pd.DataFrame(data).to_csv(tmp_path / "t.csv", index=False)
    for source in ((raw, y), (raw, y[:, None]), *(make(data) for make in FRAMES), tmp_path / "t.csv"):
        table = open_table(source, BOX, "row", {"y": (0, 1)})
        records, values = with_response(table, BOX, sf.Box([(0, 1)]).columns[0], rows)
        assert np.array_equal(records, raw, equal_nan=True)  # as they were read: whoever asks cleans them
        assert np.array_equal(values, y, equal_nan=True)


def test_a_response_of_text_in_a_pair():
    _, values = with_response(
        open_table((np.zeros((3, 2)), np.array(["b", "a", ""])), BOX, "row"), BOX, SEX.columns[0], 2
    )
    assert values == ["b", "a", ""]


@pytest.mark.parametrize("y", [np.zeros(3), np.zeros((3, 1)), np.array([1, 2, 3])])
def test_a_response_that_should_be_text_is_refused(y):
    with pytest.raises(SchemaError, match="text as declared"):
        list(labelled(open_table((np.zeros((3, 2)), y), BOX, "row"), BOX, SEX.columns[0]))


@pytest.mark.parametrize("y", [np.array(["a", "b", "c"]), np.zeros((3, 2))])
def test_a_response_that_should_be_one_number_is_refused(y):
    with pytest.raises(SchemaError, match="one value for each row, numbers as declared"):
        list(labelled(open_table((np.zeros((3, 2)), y), BOX, "row"), BOX, GRADE.columns[0]))


def test_an_array_alone_has_no_response():
    with pytest.raises(SchemaError, match="an array has no column 'y'"):
        list(labelled(open_table(np.zeros((3, 2)), BOX, "row"), BOX, GRADE.columns[0]))


# --- persons ----------------------------------------------------------------------------------------------------

IDS = ["a", "b", "a", None, "a", "b", ""]
AGES = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]


@pytest.mark.parametrize("make", FRAMES)
def test_only_so_many_rows_of_each_person_are_kept(make):
    table = open_table(make({"age": AGES, "id": IDS}), AGE, sf.Person("id", 2))
    found = chunks(table, AGE).ravel().tolist()
    assert [age for age in found if age in (2.0, 6.0)] == [2.0, 6.0]  # in the order of the table
    assert len(found) == table.rows == 4 and set(found) < {1.0, 2.0, 3.0, 5.0, 6.0}


def test_persons_in_a_csv_file(tmp_path):
    lines = [f"{age},{'' if identifier is None else identifier}" for age, identifier in zip(AGES, IDS, strict=True)]
    (tmp_path / "t.csv").write_text("age,id\n" + "\n".join(lines) + "\n")
    for rows in (1, 2, 3):
        (columns,) = (columns for columns in open_table(tmp_path / "t.csv", AGE, sf.Person("id", rows)).batches(AGE, 9))
        frame = open_table(pd.DataFrame({"age": AGES, "id": IDS}), AGE, sf.Person("id", rows))
        assert columns[0].tolist() == chunks(frame, AGE).ravel().tolist()


def test_persons_in_an_array():
    array = np.array([[1.0, 7.0], [1.0, 7.0], [3.0, 8.0], [4.0, math.nan]])
    table = open_table(array, BOX, sf.Person(1, 1))
    assert table.native.tolist() == [[1.0, 7.0], [3.0, 8.0]]
    assert open_table(array, AGE, sf.Person(1, 1)).rows == 2  # whatever the box is of


def test_persons_are_told_apart_before_cleaning():
    """Clipping would make two identifiers one."""
    box = sf.Box({"id": (0, 10)})
    table = open_table(pl.DataFrame({"id": [50, 60, 50]}), box, sf.Person("id", 1))
    assert table.rows == 2


@pytest.mark.parametrize("unit", [sf.Person("id", 1), sf.Person(2, 1), sf.Person(-1, 1)])
def test_the_identifier_must_be_a_column(unit):
    with pytest.raises(SchemaError, match="persons"):
        open_table(np.zeros((3, 2)), BOX, unit)
    with pytest.raises(SchemaError, match="persons"):
        open_table(pl.DataFrame({"age": [1.0], "bmi": [2.0]}), BOX, unit)


def test_a_pair_has_no_persons():
    with pytest.raises(SchemaError, match="persons"):
        open_table((np.zeros(3), np.zeros(3)), AGE, sf.Person(0, 1))


@pytest.mark.parametrize(
    "identifiers",
    [
        pd.array([1, None, 1], dtype="Int64"),
        pd.array(["a", None, "a"], dtype="string"),
        np.array([pd.NA, 1, "x"], dtype=object),
        np.array([float("nan"), [1], {"a": 1}], dtype=object),
        np.array([Decimal("NaN"), Decimal("1"), Decimal("Infinity")], dtype=object),
        np.array([pd.NaT, np.datetime64("NaT"), (1, 2)], dtype=object),
        np.array([None, "", b""], dtype=object),
        pd.Categorical(["a", None, "a"]),
        pd.to_datetime(["2020-01-01", None, "2020-01-01"]),
        pd.array([1.5, math.nan, math.inf]),
    ],
)
def test_no_identifier_raises(identifiers):
    table = open_table(pd.DataFrame({"age": [1.0, 2.0, 3.0], "id": identifiers}), AGE, sf.Person("id", 1))
    assert 0 <= table.rows <= 3


@pytest.mark.parametrize(
    "identifiers",
    [
        [[1], [1], None],
        [{"a": 1}, None, {"a": 1}],
        [b"x", b"x", None],
        [date(2020, 1, 1), None, None],
        [0.5, math.nan, -0.0],
    ],
)
def test_no_identifier_raises_in_polars_and_arrow(identifiers):
    for make in (pl.DataFrame, pa.table):
        table = open_table(make({"age": [1.0, 2.0, 3.0], "id": identifiers}), AGE, sf.Person("id", 1))
        assert 0 <= table.rows <= 3


# --- values that the libraries below cannot say in Python -----------------------------------------------------------


def text_of_bytes(*values):
    return pa.array(values, pa.binary()).view(pa.string())


STRANGE = {
    "dates": pa.array([2**31 - 1, 7, 7], pa.int32()).view(pa.date32()),
    "moments": pa.array([2**62, 7, 7]).view(pa.timestamp("s")),
    "nanoseconds": pa.array([1, 2, 2]).view(pa.timestamp("ns")),
    "spans": pa.array([2**62, 7, 7]).view(pa.duration("s")),
    "times": pa.array([-(2**62), 7, 7]).view(pa.time64("ns")),
    "bytes": text_of_bytes(b"\xff", b"a", b"a"),
    "words": text_of_bytes(b"\xff", b"a", b"a").dictionary_encode(),
    "decimals": pa.array([Decimal(9) ** 30, Decimal(1), Decimal(1)]),
}


@pytest.mark.few(12)
@pytest.mark.parametrize("name", STRANGE)
@pytest.mark.parametrize("make", ["arrow", "parquet", "pandas", "polars"])
def test_strange_identifiers_tell_persons_apart(name, make, tmp_path, capfd):
    data = pa.table({"age": [5.0, 15.0, 15.0], "id": STRANGE[name]})
    if make == "parquet":
        if name in ("times", "moments"):  # Arrow does not write them
            return
        parquet.write_table(data, tmp_path / "t.parquet")
    as_made = {
        "arrow": lambda: data,
        "parquet": lambda: tmp_path / "t.parquet",
        "pandas": lambda: data.to_pandas(types_mapper=pd.ArrowDtype),
        "polars": lambda: pl.from_arrow(data),
    }
    if make == "polars" and name in ("bytes", "words", "times", "moments", "spans"):
        return  # no polars column can hold them
    table = open_table(as_made[make](), AGE, sf.Person("id", 1))
    assert chunks(table, AGE).ravel().tolist() == [5.0, 15.0]
    assert capfd.readouterr().err == ""


class Awkward:
    """An object that nothing can be done with."""

    def __hash__(self):
        raise RuntimeError("private")

    __eq__ = __bool__ = __len__ = __float__ = __hash__


@pytest.mark.parametrize("value", [Awkward(), Decimal("sNaN"), [1], {}, object, 2**200, np.zeros(2), pd.NA])
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_no_object_in_a_column_raises(value, make):
    objects = np.array([None, "a", "a"], dtype=object)
    objects[0] = value
    column = pl.Series(list(objects), dtype=pl.Object) if make is pl.DataFrame else objects
    data = make({"age": [5.0, 15.0, 25.0], "id": column})
    assert open_table(data, AGE, sf.Person("id", 1)).rows in (1, 2)
    if make is pd.DataFrame:
        box = sf.Box({"id": sf.Categorical(["a", "b"])})
        assert open_table(data, box, "row").native["id"].tolist()[1:] == ["a", "a"]


def test_the_index_of_a_data_frame_is_not_looked_at():
    labels = pd.Index(pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([text_of_bytes(b"\xff", b"\xff")]))))
    data = pd.DataFrame({"age": [5.0, 500.0], "id": ["a", "b"]}).set_axis(labels, axis=0)
    data["id"] = data["id"].astype(object)
    for unit in ("row", sf.Person("id", 1)):
        table = open_table(data, AGE, unit)
        assert table.native["age"].tolist() == [5.0, 110.0]
        assert chunks(table, AGE).ravel().tolist() == [5.0, 110.0]


@pytest.mark.parametrize("make", FRAMES)
def test_rows_may_all_belong_to_nobody(make):
    table = open_table(make({"age": [5.0, 15.0], "id": ["", ""]}), AGE, sf.Person("id", 1))
    assert table.rows == 0
    assert list(table.native["age"]) == []
    assert [len(part) for part in chunks_of(table, AGE, 5)] == []


SIGNALLING = np.array([0x7FF0000000000001], dtype=np.uint64).view(np.float64)[0]


@pytest.mark.parametrize("kind", [sf.Integer(0, 110), (0, 110), sf.Periodic(0, 110)])
@pytest.mark.parametrize("target", ["mean", "sum", "variance", "count", "histogram"])
def test_a_signalling_not_a_number_warns_nobody(kind, target):
    values = np.array([5.0, 0.0, 15.0])
    values[1] = SIGNALLING
    data, box = pd.DataFrame({"age": values}), sf.Box({"age": kind})
    if isinstance(kind, sf.Periodic) and target != "count":
        return
    with warnings.catch_warnings(), np.errstate(all="warn"):
        warnings.simplefilter("error")
        sf.release(sf.Statistic(target, "age"), data, box, sf.Privacy(epsilon=1.0))
        assert len(open_table(data, box, "row").native) == 3


def test_units_of_time_are_not_mixed_with_numbers():
    months = np.timedelta64(5, "M")
    for others in (
        [Decimal(5), months],
        [5, months],
        [5.0, months],
        [np.float32(5), months],
        [np.longdouble(5), months],
    ):
        objects = np.array([*others, 5, None], dtype=object)
        data = pd.DataFrame({"age": [5.0, 15.0, 5.0, 35.0], "id": objects})
        assert chunks(open_table(data, AGE, sf.Person("id", 1)), AGE).ravel().tolist() == [5.0, 15.0]


def test_text_that_compares_in_its_own_way_is_text():
    class Rude(str):
        __hash__ = str.__hash__

        def __eq__(self, other):
            raise RuntimeError("private")

    data = pd.DataFrame({"age": [5.0, 5.0, 25.0], "id": np.array([Rude("a"), "a", "b"], dtype=object)})
    assert chunks(open_table(data, AGE, sf.Person("id", 1)), AGE).ravel().tolist() == [5.0, 25.0]


@pytest.mark.parametrize("more", [1, 120])
def test_dictionaries_of_chunks_are_not_put_together(more):
    parts = [
        pa.array([str(i) for i in range(place, place + many)]).dictionary_encode()
        for place, many in ((0, 100), (100, more))
    ]
    column = pa.chunked_array([part.cast(pa.dictionary(pa.int8(), pa.string())) for part in parts])
    data = pa.table({"age": np.zeros(100 + more), "id": column, "other": column})
    assert open_table(data, AGE, sf.Person("id", 1)).rows == 100 + more


@pytest.mark.parametrize("more", [1, 120])
def test_chunks_of_pandas_columns_are_not_put_together(more):
    texts = [str(i) for i in range(100 + more)]
    parts = [
        pa.array(part).dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string()))
        for part in (texts[:100], texts[100:])
    ]
    other = pd.arrays.ArrowExtensionArray(pa.chunked_array(parts))
    ids = pd.array(["a", None, *texts[2:]], dtype="string[pyarrow]")
    data = pd.DataFrame({"other": other, "age": np.arange(100.0 + more), "id": ids})
    table = open_table(data, AGE, sf.Person("id", 1))
    assert table.rows == 99 + more
    assert table.native["other"].tolist() == ["0", *texts[2:]]
    assert table.native.columns.tolist() == ["other", "age", "id"]


@pytest.mark.parametrize("ids", [["p", "q"], [None, "q"]])
def test_types_of_pandas_columns_decide_whether_rows_can_be_picked(ids):
    odd = pd.arrays.ArrowExtensionArray(pa.chunked_array([pa.array([["a"], ["b"]], pa.list_(pa.string_view()))]))
    data = pd.DataFrame({"age": [5.0, 15.0], "id": ids, "other": odd})
    with pytest.raises(SchemaError, match="'other' is of type"):
        open_table(data, AGE, sf.Person("id", 1))


def test_identifiers_in_dictionaries_are_those_of_their_entries():
    views = pa.DictionaryArray.from_arrays(pa.array([0, 0], pa.int8()), pa.array(["f"], pa.string_view()))
    for rows in (0, 2):
        assert list(arrow_identifiers(views[:rows])) == ["f"] * rows
    lists = pa.DictionaryArray.from_arrays(pa.array([0, 0], pa.int8()), pa.array([["f"]]))
    assert list(arrow_identifiers(lists)) == [None, None]
    numbers = pa.array([7, 8, 7]).dictionary_encode()
    assert list(arrow_identifiers(numbers)) == [7, 8, 7]


@pytest.mark.parametrize("ids", [[None, None], ["a", None]])
def test_types_of_which_no_rows_can_be_picked_are_refused_by_type(ids, tmp_path):
    odd = pa.array([["a"], ["b"]], pa.list_(pa.string_view()))
    data = pa.table({"age": [5.0, 15.0], "id": pa.array(ids, pa.string()), "other": odd})
    with pytest.raises(SchemaError, match="'other' is of type"):
        open_table(data, AGE, sf.Person("id", 1))
    assert open_table(data, AGE, "row").rows == 2
    views = pa.DictionaryArray.from_arrays(pa.array([0, 0], pa.int8()), pa.array(["f"], pa.string_view()))
    for rows in (0, 2):  # of which Arrow makes no text, nor do we
        assert open_table(pa.table({"sex": views[:rows]}), SEX, "row").native["sex"].to_pylist() == [None] * rows


def test_a_record_batch_is_a_table():
    batch = pa.record_batch({"age": [5.0, 500.0]})
    assert chunks(open_table(batch, AGE, "row"), AGE).ravel().tolist() == [5.0, 110.0]


def test_data_in_the_wrong_place_are_not_shown():
    data, box, privacy = pd.DataFrame({"age": [12345.678]}), AGE, sf.Privacy(epsilon=1.0)
    for call in (
        lambda: sf.release(sf.KDE(1.0), box, data, privacy),
        lambda: sf.release(sf.KDE(1.0), box, box, data),
        lambda: sf.release(sf.KDE(1.0), data, box, privacy, basis=data),
        lambda: sf.summarize(box, data, privacy),
        lambda: sf.select([1, 2], [1.0, 2.0], sensitivity=1.0, privacy=data),
        lambda: sf.private_bounds("age", data, privacy),
        lambda: sf.noise.laplace([1.0], l1=data, epsilon=1.0),
        lambda: sf.Csv(data),
        lambda: sf.Person(data, 3),
        lambda: sf.Privacy(epsilon=data),
    ):
        with pytest.raises(ParameterTypeError) as caught:
            call()
        assert "12345" not in str(caught.value)


def test_values_in_tuples_are_told_apart_as_they_are_alone():
    months, odd = np.timedelta64(5, "M"), np.datetime64(5, "s")
    for pair in ([(Decimal(5),), (months,)], [("<M8[s]", 5), odd], [("numpy", "<M8[s]", 5), odd]):
        objects = np.empty(3, dtype=object)
        objects[:2], objects[2] = pair, pair[0]
        data = pd.DataFrame({"age": [5.0, 15.0, 5.0], "id": objects})
        assert chunks(open_table(data, AGE, sf.Person("id", 1)), AGE).ravel().tolist() == [5.0, 15.0]


def test_the_type_of_a_column_of_objects_is_not_sought_among_them():
    """narwhals looks at the first hundred, and one may raise when it is asked for its class."""

    class Faceless:
        @property
        def __class__(self):
            raise RuntimeError("private")

    objects = np.empty(3, dtype=object)
    objects[:] = [Faceless(), "f", "m"]
    column = pd.Series(objects, dtype=object)
    data = pd.DataFrame({"sex": column, "id": column})
    table = open_table(data, SEX, sf.Person("id", 1))
    assert table.native["sex"].tolist() == ["f", "m"]
    assert open_table(data, SEX, "row").native["sex"].isna().tolist() == [True, False, False]


def test_a_date_that_compares_in_its_own_way_is_nobodys():
    class Rude(date):
        def __eq__(self, other):
            raise RuntimeError("private")

        __hash__ = date.__hash__

    objects = np.array([Rude(2000, 1, 1), date(2000, 1, 1), "a"], dtype=object)
    table = open_table(pd.DataFrame({"age": [5.0, 15.0, 25.0], "id": objects}), AGE, sf.Person("id", 1))
    assert chunks(table, AGE).ravel().tolist() == [15.0, 25.0]


def test_what_is_masked_is_missing():
    masked = np.ma.array([1.0, 2.0, 50.0], mask=[False, False, True])
    assert np.isnan(chunks(open_table(masked, AGE, "row"), AGE).ravel()).tolist() == [False, False, True]
    whole = np.ma.array([1, 2, 50], mask=[False, False, True])
    ((columns, values),) = labelled(open_table((whole, whole), AGE, "row"), AGE, AGE.columns[0])
    assert np.isnan(columns[0]).tolist() == np.isnan(values).tolist() == [False, False, True]


def test_numbers_that_are_no_letters_are_no_category():
    texts = np.array([0x110000, ord("f"), ord("m")], np.uint32).view("U1")
    for order in ("<", ">"):
        found = positions(texts.astype(texts.dtype.newbyteorder(order)) if order == "<" else texts, SEX.columns[0])
        assert found.tolist() == [-1, 0, 1]


def test_text_views_are_text(tmp_path):
    data = pa.table({"age": [5.0, 5.0, 25.0], "id": pa.array(["a", "a", "b"], pa.string_view())})
    parquet.write_table(data, tmp_path / "t.parquet")
    (tmp_path / "folder.parquet").mkdir()
    parquet.write_table(data, tmp_path / "folder.parquet" / "t.parquet")
    for source in (data, tmp_path / "t.parquet", tmp_path / "folder.parquet"):
        table = open_table(source, AGE, sf.Person("id", 1))
        assert chunks(table, AGE).ravel().tolist() == [5.0, 25.0]
        assert table.native["id"].to_pylist() == ["a", "b"]


@pytest.mark.parametrize("make", [pa.table, pl.DataFrame])
def test_categories_may_be_decimals(make):
    box = sf.Box({"stage": sf.Categorical([1, 2])})
    table = open_table(make({"stage": [Decimal("1.00"), Decimal("2.00"), Decimal("3.50")]}), box, "row")
    assert column(table.native, "stage") == [1.0, 2.0, None]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())], ids=str)
def test_bytes_that_are_no_text_are_no_category(kind, tmp_path):
    texts = text_of_bytes(b"f", b"\xff", b"m")
    table = pa.table({"sex": texts.dictionary_encode() if "dictionary" in str(kind) else texts.cast(kind)})
    box = sf.Box({"sex": sf.Categorical(["f", "m"])})
    parquet.write_table(table, tmp_path / "t.parquet")
    for data in (table, tmp_path / "t.parquet"):
        assert open_table(data, box, "row").native["sex"].to_pylist() == ["f", None, "m"]
        (columns,) = open_table(data, box, "row").batches(box, 9)
        assert positions(columns[0], box.columns[0]).tolist() == [0, -1, 1]


# --- some of the columns --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("names", [["age"], ["bmi"], ["bmi", "age"], ["age", "bmi"]])
@pytest.mark.parametrize("pair", [False, True])
def test_some_columns_of_an_array_in_any_order(names, pair):
    table = open_table((RAW, np.zeros(len(RAW))) if pair else RAW, BOX, "row")
    narrow = sf.Box({name: dict(zip(BOX.names, BOX.columns, strict=True))[name] for name in names})
    wanted = np.array(CLEAN)[:, [BOX.names.index(name) for name in names]]
    assert np.array_equal(chunks(table, narrow), wanted, equal_nan=True)
    assert table.rows == len(RAW)


def test_a_flat_array_is_its_one_column():
    assert chunks(open_table(np.array([1.0, 200.0]), AGE, "row"), AGE).tolist() == [[1.0], [110.0]]


@pytest.mark.parametrize("shape", [(4,), (4, 1), (4, 3)])
def test_an_array_must_have_all_columns_of_the_box(shape):
    with pytest.raises(SchemaError, match=f"the box has 2 columns, the array has {shape[1] if len(shape) > 1 else 1}"):
        chunks(open_table(np.zeros(shape), BOX, "row"), AGE)


def test_a_pair_has_one_more_column_and_not_two():
    wide = sf.Box({"age": (0, 1), "y": (0, 1), "z": (0, 1)})
    with pytest.raises(SchemaError, match="no column 'z'"):
        list(open_table((np.zeros((3, 1)), np.zeros(3)), sf.Box({"age": (0, 1)}), "row").batches(wide, 9))


# --- whatever hands on a stream -------------------------------------------------------------------------------------


class Query:
    """What some library's result looks like: it hands its records on, and is no table that anybody knows."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


STREAMED = pa.table({"age": [5.0, None, 500.0], "sex": ["f", "x", "m"], "id": ["a", "a", "b"]})
BOTH = sf.Box({"age": (0, 110), "sex": sf.Categorical(["f", "m"])})


@pytest.mark.parametrize("unit", ["row", sf.Person("id", 1)], ids=["row", "person"])
@pytest.mark.parametrize("make", [Query, lambda table: table.to_reader()], ids=["query", "reader"])
def test_a_stream_of_arrow_is_a_table(make, unit):
    tables = [open_table(data, BOTH, unit) for data in (STREAMED, make(STREAMED))]
    assert str(tables[0].native.to_pydict()) == str(tables[1].native.to_pydict())
    found = [[[list(column) for column in columns] for columns in table.batches(BOTH, 2)] for table in tables]
    assert str(found[0]) == str(found[1])


def test_the_schema_of_a_stream_is_checked():
    with pytest.raises(SchemaError, match="no column 'age'"):
        open_table(Query(pa.table({"id": ["a"]})), AGE, "row")
    twice = pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0])], names=["age", "age"])
    with pytest.raises(SchemaError, match="two columns of the data have the same name"):
        open_table(Query(twice), AGE, "row")


def test_a_query_that_fails_tells_no_value():
    class Failing(Query):
        def __arrow_c_stream__(self, requested_schema=None):
            raise RuntimeError("could not convert 'secret'")

    with pytest.raises(SchemaError, match=r"Failing: its stream cannot be read as a table \(RuntimeError\)") as caught:
        open_table(Failing(None), AGE, "row")
    assert "secret" not in str(caught.value) and caught.value.__cause__ is None


def test_a_query_that_panics_tells_no_value_either():
    class Panic(BaseException):
        """As those of polars are."""

    class Panicking(Query):
        def __arrow_c_stream__(self, requested_schema=None):
            raise Panic("could not convert 'secret'")

    with pytest.raises(SchemaError, match=r"Panicking: its stream cannot be read as a table \(Panic\)"):
        open_table(Panicking(None), AGE, "row")


# --- private --------------------------------------------------------------------------------------------------------


def test_tables_do_not_print_pickle_or_copy(tmp_path):
    sources = [RAW, (RAW, RAW[:, 0]), *(make({"age": [77.5], "bmi": [20.0]}) for make in FRAMES), as_csv(RAW, tmp_path)]
    for source in sources:
        table = open_table(source, BOX, "row")
        assert repr(table) == str(table) and "77.5" not in repr(table)
        for leak in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(PrivateDataError):
                leak(table)


@pytest.mark.parametrize("hidden", [5.0, 7.0])
def test_a_masked_identifier_is_nobodys(hidden):
    """The number beneath the mask is nobody's, and takes no place of the person who has it."""
    array = np.ma.array([[hidden, 1.0], [5.0, 2.0], [6.0, 3.0]], mask=[[1, 0], [0, 0], [0, 0]])
    table = open_table(array, sf.Box([(0, 10), (0, 10)]), sf.Person(0, max_rows=1))
    assert table.rows == 2


@pytest.mark.parametrize("kind", [pl.String, pl.Categorical])
@pytest.mark.parametrize("third", [b"a", b"\xff"])
def test_polars_text_that_is_no_utf8_is_read_as_any_other(kind, third, capfd):
    """Polars panics if it is asked for such a text, and prints it."""
    ends = np.arange(4, dtype=np.int32)
    stored = pa.Array.from_buffers(pa.string(), 3, [None, pa.py_buffer(ends.tobytes()), pa.py_buffer(b"ab" + third)])
    frame = pl.DataFrame({"who": pl.from_arrow(stored).cast(kind), "x": [1.0, 2.0, 3.0]})
    table = open_table(frame, sf.Box({"x": (0, 5)}), sf.Person("who", max_rows=1))
    assert table.rows == (2 if third == b"a" else 3)
    assert sf.noise.laplace(frame["who"], l1=1.0, epsilon=1.0).shape == (3,)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("count", [0, 1, 3])
@pytest.mark.parametrize("kind", [pa.string_view(), pa.binary_view()], ids=str)
def test_rows_of_views_are_picked_in_pandas(kind, count):
    note = pd.arrays.ArrowExtensionArray(pa.chunked_array([pa.array(["a"] * count, kind)]))
    who = pd.Series(range(count), dtype="int64")
    data = pd.DataFrame({"age": pd.Series([1.0] * count, dtype="float64"), "who": who, "note": pd.Series(note)})
    for unit in ("row", sf.Person("who", 1)):
        table = open_table(data, AGE, unit)
        assert table.rows == count and "view" not in str(table.native["note"].dtype)


def polars_text(*words):
    raw = pa.array(words, pa.large_binary())
    return pl.Series(pl.from_arrow(pa.Array.from_buffers(pa.large_string(), len(raw), raw.buffers(), raw.null_count)))


@pytest.mark.parametrize("kind", [pl.String, pl.Categorical])
def test_text_of_polars_that_is_none_is_compared(kind, capfd):
    words = polars_text(b"f", b"\xff", None, b"\xfe", b"\xff", b"m").cast(kind)
    data, sex = pl.DataFrame({"age": [1.0, 2, 3, 4, 2, 6], "sex": words}), sf.Categorical(["f", "m"])
    (found,) = open_table(data, sf.Box({"sex": sex}), "row").batches(sf.Box({"sex": sex}), 9)
    assert positions(found[0], sex).tolist() == [0, -1, -1, -1, -1, 1]
    (kept,) = open_table(data, AGE, sf.Person("sex", 1)).batches(AGE, 9)
    assert kept[0].tolist() == [1.0, 2.0, 4.0, 6.0]
    whole = open_table(data, sf.Box({"sex": sex}), "row").native["sex"]
    assert whole.to_list() == ["f", None, None, None, None, "m"]
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("kind", [list, tuple])
def test_a_list_of_paths_says_which_engine_reads_it(kind):
    paths = kind(["a.csv", "b.csv"])
    with pytest.raises(ParameterTypeError, match=r"a list of 2 paths is read by engine=sf\.engines\.Dask\(\)"):
        sf.release(sf.KDE(1.0), paths, sf.Box({"a": (0, 1)}), sf.Privacy(epsilon=1.0))
