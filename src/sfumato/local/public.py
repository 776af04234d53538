"""Public randomness: what each person is asked, known to everybody, the same on every device (docs/wire-format.md).

SplitMix64 of a seed and a person's number. Nothing private depends on it, and no guarantee rests on it being random;
the estimates do.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
Floats = NDArray[np.float64]

_GOLDEN = 0x9E3779B97F4A7C15
_MIX = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
_STREAM = 0xD1342543DE82EF95
TAIL = 20  # Laplace numbers, public or noise, are cut at so many times their scale: beyond lie two in 10**9


def public_words(seed: int, users: Words, stream: int = 0) -> Words:
    """One 64-bit word for each person; different streams are different words."""
    return _streams(seed, users, np.array([stream], dtype=np.uint64))[:, 0]


def _streams(seed: int, users: Words, streams: Words) -> Words:
    """``(m, s)`` words: those of each person in each stream."""
    start = np.uint64((seed + _GOLDEN) % 2**64)
    with np.errstate(over="ignore"):
        word: Words = (users * np.uint64(_GOLDEN))[:, None] + (streams * np.uint64(_STREAM) + start)
        word ^= word >> np.uint64(30)
        word *= np.uint64(_MIX[0])
        word ^= word >> np.uint64(27)
        word *= np.uint64(_MIX[1])
        word ^= word >> np.uint64(31)
    return word


def public_dither(words: Words, place: int) -> Floats:
    """Numbers in [0, 1) from 16 bits of the lower half of each word: ``place`` 0 or 1."""
    return ((words >> np.uint64(16 * place)) & np.uint64(0xFFFF)).astype(np.float64) * 2.0**-16


def public_below(words: Words, count: int) -> NDArray[np.int64]:
    """Whole numbers in ``[0, count)``, evenly up to one part in ``2**32 / count``: the word's upper half, scaled."""
    scaled = words >> np.uint64(32)
    scaled *= np.uint64(count)
    scaled >>= np.uint64(32)
    return scaled.view(np.int64)


def public_uniform(words: Words) -> Floats:
    """Numbers in (0, 1]: their logarithm is finite."""
    return ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


def public_laplace(words: Words) -> Floats:
    """Standard Laplace numbers, cut at ``TAIL``: the lowest bit is the sign."""
    sign = 1.0 - 2.0 * (words & np.uint64(1)).astype(np.float64)
    return np.asarray(sign * np.minimum(-np.log(public_uniform(words)), TAIL))


def public_normals(seed: int, users: Words, count: int) -> Floats:
    """``(m, count)`` standard normal numbers, by Box and Muller from two streams each."""
    # All streams at once: a call for each of them would take seconds a person.
    streams = np.arange(1, count + 1, 2, dtype=np.uint64) * np.uint64(2)
    length = np.sqrt(-2 * np.log(public_uniform(_streams(seed, users, streams))))
    turn = 2 * np.pi * public_uniform(_streams(seed, users, streams + np.uint64(1)))
    return np.stack([length * np.cos(turn), length * np.sin(turn)], axis=2).reshape(len(users), -1)[:, :count]
