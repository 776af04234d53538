"""Bands of curves and of class probabilities cover what they speak of; with next to no noise the formulas come back.

Each test of coverage has a false-alarm rate below 1e-9 (fewer than fifty of them: below 1e-7 together) and is paired
with one that a band about something 3 % off fails. The formulas are compared with tolerances that 3 % exceeds; at their
grants, noise is a millionth of a record, so they have no false alarms.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from harness.laws import ALPHA
from scipy.stats import binom

import sfumato as sf
from sfumato.bases.bayes.attributes import Attributes

CONFIDENCE = 0.95
FEW, MANY = 30, pytest.param(150, marks=pytest.mark.slow)
LINE = sf.Box({"x": (0, 10)})
PLANE = sf.Box({"x": (0, 10), "z": (0, 10)})
RANGE = (60.0, 220.0)
ROWS, BANDWIDTH = 1500, 0.8
GRID = np.linspace(0, 10, 60)
RNG = np.random.default_rng(11)
PLACES = RNG.beta(1.5, 2.0, ROWS) * 10
OTHERS = RNG.beta(2.0, 2.0, ROWS) * 10
ANSWERS = 140 + 50 * np.sin(PLACES / 1.6) + RNG.normal(0, 15, ROWS)  # some lie outside the range


def allowed(draws, confidence=CONFIDENCE):
    """Misses beyond this happen to an honest band with probability below ALPHA."""
    return binom.isf(ALPHA, draws, 1 - confidence)


def regression(points, records, answers, bandwidths):
    """Nadaraya-Watson in plain numpy."""
    apart = (points[:, None, :] - records[None, :, :]) / np.array(bandwidths)
    weights = np.exp(-0.5 * (apart**2).sum(axis=2))
    return weights @ np.clip(answers, *RANGE) / weights.sum(axis=1)


CURVES = {
    "pure": {},
    "split": {"basis": sf.SplitLattice(16, 0.4)},
    "gaussian": {"privacy": sf.Privacy(epsilon=1.0, delta=1e-6)},
    "private count": {"privacy": sf.Privacy(epsilon=2.0, neighbours="add-remove")},
    "much noise": {"privacy": sf.Privacy(epsilon=0.02)},
    "missing responses": {"answers": np.where(np.arange(ROWS) % 3 == 0, np.nan, ANSWERS)},
}


def curve(answers=ANSWERS, privacy=None, basis="auto"):
    target = sf.NadarayaWatson(BANDWIDTH, "y", RANGE)
    return sf.release(target, (PLACES[:, None], answers), LINE, privacy or sf.Privacy(epsilon=1.0), basis=basis)


def missed(truth, limits):
    return bool(((truth < limits[0]) | (truth > limits[1])).any())


# --- curves -----------------------------------------------------------------------------------------------------


@pytest.mark.few(1)
@pytest.mark.parametrize("draws", [FEW, MANY])
@pytest.mark.parametrize("name", CURVES)
def test_bands_of_curves_cover_the_kernel_regression(name, draws):
    answers = CURVES[name].get("answers", ANSWERS)
    there = ~np.isnan(answers)
    exact = regression(GRID[:, None], PLACES[there, None], answers[there], [BANDWIDTH])
    assert sum(missed(exact, curve(**CURVES[name]).band(GRID, CONFIDENCE)) for _ in range(draws)) <= allowed(draws)


@pytest.mark.slow
@pytest.mark.parametrize("draws", [15, MANY])
def test_bands_of_surfaces_cover_the_kernel_regression(draws):
    records, wide = np.stack([PLACES, OTHERS], axis=1), [1.5, 2.0]
    points = np.stack([GRID, GRID[::-1]], axis=1)
    exact = regression(points, records, ANSWERS, wide)
    target = sf.NadarayaWatson(wide, "y", RANGE)
    releases = (
        sf.release(target, (records, ANSWERS), PLANE, sf.Privacy(epsilon=2.0), basis=sf.Binning((9, 8)))
        for _ in range(draws)
    )
    assert sum(missed(exact, release.band(points, CONFIDENCE)) for release in releases) <= allowed(draws)


@pytest.mark.slow
def test_a_curve_that_is_three_per_cent_off_is_not_covered():
    """With little noise the band is narrower than 3 % of the range, so each draw finds it out."""
    inner = (GRID > 1) & (GRID < 9)
    exact = regression(GRID[:, None], PLACES[:, None], ANSWERS, [BANDWIDTH])[inner]
    off = exact + 0.03 * (RANGE[1] - RANGE[0])
    limits = [curve(privacy=sf.Privacy(epsilon=50.0)).band(GRID[inner], CONFIDENCE) for _ in range(FEW)]
    assert sum(missed(exact, pair) for pair in limits) <= allowed(FEW)
    assert sum(missed(off, pair) for pair in limits) > allowed(FEW)


@pytest.mark.slow
def test_half_of_a_noise_band_of_sums_would_be_found_out():
    """The two sums behind a curve: their limits hold together; half the width misses in about 70 draws of 100."""
    sharp, unit = sf.Binning(26), GRID[:, None] / 10
    exact = curve(privacy=sf.Privacy(epsilon=1e8), basis=sharp)
    draws, whole, half = 100, 0, 0
    for _ in range(draws):
        release = curve(basis=sharp)
        missing = np.zeros(2, dtype=bool)
        for part, true in ((release.high, exact.high), (release.low, exact.low)):
            low, high = part.masses.sum_limits(unit, (1 + CONFIDENCE) / 2, "noise")
            weights = part.masses.reconstruction().weights(unit, (0,))[0]
            error = np.abs(weights @ true.masses.values - (low + high) / 2)
            missing |= [(error > (high - low) / 2).any(), (error > (high - low) / 4).any()]
        whole, half = whole + missing[0], half + missing[1]
    assert whole <= allowed(draws)
    assert half > allowed(draws)


# --- classifiers ------------------------------------------------------------------------------------------------

CLASSES = ["a", "b", "c"]
MIXED = sf.Box({"x": (0, 10), "z": (0, 10), "group": sf.Categorical(["u", "v"])})
LABELS = RNG.choice(CLASSES, ROWS, p=[0.5, 0.3, 0.2])
SHIFT = np.array([CLASSES.index(label) for label in LABELS])
FRAME = pd.DataFrame(
    {
        "x": (3 + 1.2 * SHIFT + RNG.normal(0, 1.5, ROWS)).clip(0, 10),
        "z": (6 - SHIFT + RNG.normal(0, 1.5, ROWS)).clip(0, 10),
        "group": np.where(RNG.uniform(size=ROWS) < 0.3 + 0.2 * SHIFT, "u", "v"),
        "y": LABELS,
    }
)
ASKED = pd.DataFrame(
    {"x": [2.0, 3.5, 4.2, 5.0, 6.0], "z": [6.0, 5.5, 5.0, 4.6, 4.0], "group": ["u", "v", "u", "v", "u"]}
)
WIDTHS = {"x": 0.9, "z": 0.9}


def posterior(likelihood, frame=FRAME, asked=ASKED):
    """Shares of the classes times products of their likelihoods, in plain numpy."""
    odds = np.zeros((len(asked), len(CLASSES)))
    for k, label in enumerate(CLASSES):
        own = frame[frame.y == label]
        odds[:, k] = len(own)
        for name in ("x", "z"):
            if likelihood == "kernel":
                apart = (asked[name].to_numpy()[:, None] - own[name].to_numpy()) / WIDTHS[name]
                odds[:, k] *= np.exp(-0.5 * apart**2).mean(axis=1)
            else:
                deviation = own[name].std(ddof=0)
                odds[:, k] *= np.exp(-0.5 * ((asked[name] - own[name].mean()) / deviation) ** 2) / deviation
        odds[:, k] *= [(own.group == group).mean() for group in asked.group]
    return odds / odds.sum(axis=1, keepdims=True)


def classifier(likelihood, privacy):
    target = sf.NaiveBayes("y", CLASSES, bandwidth=list(WIDTHS.values()), likelihood=likelihood)
    return sf.release(target, FRAME, MIXED, privacy)


GRANTS = {
    "pure": sf.Privacy(epsilon=3.0),
    "gaussian": sf.Privacy(epsilon=3.0, delta=1e-6),
    "private count": sf.Privacy(epsilon=3.0, neighbours="add-remove"),
    "little noise": sf.Privacy(epsilon=300.0),
}


OFTEN = [("kernel", "pure", 20), *(("normal", grant, 20) for grant in GRANTS)]
SELDOM = [pytest.param(kind, grant, 150, marks=pytest.mark.slow) for kind in ("kernel", "normal") for grant in GRANTS]


@pytest.mark.slow
@pytest.mark.parametrize(("likelihood", "grant", "draws"), [*OFTEN, *SELDOM])
def test_bands_of_probabilities_cover_the_plain_formula(likelihood, grant, draws):
    exact, count = posterior(likelihood), 0
    for _ in range(draws):
        count += missed(exact, classifier(likelihood, GRANTS[grant]).band(ASKED, CONFIDENCE))
    assert count <= allowed(draws)


@pytest.mark.slow
@pytest.mark.parametrize("likelihood", ["kernel", "normal"])
def test_probabilities_that_are_three_points_off_are_not_covered(likelihood):
    """With next to no noise: what the basis misses is all that is left, and it is less."""
    exact, privacy = posterior(likelihood), sf.Privacy(epsilon=1e6)
    limits = [classifier(likelihood, privacy).band(ASKED, CONFIDENCE, "noise") for _ in range(10)]
    off = exact + np.array([0.03, -0.03, 0.0])
    assert sum(missed(off, pair) for pair in limits) > allowed(10)
    assert all((np.abs(exact - (low + high) / 2) < 0.01).all() for low, high in limits)


@pytest.mark.slow
@pytest.mark.parametrize("draws", [20, MANY])
@pytest.mark.parametrize("likelihood", ["kernel", "normal"])
def test_certain_labels_are_those_without_noise(likelihood, draws):
    exact = np.array(CLASSES)[posterior(likelihood).argmax(axis=1)]
    wrong = told = 0
    for _ in range(draws):
        release = classifier(likelihood, sf.Privacy(epsilon=60.0))
        sure = release.certain(ASKED, CONFIDENCE)
        wrong += bool((release.predict(ASKED)[sure] != exact[sure]).any())
        told += int(sure.sum())
    assert wrong <= allowed(draws)
    assert told > 0


# --- formulas: next to no noise -----------------------------------------------------------------------------------

SURE = sf.Privacy(epsilon=1e7)


@pytest.mark.parametrize("basis", ["auto", sf.Binning(60), sf.SplitLattice(40, 0.4)])
def test_nadaraya_watson(basis):
    """Off by at most a thousandth of the range; 3 % more of the responses' spread or of the bandwidth is seen."""
    exact = regression(GRID[:, None], PLACES[:, None], ANSWERS, [BANDWIDTH])
    found = curve(privacy=SURE, basis=basis)(GRID)
    tolerance = 0.001 * (RANGE[1] - RANGE[0])
    assert np.abs(found - exact).max() < tolerance
    assert np.abs(0.03 * (exact - 140)).max() > 3 * tolerance
    wider = regression(GRID[:, None], PLACES[:, None], ANSWERS, [1.03 * BANDWIDTH])
    assert np.abs(wider - exact).max() > 3 * tolerance


@pytest.mark.slow
def test_nadaraya_watson_on_two_columns():
    records, wide = np.stack([PLACES, OTHERS], axis=1), [1.5, 2.0]
    points = np.stack([GRID, GRID[::-1]], axis=1)
    exact = regression(points, records, ANSWERS, wide)
    found = sf.release(sf.NadarayaWatson(wide, "y", RANGE), (records, ANSWERS), PLANE, SURE)(points)
    assert np.abs(found - exact).max() < 0.0015 * (RANGE[1] - RANGE[0])
    assert np.abs(0.03 * (exact - 140)).max() > 0.0045 * (RANGE[1] - RANGE[0])


def priestley_chao(points, places, answers, bandwidth, gap):
    """``m + 1/b sum g_i K((x - x_i)/b) (y_i - m)`` with clipped gaps, in plain numpy."""
    order = np.lexsort((answers, places))
    x, y = places[order], np.clip(answers, *RANGE)[order]
    gaps = np.minimum(np.diff(x, prepend=0.0), gap * 10 / len(x))
    kernel = np.exp(-0.5 * ((points[:, None] - x) / bandwidth) ** 2) / np.sqrt(2 * np.pi)
    return 140 + kernel @ (gaps * (y - 140)) / bandwidth


@pytest.mark.parametrize("gap", [0.5, 1.0, 4.0])
def test_priestley_chao(gap):
    """On the lattice the formula itself is released; 3 % more of a gap, a bandwidth or a response is seen."""
    nodes = np.linspace(0, 10, 21)
    target = sf.PriestleyChao(BANDWIDTH, "y", RANGE, gap=gap)
    release = sf.release(target, (PLACES[:, None], ANSWERS), LINE, SURE, basis=sf.Bernstein(20))
    exact = priestley_chao(nodes, PLACES, ANSWERS, BANDWIDTH, gap)
    assert np.abs(release.coefficients - exact).max() < 0.01
    for off in (
        priestley_chao(nodes, PLACES, ANSWERS, 1.03 * BANDWIDTH, gap),
        priestley_chao(nodes, PLACES, ANSWERS, BANDWIDTH, 1.03 * gap),
        140 + 1.03 * (exact - 140),
    ):
        assert np.abs(off - exact).max() > 0.1


@pytest.mark.parametrize("likelihood", ["kernel", "normal"])
def test_naive_bayes(likelihood):
    """Probabilities within a tenth of a point; records of one class that are 3 % off move some by more than one."""
    exact, found = posterior(likelihood), classifier(likelihood, SURE).predict_proba(ASKED)
    assert np.abs(found - exact).max() < 0.001
    moved = FRAME.assign(x=np.where(FRAME.y == "b", FRAME.x * 1.03, FRAME.x))
    assert np.abs(posterior(likelihood, moved) - exact).max() > 0.01


def test_likelihoods_one_by_one():
    """Each column's likelihood of each class, against plain kernel densities and normal densities."""
    points = np.linspace(0.5, 9.5, 19)
    kernel, normal = (classifier(likelihood, SURE).likelihoods[0] for likelihood in ("kernel", "normal"))
    for k, label in enumerate(CLASSES):
        own = FRAME.x[FRAME.y == label].to_numpy()
        apart = (points[:, None] - own) / WIDTHS["x"]
        density = np.exp(-0.5 * apart**2).mean(axis=1) / (WIDTHS["x"] * np.sqrt(2 * np.pi))
        bell = np.exp(-0.5 * ((points - own.mean()) / own.std()) ** 2) / (own.std() * np.sqrt(2 * np.pi))
        assert np.abs(kernel(points, "refuse")[:, k] - density).max() < 0.01 * density.max()
        assert np.abs(normal(points, "refuse")[:, k] - bell).max() < 0.001 * bell.max()


def test_lattices_of_a_few_points_keep_their_counts():
    """Whatever the lattice shows of the shape, it has every record: counts are exact to a thousandth of one."""
    target = sf.NaiveBayes("y", CLASSES, bandwidth=list(WIDTHS.values()))
    release = sf.release(target, FRAME, MIXED, SURE, basis=Attributes((sf.Binning(4), sf.SplitLattice(5, 0.5), None)))
    assert release.counts == pytest.approx([int(np.sum(label == LABELS)) for label in CLASSES], abs=1e-3)
