"""Dates as days since 1970: the same double from every library and unit, and back to the microsecond."""

import math
from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.dates import (
    ISO,
    as_days,
    as_moments,
    brief_iso,
    days_of_array,
    days_of_column,
    days_of_counts,
    from_days,
    iso,
)
from sfumato.engines.columns import arrow_days
from sfumato.errors import ParameterError, ParameterTypeError

EAST = timezone(timedelta(hours=2))
NOON = 19783.5  # of the first of March 2024
SAME = [
    datetime(2024, 3, 1, 12), datetime(2024, 3, 1, 14, tzinfo=EAST), datetime(2024, 3, 1, 12, tzinfo=UTC),
    pd.Timestamp("2024-03-01 12:00"), pd.Timestamp("2024-03-01 13:00", tz="Europe/Berlin"),
    *(np.datetime64("2024-03-01T12", unit) for unit in ("h", "m", "s", "ms", "us", "ns")),
    "2024-03-01T12:00", "2024-03-01 12:00", "2024-03-01T12:00:00Z", "2024-03-01T12:00:00.000000000Z",
    "2024-03-01T14:00+02:00", "2024-02-29T22:00-1400", " 2024-03-01T12:00\t",
]  # fmt: skip
NO_DATES = [
    None, "", "now", "2024", "2024-3-1", "2024-02-30", "2023-02-29", "2024-13-01", "2024-00-10", "0000-01-01",
    "2024-03-01T24:00", "2024-03-01T12:60", "2024-03-01T12:00:60", "2024-03-01T12", "2024-03-01T12:00+24:00",
    "2024-03-01\n", "2024-03-01T12:00z", "20240301", "１９９９-03-01", 19783, 19783.5, True, b"2024-03-01",
    pd.NaT, np.datetime64("NaT"), np.timedelta64(1, "D"), timedelta(days=1), object(), [datetime(2024, 3, 1)], math.nan,
]  # fmt: skip


@pytest.mark.parametrize("value", SAME, ids=repr)
def test_the_same_moment_is_the_same_number(value):
    assert as_days(value) == NOON


@pytest.mark.parametrize("value", NO_DATES, ids=lambda value: repr(value).partition(" at 0x")[0])
def test_everything_else_is_missing(value):
    assert math.isnan(as_days(value))


def test_an_object_that_raises_is_missing():
    class Odd(datetime):
        def utcoffset(self):
            raise RuntimeError

    assert math.isnan(as_days(Odd(2024, 3, 1)))


@given(st.lists(st.integers(-(2**16) * 86_400 * 10**6 + 1, 2**16 * 86_400 * 10**6 - 1), min_size=1))
def test_microseconds_from_1791_to_2149_come_back(counts):
    moments = np.array(counts, dtype="datetime64[us]")
    days = days_of_array(moments)
    assert (as_moments(days) == moments).all()
    assert [as_days(moment) for moment in moments.tolist()] == days.tolist()
    assert [as_days(iso(day, zoned)) for zoned in (True, False) for day in days] == 2 * days.tolist()


@given(st.integers(-(2**63), 2**63 - 1), st.sampled_from(["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "as"]))
def test_no_count_raises_and_none_changes_another(count, unit):
    with np.errstate(all="raise"):
        found = days_of_counts(np.array([0, count, 7]), unit)
    assert found[0] == 0.0
    assert found[2] == days_of_counts(np.array([7]), unit)[0]
    assert math.isnan(found[1]) == (count == -(2**63))
    low, high = (sf.Date(low, high).clean(found)[1] for low, high in [("0001-01-01", "9999-12-31")] * 2)
    assert math.isnan(low) or low == high


TEXTS = st.one_of(
    st.text(max_size=24),
    st.from_regex(ISO, fullmatch=True),
    st.datetimes(timezones=st.none() | st.just(EAST)).map(datetime.isoformat),
)  # fmt: skip


@given(st.lists(TEXTS, max_size=6))
def test_text_in_a_file_is_read_as_text_alone(texts):
    kept = [text for text in texts if not any("\ud800" <= c <= "\udfff" for c in text)]
    one_by_one = [as_days(text) for text in kept]
    np.testing.assert_array_equal(arrow_days(pa.array(kept, pa.string())), one_by_one)


@given(st.datetimes())
def test_a_time_of_pythons_is_read_as_python_reads_it(moment):
    assert as_days(moment.isoformat()) == as_days(moment)
    assert as_days(moment.date().isoformat()) == (moment.date() - date(1970, 1, 1)).days


def test_columns_of_every_library_are_alike():
    moments = [datetime(2024, 3, 1, 12), None]
    columns = [
        moments, np.array(moments, dtype="M8[ms]"), pd.Series(moments), pd.Series(moments).dt.tz_localize("UTC"),
        pl.Series(moments), pl.Series(moments).dt.replace_time_zone("UTC"), pa.array(moments, pa.timestamp("ns")),
        pa.chunked_array([pa.array(moments, pa.timestamp("s", "UTC"))]), pd.Series(["2024-03-01T12:00", 3]),
    ]  # fmt: skip
    for column in columns:
        np.testing.assert_array_equal(days_of_column(column), [NOON, np.nan])
    for column in (pl.Series([date(2024, 3, 1), None]), pa.array([date(2024, 3, 1), None]),
                   pa.array([date(2024, 3, 1), None], pa.date64())):  # fmt: skip
        np.testing.assert_array_equal(days_of_column(column), [NOON - 0.5, np.nan])
    assert np.isnan(days_of_column(pl.Series([timedelta(days=1)]))).all()


def test_a_box_tells_in_which_zone_it_counts():
    box = sf.Box({"when": (date(2024, 1, 1), date(2025, 1, 1))})
    assert repr(box) == "Box({'when': Date('2024-01-01', '2025-01-01')})"
    assert box.columns[0] == sf.Date("2024-01-01", np.datetime64("2025-01-01")) == sf.Date(*box.columns[0].bounds)
    assert not box.columns[0].zoned
    zoned = sf.Date(datetime(2024, 1, 1, tzinfo=EAST), "2024-01-02T00:00:00.000001Z")
    assert zoned.zoned
    assert zoned.bounds == ("2023-12-31T22:00Z", "2024-01-02T00:00:00.000001Z")
    assert from_days(zoned.low, True) == datetime(2023, 12, 31, 22, tzinfo=UTC)


@pytest.mark.parametrize(
    ("bounds", "error", "words"),
    [
        ((date(2024, 1, 1), datetime(2025, 1, 1, tzinfo=UTC)), ParameterError, "both have a time zone or both"),
        ((date(2024, 1, 1), 5.0), ParameterError, "low must be below high"),
        ((date(2024, 1, 1), "soon"), ParameterTypeError, "column 'when': high must be a date"),
        ((date(2024, 1, 1), date(2024, 1, 1)), ParameterError, "low must be below high.*'2024-01-01'"),
        ((np.datetime64("-0100-01-01"), date(2024, 1, 1)), ParameterError, "years 1 to 9999"),
        (("f", "m"), ParameterTypeError, "low must be a number"),
    ],
)  # fmt: skip
def test_bounds_that_make_no_box(bounds, error, words):
    with pytest.raises(error, match=words):
        sf.Box({"when": bounds})


def test_the_whole_calendar_is_a_box():
    box = sf.Date(datetime.min, datetime.max)
    assert box == sf.Date(*box.bounds)
    assert as_moments(np.array([box.low, box.high, 1e9, -1e9])).tolist()[1].year == 9999


def test_dates_have_no_norm():
    with pytest.raises(ParameterError, match="max_norm"):
        sf.Box({"when": ("1960-01-01", "1980-01-01")}, max_norm=1.0)


def test_words_are_as_fine_as_the_column_is_narrow():
    assert brief_iso(NOON, True, 365.0) == "2024-03-01"
    assert brief_iso(NOON, True, 2.0) == "2024-03-01T12:00:00Z"
    assert brief_iso(sf.Date(datetime.min, datetime.max).high, False, 1.0).startswith("9999-12-31T23:59:59")
