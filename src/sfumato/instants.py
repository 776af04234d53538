"""Points in time and durations as exact keys: equal where they are, whatever their unit and whichever library's type.

numpy and pandas compare moments of different units as equal and hash them apart, so a person would be two.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

_EPOCH = datetime(1970, 1, 1)
_SECOND = 10**18  # in attoseconds, the finest unit there is
_UNITS = {unit: seconds * _SECOND for unit, seconds in (("W", 604_800), ("D", 86_400), ("h", 3600), ("m", 60))}
_UNITS |= {unit: _SECOND // 1000**power for power, unit in enumerate(("s", "ms", "us", "ns", "ps", "fs", "as"))}
_MONTHS = {"Y": 12, "M": 1}


def instant(value: Any) -> tuple[str, Any] | None:
    """A key of a moment or a duration of Python's, numpy's or pandas'; None of one that is missing.

    Moments without a zone are no moments with one, and months are no days. A date without a time is neither.

    >>> instant(np.datetime64("2020", "Y")) == instant(datetime(2020, 1, 1))
    True
    """
    if hasattr(type(value), "to_datetime64"):  # of pandas, which gives zoned moments as those of UTC
        kind, moment = instant(value.to_datetime64()) or ("", None)
        return None if moment is None else (kind if value.tzinfo is None else "zoned moment", moment)
    if hasattr(type(value), "to_timedelta64"):
        return instant(value.to_timedelta64())
    if isinstance(value, datetime):
        if value.utcoffset() is None:
            return "moment", _of_python(value.replace(tzinfo=None) - _EPOCH)
        return "zoned moment", _of_python(value - _EPOCH.replace(tzinfo=UTC))
    return ("duration", _of_python(value)) if isinstance(value, timedelta) else _of_numpy(value)


def keys_of_counts(kind: str, unit: str) -> Callable[[int | None], Any]:
    """What makes the same keys of whole numbers of a unit, in which libraries store such columns; None is missing.

    Parameters
    ----------
    kind
        ``"moment"``, ``"zoned moment"``, ``"duration"``, ``"time"`` of a day, or ``"date"`` without a time.

    >>> keys_of_counts("moment", "s")(86_400) == instant(datetime(1970, 1, 2))
    True
    """
    step, day = _UNITS[unit], _UNITS["D"]

    def key(count: int | None) -> Any:
        if count is None:
            return None
        if kind == "time":
            return kind, ("duration", count * step)
        whole, rest = divmod(count * step, day) if kind == "date" else (count * step, 0)
        return (kind, whole, rest) if rest else (kind, whole)  # a date that is counted finely may have a rest

    return key


def _of_python(elapsed: timedelta) -> int:
    return elapsed // timedelta(microseconds=1) * _UNITS["us"]


def _of_numpy(value: Any) -> tuple[str, Any] | None:
    """In whole numbers of Python's, which do not overflow."""
    if np.isnat(value):
        return None
    unit, step = np.datetime_data(value.dtype)
    count = int(value.astype(np.int64)) * step
    if isinstance(value, np.datetime64):
        return "moment", _days(count * _MONTHS[unit]) * _UNITS["D"] if unit in _MONTHS else count * _UNITS[unit]
    if unit in _MONTHS:
        return "months", count * _MONTHS[unit]
    return ("duration", count * _UNITS[unit]) if unit in _UNITS else ("number of no unit", count)


def _days(months: int) -> int:
    """Days from the first of January 1970 to the first of a month so many months later, in the Gregorian calendar."""
    cycles, month = divmod(months, 400 * 12)  # after which the calendar repeats
    return cycles * 146_097 + (datetime(1970 + month // 12, month % 12 + 1, 1) - _EPOCH).days
