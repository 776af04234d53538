"""Nadaraya-Watson regression: a response averaged with kernel weights, published once.

Each record gives one part of its kernel to "high" and the rest to "low", in proportion to its response. Both parts
together weigh as much as the record, so the two functions cost no more than a density (docs/proofs/nadaraya-watson.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.bases.base import Basis
from sfumato.bases.density.binning import LARGEST_DIMENSION, Binning, MassLattice, SplitLattice
from sfumato.bases.density.shares import RESPONSE_BITS, apply_shares, certify_masses, shape_of_cells
from sfumato.core.box import Box
from sfumato.core.calibration import NoiseLaw
from sfumato.core.certificate import Certificate
from sfumato.core.mechanism import Private
from sfumato.core.privacy import Privacy
from sfumato.core.whole import Integers, Wide
from sfumato.engines.cells import Cells
from sfumato.engines.engine import Engine, Records
from sfumato.engines.passes import Values
from sfumato.engines.table import Columns
from sfumato.engines.totals import Totals
from sfumato.errors import ParameterError
from sfumato.releases.curve import CurveRelease
from sfumato.releases.density.density import DensityRelease
from sfumato.releases.density.grouped import INDEPENDENT
from sfumato.releases.density.masses import NoisyMasses
from sfumato.releases.machine.response import Response
from sfumato.targets.base import Errors, Published, Target
from sfumato.targets.density.density import KDE
from sfumato.targets.density.tuned import Tuned


@dataclass(frozen=True)
class Halves:
    """A pass: how much of each cell's responses is high, and how much is low, in whole steps.

    Parameters
    ----------
    cells, response
        Which cell a record falls into, and how its response is read.
    largest
        T: as many steps of a record are high or low.
    """

    cells: Cells
    response: Response
    largest: int
    features = None

    @property
    def box(self) -> Box:
        """The columns and the response."""
        return self.response.after(self.cells.box)

    @property
    def size(self) -> int:
        """Two numbers for each cell."""
        return 2 * self.cells.size

    def add(self, total: Integers, columns: Values) -> None:
        """Each record gives its steps to its cell."""
        place, missing = self.cells.places(columns[:-1])
        share = (self.response.from_range(columns[-1]) + 1) / 2
        there = ~np.isnan(share) if missing is None else ~(np.isnan(share) | missing)
        high = np.clip(np.rint(share[there] * self.largest), 0, self.largest).astype(np.int64)
        parts = total.reshape(2, -1)
        np.add.at(parts[0], place[there], high)
        np.add.at(parts[1], place[there], self.largest - high)


@dataclass(frozen=True)
class NadarayaWatson(Target):
    """Publish the kernel regression of a response on one to three numeric columns.

    Parameters
    ----------
    bandwidth
        As for ``sf.KDE``: the Gaussian kernel's standard deviation in the columns' units, or ``"auto"``.
    response, range
        The response's column (the y of an ``(X, y)`` pair), and its public range; values outside are clipped. A record
        without a response, or with a missing value, counts for nothing.
    expected_rows
        A public guess of the number of rows, where that number itself is private; it only steers accuracy.

    Formal guarantee: each record moves the coefficients by at most what ``certificate`` says, whatever it holds
    (docs/proofs/nadaraya-watson.md).

    >>> NadarayaWatson(2.5, response="bp", range=(60, 220)).describe()[0]
    ('target', 'regression of bp')
    """

    bandwidth: Any = "auto"
    response: str = "y"
    range: tuple[float, float] | None = None
    expected_rows: int | None = None

    bases = (Binning, SplitLattice)

    def __post_init__(self) -> None:
        self._response()  # refuses what is not declared
        object.__setattr__(self, "range", self._response().range)
        object.__setattr__(self, "bandwidth", self._density().bandwidth)
        if isinstance(self.bandwidth, Tuned):
            raise ParameterError(
                "bandwidth=sf.Tuned(...) is for densities; give a regression a number or 'auto'", parameter="bandwidth"
            )

    def _response(self) -> Response:
        return Response(self.response, range=self.range)

    def _density(self) -> KDE:
        """The density of the records, of which the regression is two soft parts."""
        return KDE(self.bandwidth, expected_rows=self.expected_rows)

    @property
    def columns(self) -> Columns:  # type: ignore[override]
        """The response's column, which the data must have beside the box's."""
        return {self.response: self._response().column}

    def check_box(self, box: Box) -> None:
        if self.response in box.names:
            raise ParameterError(
                f"the response {self.response!r} must not be among the columns of the box {list(box.names)}: "
                "a function is regressed on the others"
            )
        if len(box.intervals()) > LARGEST_DIMENSION:
            raise ParameterError(f"a regression curve has 1 to 3 columns, got {box.dimension} ({list(box.names)})")
        self._density().check_box(box)

    def settled(self, box: Box, n: int | None, privacy: Privacy, basis: Any = "auto") -> NadarayaWatson:
        return replace(self, bandwidth=self._density().settled(box, n, privacy).bandwidth)

    def gather(self, records: Records, box: Box, engine: Engine) -> Totals:
        """For each cell, how much of its records' responses is high and how much is low."""
        cells = Cells(box, shape_of_cells(box, 2))
        return engine.fold(records, Halves(cells, self._response(), 2 ** RESPONSE_BITS[box.dimension]))

    def check_basis(self, basis: Basis, box: Box) -> None:
        super().check_basis(basis, box)
        self._density().check_basis(basis, box)

    def check_law(self, law: NoiseLaw) -> None:
        super().check_law(law)
        if law.kind not in INDEPENDENT:
            raise ParameterError(f"noise={law.kind!r} ties both parts together; use noise='auto'", parameter="noise")

    def size(self, basis: Basis, box: Box) -> int:
        return 2 * basis.size(box)

    def choose_basis(self, box: Box, n: int | None, privacy: Privacy) -> MassLattice:
        """The lattice of least predicted error for the density of the records."""
        return self._density().linear_basis(box, n, privacy)

    def certificate(self, basis: Basis, box: Box, n: int | None, privacy: Privacy) -> Certificate:
        """A record is ``(w s, (T - w) s)``, s one cell's shares: non-negative, of sum at most T times theirs.

        L1 as for a density; L2: no longer than ``T ||s||`` (docs/proofs/nadaraya-watson.md).
        """
        norm, kernel = "l1" if privacy.rho is None and privacy.delta == 0 else "l2", self._density().gaussian(box)
        return certify_masses(norm, basis, box, kernel, shape_of_cells(box, 2), privacy, RESPONSE_BITS[box.dimension])

    def coefficients(self, halves: Totals, basis: Basis, box: Box, certificate: Certificate) -> Private:
        kernel, sums = self._density().gaussian(box), halves.open((2, *shape_of_cells(box, 2)))
        return Private(Wide.joined([apply_shares(basis, box, kernel, sums[i]) for i in (0, 1)]), certificate)

    def predict(self, basis: Basis, box: Box, law: NoiseLaw, n: int | None, confidence: float) -> Errors:
        """Those of a density that is flat, turned into errors of a mean of responses there."""
        density = self._density()
        one = density.predict(basis, box, replace(law, size=law.size // 2), n, confidence)
        assert self.range is not None
        scale = (self.range[1] - self.range[0]) * float(np.prod(box.high - box.low))
        approximation = None if one.approximation is None else one.approximation * scale
        return Errors(one.mean_noise * scale, one.noise * scale, approximation, None)

    def finish(self, published: Published) -> CurveRelease:
        basis, box, density = published.basis, published.box, self._density()
        law = replace(published.law, size=basis.size(box))
        common: dict[str, Any] = {"guarantee": published.guarantee, "target": self.describe()}
        common |= {"receipt": published.receipt}
        choice = density._explain(replace(published, law=law))
        parts = []
        for values in published.values.reshape(2, -1):
            masses = NoisyMasses(box, density.gaussian(box), basis, values, law, None, False, shape_of_cells(box, 2))
            parts.append(DensityRelease.build(masses, "simplex", choice, {**common, "law": law}))
        return CurveRelease(
            **common, law=published.law, response=self._response(), high=parts[0], low=parts[1], rows=published.rows
        )

    def describe(self) -> tuple[tuple[str, str], ...]:
        return (
            ("target", f"regression of {self.response}"),
            ("range", repr(self.range)),
            ("bandwidth", repr(self.bandwidth)),
        )
