"""Identifiers are a closed set of keys: whatever an object says of itself, it is one person or nobody."""

import datetime
import math
import uuid
from decimal import Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pytest

import sfumato as sf
from sfumato.engines.tables import open_table

BOX = sf.Box({"x": (0, 10)})


def rows(names):
    """How many rows count, of persons who may have two."""
    objects = np.empty(len(names), dtype=object)
    for place, name in enumerate(names):
        objects[place] = name
    frame = pd.DataFrame({"x": np.ones(len(names)), "who": pd.Series(objects, dtype=object)})
    return open_table(frame, BOX, sf.Person("who", 2)).rows


class Liar(float):
    """A number that equals every other one, and is found where 0 is."""

    def __eq__(self, other):
        return True

    def __hash__(self):
        return hash(0.0)


class Quarrel(Liar):
    __hash__ = Liar.__hash__

    def __eq__(self, other):
        if other is not self:
            raise RuntimeError(f"saw {other}")
        return True


class Moody(datetime.tzinfo):
    """A zone that says something else each time, and then nothing."""

    def __init__(self):
        self.asked = 0

    def utcoffset(self, _):
        self.asked += 1
        if self.asked > 9:
            raise RuntimeError("a private value")
        return datetime.timedelta(minutes=self.asked)


class OfPandas:
    """A class that says where it comes from."""

    def __eq__(self, other):
        return True

    def __hash__(self):
        return hash(pd.Interval(0, 1))


OfPandas.__module__ = "pandas.core.made_up"


def spoilt():
    """A fraction with a part of another type."""
    fraction = Fraction(1, 3)
    fraction._numerator = Liar(1)
    return fraction


def structured(fields, value):
    return np.array([value], dtype=fields)[0]


NOBODY = {
    "structured, not-a-number": structured("f8,f8", (1.0, math.nan)),
    "structured, object": structured([("a", "O")], (math.nan,)),
    "structured, moment": structured([("a", "M8[s]")], (np.datetime64("NaT"),)),
    "liar in an interval": pd.Interval(Liar(0.5), 1),
    "quarrel in an interval": pd.Interval(Quarrel(0.5), 1),
    "liar in a tuple": (Liar(0.5), 1),
    "liar in a fraction": spoilt(),
    "moody time": datetime.time(12, tzinfo=Moody()),
    "moody moment": datetime.datetime(2020, 1, 1, tzinfo=Moody()),
    "another class of pandas'": OfPandas(),
    "wide complex": np.clongdouble(1),
}


@pytest.mark.parametrize("name", NOBODY)
def test_what_cannot_be_told_apart_belongs_to_nobody_and_changes_no_other(name):
    """Once one such person was fifty, took another's rows, or raised and showed what another was called."""
    others = [pd.Interval(0, 1), pd.Interval(0, 1), datetime.time(12, tzinfo=datetime.UTC)]
    assert rows([NOBODY[name]] * 50) == 0
    assert rows([NOBODY[name]] * 2 + others) == rows(others) == 3


SOMEBODY = {
    "numbers": [1, 1.0, True, Decimal(1), Fraction(1), np.int8(1), np.float32(1), np.longdouble(1), np.True_, 1 + 0j],
    "infinities": [math.inf, np.longdouble(math.inf), Decimal("Infinity")],
    "texts": ["a", np.str_("a"), type("Text", (str,), {"__eq__": None, "__hash__": None})("a")],
    "intervals": [pd.Interval(0, 1), pd.Interval(0.0, 1.0), pd.Interval(np.int8(0), 1)],
    "intervals of time": [pd.Interval(pd.Timestamp(0).as_unit(u), pd.Timestamp(1)) for u in ("s", "us", "ns")],
    "periods": [pd.Period("2020-01", "M") for _ in range(3)],
    "uuids": [uuid.UUID(int=5) for _ in range(3)],
    "tuples": [(1, "a"), (1.0, "a"), (True, np.str_("a"))],
    "times": [datetime.time(12), datetime.time(12, fold=1), datetime.time(12, tzinfo=ZoneInfo("Europe/Berlin"))],
    "zoned times": [
        datetime.time(12, tzinfo=datetime.UTC),
        *[datetime.time(13, tzinfo=datetime.timezone(datetime.timedelta(hours=1)))] * 2,
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", SOMEBODY)
def test_one_value_in_several_forms_is_one_person(name):
    assert len(SOMEBODY[name]) > 2
    assert rows(SOMEBODY[name]) == 2


def test_different_values_are_different_persons():
    names = [
        5,
        "5",
        uuid.UUID(int=5),
        (5,),
        pd.Interval(5, 6),
        pd.Interval(5, 6, "left"),
        pd.Period(ordinal=5, freq="D"),
    ]
    names += [pd.Period("2020", "Y"), pd.Period("2020", "M"), datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1)]
    names += [datetime.time(12), datetime.time(12, tzinfo=datetime.UTC), datetime.timedelta(hours=12)]
    assert rows([name for name in names for _ in range(3)]) == 2 * len(names)


@pytest.mark.skipif(not hasattr(pl, "Extension"), reason="a polars without extensions")
@pytest.mark.parametrize("day", [1, 2**31 - 1])
def test_identifiers_of_an_extension_of_polars_belong_to_nobody(day, capfd):
    """Once polars panicked, and printed, where a date was on no calendar."""
    days = pl.Series([0, day], dtype=pl.Int32).cast(pl.Date)
    data = pl.DataFrame({"x": [1.0, 2.0], "who": days.ext.to(pl.Extension("visit.day", pl.Date))})
    assert open_table(data, BOX, sf.Person("who", 2)).rows == 0
    assert open_table(pl.DataFrame({"x": [1.0, 2.0], "who": days}), BOX, sf.Person("who", 2)).rows == 2
    assert capfd.readouterr().err == ""
