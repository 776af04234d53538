"""Releases that come from reports of people's own devices: functions and summaries like any other."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.bases.base import LARGEST_LATTICE, frozen
from sfumato.bases.density.measure import to_simplex
from sfumato.bases.lattice.expansion import Expansion
from sfumato.bases.lattice.hat import Hat
from sfumato.bases.moments.cosine import Cosines
from sfumato.checks import probability, whole_number
from sfumato.codec import LARGEST_COUNT, exact_keys
from sfumato.core.box import Box, Periodic
from sfumato.errors import ParameterError
from sfumato.laws import LocalLaw
from sfumato.releases.function import FunctionRelease
from sfumato.releases.summary.summary import SummaryRelease
from sfumato.releases.uncertainty import half_width_of

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Lattice:
    """Where masses lie: from end to end of each column, or evenly round a circle.

    Parameters
    ----------
    shape, wrapped
        Points along each column, and whether they go round it: then the first point is also the one after the last.

    >>> Lattice(Box({"hour": (0, 24)}), (4,), (True,)).density(np.array([1.0, 0.0, 0.0, 0.0]))([0, 6, 21, 24]).tolist()
    [0.16666666666666666, 0.0, 0.08333333333333333, 0.16666666666666666]
    """

    box: Box
    shape: tuple[int, ...]
    wrapped: tuple[bool, ...]

    @property
    def basis(self) -> Hat:
        """Hat functions on the lattice; a circle is closed by its first point once more."""
        return Hat(tuple(size - (not wrapped) for size, wrapped in zip(self.shape, self.wrapped, strict=True)))

    @property
    def size(self) -> int:
        """The number of points, refusing more than fit into memory."""
        self.basis.shape(self.box)
        return math.prod(self.shape)

    @property
    def _sides(self) -> Floats:
        return self.box.high - self.box.low

    def _shares(self) -> list[Floats]:
        """Along each column, the integral of each point's hat function, as a share of the column."""
        whole = [self.basis.axis_integral(degree, 0.0, 1.0) for degree in self.basis.degrees(self.box)]
        return [_folded(one[None, :])[0] if wrapped else one for one, wrapped in zip(whole, self.wrapped, strict=True)]

    def density(self, masses: Floats) -> Expansion:
        """The piecewise linear density with these masses."""
        sizes = reduce(np.multiply.outer, self._shares()) * float(np.prod(self._sides))
        heights = masses.reshape(self.shape) / sizes
        closed = np.pad(heights, [(0, int(wrapped)) for wrapped in self.wrapped], mode="wrap")
        return Expansion(self.basis, self.box, closed.ravel())

    def weights(self, axes: list[Floats]) -> list[Floats]:
        """How a density at points depends on the masses, from how it depends on its own values: per column."""
        return [
            (_folded(axis) if wrapped else axis) / (shares * side)
            for axis, shares, side, wrapped in zip(axes, self._shares(), self._sides, self.wrapped, strict=True)
        ]


def _folded(axis: Floats) -> Floats:
    """``(m, size)``: the last point of a closed circle is its first."""
    found = axis[:, :-1].copy()
    found[:, 0] += axis[:, -1]
    return found


@dataclass(frozen=True, eq=False, kw_only=True)
class CollectedDensity(FunctionRelease):
    """A density that people's devices reported, a randomised bit or byte each: piecewise linear on a lattice.

    Parameters
    ----------
    masses
        The unbiased estimate of the share of people at each lattice point (read-only); what is evaluated is the nearest
        density that is nowhere negative and integrates to one.
    reports
        How many reports it rests on: public.
    lattice
        Where the masses lie.
    """

    kind: ClassVar[str] = "collected-density"

    masses: Floats
    reports: int
    lattice: Lattice

    @classmethod
    def of(cls, protocol: Any, masses: Floats, variance: float, reports: int) -> Self:
        """The density that follows from unbiased masses on a protocol's lattice."""
        lattice = Lattice(protocol.box, protocol.shape, protocol.wrapped)
        about = (
            ("target", "density, collected from devices"),
            ("lattice", " x ".join(map(str, protocol.shape))),
            ("randomizer", protocol.randomizer),
            ("reports", str(reports)),
        )
        law = LocalLaw(protocol.randomizer, len(masses), math.sqrt(variance))
        common: dict[str, Any] = {"guarantee": protocol.guarantee, "law": law, "target": about}
        return cls.on(lattice, common, masses, reports)

    @classmethod
    def on(cls, lattice: Lattice, common: dict[str, Any], masses: Floats, reports: int) -> Self:
        """The nearest density to masses on a lattice."""
        return cls(
            **common, expansion=lattice.density(to_simplex(masses)), masses=masses, reports=reports, lattice=lattice
        )

    def __post_init__(self) -> None:
        object.__setattr__(self, "masses", frozen(self.masses))

    def band(
        self, points: ArrayLike, confidence: float = 0.95, include: str = "noise", outside: str = "refuse"
    ) -> tuple[Floats, Floats]:
        """Lower and upper limits, at all the points at once, for the people's own density on the lattice.

        Formal guarantee: with probability at least ``confidence`` over the devices' randomness and the questions asked,
        up to the normal approximation of sums of that many reports, all limits hold.
        """
        probability("confidence", confidence)
        if include != "noise":
            raise ParameterError(f"include must be 'noise' for a collected density, got include={include!r}")
        raw = self.lattice.density(self.masses)
        width = half_width_of(self.lattice.weights(raw.weights(points, outside)), self.law, confidence)
        value, middle = self(points, outside), raw(points, outside)
        return np.maximum(np.minimum(middle - width, value), 0.0), np.maximum(middle + width, value)

    @property
    def mass_error(self) -> float:
        """The standard deviation of each of ``masses``, from above."""
        return self.law.deviation

    def __repr__(self) -> str:
        return f"<CollectedDensity on {self.box!r} from {self.reports} reports: {self.guarantee}>"

    def arrays(self) -> dict[str, Floats]:
        return {"masses": self.masses}

    def fields(self) -> dict[str, Any]:
        circles = {"circles": True} if any(self.lattice.wrapped) else {}
        return {"lattice": list(self.lattice.shape), "reports": self.reports, **circles}

    @classmethod
    def rebuild(cls, common: dict[str, Any], box: Box, fields: dict[str, Any], arrays: dict[str, Floats]) -> Self:
        exact_keys(fields, {"lattice", "reports", *({"circles"} & {*fields})}, "the content")
        exact_keys(arrays, {"masses"}, "the file")
        shape = tuple(whole_number("lattice", size, 2, LARGEST_LATTICE) for size in fields["lattice"])
        wrapped = tuple("circles" in fields and isinstance(kind, Periodic) for kind in box.columns)
        if "circles" in fields and not (fields["circles"] is True and any(wrapped)):
            raise ParameterError("a lattice that goes round needs a periodic column, and says so with true")
        lattice, masses, reports = Lattice(box, shape, wrapped), arrays["masses"], fields["reports"]
        if masses.shape != (lattice.size,) or common["law"].size != len(masses):
            raise ParameterError(f"the lattice has {lattice.size} points, got {masses.shape} masses")
        check_reports(reports, common)
        return cls.on(lattice, common, masses, reports)


def check_reports(reports: Any, common: dict[str, Any]) -> None:
    """Refuse a collected release without a sensible number of reports, or with noise of another model."""
    whole_number("reports", reports, 1, LARGEST_COUNT)
    if not isinstance(common["law"], LocalLaw):
        raise ParameterError("a collected release has the noise of people's devices")


def collected_summary(protocol: Any, moments: Floats, variance: float, reports: int) -> SummaryRelease:
    """A summary like that of ``sf.summarize``, from moments that devices reported."""
    about = (
        ("target", "summary for smooth questions, collected from devices"),
        ("degree", str(protocol.degree)),
        ("interactions", str(protocol.interactions)),
        ("randomizer", protocol.randomizer),
    )
    law = LocalLaw(protocol.randomizer, len(moments), math.sqrt(variance) * reports)
    return SummaryRelease(
        guarantee=protocol.guarantee,
        law=law,  # type: ignore[arg-type]
        target=about,
        domain=protocol.box,
        basis=Cosines(protocol.degree, protocol.interactions),
        numbers=moments * reports,
        rows=reports,
    )
