"""Public smoothness: what is known in advance about every function a target can produce, and what it buys.

All three cases of the paper's Theorem 3, with explicit constants (docs/proofs/bernstein.md). Smoothness is
declared on the box scaled to the unit cube.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from sfumato.bases.base import LatticeBasis
from sfumato.bases.lattice.bernstein import Bernstein
from sfumato.checks import positive_integer, positive_number, probability
from sfumato.core.box import Box
from sfumato.errors import ParameterError


class Smoothness(ABC):
    """A public promise about the target's functions, from which degree and approximation error follow."""

    @abstractmethod
    def bernstein_error(self, degree: int, order: int) -> float:
        """A bound on ``|f - B^(h) f|`` along one axis of the unit cube."""

    @abstractmethod
    def step_error(self, degree: int) -> float:
        """A bound on the error of the nearest lattice value along one axis."""

    @abstractmethod
    def basis(self, box: Box, sensitivity: float, epsilon: float, beta: float = 0.05) -> Bernstein:
        """The degree and order that Theorem 3 asks for at this sensitivity and epsilon."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Plain data from which a release file rebuilds the promise."""

    def approximation_error(self, basis: LatticeBasis, box: Box) -> float:
        """A bound on the error of the noise-free expansion, uniformly over the box.

        Approximating axis after axis, each later axis passes the error of an earlier one on, magnified by at
        most its Lebesgue constant: ``sum_j g(k_j) prod_{i<j} Lambda_i``.
        """
        total, magnified = 0.0, 1.0
        for degree in basis.degrees(box):
            if isinstance(basis, Bernstein):
                total += magnified * self.bernstein_error(degree, basis.order)
                magnified *= basis.lebesgue_constant(degree)
            else:
                total += self.step_error(degree)
        return total


def _degree(ratio: float, power: float, dimension: int) -> int:
    """The degree that Theorem 3 asks for, as far as a lattice of a million points allows."""
    return max(1, round(float(min(ratio**power, 4096.0, 10 ** (6 / dimension) - 1))))


def _ratio(sensitivity: float, epsilon: float, beta: float) -> float:
    """``eps / (S ln(1/beta))``, the signal-to-noise ratio of all three cases."""
    noise = positive_number("sensitivity", sensitivity) * math.log(1 / probability("beta", beta))
    return positive_number("epsilon", epsilon) / noise


@dataclass(frozen=True)
class Smooth(Smoothness):
    """Every partial derivative up to order ``derivatives`` = 2h is at most ``bound`` on the unit cube.

    >>> Smooth(derivatives=4, bound=1.0).basis(Box([(0, 1)]), sensitivity=1e-3, epsilon=1.0)
    Bernstein(degree=7, order=2)
    """

    derivatives: int
    bound: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "derivatives", positive_integer("derivatives", self.derivatives))
        object.__setattr__(self, "bound", positive_number("bound", self.bound))
        if self.derivatives % 2:
            raise ParameterError(f"derivatives must be even (2h), got derivatives={self.derivatives!r}")

    def bernstein_error(self, degree: int, order: int) -> float:
        used = min(order, self.derivatives // 2)
        error = self.bound * 2.0 ** (order - used)  # each further iteration is I - B, of norm at most 2
        for j in range(used):
            p = 2 * j
            error *= (p * p / 2 + 1 / 8 + (p / 24 + p * p / 8) / degree) / degree
        return error

    def step_error(self, degree: int) -> float:
        return self.bound / (2 * degree)

    def basis(self, box: Box, sensitivity: float, epsilon: float, beta: float = 0.05) -> Bernstein:
        h = self.derivatives // 2
        return Bernstein(_degree(_ratio(sensitivity, epsilon, beta), 1 / (h + box.dimension), box.dimension), h)

    def to_json(self) -> dict[str, Any]:
        return {"name": "smooth", "derivatives": self.derivatives, "bound": self.bound}


@dataclass(frozen=True)
class Hoelder(Smoothness):
    """``|f(x) - f(y)| <= constant * max_i |x_i - y_i|**exponent`` on the unit cube; exponent 1 is Lipschitz."""

    exponent: float
    constant: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "exponent", positive_number("exponent", self.exponent))
        object.__setattr__(self, "constant", positive_number("constant", self.constant))
        if self.exponent > 1:
            raise ParameterError(f"exponent must lie in (0, 1], got exponent={self.exponent!r}")

    def bernstein_error(self, degree: int, order: int) -> float:
        return float(self.constant * (4 * degree) ** (-self.exponent / 2) * 2.0 ** (order - 1))

    def step_error(self, degree: int) -> float:
        return float(self.constant * (2 * degree) ** -self.exponent)

    def basis(self, box: Box, sensitivity: float, epsilon: float, beta: float = 0.05) -> Bernstein:
        ratio = _ratio(sensitivity, epsilon, beta)
        return Bernstein(_degree(ratio, 2 / (2 * box.dimension + self.exponent), box.dimension), 1)

    def to_json(self) -> dict[str, Any]:
        return {"name": "hoelder", "exponent": self.exponent, "constant": self.constant}


@dataclass(frozen=True)
class Linear(Smoothness):
    """Every function is affine in each column: degree 1 represents it without error.

    The step baseline has no bound in this case: a linear function may be as steep as it likes.
    """

    def bernstein_error(self, degree: int, order: int) -> float:
        return 0.0

    def step_error(self, degree: int) -> float:
        return math.inf

    def basis(self, box: Box, sensitivity: float, epsilon: float, beta: float = 0.05) -> Bernstein:
        return Bernstein(1, 1)

    def to_json(self) -> dict[str, Any]:
        return {"name": "linear"}


def smoothness_from_json(data: dict[str, Any] | None) -> Smoothness | None:
    """Rebuild a promise from plain data: a closed list."""
    if data is None:
        return None
    found: Smoothness
    if data["name"] == "smooth":
        found = Smooth(data["derivatives"], data["bound"])
    elif data["name"] == "hoelder":
        found = Hoelder(data["exponent"], data["constant"])
    elif data["name"] == "linear":
        found = Linear()
    else:
        raise ParameterError(f"unknown smoothness {data['name']!r}")
    if found.to_json() != data:
        raise ParameterError("the smoothness has unexpected entries")
    return found
