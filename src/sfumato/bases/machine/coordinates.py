"""What a kernel sees of a record: numbers in box widths from the middle, categories as corners of a simplex.

Inside a learner a record is a row of numbers: a category stands there as its place in the declared list. A kernel
sees it as one of K corners that are all one box width apart, with K - 1 coordinates: one-hot, centred, and without the
direction that no record uses. Two categories are -1/2 and 1/2, just as a number that is at either end of its bounds.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.points import point_columns
from sfumato.bases.unit import column_numbers, from_unit, read_points
from sfumato.checks import did_you_mean
from sfumato.core.box import Box, Categorical, Column, Integer
from sfumato.errors import OutsideBoxError

Floats = NDArray[np.float64]


def coded(box: Box) -> Box:
    """The box of a record's numbers: a category is its place in the list. A box of numbers is its own."""
    return _coded(box) if has_categories(box) else box


@lru_cache(maxsize=64)
def _coded(box: Box) -> Box:
    columns = [Integer(0, len(c.categories) - 1) if isinstance(c, Categorical) else c for c in box.columns]
    return Box(dict(zip(box.names, columns, strict=True)))


def has_categories(box: Box) -> bool:
    """Whether not all columns are numbers."""
    return any(isinstance(column, Categorical) for column in box.columns)


@lru_cache(maxsize=64)
def corners(count: int) -> Floats:
    """``(K, K - 1)``: the corners of a regular simplex of edge one around the origin, of norm ``sqrt((K-1)/(2K))``.

    >>> corners(2).tolist()
    [[-0.5], [0.5]]
    """
    found = np.zeros((count, count - 1))
    for k in range(1, count):  # corner k stands over the middle of those before it, all of which it is as far from
        found[:k, k - 1] = -1 / math.sqrt(2 * k * (k + 1))
        found[k, k - 1] = k / math.sqrt(2 * k * (k + 1))
    found.setflags(write=False)
    return found


def width_of(column: Column) -> int:
    """How many coordinates a column has."""
    return len(column.categories) - 1 if isinstance(column, Categorical) else 1


def scaled(box: Box, points: Floats) -> Floats:
    """What a kernel sees of cleaned records: centred box widths, corners, or ``x / max_norm`` where the box has one."""
    if box.max_norm is not None:
        return points / box.max_norm
    if not has_categories(box):
        return (points - (box.low / 2 + box.high / 2)) / (box.high - box.low)
    seen = np.empty((len(points), sum(map(width_of, box.columns))))
    start = 0
    for values, column in zip(points.T, box.columns, strict=True):
        part = seen[:, start : start + width_of(column)]
        start += width_of(column)
        if isinstance(column, Categorical):
            known = np.isfinite(values)  # what is missing stays so
            part[...] = np.nan
            part[known] = corners(len(column.categories))[values[known].astype(np.int64)]
        else:
            part[:, 0] = (values - (column.low / 2 + column.high / 2)) / (column.high - column.low)
    return seen


def reach_of(box: Box) -> float:
    """The largest Euclidean norm of a scaled record, ``1/4`` for a number and ``(K-1)/(2K)`` for K categories, squared.

    The proof is on docs/proofs/whitening.md.
    """
    if box.max_norm is not None:
        return min(1.0, float(np.linalg.norm(np.maximum(-box.low, box.high))) / box.max_norm)
    squares = [0.5 - 0.5 / len(c.categories) if isinstance(c, Categorical) else 0.25 for c in box.columns]
    return math.sqrt(math.fsum(squares))


def spread(box: Box, count: int) -> Floats:
    """About ``count`` public points all over the box: a lattice in up to three dimensions, else Weyl's sequence."""
    kinds = [len(c.categories) if isinstance(c, Categorical) else 0 for c in box.columns]
    if box.dimension <= 3:
        numbers = kinds.count(0)
        side = max(2, round((count / math.prod(k for k in kinds if k)) ** (1 / max(1, numbers))))
        sides = [k or side for k in kinds]
        if math.prod(sides) <= max(count, 2**box.dimension) * 2:
            axes = np.meshgrid(*(np.linspace(0, 1, s) for s in sides), indexing="ij")
            unit = np.stack([axis.ravel() for axis in axes], axis=1)
            return coded(box).clean(from_unit(coded(box), unit))
    unit = np.modf(np.arange(1, count + 1)[:, None] ** 2 * np.sqrt(_primes(box.dimension)))[0]
    points = from_unit(coded(box), unit)
    for place, k in enumerate(kinds):
        if k:
            points[:, place] = np.floor(unit[:, place] * k)
    return coded(box).clean(points)


@lru_cache(maxsize=8)
def _primes(count: int) -> Floats:
    """The first primes. Squares times their roots, modulo one, fill a cube in as many dimensions as one likes."""
    most = max(20, math.ceil(1.2 * count * math.log(count + 1) + 10))
    whole = np.ones(most, dtype=bool)
    whole[:2] = False
    for k in range(2, math.isqrt(most) + 1):
        whole[k * k :: k] = False
    return np.flatnonzero(whole)[:count].astype(np.float64)


def read_records(box: Box, points: Any, outside: str) -> Floats:
    """``(m, d)``: public points as a learner's records, cleaned; a category that was not declared is refused."""
    if not has_categories(box):
        return read_points(box, points, outside, clip=box.clean)
    found = _placed(box, points)
    numbers = [i for i, column in enumerate(box.columns) if not isinstance(column, Categorical)]
    if numbers:  # a refusal speaks of these, and not of places in lists
        part = Box({box.names[i]: box.columns[i] for i in numbers})
        found[:, numbers] = read_points(part, found[:, numbers], outside, clip=part.clean)
    return coded(box).clean(found)


def decoded(box: Box, records: Floats) -> Any:
    """A learner's records as public points in user units: the inverse of ``read_records``."""
    if not has_categories(box):
        return records
    pairs = zip(box.columns, records.T, strict=True)
    columns = (np.array(c.categories)[v.astype(np.int64)] if isinstance(c, Categorical) else v for c, v in pairs)
    return dict(zip(box.names, columns, strict=True))


def _placed(box: Box, points: Any) -> Floats:
    """The points, with categories as their places."""
    found = []
    for name, column, values in zip(box.names, box.columns, point_columns(box.names, points), strict=True):
        if not isinstance(column, Categorical):
            found.append(column_numbers(column, values))
            continue
        places = {category: place for place, category in enumerate(column.categories)}
        unknown = [value for value in values.tolist() if value not in places]
        if unknown:
            raise OutsideBoxError(
                f"column {name!r} must be one of {list(column.categories)}, got {unknown[0]!r} in {len(unknown)} of "
                f"{len(values)} points{did_you_mean(unknown[0], column.categories)}"
            )
        found.append(np.array([places[value] for value in values.tolist()], dtype=np.float64))
    return np.stack(found, axis=1)


@lru_cache(maxsize=64)
def terms_of(box: Box) -> tuple[tuple[str, ...], Floats]:
    """What a linear learner adds up: names, and ``(terms, width)`` coordinates of one width, or of one category, each.

    >>> terms_of(Box({"age": (0, 110), "sex": Categorical(["F", "M"])}))[0]
    ('age', 'sex = F', 'sex = M')
    """
    names: list[str] = []
    blocks: list[Floats] = []
    for name, column in zip(box.names, box.columns, strict=True):
        if isinstance(column, Categorical):
            names += [f"{name} = {category}" for category in column.categories]
            blocks.append(corners(len(column.categories)))
        else:
            names.append(name)
            blocks.append(np.ones((1, 1)))
    matrix = np.zeros((len(names), sum(block.shape[1] for block in blocks)))
    row = place = 0
    for block in blocks:
        matrix[row : row + len(block), place : place + block.shape[1]] = block
        row, place = row + len(block), place + block.shape[1]
    matrix.setflags(write=False)
    return tuple(names), matrix
