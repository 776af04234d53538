"""Statistics in words, as a table for a terminal, and in plain data."""

from __future__ import annotations

from typing import Any

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from sfumato.cli.output import printable
from sfumato.cli.sparks import bar, shows_blocks
from sfumato.cli.words import noise_lines
from sfumato.plotting.figures import Entry, Figures, selection_of
from sfumato.releases.value import ValueRelease

_MOST_LINES = 60  # of a table on a terminal
_WIDEST_BAR = 36
_MISSING = {
    "drop": "records with a missing value count for nothing",
    "none": "stated publicly that nothing is missing",
}


def value_picture(seen: Figures, console: Console) -> RenderableType:
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


def value_facts(seen: Figures) -> list[tuple[str, list[str]]]:
    """What there is to say of a statistic and of no other release."""
    release = seen.release
    missing = _MISSING.get(dict(release.target).get("missing values", ""))
    return [
        ("limits", _limit_lines(seen)),
        ("records", ["private" if release.rows is None else f"{release.rows:,} (public)"]),
        *([] if missing is None else [("missing", [missing])]),
    ]


def _limit_lines(seen: Figures) -> list[str]:
    if seen.low is None:
        return ["none: the bounds are cautious by themselves; values that few records have may lie outside"]
    every = "" if seen.single else ", for all values at once"
    clipped = "" if seen.release.statistic == "your own" else ", brought into the box"
    lines = [f"of what the records themselves give{clipped}{every}; not of a population"]
    if seen.uninformed:
        lines.append("some are the bounds of the column: --interval-share 0.3 --missing none pays for closer ones")
    return lines


def assumed_lines(release: ValueRelease) -> list[str]:
    """What the numbers and their promise rest on that no code can check."""
    bounds = [] if release.statistic == "bounds" else ["bounds and categories are public knowledge, not from the data"]
    missing = [_MISSING["none"]] if dict(release.target).get("missing values") == "none" else []
    return [*release.guarantee.assumptions, *bounds, *missing]


def noise_rows(release: ValueRelease) -> list[tuple[str, list[str]]]:
    """The noise, or how a quantile was chosen."""
    law = release.law
    return [("noise", choice_lines(release) if law is None else noise_lines(law))]


def choice_lines(release: ValueRelease) -> list[str]:
    """How a quantile was chosen, in place of noise."""
    told = selection_of(release)
    assert told is not None
    several = "" if told["choices"] == 1 else f", {told['choices']} times from one budget"
    return [
        f"none: chosen by {told['mechanism']}{several}",
        f"from {told['candidates']:,} public values, {told['lowest']:.10g} to {told['highest']:.10g} in steps of "
        f"{told['step']:g}",
    ]


def value_data(seen: Figures) -> dict[str, Any]:
    """The same as plain data, with every number."""
    release, limits = seen.release, None
    if seen.low is not None and seen.high is not None:
        limits = {"low": seen.low.tolist(), "high": seen.high.tolist(), "confidence": seen.confidence}
    return {
        "statistic": release.statistic,
        "value": seen.value.tolist(),
        "interval": limits,
        "labels": release.labels,
        "rows": release.rows,
        "missing": dict(release.target).get("missing values"),
        "summary": release.summary.to_json(),
        "numbers": release.numbers.tolist(),
        "selection": selection_of(release),
        "assumed": assumed_lines(release),
    }
