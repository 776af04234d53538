"""The command that evaluates a release: CSV files of public points in, values with their bands out."""

from __future__ import annotations

import io
import math
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.checks import near_miss
from sfumato.cli import options
from sfumato.cli.output import show, working
from sfumato.cli.reader import load
from sfumato.errors import OutsideBoxError, ParameterError, SchemaError
from sfumato.harmless import cell

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.box import Box

Row = tuple[int, list[str]]  # the number of its line, and its cells


def evaluate(
    ctx: typer.Context,
    file: options.ReleaseFile,
    points: Annotated[
        str,
        typer.Argument(
            metavar="POINTS", help="A CSV file with the columns of the box, or - for stdin.", show_default=False
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="CSV", help="Where to write; stdout if left out.")
    ] = None,
    confidence: options.Confidence = 0.95,
    outside: Annotated[
        str, typer.Option(metavar="refuse|clip", help="What to do with points outside the box.")
    ] = "refuse",
    include: Annotated[
        str | None,
        typer.Option(
            metavar="noise|total|worst", help="What the band allows for; noise, and total for densities and curves."
        ),
    ] = None,
    group: options.Group = None,
) -> None:
    """Evaluate a release at the points of a CSV file, with its band; every group of one, one after the other."""
    from sfumato.faces import face_of

    release = face_of(_load_function(ctx, file), group=group).release
    target = None if output is None else options.output_path(file, output, ".csv")
    with working(ctx, f"reading {'stdin' if points == '-' else Path(points).name}"):
        at = read_points(points, release.box)
    settled = {"confidence": confidence, "outside": outside, **({} if include is None else {"include": include})}
    with working(ctx, f"evaluating {len(at):,} points"):
        found = _groups_at(release, at, settled)
    by = [name for name in (face_of(release).by,) if name is not None]
    names = [*release.box.names, *by, "value", "low", "high"]
    with working(ctx, "writing the values"):
        text = values_csv(names, [[*row, *[group][: len(by)], *rest] for group, row, *rest in found])
    if target is not None:
        target.write_text(text, "utf-8")
        show(ctx, {"written": str(target), "points": len(at)}, f"{target}: {len(at):,} points")
    elif options.settings(ctx).json:
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
            limits = zip(_told(release.box, at), value.tolist(), low.tolist(), high.tolist(), strict=True)
            rows += [(name, point, *rest) for point, *rest in limits]
    return rows


def _told(box: Box, at: Any) -> list[list[Any]]:
    """The points as they are written: dates as text."""
    from sfumato.core.box import Date
    from sfumato.dates import iso

    kinds = box.columns
    return [
        [iso(v, bool(kind.zoned)) if isinstance(kind, Date) else v for kind, v in zip(kinds, point, strict=True)]
        for point in at.tolist()
    ]


def _points_data(names: tuple[str, ...], found: list[Any]) -> dict[str, Any]:
    """Values and bands, point by point; a column may be called anything, also ``value``."""
    rows = []
    for group, point, value, low, high in found:
        own = {} if group is None else {"group": group}
        rows.append({"point": dict(zip(names, point, strict=True)), **own, "value": value, "low": low, "high": high})
    return {"points": rows}


def _load_function(ctx: typer.Context, path: Path) -> Any:
    """Load a release, refusing one that is neither a function nor a group of them."""
    from sfumato.faces import face_of

    release = load(ctx, path)
    face = face_of(release)
    if "evaluate" not in face.serves:
        hint = "" if face.use is None else f"; use 'sfumato {face.use}'"
        raise ParameterError(f"{path}: a release of kind {release.kind!r}, this needs a function{hint}")
    return release


def read_points(source: str, box: Box) -> NDArray[np.float64]:
    """Read ``(m, l)`` points from a CSV file, its columns in the order of the box.

    Parameters
    ----------
    source
        A path, or ``-`` for stdin.
    box
        Its names are looked for in the first line. For a box without names the columns are taken in order, and the
        first line may be a point already.
    """
    import numpy as np

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
    points = [_point(name, row, places, len(head), box) for row in body]
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
    import csv

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
            f"{near_miss(column, head) if column not in head else ''}"
        )
    return head.index(column)


def _point(name: str, row: Row, places: Sequence[int], width: int, box: Box) -> list[float]:
    from sfumato.core.box import Date
    from sfumato.dates import as_days

    line, cells = row
    if len(cells) != width:
        raise SchemaError(f"{name}, line {line}: {len(cells)} cells, the first line has {width}")
    found = []
    for place, column, kind in zip(places, box.names, box.columns, strict=True):
        wanted, cell = "date" if isinstance(kind, Date) else "number", cells[place]
        value = as_days(cell) if wanted == "date" else float(cell) if _is_number(cell) else math.nan
        if math.isnan(value):
            raise ParameterError(f"{name}, line {line}, column {column!r}: {cell!r} is not a {wanted}")
        found.append(value)
    return found


def _is_number(cell: str) -> bool:
    """Whether a cell is a finite number; Python would also take ``1_000`` and ``nan``."""
    try:
        return "_" not in cell and math.isfinite(float(cell))
    except ValueError:
        return False


def values_csv(names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """The text of a CSV file, harmless to a spreadsheet; every number with all its digits."""
    import csv

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(cell, names))
    writer.writerows(map(cell, row) for row in rows)
    return text.getvalue()
