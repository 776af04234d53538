"""Statistics that are sums over records: what single records add, and a hunt for the two that are furthest apart."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.distance import cdist

import sfumato as sf
from opening import numbers_of
from sfumato.bases.statistics.centred import CentredSquares
from sfumato.bases.statistics.magnitudes import Magnitudes
from sfumato.bases.statistics.moments import Moments
from sfumato.bases.statistics.sums import Total
from sfumato.bases.statistics.tree import QuantileTree
from sfumato.engines.cells import Cells
from sfumato.engines.memory import MemoryEngine
from sfumato.targets.bounds import Bounds
from sfumato.targets.statistic import Statistic

LINE = sf.Box({"x": (-2, 6)})
WHOLE = sf.Box({"x": sf.Integer(-40, 70)})
AFAR = sf.Box({"x": (5, 10)})
PLANE = sf.Box({"x": (-2, 6), "y": (0, 1)})
SPACE = sf.Box({"x": (-2, 6), "y": (0, 1), "z": (-1, 1)})
WIDE = sf.Box({"x": (-(2.0**64), 2.0**64)})
# Numbers as categories: an array holds them, and anything else counts as missing.
KINDS = sf.Box({"k": sf.Categorical((0, 1, 2))})
MIXED = sf.Box({"x": (-2, 6), "k": sf.Categorical((0, 1, 2))})

TARGETS = {
    "count": (Statistic("count"), LINE),
    "count of categories": (Statistic("count"), MIXED),
    "sum": (Statistic("sum"), LINE),
    "sum far from zero": (Statistic("sum"), AFAR),
    "sum of three": (Statistic("sum"), SPACE),
    "mean": (Statistic("mean"), LINE),
    "mean of three": (Statistic("mean"), SPACE),
    "variance": (Statistic("variance"), LINE),
    "variance of two": (Statistic("variance"), PLANE),
    "covariance of two": (Statistic("covariance"), PLANE),
    "covariance of three": (Statistic("covariance"), SPACE),
    "histogram": (Statistic("histogram", bins=4), LINE),
    "histogram of one cell": (Statistic("histogram", bins=1), LINE),
    "histogram of two": (Statistic("histogram", bins=3), MIXED),
    "histogram between edges": (Statistic("histogram", edges=[-1.5, 0.25, 4]), LINE),
    "histogram of whole numbers": (Statistic("histogram"), WHOLE),
    "proportions": (Statistic("proportions"), KINDS),
    "bounds": (Bounds(), WIDE),
    "median": (Statistic("median"), LINE),
    "quantiles of whole numbers": (Statistic("quantiles"), WHOLE),
}
GRANTS = {"l1": {"epsilon": 1.0}, "l2": {"rho": 0.5}}
RELATIONS = ("replace", "add-remove")


def chosen(name, missing, privacy):
    """The target with this rule for missing values, its summary and its certificate."""
    target, box = TARGETS[name]
    if isinstance(target, Statistic):
        target = replace(target, missing=missing)
    basis = target.choose_basis(box, 100, privacy)
    return target, box, basis, target.certificate(basis, box, 100, privacy)


def summed(target, box, basis, certificate, data, unit="row"):
    """What the mechanism would perturb, in steps: data in, opened integers out."""
    gathered = target.gather(MemoryEngine().open(data, box, unit), box, MemoryEngine())
    return numbers_of(target.coefficients(gathered, basis, box, certificate))


@dataclass(frozen=True)
class Alone:
    """What single records add: ``(m, l)`` records to ``(m, size)`` integers; NaN is a missing value."""

    box: sf.Box
    basis: object

    def __call__(self, records):
        if isinstance(self.basis, Total | Moments | CentredSquares):
            return self.basis.contributions(self.box, self.box.clean(records)).astype(np.float64)
        if isinstance(self.basis, Magnitudes):
            place = np.where(np.isnan(records[:, 0]), -1, self.basis.index(np.nan_to_num(records[:, 0])))
            return self._one_hot(place)
        if isinstance(self.basis, QuantileTree):
            cells = Cells(sf.Box({"x": self.basis.grid.edges()}), (self.basis.grid.count,))
            hot = np.zeros((len(records), cells.size), dtype=np.int64)
            there = np.flatnonzero(~np.isnan(records[:, 0]))
            hot[there, cells.index([records[there, 0]])] = 1
            return np.array([self.basis.sums(row, 1) for row in hot], dtype=np.float64)
        shape = self.basis.shape
        if self.basis.statistic == "count":
            shape = tuple(3 if isinstance(c, sf.Categorical) else 1 for c in self.box.columns)
        edges = self.basis.edges
        found = [Cells(self.box, shape, edges).index(list(record[:, None])) for record in records]
        count = self.basis.statistic == "count"
        return self._one_hot(np.array([-1 if not len(f) else 0 if count else f[0] for f in found]))

    def _one_hot(self, places):
        hot = np.zeros((len(places), self.basis.size(self.box)))
        hot[places >= 0, places[places >= 0]] = 1.0
        return hot


def ends(box):
    """Per column, what a record may hold at most and at least; categories go one beyond what is declared."""
    low = [-1.0 if isinstance(c, sf.Categorical) else c.low for c in box.columns]
    high = [3.0 if isinstance(c, sf.Categorical) else c.high for c in box.columns]
    return np.array(low), np.array(high)


def telling_records(box, seed=0):
    """Corners, places between them, values that are missing, out of bounds or infinite, and random ones."""
    low, high = ends(box)
    rng = np.random.default_rng(seed)
    rounded = [isinstance(c, sf.Categorical) for c in box.columns]
    shares = np.linspace(0, 1, 9 if box.dimension < 3 else 5)
    grid = np.array(list(itertools.product(shares, repeat=box.dimension)))
    some = np.concatenate([grid, rng.random((60, box.dimension))])
    records = low + some * (high - low)
    records = np.where(rounded, np.rint(records), records)
    strange = np.tile(records[len(grid) :][:6], (1, 1))
    strange[0], strange[1], strange[2] = np.nan, np.inf, -np.inf
    strange[3, 0], strange[4, -1], strange[5] = np.nan, np.nan, high + 1e6
    return np.concatenate([records, strange])


def measure(vectors, norm):
    vectors = np.asarray(vectors, dtype=np.float64)  # squares of steps do not fit 64-bit integers
    return np.abs(vectors).sum(axis=-1) if norm == "l1" else np.sqrt((vectors**2).sum(axis=-1))


def worst_pair(alone, box, norm, relation):
    """Records, corners and random, all against all; then each coordinate of the worst pair on ever finer grids."""
    records = telling_records(box)
    vectors = alone(records)
    if relation == "add-remove":
        first = int(measure(vectors, norm).argmax())
        pair = [records[first], None]
    else:
        apart = cdist(vectors, vectors, {"l1": "cityblock", "l2": "euclidean"}[norm])
        pair = [records[i] for i in np.unravel_index(apart.argmax(), apart.shape)]
    low, high = ends(box)
    reached = _distance(alone, pair, norm)
    for width in (1.0, 0.3, 0.1, 0.03, 0.01, 0.001):
        for side, column in itertools.product(range(2), range(box.dimension)):
            if pair[side] is None or not np.isfinite(pair[side]).all():
                continue
            trials = np.tile(pair[side], (41, 1))
            trials[:, column] += width * (high - low)[column] * np.linspace(-1, 1, 41)
            other = 0.0 if pair[1 - side] is None else alone(pair[1 - side][None, :])
            far = measure(alone(trials) - other, norm)
            if far.max() > reached:
                pair[side], reached = trials[int(far.argmax())], float(far.max())
    return reached


def _distance(alone, pair, norm):
    there = [alone(record[None, :])[0] if record is not None else 0.0 for record in pair]
    return float(measure(there[0] - there[1], norm))


def tables(n, kinds=6):
    """Every table of n records with values 0 to 4; the sixth kind is a missing value."""
    for places in itertools.combinations_with_replacement(range(kinds), n):
        yield np.bincount(places, minlength=kinds)


def neighbours(table, relation):
    """Every neighbour of a table; a record that is missing may be replaced, and may come and go."""
    for leaves in np.flatnonzero(table):
        smaller = table.copy()
        smaller[leaves] -= 1
        if relation == "add-remove":
            yield smaller
            continue
        for comes in range(len(table)):
            other = smaller.copy()
            other[comes] += 1
            yield other
