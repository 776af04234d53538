"""Exact enumeration: the privacy of a finite or truncated law, in high precision, with no sampling at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product

from mpmath import mp, mpf

mp.dps = 60


def hockey_stick(pmf: dict, other: dict, epsilon: float) -> mpf:
    """``sum_x max(0, P(x) - e^epsilon Q(x))``: the least delta at epsilon for this ordered pair."""
    factor = mp.e ** mpf(epsilon)
    return mp.fsum(max(mpf(0), p - factor * other.get(x, mpf(0))) for x, p in pmf.items())


def max_log_ratio(pmf: dict, other: dict) -> mpf:
    """The largest privacy loss in either direction over the common support."""
    return max(abs(mp.log(p / other[x])) for x, p in pmf.items() if x in other)


def lattice_law(weight: Callable[[tuple[int, ...]], mpf], dimension: int, radius: int) -> dict[tuple[int, ...], mpf]:
    """The law proportional to ``weight`` on the integer points of a cube (choose the radius so the rest is nil)."""
    points: Iterable[tuple[int, ...]] = product(range(-radius, radius + 1), repeat=dimension)
    raw = {x: weight(x) for x in points}
    total = mp.fsum(raw.values())
    return {x: w / total for x, w in raw.items()}


def shifted(pmf: dict[tuple[int, ...], mpf], by: tuple[int, ...]) -> dict[tuple[int, ...], mpf]:
    """The law of the same noise around another centre."""
    return {tuple(a + b for a, b in zip(x, by, strict=True)): p for x, p in pmf.items()}
