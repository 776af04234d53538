"""Conditional densities: slices of a joint density that integrate to one."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import OutsideBoxError, ParameterError, ParameterTypeError

PLANE = sf.Box({"x": (0, 10), "y": (0, 5)})
DATA = np.random.default_rng(2).multivariate_normal([5, 2.5], [[2.0, 0.9], [0.9, 0.6]], 3000).clip(0, [10, 5])
GRID = np.linspace(0, 5, 101)


@pytest.fixture(scope="module")
def joint():
    return sf.release(sf.KDE([0.8, 0.4]), DATA, PLANE, sf.Privacy(epsilon=1e6))


@pytest.fixture(scope="module")
def given(joint):
    return joint.conditional({"x": 6.0})


def test_it_is_the_joint_density_divided_by_its_slice(joint, given):
    slice_ = joint(np.stack([np.full(101, 6.0), GRID], axis=1))
    assert given(GRID) == pytest.approx(slice_ / np.trapezoid(slice_, GRID), rel=1e-4)
    assert given.box == sf.Box({"y": (0, 5)})
    assert "6.0" in repr(given)


def test_it_is_the_weighted_estimate_of_the_records(given):
    weights = np.exp(-0.5 * ((6 - DATA[:, 0]) / 0.8) ** 2)
    values = np.exp(-0.5 * ((GRID[:, None] - DATA[:, 1]) / 0.4) ** 2) @ weights
    assert given(GRID) == pytest.approx(values / np.trapezoid(values, GRID), abs=0.02)


def test_it_integrates_to_one(given):
    assert given.integrate() == pytest.approx(1.0, abs=1e-12)
    assert np.trapezoid(given(GRID), GRID) == pytest.approx(1.0, abs=1e-3)
    assert given.integrate((0, 2)) + given.integrate((2, 5)) == pytest.approx(1.0, abs=1e-5)
    assert given.probability((0, 2), of="surface") == pytest.approx(given.integrate((0, 2)))


def test_its_measure_is_that_of_the_records_weighted_by_the_kernel(joint, given):
    weights = np.exp(-0.5 * ((6 - DATA[:, 0]) / 0.8) ** 2)
    share = weights[DATA[:, 1] <= 2].sum() / weights.sum()
    assert given.probability((0, 2)) == pytest.approx(share, abs=0.04)  # within a cell of the lattice mass is anywhere
    assert abs((DATA[:, 1] <= 2).mean() - share) > 0.08  # of all records it is another
    assert given.mean() == pytest.approx(weights @ DATA[:, 1] / weights.sum(), abs=0.01)
    assert given.probability((0, 2)) + given.probability((2, 5)) == pytest.approx(1.0)


def test_conditions_move_what_is_correlated(joint):
    assert joint.conditional({"x": 3.0}).mean() < joint.conditional({"x": 7.0}).mean() - 0.5


def test_it_answers_what_distributions_do(given):
    assert given.quantile(0.1) < given.quantile(0.5) < given.quantile(0.9)
    assert given.sample(7, seed=1).shape == (7, 1)
    assert given(given.mode()) == pytest.approx(given(GRID).max(), rel=1e-2)


def test_its_band_surrounds_it(joint, given):
    for release in (given, sf.release(sf.KDE([2, 1]), DATA, PLANE, sf.Privacy(epsilon=1.0)).conditional({"x": 6.0})):
        low, high = release.band(GRID)
        assert (low >= 0).all() and (low <= release(GRID) * (1 + 1e-12)).all()
        assert (release(GRID) <= high * (1 + 1e-12)).all()


def test_two_columns_remain_of_three():
    box = sf.Box({"a": (0, 1), "b": (0, 1), "c": (0, 1)})
    release = sf.release(sf.KDE(0.3), np.random.default_rng(1).uniform(size=(300, 3)), box, sf.Privacy(epsilon=1e6))
    part = release.conditional({"b": 0.5})
    assert part.box.names == ("a", "c")
    assert part([[0.2, 0.3]]).shape == (1,)
    assert part.integrate() == pytest.approx(1.0)
    assert release.conditional({"a": 0.5, "c": 0.1}).box.names == ("b",)


def test_where_nobody_is_there_is_nothing():
    data = np.full((500, 2), 1.0)
    part = sf.release(sf.KDE([0.4, 0.4]), data, PLANE, sf.Privacy(epsilon=1e6)).conditional({"x": 9.9})
    assert np.isfinite(part(GRID)).all()
    low, high = part.band(GRID)
    assert (low <= high).all()


@pytest.mark.parametrize(
    ("given_", "error", "words"),
    [
        ({"x": 11.0}, OutsideBoxError, "must lie in"),
        ({"x": np.nan}, ParameterError, "finite"),
        ({"x": "six"}, ParameterTypeError, "number"),
        ({"z": 1.0}, ParameterError, "column"),
        ({"x": 1.0, "y": 1.0}, ParameterError, "at least one"),
        ({}, ParameterTypeError, "mapping"),
        (6.0, ParameterTypeError, "mapping"),
    ],
)
def test_what_is_given_must_make_sense(joint, given_, error, words):
    with pytest.raises(error, match=words):
        joint.conditional(given_)


def test_points_outside_are_refused_or_clipped(given):
    with pytest.raises(OutsideBoxError):
        given([5.5])
    assert given([5.5], outside="clip").tolist() == given([5.0]).tolist()
