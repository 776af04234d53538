"""What a fold adds up, whatever the number of records: in 64 bits, and before these are full, in more."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from sfumato.core.whole import LARGEST_STEP, Sealed, Wide
from sfumato.errors import ParameterError

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

LARGEST = 2**40  # what one record may add to a number that steers a solver; on the way to the door, LARGEST_STEP
MOST_ROWS = 2**22  # at a time: so many of the largest contributions add up to 2**62


class Totals(Sealed):
    """Sums of whole numbers to which each of ``rows`` records adds at most ``largest`` in size: private numbers.

    How often the 64 bits are emptied depends on the number of records, and so does time; the sums, and whether there
    is an error, do not. Adding two totals adds their sums and their rows: in whichever order, the same bits.
    """

    __slots__ = ("_largest", "_part", "_saved", "_since", "rows")

    def __init__(self, size: int, largest: int) -> None:
        if not 1 <= largest <= LARGEST:
            raise ParameterError(f"largest must lie in [1, {LARGEST}], got largest={largest!r}: use a coarser grid")
        self._part: Integers = np.zeros(size, dtype=np.int64)
        self._saved: Wide | None = None
        self._largest, self._since = largest, 0
        self.rows = 0

    def part(self, rows: int) -> Integers:
        """Where to add what the next records contribute, at most ``MOST_ROWS`` of them."""
        if self._since + rows > 2**62 // self._largest:
            self._saved = self._whole()
            self._part[...], self._since = 0, 0
        self._since += rows
        self.rows += rows
        return self._part

    def _whole(self) -> Wide:
        part = Wide(self._part)
        return part if self._saved is None else self._saved + part

    def __add__(self, other: Totals) -> Totals:
        found = Totals(0, max(self._largest, other._largest))
        found._saved, found._part = self._whole() + other._whole(), np.zeros_like(self._part)
        found.rows = self.rows + other.rows
        return found

    def packed(self) -> bytes:
        """The sums as a worker sends them; who gets them makes totals of them again."""
        return self._whole().packed()

    @classmethod
    def received(cls, limbs: bytes, rows: int, size: int, largest: int) -> Totals:
        """Totals that a worker has packed."""
        found = cls(size, largest)
        found._saved, found.rows = Wide.unpacked(limbs, size), rows
        return found

    def wide(self) -> Wide:
        """The sums, for the target on its way to a ``Private`` vector, and for nobody else."""
        assert self._largest <= LARGEST_STEP, "sums of numbers as large as these do not pass the door"  # public
        return self._whole()

    def open(self, shape: tuple[int, ...]) -> Integers | Wide:
        """The same for ``map_counts``, which is quicker with 64 bits: as long as these were never full."""
        if self._saved is None:
            return _closed(self._part.reshape(shape))
        return self.wide()[np.arange(self._part.size).reshape(shape)]

    def counts(self, shape: tuple[int, ...]) -> Integers:
        """The same where no record adds more than one: no number of records fills 64 bits with them."""
        assert self._largest == 1, "only counts are sure to fit 64 bits"  # public
        return _closed((self._part if self._saved is None else self._whole().integers()).reshape(shape))

    def doubles(self) -> Floats:
        """The nearest doubles, for a solver on its way there."""
        return self._part.astype(np.float64) if self._saved is None else self._whole().doubles()

    def split(self, sizes: Sequence[int], largest: Sequence[int]) -> list[Totals]:
        """One after the other, the sums of passes that were folded together."""
        found = [Totals(0, bound) for bound in largest]
        for own, (start, end) in zip(found, pairwise(accumulate(sizes, initial=0)), strict=True):
            own._part, own.rows, own._since = self._part[start:end].copy(), self.rows, self._since
            own._saved = None if self._saved is None else self._saved[start:end]
        return found

    def __repr__(self) -> str:
        return "<private sums>"


def _closed(numbers: Integers) -> Integers:
    """The same numbers, into which nobody can write."""
    seen = numbers.view()
    seen.setflags(write=False)
    return seen
