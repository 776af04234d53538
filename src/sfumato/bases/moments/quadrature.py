"""The cosine coefficients of a **public** function: nothing here is private.

``f(cos theta)`` is periodic and even in every angle, so a plain sum over evenly spaced angles (a discrete cosine
transform) is spectrally accurate. Up to four columns have a full grid; more have a sparse one, which combines small
full grids of nested Clenshaw-Curtis points (docs/queries.md shows it beside the rule that the paper prints).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.fft import dct

from sfumato.bases.base import values_on
from sfumato.bases.density.binning import contract
from sfumato.bases.moments.contributions import hashed
from sfumato.core.box import Box, Categorical
from sfumato.errors import ParameterError

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Query = Callable[[Floats], ArrayLike]

LARGEST_TENSOR = 4  # columns that have a full grid
_GRID = 2**22  # points of a full grid, at most
_SPARSE = 2**20  # points of a sparse grid, at most
_GRIDS = 6_000  # small grids that a sparse one combines, at most
_HELD = 2**22  # numbers that a block of points holds
_ROUNDS = 400  # of improving coefficients; fewer on large grids, where each takes longer


@dataclass(frozen=True, eq=False)
class Axis:
    """Points of one scaled column, and the matrix that turns values at them into cosine coefficients."""

    nodes: Floats  # (N,) in [-1, 1]; for a categorical column, one for each category
    transform: Floats  # (N, N)

    @cached_property
    def table(self) -> Floats:
        """``(N, N)``: each frequency's cosine at the points, the inverse of the transform."""
        return np.asarray(np.cos(np.outer(np.arange(len(self.nodes)), np.arccos(np.clip(self.nodes, -1.0, 1.0)))))


@lru_cache(maxsize=64)
def fine_axis(count: int) -> Axis:
    """Evenly spaced angles in the middles of cells: exact up to frequency ``count - 1``."""
    angles = (np.arange(count) + 0.5) * (math.pi / count)
    transform = np.cos(np.outer(np.arange(count), angles)) * (2.0 / count)
    transform[0] /= 2
    return Axis(np.cos(angles), transform)


def line_coefficients(values: Floats) -> Floats:
    """``(q, N)`` cosine coefficients of functions with ``(q, N)`` values at the points of ``fine_axis(N)``."""
    found = dct(values, type=2, axis=1) / values.shape[1]
    found[:, 0] /= 2
    return np.asarray(found)


@lru_cache(maxsize=64)
def nested_axis(count: int) -> Axis:
    """Evenly spaced angles from end to end (Clenshaw-Curtis points): those of half the count are among them."""
    if count == 1:
        return Axis(np.zeros(1), np.ones((1, 1)))
    steps = np.arange(count)
    weights = np.ones(count)
    weights[[0, -1]] = 0.5
    transform = np.cos(np.outer(steps, steps) * (math.pi / (count - 1))) * (2.0 / (count - 1))
    return Axis(category_nodes(count), transform * weights * weights[:, None])


def category_nodes(count: int) -> Floats:
    """Where categories lie in [-1, 1]: at evenly spaced angles, so that every function of them is a sum of cosines."""
    steps = np.arange(count)
    # Exact at the ends and in the middle.
    return np.asarray(np.sin((count - 1 - 2 * steps) * (math.pi / (2 * (count - 1)))))


def to_user(box: Box, columns: Sequence[int], scaled: Floats) -> Floats:
    """Points of ``[-1, 1]^k`` in the user's units; a category becomes its number, or its position if it is text."""
    parts = []
    for j, values in zip(columns, scaled.T, strict=True):
        kind = box.columns[j]
        if isinstance(kind, Categorical):
            nearest = np.abs(values[:, None] - category_nodes(len(kind.categories))).argmin(axis=1)
            parts.append(category_values(kind)[nearest])
        else:
            unit = (values + 1) / 2
            parts.append(np.clip(kind.low + unit * (kind.high - kind.low), kind.low, kind.high))
    return np.stack(parts, axis=1)


def category_values(kind: Categorical) -> Floats:
    """What a query sees of each category: the number itself, or the position of a text."""
    if isinstance(kind.categories[0], str):
        return np.arange(len(kind.categories), dtype=np.float64)
    return np.array(kind.categories, dtype=np.float64)


# --- full grids -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Grid:
    """A full grid on some columns of a box, fine enough to see beyond the frequencies that a summary has."""

    box: Box
    columns: tuple[int, ...]
    axes: tuple[Axis, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Points along each column."""
        return tuple(len(axis.nodes) for axis in self.axes)

    def points(self) -> Floats:
        """``(m, k)`` in the user's units, last column fastest."""
        mesh = np.meshgrid(*(axis.nodes for axis in self.axes), indexing="ij")
        return to_user(self.box, self.columns, np.stack([part.ravel() for part in mesh], axis=1))

    def coefficients(self, values: Floats) -> Floats:
        """``shape`` coefficients of a function with ``(m,)`` values at the points, axis by axis."""
        return contract([axis.transform for axis in self.axes], values.reshape(self.shape))

    def evaluate(self, coefficients: Floats) -> Floats:
        """The inverse: ``(*shape)`` values at the points."""
        return contract([axis.table.T for axis in self.axes], coefficients)


def grid_for(box: Box, columns: Sequence[int], shape: Sequence[int]) -> Grid:
    """Four points for each frequency where that many fit, and never fewer than two."""
    kinds = [box.columns[j] for j in columns]
    fixed = math.prod(shape[j] for j, kind in zip(columns, kinds, strict=True) if isinstance(kind, Categorical))
    free = [shape[j] for j, kind in zip(columns, kinds, strict=True) if not isinstance(kind, Categorical)]
    for factor, least in ((4, 64), (4, 32), (3, 16), (2, 8), (2, 1)):
        counts = {t: max(factor * t, least) for t in free}
        if fixed * math.prod(counts[t] for t in free) <= _GRID:
            break
    else:
        raise ParameterError(
            f"a full grid on columns {[box.names[j] for j in columns]} would have more than {_GRID:,} points: ask "
            "about fewer columns at a time (columns=[...])"
        )
    axes = [
        nested_axis(shape[j]) if isinstance(kind, Categorical) else fine_axis(counts[shape[j]])
        for j, kind in zip(columns, kinds, strict=True)
    ]
    return Grid(box, tuple(columns), tuple(axes))


def query_values(query: Query, points: Floats) -> Floats:
    """A query's values at public points, in blocks, refusing what is not one finite number for each point."""
    block = max(1, _HELD // points.shape[1])
    parts = [values_on(query, points[start : start + block]) for start in range(0, len(points), block)]
    values = np.concatenate(parts)
    if not np.isfinite(values).all():
        where = points[int(np.flatnonzero(~np.isfinite(values))[0])].tolist()
        raise ParameterError(f"the query must return finite numbers everywhere in the box, got none at {where}")
    return values


# --- sparse grids -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SparseCoefficients:
    """Cosine coefficients ``values`` at frequencies ``(size, k)``, and how much the last level changed them."""

    frequencies: Indices
    values: Floats
    change: float
    points: Floats  # (m, k) in [-1, 1], those of the coarsest grids first
    at_points: Floats


def sparse_coefficients(query: Query, box: Box, columns: Sequence[int], level: int | None = None) -> SparseCoefficients:
    """Coefficients by Smolyak's combination of small full grids, whose points are nested.

    ``level`` is the largest sum of the columns' levels; by default the largest that keeps the number of points within
    bounds. Level l of a numeric column has ``2**l + 1`` points (one for l = 0), of a categorical one all categories.
    """
    counts = [len(c.categories) if isinstance(c := box.columns[j], Categorical) else None for j in columns]
    level = _affordable(counts) if level is None else level
    grids = [
        (total, _small_grid(counts, chosen))
        for total in range(max(0, level - len(columns)), level + 1)
        for chosen in _levels(len(columns), total)
    ]
    points = np.concatenate([grid.points for _, grid in grids])
    values, start = query_values(query, to_user(box, columns, points)), 0
    totals, keys, found = [], [], []
    for total, grid in grids:
        found.append(grid.coefficients(values[start : start + len(grid.points)]))
        start += len(grid.points)
        keys.append(grid.keys)
        totals.append(np.full(len(grid.points), total))
    frequencies, everything, missing = np.concatenate(keys), np.concatenate(found), level - np.concatenate(totals)
    _, first, places = np.unique(hashed(frequencies), return_index=True, return_inverse=True)
    # Smolyak: sum over q of (-1)^q C(d - 1, q) times all grids whose levels sum to ``level - q``; twice.
    signs = np.array([(-1) ** q * math.comb(len(columns) - 1, q) for q in range(len(columns) + 1)], dtype=np.float64)
    sums = [
        np.bincount(places.reshape(-1), np.where(missing >= less, signs[missing - less], 0.0) * everything, len(first))
        for less in (0, 1)
    ]
    change = float(np.abs(sums[0] - (sums[1] if level else 0.0)).sum())
    return SparseCoefficients(frequencies[first], sums[0].astype(np.float64), change, points, values)


def _affordable(counts: Sequence[int | None]) -> int:
    """The largest level whose grids are few, and have few enough points in all."""
    level = 1
    while level < 20:
        points, grids = np.zeros(level + 2), np.zeros(level + 2)  # by the sum of levels
        points[0] = grids[0] = 1.0
        for count in counts:
            own = np.array([1.0] + [2.0**height + 1 if count is None else count for height in range(1, level + 2)])
            points, grids = np.convolve(points, own)[: level + 2], np.cumsum(grids)
        if grids.sum() > _GRIDS or points.sum() > _SPARSE:
            break
        level += 1
    return level


def _levels(dimension: int, total: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """All ways to give columns levels that sum to ``total``: pairs (column, level >= 1)."""

    def extend(first: int, left: int) -> Iterator[tuple[tuple[int, int], ...]]:
        if left == 0:
            yield ()
            return
        for column in range(first, dimension):
            for height in range(1, left + 1):
                for rest in extend(column + 1, left - height):
                    yield ((column, height), *rest)

    yield from extend(0, total)


@dataclass(frozen=True, eq=False)
class _SmallGrid:
    """Points ``(m, k)`` in [-1, 1], the frequencies that they resolve, and the axes along which there are several."""

    points: Floats
    keys: Indices
    axes: tuple[Axis, ...]

    def coefficients(self, values: Floats) -> Floats:
        tensor = values.reshape([len(axis.nodes) for axis in self.axes])
        return contract([axis.transform for axis in self.axes], tensor).ravel()


def _small_grid(counts: Sequence[int | None], chosen: tuple[tuple[int, int], ...]) -> _SmallGrid:
    """One small full grid; columns without a level stay at their first point."""
    stays = np.array([0.0 if count is None else 1.0 for count in counts])  # the middle, or the first category
    axes = tuple(nested_axis(2**height + 1 if counts[j] is None else counts[j]) for j, height in chosen)
    shape = [len(axis.nodes) for axis in axes]
    points = np.tile(stays, (math.prod(shape), 1))
    keys = np.zeros((len(points), len(counts)), dtype=np.int64)
    for (j, _), axis, index in zip(chosen, axes, np.indices(shape).reshape(len(shape), len(points)), strict=True):
        points[:, j], keys[:, j] = axis.nodes[index], index
    return _SmallGrid(points, keys, axes)


def _matched(wanted: NDArray[np.uint64], keys: NDArray[np.uint64], values: Floats) -> Floats:
    """The value of each wanted key; zero where there is none."""
    order = np.argsort(keys)
    place = order[np.searchsorted(keys, wanted, sorter=order).clip(max=len(keys) - 1)]
    return np.where(keys[place] == wanted, values[place], 0.0)


def coefficients_at(found: SparseCoefficients, frequencies: Indices) -> tuple[Floats, float]:
    """Coefficients at the frequencies of a summary, and the sum of the sizes of all that it does not have."""
    values = _matched(hashed(frequencies), hashed(found.frequencies), found.values)
    return values, max(0.0, float(np.abs(found.values).sum() - np.abs(values).sum()))


# --- damping ----------------------------------------------------------------------------------------------


def jackson_factors(degree: int, smoothness: int) -> Floats:
    """``(degree,)``: what the paper's operator I_{t-1,K} multiplies each frequency by, for reproduction.

    The kernel is ``(sin(t' s / 2) / sin(s / 2))^(2 r)``, ``r = ceil((K + 3) / 2)``, ``t' = floor((t - 1) / r) + 1``.
    """
    power = math.ceil((smoothness + 3) / 2)
    base = np.ones((degree - 1) // power + 1)
    kernel = np.ones(1)
    for _ in range(2 * power):
        kernel = np.convolve(kernel, base)
    middle = len(kernel) // 2
    moments = kernel[middle:] / kernel[middle]  # h_m = integral of the kernel times cos(m s)
    factors = np.zeros(degree)
    for n in range(degree):
        for k in range(1, smoothness + 2):
            if n * k < len(moments):
                factors[n] -= (-1) ** k * math.comb(smoothness + 1, k) * moments[n * k]
    return factors


def balanced(values: Floats, grid: Grid, kept: NDArray[np.bool_], noise: float) -> Floats:
    """Coefficients that minimise the largest error on the grid plus ``noise`` times their length, among ``kept`` ones.

    Primal-dual steps (Chambolle and Pock); returns the full tensor, and never something worse than plain truncation.
    """
    target = values.reshape(grid.shape)
    plain = np.where(kept, grid.coefficients(values), 0.0)
    zero = (0,) * plain.ndim

    def length(c: Floats) -> float:
        return math.sqrt(max(0.0, float((c**2).sum() - c[zero] ** 2)))  # frequency zero has no noise

    def cost(c: Floats) -> float:
        return float(np.abs(target - grid.evaluate(c)).max()) + noise * length(c)

    best, least = plain, cost(plain)
    step = 1.0 / math.sqrt(values.size)
    c, ahead, dual = plain.copy(), plain.copy(), np.zeros(grid.shape)
    for i in range(min(_ROUNDS, max(_ROUNDS // 8, _HELD * 4 // values.size))):
        dual = _to_ball(dual + step * (grid.evaluate(ahead) - target))
        moved = np.where(kept, c - step * contract([axis.table for axis in grid.axes], dual), 0.0)
        size = length(moved)
        shrunk = moved * max(0.0, 1 - noise * step / size) if size > 0 else moved
        shrunk[zero] = moved[zero]
        ahead, c = 2 * shrunk - c, shrunk
        if i % 20 == 19 and (now := cost(c)) < least:
            best, least = c, now
    return best


def _to_ball(values: Floats) -> Floats:
    """The nearest point whose absolute values sum to at most one."""
    sizes = np.abs(values).ravel()
    if sizes.sum() <= 1:
        return values
    ordered = np.sort(sizes)[::-1]
    excess = (np.cumsum(ordered) - 1) / np.arange(1, len(ordered) + 1)
    cut = excess[int(np.flatnonzero(ordered > excess)[-1])]
    return np.asarray(np.sign(values) * np.maximum(np.abs(values) - cut, 0.0))
