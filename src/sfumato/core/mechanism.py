"""The only door from private to public in the central model: integers in, exact noise added, numbers out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core import sampling
from sfumato.core.calibration import NoiseLaw, calibrate
from sfumato.core.certificate import Certificate
from sfumato.core.objective import ObjectiveLaw
from sfumato.core.privacy import Guarantee, Privacy
from sfumato.core.quantize import round_vector
from sfumato.core.whole import Sealed, Wide
from sfumato.errors import PrivateDataError

Floats = NDArray[np.float64]


class Private(Sealed):
    """A coefficient vector that has touched private data, together with the certificate of how far it moves.

    It does not print its numbers, cannot be pickled or copied, and gives them up to ``publish`` alone, once.
    """

    __slots__ = ("_certificate", "_values")

    def __init__(self, values: NDArray[Any] | Wide, certificate: Certificate) -> None:
        wanted = np.float64 if certificate.exponent is None else np.int64
        if len(values.shape) != 1 or values.dtype != wanted:
            raise PrivateDataError(f"a private vector with this certificate must be 1-D {wanted.__name__}")
        if isinstance(values, np.ndarray):  # a copy: nobody else can change the numbers
            values = Wide(values) if wanted is np.int64 else values.copy()
        self._values: Floats | Wide | None = values
        self._certificate = certificate

    @property
    def size(self) -> int:
        """How many numbers there are; 0 once they are published."""
        return 0 if self._values is None else self._values.shape[0]

    @property
    def certificate(self) -> Certificate:
        """How far neighbours can move the vector."""
        return self._certificate

    def __repr__(self) -> str:
        return "<private numbers>"


def publish(private: Private, privacy: Privacy, noise: str = "auto") -> tuple[Floats, NoiseLaw, Guarantee]:
    """Round to a grid, add one exact draw of the noise that the vector's own certificate calls for, and let go.

    Formal guarantee: if neighbours move the vector by at most ``private.certificate``, the returned numbers
    satisfy the returned guarantee (docs/proofs/k-norm.md, blocks.md, zero-sum.md, discrete-noise.md, rounding.md,
    calibration.md).
    Everything after the addition is post-processing. A vector is published once.
    """
    values = private._values
    if values is None:
        raise PrivateDataError("this private vector has been published already; a second draw would cost again")
    law, guarantee = calibrate(private.certificate, private.size, privacy, noise)
    private._values = None
    integers = values if isinstance(values, Wide) else Wide(round_vector(values, law.exponent))
    return (integers + Wide(draw(law))).doubles() * law.step, law, guarantee


def draw(law: NoiseLaw) -> NDArray[np.int64]:
    """One exact draw of a law's integer noise; blocks are independent of each other."""
    if law.kind == "blocks":
        return np.concatenate([sampling.linf_knorm(size, law.scale) for size in law.certificate.blocks])
    return _SAMPLERS[law.kind](law.size, law.scale)


_SAMPLERS = {
    "laplace": sampling.discrete_laplace,
    "gaussian": sampling.discrete_gaussian,
    "linf": sampling.linf_knorm,
    "l2": sampling.l2_knorm,
    "zero-sum": sampling.zero_sum,
}


def draw_objective(law: ObjectiveLaw) -> Floats:
    """One draw of the noise b inside an objective: as private as the records, until the minimiser is published."""
    sampler = sampling.l2_knorm if law.kind == "l2" else sampling.rounded_gaussian
    return np.multiply(sampler(law.size, law.scale), 2.0**law.exponent, dtype=np.float64)
