"""``sf.select``: a candidate comes back, and what is refused."""

import math

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ParameterError, ParameterTypeError

PURE = sf.Privacy(epsilon=1.0)


@pytest.mark.parametrize("method", ["auto", "permute-and-flip", "exponential"])
@pytest.mark.parametrize("candidates", [["a", "b"], ("a", "b"), [None, {"x": 1}], np.array([1.5, 2.5])])
def test_a_candidate_comes_back(candidates, method):
    found = sf.select(candidates, [0.0, 0.0], sensitivity=1.0, privacy=PURE, method=method)
    assert any(found is c or found == c for c in candidates)


@pytest.mark.parametrize(
    ("privacy", "method"),
    [
        (PURE, "auto"),
        (PURE, "permute-and-flip"),
        (PURE, "exponential"),
        (sf.Privacy(rho=0.5), "auto"),
        (sf.Privacy(rho=0.5), "exponential"),
        (sf.Privacy(epsilon=1.0, delta=1e-6), "auto"),
    ],
)
def test_the_best_is_chosen_when_it_is_far_ahead(privacy, method):
    """Another is chosen with probability below e**-1e5."""
    for _ in range(20):
        assert sf.select("abc", [0.0, 1.0, 0.5], sensitivity=1e-6, privacy=privacy, method=method) == "b"


@pytest.mark.parametrize(
    "scores", [[1, 2], [True, False], np.array([1, 2], dtype=np.uint8), np.array([0.5, 0.1], dtype=np.float32)]
)
def test_scores_may_be_any_real_numbers(scores):
    assert sf.select("ab", scores, sensitivity=1.0, privacy=PURE) in "ab"


@pytest.mark.parametrize("scores", [[math.nan, math.nan], [math.inf, -math.inf], [1e308, -1e308]])
def test_no_score_raises_or_warns(scores):
    with np.errstate(all="raise"):
        assert sf.select("ab", scores, sensitivity=1.0, privacy=PURE) in "ab"


def test_rho_uses_the_whole_grant_and_no_more(monkeypatch):
    seen = []
    monkeypatch.setattr("sfumato.core.selection.exponential_mechanism", lambda s, b, epsilon: seen.append(epsilon) or 0)
    sf.select("ab", [0.0, 1.0], sensitivity=1.0, privacy=sf.Privacy(rho=0.125))
    assert seen[0] ** 2 / 8 <= 0.125
    assert seen[0] == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("sensitivity", [0, -1, math.inf, math.nan, None, "1"])
def test_sensitivity_must_be_positive_and_finite(sensitivity):
    with pytest.raises(ParameterError, match="sensitivity") as error:
        sf.select("ab", [0.0, 1.0], sensitivity=sensitivity, privacy=PURE)
    assert repr(sensitivity) in str(error.value)


def test_sensitivity_and_privacy_must_be_given():
    with pytest.raises(TypeError, match="sensitivity"):
        sf.select("ab", [0.0, 1.0], privacy=PURE)
    with pytest.raises(TypeError, match="privacy"):
        sf.select("ab", [0.0, 1.0], sensitivity=1.0)


@pytest.mark.parametrize("privacy", [None, 1.0, "1"])
def test_privacy_must_be_a_grant(privacy):
    with pytest.raises(ParameterTypeError, match="privacy"):
        sf.select("ab", [0.0, 1.0], sensitivity=1.0, privacy=privacy)


@pytest.mark.parametrize("scores", [[1.0], [1.0, 2.0, 3.0], [[1.0, 2.0]], 1.0, []])
def test_there_must_be_one_score_per_candidate(scores):
    with pytest.raises(ParameterError, match="one number per candidate"):
        sf.select("ab", scores, sensitivity=1.0, privacy=PURE)


def test_there_must_be_candidates():
    with pytest.raises(ParameterError, match="candidate"):
        sf.select([], np.zeros(0), sensitivity=1.0, privacy=PURE)


@pytest.mark.parametrize("scores", [["a", "b"], [1j, 2j], [None, 1.0], np.array([1, 2], dtype=np.longdouble)])
def test_scores_must_be_real_numbers(scores):
    with pytest.raises(ParameterTypeError, match="scores"):
        sf.select("ab", scores, sensitivity=1.0, privacy=PURE)


@pytest.mark.parametrize("method", ["best", None, 3])
def test_the_method_must_be_known(method):
    with pytest.raises(ParameterError, match="method"):
        sf.select("ab", [0.0, 1.0], sensitivity=1.0, privacy=PURE, method=method)


def test_permute_and_flip_needs_epsilon():
    with pytest.raises(ParameterError, match="rho"):
        sf.select("ab", [0.0, 1.0], sensitivity=1.0, privacy=sf.Privacy(rho=1.0), method="permute-and-flip")
