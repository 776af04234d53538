"""How many people does it take? From public quantities only, before anybody is asked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from sfumato.checks import positive_integer, positive_number, probability, shown
from sfumato.codec import LARGEST_COUNT
from sfumato.errors import ParameterError, ParameterTypeError
from sfumato.local.channels import AUTOMATIC
from sfumato.local.protocol import Protocol


@dataclass(frozen=True)
class LocalPlan:
    """What a protocol would achieve.

    ``error`` bounds, with probability ``confidence``, the error of every number that is estimated (lattice masses,
    moments, cells of tables) at once; ``deviation`` is the standard deviation of each (their root mean square, where it
    depends on what people hold); ``people`` is how many report. ``variances`` are those of one person's estimate, by
    randomizer, the protocol's own first.
    ``liar`` is how far one of them who lies can move an estimate, if questions are asked evenly and the person's number
    is the worst of all.
    """

    protocol: Protocol
    people: int
    deviation: float
    error: float
    confidence: float
    liar: float
    variances: Mapping[str, float]

    @property
    def randomizer(self) -> str:
        """The protocol's randomizer and those that it was chosen among, with the variance of one person's estimate."""
        (own, variance), *others = self.variances.items()
        beside = "".join(f"; {name} {value:.3g}" for name, value in others)
        return f"{own}: variance {variance:.3g} over the people{beside}"

    def __str__(self) -> str:
        return "\n".join(
            [
                f"protocol      {self.protocol.kind}, {self.protocol.questions} {self.protocol.parts}",
                f"guarantee     {self.protocol.guarantee}",
                f"randomizer    {self.randomizer}",
                f"people        {self.people:,}",
                f"deviation     {self.deviation:.4g} of each estimate",
                f"largest error {self.error:.4g} with confidence {self.confidence:g}",
                f"one liar      {self.liar:.2g} of any estimate at most",
            ]
        )


def plan(
    protocol: Protocol, *, people: int | None = None, error: float | None = None, confidence: float = 0.95
) -> LocalPlan:
    """Say what error so many people give, or how many people an error takes.

    Parameters
    ----------
    protocol
        Any of ``sf.local``: ``Density(...)``, ``SmoothQueries``, ``RiskMinimization``, ..., at its epsilon.
    people, error
        One of them: the number of people who will report, or the largest error that is wanted of any estimate.

    >>> from sfumato.core.box import Box
    >>> from sfumato.local.density import Density
    >>> protocol = Density(Box([(0, 1), (0, 1)]), epsilon=1.0, lattice=11, seed=1)
    >>> plan(protocol, people=1_000_000).deviation < 0.0022
    True
    """
    if not isinstance(protocol, Protocol):
        raise ParameterTypeError(f"protocol must be one of sf.local's protocols, got {shown(protocol)}")
    if (people is None) == (error is None):
        raise ParameterTypeError(f"give people or error, one of them, got people={shown(people)}, error={shown(error)}")
    probability("confidence", confidence)
    typical, largest = protocol.expected()
    quantile = math.sqrt(2 * math.log(2 * protocol.estimates / (1 - confidence)))
    if people is None:
        assert error is not None
        needed = largest * (quantile / positive_number("error", error)) * (quantile / error)
        if not needed < LARGEST_COUNT:  # also where it is beyond all numbers
            raise ParameterError.of(
                "error", f"is too small, it takes more than {LARGEST_COUNT:.0e} people, got error={error!r}"
            )
        people = max(1, math.ceil(needed))
    positive_integer("people", people)
    found = quantile * math.sqrt(largest / people)
    deviation, liar = math.sqrt(typical / people), protocol.influence / people
    return LocalPlan(protocol, people, deviation, found, confidence, liar, _by_randomizer(protocol, typical))


def _by_randomizer(protocol: Protocol, variance: float) -> dict[str, float]:
    """The variance with the protocol's randomizer, then with those that ``"auto"`` chooses among."""
    own = protocol.settings().get("randomizer", protocol.channel_name)
    found = {own: variance}
    for other in AUTOMATIC if own in AUTOMATIC else ():
        with suppress(ParameterError):  # a subset of too many, or of pairs
            found.setdefault(other, replace(protocol, randomizer=other).expected()[0])  # type: ignore[call-arg]
    return found
