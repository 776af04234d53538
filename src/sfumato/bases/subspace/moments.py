"""Second moments of columns scaled to [-1, 1], as whole numbers: all of them at once, or times some directions.

Either is a linear sum over records, about the middle of the box, and so is the mean that stands beside it. What is
centred is the public result: the paper centres the records by their own mean, which moves with every record, costs
almost three times the noise, and leaves the mean to be published unpaid. docs/proofs/subspace.md has the bounds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.base import Basis
from sfumato.bases.synthetic.contributions import scaled
from sfumato.checks import one_of, positive_integer, whole_number
from sfumato.core.box import Box
from sfumato.core.certificate import Certificate, certify_sum
from sfumato.core.neighbours import rows_per_unit
from sfumato.core.privacy import Privacy
from sfumato.errors import ParameterError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

NOISES = ("covariance", "products")
BITS = 16  # of a scaled value; products have twice as many
UNIT = 2**BITS
EXPONENT = -2 * BITS
SHARP = 2**30  # directions are whole multiples of 1/SHARP
MOST_COLUMNS = 4096  # with these, sums below are exact in doubles
LARGEST_SIZE = 2**20  # numbers
MOST_ITERATIONS = 64
_MOST_COUNTED = 64  # what a record adds to the number of records, at most; in units


@dataclass(frozen=True)
class SecondMoments(Basis):
    """What is summed for principal components.

    Parameters
    ----------
    noise
        ``"covariance"``: every product of two columns, once; ``"products"``: the matrix of these times some
        directions, as often as there are iterations.
    rank, iterations
        How many components there are; how many products are published, of which each sees those before it.
    weight
        What a mean weighs beside a product: its noise is that much smaller.
    counted
        Whether the number of records is one of the numbers, because it is private.

    >>> SecondMoments("covariance", 2, 1, 1, False).size(Box({"age": (0, 110), "bmi": (10, 60)}))
    5
    """

    noise: str
    rank: int
    iterations: int
    weight: int
    counted: bool

    def __post_init__(self) -> None:
        one_of("noise", self.noise, NOISES)
        positive_integer("rank", self.rank)
        first, last = (1, 1) if self.noise == "covariance" else (2, MOST_ITERATIONS)
        whole_number("iterations", self.iterations, first, last)
        whole_number("weight", self.weight, 1, 64)
        if not isinstance(self.counted, bool):
            raise ParameterError(f"counted must be true or false, got {self.counted!r}")

    @property
    def count(self) -> int:
        """What a record adds to the number of records, in units."""
        return min(_MOST_COUNTED, max(1, self.weight**2 // 2))

    def size(self, box: Box) -> int:
        columns = box.dimension
        return self.counted + columns + (
            columns * (columns + 1) // 2 if self.noise == "covariance" else columns * self.rank
        )  # fmt: skip

    def certified(self, norm: str, box: Box, privacy: Privacy) -> Certificate:
        """How far neighbours move the numbers of one publication: docs/proofs/subspace.md, Theorems 1 to 3."""
        if norm == "linf":
            largest = max(self.weight, self.count) * UNIT**2
            return replace(certify_sum("linf", largest, EXPONENT, privacy), proof="subspace")
        d, heavy, every = box.dimension, self.weight**2, self.noise == "covariance"
        if privacy.neighbours == "replace":  # twice the squares
            squares = 2 * (d + heavy) ** 2 + d if every else (2 * d + heavy) ** 2
        else:
            squares = 2 * (self.count**2 + heavy * d) + (d * (d + 1) if every else 2 * d**2)
        longest = math.isqrt(squares * UNIT**4 // 2) + 1
        rounded = 0 if every else UNIT * (math.isqrt(d * self.rank) + 1)  # of projections, in both records
        bound = rows_per_unit(privacy.unit) * (longest + rounded)
        return Certificate("l2", bound, privacy.neighbours, "enforced", "subspace", EXPONENT)

    def to_json(self) -> dict[str, Any]:
        return {"name": "second moments", **vars(self)}


def moments_from_json(data: Mapping[str, Any]) -> SecondMoments:
    """Rebuild what was summed from plain data."""
    names = SecondMoments.__dataclass_fields__
    if set(data) != {"name", *names}:
        raise ParameterError("the second moments have unexpected or missing entries")
    one_of("name", data["name"], ("second moments",))
    return SecondMoments(**{name: data[name] for name in names})


def weight_of(noise: str, columns: int, pure: bool) -> int:
    """The public rule of what a mean weighs: the largest power of two that costs products an eighth at most.

    Noise in a cube does not ask how long a record is, only how large its largest number: 1.
    """
    if noise == "covariance" and pure:
        return 1
    return int(2 ** max(0, math.floor(math.log2(max(1, columns / 4)) / 2)))


# --- what a record adds -------------------------------------------------------------------------------------------


def whole(box: Box, columns: Sequence[Any]) -> Floats:
    """``(d, m)`` whole numbers of at most ``UNIT``, value by value; a missing value is the middle of its column."""
    values = np.stack([scaled(kind, own) for kind, own in zip(box.intervals(), columns, strict=True)])
    with np.errstate(all="ignore"):
        return np.nan_to_num(np.rint(values * float(UNIT)), copy=False, nan=0.0)


def add_first(numbers: Floats, basis: SecondMoments) -> list[Floats]:
    """The number of records, if it is summed, and the columns."""
    one = float(UNIT)
    counted = [np.array([basis.count * one**2 * numbers.shape[1]])] if basis.counted else []
    return [*counted, numbers.sum(axis=1) * (basis.weight * one)]


def add_products(total: Integers, numbers: Floats, basis: SecondMoments) -> None:
    """Of a block of records: every product of two columns once."""
    found = (numbers @ numbers.T)[np.triu_indices(len(numbers))]
    total += np.concatenate([*add_first(numbers, basis), found]).astype(np.int64)


def add_projected(total: Integers, numbers: Floats, basis: SecondMoments, directions: Floats) -> None:
    """Of a block of records: each times where it lies along whole-numbered directions, ``(d, rank)``."""
    along = np.rint((directions.T @ numbers) / SHARP)  # the product is exact
    total += np.concatenate([*add_first(numbers, basis), (numbers @ along.T).ravel()]).astype(np.int64)


def whole_directions(directions: Floats) -> Floats:
    """Orthonormal columns as whole numbers that lengthen no vector, which is checked exactly (Gershgorin)."""
    found = np.trunc(np.clip(np.nan_to_num(directions), -1.0, 1.0) * (SHARP * (1 - 2.0**-16)))
    while not _is_short(found):  # the first is, unless linear algebra was wrong
        found = np.trunc(found / 2)
    return found


def _is_short(directions: Floats) -> bool:
    """Whether the spectral norm is at most ``SHARP``: no row of the products of columns adds up to more."""
    if np.square(directions).sum(axis=0).max() > 2.0**62:  # their products might not fit 64 bits
        return False
    whole = directions.astype(np.int64)
    return max(sum(abs(int(value)) for value in row) for row in whole.T @ whole) <= SHARP**2
