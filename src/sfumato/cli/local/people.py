"""People: read from a table or made up; and what is true of them, beside what their reports say."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sfumato as sf
from sfumato.core.box import Categorical, Column
from sfumato.engines.cells import positions
from sfumato.engines.files import is_text
from sfumato.engines.tables import open_table
from sfumato.faces.words import counted
from sfumato.local.density import Density
from sfumato.local.generalized import GeneralizedLinear
from sfumato.local.linear import LinearModel
from sfumato.local.marginals import Marginals
from sfumato.local.protocol import Protocol
from sfumato.local.records import read_records, within
from sfumato.local.risk import RiskMinimization
from sfumato.local.smooth import SmoothQueries
from sfumato.releases.collected.marginals import MarginalsRelease

Floats = NDArray[np.float64]

AT_ONCE = 2**18  # people in a batch
_MOST_TABLES = 5_000
_NOBODY = np.zeros(0, dtype=np.uint64)  # what people would tell is no matter of their numbers
_BLOCK = 2**20  # cosines at a time
_STEPS = np.sqrt([2.0, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0, 19.0, 23.0, 29.0])


@dataclass(frozen=True)
class People:
    """Records of people, column by column, as a protocol's own reader takes them."""

    columns: tuple[str, ...]
    values: tuple[Any, ...]

    def __getitem__(self, name: str) -> Any:
        return self.values[self.columns.index(name)]

    def __len__(self) -> int:
        return len(self.values[0])

    def some(self, places: Any) -> People:
        """Those at some places."""
        return People(self.columns, tuple(np.asarray(values)[places] for values in self.values))

    def repeated(self, people: int) -> People:
        """So many people like these, over and over."""
        return self.some(np.arange(people) % len(self))


def read_people(path: Path, box: sf.Box) -> Iterator[People]:
    """The people in a table, one a row, ``AT_ONCE`` in a piece but for the last; what a record holds never raises.

    A file is read in pieces of so many bytes, and where one ends depends on what people hold: no batch ends there.
    """
    named = sf.Box(dict(zip(box.names, box.columns, strict=True)))
    waiting, count = list[People](), 0
    for columns in open_table(str(path), named, "row").batches(named, AT_ONCE):
        waiting.append(People(box.names, tuple(map(_held, box.columns, columns))))
        count += len(waiting[-1])
        if count >= AT_ONCE:
            whole = all_people(waiting)
            yield whole.some(slice(AT_ONCE))
            waiting, count = [whole.some(slice(AT_ONCE, None))], count - AT_ONCE
    if count:
        yield all_people(waiting)


def _held(kind: Column, values: Any) -> Any:
    """One column as an array: of text its declared categories, None for any other; numbers as they are."""
    if not isinstance(kind, Categorical) or not is_text(kind):
        return np.asarray(values)
    # Never as an array of Arrow's making: it raises, and prints, a cell that is no UTF-8.
    return np.array([*kind.categories, None], dtype=object)[positions(values, kind)]


def all_people(pieces: Sequence[People]) -> People:
    """Pieces in one."""
    columns = zip(*(piece.values for piece in pieces), strict=True)
    return People(pieces[0].columns, tuple(np.concatenate(parts) for parts in columns))


def made_up(box: sf.Box, people: int) -> People:
    """People who do not exist, the same each time: a bump in each number, the first categories more often."""
    turns = np.arange(people)
    spread = [np.mod(turns * _STEPS[j % len(_STEPS)] * (1 + j // len(_STEPS)), 1.0) for j in range(box.dimension + 1)]
    columns = [_made_column(kind, spread[j], spread[j + 1]) for j, kind in enumerate(box.columns)]
    return People(box.names, tuple(columns))


def _made_column(kind: Column, one: Any, other: Any) -> Any:
    if isinstance(kind, Categorical):
        shares = np.arange(len(kind.categories), 0, -1.0)
        place = np.searchsorted(np.cumsum(shares / shares.sum()), one)
        return np.array(kind.categories)[np.minimum(place, len(shares) - 1)]
    return kind.low + (kind.high - kind.low) * (one + other) / 2


# --- beside the truth -------------------------------------------------------------------------------------


def compared(protocol: Protocol, release: Any, people: People) -> tuple[Floats, Floats, str]:
    """What was estimated and what is true of these people, number by number, and what the numbers are."""
    columns = within(protocol.box, read_records(protocol.box, people))
    if isinstance(protocol, Density):
        return release.masses, _masses(protocol, columns), "lattice masses"
    if isinstance(protocol, SmoothQueries):
        return release.moments[1:], _moments(protocol, columns), "cosine moments"
    if isinstance(protocol, LinearModel):
        return _told(protocol, release.second_moments, release.cross_moments), _true(protocol, columns), "moments"
    if isinstance(protocol, GeneralizedLinear):
        mean = sum(protocol.answers(part, _NOBODY).sum(axis=0) for part in _parts(columns)) / columns.shape[1]
        return release.cross_moments, np.asarray(mean), "means of what copies are of"
    if isinstance(protocol, RiskMinimization):
        return release.coefficients, _losses(protocol, columns), "mean losses"
    assert isinstance(protocol, Marginals)
    found, truth = _cells(protocol, release, columns.astype(np.int64))
    return found, truth, f"cells of tables of {counted(protocol.ways, 'column')}"


def _parts(columns: Floats) -> Iterator[Floats]:
    """Some people at a time."""
    for start in range(0, columns.shape[1], _BLOCK // 64):
        yield columns[:, start : start + _BLOCK // 64]


def _masses(protocol: Density, columns: Floats) -> Floats:
    """The share of people at each lattice point, each shared among the points around."""
    shape = protocol.shape
    lows, parts = [], []
    for values, kind, size, wrapped in zip(columns, protocol.box.intervals(), shape, protocol.wrapped, strict=True):
        steps = size if wrapped else size - 1
        scaled = (values - kind.low) / (kind.high - kind.low) * steps
        low = np.minimum(scaled.astype(np.int64), steps - 1)
        lows.append(low)
        parts.append(np.clip(scaled - low, 0.0, 1.0))
    total = np.zeros(math.prod(shape))
    for corner in product((0, 1), repeat=len(shape)):
        places = [(low + up) % size for low, up, size in zip(lows, corner, shape, strict=True)]
        place = np.ravel_multi_index(places, shape)
        weight = np.prod([part if up else 1 - part for part, up in zip(parts, corner, strict=True)], axis=0)
        total += np.bincount(place, weight, minlength=total.size)
    return np.asarray(total / columns.shape[1])


def _moments(protocol: SmoothQueries, columns: Floats) -> Floats:
    """The mean of every product of cosines but the first, which is one."""
    angles = np.empty_like(columns)
    for row, kind, values in zip(angles, protocol.box.columns, columns, strict=True):
        if isinstance(kind, Categorical):
            row[:] = values * (math.pi / (len(kind.categories) - 1))
        else:
            row[:] = np.arccos(np.clip(2 * (values - kind.low) / (kind.high - kind.low) - 1, -1.0, 1.0))
    frequencies = protocol.indices.frequencies[1:]
    block = max(1, _BLOCK // len(frequencies))
    sums = np.zeros(len(frequencies))
    for start in range(0, columns.shape[1], block):
        products = np.ones((min(block, columns.shape[1] - start), len(frequencies)))
        for row, own in zip(angles, frequencies.T, strict=True):
            products *= np.cos(np.outer(row[start : start + block], own))
        sums += products.sum(axis=0)
    return np.asarray(sums / columns.shape[1])


def _told(protocol: LinearModel, second: Floats, cross: Floats) -> Floats:
    """The numbers that people told: those of a public matrix are left out."""
    own = second[np.triu_indices(len(second))] if protocol.second_moments is None else np.zeros(0)
    return np.concatenate([own, cross])


def _true(protocol: LinearModel, columns: Floats) -> Floats:
    """The same of these people."""
    total, people = 0.0, columns.shape[1]
    for start in range(0, people, _BLOCK // 64):
        part = columns[:, start : start + _BLOCK // 64]
        total = total + protocol.answers(part, np.zeros(0, dtype=np.uint64)).sum(axis=0)
    return _told(protocol, *protocol.moments(total / people))


def _losses(protocol: RiskMinimization, columns: Floats) -> Floats:
    """The mean of what these people would tell, at every point of the lattice."""
    from dataclasses import replace

    low, high = protocol.range
    everything = replace(protocol, randomizer="laplace", epsilon=1.0)  # of this one each person tells all
    block, total = max(1, _BLOCK // protocol.questions), np.zeros(protocol.questions)
    for start in range(0, columns.shape[1], block):
        total += everything.answers(columns[:, start : start + block], np.zeros(0, dtype=np.uint64)).sum(axis=0)
    return np.asarray(low + (high - low) * total / columns.shape[1])


def _cells(protocol: Marginals, release: MarginalsRelease, codes: NDArray[np.int64]) -> tuple[Floats, Floats]:
    found, truth = [], []
    names, sizes = protocol.box.names, [len(kind.categories) for kind in protocol.box.columns]  # type: ignore[union-attr]
    for chosen in islice(combinations(range(len(names)), protocol.ways), _MOST_TABLES):
        shape = [sizes[j] for j in chosen]
        place = np.ravel_multi_index([codes[j] for j in chosen], shape)
        truth.append(np.bincount(place, minlength=math.prod(shape)) / codes.shape[1])
        found.append(release.table([names[j] for j in chosen]).ravel())
    return np.concatenate(found), np.concatenate(truth)
