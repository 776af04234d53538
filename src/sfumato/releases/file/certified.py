"""Whether a file's certificate is what its public parameters give: a guarantee is worked out again, not believed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sfumato.core.calibration import NoiseLaw, calibrate
from sfumato.core.certificate import SAME_PLACES, Certificate
from sfumato.core.privacy import Guarantee, Privacy
from sfumato.errors import ParameterError

# What a stated sensitivity says of persons who are replaced; the first files kept a person's first rows.
PLACES = {SAME_PLACES, "a person is replaced by one with the same number of rows, in the same places of the table"}
_SLACK = 1e-6  # another processor rounds an exponential another way; what that costs is as small


def granted_of(promised: Guarantee) -> Privacy:
    """The grant behind a guarantee."""
    return Privacy(promised.epsilon, promised.delta or 0.0, promised.rho, promised.neighbours, promised.unit)


def checked_noise(law: NoiseLaw, privacy: Privacy) -> Guarantee:
    """What a law keeps, refusing less noise than its certificate, and rounding to its grid, call for."""
    if law.certificate.exponent not in (None, law.exponent):
        raise ParameterError("the noise and its certificate are on different grids")
    needed, kept = calibrate(law.certificate, law.size, privacy, law.kind, law.exponent)
    if law.scale < needed.scale * (1 - 1e-9):
        raise ParameterError("there is less noise than the guarantee needs")
    return kept


def check_certificate(given: Certificate, needed: Certificate) -> None:
    """Refuse a certificate that claims more than follows from what was published, how, and for whom."""
    if (given.exponent, given.norm, given.blocks) != (needed.exponent, needed.norm, needed.blocks):
        raise ParameterError("the noise and what it was added to are on different grids, or in different norms")
    if (given.known, given.relation) != (needed.known, needed.relation):
        raise ParameterError(f"this is {needed.known} for {needed.relation!r} neighbours, and the file says otherwise")
    if not {*needed.assumptions} <= {*given.assumptions}:
        raise ParameterError("the certificate leaves out what it rests on")
    if given.bound < needed.bound * (1 - _SLACK):
        raise ParameterError("the certificate is smaller than one record's contribution can be")


def sum_norm(certificate: Certificate) -> str:
    """The norm in which sums of records were certified."""
    if certificate.norm not in ("l1", "l2"):
        raise ParameterError("sums of records need a certificate in L1 or L2, in steps of a grid")
    return certificate.norm


def as_stated(common: dict[str, Any]) -> dict[str, Any]:
    """The same, where a file does not tell what its sensitivity follows from: the guarantee says that it is stated."""
    law, promised = common["law"], common["guarantee"]
    if law.certificate.known == "sampled":
        raise ParameterError("nothing was sampled for this kind of release")
    certificate = replace(law.certificate, known="stated")
    if promised.unit != "row" and promised.neighbours == "replace" and not PLACES & {*certificate.assumptions}:
        certificate = replace(certificate, assumptions=(*certificate.assumptions, SAME_PLACES))
    stated = replace(law, certificate=certificate)
    kept = calibrate(stated.certificate, law.size, granted_of(promised), law.kind)[1].assumptions
    rest = tuple(note for note in promised.assumptions if note not in kept)
    return {**common, "law": stated, "guarantee": replace(promised, assumptions=(*kept, *rest))}
