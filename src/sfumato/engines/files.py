"""CSV and Parquet files as pyarrow tables.

A CSV file has no types, and inferring them lets one record change how all others are read ("01" and "1" are one
number but two texts). So nothing is inferred: declared numeric columns are read as numbers cell by cell, every other
column stays text.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Mapping
from typing import Any

from sfumato.core.box import Categorical, Column
from sfumato.errors import MissingFileError, SchemaError

# What counts as a number in a CSV cell. Python's float() would also take "1_000" and "infinity".
_NUMBER = r"^[ \t]*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?[ \t]*$"
_ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz")


def read_file(path: str, declared: Mapping[str, Column]) -> Any:
    """Read a file into a pyarrow table; what cannot be opened or is not a table at all raises ``SchemaError``."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        if path.lower().endswith((".parquet", ".pq")):
            return parquet.read_table(path)
        if path.lower().endswith(_ENDINGS):
            return _read_csv(path, declared)
    except FileNotFoundError:
        raise MissingFileError(f"{path}: there is no such file") from None
    except (OSError, EOFError, pa.ArrowException) as error:
        raise SchemaError(f"{path}: cannot be read as a table ({type(error).__name__})") from None
    raise SchemaError(f"{path}: the name must end in .parquet, {' or '.join(_ENDINGS)}")


def _read_csv(path: str, declared: Mapping[str, Column]) -> Any:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    delimiter = "\t" if ".tsv" in path.lower()[-7:] else ","
    opened = gzip.open if path.lower().endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8-sig", errors="replace", newline="") as file:
        names = next(csv.reader(file, delimiter=delimiter), [])
    if len(set(names)) < len(names) or not names:
        raise SchemaError(f"{path}: the first line must name the columns, each once")
    table = arrow_csv.read_csv(
        path,
        # A torn line is left out: one record, judged by itself.
        parse_options=arrow_csv.ParseOptions(
            delimiter=delimiter,
            newlines_in_values=True,
            invalid_row_handler=lambda _: "skip",
            ignore_empty_lines=len(names) > 1,  # in a table of one column an empty line is a missing value
        ),
        read_options=arrow_csv.ReadOptions(column_names=names, skip_rows=1),
        convert_options=arrow_csv.ConvertOptions(
            column_types={name: pa.binary() for name in names}, check_utf8=False, strings_can_be_null=False
        ),
    )
    for index, name in enumerate(names):
        numeric = name in declared and not _is_text(declared[name])
        column = _as_text(table.column(name))
        table = table.set_column(index, name, _as_numbers(column) if numeric else column)
    return table


def _is_text(column: Column) -> bool:
    return isinstance(column, Categorical) and isinstance(column.categories[0], str)


def _as_text(cells: Any) -> Any:
    """Bytes as text; bytes that are no text are replaced, cell by cell."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        return pc.cast(cells, pa.string())
    except pa.ArrowException:
        return pa.chunked_array([[cell.decode("utf-8", "replace") for cell in cells.to_pylist()]], pa.string())


def _as_numbers(texts: Any) -> Any:
    """Cells that read as numbers, as doubles; every other cell as missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    fits = pc.match_substring_regex(texts, _NUMBER)
    kept = pc.if_else(fits, texts, pa.scalar(None, pa.string()))
    return pc.cast(pc.utf8_trim_whitespace(kept), pa.float64())
