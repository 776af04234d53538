"""Summaries: the noise in released moments follows its law, answers are unbiased, and their errors cover.

Laws and coverage are tested at ALPHA = 1e-9, means and variances within seven standard errors (wrong with probability
below 1e-10): the file below 1e-7. Laws and deviations that are wrong by 3 % are rejected.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from harness.laws import ALPHA, fits_distribution
from scipy.special import gammainc, ndtr
from scipy.stats import binom

import sfumato as sf
from opening import numbers_of
from sfumato.engines.memory import MemoryEngine

BOX = sf.Box({"age": (0, 110), "bmi": (10, 60)})
DATA = np.random.default_rng(5).uniform([0, 10], [110, 60], size=(60, 2))
TOO_WIDE = 1.03
GRANTS = {
    "linf": sf.Privacy(epsilon=1.0),
    "laplace": sf.Privacy(epsilon=64.0),  # a million numbers of a scale beyond 2^40 would take minutes to draw
    "gaussian": sf.Privacy(epsilon=0.5, delta=1e-6),
}


@cache
def sums_of(basis):
    """The private sums, which are known here."""
    target = sf.CosineMoments(basis.degree, interactions=basis.interactions)
    return numbers_of(target.gather(MemoryEngine().open(DATA, BOX, "row"), BOX, MemoryEngine()).open())


def noise_of(release):
    """What was added to each sum but that of frequency zero, which is public."""
    return release.numbers - sums_of(release.basis)[1:] * release.law.step


def releases(draws, noise, **options):
    for _ in range(draws):
        yield sf.summarize(DATA, BOX, GRANTS[noise], noise=noise, **options)


LAWS = {
    "laplace": lambda x: np.where(x < 0, np.exp(np.minimum(x, 0)) / 2, 1 - np.exp(-np.maximum(x, 0)) / 2),
    "gaussian": ndtr,
}


@pytest.mark.slow
@pytest.mark.parametrize("noise", LAWS)
def test_a_million_moments_have_independent_noise_of_their_law(noise):
    """On a grid of 2^-24 the discrete laws are continuous to all digits that a million draws can see."""
    release = next(releases(1, noise, degree=1000))
    sample = noise_of(release) / release.law.deviation
    assert sample.size == 999_999
    assert fits_distribution(sample, LAWS[noise])
    assert not fits_distribution(sample * TOO_WIDE, LAWS[noise])
    neighbours = np.sign(sample[:-1]) * np.sign(sample[1:])
    assert abs(neighbours.mean()) < 7 / math.sqrt(neighbours.size)


@pytest.mark.slow
def test_the_box_noise_of_moments_has_a_gamma_norm():
    size, sample = 399, []
    for release in releases(800, "linf", degree=20):
        assert release.law.size == size
        sample.append(np.abs(noise_of(release)).max() / release.law.deviation)
    norms = np.array(sample)
    law = lambda r: gammainc(size, np.maximum(r, 0))  # noqa: E731
    assert fits_distribution(norms, law, cells=16)
    assert not fits_distribution(norms * TOO_WIDE, law, cells=16)
    assert not fits_distribution(norms / TOO_WIDE, law, cells=16)


@pytest.mark.slow
@pytest.mark.parametrize("noise", GRANTS)
def test_moments_have_the_deviation_that_the_release_says(noise):
    squares = []
    for release in releases(800, noise, degree=20):
        squares.append(np.mean((noise_of(release) / len(DATA) / release.noise_sd) ** 2))
    error = 7 * np.std(squares) / math.sqrt(len(squares))
    assert abs(np.mean(squares) - 1) < error
    assert error < TOO_WIDE**2 - 1 - error  # a deviation wrong by 3 % would be seen


# --- answers ----------------------------------------------------------------------------------------------------

DRAWS, CONFIDENCE = 400, 0.8
ROWS = np.random.default_rng(6).uniform([0, 10], [110, 60], size=(2000, 2))
ANSWERED = {
    "pure": sf.Privacy(epsilon=1.0),
    "approximate": sf.Privacy(epsilon=1.0, delta=1e-6),
    "concentrated": sf.Privacy(rho=0.2),
    "private n": sf.Privacy(epsilon=1.0, neighbours="add-remove"),
}


def bump(p):
    return np.exp(-((p[:, 0] - 40) ** 2) / 2000 - (p[:, 1] - 30) ** 2 / 900)


def wave(p):
    return np.sin(p[:, 0] / 30) * np.cos(p[:, 1] / 20)


TRUTH = {
    "bump": bump(ROWS).mean(),
    "wave": wave(ROWS).mean(),
    "mean": ROWS[:, 0].mean(),
    "variance": ROWS[:, 1].var(),
    "covariance": np.cov(ROWS.T, bias=True)[0, 1],
    "correlation": np.corrcoef(ROWS.T)[0, 1],
}


def answers(summary):
    """Value and error of every question of TRUTH."""
    both = summary.answer_many([bump, wave], confidence=CONFIDENCE)
    one, spread = summary.mean("age", CONFIDENCE), summary.variance("bmi", CONFIDENCE)
    matrices = [summary.covariance(None, CONFIDENCE), summary.correlation(None, CONFIDENCE)]
    parts = [(a.value, a.error, a.noise_sd) for a in (one, spread)]
    parts += [(a.value[0, 1], a.error[0, 1], a.noise_sd[0, 1]) for a in matrices]
    return np.array([*zip(both.value, both.error, both.noise_sd, strict=True), *parts])


@pytest.fixture(scope="module", params=ANSWERED)
def asked(request):
    """``(draws, questions, 3)``: values, errors and deviations of many summaries of the same records."""
    grant = ANSWERED[request.param]
    found = [answers(sf.summarize(ROWS, BOX, grant, degree=5)) for _ in range(DRAWS)]
    return request.param, np.array(found)


@pytest.mark.slow
def test_errors_cover_at_least_as_often_as_they_say(asked):
    """Each question by itself; a false alarm has odds of at most 1e-9 for each of 24."""
    _, found = asked
    missed = (np.abs(found[:, :, 0] - list(TRUTH.values())) > found[:, :, 1] + 1e-12).sum(axis=0)
    assert (missed <= binom.isf(ALPHA, DRAWS, 1 - CONFIDENCE)).all()


@pytest.mark.slow
def test_errors_of_exact_questions_are_not_absurdly_wide(asked):
    """The mean of a column has no approximation: at half its error it would miss too often."""
    name, found = asked
    if name == "private n":  # its error pays for two unknowns at once
        return
    mean = list(TRUTH).index("mean")
    halved = np.abs(found[:, mean, 0] - TRUTH["mean"]) > found[:, mean, 1] / 2
    assert halved.sum() > binom.isf(ALPHA, DRAWS, 1 - CONFIDENCE)


@pytest.mark.slow
def test_answers_are_unbiased_and_have_the_deviation_that_they_say(asked):
    """Within seven standard errors; a variance or correlation is no weighted sum, and so only nearly unbiased."""
    _, found = asked
    for i, name in enumerate(TRUTH):
        values, deviation = found[:, i, 0], found[:, i, 2].mean()
        slack = 1e-3 * abs(TRUTH[name]) + (0.01 if name in ("bump", "wave") else 0.0)
        if name in ("bump", "wave", "mean"):
            assert abs(values.mean() - TRUTH[name]) < 7 * deviation / math.sqrt(DRAWS) + slack
        # Squares of 400 draws have a relative deviation of at most sqrt((kurtosis - 1) / 400) < 12 %.
        assert values.std() == pytest.approx(deviation, rel=0.45)
