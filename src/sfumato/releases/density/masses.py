"""Noisy lattice masses, and what can be said of the density behind them.

All of it is post-processing: the masses are public, and so is the law of their noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sfumato.bases.base import Basis, LatticeBasis, frozen
from sfumato.bases.density.binning import MassLattice, along, contract
from sfumato.bases.density.kernel import GaussianKernel
from sfumato.bases.density.measure import nearest_measure
from sfumato.bases.density.mixture import Mixture, node_positions
from sfumato.bases.density.placement import Placement, rough_masses
from sfumato.bases.density.questions import Asked
from sfumato.bases.density.reconstruction import (
    MeasureReconstruction,
    PolynomialReconstruction,
    Reconstruction,
    reconstruction,
)
from sfumato.bases.density.rule import whole_axes
from sfumato.bases.lattice.expansion import Expansion
from sfumato.bases.places import Places
from sfumato.core.box import Box, Periodic
from sfumato.core.calibration import NoiseLaw
from sfumato.errors import ParameterError
from sfumato.laws import noise_deviation, sum_deviation
from sfumato.releases.uncertainty import half_width_at, half_width_of, row_products, tail_width
from sfumato.threads import on_one_thread

Floats = NDArray[np.float64]
INCLUDES = ("noise", "total", "worst")

_REST = 0.1  # of what may go wrong, for the noise in what is missed
_FINE, _SEARCHED = 8, 1.02  # knots for each deviation of the kernel, and what may lie between them
_AT_ONCE = 4096  # scattered points whose misses are worked out together
_LARGEST_GRID, _MANY = 2**60, 4  # knots, and how many of them for each point are still less work than the point
_TRUSTED = 3.0  # deviations within which the noisy total is taken to be the public number of rows


@dataclass(frozen=True, eq=False)
class NoisyMasses:
    """What a density release was given: noisy sums over records on a lattice.

    Parameters
    ----------
    values
        The noisy sums, in records.
    rows, complete
        The public number of rows (None where it is private), and whether each of them certainly counts.
    cells
        Along each axis, how many cells records were counted in.
    """

    domain: Box
    kernel: GaussianKernel
    lattice: Basis
    values: Floats
    law: NoiseLaw
    rows: int | None
    complete: bool
    cells: tuple[int, ...]

    def __post_init__(self) -> None:
        size = self.lattice.size(self.domain)
        if self.values.shape != (size,) or self.law.size != size:
            raise ParameterError(f"expected {size} masses and a noise law of that size, got {len(self.values)}")
        if isinstance(self.lattice, LatticeBasis) and self.rows is None:
            raise ParameterError(
                "sf.Bernstein needs a public number of rows (neighbours='replace', unit='row', no by); use basis='auto'"
            )
        if (self.complete and self.rows is None) or len(self.cells) != self.domain.dimension:
            raise ParameterError("the masses' number of rows and cells do not fit what is said of them")
        object.__setattr__(self, "values", frozen(self.values))

    @property
    def scale(self) -> float:
        """What one unit of the values is worth: one record's mass, or its largest sum of kernel values."""
        if isinstance(self.lattice, LatticeBasis):
            return PolynomialReconstruction(self.domain, self.kernel, self.lattice).largest_sum
        return 1.0

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise in each value."""
        return noise_deviation(self.law)

    @property
    def counts_everyone(self) -> bool:
        """Whether the density's denominator is the public number of rows."""
        return self.rows is not None and (self.complete or isinstance(self.lattice, LatticeBasis))

    @cached_property
    def _sum(self) -> float:
        return float(self.values.sum())

    @cached_property
    def _unsure(self) -> float:
        return sum_deviation(self.law, len(self.values))

    @property
    def _all_rows(self) -> bool:
        """Whether every row is taken to count: as stated, or as nothing suggests that one is missing."""
        if self.rows is None:
            return False
        return self.counts_everyone or self._sum > self.rows - _TRUSTED * self._unsure

    @property
    def counted(self) -> float:
        """How many records there seem to be: the public number of rows, or the noisy sum of all masses."""
        return float(self.rows) if self._all_rows and self.rows is not None else max(self._sum, 0.0)

    @cached_property
    def total(self) -> float:
        """What masses are divided by: as many records as there seem to be, but not fewer than noise alone shows."""
        return max(self.counted, 1.0) if self._all_rows else max(self.counted, self._unsure, 1.0)

    @property
    def _tensor(self) -> Floats:
        shape = self.lattice.shape(self.domain)  # type: ignore[attr-defined]
        return self.values.reshape(shape) * (self.scale / self.total)

    @property
    def whole(self) -> tuple[int, ...]:
        """The columns of whole numbers whose records lie on lattice points, and nowhere else."""
        return whole_axes(self.domain, self.lattice, self.cells) if isinstance(self.lattice, MassLattice) else ()

    def reconstruction(self, kept: Sequence[int] | None = None) -> Reconstruction:
        """Linear weights for the density, or for that of some of the columns."""
        variance = (self.deviation / self.total) ** 2
        if kept is None or len(kept) == self.domain.dimension:
            return reconstruction(self.domain, self.kernel, self.lattice, variance, self.whole)
        assert isinstance(self.lattice, MassLattice)
        few = along(self.lattice, kept, self.domain.dimension)
        box, kernel = kept_box(self.domain, kept), kept_kernel(self.kernel, kept)
        lost = self.lattice.size(self.domain) / few.size(box)
        whole = tuple(i for i, axis in enumerate(kept) if axis in self.whole)
        return MeasureReconstruction(box, kernel, few, variance * lost, whole)

    @on_one_thread
    def surface(self, post: str) -> Mixture | Expansion:
        """The density: of the nearest probability measure, or by linear reconstruction."""
        if post == "none" and isinstance(self.lattice, LatticeBasis):
            return Expansion(self.lattice, self.domain, self._tensor.ravel())
        linear = self.reconstruction()
        if post == "none":
            assert isinstance(linear, MeasureReconstruction)
            return Mixture(self.domain, self.kernel, contract([matrix for _, matrix in linear.axes], self._tensor))
        smooth, nodes = None, node_positions(self.domain, self.kernel)
        if isinstance(linear, MeasureReconstruction):
            smooth = contract([matrix for _, matrix in linear.axes], self._tensor)
            nodes = [places for places, _ in linear.axes]
        features = [sparse.csr_array(linear.axis_features(i, u)) for i, u in enumerate(nodes)]
        wrapped = [isinstance(c, Periodic) for c in self.domain.intervals()]
        variance = (self.deviation * self.scale / self.total) ** 2
        return Mixture(self.domain, self.kernel, nearest_measure(features, self._tensor, variance, wrapped, smooth))

    @on_one_thread
    def limits(
        self, unit: Floats, derivatives: Sequence[int], kept: Sequence[int], confidence: float, include: str
    ) -> tuple[Floats, Floats]:
        """Lower and upper limits for the density (or a derivative) at all points at once."""
        linear = self.reconstruction(kept)
        noise, rest = _shared(confidence, include)
        sums, widths = self._noisy(linear, unit, derivatives, kept, noise)
        missed = self._missed(linear, unit, derivatives, kept, rest, self._most(float(widths[-1])), include)
        error = widths[:-1] * self.scale + missed
        return self._divide(sums - error, sums + error, float(widths[-1]))

    @on_one_thread
    def sum_limits(self, unit: Floats, confidence: float, include: str) -> tuple[Floats, Floats]:
        """The same for the sum over records of kernels at each point: no division by an uncertain total."""
        every, still = range(self.domain.dimension), (0,) * self.domain.dimension
        linear = self.reconstruction()
        noise, rest = _shared(confidence, include)
        sums, widths = self._noisy(linear, unit, still, every, noise, include != "noise")
        missed = self._missed(linear, unit, still, every, rest, self._most(float(widths[-1:].sum())), include)
        error = widths[: len(sums)] * self.scale + missed
        return sums - error, sums + error

    def _most(self, unsure: float) -> float:
        """How many records there may be, if the noisy total is no further off than this."""
        if self.counts_everyone:
            return self.total
        most = max(0.0, float(self.values.sum()) + unsure)
        return most if self.rows is None else min(most, float(self.rows))

    def _noisy(
        self,
        linear: Reconstruction,
        unit: Floats,
        derivatives: Sequence[int],
        kept: Sequence[int],
        confidence: float,
        total: bool = True,
    ) -> tuple[Floats, Floats]:
        """The weighted sums of the values, and how far noise moves them; last, how far it moves the ``total``."""
        shape = self.lattice.shape(self.domain)  # type: ignore[attr-defined]
        if not linear.kernel.diagonal:
            tables = self._spread(linear.weights(unit, derivatives), kept, shape)
            rows = np.concatenate([tables, np.ones((1, self.law.size))]) if total else tables
            return tables @ self.values * self.scale, half_width_of([rows], self.law, confidence)
        where = {axis: i for i, axis in enumerate(kept)}

        def weigh(axis: int, coordinates: Floats) -> Floats:
            if axis not in where:  # every mass counts for the columns that are kept
                return np.ones((len(coordinates), shape[axis]))
            return linear.axis_weights(where[axis], coordinates, derivatives[where[axis]])

        still = np.zeros((len(unit), len(shape)))
        still[:, list(kept)] = unit
        places = Places.of(still)
        sums = places.apply(weigh, self.values.reshape(shape)) * self.scale
        return sums, half_width_at(weigh, places, self.law, confidence, total)

    def _missed(
        self,
        linear: Reconstruction,
        unit: Floats,
        derivatives: Sequence[int],
        kept: Sequence[int],
        rest: float,
        most: float,
        include: str,
    ) -> Floats | float:
        """What the basis misses, summed over the records: nothing of what it would show without noise.

        ``rest`` is what may go wrong with the noise in the bound itself, ``most`` how many records there may be.
        """
        if include == "noise":
            return 0.0
        if not isinstance(linear, MeasureReconstruction) or not linear.kernel.diagonal:
            every = linear.worst_miss(unit, derivatives)
            found = every if include == "worst" else np.minimum(every, linear.typical_miss(derivatives, self.total))
            return most * (found + self._rounding(kept, derivatives))
        places = Places.of(unit)
        if places.on_grid or len(unit) <= _AT_ONCE:
            return self._placed(linear, places, derivatives, kept, rest / max(1, len(unit)), most, include)
        around = _around(linear, unit)
        if around is not None:  # far more points than the kernel can tell apart: the largest at the corners around each
            corners, index = around
            found = self._placed(linear, corners, derivatives, kept, rest / len(corners), most, include)
            return np.asarray(_SEARCHED * found[index].max(axis=1))
        blocks = [Places.of(unit[start : start + _AT_ONCE]) for start in range(0, len(unit), _AT_ONCE)]
        each = rest / len(unit)
        return np.concatenate([self._placed(linear, block, derivatives, kept, each, most, include) for block in blocks])

    def _placed(
        self,
        linear: MeasureReconstruction,
        places: Places,
        derivatives: Sequence[int],
        kept: Sequence[int],
        miss: float,
        most: float,
        include: str,
    ) -> Floats:
        """The same from the masses of the columns that are kept, for a kernel that is a product."""
        placement = Placement.of(linear, places, derivatives, self._halves(kept))
        return self._bounded(placement, linear.basis, linear.box, kept, miss, most, include)

    def _halves(self, kept: Sequence[int]) -> list[float]:
        """Half the side of the cells that records are counted in, along the axes that are kept."""
        return [0.5 / self.cells[axis] for axis in kept]

    def _masses_of(self, kept: Sequence[int]) -> Floats:
        """The noisy masses of some columns, whatever the others are."""
        gone = tuple(axis for axis in range(self.domain.dimension) if axis not in kept)
        shape = self.lattice.shape(self.domain)  # type: ignore[attr-defined]
        return np.asarray(self.values.reshape(shape).sum(axis=gone))

    def _bounded(
        self,
        placement: Placement,
        basis: MassLattice,
        box: Box,
        kept: Sequence[int],
        miss: float,
        most: float,
        include: str,
    ) -> Floats:
        """A bound on the misses of a placement, summed over the records.

        Any records have misses below the masses times their envelope, as far as noise lets the masses be known (at each
        point, all but ``miss``). If records lie alike in neighbouring cells where masses are smooth, often far below.
        """
        masses = self._masses_of(kept)
        lost = self.law.size / masses.size
        norm, peak = placement.reach()
        unsure = tail_width(self.law, norm * math.sqrt(lost), peak, miss)
        worst = np.clip(placement.worst(masses) + unsure, 0.0, most * placement.single())
        if include == "worst":
            return worst
        deviation = self.deviation * math.sqrt(lost)
        rough = rough_masses(masses, deviation, basis, box)
        return np.minimum(placement.alike(masses, deviation) + placement.worst(rough), worst)

    @on_one_thread
    def answer_limits(
        self, asked: Sequence[Asked], kept: Sequence[int], confidence: float, include: str
    ) -> tuple[Floats, Floats]:
        """Limits for means over records of questions that are products along the columns kept, all at once.

        Weights are taken from their mean over the lattice: as shares add up to one, that moves every answer by the same
        known number, and less noise reaches it.
        """
        weights = reduce(row_products, [one.weights for one in asked])
        count, middle = len(weights), weights.mean(axis=1)
        noise, rest = _shared(confidence, include)
        rows = np.concatenate([weights - middle[:, None], np.ones((1, weights.shape[1]))])
        others = np.ones((count + 1, self.law.size // weights.shape[1]))
        widths = half_width_of([rows, others], self.law, noise)
        every = np.arange(count)
        places = Places([every.astype(np.float64)] * len(kept), (every,) * len(kept))
        placement = Placement(places, self._halves(kept), [one.misses for one in asked])
        assert isinstance(self.lattice, MassLattice)
        basis, box = along(self.lattice, kept, self.domain.dimension), kept_box(self.domain, kept)
        most = self._most(float(widths[-1]))
        error = widths[:-1] + self._bounded(placement, basis, box, kept, rest / max(1, count), most, include)
        sums = rows[:-1] @ self._masses_of(kept).ravel()
        low, high = self._divide(sums - error, sums + error, float(widths[-1]))
        return low + middle, high + middle

    def _divide(self, low: Floats, high: Floats, unsure: float) -> tuple[Floats, Floats]:
        """Limits for sums become limits for means, whose denominator may itself be uncertain."""
        if self.counts_everyone:
            return low / self.total, high / self.total
        noisy = float(self.values.sum())
        most = noisy + unsure if self.rows is None else min(noisy + unsure, float(self.rows))
        least = noisy - unsure
        most = max(most, 1.0)
        least_safe = least if least > 0 else float("nan")
        lows = np.where(low > 0, low / most, low / least_safe)
        highs = np.where(high > 0, high / least_safe, high / most)
        return np.where(np.isnan(lows), -np.inf, lows), np.where(np.isnan(highs), np.inf, highs)

    @staticmethod
    def _spread(tables: list[Floats], kept: Sequence[int], shape: Sequence[int]) -> Floats:
        """Weights on the masses of some columns as weights on all masses, for a kernel that is no product."""
        rows, inner = len(tables[0]), tuple(size if axis in kept else 1 for axis, size in enumerate(shape))
        return np.broadcast_to(tables[0].reshape(rows, *inner), (rows, *shape)).reshape(rows, -1)

    def _rounding(self, kept: Sequence[int], derivatives: Sequence[int]) -> float:
        """Records are counted in cells: the kernel may be up to half a cell off."""
        box, kernel = kept_box(self.domain, kept), kept_kernel(self.kernel, kept)
        halves = np.array([0.5 / self.cells[i] for i in kept])
        return float((kernel.slope(box, derivatives) * (box.high - box.low) * halves).sum())


def _around(linear: Reconstruction, unit: Floats) -> tuple[Places, NDArray[np.intp]] | None:
    """Knots around scattered points, of a grid an eighth of the kernel fine, and for each point its ``2**l`` corners.

    None where they would be no less work than the points.
    """
    sides = (linear.box.high - linear.box.low) / np.array(linear.kernel.deviations)
    low, high = unit.min(axis=0), unit.max(axis=0)
    counts = np.ceil(_FINE * sides * (high - low)) + 2
    if counts.max() > len(unit) or math.prod(counts.tolist()) > _LARGEST_GRID:
        return None
    shape = tuple(int(count) for count in counts)
    axes = [np.linspace(a, max(b, a), n) for a, b, n in zip(low, high, shape, strict=True)]
    steps = np.maximum((high - low) / (counts - 1), 1e-300)
    first = np.minimum(((unit - low) / steps).astype(np.intp), np.array(shape) - 2)
    corners = [first + np.array(offset) for offset in product((0, 1), repeat=len(shape))]
    used, found = np.unique([np.ravel_multi_index(tuple(c.T), shape) for c in corners], return_inverse=True)
    if len(used) > _MANY * len(unit):
        return None
    return Places(axes, np.unravel_index(used, shape)), found.reshape(len(corners), -1).T


def _shared(confidence: float, include: str) -> tuple[float, float]:
    """The confidence of the noise's own limits, and what may go wrong with those of what is missed."""
    if include == "noise":
        return confidence, 0.0
    return 1 - (1 - _REST) * (1 - confidence), _REST * (1 - confidence)


def kept_box(domain: Box, kept: Sequence[int]) -> Box:
    """The box of some of the columns."""
    if domain.named:
        return Box({domain.names[i]: domain.columns[i] for i in kept})
    return Box([domain.columns[i] for i in kept]) if len(kept) < domain.dimension else domain


def kept_kernel(kernel: GaussianKernel, kept: Sequence[int]) -> GaussianKernel:
    """The kernel of some of the columns: the others are integrated out."""
    return GaussianKernel(tuple(tuple(kernel.covariance[i][j] for j in kept) for i in kept))
