"""Every sampler follows its law at a million draws, and the test would notice a scale wrong by 3 %.

Each test has a false-alarm rate of 1e-9 (harness.laws.ALPHA), the file one below 1e-7.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from harness.laws import fits_cells, fits_distribution
from scipy.special import gammainc, ndtr

from sfumato.core import sampling
from sfumato.laws import noise_variance

MILLION = 10**6
TOO_WIDE = Fraction(103, 100)


def laplace_cdf(scale: float):
    q = math.exp(-1 / scale)

    def cdf(x):
        k = np.floor(x)
        upper = 1 - q ** (np.abs(k) + 1) / (1 + q)
        return np.where(k >= 0, upper, q ** np.abs(k) / (1 + q))

    return cdf


def gaussian_cdf(variance: float):
    deviation = math.sqrt(variance)
    if variance > 100:  # Poisson summation: sums at half-integers equal the integral to 1e-800
        return lambda x: ndtr((np.floor(x) + 0.5) / deviation)
    support = np.arange(-200, 201)
    weights = np.exp(-(support**2) / (2 * variance))
    cumulative = np.cumsum(weights / weights.sum())
    return lambda x: cumulative[np.clip(np.floor(x).astype(int), -200, 200) + 200]


@pytest.mark.few(1)
@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(7, 2), Fraction(2**20), Fraction(2**35) / 3])
def test_discrete_laplace(scale):
    law = laplace_cdf(float(scale))
    assert fits_distribution(sampling.discrete_laplace(MILLION, scale), law)
    assert not fits_distribution(sampling.discrete_laplace(MILLION, scale * TOO_WIDE), law)


@pytest.mark.few(1)
@pytest.mark.parametrize("variance", [Fraction(1, 2), Fraction(29, 3), Fraction(2**40), Fraction(2**70) / 7])
def test_discrete_gaussian(variance):
    law = gaussian_cdf(float(variance))
    assert fits_distribution(sampling.discrete_gaussian(MILLION, variance), law)
    assert not fits_distribution(sampling.discrete_gaussian(MILLION, variance * TOO_WIDE**2), law)


def linf_cells(scale: float, radius: int) -> np.ndarray:
    """The exact law on the square of this radius in two dimensions, flattened, with the rest in a last cell."""
    axis = np.arange(-radius, radius + 1)
    size = np.maximum(np.abs(axis)[:, None], np.abs(axis)[None, :])
    shells = np.arange(0, 4000)
    points = np.where(shells == 0, 1, 8 * shells)
    total = float((points * np.exp(-shells / scale)).sum())
    inside = np.exp(-size / scale) / total
    return np.append(inside.ravel(), 1 - inside.sum())


def linf_counts(scale: Fraction, radius: int, draws: int) -> np.ndarray:
    sample = np.array([sampling.linf_knorm(2, scale) for _ in range(draws)])
    side = 2 * radius + 1
    inside = np.abs(sample).max(axis=1) <= radius
    index = np.where(inside, (sample[:, 0] + radius) * side + sample[:, 1] + radius, side * side)
    return np.bincount(index, minlength=side * side + 1)


@pytest.mark.slow
def test_linf_knorm_is_exact_on_every_cell_of_a_coarse_lattice():
    probabilities = linf_cells(1.5, 4)
    assert fits_cells(linf_counts(Fraction(3, 2), 4, 200_000), probabilities)
    assert not fits_cells(linf_counts(Fraction(3, 2) * TOO_WIDE, 4, 200_000), probabilities)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["linf", "l2"])
@pytest.mark.parametrize("size", [1, 2, 11])
def test_knorms_have_gamma_norms(kind, size):
    draws, scale = 12_000 if kind == "linf" else 3000, Fraction(2**20)
    draw = sampling.linf_knorm if kind == "linf" else sampling.l2_knorm
    draws = draws * (3 if size == 1 else 1)

    def radii(factor):
        sample = np.array([draw(size, scale * factor) for _ in range(draws)]).astype(float) / float(scale)
        return np.abs(sample).max(axis=1) if kind == "linf" else np.linalg.norm(sample, axis=1)

    law = lambda r: gammainc(size, np.maximum(r, 0))  # noqa: E731
    assert fits_distribution(radii(1), law, cells=16)
    # Few draws: a 3 % error shows at a million; at thousands the test notices 20 % in the scale.
    assert not fits_distribution(radii(Fraction(6, 5)), law, cells=16)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["linf", "l2"])
def test_knorms_reject_three_percent(kind):
    """With 50 coefficients the norm pins the scale down: 30,000 (4,000) vectors reject an error of 3 %."""
    size, scale = 50, Fraction(2**20)
    draw, draws = (sampling.linf_knorm, 30_000) if kind == "linf" else (sampling.l2_knorm, 4_000)

    def radii(factor):
        sample = np.array([draw(size, scale * factor) for _ in range(draws)]).astype(float) / float(scale)
        return np.abs(sample).max(axis=1) if kind == "linf" else np.linalg.norm(sample, axis=1)

    law = lambda r: gammainc(size, np.maximum(r, 0))  # noqa: E731
    assert fits_distribution(radii(1), law, cells=16)
    assert not fits_distribution(radii(TOO_WIDE), law, cells=16)


@pytest.mark.slow
def test_zero_sum_draws_have_gamma_flows_and_reject_three_percent():
    """20,000 vectors of 50 coefficients pin the scale down; a coefficient's variance is the stated one within 3 %."""
    size, scale = 50, Fraction(2**20)

    def drawn(factor):
        return np.array([sampling.zero_sum(size, scale * factor) for _ in range(20_000)]).astype(float) / float(scale)

    def flows(sample):
        return np.abs(sample).sum(axis=1) + np.abs(sample.sum(axis=1))

    law = lambda r: gammainc(size, np.maximum(r, 0))  # noqa: E731
    honest = drawn(1)
    assert fits_distribution(flows(honest), law, cells=16)
    assert not fits_distribution(flows(drawn(TOO_WIDE)), law, cells=16)
    # Both are seven deviations of the mean squares away, or more.
    assert (honest**2).mean() == pytest.approx(noise_variance("zero-sum", size), rel=0.03)
    assert (honest.sum(axis=1) ** 2).mean() == pytest.approx(noise_variance("zero-sum", size), rel=0.12)


@pytest.mark.slow
def test_knorm_directions_are_uniform():
    """Coordinates of an L2 draw divided by its norm: squares are Beta(1/2, (r-1)/2); of an L-infinity draw,
    given the largest, the others are uniform."""
    l2 = np.array([sampling.l2_knorm(3, Fraction(2**20)) for _ in range(4000)]).astype(float)
    cosine = l2[:, 0] / np.linalg.norm(l2, axis=1)  # in three dimensions uniform on [-1, 1]
    assert fits_distribution(cosine, lambda x: (np.clip(x, -1, 1) + 1) / 2, cells=16)
    linf = np.array([sampling.linf_knorm(3, Fraction(2**20)) for _ in range(8000)]).astype(float)
    first, others = linf[:, 0], np.abs(linf[:, 1:]).max(axis=1)
    inner = np.abs(first) < others  # then the first coordinate is uniform on [-others, others]
    assert fits_distribution(first[inner] / others[inner], lambda x: (np.clip(x, -1, 1) + 1) / 2, cells=16)


@pytest.mark.parametrize("bound", [1, 2, 3, 1000, 2**40 + 1])
def test_uniform_below(bound):
    sample = sampling.uniform_below(np.full(200_000, bound, dtype=np.int64))
    assert sample.min() >= 0
    assert sample.max() < bound
    cells = min(bound, 50)
    counts = np.bincount((sample.astype(object) * cells // bound).astype(int), minlength=cells)
    edges = -(-np.arange(cells + 1).astype(object) * bound // cells)  # least x with floor(x cells / bound) = c
    probabilities = np.diff(edges).astype(float) / bound
    assert fits_cells(counts, probabilities) if cells > 1 else counts[0] == 200_000


def test_bernoulli_exp():
    rates = np.repeat([0.01, 0.7, 3.0], 300_000)
    exact = lambda i: Fraction(float(rates[i]))  # noqa: E731
    heads = sampling.bernoulli_exp(rates, np.zeros(len(rates)), exact).reshape(3, -1).sum(axis=1)
    for rate, count in zip([0.01, 0.7, 3.0], heads, strict=True):
        both = np.array([count, 300_000 - count])
        assert fits_cells(both, np.array([math.exp(-rate), 1 - math.exp(-rate)]))
        wrong = math.exp(-rate * 1.03)
        assert rate < 0.5 or not fits_cells(both, np.array([wrong, 1 - wrong]))
