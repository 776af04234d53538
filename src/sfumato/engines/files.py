"""CSV and Parquet files as streams of pyarrow record batches: opening one reads its schema only.

A CSV file has no types, and inferring them lets one record change how all others are read ("01" and "1" are one
number but two texts). So nothing is inferred: declared numeric columns are read as numbers cell by cell, every other
column stays text.
"""

from __future__ import annotations

import csv
import gzip
import inspect
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from sfumato.checks import shown
from sfumato.core.box import Categorical, Column, Date
from sfumato.engines.lines import Layout
from sfumato.engines.offsets import is_narrow, wide_metadata
from sfumato.errors import MissingFileError, ParameterError, ParameterTypeError, SchemaError

# What counts as a number in a CSV cell. Python's float() would also take "1_000" and "infinity".
_NUMBER = r"^[ \t]*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?[ \t]*$"
_ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
_LONGEST_HEADER = 2**20  # bytes
_WELL_QUOTED = "quoted cells may span lines: every record closes the quotes that it opens"
_BATCH = 2**17  # rows of a Parquet file at a time: they stay in the processor's cache


class File(Protocol):
    """A file of records that has been opened but not read."""

    path: str
    names: list[str]
    assumptions: tuple[str, ...]  # what reading each record alone rests on

    def check(self, declared: Mapping[str, Column]) -> None:
        """Refuse declared columns that hold the wrong type; no record is read."""
        ...

    def whole(self, declared: Mapping[str, Column]) -> Any:
        """All columns and records as one pyarrow table."""
        ...

    def empty(self, declared: Mapping[str, Column]) -> Any:
        """The same table without records, of which none is read."""
        ...

    def batches(self, names: Sequence[str], declared: Mapping[str, Column]) -> Iterator[Any]:
        """Record batches of some columns, of any number of rows, in the order of the file."""
        ...

    def stored(self, name: str) -> Iterator[Any]:
        """Arrays of one column as it stands in the file, not converted: different values stay different."""
        ...

    def rows(self) -> int:
        """The number of records."""
        ...


def open_file(data: str | Csv) -> File:
    """Open a file; what cannot be opened or is not a table at all raises ``SchemaError``."""
    if isinstance(data, Csv):
        return CsvFile(data.path, data.multiline)
    path = _one_line(data)
    if path.lower().endswith((".parquet", ".pq")):
        return ParquetFile(path)
    if path.lower().endswith(_ENDINGS):
        return CsvFile(path)
    raise SchemaError(f"{path}: the name must end in .parquet, {' or '.join(_ENDINGS)}")


def check_header(file: File, needed: Iterable[str]) -> None:
    """Refuse a CSV file whose first line has none of the names that are needed; those of other files are no records.

    It may be a record, and any of them: so one sentence is said of all such lines, and none of them shown.
    """
    wanted = list(needed)
    if isinstance(file, CsvFile) and not (set(wanted) & set(file.names) if wanted else file.names):
        columns = f" ({', '.join(map(repr, wanted))})" if wanted else ""
        raise SchemaError(
            f"{file.path}: the first line must name the columns that are needed{columns}, each once; what it holds "
            "instead is not shown, as it may be a record"
        )


def _one_line(path: str) -> str:
    if "\n" in path:  # the text of a table, it seems, which no error may show
        raise SchemaError("data must be a path to CSV or Parquet, got text of several lines")
    return path


@contextmanager
def _readable(path: str) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except FileNotFoundError:
        raise MissingFileError(f"{path}: there is no such file") from None
    except (OSError, EOFError, zlib.error, pa.ArrowException) as error:
        raise SchemaError(f"{path}: cannot be read as a table ({type(error).__name__})") from None


def ahead(batches: Iterator[Any]) -> Iterator[Any]:
    """The same batches; while one is being used, another thread makes the next."""
    with ThreadPoolExecutor(1) as reader:
        coming = reader.submit(next, batches, None)
        while (batch := coming.result()) is not None:
            coming = reader.submit(next, batches, None)
            yield batch


class ParquetFile:
    """A Parquet file, or a folder of files that have the same columns; of a file perhaps some row groups only."""

    assumptions: tuple[str, ...] = ()

    def __init__(self, path: str, groups: Sequence[int] | None = None) -> None:
        self.path, self._groups = path, groups
        with _readable(path):
            self._parts = [path] if os.path.isfile(path) else _files_in(path)
            schemas = []
            self._sizes: list[list[int]] = []  # of the row groups of each file
            for part in self._parts:
                with self._open(part) as file:
                    self._check_decimals(file.schema)
                    schemas.append(file.schema_arrow.remove_metadata())
                    every = range(file.metadata.num_row_groups) if groups is None else groups
                    self._sizes.append([file.metadata.row_group(group).num_rows for group in every])
        # Casting one file's values to another's type would succeed or not as the values are.
        if any(schema.names != schemas[0].names or schema.types != schemas[0].types for schema in schemas[1:]):
            raise SchemaError(f"{path}: the files in this folder must have the same columns, of the same types")
        self.schema = schemas[0]
        self.names: list[str] = self.schema.names
        for field in self.schema:
            if _fails_for_some_values(field.type):
                raise self._refusal(field.name, field.type)
        if len(set(self.names)) < len(self.names):
            raise SchemaError(f"{path}: two columns of the data have the same name")

    def _check_decimals(self, schema: Any) -> None:
        """Refuse decimals that are stored as bytes of which Arrow takes so many only, also where it finds none."""
        for column in map(schema.column, range(len(schema))):
            if column.logical_type.type == "DECIMAL" and "BYTE_ARRAY" in column.physical_type:
                known = column.physical_type == "FIXED_LEN_BYTE_ARRAY"  # of any other each value has a length
                if not known or column.length > (16 if column.precision <= 38 else 32):
                    raise self._refusal(column.path, f"decimal in a {column.physical_type}")

    def _refusal(self, name: str, kind: Any) -> SchemaError:
        reason = f"is of type {kind}, which pyarrow reads or not as the values are"
        return SchemaError(f"{self.path}: column {name!r} {reason}; leave it out, or store it as another type")

    def _open(self, part: str) -> Any:
        from pyarrow import parquet

        # Buffering ahead would keep the whole file; the buffer keeps a large row group from being held at once.
        how = {"pre_buffer": False, "buffer_size": 2**18, **_without_dictionaries()}
        file = parquet.ParquetFile(part, **how)
        if not any(map(is_narrow, file.schema_arrow.types)):
            return file
        file.close()
        return parquet.ParquetFile(part, metadata=wide_metadata(part, file.metadata), **how)

    def check(self, declared: Mapping[str, Column]) -> None:
        for name in (name for name in declared if name in self.names):
            kind = self.schema.field(name).type
            if not _FITS[holding(declared[name])](kind):
                raise SchemaError(f"column {name!r} {_WANTED[holding(declared[name])]}; its type is {kind}")

    def whole(self, declared: Mapping[str, Column]) -> Any:
        import pyarrow as pa

        with _readable(self.path):
            tables = []
            for part in self._parts:
                with self._open(part) as file:
                    tables.append(without_views(file.read()))
            return pa.concat_tables(tables)

    def empty(self, declared: Mapping[str, Column]) -> Any:
        return without_views(self.schema.empty_table())

    def batches(self, names: Sequence[str], declared: Mapping[str, Column]) -> Iterator[Any]:
        with _readable(self.path):
            for part in self._parts:
                with self._open(part) as file:
                    batches = file.iter_batches(
                        _BATCH, row_groups=self._groups, columns=list(names), use_threads=len(names) > 1
                    )
                    yield from ahead(map(without_views, batches))

    def stored(self, name: str) -> Iterator[Any]:
        return (batch.column(name) for batch in self.batches([name], {}))

    def rows(self) -> int:
        return sum(map(sum, self._sizes))

    def pieces(self, rows: int) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Each file and some of its row groups, of about so many rows together: what can be read by itself."""
        for part, sizes in zip(self._parts, self._sizes, strict=True):
            groups: list[int] = []
            for group, size in enumerate(sizes):
                if groups and sum(sizes[one] for one in groups) + size > rows:
                    yield part, tuple(groups)
                    groups = []
                groups.append(group)
            yield part, tuple(groups)


def _without_dictionaries() -> dict[str, Any]:
    """How Parquet is read with dictionaries of text as plain text, of which Arrow does not check each value.

    Text and lists have 64-bit offsets then. Empty where pyarrow is too old for it: ``_fails_for_some_values`` refuses
    such columns.
    """
    import pyarrow as pa
    from pyarrow import parquet

    known = {"binary_type", "list_type"} <= {*inspect.signature(parquet.ParquetFile.__init__).parameters}
    return {"binary_type": pa.large_binary(), "list_type": pa.LargeListType} if known else {}


def _fails_for_some_values(kind: Any, required: bool = False) -> bool:
    """Whether Arrow reads some values of a type from Parquet and raises for others, or of a type that it is made of.

    So it does of lists of no values, of dictionaries, in which text must be UTF-8, of a list of fixed length that
    is ``required`` inside something that may be missing, and of nested ones with offsets of 32 bits.
    """
    from pyarrow import types

    kind = getattr(kind, "storage_type", kind)  # of an extension
    if (
        is_narrow(kind)
        or types.is_dictionary(kind)
        or (types.is_fixed_size_list(kind) and (kind.list_size == 0 or required))
    ):
        return True
    parts = map(kind.field, range(kind.num_fields))
    return any(_fails_for_some_values(part.type, not part.nullable) for part in parts)


def _files_in(folder: str) -> list[str]:
    """The files of a folder and of those in it, in order; names that begin with a dot or an underscore are not data.

    Names of folders (``age=30``) are not read: one of them would decide on the type of a column.
    """
    found = []
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name[0] not in "._")
        found += [os.path.join(place, name) for name in names if name[0] not in "._"]
    if not found:
        raise FileNotFoundError(folder)
    return sorted(found)


@dataclass(frozen=True)
class Csv:
    """A CSV file as data, with what has to be declared about it.

    Parameters
    ----------
    path
        The file.
    multiline
        Whether quoted cells may span lines. One quote too many or too few then moves the end of every record after
        it, so the guarantee rests on there being none, and says so.

    >>> Csv("cohort.csv", multiline=True).path
    'cohort.csv'
    """

    path: str
    multiline: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.path, str | os.PathLike):
            raise ParameterTypeError.of("path", f"must be a file's path, got path={shown(self.path)}")
        if not isinstance(self.multiline, bool):
            raise ParameterTypeError.of("multiline", f"must be True or False, got multiline={shown(self.multiline)}")
        object.__setattr__(self, "path", _one_line(os.fspath(self.path)))
        if not self.path.lower().endswith(_ENDINGS):
            raise ParameterError.of("path", f"must end in {' or '.join(_ENDINGS)}, got path={self.path!r}")


class CsvFile:
    """A CSV or TSV file, compressed or not; ``lines.py`` says what its records are."""

    def __init__(self, path: str, multiline: bool = False) -> None:
        self.path = path
        self.assumptions: tuple[str, ...] = (_WELL_QUOTED,) if multiline else ()
        delimiter = "\t" if ".tsv" in path.lower()[-7:] else ","
        with self._open() as file:
            first = file.readline(_LONGEST_HEADER)
        self.names = _header(first, delimiter)
        self._layout = Layout(len(self.names), delimiter.encode(), multiline)

    @contextmanager
    def _open(self) -> Iterator[Any]:
        with _readable(self.path):
            if os.path.exists(self.path) and not os.path.isfile(self.path):
                raise OSError("not a file")  # a pipe would be waited for, and could not be read twice
            with (gzip.open if self.path.lower().endswith(".gz") else open)(self.path, "rb") as file:
                yield file

    def check(self, declared: Mapping[str, Column]) -> None:
        """A CSV file has no types."""

    def whole(self, declared: Mapping[str, Column]) -> Any:
        import pyarrow as pa

        schema = self.empty(declared).schema
        # In one piece: where runs end depends on the length of other records, and a function can see it.
        return pa.Table.from_batches(list(self.batches(self.names, declared)), schema).combine_chunks()

    def empty(self, declared: Mapping[str, Column]) -> Any:
        import pyarrow as pa

        numeric = [name in declared and holding(declared[name]) == "numbers" for name in self.names]
        types = [pa.float64() if number else pa.string() for number in numeric]
        return pa.schema(list(zip(self.names, types, strict=True))).empty_table()

    def batches(self, names: Sequence[str], declared: Mapping[str, Column]) -> Iterator[Any]:
        yield from ahead(self._read(names, declared))

    def stored(self, name: str) -> Iterator[Any]:
        return (self._parsed(run, [name]).column(name) for run, _ in self._runs())

    def rows(self) -> int:
        return sum(count for _, count in self._runs())

    def _runs(self) -> Iterator[tuple[bytes, int]]:
        with self._open() as file:
            file.readline()
            for run in self._layout.runs(file):
                yield self._layout.regular(run)

    def _read(self, names: Sequence[str], declared: Mapping[str, Column]) -> Iterator[Any]:
        import pyarrow as pa

        for run, _ in self._runs():
            for batch in self._parsed(run, names).to_batches():
                texts = {name: _as_text(batch.column(name)) for name in names}
                cells = [
                    _as_numbers(cells) if name in declared and holding(declared[name]) == "numbers" else cells
                    for name, cells in texts.items()
                ]
                yield pa.record_batch(cells, names=list(names))

    def _parsed(self, run: bytes, names: Sequence[str]) -> Any:
        """The cells of some columns as bytes."""
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        return arrow_csv.read_csv(
            pa.BufferReader(run),
            parse_options=arrow_csv.ParseOptions(
                delimiter=self._layout.delimiter.decode(),
                newlines_in_values=self._layout.multiline,
                ignore_empty_lines=False,  # in a table of one column it is a missing value
            ),
            # One block: where the next one began would depend on the length of records.
            read_options=arrow_csv.ReadOptions(column_names=self.names, block_size=len(run) + 1),
            convert_options=arrow_csv.ConvertOptions(
                column_types={name: pa.binary() for name in self.names},
                include_columns=list(names),
                check_utf8=False,
                strings_can_be_null=False,
            ),
        )


def _header(line: bytes, delimiter: str) -> list[str]:
    """The names in a first line; none if it is too long, cannot be read, or has one twice."""
    text = line.decode("utf-8-sig", "replace").rstrip("\r\n")
    try:
        names = next(csv.reader([text], delimiter=delimiter), [])
    except csv.Error:
        return []
    return names if len(set(names)) == len(names) and len(line) < _LONGEST_HEADER else []


def without_views(table: Any) -> Any:
    """A table or batch whose columns Arrow can do everything with: it cannot pick rows of text views."""
    import pyarrow as pa
    from pyarrow import types

    plain = [(types.is_string_view, pa.large_string()), (types.is_binary_view, pa.large_binary())]
    for place, field in enumerate(table.schema):
        for is_view, kind in plain:
            if is_view(field.type):
                table = table.set_column(place, field.name, table.column(place).cast(kind))
    return table


def check_pickable(schema: Any) -> None:
    """Refuse types of which Arrow cannot pick rows: whether any are picked is private."""
    import pyarrow as pa

    for field in schema:
        try:
            if _keeps_others(field.type):
                raise pa.ArrowInvalid
            without_views(pa.table({"made up": pa.nulls(2, field.type)})).filter(pa.array([True, False]))
            if pa.types.is_dictionary(field.type):  # whose entries are picked, too
                pa.nulls(2, field.type.value_type).take(pa.array([0]))
        except pa.ArrowException:
            reason = f"is of type {field.type}, of which rows cannot be picked for sf.Person; leave it out"
            raise SchemaError(f"column {field.name!r} {reason}") from None


def _keeps_others(kind: Any, inside: bool = False) -> bool:
    """Whether what other rows hold stays beside those that are picked: in dictionaries inside, and views of lists."""
    import pyarrow as pa

    if isinstance(kind, pa.BaseExtensionType):
        return _keeps_others(kind.storage_type, inside)
    if "list_view" in str(kind) or (inside and pa.types.is_dictionary(kind)):
        return True
    parts = [kind.value_type] if pa.types.is_dictionary(kind) else [kind.field(i).type for i in range(kind.num_fields)]
    return any(_keeps_others(part, True) for part in parts)


def holds_numbers(kind: Any) -> bool:
    """Whether an Arrow type is one of real numbers."""
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_boolean(kind))


def holds_text(kind: Any) -> bool:
    """Whether an Arrow type is one of text, as it is or in a dictionary."""
    from pyarrow import types

    if types.is_dictionary(kind):  # of views Arrow makes no text
        return str(kind.value_type) in ("string", "large_string")
    return str(kind) in ("string", "large_string", "string_view")


def holds_dates(kind: Any) -> bool:
    """Whether an Arrow type is one of dates or times, or of text, in which they may be written."""
    from pyarrow import types

    return bool(types.is_timestamp(kind) or types.is_date(kind) or holds_text(kind))


def is_text(column: Column) -> bool:
    """Whether a column is one of text categories."""
    return isinstance(column, Categorical) and isinstance(column.categories[0], str)


def holding(column: Column) -> str:
    """What the data must hold for a column: ``numbers``, ``dates`` or ``text``."""
    return "text" if is_text(column) else "dates" if isinstance(column, Date) else "numbers"


_FITS = {"numbers": holds_numbers, "dates": holds_dates, "text": holds_text}
_WANTED = {
    "numbers": "must be numeric or boolean",
    "dates": "must hold dates, times or text",
    "text": "must hold text, as its categories do",
}


def _as_text(cells: Any) -> Any:
    """Bytes as text; bytes that are no text are replaced, cell by cell."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        return pc.cast(cells, pa.string())
    except pa.ArrowException:
        return pa.array([cell.decode("utf-8", "replace") for cell in cells.to_pylist()], pa.string())


def _as_numbers(texts: Any) -> Any:
    """Cells that read as numbers, as doubles; every other cell as missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    fits = pc.match_substring_regex(texts, _NUMBER)
    kept = pc.if_else(fits, texts, pa.scalar(None, pa.string()))
    return pc.cast(pc.utf8_trim_whitespace(kept), pa.float64())
