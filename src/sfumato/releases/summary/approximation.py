"""How far a question is from the sum of cosines that stands for it, also between the points of a grid.

A question that was written as text can be enclosed: interval arithmetic says what it does on every cell, and the bound
is *proved*. A Python function can only be looked at: the bound is what public points show (*seen*).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.density.binning import contract
from sfumato.bases.moments.quadrature import Grid, Query, category_nodes, category_values, query_values, to_user
from sfumato.core.box import Box, Categorical

Floats = NDArray[np.float64]

_CELLS = 2**16  # on which a question is enclosed,
_ALONG = 8192  # and along one column at most
_TERMS = 2**21  # cosines at points that are held at once
_LOOKED_AT = 2**14  # points at which a function is looked at, at most
_LEADS = 4  # of which so many are followed up,
_SCALES = 12  # at so many distances, each half of the one before,
_ROUNDS = 3  # so often
_COMBINED = 512  # combinations of places that a question names


@runtime_checkable
class Enclosed(Protocol):
    """A query that knows what it does between points."""

    def __call__(self, points: Floats) -> Floats:
        """Its values at ``(m, k)`` points."""

    def limits(self, counts: Sequence[int]) -> tuple[Floats, Floats]:
        """Between what it lies on cells of even angles."""

    def unseen(self, counts: Sequence[int]) -> float:
        """How far it can be from its interpolation at even angles."""

    def landmarks(self) -> dict[str, list[float]]:
        """Where its features are."""


def proved_gap(query: Enclosed, grid: Grid, chosen: Floats, seen: float) -> float:
    """A bound on the largest ``|f - p|``, where p has the coefficients ``chosen`` and ``seen`` bounds it on the grid.

    The smaller of two: what the grid shows and what it cannot see, or limits on cells (docs/proofs/moments.md,
    Theorems 7 and 8). It is infinite where the question cannot be enclosed.
    """
    return min(seen + query.unseen(grid.shape), _on_cells(query, grid, chosen))


def _on_cells(query: Enclosed, grid: Grid, chosen: Floats) -> float:
    """The largest ``|f - p|`` that limits of both on cells allow."""
    kinds = [grid.box.columns[j] for j in grid.columns]
    numeric = [i for i, kind in enumerate(kinds) if not isinstance(kind, Categorical)]
    fixed = math.prod(grid.shape[i] for i in range(len(kinds)) if i not in numeric)
    each = int((_CELLS / fixed) ** (1 / max(1, len(numeric))))
    counts = [max(8, min(_ALONG, each)) if i in numeric else grid.shape[i] for i in range(len(kinds))]
    low, high = (ends.reshape(counts) for ends in query.limits(counts))
    middle, reach = _sum_on_cells(grid, chosen, counts, numeric)
    gap = float(np.maximum(high - (middle - reach), (middle + reach) - low).max())
    return math.inf if math.isnan(gap) else gap


def _sum_on_cells(grid: Grid, chosen: Floats, counts: Sequence[int], numeric: Sequence[int]) -> tuple[Floats, Floats]:
    """A sum of cosines in the middles of cells, and how far it moves from there: by its slopes, and bending at most."""
    used = np.nonzero(chosen)
    top = [int(own.max(initial=0)) + 1 for own in used]
    kept = chosen[tuple(slice(n) for n in top)]
    tables, slopes = [], []
    for i, (axis, count, n) in enumerate(zip(grid.axes, counts, top, strict=True)):
        if i in numeric:
            waves = np.outer((np.arange(count) + 0.5) * (math.pi / count), np.arange(n))
            tables.append(np.cos(waves))
            slopes.append(-np.sin(waves) * np.arange(n))
        else:
            tables.append(axis.table[:n].T)
            slopes.append(np.zeros_like(tables[-1]))
    half = [math.pi / (2 * count) for count in counts]
    bending = 0.5 * sum(half[i] * (top[i] - 1) for i in numeric) ** 2 * float(np.abs(kept).sum())
    reach = np.full(tuple(counts), bending)
    for i in numeric:
        along = contract([slopes[i] if k == i else table for k, table in enumerate(tables)], kept)
        reach += half[i] * np.abs(along)
    return contract(tables, kept), reach


class Lookout:
    """Public points away from every grid, and what cosines are there.

    Parameters
    ----------
    box, columns
        The columns of the functions that are looked at.
    frequencies
        ``(size, k)``, those of the sums of cosines that stand for them.
    """

    def __init__(self, box: Box, columns: Sequence[int], frequencies: NDArray[np.int64]) -> None:
        self._box, self._columns, self._frequencies = box, tuple(columns), frequencies
        self._kinds = [box.columns[j] for j in columns]

    @cached_property
    def _spread(self) -> tuple[Floats, Floats]:
        """Angles that are spread evenly (multiples of irrational numbers), and the cosines there."""
        count = max(256, min(_LOOKED_AT, _TERMS // max(1, len(self._frequencies))))
        ratio = 2.0
        for _ in range(64):  # the root of x**(k + 1) = x + 1
            ratio = (1 + ratio) ** (1 / (len(self._columns) + 1))
        steps = ratio ** -np.arange(1.0, len(self._columns) + 1)
        shares = (0.5 + np.outer(np.arange(count), steps)) % 1.0
        angles = self._legal(shares * math.pi)
        return angles, self._cosines(angles)

    def gap(self, query: Query, weights: Floats) -> float:
        """The largest ``|f - p|`` that is seen, where p has ``weights`` at the frequencies.

        Where it is largest, it is looked for a larger one nearby, at ever smaller distances.
        """
        angles, cosines = self._spread
        off = self._off(query, angles, cosines, weights)
        if isinstance(query, Enclosed):
            near = self._landmarks(query.landmarks())
            angles, off = np.concatenate([angles, near]), np.concatenate([off, self._off(query, near, None, weights)])
        step = math.pi / len(angles) ** (1 / angles.shape[1])
        moves = np.concatenate([sign * np.eye(angles.shape[1]) for sign in (-1.0, 1.0)])
        moves = np.concatenate([moves * step * 0.5**k for k in range(_SCALES)])
        for _ in range(_ROUNDS):
            leads = angles[np.argsort(off)[-_LEADS:]]
            near = self._legal((leads[:, None, :] + moves).reshape(-1, angles.shape[1]))
            angles, off = np.concatenate([leads, near]), self._off(query, np.concatenate([leads, near]), None, weights)
        return float(off.max())

    def _off(self, query: Query, angles: Floats, cosines: Floats | None, weights: Floats) -> Floats:
        points = to_user(self._box, self._columns, np.cos(angles))
        cosines = self._cosines(angles) if cosines is None else cosines
        return np.asarray(np.abs(query_values(query, points) - cosines @ weights))

    def _cosines(self, angles: Floats) -> Floats:
        return cosines_at(angles, self._frequencies)

    def _legal(self, angles: Floats) -> Floats:
        """Angles in their range; those of categories are the nearest category's."""
        found = np.clip(angles, 0.0, math.pi)
        for j, kind in enumerate(self._kinds):
            if isinstance(kind, Categorical):
                nodes = np.arccos(np.clip(category_nodes(len(kind.categories)), -1.0, 1.0))
                found[:, j] = nodes[np.abs(found[:, j, None] - nodes).argmin(axis=1)]
        return found

    def _landmarks(self, named: dict[str, list[float]]) -> Floats:
        """Combinations of the places of a question's features."""
        lines: list[Floats] = []
        for j, kind in zip(self._columns, self._kinds, strict=True):
            if isinstance(kind, Categorical):
                nodes = category_nodes(len(category_values(kind)))
            else:
                places = np.array([*named.get(self._box.names[j], []), kind.low / 2 + kind.high / 2])
                nodes = (places - kind.low) / (kind.high - kind.low) * 2 - 1
            lines.append(np.arccos(np.clip(nodes, -1.0, 1.0)))
        if math.prod(len(line) for line in lines) <= _COMBINED:
            return np.stack([line.ravel() for line in np.meshgrid(*lines, indexing="ij")], axis=1)
        return np.stack([line[np.arange(_COMBINED) % len(line)] for line in lines], axis=1)


def cosines_at(angles: Floats, frequencies: NDArray[Any]) -> Floats:
    """``(m, size)``: the product of cosines of each of ``(size, k)`` frequencies at ``(m, k)`` angles."""
    found = np.ones((len(angles), len(frequencies)))
    for angle, own in zip(angles.T, frequencies.T, strict=True):
        table = np.cos(np.outer(angle, np.arange(own.max(initial=0) + 1)))
        found *= np.take(table, own, axis=1)
    return found
