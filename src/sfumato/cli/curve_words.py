"""Regression curves in words, as a small picture for a terminal, and in plain data."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.text import Text

import sfumato as sf
from sfumato.bases.unit import from_unit
from sfumato.cli.density_words import bandwidth_words
from sfumato.cli.output import printable
from sfumato.cli.publishing import Facts, Order
from sfumato.cli.sparks import WIDTH, axis_line, blocks, shows_blocks
from sfumato.cli.words import noise_lines, number_words
from sfumato.plotting.words import brief, number
from sfumato.releases.curve import CurveRelease
from sfumato.releases.function import FunctionRelease
from sfumato.report.curves import Seen, overall, records

_CONFIDENCE = 0.95
_HEIGHT = 5


def curve_rows(release: CurveRelease | FunctionRelease, order: Order | None = None) -> Facts:
    """What there is to say of curves and of no other release.

    Parameters
    ----------
    order
        What was asked for, where that is known: a Priestley-Chao curve is a function like any other.
    """
    if not isinstance(release, CurveRelease):
        assert order is not None
        return _function_rows(release, order.target)
    part = release.high
    return [
        ("predicts", [_predicts(release.response.name, release.response.range)]),
        ("bandwidth", [bandwidth_words(part)]),
        ("basis", [f"{brief(repr(part.basis))}, {release.law.size:,} coefficients", part.choice.reason]),
        ("records", [_record_words(release)]),
        *_seen_rows(Seen.of(release, _CONFIDENCE)),
        ("missing", ["records without a response or with a missing value count for nothing"]),
    ]


def _predicts(name: str, bounds: Any) -> str:
    return f"the mean of {name}, of values clipped to {bounds[0]:.10g} to {bounds[1]:.10g}"


def _record_words(release: CurveRelease) -> str:
    count, low, high = records(release, _CONFIDENCE)
    rows = "" if release.rows is None else f", of {release.rows:,} rows (public)"
    return f"{count:,.0f} ({low:,.0f} to {high:,.0f} with confidence {_CONFIDENCE:g}){rows}"


def _seen_rows(seen: Seen) -> Facts:
    """A few figures, and how far to trust the curve."""
    release, typical = seen.release, seen.typical()
    ends = []
    for name, (value, at) in zip(("lowest", "highest"), seen.ends(), strict=True):
        where = ", ".join(f"{column} {number_words(v)}" for column, v in zip(release.box.names, at, strict=True))
        ends.append(f"{name} {number_words(value)} at {where}")
    if typical is None:
        band = ["the whole range everywhere: too few records for this promise, bandwidth and number of columns"]
    else:
        band = [f"typically within {number_words(typical)} (confidence {_CONFIDENCE:g}, at all points at once)"]
        if seen.known() < 1:
            band.append(f"known on {100 * seen.known():.3g} % of the box; elsewhere too few records to say anything")
    return [("figures", [f"mean of all {number_words(overall(release))}", *ends]), ("band", band)]


def _function_rows(release: FunctionRelease, target: sf.PriestleyChao) -> Facts:
    points = from_unit(release.box, np.linspace(0, 1, 101)[:, None])
    low, high = release.band(points, _CONFIDENCE)
    reach = number_words(float(np.median((high - low) / 2)))
    return [
        ("predicts", [_predicts(target.response, target.range)]),
        ("bandwidth", [number_words(target.bandwidth)]),
        ("gaps", [f"clipped at {target.gap:g} times the mean gap of records that fill the column evenly"]),
        ("basis", [f"{release.basis!r}, {release.law.size:,} coefficients"]),
        ("noise", [*noise_lines(release.law), f"it moves the curve typically within {reach} (confidence 0.95)"]),
    ]


def curve_data(release: CurveRelease | FunctionRelease) -> dict[str, Any]:
    """The same as plain data; the bandwidth is the kernel's covariance matrix."""
    if not isinstance(release, CurveRelease):
        return {}
    seen, (count, low, high) = Seen.of(release, _CONFIDENCE), records(release, _CONFIDENCE)
    return {
        "response": release.response.to_json(),
        "rows": release.rows,
        "basis": release.high.basis.to_json(),
        "bandwidth": release.high.bandwidth.tolist(),
        "choice": vars(release.high.choice),
        "count": {"value": count, "low": low, "high": high, "confidence": _CONFIDENCE},
        "mean": overall(release),
        "ends": [{"value": v, "at": dict(zip(release.box.names, at, strict=True))} for v, at in seen.ends()],
        "band": {"typical": seen.typical(), "known": seen.known(), "confidence": _CONFIDENCE},
    }


def curve_picture(release: CurveRelease | FunctionRelease, console: Console) -> Text | None:
    """A curve of one column in block characters, from its lowest value to its highest."""
    if release.box.dimension > 1 or not shows_blocks(console):
        return None
    points = from_unit(release.box, ((np.arange(WIDTH) + 0.5) / WIDTH)[:, None])
    values = release(points)
    if isinstance(release, CurveRelease):
        values = np.where(_known(release, points), values, np.nan)
    if np.isnan(values).all():
        return None
    lowest, highest = float(np.nanmin(values)), float(np.nanmax(values))
    room = (highest - lowest) / 8 or 1.0  # the lowest value is seen too
    heights = [0.0 if np.isnan(v) else float(v) - lowest + room for v in values]
    lines = blocks(heights, highest - lowest + room, _HEIGHT)
    lines[0] += f"  {number(highest, 4)}"
    lines[-1] += f"  {number(lowest, 4)}"
    lines.append(axis_line(release.box, release.box.names[0], ""))
    return Text("\n".join(f"  {printable(line)}" for line in lines), style="cyan")


def _known(release: CurveRelease, points: NDArray[np.float64]) -> NDArray[np.bool_]:
    from sfumato.plotting.machines import says_nothing

    return ~says_nothing(release, *release.band(points, _CONFIDENCE))
