"""How many pairs for how much confidence: the reference table, the three rules against their definitions, refusals."""

import csv
import math
from fractions import Fraction
from pathlib import Path

import pytest
from scipy.stats import binom

import sfumato as sf
from sfumato.checks import as_written
from sfumato.errors import ParameterError, ParameterTypeError

REFERENCE = Path(__file__).parents[4] / "shared" / "reference" / "diffpriv_sampler_config.csv"
RULES = ["dkw", "exchangeable", "pac"]


def reference_rows():
    if not REFERENCE.exists():
        return []
    with REFERENCE.open() as file:
        return list(csv.DictReader(file))


def asked(row):
    """What was given to the package, in the words of this one."""
    values = {"gamma": float(row["gamma"]), "m": int(row["m"])}
    return {name: values[name] for name in row["given"].split("+")}


# --- the reference table ---------------------------------------------------------------------------------------------


@pytest.mark.skipif(not REFERENCE.exists(), reason=f"needs the shared reference figures ({REFERENCE})")
def test_the_reference_table_is_whole():
    assert len(reference_rows()) == 29


@pytest.mark.parametrize("row", reference_rows(), ids=lambda row: f"{row['given']}-{row['m'].strip()}-{row['gamma']}")
def test_every_row_of_the_reference(row):
    plan = sf.sampler_plan(**asked(row))
    assert plan.m == int(row["m"])
    assert plan.k == int(row["k"])
    assert plan.rho == pytest.approx(float(row["rho"]), abs=1e-10, rel=0)
    assert plan.gamma == pytest.approx(float(row["gamma"]), abs=1e-10, rel=0)
    assert plan.rule == "dkw"


# --- the rules against their definitions -----------------------------------------------------------------------------


def failing(m, k, gamma, rho):
    """The probability that the k-th of m distances falls short of the 1 - gamma + rho quantile, by DKW-Massart."""
    level = k / m - (1 - gamma + rho)
    return math.exp(-2 * m * max(level, 0.0) ** 2)


@pytest.mark.parametrize("gamma", [0.5, 0.33, 0.1, 0.05, 0.011])
@pytest.mark.parametrize("more", [0, 1, 37, 4000])
def test_dkw_keeps_its_promise_and_wastes_nothing(gamma, more):
    """The sampling fails with at most rho, the rest with at most gamma - rho; one rank lower would not do."""
    plan = sf.sampler_plan(gamma=gamma, m=sf.sampler_plan(gamma=gamma).m + more)
    assert failing(plan.m, plan.k, gamma, plan.rho) <= plan.rho * (1 + 1e-9)
    assert failing(plan.m, plan.k - 1, gamma, plan.rho) > plan.rho


@pytest.mark.parametrize("gamma", [0.5, 0.33, 0.1, 0.05, 0.011])
def test_dkw_finds_the_least_number_of_pairs(gamma):
    plan = sf.sampler_plan(gamma=gamma)
    assert sf.sampler_plan(m=plan.m).gamma <= gamma
    assert plan.m == 1 or sf.sampler_plan(m=plan.m - 1).gamma > gamma


@pytest.mark.parametrize("m", [2, 10, 285, 10_000])
def test_dkw_takes_the_best_rho(m):
    plan = sf.sampler_plan(m=m)
    for factor in (0.9, 1.1):
        assert sf.sampler_plan(m=m, rho=plan.rho * factor).gamma > plan.gamma


def test_dkw_keeps_a_given_rho():
    plan = sf.sampler_plan(gamma=0.1, rho=0.01)
    assert (plan.rho, plan.k) == (0.01, plan.m)
    assert plan.m == math.ceil(math.log(100) / (2 * 0.09**2)) == 285
    assert sf.sampler_plan(gamma=0.1, m=500, rho=0.01).rho == 0.01


@pytest.mark.parametrize(("gamma", "m"), [(0.5, 1), (0.3, 3), (0.1, 9), (0.05, 19), (0.01, 99), (0.001, 999)])
def test_exchangeable_needs_one_over_gamma_pairs(gamma, m):
    plan = sf.sampler_plan(gamma=gamma, rule="exchangeable")
    assert (plan.m, plan.k, plan.rho) == (m, m, None)
    assert sf.sampler_plan(m=m, rule="exchangeable").gamma == pytest.approx(1 / (m + 1))


@pytest.mark.parametrize("gamma", [0.01, 0.07, 0.1, 0.3, 0.35, 0.5, 0.7, 0.99])
def test_exchangeable_keeps_its_promise_exactly(gamma):
    """A new distance is as likely as any other to be among the m + 1 - k largest of m + 1."""
    least = sf.sampler_plan(gamma=gamma, rule="exchangeable").m
    for m in range(least, least + 200):
        plan = sf.sampler_plan(gamma=gamma, m=m, rule="exchangeable")
        assert 1 - Fraction(plan.k, m + 1) <= as_written(gamma)
        assert plan.k <= 2 or 1 - Fraction(plan.k - 2, m + 1) > as_written(gamma)


@pytest.mark.parametrize(("gamma", "rho", "m"), [(0.05, 0.01, 90), (0.1, 0.01, 44), (0.5, 0.5, 1), (0.05, 0.001, 135)])
def test_pac_needs_so_many_pairs(gamma, rho, m):
    plan = sf.sampler_plan(gamma=gamma, rho=rho, rule="pac")
    assert (plan.m, plan.k, plan.gamma, plan.rho) == (m, m, gamma, rho)
    assert (1 - gamma) ** m <= rho < (1 - gamma) ** (m - 1)


def test_pac_fails_once_in_a_hundred_unless_told_otherwise():
    assert sf.sampler_plan(gamma=0.05, rule="pac").rho == 0.01
    alone = sf.sampler_plan(m=90, rule="pac")
    assert (1 - alone.gamma) ** 90 == pytest.approx(0.01)


def test_pac_with_both_says_how_often_it_fails():
    plan = sf.sampler_plan(gamma=0.05, m=60, rule="pac")
    assert (plan.k, plan.rho) == (60, pytest.approx(0.95**60))


@pytest.mark.parametrize("m", [90, 91, 200, 1000, 5000])
@pytest.mark.parametrize("rho", [0.01, 0.1, 0.9])
def test_pac_takes_the_least_rank_that_holds(m, rho):
    """The k-th smallest lies below the 1 - gamma quantile if k or more of m pairs do: at most rho, one less is more.

    And the new pair alone exceeds it with gamma at most, so that a large rho excuses nothing.
    """
    plan = sf.sampler_plan(gamma=0.05, m=m, rho=rho, rule="pac")
    marginal = sf.sampler_plan(gamma=0.05, m=m, rule="exchangeable").k
    assert binom.sf(plan.k - 1, m, 0.95) <= rho
    assert plan.k == marginal or rho < binom.sf(plan.k - 2, m, 0.95)
    assert plan.k >= marginal


def test_a_large_rho_excuses_no_bound():
    assert sf.sampler_plan(gamma=0.05, rho=0.99, rule="pac").m == 19
    assert sf.sampler_plan(m=19, rho=0.99, rule="pac").gamma == pytest.approx(0.05)
    with pytest.raises(ParameterError, match=r"m=18 pairs are too few for gamma=0.05.*rule 'pac' needs at least m=19"):
        sf.sampler_plan(gamma=0.05, m=18, rho=0.99, rule="pac")


@pytest.mark.parametrize("gamma", [0.5, 0.1, 0.05, 0.01])
def test_the_same_promise_needs_far_fewer_exchangeable_pairs(gamma):
    few, many = (sf.sampler_plan(gamma=gamma, rule=rule).m for rule in ("exchangeable", "dkw"))
    assert 8 * few <= many


@pytest.mark.parametrize("rule", RULES)
def test_more_pairs_are_never_worse(rule):
    gammas = [sf.sampler_plan(m=m, rule=rule).gamma for m in range(2, 300)]
    assert gammas == sorted(gammas, reverse=True)


@pytest.mark.parametrize("rule", RULES)
def test_a_plan_is_public_text_and_does_not_change(rule):
    plan = sf.sampler_plan(gamma=0.1, m=400, rule=rule)
    assert isinstance(plan, sf.SamplerPlan)
    assert str(plan).startswith(f"{rule}: distance {plan.k} of 400 pairs, gamma 0.1")
    assert ("rho" in str(plan)) == (rule != "exchangeable")
    with pytest.raises(AttributeError):
        plan.m = 3


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("gamma", [0, 1, -0.1, 1.5, math.inf, math.nan])
def test_gamma_must_lie_between_0_and_1(gamma, rule):
    with pytest.raises(ParameterError, match=f"gamma must .*got gamma={gamma!r}"):
        sf.sampler_plan(gamma=gamma, rule=rule)


@pytest.mark.parametrize("rho", [0, 1, -0.1, 1.5, math.inf, math.nan])
@pytest.mark.parametrize("rule", ["dkw", "pac"])
def test_rho_must_lie_between_0_and_1(rho, rule):
    with pytest.raises(ParameterError, match=f"rho must .*got rho={rho!r}"):
        sf.sampler_plan(gamma=0.1, rho=rho, rule=rule)


@pytest.mark.parametrize("wrong", ["0.1", None, True, [0.1]])
def test_numbers_must_be_numbers(wrong):
    if wrong is not None:
        with pytest.raises(ParameterTypeError, match="gamma must be a number"):
            sf.sampler_plan(gamma=wrong)
        with pytest.raises(ParameterTypeError, match="rho must be a number"):
            sf.sampler_plan(gamma=0.1, rho=wrong)
        with pytest.raises(ParameterTypeError, match="m must be a whole number"):
            sf.sampler_plan(m=wrong)


@pytest.mark.parametrize("m", [0, -3])
def test_there_must_be_pairs(m):
    with pytest.raises(ParameterError, match=f"m must be at least 1, got m={m}"):
        sf.sampler_plan(m=m)


def test_a_plan_needs_gamma_or_m():
    with pytest.raises(ParameterError, match=r"give gamma .* m .* or both"):
        sf.sampler_plan()
    with pytest.raises(ParameterError, match="give gamma"):
        sf.sampler_plan(rho=0.01)


@pytest.mark.parametrize("rule", ["DKW", "", None, 3])
def test_the_rule_must_be_known(rule):
    with pytest.raises(ParameterError, match="rule must be one of 'dkw', 'exchangeable', 'pac'"):
        sf.sampler_plan(gamma=0.1, rule=rule)


@pytest.mark.parametrize("gamma", [0.5, 0.1, 0.05])
@pytest.mark.parametrize("rule", RULES)
def test_too_few_pairs_say_the_least(gamma, rule):
    more = {"rho": 0.01} if rule == "pac" else {}
    least = sf.sampler_plan(gamma=gamma, rule=rule, **more).m
    sf.sampler_plan(gamma=gamma, m=least, rule=rule, **more)
    if least > 1:
        with pytest.raises(
            ParameterError, match=f"m={least - 1} pairs are too few .*needs at least m={least}"
        ) as error:
            sf.sampler_plan(gamma=gamma, m=least - 1, rule=rule, **more)
        assert repr(rule) in str(error.value)


def test_one_pair_says_nothing_by_dkw():
    with pytest.raises(ParameterError, match=r"m=1 pairs are too few .*sample more"):
        sf.sampler_plan(m=1)


def test_dkw_needs_a_rho_of_at_most_a_half():
    """Massart's constant holds there only."""
    assert sf.sampler_plan(gamma=0.9, rho=0.5).rho == 0.5
    with pytest.raises(ParameterError, match=r"rho must be at most 1/2 .*got rho=0.6"):
        sf.sampler_plan(gamma=0.9, rho=0.6)


@pytest.mark.parametrize("m", [None, 10_000])
def test_dkw_needs_a_rho_below_gamma(m):
    with pytest.raises(ParameterError, match=r"rho must be below gamma=0.1 .*got rho=0.1"):
        sf.sampler_plan(gamma=0.1, m=m, rho=0.1)


def test_exchangeable_has_no_rho():
    with pytest.raises(ParameterError, match=r"'exchangeable' has no rho, got rho=0.01"):
        sf.sampler_plan(gamma=0.1, rho=0.01, rule="exchangeable")


def test_a_gamma_beyond_reach_is_said():
    with pytest.raises(ParameterError, match="needs more than 1e19 pairs"):
        sf.sampler_plan(gamma=1e-200)
