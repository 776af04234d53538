"""The face of densities: kernel, basis, records, a few figures, and how far to trust them."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.base import LatticeBasis
from sfumato.core.box import Box, Periodic
from sfumato.errors import ParameterError
from sfumato.faces.base import Asked, Face, Facts
from sfumato.faces.function import FunctionFace
from sfumato.faces.promise import short
from sfumato.faces.views import MOST_GROUPS, Sample, View, Views, check_columns, drawn_points, grid, sketched_points
from sfumato.faces.words import MISSING, brief, listed, number, number_words, plain, readable
from sfumato.releases.density.density import DensityRelease
from sfumato.releases.density.grouped import GroupedDensityRelease
from sfumato.releases.density.masses import INCLUDES

Floats = NDArray[np.float64]

POINTS = {1: 101, 2: 21, 3: 9}  # along each column, where the bands are compared
_SHAPES = {
    "simplex": "simplex: the nearest density of a probability measure, non-negative and of mass one",
    "none": "none: an unbiased linear reconstruction, which may dip below zero",
}


# --- a density by itself, also as a part of other releases ----------------------------------------------------


def widths(release: DensityRelease) -> list[str]:
    """The kernel's standard deviation along each column, for reading."""
    return [number(float(d)) for d in np.sqrt(np.diag(release.bandwidth))]


def blur(release: DensityRelease) -> str:
    """The bandwidth in words."""
    return f"bandwidth {listed(widths(release))}"


def blurred_caption(promise: Any, kernel: DensityRelease) -> str:
    """What stands below a picture of what a kernel has smoothed."""
    between = "; " if kernel.box.dimension == 1 else "\n"
    return f"{short(promise)}{between}{blur(kernel)}"


def tilted(part: DensityRelease) -> bool:
    """Whether the kernel's axes are not those of the columns."""
    return bool((part.bandwidth != np.diag(np.diag(part.bandwidth))).any())


def bandwidth_words(part: DensityRelease) -> str:
    """The kernel's deviations, column by column."""
    deviations = [number_words(float(d)) for d in np.sqrt(np.diag(part.bandwidth))]
    if len(deviations) == 1:
        return deviations[0]
    words = ", ".join(f"{name} {d}" for name, d in zip(part.box.names, deviations, strict=True))
    return f"{words}, tilted" if tilted(part) else words


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


@dataclass(frozen=True)
class Spark:
    """A density of one column in a few numbers, for a terminal, beside others of the same scale."""

    box: Box
    column: str
    group: str
    values: Floats
    highest: float
    height: int  # in lines


class _Densities(Face):
    """What one density and densities by group have in common."""

    kind = "density"
    serves, use = ("evaluate",), "evaluate"
    release: DensityRelease | GroupedDensityRelease

    @property
    @abstractmethod
    def densities(self) -> dict[str, DensityRelease]:
        """The densities by group; one without a name where there are no groups."""

    @property
    def first(self) -> DensityRelease:
        """The density itself, or that of the first group: what all groups share can be read from it."""
        return next(iter(self.densities.values()))

    @cached_property
    def counts(self) -> dict[str, dict[str, Any]]:
        """How many records there are, and between which limits, by group."""
        found = {}
        for group, part in self.densities.items():
            low, high = part.count_band(self.confidence)
            public = part.masses.counts_everyone
            limits = {"low": low, "high": high, "confidence": self.confidence, "public": public}
            found[group] = {"value": part.count, **limits}
        return found

    @cached_property
    def figures(self) -> dict[str, list[dict[str, Any]]]:
        """Mean, quartiles and mode of each column, by group."""
        return {group: column_figures(part) for group, part in self.densities.items()}

    @property
    def missing(self) -> str | None:
        """What becomes of missing values, as the release tells it."""
        return dict(self.release.target).get("missing values")

    @property
    def columns(self) -> str:
        return listed(self.release.box.names)

    # --- terminal and programs --------------------------------------------------------------------------------

    def rows(self, asked: Asked | None = None) -> Facts:
        part, choice = self.first, self.first.choice
        basis = f"{brief(repr(part.basis))}, {self.release.law.size:,} coefficients"
        expected = f"largest error to expect: about {choice.predicted_error:.2g}"
        return [
            ("bandwidth", [bandwidth_words(part)]),
            ("basis", [basis, choice.reason, expected]),
            ("records", [self._record_line(group, told) for group, told in self.counts.items()]),
            ("figures", self._figure_lines() or ["none: this basis has no densities of single columns"]),
            ("shape", [_SHAPES[part.post]]),
            ("missing", [MISSING.get(self.missing or "", "unknown")]),
        ]

    @staticmethod
    def _record_line(group: str, told: dict[str, Any]) -> str:
        limits = f"{told['low']:,.0f} to {told['high']:,.0f} with confidence {told['confidence']:g}"
        known = "public" if told["public"] else limits
        return f"{f'{group}: ' if group else ''}{told['value']:,.0f} ({known})"

    def _figure_lines(self) -> list[str]:
        """Mean and quartiles of each column, by group, within the box."""
        lines = []
        for group, found in self.figures.items():
            for told in found:
                names = [name for name in (group, told["column"] if self.release.box.dimension > 1 else "") if name]
                head = f"{', '.join(names)}: " if names else ""
                peak = f"most frequent {number_words(told['mode'])}"
                if told["mean"] is not None:
                    quartiles = ", ".join(map(number_words, told["quartiles"]))
                    peak = f"mean {number_words(told['mean'])}, quartiles {quartiles}, {peak}"
                lines.append(head + peak)
        return lines

    def details(self) -> Facts:
        return Face.details(self)

    def data(self) -> dict[str, Any]:
        """The bandwidth is the kernel's covariance matrix."""
        part = self.first
        return {
            "basis": part.basis.to_json(),
            "bandwidth": part.bandwidth.tolist(),
            "choice": vars(part.choice),
            "post": part.post,
            "missing": self.missing,
        }

    def group_data(self, group: str) -> dict[str, Any]:
        """What is known of one group."""
        return {"count": self.counts[group], "columns": self.figures[group]}

    # --- page, card, code -------------------------------------------------------------------------------------

    def page(self) -> dict[str, Any]:
        part, dimension = self.first, self.release.box.dimension
        bands = [row for name, one in self.densities.items() for row in self._bands(name, one)]
        typical = max(bands, key=lambda row: float(row["sort"]))["total"]
        columns = zip(part.box.names, part.box.columns, strict=True)
        density = {
            "by": self.by,
            "widths": list(zip(part.box.names, widths(part), strict=True)),
            "tilted": tilted(part),
            "basis": brief(part.choice.basis),
            "reason": part.choice.reason,
            "predicted": readable(part.choice.predicted_error),
            "post": part.post,
            "missing": self.missing or "drop",
            "derived": any(part.expansion.derivatives),
            "records": [self._record(group, told) for group, told in self.counts.items()],
            "figures": [self._figure(group, told) for group, found in self.figures.items() for told in found],
            "circles": [name for name, column in columns if isinstance(column, Periodic)],
            "bands": bands,
        }
        return {
            "basis": repr(part.basis),
            "target": [pair for pair in self.release.target if pair[1] != "-"],
            "density": density,
            "error": {"points": f"{POINTS[dimension] ** dimension:,}", "typical": typical},
        }

    @staticmethod
    def _record(group: str, told: dict[str, Any]) -> dict[str, Any]:
        numbers = {"count": told["value"], "low": told["low"], "high": told["high"]}
        return {"group": group, "public": told["public"], **{name: f"{v:,.0f}" for name, v in numbers.items()}}

    @staticmethod
    def _figure(group: str, told: dict[str, Any]) -> dict[str, Any]:
        numbers = [] if told["mean"] is None else [told["mean"], *told["quartiles"]]
        cells: list[str] = [readable(value, 4) for value in numbers] or ["\N{EN DASH}"] * 4
        return {"group": group, "column": told["column"], "cells": [*cells, readable(told["mode"], 4)]}

    def _bands(self, name: str, part: DensityRelease) -> list[dict[str, Any]]:
        """How far each kind of band reaches from the density, typically and at most."""
        points = grid(part.box, POINTS[part.box.dimension])
        values, typical, largest = part(points), {}, {}
        for include in INCLUDES:
            low, high = part.band(points, self.confidence, include)
            reach = np.maximum(high - values, values - low)
            typical[include], largest[include] = float(np.median(reach)), float(reach.max())
        prefix = f"{name}, " if name else ""
        return [
            {"row": f"{prefix}typical", "sort": typical["total"], **{i: _width(typical[i]) for i in INCLUDES}},
            {"row": f"{prefix}largest", "sort": -1.0, **{i: _width(largest[i]) for i in INCLUDES}},
        ]

    def card(self) -> list[tuple[str, str]]:
        basis = f"{self.first.basis!r}, {self.release.law.size:,} coefficients"
        return [("basis", basis), ("bandwidth", ", ".join(widths(self.first)))]

    def code(self, name: str) -> str:
        """At the middle of the box."""
        part, density = self.first, "release" if self.by is None else "density"
        points, column = self.points, part.box.names[0]
        lines = [
            *self.first_lines(name),
            *self._chosen_lines(),
            "# its value at a point, and between which limits the kernel density estimate of the records lies there",
            f"{density}({points!r})",
            f"low, high = {density}.band({points!r})",
            "",
            "# the share of records in a part of the box: computed from the release, costs no further privacy",
            f"{density}.probability({{{column!r}: ({float(part.box.low[0]):.6g}, {self.middle[0]:.6g})}})",
        ]
        if one_column(part, column) is not None:
            alone = density if part.box.dimension == 1 else f"{density}.marginal({column!r})"
            lines.append(f"{alone}.quantile([0.25, 0.5, 0.75])")
        return "\n".join(lines)

    def _chosen_lines(self) -> list[str]:
        """How to choose a group, where there are any."""
        return []

    # --- pictures ---------------------------------------------------------------------------------------------

    def sketch(self, asked: Asked | None = None) -> list[Spark] | None:
        """One for each column and group, of what was just published."""
        return None if asked is None else [spark for name in self.release.box.names for spark in self._sparks(name)]

    def _sparks(self, column: str) -> list[Spark]:
        found = [(group, one_column(part, column)) for group, part in self.densities.items()]
        curves = [(group, _heights(alone)) for group, alone in found if alone is not None]
        highest = max((float(values.max()) for _, values in curves), default=0.0)
        height = 4 if len(found) == 1 and self.release.box.dimension == 1 else 2
        return [Spark(self.release.box, column, group, values, highest, height) for group, values in curves]

    @property
    def picture_words(self) -> str:
        return f"{self.quantity} over {' and '.join(self.release.box.names)}, with its band"


def _width(value: float) -> Any:
    return readable(value) if np.isfinite(value) else "unbounded"


def _heights(alone: DensityRelease) -> Floats:
    return np.maximum(alone(sketched_points(alone.box)), 0.0)


class DensityFace(_Densities, FunctionFace):
    """What a density says of itself."""

    release: DensityRelease

    @property
    def densities(self) -> dict[str, DensityRelease]:
        return {"": self.release}

    @property
    def caption(self) -> str:
        return blurred_caption(self.release.guarantee, self.release)

    def data(self) -> dict[str, Any]:
        return {**FunctionFace.data(self), **super().data(), **self.group_data("")}

    def card(self) -> list[tuple[str, str]]:
        return [*super().card(), ("records", f"{self.release.count:,.0f}")]

    def check_drawable(self) -> None:
        """Refuse what no picture on paper can show: of three columns, each is drawn by itself."""
        check_columns(self.release.box, 2 if isinstance(self.release.basis, LatticeBasis) else 3)

    @cached_property
    def alone(self) -> list[DensityFace]:
        """The faces that are drawn: its own, or of three columns those of each by itself."""
        if self.release.box.dimension < 3:
            return [self]
        return [DensityFace(self.release.marginal(name), self.confidence) for name in self.release.box.names]

    def sampled(self, label: str = "release") -> Sample:
        """The density at the points of its picture."""
        points = drawn_points(self.release.box)
        values, (low, high) = self.release(points), self.release.band(points, self.confidence)
        edge = 3 * float(np.abs(values).max())  # a limit may be infinite, a picture has an edge
        low, high = np.where(np.isinf(low), -edge, low), np.where(np.isinf(high), edge, high)
        return Sample(points, values, low, high, self.confidence, label)

    def view(self, *samples: Sample) -> View:
        return replace(super().view(*samples), note=blur(self.release), density=True)

    @cached_property
    def views(self) -> Views:
        return Views(tuple(one.view(one.sampled()) for one in self.alone))


class GroupedDensityFace(_Densities):
    """What densities by group say of themselves."""

    release: GroupedDensityRelease

    @property
    def by(self) -> str:
        return self.release.by

    @property
    def groups(self) -> dict[Any, Any]:
        return self.release.parts

    @property
    def densities(self) -> dict[str, DensityRelease]:
        return {str(name): part for name, part in self.release.parts.items()}

    @property
    def title(self) -> str:
        names, groups = listed(self.release.box.names), ", ".join(map(str, self.release.groups))
        return f"densities of {names}, one for each {self.by} ({groups})"

    def data(self) -> dict[str, Any]:
        shares = self.release.shares
        groups = [{"group": name, "share": shares[name], **self.group_data(str(name))} for name in self.release.parts]
        return {**super().data(), "by": self.by, "groups": groups}

    def column_rows(self) -> list[dict[str, Any]]:
        """The columns of the box, and the one that tells groups apart."""
        values = ", ".join(map(str, self.release.groups))
        return [*super().column_rows(), {"name": self.by, "kind": "categorical", "values": values, "times": 0}]

    @property
    def box_words(self) -> str:
        return ", ".join(f"{row['name']}: {row['values']}" for row in super().column_rows())

    def card(self) -> list[tuple[str, str]]:
        counts = ", ".join(f"{name}: {part.count:,.0f}" for name, part in self.densities.items())
        return [*super().card(), (f"records by {self.by}", counts)]

    def picture(self) -> Views:
        """Groups over each other where they are curves."""
        groups = self.release.groups
        if len(groups) > MOST_GROUPS:
            raise ParameterError(
                f"a picture tells {MOST_GROUPS} groups apart, this release has {len(groups)}; draw them one by one: "
                f"release[{groups[0]!r}].plot()"
            )
        DensityFace(self.first).check_drawable()
        faces = {
            f"{plain(self.by, 20)} = {plain(name, 30)}": DensityFace(part, self.confidence).alone
            for name, part in self.densities.items()
        }
        if self.release.box.dimension == 2:
            return Views(tuple(one.view(one.sampled(label)) for label, (one,) in faces.items()))
        columns = zip(*faces.values(), strict=True)
        drawn = [[one.sampled(label) for label, one in zip(faces, column, strict=True)] for column in columns]
        first = next(iter(faces.values()))
        return Views(tuple(one.view(*samples) for one, samples in zip(first, drawn, strict=True)))

    def _chosen_lines(self) -> list[str]:
        return [f"density = release[{self.release.groups[0]!r}]  # one group; release.groups lists them", ""]
