"""Pictures of a release, from public quantities only: the function and how sure it is.

Faces say what to draw, as data; each kind of picture has a painter. matplotlib is imported when a picture is drawn, not
before. A figure that sfumato makes has a quiet style of its own, set for that figure alone; on axes of yours only data
and labels are added.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.checks import probability
from sfumato.drawing import bayes, collected, function, machine, summary, value
from sfumato.drawing.painter import Painter
from sfumato.drawing.style import style
from sfumato.errors import ParameterError
from sfumato.extras import need
from sfumato.faces import CONFIDENCE, face_of
from sfumato.faces.bayes import Evidence
from sfumato.faces.collected import Collection
from sfumato.faces.slices import Slices
from sfumato.faces.summary import Overview
from sfumato.faces.table import Marginals
from sfumato.faces.value import Figures
from sfumato.faces.views import Views

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["PAINTERS", "check_installed", "figure_of", "plot", "svg_of"]

PAINTERS: dict[type, Painter] = {
    Views: function.PAINTER,
    Slices: machine.PAINTER,
    Evidence: bayes.PAINTER,
    Figures: value.PAINTER,
    Overview: summary.PAINTER,
    Collection: collected.PAINTER,
    Marginals: bayes.PAINTER,
}


def check_installed() -> None:
    """Say in time that an extra is missing."""
    need("matplotlib", "plot")


def plot(
    release: Any,
    ax: Any = None,
    confidence: float = CONFIDENCE,
    map: bool = False,
    group: str | int | float | None = None,
) -> Any:
    """Draw a release and its band: a curve, or a surface beside its uncertainty.

    A density of three columns is drawn as the densities of each, groups on top of each other where they are curves,
    and side by side where there are more than six. A density that is concentrated in a few places has colours for
    ratios. A classifier of two columns is drawn as the regions of its labels, hatched where noise could have changed
    them; a learner of more as its slopes, or along each column while the others stay at one value. A naive Bayes
    classifier is drawn as its classes' shares and their likelihoods, column by column. A statistic is drawn as a
    number with its limits, as bars with whiskers, or as a map of a table. A summary is drawn as the densities and
    shares of its columns, how they go together, and how far off answers are by the width of the question. What
    devices reported is drawn as its densities, or as the shares of categories and how strongly columns are
    associated. A synthetic table is drawn as the shares of its classes and the densities of its columns in each.

    Parameters
    ----------
    ax
        Axes to draw on: one for one column, a pair for two. By default a new figure is made.
    confidence
        Of the band, which holds at all drawn points at once.
    map
        Draw two columns to scale: a unit of one is as long as a unit of the other. Longitudes and latitudes
        (``lon``, ``lng``, ``long``, ``longitude``; ``lat``, ``latitude``) are drawn as a map without being asked.
    group
        The one of a release's groups to draw; all by default.

    Returns the axes: one, or an array (for two columns the function, and how far its band reaches).
    """
    matplotlib = need("matplotlib", "plot")
    seen = face_of(release, probability("confidence", confidence), map, group).picture()
    painter = PAINTERS[type(seen)]
    if ax is not None:
        painter.draw(seen, _checked_axes(ax, painter.needed(seen), release.box.dimension))
        return ax
    with matplotlib.rc_context(style()):
        size = painter.size(seen, False)
        made = need("matplotlib.pyplot", "plot").figure(figsize=size, layout="constrained")
        return _filled(made, seen, stacked=False)


def figure_of(seen: Any, stacked: bool) -> Figure:
    """A figure of a picture that pyplot knows nothing of, for a page; call it inside ``rc_context(style())``."""
    painter = PAINTERS[type(seen)]
    size = (painter.page_size or painter.size)(seen, stacked)
    made: Figure = need("matplotlib.figure", "plot").Figure(figsize=size, layout="constrained")
    _filled(made, seen, stacked)
    return made


def svg_of(seen: Any, stacked: bool) -> bytes:
    """A picture for a page, as an SVG document whose words stay words."""
    buffer = io.BytesIO()
    with need("matplotlib", "plot").rc_context({**style(), "svg.fonttype": "none", "svg.hashsalt": "sfumato"}):
        figure_of(seen, stacked).savefig(buffer, format="svg", transparent=True)
    return buffer.getvalue()


def _filled(figure: Figure, seen: Any, stacked: bool) -> Any:
    """Make the axes and draw on them; returns them."""
    painter = PAINTERS[type(seen)]
    axes = painter.lay(figure, seen, stacked)
    painter.fill(figure, seen, list(np.atleast_1d(np.asarray(axes, dtype=object)).ravel()), stacked)
    return axes


def _checked_axes(ax: Any, panels: int, columns: int) -> list[Axes]:
    """The caller's axes as a list of the right length."""
    kind = need("matplotlib.axes", "plot").Axes
    found = list(np.atleast_1d(np.asarray(ax, dtype=object)).ravel())
    if len(found) != panels or not all(isinstance(a, kind) for a in found):
        pair = "a pair of matplotlib Axes (the function, its uncertainty)"
        wanted = "one matplotlib Axes" if panels == 1 else pair if panels == 2 else f"{panels} matplotlib Axes"
        raise ParameterError(f"ax must be {wanted} for a release of {columns} column(s), got ax={ax!r}")
    return found
