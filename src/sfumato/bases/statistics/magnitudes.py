"""How large the values of a column are, for those who have no public bounds: counts by sign and power of two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sfumato.bases.statistics.sums import Floats, Integers, Limits, SumOfRecords
from sfumato.core.box import Box
from sfumato.errors import ParameterError

SMALLEST, LARGEST = -20, 64  # powers of two: smaller sizes count as zero, larger ones as the largest
WIDEST = 2.0**LARGEST
_CELLS = LARGEST - SMALLEST  # on each side of zero


@dataclass(frozen=True)
class Magnitudes(SumOfRecords):
    """Counts in the cells ``(2^(e-1), 2^e]`` and their mirror images, and which of them surely hold records.

    ``threshold`` is what noise alone hardly ever reaches; the bounds are the outer edges of the cells that reach it.

    >>> Magnitudes().index(np.array([0.0, 1.0, -3.0])).tolist()
    [84, 104, 62]
    """

    threshold: float = 0.0
    statistic = "bounds"
    complete = False
    exponent: ClassVar[int | None] = 0

    def size(self, box: Box) -> int:
        return 2 * _CELLS + 1

    def to_json(self) -> dict[str, Any]:
        return {"statistic": self.statistic, "threshold": self.threshold}

    def index(self, values: Floats) -> Integers:
        """Each value's cell; the zero cell is in the middle. No value may be missing."""
        mantissa, power = np.frexp(np.abs(values))
        power = np.where(mantissa == 0.5, power - 1, power)  # the upper edge belongs to the cell
        out = np.where(np.abs(values) <= 2.0**SMALLEST, 0, np.clip(power - SMALLEST, 1, _CELLS))
        return np.asarray(_CELLS + np.where(values < 0, -out, out), dtype=np.int64)

    def edges(self) -> tuple[Floats, Floats]:
        """The lower and the upper edge of each cell."""
        outer = 2.0 ** np.arange(SMALLEST + 1, LARGEST + 1)
        inner = np.concatenate([[0.0], outer[:-1]])
        return np.concatenate([-outer[::-1], [0.0], inner]), np.concatenate([-inner[::-1], [0.0], outer])

    def pair(self, box: Box, norm: str) -> int | float:
        return 2 if norm == "l1" else float(np.nextafter(np.sqrt(2.0), 2.0))

    def single(self, box: Box, norm: str) -> int:
        return 1

    def estimate(self, box: Box, values: Floats, rows: int | None) -> Floats:
        """From the lowest to the highest cell that reaches the threshold; the fullest cell if none does."""
        reached = np.flatnonzero(values >= self.threshold)
        if not reached.size:
            reached = np.array([int(values.argmax())])
        low, high = self.edges()
        ends = low[reached[0]], high[reached[-1]]
        return np.array(ends if ends[0] < ends[1] else (ends[0] - 2.0**SMALLEST, ends[1] + 2.0**SMALLEST))

    def limits(self, box: Box, values: Floats, widths: Floats, rows: int | None) -> Limits:
        raise ParameterError("private bounds are cautious by themselves, and have no interval")

    def labels(self, box: Box) -> list[list[str]]:
        return [["low", "high"]]
