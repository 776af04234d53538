"""Private values one by one: numbers of any type are numbers, everything else is missing, only shapes are public."""

import datetime
import decimal
import gc
import math
import numbers
import signal
import sys
import threading
import warnings
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from importlib.util import find_spec
from types import MappingProxyType

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato import values
from sfumato.errors import ParameterTypeError
from sfumato.noise import _whole
from sfumato.values import as_double, as_whole, column, confined, doubles, is_mapping, letters, readable, rows_of

LARGEST = sys.float_info.max


class Evil(Fraction):
    """A number that refuses to become one."""

    def __float__(self):
        raise RuntimeError("a private value")


class OnlyADouble(Evil):
    def __float__(self):
        return 2.5

    def __round__(self, digits=None):
        raise RuntimeError("a private value")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1.5, 1.5), (2, 2.0), (True, 1.0), (np.True_, 1.0), (2**53 + 1, 2.0**53), (10**400, LARGEST),
        (-(10**400), -LARGEST),
        (Fraction(1, 2), 0.5), (Fraction(10**500, 3), LARGEST), (Decimal("1.5"), 1.5), (Decimal("-1e400"), -LARGEST),
        (np.longdouble("1e4000"), LARGEST), (np.float16(2.5), 2.5), (np.array(3), 3.0), (2 + 0j, 2.0),
        (math.inf, math.inf), (Decimal("Infinity"), math.inf),
    ],
    ids=repr,
)  # fmt: skip
def test_numbers_of_any_type_are_numbers(value, expected):
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        assert as_double(value) == expected


@pytest.mark.parametrize(
    "value",
    [
        None, "1", "\ud800", b"1", 1j, math.nan, Decimal("NaN"), Decimal("sNaN"), [1], (1,), {}, np.array([1]),
        object(), np.ma.masked, pd.NA, pd.NaT, np.array(np.datetime64("2020", "ns")),
        *(np.datetime64(1, unit) for unit in ("Y", "D", "s", "us", "ns", "as")),
        np.timedelta64(1, "s"), np.timedelta64(1, "ns"),
        datetime.date(2020, 1, 1), Evil(1),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_everything_else_is_missing(value):
    assert math.isnan(as_double(value))
    assert as_whole(value, 2**61) == 0


def test_whole_numbers_are_exact_where_doubles_are_not():
    assert as_whole(2**60 + 1, 2**61) == as_whole(Decimal(2**60 + 1), 2**61) == 2**60 + 1
    assert as_whole(2**61 + 1, 2**61) == 2**61
    assert as_whole(-math.inf, 2**61) == 0
    assert as_whole(OnlyADouble(1), 2**61) == 2


BROKEN = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff")])


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([], []),
        ([1, "a", [2]], [1, None, None]),
        ([[1], [2]], [None, None]),  # a list has one axis: an entry does not decide on the shape
        (range(2), [0, 1]),
        (np.array([[1, 2]], dtype=np.uint8), [[1, 2]]),
        (np.array([1, 2j]), [1, None]),
        (np.array(["1", "a"]), [None, None]),
        (np.array(["2020"], dtype="M8[Y]"), [None]),
        (np.array([(1, 2)], dtype=[("a", int), ("b", int)]), [None]),
        (np.ma.array([1.0, 2.0], mask=[True, False]), [None, 2]),
        (pd.Series([1, None, "a"], dtype=object), [1, None, None]),
        (pd.Series([1, None], dtype="Int64"), [1, None]),
        (pd.DataFrame({"a": [1], "b": ["x"]}), [[1, None]]),
        (pl.Series([1, None]), [1, None]),
        (pl.Series(["a"]), [None]),
        (pa.chunked_array([[1, None]]), [1, None]),
        (BROKEN, [None]),
        (None, None),
        ("text", None),
        (3, 3),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_the_shape_is_that_of_the_container(given, expected):
    wanted = np.array(expected, dtype=object)
    found = doubles(given)
    assert found.dtype == np.float64
    assert found.shape == readable(given).shape == wanted.shape
    assert [None if math.isnan(x) else x for x in found.ravel().tolist()] == wanted.ravel().tolist()


def outcome(read, given):
    """What an onlooker sees: an error, or a type and a shape; and how the first value was read."""
    try:
        array = np.asarray(read(given))
    except (TypeError, ValueError) as error:
        return type(error).__name__, None
    return (array.dtype.kind, array.shape), repr(array.tolist()[0])


@pytest.mark.parametrize(
    "other", [20.5, None, "a", 1j, 2**64, 2**64 - 1, [1], [1, 2], Decimal("sNaN"), np.zeros(2)], ids=repr
)
def test_one_value_changes_nothing_about_the_others_and_numpy_is_caught(other):
    """The negative control is what numpy makes of the same lists."""
    assert outcome(doubles, [10, other]) == outcome(doubles, [10, 20])
    assert outcome(np.asarray, [10, other]) != outcome(np.asarray, [10, 20])


def test_what_was_given_is_left_alone():
    for given in (np.array([1.0, np.nan]), np.ma.array([1, 2], mask=[True, False]), np.array([1, None], dtype=object)):
        before = given.copy()
        doubles(given)[...] = 7.0
        readable(given)
        assert repr(given) == repr(before)


def test_labels_of_a_series_are_not_looked_at():
    """pandas looks into an index for a word that its type does not know; these cannot even be decoded."""
    texts = pa.array([b"\xff", b"\xfe"], pa.binary()).view(pa.string())
    labels = pd.Index(pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([texts]))))
    for dtype in (float, object, "Int64"):
        assert doubles(pd.Series([1, 2], dtype=dtype).set_axis(labels, axis=0)).tolist() == [1.0, 2.0]
    assert doubles(pd.DataFrame({"a": [1.0, 2.0]}).set_axis(labels, axis=0)).tolist() == [[1.0], [2.0]]


@pytest.mark.parametrize("inner", [1, None])
def test_no_value_decides_on_the_number_of_axes(inner):
    """numpy makes two axes of records without gaps, and one of others."""
    records = pl.Series([{"a": inner}, {"a": 2}], dtype=pl.Struct({"a": pl.Int64}))
    assert doubles(records).shape == (2,)
    assert doubles(pa.table({"a": pa.array([inner, 2], pa.int64()), "b": [1.0, 2.0]})).shape == (2, 2)


# --- gaps -------------------------------------------------------------------------------------------------------

LARGE = 2**53 + 1  # no double
DICTIONARY = pa.dictionary(pa.int32(), pa.int64())
COLUMNS = {
    "Int64": lambda values: pd.Series(values, dtype="Int64"),
    "int64[pyarrow]": lambda values: pd.Series(values, dtype="int64[pyarrow]"),
    "category": lambda values: pd.Series(pd.Categorical(values)),
    "dictionary[pyarrow]": lambda values: pd.Series(pa.array(values, DICTIONARY), dtype=pd.ArrowDtype(DICTIONARY)),
    "array": pa.array,
    "chunks": lambda values: pa.chunked_array([[value] for value in values], pa.int64()),
    "dictionary": lambda values: pa.array(values, DICTIONARY),
    "dictionary in chunks": lambda values: pa.chunked_array([pa.array(values, DICTIONARY)]),
    "runs": lambda values: pa.RunEndEncodedArray.from_arrays([1, 2], pa.array(values, pa.int64())),
    "polars": pl.Series,
    "Int128": lambda values: pl.Series(values, dtype=pl.Int128),
    "Decimal": lambda values: pl.Series(values, dtype=pl.Decimal(30, 0)),
}
FRAMES = {
    "pandas": pd.DataFrame,
    "arrow": pa.table,
    "batch": lambda columns: pa.table(columns).combine_chunks().to_batches()[0],
    "polars": pl.DataFrame,
}
BESIDE = {"nothing": {}, "numbers": {"b": [1, 2]}, "doubles": {"b": [0.5, 2]}, "text": {"b": ["x", "y"]}}
LIBRARY = {"pandas": pd, "arrow": pa, "batch": pa, "polars": pl}
PAIRS = [
    (frame, kind)
    for frame in FRAMES
    for kind, made in COLUMNS.items()
    if type(made([1, 2])).__module__.startswith(LIBRARY[frame].__name__)
]


def both(given):
    """As whole numbers, and as doubles, which print alike if they are."""
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        return _whole(given).tolist(), repr(doubles(given).tolist())


@pytest.mark.parametrize("name", COLUMNS)
def test_a_gap_in_a_column_changes_no_other_value(name):
    """numpy makes doubles of whole numbers beside one, and of a gap in a dictionary the last entry's value."""
    made = COLUMNS[name]
    assert both(made([LARGE, 7])) == ([LARGE, 7], repr([float(LARGE), 7.0]))
    assert both(made([LARGE, None])) == ([LARGE, 0], repr([float(LARGE), math.nan]))
    assert both(made([None, 7])) == ([0, 7], repr([math.nan, 7.0]))


@pytest.mark.few(30)
@pytest.mark.parametrize("beside", BESIDE)
@pytest.mark.parametrize(("frame", "kind"), PAIRS)
def test_a_gap_in_a_frame_changes_no_other_value(frame, kind, beside):
    def read(values):
        whole, real = both(FRAMES[frame]({"a": COLUMNS[kind](values), **BESIDE[beside]}))
        return [row[0] for row in whole], [row[1:] for row in whole], real.count("nan")

    (first, rest, gaps), (second, same, more) = read([LARGE, 7]), read([LARGE, None])
    assert (first, second) == ([LARGE, 7], [LARGE, 0])
    assert rest == same
    assert more == gaps + 1


def test_frames_without_rows_or_columns_have_a_shape():
    for empty in (pd.DataFrame(), pd.DataFrame({"a": []}), pl.DataFrame(), pa.table({"a": pa.array([], pa.int8())})):
        assert doubles(empty).shape == empty.shape


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1, 2**30], pa.int32()).view(pa.date32()),
        pl.Series([1, 2**30], dtype=pl.Int32).cast(pl.Date),
        pl.Series([[1], [2]]),
        pa.array([b"a", b"\xff"], pa.binary()).view(pa.string()).dictionary_encode(),
        pd.Series(np.array([1, 2**60]).view("M8[s]")),
    ],
    ids=lambda values: str(getattr(values, "dtype", getattr(values, "type", ""))),
)
def test_a_column_that_python_cannot_hold_has_no_numbers(values, capfd):
    assert column(values).shape == (2,)
    assert np.isnan(doubles(values)).all()
    assert capfd.readouterr() == ("", "")


class Rude(list):
    def __len__(self):
        raise RuntimeError("a private value")


class Faceless:
    @property
    def __class__(self):
        raise RuntimeError("a private value")


ROWS = {
    "range": lambda: range(2**70),
    "shorter range": lambda: range(10**14),
    "array": lambda: np.broadcast_to(0.0, 10**13),
    "without a length": lambda: Rude([1, 2]),
    "without a class": Faceless,
    "text": lambda: "ab",
    "mapping": lambda: {1: 2, 3: 4},
    "iterator": lambda: iter([1, 2]),
}


@pytest.mark.parametrize("row", ROWS)
def test_a_row_longer_than_any_memory_has_no_values(row):
    assert repr(rows_of([[1, 2], ROWS[row]()], 2).tolist()) == "[[1.0, 2.0], [nan, nan]]"


def test_a_value_that_does_not_say_what_it_is_is_missing():
    assert math.isnan(doubles(Faceless()))
    assert np.isnan(doubles([Faceless()])).all()


@pytest.mark.parametrize("kind", [pl.String, pl.Categorical])
def test_text_of_polars_that_is_none_is_missing(kind, capfd):
    raw = pa.array([b"a", b"\xff", None], pa.large_binary())
    texts = pl.Series(pl.from_arrow(pa.Array.from_buffers(pa.large_string(), 3, raw.buffers(), 1))).cast(kind)
    found = column(texts)
    assert found[0] == "a" and not isinstance(found[1], str) and found[2] is None
    assert np.isnan(doubles(texts)).all() and np.isnan(doubles(texts.to_frame())).all()
    assert capfd.readouterr().err == ""


def test_categories_of_polars_are_texts():
    assert column(pl.Series(["a", None, "b"], dtype=pl.Enum(["b", "a"]))).tolist() == ["a", None, "b"]


@pytest.mark.parametrize("order", ["<", ">"])
def test_numbers_that_are_no_letters_are_replaced(order):
    codes = np.array([[97, 0x110000], [2**32 - 1, 98]], dtype=f"{order}u4")
    for texts in (codes.view(f"{order}U2"), np.asfortranarray(codes.view(f"{order}U1"))):
        assert "".join(letters(texts).ravel().tolist()) == "a\ufffd\ufffdb"
    hidden = letters(np.ma.masked_array(codes.view(f"{order}U2"), [[True], [False]]))
    assert hidden.tolist() == [[None], ["\ufffdb"]]
    assert letters(np.zeros(2, "U0")).tolist() == ["", ""] and letters(np.zeros((0, 2), "U3")).shape == (0, 2)


# --- code of a value's own ------------------------------------------------------------------------------------------


def number(does):
    """A number that does something when it is asked for its value."""
    return type("Number", (float,), {"__float__": does, "__round__": does})(3.0)


def leaves(*_):
    sys.exit("a private value")


def interrupts(_):
    raise KeyboardInterrupt("a private value")


def panics(_):
    raise BaseException("a private value")


def warns(_):
    warnings.warn("a private value", stacklevel=1)
    return 3.0


def prints(_):
    print("a private value")
    sys.stderr.write("a private value")
    return 3.0


class Subclass(float):
    """Python warns of a number whose value is such a one."""


def of_a_rude_type():
    """A number whose type is not to be compared, nor asked for anything."""
    return type("Rude", (type,), dict.fromkeys(("__hash__", "__eq__", "__getattr__"), leaves))("Own", (float,), {})(3.0)


OWN_CODE = {
    **{does.__name__: number(does) for does in (leaves, interrupts, panics, warns, prints)},
    "subclass": number(Subclass),
    "rude type": of_a_rude_type(),
}


@pytest.mark.parametrize("name", OWN_CODE)
def test_code_of_a_values_own_shows_nothing(name, capfd, recwarn):
    """Once a value ended the process, or said what it liked in a warning or on the terminal."""
    value = OWN_CODE[name]
    objects = np.ones(2, dtype=object)
    objects[1] = value
    for found in (doubles([1, value]), doubles(objects), rows_of([[1], [value]], 1)[:, 0]):
        assert found[0] == 1.0
        assert math.isnan(found[1]) or found[1] in (0.0, 3.0)
    assert doubles(value).shape == readable(value).shape == ()
    assert as_whole(value, 2**61) in (0, 3)
    assert np.isnan(rows_of([value], 2)).all()
    assert sf.noise.laplace([1, value], l1=1, epsilon=1).shape == (2,)
    assert sf.noise.laplace(value, l1=1, epsilon=1, integer=True).shape == ()
    assert sf.select("ab", [1e9, value], sensitivity=1, privacy=sf.Privacy(epsilon=1)) == "a"
    assert capfd.readouterr() == ("", "")
    assert not recwarn


class _LoudEnd:
    """It prints when it ends."""

    def __del__(self):
        print("secret")
        print("secret", file=sys.stderr)


class _LoudError(_LoudEnd, Exception):
    pass


@numbers.Real.register
class _Raises:
    def __float__(self):
        raise _LoudError


@numbers.Real.register
class _RaisesWithLoudLocals:
    def __float__(self):
        kept = _LoudEnd()
        raise ValueError(str(type(kept)))


@pytest.mark.parametrize("kind", [_Raises, _RaisesWithLoudLocals])
def test_what_a_value_raised_ends_before_what_is_printed_shows_again(kind, capsys):
    box = sf.Box({"age": (0, 110)})
    sf.noise.laplace([1.0, kind()], l1=1, epsilon=1)
    sf.noise.laplace([1, kind()], l1=1, epsilon=1, integer=True)
    sf.select("ab", [1e9, kind()], sensitivity=1, privacy=sf.Privacy(epsilon=1))
    sf.local.Density(box, 1.0).encode_many([[1.0], [kind()]])
    sf.release(sf.Statistic("mean", "age"), {"age": [1.0] * 9 + [kind()]}, box, sf.Privacy(epsilon=1))
    assert capsys.readouterr() == ("", "")


def test_decimals_leave_the_callers_context_as_it_was():
    before = dict(decimal.getcontext().flags)
    values = [Decimal(text) for text in ("1e400", "sNaN", "1.5", "-1e-400")]
    sf.noise.laplace(values, l1=1, epsilon=1)
    sf.noise.laplace(values, l1=1, epsilon=1, integer=True)
    sf.local.Density(sf.Box({"age": (0, 110)}), 1.0).encode_many([[value] for value in values])
    assert dict(decimal.getcontext().flags) == before


def test_only_an_interrupt_that_was_sent_gets_out(interruptible):
    usual = signal.getsignal(signal.SIGINT)

    def interrupts():
        raise KeyboardInterrupt

    assert confined(7, interrupts) == 7
    with pytest.raises(KeyboardInterrupt):
        confined(None, signal.raise_signal, signal.SIGINT)
    ended = []

    def in_a_thread():
        ended.append(confined(True, interrupts))

    thread = threading.Thread(target=in_a_thread)
    thread.start()
    thread.join()
    assert ended
    assert signal.getsignal(signal.SIGINT) is usual


@pytest.mark.parametrize("library", ["dask.dataframe.dask_expr._collection", "pyspark.pandas.series"])
def test_what_is_elsewhere_is_refused_by_its_type(library):
    """Once it was fetched, and a single value decided of which type all were, and whether that was refused."""

    class Series:
        shape = (2,)

        def __init__(self, second):
            self._second = second

        def __array__(self, *_, **__):
            return np.array([0.0, self._second])

    Series.__module__ = library
    box = sf.Box([(0, 1)])
    doors = {
        "values": lambda given: sf.noise.laplace(given, l1=1, epsilon=1),
        "scores": lambda given: sf.select("ab", given, sensitivity=1, privacy=sf.Privacy(epsilon=1)),
        "records": lambda given: sf.local.Density(box, 1.0).encode_many(given),
    }
    if find_spec("sklearn") is not None:
        from sfumato.estimators import PrivateRidge

        ridge = PrivateRidge(bounds=box, response_range=(0, 1), epsilon=1.0)
        doors["X"] = lambda given: ridge.fit(given, [0.0, 1.0])
        doors["y"] = lambda given: ridge.fit(np.zeros((2, 1)), given)
    for name, door in doors.items():
        for second in (1.0, 1j):
            with pytest.raises(ParameterTypeError, match=f"{name} must be in memory, got a Series"):
                door(Series(second))


def test_threads_leave_streams_and_warnings_as_they_were():
    """The second would come in while the first is there, and go last: to where the first had sent what is printed."""
    before = sys.stdout, sys.stderr, list(warnings.filters)
    first_in, second_in, first_out = threading.Event(), threading.Event(), threading.Event()

    def first():
        confined(None, lambda: (first_in.set(), second_in.wait(0.3)))
        first_out.set()

    def second():
        first_in.wait(5)
        confined(None, lambda: (second_in.set(), first_out.wait(5)))

    threads = [threading.Thread(target=first), threading.Thread(target=second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (sys.stdout, sys.stderr, list(warnings.filters)) == before


@pytest.mark.skipif(not hasattr(pl, "Extension"), reason="a polars without extensions")
@pytest.mark.parametrize("day", [1, 2**31 - 1])
def test_an_extension_of_polars_is_not_read(day, capfd):
    """Once polars panicked, and printed, where a date was on no calendar."""
    days = pl.Series([0, day], dtype=pl.Int32).cast(pl.Date)
    assert column(days.ext.to(pl.Extension("visit.day", pl.Date))).tolist() == [None, None]
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("does", ["raises", "prints", "lies"])
def test_a_class_derived_from_numbers_has_no_say_about_others(does, capsys):
    """Python asks every such class about every other type, once it exists."""
    gc.freeze()  # or all that there is would be looked through below

    class Label:
        pass

    class Nosy(numbers.Real):
        @classmethod
        def __subclasshook__(cls, other):
            if other is Label or other is str:
                if does == "raises":
                    raise RuntimeError("a private value")
                if does == "prints":
                    print("a private value")
                return True if does == "lies" else NotImplemented
            return NotImplemented

    values._may_be_number.cache_clear()
    assert math.isnan(as_double(Label())) and math.isnan(as_double("0.9")) and as_double(2) == 2.0
    assert capsys.readouterr() == ("", "")
    values._may_be_number.cache_clear()
    del Nosy
    gc.collect()  # or it goes on being asked


def test_a_class_derived_from_mappings_has_no_say_about_containers():
    gc.freeze()

    class Nosy(Mapping):
        @classmethod
        def __subclasshook__(cls, other):
            if other is np.ndarray:
                raise RuntimeError("a private value")
            return NotImplemented

    assert not is_mapping(np.zeros(2)) and is_mapping({}) and is_mapping(MappingProxyType({}))
    del Nosy
    gc.collect()  # or it goes on being asked


def indexed(place, words=("a", "b")):
    """A dictionary of Arrow's whose last record points to an entry of that number."""
    return pa.DictionaryArray.from_arrays(pa.array([0, 1, place], pa.int32()), pa.array(words), safe=False)


@pytest.mark.parametrize("place", [-1, 2, 10**9, -2 * 10**9])
def test_an_entry_that_no_dictionary_has_is_missing(place):
    """Arrow looks it up in memory that is not its own."""
    array = indexed(place)
    chunks = pa.chunked_array([array, indexed(0, ["c", "d"])])
    frame = pd.Series(pd.arrays.ArrowExtensionArray(chunks))
    assert column(array).tolist() == ["a", "b", None]
    assert column(chunks).tolist() == column(frame).tolist() == ["a", "b", None, "c", "d", "c"]
    assert doubles(indexed(place, [1.5, 2.5])).tolist()[:2] == [1.5, 2.5]


def test_dictionaries_inside_of_other_values_are_not_read():
    nested = pa.StructArray.from_arrays([indexed(10**9)], ["inside"])
    lists = pa.ListArray.from_arrays(pa.array([0, 2, 3], pa.int32()), indexed(10**9))
    assert column(nested).tolist() == [None] * 3 and column(lists).tolist() == [None] * 2
    assert column(pa.array([[1], [2]])).tolist() == [[1], [2]]


def test_entries_that_are_lists_stay_what_they_are():
    array = pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array([[1.0, 2.0], [3.0]]))
    assert column(array).tolist() == [[1.0, 2.0], [3.0], None]
