"""The noise that people's own devices put into a collected estimate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sfumato.checks import positive_integer, positive_number


@dataclass(frozen=True)
class LocalLaw:
    """Each of ``size`` estimates is a mean of many independent, randomised reports: normal, of at most this deviation.

    It covers the devices' randomness and which person was asked what.
    """

    randomizer: str
    size: int
    deviation: float

    kind: ClassVar[str] = "gaussian"
    step: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        positive_integer("size", self.size)
        positive_number("deviation", self.deviation)
