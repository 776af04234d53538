"""What every basis on a lattice offers: one matrix an axis, combined by tensor products.

A target is known by its values on the lattice. ``axis_transform`` turns lattice values into evaluation
coefficients along one axis, ``axis_values`` evaluates along one axis; everything else follows.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.bases.places import Places
from sfumato.bases.unit import from_unit
from sfumato.checks import positive_integer, shown
from sfumato.core.box import Box
from sfumato.errors import ParameterError, ParameterTypeError

if TYPE_CHECKING:
    from sfumato.bases.lattice.expansion import Expansion

Floats = NDArray[np.float64]

LARGEST_LATTICE = 2**26  # half a gigabyte of coefficients
MAX_CELLS = 2**24  # in which records are counted
_MOST_COLUMNS = 26  # of a lattice: each has two points or more
_BLOCK = 2**15  # doubles held at once while evaluating


def frozen(values: ArrayLike) -> Floats:
    """A copy of an array that nobody can write to: one over bytes cannot be made writable again."""
    array = np.asarray(values, dtype=np.float64)
    return np.frombuffer(array.tobytes()).reshape(array.shape)


class Basis(ABC):
    """A public finite family in which a target is written."""

    @abstractmethod
    def size(self, box: Box) -> int:
        """The number of coefficients."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Plain data from which a release file rebuilds the basis."""


@dataclass(frozen=True)
class LatticeBasis(Basis):
    """A tensor-product basis on a lattice of each axis of the box: ``{0, 1/k, ..., 1}`` unless it says otherwise.

    Parameters
    ----------
    degree
        ``k``: one number for every axis, or one per column.
    """

    degree: int | tuple[int, ...]

    separable: ClassVar[bool] = True  # whether each axis acts by itself: there is nothing in ``settled``

    def __post_init__(self) -> None:
        if isinstance(self.degree, Sequence) and not self.degree:
            raise ParameterError.of("degree", "must be a number or one number per column, got an empty list")
        if isinstance(self.degree, Sequence):
            object.__setattr__(self, "degree", tuple(positive_integer("degree", k) for k in self.degree))
        else:
            object.__setattr__(self, "degree", positive_integer("degree", self.degree))

    @abstractmethod
    def axis_values(self, degree: int, unit: Floats, derivative: int = 0) -> Floats:
        """``(m, degree + 1)``: the (derivative of the) evaluation basis at points of [0, 1]."""

    @abstractmethod
    def axis_transform(self, degree: int) -> Floats | None:
        """``(degree + 1, degree + 1)``: from lattice values to evaluation coefficients; None for the identity."""

    @abstractmethod
    def axis_integral(self, degree: int, low: float, high: float) -> Floats:
        """``(degree + 1,)``: integrals of the evaluation basis over a part of [0, 1]."""

    @abstractmethod
    def norming_nodes(self, degree: int) -> tuple[Floats, float]:
        """Points of [0, 1], and by how much the largest value anywhere can exceed the largest at them."""

    @abstractmethod
    def lebesgue_constant(self, degree: int) -> float:
        """The largest sum of absolute weights at any point of [0, 1], along one axis, from above."""

    def axis_lattice(self, degree: int) -> Floats:
        """``(degree + 1,)``: the lattice along one axis, in [0, 1]."""
        return np.arange(degree + 1) / degree

    def degrees(self, box: Box) -> tuple[int, ...]:
        """The degree along each axis of the box."""
        box.intervals()  # refuses categorical columns
        if isinstance(self.degree, int):
            return (self.degree,) * box.dimension
        if len(self.degree) != box.dimension:
            raise ParameterError.of(
                "degree", f"needs one number, or one per column ({box.dimension}), got degree={self.degree!r}"
            )
        return self.degree

    def shape(self, box: Box) -> tuple[int, ...]:
        """The lattice's shape, refusing one that would not fit into memory."""
        shape = tuple(k + 1 for k in self.degrees(box))
        # Before a product is taken: a file may hold any number, any number of times.
        if box.dimension > _MOST_COLUMNS or max(shape) > LARGEST_LATTICE or math.prod(shape) > LARGEST_LATTICE:
            times, points = " x ".join(map(str, shape[:_MOST_COLUMNS])), math.prod(map(float, shape))
            raise ParameterError(
                f"the lattice has {times} = {points:.3g} points ({8 / 2**30 * points:.3g} GiB), at most "
                f"{LARGEST_LATTICE:,} are allowed; lower degree={self.degree!r} or the number of columns "
                f"({box.dimension})",
                parameter="degree",
            )
        return shape

    def size(self, box: Box) -> int:
        """The number of lattice points, which is the number of coefficients."""
        return math.prod(self.shape(box))

    def lattice(self, box: Box) -> Floats:
        """``(size, l)``: the lattice points in user units, last column fastest."""
        axes = [self.axis_lattice(n - 1) for n in self.shape(box)]
        grid = np.meshgrid(*axes, indexing="ij")
        return from_unit(box, np.stack([g.ravel() for g in grid], axis=1))

    def settled(self, values: Floats) -> Floats:
        """``(m, *shape)`` lattice values after what is done to all the axes together, before each by itself.

        It is an orthogonal projection: weights of lattice values go through it as values do.
        """
        return values

    def orthonormal_weights(self, tables: list[Floats]) -> Floats:
        """``(m, count)`` weights of the orthonormal numbers that settling leaves, from those along each axis."""
        raise ParameterError(f"{self!r} has weights along each axis")

    def transform(self, coefficients: Floats, box: Box) -> Floats:
        """Turn the ``(size,)`` lattice values into an evaluation tensor, axis by axis."""
        tensor = self.settled(coefficients.reshape(1, *self.shape(box)))[0]
        for axis, degree in enumerate(self.degrees(box)):
            matrix = self.axis_transform(degree)
            if matrix is not None:
                tensor = np.moveaxis(np.tensordot(matrix, tensor, axes=(1, axis)), 0, axis)
        return np.ascontiguousarray(tensor)

    def approximate(self, function: Callable[[Floats], ArrayLike], box: Box) -> Expansion:
        """The noise-free expansion of a **public** function: nothing is private here.

        ``function`` maps ``(m, l)`` points in user units to ``(m,)`` values.
        """
        from sfumato.bases.lattice.expansion import (
            Expansion,  # an expansion holds a basis, and a basis makes expansions
        )

        if not isinstance(box, Box):
            raise ParameterTypeError(f"box must be an sf.Box, got {shown(box)}")
        if not callable(function):
            raise ParameterTypeError.of("function", f"must be callable, got {shown(function)}")
        values = values_on(function, self.lattice(box))
        if not np.isfinite(values).all():
            raise ParameterError("the function must return finite numbers on the lattice, got NaN or infinities")
        return Expansion(self, box, values)

    def axis_weights(self, box: Box, axis: int, unit: Floats, derivative: int) -> Floats:
        """``(m, k + 1)``: how the function at each point depends on the (settled) lattice values along one axis."""
        degree = self.degrees(box)[axis]
        values = self.axis_values(degree, unit, derivative)
        matrix = self.axis_transform(degree)
        return values if matrix is None else values @ matrix

    def evaluate(self, tensor: Floats, unit: Floats, derivatives: Sequence[int]) -> Floats:
        """Evaluate an evaluation tensor at ``(m, l)`` points of the unit cube, by blocked matrix products."""
        places = Places.of(unit)
        if places.on_grid:
            return places.apply(lambda i, axis: self.axis_values(tensor.shape[i] - 1, axis, derivatives[i]), tensor)
        result = np.empty(len(unit))
        block = max(1, _BLOCK // max(tensor.size // tensor.shape[0], *tensor.shape))
        first = tensor.reshape(tensor.shape[0], -1).T
        for start in range(0, len(unit), block):
            part = unit[start : start + block]
            tables = [self.axis_values(n - 1, part[:, i], derivatives[i]).T for i, n in enumerate(tensor.shape)]
            value = first @ tables[0]  # points run along the last axis, where they are contiguous
            for table in tables[1:]:
                value = np.einsum("km,krm->rm", table, value.reshape(len(table), -1, len(part)))
            result[start : start + block] = value[0]
        return result


def values_on(function: Callable[[Floats], ArrayLike], points: Floats) -> Floats:
    """Evaluate a user's function at ``(m, l)`` points, refusing a result that is not ``(m,)`` numbers."""
    result = np.asarray(function(points))
    if np.iscomplexobj(result):
        raise ParameterError("the function must return real numbers, got complex ones")
    values = result.astype(np.float64)
    if values.ndim == 0:  # a constant
        return np.full(len(points), float(values))
    if values.shape not in ((len(points),), (len(points), 1)):
        raise ParameterError(f"the function must return shape ({len(points)},), got shape {values.shape}")
    return values.reshape(-1)
