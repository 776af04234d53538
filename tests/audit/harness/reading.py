"""Containers: every way in which a table reaches the library, with records that can be changed one at a time.

A container has a schema that no record can change. ``record`` puts usual values into it, ``hostile`` changes some of a
record's cells (in a CSV file: any of its line's bytes) to whatever the schema allows, ``build`` makes the table.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from pyarrow import parquet

from harness.hostile import ANYTHING, ARROW, BYTES, DOUBLES, PANDAS, POLARS, RAW, UNICODE, Kind, some, whole_numbers

NUMBERS: dict[str, tuple[float, float]] = {"x": (0, 10), "w": (-1, 1), "z": (0, 5), "t": (0, 24), "y": (0, 1)}
TEXTS = {"g": ("a", "b", "c"), "c": ("no", "yes"), "note": ("", "remark")}
CODES = (0, 1, 2.5)  # categories that are numbers
WHO = "who"
LABEL = "label"  # of a row, in a data frame that has labels
Record = Any


def usual(rng: Random, name: str, person: int) -> Any:
    """A value that the column is meant for; persons have numbers."""
    if name in NUMBERS:
        return rng.uniform(*NUMBERS[name])
    return person if name in (WHO, LABEL) else rng.choice(CODES if name == "k" else TEXTS[name])


def base_of(name: str) -> str:
    """Whether a column holds numbers or text; None where it may hold anything."""
    return "number" if name in NUMBERS or name == "k" else "text" if name in ("g", "c") else "any"


class Container:
    """A way in; ``columns`` are its names, in order."""

    name: str
    columns: tuple[str, ...]

    def record(self, values: Mapping[str, Any]) -> Record:
        """Usual values as this container stores them."""
        raise NotImplementedError

    def hostile(self, rng: Random, record: Record) -> Record:
        """The record with some of its cells changed to anything, but for the one that says whose it is."""
        raise NotImplementedError

    def owned(self, rng: Random, records: Sequence[Record]) -> list[Record]:
        """The records of one person, under another and hostile name."""
        raise NotImplementedError

    def build(self, records: Sequence[Record]) -> Any:
        """The table."""
        raise NotImplementedError


@dataclass(frozen=True)
class Frame(Container):
    """A table in memory, or a Parquet file: named columns, each with a type."""

    name: str
    columns: tuple[str, ...]
    kinds: tuple[Kind, ...]
    put: Callable[[dict[str, Any]], Any]

    def record(self, values: Mapping[str, Any]) -> Record:
        return tuple(self._stored(k, n, values[n]) for n, k in zip(self.columns, self.kinds, strict=True))

    @staticmethod
    def _stored(kind: Kind, name: str, value: Any) -> Any:
        if base_of(name) != "any":
            return kind.stored(value)
        who = value if name in (WHO, LABEL) else 0
        return kind.stored(100 + who if kind.base == "number" else f"p{who}")

    def hostile(self, rng: Random, record: Record) -> Record:
        free = [i for i, name in enumerate(self.columns) if name != WHO]
        chosen = set(rng.sample(free, rng.randint(1, len(free))))
        return tuple(k.hostile(rng) if i in chosen else record[i] for i, k in enumerate(self.kinds))

    def owned(self, rng: Random, records: Sequence[Record]) -> list[Record]:
        place = self.columns.index(WHO)
        name = self.kinds[place].hostile(rng)
        return [(*record[:place], name, *record[place + 1 :]) for record in records]

    def build(self, records: Sequence[Record]) -> Any:
        cells = zip(*records, strict=True) if records else [()] * len(self.columns)
        columns = zip(self.columns, self.kinds, cells, strict=True)
        return self.put({name: kind.column(list(values)) for name, kind, values in columns})

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(f'{n}: {k!r}' for n, k in zip(self.columns, self.kinds, strict=True))})"


def _chosen_kinds(rng: Random, columns: Sequence[str], kinds: Sequence[Kind]) -> tuple[Kind, ...]:
    found = []
    for name in columns:
        base = base_of(name)
        if base == "any":  # two values are too few to tell persons apart
            fitting = [kind for kind in kinds if "bool" not in kind.name.lower()]
        else:
            fitting = [kind for kind in kinds if kind.declared and kind.base == base]
        # the most usual type of all is the first
        found.append(fitting[0] if base == "number" and rng.random() < 0.4 else rng.choice(fitting))
    return tuple(found)


def arrow_table(rng: Random, columns: tuple[str, ...], folder: str) -> Container:
    def in_chunks(cells: dict[str, Any]) -> pa.Table:
        whole = pa.table(cells)
        return pa.concat_tables([whole.slice(0, 2), whole.slice(2)])

    return Frame("arrow", columns, _chosen_kinds(rng, columns, ARROW), rng.choice([pa.table, in_chunks]))


def _labelled(cells: dict[str, Any]) -> pd.DataFrame:
    labels = cells.pop(LABEL)
    return pd.DataFrame(cells).set_axis(pd.Index(labels), axis=0)


def pandas_frame(rng: Random, columns: tuple[str, ...], folder: str) -> Container:
    if rng.random() < 0.7:
        return Frame("pandas", columns, _chosen_kinds(rng, columns, PANDAS), pd.DataFrame)
    columns = (*columns, LABEL)  # rows have labels, which may be anything and need not differ
    return Frame("pandas", columns, _chosen_kinds(rng, columns, PANDAS), _labelled)


def polars_frame(rng: Random, columns: tuple[str, ...], folder: str) -> Container:
    def in_chunks(cells: dict[str, Any]) -> pl.DataFrame:
        whole = pl.DataFrame(cells)
        return pl.concat([whole[:2], whole[2:]], rechunk=False)

    kinds = _chosen_kinds(rng, columns, POLARS)
    whole = any(kind.name == "Object" for kind in kinds) or rng.random() < 0.5
    return Frame("polars", columns, kinds, pl.DataFrame if whole else in_chunks)


def polars_lazy(rng: Random, columns: tuple[str, ...], folder: str) -> Container:
    return Frame("polars lazy", columns, _chosen_kinds(rng, columns, POLARS), lambda cells: pl.LazyFrame(cells))


def parquet_file(rng: Random, columns: tuple[str, ...], folder: str) -> Container:
    path, rows = os.path.join(folder, "table.parquet"), rng.choice([1, 3, 100])

    def put(cells: dict[str, Any]) -> str:
        parquet.write_table(pa.table(cells), path, row_group_size=rows, store_schema=True)
        return path

    kinds = [kind for kind in ARROW if kind.name not in ("duration[s]", "timestamp[s]", "date64")]  # Parquet has no such
    return Frame("parquet", columns, _chosen_kinds(rng, columns, kinds), put)


# --- arrays and lists -------------------------------------------------------------------------------------------

_WIDTHS = {"i": (64, True), "u": (8, False)}
_MASKED = 17.0  # stands for a value that a mask hides


@dataclass(frozen=True)
class Matrix(Container):
    """An array of numbers, or an (X, y) pair of arrays if there is a response."""

    columns: tuple[str, ...]
    dtype: str
    response: str | None = None
    labels: str = "float64"  # the type of y
    name: str = "array"

    def record(self, values: Mapping[str, Any]) -> Record:
        cells = [values[n] for n in self.columns if n != self.response]
        return tuple(cells if self.dtype == "O" else map(float, cells)), values.get(self.response or "")

    def _number(self, rng: Random, dtype: str) -> Any:
        kind = np.dtype(dtype).kind
        if kind in "iu":
            return whole_numbers(*_WIDTHS[kind])(rng)
        if self.name == "masked" and rng.random() < 0.3:
            return _MASKED
        if dtype == "longdouble" and rng.random() < 0.3:
            return np.longdouble("-1e4000")
        return rng.random() < 0.5 if kind == "b" else ANYTHING(rng) if kind == "O" else DOUBLES(rng)

    def hostile(self, rng: Random, record: Record) -> Record:
        cells = tuple(self._number(rng, self.dtype) if rng.random() < 0.6 else cell for cell in record[0])
        if self.response is None or rng.random() < 0.4:
            return cells, record[1]
        return cells, UNICODE(rng)[:16] if self.labels == "U16" else self._number(rng, self.labels)

    def build(self, records: Sequence[Record]) -> Any:
        features = [name for name in self.columns if name != self.response]
        matrix = _filled((len(records), len(features)), self.dtype, [record[0] for record in records])
        if self.name == "structured":
            matrix = np.array([tuple(map(_double, row)) for row in matrix], dtype=[(n, "f8") for n in features])
        elif self.name == "masked":
            matrix = np.ma.masked_equal(matrix, _MASKED)
        elif self.name == "fortran":
            matrix = np.asfortranarray(matrix)[::1]
        if self.response is None:
            return matrix
        return matrix, _filled((len(records),), self.labels, [record[1] for record in records])

    def __repr__(self) -> str:
        return f"{self.name}({self.dtype}, {', '.join(self.columns)})" + (f", y {self.labels}" if self.response else "")


def _double(value: Any) -> float:
    return value if isinstance(value, float) else 0.0


def _filled(shape: tuple[int, ...], dtype: str, rows: Sequence[Any]) -> Any:
    """An array of a type, cell by cell."""
    array = np.zeros(shape, dtype=dtype)
    with np.errstate(all="ignore"):
        for place, row in enumerate(rows):
            if len(shape) == 1:
                array[place] = row
            else:
                for i, cell in enumerate(row):
                    array[place, i] = cell
    return array


def matrix(rng: Random, columns: tuple[str, ...], folder: str, response: str | None = None) -> Container:
    dtype = rng.choice(["float64", "float64", ">f8", "float32", "float16", "int64", "uint8", "bool", "longdouble"])
    labels = "U16" if response is not None and base_of(response) == "text" else rng.choice(["float64", "int64"])
    return Matrix(columns, dtype, response, labels, rng.choice(["array", "array", "fortran", "masked"]))


def objects(rng: Random, columns: tuple[str, ...], folder: str, response: str | None = None) -> Container:
    return Matrix(columns, "O", response, "O", rng.choice(["objects", "structured"]))


@dataclass(frozen=True)
class Rows(Container):
    """Lists: rows of X, and y. A cell may be anything, and so may a row."""

    columns: tuple[str, ...]
    response: str | None
    array: bool = False  # whether y is an array of objects
    name: str = "lists"

    def record(self, values: Mapping[str, Any]) -> Record:
        return [values[n] for n in self.columns if n != self.response], values.get(self.response or "")

    def hostile(self, rng: Random, record: Record) -> Record:
        row = [ANYTHING(rng) if rng.random() < 0.5 else cell for cell in record[0]]
        if rng.random() < 0.1:  # too short, too long, or no row at all
            row = rng.choice([row[:-1], [*row, 0.5], [], ANYTHING(rng)])
        return row, ANYTHING(rng) if self.response is not None and rng.random() < 0.5 else record[1]

    def build(self, records: Sequence[Record]) -> Any:
        rows, response = [record[0] for record in records], [record[1] for record in records]
        if self.response is None:
            return rows
        return rows, _filled((len(response),), "O", response) if self.array else response

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(self.columns)})"


def lists(rng: Random, columns: tuple[str, ...], folder: str, response: str | None = None) -> Container:
    return Rows(columns, response, rng.random() < 0.3)


@dataclass(frozen=True)
class Numbers(Container):
    """A vector of statistics that a caller has computed, for ``sf.noise`` and ``sf.select``: each entry is a record."""

    columns: tuple[str, ...]
    form: str
    name: str = "numbers"

    def record(self, values: Mapping[str, Any]) -> Record:
        value = values[self.columns[0]]
        return int(value) if self.form in ("whole list", "int64") else value

    def hostile(self, rng: Random, record: Record) -> Record:
        if self.form == "int64":
            return whole_numbers(64)(rng)
        value = DOUBLES(rng) if self.form == "float64" else ANYTHING(rng)
        return record if self.form == "scalar" and several(value) else value

    def build(self, records: Sequence[Record]) -> Any:
        if self.form == "scalar":
            return records[0]
        if self.form in ("int64", "float64", "O"):
            return _filled((len(records),), self.form, records)
        return tuple(records) if self.form == "tuple" else list(records)

    def __repr__(self) -> str:
        return f"numbers({self.form})"


def several(value: Any) -> bool:
    """Whether a value is a list or an array of values: how many there are is public."""
    sequence = isinstance(value, Sequence | set | frozenset) and not isinstance(value, str | bytes | bytearray)
    return sequence or (isinstance(value, np.ndarray) and value.ndim > 0)


def numbers(rng: Random, columns: tuple[str, ...], folder: str) -> Container:
    return Numbers(columns, rng.choice(["list", "whole list", "tuple", "scalar", "O", "int64", "float64"]))


# --- CSV --------------------------------------------------------------------------------------------------------

_CELLS = (
    *BYTES,
    *(b'"', b'""', b'"a', b'a"', b'"a"b', b'"a""b"', b'""a', b"'", b'"a,b"', b'"\x00"', b"\\", b"\\n", b"1e400", b"-1e400"),
    *(b" 1", b"1 ", b"+1", b"1.", b".5", b"1e5", b"0x1", b"1_0", b"inf", b"NaN", b"null", b"NA", b"N/A", b"true", b"\t1"),
    *(b"1,5", b"1;5", b"\xc2\xa01", b"\xd9\xa1", b"1\x00", b"#", b"--", b"9" * 400, b"1e-400", b"\xef\xbb\xbf1", b"\x1a"),
    *(b"\r", b"a\rb", b'"a\rb"', b"1\r"),
)


@dataclass(frozen=True)
class Csv(Container):
    """The bytes of a CSV file; a record is a line without its end."""

    columns: tuple[str, ...]
    path: str
    newline: bytes = b"\n"
    mark: bytes = b""
    quoted: bool = False
    ended: bool = True  # whether the last line ends
    name: str = "csv"

    @property
    def comma(self) -> bytes:
        return b"\t" if ".tsv" in self.path else b","

    def _cell(self, value: Any) -> bytes:
        text = str(value).encode()
        return b'"' + text.replace(b'"', b'""') + b'"' if self.quoted else text

    def record(self, values: Mapping[str, Any]) -> Record:
        return self.comma.join(self._cell(f"p{values[n]}" if n == WHO else values[n]) for n in self.columns)

    def hostile(self, rng: Random, record: Record) -> Record:
        cells = record.split(self.comma)
        free = [i for i, name in enumerate(self.columns) if name != WHO and i < len(cells)]
        for i in rng.sample(free, rng.randint(1, len(free))) if free else ():
            cells[i] = some(_CELLS, RAW)(rng)
        line = self.comma.join(cells)
        if WHO not in self.columns and rng.random() < 0.5:  # elsewhere it could say that it is somebody else's
            line = self._torn(rng, record, line)
        return line.replace(b"\n", b"")

    def _torn(self, rng: Random, record: bytes, line: bytes) -> bytes:
        place = rng.randrange(len(line) + 1)
        return rng.choice(
            [
                lambda: line[:place],
                lambda: line[place:],
                lambda: line[:place] + b'"' + line[place:],
                lambda: line[:place] + self.comma + line[place:],
                lambda: line[:place] + RAW(rng) + line[place:],
                lambda: line + self.comma,
                lambda: self.comma * rng.randrange(12),
                lambda: b"",
                lambda: b'"' * rng.randrange(1, 5),
                lambda: b" ",
                lambda: rng.randbytes(rng.randrange(40)),
                lambda: self.comma.join(name.encode() for name in self.columns),
                lambda: b'"' + record,
                lambda: record + b'"',
                lambda: record + b"\x00",
            ]
        )()

    def owned(self, rng: Random, records: Sequence[Record]) -> list[Record]:
        place = self.columns.index(WHO)
        name = some(_CELLS, RAW)(rng).replace(b"\n", b"").replace(self.comma, b"")
        found = []
        for record in records:
            cells = record.split(self.comma)
            cells[place : place + 1] = [name]
            found.append(self.comma.join(cells))
        return found

    def build(self, records: Sequence[Record]) -> str:
        lines = [self.comma.join(name.encode() for name in self.columns), *records]
        content = self.mark + self.newline.join(lines)
        content += self.newline if self.ended or not records or not records[-1] else b""  # an empty line must end
        with open(self.path, "wb") as file:
            file.write(gzip.compress(content, 1) if self.path.endswith(".gz") else content)
        return self.path

    def __repr__(self) -> str:
        parts = (os.path.basename(self.path), self.newline, self.mark, "quoted" * self.quoted, "ended" * self.ended)
        return f"csv({','.join(self.columns)}; {', '.join(map(str, parts))})"


def csv_file(rng: Random, columns: tuple[str, ...], folder: str) -> Container:
    path = os.path.join(folder, "table" + rng.choice([".csv", ".csv", ".csv", ".tsv", ".csv.gz"]))
    newline, mark = rng.choice([b"\n", b"\n", b"\r\n"]), rng.choice([b"", b"", b"\xef\xbb\xbf"])
    return Csv(columns, path, newline, mark, rng.random() < 0.3, rng.random() < 0.7)


@dataclass(frozen=True)
class Headless(Csv):
    """A CSV file that begins with a record: it is refused, and nothing in the refusal is that record's."""

    name: str = "csv without a header"

    def hostile(self, rng: Random, record: Record) -> Record:
        return self.record({name: usual(rng, name, rng.randrange(100)) for name in self.columns})

    def build(self, records: Sequence[Record]) -> str:
        with open(self.path, "wb") as file:
            file.write(b"".join(record + self.newline for record in records))
        return self.path


def headless_file(rng: Random, columns: tuple[str, ...], folder: str) -> Container:
    return Headless(columns, os.path.join(folder, "table.csv"), quoted=rng.random() < 0.3)


TABLES = {
    "csv": csv_file,
    "arrow": arrow_table,
    "pandas": pandas_frame,
    "polars": polars_frame,
    "parquet": parquet_file,
    "polars lazy": polars_lazy,
    "csv without a header": headless_file,
}
ARRAYS = {"array": matrix, "objects": objects}
ROWS = {"lists": lists}
