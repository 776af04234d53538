"""Records on a device: whatever a person holds becomes a number within the box, by a public rule."""

import decimal
import itertools
import math
import numbers
import subprocess
import sys
from datetime import date, datetime
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.errors import ParameterTypeError, SchemaError
from sfumato.local.records import one_record, read_records, within

BOX = sf.Box({"age": (0, 110), "group": sf.Categorical(["a", "b", "c"]), "code": sf.Categorical([7, 8.5])})
PLANE = sf.Box({"x": (0, 10), "y": (-1, 1)})
LINE = sf.Box([(2, 4)])


def held(box, records):
    """``(m, d)``: what counts after the public rules."""
    return within(box, read_records(box, records)).T.tolist()


# --- forms ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "records",
    [
        [[30, "b", 7], [40.5, "c", 8.5]],
        [(30, "b", 7.0), np.array([40.5, "c", 8.5], dtype=object)],
        [{"age": 30, "group": "b", "code": 7}, {"code": 8.5, "more": 1, "group": "c", "age": 40.5}],
        np.array([[30, "b", 7], [40.5, "c", 8.5]], dtype=object),
        pd.DataFrame({"code": [7, 8.5], "group": ["b", "c"], "age": [30, 40.5], "more": [0, 0]}),
        pl.DataFrame({"code": [7.0, 8.5], "group": ["b", "c"], "age": [30.0, 40.5]}),
        pd.DataFrame({"code": [7, 8.5], "group": pd.Categorical(["b", "c"]), "age": [30, 40.5]}),
    ],
)
def test_forms_of_records(records):
    assert held(BOX, records) == [[30.0, 1.0, 0.0], [40.5, 2.0, 1.0]]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8])
def test_arrays_of_numbers(dtype):
    assert held(PLANE, np.array([[1, 0], [2, 1]], dtype=dtype)) == [[1.0, 0.0], [2.0, 1.0]]
    assert held(LINE, np.array([3, 9], dtype=dtype)) == [[3.0], [4.0]]


def test_one_column_may_be_plain_numbers():
    assert held(LINE, [3, 2.5, None]) == [[3.0], [2.5], [3.0]]
    assert held(sf.Box({"group": sf.Categorical(["a", "b"])}), ["b", "a", "z"]) == [[1.0], [0.0], [0.0]]


NO_UTF8 = pa.StringArray.from_buffers(
    3, pa.py_buffer(np.array([0, 7, 8, 9], dtype=np.int32).tobytes()), pa.py_buffer(b"SECRET\xffbc")
)
FORMS = {
    "array": lambda texts: texts,
    "chunks": lambda texts: pa.chunked_array([texts[:2], texts[2:]]),
    "dictionary": lambda texts: pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], pa.int8()), texts),
    "pandas": lambda texts: pd.Series(texts, dtype=pd.ArrowDtype(pa.string()), index=[5, 5, 0]),
}


@pytest.mark.parametrize("form", FORMS)
def test_text_that_is_no_utf8_is_no_category(form):
    """Once Arrow raised, with the cell in its words."""
    box, texts = sf.Box({"group": sf.Categorical(["a", "b", "c"])}), FORMS[form](NO_UTF8)
    table = pd.DataFrame({"group": texts}) if form == "pandas" else pa.table({"group": texts})
    assert held(box, table) == [[0.0], [1.0], [2.0]]
    assert len(sf.local.Marginals(box, 1.0, ways=1, randomizer="hadamard").encode_many(table)) > 0
    assert held(box, texts) == [[0.0], [1.0], [2.0]]


def test_rows_of_arrow_with_text_that_is_no_utf8():
    rows = pa.StructArray.from_arrays([NO_UTF8, pa.array([1.0, 2.0, None])], ["group", "age"])
    box = sf.Box({"age": (0, 110), "group": sf.Categorical(["a", "b", "c"])})
    assert held(box, rows) == [[1.0, 0.0], [2.0, 1.0], [55.0, 2.0]]


def test_no_records():
    assert read_records(PLANE, np.zeros((0, 2))).shape == (0, 2)
    assert read_records(PLANE, []).shape == (0, 2)


def test_an_array_that_needs_no_reading_is_not_copied_nor_changed():
    records = np.array([[1.0, 5.0], [np.nan, 0.0]])
    before = records.copy()
    assert read_records(PLANE, records) is records
    within(PLANE, records)[:] = 17.0
    assert np.array_equal(records, before, equal_nan=True)


@pytest.mark.parametrize("records", [np.zeros((3, 3)), np.zeros(4), np.zeros((2, 2, 2))])
def test_arrays_of_another_shape_are_refused(records):
    with pytest.raises(SchemaError, match=r"records must have shape \(m, 2\)"):
        read_records(PLANE, records)


class Rude(dict):
    """Something that raises whatever it is asked, even what it is."""

    @property
    def __class__(self):
        raise RuntimeError("a private value")

    def __getitem__(self, name):
        raise RuntimeError("a private value")


ROWS = {
    "nothing": lambda: None,
    "text": lambda: "text",
    "bytes": lambda: b"ab",
    "empty": list,
    "long": lambda: [1, 2, 3],
    "mapping": dict,
    "another name": lambda: {"z": 3},
    "longer than memory": lambda: range(2**70),
    "endless": itertools.count,
    "matrix": lambda: np.zeros((3, 2)),
    "rude": Rude,
}


@pytest.mark.parametrize("row", ROWS)
def test_a_row_of_another_form_has_no_values_and_changes_no_other(row):
    """Once one person's row raised, for all others in the batch."""
    for container in (list, tuple, objects, lambda rows: pd.Series(objects(rows))):
        assert held(PLANE, container([[1, 0.5], ROWS[row]()])) == [[1.0, 0.5], [5.0, 0.0]]
        assert held(LINE, container([2.5, ROWS[row]()])) == [[2.5], [3.0]]


SERIES = {
    "dates": pl.Series([2**31 - 1, 1], dtype=pl.Int32).cast(pl.Date),
    "moments": pl.Series([2**63 - 1, 1], dtype=pl.Int64).cast(pl.Datetime("ms")),
    "texts": pl.Series(pl.from_arrow(NO_UTF8[:2])),
    "structs": pl.DataFrame({"a": pl.Series([2**31 - 1, 1], dtype=pl.Int32).cast(pl.Date)}).to_struct("s"),
}


@pytest.mark.parametrize("name", SERIES)
def test_a_row_that_is_a_series_of_polars(name, capfd):
    """Once polars panicked, and printed, when its values were taken."""
    assert held(PLANE, [[1, 0.5], SERIES[name]]) == [[1.0, 0.5], [5.0, 0.0]]
    assert held(LINE, [2.5, SERIES[name][:1], [SERIES[name]]]) == [[2.5], [3.0], [3.0]]
    assert capfd.readouterr().err == ""


def test_a_row_that_is_a_series_has_its_values():
    rows = [pl.Series([1.0, 0.5]), pa.array([2.0, None]), np.array([3, 1]), pd.Series([4.0, 0.25], index=[7, 7])]
    assert held(PLANE, rows) == [[1.0, 0.5], [2.0, 0.0], [3.0, 1.0], [4.0, 0.25]]


class Exits(dict):
    """Something that ends the process, and says something, whatever it is asked."""

    def _leave(self, *_):
        print("a private value")
        raise SystemExit("a private value")

    __getitem__ = __float__ = __hash__ = __eq__ = __iter__ = __len__ = _leave


def test_a_record_that_exits_is_missing(capfd):
    assert held(PLANE, [[1, 0.5], Exits(), [Exits(), 0.5]]) == [[1.0, 0.5], [5.0, 0.0], [5.0, 0.5]]
    assert held(sf.Box({"g": sf.Categorical(["a", "b"])}), ["b", Exits(), [Exits()]]) == [[1.0], [0.0], [0.0]]
    assert capfd.readouterr().out == ""


TUPLES = """
import numpy as np
import sfumato as sf
from sfumato.local.records import read_records
deep = ()
for _ in range(400_000):
    deep = (deep,)
single = np.empty((), dtype=[("deep", object)])
single["deep"] = deep
box = sf.Box({"sex": sf.Categorical(["f", "m"]), "code": sf.Categorical([1, 2])})
rows = [["m", 2], [deep, 1], [single[()], 1], ["f", deep], [None, deep]]
table = {"sex": ["m", deep], "code": [2, deep]}
print(read_records(box, rows).tolist(), read_records(box, table).tolist())
"""


def test_tuples_in_tuples_are_no_category_and_never_hashed():
    """Python has no guard there: a record would end the process of all."""
    done = subprocess.run([sys.executable, "-c", TUPLES], capture_output=True, text=True, check=False)
    rows = "[[1.0, 1.0], [nan, 0.0], [nan, 0.0], [0.0, nan], [nan, nan]]"
    assert (done.returncode, done.stdout) == (0, f"{rows} [[1.0, 1.0], [nan, nan]]\n")


class Text(str):
    pass


def test_categories_of_other_types_are_looked_up():
    box = sf.Box({"sex": sf.Categorical(["f", "m"]), "code": sf.Categorical([1, 2.5])})
    rows = [[Text("m"), Fraction(5, 2)], [np.str_("m"), decimal.Decimal("2.5")], ["m", np.float32(2.5)]]
    assert read_records(box, rows).tolist() == [[1.0, 1.0]] * 3


@numbers.Real.register
class LoudNumber:
    """It is made when a row is read, and prints when it ends."""

    def __float__(self):
        return 5.0

    def __del__(self):
        print("secret")
        print("secret", file=sys.stderr)


class RowOfLoud:
    def __iter__(self):
        yield LoudNumber()


class MappingOfLoud(dict):
    def __getitem__(self, name):
        return LoudNumber()


def test_values_that_a_row_makes_end_where_nothing_shows(capsys):
    box = sf.Box({"age": (0, 110)})
    assert read_records(box, [RowOfLoud(), MappingOfLoud(age=1)]).tolist() == [[5.0], [5.0]]
    assert capsys.readouterr() == ("", "")


def test_a_row_that_is_too_short_has_no_values():
    assert held(PLANE, [[1, 0.5], [1], 5.0, {"x": 3}]) == [[1.0, 0.5], *[[5.0, 0.0]] * 3]


def objects(rows):
    array = np.empty(len(rows), dtype=object)
    for place, row in enumerate(rows):
        array[place] = row
    return array


def test_missing_columns_are_refused():
    with pytest.raises(SchemaError, match="no column 'y'"):
        read_records(PLANE, pd.DataFrame({"x": [3]}))


def test_no_label_of_a_row_is_a_column():
    assert held(LINE, pd.Series([3.0, 2.5], index=["columns", "column_names"], dtype=object)) == [[3.0], [2.5]]
    assert held(sf.Box({"column_names": (2, 4)}), pd.DataFrame({"column_names": [3.0, 2.5]})) == [[3.0], [2.5]]


def test_one_record_is_one_row():
    assert one_record(PLANE, [1, 2]) == [[1, 2]]
    for wrong in ("text", np.zeros((2, 2))):
        with pytest.raises(ParameterTypeError, match="one row"):
            one_record(PLANE, wrong)
    for wrong, words in (([1, 2, 3], "2 values, got 3"), (5.0, "2 values, got 1"), ({"x": 3}, "no column 'y'")):
        with pytest.raises(SchemaError, match=words):  # on the device itself, where a developer sees it
            sf.local.SmoothQueries(PLANE, 1.0).encode(wrong, user=0)


# --- gaps -------------------------------------------------------------------------------------------------------

ARROW = {
    "whole": lambda values, kind: pa.table({"v": pa.array(values, kind).dictionary_encode()}),
    "chunks": lambda values, kind: pa.table(
        {"v": pa.chunked_array([pa.array([v], kind) for v in values]).dictionary_encode()}
    ),
    "batch": lambda values, kind: pa.record_batch({"v": pa.array(values, kind).dictionary_encode()}),
    "pandas": lambda values, kind: pd.DataFrame(
        {"v": pd.arrays.ArrowExtensionArray(pa.chunked_array([pa.array(values, kind).dictionary_encode()]))}
    ),
}


@pytest.mark.parametrize("form", ARROW)
@pytest.mark.parametrize(
    ("kind", "column", "values"),
    [
        (pa.string(), sf.Categorical(["a", "b", "c"]), ["b", "c"]),
        (pa.int8(), sf.Categorical([0, 7, 9]), [7, 9]),
        (pa.int64(), (0, 10), [7, 9]),
        (pa.bool_(), sf.Categorical([False, True]), [True, False]),
    ],
    ids=str,
)
def test_a_gap_in_a_dictionary_is_nobody_elses_value(form, kind, column, values):
    """Once it was read as the last entry of the dictionary: what another person holds."""
    box = sf.Box({"v": column})
    for order in (values, values[::-1]):
        found = read_records(box, ARROW[form]([*order, None], kind))
        assert np.isnan(found[2, 0])
        assert found[:2].tolist() == read_records(box, [[value] for value in order]).tolist()


@pytest.mark.parametrize("other", [1, None])
@pytest.mark.parametrize(
    "made",
    [
        lambda values: pa.table({"v": values}),
        lambda values: pl.DataFrame({"v": values}),
        lambda values: pd.DataFrame({"v": pd.array(values, dtype="Int64")}),
        lambda values: pd.DataFrame({"v": pd.array(values, dtype="int64[pyarrow]")}),
        lambda values: pd.DataFrame({"v": pd.Categorical(values)}),
    ],
)
def test_a_gap_changes_no_other_category(made, other):
    box = sf.Box({"v": sf.Categorical([2**53 + 1, 2**53])})
    assert read_records(box, made([2**53 + 1, 2**53, other]))[:2].tolist() == [[0.0], [1.0]]


def test_what_is_masked_is_missing():
    hidden = np.ma.array([[1.0, 0.5], [9.0, 0.5]], mask=[[False, False], [True, False]])
    assert held(PLANE, hidden) == [[1.0, 0.5], [5.0, 0.5]]
    words = np.ma.array(["a", "?"], mask=[True, True], dtype=object)  # numpy's own word for what is masked
    assert np.isnan(read_records(sf.Box({"v": sf.Categorical(["a", "?"])}), words)).all()


def test_a_masked_array_asks_no_object_what_it_is(capsys):
    class Rude:
        @property
        def __class__(self):
            print("a private value")
            raise SystemExit("a private value")

    values = np.ma.array([0.5, None, 9.0], mask=[False, False, True], dtype=object)
    values.data[1] = Rude()
    found = read_records(sf.Box({"v": (0, 10)}), values)
    np.testing.assert_equal(found, [[0.5], [np.nan], [np.nan]])
    assert capsys.readouterr() == ("", "")


def test_a_date_is_no_number_on_any_calendar():
    days = pa.table({"v": pa.array([1, 2**30], pa.int32()).view(pa.date32())})
    assert np.isnan(read_records(sf.Box({"v": (0, 10)}), days)).all()


# --- values -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "counts"),
    [
        (5, 5.0),
        (-3, 0.0),
        (1e300, 10.0),
        (math.inf, 10.0),
        (-math.inf, 0.0),
        (math.nan, 5.0),
        (None, 5.0),
        ("text", 5.0),
        ("", 5.0),
        ("7.5", 7.5),
        (pd.NA, 5.0),
        (pd.NaT, 5.0),
        (3j, 5.0),
        (True, 1.0),
        (np.float32(2.5), 2.5),
        (decimal.Decimal("2.5"), 2.5),
        (decimal.Decimal("NaN"), 5.0),
        ({"a": 1}, 5.0),
        (object(), 5.0),
        (b"x", 5.0),
        (np.datetime64("2020-01-01"), 5.0),
    ],
)
def test_numbers_are_clipped_and_the_middle_stands_in(value, counts):
    assert held(PLANE, [[value, 0.5]]) == [[counts, 0.5]]
    assert held(PLANE, [{"x": value, "y": 0.5}]) == [[counts, 0.5]]


@pytest.mark.parametrize("value", [None, math.nan, "z", "A", "", 0, 1.5, pd.NA, {}, object(), ("a",)])
def test_undeclared_categories_count_as_the_first(value):
    assert held(BOX, [{"age": 1, "group": value, "code": 8.5}]) == [[1.0, 0.0, 1.0]]


@pytest.mark.parametrize(
    ("value", "counts"), [(7, 0.0), (7.0, 0.0), (8.5, 1.0), (9, 0.0), ("7", 0.0), ("8.5", 0.0), (None, 0.0)]
)
def test_numeric_categories(value, counts):
    assert held(BOX, [[1, "a", value]]) == [[1.0, 0.0, counts]]


def test_numeric_categories_in_arrays():
    box = sf.Box({"a": sf.Categorical([2, 3]), "b": sf.Categorical(["x", "y"])})
    assert held(box, np.array([[3.0, 1.0], [2.0, 0.0], [np.nan, 3.0]])) == [[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    assert held(sf.Box([sf.Categorical([False, True])]), np.array([True, False])) == [[1.0], [0.0]]


def test_whole_numbers_are_rounded_and_circles_are_closed():
    box = sf.Box({"n": sf.Integer(0, 9), "hour": sf.Periodic(0, 24)})
    assert held(box, [[3.4, 25], [99, -1], [None, None], [2, math.inf]]) == [
        [3.0, 1.0],
        [9.0, 23.0],
        [4.5, 12.0],
        [2.0, 12.0],
    ]


def test_wide_boxes_have_a_middle():
    box = sf.Box([(1e308, 1.7e308)])
    assert held(box, [None]) == [[1.35e308]]


@pytest.mark.parametrize("value", [[1, 2], ["x"], (1, 2, 3), b"\x80", np.zeros(3), np.complex128(1j)])
def test_values_that_are_lists_count_as_missing(value, recwarn):
    found = within(PLANE, read_records(PLANE, [[value, 0.5]]))
    assert found.T.tolist() == [[5.0, 0.5]]
    assert not recwarn


def test_a_row_of_a_table_is_a_record():
    assert within(PLANE, read_records(PLANE, [pd.Series([1.0, 0.5])])).T.tolist() == [[1.0, 0.5]]


@pytest.mark.parametrize("mask", [None, [True, False, False, False]])
def test_a_text_of_numbers_that_are_no_letters_is_missing(mask):
    box, texts = sf.Box({"g": sf.Categorical(["a", "b"])}), np.array(["a", "b", "a", "b"])
    texts.view(np.uint32)[3] = 0x110000
    given = texts if mask is None else np.ma.array(texts, mask=mask)
    found = read_records(box, given)[:, 0]
    assert np.isnan(found).tolist() == [mask is not None, False, False, True]


WHEN = sf.Box({"when": (date(2024, 1, 1), date(2025, 1, 1)), "x": (0, 1)})


@pytest.mark.parametrize(
    "records",
    [
        [("2024-03-01T12:00", 0.5), ("soon", 0.5), ({}, 0.5)],
        [{"when": datetime(2024, 3, 1, 12), "x": 0.5}, {"when": 19783.5, "x": 0.5}, {"when": None, "x": 0.5}],
        pd.DataFrame({"when": pd.to_datetime(["2024-03-01T12:00", None, None]), "x": 0.5}),
        pl.DataFrame({"when": [datetime(2024, 3, 1, 12), None, None], "x": 0.5}),
        pa.table({"when": pa.array([datetime(2024, 3, 1, 12), None, None]), "x": [0.5, 0.5, 0.5]}),
        pa.table({"when": ["2024-03-01T12:00", "", None], "x": [0.5, 0.5, 0.5]}),
    ],
    ids=["rows", "mappings", "pandas", "polars", "arrow", "arrow text"],
)
def test_dates_on_a_device(records):
    np.testing.assert_array_equal(read_records(WHEN, records), [[19783.5, 0.5], [np.nan, 0.5], [np.nan, 0.5]])


def test_an_array_of_dates_on_a_device():
    box = sf.Box({"when": WHEN.columns[0]})
    moments = np.array(["2024-03-01T12", "NaT"], dtype="M8[s]")
    for records in (moments, moments[:, None], np.ma.array(moments, mask=[False, True])):
        np.testing.assert_array_equal(read_records(box, records), [[19783.5], [np.nan]])
