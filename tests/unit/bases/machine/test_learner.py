"""A learner's public numbers: how far neighbours move it, what the solver leaves open, how the grant is shared."""

import math
from fractions import Fraction

import pytest

import sfumato as sf
from sfumato.bases.machine.learner import Learner
from sfumato.bases.machine.losses import Hinge, Logistic, SmoothedHuber, Squared
from sfumato.checks import as_written
from sfumato.core.objective import calibrate_objective
from sfumato.errors import ParameterError

PURE = sf.Privacy(epsilon=1.0)
APPROXIMATE = sf.Privacy(epsilon=0.7, delta=1e-6)
ADDED = sf.Privacy(epsilon=1.0, neighbours="add-remove")
ADDED_APPROXIMATE = sf.Privacy(epsilon=1.0, delta=1e-6, neighbours="add-remove")


def learner(**changes):
    given = {"loss": Logistic(), "C": 3.0, "mechanism": "output", "kappa": 1.25, "rows": 500, "outputs": 1}
    return Learner(**(given | {"privacy": PURE} | changes))


@pytest.mark.parametrize("C", [0.1, 3.0, 1e4])
@pytest.mark.parametrize("kappa", [0.5, 2.0])
def test_neighbours_move_the_minimiser_by_two_records(C, kappa):
    """``2 M C kappa / n``, from above: the printed bound lacks the 2."""
    found = learner(C=C, kappa=kappa).distance
    assert 2 * C * kappa / 500 <= found <= 2 * C * kappa / 500 * (1 + 1e-12)
    removed = learner(C=C, kappa=kappa, privacy=ADDED).distance
    assert C * kappa / 500 * (1 + 1 / 256) <= removed <= C * kappa / 500 * (1 + 1 / 256) * (1 + 1e-12)


def test_distances_scale_with_the_steepest_slope():
    assert learner(loss=SmoothedHuber(0.5)).distance == pytest.approx(learner().distance / 2)
    steep = 2 * (1 + 1.25 * math.sqrt(3.0 / 2))
    assert learner(loss=Squared()).distance == pytest.approx(learner().distance * steep)


@pytest.mark.parametrize("loss", [Hinge(), Logistic(), Squared(), SmoothedHuber()], ids=repr)
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_what_the_solver_leaves_open_is_little_beside_the_noise(loss, C):
    found = learner(loss=loss, C=C)
    assert 0 < found.tolerance(20) < found.left_open(20)
    assert found.left_open(20) <= 0.01 * found.distance + 1e-3 * (C + math.sqrt(C)) / 500


@pytest.mark.parametrize("privacy", [PURE, APPROXIMATE, sf.Privacy(epsilon=0.3, neighbours="add-remove")])
def test_objective_noise_leaves_less_open_than_it_adds(privacy):
    found = learner(mechanism="objective", privacy=privacy)
    law = found.noise(20).law
    assert found.left_open(20) >= law.rounding * 3.0 / 500
    assert found.left_open(20) <= 1e-3 * law.deviation * 3.0 / 500


@pytest.mark.parametrize("epsilon", [1.0, 0.1, 0.3, 1 / 3, 7.7])
@pytest.mark.parametrize("delta", [0.0, 1e-6, 1e-290])
def test_door_and_objective_share_the_grant_and_never_exceed_it(epsilon, delta):
    privacy = sf.Privacy(epsilon=epsilon, delta=delta, neighbours="add-remove")
    found = learner(mechanism="objective", privacy=privacy, C=0.01)
    inside, door = found.noise(5), found.door(privacy)
    assert as_written(inside.epsilon) + as_written(door.epsilon) <= as_written(epsilon)
    assert as_written(inside.delta) + as_written(door.delta) <= as_written(delta)
    assert as_written(door.epsilon) == pytest.approx(as_written(epsilon) / 50, rel=1e-12)
    assert door.neighbours == "add-remove"
    assert (as_written(inside.epsilon) + as_written(door.epsilon)) / as_written(epsilon) > 1 - Fraction(1, 10**14)


@pytest.mark.parametrize("privacy", [PURE, APPROXIMATE, sf.Privacy(rho=0.5)])
def test_output_noise_has_the_whole_grant(privacy):
    assert learner(privacy=privacy).door(privacy) is privacy


def test_objective_noise_is_that_of_its_part_of_the_grant():
    found = learner(mechanism="objective", outputs=3, privacy=APPROXIMATE).noise(7)
    objective = found.objective
    assert (objective.size, objective.blocks, objective.lipschitz, objective.curvature) == (7, 3, 1.0, 0.25)
    assert (objective.norm, objective.strength) == (1.25, 500 / 3.0)
    assert found.law == calibrate_objective(objective, sf.Privacy(epsilon=found.epsilon, delta=found.delta))


def test_a_curvature_that_costs_nearly_everything_is_not_affordable():
    assert learner(mechanism="objective", C=1.0).affordable
    assert not learner(mechanism="objective", C=5000.0).affordable
    assert not learner(mechanism="objective", C=1000.0, outputs=10).affordable


# --- a private number of rows -----------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [1, 2, 7, 500])
def test_weights_bound_the_total_and_one_record_changes_little(rows):
    """Exactly, in fractions: what the certificates of docs/proofs/regularised-erm.md, Theorem 8, rest on."""
    found, taper = learner(rows=rows, privacy=ADDED), Fraction(1, 256)
    turn = 2 * taper / (1 + taper) / rows
    for n in (*range(3), *range(rows - 1, rows + 3), *range(100 * rows, 140 * rows, max(1, rows // 7)), 10**6, 2**40):
        now, then = found.weight(n), found.weight(n + 1)
        assert 0 < then <= now <= 1
        assert n * now <= (1 + taper) ** 2 / (4 * taper) * rows
        assert then + n * (now - then) <= 1 + taper
        assert now / then - 1 <= turn * (1 + turn)
    assert found.weight(rows) == 1 > found.weight(rows + 1)
    # Beyond 128.5 times as many as expected the losses are a mean.
    assert found.weight(1000 * rows) * 1000 == found.weight(2000 * rows) * 2000


def test_a_public_number_of_rows_needs_no_weights():
    found = learner()
    assert found.weight(10**9) == 1 and found.taper == 1 and not found.assumes_few


def test_gaussian_objective_noise_names_how_many_rows_it_assumes():
    found = learner(mechanism="objective", privacy=ADDED_APPROXIMATE)
    assert found.assumes_few and found.most_rows == 32250
    assert found.weight(32250) == 1 and found.weight(64500) == Fraction(1, 2)
    assert found.objective(5).lipschitz == 1.0
    for other in (learner(privacy=ADDED_APPROXIMATE), learner(mechanism="objective", privacy=ADDED)):
        assert not other.assumes_few and other.weight(1000) < 1


def test_pure_objective_noise_pays_for_weights_that_move():
    found = learner(mechanism="objective", privacy=ADDED)
    assert found.objective(5).lipschitz == pytest.approx(1 + 1 / 256)
    assert found.objective(5).curvature == 0.25
    many = found.objective(4000)  # every direction's curvature shrinks by a share, when a record comes
    assert many.curvature_cost >= 4000 * math.log(found.weight(600) / found.weight(601)) > 0.02


@pytest.mark.parametrize("privacy", [ADDED, sf.Privacy(epsilon=1.0, unit=sf.Person("who", 2))])
def test_a_loss_of_unbounded_slope_needs_a_public_number_of_rows(privacy):
    with pytest.raises(ParameterError, match="loss='squared' needs a public number of rows"):
        learner(loss=Squared(), privacy=privacy)


@pytest.mark.parametrize("loss", [Hinge(), Squared()], ids=repr)
def test_objective_noise_needs_a_smooth_loss_of_bounded_slope(loss):
    with pytest.raises(ParameterError, match="twice differentiable loss of bounded slope"):
        learner(loss=loss, mechanism="objective")


@pytest.mark.parametrize("privacy", [sf.Privacy(rho=0.5), sf.Privacy(epsilon=1.0, unit=sf.Person("who", 2))])
def test_objective_noise_needs_epsilon_and_rows(privacy):
    with pytest.raises(ParameterError, match="needs epsilon"):
        learner(mechanism="objective", privacy=privacy)
