"""From noisy moments to a density for each column and class, and the rows that these are drawn into.

Differences between classes are shrunk as far as noise could have made them (empirical Bayes over all features), shapes
are those of greatest entropy. Columns are independent within a class.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.density.measure import to_simplex
from sfumato.bases.synthetic.blocks import LARGEST_ORDER, Layout, TableBlocks, layout_of, marks_of
from sfumato.bases.synthetic.contributions import chebyshev, half_turn
from sfumato.bases.synthetic.entropy import Moments, common_curvature, densities
from sfumato.bases.synthetic.noisy import Noisy
from sfumato.core.box import Box, Categorical, Interval
from sfumato.errors import ParameterError

Floats = NDArray[np.float64]

_CELLS = 160  # of a line, evenly spaced in angle
_HOURS = 96  # of a circle
_COPIES = 5  # of a density and of a curvature, while they are sought
_ROUNDS, _SURPLUS = 60, 1e-9  # of a variance between classes, and where it is found
LARGEST_FIT = 2**27  # numbers that a fit may hold at once: a gigabyte


@dataclass(frozen=True, eq=False)
class ColumnLaw:
    """One column in each class: ``(K, G)`` weights of cells between ``low`` and ``high``, scaled to [-1, 1].

    A cell of no width is a value: of a whole number, or the position of a category.
    """

    weights: Floats
    low: Floats
    high: Floats

    @property
    def means(self) -> Floats:
        """``(K,)``: of the middles of cells."""
        return np.asarray(self.weights @ ((self.low + self.high) / 2))


@dataclass(frozen=True, eq=False)
class TableLaw:
    """What rows are drawn from.

    Parameters
    ----------
    shares
        ``(K,)``: the classes' parts of the rows.
    columns
        By their places in the box, without the label.
    products
        ``(d, d)`` means of products of all pairs of lines of many values, noise taken back; None where unknown.
    """

    shares: Floats
    columns: dict[int, ColumnLaw]
    products: Floats | None


@dataclass(frozen=True, eq=False)
class _Shrunk:
    """``(K, F)`` class means, and ``(K,)`` variances of what noise has left in them."""

    means: Floats
    unsure: Floats


def check_fit(box: Box, label: str | None) -> None:
    """Refuse a box of so many classes and columns that their densities would not fit into memory."""
    layout = layout_of(box, label)
    classes = 1 if label is None else len(box.columns[box.names.index(label)].categories)  # type: ignore[union-attr]
    lines = len(layout.many) * (classes * _CELLS + (classes + LARGEST_ORDER - 1) ** 2)
    alone = 2 * classes if layout.few or layout.circles else 0  # coefficients of a column by itself
    marks = max((len(box.columns[i].categories) for i in layout.groups), default=0)  # type: ignore[union-attr]
    needed = _COPIES * (lines + alone * (alone + _HOURS) + classes * marks)
    if needed > LARGEST_FIT:
        raise ParameterError.of(
            "box",
            f"has {classes:,} classes and {box.dimension:,} columns: their densities would take about {needed:,} "
            f"numbers, more than {LARGEST_FIT:,}; give fewer columns, or a label of fewer classes",
        )


def law_of(noisy: Noisy, basis: TableBlocks, box: Box) -> TableLaw:
    """The densities of all columns in each class."""
    layout, shrunk, shares = layout_of(box, basis.label), _shrunk(noisy), noisy.shares
    found: dict[int, ColumnLaw] = {}
    features = iter(np.split(shrunk.means, shrunk.means.shape[1], axis=1))
    first = {i: next(features) for i in layout.lines}
    second = {i: next(features) for i in layout.few}
    for i, law in zip(layout.many, _lines(noisy, layout, first, shrunk, shares), strict=True):
        found[i] = law
    for i in layout.few:
        found[i] = _whole(box.columns[i], np.hstack([first[i], second[i]]), shrunk, shares)  # type: ignore[arg-type]
    for i in layout.circles:
        found[i] = _circle(np.hstack([next(features), next(features)]), shrunk, shares)
    for i in layout.groups:
        kind = box.columns[i]
        assert isinstance(kind, Categorical)
        found[i] = _categories(kind, np.hstack([next(features) for _ in range(marks_of(kind))]))
    return TableLaw(shares, found, _products(noisy, layout, found, shares))


def _shrunk(noisy: Noisy) -> _Shrunk:
    """Class means, drawn towards a common one where noise could have made the difference.

    The common one is their mean, weighted by how well each is known: a small class, whose mean noise hides, does not
    bring all of its noise into the mean of all records.
    """
    sizes = noisy.sizes[:, None]
    means, noise = noisy.sums / sizes, (noisy.of_class / noisy.sizes) ** 2
    if len(means) == 1 or not means.shape[1]:
        return _Shrunk(np.clip(means, -1.0, 1.0), noise)
    between = _between(means, noise)
    weights = 1 / (between + noise)
    common, rest = weights @ means / weights.sum(), float(1 / weights.sum())
    apart, part = means - common, between * weights
    kept = np.maximum(part[:, None], _standing(apart, noise[:, None]))
    found, part = common + kept * apart, kept.mean(axis=1)
    return _Shrunk(np.clip(found, -1.0, 1.0), part * noise + (1 - part) * rest)


def _between(means: Floats, noise: Floats) -> float:
    """The variance of class means about a common one, beyond that of their noise, as of all features (Paule, Mandel).

    With it, weighted squares are as large as they should be.
    """
    found, free = 0.0, len(means) - 1
    for _ in range(_ROUNDS):
        weights = 1 / (found + noise)
        squares = ((means - weights @ means / weights.sum()) ** 2).mean(axis=1)
        beyond = float(weights @ squares) - free
        if beyond <= _SURPLUS:
            break
        found += beyond / float(weights**2 @ squares)
    return found


def _kept(found: Floats, noise: float) -> Floats:
    """Which part of each of some noisy numbers about zero is kept: as far as all of them, or it by itself, stand out.

    All of them by their common variance (empirical Bayes), a single one by the garrote, for few that are large.
    """
    return np.maximum(max(0.0, 1 - noise / max(1e-300, float((found**2).mean()))), _standing(found, noise))


def _standing(found: Floats, noise: Floats | float) -> Floats:
    return np.asarray(1 - 2 * noise / np.maximum(found**2, 1e-300))


def _line() -> tuple[Floats, Floats]:
    edges = -np.cos(np.linspace(0, math.pi, _CELLS + 1))
    return edges[:-1], edges[1:]


def _lines(
    noisy: Noisy, layout: Layout, first: dict[int, Floats], shrunk: _Shrunk, shares: Floats
) -> Iterator[ColumnLaw]:
    """The numeric columns, all at once: a slope for each class, and one shape for all."""
    if not layout.many:
        return
    low, high = _line()
    x = (low + high) / 2
    base = np.log(high - low)
    wanted = np.stack([first[i] for i in layout.many])
    none = np.zeros((0, len(x)))
    count = len(layout.many)
    plain = Moments(base, x[None, :], none, shares, wanted, shrunk.unsure, np.zeros((count, 0)), *[np.zeros(0)] * 2)
    square = chebyshev(x, 2)[0]
    usual, size = 0.0, _size(noisy, count)
    if size is not None:

        def bent(curvature: float, start: Floats | None) -> tuple[Floats, Floats]:
            return densities(replace(plain, base=base + curvature * square), start)

        usual = common_curvature(bent, square, shares, size)
    if noisy.spreads is None:
        weights, _ = densities(replace(plain, base=base + usual * square))
    else:
        sums, sd = noisy.spreads
        pooled = sums / noisy.total
        pooled[:, 0] += (size - pooled[:, 0].mean()) if size is not None else 0.0
        shapes = np.stack(chebyshev(x, pooled.shape[1] + 1))
        few = np.array([usual] + [0.0] * (len(shapes) - 1))
        variance = np.full(len(shapes), (sd / noisy.total) ** 2)
        weights, _ = densities(replace(plain, common=shapes, pooled=np.clip(pooled, -1, 1), doubt=variance, usual=few))
    for one in weights:
        yield ColumnLaw(one, low, high)


def _size(noisy: Noisy, count: int) -> float | None:
    """The mean of ``T_2`` over records and columns, from all that tells it, by how well it does."""
    told = []
    if noisy.norm is not None:
        told.append((noisy.norm[0] / count, noisy.norm[1] / count))
    if noisy.spreads is not None:
        told.append((float(noisy.spreads[0][:, 0].mean()), noisy.spreads[1] / math.sqrt(count)))
    if not told:
        return None
    weights = np.array([sd**-2 for _, sd in told])
    mean = float(np.array([value for value, _ in told]) @ weights / weights.sum()) / noisy.total
    return min(1.0, max(-1.0, mean))


def _own(base: Floats, features: Floats, wanted: Floats, shrunk: _Shrunk, shares: Floats) -> Floats:
    """``(K, G)`` weights of one column, each class with coefficients of its own."""
    none = np.zeros((0, len(base)))
    moments = Moments(base, features, none, shares, wanted[None, :, :], shrunk.unsure, np.zeros((1, 0)),
                      *[np.zeros(0)] * 2)  # fmt: skip
    return np.asarray(densities(moments)[0][0])


def _whole(kind: Interval, wanted: Floats, shrunk: _Shrunk, shares: Floats) -> ColumnLaw:
    """A column of few whole numbers, on these."""
    values = np.arange(math.ceil(kind.low), math.floor(kind.high) + 1, dtype=np.float64)
    x: Floats = np.asarray((values - (kind.low / 2 + kind.high / 2)) / (kind.high / 2 - kind.low / 2))
    features = np.stack([x, *chebyshev(x, 2)])
    return ColumnLaw(_own(np.zeros(len(x)), features, wanted, shrunk, shares), x, x)


def _circle(wanted: Floats, shrunk: _Shrunk, shares: Floats) -> ColumnLaw:
    edges = np.linspace(-1.0, 1.0, _HOURS + 1)
    features = np.stack(half_turn((edges[:-1] + edges[1:]) / 2))
    return ColumnLaw(_own(np.zeros(_HOURS), features, wanted, shrunk, shares), edges[:-1], edges[1:])


def _categories(kind: Categorical, marks: Floats) -> ColumnLaw:
    shares = (marks + 1) / 2
    shares = np.hstack([1 - shares, shares]) if shares.shape[1] == 1 else np.stack([to_simplex(one) for one in shares])
    places = np.arange(len(kind.categories), dtype=np.float64)
    return ColumnLaw(np.clip(shares, 0.0, 1.0), places, places)


def _products(noisy: Noisy, layout: Layout, found: dict[int, ColumnLaw], shares: Floats) -> Floats | None:
    """Means of products: what independence within classes says, and of the rest what noise cannot have made."""
    if noisy.pairs is None:
        return None
    means = np.stack([found[i].means for i in layout.many])
    usual, (sums, sd) = (means * shares) @ means.T, noisy.pairs
    at = np.triu_indices(len(means), 1)
    rest = sums / noisy.total - usual[at]
    wanted = usual.copy()
    wanted[at] = np.clip(wanted[at] + _kept(rest, (sd / noisy.total) ** 2) * rest, -1.0, 1.0)
    wanted.T[at] = wanted[at]
    return wanted
