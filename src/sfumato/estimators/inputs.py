"""What scikit-learn calls X, as a table with public bounds. Only the schema may raise, never a value.

scikit-learn's own validation is not used on private records: it refuses an infinity, prints the text it cannot convert,
and so answers questions about single records that nobody paid for.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.checks import did_you_mean
from sfumato.core.box import Box, Categorical, Column, Date
from sfumato.dates import as_moments
from sfumato.engines.cells import positions
from sfumato.engines.columns import tabular
from sfumato.engines.files import is_text
from sfumato.engines.sparse import check_sparse
from sfumato.engines.tables import open_table
from sfumato.errors import ParameterError, ParameterTypeError, SchemaError
from sfumato.values import check_here, collected, doubles, is_mapping, is_sparse, rows_of, silently, type_word


@dataclass(frozen=True)
class Features:
    """A two-dimensional X: an array, or a data frame with ``names`` (None if they are not all text)."""

    data: Any
    names: tuple[str, ...] | None
    rows: int
    width: int

    def __repr__(self) -> str:
        return f"<private features of {type(self.data).__name__}>"

    def table(self, box: Box) -> Any:
        """The data, with the names of the box where their columns have none."""
        if self.names is not None or isinstance(self.data, np.ndarray) or is_sparse(self.data):
            return self.data
        return self.data.set_axis(list(box.names), axis=1)  # only frames like pandas' have such columns

    @silently()
    def columns(self, box: Box) -> list[NDArray[Any]]:
        """The columns in the order of the box: doubles, NaN where one is missing, and text as ``declared_texts``."""
        table = open_table(self.table(box), box, "row")  # which looks at types, also where there are no rows
        if self.rows == 0:
            return [np.zeros(0, dtype="U1" if is_text(kind) else np.float64) for kind in box.columns]
        (columns,) = table.batches(box, self.rows)
        return [
            declared_texts(values, kind) if is_text(kind) else np.asarray(values)
            for values, kind in zip(columns, box.columns, strict=True)
        ]

    def labelled(self, box: Box, name: str, response: NDArray[Any]) -> Any:
        """The records together with y: a pair of arrays, or a table where a column is text."""
        if isinstance(self.data, np.ndarray) or is_sparse(self.data):
            return self.data, response
        columns = self.columns(box)
        if any(is_text(kind) for kind in box.columns):
            kept = [as_moments(v) if isinstance(c, Date) else v for v, c in zip(columns, box.columns, strict=True)]
            return pa.table({**dict(zip(box.names, kept, strict=True)), name: response})
        return np.stack(columns, axis=1), response


def declared_texts(values: Any, column: Column) -> NDArray[np.str_]:
    """Declared categories as they are, and one text that is none of them for everything else."""
    assert isinstance(column, Categorical)
    categories = [str(category) for category in column.categories]
    undeclared = "".join(categories) + "?"  # longer than each
    return np.array([*categories, undeclared])[positions(values, column)]


def read_features(data: Any, width: int | None = None, sparse: bool = False) -> Features:
    """Look at the shape, the type and the column names of X, and at nothing else.

    A list of rows has no shape of its own, as one record would decide on it: ``width`` is the public number of columns.
    ``sparse`` says whether compressed rows will do.
    """
    if is_sparse(data):
        if not sparse:
            raise ParameterTypeError("X must be dense: sparse matrices are for linear and kernel learners")
        check_sparse(data, "X")
        return Features(data, None, *data.shape)
    check_here("X", data)
    data = tabular(collected(data))
    if is_mapping(data):
        return _dict_features(data)
    try:
        frame = nw.from_native(data, eager_only=True, allow_series=True, pass_through=True)
    except nw.exceptions.DuplicateError:
        raise SchemaError("two columns of X have the same name") from None
    if isinstance(frame, nw.Series):  # by its type, before anybody looks at a value
        raise _of_one_dimension(1)
    if isinstance(frame, nw.DataFrame):
        features = Features(data, _text_names(frame.columns), *frame.shape)
    else:
        features = _list_features(data, width) if _is_list(data) else _array_features(data)
    if features.width == 0:
        raise SchemaError(f"found 0 feature(s) (shape=({features.rows}, 0)) while a minimum of 1 is required.")
    return features


def _dict_features(columns: Mapping[Any, Any]) -> Features:
    """A dict of columns; that they are as long as each other is looked at when they are opened."""
    if not columns:
        raise SchemaError("found 0 feature(s) (shape=(0, 0)) while a minimum of 1 is required.")
    names = _text_names(list(columns))
    if names is None or not all(hasattr(type(values), "__len__") for values in columns.values()):
        raise SchemaError("X must be a dict of columns that have names, each a list, an array or a series")
    return Features(columns, names, len(next(iter(columns.values()))), len(columns))


def _text_names(names: Sequence[Any]) -> tuple[str, ...] | None:
    text = [isinstance(name, str) for name in names]
    if any(text) and not all(text):
        raise ParameterTypeError("feature names must be all text or none of them: X.columns = X.columns.astype(str)")
    return tuple(names) if all(text) else None


def _is_list(data: Any) -> bool:
    return isinstance(data, Sequence) and not isinstance(data, str | bytes) and not hasattr(type(data), "__array__")


def _list_features(rows: Sequence[Any], width: int | None) -> Features:
    if width is None:
        raise SchemaError(
            "X is a list of rows, and one pair of bounds does not say how many columns they have: give bounds for each "
            "column, bounds=[(low, high), ...], or make X an array; it is not inferred, as a record would decide on it"
        )
    return Features(rows_of(rows, width), None, len(rows), width)


def _array_features(data: Any) -> Features:
    no_table = SchemaError(f"X must be a table of numbers, got a {type(data).__name__} that is none")
    if hasattr(type(data), "__getitem__") and not hasattr(type(data), "__array__"):
        raise no_table  # numpy would make a list of it, and one value of that would decide how all others are read
    try:
        array = np.asarray(data)
    except Exception:  # the reason may name a value
        raise no_table from None
    if array.dtype.kind == "c":
        raise SchemaError("Complex data not supported: X must hold real numbers")
    if array.dtype.kind not in "iufbO":
        raise SchemaError(
            f"X must hold real numbers, got dtype {type_word(array.dtype)}: convert it where you read the data, as "
            "what a single value can be converted to is private"
        )
    if array.ndim != 2:
        raise _of_one_dimension(array.ndim)
    if array.dtype.kind == "O" or isinstance(data, np.ma.MaskedArray):  # each value by itself
        array = doubles(data if isinstance(data, np.ma.MaskedArray) else array)
    return Features(array, None, *array.shape)


def _of_one_dimension(dimension: int) -> SchemaError:
    return SchemaError(
        f"X must be two-dimensional, got {dimension}-D. Reshape your data: array.reshape(-1, 1) if there is one "
        "feature, array.reshape(1, -1) if there is one sample"
    )


def declared_width(bounds: Any) -> int | None:
    """How many columns ``bounds`` speak of; None if one pair stands for all of them, however many."""
    if _is_pair(bounds):
        return None
    return (bounds if isinstance(bounds, Box) else Box(_given(bounds))).dimension


def _given(bounds: Any) -> Any:
    if bounds is None:
        raise ParameterError(
            "bounds must be given: public limits for each column, known without looking at the data, such as "
            "bounds={'age': (0, 110)} or bounds=[(0, 110)]; they are never inferred"
        )
    return bounds


def _is_pair(bounds: Any) -> bool:
    pair = isinstance(bounds, tuple | list | np.ndarray) and len(bounds) == 2
    return pair and all(isinstance(limit, Real) for limit in bounds)


def public_box(bounds: Any, features: Features) -> tuple[Box, bool]:
    """The box that ``bounds`` and the schema of X make, and whether its columns are found by name."""
    if _is_pair(bounds):  # for every column
        bounds = [tuple(bounds)] * features.width
    box = bounds if isinstance(bounds, Box) else Box(_given(bounds))
    if box.named and features.names is not None:
        unknown = sorted(set(features.names) ^ set(box.names))
        if unknown:
            raise SchemaError(
                f"the feature names must be those of bounds, {list(box.names)}, in any order; X has "
                f"{list(features.names)}{did_you_mean(unknown[0], {*features.names, *box.names} - {unknown[0]})}"
            )
        return box, True
    if box.dimension != features.width:
        raise SchemaError(f"bounds are for {box.dimension} columns {list(box.names)}, but X has {features.width}")
    if features.names is None:
        return box, box.named
    return Box(dict(zip(features.names, box.columns, strict=True)), max_norm=box.max_norm), False


def check_as_fitted(who: str, features: Features, width: int, names: tuple[str, ...] | None, depth: int) -> None:
    """Refuse columns that are not those of ``fit`` in its order, in scikit-learn's words.

    Its own check does not see the names of every kind of data frame in every version, and would go by position.
    """
    if features.names is not None and names is not None and features.names != names:
        unseen, gone = sorted(set(features.names) - set(names)), sorted(set(names) - set(features.names))
        words = [f"Feature names unseen at fit time: {unseen}."] if unseen else []
        words += [f"Feature names seen at fit time, yet now missing: {gone}."] if gone else []
        words = words or ["Feature names must be in the same order as they were in fit, as bounds have no names."]
        raise SchemaError(f"The feature names should match those that were passed during fit. {' '.join(words)}")
    if features.width != width:
        raise SchemaError(f"X has {features.width} features, but {who} is expecting {width} features as input.")
    if features.names is not None and names is None:
        warnings.warn(f"X has feature names, but {who} was fitted without feature names", stacklevel=depth)
    if features.names is None and names is not None:
        warnings.warn(f"X does not have valid feature names, but {who} was fitted with feature names", stacklevel=depth)


def check_rows(features: Features) -> None:
    """Refuse a table without rows, where their number is public."""
    if features.rows == 0:
        raise SchemaError(f"found 0 sample(s) (shape=(0, {features.width})) while a minimum of 1 is required.")
