"""What a record adds to its class's numbers, column by column: public integer tables over cells."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import sparse

from sfumato.bases.bayes.attributes import alone
from sfumato.bases.density.binning import MassLattice
from sfumato.bases.density.kernel import GaussianKernel
from sfumato.bases.density.shares import axis_table, shape_of_cells
from sfumato.core.box import Box, Categorical
from sfumato.core.certificate import Certificate, certify_sum
from sfumato.core.neighbours import rows_per_unit
from sfumato.core.privacy import Privacy
from sfumato.core.whole import Integers, Wide, map_counts

BITS = 24
COUNT_WEIGHT = 0.5  # what a record adds to the count beside its moments
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
    return _moments(cells)


@lru_cache(maxsize=8)
def _moments(cells: int) -> Any:
    """One table for all columns that are counted in so many cells."""
    z = np.rint((2 * (np.arange(cells) + 0.5) / cells - 1) * _ONE).astype(np.int64)
    weight = np.full(cells, int(COUNT_WEIGHT * _ONE), dtype=np.int64)
    return np.stack([z, (z * z >> BITS) - _ONE // 2, weight], axis=1)


def cells_of(box: Box, classes: int) -> int:
    """In how many cells a column is counted: its categories, or as fine as fits."""
    kind = box.columns[0]
    if isinstance(kind, Categorical):
        return len(kind.categories)
    return shape_of_cells(box, classes)[0]  # coarser only with very many classes


def tables_of(
    box: Box, lattices: Sequence[MassLattice | None], kernels: Mapping[int, GaussianKernel], classes: int
) -> list[Any]:
    """For each column ``(cells, size)`` integers: what a record in a cell adds to its class's numbers."""
    columns = [alone(box, i) for i in range(box.dimension)]
    return [
        shares_of(column, lattice, kernels.get(i), cells_of(column, classes))
        for i, (column, lattice) in enumerate(zip(columns, lattices, strict=True))
    ]


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


def certify_columns(norm: str, tables: Sequence[Any], privacy: Privacy) -> Certificate:
    """A record has, in its class's place, a vector for each column: docs/proofs/naive-bayes.md.

    L1: sums over columns; two records are at most twice one apart. L2: squares add up over columns; in different
    classes vectors are at right angles, in one class masses and counts are at most ``sqrt(2)`` lengths apart.
    """
    norms = {id(table): column_norms(table) for table in {id(table): table for table in tables}.values()}
    columns = [norms[id(table)] for table in tables]  # many columns share a table
    if norm == "l1":
        return replace(certify_sum("l1", sum(c.sum for c in columns), -BITS, privacy), proof="naive-bayes")
    squares = sum(c.pair_square if privacy.neighbours == "replace" else c.square for c in columns)
    apart = (math.isqrt(squares) + 1) * rows_per_unit(privacy.unit)
    return Certificate("l2", apart, privacy.neighbours, "enforced", "naive-bayes", -BITS)
