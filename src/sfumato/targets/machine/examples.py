"""Private records and their responses as fixed-point features: made once, and folded over by every pass of a solver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.machine.coordinates import coded
from sfumato.bases.machine.landmarks import FeatureMap
from sfumato.core.box import Box, Categorical
from sfumato.core.whole import Sealed
from sfumato.engines.cells import positions
from sfumato.engines.engine import Engine, Records
from sfumato.engines.passes import Pass, Values
from sfumato.engines.totals import Totals
from sfumato.releases.machine.response import Response
from sfumato.targets.machine.gradient import BLOCK, Known

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LabelledFeatures:
    """How records become the examples of a solver. A record that says nothing has no features either.

    Parameters
    ----------
    map, response
        What is made of a record, and of its response.
    every
        One record in so many takes part, chosen by what it holds: the same ones wherever the table is cut.
    """

    map: FeatureMap
    response: Response
    every: int = 1

    @property
    def block(self) -> int:
        """Records at a time."""
        return BLOCK

    @property
    def box(self) -> Box:
        """The columns and the response."""
        return self.response.after(self.map.box)

    @property
    def width(self) -> int:
        """Features and targets."""
        return self.map.size + self.response.outputs

    def read(self, columns: Values) -> Floats:
        """Cleaned records and their targets."""
        dimension, targets = len(columns) - 1, self._targets(columns[-1])
        numbers = np.empty((len(targets), dimension + self.response.outputs))
        for place, (kind, values) in enumerate(zip(self.map.box.columns, columns, strict=False)):
            numbers[:, place] = places_of(values, kind) if isinstance(kind, Categorical) else values
        numbers[:, dimension:] = targets
        if self.every > 1:
            numbers = numbers[hashed(numbers) % np.uint64(self.every) == 0]
        numbers[:, :dimension] = coded(self.map.box).clean(numbers[:, :dimension])
        return numbers

    def _targets(self, values: Any) -> Floats:
        """``(m, outputs)``: -1 or 1 for classes, [-1, 1] for numbers; NaN for what was not declared or is missing."""
        response, column = self.response, self.response.column
        if not isinstance(column, Categorical):
            return response.from_range(values)[:, None]
        place = positions(values, column)
        if response.outputs == 1:
            targets = (2 * place - 1).astype(np.float64)[:, None]
        else:
            targets = np.where(place[:, None] == np.arange(response.outputs), 1.0, -1.0)
        targets[place < 0] = np.nan
        return targets

    def make(self, numbers: Floats) -> Values:
        """``(BLOCK, size)`` integers as doubles, and ``(BLOCK, outputs)`` targets, NaN in rows that say nothing.

        Always the same shape, so that a row of a matrix product cannot depend on how many others there are.
        """
        box, dimension = coded(self.map.box), self.map.box.dimension
        known = np.full((BLOCK, self.response.outputs), np.nan)
        known[: len(numbers)] = numbers[:, dimension:]
        known[: len(numbers)][np.isnan(numbers[:, :dimension]).any(axis=1)] = np.nan
        silent = np.isnan(known[:, 0])
        padded = np.empty((BLOCK, dimension))
        padded[: len(numbers)] = numbers[:, :dimension]
        some = bool(silent.any())
        if some:  # any public point: a user's kernel need not know of missing values
            padded[silent] = box.clean((box.low / 2 + box.high / 2)[None, :])
        features = self.map.fixed_point(padded)
        if some:
            features[silent] = 0.0
        return [features, known]


def places_of(values: Any, kind: Categorical) -> Floats:
    """Categories as their places in their list; NaN for what was not declared or is missing."""
    place = positions(values, kind).astype(np.float64)
    place[place < 0] = np.nan
    return place


def hashed(numbers: Floats) -> NDArray[np.uint64]:
    """One number for each row, which depends on all bits of that row and on nothing else."""
    odd = np.arange(1, 2 * numbers.shape[1], 2, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    word = np.ascontiguousarray(numbers).view(np.uint64) @ odd
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(word ^ (word >> np.uint64(31)))


class Labelled(Sealed):
    """Records that have a response, and what folds over them; private."""

    __slots__ = ("engine", "records", "response")

    def __init__(self, records: Records, response: Response, engine: Engine) -> None:
        self.records, self.response, self.engine = records, response, engine

    def __repr__(self) -> str:
        return "<private labelled records>"

    @property
    def rows(self) -> int:
        """The number of records."""
        return self.records.rows


class FixedPoint(Sealed):
    """The examples that a solver folds over."""

    __slots__ = ("_source", "exponent", "features", "outputs", "size")

    def __init__(self, source: Labelled, features: FeatureMap, every: int = 1) -> None:
        self._source, self.features = source, LabelledFeatures(features, source.response, every)
        self.size, self.outputs, self.exponent = features.size, source.response.outputs, features.exponent

    def __repr__(self) -> str:
        return "<private examples>"

    def fold(self, one: Pass) -> Totals:
        """What a pass adds up over all examples."""
        return self._source.engine.fold(self._source.records, one)

    def sample(self, every: int) -> FixedPoint:
        """About one in so many of the examples."""
        return FixedPoint(self._source, self.features.map, every)

    def known(self) -> int:
        """How many of the examples say something."""
        return int(self.fold(Known(self.features)).counts((1,))[0])
