"""Rows of which most values are 0, as scipy keeps them: made plain a few at a time, each by itself.

What a row holds may be written in any order, several times in one place (such values add up) or outside the matrix
(such a value counts for nothing): nothing of that raises, as it may be one record's. Only compressed rows are read:
other formats would have to be put in order first, by code that asks all records at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import SchemaError
from sfumato.values import type_word

Floats = NDArray[np.float64]


def check_sparse(data: Any, name: str, persons: bool = False) -> None:
    """Refuse a matrix of another format, of anything but real numbers, or in which persons are to be told apart."""
    if persons:
        raise SchemaError("a sparse matrix has no column to tell persons apart; pass a table")
    if data.format != "csr" or data.ndim != 2:
        raise SchemaError(f"{name} must be a dense array or a sparse one in compressed rows: give {name}.tocsr()")
    if data.dtype.kind not in "iufb":
        raise SchemaError(f"{name} must hold real numbers, got a sparse matrix of {type_word(data.dtype)}")


def plain_rows(matrix: Any, start: int, stop: int) -> Floats:
    """``(rows, columns)``: some of the rows of a matrix in compressed rows, each from what is written of it alone."""
    wide = int(matrix.shape[1])
    counts, columns, values = _written(matrix, start, stop)
    found = np.zeros((len(counts), wide))
    with np.errstate(all="ignore"):  # a warning that depends on values would be an output
        np.add.at(
            found.reshape(-1), np.repeat(np.arange(len(counts)), counts) * wide + columns, values.astype(np.float64)
        )
    return found


def tidy(matrix: Any) -> Any:
    """The same matrix, for a function of the caller's: without what is written outside of it, on which scipy dies.

    Rows are as long as their own values say; the order in which these are written, and several in one place, stay.
    """
    from scipy.sparse import csr_array, csr_matrix, sparray

    counts, columns, values = _written(matrix, 0, matrix.shape[0])
    bounds = np.concatenate([[0], np.cumsum(counts)])
    kind = csr_array if isinstance(matrix, sparray) else csr_matrix
    return kind((values, columns.astype(matrix.indices.dtype), bounds.astype(matrix.indptr.dtype)), shape=matrix.shape)


def _written(matrix: Any, start: int, stop: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]:
    """How many values within the matrix are written of each of some rows, in which columns, and which they are."""
    bounds = np.clip(matrix.indptr[start : stop + 1].astype(np.int64), 0, min(len(matrix.indices), len(matrix.data)))
    counts = np.maximum(np.diff(bounds), 0)
    rows = np.repeat(np.arange(len(counts)), counts)
    places = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts - bounds[:-1], counts)
    columns = matrix.indices[places].astype(np.int64)
    inside = (columns >= 0) & (columns < matrix.shape[1])
    return np.bincount(rows[inside], minlength=len(counts)), columns[inside], matrix.data[places][inside]
