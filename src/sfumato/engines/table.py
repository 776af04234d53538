"""What every opened table is, whichever library or file holds its records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sfumato.core.box import Box, Column
from sfumato.core.whole import Sealed

Values = list[Any]
Columns = Sequence[str] | Mapping[str, object] | None


class Schema(NamedTuple):
    """All that is public of a table: one of the same kind without records, and what was declared of its columns."""

    empty: Any
    declared: Mapping[str, Column]


class Table(Sealed, ABC):
    """Private records behind one face: they do not print, pickle or copy.

    ``native`` is what a black box sees, the caller's own kind of table; ``batches`` goes through the records once, in
    pieces.
    """

    def __init__(self, native: Any, rows: int) -> None:
        self._given, self._rows = native, rows

    def __repr__(self) -> str:
        return f"<private table of {type(self._given).__name__}>"

    @property
    def native(self) -> Any:
        """All records as one table, with the declared columns cleaned."""
        return self._given

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What reading each record alone rests on that nobody can check, in words for the guarantee."""
        return ()

    @property
    def rows(self) -> int:
        """The number of records."""
        return self._rows

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """What ``native`` looks like without its records."""

    @abstractmethod
    def batches(self, box: Box, rows: int) -> Iterator[Values]:
        """The box's columns in its order, at most ``rows`` records at a time, as they were read.

        Numbers are doubles, NaN where one is missing, and may be a view of the data: do not write into them. A column
        of text categories is an Arrow array or a list.
        """
