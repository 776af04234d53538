"""Exact noise for people who know what they do: the documented exception to "no loose sensitivity".

These functions trust the sensitivity you state and keep no record. Everything else in sfumato certifies it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sfumato.checks import positive_number
from sfumato.core.calibration import calibrate
from sfumato.core.certificate import Certificate
from sfumato.core.mechanism import Private, publish
from sfumato.core.privacy import Privacy
from sfumato.errors import ParameterError


def laplace(values: ArrayLike, *, l1: float, epsilon: float) -> Any:
    """Add exact discrete Laplace noise: pure ``epsilon``-DP if neighbours move ``values`` by at most ``l1`` in L1.

    Whole-number arrays with a whole-number ``l1`` stay on the integers at no cost; other values are rounded to a
    fine power-of-two grid and the rounding is paid for. Values that are not finite numbers count as 0.

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
    if not (np.issubdtype(array.dtype, np.number) or array.dtype == np.bool_) or np.iscomplexobj(array):
        raise ParameterError(f"values must be real numbers, got dtype {array.dtype}")
    stated = positive_number(name, bound)
    integers = array.dtype.kind in "iub" and float(stated).is_integer()
    if integers:
        flat = np.clip(array, -(2**61), 2**61).astype(np.int64).reshape(-1)
    else:
        flat = np.where(np.isfinite(array), array, 0.0).astype(np.float64).reshape(-1)
    if not flat.size:
        return array.copy()
    certificate = Certificate(
        norm, int(stated) if integers else stated, privacy.neighbours, "stated", "rounding", 0 if integers else None
    )
    law, _ = calibrate(certificate, len(flat), privacy, kind)
    noisy = publish(Private(flat, certificate), law).reshape(array.shape)
    result = noisy.astype(np.int64) if integers else noisy
    return result if array.ndim else result[()]
