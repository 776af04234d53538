"""Persons whose rows lie in several parts: rows go to one worker by their owner, who says there which of them count.

Rows travel as passes read them. Where they go is a hash of the identifier that equal identifiers share whatever their
types are in each part, as a missing value may have made doubles of whole numbers: a library's own shuffle would send
them elsewhere, and a person would count twice.
"""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.box import Box, Categorical, Column
from sfumato.core.neighbours import Person
from sfumato.engines.cells import positions
from sfumato.engines.columns import Coded
from sfumato.engines.files import is_text
from sfumato.engines.passes import Values
from sfumato.engines.persons import owners_of, rows_kept, salts_of, somebody
from sfumato.engines.table import Schema, Table
from sfumato.engines.workers import Answer, Owning, failure, guarded

Flags = NDArray[np.bool_]
Stored = Mapping[str, NDArray[Any]]  # doubles, and places of text among its categories

_ROWS = 65_536  # that are read at a time


@dataclass(frozen=True, repr=False)
class ReadRows:
    """Rows as passes read them: a part of the records that can be sent."""

    values: Stored
    kinds: Mapping[str, Column]

    def table(self) -> ReadTable:
        """They as a table."""
        return ReadTable(self)

    def picked(self, kept: Flags) -> ReadRows:
        """Some of the rows."""
        return ReadRows({name: values[kept] for name, values in self.values.items()}, self.kinds)


class ReadTable(Table):
    """Rows that were read before."""

    def __init__(self, rows: ReadRows) -> None:
        super().__init__(rows, len(next(iter(rows.values.values()))))

    @property
    def schema(self) -> Schema:
        """Nobody asks it of a part."""
        return Schema({}, self._given.kinds)

    def batches(self, box: Box, rows: int) -> Iterator[Values]:
        for start in range(0, self.rows, rows):
            yield [self._column(name, slice(start, start + rows)) for name in box.names]

    def _column(self, name: str, part: slice) -> Any:
        values, kind = self._given.values[name][part], self._given.kinds[name]
        return texts_of(values, kind) if is_text(kind) else values


def texts_of(places: NDArray[Any], kind: Categorical) -> Any:
    """Places among categories as an Arrow array of text; those of no category are missing."""
    import pyarrow as pa

    indices = pa.array(np.maximum(places, 0), pa.int32(), mask=places < 0)
    return pa.DictionaryArray.from_arrays(indices, pa.array(kind.categories, pa.string()))


def stored(values: Any, kind: Column) -> NDArray[Any]:
    """A column as it is sent."""
    if is_text(kind):
        assert isinstance(kind, Categorical)
        return positions(values, kind)
    return np.asarray(values, dtype=np.float64)


def read_rows(table: Table, kinds: Mapping[str, Column]) -> ReadRows:
    """All rows of a table."""
    parts: dict[str, list[NDArray[Any]]] = {
        name: [stored([] if is_text(kind) else np.empty(0), kind)] for name, kind in kinds.items()
    }
    for columns in table.batches(Box(kinds), _ROWS):
        for (name, kind), values in zip(kinds.items(), columns, strict=True):
            parts[name].append(stored(values, kind))
    return ReadRows({name: np.concatenate(found) for name, found in parts.items()}, dict(kinds))


def places_of_owners(pieces: Iterable[Coded], buckets: int) -> tuple[NDArray[np.int64], list[Any], NDArray[np.int64]]:
    """To which of so many workers each row goes, -1 for nobody's; the identifiers, and which of them each row has."""
    owners, keys = owners_of(pieces)
    place = (salts_of(keys, np.flatnonzero(somebody(keys))) % np.uint64(buckets)).astype(np.int64)
    place[~somebody(keys)] = -1
    return place[owners], keys, owners


# --- what workers do ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Owned:
    """Rows of some persons, with their identifiers."""

    keys: list[Any]
    owners: NDArray[np.int64]
    rows: ReadRows


@guarded
def split(part: Owning | Answer, person: str, kinds: Mapping[str, Column], buckets: int) -> list[Owned] | Answer:
    """The rows of a part, one bundle for each worker that they go to."""
    if isinstance(part, Answer):
        return part
    place, keys, owners = places_of_owners(part.coded(person), buckets)
    rows, found = read_rows(part.table(), kinds), []
    for bucket in range(buckets):
        mine = place == bucket
        used, numbers = np.unique(owners[mine], return_inverse=True)
        found.append(Owned([keys[number] for number in used.tolist()], numbers, rows.picked(mine)))
    return found


def bundle(found: list[Owned] | Answer, bucket: int) -> Owned | Answer:
    """The one for a worker."""
    return found if isinstance(found, Answer) else found[bucket]


@guarded
def chosen(bundles: Iterable[Owned | Answer], unit: Person) -> ReadRows | Answer:
    """Of all rows of some persons, those that count."""
    found: list[Owned] = []
    for one in bundles:
        if isinstance(one, Answer):
            return one
        found.append(one)
    kinds = found[0].rows.kinds
    values = {name: np.concatenate([one.rows.values[name] for one in found]) for name in kinds}
    return kept_of(ReadRows(values, kinds), [(one.keys, one.owners) for one in found], unit)


def kept_of(rows: ReadRows, pieces: Iterable[Coded], unit: Person) -> ReadRows:
    """The rows that count, as the engine in memory chooses them."""
    hashed = {name: kind for name, kind in rows.kinds.items() if name != str(unit.column)}
    return rows.picked(rows_kept(unit, pieces, hashed, rows.table().batches))


# --- the same as Arrow batches --------------------------------------------------------------------------------------

_MANY = 2**20  # places that rows go to, where a library divides them among its workers


def split_batches(parts: Iterable[Owning], person: str, kinds: Mapping[str, Column]) -> Iterator[Any]:
    """The rows of some parts, each with the place that it goes to; the place of a sentence is below zero."""
    rest = iter(parts)
    while (found := _split_batch(rest, person, kinds)) is not None:
        if not isinstance(found, Answer):
            yield found
            continue
        yield _batch({"place": np.array([-found.trouble], dtype=np.int32), "who": [b""]}, _no_values(kinds))
        return


@guarded
def _split_batch(parts: Iterator[Owning], person: str, kinds: Mapping[str, Column]) -> Any:
    part = next(parts, None)
    if part is None:
        return None
    place, keys, owners = places_of_owners(part.coded(person), _MANY)
    mine, names = place >= 0, [b"" if key is None else _as_bytes(key) for key in keys]
    return _batch(
        {"place": place[mine].astype(np.int32), "who": [names[owner] for owner in owners[mine].tolist()]},
        read_rows(part.table(), kinds).picked(mine),
    )


def _batch(first: Mapping[str, Any], rows: ReadRows) -> Any:
    import pyarrow as pa

    values = {f"c{place}": pa.array(found) for place, found in enumerate(rows.values.values())}
    names = {name: pa.array(found, pa.binary() if name == "who" else None) for name, found in first.items()}
    return pa.record_batch(names | values)


def _as_bytes(key: Any) -> bytes:
    """An identifier as bytes: equal ones as equal, those of one column being of one type."""
    if isinstance(key, str):
        return b"s" + key.encode("utf-8", "surrogateescape")
    if isinstance(key, float):
        return b"f" + (key + 0.0).hex().encode()  # of both zeros the same
    if isinstance(key, tuple):  # a point in time, of texts and whole numbers
        return b"t" + repr(key).encode()
    return (b"d" if isinstance(key, Decimal) else b"i") + str(key if isinstance(key, Decimal) else int(key)).encode()


def _from_bytes(stored: bytes) -> Any:
    kind, text = stored[:1], stored[1:]
    if kind == b"s":
        return text.decode("utf-8", "surrogateescape")
    if kind == b"t":
        return literal_eval(text.decode())
    return float.fromhex(text.decode()) if kind == b"f" else (Decimal if kind == b"d" else int)(text.decode())


def chosen_batches(batches: Iterable[Any], unit: Person, kinds: Mapping[str, Column]) -> Iterator[Any]:
    """Of all rows that came to a worker those that count, or a sentence."""
    found = _chosen_batch(batches, unit, kinds)
    yield _told(found.trouble, _no_values(kinds)) if isinstance(found, Answer) else found


@guarded
def _chosen_batch(batches: Iterable[Any], unit: Person, kinds: Mapping[str, Column]) -> Any:
    pieces: list[Coded] = []
    found = [_no_values(kinds).picked(np.zeros(1, dtype=np.bool_))]
    for batch in batches:
        place = np.asarray(batch.column("place"))
        if place.size and place.min() < 0:
            return Answer(-int(place.min()))
        who = batch.column("who").dictionary_encode()
        pieces.append(([_from_bytes(key) for key in who.dictionary.to_pylist()], np.asarray(who.indices)))
        found.append(_rows_of(batch, kinds))
    values = {name: np.concatenate([one.values[name] for one in found]) for name in kinds}
    return _told(0, kept_of(ReadRows(values, kinds), pieces, unit))


def _told(trouble: int, rows: ReadRows) -> Any:
    return _batch({"trouble": np.full(len(next(iter(rows.values.values()))), trouble, dtype=np.int8)}, rows)


def _rows_of(batch: Any, kinds: Mapping[str, Column]) -> ReadRows:
    return ReadRows({name: np.asarray(batch.column(f"c{place}")) for place, name in enumerate(kinds)}, kinds)


def _no_values(kinds: Mapping[str, Column]) -> ReadRows:
    """A row without values, to put a sentence beside."""
    return ReadRows({name: stored([None] if is_text(k) else np.zeros(1), k) for name, k in kinds.items()}, kinds)


def columns_sent(kinds: Mapping[str, Column]) -> str:
    """The types of the columns that rows consist of on their way, in words of SQL."""
    words = ["int" if is_text(kind) else "double" for kind in kinds.values()]
    return ", ".join(f"c{place} {word}" for place, word in enumerate(words))


@dataclass(frozen=True, repr=False)
class SentRows:
    """Rows that count, as they come back."""

    batches: Iterable[Any]
    kinds: Mapping[str, Column]

    def table(self) -> SentTable:
        """They as a table that can be read once."""
        return SentTable(self, -1)


class SentTable(Table):
    """Rows that count, read once, as they come."""

    @property
    def schema(self) -> Schema:
        """Nobody asks it of a part."""
        return Schema({}, self._given.kinds)

    def batches(self, box: Box, rows: int) -> Iterator[Values]:
        for batch in self._given.batches:
            trouble = np.asarray(batch.column("trouble"))
            if trouble.any():
                raise failure(int(trouble.max()))
            yield from _rows_of(batch, self._given.kinds).table().batches(box, rows)
