"""Bounds that hold nearly all values, from any table, paid for like a release; boxes that hold most records."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.errors import BudgetExceededError, ParameterError, ParameterTypeError, SchemaError

ROW = sf.Privacy(epsilon=1.0)
AGES = np.random.default_rng(1).uniform(2.5, 95, size=5000)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("grant", [ROW, sf.Privacy(rho=0.5), sf.Privacy(epsilon=1.0, neighbours="add-remove")])
def test_bounds_of_a_column_of_any_table(make, grant):
    """Thousands of records in each cell, noise of a few dozen at most: wrong with probability below 1e-20."""
    found = sf.private_bounds(make({"age": AGES, "other": AGES * 1e6}), "age", grant)
    assert found.value.tolist() == [2.0, 128.0]
    assert found.labels == [["low", "high"]]
    assert (found.statistic, found.box.names) == ("bounds", ("age",))


def test_bounds_of_files_and_arrays(tmp_path):
    pd.DataFrame({"age": AGES}).to_csv(tmp_path / "t.csv", index=False)
    assert sf.private_bounds(tmp_path / "t.csv", "age", ROW).value.tolist() == [2.0, 128.0]
    assert sf.private_bounds(AGES, privacy=ROW).value.tolist() == [2.0, 128.0]
    assert sf.private_bounds(-AGES, privacy=ROW).value.tolist() == [-128.0, -2.0]
    assert sf.private_bounds(AGES - 50, privacy=ROW).value.tolist() == [-64.0, 64.0]


def test_persons_count_with_all_their_rows():
    data = pd.DataFrame({"age": AGES, "id": np.arange(5000) // 2})
    found = sf.private_bounds(data, "age", sf.Privacy(epsilon=1.0, unit=sf.Person("id", 2)))
    assert found.law.certificate.bound == 4
    assert found.value.tolist() == [2.0, 128.0]


def test_they_go_into_a_box():
    low, high = sf.private_bounds(AGES, privacy=ROW).value
    assert sf.Box([(low, high)]).low.tolist() == [2.0]


def test_a_few_records_far_away_go_unseen():
    """Three records against a threshold of about 24: seen with probability below 1e-4 a time, 1e-9 three times."""
    found = [sf.private_bounds(np.append(AGES, [1e9] * 3), privacy=ROW).value.tolist() for _ in range(3)]
    assert [2.0, 128.0] in found


@pytest.mark.parametrize("data", [[math.nan], [math.inf], [0.0] * 9])
def test_whatever_the_records_there_are_bounds(data):
    low, high = sf.private_bounds(np.array(data, dtype=np.float64), privacy=ROW).value
    assert -(2.0**64) <= low < high <= 2.0**64


def test_the_guarantee_is_the_grant():
    found = sf.private_bounds(AGES, privacy=sf.Privacy(epsilon=0.25))
    assert (found.guarantee.epsilon, found.guarantee.assumptions) == (0.25, ())


def test_an_account_pays(tmp_path):
    account = sf.Ledger(tmp_path / "budget.db").account("clinic", limit=sf.Privacy(epsilon=1.5))
    assert sf.private_bounds(AGES, privacy=ROW, ledger=account).receipt.entry == 1
    assert account.remaining().epsilon == 0.5
    with pytest.raises(BudgetExceededError, match=r"left epsilon 0.5"):
        sf.private_bounds(AGES, privacy=ROW, ledger=account)


def test_a_smaller_miss_is_more_cautious():
    careful, bold = (sf.private_bounds(AGES, privacy=ROW, miss=miss).summary.threshold for miss in (1e-9, 0.5))
    assert careful > 2 * bold


def test_they_have_no_interval():
    with pytest.raises(ParameterError, match="have no interval"):
        sf.private_bounds(AGES, privacy=ROW).interval()


@pytest.mark.parametrize("column", [3, ["age"], ("age",)])
def test_a_column_is_a_name(column):
    with pytest.raises(ParameterTypeError, match="column must be a name, got column="):
        sf.private_bounds(pd.DataFrame({"age": AGES}), column, ROW)


def test_what_is_missing_is_said():
    with pytest.raises(ParameterTypeError, match=r"privacy must be an sf.Privacy, got None"):
        sf.private_bounds(AGES)
    with pytest.raises(SchemaError, match="no column 'weight'"):
        sf.private_bounds(pd.DataFrame({"age": AGES}), "weight", ROW)
    with pytest.raises(SchemaError, match="the box has 1 columns, the array has 2"):
        sf.private_bounds(np.zeros((5, 2)), privacy=ROW)
    with pytest.raises(ParameterError, match="miss must lie strictly between 0 and 1"):
        sf.private_bounds(AGES, privacy=ROW, miss=0)


# --- a narrower box -------------------------------------------------------------------------------------------------

NORMAL = np.random.default_rng(2).normal(50, 5, size=20_000)
WIDE = {"age": (0, 1000), "sex": sf.Categorical(["F", "M"]), "hour": sf.Periodic(0, 24), "visits": sf.Integer(0, 500)}
COHORT = pd.DataFrame(
    {"age": NORMAL, "sex": "F", "hour": 3.0, "visits": np.random.default_rng(3).poisson(20, size=len(NORMAL))}
)


def test_numeric_columns_are_narrowed_around_their_records_and_others_stay():
    """A quantile is off by 400 ranks of 20,000 with probability below 1e-15, and then by less than two deviations."""
    inner, paid = sf.private_box(COHORT, sf.Box(WIDE), ROW)
    assert inner.names == tuple(WIDE) and [release.guarantee.epsilon for release in paid] == [0.5, 0.5]
    age, sex, hour, visits = inner.columns
    assert 30 < age.low < 42 and 58 < age.high < 70
    assert isinstance(visits, sf.Integer) and 4 <= visits.low <= 13 and 27 <= visits.high <= 36
    assert visits.low % 1 == 0 and visits.high % 1 == 0
    assert (sex, hour) == (WIDE["sex"], WIDE["hour"])


def test_bounds_never_move_outwards_and_arrays_are_tables_too():
    inner, _ = sf.private_box(np.column_stack([NORMAL, NORMAL]), sf.Box([(45, 55), (0, 51)]), ROW)
    assert inner.columns[0] == sf.Box([(45, 55)]).columns[0]
    assert inner.columns[1].high == 51 and inner.columns[1].low > 30 and not inner.named


def test_a_column_whose_records_share_a_value_stays():
    rare = (np.arange(20_000) % 100 == 0).astype(float)
    assert sf.private_box(rare, sf.Box([(0, 1)]), ROW)[0] == sf.Box([(0, 1)])


def test_an_account_pays_for_all_columns_or_for_none(tmp_path):
    account = sf.Ledger(tmp_path / "budget.db").account("clinic", limit=sf.Privacy(epsilon=1.0))
    with pytest.raises(BudgetExceededError, match="cannot pay for all 2 columns"):
        sf.private_box(COHORT, sf.Box(WIDE), sf.Privacy(epsilon=1.5), ledger=account)
    assert account.remaining().epsilon == 1
    _, paid = sf.private_box(COHORT, sf.Box(WIDE), sf.Privacy(epsilon=0.75), ledger=account)
    assert [release.receipt.entry for release in paid] == [1, 2]
    assert account.remaining().epsilon == 0.25


def test_what_no_box_can_be_narrowed_by_is_refused():
    with pytest.raises(ParameterTypeError, match=r"box must be an sf\.Box and privacy an sf\.Privacy"):
        sf.private_box(COHORT, WIDE, ROW)
    with pytest.raises(ParameterError, match="must have no max_norm"):
        sf.private_box(COHORT, sf.Box({"age": (0, 100)}, max_norm=3), ROW)
    with pytest.raises(ParameterError, match="must have a numeric column"):
        sf.private_box(COHORT, sf.Box({"hour": sf.Periodic(0, 24)}), ROW)
    for share, words in ((1.0, "strictly between 0 and 1"), (1 - 1e-9, r"share must be at most 0\.999998")):
        with pytest.raises(ParameterError, match=words):
            sf.private_box(COHORT, sf.Box(WIDE), ROW, share=share)
