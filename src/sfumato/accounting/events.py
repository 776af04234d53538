"""What happened to the data, kept for ever: a mechanism and its parameters, never a sum.

An event says what was drawn, not what it cost. Better accounting can therefore be applied to old entries.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from typing import Any

from sfumato.codec import decode_unit, encode_law, encode_unit
from sfumato.core.calibration import NoiseLaw
from sfumato.core.gaussian import noise_multiplier
from sfumato.core.neighbours import Person, Unit
from sfumato.core.privacy import Guarantee, Privacy
from sfumato.errors import LedgerError

_SCHEMA = 1


@dataclass(frozen=True)
class Event:
    """One draw of a mechanism on private data.

    ``epsilon``, ``delta`` and ``rho`` are what was promised; ``mu`` is set for Gaussian noise. ``details`` holds
    the exact noise law as plain data, for accountants to come.
    """

    mechanism: str
    epsilon: float | None
    delta: float | None
    rho: float | None
    mu: float | None
    neighbours: str
    unit: Unit
    confidence: float = 1.0
    what: str = ""
    details: str = "{}"

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta", "rho", "mu"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise LedgerError(f"an event with {name}={value!r} cannot be counted")
        if not 0 < self.confidence <= 1:
            raise LedgerError(f"an event with confidence={self.confidence!r} cannot be counted")

    def to_json(self) -> str:
        """Text that ``event_from_json`` reads back."""
        return json.dumps({"schema": _SCHEMA, **vars(self), "unit": encode_unit(self.unit)}, allow_nan=False)


def event_from_json(text: str) -> Event:
    """Rebuild an event."""
    data: dict[str, Any] = json.loads(text)
    if data.pop("schema", None) != _SCHEMA:
        raise LedgerError("an entry was written by a newer sfumato; upgrade to read this ledger")
    try:
        return Event(**{**data, "unit": decode_unit(data["unit"])})
    except (LookupError, TypeError, ValueError):
        raise LedgerError("an entry of the ledger is damaged; restore a backup") from None


def event_of_release(law: NoiseLaw, guarantee: Guarantee, what: str, *, inside: str | None = None) -> Event:
    """The event of publishing a vector under a noise law, which is not the whole story if noise also went ``inside``.

    The law is then left out: accountants to come must not take it for what protects the data.
    """
    if inside is not None:
        return _event(inside, guarantee, what, "{}")
    return _event(law.kind, guarantee, what, json.dumps(encode_law(law), allow_nan=False))


def event_of_selection(mechanism: str, privacy: Privacy, what: str, confidence: float = 1.0) -> Event:
    """The event of choosing privately; selection noise is pure, whatever else was granted."""
    delta = None if privacy.epsilon is None else 0.0
    promise = Guarantee(
        privacy.epsilon, delta, privacy.rho, None, privacy.neighbours, privacy.unit, confidence=confidence
    )
    return _event(mechanism, promise, what, "{}")


def event_of_grant(privacy: Privacy) -> Event:
    """The event that a release with the usual noise would be: for asking what it would cost."""
    mu = None
    if privacy.rho is not None:
        mu = math.sqrt(2 * privacy.rho) * (1 + 1e-12)
    elif privacy.delta > 0 and privacy.epsilon is not None:
        mu = (1 + 1e-12) / noise_multiplier(privacy.epsilon, privacy.delta)
    delta = None if privacy.rho is not None else privacy.delta
    promise = Guarantee(privacy.epsilon, delta, privacy.rho, mu, privacy.neighbours, privacy.unit)
    return _event("gaussian" if mu else "pure", promise, "", "{}")


def _event(mechanism: str, g: Guarantee, what: str, details: str) -> Event:
    return Event(
        mechanism, g.epsilon, g.delta, g.rho, g.mu, g.neighbours, g.unit, g.confidence, what=what, details=details
    )


def under_relation(event: Event, limit: Privacy) -> Event:
    """The event as an account with this relation and unit must count it, or a refusal.

    Replacing a unit is removing one and adding one: (eps, delta) becomes (2 eps, (1 + e^eps) delta), rho becomes
    4 rho and mu becomes 2 mu (docs/proofs/accounting.md). There is no sound way back.
    """
    if _same_unit(event.unit, limit.unit) and event.neighbours == limit.neighbours:
        return event
    if not _same_unit(event.unit, limit.unit):
        raise LedgerError(f"the account protects {limit.unit!r}, the release {event.unit!r}: make the units the same")
    if event.neighbours != "add-remove":
        raise LedgerError(
            "a release under 'replace' says nothing under 'add-remove', which the account counts; "
            "grant sf.Privacy(..., neighbours='add-remove')"
        )
    delta = event.delta
    if event.epsilon is not None and delta:
        delta = min(1.0, (1 + math.exp(min(event.epsilon, 700.0))) * delta * (1 + 1e-15))
    return replace(
        event,
        neighbours="replace",
        epsilon=None if event.epsilon is None else 2 * event.epsilon,
        delta=delta,
        rho=None if event.rho is None else 4 * event.rho,
        mu=None if event.mu is None else 2 * event.mu,
    )


def _same_unit(first: Unit, second: Unit) -> bool:
    """Persons are the same unit when the same column tells them apart, however many rows are used."""
    if isinstance(first, Person) and isinstance(second, Person):
        return first.column == second.column
    return first == second
