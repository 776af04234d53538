"""Copies of one vector a person, with noise of their own: what a polynomial of a gradient needs to stay unbiased.

A product of inner products with independent copies has the product of their means as its mean. The collector adds up
all products of the copies' numbers, for each of some groups of people (*steps*) by itself, as whole numbers.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.checks import share_of
from sfumato.core.randomizer import Codebook, GaussianCopies
from sfumato.errors import ParameterError
from sfumato.local.channels import MOST_DIRECTIONS, Channel, Floats, Payload, State, Words, unit_moments
from sfumato.local.public import public_normals, some_normals

_LARGEST_PART = 2**44  # of one report in a sum: half a million of these fit into 64 bits
_FINEST = 2**20
_AT_ONCE = 2**20  # numbers that are worked on
_TAIL = 12.0  # deviations, beyond which Gaussian noise is cut
MOST_PRODUCTS = 2**22  # that a collector keeps


@dataclass(frozen=True)
class CopiesChannel(Channel):
    """``copies`` copies of a vector of ``size`` numbers; ``questions`` are the steps that people are divided into."""

    size: int = 2
    copies: int = 2
    delta: float = 0.0

    bitwise: ClassVar[bool] = False

    @property
    def told(self) -> int:
        return self.size * self.copies

    @property
    def products(self) -> int:
        """Numbers of the first copy, times one or a number of each of the others."""
        return int(self.size * (self.size + 1) ** (self.copies - 1))

    def check(self) -> None:
        """Refuse what devices or collectors cannot do."""
        if self.questions * self.products > MOST_PRODUCTS:
            raise ParameterError(
                f"the collector would keep {self.questions * self.products:,} numbers, at most {MOST_PRODUCTS:,}: "
                "lower degree or steps, or leave out columns",
                parameter="degree",
            )
        if self.reach_of_one**self.copies > _LARGEST_PART:
            raise ParameterError(
                f"epsilon={self.epsilon!r} over {self.copies} copies needs noise beyond 64-bit sums: choose less "
                "extreme values",
                parameter="epsilon",
            )

    @property
    @abstractmethod
    def reach_of_one(self) -> float:
        """The largest number that a copy can have, as an estimate."""

    @property
    @abstractmethod
    def square(self) -> float:
        """A bound on the mean square of a copy along any vector of length one."""

    @abstractmethod
    def estimates_of(self, payload: Payload, users: Words) -> Floats:
        """``(m, copies, size)``: what each copy says the vector is, unbiased."""

    @property
    def steps_of_one(self) -> float:
        """In what steps products are added up: one over this."""
        return min(float(_FINEST), 2.0 ** math.floor(math.log2(_LARGEST_PART / self.reach_of_one**self.copies)))

    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {"asked": (self.questions,), "sums": (self.questions, self.products)}

    def add(self, state: State, payload: Payload, asked: NDArray[np.int64], users: Words) -> None:
        state["asked"] += np.bincount(asked, minlength=self.questions)
        block = max(1, _AT_ONCE // self.products)
        for start in range(0, len(users), block):
            part = slice(start, start + block)
            told = self.estimates_of(payload[part], users[part])
            products = told[:, 0]
            for copy in range(1, self.copies):
                longer = np.concatenate([np.ones((len(told), 1)), told[:, copy]], axis=1)
                products = (products[:, :, None] * longer[:, None, :]).reshape(len(told), -1)
            whole = np.rint(products * self.steps_of_one).astype(np.int64)
            for step in np.unique(asked[part]).tolist():
                state["sums"][step] += whole[asked[part] == step].sum(axis=0)

    def possible(self, state: State) -> bool:
        most = state["asked"][:, None] * (float(self.largest) * (1 + 2.0**-40))
        return bool((np.abs(state["sums"].astype(np.float64)) <= most).all())

    @property
    def largest(self) -> int:
        return math.ceil(max(1.0, self.reach_of_one) ** self.copies * self.steps_of_one)

    def tables(self, state: State) -> Floats:
        """``(steps, size, size + 1, ...)``: the mean product of each step, unbiased; zero of a step without people."""
        counts = np.maximum(state["asked"], 1)[:, None]
        return (state["sums"] / (self.steps_of_one * counts)).reshape(
            self.questions, self.size, *(self.size + 1,) * (self.copies - 1)
        )

    def estimate(self, state: State) -> tuple[Floats, Floats]:
        """Of the vector itself, over all people, by the first copy."""
        every = (self.size + 1) ** (self.copies - 1)
        count = max(1, int(state["asked"].sum()))
        means = state["sums"].sum(axis=0)[::every] / (self.steps_of_one * count)
        return means, np.full(self.size, self.square / count)

    def expected(self) -> tuple[float, float]:
        return self.square, self.square

    @property
    def reach(self) -> float:
        return 2 * self.reach_of_one


@dataclass(frozen=True)
class UnitCopies(CopiesChannel):
    """PrivUnit copies: each names one of 256 public directions of its own, with its share of epsilon. One byte each."""

    name: ClassVar[str] = "privunit-copies"

    def __post_init__(self) -> None:
        self._codebook  # noqa: B018  (refuses what it cannot serve)
        if not 2 <= self.size * self.copies <= MOST_DIRECTIONS:
            raise ParameterError(
                f"devices draw 256 directions of {self.size * self.copies:,} numbers in all, at most "
                f"{MOST_DIRECTIONS:,}: leave out columns, or lower degree",
                parameter="degree",
            )
        self.check()

    @cached_property
    def _codebook(self) -> Codebook:
        return Codebook(share_of(self.epsilon, Fraction(1, self.copies)))

    @property
    def width(self) -> int:
        return self.copies

    @property
    def _gain(self) -> float:
        return unit_moments(self._codebook, self.size)[0]

    @property
    def reach_of_one(self) -> float:
        return 1 / self._gain

    @property
    def square(self) -> float:
        gain, square = unit_moments(self._codebook, self.size)
        return square / gain**2

    def expected(self) -> tuple[float, float]:
        """The mean over coordinates is the same for any unit vectors."""
        return (1 / self._gain**2 - 1) / self.size, self.square

    def directions(self, users: Words) -> Floats:
        """``(m, copies, 256, size)`` unit vectors: a codebook for each copy."""
        shape = (len(users), self.copies, self._codebook.size, self.size)
        found = public_normals(self.seed, users, math.prod(shape[1:])).reshape(shape)
        return np.asarray(found / np.linalg.norm(found, axis=3, keepdims=True))

    def send(self, answers: NDArray[Any], users: Words) -> Payload:
        sent = np.empty((len(users), self.copies), dtype=np.uint8)
        block = max(1, _AT_ONCE // (self._codebook.size * self.told))
        for start in range(0, len(users), block):
            part = slice(start, start + block)
            close = np.einsum("mcsq,mq->mcs", self.directions(users[part]), answers[part])
            sent[part] = self._codebook.send(close.reshape(-1, self._codebook.size)).reshape(-1, self.copies)
        return sent

    def estimates_of(self, payload: Payload, users: Words) -> Floats:
        books = self._codebook.size * np.arange(self.copies)
        named = [
            some_normals(self.seed, users, (book + payload[:, copy].astype(np.int64)) * self.size, self.size)
            for copy, book in enumerate(books.tolist())
        ]
        found = np.stack(named, axis=1)
        return np.asarray(found / np.linalg.norm(found, axis=2, keepdims=True) / self._gain)

    def valid(self, payload: Payload) -> NDArray[np.bool_]:
        return np.ones(len(payload), dtype=np.bool_)


@dataclass(frozen=True)
class GaussianNumbers(CopiesChannel):
    """The paper's copies: all numbers of all of them, with Gaussian noise, four bytes each. Needs ``delta``."""

    name: ClassVar[str] = "gaussian-copies"

    def __post_init__(self) -> None:
        if self.told > MOST_DIRECTIONS:
            raise ParameterError(
                f"devices send at most {MOST_DIRECTIONS:,} numbers, got {self.told:,}: leave out columns, or lower "
                "degree",
                parameter="degree",
            )
        self.check()
        if self._limit >= 2**31:
            raise ParameterError(f"epsilon={self.epsilon!r} needs numbers beyond four bytes", parameter="epsilon")

    @cached_property
    def _randomizer(self) -> GaussianCopies:
        return GaussianCopies(self.epsilon, self.delta, self.copies, self.size)

    @property
    def width(self) -> int:
        return 4 * self.told

    @property
    def _step(self) -> float:
        return 2.0**self._randomizer.exponent

    @cached_property
    def _limit(self) -> int:
        """Noise beyond this has a chance below 1e-32 and is cut, so that nobody can send more: post-processing."""
        return math.ceil(_TAIL * math.sqrt(self._randomizer.variance) + 1 / self._step)

    @property
    def reach_of_one(self) -> float:
        return self._limit * self._step

    @property
    def square(self) -> float:
        return float(self._randomizer.variance) * self._step**2 + 1

    def send(self, answers: NDArray[Any], users: Words) -> Payload:
        sent = np.clip(self._randomizer.send(answers), -self._limit, self._limit)
        return np.ascontiguousarray(sent.reshape(len(users), -1).astype("<i4")).view(np.uint8)

    def _numbers(self, payload: Payload) -> NDArray[np.int64]:
        return np.ascontiguousarray(payload).view("<i4").astype(np.int64)

    def estimates_of(self, payload: Payload, users: Words) -> Floats:
        return np.asarray(self._numbers(payload).reshape(-1, self.copies, self.size) * self._step)

    def valid(self, payload: Payload) -> NDArray[np.bool_]:
        return np.asarray((np.abs(self._numbers(payload)) <= self._limit).all(axis=1))
