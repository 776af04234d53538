"""Any table in: numpy, sparse rows, an (X, y) pair, pandas, polars, pyarrow, a dict, a stream, a path to a file.

Only the schema may raise. Whatever the *values* are, reading succeeds, and each record is read by a rule that
looks at that record alone and leaves it in its place: an error, a type or an order that depends on a value is an unpaid
release (docs/proofs/records.md). A file whose container is damaged cannot be read at all (docs/sharp-edges.md).
"""

from __future__ import annotations

import itertools
import os
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, Self

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from sfumato.checks import did_you_mean, near_miss
from sfumato.core.box import Box, Column
from sfumato.core.neighbours import Person, Unit
from sfumato.engines import frames
from sfumato.engines.columns import (
    Coded,
    array_coded,
    arrow_coded,
    as_arrow,
    check_kind,
    check_values,
    clean_series,
    clean_values,
    coded,
    joined,
    keys,
    read_array,
    read_arrow,
    read_series,
    read_values,
    tabular,
    unmasked,
)
from sfumato.engines.files import (
    Csv,
    File,
    ParquetFile,
    check_header,
    check_pickable,
    holding,
    open_file,
    without_views,
)
from sfumato.engines.persons import rows_kept
from sfumato.engines.sparse import check_sparse, plain_rows, tidy
from sfumato.engines.table import Columns, Schema, Table
from sfumato.errors import ParameterTypeError, SchemaError
from sfumato.values import collected, is_mapping, is_sparse, letters, objects, type_word

Floats = NDArray[np.float64]
Values = list[Any]

_NUMBERS = ("numbers", "dates")  # what an array of numbers may hold: dates as days since 1970


class ArrayTable(Table):
    """An array whose columns have the names of a box, or an ``(X, y)`` pair: y is any column that X does not have."""

    def __init__(self, native: Any, box: Box) -> None:
        super().__init__(native, (native[0] if isinstance(native, tuple) else native).shape[0])
        self._names, self._box = list(box.names), box

    @cached_property
    def native(self) -> Any:  # whatever fit does, the caller's arrays stay
        whole = self._given if isinstance(self._given, tuple) else (self._given,)
        copies = tuple(tidy(part) if is_sparse(part) else part.copy() for part in whole)
        return copies if isinstance(self._given, tuple) else copies[0]

    @property
    def schema(self) -> Schema:
        given = self._given
        empty = tuple(part[:0] for part in given) if isinstance(given, tuple) else given[:0]
        return Schema(empty, dict(zip(self._names, self._box.columns, strict=True)))

    def batches(self, box: Box, rows: int) -> Iterator[Values]:
        kinds = dict(zip(box.names, box.columns, strict=True))
        others = [name for name in box.names if name not in self._names]
        array, y = self._given if isinstance(self._given, tuple) else (self._given, None)
        if others and (y is None or len(others) > 1):
            raise SchemaError(
                f"an array has no column {others[-1]!r}; pass an (X, y) pair, or a table with that column"
            )
        matrix = array if is_sparse(array) else np.asarray(array if array.ndim == 2 else array[:, None])
        if matrix.shape[1:] != (len(self._names),):
            raise SchemaError(f"the box has {len(self._names)} columns, the array has {matrix.shape[1]}")
        wanted = {holding(kinds[name]) for name in box.names if name not in others}
        if not wanted <= ({"dates"} if matrix.dtype.kind in "MU" else {*_NUMBERS}):  # text is never made a number
            raise SchemaError(
                f"the array must hold the columns {tuple(self._names)} as real numbers (datetime64 where all are "
                f"dates), its dtype is {type_word(array.dtype)}"
            )
        places = {name: place for place, name in enumerate(self._names) if name in kinds}
        answers = {name: self._response(y, kinds[name]) for name in others}
        for start in range(0, self.rows, rows):
            end = min(start + rows, self.rows)
            block = plain_rows(matrix, start, end) if is_sparse(matrix) else matrix[start:end]
            columns = {name: block[:, place] for name, place in places.items()}
            columns |= {name: values[start:end] for name, values in answers.items()}
            yield [read_array(columns[name], kind) for name, kind in kinds.items()]

    def _response(self, y: Any, kind: Column) -> NDArray[Any]:
        y = y.reshape(-1) if y.ndim == 2 else y
        wanted = holding(kind)
        if (
            y.ndim != 1
            or len(y) != self.rows
            or wanted not in {"U": ("text",), "M": ("dates",)}.get(y.dtype.kind, _NUMBERS)
        ):
            raise SchemaError(
                f"y must hold one value for each row, {wanted} as declared, got {y.ndim}-D {type_word(y.dtype)}"
            )
        return np.asarray(y)


class NamedTable(Table):
    """A table in memory whose columns have names."""

    @property
    @abstractmethod
    def names(self) -> Sequence[str]:
        """Of the columns."""

    @abstractmethod
    def check(self, name: str, kind: Column) -> None:
        """Refuse a column whose type is not the declared one."""

    @abstractmethod
    def coded(self, name: str) -> Iterable[Coded]:
        """The identifiers in a column."""

    @abstractmethod
    def picked(self, kept: NDArray[np.bool_]) -> Self:
        """Some of the rows."""

    def of_persons(self, unit: Person, kinds: Mapping[str, Column]) -> Self:
        """The same, with the rows that count of each person; they are told apart before anything is cleaned."""
        column = _person_column(unit, self.names)
        hashed = _hashed(kinds, self.names, column, self.check)
        return self.picked(rows_kept(unit, self.coded(column), hashed, self.batches))


class FrameTable(NamedTable):
    """A data frame, of which ``declared`` columns are cleaned when the whole is asked for."""

    def __init__(self, frame: Any, declared: Mapping[str, Column]) -> None:
        super().__init__(frame.to_native(), len(frame))
        self._frame, self._declared = frame, {name: kind for name, kind in declared.items() if name in frame.columns}
        for name, kind in self._declared.items():
            check_kind(frame[name], kind)

    @cached_property
    def native(self) -> Any:
        return self._cleaned(self._frame)

    @property
    def schema(self) -> Schema:
        return Schema(self._cleaned(self._frame[:0]), self._declared)

    @property
    def names(self) -> Sequence[str]:
        return list(self._frame.columns)

    def check(self, name: str, kind: Column) -> None:
        check_kind(self._frame[name], kind)

    def coded(self, name: str) -> Iterable[Coded]:
        return coded(self._frame.get_column(name))  # a label need not be text

    def picked(self, kept: NDArray[np.bool_]) -> FrameTable:
        return FrameTable(_picked(self._frame, kept), self._declared)

    def _cleaned(self, frame: Any) -> Any:
        cleaned = [clean_series(frame[name], kind) for name, kind in self._declared.items()]
        native = (frame.with_columns(*cleaned) if cleaned else frame).to_native()
        # What pandas writes into an Arrow table tells of all rows, also of those that do not count.
        return native.replace_schema_metadata(None) if hasattr(native, "replace_schema_metadata") else native

    def batches(self, box: Box, rows: int) -> Iterator[Values]:
        check_names(box.names, self._frame.columns)
        whole = [self._frame[name] for name in box.names]
        for series, kind in zip(whole, box.columns, strict=True):
            check_kind(series, kind)
        for start in range(0, len(self._frame), rows):
            part = [series[start : start + rows] for series in whole]
            yield [read_series(series, kind) for series, kind in zip(part, box.columns, strict=True)]


class ValuesTable(NamedTable):
    """One column of numpy's, or of a list: then it holds objects, each of which is read by itself."""

    def __init__(self, name: str, values: NDArray[Any], declared: Mapping[str, Column]) -> None:
        super().__init__(values, len(values))
        self._name, self._kind = name, declared.get(name)
        if self._kind is not None:
            check_values(name, values, self._kind)

    @cached_property
    def native(self) -> Any:
        return self._cleaned(self._given)

    @property
    def schema(self) -> Schema:
        return Schema(self._cleaned(self._given[:0]), self._declared)

    @property
    def names(self) -> Sequence[str]:
        return [self._name]

    def check(self, name: str, kind: Column) -> None:
        check_values(name, self._given, kind)

    def coded(self, name: str) -> Iterable[Coded]:
        found = list(keys(self._given))
        return [(found, np.arange(len(found)))]

    def picked(self, kept: NDArray[np.bool_]) -> ValuesTable:
        found = self._given[kept]
        if found.dtype.kind == "U":  # whose length is that of the longest of all
            found = objects(letters(found).tolist())
        return ValuesTable(self._name, found, self._declared)

    @property
    def _declared(self) -> Mapping[str, Column]:
        return {} if self._kind is None else {self._name: self._kind}

    def _cleaned(self, values: NDArray[Any]) -> Any:
        return {self._name: values.copy() if self._kind is None else clean_values(values, self._kind)}

    def batches(self, box: Box, rows: int) -> Iterator[Values]:
        (kind,) = box.columns
        check_values(self._name, self._given, kind)
        for start in range(0, self.rows, rows):
            yield [read_values(self._given[start : start + rows], kind)]


class ColumnsTable(NamedTable):
    """A dict of columns, each of them a table of its own."""

    def __init__(self, columns: Mapping[str, NamedTable]) -> None:
        super().__init__(columns, next(iter(columns.values())).rows)

    def __repr__(self) -> str:
        return "<private table of columns>"

    @cached_property
    def native(self) -> Any:
        return {name: table.native[name] for name, table in self._given.items()}

    @property
    def schema(self) -> Schema:
        found = {name: table.schema for name, table in self._given.items()}
        declared = {name: kind for one in found.values() for name, kind in one.declared.items()}
        return Schema({name: one.empty[name] for name, one in found.items()}, declared)

    @property
    def names(self) -> Sequence[str]:
        return list(self._given)

    def check(self, name: str, kind: Column) -> None:
        self._given[name].check(name, kind)

    def coded(self, name: str) -> Iterable[Coded]:
        return self._given[name].coded(name)  # type: ignore[no-any-return]

    def picked(self, kept: NDArray[np.bool_]) -> ColumnsTable:
        return ColumnsTable({name: table.picked(kept) for name, table in self._given.items()})

    def batches(self, box: Box, rows: int) -> Iterator[Values]:
        check_names(box.names, list(self._given))
        kinds = zip(box.names, box.columns, strict=True)
        parts = [self._given[name].batches(Box({name: kind}), rows) for name, kind in kinds]
        for found in zip(*parts, strict=True):
            yield [values for (values,) in found]


class FileTable(Table):
    """A file, which is read when records are asked for, and only as far as they are.

    ``kept`` says which rows of persons count; it is one byte for each row of the file.
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
        kept = whole if self._kept is None else frames.by_itself(whole.filter(self._kept))
        self.__dict__["rows"] = kept.num_rows  # nobody need count them again
        return FrameTable(nw.from_native(kept, eager_only=True), self._declared).native

    @property
    def schema(self) -> Schema:
        empty = nw.from_native(self._file.empty(self._declared), eager_only=True)
        return FrameTable(empty, self._declared).schema

    def of_persons(self, unit: Person, kinds: Mapping[str, Column]) -> FileTable:
        """The same, with the rows that count of each person."""
        file = self._file
        column = _person_column(unit, file.names)
        if isinstance(file, ParquetFile):
            check_pickable(file.schema)
        hashed = _hashed(kinds, file.names, column, lambda name, kind: file.check({name: kind}))
        return FileTable(file, self._declared, rows_kept(unit, self.coded(column), hashed, self.batches))

    def coded(self, name: str) -> Iterable[Coded]:
        """The identifiers in a column."""
        return itertools.chain.from_iterable(map(arrow_coded, joined(self._file.stored(name))))

    @cached_property
    def rows(self) -> int:
        return self._file.rows() if self._kept is None else int(np.count_nonzero(self._kept))

    def batches(self, box: Box, rows: int) -> Iterator[Values]:
        kinds = dict(zip(box.names, box.columns, strict=True))
        check_names(box.names, self._file.names)
        self._file.check(kinds)
        seen = 0
        for batch in self._file.batches(box.names, kinds):
            kept = batch if self._kept is None else batch.filter(self._kept[seen : seen + batch.num_rows])
            seen += batch.num_rows
            columns = [read_arrow(kept.column(name), kind) for name, kind in kinds.items()]
            for start in range(0, kept.num_rows, rows):
                yield [column[start : start + rows] for column in columns]
        if self._kept is None:
            self.__dict__["rows"] = seen


def open_table(data: Any, box: Box, unit: Unit, columns: Columns = None) -> Table:
    """Open the data and check the schema; records are cleaned, and those of a file read, when they are asked for.

    To find out which rows of each person count, the column that tells persons apart is read at once, and the columns of
    the box and of ``columns`` with bounds if somebody has too many rows.

    ``columns`` are the data columns that must be there: names, or names with bounds as in a box. By default they
    are those of the box. An unnamed box, an array and an ``(X, y)`` pair have no names to check.
    """
    if data is None:
        raise ParameterTypeError("data must be a table, an array or a path, got data=None")
    kinds, declared, needed = declarations(box, columns)
    if isinstance(data, list | tuple) and data and all(isinstance(one, str | os.PathLike | Csv) for one in data):
        raise ParameterTypeError(
            f"a list of {len(data)} paths is read by engine=sf.engines.Dask() (--engine dask), in threads of this "
            "machine, or by sf.engines.Spark(); in memory, data is one path, which may be a folder of Parquet files"
        )
    data = collected(data)
    if isinstance(data, tuple):
        return _open_pair(data, box, unit)
    if isinstance(data, np.ndarray):
        return _open_array(data, box, unit)
    if is_sparse(data):
        check_sparse(data, "data", isinstance(unit, Person))
        return ArrayTable(data, box)
    if isinstance(data, str | os.PathLike | Csv):
        table: FileTable | NamedTable = _open_path(data, declared, needed, unit)
    elif is_mapping(data):
        table = open_columns(data, declared, needed)
    elif nw.dependencies.is_into_series(data) or frames.is_arrow_column(data):
        table = open_columns({frames.name_of(data, box): data}, declared, needed)
    else:
        table = open_frame(frames.as_frame(data), declared, needed)
    return table.of_persons(unit, kinds) if isinstance(unit, Person) else table


def declarations(box: Box, columns: Columns) -> tuple[dict[str, Column], dict[str, Column], list[str]]:
    """All columns with bounds, those of them whose names the data must use, and the names that must be there."""
    kinds = dict(zip(box.names, box.columns, strict=True))
    declared = dict(kinds) if box.named else {}
    needed = list(declared) if columns is None else list(columns)
    if isinstance(columns, Mapping):
        bounded = dict(zip(columns, Box(columns).columns, strict=True))
        declared, kinds = declared | bounded, kinds | bounded
    return kinds, declared, needed


def open_columns(
    given: Mapping[Any, Any], declared: Mapping[str, Column] | None = None, needed: Sequence[str] = ()
) -> ColumnsTable:
    """Columns of one length, each of a type that says how its values are read, or a list of any values."""
    if not given or not all(isinstance(name, str) for name in given):
        raise SchemaError("a dict of columns needs at least one, and names that are text")
    found = {name: _one_column(name, values) for name, values in given.items()}
    if len({len(values) for values in found.values()}) > 1:
        raise SchemaError("the columns of the data must be as long as each other")
    check_names(needed, list(found))
    return ColumnsTable({name: _alone(name, values, declared or {}) for name, values in found.items()})


def _alone(name: str, values: Any, declared: Mapping[str, Column]) -> NamedTable:
    return ValuesTable(name, values, declared) if isinstance(values, np.ndarray) else FrameTable(values, declared)


def _one_column(name: str, values: Any) -> Any:
    """An array of one axis, or a frame of one column."""
    if isinstance(values, list | tuple):
        return objects(values)
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "iufbMUO":
        return frames.without_mask(values)
    try:
        series = nw.from_native(tabular(values), series_only=True)
    except TypeError:
        kind = (
            f"a {values.ndim}-D array of {type_word(values.dtype)}"
            if isinstance(values, np.ndarray)
            else type(values).__name__
        )
        raise SchemaError(f"column {name!r} must be a list, an array of one axis or a series, got {kind}") from None
    return _without_views(series.alias(name).to_frame())


def _open_path(path: Any, declared: Mapping[str, Column], needed: Sequence[str], unit: Unit) -> FileTable:
    file = open_file(path if isinstance(path, Csv) else os.fspath(path))
    check_header(file, [*needed, str(unit.column)] if isinstance(unit, Person) else needed)
    check_names(needed, file.names)
    file.check(declared)
    return FileTable(file, declared)


def open_frame(frame: Any, declared: Mapping[str, Column] | None = None, needed: Sequence[str] = ()) -> FrameTable:
    """A frame, of which some columns are declared."""
    check_names(needed, frame.columns)
    return FrameTable(_without_views(frame), declared or {})


def _hashed(
    kinds: Mapping[str, Column], names: Sequence[str], person: str, check: Callable[[str, Column], None]
) -> dict[str, Column]:
    """The columns by which a person's rows are told apart: those with bounds that the data have, as their types fit."""
    found = {}
    for name, kind in kinds.items():
        if name in names and name != person:
            with suppress(SchemaError):
                check(name, kind)
                found[name] = kind
    return found


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
        return nw.from_native(frames.by_itself(frame.to_native().filter(kept)), eager_only=True)
    if frame.implementation.is_pandas_like():
        return nw.from_native(_picked_of_pandas(frame, kept), eager_only=True)
    if not len(frame):  # no rows are no condition, and would be refused
        return frame
    found = frame.filter(kept.tolist()).to_native()
    return nw.from_native(found.rechunk() if hasattr(found, "rechunk") else found, eager_only=True)


def _picked_of_pandas(frame: Any, kept: NDArray[np.bool_]) -> Any:
    """The same, with labels, and with categories, that do not tell of the other rows."""
    import pyarrow as pa

    stored = {name: array for name in frame.columns if (array := as_arrow(frame[name])) is not None}
    check_pickable(pa.schema([(name, array.type) for name, array in stored.items()]))
    native = frame.to_native()
    picked = {name: native[name].array[kept] for name in stored}  # pandas would put chunks together, and may fail
    for name, array in picked.items():
        if pa.types.is_dictionary(stored[name].type):
            picked[name] = type(array)(frames.used_entries(pa.chunked_array(array.__arrow_array__())))
    rest = native.drop(columns=list(stored)).iloc[kept].reset_index(drop=True)
    for name in rest.columns:
        if hasattr(rest[name].array, "remove_unused_categories"):
            picked[name] = frames.used_categories(rest[name].array)
    for name, array in picked.items():
        rest[name] = array
    return rest[list(frame.columns)]


def check_names(needed: Sequence[str], names: Sequence[str]) -> None:
    """Refuse data that lack a column."""
    missing = [name for name in needed if name not in names]
    if missing:
        raise SchemaError(
            f"the data have no column {missing[0]!r} (they have {list(names)}){near_miss(missing[0], names)}; name "
            "the columns of the data in the box, or, where the function's inputs are not data columns, in "
            "BlackBox(columns=[...])"
        )


def _person_column(unit: Person, names: Sequence[str]) -> str:
    if unit.column not in names:
        near = did_you_mean(unit.column, names)
        raise SchemaError(f"the data have no column {unit.column!r} to tell persons apart: {list(names)}{near}")
    return str(unit.column)


def _open_pair(pair: tuple[Any, ...], box: Box, unit: Unit) -> Table:
    if len(pair) != 2:
        raise ParameterTypeError(f"a tuple of data must be an (X, y) pair, got {len(pair)} entries")
    first, second = pair
    for name, part in (("X", first), ("y", second)):
        # A list has no type of its own: one value would decide how all others are read.
        if name == "X" and is_sparse(part):
            check_sparse(part, "X")
        elif not isinstance(part, np.ndarray) or part.dtype.kind not in "iufbMU":
            kind = f"an array of {type_word(part.dtype)}" if isinstance(part, np.ndarray) else type(part).__name__
            raise ParameterTypeError(f"{name} must be a numpy array of numbers or text, got {kind}")
    if first.ndim == 0 or second.ndim == 0 or first.shape[0] != len(second):
        raise SchemaError("X and y must have as many rows as each other")
    if isinstance(unit, Person):
        raise SchemaError("an (X, y) pair has no column to tell persons apart; pass a table")
    return ArrayTable((unmasked(first), unmasked(second)), box)


def _open_array(array: NDArray[Any], box: Box, unit: Unit) -> Table:
    dates = array.dtype.kind == "M" and all(holding(kind) == "dates" for kind in box.columns)
    if array.ndim not in (1, 2) or not (dates or array.dtype.kind in "iufb"):
        raise SchemaError(
            "an array must be 1-D or 2-D real numbers (datetime64 for a box of dates), "
            f"got {array.ndim}-D, dtype {type_word(array.dtype)}"
        )
    table = ArrayTable(unmasked(array), box)
    if not isinstance(unit, Person):
        return table
    if isinstance(unit.column, str) or array.ndim != 2 or not 0 <= unit.column < array.shape[1]:
        raise SchemaError(f"an array has no column {unit.column!r} to tell persons apart; give its position")
    fits = array.shape[1] == box.dimension and all(holding(kind) in _NUMBERS for kind in box.columns)
    kinds = dict(zip(box.names, box.columns, strict=True)) if fits else {}
    kinds.pop(box.names[unit.column] if fits else "", None)
    names, hidden = np.asarray(array)[:, unit.column], np.ma.getmaskarray(array)[:, unit.column]
    kept = rows_kept(unit, [array_coded(names, hidden)], kinds, table.batches)
    return ArrayTable(unmasked(array[kept]), box)
