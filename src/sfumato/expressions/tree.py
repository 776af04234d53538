"""What a question becomes: a tree whose leaves are numbers and columns, evaluated with universal functions alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from sfumato.releases.summary.edges import softened

Floats = NDArray[np.float64]
Function = Callable[..., Any]


@dataclass(frozen=True)
class Condition:
    """A condition on one column, as ``SummaryRelease.share`` takes it: categories, or a range of some softness."""

    column: str
    wanted: Any
    softness: float | None = None


@dataclass(frozen=True, eq=False)
class Node:
    """A part of a question: a number, a column, or a function of other parts.

    Parameters
    ----------
    start, end
        Where it stands in the text.
    does
        A number, the name of a column, or a function of the values of ``parts``.
    parts
        What the function is of.
    conditions
        If it is a product of simple conditions on columns, these.
    soft
        Whether it is a number from 0 to 1.
    """

    start: int
    end: int
    does: float | str | Function
    parts: tuple[Node, ...] = ()
    conditions: tuple[Condition, ...] = ()
    soft: bool = False

    @property
    def column(self) -> str | None:
        """The name of the column, if it is one and nothing else."""
        return self.does if isinstance(self.does, str) else None

    def walk(self) -> list[Node]:
        """It and everything in it, parts before what they are parts of; without recursion, however long a sum is."""
        found, waiting = [], [self]
        while waiting:
            found.append(waiting.pop())
            waiting += found[-1].parts
        return found[::-1]

    def value(self, columns: Mapping[str, Floats]) -> Any:
        """Its values, given those of the columns."""
        return self.values(columns)[-1]

    def values(self, columns: Mapping[str, Floats], keep: bool = False) -> list[Any]:
        """The values of it alone, or those of all its parts in the order of ``walk``."""
        return self.fold(columns, np.float64, lambda does, given: does(*given), keep)

    def fold(
        self, columns: Mapping[str, Any], number: Callable[[float], Any], call: Callable[..., Any], keep: bool = False
    ) -> list[Any]:
        """The same with anything in the place of values: ``call`` gets a function, and what it is of."""
        stack: list[Any] = []
        kept: list[Any] = []
        for node in self.walk():
            if callable(node.does):
                given = stack[len(stack) - len(node.parts) :]
                del stack[len(stack) - len(node.parts) :]
                stack.append(call(node.does, given))
            else:
                stack.append(columns[node.does] if isinstance(node.does, str) else number(node.does))
            if keep:
                kept.append(stack[-1])
        return kept or stack


# --- what there is to call --------------------------------------------------------------------------------------


def smallest(*values: Any) -> Any:
    """The smallest of several."""
    return reduce(np.minimum, values)


def largest(*values: Any) -> Any:
    """The largest of several."""
    return reduce(np.maximum, values)


def product(*values: Any) -> Any:
    """All of them, multiplied."""
    return reduce(np.multiply, values)


FUNCTIONS: dict[str, Function] = {
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "tanh": np.tanh,
    "sigmoid": expit,
    "logistic": expit,
    "min": smallest,
    "max": largest,
}
OF_SEVERAL = ("min", "max")
SOFT = ("sigmoid", "logistic")


@dataclass(frozen=True)
class Bump:
    """``exp(-((x - centre) / width)**2 / 2)``."""

    centre: float
    width: float

    def __call__(self, x: Any) -> Any:
        """Its values."""
        return np.exp(-0.5 * ((x - self.centre) / self.width) ** 2)


@dataclass(frozen=True)
class Between:
    """A range with Gaussian edges, the same as in ``SummaryRelease.share``; an end that is None is no edge.

    ``around`` is the way round a circle, if the range goes round one.
    """

    low: float | None
    high: float | None
    softness: float
    around: float | None = None

    @property
    def edges(self) -> list[tuple[float, float]]:
        """Where it rises (1) or falls (-1)."""
        return [(end, sign) for end, sign in ((self.low, 1.0), (self.high, -1.0)) if end is not None]

    def __call__(self, x: Any) -> Any:
        """Its values."""
        return softened(x, self.low, self.high, self.softness, self.around)


@dataclass(frozen=True)
class Among:
    """One where a category is one of these, else zero; ``codes`` is what a query sees of categories."""

    codes: tuple[float, ...]

    def __call__(self, x: Any) -> Any:
        """Its values."""
        return reduce(np.logical_or, [np.equal(x, code) for code in self.codes]) * 1.0
