"""What scikit-learn calls y, read value by value: only its type, shape and length may raise.

Labels that were not declared, and values of another type inside a list or an array of objects, contribute nothing.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import DataConversionWarning

from sfumato.core.box import Box, Column
from sfumato.engines.files import is_text
from sfumato.errors import SchemaError
from sfumato.estimators.inputs import declared_texts, read_features


def read_response(y: Any, column: Column, rows: int) -> NDArray[Any]:
    """``(rows,)``: y as an array of text or doubles, whichever was declared."""
    if y is None:
        raise SchemaError("fit requires y to be passed, but the target y is None")
    given = nw.from_native(y, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(given, nw.DataFrame) and given.shape[1] == 1:
        _warn_of_a_column()
        given = given[given.columns[0]]
    found = _of_series(given, column) if isinstance(given, nw.Series) else _of_array(y, column)
    if len(found) != rows:
        raise SchemaError("inconsistent numbers of samples: X and y must have as many rows as each other")
    return found


def response_name(y: Any, box: Box) -> str:
    """What y is called, or another name where a feature has that one already."""
    name = getattr(y, "name", None)
    name = name if isinstance(name, str) and name else "y"
    while name in box.names:
        name += "_"
    return name


def _warn_of_a_column() -> None:
    warnings.warn(
        "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples,), "
        "for example using ravel().",
        DataConversionWarning,
        stacklevel=4,
    )


def _of_series(series: Any, column: Column) -> NDArray[Any]:
    (values,) = read_features(series.alias("y").to_frame().to_native()).columns(Box({"y": column}))
    return values


def _of_array(y: Any, column: Column) -> NDArray[Any]:
    array = y if isinstance(y, np.ndarray) else _objects(y)
    if array.ndim == 2 and array.shape[1] == 1:
        _warn_of_a_column()
        array = array[:, 0]
    if array.ndim != 1:
        raise SchemaError(f"y should be a 1d array of one response for each row, got {array.ndim}-D")
    text, kind = is_text(column), array.dtype.kind
    if kind in "OT":  # objects, and numpy's text of any length
        return declared_texts(list(array), column) if text else np.fromiter(_numbers(array), np.float64, len(array))
    if kind == "c":
        raise SchemaError("Complex data not supported: y must hold real numbers or text")
    if kind not in ("U" if text else "iufb"):
        raise SchemaError(f"y must hold {'text' if text else 'numbers'}, as was declared, got dtype {array.dtype}")
    with np.errstate(all="ignore"):  # a warning that depends on values would be an output
        return array if text else array.astype(np.float64, copy=False)


def _objects(y: Any) -> NDArray[Any]:
    """A list as it is: numpy would let one value decide how all others are read."""
    try:
        return np.array(y, dtype=object)
    except (TypeError, ValueError):  # the reason may name a value
        raise SchemaError(f"y should be a 1d array, got a {type(y).__name__} that is none") from None


def _numbers(values: NDArray[Any]) -> Iterator[float]:
    """Each value as a double: NaN for what is no number."""
    for value in values:
        try:
            yield float(value) if isinstance(value, Real | np.bool_) else math.nan
        except OverflowError:  # a whole number beyond doubles
            yield math.inf if value > 0 else -math.inf
