"""The integer shares that cells give to lattice points: public tables that are applied to private counts."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import sparse

from sfumato.bases.base import Basis, LatticeBasis
from sfumato.bases.kernel import GaussianKernel
from sfumato.bases.lattice import MassLattice, contract, whole_shares
from sfumato.bases.reconstruction import PolynomialReconstruction
from sfumato.core.box import Box
from sfumato.core.quantize import truncate_records
from sfumato.core.whole import Integers, Wide, map_counts
from sfumato.engines.cells import MAX_CELLS
from sfumato.errors import ParameterError

_CELL_BITS = {1: 15, 2: 10, 3: 7}  # along each axis
_SHARE_BITS = {1: 24, 2: 13, 3: 10}  # along each axis


def shape_of_cells(domain: Box, groups: int) -> tuple[int, ...]:
    """The cells along each axis: as fine as fits, whatever the bandwidth will be."""
    bits = _CELL_BITS[domain.dimension]
    while groups * 2 ** (bits * domain.dimension) > MAX_CELLS and bits > 4:
        bits -= 1
    return (2**bits,) * domain.dimension


def share_bits(domain: Box) -> int:
    """One record's shares sum to at most two to this power, over all axes."""
    return _SHARE_BITS[domain.dimension] * domain.dimension


@lru_cache(maxsize=24)
def axis_table(basis: Basis, domain: Box, kernel: GaussianKernel, axis: int, cells: int) -> Any:
    """``(cells, n)`` non-negative integers whose rows sum to at most ``2**bits``: what a cell gives each point.

    For lattices of masses the sum is exact. The Bernstein lattice takes kernel values, divided by the largest sum
    that a row has, and truncates them under the enforced budget.
    """
    bits = _SHARE_BITS[domain.dimension]
    centres = (np.arange(cells) + 0.5) / cells
    if isinstance(basis, MassLattice):
        shares = basis.axis_shares(domain, axis, centres)
        if not np.isfinite(shares.data).all():
            raise ParameterError(f"{basis!r} over {domain!r} is too extreme for floating-point numbers")
        return _within(whole_shares(shares, 2**bits), 2**bits)
    assert isinstance(basis, LatticeBasis)
    polynomial = PolynomialReconstruction(domain, kernel, basis)
    values = polynomial.axis_features(axis, centres) / polynomial.axis_sum(axis)
    return _within(sparse.csr_array(truncate_records(values, -bits, 2**bits, "l1")), 2**bits)


def _within(table: sparse.csr_array, budget: int) -> sparse.csr_array:
    """What the certificate says of the table, checked on the table itself: it is public."""
    if table.data.min(initial=0) < 0 or table.sum(axis=1).max() > budget:
        raise ParameterError("a row of shares exceeds its budget: choose a less extreme basis or box")
    return table


def apply_shares(basis: Basis, domain: Box, kernel: GaussianKernel, counts: Integers | Wide) -> Wide:
    """The exact integer coefficients of a tensor of counts, whatever their size."""
    tables = [axis_table(basis, domain, kernel, i, size).T for i, size in enumerate(counts.shape)]
    return map_counts(lambda tensor: contract(tables, tensor).ravel(), counts, 2 ** share_bits(domain))


def largest_norm(basis: Basis, domain: Box, kernel: GaussianKernel, groups: int) -> float:
    """The largest L2 norm of any cell's shares, from above: norms of tensor products multiply.

    The cells are those that so many groups have: coarser cells have other middles, which may lie nearer to a point.
    """
    squares = 1
    for axis, size in enumerate(shape_of_cells(domain, groups)):
        table = axis_table(basis, domain, kernel, axis, size)
        squares *= int((table.multiply(table)).sum(axis=1).max())
    return math.isqrt(squares) + 1.0
