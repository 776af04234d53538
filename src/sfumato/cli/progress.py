"""Progress while a large file streams: on a terminal, on stderr, and only if it takes a while."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from sfumato.cli.options import far_engine, settings
from sfumato.cli.output import late
from sfumato.core.box import Box
from sfumato.core.neighbours import Unit
from sfumato.engines.memory import MemoryEngine, MemoryRecords
from sfumato.engines.table import Columns, Schema, Table
from sfumato.steps import watched


class _Rows(ProgressColumn):
    """How many rows have been read, where that number is public anyway."""

    def render(self, task: Task) -> Text:
        return Text(f"{int(task.completed):,} rows" if task.completed else "")


@contextmanager
def reading(ctx: typer.Context, first: str, public_rows: bool) -> Iterator[Any]:
    """An engine that shows how it gets on; what comes after reading says itself which step it is.

    Parameters
    ----------
    first
        What is happening while records are read.
    public_rows
        Whether the number of rows may be shown: it is private where neighbours add or remove, and with persons.
    """
    far = far_engine(ctx)
    with _late_bar(ctx, first, None) as bar:
        if bar is None:
            yield far or MemoryEngine()
            return
        shown, task = bar
        with watched(lambda what: shown.update(task, description=what, completed=0)):
            yield far or WatchedEngine(lambda rows: shown.advance(task, rows if public_rows else 0))


@contextmanager
def counting(ctx: typer.Context, what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Something to call with the number of rows that have been done since.

    Parameters
    ----------
    total
        How many there are, if that is known.
    """
    with _late_bar(ctx, what, total) as bar:
        yield (lambda _: None) if bar is None else lambda rows: bar[0].advance(bar[1], rows)


@contextmanager
def _late_bar(ctx: typer.Context, what: str, total: int | None) -> Iterator[tuple[Progress, TaskID] | None]:
    """A bar on stderr that appears if it takes a while and goes away at the end; None where nobody watches."""
    console = Console(stderr=True, highlight=False)
    if settings(ctx).json or not console.is_terminal:
        yield None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), _Rows())
    bar = Progress(*columns, TimeElapsedColumn(), console=console, transient=True)
    task = bar.add_task(what, total=total)
    with late(bar):
        yield bar, task


class WatchedEngine(MemoryEngine):
    """The engine that works in memory, saying how many rows it has read."""

    def __init__(self, tick: Callable[[int], None]) -> None:
        super().__init__()
        self.__dict__["_tick"] = tick  # the dataclass is frozen

    def open(self, data: Any, box: Box, unit: Unit, columns: Columns = None) -> MemoryRecords:
        """Open the data; whoever reads them says so."""
        return MemoryRecords(_Watched(super().open(data, box, unit, columns).whole(), self.__dict__["_tick"]))


class _Watched(Table):
    """A table that says how much of it has been read."""

    def __init__(self, table: Table, tick: Callable[[int], None]) -> None:
        super().__init__(table, -1)
        self._tick = tick

    @property
    def native(self) -> Any:
        """All records as one table."""
        whole = self._given.native
        self._tick(self.rows)
        return whole

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What reading rests on."""
        return tuple(self._given.assumptions)

    @property
    def rows(self) -> int:
        """The number of records."""
        return int(self._given.rows)

    @property
    def schema(self) -> Schema:
        """What it looks like without records."""
        return self._given.schema  # type: ignore[no-any-return]

    def batches(self, box: Box, rows: int) -> Iterator[Any]:
        """The box's columns, batch by batch."""
        for columns in self._given.batches(box, rows):
            self._tick(len(columns[0]))
            yield columns
