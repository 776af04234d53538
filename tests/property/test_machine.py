"""For any records and any labels: a learner is published, nothing raises or warns, each record speaks for itself."""

import math
import warnings

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import sfumato as sf
from effort import tries
from opening import fold_blocks
from sfumato.bases.machine.landmarks import feature_map
from sfumato.bases.machine.losses import Logistic, SmoothedHinge, SmoothedHuber, Squared
from sfumato.errors import NothingThereWarning, ParameterError
from sfumato.releases.machine.response import Response
from sfumato.targets.machine.solver import Problem, Weights, evaluate, minimise

BOX = sf.Box([(0, 10), (-1, 1)])
SPECIAL = [math.nan, math.inf, -math.inf, 1.7e308, -1.7e308, 5e-324, -0.0, 0.0, 1.0, 10.0, 1e17]
anything = st.one_of(st.floats(), st.floats(-2, 12), st.sampled_from(SPECIAL))
records = st.integers(1, 25).flatmap(lambda n: arrays.arrays(np.float64, (n, 2), elements=anything))
grants = st.sampled_from(
    [
        sf.Privacy(epsilon=1.0),
        sf.Privacy(epsilon=1e-3),
        sf.Privacy(epsilon=40.0, neighbours="add-remove"),
        sf.Privacy(epsilon=0.5, delta=1e-7),
        sf.Privacy(rho=0.3),
    ]
)
USER_KERNEL = sf.UserKernel(lambda x, z: np.exp(x @ z.T), 2.0)
kernels = st.sampled_from([sf.RBF(2.0), sf.Matern(0.5), sf.Polynomial(2), sf.LinearKernel(), USER_KERNEL])
ASKED = np.array([[0.0, -1.0], [10.0, 1.0], [3.0, 0.2]])


def published(target, data, privacy, basis=None, box=BOX):
    """The release, with every warning and floating-point trap an error."""
    if basis is None:
        basis = sf.Coordinates() if isinstance(target.kernel, sf.LinearKernel) else sf.Landmarks(16)
    with warnings.catch_warnings(), np.errstate(over="raise", divide="raise", invalid="raise"):
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", NothingThereWarning)  # which noisy numbers alone decide
        return sf.release(target, data, box, privacy, basis=basis)


# --- any values -------------------------------------------------------------------------------------------------


@tries(60)
@given(
    records,
    st.data(),
    st.sampled_from(["hinge", "logistic", "squared", "huber", "smoothed-hinge"]),
    kernels,
    grants,
    st.sampled_from(["auto", 1e-3, 1.0, 300.0]),
    st.sampled_from([[-1, 1], [0, 1, 2.5]]),
)
def test_any_records_and_labels_give_a_classifier(points, data, loss, kernel, privacy, C, classes):
    assume(loss != "squared" or privacy.neighbours == "replace")
    y = data.draw(arrays.arrays(np.float64, len(points), elements=st.one_of(anything, st.sampled_from([-1, 1, 2.5]))))
    release = published(sf.KernelMachine(loss, kernel, C, classes=classes), (points, y), privacy)
    assert np.isfinite(release(ASKED)).all()
    assert np.isin(release.predict(ASKED), classes).all()
    low, high = release.band(ASKED)
    assert (low <= release(ASKED)).all() and (release(ASKED) <= high).all()


@tries(40)
@given(records, st.data(), st.sampled_from(["squared", "huber"]), kernels, st.sampled_from([(0, 1), (-1e300, 1e300)]))
def test_any_records_and_answers_give_a_regression(points, data, loss, kernel, limits):
    y = data.draw(arrays.arrays(np.float64, len(points), elements=anything))
    target = sf.KernelMachine(loss, kernel, 10.0, range=limits)
    release = published(target, (points, y), sf.Privacy(epsilon=1.0))
    found = release.predict(ASKED)
    assert (np.isfinite(found) & (found >= limits[0]) & (found <= limits[1])).all()


@tries(30)
@given(records, st.data(), st.sampled_from([sf.Bernstein(3, 2), sf.Landmarks(9), sf.Landmarks([[1.0, 0.5]], 1)]))
def test_any_text_labels_and_bases(points, data, basis):
    words = st.one_of(st.sampled_from(["no", "yes", "", "nan", "NO"]), st.text(max_size=3))
    labels = data.draw(st.lists(words, min_size=len(points), max_size=len(points)))
    target = sf.KernelMachine("hinge", "rbf", 2.0, classes=["no", "yes"])
    release = published(target, (points, np.array(labels, dtype="U3")), sf.Privacy(epsilon=1.0), basis)
    assert set(release.predict(ASKED)) <= {"no", "yes"}


@tries(30)
@given(records, st.floats(1e-3, 1e300), st.sampled_from(["logistic", "hinge"]))
def test_records_of_a_bounded_norm(points, radius, loss):
    box = sf.Box([(-10, 10), (-1e150, 1e150)], max_norm=radius)
    labels = np.where(np.arange(len(points)) % 2, 1, 0)
    release = published(
        sf.KernelMachine(loss, "linear", 1.0, classes=[0, 1]), (points, labels), sf.Privacy(epsilon=1.0), box=box
    )
    assert np.isfinite(release([[0.0, 0.0]])).all()


# --- features ---------------------------------------------------------------------------------------------------


@given(arrays.arrays(np.float64, (6, 2), elements=anything), kernels, st.booleans())
def test_fixed_point_rows_keep_the_budget_and_are_each_their_own(points, kernel, clean):
    basis = sf.Coordinates() if isinstance(kernel, sf.LinearKernel) else sf.Landmarks(9)
    features = feature_map(kernel, basis, BOX)
    points = BOX.clean(points) if clean else points
    with np.errstate(all="raise"):
        found = features.fixed_point(points)
    for row, record in zip(found.tolist(), points, strict=True):
        assert all(v == int(v) for v in row)
        assert sum(int(v) ** 2 for v in row) <= features.budget**2
        assert not (np.isnan(record).any() and any(row))
    assert np.array_equal(features.fixed_point(points[::-1].copy()), found[::-1])


@given(
    st.lists(st.lists(st.floats(-2, 12), min_size=2, max_size=2), min_size=1, max_size=6),
    st.one_of(st.none(), st.integers(-1, 8), st.just(1.5)),
)
def test_any_landmarks_are_used_or_refused(points, rank):
    try:
        features = feature_map(sf.RBF(3.0), sf.Landmarks(points, rank), BOX)
    except ParameterError:
        return
    assert 1 <= features.size <= len(points)
    assert np.linalg.norm(features(ASKED), axis=1).max() <= 1 + 1e-6


# --- the solver -------------------------------------------------------------------------------------------------


class Few:
    """Examples of any whole numbers within 2**19, one for each output."""

    exponent = -19

    def __init__(self, whole, targets):
        self.whole, self.targets = whole, targets
        self.size, self.outputs = whole.shape[1], targets.shape[1]

    features = None  # they are here already

    def fold(self, one):
        return fold_blocks(one, [(self.whole, self.targets)])


examples = st.integers(1, 8).flatmap(
    lambda n: st.tuples(
        arrays.arrays(np.float64, (n, 3), elements=st.integers(-(2**18), 2**18).map(float)),
        arrays.arrays(np.float64, (n, 1), elements=st.sampled_from([-1.0, 1.0, math.nan])),
    )
)
losses = st.sampled_from([Logistic(), Squared(), SmoothedHuber(0.2), SmoothedHinge(0.05)])


@tries(60)
@given(examples, losses, st.floats(1e-6, 1e6), arrays.arrays(np.float64, (1, 3), elements=st.floats(-50, 50)))
def test_the_solver_meets_its_tolerance_on_any_examples(pair, loss, C, offset):
    problem = Problem(Few(*pair), loss, C / len(pair[0]), 2 * loss.steepest(C, 1.0), offset)
    tolerance = 2.0**-40 * (C * loss.steepest(C, 1.0) + np.abs(offset).max() + 1)
    found = minimise(problem, tolerance)
    assert evaluate(problem, Weights(found), curved=False).norms[0] <= 2 * tolerance


# --- responses --------------------------------------------------------------------------------------------------


@given(
    st.one_of(
        st.none(), st.text(max_size=3), st.lists(st.one_of(st.integers(), st.floats(), st.text(max_size=2)), max_size=4)
    ),
    st.one_of(st.none(), st.tuples(anything, anything), st.lists(st.integers(), max_size=3)),
)
def test_any_declaration_is_used_or_refused(classes, limits):
    try:
        response = Response("y", classes, limits)
    except ParameterError:
        return
    assert (response.classes is None) != (response.range is None)
    assert response.outputs >= 1
