"""Published figures of private learners, as tables: printed constants beside corrected ones, beside this library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression, Ridge

import sfumato as sf
from benchmarks import machine_baselines as baselines
from benchmarks.machine_baselines import SemiInteractive
from benchmarks.machine_data import SQUARE, Task, a9a, covtype, exact_svm, in_span, landmarks, two_gaussians
from benchmarks.machines import PLAIN, RANKS, ROTATED, best_bernstein, figure_errors
from sfumato.core.gaussian import noise_multiplier
from sfumato.targets.machine.learner import features_of

Row = dict[str, Any]
RELEASES, DRAWS = 20, 20
HEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0)
FOREST_EPSILONS, FOREST_DELTA, FOREST_RELEASES = (0.01, 0.1, 0.3, 1.0), 1e-6, 1
PAPER_C = 0.001  # LibSVM's C in the paper's Figure 2(a): it multiplies the sum of losses
REGRESSION_EPSILONS, REGRESSION_DELTA, REGRESSION_RECORDS, REGRESSION_RELEASES = (0.1, 0.5, 1.0, 2.0), 1e-5, 20_000, 5


def missing(name: str) -> list[Row]:
    """Why a figure is skipped."""
    print(f"skipped: it needs ../shared/data/{name}, which is not here")
    return []


# --- Bernstein paper, Figure 2 ------------------------------------------------------------------------------------


def bernstein_fig2() -> list[Row]:
    """A private SVM in the plane: how far its function and its labels are from the non-private ones; its boundary."""
    rows: list[Row] = []
    n = len(two_gaussians()[1])
    half = baselines.printed_sensitivity(n)
    for epsilon in (0.1, 1.0, 10.0):

        def add(mechanism: str, basis: str, spent: float, errors: Any, epsilon: float = epsilon) -> None:
            found = {"sup error": errors[0][0], "labels that differ": errors[1][0]}
            case = {"table": "mean errors on the unit square", "eps": epsilon, "mechanism": mechanism}
            rows.append({**case, "basis": basis, "epsilon spent": spent, **found})

        for name, factor in (("printed, S = M C sup K / n", 1), ("corrected, S = 2 M C sup K / n", 2)):
            (k, h), found = baselines.best_lattice(epsilon, factor * half)
            add(f"{name}, Laplace", f"k={k} h={h} (best)", 2 * epsilon / factor, found)
        basis = best_bernstein(epsilon)
        named = f"k={basis.degree} h={basis.order} (best)"
        add("corrected, joint noise", named, epsilon, figure_errors(epsilon, RELEASES, basis=basis))
        *errors, release = figure_errors(epsilon, RELEASES)
        add("sfumato", f"{release.handed.features.size} directions (auto)", epsilon, errors)
    return [*rows, *_boundaries(n)]


def _boundaries(n: int) -> list[Row]:
    """One draw of each boundary at epsilon = 1: where it is at a few heights."""
    target, privacy = sf.KernelMachine("hinge", sf.RBF(0.5), C=1.0, classes=[-1, 1]), sf.Privacy(epsilon=1.0)
    ours = sf.release(target, two_gaussians(), SQUARE, privacy)
    lattice = sf.release(target, two_gaussians(), SQUARE, privacy, basis=best_bernstein(1.0))
    (k, h), _ = baselines.best_lattice(1.0, 1 / n)
    printed = baselines.lattice_draws(k, h, 1.0, baselines.printed_sensitivity(n))[0]
    side = round(len(printed) ** 0.5)
    axis = np.linspace(0, 1, side)
    rows = []
    for height in HEIGHTS:
        line = np.column_stack([axis, np.full(side, height)])
        cut = printed.reshape(side, side)[:, round(height * (side - 1))]
        values = {"not private": exact_svm(line), "printed": cut, "corrected": lattice(line), "sfumato": ours(line)}
        found = {name: _crossing(axis, line_values) for name, line_values in values.items()}
        rows.append({"table": "decision boundary at epsilon = 1: x1 at a height x2, one draw", "x2": height, **found})
    return rows


def _crossing(axis: np.ndarray, values: np.ndarray) -> float | None:
    """Where a function on a line first changes sign."""
    changes = np.flatnonzero((values[:-1] > 0) != (values[1:] > 0))
    if not changes.size:
        return None
    i = changes[0]
    return float(axis[i] + (axis[i + 1] - axis[i]) * values[i] / (values[i] - values[i + 1]))


# --- kernel learning paper, Figure 2 --------------------------------------------------------------------------------


def _mean(draw: Callable[[], np.ndarray], judge: Callable[[np.ndarray], float]) -> float:
    return float(np.mean([judge(draw()) for _ in range(DRAWS)]))


def _semi_interactive(learner: SemiInteractive, epsilon: float, delta: float, judge: Callable[..., float]) -> Row:
    """The printed noise, the noise that it needs, and both learners; simulated."""
    rng = np.random.default_rng(20130616)
    printed, needed = learner.printed(epsilon, delta), learner.needed(epsilon, delta)
    return {
        "printed noise / needed": printed / needed,
        "printed": _mean(lambda: learner.draw(printed, "laplace", rng), judge),
        "corrected": _mean(lambda: learner.draw(needed, "gaussian", rng), judge),
    }


def kernel_fig2a() -> list[Row]:
    """CoverType, cubic kernel (<x, y> + 1)^3, LibSVM's C = .001: accuracy by epsilon.

    The logistic loss stands in for the hinge: it has the same Lipschitz constant, so the same noise.
    """
    task = covtype()
    if task is None:
        return missing("covtype.data.gz")
    kernel, basis = sf.Polynomial(3, coef0=1.0), landmarks(task)
    features = features_of(kernel, basis, task.box)
    seen, judged = in_span(features, task)
    weak, strong = (
        LogisticRegression(C=c, solver="newton-cholesky", fit_intercept=False).fit(seen, task.labels).coef_[0]
        for c in (PAPER_C, 1.0)
    )
    del seen

    def judge(weights: np.ndarray) -> float:
        return float(np.mean((judged @ weights > 0) == (task.truth > 0)))

    kappa, rng = features.norm, np.random.default_rng(20130617)
    sample = features(np.asarray(basis.points))
    learner = SemiInteractive(sample, weak, 2 * kappa**2 * PAPER_C, PAPER_C * len(task) * kappa)
    rows = []
    for epsilon in FOREST_EPSILONS:
        deviation = 2 * kappa * PAPER_C * noise_multiplier(epsilon, FOREST_DELTA)
        whitened = _mean(lambda s=deviation: weak + s * rng.standard_normal(len(weak)), judge)
        simulated = _semi_interactive(learner, epsilon, FOREST_DELTA, judge)
        ours = _forest_release(task, kernel, basis, epsilon)
        title = f"CoverType, test accuracy, delta = {FOREST_DELTA:g}, n = {len(task)}"
        rows.append({"table": title, "eps": epsilon, **simulated, "whitened": whitened, "sfumato": ours})
        rows[-1] |= {"not private": judge(weak), "not private, C = 1": judge(strong), "paper's baseline": 0.723}
    return rows


def _forest_release(task: Task, kernel: Any, basis: sf.Landmarks, epsilon: float) -> float:
    target, privacy = sf.KernelMachine("logistic", kernel, classes=[-1, 1]), sf.Privacy(epsilon, FOREST_DELTA)
    releases = (
        sf.release(target, (task.records, task.labels), task.box, privacy, basis=basis) for _ in range(FOREST_RELEASES)
    )
    return float(np.mean([np.mean(release.predict(task.test) == task.truth) for release in releases]))


def kernel_fig2b() -> list[Row]:
    """Linear regression: the semi-interactive learner beside objective perturbation, test error by epsilon.

    The paper's KDD Cup data are not here; a9a stands in, with 20,000 training rows as in the paper. Both mechanisms
    can use the public sample: in the same span, noise in the objective does better, so the printed gap is no merit of
    the semi-interactive model.
    """
    task = a9a()
    if task is None:
        return missing("a9a.libsvm.gz and a9a.t.libsvm.gz")
    chosen = np.random.default_rng(20130618).permutation(len(task))[:REGRESSION_RECORDS]
    part = replace(task, records=task.records[chosen], labels=task.labels[chosen].astype(float))
    linear = Ridge(alpha=1.0, fit_intercept=False).fit(part.records, part.labels)
    ridge = _squared_error(linear.predict(part.test), part)
    title = f"a9a, test MSE, delta = {REGRESSION_DELTA:g}, n = {len(part)}"
    return [
        {"table": title, "eps": epsilon, **_regression_errors(part, epsilon), "not private": ridge}
        for epsilon in REGRESSION_EPSILONS
    ]


def _squared_error(given: np.ndarray, task: Task) -> float:
    return float(np.mean((np.clip(given, -1, 1) - task.truth) ** 2))


def _regression_errors(task: Task, epsilon: float) -> Row:
    """Output noise as printed, as needed and whitened, and noise in the objective, with and without the sample."""
    privacy, pure = sf.Privacy(epsilon=epsilon, delta=REGRESSION_DELTA), sf.Privacy(epsilon=epsilon)
    span, plain = (ROTATED, sf.Landmarks(task.public, rank=RANKS[0])), (PLAIN, "auto")
    whitened, release = _regressions(task, "output", privacy, *span)
    strength = float(dict(release.target)["C (times the mean loss)"])
    features = release.handed.features
    _, quiet = _regressions(task, "output", sf.Privacy(epsilon=1e6), *span, strength, 1)  # next to no noise
    apart = 2 * features.norm**2 * strength / len(task)
    learner = SemiInteractive(features(task.public), quiet.weights[0], apart, strength * features.norm)
    seen = features(task.box.clean(task.test))
    return {
        **_semi_interactive(learner, epsilon, REGRESSION_DELTA, lambda w: _squared_error(seen @ w, task)),
        "whitened": whitened,
        "objective, same span": _regressions(task, "objective", privacy, *span)[0],
        "objective": _regressions(task, "objective", privacy, *plain)[0],
        "objective, pure": _regressions(task, "objective", pure, *plain)[0],
    }


def _regressions(
    task: Task, mechanism: str, privacy: sf.Privacy, kernel: Any, basis: Any, strength: Any = "auto", count: int = 0
) -> tuple[float, Any]:
    """The mean test error of a few real releases, and the last of them."""
    target = sf.KernelMachine("huber", kernel, strength, range=(-1, 1), mechanism=mechanism)
    times, data = count or REGRESSION_RELEASES, (task.records, task.labels)
    found = [sf.release(target, data, task.box, privacy, basis=basis) for _ in range(times)]
    return float(np.mean([_squared_error(release(task.test), task) for release in found])), found[-1]
