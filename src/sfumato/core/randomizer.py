"""The only door from private to public in the local model: each person's own device randomises, nobody is trusted.

Every randomizer draws from operating-system entropy, with probabilities that are whole numbers over a power of two (or
over a whole number), so that the largest likelihood ratio of any report is an exact fraction, at most ``e**epsilon``:
docs/proofs/randomizers.md. What a person is asked, and any shared randomness, is public and cannot weaken this.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.checks import as_written, positive_integer, positive_number
from sfumato.core import sampling
from sfumato.core.calibration import COPIES_EXPONENT, copies_law
from sfumato.errors import ParameterError

Floats = NDArray[np.float64]
Bits = NDArray[np.uint8]
Integers = NDArray[np.int64]

UNIT = 2**32  # probabilities of bits are multiples of one over this
_FINE = 2**53
_MARGIN = Fraction(1, 2**20)  # of epsilon, left for probabilities that are computed in floating point
SMALLEST = 1e-6  # epsilon: below, multiples of 2**-32 and 2**-53 are too coarse to tell one input from another
MOST_ITEMS = 2**12  # that a subset is taken of: devices put them in order, and collectors add up a part of them
_LARGEST_EXPONENT = 1000  # beyond, exp is taken from below: every ratio here is far smaller


def exp_below(epsilon: float, factor: Fraction = Fraction(1)) -> Fraction:
    """A fraction just below ``exp(factor * epsilon)``, epsilon read as it is written."""
    exponent = min(as_written(epsilon) * factor, Fraction(_LARGEST_EXPONENT))
    context = Context(prec=60, rounding=ROUND_FLOOR)
    value = context.exp(context.divide(Decimal(exponent.numerator), Decimal(exponent.denominator)))
    # Division rounds down, exp to nearest whatever the mode: the factor covers that.
    return Fraction(value) * (1 - Fraction(1, 10**50))


def device_epsilon(epsilon: float) -> float:
    """Epsilon, refusing what is too small for a device's probabilities to be within it, exactly."""
    if positive_number("epsilon", epsilon) < SMALLEST:
        raise ParameterError.of("epsilon", f"must be at least {SMALLEST} on a device, got epsilon={epsilon!r}")
    return float(epsilon)


@dataclass(frozen=True)
class OneBit:
    """Randomised response: a bit is sent as it is, or flipped with probability ``1 / (1 + e**epsilon)`` or a bit more.

    A number in [0, 1] becomes a bit first, one with that probability; and only the bit is private.

    Formal guarantee: any output is at most ``e**epsilon`` times as likely under one input as under any other.

    >>> OneBit(1.0).flip_probability < Fraction(27, 100)
    True
    """

    epsilon: float

    def __post_init__(self) -> None:
        device_epsilon(self.epsilon)

    @cached_property
    def threshold(self) -> int:
        """How many of ``2**32`` equally likely words flip the bit: the least number whose odds are not beyond."""
        return math.ceil(UNIT / (1 + exp_below(self.epsilon)))

    @property
    def flip_probability(self) -> Fraction:
        """Exactly."""
        return Fraction(self.threshold, UNIT)

    @property
    def gain(self) -> float:
        """What a report keeps of a bit's mean: ``1 - 2 q``, which is ``tanh(epsilon / 2)``."""
        return float(1 - 2 * self.flip_probability)

    def flip(self, bits: Bits) -> Bits:
        """Send private bits."""
        words = sampling.words32(bits.size).reshape(bits.shape)
        return (bits & np.uint8(1)) ^ (words < np.uint32(self.threshold)).view(np.uint8)

    def send(self, values: Floats) -> Bits:
        """Send private numbers in [0, 1], each as one bit; what is not a number counts as one half."""
        return self.flip(round_at_random(values))


def round_at_random(values: Floats) -> Bits:
    """Bits that are one with probability ``values``, to one part in ``2**32``. Not private by itself."""
    limits = np.clip(np.where(np.isnan(values), 0.5, values), 0.0, 1.0) * UNIT
    return (sampling.words32(values.size).reshape(values.shape) < limits).view(np.uint8)


@dataclass(frozen=True)
class LaplaceNumber:
    """Algorithm 1: a number in [0, 1], rounded to a grid, plus discrete Laplace noise of scale ``1 / epsilon``.

    Formal guarantee: as ``OneBit``; a vector of m numbers, each sent with its share, costs m shares.
    """

    epsilon: float
    shares: int = 1
    steps = 2**16

    def __post_init__(self) -> None:
        device_epsilon(self.epsilon)
        positive_integer("shares", self.shares)

    @property
    def scale(self) -> Fraction:
        """Of the noise, in grid steps: the whole range over this number's share of epsilon."""
        return self.steps * self.shares / as_written(self.epsilon)

    def send(self, values: Floats) -> Integers:
        """Send private numbers, in grid steps; what is not a number counts as one half."""
        whole = np.rint(np.clip(np.where(np.isnan(values), 0.5, values), 0.0, 1.0) * self.steps).astype(np.int64)
        return np.asarray(whole + sampling.discrete_laplace(whole.size, self.scale).reshape(whole.shape))


@dataclass(frozen=True)
class LikelihoodBit:
    """Algorithm 3, mended: given a public ``y ~ Lap(1 / inner)``, the bit "my noisy number could well be y".

    The bit is one with probability ``exp(inner (|y| - |y - v|)) / 2``. As printed (``inner = epsilon``) zeros are
    ``1 / (2 - e**epsilon)`` times as likely under one input as under another; ``inner = ln(2 - e**-epsilon)`` mends it.
    """

    epsilon: float

    def __post_init__(self) -> None:
        if device_epsilon(self.epsilon) > 8:
            raise ParameterError.of("epsilon", f"must be at most 8 for this randomizer, got epsilon={self.epsilon!r}")

    @cached_property
    def inner(self) -> float:
        """``ln(2 - e**-epsilon)``, from below."""
        return math.log1p(float(1 - 1 / exp_below(self.epsilon, 1 - _MARGIN))) * (1 - 1e-12)

    def probabilities(self, values: Floats, public: Floats) -> Integers:
        """Of a one, in multiples of ``2**-53``."""
        v = np.clip(np.where(np.isnan(values), 0.5, values), 0.0, 1.0)
        return likelihoods(v, public, self.inner)

    def send(self, values: Floats, public: Floats) -> Bits:
        """Send private numbers in [0, 1], each as one bit about its public y."""
        chances = self.probabilities(values, public)
        return (sampling.words53(chances.size).reshape(chances.shape) < chances).view(np.uint8)


def likelihoods(values: Floats, public: Floats, inner: float) -> Integers:
    """``exp(inner (|y| - |y - v|)) / 2`` in multiples of ``2**-53``, for v in [0, 1]."""
    shift = np.clip(np.abs(public) - np.abs(public - values), -1.0, 1.0)
    return np.asarray(np.rint(np.exp(inner * shift) * (_FINE // 2)), dtype=np.int64)


@dataclass(frozen=True)
class LogLog:
    """Algorithm 8, mended: of ``tries`` public ``y_t ~ Lap(1 / inner)``, the number of one that could well be mine.

    Each t is kept with probability ``exp(inner (|y_t| - |y_t - v|)) / 2``; one of those kept is named, evenly (one of
    all, if none is kept). ``inner = epsilon / 2``, at most ``ln 2``.
    """

    epsilon: float
    tries: int = 16

    def __post_init__(self) -> None:
        if device_epsilon(self.epsilon) > 2 * math.log(2):
            raise ParameterError.of(
                "epsilon", f"must be at most 2 ln 2 for this randomizer, got epsilon={self.epsilon!r}"
            )
        if not 2 <= positive_integer("tries", self.tries) <= 256:
            raise ParameterError(f"tries must lie in [2, 256], got tries={self.tries!r}")

    @property
    def inner(self) -> float:
        """Half of epsilon, a little less for rounding."""
        return float(as_written(self.epsilon) * (1 - _MARGIN) / 2)

    def send(self, values: Floats, public: Floats) -> Bits:
        """``(m,)`` private numbers in [0, 1] and ``(m, tries)`` public ones: which of these is named."""
        v = np.clip(np.where(np.isnan(values), 0.5, values), 0.0, 1.0)
        chances = likelihoods(v[:, None], public, self.inner)
        kept = sampling.words53(chances.size).reshape(chances.shape) < chances
        kept[~kept.any(axis=1)] = True
        place = sampling.uniform_below(kept.sum(axis=1, dtype=np.int64))
        return np.asarray(np.argmax(np.cumsum(kept, axis=1) > place[:, None], axis=1), dtype=np.uint8)


@dataclass(frozen=True)
class Codebook:
    """PrivUnit on a public codebook: of ``size`` public directions, those nearest to mine are named more often.

    The ``near`` nearest are named with probability ``e**epsilon`` times that of any other, or a little less. Whatever
    the vector, there are always as many of each, so the ratio holds exactly.
    """

    epsilon: float
    size: int = 256
    near: int = 64

    def __post_init__(self) -> None:
        if not 0.001 <= device_epsilon(self.epsilon) <= 16:  # below, multiples of 2**-16 are too coarse
            raise ParameterError.of("epsilon", f"must lie in [0.001, 16] for a codebook, got epsilon={self.epsilon!r}")
        if not 2 <= self.size <= 256 or not 1 <= self.near < self.size:
            raise ParameterError(f"a codebook has 1 <= near < size <= 256, got {self!r}")

    @property
    def weights(self) -> tuple[int, int]:
        """How many of the equally likely draws name a given near direction, and any other."""
        return math.floor(exp_below(self.epsilon) * 2**16), 2**16

    def send(self, closeness: Floats) -> Bits:
        """``(m, size)`` private inner products with the public directions: which of these is named."""
        order = np.argsort(-closeness, axis=1, kind="stable")
        place = _weighted_places(len(closeness), self.near, self.size, self.weights)
        return order[np.arange(len(order)), place].astype(np.uint8)


def _weighted_places(count: int, near: int, size: int, weights: tuple[int, int]) -> Integers:
    """Places in ``[0, size)``: each of the first ``near`` has one weight, each other the other one, exactly."""
    close, far = weights
    drawn = sampling.uniform_below(np.full(count, near * close + (size - near) * far, dtype=np.int64))
    beyond = drawn - near * close
    return np.asarray(np.where(beyond < 0, drawn // close, near + np.maximum(beyond, 0) // far))


@dataclass(frozen=True)
class Subset:
    """Subset selection round a circle: one of ``size`` turns of a public set is named, those over mine more often.

    Items stand round a circle, and so does a public set of ``kept`` places. Turned by r the set covers item c if
    ``c - r`` is one of its places. Whatever the item, exactly ``kept`` turns cover it; each is named with probability
    ``e**epsilon`` times that of any other, or a little less.

    >>> Subset(1.0, 22).kept
    6
    """

    epsilon: float
    size: int

    def __post_init__(self) -> None:
        if not 0.001 <= device_epsilon(self.epsilon) <= 16:  # below, multiples of 2**-16 are too coarse
            raise ParameterError.of("epsilon", f"must lie in [0.001, 16] for subsets, got epsilon={self.epsilon!r}")
        if not 2 <= self.size <= MOST_ITEMS:
            raise ParameterError(f"subsets are of 2 to {MOST_ITEMS:,} items, got {self.size!r}")

    @cached_property
    def kept(self) -> int:
        """The places of the set: nearest to ``size / (1 + e**epsilon)``, where the variance is least; one or more."""
        return max(1, math.floor(self.size / (1 + exp_below(self.epsilon)) + Fraction(1, 2)))

    @cached_property
    def weights(self) -> tuple[int, int]:
        """How many of the equally likely draws name a given turn that covers the item, and any other."""
        return math.floor(exp_below(self.epsilon) * 2**16), 2**16

    def send(self, items: Integers, circles: Integers) -> Integers:
        """``(m,)`` private items and ``(size, m)`` public orders of all places, the set's first: the turn named."""
        place = _weighted_places(len(items), self.kept, self.size, self.weights)
        # Places are a permutation, so turns are one as well: a turn is named as often as its place is drawn.
        return np.asarray((items - circles[place, np.arange(len(items))]) % self.size)


@dataclass(frozen=True)
class GaussianCopies:
    """Algorithm 4, mended: copies of a vector of length one at most, each number with Gaussian noise of its own.

    Formal guarantee: all copies together are (epsilon, delta)-DP (docs/proofs/generalized-linear.md).
    """

    epsilon: float
    delta: float
    copies: int
    size: int
    exponent = COPIES_EXPONENT

    @cached_property
    def variance(self) -> Fraction:
        """Of the noise, in squares of grid steps."""
        return copies_law(self.copies, self.size, self.epsilon, self.delta).scale

    def send(self, vectors: Floats) -> Integers:
        """``(m, size)`` private vectors to ``(m, copies, size)`` grid steps; longer ones are shortened."""
        finite = np.clip(np.where(np.isnan(vectors), 0.0, vectors), -2.0, 2.0)
        lengths = np.maximum(np.linalg.norm(finite, axis=1, keepdims=True) * (1 + 2.0**-48), 1.0)
        whole = np.rint(finite / lengths * 2.0**-self.exponent).astype(np.int64)[:, None, :]
        noise = sampling.discrete_gaussian(len(vectors) * self.copies * self.size, self.variance)
        return np.asarray(whole + noise.reshape(len(vectors), self.copies, self.size))
