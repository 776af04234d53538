"""Private values, one by one: each is a number or missing, whatever it is and whatever stands beside it.

numpy gives all values of a list one type. So a single one would decide how the others are read (``[10, 20.5]``), or
raise (``[10, None]``, ``[10, 2**64]``), and what a record holds would show in a type or an error that nobody paid for.
Nothing here raises, warns or prints because of a value; only the shape is looked at, and that is public.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from numbers import Complex, Real
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_LARGEST = sys.float_info.max
_AS_LIST = ("to_pylist", "to_list", "tolist")  # of Arrow's arrays, of series, of pandas' arrays
_DOUBLES = ("double", "float", "Float64", "Float32")  # to Arrow and to polars


@contextmanager
def silently() -> Iterator[None]:
    """Nothing inside warns, whatever the caller's filters and ``np.seterr`` say, nor raises where it would have warned.

    A warning that depends on private values would be an output, and an error where warnings are errors.
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def as_double(value: Any) -> float:
    """The double nearest to a number; NaN for what is none.

    Whole numbers, fractions and decimals beyond doubles become the largest. Text is no number, nor is a complex number
    off the real line.

    >>> [as_double(value) for value in (2, True, 10**400, None, "2", 1j, [2])]
    [2.0, 1.0, 1.7976931348623157e+308, nan, nan, nan, nan]
    """
    if type(value) is float:
        return value
    try:
        number = _real(value)
        return math.nan if number is None else _nearest(number)
    except Exception:  # a signalling NaN, or an object that is no number after all
        return math.nan


def as_whole(value: Any, limit: int) -> int:
    """The whole number nearest to a number (ties to even) within the limit; 0 for what is no finite number.

    >>> [as_whole(value, 2**61) for value in (7, 2.5, 2**70, math.inf, None)]
    [7, 2, 2305843009213693952, 0, 0]
    """
    double = as_double(value)
    if not math.isfinite(double):
        return 0
    if abs(double) > limit:
        return limit if double > 0 else -limit
    try:
        rounded = index(round(_real(value)))  # exact where a double would not be
    except Exception:  # an object that only has a value as a double
        rounded = round(double)
    return max(-limit, min(limit, rounded))


def _real(value: Any) -> Any:
    """A real number as it is, without the wrappings of numpy; None for anything else."""
    if isinstance(value, np.ndarray):
        value = value[()] if value.ndim == 0 else None
    if isinstance(value, np.generic) and not isinstance(value, np.longdouble):
        value = None if isinstance(value, np.timedelta64) else value.item()  # numpy calls a duration a whole number
    if isinstance(value, Complex) and not isinstance(value, Real):
        value = value.real if value.imag == 0 else None
    return value if isinstance(value, Real | Decimal) else None


def _nearest(number: Any) -> float:
    try:
        with np.errstate(all="ignore"):  # a warning that depends on values would be an output
            found = float(number)
    except OverflowError:
        return _LARGEST if number > 0 else -_LARGEST
    if math.isinf(found) and number not in (math.inf, -math.inf):
        return math.copysign(_LARGEST, found)
    return found


def readable(values: Any) -> NDArray[Any]:
    """An array of whole numbers, doubles, truth values or objects, in the shape of what was given.

    An array has its own shape, and so has what numpy calls one (a series, a frame). A list or another sequence has one
    axis, whatever its entries are: if an entry could make it two, the shape would be a private value's. Everything
    else is a single value.
    """
    # Of the type: a series would look for the word among its labels, which are private too.
    if hasattr(type(values), "__array__") and not isinstance(values, np.generic):
        return _of_array(values)
    if _is_list(values):
        return _objects(values)
    single = np.empty((), dtype=object)
    single[()] = values
    return single


def column(values: Any) -> NDArray[Any]:
    """One axis: the values of a column, each as it is, whichever library holds it and whatever else it holds.

    numpy lets one gap decide how all others are read: beside it whole numbers become doubles, and in a dictionary of
    Arrow's it is read as somebody else's value. So numpy is asked only where the *type* of the column says what comes
    of it; all else are Python's objects. What cannot be read is None.

    >>> column(["a", None, 2**70]).tolist()
    ['a', None, 1180591620717411303424]
    """
    if isinstance(values, np.ndarray):
        return values
    kind: Any = getattr(values, "type" if hasattr(type(values), "type") else "dtype", None)  # Arrow's word, or others'
    if isinstance(kind, np.dtype) or str(kind) in _DOUBLES:  # a gap among doubles is one of them
        return np.asarray(_array(values))
    if hasattr(kind, "is_temporal") and (kind.is_temporal() or kind.is_nested()):  # of which polars prints and panics
        return np.full(len(values), None)
    if str(kind).startswith(("String", "Categorical", "Enum")) and hasattr(type(values), "to_arrow"):
        values = values.to_arrow()  # of text that is no UTF-8 polars panics, and prints it
        kind = values.type
    stored = values.array if hasattr(type(values), "array") else values  # of pandas: by position, whatever the labels
    if hasattr(kind, "index_type"):  # a dictionary of Arrow's is read faster as what it holds
        with suppress(Exception):
            stored = values.cast(kind.value_type)
    as_list = next((found for name in _AS_LIST if (found := getattr(type(stored), name, None))), None)
    if as_list is None and hasattr(type(values), "__array__"):
        return np.asarray(_array(values))
    try:
        with silently():
            return _objects(list(stored) if as_list is None else as_list(stored))
    except Exception:  # Arrow raises, and prints, a text that is no UTF-8, a date beyond the calendar
        return _objects([_one(stored, place) for place in range(len(stored))])


def doubles(values: Any) -> Floats:
    """Everything as doubles in its public shape, read value by value; NaN for what is no number.

    >>> doubles([10, 20.5, None, 2**70]).tolist()
    [10.0, 20.5, nan, 1.1805916207174113e+21]
    """
    array = readable(values)
    if array.dtype != object:
        with np.errstate(all="ignore"):  # a signalling NaN warns, and a warning that depends on values is an output
            return array.astype(np.float64)
    return np.fromiter(map(as_double, array.flat), np.float64, array.size).reshape(array.shape)


def rows_of(rows: Sequence[Any], width: int) -> Floats:
    """``(n, width)`` doubles: a list of rows, read value by value; a row of another length, or none, has no values.

    >>> rows_of([[1, "a"], (2, 3), [4], None], 2).tolist()
    [[1.0, nan], [2.0, 3.0], [nan, nan], [nan, nan]]
    """
    found = np.full((len(rows), width), math.nan)
    for place, row in enumerate(rows):
        # Its length first: a row may be longer than any memory, or raise when it is asked.
        with suppress(Exception):
            if _shape(row) == (width,) and (values := doubles(row)).shape == (width,):
                found[place] = values
    return found


def _is_list(values: Any) -> bool:
    try:
        return isinstance(values, Sequence) and not isinstance(values, str | bytes | bytearray | memoryview)
    except Exception:  # an object may raise when it is asked for its class
        return False


def _of_array(values: Any) -> NDArray[Any]:
    shape = _shape(values)
    if len(shape) == 2 and not isinstance(values, np.ndarray) and (parts := _parts(values)) is not None:
        whole = np.empty(shape, dtype=object)
        for place, part in enumerate(parts):
            whole[:, place] = _of_array(part)
        return whole
    try:
        array = np.asarray(column(values) if len(shape) == 1 else _array(values))
    except Exception:  # whatever cannot be read holds no numbers
        return np.full(shape, math.nan)
    if array.shape != shape:
        return np.full(shape, math.nan)
    if array.dtype.kind == "c":
        with np.errstate(all="ignore"):
            array = np.where(array.imag == 0, array.real, math.nan)
    elif array.dtype.kind not in "iufbO":
        return np.full(shape, math.nan)
    hidden = values.mask if isinstance(values, np.ma.MaskedArray) else np.False_
    if np.any(hidden) or array.dtype.itemsize > 8:  # or more than double precision
        array = array.astype(object)
        array[hidden] = None
    return array


def _array(values: Any) -> Any:
    """Not np.asarray of what is no array, which asks it for words that a series looks for among its labels, too."""
    return values if isinstance(values, np.ndarray) else type(values).__array__(values)


def _parts(values: Any) -> list[Any] | None:
    """The columns of a frame of polars, pyarrow or pandas; None if it is none."""
    if hasattr(type(values), "get_columns"):
        return list(values.get_columns())
    if hasattr(type(values), "itercolumns"):
        return list(values.columns)
    return [part for _, part in values.items()] if hasattr(type(values), "iloc") else None


def _one(stored: Any, place: int) -> Any:
    """A value of a column that cannot be read at once; as it is stored if it is none of Python's."""
    value = None
    with suppress(Exception), silently():
        value = stored[place]
        value = value.as_py() if hasattr(value, "as_py") else value
    return value


def _shape(values: Any) -> tuple[int, ...]:
    """What an array, a series or a frame says of its own shape, which is public."""
    if hasattr(type(values), "shape"):
        return tuple(values.shape)
    return (len(values),) if hasattr(type(values), "__len__") else ()


def _objects(values: Sequence[Any]) -> NDArray[Any]:
    """One axis of values as they are."""
    array = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        array[i] = value
    return array


def letters(values: NDArray[np.str_]) -> NDArray[np.str_]:
    """The same texts without numbers that are no letters: bytes may hold them, and Python raises. Masks stay."""
    kind = values.dtype.newbyteorder("=")
    if not kind.itemsize:
        return values
    plain = np.array(np.ma.getdata(values), dtype=kind, order="C")
    codes = plain.reshape(-1).view(np.uint32)
    codes[codes > sys.maxunicode] = 0xFFFD
    if isinstance(values, np.ma.MaskedArray):
        return np.ma.MaskedArray(plain, np.ma.getmaskarray(values))
    return plain
