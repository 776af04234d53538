"""Adding up what records contribute, whatever their number: in 64 bits, and before these are full, in more."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.core.whole import LARGEST_STEP, Sealed, Wide
from sfumato.errors import ParameterError

Integers = NDArray[np.int64]

MOST_ROWS = 2**24  # at a time: so many of the largest contributions add up to 2**62


class RunningTotal(Sealed):
    """Sums of integers to which each record adds at most ``largest`` in size; private, like what becomes of them.

    How often the 64 bits are emptied depends on the number of records, and so does time; the sums, and whether there
    is an error, do not.
    """

    __slots__ = ("_part", "_room", "_rows", "_saved")

    def __init__(self, shape: tuple[int, ...], largest: int) -> None:
        if not 1 <= largest <= LARGEST_STEP:
            raise ParameterError(f"budget must lie in [1, {LARGEST_STEP}], got budget={largest!r}: use a coarser grid")
        self._part: Integers = np.zeros(shape, dtype=np.int64)
        self._saved: Wide | None = None
        self._rows, self._room = 0, 2**62 // largest

    def part(self, rows: int) -> Integers:
        """Where to add what the next records contribute, at most ``MOST_ROWS`` of them."""
        if self._rows + rows > self._room:
            self._saved = self.whole()
            self._part[...], self._rows = 0, 0
        self._rows += rows
        return self._part

    def whole(self) -> Wide:
        """The sums so far."""
        part = Wide(self._part)
        return part if self._saved is None else self._saved + part

    def counts(self) -> Integers | Wide:
        """The same for ``map_counts``, which is quicker with 64 bits: as long as these were never full."""
        return self._part if self._saved is None else self.whole()

    def __repr__(self) -> str:
        return "<private sums>"
