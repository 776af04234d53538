"""Private whole numbers: sealed, and exact beyond 64 bits, so that no number of records is too many.

How many records there are may be private, and then neither an error nor a sum that wraps around may depend on it.
``2**62`` records of up to ``2**38`` steps each add up to less than ``2**101``: two limbs hold that, and each of them
is a whole double, so the number becomes a double by one correctly rounded addition (docs/proofs/rounding.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PrivateDataError

Integers = NDArray[np.int64]

_BITS = 48  # of the lower limb
_DIGIT = 8  # bits that a linear map is applied to at a time; divides _BITS
LARGEST_STEP = 2**38  # what one record may add to a number


class Sealed:
    """Something that holds private numbers: it cannot be copied or pickled."""

    __slots__ = ()

    def _refuse(self, *_: Any) -> NoReturn:
        raise PrivateDataError("private numbers cannot be pickled or copied; release them with noise first")

    __reduce_ex__ = __reduce__ = __getstate__ = __copy__ = __deepcopy__ = _refuse


class Wide(Sealed):
    """An array of whole numbers ``high * 2**48 + low``, with ``0 <= low < 2**48``; of 64-bit ones, ``Wide(numbers)``.

    Formal guarantee: limbs are a function of the numbers, however these were added up; so is all that leaves here.
    """

    __slots__ = ("_high", "_low")
    dtype = np.dtype(np.int64)  # of the limbs

    def __init__(self, low: Integers, high: Integers | int = 0) -> None:
        if low.dtype != self.dtype:
            raise PrivateDataError("private whole numbers must be int64")
        self._high: Integers = high + (low >> _BITS)  # carry: shifts and masks round down, also below zero
        self._low: Integers = low & (2**_BITS - 1)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self._low.shape

    def __repr__(self) -> str:
        return "<private numbers>"

    def __getitem__(self, places: Any) -> Wide:
        return Wide(self._low[places], self._high[places])

    def __add__(self, other: Wide) -> Wide:
        return Wide(self._low + other._low, self._high + other._high)

    @staticmethod
    def joined(parts: Sequence[Wide]) -> Wide:
        """One vector after the other."""
        return Wide(np.concatenate([p._low for p in parts]), np.concatenate([p._high for p in parts]))

    def packed(self) -> bytes:
        """Both limbs, for a worker to send to whoever adds them up: private numbers, and no longer sealed."""
        return self._low.tobytes() + (self._high.tobytes() if self._high.any() else b"")

    @staticmethod
    def unpacked(limbs: bytes, size: int) -> Wide:
        """The vector of so many numbers that was packed."""
        both = np.frombuffer(limbs, dtype=np.int64)
        return Wide(both[:size], both[size:] if len(both) > size else 0)

    def integers(self) -> Integers:
        """The same in 64 bits, for numbers that are known to fit."""
        return (self._high << _BITS) + self._low

    def doubles(self) -> NDArray[np.float64]:
        """The nearest doubles: both limbs are exact, and one addition is rounded."""
        doubles = self._high.astype(np.float64)
        doubles *= 2.0**_BITS
        doubles += self._low
        return doubles


def map_counts(linear: Callable[[Integers], Integers], counts: Integers | Wide, gain: int) -> Wide:
    """What a public linear map with whole coefficients makes of numbers that are not negative, exactly.

    No sum that it forms may exceed ``gain`` times the sum of the numbers. Where that fits 64 bits the map is applied
    once, else digit by digit: the same numbers, in more time.
    """
    # Public sizes, and checked whatever the counts are: a digit of every number at once must fit 64 bits.
    assert math.prod(counts.shape) * gain < 2 ** (62 - _DIGIT), "this map could wrap around 64 bits"
    plain = counts._low if isinstance(counts, Wide) and not counts._high.any() else counts
    if isinstance(plain, np.ndarray) and plain.sum(dtype=np.float64) * gain < 2**61:
        return Wide(linear(plain))
    wide = counts if isinstance(counts, Wide) else Wide(counts)
    total = Wide(linear(wide._high >> _BITS))  # at most 32: below 2**101 the upper limb has 53 bits
    for limb in (wide._high, wide._low):
        for place in range(_BITS - _DIGIT, -1, -_DIGIT):
            total = Wide(total._low << _DIGIT, total._high << _DIGIT) + Wide(linear(limb >> place & 2**_DIGIT - 1))
    return total
