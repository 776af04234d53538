"""Accountants: exact sums, safe rounding, and the theorems they stand on."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

import sfumato as sf
from sfumato.accounting.compose import ACCOUNTANTS, GRAINS, below, capacities, grains, largest
from sfumato.accounting.events import (
    event_from_json,
    event_of_grant,
    event_of_selection,
    under_relation,
)
from sfumato.checks import as_written
from sfumato.core.gaussian import gaussian_delta, zcdp_delta
from sfumato.errors import LedgerError, ParameterError

BASIC, ZCDP, GAUSSIAN = (ACCOUNTANTS[name] for name in ("basic", "zcdp", "gaussian"))
finite = st.floats(min_value=0, max_value=1e9, allow_nan=False)


@given(finite)
def test_grains_hold_every_double_exactly(value):
    assert Fraction(grains(value), GRAINS) == as_written(value)
    assert below(grains(value)) == value


@given(finite, finite)
def test_below_never_rounds_up(a, b):
    assert as_written(below(grains(a) + grains(b))) <= as_written(a) + as_written(b)


@given(st.lists(st.floats(min_value=1e-6, max_value=2.0), min_size=1, max_size=30))
def test_basic_sums_are_exact(epsilons):
    total = sum(BASIC.cost(event_of_grant(sf.Privacy(epsilon=e)))[0] for e in epsilons)
    assert Fraction(total, GRAINS) == sum(map(as_written, epsilons))


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 5.0, 12.0])
def test_a_pure_epsilon_is_no_worse_than_its_gaussian(epsilon):
    """The trade-off function of pure epsilon lies above that of the mu it is charged for, on a grid."""
    mu = math.sqrt(GAUSSIAN.cost(event_of_grant(sf.Privacy(epsilon=epsilon)))[0] / GRAINS)
    a = np.logspace(-9, -1e-9, 10_001)
    pure = np.maximum.reduce([0 * a, 1 - np.exp(epsilon) * a, np.exp(-epsilon) * (1 - a)])
    assert (pure >= norm.cdf(norm.isf(a) - mu) - 1e-12).all()
    smaller = norm.cdf(norm.isf(a) - 0.99 * mu)
    assert epsilon < 0.1 or (pure < smaller * (1 - 1e-5)).any()  # a hundredth less would not do


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (3.0, 1e-5), (0.1, 1e-9)])
def test_capacities_are_within_the_limit(epsilon, delta):
    limit = sf.Privacy(epsilon=epsilon, delta=delta)
    mu = math.sqrt(GAUSSIAN.capacity(limit)[0] / GRAINS)
    assert gaussian_delta(mu, epsilon) <= delta < gaussian_delta(mu * 1.001, epsilon)
    rho = ZCDP.capacity(limit)[0] / GRAINS
    assert zcdp_delta(rho, epsilon) <= delta < zcdp_delta(rho * 1.001, epsilon)


def test_gaussian_composition_is_exact():
    """Nine Gaussians of one ninth of the square are one Gaussian: the capacity is used up and not exceeded."""
    limit = sf.Privacy(epsilon=1.0, delta=1e-6)
    capacity = GAUSSIAN.capacity(limit)[0]
    rho = below(capacity) / 2 / 9
    each = GAUSSIAN.cost(event_of_grant(sf.Privacy(rho=rho * (1 - 1e-8))))[0]
    assert 9 * each <= capacity < 9 * each * 10001 // 10000
    assert 10 * each > capacity


def test_zcdp_costs():
    cost = lambda event: ZCDP.cost(event)[0] / GRAINS  # noqa: E731
    assert cost(event_of_grant(sf.Privacy(epsilon=0.5))) == pytest.approx(0.125)
    assert cost(event_of_selection("exponential", sf.Privacy(epsilon=0.5), "")) == pytest.approx(0.5**2 / 8)
    assert cost(event_of_selection("permute-and-flip", sf.Privacy(epsilon=0.5), "")) == pytest.approx(0.125)
    assert cost(event_of_grant(sf.Privacy(rho=0.3))) == 0.3


def test_basic_cannot_count_rho_and_says_so():
    assert BASIC.cost(event_of_grant(sf.Privacy(rho=0.3))) is None
    assert BASIC.capacity(sf.Privacy(rho=0.3)) is None


def test_best_splits_delta_evenly_and_uses_what_applies():
    limit = sf.Privacy(epsilon=1.0, delta=3e-6)
    found = capacities(limit, "best")
    assert set(found) == {"basic", "zcdp", "gaussian"}
    assert 3 * Fraction(found["basic"][1], GRAINS) <= as_written(3e-6)
    assert found["gaussian"] <= GAUSSIAN.capacity(sf.Privacy(epsilon=1.0, delta=1e-6))
    assert set(capacities(sf.Privacy(epsilon=1.0), "best")) == {"basic"}
    assert set(capacities(sf.Privacy(rho=1.0), "best")) == {"zcdp"}


@pytest.mark.parametrize("accountant", ["zcdp", "gaussian"])
def test_an_accountant_without_room_for_the_limit_is_refused(accountant):
    with pytest.raises(ParameterError, match=accountant):
        capacities(sf.Privacy(epsilon=1.0), accountant)


@pytest.mark.parametrize("accountant", ACCOUNTANTS.values(), ids=lambda a: a.name)
def test_the_epsilon_that_is_left_would_be_admitted_and_hardly_more(accountant):
    limit = sf.Privacy(epsilon=2.0, delta=1e-6)
    left = accountant.capacity(limit)
    epsilon = accountant.pure_epsilon(left)
    assert accountant.cost(event_of_grant(sf.Privacy(epsilon=epsilon)))[0] <= left[0]
    assert accountant.cost(event_of_grant(sf.Privacy(epsilon=epsilon * 1.0001)))[0] > left[0]


def test_largest():
    assert largest(lambda x: x <= 0.125) == pytest.approx(0.125, rel=1e-11)
    assert largest(lambda x: x <= 37.5) == pytest.approx(37.5, rel=1e-11)
    assert largest(lambda x: False) == 0.0


# --- relations and units ------------------------------------------------------------------------------------


def test_add_remove_counts_double_in_a_replace_account():
    limit = sf.Privacy(epsilon=3.0, delta=1e-5)
    event = event_of_grant(sf.Privacy(epsilon=0.5, delta=1e-6, neighbours="add-remove"))
    counted = under_relation(event, limit)
    assert counted.epsilon == 1.0
    assert counted.delta == pytest.approx((1 + math.exp(0.5)) * 1e-6)
    assert counted.mu == 2 * event.mu
    rho = under_relation(event_of_grant(sf.Privacy(rho=0.25, neighbours="add-remove")), limit)
    assert rho.rho == 1.0


def test_replace_is_refused_in_an_add_remove_account():
    with pytest.raises(LedgerError, match="add-remove"):
        under_relation(event_of_grant(sf.Privacy(epsilon=1.0)), sf.Privacy(epsilon=1.0, neighbours="add-remove"))


def test_units_must_be_the_same():
    person = sf.Privacy(epsilon=1.0, unit=sf.Person("id", 3))
    with pytest.raises(LedgerError, match="unit"):
        under_relation(event_of_grant(person), sf.Privacy(epsilon=1.0))
    with pytest.raises(LedgerError, match="unit"):
        under_relation(event_of_grant(sf.Privacy(epsilon=1.0)), person)
    other = sf.Privacy(epsilon=1.0, unit=sf.Person("id", 9))
    assert under_relation(event_of_grant(person), other).epsilon == 1.0


@pytest.mark.parametrize(
    "privacy",
    [sf.Privacy(epsilon=1.0), sf.Privacy(epsilon=1.0, delta=1e-6), sf.Privacy(rho=0.1, unit=sf.Person("id", 2))],
)
def test_events_survive_plain_text(privacy):
    event = event_of_grant(privacy)
    assert event_from_json(event.to_json()) == event


def test_entries_of_a_newer_version_are_refused():
    text = event_of_grant(sf.Privacy(epsilon=1.0)).to_json().replace('"schema": 1', '"schema": 2')
    with pytest.raises(LedgerError, match="newer"):
        event_from_json(text)
