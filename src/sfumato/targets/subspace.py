"""Principal components by noisy subspace iteration, or from a covariance that is noised once.

In the iteration each product of second moments and directions leaves through the door; all but the last do so here,
before the charge, and are as private as the records until then: components leave with the last product's noise alone
(docs/proofs/subspace.md, Theorem 4).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.repeated import grant_of_one, ratio_of_all
from sfumato.bases.subspace.moments import (
    EXPONENT,
    LARGEST_SIZE,
    MOST_COLUMNS,
    MOST_ITERATIONS,
    NOISES,
    SHARP,
    SecondMoments,
    add_products,
    add_projected,
    weight_of,
    whole,
    whole_directions,
)
from sfumato.bases.subspace.reading import orthonormal, split, start_of
from sfumato.checks import one_of, positive_integer, whole_number
from sfumato.core.box import Box
from sfumato.core.calibration import NoiseLaw, calibrate
from sfumato.core.certificate import Certificate
from sfumato.core.mechanism import Private, publish
from sfumato.core.privacy import Privacy
from sfumato.core.whole import Integers, Sealed, Wide
from sfumato.engines.engine import Engine, Records
from sfumato.engines.passes import Values
from sfumato.errors import ParameterError
from sfumato.laws import noise_deviation
from sfumato.releases.components import ComponentsRelease
from sfumato.targets.base import Errors, Published, Target

Floats = NDArray[np.float64]

_EXPECTED_ROWS = 10_000  # where the number of rows is private
_BLOCK = 8_192  # rows at a time: sums of so many are exact in doubles
_HELD = 2**22  # numbers made of them, at most
_LIMB = 2.0**48
_WORSE = 2.0  # noise of products counts so often


@dataclass(frozen=True)
class Products:
    """A pass: the number of records, their columns, and every product of two."""

    box: Box
    basis: SecondMoments
    features = None

    @property
    def size(self) -> int:
        """How many numbers it adds up."""
        return self.basis.size(self.box)

    largest = 2**38

    def add(self, total: Integers, columns: Values) -> None:
        """Each record by itself: a missing value is the middle of its column."""
        for numbers in _blocks(self.box, columns):
            add_products(total, numbers, self.basis)


@dataclass(frozen=True, repr=False)
class Projected:
    """A pass: the number of records, their columns, and each record times where it lies along some directions.

    It goes to wherever the records are, so it can be pickled; but directions are private until they are published.
    """

    box: Box
    basis: SecondMoments
    directions: bytes
    features = None

    @property
    def size(self) -> int:
        """How many numbers it adds up."""
        return self.basis.size(self.box)

    largest = 2**38

    def add(self, total: Integers, columns: Values) -> None:
        """Each record by itself."""
        directions = np.frombuffer(self.directions).reshape(self.box.dimension, self.basis.rank)
        for numbers in _blocks(self.box, columns):
            add_projected(total, numbers, self.basis, directions)


def _blocks(box: Box, columns: Values) -> Iterator[Floats]:
    block = min(_BLOCK, max(1, _HELD // box.dimension))
    for start in range(0, len(columns[0]), block):
        yield whole(box, [values[start : start + block] for values in columns])


@dataclass(frozen=True)
class PrincipalComponents(Target):
    """Publish the mean of numeric columns and the directions along which they spread most: see ``sf.private_pca``.

    Parameters
    ----------
    rank
        How many directions.
    iterations
        Of ``noise="products"``: how many noisy products there are.
    noise
        ``"covariance"``: noise in all second moments, once; ``"products"``: noise in each product of these and some
        directions; ``"auto"``: the one of less noise, by public numbers.

    Formal guarantee: ``certificate`` bounds what one record can move in one publication; those of an iteration share
    the grant alike (docs/proofs/subspace.md).

    >>> PrincipalComponents(1).describe()[:2]
    (('target', 'principal components'), ('components', '1'))
    """

    rank: int
    iterations: int = 3
    noise: str = "auto"
    grant: Privacy | None = field(default=None, repr=False)  # of one publication, once it is settled

    bases = (SecondMoments,)

    def __post_init__(self) -> None:
        positive_integer("rank", self.rank)
        whole_number("iterations", self.iterations, 2, MOST_ITERATIONS)
        one_of("noise", self.noise, ("auto", *NOISES))

    def check_box(self, box: Box) -> None:
        box.intervals()
        if box.max_norm is not None:
            raise ParameterError("columns are read one at a time: a box with max_norm has no meaning here",
                                 parameter="box")  # fmt: skip
        if box.dimension > MOST_COLUMNS:
            raise ParameterError.of("box", f"has {box.dimension:,} columns, at most {MOST_COLUMNS:,} are possible")
        if self.rank > box.dimension:
            raise ParameterError.of(
                "rank", f"must be at most the number of columns, {box.dimension}, got rank={self.rank}"
            )
        wanted = "products" if self.noise == "auto" else self.noise
        if self._basis(wanted, box, Privacy(epsilon=1.0)).size(box) > LARGEST_SIZE:
            mend = "give fewer columns, or noise='products'" if wanted == "covariance" else "give a smaller rank"
            raise ParameterError.of("box", f"is too wide: more than {LARGEST_SIZE:,} numbers would be summed; {mend}")

    def _basis(self, noise: str, box: Box, privacy: Privacy) -> SecondMoments:
        times = 1 if noise == "covariance" else self.iterations
        weight = weight_of(noise, box.dimension, _pure(privacy))
        return SecondMoments(noise, self.rank, times, weight, _counted(privacy))

    def choose_basis(self, box: Box, n: int | None, privacy: Privacy) -> SecondMoments:
        """The noise that was asked for, or the smaller one."""
        found = [self._basis(noise, box, privacy) for noise in NOISES if self.noise in ("auto", noise)]
        fit = [basis for basis in found if basis.size(box) <= LARGEST_SIZE]
        return min(fit, key=lambda basis: self._cost(basis, box, privacy))

    def _cost(self, basis: SecondMoments, box: Box, privacy: Privacy) -> float:
        """What a basis costs in noise; products must be far better, for few of them stop short of the components."""
        certificate = self.certificate(basis, box, None, privacy)
        law, _ = calibrate(certificate, basis.size(box), grant_of(basis, privacy))
        return self._spectral(basis, box, law) * (1.0 if basis.noise == "covariance" else _WORSE)

    @staticmethod
    def _spectral(basis: SecondMoments, box: Box, law: NoiseLaw) -> float:
        """About how far noise moves what a matrix does to a vector of length one, times the number of records."""
        columns = math.sqrt(box.dimension)
        sides = 2 * columns if basis.noise == "covariance" else columns + math.sqrt(basis.rank)
        return noise_deviation(law) * sides

    def gather(self, records: Records, box: Box, engine: Engine) -> _Gathered:
        """Nothing yet: which sums there are depends on public numbers, and on each other."""
        return _Gathered(records, engine)

    def certificate(self, basis: SecondMoments, box: Box, n: int | None, privacy: Privacy) -> Certificate:
        """Of one publication; pure noise in all products is drawn in a cube: docs/proofs/subspace.md."""
        return basis.certified("linf" if basis.noise == "covariance" and _pure(privacy) else "l2", box, privacy)

    @property
    def inside(self) -> str:
        """What draws noise before the door, as a ledger calls it."""
        return "subspace"

    def door(self, privacy: Privacy) -> Privacy:
        """The part of the grant that the last product may use; all of it for a covariance."""
        return privacy if self.noise == "covariance" else grant_of_one(privacy, self.iterations)

    def together(self, mu: float | None) -> float | None:
        """The ratio of all products together."""
        return None if mu is None else ratio_of_all(mu, self.iterations)

    def settled(self, box: Box, n: int | None, privacy: Privacy, basis: Any = "auto") -> PrincipalComponents:
        """With the noise that is taken: how the grant is shared follows from it."""
        own = basis if isinstance(basis, SecondMoments) else self.choose_basis(box, n, privacy)
        if own.counted != _counted(privacy) or own.rank > box.dimension:
            raise ParameterError.of("basis", f"does not fit this box and grant: {own!r}")
        times = self.iterations if own.noise == "covariance" else own.iterations
        return replace(self, noise=own.noise, rank=own.rank, iterations=times, grant=grant_of(own, privacy))

    def coefficients(self, gathered: _Gathered, basis: SecondMoments, box: Box, certificate: Certificate) -> Private:
        if basis.noise == "covariance":
            return Private(gathered.fold(Products(box, basis)), certificate)
        assert self.grant is not None
        return iterate(gathered, basis, box, certificate, self.grant)

    def predict(self, basis: SecondMoments, box: Box, law: NoiseLaw, n: int | None, confidence: float) -> Errors:
        """Of a variance along a direction, in squares of half-widths."""
        rows = n or _EXPECTED_ROWS
        many = box.dimension * (box.dimension if basis.noise == "covariance" else basis.rank)
        largest = noise_deviation(law) * math.sqrt(many / (1 - confidence))  # Markov's inequality, of squares
        return Errors(self._spectral(basis, box, law) / rows, largest / rows, None, None)

    def noise_words(self, basis: SecondMoments, box: Box, law: NoiseLaw) -> str:
        told = f"{law.kind}, deviation {noise_deviation(law):.4g} in each of {law.size:,} sums"
        if basis.noise == "covariance":
            return f"{told}, once"
        return f"{told}, in each of {basis.iterations} products of equal parts of the grant"

    def finish(self, published: Published) -> ComponentsRelease:
        assert isinstance(published.basis, SecondMoments)
        return ComponentsRelease(
            guarantee=published.guarantee,
            law=published.law,
            target=self.describe(),
            receipt=published.receipt,
            domain=published.box,
            basis=published.basis,
            numbers=published.values,
            records=published.rows,
        )

    def describe(self) -> tuple[tuple[str, str], ...]:
        told = {
            "auto": "auto",
            "covariance": "in all second moments, once",
            "products": f"in each of {self.iterations} products of equal parts of the grant",
        }
        return (
            ("target", "principal components"),
            ("components", str(self.rank)),
            ("noise", told[self.noise]),
            ("missing values", "count as the middle of their column"),
        )


def _pure(privacy: Privacy) -> bool:
    return privacy.rho is None and privacy.delta == 0


def _counted(privacy: Privacy) -> bool:
    """Whether the number of records is private, and has to be summed."""
    return (privacy.neighbours, privacy.unit) != ("replace", "row")


def grant_of(basis: SecondMoments, privacy: Privacy) -> Privacy:
    """What each publication may use of the grant."""
    return privacy if basis.noise == "covariance" else grant_of_one(privacy, basis.iterations)


class _Gathered(Sealed):
    """The records, and what folds over them."""

    __slots__ = ("engine", "records")

    def __init__(self, records: Records, engine: Engine) -> None:
        self.records, self.engine = records, engine

    @property
    def rows(self) -> int:
        """How many there are."""
        return self.records.rows

    def fold(self, one: Products | Projected) -> Wide:
        """A pass over them, all of it."""
        return self.engine.fold(self.records, one).wide()

    def __repr__(self) -> str:
        return "<private records>"


# --- the iteration ------------------------------------------------------------------------------------------------


def iterate(gathered: _Gathered, basis: SecondMoments, box: Box, certificate: Certificate, grant: Privacy) -> Private:
    """The sums of the last product before its noise, sealed; a record's part in them is that of one product.

    Formal guarantee: published with ``grant``, all products together keep what ``grant_of`` was given, because each
    sees of the records only what those before it have published (docs/proofs/subspace.md, Theorem 4).
    """
    rows, columns = None if basis.counted else gathered.rows, box.dimension
    directions, seen = start_of(columns, basis.rank), []
    for _ in range(basis.iterations - 1):
        exact = whole_directions(directions)
        noisy, _, _ = publish(Private(gathered.fold(_pass(box, basis, exact)), certificate), grant)
        seen.append(noisy[: noisy.size - columns * basis.rank])
        total, mean, product = split(noisy, basis, rows, columns)
        _, mean, _ = split(np.append(np.mean(seen, axis=0), product), basis, rows, columns)
        directions = orthonormal(product.reshape(columns, -1) - total * np.outer(mean, mean @ (exact / SHARP)))
    exact = whole_directions(directions)
    total, mean, _ = split(np.mean(seen, axis=0), basis, rows, columns)
    centre = np.zeros(basis.size(box))
    centre[-columns * basis.rank :] = -total * np.outer(mean, mean @ (exact / SHARP)).ravel()
    return Private(gathered.fold(_pass(box, basis, exact)) + _wide(centre * 2.0**-EXPONENT), certificate)


def _pass(box: Box, basis: SecondMoments, exact: Floats) -> Projected:
    return Projected(box, basis, np.ascontiguousarray(exact).tobytes())


def _wide(values: Floats) -> Wide:
    """Public numbers as whole ones."""
    high = np.clip(np.floor(values / _LIMB), -(2.0**52), 2.0**52)
    return Wide(np.rint(values - high * _LIMB).clip(0.0, _LIMB).astype(np.int64), high.astype(np.int64))
