"""The durable ledger: accounts, charges, refusals, and databases in every bad state."""

from __future__ import annotations

import copy
import os
import pickle
import sqlite3
import stat
import threading

import numpy as np
import pytest

import sfumato as sf
from sfumato.accounting import sqlite as store
from sfumato.accounting.events import event_of_grant
from sfumato.accounting.schema import Sql
from sfumato.accounting.store import close_all
from sfumato.errors import BudgetExceededError, LedgerError, ParameterError, ParameterTypeError

BOX = sf.Box([(0, 1)])
TARGET = sf.BlackBox(lambda data: lambda points: points[:, 0] * 0 + data.mean(), sensitivity=0.25)


def publish(account, privacy=None, **options):
    privacy = privacy or sf.Privacy(epsilon=1.0)
    return sf.release(TARGET, np.zeros(4), BOX, privacy, basis=sf.Bernstein(2), ledger=account, **options)


@pytest.fixture
def ledger(tmp_path):
    return sf.Ledger(tmp_path / "budget.db")


@pytest.fixture
def account(ledger):
    return ledger.account("clinic", limit=sf.Privacy(epsilon=3.0, delta=1e-6))


def test_releases_are_charged_until_nothing_is_left(account):
    for left in (2.0, 1.0, 0.0):
        release = publish(account)
        assert account.remaining().epsilon == left
    assert release.receipt.entry == 3
    assert release.receipt.account == "clinic"
    with pytest.raises(BudgetExceededError, match=r"asked for epsilon 1.0, spent so far epsilon 3, left epsilon 0.0"):
        publish(account)
    assert [entry.status for entry in account.history()] == ["published"] * 3


def test_a_refusal_names_delta_where_delta_is_short(tmp_path):
    pure = sf.Ledger(tmp_path / "a.db").account("pure", limit=sf.Privacy(epsilon=3.0))
    both = sf.Ledger(tmp_path / "a.db").account("both", limit=sf.Privacy(epsilon=3.0, delta=1e-6))
    for account, left in ((pure, "0.0"), (both, "1e-06")):
        words = (
            rf"left epsilon 3.0, delta {left} of .*: there is epsilon left, but not enough delta; nothing was released"
        )
        with pytest.raises(BudgetExceededError, match=words):
            account.charge(event_of_grant(sf.Privacy(epsilon=1.0, delta=1e-5)))
    with pytest.raises(
        BudgetExceededError, match=r"left epsilon 3.0, delta 1e-06 of epsilon 3, delta 1e-06 for [^:]*; noth"
    ):
        both.charge(event_of_grant(sf.Privacy(epsilon=4.0, delta=1e-7)))  # epsilon is short, too: nothing more to say


def test_a_refusal_says_where_rho_is_not_counted(tmp_path):
    ledger, rho = sf.Ledger(tmp_path / "a.db"), event_of_grant(sf.Privacy(rho=0.001))
    basic = ledger.account("basic", limit=sf.Privacy(epsilon=3.0, delta=1e-6), accountant="basic")
    with pytest.raises(BudgetExceededError, match=r"epsilons are added up here, and rho has none; ask for epsilon, or"):
        basic.charge(rho)
    ledger.account("best", limit=sf.Privacy(epsilon=3.0, delta=1e-6), accountant="best").charge(rho)


def test_the_receipt_travels_with_the_file(account, tmp_path):
    publish(account).save(tmp_path / "r.sfumato")
    receipt = sf.load(tmp_path / "r.sfumato").receipt
    assert (receipt.account, receipt.entry, receipt.spent, receipt.left) == ("clinic", 1, "epsilon 1", "epsilon 2")


def test_nothing_is_computed_or_charged_for_a_bad_request(account):
    with pytest.raises(ParameterError):
        publish(account, noise="cauchy")
    assert account.history() == []


def test_a_failure_while_drawing_leaves_the_charge(account, monkeypatch):
    def crash(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("sfumato.pipeline.publish", crash)
    with pytest.raises(KeyboardInterrupt):
        publish(account)
    assert [entry.status for entry in account.history()] == ["reserved"]
    assert account.remaining().epsilon == 2.0


def test_selection_and_thresholds_pay_too(account):
    sf.select(["a", "b"], [0.0, 1.0], sensitivity=1.0, privacy=sf.Privacy(epsilon=0.5), ledger=account)
    sf.AboveThreshold(0.0, sensitivity=1.0, privacy=sf.Privacy(epsilon=0.5), ledger=account)
    assert account.remaining().epsilon == 2.0
    assert [entry.event.mechanism for entry in account.history()] == ["permute-and-flip", "above-threshold"]
    with pytest.raises(BudgetExceededError):
        sf.select(["a"], [0.0], sensitivity=1.0, privacy=sf.Privacy(epsilon=2.5), ledger=account)


def test_basic_sums_are_exact(ledger):
    """Ten times one tenth make one, as they are written, and not a hair more fits."""
    account = ledger.account("exact", limit=sf.Privacy(epsilon=1.0))
    assert sum([0.1] * 10) != 1.0  # doubles do not know it
    for _ in range(10):
        account.charge(event_of_grant(sf.Privacy(epsilon=0.1)))
    assert account.remaining().epsilon == 0.0
    with pytest.raises(BudgetExceededError):
        account.charge(event_of_grant(sf.Privacy(epsilon=1e-300)))


def test_many_gaussians_are_cheaper_than_their_sum(ledger):
    """Forty releases of (0.3, 1e-8): epsilon 12 by adding up, admitted at 3 by the Gaussian and zCDP accountants."""
    account = ledger.account("many", limit=sf.Privacy(epsilon=3.0, delta=1e-6), accountant="best")
    event = event_of_grant(sf.Privacy(epsilon=0.3, delta=1e-8))
    for _ in range(40):
        account.charge(event)
    assert account.remaining().accountant in ("gaussian", "zcdp")
    assert 0 < account.remaining().epsilon < 3


def test_an_account_can_fix_its_accountant(ledger):
    account = ledger.account("zcdp", limit=sf.Privacy(rho=0.5), accountant="zcdp")
    account.charge(event_of_grant(sf.Privacy(rho=0.25)))
    account.charge(event_of_grant(sf.Privacy(epsilon=0.5)))
    balance = account.remaining()
    assert balance.rho == pytest.approx(0.125)
    assert balance.accountant == "zcdp"
    assert "rho 0.125" in str(balance)


def test_would_cost_charges_nothing(account):
    quote = account.would_cost(sf.Privacy(epsilon=1.0))
    assert quote.fits
    assert quote.after.epsilon == 2.0
    assert not account.would_cost(sf.Privacy(epsilon=4.0)).fits
    plan = sf.plan(TARGET, BOX, sf.Privacy(epsilon=2.0), basis=sf.Bernstein(2))
    assert account.would_cost(plan).after.epsilon == 1.0
    assert account.history() == []
    with pytest.raises(ParameterTypeError, match="would_cost"):
        account.would_cost(3.0)


def test_random_entries_are_kept_apart(account):
    random = event_of_grant(sf.Privacy(epsilon=2.0))
    random = type(random)(**{**vars(random), "confidence": 0.95})
    account.charge(random)
    assert account.remaining().epsilon == 3.0
    assert account.remaining(random=True).epsilon == 1.0
    assert [entry.random for entry in account.history()] == [True]
    account.charge(event_of_grant(sf.Privacy(epsilon=1.0)))
    with pytest.raises(BudgetExceededError):  # together they would exceed the limit
        account.charge(event_of_grant(sf.Privacy(epsilon=1.0)))
    with pytest.raises(BudgetExceededError):
        account.charge(random)
    assert account.remaining().epsilon == 2.0


SAMPLED = sf.SampledCertificate(
    "l1", 0.25, "replace", "sampled", "sampler", None, ("random only",), 0.9,
    gamma=0.1, m=9, k=9, rho=None, rule="exchangeable", n=4, size=1, oracle="made up",
)  # fmt: skip


def publish_random(account, epsilon=0.5, **options):
    target = sf.Statistic(np.mean, sensitivity=SAMPLED)
    return sf.release(target, np.zeros(4), BOX, sf.Privacy(epsilon=epsilon, gamma=0.1), ledger=account, **options)


def random_event(confidence, epsilon=0.125):
    event = event_of_grant(sf.Privacy(epsilon=epsilon))
    return type(event)(**{**vars(event), "confidence": confidence})


def test_a_release_on_a_sampled_sensitivity_is_a_random_entry(account):
    release = publish_random(account)
    assert release.receipt.entry == 1
    assert account.remaining().epsilon == 3.0
    assert account.remaining(random=True).epsilon == 2.5
    (entry,) = account.history()
    assert (entry.random, entry.event.confidence, entry.status) == (True, 0.9, "published")
    assert "caller's" in entry.event.what
    publish(account)
    assert {(entry.random, entry.number) for entry in account.history()} == {(True, 1), (False, 1)}


def test_a_limit_may_have_a_gamma_that_random_entries_share(ledger):
    account = ledger.account("random", limit=sf.Privacy(epsilon=9.0, gamma=0.25))
    publish_random(account)
    publish_random(account)
    assert not account.would_cost(random_event(0.9)).fits
    assert account.would_cost(random_event(0.95)).fits
    with pytest.raises(BudgetExceededError, match=r"allows gamma 0.25 in all .*confidence 0.9; nothing was released"):
        publish_random(account)
    publish(account)  # differential privacy proper has no gamma
    account.charge(random_event(0.95))
    with pytest.raises(BudgetExceededError, match="gamma"):
        account.charge(random_event(0.999))
    assert len(account.history()) == 4


@pytest.mark.parametrize(("gamma", "each"), [(1.0, 0.1), (0.3, 0.1), (0.7, 0.07)])
def test_gammas_add_up_as_they_are_written(ledger, gamma, each):
    """Ten times one tenth make one, whatever doubles think of one minus a tenth."""
    limit = 0.999999 if gamma == 1.0 else gamma
    account = ledger.account(f"sum {gamma}", limit=sf.Privacy(epsilon=9.0, gamma=limit))
    for _ in range(round(gamma / each) - (gamma == 1.0)):
        account.charge(random_event(1 - each))
    with pytest.raises(BudgetExceededError, match="gamma"):
        account.charge(random_event(1 - each))


@pytest.mark.parametrize("gamma", [0, 0.0])
def test_an_account_of_differential_privacy_proper_takes_nothing_random(ledger, gamma):
    account = ledger.account("proper", limit=sf.Privacy(epsilon=9.0, gamma=gamma))
    assert not account.would_cost(random_event(0.999999)).fits
    with pytest.raises(BudgetExceededError, match="allows gamma 0"):
        publish_random(account)
    publish(account)
    assert [entry.random for entry in account.history()] == [False]


def test_an_account_without_a_gamma_takes_any_that_its_epsilon_allows(account):
    for _ in range(6):
        publish_random(account)
    with pytest.raises(BudgetExceededError, match=r"left epsilon 0.0"):
        publish_random(account)


def test_a_gamma_is_part_of_the_limit(ledger):
    account = ledger.account("random", limit=sf.Privacy(epsilon=9.0, gamma=0.25))
    assert ledger.account("random", limit=sf.Privacy(epsilon=9.0, gamma=0.25)) == account
    assert account.remaining().limit.gamma == 0.25
    for other in (None, 0.5):
        with pytest.raises(LedgerError):
            ledger.account("random", limit=sf.Privacy(epsilon=9.0, gamma=other))
    receipt = publish_random(account).receipt
    assert "gamma 0.25" in receipt.limit


def test_would_cost_of_a_choice(account):
    """A plan of a quantile has no noise law: it is a pure selection."""
    for what in ("median", "quantiles"):
        plan = sf.plan(sf.Statistic(what, interval="none"), BOX, sf.Privacy(epsilon=2.0, delta=1e-7), 100)
        assert plan.law is None
        quote = account.would_cost(plan)
        assert quote.fits and quote.after.epsilon == 1.0
    assert not account.would_cost(sf.plan(sf.Statistic("median"), BOX, sf.Privacy(epsilon=4.0), 100)).fits
    assert account.history() == []


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("what", "grant", "mechanism"),
    [
        ("median", {"epsilon": 0.5}, "permute-and-flip"),
        ("quantiles", {"epsilon": 0.5}, "exponential"),
        ("quantiles", {"rho": 0.1}, "exponential"),
    ],
)
def test_a_choice_is_charged_once_for_all_its_levels(ledger, what, grant, mechanism):
    account = ledger.account("choices", limit=sf.Privacy(rho=1.0), accountant="zcdp")
    release = sf.release(sf.Statistic(what, interval="none"), np.zeros(9), BOX, sf.Privacy(**grant), ledger=account)
    (entry,) = account.history()
    assert entry.event.mechanism == mechanism
    assert (entry.event.epsilon, entry.event.rho) == (grant.get("epsilon"), grant.get("rho"))
    assert release.receipt.entry == 1
    assert account.would_cost(release).fits


def test_would_cost_of_a_random_plan_counts_in_the_random_book(account):
    target = sf.Statistic(np.mean, sensitivity=SAMPLED)
    plan = sf.plan(target, BOX, sf.Privacy(epsilon=2.0, gamma=0.1), 4)
    assert account.would_cost(plan).after.epsilon == 1.0
    publish_random(account, epsilon=2.0)
    assert not account.would_cost(plan).fits


def test_recount_adds_up_the_same(account):
    for epsilon in (0.5, 0.25, 0.125):
        account.charge(event_of_grant(sf.Privacy(epsilon=epsilon)))
    before = account.remaining()
    account.recount()
    assert account.remaining() == before


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, lambda a: pickle.loads(pickle.dumps(a))])
def test_handles_hold_an_address_never_a_balance(account, clone):
    other = clone(account)
    publish(account)
    assert other.remaining().epsilon == 2.0
    publish(other)
    assert account.remaining().epsilon == 1.0


def test_a_handle_survives_scikit_learns_clone(account):
    base = pytest.importorskip("sklearn.base")

    class Estimator(base.BaseEstimator):
        def __init__(self, ledger=None):
            self.ledger = ledger

    cloned = base.clone(Estimator(account)).ledger
    assert base.clone(account) == account
    publish(cloned)
    assert account.remaining().epsilon == 2.0


def test_threads_never_overspend(ledger):
    account = ledger.account("threads", limit=sf.Privacy(epsilon=20.0))
    outcomes = []

    def spend():
        for _ in range(10):
            try:
                account.charge(event_of_grant(sf.Privacy(epsilon=1.0)))
                outcomes.append(1)
            except BudgetExceededError:
                outcomes.append(0)

    threads = [threading.Thread(target=spend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(outcomes) == 20
    assert len(outcomes) == 40


def test_several_accounts_in_one_ledger(ledger):
    first = ledger.account("a", limit=sf.Privacy(epsilon=1.0))
    second = ledger.account("b", limit=sf.Privacy(epsilon=1.0))
    publish(first)
    assert second.remaining().epsilon == 1.0
    assert [account.name for account in ledger.accounts()] == ["a", "b"]


# --- refusals -------------------------------------------------------------------------------------------------


def test_opening_the_same_account_again_is_fine(ledger, account):
    assert ledger.account("clinic") == account
    assert ledger.account("clinic", limit=sf.Privacy(epsilon=3.0, delta=1e-6)) == account


@pytest.mark.parametrize(
    "limit",
    [
        sf.Privacy(epsilon=4.0, delta=1e-6),
        sf.Privacy(epsilon=3.0),
        sf.Privacy(epsilon=3.0, delta=1e-6, neighbours="add-remove"),
        sf.Privacy(epsilon=3.0, delta=1e-6, unit=sf.Person("id", 2)),
    ],
)
def test_one_name_has_one_limit(ledger, account, limit):
    with pytest.raises(LedgerError, match="another limit"):
        ledger.account("clinic", limit=limit)


def test_one_name_has_one_accountant(ledger, account):
    with pytest.raises(LedgerError, match="another limit"):
        ledger.account("clinic", limit=sf.Privacy(epsilon=3.0, delta=1e-6), accountant="best")
    with pytest.raises(ParameterError, match="fixed when an account is created"):
        ledger.account("clinic", accountant="basic")


def test_zero_limits_are_refused():
    with pytest.raises(ParameterError, match="epsilon"):
        sf.Privacy(epsilon=0.0)


def test_unknown_accounts_and_wrong_types_are_refused(ledger):
    with pytest.raises(LedgerError, match="no account 'nobody'"):
        ledger.account("nobody")
    with pytest.raises(ParameterTypeError, match="limit"):
        ledger.account("x", limit=3)
    with pytest.raises(ParameterError, match="accountant"):
        ledger.account("x", limit=sf.Privacy(epsilon=1.0), accountant="magic")
    with pytest.raises(ParameterTypeError, match="ledger must be an account"):
        publish(ledger)
    with pytest.raises(ParameterError, match="file"):
        sf.Ledger(":memory:")


def test_another_relation_is_converted_or_refused(ledger, account):
    publish(account, sf.Privacy(epsilon=1.0, neighbours="add-remove"))
    assert account.remaining().epsilon == 1.0
    strict = ledger.account("strict", limit=sf.Privacy(epsilon=3.0, neighbours="add-remove"))
    with pytest.raises(LedgerError, match="replace"):
        publish(strict)
    assert strict.history() == []


# --- databases in bad states ----------------------------------------------------------------------------------


def forget(path):
    """Close the connection, as a new process would start without one."""
    close_all()


def test_a_foreign_database_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE precious (x)")
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="not a sfumato ledger"):
        sf.Ledger(path)
    assert path.read_bytes() == before


def test_a_newer_ledger_is_refused(ledger):
    with sqlite3.connect(ledger.path) as connection:
        connection.execute("PRAGMA user_version=99")
    forget(ledger.path)
    with pytest.raises(LedgerError, match="version 99"):
        sf.Ledger(ledger.path)


def test_a_file_that_is_no_database_is_refused(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("budget: plenty\n" * 100)
    with pytest.raises(LedgerError, match="not a database"):
        sf.Ledger(path)


def test_a_damaged_database_is_refused_and_nothing_is_released(account):
    publish(account)
    forget(account.path)
    for suffix in ("-wal", "-shm"):
        if os.path.exists(account.path + suffix):
            os.unlink(account.path + suffix)
    with open(account.path, "r+b") as file:
        file.seek(4096)
        file.write(os.urandom(20_000))
    with pytest.raises(LedgerError, match=r"damaged|not a database|tables are missing|refused"):
        publish(account)


def test_a_missing_folder_is_said(tmp_path):
    with pytest.raises(LedgerError, match="cannot be opened"):
        sf.Ledger(tmp_path / "nowhere" / "budget.db")


def test_a_locked_ledger_is_said(account, monkeypatch):
    forget(account.path)
    monkeypatch.setattr(store, "_WAIT_SECONDS", 0.05)
    holder = sqlite3.connect(account.path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    try:
        with pytest.raises(LedgerError, match="another process"):
            publish(account)
    finally:
        holder.execute("ROLLBACK")
        holder.close()
        forget(account.path)
    publish(account)
    assert account.remaining().epsilon == 2.0


def charge_often(account):
    for _ in range(100):
        account.charge(event_of_grant(sf.Privacy(epsilon=0.001)))


def test_a_full_disk_charges_nothing_and_releases_nothing(account):
    publish(account)
    connection = store.connect(account.path)
    pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
    connection.exec_driver_sql(f"PRAGMA max_page_count={pages}")
    with pytest.raises(LedgerError, match="disk is full"):
        charge_often(account)
    connection.exec_driver_sql("PRAGMA max_page_count=1000000")
    spent = sum(entry.event.epsilon for entry in account.history())
    assert account.remaining().epsilon == pytest.approx(3 - spent)
    publish(account)


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser writes to read-only files")
def test_a_read_only_ledger_is_said(account):
    forget(account.path)
    os.chmod(account.path, stat.S_IREAD)
    os.chmod(os.path.dirname(account.path), stat.S_IREAD | stat.S_IEXEC)
    try:
        with pytest.raises(LedgerError, match=r"read-only|cannot be opened"):
            publish(account)
    finally:
        os.chmod(os.path.dirname(account.path), stat.S_IRWXU)


def test_a_read_only_connection_is_said(account):
    connection = store.connect(account.path)
    connection.exec_driver_sql("PRAGMA query_only=ON")
    with pytest.raises(LedgerError, match="read-only"):
        publish(account)
    connection.exec_driver_sql("PRAGMA query_only=OFF")
    assert account.history() == []


# --- what an adversary, or an accident, would try -----------------------------------------------------------


def test_a_replaced_file_is_noticed(account, tmp_path):
    publish(account)
    os.rename(account.path, tmp_path / "old.db")
    with pytest.raises(LedgerError, match="replaced, removed or damaged"):
        publish(account)
    (tmp_path / "budget.db").write_bytes(b"")
    with pytest.raises(LedgerError, match="replaced, removed or damaged"):
        publish(account)
    close_all()


def test_a_path_can_be_opened_anew_after_its_file_was_removed(ledger, account):
    publish(account)
    for suffix in ("", "-count"):
        os.unlink(ledger.path + suffix)
    again = sf.Ledger(ledger.path).account("clinic", limit=sf.Privacy(epsilon=5.0))
    assert again.remaining().epsilon == 5.0


def test_garbage_over_an_open_ledger_is_noticed(account):
    publish(account)
    with open(account.path, "wb") as file:
        file.write(b"garbage" * 1000)
    with pytest.raises(LedgerError, match="damaged"):
        publish(account)


def test_the_default_accountant_lets_the_limit_be_spent_at_once(ledger):
    limit = sf.Privacy(epsilon=1.0, delta=1e-6)
    account = ledger.account("once", limit=limit)
    assert (account.remaining().epsilon, account.remaining().delta) == (1.0, 1e-6)
    publish(account, limit)
    assert (account.remaining().epsilon, account.remaining().delta) == (0.0, 0.0)


def test_a_second_hard_link_is_refused(account, tmp_path):
    os.link(account.path, tmp_path / "second.db")
    with pytest.raises(LedgerError, match="hard links"):
        publish(account)


def test_paths_are_files_not_addresses(tmp_path):
    for name in ("q?1.db", "q?2.db", "p%41.db"):
        sf.Ledger(tmp_path / name)
        assert (tmp_path / name).exists()


def test_an_interrupt_while_waiting_does_not_break_the_ledger(account):
    connection = store.connect(account.path)
    connection.exec_driver_sql("BEGIN IMMEDIATE")  # as if an interrupt had left a transaction open
    assert account.remaining().epsilon == 3.0
    publish(account)
    assert account.remaining().epsilon == 2.0


def test_a_release_that_cannot_be_marked_says_that_it_was_charged(account, monkeypatch):
    nothing = Sql("SELECT * FROM nothing WHERE id = :entry", "")
    monkeypatch.setattr("sfumato.accounting.ledger._ENTRY", nothing)
    with pytest.raises(LedgerError, match="entry 1 of account 'clinic' is charged, but"):
        publish(account)
    assert account.remaining().epsilon == 2.0


def test_impossible_events_are_refused(account):
    event = event_of_grant(sf.Privacy(epsilon=1.0))
    for bad in ({"epsilon": -5.0}, {"epsilon": float("nan")}, {"mu": float("inf")}, {"confidence": 0.0}):
        with pytest.raises(LedgerError, match="cannot be counted"):
            type(event)(**{**vars(event), **bad})
    huge = event_of_grant(sf.Privacy(epsilon=1e308, neighbours="add-remove"))
    with pytest.raises(LedgerError):
        account.charge(huge)


@pytest.mark.parametrize("limit", [(300.0, 1e-6), (246.0, 8e-38), (3.0, 1e-6), (0.01, 1e-9)])
def test_what_is_said_to_be_left_is_admitted(ledger, limit):
    account = ledger.account("left", limit=sf.Privacy(epsilon=limit[0], delta=limit[1]), accountant="gaussian")
    account.charge(event_of_grant(sf.Privacy(epsilon=account.remaining().epsilon)))


def test_a_bad_threshold_costs_nothing(account):
    for bad in ({"threshold": float("nan")}, {"sensitivity": -1.0}, {"privacy": sf.Privacy(rho=1.0)}):
        with pytest.raises(ParameterError):
            sf.AboveThreshold(
                **{"threshold": 0.0, "sensitivity": 1.0, "privacy": sf.Privacy(epsilon=1.0), "ledger": account, **bad}
            )
    assert account.history() == []


def test_a_target_must_publish_what_it_certified(account):
    class Liar(sf.BlackBox):
        def coefficients(self, table, basis, box, certificate):
            other = type(certificate)(**{**vars(certificate), "bound": certificate.bound / 2})
            return super().coefficients(table, basis, box, other)

    liar = Liar(lambda data: lambda points: points[:, 0], sensitivity=0.25)
    with pytest.raises(sf.errors.PrivateDataError, match="certified"):
        sf.release(liar, np.zeros(4), BOX, sf.Privacy(epsilon=1.0), basis=sf.Bernstein(2), ledger=account)
    assert account.history() == []


def test_a_worker_that_forks_again_still_shares_its_lock(account):
    """A forked worker forks once more; its own threads can still charge afterwards."""
    import multiprocessing

    context = multiprocessing.get_context("fork")

    def grandchild():
        account.charge(event_of_grant(sf.Privacy(epsilon=0.25)))

    def child():
        inner = context.Process(target=grandchild)
        inner.start()
        inner.join()
        thread = threading.Thread(target=grandchild)
        thread.start()
        thread.join(10)
        os._exit(1 if thread.is_alive() else 0)

    worker = context.Process(target=child)
    worker.start()
    worker.join(60)
    assert worker.exitcode == 0
    assert account.remaining().epsilon == 2.5


def test_equal_gammas_are_one_limit(tmp_path):
    ledger = sf.Ledger(tmp_path / "budget.db")
    account = ledger.account("a", limit=sf.Privacy(epsilon=1.0, gamma=0))
    assert ledger.account("a", limit=sf.Privacy(epsilon=1.0, gamma=0.0)) == account
