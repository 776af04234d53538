"""The quiet style of all pictures, and what they are made of: fields, legends, captions, ticks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.drawing.ticks import level_words, plain_ticks
from sfumato.extras import need
from sfumato.faces.promise import HEADLINE
from sfumato.faces.words import wrap

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

# The report maps these to CSS variables, so that one drawing serves light and dark pages.
INK, MUTED, HAIR, ACCENT = "#2b2824", "#6e675d", "#d9d2c6", "#1f5a6b"
INK_ON_DARK = "#e9e4da"
WARN, WARN_ON_DARK = "#8a4b12", "#e5b075"
# One for each group, told apart by dashes too, in grey and for every kind of eye; the second of a pair on dark axes.
SERIES = (ACCENT, "#b4602a", "#7a4a8c", "#5f7d2d", "#a83a52", "#857b6d")
SERIES_ON_DARK = ("#86bfcd", "#e0a26c", "#c8a2d8", "#aecb7f", "#e893a5", "#c4bcb0")
DASHES: tuple[Any, ...] = ("-", (0, (6, 1.6)), (0, (2.2, 1.4)), (0, (7, 1.5, 1.5, 1.5)), (0, (1, 1.2)), (0, (9, 3)))
ON_FILL = "#2c2a26"  # stays dark on a dark page, because the fills below it stay light
LIGHT = "#fcfaf6"  # on dark cells, and between cells
HATCH = {"hatch.color": ON_FILL, "hatch.linewidth": 0.35}
# Lightness falls steadily along both maps, so that they keep their order in grey and for every kind of eye.
VALUES = ("#f3ede1", "#d3d3bf", "#9fb9ae", "#648f98", "#3a6379", "#27405a", "#1a2138")
WIDTHS = ("#f5efe5", "#e7d3b5", "#cfa878", "#a9774c", "#7a4a30", "#472a22")

TITLE = 10.5
_FONTS = ("Source Sans 3", "Source Sans Pro", "Helvetica Neue", "Helvetica", "Arial", "Liberation Sans")
# Between title and axes, where it covers no data.
LEGEND: dict[str, Any] = {
    "loc": "lower left",
    "bbox_to_anchor": (0, 1.01),
    "borderpad": 0,
    "borderaxespad": 0.4,
    "handlelength": 1.6,
}
_STYLE: dict[str, Any] = {
    "font.size": 9.5,
    "text.color": INK,
    "text.usetex": False,
    "axes.edgecolor": HAIR,
    "axes.facecolor": "none",
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.left": False,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.facecolor": "white",
    "figure.dpi": 110,
    "figure.constrained_layout.h_pad": 0.14,
    "figure.constrained_layout.w_pad": 0.14,
    "legend.frameon": False,
    "xtick.color": HAIR,
    "ytick.color": HAIR,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": MUTED,
    "xtick.major.size": 3,
    "ytick.major.size": 0,
}


def style() -> dict[str, Any]:
    """Settings for ``rc_context``; a font is looked up here because figures remember its name, not the search."""
    installed = need("matplotlib.font_manager", "plot").fontManager.get_font_names()
    families = [name for name in _FONTS if name in installed][:1]
    return {**_STYLE, "font.family": [*families, "DejaVu Sans"]}


def is_dark(ax: Axes) -> bool:
    """Whether the caller's axes are dark, so that curves must be light."""
    face = need("matplotlib.colors", "plot").to_rgba(ax.get_facecolor())
    if face[3] == 0:
        face = need("matplotlib.colors", "plot").to_rgba(ax.figure.get_facecolor())
    return bool(face[3] != 0 and sum(face[:3]) <= 1.2)


def colours(ax: Axes) -> Sequence[str]:
    """One for each group, which can be seen on these axes."""
    return SERIES_ON_DARK if is_dark(ax) else SERIES


def ink(ax: Axes) -> str:
    """What words and outlines are drawn with on these axes."""
    return INK_ON_DARK if is_dark(ax) else INK


def ink_on(fill: Any) -> str:
    """What is written with on a filled cell."""
    red, green, blue = fill[:3]
    return ON_FILL if 0.299 * red + 0.587 * green + 0.114 * blue > 0.55 else LIGHT


def veil(ax: Axes) -> float:
    """How dense a band is."""
    return 0.25 if is_dark(ax) else 0.16


def rules(ax: Axes, axis: Any) -> None:
    """Fine lines to read numbers by."""
    ax.grid(axis=axis, color=HAIR, linewidth=0.6)
    ax.set_axisbelow(True)


def shaded(shades: Sequence[str]) -> Any:
    """A scale of colours in which equal steps are equally much darker (CIE lightness)."""
    colors = need("matplotlib.colors", "plot")
    parts, fine = np.array([colors.to_rgb(shade) for shade in shades]).T, np.linspace(0, 1, 513)
    every = np.stack([np.interp(fine, np.linspace(0, 1, len(shades)), part) for part in parts], axis=1)
    light = np.array([_lightness(one) for one in every])
    even = np.interp(np.linspace(light[0], light[-1], 257), light[::-1], fine[::-1])
    kept = np.stack([np.interp(even, fine, part) for part in every.T], axis=1)
    return colors.LinearSegmentedColormap.from_list("sfumato", kept, N=257)


def _lightness(colour: Sequence[float]) -> float:
    """CIE L*, from 0 to 100."""
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour)
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return float(116 * luminance ** (1 / 3) - 16 if luminance > 0.008856 else 903.3 * luminance)


def add_bar(ax: Axes, drawn: ScalarMappable, levels: Sequence[float], beside: Sequence[Axes] | None = None) -> str:
    """A slim colour bar, of one axes or of several; returns the power of ten that it leaves to the title."""
    slim: dict[str, Any] = {"fraction": 0.05, "pad": 0.03, "aspect": 28, "ax": ax}
    if beside is not None:
        slim |= {"aspect": 60, "ax": list(beside)}
    elif ax.get_aspect() != "auto":  # a map is as high as it must be, and its bar as high as the map
        slim = {"cax": ax.inset_axes((1.04, 0.0, 0.035, 1.0))}
    bar = ax.figure.colorbar(drawn, **slim)
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0)
    bar.minorticks_off()
    kept = list(levels)[:: 1 + len(levels) // 14]
    words, rest = level_words(kept)
    bar.set_ticks(kept, labels=words)
    return rest


# --- style ------------------------------------------------------------------------------------------------------


def tidy(figure: Figure, curves: Sequence[Axes], axes: Sequence[Axes], width: int, stacked: bool) -> None:
    """The finish that is ours to give only where the figure is ours; ``width`` is that of a title, in characters."""
    for ax in axes:
        ax.tick_params(pad=5)
    rows = [_legend_rows(ax) for ax in curves]
    if not stacked:  # titles beside each other are on one line
        rows = [max(rows)] * len(rows) if rows else []
    for ax, above in zip(curves, rows, strict=True):
        rules(ax, "y")
        factor = plain_ticks(ax.yaxis, max(map(abs, ax.get_ylim())))
        # A label that lies flat above the axis reads better than one that climbs up along it.
        of = f" of {ax.get_xlabel()}" if len(curves) > 1 else ""
        words = wrap(ax.get_ylabel() + of + factor, width)
        ax.set_title(words, loc="left", pad=11 + 16 * above, fontsize=TITLE, parse_math=False)
        ax.set_ylabel("")
    figure.draw_without_rendering()  # ticks are made when first drawn, and should remember this style


def _legend_rows(ax: Axes) -> int:
    legend = ax.get_legend()
    return 0 if legend is None else math.ceil(len(legend.get_texts()) / legend._ncols)  # type: ignore[attr-defined]


def add_legend(ax: Axes, handles: Sequence[Any], settings: dict[str, Any]) -> None:
    """A legend in which no name is a formula."""
    for text in ax.legend(handles=handles, **settings).get_texts():
        text.set_parse_math(False)


def share_scale(figure: Figure, curves: Sequence[Axes], head: tuple[str, Sequence[Any]], stacked: bool) -> None:
    """Small curves on one scale of heights, below one title and one legend with these entries."""
    lows, highs = zip(*(ax.get_ylim() for ax in curves), strict=True)
    rest = ""
    for ax in curves:
        ax.set_ylim(min(lows), max(highs))
        ax.set_ylabel("")
        rules(ax, "y")
        rest = plain_ticks(ax.yaxis, max(map(abs, ax.get_ylim())))
    title, handles = head
    place: dict[str, Any] = {
        "loc": "outside upper left",
        "ncols": 1 if stacked else 5,
        "alignment": "left",
        "title_fontsize": TITLE,
    }
    made = figure.legend(handles=handles, title=wrap(title + rest, 44 if stacked else 100), **place)
    for text in (made.get_title(), *made.get_texts()):
        text.set_parse_math(False)


def add_caption(ax: Axes, words: str, chars: int) -> None:
    """Small words below an axes; that a promise is random comes first, in the colour of a warning."""
    lines = [wrap(line, chars * 5 // 4) for line in words.split("\n")]
    if words.startswith(HEADLINE):
        lines[0] = wrap(lines[0], chars)  # bold letters are wider
        _below(ax, lines[0], {"color": WARN_ON_DARK if is_dark(ax) else WARN, "fontweight": "bold"})
        lines[0] = "\n" * lines[0].count("\n")
    # Of the surrounding text's colour, which on axes of the caller's is the caller's.
    _below(ax, "\n".join(lines), {"alpha": 0.75})


def add_footnote(figure: Figure, words: str, chars: int) -> None:
    """The same below a whole figure of small panels, which are too narrow for it."""
    warned = words.startswith(HEADLINE)
    look: dict[str, Any] = {"color": WARN, "fontweight": "bold"} if warned else {"alpha": 0.75}
    text = "\n".join(wrap(line, chars) for line in words.split("\n"))
    figure.supxlabel(text, x=0.02, ha="left", fontsize="small", linespacing=1.5, parse_math=False, **look)


def _below(ax: Axes, text: str, look: dict[str, Any]) -> None:
    ax.annotate(
        text,
        xy=(0, 0),
        xytext=(0, -37 - 13 * ax.get_xlabel().count("\n")),
        xycoords="axes fraction",
        textcoords="offset points",
        va="top",
        fontsize="small",
        linespacing=1.5,
        annotation_clip=False,
        parse_math=False,
        **look,
    )
