"""Bands of densities cover the kernel density estimate of the records, everywhere at once, as often as they say.

Each test has a false-alarm rate below 1e-9, and a band of half the width fails it.
"""

from __future__ import annotations

import numpy as np
import pytest
from harness.laws import ALPHA
from scipy.stats import binom

import sfumato as sf

CONFIDENCE = 0.95
BOX = sf.Box({"t": (0, 10)})
DAY = sf.Box({"t": sf.Periodic(0, 10)})
GROUPED = sf.Box({"t": (0, 10), "group": sf.Categorical([0, 1])})
GRID = np.linspace(0, 10, 200)
ROWS, BANDWIDTH = 400, 0.8
PURE = sf.Privacy(epsilon=1.0)
FEW, MANY = 40, pytest.param(600, marks=pytest.mark.slow)
SMOOTH = np.random.default_rng(1).beta(2, 4, size=ROWS) * 10  # no feature finer than the kernel


def estimate(data, box=BOX):
    """The truth that bands speak of: the kernel density estimate of the records that are not missing."""
    present = data[~np.isnan(data)]
    rounds = (-10, 0, 10) if box is DAY else (0,)
    values = sum(np.exp(-0.5 * ((GRID[:, None] - present + r) / BANDWIDTH) ** 2) for r in rounds)
    return values.mean(axis=1) / (BANDWIDTH * np.sqrt(2 * np.pi))


def holes(data):
    """A third of the values missing."""
    return np.where(np.arange(len(data)) % 3 == 0, np.nan, data)


CASES = {
    "simplex": {},
    "none": {"post": "none"},
    "complete": {"missing": "none"},
    "gaussian": {"privacy": sf.Privacy(epsilon=1.0, delta=1e-6)},
    "concentrated": {"privacy": sf.Privacy(rho=0.1), "post": "none"},
    "missing values": {"data": holes(SMOOTH), "privacy": sf.Privacy(epsilon=3.0)},
    "private count": {"privacy": sf.Privacy(epsilon=2.0, neighbours="add-remove")},
    "private count, linear": {"privacy": sf.Privacy(epsilon=2.0, neighbours="add-remove"), "post": "none"},
    "circle": {"box": DAY},
    "binning": {"basis": sf.Binning(12)},
    "split": {"basis": sf.SplitLattice(16, 0.4), "post": "none"},
    "polynomial": {"basis": sf.Bernstein(16, 3)},
    # Nothing but noise matters here, and no count is private: what is too narrow must show.
    "sharp": {"basis": sf.Binning(26), "post": "none", "missing": "none"},
    "sharp gaussian": {
        "basis": sf.Binning(26),
        "post": "none",
        "missing": "none",
        "privacy": sf.Privacy(rho=0.5),
    },
    "much noise": {"privacy": sf.Privacy(epsilon=0.05)},
}
OFTEN = ["simplex", "none", "gaussian", "missing values", "private count"]


def publish(data=SMOOTH, privacy=PURE, box=BOX, basis="auto", **options):
    return sf.release(sf.KDE(BANDWIDTH, **options), data, box, privacy, basis=basis)


def misses(name, draws, narrower=None):
    """How often a band, perhaps made narrower about its middle, misses the truth at one or more of the points."""
    case = CASES[name]
    exact = estimate(case.get("data", SMOOTH), case.get("box", BOX))
    count = 0
    for _ in range(draws):
        release = publish(**case)
        if narrower is None:
            low, high = release.band(GRID, CONFIDENCE)
        else:  # the limits themselves, before non-negativity and the released value join in
            low, high = release.masses.limits(GRID[:, None] / 10, (0,), (0,), CONFIDENCE, "total")
            middle, half = (low + high) / 2, (high - low) / 2 * narrower
            low, high = middle - half, middle + half
        count += bool(((exact < low) | (exact > high)).any())
    return count


def allowed(draws, confidence=CONFIDENCE):
    """Misses beyond this happen to an honest band with probability below ALPHA."""
    return binom.isf(ALPHA, draws, 1 - confidence)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", OFTEN)
def test_the_default_band_covers(name):
    assert misses(name, FEW) <= allowed(FEW)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_default_band_covers_in_many_trials(name):
    assert misses(name, 600) <= allowed(600)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["none", "split", "concentrated"])
def test_the_noise_band_covers_the_noise_free_reconstruction(name):
    case = CASES[name]
    sure = sf.Privacy(rho=1e8) if name == "concentrated" else sf.Privacy(epsilon=1e8)
    release = publish(**case)
    exact = publish(**{**case, "privacy": sure, "basis": release.basis})
    weights = release.masses.reconstruction().weights(GRID[:, None] / 10, (0,))[0]
    truth = weights @ exact.masses.values / ROWS
    missed = 0
    for _ in range(600):
        low, high = publish(**case).band(GRID, CONFIDENCE, "noise")
        missed += bool(((truth < low - 1e-9) | (truth > high + 1e-9)).any())
    assert missed <= allowed(600)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sharp", pytest.param("sharp gaussian", marks=pytest.mark.slow)])
def test_a_band_of_half_the_width_would_be_found_out(name):
    """It misses in 55 to 60 of 100 releases, and 23 would be enough."""
    assert misses(name, 100, narrower=1.0) <= allowed(100)
    assert misses(name, 100, narrower=0.5) > allowed(100)


@pytest.mark.slow
@pytest.mark.parametrize("draws", [25, MANY])
def test_bands_of_groups_cover(draws):
    """Each group's band holds with its own confidence; groups have as many records as they have."""
    data = np.stack([np.concatenate([SMOOTH, 10 - SMOOTH]), np.repeat([0, 1], ROWS)], axis=1)
    truths = [estimate(SMOOTH), estimate(10 - SMOOTH)]
    missed = np.zeros(2)
    for _ in range(draws):
        release = sf.release(sf.KDE(BANDWIDTH, by="group"), data, GROUPED, sf.Privacy(epsilon=2.0))
        for group, exact in enumerate(truths):
            low, high = release[group].band(GRID, CONFIDENCE)
            missed[group] += bool(((exact < low) | (exact > high)).any())
    assert (missed <= allowed(draws)).all()


@pytest.mark.few(1)
@pytest.mark.parametrize("place", [5.0, 0.0, 3.21])
@pytest.mark.parametrize("draws", [15, MANY])
def test_the_worst_band_covers_records_that_are_all_equal(place, draws):
    data = np.full(ROWS, place)
    exact = estimate(data)
    missed = 0
    for _ in range(draws):
        low, high = publish(data, sf.Privacy(epsilon=20.0)).band(GRID, CONFIDENCE, include="worst")
        missed += bool(((exact < low) | (exact > high)).any())
    assert missed <= allowed(draws)


GRIDDED = "half numbers"  # with hardly any noise, their beat with the lattice shows: see the negative control


def spiky():
    """Records that no smooth density has: 2000 of each kind in [0, 10]."""
    rng = np.random.default_rng(7)
    flat, incomes = rng.uniform(0, 10, 2000), np.log1p(rng.lognormal(10, 0.6, 2000)) / 1.3
    towns = rng.uniform(0, 10, 15)[rng.integers(0, 15, 2000)] + rng.normal(0, 0.03, 2000)
    return {
        "log incomes and a spike at zero": np.where(rng.random(2000) < 0.2, 0.0, incomes),
        "ties": np.where(rng.random(2000) < 0.4, rng.uniform(0, 10, 8)[rng.integers(0, 8, 2000)], flat),
        "a hard edge": 3 + 0.4 * flat,
        "towns": np.clip(towns, 0, 10),
        "all equal": np.full(2000, 4.371),
        GRIDDED: np.rint(2 * np.clip(rng.normal(5, 2, 2000), 0, 10)) / 2,
    }


SPIKY = spiky()


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize(("name", "epsilon"), [(n, e) for n in SPIKY for e in (1.0, 20.0) if (n, e) != (GRIDDED, 20.0)])
def test_the_default_band_covers_records_with_spikes(name, epsilon):
    """With little noise and a lattice as coarse as the kernel, what the lattice cannot show is all that matters."""
    data, missed = SPIKY[name], 0
    exact = estimate(data)
    for _ in range(30):
        release = publish(data, sf.Privacy(epsilon=epsilon), basis=sf.Binning(13))
        low, high = release.band(GRID, CONFIDENCE)
        missed += bool(((exact < low) | (exact > high)).any())
    assert missed <= allowed(30)


@pytest.mark.slow
def test_the_default_band_does_not_promise_a_grid_that_beats_with_the_lattice():
    """A negative control: whole numbers 1.2 lattice steps apart leave slow waves in the masses; not so ``worst``."""
    data, missed = np.rint(np.clip(np.random.default_rng(7).normal(5, 2, 2000), 0, 10)), {"total": 0, "worst": 0}
    exact = estimate(data)
    for include in missed:
        for _ in range(25):
            release = publish(data, sf.Privacy(epsilon=20.0), basis=sf.Binning(13))
            low, high = release.band(GRID, CONFIDENCE, include)
            missed[include] += bool(((exact < low) | (exact > high)).any())
    assert missed["total"] > allowed(25)
    assert missed["worst"] <= allowed(25)


@pytest.mark.slow
@pytest.mark.parametrize("draws", [40, MANY])
def test_bands_of_counts_cover(draws):
    for case, rows in (("private count", ROWS), ("missing values", ROWS - len(SMOOTH[::3]))):
        missed = 0
        for _ in range(draws):
            low, high = publish(**{**CASES[case], "basis": sf.Binning(12)}).count_band(0.8)
            missed += not low <= rows <= high
        assert missed <= allowed(draws, 0.8)
        assert missed >= binom.ppf(ALPHA, draws, 0.2 / 4)  # not four times too cautious


@pytest.mark.slow
@pytest.mark.parametrize("draws", [20, MANY])
def test_bands_of_marginals_and_slopes_cover(draws):
    box = sf.Box({"t": (0, 10), "u": (0, 1)})
    data = np.stack([SMOOTH, np.linspace(0, 1, ROWS)], axis=1)
    exact = estimate(SMOOTH)
    apart = (GRID[:, None] - SMOOTH) / BANDWIDTH
    slope = (-apart * np.exp(-0.5 * apart**2)).mean(axis=1) / (BANDWIDTH**2 * np.sqrt(2 * np.pi))
    assert slope[1:-1] == pytest.approx(np.gradient(exact, GRID)[1:-1], abs=1e-3)
    missed = np.zeros(2)
    for _ in range(draws):
        plane = sf.release(sf.KDE([BANDWIDTH, 0.3]), data, box, sf.Privacy(epsilon=3.0), basis=sf.Binning((14, 5)))
        parts = [(plane.marginal("t"), exact), (publish(basis=sf.Binning(16)).derivative(), slope)]
        for i, (release, truth) in enumerate(parts):
            low, high = release.band(GRID, CONFIDENCE)
            missed[i] += bool(((truth < low) | (truth > high)).any())
    assert (missed <= allowed(draws)).all()


SHARP = {
    "smooth": SMOOTH,
    "a spike": np.where(np.arange(ROWS) < ROWS // 4, 3.7, SMOOTH),
    "in one place": np.full(ROWS, 4.321),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("draws", [12, pytest.param(120, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", SHARP)
def test_limits_of_shares_quantiles_and_means_hold(name, draws):
    """Each by itself, for the records themselves; false alarms by the binomial law at ALPHA."""
    data, levels = SHARP[name], [0.1, 0.5, 0.9]
    share, quantiles = ((data >= 2.5) & (data <= 4.2)).mean(), np.quantile(data, levels, method="inverted_cdf")
    held = np.zeros(3)
    for _ in range(draws):
        release = sf.release(sf.KDE(BANDWIDTH), data, BOX, PURE)
        limits = [release.probability_band((2.5, 4.2)), release.quantile_band(levels), release.mean_band()]
        truths = [share, quantiles, data.mean()]
        held += [bool(np.all((low <= t) & (t <= high))) for (low, high), t in zip(limits, truths, strict=True)]
    assert (held >= binom.ppf(ALPHA, draws, CONFIDENCE)).all()
