"""Probabilities, quantiles, means, modes and samples: of the surface against the kernel density estimate itself, of the
measure against the records."""

import dataclasses
import math

import numpy as np
import pytest
from scipy.stats import ks_2samp, kstest, norm

import sfumato as sf
from sfumato.errors import OutsideBoxError, ParameterError

LINE = sf.Box({"t": (0, 10)})
PLANE = sf.Box({"x": (0, 10), "y": (0, 5)})
SURE = sf.Privacy(epsilon=1e6)
DATA = np.random.default_rng(1).beta(2, 4, size=2000) * 10
WIDTH = 0.6
SURELY = 1 - 1e-8  # a limit that does not hold is no bad luck


def cdf(value):
    """Of the kernel density estimate, within the box."""
    value = np.asarray(value, dtype=float)[..., None]
    below = norm.cdf((value - DATA) / WIDTH) - norm.cdf(-DATA / WIDTH)
    whole = norm.cdf((10 - DATA) / WIDTH) - norm.cdf(-DATA / WIDTH)
    return below.sum(axis=-1) / whole.sum()


@pytest.fixture(scope="module")
def line():
    return sf.release(sf.KDE(WIDTH), DATA, LINE, SURE)


@pytest.fixture(scope="module")
def plane():
    data = np.random.default_rng(2).beta([2, 4], [3, 2], size=(1500, 2)) * [10, 5]
    return data, sf.release(sf.KDE([0.8, 0.4]), data, PLANE, SURE)


@pytest.mark.parametrize("over", [(0, 10), (2, 5), (0, 1), (3, 3)])
def test_probabilities(line, over):
    expected = cdf(over[1]) - cdf(over[0])
    assert line.probability(over, of="surface") == pytest.approx(expected, abs=1e-3)
    records = ((over[0] <= DATA) & (over[1] >= DATA)).mean()
    assert line.probability(over) == pytest.approx(records, abs=5e-3)
    assert line.probability({"t": over}) == line.probability([over]) == line.probability(over)


def test_the_whole_is_certain_and_parts_add_up(line):
    assert line.probability() == 1.0
    assert line.probability((0, 4)) + line.probability((4, 10)) == pytest.approx(1.0)


def test_quantiles(line):
    levels = np.linspace(0.01, 0.99, 25)
    assert cdf(line.quantile(levels, of="surface")) == pytest.approx(levels, abs=1e-3)
    found = line.quantile(levels)
    assert (found[:, None] >= DATA).mean(axis=1) == pytest.approx(levels, abs=5e-3)
    assert (np.diff(found) > 0).all()
    assert line.quantile(0.5) == pytest.approx(found[12])
    assert isinstance(line.quantile(0.5), float)
    assert line.quantile([0, 1], of="surface") == pytest.approx([0.0, 10.0], abs=1e-6)


@pytest.mark.parametrize("bad", [-0.1, 1.1, math.nan, [0.5, 2]])
def test_levels_are_probabilities(line, bad):
    with pytest.raises(ParameterError, match="level"):
        line.quantile(bad)


def test_mean_and_mode(line):
    points = np.linspace(0, 10, 20_001)
    expected = 10 - np.trapezoid(cdf(np.linspace(0, 10, 2001)), dx=10 / 2000)
    assert line.mean(of="surface") == pytest.approx(expected, abs=2e-3)
    assert line.mean() == pytest.approx(DATA.mean(), abs=2e-3)
    assert line(line.mode()) >= line(points).max() * (1 - 1e-5)
    assert line.mode().shape == (1,)


@pytest.mark.slow
def test_samples_follow_the_density(line):
    rows = line.sample(4000, seed=3, of="surface")
    assert kstest(rows[:, 0], cdf).pvalue > 1e-4
    rows = line.sample(4000, seed=3)
    assert rows.shape == (4000, 1)
    assert rows.min() >= 0 and rows.max() <= 10
    assert ks_2samp(rows[:, 0], DATA).pvalue > 1e-4
    assert np.array_equal(rows, line.sample(4000, seed=3))
    assert not np.array_equal(rows, line.sample(4000, seed=4))
    assert not np.array_equal(line.sample(5), line.sample(5))


def test_of_two_columns_each_is_asked_for(plane):
    data, release = plane
    for axis, name in enumerate(PLANE.names):
        marginal = release.marginal(name)
        assert release.quantile([0.2, 0.8], name) == pytest.approx(marginal.quantile([0.2, 0.8]), abs=0.05)
        assert release.mean(name) == pytest.approx(marginal.mean(), abs=0.02)
        assert release.mean(axis) == release.mean(name)
        assert release.mean(name) == pytest.approx(data[:, axis].mean(), abs=0.1)
    with pytest.raises(ParameterError, match="column"):
        release.mean()
    with pytest.raises(ParameterError, match="column"):
        release.quantile(0.5, "z")
    rows = release.sample(5000, seed=1)
    assert rows.mean(axis=0) == pytest.approx([release.mean("x"), release.mean("y")], abs=0.15)
    inside = ((rows >= [2, 1]) & (rows <= [6, 4])).all(axis=1).mean()
    assert inside == pytest.approx(release.probability({"x": (2, 6), "y": (1, 4)}), abs=0.04)
    assert release.mode().shape == (2,)


@pytest.mark.slow
def test_correlations_survive_sampling():
    generator = np.random.default_rng(3)
    data = np.clip(generator.multivariate_normal([5, 2.5], [[2.0, 0.9], [0.9, 0.6]], 3000), 0, [10, 5])
    rows = sf.release(sf.KDE([0.5, 0.3]), data, PLANE, sf.Privacy(epsilon=100.0)).sample(4000, seed=1)
    assert np.corrcoef(rows.T)[0, 1] == pytest.approx(np.corrcoef(data.T)[0, 1], abs=0.15)


@pytest.mark.parametrize("size", [0, -1, 1.5, True, "ten"])
def test_sizes_are_whole_numbers(line, size):
    with pytest.raises(ParameterError, match="size"):
        line.sample(size)


def test_questions_outside_the_box_are_refused(line):
    with pytest.raises(OutsideBoxError):
        line.probability((5, 11))
    with pytest.raises(ParameterError):
        line.probability("adults")


def test_a_density_that_is_negative_everywhere_still_answers():
    """Noise without shape constraints can leave nothing: the answers then say no more than the box does."""

    class Nothing(sf.DensityRelease):
        def _heap(self):
            heap = super()._heap()
            return dataclasses.replace(heap, masses=-np.ones(heap.masses.shape))

        def _on_grid(self, axes):
            return -np.ones(tuple(map(len, axes)))

    base = sf.release(sf.KDE(1.0, post="none"), DATA[:5], LINE, sf.Privacy(epsilon=1.0))
    release = Nothing(**{field.name: getattr(base, field.name) for field in dataclasses.fields(base)})
    for of in ("measure", "surface"):
        assert release.quantile([0.25, 0.5], of=of) == pytest.approx([2.5, 5.0])
        assert release.mean(of=of) == pytest.approx(5.0)
        assert release.sample(10, seed=1, of=of).shape == (10, 1)


def test_whole_numbers_have_the_probability_of_the_halves_around_them():
    """Ten and 9.5 to 10.5 are the same; parts that share no number add up to one; between two numbers is nothing."""
    counts = np.random.default_rng(0).binomial(20, 0.5, 5000).astype(float)
    release = sf.release(sf.KDE(0.3), counts, sf.Box({"k": sf.Integer(0, 20)}), sf.Privacy(epsilon=50.0))
    for over in ((9.5, 10.5), (10, 10), (9.9, 10.1)):
        assert release.probability(over) == pytest.approx((counts == 10).mean(), abs=0.02)
    assert release.probability((0, 9)) + release.probability((10, 20)) == pytest.approx(1.0)
    assert sum(release.probability((k - 0.5, k + 0.5)) for k in range(21)) == pytest.approx(1.0)
    assert release.probability((9.2, 9.8)) == 0.0
    with pytest.raises(sf.errors.OutsideBoxError):
        release.probability((-1, 3))


# --- the measure, and limits for what it answers ------------------------------------------------------------------


def test_records_are_asked_for_not_their_blur():
    """A fifth of all records are zero: the surface spreads them, half of them beyond the box."""
    generator = np.random.default_rng(4)
    data = np.where(generator.random(5000) < 0.2, 0.0, generator.beta(8, 4, 5000) * 10)
    release = sf.release(sf.KDE(0.5), data, LINE, sf.Privacy(epsilon=20.0))
    assert release.probability((0, 1)) == pytest.approx((data <= 1).mean(), abs=0.005)
    assert abs(release.probability((0, 1), of="surface") - (data <= 1).mean()) > 0.05
    assert release.mean() == pytest.approx(data.mean(), abs=0.02)


@pytest.mark.parametrize("of", ["records", None, 1])
def test_what_is_asked_is_measure_or_surface(line, of):
    for ask in (line.probability, line.mean):
        with pytest.raises((ParameterError, TypeError), match="of"):
            ask(of=of)


def test_a_polynomial_has_no_measure_and_answers_from_its_surface():
    release = sf.release(sf.KDE(WIDTH, post="none"), DATA, LINE, SURE, basis=sf.Bernstein(12, 2))
    assert release.probability((2, 5)) == release.probability((2, 5), of="surface")
    assert release.mean() == release.mean(of="surface")
    for ask in (release.probability_band, release.mean_band, lambda: release.quantile_band(0.5)):
        with pytest.raises(ParameterError, match="Bernstein"):
            ask()


@pytest.mark.few(1)
@pytest.mark.parametrize("include", ["total", "worst"])
def test_limits_surround_the_answer_and_the_records(line, plane, include):
    for over in ((2, 5), (0, 1), (3, 3), (0, 10), (4.4, 9)):
        low, high = line.probability_band(over, include=include)
        assert 0 <= low <= min(line.probability(over), ((over[0] <= DATA) & (over[1] >= DATA)).mean())
        assert max(line.probability(over), ((over[0] <= DATA) & (over[1] >= DATA)).mean()) <= high <= 1
    levels = [0.1, 0.5, 0.9]
    low, high = line.quantile_band(levels, include=include)
    truth = np.quantile(DATA, levels, method="inverted_cdf")
    assert (low <= np.minimum(truth, line.quantile(levels))).all()
    assert (np.maximum(truth, line.quantile(levels)) <= high).all()
    assert isinstance(line.quantile_band(0.5, include=include)[0], float)
    low, high = line.mean_band(include=include)
    assert low <= min(DATA.mean(), line.mean()) <= max(DATA.mean(), line.mean()) <= high
    data, release = plane
    for over in ({"x": (2, 6), "y": (1, 4)}, {"y": (1, 4)}):
        sides = [over.get("x", (0, 10)), over.get("y", (0, 5))]
        share = np.logical_and.reduce([(data[:, i] >= a) & (data[:, i] <= b) for i, (a, b) in enumerate(sides)]).mean()
        low, high = release.probability_band(over, include=include)
        assert low <= share <= high
    assert release.marginal("y").probability_band((1, 4)) == release.probability_band({"y": (1, 4)})


def test_worst_is_wider_and_confidence_widens():
    release = sf.release(sf.KDE(WIDTH), DATA, LINE, sf.Privacy(epsilon=1.0))
    total, worst = (release.probability_band((2, 5), include=include) for include in ("total", "worst"))
    assert worst[0] <= total[0] <= total[1] <= worst[1]
    sure = release.probability_band((2, 5), confidence=0.999)
    assert sure[1] - sure[0] > total[1] - total[0]


def test_limits_of_whole_numbers_are_whole_and_circles_go_round():
    counts = np.random.default_rng(0).binomial(20, 0.5, 5000).astype(float)
    release = sf.release(sf.KDE(1.0), counts, sf.Box({"k": sf.Integer(0, 20)}), sf.Privacy(epsilon=2.0))
    low, high = release.quantile_band(0.5, confidence=SURELY)
    assert low <= 10 <= high
    low, high = release.probability_band((10, 10), confidence=SURELY)
    assert low <= (counts == 10).mean() <= high
    hours = np.random.default_rng(0).normal(0, 2, 3000) % 24
    release = sf.release(sf.KDE(1.0), hours, sf.Box({"hour": sf.Periodic(0, 24)}), sf.Privacy(epsilon=2.0))
    low, high = release.probability_band((22, 2), confidence=SURELY)
    assert low <= ((hours >= 22) | (hours <= 2)).mean() <= high
    with pytest.raises(ParameterError, match="circle"):
        release.mean_band()


def test_derivatives_answer_nothing(line):
    for ask in (line.derivative().probability, line.derivative().probability_band, line.derivative().mean):
        with pytest.raises(ParameterError, match="derivative"):
            ask()
