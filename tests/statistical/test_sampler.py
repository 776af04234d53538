"""The sampler's law is that of the R package diffpriv, and its promises hold.

Comparisons are within seven standard errors, each wrong with probability below 1e-10 (below 1e-9 for counts): the file
below 1e-8. A law that is 3 % wider is noticed.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from harness.laws import ALPHA, fits_distribution
from scipy.special import ndtr
from scipy.stats import binom

import sfumato as sf

# The package's README: the mean of n = 5 standard normals, gamma = 0.1 (so m = k = 285).
REPEATS, MEAN, DEVIATION = 400, 0.877, 0.100
SPREAD = math.sqrt(2) / 5  # one record moves the mean by the difference of two normals, over five


def bounds(repeats, scale=1.0, m=285, rule="dkw", seen=None, **options):
    """That many independent sampled sensitivities; ``seen`` collects the distances behind them."""
    oracle = sf.oracles.gaussian(0.0, scale)

    def far(one, two):
        if seen is not None:
            seen.append(abs(one - two))
        return abs(one - two)

    return np.array(
        [
            sf.sample_sensitivity(
                lambda x: float(x.sum() / 5), oracle, 5, m=m, rule=rule, norm=far, stands_for="l1", seed=seed,
                progress=False, **options,
            ).bound
            for seed in range(repeats)
        ]
    )  # fmt: skip


def one_distance(x):
    """The law of one distance: the size of a normal number."""
    return np.where(x > 0, 2 * ndtr(np.maximum(x, 0) / SPREAD) - 1, 0.0)


def largest(m):
    """The law of the largest of m distances."""
    return lambda x: one_distance(x) ** m


@pytest.mark.slow
def test_the_readme_example_has_the_packages_law():
    distances = []
    found = bounds(REPEATS, gamma=0.1, seen=distances)
    assert abs(found.mean() - MEAN) < 7 * DEVIATION / math.sqrt(REPEATS)
    # The standard error of a deviation, with the kurtosis of an extreme value (5.4): sd sqrt((5.4 - 1) / 4 N).
    assert abs(found.std(ddof=1) - DEVIATION) < 7 * DEVIATION * math.sqrt(4.4 / (4 * REPEATS))
    assert len(distances) == REPEATS * 285
    assert fits_distribution(np.array(distances), one_distance)
    assert fits_distribution(found, largest(285), cells=16)


@pytest.mark.slow
def test_a_law_three_percent_wider_is_noticed():
    """In 200 samplings of 285 pairs: 57,000 distances pin their scale down to 0.3 %."""
    distances = []
    bounds(200, scale=1.03, seen=distances)
    assert not fits_distribution(np.array(distances), one_distance, cells=16)


@pytest.mark.slow
def test_bounds_three_percent_wider_are_noticed():
    """In 2,000 samplings: the mean of the bounds is known to 0.27 %."""
    grid = np.linspace(0, 3, 300_001)
    mean = float((1 - largest(285)(grid)).sum()) * grid[1]
    found = bounds(2000)
    error = found.std(ddof=1) / math.sqrt(len(found))
    assert abs(found.mean() - mean) < 7 * error
    assert abs(1.03 * found.mean() - mean) > 7 * error


def test_the_packages_figures_are_those_of_the_exact_law():
    """Of the largest of 285 distances, to the sampling error of the figures that were printed."""
    grid = np.linspace(0, 3, 300_001)
    survival = 1 - largest(285)(grid)
    mean, second = survival.sum() * grid[1], (2 * grid * survival).sum() * grid[1]
    assert mean == pytest.approx(MEAN, abs=3 * DEVIATION / math.sqrt(REPEATS))
    assert math.sqrt(second - mean**2) == pytest.approx(DEVIATION, abs=0.01)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("rule", "m", "gamma"), [("exchangeable", 9, 0.1), ("exchangeable", 30, 0.2), ("dkw", 40, 0.3)]
)
def test_a_new_pair_exceeds_the_bound_no_more_often_than_promised(rule, m, gamma):
    """Over pair and sampling together; for exchangeable pairs hardly less often either."""
    repeats = 1500
    found = bounds(repeats, m=m, rule=rule, gamma=gamma)
    fresh = np.abs(np.random.default_rng(99).normal(scale=SPREAD, size=repeats))
    over = int((fresh > found).sum())
    assert over <= binom.isf(ALPHA, repeats, gamma)
    if rule == "exchangeable":
        plan = sf.sampler_plan(gamma=gamma, m=m, rule=rule)
        assert over >= binom.ppf(ALPHA, repeats, 1 - plan.k / (m + 1))


@pytest.mark.slow
def test_pac_fails_in_no_more_samplings_than_promised():
    """Of 1,000 samplings, those whose bound is below the 0.8 quantile of the distances."""
    repeats, gamma, rho = 1000, 0.2, 0.1
    plan = sf.sampler_plan(gamma=gamma, rho=rho, m=40, rule="pac")
    found = bounds(repeats, m=40, rule="pac", gamma=gamma, rho=rho)
    quantile = SPREAD * 1.2815515655446004  # of the size of a normal number, at 0.8
    failed = int((found < quantile).sum())
    assert failed <= binom.isf(ALPHA, repeats, rho)
    exact = binom.sf(plan.k - 1, 40, 1 - gamma)
    assert binom.ppf(ALPHA, repeats, exact) <= failed


@pytest.mark.slow
def test_distances_of_densities_have_the_same_law_by_either_way():
    """Whole tables or replaced records alone: 400 bounds each, compared by their means."""
    box, basis = sf.Box([(0, 1)]), sf.Bernstein(20)
    nodes = np.linspace(0, 1, 21)

    def density(records):
        return np.exp(-0.5 * ((nodes[:, None] - records) / 0.1) ** 2).mean(axis=1) / (0.1 * math.sqrt(2 * math.pi))

    def many(target, **lattice):
        return np.array(
            [
                sf.sample_sensitivity(
                    target, sf.oracles.uniform(box), 8, m=5, gamma=0.5, rule="exchangeable", norm="linf", seed=seed,
                    progress=False, **lattice,
                ).bound
                for seed in range(400)
            ]
        )  # fmt: skip

    whole, quick = many(density), many(sf.KDE(0.1), box=box, basis=basis)
    assert abs(whole.mean() - quick.mean()) < 7 * math.hypot(whole.std(), quick.std()) / math.sqrt(400)
    peak = 1 / (0.1 * math.sqrt(2 * math.pi)) / 8
    assert max(whole.max(), quick.max()) <= peak * (1 + 1e-12)
