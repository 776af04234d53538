"""From noisy lattice numbers to function values by fixed weights, and how far from the truth they can be.

A reconstruction is linear, so the noise in it has a law that bands can use; and it is compared with the kernel record
by record, so its error can be bounded whatever the records are. Everything here is public.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.base import Basis, LatticeBasis
from sfumato.bases.density.binning import MassLattice, contract
from sfumato.bases.density.kernel import GaussianKernel
from sfumato.bases.density.measure import smoothing_matrix
from sfumato.bases.density.mixture import node_positions
from sfumato.bases.density.prediction import Study, misses, references
from sfumato.core.box import Box, Periodic

Floats = NDArray[np.float64]

_RIDGES = (1e-4, 1e-2, 1.0)  # of the smoothing that the noise would justify
_TRIALS = 241  # positions along an axis on which the smoothing is picked
_DEVIATIONS = 4.0  # of a sample around its density, anywhere
_TYPICAL = {1: 400, 2: 60, 3: 24}  # points along each axis where the reference densities are compared
SEARCH_SLACK = 1.05  # between the searched places of a record, kernel and weights change little
_DENSE_SLACK = 1.2  # where places are searched on a coarser grid


@dataclass(frozen=True)
class Reconstruction(ABC):
    """Weights on the lattice's numbers for the value (or a derivative) at any point."""

    box: Box
    kernel: GaussianKernel

    @abstractmethod
    def axis_features(self, axis: int, unit: Floats) -> Floats:
        """``(m, n)``: what a record at each position of an axis adds to that axis's lattice numbers."""

    @abstractmethod
    def axis_weights(self, axis: int, unit: Floats, derivative: int) -> Floats:
        """``(m, n)``: one axis's factor of the weights."""

    def axis_corners(self, axis: int) -> Floats:
        """Positions where what a record adds changes suddenly: a search must not step over them."""
        return np.zeros(0)

    def weights(self, unit: Floats, derivatives: Sequence[int]) -> list[Floats]:
        """Per axis ``(m, n_j)``; their tensor products are the weights. A kernel that is no product has one table."""
        return [self.axis_weights(i, unit[:, i], d) for i, d in enumerate(derivatives)]

    def typical_miss(self, derivatives: Sequence[int], rows: float) -> float:
        """The largest miss anywhere for samples of the reference densities, whose features are about a kernel wide."""
        studies = []
        for i, column in enumerate(self.box.intervals()):
            points = np.linspace(0, 1, _TYPICAL[self.box.dimension])
            places = (np.arange(400) + 0.5) / 400
            known = references(self.kernel.resolution[i] / (column.high - column.low), places)
            wanted = self.kernel.axis_values(column, i, points, places, derivatives[i])
            given = self.axis_weights(i, points, derivatives[i]) @ self.axis_features(i, places).T
            studies.append(Study.of(known, wanted, given))
        return float(misses(studies, rows, deviations=_DEVIATIONS).max())

    def worst_miss(self, unit: Floats, derivatives: Sequence[int], places: Sequence[Floats] | None = None) -> Floats:
        """``(m,)``: a bound on the miss whatever the records are; ``places`` are where records can be, if known.

        Truth and reconstruction are means over records, so a single record is the worst data set; its place is
        searched. For products, ``|k1 k2 - l1 l2| <= |k1 - l1| max|k2| + max|l1| |k2 - l2|``, and so on.
        """
        total, before = np.zeros(len(unit)), np.ones(len(unit))
        for i, column in enumerate(self.box.intervals()):
            where = searched_places(self, i) if places is None else places[i]
            wanted = self.kernel.axis_values(column, i, unit[:, i], where, derivatives[i])
            given = self.axis_weights(i, unit[:, i], derivatives[i]) @ self.axis_features(i, where).T
            total = total * np.abs(wanted).max(axis=1) + before * np.abs(wanted - given).max(axis=1)
            before = before * np.abs(given).max(axis=1)
        return SEARCH_SLACK * total


@dataclass(frozen=True)
class PolynomialReconstruction(Reconstruction):
    """The paper's: kernel values on the Bernstein lattice, evaluated as a polynomial."""

    basis: LatticeBasis

    def axis_features(self, axis: int, unit: Floats) -> Floats:
        points = np.arange(self.basis.shape(self.box)[axis]) / self.basis.degrees(self.box)[axis]
        return self.kernel.axis_values(self.box.intervals()[axis], axis, unit, points)

    def axis_weights(self, axis: int, unit: Floats, derivative: int) -> Floats:
        column = self.box.intervals()[axis]
        scale: float = (column.high - column.low) ** -derivative
        return self.basis.axis_weights(self.box, axis, unit, derivative) * scale

    def axis_sum(self, axis: int) -> float:
        """The largest sum of kernel values on the lattice that a record anywhere can have along an axis, from above."""
        places = np.linspace(0, 1, 20 * self.basis.degrees(self.box)[axis] + 1)  # lattice points and midpoints too
        return float(self.axis_features(axis, places).sum(axis=1).max()) * (1 + 1e-9)

    @property
    def largest_sum(self) -> float:
        """The same over all axes."""
        return math.prod(self.axis_sum(axis) for axis in range(self.box.dimension))


@dataclass(frozen=True)
class MeasureReconstruction(Reconstruction):
    """The smooth signed measure that fits the lattice masses, seen through the kernel.

    ``variance`` is that of the noise in each mass, relative to a total of one. The noisier, the smoother; how much is
    picked so that noise and worst case together are small. Along the axes ``whole`` all records lie on lattice points,
    and so does the measure.
    """

    basis: MassLattice
    variance: float
    whole: tuple[int, ...] = ()

    @cached_property
    def axes(self) -> list[tuple[Floats, Floats]]:
        """Per axis, the nodes' positions and the ``(nodes, n)`` matrix from masses to a signed measure."""
        fine = node_positions(self.box, self.kernel)
        nodes = [self.basis.positions(self.box, i) if i in self.whole else n for i, n in enumerate(fine)]
        return [(places, self._matrix(i, places)) for i, places in enumerate(nodes)]

    def _matrix(self, axis: int, nodes: Floats) -> Floats:
        column, shape = self.box.intervals()[axis], self.basis.shape(self.box)
        variance = self.variance * (math.prod(shape) / shape[axis]) ** 2  # the same noise relative to the mean mass
        middle = np.linspace(0, 1, _TRIALS)[_TRIALS // 4 : -_TRIALS // 4 : 2]
        places = nodes if axis in self.whole else np.linspace(0, 1, _TRIALS)
        # For a kernel that is no product, its factors given the other columns stand in.
        kernel = self.kernel if self.kernel.diagonal else GaussianKernel.of(self.kernel.resolution, self.box)
        wanted = kernel.axis_values(column, axis, middle, places)
        smooth = kernel.axis_values(column, axis, middle, nodes)
        shares, given = self.basis.axis_shares(self.box, axis, nodes), self.axis_features(axis, places)
        best, least = None, math.inf
        for ridge in _RIDGES:
            matrix = smoothing_matrix(shares, ridge * variance, isinstance(column, Periodic))
            weights = smooth @ matrix
            noise = 3 * math.sqrt(variance) * np.linalg.norm(weights, axis=1).mean()
            cost = float(np.abs(wanted - weights @ given.T).max(axis=1).mean() + noise)
            if cost < least:
                best, least = matrix, cost
        assert best is not None
        return best

    def axis_features(self, axis: int, unit: Floats) -> Floats:
        return np.asarray(self.basis.axis_shares(self.box, axis, unit).toarray())

    def axis_corners(self, axis: int) -> Floats:
        column, count = self.box.intervals()[axis], self.basis.shape(self.box)[axis]
        steps = count if isinstance(column, Periodic) else count - 1
        # The lattice points, and just before and after the middles, where narrow shares go to the next point.
        near = np.arange(steps)[:, None] + np.append(np.arange(8) / 8, [0.499, 0.501])
        return np.append(near.ravel() / steps, 1.0)

    def axis_weights(self, axis: int, unit: Floats, derivative: int) -> Floats:
        nodes, matrix = self.axes[axis]
        return self.kernel.axis_values(self.box.intervals()[axis], axis, unit, nodes, derivative) @ matrix

    def weights(self, unit: Floats, derivatives: Sequence[int]) -> list[Floats]:
        if self.kernel.diagonal:
            return super().weights(unit, derivatives)
        return [self._through(unit, [nodes for nodes, _ in self.axes], [matrix.T for _, matrix in self.axes])]

    def _through(self, unit: Floats, places: Sequence[Floats], tables: Sequence[Floats]) -> Floats:
        """Kernel rows between points and a grid of places, with a table applied along each axis."""
        return np.array([contract(tables, self._rows(p, places)).ravel() for p in unit]).reshape(len(unit), -1)

    def _rows(self, point: Floats, places: Sequence[Floats]) -> Floats:
        grid = np.stack([g.ravel() for g in np.meshgrid(*places, indexing="ij")], axis=1)
        return self.kernel.values(self.box, point[None, :], grid).reshape(tuple(map(len, places)))

    def typical_miss(self, derivatives: Sequence[int], rows: float) -> float:
        if self.kernel.diagonal:
            return super().typical_miss(derivatives, rows)
        details = [d / w for w, d in zip(self.box.high - self.box.low, self.kernel.resolution, strict=True)]
        places = [(np.arange(n) + 0.5) / n for n in (int(min(96, max(24, 4 / d))) for d in details)]
        known = [references(d, p) for d, p in zip(details, places, strict=True)]
        axes = np.meshgrid(*([np.linspace(0, 1, 12)] * self.box.dimension), indexing="ij")
        largest = 0.0
        for miss in self._dense_misses(np.stack([a.ravel() for a in axes], axis=1), places):
            for weights in zip(*known, strict=True):
                mean, square = miss, miss * miss  # the sample scatters round the mean, as in ``misses``
                for row in reversed(weights):
                    mean, square = mean @ row, square @ row
                largest = max(largest, math.hypot(float(mean), _DEVIATIONS * math.sqrt(float(square) / max(rows, 1.0))))
        return largest

    def worst_miss(self, unit: Floats, derivatives: Sequence[int], places: Sequence[Floats] | None = None) -> Floats:
        if self.kernel.diagonal:
            return super().worst_miss(unit, derivatives, places)
        details = (self.box.high - self.box.low) / np.array(self.kernel.resolution)
        searched = [
            np.union1d(np.linspace(0, 1, int(min(96, max(24, 4 * detail)))), self.axis_corners(i))
            for i, detail in enumerate(details)
        ]
        largest = [float(np.abs(miss).max()) for miss in self._dense_misses(unit, searched)]
        return _DENSE_SLACK * np.array(largest).reshape(len(unit))

    def _dense_misses(self, unit: Floats, places: Sequence[Floats]) -> Iterator[Floats]:
        """For each point, kernel minus reconstruction on a grid of places, for a kernel that is no product."""
        nodes, tables = [nodes for nodes, _ in self.axes], [matrix.T for _, matrix in self.axes]
        features = [self.axis_features(i, p) for i, p in enumerate(places)]
        for point in unit:
            weights = contract(tables, self._rows(point, nodes))
            yield self._rows(point, places) - contract(features, weights)


def searched_places(linear: Reconstruction, axis: int) -> Floats:
    """Where a record is tried out along an axis: a few times for each deviation of the kernel, and at every corner."""
    if isinstance(linear, MeasureReconstruction) and axis in linear.whole:
        return linear.basis.positions(linear.box, axis)
    column = linear.box.intervals()[axis]
    detail = (column.high - column.low) / linear.kernel.resolution[axis]
    return np.union1d(np.linspace(0, 1, int(min(4000, max(60, 12 * detail)))), linear.axis_corners(axis))


@lru_cache(maxsize=16)
def reconstruction(
    box: Box, kernel: GaussianKernel, basis: Basis, variance: float, whole: tuple[int, ...] = ()
) -> Reconstruction:
    """The reconstruction that belongs to a basis; ``whole`` are axes along which records lie on its points."""
    if isinstance(basis, LatticeBasis):
        return PolynomialReconstruction(box, kernel, basis)
    assert isinstance(basis, MassLattice)
    return MeasureReconstruction(box, kernel, basis, variance, whole)
