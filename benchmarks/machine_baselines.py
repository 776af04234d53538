"""What private learners had to beat: printed mechanisms (simulated: nothing is published), and diffprivlib."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

import sfumato as sf
from benchmarks.density_baselines import Score, score
from benchmarks.machine_data import SHARED, SQUARE, exact_on_square, exact_svm, square
from benchmarks.peers import ask_diffprivlib
from sfumato.core.gaussian import noise_multiplier

DEGREES, ORDERS, DRAWS = (1, 2, 3, 4, 5, 6, 8), (1, 2, 3), 200


def disagreement(values: np.ndarray, truth: np.ndarray) -> float:
    """The share of a grid where two functions give different labels: the area between two decision boundaries."""
    return float(np.mean((values > 0) != (truth > 0)))


def lattice_draws(degree: int, order: int, epsilon: float, sensitivity: float) -> np.ndarray:
    """The Bernstein paper's mechanism on its Figure 2: independent Laplace noise ``S (k+1)^2 / epsilon`` on a lattice.

    ``(draws, points)``: noisy functions on the grid.
    """
    basis, points = sf.Bernstein(degree, order), square()
    first, second = (basis.axis_weights(SQUARE, axis, points[:, axis], 0) for axis in (0, 1))
    weights = np.einsum("pi,pj->pij", first, second).reshape(len(points), -1)
    values = exact_svm(basis.lattice(SQUARE))
    rng = np.random.default_rng(20170208)
    noise = rng.laplace(scale=sensitivity * (degree + 1) ** 2 / epsilon, size=(DRAWS, len(values)))
    return np.asarray((values + noise) @ weights.T)


def lattice_errors(degree: int, order: int, epsilon: float, sensitivity: float) -> tuple[Score, Score]:
    """The mean sup error and the mean label disagreement of that mechanism."""
    found, truth = lattice_draws(degree, order, epsilon, sensitivity), exact_on_square()
    disagreements = np.array([disagreement(one, truth) for one in found])
    return score(np.abs(found - truth).max(axis=1)), score(disagreements)


def printed_sensitivity(n: int) -> float:
    """``M C sup K / n`` at M = C = sup K = 1: half of what one flipped label attains."""
    return 1 / n


def best_lattice(epsilon: float, sensitivity: float) -> tuple[tuple[int, int], tuple[Score, Score]]:
    """Degree and order of least mean sup error, picked with hindsight, and the errors there."""
    cases = [(degree, order) for degree in DEGREES for order in ORDERS]
    found = {case: lattice_errors(*case, epsilon, sensitivity) for case in cases}
    best = min(found, key=lambda case: found[case][0][0])
    return best, found[best]


class SemiInteractive:
    """The semi-interactive learner as printed: noise of its own on each prediction at the public sample, then a fit.

    ``seen`` are the whitened features of the sample, ``learned`` the noise-free learner in their span, ``apart`` how
    far one record moves any prediction (``2 L R^2 C / n``), ``longest`` bounds the norm of the learner.
    """

    def __init__(self, seen: np.ndarray, learned: np.ndarray, apart: float, longest: float) -> None:
        self.seen, self.learned, self.apart, self.longest = seen, learned, apart, longest
        self.fit = np.linalg.pinv(seen)

    def printed(self, epsilon: float, delta: float) -> float:
        """The printed Laplace noise's deviation: ``nu = (apart / 2) sqrt(T ln(1/delta)) / epsilon``, O() read as 1."""
        scale = self.apart / 2 * np.sqrt(len(self.seen) * np.log(1 / delta)) / epsilon
        return float(np.sqrt(2) * scale)

    def needed(self, epsilon: float, delta: float) -> float:
        """The deviation of independent Gaussian noise that hides all T predictions moving together."""
        return float(self.apart * np.sqrt(len(self.seen)) * noise_multiplier(epsilon, delta))

    def draw(self, deviation: float, kind: str, rng: np.random.Generator) -> np.ndarray:
        """A learner with this noise on the predictions, scaled back into the ball that holds the noise-free one."""
        size = len(self.seen)
        noise = rng.laplace(scale=deviation / np.sqrt(2), size=size) if kind == "laplace" else rng.normal(size=size)
        moved = self.learned + self.fit @ (noise if kind == "laplace" else deviation * noise)
        return moved / max(1.0, float(np.linalg.norm(moved)) / self.longest)


def diffprivlib_accuracies(epsilons: Iterable[float], repeats: int) -> dict[str, dict[float, Score]]:
    """diffprivlib's logistic regression on a9a, in its own environment; empty, with a reason, where there is none."""
    asked = {"folder": str(SHARED / "data"), "epsilons": list(epsilons), "repeats": repeats}
    return {
        name: {float(epsilon): score(np.array(found)) for epsilon, found in table.items()}
        for name, table in (ask_diffprivlib("diffprivlib_peer.py", asked) or {}).items()
    }
