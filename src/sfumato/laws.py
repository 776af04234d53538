"""Public noise laws beside the core's: the noise of people's own devices, and how far any noise goes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.checks import positive_integer, positive_number
from sfumato.core.calibration import NoiseLaw

Floats = NDArray[np.float64]

INDEPENDENT = ("laplace", "gaussian")  # the laws whose coefficients are independent of each other

_FREQUENCIES, _PERIOD = 512, 60.0  # of a law that is read from its Fourier transform; the period in deviations
_RAREST = 1e-4  # what is rarer is bounded, not computed


def noise_variance(kind: str, size: int) -> float:
    """The variance of one of ``size`` coefficients' noise, in squares of the law's scale.

    A Gaussian's scale is its deviation. The norm of an L-infinity or L2 law is Gamma-distributed
    (docs/proofs/k-norm.md); docs/proofs/zero-sum.md has the fifth.
    """
    return {
        "laplace": 2.0,
        "gaussian": 1.0,
        "linf": (size + 1) * (size + 2) / 3,
        "l2": size + 1.0,
        "zero-sum": size / (size + 1) * (2 * size + 1) / (size + 2),
    }[kind]


def noise_deviation(law: NoiseLaw | LocalLaw) -> float:
    """The standard deviation of the noise in one coefficient (for K-norm laws and blocks: in the root mean square)."""
    if isinstance(law, NoiseLaw) and law.kind == "blocks":
        return math.sqrt(math.fsum(size * one**2 for size, one in block_deviations(law)) / law.size)
    return law.deviation * math.sqrt(noise_variance(law.kind, law.size))


def block_deviations(law: NoiseLaw) -> list[tuple[int, float]]:
    """For each block of a law in blocks its size, and the deviation of the noise in one of its coefficients."""
    return [(size, law.deviation * math.sqrt(noise_variance("linf", size))) for size in law.certificate.blocks]


def sum_deviation(law: NoiseLaw, count: int) -> float:
    """The standard deviation of the sum of the noise in ``count`` of the coefficients.

    Zero-sum noise in all of them is that in what was not counted, with the other sign.
    """
    alike = count * (law.size + 1 - count) / law.size if law.kind == "zero-sum" else count
    return noise_deviation(law) * math.sqrt(alike)


@dataclass(frozen=True)
class LocalLaw:
    """Each of ``size`` estimates is a mean of many independent, randomised reports: normal, of at most this deviation.

    It covers the devices' randomness and which person was asked what.
    """

    randomizer: str
    size: int
    deviation: float

    kind: ClassVar[str] = "gaussian"
    step: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        positive_integer("size", self.size)
        positive_number("deviation", self.deviation)


# --- sums of noise ------------------------------------------------------------------------------------------------


def sum_quantile(law: NoiseLaw, sizes: Floats, times: Floats, miss: float) -> float:
    """What a weighted sum of a law's coefficients exceeds with probability ``miss`` at most, in its own units.

    Parameters
    ----------
    law
        Laplace or Gaussian: its coefficients are independent.
    sizes, times
        The different weights, at most one and without their signs (the noise has none), and how many coefficients have
        each.
    miss
        On one side.

    docs/proofs/statistics.md, Theorem 12, says what is exact about it.
    """
    there = (sizes > 0) & (times > 0)
    sizes, times = sizes[there], times[there]
    if not sizes.size:
        return 0.0
    if law.kind == "gaussian":
        return law.deviation * math.sqrt(times @ sizes**2) * NormalDist().inv_cdf(1 - miss) + law.step
    scale = float(law.scale)
    bound = _rare_sum(scale, sizes, times, miss)
    return law.step * (bound if miss < _RAREST else min(bound, 1 + _smoothed_quantile(scale, sizes, times, miss)))


def _rare_sum(scale: float, sizes: Floats, times: Floats, miss: float) -> float:
    """Chernoff's bound for Laplace noise: any rate below ``1 / largest`` gives one, so the best of many is one."""
    rates = np.linspace(0, 1, 514)[1:-1] / (scale * sizes.max())
    logs = -np.log1p(-((rates[:, None] * scale * sizes) ** 2)) @ times
    return float(np.min((logs - math.log(miss)) / rates))


def _smoothed_quantile(scale: float, sizes: Floats, times: Floats, miss: float) -> float:
    """The quantile of a sum of discrete Laplace noise and a triangle of half-width 1, by Fourier inversion.

    The triangle makes the law of steps continuous; without it the sum exceeds a step more at most as often.
    """
    variance = 2 * math.exp(-1 / scale) / math.expm1(-1 / scale) ** 2
    deviation = math.sqrt(variance * float(times @ sizes**2) + 1 / 6)
    places = np.arange(_FREQUENCIES) + 0.5
    angles = places * (2 * math.pi / (_PERIOD * deviation))
    # The transform of discrete Laplace noise is 1 / (1 + variance (1 - cos angle)).
    logs = np.log1p(2 * variance * np.sin(angles[:, None] * sizes / 2) ** 2) @ times
    heights = np.exp(-logs) * np.sinc(angles / (2 * math.pi)) ** 2 / places / math.pi
    low, high, place = 0.0, _PERIOD / 2 * deviation, NormalDist(0.0, deviation).inv_cdf(1 - miss)
    for _ in range(60):  # Newton's steps, which bisection keeps between two places
        beyond = 0.5 - float(heights @ np.sin(angles * place)) - miss
        if abs(beyond) < 1e-7:
            break
        low, high = (place, high) if beyond > 0 else (low, place)
        place += beyond / max(float((heights * angles) @ np.cos(angles * place)), 1e-300)
        place = place if low < place < high else (low + high) / 2
    return place
