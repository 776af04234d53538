"""How wrong the noise can have made a function: bands from the public noise law alone.

Three ways, of which the narrowest serves; which one it is depends on public quantities only. *Simulated*: draw the
public law many times, take a high order statistic of the largest standardised deviation over the points; the rank is
chosen so that the band covers with the stated confidence in all but one in a thousand simulations. Many points are
simulated on a net of knots (``releases/net.py``). *One by one*: each point misses its share, by the tail of the law.
*Closed form*: the law's norm has a known quantile, and the dual norm of the weights at a point says how much of it can
reach that point. Simulation never sees data and uses a public, fixed seed, so a release always shows the same band.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import reduce

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtrik, betaincinv, gammaincinv, ndtri

from sfumato.bases.base import LatticeBasis
from sfumato.bases.lattice.expansion import Expansion
from sfumato.bases.places import AxisWeights, Places
from sfumato.bases.unit import to_unit
from sfumato.core.box import Box
from sfumato.core.calibration import NoiseLaw
from sfumato.core.objective import ObjectiveLaw
from sfumato.errors import ParameterError
from sfumato.releases.net import Net, work

Floats = NDArray[np.float64]

DRAWS = 2000
_FEWEST_DRAWS = 100  # with fewer, the tail of the law says as much
_SEED = 20170204
_LARGEST_TABLE = 2_000_000  # points times coefficients that are written out
_LARGEST_WORK = 2e9  # multiplications of a simulation
_DRAWN = 30  # multiplications that drawing a number takes as long as
_AT_ONCE = 4_000_000  # numbers held
_REST = 0.02  # of what may be missed, for what lies between the knots of a net


def half_width(expansion: Expansion, law: NoiseLaw, points: ArrayLike, confidence: float, outside: str) -> Floats:
    """The half-width of a band that holds simultaneously at all points."""
    places = Places.of(to_unit(expansion.box, points, outside))
    if not expansion.basis.separable:
        return _half_width_settled(expansion, law, places, confidence)
    return half_width_at(expansion.axis_weights, places, law, confidence)


def _half_width_settled(expansion: Expansion, law: NoiseLaw, places: Places, confidence: float) -> Floats:
    """The same where lattice values are settled together: that leaves fewer, orthonormal numbers of Gaussian noise."""
    basis = expansion.basis
    if law.kind != "gaussian":
        raise ParameterError(f"bands in {basis!r} are for Gaussian noise, got noise of kind {law.kind!r}")
    tables = [expansion.axis_weights(i, axis)[places.index[i]] for i, axis in enumerate(places.axes)]
    weights = basis.orthonormal_weights(tables)
    width = half_width_of([weights], replace(law, size=weights.shape[1]), confidence)
    return np.asarray(width + law.step * math.sqrt(law.size) * np.linalg.norm(weights, axis=1))


def half_width_of(axes: list[Floats], law: NoiseLaw, confidence: float) -> Floats:
    """The same for given weights: per axis ``(m, n_j)``, whose tensor products act on the coefficients."""
    (lengths, peaks), sums = _followed(axes, law), _norms(axes, 1)
    apart = tail_width(law, lengths, peaks, 1 - confidence, len(lengths))
    ways = [_closed_form(sums, lengths, law, confidence), apart]
    draws = _affordable(float(len(lengths)) * law.size, law)
    if draws and len(lengths):
        ways.append(quantile_of(_largest_at(axes, lengths, law, draws), confidence) * lengths)
    return _narrowest(ways) + law.step * sums


def half_width_at(weigh: AxisWeights, places: Places, law: NoiseLaw, confidence: float, total: bool = False) -> Floats:
    """The same at places whose weights are products along the axes; ``total``: also, last, for the sum of all numbers.

    A few points are written out. Many are not: the noise at the knots of a net is simulated axis by axis, and how far
    each point lies from its knots is added.
    """
    if len(places) * law.size <= _LARGEST_TABLE:
        tables = [weigh(i, axis)[index] for i, (axis, index) in enumerate(zip(places.axes, places.index, strict=True))]
        if total:
            tables = [np.concatenate([table, np.ones((1, table.shape[1]))]) for table in tables]
        return half_width_of(tables, law, confidence)
    net, (length, peak) = Net.of(weigh, places), _followed([np.ones((1, law.size))], law)
    more = [float(length[0])] * total
    lengths, sums = np.append(net.each("norms"), more), np.append(net.each("sums"), [float(law.size)] * total)
    peaks, between = np.append(net.each("peaks"), [float(peak[0])] * total), np.append(net.each("between"), more)
    miss, off = 1 - confidence, np.append(net.off, [0.0] * total)
    rest = tail_width(law, off, off, _REST * miss, len(lengths))  # a peak is no larger than the length
    kept = (1 - _REST) * miss
    ways = [
        _closed_form(sums, lengths, law, confidence),
        tail_width(law, lengths, peaks, miss, len(lengths)),
        tail_width(law, between, between * net.peak, kept, net.size + total) + rest,
    ]
    draws = _affordable(work(net.tables), law)
    if draws:
        ways.append(quantile_of(_largest_on(net.tables, law, draws, sum(more)), 1 - kept) * between + rest)
    return _narrowest(ways) + law.step * sums


def _narrowest(ways: list[Floats]) -> Floats:
    """One of several bands, for all points: each holds at all points at once, their smallest widths need not."""
    return min(ways, key=lambda widths: float(widths.sum()))


def _affordable(multiplications: float, law: NoiseLaw | ObjectiveLaw) -> int:
    """How often such noise is drawn and applied: fewer times as it grows, and at last not at all."""
    draws = min(DRAWS, int(_LARGEST_WORK / max(1.0, multiplications + _DRAWN * law.size)))
    return draws if draws >= _FEWEST_DRAWS else 0


def coverage_rank(confidence: float, draws: int = DRAWS) -> int:
    """Which order statistic of the draws covers with this confidence in all but one in a thousand simulations."""
    quantile = float(bdtrik(0.999, draws, confidence))  # not a number where even the first draw covers more often
    return 1 if math.isnan(quantile) else math.ceil(quantile) + 1  # the binomial quantile, and one more


def quantile_of(largest: Floats, confidence: float) -> float:
    """An upper quantile of the largest deviation, from draws of it: in all but one in a thousand simulations.

    Beyond the last draw the law is log-concave, and the largest deviation a norm: Borell's lemma says how far that
    quantile can be from one that the draws show (docs/proofs/bernstein.md, Theorem 6).
    """
    draws = len(largest)
    rank = coverage_rank(confidence, draws)
    if rank <= draws:
        return float(np.partition(largest, rank - 1)[rank - 1])
    shown = float(betaincinv(draws, 1, 0.001))  # what the largest of all draws covers
    times = 2 * math.log((1 - confidence) / shown) / math.log((1 - shown) / shown) - 1
    return float(largest.max()) * max(1.0, times)


def tail_width(law: NoiseLaw, length: Floats, largest: Floats, missed: float, count: int = 1) -> Floats:
    """How far noise moves weighted sums of these Euclidean norms and largest weights: ``count`` of them at once.

    Each misses its share of what may be ``missed`` in all. Gaussian sums are Gaussian; others by Chernoff's bound:
    uniform numbers and directions have lighter tails than Gaussian ones of the same variance.
    """
    miss = missed / max(1, count)
    if law.kind == "gaussian":
        return np.asarray(length * law.deviation * -float(ndtri(miss / 2)))
    if law.kind in ("laplace", "zero-sum"):
        # log E exp(l X) = -sum log(1 - l^2 s^2 w^2), and -log(1 - x) / x rises with x; the best of a few l.
        size = np.maximum(largest, 1e-300) * law.deviation
        equal, best = (length * law.deviation / size) ** 2, np.full(np.shape(size), np.inf)
        for share in np.linspace(0.02, 0.98, 49):
            best = np.minimum(best, (math.log(2 / miss) - equal * math.log1p(-(share**2))) * size / share)
        return np.asarray(np.where(length > 0, best, 0.0))
    order = law.size + 1 if law.kind == "linf" else law.size
    radius = law.deviation * float(gammaincinv(order, 1 - missed / 10))
    spread = 1 / 3 if law.kind == "linf" else 1 / law.size
    return np.asarray(length * radius * math.sqrt(2 * spread * math.log(2 / (0.9 * miss))))


def row_products(left: Floats, right: Floats) -> Floats:
    """Row-wise tensor products: ``(m, a)`` and ``(m, b)`` to ``(m, a * b)``."""
    return (left[:, :, None] * right[:, None, :]).reshape(len(left), -1)


def _followed(axes: list[Floats], law: NoiseLaw) -> tuple[Floats, Floats]:
    """The Euclidean norm and the largest of the weights at each point, as far as noise follows them.

    Noise of sum zero (what is not counted included, whose weight is none) does not follow their mean: where they are
    nearly all alike, what they are beyond it counts.
    """
    lengths, peaks = _norms(axes, 2), _norms(axes, np.inf)
    if law.kind != "zero-sum":
        return lengths, peaks
    middle = np.abs(math.prod(axis.sum(axis=1) for axis in axes)) / (law.size + 1)
    beyond = np.sqrt(np.maximum(lengths**2 - (law.size + 1) * middle**2, 0.0))
    alike = 2 * beyond < lengths
    return np.where(alike, beyond, lengths), np.where(alike, np.minimum(peaks + middle, beyond), peaks)


def _norms(axes: list[Floats], order: float) -> Floats:
    """The norm of the full weight vector at each point: norms of tensor products multiply."""
    return np.asarray(math.prod(np.linalg.norm(axis, ord=order, axis=1) for axis in axes))


def simulate_noise(law: NoiseLaw | ObjectiveLaw, draws: int, generator: np.random.Generator) -> Floats:
    """``(draws, size)`` from the law's continuous limit, in the coefficients' own units."""
    shape, scale = (draws, law.size), law.deviation
    if law.kind == "laplace":
        return generator.laplace(scale=scale, size=shape)
    if law.kind == "gaussian":
        return generator.normal(scale=scale, size=shape)
    if law.kind in ("linf", "blocks"):
        sizes = law.certificate.blocks if isinstance(law, NoiseLaw) and law.kind == "blocks" else (law.size,)
        radii = [generator.gamma(size + 1, scale, size=(draws, 1)) for size in sizes]
        return np.repeat(np.hstack(radii), sizes, axis=1) * generator.uniform(-1, 1, size=shape)
    if law.kind == "zero-sum":  # a difference of two divisions of the same total
        total = generator.gamma(2 * law.size + 1, scale / 2, size=(draws, 1))
        parts = generator.exponential(size=(2, draws, law.size + 1))
        parts /= parts.sum(axis=2, keepdims=True)
        return np.asarray(total * (parts[0] - parts[1])[:, :-1])
    direction = generator.normal(size=shape)
    radius = generator.gamma(law.size, scale, size=(draws, 1))
    return np.asarray(radius * direction / np.linalg.norm(direction, axis=1, keepdims=True))


def _drawn(law: NoiseLaw | ObjectiveLaw, draws: int, held: int) -> Iterator[Floats]:
    """So many draws of the law with the public seed, in blocks, when each takes that many numbers."""
    generator = np.random.default_rng(_SEED)
    block = max(1, min(draws, _AT_ONCE // max(1, held)))
    for start in range(0, draws, block):
        yield simulate_noise(law, min(block, draws - start), generator)


def _largest_at(axes: list[Floats], lengths: Floats, law: NoiseLaw, draws: int) -> Floats:
    """``(draws,)``: the largest standardised deviation over the points, from weights written out block by block."""
    # Every law here is invariant under sign flips of each coefficient: uncorrelated, with equal variances.
    size = np.where(lengths > 0, lengths, 1.0)
    block = max(1, _AT_ONCE // max(1, law.size))
    found = []
    for noise in _drawn(law, draws, law.size):
        largest = np.zeros(len(noise))
        for start in range(0, len(size), block):
            rows = slice(start, start + block)
            standard = reduce(row_products, [axis[rows] for axis in axes]) / size[rows, None]
            largest = np.maximum(largest, np.abs(standard @ noise.T).max(axis=0))
        found.append(largest)
    return np.concatenate(found)


def _largest_on(
    tables: list[Floats],
    law: NoiseLaw | ObjectiveLaw,
    draws: int,
    total: float = 0.0,
    settled: Callable[[Floats], Floats] = lambda values: values,
) -> Floats:
    """The same on the grid of the tables' rows, axis by axis, and over the sum of all noise divided by ``total``."""
    shape, held = [table.shape[1] for table in tables], max(law.size, math.prod(len(table) for table in tables))
    found = []
    for noise in _drawn(law, draws, held):
        tensor = settled(noise.reshape(len(noise), *shape))
        for table in tables:  # contracts the first axis after the draws, and appends the points
            tensor = np.tensordot(tensor, table, axes=(1, 1))
        largest = np.abs(tensor).reshape(len(noise), -1).max(axis=1)
        found.append(np.maximum(largest, np.abs(noise.sum(axis=1)) / total) if total else largest)
    return np.concatenate(found)


def simulated_sums(law: NoiseLaw, weights: Floats, rank: int) -> Floats:
    """The ``rank``-th smallest size of each weighted sum ``(q, used)`` of simulated noise, each by itself.

    Only coefficients that some sum uses are drawn: the others do not matter to it.
    """
    if not weights.size:
        return np.zeros(len(weights))
    generator = np.random.default_rng(_SEED)
    block = max(1, min(DRAWS, _AT_ONCE // max(weights.shape[1], len(weights))))
    sums = []
    for start in range(0, DRAWS, block):
        shape = (min(block, DRAWS - start), weights.shape[1])
        if law.kind == "laplace":
            noise = generator.laplace(scale=law.deviation, size=shape)
        elif law.kind == "linf":
            radius = generator.gamma(law.size + 1, law.deviation, size=(shape[0], 1))
            noise = radius * generator.uniform(-1, 1, size=shape)
        else:  # a few coordinates of an evenly spread direction: the others only matter by their length
            normal = generator.normal(size=shape)
            rest = generator.chisquare(law.size - shape[1], size=(shape[0], 1)) if law.size > shape[1] else 0.0
            radius = generator.gamma(law.size, law.deviation, size=(shape[0], 1))
            noise = radius * normal / np.sqrt((normal**2).sum(axis=1, keepdims=True) + rest)
        sums.append(np.abs(noise @ weights.T))
    every = np.concatenate(sums)
    return np.asarray(np.partition(every, rank - 1, axis=0)[rank - 1])


def widths_of_each(law: NoiseLaw, confidence: float) -> Floats:
    """How far noise moves each single coefficient, all at once with this confidence: no simulation is needed."""
    if law.kind == "l2":  # the quantile of its own norm would be generous
        return half_width_of([np.eye(law.size)], law, confidence)
    return np.full(law.size, norm_quantile(law, confidence)[0] + law.step)


def mean_largest(axes: list[Floats], law: NoiseLaw | ObjectiveLaw) -> float:
    """The mean, over simulated noise, of the largest error at points with these weights."""
    generator = np.random.default_rng(_SEED)
    weights = reduce(row_products, axes)
    return float(np.abs(weights @ simulate_noise(law, 200, generator).T).max(axis=0).mean())


def _closed_form(sums: Floats, lengths: Floats, law: NoiseLaw, confidence: float) -> Floats:
    quantile, dual = norm_quantile(law, confidence)
    return (sums if dual == 1 else lengths) * quantile


def norm_quantile(law: NoiseLaw, confidence: float) -> tuple[float, int]:
    """A quantile of the noise vector's natural norm, and the order of the dual norm (1 for L-infinity, 2 for L2)."""
    scale = law.deviation
    miss = -math.expm1(math.log(confidence) / law.size)  # what each of the independent coefficients may miss
    if law.kind == "laplace":
        return -scale * math.log(miss), 1
    if law.kind == "gaussian":
        return -scale * float(ndtri(miss / 2)), 1
    if law.kind == "zero-sum":  # no coefficient is larger than half of the norm; weights are 1 and 0, or 1/2 and -1/2
        lengths, peaks = np.array([1.0, math.sqrt(law.size + 1) / 2]), np.array([1.0, 0.5])
        one_by_one = float(tail_width(law, lengths, peaks, 1 - confidence, law.size).min())
        return min(one_by_one, scale * float(gammaincinv(law.size, confidence)) / 2), 1
    # A K-norm vector of dimension N has a Gamma(N) norm.
    return scale * float(gammaincinv(law.size, confidence)), 1 if law.kind == "linf" else 2


def norm_mean(law: NoiseLaw) -> float:
    """The mean of the noise vector's natural norm, or for Gaussian noise a bound on it."""
    if law.kind == "laplace":
        return law.deviation * (math.log(law.size) + 0.5773 + 0.5 / law.size)  # harmonic numbers
    if law.kind == "gaussian":
        return law.deviation * math.sqrt(2 * math.log(2 * law.size))
    return law.deviation * law.size / (2 if law.kind == "zero-sum" else 1)


def sup_noise(basis: LatticeBasis, box: Box, law: NoiseLaw, confidence: float) -> tuple[float, float]:
    """The mean, and a quantile from above, of the largest error that the noise makes anywhere in the box."""
    nodes = [basis.norming_nodes(degree) for degree in basis.degrees(box)]
    factor = math.prod(slack for _, slack in nodes)
    reach = math.prod(basis.lebesgue_constant(degree) for degree in basis.degrees(box))
    axes = [basis.axis_weights(box, axis, unit, 0) for axis, (unit, _) in enumerate(nodes)]
    lengths, peaks = (math.prod(float(np.linalg.norm(a, ord=o, axis=1).max()) for a in axes) for o in (2, np.inf))
    if not basis.separable:  # a projection makes no weights longer; their sum by Cauchy and Schwarz
        peaks, reach = lengths, factor * lengths * math.sqrt(law.size)
    count = math.prod(map(len, axes))
    one_by_one = float(tail_width(law, np.array(lengths), np.array(peaks), 1 - confidence, count))
    # For the L2 law the closed form is generous, its dual norm is smaller.
    mean, high = reach * norm_mean(law), min(reach * norm_quantile(law, confidence)[0], factor * one_by_one)
    draws = _affordable(work(axes), law)
    if draws:
        largest = _largest_on(axes, law, draws, settled=basis.settled)
        mean, high = float(largest.mean()), min(high, factor * quantile_of(largest, confidence))
    return mean, high + reach * law.step
