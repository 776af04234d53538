"""Made-up rows from what was published: a systematic sample of a measure, and tables in the user's own units."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.subspace.reading import Ellipsoid
from sfumato.bases.unit import in_units, is_whole
from sfumato.checks import whole_number
from sfumato.core.box import Box, Categorical, Column, Date

if TYPE_CHECKING:
    import pyarrow as pa

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

MOST_ROWS = 10**8


def check_rows(rows: Any) -> int:
    """A public number of rows."""
    return whole_number("rows", rows, 1, MOST_ROWS)


def randomness(seed: Any) -> np.random.Generator:
    """Public randomness: the same rows for the same seed, others each time for None."""
    return np.random.default_rng(None if seed is None else whole_number("seed", seed, 0, 2**63 - 1))


def fresh_seed() -> int:
    """A seed that nobody has named, to be published with what is made with it."""
    return int(np.random.default_rng().integers(2**63))


def winding(shape: Sequence[int]) -> Places:
    """All cells of a grid in an order in which each is beside the one before it, as an ox ploughs.

    >>> winding((2, 3)).tolist()
    [0, 1, 2, 5, 4, 3]
    """
    rest = math.prod(shape)
    order = np.arange(rest, dtype=np.int64)
    cells = np.zeros_like(order)
    for count in shape:
        furrow, rest = order // rest, rest // count  # every second one is ploughed backwards
        step = order // rest % count
        cells = cells * count + np.where(furrow % 2 == 0, step, count - 1 - step)
    return cells


def systematic(weights: Floats, rows: int, generator: np.random.Generator) -> tuple[Places, Floats]:
    """Which of the cells in a line ``rows`` evenly spaced ticks fall into, and where: ``[0, 1)`` of the way through.

    A cell's number of rows is its share of them up to less than one, and so is that of every stretch of the line.
    """
    ends = np.cumsum(weights)
    ticks = (np.arange(rows) + generator.random()) * (ends[-1] / rows)
    found = np.minimum(np.searchsorted(ends, ticks, side="right"), int(np.flatnonzero(weights)[-1]))
    within = (ticks - (ends[found] - weights[found])) / weights[found]
    return found, np.clip(within, 0.0, np.nextafter(1.0, 0.0))


def rows_of(
    box: Box, shape: Sequence[int], measure: Floats, rows: int, generator: np.random.Generator
) -> list[Floats | Places]:
    """The columns of a systematic sample of a measure on a grid of even angles, in random order.

    Within a cell rows are anywhere between its angles: on the nodes alone a column would have a few values only.
    """
    order = winding(shape)
    cells, _ = systematic(measure.ravel()[order], rows, generator)
    cells = order[cells[generator.permutation(rows)]]
    found: list[Floats | Places] = []
    for kind, count, place in zip(box.columns, shape, np.unravel_index(cells, tuple(shape)), strict=True):
        if isinstance(kind, Categorical):
            found.append(place)
            continue
        unit = (1 + np.cos((place + generator.random(rows)) * (math.pi / count))) / 2
        found.append(kind.low + unit * (kind.high - kind.low))
    return found


def points_in(ellipsoid: Ellipsoid, count: int, generator: np.random.Generator) -> Floats:
    """``(count, d)`` points spread evenly in an ellipsoid, within [-1, 1], with its variances along its axes.

    A ball of radius ``sqrt(k + 2)`` in k dimensions, filled evenly, has variance 1 along each axis.
    """
    rank = len(ellipsoid.values)
    directions = generator.standard_normal((count, rank))
    directions /= np.maximum(np.linalg.norm(directions, axis=1, keepdims=True), 1e-300)
    radius = generator.random((count, 1)) ** (1 / rank) * math.sqrt(rank + 2)
    spread = (directions * radius * np.sqrt(ellipsoid.values)) @ ellipsoid.components
    return np.asarray(np.clip(ellipsoid.mean + spread, -1.0, 1.0))


# --- tables in the user's units -----------------------------------------------------------------------------------


def as_table(box: Box, columns: Sequence[Floats | Places]) -> pa.Table:
    """A table of the box's columns: positions of categories, values of the others (dates as days since 1970).

    Integers come back as integers, dates as dates, categories as they were declared.
    """
    import pyarrow as pa

    return pa.table(
        {name: _as_declared(kind, values) for name, kind, values in zip(box.names, box.columns, columns, strict=True)}
    )


def _as_declared(kind: Column, values: Floats | Places) -> Any:
    import pyarrow as pa

    if isinstance(kind, Categorical):
        return pa.array(kind.categories).take(pa.array(values.astype(np.int64)))
    values = kind.clean(values.astype(np.float64))
    if isinstance(kind, Date):
        return pa.array(in_units(kind, values), type=pa.timestamp("us", tz="UTC" if kind.zoned else None))
    whole = is_whole(kind)
    return pa.array(values.astype(np.int64) if whole and np.abs(values).max(initial=0.0) < 2.0**62 else values)
