"""The face of functions: values with the band of their noise, and what is known of the rest."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.lattice.bernstein import Step
from sfumato.bases.lattice.smoothness import Hoelder, Linear, Smooth, Smoothness
from sfumato.bases.unit import from_unit
from sfumato.core.box import Box, Interval
from sfumato.faces.base import Asked, Face, Facts
from sfumato.faces.promise import noise_lines
from sfumato.faces.scales import axes_of, laid_axes
from sfumato.faces.slices import Slices, curves_of, through_middle
from sfumato.faces.views import Sample, View, Views, check_numeric, drawn_places, look, sketch_of
from sfumato.faces.words import above, listed, number_words, plain, readable
from sfumato.releases.function import FunctionRelease
from sfumato.releases.uncertainty import half_width

Floats = NDArray[np.float64]

_POINTS = 4000  # at which the band's width is summarised where there is no picture


class FunctionFace(Face):
    """What a function says of itself."""

    kind = "function"
    serves, use = ("evaluate",), "evaluate"
    release: FunctionRelease

    @property
    def quantity(self) -> str:
        words = super().quantity
        along = [
            plain(name, 30) if times == 1 else f"{plain(name, 30)} ({'twice' if times == 2 else f'{times} times'})"
            for name, times in self._derived()
        ]
        return words if not along else f"derivative along {' and '.join(along)} of the {words}"

    def _derived(self) -> list[tuple[str, int]]:
        """The columns along which it was differentiated, and how often."""
        times = zip(self.release.box.names, self.release.expansion.derivatives, strict=True)
        return [(name, count) for name, count in times if count]

    @property
    def joined(self) -> str:  # type: ignore[override]
        return "on" if "regression of " in self.quantity else "of"

    @property
    def title(self) -> str:
        names, kind = listed(self.release.box.names), self.release.kind
        if not self._derived():
            return f"a {self.quantity} on {names}" if self.joined == "on" else f"a {kind} of {names}"
        along = ", ".join(f"{name} ({count} times)" if count > 1 else name for name, count in self._derived())
        return f"a derivative, along {along}, of a {kind} of {names}"

    @property
    def columns(self) -> str:
        names = self.release.box.names
        return " and ".join(names) if len(names) < 3 else f"{len(names)} columns"

    def column_rows(self) -> list[dict[str, Any]]:
        times = self.release.expansion.derivatives
        return [{**row, "times": count} for row, count in zip(super().column_rows(), times, strict=True)]

    def rows(self, asked: Asked | None = None) -> Facts:
        basis = f"{self.release.basis!r}, {self.release.law.size:,} coefficients"
        return [("basis", [basis])] if asked is None else self._curve_rows(asked.target, basis)

    def _curve_rows(self, target: Any, basis: str) -> Facts:
        """What there is to say of a Priestley-Chao curve, which is a function like any other once it is published."""
        points = from_unit(self.release.box, np.linspace(0, 1, 101)[:, None])
        low, high = self.release.band(points, self.confidence)
        reach = number_words(float(np.median((high - low) / 2)))
        moved = f"it moves the curve typically within {reach} (confidence {self.confidence:g})"
        return [
            ("predicts", [predicts(target.response, target.range)]),
            ("bandwidth", [number_words(target.bandwidth)]),
            ("gaps", [f"clipped at {target.gap:g} times the mean gap of records that fill the column evenly"]),
            ("basis", [basis]),
            ("noise", [*noise_lines(self.release.law), moved]),
        ]

    def details(self) -> Facts:
        return [*super().details(), self.target_row()]

    def data(self) -> dict[str, Any]:
        return {"basis": self.release.basis.to_json(), "derivatives": list(self.release.expansion.derivatives)}

    @property
    def flat(self) -> bool:
        """Whether all of it fits on paper: one or two columns of numbers."""
        box = self.release.box
        return box.dimension <= 2 and all(isinstance(column, Interval) for column in box.columns)

    def sampled(self, label: str = "release") -> Sample:
        """Its values on the grid of its picture, with their band."""
        axes = drawn_places(self.release.box)
        return Sample(axes, *look(self.release, axes, self.confidence), self.confidence, label)

    def view(self, *samples: Sample) -> View:
        """A drawing of it, or of others that are like it."""
        blocks, axes = isinstance(self.release.basis, Step), laid_axes(self.release.box, self.layout)
        laid = tuple(one.laid(self.layout) for one in samples)
        return View(axes, laid, self.quantity, self.caption, blocks=blocks, aspect=self.layout.aspect)

    @cached_property
    def views(self) -> Views:
        """What its picture shows, where all of it fits on paper."""
        return Views((self.view(self.sampled()),))

    def page(self) -> dict[str, Any]:
        seen = self.views.views[0].samples[0] if self.flat else None
        return {"basis": repr(self.release.basis), "error": _error(self.release, seen, self.confidence)}

    def card(self) -> list[tuple[str, str]]:
        return [("basis", f"{self.release.basis!r}, {self.release.law.size:,} coefficients")]

    def code(self, name: str) -> str:
        paper = not isinstance(self.release.basis, Step)
        return "\n".join(
            [
                *self.first_lines(name),
                "# its value at a point, and how far the noise can have moved it there",
                f"release({self.points!r})",
                f"low, high = release.band({self.points!r})",
                *(["release.plot()"] if paper else []),
            ]
        )

    def picture(self) -> Views | Slices:
        """All of it, or of more columns how it goes along each."""
        check_numeric(self.release.box)
        return self.views if self.flat else self.sliced(*through_middle(self.release.box))

    def sliced(self, at: Floats, through: str) -> Slices:
        """Along each column, while the others stay at a point."""
        panels = tuple(curves_of(self.release, self.confidence, at))
        what, axes = self.quantity, axes_of(self.release.box)
        return Slices(panels, axes, what, (), what, "release", self.caption, through)

    def sketch(self, asked: Asked | None = None) -> Any:
        return None if asked is None else sketch_of(self.release)

    @property
    def picture_words(self) -> str:
        return f"{self.quantity} over {' and '.join(self.release.box.names)}, with the band of its noise"


def predicts(name: str, bounds: Any) -> str:
    """What a curve is of."""
    return f"the mean of {name}, of values clipped to {bounds[0]:.10g} to {bounds[1]:.10g}"


def _error(release: FunctionRelease, seen: Sample | None, confidence: float) -> dict[str, Any]:
    if seen is None:  # values at many points of many columns can take minutes, widths never do
        widths = half_width(release.expansion, release.law, _points(release.box), confidence, "clip")
    else:
        widths = seen.widths
    return {
        "points": f"{widths.size:,}",
        "smallest": readable(float(widths.min())),
        "typical": readable(float(np.median(widths))),
        "largest": readable(float(widths.max())),
        "low": None if seen is None else readable(float(seen.values.min())),
        "high": None if seen is None else readable(float(seen.values.max())),
        **_approximation(release, float(widths.max())),
    }


def _approximation(release: FunctionRelease, largest: float) -> dict[str, Any]:
    if release.smoothness is None:
        return {"smoothness": None, "approximation": None, "total": None}
    words = _smoothness(release.smoothness)
    if any(release.expansion.derivatives):
        return {"smoothness": words, "approximation": None, "total": None}
    error = release.smoothness.approximation_error(release.basis, release.box)
    if not math.isfinite(error):
        return {"smoothness": words, "approximation": None, "total": None}
    return {"smoothness": words, "approximation": above(error, 3), "total": above(error + largest, 3)}


def _smoothness(promise: Smoothness) -> str:
    if isinstance(promise, Smooth):
        return f"derivatives up to order {promise.derivatives} at most {promise.bound:g} on the box scaled to [0, 1]"
    if isinstance(promise, Hoelder):
        return f"H\xf6lder with exponent {promise.exponent:g} and constant {promise.constant:g} on the scaled box"
    return "affine in each column" if isinstance(promise, Linear) else repr(promise)


def _points(box: Box) -> Floats:
    """Points spread evenly over a box that no picture shows, its centre and two of its corners."""
    # An additive recurrence with square roots of primes: deterministic, and even in every dimension.
    primes = [p for p in range(2, 40 + 20 * box.dimension) if all(p % q for q in range(2, p))][: box.dimension]
    unit = np.outer(np.arange(1, _POINTS - 2), np.sqrt(primes)) % 1.0
    special = np.repeat([[0.0], [0.5], [1.0]], box.dimension, axis=1)
    return from_unit(box, np.concatenate([special, unit]))
