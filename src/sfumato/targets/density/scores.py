"""Private scores for choices that look at the data: how good a bandwidth, or a basis, would be.

Each score is an average over records, or over pairs of them, so one record moves it by a known amount: the second value
of each function (docs/proofs/cross-validation.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.base import Basis
from sfumato.bases.density.binning import contract
from sfumato.bases.density.kernel import GaussianKernel
from sfumato.bases.density.mixture import node_positions
from sfumato.bases.density.reconstruction import reconstruction
from sfumato.core.box import Box, Periodic
from sfumato.errors import ParameterError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_COARSE = {1: 2048, 2: 256, 3: 64}  # cells along each axis, for pairs of records
_POINTS = {1: 200, 2: 24, 3: 10}  # along each axis, where reconstructions are compared
_ROUNDING = 1 + 1e-6  # kernel values are a little off
_SUMS = 1e-10  # and so are sums of up to 2**18 doubles, however many records they count


def cross_validation(
    domain: Box, kernels: Sequence[GaussianKernel], counts: Integers, n: int, extra: Sequence[float]
) -> tuple[list[float], float]:
    """Minus the least-squares cross-validation of each kernel, minus public extras; and the sensitivity.

    ``1/n^2 sum_ij K_{2H}(x_i - x_j) - 2/(n (n-1)) sum_{i != j} K_H(x_i - x_j)`` estimates the integrated squared error
    up to a constant. One record is in 2 n - 1 of the first pairs and in 2 (n - 1) of the second, with opposite signs.
    """
    coarse = _coarsen(counts, _COARSE[domain.dimension])
    present = float(coarse.sum())
    scores, sensitivity = [], 0.0
    for kernel, more in zip(kernels, extra, strict=True):
        node_positions(domain, kernel)  # refuses a kernel that no lattice resolves, before anything is paid
        double = GaussianKernel(tuple(tuple(2 * v for v in row) for row in kernel.covariance))
        peak, double_peak = kernel.peak(domain), double.peak(domain)
        first = _pairs(domain, double, coarse) / n**2
        second = (_pairs(domain, kernel, coarse) - present * peak) * 2 / (n * max(1, n - 1))
        scores.append(-(first - second) - more)
        move = _largest_move(domain, peak, double_peak, n)
        sensitivity = max(sensitivity, _rounded_up(move, 2 * double_peak + 4 * peak, more))
    return scores, sensitivity


def _largest_move(domain: Box, peak: float, double_peak: float, n: int) -> float:
    """Highest minus lowest value of ``4 K_H - 2 (n-1)/n K_{2H}``, over n: how far one record moves the score.

    Highest where records coincide. Lowest, for ``K_H = peak u^2`` and ``K_{2H} = double_peak u``, at the bottom of a
    parabola; wrapped kernels are not of this form, there it is at least minus twice the peak of ``K_{2H}``.
    """
    highest = 4 * peak - 2 * double_peak * (n - 1) / n
    wrapped = any(isinstance(column, Periodic) for column in domain.columns)
    lowest = 2 * double_peak if wrapped else double_peak**2 / (4 * peak)
    return (highest + lowest) / n


def _rounded_up(move: float, size: float, more: float) -> float:
    """A bound for exact numbers as one for sums of doubles, of this largest size per record, plus a public number."""
    return move * _ROUNDING + size * _SUMS + abs(more) * 2.0**-50


def reconstruction_miss(
    domain: Box, kernel: GaussianKernel, bases: Sequence[Basis], counts: Integers, n: int, noise: Sequence[float]
) -> tuple[list[float], float]:
    """Minus the largest difference between each basis's noise-free density and the true one, minus its noise.

    Both densities are means over records, so the difference at a point moves by at most ``2 / n`` times the largest
    that one record can make it; a maximum over points moves no further.
    """
    if not kernel.diagonal:
        raise ParameterError("selecting a basis by the data needs a bandwidth per column, not a bandwidth matrix")
    count = _POINTS[domain.dimension]
    grid = np.meshgrid(*([(np.arange(count) + 0.5) / count] * domain.dimension), indexing="ij")
    unit = np.stack([g.ravel() for g in grid], axis=1)
    places = [(np.arange(size) + 0.5) / size for size in counts.shape]
    still = (0,) * domain.dimension
    columns = domain.intervals()
    wanted = [kernel.axis_values(c, i, unit[:, i], p) for i, (c, p) in enumerate(zip(columns, places, strict=True))]
    truth = _means(wanted, counts)
    scores, sensitivity = [], 0.0
    for basis, more in zip(bases, noise, strict=True):
        linear = reconstruction(domain, kernel, basis, 0.0)
        weights = linear.weights(unit, still)
        given = [w @ linear.axis_features(i, p).T for i, (w, p) in enumerate(zip(weights, places, strict=True))]
        scores.append(-float(np.abs(_means(given, counts) - truth).max()) / n - more)
        size = sum(math.prod(float(np.abs(t).max()) for t in tables) for tables in (wanted, given))
        move = 2 * float(linear.worst_miss(unit, still, places).max()) / n
        sensitivity = max(sensitivity, _rounded_up(move, size, more))
    return scores, sensitivity


def _coarsen(counts: Integers, limit: int) -> Floats:
    for axis, size in enumerate(counts.shape):
        factor = max(1, size // limit)
        shape = (*counts.shape[:axis], size // factor, factor, *counts.shape[axis + 1 :])
        counts = counts.reshape(shape).sum(axis=axis + 1)
    return counts.astype(np.float64)


def _pairs(domain: Box, kernel: GaussianKernel, counts: Floats) -> float:
    """The sum of the kernel over all ordered pairs of records, each with itself too."""
    if not kernel.diagonal:
        return _pairs_by_rows(domain, kernel, counts)
    centres = [(np.arange(size) + 0.5) / size for size in counts.shape]
    tables = [kernel.axis_values(c, i, u, u) for i, (c, u) in enumerate(zip(domain.intervals(), centres, strict=True))]
    return float(np.vdot(counts, contract(tables, counts)))


def _pairs_by_rows(domain: Box, kernel: GaussianKernel, counts: Floats) -> float:
    taken = np.argwhere(counts > 0)
    unit = (taken + 0.5) / np.array(counts.shape)
    weights = counts[tuple(taken.T)]
    block = max(1, 2**22 // max(1, len(unit)))
    total = 0.0
    for start in range(0, len(unit), block):
        values = kernel.values(domain, unit[start : start + block], unit)
        total += float(weights[start : start + block] @ values @ weights)
    return total


def _means(tables: Sequence[Floats], counts: Integers) -> Floats:
    """``(m,)``: sums over records of the product of each axis's factor."""
    value = tables[0] @ counts.reshape(counts.shape[0], -1).astype(np.float64)
    for table in tables[1:]:
        value = np.einsum("mk,mkr->mr", table, value.reshape(len(table), table.shape[1], -1))
    return np.asarray(value.reshape(len(tables[0])))


def noise_energy(kernel: GaussianKernel, domain: Box, deviation: float) -> float:
    """About the integrated squared noise of a lattice one bandwidth apart: what a smaller bandwidth costs."""
    widths = [c.high - c.low for c in domain.intervals()]
    volume = math.prod(d / w for w, d in zip(widths, kernel.resolution, strict=True))
    return float(deviation**2 * (2 * math.sqrt(math.pi)) ** -domain.dimension / volume**2 / math.prod(widths))
