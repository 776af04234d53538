"""The solver: the minimiser that others find, exact sums in any order, an end on whatever data."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC

from opening import fold_blocks
from sfumato.bases.machine.kernels import RBF
from sfumato.bases.machine.landmarks import Landmarks, feature_map
from sfumato.bases.machine.losses import Hinge, Logistic, SmoothedHinge, SmoothedHuber, Squared
from sfumato.core.box import Box
from sfumato.targets.machine import solver
from sfumato.targets.machine.gradient import BLOCK, _add_curvature
from sfumato.targets.machine.solver import Problem, Weights, evaluate, minimise

RNG = np.random.default_rng(6)
LOSSES = [Hinge(), Logistic(), SmoothedHinge(), SmoothedHinge(0.01), SmoothedHuber(), SmoothedHuber(0.1), Squared()]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)


class Fixed:
    """Examples in memory: features on a grid of 20 bits for a norm of one, cut into blocks of ``rows``."""

    exponent = -19

    def __init__(self, features, targets, rows=BLOCK):
        self.whole = np.trunc(np.asarray(features, dtype=float) * 2.0**19)
        targets = np.asarray(targets, dtype=float)
        self.targets = targets if targets.ndim == 2 else targets[:, None]
        self.size, self.outputs, self.rows = self.whole.shape[1], self.targets.shape[1], rows

    @property
    def seen(self):
        return self.whole * 2.0**self.exponent

    features = None  # they are here already

    def blocks(self):
        for start in range(0, len(self.whole), self.rows):
            part = slice(start, start + self.rows)
            yield self.whole[part], self.targets[part]

    def fold(self, one):
        return fold_blocks(one, self.blocks())


def problem(examples, loss, C, offset=None):
    rows = max(1, len(examples.whole))
    offset = np.zeros((examples.outputs, examples.size)) if offset is None else offset
    return Problem(examples, loss, C / rows, 2 * loss.steepest(C, 1.0), offset)


def cloud(rows, size=4, noise=0.3):
    """Records in the unit ball and labels that a line nearly tells apart."""
    points = RNG.normal(size=(rows, size))
    points /= np.maximum(1.0, np.linalg.norm(points, axis=1, keepdims=True))
    return points, np.where(points[:, 0] + noise * RNG.normal(size=rows) > 0, 1.0, -1.0)


# --- the same minimiser as others find --------------------------------------------------------------------------


@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
def test_logistic_regression_agrees_with_scikit_learn(C):
    examples = Fixed(*cloud(400))
    theirs = LogisticRegression(C=C / 400, fit_intercept=False, solver="newton-cholesky", tol=1e-12, max_iter=1000)
    theirs.fit(examples.seen, examples.targets[:, 0])
    assert minimise(problem(examples, Logistic(), C), 1e-9) == pytest.approx(theirs.coef_, abs=1e-6)


@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
def test_support_vector_machines_agree_with_scikit_learn(C):
    examples = Fixed(*cloud(400))
    theirs = LinearSVC(C=C / 400, loss="hinge", fit_intercept=False, tol=1e-12, max_iter=10_000_000, random_state=0)
    theirs.fit(examples.seen, examples.targets[:, 0])
    assert minimise(problem(examples, Hinge(), C), 1e-7) == pytest.approx(theirs.coef_, abs=1e-6)


@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
def test_ridge_regression_agrees_with_scikit_learn(C):
    points, _ = cloud(400)
    examples = Fixed(points, np.clip(points @ [0.5, -1.0, 0.2, 0.0] + 0.1 * RNG.normal(size=400), -1, 1))
    theirs = Ridge(alpha=400 / (2 * C), fit_intercept=False).fit(examples.seen, examples.targets[:, 0])
    assert minimise(problem(examples, Squared(), C), 1e-9)[0] == pytest.approx(theirs.coef_, abs=1e-6)


def test_huber_regression_agrees_with_a_general_optimiser():
    points, _ = cloud(200)
    examples = Fixed(points, np.clip(2 * points[:, 0], -1, 1))
    x, t, C, h = examples.seen, examples.targets[:, 0], 20.0, 0.4

    def value(w):
        return C * np.mean(h * h * (np.sqrt(1 + ((x @ w - t) / h) ** 2) - 1)) + w @ w / 2

    theirs = minimize(value, np.zeros(4), method="BFGS", options={"gtol": 1e-10})
    assert minimise(problem(examples, SmoothedHuber(h), C), 1e-9)[0] == pytest.approx(theirs.x, abs=1e-5)


@every_loss
def test_several_outputs_are_several_problems(loss):
    points, labels = cloud(300)
    second = np.where(points[:, 1] > 0.1, 1.0, -1.0)
    offset = 0.01 * RNG.normal(size=(2, 4))
    both = minimise(problem(Fixed(points, np.stack([labels, second], axis=1)), loss, 50.0, offset), 1e-6)
    for k, targets in enumerate((labels, second)):
        alone = minimise(problem(Fixed(points, targets), loss, 50.0, offset[k : k + 1]), 1e-6)
        assert np.linalg.norm(both[k] - alone[0]) <= 2e-6


@every_loss
def test_rows_that_say_nothing_count_for_nothing(loss):
    points, labels = cloud(100)
    with_silent = Fixed(np.concatenate([points, points]), np.concatenate([labels, np.full(100, np.nan)]))
    found = minimise(Problem(with_silent, loss, 0.1, 2 * loss.steepest(10.0, 1.0), np.zeros((1, 4))), 1e-6)
    assert np.linalg.norm(found - minimise(problem(Fixed(points, labels), loss, 10.0), 1e-6)) <= 2e-6


# --- how near it comes ------------------------------------------------------------------------------------------


@pytest.mark.few(10)
@every_loss
@pytest.mark.parametrize("C", [1.0, 300.0])
@pytest.mark.parametrize("tolerance", [1e-1, 1e-3, 1e-5])
def test_the_tolerance_is_met(loss, C, tolerance):
    examples = Fixed(*cloud(150))
    fine = minimise(problem(examples, loss, C), 1e-9 if not isinstance(loss, Hinge) else 1e-7)
    for start in (None, np.full((1, 4), 3.0)):
        assert np.linalg.norm(minimise(problem(examples, loss, C), tolerance, start) - fine) <= tolerance + 1e-7


def test_a_start_is_not_changed():
    start = np.ones((1, 4))
    minimise(problem(Fixed(*cloud(50)), Logistic(), 1.0), 1e-6, start)
    assert start.tolist() == [[1.0] * 4]


@every_loss
def test_an_offset_shifts_the_gradient(loss):
    """Where the loss is flat or absent, the minimiser is minus the offset."""
    silent = Fixed(np.zeros((5, 3)), np.ones(5))
    offset = np.array([[0.5, -2.0, 1e-3]])
    assert minimise(problem(silent, loss, 1.0, offset), 1e-9) == pytest.approx(-offset, abs=1e-9)


# --- exact sums -------------------------------------------------------------------------------------------------


def test_weights_of_two_doubles_hold_what_one_cannot():
    weights = Weights(np.array([[1.0, 2.0**-30]]))
    for _ in range(3):
        weights = weights.moved(np.array([[2.0**-60, 2.0**-95]]))
    exact = [Fraction(1) + 3 * Fraction(2) ** -60, Fraction(2) ** -30 + 3 * Fraction(2) ** -95]
    found = [Fraction(h) + Fraction(low) for h, low in zip(weights.high[0], weights.low[0], strict=True)]
    assert found == exact


@pytest.mark.parametrize("scale", [1e-200, 1e-3, 1.0, 7e5, 1e150])
def test_slices_are_small_whole_numbers_that_add_up_to_the_weights(scale):
    high = RNG.normal(size=(2, 5)) * scale * 10.0 ** RNG.integers(-6, 1, size=(2, 5))
    high[1] *= 1e-40  # each output to its own precision
    weights = Weights(high).moved(high * 1e-17)
    slices, units = weights.slices()
    assert (slices == np.rint(slices)).all() and np.abs(slices).max() <= 2**27
    for k, unit in enumerate(units.tolist()):
        top = max(abs(Fraction(v)) for v in weights.high[k])
        for j in range(5):
            parts = [Fraction(int(slices[j, 2 * i + k])) / 2 ** (27 * i) for i in range(4)]
            exact = Fraction(weights.high[k, j]) + Fraction(weights.low[k, j])
            assert abs(sum(parts) * Fraction(unit) - exact) <= top * Fraction(1, 2**105)


def exact_gradient(examples, loss, scale, weights):
    """The gradient in Fractions, but for the slope, which mpmath computes."""
    w = [Fraction(h) + Fraction(low) for h, low in zip(weights.high[0], weights.low[0], strict=True)]
    total = [mpmath.mpf(0)] * examples.size
    with mpmath.workdps(50):
        for row, target in zip(examples.whole.tolist(), examples.targets[:, 0].tolist(), strict=True):
            x = [Fraction(int(v)) / 2**19 for v in row]
            score = sum(a * b for a, b in zip(x, w, strict=True))
            if isinstance(loss, Logistic):
                margin = score * Fraction(target)
                slope = -target / (1 + mpmath.exp(mpmath.mpf(margin.numerator) / margin.denominator))
            else:
                residual = 2 * (score - Fraction(target))
                slope = mpmath.mpf(residual.numerator) / residual.denominator
            total = [t + slope * (mpmath.mpf(a.numerator) / a.denominator) for t, a in zip(total, x, strict=True)]
        return [scale * t + mpmath.mpf(float(h)) + mpmath.mpf(float(low)) for t, h, low in
                zip(total, weights.high[0], weights.low[0], strict=True)]  # fmt: skip


@pytest.mark.parametrize("loss", [Logistic(), Squared()], ids=repr)
@pytest.mark.parametrize("C", [1.0, 1e5])
def test_the_gradient_is_that_of_fractions(loss, C):
    """To ``2**-45`` of ``C M kappa``, also next to the minimiser, where almost everything cancels."""
    examples = Fixed(*cloud(30))
    asked = problem(examples, loss, C)
    near = Weights(minimise(asked, 1e-12 * C)).moved(1e-13 * RNG.normal(size=(1, 4)))
    for weights in (Weights(RNG.normal(size=(1, 4))), near):
        found = evaluate(asked, weights, curved=False).gradient[0]
        exact = exact_gradient(examples, loss, mpmath.mpf(asked.scale), weights)
        worst = max(abs(f - e) for f, e in zip(found.tolist(), exact, strict=True))
        assert worst <= 2.0**-45 * C * loss.steepest(C, 1.0)


@every_loss
def test_a_pass_gives_the_same_bits_in_any_order_and_any_blocks(loss):
    loss = SmoothedHinge(0.1) if isinstance(loss, Hinge) else loss
    points, labels = cloud(5000)
    weights = Weights(3 * RNG.normal(size=(1, 4)))
    order = RNG.permutation(5000)
    arranged = [
        Fixed(points, labels), Fixed(points, labels, rows=1000), Fixed(points[order], labels[order]),
        Fixed(points[::-1], labels[::-1], rows=4095),
    ]  # fmt: skip
    found = {evaluate(problem(e, loss, 7.0), weights, curved=False).gradient.tobytes() for e in arranged}
    assert len(found) == 1


@every_loss
def test_the_hessian_is_the_derivative_of_the_gradient(loss):
    loss = SmoothedHinge(0.3) if isinstance(loss, Hinge) else loss
    asked = problem(Fixed(*cloud(500)), loss, 20.0)
    here = RNG.normal(size=(1, 4))
    hessian = evaluate(asked, Weights(here), curved=True).hessian[0] + np.eye(4)
    for j in range(4):
        step = 1e-6 * np.eye(4)[None, j]
        ends = [evaluate(asked, Weights(here + s * step), curved=False).gradient[0] for s in (-1, 1)]
        assert (ends[1] - ends[0]) / 2e-6 == pytest.approx(hessian[j], abs=1e-6 * np.abs(hessian).max())


# --- data that would stop a careless solver ---------------------------------------------------------------------

POINT = np.array([0.6, -0.5, 0.3, 0.1])
DEGENERATE = {
    "nothing": (np.zeros((0, 4)), np.zeros(0)),
    "one record": (POINT[None], [1.0]),
    "one record at the origin": (np.zeros((1, 4)), [-1.0]),
    "all the same": (np.tile(POINT, (500, 1)), np.ones(500)),
    "the same with both labels": (np.tile(POINT, (500, 1)), np.tile([1.0, -1.0], 250)),
    "all zero": (np.zeros((500, 4)), np.tile([1.0, -1.0], 250)),
    "all silent": (np.tile(POINT, (20, 1)), np.full(20, np.nan)),
    "opposite": (np.tile([POINT, -POINT], (250, 1)), np.tile([1.0, -1.0], 250)),
    "tiny": (2.0**-19 * np.sign(RNG.normal(size=(50, 4))), np.tile([1.0, -1.0], 25)),
    "unit": (np.tile(np.eye(4), (50, 1)), np.ones(200)),
    "separated by a hair": (np.array([[1.0, 0, 0, 0], [1.0 - 2.0**-18, 0, 0, 0]] * 50), np.tile([1.0, -1.0], 50)),
}


@pytest.mark.few(26)
@every_loss
@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.parametrize("C", [1e-6, 1.0, 4.0, 1e6])
def test_degenerate_data_end(loss, name, C):
    features, targets = DEGENERATE[name]
    examples = Fixed(features, targets)
    steepest = loss.steepest(C, 1.0)
    tolerance = 2.0**-12 * 2 * C * steepest / max(1, len(features)) + 2.0**-22 * (C * steepest + math.sqrt(C))
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        found = minimise(problem(examples, loss, C), tolerance)
    assert np.isfinite(found).all()
    assert np.linalg.norm(found) <= C * steepest * (1 + 1e-9) + tolerance


def test_a_hinge_with_every_record_on_its_margin():
    """``w`` would grow past a margin of 1 at ``C = 1 / |x|^2``; from then on it stays, and every dual is open."""
    kept = Fixed(np.tile(POINT, (300, 1)), np.ones(300)).seen[0]
    for C in (1 / (kept @ kept), 3.0, 100.0, 1e4):
        found = minimise(problem(Fixed(np.tile(POINT, (300, 1)), np.ones(300)), Hinge(), C), 1e-6)
        assert found[0] == pytest.approx(kept / (kept @ kept), abs=1e-6)
    half = minimise(problem(Fixed(np.tile(POINT, (300, 1)), np.ones(300)), Hinge(), 0.5 / (kept @ kept)), 1e-6)
    assert half[0] == pytest.approx(0.5 * kept / (kept @ kept), abs=1e-6)


# --- an end, in the arithmetic that runs --------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [Logistic(), SmoothedHuber(), Hinge()], ids=repr)
def test_descent_meets_the_tolerance_where_newton_may_not_try(loss, monkeypatch):
    """After a public number of passes come gradient steps: slow, but with an end, and no nearer to anybody's data."""
    monkeypatch.setattr(solver, "_NEWTON_PASSES", 0)
    examples, tolerance = Fixed(*cloud(30)), 1e-2 if isinstance(loss, Hinge) else 1e-9
    slow = minimise(problem(examples, loss, 0.5), tolerance)
    monkeypatch.undo()
    assert np.linalg.norm(slow - minimise(problem(examples, loss, 0.5), tolerance / 10)) <= 2 * tolerance


def test_two_outputs_may_have_tolerances_of_their_own():
    features, signs = cloud(60)
    both = problem(Fixed(features, np.stack([signs, -signs], axis=1)), Logistic(), 50.0)
    exact = minimise(both, 1e-11)
    found = minimise(both, np.array([1e-10, 1e3]))
    assert np.linalg.norm(found[0] - exact[0]) <= 2e-10
    assert np.linalg.norm(found[1]) == 0


def counted(monkeypatch, most):
    """Passes are counted, and more than that many are an error."""
    passes, evaluate_once = [], solver.evaluate

    def evaluate_counted(*given, **options):
        passes.append(1)
        assert len(passes) <= most, "the solver goes on and on"
        return evaluate_once(*given, **options)

    monkeypatch.setattr(solver, "evaluate", evaluate_counted)
    return passes


@pytest.mark.parametrize("seed", [8, 39, 41])
def test_two_ways_of_being_better_do_not_undo_each_other(seed, monkeypatch):
    """A sharp hinge and many more rows than expected: an objective that falls and a gradient that falls took turns."""
    rng = np.random.default_rng(seed)
    points, labels = rng.uniform(0, 1, (55, 1)), rng.choice([-1.0, 1.0], 55)
    features = feature_map(RBF(24.4), Landmarks(16), Box([(0, 1)]))(points) * 0.999
    counted(monkeypatch, 1000)
    asked = Problem(Fixed(features, labels), SmoothedHinge(0.0027), 44850.0, 2.0, np.zeros((1, 16)))
    minimise(asked, 44850.0 * 2.0**-12)


@pytest.mark.parametrize("power", [30, 44, 60])
def test_a_monstrous_offset_takes_no_digits_from_other_outputs(power, monkeypatch):
    """Theorem 4 of docs/proofs/solver.md speaks of each output's own weights: they have a grid of their own."""
    rng, C = np.random.default_rng(0), 2.0**24
    turn, classes = rng.uniform(0, 6.28, 200), rng.integers(0, 3, 200)
    features = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    targets = np.where(classes[:, None] == range(3), 1.0, -1.0)
    offset, tolerance = np.zeros((3, 2)), C * 2.0**-45
    offset[0, 0] = C * 2.0**power
    counted(monkeypatch, 400)
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        found = minimise(
            problem(Fixed(features, targets), Logistic(), C, offset),
            np.maximum(tolerance, 2.0**-47 * np.linalg.norm(offset, axis=1)),
        )
    alone = minimise(problem(Fixed(features, targets[:, 1:]), Logistic(), C), tolerance)
    assert np.linalg.norm(found[1:] - alone, axis=1).max() <= 4 * tolerance


@pytest.mark.few(2)
@pytest.mark.parametrize("loss", [Logistic(), SmoothedHinge(1e-3), SmoothedHuber(1e-3), Hinge()], ids=repr)
def test_a_bad_start_and_near_copies_do_not_hold_newton_up(loss, monkeypatch):
    """Where all slopes are flat or a cluster is tight, the norm of the gradient falls too slowly to be led by alone."""
    rng = np.random.default_rng(5)
    for spread in (1e-6, 1e-3, 1.0):
        points = rng.normal(size=5) + spread * rng.normal(size=(60, 5))
        points /= np.maximum(1.0, np.linalg.norm(points, axis=1, keepdims=True) * 1.01)
        asked = problem(Fixed(points, np.sign(rng.normal(size=60))), loss, 2.0**20)
        start = None if isinstance(loss, Hinge) else rng.normal(size=(1, 5)) * 2.0**20
        with monkeypatch.context() as m:
            counted(m, 2000)
            minimise(asked, 2.0**-19 if isinstance(loss, Hinge) else 2.0**-25, start)


def test_a_record_far_from_a_sharp_corner_counts_the_same_among_any_others():
    """A third of the records bend the loss next to nothing: how many of them stand in a block must not matter."""
    roots = np.where(np.arange(3072) % 3 == 0, 2.0**-32, 1.0)[:, None]
    features = np.full((3072, 2), 2.0**19)
    few, many = np.zeros((2, 3, 1, 2, 2), dtype=np.int64)
    _add_curvature(few, features, roots)
    for part in (roots == 1.0, roots != 1.0):  # a block of those that bend it, and one of the others
        chosen = part[:, 0]
        _add_curvature(many, features[chosen], roots[chosen])
    assert (few == many).all()
