"""Public randomness: what each person is asked, known to everybody, the same on every device (docs/wire-format.md).

SplitMix64 of a seed and a person's number. Nothing private depends on it, and no guarantee rests on it being random;
the estimates do.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.bits import GOLDEN, Words, stirred

Floats = NDArray[np.float64]

_STREAM = 0xD1342543DE82EF95
_CIRCLE = 256  # the first stream of the words that put a circle's places in order
TAIL = 20  # Laplace numbers, public or noise, are cut at so many times their scale: beyond lie two in 10**9


def public_words(seed: int, users: Words, stream: int = 0) -> Words:
    """One 64-bit word for each person; different streams are different words."""
    return _streams(seed, users, np.array([stream], dtype=np.uint64))[:, 0]


def _streams(seed: int, users: Words, streams: Words) -> Words:
    """``(m, s)`` words: those of each person in each stream, of which there are ``(s,)`` for all or ``(m, s)``."""
    start = np.uint64((seed + GOLDEN) % 2**64)
    with np.errstate(over="ignore"):
        return stirred((users * np.uint64(GOLDEN))[:, None] + (streams * np.uint64(_STREAM) + start))


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
    pairs: Words = np.arange((count + 1) // 2, dtype=np.uint64)
    return _pairs_of_normals(seed, users, pairs)[:, :count]


def some_normals(seed: int, users: Words, starts: NDArray[np.int64], count: int) -> Floats:
    """``(m, count)``: numbers ``starts`` and on of each person's ``public_normals``, the same bits, and no others."""
    pairs = np.add.outer(starts // 2, np.arange(count // 2 + 1)).astype(np.uint64)
    found = _pairs_of_normals(seed, users, pairs)
    return np.ascontiguousarray(np.where((starts % 2 == 1)[:, None], found[:, 1 : count + 1], found[:, :count]))


def _pairs_of_normals(seed: int, users: Words, pairs: Words) -> Floats:
    """Numbers 2 i and 2 i + 1 of each person, for some i that are the same for all, ``(s,)``, or not, ``(m, s)``."""
    streams = pairs * np.uint64(4) + np.uint64(2)
    length = np.sqrt(-2 * np.log(public_uniform(_streams(seed, users, streams))))
    turn = 2 * np.pi * public_uniform(_streams(seed, users, streams + np.uint64(1)))
    return np.stack([length * np.cos(turn), length * np.sin(turn)], axis=2).reshape(len(users), -1)


def public_circles(seed: int, users: Words, size: int, kept: int) -> NDArray[np.int16]:
    """``(size, m)``: for each person all of ``size`` places, the first ``kept`` of them drawn evenly.

    The beginning of Fisher and Yates' shuffle: for i = 0, 1, ... place i changes with an even choice of it and those
    behind it. What is behind the first ``kept`` is every other place, in no special order.
    """
    order = np.repeat(np.arange(size, dtype=np.int16)[:, None], len(users), axis=1)
    people, flat = np.arange(len(users)), order.reshape(-1)
    for i in range(kept):
        other = public_below(public_words(seed, users, _CIRCLE + i), size - i)
        other += i
        other *= len(users)
        other += people
        mine = order[i].copy()
        order[i] = flat[other]
        flat[other] = mine
    return order
