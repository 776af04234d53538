"""Principal components: limits of means hold as often as they say, and variances are told without bias.

Each test is wrong with probability at most 1e-8; all of them together below 1e-7.
"""

import numpy as np
import pytest
from scipy.stats import binom

import sfumato as sf
from sfumato.faces import face_of

RECORDS = np.random.default_rng(9).uniform(-1, 1, (400, 3)) * [1.0, 0.7, 0.4]
BOX = sf.Box([(-1, 1)] * 3)
GRANTS = [sf.Privacy(epsilon=1.0), sf.Privacy(rho=0.2), sf.Privacy(1.0, 1e-6, neighbours="add-remove")]
DRAWS = 200


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["covariance", "products"])
@pytest.mark.parametrize("grant", GRANTS, ids=str)
def test_limits_of_means_hold_at_least_as_often_as_they_say(noise, grant):
    """All means at once, at 70 %; so few misses are allowed that a false alarm has probability 1e-8."""
    missed = 0
    for _ in range(DRAWS):
        found = sf.private_pca(RECORDS, BOX, grant, 1, noise=noise, iterations=2)
        missed += bool(np.abs(found.ellipsoid.mean - RECORDS.mean(axis=0)).max() > face_of(found, 0.7).reach)
    assert missed <= binom.isf(1e-8, DRAWS, 0.3)


@pytest.mark.slow
@pytest.mark.parametrize("grant", GRANTS[:2], ids=str)
def test_second_moments_are_told_without_bias(grant):
    """6.5 deviations of the mean of so many draws, in nine numbers: 6e-9 by Student's law."""
    numbers = np.array([sf.private_pca(RECORDS, BOX, grant, 1, noise="covariance").numbers for _ in range(DRAWS)])
    true = np.concatenate([RECORDS.sum(axis=0), (RECORDS.T @ RECORDS)[np.triu_indices(3)]])
    unsure = numbers.std(axis=0) / np.sqrt(DRAWS)
    assert (np.abs(numbers.mean(axis=0) - true) < 6.5 * unsure + 0.01).all()
