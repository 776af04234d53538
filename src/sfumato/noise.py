"""Exact noise for people who know what they do: the documented exception to "no loose sensitivity".

These functions trust the sensitivity you state and keep no record. Everything else in sfumato certifies it.

What is given is read value by value (``sfumato.values``), and no value raises or changes the type, the shape or the
noise of the result: those follow from the shape of what is given and from ``integer`` alone. The sensitivity that you
state must hold for the numbers *as they are read*.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.checks import positive_number, true_or_false
from sfumato.core.certificate import Certificate
from sfumato.core.mechanism import Private, publish
from sfumato.core.privacy import Privacy
from sfumato.core.quantize import CLAMP, clamp_integers, round_vector
from sfumato.values import as_whole, doubles, readable


def laplace(values: Any, *, l1: float, epsilon: float, integer: bool = False) -> Any:
    """Add exact discrete Laplace noise: pure ``epsilon``-DP if neighbours move ``values`` by at most ``l1`` in L1.

    Parameters
    ----------
    values
        One number; a list or another sequence of numbers; an array or a series of any shape. Each is read as the
        nearest double. What is no finite number (None, text, an infinity, a list inside a list) counts as 0.
    l1
        How far neighbours move the numbers that are read, in L1. Stated by you, and trusted.
    integer
        Your word that these are whole numbers: they stay on the integers, at no cost for rounding, and the result is
        of whole numbers. Others are rounded to the nearest one (ties to even) and those beyond 2**61 are clipped, and
        ``l1`` must hold after that: rounding can move neighbours that are .1 apart to a distance of 1. By default
        they are real numbers, which are rounded to a fine power-of-two grid, and the rounding is paid for.

    >>> laplace([10, 20], l1=1, epsilon=1e6, integer=True).tolist()
    [10, 20]
    """
    return _add(values, "l1", l1, Privacy(epsilon=epsilon), "laplace", integer)


def gaussian(
    values: Any,
    *,
    l2: float,
    epsilon: float | None = None,
    delta: float = 0.0,
    rho: float | None = None,
    integer: bool = False,
) -> Any:
    """Add exact discrete Gaussian noise: (epsilon, delta)-DP or rho-zCDP if neighbours differ by at most ``l2`` in L2.

    The deviation is that of the analytic Gaussian mechanism, corrected for the discrete law. ``values`` and ``integer``
    are those of ``laplace``.

    >>> gaussian(np.zeros(3), l2=1.0, rho=0.5).shape
    (3,)
    """
    return _add(values, "l2", l2, Privacy(epsilon=epsilon, delta=delta, rho=rho), "gaussian", integer)


def _add(values: Any, norm: str, bound: float, privacy: Privacy, kind: str, integer: bool) -> Any:
    stated, whole = positive_number(norm, bound), true_or_false("integer", integer)
    numbers: NDArray[Any] = _whole(values) if whole else _finite(doubles(values))
    if not numbers.size:
        return numbers
    if whole:
        # Whole vectors differ by a whole L1 norm, so the bound may be rounded down (but not to nothing).
        certified = max(1, math.floor(stated)) if norm == "l1" else stated
        certificate = Certificate(norm, certified, privacy.neighbours, "stated", "rounding", exponent=0)
    else:
        certificate = Certificate(norm, stated, privacy.neighbours, "stated", "rounding")
    noisy = publish(Private(numbers.reshape(-1), certificate), privacy, kind)[0].reshape(numbers.shape)
    return (noisy.astype(np.int64) if whole else noisy)[()]


def _finite(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.isfinite(numbers), numbers, 0.0)


def _whole(values: Any) -> NDArray[np.int64]:
    array = readable(values)
    if array.dtype.kind in "iub":
        return clamp_integers(array)
    if array.dtype.kind == "f":
        return round_vector(_finite(doubles(array)), 0)
    return np.fromiter((as_whole(value, CLAMP) for value in array.flat), np.int64, array.size).reshape(array.shape)
