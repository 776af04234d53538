"""What a table holds, as three numbers: rows, and two sums of salted hashes of them, wherever and however it is kept.

Values count as engines read them: a number in text is the number, and what is missing or of no known type is missing.
So a table is the same in pandas, polars, Arrow, files, Dask and Spark, in any order of rows and columns. Nobody's
privacy rests on it; nothing is raised or printed because of a value.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from types import NoneType
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from sfumato.bits import Words, stirred
from sfumato.engines.columns import Coded, array_coded
from sfumato.engines.files import Csv, File, open_file
from sfumato.engines.frames import as_frame, is_arrow_column
from sfumato.engines.tables import NamedTable, open_columns, open_frame
from sfumato.engines.workers import Answer, BatchPart, Owning, guarded
from sfumato.errors import SchemaError
from sfumato.values import as_double, collected, is_mapping, letters, told_by_kind

Column = Callable[[str], Iterable[Coded]]  # the identifiers in a column of some rows, by its name


@dataclass(frozen=True)
class Contents:
    """The names of a table's columns, in order, the number of its rows, and two sums modulo 2**64 over them."""

    names: tuple[str, ...]
    rows: int = 0
    sums: tuple[int, int] = (0, 0)

    def __add__(self, other: Contents) -> Contents:
        if other.names != self.names:
            raise SchemaError("files that are one table must have the same columns")
        first, second = ((a + b) % 2**64 for a, b in zip(self.sums, other.sums, strict=True))
        return Contents(self.names, self.rows + other.rows, (first, second))


def contents(data: Any, salt: bytes) -> Contents:
    """What a table in memory holds, or a file, a folder of Parquet, or a list of files that are one table.

    Parameters
    ----------
    data
        Whatever engines take as data; a path is read as it goes.
    salt
        With which values are hashed, 64 bytes at most.
    """
    paths = data if isinstance(data, list | tuple) and data else [data]
    if all(isinstance(one, str | os.PathLike | Csv) for one in paths):
        found = [_of_file(open_file(one if isinstance(one, Csv) else os.fspath(one)), salt) for one in paths]
        return sum(found[1:], found[0])
    columns, names = _columns_of(collected(data))
    with told_by_kind("the data cannot be read as a table"):
        return _of_rows(columns, names, salt)


def _of_file(file: File, salt: bytes) -> Contents:
    found = Contents(tuple(sorted(file.names)))
    for batch in file.batches(file.names, {}):
        found += _of_rows(BatchPart(batch).coded, file.names, salt)
    return found


def _columns_of(data: Any) -> tuple[Column, list[str]]:
    """The columns of what is a table, and their names, by its type alone; an array's are called by their numbers."""
    if isinstance(data, tuple) and len(data) == 2 and all(isinstance(one, np.ndarray) for one in data):
        first, names = _columns_of(data[0])
        return (lambda name: _of_array(data[1]) if name == "y" else first(name)), [*names, "y"]
    if isinstance(data, np.ndarray):
        matrix = data.reshape(len(data), math.prod(data.shape[1:])) if data.ndim else data.reshape(1, 1)
        return (lambda name: _of_array(matrix[:, int(name)])), [str(k) for k in range(matrix.shape[1])]
    table: NamedTable
    if is_mapping(data):
        table = open_columns({str(name): values for name, values in data.items()})
    elif nw.dependencies.is_into_series(data) or is_arrow_column(data):
        name = getattr(data, "name", None)
        table = open_columns({name if isinstance(name, str) and name else "0": data})
    else:
        table = open_frame(as_frame(data))
    labels = {str(label): label for label in table.names}
    return (lambda name: table.coded(labels[name])), list(labels)


def _of_array(values: NDArray[Any]) -> Iterable[Coded]:
    if values.dtype.kind in "iufbmM":
        return [array_coded(np.ma.getdata(values), np.ma.getmaskarray(values))]
    return open_columns({"": _lettered(values).reshape(-1).tolist()}).coded("")


def _lettered(values: NDArray[Any]) -> NDArray[Any]:
    """The same without numbers that are no letters, in the fields of records, too: Python makes no text of them."""
    if values.dtype.kind == "U":
        return letters(values)
    if not values.dtype.names:
        return values
    plain = values.copy()
    for name in values.dtype.names:
        plain[name] = _lettered(values[name])
    return plain


def _of_rows(columns: Column, names: Sequence[str], salt: bytes) -> Contents:
    """What some rows hold."""
    start = np.uint64(_word(b"row", salt))
    first = second = None
    for name in sorted(names):
        parts = [_words(keys, salt)[places] for keys, places in columns(name)]
        words = np.concatenate([np.empty(0, dtype=np.uint64), *parts])
        first = stirred((start if first is None else first) ^ words)
        second = stirred((~start if second is None else second) ^ words)
    if first is None or second is None:
        return Contents(())
    sums = int(first.sum(dtype=np.uint64)), int(second.sum(dtype=np.uint64))
    return Contents(tuple(sorted(names)), len(first), sums)


def _words(keys: Sequence[Any], salt: bytes) -> Words:
    """A word for each of some identifiers; equal ones have equal words, also numbers and texts that say them."""
    numbers, texts = _parted(keys)
    with np.errstate(all="ignore"):
        bits = np.where(np.isnan(numbers), np.nan, numbers + 0.0).view(np.uint64)
    words = stirred(bits ^ np.uint64(_word(b"number", salt)))
    for place, text in texts.items():
        words[place] = _word(b"text" + text, salt)
    return words


def _parted(keys: Sequence[Any]) -> tuple[NDArray[np.float64], dict[int, bytes]]:
    """Numbers, NaN where there is none, and what is no number, by its place."""
    if {*map(type, keys)} <= {float, int, NoneType}:  # most columns, many times as quickly
        with suppress(OverflowError):
            return np.array(keys, dtype=np.float64), {}
    numbers, texts = np.full(len(keys), np.nan), {}
    for place, key in enumerate(keys):
        found = _plain(key)
        if isinstance(found, bytes):
            texts[place] = found
        else:
            numbers[place] = found
    return numbers, texts


def _word(text: bytes, salt: bytes) -> int:
    return int.from_bytes(blake2b(text, key=salt, digest_size=8).digest(), "little")


def _plain(key: Any) -> float | bytes:
    """An identifier as a number or as bytes; NaN where nobody knows what it is, or nothing is there."""
    if isinstance(key, tuple):
        try:
            return _of_several(key)
        except RecursionError:
            return np.nan
    if not isinstance(key, str | bytes):
        return as_double(key)
    text = key if isinstance(key, bytes) else key.encode("utf-8", "surrogatepass")
    try:
        return float(text) if text else np.nan
    except ValueError:
        return text


def _of_several(key: tuple[Any, ...]) -> bytes:
    if len(key) == 2 and key[0] == "date":
        return str(np.datetime64(key[1], "D")).encode()  # as it is written in a file
    parts = [part if isinstance(part, bytes) else part.hex().encode() for part in map(_plain, key)]
    return b"(%b)" % b",".join(b"%d:%b" % (len(part), part) for part in parts)


# --- on workers -----------------------------------------------------------------------------------------------------


@guarded
def contents_of_parts(parts: Iterable[Owning | Answer], names: Sequence[str], salt: bytes) -> Answer:
    """What some parts of a table hold."""
    found = Contents(tuple(sorted(names)))
    for part in parts:
        if isinstance(part, Answer):
            return part
        found += _of_rows(part.coded, names, salt)
    return Answer(0, found.rows, found.sums)
