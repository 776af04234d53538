"""Points in and values out: CSV files of public points."""

from __future__ import annotations

import csv
import io
import math
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.core.box import Box
from sfumato.errors import ParameterError, SchemaError
from sfumato.harmless import cell

Floats = NDArray[np.float64]
Row = tuple[int, list[str]]  # the number of its line, and its cells


def read_points(source: str, box: Box) -> Floats:
    """Read ``(m, l)`` points from a CSV file, its columns in the order of the box.

    Parameters
    ----------
    source
        A path, or ``-`` for stdin.
    box
        Its names are looked for in the first line. For a box without names the columns are taken in order, and the
        first line may be a point already.
    """
    name = "stdin" if source == "-" else source
    rows = _rows(_text(source, name), name, "\t" if name.lower().endswith(".tsv") else ",")
    if not rows:
        raise SchemaError(f"{name}: empty; it needs {_wanted(box)}")
    head = [cell.strip() for cell in rows[0][1]]
    if box.named or set(box.names) <= set(head):
        places = [_place(name, head, column) for column in box.names]
        body = rows[1:]
    else:
        places = list(range(box.dimension))
        if len(head) != box.dimension:
            raise SchemaError(f"{name}: {len(head)} columns; it needs {_wanted(box)}")
        body = rows[0 if any(_is_number(cell) for cell in head) else 1 :]
    points = [_point(name, row, places, len(head), box.names) for row in body]
    return np.array(points, dtype=np.float64).reshape(len(points), box.dimension)


def _wanted(box: Box) -> str:
    if box.named:
        return f"the columns {', '.join(map(repr, box.names))}, named in its first line and separated by commas"
    return f"{box.dimension} columns of numbers, separated by commas"


def _text(source: str, name: str) -> str:
    try:
        content = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
        return content.decode("utf-8-sig")
    except FileNotFoundError:
        raise SchemaError(f"{name}: there is no such file") from None
    except OSError as error:
        raise SchemaError(f"{name}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise SchemaError(f"{name}: not a CSV file in UTF-8") from None


def _rows(text: str, name: str, delimiter: str) -> list[Row]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        return [(reader.line_num, row) for row in reader if row]
    except csv.Error as error:
        raise SchemaError(f"{name}, line {reader.line_num}: not a CSV file ({error})") from None


def _place(name: str, head: Sequence[str], column: str) -> int:
    if head.count(column) != 1:
        there = "no" if column not in head else "more than one"
        raise SchemaError(
            f"{name}: {there} column {column!r} in its first line, which has {', '.join(map(repr, head))}"
        )
    return head.index(column)


def _point(name: str, row: Row, places: Sequence[int], width: int, columns: Sequence[str]) -> list[float]:
    line, cells = row
    if len(cells) != width:
        raise SchemaError(f"{name}, line {line}: {len(cells)} cells, the first line has {width}")
    for place, column in zip(places, columns, strict=True):
        if not _is_number(cells[place]):
            raise ParameterError(f"{name}, line {line}, column {column!r}: {cells[place]!r} is not a number")
    return [float(cells[place]) for place in places]


def _is_number(cell: str) -> bool:
    """Whether a cell is a finite number; Python would also take ``1_000`` and ``nan``."""
    try:
        return "_" not in cell and math.isfinite(float(cell))
    except ValueError:
        return False


def values_csv(names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """The text of a CSV file, harmless to a spreadsheet; every number with all its digits."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(cell, names))
    writer.writerows(map(cell, row) for row in rows)
    return text.getvalue()
