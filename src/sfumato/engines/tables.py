"""Any table in: numpy, an (X, y) pair, pandas, polars, pyarrow, a stream of Arrow's, or a path to CSV or Parquet.

Only the schema may raise. Whatever the *values* are, reading succeeds, and each record is read by a rule that
looks at that record alone and leaves it in its place: an error, a type or an order that depends on a value is an unpaid
release (docs/proofs/records.md). A file whose container is damaged cannot be read at all (docs/sharp-edges.md).
"""

from __future__ import annotations

import itertools
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from sfumato.core.box import Box, Column
from sfumato.core.neighbours import Person, Unit
from sfumato.core.whole import Sealed
from sfumato.engines.columns import (
    array_doubles,
    arrow_doubles,
    arrow_identifiers,
    as_arrow,
    as_doubles,
    as_texts,
    check_kind,
    clean_series,
    identifiers,
    tabular,
)
from sfumato.engines.files import (
    Csv,
    File,
    ParquetFile,
    check_header,
    check_pickable,
    is_text,
    open_file,
    without_views,
)
from sfumato.errors import ParameterTypeError, SchemaError

Floats = NDArray[np.float64]
Values = list[Any]
Columns = Sequence[str] | Mapping[str, object] | None


class Table(Sealed, ABC):
    """Private records behind one face: they do not print, pickle or copy.

    ``native`` is what a black box sees, the caller's own kind of table; ``batches`` goes through the records once, in
    pieces.
    """

    def __init__(self, native: Any, rows: int) -> None:
        self._given, self._rows = native, rows

    def __repr__(self) -> str:
        return f"<private table of {type(self._given).__name__}>"

    @property
    def native(self) -> Any:
        """All records as one table, with the declared columns cleaned."""
        return self._given

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What reading each record alone rests on that nobody can check, in words for the guarantee."""
        return ()

    @property
    def rows(self) -> int:
        """The number of records."""
        return self._rows

    @abstractmethod
    def batches(self, box: Box, rows: int) -> Iterator[Values]:
        """The box's columns in its order, at most ``rows`` records at a time, as they were read.

        Numbers are doubles, NaN where one is missing, and may be a view of the data: do not write into them. A column
        of text categories is an Arrow array or a list.
        """


class ArrayTable(Table):
    """An array whose columns have the names of a box, or an ``(X, y)`` pair: y is any column that X does not have."""

    def __init__(self, native: Any, names: Sequence[str]) -> None:
        super().__init__(native, len(native[0] if isinstance(native, tuple) else native))
        self._names = list(names)

    @cached_property
    def native(self) -> Any:  # whatever fit does, the caller's arrays stay
        return tuple(part.copy() for part in self._given) if isinstance(self._given, tuple) else self._given.copy()

    def batches(self, box: Box, rows: int) -> Iterator[Values]:
        kinds = dict(zip(box.names, box.columns, strict=True))
        others = [name for name in box.names if name not in self._names]
        array, y = self._given if isinstance(self._given, tuple) else (self._given, None)
        if others and (y is None or len(others) > 1):
            raise SchemaError(
                f"an array has no column {others[-1]!r}; pass an (X, y) pair, or a table with that column"
            )
        matrix = np.asarray(array if array.ndim == 2 else array[:, None])
        if matrix.shape[1:] != (len(self._names),):
            raise SchemaError(f"the box has {len(self._names)} columns, the array has {matrix.shape[1]}")
        if matrix.dtype.kind not in "iufb" or any(is_text(kinds[name]) for name in box.names if name not in others):
            raise SchemaError(
                f"the array must hold the columns {tuple(self._names)} as real numbers, its dtype is {array.dtype}"
            )
        columns = {name: matrix[:, self._names.index(name)] for name in box.names if name not in others}
        columns |= {name: self._response(y, kinds[name]) for name in others}
        for start in range(0, len(matrix), rows):
            part = [(columns[name][start : start + rows], kind) for name, kind in kinds.items()]
            yield [values if is_text(kind) else array_doubles(values) for values, kind in part]

    def _response(self, y: Any, kind: Column) -> NDArray[Any]:
        y = y.reshape(-1) if y.ndim == 2 else y
        if y.ndim != 1 or len(y) != self.rows or (y.dtype.kind == "U") != is_text(kind):
            wanted = "text" if is_text(kind) else "numbers"
            raise SchemaError(f"y must hold one value for each row, {wanted} as declared, got {y.ndim}-D {y.dtype}")
        return np.asarray(y)


class FrameTable(Table):
    """A data frame, of which ``declared`` columns are cleaned when the whole is asked for."""

    def __init__(self, frame: Any, declared: Mapping[str, Column]) -> None:
        super().__init__(frame.to_native(), len(frame))
        self._frame, self._declared = frame, {name: kind for name, kind in declared.items() if name in frame.columns}
        for name, kind in self._declared.items():
            check_kind(frame[name], kind)

    @cached_property
    def native(self) -> Any:
        cleaned = [clean_series(self._frame[name], kind) for name, kind in self._declared.items()]
        return (self._frame.with_columns(*cleaned) if cleaned else self._frame).to_native()

    def batches(self, box: Box, rows: int) -> Iterator[Values]:
        _check_names(box.names, self._frame.columns)
        whole = [self._frame[name] for name in box.names]
        for series, kind in zip(whole, box.columns, strict=True):
            check_kind(series, kind)
        for start in range(0, len(self._frame), rows):
            part = [series[start : start + rows] for series in whole]
            yield [
                as_texts(series) if is_text(kind) else as_doubles(series)
                for series, kind in zip(part, box.columns, strict=True)
            ]


class FileTable(Table):
    """A file, which is read when records are asked for, and only as far as they are.

    ``kept`` says which rows belong to their person's first; it is one byte for each row of the file.
    """

    def __init__(self, file: File, declared: Mapping[str, Column], kept: NDArray[np.bool_] | None = None) -> None:
        super().__init__(file, -1)
        self._file, self._declared, self._kept = file, declared, kept

    @property
    def assumptions(self) -> tuple[str, ...]:
        return self._file.assumptions

    @cached_property
    def native(self) -> Any:
        whole = self._file.whole(self._declared)
        kept = whole if self._kept is None else whole.filter(self._kept)
        self.__dict__["rows"] = kept.num_rows  # nobody need count them again
        return FrameTable(nw.from_native(kept, eager_only=True), self._declared).native

    @cached_property
    def rows(self) -> int:
        return self._file.rows() if self._kept is None else int(np.count_nonzero(self._kept))

    def batches(self, box: Box, rows: int) -> Iterator[Values]:
        kinds = dict(zip(box.names, box.columns, strict=True))
        _check_names(box.names, self._file.names)
        self._file.check(kinds)
        seen = 0
        for batch in self._file.batches(box.names, kinds):
            kept = batch if self._kept is None else batch.filter(self._kept[seen : seen + batch.num_rows])
            seen += batch.num_rows
            columns = [
                kept.column(name) if is_text(kind) else arrow_doubles(kept.column(name)) for name, kind in kinds.items()
            ]
            for start in range(0, kept.num_rows, rows):
                yield [column[start : start + rows] for column in columns]
        if self._kept is None:
            self.__dict__["rows"] = seen


def open_table(data: Any, box: Box, unit: Unit, columns: Columns = None) -> Table:
    """Open the data and check the schema; records are cleaned, and those of a file read, when they are asked for.

    To find each person's first rows, the column that tells persons apart is read at once; a file's other columns
    are not.

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
        return _open_path(os.fspath(data), declared, needed, unit)
    if isinstance(data, Csv):
        return _open_path(data, declared, needed, unit)
    if isinstance(data, tuple):
        return _open_pair(data, box.names, unit)
    if isinstance(data, np.ndarray):
        return _open_array(data, box.names, unit)
    return _open_frame(_as_frame(data), declared, needed, unit)


def _as_frame(data: Any) -> Any:
    """Whatever narwhals knows, or hands its records on as a stream of Arrow's (the result of a query, for one)."""
    try:
        return nw.from_native(tabular(data), eager_only=True)
    except nw.exceptions.DuplicateError:
        raise SchemaError("two columns of the data have the same name") from None
    except TypeError:
        if hasattr(type(data), "__arrow_c_stream__") and not nw.dependencies.is_into_series(data):
            return _as_frame(_read_stream(data))
        raise ParameterTypeError(
            "data must be a numpy array, an (X, y) pair, a pandas, polars or pyarrow table, anything else with "
            f"__arrow_c_stream__, a path to CSV or Parquet, or an sf.Csv, got {type(data).__name__}"
        ) from None


def _read_stream(data: Any) -> Any:
    import pyarrow as pa

    try:
        return pa.table(data)
    except Exception as error:  # what a query says when it fails may hold values of records
        raise SchemaError(
            f"{type(data).__name__}: its stream cannot be read as a table ({type(error).__name__})"
        ) from None


def _open_path(path: str | Csv, declared: Mapping[str, Column], needed: Sequence[str], unit: Unit) -> Table:
    file = open_file(path)
    check_header(file, [*needed, str(unit.column)] if isinstance(unit, Person) else needed)
    _check_names(needed, file.names)
    file.check(declared)
    if not isinstance(unit, Person):
        return FileTable(file, declared)
    column = _person_column(unit, file.names)
    if isinstance(file, ParquetFile):
        check_pickable(file.schema)
    whole = itertools.chain.from_iterable(map(arrow_identifiers, file.stored(column)))
    return FileTable(file, declared, unit.rows_kept(whole))


def _open_frame(frame: Any, declared: Mapping[str, Column], needed: Sequence[str], unit: Unit) -> Table:
    _check_names(needed, frame.columns)
    frame = _without_views(frame)
    if isinstance(unit, Person):  # before cleaning, which could make two identifiers one
        column = _person_column(unit, frame.columns)
        frame = _picked(frame, unit.rows_kept(identifiers(frame[column])))
    return FrameTable(frame, declared)


def _without_views(frame: Any) -> Any:
    """The same frame, in which views of Arrow's are plain columns: by their types, before anybody picks rows."""
    if frame.implementation.is_pyarrow():
        return nw.from_native(without_views(frame.to_native()), eager_only=True)
    if not frame.implementation.is_pandas_like():
        return frame
    import pyarrow as pa

    native = frame.to_native().copy(deep=False)  # the caller's frame stays
    for name in frame.columns:
        if (stored := as_arrow(frame[name])) is not None:
            plain = without_views(pa.table({"made up": stored})).column(0)
            if plain.type != stored.type:
                native[name] = type(native[name].array)(plain)
    return nw.from_native(native, eager_only=True)


def _picked(frame: Any, kept: NDArray[np.bool_]) -> Any:
    """Some rows of a frame; what types its columns have decides whether that can be done, and no value does."""
    if frame.implementation.is_pyarrow():
        check_pickable(frame.to_native().schema)
        return nw.from_native(frame.to_native().filter(kept), eager_only=True)
    stored = {name: array for name in frame.columns if (array := as_arrow(frame[name])) is not None}
    if (
        stored and frame.implementation.is_pandas_like()
    ):  # pandas would put chunks together, which fails for some values
        import pyarrow as pa

        check_pickable(pa.schema([(name, array.type) for name, array in stored.items()]))
        native = frame.to_native()
        picked = {name: native[name].array[kept] for name in stored}  # chunk by chunk
        rest = native.drop(columns=list(stored)).iloc[kept].reset_index(drop=True)
        return nw.from_native(rest.assign(**picked)[list(frame.columns)], eager_only=True)
    return frame.filter(kept.tolist()) if len(frame) else frame  # no rows are no condition, and would be refused


def _check_names(needed: Sequence[str], names: Sequence[str]) -> None:
    missing = [name for name in needed if name not in names]
    if missing:
        raise SchemaError(
            f"the data have no column {missing[0]!r} (they have {list(names)}); name the columns of the data in the "
            "box, or, where the function's inputs are not data columns, in BlackBox(columns=[...])"
        )


def _person_column(unit: Person, names: Sequence[str]) -> str:
    if unit.column not in names:
        raise SchemaError(f"the data have no column {unit.column!r} to tell persons apart: {list(names)}")
    return str(unit.column)


def _open_pair(pair: tuple[Any, ...], names: Sequence[str], unit: Unit) -> Table:
    if len(pair) != 2:
        raise ParameterTypeError(f"a tuple of data must be an (X, y) pair, got {len(pair)} entries")
    first, second = pair
    for name, part in (("X", first), ("y", second)):
        # A list has no type of its own: one value would decide how all others are read.
        if not isinstance(part, np.ndarray) or part.dtype.kind not in "iufbU":
            kind = f"an array of {part.dtype}" if isinstance(part, np.ndarray) else type(part).__name__
            raise ParameterTypeError(f"{name} must be a numpy array of numbers or text, got {kind}")
    if first.ndim == 0 or second.ndim == 0 or len(first) != len(second):
        raise SchemaError("X and y must have as many rows as each other")
    if isinstance(unit, Person):
        raise SchemaError("an (X, y) pair has no column to tell persons apart; pass a table")
    return ArrayTable((_unmasked(first), _unmasked(second)), names)


def _open_array(array: NDArray[Any], names: Sequence[str], unit: Unit) -> Table:
    if array.ndim not in (1, 2) or array.dtype.kind not in "iufb":
        raise SchemaError(f"an array must be 1-D or 2-D real numbers, got {array.ndim}-D, dtype {array.dtype}")
    if isinstance(unit, Person):
        if isinstance(unit.column, str) or array.ndim != 2 or not 0 <= unit.column < array.shape[1]:
            raise SchemaError(f"an array has no column {unit.column!r} to tell persons apart; give its position")
        array = array[unit.rows_kept(_array_identifiers(array, unit.column))]
    return ArrayTable(_unmasked(array), names)


def _array_identifiers(array: NDArray[Any], column: int) -> list[Any]:
    """One column; what is masked is nobody's, whatever number the mask hides."""
    names = np.asarray(array)[:, column].astype(object)
    names[np.ma.getmaskarray(array)[:, column]] = None
    return list(names.tolist())


def _unmasked(array: NDArray[Any]) -> NDArray[Any]:
    """What is masked is missing."""
    if not isinstance(array, np.ma.MaskedArray):
        return array
    text = array.dtype.kind == "U"
    return np.asarray(np.ma.filled(array if text else array_doubles(array), "" if text else np.nan))
