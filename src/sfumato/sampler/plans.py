"""How many pairs to sample for how much confidence, and which of their distances to take: docs/proofs/sampler.md."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import lambertw
from scipy.stats import binom

from sfumato.checks import one_of, positive_integer, probability
from sfumato.errors import ParameterError

RULES = ("dkw", "exchangeable", "pac")
_PAC_RHO = 0.01  # where a pac plan is asked for with one number only


@dataclass(frozen=True)
class SamplerPlan:
    """Sample ``m`` pairs and take the ``k``-th smallest distance: a new one exceeds it with probability ``gamma``.

    ``rho`` is the part of gamma that the sampling itself may fail with (``"dkw"``), or the share of samplings that may
    fail altogether (``"pac"``); None for ``"exchangeable"``, which has no such part.
    """

    m: int
    k: int
    gamma: float
    rho: float | None
    rule: str

    def __str__(self) -> str:
        part = "" if self.rho is None else f", rho {self.rho:.4g}"
        return f"{self.rule}: distance {self.k} of {self.m} pairs, gamma {self.gamma:.4g}{part}"


def sampler_plan(
    gamma: float | None = None, m: int | None = None, rho: float | None = None, rule: str = "dkw"
) -> SamplerPlan:
    """Plan a sensitivity sampler without sampling anything.

    Parameters
    ----------
    gamma
        The probability that a new random pair of neighbours is further apart than the sampled bound. Given alone, the
        least number of pairs is found.
    m
        The number of pairs. Given alone, the least gamma is found; together with gamma, the least ``k``.
    rho
        By default the best; for ``"pac"`` 0.01 where it does not follow from the others.
    rule
        ``"dkw"``: the sampler of Rubinstein and Aldà (2017). ``"exchangeable"``: the same guarantee from far fewer
        pairs, because the new pair is as likely as any other to be the largest. ``"pac"``: a guarantee that holds for
        all but a share rho of the samplings, each for all later pairs.

    >>> sampler_plan(gamma=0.05).m, sampler_plan(gamma=0.05, rule="exchangeable").m
    (1305, 19)
    """
    one_of("rule", rule, RULES)
    if gamma is None and m is None:
        raise ParameterError("give gamma (how often the bound may be exceeded), m (the number of pairs), or both")
    gamma = None if gamma is None else probability("gamma", gamma)
    m = None if m is None else positive_integer("m", m)
    rho = None if rho is None else probability("rho", rho)
    return {"dkw": _dkw, "exchangeable": _exchangeable, "pac": _pac}[rule](gamma, m, rho)


def _dkw(gamma: float | None, m: int | None, rho: float | None) -> SamplerPlan:
    """One-sided Dvoretzky-Kiefer-Wolfowitz with Massart's constant, which needs ``rho <= 1/2``."""
    if rho is not None and rho > 0.5:
        raise ParameterError.of("rho", f"must be at most 1/2 for rule='dkw', got rho={rho!r}")
    if m is None:
        assert gamma is not None
        rho, m = _least_pairs(gamma, rho)
        return SamplerPlan(m, m, gamma, rho, "dkw")
    # The derivative of rho + sqrt(ln(1/rho) / (2 m)) vanishes where v ln v = -1/(4 m) for v = rho^2.
    best = math.exp(float(lambertw(-1 / (4 * m), -1).real) / 2) if rho is None else rho
    slack = best + math.sqrt(math.log(1 / best) / (2 * m))
    if gamma is None:
        if slack >= 1:
            raise ParameterError(f"m={m!r} pairs are too few for any gamma below 1; sample more", parameter="m")
        return SamplerPlan(m, m, slack, best, "dkw")
    k = math.ceil(m * (1 - gamma + slack))
    if k > m:
        least = _least_pairs(gamma, rho)[1]
        raise ParameterError(
            f"m={m!r} pairs are too few for gamma={gamma!r}: rule 'dkw' needs at least m={least}", parameter="m"
        )
    return SamplerPlan(m, k, gamma, best, "dkw")


def _least_pairs(gamma: float, rho: float | None) -> tuple[float, int]:
    """The rho for which the fewest pairs suffice: gamma - rho = 2 rho ln(1/rho); and that many pairs."""
    if rho is None:
        rho = math.exp(float(lambertw(-gamma / (2 * math.sqrt(math.e)), -1).real) + 0.5)
    if rho >= gamma:
        raise ParameterError.of("rho", f"must be below gamma={gamma!r} for rule='dkw', got rho={rho!r}")
    if gamma < 1e-9:
        raise ParameterError(
            f"gamma={gamma!r} needs more than 1e19 pairs; take a larger gamma or another rule", parameter="gamma"
        )
    return rho, math.ceil(math.log(1 / rho) / (2 * (gamma - rho) ** 2))


def _exchangeable(gamma: float | None, m: int | None, rho: float | None) -> SamplerPlan:
    """A new distance exceeds the k-th smallest of m like ones with probability at most ``1 - k / (m + 1)``."""
    if rho is not None:
        raise ParameterError(f"rule='exchangeable' has no rho, got rho={rho!r}", parameter="rule")
    if gamma is None:
        assert m is not None
        return SamplerPlan(m, m, 1 / (m + 1), None, "exchangeable")
    least = _least_exchangeable(gamma)
    if m is None:
        m = least
    if m < least:
        raise ParameterError(
            f"m={m!r} pairs are too few for gamma={gamma!r}: rule 'exchangeable' needs at least m={least}",
            parameter="m",
        )
    k = min(m, math.ceil((1 - gamma) * (m + 1)))
    return SamplerPlan(m, k, gamma, None, "exchangeable")


def _least_exchangeable(gamma: float) -> int:
    """The fewest pairs of which the largest is exceeded with probability at most gamma."""
    least = max(1, math.ceil(1 / gamma) - 1)
    while 1 / (least + 1) > gamma:  # the quotient was rounded
        least += 1
    return least


def _pac(gamma: float | None, m: int | None, rho: float | None) -> SamplerPlan:
    """All m distances miss the largest share gamma of all pairs with probability ``(1 - gamma)**m``.

    A large rho would excuse any bound: the new pair alone exceeds it with probability gamma at most all the same.
    """
    if gamma is None:
        assert m is not None
        share = _PAC_RHO if rho is None else rho
        return SamplerPlan(m, m, max(-math.expm1(math.log(share) / m), 1 / (m + 1)), share, "pac")
    if m is None:
        share = _PAC_RHO if rho is None else rho
        m = max(_least_exchangeable(gamma), math.ceil(math.log(share) / math.log1p(-gamma)))
        return SamplerPlan(m, m, gamma, share, "pac")
    least = max(_least_exchangeable(gamma), 1 if rho is None else math.ceil(math.log(rho) / math.log1p(-gamma)))
    if m < least:
        also = "" if rho is None else f", rho={rho!r}"
        raise ParameterError(
            f"m={m!r} pairs are too few for gamma={gamma!r}{also}: rule 'pac' needs at least m={least}", parameter="m"
        )
    if rho is None:
        return SamplerPlan(m, m, gamma, math.exp(m * math.log1p(-gamma)), "pac")
    # The bound fails if k or more of the m pairs fall among the 1 - gamma closest.
    k = min(m, max(_exchangeable(gamma, m, None).k, int(binom.isf(rho, m, 1 - gamma)) + 1))
    return SamplerPlan(m, k, gamma, rho, "pac")
