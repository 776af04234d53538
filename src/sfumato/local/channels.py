"""How answers travel: a randomizer on the device, and what the collector adds up.

Every channel asks each person one public question (or all of them), and keeps whole numbers only, so that collectors
can be merged in any order and any grouping.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.core.randomizer import MOST_ITEMS, Codebook, LaplaceNumber, LikelihoodBit, LogLog, OneBit, Subset
from sfumato.errors import ParameterError
from sfumato.local.public import TAIL, public_circles, public_laplace, public_normals, public_words, some_normals

Floats = NDArray[np.float64]
Payload = NDArray[np.uint8]
Words = NDArray[np.uint64]
State = dict[str, NDArray[np.int64]]

_FIXED = 2**20  # public numbers are added up in steps of one over this
_LARGEST_REPORT = 2**46  # of a Laplace number, in grid steps: a hundred thousand of these fit into a sum
MOST_NUMBERS = 2**12  # that one person answers with: 32 KB
AUTOMATIC = ("hadamard", "subset")  # among which ``randomizer="auto"`` chooses
_NEARLY = 1.03  # variance of a sign over that of a subset, up to which the sign is preferred
_CIRCLES = 2**20  # places of public circles at a time
_ANGLES = 2**13  # at which the nearness of a random direction is worked out
MOST_DIRECTIONS = 2**10  # numbers in each of 256 public directions: some milliseconds a person


@dataclass(frozen=True)
class Channel(ABC):
    """``questions`` public questions with answers in [0, 1], at ``epsilon`` for each person."""

    epsilon: float
    questions: int
    seed: int

    name: ClassVar[str]
    bitwise: ClassVar[bool] = True

    @property
    def whole(self) -> bool:
        """Whether each person answers all questions, and not one."""
        return False

    @property
    def told(self) -> int:
        """How many numbers a person's answer has."""
        return self.questions if self.whole else 1

    @property
    def width(self) -> int:
        """Bytes of one payload."""
        return 1

    @abstractmethod
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """What the collector keeps: names and shapes of whole numbers."""

    @abstractmethod
    def send(self, answers: NDArray[Any], users: Words) -> Payload:
        """Randomise private answers, ``(m,)`` or ``(m, questions)``, to ``(m,)`` bits or ``(m, width)`` bytes."""

    @abstractmethod
    def add(self, state: State, payload: Payload, asked: NDArray[np.int64], users: Words) -> None:
        """Add reports to what is kept."""

    @abstractmethod
    def valid(self, payload: Payload) -> NDArray[np.bool_]:
        """Which payloads a device could have sent."""

    @abstractmethod
    def estimate(self, state: State) -> tuple[Floats, Floats]:
        """The mean answer to each question, unbiased, and a bound on the variance of each."""

    @property
    @abstractmethod
    def reach(self) -> float:
        """How far one report, replaced by any other of its person, moves a mean answer, times the people asked.

        For the worst of all public numbers that a person can have: docs/proofs/randomizers.md, Theorem 8.
        """

    @property
    def largest(self) -> int:
        """What one report adds to a sum at most."""
        return 1

    def expected(self) -> tuple[float, float]:
        """The variance of a mean answer times the people asked: its mean over all answers, and the largest possible."""
        people = 10**6
        state = self.empty()
        for name in ("bits", "asked"):
            if name in state:
                state[name] += people // 2 if name == "bits" else people
        largest = float(np.max(self.estimate(state)[1])) * people
        return largest, largest

    def possible(self, state: State) -> bool:
        """Whether reports can have added up to these sums."""
        most = state["asked"] * float(self.largest) * (1 + 2.0**-40)
        return bool((np.abs(state["sums"].astype(np.float64)) <= most).all())

    def empty(self) -> State:
        """What is kept before any report."""
        return {name: np.zeros(shape, dtype=np.int64) for name, shape in self.shapes().items()}


@dataclass(frozen=True)
class BitChannel(Channel):
    """One question, one bit: randomised response."""

    name: ClassVar[str] = "bit"

    def __post_init__(self) -> None:
        OneBit(self.epsilon)  # refuses what it cannot serve

    @cached_property
    def _randomizer(self) -> OneBit:
        return OneBit(self.epsilon)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {"bits": (self.questions, 2)}

    def send(self, answers: NDArray[Any], users: Words) -> Payload:
        randomizer = self._randomizer
        return randomizer.flip(answers) if answers.dtype == np.uint8 else randomizer.send(answers)

    def add(self, state: State, payload: Payload, asked: NDArray[np.int64], users: Words) -> None:
        place = asked * 2
        place += payload
        state["bits"] += np.bincount(place, minlength=2 * self.questions).reshape(-1, 2)

    def valid(self, payload: Payload) -> NDArray[np.bool_]:
        return payload <= 1

    def estimate(self, state: State) -> tuple[Floats, Floats]:
        randomizer = self._randomizer
        counts = np.maximum(state["bits"].sum(axis=1), 1)
        means = (state["bits"][:, 1] / counts - float(randomizer.flip_probability)) / randomizer.gain
        asked = state["bits"].sum(axis=1) > 0
        # A question that nobody was asked: no answer, and every answer is possible.
        return np.where(asked, means, 0.5), 1 / (4 * randomizer.gain**2 * counts)

    @property
    def reach(self) -> float:
        return 1 / self._randomizer.gain


@dataclass(frozen=True)
class LikelihoodChannel(Channel):
    """Algorithm 3, mended: one question, one bit about a public number."""

    name: ClassVar[str] = "likelihood"

    def __post_init__(self) -> None:
        LikelihoodBit(self.epsilon)  # refuses what it cannot serve

    def _public(self, users: Words) -> Floats:
        return public_laplace(public_words(self.seed, users, 1)) / LikelihoodBit(self.epsilon).inner

    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {"asked": (self.questions,), "sums": (self.questions,)}

    def send(self, answers: NDArray[Any], users: Words) -> Payload:
        return LikelihoodBit(self.epsilon).send(answers.astype(np.float64), self._public(users))

    def add(self, state: State, payload: Payload, asked: NDArray[np.int64], users: Words) -> None:
        state["asked"] += np.bincount(asked, minlength=self.questions)
        steps = np.rint(self._public(users) * _FIXED).astype(np.int64)
        np.add.at(state["sums"], asked, np.where(payload == 1, steps, 0))

    def valid(self, payload: Payload) -> NDArray[np.bool_]:
        return payload <= 1

    def estimate(self, state: State) -> tuple[Floats, Floats]:
        counts = np.maximum(state["asked"], 1)
        # Half of all bits are one on average, and those carry a Laplace number around the answer.
        means = 2 * state["sums"] / (_FIXED * counts)
        inner = LikelihoodBit(self.epsilon).inner
        return np.where(state["asked"] > 0, means, 0.5), 2 * (2 / inner**2 + 1) / counts

    @property
    def largest(self) -> int:
        return round(TAIL / LikelihoodBit(self.epsilon).inner * _FIXED)

    @property
    def reach(self) -> float:
        return 2 * self.largest / _FIXED  # a one instead of a zero


@dataclass(frozen=True)
class LogLogChannel(Channel):
    """Algorithm 8, mended: one question, the number of a public draw."""

    name: ClassVar[str] = "loglog"
    bitwise: ClassVar[bool] = False

    def __post_init__(self) -> None:
        LogLog(self.epsilon)  # refuses what it cannot serve

    def _public(self, users: Words) -> Floats:
        randomizer = LogLog(self.epsilon)
        streams = [public_laplace(public_words(self.seed, users, 1 + t)) for t in range(randomizer.tries)]
        return np.stack(streams, axis=1) / randomizer.inner

    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {"asked": (self.questions,), "sums": (self.questions,)}

    def send(self, answers: NDArray[Any], users: Words) -> Payload:
        return LogLog(self.epsilon).send(answers.astype(np.float64), self._public(users))[:, None]

    def add(self, state: State, payload: Payload, asked: NDArray[np.int64], users: Words) -> None:
        state["asked"] += np.bincount(asked, minlength=self.questions)
        named = self._public(users)[np.arange(len(payload)), payload[:, 0]]
        np.add.at(state["sums"], asked, np.rint(named * _FIXED).astype(np.int64))

    def valid(self, payload: Payload) -> NDArray[np.bool_]:
        return payload[:, 0] < LogLog(self.epsilon).tries

    def estimate(self, state: State) -> tuple[Floats, Floats]:
        randomizer, counts = LogLog(self.epsilon), np.maximum(state["asked"], 1)
        kept = self._kept
        means = state["sums"] / (_FIXED * counts * kept)
        return np.where(state["asked"] > 0, means, 0.5), (2 / randomizer.inner**2 + 1) / (kept**2 * counts)

    @property
    def _kept(self) -> float:
        """What a named draw keeps of the answer: all of it, unless none was kept."""
        return 1 - 2.0 ** (1 - LogLog(self.epsilon).tries)

    @property
    def largest(self) -> int:
        return round(TAIL / LogLog(self.epsilon).inner * _FIXED)

    @property
    def reach(self) -> float:
        return 2 * self.largest / (_FIXED * self._kept)  # the largest draw instead of the smallest


@dataclass(frozen=True)
class LaplaceChannel(Channel):
    """Algorithms 1 and 2: every person answers every question, and splits epsilon over them."""

    name: ClassVar[str] = "laplace"
    bitwise: ClassVar[bool] = False

    @property
    def whole(self) -> bool:
        return True

    @property
    def width(self) -> int:
        return 8 * self.questions

    def _randomizer(self) -> LaplaceNumber:
        return LaplaceNumber(self.epsilon, self.questions)

    def __post_init__(self) -> None:
        if self.questions > MOST_NUMBERS:
            raise ParameterError(
                f"randomizer='laplace' answers every question, at most {MOST_NUMBERS:,} of them, got "
                f"{self.questions:,}: ask fewer questions or use another randomizer",
                parameter="randomizer",
            )
        if self.largest > _LARGEST_REPORT:
            raise ParameterError(
                f"randomizer='laplace' cannot serve epsilon={self.epsilon!r} over {self.questions} questions: sums "
                "would not fit into 64 bits; ask fewer questions or use another randomizer",
                parameter="randomizer",
            )

    @property
    def _noise(self) -> int:
        """Noise beyond this has a chance of 2e-9 and is cut, so that nobody can send more: post-processing."""
        return int(TAIL * self._randomizer().scale)

    @property
    def largest(self) -> int:
        return self._noise + LaplaceNumber.steps

    @property
    def reach(self) -> float:
        return 2 * self._noise / LaplaceNumber.steps + 1

    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {"asked": (1,), "sums": (self.questions,)}

    def send(self, answers: NDArray[Any], users: Words) -> Payload:
        sent = np.clip(self._randomizer().send(answers.astype(np.float64)), -self._noise, self.largest)
        return np.ascontiguousarray(sent.astype("<i8")).view(np.uint8).reshape(len(answers), -1)

    def _numbers(self, payload: Payload) -> NDArray[np.int64]:
        return np.ascontiguousarray(payload).view("<i8").astype(np.int64)

    def add(self, state: State, payload: Payload, asked: NDArray[np.int64], users: Words) -> None:
        state["asked"] += len(payload)
        state["sums"] += self._numbers(payload).sum(axis=0)

    def valid(self, payload: Payload) -> NDArray[np.bool_]:
        numbers = self._numbers(payload)
        return np.asarray(((-self._noise <= numbers) & (numbers <= self.largest)).all(axis=1))

    def estimate(self, state: State) -> tuple[Floats, Floats]:
        count = max(1, int(state["asked"][0]))
        scale = float(self._randomizer().scale) / LaplaceNumber.steps
        means = state["sums"] / (LaplaceNumber.steps * count)
        return means, np.full(self.questions, (2 * scale**2 + 0.25) / count)


@dataclass(frozen=True)
class UnitChannel(Channel):
    """PrivUnit: every person's answers together are a unit vector, and one of many public directions is named."""

    name: ClassVar[str] = "privunit"
    bitwise: ClassVar[bool] = False

    @property
    def whole(self) -> bool:
        return True

    def __post_init__(self) -> None:
        Codebook(self.epsilon)  # refuses what it cannot serve
        if not 2 <= self.questions <= MOST_DIRECTIONS:
            raise ParameterError(
                f"randomizer='privunit' takes 2 to {MOST_DIRECTIONS:,} questions (devices draw 256 directions of so "
                f"many numbers), got {self.questions:,}: ask fewer questions or use another randomizer",
                parameter="randomizer",
            )

    def _directions(self, users: Words) -> Floats:
        """``(m, size, questions)`` unit vectors."""
        size = Codebook(self.epsilon).size
        found = public_normals(self.seed, users, size * self.questions).reshape(len(users), size, self.questions)
        return np.asarray(found / np.linalg.norm(found, axis=2, keepdims=True))

    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {"asked": (1,), "sums": (self.questions,)}

    def _each(self, users: Words, do: Callable[[slice, Floats], None]) -> None:
        """Codebooks are large: a few people at a time."""
        block = max(1, 2**20 // (Codebook(self.epsilon).size * self.questions))
        for start in range(0, len(users), block):
            part = slice(start, min(start + block, len(users)))
            do(part, self._directions(users[part]))

    def send(self, answers: NDArray[Any], users: Words) -> Payload:
        sent = np.empty(len(users), dtype=np.uint8)
        randomizer = Codebook(self.epsilon)

        def do(part: slice, directions: Floats) -> None:
            sent[part] = randomizer.send(np.einsum("msq,mq->ms", directions, answers[part]))

        self._each(users, do)
        return sent[:, None]

    def add(self, state: State, payload: Payload, asked: NDArray[np.int64], users: Words) -> None:
        block = max(1, _CIRCLES // self.questions)
        for start in range(0, len(users), block):
            part = slice(start, start + block)
            named = self._named(users[part], payload[part, 0])
            state["sums"] += np.rint(named * _FIXED).astype(np.int64).sum(axis=0)
        state["asked"] += len(payload)

    def _named(self, users: Words, names: Payload) -> Floats:
        """``(m, questions)``: one direction of each person, the same bits as in the whole codebook."""
        found = some_normals(self.seed, users, names.astype(np.int64) * self.questions, self.questions)
        return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True))

    def valid(self, payload: Payload) -> NDArray[np.bool_]:
        return np.ones(len(payload), dtype=np.bool_)

    def estimate(self, state: State) -> tuple[Floats, Floats]:
        count = max(1, int(state["asked"][0]))
        gain, square = unit_moments(Codebook(self.epsilon), self.questions)
        variance = square / (gain**2 * count)
        return state["sums"] / (_FIXED * count * gain), np.full(self.questions, variance)

    def expected(self) -> tuple[float, float]:
        """The mean over coordinates is the same for any unit vectors: whatever is named has length one."""
        gain, square = unit_moments(Codebook(self.epsilon), self.questions)
        return self.mean_variance(self.questions, 1.0), square / gain**2

    def mean_variance(self, numbers: int, part: float) -> float:
        """Of estimates of so many coordinates with this part of the vector's square: their mean, times the people."""
        gain, square = unit_moments(Codebook(self.epsilon), self.questions)
        # Along the vector what is named varies as its nearness does, across it evenly with what is left.
        along, across = square - gain**2, (1 - square) / (self.questions - 1)
        return (across + (along - across) * part / numbers) / gain**2

    @property
    def largest(self) -> int:
        return _FIXED

    @property
    def reach(self) -> float:
        return 2 / unit_gain(Codebook(self.epsilon), self.questions)


@dataclass(frozen=True)
class SubsetChannel(Channel):
    """Subset selection: each person is one of ``questions`` items, and names a turn of a public set that may cover it.

    Items of several ``groups`` (their sizes, one after the other) are told by different people: a person is asked for
    the item of one group.
    """

    groups: tuple[int, ...] = ()

    name: ClassVar[str] = "subset"
    bitwise: ClassVar[bool] = False

    @property
    def whole(self) -> bool:
        return len(self.groups) == 1

    @property
    def told(self) -> int:
        return 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", self.groups or (self.questions,))
        if max(self.groups) > MOST_ITEMS:
            raise ParameterError(
                f"randomizer='subset' takes at most {MOST_ITEMS:,} categories or lattice points, got "
                f"{max(self.groups):,}: use fewer, or randomizer='hadamard'",
                parameter="randomizer",
            )
        self._randomizers  # noqa: B018  (refuses what they cannot serve)

    @cached_property
    def _randomizers(self) -> list[Subset]:
        return [Subset(self.epsilon, size) for size in self.groups]

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where the items of each group begin."""
        return np.cumsum([0, *self.groups[:-1]])

    @property
    def width(self) -> int:
        return 1 if max(self.groups) <= 256 else 2

    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {"asked": (len(self.groups),), "sums": (sum(self.groups),)}

    def _each(self, group: NDArray[np.int64], users: Words) -> Iterator[tuple[int, NDArray[np.int64], Any]]:
        """Of every group some people at a time: the group, which people, and their circles."""
        for place, randomizer in enumerate(self._randomizers):
            own = np.flatnonzero(group == place)
            block = max(1, _CIRCLES // randomizer.size)
            for start in range(0, len(own), block):
                part = own[start : start + block]
                yield place, part, public_circles(self.seed, users[part], randomizer.size, randomizer.kept)

    def send(self, answers: NDArray[Any], users: Words) -> Payload:
        items = answers.astype(np.int64)
        group = np.searchsorted(self.starts, items, side="right") - 1
        sent = np.empty(len(users), dtype="<u2")
        for place, part, circles in self._each(group, users):
            sent[part] = self._randomizers[place].send(items[part] - self.starts[place], circles)
        return np.ascontiguousarray(sent).view(np.uint8).reshape(-1, 2)[:, : self.width]

    def turns(self, payload: Payload) -> NDArray[np.int64]:
        """The turns that reports name."""
        whole = payload.astype(np.int64)
        return whole[:, 0] if self.width == 1 else whole[:, 0] + 256 * whole[:, 1]

    def add(self, state: State, payload: Payload, asked: NDArray[np.int64], users: Words) -> None:
        turns = self.turns(payload)
        group = np.zeros(len(turns), dtype=np.int64) if self.whole else asked
        state["asked"] += np.bincount(group, minlength=len(self.groups))
        for place, part, circles in self._each(group, users):
            size, kept = self.groups[place], self._randomizers[place].kept
            covered = (circles[:kept] + turns[part].astype(circles.dtype)) % size
            start = self.starts[place]
            state["sums"][start : start + size] += np.bincount(covered.ravel(), minlength=size)

    def valid(self, payload: Payload) -> NDArray[np.bool_]:
        return np.asarray(self.turns(payload) < max(self.groups))

    def possible(self, state: State) -> bool:
        for asked, part, randomizer in zip(state["asked"], self._parts(state["sums"]), self._randomizers, strict=True):
            if part.min() < 0 or part.max() > asked or sum(part.tolist()) != int(asked) * randomizer.kept:
                return False
        return True

    def _parts(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        return np.split(values, self.starts[1:])

    def estimate(self, state: State) -> tuple[Floats, Floats]:
        found = [
            subset_estimate(randomizer, sums, int(asked))
            for randomizer, sums, asked in zip(
                self._randomizers, self._parts(state["sums"]), state["asked"], strict=True
            )
        ]
        shares, variances = zip(*found, strict=True)
        return np.concatenate(shares), np.concatenate(variances)

    def expected(self) -> tuple[float, float]:
        """Over all items of a group the mean is the same whatever people hold."""
        means, largest = [], []
        for randomizer in self._randomizers:
            own, other = cover_chances(randomizer)
            gain = (own - other) ** 2
            means.append((own * (1 - own) + (randomizer.size - 1) * other * (1 - other)) / (gain * randomizer.size))
            # An item may itself be drawn, as a lattice point is: then any chance between the two is possible.
            chance = own if own < 0.5 else max(other, 0.5)
            largest.append(chance * (1 - chance) / gain)
        return max(means), max(largest)

    @property
    def reach(self) -> float:
        return max(1 / (own - other) for own, other in map(cover_chances, self._randomizers))


def cover_chances(randomizer: Subset) -> tuple[float, float]:
    """How probable it is that the turn named covers a person's own item, and any other, over public sets as well."""
    size, kept = randomizer.size, randomizer.kept
    close, far = randomizer.weights
    total = kept * close + (size - kept) * far
    own = Fraction(kept * close, total)
    return float(own), float((kept - own) / (size - 1))  # every turn covers as many items


def subset_estimate(randomizer: Subset, covered: NDArray[np.int64], people: int) -> tuple[Floats, Floats]:
    """The share of every item, unbiased, and the variance of each, for a share that is four deviations larger."""
    own, other = cover_chances(randomizer)
    count, gain = max(1, people), own - other
    shares = (covered / count - other) / gain if people else np.full(randomizer.size, 1 / randomizer.size)
    rare, sure = other * (1 - other) / (gain**2 * count), own * (1 - own) / (gain**2 * count)
    likely = np.clip(shares + 4 * math.sqrt(max(rare, sure)), 0.0, 1.0)
    return shares, rare + likely * (sure - rare) if sure > rare else np.full(randomizer.size, rare)


@lru_cache(maxsize=64)
def unit_moments(randomizer: Codebook, dimension: int) -> tuple[float, float]:
    """The mean inner product of the direction that is named with the vector that it is about, and its mean square.

    No coordinate of that direction has a larger mean square: across the vector it is at most ``1 / dimension``.
    """
    size, near = randomizer.size, randomizer.near
    # One coordinate of an evenly spread unit vector is the sine of an angle with density cos(angle)**(dimension - 2);
    # 12 deviations hold all of it. Numpy only: a device works this out when it is told a protocol of copies.
    edge = min(math.pi / 2, 12 / math.sqrt(dimension))
    angles = edge * ((2 * np.arange(_ANGLES) + 1) / _ANGLES - 1)
    values, mass = np.sin(angles), np.cos(angles) ** (dimension - 2)
    mass /= mass.sum()
    above = np.clip(1 - (np.cumsum(mass) - mass / 2), 1e-300, 1 - 2.0**-53)
    # The chance that this value is among the ``near`` largest of ``size``: fewer than near others are above it.
    logs, others = (np.log(above), np.log1p(-above)), size - 1
    chance = sum(np.exp(math.log(math.comb(others, k)) + k * logs[0] + (others - k) * logs[1]) for k in range(near))
    close, far = randomizer.weights
    total = near * close + (size - near) * far
    top, squares = float(values @ (mass * chance)) * size, float(values**2 @ (mass * chance)) * size  # of the nearest
    return top * (close - far) / total, (squares * (close - far) + size / dimension * far) / total


def unit_gain(randomizer: Codebook, dimension: int) -> float:
    """What a named direction keeps of the vector that it is about."""
    return unit_moments(randomizer, dimension)[0]


def item_variance(name: str, epsilon: float, size: int) -> float:
    """Of the share of one of so many items, times the people, told by ``"subset"`` or ``"hadamard"``: its mean."""
    if name == "subset":
        return SubsetChannel(epsilon, size, 0).expected()[0]
    rows = 1 << (size - 1).bit_length()
    return ((1 - 1 / rows) / OneBit(epsilon).gain) ** 2


def likelier(epsilon: float, sizes: Sequence[int]) -> str:
    """Which of the two tells an item of each of some columns best, by the predicted variance.

    The sign is taken where it is nearly as good: it is one bit, and collectors need not order circles.
    """
    if not 0.001 <= epsilon <= 16 or max(sizes) > MOST_ITEMS:
        return "hadamard"
    more = [size for size in sizes if size > 2]  # of two, it is one bit either way
    better = any(
        item_variance("hadamard", epsilon, size) > _NEARLY * item_variance("subset", epsilon, size) for size in more
    )
    return "subset" if better else "hadamard"


CHANNELS: dict[str, type[Channel]] = {
    kind.name: kind
    for kind in (BitChannel, LikelihoodChannel, LogLogChannel, LaplaceChannel, UnitChannel, SubsetChannel)
}
