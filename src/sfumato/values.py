"""Private values, one by one: each is a number or missing, whatever it is and whatever stands beside it.

numpy gives all values of a list one type. So a single one would decide how the others are read (``[10, 20.5]``), or
raise (``[10, None]``, ``[10, 2**64]``), and what a record holds would show in a type or an error that nobody paid for.
Nothing here raises, warns or prints because of a value; only the shape is looked at, and that is public. A value may be
an object with code of its own, which can do all of that: it runs in one place, ``confined``.
"""

from __future__ import annotations

import io
import math
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from decimal import Decimal, localcontext
from functools import lru_cache
from numbers import Complex, Real
from operator import index
from types import NoneType
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterTypeError, SchemaError

Floats = NDArray[np.float64]
P = ParamSpec("P")
R = TypeVar("R")

_ALONE = threading.RLock()  # two threads would leave each other's streams behind
_LARGEST = sys.float_info.max
_AS_LIST = ("to_pylist", "to_list", "tolist")  # of Arrow's arrays, of series, of pandas' arrays
_DOUBLES = ("double", "float", "Float64", "Float32")  # to Arrow and to polars
_OF_POLARS = {"Boolean", "Binary", "Object", "Null"}  # and numbers: what polars makes objects of, whatever they are
TEXTS_OF_POLARS = {"String", "Categorical", "Enum"}

_NUMBERS = (Complex, Decimal, np.generic, np.ndarray)  # all real numbers of Python's are complex
_TIMES = (np.datetime64, np.timedelta64)  # numpy calls a duration a whole number
_NO_NUMBERS = frozenset(map(id, (NoneType, str, bytes)))  # whatever a class that is derived from those says of them

_ELSEWHERE = ("dask", "dask_expr", "pyspark")
# Types without code of anybody's own, by their place in memory: a type may be asked nothing, not even for its hash.
_PLAIN = frozenset(map(id, {NoneType, str, bytes, bool, int, float, complex, Decimal, *np.sctypeDict.values()})) - {
    id(np.void),
    id(np.object_),
}


@contextmanager
def silently() -> Iterator[None]:
    """Nothing inside warns, whatever the caller's filters and ``np.seterr`` say, nor raises where it would have warned.

    A warning that depends on private values would be an output, and an error where warnings are errors. So would be the
    flags that a number leaves in the caller's decimal context.
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"), localcontext():
        warnings.simplefilter("ignore")
        yield


def collected(data: Any) -> Any:
    """The result of a LazyFrame of polars', all else as it is; if it fails, only the kind of the error is told."""
    if not (hasattr(type(data), "collect_schema") and hasattr(type(data), "collect")):
        return data
    with told_by_kind("the LazyFrame cannot be collected"):
        return data.collect()


@contextmanager
def told_by_kind(failure: str) -> Iterator[None]:
    """Of an error inside only the kind is told, with words of ours: its own may hold values of records."""
    try:
        with silently():
            yield
    except BaseException as error:  # polars panics with an error that is no Exception
        if isinstance(error, KeyboardInterrupt | SystemExit | MemoryError):
            raise
        raise SchemaError(f"{failure} ({type(error).__name__})") from None


@contextmanager
def unraised() -> Iterator[list[Any]]:
    """Whatever is raised inside ends it and goes no further, but for an interrupt that the user sent.

    That comes with a signal, and to the main thread; any other one was raised by the code itself, or by a value. What
    was sent so far is in the list.
    """
    sent: list[Any] = []
    usual = signal.getsignal(signal.SIGINT) if threading.get_ident() == threading.main_thread().ident else None

    def noted(*signalled: Any) -> None:
        sent.append(signalled)
        usual(*signalled)  # type: ignore[operator,misc]

    try:
        if callable(usual):
            signal.signal(signal.SIGINT, noted)
        yield sent
    except BaseException as error:  # even sys.exit(), an interrupt that nobody sent, a panic of another language's
        if sent and isinstance(error, KeyboardInterrupt):
            raise
    finally:
        if callable(usual):
            signal.signal(signal.SIGINT, usual)


def confined(default: R, function: Callable[P, R], *given: P.args, **named: P.kwargs) -> R:
    """What a function finds, the default if it fails; whatever code of a value's own does there, nothing shows.

    It may raise anything, warn and print. Warnings and streams are the process's, so threads take turns, and what
    others print meanwhile is lost. An error, and all that lives in the frames it went through, ends while the streams
    are still away: a with statement would keep it until they are back, and an object may print when it ends.
    """
    with unraised() as sent, _ALONE, silently(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        try:
            return function(*given, **named)
        except BaseException as error:
            if sent and isinstance(error, KeyboardInterrupt):
                raise
    return default


def asked(value: Any, default: R, function: Callable[P, R], *given: P.args, **named: P.kwargs) -> R:
    """The same where the function asks one value, whatever it is, for anything. Quick for values of usual types."""
    if id(type(value)) not in _PLAIN:
        return confined(default, function, *given, **named)
    try:
        return function(*given, **named)
    except Exception:
        return default


def as_double(value: Any) -> float:
    """The double nearest to a number; NaN for what is none.

    Whole numbers, fractions and decimals beyond doubles become the largest. Text is no number, nor is a complex number
    off the real line.

    >>> [as_double(value) for value in (2, True, 10**400, None, "2", 1j, [2])]
    [2.0, 1.0, 1.7976931348623157e+308, nan, nan, nan, nan]
    """
    if type(value) is float:
        return value
    kind = type(value)
    if id(kind) in _NO_NUMBERS or (type(kind) is type and not _may_be_number(cast(Any, kind))):
        return math.nan
    return asked(value, math.nan, _double, value)


def _double(value: Any) -> float:
    """Raises for a signalling NaN, and for an object that is no number after all."""
    number = _real(value)
    return math.nan if number is None else _nearest(number)


@lru_cache(maxsize=4096)
def _may_be_number(kind: Any) -> bool:
    """Once for each type, where nothing shows: Python asks classes derived from its numbers about all other types."""
    return confined(False, issubclass, kind, _NUMBERS)


def is_mapping(data: Any) -> bool:
    """Whether a container is a dict or the like; Python asks classes that are derived from its mappings, too."""
    return type(data) is dict or confined(False, isinstance, data, Mapping)


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
    rounded = asked(value, round(double), _rounded, value)  # an object may have a value as a double only
    return max(-limit, min(limit, rounded))


def _rounded(value: Any) -> int:
    """Exact where a double would not be."""
    return int(index(round(_real(value))))


def _real(value: Any) -> Any:
    """A real number as it is, without the wrappings of numpy; None for anything else."""
    if isinstance(value, np.ndarray):
        value = value[()] if value.ndim == 0 else None
    if isinstance(value, np.generic) and not isinstance(value, np.longdouble):
        value = None if isinstance(value, _TIMES) else value.item()  # numpy makes whole numbers of some
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


@silently()
def readable(values: Any) -> NDArray[Any]:
    """An array of whole numbers, doubles, truth values or objects, in the shape of what was given.

    An array has its own shape, and so has what numpy calls one (a series, a frame). A list or another sequence has one
    axis, whatever its entries are: if an entry could make it two, the shape would be a private value's. Everything
    else is a single value.
    """
    check_here("values", values)
    if is_array(values):
        return _of_array(values)
    if _is_list(values):
        return objects(values)
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
    if hasattr(kind, "base_type"):  # of polars, which panics, and prints, where it cannot make an object of a value
        name = kind.base_type().__name__
        if name in TEXTS_OF_POLARS:
            values = values.to_arrow()  # whose text need not be UTF-8
            kind = values.type
        elif not kind.is_numeric() and name not in _OF_POLARS:
            return np.full(len(values), None)
    stored = values.array if hasattr(type(values), "array") else values  # of pandas: by position, whatever the labels
    kind = getattr(kind, "pyarrow_dtype", kind)
    if hasattr(kind, "index_type"):  # Arrow does not look whether there is such an entry, and dies where there is none
        arrow = stored.__arrow_array__() if hasattr(type(stored), "__arrow_array__") else stored
        return of_entries(arrow, lambda dictionary: column(dictionary).tolist(), None)
    if _holds_entries(kind):
        return np.full(len(values), None)
    as_list = next((found for name in _AS_LIST if (found := getattr(type(stored), name, None))), None)
    if as_list is None and hasattr(type(values), "__array__"):
        return np.asarray(_array(values))
    # Arrow raises, and prints, a text that is no UTF-8, a date beyond the calendar.
    whole = confined(None, lambda: objects(list(stored) if as_list is None else as_list(stored)))
    return objects([confined(None, _one, stored, place) for place in range(len(stored))]) if whole is None else whole


def _holds_entries(kind: Any) -> bool:
    """Whether dictionaries of Arrow's lie inside of what a type holds (lists, structs, maps, extensions)."""
    inside = [getattr(kind, "storage_type", None)]
    inside += [kind.field(place).type for place in range(getattr(kind, "num_fields", 0))]
    return any(one is not None and (hasattr(one, "index_type") or _holds_entries(one)) for one in inside)


def entries(chunk: Any) -> NDArray[np.int64]:
    """Which entry of its dictionary each row of an Arrow array has; -1 for none, and for one that is not there."""
    import pyarrow as pa
    import pyarrow.compute as pc

    places = pc.fill_null(pc.cast(chunk.indices, pa.int64(), safe=False), -1).to_numpy(zero_copy_only=False)
    return entries_of(places, len(chunk.dictionary))


def entries_of(places: NDArray[Any], count: int) -> NDArray[np.int64]:
    """The same places among so many entries; -1 for those that are none."""
    return np.where((places < 0) | (places >= count), -1, places)


def of_entries(values: Any, read: Callable[[Any], Iterable[Any]], missing: Any) -> NDArray[Any]:
    """What is read from each entry of an Arrow array of dictionaries, for each row.

    Never expanded: all rows together may hold more text than a plain column of Arrow's, and a record has a say in that.
    """
    import pyarrow as pa

    parts = []
    for chunk in values.chunks if isinstance(values, pa.ChunkedArray) else [values]:
        known = [*read(chunk.dictionary), missing]
        table = objects(known) if missing is None else np.array(known, dtype=np.array(missing).dtype)
        parts.append(table[entries(chunk)])
    return np.concatenate(parts) if parts else np.array([missing])[:0]


@silently()
def doubles(values: Any) -> Floats:
    """Everything as doubles in its public shape, read value by value; NaN for what is no number.

    >>> doubles([10, 20.5, None, 2**70]).tolist()
    [10.0, 20.5, nan, 1.1805916207174113e+21]
    """
    array = readable(values)
    if array.dtype != object:
        return array.astype(np.float64)
    return np.fromiter(map(as_double, array.flat), np.float64, array.size).reshape(array.shape)


@silently()
def rows_of(rows: Sequence[Any], width: int) -> Floats:
    """``(n, width)`` doubles: a list of rows, read value by value; a row of another length, or none, has no values.

    >>> rows_of([[1, "a"], (2, 3), [4], None], 2).tolist()
    [[1.0, nan], [2.0, 3.0], [nan, nan], [nan, nan]]
    """
    found = np.full((len(rows), width), math.nan)
    for place, row in enumerate(rows):
        if is_row(row):
            found[place] = [as_double(value) for value in row] if len(row) == width else math.nan
        else:
            found[place] = asked(row, math.nan, _doubles_of_row, row, width)
    return found


def _doubles_of_row(row: Any, width: int) -> Any:
    """Of a column of some library's; NaN if it is none, or has another length."""
    return values if shape_of(row) == (width,) and (values := doubles(row)).shape == (width,) else math.nan


def check_here(name: str, data: Any) -> None:
    """Refuse what Dask or Spark have elsewhere, by its type alone: of which type values are is known once they come.

    One of them would decide on that, and so on a refusal; and what such a frame says of itself may hold hashes of them.
    """
    if asked(data, False, _is_elsewhere, data):  # a single value may be anything
        words = f"must be in memory, got a {type(data).__name__} whose values are elsewhere: compute it first"
        raise ParameterTypeError.of(name, words)


def _is_elsewhere(data: Any) -> bool:
    return any(kind.__module__.partition(".")[0] in _ELSEWHERE for kind in type(data).__mro__)


def is_sparse(data: Any) -> bool:
    """Whether it is a matrix of scipy's, by its type alone and without importing scipy for others."""
    return any(kind.__module__.startswith("scipy.sparse") for kind in type(data).__mro__)


def is_row(value: Any) -> bool:
    """Whether a value is a list or a tuple of Python's own, which may be asked for what it holds."""
    kind = type(value)
    return kind is list or kind is tuple


def is_array(values: Any) -> bool:
    """Whether it is an array, or a column or a frame of some library, of which numpy makes one.

    Of the type: a series would look for the word among its labels, which are private too.
    """
    return asked(values, False, lambda: hasattr(type(values), "__array__") and not isinstance(values, np.generic))


def _is_list(values: Any) -> bool:
    no_lists = str | bytes | bytearray | memoryview
    return asked(values, False, lambda: isinstance(values, Sequence) and not isinstance(values, no_lists))


def _of_array(values: Any) -> NDArray[Any]:
    shape = shape_of(values)
    if not isinstance(values, np.ndarray) and (parts := parts_of(values)) is not None:
        whole = np.empty(shape, dtype=object)
        for place, part in enumerate(parts):
            whole[:, place] = _of_array(part)
        return whole
    array = confined(None, lambda: np.asarray(column(values) if len(shape) == 1 else _array(values)))
    if array is None or array.shape != shape:  # whatever cannot be read holds no numbers
        return np.full(shape, math.nan)
    if array.dtype.kind == "c":
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


def parts_of(values: Any) -> list[Any] | None:
    """The columns of a frame of polars, pyarrow or pandas; None if it is none."""
    if len(shape_of(values)) != 2:
        return None
    if hasattr(type(values), "get_columns"):
        return list(values.get_columns())
    if hasattr(type(values), "itercolumns"):
        return list(values.columns)
    return [part for _, part in values.items()] if hasattr(type(values), "iloc") else None


def _one(stored: Any, place: int) -> Any:
    """A value of a column that cannot be read at once; as it is stored if it is none of Python's."""
    value = stored[place]
    return confined(value, value.as_py) if hasattr(value, "as_py") else value


def shape_of(values: Any) -> tuple[int, ...]:
    """What an array, a series or a frame says of its own shape, which is public; of a row, asked before its values are.

    A row may be longer than any memory.
    """
    if hasattr(type(values), "shape"):
        return tuple(values.shape)
    return (len(values),) if hasattr(type(values), "__len__") else ()


def objects(values: Sequence[Any]) -> NDArray[Any]:
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


def type_word(dtype: np.dtype[Any]) -> str:
    """What an array of numpy's holds; of text without its length, which is that of the longest value.

    >>> type_word(np.dtype("U12")), type_word(np.dtype("float32"))
    ('text', 'float32')
    """
    return {"U": "text", "S": "bytes", "V": "records"}.get(dtype.kind, str(dtype))
