"""Commands that read a release: inspect, evaluate, plot, report. None of them spends anything."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

import sfumato as sf
from sfumato.cli.options import Confidence, settings
from sfumato.cli.output import facts, printable, show, working
from sfumato.errors import OutsideBoxError, ParameterError

File = Annotated[Path, typer.Argument(metavar="FILE", help="A release, such as age.sfumato.", show_default=False)]


def load_function(path: Path) -> sf.FunctionRelease:
    """Load a release, refusing one that is not a function."""
    release = sf.load(path)
    if not isinstance(release, sf.FunctionRelease):
        raise ParameterError(f"{path}: a release of kind {release.kind!r}, this needs a function")
    return release


def output_path(file: Path, given: Path | None, suffix: str) -> Path:
    """Where to write: as given, or next to the release under its name; never over the release itself.

    Parameters
    ----------
    file
        The release.
    given
        The value of ``--output``; None for the default.
    suffix
        Of the default.
    """
    path = file.with_suffix(suffix) if given is None else given
    if path.resolve() == file.resolve():
        raise ParameterError(f"{path}: this is the release itself; choose another name with -o")
    if not path.parent.is_dir():
        raise ParameterError(f"{path}: there is no folder {str(path.parent)!r}")
    return path


def inspect(ctx: typer.Context, file: File) -> None:
    """Say what a release is and what it promises."""
    from sfumato.cli import words

    release = sf.load(file)
    notes = [f"- {note}" for note in release.guarantee.assumptions]
    rows: list[tuple[str, list[str]]] = [
        ("what", [words.title(release)]),
        ("guarantee", [str(release.guarantee).partition(";")[0]]),
        ("in words", [words.guarantee_words(release.guarantee)]),
        ("rests on", notes or ["the proofs in docs/proofs alone"]),
        ("box", words.box_lines(release.box)),
    ]
    if isinstance(release, sf.FunctionRelease):
        rows.append(("basis", [f"{release.basis!r}, {release.law.size:,} coefficients"]))
    rows.append(("noise", words.noise_lines(release.law)))
    rows.append(("target", words.target_lines(release)))
    rows.append(("receipt", words.receipt_lines(release.receipt)))
    head = Text(printable(file), style="bold")
    show(ctx, {"file": str(file), **words.release_data(release)}, head, "", facts(rows))


def evaluate(
    ctx: typer.Context,
    file: File,
    points: Annotated[
        str,
        typer.Argument(
            metavar="POINTS", help="A CSV file with the columns of the box, or - for stdin.", show_default=False
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="CSV", help="Where to write; stdout if left out.")
    ] = None,
    confidence: Confidence = 0.95,
    outside: Annotated[
        str, typer.Option(metavar="refuse|clip", help="What to do with points outside the box.")
    ] = "refuse",
) -> None:
    """Evaluate a release at the points of a CSV file, with the band of its noise."""
    import numpy as np

    from sfumato.cli.points import read_points, values_csv

    release = load_function(file)
    target = None if output is None else output_path(file, output, ".csv")
    at = read_points(points, release.box)
    # A file from a stranger may hold huge coefficients; what overflows shows in the values.
    with working(ctx, f"evaluating {len(at):,} points"), np.errstate(all="ignore"):
        try:
            value = release(at, outside)
            low, high = release.band(at, confidence, outside=outside)
        except OutsideBoxError as error:
            raise OutsideBoxError(str(error).replace("pass outside='clip'", "use --outside clip")) from None
    names = [*release.box.names, "value", "low", "high"]
    if target is not None:
        target.write_text(values_csv(names, [*at.T, value, low, high]), "utf-8")
        show(ctx, {"written": str(target), "points": len(at)}, f"{target}: {len(at):,} points")
    elif settings(ctx).json:
        show(ctx, _points_data(release.box.names, [row.tolist() for row in (*at.T, value, low, high)]))
    else:
        typer.echo(values_csv(names, [*at.T, value, low, high]), nl=False)


def _points_data(names: tuple[str, ...], columns: list[list[float]]) -> dict[str, Any]:
    """Values and bands, point by point; a column may be called anything, also ``value``."""
    rows = []
    for *point, value, low, high in zip(*columns, strict=True):
        rows.append({"point": dict(zip(names, point, strict=True)), "value": value, "low": low, "high": high})
    return {"points": rows}


def plot(
    ctx: typer.Context,
    file: File,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="PICTURE", help="A .png, .svg or .pdf; next to FILE if left out."),
    ] = None,
    confidence: Confidence = 0.95,
) -> None:
    """Draw a release of one or two columns, with the band of its noise."""
    from sfumato.cli.pictures import draw

    release = load_function(file)
    path = output_path(file, output, ".png")
    with working(ctx, "drawing"):
        draw(release, path, confidence)
    show(ctx, {"written": str(path)}, str(path))


def report(
    ctx: typer.Context,
    file: File,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="HTML", help="The page; next to FILE if left out.")
    ] = None,
    confidence: Confidence = 0.95,
) -> None:
    """Write one HTML page about a release, for people who will not run any code."""
    release = load_function(file)
    path = output_path(file, output, ".html")
    with working(ctx, "writing the report"):
        release.report(path, confidence)
    show(ctx, {"written": str(path)}, str(path))
