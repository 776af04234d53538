"""Dates and times as days since 1970, which is what a box counts them in, and back.

Whole days are exact in a double, and microseconds are told apart from 1791 to 2149 (further away, tens of them);
nanoseconds since 1970 would not fit. The same moment gives the same double in every unit and of every library. A zone
is taken off by going to UTC, and what has none is taken as UTC: so a value means the same in every box.

Nothing raises because of a value that is read, and none is read by way of a calendar that may end before it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.checks import finite_number, shown
from sfumato.errors import ParameterError, ParameterTypeError
from sfumato.instants import instant
from sfumato.values import asked, column, letters

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Moments = NDArray[np.datetime64]

# What counts as a date in text. Python's and Arrow's regular expressions read it alike.
ISO = (
    r"^[ \t]*(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
    r"(?:[T ](?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:\.(?P<fraction>[0-9]{1,9}))?)?"
    r"(?P<zone>Z|(?P<sign>[-+])(?P<hours>[0-9]{2}):?(?P<minutes>[0-9]{2}))?)?[ \t]*$"
)
FIELDS = ("year", "month", "day", "hour", "minute", "second", "fraction", "hours", "minutes")  # those that are numbers
_TEXT = re.compile(ISO)

_EPOCH = date(1970, 1, 1)
_DAY = 86_400 * 10**9  # in nanoseconds: the rest of a day is a whole double
_BILLIONTH = 10**9  # of a nanosecond is an attosecond, in which keys count
_MISSING = np.iinfo(np.int64).min  # as numpy and pandas count it
_PER_DAY = {"h": 24, "m": 1440, "s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": _DAY}
_DAYS = {"D": 1, "W": 7}
_MONTHS = {"M": 1, "Y": 12}
_FINER = {"ps": 10**3, "fs": 10**6, "as": 10**9}  # in a nanosecond
_FIRST, _LAST = (
    date(year, month, day).toordinal() - _EPOCH.toordinal() for year, month, day in ((1, 1, 1), (9999, 12, 31))
)
_WIDE = 60.0  # days; of a wider column nobody asks for the time of day


# --- private values ---------------------------------------------------------------------------------------


def as_days(value: Any) -> float:
    """Days since 1970 of a date or a time of Python's, numpy's or pandas', or of ISO text; NaN of anything else.

    >>> as_days(date(1970, 1, 3)), as_days("1970-01-01T18:00:00+06:00"), as_days("yesterday"), as_days(3.0)
    (2.0, 0.5, nan, nan)
    """
    return asked(value, math.nan, _days_of_value, value)  # an object may do whatever it likes: nothing shows


def _days_of_value(value: Any) -> float:
    if isinstance(value, str):
        return _days_of_text(value)
    if isinstance(value, date) and not isinstance(value, datetime):
        return float((value - _EPOCH).days)
    key = instant(value) if isinstance(value, datetime | np.datetime64) else None
    if key is None or "moment" not in key[0]:
        return math.nan
    whole, rest = divmod(key[1] // _BILLIONTH, _DAY)
    return float(whole) + float(rest / _DAY)


def days_of_counts(counts: Counts, unit: str) -> Floats:
    """The same of many, counted in a unit as numpy, pandas, polars and Arrow do; the least number is missing.

    >>> days_of_counts(np.array([36, -12, -(2**63)]), "h").tolist()
    [1.5, -0.5, nan]
    """
    if unit in _MONTHS:
        months = np.clip(counts, -(10**5), 10**5) * _MONTHS[unit]  # beyond every box, and within numpy's calendar
        days = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64).astype(np.float64)
    elif unit in _DAYS:
        days = counts.astype(np.float64) * _DAYS[unit]
    else:
        steps, per_day = (counts // _FINER[unit], _DAY) if unit in _FINER else (counts, _PER_DAY[unit])
        days = (steps // per_day).astype(np.float64) + (steps % per_day) / per_day
    return np.where(counts == _MISSING, math.nan, days)


def days_of_array(values: NDArray[Any]) -> Floats:
    """The same of numpy's moments, or of objects, each by itself; numbers are days already, masked ones missing."""
    if isinstance(values, np.ma.MaskedArray):
        return np.where(np.ma.getmaskarray(values), math.nan, days_of_array(np.asarray(values)))
    if values.dtype.kind in "iufb":
        with np.errstate(all="ignore"):  # a warning that depends on values would be an output
            return values.astype(np.float64)
    if values.dtype.kind == "M":
        unit, step = np.datetime_data(values.dtype)
        if step == 1 and unit != "generic":
            counts = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("=")).view(np.int64)
            return days_of_counts(counts.reshape(values.shape), unit)
    values = letters(values) if values.dtype.kind == "U" else values  # numbers that are no letters would raise
    return np.fromiter(map(as_days, values.flat), np.float64, values.size).reshape(values.shape)


def days_of_column(values: Any) -> Floats:
    """The same of one column of any library, or of a list: by the type of the column, else value by value."""
    if isinstance(values, np.ndarray):
        return days_of_array(values)
    kind: Any = getattr(values, "type" if hasattr(type(values), "type") else "dtype", None)  # Arrow's word, or others'
    name = str(kind).lower()
    if hasattr(type(values), "to_physical") and name.startswith("date"):  # of polars, which has no calendar for all
        return _days_of_list(values.to_physical().to_list(), getattr(kind, "time_unit", "D"))
    if hasattr(type(values), "to_pylist") and name.startswith(("date32", "date64", "timestamp")):  # of Arrow
        counts = values.cast("int32").cast("int64") if name.startswith("date32") else values.cast("int64")
        return _days_of_list(counts.to_pylist(), getattr(kind, "unit", "D" if name.startswith("date32") else "ms"))
    return days_of_array(column(values))


def _days_of_list(counts: list[int | None], unit: str) -> Floats:
    known = (_MISSING if count is None else count for count in counts)
    return days_of_counts(np.fromiter(known, np.int64, len(counts)), unit)


def days_of_fields(fields: Mapping[str, Counts], west: NDArray[np.bool_]) -> Floats:
    """The same of the numbers in ISO texts; NaN of what is in no calendar (the 30th of February, 25 o'clock).

    Parameters
    ----------
    fields
        Those of ``FIELDS``, the fraction in nanoseconds; 0 where there is none.
    west
        Whether the zone is behind UTC.
    """
    year, month, day = (fields[name] for name in FIELDS[:3])
    good = (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1)
    months = np.where(good, (year - 1970) * 12 + month - 1, 0).astype("datetime64[M]")
    first, after = (m.astype("datetime64[D]").astype(np.int64) for m in (months, months + 1))
    good &= day <= after - first
    for name, most in (("hour", 23), ("minute", 59), ("second", 59), ("hours", 23), ("minutes", 59)):
        good &= fields[name] <= most
    ahead = fields["hours"] * 60 + fields["minutes"]
    minutes = fields["hour"] * 60 + fields["minute"] - np.where(west, -ahead, ahead)
    rest = (minutes * 60 + fields["second"]) * 10**9 + fields["fraction"]
    days = (first + day - 1 + rest // _DAY).astype(np.float64) + (rest % _DAY) / _DAY
    return np.where(good, days, math.nan)


def _days_of_text(text: str) -> float:
    found = _TEXT.match(text)
    if found is None or found.end() < len(text):  # before a last newline Python finds an end too
        return math.nan
    parts = {name: found[name] or "0" for name in FIELDS} | {"fraction": (found["fraction"] or "").ljust(9, "0")}
    fields = {name: np.array([int(part)]) for name, part in parts.items()}
    return float(days_of_fields(fields, np.array([found["sign"] == "-"]))[0])


# --- public values ----------------------------------------------------------------------------------------


def is_date(value: object) -> bool:
    """Whether a public value is a date, a time, or ISO text of one."""
    return not math.isnan(as_days(value))


def days_from(name: str, value: object) -> float:
    """Days since 1970 of a public date, or a number of them, to the microsecond; refusing anything else."""
    days = finite_number(name, value) if isinstance(value, Real) else as_days(value)
    if math.isnan(days):
        raise ParameterTypeError.of(
            name, f"must be a date, a time or ISO text such as '2024-03-01T12:30Z', got {name}={shown(value)}"
        )
    if not _FIRST <= days <= _LAST + 1:
        raise ParameterError.of(name, f"must lie in the years 1 to 9999, got {name}={shown(value)}")
    return float(days_of_array(as_moments(np.array([days])))[0])


def date_bounds(low: object, high: object, zoned: bool | None) -> tuple[float, float, bool]:
    """Two public bounds as days, and whether they are in a time zone; both must be, or neither."""
    known = {zone for zone in (_has_zone(low), _has_zone(high), zoned) if zone is not None}
    if len(known) > 1:
        raise ParameterError(
            f"low and high must both have a time zone or both have none, got low={shown(low)}, high={shown(high)}"
        )
    return days_from("low", low), days_from("high", high), known == {True}


def _has_zone(value: object) -> bool | None:
    """Whether a public date tells its zone; None of a number of days."""
    if isinstance(value, str):
        found = _TEXT.match(value)
        return found is not None and bool(found["zone"])
    return None if isinstance(value, Real) else getattr(value, "tzinfo", None) is not None


def as_moments(days: Floats) -> Moments:
    """Days since 1970 as numpy's moments, to the nearest microsecond; NaN is none.

    >>> as_moments(np.array([19783.5])).tolist()
    [datetime.datetime(2024, 3, 1, 12, 0)]
    """
    known = np.clip(np.where(np.isnan(days), 0.0, days), _FIRST, np.nextafter(_LAST + 1.0, 0.0))
    whole = np.floor(known)
    rest = np.minimum(np.rint((known - whole) * 86_400e6), 86_400e6 - (whole == _LAST))  # there is no year 10000
    found = (whole.astype(np.int64) * _PER_DAY["us"] + rest.astype(np.int64)).astype("datetime64[us]")
    return np.where(np.isnan(days), np.datetime64("NaT", "us"), found)


def from_days(days: float, zoned: bool) -> datetime:
    """One of them as a time of Python's, in UTC where the box has a zone, without one where it has none."""
    found: datetime = as_moments(np.array([days]))[0].item()
    return found.replace(tzinfo=UTC) if zoned else found


def iso(days: float, zoned: bool) -> str:
    """One of them as ISO text, from which ``as_days`` gives the same number; zeros at the end are left out.

    >>> iso(19783.5, True), iso(19783.0, False)
    ('2024-03-01T12:00Z', '2024-03-01')
    """
    text = from_days(days, False).isoformat().removesuffix(":00")
    return f"{text}Z" if zoned else text.removesuffix("T00:00")


def brief_iso(days: float, zoned: bool, width: float) -> str:
    """The same for reading: to the second, and of a column that is many days wide, to the day.

    >>> brief_iso(19783.123456, True, 1.0), brief_iso(19783.5, True, 365.0)
    ('2024-03-01T02:57:47Z', '2024-03-01')
    """
    moment = from_days(days, zoned)
    if width > _WIDE:
        return moment.date().isoformat()
    rounded = min(moment, datetime.max.replace(tzinfo=moment.tzinfo) - timedelta(seconds=1)) + timedelta(seconds=0.5)
    return rounded.replace(microsecond=0, tzinfo=None).isoformat() + ("Z" if zoned else "")
