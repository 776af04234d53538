"""A release at the points of its picture: values and the limits of a band, panel by panel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.base import LatticeBasis
from sfumato.bases.unit import from_unit
from sfumato.core.box import Box, Interval
from sfumato.errors import ParameterError
from sfumato.faces.words import plain
from sfumato.releases.density import DensityRelease
from sfumato.releases.function import FunctionRelease
from sfumato.releases.grouped import GroupedDensityRelease

Floats = NDArray[np.float64]
Functions = FunctionRelease | GroupedDensityRelease

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
    """One drawing over one or two columns: a curve for each sample, or one surface and its uncertainty."""

    release: FunctionRelease
    samples: tuple[Sample, ...]

    @property
    def panels(self) -> int:
        """How many axes it needs."""
        return self.release.box.dimension


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


def views_of(release: Functions, confidence: float) -> Views:
    """What a picture of a release shows."""
    return Views(tuple(_views(release, confidence)))


def _views(release: Functions, confidence: float) -> list[View]:
    """What a picture of a release shows."""
    check_drawable(release)
    if isinstance(release, GroupedDensityRelease):
        parts = {f"{plain(release.by, 20)} = {plain(str(name), 30)}": part for name, part in release.parts.items()}
        if release.box.dimension == 2:
            return [View(part, (sample(part, confidence, name),)) for name, part in parts.items()]
        along = {name: _curves(part) for name, part in parts.items()}
        return [
            View(curve, tuple(sample(along[name][i], confidence, name) for name in parts))
            for i, curve in enumerate(next(iter(along.values())))
        ]
    return [View(part, (sample(part, confidence),)) for part in _curves(release)]


def _curves(release: FunctionRelease) -> list[Any]:
    """The release itself, or of three columns each by itself."""
    if isinstance(release, DensityRelease) and release.box.dimension > 2:
        return [release.marginal(name) for name in release.box.names]
    return [release]


def sample(release: FunctionRelease, confidence: float, label: str = "release") -> Sample:
    """Evaluate a release of one or two columns on an even grid."""
    points = grid(release.box, CURVE_POINTS if release.box.dimension == 1 else GRID_POINTS)
    low, high = release.band(points, confidence)
    if not isinstance(release, DensityRelease):
        return Sample(points, (low + high) / 2, low, high, confidence, label)
    values = release(points)
    edge = 3 * float(np.abs(values).max())  # a limit may be infinite, a picture has an edge
    low, high = np.where(np.isinf(low), -edge, low), np.where(np.isinf(high), edge, high)
    return Sample(points, values, low, high, confidence, label)


def grid(box: Box, count: int) -> Floats:
    """``(count ** l, l)`` evenly spaced points of the box, last column fastest."""
    axes = np.meshgrid(*[np.linspace(0, 1, count)] * box.dimension, indexing="ij")
    return from_unit(box, np.stack([axis.ravel() for axis in axes], axis=1))


def drawable(release: Functions) -> bool:
    """Whether there is a picture of a release."""
    try:
        check_drawable(release)
    except ParameterError:
        return False
    return True


def check_drawable(release: Functions) -> None:
    """Refuse a release that no picture on paper can show."""
    box, part = release.box, release
    if isinstance(release, GroupedDensityRelease):
        if len(release) > MOST_GROUPS:
            raise ParameterError(
                f"a picture tells {MOST_GROUPS} groups apart, this release has {len(release)}; draw them one by one: "
                f"release[{release.groups[0]!r}].plot()"
            )
        part = release[release.groups[0]]
    whole = isinstance(part, DensityRelease) and not isinstance(part.basis, LatticeBasis)
    if box.dimension > (3 if whole else 2):
        raise ParameterError(
            f"a picture shows one or two columns, this release has {box.dimension}: {box.names}; fix the other columns "
            "and draw release(points) and release.band(points) along the ones you want to see"
        )
    for name, column in zip(box.names, box.columns, strict=True):
        if not isinstance(column, Interval):
            raise ParameterError(f"a picture shows numeric columns, column {name!r} is {column.kind}")
