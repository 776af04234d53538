"""Noisy lattice masses, and what can be said of the density behind them.

All of it is post-processing: the masses are public, and so is the law of their noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sfumato.bases.base import Basis, LatticeBasis
from sfumato.bases.density.binning import MassLattice, along, contract
from sfumato.bases.density.kernel import GaussianKernel
from sfumato.bases.density.measure import nearest_measure
from sfumato.bases.density.mixture import Mixture, node_positions
from sfumato.bases.density.reconstruction import (
    MeasureReconstruction,
    PolynomialReconstruction,
    Reconstruction,
    reconstruction,
)
from sfumato.bases.lattice.expansion import Expansion
from sfumato.core.box import Box, Periodic
from sfumato.core.calibration import NoiseLaw
from sfumato.errors import ParameterError
from sfumato.laws import noise_deviation
from sfumato.releases.uncertainty import half_width_of
from sfumato.threads import on_one_thread

Floats = NDArray[np.float64]
INCLUDES = ("noise", "total", "worst")

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
        object.__setattr__(self, "values", np.frombuffer(self.values.astype(np.float64).tobytes()))

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
    def total(self) -> float:
        """The number of records that the density describes: public, or the noisy sum of all masses."""
        if self.counts_everyone:
            assert self.rows is not None
            return max(1.0, float(self.rows))
        unsure = self.deviation * math.sqrt(len(self.values))
        noisy = float(self.values.sum())
        if self.rows is not None and noisy > self.rows - _TRUSTED * unsure:
            return max(1.0, float(self.rows))  # nothing suggests that a record is missing
        return max(noisy, unsure, 1.0)

    @property
    def _tensor(self) -> Floats:
        shape = self.lattice.shape(self.domain)  # type: ignore[attr-defined]
        return self.values.reshape(shape) * (self.scale / self.total)

    def reconstruction(self, kept: Sequence[int] | None = None) -> Reconstruction:
        """Linear weights for the density, or for that of some of the columns."""
        variance = (self.deviation / self.total) ** 2
        if kept is None or len(kept) == self.domain.dimension:
            return reconstruction(self.domain, self.kernel, self.lattice, variance)
        assert isinstance(self.lattice, MassLattice)
        few = along(self.lattice, kept, self.domain.dimension)
        box, kernel = kept_box(self.domain, kept), kept_kernel(self.kernel, kept)
        lost = self.lattice.size(self.domain) / few.size(box)
        return MeasureReconstruction(box, kernel, few, variance * lost)

    @on_one_thread
    def surface(self, post: str) -> Mixture | Expansion:
        """The density: of the nearest probability measure, or by linear reconstruction."""
        if post == "none" and isinstance(self.lattice, LatticeBasis):
            return Expansion(self.lattice, self.domain, self._tensor.ravel())
        linear = self.reconstruction()
        if post == "none":
            assert isinstance(linear, MeasureReconstruction)
            return Mixture(self.domain, self.kernel, contract([matrix for _, matrix in linear.axes], self._tensor))
        smooth = None
        if isinstance(linear, MeasureReconstruction):
            smooth = contract([matrix for _, matrix in linear.axes], self._tensor)
        nodes = node_positions(self.domain, self.kernel)
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
        tables = self._spread(linear.weights(unit, derivatives), kept)
        ones = [np.concatenate([t, np.ones((1, t.shape[1]))]) for t in tables]  # the last row is the total
        widths = half_width_of(ones, self.law, confidence)
        sums, error = self._apply(tables) * self.scale, widths[:-1] * self.scale
        low, high = self._divide(sums - error, sums + error, float(widths[-1]))
        missed = self._missed(linear, unit, derivatives, kept, include)
        return low - missed, high + missed

    @on_one_thread
    def sum_limits(self, unit: Floats, confidence: float, include: str) -> tuple[Floats, Floats]:
        """The same for the sum over records of kernels at each point: no division by an uncertain total."""
        every, still = range(self.domain.dimension), (0,) * self.domain.dimension
        linear = self.reconstruction()
        tables = linear.weights(unit, still)
        sums = self._apply(tables) * self.scale
        if include == "noise":
            error = half_width_of(tables, self.law, confidence) * self.scale
            return sums - error, sums + error
        ones = [np.concatenate([t, np.ones((1, t.shape[1]))]) for t in tables]  # the last row is the total
        widths = half_width_of(ones, self.law, confidence)
        most = max(0.0, float(self.values.sum() + widths[-1]))  # each record is missed: as many as there may be
        error = widths[:-1] * self.scale + most * self._missed(linear, unit, still, every, include)
        return sums - error, sums + error

    def _missed(
        self, linear: Reconstruction, unit: Floats, derivatives: Sequence[int], kept: Sequence[int], include: str
    ) -> Floats | float:
        """What the basis misses of the density: nothing of what it would show without noise."""
        if include == "noise":
            return 0.0
        if include == "total":
            missed: Floats | float = linear.typical_miss(derivatives, self.total)
        else:
            missed = linear.worst_miss(unit, derivatives)
        return missed + self._rounding(kept, derivatives)

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

    def _spread(self, tables: list[Floats], kept: Sequence[int]) -> list[Floats]:
        """Weights on the masses of some columns as weights on all masses: every mass counts for its columns."""
        shape = self.lattice.shape(self.domain)  # type: ignore[attr-defined]
        rows = len(tables[0])
        if len(kept) == len(shape):
            return tables
        if len(tables) == len(kept):
            found = dict(zip(kept, tables, strict=True))
            return [found.get(axis, np.ones((rows, size))) for axis, size in enumerate(shape)]
        inner = tuple(size if axis in kept else 1 for axis, size in enumerate(shape))
        return [np.broadcast_to(tables[0].reshape(rows, *inner), (rows, *shape)).reshape(rows, -1)]

    def _apply(self, tables: list[Floats]) -> Floats:
        """The weighted sums of the values."""
        rows = len(tables[0])
        if len(tables) == 1:
            return np.asarray(tables[0] @ self.values)
        value = tables[0] @ self.values.reshape(tables[0].shape[1], -1)
        for table in tables[1:]:
            value = np.einsum("mk,mkr->mr", table, value.reshape(rows, table.shape[1], -1))
        return np.asarray(value.reshape(rows))

    def _rounding(self, kept: Sequence[int], derivatives: Sequence[int]) -> float:
        """Records are counted in cells: the kernel may be up to half a cell off."""
        box, kernel = kept_box(self.domain, kept), kept_kernel(self.kernel, kept)
        halves = np.array([0.5 / self.cells[i] for i in kept])
        return float((kernel.slope(box, derivatives) * (box.high - box.low) * halves).sum())


def kept_box(domain: Box, kept: Sequence[int]) -> Box:
    """The box of some of the columns."""
    if domain.named:
        return Box({domain.names[i]: domain.columns[i] for i in kept})
    return Box([domain.columns[i] for i in kept]) if len(kept) < domain.dimension else domain


def kept_kernel(kernel: GaussianKernel, kept: Sequence[int]) -> GaussianKernel:
    """The kernel of some of the columns: the others are integrated out."""
    return GaussianKernel(tuple(tuple(kernel.covariance[i][j] for j in kept) for i in kept))
