"""How a naive Bayes classifier is drawn: the classes' shares, then one small picture for each column."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.drawing.painter import Painter
from sfumato.drawing.style import (
    DASHES,
    TITLE,
    add_caption,
    colours,
    rules,
    tidy,
)
from sfumato.drawing.ticks import column_ticks, plain_ticks
from sfumato.extras import need
from sfumato.faces.bayes import Attribute, Evidence
from sfumato.faces.scales import Axis
from sfumato.faces.words import distinct, plain, wrap

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ACROSS = 3
_NAME = 18  # characters of a category
_TALL = 0.8  # of the room of a category, for its classes


def _needed(seen: Evidence) -> int:
    return 1 + len(seen.attributes)


def _shape(seen: Evidence, stacked: bool) -> tuple[int, int]:
    count = _needed(seen)
    across = 2 if count in (2, 4) else _ACROSS
    return (count, 1) if stacked else (math.ceil(count / across), min(count, across))


def _size(seen: Evidence, stacked: bool) -> tuple[float, float]:
    rows, columns = _shape(seen, stacked)
    if stacked:
        return 3.5, 1.5 + 2.5 * rows
    return (10.4 if columns == _ACROSS else 8.2), 1.2 + 2.7 * rows


def _fill(figure: Figure, seen: Evidence, axes: Sequence[Axes], stacked: bool) -> None:
    """Draw everything on axes of ours, with one title and one legend."""
    needed, columns = _needed(seen), _shape(seen, stacked)[1]
    handles = draw_evidence(seen, axes, 40 if stacked else 84 // columns)
    rows = math.ceil(needed / columns)
    add_caption(axes[(rows - 1) * columns], seen.caption, 30 if stacked else 84 // columns)
    for ax in axes[needed:]:
        ax.set_axis_off()
    place: dict[str, Any] = {"loc": "outside upper left", "ncols": 1 if stacked else 4}
    place |= {"alignment": "left", "title_fontsize": TITLE, "handlelength": 2.4}
    made = figure.legend(handles=handles, title=wrap(seen.title, 44 if stacked else 100), **place)
    made.get_title().set_linespacing(1.3)
    for text in (made.get_title(), *made.get_texts()):
        text.set_parse_math(False)
    tidy(figure, [], axes[:needed], 44 if stacked else 84 // columns, stacked)


def draw_evidence(seen: Evidence, axes: Sequence[Axes], chars: int) -> list[Any]:
    """Draw the shares and every column on anybody's axes; returns the entries of a legend."""
    handles = _draw_shares(seen, axes[0], chars)
    for attribute, ax in zip(seen.attributes, axes[1:], strict=False):
        factor = ""
        if attribute.categories is None:
            factor = _draw_curves(attribute, ax, seen.axes[attribute.column], chars)
        else:
            _draw_categories(attribute, ax)
        name = plain(seen.axes[attribute.column].name, chars) + attribute.part + factor
        ax.set_title(wrap(name, chars), loc="left", pad=7, fontsize=TITLE, parse_math=False)
    return handles


def _draw_shares(seen: Evidence, ax: Axes, chars: int) -> list[Any]:
    """A bar for each class; returns the entries of a legend."""
    names, shares, shades = seen.classes, seen.shares, colours(ax)
    places = np.arange(len(names), dtype=np.float64)
    clear = need("matplotlib.colors", "plot").to_rgba
    ax.barh(places, shares.values, height=0.6, color=[clear(shades[k], 0.62) for k in range(len(names))], linewidth=0)
    for k, place in enumerate(places):
        ax.plot([shares.low[k], shares.high[k]], [place, place], color=shades[k], linewidth=1.4, marker="|")
    ax.set_yticks(places, distinct(names, chars // 2), parse_math=False)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_xlim(0, min(1.0, 1.08 * float(shares.high.max())))
    ax.set_title("share of the records", loc="left", pad=7, fontsize=TITLE)
    line = need("matplotlib.lines", "plot").Line2D
    return [
        line([], [], color=shades[k], linewidth=1.9, linestyle=DASHES[k], label=name) for k, name in enumerate(names)
    ]


def _draw_curves(attribute: Attribute, ax: Axes, axis: Axis, chars: int) -> str:
    """A density for each class; returns the power of ten that its numbers leave to the title."""
    x, shades = attribute.values.astype(np.float64), colours(ax)
    for k, value in enumerate(attribute.likelihoods):
        ax.fill_between(x, attribute.low[k], attribute.high[k], color=shades[k], alpha=0.16, linewidth=0, zorder=2)
        ax.plot(x, value, color=shades[k], linewidth=1.7, linestyle=DASHES[k], zorder=3)
    ax.set_xlim(x[0], x[-1])
    highest = max(1.5 * float(attribute.likelihoods.max()), float(np.median(attribute.high)))
    ax.set_ylim(0, min(highest, 1.06 * float(attribute.high.max())) or 1.0)
    ax.yaxis.set_major_locator(need("matplotlib.ticker", "plot").MaxNLocator(4))
    rules(ax, "y")
    # The title names the column: below it stands a power of ten, where its numbers leave one.
    ax.set_xlabel(column_ticks(ax.xaxis, ax.get_xlim(), chars, axis).strip())
    return plain_ticks(ax.yaxis, ax.get_ylim()[1])


def _draw_categories(attribute: Attribute, ax: Axes) -> None:
    """A bar with whiskers for each class and category."""
    shades, count = colours(ax), len(attribute.likelihoods)
    places = np.arange(len(attribute.values), dtype=np.float64)
    for k, value in enumerate(attribute.likelihoods):
        shifted = places + (k - (count - 1) / 2) * _TALL / count
        ax.barh(shifted, value, height=0.9 * _TALL / count, color=shades[k], alpha=0.5, linewidth=0, zorder=2)
        ax.hlines(shifted, attribute.low[k], attribute.high[k], color=shades[k], linewidth=1.3, zorder=3)
    names = distinct([str(name) for name in attribute.values], _NAME)
    ax.set_yticks(places, names, parse_math=False, fontsize="small" if len(names) > 4 else None)
    ax.set_ylim(len(places) - 0.4, -0.6)
    ax.set_xlim(0, min(1.0, 1.05 * float(attribute.high.max())))
    ax.xaxis.set_major_locator(need("matplotlib.ticker", "plot").MaxNLocator(4))


def _draw(seen: Evidence, axes: Sequence[Axes]) -> None:
    draw_evidence(seen, axes, 40)
    add_caption(axes[0], seen.caption, 40)


PAINTER = Painter(needed=_needed, shape=_shape, size=_size, draw=_draw, fill=_fill)
