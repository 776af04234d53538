"""What scikit-learn calls y, read value by value: only its type, shape and length may raise.

Labels that were not declared, and values of another type inside a list or an array of objects, contribute nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.exceptions import DataConversionWarning

from sfumato.core.box import Box, Column
from sfumato.engines.columns import tabular
from sfumato.engines.files import is_text
from sfumato.errors import SchemaError
from sfumato.estimators.inputs import declared_texts, read_features
from sfumato.values import check_here, doubles, is_row, readable, type_word


def read_response(y: Any, column: Column, rows: int) -> NDArray[Any]:
    """``(rows,)``: y as an array of text or doubles, whichever was declared."""
    if y is None:
        raise SchemaError("fit requires y to be passed, but the target y is None")
    check_here("y", y)
    y = pa.chunked_array([y]) if isinstance(y, pa.Array) else tabular(y)  # a column that narwhals knows
    given = nw.from_native(y, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(given, nw.DataFrame) and given.shape[1] == 1:
        _warn_of_a_column()
        given = given[given.columns[0]]
    if isinstance(given, nw.DataFrame):  # by its type, before anybody looks at a value
        raise SchemaError("y should be a 1d array of one response for each row, got 2-D")
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
    array = y if isinstance(y, np.ndarray) else _entries(y)
    if array.ndim == 2 and array.shape[1] == 1:
        _warn_of_a_column()
        array = array[:, 0]
    if array.ndim != 1:
        raise SchemaError(f"y should be a 1d array of one response for each row, got {array.ndim}-D")
    text, kind = is_text(column), array.dtype.kind
    if kind == "c":
        raise SchemaError("Complex data not supported: y must hold real numbers or text")
    if kind not in ("UTO" if text else "iufbTO"):  # T: numpy's text of any length
        raise SchemaError(
            f"y must hold {'text' if text else 'numbers'}, as was declared, got dtype {type_word(array.dtype)}"
        )
    if text:
        return declared_texts(np.ma.filled(array, "") if kind == "U" else array.tolist(), column)
    return doubles(array)


def _entries(y: Any) -> NDArray[Any]:
    """A list's values as they are: numpy would let one of them decide how all others are read."""
    if hasattr(type(y), "__array__"):
        try:
            return np.asarray(y)
        except Exception:  # the reason may name a value
            raise SchemaError(f"y should be a 1d array, got a {type(y).__name__}, which is none") from None
    if not isinstance(y, Sequence) or isinstance(y, str | bytes):
        raise SchemaError(f"y should be a 1d array, got a {type(y).__name__}, which is none")
    return readable([_entry(value) for value in y])


def _entry(value: Any) -> Any:
    """What a row of one value holds."""
    return value[0] if is_row(value) and len(value) == 1 else value
