"""The face of naive Bayes classifiers: classes and columns, and how certain labels are."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.box import Box, Categorical
from sfumato.faces.base import Asked, Face, Facts
from sfumato.faces.presence import Presence, absence
from sfumato.faces.promise import short
from sfumato.faces.scales import Axis, axes_of
from sfumato.faces.views import MOST_GROUPS, dated
from sfumato.faces.words import counted, listed, number, plain, readable
from sfumato.laws import noise_deviation
from sfumato.releases.bayes.bayes import NaiveBayesRelease
from sfumato.releases.bayes.likelihoods import Counted, Normal, Smoothed
from sfumato.releases.density.masses import INCLUDES

Floats = NDArray[np.float64]

_POINTS = 201  # of a curve
_MOST_COLUMNS = 8  # that a picture shows, beside the shares
_MOST_CATEGORIES = 8
_EDGE = 3.0  # times the highest likelihood: a limit may be infinite, a picture has an edge


@dataclass(frozen=True)
class Attribute:
    """One column's likelihoods, ``(classes, m)``, with their limits.

    Parameters
    ----------
    values
        ``(m,)`` numbers, or the most frequent categories.
    distance
        How far the classes are apart, from 0 (the column tells nothing) to 1 (they have nothing in common): half the
        L1 distance of each class's likelihood from that of all records, averaged over the records.
    categories
        How many there are; None for numbers.
    """

    column: int
    values: NDArray[Any]
    likelihoods: Floats
    low: Floats
    high: Floats
    distance: float
    categories: int | None

    def of_classes(self, kept: NDArray[np.int64]) -> Attribute:
        """The same for some of the classes."""
        parts = {name: getattr(self, name)[kept] for name in ("likelihoods", "low", "high")}
        return replace(self, **parts)

    @property
    def part(self) -> str:
        """How much is shown of a column with many categories."""
        whole = self.categories is None or self.categories == len(self.values)
        return "" if whole else f" ({len(self.values)} of {self.categories})"


@dataclass(frozen=True)
class Shares:
    """``(classes,)``: which part of the records each class is, and between which limits."""

    values: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True)
class Evidence:
    """A classifier as it is drawn: limits of each line, or of each class's bars, hold at once with this confidence.

    Parameters
    ----------
    axes
        All columns.
    response, classes
        What is predicted, and the classes that are shown.
    caption
        What stands below it.
    """

    axes: tuple[Axis, ...]
    response: str
    classes: tuple[str, ...]
    shares: Shares
    attributes: tuple[Attribute, ...]
    caption: str

    @property
    def title(self) -> str:
        """What it shows."""
        words = f"how likely values are in each class of {self.response}"
        shown, every = len(self.attributes), len(self.axes)
        return words if shown == every else f"{words}: the {shown} columns of {every} that tell most"


def evidence(release: NaiveBayesRelease, confidence: float) -> Evidence:
    """What a picture shows: of many columns those that tell most, of many classes those with the most records."""
    kept = np.sort(np.argsort(-release.counts, kind="stable")[:MOST_GROUPS])
    every, found = shares(release, confidence), attributes(release, confidence)
    telling = sorted(found, key=lambda one: -one.distance)[:_MOST_COLUMNS]
    shown = tuple(one.of_classes(kept) for one in sorted(telling, key=lambda one: one.column))
    caption = f"{short(release.guarantee)}\nbands, whiskers: {100 * confidence:.10g} % limits of each class"
    if len(kept) < len(release.classes):
        caption += f"\nthe {len(kept)} largest of {len(release.classes)} classes, by released numbers of records"
    names = tuple(class_names(release)[k] for k in kept)
    few = Shares(every.values[kept], every.low[kept], every.high[kept])
    return Evidence(axes_of(release.box), plain(release.response.name, 30), names, few, shown, caption)


def class_names(release: NaiveBayesRelease) -> list[str]:
    """The classes as a legend shows them."""
    return [plain(str(name), 30) for name in release.classes]


def counts(release: NaiveBayesRelease, confidence: float) -> tuple[Floats, Floats]:
    """Limits of the numbers of records of each class, all at once, from the column that knows them best."""
    surest = min(release.likelihoods, key=lambda one: one.uncertainty)
    low, high = surest.count_limits(1 - (1 - confidence) / len(release.classes))
    return np.minimum(np.maximum(low, 0.0), release.counts), np.maximum(high, release.counts)


def shares(release: NaiveBayesRelease, confidence: float) -> Shares:
    """The classes' shares, with limits: the others may be as many, or as few, as theirs allow."""
    low, high = counts(release, confidence)
    least = low / (low + high.sum() - high)
    most = high / (high + low.sum() - low)
    return Shares(release.counts / release.counts.sum(), least, most)


def attributes(release: NaiveBayesRelease, confidence: float) -> list[Attribute]:
    """All columns with their likelihoods."""
    part = release.counts / release.counts.sum()
    return [_attribute(release, column, part, confidence) for column in range(release.box.dimension)]


def _attribute(release: NaiveBayesRelease, column: int, part: Floats, confidence: float) -> Attribute:
    kind, likelihood = release.box.columns[column], release.likelihoods[column]
    share = (1 + confidence) / 2  # the likelihood's sum and the count may fail half as often each
    if isinstance(kind, Categorical):
        values: NDArray[Any] = np.array(kind.categories, dtype=object)
        weight = 1.0
    else:
        values = np.linspace(kind.low, kind.high, _POINTS)
        weight = (kind.high - kind.low) / _POINTS
    found = likelihood(values, "clip")
    apart = weight * 0.5 * float((np.abs(found - (found @ part)[:, None]) @ part).sum())
    distance = apart / (1 - float((part**2).sum()))  # what classes without anything in common reach
    kept = np.arange(len(values))
    if isinstance(kind, Categorical):
        kept = np.sort(np.argsort(-(found @ part), kind="stable")[:_MOST_CATEGORIES])
    sums, total = likelihood.limits(values[kept], share, "total", "clip"), likelihood.count_limits(share)
    with np.errstate(all="ignore"):
        low = np.maximum(sums[0], 0.0) / np.maximum(total[1], 1.0)
        high = np.where(total[0] > 0, sums[1] / total[0], np.inf)
    edge = 1.0 if isinstance(kind, Categorical) else _EDGE * float(found.max())
    ends = np.minimum(low, found[kept]).T, np.maximum(np.minimum(high, edge), found[kept]).T
    count = len(kind.categories) if isinstance(kind, Categorical) else None
    return Attribute(column, values[kept], found[kept].T, *ends, min(1.0, distance), count)


_SPREAD = 2000  # points all over the box, where labels are looked at
_FEW = 6  # columns on a card
_MOST_LINES = 12  # columns that a terminal lists one by one


def spread(box: Box, count: int = _SPREAD) -> dict[str, NDArray[Any]]:
    """Public points all over a box, also where columns hold categories: an array for each column."""
    # An additive recurrence with square roots of primes: deterministic, and even in every dimension.
    primes = [p for p in range(2, 40 + 20 * box.dimension) if all(p % q for q in range(2, p))]
    found: dict[str, NDArray[Any]] = {}
    for name, column, prime in zip(box.names, box.columns, primes, strict=False):
        unit = (np.arange(1, count + 1) * np.sqrt(prime)) % 1.0
        if isinstance(column, Categorical):
            place = np.minimum((unit * len(column.categories)).astype(int), len(column.categories) - 1)
            found[name] = np.array(column.categories, dtype=object)[place]
        else:
            found[name] = column.low + unit * (column.high - column.low)
    return found


def told_how(release: NaiveBayesRelease, column: int) -> str:
    """How the likelihoods of a column are known, in words."""
    likelihood = release.likelihoods[column]
    if isinstance(likelihood, Counted):
        return f"{likelihood.law.size} categories, counted"
    if isinstance(likelihood, Normal):
        return "normal, from a mean and a deviation"
    assert isinstance(likelihood, Smoothed)
    width = float(likelihood.densities[0].bandwidth[0])
    return f"density, bandwidth {number(width)}"


class NaiveBayesFace(Face):
    """What a naive Bayes classifier says of itself."""

    kind = "bayes"
    serves, use = ("predict",), "predict"
    joined = "from"
    parts = "counts and sums"
    quantity = "naive Bayes classifier"
    release: NaiveBayesRelease

    @property
    def title(self) -> str:
        return f"a naive Bayes classifier of {self.response} from {self.named('many columns')}"

    @property
    def response(self) -> str:
        return self.release.response.name

    @cached_property
    def telling(self) -> list[Attribute]:
        """All columns, the one in which classes differ most first."""
        return sorted(attributes(self.release, self.confidence), key=lambda one: -one.distance)

    @cached_property
    def certain(self) -> float:
        """The share of the box where the label is certain."""
        return float(self.release.certain(spread(self.release.box), self.confidence, "clip").mean())

    @cached_property
    def classes(self) -> list[dict[str, Any]]:
        """Name, share, number of records and its limits of each class."""
        part, (low, high) = shares(self.release, self.confidence), counts(self.release, self.confidence)
        columns = (array.tolist() for array in (part.values, self.release.counts, low, high))
        found = zip(self.release.classes, *columns, strict=True)
        return [{"class": name, "share": s, "count": c, "low": a, "high": b} for name, s, c, a, b in found]

    @property
    def labels(self) -> str:
        """The classes in a line."""
        return ", ".join(map(str, self.release.classes))

    def how(self, one: Attribute) -> str:
        """How the likelihoods of a column are known, in words."""
        return told_how(self.release, one.column)

    # --- terminal and programs --------------------------------------------------------------------------------

    def nothing_there(self) -> list[str]:
        release = self.release
        surest = min(release.likelihoods, key=lambda one: one.uncertainty)  # each column counts the same records
        unsure, counts = noise_deviation(surest.law) * math.sqrt(surest.uncertainty), surest.counts.tolist()
        found = zip(class_names(release), counts, strict=True)
        classes = [Presence(f"{self.response} {name}", count, unsure) for name, count in found]
        names = listed([*release.box.names, self.response])
        return absence(Presence(f"with {names}", math.fsum(counts), unsure * math.sqrt(len(counts))), classes)

    def rows(self, asked: Asked | None = None) -> Facts:
        sure = (
            f"on {100 * self.certain:.3g} % of the box noise alone cannot have changed the label "
            f"(confidence {self.confidence:g})"
        )
        return [
            ("predicts", [f"{self.response}: {self.labels}", "the class of largest share times likelihoods"]),
            ("classes", self._class_lines()),
            ("columns", self._column_lines()),
            ("certain", [sure]),
            ("missing", ["a missing value, or a category that is not declared, says nothing about the class"]),
        ]

    def _class_lines(self) -> list[str]:
        return [
            f"{one['class']}: {one['count']:,.0f} records ({one['low']:,.0f} to {one['high']:,.0f}), "
            f"{100 * one['share']:.3g} %"
            for one in self.classes
        ]

    def _column_lines(self) -> list[str]:
        """Those that tell most first."""
        names, more = self.release.box.names, len(self.telling) - _MOST_LINES
        lines = [
            f"{names[one.column]}: {self.how(one)}; tells {one.distance:.2f}" for one in self.telling[:_MOST_LINES]
        ]
        lines += [f"and {counted(more, 'column')} more that tell less"] if more > 0 else []
        return [*lines, "(tells 0: the classes look alike there, 1: they have nothing in common)"]

    def data(self) -> dict[str, Any]:
        names, limits = self.release.box.names, ("low", "high")
        return {
            "response": self.release.response.to_json(),
            "likelihood": dict(self.release.target).get("likelihoods"),
            "classes": [
                {
                    "class": one["class"],
                    "share": one["share"],
                    "count": {
                        "value": one["count"],
                        **{end: one[end] for end in limits},
                        "confidence": self.confidence,
                    },
                }
                for one in self.classes
            ],
            "columns": [
                {"column": names[one.column], "likelihood": self.how(one), "tells": one.distance}
                for one in self.telling
            ],
            "certain": {"share": self.certain, "confidence": self.confidence},
        }

    # --- page, card, code -------------------------------------------------------------------------------------

    def page(self) -> dict[str, Any]:
        names, kinds = self.release.box.names, [type(one) for one in self.release.likelihoods]
        bayes = {
            "classes": [
                {
                    "name": str(one["class"]),
                    "share": f"{100 * one['share']:.3g} %",
                    **{key: f"{one[key]:,.0f}" for key in ("count", "low", "high")},
                }
                for one in self.classes
            ],
            "labels": self.labels,
            "columns": [
                {"name": names[one.column], "how": self.how(one), "tells": f"{one.distance:.2f}"}
                for one in self.telling
            ],
            "smoothed": Smoothed in kinds,
            "normal": Normal in kinds,
            "counted": Counted in kinds,
            "share": readable(100 * self.certain),
            "bands": self._bands(),
            "points": f"{_SPREAD:,}",
        }
        return {"bayes": bayes}

    def _bands(self) -> list[dict[str, Any]]:
        """How far apart the limits of probabilities are, typically."""
        points, rows = spread(self.release.box), []
        for include in INCLUDES:
            low, high = self.release.band(points, self.confidence, include, "clip")
            rows.append({"name": include, "typical": readable(float(np.median(high - low)))})
        return rows

    def card(self) -> list[tuple[str, str]]:
        few = ", ".join(self.release.box.names[one.column] for one in self.telling[:_FEW])
        numbers = zip(self.release.classes, self.release.counts, strict=True)
        return [
            ("predicts", f"{self.response}: {self.labels}"),
            ("records", ", ".join(f"{name}: {count:,.0f}" for name, count in numbers)),
            ("likelihoods", dict(self.release.target).get("likelihoods", "unknown")),
            ("tell most" if len(self.telling) > 1 else "column", few),
            ("noise", f"in {self.release.law.size:,} counts and sums"),
        ]

    def code(self, name: str) -> str:
        """At a point of the box."""
        point: dict[str, list[Any]] = {}
        for column_name, column in zip(self.release.box.names, self.release.box.columns, strict=True):
            if isinstance(column, Categorical):
                point[column_name] = [column.categories[0]]
                continue
            middle = dated(column, (column.low + column.high) / 2)
            point[column_name] = [middle if isinstance(middle, str) else float(f"{middle:.4g}")]
        lines = [
            "# a record to predict from: an array, a table, or a list of values for each column",
            f"new = {point!r}",
            "",
            "# its label, the probability of each class, and whether noise alone cannot have changed the label",
            "release.predict(new)",
            "release.predict_proba(new)",
            "release.certain(new)",
            "",
            "# between which limits the probabilities lie without noise",
            "low, high = release.band(new)",
        ]
        return "\n".join([*self.first_lines(name), *lines])

    # --- pictures ---------------------------------------------------------------------------------------------

    def picture(self) -> Evidence:
        return evidence(self.release, self.confidence)

    @property
    def picture_words(self) -> str:
        shown = " and ".join(self.release.box.names[one.column] for one in self.picture().attributes)
        return f"shares of the classes of {self.response}, and how likely values of {shown} are in each"
