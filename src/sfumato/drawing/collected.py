"""Pictures of what people's devices reported: densities, tables, summaries."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.drawing.field import NARROW
from sfumato.drawing.function import draw
from sfumato.drawing.painter import Painter
from sfumato.drawing.style import (
    LEGEND,
    LIGHT,
    TITLE,
    VALUES,
    add_bar,
    add_caption,
    add_legend,
    colours,
    ink_on,
    rules,
    tidy,
    veil,
)
from sfumato.drawing.ticks import name_axes, name_ticks, plain_ticks
from sfumato.extras import need
from sfumato.faces.collected import Collection, Line, Pairs, Shares, Slopes
from sfumato.faces.views import View
from sfumato.faces.words import distinct, plain, wrap

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WRITTEN = 8  # columns of a map whose numbers are written in it
_NAME = 16  # characters of a column's name beside a map


# --- where everything goes --------------------------------------------------------------------------------


def _shape(seen: Collection, stacked: bool) -> tuple[int, int]:
    count = seen.axes
    if stacked:
        return count, 1
    across = min(count, 2 if count in (2, 4) else 3)
    return math.ceil(count / across), across


def _size(seen: Collection, stacked: bool) -> tuple[float, float]:
    rows, columns = _shape(seen, stacked)
    if seen.bars:
        shares = seen.panels[0]
        assert isinstance(shares, Shares | Slopes)
        high = 1.7 + 0.24 * len(shares.names)
        paired = 0.0 if columns + rows == 2 else max(high, 4.2)
        return (3.6, high + paired + 0.3) if stacked else (7.2 if columns == 1 else 10.4, max(high, paired, 2.6))
    if stacked:
        return 3.5, 1.0 + (3.4 if isinstance(seen.panels[0], View) else 2.9) * rows
    if isinstance(seen.panels[0], View):
        return 9.6, 4.6
    return (7.2, 4.6) if columns == 1 else (9.6 if columns == 2 else 10.4, 1.2 + 2.9 * rows)


def _fill(figure: Figure, seen: Collection, axes: Sequence[Axes], stacked: bool) -> None:
    """Draw on axes of ours."""
    for unused in axes[seen.axes :]:
        unused.set_axis_off()
    used = axes[: seen.axes]
    narrow = 28 if seen.bars else NARROW if isinstance(seen.panels[0], View) else 40  # names and bars take their part
    chars = narrow if stacked else 80 // _shape(seen, stacked)[1]
    draw_seen(seen, used, chars)
    for ax, panel in zip(used, seen.panels, strict=False):
        if isinstance(panel, Line | Shares | Slopes):
            rules(ax, "y" if isinstance(panel, Line) else "x")
    tidy(figure, [], used, chars + 4, stacked)


def draw_seen(seen: Collection, axes: Sequence[Axes], chars: int) -> None:
    """Draw on anybody's axes of about ``chars`` characters' width each."""
    words, first = seen.words, seen.panels[0]
    if isinstance(first, View):
        draw(first, axes, chars, None)
        add_caption(axes[1], words, chars)
        return
    above = 27 if any(isinstance(panel, Line) for panel in seen.panels) else 9  # titles beside each other are level
    for place, (ax, panel) in enumerate(zip(axes, seen.panels, strict=True)):
        if isinstance(panel, Line):
            _draw_line(ax, panel, seen, chars, legend=place == 0)
        elif isinstance(panel, Shares):
            _draw_shares(ax, panel, chars, above)
        elif isinstance(panel, Pairs):
            _draw_pairs(ax, panel, chars)
        elif isinstance(panel, Slopes):
            _draw_slopes(ax, panel, chars)
    share = f"{100 * seen.confidence:.10g} % limits"
    if isinstance(first, Shares):
        words += f"\nwhiskers: {share}, each by itself"
    if isinstance(first, Slopes) and first.errors is not None:
        words += f"\nwhiskers: {share} for noise in how columns go with the response, each by itself"
    add_caption(axes[0], f"{seen.promise}\n{words}", chars)


# --- panels -----------------------------------------------------------------------------------------------


def _draw_line(ax: Axes, panel: Line, seen: Collection, chars: int, legend: bool) -> None:
    colour = colours(ax)[0]
    name = f"{100 * seen.confidence:.10g} % band"
    band = ax.fill_between(
        panel.x, panel.low, panel.high, color=colour, alpha=veil(ax), linewidth=0, label=name, zorder=2
    )
    for edge in (panel.low, panel.high):
        ax.plot(panel.x, edge, color=colour, alpha=0.45, linewidth=0.7, zorder=2)
    (line,) = ax.plot(panel.x, panel.values, color=colour, linewidth=1.9, label="release", zorder=3)
    ax.set_xlim(panel.x[0], panel.x[-1])
    # Where nothing is known a band can be far wider than the density: the curve stays readable.
    highest = min(float(panel.high.max()), 3 * float(panel.values.max()))
    ax.set_ylim(0, 1.06 * highest or 1.0)
    name_axes(ax, [panel.axis], chars)
    factor = plain_ticks(ax.yaxis, ax.get_ylim()[1])
    several = len(seen.panels) > 1
    title = f"density of {plain(panel.axis.name, 40)}{factor}" if several else f"density{factor}"
    if legend:
        add_legend(ax, [line, band], {**LEGEND, "ncols": 2})
    ax.set_title(wrap(title, chars), loc="left", pad=27 if legend or several else 11, fontsize=TITLE, parse_math=False)


def _draw_shares(ax: Axes, panel: Shares, chars: int, above: int) -> None:
    """A bar for each category, with a gap between columns."""
    groups = np.array(panel.groups)
    places = np.arange(len(groups)) + 0.5 * (groups - groups[0])
    shades = colours(ax)
    fills = [need("matplotlib.colors", "plot").to_rgba(shades[g % 2], 0.55) for g in groups]
    ax.barh(places, panel.values, height=0.68, color=fills, linewidth=0)
    for place, low, high, group in zip(places, panel.low, panel.high, groups, strict=True):
        ax.plot([low, high], [place, place], color=shades[group % 2], linewidth=1.5, marker="|", markersize=6)
    ax.set_yticks(places, distinct(panel.names, max(10, chars // 2)), parse_math=False)
    ax.set_ylim(places[-1] + 0.6, -0.6)
    ax.set_xlim(0, min(1.0, 1.08 * float(panel.high.max())) or 1.0)
    ax.xaxis.set_major_formatter(need("matplotlib.ticker", "plot").PercentFormatter(1.0, decimals=0))
    ax.xaxis.set_major_locator(need("matplotlib.ticker", "plot").MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    ax.set_title(wrap(panel.title, chars), loc="left", pad=above, fontsize=TITLE, parse_math=False)


def _draw_slopes(ax: Axes, panel: Slopes, chars: int) -> None:
    """A bar for each column from zero, the largest on top."""
    places, shade = np.arange(len(panel.names)), colours(ax)[0]
    fill = need("matplotlib.colors", "plot").to_rgba(shade, 0.55)
    ax.barh(places, panel.values, height=0.68, color=fill, linewidth=0)
    errors = () if panel.errors is None else panel.errors
    for place, value, error in zip(places, panel.values, errors, strict=False):
        ax.plot([value - error, value + error], [place, place], color=shade, linewidth=1.5, marker="|", markersize=6)
    ax.axvline(0.0, color=shade, linewidth=0.8)
    ax.set_yticks(places, distinct(panel.names, max(10, chars // 2)), parse_math=False)
    ax.set_ylim(len(places) - 0.4, -0.6)
    ax.xaxis.set_major_locator(need("matplotlib.ticker", "plot").MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    ax.set_title(wrap(panel.title, chars), loc="left", pad=9, fontsize=TITLE, parse_math=False)


def _draw_pairs(ax: Axes, panel: Pairs, chars: int) -> None:
    colors = need("matplotlib.colors", "plot")
    cmap = colors.LinearSegmentedColormap.from_list("sfumato", VALUES).with_extremes(bad="none")
    highest = float(np.nanmax(panel.values)) if np.isfinite(panel.values).any() else 1.0
    norm = colors.Normalize(0.0, max(highest, 0.05))
    count = len(panel.names)
    drawn = ax.pcolormesh(np.ma.masked_invalid(panel.values), cmap=cmap, norm=norm, edgecolors=LIGHT, linewidth=0.6)
    names = distinct(panel.names, _NAME)
    look: dict[str, Any] = {"parse_math": False, **({"fontsize": "small"} if count > _WRITTEN else {})}
    ax.set_yticks(np.arange(count) + 0.5, names, **look)
    name_ticks(ax.xaxis, np.arange(count) + 0.5, names, chars * 4 // 5)
    if count > _WRITTEN:
        ax.tick_params(axis="x", labelsize="small")
    ax.invert_yaxis()
    ax.tick_params(length=0)
    for side in ("bottom", "left"):
        ax.spines[side].set_visible(False)
    if count <= _WRITTEN:
        ax.set_aspect("equal")
        for (i, j), value in np.ndenumerate(panel.values):
            if math.isfinite(value):
                own = ink_on(cmap(norm(value)))
                ax.text(j + 0.5, i + 0.5, f"{value:.2f}", ha="center", va="center", color=own, parse_math=False)
    else:
        add_bar(ax, drawn, need("matplotlib.ticker", "plot").MaxNLocator(5).tick_values(0.0, norm.vmax)[:-1])
    ax.set_title(wrap(panel.title, chars), loc="left", pad=9, fontsize=TITLE, parse_math=False)


PAINTER = Painter(
    needed=lambda seen: seen.axes,
    shape=_shape,
    size=_size,
    draw=lambda seen, axes: draw_seen(seen, axes, 60 if seen.axes == 1 else 40),
    fill=_fill,
)
