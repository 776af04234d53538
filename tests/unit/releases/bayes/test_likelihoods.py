"""Likelihoods of one column: counts, moments, densities, and limits that hold for every number that noise allows."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

import sfumato as sf
from sfumato.bases.bayes.attributes import Attributes
from sfumato.bases.bayes.contributions import COUNT_WEIGHT
from sfumato.core.calibration import calibrate
from sfumato.core.certificate import Certificate
from sfumato.errors import OutsideBoxError
from sfumato.laws import noise_deviation
from sfumato.releases.bayes.likelihoods import Counted, Normal, numbers_of
from sfumato.releases.uncertainty import half_width_of, widths_of_each

SEX = sf.Box({"sex": sf.Categorical(["F", "M", "X"])})
GRADE = sf.Box({"grade": sf.Categorical([1, 2.5, 3])})
AGE = sf.Box({"age": (20, 100)})
GRID = np.linspace(20, 100, 33)


def law(size, epsilon=1.0):
    found, _ = calibrate(Certificate("l1", 2.0, "replace", "proved", "naive-bayes"), size, sf.Privacy(epsilon=epsilon))
    return found


def counted(numbers, box=SEX, epsilon=1.0):
    numbers = np.array(numbers, dtype=float)
    return Counted(box, numbers, law(numbers.shape[1], epsilon))


def moments(means, deviations, counts, epsilon=1.0):
    """Sums of records with these means and deviations, in years."""
    z, s, n = (np.array(means) - 60) / 40, np.array(deviations) / 40, np.array(counts, dtype=float)
    numbers = np.stack([n * z, n * (z * z + s * s - 0.5), COUNT_WEIGHT * n], axis=1)
    return Normal(AGE, numbers, law(3, epsilon))


@pytest.fixture(scope="module")
def smoothed():
    ages = np.random.default_rng(1).uniform(20, 100, 300)
    labels = np.where(ages > 55, "old", "young")
    target = sf.NaiveBayes("y", ["young", "old"], [6.0])
    release = sf.release(target, (ages, labels), AGE, sf.Privacy(epsilon=5.0), basis=Attributes((sf.Binning(14),)))
    return release.likelihoods[0]


# --- categories -------------------------------------------------------------------------------------------------


def test_categories_have_their_shares():
    one = counted([[6, 3, 1], [0, 0, 40]])
    assert one(np.array(["F", "M", "X"]), "refuse") == pytest.approx(np.array([[0.6, 0], [0.3, 0], [0.1, 1]]), abs=1e-8)
    assert one.counts.tolist() == [10, 40]
    assert one.uncertainty == 3


@pytest.mark.parametrize("value", ["f", "", None, 3, math.nan, "unknown"])
def test_what_is_not_declared_says_nothing(value):
    one = counted([[6, 3, 1], [0, 0, 40]])
    assert one(np.array([value], dtype=object), "refuse").tolist() == [[0, 0]]
    limits, counts = one.limits(np.array([value], dtype=object), 0.95, "noise", "refuse"), one.count_limits(0.95)
    assert [end[0].tolist() for end in limits] == [end.tolist() for end in counts]


def test_numeric_categories_are_compared_as_numbers():
    one = counted([[6, 3, 1]], GRADE)
    for values in ([1, 2.5, 3], np.array([1.0, 2.5, 3.0]), np.array([1, 2.5, 3], dtype=object)):
        assert one(np.array(values), "refuse")[:, 0] == pytest.approx([0.6, 0.3, 0.1])
    assert one(np.array([2, np.inf, np.nan]), "refuse").tolist() == [[0.0], [0.0], [0.0]]


def test_negative_counts_are_none():
    one = counted([[-5, -2, -1], [4, -3, 4]])
    found = one(np.array(["F", "M", "X"]), "refuse")
    assert (found >= 0).all()
    assert found.sum(axis=0) == pytest.approx(1.0)
    assert found[:, 1] == pytest.approx([0.5, 0, 0.5], abs=1e-8)


def test_limits_of_counts_are_as_wide_as_their_noise():
    one = counted([[60, 30, 10]])
    width = widths_of_each(one.law, 0.9)
    low, high = one.limits(np.array(["M", "F"]), 0.9, "noise", "refuse")
    assert low[:, 0] == pytest.approx([30 - width[1], 60 - width[0]])
    assert high[:, 0] == pytest.approx([30 + width[1], 60 + width[0]])
    least, most = one.count_limits(0.9)
    assert (most - least)[0] == pytest.approx(2 * half_width_of([np.ones((1, 3))], one.law, 0.9)[0])


def test_a_stronger_grant_is_worth_more_records():
    weak, strong = (counted([[1, 1, 1]], epsilon=e).strength for e in (0.1, 10.0))
    assert weak == pytest.approx(100 * strong, rel=0.01)
    assert strong == pytest.approx(math.sqrt(2) * 0.2 * math.sqrt(3), rel=0.01)


# --- moments ----------------------------------------------------------------------------------------------------


def test_normal_likelihoods_are_those_of_the_moments():
    one = moments([45, 70], [10, 5], [100, 30], 1e4)
    assert one(GRID, "refuse") == pytest.approx(norm.pdf(GRID[:, None], [45, 70], [10, 5]))
    assert one.counts == pytest.approx([100, 30])
    assert one.uncertainty == pytest.approx(4.0)
    mean, deviation = one.moments
    assert (60 + 40 * mean, 40 * deviation) == (pytest.approx([45, 70]), pytest.approx([10, 5]))


def test_no_deviation_is_narrower_than_noise_leaves_open():
    """The variance has noise of about the noise's deviation over the count; near nought, that is what is known."""
    for epsilon, count in ((1.0, 100), (1.0, 1e6), (0.1, 100), (1e-4, 100)):
        one = moments([45], [0.1], [count], epsilon)
        least = min(max(noise_deviation(one.law) / count, 0.01**2), 1.0)
        assert one.moments[1] == pytest.approx([math.sqrt(least)])


def test_impossible_moments_are_brought_into_the_box():
    one = Normal(AGE, np.array([[50.0, -90.0, 5.0], [-9.0, 80.0, 5.0], [0.0, 0.0, -3.0]]), law(3))
    mean, deviation = one.moments
    assert ((mean >= -1) & (mean <= 1)).all()
    assert ((deviation >= 0.01) & (deviation <= 1)).all()
    assert np.isfinite(one(GRID, "refuse")).all()
    for end in one.limits(GRID, 0.95, "noise", "refuse"):
        assert np.isfinite(end).all() and (end >= 0).all()


def test_missing_numbers_say_nothing():
    one = moments([45, 70], [10, 5], [100, 30])
    values = np.array([50.0, None, math.nan], dtype=object)
    assert one(values, "refuse")[1:].tolist() == [[0, 0], [0, 0]]
    low, high = one.limits(values, 0.95, "noise", "refuse")
    least, most = one.count_limits(0.95)
    assert low[1].tolist() == np.maximum(least, 1).tolist()
    assert high[2].tolist() == most.tolist()


@pytest.mark.parametrize("epsilon", [0.3, 3.0])
def test_limits_hold_for_every_number_within_the_noise(epsilon):
    """All corners, and places between, of what the numbers can have been: the limits contain count times density."""
    one = moments([45, 70], [12, 6], [300, 80], epsilon)
    width = widths_of_each(one.law, 0.9)
    count_width = (one.count_limits(0.9)[1] - one.counts)[0] * COUNT_WEIGHT
    low, high = one.limits(GRID, 0.9, "noise", "refuse")
    steps = np.linspace(-1, 1, 5)
    for shift in itertools.product(steps, steps, steps):
        moved = np.array(shift) * [width[0], width[1], count_width]
        other = replace(one, numbers=one.numbers + moved)
        value = other(GRID, "refuse") * np.maximum(other.counts, 1)
        assert (low <= value * (1 + 1e-9)).all() and (value <= high * (1 + 1e-9)).all()


def test_limits_close_in_on_the_density():
    one = moments([45, 70], [12, 6], [300, 80], 1e6)
    low, high = one.limits(GRID, 0.95, "noise", "refuse")
    value = one(GRID, "refuse") * one.counts
    near = value > 1e-3
    assert low[near] == pytest.approx(value[near], rel=0.01)
    assert high[near] == pytest.approx(value[near], rel=0.01)


# --- densities --------------------------------------------------------------------------------------------------


def test_smoothed_likelihoods_are_those_of_the_densities(smoothed):
    for k, density in enumerate(smoothed.densities):
        assert smoothed(GRID, "refuse")[:, k].tolist() == density(GRID).tolist()
    assert smoothed.counts == pytest.approx(smoothed.numbers.sum(axis=1))
    assert smoothed.uncertainty == 14
    assert smoothed.strength == pytest.approx(noise_deviation(smoothed.law) * math.sqrt(14))


def test_smoothed_limits_are_those_of_the_sums(smoothed):
    low, high = smoothed.limits(GRID, 0.9, "total", "refuse")
    for k, density in enumerate(smoothed.densities):
        least, most = density.masses.sum_limits((GRID[:, None] - 20) / 80, 0.9, "total")
        assert low[:, k].tolist() == least.tolist()
        assert high[:, k].tolist() == most.tolist()


def test_missing_values_of_a_smoothed_column_say_nothing(smoothed):
    values = np.array([None, 50.0, math.nan], dtype=object)
    assert smoothed(values, "refuse")[[0, 2]].tolist() == [[0, 0], [0, 0]]
    low, high = smoothed.limits(values, 0.9, "noise", "refuse")
    least, most = smoothed.count_limits(0.9)
    assert low[[0, 2]].tolist() == [least.tolist()] * 2
    assert high[[0, 2]].tolist() == [most.tolist()] * 2
    alone = smoothed.limits(np.array([None]), 0.9, "noise", "refuse")
    assert [end[0].tolist() for end in alone] == [least.tolist(), most.tolist()]


# --- what values may be -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [19.9, 101.0, math.inf, -math.inf])
def test_numbers_outside_the_box_are_refused_or_moved(smoothed, value):
    for one in (smoothed, moments([45, 70], [12, 6], [300, 80])):
        for ask in (lambda outside, one=one: one(np.array([value]), outside),
                    lambda outside, one=one: one.limits(np.array([value]), 0.9, "noise", outside)):  # fmt: skip
            with pytest.raises(OutsideBoxError, match="outside='clip'"):
                ask("refuse")
            assert np.isfinite(ask("clip")).all()
        edge = np.array([20.0 if value < 50 else 100.0])
        assert one(np.array([value]), "clip").tolist() == one(edge, "refuse").tolist()


@pytest.mark.parametrize("value", ["old", 1j, object()])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(OutsideBoxError, match="'age' must hold numbers"):
        numbers_of(AGE, np.array([value], dtype=object))


def test_numbers_of_any_real_type():
    for dtype in ("int8", "uint64", "float32", "bool", "object"):
        assert numbers_of(AGE, np.array([0, 1], dtype=dtype)).tolist() == [0.0, 1.0]
