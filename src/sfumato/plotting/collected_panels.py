"""Collected releases as their pictures show them: curves, bars and maps, from public quantities only."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.expansion import Expansion
from sfumato.bases.hat import Hat
from sfumato.bases.measure import to_simplex
from sfumato.core.box import Box, Categorical
from sfumato.laws import LocalLaw
from sfumato.plotting.samples import CURVE_POINTS, GRID_POINTS, Sample, View, grid
from sfumato.plotting.words import plain
from sfumato.releases.collected import CollectedDensity
from sfumato.releases.marginals import MarginalsRelease
from sfumato.releases.summary import SummaryRelease

Floats = NDArray[np.float64]
Collected = CollectedDensity | MarginalsRelease | SummaryRelease

MOST_COLUMNS = 6  # that have curves or bars of their own
MOST_BARS = 20
MOST_PAIRED = 24  # columns of a map of pairs


def is_collected(release: object) -> bool:
    """Whether a release comes from reports of people's own devices."""
    summary = isinstance(release, SummaryRelease) and isinstance(release.law, LocalLaw)
    return summary or isinstance(release, CollectedDensity | MarginalsRelease)


def reports_of(release: Collected) -> int:
    """How many reports it rests on."""
    if isinstance(release, SummaryRelease):
        assert release.rows is not None  # of reports, which is public
        return release.rows
    return release.reports


def shape_words(release: Collected) -> str:
    """What a collected release holds, in words."""
    if isinstance(release, CollectedDensity):
        shape = " x ".join(str(k + 1) for k in release.basis.degrees(release.box))
        return f"a density, piecewise linear between {shape} lattice points"
    columns = "1 column" if release.box.dimension == 1 else f"{release.box.dimension} columns"
    if isinstance(release, MarginalsRelease):
        one = f"the shares of every category of {columns}"
        return one if release.ways == 1 else f"{one}, and every table of up to {release.ways} of them"
    return f"{len(release.numbers):,} cosine moments, which answer smooth questions about {columns}"


def trust_words(release: Collected) -> str:
    """Below every picture: that nobody had to be trusted, and how many reports there were."""
    return f"nobody was trusted with a record; {reports_of(release):,} reports"


# --- what is seen -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """A density of one column."""

    name: str
    x: Floats
    values: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True)
class Shares:
    """Shares of categories; ``groups`` says which column each belongs to."""

    title: str
    names: tuple[str, ...]
    values: Floats
    low: Floats
    high: Floats
    groups: tuple[int, ...]


@dataclass(frozen=True)
class Pairs:
    """How strongly every two columns are associated: Cramer's V, from 0 to 1."""

    title: str
    names: tuple[str, ...]
    values: Floats


Panel = Line | Shares | Pairs | View


@dataclass(frozen=True)
class Seen:
    """A collected release as its picture shows it."""

    release: Collected
    panels: tuple[Panel, ...]
    confidence: float
    more: str = ""  # what the picture leaves out

    @property
    def axes(self) -> int:
        """How many axes it needs."""
        return sum(2 if isinstance(panel, View) else 1 for panel in self.panels)

    @property
    def curves(self) -> bool:
        """Whether all panels are small ones, beside each other."""
        return isinstance(self.release, SummaryRelease) or isinstance(self.panels[0], Line)


def seen_of(release: Collected, confidence: float) -> Seen:
    """What a picture of a collected release shows."""
    if isinstance(release, MarginalsRelease):
        panels: list[Panel] = [_shares(release, confidence)]
        if release.ways > 1:
            panels.append(_pairs(release))
        return Seen(release, tuple(panels), confidence)
    more = ""
    if release.box.dimension > MOST_COLUMNS:
        more = f"the first {MOST_COLUMNS} of {release.box.dimension} columns"
    if isinstance(release, SummaryRelease):
        names = release.box.names[:MOST_COLUMNS]
        return Seen(release, tuple(_summary_panel(release, name, confidence) for name in names), confidence, more)
    if release.box.dimension == 2:
        return Seen(release, (_plane(release, confidence),), confidence)
    parts = [one_column(release, name) for name in release.box.names[:MOST_COLUMNS]]
    return Seen(release, tuple(_line(part, confidence) for part in parts), confidence, more)


def one_column(release: CollectedDensity, name: str) -> CollectedDensity:
    """The density of one column, whatever the others are."""
    if release.box.dimension == 1:
        return release
    place = release.box.names.index(name)
    shape = [k + 1 for k in release.basis.degrees(release.box)]
    others = tuple(i for i in range(len(shape)) if i != place)
    masses = release.masses.reshape(shape).sum(axis=others)
    box, basis = Box({name: release.box.columns[place]}), Hat(shape[place] - 1)
    # Errors of different lattice points are uncorrelated: each comes from its own sign, or from its own question.
    deviation = release.mass_error * math.sqrt(release.masses.size / len(masses))
    law = LocalLaw(release.law.randomizer, len(masses), deviation)  # type: ignore[attr-defined]
    expansion = Expansion(basis, box, to_simplex(masses) / basis.cell_sizes(box))
    return replace(release, law=law, expansion=expansion, masses=masses)  # type: ignore[arg-type]


def _line(release: CollectedDensity, confidence: float) -> Line:
    points = grid(release.box, CURVE_POINTS)
    return Line(release.box.names[0], points[:, 0], release(points), *release.band(points, confidence))


def _plane(release: CollectedDensity, confidence: float) -> View:
    points = grid(release.box, GRID_POINTS)
    low, high = release.band(points, confidence)
    values = release(points)
    values = np.maximum(values, 1e-6 * values.max())  # where there is nobody no contour line is drawn
    return View(release, (Sample(points, values, low, high, confidence),))


def _summary_panel(release: SummaryRelease, name: str, confidence: float) -> Panel:
    place = release.box.names.index(name)
    kind = release.box.columns[place]
    if isinstance(kind, Categorical):
        told = [release.share({name: category}, confidence=confidence) for category in kind.categories[:MOST_BARS]]
        values, errors = (np.array([float(getattr(one, part)) for one in told]) for part in ("value", "error"))
        low, high = np.clip(values - errors, 0.0, 1.0), np.clip(values + errors, 0.0, 1.0)
        names = tuple(map(str, kind.categories[:MOST_BARS]))
        return Shares(f"shares of {plain(name)}", names, values, low, high, (0,) * len(names))
    x = np.linspace(kind.low, kind.high, 101)
    # About as narrow as so many frequencies can tell.
    bandwidth = (kind.high - kind.low) / max(4, release.indices.shape[place])
    found = release.kde(x, bandwidth, columns=[name], confidence=confidence)
    return Line(name, x, found.value, np.maximum(found.value - found.error, 0.0), found.value + found.error)


def _shares(release: MarginalsRelease, confidence: float) -> Shares:
    names: list[str] = []
    groups: list[int] = []
    parts: list[list[Floats]] = [[], [], []]
    for place, (name, kind) in enumerate(zip(release.box.names, release.box.columns, strict=True)):
        assert isinstance(kind, Categorical)
        if place and len(names) + len(kind.categories) > MOST_BARS:
            break
        kept = slice(0, MOST_BARS)
        names += [f"{plain(name, 24)} = {plain(str(category), 16)}" for category in kind.categories[kept]]
        groups += [place] * len(kind.categories[kept])
        for part, own in zip(parts, (release.table(name), *release.band(name, confidence)), strict=True):
            part.append(own[kept])
    drawn = groups[-1] + 1
    title = "share of the people"
    if drawn < release.box.dimension:
        title += f", first {drawn} of {release.box.dimension} columns"
    elif len(parts[0][-1]) < len(release.table(release.box.names[drawn - 1])):
        title += f", first {len(names)} categories"
    values, low, high = (np.concatenate(part) for part in parts)
    return Shares(title, tuple(names), values, low, high, tuple(groups))


def _pairs(release: MarginalsRelease) -> Pairs:
    names = release.box.names[:MOST_PAIRED]
    values = np.full((len(names), len(names)), np.nan)
    for i, j in combinations(range(len(names)), 2):
        values[i, j] = values[j, i] = association(release.table((names[i], names[j])))
    more = "" if len(names) == release.box.dimension else f", first {len(names)} of {release.box.dimension} columns"
    return Pairs(f"association of two columns (Cram\xe9r's V){more}", names, values)


def association(table: Floats) -> float:
    """Cramer's V of a table of shares: 0 for independent columns, 1 where one says the other.

    >>> association(np.array([[0.5, 0.0], [0.0, 0.5]])), association(np.full((2, 3), 1 / 6))
    (1.0, 0.0)
    """
    independent = np.outer(table.sum(axis=1), table.sum(axis=0))
    known = independent > 0
    square = float(((table - independent)[known] ** 2 / independent[known]).sum())
    most = min(np.count_nonzero(table.sum(axis=axis)) for axis in (0, 1)) - 1
    return 0.0 if most < 1 else round(math.sqrt(square / most), 12)
