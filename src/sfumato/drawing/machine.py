"""How the panels of a learner's picture are drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.drawing.painter import Painter
from sfumato.drawing.style import (
    DASHES,
    LEGEND,
    MUTED,
    TITLE,
    VALUES,
    WIDTHS,
    add_caption,
    add_legend,
    colours,
    draw_field,
    ink,
    rules,
    tidy,
)
from sfumato.extras import need
from sfumato.faces.slices import Curves, Regions, Slices, Slopes, Surface
from sfumato.faces.words import plain, wrap

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

_SURE, _UNSURE = 0.62, 0.2  # how dense the colour of a class is; both are drawn on top of each other
_SOLID = 1 - (1 - _SURE) * (1 - _UNSURE)
_STRIP = 0.035  # the height of the strip of labels below a curve, in axes
_ACROSS = 3  # small curves beside each other
_SMALL = {**LEGEND, "columnspacing": 2.2, "handletextpad": 0.5}


def _needed(seen: Slices) -> int:
    return 2 if isinstance(seen.panels[0], Surface) else len(seen.panels)


def _shape(seen: Slices, stacked: bool) -> tuple[int, int]:
    count = _needed(seen)
    return (count, 1) if stacked else (math.ceil(count / _ACROSS), min(count, _ACROSS))


def _size(seen: Slices, _: bool = False) -> tuple[float, float]:
    first, (rows, columns) = seen.panels[0], _shape(seen, stacked=False)
    if isinstance(first, Slopes):
        return 7.2, 1.9 + 0.3 * len(first.columns) * _rows_each(first)
    if isinstance(first, Regions):
        return 6.8, 5.4
    return (7.2, 4.6) if columns == 1 else (9.6, 4.6) if columns == 2 else (10.4, 3.7 * rows)


def _page_size(seen: Slices, stacked: bool) -> tuple[float, float]:
    first, (wide, high) = seen.panels[0], _size(seen)
    if not stacked:
        return max(8.2, min(wide, 9.2)), high
    each = high + 1.4 if isinstance(first, Slopes) else 4.4 if isinstance(first, Regions) else 3.4
    return 3.5, each * _needed(seen) + 0.8


def _fill(figure: Figure, seen: Slices, axes: Sequence[Axes], stacked: bool) -> None:
    panels, columns, needed = seen.panels, _shape(seen, stacked)[1], _needed(seen)
    chars = 40 if stacked else 80 // columns
    draw_panels(seen, axes, chars, {**_SMALL, "ncols": 1 if stacked else 4})
    curves = [ax for ax, panel in zip(axes, panels, strict=False) if isinstance(panel, Curves)]
    if len(curves) > 1:
        title = f"{seen.function}, the other columns in the middle of the box"
        _finish_small(figure, curves, wrap(title, 44 if stacked else 100), stacked)
    tidy(figure, curves if len(curves) == 1 else [], axes[:needed], 44 if stacked else 84 // columns, stacked)
    for ax in axes[needed:]:
        ax.set_axis_off()


def _finish_small(figure: Figure, curves: Sequence[Axes], title: str, stacked: bool) -> None:
    """Small curves share their heights, one title and one legend."""
    lows, highs = zip(*(ax.get_ylim() for ax in curves), strict=True)
    for ax in curves:
        ax.set_ylim(min(lows), max(highs))
        ax.set_ylabel("")
        rules(ax, "y")
    legend = curves[0].get_legend()
    assert legend is not None
    handles: list[Any] = list(legend.legend_handles)
    names = [text.get_text() for text in legend.get_texts()]
    legend.remove()
    place: dict[str, Any] = {
        "loc": "outside upper left",
        "ncols": 1 if stacked else 5,
        "alignment": "left",
        "title_fontsize": TITLE,
    }
    made = figure.legend(handles, names, title=title, **place)
    for text in (made.get_title(), *made.get_texts()):
        text.set_parse_math(False)


def draw_panels(seen: Slices, axes: Sequence[Axes], chars: int, legend: dict[str, Any]) -> None:
    """Draw panels on anybody's axes of about ``chars`` characters' width."""
    first = seen.panels[0]
    if isinstance(first, Regions):
        _draw_regions(seen, first, axes[0], chars, legend)
    elif isinstance(first, Surface):
        _draw_surface(seen, first, axes[0], axes[1], chars)
    elif isinstance(first, Slopes):
        _draw_slopes(seen, first, axes[0], chars, legend)
    else:
        shown = [panel for panel in seen.panels if isinstance(panel, Curves)]
        for place, (panel, ax) in enumerate(zip(shown, axes, strict=False)):
            _draw_curves(seen, panel, ax, chars, legend if place == 0 else None)


def _wide(legend: dict[str, Any], handles: Sequence[Any]) -> dict[str, Any]:
    """The same legend with its entries in even rows."""
    columns = legend.get("ncols", 1)
    rows = math.ceil(len(handles) / columns)
    return {**legend, "ncols": math.ceil(len(handles) / rows)} if legend else {}


def _patch(colour: str, label: str, alpha: float) -> Any:
    patch = need("matplotlib.patches", "plot").Patch
    return patch(facecolor=_clear(colour, alpha), linewidth=0, label=label)


def _clear(colour: str, alpha: float) -> Any:
    return need("matplotlib.colors", "plot").to_rgba(colour, alpha)


# --- curves -----------------------------------------------------------------------------------------------------


def _draw_curves(seen: Slices, panel: Curves, ax: Axes, chars: int, legend: dict[str, Any] | None) -> None:
    x, shades = panel.x, colours(ax)
    several, names, number = len(panel.values) > 1, seen.classes, not seen.classes
    handles: list[Any] = []
    for place, (value, low, high) in enumerate(zip(panel.values, panel.low, panel.high, strict=True)):
        colour = shades[place] if several or number else ink(ax)
        band = ax.fill_between(x, low, high, color=colour, alpha=0.14, linewidth=0, zorder=2)
        for edge in (low, high):
            ax.plot(x, edge, color=colour, alpha=0.45, linewidth=0.7, zorder=2)
        (line,) = ax.plot(x, value, color=colour, linewidth=1.9, linestyle=DASHES[place], zorder=3)
        line.set_label(names[place] if several else seen.line)
        band.set_label(f"{100 * panel.confidence:.10g} % band{' of each' if several else ''}")
        handles += [line] if place else [line, band]
    if not number:
        ax.axhline(0, color=MUTED, linewidth=0.9, zorder=1)
        bottom, top = ax.get_ylim()
        ax.set_ylim(bottom - 1.5 * _STRIP * (top - bottom), top)  # room for the strip
        handles += _strip(panel, ax, shades, names)
    ax.set_xlim(x[0], x[-1])
    ax.set_xlabel(wrap(plain(seen.names[panel.column]), chars), parse_math=False)
    ax.set_ylabel(wrap(seen.function, 40), parse_math=False)
    if legend is not None:
        add_legend(ax, handles, _wide(legend, handles))
        add_caption(ax, seen.caption, chars)


def _strip(panel: Curves, ax: Axes, shades: Sequence[str], names: Sequence[str]) -> list[Any]:
    """The label along the lower edge, hatched where the noise could have changed it; returns entries of a legend."""
    values, low, high = panel.values, panel.low, panel.high
    if len(values) == 1:
        values, low, high = (np.concatenate([-a, b]) for a, b in ((values, values), (high, low), (low, high)))
    best = values.argmax(axis=0)
    rows = np.arange(len(best))
    others = high.copy()
    others[best, rows] = -np.inf
    sure = low[best, rows] > (others.max(axis=0) if len(panel.values) > 1 else 0)
    entries = []
    for place, name in enumerate(names):
        for certain in (True, False):
            where = (best == place) & (sure == certain)
            if where.any():
                _stretch(ax, panel.x, where, shades[place], certain)
        if len(panel.values) == 1:
            entries.append(_patch(shades[place], name, _SURE))
    return [*entries, *([] if sure.all() else [_unsure_entry(ax)])]


def _stretch(ax: Axes, x: Floats, where: NDArray[np.bool_], colour: str, certain: bool) -> None:
    half = (x[1] - x[0]) / 2
    edges = np.flatnonzero(np.diff(np.concatenate([[False], where, [False]]).astype(int)))
    for start, stop in zip(edges[::2], edges[1::2], strict=True):
        left, right = max(x[0], x[start] - half), min(x[-1], x[stop - 1] + half)
        ax.axvspan(left, right, 0, _STRIP, color=_clear(colour, 0.85 if certain else 0.3), linewidth=0, zorder=4)
        if not certain:  # apart, because a fill that lets light through would take its hatches along
            ax.axvspan(left, right, 0, _STRIP, fc="none", ec=ink(ax), hatch="//////", linewidth=0, zorder=5)


def _unsure_entry(ax: Axes) -> Any:
    patch = need("matplotlib.patches", "plot").Patch
    return patch(facecolor="none", edgecolor=ink(ax), hatch="//////", linewidth=0, label="not certain")


# --- regions and surfaces ---------------------------------------------------------------------------------------


def _draw_regions(seen: Slices, panel: Regions, ax: Axes, chars: int, legend: dict[str, Any]) -> None:
    x, y, shades, outline = panel.x, panel.y, colours(ax), ink(ax)
    handles, unsure = [], (panel.surely <= 0).all(axis=0)
    for place, name in enumerate(seen.classes):
        for values, alpha in ((panel.wins[place], _UNSURE), (panel.surely[place], _SURE)):
            if values.max() > 0:
                ax.contourf(x, y, values.T, levels=[0, float(values.max())], colors=[_clear(shades[place], alpha)])
        handles.append(_patch(shades[place], name, _SOLID))
    if unsure.any():
        sure = panel.surely.max(axis=0)
        settings = {"hatch.color": outline, "hatch.linewidth": 0.4}
        with need("matplotlib", "plot").rc_context(settings):
            ax.contourf(x, y, -sure.T, levels=[0, max(float(-sure.min()), 1e-300)], colors="none", hatches=["////"])
        handles.append(_unsure_entry(ax))
    for values in panel.wins if len(panel.wins) > 2 else panel.wins[1:]:
        if values.min() < 0 < values.max():
            ax.contour(x, y, values.T, levels=[0], colors=[outline], linewidths=1.6)
    line = need("matplotlib.lines", "plot").Line2D
    handles.append(line([], [], color=outline, linewidth=1.6, label="decision boundary"))
    ax.set_xlim(x[0], x[-1])
    ax.set_ylim(y[0], y[-1])
    _name_axes(seen, ax, chars)
    add_legend(ax, handles, _wide(legend, handles))
    title = f"label {seen.response}, and where it is certain"
    rows = math.ceil(len(handles) / _wide(legend, handles).get("ncols", 1))
    ax.set_title(wrap(title, chars), loc="left", pad=11 + 16 * rows, fontsize=TITLE, parse_math=False)
    words = f"solid: surely the label that no noise would have given (confidence {100 * panel.confidence:.10g} %)"
    add_caption(ax, f"{seen.caption}\n{words}", chars)


def _draw_surface(seen: Slices, panel: Surface, left: Axes, right: Axes, chars: int) -> None:
    titles = seen.function, f"how far its {100 * panel.confidence:.10g} % band reaches"
    # What noise alone drew is left blank, and does not stretch the colours; where that is all, it is shown.
    blank = np.where(panel.unknown & ~panel.unknown.all(), np.nan, 0.0)
    for ax, title, shown, shades in zip(
        (left, right), titles, (panel.values + blank, panel.reach + blank), (VALUES, WIDTHS), strict=True
    ):
        factor = draw_field(ax, panel.x, panel.y, shown, shades, False)
        ax.set_title(wrap(title + factor, chars + 4), loc="left", pad=9, fontsize=TITLE, parse_math=False)
        _name_axes(seen, ax, chars)
    words = seen.caption
    if panel.unknown.any():
        with need("matplotlib", "plot").rc_context({"hatch.color": MUTED, "hatch.linewidth": 0.35}):
            for ax in (left, right):
                where = np.where(panel.unknown, 1.0, -1.0).T
                ax.contourf(panel.x, panel.y, where, levels=[0, 1], colors="none", hatches=["////"])
        words += "\nhatched: too few records to say anything"
    add_caption(left, words, chars)


def _name_axes(seen: Slices, ax: Axes, chars: int) -> None:
    ax.set_xlabel(wrap(plain(seen.names[0]), chars), parse_math=False)
    ax.set_ylabel(wrap(plain(seen.names[1]), chars), parse_math=False)


# --- slopes -----------------------------------------------------------------------------------------------------


def _rows_each(panel: Slopes) -> float:
    """How many lines each column takes."""
    return max(1.0, 0.6 * len(panel.values))


def _draw_slopes(seen: Slices, panel: Slopes, ax: Axes, chars: int, legend: dict[str, Any]) -> None:
    shades = colours(ax)
    places = np.arange(len(panel.columns), dtype=np.float64)
    several = len(panel.values) > 1
    handles = []
    for row, values in enumerate(panel.values):
        if several:
            shifted = places + (row - (len(panel.values) - 1) / 2) * 0.8 / len(panel.values)
            dots = ax.errorbar(
                values, shifted, xerr=panel.reach, fmt="o", markersize=4.5, color=shades[row], elinewidth=1.1
            )
            dots.set_label(seen.classes[row])
            handles.append(dots)
        else:
            handles += _bars(seen, panel, ax, places, values, chars)
    ax.axvline(0, color=MUTED, linewidth=0.9, zorder=1)
    ax.set_yticks(places, [plain(seen.names[i], chars // 3) for i in panel.columns], parse_math=False)
    ax.invert_yaxis()
    ax.set_xlabel(wrap("change over the width of the box", chars), parse_math=False)
    title = f"slopes of the {seen.function}"
    if len(seen.names) > len(panel.columns):
        title += f": the {len(panel.columns)} largest of {len(seen.names)}"
    add_legend(ax, handles, _wide(legend, handles))
    rows = math.ceil(len(handles) / _wide(legend, handles).get("ncols", 1))
    ax.set_title(wrap(title, chars), loc="left", pad=11 + 16 * rows, fontsize=TITLE, parse_math=False)
    words = f"whiskers: {100 * panel.confidence:.10g} % limits of the noise, all at once"
    add_caption(ax, f"{seen.caption}\n{words}", chars)


def _bars(seen: Slices, panel: Slopes, ax: Axes, places: Floats, values: Floats, chars: int) -> list[Any]:
    """Bars with whiskers, in the colour of the class that a rise speaks for; pale where the sign is not certain."""
    shades, outline, two = colours(ax), ink(ax), bool(seen.classes)
    names = [plain(name, chars // 3) for name in seen.classes]
    own = [shades[int(two and value > 0)] for value in values]
    sure = np.abs(values) > panel.reach
    fills = [_clear(c, _SURE if s else _UNSURE) for c, s in zip(own, sure, strict=True)]
    ax.barh(places, values, height=0.62, color=fills, linewidth=0)
    ax.errorbar(values, places, xerr=panel.reach, fmt="none", ecolor=outline, elinewidth=1.0, capsize=2.5)
    handles = [_patch(shades[k], f"a rise speaks for {name}", _SURE) for k, name in enumerate(names)]
    if not two:
        handles = [_patch(shades[0], "slope", _SURE)]
    if not sure.all():
        handles.append(_patch(outline, "sign not certain", _UNSURE))
    return handles


PAINTER = Painter(
    needed=_needed,
    shape=_shape,
    size=_size,
    page_size=_page_size,
    draw=lambda seen, axes: draw_panels(seen, axes, 60, {}),
    fill=_fill,
)
