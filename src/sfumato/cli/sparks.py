"""Small pictures for a terminal: block characters, nothing to install and nothing to open."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from sfumato.bases.unit import from_unit
from sfumato.cli.output import printable
from sfumato.core.box import Box
from sfumato.plotting.words import number
from sfumato.releases.density import DensityRelease
from sfumato.releases.grouped import GroupedDensityRelease
from sfumato.report.densities import one_column, parts_of

_BLOCKS = " ▁▂▃▄▅▆▇█"
_EIGHTHS = " ▏▎▍▌▋▊▉█"
WIDTH = 60


def spark_lines(release: DensityRelease | GroupedDensityRelease, console: Console) -> list[str]:
    """One picture for each column and group; none where the terminal cannot show block characters."""
    if not shows_blocks(console):
        return []
    parts, lines = parts_of(release), []
    for column in release.box.names:
        found = [(group, one_column(part, column)) for group, part in parts.items()]
        curves = [(group, _values(alone)) for group, alone in found if alone is not None]
        highest = max((max(values) for _, values in curves), default=0.0)
        for group, values in curves:
            height = 4 if len(parts) == 1 and release.box.dimension == 1 else 2
            lines += [*blocks(values, highest, height), axis_line(release.box, column, group), ""]
    return lines[:-1]


def spark_picture(release: DensityRelease | GroupedDensityRelease, console: Console) -> Text | None:
    """The same as something to print."""
    lines = spark_lines(release, console)
    return Text("\n".join(f"  {printable(line)}" for line in lines), style="cyan") if lines else None


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


def _values(alone: DensityRelease) -> list[float]:
    import numpy as np

    unit = (np.arange(WIDTH) + 0.5) / WIDTH
    points = from_unit(alone.box, unit[:, None])
    return [max(0.0, float(value)) for value in alone(points)]


def axis_line(box: Box, column: str, group: str) -> str:
    """Both ends of the column, its name between them, and the group."""
    kind = box.intervals()[box.names.index(column)]
    low, high = number(kind.low, 4), number(kind.high, 4)
    name = column if not group else f"{column}, {group}"
    return f"{low}{name:^{max(1, WIDTH - len(low) - len(high))}}{high}"


def blocks(values: Sequence[float], highest: float, height: int) -> list[str]:
    """Columns of block characters, from the top line down.

    >>> blocks([0.0, 1.0, 2.0, 4.0], 4.0, 2)
    ['   █', ' ▄██']
    """
    steps = [round(8 * height * value / highest) if highest > 0 else 0 for value in values]
    return ["".join(_BLOCKS[min(8, max(0, step - 8 * row))] for step in steps) for row in range(height - 1, -1, -1)]
