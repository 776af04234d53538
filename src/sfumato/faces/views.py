"""A release at the points of its picture: values and the limits of a band, panel by panel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.unit import from_unit
from sfumato.core.box import Box, Interval
from sfumato.errors import ParameterError

Floats = NDArray[np.float64]

CURVE_POINTS = 401
SKETCHED = 60  # values of a sketch
GRID_POINTS = 81  # along each of two columns
MOST_GROUPS = 6  # that one picture tells apart


@dataclass(frozen=True)
class Sample:
    """A release at the points of its picture: ``(m, l)`` points, and the limits of a band that holds at all."""

    points: Floats
    values: Floats
    low: Floats
    high: Floats
    confidence: float
    label: str = "release"

    @property
    def widths(self) -> Floats:
        """How far the band reaches from the release: the half-width, where the release is its middle."""
        return np.asarray(np.maximum(self.high - self.values, self.values - self.low))


@dataclass(frozen=True)
class View:
    """One drawing over one or two columns: a curve for each sample, or one surface and its uncertainty.

    Parameters
    ----------
    names
        Of the columns.
    quantity
        What the values are.
    caption, note
        What stands below it; below it where another one has said the rest.
    density
        Whether areas are compared, and what is not known reaches down to zero.
    blocks
        Whether it jumps.
    """

    names: tuple[str, ...]
    samples: tuple[Sample, ...]
    quantity: str
    caption: str
    note: str = ""
    density: bool = False
    blocks: bool = False

    @property
    def panels(self) -> int:
        """How many axes it needs."""
        return len(self.names)


@dataclass(frozen=True)
class Views:
    """What a picture of functions shows: curves beside each other, or surfaces below each other."""

    views: tuple[View, ...]


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
    axes = np.meshgrid(*[np.linspace(0, 1, count)] * box.dimension, indexing="ij")
    return from_unit(box, np.stack([axis.ravel() for axis in axes], axis=1))


def drawn_points(box: Box) -> Floats:
    """Where a picture of one or two columns looks."""
    return grid(box, CURVE_POINTS if box.dimension == 1 else GRID_POINTS)


def check_columns(box: Box, most: int) -> None:
    """Refuse what no picture on paper can show."""
    if box.dimension > most:
        raise ParameterError(
            f"a picture shows one or two columns, this release has {box.dimension}: {box.names}; fix the other columns "
            "and draw release(points) and release.band(points) along the ones you want to see"
        )
    for name, column in zip(box.names, box.columns, strict=True):
        if not isinstance(column, Interval):
            raise ParameterError(f"a picture shows numeric columns, column {name!r} is {column.kind}")
