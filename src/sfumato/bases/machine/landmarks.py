"""Whitened kernel sections at public landmarks: the finite span in which a learner lives.

With ``K_ZZ = U diag(L) U'`` at landmarks Z, the features ``psi(x) = L_r^{-1/2} U_r' k_Z(x)`` are the coordinates of
``K(x, .)`` in an orthonormal system, so ``||psi(x)||^2 <= K(x, x)``. A function of the span is ``<w, psi(x)>``, and
neighbours move w no further than they move the learner itself (docs/proofs/whitening.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.bases.base import Basis, frozen
from sfumato.bases.machine.coordinates import coded, reach_of, scaled, spread, width_of
from sfumato.bases.machine.kernels import Kernel, LinearKernel, Precomputed, UserKernel, rank_of
from sfumato.checks import positive_integer
from sfumato.core.box import Box, Categorical
from sfumato.errors import OutsideBoxError, ParameterError, ParameterTypeError

Floats = NDArray[np.float64]

_BITS = 20  # of the fixed-point features: products and sums of them stay exact in doubles
_MOST = 4096  # landmarks
_ORTHONORMAL = 1e-5  # how far a file's may be off: rounding, with eigenvalues down to 2**-26, leaves less than 1e-7
_USUAL = {1: 33, 2: 81, 3: 216}  # landmarks of a box, by its dimension
_USUAL_MANY = 256


class Landmarks(Basis):
    """Kernel sections at public points.

    Parameters
    ----------
    points
        Public points in the user's units, ``(T, d)``; or how many to spread over the box (a lattice for up to three
        columns, else a low-discrepancy sequence). They must not come from the private data: take a public sample. A
        category stands there as its place in its list, from 0.
    rank
        How many whitened coordinates to keep, largest eigenvalues first; None keeps all that are not rounding error.

    >>> Landmarks(25).size(Box([(0, 1), (0, 1)]))
    25
    """

    def __init__(self, points: ArrayLike | int | None = None, rank: int | None = None) -> None:
        self.rank = None if rank is None else positive_integer("rank", rank)
        self.points: Floats | None = None
        self.count: int | None = None
        if points is None or isinstance(points, int | np.integer):
            self.count = None if points is None else positive_integer("count", points)
        else:
            self.points = _frozen_points(points)
        asked = self.count if self.points is None else len(self.points)
        if asked is not None and asked > _MOST:
            raise ParameterError(f"there may be at most {_MOST} landmarks, got {asked}", parameter="landmarks")
        if asked is not None and self.rank is not None and self.rank > asked:
            raise ParameterError.of("rank", f"must not exceed the number of landmarks, {asked}, got rank={self.rank}")

    def _key(self) -> tuple[Any, ...]:
        return (None if self.points is None else (self.points.shape, self.points.tobytes()), self.count, self.rank)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Landmarks) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        what = f"{len(self.points)} points" if self.points is not None else f"{self.count or 'usual'}"
        return f"Landmarks({what}, rank={self.rank})"

    def size(self, box: Box) -> int:
        """The number of coefficients, unless the kernel has fewer directions at these landmarks."""
        return self.rank or len(self.placed(box))

    @property
    def whole(self) -> Landmarks:
        """The same landmarks with all their directions."""
        return Landmarks(self.count if self.points is None else self.points)

    def placed(self, box: Box) -> Floats:
        """``(T, d)``: the landmarks in the user's units."""
        if self.points is None:
            return spread(box, self.count or _USUAL.get(box.dimension, _USUAL_MANY))
        points = self.points
        if points.shape[1] != box.dimension:
            raise ParameterError.of(
                "landmarks", f"must have {box.dimension} columns {box.names}, got {points.shape[1]}"
            )
        bad = np.flatnonzero(_outside(box, points))
        if bad.size:
            raise OutsideBoxError(
                f"{bad.size} of {len(points)} landmarks lie outside the box {box!r}, the first is "
                f"{points[bad[0]].tolist()}"
            )
        return points

    def to_json(self) -> dict[str, Any]:
        return {"kind": "landmarks", "rank": self.rank}


@dataclass(frozen=True)
class Coordinates(Basis):
    """The features themselves: the span of a linear kernel."""

    def size(self, box: Box) -> int:
        return sum(map(width_of, box.columns))

    def to_json(self) -> dict[str, Any]:
        return {"kind": "coordinates"}


def _frozen_points(points: ArrayLike) -> Floats:
    try:
        array = np.array(points, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterTypeError.of("landmarks", f"must be numbers or a count, got {type(points).__name__}") from None
    array = array.reshape(-1, 1) if array.ndim == 1 else array
    if array.ndim != 2 or not array.size or not np.isfinite(array).all():
        raise ParameterError.of("landmarks", f"must be a (T, d) array of finite numbers, got shape {array.shape}")
    array.setflags(write=False)
    return array


def _outside(box: Box, points: Floats) -> NDArray[np.bool_]:
    """Which public points no record could be at; categories stand there as their places in their lists."""
    inside = coded(box)
    bad = ((points < inside.low) | (points > inside.high)).any(axis=1)
    codes = [isinstance(column, Categorical) for column in box.columns]
    return np.asarray(bad | (points != np.rint(points))[:, codes].any(axis=1))


def kappa_of(largest: float) -> float:
    """The largest norm of a record's features, from that of ``K(x, x)``."""
    return math.sqrt(largest) * (1 + 2.0**-50)


def exponent_of(norm: float) -> int:
    """Features of at most this norm are whole numbers, up to ``2**20``, times ``2**exponent``."""
    return math.frexp(norm)[1] - _BITS


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """From records in user units to the coordinates in which a learner is published.

    ``nodes`` and ``whitening`` are None for a linear kernel. ``norm`` is kappa: no record's features are longer.
    """

    box: Box
    kernel: Kernel | None
    nodes: Floats | None
    whitening: Floats | None
    norm: float

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FeatureMap):
            return NotImplemented
        mine, theirs = ((f.box, f.kernel, f.norm) for f in (self, other))
        if self is other or mine != theirs:
            return self is other
        both = ((self.nodes, other.nodes), (self.whitening, other.whitening))
        return all((a is None) == (b is None) and np.array_equal(a, b) for a, b in both)  # type: ignore[arg-type]

    def __hash__(self) -> int:
        return hash((self.box, self.norm, None if self.whitening is None else self.whitening.shape))

    def __post_init__(self) -> None:
        for name in ("nodes", "whitening"):
            values = getattr(self, name)
            if values is not None:
                object.__setattr__(self, name, frozen(values))

    @property
    def size(self) -> int:
        """The number of features."""
        if self.whitening is not None:
            return int(self.whitening.shape[1])
        assert isinstance(self.kernel, LinearKernel)
        return sum(map(width_of, self.box.columns)) + (self.kernel.constant > 0)

    @cached_property
    def exponent(self) -> int:
        """Features are integers times ``2**exponent``, of which a norm of kappa has at most ``2**20``."""
        return exponent_of(self.norm)

    @cached_property
    def budget(self) -> int:
        """Kappa in steps, from below."""
        return math.floor(self.norm * 2.0**-self.exponent)

    @cached_property
    def _nodes_seen(self) -> Floats | None:
        return None if self.nodes is None or isinstance(self.kernel, Precomputed) else scaled(self.box, self.nodes)

    def __call__(self, points: Floats) -> Floats:
        """``(m, r)``: the features at cleaned points in user units."""
        if self.whitening is None:
            assert isinstance(self.kernel, LinearKernel)
            seen = scaled(self.box, points)
            if not self.kernel.constant:
                return seen
            return np.concatenate([seen, np.full((len(seen), 1), self.kernel.constant)], axis=1)
        assert self.whitening is not None
        return np.asarray(self.sections(points) @ self.whitening)

    def sections(self, points: Floats) -> Floats:
        """``(m, T)``: the kernel between points and landmarks."""
        if self.kernel is None:
            raise ParameterError("a file holds no code: attach the kernel with release.with_kernel(function) first")
        if isinstance(self.kernel, Precomputed):
            return points
        assert self._nodes_seen is not None
        return self.kernel.values(scaled(self.box, points), self._nodes_seen)

    def fixed_point(self, records: Floats) -> Floats:
        """``(m, r)`` whole numbers, as doubles, of Euclidean norm at most ``budget``, each row from its record alone.

        Rounded toward zero; a longer row is scaled down; a record with anything missing, or that a user's kernel
        refuses, gives zeros. No value makes it raise.
        """
        with np.errstate(all="ignore"):  # a warning that depends on values would be an output
            steps = self._guarded(records)
            steps *= 2.0**-self.exponent
            usable = np.isfinite(steps.sum(axis=1))
            if not usable.all():
                steps[~usable] = 0.0
            np.trunc(steps, out=steps)
            squares = np.einsum("ij,ij->i", steps, steps)  # exact unless far above the budget
            long = np.flatnonzero(squares > float(self.budget) ** 2)
            if long.size:
                largest = np.abs(steps[long]).max(axis=1, keepdims=True)
                shrunk = steps[long] / largest
                norms = np.linalg.norm(shrunk, axis=1, keepdims=True)
                steps[long] = np.trunc(shrunk * (self.budget * (1 - 2.0**-40) / norms))
        return steps

    def _guarded(self, records: Floats) -> Floats:
        """The features, where a user's kernel that fails on a record takes nothing from the others."""
        if not isinstance(self.kernel, UserKernel):
            return self(records)
        try:
            return self(records)
        except KeyboardInterrupt:
            raise
        except BaseException:  # an error would be an output
            assert self.nodes is not None
            failing = np.array([not self._survives(record) for record in records])
            # In blocks of the same shape: a matrix product of one row rounds differently, and would move the others.
            try:
                found = self(np.where(failing[:, None], self.nodes[0], records))
            except KeyboardInterrupt:
                raise
            except BaseException:  # it fails on records that it accepts one by one
                return np.zeros((len(records), self.size))
            found[failing] = 0.0
            return found

    def _survives(self, record: Floats) -> bool:
        try:
            self(record[None, :])
        except KeyboardInterrupt:
            raise
        except BaseException:
            return False
        return True


def check_placed(features: FeatureMap) -> None:
    """Refuse landmarks, from a file, that no caller could have given."""
    nodes, box = features.nodes, features.box
    if nodes is None or features.whitening is None:
        return
    if not 0 < features.size <= len(nodes) <= _MOST or nodes.shape[1] != box.dimension:
        raise ParameterError("the landmarks and their whitening do not fit the box, or are too many")
    if not isinstance(features.kernel, Precomputed) and _outside(box, nodes).any():
        raise ParameterError("some landmarks lie outside the box")


def check_whitened(features: FeatureMap) -> None:
    """Refuse a whitening, from a file, in whose coordinates the kernel's sections at the landmarks have other norms.

    A smaller one would make features shorter, and neighbours nearer, than they are (docs/proofs/whitening.md).
    """
    if features.nodes is None or features.whitening is None:
        return
    identity, size = np.zeros((features.size, features.size)), 256
    for start in range(0, len(features.nodes), size):
        part = slice(start, start + size)
        identity += features.whitening[part].T @ features(features.nodes[part])
    if not np.linalg.norm(identity - np.eye(features.size)) <= _ORTHONORMAL:
        raise ParameterError("the whitening is not that of the kernel at the landmarks")


def _check_alone(kernel: UserKernel, seen: Floats) -> None:
    """Refuse a kernel that cannot read one record alone: when it fails on some, each is tried by itself."""
    try:
        kernel.values(seen[:1], seen)
    except Exception as error:  # landmarks are public, and so is what it says about them
        raise ParameterError(f"the kernel must accept a single record, shape (1, d); it says: {error}") from error


def feature_map(kernel: Kernel, basis: Basis, box: Box) -> FeatureMap:
    """The features of a kernel in a basis."""
    if box.dimension >= _MOST and (isinstance(basis, Coordinates) or isinstance(kernel, Precomputed)):
        raise ParameterError(f"a learner can have fewer than {_MOST} features, got {box.dimension} columns")
    norm = kappa_of(kernel.largest(reach_of(box)))
    if isinstance(basis, Coordinates):
        if not isinstance(kernel, LinearKernel):
            raise ParameterError(f"sf.Coordinates is the basis of a linear kernel; use sf.Landmarks for {kernel!r}")
        return FeatureMap(box, kernel, None, None, norm)
    assert isinstance(basis, Landmarks)
    if isinstance(kernel, Precomputed):
        nodes = gram = kernel.gram
        if box.dimension != len(gram):
            raise ParameterError(f"the box must have a column for each of {len(gram)} public objects: use kernel.box")
    else:
        nodes = basis.placed(box)
        seen = scaled(box, nodes)
        if isinstance(kernel, UserKernel):
            _check_alone(kernel, seen)
        gram = kernel.values(seen, seen)
        if not np.isfinite(gram).all():
            raise ParameterError(f"the kernel {kernel!r} is not finite at the landmarks")
        if np.abs(gram - gram.T).max() > 1e-9 * np.abs(gram).max():
            raise ParameterError(f"the kernel {kernel!r} is not symmetric at the landmarks")
    spectrum, vectors = np.linalg.eigh((gram + gram.T) / 2)
    spectrum, vectors = spectrum[::-1], vectors[:, ::-1]
    rank = min(basis.rank or len(gram), rank_of(spectrum, kernel))
    return FeatureMap(box, kernel, nodes, vectors[:, :rank] / np.sqrt(spectrum[:rank]), norm)
