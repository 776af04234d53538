"""The face of mean losses that people's own devices reported: a surface, and where it is lowest."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from sfumato.faces.base import Asked, Facts
from sfumato.faces.collected import CollectedFace, Panel
from sfumato.faces.function import FunctionFace
from sfumato.faces.slices import Slices, through_values
from sfumato.faces.views import Views, grid
from sfumato.faces.words import above, listed, number_words, readable
from sfumato.releases.collected.risk import CollectedRisk, Minimum

_POINTS = {1: 101, 2: 21, 3: 9}  # along each parameter, at which the band is summarised


class CollectedRiskFace(CollectedFace):
    """What a mean loss from reports says of itself."""

    what = "Mean loss"
    serves, use = ("evaluate",), "evaluate"
    release: CollectedRisk

    @cached_property
    def lowest(self) -> Minimum:
        """Where it is lowest, as far as can be told."""
        return self.release.minimise(confidence=self.confidence)

    @property
    def title(self) -> str:
        if any(self.release.expansion.derivatives):
            return (
                f"a derivative of a mean loss along {listed(self.release.box.names)}, collected from people's devices"
            )
        return f"a mean loss along {listed(self.release.box.names)}, collected from people's devices"

    @property
    def content(self) -> str:
        shape = " x ".join(str(size + 1) for size in self.release.basis.degrees(self.release.box))
        own = "a loss of its maker's own" if self.release.loss == "own" else f"the mean {self.release.loss} loss"
        return f"{own} along {listed(self.release.box.names)}, a polynomial through {shape} lattice points"

    def rows(self, asked: Asked | None = None) -> Facts:
        each = f"each lattice value has a deviation of about {number_words(self.deviation)}"
        return [*super().rows(asked), ("error", [each]), *self._lowest_rows()]

    def _lowest_rows(self) -> Facts:
        if any(self.release.expansion.derivatives):
            return []
        found = self.lowest
        at = ", ".join(
            f"{name} = {number_words(value)}"
            for name, value in zip(self.release.box.names, found.parameters, strict=True)
        )
        ridge = f" with a ridge of {self.release.ridge:g}" if self.release.ridge else ""
        above_it = f"above the lowest there is by {number_words(found.gap)} at most (confidence {self.confidence:g})"
        return [("lowest", [f"{number_words(found.value)}{ridge} at {at}", above_it])]

    def data(self) -> dict[str, Any]:
        release = self.release
        told = {
            **super().data(),
            "basis": release.basis.to_json(),
            "derivatives": list(release.expansion.derivatives),
            "loss": release.loss,
            "ridge": release.ridge,
        }
        return told if any(release.expansion.derivatives) else {**told, "lowest": vars(self.lowest)}

    def error(self) -> dict[str, Any]:
        points = grid(self.release.box, _POINTS[self.release.box.dimension])
        low, high = self.release.band(points, self.confidence)
        typical = readable(float(np.median((high - low) / 2)))
        return {"name": "Band typically within", "typical": typical, "each": above(self.deviation, 3)}

    def lines(self) -> list[str]:
        evaluated = [f"release({self.points!r})", f"low, high = release.band({self.points!r})"]
        return evaluated if any(self.release.expansion.derivatives) else [*evaluated, "release.minimise()"]

    # --- pictures ---------------------------------------------------------------------------------------------

    def panels(self) -> list[Panel]:
        return [*self._curves.views.views] if self._curves.flat else []

    @property
    def _curves(self) -> FunctionFace:
        return FunctionFace(self.release, self.confidence)

    def picture(self) -> Views | Slices:  # type: ignore[override]
        """All of it, or of three parameters how it goes along each from the lowest point."""
        if self._curves.flat or any(self.release.expansion.derivatives):
            return self._curves.picture()  # type: ignore[no-any-return, unused-ignore]
        return self._curves.sliced(*through_values(self.release.box, np.array(self.lowest.parameters), "lowest point"))

    @property
    def picture_words(self) -> str:
        return f"the mean loss along {listed(self.release.box.names)}, from people's reports, with its band"
