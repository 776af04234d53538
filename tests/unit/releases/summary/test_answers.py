"""Answers, and how far noise moves a weighted sum of noisy numbers."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
from scipy.special import ndtri

import sfumato as sf
from sfumato.core.calibration import calibrate
from sfumato.core.certificate import Certificate
from sfumato.releases.summary import answers
from sfumato.releases.summary.answers import Answer, deviations, half_widths
from sfumato.releases.uncertainty import simulate_noise

LAWS = {
    "linf": ("linf", sf.Privacy(epsilon=1.0)),
    "laplace": ("l1", sf.Privacy(epsilon=1.0)),
    "l2": ("l2", sf.Privacy(epsilon=1.0)),
    "gaussian": ("l2", sf.Privacy(epsilon=1.0, delta=1e-6)),
}
WEIGHTS = np.random.default_rng(1).normal(size=(4, 9))


def law_of(kind, size=9):
    norm, privacy = LAWS[kind]
    return calibrate(Certificate(norm, 2**32, "replace", "enforced", "moments", -32), size, privacy, kind)[0]


def drawn(law, draws=40_000):
    return simulate_noise(law, draws, np.random.default_rng(5))


# --- answers ----------------------------------------------------------------------------------------------------


def test_an_answer_is_a_number_with_its_errors():
    one = Answer(0.5, 0.1, 0.04, 0.02, 0.95)
    assert float(one) == 0.5
    assert one.interval() == (0.4, 0.6)
    assert repr(one) == "<Answer 0.5 +- 0.1 (95 %; noise sd 0.04, approximation 0.02)>"
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.value = 0.0


def test_answers_to_many_questions_are_arrays():
    many = Answer(np.array([1.0, 2.0]), np.array([0.1, 0.3]), np.ones(2), np.zeros(2), 0.9)
    low, high = many.interval()
    assert low.tolist() == [0.9, 1.7] and high.tolist() == [1.1, 2.3]
    assert repr(many) == "<Answer to 2 questions, errors up to 0.3>"
    with pytest.raises(TypeError):
        float(many)


def test_each_changes_the_value_and_its_errors_alike():
    many = Answer(np.array([1.0, 2.0]), np.array([0.1, 0.3]), np.array([0.2, 0.4]), np.zeros(2), 0.9)
    second = many.each(lambda part: part[1])
    assert (second.value, second.error, second.noise_sd, second.approximation) == (2.0, 0.3, 0.4, 0.0)
    assert type(second.value) is float
    doubled = many.each(lambda part: 2 * part)
    assert doubled.value.tolist() == [2.0, 4.0] and doubled.error.tolist() == [0.2, 0.6]
    assert doubled.confidence == 0.9


@pytest.mark.parametrize("value", [-0.3, 0.0, 0.4, 1.0, 7.0])
def test_moving_an_answer_into_a_range_only_brings_it_nearer(value):
    moved = Answer(value, 0.1, 0.04, 0.0, 0.95).within(0.0, 1.0)
    assert 0 <= moved.value <= 1
    assert type(moved.value) is float
    for truth in (0.0, 0.3, 1.0):
        assert abs(moved.value - truth) <= abs(value - truth)
    assert moved.error == 0.1


# --- noise ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", LAWS)
def test_deviations_are_those_of_the_noise(kind):
    """Squares of 40,000 draws are within 7 % of their mean, whatever the law here (five standard errors)."""
    law = law_of(kind)
    sums = drawn(law) @ WEIGHTS.T
    assert deviations(law, WEIGHTS) == pytest.approx(sums.std(axis=0), rel=0.035)


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.95, 0.99])
@pytest.mark.parametrize("kind", LAWS)
def test_widths_cover_as_often_as_they_say_and_not_much_more(kind, confidence):
    law = law_of(kind)
    covered = (np.abs(drawn(law) @ WEIGHTS.T) <= half_widths(law, WEIGHTS, confidence)).mean(axis=0)
    assert (covered >= confidence - 0.005).all()
    assert (covered <= confidence + 0.25 * (1 - confidence) + 0.03).all()


def test_widths_of_gaussian_noise_are_exact():
    law = law_of("gaussian")
    found = half_widths(law, WEIGHTS, 0.95)
    expected = -ndtri(0.025) * law.deviation * np.linalg.norm(WEIGHTS, axis=1)
    assert found == pytest.approx(expected + law.step * np.abs(WEIGHTS).sum(axis=1), rel=1e-12)


@pytest.mark.parametrize("kind", LAWS)
def test_widths_grow_with_confidence_and_with_weights(kind):
    law = law_of(kind)
    sure = [half_widths(law, WEIGHTS, confidence) for confidence in (0.3, 0.5, 0.9, 0.99, 0.9999, 1 - 1e-9)]
    assert all((later > sooner).all() for sooner, later in itertools.pairwise(sure))
    assert half_widths(law, 3 * WEIGHTS, 0.9) == pytest.approx(3 * half_widths(law, WEIGHTS, 0.9), rel=1e-12)
    assert half_widths(law, np.zeros((2, 9)), 0.9).tolist() == [0.0, 0.0]
    assert half_widths(law, np.zeros((0, 9)), 0.9).shape == (0,)


@pytest.mark.parametrize("kind", LAWS)
def test_unused_coefficients_do_not_matter(kind):
    """The same weights in a wider law of the same scale: only the K-norm laws have heavier single coefficients."""
    law = dataclasses.replace(law_of(kind), size=400)
    wide = np.pad(WEIGHTS, ((0, 0), (200, 191)))
    covered = (np.abs(drawn(law, 10_000) @ wide.T) <= half_widths(law, wide, 0.9)).mean(axis=0)
    assert (covered >= 0.9 - 0.015).all() and (covered <= 0.94).all()


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.99, 0.999])
@pytest.mark.parametrize("kind", ["linf", "laplace", "l2"])
def test_the_bound_for_too_many_weights_is_wider_but_not_absurd(kind, confidence, monkeypatch):
    law = law_of(kind, 60)
    weights = np.random.default_rng(2).normal(size=(3, 60))
    simulated = half_widths(law, weights, confidence)
    monkeypatch.setattr(answers, "_WORK", 0)
    bounded = half_widths(law, weights, confidence)
    covered = (np.abs(drawn(law, 20_000) @ weights.T) <= bounded).mean(axis=0)
    assert (covered >= confidence).all()
    assert (bounded >= simulated).all() and (bounded <= 3.5 * simulated).all()


@pytest.mark.parametrize("kind", ["linf", "laplace", "l2"])
def test_very_high_confidence_uses_the_bound(kind):
    law = law_of(kind)
    width = half_widths(law, WEIGHTS, 1 - 1e-7)
    assert (np.abs(drawn(law) @ WEIGHTS.T) <= width).all()
    assert (width < 30 * deviations(law, WEIGHTS)).all()


def test_widths_always_show_the_same():
    law = law_of("linf")
    assert half_widths(law, WEIGHTS, 0.9).tobytes() == half_widths(law, WEIGHTS, 0.9).tobytes()
    assert math.isfinite(float(half_widths(law, WEIGHTS, 0.9).max()))
