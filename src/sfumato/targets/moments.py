"""Cosine moments: one private summary that answers every smooth question (Algorithm 1 of the paper, made private)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.base import Basis
from sfumato.bases.moments.contributions import Factors, Room, chebyshev_table, factors_of
from sfumato.bases.moments.cosine import Cosines, IndexSet, check_interactions
from sfumato.bases.moments.prediction import DEGREES, missed_by_wide_bumps, predicted_error
from sfumato.bases.moments.quadrature import category_nodes
from sfumato.checks import one_of, positive_integer, shown
from sfumato.core.box import Box, Interval
from sfumato.core.calibration import NoiseLaw
from sfumato.core.certificate import Certificate
from sfumato.core.gaussian import noise_multiplier
from sfumato.core.mechanism import Private
from sfumato.core.privacy import Privacy
from sfumato.core.whole import Sealed, Wide
from sfumato.engines.cells import positions
from sfumato.engines.engine import Engine, Records
from sfumato.engines.passes import Products
from sfumato.errors import ParameterError, ParameterTypeError
from sfumato.laws import noise_deviation, noise_variance
from sfumato.releases.summary.answers import half_widths
from sfumato.releases.summary.summary import SummaryRelease
from sfumato.targets.base import Errors, Published, Target

Floats = NDArray[np.float64]

NOISES = {"laplace": "l1", "linf": "linf", "gaussian": "l2"}
_EXPECTED_ROWS = 10_000  # where the number of rows is private and none is expected, to choose a degree
_ENOUGH = 4  # degrees in a row that are worse than the best: those beyond are, too
_CACHED = 2**19  # numbers that a block of records may have: they stay in the cache between steps
_SMALL = 2**14  # moments that an automatic choice may have


class Sums(Sealed):
    """The records and what folds over them; the sums themselves once they are known. Private numbers."""

    __slots__ = ("_basis", "_box", "_engine", "_records", "_sums")

    def __init__(self, records: Records, box: Box, engine: Engine) -> None:
        self._records, self._box, self._engine = records, box, engine
        self._basis: Cosines | None = None
        self._sums: Wide | None = None

    def add_up(self, basis: Cosines) -> None:
        """Read the records, once for each basis."""
        if self._basis != basis:
            rule = MomentFactors(self._box, basis)
            factors, (_, across) = rule.factors, rule.shape
            products = self._engine.fold(self._records, Products(rule)).wide()
            self._sums, self._basis = products[factors.of_left * across + factors.of_right], basis

    @property
    def rows(self) -> int:
        """The number of records."""
        return self._records.rows

    def open(self) -> Wide:
        """For the target on its way to a ``Private`` vector, and for nobody else."""
        assert self._sums is not None
        return self._sums

    def __repr__(self) -> str:
        return "<private sums>"


@dataclass(frozen=True)
class MomentFactors:
    """The two factors of each moment of records, as whole numbers: what a fold multiplies and adds up."""

    box: Box
    basis: Cosines

    @property
    def indices(self) -> IndexSet:
        """The frequencies."""
        return self.basis.index_set(self.box)

    @property
    def factors(self) -> Factors:
        """How moments are products of two."""
        return factors_of(self.indices)

    @property
    def shape(self) -> tuple[int, int]:
        """How many factors there are on either side."""
        factors = self.factors
        return factors.left.count, factors.right.count

    @property
    def largest(self) -> int:
        """No product is larger."""
        return int(4**self.indices.bits)

    def pairs(self, columns: Sequence[Any]) -> Iterator[tuple[Floats, Floats]]:
        """Factors of a batch of records, block by block; the memory of a pair is used again by the next but one."""
        indices, factors, room = self.indices, self.factors, Room()
        block = max(256, _CACHED // (factors.left.count + factors.right.count + sum(indices.shape)))
        whole = scaled(self.box, columns)
        for number, start in enumerate(range(0, whole.shape[1], block)):
            turn = number % 2
            with np.errstate(all="ignore"):  # an error or a warning that depends on values would be an output
                table = chebyshev_table(whole[:, start : start + block], indices.shape, room)
                left = factors.left.rounded(table, room, f"left {turn}")
                same = factors.right is factors.left
                right = left if same else factors.right.rounded(table, room, f"right {turn}")
            yield left, right


def scaled(box: Box, columns: Sequence[Any]) -> Floats:
    """``(d, m)``: each column in [-1, 1], value by value; NaN where a value is missing or no declared category."""
    if box.max_norm is not None:  # the one rule that looks at several values of a record
        columns = list(box.clean(np.stack(columns, axis=1)).T)
    found = np.empty((box.dimension, len(columns[0])))
    with np.errstate(all="ignore"):  # a warning that depends on values would be an output
        for row, kind, values in zip(found, box.columns, columns, strict=True):
            if isinstance(kind, Interval):
                middle, half = kind.low / 2 + kind.high / 2, kind.high / 2 - kind.low / 2
                # Values beyond the bounds are clipped once they are scaled; other kinds have rules of their own.
                np.subtract(values if kind.kind == "interval" else kind.clean(values), middle, out=row)
                row /= half
                np.clip(row, -1.0, 1.0, out=row)
            else:
                place = positions(values, kind)
                row[:] = np.where(place < 0, np.nan, category_nodes(len(kind.categories))[place])
    return found


@dataclass(frozen=True)
class CosineMoments(Target):
    """Publish moments ``mean prod_j cos(r_j arccos x_j)``, from which ``answer`` computes every smooth question.

    Parameters
    ----------
    degree
        t: frequencies 0, ..., t - 1 along each column; ``"auto"``: by a public rule.
    smoothness
        Instead of ``degree``: K, for questions with K derivatives; then ``t = ceil(2 n^(1 / (2 d + K)))``.
    interactions
        ``"full"``, ``"cross"``, or k: see ``sf.Cosines``; ``"auto"``: by the same rule as the degree; where a degree is
        given, full up to four columns and two by two beyond.
    noise
        ``"auto"``: that of least variance among ``"linf"`` (K-norm noise of the box that all moments live in),
        ``"laplace"`` and, where a delta or rho is granted, ``"gaussian"``.
    expected_rows
        A public guess of the number of rows, where that number itself is private; it only steers accuracy.

    Formal guarantee: whatever the records hold, neighbours are no further apart than ``certificate`` says
    (docs/proofs/moments.md).

    >>> CosineMoments(degree=8).describe()[0]
    ('target', 'summary for smooth questions')
    """

    degree: Any = "auto"
    smoothness: int | None = None
    interactions: str | int = "auto"
    noise: str = "auto"
    expected_rows: int | None = None
    counted: bool = field(default=True, repr=False)  # whether the number of records is private, and so one of the sums

    bases = (Cosines,)

    def __post_init__(self) -> None:
        if self.smoothness is not None:
            positive_integer("smoothness", self.smoothness)
            if self.degree != "auto":
                raise ParameterError(f"give degree or smoothness, not both, got degree={self.degree!r}")
        if isinstance(self.degree, str):
            one_of("degree", self.degree, ("auto",))
        else:
            object.__setattr__(self, "degree", Cosines(self.degree).degree)
        if self.interactions != "auto":
            check_interactions(self.interactions)
        one_of("noise", self.noise, ("auto", *NOISES))
        if self.expected_rows is not None:
            positive_integer("expected_rows", self.expected_rows)

    def check_box(self, box: Box) -> None:
        if self.degree != "auto":
            self._check_size(self._basis(box, self.degree), box)

    def _check_size(self, basis: Cosines, box: Box) -> None:
        if basis.size(box) < 2:
            raise ParameterError(f"degree={self.degree!r} leaves no moments: use 2 or more", parameter="degree")

    def _ways(self, box: Box) -> tuple[str | int, ...]:
        """The index sets that come into question."""
        if self.interactions != "auto":
            return (self.interactions,)
        if self.degree != "auto" or self.smoothness is not None:
            return ("full",) if box.dimension <= 4 else (2,)
        return ("full", "cross", *range(1, min(4, box.dimension))) if box.dimension > 1 else ("full",)

    def _basis(self, box: Box, degree: Any) -> Cosines:
        return Cosines(degree, self._ways(box)[0])

    def settled(self, box: Box, n: int | None, privacy: Privacy, basis: Any = "auto") -> CosineMoments:
        """The same, knowing whether the number of records is public."""
        return replace(self, counted=_is_counted(privacy))

    def gather(self, records: Records, box: Box, engine: Engine) -> Sums:
        """One pass; where the degree depends on the number of rows, that is counted first."""
        sums = Sums(records, box, engine)
        if self.degree != "auto":
            sums.add_up(self._basis(box, self.degree))
        return sums

    def choose_basis(self, box: Box, n: int | None, privacy: Privacy) -> Cosines:
        """The degree of the paper's rule, or the moments of least predicted error for a mixture of questions."""
        rows = n or self.expected_rows or _EXPECTED_ROWS
        if self.degree != "auto":
            return self._basis(box, self.degree)
        if self.smoothness is not None:
            return self._basis(box, max(2, math.ceil(2 * rows ** (1 / (2 * box.dimension + self.smoothness)))))
        return _least_error(tuple(self._ways(box)), box, lambda basis: self._noise(basis, box, privacy) / rows)

    def _noise(self, basis: Cosines, box: Box, privacy: Privacy) -> float:
        return self._deviation(basis.index_set(box), privacy)

    def check_basis(self, basis: Basis, box: Box) -> None:
        super().check_basis(basis, box)
        assert isinstance(basis, Cosines)
        if self.degree != "auto" and basis != self._basis(box, self.degree):
            raise ParameterTypeError(
                f"the target has a degree already: give {shown(basis)} or degree={shown(self.degree)}"
            )
        self._check_size(basis, box)

    def size(self, basis: Cosines, box: Box) -> int:  # type: ignore[override]
        return basis.size(box) - (not self.counted)

    def _kind(self, indices: IndexSet, privacy: Privacy) -> str:
        """The noise of least variance in each moment."""
        if self.noise != "auto":
            self._check_noise(privacy)
            return self.noise
        if privacy.rho is not None:
            return "gaussian"
        kinds = ("linf", "laplace", "gaussian") if privacy.delta else ("linf", "laplace")
        return min(kinds, key=lambda kind: _variance(kind, indices, privacy))

    def _check_noise(self, privacy: Privacy) -> None:
        if self.noise != "gaussian" and privacy.epsilon is None:
            raise ParameterError(f"noise={self.noise!r} needs epsilon, got rho={privacy.rho!r}", parameter="noise")
        if self.noise == "gaussian" and privacy.rho is None and not privacy.delta:
            raise ParameterError(
                "noise='gaussian' is never pure: give delta > 0 or rho, or use another noise", parameter="noise"
            )

    def _deviation(self, indices: IndexSet, privacy: Privacy) -> float:
        steps: int = 4**indices.bits
        return math.sqrt(_variance(self._kind(indices, privacy), indices, privacy)) / steps

    def certificate(self, basis: Cosines, box: Box, n: int | None, privacy: Privacy) -> Certificate:
        """How far apart two records' moments are, in the norm of the noise that is taken: docs/proofs/moments.md."""
        indices = basis.index_set(box)
        return indices.certified(privacy, NOISES[self._kind(indices, privacy)])

    def preferred_noise(self, certificate: Certificate, privacy: Privacy) -> str:
        return next(kind for kind, norm in NOISES.items() if norm == certificate.norm)

    def coefficients(self, sums: Sums, basis: Cosines, box: Box, certificate: Certificate) -> Private:
        sums.add_up(basis)
        return Private(sums.open()[0 if self.counted else 1 :], certificate)  # the count comes first

    def predict(self, basis: Cosines, box: Box, law: NoiseLaw, n: int | None, confidence: float) -> Errors:
        """Errors of a moment, whose coefficient is one; and what wide bumps lose."""
        rows = n or self.expected_rows or _EXPECTED_ROWS
        one = np.zeros((1, law.size))
        one[0, -1] = 1.0
        return Errors(
            noise_deviation(law) * math.sqrt(2 / math.pi) / rows,
            float(half_widths(law, one, confidence)[0]) / rows,
            missed_by_wide_bumps(basis, box),
            None,
        )

    def finish(self, published: Published) -> SummaryRelease:
        assert isinstance(published.basis, Cosines)
        return SummaryRelease(
            guarantee=published.guarantee,
            law=published.law,
            target=self.describe(),
            receipt=published.receipt,
            domain=published.box,
            basis=published.basis,
            numbers=published.values,
            rows=published.rows,
        )

    def describe(self) -> tuple[tuple[str, str], ...]:
        rule = f"smoothness {self.smoothness}" if self.smoothness is not None else str(self.degree)
        return (
            ("target", "summary for smooth questions"),
            ("degree", rule),
            ("interactions", str(self.interactions)),
            ("missing values", "spread over their column"),
        )


def _is_counted(privacy: Privacy) -> bool:
    return privacy.neighbours != "replace" or privacy.unit != "row"


def _variance(kind: str, indices: IndexSet, privacy: Privacy) -> float:
    """Of the noise in one moment, in squared steps."""
    size, bound = indices.size - (not _is_counted(privacy)), float(indices.apart(privacy, NOISES[kind]))
    if kind == "gaussian":
        if privacy.rho is not None:
            return bound**2 / (2 * privacy.rho)
        assert privacy.epsilon is not None
        return (bound * noise_multiplier(privacy.epsilon, privacy.delta)) ** 2
    assert privacy.epsilon is not None
    return (bound / privacy.epsilon) ** 2 * noise_variance(kind, size)


def _too_many(basis: Cosines, box: Box) -> bool:
    try:
        return basis.size(box) > _SMALL
    except ParameterError:
        return True


def _least_error(ways: Sequence[str | int], box: Box, noise: Callable[[Cosines], float]) -> Cosines:
    """The basis of least predicted error for a mixture of questions: docs/proofs/moments.md, "Which moments"."""
    best, least = None, math.inf
    for one in ways:
        worse, own = 0, math.inf
        for degree in DEGREES:  # from three on: two frequencies could not tell a variance
            basis = Cosines(degree, one)
            if worse == _ENOUGH or _too_many(basis, box):
                break
            predicted = predicted_error(basis, box, noise(basis))
            worse, own = (0, predicted) if predicted < own else (worse + 1, own)
            if best is None or predicted < least:  # where noise drowns everything, the fewest moments
                best, least = basis, predicted
    return Cosines(DEGREES[0], ways[-1]) if best is None else best  # which may be too many, and is refused then
