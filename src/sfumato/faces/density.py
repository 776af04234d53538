"""The face of densities: kernel, basis, records, a few figures, and how far to trust them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.base import LatticeBasis
from sfumato.core.box import Box, Periodic
from sfumato.faces.base import Asked, Face, Facts
from sfumato.faces.function import FunctionFace
from sfumato.faces.promise import short
from sfumato.faces.views import Functions, Views, grid, sketched_points, views_of
from sfumato.faces.words import brief, listed, number, number_words, readable
from sfumato.releases.density import DensityRelease
from sfumato.releases.grouped import GroupedDensityRelease
from sfumato.releases.masses import INCLUDES

Floats = NDArray[np.float64]

_NEW_LINE = "\n"
POINTS = {1: 101, 2: 21, 3: 9}  # along each column, where the bands are compared


def parts_of(release: Functions) -> dict[str, DensityRelease]:
    """The densities of a release by group; one without a name where there are no groups."""
    if isinstance(release, GroupedDensityRelease):
        return {str(name): part for name, part in release.parts.items()}
    assert isinstance(release, DensityRelease)
    return {"": release}


def _page(release: Functions, part: DensityRelease, confidence: float) -> dict[str, Any]:
    """Everything that the page says of a density and of no other function; ``part`` is the first group."""
    told, parts = dict(release.target), parts_of(release)
    bands = [row for name, one in parts.items() for row in _bands(name, one, confidence)]
    covariance = part.bandwidth
    return {
        "by": release.by if isinstance(release, GroupedDensityRelease) else None,
        "widths": list(zip(part.box.names, widths(part), strict=True)),
        "tilted": bool((covariance != np.diag(np.diag(covariance))).any()),
        "basis": brief(part.choice.basis),
        "reason": part.choice.reason,
        "predicted": readable(part.choice.predicted_error),
        "post": part.post,
        "missing": told.get("missing values", "drop"),
        "derived": any(part.expansion.derivatives),
        "records": [_records(name, one, confidence) for name, one in parts.items()],
        "figures": [row for name, one in parts.items() for row in _figures(name, one)],
        "circles": [n for n, c in zip(part.box.names, part.box.columns, strict=True) if isinstance(c, Periodic)],
        "bands": bands,
        "error": {
            "points": f"{POINTS[part.box.dimension] ** part.box.dimension:,}",
            "typical": max(bands, key=lambda row: float(row["sort"]))["total"],
        },
    }


def _split(release: Functions) -> list[dict[str, Any]]:
    """The column that tells groups apart, as a row of the table of columns."""
    if not isinstance(release, GroupedDensityRelease):
        return []
    values = ", ".join(map(str, release.groups))
    return [{"name": release.by, "kind": "categorical", "values": values, "times": 0}]


def _records(name: str, part: DensityRelease, confidence: float) -> dict[str, Any]:
    low, high = part.count_band(confidence)
    return {
        "group": name,
        "count": f"{part.count:,.0f}",
        "low": f"{low:,.0f}",
        "high": f"{high:,.0f}",
        "public": part.masses.counts_everyone,
    }


def one_column(release: DensityRelease, column: str) -> DensityRelease | None:
    """The density of one column whatever the others are; None where the basis has no such thing."""
    if release.box.dimension == 1:
        return release
    return None if isinstance(release.basis, LatticeBasis) else release.marginal(column)


def column_figures(part: DensityRelease) -> list[dict[str, Any]]:
    """Mean, quartiles and the most frequent value of each column; a circle has no mean and no quartiles."""
    found = []
    for name, kind in zip(part.box.names, part.box.columns, strict=True):
        alone = None if any(part.expansion.derivatives) else one_column(part, name)
        if alone is None:
            continue
        circle = isinstance(kind, Periodic)
        found.append(
            {
                "column": name,
                "mean": None if circle else alone.mean(),
                "quartiles": None if circle else np.asarray(alone.quantile([0.25, 0.5, 0.75])).tolist(),
                "mode": float(alone.mode()[0]),
            }
        )
    return found


def _figures(name: str, part: DensityRelease) -> list[dict[str, Any]]:
    rows = []
    for told in column_figures(part):
        numbers = [] if told["mean"] is None else [told["mean"], *told["quartiles"]]
        cells: list[str] = [readable(value, 4) for value in numbers] or ["\N{EN DASH}"] * 4
        rows.append({"group": name, "column": told["column"], "cells": [*cells, readable(told["mode"], 4)]})
    return rows


def _bands(name: str, part: DensityRelease, confidence: float) -> list[dict[str, Any]]:
    """How far each kind of band reaches from the density, typically and at most."""
    points = grid(part.box, POINTS[part.box.dimension])
    values = part(points)
    reach = {}
    for include in INCLUDES:
        low, high = part.band(points, confidence, include)
        reach[include] = np.maximum(high - values, values - low)
    prefix = f"{name}, " if name else ""
    typical = {include: float(np.median(values)) for include, values in reach.items()}
    largest = {include: float(values.max()) for include, values in reach.items()}
    return [
        {"row": f"{prefix}typical", "sort": typical["total"], **{i: _width(typical[i]) for i in INCLUDES}},
        {"row": f"{prefix}largest", "sort": -1.0, **{i: _width(largest[i]) for i in INCLUDES}},
    ]


def _width(value: float) -> Any:
    return readable(value) if np.isfinite(value) else "unbounded"


def _code(release: Functions, part: DensityRelease, first: list[str]) -> str:
    """How to read a density, at the middle of its box."""
    middle = [float(f"{m:.4g}") for m in (part.box.low + part.box.high) / 2]
    points = middle if part.box.dimension == 1 else [middle]
    column = part.box.names[0]
    density, lines = "release", list(first)
    if isinstance(release, GroupedDensityRelease):
        density = "density"
        lines += [f"density = release[{release.groups[0]!r}]  # one group; release.groups lists them", ""]
    lines += [
        "# its value at a point, and between which limits the kernel density estimate of the records lies there",
        f"{density}({points!r})",
        f"low, high = {density}.band({points!r})",
        "",
        "# the share of records in a part of the box: computed from the release, costs no further privacy",
        f"{density}.probability({{{column!r}: ({float(part.box.low[0]):.6g}, {middle[0]:.6g})}})",
    ]
    if one_column(part, column) is not None:
        alone = density if part.box.dimension == 1 else f"{density}.marginal({column!r})"
        lines.append(f"{alone}.quantile([0.25, 0.5, 0.75])")
    return "\n".join(lines)


Densities = DensityRelease | GroupedDensityRelease
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


def _rows(release: Densities, confidence: float) -> list[tuple[str, list[str]]]:
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
        ("records", record_lines(release, confidence)),
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


def record_lines(release: Densities, confidence: float) -> list[str]:
    """How many records there are, by group."""
    lines = []
    for group, part in parts_of(release).items():
        low, high = part.count_band(confidence)
        public = part.masses.counts_everyone
        known = "public" if public else f"{low:,.0f} to {high:,.0f} with confidence {confidence:g}"
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


def _data(release: Densities, confidence: float) -> dict[str, Any]:
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
        return {**data, **_part_data(part, confidence)}
    shares = release.shares
    groups = [
        {"group": name, "share": shares[name], **_part_data(one, confidence)} for name, one in release.parts.items()
    ]
    return {**data, "by": release.by, "groups": groups}


def _part_data(part: DensityRelease, confidence: float) -> dict[str, Any]:
    low, high = part.count_band(confidence)
    count = {
        "value": part.count,
        "low": low,
        "high": high,
        "confidence": confidence,
        "public": part.masses.counts_everyone,
    }
    return {"count": count, "columns": column_figures(part)}


def widths(release: DensityRelease) -> list[str]:
    """The kernel's standard deviation along each column, for reading."""
    return [number(float(d)) for d in np.sqrt(np.diag(release.bandwidth))]


def blur(release: DensityRelease) -> str:
    """The bandwidth in words."""
    return f"bandwidth {listed(widths(release))}"


def blurred_caption(promise: Any, kernel: DensityRelease) -> str:
    """What stands below a picture of what a kernel has smoothed."""
    return f"{short(promise)}{'; ' if kernel.box.dimension == 1 else _NEW_LINE}{blur(kernel)}"


@dataclass(frozen=True)
class Spark:
    """A density of one column in a few numbers, for a terminal, beside others of the same scale."""

    box: Box
    column: str
    group: str
    values: Floats
    highest: float
    height: int  # in lines


def _heights(alone: DensityRelease) -> Floats:
    return np.maximum(alone(sketched_points(alone.box)), 0.0)


class _Densities(Face):
    """What one density and densities by group have in common."""

    kind = "density"
    release: Densities

    @property
    def first(self) -> DensityRelease:
        """The density itself, or that of the first group."""
        return first_of(self.release)

    @property
    def columns(self) -> str:
        return listed(self.release.box.names)

    def rows(self, asked: Asked | None = None) -> Facts:
        return _rows(self.release, self.confidence)

    def details(self) -> Facts:
        return Face.details(self)

    def page(self) -> dict[str, Any]:
        told = _page(self.release, self.first, self.confidence)
        return {
            "basis": repr(self.first.basis),
            "target": [pair for pair in self.release.target if pair[1] != "-"],
            "density": told,
            "error": told["error"],
        }

    def card(self) -> list[tuple[str, str]]:
        basis = f"{self.first.basis!r}, {self.release.law.size:,} coefficients"
        return [("basis", basis), ("bandwidth", ", ".join(widths(self.first)))]

    def code(self, name: str) -> str:
        return _code(self.release, self.first, self.first_lines(name))

    def picture(self) -> Views:
        return views_of(self.release, self.confidence)

    def sketch(self, asked: Asked | None = None) -> list[Spark]:
        """One for each column and group, of what was just published."""
        return [] if asked is None else [spark for name in self.release.box.names for spark in self._sparks(name)]

    def _sparks(self, column: str) -> list[Spark]:
        found = [(group, one_column(part, column)) for group, part in parts_of(self.release).items()]
        curves = [(group, _heights(alone)) for group, alone in found if alone is not None]
        highest = max((float(values.max()) for _, values in curves), default=0.0)
        height = 4 if len(found) == 1 and self.release.box.dimension == 1 else 2
        return [Spark(self.release.box, column, group, values, highest, height) for group, values in curves]

    @property
    def picture_words(self) -> str:
        return f"{self.quantity} over {' and '.join(self.release.box.names)}, with its band"


class DensityFace(_Densities, FunctionFace):
    """What a density says of itself."""

    release: DensityRelease

    @property
    def caption(self) -> str:
        return blurred_caption(self.release.guarantee, self.release)

    def data(self) -> dict[str, Any]:
        return {**FunctionFace.data(self), **_data(self.release, self.confidence)}

    def card(self) -> list[tuple[str, str]]:
        return [*super().card(), ("records", f"{self.release.count:,.0f}")]


class GroupedDensityFace(_Densities):
    """What densities by group say of themselves."""

    release: GroupedDensityRelease

    @property
    def title(self) -> str:
        names, groups = listed(self.release.box.names), ", ".join(map(str, self.release.groups))
        return f"densities of {names}, one for each {self.release.by} ({groups})"

    def data(self) -> dict[str, Any]:
        return _data(self.release, self.confidence)

    def column_rows(self) -> list[dict[str, Any]]:
        return [*super().column_rows(), *_split(self.release)]

    @property
    def box_words(self) -> str:
        return ", ".join(f"{row['name']}: {row['values']}" for row in super().column_rows())

    def card(self) -> list[tuple[str, str]]:
        counts = ", ".join(f"{name}: {part.count:,.0f}" for name, part in self.release.parts.items())
        return [*super().card(), (f"records by {self.release.by}", counts)]
