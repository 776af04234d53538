"""From second moments to an ellipsoid: without noise it is that of the records."""

import numpy as np
import pytest

from sfumato.bases.subspace.moments import SecondMoments
from sfumato.bases.subspace.reading import axes_of, ellipsoid_of, orthonormal, split, start_of

RNG = np.random.default_rng(3)
RECORDS = np.clip(RNG.standard_normal((4000, 2)) @ RNG.normal(0, 0.3, (2, 5)) + 0.1, -1, 1)
TRUE = np.cov(RECORDS.T, bias=True)
VALUES, VECTORS = np.linalg.eigh(TRUE)


@pytest.mark.parametrize("counted", [False, True])
def test_a_covariance_without_noise_is_that_of_the_records(counted):
    basis = SecondMoments("covariance", 2, 1, 2, counted)
    first = [basis.count * 4000.0] if counted else []
    numbers = np.concatenate([first, 2 * RECORDS.sum(0), (RECORDS.T @ RECORDS)[np.triu_indices(5)]])
    found = ellipsoid_of(numbers, basis, None if counted else 4000, 5, 0.0)
    assert found.mean == pytest.approx(RECORDS.mean(0))
    assert found.values == pytest.approx(VALUES[::-1][:2])
    assert np.abs(found.components @ VECTORS[:, ::-1][:, :2]) == pytest.approx(np.eye(2), abs=1e-9)


def test_a_product_with_the_components_gives_them_and_their_variances():
    basis, top = SecondMoments("products", 2, 3, 1, False), VECTORS[:, ::-1][:, :2]
    numbers = np.concatenate([RECORDS.sum(0), 4000 * (TRUE @ top).ravel()])
    found = ellipsoid_of(numbers, basis, 4000, 5, 0.0)
    assert found.values == pytest.approx(VALUES[::-1][:2])
    assert np.abs(found.components @ top) == pytest.approx(np.eye(2), abs=1e-9)
    assert (ellipsoid_of(numbers, basis, 4000, 5, 1e6).values == 0).all()  # noise alone could have made them


def test_the_start_is_orthonormal_and_everybodys():
    for columns, rank in ((1, 1), (7, 3), (40, 40)):
        start = start_of(columns, rank)
        assert start.T @ start == pytest.approx(np.eye(rank), abs=1e-9)
        assert (start == start_of(columns, rank)).all()


def test_nothing_at_all_still_gives_directions():
    found = orthonormal(np.zeros((4, 2)))
    assert found.T @ found == pytest.approx(np.eye(2))
    total, mean, rest = split(np.zeros(1 + 4 + 8), SecondMoments("products", 2, 2, 1, True), None, 4)
    assert (total, mean.tolist(), rest.shape) == (1.0, [0.0] * 4, (8,))


def test_variances_are_never_negative_and_the_largest_entry_is_positive():
    components, values = axes_of(-np.eye(3), 2)
    assert values.tolist() == [0, 0]
    components, _ = axes_of(np.array([[2.0, -1.0], [-1.0, 1.0]]), 2)
    assert all(row[np.abs(row).argmax()] > 0 for row in components)
