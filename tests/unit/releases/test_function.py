"""A published function: calling it, its bands, its derivatives and integrals."""

import math

import numpy as np
import pytest

import sfumato as sf
from sfumato.bases.lattice.expansion import Expansion
from sfumato.core.calibration import calibrate
from sfumato.core.certificate import Certificate
from sfumato.errors import OutsideBoxError, ParameterError
from sfumato.releases.function import FunctionRelease

LINE = sf.Box({"t": (0, 10)})
PLANE = sf.Box({"age": (0, 110), "bmi": (10, 60)})


def make(basis, box, smoothness=None, privacy=None, coefficients=None):
    """A release with chosen coefficients: nothing here is random."""
    size = basis.size(box)
    law, guarantee = calibrate(
        Certificate("linf", 0.01, "replace", "stated", "page"), size, privacy or sf.Privacy(epsilon=1.0)
    )
    values = np.sin(np.arange(size)) if coefficients is None else coefficients
    return FunctionRelease(
        guarantee=guarantee,
        law=law,
        target=(("target", "test"),),
        expansion=Expansion(basis, box, values),
        smoothness=smoothness,
    )


@pytest.fixture
def line():
    return make(sf.Bernstein(8, 2), LINE, sf.Smooth(4, 1.0))


@pytest.fixture
def plane():
    return make(sf.Bernstein((4, 3), 2), PLANE)


def test_a_call_evaluates_the_expansion(line, plane):
    assert line([0.0, 5.0]).tolist() == line.expansion([0.0, 5.0]).tolist()
    assert plane([[0, 10], [110, 60]]).shape == (2,)


def test_one_column_takes_flat_points_and_columns(line):
    assert line([1.0, 2.0]).tolist() == line([[1.0], [2.0]]).tolist()
    assert line(1.0).shape == (1,)


def test_corners_are_the_corner_coefficients():
    release = make(sf.Bernstein(3), PLANE)
    corners = release([[0, 10], [0, 60], [110, 10], [110, 60]])
    assert corners == pytest.approx(release.coefficients.reshape(4, 4)[[0, 0, -1, -1], [0, -1, 0, -1]])


@pytest.mark.parametrize("method", ["__call__", "band"])
def test_points_outside_are_refused_or_clipped(line, method):
    with pytest.raises(OutsideBoxError, match="outside"):
        getattr(line, method)([11.0])
    assert np.array_equal(getattr(line, method)([11.0], outside="clip"), getattr(line, method)([10.0]))


def test_properties(line):
    assert line.box == LINE
    assert line.basis == sf.Bernstein(8, 2)
    assert line.coefficients.shape == (9,)
    assert line.kind == "function"


def test_repr_tells_the_guarantee_and_shows_no_number(line):
    text = repr(line)
    assert "1-differential privacy" in text
    assert "Bernstein(degree=8, order=2)" in text
    assert "0.84" not in text


# --- bands ------------------------------------------------------------------------------------------------------


def test_a_band_surrounds_the_value(line):
    points = np.linspace(0, 10, 7)
    low, high = line.band(points)
    assert low.shape == high.shape == (7,)
    assert (low < line(points)).all() and (line(points) < high).all()
    assert (high + low) / 2 == pytest.approx(line(points), abs=1e-12)


def test_a_band_is_always_the_same(line):
    assert np.array_equal(line.band([1.0, 2.0]), line.band([1.0, 2.0]))


def test_more_confidence_is_wider(line):
    widths = [float(np.subtract(*line.band([3.0], confidence=c)[::-1])[0]) for c in (0.5, 0.8, 0.95, 0.99, 0.9999)]
    assert widths == sorted(widths)
    assert widths[0] < widths[-1]


def test_more_noise_is_wider():
    widths = [
        np.diff(make(sf.Bernstein(5), LINE, privacy=sf.Privacy(epsilon=e)).band([3.0]), axis=0)[0, 0]
        for e in (10, 1, 0.1)
    ]
    assert widths == sorted(widths)


def test_more_points_are_no_narrower(line):
    few = np.diff(line.band([3.0]), axis=0)[0, 0]
    many = np.diff(line.band(np.r_[3.0, np.linspace(0, 10, 200)]), axis=0)[0, 0]
    assert many >= few * (1 - 1e-9)


@pytest.mark.parametrize("confidence", [0, 1, -0.1, 1.5, math.nan, "high", None])
def test_confidence_must_be_a_probability(line, confidence):
    with pytest.raises(ParameterError, match="confidence"):
        line.band([1.0], confidence=confidence)


@pytest.mark.parametrize("include", ["all", None, 3])
def test_include_must_be_a_known_word(line, include):
    with pytest.raises(ParameterError, match="include"):
        line.band([1.0], include=include)


def test_a_total_band_adds_the_approximation_error(line):
    noise, total = line.band([1.0]), line.band([1.0], include="total")
    extra = sf.Smooth(4, 1.0).approximation_error(line.basis, LINE)
    assert noise[0] - total[0] == pytest.approx([extra])
    assert total[1] - noise[1] == pytest.approx([extra])


def test_a_total_band_needs_a_promise(plane, line):
    for release in (plane, line.derivative()):
        with pytest.raises(ParameterError, match="smoothness"):
            release.band(np.full((1, release.box.dimension), 20.0), include="total", outside="clip")


def test_no_points_have_an_empty_band(line):
    low, high = line.band([])
    assert low.shape == high.shape == (0,)


# --- post-processing --------------------------------------------------------------------------------------------


def test_a_derivative_is_a_release_of_the_same_promise(line):
    slope = line.derivative()
    assert isinstance(slope, sf.FunctionRelease)
    assert slope.guarantee == line.guarantee
    step = 1e-5
    assert slope([4.0]) == pytest.approx((line([4.0 + step]) - line([4.0 - step])) / (2 * step), abs=1e-6)
    low, high = slope.band([4.0])
    assert low < slope([4.0]) < high


def test_a_derivative_of_a_plane_needs_a_column(plane):
    with pytest.raises(ParameterError, match="column"):
        plane.derivative()
    assert plane.derivative("bmi")([[30, 20]]).shape == (1,)
    assert plane.derivative(1)([[30, 20]]).tolist() == plane.derivative("bmi")([[30, 20]]).tolist()


def test_integrals(line, plane):
    assert line.integrate() == pytest.approx(line.integrate({"t": (0, 4)}) + line.integrate({"t": (4, 10)}))
    assert plane.integrate({"age": (0, 50)}) == pytest.approx(plane.integrate([(0, 50), (10, 60)]))


def test_a_constant_integrates_to_its_volume():
    release = make(sf.Bernstein(3, 2), PLANE, coefficients=np.full(16, 2.0))
    assert release.integrate() == pytest.approx(2.0 * 110 * 50)
