"""How the panels of a learner's picture are drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.drawing.field import NARROW, draw_pair, height_over_width
from sfumato.drawing.painter import Painter
from sfumato.drawing.style import (
    DASHES,
    LEGEND,
    MUTED,
    TITLE,
    add_caption,
    add_footnote,
    add_legend,
    colours,
    ink,
    share_scale,
    tidy,
)
from sfumato.drawing.ticks import name_axes, name_ticks, upright
from sfumato.extras import need
from sfumato.faces.slices import Curves, Regions, Slices, Slopes, Surface
from sfumato.faces.words import distinct, plain, wrap

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

_KEY = 6  # characters that an entry of a legend takes beside its name
_SURE, _UNSURE = 0.62, 0.2  # how dense the colour of a class is; both are drawn on top of each other
_SOLID = 1 - (1 - _SURE) * (1 - _UNSURE)
_STRIP = 0.035  # the height of the strip of labels below a curve, in axes
_FARTHEST = 3.0  # times the largest decision, up to which bands are drawn
_UPRIGHT = 1.2  # inches for names that stand upright
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
        return 6.8, 5.4 if first.aspect is None else 1.8 + 5.4 * height_over_width(first)
    if isinstance(first, Surface):
        return 9.6, 4.6 if first.field.aspect is None else 1.4 + 3.5 * height_over_width(first.field)
    wide, high = (7.2, 4.6) if columns == 1 else (9.6, 4.6) if columns == 2 else (10.4, 3.7 * rows)
    return wide, high + rows * _names_height(seen, 80 // columns)


def _names_height(seen: Slices, chars: int) -> float:
    """Inches that names of categories take below panels where they stand upright."""
    names = [panel.ticks for panel in seen.panels if isinstance(panel, Curves) and panel.ticks]
    return max((_UPRIGHT for one in names if upright(one, chars)), default=0.0)


def _page_size(seen: Slices, stacked: bool) -> tuple[float, float]:
    first, (wide, high) = seen.panels[0], _size(seen)
    if not stacked:
        return max(8.2, min(wide, 9.2)), high
    each = high + 1.4 if isinstance(first, Slopes) else 4.4 if isinstance(first, Regions) else 3.4
    each += _names_height(seen, 40) / 2  # seldom all of the panels have categories
    return 3.5, each * _needed(seen) + 0.8


def _fill(figure: Figure, seen: Slices, axes: Sequence[Axes], stacked: bool) -> None:
    panels, columns, needed = seen.panels, _shape(seen, stacked)[1], _needed(seen)
    chars = (NARROW if isinstance(panels[0], Surface) else 40) if stacked else 80 // columns
    curves = [ax for ax, panel in zip(axes, panels, strict=False) if isinstance(panel, Curves)]
    if len(curves) > 1:
        handles = [_draw_curves(seen, panel, ax, chars) for panel, ax in zip(panels, axes, strict=False)]
        share_scale(figure, curves, (f"{seen.function}, {seen.through}", handles[0]), stacked)
        add_footnote(figure, seen.caption, 50 if stacked else 150)
    else:
        draw_panels(seen, axes, chars, {**_SMALL, "ncols": 1 if stacked else 4})
    tidy(figure, curves if len(curves) == 1 else [], axes[:needed], 44 if stacked else 84 // columns, stacked)
    for ax in axes[needed:]:
        ax.set_axis_off()


def draw_panels(seen: Slices, axes: Sequence[Axes], chars: int, legend: dict[str, Any]) -> None:
    """Draw panels on anybody's axes of about ``chars`` characters' width."""
    first = seen.panels[0]
    if isinstance(first, Regions):
        _draw_regions(seen, first, axes[0], chars, legend)
    elif isinstance(first, Surface):
        _draw_surface(seen, first, axes, chars)
    elif isinstance(first, Slopes):
        _draw_slopes(seen, first, axes[0], chars, legend)
    else:
        shown = [panel for panel in seen.panels if isinstance(panel, Curves)]
        for place, (panel, ax) in enumerate(zip(shown, axes, strict=False)):
            handles = _draw_curves(seen, panel, ax, chars)
            if place == 0:
                add_legend(ax, handles, _wide(legend, handles))
                add_caption(ax, seen.caption, chars)


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


def _draw_curves(seen: Slices, panel: Any, ax: Axes, chars: int) -> list[Any]:
    """The functions along one column; returns the entries of a legend."""
    x, shades = panel.x, colours(ax)
    several, names, number = len(panel.values) > 1, seen.classes, not seen.classes
    handles: list[Any] = []
    for place, (value, low, high) in enumerate(zip(panel.values, panel.low, panel.high, strict=True)):
        colour = shades[place] if several or number else ink(ax)
        if panel.ticks:
            at = x + 0.12 * (place - (len(panel.values) - 1) / 2)
            band: Any = ax.vlines(at, low, high, color=colour, alpha=0.45, linewidth=3, zorder=2)
            (line,) = ax.plot(at, value, "o", color=colour, markersize=5, zorder=3)
        else:
            band = ax.fill_between(x, low, high, color=colour, alpha=0.14, linewidth=0, zorder=2)
            for edge in (low, high):
                ax.plot(x, edge, color=colour, alpha=0.45, linewidth=0.7, zorder=2)
            (line,) = ax.plot(x, value, color=colour, linewidth=1.9, linestyle=DASHES[place], zorder=3)
        line.set_label(names[place] if several else seen.line)
        words = f"{' of each' if several else ''}{', wider than shown' if _goes_on(seen) else ''}"
        band.set_label(f"{100 * panel.confidence:.10g} % band{words}")
        handles += [line] if place else [line, band]
    if panel.ticks:
        ax.set_xlim(x[0] - 0.5, x[-1] + 0.5)
    else:
        ax.set_xlim(x[0], x[-1])
    if not number:
        ax.axhline(0, color=MUTED, linewidth=0.9, zorder=1)
        (bottom, top), reach = ax.get_ylim(), _reach(seen)
        bottom, top = max(bottom, -reach), min(top, reach)
        ax.set_ylim(bottom - 1.5 * _STRIP * (top - bottom), top)  # room for the strip
        handles += _strip(panel, ax, shades, names)
    name_axes(ax, [seen.axes[panel.column]], chars)
    if panel.ticks:
        name_ticks(ax.xaxis, x, panel.ticks, chars)
    ax.set_ylabel(wrap(seen.function, 40), parse_math=False)
    return handles


def _reach(seen: Slices) -> float:
    """How far from zero decisions are drawn: bands that go on beyond would leave nothing to see of them."""
    largest = max(float(np.abs(panel.values).max()) for panel in seen.panels if isinstance(panel, Curves))
    return _FARTHEST * max(1.0, largest)


def _goes_on(seen: Slices) -> bool:
    """Whether the band of any panel does, where what is drawn is a decision."""
    reach = _reach(seen)
    bands = [panel for panel in seen.panels if isinstance(panel, Curves)]
    return bool(seen.classes) and any(max(-panel.low.min(), panel.high.max()) > reach for panel in bands)


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
    ends = ax.get_xlim()
    half = (x[1] - x[0]) / 2
    edges = np.flatnonzero(np.diff(np.concatenate([[False], where, [False]]).astype(int)))
    for start, stop in zip(edges[::2], edges[1::2], strict=True):
        left, right = max(ends[0], x[start] - half), min(ends[1], x[stop - 1] + half)
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
    if panel.aspect is not None:
        ax.set_aspect(panel.aspect)
    name_axes(ax, panel.axes, chars)
    add_legend(ax, handles, _wide(legend, handles))
    title = f"label {seen.response}, and where it is certain"
    rows = math.ceil(len(handles) / _wide(legend, handles).get("ncols", 1))
    ax.set_title(wrap(title, chars), loc="left", pad=11 + 16 * rows, fontsize=TITLE, parse_math=False)
    words = f"solid: surely the label that no noise would have given (confidence {100 * panel.confidence:.10g} %)"
    add_caption(ax, f"{seen.caption}\n{words}", chars)


def _draw_surface(seen: Slices, panel: Surface, axes: Sequence[Axes], chars: int) -> None:
    titles = seen.function, f"reach of its {100 * panel.confidence:.10g} % band"
    words = draw_pair(panel.field, axes, titles, chars)
    add_caption(axes[0], seen.caption + words, chars)


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
    names = distinct([seen.axes[i].name for i in panel.columns], chars // 3)
    ax.set_yticks(places, names, parse_math=False)
    ax.invert_yaxis()
    ax.set_xlabel(wrap("change over the width of the box", chars), parse_math=False)
    title = f"slopes of the {seen.function}"
    if len(seen.axes) > len(panel.columns):
        title += f": the {len(panel.columns)} largest of {len(seen.axes)}"
    if legend:  # it stands beside the names of the bars
        room = chars - max(map(len, names), default=0)
        widest = max(len(str(handle.get_label())) for handle in handles) + _KEY
        legend = {**legend, "ncols": max(1, min(legend.get("ncols", 1), room // widest))}
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
