"""What a picture of a naive Bayes classifier shows: the classes' shares, and how likely values are in each class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.box import Categorical
from sfumato.errors import ParameterError
from sfumato.plotting.samples import MOST_GROUPS
from sfumato.plotting.words import plain
from sfumato.releases.bayes import NaiveBayesRelease

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
    """A classifier as it is drawn: limits of each line, or of each class's bars, hold at once with this confidence."""

    release: NaiveBayesRelease
    shares: Shares
    attributes: tuple[Attribute, ...]
    confidence: float


def evidence(release: NaiveBayesRelease, confidence: float) -> Evidence:
    """What a picture shows: of many columns those that tell most, in the order of the box."""
    if len(release.classes) > MOST_GROUPS:
        raise ParameterError(f"a picture tells {MOST_GROUPS} classes apart, this release has {len(release.classes)}")
    found = attributes(release, confidence)
    telling = sorted(found, key=lambda one: -one.distance)[:_MOST_COLUMNS]
    shown = tuple(sorted(telling, key=lambda one: one.column))
    return Evidence(release, shares(release, confidence), shown, confidence)


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
