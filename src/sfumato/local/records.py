"""Records on a device: public rules that turn whatever a person holds into numbers within the box. Nothing raises."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.checks import near_miss
from sfumato.core.box import Box, Categorical, Date
from sfumato.dates import as_days, days_of_column
from sfumato.errors import ParameterTypeError, SchemaError
from sfumato.values import (
    asked,
    check_here,
    collected,
    column,
    is_array,
    is_mapping,
    is_row,
    is_sparse,
    letters,
    shape_of,
    silently,
)

Floats = NDArray[np.float64]
Reader = Callable[[Any], float]

# float() would warn of an imaginary part, and make a number of a date that no calendar holds.
_NO_NUMBERS = (complex, np.complexfloating, np.datetime64, np.timedelta64)
# What may be a category. Nothing else is hashed: Python has no guard where tuples lie in tuples, and dies.
_MAY_BE_CATEGORY = (str, bytes, int, float, complex, Decimal, Fraction, np.generic)


def read_records(box: Box, records: Any) -> Floats:
    """``(m, d)`` numbers: a numeric column as it is, a category as its position; NaN where there is none of either.

    ``records`` are an array ``(m, d)``, a table with the box's columns, or a list of rows (sequences, or mappings from
    names; of one column, also plain values). Only the shape of an array and the names of a table may raise: whatever a
    row is, and whatever it holds, it is one record, and a row that lacks a value or has too many has none.
    """
    check_here("records", records)
    with silently():  # a warning that depends on values would be an output
        return _read(box, records)


def _read(box: Box, records: Any) -> Floats:
    if is_sparse(records):
        raise SchemaError("records must be a dense array, a table or a list of rows, got a sparse matrix: toarray()")
    records = letters(records) if isinstance(records, np.ndarray) and records.dtype.kind == "U" else collected(records)
    if isinstance(records, np.ndarray) and records.dtype.kind in "iufb":
        matrix = records.reshape(-1, 1) if records.ndim == 1 and box.dimension == 1 else records
        if matrix.ndim != 2 or matrix.shape[1] != box.dimension:
            raise SchemaError(f"records must have shape (m, {box.dimension}), got shape {records.shape}")
        columns: list[Any] = list(matrix.T)
    elif _is_table(records) or is_mapping(records):
        there = _names(records)
        missing = [name for name in box.names if name not in there]
        if missing:
            raise SchemaError(f"the records have no column {missing[0]!r}{near_miss(missing[0], there)}")
        columns = [
            days_of_column(records[name]) if isinstance(kind, Date) else column(records[name])
            for name, kind in zip(box.names, box.columns, strict=True)
        ]
    else:
        readers = [_reader(kind) for kind in box.columns]
        rows = [_row(readers, box.names, record) for record in _each(box, records)]
        return np.array(rows, dtype=np.float64).reshape(len(rows), box.dimension)
    if (
        isinstance(records, np.ndarray)
        and records.dtype == np.float64
        and not isinstance(records, np.ma.MaskedArray)
        and not any(isinstance(kind, Categorical) for kind in box.columns)
    ):
        return matrix  # nothing to read: no copy of many people's records
    return np.stack([_codes(kind, values) for kind, values in zip(box.columns, columns, strict=True)], axis=1)


def _names(records: Any) -> list[Any]:
    """The names of a table's columns, or of a dict of them, which must be as long as each other."""
    if is_mapping(records):
        if len({len(values) for values in records.values()}) > 1:
            raise SchemaError("the columns of the records must be as long as each other")
        return list(records)
    # Of pyarrow, columns are no names.
    return list(records.column_names if hasattr(type(records), "column_names") else records.columns)


def _is_table(records: Any) -> bool:
    """By its type: a series would look for the word among its labels, which are private too."""
    return hasattr(type(records) if hasattr(type(records), "__array__") else records, "columns")


def _each(box: Box, records: Any) -> Iterable[Any]:
    if isinstance(records, np.ndarray) and records.ndim != 1 and records.shape[1:] != (box.dimension,):
        raise SchemaError(f"records must have shape (m, {box.dimension}), got shape {records.shape}")
    if not is_array(records):
        return list(records)
    values = column(records)
    if isinstance(values, np.ma.MaskedArray) and values.dtype == object and values.ndim == 1:
        hidden, values = np.ma.getmaskarray(values), values.data.copy()  # numpy would ask each object what it is
        values[hidden] = None
    return values


def _row(readers: Sequence[Reader], names: Sequence[str], record: Any) -> list[float]:
    """The numbers of one record; NaN for all of them if they are not as many, or not so called."""
    missing = [np.nan] * len(names)
    if is_row(record):
        return _numbers(readers, record) if len(record) == len(names) else missing
    # Numbers are made at once: a record may make values when it is asked, which end where nothing shows.
    return asked(record, missing, lambda: _numbers(readers, _values(names, record)))


def _numbers(readers: Sequence[Reader], values: Sequence[Any]) -> list[float]:
    return [read(value) for read, value in zip(readers, values, strict=True)]


def _values(names: Sequence[str], record: Any) -> Sequence[Any]:
    """A record's values in the order of the names; raises if they are not so called."""
    if isinstance(record, Mapping):
        return [record[name] for name in names]
    if isinstance(record, str | bytes) or not np.iterable(record):
        return [record]
    if is_array(record):  # a column of some library's, whose values may raise and be printed when they are taken
        return list(column(record)) if shape_of(record) == (len(names),) else []
    return list(itertools.islice(record, len(names) + 1))  # there may be more than any memory holds


def _codes(kind: Any, values: Any) -> Floats:
    if isinstance(kind, Date):
        return days_of_column(values)
    if isinstance(values, np.ma.MaskedArray):  # what is masked is missing
        hidden, values = np.ma.getmaskarray(values), np.array(values, dtype=object)
        values[hidden] = None
    if isinstance(values, np.ndarray) and values.dtype.kind == "U":
        values = letters(values)  # numbers that are no letters would raise
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "iufb":
        return np.array([*map(_reader(kind), values)], dtype=np.float64)
    if not isinstance(kind, Categorical):
        with np.errstate(all="ignore"):  # a long double may be beyond; a warning that depends on values is an output
            return values.astype(np.float64)
    found = np.full(len(values), np.nan)
    for place, category in enumerate(kind.categories):
        if not isinstance(category, str):
            found[values == category] = place
    return found


def _reader(kind: Any) -> Reader:
    """What makes a number of a single value in a column of such a kind."""
    if not isinstance(kind, Categorical):
        return as_days if isinstance(kind, Date) else _number
    return partial(_place, {category: place for place, category in enumerate(kind.categories)})


def _place(places: Mapping[Any, int], value: Any) -> float:
    return asked(value, np.nan, _look_up, places, value)


def _look_up(places: Mapping[Any, int], value: Any) -> float:
    plain = _plain(value)
    known = isinstance(plain, _MAY_BE_CATEGORY) and not isinstance(plain, np.void)  # which may hold tuples
    return float(places.get(plain, np.nan)) if known else np.nan


def _number(value: Any) -> float:
    return asked(value, np.nan, _as_float, value)


def _as_float(value: Any) -> float:
    if isinstance(value, _NO_NUMBERS) or (isinstance(value, np.ndarray) and _odd(value)):
        return np.nan
    return float(_plain(value))


def _plain(value: Any) -> Any:
    """A value of Python's; Arrow's own scalars equal no category. Raises for a text that is no UTF-8."""
    return value.as_py() if hasattr(value, "as_py") else value


def _odd(value: NDArray[Any]) -> bool:
    return value.ndim > 0 or value is np.ma.masked or value.dtype.kind == "c"


def within(box: Box, codes: Floats) -> Floats:
    """``(d, m)``: columns brought into the box; the middle, or the first category, stands in for what is missing."""
    columns = np.empty(codes.shape[::-1])
    for row, kind, values in zip(columns, box.columns, codes.T, strict=True):
        row[:] = values if isinstance(kind, Categorical) else kind.clean(values)
        missing = np.isnan(row)
        if missing.any():
            row[missing] = 0.0 if isinstance(kind, Categorical) else kind.low / 2 + kind.high / 2
    return columns


def one_record(box: Box, record: Any) -> Any:
    """A single record as a list of one; the person's own device may say that its form is wrong."""
    if isinstance(record, str) or (isinstance(record, np.ndarray) and record.ndim > 1):
        raise ParameterTypeError(f"record must be one row: a sequence or a mapping, got {type(record).__name__}")
    if isinstance(record, Mapping):
        missing = [name for name in box.names if name not in record]
        if missing:
            raise SchemaError(f"the record has no column {missing[0]!r}{near_miss(missing[0], record)}")
        return [record]
    values = list(record) if np.iterable(record) and not isinstance(record, bytes) else [record]
    if len(values) != box.dimension:
        raise SchemaError(f"a record must have {box.dimension} values, got {len(values)}")
    return [values]
