"""Probabilities, quantiles, means, modes and samples, against the kernel density estimate itself."""

import dataclasses
import math

import numpy as np
import pytest
from scipy.stats import kstest, norm

import sfumato as sf
from sfumato.errors import OutsideBoxError, ParameterError

LINE = sf.Box({"t": (0, 10)})
PLANE = sf.Box({"x": (0, 10), "y": (0, 5)})
SURE = sf.Privacy(epsilon=1e6)
DATA = np.random.default_rng(1).beta(2, 4, size=2000) * 10
WIDTH = 0.6


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
    assert line.probability(over) == pytest.approx(expected, abs=1e-3)
    assert line.probability({"t": over}) == line.probability([over]) == line.probability(over)


def test_the_whole_is_certain_and_parts_add_up(line):
    assert line.probability() == 1.0
    assert line.probability((0, 4)) + line.probability((4, 10)) == pytest.approx(1.0)


def test_quantiles(line):
    levels = np.linspace(0.01, 0.99, 25)
    found = line.quantile(levels)
    assert cdf(found) == pytest.approx(levels, abs=1e-3)
    assert (np.diff(found) > 0).all()
    assert line.quantile(0.5) == pytest.approx(found[12])
    assert isinstance(line.quantile(0.5), float)
    assert line.quantile([0, 1]) == pytest.approx([0.0, 10.0], abs=1e-6)


@pytest.mark.parametrize("bad", [-0.1, 1.1, math.nan, [0.5, 2]])
def test_levels_are_probabilities(line, bad):
    with pytest.raises(ParameterError, match="level"):
        line.quantile(bad)


def test_mean_and_mode(line):
    points = np.linspace(0, 10, 20_001)
    expected = 10 - np.trapezoid(cdf(np.linspace(0, 10, 2001)), dx=10 / 2000)
    assert line.mean() == pytest.approx(expected, abs=2e-3)
    assert line(line.mode()) >= line(points).max() * (1 - 1e-5)
    assert line.mode().shape == (1,)


def test_samples_follow_the_density(line):
    rows = line.sample(4000, seed=3)
    assert rows.shape == (4000, 1)
    assert rows.min() >= 0 and rows.max() <= 10
    assert kstest(rows[:, 0], cdf).pvalue > 1e-4
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
        def _on_grid(self, axes):
            return -np.ones(tuple(map(len, axes)))

    base = sf.release(sf.KDE(1.0, post="none"), DATA[:5], LINE, sf.Privacy(epsilon=1.0))
    release = Nothing(**{field.name: getattr(base, field.name) for field in dataclasses.fields(base)})
    assert release.quantile([0.25, 0.5]) == pytest.approx([2.5, 5.0])
    assert release.mean() == pytest.approx(5.0)
    assert release.sample(10, seed=1).shape == (10, 1)
