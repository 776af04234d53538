"""A function written in a basis on a box: call it, differentiate it, integrate it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.bases.base import LatticeBasis, frozen
from sfumato.bases.unit import arcs, in_units, number_of, to_unit
from sfumato.checks import did_you_mean, shown
from sfumato.core.box import Box, Interval, Periodic
from sfumato.errors import OutsideBoxError, ParameterError, ParameterTypeError

Floats = NDArray[np.float64]
SubBox = Box | Mapping[str, tuple[float, float]] | Sequence[Any]


@dataclass(frozen=True, eq=False)
class Expansion:
    """Lattice coefficients in a basis over a box, and how often each column is differentiated.

    It knows nothing of privacy: a release holds one, and ``Bernstein.approximate`` returns one for a
    public function.
    """

    basis: LatticeBasis
    box: Box
    coefficients: Floats
    derivatives: tuple[int, ...] = field(default=())

    def __post_init__(self) -> None:
        coefficients = frozen(self.coefficients).ravel()
        if len(coefficients) != self.basis.size(self.box):
            raise ParameterError(f"expected {self.basis.size(self.box)} coefficients, got {len(coefficients)}")
        object.__setattr__(self, "coefficients", coefficients)
        object.__setattr__(self, "derivatives", tuple(self.derivatives) or (0,) * self.box.dimension)

    @cached_property
    def _tensor(self) -> Floats:
        return self.basis.transform(self.coefficients, self.box)

    @property
    def _unit_scale(self) -> float:
        """One over the side of the box for each derivative taken: from unit coordinates to user units."""
        return float(np.prod((self.box.high - self.box.low) ** -np.array(self.derivatives, dtype=np.float64)))

    def __call__(self, points: ArrayLike, outside: str = "refuse") -> Floats:
        """Evaluate at ``(m, l)`` points in user units (``(m,)`` when there is one column)."""
        unit = to_unit(self.box, points, outside)
        return self.basis.evaluate(self._tensor, unit, self.derivatives) * self._unit_scale

    def axis_weights(self, axis: int, unit: Floats) -> Floats:
        """``(m, k + 1)``: one axis's factor of how the values at positions in [0, 1] depend on the coefficients."""
        weights = self.basis.axis_weights(self.box, axis, unit, self.derivatives[axis])
        return weights if axis else weights * self._unit_scale

    def weights(self, points: ArrayLike, outside: str = "refuse") -> list[Floats]:
        """Per axis, ``(m, k + 1)``: the value at each point is the tensor product applied to the coefficients."""
        unit = to_unit(self.box, points, outside)
        return [self.axis_weights(axis, unit[:, axis]) for axis in range(self.box.dimension)]

    def derivative(self, column: str | int | None = None) -> Expansion:
        """The partial derivative along a column (by name or position; needed when there are several)."""
        axis = column_axis(self.box, column)
        orders = tuple(d + (i == axis) for i, d in enumerate(self.derivatives))
        self.basis.axis_values(self.basis.degrees(self.box)[axis], np.zeros(1), orders[axis])  # may refuse
        return replace(self, derivatives=orders)

    def integrate(self, over: SubBox | None = None) -> float:
        """The integral over the box, or over a sub-box: ``{"age": (0, 50)}`` or one pair per column."""
        if any(self.derivatives):
            raise ParameterError("integrate the function itself, not its derivative")
        return sum(self._integral(start, stop) for start, stop in sub_boxes(self.box, over))

    def _integral(self, start: Floats, stop: Floats) -> float:
        low, high = self.box.low, self.box.high
        value: Floats = self._tensor
        for degree, a, b in zip(
            self.basis.degrees(self.box), (start - low) / (high - low), (stop - low) / (high - low), strict=True
        ):
            value = np.tensordot(self.basis.axis_integral(degree, float(a), float(b)), value, axes=(0, 0))
        return float(value) * float(np.prod(high - low))


def column_axis(box: Box, column: str | int | None) -> int:
    """The position of a column, by name or position; None will do when there is only one."""
    if column is None and box.dimension == 1:
        return 0
    if isinstance(column, str) and column in box.names:
        return box.names.index(column)
    if isinstance(column, int) and not isinstance(column, bool) and 0 <= column < box.dimension:
        return column
    raise ParameterError(f"column must be one of {box.names}, got column={column!r}{did_you_mean(column, box.names)}")


def sub_boxes(box: Box, over: SubBox | None) -> list[tuple[Floats, Floats]]:
    """The corners of a part of the box: ``{"age": (0, 50)}`` or one pair per column; None means all of it.

    A range round a circle may go through its end, as ``{"hour": (22, 4)}`` does: then there are several.
    """
    ranges = [[(kind.low, kind.high)] for kind in box.intervals()]
    for name, (a, b) in bounds_of(box, over).items():
        axis = column_axis(box, name)
        ranges[axis] = _pieces(name, box.intervals()[axis], a, b)
    return [(np.array([a for a, _ in ends]), np.array([b for _, b in ends])) for ends in product(*ranges)]


def _pieces(name: str, kind: Interval, a: float, b: float) -> list[tuple[float, float]]:
    """A range of one column, cut where a circle's bounds meet."""
    if isinstance(kind, Periodic) and math.isfinite(a) and math.isfinite(b):
        return arcs(kind, a, b)
    if not kind.low <= a <= b <= kind.high:
        got = f"({in_units(kind, a)}, {in_units(kind, b)})"
        raise OutsideBoxError(f"over[{name!r}] must be (low, high) within {kind.bounds}, got {got}")
    return [(a, b)]


def bounds_of(box: Box, over: SubBox | None) -> dict[str, tuple[float, float]]:
    """The sub-box by column, from any of the ways to write it; a single pair will do for one column."""
    if over is None:
        return {}
    if isinstance(over, Box):
        over = {n: (c.low, c.high) for n, c in zip(over.names, over.intervals(), strict=True)}
    try:
        if not isinstance(over, Mapping):
            pairs: Any = [over] if box.dimension == 1 and np.ndim(over) == 1 else over
            if len(pairs) != box.dimension:
                raise ParameterError(f"over needs one (low, high) per column ({box.dimension}), got {over!r}")
            over = dict(zip(box.names, pairs, strict=True))
        kinds = {name: box.intervals()[column_axis(box, name)] for name in over}
        return {name: (number_of(kinds[name], a), number_of(kinds[name], b)) for name, (a, b) in over.items()}
    except (TypeError, ValueError) as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterTypeError(
            f"over must be a box, a mapping or one (low, high) per column, got {shown(over)}"
        ) from None
