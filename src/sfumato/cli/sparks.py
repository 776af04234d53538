"""Small pictures for a terminal: block characters, nothing to install and nothing to open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from sfumato.cli.output import printable
from sfumato.core.box import Box
from sfumato.faces.density import Spark
from sfumato.faces.value import Entry, Figures
from sfumato.faces.views import SKETCHED, Sketch
from sfumato.faces.words import number

_BLOCKS = " ▁▂▃▄▅▆▇█"
_EIGHTHS = " ▏▎▍▌▋▊▉█"
WIDTH = SKETCHED
_HEIGHT = 5  # lines of a curve
_MOST_LINES = 60  # of a table on a terminal
_WIDEST_BAR = 36


def shows_blocks(console: Console) -> bool:
    """Whether a terminal can show block characters."""
    try:
        (_BLOCKS + _EIGHTHS).encode(console.encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def bar(share: float, width: int) -> str:
    """A bar to the right, in eighths of a character.

    >>> bar(0.5, 3), bar(1.0, 2)
    ('█▌', '██')
    """
    steps = round(8 * width * min(1.0, max(0.0, share)))
    return ("█" * (steps // 8) + _EIGHTHS[steps % 8]).rstrip()


def axis_line(box: Box, column: str, group: str) -> str:
    """Both ends of the column, its name between them, and the group."""
    kind = box.intervals()[box.names.index(column)]
    low, high = (bound if isinstance(bound, str) else number(bound, 4) for bound in kind.bounds)
    name = column if not group else f"{column}, {group}"
    return f"{low}{name:^{max(1, WIDTH - len(low) - len(high))}}{high}"


def blocks(values: Sequence[float], highest: float, height: int) -> list[str]:
    """Columns of block characters, from the top line down.

    >>> blocks([0.0, 1.0, 2.0, 4.0], 4.0, 2)
    ['   █', ' ▄██']
    """
    steps = [round(8 * height * value / highest) if highest > 0 else 0 for value in values]
    return ["".join(_BLOCKS[min(8, max(0, step - 8 * row))] for step in steps) for row in range(height - 1, -1, -1)]


def sketched(sketch: Any, console: Console) -> RenderableType | None:
    """What a face would have a terminal draw; None where there is nothing, or the terminal cannot show it."""
    if isinstance(sketch, Figures):
        return _figures(sketch, console)
    if not sketch or not shows_blocks(console):
        return None
    lines = _curve(sketch) if isinstance(sketch, Sketch) else _sparks(sketch)
    return Text("\n".join(f"  {printable(line)}" for line in lines), style="cyan")


def _sparks(sparks: Sequence[Spark]) -> list[str]:
    """Densities in block characters, one below the other."""
    lines = []
    for one in sparks:
        lines += [*blocks(one.values.tolist(), one.highest, one.height), axis_line(one.box, one.column, one.group), ""]
    return lines[:-1]


def _curve(sketch: Sketch) -> list[str]:
    """A curve of one column in block characters, from its lowest value to its highest."""
    lowest, highest = float(np.nanmin(sketch.values)), float(np.nanmax(sketch.values))
    room = (highest - lowest) / 8 or 1.0  # the lowest value is seen too
    heights = [0.0 if np.isnan(v) else float(v) - lowest + room for v in sketch.values]
    lines = blocks(heights, highest - lowest + room, _HEIGHT)
    lines[0] += f"  {number(highest, 4)}"
    lines[-1] += f"  {number(lowest, 4)}"
    return [*lines, axis_line(sketch.box, sketch.box.names[0], "")]


def _figures(seen: Figures, console: Console) -> RenderableType:
    """The value with its limits, or a table of several; bars where they are counts and the terminal can draw them."""
    shown = seen.entries(_MOST_LINES)
    if seen.single:
        (one,) = shown
        sure = f"confidence {seen.confidence:g}"
        known = "the bounds of the column: nothing closer is known" if seen.uninformed else sure
        return Text.assemble("  ", (one.value, "bold cyan"), f"   {one.low} to {one.high} ({known})")
    made = _table(seen, shown, _bar_width(seen, shown, console))
    if seen.count > _MOST_LINES:
        made.caption = f"and {seen.count - _MOST_LINES:,} more; --json prints them all"
        made.caption_justify = "left"
    return Padding(made, (0, 0, 0, 2), expand=False)


def _table(seen: Figures, shown: list[Entry], bars: int) -> Table:
    made = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for head in seen.heads:
        made.add_column(printable(head), overflow="fold")
    made.add_column("value", justify="right", style="cyan", no_wrap=True)
    if seen.low is not None:
        made.add_column(_limits_head(seen), no_wrap=True)
    if bars:
        made.add_column("", no_wrap=True, style="cyan")
    for entry in shown:
        cells = [*map(printable, entry.names), entry.value]
        cells += [] if entry.low is None else [f"{entry.low} to {entry.high}"]
        made.add_row(*(Text(cell) for cell in [*cells, *([bar(entry.share, bars)] if bars else [])]))
    return made


def _limits_head(seen: Figures) -> str:
    return f"{100 * seen.confidence:.10g} % limits"


def _bar_width(seen: Figures, shown: list[Entry], console: Console) -> int:
    """What is left of a line for bars; none where they would be too short to compare."""
    if not seen.counts or not shows_blocks(console):
        return 0
    columns = [[entry.names[i] for entry in shown] + [head] for i, head in enumerate(seen.heads)]
    columns += [
        [entry.value for entry in shown] + ["value"],
        [f"{e.low} to {e.high}" for e in shown] + [_limits_head(seen)],
    ]
    taken = sum(max(map(len, column)) + 2 for column in columns) + 4
    left = min(_WIDEST_BAR, console.width - taken)
    return left if left >= 10 else 0
