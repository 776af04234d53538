"""A published regression curve: the mean response at any point, with honest bands."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.bases.density.binning import MassLattice
from sfumato.bases.density.shares import RESPONSE_BITS, certify_masses, check_cells
from sfumato.bases.unit import to_unit
from sfumato.checks import one_of, probability
from sfumato.codec import decode_rows, exact_keys
from sfumato.core.box import Box
from sfumato.core.calibration import NoiseLaw
from sfumato.errors import ParameterError
from sfumato.harmless import printable
from sfumato.releases.base import Release
from sfumato.releases.density.density import DensityRelease
from sfumato.releases.density.grouped import INDEPENDENT
from sfumato.releases.density.masses import INCLUDES
from sfumato.releases.file.certified import check_certificate, granted_of, sum_norm
from sfumato.releases.grid import Gridded
from sfumato.releases.machine.response import Response, response_from_json
from sfumato.upwards import Shown

Floats = NDArray[np.float64]

_TRIALS = 400  # points where the noise is looked at
_SPREAD = (0.7548776662466927, 0.5698402909980532, 0.3247179572447460)  # steps that fill the unit cube evenly


@dataclass(frozen=True, eq=False, kw_only=True)
class CurveRelease(Gridded, Shown, Release):
    """The kernel regression of a response, perturbed once.

    Call it at points in user units. Where there are hardly any records, it leans towards their overall mean.

    Parameters
    ----------
    response
        The response's name and public range.
    high, low
        Two soft parts of the records' density: each record belongs to the first in proportion to its response.
    rows
        The public number of records, or None.
    """

    kind: ClassVar[str] = "curve"

    response: Response
    high: DensityRelease
    low: DensityRelease
    rows: int | None

    @property
    def box(self) -> Box:
        return self.high.box

    @property
    def bandwidth(self) -> Floats:
        """The kernel's standard deviation along each column, in its units."""
        return self.high.bandwidth

    @property
    def covariance(self) -> Floats:
        """The kernel's covariance matrix, in the columns' units."""
        return self.high.covariance

    @property
    def overall_share(self) -> float:
        """The mean response of all records, as a share of the declared range."""
        high, low = (part.masses.total for part in (self.high, self.low))
        return high / (high + low)

    def _share(self, points: ArrayLike, outside: str) -> Floats:
        """The mean response in [0, 1]: U / (U + V), steadied where the noise is as large as the sum.

        With e the noise over the sum, the pull towards the overall mean is ``e^2 / (1 + e^2)``: where there are
        records, a pull of order e would be a bias as large as the noise.
        """
        high, low = (part.masses.total * part(points, outside) for part in (self.high, self.low))
        overall, total = self.overall_share, high + low
        return np.asarray((high * total + self._steady**2 * overall) / (total**2 + self._steady**2))

    @cached_property
    def _steady(self) -> float:
        """The standard deviation that noise gives to the sum of both parts at a typical point."""
        masses = self.high.masses
        unit = np.mod(np.outer(np.arange(_TRIALS) + 0.5, _SPREAD[: self.box.dimension]), 1.0)
        tables = masses.reconstruction().weights(unit, (0,) * self.box.dimension)
        norms = np.prod([np.linalg.norm(table, axis=1) for table in tables], axis=0)
        return float(np.sqrt(2) * masses.deviation * np.median(norms))

    def __call__(self, points: ArrayLike, outside: str = "refuse") -> Floats:
        """The mean response at each point; points outside the box are refused, or moved to its edge (``"clip"``)."""
        return self.response.to_range(2 * self._share(points, outside) - 1)

    def predict(self, points: ArrayLike, outside: str = "clip") -> Floats:
        """The same for records, which are moved into the box as those were that the curve is of."""
        return self(points, outside)

    def band(
        self, points: ArrayLike, confidence: float = 0.95, include: str = "total", outside: str = "refuse"
    ) -> tuple[Floats, Floats]:
        """Lower and upper limits that hold at all the points at once with at least this confidence.

        Parameters
        ----------
        include
            As for a density: ``"noise"``, ``"total"`` (default) or ``"worst"``.

        Formal guarantee: with probability at least ``confidence`` over the noise, the limits hold for the kernel
        regression of the records (docs/proofs/nadaraya-watson.md).
        """
        probability("confidence", confidence)
        one_of("include", include, INCLUDES)
        unit = to_unit(self.box, points, outside)
        both = (1 + confidence) / 2  # each part may fail half as often
        (high_low, high_high), (low_low, low_high) = (
            [np.maximum(end, 0.0) for end in part.masses.sum_limits(unit, both, include)]
            for part in (self.high, self.low)
        )
        value = self(points, outside)
        # Each response was rounded by up to half a step, and so was their mean.
        rounded = 0.0 if include == "noise" else 2.0 ** -(RESPONSE_BITS[self.box.dimension] + 1)
        with np.errstate(all="ignore"):
            least = np.where(high_low + low_high > 0, high_low / (high_low + low_high), 0.0)
            most = np.where(high_high + low_low > 0, high_high / (high_high + low_low), 1.0)
        ends = (np.maximum(least - rounded, 0.0), np.minimum(most + rounded, 1.0))
        limits = [self.response.to_range(2 * end - 1) for end in ends]
        return np.minimum(limits[0], value), np.maximum(limits[1], value)

    def __repr__(self) -> str:
        name = printable(self.response.name)
        return f"<CurveRelease of {name} on {self.box!r} in {self.high.basis!r}: {self.guarantee}>"

    def arrays(self) -> dict[str, Floats]:
        parts = {"high": self.high, "low": self.low}
        return {f"{name}.{key}": values for name, part in parts.items() for key, values in part.arrays().items()}

    def fields(self) -> dict[str, Any]:
        return {"response": self.response.to_json(), "rows": self.rows, "density": self.high.fields()}

    @classmethod
    def rebuild(cls, common: dict[str, Any], box: Box, fields: dict[str, Any], arrays: dict[str, Floats]) -> Self:
        exact_keys(fields, {"response", "rows", "density"}, "the content")
        law: NoiseLaw = common["law"]
        if law.kind not in INDEPENDENT or law.size % 2 or fields["density"].get("rows") is not None:
            raise ParameterError("the noise law does not fit two parts with private numbers of records")
        one = NoiseLaw(law.kind, law.size // 2, law.exponent, law.scale, law.certificate)
        unread, parts = dict(arrays), {}
        for name in ("high", "low"):
            own = {key: unread.pop(f"{name}.{key}") for key in ("masses", "measure") if f"{name}.{key}" in unread}
            parts[name] = DensityRelease.part({**common, "law": one}, box, dict(fields["density"]), own)
        exact_keys(unread, set(), "the file")
        response, promised, masses = response_from_json(fields["response"]), common["guarantee"], parts["high"].masses
        if response.range is None or not isinstance(masses.lattice, MassLattice):
            raise ParameterError("a curve needs a response with a range, and a lattice of masses")
        check_cells(box, masses.cells, 2)
        norm, grant, bits = sum_norm(law.certificate), granted_of(promised), RESPONSE_BITS[box.dimension]
        needed = certify_masses(norm, masses.lattice, box, masses.kernel, masses.cells, grant, bits)
        check_certificate(law.certificate, needed)
        rows = decode_rows(fields["rows"], promised)
        return cls(**common, response=response, rows=rows, high=parts["high"], low=parts["low"])
