"""Between the user's units, numbers and the unit cube, for public points: dates are days since 1970 inside."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.checks import near_miss, one_of, shown
from sfumato.core.box import Box, Column, Date, Integer, Interval, Periodic
from sfumato.dates import as_days, as_moments, brief_iso, days_of_array, from_days
from sfumato.errors import OutsideBoxError, ParameterError, ParameterTypeError
from sfumato.values import collected, column

Floats = NDArray[np.float64]


def names_of(points: Any) -> list[Any]:
    """The names of a table's columns; none for what has no names."""
    if isinstance(points, Mapping):
        return list(points)
    found = getattr(points, "column_names", None)  # of pyarrow, whose columns are no names
    return list(getattr(points, "columns", ()) if found is None else found)


def read_points(
    box: Box, points: ArrayLike, outside: str = "refuse", clip: Callable[[Floats], Floats] | None = None
) -> Floats:
    """``(m, l)``: public points in user units, refusing (or clipping) what lies outside the box.

    Along a periodic column there is no outside: points go round. ``clip`` says how the others are clipped: to the edge,
    or as records are cleaned.
    """
    points = collected(points)
    missing = [name for name in box.names if name not in names_of(points)] if _is_named(box, points) else []
    if missing:
        raise ParameterError(f"the points have no column {missing[0]!r}{near_miss(missing[0], names_of(points))}")
    try:
        array = as_numbers(box, points)
    except (TypeError, ValueError) as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterTypeError(f"points must be numbers, got {type(points).__name__}") from None
    if box.dimension == 1 and array.ndim <= 1:
        array = array.reshape(-1, 1)
    if array.ndim != 2 or array.shape[1] != box.dimension:
        raise ParameterError(f"points must have shape (m, {box.dimension}), got shape {array.shape}")
    low, high = box.low, box.high
    for axis, kind in enumerate(box.intervals()):
        if isinstance(kind, Periodic):
            array[:, axis] = wrapped(kind, array[:, axis])
    if np.isnan(array).any():
        raise OutsideBoxError(f"points must be {_wanted(box.columns)}, got NaN")
    if one_of("outside", outside, ("refuse", "clip")) == "clip":
        array = np.clip(array, low, high) if clip is None else clip(array)
    bad = np.flatnonzero(((array < low) | (array > high)).any(axis=1))
    if bad.size:
        raise OutsideBoxError(
            f"{bad.size} of {len(array)} points lie outside the box {box!r}, the first is "
            f"{records_in_units(box, array[bad[:1]])[0].tolist()}; pass outside='clip' to move them to its edge"
        )
    return array if clip is None else clip(array)


def _is_named(box: Box, points: Any) -> bool:
    """Whether points are a table, whose columns are found by name, whatever their order."""
    return box.named and (hasattr(points, "columns") or isinstance(points, Mapping))


def as_numbers(box: Box, points: Any) -> Floats:
    """A fresh array of doubles, dates as days."""
    points = collected(points)
    if _is_named(box, points):
        parts = [points[name] for name in box.names]
        return np.stack([column_numbers(kind, part) for kind, part in zip(box.columns, parts, strict=True)], axis=1)
    if not any(isinstance(kind, Date) for kind in box.columns):
        return np.array(points, dtype=np.float64)
    typed = isinstance(points, np.ndarray) and points.dtype.kind in "Miufb"
    array = points if typed else np.asarray(points, dtype=object)
    array = array.reshape(-1, 1) if box.dimension == 1 and array.ndim <= 1 else array
    if array.ndim != 2 or array.shape[1] != box.dimension:
        return np.empty(array.shape)  # refused for its shape
    return np.stack([column_numbers(kind, array[:, axis]) for axis, kind in enumerate(box.columns)], axis=1)


def column_numbers(kind: Column, values: Any) -> Floats:
    """The public values of one column as doubles, dates as days."""
    if not isinstance(kind, Date):
        return np.asarray(column(values), dtype=np.float64)
    array = np.asarray(values)
    if array.dtype.kind in "Miufb":
        return days_of_array(array)
    return np.array([number_of(kind, value) for value in array.ravel()], dtype=np.float64)


def _wanted(columns: Sequence[Column]) -> str:
    kinds = {isinstance(kind, Date): "dates" if isinstance(kind, Date) else "numbers" for kind in columns}
    return " and ".join(kinds[key] for key in sorted(kinds))


def number_of(kind: Interval, value: Any) -> float:
    """One public value of a column as a number, refusing what is none; a date may be given as its days."""
    if not isinstance(kind, Date) or isinstance(value, Real):
        return float(value)
    days = as_days(value)
    if math.isnan(days):
        raise ParameterTypeError(f"a date, a time or ISO text such as '2024-03-01T12:30' is needed, got {shown(value)}")
    return days


def wrapped(kind: Periodic, values: Floats) -> Floats:
    """Public values round a circle: those outside the bounds once more, or as often as it takes; NaN of infinities."""
    with np.errstate(invalid="ignore"):
        around = kind.low + np.mod(values - kind.low, kind.high - kind.low)
        return np.where((values >= kind.low) & (values <= kind.high), values, around)


def is_whole(kind: Column) -> bool:
    """Whether a column holds whole numbers, on a line or round a circle."""
    return isinstance(kind, Integer) or (isinstance(kind, Periodic) and kind.whole)


def arcs(kind: Periodic, start: float, stop: float) -> list[tuple[float, float]]:
    """A range round a circle, cut where its bounds meet: two ranges where it goes through them.

    One that ends before its beginning goes through the bounds, and one as wide as the circle is all of it.

    >>> arcs(Periodic(0, 24), 22, 4), arcs(Periodic(0, 24), 22, 28), arcs(Periodic(0, 24), -12, 12)
    ([(22.0, 24.0), (0.0, 4.0)], [(22.0, 24.0), (0.0, 4.0)], [(0.0, 24.0)])
    """
    width = kind.high - kind.low
    length = min(stop - start, width) if stop >= start else (stop - start) % width
    if length == width:
        return [(kind.low, kind.high)]
    start = kind.low + (start - kind.low) % width
    if start + length <= kind.high:
        return [(start, start + length)]
    return [(start, kind.high), (kind.low, start + length - width)]


def in_units(kind: Column, numbers: Any) -> Any:
    """Numbers of a column as its users write them: a date or an array of them (in UTC) for a column of dates."""
    if not isinstance(kind, Date):
        return float(numbers) if np.ndim(numbers) == 0 else numbers
    return from_days(float(numbers), bool(kind.zoned)) if np.ndim(numbers) == 0 else as_moments(np.asarray(numbers))


def records_in_units(box: Box, rows: Floats) -> NDArray[Any]:
    """``(m, l)`` rows the same way: numbers, numpy's moments, or objects where a box has both."""
    dates = [isinstance(kind, Date) for kind in box.columns]
    if not any(dates):
        return rows
    if all(dates):
        return as_moments(rows)
    found = rows.astype(object)
    for axis, kind in enumerate(box.columns):
        if isinstance(kind, Date):
            found[:, axis] = [in_units(kind, value) for value in rows[:, axis]]
    return found


def in_words(kind: Column, number: float, form: str = ".10g") -> str:
    """One number of a column for reading."""
    if isinstance(kind, Date):
        return brief_iso(number, bool(kind.zoned), kind.high - kind.low)
    return format(number, form)


def to_unit(box: Box, points: ArrayLike, outside: str = "refuse") -> Floats:
    """Map public points in user units to the unit cube, refusing (or clipping) what lies outside."""
    return (read_points(box, points, outside) - box.low) / (box.high - box.low)


def from_unit(box: Box, unit: Floats) -> Floats:
    """Map points of the unit cube to user units; 0 and 1 give the bounds exactly."""
    return np.where(unit == 1.0, box.high, box.low + unit * (box.high - box.low))
