"""What a page says of a naive Bayes classifier: its classes and columns, and how certain its labels are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.box import Box, Categorical
from sfumato.plotting.likelihoods import Attribute, attributes, counts, shares
from sfumato.plotting.words import number
from sfumato.releases.bayes import NaiveBayesRelease
from sfumato.releases.likelihoods import Counted, Normal, Smoothed
from sfumato.releases.masses import INCLUDES
from sfumato.report.numbers import readable

_POINTS = 2000  # all over the box, where labels are looked at
_FEW = 6  # columns on a card


def spread(box: Box, count: int = _POINTS) -> dict[str, NDArray[Any]]:
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


def certain_share(release: NaiveBayesRelease, confidence: float) -> float:
    """The share of the box where the label is certain."""
    return float(release.certain(spread(release.box), confidence, "clip").mean())


def told_how(release: NaiveBayesRelease, column: int) -> str:
    """How the likelihoods of a column are known, in words."""
    likelihood = release.likelihoods[column]
    if isinstance(likelihood, Counted):
        return f"{likelihood.law.size} categories, counted"
    if isinstance(likelihood, Normal):
        return "normal, from a mean and a deviation"
    assert isinstance(likelihood, Smoothed)
    width = float(np.sqrt(likelihood.densities[0].bandwidth[0, 0]))
    return f"density, bandwidth {number(width)}"


def most_telling(release: NaiveBayesRelease, confidence: float = 0.95) -> list[Attribute]:
    """All columns, the one in which classes differ most first."""
    return sorted(attributes(release, confidence), key=lambda one: -one.distance)


def bayes_facts(release: NaiveBayesRelease, confidence: float) -> dict[str, Any]:
    """Everything that the page says of a naive Bayes classifier and of no other release."""
    kinds = [type(one) for one in release.likelihoods]
    part, (low, high) = shares(release, confidence), counts(release, confidence)
    classes = [
        {
            "name": str(name),
            "share": f"{100 * part.values[k]:.3g} %",
            "count": f"{release.counts[k]:,.0f}",
            "low": f"{low[k]:,.0f}",
            "high": f"{high[k]:,.0f}",
        }
        for k, name in enumerate(release.classes)
    ]
    columns = [
        {"name": release.box.names[one.column], "how": told_how(release, one.column), "tells": f"{one.distance:.2f}"}
        for one in most_telling(release, confidence)
    ]
    return {
        "response": release.response.name,
        "classes": classes,
        "labels": ", ".join(map(str, release.classes)),
        "columns": columns,
        "smoothed": Smoothed in kinds,
        "normal": Normal in kinds,
        "counted": Counted in kinds,
        "share": readable(100 * certain_share(release, confidence)),
        "bands": _bands(release, confidence),
        "points": f"{_POINTS:,}",
    }


def _bands(release: NaiveBayesRelease, confidence: float) -> list[dict[str, Any]]:
    """How far apart the limits of probabilities are, typically."""
    points, rows = spread(release.box), []
    for include in INCLUDES:
        low, high = release.band(points, confidence, include, "clip")
        rows.append({"name": include, "typical": readable(float(np.median(high - low)))})
    return rows


def bayes_rows(release: NaiveBayesRelease) -> list[tuple[str, str]]:
    """What a card says of a naive Bayes classifier."""
    found = most_telling(release)
    few = ", ".join(release.box.names[one.column] for one in found[:_FEW])
    numbers = zip(release.classes, release.counts, strict=True)
    return [
        ("predicts", f"{release.response.name}: {', '.join(map(str, release.classes))}"),
        ("records", ", ".join(f"{name}: {count:,.0f}" for name, count in numbers)),
        ("likelihoods", dict(release.target).get("likelihoods", "unknown")),
        ("tell most" if len(found) > 1 else "column", few),
        ("noise", f"in {release.law.size:,} counts and sums"),
    ]


def bayes_code(release: NaiveBayesRelease, name: str) -> str:
    """How to use a naive Bayes classifier, at a point of its box."""
    point: dict[str, list[Any]] = {}
    for column_name, column in zip(release.box.names, release.box.columns, strict=True):
        middle = column.categories[0] if isinstance(column, Categorical) else (column.low + column.high) / 2
        point[column_name] = [middle if isinstance(column, Categorical) else float(f"{middle:.4g}")]
    lines = ["import sfumato as sf", "", f"release = sf.load({name + '.sfumato'!r})", "print(release.guarantee)", ""]
    lines += [
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
    return "\n".join(lines)
