"""The command that predicts with a published learner or curve: new records are read in pieces and written out."""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from rich.console import Console
from rich.text import Text

from sfumato.checks import probability as checked_probability
from sfumato.cli.options import Force, declared_file, settings
from sfumato.cli.output import facts, printable, show
from sfumato.cli.publication import check_writable
from sfumato.cli.reader import load
from sfumato.errors import ParameterError
from sfumato.harmless import cell

if TYPE_CHECKING:
    from sfumato.cli.records import Piece
    from sfumato.core.box import Box
    from sfumato.engines.files import Csv, File
    from sfumato.faces.base import Facts
    from sfumato.releases.machine.response import Response

AT_ONCE = 65_536  # records
_WORK = 10_000_000  # weights that a band looks at, at a time
_STDOUT = Path("-")

Model = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL", help="A release of a learner or a curve, such as model.sfumato.", show_default=False
    ),
]
New = Annotated[Path, typer.Argument(metavar="NEW", help="New records: a CSV or Parquet file.", show_default=False)]
Predictions = Annotated[
    Path, typer.Option("--output", "-o", metavar="CSV", help="The new records with their predictions; - for stdout.")
]
Probability = Annotated[
    bool,
    typer.Option("--probability", help="Also the chance of each class (logistic loss; naive-bayes says it anyway)."),
]
Certain = Annotated[
    bool, typer.Option("--certain", help="Also whether no noise could have changed the label (of all rows at once).")
]

Confidence = Annotated[
    float, typer.Option(help="Of --certain and of a curve's limits, which hold for all rows at once.")
]


def predict(
    ctx: typer.Context,
    model: Model,
    new: New,
    output: Predictions = Path("predictions.csv"),
    probability: Probability = False,
    certain: Certain = False,
    confidence: Confidence = 0.95,
    force: Force = False,
) -> None:
    """Predict the label, or the number, of new records with a published learner or curve. Nothing is spent.

    The new records are no private data of the release, but may be sensitive themselves: the output holds them too.
    """
    if settings(ctx).json and output == _STDOUT:
        raise ParameterError("--json and -o - both want stdout; give -o a file")
    _predict_file(ctx, Asked.checked(ctx, model, new, output, probability, certain, confidence, force))


# --- what was asked for, and what became of it ------------------------------------------------------------


class Asked(NamedTuple):
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
        from sfumato.cli.records import open_records

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


class Outcome:
    """What became of the records."""

    def __init__(self) -> None:
        self.rows = self.missing = self.partial = self.moved = self.certain = 0
        self.labels: Counter[str] = Counter()
        self.lowest: Any = None  # a number, or the text of a date
        self.highest: Any = None


def _predict_file(ctx: typer.Context, asked: Asked) -> None:
    """Predict for all records of a file, in its order, and say what happened."""
    from sfumato.cli.progress import counting

    seen = Outcome()
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
    from sfumato.cli.records import regrouped

    names = asked.file.names
    cells = regrouped(asked.file.batches(names, {}), asked.at_once)
    for batch, columns in zip(cells, _columns(asked), strict=True):
        yield [batch.column(name).to_pylist() for name in names], asked.predictor.piece(columns)


def _columns(asked: Asked) -> Iterator[list[Any]]:
    """The box's columns, numbers as doubles and categories as lists, in pieces of the same size."""
    import pyarrow as pa

    from sfumato.cli.records import opened_table, regrouped

    box = asked.predictor.box
    columns = opened_table(asked.data, box).batches(box, asked.at_once)
    batches = (pa.record_batch([pa.array(c) for c in part], names=list(box.names)) for part in columns)
    for batch in regrouped(batches, asked.at_once):
        found = [batch.column(name) for name in box.names]
        yield [c.to_numpy() if pa.types.is_floating(c.type) else c.to_pylist() for c in found]


def _added(asked: Asked, piece: Piece, seen: Outcome, confidence: float) -> list[list[Any]]:
    """The new columns of all records; empty where a value is missing."""
    import numpy as np

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
        known = [value for value in (seen.lowest, seen.highest, *found[0]) if value is not None]
        seen.lowest, seen.highest = min(known), max(known)
    return whole


def _text(cell: Any) -> Any:
    return "" if cell is None else cell


@contextmanager
def _writer(output: Path) -> Iterator[Any]:
    """A CSV writer into a file, whole or not at all, or to stdout."""
    import csv

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


def _summary(ctx: typer.Context, asked: Asked, seen: Outcome) -> None:
    from sfumato.faces.words import counted

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


def _predicted(response: Response, seen: Outcome) -> str:
    if response.classes is not None:
        return ", ".join(f"{name}: {seen.labels[str(name)]:,}" for name in response.classes)
    ends = (end if isinstance(end, str) else f"{end:.4g}" for end in (seen.lowest, seen.highest) if end is not None)
    return f"from {' to '.join(ends)}" if seen.rows > seen.missing else "none"


# --- what each kind of release says of new records --------------------------------------------------------


class Predictor(ABC):
    """A release that predicts.

    Parameters
    ----------
    release
        Of one of the kinds that ``predictor_of`` knows.
    probability, certain
        Whether chances and certainties are asked for too.
    """

    at_once = AT_ONCE  # records
    shared = False  # whether its limits hold at all records at once, so that pieces share what may go wrong

    def __init__(self, release: Any, probability: bool, certain: bool) -> None:
        self.release, self.probability, self.certain = release, probability, certain
        self.check()

    @property
    def box(self) -> Box:
        """The columns that it reads."""
        return self.release.box  # type: ignore[no-any-return]

    @property
    def response(self) -> Response:
        """What is predicted."""
        return self.release.response  # type: ignore[no-any-return]

    def check(self) -> None:  # noqa: B027 - most can do whatever is asked
        """Refuse what it cannot do, naming the option."""

    def piece(self, columns: Sequence[Any]) -> Piece:
        """Records brought into its box."""
        from sfumato.cli.records import Piece

        return Piece.of(self.box, columns)

    @abstractmethod
    def names(self) -> list[str]:
        """The columns that are added to the records."""

    @abstractmethod
    def values(self, points: Any, confidence: float) -> list[list[Any]]:
        """Those columns; the label or the number comes first."""


def _certainties(found: Any) -> list[str]:
    return ["true" if sure else "false" for sure in found]


class MachinePredictor(Predictor):
    """A kernel machine: labels with the function behind them, or numbers."""

    def check(self) -> None:
        """Refuse what it cannot do, naming the option."""
        release = self.release
        release.handed.values(release.weights, release.handed.spread()[:1])  # refuses one whose kernel is not there
        if self.certain and release.classes is None:
            raise ParameterError("--certain is about labels, this is a regression; leave it out")
        if self.probability and (release.classes is None or release.handed.loss != "logistic"):
            what = "a regression" if release.classes is None else f"one with loss {release.handed.loss!r}"
            raise ParameterError(f"--probability needs a classifier with a logistic loss, this is {what}")

    def names(self) -> list[str]:
        """The columns that are added to the records."""
        found, classes = ["prediction"], self.response.classes
        if classes is not None and len(classes) == 2:
            found.append("decision")
        if self.probability and classes is not None:
            found += [f"probability_{name}" for name in classes]
        return [*found, "certain"] if self.certain else found

    def values(self, points: Any, confidence: float) -> list[list[Any]]:
        """Those columns."""
        found = [self.release.predict(points).tolist()]
        if "decision" in self.names():
            found.append(self.release.decision(points).tolist())
        if self.probability:
            found += self.release.probability(points).T.tolist()
        return [*found, _certainties(self.release.certain(points, confidence))] if self.certain else found


class CurvePredictor(Predictor):
    """A curve: the mean response, and the limits of the kernel regression of the records."""

    shared = True

    def check(self) -> None:
        """Refuse what it cannot do, naming the option."""
        for option, asked in (("--probability", self.probability), ("--certain", self.certain)):
            if asked:
                raise ParameterError(f"{option} is about labels, this is a curve with limits of its own; leave it out")
        self.at_once = max(1, min(AT_ONCE, _WORK // self.release.high.law.size))

    def names(self) -> list[str]:
        """The columns that are added to the records."""
        return ["prediction", "low", "high"]

    def values(self, points: Any, confidence: float) -> list[list[Any]]:
        """Those columns."""
        low, high = self.release.band(points, confidence)
        return [self.release(points).tolist(), low.tolist(), high.tolist()]


class BayesPredictor(Predictor):
    """A naive Bayes classifier: labels and probabilities, also of records that are not complete."""

    def piece(self, columns: Sequence[Any]) -> Piece:
        """Records brought into its box; what is missing says nothing."""
        from sfumato.cli.records import Piece

        return Piece.mixed(self.box, columns)

    def names(self) -> list[str]:
        """The columns that are added to the records."""
        chances = [f"probability_{name}" for name in self.release.classes]
        return ["prediction", *chances, *(["certain"] if self.certain else [])]

    def values(self, points: Any, confidence: float) -> list[list[Any]]:
        """Those columns."""
        chances = self.release.predict_proba(points)
        labels = [self.release.classes[place] for place in chances.argmax(axis=1)]
        found = [labels, *chances.T.tolist()]
        return [*found, _certainties(self.release.certain(points, confidence))] if self.certain else found


class MomentsPredictor(Predictor):
    """A linear model that people's devices told: labels with the score behind them, numbers, or dates to the second."""

    @property
    def box(self) -> Box:
        """The columns that it reads."""
        return self.release.features  # type: ignore[no-any-return]

    def check(self) -> None:
        """Refuse what it cannot do, naming the option."""
        for option, asked in (("--probability", self.probability), ("--certain", self.certain)):
            if asked:
                raise ParameterError(f"{option} is not for a linear model that devices told; leave it out")

    def names(self) -> list[str]:
        """The columns that are added to the records."""
        return ["prediction"] if self.response.classes is None else ["prediction", "decision"]

    def values(self, points: Any, confidence: float) -> list[list[Any]]:
        """Those columns."""
        import numpy as np

        found = self.release.predict(points)
        if self.response.classes is not None:
            return [found.tolist(), self.release.scores(points).tolist()]
        return [np.datetime_as_string(found, "s").tolist() if found.dtype.kind == "M" else found.tolist()]


_PREDICTORS: dict[str, type[Predictor]] = {
    "machine": MachinePredictor,
    "curve": CurvePredictor,
    "naive-bayes": BayesPredictor,
    "collected-moments": MomentsPredictor,
    "collected-model": MomentsPredictor,
}


def predictor_of(release: Any, model: Path, probability: bool = False, certain: bool = False) -> Predictor:
    """What predicts with a release, or a refusal."""
    from sfumato.faces import face_of

    if release.kind in _PREDICTORS:
        return _PREDICTORS[release.kind](release, probability, certain)
    hint = "; use 'sfumato evaluate'" if face_of(release).use == "evaluate" else ""
    raise ParameterError(f"{model}: a release of kind {release.kind!r}, this needs a learner or a curve{hint}")
