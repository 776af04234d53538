"""A public grid of cells over a box, equal ones unless edges are given.

Which cell a record falls into depends on that record alone, bit by bit, so counts are the same on every engine.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.base import MAX_CELLS
from sfumato.checks import finite_number, positive_integer, shown
from sfumato.core.box import Box, Categorical, Interval
from sfumato.engines.files import holds_text, is_text
from sfumato.errors import ParameterError, ParameterTypeError, SchemaError
from sfumato.values import letters, of_entries

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Positions = NDArray[np.int32]  # half the memory traffic of int64; MAX_CELLS fits
Mask = NDArray[np.bool_]

_NOWHERE = -1


@dataclass(frozen=True)
class Cells:
    """A public grid of cells over a box: each record falls into one cell, or into none if a value is missing.

    Parameters
    ----------
    box
        Numeric columns and, where the target allows, categorical ones.
    shape
        The number of cells along each column; along a categorical one, the number of its categories.
    edges
        Of the cells along each column, ascending, the outermost included; None where they are equal.

    >>> Cells(Box([(0, 10), (0, 1)]), (5, 2)).index([np.array([0.0, 3.9, 99.0]), np.array([0.0, 0.5, 1.0])]).tolist()
    [0, 3, 9]
    """

    box: Box
    shape: tuple[int, ...]
    edges: tuple[tuple[float, ...] | None, ...] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.box, Box):
            raise ParameterTypeError(f"box must be an sf.Box, got box={shown(self.box)}")
        if not isinstance(self.shape, tuple | list) or len(self.shape) != self.box.dimension:
            raise ParameterTypeError(
                f"shape must give one number of cells for each of {self.box.names}, got shape={shown(self.shape)}"
            )
        object.__setattr__(self, "shape", tuple(positive_integer("shape", size) for size in self.shape))
        for name, kind, size in zip(self.box.names, self.box.columns, self.shape, strict=True):
            if isinstance(kind, Categorical):
                _check_categories(name, kind, size)
        every = (None,) * len(self.shape) if self.edges is None else self.edges
        for name, size, sides in zip(self.box.names, self.shape, every, strict=True):
            if sides is not None and len(sides) != size + 1:
                raise ParameterError.of(
                    "edges", f"of {name!r} must be one more than its {size} cells, got {len(sides)}"
                )
        if self.size > MAX_CELLS:
            raise ParameterError.of(
                "shape",
                f"must have at most {MAX_CELLS} cells in all, got {self.size} in shape={self.shape!r}; use fewer "
                "cells along each column, or fewer columns",
            )

    @property
    def size(self) -> int:
        """The number of cells."""
        return math.prod(self.shape)

    def centres(self, axis: int) -> Floats:
        """The middles of the cells along one column, in units of that column's width: ``(i + 1/2) / G``."""
        if not 0 <= axis < len(self.shape):
            raise ParameterError(f"axis must be one of 0, ..., {len(self.shape) - 1}, got axis={axis!r}")
        return (np.arange(self.shape[axis]) + 0.5) / self.shape[axis]

    def index(self, columns: Sequence[Any]) -> Integers:
        """The flat cell numbers of the records that have no missing value, in order.

        ``columns`` are those of the box, in its order: real numbers for a numeric column or one of numeric categories;
        for a column of text categories an Arrow array of text, or any sequence of Python values.
        """
        flat, missing = self.places(columns)
        return (flat if missing is None else flat[~missing]).astype(np.int64)

    def places(self, columns: Sequence[Any]) -> tuple[Positions, Mask | None]:
        """Each record's flat cell number, and which records have none, if any: their number means nothing."""
        if len(columns) != self.box.dimension:
            raise SchemaError(f"the box has {self.box.dimension} columns, the records have {len(columns)}")
        with np.errstate(all="ignore"):  # a warning that depends on values would be an output
            parts = [self._along(axis, values) for axis, values in enumerate(self._cleaned(columns))]
        flat, missing = parts[0]
        for size, (place, also) in zip(self.shape[1:], parts[1:], strict=True):
            flat *= size
            flat += place
            missing = also if missing is None else missing if also is None else missing | also
        return flat, missing

    def _cleaned(self, columns: Sequence[Any]) -> list[Any]:
        """Fresh numeric columns, brought into the box; other columns as they are."""
        kinds = self.box.columns
        numbers = [
            values if is_text(kind) else _as_doubles(name, values)
            for name, kind, values in zip(self.box.names, kinds, columns, strict=True)
        ]
        if self.box.max_norm is not None:  # the one rule that looks at several values of a record
            return list(np.asfortranarray(self.box.clean(np.stack(numbers, axis=1))).T)
        return [
            kind.clean(values) if isinstance(kind, Interval) else values
            for kind, values in zip(kinds, numbers, strict=True)
        ]

    def _along(self, axis: int, values: Any) -> tuple[Positions, Mask | None]:
        """Each record's cell along one column, and which records have none, if any. Overwrites cleaned numbers."""
        kind, size = self.box.columns[axis], self.shape[axis]
        if not isinstance(kind, Interval):
            place = positions(values, kind)
            return place, place < 0
        missing = np.isnan(values)
        some = missing.any()
        if some:  # a not-a-number has no integer
            values[missing] = kind.low
        edges = None if self.edges is None else self.edges[axis]
        if edges is not None:  # a cell has its lower edge; what is beyond the outermost is in the outermost cell
            place = np.searchsorted(np.array(edges[1:-1]), values, side="right").astype(np.int32)
            return place, missing if some else None
        values -= kind.low
        values /= kind.high - kind.low
        values *= size
        place = values.astype(np.int32)  # the floor: nothing is below 0
        place[place == size] = size - 1  # the upper bound lies in the last cell
        return place, missing if some else None


def _check_categories(name: str, kind: Categorical, size: int) -> None:
    if size != len(kind.categories):
        raise ParameterError(
            f"shape must give categorical column {name!r} one cell for each of its {len(kind.categories)} categories, "
            f"got {size}"
        )
    if not is_text(kind):  # records are compared as doubles
        for category in kind.categories:
            finite_number(f"a category of column {name!r}", category + 0)  # type: ignore[operator]


def _as_doubles(name: str, values: Any) -> Floats:
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "iufb":
        raise SchemaError(f"column {name!r} must be numeric")
    return array.astype(np.float64, copy=False)


def positions(values: Any, kind: Categorical) -> Positions:
    """The position of each value among the categories; negative for anything else."""
    if not is_text(kind):
        categories = np.array(kind.categories, dtype=np.float64)
        order = np.argsort(categories)
        near = order[np.searchsorted(categories, values, sorter=order).clip(max=len(order) - 1)]
        return np.where(categories[near] == values, near, _NOWHERE).astype(np.int32)
    if isinstance(values, list | tuple | np.ndarray):
        values = letters(values) if isinstance(values, np.ndarray) and values.dtype.kind == "U" else values
        places = {category: place for place, category in enumerate(kind.categories)}
        return np.fromiter((_look_up(places, value) for value in values), np.int32, len(values))
    return _arrow_positions(values, kind.categories)


def _look_up(places: Mapping[Any, int], value: Any) -> int:
    # A text of somebody's own kind may compare in its own way: it is not asked.
    return places.get(str.__str__(value), _NOWHERE) if issubclass(type(value), str) else _NOWHERE


def _arrow_positions(values: Any, categories: Iterable[Any]) -> Positions:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not holds_text(values.type):
        return np.full(len(values), _NOWHERE, dtype=np.int32)
    if pa.types.is_dictionary(values.type):
        return of_entries(values, lambda entries: _arrow_positions(entries, categories), _NOWHERE).astype(np.int32)
    texts = pc.cast(values, pa.large_binary())  # what is no text is none of the categories
    places = pc.index_in(texts, value_set=pc.cast(pa.array(categories, pa.large_string()), pa.large_binary()))
    return np.array(pc.fill_null(places, _NOWHERE).to_numpy(zero_copy_only=False), dtype=np.int32)
