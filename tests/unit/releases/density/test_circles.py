"""Periodic columns have no edge: evaluation, ranges, means and samples go round."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import OutsideBoxError

GRANT = sf.Privacy(epsilon=1.0)
HOUR = sf.Periodic(0, 24)


@pytest.fixture(scope="module")
def night():
    hours = np.random.default_rng(1).normal(0.5, 2.0, 4000)
    return sf.release(sf.KDE(bandwidth=1.5), hours, sf.Box({"hour": HOUR}), GRANT)


@pytest.fixture(scope="module")
def plane():
    rng = np.random.default_rng(2)
    data = np.stack([rng.normal(0, 2, 4000), rng.uniform(0, 1, 4000)], axis=1)
    return sf.release(sf.KDE(bandwidth=(2.0, 0.2)), data, sf.Box({"hour": HOUR, "x": (0, 1)}), GRANT)


def test_evaluation_goes_round(night):
    for outside in ("refuse", "clip"):
        assert night([25.0, -1.0, 1.0 + 24e3, 24.0], outside=outside) == pytest.approx(night([1.0, 23.0, 1.0, 0.0]))
    low, high = night.band([25.0, 49.0])
    assert low[0] == pytest.approx(low[1]) and low == pytest.approx(night.band([1.0, 1.0])[0])
    assert high == pytest.approx(night.band([1.0, 1.0])[1])
    with pytest.raises(OutsideBoxError, match="NaN"):
        night([np.inf])


def test_other_columns_still_have_an_outside(plane):
    assert plane([[25.0, 0.5]]) == pytest.approx(plane([[1.0, 0.5]]))
    with pytest.raises(OutsideBoxError):
        plane([[25.0, 1.5]])
    assert plane([[25.0, 1.5]], outside="clip") == pytest.approx(plane([[1.0, 1.0]]))


@pytest.mark.parametrize("over", [(22, 4), (22, 28), (-2, 4), (46, 52), {"hour": (22.0, 4.0)}])
def test_ranges_through_midnight(night, over):
    assert night.probability(over) == pytest.approx(night.probability((22, 24)) + night.probability((0, 4)), abs=1e-9)


def test_ranges_that_are_all_or_nothing(night):
    assert night.probability((0, 24)) == night.probability((5, 29)) == night.probability((0, 100)) == pytest.approx(1.0)
    assert night.probability((5, 5)) == 0.0
    assert night.probability((4, 22)) + night.probability((22, 4)) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("over", "hours"),
    [
        ((22, 4), (22, 23, 0, 1, 2, 3, 4)),
        ((21.7, 28.2), (22, 23, 0, 1, 2, 3, 4)),
        ((-2, 4), (22, 23, 0, 1, 2, 3, 4)),
        ((9.5, 10.5), (10,)),
        ((0, 0), (0,)),
        ((24, 24), (0,)),
        ((9.2, 9.8), ()),
        ((0, 23), range(24)),
        ((5, 4), range(24)),
        ((0, 2), (0, 1, 2)),
    ],
)
def test_ranges_of_whole_numbers_hold_those_within(over, hours):
    """Each number stands for the half on both sides of it, also of midnight."""
    data = np.repeat(np.arange(24), np.arange(24) + 1)
    box = sf.Box({"hour": sf.Periodic(0, 24, whole=True)})
    release = sf.release(sf.KDE(bandwidth=1.0), data, box, sf.Privacy(epsilon=1e6))
    share = float(np.isin(data, list(hours)).mean())
    assert release.probability(over) == pytest.approx(share, abs=1e-3)
    low, high = release.probability_band(over)
    assert low - 1e-3 <= share <= high + 1e-3 and high - low < 0.02


def test_ranges_of_one_of_several_columns(plane):
    parts = [plane.probability({"hour": hours, "x": (0.2, 0.7)}) for hours in ((22, 4), (22, 24), (0, 4))]
    assert parts[0] == pytest.approx(parts[1] + parts[2])
    slice_ = plane.conditional({"x": 0.5})
    assert slice_.probability((22, 4)) == pytest.approx(
        slice_.probability((22, 24)) + slice_.probability((0, 4)), abs=1e-3
    )
    assert plane.conditional({"hour": 25.0})([0.5]) == pytest.approx(plane.conditional({"hour": 1.0})([0.5]))
    with pytest.raises(OutsideBoxError, match="'x'"):
        plane.probability({"hour": (22, 4), "x": (0.7, 0.2)})


def test_a_function_on_a_circle():
    target = sf.BlackBox(lambda data: lambda points: np.cos(2 * np.pi * points[:, 0] / 24) + 2, sensitivity=1e-9)
    release = sf.release(target, np.zeros((10, 1)), sf.Box({"hour": HOUR}), GRANT, basis=sf.Bernstein(24, order=3))
    assert release([25.0]) == release([1.0])
    assert release.integrate((22, 4)) == pytest.approx(release.integrate((22, 24)) + release.integrate((0, 4)))


def test_the_mean_is_circular(night):
    mean = night.mean()
    assert min(mean, 24 - mean) < 1.0  # the plain one is about twelve
    shifted = sf.release(sf.KDE(bandwidth=20.0), np.full(4000, 350.0), sf.Box({"angle": sf.Periodic(-180, 180)}), GRANT)
    assert shifted.mean() == pytest.approx(-10.0, abs=3.0)
    assert -180 <= shifted.mean() <= 180


def test_figures_tell_it(night):
    from sfumato.faces import face_of

    (told,) = face_of(night).data()["columns"]
    assert told["quartiles"] is None and told["mean"] == night.mean()
    assert "circular mean" in dict(face_of(night).rows())["figures"][0]


def test_whole_numbers_round_a_circle():
    weekday = sf.Periodic(0, 7, whole=True)
    assert weekday.clean(np.array([6.6, -1.0, 7.4, 2.5, 14.0, np.inf, np.nan])).tolist()[:5] == [
        0.0,
        6.0,
        0.0,
        2.0,
        0.0,
    ]
    assert np.isnan(weekday.clean(np.array([np.inf, np.nan]))).all()
    box = sf.Box({"weekday": weekday, "age": sf.Integer(0, 110), "hour": HOUR})
    expected = "{'weekday': Periodic(0.0, 7.0, whole=True), 'age': Integer(0.0, 110.0), 'hour': Periodic(0.0, 24.0)}"
    assert repr(box) == f"Box({expected})"
    with pytest.raises(sf.errors.ParameterError, match="whole=True needs bounds that are whole"):
        sf.Periodic(0, 7.5, whole=True)
    with pytest.raises(sf.errors.ParameterTypeError, match="whole must be True or False"):
        sf.Periodic(0, 7, whole=1)


def test_samples_are_whole_where_records_are():
    rng = np.random.default_rng(5)
    box = sf.Box({"weekday": sf.Periodic(0, 7, whole=True), "age": sf.Integer(0, 110)})
    data = np.stack([rng.integers(0, 7, 2000), rng.integers(20, 90, 2000)], axis=1)
    drawn = sf.release(sf.KDE(bandwidth=(1.0, 8.0)), data, box, GRANT).sample(300, seed=1)
    assert (drawn == np.rint(drawn)).all()
    assert set(drawn[:, 0]) == set(range(7))
