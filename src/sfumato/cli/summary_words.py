"""Summaries in words and in plain data."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from sfumato.cli.answer_words import rounded
from sfumato.cli.publishing import Facts
from sfumato.cli.words import number_words
from sfumato.core.box import Categorical, Interval
from sfumato.laws import noise_deviation
from sfumato.releases.quality import ROUGHLY, WELL, errors_by_width, numeric, sampling_error
from sfumato.releases.summary import SummaryRelease

_CONFIDENCE = 0.95
_MOST = 8  # columns that are listed


def summary_rows(release: SummaryRelease) -> Facts:
    """What there is to say of summaries and of no other release."""
    return [
        ("moments", moment_lines(release)),
        ("records", [_records(release)]),
        ("noise sd", [_noise(release)]),
        *([("means", mean_lines(release))] if _means(release) else []),
        ("answers", answer_lines(release)),
        ("missing", ["a missing value is spread over its column"]),
    ]


def moment_lines(release: SummaryRelease) -> list[str]:
    """How many moments there are, and which."""
    indices, names = release.indices, release.box.names
    products = "all their products"
    if indices.cross is not None:
        products = "products of a hyperbolic cross"
    elif indices.ways is not None:
        products = "single columns" if indices.ways == 1 else f"products of up to {indices.ways} columns"
    if len(names) > _MOST:
        each = f"{min(indices.shape)} to {max(indices.shape)} frequencies along {len(names)} columns"
    else:
        each = ", ".join(f"{many} along {name}" for name, many in zip(names, indices.shape, strict=True))
    return [f"{indices.size:,}: {each}; {products}"]


def _records(release: SummaryRelease) -> str:
    if release.rows is not None:
        return f"{release.rows:,} (public)"
    return f"about {release.numbers[0]:,.0f} (noise of deviation {noise_deviation(release.law):.3g})"


def _noise(release: SummaryRelease) -> str:
    return (
        f"{release.noise_sd:.2g} in each moment (for comparison: the luck of who was drawn moves a share by up to "
        f"{sampling_error(release):.2g})"
    )


def mean_lines(release: SummaryRelease) -> list[str]:
    """The mean of each numeric column, with its error."""
    shown = [
        f"{one['column']} {rounded(one['mean'], one['error'])} +- {one['error']:.2g}" for one in _means(release)[:_MOST]
    ]
    more = len(numeric(release)) - _MOST
    return [f"{', '.join(shown)}{f' and {more} more' if more > 0 else ''} (confidence {_CONFIDENCE:g} each)"]


def _means(release: SummaryRelease) -> list[dict[str, Any]]:
    names = [release.box.names[j] for j in numeric(release) if release.indices.shape[j] > 1]
    if not names:
        return []
    found = release.mean(names, _CONFIDENCE)
    rows = zip(names, found.value.tolist(), found.error.tolist(), strict=True)
    return [{"column": name, "mean": mean, "error": error} for name, mean, error in rows]


def answer_lines(release: SummaryRelease) -> list[str]:
    """From which width on questions are answered well, column by column."""
    lines = []
    for told in _widths(release)[:_MOST]:
        name, well, roughly = told["column"], told["well"], told["roughly"]
        if well is not None:
            lines.append(f"{name}: bumps of deviation {number_words(well)} or more within {WELL:g}")
        elif roughly is not None:
            lines.append(f"{name}: bumps of deviation {number_words(roughly)} or more within {ROUGHLY:g}")
        else:
            lines.append(f"{name}: no bump within {ROUGHLY:g}; more records, budget or another degree would help")
    exact = any(isinstance(kind, Categorical) for kind in release.box.columns)
    return [*lines, *(["categories: without approximation"] if exact else [])]


def _widths(release: SummaryRelease) -> list[dict[str, Any]]:
    """The narrowest bumps that are answered well, or roughly, in each column's units; columns alike share a figure."""
    known: dict[int, Any] = {}
    found = []
    for j in numeric(release):
        kind = release.box.columns[j]
        assert isinstance(kind, Interval)
        if release.indices.shape[j] not in known:
            known[release.indices.shape[j]] = errors_by_width(release, [j], _CONFIDENCE)
        errors = known[release.indices.shape[j]]
        well, roughly = (
            None if (share := errors.narrowest(limit)) is None else share * (kind.high - kind.low)
            for limit in (WELL, ROUGHLY)
        )
        found.append({"column": release.box.names[j], "well": well, "roughly": roughly})
    return found


def ask_row(release: SummaryRelease, path: Path) -> tuple[str, list[str]]:
    """How to go on."""
    name, kind = release.box.names[0], release.box.columns[0]
    shown = name if name.isidentifier() else f"`{name}`"
    if isinstance(kind, Categorical):
        first = kind.categories[0]
        question = f'share({shown} == "{first}")' if isinstance(first, str) else f"share({shown} == {first:g})"
    else:
        low, middle = (number_words(kind.low + part * (kind.high - kind.low)) for part in (0.25, 0.5))
        question = f"share(between({shown}, {low}, {middle}))"
    return "ask", [f"sfumato answer {shlex.quote(str(path))} {shlex.quote(question)}"]


def summary_data(release: SummaryRelease) -> dict[str, Any]:
    """The same as plain data."""
    return {
        "basis": release.basis.to_json(),
        "moments": release.indices.size,
        "frequencies": dict(zip(release.box.names, release.indices.shape, strict=True)),
        "rows": release.rows,
        "noise_sd": release.noise_sd,
        "means": _means(release),
        "narrowest": _widths(release),
        "confidence": _CONFIDENCE,
    }
