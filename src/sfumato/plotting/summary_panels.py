"""What a picture of a summary shows, computed from the release alone: panels with values and their limits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.core.box import Categorical, Interval
from sfumato.errors import ParameterError
from sfumato.releases.quality import (
    Errors,
    Limits,
    density,
    drawn_width,
    errors_by_columns,
    errors_by_width,
    numeric,
    sampling_error,
    shares,
)
from sfumato.releases.summary import SummaryRelease

Floats = NDArray[np.float64]

MOST_COLUMNS = 7  # that are drawn by themselves
MOST_CORRELATED = 12
_UNKNOWN = 0.5  # how far a correlation's limits may be
_MOST_BARS = 12
_POINTS, _GRID = 161, 41


@dataclass(frozen=True, eq=False)
class Curve:
    """The density of one numeric column, of a kernel whose width is a share of the column."""

    name: str
    width: float
    x: Floats
    limits: Limits


@dataclass(frozen=True, eq=False)
class Bars:
    """The shares of the categories of one column, the largest ones if there are many."""

    name: str
    categories: tuple[str, ...]
    of: int
    limits: Limits


@dataclass(frozen=True, eq=False)
class Plane:
    """The density of two numeric columns; it takes two axes."""

    names: tuple[str, str]
    width: float
    x: Floats
    y: Floats
    limits: Limits


@dataclass(frozen=True, eq=False)
class Correlations:
    """The correlations of numeric columns, and how far limits that hold for all of them at once are."""

    names: tuple[str, ...]
    value: Floats
    reach: Floats

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which are known well enough to be shown; no column is compared with itself."""
        return np.asarray((self.reach <= _UNKNOWN) & ~np.eye(len(self.names), dtype=np.bool_))


@dataclass(frozen=True, eq=False)
class Reach:
    """Errors of bumps by their width: of one column, and of two at once."""

    errors: tuple[Errors, ...]
    sampling: float


Panel = Curve | Bars | Plane | Correlations | Reach


@dataclass(frozen=True, eq=False)
class Seen:
    """What there is to draw."""

    release: SummaryRelease
    confidence: float
    panels: tuple[Panel, ...]


def seen_of(release: SummaryRelease, confidence: float) -> Seen:
    """Compute everything that is drawn, from the release alone."""
    numbers, dimension = numeric(release), release.box.dimension
    errors = tuple(errors_by_columns(release, confidence, most=2))
    panels: list[Panel] = []
    if dimension == len(numbers) == len(errors) == 2:
        panels.append(_plane(release, errors[1], confidence))
    else:
        panels += [_column(release, j, confidence) for j in range(min(dimension, MOST_COLUMNS))]
        if len(numbers) > 1:
            panels += _correlations(release, confidence)
    if errors:
        panels.append(Reach(errors, sampling_error(release)))
    return Seen(release, confidence, tuple(panels))


def _column(release: SummaryRelease, place: int, confidence: float) -> Panel:
    name, kind = release.box.names[place], release.box.columns[place]
    if isinstance(kind, Categorical):
        found = shares(release, place, confidence)
        kept = np.sort(np.argsort(-found.value, kind="stable")[:_MOST_BARS])
        names = tuple(str(kind.categories[i]) for i in kept)
        return Bars(name, names, len(found.value), Limits(found.value[kept], found.low[kept], found.high[kept]))
    width = drawn_width(errors_by_width(release, [place], confidence))
    unit = np.linspace(0.0, 1.0, _POINTS)
    return Curve(name, width, _user(kind, unit), density(release, [place], unit[:, None], width, confidence))


def _plane(release: SummaryRelease, errors: Errors, confidence: float) -> Plane:
    unit, width = np.linspace(0.0, 1.0, _GRID), drawn_width(errors)
    points = np.stack([part.ravel() for part in np.meshgrid(unit, unit, indexing="ij")], axis=1)
    x, y = (_user(kind, unit) for kind in release.box.columns if isinstance(kind, Interval))
    first, second = release.box.names
    return Plane((first, second), width, x, y, density(release, [0, 1], points, width, confidence))


def _user(kind: Interval, unit: Floats) -> Floats:
    return np.asarray(kind.low + unit * (kind.high - kind.low))


def _correlations(release: SummaryRelease, confidence: float) -> list[Panel]:
    """None where the summary has not the moments for them, or where noise hides them all."""
    names = tuple(release.box.names[j] for j in numeric(release)[:MOST_CORRELATED])
    pairs = len(names) * (len(names) - 1) // 2
    try:
        found = release.correlation(list(names), 1 - (1 - confidence) / pairs)
    except ParameterError:
        return []
    panel = Correlations(names, np.asarray(found.value), np.asarray(found.error))
    return [panel] if panel.known.any() else []
