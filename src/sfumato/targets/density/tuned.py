"""Choices that look at the data: a list of candidates, and a share of the budget that pays for the selection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.checks import probability, shown
from sfumato.errors import ParameterError, ParameterTypeError


@dataclass(frozen=True)
class Tuned:
    """Select one of several candidates by the data, for a share of the budget.

    Parameters
    ----------
    candidates
        At least two public candidates: bandwidths, or bases such as ``sf.Bernstein(20, order=h)`` for several h.
    share
        How much of the privacy grant pays for the selection; the release gets the rest.

    >>> Tuned([2.0, 4.0, 8.0]).share
    0.1
    """

    candidates: tuple[Any, ...]
    share: float = 0.1

    def __post_init__(self) -> None:
        if isinstance(self.candidates, str) or not isinstance(self.candidates, Sequence):
            raise ParameterTypeError.of("candidates", f"must be a list, got candidates={shown(self.candidates)}")
        frozen = tuple(tuple(c) if isinstance(c, list) else c for c in self.candidates)
        if len(frozen) < 2:
            raise ParameterError.of("candidates", f"must be two or more, got candidates={self.candidates!r}")
        object.__setattr__(self, "candidates", frozen)
        object.__setattr__(self, "share", probability("share", self.share))
