"""Any table in: numpy, an (X, y) pair, pandas, polars, pyarrow, or a path to CSV or Parquet.

Only the schema may raise. Whatever the *values* are, reading succeeds, and each record is read by a rule that
looks at that record alone: an error, or a type, that depends on a value is an unpaid release
(docs/sharp-edges.md).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from sfumato.core.box import Box, Categorical, Column
from sfumato.core.neighbours import Person, Unit
from sfumato.engines.files import read_file
from sfumato.errors import ParameterTypeError, SchemaError

Floats = NDArray[np.float64]
Columns = Sequence[str] | Mapping[str, object] | None


@dataclass(frozen=True, repr=False)
class Table:
    """Private records behind one face. ``native`` is what a black box sees: the caller's own kind of table."""

    native: Any
    rows: int

    def __repr__(self) -> str:
        return f"<private table of {type(self.native).__name__}>"

    def chunks(self, box: Box, rows: int) -> Iterator[Floats]:
        """``(m, l)`` records of the box's numeric columns, cleaned; missing values are NaN."""
        matrix = self.numeric(box)
        for start in range(0, len(matrix), rows):
            yield box.clean(matrix[start : start + rows])

    def numeric(self, box: Box) -> Floats:
        """The box's columns as doubles, as they were read."""
        array = self.native[0] if isinstance(self.native, tuple) else self.native  # the X of an (X, y) pair
        if isinstance(array, np.ndarray):
            matrix = array if array.ndim == 2 else array[:, None]
            if matrix.shape[1] != box.dimension:
                raise SchemaError(f"the box has {box.dimension} columns, the array has {matrix.shape[1]}")
            return matrix.astype(np.float64)
        frame = nw.from_native(self.native, eager_only=True)
        return np.stack([_as_doubles(frame[name]) for name in box.names], axis=1)


def open_table(data: Any, box: Box, unit: Unit, columns: Columns = None) -> Table:
    """Read the data, check the schema, keep each person's first rows and clean the declared columns.

    ``columns`` are the data columns that must be there: names, or names with bounds as in a box. By default they
    are those of the box. An unnamed box, an array and an ``(X, y)`` pair have no names to check.
    """
    if data is None:
        raise ParameterTypeError("data must be a table, an array or a path, got data=None")
    declared = dict(zip(box.names, box.columns, strict=True)) if box.named else {}
    needed = list(declared) if columns is None else list(columns)
    if isinstance(columns, Mapping):
        declared |= dict(zip(columns, Box(columns).columns, strict=True))
    if isinstance(data, str | os.PathLike):
        data = read_file(os.fspath(data), declared)
    if isinstance(data, tuple):
        return _open_pair(data, unit)
    if isinstance(data, np.ndarray):
        return _open_array(data, unit)
    try:
        frame = nw.from_native(data, eager_only=True)
    except nw.exceptions.DuplicateError:
        raise SchemaError("two columns of the data have the same name") from None
    except TypeError:
        raise ParameterTypeError(
            "data must be a numpy array, an (X, y) pair, a pandas, polars or pyarrow table, or a path to CSV or "
            f"Parquet, got {type(data).__name__}"
        ) from None
    return _open_frame(frame, declared, needed, unit)


def _open_frame(frame: Any, declared: Mapping[str, Column], needed: Sequence[str], unit: Unit) -> Table:
    missing = [name for name in needed if name not in frame.columns]
    if missing:
        raise SchemaError(
            f"the data have no column {missing[0]!r} (they have {frame.columns}); name the columns of the data in the "
            "box, or, where the function's inputs are not data columns, in BlackBox(columns=[...])"
        )
    if isinstance(unit, Person):  # before cleaning, which could make two identifiers one
        if unit.column not in frame.columns:
            raise SchemaError(f"the data have no column {unit.column!r} to tell persons apart: {frame.columns}")
        frame = frame.filter(unit.rows_kept(_identifiers(frame[unit.column])).tolist())
    for name, kind in declared.items():
        if name in frame.columns:
            frame = frame.with_columns(_clean_series(frame[name], kind))
    return Table(frame.to_native(), len(frame))


def _clean_series(series: Any, kind: Column) -> Any:
    """Bring one declared column into its bounds or categories, value by value."""
    if not isinstance(kind, Categorical):
        cleaned = kind.clean(_as_doubles(series))
        return nw.new_series(series.name, cleaned, nw.Float64, backend=series.implementation)
    text = isinstance(kind.categories[0], str)
    if text == _is_numeric(series):
        wanted = "text" if text else "numbers"
        raise SchemaError(f"column {series.name!r} must hold {wanted}, as its categories do")
    allowed = set(kind.categories)
    values = [value if value in allowed else None for value in _identifiers(series)]
    return nw.new_series(series.name, values, nw.String if text else nw.Float64, backend=series.implementation)


def _is_numeric(series: Any) -> bool:
    return bool(series.dtype.is_numeric() or series.dtype == nw.Boolean)


def _as_doubles(series: Any) -> Floats:
    """A numeric column as doubles; what is missing becomes NaN. No value makes it raise."""
    if not _is_numeric(series):
        raise SchemaError(f"column {series.name!r} must be numeric")
    native = series.to_native()
    if series.implementation.is_pyarrow():
        import pyarrow as pa
        import pyarrow.compute as pc

        # Arrow's safe cast would raise, and print the value, for integers above 2**53.
        native = pc.cast(native, pa.float64(), safe=False)
        return np.array(native.to_numpy(), dtype=np.float64)
    if series.implementation.is_pandas_like():
        return np.array(native.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.array(series.cast(nw.Float64).to_numpy(), dtype=np.float64)


def _identifiers(series: Any) -> Iterator[Any]:
    """A column's values; None where one is missing or cannot be compared."""
    for value, missing in zip(series.to_list(), series.is_null().to_list(), strict=True):
        try:
            hash(value)
        except TypeError:
            missing = True
        yield None if missing else value


def _open_pair(pair: tuple[Any, ...], unit: Unit) -> Table:
    if len(pair) != 2:
        raise ParameterTypeError(f"a tuple of data must be an (X, y) pair, got {len(pair)} entries")
    first, second = np.asarray(pair[0]), np.asarray(pair[1])
    if first.ndim == 0 or second.ndim == 0 or len(first) != len(second):
        raise SchemaError("X and y must have as many rows as each other")
    if isinstance(unit, Person):
        raise SchemaError("an (X, y) pair has no column to tell persons apart; pass a table")
    return Table((first.copy(), second.copy()), len(first))  # whatever fit does, the caller's arrays stay


def _open_array(array: NDArray[Any], unit: Unit) -> Table:
    if array.ndim not in (1, 2) or array.dtype.kind not in "iufb":
        raise SchemaError(f"an array must be 1-D or 2-D real numbers, got {array.ndim}-D, dtype {array.dtype}")
    if isinstance(unit, Person):
        if isinstance(unit.column, str) or array.ndim != 2 or not 0 <= unit.column < array.shape[1]:
            raise SchemaError(f"an array has no column {unit.column!r} to tell persons apart; give its position")
        array = array[unit.rows_kept(array[:, unit.column].tolist())]
    return Table(array.copy(), len(array))  # whatever fit does, the caller's array stays
