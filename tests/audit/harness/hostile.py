"""Hostile values: what one record can hold without changing the type of the column that it stands in.

A ``Kind`` is a type of column in some library: how a usual value is stored in it, what a hostile one looks like, and
how a list of stored values becomes a column. Stored values are what the type allows, not what Python does: a date far
beyond the year 9999 is a whole number of days, a text that is no UTF-8 is bytes.
"""

from __future__ import annotations

import datetime
import fractions
import math
import struct
import sys
import uuid
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa


class Rude:
    """An object that fails at whatever it is asked for."""

    def _fail(self, *_: Any) -> Any:
        raise RuntimeError("rude")

    __eq__ = __hash__ = __float__ = __int__ = __index__ = __bool__ = __len__ = __iter__ = __str__ = __lt__ = _fail

    def __repr__(self) -> str:
        return "Rude()"


class RudeText(str):
    """A text that cannot be compared."""

    __slots__ = ()
    __eq__ = __hash__ = Rude._fail


class RudeList(list):
    """A list that has no length."""

    __len__ = __getitem__ = __iter__ = Rude._fail


class Faceless:
    """An object that does not say what it is."""

    __class__ = property(Rude._fail)


class RudeNumber(float):
    """A number that has no value."""

    __slots__ = ()
    __eq__ = __hash__ = __float__ = __round__ = __lt__ = __gt__ = __abs__ = __sub__ = Rude._fail


def _number(does: Callable[[float], Any]) -> Any:
    """A number that does something when it is asked for its value."""
    return type("Number", (float,), {"__float__": does})(0.5)


def _leave(_: float) -> float:
    sys.exit("a private value")


def _panic(_: float) -> float:
    raise BaseException("a private value")


def _warn(_: float) -> float:
    warnings.warn("a private value", stacklevel=1)
    return 0.5


def _print(_: float) -> float:
    print("a private value")
    return 0.5


class RudeType(type):
    """A type that is not to be compared."""

    __hash__ = __eq__ = _leave


class OfARudeType(float, metaclass=RudeType):
    """A number of such a type."""


class Liar(float):
    """A number that equals every other one, and is found where 100 is."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash(100.0)


class Quarrel(Liar):
    """A number that equals itself, and fails at any other."""

    __hash__ = Liar.__hash__

    def __eq__(self, other: object) -> bool:
        return True if other is self else Rude._fail(self)


class Moody(datetime.tzinfo):
    """A zone that says something else each time."""

    asked = 0

    def utcoffset(self, _: Any) -> datetime.timedelta:
        self.asked += 1
        return datetime.timedelta(minutes=self.asked % 600)


def _nest(depth: int, wrap: Callable[[Any], Any]) -> Any:
    found = wrap(1)
    for _ in range(depth):
        found = wrap(found)
    return found


_ENDLESS: list[Any] = []
_ENDLESS.append(_ENDLESS)
DEEP = (_nest(3000, lambda inner: (inner,)), _nest(3000, lambda inner: [inner]), _ENDLESS)
FLOATS = (
    *(math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 0.5, 10.0, 24.0, 5e-324, -5e-324, 2.2e-308, 1e300, -1e300),
    *(1.7976931348623157e308, -1.7976931348623157e308, 2.0**53, 2.0**53 + 2, -(2.0**63), 2.0**64, 10.000000000000002),
)
TEXTS = (
    *("", " ", "a", "b ", "A", "no", "yes", "a\x00", "\x00", "é", "e\u0301", "\ufffd", "\ufeff", "\u202e", "None"),
    *("NaN", "nan", "1e400", "0x10", "1_000", "-", "--", "x" * 300, "\U0010ffff", "a\tb", "a'b", "a;b", "=1+1"),
    *("\x1b[31m",),
)
BYTES = (
    *(b"", b"a", b"\x00", b"\xff", b"a\xff", b"\xfcller", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"),
    *(b"\xe2\x82", b"a\xc3", b"\x80" * 40, b"yes\x00", b"\xef\xbb\xbf"),
)
OBJECTS = (
    *(None, math.nan, math.inf, -math.inf, 0, -1, True, False, 0.5, 2**63, 2**64 - 1, 2**64, 2**70, -(2**70), 10**400),
    *(Decimal("sNaN"), Decimal("NaN"), Decimal("Infinity"), Decimal("1E+999"), Decimal("1.00"), Decimal("-0")),
    *(fractions.Fraction(1, 3), 1j, complex(math.nan, 1), "text", "a", "\ud800", "\udcff", "\x00", b"\xff", b"a"),
    *(datetime.date.min, datetime.date.max, datetime.datetime.min, datetime.datetime.max, datetime.timedelta.max),
    *(datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC), datetime.time.max, pd.NaT, pd.NA, pd.Timestamp.max),
    *(pd.Timedelta.max, pd.Period("2020-01"), pd.Interval(0, 1), np.datetime64("NaT"), np.timedelta64(1, "Y")),
    *(np.float32(0.5), np.float16(1), np.int8(3), np.uint64(2**64 - 1), np.longdouble("1e4000"), np.complex64(1j)),
    *(np.bool_(True), np.str_("a"), np.bytes_(b"a"), np.array(5.0), np.arange(3.0), np.array([[1, 2], [3, 4]])),
    *([], [1.0], [1, [2]], [[]], (), (1, 2), (1, [2]), {}, {"a": 1}, set(), frozenset(), range(3), object(), Rude()),
    *(np.datetime64("2020-01-01"), np.timedelta64(5, "s"), np.void(b"ab"), np.array([(1, 2.0)], "i4,f8")[0]),
    *(Decimal("1E+999999999"), Decimal("-1E-999999999"), Decimal("sNaN123"), fractions.Fraction(10**400, 3)),
    *(10**5000, -(10**5000), RudeText("a"), RudeNumber(0.5), *DEEP),
    *(range(2**70), range(10**14), np.broadcast_to(0.0, 10**13), RudeList([1, 2]), Faceless()),
    *map(_number, (_leave, _panic, _warn, _print, Liar)),  # Python warns of the last
    *(OfARudeType(0.5), np.array([(1.0, math.nan)], "f8,f8")[0], np.array([(math.nan,)], "O")[0]),
    *(int, len, ..., NotImplemented, uuid.UUID(int=1), Exception("a"), memoryview(b"a"), bytearray(b"a"), "9" * 5000),
)


# Each family is one value in several forms: as a name, one person.
ALIASES = (
    (1, 1.0, True, Decimal(1), fractions.Fraction(1), np.int8(1), np.float32(1), np.longdouble(1), np.bool_(True)),
    ("alias", np.str_("alias"), RudeText("alias")),
    (datetime.datetime(2020, 1, 1), *(np.datetime64("2020", unit) for unit in ("Y", "M", "D", "s", "ns")),
     *(pd.Timestamp("2020").as_unit(unit) for unit in ("s", "ns"))),
    (np.datetime64(10**12, "s"), np.datetime64(10**18, "us"), pd.Timestamp(np.datetime64(10**12, "s")),
     pd.Timestamp(np.datetime64(10**15, "ms"))),
    (datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC), pd.Timestamp("2020-01-01 01:00", tz="Europe/Berlin")),
    (np.timedelta64(2, "h"), np.timedelta64(120, "m"), datetime.timedelta(hours=2), pd.Timedelta(hours=2)),
    (np.timedelta64(2, "Y"), np.timedelta64(24, "M")),
    tuple(np.array([(1.0, math.nan)] * 3, "f8,f8")),
    tuple(np.array([("2020",)], [("a", f"M8[{unit}]")])[0] for unit in ("s", "us", "ns")),
    (datetime.time(12), datetime.time(12, fold=1)),
    tuple(datetime.time(12, tzinfo=Moody()) for _ in range(3)),
    tuple(datetime.datetime(2020, 1, 1, tzinfo=Moody()) for _ in range(3)),
    (pd.Interval(0, 1), pd.Interval(0.0, 1.0), pd.Interval(np.int8(0), 1)),
)  # fmt: skip


def nameless(value: Any) -> bool:
    """Whether a value cannot be asked what it is."""
    return type(value) is Faceless or type(value) is OfARudeType


def some(values: Sequence[Any], wild: Callable[[Random], Any] | None = None) -> Callable[[Random], Any]:
    """One of the values, or something wilder now and then."""
    return lambda rng: wild(rng) if wild is not None and rng.random() < 0.25 else rng.choice(values)


def any_double(rng: Random) -> float:
    """Any pattern of 64 bits, as a double."""
    return struct.unpack("<d", rng.randbytes(8))[0]


def any_bytes(rng: Random) -> bytes:
    """A few bytes of any kind."""
    return rng.randbytes(rng.randrange(8))


def any_text(rng: Random) -> str:
    """A few characters of any kind; never half of a surrogate pair."""
    return any_bytes(rng).decode("utf-8", "replace")


def whole_numbers(bits: int, signed: bool = True) -> Callable[[Random], int]:
    """Whole numbers of a width, mostly extreme."""
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    candidates = (0, 1, -1, 2, 10, 11, low, low + 1, high, high - 1, 2**53 + 1, -(2**53) - 1, 2**31, 3_000_000, 10**15)
    fitting = [c for c in candidates if low <= c <= high]
    return some(fitting, lambda rng: rng.randint(low, high))


def or_none(hostile: Callable[[Random], Any]) -> Callable[[Random], Any]:
    """The same in a column that can hold nothing."""
    return lambda rng: None if rng.random() < 0.15 else hostile(rng)


@dataclass(frozen=True)
class Kind:
    """A type of column.

    ``base`` is what usual values are given as, numbers or text; ``declared`` says whether such a column can have
    bounds or categories; what cannot may still tell persons apart, or stand beside the declared columns.
    """

    name: str
    base: str
    declared: bool
    stored: Callable[[Any], Any]
    hostile: Callable[[Random], Any]
    column: Callable[[list[Any]], Any]

    @property
    def comparable(self) -> bool:
        """Whether its values tell persons apart; what consists of several values does not."""
        return self.name.partition("[")[0] not in ("list", "List", "Struct", "Extension")

    def __repr__(self) -> str:
        return self.name


def numeric_kind(name: str, hostile: Any, column: Any, stored: Any = float, declared: bool = True) -> Kind:
    """A type whose usual values are numbers."""
    return Kind(name, "number", declared, stored, hostile, column)


def text_kind(name: str, hostile: Any, column: Any, stored: Any = str, declared: bool = True) -> Kind:
    """A type whose usual values are texts."""
    return Kind(name, "text", declared, stored, hostile, column)


def _natural(value: Any) -> int:
    return max(0, int(value))


def _decimal(value: Any) -> Decimal:
    return Decimal(round(float(value) * 100)) / 100


DOUBLES = some(FLOATS, any_double)
UNICODE = some(TEXTS, any_text)
PYTHON_TEXT = some((*TEXTS, "\ud800", "a\udcff"), any_text)  # half of a surrogate pair is a text, and no UTF-8
RAW = some(BYTES, any_bytes)
ANYTHING = some(OBJECTS, lambda rng: rng.choice([any_double, any_text, any_bytes])(rng))
DECIMALS = some([Decimal(d) / 100 for d in (0, 100, 250, -1, 99_999_999_999, -99_999_999_999, 1)])
HUGE = some([Decimal(d) for d in ("0", "1.00", "2.5", "-1e70", "1e73", "-0.01", "1e39")])
DATES = whole_numbers(32)
DATED = (
    *("2024-03-01", "2024-03-01T12:30", "2024-03-01 12:30:00.123456789", "2024-03-01T12:30Z", "2024-03-01T12:30+02:00"),
    *("2024-02-30", "0000-01-01", "0001-01-01", "9999-12-31T23:59:59.999999999Z", "2024-13-01", "2024-03-01T24:00"),
    *("2024-03-01T12:30-99:99", " 2024-03-01\t", "2024-03-01x", "2024-3-1", "\uff12024-03-01", "2024-03-01\x00"),
)
MOMENTS = whole_numbers(64)


def dated_bytes(rng: Random) -> bytes:
    """Text that is a date or nearly one, as bytes, some of them no UTF-8."""
    return rng.choice(DATED).encode() + rng.choice([b"", b"", b"", b"\xff"])


# --- Arrow ------------------------------------------------------------------------------------------------------


def _arrow(kind: pa.DataType) -> Callable[[list[Any]], Any]:
    return lambda values: pa.array(values, kind)


def _viewed(storage: pa.DataType, kind: pa.DataType) -> Callable[[list[Any]], Any]:
    """A column of any whole numbers that its type can hold, also those that no Python object stands for."""
    return lambda values: pa.array(values, storage).view(kind)


def _unchecked(kind: pa.DataType) -> Callable[[list[Any]], Any]:
    """Bytes as text, whatever they are."""

    def column(values: list[Any]) -> Any:
        raw = pa.array(values, pa.large_binary() if pa.types.is_large_string(kind) else pa.binary())
        return pa.Array.from_buffers(kind, len(raw), raw.buffers(), raw.null_count)

    return column


def _dictionary(values: list[Any]) -> Any:
    return _unchecked(pa.string())(values).dictionary_encode()


def _small_dictionary(values: list[Any]) -> Any:
    """With indices of 8 bits, as pandas writes categories: reading them from a file, Arrow looks at every text."""
    found = _dictionary(values)
    return pa.DictionaryArray.from_arrays(found.indices.cast(pa.int8()), found.dictionary)


def _numbers_in_a_dictionary(values: list[Any]) -> Any:
    return pa.array(values, pa.int64()).dictionary_encode()


def _dates_in_a_dictionary(values: list[Any]) -> Any:
    return _viewed(pa.int32(), pa.date32())(values).dictionary_encode()


def _four_bytes(text: str) -> bytes:
    return text.encode().rjust(4)[-4:]


def _nested(value: Any) -> list[int]:
    return [int(value)]


_LISTS = some([[], [0], [2**40, -1], [None]])
ARROW = (
    numeric_kind("double", or_none(DOUBLES), _arrow(pa.float64())),
    numeric_kind("float", or_none(DOUBLES), lambda v: pa.array(v, pa.float64()).cast(pa.float32(), safe=False)),
    numeric_kind("int64", or_none(MOMENTS), _arrow(pa.int64()), int),
    numeric_kind("uint64", or_none(whole_numbers(64, False)), _arrow(pa.uint64()), _natural),
    numeric_kind("int8", or_none(whole_numbers(8)), _arrow(pa.int8()), int),
    numeric_kind("bool", or_none(some([True, False])), _arrow(pa.bool_()), lambda value: value > 1),
    numeric_kind("decimal", or_none(DECIMALS), _arrow(pa.decimal128(12, 2)), _decimal),
    numeric_kind("decimal256", or_none(HUGE), _arrow(pa.decimal256(76, 2)), _decimal),
    text_kind("string", or_none(RAW), _unchecked(pa.string()), str.encode),
    text_kind("large_string", or_none(RAW), _unchecked(pa.large_string()), str.encode),
    text_kind("dictionary", or_none(RAW), _dictionary, str.encode),
    text_kind("small dictionary", or_none(RAW), _small_dictionary, str.encode),
    *([text_kind("string_view", or_none(UNICODE), _arrow(pa.string_view()))] if hasattr(pa, "string_view") else []),
    text_kind("binary", or_none(RAW), _arrow(pa.binary()), str.encode, False),
    *(
        [text_kind("binary_view", or_none(RAW), _arrow(pa.binary_view()), str.encode, False)]
        if hasattr(pa, "binary_view")
        else []
    ),
    text_kind("fixed_size_binary", or_none(some([b"\xff" * 4, b"\x00" * 4])), _arrow(pa.binary(4)), _four_bytes, False),
    numeric_kind("dictionary of numbers", or_none(MOMENTS), _numbers_in_a_dictionary, int, False),
    numeric_kind("dictionary of dates", or_none(DATES), _dates_in_a_dictionary, int, False),
    numeric_kind("time32", or_none(DATES), _viewed(pa.int32(), pa.time32("s")), int, False),
    numeric_kind("date32", or_none(DATES), _viewed(pa.int32(), pa.date32()), int, False),
    numeric_kind("date64", or_none(MOMENTS), _viewed(pa.int64(), pa.date64()), int, False),
    numeric_kind("timestamp[s]", or_none(MOMENTS), _viewed(pa.int64(), pa.timestamp("s")), int, False),
    numeric_kind("timestamp[ns]", or_none(MOMENTS), _viewed(pa.int64(), pa.timestamp("ns")), int, False),
    numeric_kind("timestamp[us, zone]", or_none(MOMENTS), _viewed(pa.int64(), pa.timestamp("us", "UTC")), int, False),
    numeric_kind("duration[s]", or_none(MOMENTS), _viewed(pa.int64(), pa.duration("s")), int, False),
    numeric_kind("duration[ns]", or_none(MOMENTS), _viewed(pa.int64(), pa.duration("ns")), int, False),
    numeric_kind("time64", or_none(MOMENTS), _viewed(pa.int64(), pa.time64("us")), int, False),
    numeric_kind("list", or_none(_LISTS), _arrow(pa.list_(pa.int64())), _nested, False),
    numeric_kind("list[none]", or_none(some([[]])), _arrow(pa.list_(pa.int64(), 0)), lambda _: None, False),
)

_LONG = some([(3).to_bytes(size, "big") for size in (1, 2, 16, 17)])  # of which Arrow takes the shorter ones
STORED = (  # in Parquet, as decimals
    numeric_kind(
        "decimal in bytes", or_none(_LONG), _arrow(pa.binary()), lambda v: int(v).to_bytes(2, "big", signed=True), False
    ),
    numeric_kind(
        "decimal in 17 bytes",
        or_none(some([bytes(17), b"\xff" * 17])),
        _arrow(pa.binary(17)),
        lambda _: None,
        False,
    ),
)


# --- pandas -----------------------------------------------------------------------------------------------------


def _series(dtype: Any) -> Callable[[list[Any]], Any]:
    return lambda values: pd.Series(values, dtype=dtype)


def _objects(values: list[Any]) -> Any:
    """A column of objects as they are: numpy would look into those that have a length."""
    cells = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        cells[i] = value
    return pd.Series(cells, dtype=object)


def _of_arrow(kind: Kind) -> Callable[[list[Any]], Any]:
    return lambda values: pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([kind.column(values)])))


def _by_number(storage: str, kind: str) -> Callable[[list[Any]], Any]:
    return lambda values: pd.Series(np.array(values, dtype=storage).view(kind))


def _zoned(values: list[Any]) -> Any:
    return pd.Series(np.array(values, dtype="int64").view("datetime64[us]")).dt.tz_localize("UTC")


def _periods(values: list[Any]) -> Any:
    return pd.Series(pd.arrays.PeriodArray(np.array(values, dtype="int64"), dtype=pd.PeriodDtype("D")))


def _singles(values: list[Any]) -> Any:
    with np.errstate(all="ignore"):
        return pd.Series(np.array(values, dtype=np.float64).astype(np.float32))


def _moment(value: Any) -> Any:
    return pd.Timestamp(int(value), unit="D")


def _categories_of_numbers(values: list[Any]) -> Any:
    return pd.Series(pd.Categorical(values))


def _interval(value: Any) -> Any:
    return pd.Interval(float(value), 1000.0)


_INTERVALS = [pd.Interval(value, 1000.0) for value in (0.5, Liar(0.5), Quarrel(0.5), -math.inf)]
_CATEGORIES = (*dict.fromkeys(("a", "b", "c", "no", "yes", *(f"person-{i}" for i in range(40)), *TEXTS)),)
_ODD = (1.5, Decimal(1), b"\xff", datetime.date.max, (1, 2), pd.Timestamp.max)
_by_name = {kind.name: kind for kind in ARROW}
PANDAS = (
    numeric_kind("float64", DOUBLES, _series("float64")),
    numeric_kind("float32", DOUBLES, _singles),
    numeric_kind("int64", MOMENTS, _series("int64"), int),
    numeric_kind("uint64", whole_numbers(64, False), _series("uint64"), _natural),
    numeric_kind("bool", some([True, False]), _series("bool"), lambda value: value > 1),
    numeric_kind("Float64", or_none(DOUBLES), _series("Float64")),
    numeric_kind("Int64", or_none(MOMENTS), _series("Int64"), int),
    numeric_kind("boolean", or_none(some([True, False])), _series("boolean"), lambda value: value > 1),
    numeric_kind("double[pyarrow]", or_none(DOUBLES), _of_arrow(_by_name["double"])),
    numeric_kind("decimal[pyarrow]", or_none(DECIMALS), _of_arrow(_by_name["decimal"]), _decimal),
    text_kind("object", ANYTHING, _objects),
    text_kind("object", or_none(PYTHON_TEXT), _objects),
    text_kind("string", or_none(PYTHON_TEXT), _series("string[python]")),
    text_kind("string[pyarrow]", or_none(UNICODE), _series("string[pyarrow]")),
    text_kind("arrow text", or_none(RAW), _of_arrow(_by_name["string"]), str.encode),
    *(
        [text_kind("string_view[pyarrow]", or_none(UNICODE), _of_arrow(_by_name["string_view"]))]
        if "string_view" in _by_name
        else []
    ),
    text_kind("category", or_none(some(TEXTS)), _series(pd.CategoricalDtype(_CATEGORIES))),
    numeric_kind("object numbers", ANYTHING, _objects, float, False),
    numeric_kind("object moments", ANYTHING, _objects, _moment, False),
    numeric_kind("object intervals", some(_INTERVALS, ANYTHING), _objects, _interval, False),
    numeric_kind("categories of numbers", or_none(MOMENTS), _categories_of_numbers, int, False),
    numeric_kind("datetime64[ns]", MOMENTS, _by_number("int64", "datetime64[ns]"), int, False),
    numeric_kind("datetime64[s]", MOMENTS, _by_number("int64", "datetime64[s]"), int, False),
    numeric_kind("datetime64[us, zone]", MOMENTS, _zoned, int, False),
    numeric_kind("period", whole_numbers(48), _periods, int, False),
    numeric_kind("complex", some([1j, complex(math.nan, 1), 0j]), _series("complex128"), int, False),
    numeric_kind("sparse", DOUBLES, _series(pd.SparseDtype("float64")), float, False),
    # Not the name of a person who may be there already: that would be no neighbour.
    text_kind("categories of any kind", some(_ODD), _series(pd.CategoricalDtype((*_CATEGORIES, *_ODD))), str, False),
    numeric_kind("timedelta64[ns]", MOMENTS, _by_number("int64", "timedelta64[ns]"), int, False),
    numeric_kind("timedelta64[s]", MOMENTS, _by_number("int64", "timedelta64[s]"), int, False),
    *(
        Kind(f"{kind.name}[pyarrow]", kind.base, False, kind.stored, kind.hostile, _of_arrow(kind))
        for kind in ARROW
        if not kind.declared
    ),
)


# --- polars -----------------------------------------------------------------------------------------------------


def _polars(dtype: Any) -> Callable[[list[Any]], Any]:
    return lambda values: pl.Series(values=values, dtype=dtype)


def _cast(storage: Any, dtype: Any) -> Callable[[list[Any]], Any]:
    return lambda values: pl.Series(values=values, dtype=storage).cast(dtype)


def _unchecked_polars(values: list[Any]) -> Any:
    """Bytes as text: polars does not look at what Arrow hands it."""
    return pl.Series(pl.from_arrow(_unchecked(pa.large_string())(values)))


def _unchecked_categories(values: list[Any]) -> Any:
    return _unchecked_polars(values).cast(pl.Categorical)


def _with_a_class(rng: Random) -> Any:
    found = ANYTHING(rng)
    return None if nameless(found) else found  # of which polars makes no column


def _extended(kind: Any, column: Callable[[list[Any]], Any]) -> Callable[[list[Any]], Any]:
    """A type of somebody's own, which is stored as another."""
    return lambda values: column(values).ext.to(pl.Extension("somebody.s", kind))


_EXTENSIONS = (
    ("Date", pl.Date, DATES, _cast(pl.Int32, pl.Date), int),
    ("Datetime", pl.Datetime("ms"), MOMENTS, _cast(pl.Int64, pl.Datetime("ms")), int),
    ("String", pl.String, RAW, _unchecked_polars, lambda value: str(value).encode()),
)
# Rows, or cells, that are columns of a library's: polars panics of these.
SERIES = [
    made([2**31 - 1 if kind == pl.Date else 2**63 - 1] * rows)
    for _, kind, _, made, _ in _EXTENSIONS[:2]
    for rows in (1, 2)
]
SERIES += [_unchecked_polars([b"\xff"] * rows) for rows in (1, 2)]
POLARS = (
    numeric_kind("Float64", or_none(DOUBLES), _polars(pl.Float64)),
    numeric_kind("Float32", or_none(DOUBLES), _cast(pl.Float64, pl.Float32)),
    numeric_kind("Int64", or_none(MOMENTS), _polars(pl.Int64), int),
    numeric_kind("UInt64", or_none(whole_numbers(64, False)), _polars(pl.UInt64), _natural),
    *([numeric_kind("Int128", or_none(whole_numbers(128)), _polars(pl.Int128), int)] if hasattr(pl, "Int128") else []),
    numeric_kind("Boolean", or_none(some([True, False])), _polars(pl.Boolean), lambda value: value > 1),
    numeric_kind("Decimal", or_none(DECIMALS), _polars(pl.Decimal(20, 2)), _decimal),
    text_kind("String", or_none(UNICODE), _polars(pl.String)),
    text_kind("Categorical", or_none(UNICODE), _polars(pl.Categorical)),
    text_kind("String of any bytes", or_none(RAW), _unchecked_polars, str.encode),
    text_kind("Categorical of any bytes", or_none(RAW), _unchecked_categories, str.encode),
    text_kind("Enum", or_none(some(TEXTS)), _polars(pl.Enum(_CATEGORIES))),
    text_kind("Binary", or_none(RAW), _polars(pl.Binary), str.encode, False),
    text_kind("Object", _with_a_class, lambda values: pl.Series(values=values, dtype=pl.Object), str, False),
    numeric_kind("Date", or_none(DATES), _cast(pl.Int32, pl.Date), int, False),
    numeric_kind("Datetime[ms]", or_none(MOMENTS), _cast(pl.Int64, pl.Datetime("ms")), int, False),
    numeric_kind("Datetime[ns, zone]", or_none(MOMENTS), _cast(pl.Int64, pl.Datetime("ns", "UTC")), int, False),
    numeric_kind("Duration[ms]", or_none(MOMENTS), _cast(pl.Int64, pl.Duration("ms")), int, False),
    numeric_kind("Duration[us]", or_none(MOMENTS), _cast(pl.Int64, pl.Duration("us")), int, False),
    numeric_kind("Time", or_none(some([0, 1, 86_399_999_999_999])), _cast(pl.Int64, pl.Time), int, False),
    numeric_kind("List", or_none(_LISTS), _polars(pl.List(pl.Int64)), _nested, False),
    numeric_kind(
        "Struct", some([{"a": None}, {"a": 2**40}]), _polars(pl.Struct({"a": pl.Int64})), lambda v: {"a": int(v)}, False
    ),
    *(
        numeric_kind(f"Extension[{name}]", or_none(hostile), _extended(kind, made), stored, False)
        for name, kind, hostile, made, stored in _EXTENSIONS
        if hasattr(pl, "Extension")
    ),
)


# --- numpy and lists --------------------------------------------------------------------------------------------


def _array(dtype: str) -> Callable[[list[Any]], Any]:
    def column(values: list[Any]) -> Any:
        with np.errstate(all="ignore"):
            return np.array(values, dtype=dtype)

    return column


def _letters(values: list[Any]) -> Any:
    """Texts of sixteen letters, which names of persons fit in, also of numbers that are none."""
    codes = [[*(cell if isinstance(cell, tuple) else map(ord, cell)), *[0] * 16][:16] for cell in values]
    return np.array(codes, dtype=np.uint32).reshape(-1).view("U16")


_CODES = some([(0xD800,), (0x110000, 97), (2**32 - 1,), (97,), (0,)])
VALUES = (
    numeric_kind("numpy doubles", DOUBLES, _array("float64")),
    numeric_kind("numpy whole numbers", MOMENTS, _array("int64"), int),
    numeric_kind("listed", ANYTHING, list),
    numeric_kind("numpy objects", ANYTHING, lambda values: _objects(values).to_numpy()),
    text_kind("listed text", ANYTHING, list),
    text_kind("numpy text", _CODES, _letters),
    numeric_kind(
        "datetime64[numpy]", MOMENTS, lambda values: np.array(values, dtype="int64").view("M8[s]"), int, False
    ),
)
