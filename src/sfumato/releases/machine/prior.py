"""How many records each class has, as far as it is public: where a learner of classes starts from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.statistics.sums import Tally
from sfumato.checks import finite_number, positive_number, shown
from sfumato.codec import decode_fraction, decode_law, encode_law, exact_keys
from sfumato.core.box import Box
from sfumato.core.calibration import NoiseLaw
from sfumato.core.privacy import Privacy, part_of
from sfumato.errors import ParameterError, ParameterTypeError
from sfumato.laws import noise_variance
from sfumato.releases.file.certified import check_certificate, checked_noise, sum_norm
from sfumato.releases.machine.response import Response

Floats = NDArray[np.float64]

_RAREST = 1e-12  # the smallest share: logits stay below 28


@dataclass(frozen=True)
class Prior:
    """What is known of the classes' sizes: noisy counts that were paid for, or shares that the caller knows.

    Parameters
    ----------
    counts
        One for each class; where there is no law, shares of any sum.
    law, share
        The noise in the counts, and which share of the grant paid for it; None where the caller told them.

    >>> Prior((3.0, 1.0)).shares
    (0.75, 0.25)
    """

    counts: tuple[float, ...]
    law: NoiseLaw | None = None
    share: Fraction | None = None

    @property
    def shares(self) -> tuple[float, ...]:
        """The share of each class. A count that noise could have made counts as one deviation of it."""
        law = self.law
        least = 0.0 if law is None else law.deviation * math.sqrt(noise_variance(law.kind, law.size))
        counts = np.maximum(self.counts, least)
        counts = np.maximum(counts, _RAREST * counts.sum())
        return tuple((counts / counts.sum()).tolist())

    @property
    def offsets(self) -> Floats:
        """``(outputs,)``: the logits that a learner without features would have."""
        shares = np.array(self.shares)
        found: Floats = np.log(shares / (1 - shares))
        return found[1:] if len(found) == 2 else found

    def rest(self, grant: Privacy) -> Privacy:
        """What it leaves of a grant."""
        return grant if self.share is None else part_of(grant, 1 - self.share, grant.delta)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        if self.law is None:
            return {"counts": list(self.counts)}
        return {"counts": list(self.counts), "law": encode_law(self.law), "share": str(self.share)}


def known_prior(shares: Any, response: Response) -> Prior:
    """The prior of a caller, who knows it without looking at the data."""
    if isinstance(shares, str) or not isinstance(shares, Sequence | np.ndarray):
        raise ParameterTypeError.of(
            "prior", f"must be 'auto', 'even' or a list of public shares, one for each class, got prior={shown(shares)}"
        )
    classes = response.classes or ()
    if len(shares) != len(classes):
        raise ParameterError.of("prior", f"must have one share for each of {len(classes)} classes, got {len(shares)}")
    return Prior(tuple(positive_number("a share of prior", share) for share in shares))


def prior_from_json(data: Any, response: Response, grant: Privacy) -> Prior:
    """Rebuild it, refusing counts with less noise than their share of the grant calls for."""
    if "law" not in data:
        exact_keys(data, {"counts"}, "the prior")
        return known_prior(data["counts"], response)
    exact_keys(data, {"counts", "law", "share"}, "the prior")
    law, share = decode_law(data["law"]), decode_fraction("the prior's share", data["share"])
    counts = tuple(finite_number("a count of the prior", count) for count in data["counts"])
    classes = response.classes or ()
    if not isinstance(law, NoiseLaw) or not 0 < share < 1 or not len(counts) == len(classes) == law.size:
        raise ParameterError("the prior, its noise and the classes do not belong together")
    part = part_of(grant, share)
    tally = Tally("histogram", (len(classes),), False)
    known = tally.certified(Box({response.name: response.column}), part, sum_norm(law.certificate))
    check_certificate(law.certificate, known)
    checked_noise(law, part)
    return Prior(counts, law, share)
