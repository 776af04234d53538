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

import sfumato as sf
from sfumato.checks import probability as checked_probability
from sfumato.cli.options import blaming
from sfumato.cli.output import facts, printable, show
from sfumato.cli.progress import counting
from sfumato.cli.publishing import Facts, check_writable
from sfumato.cli.records import AT_ONCE, Piece, open_records, opened_table, regrouped
from sfumato.cli.words import counted
from sfumato.engines.files import File
from sfumato.errors import ParameterError
from sfumato.releases.machine import MachineRelease

_STDOUT = Path("-")


@dataclass(frozen=True)
class Asked:
    """Predictions that were asked for, checked before any record is read."""

    release: MachineRelease
    new: Path
    file: File
    output: Path
    probability: bool
    certain: bool
    confidence: float

    @classmethod
    def checked(
        cls, model: Path, new: Path, output: Path, probability: bool, certain: bool, confidence: float, force: bool
    ) -> Asked:
        """Refuse what cannot work, naming the option."""
        release = sf.load(model)
        if not isinstance(release, MachineRelease):
            raise ParameterError(f"{model}: a release of kind {release.kind!r}, this needs a learner (kind 'machine')")
        box = release.box
        release.decision(box.clean((box.low / 2 + box.high / 2)[None, :]))  # refuses one whose kernel is not there
        if certain and release.classes is None:
            raise ParameterError("--certain is about labels, this is a regression; leave it out")
        if probability and (release.classes is None or release.handed.loss != "logistic"):
            raise ParameterError(f"--probability needs a classifier with a logistic loss, this is {_what(release)}")
        with blaming("--confidence"):
            checked_probability("confidence", confidence)
        file = open_records(new, box.names)
        asked = cls(release, new, file, output, probability, certain, confidence)
        taken = [name for name in asked.names() if name in file.names]
        if taken:
            raise ParameterError(f"{new}: it has a column {taken[0]!r} already; rename it first")
        if output != _STDOUT:
            for path, what in ((model, "the release"), (new, "the new records")):
                if output.resolve() == path.resolve():
                    raise ParameterError(f"--output: {output} is the file of {what}; choose another name")
            with blaming("--output"):
                check_writable(output, force)
        return asked

    def names(self) -> list[str]:
        """The columns that are added to the records."""
        found, classes = ["prediction"], self.release.classes
        if classes is not None and len(classes) == 2:
            found.append("decision")
        if self.probability and classes is not None:
            found += [f"probability_{name}" for name in classes]
        return [*found, "certain"] if self.certain else found

    def values(self, points: Any, confidence: float) -> list[list[Any]]:
        """Those columns, for records that are complete."""
        release, found = self.release, []
        found.append(release.predict(points).tolist())
        if "decision" in self.names():
            found.append(release.decision(points).tolist())
        if self.probability:
            found += release.probability(points).T.tolist()
        if self.certain:
            found.append(["true" if sure else "false" for sure in release.certain(points, confidence)])
        return found


def _what(release: MachineRelease) -> str:
    return "a regression" if release.classes is None else f"one with loss {release.handed.loss!r}"


@dataclass
class Seen:
    """What became of the records."""

    rows: int = 0
    missing: int = 0
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
        rows.writerow([*asked.file.names, *asked.names()])
        # All rows are certain at once: what may go wrong is shared among the pieces.
        confidence = 1 - (1 - asked.confidence) / max(1, math.ceil(total / AT_ONCE))
        for cells, piece in _pieces(asked):
            added = _added(asked, piece, seen, confidence)
            rows.writerows(zip(*([_text(cell) for cell in column] for column in cells), *added, strict=True))
            done(len(piece.points))
    _summary(ctx, asked, seen)


def _pieces(asked: Asked) -> Iterator[tuple[list[Any], Piece]]:
    """The cells as they stand in the file, and what a learner sees of them."""
    box, names = asked.release.box, asked.file.names
    cells = regrouped(asked.file.batches(names, {}), AT_ONCE)
    numbers = _numbers(asked)
    for batch, columns in zip(cells, numbers, strict=True):
        yield [batch.column(name).to_pylist() for name in names], Piece.of(box, columns)


def _numbers(asked: Asked) -> Iterator[list[Any]]:
    """The box's columns as doubles, in pieces of the same size."""
    import pyarrow as pa

    box = asked.release.box
    columns = opened_table(asked.new, box).batches(box, AT_ONCE)
    batches = (pa.record_batch([pa.array(c) for c in part], names=list(box.names)) for part in columns)
    for batch in regrouped(batches, AT_ONCE):
        yield [batch.column(name).to_numpy() for name in box.names]


def _added(asked: Asked, piece: Piece, seen: Seen, confidence: float) -> list[list[Any]]:
    """The new columns of all records; empty where a value is missing."""
    places = np.flatnonzero(piece.complete)
    found = asked.values(piece.points[places], confidence) if places.size else [[] for _ in asked.names()]
    whole = []
    for column in found:
        cells: list[Any] = [""] * len(piece.points)
        for place, value in zip(places.tolist(), column, strict=True):
            cells[place] = value
        whole.append(cells)
    seen.rows += len(piece.points)
    seen.missing += int(np.count_nonzero(~piece.complete))
    seen.moved += int(np.count_nonzero(piece.moved))
    seen.certain += found[-1].count("true") if asked.certain else 0
    if asked.release.classes is not None:
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
    release, written = asked.release, None if asked.output == _STDOUT else str(asked.output)
    predicted = seen.rows - seen.missing
    rows: Facts = [("predictions", [_predicted(release, seen)])]
    if seen.missing:
        rows.append(("missing", [f"{counted(seen.missing, 'row')} without a value: the prediction is empty"]))
    if seen.moved:
        rows.append(("outside", [f"{counted(seen.moved, 'row')} outside the box, moved to its edge"]))
    if asked.certain and predicted:
        share = f"{100 * seen.certain / predicted:.3g} % of the predictions"
        rows.append(("certain", [f"{share}, all at once with confidence {asked.confidence:g}"]))
    rows.append(("privacy", ["nothing was spent: predictions come from the release alone", _sensitive(asked)]))
    data = {
        "written": written,
        "rows": seen.rows,
        "missing": seen.missing,
        "outside": seen.moved,
        "certain": seen.certain if asked.certain else None,
        "confidence": asked.confidence if asked.certain else None,
        "labels": None if release.classes is None else {str(c): seen.labels[str(c)] for c in release.classes},
        "spent": 0,
    }
    name = printable(release.response.name)
    head = Text(f"Predicted {name} for {predicted:,} of {counted(seen.rows, 'row')}.", style="bold")
    if written is None:  # stdout holds the predictions
        Console(stderr=True, highlight=False, markup=False).print(head, facts(rows))
    else:
        show(ctx, data, head, "", facts([*rows, ("files", [f"{written}  the rows with their predictions"])]))


def _sensitive(asked: Asked) -> str:
    held = "the predictions go with" if asked.output == _STDOUT else f"{asked.output} holds"
    return f"the release does not protect {asked.new.name}: {held} its rows, so keep them as safe"


def _predicted(release: MachineRelease, seen: Seen) -> str:
    if release.classes is not None:
        return ", ".join(f"{name}: {seen.labels[str(name)]:,}" for name in release.classes)
    return f"from {seen.lowest:.4g} to {seen.highest:.4g}" if seen.rows > seen.missing else "none"
