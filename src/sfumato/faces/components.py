"""The face of principal components: the mean, and what each direction is made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.bases.subspace.moments import UNIT
from sfumato.bases.subspace.reading import split
from sfumato.faces.base import Asked, Face, Facts
from sfumato.faces.presence import Presence, absence
from sfumato.faces.words import counted, plain, readable
from sfumato.laws import noise_deviation
from sfumato.releases.components import ComponentsRelease
from sfumato.releases.uncertainty import tail_width

_MOST_LINES = 12  # that a terminal lists one by one
_MOST_PARTS = 5  # columns of a component that are named


class ComponentsFace(Face):
    """What principal components say of themselves."""

    kind = "components"
    parts = "second moments and means"
    part = "number"
    quantity = "principal components"
    release: ComponentsRelease

    @property
    def title(self) -> str:
        return f"the principal components of {self.named('many columns')}"

    @property
    def noise_in(self) -> str:
        """How noise came in."""
        basis = self.release.basis
        if basis.noise == "covariance":
            return "in all second moments, once; components were worked out from these"
        return f"in each of {basis.iterations} products with second moments, for equal parts of the grant"

    def nothing_there(self) -> list[str]:
        release = self.release
        if not release.basis.counted:
            return []
        count = release.basis.count
        total = float(release.numbers[0]) / count
        return absence(Presence("of the components", total, noise_deviation(release.law) / count), [])

    @property
    def reach(self) -> float:
        """How far noise moves any of the means, with this confidence, in half-widths of its column."""
        release, one = self.release, np.ones(1)
        basis, columns = release.basis, release.box.dimension
        far = float(tail_width(release.law, one, one, (1 - self.confidence) / (columns + 1))[0]) + release.law.step
        total, _, _ = split(release.numbers, basis, release.records, columns)
        missed = far / basis.count if basis.counted else 0.0
        return float(min(2.0, (far / basis.weight + missed) / max(1.0, total - missed) + 1 / UNIT))

    def rows(self, asked: Asked | None = None) -> Facts:
        within = (
            f"each within {readable(self.reach, 3)} of half its column's width ({100 * self.confidence:.10g} % limits)"
        )
        return [
            ("mean", [*self._mean_lines(), within]),
            ("components", self._component_lines()),
            ("noise went", [self.noise_in]),
        ]

    def _mean_lines(self) -> list[str]:
        release = self.release
        told = [
            f"{plain(name)}: {readable(value, 4)}"
            for name, value in zip(release.box.names, release.mean.tolist(), strict=True)
        ]
        return _few(told, "column")

    def _component_lines(self) -> list[str]:
        told = [
            f"deviation {readable(one['deviation'], 3)} along "
            + ", ".join(f"{readable(part, 2)} {plain(name)}" for name, part in one["largest"])
            for one in self.directions()
        ]
        return _few(told, "component")

    def directions(self) -> list[dict[str, Any]]:
        """Of each component its deviation, in half-widths, and its largest parts."""
        release, found = self.release, []
        for row, deviation in zip(release.components, release.spread.tolist(), strict=True):
            largest = np.argsort(-np.abs(row), kind="stable")[:_MOST_PARTS]
            parts = [(release.box.names[i], float(row[i])) for i in largest]
            found.append({"deviation": deviation, "largest": parts, "parts": row.tolist()})
        return found

    def data(self) -> dict[str, Any]:
        release = self.release
        total, _, _ = split(release.numbers, release.basis, release.records, release.box.dimension)
        return {
            "records": total,
            "confidence": self.confidence,
            "mean_within": self.reach,
            "mean": dict(zip(release.box.names, release.mean.tolist(), strict=True)),
            "components": [{"deviation": one["deviation"], "parts": one["parts"]} for one in self.directions()],
            "noise_went": self.noise_in,
            "iterations": release.basis.iterations,
        }

    def code(self, name: str) -> str:
        lines = [
            "release.mean                     # of the columns, in their units",
            "release.components               # a row for each direction, of columns scaled to [-1, 1]",
            "release.spread                   # the deviation along each",
            "release.points(1000, seed=1)     # points in the ellipsoid: they cost nothing",
        ]
        return "\n".join([*self.first_lines(name), *lines])


def _few(lines: list[str], what: str) -> list[str]:
    more = len(lines) - _MOST_LINES
    return lines if more <= 0 else [*lines[:_MOST_LINES], f"and {counted(more, what)} more"]
