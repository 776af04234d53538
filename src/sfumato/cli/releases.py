"""Commands that read a release: inspect, evaluate, plot, report. None of them spends anything."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from sfumato.cli.options import Confidence, load, settings
from sfumato.cli.output import facts, printable, screen, show, working
from sfumato.errors import OutsideBoxError, ParameterError

File = Annotated[Path, typer.Argument(metavar="FILE", help="A release, such as age.sfumato.", show_default=False)]
Limits = Annotated[float, typer.Option(help="Of the limits of a statistic.")]
Group = Annotated[str | None, typer.Option("--group", metavar="NAME", help="One group of a release that has groups.")]


def load_function(ctx: typer.Context, path: Path) -> Any:
    """Load a release, refusing one that is neither a function nor a group of them."""
    from sfumato.faces import face_of

    release = load(ctx, path)
    face = face_of(release)
    if "evaluate" not in face.serves:
        hint = "" if face.use is None else f"; use 'sfumato {face.use}'"
        raise ParameterError(f"{path}: a release of kind {release.kind!r}, this needs a function{hint}")
    return release


def of_group(release: Any, group: str | None) -> Any:
    """The release, or the one of its groups that ``--group`` names."""
    from sfumato.faces import face_of

    if group is None:
        return release
    groups = {str(category): part for category, part in face_of(release).groups.items()}
    if not groups:
        raise ParameterError(f"--group {group}: this release has no groups; leave the option out")
    if group not in groups:
        raise ParameterError(f"--group must be one of {', '.join(groups)}, got {group!r}")
    return groups[group]


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


def inspect(ctx: typer.Context, file: File, confidence: Limits = 0.95) -> None:
    """Say what a release is and what it promises; of a statistic, also its value."""
    from sfumato.cli.sparks import sketched
    from sfumato.faces import face_of
    from sfumato.faces.promise import HEADLINE, box_lines, guarantee_words, random_lines, receipt_lines

    release = load(ctx, file)
    face, promise = face_of(release, confidence), release.guarantee
    random = random_lines(promise)
    signed, signed_data = _signed(ctx, file)
    rows: list[tuple[str, list[str]]] = [
        ("what", [face.title]),
        *([("random", random)] if random else []),
        ("guarantee", [str(promise).partition(";")[0]]),
        ("in words", [guarantee_words(promise)]),
        ("rests on", [f"- {note}" for note in promise.assumptions] or ["the proofs in docs/proofs alone"]),
        ("box", box_lines(release.box)),
        *face.rows(),
        *face.details(),
        ("receipt", receipt_lines(release.receipt)),
        ("signature", [signed]),
    ]
    data = {"file": str(file), "signature": signed_data, **face.common_data(), **face.data()}
    parts: list[Any] = [Text(f"  WARNING: {HEADLINE}", style="bold yellow"), ""] if random else []
    sketch = face.sketch()
    drawn = sketched(sketch, screen())
    parts += [*([] if drawn is None else [drawn]), *([] if sketch is None else [""])]
    show(ctx, data, Text(printable(file), style="bold"), "", *parts, facts(rows))


def _signed(ctx: typer.Context, file: Path) -> tuple[str, dict[str, Any] | None]:
    """Who signed a file, in words and as plain data; ``--trust`` has been asked for when the file was read."""
    from sfumato.releases.file.container import read_bytes, unpacked
    from sfumato.releases.file.signature import check_signature, signed_with, trusted_keys

    contents, trust = unpacked(read_bytes(file)), list(settings(ctx).trust)
    if trust:  # again: it has been read again
        who = check_signature(contents, trusted_keys(trust))
        return f"by the key {who}, which you trust", {"key": who, "trusted": True}
    if contents.signature is None:
        return "none", None
    who = signed_with(contents)[0]
    return f"by the key {who}, not checked: give --trust and the public key", {"key": who, "trusted": False}


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
    include: Annotated[
        str | None,
        typer.Option(
            metavar="noise|total|worst", help="What the band allows for; noise, and total for densities and curves."
        ),
    ] = None,
    group: Group = None,
) -> None:
    """Evaluate a release at the points of a CSV file, with its band; every group of one, one after the other."""
    from sfumato.cli.points import read_points, values_csv
    from sfumato.faces import face_of

    release = of_group(load_function(ctx, file), group)
    target = None if output is None else output_path(file, output, ".csv")
    at = read_points(points, release.box)
    settled = {"confidence": confidence, "outside": outside, **({} if include is None else {"include": include})}
    with working(ctx, f"evaluating {len(at):,} points"):
        found = _groups_at(release, at, settled)
    by = [name for name in (face_of(release).by,) if name is not None]
    names = [*release.box.names, *by, "value", "low", "high"]
    text = values_csv(names, [[*row, *[group][: len(by)], *rest] for group, row, *rest in found])
    if target is not None:
        target.write_text(text, "utf-8")
        show(ctx, {"written": str(target), "points": len(at)}, f"{target}: {len(at):,} points")
    elif settings(ctx).json:
        show(ctx, _points_data(release.box.names, found))
    else:
        typer.echo(text, nl=False)


def _groups_at(release: Any, at: Any, settled: dict[str, Any]) -> list[tuple[Any, list[float], float, float, float]]:
    """Group, point, value and limits, one group after the other; one group without a name where there are none."""
    import numpy as np

    from sfumato.faces import face_of

    groups, rows = face_of(release).groups or {None: release}, []
    # A file from a stranger may hold huge coefficients; what overflows shows in the values.
    with np.errstate(all="ignore"):
        for name, part in groups.items():
            try:
                value = part(at, settled["outside"])
                low, high = part.band(at, **settled)
            except OutsideBoxError as error:
                raise OutsideBoxError(str(error).replace("pass outside='clip'", "use --outside clip")) from None
            limits = zip(at.tolist(), value.tolist(), low.tolist(), high.tolist(), strict=True)
            rows += [(name, point, *rest) for point, *rest in limits]
    return rows


def _points_data(names: tuple[str, ...], found: list[Any]) -> dict[str, Any]:
    """Values and bands, point by point; a column may be called anything, also ``value``."""
    rows = []
    for group, point, value, low, high in found:
        own = {} if group is None else {"group": group}
        rows.append({"point": dict(zip(names, point, strict=True)), **own, "value": value, "low": low, "high": high})
    return {"points": rows}


def plot(
    ctx: typer.Context,
    file: File,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="PICTURE", help="A .png, .svg or .pdf; next to FILE if left out."),
    ] = None,
    confidence: Confidence = 0.95,
    group: Group = None,
) -> None:
    """Draw a release of one or two columns, with its band; with more, column by column.

    A naive Bayes classifier is drawn as its likelihoods, column by column. A statistic is drawn with its limits.
    """
    from sfumato.drawing.files import draw

    release = of_group(load(ctx, file), group)
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
    from sfumato.pages import write

    release = load(ctx, file)
    path = output_path(file, output, ".html")
    with working(ctx, "writing the report"):
        write(release, path, confidence)
    show(ctx, {"written": str(path)}, str(path))
