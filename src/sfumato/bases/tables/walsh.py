"""Walsh coefficients of categorical columns: means of signs, one for each combination of bits of a few columns.

A category is written in as many bits as its column needs; a coefficient is the mean of ``(-1)**(number of ones among
chosen bits)``. Coefficients in which one column takes part tell its shares; those of two, what two have in common.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations

import numpy as np
from numpy.typing import NDArray

from sfumato.core.box import Box, Categorical
from sfumato.errors import ParameterError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

LARGEST_SIZE = 2**21  # coefficients


@dataclass(frozen=True)
class Walsh:
    """All combinations of at most ``ways`` columns of a box; ``masks`` are the chosen bits of each column in turn.

    >>> Walsh(Box({"a": Categorical([0, 1]), "b": Categorical([0, 1]), "c": Categorical([0, 1])}), 2).size
    6
    """

    box: Box
    ways: int

    def __post_init__(self) -> None:
        for name, kind in zip(self.box.names, self.box.columns, strict=True):
            if not isinstance(kind, Categorical):
                raise ParameterError(
                    f"column {name!r} is numeric: marginals are of categorical columns, declare its categories",
                    parameter="box",
                )
        if not 1 <= self.ways <= self.box.dimension:
            raise ParameterError.of("ways", f"must lie in [1, {self.box.dimension}], got ways={self.ways!r}")
        self.counts  # noqa: B018 refuses too many

    @cached_property
    def bits(self) -> tuple[int, ...]:
        """How many bits each column has."""
        return tuple(
            (len(kind.categories) - 1).bit_length() for kind in self.box.columns if isinstance(kind, Categorical)
        )

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """How many coefficients there are of each order, 1 to ``ways``."""
        sums = [1] + [0] * self.ways
        for bits in self.bits:
            for order in range(self.ways, 0, -1):
                sums[order] += sums[order - 1] * (2**bits - 1)
            if sum(sums) - 1 > LARGEST_SIZE:  # at once: a file may have thousands of columns
                raise ParameterError(
                    f"{self.ways}-way marginals of these columns have {sum(sums) - 1:,} coefficients or more, at most "
                    f"{LARGEST_SIZE:,} are allowed: lower ways, or leave out columns",
                    parameter="ways",
                )
        return tuple(sums[1:])

    @property
    def size(self) -> int:
        """How many coefficients there are."""
        return sum(self.counts)

    @cached_property
    def terms(self) -> tuple[Integers, Integers]:
        """For each coefficient its columns and masks ``(size, ways)``; unused places have mask zero."""
        columns, masks = [], []
        most = np.array([2**bits - 1 for bits in self.bits], dtype=np.int64)  # masks of each column
        for order in range(1, self.ways + 1):
            sets = math.comb(self.box.dimension, order)
            flat = chain.from_iterable(combinations(range(self.box.dimension), order))
            chosen = np.fromiter(flat, dtype=np.int64, count=sets * order).reshape(sets, order)
            own = most[chosen]
            each = own.prod(axis=1)
            place = np.arange(each.sum()) - np.repeat(np.cumsum(each) - each, each)  # within its set of columns
            chosen, own = np.repeat(chosen, each, axis=0), np.repeat(own, each, axis=0)
            mask = np.empty_like(own)
            for j in reversed(range(order)):  # the last column's masks run fastest
                place, mask[:, j] = np.divmod(place, own[:, j])
            wide = ((0, 0), (0, self.ways - order))
            columns.append(np.pad(chosen, wide))
            masks.append(np.pad(mask + 1, wide))
        return np.concatenate(columns), np.concatenate(masks)

    @cached_property
    def orders(self) -> Integers:
        """How many columns take part in each coefficient."""
        return np.repeat(np.arange(1, self.ways + 1), self.counts)

    def parities(self, codes: Integers, asked: Integers) -> NDArray[np.uint8]:
        """For each record ``(m, d)`` of category numbers, whether its sign in the coefficient asked for is minus."""
        columns, masks = self.terms
        chosen = np.take_along_axis(codes, columns[asked], axis=1) & masks[asked]
        return np.asarray(np.bitwise_count(chosen).sum(axis=1) & 1, dtype=np.uint8)

    def joint(self, codes: Integers, asked: Integers) -> NDArray[np.uint8]:
        """For binary columns: whether all columns of the coefficient asked for are one."""
        columns, masks = self.terms
        return np.asarray(
            (np.take_along_axis(codes, columns[asked], axis=1) >= masks[asked]).all(axis=1), dtype=np.uint8
        )

    @cached_property
    def _places(self) -> dict[tuple[int, ...], int]:
        """Where the coefficients of each set of columns begin."""
        found, start = {}, 0
        for order in range(1, self.ways + 1):
            for chosen in combinations(range(self.box.dimension), order):
                found[chosen] = start
                start += math.prod(2 ** self.bits[j] - 1 for j in chosen)
        return found

    def tensor(self, columns: Sequence[int], values: Floats) -> Floats:
        """The coefficients of some columns, in increasing order, as a tensor ``2**bits`` along each, first one 1."""
        shape = [2 ** self.bits[j] for j in columns]
        tensor = np.zeros(shape)
        tensor[(0,) * len(shape)] = 1.0
        for order in range(1, min(len(columns), self.ways) + 1):
            for among in combinations(range(len(columns)), order):
                own = [shape[i] - 1 for i in among]
                start = self._places[tuple(columns[i] for i in among)]
                index = tuple(slice(1, None) if i in among else 0 for i in range(len(columns)))
                tensor[index] = values[start : start + math.prod(own)].reshape(own)
        return tensor

    def table(self, columns: Sequence[int], values: Floats) -> Floats:
        """The shares of all combinations of categories of these columns: the inverse transform."""
        table = self.tensor(columns, values)
        for axis, j in enumerate(columns):
            table = np.moveaxis(np.tensordot(signs(self.bits[j]), table, axes=(1, axis)), 0, axis) / 2 ** self.bits[j]
        kinds = [self.box.columns[j] for j in columns]
        return np.asarray(
            table[tuple(slice(0, len(kind.categories)) for kind in kinds if isinstance(kind, Categorical))]
        )


def signs(bits: int) -> Floats:
    """``(-1)**(number of ones that two numbers of so many bits have in common)``, for all pairs."""
    codes = np.arange(2**bits)
    return np.asarray(1.0 - 2.0 * (np.bitwise_count(codes[:, None] & codes) & 1), dtype=np.float64)
