"""The bounds of a column, for those who have no public ones, at a price."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sfumato.bases.statistics.magnitudes import Magnitudes
from sfumato.bases.statistics.sums import Integers
from sfumato.checks import probability
from sfumato.core.box import Box
from sfumato.core.calibration import NoiseLaw
from sfumato.core.certificate import Certificate
from sfumato.core.mechanism import Private
from sfumato.core.privacy import Privacy
from sfumato.engines.engine import Engine, Records
from sfumato.engines.passes import Counts, Values
from sfumato.engines.totals import Totals
from sfumato.errors import ParameterError
from sfumato.releases.uncertainty import norm_quantile
from sfumato.releases.value import ValueRelease
from sfumato.targets.base import Errors, Published, Target
from sfumato.targets.statistic import certify_statistic


@dataclass(frozen=True)
class MagnitudeCells:
    """The cells of one column's magnitudes: a missing value is in none.

    >>> MagnitudeCells(Box([(-8, 8)])).index([np.array([0.0, np.nan, 1.0])]).tolist()
    [84, 104]
    """

    box: Box

    @property
    def size(self) -> int:
        """The number of cells."""
        return Magnitudes().size(self.box)

    def index(self, columns: Values) -> Integers:
        """The cells of the values that are there."""
        values = self.box.clean(columns[0][:, None])[:, 0]
        return Magnitudes().index(values[~np.isnan(values)])


@dataclass(frozen=True)
class Bounds(Target):
    """Publish two numbers between which nearly all values of one column lie.

    Parameters
    ----------
    miss
        How probable it is that noise alone makes them wider than any value.

    Formal guarantee: a record is in one cell of a public grid of magnitudes: docs/proofs/statistics.md.

    >>> Bounds().describe()[0]
    ('target', 'bounds')
    """

    miss: float = 0.001

    bases = (Magnitudes,)

    def __post_init__(self) -> None:
        probability("miss", self.miss)

    def check_box(self, box: Box) -> None:
        super().check_box(box)
        if box.dimension != 1:
            raise ParameterError(f"bounds are of one column, got {list(box.names)}")

    def gather(self, records: Records, box: Box, engine: Engine) -> Totals:
        return engine.fold(records, Counts(MagnitudeCells(box)))

    def choose_basis(self, box: Box, n: int | None, privacy: Privacy) -> Magnitudes:
        return Magnitudes()

    def certificate(self, basis: Magnitudes, box: Box, n: int | None, privacy: Privacy) -> Certificate:
        """A record moves from one cell to another: docs/proofs/statistics.md."""
        return certify_statistic(basis, box, privacy)

    def preferred_noise(self, certificate: Certificate, privacy: Privacy) -> str:
        return "laplace" if certificate.norm == "l1" else "auto"

    def coefficients(self, counts: Totals, basis: Magnitudes, box: Box, certificate: Certificate) -> Private:
        return Private(counts.wide(), certificate)

    def predict(self, basis: Magnitudes, box: Box, law: NoiseLaw, n: int | None, confidence: float) -> Errors:
        """In records: a cell with fewer than this many may go unseen."""
        unseen = norm_quantile(law, 1 - self.miss)[0]
        return Errors(unseen, unseen, 0.0, None)

    def finish(self, published: Published) -> ValueRelease:
        basis = published.basis
        assert isinstance(basis, Magnitudes) and published.law is not None
        return ValueRelease(
            guarantee=published.guarantee,
            law=published.law,
            target=self.describe(),
            receipt=published.receipt,
            domain=published.box,
            summary=replace(basis, threshold=norm_quantile(published.law, 1 - self.miss)[0] + published.law.step),
            numbers=published.values,
            rows=published.rows,
        )

    def describe(self) -> tuple[tuple[str, str], ...]:
        return (("target", "bounds"), ("probability of too wide bounds", repr(self.miss)))
