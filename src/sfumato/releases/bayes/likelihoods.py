"""How probable a value of one column is in each class: the parts of a naive Bayes classifier.

Each is read from its own noisy numbers, sums over records, a row for each class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.base import frozen
from sfumato.bases.bayes.contributions import COUNT_WEIGHT
from sfumato.bases.unit import to_unit
from sfumato.core.box import Box, Categorical, Date
from sfumato.core.calibration import NoiseLaw
from sfumato.dates import days_of_array
from sfumato.errors import OutsideBoxError
from sfumato.laws import noise_deviation
from sfumato.releases.density.density import DensityRelease
from sfumato.releases.uncertainty import half_width_of, widths_of_each

Floats = NDArray[np.float64]
Limits = tuple[Floats, Floats]

_NARROWEST = 0.01  # the least standard deviation of a normal likelihood, in half-widths of the column


@dataclass(frozen=True, eq=False)
class Likelihood(ABC):
    """One column's likelihoods.

    Parameters
    ----------
    box
        The column alone.
    numbers
        ``(classes, size)`` noisy sums over records.
    law
        Of the noise in one class's numbers.
    """

    box: Box
    numbers: Floats
    law: NoiseLaw

    def __post_init__(self) -> None:
        object.__setattr__(self, "numbers", frozen(self.numbers))

    @property
    @abstractmethod
    def counts(self) -> Floats:
        """``(classes,)``: how many records of each class the column has seen."""

    @property
    @abstractmethod
    def uncertainty(self) -> float:
        """The variance of ``counts``, up to a factor that all columns share."""

    @property
    def strength(self) -> float:
        """How many records the noise in a class is worth."""
        return float(noise_deviation(self.law) * np.sqrt(self.law.size))

    @abstractmethod
    def __call__(self, values: NDArray[Any], outside: str) -> Floats:
        """``(m, classes)`` likelihoods; zeros for a value that says nothing."""

    @abstractmethod
    def limits(self, values: NDArray[Any], confidence: float, include: str, outside: str) -> Limits:
        """``(m, classes)`` limits of likelihood times count; those of the counts for a value that says nothing."""

    @abstractmethod
    def count_limits(self, confidence: float) -> Limits:
        """``(classes,)`` limits of the counts."""

    def arrays(self) -> dict[str, Floats]:
        """The numbers, by name."""
        return {"numbers": self.numbers}


def _width_of_sum(law: NoiseLaw, weights: Floats, confidence: float) -> float:
    return float(half_width_of([weights[None, :]], law, confidence)[0])


class Counted(Likelihood):
    """A column of categories."""

    @property
    def counts(self) -> Floats:
        return np.asarray(self.numbers.sum(axis=1))

    @property
    def uncertainty(self) -> float:
        return float(self.law.size)

    def _places(self, values: NDArray[Any]) -> NDArray[np.int64]:
        kind = self.box.columns[0]
        assert isinstance(kind, Categorical)
        places = {category: place for place, category in enumerate(kind.categories)}
        return np.array([places.get(value, -1) for value in values.tolist()], dtype=np.int64)

    def __call__(self, values: NDArray[Any], outside: str) -> Floats:
        place = self._places(values)
        table = np.maximum(self.numbers, 0.0) + 1e-9
        shares = table / table.sum(axis=1, keepdims=True)
        return np.where(place[:, None] >= 0, shares.T[place], 0.0)

    def limits(self, values: NDArray[Any], confidence: float, include: str, outside: str) -> Limits:
        place = self._places(values)
        width = widths_of_each(self.law, confidence)
        counted = self.count_limits(confidence)
        ends = [(self.numbers - width).T[place], (self.numbers + width).T[place]]
        low, high = (np.where(place[:, None] >= 0, end, whole) for end, whole in zip(ends, counted, strict=True))
        return low, high

    def count_limits(self, confidence: float) -> Limits:
        width = _width_of_sum(self.law, np.ones(self.law.size), confidence)
        return self.counts - width, self.counts + width


@dataclass(frozen=True, eq=False)
class Smoothed(Likelihood):
    """A numeric column whose likelihoods are kernel densities."""

    densities: tuple[DensityRelease, ...]

    @property
    def counts(self) -> Floats:
        return np.asarray(self.numbers.sum(axis=1))

    @property
    def uncertainty(self) -> float:
        return float(self.law.size)

    def __call__(self, values: NDArray[Any], outside: str) -> Floats:
        numbers = numbers_of(self.box, values)
        known = ~np.isnan(numbers)
        found = np.zeros((len(numbers), len(self.densities)))
        for k, density in enumerate(self.densities):
            found[known, k] = density(numbers[known], outside)
        return found

    def limits(self, values: NDArray[Any], confidence: float, include: str, outside: str) -> Limits:
        numbers = numbers_of(self.box, values)
        known = ~np.isnan(numbers)
        low, high = (np.tile(end, (len(numbers), 1)) for end in self.count_limits(confidence))
        if known.any():
            unit = to_unit(self.box, numbers[known], outside)
            for k, density in enumerate(self.densities):
                low[known, k], high[known, k] = density.masses.sum_limits(unit, confidence, include)
        return low, high

    def count_limits(self, confidence: float) -> Limits:
        width = _width_of_sum(self.law, np.ones(self.law.size), confidence)
        return self.counts - width, self.counts + width

    def arrays(self) -> dict[str, Floats]:
        found = [density.arrays() for density in self.densities]
        measures = np.stack([one["measure"] for one in found])
        measures.setflags(write=False)
        return {"numbers": self.numbers, "measures": measures}


class Normal(Likelihood):
    """A numeric column whose likelihoods are normal, from sums of ``z``, ``z^2 - 1/2`` and a weighted count."""

    @property
    def counts(self) -> Floats:
        return self.numbers[:, 2] / COUNT_WEIGHT

    @property
    def uncertainty(self) -> float:
        return COUNT_WEIGHT**-2

    @property
    def _half(self) -> float:
        return float(self.box.high[0] / 2 - self.box.low[0] / 2)

    def _unit(self, values: NDArray[Any], outside: str) -> Floats:
        """Values in half-widths from the middle; NaN where one is missing."""
        numbers = numbers_of(self.box, values)
        known = ~np.isnan(numbers)
        numbers[known] = 2 * to_unit(self.box, numbers[known], outside)[:, 0] - 1
        return numbers

    @cached_property
    def moments(self) -> tuple[Floats, Floats]:
        """``(classes,)``: means and deviations in half-widths; no variance is below what noise leaves open."""
        count = np.maximum(self.counts, 1.0)
        mean = np.clip(self.numbers[:, 0] / count, -1, 1)
        variance = self.numbers[:, 1] / count + 0.5 - mean**2
        unsure = np.maximum(noise_deviation(self.law) / count, _NARROWEST**2)
        return mean, np.sqrt(np.clip(variance, np.minimum(unsure, 1.0), 1.0))

    def __call__(self, values: NDArray[Any], outside: str) -> Floats:
        unit, (mean, deviation) = self._unit(values, outside)[:, None], self.moments
        return np.where(np.isnan(unit), 0.0, _normal(np.abs(unit - mean), deviation) / self._half)

    def limits(self, values: NDArray[Any], confidence: float, include: str, outside: str) -> Limits:
        """The density at a distance d falls with d; of all deviations, d itself makes it largest."""
        unit = self._unit(values, outside)[:, None]
        counted = tuple(np.maximum(end, 1.0) for end in self.count_limits(confidence))
        mean, deviation = self._moment_limits(confidence, counted)
        nearest = np.maximum(np.maximum(mean[0] - unit, unit - mean[1]), 0.0)
        farthest = np.maximum(np.abs(unit - mean[0]), np.abs(unit - mean[1]))
        least = np.minimum(_normal(farthest, deviation[0]), _normal(farthest, deviation[1]))
        most = _normal(nearest, np.clip(nearest, deviation[0], deviation[1]))
        low, high = least / self._half * counted[0], most / self._half * counted[1]
        return np.where(np.isnan(unit), counted[0], low), np.where(np.isnan(unit), counted[1], high)

    def _moment_limits(self, confidence: float, counted: tuple[Floats, ...]) -> tuple[Limits, Limits]:
        width = widths_of_each(self.law, confidence)

        def over(place: int) -> Limits:
            low, high = self.numbers[:, place] - width[place], self.numbers[:, place] + width[place]
            return np.minimum(low / counted[0], low / counted[1]), np.maximum(high / counted[0], high / counted[1])

        low, high = (np.clip(end, -1, 1) for end in over(0))
        second = over(1)
        smallest = np.where((low <= 0) & (high >= 0), 0.0, np.minimum(low**2, high**2))
        variances = second[0] + 0.5 - np.maximum(low**2, high**2), second[1] + 0.5 - smallest
        narrow, wide = (np.sqrt(np.clip(v, _NARROWEST**2, 1.0)) for v in variances)
        return (low, high), (narrow, wide)

    def count_limits(self, confidence: float) -> Limits:
        width = _width_of_sum(self.law, np.array([0.0, 0.0, 1 / COUNT_WEIGHT]), confidence)
        return self.counts - width, self.counts + width


def _normal(distance: Floats, deviation: Floats) -> Floats:
    return np.asarray(np.exp(-0.5 * (distance / deviation) ** 2) / (np.sqrt(2 * np.pi) * deviation))


def numbers_of(box: Box, values: NDArray[Any]) -> Floats:
    """A column's values as doubles, dates as days; None becomes NaN."""
    if isinstance(box.columns[0], Date):
        return days_of_array(values)
    try:
        return np.array([np.nan if v is None else v for v in values.tolist()], dtype=np.float64)
    except (TypeError, ValueError):
        raise OutsideBoxError(f"column {box.names[0]!r} must hold numbers") from None
