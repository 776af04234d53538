"""What the noise really delivers: exact enumeration of its law, and releases attacked on a worst pair.

Each empirical test is wrong with probability at most 1e-9.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from harness.empirical import epsilon_lower_bound
from harness.exact import hockey_stick, lattice_law, max_log_ratio, shifted
from harness.laws import fits_cells
from mpmath import mp, mpf

import sfumato as sf
from sfumato.core.calibration import calibrate
from sfumato.core.certificate import Certificate
from sfumato.core.gaussian import noise_multiplier
from sfumato.core.mechanism import Private, draw, publish
from sfumato.core.quantize import round_vector
from sfumato.core.sampling import discrete_laplace, l2_knorm, zero_sum


def integer_law(norm, bound, size, privacy, noise="auto"):
    certificate = Certificate(norm, bound, "replace", "enforced", "rounding", exponent=0)
    return calibrate(certificate, size, privacy, noise)[0]


def exact_pmf(law, radius):
    scale = mpf(law.scale.numerator) / law.scale.denominator
    weights = {
        "laplace": lambda x: mp.e ** (-sum(map(abs, x)) / scale),
        "linf": lambda x: mp.e ** (-max(map(abs, x)) / scale),
        "gaussian": lambda x: mp.e ** (-sum(v * v for v in x) / (2 * scale)),
        "zero-sum": lambda x: mp.e ** (-(sum(map(abs, x)) + abs(sum(x))) / scale),
    }
    return lattice_law(weights[law.kind], law.size, radius)


# --- exact enumeration ------------------------------------------------------------------------------------


@pytest.mark.few(2)
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
@pytest.mark.parametrize(("norm", "shift"), [("l1", (2, 0)), ("l1", (1, -1)), ("linf", (2, -2)), ("linf", (2, 1))])
def test_pure_noise_loses_exactly_epsilon_at_most(norm, shift, epsilon):
    law = integer_law(norm, 2, 2, sf.Privacy(epsilon=epsilon))
    pmf = exact_pmf(law, 25)
    loss = max_log_ratio(pmf, shifted(pmf, shift))
    assert loss <= epsilon * (1 + mpf(10) ** -15)
    assert loss > 0.99 * epsilon


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-3), (1.0, 1e-6), (8.0, 1e-6), (8.0, 1e-2), (20.0, 1e-9)])
@pytest.mark.parametrize("sensitivity", [1, 3])
def test_discrete_gaussian_delivers_its_delta_exactly(epsilon, delta, sensitivity):
    law = integer_law("l2", sensitivity, 1, sf.Privacy(epsilon=epsilon, delta=delta))
    pmf = exact_pmf(law, int(14 * math.sqrt(law.scale)) + 20)
    assert hockey_stick(pmf, shifted(pmf, (sensitivity,)), epsilon) <= delta


def test_discrete_gaussian_is_private_for_every_direction_of_the_shift():
    law = integer_law("l2", 5, 2, sf.Privacy(epsilon=2.0, delta=1e-3))
    pmf = exact_pmf(law, 40)
    for shift in ((5, 0), (3, 4), (4, -3), (0, 5), (2, 2)):
        assert hockey_stick(pmf, shifted(pmf, shift), 2.0) <= 1e-3


def test_negative_control_analytic_sigma_on_a_coarse_grid_is_caught():
    """The continuous calibration used for the discrete law overspends delta about threefold."""
    epsilon, delta = 8.0, 1e-6
    variance = Fraction(noise_multiplier(epsilon, delta)) ** 2
    law = integer_law("l2", 1, 1, sf.Privacy(epsilon=epsilon, delta=delta))
    coarse = replace(law, scale=variance)
    pmf = exact_pmf(coarse, 60)
    assert hockey_stick(pmf, shifted(pmf, (1,)), epsilon) > 2 * delta


def test_negative_control_classical_gaussian_is_caught_at_large_epsilon():
    """sqrt(2 ln(1.25/delta)) / eps claims 20 at delta = 1e-6 and does not deliver it."""
    epsilon, delta = 20.0, 1e-6
    sigma = 1000 * math.sqrt(2 * math.log(1.25 / delta)) / epsilon
    law = integer_law("l2", 1000, 1, sf.Privacy(epsilon=epsilon, delta=delta))
    classical = replace(law, scale=Fraction(sigma) ** 2)
    pmf = exact_pmf(classical, int(20 * sigma))
    assert hockey_stick(pmf, shifted(pmf, (1000,)), epsilon) > delta


def test_negative_control_halved_noise_is_caught_by_enumeration():
    law = integer_law("linf", 2, 2, sf.Privacy(epsilon=1.0))
    halved = replace(law, scale=law.scale / 2)
    pmf = exact_pmf(halved, 25)
    assert max_log_ratio(pmf, shifted(pmf, (2, 2))) > 1.9


# --- zero-sum noise: what leaves one coefficient enters another, or none ------------------------------------

FLOWS = [(1, -1), (-1, 1), (1, 0), (0, -1), (0, 1)]  # of whole vectors of two coefficients that move by 2 at most


@pytest.mark.few(1)
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_zero_sum_noise_loses_exactly_epsilon_at_most(epsilon):
    law = integer_law("flow", 2, 2, sf.Privacy(epsilon=epsilon))
    assert law.kind == "zero-sum"
    pmf = exact_pmf(law, 25)
    losses = [max_log_ratio(pmf, shifted(pmf, shift)) for shift in FLOWS]
    assert max(losses) <= epsilon * (1 + mpf(10) ** -15)
    assert min(losses) > 0.99 * epsilon


@pytest.mark.parametrize("shift", [(2, 0), (1, 1), (-1, -1)])
def test_negative_control_an_l1_bound_is_too_small_for_zero_sum_noise(shift):
    """Vectors that are 2 apart in L1, but whose sums are too: the flow is 4, and the loss twice what was granted."""
    pmf = exact_pmf(integer_law("flow", 2, 2, sf.Privacy(epsilon=1.0)), 25)
    assert max_log_ratio(pmf, shifted(pmf, shift)) > 1.9


def test_negative_control_halved_zero_sum_noise_is_caught_by_enumeration():
    law = integer_law("flow", 2, 2, sf.Privacy(epsilon=1.0))
    pmf = exact_pmf(replace(law, scale=law.scale / 2), 25)
    assert max_log_ratio(pmf, shifted(pmf, (1, -1))) > 1.9


def fits_the_flow(drawn, scale, radius=4):
    """Whether draws of two coefficients have the enumerated law: cells within the radius, and all that is beyond."""
    law = replace(integer_law("flow", 2, 2, sf.Privacy(epsilon=1.0)), scale=Fraction(scale))
    pmf = {x: float(p) for x, p in exact_pmf(law, 40).items() if max(map(abs, x)) <= radius}
    width = 2 * radius + 1
    places = np.where(
        np.abs(drawn).max(axis=1) <= radius, (drawn[:, 0] + radius) * width + drawn[:, 1] + radius, width**2
    )
    chances = np.array([pmf[x] for x in sorted(pmf)])
    return fits_cells(np.bincount(places, minlength=width**2 + 1), np.append(chances, 1 - chances.sum()))


@pytest.mark.slow
def test_zero_sum_draws_have_the_enumerated_law_and_no_other():
    """20,000 draws; another scale, and independent noise of the same scale, are told apart."""
    drawn = np.array([zero_sum(2, Fraction(3, 2)) for _ in range(20_000)])
    assert fits_the_flow(drawn, Fraction(3, 2))
    assert not fits_the_flow(drawn, Fraction(7, 4))
    assert not fits_the_flow(discrete_laplace(40_000, Fraction(3, 2)).reshape(-1, 2), Fraction(3, 2))


# --- L2 K-norm noise: a real vector, rounded ---------------------------------------------------------------


def rounded_pmf(scale, radius, order=12):
    """The law of the nearest integers to a vector of density proportional to ``exp(-||y||_2 / scale)`` in the plane.

    Each cell's chance is an integral over a square, by Gauss and Legendre's rule on 8 x 8 parts of it: good to 1e-8.
    """
    nodes, weights = np.polynomial.legendre.leggauss(order)
    parts = 8
    places = ((np.arange(parts)[:, None] + (nodes + 1) / 2) / parts - 0.5).ravel()
    weight = np.tile(weights / (2 * parts), parts)
    centres = np.arange(-radius, radius + 1)[:, None] + places
    inner = np.exp(-np.hypot(centres[:, None, :, None], centres[None, :, None, :]) / scale)
    chance = np.einsum("abij,i,j->ab", inner, weight, weight) / (2 * math.pi * scale**2)
    return {(i - radius, j - radius): mpf(float(p)) for (i, j), p in np.ndenumerate(chance)}


SHIFTS = [(2, 0), (0, -2), (1, 1), (-1, 1), (1, 0)]


@pytest.mark.few(1)
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_l2_noise_loses_exactly_epsilon_at_most(epsilon):
    law = integer_law("l2", 2, 2, sf.Privacy(epsilon=epsilon))
    assert law.kind == "l2"
    pmf = rounded_pmf(float(law.scale), 12)
    losses = [max_log_ratio(pmf, shifted(pmf, shift)) for shift in SHIFTS]
    assert max(losses) <= epsilon * (1 + 1e-7)
    assert losses[0] > 0.97 * epsilon


def test_negative_control_halved_l2_noise_is_caught_by_enumeration():
    law = integer_law("l2", 2, 2, sf.Privacy(epsilon=1.0))
    pmf = rounded_pmf(float(law.scale / 2), 12)
    assert max_log_ratio(pmf, shifted(pmf, (2, 0))) > 1.9


def fits_the_plane(drawn, scale, radius=6):
    """Whether draws have the enumerated law: cells within the radius, and all that is beyond."""
    inside = np.abs(drawn).max(axis=1) <= radius
    width = 2 * radius + 1
    places = np.where(inside, (drawn[:, 0] + radius) * width + drawn[:, 1] + radius, width**2)
    chances = [float(p) for p in rounded_pmf(scale, radius).values()]
    return fits_cells(np.bincount(places, minlength=width**2 + 1), np.array([*chances, 1 - sum(chances)]))


@pytest.mark.slow
def test_l2_draws_have_the_enumerated_law_and_no_other():
    """4,000 draws; noise of three quarters the scale is told apart."""
    scale = Fraction(3, 2)
    drawn = np.array([l2_knorm(2, scale) for _ in range(4000)])
    assert fits_the_plane(drawn, 1.5)
    assert not fits_the_plane(drawn, 1.5 / 0.75)


# --- releases attacked on a worst pair --------------------------------------------------------------------

DRAWS = 20_000


def mechanism(level, privacy=None, noise="auto", factor=None, size=3, norm="linf"):
    """A sampler of whole releases of a vector whose every entry is ``level``: 0, or 1 for the neighbour.

    With a ``factor`` the door is left aside: the same rounding, and noise whose scale is wrong by it.
    """
    privacy = privacy or sf.Privacy(epsilon=1.0)
    bound = math.sqrt(size) * (1 + 2.0**-40) if norm == "l2" else 1.0
    certificate = Certificate(norm, bound, "replace", "stated", "bernstein")

    def honest():
        return publish(Private(np.full(size, level), certificate), privacy, noise)[0]

    def broken():
        law = calibrate(certificate, size, privacy, noise)[0]
        scale = law.scale * factor ** (2 if law.kind == "gaussian" else 1)
        return (round_vector(np.full(size, level), law.exponent) + draw(replace(law, scale=scale))) * law.step

    return lambda draws: np.array([(honest if factor is None else broken)() for _ in range(draws)])


HALF = Fraction(1, 2)


STATISTICS = {
    "linf": lambda out: np.abs(out - 1.0).max(axis=1) - np.abs(out).max(axis=1),
    "laplace": lambda out: (np.abs(out - 1.0) - np.abs(out)).sum(axis=1),
    "gaussian": lambda out: out.sum(axis=1),
}


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["linf", "laplace"])
def test_releases_on_a_worst_pair_stay_within_epsilon(noise):
    pair = (mechanism(0.0, noise=noise), mechanism(1.0, noise=noise))
    found = epsilon_lower_bound(*pair, DRAWS, STATISTICS[noise])
    assert 0.5 < found <= 1.0  # what 20,000 draws can show of an epsilon of 1 is 0.65 to 0.85


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["linf", "laplace"])
def test_negative_control_halved_noise_is_caught_by_attack(noise):
    pair = (mechanism(0.0, noise=noise, factor=HALF), mechanism(1.0, noise=noise, factor=HALF))
    assert epsilon_lower_bound(*pair, DRAWS, STATISTICS[noise]) > 1.2


L2 = {"norm": "l2", "size": 2}


def l2_statistic(out):
    """The likelihood ratio of L2 K-norm noise."""
    return np.linalg.norm(out - 1.0, axis=1) - np.linalg.norm(out, axis=1)


@pytest.mark.slow
def test_l2_releases_on_a_worst_pair_stay_within_epsilon():
    """What every pure learner's noise at the door is."""
    pair = mechanism(0.0, **L2), mechanism(1.0, **L2)
    assert 0.5 < epsilon_lower_bound(*pair, DRAWS // 2, l2_statistic) <= 1.0


@pytest.mark.slow
def test_negative_control_halved_l2_noise_is_caught_by_attack():
    pair = mechanism(0.0, factor=HALF, **L2), mechanism(1.0, factor=HALF, **L2)
    assert epsilon_lower_bound(*pair, DRAWS // 2, l2_statistic) > 1.2


@pytest.mark.slow
def test_gaussian_releases_on_a_worst_pair_stay_within_epsilon():
    privacy = sf.Privacy(epsilon=1.0, delta=1e-2)
    pair = [mechanism(level, privacy) for level in (0.0, 1.0)]
    assert epsilon_lower_bound(*pair, DRAWS, STATISTICS["gaussian"], delta=1e-2) <= 1.0


@pytest.mark.slow
def test_negative_control_halved_gaussian_is_caught():
    privacy = sf.Privacy(epsilon=1.0, delta=1e-2)
    pair = [mechanism(level, privacy, factor=HALF) for level in (0.0, 1.0)]
    assert epsilon_lower_bound(*pair, DRAWS, STATISTICS["gaussian"], delta=1e-2) > 1.0


def float_laplace(level):
    """The textbook sampler: double-precision Laplace noise added to a double."""
    rng = np.random.default_rng()
    return lambda draws: level + rng.laplace(scale=1.0, size=draws)


def test_negative_control_a_float_sampler_leaks_through_the_gaps_of_the_float_grid():
    found = epsilon_lower_bound(float_laplace(0.0), float_laplace(1.0), DRAWS)
    assert found > 3.0


def test_our_sampler_does_not_leak_through_the_float_grid():
    first = lambda draws: sf.noise.laplace(np.zeros(draws), l1=1.0, epsilon=1.0)  # noqa: E731
    second = lambda draws: sf.noise.laplace(np.ones(draws), l1=1.0, epsilon=1.0)  # noqa: E731
    assert epsilon_lower_bound(first, second, DRAWS) <= 1.0


@pytest.mark.slow
def test_a_whole_black_box_release_stays_within_epsilon():
    """End to end through sf.release, on the pair of tables that moves every lattice value by S."""
    box, basis = sf.Box([(0, 1)]), sf.Bernstein(degree=2)
    target = sf.BlackBox(lambda data: lambda points: np.full(len(points), data.mean()), sensitivity=0.25)

    def sampler(data):
        return lambda draws: np.array(
            [sf.release(target, data, box, sf.Privacy(epsilon=1.0), basis=basis).coefficients for _ in range(draws)]
        )

    statistic = lambda out: np.abs(out - 0.25).max(axis=1) - np.abs(out).max(axis=1)  # noqa: E731
    pair = sampler(np.zeros(4)), sampler(np.array([1.0, 0.0, 0.0, 0.0]))
    assert 0.5 < epsilon_lower_bound(*pair, 6000, statistic) <= 1.0
