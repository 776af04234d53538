"""Any table in: numpy, an (X, y) pair, pandas, polars, pyarrow, or a path to CSV or Parquet.

Only the schema may raise. Whatever the *values* are, reading succeeds: an error that depends on a value is an
unpaid release (docs/sharp-edges.md).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from sfumato.core.box import Box, Categorical, Interval
from sfumato.core.neighbours import Person, Unit
from sfumato.errors import ParameterTypeError, SchemaError

Floats = NDArray[np.float64]

# What counts as a number in a CSV cell. Python's float() would also take "1_000" and "infinity".
_NUMBER = r"^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$"


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
        if isinstance(self.native, np.ndarray):
            matrix = self.native.reshape(self.rows, -1)
            if matrix.shape[1] != box.dimension:
                raise SchemaError(f"the box has {box.dimension} columns, the array has {matrix.shape[1]}")
            return matrix.astype(np.float64)
        frame = nw.from_native(self.native, eager_only=True)
        return np.stack([_as_doubles(frame[name]) for name in box.names], axis=1)


def open_table(data: Any, box: Box, unit: Unit, columns: Sequence[str] | None = None) -> Table:
    """Read the data, check the schema, clean the box's columns and keep each person's first rows.

    ``columns`` are the names that must be there; by default those of the box. An unnamed box, an array and an
    ``(X, y)`` pair have no names to check.
    """
    if data is None:
        raise ParameterTypeError("data must be a table, an array or a path, got data=None")
    if isinstance(data, str | os.PathLike):
        data = _read_file(os.fspath(data), box)
    if isinstance(data, tuple):
        return _open_pair(data, unit)
    if isinstance(data, np.ndarray):
        return _open_array(data, unit)
    try:
        frame = nw.from_native(data, eager_only=True)
    except TypeError:
        raise ParameterTypeError(
            "data must be a numpy array, an (X, y) pair, a pandas, polars or pyarrow table, or a path to CSV or "
            f"Parquet, got {type(data).__name__}"
        ) from None
    return _open_frame(frame, box, unit, columns)


def _open_frame(frame: Any, box: Box, unit: Unit, columns: Sequence[str] | None) -> Table:
    wanted = list(columns) if columns is not None else list(box.names) if box.named else []
    missing = [name for name in wanted if name not in frame.columns]
    if missing:
        raise SchemaError(
            f"the data have no column {missing[0]!r} (they have {frame.columns}); name the columns of the data in the "
            "box, or, where the function's inputs are not data columns, in BlackBox(columns=[...])"
        )
    for name, kind in zip(box.names, box.columns, strict=True):
        if box.named and name in frame.columns:
            frame = frame.with_columns(_clean_series(frame[name], kind))
    if isinstance(unit, Person):
        if unit.column not in frame.columns:
            raise SchemaError(f"the data have no column {unit.column!r} to tell persons apart: {frame.columns}")
        frame = frame.filter(unit.rows_kept(_hashable(frame[unit.column].to_list())).tolist())
    return Table(frame.to_native(), len(frame))


def _clean_series(series: Any, kind: Interval | Categorical) -> Any:
    """Bring one named column into the box, value by value."""
    if isinstance(kind, Categorical):
        return series.cast(series.dtype).zip_with(series.is_in(list(kind.categories)), series.clear(len(series)))
    cleaned = kind.clean(_as_doubles(series))
    return nw.new_series(series.name, cleaned, nw.Float64, backend=series.implementation)


def _as_doubles(series: Any) -> Floats:
    """A numeric column as doubles; what is missing becomes NaN."""
    if not (series.dtype.is_numeric() or series.dtype == nw.Boolean):
        raise SchemaError(f"column {series.name!r} must be numeric, it is {series.dtype}")
    return (
        np.array([], dtype=np.float64)
        if not len(series)
        else np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
    )


def _hashable(identifiers: list[Any]) -> Iterator[Any]:
    """Identifiers as they are, or by their text where Python cannot compare them; never an error."""
    for identifier in identifiers:
        try:
            hash(identifier)
        except TypeError:
            identifier = repr(identifier)
        yield identifier


def _open_pair(pair: tuple[Any, ...], unit: Unit) -> Table:
    if len(pair) != 2:
        raise ParameterTypeError(f"a tuple of data must be an (X, y) pair, got {len(pair)} entries")
    first, second = np.asarray(pair[0]), np.asarray(pair[1])
    if first.ndim == 0 or second.ndim == 0 or len(first) != len(second):
        raise SchemaError(f"X and y must have as many rows, got shapes {first.shape} and {second.shape}")
    if isinstance(unit, Person):
        raise SchemaError("an (X, y) pair has no column to tell persons apart; pass a table")
    return Table((first, second), len(first))


def _open_array(array: NDArray[Any], unit: Unit) -> Table:
    if array.ndim not in (1, 2) or not (np.issubdtype(array.dtype, np.number) or array.dtype == np.bool_):
        raise SchemaError(f"an array must be 1-D or 2-D numbers, got shape {array.shape}, dtype {array.dtype}")
    if isinstance(unit, Person):
        if isinstance(unit.column, str) or array.ndim != 2 or not 0 <= unit.column < array.shape[1]:
            raise SchemaError(f"an array has no column {unit.column!r} to tell persons apart; give its position")
        array = array[unit.rows_kept(array[:, unit.column].tolist())]
    return Table(array, len(array))


def _read_file(path: str, box: Box) -> Any:
    """A CSV or Parquet file as a pyarrow table."""
    import pyarrow as pa
    import pyarrow.parquet as parquet
    from pyarrow import csv

    try:
        if path.lower().endswith((".parquet", ".pq")):
            return parquet.read_table(path)
        if not path.lower().endswith((".csv", ".csv.gz", ".tsv", ".txt")):
            raise SchemaError(f"{path}: the name must end in .csv, .csv.gz or .parquet")
        tab = "\t" if path.lower().endswith(".tsv") else ","
        # The box's columns are read as text: pyarrow's own parser would stop at the first bad value.
        numeric = [name for name, c in zip(box.names, box.columns, strict=True) if isinstance(c, Interval)]
        types = {name: pa.string() for name in numeric} if box.named else None
        table = csv.read_csv(
            path,
            parse_options=csv.ParseOptions(delimiter=tab),
            convert_options=csv.ConvertOptions(column_types=types),
        )
    except FileNotFoundError:
        raise SchemaError(f"{path}: there is no such file") from None
    except (OSError, pa.ArrowException) as error:
        raise SchemaError(f"{path}: cannot be read as a table ({type(error).__name__})") from None
    for name in numeric if box.named else []:
        if name in table.column_names:
            index = table.column_names.index(name)
            table = table.set_column(index, name, _parse_numbers(name, table.column(name)))
    return table


def _parse_numbers(name: str, texts: Any) -> Any:
    """Cells that read as numbers, as doubles; every other cell as missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    fits = pc.match_substring_regex(texts, _NUMBER)
    numbers = pc.cast(pc.utf8_trim_whitespace(pc.if_else(fits, texts, pa.scalar(None, pa.string()))), pa.float64())
    filled = len(texts) - texts.null_count - (pc.sum(pc.equal(texts, "")).as_py() or 0)
    # A CSV file has no types: a column without one single number is a text column.
    if filled and numbers.null_count == len(numbers):
        raise SchemaError(f"column {name!r} must be numeric, none of its cells is a number")
    return numbers
