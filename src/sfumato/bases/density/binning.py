"""Lattices on which each record spreads a mass of exactly one: linear binning and the split lattice.

A record at x gives lattice point p the share ``phi_p(x) >= 0``, and its shares add up to one. So one record is a
vector of L1 norm one whatever it holds, a data set is the mean of such vectors, and *which* measure lies behind the
noisy mean is a question for post-processing (``releases/measure.py``).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sfumato.bases.base import LARGEST_LATTICE, Basis
from sfumato.checks import positive_integer, positive_number
from sfumato.core.box import Box, Interval, Periodic
from sfumato.errors import ParameterError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

LARGEST_DIMENSION = 3
_REACH = 6.5  # deviations; a share of exp(-_REACH**2 / 2) is below any grid step


@dataclass(frozen=True)
class MassLattice(Basis, ABC):
    """A lattice over the box, of ``points`` points along each column (one number, or one per column)."""

    points: int | tuple[int, ...]

    def __post_init__(self) -> None:
        several = self.points if isinstance(self.points, Sequence) else (self.points,)
        counts = tuple(positive_integer("points", p) for p in several)
        if not counts or min(counts) < 2:
            raise ParameterError.of("points", f"must be at least 2 along each column, got points={self.points!r}")
        object.__setattr__(self, "points", counts if isinstance(self.points, Sequence) else counts[0])

    @abstractmethod
    def axis_shares(self, box: Box, axis: int, unit: Floats) -> sparse.csr_array:
        """``(m, points)``: what a record at each position in [0, 1] gives to each lattice point of that column."""

    def shape(self, box: Box) -> tuple[int, ...]:
        """The lattice's shape, refusing one that is too large."""
        box.intervals()  # refuses categorical columns
        check_dimension(box)
        counts = (self.points,) * box.dimension if isinstance(self.points, int) else self.points
        if len(counts) != box.dimension:
            raise ParameterError.of(
                "points", f"needs one number, or one per column ({box.dimension}), got points={self.points!r}"
            )
        if math.prod(counts) > LARGEST_LATTICE:
            raise ParameterError(
                f"the lattice has {' x '.join(map(str, counts))} points, at most {LARGEST_LATTICE:,} are allowed; "
                f"lower points={self.points!r} or enlarge the bandwidth",
                parameter="points",
            )
        return counts

    def size(self, box: Box) -> int:
        return math.prod(self.shape(box))

    def positions(self, box: Box, axis: int) -> Floats:
        """The lattice points of one column, in [0, 1]: both ends of an interval, evenly round a circle."""
        count = self.shape(box)[axis]
        return np.arange(count) / (count if isinstance(box.intervals()[axis], Periodic) else count - 1)

    def reach(self, box: Box, axis: int) -> int:
        """Among how many points along one axis a record can be shared, from above."""
        return 2

    def longest(self, box: Box, positions: Sequence[Floats]) -> float:
        """The largest L2 norm of the shares of a record at any of these positions along each axis."""
        shares = [self.axis_shares(box, axis, unit) for axis, unit in enumerate(positions)]
        return math.sqrt(math.prod(float((s * s).sum(axis=1).max()) for s in shares))


@dataclass(frozen=True)
class Binning(MassLattice):
    """Linear binning: a record is shared between the two nearest lattice points of each column.

    >>> Binning(3).axis_shares(Box([(0, 1)]), 0, np.array([0.0, 0.25])).toarray().tolist()
    [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]
    """

    def axis_shares(self, box: Box, axis: int, unit: Floats) -> sparse.csr_array:
        return _spread(box.intervals()[axis], self.shape(box)[axis], unit, 0, lambda steps: 1 - steps)

    def to_json(self) -> dict[str, Any]:
        return {"name": "binning", "points": _plain(self.points)}


@dataclass(frozen=True)
class SplitLattice(MassLattice):
    """The split lattice: a record is shared by a Gaussian of deviation ``width``, which its shares are divided by.

    Parameters
    ----------
    points
        Along each column: one number, or one per column.
    width
        In the user's units, one number or one per column: about half the bandwidth. The kernel splits into this
        Gaussian, which is applied to each record, and the rest, which is applied after the noise.
    """

    width: float | tuple[float, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        several = self.width if isinstance(self.width, Sequence) else (self.width,)
        widths = tuple(positive_number("width", w) for w in several)
        object.__setattr__(self, "width", widths if isinstance(self.width, Sequence) else widths[0])

    def reach(self, box: Box, axis: int) -> int:
        wide, count = math.ceil(_REACH * self._steps_per_width(box, axis)), self.shape(box)[axis]
        return 2 + 2 * min(wide, 4 * count if isinstance(box.intervals()[axis], Periodic) else count)

    def axis_width(self, box: Box, axis: int) -> float:
        """The deviation of the shares along an axis, as a part of the column."""
        column = box.intervals()[axis]
        widths = (self.width,) * box.dimension if isinstance(self.width, float) else self.width
        if len(widths) != box.dimension:
            raise ParameterError.of(
                "width", f"needs one number, or one per column ({box.dimension}), got width={self.width!r}"
            )
        if widths[axis] > column.high - column.low:
            raise ParameterError.of(
                "width",
                f"must not exceed the box: column {box.names[axis]!r} is {column.high - column.low:g} wide, "
                f"got width={widths[axis]!r}",
            )
        return widths[axis] / (column.high - column.low)

    def _steps_per_width(self, box: Box, axis: int) -> float:
        return self.axis_width(box, axis) * _steps(box.intervals()[axis], self.shape(box)[axis])

    def axis_shares(self, box: Box, axis: int, unit: Floats) -> sparse.csr_array:
        column, count = box.intervals()[axis], self.shape(box)[axis]
        steps_per_width = self._steps_per_width(box, axis)
        reach = math.ceil(_REACH * steps_per_width)
        # Relative to the nearest point, so that even a width far below the spacing leaves something to divide.
        scale = -0.5 / max(steps_per_width**2, 1e-290)  # the square of a tiny width vanishes
        return _spread(column, count, unit, reach, lambda squares: np.exp(scale * squares), True)

    def to_json(self) -> dict[str, Any]:
        return {"name": "split", "points": _plain(self.points), "width": _plain(self.width)}


def along(lattice: MassLattice, axes: Sequence[int], dimension: int) -> MassLattice:
    """The lattice of some of the columns."""
    every = range(dimension)
    points = lattice.points if isinstance(lattice.points, tuple) else tuple(lattice.points for _ in every)
    few = tuple(points[i] for i in axes)
    if not isinstance(lattice, SplitLattice):
        return Binning(few)
    widths = lattice.width if isinstance(lattice.width, tuple) else tuple(lattice.width for _ in every)
    return SplitLattice(few, tuple(widths[i] for i in axes))


def lattice_from_json(data: Mapping[str, Any]) -> MassLattice:
    """Rebuild a lattice from plain data: a closed list, nothing is imported by name."""
    listed = {key: tuple(value) if isinstance(value, list) else value for key, value in data.items()}
    name = listed.pop("name", None)
    found: MassLattice
    if name == "binning" and set(listed) == {"points"}:
        found = Binning(listed["points"])
    elif name == "split" and set(listed) == {"points", "width"}:
        found = SplitLattice(listed["points"], listed["width"])
    else:
        raise ParameterError(f"unknown basis {data.get('name')!r}, or unexpected entries")
    return found


def check_dimension(box: Box) -> None:
    """Refuse more columns than a lattice can serve."""
    if box.dimension > LARGEST_DIMENSION:
        raise ParameterError(
            f"a density needs at most {LARGEST_DIMENSION} columns, got {box.dimension} ({list(box.names)}): a lattice "
            "grows as a power of their number. Release several densities of one to three columns each"
        )


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _steps(column: Interval, count: int) -> int:
    """How many lattice steps the column is wide."""
    return count if isinstance(column, Periodic) else count - 1


def _spread(
    column: Interval, count: int, unit: Floats, reach: int, share: Any, gaussian: bool = False
) -> sparse.csr_array:
    """Shares of the lattice points within ``reach`` of each position, divided by their sum."""
    steps = unit * _steps(column, count)
    wrapped = isinstance(column, Periodic)
    reach = min(reach, 4 * count if wrapped else count)
    index = np.floor(steps).astype(np.int64)[:, None] + np.arange(-reach, reach + 2)
    offsets = index - steps[:, None]
    if gaussian:
        inside = np.ones(index.shape, dtype=np.bool_) if wrapped else (index >= 0) & (index < count)
        squares = np.where(inside, offsets * offsets, np.inf)
        squares -= squares.min(axis=1, keepdims=True)
        values = share(squares)
    else:
        values = np.maximum(share(np.abs(offsets)), 0.0)
        if not wrapped:  # a record at the far end lies on its point; the one beyond gets nothing
            values[index >= count] = 0.0
    values /= values.sum(axis=1, keepdims=True)
    columns = np.mod(index, count) if wrapped else np.clip(index, 0, count - 1)
    starts = np.arange(len(unit) + 1) * index.shape[1]
    table = sparse.csr_array((values.ravel(), columns.ravel(), starts), shape=(len(unit), count))
    if wrapped and index.shape[1] > count:  # the same point may be met again on the next round
        table.sum_duplicates()
    return table


def whole_shares(shares: sparse.csr_array, total: int) -> sparse.csr_array:
    """Turn rows of shares into integers that add up to exactly ``total``: floors, the rest to the largest share."""
    floors = np.floor(shares.data * total).astype(np.int64)
    starts = shares.indptr[:-1]
    missing = total - np.add.reduceat(floors, starts)
    lengths = np.diff(shares.indptr)
    if (lengths == lengths[0]).all():  # equally many in each row: one table
        first = starts + shares.data.reshape(-1, lengths[0]).argmax(axis=1)
    else:
        first = np.array([a + shares.data[a:b].argmax() for a, b in pairwise(shares.indptr)])
    floors[first] += missing
    return sparse.csr_array((floors, shares.indices, shares.indptr), shape=shares.shape)


def contract(tables: Sequence[Any], tensor: NDArray[Any]) -> NDArray[Any]:
    """Apply one ``(m_j, n_j)`` matrix (or sparse table) along each axis of a tensor."""
    for axis, table in enumerate(tables):
        rest = np.moveaxis(tensor, axis, 0)
        moved = (table @ rest.reshape(rest.shape[0], -1)).reshape(table.shape[0], *rest.shape[1:])
        tensor = np.moveaxis(moved, 0, axis)
    return np.ascontiguousarray(tensor)
