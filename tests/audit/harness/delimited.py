"""CSV files, byte by byte: a record is a line, and a line can hold anything but the end of one."""

from __future__ import annotations

import csv
import gzip
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar

import sfumato as sf
from harness.hostile import BYTES, RAW, UNICODE, dated_bytes, some
from harness.reading import WHO, Container, Record, Wanted, as_date, person

_CELLS = (
    *BYTES,
    *(b'"', b'""', b'"a', b'a"', b'"a"b', b'"a""b"', b'""a', b"'", b'"a,b"', b'"\x00"', b"\\", b"\\n", b"1e400"),
    *(b"-1e400", b" 1", b"1 ", b"+1", b"1.", b".5", b"1e5", b"0x1", b"1_0", b"inf", b"NaN", b"null", b"NA", b"N/A"),
    *(b"true", b"\t1", b"1,5", b"1;5", b"\xc2\xa01", b"\xd9\xa1", b"1\x00", b"#", b"--", b"9" * 400, b"1e-400"),
    *(b"\xef\xbb\xbf1", b"\x1a", b"\r", b"a\rb", b'"a\rb"', b"1\r"),
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
    latin: bool = False  # whether names are written in latin-1, and so are no UTF-8
    name: str = "csv"
    whole: ClassVar[bool] = True

    @property
    def comma(self) -> bytes:
        return b"\t" if ".tsv" in self.path else b","

    def _cell(self, value: Any) -> bytes:
        text = str(value).encode()
        return b'"' + text.replace(b'"', b'""') + b'"' if self.quoted else text

    def record(self, values: Mapping[str, Any]) -> Record:
        told = {WHO: person, "d": as_date}
        cells = {name: self._cell(told.get(name, str)(values[name])) for name in self.columns}
        if self.latin and WHO in cells:
            cells[WHO] = b"M" + bytes([0xE0 + values[WHO]]) + b"ller"
        return self.comma.join(cells[name] for name in self.columns)

    def hostile(self, rng: Random, record: Record) -> Record:
        cells = record.split(self.comma)
        free = [i for i, name in enumerate(self.columns) if name != WHO and i < len(cells)]
        for i in rng.sample(free, rng.randint(1, len(free))) if free else ():
            cells[i] = some(_CELLS, RAW)(rng)
            if self.columns[i] == "d" and rng.random() < 0.5:
                cells[i] = dated_bytes(rng)
            if WHO in self.columns:  # one more cell could make it somebody else's
                cells[i] = cells[i].replace(self.comma, b"")
        line = self.comma.join(cells)
        if WHO not in self.columns and rng.random() < 0.5:
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
        flags = "quoted" * self.quoted, "ended" * self.ended, "latin" * self.latin
        parts = os.path.basename(self.path), self.newline, self.mark, *flags
        return f"{self.name}({','.join(self.columns)}; {', '.join(map(str, parts))})"


def csv_file(rng: Random, wanted: Wanted) -> Container:
    path = os.path.join(wanted.folder, "table" + rng.choice([".csv", ".csv", ".csv", ".tsv", ".csv.gz"]))
    newline, mark = rng.choice([b"\n", b"\n", b"\r\n"]), rng.choice([b"", b"", b"\xef\xbb\xbf"])
    return Csv(wanted.named(rng), path, newline, mark, *(rng.random() < chance for chance in (0.3, 0.7, 0.3)))


@dataclass(frozen=True, repr=False)
class Multiline(Csv):
    """A CSV file whose cells may span lines, and whose quotes are all closed, as its owner declares."""

    name: str = "csv of many lines"

    def hostile(self, rng: Random, record: Record) -> Record:
        pairs = zip(self.columns, next(csv.reader([record.decode()])), strict=True)
        wild = some(["a\nb", "\n", "\r\n", 'a"\n"b', '"', '""', "1\n", "\n\n2", "a,b", "x\r"], UNICODE)
        found = [cell if name == WHO or rng.random() < 0.4 else wild(rng) for name, cell in pairs]
        return self.comma.join(self._cell(cell) for cell in found)

    def owned(self, rng: Random, records: Sequence[Record]) -> list[Record]:
        place, name = self.columns.index(WHO), rng.choice(["", "a\nb", '"\n', "p\r\n1", UNICODE(rng)])
        rows = [next(csv.reader(io.StringIO(record.decode(), newline=""))) for record in records]
        return [self.comma.join(map(self._cell, [*row[:place], name, *row[place + 1 :]])) for row in rows]

    def build(self, records: Sequence[Record]) -> Any:
        return sf.Csv(super().build(records), multiline=True)


def multiline_file(rng: Random, wanted: Wanted) -> Container:
    return Multiline(wanted.named(rng), os.path.join(wanted.folder, "table.csv"), quoted=True)


@dataclass(frozen=True, repr=False)
class Headless(Csv):
    """A CSV file that begins with a record: it is refused, and nothing in the refusal is that record's."""

    name: str = "csv without a header"

    def hostile(self, rng: Random, record: Record) -> Record:
        line = super().hostile(rng, record)
        named = {name.encode() for name in self.columns} & {cell.strip(b'"\r') for cell in line.split(self.comma)}
        return record if named else line  # that would be a header

    def build(self, records: Sequence[Record]) -> str:
        with open(self.path, "wb") as file:
            file.write(b"".join(record + self.newline for record in records))
        return self.path


def headless_file(rng: Random, wanted: Wanted) -> Container:
    return Headless(wanted.named(rng), os.path.join(wanted.folder, "table.csv"), quoted=rng.random() < 0.3)
