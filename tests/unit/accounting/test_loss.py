"""Privacy loss distributions of a fixed list: never below the truth, and close to it."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from sfumato.accounting.loss import Stock, delta_of, epsilon_of
from sfumato.core.gaussian import gaussian_delta, zcdp_delta
from sfumato.errors import ParameterError


def exact(epsilon: float, atoms, mu: float = 0.0) -> float:
    """The delta of randomised responses and one Gaussian together, by adding up all outcomes."""
    losses, weights = np.zeros(1), np.ones(1)
    infinite = 1.0
    for e, d, count in atoms:
        infinite *= (1 - d) ** count
        p = 1 / (1 + math.exp(-e))
        k = np.arange(count + 1)
        chance = np.array([math.comb(count, int(i)) * p**i * (1 - p) ** (count - i) for i in k])
        losses = np.add.outer(losses, e * (2 * k - count)).ravel()
        weights = np.multiply.outer(weights, chance).ravel()
    if mu:
        rest = np.array([gaussian_delta(mu, epsilon - x) if epsilon > x else _below(mu, epsilon - x) for x in losses])
    else:
        rest = np.where(losses > epsilon, -np.expm1(np.minimum(epsilon - losses, 0.0)), 0.0)
    return 1 - infinite + infinite * math.fsum(weights * rest)


def _below(mu: float, epsilon: float) -> float:
    """The profile of a Gaussian at a negative epsilon, by its symmetry."""
    return 1 - math.exp(epsilon) + math.exp(epsilon) * gaussian_delta(mu, -epsilon)


CASES = [
    (((0.1, 0.0, 64),), 0.0),
    (((0.1, 0.0, 1),), 0.0),
    (((0.0123, 0.0, 300),), 0.0),
    (((0.5, 0.0, 20), (0.7071, 0.0, 9)), 0.0),
    (((2.0, 0.0, 3),), 0.0),
    (((0.3, 1e-8, 10),), 0.0),
    (((0.1, 0.0, 30),), 0.5),
    ((), 1.3),
    (((0.25, 1e-9, 5), (0.4, 0.0, 5)), 0.2),
]


@pytest.mark.few(4)
@pytest.mark.parametrize(("atoms", "mu"), CASES)
def test_never_below_the_truth_and_close_to_it(atoms, mu):
    stock = Stock(atoms, gaussian=mu**2)
    most = sum(e * n for e, _, n in atoms) + 6 * mu
    for epsilon in np.linspace(0.0, most, 9):
        truth, found = exact(float(epsilon), atoms, mu), delta_of(stock, float(epsilon))
        near = exact(float(epsilon) - 1e-3, atoms, mu)  # the grid moves losses a little
        assert truth <= found * (1 + 1e-12) <= near * 1.02 + 2e-8


def test_a_distribution_that_is_less_is_caught():
    """The comparison above finds an accountant that takes three per cent too little."""
    atoms = ((0.1, 0.0, 64),)
    wrong = Stock(((0.097, 0.0, 64),))
    assert any(exact(e, atoms) > delta_of(wrong, e) * (1 + 1e-12) for e in np.linspace(0.0, 6.0, 9))


@pytest.mark.few(1)
@pytest.mark.parametrize("rho", [0.001, 0.05, 0.5, 3.0])
def test_concentrated_promises_dominate_what_is_concentrated(rho):
    """A Gaussian and a randomised response of that rho are below, and the conversion alone is not far above."""
    stock = Stock(rho=rho)
    for epsilon in np.linspace(0.0, rho + 6 * math.sqrt(2 * rho), 12):
        found = delta_of(stock, float(epsilon))
        assert gaussian_delta(math.sqrt(2 * rho), float(epsilon)) <= found
        assert exact(float(epsilon), ((math.sqrt(2 * rho), 0.0, 1),)) <= found * (1 + 1e-9)
        assert found <= min(1.0, zcdp_delta(rho, float(epsilon))) * 1.1 + 1e-9


def test_composed_concentrated_promises_dominate_composed_gaussians():
    both = Stock(((0.2, 0.0, 10),), rho=0.125)
    for epsilon in (0.5, 1.0, 2.0):
        assert exact(epsilon, ((0.2, 0.0, 10),), 0.5) <= delta_of(both, epsilon)


def test_epsilon_is_where_delta_is_enough():
    stock = Stock(((0.1, 0.0, 64),), gaussian=0.04)
    epsilon = epsilon_of(stock, 1e-6)
    assert delta_of(stock, epsilon) <= 1e-6 < delta_of(stock, epsilon - 2e-3)


def test_more_is_never_less():
    found = [epsilon_of(Stock(((0.1, 0.0, n),)), 1e-6) for n in (1, 2, 8, 64, 65)]
    assert all(a < b for a, b in itertools.pairwise(found))
    assert epsilon_of(Stock(), 1e-6) == 0.0


def test_a_delta_that_is_roundoff_is_refused():
    with pytest.raises(ParameterError, match="too small for privacy loss distributions"):
        epsilon_of(Stock(((0.1, 0.0, 64),)), 1e-13)


def _rho_of(first: np.ndarray, second: np.ndarray) -> float:
    """The least rho for which two laws are concentrated, in either order."""
    orders = (1 + np.geomspace(1e-4, 1e6, 3000))[:, None]
    found = []
    for p, q in ((first, second), (second, first)):
        terms = np.log(p) + (orders - 1) * np.log(p / q)
        most = terms.max(axis=1, keepdims=True)
        sums = (most + np.log(np.exp(terms - most).sum(axis=1, keepdims=True))) / (orders - 1) / orders
        found.append(max(float(sums.max()), float((p * np.log(p / q)).sum())))
    return max(found)


@pytest.mark.few(1)
@pytest.mark.parametrize("seed", range(4))
def test_no_law_that_is_concentrated_is_worse(seed):
    """Laws on a few points, with rare ones among them, in both orders and at losses of either sign."""
    rng = np.random.default_rng(seed)
    p = np.maximum(rng.dirichlet(np.full(3, 0.5)), 10.0 ** -rng.integers(3, 8))
    p /= p.sum()
    q = p * np.exp(rng.normal(size=3) * rng.choice([0.1, 0.5, 1.0]))
    q /= q.sum()
    stock = Stock(rho=_rho_of(p, q) * (1 + 1e-4))
    for a, b in ((p, q), (q, p)):
        most = float(np.log(a / b).max())
        for epsilon in (-0.5 * most, 0.0, 0.3 * most, 0.6 * most, 0.9 * most):
            assert np.maximum(a - math.exp(epsilon) * b, 0).sum() <= delta_of(stock, epsilon) * (1 + 1e-9)
