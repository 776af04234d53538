"""Smooth queries without a trusted collector (Algorithm 7, mended): one collection answers every smooth question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.moments.cosine import Cosines, IndexSet
from sfumato.checks import one_of
from sfumato.core.box import Categorical
from sfumato.errors import ParameterError
from sfumato.local.channels import State
from sfumato.local.protocol import Protocol, Words

Floats = NDArray[np.float64]

_LARGEST_LIST = 2**20  # moments times columns: each device lists them, in a few tenths of a second
RANDOMIZERS = ("bit", "likelihood", "loglog", "laplace")


@dataclass(frozen=True)
class SmoothQueries(Protocol):
    """Cosine moments of the records: each person answers for one of them, by one randomised bit.

    As printed, Algorithm 7 spends epsilon on every moment: with t**d of them it is t**d epsilon. A public, random
    moment for each person mends it, and makes it one bit.

    Parameters
    ----------
    degree, interactions
        As for ``sf.Cosines``: frequencies along each column, and how many columns may interact.
    randomizer
        ``"bit"`` (default), ``"laplace"`` (every moment, epsilon split), ``"likelihood"`` or ``"loglog"``.

    >>> from sfumato.core.box import Box
    >>> SmoothQueries(Box([(0, 1), (0, 1)]), epsilon=1.0, degree=5, seed=1).questions
    24
    """

    degree: Any = 6
    interactions: str | int = "full"
    randomizer: str = "bit"

    kind: ClassVar[str] = "smooth-queries"

    def check(self) -> None:
        one_of("randomizer", self.randomizer, RANDOMIZERS)
        basis = Cosines(tuple(self.degree) if isinstance(self.degree, list) else self.degree, self.interactions)
        object.__setattr__(self, "degree", basis.degree)
        if not isinstance(self.interactions, str):
            object.__setattr__(self, "interactions", int(self.interactions))
        size = basis.size(self.box)
        if size < 2:
            raise ParameterError(f"degree={self.degree!r} leaves no moments: use 2 or more", parameter="degree")
        if size * self.box.dimension > _LARGEST_LIST:
            raise ParameterError(
                f"{size:,} moments of {self.box.dimension} columns take each device too long; at most "
                f"{_LARGEST_LIST // self.box.dimension:,} are allowed: lower degree, use interactions=2 (or 1), or "
                "leave out columns",
                parameter="degree",
            )
        self.channel  # noqa: B018  (refuses an epsilon that the randomizer cannot serve)

    @property
    def indices(self) -> IndexSet:
        """The frequencies of the moments."""
        return Cosines(self.degree, self.interactions).index_set(self.box)

    @property
    def questions(self) -> int:
        return self.indices.size - 1  # frequency zero is one for everybody

    @property
    def channel_name(self) -> str:
        return self.randomizer

    def settings(self) -> dict[str, Any]:
        degree = list(self.degree) if isinstance(self.degree, tuple) else self.degree
        return {"degree": degree, "interactions": self.interactions, "randomizer": self.randomizer}

    def answers(self, columns: Floats, users: Words) -> NDArray[Any]:
        frequencies = self.indices.frequencies[1:]
        asked = frequencies[:, None, :] if self.channel.whole else frequencies[self.asked(users)]
        moments: Floats = np.cos(self._angles(columns).T * asked).prod(axis=-1)
        return (1 + (moments.T if self.channel.whole else moments)) / 2

    def _angles(self, columns: Floats) -> Floats:
        """``(d, m)``: the arc cosine of each column in [-1, 1]; categories are evenly spaced angles."""
        angles = np.empty_like(columns)
        for row, kind, values in zip(angles, self.box.columns, columns, strict=True):
            if isinstance(kind, Categorical):
                row[:] = values * (np.pi / (len(kind.categories) - 1))
            else:
                row[:] = np.arccos(np.clip(2 * ((values - kind.low) / (kind.high - kind.low)) - 1, -1.0, 1.0))
        return angles

    def spread(self, variance: float) -> float:
        return 4 * variance  # a moment is twice its answer, less one

    def pull(self, reach: float) -> float:
        return 2 * super().pull(reach)

    def release(self, state: State, reports: int) -> Any:
        from sfumato.releases.collected.density import collected_summary

        means, variances = self.channel.estimate(state)
        return collected_summary(self, 2 * means - 1, 4 * float(variances.max()), reports)
