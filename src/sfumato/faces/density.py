"""The face of densities: kernel, basis, records, a few figures, and how far to trust them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.base import LatticeBasis
from sfumato.bases.unit import number_of
from sfumato.checks import did_you_mean
from sfumato.core.box import Box, Date, Periodic
from sfumato.errors import ParameterError
from sfumato.faces.base import Asked, Face, Facts
from sfumato.faces.function import FunctionFace
from sfumato.faces.presence import absence, sum_of
from sfumato.faces.promise import short
from sfumato.faces.slices import Slices, through_values
from sfumato.faces.views import (
    MOST_GROUPS,
    MOST_PANELS,
    Sample,
    View,
    Views,
    check_numeric,
    dated,
    drawn_places,
    grid,
    look,
    sketched_points,
)
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
    return _deviations(release, number)


def _deviations(release: DensityRelease, written: Callable[[float], str]) -> list[str]:
    found = zip(release.box.columns, release.bandwidth.tolist(), strict=True)
    return [f"{written(width)}{' days' if isinstance(kind, Date) else ''}" for kind, width in found]


def blur(release: DensityRelease) -> str:
    """The bandwidth in words."""
    return f"bandwidth {listed(widths(release))}"


def blurred_caption(promise: Any, kernel: DensityRelease) -> str:
    """What stands below a picture of what a kernel has smoothed."""
    between = "; " if kernel.box.dimension == 1 else "\n"
    return f"{short(promise)}{between}{blur(kernel)}"


def group_words(by: str, name: Any) -> str:
    """A group as pictures call it."""
    return f"{plain(by, 20)} = {plain(str(name), 30)}"


def tilted(part: DensityRelease) -> bool:
    """Whether the kernel's axes are not those of the columns."""
    return bool((part.covariance != np.diag(np.diag(part.covariance))).any())


def bandwidth_words(part: DensityRelease) -> str:
    """The kernel's deviations, column by column."""
    deviations = _deviations(part, number_words)
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
    """Mean, quartiles and the most frequent value of each column, dates as text; a circle has no quartiles."""
    found = []
    for name, kind in zip(part.box.names, part.box.intervals(), strict=True):
        alone = None if any(part.expansion.derivatives) else one_column(part, name)
        if alone is None:
            continue
        circle = isinstance(kind, Periodic)
        found.append(
            {
                "column": name,
                "mean": dated(kind, number_of(kind, alone.mean())),
                "quartiles": None
                if circle
                else [dated(kind, number_of(kind, q)) for q in alone.quantile([0.25, 0.5, 0.75])],
                "mode": dated(kind, number_of(kind, alone.mode()[0])),
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

    def nothing_there(self) -> list[str]:
        names = listed([*self.release.box.names, *([] if self.by is None else [self.by])])
        parts = self.densities.items()
        if self.first.masses.counts_everyone:  # by what was stated, not by what was counted
            return []
        found = [sum_of(f"{self.by} {group}", part.masses.values, part.law) for group, part in parts]
        everything = np.concatenate([part.masses.values for _, part in parts])
        whole = sum_of(f"with {names}", everything, self.first.law, self.first.masses.rows)
        return absence(whole, [] if self.by is None else found)

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
        """Mean and quartiles of the measure behind the density, and where that is highest, by column and group."""
        lines = []
        for group, found in self.figures.items():
            for told in found:
                names = [name for name in (group, told["column"] if self.release.box.dimension > 1 else "") if name]
                head = f"{', '.join(names)}: " if names else ""
                peak = f"most frequent {number_words(told['mode'])}"
                quartiles = told["quartiles"] and f", quartiles {', '.join(map(number_words, told['quartiles']))}"
                mean = (
                    f"mean {number_words(told['mean'])}" if quartiles else f"circular mean {number_words(told['mean'])}"
                )
                peak = f"{mean}{quartiles or ''}, {peak}"
                lines.append(head + peak)
        return lines

    def details(self) -> Facts:
        return Face.details(self)

    def data(self) -> dict[str, Any]:
        """The bandwidth is the kernel's deviation along each column."""
        part = self.first
        return {
            "basis": part.basis.to_json(),
            "bandwidth": part.bandwidth.tolist(),
            "covariance": part.covariance.tolist(),
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
            "many": len(self.groups) > MOST_GROUPS,
            "sliced": dimension > 2 and isinstance(part.basis, LatticeBasis),
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
        quartiles: list[str] = [readable(value, 4) for value in told["quartiles"] or ()] or ["\N{EN DASH}"] * 3
        cells = [readable(told["mean"], 4), *quartiles, readable(told["mode"], 4)]
        return {"group": group, "column": told["column"], "cells": cells}

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
        part, density = self.first, "density" if self._chosen_lines() else "release"
        points, column = self.points, part.box.names[0]
        part_of = f"{{{column!r}: ({self._first_bound}, {_written(self.middle[0])})}}"
        lines = [
            *self.first_lines(name),
            *self._chosen_lines(),
            "# its value at a point, and between which limits the kernel density estimate of the records lies there",
            f"{density}({points!r})",
            f"low, high = {density}.band({points!r})",
            "",
            "# the share of records in a part of the box, and limits for it: from the release, at no further cost",
            f"{density}.probability({part_of})",
        ]
        if not isinstance(part.basis, LatticeBasis):
            lines.append(f"low, high = {density}.probability_band({part_of})")
        if one_column(part, column) is not None:
            alone = density if part.box.dimension == 1 else f"{density}.marginal({column!r})"
            lines.append(f"{alone}.quantile([0.25, 0.5, 0.75])")
        return "\n".join(lines)

    @property
    def _first_bound(self) -> str:
        return _written(self.first.box.intervals()[0].bounds[0])

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


def _written(bound: float | str) -> str:
    return repr(bound) if isinstance(bound, str) else f"{bound:.6g}"


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

    @property
    def whole(self) -> bool:
        """Whether it has no densities of single columns, so that of three columns only slices can be drawn."""
        return self.release.box.dimension > 2 and isinstance(self.release.basis, LatticeBasis)

    @cached_property
    def alone(self) -> list[DensityFace]:
        """The faces that are drawn: its own, or of three columns those of each by itself."""
        if self.release.box.dimension < 3:
            return [self]
        parts = [self.release.marginal(name) for name in self.release.box.names]
        return [DensityFace(part, self.confidence, group=self.group) for part in parts]

    @property
    def quantity(self) -> str:
        words = super().quantity
        return words if self.group is None else f"{words} ({group_words(*self.group)})"

    def _chosen_lines(self) -> list[str]:
        return [] if self.group is None else [f"density = release[{self.group[1]!r}]  # one of its groups", ""]

    def sampled(self, label: str = "release") -> Sample:
        """The density on the grid of its picture."""
        axes = drawn_places(self.release.box, self.release.bandwidth.tolist())
        values, low, high = look(self.release, axes, self.confidence)
        edge = 3 * float(np.abs(values).max())  # a limit may be infinite, a picture has an edge
        endless = bool(np.isinf(low).any() or np.isinf(high).any())
        low, high = np.where(np.isinf(low), -edge, low), np.where(np.isinf(high), edge, high)
        return Sample(axes, values, low, high, self.confidence, label, endless)

    def view(self, *samples: Sample) -> View:
        density = not any(self.release.expansion.derivatives)
        return replace(super().view(*samples), note=blur(self.release), density=density, band="band")

    @cached_property
    def views(self) -> Views:
        return Views(tuple(one.view(one.sampled()) for one in self.alone))

    def picture(self) -> Views | Slices:
        check_numeric(self.release.box)
        if not self.whole:
            return self.views
        return self.sliced(*through_values(self.release.box, self.release.mode(), "most frequent values"))


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

    def of_group(self, name: Any) -> DensityFace:
        found = {str(category): category for category in self.release.parts}.get(str(name))
        if found is None:
            near = did_you_mean(str(name), self.densities)
            raise ParameterError.of("group", f"must be one of {', '.join(self.densities)}, got {name!r}{near}")
        return self._part(str(found), (self.by, found))

    def _part(self, name: str, group: tuple[str, Any] | None = None) -> DensityFace:
        return DensityFace(self.densities[name], self.confidence, self.layout.aspect is not None, group)

    def picture(self) -> Views:
        """Groups over each other where they are curves; each in a panel of its own where there are many."""
        check_numeric(self.release.box)
        many, dimension = len(self.release.groups) > MOST_GROUPS, self.release.box.dimension
        shown = self._largest(MOST_PANELS if many and dimension < 3 else MOST_GROUPS)
        faces = {group_words(self.by, name): self._part(name).alone for name in shown}
        left = len(self.release.groups) - len(shown)
        note = f"the {len(shown)} groups with the most records, as released; the file has {left} more" if left else ""
        if dimension == 2 or (many and dimension == 1):
            views = (replace(one.view(one.sampled()), title=label, alone=many) for label, (one,) in faces.items())
            found = Views(tuple(views), many, note)
            return found.sharing_levels() if dimension == 2 else found
        columns = zip(*faces.values(), strict=True)
        drawn = [[one.sampled(label) for label, one in zip(faces, column, strict=True)] for column in columns]
        first = next(iter(faces.values()))
        return Views(tuple(one.view(*samples) for one, samples in zip(first, drawn, strict=True)), note=note)

    def _largest(self, most: int) -> list[str]:
        """So many groups, with the most records as far as the release tells, in their own order."""
        counts = {name: part.count for name, part in self.densities.items()}
        kept = sorted(counts, key=lambda name: -counts[name])[:most]
        return [name for name in counts if name in kept]

    def _chosen_lines(self) -> list[str]:
        return [f"density = release[{self.release.groups[0]!r}]  # one group; release.groups lists them", ""]
