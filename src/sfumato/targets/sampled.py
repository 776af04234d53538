"""Sensitivities that a caller brings along: a stated number, or a certificate that was sampled."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from sfumato.checks import as_written, positive_number, share_of
from sfumato.core.certificate import Certificate
from sfumato.core.privacy import Guarantee, Privacy
from sfumato.errors import ParameterError, RandomPrivacyWarning

Sensitivity = float | Certificate


@dataclass(frozen=True, kw_only=True)
class SampledCertificate(Certificate):
    """A bound that ``sf.sample_sensitivity`` estimated from pairs of neighbours: **random** differential privacy.

    Formal guarantee: a pair of neighbouring tables, drawn from the oracle as the sampled ones were, is further apart
    than ``bound`` with probability at most ``gamma``, over the pair and (for the rules ``"dkw"`` and
    ``"exchangeable"``) over the sampling too; for ``"pac"`` in all but a share ``rho`` of all samplings. It says
    nothing about pairs that the oracle does not draw, and speaks of one pair (docs/proofs/sampler.md).

    Parameters
    ----------
    gamma, m, k, rho, rule
        The plan: the bound is the k-th smallest of m sampled distances.
    n, size
        The number of records in each sampled table, and how many numbers a response has (None for other objects).
    oracle, seed
        What drew the records, in words, and the public seed that draws them again (None for an oracle of its own).
    lattice
        The box and the basis on whose lattice functions were compared, or None.
    spent
        The guarantee of the private release that served as an oracle, whose cost comes on top, or None.
    """

    gamma: float
    m: int
    k: int
    rho: float | None
    rule: str
    n: int
    size: int | None
    oracle: str
    seed: int | None = None
    lattice: tuple[Any, Any] | None = None
    spent: Guarantee | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.known != "sampled" or self.confidence > share_of(1.0, 1 - as_written(self.gamma)):
            raise ParameterError(
                f"known={self.known!r} with confidence={self.confidence!r} is more than gamma={self.gamma!r} gives"
            )

    def plain(self) -> Certificate:
        """The certificate that a release carries."""
        return Certificate(**{field.name: getattr(self, field.name) for field in fields(Certificate)})


def check_sensitivity(value: object) -> Sensitivity:
    """A stated number, or a certificate of a real vector."""
    if not isinstance(value, Certificate):
        return positive_number("sensitivity", value)
    if value.exponent is not None:
        raise ParameterError(f"sensitivity must bound a real vector, got a certificate in steps of 2**{value.exponent}")
    return value


def bound_of(sensitivity: Sensitivity) -> float:
    """The number alone."""
    return sensitivity.bound if isinstance(sensitivity, Certificate) else sensitivity


def how_known(sensitivity: Sensitivity) -> str:
    """In a word."""
    return sensitivity.known if isinstance(sensitivity, Certificate) else "stated"


def certify(sensitivity: Sensitivity, norm: str, page: str, note: str, privacy: Privacy) -> Certificate:
    """A caller's sensitivity as the certificate of the protected unit: docs/proofs/persons.md, sampler.md.

    ``norm`` is that of a bare number; ``note`` says what the code cannot check. Sampled pairs differ in one row, and
    a chain of several random pairs would cost gamma for each.
    """
    if not isinstance(sensitivity, Certificate):
        stated = Certificate(norm, sensitivity, privacy.neighbours, "stated", page, None, (note,))
        return stated.for_unit(privacy)
    if sensitivity.known == "sampled" and privacy.unit != "row":
        raise ParameterError("a sampled sensitivity speaks of one row; grant unit='row', or state a bound for a person")
    if sensitivity.known == "sampled":
        return sensitivity.plain() if isinstance(sensitivity, SampledCertificate) else sensitivity
    # Whatever proof there is, it is the caller's: the guarantee says whose word it rests on.
    return replace(sensitivity, known="stated", assumptions=(*sensitivity.assumptions, note)).for_unit(privacy)


def _same_lattice(first: tuple[Any, Any], second: tuple[Any, Any] | None) -> bool:
    """Whether functions are compared at the same points: the order of a Bernstein basis does not matter."""
    if second is None or first[0] != second[0]:
        return False
    return np.array_equal(first[1].lattice(first[0]), second[1].lattice(second[0]))


def check_sampled(sensitivity: Sensitivity, n: int | None, size: int, lattice: tuple[Any, Any] | None) -> None:
    """Refuse a sampled certificate that was sampled for something else than what is about to be released."""
    if not isinstance(sensitivity, SampledCertificate):
        return
    if n is not None and sensitivity.n != n:
        raise ParameterError(f"the sensitivity was sampled for n={sensitivity.n} records, the data have {n}")
    if sensitivity.lattice is not None and not _same_lattice(sensitivity.lattice, lattice):
        raise ParameterError("the sensitivity was sampled on another lattice (box and basis) than that of the release")
    if sensitivity.size not in (None, size):
        raise ParameterError(
            f"the sensitivity was sampled for responses of {sensitivity.size} numbers, the release has {size}"
        )


def warn_of_random(confidence: float, granted: Privacy, depth: int) -> None:
    """Nobody gets random differential privacy without having heard of it. ``depth``: how far up the caller is."""
    if confidence < 1 and granted.gamma is None:
        gamma = round(1 - confidence, 12)
        warnings.warn(
            f"the sensitivity was sampled: this is random differential privacy (gamma {gamma:g}), not differential "
            f"privacy; grant sf.Privacy(..., gamma={gamma:g}) to say that you accept it, or gamma=0 to refuse it",
            RandomPrivacyWarning,
            stacklevel=depth + 1,
        )
