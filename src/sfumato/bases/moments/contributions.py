"""What one record contributes to cosine moments: whole numbers, from additions and multiplications alone.

Value by value, so that a contribution depends on that record bit by bit and on nothing else; docs/proofs/moments.md,
Theorem 4, bounds what the recurrence and the rounding are off.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.moments.cosine import IndexSet

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Factors:
    """A way to write every moment as a product of two, so that sums over records are one matrix product.

    Moment i is the product of ``left`` at ``of_left[i]`` and ``right`` at ``of_right[i]``. Where both are the same,
    ``right`` is ``left``.
    """

    left: ChebyshevProducts
    right: ChebyshevProducts
    of_left: Indices
    of_right: Indices


@lru_cache(maxsize=4)
def factors_of(indices: IndexSet) -> Factors:
    """Halves of the columns for a full tensor, else halves of the columns that take part."""
    frequencies = indices.frequencies
    if indices.ways is None and indices.cross is None:
        mask = np.broadcast_to(np.arange(len(indices.shape)) < _balanced_cut(indices.shape), frequencies.shape)
    else:
        place = np.cumsum(frequencies > 0, axis=1)
        mask = place <= (place[:, -1:] + 1) // 2
    left, of_left = _unique(np.where(mask, frequencies, 0))
    right, of_right = _unique(np.where(mask, 0, frequencies))
    if indices.ways == 2:  # both are single columns: one matrix, half the work
        both, where = _unique(np.concatenate([left, right]))
        whole = ChebyshevProducts.of(both, indices)
        return Factors(whole, whole, where[: len(left)][of_left], where[len(left) :][of_right])
    return Factors(ChebyshevProducts.of(left, indices), ChebyshevProducts.of(right, indices), of_left, of_right)


def _balanced_cut(shape: tuple[int, ...]) -> int:
    sizes = [math.prod(shape[:cut]) + math.prod(shape[cut:]) for cut in range(1, len(shape) + 1)]
    return 1 + int(np.argmin(sizes))


def _unique(rows: Indices) -> tuple[Indices, Indices]:
    """Different rows, those in which fewer columns take part first, and which of them each row is."""
    _, first, places = np.unique(hashed(rows), return_index=True, return_inverse=True)
    order = np.argsort(np.count_nonzero(rows[first], axis=1), kind="stable")
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    found, where = rows[first[order]], back[places.reshape(-1)]
    assert np.array_equal(found[where], rows), "two frequencies have the same hash"  # what is certified is summed
    return found, where


def hashed(frequencies: Indices) -> NDArray[np.uint64]:
    """One number for each row; rows that differ have different ones (but for one chance in 10**7)."""
    with np.errstate(over="ignore"):
        mixed = np.arange(1, frequencies.shape[1] + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        word = frequencies.astype(np.uint64) * np.uint64(0xBF58476D1CE4E5B9) + mixed
        word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray((word ^ (word >> np.uint64(31))).sum(axis=1, dtype=np.uint64))


@dataclass(frozen=True, eq=False)
class ChebyshevProducts:
    """How to multiply rows of a table of Chebyshev polynomials: for each product the rows of its factors.

    ``rows[k]`` are the k-th factors of the products from ``starts[k]`` on; products with fewer factors come first.
    """

    count: int
    bits: int
    rows: tuple[Indices, ...]
    starts: tuple[int, ...]

    @classmethod
    def of(cls, frequencies: Indices, indices: IndexSet) -> ChebyshevProducts:
        """The products with these frequencies, which are sorted by their numbers of factors."""
        offsets = np.concatenate([[0], np.cumsum(indices.shape)[:-1]])
        factors = np.count_nonzero(frequencies, axis=1)
        rows, starts = [], []
        for k in range(int(factors.max(initial=0))):
            start = int(np.searchsorted(factors, k + 1))
            taking = frequencies[start:] > 0
            column = np.argmax(np.cumsum(taking, axis=1) == k + 1, axis=1)
            rows.append(offsets[column] + frequencies[start:][np.arange(len(column)), column])
            starts.append(start)
        return cls(len(frequencies), indices.bits, tuple(rows), tuple(starts))

    def rounded(self, table: Floats, room: Room | None = None, name: str = "") -> Floats:
        """``(count, m)``: products times ``2**bits``, rounded to whole numbers of at most ``2**bits``.

        With ``room`` they lie in its memory of that name.
        """
        room = room or Room()
        result = room.of(name, (self.count, table.shape[1]))
        result[: self.starts[0] if self.starts else None] = 2.0**self.bits
        for k, (rows, start) in enumerate(zip(self.rows, self.starts, strict=True)):
            if k == 0:
                large = np.multiply(table, 2.0**self.bits, out=room.of("large", table.shape))
                np.take(large, rows, axis=0, out=result[start:], mode="clip")
            else:
                factor = room.of("factor", (len(rows), table.shape[1]))
                result[start:] *= np.take(table, rows, axis=0, out=factor, mode="clip")
        return np.rint(result, out=result)


class Room:
    """Memory that is used again, block after block: fresh pages would take longer than what is worked out in them."""

    def __init__(self) -> None:
        self._held: dict[str, Floats] = {}

    def of(self, name: str, shape: tuple[int, ...]) -> Floats:
        """Numbers of this shape, with anything in them; what this name had before is overwritten."""
        size = math.prod(shape)
        if name not in self._held or self._held[name].size < size:
            self._held[name] = np.empty(size)
        return self._held[name][:size].reshape(shape)


def chebyshev_table(scaled: Floats, shape: Sequence[int], room: Room | None = None) -> Floats:
    """``(sum t_j, m)``: ``cos(r arccos x_j)`` of ``(d, m)`` columns by its recurrence, column after column.

    A missing value has zeros for ``r > 0``: it is thereby spread over its column, with the moments of an even angle.
    """
    table = (room or Room()).of("table", (sum(shape), scaled.shape[1]))
    start = 0
    for same, group in groupby(range(len(shape)), key=lambda j: shape[j]):
        columns = list(group)
        own = table[start : start + same * len(columns)].reshape(len(columns), same, -1)
        start += same * len(columns)
        own[:, 0] = 1.0
        if same > 1:
            own[:, 1] = scaled[columns[0] : columns[-1] + 1]
        for r in range(2, same):
            np.multiply(own[:, 1], own[:, r - 1], out=own[:, r])
            own[:, r] *= 2.0
            own[:, r] -= own[:, r - 2]
        if same > 3:  # the first two are exact enough to stay within the bounds by themselves
            np.clip(own, -1.0, 1.0, out=own)
    if np.isnan(scaled).any():
        np.nan_to_num(table, copy=False, nan=0.0)
    return table
