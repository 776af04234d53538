"""A density without a trusted collector: each person is one lattice point, told by a bit or a byte."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.checks import one_of, positive_integer, true_or_false
from sfumato.core.box import Periodic
from sfumato.errors import ParameterError
from sfumato.local.channels import State, likelier
from sfumato.local.protocol import Protocol, Words
from sfumato.local.public import public_below, public_dither, public_words

Floats = NDArray[np.float64]

RANDOMIZERS = ("auto", "hadamard", "subset", "bit", "likelihood", "loglog", "laplace", "privunit")
_LARGEST = 2**20  # lattice points
_PEOPLE = 100_000


@dataclass(frozen=True)
class Density(Protocol):
    """The density of numeric columns on a lattice.

    A record is rounded at random to one of the lattice points around it, so that on average it is shared among them in
    proportion to their nearness. The person then tells this point, randomised: at a small epsilon by one bit, a
    Walsh-Hadamard sign of the point for a public row; at a larger one by a turn of a public set of points.

    Parameters
    ----------
    lattice
        Points along each column: a number, or one per column; at least two. ``"auto"`` (default) chooses a number from
        epsilon and ``people``: what comes nearest to made-up densities of different width.
    people
        With ``lattice="auto"``: a public guess of how many people will report.
    randomizer
        ``"auto"`` (default): the better of the next two by predicted variance. ``"hadamard"``: one sign of the point;
        ``"subset"``: which of the turns of a public set of points, those over mine more often. ``"bit"``: one lattice
        point a person, how near; ``"laplace"``: Algorithm 2, every point, epsilon split; ``"likelihood"``: Algorithm 3,
        mended; ``"loglog"``: Algorithm 8, mended; ``"privunit"``.
    circles
        Whether the lattice goes round periodic columns, its points evenly spaced. It does, but for protocols that were
        written before it could.

    >>> from sfumato.core.box import Box
    >>> Density(Box([(0, 1), (0, 1)]), epsilon=1.0, lattice=11, seed=1).randomizer
    'subset'
    """

    lattice: int | tuple[int, ...] | str = "auto"
    randomizer: str = "auto"
    circles: bool = True
    people: int | None = None

    kind: ClassVar[str] = "density"
    unwritten: ClassVar[dict[str, Any]] = {"circles": False}

    def check(self) -> None:
        one_of("randomizer", self.randomizer, RANDOMIZERS)
        self.box.intervals()
        self._choose_lattice()
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
        if self.randomizer == "auto":
            object.__setattr__(self, "randomizer", likelier(self.epsilon, [self.points]))
        periodic = any(isinstance(kind, Periodic) for kind in self.box.columns)
        object.__setattr__(self, "circles", true_or_false("circles", self.circles) and periodic)
        self.channel  # noqa: B018  (refuses an epsilon that the randomizer cannot serve)

    def _choose_lattice(self) -> None:
        """Replace ``"auto"`` by what it chooses: a protocol's file only says which lattice it is."""
        if isinstance(self.lattice, str):
            one_of("lattice", self.lattice, ("auto",))
            from sfumato.local.lattices import best_side

            people = _PEOPLE if self.people is None else positive_integer("people", self.people)
            around = tuple(bool(self.circles) and isinstance(kind, Periodic) for kind in self.box.columns)
            object.__setattr__(self, "lattice", best_side(self.epsilon, people, around))
        elif self.people is not None:
            raise ParameterError("people is for lattice='auto': leave it out", parameter="people")
        object.__setattr__(self, "people", None)

    @property
    def shape(self) -> tuple[int, ...]:
        """Lattice points along each column."""
        assert not isinstance(self.lattice, str)
        return self.lattice if isinstance(self.lattice, tuple) else (self.lattice,) * self.box.dimension

    @property
    def wrapped(self) -> tuple[bool, ...]:
        """Along which columns the lattice goes round."""
        return tuple(self.circles and isinstance(kind, Periodic) for kind in self.box.columns)

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

    def settings(self) -> dict[str, Any]:
        lattice = list(self.lattice) if isinstance(self.lattice, tuple) else self.lattice
        circles = {"circles": True} if self.circles else {}
        return {"lattice": lattice, "randomizer": self.randomizer, **circles}

    def answers(self, columns: Floats, users: Words) -> NDArray[Any]:
        if self.randomizer == "hadamard":
            return self._parities(columns, users)
        scaled = self._scaled(columns)
        if self.randomizer in ("subset", "privunit"):
            cells = self._cells(scaled, public_words(self._seed, users), users)
            return cells if self.randomizer == "subset" else np.eye(self.points)[cells]
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
        """Each column in steps of its lattice, ``[0, size - 1]``; round a circle ``[0, size]``, where ends are one."""
        scaled = columns
        for row, kind, size, wrapped in zip(scaled, self.box.intervals(), self.shape, self.wrapped, strict=True):
            steps = size if wrapped else size - 1
            row -= kind.low
            row /= kind.high - kind.low  # first: the inverse of a tiny width would overflow
            row *= steps
            np.minimum(row, steps, out=row)
        return scaled

    def _cells(self, scaled: Floats, words: Words, users: Words) -> NDArray[np.int64]:
        """One of the lattice points around each record, at random by a public dither: on average, the record itself."""
        cells = np.zeros(scaled.shape[1], dtype=np.int64)
        for axis, (row, size, wrapped) in enumerate(zip(scaled, self.shape, self.wrapped, strict=True)):
            if axis >= 2 and axis % 2 == 0:  # a word has two dithers
                words = public_words(self._seed, users, 1 + axis)
            row += public_dither(words, axis % 2)
            cells *= size
            cells += row.astype(np.int64) % size if wrapped else row.astype(np.int64)
        return cells

    def _nearness(self, scaled: Floats, asked: NDArray[np.int64]) -> Floats:
        """How near each record is to a lattice point: the product of its hat functions along the columns."""
        apart = [np.abs(row - at) for row, at in zip(scaled, asked, strict=True)]
        for axis, (size, wrapped) in enumerate(zip(self.shape, self.wrapped, strict=True)):
            apart[axis] = np.minimum(apart[axis], size - apart[axis]) if wrapped else apart[axis]
        return np.asarray(np.prod([np.maximum(0.0, 1 - distance) for distance in apart], axis=0))

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
        if self.randomizer == "subset":  # who is rounded to a point is drawn as well
            share = np.clip(means, 0.0, 1.0)
            return means, float((variances + share * (1 - share) / max(1, int(state["asked"][0]))).max())
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
