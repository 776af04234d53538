"""How kernel, C and rank are chosen from public quantities: by the error that is predicted of what is shipped."""

import math

import numpy as np
import pytest

import sfumato as sf
from sfumato.bases.machine.landmarks import feature_map
from sfumato.bases.machine.learner import Learner
from sfumato.bases.machine.losses import Hinge, Logistic, SmoothedHuber, Squared
from sfumato.core.mechanism import draw_objective
from sfumato.targets.machine.choice import (
    best_rank,
    best_strength,
    gaussians_for,
    linear_for,
    noise_of,
    predicted_errors,
    public_points,
    ranks_of,
    scenes,
    usual_bend,
)
from sfumato.targets.machine.learner import features_of

BOX = sf.Box([(0, 1), (0, 1)])
PURE = sf.Privacy(epsilon=1.0)
APPROXIMATE = sf.Privacy(epsilon=1.0, delta=1e-6)


def learner(**changes):
    given = {"loss": Logistic(), "C": 10.0, "mechanism": "output", "kappa": 1.0, "rows": 2000, "outputs": 1}
    return Learner(**(given | {"privacy": PURE} | changes))


def strength(box=BOX, kernel=None, **changes):
    kernel = kernel or sf.LinearKernel()
    features = feature_map(kernel, sf.Coordinates(), box)
    changes |= {"kappa": features.norm}
    loss = changes.get("loss", Logistic())
    return best_strength(features, (None,), lambda C: learner(C=C, **changes), usual_bend(loss))


# --- scenes -----------------------------------------------------------------------------------------------------


def test_made_up_records_fill_a_part_of_the_box_and_all_categories():
    box = sf.Box({"age": (0, 100), "sex": sf.Categorical(["F", "M", "other"])})
    for filled in (1.0, 0.25):
        points = public_points(box, filled)
        assert points[:, 0].min() >= 50 - 50 * filled and points[:, 0].max() <= 50 + 50 * filled
        assert set(points[:, 1]) == {0.0, 1.0, 2.0}


def test_many_columns_are_filled_evenly():
    points = public_points(sf.Box([(0, 1)] * 300), 1.0)
    assert np.abs(points.mean(axis=0) - 0.5).max() < 0.1
    assert np.quantile(np.abs(np.corrcoef(points.T) - np.eye(300)), 0.999) < 0.2


def test_the_predicted_error_of_a_parabola_is_its_error():
    """Labels fitted by ridge regression on the made-up records themselves, with noise in its objective."""
    features = feature_map(sf.LinearKernel(), sf.Coordinates(), BOX)
    found = learner(C=40.0, mechanism="objective", kappa=features.norm, rows=10**9, privacy=sf.Privacy(1.0, 1e-6))
    scene = scenes(features, (None,))[0][0]
    left = 1 / (0.15 * 40 * scene.moments + 1)
    noisy = scene.error(1 - left, 0.01 * left**2)
    quiet = scene.error(1 - left, 0 * left)
    assert noisy - quiet == pytest.approx(0.01 * float((scene.moments * left**2).sum()), rel=1e-12)
    assert scene.error(np.zeros_like(left), 0 * left) == 1.0  # nothing learned
    assert predicted_errors(features, (None,), found, 0.15)[0] < 3.0


@pytest.mark.few(1)
@pytest.mark.parametrize("privacy", [PURE, APPROXIMATE])
def test_predicted_objective_noise_is_that_of_its_law(privacy):
    found = learner(mechanism="objective", privacy=privacy)
    draws = np.stack([draw_objective(found.noise(5).law) for _ in range(400)]) * found.C / found.rows
    # 2000 numbers: their mean square has a deviation of less than 8 %; false alarms below 1e-6
    assert noise_of(found).variance(5) == pytest.approx(float(np.mean(draws**2)), rel=0.4)


# --- C ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [Logistic(), SmoothedHuber(), Hinge(), Squared()], ids=repr)
@pytest.mark.parametrize("privacy", [PURE, APPROXIMATE, sf.Privacy(rho=0.5)])
def test_a_c_is_found_for_every_loss_and_grant(loss, privacy):
    mechanisms = ["output"] if privacy.rho or not loss.smooth else ["output", "objective"]
    for mechanism in mechanisms:
        best = strength(loss=loss, privacy=privacy, mechanism=mechanism)
        assert best.error < 3.0 and best.rank is None  # better than nothing at all
        assert float(f"{best.learner.C:.4g}") == best.learner.C


@pytest.mark.parametrize("mechanism", ["objective", "output"])
def test_more_rows_and_less_privacy_mean_less_regularisation(mechanism):
    by_rows = [strength(rows=n, mechanism=mechanism).learner.C for n in (10, 1000, 100_000)]
    assert by_rows == sorted(by_rows) and len(set(by_rows)) == 3
    by_epsilon = [strength(privacy=sf.Privacy(epsilon=e), mechanism=mechanism).learner.C for e in (0.01, 1.0, 50.0)]
    assert by_epsilon == sorted(by_epsilon) and len(set(by_epsilon)) == 3


def test_many_columns_at_little_privacy_mean_more_regularisation():
    """Noise that grows with the dimension must be held down: the error of a fixed C would be that of guessing."""
    wide = sf.Box([(0, 1)] * 300, max_norm=4.0)
    few, many = (
        strength(box, rows=50_000, privacy=sf.Privacy(epsilon=0.1), mechanism="objective") for box in (BOX, wide)
    )
    assert many.learner.C < few.learner.C / 50


def test_c_has_a_largest_value():
    best = strength(rows=10**12, privacy=sf.Privacy(epsilon=100.0), mechanism="objective")
    assert best.learner.C * best.learner.kappa**2 <= 2.0**17
    assert strength(rows=10**12, mechanism="objective").learner.C > 1000


def test_a_grant_that_pays_for_no_curvature_still_gets_a_learner():
    best = strength(rows=1, privacy=sf.Privacy(epsilon=1e-9), mechanism="objective")
    assert best.error == math.inf and not best.learner.affordable


def test_classes_of_unequal_sizes_bend_a_logistic_loss_less():
    assert usual_bend(Logistic(), (0.97, 0.03)) < 0.2 * usual_bend(Logistic(), (0.5, 0.5)) == usual_bend(Logistic()) / 5


# --- rank and kernel ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", ["output", "objective"])
def test_more_rows_afford_more_directions(mechanism):
    features = features_of(sf.RBF(5.0), sf.Landmarks(), BOX)
    found = [
        best_rank(features, ranks_of(features), learner(mechanism=mechanism, rows=n), 0.15).rank
        for n in (100, 10**4, 10**6)
    ]
    assert found == sorted(found)
    assert 1 <= found[0] < found[-1] <= features.size


def test_a_kernel_of_one_direction_has_rank_one():
    features = feature_map(sf.UserKernel(lambda x, z: np.ones((len(x), len(z))), 1.0), sf.Landmarks(9), BOX)
    assert ranks_of(features) == (1,)


def test_gaussian_kernels_are_for_few_columns():
    assert len(gaussians_for(BOX)) == 4
    assert gaussians_for(sf.Box([(0, 1)] * 9)) == []
    assert gaussians_for(sf.Box({"town": sf.Categorical([f"{k}" for k in range(12)])})) == []


def test_a_constant_is_short_where_shares_are_known():
    assert linear_for(BOX, False).constant == 1.0
    assert linear_for(BOX, True).constant == pytest.approx(0.177, abs=1e-3)


def test_auto_picks_a_kernel_by_public_quantities():
    target = sf.KernelMachine("logistic", "auto", classes=[0, 1])
    curved = target.settled(BOX, 10_000, PURE)
    assert isinstance(curved.kernel, sf.RBF) and curved.rank > 3
    assert isinstance(target.settled(sf.Box([(0, 1)] * 40), 10_000, PURE).kernel, sf.LinearKernel)
    assert isinstance(target.settled(BOX, 10_000, PURE, sf.Coordinates()).kernel, sf.LinearKernel)
    assert isinstance(target.settled(BOX, 10_000, PURE, sf.Landmarks(20)).kernel, sf.RBF)
