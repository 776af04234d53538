"""The commands that draw a release and write a page about it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli import options
from sfumato.cli.output import show, working
from sfumato.cli.reader import load


def plot(
    ctx: typer.Context,
    file: options.ReleaseFile,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="PICTURE", help="A .png, .svg or .pdf; next to FILE if left out."),
    ] = None,
    confidence: options.Confidence = 0.95,
    group: options.Group = None,
    to_scale: options.Map = False,
) -> None:
    """Draw a release of one or two columns, with its band; with more, column by column.

    A naive Bayes classifier is drawn as its likelihoods, column by column. A statistic is drawn with its limits.
    """
    from sfumato.drawing.files import draw

    release = load(ctx, file)
    path = options.output_path(file, output, ".png")
    with working(ctx, "drawing"):
        draw(release, path, confidence, map=to_scale, group=group)
    show(ctx, {"written": str(path)}, str(path))


def report(
    ctx: typer.Context,
    file: options.ReleaseFile,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="HTML", help="The page; next to FILE if left out.")
    ] = None,
    confidence: options.Confidence = 0.95,
    group: options.Group = None,
    to_scale: options.Map = False,
) -> None:
    """Write one HTML page about a release, for people who will not run any code."""
    from sfumato.pages import write

    release = load(ctx, file)
    path = options.output_path(file, output, ".html")
    with working(ctx, "writing the report"):
        write(release, path, confidence, map=to_scale, group=group)
    show(ctx, {"written": str(path)}, str(path))
