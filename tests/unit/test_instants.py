"""Keys of moments and durations: equal where numpy, pandas and Python say so, and exact where they overflow."""

from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.engines.columns import _key
from sfumato.engines.tables import open_table
from sfumato.instants import instant

EAST = timezone(timedelta(hours=2))
SAME = [
    [np.datetime64("2020", unit) for unit in ("Y", "M", "D", "h", "m", "s", "ms", "us", "ns")]
    + [pd.Timestamp("2020").as_unit(unit) for unit in ("s", "ms", "us", "ns")]
    + [datetime(2020, 1, 1), np.datetime64("2020-01", "6M"), np.datetime64(18262, "D")],
    [np.datetime64("1970-01-01T00:00:00.000000000000000001"), np.datetime64(1, "as")],
    [np.datetime64(2, "W"), np.datetime64("1970-01-15")],
    [np.datetime64(10**12 * 1000**power, unit) for power, unit in enumerate(("s", "ms", "us"))]
    + [pd.Timestamp(np.datetime64(10**12 * 1000**power, unit)) for power, unit in enumerate(("s", "ms"))],
    [datetime(2020, 1, 1, tzinfo=UTC), datetime(2020, 1, 1, 2, tzinfo=EAST), pd.Timestamp("2020", tz="UTC"),
     pd.Timestamp("2020-01-01 01:00", tz="Europe/Berlin").as_unit("ns")],
    [pd.Timestamp("2020-01-01 00:00:00.000000001", tz=zone) for zone in ("UTC", "UTC")],
    [np.timedelta64(90, "m"), np.timedelta64(5400, "s"), np.timedelta64(180, "30s"), timedelta(minutes=90)]
    + [pd.Timedelta(minutes=90).as_unit(unit) for unit in ("s", "ns")],
    [np.timedelta64(3, "Y"), np.timedelta64(36, "M")],
    [np.timedelta64(5)],
    [date(2020, 1, 1), date(2020, 1, 1)],
    [5, 5.0, np.int8(5)],
]  # fmt: skip


def test_the_same_moment_is_one_key_and_others_are_others():
    keys = [{_key(value) for value in family} for family in SAME]
    assert [len(found) for found in keys] == [1] * len(SAME)
    assert None not in set.union(*keys)
    assert len(set.union(*keys)) == len(SAME)


@pytest.mark.parametrize("nothing", [np.datetime64("NaT"), np.timedelta64("NaT"), pd.NaT, pd.NA], ids=repr)
def test_what_is_missing_has_no_key(nothing):
    assert _key(nothing) is None


@pytest.mark.parametrize("unit", ["Y", "M"])
def test_months_are_those_of_the_calendar(unit):
    for count in (*range(-3000, 3000, 7), -(10**9), 10**9):
        moment = np.datetime64(count, unit)
        assert instant(moment) == instant(moment.astype("M8[s]"))  # of which numpy knows so many years


def test_nothing_overflows():
    ends = [np.datetime64(sign * (2**63 - 1), unit) for sign in (1, -1) for unit in ("Y", "M", "W", "s", "as")]
    assert len({instant(end) for end in ends}) == len(ends)


@pytest.mark.parametrize("family", SAME, ids=lambda family: repr(family[0]))
def test_a_person_is_one_whatever_the_unit_of_the_name(family):
    """Once those of pandas were nobody, or as many persons as units."""
    names = np.empty(len(family) + 1, dtype=object)
    names[:] = [*family, "somebody else"]
    data = pd.DataFrame({"age": np.append(np.zeros(len(family)), len(family)), "id": names})
    box = sf.Box({"age": (0, 110)})
    ((found,),) = open_table(data, box, sf.Person("id", 1)).batches(box, 100)
    assert found.tolist() == [0.0, len(family)]
