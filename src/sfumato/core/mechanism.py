"""The only door from private to public in the central model: integers in, exact noise added, numbers out."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from sfumato.core import sampling
from sfumato.core.calibration import NoiseLaw
from sfumato.core.certificate import Certificate
from sfumato.core.quantize import round_vector
from sfumato.errors import PrivateDataError

Floats = NDArray[np.float64]


class Private:
    """A coefficient vector that has touched private data, together with the certificate of how far it moves.

    It does not print its numbers, cannot be pickled or copied, and gives them up to ``publish`` alone.
    """

    __slots__ = ("_values", "certificate")

    def __init__(self, values: NDArray[Any], certificate: Certificate) -> None:
        wanted = np.float64 if certificate.exponent is None else np.int64
        if values.ndim != 1 or values.dtype != wanted:
            raise PrivateDataError(f"a private vector with this certificate must be 1-D {wanted.__name__}")
        self._values = values
        self.certificate = certificate

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"<{len(self)} private numbers>"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise PrivateDataError("private numbers cannot be pickled or copied; release them with noise first")


def publish(private: Private, law: NoiseLaw) -> Floats:
    """Round to the law's grid, add one exact draw of its noise, and return the noisy coefficients.

    Formal guarantee: if neighbours move the vector by at most ``private.certificate``, the result satisfies
    what ``calibrate`` promised for that certificate (docs/proofs/k-norm.md, discrete-noise.md, rounding.md).
    Everything after the addition is post-processing.
    """
    # A law made for another certificate or another size would void the promise: refuse to open.
    if law.certificate != private.certificate or law.size != len(private):
        raise PrivateDataError("this noise was calibrated for another certificate or another number of coefficients")
    values = private._values
    integers = round_vector(values, law.exponent) if private.certificate.exponent is None else values
    return np.multiply(integers + draw(law), law.step, dtype=np.float64)


def draw(law: NoiseLaw) -> NDArray[np.int64]:
    """One exact draw of a law's integer noise."""
    if law.kind == "laplace":
        return sampling.discrete_laplace(law.size, law.scale)
    if law.kind == "gaussian":
        return sampling.discrete_gaussian(law.size, law.scale)
    if law.kind == "linf":
        return sampling.linf_knorm(law.size, law.scale)
    return sampling.l2_knorm(law.size, law.scale)
