"""Densities in words and in plain data."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.cli.words import number_words
from sfumato.plotting.words import brief
from sfumato.releases.density import DensityRelease
from sfumato.releases.grouped import GroupedDensityRelease
from sfumato.report.densities import column_figures, parts_of

Densities = DensityRelease | GroupedDensityRelease
_CONFIDENCE = 0.95
_SHAPES = {
    "simplex": "simplex: the nearest density of a probability measure, non-negative and of mass one",
    "none": "none: an unbiased linear reconstruction, which may dip below zero",
}
_MISSING = {
    "drop": "records with a missing value count for nothing",
    "none": "stated publicly that nothing is missing",
}


def first_of(release: Densities) -> DensityRelease:
    """The density itself, or that of the first group: what all groups share can be read from it."""
    return release[release.groups[0]] if isinstance(release, GroupedDensityRelease) else release


def density_rows(release: Densities) -> list[tuple[str, list[str]]]:
    """What there is to say of densities and of no other function."""
    part = first_of(release)
    choice = part.choice
    return [
        ("bandwidth", [bandwidth_words(part)]),
        (
            "basis",
            [
                f"{brief(repr(part.basis))}, {release.law.size:,} coefficients",
                choice.reason,
                f"largest error to expect: about {choice.predicted_error:.2g}",
            ],
        ),
        ("records", record_lines(release)),
        ("figures", figure_lines(release)),
        ("shape", [_SHAPES[part.post]]),
        ("missing", [_MISSING.get(dict(release.target).get("missing values", ""), "unknown")]),
    ]


def bandwidth_words(part: DensityRelease) -> str:
    """The kernel's deviations, column by column."""
    covariance = part.bandwidth
    deviations = [number_words(float(d)) for d in np.sqrt(np.diag(covariance))]
    if len(deviations) == 1:
        return deviations[0]
    words = ", ".join(f"{name} {d}" for name, d in zip(part.box.names, deviations, strict=True))
    return f"{words}, tilted" if (covariance != np.diag(np.diag(covariance))).any() else words


def record_lines(release: Densities) -> list[str]:
    """How many records there are, by group."""
    lines = []
    for group, part in parts_of(release).items():
        low, high = part.count_band(_CONFIDENCE)
        public = part.masses.counts_everyone
        known = "public" if public else f"{low:,.0f} to {high:,.0f} with confidence {_CONFIDENCE:g}"
        lines.append(f"{f'{group}: ' if group else ''}{part.count:,.0f} ({known})")
    return lines


def figure_lines(release: Densities) -> list[str]:
    """Mean and quartiles of each column, by group, within the box."""
    lines = []
    for group, part in parts_of(release).items():
        for told in column_figures(part):
            names = [name for name in (group, told["column"] if part.box.dimension > 1 else "") if name]
            head = f"{', '.join(names)}: " if names else ""
            peak = f"most frequent {number_words(told['mode'])}"
            if told["mean"] is not None:
                quartiles = ", ".join(map(number_words, told["quartiles"]))
                peak = f"mean {number_words(told['mean'])}, quartiles {quartiles}, {peak}"
            lines.append(head + peak)
    return lines or ["none: this basis has no densities of single columns"]


def density_data(release: Densities) -> dict[str, Any]:
    """The same as plain data; the bandwidth is the kernel's covariance matrix."""
    part = first_of(release)
    data: dict[str, Any] = {
        "basis": part.basis.to_json(),
        "bandwidth": part.bandwidth.tolist(),
        "choice": vars(part.choice),
        "post": part.post,
        "missing": dict(release.target).get("missing values"),
    }
    if not isinstance(release, GroupedDensityRelease):
        return {**data, **_part_data(part)}
    shares = release.shares
    groups = [{"group": name, "share": shares[name], **_part_data(one)} for name, one in release.parts.items()]
    return {**data, "by": release.by, "groups": groups}


def _part_data(part: DensityRelease) -> dict[str, Any]:
    low, high = part.count_band(_CONFIDENCE)
    count = {
        "value": part.count,
        "low": low,
        "high": high,
        "confidence": _CONFIDENCE,
        "public": part.masses.counts_everyone,
    }
    return {"count": count, "columns": column_figures(part)}
