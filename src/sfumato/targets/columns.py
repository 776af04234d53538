"""What a record adds to its class's numbers, column by column: public integer tables over cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from sfumato.bases.kernel import GaussianKernel
from sfumato.bases.lattice import MassLattice
from sfumato.core.box import Box, Categorical
from sfumato.core.whole import Integers, Wide, map_counts
from sfumato.releases.likelihoods import COUNT_WEIGHT
from sfumato.targets.shares import axis_table

BITS = 24
_ONE = 2**BITS


@dataclass(frozen=True)
class Norms:
    """How long one record's vector in a column can be, and how far apart two can be: whole numbers, from above."""

    sum: int
    square: int
    pair_square: int


def shares_of(box: Box, lattice: MassLattice | None, kernel: GaussianKernel | None, cells: int) -> Any:
    """``(cells, size)``: masses, a count, or the moments ``z``, ``z^2 - 1/2`` of the cell's middle and a weight."""
    if lattice is not None:
        assert kernel is not None
        return axis_table(lattice, box, kernel, 0, cells)
    if isinstance(box.columns[0], Categorical):
        return sparse.csr_array(sparse.eye_array(cells, dtype=np.int64) * _ONE)
    z = np.rint((2 * (np.arange(cells) + 0.5) / cells - 1) * _ONE).astype(np.int64)
    weight = np.full(cells, int(COUNT_WEIGHT * _ONE), dtype=np.int64)
    return np.stack([z, (z * z >> BITS) - _ONE // 2, weight], axis=1)


def apply_table(table: Any, tally: Integers) -> Wide:
    """What ``(classes, cells)`` counts add up to, class after class, whatever their size."""
    return map_counts(lambda part: np.asarray(table.T @ part.T).T.ravel(), tally, column_norms(table).sum)


def column_norms(table: Any) -> Norms:
    """The norms of a table's rows, from the table itself: it is public.

    Rows of masses and counts are non-negative: two are at most ``sqrt(2)`` times the longer one apart. Rows of moments
    are at most 2 apart in one class (``t^2 (1 + s^2) <= 4`` for ``t = z - z'``, ``s = z + z'``, and a step of
    rounding), and ``sqrt(2)`` times the longer one in two (docs/proofs/naive-bayes.md).
    """
    if not isinstance(table, np.ndarray):
        square = int(table.multiply(table).sum(axis=1).max())
        return Norms(int(table.sum(axis=1).max()), square, 2 * square)
    square = int((table * table).sum(axis=1).max())
    return Norms(int(np.abs(table).sum(axis=1).max()), square, max(2 * square, (2 * _ONE + 1) ** 2))
