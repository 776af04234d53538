"""Kernel machines: what is settled from public quantities, what is refused, and that they learn."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.svm import SVC

import sfumato as sf
from sfumato.bases.machine.losses import SmoothedHuber, Squared
from sfumato.errors import NothingThereWarning, OutsideBoxError, ParameterError, ParameterTypeError, SchemaError
from sfumato.targets.machine import machine
from sfumato.targets.machine.examples import hashed

RNG = np.random.default_rng(0)
BOX = sf.Box([(0, 1), (0, 1)])
PURE = sf.Privacy(epsilon=1.0)
APPROXIMATE = sf.Privacy(epsilon=1.0, delta=1e-6)
POINTS = RNG.uniform(size=(3000, 2))
LABELS = np.where(POINTS[:, 0] + POINTS[:, 1] > 1, 1.0, -1.0)
ANSWERS = np.clip(POINTS[:, 0] - POINTS[:, 1], -1, 1)
CORNERS = np.array([[0.1, 0.1], [0.9, 0.9], [0.2, 0.3], [0.8, 0.6]])
SIDES = [-1, 1, -1, 1]


def classifier(loss="hinge", kernel="rbf", C=10.0, **options):
    return sf.KernelMachine(loss, kernel, C, classes=[-1, 1], **options)


def publish(target, data=(POINTS, LABELS), privacy=PURE, box=BOX, basis=None):
    """By default on few landmarks, which need no choosing."""
    basis = basis or (sf.Coordinates() if isinstance(target.kernel, sf.LinearKernel) else sf.Landmarks(25))
    return sf.release(target, data, box, privacy, basis=basis)


@pytest.fixture
def no_noise(no_noise, monkeypatch):
    monkeypatch.setattr(machine, "draw_objective", lambda law: np.zeros(law.size))


# --- errors -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [0, -1.0, math.nan, math.inf])
def test_c_must_be_positive_and_finite(C):
    with pytest.raises(ParameterError, match=r"C must be (positive|finite), got C="):
        classifier(C=C)


@pytest.mark.parametrize("C", ["best", "", "Auto"])
def test_c_is_a_number_or_auto(C):
    with pytest.raises(ParameterError, match="C must be one of 'auto', got C="):
        classifier(C=C)


@pytest.mark.parametrize("options", [{}, {"classes": [0, 1], "range": (0, 1)}])
def test_undeclared_classes_or_range_are_refused(options):
    with pytest.raises(ParameterError, match=r"classes=\[...\].*range=\(low, high\).*never taken from the data"):
        sf.KernelMachine("hinge", "rbf", 1.0, **options)


@pytest.mark.parametrize("loss", ["hinge", "logistic", "smoothed-hinge"])
def test_a_loss_of_margins_needs_classes(loss):
    with pytest.raises(ParameterError, match=r"needs classes=\[...\]; for a range use 'squared' or 'huber'"):
        sf.KernelMachine(loss, "rbf", 1.0, range=(0, 1))


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"loss": "log"}, ParameterError, "loss must be one of"),
        ({"kernel": "gaussian"}, ParameterError, "kernel must be one of"),
        ({"mechanism": "both"}, ParameterError, "mechanism must be one of 'auto', 'descent', 'objective', 'output'"),
        ({"response": ""}, ParameterTypeError, "response must be the name of a column"),
        ({"response": 3}, ParameterTypeError, "response must be the name of a column"),
        ({"expected_rows": 0}, ParameterError, "expected_rows must be at least 1"),
        ({"expected_rows": 1.5}, ParameterTypeError, "expected_rows must be a whole number"),
    ],
)
def test_settings_are_checked(options, kind, message):
    with pytest.raises(kind, match=message):
        classifier(**options)


def test_a_response_that_is_in_the_box_is_refused():
    data = pd.DataFrame({"age": [1.0], "label": [1]})
    with pytest.raises(ParameterError, match="response='label' is also a column of the box: leave it out of the box"):
        publish(classifier(), data, box=sf.Box({"age": (0, 110), "label": (-1, 1)}))


def test_landmarks_outside_the_box_are_refused():
    with pytest.raises(OutsideBoxError, match="1 of 1 landmarks lie outside the box"):
        publish(classifier(), basis=sf.Landmarks([[0.5, 1.5]]))


def test_a_kernel_that_is_none_is_refused_before_any_record_is_read():
    target = classifier(kernel=sf.UserKernel(lambda x, z: -(x @ z.T), 1.0))
    with pytest.raises(ParameterError, match="not positive semi-definite on the landmarks"):
        sf.plan(target, BOX, PURE, 100)
    with pytest.raises(ParameterError, match="not positive semi-definite on the landmarks"):
        publish(target)


MIXED = sf.Box({"x": (0, 1), "sex": sf.Categorical(["f", "m"]), "ward": sf.Categorical(["a", "b", "c"])})


def mixed(count=400, seed=3):
    """Records whose label depends on both categories; some hold what was not declared."""
    rng = np.random.default_rng(seed)
    x, sex, ward = rng.random(count), rng.choice(["f", "m"], count), rng.choice(["a", "b", "c", "?"], count)
    told = np.where((sex == "m") ^ (ward == "b"), "yes", "no")
    return {"x": x, "sex": sex, "ward": ward, "label": told}


@pytest.mark.parametrize("kernel", [sf.RBF(1.0), sf.Polynomial(2), sf.Matern(1.5)])
def test_categories_are_learnt(kernel):
    import pandas as pd

    table = pd.DataFrame(mixed())
    target = sf.KernelMachine("logistic", kernel, 1e3, "label", ["no", "yes"], mechanism="output")
    release = sf.release(target, table, MIXED, sf.Privacy(epsilon=1e6))
    known = table[table["ward"] != "?"]
    assert (release.predict(known) == known["label"]).mean() > 0.97
    assert release.predict([[0.5, "m", "a"], [0.5, "m", "b"]]).tolist() == ["yes", "no"]


def test_two_categories_learn_what_a_column_of_zeros_and_ones_learns():
    import pandas as pd

    table = pd.DataFrame(mixed())
    numbers = table.assign(sex=(table["sex"] == "m").astype(float), x=table["x"])
    target = sf.LogisticRegression(10.0, classes=["no", "yes"], mechanism="output")
    privacy, found = sf.Privacy(epsilon=1e9), []
    for data, kind in ((table, sf.Categorical(["f", "m"])), (numbers, (0, 1))):
        found.append(sf.release(target, data, sf.Box({"x": (0, 1), "sex": kind}), privacy))
    assert found[0].law.certificate == found[1].law.certificate
    assert np.allclose(found[0].weights, found[1].weights, atol=1e-6)
    assert found[0].terms == ("x", "sex = f", "sex = m")
    slopes, intercept = found[0].linear()
    points = {"x": [0.2, 0.9], "sex": ["f", "m"]}
    assert np.allclose(slopes[0] @ [[0.2, 0.9], [1, 0], [0, 1]] + intercept, found[0](points))


def test_where_only_numbers_make_sense_categories_are_refused():
    with pytest.raises(ParameterError, match="'sex'"):
        publish(classifier(), box=MIXED, basis=sf.Bernstein(3))
    with pytest.raises(ParameterError, match="'sex'"):
        publish(sf.KernelMachine(kernel=sf.Precomputed(np.eye(3), 1.0), classes=["no", "yes"]), box=MIXED)


def test_coordinates_are_refused_for_other_kernels():
    with pytest.raises(ParameterError, match="basis of a linear kernel"):
        publish(classifier(), basis=sf.Coordinates())


def test_tables_must_have_the_columns():
    data = pd.DataFrame({"a": [0.5], "b": [0.5], "label": [1.0]})
    box = sf.Box({"a": (0, 1), "b": (0, 1)})
    assert publish(classifier(), data, box=box).classes == (-1, 1)
    with pytest.raises(SchemaError, match="'label'"):
        publish(classifier(), data.drop(columns="label"), box=box)
    with pytest.raises(SchemaError, match="'b'"):
        publish(classifier(), data.drop(columns="b"), box=box)
    with pytest.raises(SchemaError, match=r"pass an \(X, y\) pair"):
        publish(classifier(), POINTS)


# --- mechanisms -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["hinge"])
def test_objective_noise_needs_a_smooth_loss(loss):
    with pytest.raises(ParameterError, match="needs a twice differentiable loss of bounded slope, got loss=hinge"):
        publish(classifier(loss, mechanism="objective"))
    assert publish(classifier(loss)).mechanism == "output"


@pytest.mark.parametrize("options", [{"rho": 0.5}, {"epsilon": 1.0, "unit": sf.Person("who", 2)}])
def test_concentrated_grants_and_persons_take_output_noise(options):
    data = pd.DataFrame({"a": POINTS[:, 0], "b": POINTS[:, 1], "label": LABELS, "who": np.arange(3000) // 2})
    box, privacy = sf.Box({"a": (0, 1), "b": (0, 1)}), sf.Privacy(**options)
    assert publish(classifier("logistic"), data, privacy, box).mechanism == "output"
    with pytest.raises(ParameterError, match=r"needs epsilon \(not rho\) and unit='row'; use mechanism='output'"):
        publish(classifier("logistic", mechanism="objective"), data, privacy, box)


def test_bernstein_takes_output_noise():
    assert publish(classifier("logistic"), basis=sf.Bernstein(4, 2)).mechanism == "output"
    with pytest.raises(ParameterError, match=r"sf.Bernstein goes with mechanism='output'"):
        publish(classifier("logistic", mechanism="objective"), basis=sf.Bernstein(4))


@pytest.mark.parametrize("privacy", [sf.Privacy(epsilon=1.0, neighbours="add-remove"), PURE])
def test_a_squared_loss_needs_a_public_number_of_rows(privacy):
    target = sf.KernelMachine("squared", "linear", 1.0, range=(-1, 1), mechanism="output")
    if privacy is PURE:
        assert publish(target, (POINTS, ANSWERS)).mechanism == "output"
        return
    with pytest.raises(ParameterError, match="loss='squared' needs a public number of rows; use loss='huber'"):
        publish(target, (POINTS, ANSWERS), privacy)


def test_a_squared_loss_goes_through_huber_under_objective_noise():
    """Also where the number of rows is private, which is then a public guess."""
    target = sf.KernelMachine("squared", "linear", range=(-1, 1), mechanism="objective")
    assert target.settled(BOX, 1000, PURE).loss == SmoothedHuber()
    assert isinstance(sf.KernelMachine("squared", range=(0, 1), mechanism="output").settled(BOX, 9, PURE).loss, Squared)
    release = publish(target, (POINTS, ANSWERS), sf.Privacy(epsilon=1.0, neighbours="add-remove"))
    assert dict(release.target)["loss"] == "huber (threshold 1)"
    assert release.handed.loss == "huber"


def test_auto_takes_what_is_predicted_to_err_less():
    """A large C is dampened by the data's curvature; a C that the curvature cannot afford is not."""
    for C, kind in ((100.0, "objective"), (1e6, "output"), ("auto", "objective")):
        target = classifier("logistic", "linear", C)
        settled = target.settled(BOX, 3000, APPROXIMATE)
        assert settled.mechanism == kind
        if C == 100.0:
            both = [classifier("logistic", "linear", C, mechanism=m) for m in ("objective", "output")]
            errors = [sf.plan(t, BOX, APPROXIMATE, 3000).mean_noise_error for t in both]
            assert errors[0] < errors[1]


def test_a_curvature_that_costs_too_much_is_refused_where_it_was_asked_for():
    with pytest.raises(ParameterError, match=r"curvature alone costs epsilon=.*smaller C, or output noise"):
        publish(classifier("logistic", "linear", 1e6, mechanism="objective"))


# --- what is settled --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("privacy", [PURE, APPROXIMATE])
def test_c_follows_the_public_rule(privacy):
    """More rows mean a larger C; the curvature never eats the grant."""
    found = [classifier("logistic", C="auto").settled(BOX, rows, privacy) for rows in (50, 500, 5000)]
    assert found[0].C < found[1].C < found[2].C
    assert all(one.settled_learner.affordable for one in found)


def test_what_is_settled_depends_on_public_quantities_only():
    for target in (classifier("logistic", C="auto", prior="even"), classifier("hinge", "linear", "auto")):
        releases = [publish(target, (POINTS, y), basis="auto") for y in (LABELS, -LABELS, np.full(3000, np.nan))]
        assert len({r.target for r in releases}) == len({r.law for r in releases}) == 1


def test_a_private_number_of_rows_is_guessed(no_noise):
    privacy = sf.Privacy(epsilon=1.0, neighbours="add-remove")
    usual = classifier().settled(BOX, None, privacy).settled_learner
    told = classifier(expected_rows=500).settled(BOX, None, privacy).settled_learner
    assert (usual.rows, told.rows) == (10_000, 500)
    assert publish(classifier(expected_rows=3000), privacy=privacy).predict(CORNERS).tolist() == SIDES


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_the_certificate_is_twice_a_record_and_the_solvers_rest(loss, outputs):
    classes = [-1, 1] if outputs == 1 else [0, 1, 2]
    target = sf.KernelMachine(loss, "rbf", 5.0, classes=classes, mechanism="output").settled(BOX, 1000, PURE)
    found = target.certificate(sf.Landmarks(25), BOX, 1000, PURE)
    exact = math.sqrt(outputs) * 2 * 5.0 / 1000
    assert (found.norm, found.known, found.proof) == ("l2", "proved", "regularised-erm")
    assert exact <= found.bound <= 1.01 * exact
    lattice = target.certificate(sf.Bernstein(4), BOX, 1000, PURE)
    assert lattice.norm == "linf" and 0.0099 <= lattice.bound <= 0.0101


def test_under_objective_noise_the_certificate_covers_what_is_left_open():
    target = classifier("logistic", mechanism="objective").settled(BOX, 1000, PURE)
    found = target.certificate(sf.Landmarks(25), BOX, 1000, PURE)
    assert found.proof == "objective"
    assert found.bound < 1e-4 * 2 * 10.0 / 1000


def test_users_codes_are_assumptions():
    target = classifier(
        sf.UserLoss(np.tanh, lambda r: 1 - np.tanh(r) ** 2, 1.0, 1.0, on="residual"),
        sf.UserKernel(lambda x, z: np.exp(x @ z.T), 2.0),
    )
    notes = publish(target).guarantee.assumptions
    assert any("kernel" in note for note in notes) and any("loss" in note for note in notes)


def test_it_says_what_it_is():
    words = dict(publish(classifier("logistic", sf.Matern(), 2.0), basis="auto").target)
    assert words["target"] == "classifier" and words["loss"] == "logistic"
    assert words["kernel"] == "Matern(nu=1.5, length=1.0)"
    assert words["C (times the mean loss)"] == "2.0" and words["mechanism"] in ("output", "objective")
    assert "whitened directions at 81 public landmarks" in words["features"]


# --- learning ---------------------------------------------------------------------------------------------------


@pytest.mark.few(10)
@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared", "huber", "smoothed-hinge"])
@pytest.mark.parametrize("kernel", ["rbf", "matern", "polynomial", "linear"])
def test_every_loss_and_kernel_learn(loss, kernel, no_noise):
    release = publish(classifier(loss, kernel, 20.0), privacy=sf.Privacy(epsilon=20.0))
    assert release.predict(CORNERS).tolist() == SIDES


@pytest.mark.parametrize("C", [1.0, 50.0])
def test_without_noise_it_is_the_support_vector_machine_of_scikit_learn(C, no_noise):
    """Every record is a landmark, so the span holds their solution; each one mirrored keeps their intercept at 0."""
    few, labels = POINTS[:60], np.where(POINTS[:60, 0] > 0.4, 1.0, -1.0)

    def mirrored(left, right):
        values = np.exp(-((left[:, None] - right[None]) ** 2).sum(axis=2))
        return np.concatenate([values, -values], axis=1)

    gram = np.concatenate([mirrored(few, few), -mirrored(few, few)])
    theirs = SVC(C=C / 60 / 2, kernel="precomputed", tol=1e-10).fit(gram, np.concatenate([labels, -labels]))
    assert theirs.intercept_ == pytest.approx([0.0], abs=1e-6)
    release = publish(classifier("hinge", sf.RBF(1.0), C), (few, labels), basis=sf.Landmarks(few))
    expected = theirs.decision_function(mirrored(POINTS[60:90], few))
    assert release(POINTS[60:90]) == pytest.approx(expected, abs=2e-2 * C / 60 + 1e-4)


@pytest.mark.parametrize("mechanism", ["output", "objective"])
def test_three_classes_one_against_the_rest(mechanism, no_noise):
    third = np.floor(POINTS[:, 0] * 3)
    target = sf.KernelMachine("logistic", sf.RBF(8.0), 300.0, classes=[0, 1, 2], mechanism=mechanism)
    release = publish(target, (POINTS, third), sf.Privacy(epsilon=5.0))
    assert release.law.size == 3 * release.handed.size()
    assert release.predict([[0.1, 0.5], [0.5, 0.5], [0.9, 0.5]]).tolist() == [0, 1, 2]
    for k in range(3):
        alone = sf.KernelMachine("logistic", sf.RBF(8.0), 300.0, classes=[0, 1], mechanism=mechanism)
        single = publish(alone, (POINTS, (third == k) * 1.0), sf.Privacy(epsilon=5.0))
        assert single(CORNERS) == pytest.approx(release(CORNERS)[:, k], abs=1e-3)


def test_the_bernstein_lattice_has_the_learners_values(no_noise):
    lattice = publish(classifier("hinge", sf.RBF(0.5), 1.0), basis=sf.Bernstein(8, 3))
    features = publish(classifier("hinge", sf.RBF(0.5), 1.0), basis=sf.Landmarks())
    assert lattice(CORNERS) == pytest.approx(features(CORNERS), abs=0.01)
    assert lattice.law.kind == "linf" and lattice.weights.shape == (1, 81)


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_regressions_predict_within_their_range(loss, no_noise):
    target = sf.KernelMachine(loss, "linear", 50.0, response="y", range=(-10, 10))
    release = publish(target, (POINTS, 10 * ANSWERS), sf.Privacy(epsilon=20.0))
    assert release.predict(CORNERS) == pytest.approx([0, 0, -1, 2], abs=1.0)
    assert np.abs(release.predict(BOX.clean(RNG.normal(size=(50, 2))))).max() <= 10


def test_unknown_labels_change_nothing_but_the_number_of_rows(no_noise):
    more = np.concatenate([POINTS, POINTS]), np.concatenate([LABELS, np.full(3000, 7.0)])
    missing = np.concatenate([POINTS, np.full((3000, 2), np.nan)]), np.concatenate([LABELS, LABELS])
    halved = publish(classifier(C=5.0))(CORNERS)
    for data in (more, missing):
        assert publish(classifier(C=10.0), data)(CORNERS) == pytest.approx(halved, abs=1e-3)


@pytest.mark.parametrize("moved", [0.0, 1e-5, 8e-4])
def test_a_step_beside_an_output_that_has_arrived_does_not_warn(moved):
    """Whether one has, and how far its gradient is from nothing, are the records' affair."""
    kernel = sf.UserKernel(lambda a, b: 4e-24 * (a @ b.T), 1e-24)
    target = sf.KernelMachine("logistic", kernel, 1e22, response="c", classes=["a", "b", "c"], mechanism="output")
    data = (np.array([[0.5], [-0.5 + moved], [0.3], [-0.3], [0.0], [0.0]]), np.array(list("aaabca")))
    with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", NothingThereWarning)  # which noisy numbers decide on
        sf.release(target, data, sf.Box({"x": (-0.5, 0.5)}), PURE, basis=sf.Landmarks(2))


def test_a_first_guess_weighs_no_more_than_all_records_wherever_their_responses_are(monkeypatch):
    """Of many rows some are looked at first: here those are the only ones with a response."""
    weighed, done = [], machine.minimise

    def weigh(problem, *given):
        weighed.append(problem.scale * problem.examples.known())
        return done(problem, *given)

    monkeypatch.setattr(machine, "minimise", weigh)
    points, labels = RNG.uniform(size=(60_000, 1)), np.full(60_000, "?", dtype="U3")
    told = np.where(points[:, 0] > 0.5, "yes", "no")
    numbers = np.c_[points, np.where(told == "yes", 1.0, -1.0)]
    looked_at = hashed(numbers) % np.uint64(60_000 // 5_000) == 0
    labels[looked_at] = told[looked_at]
    target = sf.KernelMachine("logistic", "rbf", 1.0, classes=["no", "yes"], expected_rows=72, mechanism="output")
    privacy = sf.Privacy(epsilon=1.0, neighbours="add-remove")
    sf.release(target, (points, labels), sf.Box([(0, 1)]), privacy, basis=sf.Landmarks(5))
    first, whole = weighed
    assert first == pytest.approx(whole)
