"""Records on a device: public rules that turn whatever a person holds into numbers within the box. Nothing raises."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.checks import near_miss
from sfumato.core.box import Box, Categorical, Date
from sfumato.dates import days_of_column
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

# float() would warn of an imaginary part, and make a number of a date that no calendar holds.
_NO_NUMBERS = (complex, np.complexfloating, np.datetime64, np.timedelta64)


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
        rows = [_row(box, record) for record in _each(box, records)]
        columns = [[row[j] for row in rows] for j in range(box.dimension)]
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


def _row(box: Box, record: Any) -> Sequence[Any]:
    values = None
    if is_row(record):
        values = record if len(record) == box.dimension else None
    else:
        with asked(record):
            values = _values(box, record)
    return [None] * box.dimension if values is None else values


def _values(box: Box, record: Any) -> Sequence[Any] | None:
    """A record's values in the order of the box; None if they are not as many, or not so called."""
    if isinstance(record, Mapping):
        return [record[name] for name in box.names]
    if isinstance(record, str | bytes) or not np.iterable(record):
        return [record] if box.dimension == 1 else None
    if is_array(record):  # a column of some library's, whose values may raise and be printed when they are taken
        return list(column(record)) if shape_of(record) == (box.dimension,) else None
    values = list(itertools.islice(record, box.dimension + 1))  # there may be more than any memory holds
    return values if len(values) == box.dimension else None


def _codes(kind: Any, values: Any) -> Floats:
    if isinstance(kind, Date):
        return days_of_column(values)
    if isinstance(values, np.ma.MaskedArray):  # what is masked is missing
        hidden, values = np.ma.getmaskarray(values), np.array(values, dtype=object)
        values[hidden] = None
    if isinstance(values, np.ndarray) and values.dtype.kind == "U":
        values = letters(values)  # numbers that are no letters would raise
    if isinstance(kind, Categorical):
        places = {category: place for place, category in enumerate(kind.categories)}
        array = np.asarray(values) if isinstance(values, np.ndarray) else None
        if array is not None and array.dtype.kind in "iufb":
            found = np.full(len(array), np.nan)
            for category, place in places.items():
                if not isinstance(category, str):
                    found[array == category] = place
            return found
        return np.array([_place(places, value) for value in values], dtype=np.float64)
    if isinstance(values, np.ndarray) and values.dtype.kind in "iufb":
        with np.errstate(all="ignore"):  # a long double may be beyond; a warning that depends on values is an output
            return values.astype(np.float64)
    return np.array([_number(value) for value in values], dtype=np.float64)


def _place(places: Mapping[Any, int], value: Any) -> float:
    with asked(value):  # it need not be hashable
        return float(places.get(_plain(value), np.nan))
    return np.nan


def _number(value: Any) -> float:
    with asked(value):
        if not isinstance(value, _NO_NUMBERS) and not (isinstance(value, np.ndarray) and _odd(value)):
            return float(_plain(value))
    return np.nan


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
