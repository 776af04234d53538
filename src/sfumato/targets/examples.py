"""Private records and their responses as fixed-point features, block by block."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.landmarks import FeatureMap
from sfumato.core.box import Box, Categorical
from sfumato.core.whole import Sealed
from sfumato.engines.cells import positions
from sfumato.engines.tables import Table
from sfumato.releases.response import Response
from sfumato.targets.solver import BLOCK

Floats = NDArray[np.float64]
Pair = tuple[Floats, Floats]

_KEPT = 2**24  # features that are kept between passes: 128 MiB; what is more is computed again


class Labelled(Sealed):
    """A table whose records have a response; private, and read anew in every pass."""

    __slots__ = ("_response", "_table")

    def __init__(self, table: Table, response: Response) -> None:
        self._table, self._response = table, response

    def __repr__(self) -> str:
        return "<private labelled records>"

    @property
    def rows(self) -> int:
        """The number of records."""
        return self._table.rows

    @property
    def outputs(self) -> int:
        """How many targets a record has."""
        return self._response.outputs

    def pairs(self, box: Box) -> Iterator[Pair]:
        """Cleaned records and their targets, at most ``BLOCK`` at a time, in order."""
        for columns, values in self._table.labelled(box, self._response.name, self._response.column, 16 * BLOCK):
            targets = self._targets(values)
            for start in range(0, len(targets), BLOCK):
                stop = start + BLOCK
                yield box.clean(np.stack([c[start:stop] for c in columns], axis=1)), targets[start:stop]

    def _targets(self, values: Any) -> Floats:
        """``(m, outputs)``: -1 or 1 for classes, [-1, 1] for numbers; NaN for what was not declared or is missing."""
        response, column = self._response, self._response.column
        if not isinstance(column, Categorical):
            return response.from_range(values)[:, None]
        place = positions(values, column)
        if response.outputs == 1:
            targets = (2 * place - 1).astype(np.float64)[:, None]
        else:
            targets = np.where(place[:, None] == np.arange(response.outputs), 1.0, -1.0)
        targets[place < 0] = np.nan
        return targets


class FixedPoint(Sealed):
    """The examples that a solver sees. A record that says nothing (no declared response) has no features either."""

    __slots__ = ("_features", "_kept", "_source", "_stride", "exponent", "outputs", "size")

    def __init__(self, source: Labelled, features: FeatureMap, stride: int = 1) -> None:
        self._source, self._features, self._stride = source, features, stride
        self.size, self.outputs, self.exponent = features.size, source.outputs, features.exponent
        rows = source.rows // stride
        self._kept: list[Pair] | None = [] if rows * self.size <= _KEPT else None

    def __repr__(self) -> str:
        return "<private examples>"

    def sample(self, rows: int) -> tuple[FixedPoint, int]:
        """About this many of the examples, evenly spaced, and how far apart: odd, as alternating records are common."""
        stride = (self._source.rows // rows) | 1
        return FixedPoint(self._source, self._features, stride), stride

    def known(self) -> int:
        """How many of the examples say something."""
        return sum(int(np.count_nonzero(~np.isnan(targets[:, 0]))) for _, targets in self.blocks())

    def blocks(self) -> Iterator[Pair]:
        if self._kept:
            yield from self._kept
            return
        kept: list[Pair] = []
        box = self._features.box
        middle = box.clean((box.low / 2 + box.high / 2)[None, :])
        for records, targets in self._pieces():
            # Always the same shape, so that a row of a matrix product cannot depend on how many others there are.
            known = np.full((BLOCK, self.outputs), np.nan)
            known[: len(targets)] = targets
            known[: len(targets)][np.isnan(records).any(axis=1)] = np.nan
            silent = np.isnan(known[:, 0])
            padded = np.empty((BLOCK, records.shape[1]))
            padded[: len(records)] = records
            padded[silent] = middle  # any public point: a user's kernel need not know of missing values
            features = self._features.fixed_point(padded)
            features[silent] = 0.0
            if self._kept is not None:
                kept.append((features, known))
            yield features, known
        if self._kept is not None:
            self._kept = kept

    def _pieces(self) -> Iterator[Pair]:
        if self._stride == 1:
            yield from self._source.pairs(self._features.box)
            return
        seen, count = 0, 0
        waiting: list[Pair] = []
        for records, targets in self._source.pairs(self._features.box):
            chosen = np.arange(-seen % self._stride, len(targets), self._stride)
            seen += len(targets)
            if count + len(chosen) > BLOCK:
                yield _joined(waiting)
                waiting, count = [], 0
            waiting.append((records[chosen], targets[chosen]))
            count += len(chosen)
        if count:
            yield _joined(waiting)


def _joined(parts: list[Pair]) -> Pair:
    return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])
