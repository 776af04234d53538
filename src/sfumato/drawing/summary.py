"""Pictures of a summary: densities and shares of its columns, how they go together, how far off answers are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.drawing.field import NARROW, draw_pair
from sfumato.drawing.painter import Painter
from sfumato.drawing.style import (
    DASHES,
    LEGEND,
    LIGHT,
    MUTED,
    ON_FILL,
    TITLE,
    VALUES,
    WIDTHS,
    add_caption,
    add_footnote,
    colours,
    rules,
    tidy,
    veil,
)
from sfumato.drawing.ticks import name_axes, plain_ticks
from sfumato.extras import need
from sfumato.faces.summary import Bars, Correlations, Curve, Overview, Plane, Reach
from sfumato.faces.words import distinct, number, plain, wrap

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WRITTEN = 5  # columns of a map whose numbers are written in it
_ACROSS = 3
_NAME = 16  # characters of a category
_SIGNED = (*WIDTHS[4:0:-1], WIDTHS[0], *VALUES[2:6])  # brown for less than nothing, blue for more


# --- where everything goes --------------------------------------------------------------------------------


def _needed(seen: Overview) -> int:
    return len(seen.panels) + any(isinstance(panel, Plane) for panel in seen.panels)


def _is_plane(seen: Overview) -> bool:
    return isinstance(seen.panels[0], Plane)


def _shape(seen: Overview, stacked: bool) -> tuple[int, int]:
    count = _needed(seen)
    if stacked:
        return count, 1
    across = 2 if _is_plane(seen) or count in (2, 4) else _ACROSS
    return math.ceil(count / across), min(count, across)


def _size(seen: Overview, stacked: bool) -> tuple[float, float]:
    rows, columns = _shape(seen, stacked)
    if stacked:
        return 3.5, 1.0 + 3.1 * rows
    if _is_plane(seen):
        return 9.6, 8.0
    return (7.2 if columns == 1 else 9.6 if columns == 2 else 10.4), 1.3 + (3.2 if rows == 1 else 2.75) * rows


def _axes(figure: Figure, seen: Overview, stacked: bool) -> Any:
    """Axes on a figure of ours; the last one takes what is left of its row."""
    rows, columns = _shape(seen, stacked)
    places = np.minimum(np.arange(rows * columns), _needed(seen) - 1).reshape(rows, columns)
    heights = [4.2, 2.8] if _is_plane(seen) and not stacked else None
    made = figure.subplot_mosaic(places.tolist(), height_ratios=heights)
    axes = [made[place] for place in range(_needed(seen))]
    return axes[0] if len(axes) == 1 else np.array(axes, dtype=object)


def _fill(figure: Figure, seen: Overview, axes: Sequence[Axes], stacked: bool) -> None:
    """Draw everything on axes of ours."""
    columns = _shape(seen, stacked)[1]
    chars = (NARROW if _is_plane(seen) else 40) if stacked else 84 // columns
    left = columns - (len(axes) - 1) % columns  # of a row for its last axes
    draw_seen(seen, axes, chars, chars * left)
    add_footnote(figure, seen.caption, 52 if stacked else 40 + 37 * columns)
    tidy(figure, [], axes, chars, stacked)


def draw_seen(seen: Overview, axes: Sequence[Axes], chars: int, last: int) -> None:
    """Draw every panel on anybody's axes of about ``chars`` characters' width, the last one maybe wider."""
    waiting = iter(axes)
    for panel in seen.panels:
        ax = next(waiting)
        if isinstance(panel, Plane):
            _draw_plane(panel, (ax, next(waiting)), seen.confidence, chars)
        elif isinstance(panel, Curve):
            _draw_curve(panel, ax, chars)
        elif isinstance(panel, Bars):
            _draw_bars(panel, ax, chars)
        elif isinstance(panel, Correlations):
            _draw_correlations(panel, ax, chars)
        else:
            _draw_reach(panel, ax, last)


def _title(ax: Axes, words: str, chars: int) -> None:
    ax.set_title(wrap(words, chars), loc="left", pad=9, fontsize=TITLE, parse_math=False)


def _up(value: float) -> float:
    """A limit with two digits, rounded up."""
    step = 10.0 ** (math.floor(math.log10(value)) - 1) if value > 0 else 1.0
    return math.ceil(value / step - 1e-9) * step


# --- panels -----------------------------------------------------------------------------------------------


def _draw_curve(panel: Curve, ax: Axes, chars: int) -> None:
    colour, limits = colours(ax)[0], panel.limits
    ax.fill_between(panel.x, limits.low, limits.high, color=colour, alpha=veil(ax), linewidth=0, zorder=2)
    ax.plot(panel.x, limits.value, color=colour, linewidth=1.7, zorder=3)
    ax.set_xlim(panel.x[0], panel.x[-1])
    highest = float(limits.high.max())
    ax.set_ylim(0, 1.06 * min(highest, 2.5 * float(limits.value.max()) or highest) or 1.0)
    ax.yaxis.set_major_locator(need("matplotlib.ticker", "plot").MaxNLocator(4))
    rules(ax, "y")
    factor = plain_ticks(ax.yaxis, ax.get_ylim()[1])
    wide = number(panel.width * float(panel.x[-1] - panel.x[0]))
    name, unit = plain(panel.axis.name, chars), " days" if panel.axis.dated else ""
    name_axes(ax, [replace(panel.axis, name=f"{name} (bandwidth {wide}{unit})")], chars)
    _title(ax, f"density of {name}{factor}", chars)


def _draw_bars(panel: Bars, ax: Axes, chars: int) -> None:
    colour, limits = colours(ax)[0], panel.limits
    places = np.arange(len(panel.categories), dtype=np.float64)
    clear = need("matplotlib.colors", "plot").to_rgba
    ax.barh(places, limits.value, height=0.6, color=clear(colour, 0.62), linewidth=0, zorder=2)
    for place, low, high in zip(places, limits.low, limits.high, strict=True):
        ax.plot([low, high], [place, place], color=colour, linewidth=1.4, marker="|", zorder=3)
    ax.set_yticks(places, distinct(panel.categories, _NAME), parse_math=False)
    ax.set_ylim(len(places) - 0.4, -0.6)
    ax.set_xlim(0, min(1.0, 1.08 * float(limits.high.max()) or 1.0))
    ax.xaxis.set_major_locator(need("matplotlib.ticker", "plot").MaxNLocator(4))
    many = f": the {len(places)} largest of {panel.of}" if panel.of > len(places) else ""
    _title(ax, f"shares of {plain(panel.name, chars)}{many}", chars)


def _draw_plane(panel: Plane, axes: Sequence[Axes], confidence: float, chars: int) -> None:
    wide = " and ".join(number(panel.width * float(np.ptp(part))) for part in (panel.field.x, panel.field.y))
    titles = f"density, bandwidths {wide}", f"reach of its {100 * confidence:.10g} % limits"
    draw_pair(panel.field, axes, titles, chars)


def _draw_correlations(panel: Correlations, ax: Axes, chars: int) -> None:
    """A map, pale where noise leaves not even the sign; with its numbers where there is room for them."""
    colors, count = need("matplotlib.colors", "plot"), len(panel.names)
    cmap = colors.LinearSegmentedColormap.from_list("sfumato", _SIGNED)
    own = np.eye(count, dtype=np.bool_)
    value = np.where(own, np.nan, np.where(panel.known, panel.value, 0.0))
    drawn = ax.pcolormesh(value, cmap=cmap, norm=colors.Normalize(-1, 1), edgecolors=LIGHT, linewidth=0.6)
    middles, names = np.arange(count) + 0.5, [plain(name, 9 if count <= _WRITTEN else 14) for name in panel.names]
    ax.set_yticks(middles, names, parse_math=False, fontsize="small")
    ax.set_xticks([])
    words = "correlations"
    if count <= _WRITTEN:
        ax.set_xticks(middles, names, parse_math=False, fontsize="small")
        _write_correlations(panel, ax)
    else:  # the order along the map is that of its rows
        bar = ax.figure.colorbar(drawn, ax=ax, aspect=28, fraction=0.05, pad=0.03, ticks=[-1, -0.5, 0, 0.5, 1])
        bar.outline.set_visible(False)
        bar.ax.tick_params(length=0)
        words += f", \N{PLUS-MINUS SIGN}{number(_up(float(panel.reach[~own].max())), 2)} or less"
    ax.invert_yaxis()
    ax.tick_params(length=0)
    ax.spines["bottom"].set_visible(False)
    _title(ax, words, chars)


def _write_correlations(panel: Correlations, ax: Axes) -> None:
    look: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": "small"}
    for (i, j), value in np.ndenumerate(panel.value):
        if i != j:
            words = f"{value:.2f}\n\N{PLUS-MINUS SIGN}{math.ceil(100 * panel.reach[i, j] - 1e-9) / 100:.2f}".replace(
                "-", "\N{MINUS SIGN}"
            )
            dark = panel.known[i, j] and abs(value) > 0.45
            ax.text(j + 0.5, i + 0.5, words, color=LIGHT if dark else ON_FILL, **look)


def _draw_reach(panel: Reach, ax: Axes, chars: int) -> None:
    """Errors against widths, both in per cent, on scales of ratios."""
    shades, one = colours(ax), panel.errors[0]
    lines = [
        (one.noise, "noise", shades[0], DASHES[2], 1.3),
        (one.approximation, "missed", shades[0], DASHES[1], 1.3),
        (one.total, "both", shades[0], "-", 2.0),
    ]
    if len(panel.errors) > 1:
        lines.append((panel.errors[1].total, "both, two columns", shades[1], "-", 1.6))
    some = one.widths >= 0.0099
    for values, label, colour, dashes, wide in lines:
        shown = np.maximum(100 * values[some], 1e-9)
        ax.plot(100 * one.widths[some], shown, color=colour, linestyle=dashes, linewidth=wide, label=label, zorder=3)
    ax.axhline(100 * panel.sampling, color=MUTED, linewidth=0.9, linestyle=(0, (1, 2)), zorder=2, label="sampling")
    ax.set_xscale("log")
    ax.set_yscale("log")
    lowest = min(100 * float(one.noise[some].min()), 100 * panel.sampling)
    finite = lowest if math.isfinite(lowest) else 1.0
    ax.set_ylim(10 ** math.floor(math.log10(max(1e-4, min(0.1, finite)))), 100)
    ax.set_xlim(1, 100)
    ticker = need("matplotlib.ticker", "plot")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_locator(ticker.NullLocator())
    ax.set_xticks([1, 3, 10, 30, 100])
    rules(ax, "y")
    ax.set_xlabel("width of the bump, in % of a column")
    across = 2 if chars < 50 else len(lines) + 1
    ax.legend(**{**LEGEND, "fontsize": "small", "handlelength": 2.4, "ncols": across, "columnspacing": 2.2})
    words = wrap("error of a bump, in percentage points", max(chars - 6, 28))
    ax.set_title(words, loc="left", pad=10 + 13 * math.ceil((len(lines) + 1) / across), fontsize=TITLE)


def _draw(seen: Overview, axes: Sequence[Axes]) -> None:
    draw_seen(seen, axes, 40, 40)
    add_caption(axes[0], seen.caption, 40)


PAINTER = Painter(needed=_needed, shape=_shape, size=_size, draw=_draw, fill=_fill, axes=_axes)
