"""Pictures of a statistic: a number with its limits, bars with whiskers, or a table as a map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

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
    rules,
    tidy,
)
from sfumato.drawing.ticks import column_ticks, name_axes, name_ticks, number_ticks
from sfumato.extras import need
from sfumato.faces.scales import Axis
from sfumato.faces.value import Figures
from sfumato.faces.words import distinct, number, plain, with_minus, wrap

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

MOST_BARS = 30
_MOST_CELLS = 80  # of a map that have their number written in them
_MOST_TICKS = 8
_NAME = 16  # characters of a category, at least
_FILL = 0.62  # how dense a bar's colour is


def _size(seen: Figures, _: bool = False) -> tuple[float, float]:
    if seen.single or seen.span:
        return 7.2, 2.3
    if seen.value.ndim == 2:
        return 7.2, min(6.4, 2.2 + 0.42 * seen.value.shape[int(seen.plane)])
    return (7.2, 4.6) if seen.along_axis else (7.2, 1.9 + 0.3 * min(seen.value.size, MOST_BARS))


def _page_size(seen: Figures, stacked: bool) -> tuple[float, float]:
    high = _size(seen)[1]
    return (3.5, high + 0.5) if stacked else (8.2, high)


def _fill(figure: Figure, seen: Figures, axes: Sequence[Axes], stacked: bool) -> None:
    ax = axes[0]
    draw_value(seen, ax, 40 if stacked else 80)
    if seen.value.ndim < 2:
        rules(ax, "y" if seen.along_axis else "x")
    tidy(figure, [], [ax], 44 if stacked else 84, stacked)


def draw_value(seen: Figures, ax: Axes, chars: int) -> None:
    """Draw on anybody's axes of about ``chars`` characters' width."""
    words, title = seen.promise, seen.title
    if seen.span:
        _draw_span(seen, ax, chars)
    elif seen.single:
        _draw_single(seen, ax, chars)
    elif seen.value.ndim == 2:
        title += _draw_map(seen, ax, chars)
    elif seen.along_axis:
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
    _one_line(ax, low, high, seen, chars)


def _draw_span(seen: Figures, ax: Axes, chars: int) -> None:
    """Private bounds: from one to the other."""
    low, high = (float(end) for end in seen.value)
    ax.plot([low, high], [0, 0], color=colours(ax)[0], linewidth=5, solid_capstyle="butt")
    for place, end in enumerate((low, high)):
        _write(ax, end, seen.texts((place,))[0])
    _one_line(ax, low, high, seen, chars)


def _write(ax: Axes, x: float, text: str) -> None:
    ax.annotate(
        with_minus(text),
        (x, 0),
        (0, 13),
        textcoords="offset points",
        ha="center",
        fontsize=13,
        color=ink(ax),
        parse_math=False,
    )


def _one_line(ax: Axes, low: float, high: float, seen: Figures, chars: int) -> None:
    """An axis with room on both sides, and no height to speak of."""
    room = 0.3 * (high - low) or max(1.0, 0.1 * abs(high))
    ax.set_xlim(low - room, high + room)
    ax.set_ylim(-0.6, 1.0)
    ax.set_yticks([])
    factor = _value_ticks(seen, ax, chars)
    ax.set_xlabel(wrap(seen.measured + factor, chars), parse_math=False)


def _value_ticks(seen: Figures, ax: Axes, chars: int) -> str:
    """Ticks of its own numbers to the right; returns the power of ten that they leave to the label."""
    if seen.dated:
        return column_ticks(ax.xaxis, ax.get_xlim(), chars, Axis("", dated=True))
    return number_ticks(ax.xaxis, ax.get_xlim(), chars, whole=seen.whole)


# --- bars -------------------------------------------------------------------------------------------------------


def _draw_histogram(seen: Figures, ax: Axes, chars: int) -> None:
    edges = seen.edges(0)
    assert edges is not None
    middles, width = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    ax.bar(middles, seen.value, 0.94 * width, color=_clear(colours(ax)[0]), linewidth=0)
    cap = 2.5 if seen.value.size <= 40 else 0
    ax.errorbar(middles, seen.value, yerr=_whiskers(seen), fmt="none", ecolor=ink(ax), elinewidth=1, capsize=cap)
    ax.set_xlim(edges[0], edges[-1])
    ax.set_ylim(bottom=0)
    name_axes(ax, seen.axes, chars)


def _draw_bars(seen: Figures, ax: Axes, chars: int) -> str:
    """Bars to the right, or dots for quantiles; the largest ones if there are many. Returns more of the title."""
    size, dots = seen.value.size, seen.ranked
    kept = np.sort(np.argsort(-np.abs(seen.value), kind="stable")[:MOST_BARS])
    places, values = np.arange(len(kept), dtype=np.float64), seen.value[kept]
    if dots:
        ax.plot(values, places, "o", markersize=6, color=colours(ax)[0], zorder=3)
    else:
        ax.barh(places, values, height=0.62, color=_clear(colours(ax)[0]), linewidth=0)
        ax.axvline(0, color=MUTED, linewidth=0.9, zorder=1)
    outline = colours(ax)[0] if dots else ink(ax)
    ax.errorbar(values, places, xerr=_whiskers(seen, kept), fmt="none", ecolor=outline, elinewidth=1.1, capsize=2.5)
    names = distinct([seen.labels[0][i] for i in kept], chars // 3)
    ax.set_yticks(places, names, parse_math=False)
    ax.set_ylim(len(kept) - 0.4, -0.6)
    factor = _value_ticks(seen, ax, chars - max(map(len, names)))
    ax.set_xlabel(wrap((seen.measured if dots else seen.quantity) + factor, chars), parse_math=False)
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
    turned = seen.plane
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


def _write_cells(seen: Figures, ax: Axes, paint: Any, chars: int) -> None:
    """Each number in its cell, and below it how far its limits reach."""
    turned = seen.plane
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
    names, edges = seen.labels[place], seen.edge_texts(place)
    head = plain(seen.axes[place].name) if seen.axes else ""
    axis.set_label_text(wrap(head, chars // 2), parse_math=False)
    step = 1 + (len(names) - 1) // (MOST_BARS if edges is None else _MOST_TICKS)
    shown = names[::step] if edges is None else edges[::step]
    places = step * np.arange(len(shown)) + (0.5 if edges is None else 0.0)
    if axis.axis_name == "x":
        name_ticks(axis, places, shown, chars)
    else:
        axis.set_ticks(places, distinct(shown, max(chars // 4, _NAME)), parse_math=False)


PAINTER = Painter(
    needed=lambda _: 1,
    shape=lambda *_: (1, 1),
    size=_size,
    page_size=_page_size,
    draw=lambda seen, axes: draw_value(seen, axes[0], 60),
    fill=_fill,
)
