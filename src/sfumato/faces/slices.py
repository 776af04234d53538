"""What a picture of a learner shows: functions with their bands, regions of labels and where they are certain, slopes.

One column: the function. Two: the regions of the labels. More: the slopes of a linear learner, or the function along
each column while the others stay in the middle of the box.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.machine.kernels import LinearKernel, Precomputed
from sfumato.bases.unit import from_unit
from sfumato.errors import ParameterError
from sfumato.faces.base import Face
from sfumato.faces.views import GRID_POINTS, MOST_GROUPS, grid
from sfumato.releases.curve import CurveRelease
from sfumato.releases.machine.machine import MachineRelease
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
    """The functions along one column, ``(outputs, m)``, with limits that hold on all panels at once."""

    column: int
    x: Floats
    values: Floats
    low: Floats
    high: Floats
    confidence: float


@dataclass(frozen=True)
class Regions:
    """For each class ``(k, m, m)``: by how much it wins over the others, and by how much it surely does."""

    x: Floats
    y: Floats
    wins: Floats
    surely: Floats
    confidence: float


@dataclass(frozen=True)
class Surface:
    """A regression over two columns, ``(m, m)``: the prediction, how far its band reaches, where it says nothing."""

    x: Floats
    y: Floats
    values: Floats
    reach: Floats
    unknown: NDArray[np.bool_]
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
    names
        Of the columns.
    response
        What is predicted.
    classes
        Of the response; none for a number.
    function, line
        What the functions are called, and one of them in a legend.
    caption
        What stands below it.
    """

    panels: tuple[Panel, ...]
    names: tuple[str, ...]
    response: str
    classes: tuple[str, ...]
    function: str
    line: str
    caption: str


def check_machine(release: MachineRelease) -> None:
    """Refuse a learner that no picture on paper can show."""
    kernel = release.handed.features.kernel
    if kernel is None:
        raise ParameterError("a file holds no code: attach the kernel with release.with_kernel(function) first")
    if isinstance(kernel, Precomputed):
        raise ParameterError("a picture shows columns of numbers; this learner knows objects by their kernel values")
    if release.classes is not None and len(release.classes) > MOST_GROUPS:
        raise ParameterError(f"a picture tells {MOST_GROUPS} classes apart, this release has {len(release.classes)}")


def _evaluated(release: Learners, points: Floats, confidence: float) -> tuple[Floats, Floats, Floats]:
    """``(outputs, m)``: values and limits."""
    values = release(points)
    low, high = release.band(points, confidence)
    rows = [np.atleast_2d(part.T) for part in (values, low, high)]
    return rows[0], rows[1], rows[2]


def curves_of(release: Learners, confidence: float) -> list[Curves]:
    """Along each column, of many along those that tell most, while the others stay in the middle of the box."""
    box = release.box
    unit = np.full((box.dimension, _CURVE_POINTS, box.dimension), 0.5)
    for column in range(box.dimension):
        unit[column, :, column] = np.linspace(0, 1, _CURVE_POINTS)
    points = from_unit(box, unit.reshape(-1, box.dimension))
    shape = (release.response.outputs, box.dimension, _CURVE_POINTS)
    values, low, high = (part.reshape(shape) for part in _evaluated(release, points, confidence))
    telling = np.argsort(-np.ptp(values, axis=2).max(axis=0), kind="stable")[:_MOST_CURVES]
    across = points.reshape(box.dimension, _CURVE_POINTS, box.dimension)
    return [Curves(int(i), across[i, :, i], values[:, i], low[:, i], high[:, i], confidence) for i in sorted(telling)]


def regions_of(release: MachineRelease, confidence: float) -> Regions:
    """The labels of a classifier of two columns."""
    points = grid(release.box, GRID_POINTS)
    values, low, high = _evaluated(release, points, confidence)
    if len(values) == 1:  # of two classes, one function is the other's negative
        wins, surely = np.concatenate([-values, values]), np.concatenate([-high, low])
    else:
        wins = np.stack([values[k] - np.delete(values, k, 0).max(axis=0) for k in range(len(values))])
        surely = np.stack([low[k] - np.delete(high, k, 0).max(axis=0) for k in range(len(values))])
    shape = (len(wins), GRID_POINTS, GRID_POINTS)
    x, y = points[::GRID_POINTS, 0], points[:GRID_POINTS, 1]
    return Regions(x, y, wins.reshape(shape), surely.reshape(shape), confidence)


def surface_of(release: Learners, confidence: float, nothing: Nothing | None = None) -> Surface:
    """A regression of two columns; ``nothing`` tells from its limits where it says nothing."""
    points = grid(release.box, GRID_POINTS)
    values, low, high = _evaluated(release, points, confidence)
    shape, x, y = (GRID_POINTS, GRID_POINTS), points[::GRID_POINTS, 0], points[:GRID_POINTS, 1]
    reach = np.maximum(high[0] - values[0], values[0] - low[0])
    if np.ptp(reach) < _FLAT * reach.max():  # its ripples are no news: say the largest
        reach = np.full_like(reach, reach.max())
    unknown = np.zeros(len(points), dtype=bool) if nothing is None else nothing(low[0], high[0])
    return Surface(x, y, values[0].reshape(shape), reach.reshape(shape), unknown.reshape(shape), confidence)


# --- slopes -----------------------------------------------------------------------------------------------------


def slopes_of(release: MachineRelease) -> Floats | None:
    """``(outputs, d)``: the change of each function over the width of each column; None for what is not linear."""
    handed, box = release.handed, release.box
    own = handed.lattice is None and handed.features.nodes is None  # not written in anything but its coordinates
    if not isinstance(handed.features.kernel, LinearKernel) or not own:
        return None
    slopes, _ = release.linear()
    return np.asarray(slopes * (box.high - box.low))


def slope_limits(release: MachineRelease, confidence: float) -> Floats:
    """``(d,)``: how far noise can have moved those of each function, all of them at once with this confidence."""
    box, inside, outputs = release.box, release.handed.objective, release.response.outputs
    share = 1 - (1 - confidence) / (outputs if inside is None else outputs + 1)
    width = half_width_of([np.eye(box.dimension, release.law.size)], release.law, share)
    if inside is not None:
        width = width + inside.radius(share)
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
