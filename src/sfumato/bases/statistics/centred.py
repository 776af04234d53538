"""Variances in two steps: noisy means first, then the mean squares about them.

About a centre c, in half-widths, squares lie between 0 and ``(1 + |c|)**2``, and one number tells a variance; about the
middle of the box it takes two. What the centre is off counts only in its square.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.bases.statistics.moments import Moments, added, full_count, half_width, shaped
from sfumato.bases.statistics.sums import BITS, UNIT, Floats, Integers, Limits, SumOfRecords, root
from sfumato.checks import as_written, share_of
from sfumato.core.box import Box
from sfumato.core.calibration import NoiseLaw, calibrate
from sfumato.core.privacy import Guarantee, Privacy
from sfumato.errors import ParameterError
from sfumato.laws import sum_quantile

_MOST = 0.25  # of the grant, for the means; where theory asks for more, one step is better
_SQUARE = 7 / 3  # the mean of (1 + |c|)**2
_ROUNDING = 8.0 / UNIT  # what fixed-point squares are off at most


def share_of_means(columns: int, rows: int, privacy: Privacy) -> float | None:
    """Which part of the grant should pay for the means: docs/proofs/statistics.md; None where one step is better."""
    if privacy.rho is not None:
        share = math.sqrt(8 * math.sqrt(columns) / (_SQUARE * rows * math.sqrt(2 * privacy.rho)))
    else:
        assert privacy.epsilon is not None
        share = (16 * columns / (_SQUARE * rows * privacy.epsilon)) ** (1 / 3)
    return None if share > _MOST else math.ceil(share * 1000) / 1000


@dataclass(frozen=True)
class CentredSquares(SumOfRecords):
    """The squares of rescaled columns about public centres, each less half of the largest it can be.

    Parameters
    ----------
    centres
        In steps of a half-width from the middle of each column.
    complete
        Whether the caller says that nothing is missing.
    weight
        What each record adds to the last number, which counts them; 0 where their number is public and complete.
    first
        The noisy numbers behind the means that were published first.
    first_weight
        The weight of a record in the last of them, 0 if they count none.
    share
        Which part of the grant paid for them.

    >>> CentredSquares((0,), True, 0, (0.0,), 0, 0.1).pair(Box({"age": (0, 110)}), "l1") == UNIT
    True
    """

    centres: tuple[int, ...]
    complete: bool
    weight: int
    first: tuple[float, ...]
    first_weight: int
    share: float
    statistic = "variance"

    def __post_init__(self) -> None:
        if any(abs(centre) > UNIT for centre in self.centres):
            raise ParameterError.of("centres", f"must lie within their columns, -{UNIT} to {UNIT}, got {self.centres}")

    @classmethod
    def counting(
        cls, box: Box, first: Floats, means: Moments, share: float, rows: int, privacy: Privacy, norm: str
    ) -> CentredSquares:
        """Squares about these means, with a free count where values may be missing; ``privacy`` is the whole grant."""
        numbers = tuple(float(number) for number in first)
        bare = cls((0,) * box.dimension, means.complete, 0, numbers, means.weight, share)
        steadied = means.steadied(first, bare.first_law(privacy), rows)
        found = np.atleast_1d(means.estimate(_unit_box(box.dimension), steadied, rows))
        bare = replace(bare, centres=tuple(np.rint(np.clip(found, -1.0, 1.0) * UNIT).astype(np.int64).tolist()))
        if means.complete:
            return bare
        one, two = bare.single(box, norm), bare.pair(box, norm)
        weight = two - one if norm == "l1" else math.isqrt(two * two - one * one) - 1
        return replace(bare, weight=min(weight, 64 * UNIT))  # below what a record may add to a sum

    @property
    def means(self) -> Moments:
        """What the first numbers are."""
        return Moments("mean", self.complete, self.first_weight)

    def _tops(self) -> list[int]:
        """The largest square of each column, rounded down."""
        return [(UNIT + abs(centre)) ** 2 >> BITS for centre in self.centres]

    def largest(self) -> int:
        """A bound on every integer of a record."""
        return max(*(top - top // 2 for top in self._tops()), self.weight, 1)

    def size(self, box: Box) -> int:
        return box.dimension + (self.weight > 0)

    def to_json(self) -> dict[str, Any]:
        return {
            "statistic": self.statistic,
            "complete": self.complete,
            "weight": self.weight,
            "first": list(self.first),
            "first_weight": self.first_weight,
            "share": self.share,
            "centres": list(self.centres),
        }

    def contributions(self, box: Box, records: Floats) -> Integers:
        """``(m, size)`` integers, from cleaned records."""
        steps, missing = self.means.steps(box, records)
        centred = steps - np.array(self.centres, dtype=np.int64)
        parts = [*((centred * centred >> BITS) - np.array([top // 2 for top in self._tops()])).T]
        if self.weight:
            parts.append(np.full(len(records), self.weight, dtype=np.int64))
        return added(parts, None if self.complete else missing)

    def pair(self, box: Box, norm: str) -> int:
        """Each square lies between 0 and the largest, which the end of the column that is further away attains."""
        tops = self._tops()
        return sum(tops) if norm == "l1" else root(sum(top * top for top in tops))

    def single(self, box: Box, norm: str) -> int:
        """Less half of the largest, it is at most the other half; and the weight."""
        halves = [top - top // 2 for top in self._tops()]
        if norm == "l1":
            return sum(halves) + self.weight
        return root(sum(half * half for half in halves) + self.weight**2)

    def estimate(self, box: Box, values: Floats, rows: int | None) -> Floats:
        count = max(1.0, self._count(values, rows))
        middle = np.array([top // 2 for top in self._tops()]) / UNIT
        return shaped(half_width(box) ** 2 * np.clip(values[: box.dimension] / count + middle, 0.0, 1.0))

    def _count(self, values: Floats, rows: int | None) -> float:
        known = float(rows or 0)
        return min(float(values[-1] * UNIT / self.weight), known) if self.weight else known

    def counted(self, values: Floats, deviation: float) -> tuple[float, float]:
        """The noisy number of records, and the standard deviation of its noise; for squares that are counted."""
        return float(values[-1] * UNIT / self.weight), deviation * UNIT / self.weight

    def steadied(self, values: Floats, law: NoiseLaw | None, rows: int | None) -> Floats:
        return full_count(values, self.weight, law, rows)

    def own_widths(self, law: NoiseLaw | None, guarantee: Guarantee, confidence: float, rows: int | None) -> Floats:
        """Of the numbers of both steps, all at once: those of the squares, then those of the means."""
        assert law is not None
        mine, before = law.size, self.first_law(guarantee)
        miss = (1 - confidence) / (2 * (mine + before.size))
        one = np.ones(1)
        return np.array(
            [sum_quantile(law, one, one, miss)] * mine + [sum_quantile(before, one, one, miss)] * before.size
        )

    def planned_widths(self, widths: Floats, box: Box, norm: str) -> Floats:
        """Those of both steps, from those of the second: what neighbours do to each, and its part of the grant."""
        ratio = (1 - self.share) / self.share
        apart = self.means.pair(box, norm) / self.pair(box, norm) * (ratio if norm == "l1" else math.sqrt(ratio))
        return np.append(widths, np.full(len(self.first), float(widths.max()) * apart))

    def first_law(self, guarantee: Guarantee | Privacy) -> NoiseLaw:
        """The law of the noise in the means, which follows from the grant."""
        share, norm = as_written(self.share), "l1" if guarantee.rho is None else "l2"
        if guarantee.rho is not None:
            part = Privacy(rho=share_of(guarantee.rho, share))
        else:
            assert guarantee.epsilon is not None
            part = Privacy(epsilon=share_of(guarantee.epsilon, share))
        certificate = self.means.certified(_unit_box(len(self.centres)), part, norm)
        return calibrate(certificate, len(self.first), part, "auto")[0]

    def limits(self, box: Box, values: Floats, widths: Floats, rows: int | None) -> Limits:
        """The mean square about the centre, and less than it by the square of what the centre is off at most."""
        mine, theirs = widths[: self.size(box)], widths[self.size(box) :]
        ends = self.means.limits(_unit_box(box.dimension), np.array(self.first), theirs, rows)
        centre = np.array(self.centres) / UNIT
        off = np.maximum(*(np.abs(np.atleast_1d(end) - centre) for end in ends))
        count, width = self._count(values, rows), float(mine[-1]) * UNIT / self.weight if self.weight else 0.0
        fewest, many = (float(np.clip(count + sign * width, 1.0, max(1.0, rows or 0))) for sign in (-1, 1))
        middle = np.array([top // 2 for top in self._tops()]) / UNIT
        low, high = values[: box.dimension] - mine[: box.dimension], values[: box.dimension] + mine[: box.dimension]
        least = np.minimum(low / fewest, low / many) + middle - off**2 - _ROUNDING
        most = np.maximum(high / fewest, high / many) + middle + _ROUNDING
        scale = half_width(box) ** 2
        return shaped(np.clip(least, 0.0, 1.0) * scale), shaped(np.clip(most, 0.0, 1.0) * scale)

    def typical(self, box: Box, rows: int) -> Floats:
        middle = np.array([top // 2 for top in self._tops()]) / UNIT
        return np.append((0.1 - middle) * rows, [rows * self.weight / UNIT] * (self.weight > 0))

    def labels(self, box: Box) -> list[list[str]]:
        return [] if box.dimension == 1 else [list(box.names)]


def _unit_box(columns: int) -> Box:
    """Columns as moments see them: from -1 to 1."""
    return Box({str(i): (-1.0, 1.0) for i in range(columns)})
