"""``sf.private_pca``: components of records, from any table, paid for like a release."""

import math
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.errors import BudgetExceededError, ParameterError, SchemaError

RNG = np.random.default_rng(11)
N = 30_000
ALONG = np.array([[0.6, 0.6, 0.3, -0.3, 0.0, 0.3]])
RECORDS = np.clip(0.5 * RNG.standard_normal((N, 1)) @ ALONG + 0.05 * RNG.standard_normal((N, 6)) + 0.2, -1, 1)
BOX = sf.Box(dict.fromkeys("abcdef", (-10, 10)))
DATA = dict(zip("abcdef", 10 * RECORDS.T, strict=True))
VALUES, VECTORS = np.linalg.eigh(np.cov(RECORDS.T, bias=True))
GRANTS = [
    sf.Privacy(epsilon=2.0),
    sf.Privacy(1.0, 1e-6),
    sf.Privacy(rho=0.3, neighbours="add-remove"),
    sf.Privacy(2.0, 1e-6, unit=sf.Person("who", 1)),
]


@pytest.mark.parametrize("noise", ["covariance", "products"])
@pytest.mark.parametrize("grant", GRANTS, ids=str)
def test_components_are_those_of_the_records(noise, grant):
    """Noise of at most .01 in a matrix whose variances are .24 and .0025: wrong with probability below 1e-9."""
    data = {**DATA, "who": np.arange(N)}
    found = sf.private_pca(data, BOX, grant, 1, noise=noise, iterations=3)
    assert found.basis.noise == noise
    assert abs(float((found.components @ VECTORS[:, -1])[0])) > 0.9
    assert found.values[0] == pytest.approx(VALUES[-1], rel=0.3)
    assert found.spread == pytest.approx(np.sqrt(found.values))
    assert found.mean == pytest.approx(10 * RECORDS.mean(axis=0), abs=1.0)
    assert str(found.guarantee.epsilon or found.guarantee.rho) in str(grant)


@pytest.mark.parametrize("make", [pd.DataFrame, pa.table])
def test_of_any_table(make):
    assert sf.private_pca(make(DATA), BOX, GRANTS[0], 2).components.shape == (2, 6)


def test_it_is_charged_once_and_refused_where_the_account_is_empty(tmp_path):
    account = sf.Ledger(tmp_path / "l.sqlite").account("c", limit=sf.Privacy(epsilon=1.5))
    found = sf.private_pca(DATA, BOX, sf.Privacy(epsilon=1.0), 2, noise="products", ledger=account)
    assert found.receipt.entry == 1
    with pytest.raises(BudgetExceededError):
        sf.private_pca(DATA, BOX, sf.Privacy(epsilon=1.0), 2, noise="products", ledger=account)


def test_auto_takes_products_where_columns_are_many_and_components_few():
    def chosen(columns, rank, grant):
        return sf.plan(sf.PrincipalComponents(rank), sf.Box([(0, 1)] * columns), grant, 10_000).basis.noise

    assert chosen(6, 1, GRANTS[0]) == chosen(100, 10, GRANTS[0]) == chosen(400, 1, GRANTS[1]) == "covariance"
    assert chosen(300, 1, GRANTS[0]) == chosen(2000, 1, GRANTS[0]) == "products"


def test_a_plan_says_what_noise_costs_and_how_the_grant_is_split():
    plan = sf.plan(sf.PrincipalComponents(2, noise="products"), BOX, GRANTS[0], N)
    assert "in each of 3 products of equal parts of the grant" in str(plan)
    assert plan.mean_noise_error < plan.noise_error
    assert sf.plan(sf.PrincipalComponents(2, noise="products"), BOX, GRANTS[2]).law.kind == "gaussian"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"rank": 0}, "rank"),
        ({"rank": 7}, "rank must be at most the number of columns, 6"),
        ({"iterations": 1}, "iterations"),
        ({"noise": "laplace"}, "noise"),
        ({"box": sf.Box({"a": sf.Categorical([0, 1])})}, "categorical"),
        ({"box": sf.Box([(0, 1)] * 2, max_norm=1.0)}, "max_norm"),
        ({"box": sf.Box([(0, 1)] * 5000)}, "5,000 columns"),
        ({"box": sf.Box([(0, 1)] * 2000), "noise": "covariance"}, "noise='products'"),
        ({"box": sf.Box([(0, 1)] * 2000), "rank": 600, "noise": "products"}, "a smaller rank"),
    ],
)
def test_what_is_refused_is_refused_before_anything_is_read(more, words):
    given = {"box": BOX, "rank": 1, **more}
    with pytest.raises(ParameterError, match=words):
        sf.private_pca("no-such-file.csv", privacy=GRANTS[0], **given)


def test_a_basis_that_does_not_fit_the_grant_is_refused():
    basis = sf.plan(sf.PrincipalComponents(2), BOX, GRANTS[2]).basis
    with pytest.raises(ParameterError, match="basis"):
        sf.release(sf.PrincipalComponents(2), DATA, BOX, GRANTS[0], basis=basis)
    again = sf.release(sf.PrincipalComponents(2), DATA, BOX, GRANTS[2], basis=basis)
    assert again.basis == basis


@pytest.mark.parametrize("noise", ["covariance", "products"])
def test_nothing_raises_because_of_values(noise):
    odd = np.tile([math.nan, math.inf, -math.inf, 1e308, 5e-324, 0.0], (50, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for rows in (odd, odd[:1], np.zeros((3, 6))):
            found = sf.private_pca(rows, sf.Box([(0, 1)] * 6), GRANTS[0], 6, noise=noise)
            assert np.isfinite(found.components).all() and np.isfinite(found.points(10, 1)).all()
    with pytest.raises(SchemaError):
        sf.private_pca(np.zeros((0, 6)), sf.Box([(0, 1)] * 6), GRANTS[0], 1, noise=noise)


def test_no_records_of_a_private_number_are_told():
    with pytest.warns(sf.errors.NothingThereWarning, match="components"):
        sf.private_pca(np.zeros((0, 2)), sf.Box([(0, 1)] * 2), sf.Privacy(epsilon=1e3, neighbours="add-remove"), 1)
