"""What one record adds to the numbers of a synthetic table: whole numbers, from that record alone, bit by bit.

Values are scaled and truncated toward zero one by one; products are products of truncated values. So every number keeps
within its budget, whatever a record holds, and sums are exact in any order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.synthetic.blocks import RULE, TableBlocks, layout_of
from sfumato.bases.synthetic.line import Line
from sfumato.core.box import Box, Categorical, Interval

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def scaled(kind: Interval, values: Floats) -> Floats:
    """A numeric column in [-1, 1]; a missing value, and what is no number, is NaN."""
    middle, half = kind.low / 2 + kind.high / 2, kind.high / 2 - kind.low / 2
    with np.errstate(all="ignore"):  # a warning that depends on values would be an output
        return np.clip((kind.clean(values) - middle) / half, -1.0, 1.0)


def chebyshev(x: Floats, order: int) -> list[Floats]:
    """``T_2, ..., T_order`` by their recurrence, within [-1, 1]."""
    found = [np.ones_like(x), x]
    for _ in range(2, order + 1):
        found.append(np.clip(2 * x * found[-1] - found[-2], -1.0, 1.0))
    return found[2:]


_SINE = tuple((-1) ** k * math.pi ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(8))  # to 1e-11


def half_turn(x: Floats) -> tuple[Floats, Floats]:
    """``cos(pi x)`` and ``sin(pi x)`` for x in [-1, 1], by additions and multiplications alone."""
    turned = x + 0.5
    turned = np.where(turned > 1.0, turned - 2.0, turned)
    return _sine(turned), _sine(x)


def _sine(x: Floats) -> Floats:
    near = np.where(np.abs(x) > 0.5, np.copysign(1.0, x) - x, x)  # within a quarter of a turn
    square, value = near * near, np.full_like(near, _SINE[-1])
    for coefficient in _SINE[-2::-1]:
        value = value * square + coefficient
    return np.asarray(np.clip(near * value, -1.0, 1.0), dtype=np.float64)


def truncated(values: Floats, unit: int) -> Floats:
    """Values within [-1, 1] as whole numbers of at most ``unit``; a missing one adds nothing."""
    with np.errstate(all="ignore"):
        return np.nan_to_num(np.trunc(values * float(unit)), copy=False, nan=0.0)


def signs(places: NDArray[Any], count: int) -> Floats:
    """``(marks, m)``: +1 for a record's own category and -1 for the others; 0 for none. Two share one number."""
    known = np.where(places >= 0, 1.0, 0.0)
    if count == 2:
        return np.asarray(((2.0 * places - 1.0) * known)[None, :])
    return np.asarray((2.0 * (places == np.arange(count)[:, None]) - 1.0) * known, dtype=np.float64)


def add_block(total: Integers, box: Box, basis: TableBlocks, columns: Sequence[Any], line: Line | None = None) -> None:
    """Add what some records contribute, few enough for sums of doubles to be exact.

    ``columns`` are those of the box, in its order: numbers, and the positions of categories (negative for none).
    ``line`` is that of the rule, where there is one.
    """
    layout, sizes = layout_of(box, basis.label), basis.sizes(box)
    lines = {i: scaled(box.columns[i], columns[i]) for i in layout.lines}  # type: ignore[arg-type]
    parts = [_strata(box, basis, columns, lines)]
    squares = np.stack([chebyshev(lines[i], 2)[0] for i in layout.many]) if layout.many else None
    if "norm" in sizes and squares is not None:
        parts.append(np.array([truncated(squares, basis.unit("norm", box)).sum()]))
    if "spreads" in sizes:
        own = [chebyshev(lines[i], basis.order) for i in layout.many]
        parts.append(np.array([truncated(t, basis.unit("spreads", box)).sum() for each in own for t in each]))
    if sizes.get("pairs"):
        root = math.isqrt(basis.budget["pairs"])
        whole = np.stack([truncated(lines[i], root) for i in layout.many])
        parts.append((whole @ whole.T)[np.triu_indices(len(whole), 1)])
    if RULE in sizes and line is not None:
        parts.append(_ruled(box, basis, columns, lines, line))
    total += np.concatenate([part.ravel() for part in parts]).astype(np.int64)


def _ruled(box: Box, basis: TableBlocks, columns: Sequence[Any], lines: dict[int, Floats], line: Line) -> Floats:
    """Sums of the signs of labels, and of sign times place on the line."""
    layout, unit = layout_of(box, basis.label), basis.unit(RULE, box)
    assert layout.label is not None
    turned = {i: scaled(box.columns[i], columns[i]) for i in layout.circles}  # type: ignore[arg-type]
    places = line.at(box, {**lines, **turned, **{i: columns[i].astype(np.float64) for i in layout.groups}})
    sign = signs(columns[layout.label], 2)[0]
    return np.array([sign.sum() * unit, truncated(sign * places, unit).sum()])


def _strata(box: Box, basis: TableBlocks, columns: Sequence[Any], lines: dict[int, Floats]) -> Floats:
    """``(classes, stratum)`` sums of whole numbers."""
    layout, unit = layout_of(box, basis.label), basis.unit("means", box)
    count = len(columns[0])
    rows: list[Any] = [np.full((1, count), float(unit))]
    rows += [truncated(lines[i], unit)[None, :] for i in layout.lines]
    rows += [truncated(chebyshev(lines[i], 2)[0], unit)[None, :] for i in layout.few]
    for i in layout.circles:
        turned = half_turn(scaled(box.columns[i], columns[i]))  # type: ignore[arg-type]
        rows.append(truncated(np.stack(turned), unit))
    for i in layout.groups:
        kind = box.columns[i]
        assert isinstance(kind, Categorical)
        rows.append(signs(columns[i], len(kind.categories)) * float(unit))
    numbers = np.concatenate(rows)
    if layout.label is None:
        return np.asarray(numbers.sum(axis=1))[None, :]
    label = box.columns[layout.label]
    assert isinstance(label, Categorical)
    inside = (columns[layout.label] == np.arange(len(label.categories))[:, None]).astype(np.float64)
    return np.asarray(inside @ numbers.T)
