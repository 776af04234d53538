"""Bands cover simultaneously at least as often as they say, whatever the noise; and they are not absurdly wide.

Each test has a false-alarm rate below 1e-9.
"""

from __future__ import annotations

import numpy as np
import pytest
from harness.laws import ALPHA
from scipy.stats import binom

import sfumato as sf
from sfumato.releases import uncertainty

pytestmark = pytest.mark.slow

DRAWS = 3000
CONFIDENCE = 0.9
BOX = sf.Box([(0, 2), (-1, 1)])
BASIS = sf.Bernstein(degree=(4, 3), order=2)
POINTS = np.stack(np.meshgrid(np.linspace(0, 2, 7), np.linspace(-1, 1, 6)), axis=-1).reshape(-1, 2)
GRANTS = {
    "linf": sf.Privacy(epsilon=1.0),
    "laplace": sf.Privacy(epsilon=1.0),
    "l2": sf.Privacy(epsilon=1.0),
    "gaussian": sf.Privacy(epsilon=1.0, delta=1e-5),
}


def truth(points):
    return points[:, 0] ** 2 * points[:, 1]


def misses(noise, derivative=None, draws=DRAWS):
    """How often the band missed the noise-free polynomial at one or more of the points."""
    target = sf.BlackBox(lambda _: truth, sensitivity=0.01)
    exact = BASIS.approximate(truth, BOX)
    exact = exact if derivative is None else exact.derivative(derivative)
    count = 0
    for _ in range(draws):
        release = sf.release(target, np.zeros(3), BOX, GRANTS[noise], basis=BASIS, noise=noise)
        release = release if derivative is None else release.derivative(derivative)
        low, high = release.band(POINTS, CONFIDENCE)
        value = exact(POINTS)
        count += bool(((value < low) | (value > high)).any())
    return count


@pytest.fixture
def cached_width(monkeypatch):
    """The half-width depends on public quantities only: compute it once per test instead of 3000 times."""
    real, stored = uncertainty.half_width, {}

    def half_width(expansion, law, points, confidence, outside):
        key = (law.kind, expansion.derivatives)
        if key not in stored:
            stored[key] = real(expansion, law, points, confidence, outside)
        return stored[key]

    monkeypatch.setattr("sfumato.releases.function.half_width", half_width)


@pytest.mark.parametrize("noise", GRANTS)
def test_simulated_bands_cover(noise, cached_width):
    draws = DRAWS // 3 if noise == "l2" else DRAWS
    missed = misses(noise, draws=draws)
    assert missed <= binom.isf(ALPHA, draws, 1 - CONFIDENCE)
    assert missed >= binom.ppf(ALPHA, draws, (1 - CONFIDENCE) / 4)  # not four times too cautious


def test_bands_of_derivatives_cover(cached_width):
    assert misses("linf", derivative=0) <= binom.isf(ALPHA, DRAWS, 1 - CONFIDENCE)


@pytest.mark.parametrize("noise", ["linf", "laplace", "gaussian"])
def test_closed_form_bands_cover_everywhere(noise, cached_width, monkeypatch):
    monkeypatch.setattr(uncertainty, "_LARGEST_WORK", 0)
    assert misses(noise) <= binom.isf(ALPHA, DRAWS, 1 - CONFIDENCE)


def test_the_plan_predicts_the_noise():
    """The planned mean sup error is within 5 % of the measured one, and the planned bound covers."""
    target = sf.BlackBox(lambda _: truth, sensitivity=0.01)
    plan = sf.plan(target, BOX, GRANTS["linf"], basis=BASIS, confidence=CONFIDENCE)
    exact = BASIS.approximate(truth, BOX)
    dense = np.stack(np.meshgrid(np.linspace(0, 2, 33), np.linspace(-1, 1, 33)), axis=-1).reshape(-1, 2)
    value = exact(dense)
    sups = np.array(
        [
            np.abs(sf.release(target, np.zeros(3), BOX, GRANTS["linf"], basis=BASIS)(dense) - value).max()
            for _ in range(DRAWS)
        ]
    )
    assert plan.mean_noise_error == pytest.approx(sups.mean(), rel=0.05)  # 8 standard errors of 3000 draws
    assert (sups > plan.noise_error).sum() <= binom.isf(ALPHA, DRAWS, 1 - CONFIDENCE)


def test_total_bands_cover_the_target_itself():
    """Order 1, a function with known second derivatives: the noise band may miss, the total band may not."""
    box, basis = sf.Box([(0, 1)]), sf.Bernstein(degree=4, order=1)
    function = lambda points: np.sin(3 * points[:, 0])  # noqa: E731
    target = sf.BlackBox(lambda _: function, sensitivity=1e-4, smoothness=sf.Smooth(derivatives=2, bound=9.0))
    grid = np.linspace(0, 1, 50)
    value = function(grid[:, None])
    missed = {"noise": 0, "total": 0}
    for _ in range(200):
        release = sf.release(target, np.zeros(3), box, sf.Privacy(epsilon=1.0), basis=basis)
        for include in missed:
            low, high = release.band(grid, CONFIDENCE, include=include)
            missed[include] += bool(((value < low) | (value > high)).any())
    assert missed["noise"] == 200  # the bias is 100 times the noise
    assert missed["total"] == 0
