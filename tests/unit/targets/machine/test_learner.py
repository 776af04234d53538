"""What is chosen from public quantities: features, C, the rank, and the noise that is predicted."""

import math

import numpy as np
import pytest

import sfumato as sf
from sfumato.bases.machine.landmarks import feature_map
from sfumato.bases.machine.learner import Learner
from sfumato.bases.machine.losses import Hinge, Logistic, SmoothedHuber, Squared
from sfumato.core.objective import calibrate_objective
from sfumato.targets.machine.learner import best_rank, features_of, predicted_noise, public_strength, reference

BOX = sf.Box([(0, 1), (0, 1)])
PURE = sf.Privacy(epsilon=1.0)
APPROXIMATE = sf.Privacy(epsilon=1.0, delta=1e-6)


def learner(**changes):
    given = {"loss": Logistic(), "C": 10.0, "mechanism": "output", "kappa": 1.0, "rows": 2000, "outputs": 1}
    return Learner(**(given | {"privacy": PURE} | changes))


# --- features ---------------------------------------------------------------------------------------------------


def test_features_are_made_once():
    assert features_of(sf.RBF(0.5), sf.Landmarks(9), BOX) is features_of(sf.RBF(0.5), sf.Landmarks(9), BOX)
    assert features_of(sf.RBF(0.6), sf.Landmarks(9), BOX) is not features_of(sf.RBF(0.5), sf.Landmarks(9), BOX)


def test_a_lattice_rests_on_the_usual_features():
    assert features_of(sf.RBF(0.5), sf.Bernstein(3), BOX).size == features_of(sf.RBF(0.5), sf.Landmarks(), BOX).size
    assert features_of(sf.LinearKernel(), sf.Bernstein(3), BOX).nodes is None


def test_the_reference_is_spread_over_the_box():
    for box, rows in ((sf.Box([(0, 1)]), 101), (BOX, 441), (sf.Box([(0, 1)] * 5), 512)):
        features = feature_map(sf.RBF(), sf.Landmarks(10), box)
        assert reference(features).shape == (rows, features.size)
    kernel = sf.Precomputed(np.eye(4), 1.0)
    features = feature_map(kernel, sf.Landmarks(), kernel.box)
    assert reference(features) @ reference(features).T == pytest.approx(np.eye(4))


# --- C ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("privacy", "parts"), [(PURE, 60), (APPROXIMATE, 20)])
@pytest.mark.parametrize("outputs", [1, 4])
@pytest.mark.parametrize("loss", [Logistic(), SmoothedHuber()], ids=repr)
def test_under_objective_noise_the_curvature_costs_a_fixed_share(privacy, parts, outputs, loss):
    C = public_strength(loss, "objective", 1.2, 5000, outputs, privacy, None)
    cost = outputs * loss.curvature * C * 1.2**2 / 5000
    assert cost == pytest.approx(1.0 / parts, rel=1e-3)
    law = calibrate_objective(learner(loss=loss, C=C, kappa=1.2, rows=5000, outputs=outputs).objective(9), privacy)
    assert law.scale > 0  # never eats the grant


@pytest.mark.parametrize("privacy", [PURE, APPROXIMATE, sf.Privacy(rho=0.5)])
@pytest.mark.parametrize("loss", [Hinge(), Logistic(), Squared()], ids=repr)
@pytest.mark.parametrize("outputs", [1, 3])
def test_under_output_noise_the_noise_has_a_fixed_size(privacy, loss, outputs):
    C = public_strength(loss, "output", 1.0, 20_000, outputs, privacy, 9)
    found = learner(loss=loss, C=C, rows=20_000, outputs=outputs, privacy=privacy)
    joint = found.distance * math.sqrt(outputs)
    factor = {PURE: math.sqrt(9 * outputs + 1), APPROXIMATE: 4.2248}.get(privacy, 1.0)
    assert joint * factor == pytest.approx(0.25, rel=0.02)


def test_more_rows_and_less_privacy_mean_less_regularisation():
    for mechanism in ("objective", "output"):
        by_rows = [public_strength(Logistic(), mechanism, 1.0, n, 1, PURE, None) for n in (10, 1000, 100_000)]
        by_epsilon = [
            public_strength(Logistic(), mechanism, 1.0, 1000, 1, sf.Privacy(epsilon=e), None) for e in (0.01, 1.0, 50.0)
        ]
        assert by_rows == sorted(by_rows) and len(set(by_rows)) == 3
        assert by_epsilon == sorted(by_epsilon) and len(set(by_epsilon)) == 3


def test_c_has_a_largest_value_and_four_digits():
    for mechanism in ("objective", "output"):
        C = public_strength(Logistic(), mechanism, 2.0, 10**12, 1, sf.Privacy(epsilon=100.0), None)
        assert pytest.approx(2.0**17 / 4, rel=1e-3) == C
        assert float(f"{C:.4g}") == C


# --- noise ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", ["output", "objective"])
def test_predicted_noise_falls_with_rows_and_grows_with_directions(mechanism):
    by_rows = [
        predicted_noise(features_of(sf.RBF(), sf.Landmarks(25, 5), BOX), learner(mechanism=mechanism, rows=n))
        for n in (500, 5000)
    ]
    assert by_rows[0] > 5 * by_rows[1]
    by_rank = [
        predicted_noise(features_of(sf.RBF(), sf.Landmarks(25, r), BOX), learner(mechanism=mechanism)) for r in (2, 12)
    ]
    assert by_rank[0] < by_rank[1]


def test_predicted_noise_is_that_of_the_law():
    """One feature of value 1: the mean of ``|Laplace|`` is its scale."""
    features = feature_map(sf.UserKernel(lambda x, z: np.ones((len(x), len(z))), 1.0), sf.Landmarks([[0.5, 0.5]]), BOX)
    found = learner(C=5.0)
    assert predicted_noise(features, found) == pytest.approx(found.distance, rel=0.25)  # 200 public simulations


def test_data_dampen_objective_noise_where_c_is_large():
    features = features_of(sf.LinearKernel(), sf.Coordinates(), BOX)
    large = {"C": 200.0, "kappa": features.norm, "rows": 20_000}
    assert predicted_noise(features, learner(mechanism="objective", **large)) < 0.5 * predicted_noise(
        features, learner(**large)
    )


# --- rank -------------------------------------------------------------------------------------------------------


@pytest.mark.few(1)
@pytest.mark.parametrize("mechanism", ["output", "objective"])
def test_more_rows_afford_more_directions(mechanism):
    features = features_of(sf.RBF(5.0), sf.Landmarks(), BOX)
    ranks = [best_rank(features, learner(mechanism=mechanism, rows=n)) for n in (100, 10**4, 10**6)]
    assert ranks == sorted(ranks)
    assert 1 <= ranks[0] < ranks[-1] <= features.size


def test_a_kernel_of_one_direction_has_rank_one():
    features = feature_map(sf.UserKernel(lambda x, z: np.ones((len(x), len(z))), 1.0), sf.Landmarks(9), BOX)
    assert best_rank(features, learner()) == 1
