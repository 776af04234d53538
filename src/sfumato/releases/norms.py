"""How much one record can add to numbers that are sums, as far as a release itself tells: what a file is checked by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.bases.lattice import MassLattice
from sfumato.core.calibration import NoiseLaw
from sfumato.core.neighbours import rows_per_unit
from sfumato.core.privacy import Guarantee
from sfumato.errors import ParameterError
from sfumato.releases.masses import NoisyMasses

_SLACK = 1e-3  # records are in the middles of cells, and shares are rounded


@dataclass(frozen=True)
class Norms:
    """One record's L1 norm and squared L2 norm, and the squared distance of two; in records, not in steps."""

    sum: float
    square: float
    pair_square: float


COUNT = Norms(1.0, 1.0, 2.0)
MOMENTS = Norms(2.0, 1.5, 4.0)  # z, z^2 - 1/2 and half a count (docs/proofs/naive-bayes.md)


def norms_of_masses(masses: NoisyMasses) -> Norms:
    """Shares sum to one; their length follows from the lattice and the cells."""
    assert isinstance(masses.lattice, MassLattice)
    centres = [(np.arange(size) + 0.5) / size for size in masses.cells]
    square = masses.lattice.longest(masses.domain, centres) ** 2
    return Norms(1.0, square, 2 * square)


def check_certificate(law: NoiseLaw, promised: Guarantee, parts: Sequence[Norms]) -> None:
    """Refuse noise that was calibrated for less than one unit can contribute to all parts together."""
    certificate, replaced = law.certificate, promised.neighbours == "replace"
    if certificate.exponent is None or certificate.norm not in ("l1", "l2"):
        raise ParameterError("sums of records need a certificate in L1 or L2, in steps of a grid")
    if certificate.norm == "l1":
        apart = (2 if replaced else 1) * sum(part.sum for part in parts)
    else:
        apart = math.sqrt(sum(part.pair_square if replaced else part.square for part in parts))
    if certificate.bound * 2.0**certificate.exponent < apart * rows_per_unit(promised.unit) * (1 - _SLACK):
        raise ParameterError("the certificate is smaller than one record's contribution can be")
