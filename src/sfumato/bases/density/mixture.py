"""A mixture of Gaussian kernels on a grid of nodes: the smooth function behind a measure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.bases.density.binning import MassLattice, contract
from sfumato.bases.density.kernel import GaussianKernel
from sfumato.bases.lattice.expansion import SubBox, column_axis, sub_box
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
    axes = []
    for name, column, deviation in zip(box.names, box.intervals(), kernel.resolution, strict=True):
        detail = (column.high - column.low) / deviation
        limit = _NODES[box.dimension]
        if detail * _COARSE > limit:
            least = (column.high - column.low) * _COARSE / limit
            raise ParameterError.of(
                "bandwidth",
                f"{deviation:g} of column {name!r} needs too large a lattice with {box.dimension} columns: "
                f"it must be at least {least:.3g}; enlarge it, narrow the box or publish fewer columns at once",
            )
        axes.append(_positions(column, min(limit, max(8, math.ceil(detail * _FINE[box.dimension])) + 1)))
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
        measure = np.asarray(self.measure, dtype=np.float64)
        if measure.ndim != self.box.dimension or min(measure.shape) < 2:
            raise ParameterError(f"a measure needs nodes along each of {self.box.names}, got shape {measure.shape}")
        frozen = np.frombuffer(measure.tobytes()).reshape(measure.shape)  # cannot be made writable again
        object.__setattr__(self, "measure", frozen)
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
        block = max(1, _BLOCK // self.measure.size)
        parts = [self._evaluate(unit[start : start + block]) for start in range(0, len(unit), block)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _evaluate(self, unit: Floats) -> Floats:
        if not self.kernel.diagonal:
            heavy = np.flatnonzero(self.measure.ravel())
            grid = np.stack([g.ravel()[heavy] for g in np.meshgrid(*self.nodes, indexing="ij")], axis=1)
            return np.asarray(self.kernel.values(self.box, unit, grid) @ self.measure.ravel()[heavy])
        tables = self.axis_tables(unit)
        value = tables[0] @ self.measure.reshape(len(self.nodes[0]), -1)
        for table in tables[1:]:
            value = np.einsum("mk,mkr->mr", table, value.reshape(len(unit), table.shape[1], -1))
        return np.asarray(value.reshape(len(unit)))

    def on_grid(self, axes: Sequence[Floats]) -> Floats:
        """The values on a grid of positions in [0, 1] along each axis, as a tensor."""
        if self.kernel.diagonal:
            columns = self.box.intervals()
            tables = [
                self.kernel.axis_values(column, i, unit, self.nodes[i], self.derivatives[i])
                for i, (column, unit) in enumerate(zip(columns, axes, strict=True))
            ]
            return contract(tables, self.measure)
        grid = np.stack([g.ravel() for g in np.meshgrid(*axes, indexing="ij")], axis=1)
        return self(from_unit(self.box, grid)).reshape(tuple(map(len, axes)))

    def axis_tables(self, unit: Floats) -> list[Floats]:
        """Per axis, ``(m, nodes)``: the factors of a product kernel."""
        return [
            self.kernel.axis_values(column, i, unit[:, i], self.nodes[i], self.derivatives[i])
            for i, column in enumerate(self.box.intervals())
        ]

    def derivative(self, column: str | int | None = None) -> Mixture:
        """The partial derivative along a column."""
        axis = column_axis(self.box, column)
        return replace(self, derivatives=tuple(d + (i == axis) for i, d in enumerate(self.derivatives)))

    def integrate(self, over: SubBox | None = None) -> float:
        """The integral over the box or a sub-box; kernels reach beyond the box, so the whole may be below one."""
        if any(self.derivatives):
            raise ParameterError("integrate the function itself, not its derivative")
        start, stop = sub_box(self.box, over)
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
