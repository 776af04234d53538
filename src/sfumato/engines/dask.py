"""The engine that works on Dask: its frames, and files of which each worker reads its own part."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.core.box import Box, Column
from sfumato.core.neighbours import Person, Unit
from sfumato.engines.clusters import Scattered, attempt, checked, open_scattered
from sfumato.engines.contents import Contents, contents_of_parts
from sfumato.engines.memory import rows_at_once
from sfumato.engines.passes import Pass
from sfumato.engines.shuffle import bundle, chosen, split
from sfumato.engines.table import Columns
from sfumato.engines.totals import Totals
from sfumato.engines.workers import VERSIONS, Answer, FramePart, added, asked, features, fold
from sfumato.errors import NOTHING_LOST, EngineError, ParameterTypeError
from sfumato.extras import need, need_version

_FAN = 16  # answers that are added up at a time
_BUCKETS = 64  # workers among whom persons are divided, at most
_KEPT = 2**24  # numbers of features that are kept in this process: 128 MiB; a cluster keeps all


@dataclass(frozen=True)
class Dask:
    """Folds passes where Dask has the records: in threads of this process, or on a cluster that the caller has.

    Parameters
    ----------
    client
        A ``distributed.Client``; None: the one that is current, else threads.

    ``data`` are a Dask DataFrame, a path, or a list of paths; workers read files themselves, so that they need the same
    paths. Sums are the same, bit by bit, as in memory.
    """

    client: Any = None

    def __post_init__(self) -> None:
        need_version("dask", "dask", (2024, 3))
        if self.client is not None:
            need_version("distributed", "dask", (2024, 3))
        if self.client is not None and not hasattr(type(self.client), "scheduler_info"):
            raise ParameterTypeError.of(
                "client", f"must be a distributed.Client or None, got {type(self.client).__name__}"
            )

    def open(self, data: Any, box: Box, unit: Unit, columns: Columns = None) -> Scattered:
        """Open the data and check their schema; ``columns`` are those that must be there, by default the box's."""
        return open_scattered("Dask", (data, box, unit, columns), self.fold, _empty)

    def fold(self, records: Scattered, one: Pass) -> Totals:
        """What a pass adds up over all records."""
        records.check(one)
        parts, sent = self._parts(records, one), self._delayed(one)
        answers = [self._call(fold, part, sent) for part in parts]
        return records.accept(self._run(self._added(answers, one.size, one.largest)), one)

    def contents(self, data: Any, salt: bytes) -> Contents:
        """What a Dask DataFrame holds; its records stay where they are."""
        named = attempt("Dask", lambda: data.rename(columns=str))  # as labels need not be text
        names, frames = tuple(sorted(_empty(named).columns)), attempt("Dask", named.to_delayed)
        answers = [self._call(contents_of_parts, [self._call(FramePart, frame, {})], names, salt) for frame in frames]
        answer = checked(self._run(self._added(answers, 0, 1)))
        return Contents(names, answer.rows, answer.mark)

    # --- graphs -----------------------------------------------------------------------------------------------------

    def _parts(self, records: Scattered, one: Pass) -> Sequence[Any]:
        """What a pass is folded over: the parts of the records, or the features that were made of them."""
        wanted = one.features
        if wanted is None:
            return self._sources(records, one.box)
        if wanted not in records.kept:
            if self._cluster() is None and records.rows * wanted.width > _KEPT:
                return self._sources(records, one.box)  # made again: in this process they are what they were
            rows = rows_at_once(one)
            made = [self._call(features, part, self._delayed(wanted), rows) for part in self._sources(records, one.box)]
            records.kept[wanted] = attempt("Dask", lambda: self._dask().persist(*made, **self._where()))
        return records.kept[wanted]  # type: ignore[no-any-return]

    def _sources(self, records: Scattered, box: Box) -> Sequence[Any]:
        """The parts of the records, with the columns of a box; of persons, the rows that count."""
        unit = records.scheme.unit
        if not isinstance(unit, Person):
            return self._given(records, dict(zip(box.names, box.columns, strict=True)))
        if unit not in records.kept:
            records.kept[unit] = self._persons(records, unit)
        return records.kept[unit]  # type: ignore[no-any-return]

    def _persons(self, records: Scattered, unit: Person) -> Sequence[Any]:
        """The rows that count: each person's go to one worker, who chooses among them."""
        kinds, person = records.scheme.kinds, str(unit.column)
        parts = self._given(records, kinds, person)
        count = min(len(parts), _BUCKETS)
        found = [self._call(split, part, person, self._delayed(kinds), count) for part in parts]
        bundles = [[self._call(bundle, one, bucket) for one in found] for bucket in range(count)]
        return attempt(  # type: ignore[no-any-return]
            "Dask", lambda: self._dask().persist(*(self._call(chosen, mine, unit) for mine in bundles), **self._where())
        )

    def _given(self, records: Scattered, kinds: Mapping[str, Column], *others: str) -> list[Any]:
        if isinstance(records.parts, list):
            return [self._delayed(piece) for piece in records.parts]
        names = list(dict.fromkeys([*kinds, *others]))
        frames = attempt("Dask", lambda: records.parts[names].to_delayed())
        return [self._call(FramePart, frame, self._delayed(kinds)) for frame in frames]

    def _added(self, answers: list[Any], size: int, largest: int) -> Any:
        while len(answers) > 1:
            groups = [answers[start : start + _FAN] for start in range(0, len(answers), _FAN)]
            answers = [self._call(added, group, size, largest) for group in groups]
        return answers[0]

    def _call(self, function: Callable[..., Any], *given: Any) -> Any:
        return need("dask.delayed", "dask").delayed(asked, pure=False)(VERSIONS, function, *given)

    def _delayed(self, given: Any) -> Any:
        """Something public that goes to workers as it is, once for all of them."""
        return need("dask.delayed", "dask").delayed(given, pure=False, traverse=False)

    # --- running ----------------------------------------------------------------------------------------------------

    def _run(self, what: Any) -> Answer:
        found = attempt("Dask", lambda: self._dask().compute(what, **self._where())[0])
        assert isinstance(found, Answer)
        return found

    def _dask(self) -> Any:
        return need("dask", "dask")

    def _where(self) -> dict[str, Any]:
        return {} if self.client is None else {"scheduler": self.client}

    def _cluster(self) -> Any:
        """The cluster's client; None where threads of this process do the work."""
        if self.client is not None or "distributed" not in sys.modules:
            return self.client
        try:
            return sys.modules["distributed"].default_client()
        except ValueError:
            return None


def _empty(data: Any) -> Any:
    """A frame without records, which Dask keeps beside each of its own; by the type of the data alone."""
    kind = type(data)
    ours = kind.__module__.partition(".")[0] in ("dask", "dask_expr") and kind.__name__ == "DataFrame"
    return data._meta if ours else None


def client_at(address: str) -> Any:
    """A client of the cluster at an address."""
    try:
        return need_version("distributed", "dask", (2024, 3)).Client(address, set_as_default=False)
    except (OSError, ValueError) as error:
        kind = type(error).__name__
    raise EngineError(f"no Dask scheduler answers at {address!r} ({kind}): {NOTHING_LOST}")
