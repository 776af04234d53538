"""Marginal tables without a trusted collector: each person tells the randomised sign of one Walsh coefficient."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.tables.walsh import Walsh
from sfumato.checks import finite_number, one_of, positive_integer
from sfumato.core.box import Categorical
from sfumato.errors import ParameterError
from sfumato.local.channels import Channel, State, SubsetChannel, likelier
from sfumato.local.protocol import Protocol, Questions
from sfumato.local.public import public_below, public_words

Floats = NDArray[np.float64]

RANDOMIZERS = ("auto", "hadamard", "subset", "chebyshev")
_TYPICAL = 0.15  # what two columns typically have in common, as a correlation: a public guess
_TOKEN = 0.1  # a share of people for pairs that is not worth asking for
_PEOPLE = 100_000
_LARGEST_LIST = 2**20  # coefficients times ways: each device lists them, in a few tenths of a second


@dataclass(frozen=True)
class Marginals(Protocol):
    """All tables of up to ``ways`` categorical columns.

    Parameters
    ----------
    ways
        The largest number of columns in a table.
    one_way
        The share of people who are asked about a single column; the others are asked what several have in common. By
        default the share of least predicted error for ``people`` persons; 1 where so few would be left for the others
        that they learn nothing: tables are then products of shares.
    people
        A public guess of how many people will report; it only steers accuracy.
    randomizer
        ``"auto"`` (default): the better of the next two by predicted variance. ``"hadamard"``: the sign of a Walsh
        coefficient. ``"subset"``, for ``ways=1``: which of the turns of a public set of one column's categories, those
        over mine more often. ``"chebyshev"``: Algorithm 6 with one sampled coefficient a person, binary columns only:
        whether all of a few columns are one.

    >>> from sfumato.core.box import Box, Categorical
    >>> box = Box({"smoker": Categorical(["no", "yes"]), "ill": Categorical(["no", "yes"])})
    >>> Marginals(box, epsilon=1.0, ways=2, seed=1).questions
    3
    """

    ways: int = 2
    one_way: float | None = None
    people: int = _PEOPLE
    randomizer: str = "auto"

    kind: ClassVar[str] = "marginals"

    def check(self) -> None:
        one_of("randomizer", self.randomizer, RANDOMIZERS)
        for name in ("ways", "people"):
            object.__setattr__(self, name, positive_integer(name, getattr(self, name)))
        self.walsh  # noqa: B018  (refuses columns that have no categories, and too many coefficients)
        if self.walsh.size * self.ways > _LARGEST_LIST:
            raise ParameterError(
                f"{self.ways}-way marginals of these columns have {self.walsh.size:,} coefficients, which takes each "
                f"device too long; at most {_LARGEST_LIST // self.ways:,} are allowed: lower ways, or leave out "
                "columns",
                parameter="ways",
            )
        if self.randomizer == "chebyshev" and set(self.walsh.bits) != {1}:
            raise ParameterError("randomizer='chebyshev' is for columns of two categories", parameter="randomizer")
        if self.randomizer == "auto":
            best = "hadamard" if self.ways > 1 else likelier(self.epsilon, self._sizes)
            object.__setattr__(self, "randomizer", best)
        if self.randomizer == "subset" and self.ways > 1:
            raise ParameterError("randomizer='subset' tells single columns: use ways=1", parameter="randomizer")
        share = self._best_share() if self.one_way is None else finite_number("one_way", self.one_way)
        if not 0 < share <= 1:
            raise ParameterError.of("one_way", f"must be above 0 and at most 1, got one_way={self.one_way!r}")
        object.__setattr__(self, "one_way", share)
        self.channel  # noqa: B018  (refuses an epsilon that the randomizer cannot serve)

    @cached_property
    def walsh(self) -> Walsh:
        """The coefficients."""
        return Walsh(self.box, self.ways)

    def _best_share(self) -> float:
        """Least variance of a cell, if what columns have in common is shrunk as a typical spread of it suggests.

        All people, where next to nobody would be asked what columns have in common: so few learn nothing about it.
        """
        if self.ways == 1:
            return 1.0
        each = 1 / max(math.tanh(self.epsilon / 2) ** 2 * self.people, 1e-300)  # the square of a tiny gain vanishes
        single, several = self.walsh.counts[0], sum(self.walsh.counts[1:])
        shares = np.linspace(0.05, 0.99, 95)
        noise = several * each / (1 - shares)
        risk = 2.5 * single * each / shares + noise * _TYPICAL**2 / (noise + _TYPICAL**2)
        best = float(np.round(shares[np.argmin(risk)], 2))
        return 1.0 if best > 1 - _TOKEN else best

    @property
    def _sizes(self) -> tuple[int, ...]:
        """The number of categories of each column."""
        return tuple(len(kind.categories) for kind in self.box.columns if isinstance(kind, Categorical))

    @property
    def questions(self) -> int:
        return self.box.dimension if self.randomizer == "subset" else self.walsh.size

    @property
    def estimates(self) -> int:
        return sum(self._sizes) if self.randomizer == "subset" else self.walsh.size

    @property
    def channel_name(self) -> str:
        return "subset" if self.randomizer == "subset" else "bit"

    @cached_property
    def channel(self) -> Channel:
        if self.randomizer != "subset":
            return super().channel
        assert self.seed is not None
        return SubsetChannel(self.epsilon, self.estimates, self.seed, self._sizes)

    def valid(self, payload: NDArray[np.uint8], users: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """A turn of the person's own column is less than the number of its categories."""
        if not isinstance(self.channel, SubsetChannel):
            return super().valid(payload, users)
        return np.asarray(self.channel.turns(payload) < np.array(self._sizes)[self.asked(users)])

    def settings(self) -> dict[str, Any]:
        return {"ways": self.ways, "one_way": self.one_way, "people": self.people, "randomizer": self.randomizer}

    def asked(self, users: NDArray[np.uint64]) -> Questions:
        """First of which order, then which one of that order, each from a word of its own."""
        if self.randomizer == "subset":
            return super().asked(users)
        assert self.one_way is not None and self.seed is not None
        counts = self.walsh.counts
        word = public_words(self.seed, users)
        several = (word >> np.uint64(32)) >= np.uint64(math.floor(self.one_way * 2**32))
        order = np.where(several, 1 + public_below(public_words(self.seed, users, 2), max(1, self.ways - 1)), 0)
        order = np.minimum(order, self.ways - 1)
        starts = np.concatenate([[0], np.cumsum(counts)])
        pick = public_words(self.seed, users, 1)
        upper = (pick >> np.uint64(32)) * np.array(counts, dtype=np.uint64)[order]
        return starts[order] + (upper >> np.uint64(32)).astype(np.int64)

    def answers(self, columns: Floats, users: NDArray[np.uint64]) -> NDArray[Any]:
        codes, asked = columns.T.astype(np.int64), self.asked(users)
        if isinstance(self.channel, SubsetChannel):
            return np.asarray(self.channel.starts[asked] + codes[np.arange(len(codes)), asked])
        return self.walsh.joint(codes, asked) if self.randomizer == "chebyshev" else self.walsh.parities(codes, asked)

    @property
    def _shares(self) -> list[float]:
        """The share of people who are asked about one column, about two, ...; as far as anybody is."""
        assert self.one_way is not None
        several = (1 - self.one_way) / max(1, self.ways - 1)
        return [self.one_way, *[several] * (self.ways - 1 if several > 0 else 0)]

    def pull(self, reach: float) -> float:
        """On a cell before shrinkage, of a table of the columns that were asked about, those with the fewest bits."""
        if self.randomizer == "subset":
            return reach * self.questions
        bits = sorted(self.walsh.bits)
        cells = [1.0 if self.randomizer == "chebyshev" else 2.0 ** (1 - sum(bits[:k])) for k in range(1, self.ways + 1)]
        each = zip(cells, self.walsh.counts, self._shares, strict=False)
        return reach * max(cell * count / share for cell, count, share in each)

    def spread(self, variance: float) -> float:
        """Of the least certain cell of any table: it is one of columns with the fewest bits, binary ones as a rule."""
        if self.randomizer == "subset":
            return variance
        each = [
            4 * variance * count / (share * self.questions)
            for count, share in zip(self.walsh.counts, self._shares, strict=False)
        ]
        masks = 2 ** min(self.walsh.bits) - 1

        def cell(k: int) -> float:
            parts = (math.comb(k, order) * masks**order * each[order - 1] for order in range(1, k + 1))
            return float(sum(parts) / float(masks + 1) ** (2 * k))

        return max(cell(k) for k in range(1, len(each) + 1))

    def release(self, state: State, reports: int) -> Any:
        from sfumato.releases.collected.marginals import MarginalsRelease

        means, variances = self.channel.estimate(state)
        if self.randomizer == "subset":
            return MarginalsRelease.of_shares(self, means, variances, state["asked"] == 0, reports)
        unknown = state["bits"].sum(axis=1) == 0
        if self.randomizer == "chebyshev":
            return MarginalsRelease.of_joints(self, means, variances, unknown, reports)
        return MarginalsRelease.of(self, 1 - 2 * means, np.where(unknown, 1e6, 4 * variances), reports)
