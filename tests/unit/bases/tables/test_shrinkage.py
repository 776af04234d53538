"""Shrinkage: noisy numbers come nearer to the truth, and clear ones stay."""

import numpy as np
import pytest

from sfumato.bases.tables.shrinkage import posterior_means, shrunk_to_zero


def noisy(truth, deviation, seed=1):
    return truth + deviation * np.random.default_rng(seed).normal(size=len(truth))


def test_posterior_means_are_nearer_to_the_truth():
    """Two kinds of numbers and noise as large as their distance: most of the noise goes."""
    truth = np.repeat([-0.4, 0.4], 500)
    values = noisy(truth, 0.4)
    found = posterior_means(values, np.full(1000, 0.16))
    assert np.mean((found - truth) ** 2) < 0.7 * np.mean((values - truth) ** 2)


def test_posterior_means_of_clear_numbers_are_the_numbers():
    truth = np.linspace(-0.9, 0.9, 40)
    assert posterior_means(truth, np.full(40, 1e-6)) == pytest.approx(truth, abs=0.02)


def test_posterior_means_stay_within_bounds_whatever_comes():
    for values in (np.full(20, 50.0), np.full(20, -3.0), np.linspace(-1e6, 1e6, 20)):
        found = posterior_means(values, np.full(20, 0.01))
        assert np.isfinite(found).all()
        assert np.abs(found).max() <= 1.0


def test_few_numbers_are_only_clipped():
    assert posterior_means(np.array([-2.0, 0.3, 1.5]), np.full(3, 9.0)).tolist() == [-1.0, 0.3, 1.0]
    values = np.array([-2.0, 0.3, 1.5])
    assert shrunk_to_zero(values, np.full(3, 9.0)).tolist() == values.tolist()


def test_numbers_that_are_noise_become_zero():
    values = noisy(np.zeros(2000), 0.3)
    assert np.abs(shrunk_to_zero(values, np.full(2000, 0.09))).max() < 0.2


def test_small_numbers_are_pulled_towards_zero_in_proportion():
    truth = np.random.default_rng(2).normal(scale=0.1, size=4000)
    values, variances = noisy(truth, 0.2), np.full(4000, 0.04)
    found = shrunk_to_zero(values, variances)
    assert np.mean((found - truth) ** 2) < 0.3 * np.mean((values - truth) ** 2)
    ratio = found / values
    assert np.ptp(ratio) < 1e-9 and 0 < ratio[0] < 1


def test_large_numbers_are_hardly_pulled():
    truth = np.tile([-0.8, 0.0, 0.8], 200)
    values = noisy(truth, 0.05)
    assert np.abs(shrunk_to_zero(values, np.full(600, 0.0025)) - truth).max() < 0.25


def test_numbers_nobody_knows_do_not_matter_to_the_others():
    """A coefficient that nobody was asked for has an enormous variance: it becomes its neighbours' mean, or zero."""
    truth = np.random.default_rng(2).normal(scale=0.1, size=500)
    values, variances = noisy(truth, 0.1), np.full(500, 0.01)
    values[0], variances[0] = 0.9, 1e6
    found = shrunk_to_zero(values, variances)
    assert abs(found[0]) < 0.01
    assert np.mean((found[1:] - truth[1:]) ** 2) < 0.01


def test_many_numbers_are_taken_in_blocks(monkeypatch):
    values, variances = noisy(np.linspace(-0.5, 0.5, 300), 0.2), np.full(300, 0.04)
    whole = posterior_means(values, variances)
    monkeypatch.setattr("sfumato.bases.tables.shrinkage._BLOCK", 201 * 7)
    assert posterior_means(values, variances) == pytest.approx(whole, abs=1e-9)


def test_a_few_precise_numbers_count_for_more_than_many_vague_ones():
    """Spread is told by those that are known: beside a thousand others of a hundred times their noise."""
    truth = np.random.default_rng(2).normal(scale=0.1, size=1100)
    deviation = np.where(np.arange(1100) < 100, 0.05, 5.0)
    values = truth + deviation * np.random.default_rng(3).normal(size=1100)
    found = shrunk_to_zero(values, deviation**2)
    assert np.mean((found[:100] - truth[:100]) ** 2) < 0.05**2
    assert np.abs(found[100:]).max() < 0.3  # of noise of 5


@pytest.mark.parametrize("seed", range(8))
def test_what_noise_alone_shows_counts_for_nothing(seed):
    """Where nothing is known next to nothing comes out, however large the noise is."""
    values = noisy(np.zeros(500), 14.0, seed)
    assert np.abs(shrunk_to_zero(values, np.full(500, 196.0))).max() < 0.3
