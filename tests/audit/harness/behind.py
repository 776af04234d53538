"""Arrow columns that store more than their values: behind gaps, in entries that nobody has, in runs, in extensions."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from harness.hostile import ARROW, DOUBLES, MOMENTS, RAW, Kind, numeric_kind, or_none, some, text_kind

Hidden = tuple[bool, Any]  # whether the value is there, and what is stored in its place in any case

_ENTRIES: list[str | None] = ["a", "b", "c", None, "a", "no", "yes"]  # one of them twice, one of them none
_STRUCTS = some([{"a": 1, "b": "x"}, {"a": None, "b": None}])


def _there(stored: Callable[[Any], Any]) -> Callable[[Any], Hidden]:
    return lambda value: (True, stored(value))


def _or_hidden(hostile: Callable[[Random], Any]) -> Callable[[Random], Hidden]:
    return lambda rng: (rng.random() < 0.5, hostile(rng))


def _there_bits(values: list[Hidden]) -> Any:
    there = np.array([there for there, _ in values], dtype=np.bool_)
    return pa.py_buffer(np.packbits(there, bitorder="little").tobytes())


def _hidden_numbers(kind: pa.DataType, dtype: str) -> Callable[[list[Hidden]], Any]:
    def column(values: list[Hidden]) -> Any:
        data = pa.py_buffer(np.array([stored for _, stored in values], dtype=dtype).tobytes())
        return pa.Array.from_buffers(kind, len(values), [_there_bits(values), data])

    return column


def _hidden_texts(values: list[Hidden]) -> Any:
    ends = np.cumsum([0, *(len(stored) for _, stored in values)], dtype=np.int32)
    data = b"".join(stored for _, stored in values)
    return pa.Array.from_buffers(
        pa.string(), len(values), [_there_bits(values), pa.py_buffer(ends.tobytes()), pa.py_buffer(data)]
    )


def _entry(text: str) -> int:
    if text not in _ENTRIES:
        _ENTRIES.append(text)
    return _ENTRIES.index(text)


def _any_entry(rng: Random) -> int:
    return rng.choice([0, 3, 4, -1, 2**20, 2**31 - 1, -(2**31)])


def _hidden_entries(values: list[Hidden]) -> Any:
    """Places in one dictionary, some of which are none."""
    places = _hidden_numbers(pa.int32(), "i4")(values)
    return pa.DictionaryArray.from_arrays(places, pa.array([*_ENTRIES, *map(str, range(99))]), safe=False)


def _halves(values: list[Any]) -> Any:
    with np.errstate(all="ignore"):
        return pa.array([None if value is None else np.float16(value) for value in values], pa.float16())


def _in_runs(values: list[Any]) -> Any:
    ends, kind = pa.array(range(1, len(values) + 1), pa.int32()), pa.run_end_encoded(pa.int32(), pa.float64())
    return pa.RunEndEncodedArray.from_arrays(ends, pa.array(values, pa.float64())) if values else pa.array([], kind)


def _cut_out(values: list[Any]) -> Any:
    """From the middle of a longer array."""
    return pa.array([None, 3.0, *values, 7.0], pa.float64())[2:-1]


def _made_of(kind: pa.DataType) -> Callable[[list[Any]], Any]:
    return lambda values: pa.array(values, kind)


_PAIRS = pa.struct([("a", pa.int64()), ("b", pa.string())])
BEHIND: tuple[Kind, ...] = (
    numeric_kind("double behind gaps", _or_hidden(DOUBLES), _hidden_numbers(pa.float64(), "f8"), _there(float)),
    numeric_kind("int64 behind gaps", _or_hidden(MOMENTS), _hidden_numbers(pa.int64(), "i8"), _there(int)),
    numeric_kind(
        "timestamp[us, zone] behind gaps",
        _or_hidden(MOMENTS),
        _hidden_numbers(pa.timestamp("us", "America/New_York"), "i8"),
        _there(int),
        False,
    ),
    text_kind("string behind gaps", _or_hidden(RAW), _hidden_texts, _there(str.encode)),
    text_kind("dictionary of places", _or_hidden(_any_entry), _hidden_entries, _there(_entry)),
    numeric_kind("halffloat", or_none(DOUBLES), _halves),
    numeric_kind("double, cut out", or_none(DOUBLES), _cut_out),
    numeric_kind("Extension of runs", or_none(DOUBLES), _in_runs, float, False),
    numeric_kind("Struct", or_none(_STRUCTS), _made_of(_PAIRS), lambda value: {"a": int(value), "b": "q"}, False),
)
ALL_OF_ARROW = (*ARROW, *BEHIND)
