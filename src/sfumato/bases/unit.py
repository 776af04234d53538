"""Between the user's units and the unit cube, for public points."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.core.box import Box
from sfumato.errors import OutsideBoxError, ParameterError, ParameterTypeError
from sfumato.values import column

Floats = NDArray[np.float64]


def read_points(
    box: Box, points: ArrayLike, outside: str = "refuse", clip: Callable[[Floats], Floats] | None = None
) -> Floats:
    """``(m, l)``: public points in user units, refusing (or clipping) what lies outside the box.

    ``clip`` says how: to the edge, or as records are cleaned, which goes round periodic columns.
    """
    try:
        if box.named and hasattr(points, "columns"):  # a table: by name, whatever the order
            points = np.stack([column(points[name]) for name in box.names], axis=1)  # type: ignore[index]
        array = np.asarray(points, dtype=np.float64)
    except KeyError as error:
        raise ParameterError(f"the points have no column {error}") from None
    except (TypeError, ValueError):
        raise ParameterTypeError(f"points must be numbers, got {type(points).__name__}") from None
    if box.dimension == 1 and array.ndim <= 1:
        array = array.reshape(-1, 1)
    if array.ndim != 2 or array.shape[1] != box.dimension:
        raise ParameterError(f"points must have shape (m, {box.dimension}), got shape {array.shape}")
    low, high = box.low, box.high
    if np.isnan(array).any():
        raise OutsideBoxError("points must be numbers, got NaN")
    if outside == "clip":
        array = np.clip(array, low, high) if clip is None else clip(array)
    elif outside != "refuse":
        raise ParameterError(f"outside must be 'refuse' or 'clip', got outside={outside!r}")
    bad = np.flatnonzero(((array < low) | (array > high)).any(axis=1))
    if bad.size:
        raise OutsideBoxError(
            f"{bad.size} of {len(array)} points lie outside the box {box!r}, the first is "
            f"{array[bad[0]].tolist()}; pass outside='clip' to move them to its edge"
        )
    return array if clip is None else clip(array)


def to_unit(box: Box, points: ArrayLike, outside: str = "refuse") -> Floats:
    """Map public points in user units to the unit cube, refusing (or clipping) what lies outside."""
    return (read_points(box, points, outside) - box.low) / (box.high - box.low)


def from_unit(box: Box, unit: Floats) -> Floats:
    """Map points of the unit cube to user units; 0 and 1 give the bounds exactly."""
    return np.where(unit == 1.0, box.high, box.low + unit * (box.high - box.low))
