"""How good a summary for smooth queries is: certificates, noise, rates, bumps, quadrature; ``queries_speed`` has times.

Data, queries and sizes were fixed before anything was measured; all but the noise is drawn with public seeds. Wherever
"best" stands, a choice was made with hindsight on these very data.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import iv

import sfumato as sf
from benchmarks import queries_speed
from benchmarks import query_baselines as baselines
from benchmarks.density_grid import one_thread
from benchmarks.timing import row
from sfumato.bases.moments.contributions import chebyshev_table, factors_of
from sfumato.bases.moments.cosine import Cosines, IndexSet
from sfumato.bases.moments.quadrature import grid_for, query_values, sparse_coefficients

Row = dict[str, Any]
Function = Callable[[np.ndarray], np.ndarray]

PRIVACY, SMOOTHNESS, SIGMA = sf.Privacy(epsilon=1.0), 6, 0.5
SEED = 20140603
SIZES = (1_000, 3_162, 10_000, 31_623, 100_000, 316_228, 1_000_000)
RATE_REPEATS, RATE_BUMPS = 20, 100
BUMPS, BUMP_ROWS, BUMP_REPEATS = 1000, 100_000, 20
CELLS = (4, 8, 12, 16, 24, 32, 48, 64, 96)
DELTA = 1e-6


def run() -> list[Row]:
    """Every table."""
    with one_thread():
        accuracy = [*certificates(), *noise(), *rates(), *bumps(), *quadrature()]
    return [*accuracy, *queries_speed.run()]


def square(dimension: int) -> sf.Box:
    return sf.Box([(-1, 1)] * dimension)


# --- certificates -----------------------------------------------------------------------------------------


def contributions(indices: IndexSet, points: np.ndarray) -> np.ndarray:
    """``(size, m)``: what records contribute, as whole numbers, in units of one."""
    factors, table = factors_of(indices), chebyshev_table(points.T.copy(), indices.shape)
    left, right = factors.left.rounded(table), factors.right.rounded(table)
    return left[factors.of_left] * right[factors.of_right] / 4.0**indices.bits


def hunted(indices: IndexSet, order: int, starts: int = 8, sweeps: int = 3) -> tuple[float, np.ndarray]:
    """The largest distance between two records' contributions that a coordinate search finds, and the difference."""
    rng, dimension = np.random.default_rng(SEED), len(indices.shape)
    lines = np.concatenate([np.cos(np.linspace(0, math.pi, 721)), [0.0]])
    corners = rng.choice([-1.0, 1.0], size=(starts, dimension))
    best, difference = 0.0, np.zeros(indices.size)
    for corner, start in zip(corners, np.cos(math.pi * rng.random((starts, dimension))), strict=True):
        pair = np.stack([corner, start])
        for _ in range(sweeps):
            for who in (1, 0):
                for j in range(dimension):
                    tried = np.tile(pair[who], (len(lines), 1))
                    tried[:, j] = lines
                    apart = contributions(indices, tried) - contributions(indices, pair[1 - who : 2 - who])
                    lengths = np.linalg.norm(apart, order, axis=0)
                    found = int(np.argmax(lengths))
                    pair[who, j] = lines[found]
                    if lengths[found] > best:
                        best, difference = float(lengths[found]), apart[:, found]
    return best, difference


def certificates() -> list[Row]:
    """How much of the certificates hunted pairs reach, and what the printed ones miss."""
    rows: list[Row] = []
    at = {"section": "certificates: hunted pairs of records, full tensor, one row replaced"}
    for degree, dimension in ((8, 1), (8, 2), (7, 2), (6, 3), (4, 4)):
        indices = Cosines(degree).index_set(square(dimension))
        steps = 4.0**indices.bits
        first, _ = hunted(indices, 1)
        second, apart = hunted(indices, 2)
        name, asked = f"t = {degree}, d = {dimension}", (">= 0.99",)
        rows += [
            row(
                f"{name}: L1 reached", first / indices.apart(PRIVACY, "l1") * steps, "of the certificate", *asked, **at
            ),
            row("  L2 reached", second / indices.apart(PRIVACY, "l2") * steps, "of the certificate", *asked, **at),
            row("  L1 reached", first / degree**dimension, "of the printed t^d / n", **at),
        ]
        if dimension > 1:
            scale = math.sqrt(degree**dimension * math.log(1 / DELTA))
            spent = baselines.epsilon_of_laplace(apart / scale, DELTA)
            rows.append(row(f"  epsilon spent by the printed scale for 1 at delta = {DELTA:g}", spent, "epsilon", **at))
    return rows


# --- noise ------------------------------------------------------------------------------------------------


def noise() -> list[Row]:
    """Standard deviations of the noise of one moment, times n, at epsilon = 1."""
    sets = {
        "100 columns, degree 2, interactions 1": (100, 2, 1),
        "10 columns, degree 8, interactions 1": (10, 8, 1),
        "100 columns, degree 3, interactions 2": (100, 3, 2),
        "1 column, degree 8": (1, 8, "full"),
        "2 columns, degree 7": (2, 7, "full"),
        "3 columns, degree 16": (3, 16, "full"),
        "3 columns, degree 16, hyperbolic cross": (3, 16, "cross"),
    }
    rows: list[Row] = []
    at = {"section": "noise of one moment, standard deviation times n, epsilon = 1"}
    for name, (dimension, degree, ways) in sets.items():
        target = {kind: sf.CosineMoments(degree, interactions=ways, noise=kind) for kind in ("linf", "laplace")}
        data, box = np.zeros((10, dimension)), square(dimension)
        sizes = {kind: 10 * sf.release(one, data, box, PRIVACY).noise_sd for kind, one in target.items()}
        loose = sf.CosineMoments(degree, interactions=ways, noise="gaussian")
        gauss = 10 * sf.release(loose, data, box, sf.Privacy(epsilon=1.0, delta=DELTA)).noise_sd
        asked = ">= 2.4" if (degree, ways) == (2, 1) else None
        rows += [
            row(f"{name}: K-norm (box)", sizes["linf"], "", **at),
            row("  Laplace", sizes["laplace"], "", **at),
            row("  Laplace over K-norm", sizes["laplace"] / sizes["linf"], "times", asked, **at),
            row(f"  Gaussian, delta = {DELTA:g}", gauss, "", **at),
        ]
    return rows


# --- error against n --------------------------------------------------------------------------------------


def records_of(dimension: int, n: int, seed: int) -> np.ndarray:
    """Two clusters and a uniform background, brought to the cube."""
    rng = np.random.default_rng([SEED, dimension, n, seed])
    kind = rng.random(n)
    centre = np.where(kind[:, None] < 0.4, -0.4, 0.5)
    drawn = centre + rng.normal(size=(n, dimension)) * np.where(kind[:, None] < 0.4, 0.25, 0.15)
    return np.clip(np.where(kind[:, None] < 0.7, drawn, rng.uniform(-1, 1, (n, dimension))), -1, 1)


def families(dimension: int) -> dict[str, list[Function]]:
    """Smooth functions: bumps; a few of other kinds; some with no more than the seventh derivative."""
    rng = np.random.default_rng(SEED)

    def bump(centre: np.ndarray) -> Function:
        return lambda p: np.exp(-((p - centre) ** 2).sum(axis=1) / (2 * SIGMA**2))

    def kink(centre: np.ndarray) -> Function:
        return lambda p: (np.abs((p - centre).sum(axis=1)) / (2 * dimension)) ** 7

    return {
        f"{RATE_BUMPS} Gaussian bumps, sigma = {SIGMA}": [bump(c) for c in rng.uniform(-1, 1, (RATE_BUMPS, dimension))],
        "a wave, a logistic curve, a rational function, an exponential": [
            lambda p: np.cos(3 * p.sum(axis=1) / dimension + 1),
            lambda p: 1 / (1 + np.exp(-3 * p[:, 0])),
            lambda p: 1 / (1 + (p**2).sum(axis=1)),
            lambda p: np.exp(p.sum(axis=1) - dimension),
        ],
        "20 functions |a - c|^7 of a sum, six derivatives and no more than seven": [
            kink(c) for c in rng.uniform(-1, 1, (20, dimension))
        ],
    }


def rates() -> list[Row]:
    """The worst error in each family, averaged over releases of fresh records, and the slope in log-log scale."""
    rows: list[Row] = []
    for dimension in (1, 2):
        allowed = -SMOOTHNESS / (2 * dimension + SMOOTHNESS) + 0.05
        kinds = families(dimension)
        errors = {name: np.zeros((len(SIZES), 2)) for name in kinds}
        degrees = []
        for i, n in enumerate(SIZES):
            repeats = max(3, min(RATE_REPEATS, 4_000_000 // n))
            found: dict[str, list[float]] = {name: [] for name in kinds}
            for seed in range(repeats):
                records = records_of(dimension, n, seed)
                summary = sf.summarize(records, square(dimension), PRIVACY, smoothness=SMOOTHNESS)
                for name, functions in kinds.items():
                    truth = np.array([function(records).mean() for function in functions])
                    answers = summary.answer_many(functions)
                    found[name].append(float(np.abs(answers.value - truth).max()))
            degrees.append(summary.basis.degree)
            for name, worst in found.items():
                errors[name][i] = np.mean(worst), np.std(worst) / math.sqrt(repeats)
        for name, found_errors in errors.items():
            at = {"section": f"error against n, d = {dimension}, K = {SMOOTHNESS}, epsilon = 1: {name}"}
            for n, degree, (mean, spread) in zip(SIZES, degrees, found_errors, strict=True):
                rows.append(row(f"n = {n:>9,} (t = {degree})", float(mean), "mean worst error", spread=spread, **at))
            slope, spread = slope_of(np.log(SIZES), np.log(found_errors[:, 0]))
            rows.append(row("slope in log-log scale", slope, "", f"<= {allowed:.3f}", spread=spread, **at))
    return rows


def slope_of(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Least squares, with the standard error that residuals suggest."""
    centred = x - x.mean()
    slope = float(centred @ y / (centred @ centred))
    rest = y - y.mean() - slope * centred
    return slope, math.sqrt(float(rest @ rest) / (len(x) - 2) / float(centred @ centred))


# --- a thousand bumps -------------------------------------------------------------------------------------


def bump_data() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(SEED + 1)
    return {
        "two clusters and a background": records_of(2, BUMP_ROWS, 0),
        "uniform": rng.uniform(-1, 1, (BUMP_ROWS, 2)),
        "all records in one corner": np.ones((BUMP_ROWS, 2)),
    }


def bumps() -> list[Row]:
    """The worst of a thousand bumps, in two columns, beside the printed algorithms and noisy histograms."""
    rng = np.random.default_rng(SEED)
    centres = rng.uniform(-1, 1, (BUMPS, 2))
    queries = [lambda p, c=c: np.exp(-((p - c) ** 2).sum(axis=1) / (2 * SIGMA**2)) for c in centres]
    limit, rows = BUMP_ROWS**-0.5, []
    for name, records in bump_data().items():
        title = f"worst of {BUMPS} bumps, n = {BUMP_ROWS:,}, K = {SMOOTHNESS}, epsilon = 1, {BUMP_REPEATS} releases: "
        at = {"section": f"{title}{name}"}
        truth = baselines.exact_bumps(records, centres, SIGMA)
        ours: dict[str, list[float]] = {}
        for _ in range(BUMP_REPEATS):
            for how, settings in {f"smoothness={SMOOTHNESS}": {"smoothness": SMOOTHNESS}, "degree='auto'": {}}.items():
                summary = sf.summarize(records, square(2), PRIVACY, **settings)
                label = f"sf.summarize, {how}: t = {summary.basis.degree}"
                ours.setdefault(label, []).append(worst(summary.answer_many(queries).value, truth))
        for label, found in ours.items():
            rows += [
                _mean(label, found, at),
                row("  the largest", max(found), "error", f"<= {limit:.6f}", **at),
            ]
        rows += peers(records, centres, truth, rng, at)
    return rows


def worst(values: np.ndarray, truth: np.ndarray) -> float:
    return float(np.abs(values - truth).max())


def _mean(label: str, found: list[float], at: Row) -> Row:
    return row(label, float(np.mean(found)), "mean worst error", spread=np.std(found) / math.sqrt(len(found)), **at)


def peers(records: np.ndarray, centres: np.ndarray, truth: np.ndarray, rng: np.random.Generator, at: Row) -> list[Row]:
    """The printed algorithms at their own degree, at twice that and at the best; histograms at the best size."""
    n, moments = len(records), baselines.moments_of(records, 32)
    exact = n ** (1 / (4 + SMOOTHNESS))
    tried = {
        degree: [
            worst(baselines.printed(moments, n, degree, SMOOTHNESS, centres, SIGMA, rng), truth)
            for _ in range(BUMP_REPEATS)
        ]
        for degree in {math.ceil(exact), math.ceil(2 * exact), *range(2, 33, 2)}
    }
    cells = {
        count: [worst(baselines.histogram(records, count, centres, SIGMA, rng), truth) for _ in range(BUMP_REPEATS)]
        for count in CELLS
    }
    best = min(tried, key=lambda degree: np.mean(tried[degree]))
    fine = min(cells, key=lambda count: np.mean(cells[count]))
    name = "printed algorithms, noise corrected"
    return [
        _mean(f"{name}: t = n^(1/10) = {math.ceil(exact)}", tried[math.ceil(exact)], at),
        _mean(f"{name}: t = {math.ceil(2 * exact)}", tried[math.ceil(2 * exact)], at),
        _mean(f"{name}: best t = {best}", tried[best], at),
        _mean(f"noisy histogram: best of {len(CELLS)} sizes, {fine} x {fine} cells", cells[fine], at),
        _mean("noisy histogram: 8 x 8 cells", cells[8], at),
    ]


# --- quadrature -------------------------------------------------------------------------------------------


def quadrature() -> list[Row]:
    """Means over all angles with a closed form: ``exp(a x)`` has I_0(a), a bump exp(-s) I_0(s), s = 1/(4 sigma^2)."""
    sharp = 1 / (4 * SIGMA**2)
    functions: dict[str, tuple[Function, float]] = {
        "exp(x / 2)": (lambda x: np.exp(x / 2), float(iv(0, 0.5))),
        f"bump, sigma = {SIGMA}": (lambda x: np.exp(-(x**2) / (2 * SIGMA**2)), math.exp(-sharp) * float(iv(0, sharp))),
    }
    rows: list[Row] = []
    for name, (axis, one) in functions.items():
        at = {"section": f"quadrature: the mean over all angles of a product of {name}, error"}
        for dimension in (1, 2, 3, 4, 5, 6, 8):
            truth = one**dimension
            if dimension > 1:
                asked = "<= 1e-10" if name.startswith("exp") and dimension <= 6 else None
                found, points = sparse_mean(axis, dimension)
                label = f"d = {dimension}: sparse grid ({points:,} points)"
                rows.append(row(label, abs(found - truth), "", asked, **at))
            if dimension <= 4:
                rows += small_rules(axis, dimension, truth, at)
    return rows


def small_rules(axis: Function, dimension: int, truth: float, at: Row) -> list[Row]:
    """The full grid, and the printed rule in both readings."""
    grid = grid_for(square(dimension), range(dimension), (16 if dimension < 4 else 8,) * dimension)
    values = query_values(lambda p: np.prod(axis(p), axis=1), grid.points())
    found = float(grid.coefficients(values).flat[0])
    rows = [row(f"d = {dimension}: full grid", abs(found - truth), "", "<= 1e-10", **at)]
    for level in (4, 8):
        for how, differences in (("as Smolyak's", True), ("at its word", False)):
            error = abs(baselines.printed_mean(axis, dimension, level, differences) - truth)
            rows.append(row(f"  printed rule, level {level}, {how}", error, "", **at))
    return rows


def sparse_mean(axis: Function, dimension: int) -> tuple[float, int]:
    """The mean by the library's sparse grid, and how many points that took."""
    seen = []

    def query(points: np.ndarray) -> np.ndarray:
        seen.append(len(points))
        return np.prod(axis(points), axis=1)

    found = sparse_coefficients(query, square(dimension), range(dimension))
    return float(found.values[~found.frequencies.any(axis=1)][0]), sum(seen)
