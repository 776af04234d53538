"""Choices that look at the data are paid for, each by an entry of its own, and never for more than was granted."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.checks import as_written
from sfumato.core.privacy import part_of
from sfumato.engines.memory import MemoryEngine
from sfumato.errors import NOTHING_LOST, BudgetExceededError, EngineError, ParameterError, ParameterTypeError
from sfumato.paid_choice import Settled, tune
from sfumato.pipeline import prepare

BOX = sf.Box({"age": (0, 100)})
AGES = np.random.default_rng(0).normal(50, 8, size=4000)
WIDTHS = sf.Tuned([1.0, 3.0, 30.0])
BASES = sf.Tuned([sf.Binning(12), sf.Binning(15)], share=0.2)


@pytest.fixture
def account(tmp_path):
    return sf.Ledger(tmp_path / "budget.db").account("clinic", limit=sf.Privacy(epsilon=50.0, delta=1e-5))


@pytest.fixture
def concentrated(tmp_path):
    return sf.Ledger(tmp_path / "budget.db").account("clinic", limit=sf.Privacy(rho=10.0))


def publish(target, privacy, ledger=None, basis="auto", data=AGES):
    return sf.release(target, data, BOX, privacy, basis=basis, ledger=ledger)


def parts(account, name):
    return [as_written(getattr(entry.event, name)) for entry in account.history()]


# --- what is charged --------------------------------------------------------------------------------------------------


@pytest.mark.few(1)
@pytest.mark.parametrize("epsilon", [1.0, 0.1, 0.3, 2.3, 1 / 3, 0.7000000000000001])
def test_selection_and_release_are_two_entries_within_the_grant(account, epsilon):
    release = publish(sf.KDE(sf.Tuned([2.0, 20.0], share=0.1)), sf.Privacy(epsilon=epsilon), account, sf.Binning(12))
    assert [e.event.mechanism for e in account.history()] == ["permute-and-flip", "zero-sum"]
    spent = parts(account, "epsilon")
    assert sum(spent) <= as_written(epsilon)
    assert sum(spent) >= as_written(epsilon) * (1 - Fraction(1, 10**14))
    assert float(spent[0] / as_written(epsilon)) == pytest.approx(0.1, rel=1e-12)
    assert release.guarantee.epsilon == epsilon  # the release and its selection together


@pytest.mark.slow
def test_two_choices_are_three_entries(account):
    release = publish(sf.KDE(WIDTHS), sf.Privacy(epsilon=1.0), account, BASES)
    assert parts(account, "epsilon") == [Fraction(1, 10), Fraction(1, 5), Fraction(7, 10)]
    assert [e.status for e in account.history()] == ["published"] * 3
    assert (release.guarantee.epsilon, release.guarantee.delta) == (1.0, 0.0)
    assert release.receipt.entry == 3
    assert release.basis in BASES.candidates


def test_approximate_grants_leave_the_whole_delta_to_the_release(account):
    release = publish(sf.KDE(WIDTHS), sf.Privacy(epsilon=1.0, delta=1e-6), account, sf.Binning(12))
    first, second = (e.event for e in account.history())
    assert (first.mechanism, first.delta, first.mu) == ("permute-and-flip", 0.0, None)
    assert (second.mechanism, second.delta) == ("gaussian", 1e-6)
    assert sum(parts(account, "epsilon")) == 1
    assert (release.guarantee.epsilon, release.guarantee.delta) == (1.0, 1e-6)


def test_concentrated_grants_are_split_in_rho(concentrated):
    release = publish(sf.KDE(WIDTHS), sf.Privacy(rho=0.7), concentrated, sf.Binning(12))
    assert [e.event.mechanism for e in concentrated.history()] == ["exponential", "gaussian"]
    assert sum(parts(concentrated, "rho")) == Fraction(7, 10)
    assert (release.guarantee.rho, release.guarantee.epsilon) == (0.7, None)


@pytest.mark.few(1)
@pytest.mark.parametrize("privacy", [sf.Privacy(rho=0.5), sf.Privacy(epsilon=1.0, delta=1e-6)])
def test_the_guarantee_has_no_curve_that_the_selection_would_break(privacy):
    assert publish(sf.KDE(3.0), privacy, basis=sf.Binning(12)).guarantee.mu is not None
    assert publish(sf.KDE(sf.Tuned([3.0, 9.0])), privacy, basis=sf.Binning(12)).guarantee.mu is None


def test_nothing_is_charged_twice_where_nothing_is_tuned(account):
    publish(sf.KDE(3.0), sf.Privacy(epsilon=1.0), account, sf.Binning(12))
    assert parts(account, "epsilon") == [1]


def test_an_account_that_cannot_pay_for_the_selection_pays_for_nothing(tmp_path):
    poor = sf.Ledger(tmp_path / "budget.db").account("poor", limit=sf.Privacy(epsilon=0.05))
    with pytest.raises(BudgetExceededError):
        publish(sf.KDE(WIDTHS), sf.Privacy(epsilon=1.0), poor, sf.Binning(12))
    assert poor.history() == []


# --- what is refused, before anything is paid -------------------------------------------------------------------------


@pytest.mark.parametrize(("first", "second"), [(0.5, 0.5), (0.6, 0.5), (0.9, 0.1)])
def test_shares_of_one_or_more_are_refused_before_anything_is_paid(account, first, second):
    target = sf.KDE(sf.Tuned([1.0, 2.0], share=first))
    with pytest.raises(ParameterError, match="sum to less than 1"):
        publish(target, sf.Privacy(epsilon=1.0), account, sf.Tuned([sf.Binning(9), sf.Binning(20)], share=second))
    assert account.history() == []


@pytest.mark.parametrize("options", [{"neighbours": "add-remove"}, {"unit": sf.Person("who", max_rows=2)}])
def test_a_private_number_of_rows_is_refused(options):
    import pyarrow as pa

    table = pa.table({"age": AGES[:50], "who": np.arange(50)})
    with pytest.raises(ParameterError, match="public number"):
        publish(sf.KDE(WIDTHS), sf.Privacy(epsilon=1.0, **options), data=table)


def test_an_empty_table_is_refused():
    with pytest.raises(sf.errors.SchemaError, match="the data have no records"):
        publish(sf.KDE(WIDTHS), sf.Privacy(epsilon=1.0), data=np.zeros(0))


def test_groups_are_refused(account):
    box = sf.Box({"g": sf.Categorical((0, 1)), "age": (0, 100)})
    data = np.stack([np.arange(60) % 2, AGES[:60]], axis=1)
    with pytest.raises(ParameterError, match="without by"):
        sf.release(sf.KDE(WIDTHS, by="g"), data, box, sf.Privacy(epsilon=1.0), ledger=account)
    assert account.history() == []


def test_a_bandwidth_that_no_lattice_resolves_is_refused_before_it_can_be_selected(account):
    box = sf.Box([(0, 1)] * 3)
    with pytest.raises(ParameterError, match="too large a lattice"):
        sf.release(
            sf.KDE(sf.Tuned([0.2, 0.01])), np.zeros((9, 3)), box, sf.Privacy(epsilon=1.0), basis=sf.Binning(4),
            ledger=account,
        )  # fmt: skip
    assert account.history() == []


def test_a_basis_cannot_be_selected_with_a_bandwidth_matrix(account):
    box = sf.Box([(0, 1), (0, 1)])
    target = sf.KDE([[0.04, 0.01], [0.01, 0.04]])
    with pytest.raises(ParameterError, match="bandwidth per column"):
        sf.release(
            target, np.zeros((9, 2)), box, sf.Privacy(epsilon=1.0), basis=sf.Tuned([sf.Binning(4), sf.Binning(6)]),
            ledger=account,
        )  # fmt: skip
    assert account.history() == []


def test_black_boxes_have_nothing_to_tune():
    target = sf.BlackBox(lambda data: lambda points: points[:, 0], sensitivity=1.0)
    with pytest.raises(ParameterTypeError, match="densities"):
        publish(target, sf.Privacy(epsilon=1.0), basis=sf.Tuned([sf.Bernstein(2), sf.Bernstein(3)]))


@pytest.mark.parametrize("target", [sf.KDE(WIDTHS), sf.KDE(3.0)])
def test_plans_need_one_candidate(target):
    with pytest.raises(ParameterError, match="tuned"):
        sf.plan(target, BOX, sf.Privacy(epsilon=1.0), n=100, basis="auto" if target.bandwidth is WIDTHS else BASES)


# --- what is selected -------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize("privacy", [sf.Privacy(epsilon=4.0), sf.Privacy(epsilon=4.0, delta=1e-6), sf.Privacy(rho=4.0)])
@pytest.mark.parametrize(("spread", "right"), [(12.0, 4.0), (3.0, 1.0), (0.8, 0.3)])
def test_the_right_scale_is_selected_where_there_are_many_rows(privacy, spread, right):
    """Wrong with probability at most ``2 exp(-epsilon gap / (2 sensitivity))``, which is computed, and below 1e-9."""
    data = np.random.default_rng(5).normal(50, spread, size=60_000)
    target = sf.KDE(sf.Tuned([right, 7 * right, 25 * right], share=0.5))
    counts = target.gather(MemoryEngine().open(data, BOX, "row"), BOX, MemoryEngine())
    scores, sensitivity = target.scores(target.bandwidth, counts, BOX, len(data), privacy, "auto")
    epsilon = 2.0 if privacy.rho is None else 4.0  # half of the grant; rho = epsilon**2 / 8
    gap = scores[0] - max(scores[1:])
    assert 2 * math.exp(-epsilon * gap / (2 * sensitivity)) < 1e-9
    release = publish(target, privacy, basis=sf.Binning(9), data=data)
    assert release.bandwidth[0] == pytest.approx(right)


def test_units_do_not_matter():
    """A score, its sensitivity and the privacy noise in it are in the columns' units: months select as years do."""

    def scored(factor):
        box = sf.Box({"age": (0, 100.0 * factor)})
        target = sf.KDE(sf.Tuned([2.0 * factor, 20.0 * factor]))
        counts = target.gather(MemoryEngine().open(factor * AGES[:200], box, "row"), box, MemoryEngine())
        scores, sensitivity = target.scores(target.bandwidth, counts, box, 200, sf.Privacy(epsilon=0.1), "auto")
        return np.array([*scores, sensitivity])

    assert 4096 * scored(4096.0) == pytest.approx(scored(1.0), rel=1e-9)


@pytest.mark.slow
def test_a_fine_basis_is_selected_for_many_rows_and_a_sharp_density():
    data = np.random.default_rng(7).normal(50, 1, size=100_000)
    candidates = sf.Tuned([sf.Binning(4), sf.Binning(80)], share=0.5)
    assert publish(sf.KDE(3.0), sf.Privacy(epsilon=4.0), basis=candidates, data=data).basis == sf.Binning(80)


# --- arithmetic -------------------------------------------------------------------------------------------------------


def test_a_part_keeps_relation_and_unit():
    whole = sf.Privacy(epsilon=1.0, delta=1e-6, neighbours="add-remove", unit=sf.Person("who", max_rows=3))
    part = part_of(whole, Fraction(1, 4))
    assert (part.epsilon, part.delta, part.neighbours, part.unit) == (0.25, 0.0, whole.neighbours, whole.unit)
    assert part_of(sf.Privacy(rho=0.2), Fraction(1, 2)).rho == 0.1


def test_scores_are_computed_for_the_privacy_that_is_left(monkeypatch):
    seen = []

    def scores(self, question, gathered, box, n, privacy, basis):
        seen.append((privacy.epsilon, privacy.delta, n))
        return [0.0] * len(question.candidates), 1.0

    monkeypatch.setattr(sf.KDE, "scores", scores)
    settled = tune(sf.KDE(WIDTHS), None, BOX, 100, sf.Privacy(epsilon=1.0, delta=1e-6), BASES, None, prepare)
    assert seen == [(0.7, 1e-6, 100)] * 2
    assert settled.privacy == sf.Privacy(epsilon=0.7, delta=1e-6)
    assert settled.target.bandwidth in WIDTHS.candidates and settled.basis in BASES.candidates


def test_without_questions_the_grant_stays_as_it_is():
    privacy = sf.Privacy(epsilon=0.1)
    settled = tune(sf.KDE(3.0), None, BOX, None, privacy, "auto", None, prepare)
    assert settled == Settled(sf.KDE(3.0), "auto", privacy)


@pytest.mark.parametrize("epsilon", [1e-13, 1e-9])
def test_an_outcome_that_could_not_be_released_is_refused_before_the_choice_is_paid(epsilon, tmp_path):
    account = sf.Ledger(tmp_path / "b.db").account("clinic", limit=sf.Privacy(epsilon=9.0))
    target = sf.KDE(sf.Tuned([0.1, 0.3]))
    with pytest.raises(ParameterError, match="beyond 64-bit integers"):
        sf.release(target, np.linspace(0, 1, 40), sf.Box([(0, 1)]), sf.Privacy(epsilon=epsilon), ledger=account)
    assert account.history() == []


# --- what an engine that fails says --------------------------------------------------------------------------------


class Failing(MemoryEngine):
    """Goes away when something was charged already, or at once."""

    def __init__(self, account, entries):
        super().__init__()
        object.__setattr__(self, "_account", account)
        object.__setattr__(self, "_entries", entries)

    def fold(self, records, one):
        if len(self._account.history()) >= self._entries:
            raise EngineError(f"the cluster went away: {NOTHING_LOST}, and it is safe to try again")
        return super().fold(records, one)


LABELLED = {"age": AGES, "ill": (AGES > 55) * 1.0}
LOGISTIC = sf.LogisticRegression(3.0, response="ill", classes=[0, 1])


def test_an_engine_that_fails_after_a_step_was_charged_says_so(account):
    words = r"nothing was released, but entry 1 of account 'clinic' is charged and counts, and it is safe to try again"
    with pytest.raises(EngineError, match=words) as caught:
        sf.release(LOGISTIC, LABELLED, BOX, sf.Privacy(epsilon=1.0), ledger=account, engine=Failing(account, 1))
    assert "nothing was charged" not in str(caught.value) and caught.value.__suppress_context__
    assert len(account.history()) == 1


def test_an_engine_that_fails_before_says_that_nothing_was_charged(account):
    for ledger in (account, None):
        with pytest.raises(EngineError, match="nothing was released, and nothing was charged"):
            sf.release(LOGISTIC, LABELLED, BOX, sf.Privacy(epsilon=1.0), ledger=ledger, engine=Failing(account, 0))
    assert account.history() == []
