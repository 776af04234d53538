"""Questions about where records are, asked of lattice masses: how many lie in a range, and what their mean is.

A question is a product along the axes: k(x) says by how much a record at x counts. Weights on the lattice answer it by
g(x) = w.phi(x), and what they miss is bounded as for the kernel (``placement.py``, docs/proofs/placement.md), which
itself plays no part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.density.binning import MassLattice
from sfumato.bases.density.placement import Along, envelope, windows
from sfumato.core.box import Box, Periodic

Floats = NDArray[np.float64]
Ranges = Sequence[tuple[float, float]]  # pieces of an axis, in [0, 1]

_OFFSETS = (np.arange(32) + 0.5) / 32 - 0.5  # of evenly spread records from their lattice point, in steps
_COMMON = np.arange(8) / 8 - 0.5  # places of a cell where records may all be: at an edge each of them matters
_SEARCHED = 16  # places for each step
_MOST_SEARCHED = 4000
_BESIDE = 1e-9  # of an edge


@dataclass(frozen=True)
class Asked:
    """Several questions along one axis: ``(questions, points)`` weights, and what they miss."""

    weights: Floats
    misses: Along


def within(
    basis: MassLattice, box: Box, axis: int, wanted: Sequence[Ranges], half: float, whole: bool = False
) -> Asked:
    """How many records lie in each range; ``half`` is half the side of the cells that records are counted in.

    ``whole``: records lie on lattice points, and nowhere else.
    """
    lattice, steps = basis.positions(box, axis), _bounds(basis, box, axis)
    weights = np.array([_overlaps(ranges, *steps) for ranges in wanted])
    edges = [np.array([e for piece in ranges for e in piece if 0 < e < 1]) for ranges in wanted]

    def counts(where: Floats) -> Floats:
        return np.array([_inside(ranges, where) for ranges in wanted])

    def near(where: Floats) -> Floats:
        apart = [np.abs(where[:, None] - ends).min(axis=1, initial=np.inf) for ends in edges]
        return np.array([gap <= half * (1 + _BESIDE) for gap in apart]) / half

    every = np.unique(np.concatenate(edges)) if wanted else np.zeros(0)
    beside = [every + side for side in (-half, -_BESIDE, 0.0, _BESIDE, half)]
    low, high = steps
    size = high - low
    steep = np.array([((ends >= low[:, None]) & (ends < high[:, None])).sum(axis=1) / size for ends in edges])
    return _asked(
        basis, box, axis, lattice, weights, counts, near, steep.reshape(weights.shape), np.concatenate(beside), whole
    )


def position(basis: MassLattice, box: Box, axis: int, whole: bool = False) -> Asked:
    """The sum of the records' positions in [0, 1], from the middle."""
    lattice = basis.positions(box, axis)

    def from_middle(where: Floats) -> Floats:
        return where[None, :] - 0.5

    def even(where: Floats) -> Floats:
        return np.ones((1, len(where)))

    return _asked(basis, box, axis, lattice, from_middle(lattice), from_middle, even, even(lattice), np.zeros(0), whole)


def _asked(
    basis: MassLattice,
    box: Box,
    axis: int,
    lattice: Floats,
    weights: Floats,
    counts: Callable[[Floats], Floats],
    slope: Callable[[Floats], Floats],
    steep: Floats,
    more: Floats,
    whole: bool,
) -> Asked:
    column, step = box.intervals()[axis], lattice[1] - lattice[0]

    def both(where: Floats) -> tuple[Floats, Floats]:
        return counts(where), weights @ basis.axis_shares(box, axis, where).toarray().T

    def shifted(offset: float) -> tuple[Floats, Floats]:
        moved = lattice + offset * step
        return both(np.mod(moved, 1.0) if isinstance(column, Periodic) else np.clip(moved, 0.0, 1.0))

    pairs = [shifted(offset) for offset in ([0.0] if whole else _OFFSETS)]
    of_two = [sum(values) / len(pairs) for values in zip(*((k * k, k * g, g * g, g) for k, g in pairs), strict=True)]
    spread = (weights, of_two[3], of_two[0], of_two[1], of_two[2])
    count = min(_MOST_SEARCHED, _SEARCHED * len(lattice))
    places = np.union1d(np.linspace(0, 1, count + 1), np.append(lattice, np.clip(more, 0.0, 1.0)))
    places = lattice if whole else places
    kernel, given = both(places)
    sizes = [np.abs(h) for h in (kernel, given, kernel - given, slope(places))]
    near = windows(basis, box, axis, places, lattice, step)
    highest, tops = np.stack([h.max(axis=1) for h in sizes], axis=1), [envelope(h, near) for h in sizes]
    return Asked(
        weights, Along(spread, [shifted(offset) for offset in ([0.0] if whole else _COMMON)], steep, highest, *tops)
    )


def _bounds(basis: MassLattice, box: Box, axis: int) -> tuple[Floats, Floats]:
    """Where the cell of each lattice point begins and ends: half a step to either side, within an interval."""
    lattice = basis.positions(box, axis)
    half = (lattice[1] - lattice[0]) / 2
    if isinstance(box.intervals()[axis], Periodic):
        return lattice - half, lattice + half
    return np.maximum(lattice - half, 0.0), np.minimum(lattice + half, 1.0)


def _overlaps(ranges: Ranges, low: Floats, high: Floats) -> Floats:
    """How much of each cell lies in the ranges; the first cell of a circle begins before its bound."""
    total = np.zeros(len(low))
    for start, stop in ranges:
        for shift in (-1.0, 0.0, 1.0) if low[0] < 0 else (0.0,):
            total += np.maximum(np.minimum(high, stop + shift) - np.maximum(low, start + shift), 0.0)
    return np.asarray(total / (high - low))


def _inside(ranges: Ranges, where: Floats) -> Floats:
    return np.asarray(np.any([(where >= start) & (where <= stop) for start, stop in ranges], axis=0), dtype=np.float64)
