"""What every store of a ledger has to do: inherit, and give a new address, and copies of it."""

from __future__ import annotations

import copy
import pickle
import threading
from dataclasses import replace

import numpy as np
import pytest

import sfumato as sf
from sfumato.accounting.events import event_of_grant
from sfumato.accounting.store import close_all
from sfumato.errors import BudgetExceededError, LedgerError, ParameterError, ParameterTypeError
from sfumato.releases.writer import digest

BOX = sf.Box([(0, 1)])
TARGET = sf.BlackBox(lambda data: lambda points: points[:, 0] * 0 + data.mean(), sensitivity=0.25)
LIMIT = sf.Privacy(epsilon=3.0, delta=1e-6)


def event(epsilon=1.0, confidence=1.0):
    return replace(event_of_grant(sf.Privacy(epsilon=epsilon)), confidence=confidence)


def publish(account, epsilon=1.0):
    return sf.release(
        TARGET, np.zeros(4), BOX, sf.Privacy(epsilon=epsilon), basis=sf.Bernstein(2), ledger=account, rehearse=False
    )


class LedgerContract:
    """Accounts, charges, refusals and evidence, wherever a ledger is kept."""

    @pytest.fixture
    def address(self):
        raise NotImplementedError

    @pytest.fixture
    def other(self):
        """Another new address."""
        raise NotImplementedError

    @pytest.fixture
    def ledger(self, address):
        return sf.Ledger(address)

    @pytest.fixture
    def account(self, ledger):
        return ledger.account("clinic", limit=LIMIT)

    def test_charges_until_nothing_is_left(self, account):
        for left in (2.0, 1.0, 0.0):
            release = publish(account)
            assert account.remaining().epsilon == left
        assert (release.receipt.account, release.receipt.entry) == ("clinic", 3)
        with pytest.raises(BudgetExceededError, match=r"spent so far epsilon 3, left epsilon 0.0"):
            publish(account)
        assert [entry.status for entry in account.history()] == ["published"] * 3

    def test_what_was_charged_is_there_when_it_is_opened_again(self, account, address):
        account.charge(event())
        close_all()
        again = sf.Ledger(address).account("clinic")
        assert again.remaining().epsilon == 2.0
        assert [entry.status for entry in again.history()] == ["reserved"]

    def test_two_books_have_one_limit(self, account):
        account.charge(event(1.0))
        account.charge(event(1.5, confidence=0.99))
        assert (account.remaining().epsilon, account.remaining(random=True).epsilon) == (2.0, 0.5)
        for confidence in (1.0, 0.99):
            with pytest.raises(BudgetExceededError):
                account.charge(event(0.75, confidence))
        account.charge(event(0.5))

    def test_accounts_are_made_once(self, ledger, account):
        assert ledger.account("clinic", limit=LIMIT) == account
        with pytest.raises(LedgerError, match="exists with another limit"):
            ledger.account("clinic", limit=sf.Privacy(epsilon=4.0))
        ledger.account("shop", limit=sf.Privacy(rho=1.0))
        assert [one.name for one in ledger.accounts()] == ["clinic", "shop"]
        with pytest.raises(LedgerError, match="no account 'clinik'; did you mean 'clinic'"):
            ledger.account("clinik")

    def test_handles_travel(self, account):
        for handle in (copy.deepcopy(account), pickle.loads(pickle.dumps(account))):
            handle.charge(event(0.5))
        assert account.remaining().epsilon == 2.0

    def test_threads_share_a_limit(self, account):
        won, lost = [], []

        def spend():
            try:
                won.append(account.charge(event(0.5)))
            except BudgetExceededError:
                lost.append(1)

        threads = [threading.Thread(target=spend) for _ in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (sorted(won), len(lost)) == ([1, 2, 3, 4, 5, 6], 4)

    def test_a_refused_or_interrupted_block_changes_nothing(self, account):
        with pytest.raises(KeyboardInterrupt), account._store.writing():
            raise KeyboardInterrupt
        with pytest.raises(BudgetExceededError):
            account.charge(event(3.5))
        assert account.history() == []
        account.charge(event(3.0))

    def test_a_failure_while_drawing_leaves_the_charge(self, account):
        with pytest.raises(ZeroDivisionError), account.spend(event()):
            raise ZeroDivisionError
        assert [entry.status for entry in account.history()] == ["reserved"]

    def test_recount(self, account):
        account.charge(event())
        account.recount()
        assert account.remaining().epsilon == 2.0
        close_all()
        assert account.remaining().epsilon == 2.0

    # --- limits ---

    def test_a_limit_is_raised_by_an_act_alone(self, ledger, account):
        publish(account, 3.0)
        with pytest.raises(BudgetExceededError):
            account.charge(event(0.5))
        account.raise_limit(sf.Privacy(epsilon=4.0, delta=1e-6), "the board agreed")
        assert account.remaining().epsilon == 1.0
        account.charge(event(1.0))
        close_all()
        assert (account.remaining().epsilon, account.limit.epsilon) == (0.0, 4.0)
        assert ledger.account("clinic", limit=sf.Privacy(epsilon=4.0, delta=1e-6)) == account
        with pytest.raises(LedgerError, match="another limit"):
            ledger.account("clinic", limit=LIMIT)
        ledger.verify()

    def test_a_delta_may_be_added(self, ledger):
        account = ledger.account("best", limit=sf.Privacy(epsilon=1.0), accountant="best")
        account.charge(event(0.5, confidence=0.99))
        account.raise_limit(sf.Privacy(epsilon=1.0, delta=1e-6), "for Gaussian noise")
        account.charge(event(0.5))
        with pytest.raises(BudgetExceededError):
            account.charge(event(0.001))

    @pytest.mark.parametrize(
        "limit",
        [
            LIMIT,
            sf.Privacy(epsilon=2.0, delta=1e-6),
            sf.Privacy(epsilon=4.0, delta=1e-7),
            sf.Privacy(rho=9.0),
            sf.Privacy(epsilon=4.0, delta=1e-6, neighbours="add-remove"),
            sf.Privacy(epsilon=4.0, delta=1e-6, gamma=0.0),
        ],
        ids=str,
    )
    def test_a_limit_is_never_lowered_or_changed(self, account, limit):
        with pytest.raises(ParameterError, match="only ever raised"):
            account.raise_limit(limit, "because")
        with pytest.raises(ParameterTypeError, match="why"):
            account.raise_limit(sf.Privacy(epsilon=9.0, delta=1e-6), " ")

    # --- evidence ---

    def test_releases_and_ledger_know_each_other(self, ledger, account):
        first, second = publish(account), publish(account)
        found = ledger.verify([first, second])
        assert (found.accounts, found.entries, found.published, found.count) == (1, 2, 2, 5)
        assert len(first.receipt.hash) == 64 and first.receipt.hash != second.receipt.hash
        assert [entry.release for entry in account.history()] == [digest(first), digest(second)]
        forged = replace(second, receipt=replace(second.receipt, spent="nothing"))
        with pytest.raises(LedgerError, match="another release was published under entry 2"):
            ledger.verify([forged])
        with pytest.raises(LedgerError, match="speaks of another entry"):
            ledger.verify([replace(second, receipt=replace(second.receipt, hash=first.receipt.hash))])

    def test_a_release_of_elsewhere_is_noticed(self, ledger, account, other):
        elsewhere = publish(sf.Ledger(other).account("clinic", limit=LIMIT))
        with pytest.raises(LedgerError, match="is not in it: it is another ledger, or has lost"):
            ledger.verify([elsewhere])
        with pytest.raises(LedgerError, match="no receipt"):
            ledger.verify([publish(None)])

    def test_exported_and_imported(self, ledger, account, other, tmp_path):
        release = publish(account)
        account.charge(event(0.5, confidence=0.99))
        account.raise_limit(sf.Privacy(epsilon=5.0, delta=1e-6), "the board agreed")
        ledger.export(tmp_path / "lines.jsonl")
        again = sf.Ledger.from_export(tmp_path / "lines.jsonl", other)
        assert again.verify([release]) == ledger.verify([release])
        mine = again.account("clinic")
        assert mine.history() == account.history()
        assert replace(mine.remaining(), account="") == replace(account.remaining(), account="")
        mine.charge(event(3.5))
        with pytest.raises(BudgetExceededError):
            mine.charge(event(0.001))
        with pytest.raises(LedgerError, match="not empty"):
            sf.Ledger.from_export(tmp_path / "lines.jsonl", other)

    # --- data ---

    def test_two_accounts_on_the_same_data_are_noticed(self, ledger, tmp_path):
        (tmp_path / "a.csv").write_text("age\n1\n2\n")
        (tmp_path / "b.csv").write_text("age\n1\n2\n")
        (tmp_path / "c.csv").write_text("age\n1\n3\n")
        first = ledger.account("first", limit=LIMIT, data=tmp_path / "a.csv")
        assert ledger.account("first", limit=LIMIT, data=tmp_path / "b.csv") == first
        with pytest.raises(LedgerError, match="'first' is bound to the same data"):
            ledger.account("second", limit=LIMIT, data=tmp_path / "b.csv")
        assert [one.name for one in ledger.accounts()] == ["first"]  # and was not made
        second = ledger.account("second", limit=LIMIT, data=tmp_path / "c.csv")
        with pytest.raises(LedgerError, match="'first' is bound"):
            second.bind(tmp_path / "a.csv")
        ledger.verify()

    # --- plans ---

    def test_a_plan_is_drawn_from_in_any_order(self, ledger):
        account = ledger.account(
            "planned", limit=LIMIT, accountant="tight", plan=[(sf.Privacy(epsilon=0.1), 3), sf.Privacy(epsilon=0.5)]
        )
        account.charge(event(0.4))
        account.charge(event(0.05, confidence=0.99))
        account.charge(event(0.1))
        account.charge(event(0.1))
        assert account.remaining().accountant == "tight"
        for epsilon in (0.1, 0.01):
            with pytest.raises(BudgetExceededError, match=r"3 of 3 at epsilon 0.1, 1 of 1 at epsilon 0.5"):
                account.charge(event(epsilon))
        close_all()
        ledger.verify()
        with pytest.raises(LedgerError, match="has a plan"):
            account.raise_limit(sf.Privacy(epsilon=9.0, delta=1e-6), "because")
