"""Linear models by their usual names."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

import sfumato as sf
from sfumato.errors import ParameterError
from sfumato.targets.machine import machine

RNG = np.random.default_rng(2)
BOX = sf.Box([(0, 10), (-1, 1)])
POINTS = BOX.clean(RNG.uniform([-1, -1], [11, 1], size=(800, 2)))
SCORE = 0.4 * (POINTS[:, 0] - 5) - POINTS[:, 1]
ILL = np.where(SCORE + RNG.logistic(size=800) > 0, "yes", "no")
PRESSURE = 120 + 10 * SCORE + RNG.normal(size=800)
PURE = sf.Privacy(epsilon=1.0)


@pytest.fixture
def no_noise(no_noise, monkeypatch):
    monkeypatch.setattr(machine, "draw_objective", lambda law: np.zeros(law.size))


def scaled(points):
    """Box widths from the middle, and the constant feature."""
    return np.column_stack([(points[:, 0] - 5) / 10, points[:, 1] / 2, np.ones(len(points))])


def test_they_are_kernel_machines_with_a_linear_kernel():
    found = sf.LogisticRegression(3.0, response="ill", classes=["no", "yes"], mechanism="output", constant=0.5)
    assert found == sf.KernelMachine(found.loss, sf.LinearKernel(0.5), 3.0, "ill", ["no", "yes"], mechanism="output")
    assert repr(found.loss) == "logistic"
    ridge = sf.Ridge(2.0, response="bp", range=(60, 220))
    assert ridge == sf.KernelMachine(ridge.loss, sf.LinearKernel(1.0), 2.0, "bp", None, (60, 220))
    assert repr(ridge.loss) == "squared" and ridge.C == 2.0


def test_c_is_public_by_default():
    assert sf.LogisticRegression(classes=[0, 1]).C == sf.Ridge(range=(0, 1)).C == "auto"


@pytest.mark.parametrize("make", [sf.LogisticRegression, sf.Ridge])
def test_what_can_be_predicted_must_be_declared(make):
    with pytest.raises(ParameterError, match="declare what the response can be"):
        make(1.0)


def test_an_intercept_that_is_not_penalised_is_a_constant_feature_instead():
    with pytest.raises(ParameterError, match="constant must not be negative"):
        sf.Ridge(range=(0, 1), constant=-1.0)
    release = sf.release(sf.Ridge(1.0, range=(0, 1), constant=0.0), (POINTS, PRESSURE), BOX, PURE)
    assert release.weights.shape == (1, 2)
    assert sf.release(sf.Ridge(1.0, range=(0, 1)), (POINTS, PRESSURE), BOX, PURE).weights.shape == (1, 3)


@pytest.mark.parametrize("how", ["output", "objective"])
@pytest.mark.parametrize("C", [2.0, 100.0])
def test_without_noise_logistic_regression_is_scikit_learns(how, C, no_noise):
    target = sf.LogisticRegression(C, response="ill", classes=["no", "yes"], mechanism=how, constant=1, prior="even")
    release = sf.release(target, (POINTS, ILL), BOX, sf.Privacy(epsilon=30.0))
    theirs = LogisticRegression(C=C / 800, fit_intercept=False, tol=1e-10).fit(scaled(POINTS), ILL)
    assert release.mechanism == how
    assert release(POINTS[:50]) == pytest.approx(theirs.decision_function(scaled(POINTS[:50])), abs=2e-5 * C)
    assert release.probability(POINTS[:50]) == pytest.approx(theirs.predict_proba(scaled(POINTS[:50])), abs=1e-5 * C)
    assert (release.predict(POINTS[:50]) == theirs.predict(scaled(POINTS[:50]))).all()


def test_without_noise_ridge_regression_is_scikit_learns(no_noise):
    target = sf.Ridge(20.0, response="bp", range=(60, 220), mechanism="output")
    release = sf.release(target, (POINTS, PRESSURE), BOX, sf.Privacy(epsilon=30.0))
    theirs = Ridge(alpha=800 / 40, fit_intercept=False).fit(scaled(POINTS), (PRESSURE - 140) / 80)
    assert release.predict(POINTS[:50]) == pytest.approx(140 + 80 * theirs.predict(scaled(POINTS[:50])), abs=0.01)


def test_several_classes():
    grade = np.digitize(SCORE, [-1, 1])
    release = sf.release(sf.LogisticRegression(50.0, classes=[0, 1, 2]), (POINTS, grade), BOX, PURE)
    assert release.weights.shape == (3, 3)
    slopes, intercepts = release.linear()
    assert release(POINTS[:9]) == pytest.approx(POINTS[:9] @ slopes.T + intercepts, abs=1e-9)


def test_ridge_says_when_huber_stands_in():
    release = sf.release(sf.Ridge(response="bp", range=(60, 220), mechanism="objective"), (POINTS, PRESSURE), BOX, PURE)
    assert dict(release.target)["loss"] == "huber (threshold 1)"
    assert dict(release.target)["target"] == "regression"


@pytest.mark.parametrize("name", ["intercept", "fit_intercept"])
def test_an_unpenalised_intercept_is_refused_and_a_constant_feature_offered(name):
    with pytest.raises(ParameterError, match="weight of a constant feature"):
        sf.LogisticRegression(classes=[0, 1], **{name: True})
    with pytest.raises(ParameterError, match="weight of a constant feature"):
        sf.Ridge(range=(0, 1), **{name: False})
