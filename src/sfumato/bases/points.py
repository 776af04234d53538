"""Public points whose columns hold numbers or categories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.unit import names_of
from sfumato.checks import near_miss
from sfumato.errors import ParameterError, ParameterTypeError
from sfumato.values import column


def point_columns(names: Sequence[str], points: Any) -> list[NDArray[Any]]:
    """The values of public points, column by column, whatever table or array they come in."""
    if isinstance(points, Mapping):
        found = [np.atleast_1d(_values(points[name])) for name in names if name in points]
    elif isinstance(points, np.ndarray | list | tuple):
        array = points if isinstance(points, np.ndarray) else np.asarray(points, dtype=object)
        array = array[:, None] if array.ndim == 1 and len(names) == 1 else array
        if array.ndim != 2 or array.shape[1] != len(names):
            raise ParameterError(f"points must have shape (m, {len(names)}), got shape {array.shape}")
        found = list(array.T)
    else:
        import narwhals as nw  # reading a release needs no tables

        try:
            frame = nw.from_native(points, eager_only=True)
        except TypeError:
            raise ParameterTypeError(f"points must be a table or an array, got {type(points).__name__}") from None
        there = [frame[name] for name in names if name in frame.columns]
        arrow = frame.implementation.is_pyarrow()
        found = [_values(series.to_native() if arrow else series.to_numpy()) for series in there]
    if len(found) != len(names) or len({len(column) for column in found}) > 1:
        has = names_of(points)
        near = "".join(near_miss(name, has) for name in names if name not in has)
        raise ParameterError(f"points must have the columns {list(names)}, all of one length{near}")
    return found


def _values(values: Any) -> NDArray[Any]:
    """A column's values: of Arrow's one by one, as numpy reads a gap in a dictionary as its last entry."""
    return column(values) if hasattr(type(values), "to_pylist") else np.asarray(values)
