"""Pictures of functions: curves with bands, surfaces with their uncertainty."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.drawing.painter import Painter
from sfumato.drawing.style import (
    DASHES,
    HATCH,
    LEGEND,
    MUTED,
    TITLE,
    VALUES,
    WIDTHS,
    add_caption,
    add_legend,
    colours,
    draw_field,
    tidy,
    veil,
)
from sfumato.extras import need
from sfumato.faces.views import GRID_POINTS, Sample, View, Views
from sfumato.faces.words import plain, wrap

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(view: View, axes: Sequence[Axes], chars: int, legend: dict[str, Any] | None) -> None:
    """Draw a view on one or two axes of about ``chars`` characters' width; None for no legend."""
    if view.panels == 1:
        _curves(view, axes[0], chars, legend)
    else:
        _surface(view, axes[0], axes[1], chars)


def _curves(view: View, ax: Axes, chars: int, legend: dict[str, Any] | None) -> None:
    """A line and its band for each sample."""
    handles = [_curve(ax, seen, place, view.density) for place, seen in enumerate(view.samples)]
    low, high = (
        min(float(s.low.min()) for s in view.samples),
        max(float(s.high.max()) for s in view.samples),
    )
    if low < 0 < high:
        ax.axhline(0, color=MUTED, linewidth=0.7, zorder=1)
    x = view.samples[0].points[:, 0]
    ax.set_xlim(x[0], x[-1])
    if low >= 0 and view.density:
        ax.set_ylim(0, high * 1.06 or 1.0)  # areas can be compared by eye from zero only
    ax.set_xlabel(wrap(plain(view.names[0]), chars), parse_math=False)
    ax.set_ylabel(wrap(view.quantity, 40), parse_math=False)
    if legend is not None:
        lines = [line for line, _ in handles]
        add_legend(ax, [*lines, handles[0][1]], legend)
        add_caption(ax, view.caption, chars)
    elif view.note:
        add_caption(ax, view.note, chars)


def _curve(ax: Axes, seen: Sample, place: int, density: bool) -> tuple[Any, Any]:
    x, low, high = seen.points[:, 0], seen.low, seen.high
    share = f"{100 * seen.confidence:.10g} % band"
    name = f"{share} of the noise" if not density else share if seen.label == "release" else f"{share} of each"
    colour = colours(ax)[place]
    band = ax.fill_between(x, low, high, color=colour, alpha=veil(ax), linewidth=0, label=name, zorder=2)
    for edge in (low, high):  # a soft line, so that the band survives a grey printer
        ax.plot(x, edge, color=colour, alpha=0.45, linewidth=0.7, zorder=2)
    (line,) = ax.plot(x, seen.values, color=colour, linewidth=1.9, solid_capstyle="round", label=seen.label, zorder=3)
    line.set_linestyle(DASHES[place])
    return line, band


def _surface(view: View, left: Axes, right: Axes, chars: int) -> None:
    seen = view.samples[0]
    x, y = seen.points[::GRID_POINTS, 0], seen.points[:GRID_POINTS, 1]
    shape, blocks = (GRID_POINTS, GRID_POINTS), view.blocks
    factors = [
        draw_field(left, x, y, seen.values.reshape(shape), VALUES, blocks),
        draw_field(right, x, y, seen.widths.reshape(shape), WIDTHS, blocks),
    ]
    for ax, title, factor in zip((left, right), _titles(view, seen), factors, strict=True):
        ax.set_title(wrap(title + factor, chars + 4), loc="left", pad=9, fontsize=TITLE, parse_math=False)
        ax.set_xlabel(wrap(plain(view.names[0]), chars), parse_math=False)
        ax.set_ylabel(wrap(plain(view.names[1]), chars), parse_math=False)
    words = view.caption
    if view.density:
        inside, meaning = np.where(seen.low <= 0, 1.0, -1.0).reshape(shape).T, "the band reaches down to zero"
    else:  # positive where zero lies inside the band
        inside, meaning = np.minimum(seen.high, -seen.low).reshape(shape).T, "zero lies inside the band"
    if inside.max() > 0:
        with need("matplotlib", "plot").rc_context(HATCH):
            left.contourf(x, y, inside, levels=[0, float(inside.max())], colors="none", hatches=["////"])
        words += f"\nhatched: {meaning}"
    add_caption(left, words, chars)


def _titles(view: View, seen: Sample) -> tuple[str, str]:
    share = f"{100 * seen.confidence:.10g} % band"
    if not view.density:
        return view.quantity, f"half-width of its {share}"
    group = "" if seen.label == "release" else f", {seen.label}"
    return view.quantity + group, f"how far its {share} reaches"


def _layout(seen: Views) -> tuple[int, int]:
    """Rows and columns of axes: curves beside each other, surfaces below each other."""
    return (1, len(seen.views)) if seen.views[0].panels == 1 else (len(seen.views), 2)


def _fill(made: Figure, seen: Views, axes: Sequence[Axes], stacked: bool) -> None:
    """Draw all views on axes of ours; curves that share their groups need one legend."""
    columns = 1 if stacked else _layout(seen)[1]
    chars, curves = 40 if stacked else 80 // columns, []
    for place, (view, own) in enumerate(_shared(seen, axes)):
        entries = len(view.samples) + 1
        legend = {**LEGEND, "ncols": 1 if stacked else min(entries, 4 if columns == 1 else 2)}
        if entries > 2:
            legend["handlelength"] = 2.4  # room for dashes
        draw(view, own, chars, None if place and view.panels == 1 else legend)
        curves += own if view.panels == 1 else []
    tidy(made, curves, axes, 44 if stacked else 84 // columns, stacked)


def _shared(seen: Views, axes: Sequence[Axes]) -> list[tuple[View, list[Axes]]]:
    """Each view with the axes that it draws on."""
    waiting = iter(axes)
    return [(view, [next(waiting) for _ in range(view.panels)]) for view in seen.views]


def _size(seen: Views, _: bool) -> tuple[float, float]:
    rows, columns = _layout(seen)
    wide, high = (7.2, 4.6) if rows * columns == 1 else (9.6, 4.6) if columns == 2 else (10.4, 4.0)
    return wide, high * rows


def _page_size(seen: Views, stacked: bool) -> tuple[float, float]:
    """A drawing of many panels grows downwards."""
    count = len(seen.views)
    if seen.views[0].panels == 2:
        return (3.5, 7.0 * count) if stacked else (8.8, 4.3 * count)
    if count > 1:
        return (3.5, 3.1 * count) if stacked else (9.2, 3.6)
    more = 0.22 * max(0, len(seen.views[0].samples) - 1)  # for a longer legend
    return (3.5, 3.6 + more) if stacked else (8.2, 4.5)


def _shape(seen: Views, stacked: bool) -> tuple[int, int]:
    rows, columns = _layout(seen)
    return (rows * columns, 1) if stacked else (rows, columns)


def _draw(seen: Views, axes: Sequence[Axes]) -> None:
    for view, own in _shared(seen, axes):
        draw(view, own, 60, {})


PAINTER = Painter(
    needed=lambda seen: sum(view.panels for view in seen.views),
    shape=_shape,
    size=_size,
    page_size=_page_size,
    draw=_draw,
    fill=_fill,
)
