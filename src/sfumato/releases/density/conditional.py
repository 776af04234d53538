"""The density of some columns where the others have given values: a slice of a release, divided by its mass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.bases.density.mixture import Heap, Mixture
from sfumato.bases.lattice.expansion import SubBox, column_axis, sub_boxes
from sfumato.bases.unit import from_unit, in_units, number_of, to_unit, wrapped
from sfumato.checks import finite_number, shown
from sfumato.core.box import Box, Date, Periodic
from sfumato.errors import OutsideBoxError, ParameterError, ParameterTypeError
from sfumato.releases.density.distribution import Distribution
from sfumato.releases.density.masses import kept_box, kept_kernel

if TYPE_CHECKING:
    from sfumato.releases.density.density import DensityRelease

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Conditional(Distribution):
    """A conditional density: post-processing of a release, on the columns that were not given."""

    joint: DensityRelease
    given: tuple[tuple[int, float], ...]

    @classmethod
    def of(cls, joint: DensityRelease, given: Mapping[str, float]) -> Conditional:
        """Check what is given against the release's box."""
        if not isinstance(given, Mapping) or not given:
            raise ParameterTypeError(f"given must be a mapping such as {{'age': 40}}, got given={shown(given)}")
        found: list[tuple[int, float]] = []
        for name, value in given.items():
            axis = column_axis(joint.box, name)
            kind = joint.box.intervals()[axis]
            number = number_of(kind, value) if isinstance(kind, Date) else finite_number(f"given[{name!r}]", value)
            number = float(wrapped(kind, np.array(number))) if isinstance(kind, Periodic) else number
            if not kind.low <= number <= kind.high:
                raise OutsideBoxError(f"given[{name!r}] must lie in {kind.bounds}, got {in_units(kind, number)!r}")
            found.append((axis, number))
        if len(found) == joint.box.dimension:
            raise ParameterError(f"given must leave at least one of {joint.box.names} free, got given={dict(given)!r}")
        return cls(joint, tuple(sorted(found)))

    @property
    def _free(self) -> list[int]:
        fixed = {axis for axis, _ in self.given}
        return [axis for axis in range(self.joint.box.dimension) if axis not in fixed]

    @property
    def box(self) -> Box:
        return kept_box(self.joint.box, self._free)

    def _points(self, points: ArrayLike, outside: str) -> Floats:
        free = from_unit(self.box, to_unit(self.box, points, outside))
        full = np.empty((len(free), self.joint.box.dimension))
        full[:, self._free] = free
        for axis, value in self.given:
            full[:, axis] = value
        return full

    @cached_property
    def _mass(self) -> float:
        """The slice's integral over the free columns, by the midpoint rule."""
        return self._integral(None)

    def _integral(self, over: SubBox | None) -> float:
        return sum(self._midpoints(start, stop) for start, stop in sub_boxes(self.box, over))

    def _midpoints(self, start: Floats, stop: Floats) -> float:
        count = {1: 800, 2: 80}[len(self._free)]
        steps = (np.arange(count) + 0.5) / count
        axes = [a + steps * (b - a) for a, b in zip(start, stop, strict=True)]
        grid = np.stack([g.ravel() for g in np.meshgrid(*axes, indexing="ij")], axis=1)
        values = np.maximum(self.joint(self._points(grid, "clip")), 0.0)
        return float(values.mean() * np.prod(stop - start))

    def __call__(self, points: ArrayLike, outside: str = "refuse") -> Floats:
        """The conditional density; zero everywhere where the release says that nobody has the given values."""
        mass = self._mass
        values = np.maximum(self.joint(self._points(points, outside)), 0.0)
        return values / mass if mass > 0 else np.zeros(len(values))

    def band(
        self, points: ArrayLike, confidence: float = 0.95, include: str = "total", outside: str = "refuse"
    ) -> tuple[Floats, Floats]:
        """Limits for the slice of the joint density, divided by its released mass, which is taken as it is."""
        low, high = self.joint.band(self._points(points, outside), confidence, include)
        mass = self._mass
        if not mass > 0:
            return np.zeros(len(low)), np.full(len(low), np.inf)
        return np.maximum(low, 0.0) / mass, high / mass

    def _heap(self) -> Heap | None:
        """The joint measure, each node weighted by the kernel between what is given and where it is."""
        mixture = self.joint.expansion
        if not isinstance(mixture, Mixture) or any(mixture.derivatives):
            return None
        axes, values = [axis for axis, _ in self.given], np.array([[value for _, value in self.given]])
        box, kernel = kept_box(self.joint.box, axes), kept_kernel(mixture.kernel, axes)
        nodes = np.meshgrid(*(mixture.nodes[axis] for axis in axes), indexing="ij")
        grid = np.stack([g.ravel() for g in nodes], axis=1)
        weights = kernel.values(box, (values - box.low) / (box.high - box.low), grid).reshape(nodes[0].shape)
        measure = np.tensordot(mixture.measure, weights, axes=(axes, range(len(axes))))
        return Mixture(self.box, kept_kernel(mixture.kernel, self._free), measure).heap()

    def integrate(self, over: SubBox | None = None) -> float:
        """The probability of a sub-box of the free columns."""
        mass = self._mass
        return self._integral(over) / mass if mass > 0 else 0.0

    def __repr__(self) -> str:
        names = {self.joint.box.names[i]: in_units(self.joint.box.columns[i], value) for i, value in self.given}
        return f"<density of {list(self.box.names)} given {names}>"
