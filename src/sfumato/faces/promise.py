"""What is promised and how: guarantee, certificate, noise, box and receipt, in words and as data."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any

from sfumato.checks import as_written
from sfumato.core.box import Box, Categorical
from sfumato.core.calibration import NoiseLaw
from sfumato.core.certificate import Certificate
from sfumato.core.neighbours import Person
from sfumato.core.privacy import Guarantee
from sfumato.faces.words import above, exact, number, readable, rounded_up
from sfumato.laws import LocalLaw, noise_deviation
from sfumato.releases.base import Receipt

HEADLINE = "random differential privacy, not differential privacy"


# The words of sampler/estimate.py: a file holds them as one sentence.
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


def short(guarantee: Guarantee) -> str:
    """The guarantee in one line.

    >>> short(Guarantee(1.0, 0.0, None, None, "replace", "row"))
    'epsilon = 1, replace one row'
    """
    parts = [f"rho = {exact(guarantee.rho)}" if guarantee.rho is not None else f"epsilon = {exact(guarantee.epsilon)}"]
    if guarantee.delta:
        parts.append(f"delta = {exact(guarantee.delta)}")
    unit = guarantee.unit
    who = f"one person (up to {unit.max_rows} rows)" if isinstance(unit, Person) else "one row"
    parts.append(f"{'replace' if guarantee.neighbours == 'replace' else 'add or remove'} {who}")
    if guarantee.model == "local":
        parts.append("local model")
    random = sampled(guarantee.confidence, ())
    return ", ".join(parts) if random is None else f"{HEADLINE} (gamma = {random.gamma}): {', '.join(parts)}"


_DELTA = 1e-6  # at which a concentrated promise is quoted


def guarantee_words(guarantee: Guarantee) -> str:
    """What a guarantee means for one of those in the data.

    >>> guarantee_words(Guarantee(1.0, 0.0, None, None, "replace", "row"))
    'Replacing any one row of the data makes no outcome more than 2.719 times as likely.'
    """
    unit = guarantee.unit
    rows = (
        f"any one person (column {unit.column!r}, up to {unit.max_rows} rows)"
        if isinstance(unit, Person)
        else "any one row"
    )
    verb = "Replacing" if guarantee.neighbours == "replace" else "Adding or removing"
    epsilon, delta, quoted = guarantee.epsilon, guarantee.delta, ""
    if epsilon is None:
        epsilon, delta = guarantee.epsilon_at(_DELTA), _DELTA
        quoted = f" This is its promise at delta {delta:g}; it makes one for every delta."
    factor = f"{float(rounded_up(math.exp(epsilon))):.10g} times" if epsilon < 700 else f"e^{epsilon:g} times"
    slack = f", up to a probability of {delta:g}" if delta else ""
    text = f"{verb} {rows} of the data makes no outcome more than {factor} as likely{slack}.{quoted}"
    random = sampled(guarantee.confidence, guarantee.assumptions)
    if random is not None:
        text += (
            f" For random data this holds with confidence {guarantee.confidence!r} only: {HEADLINE} (gamma "
            f"{random.gamma})."
        )
    return text


def random_data(guarantee: Guarantee) -> dict[str, Any] | None:
    """How a promise was sampled, as plain data; None for one that was not."""
    random = sampled(guarantee.confidence, guarantee.assumptions)
    return None if random is None else {**vars(random), "gamma": float(random.gamma)}


def random_lines(guarantee: Guarantee) -> list[str]:
    """The same in words; none for a promise that is not random."""
    random = sampled(guarantee.confidence, guarantee.assumptions)
    if random is None:
        return []
    return [f"gamma {random.gamma}", f"rule {random.how}", f"oracle: {random.oracle or 'not told'}"]


def box_lines(box: Box) -> list[str]:
    """The columns of a box, one a line."""
    lines = []
    for name, column in zip(box.names, box.columns, strict=True):
        if isinstance(column, Categorical):
            lines.append(f"{name}: one of {', '.join(map(str, column.categories))}")
        else:
            kind = "" if column.kind == "interval" else f", {column.kind}"
            kind += ", whole numbers" if getattr(column, "whole", False) else ""
            low, high = (bound if isinstance(bound, str) else f"{bound:.10g}" for bound in column.bounds)
            lines.append(f"{name}: {low} to {high}{kind}")
    return lines if box.max_norm is None else [*lines, f"Euclidean norm at most {box.max_norm:.10g}"]


NOISES = {
    "laplace": "Laplace",
    "gaussian": "Gaussian",
    "linf": "K-norm, L\N{INFINITY}",
    "l2": "K-norm, L2",
    "blocks": "K-norm, in blocks",
    "zero-sum": "Laplace, zero sum",
}
_NOISES = {
    "laplace": "Laplace noise",
    "gaussian": "Gaussian noise",
    "linf": "K-norm noise of the L-infinity ball",
    "l2": "K-norm noise of the L2 ball",
    "blocks": "K-norm noise of the L-infinity ball, by itself in each block",
    "zero-sum": "Laplace noise with a sum of zero",
}
_MOVES = {
    "linf": "each coefficient by at most {bound}",
    "l1": "the coefficients by at most {bound} in L1 norm",
    "l2": "the coefficients by at most {bound} in L2 norm",
    "l1-linf": "the largest coefficients of all blocks by at most {bound} together",
    "flow": "the coefficients, and what is in none of them, by at most {bound} in L1 norm",
}


def noise_lines(law: NoiseLaw | LocalLaw) -> list[str]:
    """The noise, and the certificate that it was calibrated for; or what people's devices put in."""
    if isinstance(law, LocalLaw):
        return [f"that of people's own devices ({law.randomizer}), standard deviation at most {law.deviation:.6g}"]
    certificate = law.certificate
    bound = certificate.bound * 2.0 ** (certificate.exponent or 0)
    scale = "standard deviation" if law.kind == "gaussian" else "scale"
    return [
        f"{_NOISES[law.kind]}, {scale} {law.deviation:.6g}, in steps of 2^{law.exponent}",
        f"one unit moves {_MOVES[certificate.norm].format(bound=f'{bound:.6g}')} ({certificate.known})",
    ]


def receipt_lines(receipt: Receipt | None) -> list[str]:
    """The ledger's receipt."""
    if receipt is None:
        return ["none: not charged to an account"]
    return [
        f"account {receipt.account!r}, entry {receipt.entry}, {receipt.accountant} accounting",
        f"spent by then: {receipt.spent}",
        f"left then: {receipt.left} of {receipt.limit}",
    ]


_DELTAS = (1e-5, 1e-6, 1e-9)  # where the curve of a concentrated promise is quoted
_WEAK = 10.0  # an epsilon from which the page says that the promise restrains little


def promise_facts(guarantee: Guarantee) -> dict[str, Any]:
    """What a page says of a guarantee."""
    unit, epsilon = guarantee.unit, guarantee.epsilon
    pure = guarantee.rho is None and guarantee.delta == 0
    curve = [] if pure else [(delta, guarantee.epsilon_at(delta)) for delta in _DELTAS]
    return {
        "kind": "concentrated" if guarantee.rho is not None else "pure" if pure else "approximate",
        "epsilon": exact(epsilon),
        "delta": exact(guarantee.delta),
        "rho": exact(guarantee.rho),
        "factor": None if epsilon is None or epsilon > 700 else above(math.exp(epsilon)),
        "belief": above(100 / (1 + math.exp(-epsilon))) if pure and epsilon is not None and epsilon < _WEAK else None,
        "chance": _one_in(guarantee.delta) if guarantee.delta else None,
        "weak": epsilon is not None and epsilon >= _WEAK,
        "curve": [(exact(delta), above(bound)) for delta, bound in curve if math.isfinite(bound)],
        "unit": "person" if isinstance(unit, Person) else "row",
        "column": unit.column if isinstance(unit, Person) else None,
        "max_rows": unit.max_rows if isinstance(unit, Person) else 1,
        "replace": guarantee.neighbours == "replace",
        "local": guarantee.model == "local",
        "random": guarantee.confidence < 1,
        "confidence": exact(guarantee.confidence),
        "miss": exact(float(100 - 100 * Decimal(repr(guarantee.confidence)))),
        "assumptions": guarantee.assumptions,
    }


def _one_in(delta: float) -> Any:
    """``delta`` as one chance in a whole number, rounded to the safe side.

    >>> _one_in(1e-6)
    '1,000,000'
    """
    count = math.floor(1 / delta * (1 + 1e-12))
    return f"{count:,}" if count < 10**12 else readable(float(f"{count:.2e}"))


_NORMS = {
    "linf": "largest change of any single coefficient (L\N{INFINITY} norm)",
    "l1": "sum of the absolute changes of all coefficients (L1 norm)",
    "l2": "Euclidean length of the change of all coefficients (L2 norm)",
    "l1-linf": "sum over the blocks of the largest change in each (L1 norm of L\N{INFINITY} norms)",
    "flow": "sum of the absolute changes of all coefficients, and of their sum",
}


def certificate_facts(certificate: Certificate) -> dict[str, Any]:
    """What a page says of a certificate."""
    steps = certificate.exponent is not None
    value = certificate.bound * 2.0 ** (certificate.exponent or 0)
    return {
        "norm": _NORMS[certificate.norm],
        "bound": f"{exact(certificate.bound)} grid steps, that is {number(value, 6)}" if steps else exact(value),
        "relation": "replaced" if certificate.relation == "replace" else "added or removed",
        "known": certificate.known,
        "proof": f"docs/proofs/{certificate.proof}.md",
    }


def noise_facts(law: NoiseLaw) -> dict[str, Any]:
    """What a page says of a noise law."""
    return {
        "kind": law.kind,
        "name": NOISES[law.kind],
        "scale": readable(law.deviation, 4),
        "spread": readable(noise_deviation(law), 3),
        "size": f"{law.size:,}",
        "blocks": len(law.certificate.blocks),
        "exponent": str(law.exponent).replace("-", "\N{MINUS SIGN}"),
    }
