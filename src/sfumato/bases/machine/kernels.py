"""Kernels of learners: positive semi-definite functions of two records, on scaled features.

A kernel of a density estimate is another thing (``bases/density/kernel.py``): it integrates to one and need not be an
inner product.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.checks import finite_number, one_of, positive_integer, positive_number, shown
from sfumato.core.box import Box
from sfumato.errors import ParameterError, ParameterTypeError

Floats = NDArray[np.float64]

_HIGHEST_DEGREE = 50


class Kernel(ABC):
    """An inner product of two records after a feature map that may be infinite-dimensional."""

    kind: str

    @abstractmethod
    def values(self, left: Floats, right: Floats) -> Floats:
        """``(m, T)``: the kernel between scaled records and scaled landmarks."""

    @abstractmethod
    def largest(self, reach: float) -> float:
        """``sup K(x, x)`` over scaled records of Euclidean norm at most ``reach``."""

    def to_json(self) -> dict[str, Any]:
        """Plain data from which a release file rebuilds the kernel."""
        return {"kind": self.kind, **vars(self)}


@dataclass(frozen=True)
class RBF(Kernel):
    """``exp(-gamma ||x - z||^2)``; on box-scaled features, ``gamma = 1 / (2 sigma^2)`` with sigma in box widths.

    >>> RBF(0.5).largest(10.0)
    1.0
    """

    gamma: float = 0.5
    kind = "rbf"

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", positive_number("gamma", self.gamma))

    def values(self, left: Floats, right: Floats) -> Floats:
        squared = _squared_distances(left, right)
        squared *= -self.gamma
        return np.exp(squared, out=squared)

    def largest(self, reach: float) -> float:
        return 1.0


@dataclass(frozen=True)
class Matern(Kernel):
    """The Matern kernel of smoothness ``nu`` (0.5, 1.5 or 2.5) and a length scale, on scaled features."""

    nu: float = 1.5
    length: float = 1.0
    kind = "matern"

    def __post_init__(self) -> None:
        if self.nu not in (0.5, 1.5, 2.5):
            raise ParameterError.of("nu", f"must be 0.5, 1.5 or 2.5 (smoother still: sf.RBF), got nu={shown(self.nu)}")
        object.__setattr__(self, "nu", float(self.nu))
        object.__setattr__(self, "length", positive_number("length", self.length))

    def values(self, left: Floats, right: Floats) -> Floats:
        distance = np.sqrt(2 * self.nu * _squared_distances(left, right)) / self.length
        factor = {0.5: 1.0, 1.5: 1 + distance, 2.5: 1 + distance + distance**2 / 3}[self.nu]
        return np.asarray(factor * np.exp(-distance))

    def largest(self, reach: float) -> float:
        return 1.0


@dataclass(frozen=True)
class Polynomial(Kernel):
    """``(gamma <x, z> + coef0)^degree``."""

    degree: int = 3
    gamma: float = 1.0
    coef0: float = 1.0
    kind = "polynomial"

    def __post_init__(self) -> None:
        object.__setattr__(self, "degree", positive_integer("degree", self.degree))
        if self.degree > _HIGHEST_DEGREE:
            raise ParameterError.of("degree", f"must be at most {_HIGHEST_DEGREE}, got degree={self.degree!r}")
        object.__setattr__(self, "gamma", positive_number("gamma", self.gamma))
        if finite_number("coef0", self.coef0) < 0:
            raise ParameterError.of(
                "coef0", f"must not be negative (the kernel would not be one), got coef0={self.coef0!r}"
            )
        object.__setattr__(self, "coef0", float(self.coef0))

    def values(self, left: Floats, right: Floats) -> Floats:
        base = left @ right.T
        base *= self.gamma
        base += self.coef0
        result = base.copy() if self.degree > 1 else base
        for _ in range(self.degree - 1):  # a whole power: far faster than pow
            result *= base
        return result

    def largest(self, reach: float) -> float:
        logarithm = self.degree * math.log10(self.gamma * reach**2 + self.coef0)
        if logarithm > 100:
            raise ParameterError(
                f"{self!r} reaches 1e{logarithm:.0f} on this box: choose a smaller gamma or degree", parameter="gamma"
            )
        return (self.gamma * reach**2 + self.coef0) ** self.degree


@dataclass(frozen=True)
class LinearKernel(Kernel):
    """``<x, z> + constant^2``: a linear model whose intercept is the weight of a constant feature.

    An intercept that is not penalised would have no bounded sensitivity, so it is one more feature, whose value is
    ``constant``; 0 leaves it out.
    """

    constant: float = 1.0
    kind = "linear"

    def __post_init__(self) -> None:
        if finite_number("constant", self.constant) < 0:
            raise ParameterError.of("constant", f"must not be negative, got constant={self.constant!r}")
        object.__setattr__(self, "constant", float(self.constant))

    def values(self, left: Floats, right: Floats) -> Floats:
        return np.asarray(left @ right.T + self.constant**2)

    def largest(self, reach: float) -> float:
        return reach**2 + self.constant**2


@dataclass(frozen=True, eq=False)
class UserKernel(Kernel):
    """A kernel of your own: ``function(X, Z) -> (m, T)``, each row of which depends on that row of X alone.

    ``bound`` is ``sup K(x, x)`` on the box; records whose features exceed it are scaled back, so a wrong bound costs
    accuracy, never privacy. A file holds no code: a release that was loaded needs ``release.with_kernel(...)``.
    """

    function: Callable[[Floats, Floats], ArrayLike]
    bound: float
    name: str = "user"
    kind = "user"

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ParameterTypeError.of(
                "function", f"must be callable, function(X, Z), got function={shown(self.function)}"
            )
        object.__setattr__(self, "bound", positive_number("bound", self.bound))

    def values(self, left: Floats, right: Floats) -> Floats:
        values = np.asarray(self.function(left, right), dtype=np.float64)
        if values.shape != (len(left), len(right)):
            raise ParameterError(f"the kernel must return shape {(len(left), len(right))}, got shape {values.shape}")
        return values

    def largest(self, reach: float) -> float:
        return self.bound

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UserKernel) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.bound, self.name))

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "bound": self.bound, "name": self.name}


class Precomputed(Kernel):
    """Kernels on strings, graphs, sets: records are rows of ``K(private, public)``, queries of ``K(query, public)``.

    Parameters
    ----------
    gram
        ``K(public, public)`` of the public objects.
    bound
        ``sup K(x, x)`` over all objects that could occur; rows that exceed it are scaled back.

    ``box`` is the public domain of such rows, one column for each public object.

    >>> Precomputed([[1.0, 0.2], [0.2, 1.0]], bound=1.0).box.dimension
    2
    """

    kind = "precomputed"

    def __init__(self, gram: ArrayLike, bound: float) -> None:
        self.bound = positive_number("bound", bound)
        try:
            matrix = np.array(gram, dtype=np.float64)
        except (TypeError, ValueError):
            raise ParameterTypeError.of("gram", f"must be a matrix of numbers, got {type(gram).__name__}") from None
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size or not np.isfinite(matrix).all():
            raise ParameterError.of("gram", f"must be a square matrix of finite numbers, got shape {matrix.shape}")
        if np.abs(matrix - matrix.T).max() > 1e-9 * np.abs(matrix).max():
            raise ParameterError.of("gram", "must be symmetric: it is the kernel between the public objects")
        self.gram = matrix
        self.gram.setflags(write=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Precomputed) and self.bound == other.bound and np.array_equal(self.gram, other.gram)

    def __hash__(self) -> int:
        return hash((self.bound, self.gram.shape))

    @property
    def box(self) -> Box:
        """One column for each public object; by Cauchy and Schwarz a kernel value is at most the bound."""
        return Box([(-self.bound, self.bound)] * len(self.gram))

    def values(self, left: Floats, right: Floats) -> Floats:
        return left

    def largest(self, reach: float) -> float:
        return self.bound

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "bound": self.bound}


NAMED: dict[str, type[Kernel]] = {"rbf": RBF, "matern": Matern, "polynomial": Polynomial, "linear": LinearKernel}


def kernel_of(kernel: Any) -> Kernel:
    """A kernel, from itself or from its name."""
    if isinstance(kernel, Kernel):
        return kernel
    if not isinstance(kernel, str):
        raise ParameterTypeError.of(
            "kernel", f"must be a name or a kernel such as sf.RBF(gamma=0.5), got kernel={shown(kernel)}"
        )
    return NAMED[one_of("kernel", kernel, tuple(NAMED))]()


def kernel_from_json(data: Mapping[str, Any], gram: Floats | None) -> Kernel | None:
    """Rebuild a kernel; None for one that only its author has."""
    rest = {name: value for name, value in data.items() if name != "kind"}
    if data["kind"] == "precomputed" and gram is not None:
        return Precomputed(gram, **rest)
    if data["kind"] == "user":
        positive_number("bound", rest["bound"])
        return None
    return NAMED[one_of("kernel", data["kind"], tuple(NAMED))](**rest)


def _squared_distances(left: Floats, right: Floats) -> Floats:
    """``(m, T)``, by one matrix product; cancellation may not make a distance negative."""
    squared = left @ (-2.0 * right.T)
    squared += np.einsum("ij,ij->i", left, left)[:, None]
    squared += np.einsum("ij,ij->i", right, right)[None, :]
    return np.maximum(squared, 0.0, out=squared)


def rank_of(spectrum: Floats, kernel: Kernel) -> int:
    """How many eigenvalues of a Gram matrix stand clear of rounding, refusing a matrix that is no Gram matrix."""
    top = float(spectrum[0])
    if not math.isfinite(top) or top <= 0 or spectrum[-1] < -1e-8 * top:
        raise ParameterError(
            f"the kernel {kernel!r} is not positive semi-definite on the landmarks: its matrix has an eigenvalue "
            f"{float(spectrum[-1]):.3g} beside {top:.3g}"
        )
    return int(np.count_nonzero(spectrum > 2.0**-26 * top))
