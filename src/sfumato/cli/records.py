"""New records to predict from: read in pieces from a CSV or Parquet file, and brought into a box."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.machine.coordinates import has_categories
from sfumato.checks import near_miss
from sfumato.core.box import Box, Categorical, Periodic
from sfumato.engines.cells import positions
from sfumato.engines.files import Csv, File, check_header, open_file
from sfumato.engines.table import Table
from sfumato.engines.tables import open_table
from sfumato.errors import SchemaError

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Piece:
    """Some records, brought into the box.

    Parameters
    ----------
    points
        ``(m, d)`` numbers, or an array for each column where some hold categories.
    complete, moved
        Which of them can be predicted from, and which had to be moved.
    partial
        Which lack a value that is not needed.
    """

    points: Any
    complete: Flags
    moved: Flags
    partial: Flags

    @classmethod
    def of(cls, box: Box, columns: Sequence[Floats]) -> Piece:
        """Clean records as those that a learner was trained on were cleaned."""
        if has_categories(box):
            mixed = cls.mixed(box, columns)  # a record that lacks anything says nothing
            return cls(mixed.points, ~mixed.partial, mixed.moved & ~mixed.partial, np.zeros_like(mixed.partial))
        raw = np.stack(columns, axis=1)
        points = box.clean(raw)
        circles = np.array([isinstance(column, Periodic) for column in box.columns])
        with np.errstate(all="ignore"):  # a comparison with what is missing is false
            outside = (((raw < box.low) | (raw > box.high)) & ~circles).any(axis=1)
            if box.max_norm is not None:
                outside |= np.linalg.norm(np.clip(raw, box.low, box.high), axis=1) > box.max_norm
        complete = np.asarray(~np.isnan(points).any(axis=1))
        return cls(points, complete, outside & complete, np.zeros_like(complete))

    @classmethod
    def mixed(cls, box: Box, columns: Sequence[Any]) -> Piece:
        """The same where a missing value, or a category that was not declared, says nothing and does no harm."""
        found: dict[str, Any] = {}
        partial, moved = (np.zeros(len(columns[0]), dtype=bool) for _ in range(2))
        for name, column, values in zip(box.names, box.columns, columns, strict=True):
            if isinstance(column, Categorical):
                place = positions(values, column)
                found[name] = np.array([*column.categories, None], dtype=object)[place]
                partial |= place < 0
                continue
            with np.errstate(all="ignore"):
                found[name] = column.clean(values)
                moved |= ((values < column.low) | (values > column.high)) & (not isinstance(column, Periodic))
            partial |= np.isnan(found[name])
        return cls(found, np.ones(len(partial), dtype=bool), moved, partial)

    def at(self, places: NDArray[np.int64]) -> Any:
        """Some of the points."""
        if isinstance(self.points, dict):
            return {name: values[places] for name, values in self.points.items()}
        return self.points[places]


def open_records(data: Path | Csv, names: Sequence[str]) -> File:
    """Open a file and refuse one that lacks a column; no record is read."""
    path = data.path if isinstance(data, Csv) else str(data)
    file = open_file(data if isinstance(data, Csv) else path)
    check_header(file, names)
    missing = [name for name in names if name not in file.names]
    if missing:
        raise SchemaError(
            f"{path}: no column {missing[0]!r}, which the learner needs; it has {', '.join(map(repr, file.names))}"
            f"{near_miss(missing[0], file.names)}"
        )
    return file


def opened_table(data: Path | Csv, box: Box) -> Table:
    """The same file as numbers, its schema checked."""
    columns = dict(zip(box.names, box.columns, strict=True))
    return open_table(data, Box(columns, max_norm=box.max_norm), "row")


def regrouped(batches: Iterator[Any], rows: int) -> Iterator[Any]:
    """Arrow record batches of exactly this many rows, but for the last; files give them as they come."""
    import pyarrow as pa

    waiting: list[Any] = []
    count = 0
    for batch in batches:
        waiting.append(batch)
        count += batch.num_rows
        while count >= rows:
            whole = pa.Table.from_batches(waiting)
            yield whole.slice(0, rows)
            waiting, count = whole.slice(rows).to_batches(), count - rows
    if count:
        yield pa.Table.from_batches(waiting)
