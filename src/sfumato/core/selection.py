"""The other door: choosing instead of measuring, exactly, on scores rounded to a public grid.

Neighbours move each score by at most the stated sensitivity; rounding to the grid makes that a whole number
of steps (docs/proofs/rounding.md). docs/proofs/selection.md proves the three mechanisms.
"""

from __future__ import annotations

import math
import os
import threading
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.checks import as_written, finite_number, positive_number
from sfumato.core import sampling
from sfumato.core.privacy import Privacy
from sfumato.core.quantize import round_vector
from sfumato.core.whole import Sealed
from sfumato.errors import ParameterError
from sfumato.values import doubles

Floats = NDArray[np.float64]

_FINENESS = 16  # the grid step is at most sensitivity / 2**16


def _on_grid(scores: Floats, sensitivity: float) -> tuple[NDArray[np.int64], int]:
    """Integer scores and their integer sensitivity; what is not a number counts as the worst score there is."""
    exponent = max(-1000, math.frexp(sensitivity)[1] - 1 - _FINENESS)
    steps = math.floor(Fraction(sensitivity) / Fraction(2) ** exponent) + 1
    return round_vector(np.where(np.isnan(scores), -np.inf, scores), exponent), steps


def _accepted(gaps: NDArray[np.int64], rate: Fraction) -> NDArray[np.bool_]:
    """Heads with probability ``exp(-rate * gap)`` for each gap, exactly."""
    with np.errstate(all="ignore"):
        rates = gaps.astype(np.float64) * float(rate)
    return sampling.bernoulli_exp(rates, rates * 2.0**-50, lambda i: int(gaps[i]) * rate)


def permute_and_flip(scores: Floats, sensitivity: float, epsilon: float) -> int:
    """The index of a high score, by permute-and-flip (McKenna & Sheldon 2020): pure ``epsilon``-DP.

    Flipping every coin first and then picking one of the heads uniformly is the same law as flipping in a
    random order until the first head. The best score's coin always shows heads.
    """
    integers, steps = _on_grid(scores, sensitivity)
    heads = np.flatnonzero(_accepted(integers.max() - integers, as_written(epsilon) / (2 * steps)))
    return int(heads[sampling.uniform_below(np.array([len(heads)]))[0]])


def exponential_mechanism(scores: Floats, sensitivity: float, epsilon: float) -> int:
    """The index of a high score with ``P(i)`` proportional to ``exp(epsilon score_i / (2 sensitivity))``.

    Formal guarantee: pure ``epsilon``-DP and ``epsilon**2 / 8``-zCDP. Sampled by rejection from the uniform law.
    """
    integers, steps = _on_grid(scores, sensitivity)
    gaps = integers.max() - integers
    while True:
        tries = sampling.uniform_below(np.full(len(gaps) + 64, len(gaps), dtype=np.int64))
        heads = np.flatnonzero(_accepted(gaps[tries], as_written(epsilon) / (2 * steps)))
        if heads.size:
            return int(tries[heads[0]])


def check_threshold(threshold: float, sensitivity: float, privacy: Privacy) -> None:
    """Refuse bad public parameters of an above-threshold, before anything is paid or drawn."""
    positive_number("sensitivity", sensitivity)
    finite_number("threshold", threshold)
    if privacy.epsilon is None:
        raise ParameterError(f"above-threshold needs a pure epsilon, got rho={privacy.rho!r}")
    if _on_grid(np.zeros(1), sensitivity)[1] / Fraction(privacy.epsilon) > 2**48:
        raise ParameterError(f"epsilon is too small for above-threshold, got epsilon={privacy.epsilon!r}")


class AboveThreshold(Sealed):
    """Noisy comparisons with one noisy threshold until the first yes: ``epsilon``-DP as a whole.

    ``sf.AboveThreshold`` is this with a ledger. docs/proofs/selection.md has the proof.
    """

    __slots__ = ("_finished", "_lock", "_noise_scale", "_noisy_threshold", "_process", "_sensitivity")

    def __init__(self, threshold: float, sensitivity: float, privacy: Privacy) -> None:
        check_threshold(threshold, sensitivity, privacy)
        assert privacy.epsilon is not None
        integers, steps = _on_grid(np.array([threshold], dtype=np.float64), sensitivity)
        # Half of epsilon hides the threshold, half the value that finally passes it.
        scale = 2 * steps / as_written(privacy.epsilon)
        self._noisy_threshold = int(integers[0]) + int(sampling.discrete_laplace(1, scale)[0])
        self._noise_scale = 2 * scale
        self._sensitivity = sensitivity
        self._finished = False
        # One yes is paid for: threads take turns, and a forked copy of this object answers nothing.
        self._lock, self._process = threading.Lock(), os.getpid()

    def above(self, value: float) -> bool:
        """Whether the noisy value reaches the noisy threshold; what is not a number is below every other."""
        number = doubles(value)
        if number.ndim:
            raise ParameterError(f"value must be one number, got shape {number.shape}")
        integer = int(_on_grid(number.reshape(1), self._sensitivity)[0][0])
        with self._lock:
            if self._finished or self._process != os.getpid():
                raise ParameterError("this threshold has fired or was forked; its privacy is spent, make a new one")
            noise = int(sampling.discrete_laplace(1, self._noise_scale)[0])
            self._finished = integer + noise >= self._noisy_threshold
            return self._finished

    def __repr__(self) -> str:
        return f"<AboveThreshold, {'fired' if self._finished else 'waiting'}>"
