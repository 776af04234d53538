"""Default densities on twelve made-up families, against every fixed lattice in hindsight, histograms and cell trees.

Each run draws the families' parameters anew. Releases are made once without noise worth mentioning, and their masses
get fresh noise of the right law; what is measured is the released function, projection and all, on a grid against the
kernel density estimate of the records. The best fixed lattice is picked on half of the draws and measured on the other
half, so that luck is no merit.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import sfumato as sf
from benchmarks.bands import estimate, once
from benchmarks.density_baselines import to_simplex
from benchmarks.suite import fresh
from benchmarks.suite.grids import PEERS, smoothed
from benchmarks.timing import row
from sfumato.core.calibration import calibrate
from sfumato.releases.density.masses import NoisyMasses
from sfumato.releases.uncertainty import simulate_noise
from sfumato.targets.density.density import KDE

Made = Callable[[np.random.Generator, int, int, float], np.ndarray]

EPSILONS = (0.01, 0.1, 1.0)
ROWS = {1: 10_000, 2: 30_000}
POINTS = {1: 301, 2: 61}  # along each axis, where the largest error is searched
DRAWS = {1: 12, 2: 6}
BANDWIDTHS = {1: (0.01, 0.08), 2: (0.02, 0.1)}  # between which one is drawn, evenly in its logarithm
STEPS, WIDTHS = (0.5, 0.7, 0.85, 1.0, 1.4, 2.0), (0.0, 0.4, 0.6)  # of fixed lattices, in bandwidths
BINS = {1: (5, 10, 20, 40, 80, 160, 320), 2: (4, 8, 16, 32, 64)}  # of histograms along each axis
CONFIDENCE = 0.95


def _places(rng: np.random.Generator, n: int, d: int, count: int, width: float) -> np.ndarray:
    """Round places of uneven size."""
    which = rng.choice(count, n, p=rng.dirichlet(np.full(count, 0.7)))
    return rng.random((count, d))[which] + rng.normal(0, width, (n, d))


def _among(rng: np.random.Generator, share: float, some: np.ndarray, others: np.ndarray) -> np.ndarray:
    return np.where(rng.random((len(some), 1)) < share, some, others)


def _normal(rng: np.random.Generator, n: int, d: int, _: float) -> np.ndarray:
    return rng.normal(rng.uniform(0.35, 0.65, d), rng.uniform(0.08, 0.2, d), (n, d))


def _bumps(rng: np.random.Generator, n: int, d: int, b: float) -> np.ndarray:
    return _places(rng, n, d, int(rng.integers(2, 6)), rng.uniform(1, 5) * b)


def _uniform(rng: np.random.Generator, n: int, d: int, _: float) -> np.ndarray:
    return rng.random((n, d))


def _hard_edges(rng: np.random.Generator, n: int, d: int, _: float) -> np.ndarray:
    return rng.uniform(0.1, 0.5) + rng.uniform(0.2, 0.4) * rng.random((n, d))


def _skewed(rng: np.random.Generator, n: int, d: int, _: float) -> np.ndarray:
    return rng.exponential(rng.uniform(0.05, 0.25), (n, d))


def _spike(rng: np.random.Generator, n: int, d: int, _: float) -> np.ndarray:
    place = np.full((n, d), rng.choice([0.0, rng.random()]))
    return _among(rng, rng.uniform(0.1, 0.3), place, rng.normal(0.6, 0.13, (n, d)))


def _points(rng: np.random.Generator, n: int, d: int, _: float) -> np.ndarray:
    return _among(rng, rng.uniform(0.2, 0.6), _places(rng, n, d, int(rng.integers(3, 15)), 0.0), rng.random((n, d)))


def _towns(rng: np.random.Generator, n: int, d: int, b: float) -> np.ndarray:
    towns = _places(rng, n, d, int(rng.integers(10, 60)), rng.uniform(0.05, 0.6) * b)
    return _among(rng, rng.uniform(0.5, 1), towns, rng.normal(0.5, 0.2, (n, d)))


def _lines(rng: np.random.Generator, n: int, d: int, b: float) -> np.ndarray:
    count = int(rng.integers(1, 5))
    which, along = rng.integers(0, count, n), rng.random((n, 1))
    start, stop = rng.random((count, d))[which], rng.random((count, d))[which]
    roads = start + along * (stop - start) + rng.normal(0, rng.uniform(0.02, 0.5) * b, (n, d))
    return _among(rng, rng.uniform(0.4, 1), roads, rng.random((n, d)))


def _hours(rng: np.random.Generator, n: int, d: int, _: float) -> np.ndarray:
    """Waves with sharp peaks, as of hours; what leaves one side comes in at the other."""
    peaks = rng.random((3, d))[rng.choice(3, n, p=rng.dirichlet(np.ones(3)))]
    return np.mod(peaks + rng.laplace(0, rng.uniform(0.02, 0.08), (n, d)), 1.0)


def _ties(rng: np.random.Generator, n: int, d: int, b: float) -> np.ndarray:
    """Rounded to steps of a bandwidth or several."""
    step = rng.uniform(2.0, 6.0) * b
    return np.rint(_normal(rng, n, d, b) / step) * step


def _whole(rng: np.random.Generator, n: int, d: int, b: float) -> np.ndarray:
    """Rounded finely: whole numbers of which a bandwidth holds several."""
    step = b / rng.integers(3, 9)
    return np.rint(_bumps(rng, n, d, b) / step) * step


SMOOTH: dict[str, Made] = {"normal": _normal, "bumps": _bumps, "uniform": _uniform, "hours": _hours, "skewed": _skewed}
SPIKY: dict[str, Made] = {
    "hard edges": _hard_edges,
    "spike": _spike,
    "points": _points,
    "towns": _towns,
    "lines": _lines,
    "ties": _ties,
    "whole numbers": _whole,
}


class Case:
    """One data set of a family, with the truth on a grid."""

    def __init__(self, made: Made, dimension: int, rng: np.random.Generator) -> None:
        low, high = BANDWIDTHS[dimension]
        self.bandwidth = float(math.exp(rng.uniform(math.log(low), math.log(high))))
        self.box = sf.Box([(0, 1)] * dimension)
        self.records = np.clip(made(rng, ROWS[dimension], dimension, self.bandwidth), 0, 1)
        self.target = KDE(self.bandwidth, missing="none")
        self.axes = [np.linspace(0, 1, POINTS[dimension])] * dimension
        self.truth = estimate(self.records, self.axes, self.bandwidth)
        grid = np.meshgrid(*self.axes, indexing="ij")
        self.unit = np.stack([g.ravel() for g in grid], axis=1)

    @property
    def dimension(self) -> int:
        """The number of columns."""
        return len(self.axes)

    def masses(self, basis: Any, epsilon: float) -> NoisyMasses:
        """The masses without noise, and the law that belongs to an epsilon."""
        exact = sf.release(self.target, self.records, self.box, sf.Privacy(epsilon=1e6), basis=basis)
        privacy = sf.Privacy(epsilon=epsilon)
        certificate = self.target.certificate(basis, self.box, len(self.records), privacy)
        return replace(exact.masses, law=calibrate(certificate, basis.size(self.box), privacy)[0])

    def errors(self, basis: Any, epsilon: float, rng: np.random.Generator) -> np.ndarray:
        """The largest errors of so many releases."""
        masses = self.masses(basis, epsilon)
        noise = simulate_noise(masses.law, DRAWS[self.dimension], rng)
        noisy = [replace(masses, values=masses.values + one) for one in noise]
        return np.array([np.abs(one.surface("simplex").on_grid(self.axes) - self.truth).max() for one in noisy])

    def band(self, basis: Any, epsilon: float, rng: np.random.Generator) -> tuple[float, float]:
        """How often the default band held, and its largest half-width on average."""
        masses, held, widths = self.masses(basis, epsilon), 0, []
        every, still = tuple(range(self.dimension)), (0,) * self.dimension
        noise = simulate_noise(masses.law, DRAWS[self.dimension], rng)
        for one in noise:
            noisy = replace(masses, values=masses.values + one)
            with once({}):
                low, high = noisy.limits(self.unit, still, every, CONFIDENCE, "total")
            held += bool(((low <= self.truth.ravel()) & (self.truth.ravel() <= high)).all())
            widths.append((high - np.maximum(low, 0)).max() / 2)
        return held / len(noise), float(np.mean(widths))

    def fixed(self) -> list[Any]:
        """Every lattice of the list that this bandwidth allows."""
        found = []
        for step in STEPS:
            points = round(1 / (step * self.bandwidth)) + 1
            for width in WIDTHS:
                found.append(sf.SplitLattice(points, width * self.bandwidth) if width else sf.Binning(points))
        return found

    def histogram(self, epsilon: float, rng: np.random.Generator) -> float:
        """A noisy histogram made a density and smoothed by the kernel, at its best number of bins in hindsight."""
        best, d = math.inf, self.dimension
        for bins in BINS[d]:
            shares = np.histogramdd(self.records, bins=bins, range=[(0, 1)] * d)[0] / len(self.records)
            draws = rng.laplace(scale=2 / (len(self.records) * epsilon), size=(DRAWS[d], *shares.shape))
            noisy = to_simplex((shares + draws).reshape(len(draws), -1)).reshape(draws.shape)
            middles = (np.arange(bins) + 0.5) / bins
            kernel = np.exp(-0.5 * ((self.axes[0][:, None] - middles) / self.bandwidth) ** 2)
            kernel /= self.bandwidth * math.sqrt(2 * math.pi)
            errors = []
            for one in noisy:
                value = kernel @ one
                errors.append(np.abs((value @ kernel.T if d == 2 else value) - self.truth).max())
            best = min(best, float(np.mean(errors)))
        return best

    def tree(self, name: str, epsilon: float, rng: np.random.Generator) -> float:
        """The mean error of a peer that looks where records are, on two columns."""
        drawn = [PEERS[name](self.records, epsilon, rng) for _ in range(DRAWS[self.dimension])]
        return float(np.mean([np.abs(smoothed(one, self.axes, self.bandwidth) - self.truth).max() for one in drawn]))


def compare(case: Case, epsilon: float, rng: np.random.Generator) -> dict[str, float]:
    """``auto`` over the best fixed lattice and over the best histogram."""
    basis = case.target.choose_basis(case.box, len(case.records), sf.Privacy(epsilon=epsilon))
    auto = case.errors(basis, epsilon, rng)
    half = len(auto) // 2
    others = [case.errors(lattice, epsilon, rng) for lattice in case.fixed()]
    best = min(others, key=lambda errors: float(errors[:half].mean()))
    held, width = case.band(basis, epsilon, rng)
    error = float(auto.mean())
    return {
        "error": error,
        "ratio": error / float(best[half:].mean()),
        "histogram": error / case.histogram(epsilon, rng),
        **{name: error / case.tree(name, epsilon, rng) for name in (PEERS if case.dimension == 2 else ())},
        "held": held,
        "width": width / error,
    }


def words(peer: str) -> str:
    """A peer in a row's name."""
    return "the best histogram" if peer == "histogram" else f"the {peer}" if peer == "adaptive grid" else peer


def run() -> list[dict[str, Any]]:
    """Each family once, with one and two columns, at each epsilon."""
    rng, seed = fresh()
    rows = []
    for dimension in ROWS:
        ratios, peers = [], []
        for name, made in (SMOOTH | SPIKY).items():
            case = Case(made, dimension, rng)
            for epsilon in EPSILONS:
                found = compare(case, epsilon, rng)
                ratios.append(found["ratio"])
                beside = [name for name in ("histogram", *PEERS) if name in found]
                peers.append(max(found[name] for name in beside))
                said = " ".join(f"{key}={value:.3g}" for key, value in found.items())
                print(f"{dimension} {name:14s} b={case.bandwidth:.3f} {epsilon:<5} {said}", file=sys.stderr, flush=True)
                at: dict[str, Any] = {"section": f"{dimension} column(s), epsilon = {epsilon:g}; seed {seed}"}
                widest = 3 if name in SMOOTH else 6
                rows += [
                    row(f"{name}: over the best fixed lattice", found["ratio"], "times", "<= 1.5", **at),
                    *(row(f"{name}: over {words(one)}", found[one], "times", "<= 1", **at) for one in beside),
                    row(f"{name}: half-width of the band", found["width"], "mean errors", f"<= {widest}", **at),
                    row(f"{name}: band held", found["held"], f"of {DRAWS[dimension]}", ">= 0.75", **at),
                ]
        at = {"section": f"{dimension} column(s), all"}
        rows.append(row("mean over the best fixed lattice", float(np.mean(ratios)), "times", "<= 1.15", **at))
        rows.append(row("worst over the best fixed lattice", max(ratios), "times", "<= 1.5", **at))
        rows.append(row("worst over the best peer", max(peers), "times", "<= 1", **at))
    return rows
