"""The passes of a solver: slopes times features at some weights, curvature, slack; whole numbers, in any order.

Products of features and slices of weights, and of features and slices of slopes, are sums of integers below 2**53:
exact in doubles (docs/proofs/solver.md, Theorem 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sfumato.bases.machine.losses import Loss, SmoothedHinge
from sfumato.core.box import Box
from sfumato.engines.passes import Features, Values

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Rows at a time, always: a record's features must not depend on how many others there are, nor on its place among them.
# Linear algebra libraries round the last rows of a matrix differently unless their number is a multiple of the tiles
# that they work in; this is one of all tiles in use (8, 12, 16, 24, 32, 48, ...).
BLOCK = 3072
SLICE = 2.0**27  # slices of w
SLICES = 4
SLOPE = 2.0**20  # slices of the loss's slopes; BLOCK rows of them times 20-bit features stay below 2**53
SLOPE_SLICES = 3
SLACK = 2.0**40  # steps in a width of a rounded hinge
SHARP = 2.0**-6  # a hinge that is rounded over less than this


class OverFeatures:
    """A pass that reads what features were made of the records; ``compressed``: it takes them as compressed rows, too.

    Sums of whole numbers below 2**53 are the same either way.
    """

    features: Features
    compressed: ClassVar[bool] = False

    @property
    def box(self) -> Box:
        """The columns and the response."""
        return self.features.box


@dataclass(frozen=True, repr=False)
class Gradient(OverFeatures):
    """A pass: the sum of slopes times features at some weights, for a hinge its dual slack, and curvature if asked for.

    It goes to wherever the records are, so it can be pickled; but weights are private until they are published.

    Parameters
    ----------
    top
        A power of two that no slope exceeds.
    shape, exponent
        Outputs and features; features are integers times ``2**exponent``.
    slices, unit
        The weights: ``(features, 4 * outputs)`` whole numbers, and for each output what the first of them count.
    tables
        Of curvature: none, one, or three, which have twice the digits.
    offsets
        What is added to each output: public numbers.
    """

    features: Features
    loss: Loss
    top: float
    shape: tuple[int, int]
    exponent: int
    slices: bytes
    unit: tuple[float, ...]
    tables: int = 0
    offsets: tuple[float, ...] = ()
    compressed = True
    largest = 2**40  # features and slices of slopes have 20 bits

    @property
    def ends(self) -> tuple[int, int, int]:
        """Where sums of slopes end, dual slacks, and curvatures."""
        outputs, size = self.shape
        slopes = size * SLOPE_SLICES * outputs
        return slopes, slopes + outputs, slopes + outputs + self.tables * outputs * size * size

    @property
    def size(self) -> int:
        """How many numbers it adds up."""
        return self.ends[-1]

    def add(self, total: Integers, columns: Values) -> None:
        """What a block of examples adds."""
        features, targets = columns
        (outputs, size), loss = self.shape, self.loss
        slices = np.frombuffer(self.slices).reshape(size, SLICES * outputs)
        unit, step = np.array(self.unit), 2.0**self.exponent
        slopes, slacks, _ = self.ends
        with np.errstate(all="ignore"):  # a warning that depends on values would be an output
            product = features @ slices  # exact
            parts = [product[:, i * outputs : (i + 1) * outputs] * (unit * step / SLICE**i) for i in range(SLICES)]
            parts += [np.array(self.offsets)] if self.offsets else []
            at, sign = _arguments(loss, targets, parts)
            slope = np.clip(loss.slope(at), -self.top, self.top)
            total[:slopes] += (features.T @ _slope_slices(slope * sign, self.top)).astype(np.int64).ravel()
            if isinstance(loss, SmoothedHinge):
                total[slopes:slacks] += _dual_slack(at, slope, sign, SLACK / loss.width)
            if self.tables:
                assert loss.curvature is not None
                roots = np.sqrt(loss.bend(at) / loss.curvature) * np.abs(sign)
                _add_curvature(total[slacks:].reshape(self.tables, outputs, size, size), features, roots)


@dataclass(frozen=True, repr=False)
class ClippedGradient(OverFeatures):
    """A pass: minus the sum of all records' gradients at some weights, each of a norm of at most ``budget``.

    Formal guarantee: for every input a record adds whole slopes times its whole features, of Euclidean norm at most
    ``budget`` over all outputs together, and nothing that depends on another record (docs/proofs/descent.md).

    Parameters
    ----------
    top, bits
        A power of two that no slope exceeds; slopes are whole multiples of ``top / 2**bits``.
    shape, exponent
        Outputs and features; features are integers times ``2**exponent``.
    weights, unit
        ``(features, outputs)`` whole numbers, and what they count.
    offsets
        What is added to each output: public numbers.
    """

    features: Features
    loss: Loss
    top: float
    bits: int
    budget: int
    shape: tuple[int, int]
    exponent: int
    weights: bytes
    unit: float
    offsets: tuple[float, ...] = ()
    compressed = True
    largest = 2**38

    @property
    def size(self) -> int:
        """How many numbers it adds up."""
        return self.shape[0] * self.shape[1]

    def add(self, total: Integers, columns: Values) -> None:
        """What a block of examples adds."""
        features, targets = columns
        outputs, size = self.shape
        weights = np.frombuffer(self.weights).reshape(size, outputs)
        with np.errstate(all="ignore"):  # a warning that depends on values would be an output
            parts = [(features @ weights) * (self.unit * 2.0**self.exponent)]  # the product is exact
            parts += [np.array(self.offsets)] if self.offsets else []
            at, sign = _arguments(self.loss, targets, parts)
            slope = np.clip(self.loss.slope(at), -self.top, self.top) * sign
            whole = np.rint(np.nan_to_num(slope, nan=0.0) * (2.0**self.bits / self.top))
            steep = np.sqrt(np.square(whole).sum(axis=1))
            long = np.sqrt(_squared_norms(features))
            # A product of roots is right to 2**-51; floors only make it shorter.
            shorter = np.minimum(1.0, self.budget * (1 - 2.0**-40) / np.maximum(steep * long, 1.0))
        total += -(np.trunc(whole * shorter[:, None]).T @ features).astype(np.int64).ravel()


@dataclass(frozen=True)
class Known(OverFeatures):
    """A pass: how many examples say something."""

    features: Features
    size = 1
    largest = 1

    def add(self, total: Integers, columns: Values) -> None:
        """Targets that are there."""
        total += np.count_nonzero(~np.isnan(columns[1][:, 0]))


@dataclass(frozen=True)
class Squares(OverFeatures):
    """A pass: the sum of the squares of all features."""

    features: Features
    size = 1
    largest = 2**40

    def add(self, total: Integers, columns: Values) -> None:
        """Of a block they add up exactly."""
        total += int(np.square(columns[0]).sum())


def _arguments(loss: Loss, targets: Floats, parts: list[Floats]) -> tuple[Floats, Floats]:
    """Where the loss is evaluated, and the sign (0: the row says nothing) with which its slope enters.

    The value ``<w, x>`` is the sum of the parts; what each addition rounds away is kept and added last.
    """
    known = ~np.isnan(targets)
    sure = np.where(known, targets, 0.0)
    margin = loss.on == "margin"
    sign = sure if margin else known.astype(np.float64)
    total = np.full_like(sure, -loss.centre) if margin else -sure
    total, lost = two_sum(total, sign * parts[0])
    for part in parts[1:]:
        total, error = two_sum(total, sign * part)
        lost += error
    return total + lost, sign


def two_sum(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """The sum of two doubles, and exactly what its rounding has lost (Knuth)."""
    total = first + second
    part = total - first
    return total, (first - (total - part)) + (second - part)


def _slope_slices(slope: Floats, top: float) -> Floats:
    """Slopes as whole numbers of 20 bits each, most significant first."""
    rest, parts = slope / top, []
    for _ in range(SLOPE_SLICES):
        rest = rest * SLOPE
        parts.append(np.rint(rest))
        rest = rest - parts[-1]
    return np.concatenate(parts, axis=1)


def _dual_slack(at: Floats, slope: Floats, sign: Floats, steps: float) -> Integers:
    """``sum max(0, 1 - m) - alpha (1 - m)`` with dual variables ``alpha = -slope``, in steps, each term rounded up.

    A term is at least 0, and at most 0.28 widths: where ``at`` is beyond 38 of them, alpha is 0 or 1 but for less. So
    those of a block add up exactly.
    """
    alpha = -slope
    terms = np.where(sign == 0, 0.0, np.abs(at) * np.where(at < 0, 1 - alpha, alpha))
    terms *= steps
    total: Integers = np.fmin(np.ceil(terms, out=terms).sum(axis=0), len(at) * SLACK).astype(np.int64)
    return total


def _squared_norms(features: Any) -> Floats:
    """Of each row; exact."""
    if isinstance(features, csr_array):
        return np.asarray(features.multiply(features).sum(axis=1))
    return np.asarray(np.einsum("ij,ij->i", features, features))


def _add_curvature(total: Integers, features: Any, roots: Floats) -> None:
    """Products of features that are scaled by the root of their bend, and rounded: whole numbers of 20 bits again.

    With three tables what was rounded away follows, 20 bits more: a sharp hinge bends at few records, whose differences
    lead out of narrow valleys.
    """
    several = len(total) > 1
    for k, root in enumerate(roots.T):
        rows = root > (2.0**-31 if several else 2.0**-21)  # of the others next to nothing is left, or nothing at all
        if isinstance(features, csr_array):
            _add_compressed(total[:, k], features, np.where(rows, root, 0.0))
            continue
        if np.count_nonzero(rows) < len(rows) // 2:
            part = features[rows] * root[rows, None]
        else:  # they count for nothing here too: what a record adds depends on itself alone
            part = features * np.where(rows, root, 0.0)[:, None]
        whole = np.rint(part, out=None if several else part)
        total[0, k] += (whole.T @ whole).astype(np.int64)
        if several:
            rest = np.subtract(part, whole, out=part)
            rest *= SLOPE
            np.rint(rest, out=rest)
            cross = whole.T @ rest
            total[1, k] += (cross + cross.T).astype(np.int64)
            total[2, k] += (rest.T @ rest).astype(np.int64)


def _add_compressed(total: Integers, features: csr_array, root: Floats) -> None:
    """The same of one output, of compressed rows."""
    part = features.data * np.repeat(root, np.diff(features.indptr))
    whole = features.copy()
    whole.data = np.rint(part)
    total[0] += (whole.T @ whole).toarray().astype(np.int64)
    if len(total) > 1:
        rest = features.copy()
        rest.data = np.rint((part - whole.data) * SLOPE)
        cross = (whole.T @ rest).toarray()
        total[1] += (cross + cross.T).astype(np.int64)
        total[2] += (rest.T @ rest).toarray().astype(np.int64)
