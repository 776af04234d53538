"""The integer shares that cells give to lattice points: public tables that are applied to private counts."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import sparse

from sfumato.bases.base import MAX_CELLS, Basis, LatticeBasis
from sfumato.bases.density.binning import MassLattice, contract, whole_shares
from sfumato.bases.density.kernel import GaussianKernel
from sfumato.bases.density.reconstruction import PolynomialReconstruction
from sfumato.core.box import Box
from sfumato.core.certificate import Certificate, certify_sum
from sfumato.core.neighbours import rows_per_unit
from sfumato.core.privacy import Privacy
from sfumato.core.quantize import truncate_records
from sfumato.core.whole import Integers, Wide, map_counts
from sfumato.errors import ParameterError

Shape = tuple[int, ...]

_CELL_BITS = {1: 15, 2: 10, 3: 7}  # along each axis
_SHARE_BITS = {1: 24, 2: 13, 3: 10}  # along each axis
RESPONSE_BITS = {1: 12, 2: 10, 3: 7}  # a record's response is read to this many bits of its range
_MOST_BALANCED, _LARGEST_FLOW = 512, 2.0**50  # lattice points with zero-sum noise, and how large that may be in all
_LARGEST_TABLE = 5 * 2**21  # numbers that are looked at for one axis's table
_PAGES = {"Binning": "binning", "SplitLattice": "split-lattice", "Bernstein": "lattice-l1"}


def shape_of_cells(domain: Box, groups: int) -> tuple[int, ...]:
    """The cells along each axis: as fine as fits, whatever the bandwidth will be."""
    bits = _CELL_BITS[domain.dimension]
    while groups * 2 ** (bits * domain.dimension) > MAX_CELLS and bits > 4:
        bits -= 1
    return (2**bits,) * domain.dimension


def check_cells(domain: Box, cells: tuple[int, ...], groups: int) -> None:
    """Refuse cells that records are not counted in; the first files had twice as many along each axis."""
    now = shape_of_cells(domain, groups)
    if cells not in (now, tuple(2 * size for size in now)):
        raise ParameterError(f"records are counted in {list(now)} cells, got cells={list(cells)!r}")


def share_bits(domain: Box) -> int:
    """One record's shares sum to at most two to this power, over all axes."""
    return _SHARE_BITS[domain.dimension] * domain.dimension


def check_table(basis: Basis, domain: Box, axis: int, cells: int) -> None:
    """Refuse a basis whose table is too large to make: a width far beyond the kernel's, a degree beyond use."""
    if isinstance(basis, MassLattice):
        across, places = 2 * basis.reach(domain, axis), cells  # twice: their places are worked out too
    else:
        assert isinstance(basis, LatticeBasis)
        across = basis.shape(domain)[axis]
        places = max(cells, 20 * across)  # where its largest sum is looked for
    if places * across > _LARGEST_TABLE:
        raise ParameterError(
            f"{basis!r} shares a record among too many points along column {domain.names[axis]!r}: lower its width, or "
            "its degree"
        )


@lru_cache(maxsize=24)
def axis_table(basis: Basis, domain: Box, kernel: GaussianKernel, axis: int, cells: int) -> Any:
    """``(cells, n)`` non-negative integers whose rows sum to at most ``2**bits``: what a cell gives each point.

    For lattices of masses the sum is exact. The Bernstein lattice takes kernel values, divided by the largest sum
    that a row has, and truncates them under the enforced budget.
    """
    bits = _SHARE_BITS[domain.dimension]
    check_table(basis, domain, axis, cells)
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


def largest_norm(basis: Basis, domain: Box, kernel: GaussianKernel, cells: tuple[int, ...]) -> float:
    """The largest L2 norm of any cell's shares, from above: norms of tensor products multiply.

    The cells are those that are counted in: coarser cells have other middles, which may lie nearer to a point.
    """
    squares = 1
    for axis, size in enumerate(cells):
        table = axis_table(basis, domain, kernel, axis, size)
        squares *= int((table.multiply(table)).sum(axis=1).max())
    return math.isqrt(squares) + 1.0


def pure_norm(domain: Box, size: int, privacy: Privacy) -> str:
    """In which norm masses are certified for pure privacy: by their flow where that makes a difference, and fits.

    Zero-sum noise has about ``1 - 5 / (4 size)`` of independent noise's deviation; what leads to it is larger.
    """
    assert privacy.epsilon is not None
    scale = 2.0 ** (share_bits(domain) + 1) * rows_per_unit(privacy.unit) / privacy.epsilon
    fits = size <= min(_MOST_BALANCED, scale) and size * scale <= _LARGEST_FLOW
    return "flow" if fits and privacy.neighbours == "replace" else "l1"


def certify_masses(
    norm: str, basis: Basis, domain: Box, kernel: GaussianKernel, cells: Shape, privacy: Privacy, bits: int = 0
) -> Certificate:
    """A record is one cell's shares in one group: non-negative integers that sum to at most ``2**share_bits``.

    L1: replacing moves the sum by at most twice that, adding by once; where records are replaced the flow is no more
    (zero-sum.md). L2: two non-negative vectors are at most ``sqrt(2)`` times the longer one apart. With ``bits``, a
    record is split in two in whole steps, 2**bits in all (docs/proofs/split-lattice.md, binning.md, lattice-l1.md,
    nadaraya-watson.md).
    """
    exponent, page = -share_bits(domain) - bits, "nadaraya-watson" if bits else _PAGES[type(basis).__name__]
    if norm == "l1" or (norm == "flow" and privacy.neighbours == "replace"):
        return replace(certify_sum("l1", 2**-exponent, exponent, privacy), norm=norm, proof=page)
    longest = 2**bits * largest_norm(basis, domain, kernel, cells)
    apart = longest * rows_per_unit(privacy.unit) * (math.sqrt(2) if privacy.neighbours == "replace" else 1)
    return Certificate("l2", math.ceil(apart) + 1, privacy.neighbours, "enforced", page, exponent)
