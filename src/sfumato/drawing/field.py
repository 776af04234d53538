"""A function over two columns in colours, and beside it how far its band reaches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.drawing.style import HATCH, ON_FILL, TITLE, VALUES, WIDTHS, add_bar, shaded
from sfumato.drawing.ticks import exponent_of, factor, name_axes
from sfumato.extras import need
from sfumato.faces.views import Field
from sfumato.faces.words import number, wrap

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

NARROW = 30  # characters beside a bar on a narrow page
_SMALLEST, _LARGEST = 0.35, 1.9  # the height of a map over its width


def height_over_width(seen: Any) -> float:
    """The height of a map over its width, as far as paper goes."""
    return float(np.clip(seen.aspect * np.ptp(seen.y) / np.ptp(seen.x), _SMALLEST, _LARGEST))


def draw_pair(seen: Field, axes: Sequence[Axes], titles: Sequence[str], chars: int) -> str:
    """The function and its uncertainty, in the same steps of colour; returns what the caption has to say."""
    for ax, values, levels, shades in (
        (axes[0], seen.values, seen.levels, VALUES),
        (axes[1], seen.reach, seen.reach_levels, WIDTHS),
    ):
        drawn = _filled(seen, ax, values, levels, shades)
        if drawn is not None:
            add_bar(ax, drawn, levels)
    exponent = exponent_of(max(map(abs, seen.levels), default=0.0))
    ends = ("", seen.reach_words(10.0**exponent))
    for ax, title, end in zip(axes, titles, ends, strict=True):
        _name(seen, ax, title + factor(exponent) + end, chars)
    if np.isnan(seen.values).any():  # what is blank on both sides is so for one reason
        _hatch(seen, axes[1])
    return _hatch(seen, axes[0])


def draw_alone(seen: Field, ax: Axes, title: str, chars: int) -> tuple[Any, str]:
    """The function alone; returns what a bar that panels share belongs to, and what the caption has to say."""
    drawn = _filled(seen, ax, seen.values, seen.levels, VALUES)
    _name(seen, ax, title, chars)
    return drawn, _hatch(seen, ax)


def _name(seen: Field, ax: Axes, title: str, chars: int) -> None:
    """A title, limits and named axes."""
    ax.set_title(wrap(title, chars + 4), loc="left", pad=9, fontsize=TITLE, parse_math=False)
    ax.set_xlim(seen.x[0], seen.x[-1])
    ax.set_ylim(seen.y[0], seen.y[-1])
    name_axes(ax, seen.axes, chars)


def _filled(seen: Field, ax: Axes, values: Floats, levels: Sequence[float], shades: Sequence[str]) -> Any:
    """Filled contours, blank where there is no value; blocks for a step function; None where all is the same."""
    cmap, colors = shaded(shades), need("matplotlib.colors", "plot")
    if seen.aspect is not None:
        ax.set_aspect(seen.aspect)
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    if high - low <= 1e-9 * max(abs(low), abs(high)) or len(levels) < 2:
        place = np.interp((low + high) / 2, levels, np.linspace(0, 1, len(levels))) if levels else 0.25
        ax.set_facecolor(cmap(min(place, 0.4)))  # its number stays readable
        words = f"{number((low + high) / 2)} everywhere"
        ax.text(0.5, 0.5, words, transform=ax.transAxes, ha="center", va="center", color=ON_FILL)
        return None
    beyond = high > levels[-1] * (1 + 1e-9)
    count = len(levels) - 1 + beyond
    fills, shown = cmap(np.linspace(0, 1, count)), np.maximum(values, levels[0])
    if seen.blocks:
        norm = colors.BoundaryNorm(levels, count, extend="max" if beyond else "neither")
        look = {"cmap": colors.ListedColormap(fills), "norm": norm, "shading": "nearest", "rasterized": True}
        return ax.pcolormesh(seen.x, seen.y, shown.T, **look)
    extend = "max" if beyond else "neither"
    filled = ax.contourf(seen.x, seen.y, shown.T, levels=levels, colors=fills, extend=extend)
    filled.set_edgecolor("face")  # hides the hairlines that viewers leave between neighbouring areas
    ax.contour(seen.x, seen.y, shown.T, levels=levels[1:], colors="white", linewidths=0.4, alpha=0.5)
    return filled


def _hatch(seen: Field, ax: Axes) -> str:
    if not seen.hatched.any():
        return ""
    with need("matplotlib", "plot").rc_context(HATCH):
        where = np.where(seen.hatched, 1.0, -1.0).T
        ax.contourf(seen.x, seen.y, where, levels=[0, 1], colors="none", hatches=["////"])
    return f"\nhatched: {seen.meaning}"
