"""Pictures of a release, from public quantities only: the function and how sure it is.

matplotlib is imported when a picture is drawn, not before. A figure that sfumato makes has a quiet style of its
own, set for that figure alone; on axes of yours only data and labels are added.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.bernstein import Step
from sfumato.checks import probability
from sfumato.core.box import Box, Interval
from sfumato.core.neighbours import Person
from sfumato.core.privacy import Guarantee
from sfumato.errors import ParameterError
from sfumato.extras import need
from sfumato.releases.function import FunctionRelease

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

CURVE_POINTS = 401
GRID_POINTS = 81  # along each of two columns

# The report maps these to CSS variables, so that one drawing serves light and dark pages.
INK, MUTED, HAIR, ACCENT = "#2b2824", "#6e675d", "#d9d2c6", "#1f5a6b"
_ACCENT_ON_DARK = "#86bfcd"
_ON_FILL = "#2c2a26"  # stays dark on a dark page, because the fills below it stay light
# Lightness falls steadily along both maps, so that they keep their order in grey and for every kind of eye.
_VALUES = ("#f3ede1", "#d3d3bf", "#9fb9ae", "#648f98", "#3a6379", "#27405a", "#1a2138")
_WIDTHS = ("#f5efe5", "#e7d3b5", "#cfa878", "#a9774c", "#7a4a30", "#472a22")

_TITLE = 10.5
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_FONTS = ("Source Sans 3", "Source Sans Pro", "Helvetica Neue", "Helvetica", "Arial", "Liberation Sans")
_HATCH = {"hatch.color": _ON_FILL, "hatch.linewidth": 0.35}
# Between title and axes, where it covers no data.
_LEGEND = {"loc": "lower left", "bbox_to_anchor": (0, 1.01), "borderpad": 0, "borderaxespad": 0.4, "handlelength": 1.6}
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


def plot(release: FunctionRelease, ax: Any = None, confidence: float = 0.95) -> Any:
    """Draw a release of one or two columns and the band of its noise.

    Parameters
    ----------
    ax
        Axes to draw on: one for one column, a pair for two. By default a new figure is made.
    confidence
        Of the band, which holds at all drawn points at once.

    Returns the axes: one, or an array of two (the function, and the half-width of its band).
    """
    matplotlib = need("matplotlib", "plot")
    probability("confidence", confidence)
    check_drawable(release.box)
    panels = release.box.dimension
    if ax is not None:
        _draw(release, _given_axes(ax, panels), sample(release, confidence), 60)
        return ax
    seen = sample(release, confidence)
    with matplotlib.rc_context(style()):
        size = (7.2, 4.6) if panels == 1 else (9.6, 4.6)
        figure, made = need("matplotlib.pyplot", "plot").subplots(1, panels, figsize=size, layout="constrained")
        _draw(release, list(np.atleast_1d(made)), seen, 80 // panels, **_LEGEND, ncols=2)
        _tidy(figure, list(np.atleast_1d(made)))
    return made


@dataclass(frozen=True)
class Sample:
    """A release at the points of its picture: ``(m, l)`` points, and the limits of a band that holds at all."""

    points: Floats
    low: Floats
    high: Floats
    confidence: float

    @property
    def values(self) -> Floats:
        """The release itself, which is the middle of its band."""
        return (self.low + self.high) / 2

    @property
    def widths(self) -> Floats:
        """The half-width of the band."""
        return (self.high - self.low) / 2


def sample(release: FunctionRelease, confidence: float) -> Sample:
    """Evaluate a release of one or two columns on an even grid."""
    points = grid(release.box, CURVE_POINTS if release.box.dimension == 1 else GRID_POINTS)
    low, high = release.band(points, confidence)
    return Sample(points, low, high, confidence)


def style() -> dict[str, Any]:
    """Settings for ``rc_context``; a font is looked up here because figures remember its name, not the search."""
    installed = need("matplotlib.font_manager", "plot").fontManager.get_font_names()
    families = [name for name in _FONTS if name in installed][:1]
    return {**_STYLE, "font.family": [*families, "DejaVu Sans"]}


def figure(release: FunctionRelease, seen: Sample, size: tuple[float, float], stacked: bool) -> Figure:
    """A figure that pyplot knows nothing of, to be written to a file; call it inside ``rc_context(style())``."""
    made: Figure = need("matplotlib.figure", "plot").Figure(figsize=size, layout="constrained")
    panels = release.box.dimension
    axes = list(np.atleast_1d(made.subplots(panels, 1) if stacked else made.subplots(1, panels)))
    _draw(release, axes, seen, 40 if stacked else 80 // panels, **_LEGEND, ncols=1 if stacked else 2)
    _tidy(made, axes, stacked)
    return made


def check_drawable(box: Box) -> None:
    """Refuse a box that no picture on paper can show."""
    if box.dimension > 2:
        raise ParameterError(
            f"a picture shows one or two columns, this release has {box.dimension}: {box.names}; fix the other columns "
            "and draw release(points) and release.band(points) along the ones you want to see"
        )
    for name, column in zip(box.names, box.columns, strict=True):
        if not isinstance(column, Interval):
            raise ParameterError(f"a picture shows numeric columns, column {name!r} is {column.kind}")


def _given_axes(ax: Any, panels: int) -> list[Axes]:
    """The caller's axes as a list of the right length."""
    kind = need("matplotlib.axes", "plot").Axes
    found = list(np.atleast_1d(np.asarray(ax, dtype=object)).ravel())
    if len(found) != panels or not all(isinstance(a, kind) for a in found):
        wanted = "one matplotlib Axes" if panels == 1 else "a pair of matplotlib Axes (the function, its uncertainty)"
        raise ParameterError(f"ax must be {wanted} for a release of {panels} column(s), got ax={ax!r}")
    return found


def _draw(release: FunctionRelease, axes: Sequence[Axes], seen: Sample, chars: int, **legend: Any) -> None:
    """Draw on one or two axes of about ``chars`` characters' width."""
    if release.box.dimension == 1:
        _curve(release, axes[0], seen, chars, legend)
    else:
        _surface(release, axes[0], axes[1], seen, chars)


# --- one column -------------------------------------------------------------------------------------------------


def _curve(release: FunctionRelease, ax: Axes, seen: Sample, chars: int, legend: dict[str, Any]) -> None:
    x, low, high = seen.points[:, 0], seen.low, seen.high
    name = f"{100 * seen.confidence:.10g} % band of the noise"
    colour = _accent(ax)
    band = ax.fill_between(
        x, low, high, color=colour, alpha=0.16 if colour == ACCENT else 0.25, linewidth=0, label=name, zorder=2
    )
    for edge in (low, high):  # a soft line, so that the band survives a grey printer
        ax.plot(x, edge, color=colour, alpha=0.45, linewidth=0.7, zorder=2)
    (line,) = ax.plot(x, seen.values, color=colour, linewidth=1.9, solid_capstyle="round", label="release", zorder=3)
    if low.min() < 0 < high.max():
        ax.axhline(0, color=MUTED, linewidth=0.7, zorder=1)
    ax.set_xlim(x[0], x[-1])
    ax.set_xlabel(_wrap(plain(release.box.names[0]), chars), parse_math=False)
    ax.set_ylabel(_wrap(quantity(release), 40), parse_math=False)
    ax.legend(handles=[line, band], **legend)
    _caption(ax, short(release.guarantee), chars)


def _accent(ax: Axes) -> str:
    """The colour of a curve; a lighter one where the caller's axes are dark."""
    face = need("matplotlib.colors", "plot").to_rgba(ax.get_facecolor())
    if face[3] == 0:
        face = need("matplotlib.colors", "plot").to_rgba(ax.figure.get_facecolor())
    return ACCENT if face[3] == 0 or sum(face[:3]) > 1.2 else _ACCENT_ON_DARK


# --- two columns ------------------------------------------------------------------------------------------------


def _surface(release: FunctionRelease, left: Axes, right: Axes, seen: Sample, chars: int) -> None:
    x, y = seen.points[::GRID_POINTS, 0], seen.points[:GRID_POINTS, 1]
    shape, blocks = (GRID_POINTS, GRID_POINTS), isinstance(release.basis, Step)
    factors = [
        _field(left, x, y, seen.values.reshape(shape), _VALUES, blocks),
        _field(right, x, y, seen.widths.reshape(shape), _WIDTHS, blocks),
    ]
    titles = [quantity(release), f"half-width of its {100 * seen.confidence:.10g} % band"]
    for ax, title, factor in zip((left, right), titles, factors, strict=True):
        ax.set_title(_wrap(title + factor, chars + 4), loc="left", pad=9, fontsize=_TITLE, parse_math=False)
        ax.set_xlabel(_wrap(plain(release.box.names[0]), chars), parse_math=False)
        ax.set_ylabel(_wrap(plain(release.box.names[1]), chars), parse_math=False)
    words = short(release.guarantee)
    inside = np.minimum(seen.high, -seen.low).reshape(shape).T  # positive where zero lies inside the band
    if inside.max() > 0:
        with need("matplotlib", "plot").rc_context(_HATCH):
            left.contourf(x, y, inside, levels=[0, float(inside.max())], colors="none", hatches=["////"])
        words += "\nhatched: zero lies inside the band"
    _caption(left, words, chars)


def _field(ax: Axes, x: Floats, y: Floats, values: Floats, colours: Sequence[str], blocks: bool) -> str:
    """Filled contours with a slim colour bar; blocks for a step function, one colour for a constant.

    Returns the power of ten that the bar leaves to the title.
    """
    colors = need("matplotlib.colors", "plot")
    cmap = colors.LinearSegmentedColormap.from_list("sfumato", colours)
    lowest, highest = float(values.min()), float(values.max())
    if highest - lowest <= 1e-9 * max(abs(lowest), abs(highest)):
        ax.set_facecolor(cmap(0.25))
        ax.set_xlim(x[0], x[-1])
        ax.set_ylim(y[0], y[-1])
        words = f"{number((lowest + highest) / 2)} everywhere"
        ax.text(0.5, 0.5, words, transform=ax.transAxes, ha="center", va="center", color=_ON_FILL)
        return ""
    drawn: ScalarMappable
    levels = need("matplotlib.ticker", "plot").MaxNLocator(10).tick_values(lowest, highest)
    if blocks:
        norm = colors.Normalize(levels[0], levels[-1])
        drawn = ax.pcolormesh(x, y, values.T, cmap=cmap, norm=norm, shading="nearest", rasterized=True)
        ax.set_xlim(x[0], x[-1])
        ax.set_ylim(y[0], y[-1])
    else:
        drawn = filled = ax.contourf(x, y, values.T, levels=levels, cmap=cmap)
        filled.set_edgecolor("face")  # hides the hairlines that viewers leave between neighbouring areas
        ax.contour(x, y, values.T, levels=levels, colors="white", linewidths=0.4, alpha=0.5)
    return _bar(ax, drawn, levels)


def _bar(ax: Axes, drawn: ScalarMappable, levels: Floats) -> str:
    bar = ax.figure.colorbar(drawn, ax=ax, aspect=28, fraction=0.05, pad=0.03)
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0)
    bar.set_ticks(levels[:: 1 + len(levels) // 14].tolist())
    return _scale(bar.ax.yaxis, float(np.abs(levels).max()))


# --- style ------------------------------------------------------------------------------------------------------


def _tidy(figure: Figure, axes: Sequence[Axes], narrow: bool = False) -> None:
    """The finish that is ours to give only where the figure is ours."""
    for ax in axes:
        ax.tick_params(pad=5)
    if len(axes) == 1:
        ax = axes[0]
        ax.grid(axis="y", color=HAIR, linewidth=0.6)
        ax.set_axisbelow(True)
        factor = _scale(ax.yaxis, max(map(abs, ax.get_ylim())))
        # A label that lies flat above the axis reads better than one that climbs up along it.
        words, pad = _wrap(ax.get_ylabel() + factor, 44 if narrow else 84), 43 if narrow else 27
        ax.set_title(words, loc="left", pad=pad, fontsize=_TITLE, parse_math=False)
        ax.set_ylabel("")
    figure.draw_without_rendering()  # ticks are made when first drawn, and should remember this style


def _scale(axis: Axis, largest: float) -> str:
    """Plain tick numbers on an axis; returns the power of ten that they leave to the title."""
    exponent = math.floor(math.log10(largest)) if largest > 0 else 0
    exponent = 0 if -2 <= exponent < 6 else exponent
    formatter = need("matplotlib.ticker", "plot").ScalarFormatter(useOffset=False)
    formatter.set_scientific(exponent != 0)
    formatter.set_powerlimits((exponent, exponent))
    axis.set_major_formatter(formatter)
    axis.get_offset_text().set_visible(False)
    return f" ({_power(exponent)})" if exponent else ""


def _power(exponent: int) -> str:
    return f"\N{MULTIPLICATION SIGN}\N{NO-BREAK SPACE}10{str(exponent).translate(_RAISED)}"


def _wrap(words: str, width: int) -> str:
    return "\n".join(textwrap.wrap(words, width))


def _caption(ax: Axes, words: str, chars: int) -> None:
    lines = [_wrap(line, chars * 5 // 4) for line in words.split("\n")]
    ax.annotate(
        "\n".join(lines),
        xy=(0, 0),
        xytext=(0, -37 - 13 * ax.get_xlabel().count("\n")),
        xycoords="axes fraction",
        textcoords="offset points",
        va="top",
        fontsize="small",
        alpha=0.75,  # of the surrounding text's colour, which on axes of the caller's is the caller's
        linespacing=1.5,
        annotation_clip=False,
        parse_math=False,
    )


# --- words and points -------------------------------------------------------------------------------------------


def grid(box: Box, count: int) -> Floats:
    """``(count ** l, l)`` evenly spaced points of the box, last column fastest."""
    axes = np.meshgrid(*[np.linspace(0, 1, count)] * box.dimension, indexing="ij")
    return box.from_unit(np.stack([axis.ravel() for axis in axes], axis=1))


def plain(name: str, longest: int = 60) -> str:
    r"""A name as one printable line: no control characters, no tricks with the direction of text.

    >>> plain("age\nof\tpatient")
    'age of patient'
    """
    kept = "".join(c if c.isprintable() or c in "\u200c\u200d" else " " if c.isspace() else "\ufffd" for c in name)
    return kept if len(kept) <= longest else kept[: longest - 1] + "\N{HORIZONTAL ELLIPSIS}"


def exact(number: float | None) -> str:
    """Every digit that matters: a rounded epsilon would promise too much."""
    return repr(number).removesuffix(".0")


def number(value: float, digits: int = 3) -> str:
    r"""A rounded number for reading.

    >>> number(0.0000195), number(-12.3456), number(2000000.0)
    ('1.95\xa0×\xa010⁻⁵', '−12.3', '2\xa0×\xa010⁶')
    """
    text, _, exponent = f"{value:.{digits - 1}e}".partition("e")
    if value == 0 or -4 < int(exponent) < 6:
        text = f"{float(f'{value:.{digits}g}'):,.10g}"
    else:
        text = f"{float(text):.10g}\N{NO-BREAK SPACE}{_power(int(exponent))}"
    return text.replace("-", "\N{MINUS SIGN}")


def short(guarantee: Guarantee) -> str:
    """The guarantee in one line.

    >>> short(Guarantee(1.0, 0.0, None, None, "replace", "row"))
    'epsilon = 1, replace one row'
    """
    parts = [f"rho = {exact(guarantee.rho)}" if guarantee.rho is not None else f"epsilon = {exact(guarantee.epsilon)}"]
    if guarantee.delta:
        parts.append(f"delta = {exact(guarantee.delta)}")
    unit = guarantee.unit
    who = f"one person (up to {unit.max_rows} rows)" if isinstance(unit, Person) else "one row"
    parts.append(f"{'replace' if guarantee.neighbours == 'replace' else 'add or remove'} {who}")
    if guarantee.model == "local":
        parts.append("local model")
    if guarantee.confidence < 1:
        parts.append(f"random (confidence {exact(guarantee.confidence)})")
    return ", ".join(parts)


def quantity(release: FunctionRelease) -> str:
    """What the values are, in words: the target's own name if it has a short one, and which derivative."""
    named = dict(release.target).get("target", "")
    words = named if 0 < len(named) <= 30 and named != "black box" else "released function"
    along = [
        plain(name, 30) if times == 1 else f"{plain(name, 30)} ({'twice' if times == 2 else f'{times} times'})"
        for name, times in zip(release.box.names, release.expansion.derivatives, strict=True)
        if times
    ]
    return plain(words) if not along else f"derivative along {' and '.join(along)} of the {plain(words)}"
