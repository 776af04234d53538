"""A density without a trusted collector: each person is one lattice point, told by one randomised bit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.checks import one_of, positive_integer
from sfumato.errors import ParameterError
from sfumato.local.channels import State
from sfumato.local.protocol import Protocol, Words
from sfumato.local.public import public_below, public_dither, public_words

Floats = NDArray[np.float64]

RANDOMIZERS = ("hadamard", "bit", "likelihood", "loglog", "laplace", "privunit")
_LARGEST = 2**20  # lattice points


@dataclass(frozen=True)
class Density(Protocol):
    """The density of numeric columns on a lattice.

    A record is rounded at random to one of the lattice points around it, so that on average it is shared among them in
    proportion to their nearness. By default the person then tells one randomised bit: a Walsh-Hadamard sign of that
    point, for a public row.

    Parameters
    ----------
    lattice
        Points along each column: a number, or one per column; at least two.
    randomizer
        ``"hadamard"`` (default); ``"bit"``: one lattice point a person, how near; ``"laplace"``: Algorithm 2, every
        point, epsilon split; ``"likelihood"``: Algorithm 3, mended; ``"loglog"``: Algorithm 8, mended; ``"privunit"``.

    >>> from sfumato.core.box import Box
    >>> Density(Box([(0, 1), (0, 1)]), epsilon=1.0, lattice=11, seed=1).questions
    127
    """

    lattice: int | tuple[int, ...] = 11
    randomizer: str = "hadamard"

    kind: ClassVar[str] = "density"

    def check(self) -> None:
        one_of("randomizer", self.randomizer, RANDOMIZERS)
        self.box.intervals()
        given = self.lattice if isinstance(self.lattice, list | tuple) else (self.lattice,) * self.box.dimension
        shape = tuple(positive_integer("lattice", size) for size in given)
        if len(shape) != self.box.dimension or min(shape) < 2:
            raise ParameterError.of(
                "lattice",
                f"needs a number of 2 or more, or one per column ({self.box.dimension}), got {self.lattice!r}",
            )
        if len(shape) > _LARGEST.bit_length() or math.prod(shape) > _LARGEST:
            raise ParameterError(
                f"the lattice {self.lattice!r} has too many points, at most {_LARGEST:,} are allowed",
                parameter="lattice",
            )
        object.__setattr__(self, "lattice", tuple(shape) if isinstance(self.lattice, list | tuple) else shape[0])
        self.channel  # noqa: B018  (refuses an epsilon that the randomizer cannot serve)

    @property
    def shape(self) -> tuple[int, ...]:
        """Lattice points along each column."""
        return self.lattice if isinstance(self.lattice, tuple) else (self.lattice,) * self.box.dimension

    @property
    def points(self) -> int:
        """Lattice points in all."""
        return math.prod(self.shape)

    @property
    def questions(self) -> int:
        return (1 << (self.points - 1).bit_length()) - 1 if self.randomizer == "hadamard" else self.points

    @property
    def channel_name(self) -> str:
        return "bit" if self.randomizer == "hadamard" else self.randomizer

    def parameters(self) -> dict[str, Any]:
        lattice = list(self.lattice) if isinstance(self.lattice, tuple) else self.lattice
        return {"lattice": lattice, "randomizer": self.randomizer}

    def answers(self, columns: Floats, users: Words) -> NDArray[Any]:
        if self.randomizer == "hadamard":
            return self._parities(columns, users)
        scaled = self._scaled(columns)
        if self.randomizer == "privunit":
            corners = np.zeros((len(users), self.points))
            corners[np.arange(len(users)), self._cells(scaled, public_words(self._seed, users), users)] = 1.0
            return corners
        if self.channel.whole:
            asked = np.indices(self.shape).reshape(len(self.shape), 1, -1)
            return self._nearness(scaled[:, :, None], asked)
        return self._nearness(scaled, np.array(np.unravel_index(self.asked(users), self.shape)))

    def _parities(self, columns: Floats, users: Words) -> NDArray[np.uint8]:
        """The sign of each person's lattice point in the public row, as a bit."""
        words = public_words(self._seed, users)
        cells = self._cells(self._scaled(columns), words, users)
        cells &= public_below(words, self.questions) + 1
        return np.bitwise_count(cells) & np.uint8(1)

    def _scaled(self, columns: Floats) -> Floats:
        """Each column in steps of its lattice, ``[0, size - 1]``."""
        scaled = columns
        for row, kind, size in zip(scaled, self.box.intervals(), self.shape, strict=True):
            row -= kind.low
            row /= kind.high - kind.low  # first: the inverse of a tiny width would overflow
            row *= size - 1
            np.minimum(row, size - 1, out=row)
        return scaled

    def _cells(self, scaled: Floats, words: Words, users: Words) -> NDArray[np.int64]:
        """One of the lattice points around each record, at random by a public dither: on average, the record itself."""
        cells = np.zeros(scaled.shape[1], dtype=np.int64)
        for axis, (row, size) in enumerate(zip(scaled, self.shape, strict=True)):
            if axis >= 2 and axis % 2 == 0:  # a word has two dithers
                words = public_words(self._seed, users, 1 + axis)
            row += public_dither(words, axis % 2)
            cells *= size
            cells += row.astype(np.int64)
        return cells

    def _nearness(self, scaled: Floats, asked: NDArray[np.int64]) -> Floats:
        """How near each record is to a lattice point: the product of its hat functions along the columns."""
        return np.asarray(
            np.prod([np.maximum(0.0, 1 - np.abs(row - at)) for row, at in zip(scaled, asked, strict=True)], axis=0)
        )

    @property
    def _seed(self) -> int:
        assert self.seed is not None
        return self.seed

    def spread(self, variance: float) -> float:
        # A mass is the mean of all signs, each twice as uncertain as its answer.
        return 4 * variance * self.questions / (self.questions + 1) ** 2 if self.randomizer == "hadamard" else variance

    def pull(self, reach: float) -> float:
        # A mass is the mean of all signs, each of which moves twice as far as its answer.
        signs = 2 / (self.questions + 1) if self.randomizer == "hadamard" else 1.0
        return signs * super().pull(reach)

    def masses(self, state: State) -> tuple[Floats, float]:
        """The mass of every lattice point, unbiased, and a bound on the variance of each."""
        means, variances = self.channel.estimate(state)
        if self.randomizer != "hadamard":
            return means, float(variances.max())
        signs = np.concatenate([[1.0], 1 - 2 * means])  # row zero is one for everybody
        masses = walsh_hadamard(signs)[: self.points] / len(signs)
        return masses, float(4 * variances.sum()) / len(signs) ** 2

    def release(self, state: State, reports: int) -> Any:
        from sfumato.releases.collected.density import CollectedDensity

        masses, variance = self.masses(state)
        return CollectedDensity.of(self, masses, variance, reports)


def walsh_hadamard(values: Floats) -> Floats:
    """The Walsh-Hadamard transform of a vector whose length is a power of two."""
    result = values.copy()
    half = 1
    while half < len(result):
        pairs = result.reshape(-1, 2, half)
        result = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
        half *= 2
    return result
