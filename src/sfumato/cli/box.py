"""The command that drafts a box file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options import box_option, declared_box, settings
from sfumato.cli.output import show
from sfumato.errors import ParameterError, SchemaError


def box(
    ctx: typer.Context,
    data: Annotated[Path, typer.Argument(metavar="DATA", help="A CSV or Parquet file.", show_default=False)],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="TOML", help="Where to write; - for stdout.")
    ] = Path("columns.toml"),
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    check: Annotated[Path | None, box_option] = None,
) -> None:
    """Draft a box file for a table: the names of its columns, with bounds for you to fill in.

    Nothing else is taken from the data: bounds and categories must be known without looking at them. With --box,
    check a filled-in file against the table's columns instead.
    """
    from sfumato.boxfile import column_types, template

    columns = column_types(data)
    if check is not None:
        checked = declared_box(check)
        missing = [name for name in checked.names if name not in dict(columns)]
        if missing:
            raise SchemaError(f"{check}: column {missing[0]!r} is not in {data.name}")
        show(ctx, {"box": str(check), "columns": list(checked.names)}, f"{check}: {checked!r} fits {data.name}")
        return
    text = template(columns, data.name)
    listed = [{"name": name, "type": kind} for name, kind in columns]
    if str(output) == "-":
        if settings(ctx).json:
            show(ctx, {"columns": listed, "template": text})
        else:
            typer.echo(text, nl=False)  # as it is: a file that is wrapped at the terminal's width is another file
        return
    try:
        # A box file that was filled in is work: it is replaced on request only.
        with output.open("w" if force else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise ParameterError(
            f"{output}: is there already; choose another name with -o, or replace it with --force"
        ) from None
    words = f"{output}: {len(columns)} columns, bounds to be filled in"
    show(ctx, {"written": str(output), "columns": listed}, words)
