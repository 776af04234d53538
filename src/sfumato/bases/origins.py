"""What bounds a published function whatever the data are: public numbers from which its sensitivity follows."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sfumato.bases.statistics.sums import Given
from sfumato.checks import finite_number, positive_number, whole_number
from sfumato.core.box import Box
from sfumato.core.certificate import Certificate
from sfumato.core.privacy import Privacy
from sfumato.errors import ParameterError

_PEAK = 1 / math.sqrt(2 * math.pi)  # of the standard Gaussian kernel
_MOST_ROWS = 2**62 - 1


def _limits(given: Any) -> tuple[float, float]:
    low, high = (finite_number("range", end) for end in given)
    if low >= high:
        raise ParameterError.of("range", f"must have low < high, got range={given!r}")
    return low, high


@dataclass(frozen=True)
class Origin(ABC):
    """How values came about, as far as it bounds them."""

    range: tuple[float, float]

    def __post_init__(self) -> None:
        object.__setattr__(self, "range", _limits(self.range))

    @abstractmethod
    def certificate(self, box: Box, privacy: Privacy) -> Certificate:
        """How far neighbours can move the values at lattice points: docs/proofs/bernstein.md, priestley-chao.md."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Plain data from which a release file rebuilds it."""


@dataclass(frozen=True)
class Clipped(Origin):
    """Any function, clipped to a public range."""

    def certificate(self, box: Box, privacy: Privacy) -> Certificate:
        """Clipped values differ by no more than the range is wide, whatever happens: docs/proofs/bernstein.md."""
        width = Given(1, self.range).widest("linf")
        return Certificate("linf", width, privacy.neighbours, "enforced", "bernstein")

    def to_json(self) -> dict[str, Any]:
        return {"name": "clipped", "range": list(self.range)}


@dataclass(frozen=True)
class Gaps(Origin):
    """A Priestley-Chao sum of ``rows`` kernels, gaps between sorted records cut at ``gap / rows`` of the column."""

    bandwidth: float
    gap: float
    rows: int

    def __post_init__(self) -> None:
        super().__post_init__()
        positive_number("bandwidth", self.bandwidth)
        positive_number("gap", self.gap)
        whole_number("rows", self.rows, 0, _MOST_ROWS)

    def certificate(self, box: Box, privacy: Privacy) -> Certificate:
        """Taking a record out moves its own term and the next one's gap, putting one in two more: priestley-chao.md.

        Each is at most ``B (c/n) sup K / b``. Sums of n doubles are off by less than the last factor says.
        """
        if box.dimension != 1 or (privacy.neighbours, privacy.unit) != ("replace", "row"):
            raise ParameterError(
                "Priestley-Chao regression needs one column and a public number of rows (neighbours='replace', "
                "unit='row'); use sf.NadarayaWatson"
            )
        column, half = box.intervals()[0], self.range[1] / 2 - self.range[0] / 2
        term = half * (self.gap / max(1, self.rows)) * _PEAK / (self.bandwidth / (column.high - column.low))
        bound = 4 * term * (1 + self.rows * self.rows * 2.0**-50 + 1e-9)
        return Certificate("linf", bound, "replace", "proved", "priestley-chao")

    def to_json(self) -> dict[str, Any]:
        return {"name": "gaps", **vars(self), "range": list(self.range)}


def origin_from_json(data: Mapping[str, Any]) -> Origin:
    """Rebuild an origin from plain data: a closed list."""
    rest = {key: value for key, value in data.items() if key != "name"}
    if data["name"] == "clipped" and set(rest) == {"range"}:
        return Clipped(**rest)
    if data["name"] == "gaps" and set(rest) == {"range", "bandwidth", "gap", "rows"}:
        return Gaps(**rest)
    raise ParameterError(f"unknown origin {data['name']!r}, or unexpected entries")
