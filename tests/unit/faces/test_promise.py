"""What is said of a promise, and of a sensitivity that was sampled."""

from dataclasses import replace

import pytest

import sfumato as sf
from sfumato.faces.promise import sampled, short
from unit.drawing.support import sampled_certificate, statistic


def test_the_guarantee_in_short():
    guarantee = statistic("mean").guarantee
    assert short(replace(guarantee, delta=1e-6)) == "epsilon = 1, delta = 1e-06, replace one row"
    assert short(replace(guarantee, epsilon=None, delta=None, rho=0.5, neighbours="add-remove")) == (
        "rho = 0.5, add or remove one row"
    )
    assert short(replace(guarantee, unit=sf.Person("id", 3), model="local", confidence=0.9)) == (
        "random differential privacy, not differential privacy (gamma = 0.1): epsilon = 1, replace one person (up to 3 "
        "rows), local model"
    )


def test_an_epsilon_is_never_rounded():
    guarantee = statistic("mean").guarantee
    assert short(replace(guarantee, epsilon=1.0000000001)).startswith("epsilon = 1.0000000001,")


@pytest.mark.parametrize("rule", ["dkw", "exchangeable", "pac"])
def test_the_words_of_the_sampler_are_understood(rule):
    names = ("standard (normal); it speaks of nothing", "uniform on Box({'age': (0.0, 110.0)})", "two\nlines")
    for name in names:
        oracle = replace(sf.oracles.gaussian(), name=name)
        plan = sf.sampler_plan(gamma=0.05, rule=rule)
        told = sampled(0.95, sampled_certificate(0.05, rule, oracle).assumptions)
        assert (told.gamma, told.rule, told.oracle) == ("0.05", rule, name)
        assert (told.m, told.k, told.n) == (plan.m, plan.k, 5)
        assert told.how.startswith(f"{rule}: distance {plan.k:,} of {plan.m:,} pairs of tables of 5 records")


def test_a_proved_promise_was_not_sampled_and_other_words_are_no_secret():
    assert sampled(1.0, ("sampled (rule dkw, distance 1 of 1 pairs) from the oracle: x; it speaks",)) is None
    told = sampled(0.9, ("something else",))
    assert (told.gamma, told.rule, told.oracle, told.how) == ("0.1", None, None, "not told")


@pytest.mark.parametrize("gamma", [0.05, 1 / 3, 1 / 21, 0.123456789, 1e-9])
def test_a_gamma_is_never_rounded_down(gamma):
    certificate = replace(sampled_certificate(), confidence=1 - gamma)
    told = float(sampled(certificate.confidence, ()).gamma)
    assert 1 - certificate.confidence <= told * (1 + 1e-12) and told == pytest.approx(gamma, rel=1e-5)
