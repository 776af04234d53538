"""Interval arithmetic for **public** functions: between which limits a function, and its derivatives, lie on a cell.

A *jet* is a list of intervals that hold the Taylor coefficients ``f(a), f'(a), f''(a)/2, ...`` of a function of one
angle at every point ``a`` of a cell, for many cells at once. Rules for sums, products and compositions are those of
Taylor series (Moore, *Interval Analysis*). A constant's jet has one coefficient. What is not known is from minus to
plus infinity. Rounding is left to a margin of ``1e-9`` where limits are used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf as _erf
from scipy.special import expit as _expit

Floats = NDArray[np.float64]
Interval = tuple[Floats, Floats]
Jet = list[Interval]

_ZERO: Interval = (np.zeros(1), np.zeros(1))
_UNKNOWN: Interval = (np.array([-np.inf]), np.array([np.inf]))


def constant(low: Floats, high: Floats) -> Jet:
    """What does not depend on the angle."""
    return [(low, high)]


def cosine(low: Floats, high: Floats, order: int) -> Jet:
    """The cosine of an angle between limits in ``[0, pi]``."""
    cos = (np.cos(high), np.cos(low))
    top = np.where((low <= math.pi / 2) & (high >= math.pi / 2), 1.0, np.maximum(np.sin(low), np.sin(high)))
    sin = (np.minimum(np.sin(low), np.sin(high)), top)
    turns = [cos, _negated(sin), _negated(cos), sin]
    return [_scaled(turns[k % 4], 1 / math.factorial(k)) for k in range(order + 1)]


# --- intervals --------------------------------------------------------------------------------------------


def _kept(low: Floats, high: Floats) -> Interval:
    """Limits, with none where they are no numbers."""
    wrong = np.isnan(low) | np.isnan(high)
    return np.where(wrong, -np.inf, low), np.where(wrong, np.inf, high)


def _negated(a: Interval) -> Interval:
    return -a[1], -a[0]


def _plus(a: Interval, b: Interval) -> Interval:
    return _kept(a[0] + b[0], a[1] + b[1])


def _times(a: Interval, b: Interval) -> Interval:
    found = [x * y for x in a for y in b]
    ends = [np.where(np.isnan(product), 0.0, product) for product in found]  # nothing times something unknown
    return np.minimum.reduce(ends), np.maximum.reduce(ends)


def _scaled(a: Interval, by: float) -> Interval:
    return (a[0] * by, a[1] * by) if by >= 0 else (a[1] * by, a[0] * by)


def _inverse(a: Interval) -> Interval:
    through = (a[0] <= 0) & (a[1] >= 0)
    low, high = 1 / a[1], 1 / a[0]
    low = np.where(through, np.where(a[0] >= 0, low, -np.inf), low)
    high = np.where(through, np.where(a[1] <= 0, high, np.inf), high)
    return np.where(through & (a[0] < 0) & (a[1] > 0), -np.inf, low), high


def _raised(a: Interval, by: int) -> Interval:
    """A whole power, which is not negative if it is even."""
    if by % 2:
        return a[0] ** by, a[1] ** by
    sizes = np.abs(a[0]), np.abs(a[1])
    through = (a[0] <= 0) & (a[1] >= 0) & (by > 0)
    return np.where(through, 0.0, np.minimum(*sizes) ** by), np.maximum(*sizes) ** by


# --- arithmetic of jets -----------------------------------------------------------------------------------


def _at(u: Jet, k: int) -> Interval:
    return u[k] if k < len(u) else _ZERO


def add(u: Jet, v: Jet) -> Jet:
    """A sum."""
    return [_plus(_at(u, k), _at(v, k)) for k in range(max(len(u), len(v)))]


def negative(u: Jet) -> Jet:
    """With the other sign."""
    return [_negated(a) for a in u]


def subtract(u: Jet, v: Jet) -> Jet:
    """A difference."""
    return add(u, negative(v))


def multiply(u: Jet, v: Jet) -> Jet:
    """A product."""
    if len(u) == 1 or len(v) == 1:
        one, many = (u, v) if len(u) == 1 else (v, u)
        return [_times(one[0], a) for a in many]
    return [_sum(_times(u[i], v[k - i]) for i in range(k + 1)) for k in range(max(len(u), len(v)))]


def square(u: Jet) -> Jet:
    """A product with itself, which is not negative."""
    found = multiply(u, u)
    found[0] = _raised(u[0], 2)
    return found


def divide(u: Jet, v: Jet) -> Jet:
    """A quotient; unknown where the divisor may be zero."""
    below = _inverse(v[0])
    found: Jet = []
    for k in range(max(len(u), len(v))):
        rest = _sum(_times(_at(v, i), found[k - i]) for i in range(1, k + 1))
        found.append(_times(_plus(_at(u, k), _negated(rest)), below))
    return found


def power(u: Jet, v: Jet) -> Jet:
    """A power: of whole constant exponents by products, else by logarithms."""
    exponents = np.unique(np.stack(v[0]))
    if len(v) > 1 or len(exponents) > 1 or exponents[0] % 1:
        found = exp(multiply(v, log(u)))
        if len(v) == 1:  # the logarithm of zero is unknown, its power is not
            ends = [np.power(np.maximum(end, 0.0), by) for end in u[0] for by in v[0]]
            found[0] = _kept(np.minimum.reduce(ends), np.maximum.reduce(ends))
        return found
    wanted = int(abs(exponents[0]))
    whole, base = constant(np.ones(1), np.ones(1)), u
    for bit in bin(wanted)[:1:-1]:
        whole = multiply(whole, base) if bit == "1" else whole
        base = square(base)
    whole[0] = _raised(u[0], wanted)
    return divide(constant(np.ones(1), np.ones(1)), whole) if exponents[0] < 0 else whole


def _sum(parts: object) -> Interval:
    total = _ZERO
    for part in parts:  # type: ignore[attr-defined]
        total = _plus(total, part)
    return total


# --- functions of jets ------------------------------------------------------------------------------------


def _integrated(first: Interval, u: Jet, slope: Callable[[Jet], Jet]) -> Jet:
    """A function with ``f(u)' = slope(f) u'``, coefficient by coefficient; the slope of k of them has k."""
    found = [first]
    for k in range(1, len(u)):
        slopes = slope(found)
        found.append(_scaled(_sum(_times(_scaled(u[i], float(i)), slopes[k - i]) for i in range(1, k + 1)), 1 / k))
    return found


def exp(u: Jet) -> Jet:
    """The exponential function."""
    return _integrated((np.exp(u[0][0]), np.exp(u[0][1])), u, lambda found: found)


def log(u: Jet) -> Jet:
    """The natural logarithm; unknown where it may not be."""
    low = np.where(u[0][0] > 0, np.log(np.maximum(u[0][0], 1e-320)), -np.inf)
    high = np.where(u[0][1] > 0, np.log(np.maximum(u[0][1], 1e-320)), np.inf)
    slopes = divide(constant(np.ones(1), np.ones(1)), u)
    return _integrated((low, high), u, lambda _: slopes)


def sqrt(u: Jet) -> Jet:
    """The square root."""
    first = tuple(np.sqrt(np.maximum(end, 0.0)) for end in u[0])
    half = constant(np.full(1, 0.5), np.full(1, 0.5))
    return _integrated((first[0], first[1]), u, lambda found: divide(half, found))


def sine(u: Jet, shift: float = 0.0) -> Jet:
    """The sine, of an angle that is shifted."""
    angle = (u[0][0] + shift, u[0][1] + shift)
    found, other = [_sine_of(angle)], [_sine_of((angle[0] + math.pi / 2, angle[1] + math.pi / 2))]
    for k in range(1, len(u)):
        steps = [_scaled(u[i], i / k) for i in range(1, k + 1)]
        found.append(_sum(_times(step, other[k - i]) for i, step in enumerate(steps, 1)))
        other.append(_negated(_sum(_times(step, found[k - i]) for i, step in enumerate(steps, 1))))
    return found


def _sine_of(a: Interval) -> Interval:
    low, high = np.sin(a[0]), np.sin(a[1])
    peaks, valleys = (
        np.floor((a[1] - at) / (2 * math.pi)) > np.floor((a[0] - at) / (2 * math.pi))
        for at in (math.pi / 2, -math.pi / 2)
    )
    wide = ~(a[1] - a[0] < 2 * math.pi)
    return (
        np.where(valleys | wide, -1.0, np.minimum(low, high)),
        np.where(peaks | wide, 1.0, np.maximum(low, high)),
    )


def cosine_of(u: Jet) -> Jet:
    """The cosine of a jet."""
    return sine(u, math.pi / 2)


def tan(u: Jet) -> Jet:
    """The tangent; unknown where it may have a pole."""
    found = divide(sine(u), cosine_of(u))
    same = np.floor(u[0][0] / math.pi + 0.5) == np.floor(u[0][1] / math.pi + 0.5)
    found[0] = np.where(same, np.tan(u[0][0]), -np.inf), np.where(same, np.tan(u[0][1]), np.inf)
    return found


def tanh(u: Jet) -> Jet:
    """The hyperbolic tangent."""
    one = constant(np.ones(1), np.ones(1))
    return _integrated((np.tanh(u[0][0]), np.tanh(u[0][1])), u, lambda found: subtract(one, square(found)))


def expit(u: Jet) -> Jet:
    """The logistic function."""
    first = (np.asarray(_expit(u[0][0])), np.asarray(_expit(u[0][1])))
    return _integrated(first, u, lambda found: subtract(found, square(found)))


def erf(u: Jet) -> Jet:
    """The error function."""
    bell = [_scaled(a, 2 / math.sqrt(math.pi)) for a in exp(negative(square(u)))]
    return _integrated((np.asarray(_erf(u[0][0])), np.asarray(_erf(u[0][1]))), u, lambda _: bell)


def absolute(u: Jet) -> Jet:
    """The size: it has a kink where it may be zero, so that nothing is known from the second derivative on."""
    found = largest(u, negative(u))
    found[0] = np.maximum(found[0][0], 0.0), found[0][1]
    return found


def largest(*jets: Jet) -> Jet:
    """The largest of several."""
    found = jets[0]
    for jet in jets[1:]:
        found = _larger(found, jet)
    return found


def smallest(*jets: Jet) -> Jet:
    """The smallest of several."""
    return negative(largest(*(negative(jet) for jet in jets)))


def _larger(u: Jet, v: Jet) -> Jet:
    first, second = u[0][0] >= v[0][1], v[0][0] >= u[0][1]
    found: Jet = [(np.maximum(u[0][0], v[0][0]), np.maximum(u[0][1], v[0][1]))]
    for k in range(1, max(len(u), len(v))):
        a, b = _at(u, k), _at(v, k)
        either = (np.minimum(a[0], b[0]), np.maximum(a[1], b[1])) if k == 1 else _UNKNOWN
        found.append(
            (
                np.where(first, a[0], np.where(second, b[0], either[0])),
                np.where(first, a[1], np.where(second, b[1], either[1])),
            )
        )
    return found


def limits(u: Jet, k: int, cells: int) -> tuple[Floats, Floats]:
    """The limits of the k-th derivative on every cell, with a margin for rounding."""
    low, high = (np.broadcast_to(end, (cells,)) * math.factorial(k) for end in _at(u, k))
    margin = 1e-9 * np.where(np.isfinite(low) & np.isfinite(high), np.maximum(np.abs(low), np.abs(high)), 0.0)
    return np.asarray(low - margin), np.asarray(high + margin)


def unseen(bounds: Sequence[Floats], counts: Sequence[int]) -> float:
    """How far a function can be from what it looks like at ``counts`` points along each column.

    ``bounds[j][r]`` is the largest r-th derivative along the angle of column j, for r of 1 and more.

    Formal guarantee: docs/proofs/moments.md, Theorem 7.
    """
    missed, magnified = 0.0, 1.0
    for derivatives, count in zip(bounds, counts, strict=True):
        orders = np.arange(1, len(derivatives))
        nearest = float(np.min(math.pi / 2 * derivatives[1:] / float(count) ** orders))
        lebesgue = 2 / math.pi * math.log(count) + 1
        missed += magnified * (1 + lebesgue) * nearest
        magnified *= lebesgue
    return missed
