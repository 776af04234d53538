"""The face of summaries: moments, what they answer well, and how far off."""

from __future__ import annotations

import itertools
import math
import shlex
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.box import Categorical, Date, Interval, Periodic
from sfumato.errors import ParameterError
from sfumato.faces.base import Asked, Face, Facts
from sfumato.faces.presence import moments_alone
from sfumato.faces.promise import short
from sfumato.faces.scales import Axis, Layout, axis_of, laid_axes, layout_of
from sfumato.faces.views import Field, Sample, View, dated, points_of
from sfumato.faces.words import above, exact, listed, number, number_words, readable, rounded
from sfumato.laws import noise_deviation
from sfumato.releases.summary.quality import (
    ROUGHLY,
    WELL,
    Errors,
    Limits,
    categorical,
    density,
    drawn_width,
    edges,
    errors_by_columns,
    errors_by_width,
    lines,
    numeric,
    records,
    sampling_error,
    share_error,
    shares,
    together,
    verdict,
)
from sfumato.releases.summary.summary import SummaryRelease

Floats = NDArray[np.float64]

MOST_COLUMNS = 7  # that are drawn by themselves
MOST_CORRELATED = 12
_UNKNOWN = 0.5  # how far a correlation's limits may be
_MOST_BARS = 12
_POINTS, _GRID = 161, 41


@dataclass(frozen=True, eq=False)
class Curve:
    """The density of one numeric column, of a kernel whose width is a share of the column."""

    axis: Axis
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
    """The density of two numeric columns, of a kernel whose width is a share of each; it takes two axes."""

    width: float
    field: Field


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
class Overview:
    """What there is to draw."""

    release: SummaryRelease
    confidence: float
    panels: tuple[Panel, ...]

    @property
    def caption(self) -> str:
        """What stands below it."""
        first, release = self.panels[0], self.release
        words = short(release.guarantee)
        if isinstance(first, Plane):
            empty = f"\nhatched: {first.field.meaning}" if first.field.hatched.any() else ""
            return f"{words}\nlimits hold at all points at once{empty}"
        share = f"{100 * self.confidence:.10g} % limits of what the records themselves give"
        more = release.box.dimension - MOST_COLUMNS
        rest = f"\nthe first {MOST_COLUMNS} columns, and {more} more are in the file" if more > 0 else ""
        marks = {Curve: "bands", Bars: "whiskers", Correlations: "\N{PLUS-MINUS SIGN}"}
        used = ", ".join(mark for kind, mark in marks.items() if any(isinstance(panel, kind) for panel in self.panels))
        return f"{words}\n{used}: {share}, at once in each panel{self._unsure}{rest}"

    @property
    def _unsure(self) -> str:
        """Which correlations noise hides."""
        shown = [panel for panel in self.panels if isinstance(panel, Correlations)]
        if shown:
            hidden = ~shown[0].known & ~np.eye(len(shown[0].names), dtype=np.bool_)
            return "; pale: not known to within 0.5" if hidden.any() else ""
        return "; no correlation is known to within 0.5" if len(lines(self.release)) > 1 else ""


def overview(release: SummaryRelease, confidence: float, layout: Layout | None = None) -> Overview:
    """Compute everything that is drawn, from the release alone."""
    numbers, dimension = numeric(release), release.box.dimension
    layout = layout_of(release.box) if layout is None else layout
    errors = tuple(errors_by_columns(release, confidence, most=2))
    panels: list[Panel] = []
    if dimension == len(numbers) == len(errors) == 2:
        panels.append(_plane(release, errors[1], confidence, layout))
    else:
        panels += [_column(release, j, confidence) for j in range(min(dimension, MOST_COLUMNS))]
        if len(lines(release)) > 1:
            panels += _correlations(release, confidence)
    if errors:
        panels.append(Reach(errors, sampling_error(release)))
    return Overview(release, confidence, tuple(panels))


def _column(release: SummaryRelease, place: int, confidence: float) -> Panel:
    name, kind = release.box.names[place], release.box.columns[place]
    if isinstance(kind, Categorical):
        found = shares(release, place, confidence)
        kept = np.sort(np.argsort(-found.value, kind="stable")[:_MOST_BARS])
        names = tuple(str(kind.categories[i]) for i in kept)
        return Bars(name, names, len(found.value), Limits(found.value[kept], found.low[kept], found.high[kept]))
    width = drawn_width(errors_by_width(release, [place], confidence))
    unit = np.linspace(0.0, 1.0, _POINTS)
    seen = density(release, [place], unit[:, None], width, confidence)
    return Curve(axis_of(release.box, place), width, _user(kind, unit), seen)


def _plane(release: SummaryRelease, errors: Errors, confidence: float, layout: Layout) -> Plane:
    unit, width = np.linspace(0.0, 1.0, _GRID), drawn_width(errors)
    found = density(release, [0, 1], points_of((unit, unit)), width, confidence)
    x, y = (_user(kind, unit) for kind in release.box.columns if isinstance(kind, Interval))
    value, low, high = (part.reshape(_GRID, _GRID) for part in (found.value, found.low, found.high))
    seen, axes = Sample((x, y), value, low, high, confidence).laid(layout), laid_axes(release.box, layout)
    return Plane(width, View(axes, (seen,), "density", "", density=True, aspect=layout.aspect).field)


def _user(kind: Interval, unit: Floats) -> Floats:
    return np.asarray(kind.low + unit * (kind.high - kind.low))


def _correlations(release: SummaryRelease, confidence: float) -> list[Panel]:
    """None where the summary has not the moments for them, or where noise hides them all."""
    names = tuple(release.box.names[j] for j in lines(release)[:MOST_CORRELATED])
    pairs = len(names) * (len(names) - 1) // 2
    try:
        found = release.correlation(list(names), 1 - (1 - confidence) / pairs)
    except ParameterError:
        return []
    panel = Correlations(names, np.asarray(found.value), np.asarray(found.error))
    return [panel] if panel.known.any() else []


FIRST = 12  # columns that tables list
_MOST = 8  # columns that a terminal lists
_TABLE_WIDTHS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0)
_NUMBERS = ("no", "one", "two", "three", "four")
_DASH = "\N{EN DASH}"


class SummaryFace(Face):
    """What a summary says of itself."""

    kind = "summary"
    serves, use = ("answer",), "answer"
    thing = "summary"
    parts, part = "sums", "sum"
    release: SummaryRelease

    @property
    def title(self) -> str:
        return f"a summary of {self.named(f'{self.release.box.dimension} columns')}"

    @property
    def heading(self) -> str:
        names = self.release.box.names
        return f"{self.quantity} of {', '.join(names) if len(names) <= FIRST else f'{len(names)} columns'}"

    @property
    def box_words(self) -> str:
        names = self.release.box.names
        return super().box_words if len(names) <= FIRST else f"{len(names)} columns"

    def nothing_there(self) -> list[str]:
        return moments_alone(self.release)

    @cached_property
    def bumps(self) -> list[Errors]:
        """How far off the means of bumps are by their width: of one column, of two at once, and so on."""
        return errors_by_columns(self.release, self.confidence)

    @cached_property
    def means(self) -> list[dict[str, Any]]:
        """The mean of each numeric column, with its error; of dates as text, with its error in days."""
        release = self.release
        names = [release.box.names[j] for j in lines(release) if release.indices.shape[j] > 1]
        found = _answers(release.mean, names, self.confidence)
        kinds = dict(zip(release.box.names, release.box.columns, strict=True))
        return [{"column": name, "mean": dated(kinds[name], mean), "error": error}
                for name, (mean, error) in found.items()]  # fmt: skip

    @cached_property
    def narrowest(self) -> list[dict[str, Any]]:
        """The narrowest bumps that are answered well, or roughly, in each column's units; columns alike share it."""
        release, found = self.release, []
        known: dict[int, Errors] = {}
        for j in numeric(release):
            kind, degree = release.box.columns[j], release.indices.shape[j]
            assert isinstance(kind, Interval)
            if degree not in known:
                known[degree] = errors_by_width(release, [j], self.confidence)
            well, roughly = (
                None if (share := known[degree].narrowest(limit)) is None else share * (kind.high - kind.low)
                for limit in (WELL, ROUGHLY)
            )
            found.append({"column": release.box.names[j], "well": well, "roughly": roughly})
        return found

    # --- terminal and programs --------------------------------------------------------------------------------

    def rows(self, asked: Asked | None = None) -> Facts:
        return [
            ("moments", [self._moment_line()]),
            ("records", [self._record_line()]),
            ("noise sd", [self._noise_line()]),
            *([("means", [self._mean_line()])] if self.means else []),
            ("answers", self._answer_lines()),
            ("missing", ["a missing value is spread over its column"]),
        ]

    def _moment_line(self) -> str:
        """How many moments there are, and which."""
        indices, names = self.release.indices, self.release.box.names
        products = "all their products"
        if indices.cross is not None:
            products = "products of a hyperbolic cross"
        elif indices.ways is not None:
            products = "single columns" if indices.ways == 1 else f"products of up to {indices.ways} columns"
        if len(names) > _MOST:
            each = f"{min(indices.shape)} to {max(indices.shape)} frequencies along {len(names)} columns"
        else:
            each = ", ".join(f"{many} along {name}" for name, many in zip(names, indices.shape, strict=True))
        return f"{indices.size:,}: {each}; {products}"

    def _record_line(self) -> str:
        release = self.release
        if release.rows is not None:
            return f"{release.rows:,} (public)"
        return f"about {release.numbers[0]:,.0f} (noise of deviation {noise_deviation(release.law):.3g})"

    def _noise_line(self) -> str:
        return (
            f"{self.release.noise_sd:.2g} in each moment (for comparison: the luck of who was drawn moves a share by "
            f"up to {sampling_error(self.release):.2g})"
        )

    def _mean_line(self) -> str:
        means = [(m["column"], m["mean"], m["error"]) for m in self.means[:_MOST]]
        days = [" days" if isinstance(mean, str) else "" for _, mean, _ in means]
        told = (f"{n} {rounded(m, e)} +- {e:.2g}{unit}" for (n, m, e), unit in zip(means, days, strict=True))
        more = len(numeric(self.release)) - _MOST
        return f"{', '.join(told)}{f' and {more} more' if more > 0 else ''} (confidence {self.confidence:g} each)"

    def _answer_lines(self) -> list[str]:
        """From which width on questions are answered well, column by column."""
        lines = []
        for told in self.narrowest[:_MOST]:
            name, well, roughly = told["column"], told["well"], told["roughly"]
            if well is not None:
                lines.append(f"{name}: bumps of deviation {number_words(well)} or more within {WELL:g}")
            elif roughly is not None:
                lines.append(f"{name}: bumps of deviation {number_words(roughly)} or more within {ROUGHLY:g}")
            else:
                lines.append(f"{name}: no bump within {ROUGHLY:g}; more records, budget or another degree would help")
        return [*lines, *(["categories: without approximation"] if categorical(self.release) else [])]

    def ask_row(self, path: Path) -> tuple[str, list[str]]:
        """How to go on, once it is in a file."""
        name, kind = self.release.box.names[0], self.release.box.columns[0]
        shown = name if name.isidentifier() else f"`{name}`"
        if isinstance(kind, Categorical):
            first = kind.categories[0]
            question = f'share({shown} == "{first}")' if isinstance(first, str) else f"share({shown} == {first:g})"
        else:
            ends = [dated(kind, kind.low + part * (kind.high - kind.low)) for part in (0.25, 0.5)]
            low, middle = (f'"{end}"' if isinstance(end, str) else number_words(end) for end in ends)
            question = f"share(between({shown}, {low}, {middle}))"
        return "ask", [f"sfumato answer {shlex.quote(str(path))} {shlex.quote(question)}"]

    def data(self) -> dict[str, Any]:
        release = self.release
        return {
            "basis": release.basis.to_json(),
            "moments": release.indices.size,
            "frequencies": dict(zip(release.box.names, release.indices.shape, strict=True)),
            "rows": release.rows,
            "noise_sd": release.noise_sd,
            "means": self.means,
            "narrowest": self.narrowest,
            "confidence": self.confidence,
        }

    # --- page, card, code -------------------------------------------------------------------------------------

    def page(self) -> dict[str, Any]:
        release, bumps, numbers = self.release, self.bumps, numeric(self.release)
        soft = errors_by_columns(release, self.confidence, edges)
        columns = zip(release.box.names, release.box.columns, strict=True)
        summary = {
            "moments": f"{release.indices.size:,}",
            "frequencies": self._frequencies(),
            "interplay": self._interplay(),
            "columns_at_once": _count_word(together(release)),
            "beyond": together(release) < release.box.dimension,
            "rows": None if release.rows is None else f"{release.rows:,}",
            "about": f"{records(release):,.0f}",
            "noise_sd": readable(release.noise_sd),
            "sampling": _points(sampling_error(release)),
            "noise": self._compared(),
            "numeric": bool(numbers),
            "reach": [_reach(i, *pair) for i, pair in enumerate(zip(bumps, soft, strict=True))],
            "widths": _by_width(bumps),
            "pairs": len(bumps) > 1,
            "exact": self._exact_questions(),
            "figures": self._figures(),
            "more": max(0, len(numbers) - FIRST),
            "circles": [name for name, column in columns if isinstance(column, Periodic)],
            "well": f"{100 * WELL:g}",
            "roughly": f"{100 * ROUGHLY:g}",
            "typical": _points(self._typical()),
        }
        return {"columns": self._first_columns(), "summary": summary, "basis": repr(release.basis)}

    def _first_columns(self) -> list[dict[str, Any]]:
        """The first columns of the box, and how many more there are."""
        rows = self.column_rows()
        more = len(rows) - FIRST
        last = {"name": f"and {more:,} more", "kind": "", "values": "in the file", "times": 0}
        return rows if more <= 0 else [*rows[:FIRST], last]

    def _frequencies(self) -> str:
        """How many frequencies numeric columns have, and categorical ones."""
        shape, words = self.release.indices.shape, []
        degrees = sorted({shape[j] for j in numeric(self.release)})
        if degrees:
            many = f"{degrees[0]}" if len(degrees) == 1 else f"{degrees[0]} to {degrees[-1]}"
            words.append(f"{many} along a numeric column")
        if categorical(self.release):
            words.append("as many as it has categories along a categorical one")
        return ", ".join(words)

    def _interplay(self) -> str | None:
        """Which products of columns there are; None where there is one column."""
        indices, most = self.release.indices, self.release.box.dimension
        if most == 1:
            return None
        if indices.cross is not None:
            most_of = f"at most {indices.cross} (hyperbolic cross)"
            return f"those in which the frequencies, each plus one, multiply to {most_of}"
        if indices.ways is None:
            return f"all those of the {most} columns"
        return f"those of at most {_count_word(indices.ways)} column{'' if indices.ways == 1 else 's'} at a time"

    def _typical(self) -> float:
        """The error of a question that it is made for: the noise in a bump of a tenth of a column, or in a share."""
        if self.bumps:
            return self.bumps[0].at(0.2)[2]
        return sum(share_error(self.release, categorical(self.release)[:1], self.confidence))

    def _compared(self) -> dict[str, Any] | None:
        """The largest noise in a bump of one column, whatever its width, beside what sampling leaves uncertain."""
        noise, sampling = float(self.bumps[0].noise.max()) if self.bumps else math.inf, sampling_error(self.release)
        if not math.isfinite(noise):
            return None
        return {"largest": _points(noise), "below": noise <= sampling, "ratio": readable(noise / sampling, 2)}

    def _exact_questions(self) -> list[dict[str, Any]]:
        """Shares of categories, of two at once, and correlations: only noise makes them wrong."""
        release, seen, rows = self.release, categorical(self.release), []
        sizes = {release.indices.shape[j]: j for j in reversed(seen)}
        for size, place in sorted(sizes.items()):
            error = share_error(release, [place], self.confidence)[0]
            what = f"share of one of {size} categories, as of {release.box.names[place]}"
            rows.append({"what": what, "error": f"{_points(error)} points", "verdict": verdict(error)})
        if len(seen) > 1 and together(release) > 1:
            pair = sorted(sorted(seen, key=lambda j: release.indices.shape[j])[-2:])
            error = sum(share_error(release, pair, self.confidence))
            what = f"share of two categories at once, as of {listed([release.box.names[j] for j in pair])}"
            rows.append({"what": what, "error": f"{_points(error)} points", "verdict": verdict(error)})
        return rows + self._correlation()

    def _correlation(self) -> list[dict[str, Any]]:
        numbers = lines(self.release)
        names = [self.release.box.names[j] for j in numbers[:MOST_CORRELATED]]
        if len(names) < 2:
            return []
        what = "correlation of two columns" + (f" (the first {len(names)})" if len(numbers) > len(names) else "")
        try:
            found = self.release.correlation(names, self.confidence)
        except ParameterError:
            return [{"what": what, "error": "no moments for it", "verdict": "not"}]
        error = np.asarray(found.error)[np.triu_indices(len(names), 1)]
        low, high = (float(f"{math.ceil(100 * float(end) - 1e-9) / 100:.2f}") for end in (error.min(), error.max()))
        told = f"{low:.2f}" if low == high else f"{low:.2f} to {high:.2f}"
        said = "well" if high <= 0.05 else "roughly" if low <= 0.25 else "not"
        return [{"what": what, "error": told, "verdict": said}]

    def _figures(self) -> list[dict[str, Any]]:
        """Means and variances of the first numeric columns, and the narrowest bump in each, in its units."""
        release, shape = self.release, self.release.indices.shape
        names = [release.box.names[j] for j in lines(release)[:FIRST] if shape[j] > 2]
        means = {told["column"]: (told["mean"], told["error"]) for told in self.means}
        variances = _answers(release.variance, names, self.confidence)
        rows = []
        for told in self.narrowest[:FIRST]:
            name = told["column"]
            mean, mean_error = means.get(name, (None, None))
            variance, variance_error = variances.get(name, (None, None))
            sampled = None if variance is None else 1.96 * math.sqrt(variance / records(release))
            rows.append(
                {
                    "name": name,
                    "mean": _told(mean),
                    "mean_error": _error(mean_error),
                    "sampling": _DASH if sampled is None else readable(sampled, 2),
                    "variance": _told(variance),
                    "variance_error": _error(variance_error),
                    "bump": "none" if told["well"] is None else number(told["well"]),
                }
            )
        return rows

    def card(self) -> list[tuple[str, str]]:
        release, interplay = self.release, self._interplay()
        products = f"; products: {interplay}" if interplay else ""
        rows = [
            ("moments", f"{release.indices.size:,}: {self._frequencies()}{products}"),
            ("records", "private" if release.rows is None else f"{release.rows:,}"),
        ]
        told = []
        few = errors_by_columns(release, self.confidence, most=2)  # more of them take their time
        for who, errors in zip(("of one column", "two at once"), few, strict=False):
            found = errors.narrowest(WELL)
            told.append(f"{who}: {'none' if found is None else f'from a width of {_width(found)} on'}")
        return [*rows, (f"bumps within {100 * WELL:g} point", "; ".join(told))] if told else rows

    def code(self, name: str) -> str:
        release = self.release
        text = ["import numpy as np", "import sfumato as sf", "", f"summary = sf.load({name + '.sfumato'!r})"]
        text += ["print(summary.guarantee)", ""]
        columns = list(zip(release.box.names, release.box.columns, strict=True))
        first = next(((n, c) for n, c in columns if isinstance(c, Interval)), None)
        if first is not None:
            (column, kind), place = first, release.places(first[0])[0]
            digits = 6 if isinstance(kind, Date) else 4  # days since 1970
            centre = float(f"{(kind.low + kind.high) / 2:.{digits}g}")
            wide = float(f"{0.2 * (kind.high - kind.low):.3g}")
            bump = f"lambda p: np.exp(-((p[:, 0] - {exact(centre)}) ** 2) / (2 * {exact(wide)} ** 2))"
            told = dated(kind, centre)
            middle = repr(told) if isinstance(told, str) else exact(told)
            text += [
                "# the mean of any smooth function over the records; costs no further privacy",
                f"answer = summary.answer({bump}, columns=[{column!r}])",
                "print(answer.value, answer.error)",
                "",
                f"summary.mean({column!r})" if place in lines(release) and release.indices.shape[place] > 1 else "",
                f"summary.share({{{column!r}: ({middle}, None)}})  # softened edges; .sharp for sharp ones",
                f"summary.kde([{middle}], bandwidth={exact(wide)}, columns=[{column!r}])",
            ]
        shares = (f"summary.share({{{n!r}: {c.categories[0]!r}}})" for n, c in columns if isinstance(c, Categorical))
        return "\n".join([*text, *itertools.islice(shares, 1), "summary.plot()"])

    # --- pictures ---------------------------------------------------------------------------------------------

    def picture(self) -> Overview:
        return overview(self.release, self.confidence, self.layout)

    @property
    def picture_words(self) -> str:
        numbers, parts = bool(numeric(self.release)), []
        if numbers:
            parts.append("densities of the numeric columns")
        if categorical(self.release):
            parts.append("shares of categories")
        if numbers and together(self.release) > 1:
            parts.append("how they go together")
        if numbers:
            parts.append("the error of a bump's mean against its width")
        return ", ".join(parts)


# --- words and cells --------------------------------------------------------------------------------------


def _count_word(count: int) -> str:
    return _NUMBERS[count] if count < len(_NUMBERS) else f"{count:,}"


def _points(error: float) -> Any:
    """Percentage points, rounded up; an answer that is a share cannot be off by more than all of them."""
    return above(100 * error, 2) if error < 1 else "100"


def _width(width: float | None) -> str:
    return "none" if width is None else f"{100 * width:g} %"


def _told(value: float | None) -> Any:
    return _DASH if value is None else readable(value, 4)


def _error(error: float | None) -> Any:
    return _DASH if error is None else above(error, 2) if math.isfinite(error) else "unbounded"


def _answers(ask: Any, names: list[str], confidence: float) -> dict[str, tuple[float, float]]:
    """Value and error by column."""
    if not names:
        return {}
    found = ask(names, confidence)
    return dict(zip(names, zip(found.value.tolist(), found.error.tolist(), strict=True), strict=True))


def _reach(place: int, bump: Errors, edge: Errors) -> dict[str, Any]:
    """The narrowest bumps and soft edges of so many columns that are answered well, and roughly."""
    return {
        "columns": _count_word(place + 1),
        "bump": _width(bump.narrowest(WELL)),
        "rough_bump": _width(bump.narrowest(ROUGHLY)),
        "edge": _width(edge.narrowest(WELL)),
        "rough_edge": _width(edge.narrowest(ROUGHLY)),
    }


def _by_width(bumps: list[Errors]) -> list[dict[str, Any]]:
    rows = []
    for width in _TABLE_WIDTHS if bumps else ():
        noise, missed, total = bumps[0].at(width)
        pair = bumps[1].at(width)[2] if len(bumps) > 1 else None
        # A kernel is a bump over its own area: the error of a density, where that of an even one is 1.
        kernel = min(total, 1.0) / (width * math.sqrt(2 * math.pi))
        rows.append(
            {
                "width": _width(width),
                "noise": _points(noise),
                "missed": _points(missed) if missed > 5e-5 else "0",
                "total": _points(total),
                "verdict": verdict(total),
                "density": above(kernel, 2),
                "pair": None if pair is None else _points(pair),
                "pair_verdict": None if pair is None else verdict(pair),
            }
        )
    return rows
