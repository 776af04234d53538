"""What ``sfumato predict`` does: read new records in pieces, predict, write them out, say what happened."""

from __future__ import annotations

import csv
import math
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import typer
from rich.console import Console
from rich.text import Text

from sfumato.checks import probability as checked_probability
from sfumato.cli.options import declared_file, load
from sfumato.cli.output import facts, printable, show
from sfumato.cli.predictors import Predictor, predictor_of
from sfumato.cli.progress import counting
from sfumato.cli.publishing import check_writable
from sfumato.cli.records import AT_ONCE, Piece, open_records, opened_table, regrouped
from sfumato.engines.files import Csv, File
from sfumato.errors import ParameterError
from sfumato.faces.base import Facts
from sfumato.faces.words import counted
from sfumato.harmless import cell
from sfumato.releases.machine.response import Response

_STDOUT = Path("-")


@dataclass(frozen=True)
class Asked:
    """Predictions that were asked for, checked before any record is read."""

    predictor: Predictor
    new: Path
    data: Path | Csv
    file: File
    output: Path
    confidence: float

    @classmethod
    def checked(
        cls,
        ctx: typer.Context,
        model: Path,
        new: Path,
        output: Path,
        probability: bool,
        certain: bool,
        confidence: float,
        force: bool,
    ) -> Asked:
        """Refuse what cannot work, naming the option."""
        predictor = predictor_of(load(ctx, model), model, probability, certain)
        checked_probability("confidence", confidence)
        data = declared_file(ctx, new)
        file = open_records(data, predictor.box.names)
        asked = cls(predictor, new, data, file, output, confidence)
        taken = [name for name in predictor.names() if name in file.names]
        if taken:
            raise ParameterError(f"{new}: it has a column {taken[0]!r} already; rename it first")
        if output != _STDOUT:
            for path, what in ((model, "the release"), (new, "the new records")):
                if output.resolve() == path.resolve():
                    raise ParameterError(f"--output: {output} is the file of {what}; choose another name")
            check_writable(output, force)
        return asked

    @property
    def at_once(self) -> int:
        """How many records are predicted at a time."""
        return min(AT_ONCE, self.predictor.at_once)

    @property
    def with_limits(self) -> bool:
        """Whether something is said that holds for all rows at once."""
        return self.predictor.shared or self.predictor.certain


@dataclass
class Seen:
    """What became of the records."""

    rows: int = 0
    missing: int = 0
    partial: int = 0
    moved: int = 0
    certain: int = 0
    labels: Counter[str] = field(default_factory=Counter)
    lowest: float = math.inf
    highest: float = -math.inf


def predict_file(ctx: typer.Context, asked: Asked) -> None:
    """Predict for all records of a file, in its order, and say what happened."""
    seen = Seen()
    with counting(ctx, f"counting the rows of {asked.new.name}", None):
        total = asked.file.rows()
    with counting(ctx, f"predicting {asked.new.name}", total) as done, _writer(asked.output) as rows:
        rows.writerow([*asked.file.names, *map(cell, asked.predictor.names())])
        # Limits hold for all rows at once: what may go wrong is shared among the pieces.
        confidence = 1 - (1 - asked.confidence) / max(1, math.ceil(total / asked.at_once))
        for cells, piece in _pieces(asked):
            # The new records are the caller's own and stay as they are; labels come from the release.
            added = [map(cell, column) for column in _added(asked, piece, seen, confidence)]
            rows.writerows(zip(*([_text(cell) for cell in column] for column in cells), *added, strict=True))
            done(len(piece.complete))
    _summary(ctx, asked, seen)


def _pieces(asked: Asked) -> Iterator[tuple[list[Any], Piece]]:
    """The cells as they stand in the file, and what a release sees of them."""
    names = asked.file.names
    cells = regrouped(asked.file.batches(names, {}), asked.at_once)
    for batch, columns in zip(cells, _columns(asked), strict=True):
        yield [batch.column(name).to_pylist() for name in names], asked.predictor.piece(columns)


def _columns(asked: Asked) -> Iterator[list[Any]]:
    """The box's columns, numbers as doubles and categories as lists, in pieces of the same size."""
    import pyarrow as pa

    box = asked.predictor.box
    columns = opened_table(asked.data, box).batches(box, asked.at_once)
    batches = (pa.record_batch([pa.array(c) for c in part], names=list(box.names)) for part in columns)
    for batch in regrouped(batches, asked.at_once):
        found = [batch.column(name) for name in box.names]
        yield [c.to_numpy() if pa.types.is_floating(c.type) else c.to_pylist() for c in found]


def _added(asked: Asked, piece: Piece, seen: Seen, confidence: float) -> list[list[Any]]:
    """The new columns of all records; empty where a value is missing."""
    predictor, places = asked.predictor, np.flatnonzero(piece.complete)
    found = predictor.values(piece.at(places), confidence) if places.size else [[] for _ in predictor.names()]
    whole = []
    for column in found:
        cells: list[Any] = [""] * len(piece.complete)
        for place, value in zip(places.tolist(), column, strict=True):
            cells[place] = value
        whole.append(cells)
    seen.rows += len(piece.complete)
    seen.partial += int(np.count_nonzero(piece.partial))
    seen.missing += int(np.count_nonzero(~piece.complete))
    seen.moved += int(np.count_nonzero(piece.moved))
    seen.certain += found[-1].count("true") if predictor.certain else 0
    if predictor.response.classes is not None:
        seen.labels.update(map(str, found[0]))
    elif found[0]:
        seen.lowest, seen.highest = min(seen.lowest, *found[0]), max(seen.highest, *found[0])
    return whole


def _text(cell: Any) -> Any:
    return "" if cell is None else cell


@contextmanager
def _writer(output: Path) -> Iterator[Any]:
    """A CSV writer into a file, whole or not at all, or to stdout."""
    if output == _STDOUT:
        yield csv.writer(sys.stdout, lineterminator="\n")
        return
    partial = output.with_name(f".{output.name}.partial")
    try:
        with partial.open("w", encoding="utf-8", newline="") as file:
            yield csv.writer(file, lineterminator="\n")
        partial.replace(output)
    finally:
        partial.unlink(missing_ok=True)


def _summary(ctx: typer.Context, asked: Asked, seen: Seen) -> None:
    response, certain = asked.predictor.response, asked.predictor.certain
    written = None if asked.output == _STDOUT else str(asked.output)
    predicted = seen.rows - seen.missing
    rows: Facts = [("predictions", [_predicted(response, seen)])]
    if seen.missing:
        rows.append(("missing", [f"{counted(seen.missing, 'row')} without a value: the prediction is empty"]))
    if seen.partial:
        words = "without a value, or with a category that is not declared: predicted from the other columns"
        rows.append(("incomplete", [f"{counted(seen.partial, 'row')} {words}"]))
    if seen.moved:
        rows.append(("outside", [f"{counted(seen.moved, 'row')} outside the box, moved to its edge"]))
    if certain and predicted:
        share = f"{100 * seen.certain / predicted:.3g} % of the predictions"
        rows.append(("certain", [f"{share}, all at once with confidence {asked.confidence:g}"]))
    elif asked.with_limits:
        rows.append(("limits", [f"of all rows at once, with confidence {asked.confidence:g}"]))
    rows.append(("privacy", ["nothing was spent: predictions come from the release alone", _sensitive(asked)]))
    data = {
        "written": written,
        "rows": seen.rows,
        "missing": seen.missing,
        "incomplete": seen.partial,
        "outside": seen.moved,
        "certain": seen.certain if certain else None,
        "confidence": asked.confidence if asked.with_limits else None,
        "labels": None if response.classes is None else {str(c): seen.labels[str(c)] for c in response.classes},
        "spent": 0,
    }
    name = printable(response.name)
    head = Text(f"Predicted {name} for {predicted:,} of {counted(seen.rows, 'row')}.", style="bold")
    if written is None:  # stdout holds the predictions
        Console(stderr=True, highlight=False, markup=False).print(head, facts(rows))
    else:
        show(ctx, data, head, "", facts([*rows, ("files", [f"{written}  the rows with their predictions"])]))


def _sensitive(asked: Asked) -> str:
    held = "the predictions go with" if asked.output == _STDOUT else f"{asked.output} holds"
    return f"the release does not protect {asked.new.name}: {held} its rows, so keep them as safe"


def _predicted(response: Response, seen: Seen) -> str:
    if response.classes is not None:
        return ", ".join(f"{name}: {seen.labels[str(name)]:,}" for name in response.classes)
    return f"from {seen.lowest:.4g} to {seen.highest:.4g}" if seen.rows > seen.missing else "none"
