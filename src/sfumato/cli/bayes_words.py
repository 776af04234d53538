"""Naive Bayes classifiers in words and in plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sfumato.cli.publishing import Facts
from sfumato.cli.words import counted
from sfumato.plotting.likelihoods import counts, shares
from sfumato.releases.bayes import NaiveBayesRelease
from sfumato.report.bayes import certain_share, most_telling, told_how

_CONFIDENCE = 0.95
_MOST_LINES = 12  # columns that are listed one by one


def bayes_rows(release: NaiveBayesRelease) -> Facts:
    """What there is to say of naive Bayes classifiers and of no other release."""
    share, named = certain_share(release, _CONFIDENCE), ", ".join(map(str, release.classes))
    sure = f"on {100 * share:.3g} % of the box noise alone cannot have changed the label (confidence {_CONFIDENCE:g})"
    return [
        ("predicts", [f"{release.response.name}: {named}", "the class of largest share times likelihoods"]),
        ("classes", _class_lines(release)),
        ("columns", _column_lines(release)),
        ("certain", [sure]),
        ("missing", ["a missing value, or a category that is not declared, says nothing about the class"]),
    ]


def _class_lines(release: NaiveBayesRelease) -> list[str]:
    part, (low, high) = shares(release, _CONFIDENCE), counts(release, _CONFIDENCE)
    return [
        f"{name}: {release.counts[k]:,.0f} records ({low[k]:,.0f} to {high[k]:,.0f}), {100 * part.values[k]:.3g} %"
        for k, name in enumerate(release.classes)
    ]


def _column_lines(release: NaiveBayesRelease) -> list[str]:
    """Those that tell most first."""
    found = most_telling(release, _CONFIDENCE)
    lines = [
        f"{release.box.names[one.column]}: {told_how(release, one.column)}; tells {one.distance:.2f}"
        for one in found[:_MOST_LINES]
    ]
    more = len(found) - _MOST_LINES
    lines += [f"and {counted(more, 'column')} more that tell less"] if more > 0 else []
    return [*lines, "(tells 0: the classes look alike there, 1: they have nothing in common)"]


def bayes_data(release: NaiveBayesRelease) -> dict[str, Any]:
    """The same as plain data."""
    part, (low, high) = shares(release, _CONFIDENCE), counts(release, _CONFIDENCE)
    return {
        "response": release.response.to_json(),
        "likelihood": dict(release.target).get("likelihoods"),
        "classes": [
            {"class": name, "share": s, "count": {"value": c, "low": a, "high": b, "confidence": _CONFIDENCE}}
            for name, s, c, a, b in zip(release.classes, *_lists(part.values, release.counts, low, high), strict=True)
        ],
        "columns": [
            {
                "column": release.box.names[one.column],
                "likelihood": told_how(release, one.column),
                "tells": one.distance,
            }
            for one in most_telling(release, _CONFIDENCE)
        ],
        "certain": {"share": certain_share(release, _CONFIDENCE), "confidence": _CONFIDENCE},
    }


def _lists(*arrays: Any) -> Sequence[list[float]]:
    return [array.tolist() for array in arrays]
