"""Records on a device: public rules that turn whatever a person holds into numbers within the box. Nothing raises."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.box import Box, Categorical
from sfumato.errors import ParameterTypeError, SchemaError

Floats = NDArray[np.float64]


def read_records(box: Box, records: Any) -> Floats:
    """``(m, d)`` numbers: a numeric column as it is, a category as its position; NaN where there is none of either.

    ``records`` are an array ``(m, d)``, a table with the box's columns, or a list of rows (sequences, or mappings from
    names). Only the form may raise: what is held never does.
    """
    if isinstance(records, np.ndarray) and records.dtype.kind in "iufb":
        matrix = records.reshape(-1, 1) if records.ndim == 1 and box.dimension == 1 else records
        if matrix.ndim != 2 or matrix.shape[1] != box.dimension:
            raise SchemaError(f"records must have shape (m, {box.dimension}), got shape {records.shape}")
        columns: list[Any] = list(matrix.T)
    elif hasattr(records, "columns") and not isinstance(records, np.ndarray):
        there = getattr(records, "column_names", None) or list(records.columns)  # of pyarrow, columns are no names
        missing = [name for name in box.names if name not in there]
        if missing:
            raise SchemaError(f"the records have no column {missing[0]!r}")
        columns = [_column(records[name]) for name in box.names]
    else:
        rows = [_row(box, record) for record in _each(records)]
        columns = [[row[j] for row in rows] for j in range(box.dimension)]
    if (
        isinstance(records, np.ndarray)
        and records.dtype == np.float64
        and not any(isinstance(kind, Categorical) for kind in box.columns)
    ):
        return matrix  # nothing to read: no copy of many people's records
    return np.stack([_codes(kind, values) for kind, values in zip(box.columns, columns, strict=True)], axis=1)


def _column(values: Any) -> Any:
    try:
        return np.asarray(values)
    except Exception:  # Arrow raises, and prints, a text that is no UTF-8
        return _one_by_one(values)


def _each(records: Any) -> list[Any]:
    try:
        return list(records)
    except Exception:
        if not hasattr(records, "__array__"):  # no column of values: the form is wrong
            raise
        return _one_by_one(records)


def _one_by_one(values: Any) -> list[Any]:
    """The values of a column that cannot be read at once; None for each that cannot be read at all."""
    stored = getattr(values, "array", values)  # of pandas: by position, whatever the index
    return [_value(stored, place) for place in range(len(stored))]


def _value(stored: Any, place: int) -> Any:
    try:
        return stored[place]
    except Exception:  # whatever a person holds, nothing shows
        return None


def _row(box: Box, record: Any) -> Sequence[Any]:
    if isinstance(record, Mapping):
        missing = [name for name in box.names if name not in record]
        if missing:
            raise SchemaError(f"the record has no column {missing[0]!r}")
        return [record[name] for name in box.names]
    values = list(record) if np.iterable(record) and not isinstance(record, str | bytes) else [record]
    if len(values) != box.dimension:
        raise SchemaError(f"a record must have {box.dimension} values, got {len(values)}")
    return values


def _codes(kind: Any, values: Any) -> Floats:
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
    try:
        return float(places.get(_plain(value), np.nan))
    except Exception:  # not hashable, or worse: whatever a person holds, nothing shows
        return np.nan


def _number(value: Any) -> float:
    if isinstance(value, complex | np.complexfloating) or (isinstance(value, np.ndarray) and _odd(value)):
        return np.nan  # float() would warn, and a warning that depends on values is an output
    try:
        return float(_plain(value))
    except Exception:  # whatever a person holds, nothing shows
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


def one_record(record: Any) -> Any:
    """A single record as a list of one."""
    if isinstance(record, str) or (isinstance(record, np.ndarray) and record.ndim > 1):
        raise ParameterTypeError(f"record must be one row: a sequence or a mapping, got {type(record).__name__}")
    return [record]
