"""The iterated Bernstein operator (Aldà & Rubinstein 2017; Micchelli 1973), and the step-function baseline.

``B^(h) = I - (I - B)^h``. With ``M[u, v] = b_{v,k}(u / k)`` the iterated polynomial of lattice values f is the
*plain* Bernstein polynomial of ``g = sum_{j<h} (I - M)^j f``, so the order costs nothing at evaluation time.
docs/proofs/bernstein.md has the statement and every constant.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlog1py, xlogy

from sfumato.bases.base import LatticeBasis
from sfumato.bases.lattice.chebyshev import LeastSquares, TotalDegree
from sfumato.checks import positive_integer
from sfumato.errors import ParameterError

Floats = NDArray[np.float64]

_PRODUCT_LIMIT = 500  # up to this degree C(k, v) fits a double and products are fast and accurate


def bernstein_values(degree: int, unit: Floats) -> Floats:
    """``(m, degree + 1)`` plain Bernstein basis polynomials.

    >>> bernstein_values(2, np.array([0.5])).tolist()
    [[0.25, 0.5, 0.25]]
    """
    index = np.arange(degree + 1)
    if degree > _PRODUCT_LIMIT:
        column = unit[:, None]
        log_binomial = gammaln(degree + 1) - gammaln(index + 1) - gammaln(degree - index + 1)
        log_values = log_binomial + xlogy(index, column) + xlog1py(degree - index, -column)
        return np.asarray(np.exp(log_values))
    # Powers by repeated products. Where one underflows the true value is below 1e-150: nothing is lost.
    table = np.empty((degree + 1, len(unit)))
    table[:1] = 1.0
    for v in range(1, degree + 1):
        np.multiply(table[v - 1], unit, out=table[v])
    rest, power = 1.0 - unit, np.ones(len(unit))
    for v in range(degree, -1, -1):
        table[v] *= power * math.comb(degree, v)
        power *= rest
    return table.T


def bernstein_derivatives(degree: int, unit: Floats, order: int) -> Floats:
    """``(m, degree + 1)`` derivatives of the plain basis with respect to the unit coordinate."""
    if order > degree:
        return np.zeros((len(unit), degree + 1))
    values = bernstein_values(degree - order, unit)
    for k in range(degree - order + 1, degree + 1):
        # b'_{v,k} = k (b_{v-1,k-1} - b_{v,k-1}), from degree k - 1 up to degree k.
        padded = np.pad(values, ((0, 0), (1, 1)))
        values = k * (padded[:, :-1] - padded[:, 1:])
    return values


@lru_cache(maxsize=64)
def _iterated_transform(degree: int, order: int) -> Floats:
    """``sum_{j<h} (I - M)^j``, by Horner's rule: ``T <- I + (I - M) T``."""
    identity = np.eye(degree + 1)
    difference = identity - bernstein_values(degree, np.arange(degree + 1) / degree)
    matrix = identity
    for _ in range(order - 1):
        matrix = identity + difference @ matrix
    matrix.setflags(write=False)
    return matrix


@dataclass(frozen=True)
class Bernstein(LatticeBasis):
    """Iterated Bernstein polynomials of given degree and order on the unit cube laid over the box.

    Parameters
    ----------
    degree
        ``k``, for every axis or one per column. More points resolve more detail and take more noise.
    order
        ``h``: how often the operator is iterated. Smooth functions gain from 2 to 5.

    >>> from sfumato.core.box import Box
    >>> Bernstein(degree=4, order=2).approximate(lambda p: p[:, 0] ** 2, Box([(0, 1)]))([0.5]).round(6).tolist()
    [0.265625]
    """

    order: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "order", positive_integer("order", self.order))
        largest = self.degree if isinstance(self.degree, int) else max(self.degree)
        if self.order > 100 or (self.order > 1 and largest > 4096):
            raise ParameterError.of(
                "order",
                f"must be at most 100, and 1 for degrees above 4096, got order={self.order}, degree={self.degree}",
            )

    def axis_values(self, degree: int, unit: Floats, derivative: int = 0) -> Floats:
        return bernstein_derivatives(degree, unit, derivative) if derivative else bernstein_values(degree, unit)

    def axis_transform(self, degree: int) -> Floats | None:
        return None if self.order == 1 else _iterated_transform(degree, self.order)

    def axis_integral(self, degree: int, low: float, high: float) -> Floats:
        # The integral of b_{v,k} from 0 to y is sum_{j>v} b_{j,k+1}(y) / (k + 1).
        ends = bernstein_values(degree + 1, np.array([low, high]))
        tails = np.cumsum(ends[:, ::-1], axis=1)[:, ::-1][:, 1:]
        return np.asarray((tails[1] - tails[0]) / (degree + 1))

    def to_json(self) -> dict[str, Any]:
        degree = self.degree if isinstance(self.degree, int) else list(self.degree)
        return {"name": "bernstein", "degree": degree, "order": self.order}

    def norming_nodes(self, degree: int) -> tuple[Floats, float]:
        # Ehlich and Zeller: a polynomial of degree k is at most 1 / cos(k pi / (2 M)) times its largest value
        # at M Chebyshev points.
        count = 8 * degree
        return _chebyshev_points(count), 1 / math.cos(degree * math.pi / (2 * count))

    def lebesgue_constant(self, degree: int | None = None) -> float:
        """``Lambda_h = max_y sum_v |b^(h)_{v,k}(y)|`` along one axis, to 0.2 % and from above.

        Noise of size at most z in every coefficient moves the l-dimensional function by at most
        ``Lambda_h**l * z``. For each choice of signs the sum is a polynomial of degree k, so its maximum
        follows from Chebyshev points as in ``norming_nodes``.
        """
        if degree is None:
            degree = self.degree if isinstance(self.degree, int) else max(self.degree)
        return 1.0 if self.order == 1 else _lebesgue(degree, self.order)


def _chebyshev_points(count: int) -> Floats:
    return np.asarray((1 + np.cos(np.pi * (np.arange(count) + 0.5) / count)) / 2)


@lru_cache(maxsize=64)
def _lebesgue(degree: int, order: int) -> float:
    count = 32 * degree
    transform = _iterated_transform(degree, order)
    highest = max(
        float(np.abs(bernstein_values(degree, part) @ transform).sum(axis=1).max())
        for part in np.array_split(_chebyshev_points(count), 32)
    )
    return highest / math.cos(degree * math.pi / (2 * count))


@dataclass(frozen=True)
class Step(LatticeBasis):
    """The baseline of the paper's section 4.2: the value at the nearest lattice point.

    It takes the same noise as ``Bernstein`` of the same degree and is there to be compared with.

    >>> from sfumato.core.box import Box
    >>> Step(degree=2).lattice(Box([(0, 1)])).ravel().tolist()
    [0.0, 0.5, 1.0]
    """

    def axis_values(self, degree: int, unit: Floats, derivative: int = 0) -> Floats:
        if derivative:
            raise ParameterError("a step function has no derivative; use sf.Bernstein")
        values = np.zeros((len(unit), degree + 1))
        values[np.arange(len(unit)), np.floor(unit * degree + 0.5).astype(np.int64)] = 1.0
        return values

    def axis_transform(self, degree: int) -> Floats | None:
        return None

    def axis_integral(self, degree: int, low: float, high: float) -> Floats:
        edges = np.clip((np.arange(degree + 2) - 0.5) / degree, low, high)
        return np.diff(edges)

    def to_json(self) -> dict[str, Any]:
        degree = self.degree if isinstance(self.degree, int) else list(self.degree)
        return {"name": "step", "degree": degree}

    def norming_nodes(self, degree: int) -> tuple[Floats, float]:
        return np.arange(degree + 1) / degree, 1.0

    def lebesgue_constant(self, degree: int | None = None) -> float:
        """1: the function is one of its coefficients everywhere."""
        return 1.0


def basis_from_json(data: dict[str, Any]) -> LatticeBasis:
    """Rebuild a basis from plain data: a closed list, nothing is imported by name."""
    degree = data["degree"]
    degree = tuple(degree) if isinstance(degree, Sequence) else degree
    found: LatticeBasis
    if data["name"] == "bernstein":
        found = Bernstein(degree, data["order"])
    elif data["name"] == "step":
        found = Step(degree)
    elif data["name"] == "least-squares":
        found = LeastSquares(degree, data["kept"])
    elif data["name"] == "total-degree":
        found = TotalDegree(degree, data["kept"])
    else:
        raise ParameterError(f"unknown basis {data['name']!r}")
    if found.to_json() != data:
        raise ParameterError("the basis has unexpected entries")
    return found
