"""The face of regression curves: kernel, records, a few figures, and how far to trust them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.faces.base import Asked, Face, Facts
from sfumato.faces.density import POINTS, bandwidth_words, blurred_caption, widths
from sfumato.faces.function import predicts
from sfumato.faces.presence import absence, sum_of
from sfumato.faces.scales import axes_of
from sfumato.faces.slices import Slices, curves_of, sliced_words, surface_of, through_values
from sfumato.faces.views import Sketch, dated, grid, sketch_of
from sfumato.faces.words import brief, listed, number, number_words, plain, readable
from sfumato.releases.curve import CurveRelease
from sfumato.releases.density.masses import INCLUDES

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class CurveOnGrid:
    """A curve on an even grid of its box: values, and how far each kind of band reaches.

    Parameters
    ----------
    reach, unknown
        By kind of band: the distances, and where the band is the whole declared range.
    """

    release: CurveRelease
    points: Floats
    values: Floats
    reach: dict[str, Floats]
    unknown: dict[str, NDArray[np.bool_]]

    @classmethod
    def of(cls, release: CurveRelease, confidence: float) -> CurveOnGrid:
        """Look at a curve."""
        points = grid(release.box, POINTS[release.box.dimension])
        values, reach, unknown = release(points), {}, {}
        for include in INCLUDES:
            low, high = release.band(points, confidence, include)
            reach[include] = np.maximum(high - values, values - low)
            unknown[include] = says_nothing(release, low, high)
        return cls(release, points, values, reach, unknown)

    def known(self, include: str = "total") -> float:
        """On which share of the box the band says anything."""
        return float(1 - self.unknown[include].mean())

    def typical(self, include: str = "total") -> float | None:
        """How far the band typically reaches where it says anything; None where it never does."""
        found = self.reach[include][~self.unknown[include]]
        return float(np.median(found)) if found.size else None

    def ends(self) -> list[tuple[float, list[float | str]]]:
        """The lowest and the highest value, and where, dates as text; where something is known, if that is anywhere."""
        kept = np.flatnonzero(~self.unknown["total"]) if self.known() else np.arange(len(self.values))
        places = kept[self.values[kept].argmin()], kept[self.values[kept].argmax()]
        kinds = self.release.box.columns
        found = [[dated(kind, float(v)) for kind, v in zip(kinds, self.points[p], strict=True)] for p in places]
        return [(float(self.values[place]), at) for place, at in zip(places, found, strict=True)]


def overall(release: CurveRelease) -> float:
    """The mean response of all records."""
    return float(release.response.to_range(np.array([2 * release.overall_share - 1]))[0])


def records(release: CurveRelease, confidence: float) -> tuple[float, float, float]:
    """How many complete records there are, and between which limits: of both parts together."""
    limits = [part.count_band((1 + confidence) / 2) for part in (release.high, release.low)]
    most = np.inf if release.rows is None else float(release.rows)
    low, high = max(0.0, sum(low for low, _ in limits)), sum(high for _, high in limits)
    return min(release.high.count + release.low.count, most), min(low, most), min(high, most)


def most_frequent(release: CurveRelease) -> Floats:
    """Where most records are, as far as the release tells: the highest point of its two parts together."""
    points = grid(release.box, POINTS[release.box.dimension])
    together = sum(part.masses.total * part(points) for part in (release.high, release.low))
    return np.asarray(points[int(np.argmax(together))])


def says_nothing(release: CurveRelease, low: Floats, high: Floats) -> NDArray[np.bool_]:
    """Where the limits of a curve are those of the declared range: the noise hides how many records there are."""
    assert release.response.range is not None
    least, most = release.response.range
    slack = 1e-9 * (most - least)
    return np.asarray((low <= least + slack) & (high >= most - slack))


class CurveFace(Face):
    """What a regression curve says of itself."""

    kind = "curve"
    serves = ("evaluate", "predict")
    joined = "on"
    quantity = "regression"
    release: CurveRelease

    @cached_property
    def seen(self) -> CurveOnGrid:
        """The curve on an even grid."""
        return CurveOnGrid.of(self.release, self.confidence)

    @property
    def title(self) -> str:
        return f"a regression of {self.response} on {listed(self.release.box.names)}"

    @property
    def response(self) -> str:
        return self.release.response.name

    @property
    def caption(self) -> str:
        return blurred_caption(self.release.guarantee, self.release.high)

    def nothing_there(self) -> list[str]:
        release = self.release
        values = np.concatenate([release.high.masses.values, release.low.masses.values])
        names = listed([*release.box.names, self.response])
        return absence(sum_of(f"with {names}", values, release.high.law, release.rows))

    def rows(self, asked: Asked | None = None) -> Facts:
        release, part = self.release, self.release.high
        return [
            ("predicts", [predicts(self.response, release.response.range)]),
            ("bandwidth", [bandwidth_words(part)]),
            ("basis", [f"{brief(repr(part.basis))}, {release.law.size:,} coefficients", part.choice.reason]),
            ("records", [self._record_words()]),
            ("figures", [f"mean of all {number_words(overall(release))}", *self._end_lines()]),
            ("band", self._band_lines()),
            ("missing", ["records without a response or with a missing value count for nothing"]),
        ]

    def _record_words(self) -> str:
        count, low, high = records(self.release, self.confidence)
        rows = "" if self.release.rows is None else f", of {self.release.rows:,} rows (public)"
        return f"{count:,.0f} ({low:,.0f} to {high:,.0f} with confidence {self.confidence:g}){rows}"

    def _end_lines(self) -> list[str]:
        ends = zip(("lowest", "highest"), self.seen.ends(), strict=True)
        return [f"{name} {number_words(value)} at {self._where(at, number_words)}" for name, (value, at) in ends]

    def _where(self, at: list[float | str], written: Callable[[Any], str]) -> str:
        return ", ".join(f"{name} {written(value)}" for name, value in zip(self.release.box.names, at, strict=True))

    def _band_lines(self) -> list[str]:
        """How far to trust the curve."""
        seen, typical = self.seen, self.seen.typical()
        if typical is None:
            return ["the whole range everywhere: too few records for this promise, bandwidth and number of columns"]
        band = [f"typically within {number_words(typical)} (confidence {self.confidence:g}, at all points at once)"]
        if seen.known() < 1:
            band.append(f"known on {100 * seen.known():.3g} % of the box; elsewhere too few records to say anything")
        return band

    def data(self) -> dict[str, Any]:
        """The bandwidth is the kernel's covariance matrix."""
        release, seen = self.release, self.seen
        count, low, high = records(release, self.confidence)
        return {
            "response": release.response.to_json(),
            "rows": release.rows,
            "basis": release.high.basis.to_json(),
            "bandwidth": release.bandwidth.tolist(),
            "covariance": release.covariance.tolist(),
            "choice": vars(release.high.choice),
            "count": {"value": count, "low": low, "high": high, "confidence": self.confidence},
            "mean": overall(release),
            "ends": [{"value": v, "at": dict(zip(release.box.names, at, strict=True))} for v, at in seen.ends()],
            "band": {"typical": seen.typical(), "known": seen.known(), "confidence": self.confidence},
        }

    def page(self) -> dict[str, Any]:
        release, seen, part, typical = self.release, self.seen, self.release.high, self.seen.typical()
        assert release.response.range is not None
        told = {
            "range": [number(end, 6) for end in release.response.range],
            "widths": list(zip(part.box.names, widths(part), strict=True)),
            "basis": brief(part.choice.basis),
            "reason": part.choice.reason,
            "rows": None if release.rows is None else f"{release.rows:,}",
            "records": [f"{value:,.0f}" for value in records(release, self.confidence)],
            "mean": readable(overall(release), 4),
            "ends": [{"value": readable(v, 4), "where": self._where(at, readable)} for v, at in seen.ends()],
            "known": readable(100 * seen.known()),
            "everywhere": seen.known() == 1.0,
            "bands": [self._band(include) for include in INCLUDES],
        }
        error = {"points": f"{len(seen.points):,}", "typical": None if typical is None else readable(typical)}
        return {"curve": told, "error": error, "basis": repr(part.basis)}

    def _band(self, include: str) -> dict[str, Any]:
        typical = self.seen.typical(include)
        return {
            "name": include,
            "typical": "\N{EN DASH}" if typical is None else readable(typical),
            "known": f"{100 * self.seen.known(include):.3g} %",
        }

    def card(self) -> list[tuple[str, str]]:
        release = self.release
        assert release.response.range is not None
        low, high = (number(end, 6) for end in release.response.range)
        return [
            ("predicts", f"the mean of {self.response}, {low} to {high}"),
            ("bandwidth", ", ".join(widths(release.high))),
            ("basis", f"{release.high.basis!r}, {release.law.size:,} coefficients"),
            ("records", f"{records(release, self.confidence)[0]:,.0f}"),
            ("mean of all", number(overall(release), 4)),
        ]

    def code(self, name: str) -> str:
        return "\n".join(
            [
                *self.first_lines(name),
                "# the mean response at a point, and between which limits the kernel regression of the records lies "
                "there",
                f"release({self.points!r})",
                f"low, high = release.band({self.points!r})",
                "release.plot()",
            ]
        )

    def picture(self) -> Slices:
        release, name = self.release, plain(self.response, 30)
        at, through = through_values(release.box, most_frequent(release), "most frequent values")
        if release.box.dimension == 2:
            panels: Any = [surface_of(release, self.confidence, self.layout, partial(says_nothing, release))]
        else:
            panels = curves_of(release, self.confidence, at)
        axes = axes_of(release.box)
        return Slices(tuple(panels), axes, name, (), f"mean {name}", "regression", self.caption, through)

    @property
    def picture_words(self) -> str:
        return sliced_words(self)

    def sketch(self, asked: Asked | None = None) -> Sketch | list[Any]:
        return sketch_of(self.release, self._known) or []

    def _known(self, points: Floats) -> NDArray[np.bool_]:
        return ~says_nothing(self.release, *self.release.band(points, self.confidence))
