"""All that runs on a worker, wherever that is: one part of the records in, whole numbers out, and never an error.

What a worker raises, prints or warns of ends in logs, event logs and the exceptions of other machines, with values of
records in it: a cast that fails names the value. So every function that is sent to workers is ``guarded``: it returns
what it found, or one of a few fixed sentences.
"""

from __future__ import annotations

import hashlib
import os
import struct
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, ParamSpec, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato._version import __version__
from sfumato.bits import GOLDEN, stirred
from sfumato.core.box import Box, Column
from sfumato.engines.cells import positions
from sfumato.engines.columns import Coded, arrow_coded, as_arrow, check_kind, coded
from sfumato.engines.files import Csv, CsvFile, File, ParquetFile, is_text
from sfumato.engines.frames import as_frame
from sfumato.engines.memory import MemoryEngine, MemoryRecords, blocks_of, rows_at_once
from sfumato.engines.passes import Features, Pass, Values
from sfumato.engines.table import Schema, Table
from sfumato.engines.tables import ColumnsTable, FileTable, FrameTable, NamedTable, ValuesTable
from sfumato.engines.totals import Totals
from sfumato.errors import SchemaError
from sfumato.threads import one_thread
from sfumato.values import column

Words = NDArray[np.uint64]
P = ParamSpec("P")

SENTENCES = (
    "",
    "a worker could not read its part of the data as a table with the columns that were there before",
    "a worker ran out of memory",
    "a worker could not finish its part",
    "a worker has other versions than this process",
)
VERSIONS = f"sfumato {__version__} on Python {sys.version_info.major}.{sys.version_info.minor}"
_HEADER = struct.Struct("<BqQQ")  # of an answer in bytes: its sentence, rows, fingerprint
_BLOCK = 16_384  # rows of which a fingerprint is made at a time: they stay in the cache
_SECOND = np.uint64(0xBF58476D1CE4E5B9)


@dataclass(frozen=True, repr=False)
class Answer:
    """What a worker sends back: a sentence's number, or sums in whole numbers, and what they were made of.

    Parameters
    ----------
    trouble
        The place of a sentence among ``SENTENCES``; 0: all went well.
    rows, mark
        How many rows there were, and two sums over them of 64-bit hashes, in which order does not show.
    limbs
        What ``Totals.packed`` has packed; where versions differ, those of the worker.
    """

    trouble: int = 0
    rows: int = 0
    mark: tuple[int, int] = (0, 0)
    limbs: bytes = b""

    def __repr__(self) -> str:
        return "<private sums>"

    def to_bytes(self) -> bytes:
        """The same as bytes."""
        return _HEADER.pack(self.trouble, self.rows, *self.mark) + self.limbs

    @staticmethod
    def from_bytes(given: bytes) -> Answer:
        """What such bytes said."""
        trouble, rows, *mark = _HEADER.unpack_from(given)
        return Answer(trouble, rows, (mark[0], mark[1]), given[_HEADER.size :])


# --- silence --------------------------------------------------------------------------------------------------------


class _Silence:
    """Warnings off and linear algebra on one thread while anybody is inside: both are the process's, not a thread's."""

    def __init__(self) -> None:
        self._lock, self._inside, self._stack = threading.Lock(), 0, ExitStack()

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._stack.enter_context(warnings.catch_warnings())
                self._stack.enter_context(one_thread())
                warnings.simplefilter("ignore")
        try:
            with np.errstate(all="ignore"):
                yield
        finally:
            with self._lock:
                self._inside -= 1
                if not self._inside:
                    self._stack.close()


_silence = _Silence()


class OtherVersionsError(Exception):
    """A worker is asked by a process with other versions: one of them may read what the other has written wrongly."""


def check_versions(asking: str) -> None:
    """Refuse to work for another version of sfumato or Python."""
    if asking != VERSIONS:
        raise OtherVersionsError


def guarded(function: Callable[P, Any]) -> Callable[P, Any]:
    """The same function, which instead of raising anything answers with the number of a sentence."""

    @wraps(function)
    def safe(*args: P.args, **kwargs: P.kwargs) -> Any:
        trouble = 3
        try:
            with _silence():
                return function(*args, **kwargs)
        except (KeyboardInterrupt, SystemExit):  # somebody stops the worker
            trouble = -1
        except SchemaError:
            trouble = 1
        except MemoryError:
            trouble = 2
        except OtherVersionsError:
            return Answer(4, limbs=VERSIONS.encode())
        except BaseException:  # a library may panic with an error that is no Exception
            trouble = 3
        if trouble < 0:
            raise SystemExit(1)  # without what was being done
        return Answer(trouble)

    return safe


def failure(trouble: int) -> BaseException:
    """What is raised, to be caught again, where another worker's sentence arrives."""
    return {1: SchemaError, 2: MemoryError, 4: OtherVersionsError}.get(trouble, RuntimeError)()


# --- parts ----------------------------------------------------------------------------------------------------------


class Part(Protocol):
    """A part of the records, as a worker gets it."""

    def table(self) -> Table:
        """It as a table."""
        ...


class Owning(Part, Protocol):
    """A part in which a column tells persons apart."""

    def coded(self, name: str) -> Iterable[Coded]:
        """The identifiers in a column."""
        ...


@dataclass(frozen=True)
class Piece:
    """Of a file, what one worker reads: public, as it names no record.

    Parameters
    ----------
    data
        The path, or what has to be declared about it.
    groups
        Of a Parquet file, the row groups.
    schema
        The names of its columns, and of a Parquet file their types, as they were when it was opened.
    """

    data: str | Csv
    groups: tuple[int, ...] | None
    schema: tuple[tuple[str, str], ...]

    def table(self) -> FileTable:
        """The part of the file, if it still has the same columns."""
        file = self.file()
        if schema_of(file) != self.schema:
            raise SchemaError("the columns have changed")
        return FileTable(file, {})

    def coded(self, name: str) -> Iterable[Coded]:
        """The identifiers in a column."""
        return self.table().coded(name)

    def mark(self) -> tuple[int, int]:
        """Two words that change with the file: of its length, and of the footer with the statistics of its columns."""
        path, said = str(self.data), hashlib.sha256(repr(self.groups).encode())
        with open(path, "rb") as file:
            length = file.seek(0, os.SEEK_END)
            file.seek(max(0, length - 8))
            footer = int.from_bytes(file.read(4), "little") + 8
            file.seek(max(0, length - footer))
            said.update(length.to_bytes(8, "little") + file.read(footer))
        first, second = struct.unpack("<QQ", said.digest()[:16])
        return first, second

    def file(self) -> File:
        """It, opened."""
        if isinstance(self.data, Csv):
            return CsvFile(self.data.path, self.data.multiline)
        return CsvFile(self.data) if self.groups is None else ParquetFile(self.data, self.groups)


def schema_of(file: File) -> tuple[tuple[str, str], ...]:
    """The names of a file's columns with their types, as far as it has any."""
    if isinstance(file, ParquetFile):
        return tuple((field.name, str(field.type)) for field in file.schema)
    return tuple((name, "") for name in file.names)


@dataclass(frozen=True, repr=False)
class FramePart:
    """A frame of pandas' that is one partition of a larger one.

    Its types need not be those of the whole: one missing value makes doubles of whole numbers, one text objects of
    doubles. So where a type does not fit, each value is read by itself, as it would be among objects.
    """

    frame: Any
    kinds: Mapping[str, Column]

    def table(self) -> ColumnsTable:
        """Its columns, each by itself."""
        frame = as_frame(self.frame)
        missing = [name for name in self.kinds if name not in frame.columns]
        if missing:
            raise SchemaError("a partition has not the columns of the frame")
        return ColumnsTable({name: self._column(frame, name, kind) for name, kind in self.kinds.items()})

    def coded(self, name: str) -> Iterable[Coded]:
        """The identifiers in a column, as those of objects: in another part that is what there may be."""
        series = as_frame(self.frame)[name]
        stored = as_arrow(series)
        if stored is None or "binary" not in str(stored.type):
            return coded(series)
        return (([_as_object(key) for key in keys], places) for keys, places in coded(series))

    def _column(self, frame: Any, name: str, kind: Column) -> NamedTable:
        try:
            check_kind(frame[name], kind)
        except SchemaError:
            values = column(frame[name].to_native())
            if values.dtype.kind in "mM":  # of nanoseconds numpy would make whole numbers: among objects they are none
                values = np.full(len(values), None)
            return ValuesTable(name, values.astype(object), {})
        return FrameTable(frame.select(name), {})


def _as_object(key: Any) -> Any:
    """Bytes of which Arrow's columns make text to compare them."""
    return key.encode("utf-8", "surrogateescape") if type(key) is str else key


class Stream:
    """Record batches of Arrow's that come once, as a file that is being read."""

    path, assumptions = "", ()

    def __init__(self, batches: Iterable[Any], names: Iterable[str]) -> None:
        self._batches, self.names = batches, list(names)

    def table(self) -> FileTable:
        """Its records."""
        return FileTable(self, {})  # type: ignore[arg-type]

    def check(self, declared: Mapping[str, Column]) -> None:
        """The schema was checked before anything was sent."""

    def batches(self, names: Any, declared: Any) -> Iterator[Any]:
        yield from self._batches


@dataclass(frozen=True, repr=False)
class BatchPart:
    """One record batch."""

    batch: Any

    def table(self) -> FileTable:
        """Its records."""
        return Stream([self.batch], self.batch.schema.names).table()

    def coded(self, name: str) -> Iterable[Coded]:
        """The identifiers in a column."""
        return arrow_coded(self.batch.column(name))


# --- fingerprints ---------------------------------------------------------------------------------------------------


@dataclass
class Fingerprint:
    """How many records were seen, and two sums modulo 2**64 of hashes of what was read of each: in any order the same.

    Two passes over the same records have the same ones; over records of which one has changed, only by an accident of
    about one in 2**64.
    """

    rows: int = 0
    sums: list[int] = field(default_factory=lambda: [0, 0])

    def columns(self, values: Values, box: Box) -> None:
        """See some records, as a pass reads them."""
        words = [_bits(one, kind) for one, kind in zip(values, box.columns, strict=True)]
        self.rows += len(words[0])
        for start in range(0, len(words[0]), _BLOCK):
            part = [one[start : start + _BLOCK].byteswap() for one in words]  # what differs most comes lowest
            mixed = part[0]
            for one in part[1:]:
                mixed *= np.uint64(GOLDEN)
                mixed += one
            self._add(mixed)

    def block(self, count: int, values: Values) -> None:
        """See a block of features."""
        self.rows += count
        words = np.concatenate([np.asarray(one, dtype=np.float64)[:count] for one in values], axis=1).view(np.uint64)
        odd = stirred(np.arange(1, words.shape[1] + 1, dtype=np.uint64)) | np.uint64(1)
        self._add((words.byteswap() * odd).sum(axis=1, dtype=np.uint64))

    def _add(self, mixed: Words) -> None:
        mixed *= _SECOND
        mixed ^= mixed >> np.uint64(32)
        found = int(mixed.sum(dtype=np.uint64)), int(np.dot(mixed, mixed))
        self.sums = [(old + new) % 2**64 for old, new in zip(self.sums, found, strict=True)]


def _bits(values: Any, kind: Column) -> Words:
    if is_text(kind):
        return positions(values, kind).astype(np.int64).view(np.uint64)  # type: ignore[arg-type]
    return np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)


class Noted(Table):
    """A table of which all that is read leaves its fingerprint."""

    def __init__(self, table: Table, seen: Fingerprint) -> None:
        super().__init__(table, -1)
        self._seen = seen

    @property
    def schema(self) -> Schema:
        """That of the table."""
        return self._given.schema  # type: ignore[no-any-return]

    def batches(self, box: Box, rows: int) -> Iterator[Values]:
        for values in self._given.batches(box, rows):
            self._seen.columns(values, box)
            yield values


# --- what workers do ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Blocks:
    """Features of a part, kept where they were made: elsewhere they could come out with other roundings."""

    blocks: list[tuple[int, Values]]
    mark: Fingerprint


@guarded
def asked(asking: str, function: Callable[..., Any], *given: Any) -> Any:
    """What a function of sfumato's finds, if whoever asks has the versions that are here."""
    check_versions(asking)
    return function(*given)


@guarded
def fold(part: Part | Blocks | Kept | Answer, one: Pass) -> Answer:
    """What a pass adds up over a part."""
    if isinstance(part, Answer):  # features that could not be made
        return part
    return _answer(*_folded(part, one))


@guarded
def fold_all(parts: Iterable[Part | Kept], one: Pass) -> Answer:
    """The same over several parts, one after the other."""
    totals, seen = Totals(one.size, one.largest), Fingerprint()
    for part in parts:
        own, also = _folded(part, one)
        totals += own
        seen.rows, seen.sums = seen.rows + also.rows, [a + b for a, b in zip(seen.sums, also.sums, strict=True)]
    return _answer(totals, seen)


def answer_batch(answer: Answer) -> Any:
    """An answer as a batch of one row."""
    import pyarrow as pa

    return pa.record_batch({"answer": pa.array([answer.to_bytes()], pa.binary())})


@guarded
def features(part: Part | Answer, one: Features, rows: int) -> Blocks | Answer:
    """The features of a part, to be kept."""
    if isinstance(part, Answer):
        return part
    found, seen = [], Fingerprint()
    for count, values in blocks_of(part.table(), one, rows):
        seen.block(count, values)
        found.append((count, values))
    return Blocks(found, seen)


def feature_batches(parts: Iterable[Part], one: Features) -> Iterator[Any]:
    """The features of some parts as batches, a row for each record, and padding up to whole blocks."""
    blocks = (block for part in parts for block in blocks_of(part.table(), one, 4 * one.block))
    while (batch := _feature_batch(blocks)) is not None:
        trouble = batch.trouble if isinstance(batch, Answer) else 0
        yield _numbers_batch(np.zeros((1, 1)), -trouble * np.ones(1)) if trouble else batch
        if trouble:
            return


@guarded
def _feature_batch(blocks: Iterator[tuple[int, Values]]) -> Any:
    found = next(blocks, None)
    if found is None:
        return None
    count, values = found
    numbers = np.concatenate([np.asarray(one, dtype=np.float64) for one in values], axis=1)
    return _numbers_batch(numbers, np.arange(len(numbers)) < count)


def _numbers_batch(numbers: NDArray[np.float64], kinds: NDArray[Any]) -> Any:
    """Rows of numbers as bytes, and of what kind they are: 1 a record's, 0 padding, less than 0 a sentence."""
    import pyarrow as pa

    rows, width = numbers.shape
    ends = pa.py_buffer(np.arange(0, (rows + 1) * 8 * width, 8 * width, dtype=np.int32))
    stored = pa.Array.from_buffers(pa.binary(), rows, [None, ends, pa.py_buffer(np.ascontiguousarray(numbers))])
    return pa.record_batch({"kind": pa.array(kinds.astype(np.int8)), "numbers": stored})


@dataclass(frozen=True, repr=False)
class Kept:
    """Features that were kept as rows; they come back in any order, and every part has whole blocks of them."""

    batches: Iterable[Any]

    def made(self, one: Features) -> Iterator[tuple[int, Values]]:
        """Blocks again; which rows stand together means nothing, as each adds by itself."""
        widths = _widths(one)
        kinds, numbers = np.empty(0, dtype=np.int8), np.empty((0, sum(widths)))
        for batch in self.batches:
            more = np.asarray(batch.column("kind"))
            if more.size and more.min() < 0:
                raise failure(-int(more.min()))
            kinds = np.append(kinds, more)
            numbers = np.concatenate([numbers, _numbers_in(batch.column("numbers"), sum(widths))])
            while len(kinds) >= one.block:
                mine = np.argsort(1 - kinds[: one.block], kind="stable")  # padding comes last
                values = np.split(numbers[: one.block][mine], np.cumsum(widths)[:-1], axis=1)
                yield int(np.count_nonzero(kinds[: one.block])), [np.ascontiguousarray(part) for part in values]
                kinds, numbers = kinds[one.block :], numbers[one.block :]


def _widths(one: Features) -> list[int]:
    """How many numbers of a record are in each of the arrays that features consist of."""
    import pyarrow as pa

    none: Values = [pa.array([], pa.string()) if is_text(kind) else np.empty(0) for kind in one.box.columns]
    return [values.shape[1] for values in one.make(one.read(none))]


def _numbers_in(stored: Any, width: int) -> NDArray[np.float64]:
    """Rows of as many bytes each, as numbers."""
    ends = np.frombuffer(stored.buffers()[1], dtype=np.int64 if "large" in str(stored.type) else np.int32)
    start = int(ends[stored.offset])
    return np.frombuffer(stored.buffers()[2], np.float64, len(stored) * width, start).reshape(len(stored), width)


@guarded
def added(answers: Iterable[Answer], size: int, largest: int) -> Answer:
    """What several workers have found, together."""
    totals, prints = Totals(size, largest), [0, 0]
    for answer in answers:
        if answer.trouble:
            return answer
        totals += Totals.received(answer.limbs, answer.rows, size, largest)
        prints = [(old + new) % 2**64 for old, new in zip(prints, answer.mark, strict=True)]
    return Answer(0, totals.rows, (prints[0], prints[1]), totals.packed())


def _folded(part: Part | Blocks | Kept, one: Pass) -> tuple[Totals, Fingerprint]:
    seen = Fingerprint()
    if one.features is None:
        assert not isinstance(part, Blocks | Kept)
        if isinstance(part, Piece) and part.groups is not None:  # reading it again takes longer than a look at its end
            seen.sums = list(part.mark())
            return MemoryEngine().fold(MemoryRecords(part.table()), one), seen
        return MemoryEngine().fold(MemoryRecords(Noted(part.table(), seen)), one), seen
    totals = Totals(one.size, one.largest)
    if isinstance(part, Blocks):
        seen = part.mark
    for count, values in _blocks(part, one, one.features):
        if not isinstance(part, Blocks):
            seen.block(count, values)
        one.add(totals.part(count), values)
    return totals, seen


def _blocks(part: Part | Blocks | Kept, one: Pass, wanted: Features) -> Iterable[tuple[int, Values]]:
    if isinstance(part, Kept):
        return part.made(wanted)
    return part.blocks if isinstance(part, Blocks) else blocks_of(part.table(), wanted, rows_at_once(one))


def _answer(totals: Totals, seen: Fingerprint) -> Answer:
    return Answer(0, totals.rows, (seen.sums[0] % 2**64, seen.sums[1] % 2**64), totals.packed())
