"""What a picture of a learner shows: functions with their bands, regions of labels and where they are certain, slopes.

One column: the function. Two: the regions of the labels. More: the slopes of a linear learner, or the function along
each column while the others stay at values that are typical as far as the release tells, or in the middle of the box.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.machine.coordinates import coded, decoded, terms_of
from sfumato.bases.machine.kernels import LinearKernel, Precomputed
from sfumato.core.box import Box, Categorical
from sfumato.errors import ParameterError
from sfumato.faces.base import Face
from sfumato.faces.scales import Axis, Layout, laid_axes, levels_of
from sfumato.faces.views import Field, check_groups, dated, drawn_places, even_places, points_of
from sfumato.faces.words import listed, plain, readable
from sfumato.releases.curve import CurveRelease
from sfumato.releases.machine.machine import MachineRelease, units_of
from sfumato.releases.uncertainty import half_width_of

Floats = NDArray[np.float64]
Learners = MachineRelease | CurveRelease
Nothing = Callable[[Floats, Floats], NDArray[np.bool_]]

_CURVE_POINTS = 201
_MOST_CURVES = 9
MOST_BARS = 20
_FLAT = 0.01


@dataclass(frozen=True)
class Curves:
    """The functions along one column, ``(outputs, m)``, with limits that hold on all panels at once.

    ``ticks`` are the categories, where the column has some: x is then their places.
    """

    column: int
    x: Floats
    values: Floats
    low: Floats
    high: Floats
    confidence: float
    ticks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Regions:
    """For each class ``(k, m, m)``: by how much it wins over the others, and by how much it surely does.

    ``axes`` are the columns to the right and up, ``aspect`` how long a unit upwards is where it is drawn to scale.
    """

    axes: tuple[Axis, Axis]
    x: Floats
    y: Floats
    wins: Floats
    surely: Floats
    confidence: float
    aspect: float | None = None


@dataclass(frozen=True)
class Surface:
    """A regression over two columns: the prediction, how far its band reaches, where it says nothing."""

    field: Field
    confidence: float


@dataclass(frozen=True)
class Slopes:
    """``(outputs, j)``: how much the functions change over the width of the box, for its most telling columns."""

    columns: tuple[int, ...]
    values: Floats
    reach: Floats
    confidence: float


Panel = Curves | Regions | Surface | Slopes


@dataclass(frozen=True)
class Slices:
    """What a picture of a learner or of a curve shows.

    Parameters
    ----------
    axes
        The columns.
    response
        What is predicted.
    classes
        Of the response; none for a number.
    function, line
        What the functions are called, and one of them in a legend.
    caption
        What stands below it.
    through
        Where the other columns stay.
    """

    panels: tuple[Panel, ...]
    axes: tuple[Axis, ...]
    response: str
    classes: tuple[str, ...]
    function: str
    line: str
    caption: str
    through: str = ""


def check_machine(release: MachineRelease) -> None:
    """Refuse a learner that no picture on paper can show."""
    kernel = release.handed.features.kernel
    if kernel is None:
        raise ParameterError("a file holds no code: attach the kernel with release.with_kernel(function) first")
    if isinstance(kernel, Precomputed):
        raise ParameterError("a picture shows columns of numbers; this learner knows objects by their kernel values")
    check_groups(release.classes or (), "classes")


def through_middle(box: Box) -> tuple[Floats, str]:
    """The middle of a box, the first of categories, where nothing that was released says what is typical."""
    first = [isinstance(column, Categorical) for column in box.columns]
    at = np.where(first, 0.0, coded(box).low / 2 + coded(box).high / 2)
    words = ("in the middle of the box", *(["at their first category"] if any(first) else []))
    return at, f"the other columns {' or '.join(words)}"


def through_values(box: Box, at: Floats, what: str) -> tuple[Floats, str]:
    """A point of the box, and what its values are, in words."""
    values = [dated(kind, float(value)) for kind, value in zip(box.columns, at, strict=True)]
    told = [f"{plain(name, 20)} {readable(value)}" for name, value in zip(box.names, values, strict=True)]
    return at, f"the other columns at their {what}: {listed(told)}"


def _evaluated(release: Any, points: Any, confidence: float) -> tuple[Floats, Floats, Floats]:
    """``(outputs, m)``: values and limits."""
    values = release(points)
    low, high = release.band(points, confidence)
    rows = [np.atleast_2d(part.T) for part in (values, low, high)]
    return rows[0], rows[1], rows[2]


def curves_of(release: Any, confidence: float, at: Floats) -> list[Curves]:
    """Along each column, of many along those that tell most, while the others stay at a point.

    In the point, as along an axis, a category is its place in the declared list.
    """
    inside, dimension = coded(release.box), release.box.dimension
    across = np.tile(at, (dimension, _CURVE_POINTS, 1))
    for column, places in enumerate(even_places(inside, [_CURVE_POINTS] * dimension)):
        chosen = isinstance(release.box.columns[column], Categorical)
        across[column, :, column] = np.rint(places) if chosen else places
    found = _evaluated(release, decoded(release.box, across.reshape(-1, dimension)), confidence)
    values, low, high = (part.reshape(-1, dimension, _CURVE_POINTS) for part in found)
    telling = np.argsort(-np.ptp(values, axis=2).max(axis=0), kind="stable")[:_MOST_CURVES]
    curves = []
    for i in sorted(int(place) for place in telling):
        kind, shown = release.box.columns[i], np.arange(_CURVE_POINTS)
        ticks: tuple[str, ...] = ()
        if isinstance(kind, Categorical):
            shown, ticks = np.unique(across[i, :, i], return_index=True)[1], tuple(map(str, kind.categories))
        limits = low[:, i, shown], high[:, i, shown]
        curves.append(Curves(i, across[i, shown, i], values[:, i, shown], *limits, confidence, ticks))
    return curves


def regions_of(release: MachineRelease, confidence: float, layout: Layout) -> Regions:
    """The labels of a classifier of two columns."""
    places = drawn_places(release.box)
    values, low, high = _evaluated(release, points_of(places), confidence)
    if len(values) == 1:  # of two classes, one function is the other's negative
        wins, surely = np.concatenate([-values, values]), np.concatenate([-high, low])
    else:
        wins = np.stack([values[k] - np.delete(values, k, 0).max(axis=0) for k in range(len(values))])
        surely = np.stack([low[k] - np.delete(high, k, 0).max(axis=0) for k in range(len(values))])
    wins, surely = (part.reshape(-1, *map(len, places)) for part in (wins, surely))
    if layout.turned:
        places, wins, surely = places[::-1], wins.swapaxes(1, 2), surely.swapaxes(1, 2)
    (x, y), (across, up) = places, laid_axes(release.box, layout)
    return Regions((across, up), x, y, wins, surely, confidence, layout.aspect)


def surface_of(release: Learners, confidence: float, layout: Layout, nothing: Nothing | None = None) -> Surface:
    """A regression of two columns; ``nothing`` tells from its limits where it says nothing."""
    places = drawn_places(release.box)
    (values,), (low,), (high,) = _evaluated(release, points_of(places), confidence)
    reach = np.maximum(high - values, values - low)
    if np.ptp(reach) < _FLAT * reach.max():  # its ripples are no news: say the largest
        reach = np.full_like(reach, reach.max())
    unknown = np.zeros(len(values), dtype=bool) if nothing is None else nothing(low, high)
    # What noise alone drew is left blank, and does not stretch the colours; where that is all, it is shown.
    blank = np.where(unknown & ~unknown.all(), np.nan, 0.0)
    shape = tuple(map(len, places))
    shown, far, where = ((values + blank).reshape(shape), (reach + blank).reshape(shape), unknown.reshape(shape))
    if layout.turned:
        places, shown, far, where = places[::-1], shown.T, far.T, where.T
    (x, y), (across, up) = places, laid_axes(release.box, layout)
    words, levels = "too few records to say anything", levels_of(shown, density=False)
    return Surface(Field((across, up), x, y, shown, far, where, words, levels, layout.aspect), confidence)


# --- slopes -----------------------------------------------------------------------------------------------------


def slopes_of(release: MachineRelease) -> Floats | None:
    """``(outputs, terms)``: each function's change over a column's width, or by a category; None if not linear."""
    handed, box = release.handed, release.box
    own = handed.lattice is None and handed.features.nodes is None  # not written in anything but its coordinates
    if not isinstance(handed.features.kernel, LinearKernel) or not own:
        return None
    slopes, _ = release.linear()
    return np.asarray(slopes * units_of(box)[0])


def slope_limits(release: MachineRelease, confidence: float) -> Floats:
    """``(terms,)``: how far noise can have moved those of each function, all of them at once with this confidence."""
    box, inside, outputs = release.box, release.handed.inside, release.response.outputs
    share = 1 - (1 - confidence) / (outputs if inside is None else outputs + 1)
    matrix = terms_of(box)[1]
    rows = np.pad(matrix, ((0, 0), (0, release.law.size - matrix.shape[1])))
    width = half_width_of([rows], release.law, share)
    if inside is not None:
        width = width + inside.radius(share) * np.linalg.norm(matrix, axis=1)
    scale = 1.0 if box.max_norm is None else (box.high - box.low) / box.max_norm
    return np.asarray(width * scale * _unit(release))


def _unit(release: MachineRelease) -> float:
    """What one of a function is worth, in the response's units."""
    bounds = release.response.range
    return 1.0 if bounds is None else (bounds[1] - bounds[0]) / 2


def steepest_of(release: MachineRelease, slopes: Floats, confidence: float) -> Slopes:
    """The largest slopes of a linear learner."""
    order = np.argsort(-np.abs(slopes).max(axis=0), kind="stable")[:MOST_BARS]
    columns = tuple(int(i) for i in order)
    return Slopes(columns, slopes[:, order], slope_limits(release, confidence)[order], confidence)


def sliced_words(face: Face) -> str:
    """What a picture of a learner or of a curve shows, for those who do not see it."""
    over = " and ".join(face.release.box.names)
    return f"{face.quantity} of {face.release.response.name} over {over}, and how far the noise can have changed it"
