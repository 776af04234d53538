"""Which rows of each person count: those of least hash, whatever their order and wherever the table is cut.

Each row of a person who has more than may count gets a public 64-bit hash of what passes read of it, salted by the
identifier, so that not everybody's rows of the same values count; copies of a row get one each, so that none is
favoured for being rare. Privacy rests on two things only: no more than ``max_rows`` count, and nobody else's rows have
a say (docs/proofs/persons.md).
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count, pairwise
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from sfumato.bits import GOLDEN, Words, stirred
from sfumato.core.box import Box, Categorical, Column
from sfumato.core.neighbours import Person
from sfumato.engines.cells import positions
from sfumato.engines.columns import Coded
from sfumato.engines.files import is_text
from sfumato.values import as_double

Flags = NDArray[np.bool_]
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Reader = Callable[[Box, int], Iterator[list[Any]]]

_HELD = 2**18  # numbers that are read at a time
_SORTED = 2**20  # rows that are sorted at a time, and those of one person


def rows_kept(unit: Person, pieces: Iterable[Coded], kinds: Mapping[str, Column], read: Reader) -> Flags:
    """Say for each row whether it counts.

    Parameters
    ----------
    unit
        How many rows of a person may.
    pieces
        The identifiers of all rows, piece by piece. None, empty text and not-a-number mean that a row is nobody's.
    kinds, read
        The columns that are hashed, and how they are read (a table's ``batches``); only if somebody has too many rows.

    Formal guarantee: at most ``max_rows`` rows of each person do, and whether one does is a function of the rows of the
    same person; of these without their order, but for rows that are equal in ``kinds``: the earlier ones count.
    """
    for kind in kinds.values():  # what is wrong with a column is said whatever rows persons have
        _words([] if is_text(kind) else np.empty(0), kind)
    owners, keys = owners_of(pieces)
    known = somebody(keys)
    crowded = known & (np.bincount(owners, minlength=len(keys)) > unit.max_rows)
    kept: Flags = known[owners]
    if crowded.any():
        asked = crowded[owners]
        owners = owners[asked]
        first = salts_of(keys, np.flatnonzero(crowded))[owners]
        second = ~first
        _absorb(first, second, asked, kinds, read)
        kept[asked] = _least_of_each(owners, first, second, unit.max_rows)
    return kept


def owners_of(pieces: Iterable[Coded]) -> tuple[Integers, list[Any]]:
    """The number of each row's person, and the persons' identifiers by number."""
    numbers: defaultdict[Any, int] = defaultdict(count().__next__)
    parts = [np.fromiter(map(numbers.__getitem__, keys), np.int64, len(keys))[places] for keys, places in pieces]
    return np.concatenate([np.empty(0, dtype=np.int64), *parts]), list(numbers)


def somebody(keys: Sequence[Any]) -> Flags:
    """Which identifiers are somebody's: not None, empty text or not-a-number."""
    return np.fromiter((not (key is None or key == "" or key != key) for key in keys), np.bool_, len(keys))


def salts_of(keys: Sequence[Any], numbers: Integers) -> Words:
    """A word for each of some identifiers, by their numbers; equal identifiers have equal ones."""
    salts = np.zeros(len(keys), dtype=np.uint64)
    salts[numbers] = stirred(_bits(np.fromiter((_number(keys[i]) for i in numbers.tolist()), np.float64, len(numbers))))
    return salts


def _number(key: Any) -> float:
    """A double of an identifier: of a number that is text in a file, the same as of the number."""
    if type(key) is int and abs(key) < 2**63:  # the most usual ones, quickly
        return float(key)
    if isinstance(key, tuple) and len(key) == 2 and key[0] == "date":
        key = str(np.datetime64(key[1], "D"))  # as it is written in a file
    if isinstance(key, tuple):
        return sum(map(_number, key))
    text = key.decode("latin-1") if isinstance(key, bytes) else str(key) if isinstance(key, UUID) else key
    if not isinstance(text, str):
        return as_double(text)
    try:
        return float(text)
    except ValueError:
        return float(zlib.crc32(text.encode("utf-8", "surrogatepass")))


def _absorb(first: Words, second: Words, asked: Flags, kinds: Mapping[str, Column], read: Reader) -> None:
    """Make the hashes of the rows that are asked for of their salts, column by column, in place."""
    seen = done = 0
    for columns in read(Box(kinds), max(1, _HELD // len(kinds))) if kinds else ():
        there = asked[seen : seen + len(columns[0])]
        part = slice(done, done + int(np.count_nonzero(there)))
        for values, kind in zip(columns, kinds.values(), strict=True):
            words = _words(values, kind)[there]
            first[part], second[part] = stirred(first[part] ^ words), stirred(second[part] ^ words)
        seen, done = seen + len(there), part.stop


def _words(values: Any, kind: Column) -> Words:
    """A column's values as a pass reads them, one word each."""
    if isinstance(kind, Categorical):
        return positions(values, kind).astype(np.int64).view(np.uint64)
    return _bits(kind.clean(values))


def _bits(numbers: Floats) -> Words:
    """The bits of doubles; of all zeros the same, and of all that are not-a-number."""
    with np.errstate(all="ignore"):
        return np.where(np.isnan(numbers), np.nan, numbers + 0.0).view(np.uint64)


def _least_of_each(owners: Integers, first: Words, second: Words, most: int) -> Flags:
    """The same as ``_least``, some owners at a time: sorting takes more memory than what is sorted."""
    turns = np.cumsum(np.bincount(owners)) // _SORTED
    kept: Flags = np.empty(len(owners), dtype=np.bool_)
    for low, high in pairwise([0, *(np.flatnonzero(np.diff(turns)) + 1).tolist(), len(turns)]):
        mine = (owners >= low) & (owners < high)
        if mine.any():
            kept[mine] = _least(owners[mine], first[mine], second[mine], most)
    return kept


def _least(owners: Integers, first: Words, second: Words, most: int) -> Flags:
    """Which rows are among the ``most`` of least hash of their owner: the j-th copy of a row has the j-th hash of it.

    Rows are copies if both words are equal. They are sorted by their owner, not by the owner's hash: that could be made
    equal to somebody else's.
    """
    for keys in ((owners, first), (owners, first, second)):
        order = _order(*keys)  # which keeps copies in the order of the table
        begins, other, unequal = (_changes(words[order]) for words in (owners, first, second))
        if not np.any(unequal & ~begins & ~other):  # else unequal rows have one hash
            break
    owners, first = owners[order], first[order]
    starts = np.flatnonzero(begins | other | unequal)
    counted = _places(np.flatnonzero(begins), len(order))[0] < most
    if len(starts) < len(order):
        copies, sizes = _places(starts, len(order))
        among = np.empty(len(order), dtype=np.int64)
        among[_order(owners, _numbered(first, copies))] = counted
        counted = copies < np.repeat(np.add.reduceat(among, starts), sizes)
    kept: Flags = np.empty(len(order), dtype=np.bool_)
    kept[order] = counted
    return kept


def _order(*keys: NDArray[Any]) -> Integers:
    """How to sort by some keys that are not negative, the most important first, in few passes of numpy's radix sort."""
    digits = [
        (key >> key.dtype.type(shift)).astype(np.uint16)
        for key in reversed(keys)
        for shift in range(0, max(1, int(key.max()).bit_length()), 16)
    ]
    return np.lexsort(digits)


def _numbered(words: Words, copies: Integers) -> Words:
    """The hash of each copy of a row; the first has that of the row."""
    with np.errstate(over="ignore"):
        return np.where(copies, stirred(words + copies.astype(np.uint64) * np.uint64(GOLDEN)), words)


def _changes(values: NDArray[Any]) -> Flags:
    """Where a value is not the one before it."""
    return np.append(True, values[1:] != values[:-1])


def _places(starts: Integers, size: int) -> tuple[Integers, Integers]:
    """The place of each in its group, if groups begin at some places, and how large the groups are."""
    sizes = np.diff(starts, append=size)
    return np.arange(size) - np.repeat(starts, sizes), sizes
