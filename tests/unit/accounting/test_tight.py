"""What a plan adds up to, and accounts that draw from one."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest

import sfumato as sf
from sfumato.accounting.events import event_of_grant, event_of_selection
from sfumato.accounting.loss import Stock, _atom, delta_of
from sfumato.accounting.tight import stock_of, taken
from sfumato.errors import BudgetExceededError, LedgerError, MissingExtraError, ParameterError, ParameterTypeError

LIMIT = sf.Privacy(epsilon=3.0, delta=1e-6)
TENTH = sf.Privacy(epsilon=0.1)


def event(epsilon, confidence=1.0):
    return replace(event_of_grant(sf.Privacy(epsilon=epsilon)), confidence=confidence)


@pytest.fixture
def ledger(tmp_path):
    return sf.Ledger(tmp_path / "budget.db")


class TestComposed:
    def test_the_tightest_answers_and_is_named(self):
        assert sf.composed([sf.Privacy(epsilon=1.0)], 1e-6).accountant in ("basic", "tight")
        many = sf.composed([(TENTH, 64)], 1e-6)
        assert (many.accountant, str(many)[:12]) == ("tight", "epsilon 3.67")
        gaussians = sf.composed([(sf.Privacy(epsilon=0.3, delta=1e-8), 40)], 1e-6)
        assert gaussians.accountant in ("gaussian", "tight") and gaussians.epsilon < 6.0

    def test_sixty_four_laplace_releases(self):
        """At the epsilon that sixty-four need, basic composition allows 1.7 times fewer."""
        assert 64 / (sf.composed([(TENTH, 64)], 1e-6).epsilon / 0.1) >= 1.7

    def test_concentrated_grants_count(self):
        chosen = event_of_selection("permute-and-flip", sf.Privacy(rho=0.01), "x")
        assert chosen.mu is None
        found = sf.composed([(chosen, 10), (TENTH, 10)], 1e-6)
        assert found.accountant == "tight"
        assert (
            found.epsilon < sf.composed([(event_of_grant(sf.Privacy(rho=0.01)), 10), (TENTH, 10)], 1e-6).epsilon + 0.5
        )

    @pytest.mark.parametrize(
        ("plan", "delta"),
        [([sf.Privacy(epsilon=0.5)], 1e-12), ([(TENTH, 64)], 1e-9), ([(TENTH, 3)], 1e-300)],
    )
    def test_where_loss_distributions_are_too_coarse_another_accountant_answers(self, plan, delta):
        found = sf.composed(plan, delta)
        assert found.accountant in ("basic", "zcdp", "gaussian")
        assert found.epsilon <= 6.4 * (1 + 1e-12)

    def test_what_only_loss_distributions_count_says_what_delta_they_need(self):
        chosen = event_of_selection("permute-and-flip", sf.Privacy(rho=0.01), "x")
        mixed = [(chosen, 3), (replace(event(0.1), delta=1e-14), 2)]
        with pytest.raises(ParameterError, match="too small for privacy loss distributions"):
            sf.composed(mixed, 1e-13)

    def test_errors(self):
        for bad in ([], [(TENTH, 0)], [(TENTH, None)], [(TENTH, 1, 2)]):
            with pytest.raises(ParameterError, match="plan must hold"):
                sf.composed(bad, 1e-6)
        with pytest.raises(ParameterTypeError, match="plan must hold"):
            sf.composed([3.0], 1e-6)
        with pytest.raises(ParameterError, match="one relation and one unit"):
            sf.composed([TENTH, sf.Privacy(epsilon=0.1, neighbours="add-remove")], 1e-6)

    def test_without_the_package_the_extra_is_named(self, monkeypatch):
        monkeypatch.setitem(__import__("sys").modules, "dp_accounting", None)
        for name in ("pld_pmf", "privacy_loss_distribution"):
            monkeypatch.delitem(__import__("sys").modules, f"dp_accounting.pld.{name}", raising=False)
        with pytest.raises(MissingExtraError, match=r"pip install 'sfumato\[tight\]'"):
            sf.composed([(sf.Privacy(epsilon=0.1234), 64)], 1e-6)


class TestPlans:
    def test_as_many_as_fit(self, ledger):
        account = ledger.account("a", limit=LIMIT, accountant="tight", plan=[(TENTH, None)])
        number = 0
        while account.would_cost(event(0.1)).fits:
            number = account.charge(event(0.1))
        with pytest.raises(BudgetExceededError, match="spent so far"):
            account.charge(event(0.01))
        assert number >= 1.5 * 30  # basic composition allows 30
        assert delta_of(Stock(((0.1, 0.0, number),)), 3.0) <= 1e-6 < delta_of(Stock(((0.1, 0.0, number + 1),)), 3.0)

    def test_gaussians_share_one_sum(self, ledger):
        grant = sf.Privacy(epsilon=0.3, delta=1e-8)
        account = ledger.account("a", limit=LIMIT, accountant="tight", plan=[(grant, 10)])
        for _ in range(10):
            account.charge(event_of_grant(grant))
        with pytest.raises(BudgetExceededError, match="squares of mu"):
            account.charge(event_of_grant(grant))

    def test_a_plan_beside_others(self, ledger):
        account = ledger.account("a", limit=LIMIT, accountant="best", plan=[(TENTH, None)])
        for _ in range(20):
            account.charge(event(0.1))
        account.charge(event(0.5))  # nothing of the plan covers it: the plan is over, the others go on
        assert account.remaining().accountant in ("basic", "gaussian", "zcdp")
        ledger.verify()

    def test_both_books_draw_from_one_stock(self, ledger):
        account = ledger.account("a", limit=LIMIT, accountant="tight", plan=[TENTH, sf.Privacy(epsilon=0.2)])
        account.charge(event(0.1))
        account.charge(event(0.1, confidence=0.9))
        for confidence in (1.0, 0.9):
            with pytest.raises(BudgetExceededError):
                account.charge(event(0.01, confidence))
        account.recount()
        with pytest.raises(BudgetExceededError):
            account.charge(event(0.01))

    def test_another_relation_is_converted_first(self, ledger):
        account = ledger.account("a", limit=LIMIT, accountant="tight", plan=[sf.Privacy(epsilon=0.2)])
        other = event_of_grant(sf.Privacy(epsilon=0.1, neighbours="add-remove"))
        assert not account.would_cost(replace(other, epsilon=0.11)).fits
        account.charge(other)

    @pytest.mark.parametrize("seed", range(20))
    def test_whatever_is_asked_for_the_stock_is_not_exceeded(self, seed):
        """Adaptive requests, of any size and kind: all that was admitted is covered by the plan, one for one."""
        rng = random.Random(seed)
        stock = Stock(((0.1, 0.0, 5), (0.2, 1e-8, 3), (0.5, 0.0, 2)), rho=0.1, gaussian=0.3)
        now, admitted = (0, 0, 0, 0, 0), []
        for _ in range(60):
            if rng.random() < 0.3:
                one = event_of_grant(sf.Privacy(epsilon=rng.uniform(0.01, 0.6), delta=rng.choice([1e-9, 1e-7])))
            elif rng.random() < 0.2:
                one = event_of_selection("x", sf.Privacy(rho=rng.uniform(0.001, 0.1)), "x")
            else:
                one = event(rng.uniform(0.01, 0.6))
            after = taken(stock, now, one)
            if after is not None:
                admitted.append((one, [b - a for a, b in zip(now, after, strict=True)]))
                now = after
        from sfumato.accounting.compose import grains

        assert all(n <= most for n, most in zip(now, (5, 3, 2, grains(0.1), grains(0.3)), strict=True))
        for one, parts in admitted:
            (k,) = [k for k, part in enumerate(parts) if part]
            if k < 3:
                assert parts[k] == 1 and one.epsilon <= stock.atoms[k][0] and one.delta <= stock.atoms[k][1]
            elif k == 3:
                assert parts[k] >= grains(one.rho)
            else:
                assert parts[k] >= grains(one.mu) ** 2 // 10**400

    def test_errors(self, ledger):
        for plan, words in (
            (None, "plan must say what will be asked for"),
            ([], "must hold releases"),
            ([sf.Privacy(epsilon=4.0)], "must hold releases, and fit"),
            ([(TENTH, None), (sf.Privacy(epsilon=0.2), None)], "one count open"),
            ([(TENTH, -1)], "positive count"),
        ):
            with pytest.raises(ParameterError, match=words):
                ledger.account("a", limit=LIMIT, accountant="tight", plan=plan)
        with pytest.raises(ParameterError, match="is for accountant='tight' or 'best'"):
            ledger.account("a", limit=LIMIT, plan=[TENTH])
        with pytest.raises(ParameterError, match="needs a limit with epsilon and delta"):
            ledger.account("a", limit=sf.Privacy(rho=1.0), accountant="tight", plan=[TENTH])
        ledger.account("a", limit=LIMIT, accountant="tight", plan=[TENTH])
        with pytest.raises(LedgerError, match="another limit or accountant"):
            ledger.account("a", limit=LIMIT, accountant="tight", plan=[(TENTH, 2)])
        with pytest.raises(ParameterError, match="fixed when an account is created"):
            ledger.account("a", plan=[TENTH])

    @pytest.mark.parametrize("accountant", ["best", "tight"])
    @pytest.mark.parametrize("count", [2, None])
    def test_a_limit_whose_delta_is_roundoff_says_so(self, ledger, accountant, count):
        limit = sf.Privacy(epsilon=3.0, delta=1e-12)
        with pytest.raises(ParameterError, match=r"plan needs a larger limit: delta=1e-12 is too small .* more than"):
            ledger.account("clinic", limit, accountant=accountant, plan=[(TENTH, count)])

    def test_a_plan_is_kept_as_it_was_written(self, ledger):
        ledger.account("a", limit=LIMIT, accountant="tight", plan=[(TENTH, 3)])
        assert ledger.account("a", limit=LIMIT, accountant="tight", plan=[(TENTH, 3)]).remaining().epsilon == 0.1
        assert stock_of("basic") is None


def test_what_is_chosen_by_the_loss_so_far_gets_past_a_rule_without_a_plan():
    """Why there are plans: whoever adds up what was asked for alone finds either way within the limit, and both spend
    more. After a first answer that fits one data set better, ask for what can still tell; after another, for an atom.
    """
    first, second, limit = 0.5, 0.6, 0.8
    right = 1 / (1 + math.exp(-first))
    tell = _atom(second, 0.0, limit - first)
    delta = right * tell
    either = [((first, 0.0, 1), (second, 0.0, 1)), ((0.05, delta, 1), (first, 0.0, 1))]
    for atoms in either:
        assert delta_of(Stock(atoms), limit) == pytest.approx(delta, rel=1e-3)
    spent = right * tell + (1 - right) * delta
    assert spent > 1.3 * delta
    assert spent <= delta_of(Stock(tuple(sorted({*either[0], *either[1]}))), limit)  # a plan holds both
