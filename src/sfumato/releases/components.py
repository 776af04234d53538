"""Published principal components: a mean, and the directions along which columns spread most."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.repeated import grant_of_one, ratio_of_all
from sfumato.bases.subspace.moments import MOST_COLUMNS, SecondMoments, moments_from_json
from sfumato.bases.subspace.reading import Ellipsoid, ellipsoid_of
from sfumato.codec import decode_rows, exact_keys
from sfumato.core.box import Box
from sfumato.core.privacy import Guarantee
from sfumato.errors import ParameterError
from sfumato.harmless import printable
from sfumato.laws import noise_deviation
from sfumato.releases.base import Release
from sfumato.releases.file.certified import check_certificate, checked_noise, granted_of
from sfumato.releases.rows import check_rows, points_in, randomness
from sfumato.upwards import Shown

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class ComponentsRelease(Shown, Release):
    """Principal components of private records: an ellipsoid about their mean.

    Parameters
    ----------
    domain, basis
        The columns, and what was summed.
    numbers
        Noisy sums over records (read-only).
    records
        The public number of records, or None.
    """

    kind: ClassVar[str] = "components"

    domain: Box
    basis: SecondMoments
    numbers: Floats
    records: int | None

    def __post_init__(self) -> None:
        numbers = np.array(self.numbers, dtype=np.float64)
        numbers.setflags(write=False)
        object.__setattr__(self, "numbers", numbers)

    @property
    def box(self) -> Box:
        return self.domain

    @cached_property
    def ellipsoid(self) -> Ellipsoid:
        """Mean, components and variances of columns scaled to [-1, 1]."""
        with np.errstate(all="ignore"):  # what a stranger's file holds warns nobody
            return ellipsoid_of(self.numbers, self.basis, self.records, self.box.dimension, noise_deviation(self.law))

    @property
    def components(self) -> Floats:
        """``(k, d)``: orthonormal directions in columns scaled to [-1, 1], that of the largest variance first."""
        return self.ellipsoid.components

    @property
    def values(self) -> Floats:
        """``(k,)``: the variance along each, in squares of half a column's width."""
        return self.ellipsoid.values

    @property
    def spread(self) -> Floats:
        """``(k,)``: the standard deviation along each: the half-axes of the ellipsoid."""
        return np.sqrt(self.ellipsoid.values)

    @property
    def mean(self) -> Floats:
        """``(d,)``: of the columns, in their units (of dates, days since 1970)."""
        return self._in_units(self.ellipsoid.mean)

    def points(self, count: int, seed: int | None = None) -> Floats:
        """``(count, d)`` points spread evenly in the ellipsoid, within the box, in the columns' units.

        The ellipsoid is as wide as gives them the variances along its axes. The same seed gives the same points.

        Formal guarantee: they are computed from the release alone; they satisfy ``guarantee`` and cost nothing.
        """
        return self._in_units(points_in(self.ellipsoid, check_rows(count), randomness(seed)))

    def _in_units(self, values: Floats) -> Floats:
        low, high = self.box.low, self.box.high
        return np.asarray(low / 2 + high / 2 + values * (high / 2 - low / 2))

    def __repr__(self) -> str:
        names = printable(", ".join(self.box.names))
        return f"<ComponentsRelease of {names}: {self.basis.rank} components; {self.guarantee}>"

    # --- what the file holds ------------------------------------------------------------------------------

    def arrays(self) -> dict[str, Floats]:
        return {"numbers": self.numbers}

    def fields(self) -> dict[str, Any]:
        return {"basis": self.basis.to_json(), "records": self.records}

    @classmethod
    def rebuild(cls, common: dict[str, Any], box: Box, fields: dict[str, Any], arrays: dict[str, Floats]) -> Self:
        exact_keys(fields, {"basis", "records"}, "the content")
        exact_keys(arrays, {"numbers"}, "the file")
        basis, law, promised = moments_from_json(fields["basis"]), common["law"], common["guarantee"]
        box.intervals()
        if box.max_norm is not None or box.dimension > MOST_COLUMNS or basis.rank > box.dimension:
            raise ParameterError("the components do not fit the box")
        records, size = fields["records"], basis.size(box)
        public = (promised.neighbours, promised.unit) == ("replace", "row")
        if (records is not None) != public or basis.counted == public or decode_rows(records, promised) != records:
            raise ParameterError(f"a number of records is there just where the guarantee makes it public: {records!r}")
        if arrays["numbers"].shape != (size,) or law.size != size or not np.isfinite(arrays["numbers"]).all():
            raise ParameterError(f"the components need {size} finite numbers, got {arrays['numbers'].shape}")
        _check_law(law, basis, box, promised)
        return cls(**common, domain=box, basis=basis, numbers=arrays["numbers"], records=records)


def _check_law(law: Any, basis: SecondMoments, box: Box, promised: Guarantee) -> None:
    """Refuse noise that is not what all publications together call for."""
    granted, norm = granted_of(promised), law.certificate.norm
    if norm not in (("linf", "l2") if basis.noise == "covariance" else ("l2",)):
        raise ParameterError(f"components are not certified in the norm {norm!r}")
    check_certificate(law.certificate, basis.certified(norm, box, granted))
    if basis.noise == "covariance":
        return
    kept = checked_noise(law, grant_of_one(granted, basis.iterations))
    if promised.mu is not None and (
        kept.mu is None or promised.mu < ratio_of_all(kept.mu, basis.iterations) * (1 - 1e-6)
    ):
        raise ParameterError("the guarantee's mu promises more than the products keep")
