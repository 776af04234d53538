"""The Gaussian kernel of a density estimate, in the user's units and wrapped on periodic columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from sfumato.checks import positive_number, shown
from sfumato.core.box import Box, Interval, Periodic
from sfumato.errors import ParameterError, ParameterTypeError

Floats = NDArray[np.float64]

_LARGEST_MAGNITUDE = 110  # decimal digits of a density: its square is a number, with room for noise
_FINEST_MATRIX = {1: 4000, 2: 80, 3: 30}  # a column's width over the kernel's deviation, where no product helps


@dataclass(frozen=True)
class GaussianKernel:
    """A normal density of mean zero and this covariance, in the user's units.

    >>> GaussianKernel.of(2.0, Box({"age": (0, 110)})).covariance
    ((4.0,),)
    """

    covariance: tuple[tuple[float, ...], ...]

    @classmethod
    def of(cls, bandwidth: object, box: Box) -> GaussianKernel:
        """Read a bandwidth: a number, one per column, or a symmetric positive-definite (covariance) matrix."""
        columns = box.intervals()
        try:
            array = np.asarray(bandwidth, dtype=np.float64)
        except (TypeError, ValueError):
            raise ParameterTypeError.of(
                "bandwidth", f"must be a number, one per column, or a matrix, got bandwidth={shown(bandwidth)}"
            ) from None
        if array.ndim == 2:
            return cls(_covariance(array, box))
        if array.ndim > 2 or (array.ndim == 1 and len(array) != len(columns)):
            raise ParameterError.of(
                "bandwidth",
                f"needs one number, or one per column ({len(columns)}: {list(box.names)}), got bandwidth={bandwidth!r}",
            )
        values = np.broadcast_to(array, (len(columns),)).tolist()
        for value in values:
            positive_number("bandwidth", value)
        _check_widths(box, values)
        _check_volume(values)
        return cls(tuple(tuple(a * a if i == j else 0.0 for j in range(len(values))) for i, a in enumerate(values)))

    @property
    def deviations(self) -> tuple[float, ...]:
        """The standard deviation along each column."""
        return tuple(math.sqrt(row[i]) for i, row in enumerate(self.covariance))

    @property
    def diagonal(self) -> bool:
        """Whether the kernel is a product over columns."""
        return all(value == 0 for i, row in enumerate(self.covariance) for j, value in enumerate(row) if i != j)

    @property
    def resolution(self) -> tuple[float, ...]:
        """Along each column, the deviation given all the others: the finest detail that the kernel leaves."""
        return tuple((1 / np.sqrt(np.diag(np.linalg.inv(np.array(self.covariance))))).tolist())

    def peak(self, box: Box) -> float:
        """The largest value anywhere."""
        return float(self.values(box, np.zeros((1, box.dimension)), np.zeros((1, box.dimension)))[0, 0])

    def slope(self, box: Box, orders: Sequence[int]) -> Floats:
        """Per column, a bound on the size of its partial derivative (of a derivative of these orders)."""
        columns = box.intervals()
        if not self.diagonal:
            # Given the others, each column is normal: |K'| <= K(0) exp(-1/2) / b. Wrapping adds at most twice as much.
            rounds = 3 if any(isinstance(c, Periodic) for c in columns) else 1
            return rounds * self.peak(box) * math.exp(-0.5) / np.array(self.resolution)

        def largest(axis: int, order: int) -> float:
            column, deviation = columns[axis], self.deviations[axis]
            reach = np.linspace(0, min(1, (4 + order) * deviation / (column.high - column.low)), 4001)
            return 1.001 * float(np.abs(self.axis_values(column, axis, reach, np.zeros(1), order)).max())

        tall = [largest(i, order) for i, order in enumerate(orders)]
        return np.array([largest(i, d + 1) * math.prod(tall[:i] + tall[i + 1 :]) for i, d in enumerate(orders)])

    def axis_values(self, column: Interval, axis: int, points: Floats, nodes: Floats, derivative: int = 0) -> Floats:
        """``(m, M)``: one factor of a product kernel (or its derivative), at positions in [0, 1] of that column."""
        width, deviation = column.high - column.low, self.deviations[axis]
        values = np.zeros((len(points), len(nodes)))
        hermite = np.polynomial.hermite_e.HermiteE.basis(derivative)
        for shift in _shifts(column, deviation):
            z = (points[:, None] - nodes[None, :] + shift) * (width / deviation)
            part = np.exp(-0.5 * z * z)
            values += part * hermite(z) if derivative else part
        values *= (-1) ** derivative / (math.sqrt(2 * math.pi) * deviation ** (derivative + 1))
        return values

    def axis_mass(self, column: Interval, axis: int, low: float, high: float, nodes: Floats) -> Floats:
        """``(M,)``: the mass that one factor, centred at each node, has between two positions in [0, 1]."""
        scale = (column.high - column.low) / self.deviations[axis]
        mass = np.zeros(len(nodes))
        for shift in _shifts(column, self.deviations[axis]):
            mass += ndtr((high - nodes + shift) * scale) - ndtr((low - nodes + shift) * scale)
        return mass

    def values(self, box: Box, points: Floats, nodes: Floats) -> Floats:
        """``(m, M)``: the kernel between positions in the unit cube, for any covariance."""
        widths = box.high - box.low
        whiten = np.linalg.inv(np.linalg.cholesky(np.array(self.covariance)))
        left, right = points * widths @ whiten.T, nodes * widths @ whiten.T
        total = np.zeros((len(points), len(nodes)))
        for shift in product(*(_shifts(c, d) for c, d in zip(box.intervals(), self.deviations, strict=True))):
            moved = left + whiten @ (np.array(shift) * widths)
            total += np.exp(-0.5 * _squared_distances(moved, right))
        total *= float(np.prod(np.diag(whiten))) / (2 * math.pi) ** (box.dimension / 2)
        return total


def _squared_distances(left: Floats, right: Floats) -> Floats:
    total = np.zeros((len(left), len(right)))
    for axis in range(left.shape[1]):
        total += (left[:, axis, None] - right[None, :, axis]) ** 2
    return total


def _shifts(column: Interval, deviation: float) -> range:
    """How many times the circle must be walked round to see all of a wrapped kernel."""
    if not isinstance(column, Periodic):
        return range(1)
    reach = 1 + math.ceil(9 * deviation / (column.high - column.low))
    return range(-reach, reach + 1)


def _check_volume(deviations: Sequence[float]) -> None:
    """Refuse units in which squares of densities are beyond numbers."""
    if abs(sum(math.log10(deviation) for deviation in deviations)) > _LARGEST_MAGNITUDE:
        raise ParameterError(
            f"bandwidths of {' times '.join(f'{deviation:g}' for deviation in deviations)} make densities that are "
            "beyond what squares of numbers can hold; use other units",
            parameter="bandwidth",
        )


def _check_widths(box: Box, deviations: Sequence[float]) -> None:
    """Refuse deviations that do not fit their columns, naming all of these at once."""
    found = [(n, c.high - c.low, d) for n, c, d in zip(box.names, box.intervals(), deviations, strict=True)]
    beyond = [f"bandwidth={d!r} of column {name!r}" for name, _, d in found if not 1e-100 < d < 1e100]
    if beyond:
        raise ParameterError(
            f"{' and '.join(beyond)} is beyond what squares of numbers can hold; use other units",
            parameter="bandwidth",
        )
    # Deviations come back as roots of squares: one of the whole width may then be wider by a rounding.
    wide = [
        f"column {name!r} is {width:g} wide, got bandwidth={d!r}" for name, width, d in found if d > width * (1 + 1e-12)
    ]
    if wide:
        raise ParameterError.of("bandwidth", f"must not exceed the box: {'; '.join(wide)}")
    fine = [(name, width, d) for name, width, d in found if d < 1e-5 * width]
    if fine:
        told = " and ".join(
            f"bandwidth={d!r} is below 1/100,000 of column {name!r} ({width:g} wide)" for name, width, d in fine
        )
        raise ParameterError(
            f"{told}: no lattice resolves it; choose a larger bandwidth or a smaller box", parameter="bandwidth"
        )


def _covariance(matrix: Floats, box: Box) -> tuple[tuple[float, ...], ...]:
    if matrix.shape != (box.dimension, box.dimension) or not np.isfinite(matrix).all():
        raise ParameterError(
            f"a bandwidth matrix must hold {box.dimension} x {box.dimension} finite numbers, got shape {matrix.shape}"
        )
    if np.abs(matrix).max() > 1e200 or np.abs(np.diag(matrix)).min() < 1e-200:  # squares of the deviations allowed
        raise ParameterError(f"a bandwidth matrix is beyond what squares can hold, got {matrix.tolist()}")
    if not np.allclose(matrix, matrix.T, rtol=1e-9, atol=0):
        raise ParameterError("a bandwidth matrix must be symmetric: it is the kernel's covariance in squared units")
    matrix = (matrix + matrix.T) / 2
    scales = np.sqrt(np.abs(np.diag(matrix)))  # not of products, which small and large units take out of range
    if np.diag(matrix).min() < 0 or np.linalg.eigvalsh(matrix / scales[:, None] / scales).min() <= 1e-8:
        raise ParameterError(
            f"a bandwidth matrix must be positive definite (it is the kernel's covariance), got {matrix.tolist()}"
        )
    kernel = GaussianKernel(tuple(map(tuple, matrix.tolist())))
    _check_widths(box, kernel.deviations)
    _check_volume(kernel.deviations)
    for name, column, fine in zip(box.names, box.intervals(), kernel.resolution, strict=True):
        # A matrix without connections is a bandwidth per column, also where a file holds one: that may be finer.
        if not kernel.diagonal and fine * _FINEST_MATRIX[box.dimension] < column.high - column.low:
            raise ParameterError(
                f"a bandwidth matrix must leave column {name!r} a deviation of at least "
                f"{(column.high - column.low) / _FINEST_MATRIX[box.dimension]:.3g} given the others, got {fine:.3g}; "
                "give one bandwidth per column for finer detail"
            )
    return kernel.covariance
