"""How columns and values become places and colours on paper: ticks, maps drawn to scale, levels of colours.

All of it is decided from public quantities: the box, and the numbers that were released.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.core.box import Box, Date, Interval, Periodic
from sfumato.errors import ParameterError

Floats = NDArray[np.float64]

# The distance of ticks on a circle, by its length: hours, degrees, minutes; then those that count things.
_CIRCLES = {24.0: 6.0, 360.0: 90.0, 60.0: 15.0}
_COUNTED = (12.0, 7.0)  # months, days of a week: one tick each, and none at the end, which is the first again
# Names that mean geography and nothing else; x and y may be anything.
_EAST = {"lon", "lng", "long", "longitude"}
_NORTH = {"lat", "latitude"}
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_RATIOS = (1.0, 2.0, 5.0)  # in each power of ten
_FAINT = 0.1  # of the highest value: below, ten even colours show nothing
_HIDDEN = 0.25  # a share of all mass that no picture may hide there
_TAIL = 0.02  # a share of all mass that may be shown as nothing
_DEEPEST = 1e-3  # of the highest value, the lowest level


# --- axes -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Axis:
    """A column along an axis: its name, where its ticks stand, if not anywhere, and whether its numbers are dates."""

    name: str
    ticks: tuple[float, ...] = ()
    dated: bool = False


def axis_of(box: Box, place: int) -> Axis:
    """A column as an axis shows it.

    >>> axis_of(Box({"hour": Periodic(0, 24)}), 0).ticks
    (0.0, 6.0, 12.0, 18.0, 24.0)
    """
    name, column = box.names[place], box.columns[place]
    if not isinstance(column, Periodic):
        return Axis(name, dated=isinstance(column, Date))
    length = column.high - column.low
    counted = length in _COUNTED
    step = 1.0 if counted else _CIRCLES.get(length)
    if step is None:
        return Axis(name)
    last = math.ceil(column.high / step) - 1 if counted else math.floor(column.high / step)
    return Axis(name, tuple(step * i for i in range(math.ceil(column.low / step), last + 1)))


def axes_of(box: Box) -> tuple[Axis, ...]:
    """All columns."""
    return tuple(axis_of(box, place) for place in range(box.dimension))


@dataclass(frozen=True)
class Layout:
    """Two columns on paper: whether the second one goes to the right, and how long a unit upwards is.

    ``aspect`` is the length of a unit upwards over that of one to the right; None where the paper decides.
    """

    turned: bool = False
    aspect: float | None = None


def layout_of(box: Box, to_scale: bool = False) -> Layout:
    """Longitudes go to the right and latitudes up, and both are as long as on the ground; others if asked for.

    >>> layout_of(Box({"lat": (-10, 10), "lon": (5, 15)}))
    Layout(turned=True, aspect=1.0)
    """
    if to_scale and (box.dimension != 2 or not all(isinstance(column, Interval) for column in box.columns)):
        raise ParameterError.of("map", f"draws two columns of numbers to scale, this release has {list(box.names)}")
    names = [name.strip().lower() for name in box.names]
    for east, north in ((0, 1), (1, 0)):
        if len(names) == 2 and names[east] in _EAST and names[north] in _NORTH and _on_earth(box, east, north):
            middle = math.radians(float(box.low[north] + box.high[north]) / 2)
            return Layout(turned=east == 1, aspect=1 / max(math.cos(middle), 0.05))
    return Layout(aspect=1.0 if to_scale else None)


def _on_earth(box: Box, east: int, north: int) -> bool:
    """Whether columns of such names hold degrees."""
    if not all(isinstance(column, Interval) for column in box.columns):
        return False
    limits = {east: (-360.0, 360.0), north: (-90.0, 90.0)}
    return all(low <= box.low[i] and box.high[i] <= high for i, (low, high) in limits.items())


def laid_axes(box: Box, layout: Layout) -> tuple[Axis, ...]:
    """All columns, the one to the right first."""
    return axes_of(box)[::-1] if layout.turned else axes_of(box)


# --- colours ----------------------------------------------------------------------------------------------------


def levels_of(values: Floats, density: bool) -> tuple[float, ...]:
    """Between which values the colour stays the same: even steps, or ratios where a density is concentrated.

    Ratios are used where even steps would paint a quarter of all released mass like nothing, which they do below a
    tenth of the highest value. They reach down to where all but two hundredths of the mass are shown, at most to a
    thousandth of the highest value. Nothing where all values are the same.

    >>> levels_of(np.array([0.0, 0.3, 1.0]), density=True)[:3]
    (0.0, 0.1, 0.2)
    """
    known = values[np.isfinite(values)]
    low, high = float(known.min()), float(known.max())
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        return ()
    floor = _floor(known, high) if density else 0.0
    return _even(low, high) if floor == 0 else _ratios(floor, high)


def _floor(values: Floats, high: float) -> float:
    """The lowest level of ratios; zero where even steps will do."""
    sizes = np.sort(np.maximum(values, 0.0))
    mass = np.cumsum(sizes)
    if not mass[-1] > 0 or sizes[sizes < _FAINT * high].sum() < _HIDDEN * mass[-1]:
        return 0.0
    return max(float(sizes[np.searchsorted(mass, _TAIL * mass[-1])]), _DEEPEST * high)


def _even(low: float, high: float) -> tuple[float, ...]:
    """About ten even steps of a round length."""
    least = (high - low) / 10
    power = 10.0 ** math.floor(math.log10(least))
    step = next(power * part for part in _STEPS if power * part >= least * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return tuple(float(f"{step * i:.12g}") for i in range(first, last + 1))


def _ratios(floor: float, high: float) -> tuple[float, ...]:
    """Zero, and 1, 2, 5 of every power of ten from the floor to the highest value."""
    powers = range(math.floor(math.log10(floor)), math.ceil(math.log10(high)) + 1)
    every = [float(f"{part}e{power}") for power in powers for part in _RATIOS]
    first = max(place for place, level in enumerate(every) if level <= floor * (1 + 1e-9))
    last = min(place for place, level in enumerate(every) if level >= high * (1 - 1e-9))
    return (0.0, *every[first : last + 1])
