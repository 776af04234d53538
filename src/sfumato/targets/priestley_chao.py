"""Priestley-Chao regression in one dimension, with a sensitivity that holds for every data set."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.base import LatticeBasis
from sfumato.bases.lattice.bernstein import Bernstein, Step
from sfumato.bases.lattice.expansion import Expansion
from sfumato.bases.origins import Gaps
from sfumato.bases.unit import to_unit
from sfumato.checks import positive_number
from sfumato.core.box import Box, Periodic
from sfumato.core.calibration import NoiseLaw
from sfumato.core.certificate import Certificate
from sfumato.core.mechanism import Private
from sfumato.core.privacy import Privacy
from sfumato.engines.engine import Engine, Records, whole_of
from sfumato.engines.table import Table
from sfumato.errors import ParameterError
from sfumato.releases.function import FunctionRelease
from sfumato.releases.machine.response import Response
from sfumato.releases.uncertainty import sup_noise
from sfumato.targets.base import Errors, Published, Target

Floats = NDArray[np.float64]

_PEAK = 1 / math.sqrt(2 * math.pi)  # of the standard Gaussian kernel
_ROWS = 65_536  # read at a time
_BLOCK = 2**22  # kernel values held at once


@dataclass(frozen=True)
class PriestleyChao(Target):
    """Publish ``m + 1/b sum_i g_i K((x - x_i)/b) (y_i - m)``: kernels weighted by gaps between sorted records.

    Every gap ``g_i = x_i - x_{i-1}`` counts as at most ``gap / n`` of the column's width; m is the middle of the range.
    For most purposes ``sf.NadarayaWatson`` is the better tool: docs/regression.md says when this one is wrong.

    Parameters
    ----------
    bandwidth
        The Gaussian kernel's standard deviation, in the column's units.
    response, range
        The response's column (the y of an ``(X, y)`` pair), and its public range; values outside are clipped.
    gap
        c: gaps are clipped at c times the mean gap of records that fill the column evenly. Larger values bias less
        where records are sparse, and cost noise in proportion.

    Formal guarantee: for all neighbours, ``|f(x) - f'(x)| <= 4 B (c/n) sup K / b`` at every point, B half the range, b
    the bandwidth in widths of the column (docs/proofs/priestley-chao.md).

    >>> PriestleyChao(2.5, response="bp", range=(60, 220)).describe()[0]
    ('target', 'Priestley-Chao regression of bp')
    """

    bandwidth: float
    response: str = "y"
    range: tuple[float, float] | None = None
    gap: float = 4.0

    bases = (Bernstein, Step)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bandwidth", positive_number("bandwidth", self.bandwidth))
        object.__setattr__(self, "gap", positive_number("gap", self.gap))
        object.__setattr__(self, "range", self._response().range)

    def _response(self) -> Response:
        return Response(self.response, range=self.range)

    @property
    def _half(self) -> float:
        assert self.range is not None
        return self.range[1] / 2 - self.range[0] / 2

    def check_box(self, box: Box) -> None:
        column = box.intervals()[0]
        if box.dimension != 1 or isinstance(column, Periodic):
            raise ParameterError(
                f"Priestley-Chao regression is on one column that is not periodic, got {list(box.names)}; "
                "use sf.NadarayaWatson"
            )
        if self.response in box.names:
            raise ParameterError(f"the response {self.response!r} must not be among the columns of the box")
        if not self._width(box) >= 1e-100:  # squares of distances must stay finite
            raise ParameterError(
                f"bandwidth={self.bandwidth!r} is too narrow for the column {column!r}", parameter="bandwidth"
            )

    def gather(self, records: Records, box: Box, engine: Engine) -> Table:
        """All of them: gaps are between neighbours in a sorted table, and no sum over records."""
        return whole_of(records, "Priestley-Chao regression")

    def choose_basis(self, box: Box, n: int | None, privacy: Privacy) -> LatticeBasis:
        """The talk's: degree 10, iterated three times."""
        return Bernstein(10, order=3)

    def certificate(self, basis: LatticeBasis, box: Box, n: int | None, privacy: Privacy) -> Certificate:
        """Taking a record out moves its own term and the next one's gap: docs/proofs/priestley-chao.md."""
        if n is None or (privacy.neighbours, privacy.unit) != ("replace", "row"):
            raise ParameterError(
                "Priestley-Chao regression needs a public number of rows (neighbours='replace', unit='row'); "
                "use sf.NadarayaWatson"
            )
        return self._origin(n).certificate(box, privacy)

    def _origin(self, n: int) -> Gaps:
        assert self.range is not None
        return Gaps(self.range, self.bandwidth, self.gap, n)

    def _width(self, box: Box) -> float:
        column = box.intervals()[0]
        return self.bandwidth / (column.high - column.low)

    def coefficients(self, table: Table, basis: LatticeBasis, box: Box, certificate: Certificate) -> Private:
        place, response = self._sorted(table, box)
        points, width = to_unit(box, basis.lattice(box), "clip")[:, 0], self._width(box)
        # The number of rows is public, also where some of them have missing values.
        gaps = np.minimum(np.diff(place, prepend=0.0), self.gap / max(1, table.rows))
        values = np.zeros(len(points))
        step = max(1, _BLOCK // len(points))
        for start in range(0, len(place), step):
            part = slice(start, start + step)
            z = (points[:, None] - place[part]) / width
            values += np.exp(-0.5 * z * z) @ (gaps[part] * response[part])
        # The middle of the range is public. Added here, a large one would round private digits beyond the certificate.
        return Private(self._half * values * (_PEAK / width), certificate)

    def _sorted(self, table: Table, box: Box) -> tuple[Floats, Floats]:
        """Positions in [0, 1] and responses in [-1, 1], by position and then by response: ties have one order."""
        column, response = box.intervals()[0], self._response()
        places, targets = [np.zeros(0)], [np.zeros(0)]
        for values, labels in table.batches(response.after(box), _ROWS):
            with np.errstate(all="ignore"):  # a warning that depends on values would be an output
                unit = (column.clean(values) - column.low) / (column.high - column.low)
            target = response.from_range(labels)
            there = ~(np.isnan(unit) | np.isnan(target))
            places.append(np.clip(unit[there], 0.0, 1.0))
            targets.append(target[there])
        place, target = np.concatenate(places), np.concatenate(targets)
        order = np.lexsort((target, place))
        return place[order], target[order]

    def predict(self, basis: LatticeBasis, box: Box, law: NoiseLaw, n: int | None, confidence: float) -> Errors:
        mean, high = sup_noise(basis, box, law, confidence)
        return Errors(mean, high, None, law.certificate.bound)

    def finish(self, published: Published) -> FunctionRelease:
        assert isinstance(published.basis, LatticeBasis)
        middle = self._response().to_range(np.zeros(1))
        return FunctionRelease(
            guarantee=published.guarantee,
            law=published.law,
            target=self.describe(),
            receipt=published.receipt,
            expansion=Expansion(published.basis, published.box, published.values + middle),
            origin=None if published.rows is None else self._origin(published.rows),
        )

    def describe(self) -> tuple[tuple[str, str], ...]:
        return (
            ("target", f"Priestley-Chao regression of {self.response}"),
            ("range", repr(self.range)),
            ("bandwidth", repr(self.bandwidth)),
            ("gaps clipped at", f"{self.gap!r} / n"),
        )
