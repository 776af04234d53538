"""One column's values, whatever they are: as doubles, as days, as texts, or as keys that tell persons apart.

A column's *type* is schema and may be refused. Its values may not: a date beyond Python's calendar, bytes that are no
text, a signalling not-a-number make the libraries below raise, print or panic, so their values are taken as they are
stored, and compared rather than converted.
"""

from __future__ import annotations

import itertools
import sys
from abc import ABCMeta
from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from types import NoneType
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from sfumato.core.box import Categorical, Column, Date
from sfumato.dates import FIELDS, ISO, as_days, as_moments, days_of_array, days_of_counts, days_of_fields
from sfumato.engines.cells import positions
from sfumato.engines.files import holding, holds_dates, holds_numbers, holds_text, is_text
from sfumato.errors import SchemaError
from sfumato.instants import instant, keys_of_counts
from sfumato.values import TEXTS_OF_POLARS, column, doubles, entries_of, letters, of_entries, type_word

Floats = NDArray[np.float64]
Coded = tuple[list[Any], NDArray[np.int64]]  # some identifiers, and which of them each row has

_EPOCH = date(1970, 1, 1)
_MISSING = np.iinfo(np.int64).min  # among moments that are counted

# Arrow's own table of different values is quick, and compares these as they are stored.
_ENCODED = {"float", "double", "string", "large_string", "binary", "large_binary"}
_OF_POLARS = {"Int32", "Int64", "UInt32", "UInt64", "Float32", "Float64", "String"}
_MOMENTS_OF_POLARS = {"Date": "date", "Datetime": "moment", "Duration": "duration", "Time": "time"}
_AT_ONCE, _BYTES = 2**22, 2**24  # rows and bytes of identifiers at a time


def tabular(data: Any) -> Any:
    """The same as a frame or series that narwhals knows, without the labels of its rows.

    Converted by type, because numpy converts by value; and pandas looks into an index, whose values are private too.
    """
    data = nw.to_native(data, pass_through=True)
    library = type(data).__module__.partition(".")[0]
    if library == "pyarrow":
        import pyarrow as pa

        if isinstance(data, pa.RecordBatch):
            return pa.Table.from_batches([data])
        return pa.chunked_array([data]) if isinstance(data, pa.Array) else data
    if library == "pandas" and hasattr(type(data), "dtype") and not hasattr(type(data), "iloc"):  # an array or an index
        data = _as_series(data, sys.modules[library])
    if hasattr(type(data), "set_axis") and hasattr(type(data), "iloc"):  # the object itself would look among labels
        return data.set_axis(range(len(data)), axis=0)
    return data


def _as_series(data: Any, pandas: Any) -> Any:
    """An array or an index of pandas' as a series of its type; among objects pandas would look for another."""
    if type(data) is not pandas.arrays.NumpyExtensionArray:
        return pandas.Series(data, dtype=data.dtype)
    values = data.to_numpy()
    if values.dtype.kind == "U":
        values = letters(values)
    return pandas.Series(values, dtype=object if values.dtype.kind in "OU" else None)


def check_kind(series: Any, kind: Column) -> None:
    """Refuse a column whose type is not that of its bounds or categories."""
    if isinstance(kind, Date):
        if not _may_hold_dates(series):
            raise SchemaError(f"column {series.name!r} must hold dates, times or text")
    elif not isinstance(kind, Categorical):
        if not _is_numeric(series):
            raise SchemaError(f"column {series.name!r} must be numeric")
    elif is_text(kind) == _is_numeric(series):
        wanted = "text" if is_text(kind) else "numbers"
        raise SchemaError(f"column {series.name!r} must hold {wanted}, as its categories do")


def _is_numeric(series: Any) -> bool:
    if series.implementation.is_pyarrow():
        return holds_numbers(series.to_native().type)
    kind = _type_of(series)
    return bool(kind.is_numeric() or kind == nw.Boolean)


def _may_hold_dates(series: Any) -> bool:
    """By the type: of dates or times, or of text or objects, among which each value is looked at."""
    stored = as_arrow(series)
    if stored is not None:
        return holds_dates(stored.type)
    return any(_type_of(series) == kind for kind in (nw.Date, nw.Datetime, nw.String, nw.Object))


def _type_of(series: Any) -> Any:
    """A column's type; of a column of objects narwhals would look at the values, which may raise."""
    stored = getattr(series.to_native(), "dtype", None)
    return nw.Object() if isinstance(stored, np.dtype) and stored.kind == "O" else series.dtype


def clean_series(series: Any, kind: Column) -> Any:
    """Bring one declared column into its bounds or categories, value by value."""
    if isinstance(kind, Date):
        moments = as_moments(kind.clean(series_days(series)))
        made = nw.new_series(series.name, moments, nw.Datetime("us"), backend=series.implementation)
        return made.dt.replace_time_zone("UTC") if kind.zoned else made
    if not isinstance(kind, Categorical):
        cleaned = kind.clean(as_doubles(series))
        return nw.new_series(series.name, cleaned, nw.Float64, backend=series.implementation)
    text = is_text(kind)
    categories = [*(category if text else float(category) for category in kind.categories), None]
    found = positions(as_texts(series) if text else as_doubles(series), kind)
    values = [categories[place] for place in found.tolist()]
    if text and series.implementation.is_pyarrow():
        return _text_series(series.name, values, max(len(str(c).encode()) for c in kind.categories))
    return nw.new_series(series.name, values, nw.String if text else nw.Float64, backend=series.implementation)


def _text_series(name: str, values: list[Any], longest: int) -> Any:
    """Texts of a public length in as many pieces as 32-bit offsets take."""
    import pyarrow as pa

    rows = max(1, 2**30 // longest)
    parts = [pa.array(values[start : start + rows], pa.string()) for start in range(0, len(values), rows)]
    return nw.from_native(pa.chunked_array(parts, pa.string()), series_only=True).alias(name)


def as_doubles(series: Any) -> Floats:
    """A numeric column as doubles; what is missing becomes NaN."""
    stored = as_arrow(series)
    if stored is not None:
        return arrow_doubles(stored)
    with np.errstate(all="ignore"):  # a warning that depends on values would be an output
        if series.implementation.is_pandas_like():
            native = series.to_native()
            if isinstance(native.dtype, np.dtype) and native.dtype.kind in "iufb":  # of these none is missing
                return array_doubles(native.to_numpy())
            return np.asarray(native.to_numpy(dtype=np.float64, na_value=np.nan))
        return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)


def arrow_doubles(values: Any) -> Floats:
    """The same of an Arrow array."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if values.type != pa.float64():
        values = pc.cast(values, pa.float64(), safe=False)  # a safe cast raises, and prints, integers above 2**53
    numbers: Floats = values.to_numpy() if isinstance(values, pa.ChunkedArray) else values.to_numpy(False)
    return numbers


def array_doubles(values: NDArray[Any]) -> Floats:
    """The same of a numpy array."""
    with np.errstate(all="ignore"):
        return values.astype(np.float64, copy=False)


def read_series(series: Any, kind: Column) -> Any:
    """A column's values as its kind has them: text as it is, all others as doubles, dates as days since 1970."""
    return {"text": as_texts, "dates": series_days, "numbers": as_doubles}[holding(kind)](series)


def read_arrow(values: Any, kind: Column) -> Any:
    """The same of an Arrow array."""
    return {"text": lambda given: given, "dates": arrow_days, "numbers": arrow_doubles}[holding(kind)](values)


def read_array(values: NDArray[Any], kind: Column) -> Any:
    """The same of a numpy array; numbers are days already."""
    return {"text": lambda given: given, "dates": days_of_array, "numbers": array_doubles}[holding(kind)](values)


def check_values(name: str, values: NDArray[Any], kind: Column) -> None:
    """Refuse an array whose type is not that of its bounds or categories; objects may be anything."""
    wanted = holding(kind)
    if values.dtype.kind not in {"numbers": "iufbO", "dates": "MUO", "text": "UO"}[wanted]:
        raise SchemaError(f"column {name!r} must hold {wanted}, its dtype is {type_word(values.dtype)}")


def read_values(values: NDArray[Any], kind: Column) -> Any:
    """An array's values as its kind has them, and of objects each by itself."""
    if holding(kind) == "numbers" and values.dtype.kind == "O":
        return doubles(values)
    return list(values) if holding(kind) == "text" and values.dtype.kind == "O" else read_array(values, kind)


def clean_values(values: NDArray[Any], kind: Column) -> NDArray[Any]:
    """Bring an array into its bounds or categories, value by value."""
    found = read_values(values, kind)
    if isinstance(kind, Categorical):
        return np.array([*kind.categories, None], dtype=object)[positions(found, kind)]
    return as_moments(kind.clean(found)) if isinstance(kind, Date) else kind.clean(found)


def keys(values: NDArray[Any]) -> Iterator[Any]:
    """The values of an array as keys."""
    return map(_key, list(letters(values) if values.dtype.kind == "U" else values))


def series_days(series: Any) -> Floats:
    """A column of dates, times, text or objects as days since 1970, value by value; NaN for what is none."""
    stored = as_arrow(series)
    if stored is not None:
        return arrow_days(stored)
    native = series.to_native()
    if series.implementation.is_polars():
        kind = native.dtype
        if kind.is_temporal():  # as they are counted: polars has no calendar for all of them
            return _counted_days(native.to_physical().to_arrow(), getattr(kind, "time_unit", "D"))
        return arrow_days(native.to_arrow()) if _type_of(series) == nw.String else _days_of_objects(native.to_list())
    if hasattr(native.array, "asi8"):  # of pandas: in UTC, whatever the zone
        return days_of_counts(
            native.array.asi8, getattr(native.dtype, "unit", None) or np.datetime_data(native.dtype)[0]
        )
    return _days_of_objects(list(native.array))


def arrow_days(values: Any) -> Floats:
    """The same of an Arrow array of dates, times or text."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    if types.is_dictionary(values.type):
        return np.asarray(of_entries(values, arrow_days, np.nan), dtype=np.float64)
    kind = values.type
    if holds_text(kind):
        return _text_days(values)
    counts = pc.cast(pc.cast(values, pa.int32()) if types.is_date32(kind) else values, pa.int64())
    return _counted_days(counts, "D" if types.is_date32(kind) else "ms" if types.is_date64(kind) else kind.unit)


def _counted_days(counts: Any, unit: str) -> Floats:
    """Whole numbers of a unit in an Arrow array as days."""
    import pyarrow as pa
    import pyarrow.compute as pc

    known = pc.fill_null(pc.cast(counts, pa.int64()), _MISSING)  # a gap would make doubles of the others
    return days_of_counts(
        np.asarray(known.to_numpy() if isinstance(known, pa.ChunkedArray) else known.to_numpy(False)), unit
    )


def _text_days(values: Any) -> Floats:
    """ISO texts in an Arrow array as days: their digits are taken apart, and no calendar is asked."""
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = pc.extract_regex(pc.cast(values, pa.large_binary()), pattern=ISO)  # as bytes, which need not be text

    def digits(name: str) -> Any:
        return pc.cast(pc.fill_null(pc.struct_field(parts, name), b""), pa.large_string())

    def counts(found: Any) -> Any:
        return np.asarray(pc.cast(pc.if_else(pc.equal(found, ""), "0", found), pa.int64()))

    fields = {name: counts(digits(name)) for name in FIELDS if name != "fraction"}
    fields["fraction"] = counts(pc.utf8_rpad(digits("fraction"), 9, "0"))
    return days_of_fields(fields, np.asarray(pc.equal(digits("sign"), "-")))


def _days_of_objects(values: list[Any]) -> Floats:
    return np.fromiter(map(as_days, values), np.float64, len(values))


def as_texts(series: Any) -> Any:
    """A column of text as an Arrow array where it is one, else as a list of values, whatever they are."""
    stored = as_arrow(series)
    if stored is not None:
        return stored
    if series.implementation.is_polars() and _type_of(series) == nw.String:
        return series.to_arrow()  # text that is no UTF-8 would make polars panic
    return list(identifiers(series))


def coded(series: Any) -> Iterator[Coded]:
    """A column's identifiers, piece by piece: where its type says how values compare, each is looked at once."""
    stored, native = as_arrow(series), series.to_native()
    if stored is None and series.implementation.is_polars() and str(native.dtype) in _OF_POLARS:
        stored = native.to_arrow()
    if stored is not None:
        yield from arrow_coded(stored)
    elif isinstance(getattr(native, "dtype", None), np.dtype) and native.dtype.kind in "iuf":
        yield array_coded(native.to_numpy())
    elif hasattr(getattr(native, "array", None), "asi8"):
        counts, places = np.unique(native.array.asi8, return_inverse=True)
        yield list(map(_counted_key(native.dtype), counts.tolist())), places
    else:
        keys = list(identifiers(series))
        yield keys, np.arange(len(keys))


def array_coded(values: NDArray[Any], hidden: Any = False) -> Coded:
    """The same of an array of numbers; what is masked is missing, whatever number the mask hides."""
    with np.errstate(all="ignore"):
        distinct, places = np.unique(values, return_inverse=True)
    return [*map(_key, distinct if values.dtype.kind in "mM" else distinct.tolist()), None], np.where(
        hidden, len(distinct), places
    )


def arrow_coded(values: Any) -> Iterator[Coded]:
    """The same of an Arrow array."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    whole = values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])
    for start in range(0, len(whole), _AT_ONCE):
        part = whole[start : start + _AT_ONCE]
        if types.is_integer(part.type) or _is_counted(part.type) or str(part.type) in _ENCODED:
            if _is_bytes(part.type):  # different texts may be more than 32-bit offsets can tell apart
                part = pc.cast(part, pa.large_binary())
            parts = part.dictionary_encode().chunks  # with one dictionary
            keys = [*arrow_identifiers(parts[0].dictionary), None]
            places = [pc.fill_null(one.indices, len(keys) - 1).to_numpy(zero_copy_only=False) for one in parts]
            yield keys, np.concatenate(places)
        else:
            keys = list(arrow_identifiers(part))
            yield keys, np.arange(len(keys))


def joined(arrays: Iterable[Any]) -> Iterator[Any]:
    """Arrow arrays of one type as longer ones of several chunks, so that fewer of their values come again."""
    import pyarrow as pa

    waiting: list[Any] = []
    for array in arrays:
        waiting += array.chunks if isinstance(array, pa.ChunkedArray) else [array]
        if sum(part.nbytes for part in waiting) >= _BYTES:
            yield pa.chunked_array(waiting)
            waiting = []
    if waiting:
        yield pa.chunked_array(waiting)


def identifiers(series: Any) -> Iterable[Any]:
    """A column's values as keys: equal where the values are; None where one is missing or cannot be compared."""
    stored = as_arrow(series)
    if stored is not None:
        return arrow_identifiers(stored)
    native = series.to_native()
    if series.implementation.is_polars():
        return _polars_identifiers(native)
    if _type_of(series) in (nw.Categorical, nw.Enum):  # as few values as there are categories
        known = [*_category_keys(native.cat.categories), None]
        return (known[place] for place in entries_of(native.cat.codes.to_numpy(), len(known) - 1).tolist())
    if hasattr(native, "array") and hasattr(native.array, "asi8"):  # points in time, which may be beyond Python's
        return map(_counted_key(native.dtype), native.array.asi8.tolist())
    return map(_key, column(native).tolist())


def _counted_key(kind: Any) -> Callable[[int], Any]:
    """What makes keys of the whole numbers in which pandas stores moments, durations and periods.

    They are those of the objects, whatever the unit: another part of the same table may have another, or objects.
    """
    if hasattr(kind, "freq"):
        name = kind.name.removeprefix("period[").removesuffix("]")  # as each of them says it
        return lambda count: None if count == _MISSING else _several("period", (name, count))
    word = "duration" if kind.kind == "m" else "zoned moment" if getattr(kind, "tz", None) is not None else "moment"
    key = keys_of_counts(word, getattr(kind, "unit", None) or np.datetime_data(kind)[0])
    return lambda count: None if count == _MISSING else key(count)


def _category_keys(categories: Any) -> Iterable[Any]:
    """Of pandas' categories one by one: of which type they are together is what the records made it."""
    series = nw.from_native(tabular(categories), series_only=True)
    text = as_arrow(series) is not None and _is_bytes(as_arrow(series).type)
    return identifiers(series) if text else map(_key, list(column(categories)))  # of numpy's, with their units


def arrow_identifiers(values: Any) -> Iterator[Any]:
    """The same of an Arrow array; what consists of several values cannot be compared."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    if types.is_dictionary(values.type):
        return iter(of_entries(values, lambda entries: list(arrow_identifiers(entries)), None))
    kind = values.type
    if _is_counted(kind):  # as stored: Python's calendar ends in the year 9999
        return map(_arrow_key(kind), pc.cast(values, pa.int32() if kind.bit_width == 32 else pa.int64()).to_pylist())
    if _is_bytes(kind):
        return _text_keys(pc.cast(values, pa.large_binary()).to_pylist())
    if types.is_integer(kind):  # which are keys as they are
        return iter(values.to_pylist())
    if not holds_numbers(kind):
        return itertools.repeat(None, len(values))
    return map(_key, values.to_pylist())


def _is_counted(kind: Any) -> bool:
    """Whether an Arrow type counts days, or seconds or parts of them."""
    from pyarrow import types

    return bool(types.is_temporal(kind) and not types.is_interval(kind))


def _arrow_key(kind: Any) -> Callable[[int | None], Any]:
    """What makes keys of the whole numbers in which Arrow stores times."""
    from pyarrow import types

    if types.is_date(kind):
        return keys_of_counts("date", "D" if types.is_date32(kind) else "ms")
    if types.is_timestamp(kind):
        return keys_of_counts("moment" if kind.tz is None else "zoned moment", kind.unit)
    return keys_of_counts("duration" if types.is_duration(kind) else "time", kind.unit)


def _is_bytes(kind: Any) -> bool:
    """Whether an Arrow type is one of text or bytes, which need not be text either."""
    name = str(kind)
    return name.removeprefix("large_").removesuffix("_view") in ("string", "binary") or name.startswith("fixed_size_b")


def _text_keys(values: Iterable[bytes | None]) -> Iterator[str | None]:
    for value in values:  # different bytes stay different
        yield None if value is None else value.decode("utf-8", "surrogateescape")


def _polars_identifiers(native: Any) -> Iterable[Any]:
    kind = native.dtype.base_type().__name__
    if kind in TEXTS_OF_POLARS:
        return arrow_identifiers(native.to_arrow())  # polars panics, and prints, what is no UTF-8
    if not native.dtype.is_temporal():
        return map(_key, column(native).tolist())
    word = "zoned moment" if getattr(native.dtype, "time_zone", None) else _MOMENTS_OF_POLARS[kind]
    unit = getattr(native.dtype, "time_unit", "D" if kind == "Date" else "ns")
    return map(keys_of_counts(word, unit), native.to_physical().to_list())


def as_arrow(series: Any) -> Any:
    """The Arrow array in which a column of pyarrow or pandas is stored; None where it is not."""
    native = series.to_native()
    if series.implementation.is_pyarrow():
        return native
    stored = getattr(getattr(native, "array", None), "__arrow_array__", None)
    dtype = getattr(native, "dtype", None)
    arrow_backed = hasattr(dtype, "pyarrow_dtype") or getattr(dtype, "storage", None) == "pyarrow"
    return stored() if stored is not None and arrow_backed else None


def _key(value: Any) -> Any:
    """A value as a key that is made of Python's own numbers and texts; None for any other, and for not-a-number.

    Nothing of anybody else's stays in it, as keys are compared with those of other persons: what is of no known type,
    or might say something else the next time it is asked, is no key.
    """
    kind = type(value)
    if issubclass(kind, str | bytes):  # a subclass may compare in its own way
        return str.__str__(value) if issubclass(kind, str) else bytes.__bytes__(value)
    made = _KEYS.get(kind) or _pandas_keys().get(kind) if _is_plain(kind) else None
    try:
        found = None if made is None else made(value)
        return found if found == found else None  # a signalling not-a-number raises
    except Exception:  # a tuple may be too deep, a moment beyond any calendar
        return None


def _is_plain(kind: type) -> bool:
    """Whether a type is compared as types are: it might have a say in that, too."""
    return type(kind) is type or type(kind) is ABCMeta


def _several(name: str, parts: Iterable[Any]) -> Any:
    keys = [name, *map(_key, parts)]
    return None if any(key is None for key in keys) else tuple(keys)


def _fraction(value: Fraction) -> Fraction | None:
    whole = type(value.numerator) is type(value.denominator) is int  # anything may stand there
    return Fraction(value.numerator, value.denominator) if whole else None


def _long(value: np.longdouble) -> Any:
    return Fraction(*value.as_integer_ratio()) if np.isfinite(value) else float(value)


def _moment(value: Any) -> Any:
    """Of a zone of Python's own: others might say something else the next time."""
    zone = type(value.tzinfo)
    if not (zone is NoneType or zone is timezone or zone is ZoneInfo):
        return None
    return _clock(value) if type(value) is time else instant(value)


def _clock(value: time) -> Any:
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    elapsed, offset = timedelta(seconds=seconds, microseconds=value.microsecond), value.utcoffset()
    return _several("time", [elapsed]) if offset is None else _several("zoned time", [elapsed - offset])


_NUMBERS_OF_NUMPY = {*np.sctypeDict.values()} - {np.void, np.object_, np.clongdouble}
_KEYS: dict[type, Callable[[Any], Any]] = {
    **dict.fromkeys((bool, int, float, complex, Decimal), lambda value: value),
    date: lambda value: keys_of_counts("date", "D")(value.toordinal() - _EPOCH.toordinal()),
    **dict.fromkeys(_NUMBERS_OF_NUMPY, lambda value: value.item()),
    np.longdouble: _long,
    Fraction: _fraction,
    UUID: lambda value: _several("uuid", [value.int]),
    tuple: lambda value: _several("tuple", value),
    **dict.fromkeys((datetime, time), _moment),
    **dict.fromkeys((timedelta, np.datetime64, np.timedelta64), instant),
}


def _pandas_keys() -> dict[type, Callable[[Any], Any]]:
    """By the very types: another class may bear the same name."""
    pandas: Any = sys.modules.get("pandas")
    if pandas is None:
        return {}
    return {
        **dict.fromkeys((pandas.Timestamp, pandas.Timedelta), instant),
        pandas.Period: lambda value: _several("period", (value.freqstr, value.ordinal)),
        pandas.Interval: lambda value: _several("interval", (value.closed, value.left, value.right)),
    }


def unmasked(array: NDArray[Any]) -> NDArray[Any]:
    """What is masked is missing."""
    if not isinstance(array, np.ma.MaskedArray):
        return array
    if array.dtype.kind == "O":
        plain = np.array(np.ma.getdata(array))
        plain[np.ma.getmaskarray(array)] = None
        return plain
    blank: Any = {"U": "", "M": np.datetime64("NaT")}.get(array.dtype.kind)
    return np.asarray(np.ma.filled(array_doubles(array), np.nan) if blank is None else np.ma.filled(array, blank))
