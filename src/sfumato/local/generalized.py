"""Generalised linear losses without a trusted collector: Algorithms 4, 5 and 9 of the paper, mended; for comparison."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.checks import finite_number, one_of, positive_integer
from sfumato.core.box import Box, Categorical
from sfumato.core.privacy import Guarantee
from sfumato.errors import ParameterError
from sfumato.local.channels import State
from sfumato.local.copies import CopiesChannel, GaussianNumbers, UnitCopies
from sfumato.local.linear import LinearProtocol
from sfumato.local.protocol import Words

Floats = NDArray[np.float64]

COPIES = ("privunit", "gaussian")
ALGORITHMS = (4, 5)
_MOST_DEGREE, _MOST_STEPS = 6, 4096
_ROUND = 0.05  # over which the corner of a loss is rounded, of scores in [-1, 1]
_CELLS = 2000  # in which the second-derivative measure is added up
_ANGLES = 41


def _rounded_step(at: Floats) -> Floats:
    """From 0 to 1, round its corner at 0: the derivative of the paper's smoothed plus function."""
    return np.asarray((1 + at / np.hypot(at, _ROUND)) / 2)


# The derivative of each loss, a function of ``y <w, u>`` (or of a residual) in [-1, 1].
SLOPES: dict[str, Callable[[Floats], Floats]] = {
    "hinge": lambda at: _rounded_step(at - 0.5) - 1,  # of max(0, 1/2 - at), as the paper has it
    "logistic": lambda at: np.asarray(-1 / (1 + np.exp(4 * at))),  # of log(1 + exp(-4 at)) / 4
    "absolute": lambda at: 2 * _rounded_step(at) - 1,
}


def bernstein_table(degree: int, coefficients: Floats, start: float, rise: float) -> Floats:
    """``(2,) * degree``: of a product of copies, the weight of each choice of 1 or the copy, for u = start + rise copy.

    The polynomial ``sum_j c_j C(d, j) u_1 ... u_j (1 - u_{j+1}) ... (1 - u_d)``: the same copies serve every j.
    """
    own, rest = np.array([start, rise]), np.array([1 - start, -rise])
    parts = [
        c * math.comb(degree, j) * reduce(np.multiply.outer, [own] * j + [rest] * (degree - j))
        for j, c in enumerate(coefficients.tolist())
    ]
    return np.asarray(sum(parts))


def gradient_table(loss: str, degree: int, algorithm: int) -> Floats:
    """The derivative of a loss as such a polynomial: its own (Algorithm 4), or a mean of steps (Algorithm 5)."""
    slope, nodes = SLOPES[loss], 2 * np.arange(degree + 1) / degree - 1
    if algorithm == 4:
        return bernstein_table(degree, slope(nodes), 0.5, 0.5)
    edges = np.linspace(-1, 1, _CELLS + 1)
    values = slope(edges)
    # The polynomial of a step at s is affine in each copy, and in s a polynomial: its mean over s is worked out.
    steps = _rounded_step(nodes)
    total = sum(
        rise * bernstein_table(degree, steps, 0.5 - s / 4, 0.25)
        for s, rise in zip(((edges[1:] + edges[:-1]) / 2).tolist(), np.diff(values).tolist(), strict=True)
        if abs(rise) > 1e-9
    )
    table = np.array(total)
    table[(0,) * degree] += values[0]
    return table


@dataclass(frozen=True, init=False)
class GeneralizedLinear(LinearProtocol):
    """A linear model by one pass of stochastic gradients over people's reports. ``LinearModel`` is far better.

    A record ``z`` (a constant and the scaled columns) is divided by its length; the device sends ``degree + 1``
    copies of ``y z / |z|`` (of ``(z, y) / |(z, y)|`` of a number), each with noise of its own. The server
    divides people into steps by their numbers, and walks once: each step's people, and no others, give the gradient of
    a polynomial that stands in for the loss.

    Parameters
    ----------
    response
        A column of the box: two categories, or with ``"absolute"`` a range.
    loss
        ``"hinge"`` (at 1/2), ``"logistic"``, or ``"absolute"`` (l1 regression).
    degree
        Of the polynomial: a higher one is nearer to the loss, and its noise grows by an order of magnitude.
    copies
        ``"privunit"`` (default): a byte each, each with its share of epsilon, pure. ``"gaussian"``: the paper's, which
        needs ``delta``.
    scales, constant, circles
        As of ``LinearModel``.
    steps
        How many parts people are divided into.
    algorithm
        4: Bernstein's polynomial of the loss's derivative; 5: a mean of those of steps, by the second derivative.

    Formal guarantee: ``(epsilon, delta)``-DP in the local model, docs/proofs/generalized-linear.md.

    >>> from sfumato.core.box import Box, Categorical
    >>> box = Box({"age": (20, 60), "hours": (0, 80), "rich": Categorical(["no", "yes"])})
    >>> str(GeneralizedLinear(box, 1.0, "rich", copies="gaussian", delta=1e-6, seed=1).guarantee)
    '(1, 1e-06)-differential privacy for replacing one row, local model'
    """

    loss: str = "hinge"
    degree: int = 1
    copies: str = "privunit"
    delta: float = 0.0
    steps: int = 64
    algorithm: int = 4

    kind: ClassVar[str] = "generalized-linear"
    unwritten: ClassVar[dict[str, Any]] = {"delta": 0.0, **LinearProtocol.unwritten}
    parts: ClassVar[str] = "steps"

    def __init__(
        self,
        box: Box,
        epsilon: float,
        response: str,
        loss: str = "hinge",
        *,
        degree: int = 1,
        copies: str = "privunit",
        delta: float = 0.0,
        scales: Any = None,
        constant: float = 1.3,
        circles: bool = True,
        steps: int = 64,
        algorithm: int = 4,
        seed: int | None = None,
        users: int = 2**40,
        numbers: str = "given",
    ) -> None:
        given = {"box": box, "epsilon": epsilon, "response": response, "loss": loss, "degree": degree,
                 "copies": copies, "delta": delta, "scales": scales, "constant": constant,
                 "circles": circles, "steps": steps, "algorithm": algorithm, "seed": seed, "users": users,
                 "numbers": numbers}  # fmt: skip
        for name, value in given.items():
            object.__setattr__(self, name, value)
        self.__post_init__()

    def check(self) -> None:
        self.check_columns()
        self.check_sizes()
        one_of("loss", self.loss, tuple(SLOPES))
        one_of("copies", self.copies, COPIES)
        if self.numeric != (self.loss == "absolute"):
            needed = "a range" if self.loss == "absolute" else "two categories"
            raise ParameterError.of(
                "loss", f"{self.loss!r} needs a response of {needed}, which {self.response!r} is not"
            )
        for name, most in (("degree", _MOST_DEGREE), ("steps", _MOST_STEPS)):
            if positive_integer(name, getattr(self, name)) > most:
                raise ParameterError.of(name, f"must be at most {most}, got {name}={getattr(self, name)!r}")
        if isinstance(self.algorithm, bool) or self.algorithm not in ALGORITHMS:
            raise ParameterError.of("algorithm", f"must be 4 or 5, got algorithm={self.algorithm!r}")
        delta = finite_number("delta", self.delta)
        if self.copies == "privunit" and delta != 0:
            raise ParameterError.of("delta", f"must be 0 for copies='privunit', which are pure, got delta={delta!r}")
        if self.copies == "gaussian" and not 0 < delta < 1:
            raise ParameterError.of("delta", f"must lie in (0, 1) for copies='gaussian', got delta={delta!r}")
        object.__setattr__(self, "delta", delta)
        self.channel  # noqa: B018  (refuses what devices and collectors cannot do)

    # --- what is asked ----------------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """The length of the vector that copies are of."""
        return self.record_size + int(self.numeric)

    @property
    def questions(self) -> int:
        return self.steps  # which one a person belongs to follows from the number

    @property
    def estimates(self) -> int:
        return self.size

    @property
    def channel_name(self) -> str:
        return f"{self.copies}-copies"

    @cached_property
    def channel(self) -> CopiesChannel:
        """The randomizer, and what the collector adds up."""
        assert self.seed is not None
        kind = UnitCopies if self.copies == "privunit" else GaussianNumbers
        return kind(self.epsilon, self.steps, self.seed, self.size, self.degree + 1, self.delta)

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(self.epsilon, self.delta, None, None, "replace", "row", model="local")

    def settings(self) -> dict[str, Any]:
        return {
            "response": self.response,
            "loss": self.loss,
            "degree": self.degree,
            "copies": self.copies,
            "scales": [list(pair) for pair in self.scales],
            "constant": self.constant,
            "steps": self.steps,
            "algorithm": self.algorithm,
            **({"delta": self.delta} if self.delta else {}),
            **({"circles": True} if self.circles else {}),
        }

    # --- on the device ----------------------------------------------------------------------------------------

    def answers(self, columns: Floats, users: Words) -> NDArray[Any]:
        units, lengths = self._units(columns)
        kind, values = self.box.columns[self._place], columns[self._place]
        if isinstance(kind, Categorical):
            return np.asarray((2 * values - 1)[:, None] * units)
        y = 2 * ((values - kind.low) / (kind.high - kind.low)) - 1
        whole = np.concatenate([units * lengths[:, None], y[:, None]], axis=1)
        return np.asarray(whole / np.linalg.norm(whole, axis=1, keepdims=True))

    # --- at the collector -------------------------------------------------------------------------------------

    def spread(self, variance: float) -> float:
        return variance / self.steps  # what is estimated is about the people of all steps

    def pull(self, reach: float) -> float:
        return reach

    @cached_property
    def _table(self) -> Floats:
        return gradient_table(self.loss, self.degree, self.algorithm)

    @cached_property
    def gradient_deviation(self) -> float:
        """The deviation of a number of one person's gradient, root mean square, at a model of length one."""
        spread = self.channel.expected()[0] + 1 / self.size
        return math.sqrt(spread * max(self._square_at(t) for t in np.linspace(-1, 1, _ANGLES).tolist()))

    def _square_at(self, mean: float) -> float:
        """The mean square of the polynomial if every copy has this mean: two points of each copy tell."""
        off = math.sqrt(max(0.0, self.channel.square - mean**2))
        values = []
        for signs in product((-1.0, 1.0), repeat=self.degree):
            table = self._table
            for sign in signs:
                table = table[0] + (mean + sign * off) * table[1]
            values.append(float(table) ** 2)
        return sum(values) / len(values)

    def gradient(self, products: Floats, at: Floats) -> Floats:
        """The gradient at a model, in its own numbers, from the mean products of some people's copies."""
        whole = np.append(at, -1.0) / math.sqrt(2) if self.numeric else at
        chosen = np.zeros((2, self.size + 1))
        chosen[0, 0], chosen[1, 1:] = 1.0, whole
        for _ in range(self.degree):  # each contraction appends its choice
            products = np.tensordot(products, chosen, axes=(1, 1))
        found = np.tensordot(products.reshape(self.size, -1), self._table.ravel(), axes=(1, 0))
        return np.asarray(found[:-1] / math.sqrt(2) if self.numeric else found)

    def walk(self, products: Floats, counts: NDArray[np.int64]) -> Floats:
        """One pass: a projected step for each part of the people, none used twice; the mean of where it was.

        Of length one at most. The step's length is that of the theory: the radius over a bound on the gradient's root
        mean square, over the root of the number of steps.
        """
        model = np.zeros(self.size - int(self.numeric))
        total, used = np.zeros(len(model)), np.flatnonzero(counts)
        for step in used.tolist():
            noise = self.gradient_deviation**2 * self.size / counts[step]
            length = math.sqrt(2 / (len(used) * (1 + noise)))
            model = model - length * self.gradient(products[step], model)
            model = model / max(1.0, float(np.linalg.norm(model)))
            total += model
        return np.asarray(total / max(1, len(used)))

    def release(self, state: State, reports: int) -> Any:
        from sfumato.releases.collected.model import CollectedModel

        means, variances = self.channel.estimate(state)
        weights = self.walk(self.channel.tables(state), state["asked"])
        return CollectedModel.of(self, weights, means, float(variances.max()), reports)
