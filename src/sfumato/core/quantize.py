"""Fixed-point numbers: private values become integers before any noise is drawn.

Two ways, both proved in docs/proofs/rounding.md. Records that are summed are truncated toward zero under
an enforced budget, so the sum's sensitivity is an exact integer and any engine gets the same bits. Vectors
that are not sums are rounded as a whole, and the calibration pays for it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

# Clamping an integer vector moves neighbours no further apart, and leaves room to add noise in 64 bits.
CLAMP = 2**61
# Keeps the products of the scaling step inside 64 bits.
LARGEST_BUDGET = 2**26


def round_vector(values: Floats, exponent: int) -> Integers:
    """Round to multiples of ``2**exponent``; infinities clamp, what is not a number counts as 0."""
    with np.errstate(all="ignore"):  # a warning that depends on values would be an output
        steps = np.rint(np.asarray(values, dtype=np.float64) * 2.0**-exponent)  # a power of two: exact
    steps = np.where(np.isnan(steps), 0.0, steps)
    return np.clip(steps, -float(CLAMP), float(CLAMP)).astype(np.int64)


def clamp_integers(values: NDArray[Any], limit: int = CLAMP) -> Integers:
    """Whole numbers of any width as 64-bit integers within the limit."""
    if values.dtype.kind == "u":  # the largest would turn negative
        values = np.minimum(values.astype(np.uint64), np.uint64(limit))
    return np.clip(values.astype(np.int64), -limit, limit)


def exact_doubles(values: Integers) -> Floats:
    """Whole numbers as doubles, clamped to 2**53 in size: the conversion would round larger ones."""
    return clamp_integers(values, 2**53).astype(np.float64)


def truncate_records(features: Floats, exponent: int, budget: int, norm: str) -> Integers:
    """Turn each row of ``(n, m)`` features into integers of norm at most ``budget``, reading that row alone.

    Values are truncated toward zero; a row whose ``"l1"`` or ``"l2"`` norm still exceeds the budget is
    scaled down, again toward zero; a row with anything that is not a finite number contributes nothing.

    Formal guarantee: for every input, ``sum_j |q_j| <= budget`` (L1) or ``sum_j q_j^2 <= budget^2`` (L2).
    """
    if not 1 <= budget <= LARGEST_BUDGET:
        raise ParameterError(f"budget must lie in [1, {LARGEST_BUDGET}], got budget={budget!r}")
    if features.shape[1] * budget**2 >= 2**62:
        raise ParameterError(f"budget={budget!r} is too fine for {features.shape[1]} features: their squares overflow")
    features = np.asarray(features, dtype=np.float64)
    usable = np.isfinite(features).all(axis=1, keepdims=True)
    with np.errstate(all="ignore"):
        steps = np.trunc(np.where(usable, features, 0.0) * 2.0**-exponent)
    # No coordinate may exceed the budget by itself; this also keeps the sums below exact.
    quantised = np.clip(steps, -budget, budget).astype(np.int64)
    sizes = np.abs(quantised)
    if norm == "l1":
        norms = sizes.sum(axis=1, keepdims=True)
    elif norm == "l2":
        norms = _ceil_root((sizes * sizes).sum(axis=1, keepdims=True))
    else:
        raise ParameterError(f"norm must be 'l1' or 'l2', got norm={norm!r}")
    scaled: Integers = sizes * budget // np.maximum(norms, budget)  # floor: at most budget / norm of each size
    return np.where(quantised < 0, -scaled, scaled)


def _ceil_root(squares: Integers) -> Integers:
    """The least integers whose squares are at least ``squares``, corrected after the floating-point root."""
    root = np.sqrt(squares.astype(np.float64)).astype(np.int64)
    root += root * root < squares
    root += root * root < squares
    return root
