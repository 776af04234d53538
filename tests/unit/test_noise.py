"""Noise for people who know what they do: shapes, types, grids, refusals."""

import math

import numpy as np
import pytest

import sfumato as sf
from sfumato.core import mechanism
from sfumato.errors import ParameterError

laplace, gaussian = sf.noise.laplace, sf.noise.gaussian

CALLS = {
    "laplace": lambda values: laplace(values, l1=1.0, epsilon=1.0),
    "gaussian": lambda values: gaussian(values, l2=1.0, epsilon=1.0, delta=1e-6),
    "gaussian in rho": lambda values: gaussian(values, l2=1.0, rho=0.5),
}
DTYPES = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool"]


@pytest.fixture
def no_noise(monkeypatch):
    monkeypatch.setattr(mechanism, "draw", lambda law: np.zeros(law.size, dtype=np.int64))


@pytest.mark.parametrize("add", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("shape", [(1,), (5,), (2, 3), (2, 1, 4), (0,), (3, 0)])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_shapes_are_kept(add, shape, dtype):
    assert add(np.zeros(shape, dtype=dtype)).shape == shape


@pytest.mark.parametrize("add", CALLS.values(), ids=CALLS)
def test_doubles_stay_doubles_and_integers_integers(add):
    assert add(np.zeros(3)).dtype == np.float64
    assert add(np.zeros(3, dtype=np.float32)).dtype == np.float64
    for dtype in DTYPES:
        assert add(np.zeros(3, dtype=dtype)).dtype == np.int64


@pytest.mark.parametrize("add", CALLS.values(), ids=CALLS)
def test_scalars_and_lists(add):
    assert isinstance(add(3.5), float)
    assert isinstance(int(add(3)), int)
    assert np.ndim(add(3)) == 0
    assert add([1, 2]).shape == (2,)
    assert add([[1.5], [2.0]]).shape == (2, 1)


@pytest.mark.parametrize("dtype", DTYPES)
def test_integers_keep_their_value_without_noise(no_noise, dtype):
    info = (0, 1) if dtype == "bool" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    values = np.array([0, 1, *info], dtype=dtype)
    expected = [max(-(2**61), min(2**61, int(v))) for v in values.tolist()]
    assert laplace(values, l1=1, epsilon=1.0).tolist() == expected
    assert gaussian(values, l2=1, rho=1.0).tolist() == expected


def test_reals_are_rounded_to_a_fine_grid(no_noise):
    values = np.array([0.1, -1 / 3, 1e6, math.pi])
    assert laplace(values, l1=1.0, epsilon=1.0) == pytest.approx(values, abs=1e-3)
    assert gaussian(values, l2=1.0, rho=1.0) == pytest.approx(values, abs=1e-3)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_counts_as_zero(no_noise, bad):
    assert laplace([bad, 2.0], l1=1.0, epsilon=1.0) == pytest.approx([0.0, 2.0], abs=1e-3)
    assert gaussian([bad, 2.0], l2=1.0, rho=1.0) == pytest.approx([0.0, 2.0], abs=1e-3)


@pytest.mark.parametrize("value", [1.7e308, -1.7e308, 5e-324, -0.0])
def test_any_value_gives_a_finite_number_and_no_warning(value):
    with np.errstate(all="raise"):
        assert np.isfinite(laplace([value], l1=1.0, epsilon=1.0)).all()
        assert np.isfinite(gaussian([value], l2=1.0, rho=1.0)).all()


def test_the_values_are_left_alone():
    for values in (np.array([1.0, np.nan]), np.array([1, 2])):
        before = values.copy()
        laplace(values, l1=1, epsilon=1.0)
        assert np.array_equal(values, before, equal_nan=values.dtype.kind == "f")


def test_noise_is_added():
    """All 50 results are the value itself with probability below (1/2)**50 < 1e-15."""
    assert laplace(np.zeros(50, dtype=int), l1=1, epsilon=0.5).any()
    assert gaussian(np.zeros(50, dtype=int), l2=1, rho=0.05).any()


def test_almost_no_privacy_is_almost_no_noise():
    """The noise exceeds 1e-3 with probability below e**-900."""
    assert laplace([10, 20], l1=1, epsilon=1e6).tolist() == [10, 20]
    assert laplace([0.5], l1=1.0, epsilon=1e6) == pytest.approx([0.5], abs=1e-3)


@pytest.mark.parametrize("bound", [0, -1, math.inf, math.nan, None, "1"])
def test_bounds_must_be_positive_and_finite(bound):
    for values in ([1.0], [1], []):
        with pytest.raises(ParameterError, match="l1"):
            laplace(values, l1=bound, epsilon=1.0)
        with pytest.raises(ParameterError, match="l2"):
            gaussian(values, l2=bound, rho=1.0)


@pytest.mark.parametrize("epsilon", [0, -1, math.inf, math.nan, None])
def test_epsilon_must_be_positive_and_finite(epsilon):
    with pytest.raises(ParameterError, match="epsilon"):
        laplace([1.0], l1=1.0, epsilon=epsilon)


@pytest.mark.parametrize("delta", [-0.1, 1.0, math.nan])
def test_delta_must_be_a_probability(delta):
    with pytest.raises(ParameterError, match="delta"):
        gaussian([1.0], l2=1.0, epsilon=1.0, delta=delta)


@pytest.mark.parametrize("grant", [{}, {"epsilon": 1.0}, {"epsilon": 1.0, "rho": 1.0}, {"rho": 1.0, "delta": 0.1}])
def test_gaussian_noise_needs_a_grant_it_can_use(grant):
    with pytest.raises(ParameterError):
        gaussian([1.0], l2=1.0, **grant)


@pytest.mark.parametrize(
    "call", [lambda: laplace([1.0], epsilon=1.0), lambda: gaussian([1.0], rho=1.0), lambda: laplace([1.0], 1.0, 1.0)]
)
def test_the_sensitivity_must_be_named(call):
    with pytest.raises(TypeError):
        call()


@pytest.mark.parametrize(
    "values", ["text", [1j], [None], ["a", "b"], np.array(["2020"], dtype="datetime64[Y]"), [[1], [1, 2]], None]
)
def test_what_is_not_numbers_is_refused(values):
    with pytest.raises((ParameterError, ValueError)):
        laplace(values, l1=1.0, epsilon=1.0)


@pytest.mark.parametrize(("bound", "expected"), [(1, 1), (1.5, 1), (2.9, 2), (0.25, 1)])
def test_whole_vectors_need_a_whole_bound_at_most(bound, expected, monkeypatch):
    """Integer vectors that differ by at most 1.5 in L1 differ by at most 1."""
    seen = []
    monkeypatch.setattr(mechanism, "draw", lambda law: seen.append(law) or np.zeros(law.size, dtype=np.int64))
    laplace([1, 2], l1=bound, epsilon=1.0)
    assert seen[0].scale == expected
    assert seen[0].exponent == 0
