"""What is predicted from public quantities: features, the share of the counts, and the noise."""

from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.bases.machine.landmarks import feature_map
from sfumato.bases.machine.learner import Learner
from sfumato.bases.machine.losses import Logistic
from sfumato.targets.machine.learner import features_of, predicted_noise, prior_share, reference

BOX = sf.Box([(0, 1), (0, 1)])
PURE = sf.Privacy(epsilon=1.0)


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


# --- the classes' shares ------------------------------------------------------------------------------------------


def test_counts_of_classes_take_a_small_share_that_falls_with_the_rows():
    shares = [prior_share(rows, PURE) for rows in (100, 5000, 10**6)]
    assert shares == [Fraction(1, 10), Fraction(1, 25), Fraction(1, 50)]
    assert prior_share(5000, sf.Privacy(rho=0.5)) == Fraction(1, 25)


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
