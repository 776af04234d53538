"""A function of the caller's is run on made-up records first: what fails is told before anything is spent."""

import math
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import sfumato as sf
from sfumato.errors import NothingThereWarning, ParameterTypeError, RehearsalError

BOX = sf.Box({"income": (0, 1e6)})
ONE = sf.Privacy(epsilon=1.0)
INCOMES = np.linspace(1e3, 9e5, 300)


def gini(data):
    """That of docs/sampler.md: it is for an array."""
    ranked = np.sort(np.clip(data, 1.0, 1_000_000))
    places = 2 * np.arange(1, len(ranked) + 1) - len(ranked) - 1
    return (places * ranked).sum() / (len(ranked) * ranked.sum())


def leave(data):
    sys.exit(3)


def of(what, **more):
    return sf.Statistic(what, sensitivity=0.01, range=(0, 1), **more)


@pytest.fixture
def account(tmp_path):
    return sf.Ledger(tmp_path / "budget.db").account("clinic", limit=sf.Privacy(epsilon=3.0))


def frames():
    columns = {"income": INCOMES, "town": ["x"] * 300}
    return {"pandas": pd.DataFrame(columns), "polars": pl.DataFrame(columns), "pyarrow": pa.table(columns)}


# --- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", frames())
def test_a_function_for_arrays_is_refused_a_frame_before_it_costs_anything(kind, account):
    words = r"gini failed on made-up records .*nothing was spent.*rehearse=False"
    with pytest.raises(RehearsalError, match=words) as told:
        sf.release(of(gini), frames()[kind], BOX, ONE, ledger=account)
    assert type(told.value.__cause__).__name__ in str(told.value)
    assert account.remaining().epsilon == 3.0
    assert account.history() == []


@pytest.mark.parametrize(
    "broken", [lambda d: 1 / 0, leave, lambda d: math.nan, lambda d: None, lambda d: "text", lambda d: [1.0, 2.0]]
)
def test_whatever_never_works_is_refused(broken, account):
    with pytest.raises(RehearsalError, match="nothing was spent"):
        sf.release(of(broken), INCOMES, BOX, ONE, ledger=account)
    box = sf.BlackBox(lambda data: lambda points: np.full(len(points), broken(data)), sensitivity=0.1)
    with pytest.raises(RehearsalError, match="fit "):
        sf.release(box, INCOMES, BOX, ONE, basis=sf.Bernstein(2), ledger=account)
    assert account.remaining().epsilon == 3.0


def test_the_message_of_the_function_is_shown_and_no_data_are_in_it():
    def show(data):
        raise ValueError(f"seen {sorted(np.asarray(data))[-1]:.0f}")

    secret = np.full(300, 123_457.0)
    with pytest.raises(RehearsalError, match="ValueError: seen") as told:
        sf.release(of(show), secret, BOX, ONE)
    assert "123457" not in str(told.value)


def test_an_interrupt_stays_an_interrupt():
    def stop(data):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sf.release(of(stop), INCOMES, BOX, ONE)


def test_it_can_be_switched_off(account):
    sf.release(of(lambda d: 1 / 0), INCOMES, BOX, ONE, ledger=account, rehearse=False)
    assert account.remaining().epsilon == 2.0
    with pytest.raises(ParameterTypeError, match="rehearse must be True or False"):
        sf.release(of(gini), INCOMES, BOX, ONE, rehearse="no")


# --- what is warned of ----------------------------------------------------------------------------------------------


def test_a_function_that_no_table_moves_is_warned_of():
    with pytest.warns(NothingThereWarning, match="the same on two different made-up tables") as told:
        sf.release(of(lambda d: 0.5), INCOMES, BOX, ONE)
    assert told[0].filename == __file__
    with pytest.warns(NothingThereWarning, match="the same"):  # beyond its range everywhere
        sf.release(of(lambda d: d.sum()), INCOMES, BOX, ONE)
    with pytest.warns(NothingThereWarning, match="the same"):  # but for rounding
        sf.release(of(gini), frames()["pandas"][["income"]], BOX, ONE)


def test_gaps_are_warned_of():
    gaps = lambda data: lambda points: np.where(points[:, 0] < 5e5, np.nan, data.mean() / 1e6)  # noqa: E731
    target = sf.BlackBox(gaps, sensitivity=0.1)
    with pytest.warns(NothingThereWarning, match=r"2 of 5 numbers .* are not finite; the fallback"):
        sf.release(target, INCOMES, BOX, ONE, basis=sf.Bernstein(4))


def test_what_works_is_released_in_silence(recwarn):
    sf.release(of(gini), INCOMES, BOX, ONE)
    mean = lambda data: lambda points: points[:, 0] / 1e6 + np.mean(data["income"]) / 1e6  # noqa: E731
    sf.release(sf.BlackBox(mean, sensitivity=0.1), frames()["pandas"], BOX, ONE, basis=sf.Bernstein(4))
    assert not recwarn.list


# --- what it sees ---------------------------------------------------------------------------------------------------


def looked_at(data, box=BOX, privacy=ONE, **more):
    """What a function was called with: two made-up tables, and the data."""
    seen = []

    def look(table):
        seen.append(table)
        return np.random.default_rng().uniform()

    sf.release(of(look, **more), data, box, privacy)
    assert len(seen) == 3
    return seen


@pytest.mark.parametrize("kind", frames())
def test_made_up_tables_are_of_the_same_container_and_types(kind):
    first, second, given = looked_at(frames()[kind])
    assert type(first) is type(second) is type(given)
    assert str(first.dtypes if kind == "pandas" else first.schema) == str(
        given.dtypes if kind == "pandas" else given.schema
    )
    incomes = np.asarray(first["income"])
    assert len(first) == len(second) == 100
    assert incomes.min() >= 0 and incomes.max() <= 1e6 and len(set(incomes)) == 100
    assert not set(incomes) & set(INCOMES)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_of_a_file_they_are_what_a_function_sees(ending, tmp_path):
    path = tmp_path / f"cohort.{ending}"
    table = pa.table({"income": INCOMES, "town": ["x"] * 300, "note": ["1"] * 300})
    if ending == "csv":
        csv.write_csv(table, path)
    else:
        parquet.write_table(table, path)
    first, _, given = looked_at(path)
    assert first.schema == given.schema


def test_arrays_and_pairs_keep_their_types_and_widths():
    box = sf.Box({"a": (0, 1), "b": (5, 6)})
    data = np.array([[1, 5], [0, 6]] * 60, dtype=np.int32)
    first, _, given = looked_at(data, box)
    assert first.dtype == given.dtype and first.shape == (100, 2)
    assert set(first[:, 1].tolist()) <= {5, 6}
    labels = np.array(["yes", "no"] * 60)
    (x, y), _, _ = looked_at((data, labels), box)
    assert x.shape == (100, 2) and y.shape == (100,) and y.dtype.kind == "U"
    assert not set(y) & {"yes", "no"}


def test_declared_columns_are_within_what_was_declared():
    data = pd.DataFrame({"income": INCOMES, "town": ["Rome"] * 300, "age": [30.0] * 300})
    columns = {"town": sf.Categorical(["Oslo", "Kyiv"]), "age": (18, 21)}
    first, _, _ = looked_at(data, column=columns)
    assert set(first["town"]) == {"Oslo", "Kyiv"}
    assert first["age"].between(18, 21).all()


def test_categories_that_records_brought_along_are_not_used():
    data = pd.DataFrame({"income": INCOMES, "name": pd.Categorical(["secret"] * 300)})
    first, _, _ = looked_at(data)
    assert first["name"].dtype == "category"
    assert "secret" not in set(first["name"].cat.categories)


def test_a_private_number_of_rows_decides_nothing():
    private = sf.Privacy(epsilon=1.0, neighbours="add-remove")
    lengths = {len(looked_at(np.linspace(0, 1, n), privacy=private)[0]) for n in (1, 50, 200)}
    assert lengths == {100}
    assert len(looked_at(np.linspace(0, 1, 7))[0]) == 7


def test_built_in_targets_have_nothing_to_rehearse(monkeypatch):
    """Their sums are proved; kernels and losses of a caller's are tried on public points where they are declared."""
    from sfumato import rehearsal

    def never(*arguments):
        raise AssertionError

    monkeypatch.setattr(rehearsal, "like", never)
    sf.release(sf.KDE(1e5), INCOMES, BOX, ONE)
    sf.release(sf.Statistic("mean"), INCOMES, BOX, ONE)


# --- the whole order ------------------------------------------------------------------------------------------------

SEX = sf.Categorical(["F", "M"])
AGE = {"age": (0, 110)}
PEOPLE = pd.DataFrame(
    {
        "age": np.linspace(1, 109, 300),
        "bp": np.linspace(90, 190, 300),
        "sex": ["F", "M"] * 150,
        "who": np.arange(300),
        "visit": pd.date_range("2024-01-01", periods=300),
    }
)
CLASSES = {"response": "sex", "classes": ["F", "M"]}
ORDERS = {
    "density": (sf.KDE(9.0), AGE),
    "groups": (sf.KDE(9.0, by="sex"), {**AGE, "sex": SEX}),
    "curve": (sf.NadarayaWatson(9.0, response="bp", range=(60, 220)), AGE),
    "ties in order": (sf.PriestleyChao(9.0, response="bp", range=(60, 220)), AGE),
    "naive Bayes": (sf.NaiveBayes("sex", ["F", "M"]), AGE),
    "learner": (sf.KernelMachine("logistic", "linear", **CLASSES), AGE),
    "margin": (sf.KernelMachine("hinge", "linear", **CLASSES), AGE),
    "mean": (sf.Statistic("mean"), AGE),
    "variance": (sf.Statistic("variance"), AGE),
    "quantiles": (sf.Statistic("quantiles", step=1.0), AGE),  # few enough numbers that they are rehearsed
    "median": (sf.Statistic("median", interval="none"), AGE),
    "histogram": (sf.Statistic("histogram"), {"sex": SEX, "visit": ("2024-01-01", "2025-01-01")}),
    "summary": (sf.CosineMoments(4), {**AGE, "sex": SEX}),
    "table": (sf.TableMoments("sex"), {**AGE, "sex": SEX}),
    "table by a linear program": (sf.TableMoments(method="lp"), AGE),
    "components": (sf.PrincipalComponents(1, noise="products"), AGE),
}
GRANTS = [ONE, sf.Privacy(rho=0.5), sf.Privacy(epsilon=1.0, unit=sf.Person("who", 1))]


@pytest.mark.few(3)
@pytest.mark.parametrize("grant", GRANTS, ids=str)
@pytest.mark.parametrize("name", ORDERS)
def test_the_whole_order_is_run_on_made_up_records(name, grant, tmp_path, monkeypatch):
    """All of it, on records that are nobody's, before anything is charged; and only where it is asked for."""
    from sfumato import rehearsal

    if name in ("ties in order", "table") and isinstance(grant.unit, sf.Person):
        pytest.skip("refused for persons, or of several rows")
    account = sf.Ledger(tmp_path / "budget.db").account("clinic", limit=grant)
    target, columns = ORDERS[name]
    seen, real = [], rehearsal.check_readable

    def noted(release):
        seen.append((release.kind, release.receipt, len(account.history())))
        return real(release)

    monkeypatch.setattr(rehearsal, "check_readable", noted)
    made = [sf.release(target, PEOPLE, sf.Box(columns), grant, rehearse=how) for how in ("auto", False)]
    assert seen == []
    made.append(sf.release(target, PEOPLE, sf.Box(columns), grant, ledger=account, rehearse=True))
    assert seen == [(made[-1].kind, None, 0)] and {one.kind for one in made} == {made[0].kind}


@pytest.mark.parametrize("place", ["pipeline.Prepared._perturb", "releases.value.ValueRelease.fields"])
def test_a_defect_of_ours_is_told_and_costs_nothing(place, account, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("out of order")

    monkeypatch.setattr(f"sfumato.{place}", broken)
    with pytest.raises(RehearsalError, match=r"ZeroDivisionError: out of order\); nothing was spent"):
        sf.release(sf.Statistic("mean"), PEOPLE, sf.Box(AGE), ONE, ledger=account, rehearse=True)
    assert account.history() == []


def test_what_fails_before_a_charge_is_left_to_the_order_itself(monkeypatch):
    from sfumato import rehearsal

    monkeypatch.setattr(rehearsal, "_made_up", lambda *_: 1 / 0)
    assert sf.release(sf.Statistic("mean"), PEOPLE, sf.Box(AGE), ONE, rehearse=True).statistic == "mean"


def test_what_is_large_is_not_made_twice(monkeypatch):
    from sfumato import rehearsal

    monkeypatch.setattr(rehearsal, "_made_up", lambda *_: pytest.fail("made up"))
    sf.release(sf.CosineMoments(70), PEOPLE, sf.Box({**AGE, "bp": (0, 300)}), ONE, rehearse=True)
    sf.release(of(lambda data: 0.5), PEOPLE, sf.Box(AGE), ONE, rehearse=True)  # a function of the caller's


def test_an_interrupted_rehearsal_is_a_plain_interrupt(account, monkeypatch):
    from sfumato import rehearsal

    def impatient(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(rehearsal, "check_readable", impatient)
    with pytest.raises(KeyboardInterrupt) as told:
        sf.release(sf.Statistic("mean"), PEOPLE, sf.Box(AGE), ONE, ledger=account, rehearse=True)
    assert type(told.value) is KeyboardInterrupt and account.history() == []
