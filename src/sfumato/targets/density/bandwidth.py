"""A bandwidth from public quantities: the number of rows, the box and the privacy."""

from __future__ import annotations

import math

import numpy as np

from sfumato.core.box import Box
from sfumato.core.neighbours import rows_per_unit
from sfumato.core.privacy import Privacy

_SPREADS = 6.0  # the box is taken to be this many standard deviations of the data wide
DROWNED = 1e100  # noise beyond which nothing is left to choose by, and whose square is a number
_TRIED = np.geomspace(0.005, 0.5, 200)  # bandwidths, in widths of the box


def rule_of_thumb(domain: Box, rows: int, privacy: Privacy) -> tuple[float, ...]:
    """The bandwidths of least predicted squared error for a normal density that fills the box.

    Bias, sampling error and privacy noise are those of a product kernel with the same fraction of each column; the
    noise is that of a lattice one bandwidth apart.
    """
    d = domain.dimension
    spread = 1 / _SPREADS
    kernel = (2 * math.sqrt(math.pi)) ** -d  # the integral of the squared standard kernel
    roughness = d * (d + 2) / (4 * 2**d * math.pi ** (d / 2) * spread ** (d + 4))  # integrated squared Laplacian
    strength = privacy.epsilon if privacy.epsilon is not None else math.sqrt(2 * (privacy.rho or 0.0))
    noise = min(2 * math.sqrt(2) * rows_per_unit(privacy.unit) / (rows * strength), DROWNED)
    bias = _TRIED**4 / 4 * roughness
    sampling = kernel / (rows * _TRIED**d)
    private = noise**2 * kernel / _TRIED ** (2 * d)
    best = float(_TRIED[np.argmin(bias + sampling + private)])
    best = max(best, {1: 0.005, 2: 0.01, 3: 0.045}[d])  # what a lattice of so many columns can resolve
    return tuple(float(best * (c.high - c.low)) for c in domain.intervals())
