"""What a page says of a regression curve: kernel, records, a few figures, and how far to trust them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.plotting.machines import says_nothing
from sfumato.plotting.samples import grid
from sfumato.plotting.words import brief, number, widths
from sfumato.releases.curve import CurveRelease
from sfumato.releases.masses import INCLUDES
from sfumato.report.densities import POINTS
from sfumato.report.numbers import readable

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Seen:
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
    def of(cls, release: CurveRelease, confidence: float) -> Seen:
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

    def ends(self) -> list[tuple[float, list[float]]]:
        """The lowest and the highest value, and where; of points where something is known, if there are any."""
        kept = np.flatnonzero(~self.unknown["total"]) if self.known() else np.arange(len(self.values))
        places = kept[self.values[kept].argmin()], kept[self.values[kept].argmax()]
        return [(float(self.values[place]), self.points[place].tolist()) for place in places]


def overall(release: CurveRelease) -> float:
    """The mean response of all records."""
    share = release.high.count / (release.high.count + release.low.count)
    return float(release.response.to_range(np.array([2 * share - 1]))[0])


def records(release: CurveRelease, confidence: float = 0.95) -> tuple[float, float, float]:
    """How many complete records there are, and between which limits: of both parts together."""
    limits = [part.count_band((1 + confidence) / 2) for part in (release.high, release.low)]
    most = np.inf if release.rows is None else float(release.rows)
    low, high = max(0.0, sum(low for low, _ in limits)), sum(high for _, high in limits)
    return min(release.high.count + release.low.count, most), min(low, most), min(high, most)


def curve_facts(release: CurveRelease, confidence: float) -> dict[str, Any]:
    """Everything that the page says of a curve and of no other release."""
    seen, part = Seen.of(release, confidence), release.high
    assert release.response.range is not None
    count, low, high = records(release, confidence)
    typical = seen.typical()
    return {
        "response": release.response.name,
        "range": [number(end, 6) for end in release.response.range],
        "widths": list(zip(part.box.names, widths(part), strict=True)),
        "basis": brief(part.choice.basis),
        "reason": part.choice.reason,
        "rows": None if release.rows is None else f"{release.rows:,}",
        "records": [f"{value:,.0f}" for value in (count, low, high)],
        "mean": readable(overall(release), 4),
        "ends": [{"value": readable(value, 4), "where": _where(release, at)} for value, at in seen.ends()],
        "known": readable(100 * seen.known()),
        "everywhere": seen.known() == 1.0,
        "bands": [_band(seen, include) for include in INCLUDES],
        "error": {
            "points": f"{len(seen.points):,}",
            "typical": None if typical is None else readable(typical),
        },
    }


def _where(release: CurveRelease, at: list[float]) -> str:
    return ", ".join(f"{name} {number(value)}" for name, value in zip(release.box.names, at, strict=True))


def _band(seen: Seen, include: str) -> dict[str, Any]:
    typical = seen.typical(include)
    return {
        "name": include,
        "typical": "\N{EN DASH}" if typical is None else readable(typical),
        "known": f"{100 * seen.known(include):.3g} %",
    }


def curve_rows(release: CurveRelease) -> list[tuple[str, str]]:
    """What a card says of a curve."""
    assert release.response.range is not None
    low, high = (number(end, 6) for end in release.response.range)
    return [
        ("predicts", f"the mean of {release.response.name}, {low} to {high}"),
        ("bandwidth", ", ".join(widths(release.high))),
        ("basis", f"{release.high.basis!r}, {release.law.size:,} coefficients"),
        ("records", f"{records(release)[0]:,.0f}"),
        ("mean of all", number(overall(release), 4)),
    ]


def curve_code(release: CurveRelease, name: str) -> str:
    """How to read a curve, at the middle of its box."""
    middle = [float(f"{m:.4g}") for m in (release.box.low + release.box.high) / 2]
    points = middle if release.box.dimension == 1 else [middle]
    lines = ["import sfumato as sf", "", f"release = sf.load({name + '.sfumato'!r})", "print(release.guarantee)", ""]
    lines += [
        "# the mean response at a point, and between which limits the kernel regression of the records lies there",
        f"release({points!r})",
        f"low, high = release.band({points!r})",
        "release.plot()",
    ]
    return "\n".join(lines)
