"""The largest noise at very many points, through a net of few: no product of points and coefficients is formed.

Along each axis the weights of a point lie nearly on the line between those of the two knots around it. Their distance
from it is computed, not assumed, so that the noise at a point is at most its share of the noise at the knots plus what
a tail bound allows for the rest (docs/proofs/bernstein.md, Theorem 6).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.places import AxisWeights, Places

Floats = NDArray[np.float64]

_FEW = 32  # coordinates that are their own knots
_NEAR = 0.01  # how far from the line between two knots, relative to the weights, is near enough
_MOST_KNOTS = 4097
_BLOCK = 2**21  # weights held at once


@dataclass(frozen=True)
class Axis:
    """One axis of the net, and of each asked coordinate what the widths need.

    ``knots`` is ``(k, n)``. Of each coordinate: the sum, the Euclidean norm and the largest of its weights, the mean
    norm of its two knots, and the products of its weights and the line between the knots with each other.
    """

    knots: Floats
    sums: Floats
    norms: Floats
    peaks: Floats
    between: Floats
    mixed: Floats
    line: Floats

    @classmethod
    def of(cls, weigh: Callable[[Floats], Floats], coordinates: Floats) -> Axis:
        """Choose knots for these sorted coordinates and compare."""
        places = _knots(weigh, coordinates)
        knots = weigh(places)
        block = max(1, _BLOCK // max(1, knots.shape[1]))
        parts = [
            cls._compare(knots, places, weigh(coordinates[start : start + block]), coordinates[start : start + block])
            for start in range(0, len(coordinates), block)
        ]
        return cls(knots, *(np.concatenate(found) for found in zip(*parts, strict=True)))

    @staticmethod
    def _compare(knots: Floats, places: Floats, own: Floats, coordinates: Floats) -> tuple[Floats, ...]:
        sizes, squares, lengths = np.abs(own), np.einsum("mn,mn->m", own, own), np.linalg.norm(knots, axis=1)
        facts = sizes.sum(axis=1), np.sqrt(squares), sizes.max(axis=1)
        if len(places) == 1:
            return *facts, np.sqrt(squares), squares, squares
        left = np.clip(np.searchsorted(places, coordinates, side="right") - 1, 0, len(places) - 2)
        share = ((coordinates - places[left]) / (places[left + 1] - places[left]))[:, None]
        line = (1 - share) * knots[left] + share * knots[left + 1]
        between = (1 - share[:, 0]) * lengths[left] + share[:, 0] * lengths[left + 1]
        return *facts, between, np.einsum("mn,mn->m", own, line), np.einsum("mn,mn->m", line, line)


def _knots(weigh: Callable[[Floats], Floats], coordinates: Floats) -> Floats:
    """Evenly spaced knots, twice as many until the weights half-way between two lie near their line."""
    count = _FEW + 1
    while len(coordinates) > count and count < _MOST_KNOTS:
        fine = weigh(np.linspace(coordinates[0], coordinates[-1], 2 * count - 1))
        off = np.linalg.norm(fine[1::2] - (fine[:-1:2] + fine[2::2]) / 2, axis=1)
        if float(off.max()) <= _NEAR * float(np.linalg.norm(fine, axis=1).max()):
            return np.linspace(coordinates[0], coordinates[-1], count)
        count = 2 * count - 1
    return coordinates


@dataclass(frozen=True)
class Net:
    """Knots along every axis, and of each asked point what its width is made of."""

    axes: list[Axis]
    places: Places

    @classmethod
    def of(cls, weigh: AxisWeights, places: Places) -> Net:
        """For weights that are products along the axes, at these places."""

        def one(axis: int) -> Callable[[Floats], Floats]:
            return lambda coordinates: weigh(axis, coordinates)

        return cls([Axis.of(one(i), coordinates) for i, coordinates in enumerate(places.axes)], places)

    @property
    def tables(self) -> list[Floats]:
        """The knots' weights, along each axis, divided by their norms."""
        lengths = [np.linalg.norm(axis.knots, axis=1, keepdims=True) for axis in self.axes]
        return [a.knots / np.where(size > 0, size, 1.0) for a, size in zip(self.axes, lengths, strict=True)]

    @property
    def size(self) -> int:
        """How many knots there are in all."""
        return math.prod(len(axis.knots) for axis in self.axes)

    @property
    def peak(self) -> float:
        """The largest weight of any knot, relative to its norm."""
        return math.prod(float(np.abs(table).max()) for table in self.tables)

    def each(self, name: str) -> Floats:
        """``(m,)``: the product over the axes of one of their facts."""
        return self.places.product([getattr(axis, name) for axis in self.axes])

    @property
    def off(self) -> Floats:
        """``(m,)``: how far the weights of each point are from the mixture of its corners'."""
        squares = self.each("norms") ** 2 - 2 * self.each("mixed") + self.each("line")
        # What cancels leaves rounding errors of this size.
        return np.sqrt(np.maximum(squares, 0.0) + 1e-14 * self.each("norms") ** 2)


def work(tables: Sequence[Floats]) -> float:
    """Multiplications that one draw takes on the grid of the rows of these tables, axis by axis."""
    total, held = 0.0, float(math.prod(t.shape[1] for t in tables))
    for table in tables:
        total += held * len(table)
        held = held / table.shape[1] * len(table)
    return total
