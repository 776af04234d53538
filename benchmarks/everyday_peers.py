"""What diffprivlib and OpenDP answer: their own best route to each statistic, same budget, bounds and neighbours.

* Means and variances: both add Laplace noise to the statistic itself, its sensitivity being that for a known number of
  records: ``(high - low) / n`` and ``(high - low)^2 (n - 1) / n^2``. diffprivlib then truncates means, and draws
  variances from a bounded Laplace law.
* Histograms: Laplace or geometric noise on each count. diffprivlib calibrates it for records that come or go, so it
  gets epsilon / 2 here, where a record leaves one bin and enters another.
* Quantiles: diffprivlib's exponential mechanism chooses a gap between two neighbouring records, then a value within it
  uniformly. OpenDP scores public candidates by their rank and takes the noisy best (permute-and-flip). Several levels
  get equal parts of epsilon.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import opendp.prelude as dp

from benchmarks.peers import ask_diffprivlib

Table = dict[tuple[str, str, float], np.ndarray]  # answers by column, statistic and epsilon
REPLACED = 2  # a record that is replaced leaves and comes: OpenDP counts both


def diffprivlib_answers(
    values: dict[str, np.ndarray], bounds: dict[str, tuple[float, float]], epsilons: Sequence[float],
    levels: Sequence[float], bins: int, repeats: dict[str, int],
) -> Table:  # fmt: skip
    """All of its answers, one line a repeat; empty where it is not installed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "values.npz"
        np.savez(path, **values)
        asked = {"file": str(path), "bounds": bounds, "epsilons": list(epsilons), "levels": list(levels)}
        found = ask_diffprivlib("diffprivlib_statistics.py", {**asked, "bins": bins, "repeats": repeats})
    return {(name, statistic, epsilon): np.array(lines) for name, statistic, epsilon, lines in found or []}


def opendp_answers(
    statistic: str, values: np.ndarray, public: Any, epsilon: float, detail: Any, repeats: int
) -> np.ndarray:
    """OpenDP's answers, one line a repeat; ``public`` are bounds (``detail`` the bins) or candidates (and levels)."""
    if statistic in ("median", "quantiles"):
        measures = [quantile(len(values), public, level, epsilon / len(detail)) for level in detail]
        return np.array([[measure(values) for measure in measures] for _ in range(repeats)])
    measure = perturbed(statistic, len(values), public, epsilon, detail)
    return np.array([np.atleast_1d(measure(values)) for _ in range(repeats)])


def perturbed(statistic: str, n: int, bounds: tuple[float, float], epsilon: float, bins: int) -> Any:
    """A statistic with Laplace noise, as little as the budget allows."""
    dp.enable_features("contrib", "idealized-numerics")
    low, high = map(float, bounds)
    space = dp.vector_domain(dp.atom_domain(T=float, bounds=(low, high), nan=False), size=n), dp.symmetric_distance()
    if statistic == "mean":
        exact = dp.t.make_mean(*space)
    elif statistic == "variance":
        exact = dp.t.make_variance(*space, ddof=0)
    else:
        free = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=n), dp.symmetric_distance()
        binned = free >> dp.t.then_find_bin(np.linspace(low, high, bins + 1)[1:-1].tolist())
        exact = binned >> dp.t.then_count_by_categories(categories=list(range(bins)), null_category=False)
    return dp.binary_search_chain(lambda scale: exact >> dp.m.then_laplace(scale), REPLACED, epsilon)


def quantile(n: int, candidates: np.ndarray, level: float, epsilon: float) -> Any:
    """Its private quantile, with as little noise as the budget allows."""
    dp.enable_features("contrib", "idealized-numerics")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=n), dp.symmetric_distance()

    def make(scale: float, some: np.ndarray) -> Any:
        return dp.m.make_private_quantile(*space, dp.max_divergence(), some.tolist(), level, scale)

    # The scale does not depend on the candidates, and a search over all of them takes minutes.
    return make(dp.binary_search_param(lambda s: make(s, candidates[:2]), REPLACED, epsilon), candidates)
