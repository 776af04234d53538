"""Rows of a synthetic table: every column of every class by stratified quantiles, then moved until pairs agree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.synthetic.blocks import TableBlocks, layout_of
from sfumato.bases.synthetic.line import Judge
from sfumato.bases.synthetic.model import ColumnLaw, TableLaw
from sfumato.core.box import Box, Categorical
from sfumato.releases.rows import systematic

Floats = NDArray[np.float64]

_STEPS = 200  # of moving
_STAYS = 4.0  # how much more it counts that a class keeps its means than that a pair agrees
_MOST_MOVED = 4_000  # rows that are moved by themselves; more are made of several such lots


def drawn(
    law: TableLaw, basis: TableBlocks, box: Box, rows: int, generator: np.random.Generator, judge: Judge | None = None
) -> list[Floats]:
    """The columns of the box, in its units, in random order of rows; categories by their positions.

    Where there is a judge, it says which label a row has, whichever stratum it comes from.
    """
    found = within(law, basis, box, rows, generator)
    label, order = layout_of(box, basis.label).label, generator.permutation(rows)
    if label is not None and judge is not None:
        found[label] = judge.labels(judge.line.at(box, found), generator.random()).astype(np.float64)
    return [_in_units(box, i, found[i][order]) for i in range(box.dimension)]


def within(law: TableLaw, basis: TableBlocks, box: Box, rows: int, generator: np.random.Generator) -> dict[int, Floats]:
    """Columns by their places: numbers between -1 and 1, and positions; stratum after stratum."""
    classes, _ = systematic(law.shares, rows, generator)
    found = {i: np.empty(rows) for i in law.columns}
    for k in np.unique(classes):
        inside = np.flatnonzero(classes == k)
        for i, column in law.columns.items():
            found[i][inside] = _quantiles(column, int(k), len(inside), generator)
    layout = layout_of(box, basis.label)
    if law.products is not None:
        _move(found, classes, law.products, box, basis, generator)
    if layout.label is not None:
        found[layout.label] = classes.astype(np.float64)
    return found


def _quantiles(column: ColumnLaw, k: int, count: int, generator: np.random.Generator) -> Floats:
    """So many draws of one column in one class: one from each of as many equal parts of its law, in random order."""
    cells, within = _stratified(column.weights[k], count, generator)
    return np.asarray(generator.permutation(column.low[cells] + within * (column.high - column.low)[cells]))


def _stratified(weights: Floats, count: int, generator: np.random.Generator) -> tuple[NDArray[np.int64], Floats]:
    ends = np.cumsum(weights)
    ticks = (np.arange(count) + generator.random(count)) * (ends[-1] / count)
    cells = np.minimum(np.searchsorted(ends, ticks, side="right"), int(np.flatnonzero(weights)[-1]))
    return cells, np.clip((ticks - (ends[cells] - weights[cells])) / weights[cells], 0.0, 1.0)


def _in_units(box: Box, place: int, values: Floats) -> Floats:
    kind = box.columns[place]
    if isinstance(kind, Categorical):
        return values
    return (kind.low / 2 + kind.high / 2) + values * (kind.high / 2 - kind.low / 2)


# --- pairs ----------------------------------------------------------------------------------------------------------


def _move(
    found: dict[int, Floats], classes: NDArray[np.int64], wanted: Floats, box: Box, basis: TableBlocks,
    generator: np.random.Generator,
) -> None:  # fmt: skip
    """Move numeric values, in place, until the means of their products agree; whole numbers of few values stay."""
    many = layout_of(box, basis.label).many
    values = np.stack([found[i] for i in many], axis=1)
    lots = -(-len(values) // _MOST_MOVED)
    share = generator.permutation(len(values)) % lots
    for lot in range(lots):
        rows = np.flatnonzero(share == lot)
        values[rows] = moved(values[rows], classes[rows], wanted)
    for j, i in enumerate(many):
        found[i] = values[:, j]


def moved(values: Floats, classes: NDArray[np.int64], wanted: Floats) -> Floats:
    """Rows after gradient steps in the angles ``theta``, ``x = cos theta``, which keep them in the box.

    They pull the means of products towards ``wanted``, each class's means and each column's mean square to where they
    were. A step is as long as the steepest direction allows.
    """
    rows, angles = len(values), np.arccos(np.clip(values, -1.0, 1.0))
    inside = (classes == np.unique(classes)[:, None]).astype(np.float64)
    weight = inside.sum(axis=1)  # a class counts as much as its rows
    inside /= weight[:, None]
    means, squares = inside @ values, (values**2).mean(axis=0)
    steep = float(np.linalg.eigvalsh(values.T @ values / rows)[-1]) + 3 * _STAYS
    x, velocity = values, np.zeros_like(values)
    for _ in range(_STEPS):
        apart = x.T @ x / rows - wanted
        np.fill_diagonal(apart, 2 * _STAYS * ((x**2).mean(axis=0) - squares))
        pull = x @ apart + _STAYS * inside.T @ (weight[:, None] * (inside @ x - means))
        velocity = 0.9 * velocity + pull * np.sin(angles)
        angles = angles + 0.5 / steep * velocity
        x = np.cos(angles)
    return np.asarray(x)
