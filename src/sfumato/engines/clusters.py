"""What engines whose records are elsewhere have in common, in the process that asks: schema, parts, fingerprints."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sfumato.core.box import Box, Column
from sfumato.core.neighbours import Unit
from sfumato.core.whole import Sealed
from sfumato.engines.files import Csv, File, ParquetFile, open_file
from sfumato.engines.passes import Integers, Pass, Values
from sfumato.engines.table import Columns
from sfumato.engines.tables import check_names, declarations, open_table
from sfumato.engines.totals import Totals
from sfumato.engines.workers import SENTENCES, VERSIONS, Answer, Piece, schema_of
from sfumato.errors import NOTHING_LOST, EngineError, ParameterTypeError, SchemaError, SfumatoError

_ROWS = 2**22  # of a Parquet file that are one part


@dataclass(frozen=True)
class Scheme:
    """What is public of records that are elsewhere: their columns, those that passes may read, who is protected."""

    names: tuple[str, ...]
    kinds: dict[str, Column]
    unit: Unit


def scheme_of(empty: Any, box: Box, unit: Unit, columns: Columns) -> Scheme:
    """Check a table without records, as every table is checked that is opened, and say what is in it."""
    open_table(empty, box, unit, columns)
    kinds, names = declarations(box, columns)[0], tuple(empty.schema.names if hasattr(empty, "schema") else empty)
    return Scheme(names, {name: kind for name, kind in kinds.items() if name in names}, unit)


class Scattered(Sealed):
    """Private records in parts that are elsewhere.

    Parameters
    ----------
    parts
        What an engine finds them by.
    scheme
        What is public of them.
    count
        Counts them: called once, and only if somebody asks.
    assumptions
        What reading each record alone rests on, in words for the guarantee.
    """

    __slots__ = ("__weakref__", "_count", "_rows", "_seen", "assumptions", "kept", "parts", "scheme")

    def __init__(
        self, parts: Any, scheme: Scheme, count: Callable[[Scattered], int], assumptions: tuple[str, ...] = ()
    ) -> None:
        self.parts, self.scheme, self.assumptions = parts, scheme, assumptions
        self.kept: dict[Any, Any] = {}  # features, by what they are made with
        self._count, self._rows = count, -1
        self._seen: dict[Any, tuple[int, tuple[int, int]]] = {}

    def __repr__(self) -> str:
        return "<private records>"

    @property
    def rows(self) -> int:
        """The number of records."""
        if self._rows < 0:
            self._rows = self._count(self)
        return self._rows

    def check(self, one: Pass) -> None:
        """Refuse a pass over columns that the records do not have."""
        check_names(one.box.names, self.scheme.names)

    def accept(self, answer: Answer, one: Pass) -> Totals:
        """The totals of a pass, if all workers got through and saw the records that were there before."""
        checked(answer)
        what, seen = one.box if one.features is None else one.features, (answer.rows, answer.mark)
        whole = one.features is None or one.features.every == 1  # of a sample it is unknown how many there are
        changed = whole and answer.rows != self._rows >= 0
        if whole:
            self._rows = answer.rows
        if changed or self._seen.setdefault(what, seen) != seen:
            raise EngineError(
                f"the records changed between two passes over them: {NOTHING_LOST}. Write them to a file first, or "
                "persist the frame: a random or time-dependent column is computed anew in every pass"
            )
        return Totals.received(answer.limbs, answer.rows, one.size, one.largest)


@dataclass(frozen=True)
class Rows:
    """A pass that only counts records."""

    box: Box
    features = None
    size = 0
    largest = 1

    def add(self, total: Integers, columns: Values) -> None:
        """Whoever folds counts them."""


def counting(fold: Callable[[Any, Pass], Totals]) -> Callable[[Scattered], int]:
    """How records are counted by a fold: over one column, which is read."""

    def count(records: Scattered) -> int:
        name = next(iter(records.scheme.kinds), None)
        if name is None:
            raise SchemaError(f"the data have none of the columns of the box (they have {list(records.scheme.names)})")
        return fold(records, Rows(Box({name: records.scheme.kinds[name]}))).rows

    return count


def checked(answer: Answer) -> Answer:
    """An answer, if all workers got through."""
    if answer.trouble == 4:
        raise EngineError(_other_versions(answer.limbs.decode("ascii", "replace")))
    if answer.trouble:
        raise EngineError(
            f"{SENTENCES[answer.trouble]}: {NOTHING_LOST} (why is not shown, as it may hold values of records; "
            "docs/scaling.md says what workers need)"
        )
    return answer


def _other_versions(theirs: str) -> str:
    known = f" ({theirs})" if theirs not in ("", VERSIONS) else ""
    return f"{SENTENCES[4]}{known}: {NOTHING_LOST}. Install {VERSIONS} there, as it is here, or here what is there"


def attempt(who: str, run: Callable[[], Any]) -> Any:
    """What a library does for us; whatever it raises, only the kind is told: what a frame is made by may print values.

    Parameters
    ----------
    who
        The library.
    """
    try:
        return run()
    except (KeyboardInterrupt, SystemExit, SfumatoError):
        raise
    except BaseException as error:
        kind, python = type(error).__name__, "[PYTHON_VERSION_MISMATCH]" in _told(error)
    if python:  # PySpark looks before any function of ours is there
        raise EngineError(_other_versions("another Python"))
    raise EngineError(
        f"{who} could not compute the data ({kind}): {NOTHING_LOST}, and it is safe to try again. What it said is not "
        f"shown, as it may hold values of records; is the cluster still there, has every worker {VERSIONS}, and "
        "can the frame be computed?"
    )


def _told(error: BaseException) -> str:
    with suppress(Exception):  # it may have to ask a cluster that is gone
        return str(error)
    return ""


def open_scattered(
    who: str,
    given: tuple[Any, Box, Unit, Columns],
    fold: Callable[[Any, Pass], Totals],
    empty: Callable[[Any], Any],
) -> Scattered:
    """Open paths, or a frame.

    Parameters
    ----------
    who
        Whose frames they may be.
    given
        Data, box, unit and columns, as an engine gets them.
    fold
        What counts records, where that takes a pass.
    empty
        A frame's schema as a table without records; None of what is no frame.
    """
    data, box, unit, columns = given
    paths = paths_in(data)
    if paths is not None:
        scheme, pieces, rows, assumptions = open_paths(paths, box, unit, columns)
        return Scattered(pieces, scheme, counting(fold) if rows is None else (lambda _: rows), assumptions)
    found = attempt(who, lambda: empty(data))
    if found is None:
        raise ParameterTypeError(
            f"data must be a {who} DataFrame, a path to CSV or Parquet, or a list of such paths, for this engine, got "
            f"{type(data).__name__}; leave engine= out for a table in memory"
        )
    return Scattered(data, scheme_of(found, box, unit, columns), counting(fold))


# --- paths ----------------------------------------------------------------------------------------------------------


def paths_in(data: Any) -> list[str | Csv] | None:
    """The paths that were given, one or several; None if data are no paths."""
    given = data if isinstance(data, list | tuple) and data else [data]
    if not all(isinstance(one, str | os.PathLike | Csv) for one in given):
        return None
    return [one if isinstance(one, Csv) else os.fspath(one) for one in given]


def open_paths(
    paths: Sequence[str | Csv], box: Box, unit: Unit, columns: Columns
) -> tuple[Scheme, list[Piece], int | None, tuple[str, ...]]:
    """Check files, and say what of them is one part each; how many rows there are, if that is known without reading."""
    opened = [open_file(path) for path in paths]
    for path in paths:
        open_table(path, box, "row", columns)  # each of them, as the engine in memory does
    kinds, first = declarations(box, columns)[0], opened[0]
    if any(schema_of(one) != schema_of(first) or type(one) is not type(first) for one in opened[1:]):
        raise SchemaError(f"{first.path} and the other files must have the same columns, of the same types")
    scheme = scheme_of(first.empty(kinds), box, unit, columns)
    pieces = [piece for path, file in zip(paths, opened, strict=True) for piece in _pieces(path, file)]
    known = sum(file.rows() for file in opened) if isinstance(first, ParquetFile) and unit == "row" else None
    return scheme, pieces, known, first.assumptions


def _pieces(path: str | Csv, file: File) -> list[Piece]:
    schema = schema_of(file)
    if isinstance(file, ParquetFile):
        return [Piece(part, groups, schema) for part, groups in file.pieces(_ROWS)]
    return [Piece(path, None, schema)]
