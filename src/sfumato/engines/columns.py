"""One column's values, whatever they are: as doubles, as texts, or as keys that tell persons apart.

A column's *type* is schema and may be refused. Its values may not: a date beyond Python's calendar, bytes that are no
text, a signalling not-a-number make the libraries below raise, print or panic, so their values are taken as they are
stored, and compared rather than converted.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from sfumato.core.box import Categorical, Column
from sfumato.engines.cells import positions
from sfumato.engines.files import holds_numbers, is_text
from sfumato.engines.instants import instant
from sfumato.errors import SchemaError

Floats = NDArray[np.float64]

# Types that compare by value, and hash alike where they are equal; subclasses may do as they like.
_COMPARABLE = {str, bytes, bool, int, float, complex, Decimal, Fraction, date, time, UUID}
_INSTANTS = {datetime, timedelta, np.datetime64, np.timedelta64}


def tabular(data: Any) -> Any:
    """The same as a frame or series that narwhals knows, without the labels of its rows.

    Converted by type, because numpy converts by value; and pandas looks into an index, whose values are private too.
    """
    library = type(data).__module__.partition(".")[0]
    if library == "pyarrow":
        import pyarrow as pa

        if isinstance(data, pa.RecordBatch):
            return pa.Table.from_batches([data])
        return pa.chunked_array([data]) if isinstance(data, pa.Array) else data
    if library == "pandas" and hasattr(type(data), "dtype") and not hasattr(type(data), "iloc"):  # an array or an index
        data = sys.modules[library].Series(data)
    if hasattr(type(data), "set_axis") and hasattr(type(data), "iloc"):  # the object itself would look among labels
        return data.set_axis(range(len(data)), axis=0)
    return data


def check_kind(series: Any, kind: Column) -> None:
    """Refuse a column whose type is not that of its bounds or categories."""
    if not isinstance(kind, Categorical):
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


def _type_of(series: Any) -> Any:
    """A column's type; of a column of objects narwhals would look at the values, which may raise."""
    stored = getattr(series.to_native(), "dtype", None)
    return nw.Object() if isinstance(stored, np.dtype) and stored.kind == "O" else series.dtype


def clean_series(series: Any, kind: Column) -> Any:
    """Bring one declared column into its bounds or categories, value by value."""
    if not isinstance(kind, Categorical):
        cleaned = kind.clean(as_doubles(series))
        return nw.new_series(series.name, cleaned, nw.Float64, backend=series.implementation)
    text = is_text(kind)
    categories = [*(category if text else float(category) for category in kind.categories), None]
    found = positions(as_texts(series) if text else as_doubles(series), kind)
    values = [categories[place] for place in found.tolist()]
    return nw.new_series(series.name, values, nw.String if text else nw.Float64, backend=series.implementation)


def as_doubles(series: Any) -> Floats:
    """A numeric column as doubles; what is missing becomes NaN."""
    stored = as_arrow(series)
    if stored is not None:
        return arrow_doubles(stored)
    with np.errstate(all="ignore"):  # a warning that depends on values would be an output
        if series.implementation.is_pandas_like():
            return np.asarray(series.to_native().to_numpy(dtype=np.float64, na_value=np.nan))
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


def as_texts(series: Any) -> Any:
    """A column of text as an Arrow array where it is one, else as a list of values, whatever they are."""
    stored = as_arrow(series)
    if stored is not None:
        return stored
    if series.implementation.is_polars() and _type_of(series) == nw.String:
        return series.to_arrow()  # text that is no UTF-8 would make polars panic
    return list(identifiers(series))


def identifiers(series: Any) -> Iterable[Any]:
    """A column's values as keys: equal where the values are; None where one is missing or cannot be compared."""
    stored = as_arrow(series)
    if stored is not None:
        return arrow_identifiers(stored)
    native = series.to_native()
    if series.implementation.is_polars():
        return _polars_identifiers(native)
    if _type_of(series) in (nw.Categorical, nw.Enum):  # as few values as there are categories
        known = [*map(_key, native.cat.categories.tolist()), None]
        return (known[place] for place in native.cat.codes.tolist())
    if hasattr(native, "array") and hasattr(native.array, "asi8"):  # points in time, which may be beyond Python's
        return (None if gone else value for value, gone in zip(native.array.asi8.tolist(), native.isna(), strict=True))
    return map(_key, list(native.array) if hasattr(native, "array") else series.to_list())


def arrow_identifiers(values: Any) -> Iterator[Any]:
    """The same of an Arrow array; what consists of several values cannot be compared."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    if types.is_dictionary(values.type):
        try:
            pc.cast(pa.nulls(1, values.type), values.type.value_type)  # whether it can be done is a matter of types
        except pa.ArrowException:
            return itertools.repeat(None, len(values))
        values = pc.cast(values, values.type.value_type)
    kind = values.type
    if types.is_nested(kind) or isinstance(kind, pa.BaseExtensionType) or types.is_interval(kind):
        return itertools.repeat(None, len(values))
    if types.is_temporal(kind):  # as stored: Python's calendar ends in the year 9999
        values = pc.cast(values, pa.int32() if kind.bit_width == 32 else pa.int64())
    elif _is_bytes(kind):
        return _text_keys(pc.cast(values, pa.large_binary()).to_pylist())
    return map(_key, values.to_pylist())


def _is_bytes(kind: Any) -> bool:
    """Whether an Arrow type is one of text or bytes, which need not be text either."""
    return any(word in str(kind) for word in ("string", "binary"))


def _text_keys(values: Iterable[bytes | None]) -> Iterator[str | None]:
    for value in values:  # different bytes stay different
        yield None if value is None else value.decode("utf-8", "surrogateescape")


def _polars_identifiers(native: Any) -> Iterator[Any]:
    if native.dtype.is_nested():
        return itertools.repeat(None, len(native))
    if str(native.dtype).startswith(("String", "Categorical", "Enum")):  # polars panics, and prints, what is no UTF-8
        return arrow_identifiers(native.to_arrow())
    return map(_key, (native.to_physical() if native.dtype.is_temporal() else native).to_list())


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
    """A value that can be compared with others; None for any other, and for what does not equal itself."""
    try:
        if type(value) not in _COMPARABLE:
            value = _comparable(value)
        return value if value == value and hash(value) is not None else None
    except Exception:  # whatever comparing raises, such as that of a signalling not-a-number
        return None


def _comparable(value: Any) -> Any:
    kind = type(value)
    of_pandas = kind.__module__.partition(".")[0] == "pandas"  # in other modules from version to version
    if kind in _INSTANTS or (of_pandas and kind.__name__ in ("Timestamp", "Timedelta")):
        return instant(value)
    if isinstance(value, np.generic):
        return _plain(value)
    if isinstance(value, str | bytes):  # a subclass may compare in its own way
        return str.__str__(value) if isinstance(value, str) else bytes.__bytes__(value)
    if kind is tuple:
        parts = [_key(part) for part in value]
        return None if None in parts else ("tuple", *parts)
    return value if of_pandas else None


def _plain(value: np.generic) -> Any:
    """A value of numpy's as Python's own, which is equal to the same values."""
    return Fraction(*value.as_integer_ratio()) if isinstance(value, np.longdouble) else value.item()
