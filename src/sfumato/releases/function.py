"""A published function: evaluate it at unlimited points, with honest bands, for ever."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.bases.base import LatticeBasis
from sfumato.bases.lattice.bernstein import basis_from_json
from sfumato.bases.lattice.expansion import Expansion, SubBox
from sfumato.bases.lattice.smoothness import Smoothness, smoothness_from_json
from sfumato.bases.origins import Origin, origin_from_json
from sfumato.checks import one_of, probability
from sfumato.codec import exact_keys
from sfumato.core.box import Box
from sfumato.errors import ParameterError
from sfumato.releases.base import Release
from sfumato.releases.file.certified import as_stated, check_certificate, granted_of
from sfumato.releases.grid import Gridded
from sfumato.releases.uncertainty import half_width
from sfumato.upwards import Shown

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class FunctionRelease(Gridded, Shown, Release):
    """A function of private data, written in a public basis and perturbed once.

    Call it at ``(m, l)`` points in user units (``(m,)`` when there is one column). It is immutable, and
    whatever is computed from it is post-processing: no further privacy is spent.
    """

    kind: ClassVar[str] = "function"

    expansion: Expansion
    smoothness: Smoothness | None = None
    origin: Origin | None = None

    @property
    def box(self) -> Box:
        return self.expansion.box

    @property
    def basis(self) -> LatticeBasis:
        """The public basis it is written in."""
        return self.expansion.basis

    @property
    def coefficients(self) -> Floats:
        """The noisy coefficients (read-only)."""
        return self.expansion.coefficients

    def __call__(self, points: ArrayLike, outside: str = "refuse") -> Floats:
        """Evaluate; points outside the box are refused, or moved to its edge with ``outside="clip"``."""
        return self.expansion(points, outside)

    def band(
        self, points: ArrayLike, confidence: float = 0.95, include: str = "noise", outside: str = "refuse"
    ) -> tuple[Floats, Floats]:
        """Lower and upper limits that hold at all the points at once with at least this confidence.

        Parameters
        ----------
        include
            ``"noise"``: limits for the noise-free expansion of the target. ``"total"``: limits for the
            target itself, which needs a target that declared its smoothness.

        Formal guarantee: with probability at least ``confidence`` over the noise, whatever the data, all
        limits hold. They come from the public noise law alone: from a simulation of it with a public seed,
        of a kind that falls short in one of a thousand seeds, or from a closed form (docs/proofs/bernstein.md).
        """
        probability("confidence", confidence)
        width = half_width(self.expansion, self.law, points, confidence, outside)
        if one_of("include", include, ("noise", "total")) == "total":
            width = width + self._approximation_error()
        value = self(points, outside)
        return value - width, value + width

    def _approximation_error(self) -> float:
        if self.smoothness is None or any(self.expansion.derivatives):
            raise ParameterError(
                "include='total' needs a target that declared its smoothness (sf.Smooth, sf.Hoelder or sf.Linear), "
                "and the function itself, not a derivative; include='noise' always works"
            )
        return self.smoothness.approximation_error(self.basis, self.box)

    def derivative(self, column: str | int | None = None) -> FunctionRelease:
        """The partial derivative along a column, as a release with bands of its own."""
        return replace(self, expansion=self.expansion.derivative(column))

    def integrate(self, over: SubBox | None = None) -> float:
        """The integral over the box, or over a sub-box such as ``{"age": (0, 50)}``."""
        return self.expansion.integrate(over)

    def __repr__(self) -> str:
        return f"<FunctionRelease on {self.box!r} in {self.basis!r}: {self.guarantee}>"

    def arrays(self) -> dict[str, Floats]:
        return {"coefficients": self.coefficients}

    def fields(self) -> dict[str, Any]:
        smoothness = None if self.smoothness is None else self.smoothness.to_json()
        derivatives = list(self.expansion.derivatives)
        origin = {} if self.origin is None else {"origin": self.origin.to_json()}
        return {"basis": self.basis.to_json(), "derivatives": derivatives, "smoothness": smoothness, **origin}

    @classmethod
    def rebuild(cls, common: dict[str, Any], box: Box, fields: dict[str, Any], arrays: dict[str, Floats]) -> Self:
        exact_keys(fields, {"basis", "derivatives", "smoothness", *({"origin"} & {*fields})}, "the content")
        exact_keys(arrays, {"coefficients"}, "the file")
        basis, law, coefficients = basis_from_json(fields["basis"]), common["law"], arrays["coefficients"]
        if not coefficients.shape == (law.size,) == (basis.size(box),):
            raise ParameterError("the noise law, the basis and the coefficients differ in size")
        orders = tuple(fields["derivatives"])
        if len(orders) != box.dimension or not all(type(d) is int and 0 <= d <= 100 for d in orders):
            raise ParameterError(f"derivatives must be one small whole number per column, got {orders!r}")
        for degree, order in zip(basis.degrees(box), orders, strict=True):
            basis.axis_values(degree, np.zeros(1), order)  # refuses derivatives that the basis has not
        expansion = Expansion(basis, box, coefficients, orders)
        given, origin = law.certificate, None
        if "origin" in fields:
            origin = origin_from_json(fields["origin"])
            check_certificate(given, origin.certificate(box, granted_of(common["guarantee"])))
        elif given.known in ("proved", "enforced"):  # the first files did not tell what a function came from
            common = as_stated(common)
        smoothness = smoothness_from_json(fields["smoothness"])
        return cls(**common, expansion=expansion, smoothness=smoothness, origin=origin)
