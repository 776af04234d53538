"""What error a lattice will make, predicted from public quantities: how ``basis="auto"`` chooses.

The error of an estimate is noise, whose law is public, and approximation, which depends on the data. The second is
measured on fixed reference densities whose features are 0.7 to 5.6 times as wide as the kernel: what somebody who chose
that bandwidth expects to see. Nothing here sees data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.density.binning import Binning, MassLattice, SplitLattice
from sfumato.bases.density.kernel import GaussianKernel
from sfumato.bases.density.measure import smoothing_matrix
from sfumato.bases.density.mixture import node_positions
from sfumato.core.box import Box, Interval, Periodic
from sfumato.threads import on_one_thread

Floats = NDArray[np.float64]
Deviation = Callable[[MassLattice], float]

# Lattice steps, in deviations of the kernel.
_SPACINGS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.85, 1.0, 1.2, 1.4, 1.7, 2.0, 2.4, 2.8)
# Deviations of the shares, in deviations of the kernel; 0 is linear binning. L2 norms favour wide shares.
_WIDTHS = {"pure": (0.0, 0.4, 0.5, 0.6), "gaussian": (0.0, 0.5, 0.6, 0.7)}
_WINDOW = 30.0  # deviations of the kernel: on a longer column a part is as good as the whole
_DRAWS = {1: 400, 2: 100, 3: 40}
FACTORS = (0.7, 1.4, 2.8)
_SEED = 20170204
_POINTS = {1: 160, 2: 40, 3: 16}  # along each axis, where the largest error is searched
_PLACES = 300  # along each axis, on which reference densities live


@dataclass(frozen=True)
class Prediction:
    """The mean largest error that a basis is expected to make: from noise, from approximation, and together."""

    basis: MassLattice
    noise: float
    approximation: float
    error: float


def search(box: Box, kernel: GaussianKernel, pure: bool, rows: float, deviation: Deviation) -> list[Prediction]:
    """Predictions for lattices worth considering, for pure privacy or for Gaussian noise.

    First every other spacing with one width, then the best spacing and its neighbours with every width, also none.
    """
    widths = _WIDTHS["pure" if pure else "gaussian"]
    finest = max(
        c * 1.01 / (len(n) - 1) for c, n in zip(_details(box, kernel), node_positions(box, kernel), strict=True)
    )
    usable = [spacing for spacing in _SPACINGS if spacing > finest]  # no finer than the nodes
    first = {i: _lattice(box, kernel, usable[i], widths[1]) for i in range(0, len(usable), 2)}
    found = {p.basis: p for p in predict(box, kernel, list(first.values()), rows, deviation)}
    best = min(first, key=lambda i: found[first[i]].error)
    near = [usable[i] for i in range(max(0, best - 1), min(len(usable), best + 2))]
    rest = {_lattice(box, kernel, spacing, width) for spacing in near for width in widths} - set(found)
    ordered = sorted(rest, key=repr)
    return [*found.values(), *predict(box, kernel, ordered, rows, deviation)]


def _details(box: Box, kernel: GaussianKernel) -> list[float]:
    """How many deviations of the kernel each column is wide."""
    return [(c.high - c.low) / d for c, d in zip(box.intervals(), kernel.resolution, strict=True)]


def _lattice(box: Box, kernel: GaussianKernel, spacing: float, width: float) -> MassLattice:
    """A lattice with these steps and these shares, both in deviations of the kernel; width 0 is linear binning."""
    points = tuple(
        max(2, round((c.high - c.low) / (spacing * d)) + (not isinstance(c, Periodic)))
        for c, d in zip(box.intervals(), kernel.resolution, strict=True)
    )
    return SplitLattice(points, tuple(width * d for d in kernel.resolution)) if width else Binning(points)


@on_one_thread
def predict(
    box: Box, kernel: GaussianKernel, bases: Sequence[MassLattice], rows: float, deviation: Deviation
) -> list[Prediction]:
    """The predicted error of each basis for ``rows`` records.

    ``deviation(basis)`` is the noise's standard deviation in a mass, relative to a total of one.
    """
    axes = [_Axis.of(column, d) for column, d in zip(box.intervals(), kernel.resolution, strict=True)]
    return [_predict(basis, box, axes, rows, deviation(basis)) for basis in bases]


class Study(NamedTuple):
    """Each reference density along one axis, at some points: kernel and reconstruction, their means and products.

    ``(references, points)``: ``truth`` and ``given`` are means over the density of the kernel k and of its
    reconstruction g; the others are means of k k, k g and g g.
    """

    truth: Floats
    given: Floats
    kk: Floats
    kg: Floats
    gg: Floats

    @classmethod
    def of(cls, known: Floats, kernel: Floats, given: Floats) -> Study:
        """From reference densities ``(references, places)`` and two ``(points, places)`` tables."""
        tables = (kernel, given, kernel * kernel, kernel * given, given * given)
        return cls(*(known @ table.T for table in tables))


def misses(studies: Sequence[Study], rows: float, inside: float = 1.0, deviations: float = 2.0) -> Floats:
    """``(references,)``: the largest difference between truth and reconstruction anywhere, for a sample of rows.

    The mean difference, and the scatter of a sample around it (a sample is rougher than its density): two standard
    deviations, about what the largest over a few dozen places reaches; bands ask for more.
    """
    found = []
    for r in range(len(studies[0].truth)):
        truth, given, kk, kg, gg = (
            reduce(np.multiply.outer, [getattr(s, name)[r] for s in studies]) for name in Study._fields
        )
        scatter = np.sqrt(np.maximum(kk - 2 * kg + gg, 0.0) * inside / max(rows, 1.0))
        found.append(float(np.hypot(np.abs(truth - given) * inside, deviations * scatter).max()))
    return np.array(found)


@dataclass(frozen=True)
class _Axis:
    """One column, or a window of it, as the prediction sees it: positions are in [0, 1] of the window."""

    column: Interval
    window: Interval
    deviation: float

    @classmethod
    def of(cls, column: Interval, deviation: float) -> _Axis:
        width = column.high - column.low
        if width <= _WINDOW * deviation:
            return cls(column, column, deviation)
        return cls(column, Interval(0.0, _WINDOW * deviation), deviation)

    @property
    def share(self) -> float:
        """How much of the column the window is."""
        return (self.window.high - self.window.low) / (self.column.high - self.column.low)


def _predict(basis: MassLattice, box: Box, axes: Sequence[_Axis], rows: float, deviation: float) -> Prediction:
    shape = basis.shape(box)
    weights, studies = [], []
    count = math.prod(shape)
    for i, axis in enumerate(axes):
        points = max(2, round(shape[i] * axis.share))
        width = 0.0 if not isinstance(basis, SplitLattice) else _along(basis.width, i)
        width = min(width, axis.window.high - axis.window.low)  # a wider one blurs all that the window shows
        # The same noise relative to the mean mass, as if this axis were all there is.
        own = deviation * count / shape[i] / axis.share
        linear, study = _axis_study(axis.window, axis.deviation, points, width, own, _POINTS[len(axes)])
        weights.append(linear)
        studies.append(study)
    noise = _largest_noise(weights, deviation)
    errors = misses(studies, rows, math.prod(axis.share for axis in axes))
    return Prediction(basis, noise, float(errors.max()), float(np.mean(np.hypot(noise, errors))))


def _along(value: float | tuple[float, ...], axis: int) -> float:
    return value if isinstance(value, float) else value[axis]


def _largest_noise(weights: Sequence[Floats], deviation: float) -> float:
    generator = np.random.default_rng(_SEED)
    count = _DRAWS[len(weights)]
    draws = generator.laplace(scale=math.sqrt(0.5), size=(count, *(w.shape[1] for w in weights)))
    for table in weights:  # contracts the first axis after the draws, and appends the points
        draws = np.tensordot(draws, table, axes=(1, 1))
    return float(np.abs(draws).reshape(count, -1).max(axis=1).mean()) * deviation


@lru_cache(maxsize=4096)
def _axis_study(
    column: Interval, deviation: float, points: int, width: float, noise: float, grid: int
) -> tuple[Floats, Study]:
    """Along one axis: the linear weights, and what they make of each reference density."""
    box = Box([column])
    kernel = GaussianKernel.of(deviation, box)
    basis = SplitLattice(points, width) if width else Binning(points)
    nodes = node_positions(box, kernel)[0]
    matrix = smoothing_matrix(basis.axis_shares(box, 0, nodes), noise**2, isinstance(column, Periodic))
    where, places = np.linspace(0, 1, grid), (np.arange(_PLACES) + 0.5) / _PLACES
    weights = kernel.axis_values(column, 0, where, nodes) @ matrix
    known = references(deviation / (column.high - column.low), places)
    given = weights @ basis.axis_shares(box, 0, places).toarray().T
    return weights, Study.of(known, kernel.axis_values(column, 0, where, places), given)


def references(deviation: float, places: Floats) -> Floats:
    """Flat, one-sided and two-bump densities with features of ``FACTORS`` deviations of the kernel."""
    rows = [np.ones(len(places)), np.exp(-places / (2 * deviation))]
    for factor in FACTORS:
        for centre in (0.2, 0.5, 0.75):
            bump, other = places - centre, places - (1 - 0.8 * centre)
            one, two = factor * deviation, 2 * factor * deviation
            rows.append(0.6 * np.exp(-0.5 * (bump / one) ** 2) / one + 0.4 * np.exp(-0.5 * (other / two) ** 2) / two)
    table = np.array(rows)
    return np.asarray(table / table.sum(axis=1, keepdims=True))
