"""Cosine moments: products of ``cos(r_j arccos x_j)``, which are Chebyshev polynomials, of columns scaled to [-1, 1].

A record's contribution is computed with additions and multiplications alone, value by value, so that it depends on
that record bit by bit and on nothing else. docs/proofs/moments.md proves how far two contributions can be apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.base import Basis
from sfumato.checks import positive_integer, shown
from sfumato.core.box import Box, Categorical
from sfumato.core.certificate import Certificate
from sfumato.core.neighbours import rows_per_unit
from sfumato.core.privacy import Privacy
from sfumato.errors import ParameterError, ParameterTypeError

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

LARGEST_SIZE = 2**20  # moments
_LARGEST_TABLE = 2**27  # numbers in the table of all frequencies
_COUNTED = 10**15  # moments that are counted; beyond, it is enough to know that there are too many
LARGEST_DEGREE = 1024
_RECURRENCE = 2.0**-51  # times t^2: how far a value of the recurrence, and a product with it, is off at most
_VERTICES = 200_000  # of a box that are looked at for the smallest value of a kernel
_FINE = 128  # points for each oscillation of a sum of cosines


@dataclass(frozen=True)
class Cosines(Basis):
    """Moments ``prod_j cos(r_j arccos x_j)`` for the frequencies r of an index set.

    Parameters
    ----------
    degree
        t: frequencies 0, ..., t - 1 along each column; one number, or one per column. A categorical column always has
        as many as it has categories, and is represented without error.
    interactions
        ``"full"``: all products of frequencies; k: those in which at most k columns take part; ``"cross"``: those with
        ``prod_j (1 + r_j) <= t``, the hyperbolic cross.

    >>> Cosines(8).size(Box({"age": (0, 110), "bmi": (10, 60)}))
    64
    >>> Cosines(3, interactions=2).size(Box([(0, 1)] * 100))
    20001
    """

    degree: int | tuple[int, ...]
    interactions: str | int = "full"

    def __post_init__(self) -> None:
        several = isinstance(self.degree, Sequence | np.ndarray) and not isinstance(self.degree, str)
        degrees: tuple[Any, ...] = tuple(self.degree) if several else (self.degree,)  # type: ignore[arg-type]
        if not degrees:
            raise ParameterError.of("degree", "must be a number or one number per column, got an empty list")
        for degree in degrees:
            if positive_integer("degree", degree) > LARGEST_DEGREE:
                raise ParameterError.of("degree", f"must be at most {LARGEST_DEGREE}, got degree={degree!r}")
        object.__setattr__(self, "degree", tuple(map(int, degrees)) if several else int(degrees[0]))
        check_interactions(self.interactions)
        if self.interactions == "cross" and several:
            raise ParameterTypeError(
                f"a hyperbolic cross has one degree for all columns, got degree={shown(self.degree)}",
                parameter="degree",
            )

    def shape(self, box: Box) -> tuple[int, ...]:
        """How many frequencies each column has."""
        given = self.degree if isinstance(self.degree, tuple) else (self.degree,) * box.dimension
        if len(given) != box.dimension:
            raise ParameterError.of(
                "degree", f"needs one number, or one per column ({box.dimension}), got degree={self.degree!r}"
            )
        return tuple(
            len(column.categories) if isinstance(column, Categorical) else degree
            for column, degree in zip(box.columns, given, strict=True)
        )

    def index_set(self, box: Box) -> IndexSet:
        """The frequencies, refusing so many that they would not fit."""
        return _index_set(*self._key(box))

    def _key(self, box: Box) -> tuple[tuple[int, ...], int | None, int | None, tuple[bool, ...]]:
        cross = self.degree if isinstance(self.degree, int) and self.interactions == "cross" else None
        ways = self.interactions if isinstance(self.interactions, int) else None
        flat = tuple(isinstance(column, Categorical) for column in box.columns)
        all_ways = ways is None or ways >= box.dimension
        return self.shape(box), None if all_ways else ways, cross, flat if cross else (False,) * box.dimension

    def size(self, box: Box) -> int:
        """The number of moments, with that of frequency zero, which counts records."""
        return _counted(*self._key(box))  # nothing is written down: a file may ask for far too many

    def to_json(self) -> dict[str, Any]:
        degree = list(self.degree) if isinstance(self.degree, tuple) else self.degree
        return {"name": "cosines", "degree": degree, "interactions": self.interactions}


def check_interactions(interactions: Any) -> None:
    """Refuse what is neither a word nor a whole number."""
    if isinstance(interactions, str):
        if interactions not in ("full", "cross"):
            raise ParameterError.of("interactions", f"must be 'full', 'cross' or a number, got {shown(interactions)}")
    else:
        positive_integer("interactions", interactions)


def basis_from_json(data: dict[str, Any]) -> Cosines:
    """Rebuild the basis from plain data."""
    if set(data) != {"name", "degree", "interactions"} or data["name"] != "cosines":
        raise ParameterError(f"not a basis of cosines: {data!r}")
    return Cosines(data["degree"], data["interactions"])


# --- which frequencies ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class IndexSet:
    """Frequencies ``(size, d)``, the first of them zero, and what is known about them."""

    shape: tuple[int, ...]
    ways: int | None  # the largest number of columns in a product; None for all
    cross: int | None
    frequencies: Indices

    @property
    def size(self) -> int:
        """The number of moments, with that of frequency zero."""
        return len(self.frequencies)

    @property
    def bits(self) -> int:
        """To how many bits each of the two factors of a contribution is rounded: fewer only for very many moments."""
        return 16 if self.size <= 2**14 else 12

    def kernel_minimum(self) -> float:
        """A lower bound on ``sum_r prod_j cos(r_j psi_j)``, over all angles psi."""
        axes = tuple(_smallest_sum(t) for t in self.shape)
        if self.cross is not None:  # exact along the axes; any other product may be -1
            on_axes = np.count_nonzero(self.frequencies, axis=1) == 1
            lines = [1 + int(np.count_nonzero(on_axes & (self.frequencies[:, j] > 0))) for j in range(len(self.shape))]
            smallest = 1 + sum(_smallest_sum(line) - 1 for line in lines)
            return smallest - (self.size - 1 - int(np.count_nonzero(on_axes)))
        if self.ways is None:
            return math.prod(self.shape) * min(low / t for low, t in zip(axes, self.shape, strict=True))
        return _smallest_symmetric(self.shape, axes, self.ways, self.size)

    def apart(self, privacy: Privacy, norm: str) -> int | float:
        """How far neighbours can be apart, in steps of ``2**-(2 bits)``: docs/proofs/moments.md.

        ``|A - B| <= 1 - A B`` for each moment of two records, so their distance is at most the size of the set minus
        the smallest value of its kernel; rounding adds to that. One record alone has moments of at most one.
        """
        step, count = 4**self.bits, self.size - 1
        far = {"linf": 1.0, "l1": float(self.size), "l2": math.sqrt(self.size)}[norm]  # one record, with its count
        if privacy.neighbours == "replace":
            error = 2.0**-self.bits + len(self.shape) * max(self.shape) ** 2 * _RECURRENCE
            gap = self.size - self.kernel_minimum()
            square = 2 * self.size if self.ways is None and self.cross is None else 2 * gap
            rounded = {
                "linf": 2.0,
                "l1": gap + 2 * count * error,
                "l2": math.sqrt(square) + 2 * math.sqrt(count) * error,
            }
            plain = {"linf": 2.0, "l1": 2.0 * count, "l2": 2 * math.sqrt(count)}
            pair = max(min(rounded[norm], plain[norm]), 1.0)
            # Persons of different numbers of rows: some rows leave, and are counted.
            far = pair if privacy.unit == "row" else max(far, pair)
        steps = far * step * rows_per_unit(privacy.unit)
        return math.nextafter(steps * (1 + 1e-12), math.inf) if norm == "l2" else math.ceil(steps * (1 + 1e-12))

    def certified(self, privacy: Privacy, norm: str) -> Certificate:
        """How far apart two records' moments are, in steps of the grid: docs/proofs/moments.md."""
        return Certificate(norm, self.apart(privacy, norm), privacy.neighbours, "enforced", "moments", -2 * self.bits)


@lru_cache(maxsize=32)
def _index_set(shape: tuple[int, ...], ways: int | None, cross: int | None, flat: tuple[bool, ...]) -> IndexSet:
    _counted(shape, ways, cross, flat)
    if cross is None and ways is None:
        found = np.stack([axis.ravel() for axis in np.indices(shape)], axis=1)
    elif cross is None:
        assert ways is not None
        found = _low_interaction(shape, ways)
    else:
        found = _hyperbolic(shape, cross, flat)
    found = np.ascontiguousarray(found, dtype=np.int64)
    found.setflags(write=False)
    return IndexSet(shape, ways, cross, found)


def _counted(shape: tuple[int, ...], ways: int | None, cross: int | None, flat: tuple[bool, ...]) -> int:
    """The number of frequencies, before any is written down, refusing too many."""
    if cross is not None:
        count = _count_cross(shape, cross, flat)
    else:
        count = math.prod(shape) if ways is None else _count_ways(shape, ways)
    allowed = min(LARGEST_SIZE, _LARGEST_TABLE // len(shape))
    if count > allowed:
        many = f"{count:,}" if count < _COUNTED else f"more than {_COUNTED:.0e}"
        raise ParameterError(
            f"the index set has {many} moments of {len(shape)} columns, at most {allowed:,} are allowed: lower degree, "
            "use interactions=2 (or 1, or 'cross'), or leave out columns",
            parameter="degree",
        )
    return count


def _count_ways(shape: tuple[int, ...], ways: int) -> int:
    sums = [1] + [0] * ways  # elementary symmetric polynomials of t_j - 1
    for t in (t for t in shape if t > 1):
        for s in range(ways, 0, -1):
            sums[s] += sums[s - 1] * (t - 1)
        if sum(sums) >= _COUNTED:
            break
    return sum(sums)


def _count_cross(shape: tuple[int, ...], cross: int, flat: tuple[bool, ...]) -> int:
    left = {cross: 1}  # how many beginnings leave this much of the product
    for t, even in zip(shape, flat, strict=True):
        following: dict[int, int] = {}
        for budget, many in left.items():
            for r in range(t):
                rest = budget // (1 + (min(r, 1) if even else r))
                if rest == 0:
                    break
                following[rest] = following.get(rest, 0) + many
        left = following
        if sum(left.values()) >= _COUNTED:
            break
    return sum(left.values())


def _low_interaction(shape: tuple[int, ...], ways: int) -> Indices:
    blocks = [np.zeros((1, len(shape)), dtype=np.int64)]
    for order in range(1, ways + 1):
        for columns in combinations([j for j, t in enumerate(shape) if t > 1], order):
            values = np.array(list(product(*(range(1, shape[j]) for j in columns))), dtype=np.int64)
            block = np.zeros((len(values), len(shape)), dtype=np.int64)
            block[:, columns] = values
            blocks.append(block)
    return np.concatenate(blocks)


def _hyperbolic(shape: tuple[int, ...], cross: int, flat: tuple[bool, ...]) -> Indices:
    found, left = np.zeros((1, 0), dtype=np.int64), np.array([cross])
    for t, even in zip(shape, flat, strict=True):
        steps = np.arange(t)
        rest = left[:, None] // (1 + (np.minimum(steps, 1) if even else steps))
        row, value = np.nonzero(rest)
        found, left = np.concatenate([found[row], value[:, None]], axis=1), rest[row, value]
    return found[np.lexsort((*found.T[::-1], np.count_nonzero(found, axis=1)))]


@lru_cache(maxsize=1024)
def _smallest_sum(count: int) -> float:
    """A lower bound on ``1 + cos psi + ... + cos (count - 1) psi``, attained up to a ten-thousandth of ``count``."""
    if count <= 2:
        return float(2 - count)  # 1 for a constant, 1 + cos psi >= 0 for two
    psi = np.linspace(0.0, math.pi, _FINE * count + 1)[1:]
    sums = 0.5 + np.sin((count - 0.5) * psi) / (2 * np.sin(psi / 2))
    between = (math.pi / (_FINE * count)) ** 2 / 8 * count**3 / 3  # second derivatives are at most sum r^2
    return float(sums.min()) - between - 1e-9 * count


@lru_cache(maxsize=256)
def _smallest_symmetric(shape: tuple[int, ...], axes: tuple[float, ...], ways: int, size: int) -> float:
    """The smallest ``sum_{s <= ways} e_s(c)`` for ``c_j`` in ``[axes_j - 1, t_j - 1]``: it lies at a vertex.

    Columns with equally many frequencies are alike, so that only the number of each kind at its lower end counts.
    """
    ways = min(ways, sum(t > 1 for t in shape))  # further sums are zero
    kinds = sorted({t for t in shape if t > 1})
    counts = [shape.count(t) for t in kinds]
    if math.prod(count + 1 for count in counts) > _VERTICES:
        return 2.0 - size  # no product is below -1
    lows = dict(zip(shape, axes, strict=True))

    def powers(value: float, times: int) -> list[float]:
        return [math.comb(times, s) * value**s for s in range(ways + 1)]

    sums = np.eye(1, ways + 1)  # e_0, ..., e_ways at every vertex, kind after kind
    for t, count in zip(kinds, counts, strict=True):
        own = [np.convolve(powers(lows[t] - 1, k), powers(t - 1.0, count - k))[: ways + 1] for k in range(count + 1)]
        following = np.zeros((len(sums), count + 1, ways + 1))
        for s in range(ways + 1):
            following[:, :, s:] += np.array(own)[:, s, None] * sums[:, None, : ways + 1 - s]
        sums = following.reshape(-1, ways + 1)
    return float(sums.sum(axis=1).min()) - 1e-9 * size
