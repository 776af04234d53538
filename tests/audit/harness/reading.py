"""Containers: every way in which a table reaches the library, with records that can be changed one at a time.

A container has a schema that no record can change. ``record`` puts usual values into it, ``hostile`` changes some of a
record's cells (in a CSV file: any of its line's bytes) to whatever the schema allows, ``build`` makes the table.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from pyarrow import parquet

from harness.behind import ALL_OF_ARROW as ARROW
from harness.hostile import (
    ALIASES,
    ANYTHING,
    DATED,
    DOUBLES,
    PANDAS,
    POLARS,
    PYTHON_TEXT,
    SERIES,
    STORED,
    VALUES,
    Kind,
    dated_bytes,
    nameless,
    whole_numbers,
)

NUMBERS: dict[str, tuple[float, float]] = {"x": (0, 10), "w": (-1, 1), "z": (0, 5), "t": (0, 24), "y": (0, 1)}
TEXTS = {"g": ("a", "b", "c"), "c": ("no", "yes"), "note": ("", "remark")}
CODES = (0, 1, 2.5)  # categories that are numbers
DATES = (19723, 20089)  # of the year 2024, in days
_NOT_IN_PARQUET = ("duration[s]", "timestamp[s]", "date64", "Extension of runs", "dictionary of places")
_NO_DATES = ("category", "Enum")  # which know their texts
_FIRST = 100  # the number of the first person, where names are numbers; 8 bits hold the last one's
WHO = "who"
LABEL = "label"  # of a row, in a data frame that has labels
Record = Any


def person(number: int) -> str:
    """What a person is called, where names are text: nothing that is drawn by chance."""
    return f"person-{number}"


def stranger(draw: Callable[[], Any]) -> Any:
    """A name of nobody who is there: replacing a person by another one who is would change two."""
    name = draw()
    while (type(name) is int or type(name) is float) and _FIRST <= name < _FIRST + 28:
        name = draw()
    return name


def usual(rng: Random, name: str, person: int) -> Any:
    """A value that the column is meant for; persons have numbers."""
    if name in NUMBERS:
        low, high = NUMBERS[name]
        if rng.random() < 0.2:  # where something may happen: a response in the middle of its range is the target 0
            return rng.choice([float(low), (low + high) / 2, float(high)])
        return rng.uniform(low, high)
    if name == "d":
        return rng.randrange(*DATES)
    return person if name in (WHO, LABEL) else rng.choice(CODES if name == "k" else TEXTS[name])


def base_of(name: str) -> str:
    """Whether a column holds numbers, dates or text; None where it may hold anything."""
    if name == "d":
        return "date"
    return "number" if name in NUMBERS or name == "k" else "text" if name in ("g", "c") else "any"


@dataclass(frozen=True)
class Wanted:
    """What a container must hold: columns in any order, the response among them, and, for persons, who they are."""

    columns: tuple[str, ...]
    response: str | None
    persons: bool
    folder: str  # for files
    loose: bool = False  # whether columns of any type are read

    def named(self, rng: Random) -> tuple[str, ...]:
        """The names of a table's columns: all of these, and perhaps one that nobody declared."""
        names = (*self.columns, *([WHO] if self.persons else []), *(["note"] if rng.random() < 0.5 else []))
        return tuple(rng.sample(names, len(names)))


def as_date(days: int) -> np.datetime64:
    """A date that is given as its days."""
    return np.datetime64(days, "D")


def is_dated(kind: Kind) -> bool:
    """Whether a type is one of dates or times."""
    return kind.name.lower().startswith(("date", "timestamp", "object moments"))


class Container:
    """A way in; ``columns`` are its names, in order."""

    name: str
    columns: tuple[str, ...]
    comparable = True  # whether its names tell persons apart
    whole: ClassVar[bool] = False  # whether a function is given it in one piece, whatever it holds

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
        if base_of(name) == "date":
            return kind.stored(value if kind.base == "number" else str(as_date(value)))
        if base_of(name) != "any":
            return kind.stored(value)
        who = value if name in (WHO, LABEL) else 0
        stored = kind.stored(_FIRST + who if kind.base == "number" else person(who))
        # Some names are no UTF-8; not those of the first two, or a table that is refused for it had no other neighbour.
        return stored + b"\xff" if isinstance(stored, bytes) and "fixed" not in kind.name and who > 1 else stored

    def hostile(self, rng: Random, record: Record) -> Record:
        free = [i for i, name in enumerate(self.columns) if name != WHO]
        chosen = set(rng.sample(free, rng.randint(1, len(free))))
        return tuple(self._hostile(rng, i) if i in chosen else record[i] for i in range(len(record)))

    def _hostile(self, rng: Random, place: int) -> Any:
        """Anything; of text in which dates are written, what is nearly one as often."""
        kind, found = self.kinds[place], self.kinds[place].hostile(rng)
        if self.columns[place] != "d" or kind.base != "text" or rng.random() < 0.5:
            return found
        return dated_bytes(rng) if isinstance(kind.stored("a"), bytes) else kind.stored(rng.choice(DATED))

    @property
    def comparable(self) -> bool:  # type: ignore[override]
        return WHO not in self.columns or self.kinds[self.columns.index(WHO)].comparable

    def owned(self, rng: Random, records: Sequence[Record]) -> list[Record]:
        place = self.columns.index(WHO)
        if self.kinds[place].name.lower().startswith("object") and rng.random() < 0.4:  # one name in several forms
            names = [rng.choice(family) for family in [rng.choice(ALIASES)] for _ in records]
        else:
            names = [stranger(lambda: self.kinds[place].hostile(rng))] * len(records)
        pairs = zip(records, names, strict=True)
        return [(*record[:place], name, *record[place + 1 :]) for record, name in pairs]

    def build(self, records: Sequence[Record]) -> Any:
        cells = zip(*records, strict=True) if records else [()] * len(self.columns)
        columns = zip(self.columns, self.kinds, cells, strict=True)
        return self.put({name: kind.column(list(values)) for name, kind, values in columns})

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(f'{n}: {k!r}' for n, k in zip(self.columns, self.kinds, strict=True))})"


def _chosen_kinds(rng: Random, columns: Sequence[str], kinds: Sequence[Kind], loose: bool = False) -> tuple[Kind, ...]:
    found = []
    for name in columns:
        base = base_of(name)
        if base == "date":
            fitting = [kind for kind in kinds if is_dated(kind) and "dictionary" not in kind.name]
            fitting += [kind for kind in kinds if kind.base == "text" and kind.declared and kind.name not in _NO_DATES]
            found.append(rng.choice(fitting))
            continue
        if base == "any" or rng.random() < (
            0.5 if loose else 0.04
        ):  # anything; but two values are too few to tell persons apart
            fitting = [kind for kind in kinds if "bool" not in kind.name.lower() and base in (kind.base, "any")]
        else:
            fitting = [kind for kind in kinds if kind.declared and kind.base == base]
        if name == WHO and rng.random() < 0.3:  # a name has several forms among objects only
            fitting = [kind for kind in fitting if kind.name.lower().startswith("object")] or fitting
        if name == LABEL and rng.random() < 0.5:  # few others are hard to read
            fitting = [kind for kind in kinds if kind.name in ("arrow text", "object")]
        # the most usual type of all is the first
        found.append(fitting[0] if base == "number" and rng.random() < 0.4 else rng.choice(fitting))
    return tuple(found)


def arrow_table(rng: Random, wanted: Wanted) -> Container:
    def in_chunks(cells: dict[str, Any]) -> pa.Table:
        whole = pa.table(cells)
        return pa.concat_tables([whole.slice(0, 2), whole.slice(2)])

    columns = wanted.named(rng)
    return Frame("arrow", columns, _chosen_kinds(rng, columns, ARROW, wanted.loose), rng.choice([pa.table, in_chunks]))


class Stream:
    """Records that come once, in pieces, as the result of a query does."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, schema: Any = None) -> Any:
        return self._table.to_reader(2).__arrow_c_stream__(schema)


def arrow_stream(rng: Random, wanted: Wanted) -> Container:
    columns = wanted.named(rng)
    kinds = _chosen_kinds(rng, columns, ARROW, wanted.loose)
    return Frame("stream", columns, kinds, lambda cells: Stream(pa.table(cells)))


def _labelled(cells: dict[str, Any]) -> pd.DataFrame:
    labels = cells.pop(LABEL)
    return pd.DataFrame(cells).set_axis(pd.Index(labels), axis=0)


def pandas_frame(rng: Random, wanted: Wanted) -> Container:
    columns = wanted.named(rng)
    if rng.random() < 0.7:
        return Frame("pandas", columns, _chosen_kinds(rng, columns, PANDAS, wanted.loose), pd.DataFrame)
    columns = (*columns, LABEL)  # rows have labels, which may be anything and need not differ
    return Frame("pandas", columns, _chosen_kinds(rng, columns, PANDAS, wanted.loose), _labelled)


def polars_frame(rng: Random, wanted: Wanted) -> Container:
    def in_chunks(cells: dict[str, Any]) -> pl.DataFrame:
        whole = pl.DataFrame(cells)
        return pl.concat([whole[:2], whole[2:]], rechunk=False)

    columns = wanted.named(rng)
    kinds = _chosen_kinds(rng, columns, POLARS, wanted.loose)
    whole = any(kind.name == "Object" for kind in kinds) or rng.random() < 0.5
    return Frame("polars", columns, kinds, pl.DataFrame if whole else in_chunks)


def polars_lazy(rng: Random, wanted: Wanted) -> Container:
    columns = wanted.named(rng)
    return Frame("polars lazy", columns, _chosen_kinds(rng, columns, POLARS), pl.LazyFrame)


def columns_dict(rng: Random, wanted: Wanted) -> Container:
    """Columns of several libraries side by side."""
    columns = wanted.named(rng)
    kinds = [_chosen_kinds(rng, [name], rng.choice([VALUES, VALUES, ARROW, PANDAS, POLARS]))[0] for name in columns]
    return Frame("dict", columns, tuple(kinds), dict if rng.random() < 0.7 else _bare)


def _bare(cells: dict[str, Any]) -> dict[str, Any]:
    """Columns of pandas' as the arrays that their series have."""
    return {name: column.array if isinstance(column, pd.Series) else column for name, column in cells.items()}


def one_series(rng: Random, wanted: Wanted) -> Container:
    """A single column where one is wanted, else a dict of them."""
    if len(wanted.columns) > 1 or wanted.persons:
        return columns_dict(rng, wanted)
    kinds = _chosen_kinds(rng, wanted.columns, rng.choice([ARROW, PANDAS, POLARS]))
    return Frame("column", wanted.columns, kinds, lambda cells: next(iter(cells.values())))


def parquet_file(rng: Random, wanted: Wanted) -> Container:
    path, rows = os.path.join(wanted.folder, "table.parquet"), rng.choice([1, 3, 100])
    several = os.path.join(wanted.folder, "tables.parquet")
    os.makedirs(several, exist_ok=True)

    def put(cells: dict[str, Any]) -> str:
        _write(pa.table(cells), path, decimals, rows)
        return path

    def put_several(cells: dict[str, Any]) -> str:
        whole = pa.table(cells)
        for number, part in enumerate([whole.slice(0, 2), whole.slice(2)]):
            _write(part, os.path.join(several, f"{number}.parquet"), decimals)
        return several

    columns, kinds = wanted.named(rng), [kind for kind in ARROW if kind.name not in _NOT_IN_PARQUET]
    chosen = _chosen_kinds(rng, columns, [*kinds, *STORED])
    decimals = [name for name, kind in zip(columns, chosen, strict=True) if kind in STORED]
    return Frame("parquet", columns, chosen, rng.choice([put, put, put_several]))


def _write(table: pa.Table, path: str, decimals: Sequence[str], rows: int | None = None) -> None:
    """A Parquet file, in which some columns of bytes are said to be decimals of ten digits, two after the point."""
    parquet.write_table(table, path, row_group_size=rows, store_schema=not decimals)
    if not decimals:
        return
    with open(path, "rb") as file:
        whole = file.read()
    size = int.from_bytes(whole[-8:-4], "little")
    foot = whole[-8 - size : -8]
    for name in decimals:  # in the compact form of thrift's, after the name
        said = b"\x18" + bytes([len(name)]) + name.encode()
        foot = foot.replace(said, said + bytes([0x25, 0x0A, 0x15, 4, 0x15, 20]), 1)
    with open(path, "wb") as file:
        file.write(whole[: -8 - size] + foot + len(foot).to_bytes(4, "little") + b"PAR1")


# --- arrays and lists -------------------------------------------------------------------------------------------

_WIDTHS = {"i": (64, True), "u": (8, False)}
_MASKED = 17.0  # stands for a value that a mask hides


@dataclass(frozen=True)
class Matrix(Container):
    """An array of numbers, or an (X, y) pair of arrays if there is a response.

    With persons, the first column says who they are.
    """

    columns: tuple[str, ...]
    dtype: str
    response: str | None
    labels: str  # the type of y
    name: str
    persons: bool = False

    def record(self, values: Mapping[str, Any]) -> Record:
        cells = [values[n] for n in self.columns if n not in (self.response, WHO)]
        if self.dtype == "O" and self.columns == ("d",):
            cells = [as_date(values["d"])]
        if self.persons:
            cells[0] = _FIRST + values[WHO]
        if self.dtype.startswith("M8"):
            return tuple(map(as_date, cells)), None
        if self.dtype == "O":
            return tuple(cells), values.get(self.response or "")
        least = 0.0 if np.dtype(self.dtype).kind == "u" else -math.inf
        return tuple(max(least, float(cell)) for cell in cells), values.get(self.response or "")

    def _number(self, rng: Random, dtype: str) -> Any:
        kind = np.dtype(dtype).kind
        if kind == "M":
            return np.datetime64(whole_numbers(64)(rng), dtype[3:-1])
        if self.name == "masked" and rng.random() < 0.3:
            return _MASKED
        if dtype == "longdouble" and rng.random() < 0.3:
            return np.longdouble("-1e4000")
        if kind in "iu":
            return whole_numbers(*_WIDTHS[kind])(rng)
        return rng.random() < 0.5 if kind == "b" else ANYTHING(rng) if kind == "O" else DOUBLES(rng)

    def hostile(self, rng: Random, record: Record) -> Record:
        cells = [self._number(rng, self.dtype) if rng.random() < 0.6 else cell for cell in record[0]]
        if self.persons:
            cells[0] = record[0][0]
        if self.response is None or rng.random() < 0.4:
            return tuple(cells), record[1]
        return tuple(cells), PYTHON_TEXT(rng)[:16] if self.labels == "U16" else self._number(rng, self.labels)

    def owned(self, rng: Random, records: Sequence[Record]) -> list[Record]:
        name = stranger(lambda: self._number(rng, self.dtype))
        return [((name, *cells[1:]), response) for cells, response in records]

    def build(self, records: Sequence[Record]) -> Any:
        features = [name for name in self.columns if name not in (self.response, WHO)]
        matrix = _filled((len(records), len(features)), self.dtype, [record[0] for record in records])
        if self.name == "structured":
            matrix = np.array([tuple(map(_double, row)) for row in matrix], dtype=[(n, "f8") for n in features])
        elif self.name == "masked":
            matrix = np.ma.masked_equal(matrix, _MASKED) if self.dtype[0] != "M" else np.ma.masked_array(matrix)
            matrix.data[np.ma.getmaskarray(matrix)] = _FIRST  # what nobody may see: the number of somebody else
        elif self.name == "fortran":
            matrix = np.asfortranarray(matrix)
        if self.response is None:
            return matrix
        return matrix, _filled((len(records),), self.labels, [record[1] for record in records])

    def __repr__(self) -> str:
        return f"{self.name}({self.dtype}, {', '.join(self.columns)})" + (f", y {self.labels}" if self.response else "")


def _double(value: Any) -> float:
    return value if type(value) is float else 0.0


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


def matrix(rng: Random, wanted: Wanted) -> Container:
    dtypes = ["float64", "float64", ">f8", "float32", "float16", "int64", "longdouble"]
    dtype = rng.choice(dtypes if wanted.persons else [*dtypes, "uint8", "bool"])
    if wanted.columns == ("d",) and not wanted.persons:
        dtype = rng.choice(["M8[s]", "M8[ns]", "M8[D]", "float64"])
    labels = "U16" if wanted.response == "c" else rng.choice(["float64", "int64"])
    name, columns = rng.choice(["array", "array", "fortran", "masked"]), wanted.columns
    return Matrix((*columns, *([WHO] * wanted.persons)), dtype, wanted.response, labels, name, wanted.persons)


@dataclass(frozen=True)
class Texts(Container):
    """An array of text, of which a cell is four numbers, also such as are no letters."""

    columns: tuple[str, ...]
    masked: bool
    name: str = "texts"

    def record(self, values: Mapping[str, Any]) -> Record:
        return tuple(tuple(map(ord, str(values[name])[:4].ljust(4, "\0"))) for name in self.columns)

    def hostile(self, rng: Random, record: Record) -> Record:
        codes = (0, 97, 0xD800, 0xFFFD, 0x10FFFF, 0x110000, 2**31, 2**32 - 1)
        return tuple(tuple(rng.choices(codes, k=4)) if rng.random() < 0.6 else cell for cell in record)

    def build(self, records: Sequence[Record]) -> Any:
        shape = (len(records), len(self.columns))
        array = np.array(records, dtype=np.uint32).reshape(-1).view("U4").reshape(shape)
        array = array[:, 0] if len(self.columns) == 1 else array
        return np.ma.masked_array(array, np.zeros(array.shape, dtype=bool)) if self.masked else array

    def __repr__(self) -> str:
        return f"{'masked ' * self.masked}texts({', '.join(self.columns)})"


def texts(rng: Random, wanted: Wanted) -> Container:
    return Texts(wanted.columns, rng.random() < 0.3)


def objects(rng: Random, wanted: Wanted) -> Container:
    return Matrix(wanted.columns, "O", wanted.response, "O", rng.choice(["objects", "structured"]))


@dataclass(frozen=True)
class Rows(Container):
    """Lists: rows of X, and y. A cell may be anything, and so may a row."""

    columns: tuple[str, ...]
    response: str | None
    array: bool = False  # whether y is an array of objects
    name: str = "lists"

    def record(self, values: Mapping[str, Any]) -> Record:
        row = [as_date(values[n]) if n == "d" else values[n] for n in self.columns if n != self.response]
        return row, values.get(self.response or "")

    def hostile(self, rng: Random, record: Record) -> Record:
        given = record[0] if isinstance(record[0], list) else [0.5]
        row = [ANYTHING(rng) if rng.random() < 0.5 else cell for cell in given]
        if rng.random() < 0.1:  # too short, too long, or no row at all
            row = rng.choice([row[:-1], [*row, 0.5], [], ANYTHING(rng), rng.choice(SERIES)])
        return row, ANYTHING(rng) if self.response is not None and rng.random() < 0.5 else record[1]

    def build(self, records: Sequence[Record]) -> Any:
        rows, response = [record[0] for record in records], [record[1] for record in records]
        if self.response is None:
            return rows
        return rows, _filled((len(response),), "O", response) if self.array else response

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(self.columns)})"


def lists(rng: Random, wanted: Wanted) -> Container:
    return Rows(wanted.columns, wanted.response, rng.random() < 0.3)


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


@dataclass(frozen=True)
class Series(Container):
    """The same as a column of some type."""

    columns: tuple[str, ...]
    kind: Kind
    chunked: bool = False  # of Arrow
    name: str = "series"

    def record(self, values: Mapping[str, Any]) -> Record:
        value = values[self.columns[0]]
        return self.kind.stored(value if self.kind.base == "number" else str(value))

    def hostile(self, rng: Random, record: Record) -> Record:
        return self.kind.hostile(rng)

    def build(self, records: Sequence[Record]) -> Any:
        column = self.kind.column(list(records))
        return pa.chunked_array([column]) if self.chunked and isinstance(column, pa.Array) else column

    def __repr__(self) -> str:
        return f"series({self.kind!r})"


def several(value: Any) -> bool:
    """Whether a value is a list, an array, a column or a frame of values: how many there are is public."""
    columns = (pd.Series, pl.Series, pa.Array, pa.ChunkedArray, pd.DataFrame, pl.DataFrame, pa.Table, pa.RecordBatch)
    if nameless(value):
        return False
    sequence = isinstance(value, Sequence | set | frozenset) and not isinstance(value, str | bytes | bytearray)
    return sequence or isinstance(value, columns) or (isinstance(value, np.ndarray) and value.ndim > 0)


def numbers(rng: Random, wanted: Wanted) -> Container:
    return Numbers(wanted.columns, rng.choice(["list", "whole list", "tuple", "scalar", "O", "int64", "float64"]))


def series(rng: Random, wanted: Wanted) -> Container:
    kinds = [kind for kind in rng.choice([ARROW, PANDAS, POLARS]) if kind.base == "number" or kind.name == "object"]
    if rng.random() < 0.5:  # whole numbers that are no doubles
        kinds = [kind for kind in kinds if kind.name.endswith(("nt64", "nt128", "of numbers"))]
    return Series(wanted.columns, rng.choice(kinds), rng.random() < 0.5)


@dataclass(frozen=True)
class Frames(Container):
    """The same as a frame: each row is a record, and columns are of any types."""

    columns: tuple[str, ...]
    kinds: tuple[Kind, ...]
    put: Callable[[dict[str, Any]], Any]
    name: str = "frames of numbers"

    def record(self, values: Mapping[str, Any]) -> Record:
        value = values[self.columns[0]]
        return tuple(kind.stored(value if kind.base == "number" else "abc"[int(value) % 3]) for kind in self.kinds)

    def hostile(self, rng: Random, record: Record) -> Record:
        pairs = zip(self.kinds, record, strict=True)
        return tuple(kind.hostile(rng) if rng.random() < 0.6 else cell for kind, cell in pairs)

    def build(self, records: Sequence[Record]) -> Any:
        cells = zip(*records, strict=True)
        columns = zip(self.kinds, cells, strict=True)
        return self.put({f"v{place}": kind.column(list(values)) for place, (kind, values) in enumerate(columns)})

    def __repr__(self) -> str:
        return f"frame({', '.join(map(repr, self.kinds))})"


def number_frames(rng: Random, wanted: Wanted) -> Container:
    kinds, put = rng.choice(
        [(ARROW, pa.table), (ARROW, pa.record_batch), (PANDAS, pd.DataFrame), (POLARS, pl.DataFrame)]
    )
    return Frames(wanted.columns, tuple(rng.choices(kinds, k=rng.randint(1, 3))), put)
