"""The entries of a published statistic: their names, values and limits, in numbers and in digits for reading."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.magnitudes import Magnitudes
from sfumato.bases.quantiles import Quantiles
from sfumato.bases.summaries import Given, Tally
from sfumato.releases.value import ValueRelease

Floats = NDArray[np.float64]

_FINEST = 9  # decimals that anybody reads


@dataclass(frozen=True)
class Entry:
    """One number of a statistic: its names (none for a single number), and digits that are not finer than its limits.

    ``low`` and ``high`` are rounded outwards, and None where there are no limits. ``share`` is its part of the largest.
    """

    names: tuple[str, ...]
    value: str
    low: str | None
    high: str | None
    share: float


@dataclass(frozen=True)
class Figures:
    """A statistic with its limits: arrays of one shape; private bounds have no limits."""

    release: ValueRelease
    value: Floats
    low: Floats | None
    high: Floats | None
    confidence: float

    @classmethod
    def of(cls, release: ValueRelease, confidence: float) -> Figures:
        """Read a release."""
        value = np.asarray(release.value, dtype=np.float64)
        if isinstance(release.summary, Magnitudes):
            return cls(release, value, None, None, confidence)
        low, high = (np.asarray(end, dtype=np.float64) for end in release.interval(confidence))
        return cls(release, value, low, high, confidence)

    @property
    def single(self) -> bool:
        """Whether it is one number."""
        return self.value.size == 1

    @property
    def counts(self) -> bool:
        """Whether its numbers count records, or are shares of them."""
        return isinstance(self.release.summary, Tally)

    @property
    def symmetric(self) -> bool:
        """Whether it is a matrix of which one half says it all."""
        return self.release.statistic == "covariance"

    @property
    def reach(self) -> Floats | None:
        """How far each number's limits are from it, at most."""
        if self.low is None or self.high is None:
            return None
        return np.asarray(np.maximum(self.high - self.value, self.value - self.low))

    @property
    def uninformed(self) -> bool:
        """Whether some limits are the box's own, and so tell nothing."""
        box = self.release.box
        if not isinstance(self.release.summary, Quantiles) or self.low is None or self.high is None:
            return False
        return bool(((self.low <= box.low[0]) & (self.high >= box.high[0])).any())

    @property
    def heads(self) -> tuple[str, ...]:
        """What the names of the entries are names of, axis by axis."""
        summary = self.release.summary
        if isinstance(summary, Tally):
            return self.release.box.names if self.value.ndim else ()
        if self.value.ndim == 2:
            return ("column", "with column")
        kinds = {Quantiles: "level", Magnitudes: "bound", Given: "number"}
        return () if not self.value.ndim else (kinds.get(type(summary), "column"),)

    @property
    def count(self) -> int:
        """How many entries there are to tell."""
        rows = len(self.value) if self.symmetric else 0
        return rows * (rows + 1) // 2 if self.symmetric else self.value.size

    def entries(self, most: int | None = None) -> list[Entry]:
        """All numbers in their order, or the first ones; of a symmetric matrix, each once."""
        return list(itertools.islice(self._entries(), most))

    def _entries(self) -> Iterator[Entry]:
        labels = self.release.labels
        largest = float(np.abs(self.value).max()) or 1.0
        for place in itertools.product(*(range(len(axis)) for axis in labels)):
            if self.symmetric and place[0] > place[1]:
                continue
            names = tuple(axis[i] for axis, i in zip(labels, place, strict=True))
            yield Entry(names, *self.texts(place), abs(float(self.value[place])) / largest)

    def texts(self, place: tuple[int, ...]) -> tuple[str, str | None, str | None]:
        """One number and its limits, in digits."""
        value = float(self.value[place])
        if self.low is None or self.high is None:
            return repr(value).removesuffix(".0"), None, None
        low, high = float(self.low[place]), float(self.high[place])
        places = self._places(high - low)
        return digits(value, places), digits(low, places, -1), digits(high, places, 1)

    def reach_text(self, place: tuple[int, ...]) -> str:
        """How far one number's limits are from it, in digits, rounded up."""
        assert self.low is not None and self.high is not None and self.reach is not None
        return digits(float(self.reach[place]), self._places(float(self.high[place] - self.low[place])), 1)

    def _places(self, width: float) -> int:
        """Decimals worth writing: those of the data, or two digits of the width of the limits."""
        summary = self.release.summary
        if isinstance(summary, Quantiles):
            return max(0, summary.grid.digits)
        if self.release.statistic in ("count", "histogram"):
            return 0
        return max(0, 1 - math.floor(math.log10(width))) if math.isfinite(width) and width > 0 else _FINEST + 1


def digits(value: float, places: int, side: int = 0) -> str:
    """A number with so many decimals: the nearest, or rounded down (side -1) or up (side 1).

    >>> digits(1234.5678, 1), digits(0.5678, 2, -1), digits(-0.001, 2)
    ('1,234.6', '0.56', '0.00')
    """
    if places > _FINEST or not abs(value) < 1e15:
        return f"{value:.6g}"
    if side:
        moved = math.floor(value * 10**places) if side < 0 else math.ceil(value * 10**places)
        value = moved / 10**places
    text = f"{value:,.{places}f}"
    return text.removeprefix("-") if not text.strip("-0.,") else text


def selection_of(release: ValueRelease) -> dict[str, str | int | float] | None:
    """How a quantile was chosen; None for what is perturbed instead."""
    summary = release.summary
    if not isinstance(summary, Quantiles):
        return None
    values, pure = summary.grid.values(), release.guarantee.rho is None
    return {
        "mechanism": "permute-and-flip" if pure else "exponential mechanism",
        "candidates": summary.grid.count,
        "lowest": float(values[0]),
        "highest": float(values[-1]),
        "step": 10.0**-summary.grid.digits,
        "choices": len(summary.levels),
        "interval_share": summary.share,
    }
