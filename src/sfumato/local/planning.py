"""How many people does it take? From public quantities only, before anybody is asked."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sfumato.checks import positive_integer, positive_number, probability, shown
from sfumato.errors import ParameterTypeError
from sfumato.local.protocol import Protocol


@dataclass(frozen=True)
class LocalPlan:
    """What a protocol would achieve.

    ``error`` bounds, with probability ``confidence``, the error of every number that is estimated (lattice masses,
    moments, cells of tables) at once; ``deviation`` is the standard deviation of each; ``people`` is how many report.
    ``liar`` is how far one of them who lies can move an estimate, if questions are asked evenly and the person's number
    is the worst of all.
    """

    protocol: Protocol
    people: int
    deviation: float
    error: float
    confidence: float
    liar: float

    def __str__(self) -> str:
        return "\n".join(
            [
                f"protocol      {self.protocol.kind}, {self.protocol.questions} questions",
                f"guarantee     {self.protocol.guarantee}",
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
        ``sf.local.Density(...)``, ``sf.local.SmoothQueries(...)`` or ``sf.local.Marginals(...)``, at its epsilon.
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
    each = _variance_of_one(protocol)
    numbers = protocol.questions
    quantile = math.sqrt(2 * math.log(2 * numbers / (1 - confidence)))
    if people is None:
        assert error is not None
        people = max(1, math.ceil(each * (quantile / positive_number("error", error)) ** 2))
    deviation = math.sqrt(each / positive_integer("people", people))
    liar = protocol.influence / people
    return LocalPlan(protocol, people, deviation, quantile * deviation, confidence, liar)


def _variance_of_one(protocol: Protocol) -> float:
    """The variance of an estimate times the number of people, if all questions are asked alike."""
    channel = protocol.channel
    many = 10**6
    state = channel.empty()
    for name, values in state.items():
        if name == "bits":
            values += many // 2
        elif name == "asked":
            values += many
    _, variances = channel.estimate(state)
    per_question = float(np.max(variances)) * many
    asked = 1 if channel.whole else protocol.questions
    return protocol.spread(per_question) * asked
