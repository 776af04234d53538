"""What a page says of a density: kernel, basis, records, a few figures, and how far to trust them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.base import LatticeBasis
from sfumato.core.box import Periodic
from sfumato.plotting.samples import grid
from sfumato.plotting.words import Functions, brief, widths
from sfumato.releases.density import DensityRelease
from sfumato.releases.grouped import GroupedDensityRelease
from sfumato.releases.masses import INCLUDES
from sfumato.report.numbers import readable

Floats = NDArray[np.float64]

POINTS = {1: 101, 2: 21, 3: 9}  # along each column, where the bands are compared


def parts_of(release: Functions) -> dict[str, DensityRelease]:
    """The densities of a release by group; one without a name where there are no groups."""
    if isinstance(release, GroupedDensityRelease):
        return {str(name): part for name, part in release.parts.items()}
    assert isinstance(release, DensityRelease)
    return {"": release}


def density_facts(release: Functions, part: DensityRelease, confidence: float) -> dict[str, Any]:
    """Everything that the page says of a density and of no other function; ``part`` is the first group."""
    told, parts = dict(release.target), parts_of(release)
    bands = [row for name, one in parts.items() for row in _bands(name, one, confidence)]
    covariance = part.bandwidth
    return {
        "by": release.by if isinstance(release, GroupedDensityRelease) else None,
        "split": _split(release),
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
        cells = [readable(value, 4) for value in numbers] or ["\N{EN DASH}"] * 4
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


def density_code(release: Functions, part: DensityRelease, name: str) -> str:
    """How to read a density, at the middle of its box."""
    middle = [float(f"{m:.4g}") for m in (part.box.low + part.box.high) / 2]
    points = middle if part.box.dimension == 1 else [middle]
    first = part.box.names[0]
    lines = ["import sfumato as sf", "", f"release = sf.load({name + '.sfumato'!r})", "print(release.guarantee)", ""]
    density = "release"
    if isinstance(release, GroupedDensityRelease):
        density = "density"
        lines += [f"density = release[{release.groups[0]!r}]  # one group; release.groups lists them", ""]
    lines += [
        "# its value at a point, and between which limits the kernel density estimate of the records lies there",
        f"{density}({points!r})",
        f"low, high = {density}.band({points!r})",
        "",
        "# the share of records in a part of the box: computed from the release, costs no further privacy",
        f"{density}.probability({{{first!r}: ({float(part.box.low[0]):.6g}, {middle[0]:.6g})}})",
    ]
    if one_column(part, first) is not None:
        alone = density if part.box.dimension == 1 else f"{density}.marginal({first!r})"
        lines.append(f"{alone}.quantile([0.25, 0.5, 0.75])")
    return "\n".join(lines)
