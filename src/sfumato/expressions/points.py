"""A question as a function of public points, and a look at it in a few places of the box."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.moments.quadrature import category_values
from sfumato.core.box import Box, Categorical
from sfumato.errors import ParameterError
from sfumato.expressions.intervals import landmarks, limits, unseen
from sfumato.expressions.tokens import complaint
from sfumato.expressions.tree import Node

Floats = NDArray[np.float64]

_BLOCK = 2**16  # points at a time: a tree may hold as many numbers for each as it is deep
_LARGEST = 1e100  # beyond, squares and sums of values are no numbers any more
_POINTS = (257, 65, 17, 9)  # along each column, for one to four of them
_MANY = 200_000


@dataclass(frozen=True, eq=False)
class Written:
    """A query: maps ``(m, k)`` points of some columns to ``(m,)`` numbers.

    Parameters
    ----------
    node, text
        What it computes, and the question that this was read from.
    columns, box
        The names of the columns in its points, and all there is to know about them.
    """

    node: Node
    columns: tuple[str, ...]
    text: str
    box: Box

    def __call__(self, points: Floats) -> Floats:
        """Its values, refusing those that are not finite."""
        found = np.empty(len(points))
        for start in range(0, len(points), _BLOCK):
            block = points[start : start + _BLOCK]
            with np.errstate(all="ignore"):
                found[start : start + _BLOCK] = self.node.value(dict(zip(self.columns, block.T, strict=True)))
        wrong = np.flatnonzero(~np.isfinite(found))
        if len(wrong):
            raise self.not_finite(points[wrong[0]])
        return found

    def limits(self, counts: Sequence[int]) -> tuple[Floats, Floats]:
        """Between what it lies on every cell, so many along the angle of each column, the last one fastest."""
        return limits(self.node, self.columns, self.box, counts)

    def unseen(self, counts: Sequence[int]) -> float:
        """How far it can be from what is seen of it at so many even angles of each column; perhaps infinitely far."""
        return unseen(self.node, self.columns, self.box, counts)

    def landmarks(self) -> dict[str, list[float]]:
        """Where its bumps and edges are that are of one column."""
        return landmarks(self.node)

    def not_finite(self, point: Floats) -> ParameterError:
        """Complain about the innermost part that is not finite at a point, or too large."""
        at = {name: np.array([value]) for name, value in zip(self.columns, point, strict=True)}
        with np.errstate(all="ignore"):
            values = self.node.values(at, keep=True)
        nodes = self.node.walk()
        part = next((n for n, v in zip(nodes, values, strict=True) if not np.isfinite(v).all()), self.node)
        finite = part is self.node and bool(np.isfinite(values[-1]).all())
        what = f"larger than {_LARGEST:g} in size" if finite else "not finite"
        inside = self.text[part.start : part.end]
        named = inside if len(inside) <= 40 else "this"
        return complaint(
            self.text,
            part.start,
            part.end,
            f"{named} is {what} at {self.where(point)}, and that is inside the box: records there would have no answer",
        )

    def where(self, point: Floats) -> str:
        """A point in words."""
        return ", ".join(f"{name}={self._shown(name, value)}" for name, value in zip(self.columns, point, strict=True))

    def _shown(self, name: str, value: float) -> str:
        kind = self.box.columns[self.box.names.index(name)]
        if isinstance(kind, Categorical) and isinstance(kind.categories[0], str):
            return repr(kind.categories[int(value)])
        return f"{value:.6g}"


@dataclass(frozen=True)
class Sight:
    """The smallest and the largest value that were seen."""

    low: float
    high: float

    @property
    def middle(self) -> float:
        """Between them."""
        return self.low / 2 + self.high / 2


def look(written: Written) -> Sight:
    """Look at a query on the corners and edges of its box and in between, refusing what is not finite there.

    A grid of angles never holds the bounds themselves, where a logarithm or a quotient may be infinite.
    """
    points = _points(written.box, written.columns)
    values = written(points)
    large = np.flatnonzero(np.abs(values) > _LARGEST)
    if len(large):
        raise written.not_finite(points[large[0]])
    _check_poles(written, points)
    return Sight(float(values.min()), float(values.max()))


def _check_poles(written: Written, points: Floats) -> None:
    """Refuse to divide by what changes its sign: somewhere between it is zero, though perhaps at none of the points."""
    for node in written.node.walk():
        below = _divisor(node)
        if below is None or any(part.does is np.tan or part.conditions or _divisor(part) for part in below.walk()):
            continue  # what jumps need not pass through zero
        values = replace(written, node=below)(points)
        if values.min() < 0 < values.max():
            near = points[int(np.abs(values).argmin())]
            raise complaint(
                written.text,
                below.start,
                below.end,
                f"a division by zero near {written.where(near)}, which is inside the box: records there would have no "
                "answer",
            )


def _divisor(node: Node) -> Node | None:
    """What a quotient or a negative power divides by; none otherwise, and none where that is a number."""
    below = None
    if node.does is np.divide:
        below = node.parts[1]
    elif node.does is np.power and all(part.column is None for part in node.parts[1].walk()):
        below = node.parts[0] if node.parts[1].value({}) < 0 else None
    return None if below is None or all(part.column is None for part in below.walk()) else below


def _points(box: Box, columns: Sequence[str]) -> Floats:
    kinds = [box.columns[box.names.index(name)] for name in columns]
    count = _POINTS[min(len(columns), len(_POINTS)) - 1]
    lines = [
        category_values(kind) if isinstance(kind, Categorical) else np.linspace(kind.low, kind.high, count)
        for kind in kinds
    ]
    if np.prod([float(len(line)) for line in lines]) <= _MANY:
        return np.stack([axis.ravel() for axis in np.meshgrid(*lines, indexing="ij")], axis=1)
    # Along each column while the others stay in their middles, and at two corners.
    middle = np.array([line[len(line) // 2] for line in lines])
    found = [np.array([[line[0] for line in lines], [line[-1] for line in lines]])]
    for j, line in enumerate(lines):
        block = np.tile(middle, (len(line), 1))
        block[:, j] = line
        found.append(block)
    return np.concatenate(found)
