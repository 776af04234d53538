"""A linear rule of a table's columns, and labels that follow it: ``method="rule"``.

A record's place on the line is a number within [-1, 1], from that record alone, bit by bit: columns are added one by
one. Labels are drawn with chances ``1 / (1 + exp(-slope t - intercept))``, and these two are fixed by two published
numbers: the share of the second class, and how labels and places on the line go together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from sfumato.bases.synthetic.blocks import layout_of
from sfumato.core.box import Box, Categorical, Column, Integer, Interval

Floats = NDArray[np.float64]

_STEPS = 50  # of Newton; a dozen are usual
_HALVINGS = 30
_LEAST_RIDGE = 1e-6  # no slope is infinite
_NEAR = 1e-12
_STEEPEST = 20.0  # logits for each deviation of the rows' places that a rule may have by itself


@dataclass(frozen=True)
class Line:
    """What each column adds: one number for each of its categories or few whole numbers, else a slope.

    Parameters
    ----------
    parts
        For each column of the box, as it stands between -1 and 1; none for the label. The sum of the largest is one.
    few
        The columns of few whole numbers, which are looked up like categories.
    size
        What places are multiplied by in the rule's own logits.
    """

    parts: tuple[tuple[float, ...], ...]
    few: tuple[int, ...]
    size: float = 1.0

    def at(self, box: Box, columns: Mapping[int, Floats]) -> Floats:
        """``(m,)``: places on the line, of numbers within [-1, 1] and of positions of categories.

        A missing value adds nothing.
        """
        total = np.zeros(len(next(iter(columns.values()))))
        for i, part in enumerate(self.parts):
            if not part:
                continue
            kind, values = box.columns[i], columns[i]
            if i in self.few:
                assert isinstance(kind, Interval)
                values = values * (kind.high / 2 - kind.low / 2) + (kind.low / 2 + kind.high / 2)
                values = values - math.ceil(kind.low)
            if i in self.few or isinstance(kind, Categorical):
                places = np.rint(np.nan_to_num(values, nan=-1.0)).astype(np.int64)
                inside = (places >= 0) & (places < len(part))
                total += np.array([*part, 0.0])[np.where(inside, places, len(part))]
            else:
                total += np.nan_to_num(values * part[0], nan=0.0)
        return np.clip(total, -1.0, 1.0)


def told_by(box: Box, label: str | None) -> dict[str, Column]:
    """What a rule is learned from: the columns without the label; few whole numbers are told apart like categories.

    A column of one whole number tells nothing.
    """
    layout = layout_of(box, label)
    found: dict[str, Column] = {}
    for i, name in enumerate(box.names):
        kind = box.columns[i]
        if i in layout.few:
            assert isinstance(kind, Integer)
            values = tuple(range(math.ceil(kind.low), math.floor(kind.high) + 1))
            if len(values) > 1:
                found[name] = Categorical(values)
        elif i != layout.label:
            found[name] = kind
    return found


def columns_of(box: Box, label: str) -> Box:
    """The same as a box."""
    return Box(told_by(box, label))


def line_of(box: Box, label: str, slopes: Floats) -> Line:
    """The line of a linear rule: ``(terms,)`` slopes, in the units of ``columns_of(box, label)``."""
    rest, parts, told = list(slopes.tolist()), [], told_by(box, label)
    for name in box.names:
        kind = told.get(name)
        count = 0 if kind is None else len(kind.categories) if isinstance(kind, Categorical) else 1
        own, rest = rest[:count], rest[count:]
        parts.append([own[0] * (kind.high / 2 - kind.low / 2)] if isinstance(kind, Interval) else own)
    size = math.fsum(max(map(abs, part), default=0.0) for part in parts)
    scaled = tuple(tuple(one / size if size else 0.0 for one in part) for part in parts)
    return Line(scaled, layout_of(box, label).few, size)


@dataclass(frozen=True)
class Judge:
    """A line with a slope and an intercept: which label a row has."""

    line: Line
    slope: float
    intercept: float

    def labels(self, places: Floats, start: float) -> NDArray[np.int64]:
        """0 or 1 for each row, evenly spaced along the line from ``start``, a number in [0, 1), on.

        Each stretch of it has as many as its chances say.
        """
        order = np.argsort(places, kind="stable")
        ends = np.cumsum(expit(self.slope * places[order] + self.intercept)) + start
        found = np.empty(len(places), dtype=np.int64)
        found[order] = np.diff(np.floor(ends), prepend=0.0).astype(np.int64)
        return np.clip(found, 0, 1)


def judge_of(line: Line, places: Floats, sums: Floats, unsure: float) -> Judge:
    """The slope and intercept with which labels of rows at these places have two published means.

    Parameters
    ----------
    places
        Where some rows stand on the line.
    sums
        ``(2,)``: the mean sign of the labels (1 for the second class, -1 for the first), and that of sign times place.
    unsure
        The deviation of the noise in each of them: a ridge in the dual, about the slope that the rule has by itself.
    """
    middle, spread = float(places.mean()), max(float(places.std()), 1e-9)
    x = np.stack([np.ones_like(places), (places - middle) / spread])
    share = (1 + float(sums[0])) / 2
    both = (float(sums[1]) + middle) / 2  # the mean of places among the second class, times its share
    wanted = np.array([share, (both - middle * share) / spread])
    ridge = np.maximum(_LEAST_RIDGE, (unsure * np.array([0.5, 0.5 / spread])) ** 2)
    usual = np.array([0.0, min(_STEEPEST, line.size * spread)])

    def value(at: Floats) -> float:
        return float(np.logaddexp(0.0, at @ x).mean() - at @ wanted + (at - usual) @ (ridge * (at - usual)) / 2)

    at = np.zeros(2)
    for _ in range(_STEPS):
        chances = expit(at @ x)
        slope = x @ chances / len(places) - wanted + ridge * (at - usual)
        curvature = (x * (chances * (1 - chances))) @ x.T / len(places) + np.diag(ridge)
        move = np.linalg.solve(curvature, slope)
        promised, length, old = float(move @ slope), 1.0, value(at)
        if promised < _NEAR:
            break
        for _ in range(_HALVINGS):
            if value(at - length * move) <= old - 0.1 * length * promised:
                break
            length /= 2
        at = at - length * move
    return Judge(line, float(at[1] / spread), float(at[0] - at[1] * middle / spread))
