"""Where the cells of a histogram meet: as the caller says, or half-way between whole numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from sfumato.bases.unit import is_whole
from sfumato.checks import finite_number, shown
from sfumato.core.box import Interval, Periodic
from sfumato.errors import ParameterError, ParameterTypeError

BINS = 10  # of a numeric column of which nothing is said


def given_edges(edges: Any, numeric: Sequence[str]) -> dict[str, Any]:
    """Edges by column; numbers alone belong to the only numeric one."""
    if edges is None:
        return {}
    if isinstance(edges, Mapping):
        unknown = [name for name in edges if name not in numeric]
        if unknown:
            raise ParameterError.of("edges", f"must be of numeric columns ({list(numeric)}), got {unknown[0]!r}")
        return dict(edges)
    if len(numeric) != 1:
        raise ParameterError.of("edges", f"must say of which column they are: {{name: [...]}}, one of {list(numeric)}")
    return {numeric[0]: edges}


def edges_within(column: Interval, name: str, given: Any) -> tuple[float, ...]:
    """All edges along a column, its bounds outermost; of whole numbers, half-way between two of them."""
    if not isinstance(given, Sequence | np.ndarray) or not len(given):
        raise ParameterTypeError.of("edges", f"must be numbers within the bounds of {name!r}, got {shown(given)}")
    inner = [finite_number("edges", edge) for edge in given]
    if any(a >= b for a, b in pairwise(inner)) or not column.low <= inner[0] <= inner[-1] <= column.high:
        raise ParameterError.of(
            "edges", f"must ascend within ({column.low:g}, {column.high:g}), the bounds of {name!r}, got {shown(given)}"
        )
    inner = [edge for edge in inner if column.low < edge < column.high]
    if not is_whole(column):
        return (column.low, *inner, column.high)
    last = column.low + _values(column) - 0.5
    halves = sorted({math.ceil(edge) - 0.5 for edge in inner} - {last})
    return (column.low - 0.5, *halves, last)


def whole_edges(column: Interval, count: int | None, most: int) -> tuple[float, ...]:
    """Edges of cells that hold whole numbers, as many in each as can be; one in each of a column of few."""
    values = _values(column)
    count = (values if values <= most else BINS) if count is None else count
    if count > values:
        raise ParameterError.of("bins", f"must be at most the column's {values} whole numbers, got {count}")
    return tuple(column.low - 0.5 + i * values // count for i in range(count + 1))


def _values(column: Interval) -> int:
    """How many whole numbers a column holds; a circle's upper bound is its lower one once more."""
    return round(column.high - column.low) + (not isinstance(column, Periodic))
