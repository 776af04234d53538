"""Collected releases as their pictures show them: curves, bars and maps, from public quantities only."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.expansion import Expansion
from sfumato.bases.hat import Hat
from sfumato.bases.measure import to_simplex
from sfumato.core.box import Box, Categorical
from sfumato.faces.base import Asked, Face, Facts
from sfumato.faces.promise import promise_facts, short
from sfumato.faces.views import CURVE_POINTS, GRID_POINTS, Sample, View, grid
from sfumato.faces.words import above, number, number_words, plain, readable
from sfumato.laws import LocalLaw
from sfumato.releases.collected import CollectedDensity
from sfumato.releases.marginals import MarginalsRelease
from sfumato.releases.summary import SummaryRelease

Floats = NDArray[np.float64]

_MOST_LINES = 120  # of the table of shares
_FEW_NAMES = 6  # that a title can list
_TITLES = {"collected-density": "Density", "marginals": "Tables", "summary": "Summary"}
_RANDOMIZERS = {
    "hadamard": "one sign of a public pattern, flipped at random",
    "bit": "one bit about one public question, flipped at random",
    "likelihood": "one bit: whether a public random number could be the answer plus noise",
    "loglog": "the number of one of several public random numbers",
    "laplace": "every answer, each with Laplace noise of its own",
    "privunit": "the number of one of many public directions",
    "chebyshev": "one bit: whether a few columns are all one, flipped at random",
}
TRUST = "local model: every report was randomised on its person's own device, and nobody had to be trusted"
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
class Collection:
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


def collection(release: Collected, confidence: float) -> Collection:
    """What a picture of a collected release shows."""
    if isinstance(release, MarginalsRelease):
        panels: list[Panel] = [_shares(release, confidence)]
        if release.ways > 1:
            panels.append(_pairs(release))
        return Collection(release, tuple(panels), confidence)
    more = ""
    if release.box.dimension > MOST_COLUMNS:
        more = f"the first {MOST_COLUMNS} of {release.box.dimension} columns"
    if isinstance(release, SummaryRelease):
        names = release.box.names[:MOST_COLUMNS]
        return Collection(release, tuple(_summary_panel(release, name, confidence) for name in names), confidence, more)
    if release.box.dimension == 2:
        return Collection(release, (_plane(release, confidence),), confidence)
    parts = [one_column(release, name) for name in release.box.names[:MOST_COLUMNS]]
    return Collection(release, tuple(_line(part, confidence) for part in parts), confidence, more)


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


def _error(release: Collected, confidence: float) -> dict[str, Any]:
    """How far off typical numbers are."""
    if isinstance(release, CollectedDensity):
        own = [one_column(release, name) for name in release.box.names] if release.box.dimension > 2 else [release]
        widths = [np.subtract(*part.band(grid(part.box, 21), confidence)[::-1]) / 2 for part in own]
        typical = max(float(np.median(width)) for width in widths)
        return {"name": "Band typically within", "typical": readable(typical), "each": above(release.mass_error, 3)}
    if isinstance(release, MarginalsRelease):
        limits = [np.subtract(*release.band(name, confidence)[::-1]) / 2 for name in release.box.names]
        typical = float(np.median(np.concatenate(limits)))
        return {"name": "Shares typically within", "typical": f"{100 * typical:.2g} points", "each": None}
    seen = collection(release, confidence)
    curves = [panel for panel in seen.panels if isinstance(panel, Line)]
    each = above(release.noise_sd, 3)
    if not curves:
        return {"name": "Deviation of a moment", "typical": each, "each": each}
    typical = max(float(np.median(curve.high - curve.values)) for curve in curves)
    return {"name": "Density typically within", "typical": readable(typical), "each": each}


def _share_rows(release: MarginalsRelease, confidence: float) -> list[dict[str, Any]]:
    """Column, category, share and limits."""
    rows = (row for name in release.box.names for row in _one_column(release, name, confidence))
    return list(islice(rows, _MOST_LINES))


def _one_column(release: MarginalsRelease, name: str, confidence: float) -> list[dict[str, Any]]:
    kind = release.box.columns[release.box.names.index(name)]
    assert isinstance(kind, Categorical)
    found = zip(kind.categories, release.table(name), *release.band(name, confidence), strict=True)
    return [
        {"column": name, "category": str(category), **{key: f"{100 * value:.3g} %" for key, value in limits.items()}}
        for category, share, low, high in found
        for limits in ({"share": share, "low": low, "high": high},)
    ]


def _deviation(release: Collected) -> float:
    if isinstance(release, CollectedDensity | MarginalsRelease):
        return float(release.law.deviation)
    return float(release.noise_sd)


def _share_lines(release: MarginalsRelease, name: str, confidence: float) -> list[str]:
    kind = release.box.columns[release.box.names.index(name)]
    assert isinstance(kind, Categorical)
    low, high = release.band(name, confidence)
    cells = zip(kind.categories, release.table(name), low, high, strict=True)
    return [f"{value}: {100 * share:.3g} % ({100 * a:.3g} to {100 * b:.3g})" for value, share, a, b in islice(cells, 6)]


class CollectedFace(Face):
    """What a release from people's own devices says of itself."""

    kind = "collected"
    release: Collected

    @property
    def _what(self) -> str:
        return _TITLES[self.release.kind]

    @property
    def title(self) -> str:
        what = {"collected-density": "a density", "marginals": "tables"}.get(self.release.kind, "a summary")
        return f"{what} of {self.named(f'{self.release.box.dimension} columns')}, collected from people's devices"

    @property
    def heading(self) -> str:
        names = self.release.box.names
        title = f"{self._what} of {', '.join(names[:_FEW_NAMES])}"
        return title if len(names) <= _FEW_NAMES else f"{title} and {len(names) - _FEW_NAMES} more columns"

    @property
    def randomizer(self) -> str:
        """What devices did to answers."""
        return str(self.release.law.randomizer)  # type: ignore[attr-defined]

    def rows(self, asked: Asked | None = None) -> Facts:
        release = self.release
        rows: Facts = [("trust", [TRUST]), ("content", [shape_words(release)])]
        if isinstance(release, MarginalsRelease):
            names = islice(release.box.names, 4)
            return [*rows, *((name, _share_lines(release, name, self.confidence)) for name in names)]
        if isinstance(release, CollectedDensity):
            each, deviation = "lattice mass", release.mass_error
        else:
            each, deviation = "moment", release.noise_sd
        return [*rows, ("error", [f"each {each} has a deviation of about {number_words(deviation)}"])]

    def details(self) -> Facts:
        return [("reports", [f"{reports_of(self.release):,}"]), *super().details(), self.target_row()]

    def data(self) -> dict[str, Any]:
        told: dict[str, Any] = {"reports": reports_of(self.release)}
        if isinstance(self.release, CollectedDensity):
            told |= {"basis": self.release.basis.to_json(), "derivatives": list(self.release.expansion.derivatives)}
        return told

    def common_page(self) -> dict[str, Any]:
        """A page of its own: nobody was trusted, and nothing was charged."""
        return {
            "title": self._what,
            "where": self.columns,
            "kind": self.release.kind,
            "promise": promise_facts(self.release.guarantee),
            "short": short(self.release.guarantee),
            "confidence": f"{100 * self.confidence:.10g} %",
            "columns": self.column_rows(),
            "target": self.release.target,
            "receipt": self.release.receipt,
        }

    def page(self) -> dict[str, Any]:
        release = self.release
        return {
            "reports": f"{reports_of(release):,}",
            "shape": shape_words(release),
            "randomizer": self.randomizer,
            "sent": _RANDOMIZERS.get(self.randomizer, self.randomizer),
            "error": _error(release, self.confidence),
            "shares": _share_rows(release, self.confidence) if isinstance(release, MarginalsRelease) else [],
        }

    def card_rows(self) -> list[tuple[str, str]]:
        rows = self.column_rows()
        columns = [f"{row['name']}: {plain(row['values'], 80)}" for row in rows[:_FEW_NAMES]]
        more = [] if len(rows) <= _FEW_NAMES else ["\N{HORIZONTAL ELLIPSIS}"]
        return [("guarantee", str(self.release.guarantee)), *self.card(), ("box", "; ".join(columns + more))]

    def card(self) -> list[tuple[str, str]]:
        release, sent = self.release, _RANDOMIZERS.get(self.randomizer, "")
        return [
            ("trust", "nobody: every report was randomised on its person's own device"),
            ("reports", f"{reports_of(release):,}, {self.randomizer}: {sent}"),
            ("content", shape_words(release)),
            ("deviation", f"about {number(_deviation(release))} of each number"),
        ]

    def code(self, name: str) -> str:
        release, names = self.release, list(self.release.box.names)
        if isinstance(release, CollectedDensity):
            middle = [float(f"{m:.4g}") for m in (release.box.low + release.box.high) / 2]
            points = middle if len(names) == 1 else [middle]
            lines = [f"release({points!r})", f"low, high = release.band({points!r})"]
        elif isinstance(release, MarginalsRelease):
            some = names[: release.ways]
            table = f"release.table({some!r})  # an axis for each column, categories as declared"
            lines = [table, f"low, high = release.band({some!r})"]
        else:
            numeric = [n for n, c in zip(names, release.box.columns, strict=True) if not isinstance(c, Categorical)]
            first = f"release.mean({numeric[0]!r})" if numeric else f"release.share({{{names[0]!r}: ...}})"
            lines = [f"{first}  # an answer with its error", "release.answer(lambda points: ...)"]
        return "\n".join([*self.first_lines(name), *lines, "release.plot()"])

    def picture(self) -> Collection:
        return collection(self.release, self.confidence)

    @property
    def picture_words(self) -> str:
        shown = " and ".join(self.release.box.names[: len(self.picture().panels)])
        return f"{self._what.lower()} of {shown} from people's reports, and how far off it can be"
