"""The three rules of the sensitivity sampler against exact probabilities, and releases that must say "random".

Coverage is computed, not simulated, on laws with and without ties; the one simulation states its false-alarm rate.
docs/proofs/sampler.md.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import betainc
from scipy.stats import binom, norm

import sfumato as sf
from sfumato.bases.base import LatticeBasis
from sfumato.bases.statistics.sums import Given
from sfumato.core.box import Periodic
from sfumato.errors import BudgetExceededError, FileFormatError, ParameterError, RandomPrivacyWarning
from sfumato.sampler.plans import SamplerPlan

GAMMAS = (0.5, 0.3, 0.2, 0.1, 0.05, 0.02)


def laws():
    """Laws of a distance as probabilities of its values, ascending; ties are the rule here."""
    for share in (0.001, 0.01, 0.02, 0.049, 0.05, 0.051, 0.1, 0.19, 0.2, 0.21, 0.3, 0.5, 0.501, 0.9):
        yield np.array([1 - share, share])
        yield np.array([(1 - share) / 2, (1 - share) / 2, share / 3, 2 * share / 3])
    for size in (3, 10, 101, 2000):
        yield np.full(size, 1 / size)
    for ratio in (0.5, 0.9):
        weights = ratio ** np.arange(60)
        yield weights / weights.sum()
        yield weights[::-1] / weights.sum()


def short_of(law, m, k):
    """``P(a new distance > the k-th smallest of m)``, exactly: independent draws of a law with ties."""
    up_to = np.minimum(np.cumsum(law), 1.0)
    at_most = binom.sf(k - 1, m, up_to)  # the k-th smallest is at most the value if k or more are
    return float((np.diff(at_most, prepend=0.0) * (1 - up_to)).sum())


def fails(law, m, k, gamma):
    """``P(the k-th smallest is one that more than gamma of all distances exceed)``, over samplings."""
    up_to = np.minimum(np.cumsum(law), 1.0)
    good = np.flatnonzero(1 - up_to <= gamma + 1e-12)[0]
    return float(binom.sf(k - 1, m, up_to[good - 1])) if good else 0.0


def plans(rule):
    for gamma in GAMMAS:
        least = sf.sampler_plan(gamma=gamma, rule=rule)
        yield least
        for more in (1, 7, 40, 300):
            yield sf.sampler_plan(gamma=gamma, m=least.m + more, rule=rule)
    for m in (5, 20, 100):
        yield sf.sampler_plan(m=m, rule=rule)


# --- coverage ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["dkw", "exchangeable"])
def test_a_new_pair_is_further_apart_with_probability_at_most_gamma(rule):
    for plan in plans(rule):
        assert 1 - plan.k / (plan.m + 1) <= plan.gamma + 1e-12  # any law without ties
        for law in laws():
            assert short_of(law, plan.m, plan.k) <= plan.gamma + 1e-12


def test_the_exchangeable_rule_attains_its_gamma_without_ties():
    fine = np.full(20_000, 1 / 20_000)
    for gamma in GAMMAS:
        plan = sf.sampler_plan(gamma=gamma, rule="exchangeable")
        assert short_of(fine, plan.m, plan.k) == pytest.approx(1 / (plan.m + 1), rel=0.01)
        assert short_of(fine, plan.m, plan.k) > 0.8 * gamma


@pytest.mark.parametrize("gamma", GAMMAS)
def test_negative_control_one_rank_lower_or_one_pair_fewer_breaks_the_exchangeable_rule(gamma):
    fine = np.full(20_000, 1 / 20_000)
    plan = sf.sampler_plan(gamma=gamma, rule="exchangeable")
    assert short_of(fine, plan.m, plan.k - 1) > gamma
    assert short_of(fine, plan.m - 1, plan.k - 1) > gamma


@pytest.mark.parametrize("gamma", GAMMAS[1:])
def test_negative_control_far_too_few_pairs_break_dkw(gamma):
    """DKW is generous: it takes a bound that is far too small to break it, such as the quantile without its slack."""
    plan = sf.sampler_plan(gamma=gamma)
    fine = np.full(20_000, 1 / 20_000)
    naive = math.floor(plan.m * (1 - gamma))
    assert short_of(fine, plan.m, naive) > gamma
    few = math.ceil(1 / gamma) - 2
    assert short_of(fine, few, few) > gamma
    with pytest.raises(ParameterError, match=f"at least m={plan.m}"):
        sf.sampler_plan(gamma=gamma, m=plan.m - 1)


def test_dkw_falls_short_with_probability_rho_at_most_and_then_of_gamma_less_rho():
    """The two halves of its proof, without DKW: the k-th distance is at a level with a beta law."""
    for plan in plans("dkw"):
        assert float(betainc(plan.k, plan.m + 1 - plan.k, 1 - plan.gamma + plan.rho)) <= plan.rho
        for law in laws():
            assert fails(law, plan.m, plan.k, plan.gamma - plan.rho) <= plan.rho + 1e-12


def test_no_other_rho_needs_fewer_pairs_or_promises_a_smaller_gamma():
    for gamma in GAMMAS:
        best = sf.sampler_plan(gamma=gamma)
        others = [sf.sampler_plan(gamma=gamma, rho=rho).m for rho in np.geomspace(1e-6, gamma * 0.99, 300)]
        assert best.m == min(best.m, *others)
    for m in (3, 20, 285, 5000):
        best = sf.sampler_plan(m=m)
        slack = [rho + math.sqrt(math.log(1 / rho) / (2 * m)) for rho in np.geomspace(1e-9, 0.5, 2000)]
        assert best.gamma <= min(slack) + 1e-12


def pac_plans():
    for gamma in GAMMAS:
        for rho in (0.001, 0.01, 0.1, 0.35):
            least = sf.sampler_plan(gamma=gamma, rho=rho, rule="pac")
            yield least
            for more in (1, 10, 100, 1000):
                yield sf.sampler_plan(gamma=gamma, m=least.m + more, rho=rho, rule="pac")


def test_a_pac_bound_fails_in_a_share_rho_of_all_samplings_at_most():
    for plan in pac_plans():
        assert float(betainc(plan.k, plan.m + 1 - plan.k, 1 - plan.gamma)) <= plan.rho * (1 + 1e-9)
        for law in laws():
            assert fails(law, plan.m, plan.k, plan.gamma) <= plan.rho * (1 + 1e-9)


def test_negative_control_one_rank_lower_or_one_pair_fewer_breaks_a_pac_bound():
    """The worst law: one distance in gamma, and a little more, is large."""
    for plan in pac_plans():
        law = np.array([1 - plan.gamma - 1e-9, plan.gamma + 1e-9])
        assert fails(law, plan.m, plan.k, plan.gamma) <= plan.rho * (1 + 1e-9)
        if plan.k > 1:
            assert fails(law, plan.m, plan.k - 1, plan.gamma) > plan.rho
        if plan.m == sf.sampler_plan(gamma=plan.gamma, rho=plan.rho, rule="pac").m > 1:
            assert fails(law, plan.m - 1, plan.k - 1, plan.gamma) > plan.rho


def test_a_pac_bound_also_keeps_gamma_on_average():
    """Grunbaum's inequality for the level of the k-th distance if rho is below 1/e; the plan sees to it above that."""
    bold = [sf.sampler_plan(gamma=gamma, rho=0.9, rule="pac") for gamma in GAMMAS]
    more = [sf.sampler_plan(gamma=plan.gamma, m=plan.m + 50, rho=0.9, rule="pac") for plan in bold]
    for plan in (*pac_plans(), *bold, *more, sf.sampler_plan(m=20, rho=0.9, rule="pac")):
        assert 1 - plan.k / (plan.m + 1) <= plan.gamma + 1e-12
    # The control: three pairs keep rho = 0.9 at gamma = 0.05, and fall short of a new one in a quarter of all cases.
    fine = np.full(20_000, 1 / 20_000)
    assert (1 - 0.05) ** 3 <= 0.9 and short_of(fine, 3, 3) > 0.2


def test_all_n_records_at_once_need_n_gamma():
    """One distance for each of n records: the union bound, and laws that attain it as nearly as one likes."""
    n, gamma = 8, 0.02
    plan = sf.sampler_plan(gamma=gamma, rule="exchangeable")
    each = 1 - plan.k / (plan.m + 1)
    level = np.linspace(0, 1, 200_001)[1:]  # of the k-th distance: a beta law with parameters k and m + 1 - k
    density = np.diff(betainc(plan.k, plan.m + 1 - plan.k, np.concatenate([[0.0], level])))
    independent = float(((1 - level**n) * density).sum())  # any of n independent new distances exceeds it
    assert each < independent <= n * each
    assert independent > 0.85 * n * each


# --- as run -----------------------------------------------------------------------------------------------------------


def mean_shortfall(m, k, runs):
    """The mean, over seeds, of the probability that one more pair of normal records is further apart."""
    tails = []
    for seed in range(runs):
        plan = (
            {"m": m, "rule": "exchangeable"} if k == m else {"m": m, "rule": "exchangeable", "gamma": 1 - k / (m + 1)}
        )
        found = sf.sample_sensitivity(
            lambda x: float(x[-1]), sf.oracles.gaussian(), 2, seed=seed, progress=False, **plan
        )
        assert (found.m, found.k) == (m, k)
        tails.append(2 * norm.sf(found.bound / math.sqrt(2)))  # the difference of two normal records
    return float(np.mean(tails))


@pytest.mark.slow
def test_sampled_bounds_fall_short_as_often_as_planned():
    """The share has mean 1/5 and deviation sqrt(4/150): one false alarm in 1e7 runs; 0.03 off is seen."""
    runs = 2500
    allowed = 5.4 * math.sqrt(4 / 150 / runs)
    found = mean_shortfall(4, 4, runs)
    assert abs(found - 0.2) <= allowed
    assert abs(found - 0.23) > allowed and abs(found - 0.17) > allowed
    assert mean_shortfall(4, 3, 300) > 0.3  # the control: one rank lower, 0.4 on average


# --- densities --------------------------------------------------------------------------------------------------------

UNIT = sf.Box([(0, 1)])
PEAK = 1 / (0.1 * math.sqrt(2 * math.pi) * 5000)


@pytest.mark.few(1)
@pytest.mark.parametrize("gamma", [0.1, 0.05])
def test_a_sampled_density_never_exceeds_the_analytic_bound_and_reaches_99_percent(gamma):
    """n = 5000, b = 0.1, 21 lattice points, uniform oracle; one pair in three is that far apart."""
    options = {"gamma": gamma, "box": UNIT, "basis": sf.Bernstein(20), "progress": False}
    bounds = [
        sf.sample_sensitivity(sf.KDE(0.1), sf.oracles.uniform(UNIT), 5000, seed=seed, **options).bound
        for seed in range(60)
    ]
    assert max(bounds) <= PEAK
    assert min(bounds) >= 0.99 * PEAK
    assert len({*bounds}) == 60


def plain_density(box, widths, points, records):
    """A kernel density estimate in plain Python: Gaussian, wrapped on circles, nothing for a missing value."""
    density = []
    for point in points:
        total = 0.0
        for record in records:
            value = 1.0
            for column, width, y, x in zip(box.columns, widths, point, record, strict=True):
                if isinstance(column, Periodic):
                    turn = column.high - column.low
                    nearby = [x + i * turn for i in range(-3, 4)]
                else:
                    nearby = [min(max(x, column.low), column.high)]
                value *= sum(math.exp(-0.5 * ((y - z) / width) ** 2) for z in nearby) / (width * math.sqrt(2 * math.pi))
            total += 0.0 if math.isnan(value) else value
        density.append(total / len(records))
    return np.array(density)


DENSITIES = {
    "interval": (sf.Box([(-1, 4)]), (0.6,), sf.Bernstein(8)),
    "circle": (sf.Box([Periodic(0, 24)]), (2.0,), sf.Bernstein(8)),
    "plane": (sf.Box([(0, 1), Periodic(-1, 1)]), (0.1, 0.3), sf.Bernstein(4)),
}


@pytest.mark.parametrize("where", list(DENSITIES))
def test_what_a_record_adds_is_what_a_plain_density_says(where):
    box, widths, basis = DENSITIES[where]
    assert isinstance(basis, LatticeBasis)
    target, n, rng = sf.KDE(widths), 12, np.random.default_rng(3)
    own = target.influence(box, basis, n)
    points = basis.lattice(box)
    for _ in range(5):
        records = box.low + rng.uniform(-0.1, 1.1, size=(n, box.dimension)) * (box.high - box.low)
        records[0] = np.nan
        other = records.copy()
        other[-1] = box.low + rng.random(box.dimension) * (box.high - box.low)
        whole = [plain_density(box, widths, points, table) for table in (records, other)]
        quick = own(records[-1:])[0] - own(other[-1:])[0]
        scale = np.abs(whole[0] - whole[1]).max()
        assert np.abs(quick - (whole[0] - whole[1])).max() <= 1e-9 * scale
        assert np.abs(target.rehearse(records, box, basis) - whole[0]).max() <= 1e-9 * whole[0].max()
        with_others = own(records).sum(axis=0) - own(other).sum(axis=0)
        assert np.abs(with_others - quick).max() <= 1e-12 * whole[0].max()


# --- random, everywhere -----------------------------------------------------------------------------------------------

PRIVATE = np.linspace(0, 1, 40)


def spread(data):
    return float(np.ptp(np.asarray(data)))


def sampled(gamma=0.1, **options):
    return sf.sample_sensitivity(spread, sf.oracles.uniform(UNIT), 40, gamma, seed=1, progress=False, **options)


def grant(**options):
    return sf.Privacy(epsilon=1.0, **options)


def test_a_release_on_a_sampled_certificate_says_random_everywhere(tmp_path):
    bound = sampled()
    target = sf.Statistic(spread, sensitivity=bound)
    account = sf.Ledger(tmp_path / "book.db").account("clinic", limit=grant(gamma=0.2))
    with pytest.warns(RandomPrivacyWarning, match="random differential privacy"):
        plan = sf.plan(target, UNIT, grant(), 40)
    with pytest.warns(RandomPrivacyWarning, match="random differential privacy"):
        release = sf.release(target, PRIVATE, UNIT, grant(), ledger=account)
    release.save(tmp_path / "spread.sfm")
    loaded = sf.load(tmp_path / "spread.sfm")
    for promise in (plan.guarantee, release.guarantee, loaded.guarantee):
        assert promise.confidence == 0.9
        assert str(promise).startswith("random ")
        assert promise.assumptions[0] == bound.assumptions[0]
        for part in ("random differential privacy only, gamma 0.1", "rule dkw", "uniform on", "40 records"):
            assert part in str(promise)
    assert "random" in repr(release) and "random" in repr(loaded)
    assert (loaded.law.certificate.known, loaded.law.certificate.confidence) == ("sampled", 0.9)
    (entry,) = account.history()
    assert entry.random and entry.event.confidence == 0.9
    with pytest.raises(BudgetExceededError):
        sf.release(sf.Statistic("mean"), PRIVATE, UNIT, grant(), ledger=account)  # the same epsilon is spent once


def test_differential_privacy_that_was_demanded_is_not_sampled():
    target = sf.Statistic(spread, sensitivity=sampled())
    for gamma in (0.0, 0.05):
        with pytest.raises(ParameterError, match="only sampled"):
            sf.release(target, PRIVATE, UNIT, grant(gamma=gamma))
    with pytest.raises(ParameterError, match="one row"):
        target.certificate(Given(1), UNIT, None, grant(unit=sf.Person("who", max_rows=2)))
    with pytest.raises(ParameterError, match="neighbours"):
        sf.release(target, PRIVATE, UNIT, grant(neighbours="add-remove", gamma=0.1))


def test_negative_control_a_file_that_hides_it_is_refused(tmp_path):
    release = sf.release(sf.Statistic(spread, sensitivity=sampled()), PRIVATE, UNIT, grant(gamma=0.1))
    path = tmp_path / "spread.sfm"
    release.save(path)
    honest = path.read_bytes()
    lie = honest.replace(b'\\"confidence\\": 0.9', b'\\"confidence\\": 1.0', 1)
    assert lie != honest
    path.write_bytes(lie)
    with pytest.raises(FileFormatError):
        sf.load(path)


def test_an_enforced_range_that_is_narrower_is_differential_privacy_proper():
    """Nothing sampled is left in it: the width of the range holds for every pair."""
    release = sf.release(sf.Statistic(spread, sensitivity=sampled(), range=(0, 1e-4)), PRIVATE, UNIT, grant(gamma=0.0))
    assert (release.guarantee.confidence, release.law.certificate.known) == (1.0, "enforced")


def test_plans_say_which_rule_they_follow():
    assert isinstance(sf.sampler_plan(gamma=0.1), SamplerPlan)
    assert str(sf.sampler_plan(gamma=0.1, rule="exchangeable")).startswith("exchangeable: distance 9 of 9 pairs")
