"""``basis="auto"`` against every fixed representation, on several distributions.

The fixed grid is simulated: numpy's Laplace noise on the lattice masses, then the library's projection, done for many
draws at once (and checked against the library's own on some). First all candidates with few draws, then the best of
each distribution, the automatic choice and the predicted best of each kind again with fresh and more draws.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import zlib
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import sparse

import sfumato as sf
from benchmarks.density_baselines import Score, score, to_simplex
from benchmarks.reproduce import BOX, GRID, density, mixture
from sfumato.bases.density import measure
from sfumato.bases.density.binning import Binning, MassLattice, SplitLattice
from sfumato.bases.density.kernel import GaussianKernel
from sfumato.bases.density.mixture import node_positions
from sfumato.bases.density.reconstruction import PolynomialReconstruction
from sfumato.core.calibration import calibrate
from sfumato.targets.density.density import predictions

FIRST, SECOND, FINALISTS = 24, 100, 4
SPACINGS = (0.5, 0.6, 0.7, 0.85, 1.0, 1.2, 1.4, 1.7, 2.0, 2.4, 2.8)  # lattice steps, in bandwidths
WIDTHS = (0.0, 0.4, 0.5, 0.6, 0.7)  # deviations of the shares, in bandwidths; 0 is linear binning
DEGREES = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40)
RECORDS = 5000
STEPS, ENOUGH = 3000, 1e-3  # of the projection; it stops once a step moves far less mass than the noise did
Case = tuple[float, float]  # bandwidth, epsilon


@lru_cache(maxsize=1)
def families() -> dict[str, np.ndarray]:
    """Data sets of 5000 records in [0, 1]: the paper's, and three others drawn with a public seed."""
    rng = np.random.default_rng(20230711)
    two = np.where(rng.random(RECORDS) < 0.5, 0.3, 0.7) + rng.normal(scale=0.07, size=RECORDS)
    return {
        "figure 1": mixture(),
        "beta(2, 5)": rng.beta(2, 5, RECORDS),
        "uniform": rng.random(RECORDS),
        "bimodal .3/.7": np.clip(two, 0, 1),
    }


def bases(bandwidth: float, epsilon: float) -> list[Any]:
    """What is considered: a grid of lattices, whatever the library's own list holds, and Bernstein lattices."""
    found = dict.fromkeys(p.basis for p in predicted_lattices(bandwidth, epsilon))
    found[sf.KDE(bandwidth).choose_basis(BOX, RECORDS, sf.Privacy(epsilon=epsilon))] = None
    for spacing in SPACINGS:
        points = (max(2, round(1 / (spacing * bandwidth)) + 1),)
        for width in WIDTHS:
            found[SplitLattice(points, (width * bandwidth,)) if width else Binning(points)] = None
    return [*found, *(sf.Bernstein(k, 1) for k in DEGREES)]


def predicted_lattices(bandwidth: float, epsilon: float) -> list[Any]:
    """The library's own list, with the errors that it expects."""
    return predictions(BOX, GaussianKernel.of(bandwidth, BOX), sf.Privacy(epsilon=epsilon), RECORDS, None)


def kind(basis: Any) -> str:
    """The name of a representation."""
    return type(basis).__name__


@dataclass(frozen=True)
class Lattice:
    """One representation of one bandwidth: features of records, and the scale of its Laplace noise at epsilon one."""

    basis: Any
    bandwidth: float

    @property
    def kernel(self) -> GaussianKernel:
        return GaussianKernel.of(self.bandwidth, BOX)

    def features(self, unit: np.ndarray) -> np.ndarray:
        """``(m, n)``: what a record at each position adds to the lattice."""
        if isinstance(self.basis, MassLattice):
            return np.asarray(self.basis.axis_shares(BOX, 0, unit).toarray())
        return PolynomialReconstruction(BOX, self.kernel, self.basis).axis_features(0, unit)

    def scale(self, epsilon: float) -> float:
        """The Laplace scale of the noise in a mean over 5000 records."""
        polynomial = not isinstance(self.basis, MassLattice)
        largest = PolynomialReconstruction(BOX, self.kernel, self.basis).largest_sum if polynomial else 1.0
        return 2 * largest / (RECORDS * epsilon)


def sup_errors(lattice: Lattice, epsilon: float, draws: int, seed: int) -> np.ndarray:
    """``(families, draws)``: largest errors of simulated releases with the default post-processing."""
    nodes = node_positions(BOX, lattice.kernel)[0]
    smooth = lattice.kernel.axis_values(BOX.intervals()[0], 0, GRID, nodes)
    records, scale = families(), lattice.scale(epsilon)
    rng = np.random.default_rng([seed, zlib.crc32(repr((lattice, epsilon)).encode())])
    means = np.array([lattice.features(x).mean(axis=0) for x in records.values()])
    noisy = means[:, None, :] + rng.laplace(scale=scale, size=(len(records), draws, means.shape[1]))
    found = nearest_measures(lattice.features(nodes), noisy.reshape(-1, means.shape[1]), 2 * scale**2)
    curves = (found @ smooth.T).reshape(len(records), draws, len(GRID))
    truth = np.array([density(x, lattice.bandwidth, GRID) for x in records.values()])
    return np.abs(curves - truth[:, None, :]).max(axis=2)


def nearest_measures(shares: np.ndarray, masses: np.ndarray, variance: float) -> np.ndarray:
    """The problem of ``bases.density.measure.nearest_measure``, for many rows of masses at once, in one dimension."""
    count, draws = len(shares), len(masses)
    rough = measure.preference(variance, (count,))[0]
    bend = np.diag(np.r_[1.0, np.full(count - 2, 2.0), 1.0]) - np.eye(count, k=1) - np.eye(count, k=-1)
    curvature, pull = shares @ shares.T + rough * bend, masses @ shares.T
    steep = float(shares.sum(axis=0).max() * shares.sum(axis=1).max()) + 4 * rough
    enough = min(1e-4, max(1e-7, ENOUGH * math.sqrt(variance) * masses.shape[1]))
    result = np.empty((draws, count))
    going = np.arange(draws)
    here = momentum = np.full((draws, count), 1 / count)
    speed = np.ones(draws)
    for _ in range(STEPS):
        moved = to_simplex(momentum - (momentum @ curvature - pull) / steep)
        step = moved - here
        overshot = np.einsum("ij,ij->i", momentum - moved, step) > 0
        faster = np.where(overshot, 1.0, (1 + np.sqrt(1 + 4 * speed**2)) / 2)
        push = np.where(overshot, 0.0, (speed - 1) / faster)
        here, momentum, speed = moved, moved + push[:, None] * step, faster
        done = np.abs(step).sum(axis=1) < enough
        if done.any():
            result[going[done]] = here[done]
            going, here, momentum = going[~done], here[~done], momentum[~done]
            speed, pull = speed[~done], pull[~done]
            if not len(going):
                return result
    result[going] = here
    return result


def disagreement(case: Case, draws: int = 20) -> float:
    """How far the mean sup error of the many-at-once projection is from that of the library's own, on equal noise."""
    bandwidth, epsilon = case
    lattice = Lattice(sf.KDE(bandwidth).choose_basis(BOX, RECORDS, sf.Privacy(epsilon=epsilon)), bandwidth)
    nodes = node_positions(BOX, lattice.kernel)[0]
    smooth = lattice.kernel.axis_values(BOX.intervals()[0], 0, GRID, nodes)
    shares, scale, records = lattice.features(nodes), lattice.scale(epsilon), mixture()
    masses = lattice.features(records).mean(axis=0)
    noisy = masses + np.random.default_rng(5).laplace(scale=scale, size=(draws, len(masses)))
    table = [sparse.csr_array(shares)]
    many = nearest_measures(shares, noisy, 2 * scale**2)
    single = np.array([measure.nearest_measure(table, y, 2 * scale**2, [False]) for y in noisy])
    truth = density(records, bandwidth, GRID)
    errors = [np.abs(found @ smooth.T - truth).max(axis=1).mean() for found in (many, single)]
    return float(abs(errors[0] / errors[1] - 1))


def one_thread() -> Any:
    """A context without threads in matrix products, which are small here; needs threadpoolctl (with scikit-learn)."""
    try:
        from threadpoolctl import threadpool_limits
    except ModuleNotFoundError:
        return nullcontext()
    return threadpool_limits(1)


def _task(arguments: tuple[Any, float, float, int, int]) -> np.ndarray:
    basis, bandwidth, epsilon, draws, seed = arguments
    with one_thread():
        return sup_errors(Lattice(basis, bandwidth), epsilon, draws, seed)


def predicted(bandwidth: float, epsilon: float) -> dict[str, Any]:
    """For each kind, the representation of least predicted error, from public quantities."""
    target, privacy = sf.KDE(bandwidth), sf.Privacy(epsilon=epsilon)
    errors: dict[Any, float] = {p.basis: p.error for p in predicted_lattices(bandwidth, epsilon)}
    for degree in DEGREES:
        basis = sf.Bernstein(degree, 1)
        law, _ = calibrate(target.certificate(basis, BOX, RECORDS, privacy), target.size(basis, BOX), privacy)
        expected = target.predict(basis, BOX, law, RECORDS, 0.95)
        errors[basis] = math.hypot(expected.mean_noise, expected.approximation or 0.0)
    kinds = {kind(basis) for basis in errors}
    return {k: min((b for b in errors if kind(b) == k), key=errors.__getitem__) for k in sorted(kinds)}


@dataclass(frozen=True)
class Outcome:
    """One (bandwidth, epsilon, distribution): the automatic choice, the best fixed one, the predicted ones."""

    auto: Any
    auto_score: Score
    best: Any
    best_score: Score
    best_kind: str
    kind_score: Score
    bernstein: int  # the degree of the best Bernstein lattice

    @property
    def ratio(self) -> Score:
        return _ratio(self.auto_score, self.best_score, self.auto == self.best)

    @property
    def kind_ratio(self) -> Score:
        return _ratio(self.auto_score, self.kind_score, self.auto_score == self.kind_score)


def _ratio(one: Score, two: Score, same: bool) -> Score:
    ratio = one[0] / two[0]
    return ratio, 0.0 if same else ratio * math.hypot(one[1] / one[0], two[1] / two[0])


def compare(cases: list[Case]) -> dict[tuple[float, float, str], Outcome]:
    """All outcomes, by bandwidth, epsilon and distribution."""
    names = list(families())
    context = multiprocessing.get_context("fork" if "fork" in multiprocessing.get_all_start_methods() else None)
    with ProcessPoolExecutor(os.cpu_count(), mp_context=context) as pool:
        first = _scores(pool, {(b, e): bases(b, e) for b, e in cases}, FIRST, 1)
        autos, kinds, finalists = {}, {}, {}
        for b, e in cases:
            autos[b, e] = sf.KDE(b).choose_basis(BOX, RECORDS, sf.Privacy(epsilon=e))
            kinds[b, e] = predicted(b, e)
            listed = dict.fromkeys([autos[b, e], *kinds[b, e].values()])
            for i in range(len(names)):
                ranked = sorted(bases(b, e), key=lambda basis: first[b, e, basis][i][0])
                listed |= dict.fromkeys(ranked[:FINALISTS])
            finalists[b, e] = list(listed)
        second = _scores(pool, finalists, SECOND, 2)
    return {
        (b, e, name): _outcome(i, (b, e), autos[b, e], kinds[b, e], finalists[b, e], first, second)
        for b, e in cases
        for i, name in enumerate(names)
    }


def _scores(pool: Any, wanted: dict[Case, list[Any]], draws: int, seed: int) -> dict[Any, list[Score]]:
    tasks = [(basis, b, e, draws, seed) for (b, e), listed in wanted.items() for basis in listed]
    done = pool.map(_task, tasks)
    return {(b, e, basis): [score(x) for x in errors] for (basis, b, e, _, _), errors in zip(tasks, done, strict=True)}


def _outcome(
    i: int, case: Case, auto: Any, kinds: dict[str, Any], finalists: list[Any], first: dict[Any, Any], second: Any
) -> Outcome:
    scores = {basis: second[*case, basis][i] for basis in finalists}
    best = min(scores, key=lambda basis: scores[basis][0])
    best_kind = min(kinds, key=lambda k: scores[kinds[k]][0])
    polynomials = [sf.Bernstein(k, 1) for k in DEGREES]
    tight = min(polynomials, key=lambda basis: first[*case, basis][i][0])
    return Outcome(auto, scores[auto], best, scores[best], best_kind, scores[kinds[best_kind]], tight.degree)
