"""A mixture of Gaussian kernels on a grid of nodes: the smooth function behind a measure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.bases.base import frozen
from sfumato.bases.density.binning import MassLattice, contract
from sfumato.bases.density.kernel import GaussianKernel
from sfumato.bases.lattice.expansion import SubBox, column_axis, sub_boxes
from sfumato.bases.places import Places
from sfumato.bases.unit import from_unit, to_unit
from sfumato.core.box import Box, Interval, Periodic
from sfumato.errors import ParameterError

Floats = NDArray[np.float64]

_NODES = {1: 4096, 2: 512, 3: 64}  # along each axis, at most
_FINE = {1: 5.0, 2: 3.5, 3: 2.5}  # nodes per deviation of the kernel, where they fit
_COARSE = 2.5  # the least
_BLOCK = 2**21  # numbers held at once
_QUADRATURE = {1: 400, 2: 180, 3: 72}  # points along each axis, where no formula integrates


def node_positions(box: Box, kernel: GaussianKernel) -> list[Floats]:
    """Positions in [0, 1] along each axis, a fraction of the kernel apart: its mixtures there can be anything smooth.

    Refuses a kernel that is too narrow for the number of columns.
    """
    limit, axes, narrow = _NODES[box.dimension], [], []
    for name, column, deviation in zip(box.names, box.intervals(), kernel.resolution, strict=True):
        detail = (column.high - column.low) / deviation
        if detail * _COARSE > limit:
            narrow.append((name, deviation, (column.high - column.low) * _COARSE / limit))
        axes.append(_positions(column, min(limit, max(8, math.ceil(detail * _FINE[box.dimension])) + 1)))
    if narrow:
        given = ", ".join(f"{deviation:g} of column {name!r}" for name, deviation, _ in narrow)
        least = ", ".join(f"{least:.3g}{f' for {name!r}' if len(narrow) > 1 else ''}" for name, _, least in narrow)
        raise ParameterError.of(
            "bandwidth",
            f"{given} needs too large a lattice with {box.dimension} columns: it must be at least {least}; enlarge it, "
            "narrow the box or publish fewer columns at once",
        )
    return axes


def check_points(box: Box, kernel: GaussianKernel, lattice: MassLattice) -> None:
    """Refuse a lattice with more points than the kernel has nodes: between nodes there is nothing to tell apart."""
    for name, points, nodes in zip(box.names, lattice.shape(box), node_positions(box, kernel), strict=True):
        if points > len(nodes):
            raise ParameterError.of(
                "points",
                f"must be at most {len(nodes)} along column {name!r} with this bandwidth, got {points}: a finer "
                "lattice shows no more and costs more noise",
            )


def _positions(column: Interval, count: int) -> Floats:
    """So many nodes, from end to end of an interval or evenly round a circle."""
    return np.arange(count) / (count if isinstance(column, Periodic) else count - 1)


@dataclass(frozen=True, eq=False)
class Mixture:
    """``f(y) = sum_i m_i K(y - x_i)``: kernels at the nodes, weighted by a measure.

    It knows nothing of privacy. ``derivatives`` says how often each column is differentiated.
    """

    box: Box
    kernel: GaussianKernel
    measure: Floats
    derivatives: tuple[int, ...] = field(default=())

    def __post_init__(self) -> None:
        measure = frozen(self.measure)
        if measure.ndim != self.box.dimension or min(measure.shape) < 2:
            raise ParameterError(f"a measure needs nodes along each of {self.box.names}, got shape {measure.shape}")
        object.__setattr__(self, "measure", measure)
        object.__setattr__(self, "derivatives", tuple(self.derivatives) or (0,) * self.box.dimension)
        if any(self.derivatives) and not self.kernel.diagonal:
            raise ParameterError("derivatives need a bandwidth per column, not a bandwidth matrix")

    @cached_property
    def nodes(self) -> list[Floats]:
        """The nodes' positions in [0, 1] along each axis."""
        return [_positions(c, n) for c, n in zip(self.box.intervals(), self.measure.shape, strict=True)]

    def __call__(self, points: ArrayLike, outside: str = "refuse") -> Floats:
        """Evaluate at ``(m, l)`` points in user units (``(m,)`` when there is one column)."""
        unit = to_unit(self.box, points, outside)
        if self.kernel.diagonal:
            return Places.of(unit).apply(self._axis_table, self.measure)
        heavy = np.flatnonzero(self.measure.ravel())
        grid = np.stack([g.ravel()[heavy] for g in np.meshgrid(*self.nodes, indexing="ij")], axis=1)
        block = max(1, _BLOCK // max(1, len(heavy)))
        found = np.empty(len(unit))
        for start in range(0, len(unit), block):
            rows = self.kernel.values(self.box, unit[start : start + block], grid)
            found[start : start + block] = rows @ self.measure.ravel()[heavy]
        return found

    def on_grid(self, axes: Sequence[Floats]) -> Floats:
        """The values on a grid of positions in [0, 1] along each axis, as a tensor."""
        if self.kernel.diagonal:
            return contract([self._axis_table(i, unit) for i, unit in enumerate(axes)], self.measure)
        grid = np.stack([g.ravel() for g in np.meshgrid(*axes, indexing="ij")], axis=1)
        return self(from_unit(self.box, grid)).reshape(tuple(map(len, axes)))

    def _axis_table(self, axis: int, unit: Floats) -> Floats:
        """``(m, nodes)``: one factor of a product kernel, between positions of an axis and its nodes."""
        column, order = self.box.intervals()[axis], self.derivatives[axis]
        return self.kernel.axis_values(column, axis, unit, self.nodes[axis], order)

    def derivative(self, column: str | int | None = None) -> Mixture:
        """The partial derivative along a column."""
        axis = column_axis(self.box, column)
        return replace(self, derivatives=tuple(d + (i == axis) for i, d in enumerate(self.derivatives)))

    def integrate(self, over: SubBox | None = None) -> float:
        """The integral over the box or a sub-box; kernels reach beyond the box, so the whole may be below one."""
        if any(self.derivatives):
            raise ParameterError("integrate the function itself, not its derivative")
        return sum(self._integral(start, stop) for start, stop in sub_boxes(self.box, over))

    def _integral(self, start: Floats, stop: Floats) -> float:
        low, width = self.box.low, self.box.high - self.box.low
        first, last = (start - low) / width, (stop - low) / width
        if self.kernel.diagonal:
            masses = [
                self.kernel.axis_mass(column, i, float(first[i]), float(last[i]), self.nodes[i])[None, :]
                for i, column in enumerate(self.box.intervals())
            ]
            return float(contract(masses, self.measure).item())
        nodes, weights = np.polynomial.legendre.leggauss(_QUADRATURE[self.box.dimension])
        axes = [first[i] + (last[i] - first[i]) * (nodes + 1) / 2 for i in range(self.box.dimension)]
        grid = np.stack([g.ravel() for g in np.meshgrid(*axes, indexing="ij")], axis=1)
        values = self(from_unit(self.box, grid)).reshape((len(nodes),) * self.box.dimension)
        for _ in axes:
            values = weights @ values
        return float(values) * float(np.prod((stop - start) / 2))

    def heap(self) -> Heap:
        """The measure itself: each node's mass spread evenly half-way to its neighbours, within the box."""
        masses, places, edges = self.measure, [], []
        for axis, (column, nodes) in enumerate(zip(self.box.intervals(), self.nodes, strict=True)):
            if isinstance(column, Periodic):  # the first node is also the one after the last: half of it to either side
                first = np.take(masses, [0], axis=axis) / 2
                others = np.take(masses, range(1, len(nodes)), axis=axis)
                masses = np.concatenate([first, others, first], axis=axis)
            where = np.linspace(0.0, 1.0, masses.shape[axis])
            places.append(where)
            edges.append(np.concatenate([[0.0], (where[:-1] + where[1:]) / 2, [1.0]]))
        return Heap(self.box, places, edges, masses)


@dataclass(frozen=True, eq=False)
class Heap:
    """Masses in cells side by side: along each axis the cells' places and edges, in [0, 1]; within a cell all is even.

    >>> heap = Heap(Box([(0, 4)]), [np.array([0.25, 0.75])], [np.array([0.0, 0.5, 1.0])], np.array([0.75, 0.25]))
    >>> heap.within(np.array([1.0]), np.array([3.0]))
    0.5
    """

    box: Box
    places: list[Floats]
    edges: list[Floats]
    masses: Floats

    def certain(self) -> Heap:
        """The same as probabilities: nothing below zero, of sum one; even over the box if nothing is left."""
        masses = np.maximum(self.masses, 0.0)
        if not masses.sum() > 0:  # noise without shape constraints can leave nothing: say no more than the box does
            masses = np.asarray(reduce(np.multiply.outer, [np.diff(edges) for edges in self.edges]))
        return replace(self, masses=masses / masses.sum())

    def in_units(self, axis: int, unit: Floats) -> Floats:
        """Positions in [0, 1] in the column's own units."""
        column = self.box.intervals()[axis]
        return column.low + unit * (column.high - column.low)

    def along(self, axis: int) -> tuple[Floats, Floats]:
        """The masses along one axis, whatever the others are, and the edges of their cells in the column's units."""
        others = tuple(i for i in range(self.masses.ndim) if i != axis)
        return self.masses.sum(axis=others), self.in_units(axis, self.edges[axis])

    def within(self, start: Floats, stop: Floats) -> float:
        """The mass between two corners, in the user's units."""
        tables = []
        for axis, edges in enumerate(self.edges):
            ends = self.in_units(axis, edges)
            inside = np.minimum(ends[1:], stop[axis]) - np.maximum(ends[:-1], start[axis])
            tables.append((np.maximum(inside, 0.0) / np.diff(ends))[None, :])
        return float(contract(tables, self.masses).item())
