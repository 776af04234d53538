"""An answer with its error, and how far noise moves a weighted sum of noisy numbers, from the public law alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.calibration import NoiseLaw
from sfumato.laws import noise_deviation
from sfumato.releases.uncertainty import DRAWS, coverage_rank, simulated_sums, tail_width

Floats = NDArray[np.float64]

_WORDS = {"proved": "", "promised": " as promised", "seen": " as far as public points show"}
_WORK = 4_000_000  # weights for which noise is simulated; beyond, a bound is used


@dataclass(frozen=True)
class Answer:
    """What a summary says about a question; numbers, or arrays of the same shape for many questions.

    Parameters
    ----------
    value
        The estimate.
    error
        How far the records' own value can be from it with probability ``confidence``, for each question by itself:
        noise and approximation together. It says nothing about a population that the records were drawn from.
    noise_sd
        The standard deviation of the noise in ``value``.
    approximation
        How much of the question the summary's basis cannot express.
    confidence
        What ``error`` holds with.
    known
        How ``approximation`` is known: ``"proved"``; ``"promised"``, by a stated smoothness; or ``"seen"``, for a
        Python function, of which nobody knows what it does between the public points at which it was looked at.
    softness
        Where the question has softened edges, their deviation by column: the answer is about these.
    sharp
        Limits for the share within the sharp edges, with the same confidence; None where no edge is softened.
    """

    value: Any
    error: Any
    noise_sd: Any
    approximation: Any
    confidence: float
    known: str = "proved"
    softness: Mapping[str, float] = field(default_factory=dict)
    sharp: tuple[float, float] | None = None

    def __float__(self) -> float:
        return float(self.value)

    def __repr__(self) -> str:
        if np.ndim(self.value):
            return f"<Answer to {np.size(self.value)} questions, errors up to {float(np.max(self.error)):.3g}>"
        return (
            f"<Answer {self.value:.6g} +- {self.error:.3g} ({100 * self.confidence:g} %; noise sd {self.noise_sd:.3g}, "
            f"approximation {self.approximation:.3g}{_WORDS[self.known]}){self._edges}>"
        )

    @property
    def _edges(self) -> str:
        """What softened edges do to it."""
        if not self.softness:
            return ""
        widths = ", ".join(f"{name} {width:.3g}" for name, width in self.softness.items())
        limits = "" if self.sharp is None else f"; within the sharp edges {self.sharp[0]:.3g} to {self.sharp[1]:.3g}"
        return f", softened edges ({widths}){limits}"

    def interval(self) -> tuple[Any, Any]:
        """Lower and upper limits."""
        return self.value - self.error, self.value + self.error

    def within(self, low: float, high: float) -> Answer:
        """The same answer, moved into a range in which the truth is known to lie: it only comes nearer."""
        value = np.clip(self.value, low, high)
        return replace(
            self, value=plain(value), error=plain(np.minimum(self.error, np.maximum(value - low, high - value)))
        )

    def each(self, change: Callable[[Any], Any]) -> Answer:
        """The same answer with its value and its three errors changed alike: reshaped, or scaled."""
        parts = (self.value, self.error, self.noise_sd, self.approximation)
        value, error, noise_sd, approximation = (plain(change(np.asarray(part))) for part in parts)
        return replace(self, value=value, error=error, noise_sd=noise_sd, approximation=approximation)


def plain(values: Any) -> Any:
    """A number instead of an array without axes."""
    return float(values) if np.ndim(values) == 0 else np.asarray(values)


def deviations(law: NoiseLaw, weights: Floats) -> Floats:
    """The standard deviation of each weighted sum ``(q, size)`` of the noise: its coefficients are uncorrelated."""
    return np.asarray(noise_deviation(law) * np.linalg.norm(weights, axis=1))


def half_widths(law: NoiseLaw, weights: Floats, confidence: float, of: int = 0) -> Floats:
    """How far noise moves each weighted sum, each by itself with this confidence; ``of``: one block of so many sums.

    Gaussian sums are Gaussian. Others are simulated with a public seed, and the order statistic is one that covers in
    all but one in a thousand simulations; where there are too many weights, Chernoff's bound is used, which is wider.
    """
    length = np.linalg.norm(weights, axis=1)
    rounding = law.step * np.abs(weights).sum(axis=1)  # the law on the grid and its continuous limit
    largest = np.abs(weights).max(axis=1, initial=0.0)
    used = np.flatnonzero(np.abs(weights).max(axis=0, initial=0.0) > 0)
    rank = coverage_rank(confidence)
    if law.kind != "gaussian" and rank <= DRAWS and len(used) * max(of, len(weights)) <= _WORK and len(used) <= 20_000:
        return np.asarray(simulated_sums(law, weights[:, used], rank) + rounding)
    return np.asarray(tail_width(law, length, largest, 1 - confidence) + rounding)
