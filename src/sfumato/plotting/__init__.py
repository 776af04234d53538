"""Pictures of a release, from public quantities only: the function and how sure it is.

matplotlib is imported when a picture is drawn, not before. A figure that sfumato makes has a quiet style of its
own, set for that figure alone; on axes of yours only data and labels are added.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.checks import probability
from sfumato.errors import ParameterError
from sfumato.extras import need
from sfumato.plotting import bayes, summaries
from sfumato.plotting.collected import plot_collected
from sfumato.plotting.collected_panels import is_collected
from sfumato.plotting.figures import Figures
from sfumato.plotting.learners import axes_needed, draw_panels, fill, shape_of, size_of
from sfumato.plotting.likelihoods import Evidence, evidence
from sfumato.plotting.machines import Panel, machine_panels
from sfumato.plotting.panels import LEGEND, add_caption, draw, style, tidy
from sfumato.plotting.samples import View, check_drawable, views
from sfumato.plotting.summary_panels import Seen, seen_of
from sfumato.plotting.values import draw_value, figures_to_draw, fill_value
from sfumato.plotting.values import size_of as size_of_value
from sfumato.plotting.words import Drawable, Functions, Learners, exact, number, plain, quantity, short
from sfumato.releases.bayes import NaiveBayesRelease
from sfumato.releases.curve import CurveRelease
from sfumato.releases.grouped import GroupedDensityRelease
from sfumato.releases.machine import MachineRelease
from sfumato.releases.summary import SummaryRelease
from sfumato.releases.value import ValueRelease

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "bayes_figure",
    "exact",
    "figure",
    "machine_figure",
    "number",
    "plain",
    "plot",
    "quantity",
    "short",
    "style",
    "summary_figure",
    "value_figure",
    "views",
]


def plot(release: Drawable, ax: Any = None, confidence: float = 0.95) -> Any:
    """Draw a release and its band: a curve, or a surface beside its uncertainty.

    A density of three columns is drawn as the densities of each, groups on top of each other where they are curves.
    A classifier of two columns is drawn as the regions of its labels, hatched where noise could have changed them; a
    learner of more as its slopes, or along each column while the others stay in the middle of the box. A naive Bayes
    classifier is drawn as its classes' shares and their likelihoods, column by column. A statistic is drawn as a number
    with its limits, as bars with whiskers, or as a map of a table. A summary is drawn as the densities and shares of
    its columns, how they go together, and how far off answers are by the width of the question.
    What devices reported is drawn as its densities, or as the shares of categories and how strongly columns are
    associated.

    Parameters
    ----------
    ax
        Axes to draw on: one for one column, a pair for two. By default a new figure is made.
    confidence
        Of the band, which holds at all drawn points at once.

    Returns the axes: one, or an array (for two columns the function, and how far its band reaches).
    """
    matplotlib = need("matplotlib", "plot")
    probability("confidence", confidence)
    if is_collected(release):
        return plot_collected(release, ax, confidence)  # type: ignore[arg-type]
    if isinstance(release, MachineRelease | CurveRelease):
        return _plot_machine(release, ax, confidence)
    if isinstance(release, NaiveBayesRelease):
        return _plot_bayes(release, ax, confidence)
    if isinstance(release, ValueRelease):
        return _plot_value(release, ax, confidence)
    if isinstance(release, SummaryRelease):
        return _plot_summary(release, ax, confidence)
    check_drawable(release)
    if ax is not None:
        given = _given_axes(ax, release)
        for view, own in _shared(views(release, confidence), given):
            draw(view, own, 60, {})
        return ax
    seen = views(release, confidence)
    with matplotlib.rc_context(style()):
        rows, columns = _layout(seen)
        size = (7.2, 4.6) if rows * columns == 1 else (9.6, 4.6) if columns == 2 else (10.4, 4.0)
        settings = {"figsize": (size[0], size[1] * rows), "layout": "constrained"}
        made_figure, made = need("matplotlib.pyplot", "plot").subplots(rows, columns, **settings)
        _fill(made_figure, seen, list(np.atleast_1d(made).ravel()), stacked=False)
    return made


def _plot_machine(release: Learners, ax: Any, confidence: float) -> Any:
    panels = machine_panels(release, confidence)
    if ax is not None:
        draw_panels(panels, _checked_axes(ax, axes_needed(panels), release), 60, {})
        return ax
    with need("matplotlib", "plot").rc_context(style()):
        rows, columns = shape_of(panels, stacked=False)
        settings = {"figsize": size_of(panels), "layout": "constrained"}
        made_figure, made = need("matplotlib.pyplot", "plot").subplots(rows, columns, **settings)
        fill(made_figure, panels, list(np.atleast_1d(made).ravel()), stacked=False)
    return made


def _plot_bayes(release: NaiveBayesRelease, ax: Any, confidence: float) -> Any:
    seen = evidence(release, confidence)
    if ax is not None:
        given = _checked_axes(ax, bayes.axes_needed(seen), release)
        bayes.draw_evidence(seen, given, 40)
        add_caption(given[0], bayes.caption(seen), 40)
        return ax
    with need("matplotlib", "plot").rc_context(style()):
        settings = {"figsize": bayes.size_of(seen), "layout": "constrained"}
        made_figure, made = need("matplotlib.pyplot", "plot").subplots(*bayes.shape_of(seen, False), **settings)
        bayes.fill(made_figure, seen, list(np.atleast_1d(made).ravel()), stacked=False)
    return made


def _plot_value(release: ValueRelease, ax: Any, confidence: float) -> Any:
    seen = figures_to_draw(release, confidence)
    if ax is not None:
        draw_value(seen, _checked_axes(ax, 1, release)[0], 60)
        return ax
    with need("matplotlib", "plot").rc_context(style()):
        settings = {"figsize": size_of_value(seen), "layout": "constrained"}
        made_figure, made = need("matplotlib.pyplot", "plot").subplots(**settings)
        fill_value(made_figure, seen, made, stacked=False)
    return made


def _plot_summary(release: SummaryRelease, ax: Any, confidence: float) -> Any:
    seen = seen_of(release, confidence)
    if ax is not None:
        given = _checked_axes(ax, summaries.axes_needed(seen), release)
        summaries.draw_seen(seen, given, 40, 40)
        add_caption(given[0], summaries.caption(seen), 40)
        return ax
    with need("matplotlib", "plot").rc_context(style()):
        made = need("matplotlib.pyplot", "plot").figure(figsize=summaries.size_of(seen), layout="constrained")
        axes = summaries.axes_of(made, seen, stacked=False)
        summaries.fill(made, seen, axes, stacked=False)
    return axes[0] if len(axes) == 1 else np.array(axes, dtype=object)


def figure(seen: Sequence[View], size: tuple[float, float], stacked: bool) -> Figure:
    """A figure that pyplot knows nothing of, to be written to a file; call it inside ``rc_context(style())``."""
    made: Figure = need("matplotlib.figure", "plot").Figure(figsize=size, layout="constrained")
    rows, columns = _layout(seen)
    axes = made.subplots(rows * columns, 1) if stacked else made.subplots(rows, columns)
    _fill(made, seen, list(np.atleast_1d(axes).ravel()), stacked)
    return made


def machine_figure(panels: Sequence[Panel], size: tuple[float, float], stacked: bool) -> Figure:
    """The same for a learner."""
    made: Figure = need("matplotlib.figure", "plot").Figure(figsize=size, layout="constrained")
    axes = made.subplots(*shape_of(panels, stacked))
    fill(made, panels, list(np.atleast_1d(axes).ravel()), stacked)
    return made


def bayes_figure(seen: Evidence, size: tuple[float, float], stacked: bool) -> Figure:
    """The same for a naive Bayes classifier."""
    made: Figure = need("matplotlib.figure", "plot").Figure(figsize=size, layout="constrained")
    axes = made.subplots(*bayes.shape_of(seen, stacked))
    bayes.fill(made, seen, list(np.atleast_1d(axes).ravel()), stacked)
    return made


def summary_figure(seen: Seen, size: tuple[float, float], stacked: bool) -> Figure:
    """The same for a summary."""
    made: Figure = need("matplotlib.figure", "plot").Figure(figsize=size, layout="constrained")
    summaries.fill(made, seen, summaries.axes_of(made, seen, stacked), stacked)
    return made


def value_figure(seen: Figures, size: tuple[float, float], stacked: bool) -> Figure:
    """The same for a statistic."""
    made: Figure = need("matplotlib.figure", "plot").Figure(figsize=size, layout="constrained")
    fill_value(made, seen, made.subplots(), stacked)
    return made


def _layout(seen: Sequence[View]) -> tuple[int, int]:
    """Rows and columns of axes: curves beside each other, surfaces below each other."""
    return (1, len(seen)) if seen[0].panels == 1 else (len(seen), 2)


def _fill(made: Figure, seen: Sequence[View], axes: list[Axes], stacked: bool) -> None:
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


def _shared(seen: Sequence[View], axes: Sequence[Axes]) -> list[tuple[View, list[Axes]]]:
    """Each view with the axes that it draws on."""
    waiting = iter(axes)
    return [(view, [next(waiting) for _ in range(view.panels)]) for view in seen]


def _given_axes(ax: Any, release: Functions) -> list[Axes]:
    """The caller's axes as a list of the right length."""
    columns = release.box.dimension
    groups = len(release) if isinstance(release, GroupedDensityRelease) and columns == 2 else 1
    return _checked_axes(ax, columns * groups, release)


def _checked_axes(ax: Any, panels: int, release: Drawable) -> list[Axes]:
    columns = release.box.dimension
    kind = need("matplotlib.axes", "plot").Axes
    found = list(np.atleast_1d(np.asarray(ax, dtype=object)).ravel())
    if len(found) != panels or not all(isinstance(a, kind) for a in found):
        pair = "a pair of matplotlib Axes (the function, its uncertainty)"
        wanted = "one matplotlib Axes" if panels == 1 else pair if panels == 2 else f"{panels} matplotlib Axes"
        raise ParameterError(f"ax must be {wanted} for a release of {columns} column(s), got ax={ax!r}")
    return found
