"""The privacy curves against 60 digits: always from above, and tight."""

import math
from functools import cache
from itertools import pairwise

import mpmath
import pytest

from sfumato.core.gaussian import _mills, chi_delta, gaussian_delta, noise_multiplier, smallest, zcdp_delta
from sfumato.errors import ParameterError

DIGITS = 60
MUS = [1e-8, 1e-5, 1e-3, 0.01, 0.03, 0.1, 0.2, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 10.0, 15.0, 20.0, 30.0]
EPSILONS = [0.0, 1e-12, 1e-9, 1e-6, 1e-4, 1e-2, 0.1, 0.3, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 300.0]
ARGUMENTS = [-38.0, -37.0, -30.0, -20.0, -10.0, -5.0, -1.0, 0.0, 1.0, 5.0, 10.0]  # values of a = mu/2 - eps/mu


@cache
def exact(mu: float, epsilon: float) -> tuple[mpmath.mpf, mpmath.mpf]:
    """The true delta of a Gaussian mechanism, and Phi(a)."""
    with mpmath.workdps(DIGITS):
        ratio, loss = mpmath.mpf(mu), mpmath.mpf(epsilon)
        first = mpmath.ncdf(ratio / 2 - loss / ratio)
        return first - mpmath.exp(loss) * mpmath.ncdf(-ratio / 2 - loss / ratio), first


def curve(mu: float) -> list[float]:
    """Epsilons of every size, and those that put ``a`` at every place where the code changes its formula."""
    return EPSILONS + [mu * (mu / 2 - a) for a in ARGUMENTS if mu * (mu / 2 - a) >= 0]


@pytest.mark.parametrize("mu", MUS)
def test_delta_is_an_upper_bound(mu):
    for epsilon in curve(mu):
        delta, _ = exact(mu, epsilon)
        if delta > 1e-300:  # below that a double holds no digits
            assert gaussian_delta(mu, epsilon) >= delta, (mu, epsilon)


@pytest.mark.few(2)
@pytest.mark.parametrize("mu", [100.0, 317.0, 1e3, 3123.0, 1e4, 1e6])
def test_delta_is_an_upper_bound_where_mu_and_epsilon_are_huge(mu):
    for i in range(400):
        epsilon = mu * (mu / 2 + 37 - i * 0.1117)
        delta, _ = exact(mu, epsilon)
        if delta > 1e-300:
            assert gaussian_delta(mu, epsilon) >= delta, (mu, epsilon)


@pytest.mark.parametrize("mu", [1e6 + 0.37 * i for i in range(1, 9)])
def test_delta_is_an_upper_bound_where_two_huge_numbers_cancel(mu):
    for i in range(-5, 6):
        epsilon = mu * mu / 2 * (1 + i * 2.0**-52)
        assert gaussian_delta(mu, epsilon) >= exact(mu, epsilon)[0], (mu, epsilon)


@pytest.mark.parametrize("mu", MUS)
def test_delta_is_tight(mu):
    for epsilon in curve(mu):
        delta, first = exact(mu, epsilon)
        slack = max(1e-9 * delta, 1e-11 * first, mpmath.mpf(1e-300))
        assert gaussian_delta(mu, epsilon) - delta <= slack, (mu, epsilon)


@pytest.mark.parametrize("mu", MUS)
def test_delta_decreases_in_epsilon(mu):
    found = [gaussian_delta(mu, epsilon) for epsilon in sorted(curve(mu))]
    assert all(after <= before * (1 + 1e-11) for before, after in pairwise(found))


@pytest.mark.parametrize(
    ("mu", "epsilon"), [(1e-300, 1.0), (1e300, 1.0), (5e-324, 1e308), (1e300, 1e300), (1e-300, 0.0), (1.0, 1e308)]
)
def test_delta_is_a_probability_at_the_extremes(mu, epsilon):
    assert 0 <= gaussian_delta(mu, epsilon) <= 1


@pytest.mark.parametrize("x", [0.0, 1e-300, 1e-3, 0.5, 1.0, 3.0, 9.0, 9.999999, 10.0, 10.5, 20.0, 38.0, 1e3, 1e8])
def test_mills_ratio(x):
    with mpmath.workdps(DIGITS):
        point = mpmath.mpf(x)
        far = 1 / point - 1 / point**3 + 3 / point**5 if x else None
        ratio = mpmath.ncdf(-point) / mpmath.npdf(point) if x < 100 else far
    assert _mills(x) == pytest.approx(float(ratio), rel=1e-13)


# --- inverses -----------------------------------------------------------------------------------------------

GRANTS = [
    (1.0, 1e-5),
    (0.1, 1e-6),
    (1e-3, 1e-6),
    (10.0, 1e-9),
    (0.5, 0.5),
    (1e-6, 1e-3),
    (3.0, 1e-12),
    (100.0, 1e-30),
    (30.0, 0.9),
]


@pytest.mark.parametrize(("epsilon", "delta"), GRANTS)
def test_noise_multiplier_is_enough(epsilon, delta):
    assert exact(1 / noise_multiplier(epsilon, delta), epsilon)[0] <= delta


@pytest.mark.parametrize(("epsilon", "delta"), GRANTS)
def test_noise_multiplier_is_the_least(epsilon, delta):
    sigma = noise_multiplier(epsilon, delta)
    assert exact(1 / (sigma * (1 - 1e-7)), epsilon)[0] > delta


def test_noise_multiplier_of_a_textbook_case():
    # sigma_AG(1, 1e-5) of Balle and Wang 2018, from their reference implementation.
    assert noise_multiplier(1.0, 1e-5) == pytest.approx(3.730631634819464, rel=1e-9)


def test_noise_multiplier_falls_with_either_grant():
    by_epsilon = [noise_multiplier(e, 1e-6) for e in (0.01, 0.1, 1.0, 10.0)]
    by_delta = [noise_multiplier(1.0, d) for d in (1e-12, 1e-6, 1e-3, 0.5)]
    assert by_epsilon == sorted(by_epsilon, reverse=True)
    assert by_delta == sorted(by_delta, reverse=True)


@pytest.mark.parametrize("place", [1e-9, 0.3, 1.0, 1.7, 12345.678])
@pytest.mark.parametrize("start", [1e-3, 1.0, 1e4])
def test_smallest_finds_the_place_from_above(place, start):
    found = smallest(lambda x: x >= place, start)
    assert place <= found <= place * (1 + 2e-13)


def test_smallest_gives_up_where_nothing_is_enough():
    asked = []
    with pytest.raises(ParameterError, match="too extreme"):
        smallest(lambda x: asked.append(x) or len(asked) > 1000, 1.0)
    assert asked == [2.0**i for i in range(len(asked))] and 1e149 < max(asked) < 1e150


def test_smallest_of_what_always_holds_is_next_to_nothing():
    assert 0 < smallest(lambda x: True, 1.0) < 1e-299


# --- zero concentration -------------------------------------------------------------------------------------

RHOS = [1e-6, 1e-4, 1e-3, 0.01, 0.1, 0.5, 1.0, 2.0, 10.0, 100.0]
LOSSES = [0.0, 1e-3, 0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 50.0, 100.0, 300.0]


@cache
def exact_zcdp(rho: float, epsilon: float) -> mpmath.mpf:
    """The least of Canonne, Kamath and Steinke's bounds over all orders alpha, to 40 digits."""
    with mpmath.workdps(40):
        amount, loss = mpmath.mpf(rho), mpmath.mpf(epsilon)

        def log_delta(t: mpmath.mpf) -> mpmath.mpf:
            alpha = 1 + mpmath.exp(t)
            return (alpha - 1) * (alpha * amount - loss) + alpha * mpmath.log(1 - 1 / alpha) - mpmath.log(alpha - 1)

        best = min((mpmath.mpf(i) / 2 for i in range(-60, 60)), key=log_delta)
        low, high = best - 0.5, best + 0.5
        for _ in range(90):
            left, right = low + (high - low) / 3, high - (high - low) / 3
            low, high = (low, right) if log_delta(left) < log_delta(right) else (left, high)
        return min(mpmath.mpf(1), mpmath.exp(log_delta((low + high) / 2)))


@pytest.mark.few(4)
@pytest.mark.parametrize("rho", RHOS)
def test_zcdp_delta_is_an_upper_bound(rho):
    for epsilon in LOSSES:
        delta = exact_zcdp(rho, epsilon)
        if delta > 1e-300:
            assert zcdp_delta(rho, epsilon) >= delta, (rho, epsilon)


@pytest.mark.parametrize(("rho", "epsilon"), [(1e4, 1.5e4), (1e6, 1.04e6), (1e8, 1.003e8)])
def test_zcdp_delta_is_an_upper_bound_where_both_are_huge(rho, epsilon):
    assert exact_zcdp(rho, epsilon) <= zcdp_delta(rho, epsilon) <= 1.001 * exact_zcdp(rho, epsilon)


@pytest.mark.few(3)
@pytest.mark.parametrize("rho", RHOS)
def test_zcdp_delta_is_tight(rho):
    for epsilon in LOSSES:
        delta = exact_zcdp(rho, epsilon)
        assert zcdp_delta(rho, epsilon) <= delta * (1 + mpmath.mpf(1e-8)) + mpmath.mpf(1e-300), (rho, epsilon)


@pytest.mark.parametrize("rho", RHOS)
def test_zcdp_delta_covers_the_gaussian_mechanism(rho):
    """Gaussian noise with mu = sqrt(2 rho) is rho-zCDP, so no valid bound lies below its own curve."""
    for epsilon in LOSSES:
        delta, _ = exact(math.sqrt(2 * rho), epsilon)
        if delta > 1e-300:
            assert zcdp_delta(rho, epsilon) >= delta, (rho, epsilon)


@pytest.mark.parametrize(("rho", "epsilon"), [(5e-324, 1.0), (1e300, 1.0), (1.0, 1e308), (1e-300, 0.0)])
def test_zcdp_delta_is_a_probability_at_the_extremes(rho, epsilon):
    assert 0 <= zcdp_delta(rho, epsilon) <= 1


# --- a shift within a known subspace --------------------------------------------------------------------------


@cache
def exact_chi(ratio: float, epsilon: float, dimension: int) -> mpmath.mpf:
    """``E[(1 - exp(epsilon - ratio^2/2 - ratio chi))_+]`` by quadrature, to 30 digits."""
    with mpmath.workdps(30):
        shift, loss = mpmath.mpf(ratio), mpmath.mpf(epsilon)
        start = max(mpmath.mpf(0), loss / shift - shift / 2)
        factor = 2 ** (1 - mpmath.mpf(dimension) / 2) / mpmath.gamma(mpmath.mpf(dimension) / 2)

        def excess(x: mpmath.mpf) -> mpmath.mpf:
            return (
                -factor
                * x ** (dimension - 1)
                * mpmath.exp(-x * x / 2)
                * mpmath.expm1(loss - shift * shift / 2 - shift * x)
            )

        return mpmath.quad(excess, [start + place for place in (0, 0.1, 0.5, 1, 2, 4, 8, 16, 40)])


CHI_CASES = [
    (ratio, epsilon, dimension)
    for ratio in (0.01, 0.1, 0.5, 2.0)
    for epsilon in (0.05, 0.5, 1.0, 5.0)
    for dimension in (2, 4, 20)
    if epsilon / ratio < 37
]


@pytest.mark.few(10)
@pytest.mark.parametrize(("ratio", "epsilon", "dimension"), CHI_CASES)
def test_chi_delta_is_an_upper_bound_and_a_useful_one(ratio, epsilon, dimension):
    found, exact_value = chi_delta(ratio, epsilon, dimension), exact_chi(ratio, epsilon, dimension)
    assert found >= exact_value
    if epsilon / ratio - ratio / 2 > math.sqrt(dimension) + 2:  # in the tail, which grants speak of
        assert found <= 1.5 * exact_value


@pytest.mark.parametrize("dimension", [2, 4, 20, 200])
@pytest.mark.parametrize("start", [0.01, 0.5, 0.99, 3.0, 15.0, 30.0, 36.9])
def test_chi_delta_is_not_below_the_bound_that_the_proof_gives(start, dimension):
    """``tail(s) ratio / (ratio + hazard(s))`` at the place s where the loss reaches epsilon, to 40 digits."""
    for ratio in (0.0123, 0.7, 3.3):
        epsilon = ratio * (start + ratio / 2)
        with mpmath.workdps(40):
            shift = mpmath.mpf(ratio)
            place = mpmath.mpf(epsilon) / shift - shift / 2
            half, terms = place**2 / 2, range(dimension // 2)
            total = mpmath.fsum(half**j / mpmath.factorial(j) for j in terms)
            hazard = place * half ** terms[-1] / mpmath.factorial(terms[-1]) / total
            bound = mpmath.exp(-half) * total * shift / (shift + hazard)
        found = chi_delta(ratio, epsilon, dimension)
        assert min(bound, 1) <= found <= bound * (1 + mpmath.mpf(10) ** -9) + mpmath.mpf(10) ** -307


@pytest.mark.parametrize(("ratio", "epsilon"), [(10.0, 40.1), (2.0, 2.0), (3.0, 0.0), (4.0, 7.9)])
def test_chi_delta_is_one_where_every_loss_is_beyond_epsilon(ratio, epsilon):
    assert chi_delta(ratio, epsilon, 2) == 1.0


@pytest.mark.parametrize("dimension", [2, 4, 10])
def test_chi_delta_of_more_dimensions_or_less_noise_is_larger(dimension):
    assert chi_delta(0.2, 1.0, dimension) < chi_delta(0.2, 1.0, dimension + 2)
    assert chi_delta(0.2, 1.0, dimension) < chi_delta(0.21, 1.0, dimension)
    assert chi_delta(0.2, 1.0, dimension) > chi_delta(0.2, 1.1, dimension)


@pytest.mark.parametrize(
    ("ratio", "epsilon"), [(1e-300, 1.0), (1e300, 1.0), (1e-3, 100.0), (1e-8, 1e-8), (1.0, 0.0), (5e-324, 1e-300)]
)
def test_chi_delta_is_a_probability_at_the_extremes(ratio, epsilon):
    assert 0 < chi_delta(ratio, epsilon, 2) <= 1
