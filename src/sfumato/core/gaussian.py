"""The exact privacy curve of the Gaussian mechanism (Balle & Wang 2018), rounded to the safe side.

A Gaussian mechanism of sensitivity D and deviation s is described by ``mu = D / s`` alone:
``delta(eps) = Phi(a) - e^eps Phi(b)`` with ``a = mu/2 - eps/mu`` and ``b = -mu/2 - eps/mu``.
Written with Mills' ratio ``m(x) = (1 - Phi(x)) / phi(x)`` nothing overflows, because ``phi(a) = e^eps phi(b)``.
docs/proofs/calibration.md has the derivation and the error budget.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

from sfumato.errors import ParameterError

# Every special function below has a relative error under 1e-13 (tests compare with 60 digits); this covers it.
_SLACK = 1e-12
_ROUNDOFF = 2.0**-50
_SMALLEST = sys.float_info.min


def _mills(x: float) -> float:
    """Mills' ratio ``(1 - Phi(x)) / phi(x)`` for ``x >= 0``."""
    if x < 10:
        return math.exp(x * x / 2) * math.erfc(x / math.sqrt(2)) * math.sqrt(math.pi / 2)
    tail = x  # Laplace's continued fraction x + 1/(x + 2/(x + ...)) converges fast this far out
    for k in range(40, 0, -1):
        tail = x + k / tail
    return 1 / tail


def gaussian_delta(mu: float, epsilon: float) -> float:
    """An upper bound, to about 1e-12 of ``Phi(a)``, on the delta at ``epsilon`` of a ``mu``-Gaussian mechanism."""
    a = mu / 2 - epsilon / mu
    b = -mu / 2 - epsilon / mu
    if a < -1e8:
        return _SMALLEST
    density = math.exp(-a * a / 2) / math.sqrt(2 * math.pi)
    first = density * _mills(-a) if a < 0 else math.erfc(-a / math.sqrt(2)) / 2
    # a is a difference of two numbers: its rounding error moves log Phi(a) by at most (1 + |a|) times as much.
    slack = _SLACK + _ROUNDOFF * (1 + abs(a)) * (mu / 2 + epsilon / mu)
    return min(1.0, max(0.0, first - density * _mills(-b)) + slack * first + _SMALLEST)


def chi_delta(ratio: float, epsilon: float, dimension: int) -> float:
    """An upper bound on ``E[(1 - exp(epsilon - loss))_+]`` for ``loss = ratio^2 / 2 + ratio * chi_dimension``.

    The dimension is even, so chi has a closed tail; its hazard rate increases, so beyond the point where the loss
    reaches epsilon the tail falls at least exponentially (docs/proofs/objective.md).
    """
    start = epsilon / ratio - ratio / 2
    if start <= 0:
        return 1.0
    half, blocks = max(start * start / 2, _SMALLEST), dimension // 2
    logs = [j * math.log(half) - math.lgamma(j + 1) for j in range(blocks)]  # of the terms of the tail's sum
    terms = [math.exp(log - max(logs)) for log in logs]
    hazard = start * terms[-1] / sum(terms)
    tail = math.exp(min(0.0, max(logs) + math.log(sum(terms)) - half))
    slack = _SLACK + 8 * _ROUNDOFF * (1 + half + blocks * (1 + abs(math.log(half)) + math.log(blocks)))
    return min(1.0, tail * ratio / (ratio + hazard) * (1 + slack) + _SMALLEST)


def zcdp_delta(rho: float, epsilon: float) -> float:
    """An upper bound on the delta at ``epsilon`` of any ``rho``-zCDP mechanism (Canonne, Kamath, Steinke 2020)."""

    def log_delta(alpha: float) -> float:
        exact = (alpha - 1) * (alpha * rho - epsilon) + (alpha - 1) * math.log(alpha - 1) - alpha * math.log(alpha)
        return exact + _ROUNDOFF * alpha * (alpha * rho + epsilon + 1 + abs(math.log(alpha - 1)))

    # The bound holds for every alpha > 1, so a coarse search costs accuracy, never soundness.
    grid = [1 + 10 ** (e / 50) for e in range(-250, 400)]
    best = min(range(len(grid)), key=lambda i: log_delta(grid[i]))
    low, high = grid[max(0, best - 1)], grid[min(len(grid) - 1, best + 1)]
    for _ in range(60):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if log_delta(left) < log_delta(right) else (left, high)
    return min(1.0, math.exp(min(0.0, log_delta((low + high) / 2))) * (1 + _SLACK) + _SMALLEST)


def smallest(satisfies: Callable[[float], bool], start: float) -> float:
    """The smallest positive number, to 1e-13 and from above, at which an increasing condition starts to hold."""
    high = start
    while not satisfies(high):
        high *= 2
        if high > 1e150:
            raise ParameterError("the privacy parameters are too extreme: no finite noise is found")
    low = high / 2
    while low > 1e-300 and satisfies(low):
        low, high = low / 2, low
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if satisfies(middle) else (middle, high)
    return high


def noise_multiplier(epsilon: float, delta: float) -> float:
    """``sigma_AG``: the least deviation per unit of sensitivity that is (epsilon, delta)-DP, from above."""
    return smallest(lambda sigma: gaussian_delta(1 / sigma, epsilon) <= delta, start=1.0)
