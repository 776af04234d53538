"""Box files: a public box written down as TOML, so that commands and colleagues share the same bounds.

    [columns.age]
    low = 0
    high = 110
    kind = "integer"          # or "periodic" (with whole = true: whole numbers); "interval" when left out

    [columns.visit]
    low = 2020-01-01          # or a time: 2020-01-01T08:00:00, 2020-01-01T08:00:00Z
    high = 2025-01-01

    [columns.sex]
    categories = ["f", "m"]   # instead of bounds

``max_norm = 1.0`` may stand above the first column. Bounds come from knowledge, never from the data.
"""

from __future__ import annotations

import csv
import gzip
import json
import math
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from sfumato.checks import did_you_mean, finite_number, one_of, positive_number, shown
from sfumato.codec import NUMERIC
from sfumato.core.box import Box, Categorical, Column, Date, Interval, Periodic
from sfumato.errors import ParameterError, ParameterTypeError, SchemaError, SfumatoError

_TOP = ("columns", "max_norm")
_COLUMN = ("low", "high", "kind", "whole", "categories")
_TABLES = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
_PARQUET = (".parquet", ".pq")
_LONGEST_HEADER = 2**20


# --- reading ----------------------------------------------------------------------------------------------


def read_box(path: str | os.PathLike[str]) -> Box:
    """Read a box from a TOML file, refusing what is unknown, missing or of the wrong type.

    Parameters
    ----------
    path
        A file with one ``[columns.name]`` table a column, in the order of the box.
    """
    name = os.fspath(path)
    try:
        document = tomllib.loads(Path(path).read_text("utf-8"))
    except FileNotFoundError:
        raise SchemaError(f"{name}: there is no such file") from None
    except OSError as error:
        raise SchemaError(f"{name}: cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SchemaError(f"{name}: not valid TOML ({error})") from None
    try:
        return _box(document)
    except SfumatoError as error:
        raise type(error)(f"{name}: {error}") from None


def _box(document: Mapping[str, Any]) -> Box:
    _refuse_unknown(document, _TOP, "")
    tables = document.get("columns")
    if not isinstance(tables, dict) or not tables:
        raise SchemaError("no columns: write one table a column, such as [columns.age] with low and high")
    columns = {name: _column(name, table) for name, table in tables.items()}
    if "max_norm" not in document:
        return Box(columns)
    return Box(columns, max_norm=positive_number("max_norm", document["max_norm"]))


def _refuse_unknown(table: Mapping[str, Any], allowed: Sequence[str], where: str) -> None:
    for key in table:
        if key not in allowed:
            hint = "; max_norm belongs above the first [columns...]" if key == "max_norm" else ""
            raise ParameterError(
                f"{where}unknown key {key!r}; allowed are {', '.join(allowed)}{hint}{did_you_mean(key, allowed)}"
            )


def _column(name: str, table: object) -> Column:
    where = f"column {name!r}: "
    if not isinstance(table, dict):
        raise ParameterTypeError(f"{where}must be a table such as [columns.{_key(name)}] with low and high")
    _refuse_unknown(table, _COLUMN, where)
    try:
        return _categorical(table) if "categories" in table else _numeric(table)
    except SfumatoError as error:
        raise type(error)(f"{where}{error}") from None


def _categorical(table: Mapping[str, Any]) -> Categorical:
    for key in ("low", "high", "kind", "whole"):
        if key in table:
            raise ParameterError(f"give either categories or low and high, got both categories and {key}")
    values = table["categories"]
    # Stricter than TOML, whose booleans and not-a-numbers would pass for numbers.
    numbers = isinstance(values, list) and all(type(v) in (int, float) and math.isfinite(v) for v in values)
    texts = isinstance(values, list) and all(isinstance(v, str) for v in values)
    if not numbers and not texts:
        raise ParameterTypeError(
            f"categories must be a list of texts or a list of numbers, got categories={shown(values)}"
        )
    return Categorical(tuple(values))


def _numeric(table: Mapping[str, Any]) -> Interval:
    missing = [key for key in ("low", "high") if key not in table]
    if missing:
        raise ParameterError(
            f"{' and '.join(missing)} missing: give low and high, or categories; bounds are public knowledge and "
            "never taken from the data"
        )
    dates = [isinstance(table[key], date) for key in ("low", "high")]
    kind = one_of("kind", table.get("kind", "date" if any(dates) else "interval"), tuple(NUMERIC))
    if (kind == "date") != all(dates):
        raise ParameterTypeError(
            f"low and high must both be dates such as 2020-01-31 (not in quotes) where kind is 'date', and numbers "
            f"elsewhere, got kind={kind!r}, low={shown(table['low'])}, high={shown(table['high'])}"
        )
    if kind == "date":
        return Date(table["low"], table["high"])
    bounds = finite_number("low", table["low"]), finite_number("high", table["high"])
    if "whole" not in table:
        return NUMERIC[kind](*bounds)
    if kind != "periodic":
        raise ParameterError(f'whole belongs to kind = "periodic", got kind={kind!r}; whole numbers are "integer"')
    return Periodic(*bounds, whole=table["whole"])


# --- templates --------------------------------------------------------------------------------------------


def column_types(path: str | os.PathLike[str]) -> list[tuple[str, str]]:
    """The names and types of a table's columns: ``number``, ``date``, ``text``, ``other`` or, in CSV, ``unknown``.

    Nothing but the schema is read: of a CSV file the first line, of a Parquet file its footer.

    Parameters
    ----------
    path
        A CSV (also ``.tsv``, ``.gz``) or Parquet file.
    """
    name = os.fspath(path)
    try:
        if name.lower().endswith(_PARQUET):
            return _parquet_types(name)
        if name.lower().endswith(_TABLES):
            return [(column, "unknown") for column in _header(name)]
    except FileNotFoundError:
        raise SchemaError(f"{name}: there is no such file") from None
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
        # The type of the error only: its text may quote the file.
        raise SchemaError(f"{name}: its column names cannot be read ({type(error).__name__})") from None
    raise SchemaError(f"{name}: the name must end in {', '.join(_PARQUET)}, {' or '.join(_TABLES)}")


def _header(name: str) -> list[str]:
    """The names in the first line. One line exactly: an open quote must not swallow records into a name."""
    opened = gzip.open if name.lower().endswith(".gz") else open
    with opened(name, "rb") as file:  # as bytes: a reader of text would decode records, too
        line = file.readline(_LONGEST_HEADER).decode("utf-8-sig")
    delimiter = "\t" if ".tsv" in name.lower()[-7:] else ","
    names = next(csv.reader([line.rstrip("\r\n")], delimiter=delimiter, strict=True), [])
    # A first line without names is a record, and a template must not show one.
    if not names or len(set(names)) < len(names) or not all(any(c.isalpha() for c in column) for column in names):
        raise SchemaError(f"{name}: the first line must name the columns, each once and with at least one letter")
    return names


def _parquet_types(name: str) -> list[tuple[str, str]]:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        schema = parquet.read_schema(name)
    except pa.ArrowException:
        raise SchemaError(f"{name}: not a Parquet file") from None
    if len(set(schema.names)) < len(schema.names) or not schema.names:
        raise SchemaError(f"{name}: it must have columns, each with a name of its own")
    return [(field.name, _arrow_type(field.type)) for field in schema]


def _arrow_type(kind: Any) -> str:
    from pyarrow import types

    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_timestamp(kind) or types.is_date(kind):
        return "date"
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_boolean(kind):
        return "number"
    return "text" if types.is_string(kind) or types.is_large_string(kind) or "string_view" in str(kind) else "other"


_HEAD = """\
# The public box of {source}: a template.
# It holds the names of the columns and nothing else from the data. Fill in bounds
# that were known before anyone looked at the data; remove the columns not needed.
"""
_NO_TYPES = "# A CSV file has no types, and only its first line was read: types are unknown.\n"
_NUMBER = """\
# low =
# high =
# kind = "interval"  # or "integer", "periodic"
"""
_DATE = """\
# low =   # a date, or a time with or without a zone: 2020-01-31, 2020-01-31T08:00:00, 2020-01-31T08:00:00Z
# high =
"""
_TEXT = '# categories = ["...", "..."]\n'
_BODIES = {
    "number": f"# type: number\n{_NUMBER}",
    "text": f"# type: text\n{_TEXT}",
    "date": f"# type: date or time\n{_DATE}",
    "unknown": f"# type: unknown; bounds for a number or a date (2020-01-31), categories for text\n{_NUMBER}{_TEXT}",
    "other": "# type: neither number nor text nor date; remove this column\n",
}


def template(columns: Sequence[tuple[str, str]], source: str) -> str:
    """The text of a box file in which only the bounds are missing.

    Parameters
    ----------
    columns
        Names and types, as ``column_types`` returns them.
    source
        What the box is of, for the comment at the top.

    >>> print(template([("age", "number")], "cohort.parquet").split("; ")[1])
    remove the columns not needed.
    <BLANKLINE>
    [columns.age]
    # type: number
    # low =
    # high =
    # kind = "interval"  # or "integer", "periodic"
    <BLANKLINE>
    """
    head = _HEAD.format(source=_quoted(source))
    if any(kind == "unknown" for _, kind in columns):
        head += _NO_TYPES
    return head + "".join(f"\n[columns.{_key(name)}]\n{_BODIES[kind]}" for name, kind in columns)


def _key(name: str) -> str:
    """A name as a TOML key, quoted where it must be."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quoted(name)


def _quoted(text: str) -> str:
    """A TOML string on one line; JSON's escapes are TOML's, except that TOML escapes DEL too."""
    kept = text.encode("utf-8", "replace").decode("utf-8")
    return json.dumps(kept, ensure_ascii=False).replace("\x7f", "\\u007f")
