"""How much noise a certificate and a privacy grant call for, in exact integer arithmetic on a public grid.

Everything here is a function of public quantities; docs/proofs/calibration.md and docs/proofs/rounding.md
prove each line.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from sfumato.checks import as_written, one_of, positive_integer
from sfumato.core.certificate import Certificate
from sfumato.core.gaussian import noise_multiplier
from sfumato.core.privacy import Guarantee, Privacy
from sfumato.errors import ParameterError

NOISES = ("laplace", "gaussian", "linf", "l2", "blocks", "zero-sum")
_NATURAL = {"linf": "linf", "l1": "laplace", "l2": "l2", "l1-linf": "blocks", "flow": "zero-sum"}
# Which bounds a noise can use: an L-infinity bound implies the others, a flow the same in L1, an L1 bound that in L2.
_L1 = ("l1", "linf", "flow")
_USABLE = {
    "laplace": _L1,
    "gaussian": ("l2", *_L1),
    "linf": ("linf",),
    "l2": ("l2", *_L1),
    "blocks": ("l1-linf",),
    "zero-sum": ("flow",),
}

_FINENESS = Fraction(1, 2**10)  # grid step over the smallest natural unit: rounding costs 0.1 %
# What can be chosen jointly: values at once, candidates for each, and the least epsilon (jointly.py, selection.md).
MOST_VALUES, MOST_CANDIDATES, LEAST_EPSILON = 16, 2**18, 2.0**-10
DEEPEST = 680.0  # exp(-DEEPEST) is still a normal double; shared out among the factors of a weight it is their floor
COPIES_EXPONENT = -10  # the grid's step for copies of a vector is 2**-10
_LARGEST = 2**50  # largest noise scale in grid steps; keeps every draw far inside 64 bits


@dataclass(frozen=True)
class NoiseLaw:
    """The public law of the noise in a release: integers times ``2**exponent``.

    ``scale`` is in grid steps and exact: the scale of a Laplace or K-norm law, the *variance* of a
    Gaussian. ``"linf"``, ``"l2"`` and, in the norm called flow, ``"zero-sum"`` have density proportional to
    ``exp(-||x|| / scale)``; in ``"blocks"`` each block of the certificate has an ``"linf"`` draw of its own, of this
    scale (docs/proofs/blocks.md).
    """

    kind: str
    size: int
    exponent: int
    scale: Fraction
    certificate: Certificate

    @property
    def step(self) -> float:
        """The grid step in the coefficients' own units."""
        return 2.0**self.exponent

    @property
    def deviation(self) -> float:
        """The scale (for a Gaussian, the standard deviation) in the coefficients' own units."""
        return self.step * (math.sqrt(self.scale) if self.kind == "gaussian" else float(self.scale))


def calibrate(
    certificate: Certificate, size: int, privacy: Privacy, noise: str = "auto", grid: int | None = None
) -> tuple[NoiseLaw, Guarantee]:
    """The noise that makes ``size`` coefficients with this certificate private, and what is then promised.

    Real vectors are rounded to multiples of ``2**grid``, which the noise pays for; None takes the best grid.
    """
    size = positive_integer("size", size)
    if certificate.blocks and sum(certificate.blocks) != size:
        raise ParameterError(f"the certificate's blocks have {sum(certificate.blocks)} coefficients, not {size}")
    if certificate.relation != privacy.neighbours:
        raise ParameterError(
            f"the certificate speaks of {certificate.relation!r} neighbours, the privacy of {privacy.neighbours!r}"
        )
    privacy.check_confidence(certificate.confidence)
    kind = _choose(certificate, privacy, noise)
    exponent = certificate.exponent
    if exponent is None:
        exponent = _grid_exponent(certificate, size, privacy, kind) if grid is None else grid
    distance, squared = _integer_sensitivity(certificate, size, exponent, kind)
    if kind != "gaussian":
        assert privacy.epsilon is not None
        scale = distance / as_written(privacy.epsilon)
    elif privacy.rho is not None:
        scale = squared / (2 * as_written(privacy.rho))
    else:
        assert privacy.epsilon is not None
        # The discrete Gaussian is not quite a Gaussian: variance 4 more makes up for it (discrete-noise.md).
        scale = squared * Fraction(noise_multiplier(privacy.epsilon, privacy.delta)) ** 2 + 4
    # The largest that is drawn at once: of a cube, or of what adds up to zero.
    cube = {"linf": size, "blocks": max(certificate.blocks, default=0), "zero-sum": size}.get(kind, 0)
    spread = math.isqrt(size) + 1 if kind == "l2" else max(1, cube)  # coordinates are this much larger than scale
    typical = math.isqrt(int(scale)) if kind == "gaussian" else int(scale) * spread
    if typical > 4 * _LARGEST or cube > 10 * scale:
        raise ParameterError(
            f"{size} coefficients of sensitivity {certificate.bound!r} at epsilon={privacy.epsilon!r}, "
            f"rho={privacy.rho!r} need noise beyond 64-bit integers: choose less extreme values",
            parameter="epsilon" if privacy.rho is None else "rho",
        )
    return NoiseLaw(kind, size, exponent, scale, certificate), _promise(certificate, privacy, kind, squared, scale)


def copies_law(copies: int, size: int, epsilon: float, delta: float) -> NoiseLaw:
    """The noise of so many copies of a person's vector, of length one at most: all together are (epsilon, delta)-DP."""
    # Two vectors of length one lie two apart, their copies further.
    bound = 2 * math.sqrt(copies) * (1 + 2.0**-40)
    certificate = Certificate("l2", bound, "replace", "enforced", "generalized-linear")
    grant = Privacy(epsilon=epsilon, delta=delta)
    return calibrate(certificate, copies * size, grant, "gaussian", COPIES_EXPONENT)[0]


def _choose(certificate: Certificate, privacy: Privacy, noise: str) -> str:
    """Pure privacy takes the noise that fits the norm; anything weaker takes Gaussian noise."""
    pure = privacy.rho is None and privacy.delta == 0
    one_of("noise", noise, ("auto", *NOISES))
    if certificate.norm not in _NATURAL:
        raise ParameterError(
            f"the sensitivity is in a norm of your own ({certificate.norm!r}), which no noise fits: bound it in 'l1', "
            "'l2' or 'linf', or give sf.sample_sensitivity(..., stands_for=...) one that yours is never smaller than"
        )
    kind = (_NATURAL[certificate.norm] if pure else "gaussian") if noise == "auto" else noise
    if certificate.norm not in _USABLE[kind]:
        raise ParameterError(f"noise={kind!r} cannot use a bound in {certificate.norm!r}; use {_USABLE[kind]}")
    if kind == "gaussian" and pure:
        raise ParameterError("noise='gaussian' is never pure: give delta > 0 or rho, or use another noise")
    if kind != "gaussian" and privacy.epsilon is None:
        raise ParameterError(f"noise={kind!r} needs epsilon, got rho={privacy.rho!r}")
    return kind


def _grid_exponent(certificate: Certificate, size: int, privacy: Privacy, kind: str) -> int:
    """A power-of-two step so fine that rounding costs next to nothing, yet not so fine that noise overflows."""
    natural = {"linf": Fraction(1), "l1": Fraction(1, size), "l2": Fraction(1, math.isqrt(size) + 1)}
    unit = Fraction(certificate.bound) * natural[_norm_used(certificate, kind)]
    strength = Fraction(privacy.epsilon if privacy.epsilon is not None else math.sqrt(2 * (privacy.rho or 0)))
    finest = unit * _FINENESS / max(1, size * strength * _FINENESS if kind in ("linf", "l2") else 1)
    step = max(finest, 2 * unit * size / (strength * _LARGEST))
    below = step.numerator.bit_length() - step.denominator.bit_length() - 1  # 2**below <= step
    return max(-960, min(900, below))


def _norm_used(certificate: Certificate, kind: str) -> str:
    """An L1 bound (as one on the flow is) is also an L2 bound, and as that costs less rounding."""
    return "l2" if certificate.norm in ("l1", "flow") and kind in ("gaussian", "l2") else certificate.norm


def _integer_sensitivity(certificate: Certificate, size: int, exponent: int, kind: str) -> tuple[Fraction, Fraction]:
    """The sensitivity in grid steps in the norm that ``kind`` needs, and its square, with the cost of rounding."""
    bound, step = Fraction(certificate.bound), Fraction(2) ** exponent
    root = Fraction(math.isqrt(size * 4**20) + 1, 2**20)  # sqrt(size), from above
    norm = _norm_used(certificate, kind)
    if certificate.exponent is not None:
        distance = bound  # already integers
    elif norm == "l2":
        distance = bound / step + root
    else:
        distance = Fraction(math.floor(bound / step) + (1 if norm == "linf" else size))
    if norm != "linf" or kind == "linf":
        return distance, distance**2
    # Each of the size coordinates moves by at most ``distance``.
    return (distance * size if kind == "laplace" else distance * root), distance**2 * size


def _promise(certificate: Certificate, privacy: Privacy, kind: str, squared: Fraction, scale: Fraction) -> Guarantee:
    """What the caller was granted, in the same currency, and what it rests on."""
    mu = None
    if kind == "gaussian" and scale > 4:
        mu = math.sqrt(squared / (scale - 4)) * (1 + 1e-12)
    notes = list(certificate.assumptions)
    if certificate.known == "stated":
        whom = "row" if privacy.unit == "row" else "person"
        bound = f"the {certificate.norm} sensitivity {certificate.bound:g} to one {whom}"
        notes.insert(0, f"{bound} is stated by the caller")
    delta = None if privacy.rho is not None else (privacy.delta if kind == "gaussian" else 0.0)
    granted = Guarantee(privacy.epsilon, delta, privacy.rho, mu, privacy.neighbours, privacy.unit)
    return replace(granted, confidence=certificate.confidence, assumptions=tuple(notes))
