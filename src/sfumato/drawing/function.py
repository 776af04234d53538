"""Pictures of functions: curves with bands, surfaces with their uncertainty."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sfumato.drawing.field import NARROW, draw_alone, draw_pair, height_over_width
from sfumato.drawing.painter import Painter
from sfumato.drawing.style import (
    DASHES,
    LEGEND,
    MUTED,
    TITLE,
    add_bar,
    add_caption,
    add_footnote,
    add_legend,
    colours,
    share_scale,
    tidy,
    veil,
)
from sfumato.drawing.ticks import name_axes
from sfumato.faces.views import Sample, View, Views
from sfumato.faces.words import plain, wrap

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_ACROSS = 4  # small panels beside each other
_ENTRY = 8  # characters of an entry of a legend beside its name


def draw(view: View, axes: Sequence[Axes], chars: int, legend: dict[str, Any] | None) -> None:
    """Draw a view on one or two axes of about ``chars`` characters' width; None for no legend."""
    if len(view.axes) == 2:
        _surface(view, axes, chars)
        return
    handles = _curves(view, axes[0], chars)
    if legend is not None:
        add_legend(axes[0], handles, legend)
        add_caption(axes[0], view.caption, chars)
    elif view.note:
        add_caption(axes[0], view.note, chars)


def _curves(view: View, ax: Axes, chars: int) -> list[Any]:
    """A line and its band for each sample; returns the entries of a legend."""
    handles = [_curve(ax, view, seen, place) for place, seen in enumerate(view.samples)]
    low, high = (
        min(float(s.low.min()) for s in view.samples),
        max(float(s.high.max()) for s in view.samples),
    )
    if low < 0 < high:
        ax.axhline(0, color=MUTED, linewidth=0.7, zorder=1)
    x = view.samples[0].axes[0]
    ax.set_xlim(x[0], x[-1])
    if low >= 0 and view.density:
        ax.set_ylim(0, high * 1.06 or 1.0)  # areas can be compared by eye from zero only
    name_axes(ax, view.axes, chars)
    ax.set_ylabel(wrap(view.quantity, 40), parse_math=False)
    return [*(line for line, _ in handles), handles[0][1]]


def _curve(ax: Axes, view: View, seen: Sample, place: int) -> tuple[Any, Any]:
    x, low, high = seen.axes[0], seen.low, seen.high
    name = f"{100 * seen.confidence:.10g} % {view.band}{'' if seen.label == 'release' else ' of each'}"
    colour = colours(ax)[place]
    band = ax.fill_between(x, low, high, color=colour, alpha=veil(ax), linewidth=0, label=name, zorder=2)
    for edge in (low, high):  # a soft line, so that the band survives a grey printer
        ax.plot(x, edge, color=colour, alpha=0.45, linewidth=0.7, zorder=2)
    (line,) = ax.plot(x, seen.values, color=colour, linewidth=1.9, solid_capstyle="round", label=seen.label, zorder=3)
    line.set_linestyle(DASHES[place])
    return line, band


def _surface(view: View, axes: Sequence[Axes], chars: int) -> None:
    seen = view.samples[0]
    group = f", {view.title}" if view.title else ""
    if view.alone:
        _, hatched = draw_alone(view.field, axes[0], view.quantity + group, chars)
        add_caption(axes[0], (view.caption + hatched).strip(), chars)
        return
    share = f"{100 * seen.confidence:.10g} % band"
    reach = f"reach of its {share}" if view.density else f"half-width of its {share}"
    hatched = draw_pair(view.field, axes, (view.quantity + group, reach), chars)
    add_caption(axes[0], (view.caption + hatched).strip(), chars)


def _layout(seen: Views) -> tuple[int, int]:
    """Rows and columns of axes: curves beside each other, surfaces below each other, small panels in rows."""
    count = len(seen.views)
    if seen.small:
        return math.ceil(count / _ACROSS), _ACROSS
    return (1, count) if seen.views[0].panels == 1 else (count, 2)


def _fill(made: Figure, seen: Views, axes: Sequence[Axes], stacked: bool) -> None:
    """Draw all views on axes of ours; curves that share their groups need one legend."""
    columns = 1 if stacked else _layout(seen)[1]
    narrow = 40 if len(seen.views[0].axes) == 1 else NARROW
    chars, curves = narrow if stacked else 80 // columns, []
    if seen.small:
        _fill_small(made, seen, axes, chars, stacked)
        return
    for place, (each, own) in enumerate(_shared(seen, axes)):
        last = place == len(seen.views) - 1  # surfaces below each other need one caption
        view = each if each.panels == 1 or last else replace(each, caption="")
        entries = len(view.samples) + 1
        room = max(1, chars // (_ENTRY + max(len(one.label) for one in view.samples))) if columns == 1 else 2
        legend = {**LEGEND, "ncols": 1 if stacked else min(entries, 4, room)}
        if entries > 2:
            legend["handlelength"] = 2.4  # room for dashes
        draw(view, own, chars, None if place and view.panels == 1 else legend)
        curves += own if view.panels == 1 else []
    if seen.note:
        add_footnote(made, seen.note, 50 if stacked else 150)
    tidy(made, curves, axes, 44 if stacked else 84 // columns, stacked)


def _fill_small(made: Figure, seen: Views, axes: Sequence[Axes], chars: int, stacked: bool) -> None:
    """A panel for each view, all on one scale, with one title, and one legend or bar."""
    used, first = axes[: len(seen.views)], seen.views[0]
    words = "\n".join(filter(None, (first.caption, seen.note)))
    head = f"{first.quantity} of {' and '.join(plain(axis.name, 40) for axis in first.axes)}"
    if len(first.axes) == 1:
        handles = [_curves(view, ax, chars) for view, ax in zip(seen.views, used, strict=True)]
        for view, ax in zip(seen.views, used, strict=True):
            ax.set_title(wrap(view.title, chars), loc="left", pad=7, fontsize=TITLE, parse_math=False)
        share_scale(made, used, (head, handles[0]), stacked)
    else:
        found = [draw_alone(view.field, ax, view.title, chars) for view, ax in zip(seen.views, used, strict=True)]
        drawn = next((one for one, _ in found if one is not None), None)
        rest = "" if drawn is None else add_bar(used[0], drawn, first.levels or (), axes)
        title = wrap(head + rest, 44 if stacked else 100)
        made.suptitle(title, x=0.02, ha="left", fontsize=TITLE, parse_math=False)
        words += next((hatched for _, hatched in found if hatched), "")
    add_footnote(made, words, 50 if stacked else 150)
    for ax in axes[len(used) :]:
        ax.set_axis_off()
    tidy(made, [], used, chars, stacked)


def _shared(seen: Views, axes: Sequence[Axes]) -> list[tuple[View, list[Axes]]]:
    """Each view with the axes that it draws on."""
    waiting = iter(axes)
    return [(view, [next(waiting) for _ in range(view.panels)]) for view in seen.views]


def _map_height(view: View, wide: float, high: float) -> float:
    """The height of a row of maps that are so wide, or the usual one."""
    return high if view.aspect is None else wide * height_over_width(view.field) + (0.9 if view.alone else 1.4)


def _size(seen: Views, _: bool) -> tuple[float, float]:
    rows, columns = _layout(seen)
    if seen.small:
        return 10.4, 1.5 + _map_height(seen.views[0], 1.7, 2.6) * rows
    wide, high = (7.2, 4.6) if rows * columns == 1 else (9.6, 4.6) if columns == 2 else (10.4, 4.0)
    return wide, _map_height(seen.views[0], 3.5, high) * rows


def _page_size(seen: Views, stacked: bool) -> tuple[float, float]:
    """A drawing of many panels grows downwards."""
    count, first = len(seen.views), seen.views[0]
    if seen.small:
        return (3.5, 1.0 + _map_height(first, 2.6, 2.7) * count) if stacked else _size(seen, stacked)
    if first.panels == 2:
        each = _map_height(first, 2.4, 3.5) * 2 if stacked else _map_height(first, 3.3, 4.3)
        return 3.5 if stacked else 8.8, each * count
    if count > 1:
        return (3.5, 3.1 * count) if stacked else (9.2, 3.6)
    more = 0.22 * max(0, len(first.samples) - 1)  # for a longer legend
    return (3.5, 3.6 + more) if stacked else (8.2, 4.5)


def _shape(seen: Views, stacked: bool) -> tuple[int, int]:
    rows, columns = _layout(seen)
    return (len(seen.views) * seen.views[0].panels, 1) if stacked else (rows, columns)


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
