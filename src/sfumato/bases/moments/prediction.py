"""Which moments to publish: what error a mixture of questions may be expected to have, from public quantities alone.

A question is a product of functions of one to three columns: bumps of several widths or a threshold, at any place of a
column of numbers, single categories of the others. Records are in mind as clusters of several widths anywhere. Both are
averaged over places, so that only mean squares of coefficients and moments count: products over columns.
"""

from __future__ import annotations

import math
from collections import Counter
from functools import lru_cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.moments.cosine import Cosines
from sfumato.bases.moments.quadrature import nested_axis
from sfumato.core.box import Box, Categorical

Floats = NDArray[np.float64]

DEGREES = (3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 64)
_BUMPS = (0.25, 0.5, 1.0, 0.0)  # deviations of bumps, in half-widths; 0 is a threshold
_WIDE = 0.5  # the deviation of those that a plan tells of
_CLUSTERS = (0.1, 0.3, 0.9)  # deviations of clusters of records, in angles
# The mean square of a moment of one cluster is a half for each of its columns; of three clusters a third of that, and
# half as much again for each further column, because clusters are seldom in all columns the same.
_MOVED, _CROWDS = 0.25, 1.5
_ASKED = 3  # columns that a question is about, at most
_SUBSETS = 12  # sets of columns that are looked at, of each size
_FEW = 8  # columns of which all sets come into question
_WAVES = 128


def predicted_error(basis: Cosines, box: Box, noise: float) -> float:
    """The root of the mean square error of a question, averaged over the widths of bumps and sets of columns.

    ``noise`` is the deviation of the noise in each moment.
    """
    degree = max(basis.degree) if isinstance(basis.degree, tuple) else basis.degree
    errors, times = [], []
    for kinds, count in _kinds_asked(box).items():
        missed, asked = _lost_and_asked(degree, basis.interactions, kinds)
        errors.append(float(np.sqrt(missed + noise**2 * asked).mean()))
        times.append(count)
    return float(np.average(errors, weights=times))


def missed_by_wide_bumps(basis: Cosines, box: Box) -> float:
    """What is left out at most of a bump of half a half-width in the middle of as many columns as interact."""
    degree, ways = max(basis.degree) if isinstance(basis.degree, tuple) else basis.degree, basis.interactions
    numeric = sum(not isinstance(column, Categorical) for column in box.columns)
    columns = min(numeric, 4) if isinstance(ways, str) else min(numeric, ways, 4)
    if not columns:
        return 0.0  # every function of categories is exact
    angles = (np.arange(512) + 0.5) * (math.pi / 512)
    bump = np.exp(-((np.cos(angles) / _WIDE) ** 2) / 2)
    sizes = np.abs(np.cos(np.outer(np.arange(256), angles)) @ bump) * (2 / 512)
    sizes[0] /= 2
    whole, kept = float(sizes.sum()) ** columns, float(sizes[:degree].sum()) ** columns
    if ways == "cross":
        frequencies = Cosines(min(degree, 256), "cross").index_set(Box([(-1.0, 1.0)] * columns)).frequencies
        kept = float(sizes[frequencies].prod(axis=1).sum())
    return whole - kept


def _kinds_asked(box: Box) -> Counter[tuple[int, ...]]:
    """Sets of up to three columns, as many of each size, by how many categories they have (0: a column of numbers)."""
    kinds = [len(c.categories) if isinstance(c, Categorical) else 0 for c in box.columns]
    found: Counter[tuple[int, ...]] = Counter()
    for count in range(1, min(len(kinds), _ASKED) + 1):
        if len(kinds) <= _FEW:
            several = list(combinations(kinds, count))
        else:  # neighbouring columns, going round: of very many, only the mixture of their kinds counts
            several = [tuple((kinds + kinds)[i : i + count]) for i in range(len(kinds))]
        chosen = [several[(i * len(several)) // _SUBSETS] for i in range(_SUBSETS)]
        found.update(tuple(sorted(one)) for one in chosen)
    return found


@lru_cache(maxsize=4096)
def _lost_and_asked(degree: int, ways: str | int, kinds: tuple[int, ...]) -> tuple[Floats, Floats]:
    """For each width of bumps: the mean square of what is left out, and the sum of the squares that noise meets."""
    part = Box({str(i): Categorical(tuple(range(many))) if many else (-1.0, 1.0) for i, many in enumerate(kinds)})
    frequencies = Cosines(degree, ways if isinstance(ways, str) else min(ways, len(kinds))).index_set(part).frequencies
    missed, asked = [], []
    for bump in _BUMPS:
        squares = [_squares(many, bump) for many in kinds]
        kept = [
            np.prod([square[side][own] for square, own in zip(squares, frequencies.T, strict=True)], axis=0)
            for side in (0, 1)
        ]
        whole = math.prod(float(square[1].sum()) for square in squares)
        missed.append(max(0.0, whole - float(kept[1].sum())) / _CROWDS)
        asked.append(float(kept[0].sum()) - float(kept[0][0]))
    return np.array(missed), np.array(asked)


@lru_cache(maxsize=256)
def _squares(categories: int, bump: float) -> tuple[Floats, Floats]:
    """Mean squares of a question's coefficients along a column, and these times the mean squares of moments there."""
    if categories:
        asked = np.asarray((nested_axis(categories).transform ** 2).mean(axis=1))
        return asked, asked * np.where(np.arange(categories) > 0, _MOVED, 1.0)
    angles = (np.arange(512) + 0.5) * (math.pi / 512)
    table = np.cos(np.outer(np.arange(_WAVES), angles)) * (2 / 512)
    table[0] /= 2
    centres = np.cos(np.linspace(0, math.pi, 22)[1:] - math.pi / 42) if not bump else np.linspace(-1, 1, 21)
    away = np.cos(angles)[:, None] - centres
    bumps = np.exp(-((away / bump) ** 2) / 2) if bump else (away > 0).astype(np.float64)
    asked = np.asarray(((table @ bumps) ** 2).mean(axis=1))
    waves = np.arange(_WAVES)[:, None] * np.array(_CLUSTERS)
    return asked, asked * np.where(np.arange(_WAVES) > 0, _MOVED * np.exp(-(waves**2)).mean(axis=1), 1.0)
