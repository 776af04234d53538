"""What the caller grants (``Privacy``) and what a release promises (``Guarantee``)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from sfumato.checks import as_written, finite_number, one_of, positive_number, share_of, shown
from sfumato.core.gaussian import gaussian_delta, smallest, zcdp_delta
from sfumato.core.neighbours import RELATIONS, Person, Unit
from sfumato.errors import ParameterError, ParameterTypeError


@dataclass(frozen=True)
class Privacy:
    """The privacy a caller grants to one release.

    Parameters
    ----------
    epsilon, delta
        (epsilon, delta)-differential privacy; ``delta=0`` is pure differential privacy.
    rho
        Instead of epsilon and delta: rho-zero-concentrated differential privacy.
    neighbours
        ``"replace"`` (one unit exchanged, the number of units public) or ``"add-remove"``.
    unit
        ``"row"``, or ``sf.Person(column, max_rows=m)``.
    gamma
        How often a *sampled* sensitivity may fall short (random differential privacy): 0 demands differential privacy
        proper; None, the default, takes what the certificate says, with a warning, and the guarantee says so.

    >>> Privacy(epsilon=1.0, delta=1e-6).neighbours
    'replace'
    """

    epsilon: float | None = None
    delta: float = 0.0
    rho: float | None = None
    neighbours: str = "replace"
    unit: Unit = "row"
    gamma: float | None = None

    def __post_init__(self) -> None:
        if (self.epsilon is None) == (self.rho is None):
            raise ParameterError(
                f"give either epsilon (with an optional delta) or rho, got epsilon={self.epsilon!r}, rho={self.rho!r}"
            )
        for name in ("epsilon", "rho"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, positive_number(name, getattr(self, name)))
        object.__setattr__(self, "delta", finite_number("delta", self.delta))
        if not 0 <= self.delta < 1 or 0 < self.delta < 1e-300:
            raise ParameterError.of(
                "delta", f"must lie in [0, 1) and not below 1e-300 unless 0, got delta={self.delta!r}"
            )
        if self.rho is not None and self.delta:
            raise ParameterError.of("rho", f"needs no delta, got rho={self.rho!r}, delta={self.delta!r}")
        one_of("neighbours", self.neighbours, RELATIONS)
        if self.unit != "row" and not isinstance(self.unit, Person):
            raise ParameterTypeError.of("unit", f"must be 'row' or sf.Person(...), got unit={shown(self.unit)}")
        if self.gamma is not None:
            if not 0 <= finite_number("gamma", self.gamma) < 1:
                raise ParameterError.of("gamma", f"must lie in [0, 1), got gamma={self.gamma!r}")
            object.__setattr__(self, "gamma", float(self.gamma))  # equal grants are written alike

    def check_confidence(self, confidence: float) -> None:
        """Refuse a sensitivity that was sampled with less confidence than the grant demands."""
        if self.gamma is not None and confidence < share_of(1.0, 1 - as_written(self.gamma)):
            raise ParameterError(
                f"the grant takes gamma={self.gamma!r}, but this sensitivity is only sampled, with confidence "
                f"{confidence!r}: sample more pairs, or state or prove a bound"
            )


def part_of(privacy: Privacy, share: Fraction, delta: float = 0.0) -> Privacy:
    """A share of the grant. What is paid beside a release is pure, so the whole delta is left to the release."""
    if privacy.rho is not None:
        return replace(privacy, rho=share_of(privacy.rho, share))
    assert privacy.epsilon is not None
    return replace(privacy, epsilon=share_of(privacy.epsilon, share), delta=delta)


@dataclass(frozen=True)
class Guarantee:
    """What a release promises, to whom, and on which assumptions.

    ``epsilon`` and ``delta`` are None for a release that was granted ``rho``. ``mu`` is set where the noise
    was Gaussian: the whole privacy curve is then that of a Gaussian mechanism with this sensitivity-to-noise
    ratio. ``confidence`` is 1 for differential privacy and less than 1 for *random* differential privacy.
    """

    epsilon: float | None
    delta: float | None
    rho: float | None
    mu: float | None
    neighbours: str
    unit: Unit
    model: str = "central"
    confidence: float = 1.0
    assumptions: tuple[str, ...] = ()

    def epsilon_at(self, delta: float) -> float:
        """The least epsilon that holds with this ``delta``; infinite where none does.

        >>> Guarantee(1.0, 0.0, None, None, "replace", "row").epsilon_at(0)
        1.0
        """
        delta = finite_number("delta", delta)
        if not 0 <= delta < 1:
            raise ParameterError.of("delta", f"must lie in [0, 1), got delta={delta!r}")
        found = [math.inf]
        if self.epsilon is not None and self.delta is not None and delta >= self.delta:
            found.append(self._pure_epsilon(delta) if self.delta == 0 else self.epsilon)
        if delta > 0 and self.mu is not None:
            found.append(_curve_epsilon(gaussian_delta, self.mu, delta))
        if delta > 0 and self.rho is not None:
            found.append(_curve_epsilon(zcdp_delta, self.rho, delta))
        return min(found)

    def _pure_epsilon(self, delta: float) -> float:
        """Randomised response is the worst pure mechanism: ``delta = (e^eps - e^eps') / (1 + e^eps)``."""
        assert self.epsilon is not None
        share = delta * (1 + math.exp(-self.epsilon))
        if delta == 0 or share >= 1:
            return self.epsilon if delta == 0 else 0.0
        rounded_up = self.epsilon + math.log1p(-share) + 2.0**-50 * (1 + self.epsilon) / (1 - share)
        return min(self.epsilon, max(0.0, rounded_up))

    def __str__(self) -> str:
        if self.rho is not None:
            amount = f"{_plain(self.rho)}-zero-concentrated differential privacy"
        elif self.delta == 0:
            amount = f"{_plain(self.epsilon)}-differential privacy"
        else:
            amount = f"({_plain(self.epsilon)}, {_plain(self.delta)})-differential privacy"
        if self.confidence < 1:
            amount = f"random {amount} (confidence {_plain(self.confidence)})"
        unit = self.unit
        who = f"one person (up to {unit.max_rows} rows)" if isinstance(unit, Person) else "one row"
        verb = "replacing" if self.neighbours == "replace" else "adding or removing"
        notes = "".join(f"; {a}" for a in self.assumptions)
        return f"{amount} for {verb} {who}, {self.model} model{notes}"


def _plain(number: float | None) -> str:
    """Every digit that matters: a rounded epsilon would promise too much."""
    return repr(number).removesuffix(".0")


def _curve_epsilon(curve: Callable[[float, float], float], parameter: float, delta: float) -> float:
    """Invert a decreasing privacy curve ``delta(eps)``, from above."""
    if curve(parameter, 0.0) <= delta:
        return 0.0
    try:
        return smallest(lambda epsilon: curve(parameter, epsilon) <= delta, start=1.0)
    except ParameterError:  # no finite epsilon is found
        return math.inf
