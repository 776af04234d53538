"""Privacy loss distributions: what a fixed list of releases adds up to, tightly, through Google's dp-accounting.

Every release enters by what is *proved* of it, in either order of the neighbours: a pure epsilon (Laplace, K-norm
noise, selections) as randomised response, (epsilon, delta) likewise with an atom at infinity, Gaussian noise as a
Gaussian shift, rho-zCDP as the largest privacy profile that it allows. Each is put on a grid of losses by connecting
the dots, which is pessimistic; floating-point errors of the Fourier transforms are bounded and added
(docs/proofs/accounting.md, Theorems 7 and 8).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sfumato.core.gaussian import zcdp_delta
from sfumato.errors import ParameterError
from sfumato.extras import need, need_version

_STEP = 1e-4  # of the grid of losses
_BINS = 2**19  # coarser steps beyond
_FINE = 16  # steps in the smallest epsilon
_POINTS = 200  # at which the profile of a concentrated promise is connected
_ROUNDOFF = 16 * 2.0**-53
_SMALLEST = 1e-12  # a delta below is not told from roundoff


@dataclass(frozen=True)
class Stock:
    """A public list of what may be drawn from: pairs of laws that dominate releases, and a total of Gaussian shifts.

    Parameters
    ----------
    atoms
        ``(epsilon, delta, count)``, ordered.
    rho
        The sum of all rho.
    gaussian
        The sum of the squares of all mu.
    """

    atoms: tuple[tuple[float, float, int], ...] = ()
    rho: float = 0.0
    gaussian: float = 0.0

    @property
    def draws(self) -> int:
        """How many pairs there are."""
        return sum(count for _, _, count in self.atoms) + (self.rho > 0) + (self.gaussian > 0)


@lru_cache(maxsize=256)
def delta_of(stock: Stock, epsilon: float) -> float:
    """An upper bound on the delta of all of a stock at an epsilon."""
    if not stock.draws:
        return 0.0
    composed, slack = _composed(stock)
    return min(1.0, float(composed.get_delta_for_epsilon(epsilon)) * (1 + 1e-9) + slack)


def least_delta(stock: Stock) -> float:
    """What a delta must be above to be told from roundoff, for all of a stock."""
    return max(_composed(stock)[1], _SMALLEST) if stock.draws else 0.0


def too_small(delta: float, least: float) -> str:
    """What is said of a delta that is not."""
    return (
        f"delta={delta!r} is too small for privacy loss distributions on this machine's numbers; give more than "
        f"{2 * least:.0e}, or take another accountant"
    )


@lru_cache(maxsize=256)
def epsilon_of(stock: Stock, delta: float) -> float:
    """An epsilon, close to the least, at which a stock is within delta; infinity if there is none."""
    if not stock.draws:
        return 0.0
    composed, slack = _composed(stock)
    if delta <= least_delta(stock):
        raise ParameterError(too_small(delta, least_delta(stock)))
    low, high = 0.0, max(1e-9, float(composed.get_epsilon_for_delta(delta - slack)))
    if not math.isfinite(high):
        return math.inf
    while delta_of(stock, high) > delta:
        low, high = high, high * 1.01
        if high > 1e6:
            return math.inf
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if delta_of(stock, middle) <= delta else (middle, high)
    return high


@lru_cache(maxsize=32)
def _composed(stock: Stock) -> tuple[Any, float]:
    """The distribution of a stock's loss, and a bound on what rounding took from any delta of it."""
    step, bins = _grid(stock)
    total = None
    for pld, count in _pairs(stock, step):
        many = pld.self_compose(count) if count > 1 else pld
        total = many if total is None else total.compose(many)
    return total, _ROUNDOFF * stock.draws * math.log2(bins) * math.sqrt(bins)


def _grid(stock: Stock) -> tuple[float, float]:
    """The step of the grid, fine against the smallest loss, coarse enough for the largest sum; and how many at most."""
    shifts = [math.sqrt(2 * stock.rho), math.sqrt(stock.gaussian)]
    reach = sum(2 * epsilon * count for epsilon, _, count in stock.atoms)
    reach += sum(shift**2 + 24 * shift for shift in shifts)
    smallest = min((one for one in (*shifts, *(atom[0] for atom in stock.atoms)) if one > 0), default=1.0)
    step = max(min(_STEP, smallest / _FINE), reach / _BINS, 1e-300)
    return step, 2 * reach / step + 4 * stock.draws + 64


def _pairs(stock: Stock, step: float) -> list[tuple[Any, int]]:
    """The distribution of each pair, the same in both orders of the neighbours, and how often it is there."""
    need_version("dp_accounting", "tight", (0, 4))
    pmfs = need("dp_accounting.pld.pld_pmf", "tight")
    plds = need("dp_accounting.pld.privacy_loss_distribution", "tight")
    found = [(_of_atom(epsilon, delta, step, pmfs), count) for epsilon, delta, count in stock.atoms]
    found += [(_of_rho(stock.rho, step, pmfs), 1)] if stock.rho else []
    made = [(plds.PrivacyLossDistribution(pmf), count) for pmf, count in found]
    if stock.gaussian:
        deviation = (1 - 1e-12) / math.sqrt(stock.gaussian)  # one Gaussian of all shifts
        made.append((plds.from_gaussian_mechanism(deviation, value_discretization_interval=step), 1))
    return made


def _of_atom(epsilon: float, delta: float, step: float, pmfs: Any) -> Any:
    """Randomised response of an epsilon, and infinity with probability delta."""
    up, down = math.ceil(epsilon / step * (1 + 1e-12)), math.floor(epsilon / step)
    places = sorted({-up, -down, down, up})
    return pmfs.create_pmf_pessimistic_connect_dots(step, places, [_atom(epsilon, delta, x * step) for x in places])


def _atom(epsilon: float, delta: float, loss: float) -> float:
    """The profile of (epsilon, delta): its largest delta at any loss."""
    if loss >= epsilon:
        return delta
    kept = -math.expm1(loss) if loss <= -epsilon else (1 - math.exp(loss - epsilon)) / (1 + math.exp(-epsilon))
    return min(1.0, delta + (1 - delta) * kept)


def _of_rho(rho: float, step: float, pmfs: Any) -> Any:
    """The largest profile that rho-zCDP allows: the convex hull of its deltas, which are the same in either order."""
    reach = rho + 10 * math.sqrt(2 * rho)
    upper = sorted({math.ceil(reach * k / _POINTS / step) for k in range(_POINTS + 1)})
    deltas = {place: min(zcdp_delta(rho, place * step), math.sqrt(rho / 2), 1.0) for place in upper}
    deltas |= {-place: -math.expm1(-place * step) + math.exp(-place * step) * deltas[place] for place in upper if place}
    hull: list[int] = []
    for place in sorted(deltas):
        while len(hull) > 1 and not _convex(hull[-2], hull[-1], place, step, deltas):
            hull.pop()
        hull.append(place)
    return pmfs.create_pmf_pessimistic_connect_dots(step, hull, [deltas[place] for place in hull])


def _convex(first: int, middle: int, last: int, step: float, deltas: dict[int, float]) -> bool:
    """Whether the middle point lies below the chord of its neighbours, over exp(loss)."""
    left, right = -math.expm1((first - middle) * step), math.expm1((last - middle) * step)
    return (deltas[middle] - deltas[first]) * right <= (deltas[last] - deltas[middle]) * left
