"""``sf.select``: a candidate comes back, and what is refused."""

import math
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.errors import ParameterError, ParameterTypeError
from sfumato.selection import method_for, pick

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


@pytest.mark.parametrize("candidates", [[], (), "", range(0), np.zeros(0)])
@pytest.mark.parametrize("scores", [[], np.zeros(0), [1.0]])
def test_there_must_be_candidates(candidates, scores):
    with pytest.raises(ParameterError, match="candidates must be at least one, got none: there is nothing to choose"):
        sf.select(candidates, scores, sensitivity=1.0, privacy=PURE)


def test_no_candidates_cost_nothing(tmp_path):
    account = sf.Ledger(tmp_path / "budget.db").account("clinic", limit=PURE)
    with pytest.raises(ParameterError, match="nothing to choose"):
        sf.select([], [], sensitivity=1.0, privacy=PURE, ledger=account)
    assert account.history() == []


def test_the_method_follows_from_the_grant():
    assert method_for(PURE) == method_for(sf.Privacy(epsilon=1.0, delta=1e-6)) == "permute-and-flip"
    assert method_for(sf.Privacy(rho=0.5)) == "exponential"


@pytest.mark.parametrize("method", ["permute-and-flip", "exponential"])
def test_a_place_is_picked_without_paying(method):
    assert pick(np.array([0.0, 1e9, 0.0]), 1.0, PURE, method) == 1


def test_equal_scores_are_equally_likely():
    """Six thousand choices of three: each count within seven standard errors, wrong with probability below 1e-10."""
    for method in ("permute-and-flip", "exponential"):
        counts = np.bincount([pick(np.zeros(3), 1.0, PURE, method) for _ in range(6000)], minlength=3)
        assert np.abs(counts - 2000).max() < 7 * math.sqrt(6000 * 2 / 9)


WORST = [None, "text", "\ud800", 1j, math.nan, Decimal("sNaN"), [5], {}, object(), np.datetime64("2020"), np.ma.masked]


@pytest.mark.parametrize("privacy", [PURE, sf.Privacy(rho=0.5)])
@pytest.mark.parametrize("worst", WORST, ids=lambda value: type(value).__name__)
def test_what_is_no_number_is_the_worst_and_nothing_else_changes(worst, privacy):
    """Another is chosen with probability below e**-1e5."""
    scores = [worst, 1.0, worst, 2**70 - 2**70]
    for given in (scores, tuple(scores), np.array([*scores, None], dtype=object)[:-1], pd.Series(scores)):
        assert sf.select("abcd", given, sensitivity=1e-6, privacy=privacy) == "b"


@pytest.mark.parametrize(
    "score", [1, 1.0, True, Decimal(1), np.float32(1), np.uint8(1), np.longdouble(1), 2**70, 10**400]
)
def test_a_scores_type_does_not_change_how_the_others_are_read(score, monkeypatch):
    """The mechanism sees doubles, and those that a score is nearest to."""
    seen = []
    monkeypatch.setattr("sfumato.selection.pick", lambda scores, *_: seen.append(scores) or 0)
    sf.select("abc", [score, 0.1, 2**53], sensitivity=1.0, privacy=PURE)
    assert seen[0].dtype == np.float64
    assert seen[0].tolist() == [min(int(score), sys.float_info.max), 0.1, 2.0**53]


@pytest.mark.parametrize("worst", WORST[:5] + WORST[5:6] + WORST[7:], ids=lambda value: type(value).__name__)
def test_a_threshold_takes_what_is_no_number_for_less_than_any(worst):
    gate = sf.AboveThreshold(0.0, sensitivity=1e-6, privacy=PURE)
    assert not gate.above(worst)
    assert gate.above(Decimal(1))


@pytest.mark.parametrize("value", [[1.0], np.zeros(2), pd.Series([1.0])])
def test_a_threshold_is_asked_about_one_value(value):
    with pytest.raises(ParameterError, match="value must be one number, got shape"):
        sf.AboveThreshold(0.0, sensitivity=1.0, privacy=PURE).above(value)


@pytest.mark.parametrize("method", ["best", None, 3])
def test_the_method_must_be_known(method):
    with pytest.raises(ParameterError, match="method"):
        sf.select("ab", [0.0, 1.0], sensitivity=1.0, privacy=PURE, method=method)


def test_permute_and_flip_needs_epsilon():
    with pytest.raises(ParameterError, match="rho"):
        sf.select("ab", [0.0, 1.0], sensitivity=1.0, privacy=sf.Privacy(rho=1.0), method="permute-and-flip")


# --- a sensitivity that was sampled ----------------------------------------------------------------------------------


def sampled(norm="linf", size=2, **options):
    """Of the scores of some candidates: how many of nine records lie below each."""
    scores = lambda x: [(x < (i + 1) / (size + 1)).sum() for i in range(size)]  # noqa: E731
    return sf.sample_sensitivity(
        scores, sf.oracles.uniform(sf.Box([(0, 1)])), 9, m=19, norm=norm, rule="exchangeable", seed=1, progress=False,
        **options,
    )  # fmt: skip


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_a_choice_on_a_sampled_sensitivity_is_random(norm, tmp_path):
    account = sf.Ledger(tmp_path / "budget.db").account("clinic", limit=PURE)
    grant = sf.Privacy(epsilon=0.5, gamma=0.05)
    assert sf.select("ab", [0, 10**9], sensitivity=sampled(norm), privacy=grant, ledger=account) == "b"
    (entry,) = account.history()
    assert (entry.random, entry.event.confidence) == (True, 0.95)
    assert "random differential privacy" in entry.event.what
    assert account.remaining().epsilon == 1.0
    assert account.remaining(random=True).epsilon == 0.5


def test_a_random_choice_is_warned_of_where_it_was_asked_for():
    with pytest.warns(sf.errors.RandomPrivacyWarning, match="gamma 0.05") as caught:
        sf.select("ab", [0, 1], sensitivity=sampled(), privacy=PURE)
    assert [w.filename for w in caught] == [__file__]


def test_a_random_choice_is_refused_where_differential_privacy_is_demanded():
    with pytest.raises(ParameterError, match=r"gamma=0(\.0)?, but this sensitivity is only sampled"):
        sf.select("ab", [0, 1], sensitivity=sampled(), privacy=sf.Privacy(epsilon=1.0, gamma=0))


def test_a_sampled_sensitivity_is_that_of_these_candidates():
    grant = sf.Privacy(epsilon=1.0, gamma=0.05)
    with pytest.raises(ParameterError, match="sampled for responses of 2 numbers, the release has 3"):
        sf.select("abc", [0, 1, 2], sensitivity=sampled(), privacy=grant)


@pytest.mark.parametrize(
    ("options", "privacy"),
    [
        ({"norm": lambda d: np.abs(d).max()}, sf.Privacy(epsilon=1.0)),
        ({}, sf.Privacy(epsilon=1.0, neighbours="add-remove")),
    ],
)
def test_a_certificate_must_bound_each_score_between_these_neighbours(options, privacy):
    with pytest.raises(ParameterError, match="sensitivity must bound the scores in 'l1', 'l2' or 'linf'"):
        sf.select("ab", [0, 1], sensitivity=sampled(**options), privacy=privacy)


def test_a_stated_certificate_is_no_random_one(tmp_path):
    stated = sf.Certificate("linf", 1.0, "replace", "stated", "page")
    account = sf.Ledger(tmp_path / "budget.db").account("clinic", limit=PURE)
    assert sf.select("ab", [0, 10**9], sensitivity=stated, privacy=PURE, ledger=account) == "b"
    assert [entry.random for entry in account.history()] == [False]


def test_a_person_moves_scores_so_many_times(monkeypatch):
    seen = []
    monkeypatch.setattr("sfumato.selection.pick", lambda scores, bound, *_: seen.append(bound) or 0)
    stated = sf.Certificate("linf", 1.0, "replace", "stated", "page")
    sf.select("ab", [0, 1], sensitivity=stated, privacy=sf.Privacy(epsilon=1.0, unit=sf.Person("id", 3)))
    assert 3 <= seen[0] <= 3 * (1 + 1e-15)
    with pytest.raises(ParameterError, match="a sampled sensitivity speaks of one row"):
        sf.select("ab", [0, 1], sensitivity=sampled(), privacy=sf.Privacy(epsilon=1.0, unit=sf.Person("id", 3)))
