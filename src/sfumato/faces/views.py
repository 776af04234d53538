"""A release at the points of its picture: values and the limits of a band, panel by panel."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.unit import from_unit, in_words
from sfumato.core.box import Box, Column, Date, Interval
from sfumato.errors import ParameterError
from sfumato.faces.scales import Axis, Layout, levels_of
from sfumato.faces.words import number

Floats = NDArray[np.float64]
Truths = NDArray[np.bool_]

CURVE_POINTS = 401
SKETCHED = 60  # values of a sketch
GRID_POINTS = 81  # along each of two columns, at least
_FINEST = 241  # and at most
_FINE = 3.0  # points in a kernel's deviation
MOST_GROUPS = 6  # that one panel tells apart
MOST_PANELS = 12  # small panels of one picture


@dataclass(frozen=True)
class Sample:
    """A release on the grid of its picture, with the limits of a band that holds at all of it.

    Parameters
    ----------
    axes
        Places along each column, in its units; the values have one axis for each.
    unbounded
        Whether the band has no limits somewhere, so that the edge of the picture stands for them.
    """

    axes: tuple[Floats, ...]
    values: Floats
    low: Floats
    high: Floats
    confidence: float
    label: str = "release"
    unbounded: bool = False

    @property
    def widths(self) -> Floats:
        """How far the band reaches from the release: the half-width, where the release is its middle."""
        return np.asarray(np.maximum(self.high - self.values, self.values - self.low))

    def laid(self, layout: Layout) -> Sample:
        """The same with its second column to the right, where the layout says so."""
        if not layout.turned:
            return self
        turned = {name: getattr(self, name).T for name in ("values", "low", "high")}
        return replace(self, axes=self.axes[::-1], **turned)

    @property
    def may_be_zero(self) -> Truths:
        """Where a density may well be zero: its band reaches down to it, and it lies in the band's lower half."""
        return np.asarray((self.low <= 0) & (self.values < (self.high - self.low) / 2))


@dataclass(frozen=True, eq=False)
class Field:
    """A function over two columns in colours, and beside it how far its band reaches, in the same units and steps.

    Parameters
    ----------
    axes
        The columns, to the right and up.
    x, y
        Places along them.
    values, reach
        ``(len(x), len(y))``; NaN where they are left blank.
    hatched, meaning
        What is hatched, and what that says.
    levels
        Of the colours; none where all values are the same.
    aspect
        How long a unit upwards is, where it is drawn to scale.
    blocks
        Whether it jumps.
    unbounded
        Whether the band has no limits somewhere.
    """

    axes: tuple[Axis, Axis]
    x: Floats
    y: Floats
    values: Floats
    reach: Floats
    hatched: Truths
    meaning: str
    levels: tuple[float, ...]
    aspect: float | None = None
    blocks: bool = False
    unbounded: bool = False

    @property
    def reach_levels(self) -> tuple[float, ...]:
        """Those of the values, or steps of their length where they do not begin at zero."""
        if not self.levels:
            return levels_of(self.reach, density=False)
        return tuple(level - self.levels[0] for level in self.levels)

    def reach_words(self, unit: float) -> str:
        """From where to where the reach goes, in units of a power of ten."""
        low, high = (number(float(end(self.reach)) / unit, 2) for end in (np.nanmin, np.nanmax))
        if self.unbounded:
            return f": {low} or more, in places without bound"
        return f": {high}" if low == high else f": {low} to {high}"


@dataclass(frozen=True)
class View:
    """One drawing over one or two columns: a curve for each sample, or one surface and its uncertainty.

    Parameters
    ----------
    axes
        The columns.
    quantity
        What the values are.
    caption, note
        What stands below it; below it where another one has said the rest.
    band
        What its limits are called.
    density
        Whether areas are compared, and what is not known reaches down to zero.
    blocks
        Whether it jumps.
    aspect
        How long a unit upwards is, of a map.
    alone
        Whether a surface comes without its uncertainty.
    title
        Of a panel among others like it.
    levels
        Of a surface's colours, where others share them.
    """

    axes: tuple[Axis, ...]
    samples: tuple[Sample, ...]
    quantity: str
    caption: str
    note: str = ""
    band: str = "band of the noise"
    density: bool = False
    blocks: bool = False
    aspect: float | None = None
    alone: bool = False
    title: str = ""
    levels: tuple[float, ...] | None = None

    @property
    def panels(self) -> int:
        """How many axes it needs."""
        return 1 if self.alone else len(self.axes)

    @property
    def field(self) -> Field:
        """A surface as it is drawn."""
        (seen,), (across, up), (x, y) = self.samples, self.axes, self.samples[0].axes
        if self.density:
            hatched, meaning = seen.may_be_zero, "may be zero (in the lower half of a band that reaches down to it)"
        else:
            hatched, meaning = np.minimum(seen.high, -seen.low) > 0, "zero lies inside the band"
        levels = levels_of(seen.values, self.density) if self.levels is None else self.levels
        drawn = (seen.values, seen.widths, hatched, meaning, levels)
        return Field((across, up), x, y, *drawn, self.aspect, self.blocks, seen.unbounded)


@dataclass(frozen=True)
class Views:
    """What a picture of functions shows: curves beside each other, surfaces below each other, or many small panels.

    Parameters
    ----------
    small
        Whether each view is one panel of a grid, and all share one scale.
    note
        What the picture leaves out.
    """

    views: tuple[View, ...]
    small: bool = False
    note: str = ""

    def sharing_levels(self) -> Views:
        """The same with one scale of colours for all surfaces."""
        values = np.concatenate([view.samples[0].values.ravel() for view in self.views])
        levels = levels_of(values, self.views[0].density)
        return replace(self, views=tuple(replace(view, levels=levels) for view in self.views))


@dataclass(frozen=True)
class Sketch:
    """A function of one column in a few numbers, for a terminal: from its lowest value to its highest."""

    box: Box
    values: Floats  # NaN where nothing is known


def sketched_points(box: Box) -> Floats:
    """Where a sketch of one column looks."""
    return from_unit(box, ((np.arange(SKETCHED) + 0.5) / SKETCHED)[:, None])


def sketch_of(release: Any, known: Callable[[Floats], NDArray[np.bool_]] | None = None) -> Sketch | None:
    """Look at a function of one column; None where there are more, or where nothing is known."""
    if release.box.dimension > 1:
        return None
    points = sketched_points(release.box)
    values = release(points)
    if known is not None:
        values = np.where(known(points), values, np.nan)
    return None if np.isnan(values).all() else Sketch(release.box, values)


def grid(box: Box, count: int) -> Floats:
    """``(count ** l, l)`` evenly spaced points of the box, last column fastest."""
    return points_of(even_places(box, [count] * box.dimension))


def even_places(box: Box, counts: Sequence[int]) -> tuple[Floats, ...]:
    """So many evenly spaced places along each column."""
    # The last place is the bound itself: a rounded one may lie outside the box.
    return tuple(
        np.append(column.low + np.arange(count - 1) / (count - 1) * (column.high - column.low), column.high)
        for column, count in zip(box.intervals(), counts, strict=True)
    )


def points_of(axes: Sequence[Floats]) -> Floats:
    """``(m, l)``: the points of a grid, last column fastest."""
    return np.stack([part.ravel() for part in np.meshgrid(*axes, indexing="ij")], axis=1)


def drawn_places(box: Box, widths: Sequence[float] | None = None) -> tuple[Floats, ...]:
    """Where a picture of one or two columns looks: three times in each width of a kernel, where it has one."""
    if box.dimension == 1:
        return even_places(box, [CURVE_POINTS])
    wanted = [0.0] * box.dimension if widths is None else (box.high - box.low) / np.array(widths)
    return even_places(box, [min(max(math.ceil(_FINE * each) + 1, GRID_POINTS), _FINEST) for each in wanted])


def look(release: Any, axes: Sequence[Floats], confidence: float) -> tuple[Floats, Floats, Floats]:
    """A release on a grid, with an axis for each column: values, and the limits of a band that holds at all of it."""
    return release.on_grid(axes), *release.band_on_grid(axes, confidence)


def check_groups(groups: Sequence[object], words: str = "groups", hint: str = "") -> None:
    """Refuse more groups, or classes, than one picture tells apart."""
    if len(groups) > MOST_GROUPS:
        raise ParameterError(f"a picture tells {MOST_GROUPS} {words} apart, this release has {len(groups)}{hint}")


def check_axes(count: int, box: Box) -> None:
    """Refuse a table that lies along more columns than paper has directions."""
    if count > 2:
        raise ParameterError(
            f"a picture shows a statistic along one or two columns, this one is along {count}: {box.names}; draw parts "
            "of release.value yourself"
        )


def dated(kind: Column, number: float) -> float | str:
    """A number of a column as it is told: a date as text, all else as it is."""
    return in_words(kind, number) if isinstance(kind, Date) else number


def check_numeric(box: Box) -> None:
    """Refuse what no picture on paper can show."""
    for name, column in zip(box.names, box.columns, strict=True):
        if not isinstance(column, Interval):
            raise ParameterError(f"a picture shows numeric columns, column {name!r} is {column.kind}")
