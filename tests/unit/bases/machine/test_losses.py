"""Losses: their derivatives, their constants, and the users' losses that contradict theirs."""

import math

import mpmath
import numpy as np
import pytest

import sfumato as sf
from sfumato.bases.machine.losses import NAMED, Hinge, Logistic, Loss, SmoothedHinge, SmoothedHuber, Squared, loss_of
from sfumato.errors import ParameterError, ParameterTypeError


def logistic_slope(m):
    return -1 / (1 + np.exp(np.clip(m, -500, 500)))


def logistic_bend(m):
    return np.exp(-np.abs(m)) / (1 + np.exp(-np.abs(m))) ** 2


def user_logistic(**changes):
    given = {"slope_of": logistic_slope, "bend_of": logistic_bend, "lipschitz": 1.0, "curvature": 0.25}
    return sf.UserLoss(**(given | changes))


# The loss itself, as a function of where its slope is asked for (the margin minus ``centre``, or the residual).
FORMULAS = {
    Logistic(): lambda m: mpmath.log1p(mpmath.exp(-m)),
    Squared(): lambda r: r * r,
    SmoothedHuber(): lambda r: mpmath.sqrt(1 + r * r) - 1,
    SmoothedHuber(0.3): lambda r: mpmath.mpf(0.3) ** 2 * (mpmath.sqrt(1 + (r / mpmath.mpf(0.3)) ** 2) - 1),
    SmoothedHinge(): lambda m: 0.5 * mpmath.log1p(mpmath.exp(-m / 0.5)),
    SmoothedHinge(0.125): lambda m: 0.125 * mpmath.log1p(mpmath.exp(-m / 0.125)),
}
SMOOTH = [*FORMULAS, user_logistic()]
PLACES = np.concatenate([np.linspace(-8, 8, 161), [-700.0, -60.0, 60.0, 700.0, 1e-9]])
formula = pytest.mark.parametrize("loss", FORMULAS, ids=repr)
smooth = pytest.mark.parametrize("loss", SMOOTH, ids=repr)


# --- derivatives ------------------------------------------------------------------------------------------------


@formula
def test_slopes_and_bends_are_the_derivatives(loss):
    """Against central differences of the loss in 60 digits."""
    with mpmath.workdps(60):
        for at, slope, bend in zip(PLACES, loss.slope(PLACES), loss.bend(PLACES), strict=True):
            value, place, step = FORMULAS[loss], mpmath.mpf(at), mpmath.mpf(10) ** -15
            below, here, above = value(place - step), value(place), value(place + step)
            assert slope == pytest.approx(float((above - below) / (2 * step)), rel=1e-12, abs=1e-14)
            assert bend == pytest.approx(float((above - 2 * here + below) / step**2), rel=1e-12, abs=1e-14)


@smooth
def test_constants_bound_the_derivatives_and_are_attained(loss):
    places = np.concatenate([np.linspace(-40, 40, 80001), [-1e100, 1e100]])
    slope, bend = loss.slope(places), loss.bend(places)
    if loss.lipschitz is not None:
        assert loss.lipschitz * 0.999 <= np.abs(slope).max() <= loss.lipschitz
    assert loss.curvature * 0.999 <= bend.max() <= loss.curvature


@smooth
def test_losses_are_convex(loss):
    places = np.linspace(-30, 30, 6001)
    assert (loss.bend(places) >= 0).all()
    assert (np.diff(loss.slope(places)) >= 0).all()


@smooth
def test_no_argument_warns_or_gives_what_is_not_finite(loss):
    places = np.array([0.0, -0.0, 5e-324, 1e-200, 1e6, -1e6, 1e100, -1e100])
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        assert np.isfinite(loss.slope(places)).all()
        assert np.isfinite(loss.bend(places)).all()


def test_smoothed_losses_become_their_corners():
    places = np.array([-2.0, -0.5, 0.5, 2.0])
    assert SmoothedHinge(1e-3).slope(places) == pytest.approx([-1, -1, 0, 0], abs=1e-9)
    assert SmoothedHuber(1e-3).slope(places) / 1e-3 == pytest.approx([-1, -1, 1, 1], abs=1e-5)


# --- constants --------------------------------------------------------------------------------------------------


def test_the_constants():
    assert (Hinge().lipschitz, Hinge().curvature, Hinge().on) == (1.0, None, "margin")
    assert (Logistic().lipschitz, Logistic().curvature) == (1.0, 0.25)
    assert (Squared().lipschitz, Squared().curvature, Squared().on) == (None, 2.0, "residual")
    assert (SmoothedHuber(0.5).lipschitz, SmoothedHuber(0.5).curvature) == (0.5, 1.0)
    assert (SmoothedHinge(0.1).lipschitz, SmoothedHinge(0.1).curvature) == (1.0, 2.5)


def test_objective_noise_needs_a_bounded_slope_and_a_bounded_bend():
    smooth = {loss: loss.smooth for loss in (Hinge(), Squared(), *SMOOTH)}
    assert [repr(loss) for loss, is_smooth in smooth.items() if not is_smooth] == ["hinge", "squared"]


@pytest.mark.parametrize("loss", [Hinge(), Logistic(), SmoothedHuber(0.7), SmoothedHinge()], ids=repr)
def test_bounded_slopes_do_not_grow_with_c(loss):
    assert loss.steepest(1e6, 3.0) == loss.lipschitz


@pytest.mark.parametrize("C", [1e-3, 1.0, 50.0])
@pytest.mark.parametrize("norm", [0.1, 1.0, 4.0])
def test_the_squared_slope_is_bounded_at_minimisers(C, norm):
    """No record that could come finds a steeper place at the minimiser of any others."""
    bound = Squared().steepest(C, norm)
    assert bound == pytest.approx(2 * (1 + norm * math.sqrt(C / 2)), rel=1e-12)
    generator = np.random.default_rng(3)
    for _ in range(50):
        x = generator.uniform(-norm, norm, size=6)
        t = generator.choice([-1.0, 1.0], size=6)
        w = 2 * C * np.mean(x * t) / (1 + 2 * C * np.mean(x * x))
        assert (2 * np.abs(generator.choice([-norm, norm]) * w - t)).max() <= bound


def test_what_has_no_derivative_says_so():
    for ask in (Hinge().slope, Hinge().bend, Loss.slope.__get__(Hinge())):
        with pytest.raises(ParameterTypeError, match="hinge has no s"):
            ask(np.zeros(1))


# --- making one -------------------------------------------------------------------------------------------------


def test_losses_by_name():
    assert {name: type(loss_of(name)) for name in NAMED} == {
        "hinge": Hinge,
        "logistic": Logistic,
        "squared": Squared,
        "huber": SmoothedHuber,
        "smoothed-hinge": SmoothedHinge,
    }
    given = SmoothedHuber(2.0)
    assert loss_of(given) is given
    with pytest.raises(ParameterError, match=r"loss must be one of 'hinge', .*got loss='log'"):
        loss_of("log")
    with pytest.raises(ParameterTypeError, match=r"sf.SmoothedHuber\(\), got loss=3"):
        loss_of(3)


def test_losses_say_what_they_are():
    assert repr(Hinge()) == "hinge"
    assert repr(SmoothedHuber(0.5)) == "huber (threshold 0.5)"
    assert repr(SmoothedHinge(0.25)) == "smoothed-hinge (width 0.25)"
    assert repr(user_logistic(name="mine")) == "mine"


@pytest.mark.parametrize("value", [0, -1.0, math.nan, math.inf])
def test_widths_are_positive(value):
    with pytest.raises(ParameterError, match="threshold"):
        SmoothedHuber(value)
    with pytest.raises(ParameterError, match="width"):
        SmoothedHinge(value)


# --- users' losses ----------------------------------------------------------------------------------------------


def test_a_user_loss_is_what_it_says():
    loss = user_logistic()
    assert loss.slope(PLACES) == pytest.approx(Logistic().slope(PLACES), abs=1e-15)
    assert loss.bend(PLACES) == pytest.approx(Logistic().bend(PLACES), abs=1e-15)
    assert loss.smooth and loss.on == "margin" and loss.centre == 0.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lipschitz": 0.9}, "has slopes within lipschitz=0.9, which is false at -60"),
        ({"curvature": 0.2}, "has second derivatives within curvature=0.2, which is false at -"),
        ({"bend_of": lambda m: -logistic_bend(m)}, "is convex, which is false at"),
        ({"slope_of": lambda m: -logistic_slope(m)}, "has a slope that never falls.*which is false at"),
        ({"bend_of": lambda m: 0 * m}, "has bend_of the slope of slope_of, which is false at"),
        ({"bend_of": lambda m: 0.1 + 0 * m}, "has bend_of the slope of slope_of, which is false at"),
        ({"slope_of": lambda m: np.where(m > 1, 0.0, -1.0), "bend_of": lambda m: 0 * m}, "bends within curvature=0.25"),
        ({"slope_of": lambda m: logistic_slope(2 * m)}, "bends within curvature=0.25, which is false at"),
        ({"slope_of": lambda m: np.where(m < -59, np.nan, logistic_slope(m))}, "is finite, which is false at -60"),
        ({"bend_of": lambda m: np.where(m == 0, np.inf, logistic_bend(m))}, "is finite, which is false at 0"),
        ({"slope_of": lambda m: logistic_slope(m)[:-1]}, "must return one number for each"),
        ({"bend_of": lambda m: 0.25}, "must return one number for each"),
        ({"convex": False}, "a loss must be convex, got convex=False"),
        ({"convex": 1}, "a loss must be convex, got convex=1"),
        ({"lipschitz": 0}, "lipschitz must be positive"),
        ({"curvature": math.inf}, "curvature must be finite"),
        ({"on": "square"}, "on must be one of 'margin', 'residual', got on='square'"),
        ({"slope_of": 3}, "must be callable"),
        ({"bend_of": None}, "must be callable"),
    ],
)
def test_a_user_loss_that_contradicts_itself_is_refused(changes, message):
    with pytest.raises(ParameterError, match=message):
        user_logistic(**changes)


def test_a_user_loss_may_be_any_convex_one():
    """Half the log-cosh loss, whose constants are 1 and 1."""
    loss = sf.UserLoss(np.tanh, lambda r: 1 - np.tanh(r) ** 2, 1.0, 1.0, on="residual", name="log-cosh")
    assert loss.smooth and loss.on == "residual"
    assert user_logistic(lipschitz=2.0, curvature=1.0).lipschitz == 2.0  # larger than need be


def test_what_a_user_loss_returns_later_is_kept_within_its_constants():
    """Beyond the samples nobody has looked: the first derivative's bound is enforced, never a NaN passed on."""
    far = 1e4
    loss = user_logistic(
        slope_of=lambda m: np.where(m > far, 50.0, np.where(m < -far, np.nan, logistic_slope(m))),
        bend_of=lambda m: np.where(m > far, -3.0, np.where(m < -far, np.nan, logistic_bend(m))),
    )
    places = np.array([2 * far, -2 * far])
    assert loss.slope(places).tolist() == [1.0, 0.0]
    assert loss.bend(places).tolist() == [0.0, 0.0]
