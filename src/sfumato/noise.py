"""Exact noise for people who know what they do: the documented exception to "no loose sensitivity".

These functions trust the sensitivity you state and keep no record. Everything else in sfumato certifies it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.checks import positive_number
from sfumato.core.certificate import Certificate
from sfumato.core.mechanism import Private, publish
from sfumato.core.privacy import Privacy
from sfumato.core.quantize import clamp_integers
from sfumato.errors import ParameterTypeError


def laplace(values: ArrayLike, *, l1: float, epsilon: float) -> Any:
    """Add exact discrete Laplace noise: pure ``epsilon``-DP if neighbours move ``values`` by at most ``l1`` in L1.

    Whole-number arrays stay on the integers at no cost; other values are rounded to a fine power-of-two grid and
    the rounding is paid for. Values that are not finite numbers count as 0.

    >>> laplace([10, 20], l1=1, epsilon=1e6).tolist()
    [10, 20]
    """
    return _add(values, "l1", l1, Privacy(epsilon=epsilon), "laplace", "l1")


def gaussian(
    values: ArrayLike, *, l2: float, epsilon: float | None = None, delta: float = 0.0, rho: float | None = None
) -> Any:
    """Add exact discrete Gaussian noise: (epsilon, delta)-DP or rho-zCDP if neighbours differ by at most ``l2`` in L2.

    The deviation is that of the analytic Gaussian mechanism, corrected for the discrete law.

    >>> gaussian(np.zeros(3), l2=1.0, rho=0.5).shape
    (3,)
    """
    return _add(values, "l2", l2, Privacy(epsilon=epsilon, delta=delta, rho=rho), "gaussian", "l2")


def _add(values: ArrayLike, norm: str, bound: float, privacy: Privacy, kind: str, name: str) -> Any:
    array = np.asarray(values)
    if array.dtype.kind not in "iufb" or array.dtype.itemsize > 8:
        raise ParameterTypeError(f"values must be real numbers of at most 64 bits, got dtype {array.dtype}")
    stated = positive_number(name, bound)
    if not array.size:
        return array.copy()
    integers = array.dtype.kind in "iub"
    flat: NDArray[Any]
    if integers:
        # Whole vectors differ by a whole L1 norm, so the bound may be rounded down (but not to nothing).
        certified = max(1, math.floor(stated)) if norm == "l1" else stated
        certificate = Certificate(norm, certified, privacy.neighbours, "stated", "rounding", exponent=0)
        flat = clamp_integers(array).reshape(-1)
    else:
        flat = np.where(np.isfinite(array), array, 0.0).astype(np.float64).reshape(-1)
        certificate = Certificate(norm, stated, privacy.neighbours, "stated", "rounding")
    noisy = publish(Private(flat, certificate), privacy, kind)[0].reshape(array.shape)
    result = noisy.astype(np.int64) if integers else noisy
    return result if array.ndim else result[()]
