"""Releases that come from reports of people's own devices: functions and summaries like any other."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.bases.base import LARGEST_LATTICE
from sfumato.bases.density.measure import to_simplex
from sfumato.bases.lattice.expansion import Expansion
from sfumato.bases.lattice.hat import Hat
from sfumato.bases.moments.cosine import Cosines
from sfumato.checks import probability, whole_number
from sfumato.codec import LARGEST_COUNT, exact_keys
from sfumato.core.box import Box
from sfumato.errors import ParameterError
from sfumato.laws import LocalLaw
from sfumato.releases.function import FunctionRelease
from sfumato.releases.summary.summary import SummaryRelease
from sfumato.releases.uncertainty import half_width_of

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class CollectedDensity(FunctionRelease):
    """A density that people's devices reported, one randomised bit each: piecewise linear on a lattice.

    Parameters
    ----------
    masses
        The unbiased estimate of the share of people at each lattice point (read-only); what is evaluated is the nearest
        density that is nowhere negative and integrates to one.
    reports
        How many reports it rests on: public.
    """

    kind: ClassVar[str] = "collected-density"

    masses: Floats
    reports: int

    @classmethod
    def of(cls, protocol: Any, masses: Floats, variance: float, reports: int) -> Self:
        """The density that follows from unbiased masses on a protocol's lattice."""
        basis = Hat(tuple(size - 1 for size in protocol.shape))
        about = (
            ("target", "density, collected from devices"),
            ("lattice", " x ".join(map(str, protocol.shape))),
            ("randomizer", protocol.randomizer),
            ("reports", str(reports)),
        )
        law = LocalLaw(protocol.randomizer, len(masses), math.sqrt(variance))
        expansion = Expansion(basis, protocol.box, to_simplex(masses) / basis.cell_sizes(protocol.box))
        common: dict[str, Any] = {"guarantee": protocol.guarantee, "law": law, "target": about}
        return cls(**common, expansion=expansion, masses=masses, reports=reports)

    def __post_init__(self) -> None:
        object.__setattr__(self, "masses", np.frombuffer(np.asarray(self.masses, dtype=np.float64).tobytes()))

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
        raw = Expansion(self.basis, self.box, self.masses / self._hat.cell_sizes(self.box))
        # A density is a mass over the size of its cell, which is a product of sizes along the columns.
        sides = self.box.high - self.box.low
        axes = [weights / (self._hat.axis_integral(degree, 0.0, 1.0) * side) for weights, degree, side
                in zip(raw.weights(points, outside), self.basis.degrees(self.box), sides, strict=True)]  # fmt: skip
        width = half_width_of(axes, self.law, confidence)
        value, middle = self(points, outside), raw(points, outside)
        return np.maximum(np.minimum(middle - width, value), 0.0), np.maximum(middle + width, value)

    @property
    def _hat(self) -> Hat:
        assert isinstance(self.basis, Hat)
        return self.basis

    @property
    def mass_error(self) -> float:
        """The standard deviation of each of ``masses``, from above."""
        return self.law.deviation

    def __repr__(self) -> str:
        return f"<CollectedDensity on {self.box!r} from {self.reports} reports: {self.guarantee}>"

    def arrays(self) -> dict[str, Floats]:
        return {"masses": self.masses}

    def fields(self) -> dict[str, Any]:
        return {"lattice": [k + 1 for k in self.basis.degrees(self.box)], "reports": self.reports}

    @classmethod
    def rebuild(cls, common: dict[str, Any], box: Box, fields: dict[str, Any], arrays: dict[str, Floats]) -> Self:
        exact_keys(fields, {"lattice", "reports"}, "the content")
        exact_keys(arrays, {"masses"}, "the file")
        basis = Hat(tuple(whole_number("lattice", size, 2, LARGEST_LATTICE) - 1 for size in fields["lattice"]))
        masses, reports = arrays["masses"], fields["reports"]
        if masses.shape != (basis.size(box),) or common["law"].size != len(masses):
            raise ParameterError(f"the lattice has {basis.size(box)} points, got {masses.shape} masses")
        check_reports(reports, common)
        expansion = Expansion(basis, box, to_simplex(masses) / basis.cell_sizes(box))
        return cls(**common, expansion=expansion, masses=masses, reports=reports)


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
