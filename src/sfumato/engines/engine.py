"""The two things that an engine does: it opens private records, and folds passes over them.

Adding integers is associative, so every engine, every way of cutting the records and every order of them gives the
same bits. No number of records is too many: it may be private, and nothing may depend on it but time.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from sfumato.checks import shown
from sfumato.core.box import Box
from sfumato.core.neighbours import Unit
from sfumato.engines.memory import MemoryEngine
from sfumato.engines.passes import Pass
from sfumato.engines.table import Columns, Table
from sfumato.engines.totals import Totals
from sfumato.errors import ParameterError, ParameterTypeError


class Records(Protocol):
    """Private records that an engine has opened; they do not print, pickle or copy."""

    @property
    def rows(self) -> int:
        """The number of records."""
        ...

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What reading each record alone rests on that nobody can check, in words for the guarantee."""
        ...


@runtime_checkable
class HasWhole(Protocol):
    """Records that are there all at once, for what is no sum over records."""

    def whole(self) -> Table:
        """The table."""
        ...


@runtime_checkable
class HasContents(Protocol):
    """An engine that says what frames of its library hold, where they are."""

    def contents(self, data: Any, salt: bytes) -> Any:
        """Their ``Contents``."""
        ...


@runtime_checkable
class Engine(Protocol):
    """Where records are, and what adds up what each of them contributes."""

    def open(self, data: Any, box: Box, unit: Unit, columns: Columns = None) -> Records:
        """Open the data and check their schema; ``columns`` are those that must be there, by default the box's."""
        ...

    def fold(self, records: Any, one: Pass) -> Totals:
        """What a pass adds up over all records."""
        ...


def engine_for(engine: object, data: Any) -> Engine:
    """The engine that was asked for, or that the kind of the data asks for; refuses what is none, reading nothing."""
    if engine is None or (isinstance(engine, str) and engine == "auto"):
        return _by_kind(data)
    if isinstance(engine, type) or not isinstance(engine, Engine):
        raise ParameterTypeError(
            "engine must be an engine, with the methods open and fold (sf.engines.Dask(), sf.engines.Spark()), or "
            f"'auto' for one by the kind of the data, which is one in memory for most, got engine={shown(engine)}"
        )
    return engine


def _by_kind(data: Any) -> Engine:
    library = type(data).__module__.partition(".")[0]
    if library in ("dask", "dask_expr"):
        from sfumato.engines.dask import Dask

        return Dask()
    if library == "pyspark":
        from sfumato.engines.spark import Spark

        return Spark(getattr(data, "sparkSession", None))
    return MemoryEngine()


def whole_of(records: Any, what: str) -> Table:
    """All records as one table, for something that is no sum over them; not every engine has that."""
    if not isinstance(records, HasWhole):
        raise ParameterError(
            f"{what} needs the whole table at once, which this engine does not have: leave engine= out, and pass a "
            "table that fits into memory"
        )
    return records.whole()
