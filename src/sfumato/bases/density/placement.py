"""What a lattice cannot show: how much it matters where, between lattice points, records are.

A record at x adds the kernel K(y - x) to the truth at y and the weighted shares w(y).phi(x) to the reconstruction; the
miss is their difference. Shares are non-negative and sum to one, so whatever the records are, their misses are at most
the masses of the lattice times an *envelope* of the miss around each of its points. And if records lie alike in
neighbouring cells, evenly spread or all at the same place of a cell, their misses can be worked out from the masses.
Everything here is public (docs/proofs/placement.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.density.binning import MassLattice, SplitLattice
from sfumato.bases.density.reconstruction import SEARCH_SLACK, MeasureReconstruction, searched_places
from sfumato.bases.places import Places
from sfumato.core.box import Box, Periodic

Floats = NDArray[np.float64]

_OFFSETS = (np.arange(8) + 0.5) / 8 - 0.5  # of evenly spread records from their lattice point, in steps
_COMMON = (0.0, 0.5)  # places of a cell where records may all be
_DEVIATIONS = 4.0  # of a sample around its density, anywhere
_HIDDEN = 2.0  # records that a unit of roughness can be made of
_SURE = 4.0  # deviations from which on a difference is not noise
_FLOOR = 3.0  # deviations of the noise below which masses are not told apart
_LEAST = 4  # points along an axis: each is told by a parabola through the others, or a cubic through four of them
_LARGEST_LOG = 300.0
_EVEN = 4000  # places along an axis
_BLOCK = 2**21  # numbers held at once


class Along(NamedTuple):
    """One axis: ``(coordinates, n)`` tables, of the kernel k and its reconstruction g for records near each point.

    ``spread``: means over evenly spread records of k, g, k k, k g, g g; ``common``: k and g for records at one place of
    each cell; ``steep``: the kernel's derivative there; ``highest``: ``(coordinates, 4)``, the largest |k|, |g|,
    |k - g| and |k'| for a record anywhere; the others are envelopes of the same.
    """

    spread: tuple[Floats, Floats, Floats, Floats, Floats]
    common: list[tuple[Floats, Floats]]
    steep: Floats
    highest: Floats
    kernel: Floats
    given: Floats
    miss: Floats
    slope: Floats


@dataclass(frozen=True)
class Placement:
    """The misses of a reconstruction, by lattice point, at some places.

    ``halves`` is half the side of the cells that records are counted in, along each axis of the unit cube.
    """

    places: Places
    halves: Sequence[float]
    axes: list[Along]

    @classmethod
    def of(
        cls, linear: MeasureReconstruction, places: Places, derivatives: Sequence[int], halves: Sequence[float]
    ) -> Placement:
        """For a kernel that is a product."""
        axes = [_along(linear, i, axis, derivatives[i]) for i, axis in enumerate(places.axes)]
        return cls(places, halves, axes)

    def _apply(self, tables: Sequence[Floats], masses: Floats) -> Floats:
        return self.places.apply_tables(tables, masses)

    def _envelopes(self) -> Iterator[list[Floats]]:
        """Products of tables whose sum bounds the miss: ``|k1 k2 - g1 g2| <= |k1 - g1| |k2| + |g1| |k2 - g2|``.

        And for the cells that records are counted in: half a cell times the slope of the kernel, along each axis.
        """
        for i, axis in enumerate(self.axes):
            before, after = self.axes[:i], self.axes[i + 1 :]
            kernels = [a.kernel for a in after]
            yield [*(a.given for a in before), SEARCH_SLACK * axis.miss, *kernels]
            yield [*(a.kernel for a in before), self.halves[i] * axis.slope, *kernels]

    def worst(self, masses: Floats) -> Floats:
        """``(m,)``: a bound on the sum of the misses of any records with at most these masses."""
        return np.asarray(sum(self._apply(tables, masses) for tables in self._envelopes()))

    def single(self) -> Floats:
        """``(m,)``: a bound on the miss of a single record, wherever it is."""
        total = np.zeros(len(self.places))
        for i in range(len(self.axes)):
            others = [(a.highest[:, 1], a.highest[:, 0]) for a in self.axes]
            before, after = [given for given, _ in others[:i]], [kernel for _, kernel in others[i + 1 :]]
            kernels, (miss, slope) = [kernel for _, kernel in others], self.axes[i].highest[:, 2:].T
            total += SEARCH_SLACK * self.places.product([*before, miss, *after])
            total += self.halves[i] * self.places.product([*kernels[:i], slope, *kernels[i + 1 :]])
        return total

    def reach(self) -> tuple[Floats, Floats]:
        """``(m,)``: Euclidean norm and largest number of the envelope: what noise in the masses can do to it."""
        norms = [self.places.product([np.linalg.norm(t, axis=1) for t in tables]) for tables in self._envelopes()]
        peaks = [self.places.product([np.abs(t).max(axis=1) for t in tables]) for tables in self._envelopes()]
        return np.asarray(sum(norms)), np.asarray(sum(peaks))

    def alike(self, masses: Floats, deviation: float) -> Floats:
        """``(m,)``: the sum of the misses if records lie alike in neighbouring cells, with the scatter of a sample.

        The largest over even spread and common places of the mean miss; a common shift by half a counting cell; and
        four standard deviations of evenly spread records, of their misses and of their places in the counting cells, as
        many as the masses and their noise can be made of.
        """
        ways = [[(a.spread[0], a.spread[1]), *a.common] for a in self.axes]
        largest = np.zeros(len(self.places))
        for chosen in product(*ways):
            miss = self._apply([k for k, _ in chosen], masses) - self._apply([g for _, g in chosen], masses)
            largest = np.maximum(largest, np.abs(miss))
        for i, half in enumerate(self.halves):
            tables = [a.steep if j == i else a.spread[0] for j, a in enumerate(self.axes)]
            largest += half * np.abs(self._apply(tables, masses))
        many = np.maximum(masses, 0.0) + 2 * deviation**2
        kk, kg, gg = (self._apply([a.spread[j] for a in self.axes], many) for j in (2, 3, 4))
        scatter = np.maximum(kk - 2 * kg + gg, 0.0)
        for i, half in enumerate(self.halves):
            tables = [a.steep**2 if j == i else a.spread[2] for j, a in enumerate(self.axes)]
            scatter += half**2 * self._apply(tables, many)
        return np.asarray(largest + _DEVIATIONS * np.sqrt(scatter))


def _along(linear: MeasureReconstruction, axis: int, coordinates: Floats, derivative: int) -> Along:
    places = searched_places(linear, axis)
    block = max(1, _BLOCK // max(len(places), 1))
    parts = [
        _tables(linear, axis, coordinates[start : start + block], derivative, places)
        for start in range(0, max(1, len(coordinates)), block)
    ]
    flat = [[*part.spread, *(t for pair in part.common for t in pair), *part[2:]] for part in parts]
    rows = [np.concatenate(tables) for tables in zip(*flat, strict=True)]
    common = [(rows[5 + 2 * i], rows[6 + 2 * i]) for i in range(len(_COMMON))]
    return Along((rows[0], rows[1], rows[2], rows[3], rows[4]), common, *rows[5 + 2 * len(_COMMON) :])


def _tables(linear: MeasureReconstruction, axis: int, coordinates: Floats, derivative: int, places: Floats) -> Along:
    column = linear.box.intervals()[axis]
    weights = linear.axis_weights(axis, coordinates, derivative)

    def both(where: Floats) -> tuple[Floats, Floats]:
        shares = linear.basis.axis_shares(linear.box, axis, where)
        return linear.kernel.axis_values(column, axis, coordinates, where, derivative), weights @ shares.toarray().T

    lattice = linear.basis.positions(linear.box, axis)
    step = lattice[1] - lattice[0]

    def shifted(offset: float) -> tuple[Floats, Floats]:
        moved = lattice + offset * step
        return both(np.mod(moved, 1.0) if isinstance(column, Periodic) else np.clip(moved, 0.0, 1.0))

    whole = axis in linear.whole  # then records are on lattice points, and nowhere else
    pairs = [shifted(offset) for offset in ([0.0] if whole else _OFFSETS)]
    count = len(pairs)
    spread = tuple(sum(values) / count for values in zip(*((k, g, k * k, k * g, g * g) for k, g in pairs), strict=True))
    kernel, given = both(places)
    slope = linear.kernel.axis_values(column, axis, coordinates, places, derivative + 1) * (column.high - column.low)
    steep = linear.kernel.axis_values(column, axis, coordinates, lattice, derivative + 1) * (column.high - column.low)
    near = windows(linear.basis, linear.box, axis, places, lattice, step)
    sizes = [np.abs(h) for h in (kernel, given, kernel - given, slope)]
    highest, tops = np.stack([h.max(axis=1) for h in sizes], axis=1), [envelope(h, near) for h in sizes]
    common = [shifted(0.0 if whole else offset) for offset in _COMMON]
    return Along(spread, common, steep, highest, *tops)


def windows(
    basis: MassLattice, box: Box, axis: int, places: Floats, lattice: Floats, step: float
) -> list[tuple[NDArray[np.intp], Floats]]:
    """For each lattice point, the places near it, and one over the shares that all points near such a place have."""
    apart = np.abs(places[:, None] - lattice)
    if isinstance(box.intervals()[axis], Periodic):
        apart = np.minimum(apart, 1 - apart)
    reach = step
    if isinstance(basis, SplitLattice):
        reach = max(step, 2 * basis.axis_width(box, axis))
    near = apart <= reach * (1 + 1e-9)
    shares = basis.axis_shares(box, axis, places).toarray()
    times = 1 / (shares * near).sum(axis=1)
    return [(found, times[found]) for found in (np.flatnonzero(row) for row in near.T)]


def envelope(values: Floats, near: list[tuple[NDArray[np.intp], Floats]]) -> Floats:
    """``(m, n)``: numbers e with ``values <= e.phi`` at every place."""
    return np.stack([(values[:, found] * times).max(axis=1) for found, times in near], axis=1)


def rough_masses(masses: Floats, deviation: float, basis: MassLattice, box: Box) -> Floats:
    """How much of each mass may lie anywhere in its cells, because its neighbours do not tell it.

    They tell it by a cubic through their logarithms along each axis (a normal density leaves nothing, however coarse
    the lattice is). A difference counts from four standard deviations of noise and sample on, and then with
    ``_HIDDEN`` times its size, up to the whole mass. ``deviation`` is that of the noise in each mass.
    """
    places = (np.arange(_EVEN) + 0.5) / _EVEN
    sizes = [basis.axis_shares(box, axis, places).sum(axis=0) for axis in range(box.dimension)]
    even = np.asarray(reduce(np.multiply.outer, sizes))  # what evenly spread records give to each point
    even = even / even.mean()
    seen = np.maximum(masses, _FLOOR * deviation * even)
    variance = deviation**2 + np.maximum(masses, 0.0)
    largest = np.zeros(masses.shape)
    for axis, around in enumerate(isinstance(column, Periodic) for column in box.intervals()):
        if masses.shape[axis] < _LEAST:
            largest = np.maximum(largest, seen)  # too few points tell nothing
            continue
        table = _neighbours(masses.shape[axis], around)
        told = np.exp(np.minimum(_along_axis(table, np.log(seen / even), axis), _LARGEST_LOG)) * even
        unsure = variance + told**2 * _along_axis(table**2, variance / seen**2, axis)
        apart = np.abs(seen - told)
        largest = np.maximum(largest, np.where(apart > _SURE * np.sqrt(unsure), apart, 0.0))
    return np.asarray(np.minimum(np.maximum(masses, 0.0) + _SURE * deviation * (largest > 0), _HIDDEN * largest))


def _along_axis(table: Floats, tensor: Floats, axis: int) -> Floats:
    return np.asarray(np.moveaxis(np.tensordot(table, tensor, axes=(1, axis)), 0, axis))


def _neighbours(count: int, around: bool) -> Floats:
    """``(count, count)``: the cubic through two neighbours on either side; at an edge the parabola through three."""
    table = np.zeros((count, count))
    for i in range(count):
        if around or 2 <= i < count - 2:
            for offset, weight in ((-2, -1 / 6), (-1, 4 / 6), (1, 4 / 6), (2, -1 / 6)):
                table[i, (i + offset) % count] += weight
    if not around:
        for sign, edge in ((1, 0), (-1, count - 1)):
            table[edge, [edge + sign, edge + 2 * sign, edge + 3 * sign]] = 3, -3, 1
            table[edge + sign, [edge, edge + 2 * sign, edge + 3 * sign]] = 1 / 3, 1, -1 / 3
    return table
