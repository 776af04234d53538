"""Pictures of a statistic: a number with its limits, bars with whiskers, or a table as a map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.statistics.magnitudes import Magnitudes
from sfumato.bases.statistics.quantiles import Quantiles
from sfumato.bases.statistics.sums import Tally
from sfumato.core.box import Interval
from sfumato.drawing.painter import Painter
from sfumato.drawing.style import (
    LIGHT,
    MUTED,
    TITLE,
    VALUES,
    add_bar,
    add_caption,
    colours,
    ink,
    ink_on,
    plain_ticks,
    rules,
    tidy,
)
from sfumato.extras import need
from sfumato.faces.promise import short
from sfumato.faces.value import Figures, ValueFace
from sfumato.faces.words import number, plain, wrap
from sfumato.releases.value import ValueRelease

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

MOST_BARS = 30
_MOST_CELLS = 80  # of a map that have their number written in them
_MOST_TICKS = 8
_FILL = 0.62  # how dense a bar's colour is


def _size(seen: Figures, _: bool = False) -> tuple[float, float]:
    if seen.single or isinstance(seen.release.summary, Magnitudes):
        return 7.2, 2.3
    if seen.value.ndim == 2:
        return 7.2, min(6.4, 2.2 + 0.42 * seen.value.shape[int(_is_plane(seen))])
    return (7.2, 4.6) if _along_axis(seen) else (7.2, 1.9 + 0.3 * min(seen.value.size, MOST_BARS))


def _page_size(seen: Figures, stacked: bool) -> tuple[float, float]:
    high = _size(seen)[1]
    return (3.5, high + 0.5) if stacked else (8.2, high)


def _fill(figure: Figure, seen: Figures, axes: Sequence[Axes], stacked: bool) -> None:
    ax = axes[0]
    draw_value(seen, ax, 40 if stacked else 80)
    if seen.value.ndim < 2:
        rules(ax, "y" if _along_axis(seen) else "x")
    tidy(figure, [], [ax], 44 if stacked else 84, stacked)


def draw_value(seen: Figures, ax: Axes, chars: int) -> None:
    """Draw on anybody's axes of about ``chars`` characters' width."""
    face, words = ValueFace(seen.release), short(seen.release.guarantee)
    title = f"{face.quantity} of {plain(face.subject)}"
    if isinstance(seen.release.summary, Magnitudes):
        _draw_span(seen, ax, chars)
    elif seen.single:
        _draw_single(seen, ax, chars)
    elif seen.value.ndim == 2:
        title += _draw_map(seen, ax, chars)
    elif _along_axis(seen):
        _draw_histogram(seen, ax, chars)
    else:
        title += _draw_bars(seen, ax, chars)
    ax.set_title(wrap(title, chars), loc="left", pad=11, fontsize=TITLE, parse_math=False)
    add_caption(ax, f"{words}\n{_limit_words(seen)}" if seen.low is not None else words, chars)


def _limit_words(seen: Figures) -> str:
    """What the whiskers are."""
    share = f"{100 * seen.confidence:.10g} % limits of what the records themselves give"
    if seen.value.ndim == 2 and seen.value.size > _MOST_CELLS:
        assert seen.reach is not None
        return f"{share}, all at once: within {number(float(seen.reach.max()))} of each"
    mark = "\N{PLUS-MINUS SIGN}" if seen.value.ndim == 2 and not seen.single else "whiskers"
    bare = "; where they are the bounds of the column, nothing closer is known" if seen.uninformed else ""
    return f"{mark}: {share}{'' if seen.single else ', all at once'}{bare}"


def _along_axis(seen: Figures) -> bool:
    """Whether its bars stand on an axis of numbers."""
    return (
        isinstance(seen.release.summary, Tally)
        and seen.value.ndim == 1
        and isinstance(seen.release.box.columns[0], Interval)
    )


def _whiskers(seen: Figures, kept: Any = slice(None)) -> Floats:
    """Distances to both limits, ``(2, m)``."""
    assert seen.low is not None and seen.high is not None
    value, low, high = (part.ravel()[kept] for part in (seen.value, seen.low, seen.high))
    return np.asarray(np.maximum(np.stack([value - low, high - value]), 0.0))


# --- one number -------------------------------------------------------------------------------------------------


def _draw_single(seen: Figures, ax: Axes, chars: int) -> None:
    assert seen.low is not None and seen.high is not None
    value, low, high = (float(part.ravel()[0]) for part in (seen.value, seen.low, seen.high))
    ax.errorbar(
        [value], [0], xerr=_whiskers(seen), fmt="none", ecolor=colours(ax)[0], elinewidth=3, capsize=7, capthick=2
    )
    ax.plot([value], [0], marker="o", markersize=10, color=colours(ax)[0], linestyle="none", zorder=3)
    _write(ax, value, seen.texts((0,) * seen.value.ndim)[0])
    _one_line(ax, low, high, seen.release, chars)


def _draw_span(seen: Figures, ax: Axes, chars: int) -> None:
    """Private bounds: from one to the other."""
    low, high = (float(end) for end in seen.value)
    ax.plot([low, high], [0, 0], color=colours(ax)[0], linewidth=5, solid_capstyle="butt")
    for place, end in enumerate((low, high)):
        _write(ax, end, seen.texts((place,))[0])
    _one_line(ax, low, high, seen.release, chars)


def _write(ax: Axes, x: float, text: str) -> None:
    ax.annotate(
        text.replace("-", "\N{MINUS SIGN}"),
        (x, 0),
        (0, 13),
        textcoords="offset points",
        ha="center",
        fontsize=13,
        color=ink(ax),
        parse_math=False,
    )


def _one_line(ax: Axes, low: float, high: float, release: ValueRelease, chars: int) -> None:
    """An axis with room on both sides, and no height to speak of."""
    room = 0.3 * (high - low) or max(1.0, 0.1 * abs(high))
    ax.set_xlim(low - room, high + room)
    ax.set_ylim(-0.6, 1.0)
    ax.set_yticks([])
    whole, count = release.statistic == "count", 4 if chars < 60 else 8
    locator = need("matplotlib.ticker", "plot").MaxNLocator(count, steps=[1, 2, 2.5, 5, 10], integer=whole)
    ax.xaxis.set_major_locator(locator)
    factor = plain_ticks(ax.xaxis, max(abs(low), abs(high)))
    ax.set_xlabel(wrap(_measured(release) + factor, chars), parse_math=False)


def _measured(release: ValueRelease) -> str:
    """What the numbers along an axis are numbers of: the column's own, or another quantity."""
    same = release.statistic in ("count", "mean", "median", "quantiles", "bounds")
    face = ValueFace(release)
    return plain(face.subject if same else face.quantity)


# --- bars -------------------------------------------------------------------------------------------------------


def _draw_histogram(seen: Figures, ax: Axes, chars: int) -> None:
    column = seen.release.box.columns[0]
    assert isinstance(column, Interval)
    edges = np.linspace(column.low, column.high, seen.value.size + 1)
    middles, width = (edges[1:] + edges[:-1]) / 2, edges[1] - edges[0]
    ax.bar(middles, seen.value, 0.94 * width, color=_clear(colours(ax)[0]), linewidth=0)
    cap = 2.5 if seen.value.size <= 40 else 0
    ax.errorbar(middles, seen.value, yerr=_whiskers(seen), fmt="none", ecolor=ink(ax), elinewidth=1, capsize=cap)
    ax.set_xlim(edges[0], edges[-1])
    ax.set_ylim(bottom=0)
    ax.set_xlabel(wrap(plain(seen.release.box.names[0]), chars), parse_math=False)


def _draw_bars(seen: Figures, ax: Axes, chars: int) -> str:
    """Bars to the right, or dots for quantiles; the largest ones if there are many. Returns more of the title."""
    size, dots = seen.value.size, isinstance(seen.release.summary, Quantiles)
    kept = np.sort(np.argsort(-np.abs(seen.value), kind="stable")[:MOST_BARS])
    places, values = np.arange(len(kept), dtype=np.float64), seen.value[kept]
    if dots:
        ax.plot(values, places, "o", markersize=6, color=colours(ax)[0], zorder=3)
    else:
        ax.barh(places, values, height=0.62, color=_clear(colours(ax)[0]), linewidth=0)
        ax.axvline(0, color=MUTED, linewidth=0.9, zorder=1)
    outline = colours(ax)[0] if dots else ink(ax)
    ax.errorbar(values, places, xerr=_whiskers(seen, kept), fmt="none", ecolor=outline, elinewidth=1.1, capsize=2.5)
    names = [plain(seen.release.labels[0][i], chars // 3) for i in kept]
    ax.set_yticks(places, names, parse_math=False)
    ax.set_ylim(len(kept) - 0.4, -0.6)
    ax.set_xlabel(wrap(_measured(seen.release) if dots else ValueFace(seen.release).quantity, chars), parse_math=False)
    if dots:
        ax.set_ylabel("level")
    if seen.counts:
        ax.set_xlim(left=0)
    return "" if size <= MOST_BARS else f": the {MOST_BARS} largest of {size:,}"


def _clear(colour: str) -> Any:
    return need("matplotlib.colors", "plot").to_rgba(colour, _FILL)


# --- maps -------------------------------------------------------------------------------------------------------


def _draw_map(seen: Figures, ax: Axes, chars: int) -> str:
    """A table as a map, its numbers in its cells where there is room; returns the power of ten for the title."""
    colors = need("matplotlib.colors", "plot")
    cmap = colors.LinearSegmentedColormap.from_list("sfumato", VALUES)
    lowest, highest = min(0.0, float(seen.value.min())), float(seen.value.max())
    norm = colors.Normalize(lowest, highest if highest > lowest else lowest + 1.0)
    turned = _is_plane(seen)
    drawn = ax.pcolormesh(seen.value.T if turned else seen.value, cmap=cmap, norm=norm, edgecolors=LIGHT, linewidth=0.6)
    for axis, place in ((ax.yaxis, int(turned)), (ax.xaxis, 1 - int(turned))):
        _ticks(seen, axis, place, chars)
    if not turned:
        ax.invert_yaxis()  # a table is read from the top
    ax.tick_params(length=0)
    for side in ("bottom", "left"):
        ax.spines[side].set_visible(False)
    if seen.value.size > _MOST_CELLS:
        levels = need("matplotlib.ticker", "plot").MaxNLocator(8).tick_values(lowest, highest)
        return add_bar(ax, drawn, levels[(lowest <= levels) & (levels <= highest)])
    _write_cells(seen, ax, lambda value: cmap(norm(value)), chars)
    return ""


def _is_plane(seen: Figures) -> bool:
    """Whether both axes are numbers: the first then goes to the right and the second up, as in every plot."""
    columns = seen.release.box.columns
    return isinstance(seen.release.summary, Tally) and all(isinstance(column, Interval) for column in columns)


def _write_cells(seen: Figures, ax: Axes, paint: Any, chars: int) -> None:
    """Each number in its cell, and below it how far its limits reach."""
    turned = _is_plane(seen)
    across = seen.value.shape[0 if turned else 1]
    size = float(np.clip(1.5 * chars / across, 5.0, 9.5))
    for place, value in np.ndenumerate(seen.value):
        text = seen.texts(place)[0].replace("-", "\N{MINUS SIGN}")
        words = f"{text}\n\N{PLUS-MINUS SIGN}{seen.reach_text(place)}"
        across_at, down_at = place if turned else place[::-1]
        where = (across_at + 0.5, down_at + 0.5)
        ax.text(
            *where,
            words,
            ha="center",
            va="center",
            fontsize=size,
            color=ink_on(paint(value)),
            linespacing=1.3,
            parse_math=False,
        )


def _ticks(seen: Figures, axis: Any, place: int, chars: int) -> None:
    """Names in the middle of cells; for numbers, the edges between them."""
    release, names = seen.release, seen.release.labels[place]
    column = release.box.columns[place] if isinstance(release.summary, Tally) else None
    head = plain(release.box.names[place]) if column is not None else ""
    axis.set_label_text(wrap(head, chars // 2), parse_math=False)
    if isinstance(column, Interval):
        edges = np.linspace(column.low, column.high, len(names) + 1)
        step = 1 + (len(names) - 1) // _MOST_TICKS
        axis.set_ticks(np.arange(0, len(names) + 1, step), [number(edge, 4) for edge in edges[::step]])
        return
    step = 1 + (len(names) - 1) // MOST_BARS
    room = chars // 4 if axis.axis_name == "y" else max(4, chars // len(names))
    axis.set_ticks(np.arange(0, len(names), step) + 0.5, _short_names(names[::step], room), parse_math=False)


def _short_names(names: Sequence[str], room: int) -> list[str]:
    return [plain(name, room) for name in names]


PAINTER = Painter(
    needed=lambda _: 1,
    shape=lambda *_: (1, 1),
    size=_size,
    page_size=_page_size,
    draw=lambda seen, axes: draw_value(seen, axes[0], 60),
    fill=_fill,
)
