"""A grant that several noisy sums of the same records share alike, each of which may depend on those before it."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from sfumato.checks import as_written
from sfumato.core.gaussian import noise_multiplier
from sfumato.core.privacy import Privacy, part_of

_FINEST = 2.0**-38  # what variance 4 more is at most worth, in squares of a sum's sensitivity of 2**20 or more


def grant_of_one(privacy: Privacy, times: int) -> Privacy:
    """What the noise of one of so many sums may use, so that all together keep the grant (docs/proofs/descent.md).

    Of a pure grant each has an equal part; of any other, all together are one Gaussian mechanism.
    """
    if privacy.rho is not None:
        rho = float(as_written(privacy.rho) / times)
    elif privacy.delta == 0:
        return part_of(privacy, Fraction(1, times))
    else:
        assert privacy.epsilon is not None
        multiplier = noise_multiplier(privacy.epsilon, privacy.delta)
        rho = 1 / (2 * (times * multiplier**2 + _FINEST))
    return replace(privacy, epsilon=None, delta=0.0, rho=rho * (1 - 2.0**-48))


def ratio_of_all(mu: float, times: int) -> float:
    """The ratio of sensitivity to noise of all sums together, from that of one."""
    return mu * math.sqrt(times) * (1 + 2.0**-48)
