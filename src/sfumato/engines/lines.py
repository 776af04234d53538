"""The records of a CSV file as bytes: each stands where it stood, and reads the same whatever stands around it.

A record is a line. Quotes do not reach beyond it, so an unclosed one spoils its own record and no other; a line with
too many or too few cells, an empty one among them, is a record without values *in its place*. Arrow's parser is quick,
but lets a quote swallow lines, raises on some torn ones and drops others. So it is only ever given records on which
every parser agrees: lines that are not plainly so are looked at one by one, and written anew.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int64]
Flags = NDArray[np.bool_]

BLOCK = 2**20  # bytes of a file at a time
LONGEST = 2**24  # bytes; a longer record is torn, so that no record decides how much memory is needed
GROWN = 2**26  # cells at a time: of an empty line in a wide file each is written anew
_NEWLINE, _RETURN, _QUOTE = b'\n\r"'
_MARK = 0xEF  # how a byte-order mark begins: parsers skip one where they start to read


@dataclass(frozen=True)
class Layout:
    """How the records of a file are written, which is public.

    Parameters
    ----------
    cells
        How many a record has: as many as the first line names.
    delimiter
        The byte between them.
    multiline
        Whether a quoted cell may span lines. Where a record ends then depends on all quotes before it.
    """

    cells: int
    delimiter: bytes = b","
    multiline: bool = False

    @property
    def empty(self) -> bytes:
        """A record without values."""
        return self.delimiter * (self.cells - 1) + b"\n"

    def runs(self, file: BinaryIO) -> Iterator[bytes]:
        """The rest of a file in runs of whole records, each ended by a newline."""
        rest = b""
        while piece := file.read(min(max(BLOCK, len(rest)), LONGEST)):  # at least twice as much: linear in the end
            run = rest + piece
            end = self._last_end(run)
            if end:
                yield from self._portions(run[:end])
            rest = run[end:]
            if len(rest) > LONGEST:  # torn, wherever blocks begin, and as open as it was
                rest = self.delimiter * self.cells + rest.count(b'"') % 2 * b'"'
        if rest:
            left_open = self.multiline and rest.count(b'"') % 2
            yield self.empty if left_open else rest + b"\n"

    def _portions(self, run: bytes) -> Iterator[bytes]:
        """A run in runs of at most ``GROWN`` cells, or of one record."""
        most = max(1, GROWN // self.cells)
        if run.count(b"\n") <= most:
            yield run
            return
        ends = _Marks.of(run, self).ends + 1
        cuts = [0, *ends[most - 1 : -1 : most].tolist(), len(run)]
        yield from (run[start:end] for start, end in itertools.pairwise(cuts))

    def _last_end(self, run: bytes) -> int:
        """Where the last whole record of a run ends; 0 if there is none."""
        if not self.multiline or b'"' not in run:
            return run.rfind(b"\n") + 1
        ends = _Marks.of(run, self).ends
        return int(ends[-1]) + 1 if ends.size else 0

    def regular(self, run: bytes) -> tuple[bytes, int]:
        r"""A run in which every record has the right number of cells, and how many records it has.

        Formal guarantee: each record of the result is a function of the record in its place alone; with ``multiline``,
        of that record as it was cut out by the quotes before it.

        >>> Layout(2).regular(b'1,"a"\ntorn\n2,"open\n3,b\n')
        (b'1,"a"\n,\n,\n3,b\n', 4)
        """
        marks = _Marks.of(run, self)
        doubtful = np.flatnonzero(~marks.plain(self.cells))
        if not doubtful.size:
            return run, len(marks.ends)
        parts, done = [], 0
        for place in doubtful.tolist():
            start, end = int(marks.starts[place]), int(marks.ends[place]) + 1
            parts += [run[done:start], self._mended(run[start:end]) if end - start <= LONGEST else self.empty]
            done = end
        return b"".join([*parts, run[done:]]), len(marks.ends)

    def _mended(self, record: bytes) -> bytes:
        """One record with every cell in quotes; without values if it has none that can be told apart."""
        text = io.StringIO(record.decode("latin-1"), newline="")  # byte by byte, whatever they mean
        try:
            rows = list(csv.reader(text, delimiter=self.delimiter.decode(), strict=True))
        except csv.Error:
            return self.empty
        if len(rows) != 1 or len(rows[0]) != self.cells:
            return self.empty
        quoted = [b'"' + cell.replace('"', '""').encode("latin-1") + b'"' for cell in rows[0]]
        return self.delimiter.join(quoted) + b"\n"


@dataclass(frozen=True)
class _Marks:
    """Where the records of a run end, and which of its bytes stand in quotes.

    ``odd`` says for each byte whether the quotes up to it are odd in number; it is None where there are none at all.
    """

    codes: NDArray[np.uint8]
    delimiter: int
    ends: Places
    odd: Flags | None

    @classmethod
    def of(cls, run: bytes, layout: Layout) -> _Marks:
        codes = np.frombuffer(run, dtype=np.uint8)
        ends = np.flatnonzero(codes == _NEWLINE)
        odd = np.bitwise_xor.accumulate((codes == _QUOTE).view(np.uint8)).view(bool) if b'"' in run else None
        if layout.multiline and odd is not None:
            ends = ends[~odd[ends]]
        return cls(codes, layout.delimiter[0], ends, odd)

    @cached_property
    def starts(self) -> Places:
        return np.concatenate([[0], self.ends[:-1] + 1]) if self.ends.size else self.ends

    def plain(self, cells: int) -> Flags:
        """Which records have that many cells, in the eyes of every parser."""
        delimiters = np.flatnonzero(self.codes == self.delimiter)
        good: Flags = (self.codes[self.starts] != _MARK) & (self.ends - self.starts < LONGEST)
        if self.odd is not None:
            quotes = np.flatnonzero(self.codes == _QUOTE)
            good &= self._well_quoted(quotes, self._owners(quotes))
            delimiters = delimiters[~self._inside(delimiters, self._owners(delimiters))]
        good &= self._counted(delimiters) == cells - 1
        returns = np.flatnonzero(self.codes == _RETURN)
        if returns.size:  # just before a record's end it belongs to that; elsewhere parsers differ
            owners = self._owners(returns)
            good[owners[returns + 1 != self.ends[owners]]] = False
        return good

    def _counted(self, places: Places) -> Places:
        """How many of some places lie in each record."""
        return np.diff(np.searchsorted(places, self.ends), prepend=0)

    def _owners(self, places: Places) -> Places:
        """The record in which each place lies."""
        return np.repeat(np.arange(len(self.ends)), self._counted(places))

    def _inside(self, places: Places, owners: Places) -> Flags:
        """Whether the quotes of its own record up to each place are odd in number."""
        assert self.odd is not None
        before = np.append(False, self.odd[self.ends[:-1]])
        return np.asarray(self.odd[places] ^ before[owners])

    def _well_quoted(self, quotes: Places, owners: Places) -> Flags:
        """Which records open quotes only where a cell begins, and close each where one ends; ``""`` stands for one."""
        opening = self._inside(quotes, owners)
        left, right = self.codes[quotes - 1], self.codes[quotes + 1]  # the last byte of a run is a newline
        begins = (quotes == self.starts[owners]) | (left == self.delimiter) | (left == _QUOTE)
        ends = (right == self.delimiter) | (right == _NEWLINE) | (right == _RETURN) | (right == _QUOTE)
        good = np.asarray(self._counted(quotes) % 2 == 0)
        good[owners[np.where(opening, ~begins, ~ends)]] = False
        return good
