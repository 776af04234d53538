"""Exact integer noise from operating-system entropy: the only source of randomness in the package.

Every law here is sampled *exactly*, not up to rounding. The trick is one primitive, a standard exponential
``E = -ln U`` whose uniform ``U`` is a stream of random bits: 63 bits are drawn first and the decision that
depends on E (an integer part, a comparison) is taken in double precision if it is safely away from the
boundary; the rare undecided cases get more bits of the *same* U and exact arithmetic, never a redraw.
"Safely" allows numpy's ``log`` an error of 16 units in the last place; it is right to about one (tested).
docs/proofs/discrete-noise.md proves the laws; docs/proofs/k-norm.md and zero-sum.md those of the K-norm samplers.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal, getcontext, localcontext
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Words = NDArray[np.uint64]

_BITS = 63
_BLOCK = 8192
_ERROR = 2.0**-47
_TAIL = 11.0  # beyond this, U is so small that its first 63 bits say too little: always undecided


def _words(count: int) -> Words:
    """Fresh 64-bit words from the operating system."""
    return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)


def words32(count: int) -> NDArray[np.uint32]:
    """Fresh 32-bit words."""
    return np.frombuffer(os.urandom(4 * count), dtype=np.uint32)


def words53(count: int) -> Integers:
    """Fresh whole numbers below ``2**53``."""
    return (_words(count) >> np.uint64(11)).astype(np.int64)


def _bits(count: int) -> int:
    """A fresh integer of ``count`` random bits (a multiple of 8)."""
    return int.from_bytes(os.urandom(count // 8), "big")


def _context(digits: int) -> Context:
    """Decimal arithmetic of our own, whatever the caller has set: rounding half to even, no traps."""
    return Context(prec=digits, rounding=ROUND_HALF_EVEN, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])


# --- the primitive: exponentials known as precisely as a decision needs -----------------------------------


def _exponentials(words: Words) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """``-ln U`` for ``U`` in ``[w, w + 1) / 2**63``, and a bound on its error wherever it is below ``_TAIL``.

    Three errors: numpy's log (relative), the rounding of U to a double (2**-53 in the logarithm) and the
    unknown bits of U, at most ``2**-63 / U < 2**-47`` while ``-ln U < 11``.
    """
    exponential = np.log((words.astype(np.float64) + 0.5) * 2.0**-_BITS)
    np.negative(exponential, out=exponential)
    return exponential, (exponential + 2.0) * _ERROR


def _decide(word: int, decide: Callable[[Fraction, Fraction], int | None]) -> int:
    """Show ``decide`` ever tighter rational bounds on ``-ln U`` until it decides; U's first bits are ``word``."""
    bits = _BITS
    while True:
        if word:  # U = 0 so far: -ln U has no upper bound yet
            digits = bits // 3 + 12
            with localcontext(_context(digits)):  # ln and division are correctly rounded to this many digits
                unit = Decimal(2) ** bits
                slack = Fraction(10) ** (3 - digits)
                low = Fraction(-(Decimal(word + 1) / unit).ln()) - slack * bits
                high = Fraction(-(Decimal(word) / unit).ln()) + slack * bits
            answer = decide(max(Fraction(0), low), high)
            if answer is not None:
                return answer
        word, bits = word << 64 | _bits(64), bits + 64


def _floor_of(scale: Fraction) -> Callable[[Fraction, Fraction], int | None]:
    def decide(low: Fraction, high: Fraction) -> int | None:
        floor = math.floor(scale * low)
        return floor if floor == math.floor(scale * high) else None

    return decide


def _exceeds(threshold: Fraction) -> Callable[[Fraction, Fraction], int | None]:
    return lambda low, high: 1 if low > threshold else 0 if high < threshold else None


def _geometric(words: Words, scale: Fraction) -> Integers:
    """``floor(scale * E)``: geometric with ``P(X >= x) = exp(-x / scale)``."""
    exponential, error = _exponentials(words)
    factor = float(scale)
    value = exponential * factor
    result = np.floor(value)
    fraction = value - result
    margin = error * factor
    undecided = np.flatnonzero((fraction <= margin) | (fraction >= 1.0 - margin) | (exponential >= _TAIL))
    integers = result.astype(np.int64)
    for i in undecided:
        integers[i] = _decide(int(words[i]), _floor_of(scale))
    return integers


def bernoulli_exp(
    rates: NDArray[np.float64], errors: NDArray[np.float64], exact: Callable[[int], Fraction]
) -> NDArray[np.bool_]:
    """Independent coins that show heads with probability ``exp(-rate)`` exactly.

    ``rates`` are double-precision values within ``errors`` of the true rates; ``exact(i)`` is the i-th true
    rate, asked for only when the double cannot decide.
    """
    words = _words(len(rates)) >> np.uint64(1)
    exponential, error = _exponentials(words)
    heads = exponential > rates
    sure = (np.abs(exponential - rates) > error + errors) & (exponential < _TAIL)
    for i in np.flatnonzero(~sure):
        heads[i] = bool(_decide(int(words[i]), _exceeds(exact(int(i)))))
    return heads


# --- scalar laws, vectorised ------------------------------------------------------------------------------


def discrete_laplace(count: int, scale: Fraction) -> Integers:
    """``P(x)`` proportional to ``exp(-|x| / scale)`` on the integers."""
    if count > _BLOCK:  # blocks that stay in the processor's cache are twice as fast
        sizes = [min(_BLOCK, count - start) for start in range(0, count, _BLOCK)]
        return np.concatenate([discrete_laplace(size, scale) for size in sizes])
    words = _words(count)
    signs = 1 - 2 * (words & np.uint64(1)).astype(np.int64)
    result = _geometric(words >> np.uint64(1), scale)
    double_zero = np.flatnonzero((result == 0) & (signs < 0))  # minus zero would count zero twice
    result *= signs
    if double_zero.size:
        result[double_zero] = discrete_laplace(double_zero.size, scale)
    return result


def discrete_gaussian(count: int, variance: Fraction) -> Integers:
    """``P(x)`` proportional to ``exp(-x^2 / (2 variance))`` on the integers (Canonne, Kamath, Steinke 2020)."""
    scale = math.isqrt(int(variance)) + 1
    shift = variance / scale
    deviation = math.sqrt(variance)
    accepted: list[Integers] = []
    missing = count
    while missing > 0:
        proposal = discrete_laplace(min(_BLOCK, missing + missing // 2 + 8), Fraction(scale))
        distance = np.abs(proposal)
        size = distance / deviation
        rates = (size - float(shift) / deviation) ** 2 / 2
        heads = bernoulli_exp(
            rates,
            _ERROR * (1.0 + size) ** 2,
            lambda i, d=distance: (int(d[i]) - shift) ** 2 / (2 * variance),  # type: ignore[misc]
        )
        accepted.append(proposal[heads][:missing])
        missing -= len(accepted[-1])
    return np.concatenate(accepted) if accepted else np.zeros(0, dtype=np.int64)


def uniform_below(bounds: NDArray[np.int64]) -> Integers:
    """Independent uniform integers in ``[0, bound)``, by rejection from the next power of two."""
    result = np.empty(len(bounds), dtype=np.int64)
    waiting = np.arange(len(bounds))
    mask = np.uint64((1 << int(bounds.max(initial=1) - 1).bit_length()) - 1)
    while waiting.size:
        drawn = (_words(waiting.size) & mask).astype(np.int64)
        fits = drawn < bounds[waiting]
        result[waiting[fits]] = drawn[fits]
        waiting = waiting[~fits]
    return result


def integer_below(bound: int) -> int:
    """A uniform integer in ``[0, bound)``, however large, by rejection."""
    size = -(-bound.bit_length() // 8) * 8
    while True:
        drawn = _bits(size) >> (size - bound.bit_length())
        if drawn < bound:
            return drawn


# --- vector laws ------------------------------------------------------------------------------------------


def linf_knorm(size: int, scale: Fraction) -> Integers:
    """``P(x)`` proportional to ``exp(-max_i |x_i| / scale)`` on integer vectors.

    A radius R with weight ``(2R + 1)^size exp(-R / scale)``, then a uniform point of the cube ``{-R..R}^size``.
    The radius is a sum of ``size + 1`` geometrics, accepted with probability ``prod_i (2R + 1) / (2R + 2i)``.
    """
    odds = 2 * np.arange(1, size + 1, dtype=np.int64)
    while True:
        radius: int = sum(_geometric(_words(size + 1) >> np.uint64(1), scale).tolist())
        if (uniform_below(2 * radius + odds) <= 2 * radius).all():
            break
    return np.subtract(uniform_below(np.full(size, 2 * radius + 1, dtype=np.int64)), radius)


def zero_sum(size: int, scale: Fraction) -> Integers:
    """``P(x)`` proportional to ``exp(-(sum_i |x_i| + |sum_i x_i|) / scale)`` on integer vectors.

    With minus its sum, that is discrete Laplace noise given a sum of zero: a difference of two uniform divisions of R
    among ``size + 1``. R is a sum of ``2 size + 1`` geometrics, kept with chance ``prod_i (R + i) / (R + size + i)``.
    """
    odds = np.arange(1, size + 1, dtype=np.int64)
    while True:
        total: int = sum(_geometric(_words(2 * size + 1) >> np.uint64(1), scale / 2).tolist())
        if (uniform_below(total + size + odds) < total + odds).all():
            break
    return np.subtract(_division(total, size + 1), _division(total, size + 1))[:-1]


def _division(total: int, parts: int) -> Integers:
    """One of the ways to write ``total`` as a sum of so many whole numbers: a set of bars, drawn until all differ."""
    places = total + parts - 1
    while True:
        bars = np.sort(uniform_below(np.full(parts - 1, places, dtype=np.int64)))
        gaps = np.diff(bars, prepend=-1, append=places) - 1
        if (gaps >= 0).all():
            return gaps


def l2_knorm(size: int, scale: Fraction) -> Integers:
    """The nearest integers to a real vector of density proportional to ``exp(-||y||_2 / scale)``.

    ``y = radius * z / ||z||`` with a Gamma(size) radius and Gaussian z (Box and Muller), computed in decimals
    with a rigorous error bound; bits are appended to the same uniforms until every rounding is certain.
    """
    return _rounded(size, size, lambda uniforms, bits: _l2_vector(uniforms, bits, size, scale))


def rounded_gaussian(size: int, deviation: Fraction) -> Integers:
    """The nearest integers to a real vector of independent Gaussians, in the same way."""
    return _rounded(size, 0, lambda uniforms, bits: _gaussian_vector(uniforms, bits, size, deviation))


_Vector = tuple[list[Decimal], Decimal]  # values, and a bound on the Euclidean error of them all


def _rounded(size: int, more: int, vector: Callable[[list[int], int], _Vector | None]) -> Integers:
    """The nearest integers to a vector computed from uniforms: two for each pair of normals, and ``more``."""
    bits = 128
    uniforms = [_bits(bits) for _ in range(more + 2 * ((size + 1) // 2))]
    while True:
        with localcontext(_context(bits // 3 + 25)):  # rounding errors are then far below 2**-bits
            found = vector(uniforms, bits) if min(uniforms) > 0 else None
            if found is not None:
                nearest = [int(v.to_integral_value()) for v in found[0]]
                if all(abs(v - n) + found[1] < Decimal("0.5") for v, n in zip(found[0], nearest, strict=True)):
                    return np.array(nearest, dtype=np.int64)
        uniforms = [u << 64 | _bits(64) for u in uniforms]
        bits += 64


def _log_uniforms(uniforms: list[int], bits: int) -> tuple[list[Decimal], list[Decimal]] | None:
    """``-ln U`` for each, and how far off it can be: U lies within half a unit of ``(k + 1/2)`` units."""
    exponentials = [-((k + Decimal("0.5")) * Decimal(2) ** -bits).ln() for k in uniforms]
    doubts = [Decimal(1) / k for k in uniforms]
    return None if any(e < 2 * d for e, d in zip(exponentials, doubts, strict=True)) else (exponentials, doubts)


def _normals(uniforms: list[int], bits: int, size: int) -> _Vector | None:
    """Independent standard normals by Box and Muller: half of the uniforms give lengths, half give turns."""
    unit, pairs = Decimal(2) ** -bits, (size + 1) // 2
    logs = _log_uniforms(uniforms[:pairs], bits)
    if logs is None:
        return None
    normals: list[Decimal] = []
    doubt = Decimal(0)
    for e, d, k in zip(*logs, uniforms[pairs:], strict=True):
        length = (2 * e).sqrt()
        cosine, sine = _cos_sin((k + Decimal("0.5")) * unit)
        normals += [length * cosine, length * sine]
        doubt += 2 * (d / e.sqrt() + 4 * length * unit)
    return normals[:size], doubt


def _gaussian_vector(uniforms: list[int], bits: int, size: int, deviation: Fraction) -> _Vector | None:
    found = _normals(uniforms, bits, size)
    if found is None:
        return None
    factor = Decimal(deviation.numerator) / Decimal(deviation.denominator)
    values = [factor * z for z in found[0]]
    # The last term covers all decimal rounding.
    return values, 2 * factor * found[1] + (1 + sum(map(abs, values))) * Decimal(2) ** -bits


def _l2_vector(uniforms: list[int], bits: int, size: int, scale: Fraction) -> _Vector | None:
    logs, found = _log_uniforms(uniforms[:size], bits), _normals(uniforms[size:], bits, size)
    if logs is None or found is None:
        return None
    normals, doubt = found
    norm = sum((z * z for z in normals), Decimal(0)).sqrt()
    factor = Decimal(scale.numerator) / Decimal(scale.denominator)
    radius = factor * sum(logs[0])
    error = factor * sum(logs[1]) + 2 * radius * doubt / norm
    return [radius * z / norm for z in normals], 2 * error + (1 + radius) * Decimal(2) ** -bits


def _cos_sin(turn: Decimal) -> tuple[Decimal, Decimal]:
    """Cosine and sine of a whole turn times ``turn``, to the current precision."""
    quadrant = int(4 * turn)
    angle = (turn - Decimal(quadrant) / 4) * 2 * _pi(getcontext().prec)
    cosine, sine, term, power = Decimal(0), Decimal(0), Decimal(1), 0
    smallest = Decimal(10) ** -getcontext().prec
    while abs(term) > smallest:
        if power % 2 == 0:
            cosine += term
        else:
            sine += term
            term = -term
        power += 1
        term = term * angle / power
    for _ in range(quadrant):
        cosine, sine = -sine, cosine
    return cosine, sine


@cache
def _pi(digits: int) -> Decimal:
    """Pi to the current precision, ``digits`` (an argument so that it is computed once), by Machin's formula."""

    def arctan_inverse(x: int) -> Decimal:
        total, power, k = Decimal(0), Decimal(1) / x, 1
        while power > Decimal(10) ** -digits:
            total += power / k if k % 4 == 1 else -power / k
            power, k = power / (x * x), k + 2
        return total

    return 16 * arctan_inverse(5) - 4 * arctan_inverse(239)
