"""Public noise laws beside the core's: the noise of people's own devices, and how far any noise goes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from sfumato.checks import positive_integer, positive_number
from sfumato.core.calibration import NoiseLaw


def noise_variance(kind: str, size: int) -> float:
    """The variance of one of ``size`` coefficients' noise, in squares of the law's scale.

    A Gaussian's scale is its deviation. The norm of an L-infinity or L2 law is Gamma-distributed
    (docs/proofs/k-norm.md).
    """
    return {"laplace": 2.0, "gaussian": 1.0, "linf": (size + 1) * (size + 2) / 3, "l2": size + 1.0}[kind]


def noise_deviation(law: NoiseLaw | LocalLaw) -> float:
    """The standard deviation of the noise in one coefficient (for a K-norm law: in the root mean square)."""
    return law.deviation * math.sqrt(noise_variance(law.kind, law.size))


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
