"""What somebody hands over as a table or a column, as a frame that narwhals knows, and by its type alone."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from sfumato.core.box import Box
from sfumato.engines.columns import tabular
from sfumato.errors import ParameterTypeError, SchemaError
from sfumato.values import entries, entries_of, told_by_kind


def as_frame(data: Any) -> Any:
    """Whatever narwhals knows, or hands its records on as a stream of Arrow's (the result of a query, for one)."""
    try:
        return nw.from_native(tabular(data), eager_only=True)
    except nw.exceptions.DuplicateError:
        raise SchemaError("two columns of the data have the same name") from None
    except TypeError:
        if hasattr(type(data), "__arrow_c_stream__"):
            return as_frame(_read_stream(data))
        raise ParameterTypeError(
            "data must be a numpy array, an (X, y) pair, a pandas, polars or pyarrow table or column, a dict of "
            "columns, anything else with __arrow_c_stream__, a path to CSV or Parquet, or an sf.Csv, got "
            f"{type(data).__name__}"
        ) from None


def _read_stream(data: Any) -> Any:
    import pyarrow as pa

    with told_by_kind(f"{type(data).__name__}: its stream cannot be read as a table"):
        return pa.table(data)


def is_arrow_column(data: Any) -> bool:
    """A table of Arrow's has no type."""
    return hasattr(type(data), "to_pylist") and hasattr(type(data), "type")


def name_of(values: Any, box: Box) -> str:
    """What a column by itself is called; without a name, as the box's only column is."""
    name = getattr(values, "name", None)
    if isinstance(name, str) and name:
        return name
    if box.dimension > 1:
        raise SchemaError(f"a column without a name is none of {list(box.names)}; name it, or pass a table")
    return box.names[0]


def by_itself(table: Any) -> Any:
    """An Arrow table of rows that were picked, without what may tell of others: entries, ends of chunks."""
    return _in_one_piece(_with_used_entries(table))


def _with_used_entries(table: Any) -> Any:
    """An Arrow table whose dictionaries hold what its rows have, in the order of these: not what other rows had."""
    import pyarrow as pa

    for place, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(place, field, used_entries(table.column(place)))
    return table


def _in_one_piece(table: Any) -> Any:
    """The same Arrow table in which the ends of chunks do not tell where rows were left out.

    Dictionaries stay as they are, and columns that Arrow cannot put together: that may depend on what they hold.
    """
    import pyarrow as pa

    for place, field in enumerate(table.schema):
        with suppress(pa.ArrowException):
            if not pa.types.is_dictionary(field.type):
                whole = table.select([place]).combine_chunks()
                table = table.set_column(place, field, whole.column(0))
    return table


def used_entries(column: Any) -> Any:
    """The same of one column, chunk by chunk: whether dictionaries fit together depends on what they hold."""
    import pyarrow as pa

    return pa.chunked_array([_used(chunk) for chunk in column.chunks], column.type)


def _used(chunk: Any) -> Any:
    import pyarrow as pa

    kind, codes = chunk.type, entries(chunk)
    missing = codes < 0
    used, first, places = np.unique(codes[~missing], return_index=True, return_inverse=True)
    order = np.argsort(first)
    renumbered = np.zeros(len(codes), dtype=np.int64)
    renumbered[~missing] = np.argsort(order)[places]
    indices = pa.array(renumbered, mask=missing).cast(kind.index_type)
    return pa.DictionaryArray.from_arrays(indices, chunk.dictionary.take(pa.array(used[order])), ordered=kind.ordered)


def used_categories(array: Any) -> Any:
    """Pandas' categories that some rows have, in the order of these rows; ordered ones in their own order."""
    if array.ordered:
        return array.remove_unused_categories()
    codes = entries_of(np.asarray(array.codes), len(array.categories))
    used, first = np.unique(codes[codes >= 0], return_index=True)
    order = used[np.argsort(first)]
    renumbered = np.full(len(array.categories) + 1, -1)  # the last is for those that are missing
    renumbered[order] = np.arange(len(order))
    kind = type(array.dtype)(array.categories.take(order))
    return type(array).from_codes(renumbered[codes], dtype=kind)


def without_mask(values: NDArray[Any]) -> NDArray[Any]:
    """An array of one axis in which what is masked is missing; whole numbers become objects, as doubles hold few."""
    if not isinstance(values, np.ma.MaskedArray):
        return values
    plain, hidden = np.asarray(values), np.ma.getmaskarray(values)
    plain = plain.copy() if plain.dtype.kind in "fM" else plain.astype(object)
    plain[hidden] = {"f": np.nan, "M": np.datetime64("NaT")}.get(plain.dtype.kind)
    return plain
