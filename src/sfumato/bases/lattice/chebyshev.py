"""Polynomials of low degree, fitted by least squares to values at more Chebyshev points than they have numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from sfumato.bases.base import LatticeBasis
from sfumato.checks import positive_integer
from sfumato.errors import ParameterError

Floats = NDArray[np.float64]

_MOST_POINTS = 4096  # along an axis


def chebyshev_points(count: int) -> Floats:
    """``(count,)`` Chebyshev points of [0, 1], in ascending order.

    >>> chebyshev_points(3).round(4).tolist()
    [0.067, 0.5, 0.933]
    """
    return np.asarray((1 - np.cos(np.pi * (np.arange(count) + 0.5) / count)) / 2)


@lru_cache(maxsize=64)
def _series(count: int, kept: int) -> Floats:
    """``(kept + 1, count)``: from values at the points to the Chebyshev series of the fit.

    At these points Chebyshev polynomials are orthogonal, so least squares are plain sums: docs/proofs/risk.md.
    """
    table = np.asarray(chebyshev.chebvander(2 * chebyshev_points(count) - 1, kept).T * (2 / count), dtype=np.float64)
    table[0] /= 2
    table.setflags(write=False)
    return table


@lru_cache(maxsize=64)
def _orthonormal(count: int, kept: int) -> Floats:
    """``(kept + 1, count)``: Chebyshev polynomials at the points, of length one there."""
    table = np.asarray(chebyshev.chebvander(2 * chebyshev_points(count) - 1, kept).T, dtype=np.float64)
    table *= math.sqrt(2 / count)
    table[0] /= math.sqrt(2)
    table.setflags(write=False)
    return table


@dataclass(frozen=True)
class LeastSquares(LatticeBasis):
    """Polynomials of degree ``kept`` along each axis, fitted to values at ``degree + 1`` Chebyshev points of it.

    >>> from sfumato.core.box import Box
    >>> LeastSquares(degree=8, kept=2).approximate(lambda p: p[:, 0] ** 2, Box([(0, 1)]))([0.5, 1.0]).round(6).tolist()
    [0.25, 1.0]
    """

    kept: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "kept", positive_integer("kept", self.kept))
        sizes = (self.degree,) if isinstance(self.degree, int) else self.degree
        if not self.kept <= min(sizes) or max(sizes) > _MOST_POINTS:
            raise ParameterError.of(
                "kept",
                f"must be at most degree, which is at most {_MOST_POINTS}, got kept={self.kept!r}, "
                f"degree={self.degree!r}",
            )

    def axis_lattice(self, degree: int) -> Floats:
        return chebyshev_points(degree + 1)

    def axis_values(self, degree: int, unit: Floats, derivative: int = 0) -> Floats:
        series = _series(degree + 1, self.kept)
        if derivative > self.kept:
            return np.zeros((len(unit), degree + 1))
        derived = chebyshev.chebder(series, derivative) if derivative else series
        table = chebyshev.chebvander(2 * unit - 1, self.kept - derivative)
        return np.asarray(table @ derived * 2.0**derivative)

    def axis_transform(self, degree: int) -> Floats | None:
        return None

    def axis_integral(self, degree: int, low: float, high: float) -> Floats:
        whole = chebyshev.chebint(_series(degree + 1, self.kept))
        ends = chebyshev.chebvander(2 * np.array([low, high]) - 1, self.kept + 1) @ whole
        return np.asarray((ends[1] - ends[0]) / 2)

    def to_json(self) -> dict[str, Any]:
        degree = self.degree if isinstance(self.degree, int) else list(self.degree)
        return {"name": "least-squares", "degree": degree, "kept": self.kept}

    def norming_nodes(self, degree: int) -> tuple[Floats, float]:
        # Ehlich and Zeller, as for Bernstein polynomials: docs/proofs/bernstein.md.
        count = 8 * self.kept
        return chebyshev_points(count), 1 / math.cos(self.kept * math.pi / (2 * count))

    def lebesgue_constant(self, degree: int) -> float:
        count = 32 * self.kept
        highest = float(np.abs(self.axis_values(degree, chebyshev_points(count))).sum(axis=1).max())
        return highest / math.cos(self.kept * math.pi / (2 * count))


@dataclass(frozen=True)
class TotalDegree(LeastSquares):
    """The same for polynomials whose degree is at most ``kept`` along all axes together: fewer numbers, less noise.

    Along an axis it is what ``LeastSquares`` is, applied to the fit's own values at the lattice.

    >>> from sfumato.core.box import Box
    >>> square = Box([(0, 1), (0, 1)])
    >>> TotalDegree(degree=8, kept=2).approximate(lambda p: p[:, 0] * p[:, 1], square)([[0.5, 1.0]]).round(6).tolist()
    [0.5]
    """

    separable: ClassVar[bool] = False

    def settled(self, values: Floats) -> Floats:
        shape = values.shape[1:]
        for axis, count in enumerate(shape, start=1):
            values = _along(_orthonormal(count, self.kept), values, axis)
        values = np.where(self._together(len(shape)), values, 0.0)
        for axis, count in enumerate(shape, start=1):
            values = _along(_orthonormal(count, self.kept).T, values, axis)
        return values

    def orthonormal_weights(self, tables: list[Floats]) -> Floats:
        own = [table @ _orthonormal(table.shape[1], self.kept).T for table in tables]
        kept = np.argwhere(self._together(len(tables))).T
        return np.asarray(math.prod(table[:, orders] for table, orders in zip(own, kept, strict=True)))

    def _together(self, axes: int) -> NDArray[np.bool_]:
        """``(kept + 1, ...)``: which products of Chebyshev polynomials there are."""
        return np.asarray(np.indices((self.kept + 1,) * axes).sum(axis=0) <= self.kept)

    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "name": "total-degree"}


def _along(matrix: Floats, values: Floats, axis: int) -> Floats:
    return np.moveaxis(np.tensordot(values, matrix, axes=(axis, 1)), -1, axis)
