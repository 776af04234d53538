"""Statistics are unbiased, their noise is what the law says, and their intervals cover.

Means are compared within seven standard errors (wrong with probability below 1e-10), coverage at ALPHA = 1e-9: the file
below 1e-7. Each comparison would notice an error of 3 %.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from harness.laws import ALPHA, fits_distribution
from scipy.stats import binom

import sfumato as sf

ROWS, DRAWS, CONFIDENCE = 600, 500, 0.8
BOX = sf.Box({"age": (0, 110), "bmi": (10, 60)})
CODED = sf.Box({"grade": sf.Categorical([1, 2, 3])})
GRANTS = {
    "pure": sf.Privacy(epsilon=1.0),
    "rho": sf.Privacy(rho=0.2),
    "approximate": sf.Privacy(epsilon=0.3, delta=0.05),
    "private n": sf.Privacy(epsilon=1.0, neighbours="add-remove"),
}


def generated():
    generator = np.random.default_rng(5)
    age = np.clip(generator.normal(45, 18, size=ROWS), 0, 110)
    return np.stack([age, np.clip(20 + 0.1 * age + generator.normal(0, 4, size=ROWS), 10, 60)], axis=1)


DATA = generated()
GRADES = np.random.default_rng(6).choice([1.0, 2.0, 3.0], p=[0.5, 0.3, 0.2], size=ROWS)
CELLS = np.histogram(DATA[:, 0], bins=10, range=(0, 110))[0]
TRUTH = {
    "count": ROWS,
    "sum": DATA.sum(axis=0),
    "mean": DATA.mean(axis=0),
    "variance": DATA.var(axis=0),
    "covariance": np.cov(DATA.T, bias=True),
    "histogram": CELLS,
    "proportions": np.bincount(GRADES.astype(int), minlength=4)[1:] / ROWS,
}


def releases(what, grant, draws, missing="drop"):
    """That many releases of the same statistic."""
    data, box = (GRADES, CODED) if what == "proportions" else (DATA, BOX)
    column = {"proportions": "grade", "histogram": "age"}.get(what, ["age", "bmi"])
    for _ in range(draws):
        yield sf.release(sf.Statistic(what, column, missing), data, box, GRANTS[grant])


@pytest.mark.few(1)
@pytest.mark.parametrize("grant", GRANTS)
@pytest.mark.parametrize("what", TRUTH)
def test_intervals_cover_all_entries_at_once(what, grant):
    missed = 0
    for release in releases(what, grant, DRAWS):
        low, high = release.interval(CONFIDENCE)
        missed += bool(np.any(TRUTH[what] < low - 1e-9) or np.any(TRUTH[what] > high + 1e-9))
    assert missed <= binom.isf(ALPHA, DRAWS, 1 - CONFIDENCE)


@pytest.mark.few(1)
@pytest.mark.parametrize("what", ["sum", "mean"])
def test_intervals_are_not_absurdly_wide(what):
    """For a sum of one column they miss nearly as often as they say: at half the width they would miss too often."""
    target = sf.Statistic(what, "age", "none")
    truth = TRUTH[what][0]
    ends = [sf.release(target, DATA, BOX, GRANTS["pure"]).interval(CONFIDENCE) for _ in range(DRAWS)]
    missed = sum(not low <= truth <= high for low, high in ends)
    assert binom.ppf(ALPHA, DRAWS, 0.8 * (1 - CONFIDENCE)) <= missed <= binom.isf(ALPHA, DRAWS, 1 - CONFIDENCE)
    halved = sum(abs(truth - (low + high) / 2) > (high - low) / 4 for low, high in ends)
    assert halved > binom.isf(ALPHA, DRAWS, 1 - CONFIDENCE)


@pytest.mark.few(1)
@pytest.mark.parametrize("grant", GRANTS)
@pytest.mark.parametrize("what", ["count", "sum", "mean", "histogram"])
def test_estimates_are_unbiased(what, grant):
    """Counts of hundreds are never clipped here, and sums never: their mean is the truth. A mean divides by a noisy
    count, which biases it by about the square of the count's relative noise, below 1e-3 of the box."""
    if what == "histogram":
        picked, found = CELLS >= 80, np.array([r.value for r in releases(what, grant, DRAWS)])
        found, truth = found[:, picked], CELLS[picked]
        assert picked.sum() >= 2
    else:
        found = np.array(
            [np.atleast_1d(r.numbers if what == "count" else r.value) for r in releases(what, grant, DRAWS)]
        )
        truth = np.atleast_1d(TRUTH[what])
    error = found.std(axis=0, ddof=1) / math.sqrt(DRAWS)
    bias = np.array([0.11, 0.05]) if what == "mean" else 0.0
    assert (np.abs(found.mean(axis=0) - truth) < 7 * error + bias).all()
    assert (np.abs(found.mean(axis=0) - 1.03 * truth) > 7 * error + bias).any()  # 3 % would be noticed


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize("grant", ["pure", "rho"])
@pytest.mark.parametrize("what", ["variance", "covariance", "proportions"])
def test_other_estimates_are_nearly_unbiased(what, grant):
    """Products of noisy means, and shares of clipped counts, of twenty times the records: within 0.3 % of the truth."""
    data, box = (GRADES, CODED) if what == "proportions" else (DATA, BOX)
    many = np.concatenate([data] * 20)
    found = np.array([sf.release(sf.Statistic(what), many, box, GRANTS[grant]).value for _ in range(DRAWS)])
    error = found.std(axis=0, ddof=1) / math.sqrt(DRAWS)
    truth = TRUTH[what]
    scale = np.sqrt(np.outer(np.diag(truth), np.diag(truth))) if what == "covariance" else truth
    assert (np.abs(found.mean(axis=0) - truth) < 7 * error + 0.003 * scale).all()
    wrong = np.abs(found.mean(axis=0) - 1.03 * truth) > 7 * error + 0.003 * scale
    assert (np.diag(wrong) if what == "covariance" else wrong).all()  # 3 % would be noticed


def laplace_cdf(scale):
    q = math.exp(-1 / scale)
    return lambda x: np.where(
        np.floor(x) >= 0, 1 - q ** (np.floor(x) + 1) / (1 + q), q ** np.abs(np.floor(x)) / (1 + q)
    )


@pytest.mark.parametrize(("neighbours", "scale"), [("replace", 4.0), ("add-remove", 2.0)])
def test_the_noise_in_a_histogram_is_the_one_that_is_published(neighbours, scale):
    """A million empty cells at epsilon 1/2: discrete Laplace noise of scale 2D, and 3 % more would be noticed."""
    grant = sf.Privacy(epsilon=0.5, neighbours=neighbours)
    release = sf.release(sf.Statistic("histogram", bins=10**6), np.full(1, np.nan), sf.Box([(0, 1)]), grant)
    assert release.law.deviation == scale
    noise = release.numbers.astype(np.int64)
    assert fits_distribution(noise, laplace_cdf(scale))
    assert not fits_distribution(noise, laplace_cdf(1.03 * scale))


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["drop", "none"])
@pytest.mark.parametrize("grant", [sf.Privacy(epsilon=2.0), sf.Privacy(rho=0.5)], ids=["pure", "rho"])
def test_quantiles_are_within_their_rank_errors(missing, grant):
    """The promised rank error holds at least as often as it says, and is not ten times too large."""
    target = sf.Statistic("quantiles", "age", missing, probabilities=[0.1, 0.5, 0.8], interval="none")
    box, draws = sf.Box({"age": sf.Integer(0, 110), "bmi": (10, 60)}), 500
    ages = np.sort(np.rint(DATA[:, 0]))
    off = []
    for _ in range(draws):
        release = sf.release(target, DATA, box, grant)
        below = np.searchsorted(ages, release.value, side="left") - np.array([0.1, 0.5, 0.8]) * ROWS
        above = np.array([0.1, 0.5, 0.8]) * ROWS - np.searchsorted(ages, release.value, side="right")
        off.append(np.maximum(np.maximum(below, above), 0.0))
    promised = release.summary.rank_errors(release.guarantee, CONFIDENCE)
    missed = int((np.array(off) > promised).any(axis=1).sum())
    assert missed <= binom.isf(ALPHA, draws, 1 - CONFIDENCE)
    assert np.quantile(off, 0.9) > promised.max() / 30
