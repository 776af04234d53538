"""64-bit words, stirred: a public one-to-one map after which neighbouring words have nothing in common."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]

GOLDEN = 0x9E3779B97F4A7C15
_MIX = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


def stirred(words: Words) -> Words:
    """The end of SplitMix64. Nobody's privacy rests on it.

    >>> stirred(np.array([GOLDEN], dtype=np.uint64)).tolist()
    [16294208416658607535]
    """
    with np.errstate(over="ignore"):
        word = words ^ (words >> np.uint64(30))
        word *= np.uint64(_MIX[0])
        word ^= word >> np.uint64(27)
        word *= np.uint64(_MIX[1])
        word ^= word >> np.uint64(31)
    return word
