"""The faces of what people's own devices reported: densities, tables, summaries. Nobody was trusted."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, islice
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.core.box import Box, Categorical
from sfumato.faces.base import Asked, Face, Facts
from sfumato.faces.promise import promise_facts, short
from sfumato.faces.scales import Axis, axis_of, laid_axes
from sfumato.faces.views import Sample, View, drawn_places, grid, look
from sfumato.faces.words import above, listed, number, number_words, plain, readable
from sfumato.laws import LocalLaw
from sfumato.releases.collected.density import CollectedDensity, Lattice
from sfumato.releases.collected.marginals import MarginalsRelease
from sfumato.releases.collected.moments import CollectedMoments
from sfumato.releases.summary.summary import SummaryRelease

Floats = NDArray[np.float64]

MOST_COLUMNS = 6  # that have curves or bars of their own
MOST_BARS = 20
MOST_SLOPES = 12  # that a terminal lists
MOST_PAIRED = 24  # columns of a map of pairs
_MOST_LINES = 120  # of the table of shares
_FEW_NAMES = 6  # that a title can list
_RANDOMIZERS = {
    "hadamard": "one sign of a public pattern, flipped at random",
    "subset": "the number of a public set, one with the person's own category more often",
    "bit": "one bit about one public question, flipped at random",
    "likelihood": "one bit: whether a public random number could be the answer plus noise",
    "loglog": "the number of one of several public random numbers",
    "laplace": "every answer, each with Laplace noise of its own",
    "privunit": "the number of one of many public directions",
    "privunit-copies": "the numbers of a few public directions",
    "gaussian-copies": "a few copies of a vector, each number with Gaussian noise of its own",
    "chebyshev": "one bit: whether a few columns are all one, flipped at random",
}
_TRUST = "local model: every report was randomised on its person's own device, and nobody had to be trusted"


# --- what is seen -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """A density of one column."""

    axis: Axis
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


@dataclass(frozen=True)
class Slopes:
    """How a response goes with each column, and how far off noise can put that, where it is known."""

    title: str
    names: tuple[str, ...]
    values: Floats
    errors: Floats | None = None


Panel = Line | Shares | Pairs | Slopes | View


@dataclass(frozen=True)
class Collection:
    """A collected release as its picture shows it.

    Parameters
    ----------
    promise, words
        What stands below it: what is promised, and that nobody was trusted.
    bars
        Whether names beside bars and maps take their part of it.
    """

    panels: tuple[Panel, ...]
    promise: str
    words: str
    confidence: float
    bars: bool = False

    @property
    def axes(self) -> int:
        """How many axes it needs."""
        return sum(2 if isinstance(panel, View) else 1 for panel in self.panels)


class CollectedFace(Face):
    """What every release from people's own devices says of itself."""

    kind = "collected"
    what: ClassVar[str]  # over its page
    bars: ClassVar[bool] = False

    @property
    def heading(self) -> str:
        names = self.release.box.names
        title = f"{self.what} of {', '.join(names[:_FEW_NAMES])}"
        return title if len(names) <= _FEW_NAMES else f"{title} and {len(names) - _FEW_NAMES} more columns"

    @property
    def title(self) -> str:
        one = self.what.lower() if self.what.endswith("s") else f"a {self.what.lower()}"
        return f"{one} of {self.named(f'{self.release.box.dimension} columns')}, collected from people's devices"

    @property
    def reports(self) -> int:
        """How many reports it rests on."""
        return int(self.release.reports)

    @property
    def deviation(self) -> float:
        """Of each number."""
        return float(self.release.law.deviation)

    @property
    @abstractmethod
    def content(self) -> str:
        """What it holds, in words."""

    @abstractmethod
    def panels(self) -> list[Panel]:
        """What its picture shows."""

    @abstractmethod
    def error(self) -> dict[str, Any]:
        """How far off typical numbers are."""

    @abstractmethod
    def lines(self) -> list[str]:
        """How to use it."""

    @property
    def _columns_words(self) -> str:
        return "1 column" if self.release.box.dimension == 1 else f"{self.release.box.dimension} columns"

    # --- terminal and programs --------------------------------------------------------------------------------

    def rows(self, asked: Asked | None = None) -> Facts:
        return [("trust", [_TRUST]), ("content", [self.content])]

    def details(self) -> Facts:
        return [("reports", [f"{self.reports:,}"]), *super().details(), self.target_row()]

    def data(self) -> dict[str, Any]:
        return {"reports": self.reports}

    # --- page, card, code -------------------------------------------------------------------------------------

    def common_page(self) -> dict[str, Any]:
        """A page of its own: nobody was trusted, and nothing was charged."""
        return {
            "title": self.what,
            "response": self.response,
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
        randomizer = self.release.law.randomizer
        return {
            "reports": f"{self.reports:,}",
            "shape": self.content,
            "randomizer": randomizer,
            "sent": _RANDOMIZERS.get(randomizer, randomizer),
            "error": self.error(),
            "delta": self.release.guarantee.delta and f"{self.release.guarantee.delta:g}",
            "shares": [],
        }

    def card_rows(self) -> list[tuple[str, str]]:
        rows = self.column_rows()
        columns = [f"{row['name']}: {plain(row['values'], 80)}" for row in rows[:_FEW_NAMES]]
        more = [] if len(rows) <= _FEW_NAMES else ["\N{HORIZONTAL ELLIPSIS}"]
        return [("guarantee", str(self.release.guarantee)), *self.card(), ("box", "; ".join(columns + more))]

    def card(self) -> list[tuple[str, str]]:
        randomizer = self.release.law.randomizer
        return [
            ("trust", "nobody: every report was randomised on its person's own device"),
            ("reports", f"{self.reports:,}, {randomizer}: {_RANDOMIZERS.get(randomizer, '')}"),
            ("content", self.content),
            ("deviation", f"about {number(self.deviation)} of each number"),
        ]

    def code(self, name: str) -> str:
        return "\n".join([*self.first_lines(name), *self.lines(), "release.plot()"])

    # --- pictures ---------------------------------------------------------------------------------------------

    @cached_property
    def seen(self) -> Collection:
        """Its picture."""
        words = f"nobody was trusted with a record; {self.reports:,} reports{self.left_out}"
        panels = tuple(self.panels())
        return Collection(panels, short(self.release.guarantee), words, self.confidence, self.bars)

    @property
    def left_out(self) -> str:
        """Which columns have no panel of their own."""
        many = self.release.box.dimension
        return "" if many <= MOST_COLUMNS else f"\nthe first {MOST_COLUMNS} of {many} columns"

    def picture(self) -> Collection:
        return self.seen

    @property
    def picture_words(self) -> str:
        shown = " and ".join(self.release.box.names[: len(self.seen.panels)])
        return f"{self.what.lower()} of {shown} from people's reports, and how far off it can be"


# --- densities --------------------------------------------------------------------------------------------


class CollectedDensityFace(CollectedFace):
    """What a density from reports says of itself."""

    what = "Density"
    serves = ("evaluate",)
    release: CollectedDensity

    @property
    def content(self) -> str:
        shape, wrapped = " x ".join(map(str, self.release.lattice.shape)), self.release.lattice.wrapped
        circles = [name for name, round_ in zip(self.release.box.names, wrapped, strict=True) if round_]
        going = f", round the circle along {listed(circles)}" if circles else ""
        return f"a density, piecewise linear between {shape} lattice points{going}"

    def rows(self, asked: Asked | None = None) -> Facts:
        each = f"each lattice mass has a deviation of about {number_words(self.release.mass_error)}"
        return [*super().rows(asked), ("error", [each])]

    def data(self) -> dict[str, Any]:
        basis, derivatives = self.release.basis.to_json(), list(self.release.expansion.derivatives)
        return {"basis": basis, "derivatives": derivatives, **super().data()}

    def error(self) -> dict[str, Any]:
        release = self.release
        own = [one_column(release, name) for name in release.box.names] if release.box.dimension > 2 else [release]
        widths = [np.subtract(*part.band(grid(part.box, 21), self.confidence)[::-1]) / 2 for part in own]
        typical = readable(max(float(np.median(width)) for width in widths))
        return {"name": "Band typically within", "typical": typical, "each": above(release.mass_error, 3)}

    def lines(self) -> list[str]:
        return [f"release({self.points!r})", f"low, high = release.band({self.points!r})"]

    def panels(self) -> list[Panel]:
        release = self.release
        if release.box.dimension == 2:
            return [self._plane()]
        return [self._line(one_column(release, name)) for name in release.box.names[:MOST_COLUMNS]]

    def _line(self, part: CollectedDensity) -> Line:
        (x,) = places = drawn_places(part.box)
        return Line(axis_of(part.box, 0), x, *look(part, places, self.confidence))

    def _plane(self) -> View:
        places, axes = drawn_places(self.release.box), laid_axes(self.release.box, self.layout)
        seen = Sample(places, *look(self.release, places, self.confidence), self.confidence).laid(self.layout)
        return View(axes, (seen,), "density", self.caption, band="band", density=True, aspect=self.layout.aspect)


def one_column(release: CollectedDensity, name: str) -> CollectedDensity:
    """The density of one column, whatever the others are."""
    if release.box.dimension == 1:
        return release
    place = release.box.names.index(name)
    whole = release.lattice
    masses = release.masses.reshape(whole.shape).sum(axis=tuple(i for i in range(len(whole.shape)) if i != place))
    lattice = Lattice(Box({name: release.box.columns[place]}), (len(masses),), (whole.wrapped[place],))
    # Errors of different lattice points are uncorrelated: each comes from its own sign, or from its own question.
    deviation = release.mass_error * math.sqrt(release.masses.size / len(masses))
    law = LocalLaw(release.law.randomizer, len(masses), deviation)  # type: ignore[attr-defined]
    common: dict[str, Any] = {"guarantee": release.guarantee, "law": law, "target": release.target}
    return CollectedDensity.on(lattice, common, masses, release.reports)


# --- tables -----------------------------------------------------------------------------------------------


class MarginalsFace(CollectedFace):
    """What tables from reports say of themselves."""

    what = "Tables"
    bars = True
    left_out = ""  # its panels say it
    release: MarginalsRelease

    @property
    def content(self) -> str:
        one = f"the shares of every category of {self._columns_words}"
        return one if self.release.ways == 1 else f"{one}, and every table of up to {self.release.ways} of them"

    def rows(self, asked: Asked | None = None) -> Facts:
        shown = islice(self.release.box.names, 4)
        return [
            *super().rows(asked),
            *((name, [_share_line(*row) for row in self._shares(name)[:6]]) for name in shown),
        ]

    def _shares(self, name: str) -> list[tuple[Any, float, float, float]]:
        """Category, share and limits of one column."""
        kind = self.release.box.columns[self.release.box.names.index(name)]
        assert isinstance(kind, Categorical)
        limits = self.release.band(name, self.confidence)
        return list(zip(kind.categories, self.release.table(name), *limits, strict=True))

    def page(self) -> dict[str, Any]:
        rows = ((name, *row) for name in self.release.box.names for row in self._shares(name))
        return {**super().page(), "shares": [_share_cells(*row) for row in islice(rows, _MOST_LINES)]}

    def error(self) -> dict[str, Any]:
        names = self.release.box.names
        limits = [np.subtract(*self.release.band(name, self.confidence)[::-1]) / 2 for name in names]
        typical = float(np.median(np.concatenate(limits)))
        return {"name": "Shares typically within", "typical": f"{100 * typical:.2g} points", "each": None}

    def lines(self) -> list[str]:
        some = list(self.release.box.names[: self.release.ways])
        table = f"release.table({some!r})  # an axis for each column, categories as declared"
        return [table, f"low, high = release.band({some!r})"]

    def panels(self) -> list[Panel]:
        shares = _shares(self.release, self.confidence)
        return [shares] if self.release.ways == 1 else [shares, _pairs(self.release)]


def _share_line(category: Any, share: float, low: float, high: float) -> str:
    return f"{category}: {100 * share:.3g} % ({100 * low:.3g} to {100 * high:.3g})"


def _share_cells(name: str, category: Any, share: float, low: float, high: float) -> dict[str, str]:
    limits = {"share": share, "low": low, "high": high}
    return {"column": name, "category": str(category), **{key: f"{100 * v:.3g} %" for key, v in limits.items()}}


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


# --- linear models ----------------------------------------------------------------------------------------


class CollectedMomentsFace(CollectedFace):
    """What a linear model from reports says of itself."""

    what = "Linear model"
    bars = True
    serves, use = ("predict",), "predict"
    release: CollectedMoments

    @property
    def response(self) -> str:
        return self.release.answer

    @property
    def heading(self) -> str:
        return f"{self.what} of {self.release.answer} from {self._predicting}"

    @property
    def title(self) -> str:
        return f"a linear model of {self.release.answer} from {self._predicting}, collected from people's devices"

    @property
    def _predicting(self) -> str:
        names = self.release.columns
        return listed(names) if len(names) <= _FEW_NAMES else f"{len(names)} columns"

    @property
    def content(self) -> str:
        own = "public second moments" if self.release.public else "second moments"
        return f"{own} of {self._predicting}, and how they go with {self.release.answer}"

    def rows(self, asked: Asked | None = None) -> Facts:
        each = f"each moment has a deviation of about {number_words(self.release.noise_sd)}"
        values, errors = self.release.slopes(self.confidence)
        told = [
            f"{name}: {number_words(value)} \N{PLUS-MINUS SIGN} {number_words(error)} a unit of {unit:g}"
            for name, value, error, (_, unit) in zip(
                self.release.terms, values.tolist(), errors.tolist(), self.release.term_scales, strict=True
            )
        ]
        more = [] if len(told) <= MOST_SLOPES else [f"and {len(told) - MOST_SLOPES} more columns"]
        return [*super().rows(asked), ("error", [each]), ("slopes", told[:MOST_SLOPES] + more)]

    def data(self) -> dict[str, Any]:
        release, (values, errors) = self.release, self.release.slopes(self.confidence)
        model = release.fit()
        return {
            **super().data(),
            "response": release.answer,
            "columns": list(release.terms),
            "coefficients": list(model.coefficients),
            "intercept": model.intercept,
            "slopes": values.tolist(),
            "slope_errors": errors.tolist(),
            "ridge": release.ridge,
            "public": release.public,
        }

    def page(self) -> dict[str, Any]:
        return {**super().page(), "where": self._predicting}

    def error(self) -> dict[str, Any]:
        typical = float(np.median(self.release.slopes(self.confidence)[1]))
        return {
            "name": "Slopes typically within",
            "typical": readable(typical),
            "each": above(self.release.noise_sd, 3),
        }

    def lines(self) -> list[str]:
        middle = [float(f"{kind.low / 2 + kind.high / 2:.4g}") for kind in self.release.features.intervals()]
        return [f"release.predict([{middle!r}])", "model = release.fit()  # coefficients in the columns' units"]

    def panels(self) -> list[Panel]:
        values, errors = self.release.slopes(self.confidence)
        shown = np.argsort(-np.abs(values), kind="stable")[:MOST_BARS]
        names = tuple(plain(self.release.terms[place], 24) for place in shown)
        most = "" if len(values) <= MOST_BARS else f", the {MOST_BARS} largest of {len(values)}"
        title = f"slope of {plain(self.release.answer, 24)} for a unit of each column{most}"
        return [Slopes(title, names, values[shown], errors[shown])]

    @property
    def left_out(self) -> str:
        return ""  # its panel says it

    @property
    def picture_words(self) -> str:
        return f"how {self.release.answer} goes with each column, from people's reports, and how far off it can be"


# --- summaries --------------------------------------------------------------------------------------------


class CollectedSummaryFace(CollectedFace):
    """What a summary from reports says of itself."""

    what = "Summary"
    serves, use = ("answer",), "answer"
    release: SummaryRelease

    @property
    def reports(self) -> int:
        assert self.release.rows is not None  # of reports, which is public
        return self.release.rows

    @property
    def deviation(self) -> float:
        return float(self.release.noise_sd)

    @property
    def content(self) -> str:
        moments = f"{len(self.release.numbers):,} cosine moments"
        return f"{moments}, which answer smooth questions about {self._columns_words}"

    def rows(self, asked: Asked | None = None) -> Facts:
        each = f"each moment has a deviation of about {number_words(self.release.noise_sd)}"
        return [*super().rows(asked), ("error", [each])]

    def error(self) -> dict[str, Any]:
        each = above(self.release.noise_sd, 3)
        curves = [panel for panel in self.seen.panels if isinstance(panel, Line)]
        if not curves:
            return {"name": "Deviation of a moment", "typical": each, "each": each}
        typical = max(float(np.median(curve.high - curve.values)) for curve in curves)
        return {"name": "Density typically within", "typical": readable(typical), "each": each}

    def lines(self) -> list[str]:
        columns = zip(self.release.box.names, self.release.box.columns, strict=True)
        numeric = [name for name, column in columns if not isinstance(column, Categorical)]
        share = f"release.share({{{self.release.box.names[0]!r}: ...}})"
        first = f"release.mean({numeric[0]!r})" if numeric else share
        return [f"{first}  # an answer with its error", "release.answer(lambda points: ...)"]

    def panels(self) -> list[Panel]:
        return [self._panel(place) for place in range(min(self.release.box.dimension, MOST_COLUMNS))]

    def _panel(self, place: int) -> Panel:
        release, name, kind = self.release, self.release.box.names[place], self.release.box.columns[place]
        if isinstance(kind, Categorical):
            some = kind.categories[:MOST_BARS]
            told = [release.share({name: category}, confidence=self.confidence) for category in some]
            values, errors = (np.array([float(getattr(one, part)) for one in told]) for part in ("value", "error"))
            low, high = np.clip(values - errors, 0.0, 1.0), np.clip(values + errors, 0.0, 1.0)
            return Shares(f"shares of {plain(name)}", tuple(map(str, some)), values, low, high, (0,) * len(some))
        x = np.linspace(kind.low, kind.high, 101)
        # About as narrow as so many frequencies can tell.
        bandwidth = (kind.high - kind.low) / max(4, release.indices.shape[place])
        found = release.kde(x, bandwidth, columns=[name], confidence=self.confidence)
        low, high = np.maximum(found.value - found.error, 0.0), found.value + found.error
        return Line(axis_of(release.box, place), x, found.value, low, high)
