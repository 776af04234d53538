"""What the commands print: plain tables for people, one JSON document for programs."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from sfumato.cli.options import settings
from sfumato.harmless import printable

__all__ = ["facts", "late", "printable", "screen", "show", "table", "working"]

_PATIENCE = 1.0  # seconds of silence before anything moves
_MOVING: list[Any] = []  # what moves, or will, if it takes a while


def screen() -> Console:
    """Where results go; numbers keep one colour and brackets stay brackets."""
    return Console(highlight=False, markup=False, emoji=False)


def show(ctx: typer.Context, data: Any, *parts: RenderableType) -> None:
    """Print ``data`` as JSON if ``--json`` was given, otherwise ``parts``, one below the other."""
    if settings(ctx).json:
        typer.echo(json.dumps(_plain(data), indent=2, allow_nan=False))
        return
    console = screen()
    for part in parts:
        shown = Text(printable(part)) if isinstance(part, str) else part
        # In a pipe a sentence stays one line, for the next program to find.
        console.print(shown, soft_wrap=isinstance(shown, Text) and not console.is_terminal)


def _plain(data: Any) -> Any:
    """JSON has no infinities: they become null."""
    if isinstance(data, dict):
        return {key: _plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_plain(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


def facts(rows: Iterable[tuple[str, Sequence[str]]]) -> RenderableType:
    """Names on the left, what they are on the right: one text a line."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, lines in rows:
        grid.add_row(printable(name), Text("\n".join(printable(line) for line in lines)))
    return Padding(grid, (0, 0, 0, 2), expand=False)


def table(head: Sequence[str], rows: Iterable[Sequence[object]], numbers: Sequence[str] = ()) -> RenderableType:
    """A table without rules; the columns in ``numbers`` are aligned to the right."""
    made = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in head:
        made.add_column(printable(name), overflow="fold", justify="right" if name in numbers else "left")
    for row in rows:
        made.add_row(*(Text(printable(cell)) for cell in row))
    return Padding(made, (0, 0, 0, 2), expand=False)


@contextmanager
def working(ctx: typer.Context, what: str) -> Iterator[None]:
    """Say on a terminal that something takes a while; on anything else say nothing."""
    console = Console(stderr=True, highlight=False)
    if settings(ctx).json or not console.is_terminal:
        yield
        return
    with late(console.status(Text(what))):
        yield


@contextmanager
def late(live: Any) -> Iterator[None]:
    """Start something that moves on a terminal if the block takes a while, and stop it at the end.

    Inside another such block nothing is started: a terminal has room for one, and the outer one says what goes on.
    """
    if _MOVING:
        yield
        return
    timer = threading.Timer(_PATIENCE, live.start)
    timer.daemon = True
    _MOVING.append(live)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        live.stop()
        _MOVING.remove(live)
