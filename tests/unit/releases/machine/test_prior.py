"""The classes' shares that a learner starts from: how they are read, used and kept in files."""

import json
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize

import sfumato as sf
from sfumato.core.privacy import part_of
from sfumato.errors import ParameterError, ParameterTypeError
from sfumato.releases.machine.prior import Prior, known_prior, prior_from_json
from sfumato.releases.machine.response import Response

RNG = np.random.default_rng(20)
X = RNG.random((4000, 2))
RARE = np.where(X[:, 0] + 0.2 * RNG.standard_normal(4000) > 1.05, "yes", "no")
BOX = sf.Box({"a": (0, 1), "b": (0, 1)})
TOLD = Response("label", ("no", "yes"))
PURE = sf.Privacy(epsilon=1.0)


def publish(classes=("no", "yes"), labels=RARE, privacy=PURE, **settings):
    data = {"a": X[:, 0], "b": X[:, 1], "label": labels}
    return sf.release(sf.LogisticRegression(classes=list(classes), **settings), data, BOX, privacy)


@pytest.fixture(scope="module")
def release():
    return publish()


def test_counts_are_those_of_the_classes(release):
    counts = np.array([(RARE == "no").sum(), (RARE == "yes").sum()])
    # Laplace noise of scale 40: off by 700 with a chance of 5e-8
    assert np.abs(np.array(release.handed.prior.counts) - counts).max() < 700
    assert sum(release.prior) == pytest.approx(1)


def test_a_count_that_noise_could_have_made_is_one_deviation():
    law = publish().handed.prior.law
    assert law.kind == "laplace"
    least = law.deviation * np.sqrt(2)
    assert Prior((1000.0, -50.0), law, Fraction(1, 20)).shares[1] == pytest.approx(least / (1000 + least))
    assert Prior((0.0, 0.0), law, Fraction(1, 20)).offsets == pytest.approx([0.0])


def test_logits_are_bounded():
    assert np.abs(Prior((1e-300, 1e300)).offsets).max() < 28
    assert np.abs(Prior((0.0, 1.0, 1e18), publish().handed.prior.law, Fraction(1, 2)).offsets).max() < 28


def test_logits_of_two_and_of_more_classes():
    assert Prior((3.0, 1.0)).offsets == pytest.approx([-np.log(3)])
    assert Prior((2.0, 1.0, 1.0)).offsets == pytest.approx([0.0, -np.log(3), -np.log(3)])


def test_a_learner_of_nothing_predicts_the_shares():
    release = publish(C=1e-9)
    assert release.probability([[0.5, 0.5]])[0] == pytest.approx(release.prior, abs=1e-4)
    assert release.linear()[1] == pytest.approx(release.handed.prior.offsets, abs=1e-4)


def test_what_is_minimised_starts_from_the_logits():
    """With next to no noise: the minimiser of the shifted loss, found by another solver."""
    release = publish(prior=[9, 1], C=30.0, privacy=sf.Privacy(epsilon=1e7))
    seen, signs = release.handed.features(X), np.where(RARE == "yes", 1.0, -1.0)

    def objective(weights):
        margins = signs * (seen @ weights - np.log(9))
        slopes = -1 / (1 + np.exp(margins))
        value = 30.0 * np.logaddexp(0, -margins).mean() + weights @ weights / 2
        return value, 30.0 * (slopes * signs) @ seen / len(seen) + weights

    found = minimize(objective, np.zeros(3), jac=True, tol=1e-12).x
    assert release.weights[0] == pytest.approx(found, abs=2e-4)


def test_balanced_decisions_find_a_rare_class_at_no_cost(release):
    usual, balanced = (release.predict(X, weights=weights) for weights in (None, "balanced"))
    assert (balanced == "yes").sum() > 2 * (usual == "yes").sum()
    assert (release.predict(X, weights=[1.0, 1.0]) == usual).all()
    costs = [1 / share for share in release.prior]
    assert (release.predict(X, weights=costs) == balanced).all()
    assert release.certain(X[:50], weights="balanced").shape == (50,)


def test_weights_of_three_classes():
    grade = np.digitize(X[:, 0], [0.1, 0.9])
    release = publish((0, 1, 2), grade)
    usual, heavy = release.predict(X), release.predict(X, weights=[1, 1, 1e9])
    assert (heavy == 2).all() and not (usual == 2).all()
    assert release.certain(X[:50], weights=[1, 1, 1e300]).shape == (50,)


@pytest.mark.parametrize(
    ("weights", "words"), [("even", "balanced"), ([1.0], "one for each of 2"), ([1.0, -1.0], "positive")]
)
def test_weights_that_are_none(release, weights, words):
    with pytest.raises(ParameterError, match=words):
        release.predict(X[:2], weights=weights)


def test_balanced_needs_shares_and_chances():
    with pytest.raises(ParameterError, match="prior='even' left out"):
        publish(prior="even").predict(X[:2], weights="balanced")
    hinge = sf.release(sf.KernelMachine("hinge", "linear", 1.0, classes=["no", "yes"]), (X, RARE), BOX, PURE)
    assert hinge.prior is None
    with pytest.raises(ParameterError, match="loss='logistic'"):
        hinge.predict(X[:2], weights="balanced")


def test_shares_that_a_caller_knows_cost_nothing():
    release = publish(prior=[9, 1])
    assert release.prior == pytest.approx((0.9, 0.1))
    assert release.handed.objective.epsilon == pytest.approx(0.98)


@pytest.mark.parametrize(
    ("prior", "error", "words"),
    [
        ("equal", ParameterError, "prior"),
        ([1.0], ParameterError, "2 classes, got 1"),
        ([1.0, 0.0], ParameterError, "positive"),
        (0.3, ParameterTypeError, "list of public shares"),
    ],
)
def test_priors_that_are_refused(prior, error, words):
    with pytest.raises(error, match=words):
        sf.LogisticRegression(classes=["no", "yes"], prior=prior)
    with pytest.raises(ParameterError, match="loss='logistic'"):
        sf.KernelMachine("hinge", classes=["no", "yes"], prior=[1, 2])


# --- files --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{}, {"prior": [3, 1]}, {"mechanism": "output"}, {"prior": "even"}], ids=repr)
def test_a_file_says_the_same(settings, tmp_path):
    release = publish(**settings)
    release.save(tmp_path / "model.sfumato")
    again = sf.load(tmp_path / "model.sfumato")
    assert (again(X[:99]) == release(X[:99])).all() and again.prior == release.prior
    assert again.guarantee == release.guarantee


def forged(release, **changes):
    return {**json.loads(json.dumps(release.handed.prior.to_json())), **changes}


def test_a_file_with_less_noise_in_its_counts_is_refused(release):
    assert prior_from_json(forged(release), TOLD, PURE) == release.handed.prior
    with pytest.raises(ParameterError, match="less noise"):
        prior_from_json(forged(release), TOLD, sf.Privacy(epsilon=0.9))
    with pytest.raises(ParameterError):
        prior_from_json(forged(release), TOLD, sf.Privacy(epsilon=1.0, neighbours="add-remove"))
    law = forged(release)["law"]
    for wrong in (
        {"law": {**law, "scale": "1"}},
        {"law": {**law, "size": 3}},
        {"law": {**law, "certificate": {**law["certificate"], "bound": 1}}},
        {"counts": [1.0, 2.0, 3.0]},
        {"counts": [1.0, float("nan")]},
        {"share": "1"},
        {"share": "1/1000"},
        {"more": 1},
    ):
        with pytest.raises(ParameterError):
            prior_from_json(forged(release, **wrong), TOLD, PURE)


def test_a_file_cannot_hide_that_counts_were_paid_for(release, tmp_path):
    """Without its prior, the learner's noise is less than the whole grant shares out; with a smaller share, too."""
    fields, arrays = release.fields(), release.arrays()
    common = {name: getattr(release, name) for name in ("guarantee", "law", "target", "receipt")}
    assert sf.MachineRelease.rebuild(common, BOX, fields, arrays).prior == release.prior
    hidden = {name: value for name, value in fields.items() if name != "prior"}
    with pytest.raises(ParameterError):
        sf.MachineRelease.rebuild(common, BOX, hidden, arrays)


def test_the_rest_of_a_grant():
    prior = Prior((1.0, 1.0), None, Fraction(1, 50))
    assert prior.rest(sf.Privacy(1.0, 1e-6)) == part_of(sf.Privacy(1.0, 1e-6), Fraction(49, 50), 1e-6)
    assert Prior((1.0, 1.0)).rest(PURE) == PURE
    assert known_prior((0.5, 0.5), TOLD).share is None
