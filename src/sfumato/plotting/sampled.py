"""What is said, everywhere, of a promise that rests on a sampled sensitivity: it is random, and how it was sampled."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal

from sfumato.checks import as_written

HEADLINE = "random differential privacy, not differential privacy"

# The words of sampler/estimating.py: a file holds them as one sentence.
_SENTENCE = re.compile(
    r"sampled \(rule (?P<rule>\w+), distance (?P<k>\d+) of (?P<m>\d+) pairs.*?\) from the oracle: (?P<oracle>.*); it "
    r"speaks of one random pair of tables of (?P<n>\d+) records",
    re.DOTALL,
)


@dataclass(frozen=True)
class Sampled:
    """How a sensitivity was sampled; what a file does not tell in the usual words is None.

    Parameters
    ----------
    gamma
        How often the promise may fail, in digits that were not rounded down.
    rule, oracle
        By which rule, and from what.
    m, k, n
        The bound is the k-th smallest distance of m pairs of tables of n records.
    """

    gamma: str
    rule: str | None = None
    oracle: str | None = None
    m: int | None = None
    k: int | None = None
    n: int | None = None

    @property
    def how(self) -> str:
        """Rule and numbers in words."""
        if self.rule is None:
            return "not told"
        return f"{self.rule}: distance {self.k:,} of {self.m:,} pairs of tables of {self.n:,} records"


def sampled(confidence: float, assumptions: Sequence[str]) -> Sampled | None:
    """Read how a promise was sampled; None for one that was not.

    >>> sampled(0.95, ()).gamma
    '0.05'
    """
    if confidence == 1:
        return None
    missing = 1 - as_written(confidence)
    # To the safe side, in no more digits than anybody reads.
    upwards = Context(prec=6, rounding=ROUND_CEILING)
    gamma = upwards.divide(Decimal(missing.numerator), Decimal(missing.denominator))
    found = next((match for note in assumptions if (match := _SENTENCE.search(note))), None)
    told = f"{float(gamma):g}"
    if found is None:
        return Sampled(told)
    return Sampled(told, found["rule"], found["oracle"], int(found["m"]), int(found["k"]), int(found["n"]))
