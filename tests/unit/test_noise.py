"""Noise for people who know what they do: shapes, types, grids, refusals."""

import math
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core import mechanism
from sfumato.errors import ParameterError
from sfumato.noise import _whole

laplace, gaussian = sf.noise.laplace, sf.noise.gaussian

CALLS = {
    "laplace": lambda values, **kind: laplace(values, l1=1.0, epsilon=1.0, **kind),
    "gaussian": lambda values, **kind: gaussian(values, l2=1.0, epsilon=1.0, delta=1e-6, **kind),
    "gaussian in rho": lambda values, **kind: gaussian(values, l2=1.0, rho=0.5, **kind),
}
DTYPES = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool"]


@pytest.mark.few(18)
@pytest.mark.parametrize("add", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("shape", [(1,), (5,), (2, 3), (2, 1, 4), (0,), (3, 0)])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_shapes_are_kept(add, shape, dtype):
    assert add(np.zeros(shape, dtype=dtype)).shape == shape


@pytest.mark.few(30)
@pytest.mark.parametrize("add", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "longdouble", "object", "complex128", "U3", *DTYPES])
@pytest.mark.parametrize("size", [0, 3])
def test_the_kind_of_the_result_is_the_callers_word(add, dtype, size):
    values = np.zeros(size, dtype=dtype)
    assert add(values).dtype == np.float64
    assert add(values, integer=True).dtype == np.int64


@pytest.mark.parametrize("add", CALLS.values(), ids=CALLS)
def test_scalars_and_lists(add):
    assert isinstance(add(3.5), float)
    assert isinstance(add(3), float)
    assert isinstance(add(3, integer=True), np.int64)
    assert np.ndim(add(3)) == 0
    assert add([1, 2]).shape == add((1, 2)).shape == add(range(2)).shape == (2,)


@pytest.mark.parametrize("dtype", DTYPES)
def test_integers_keep_their_value_without_noise(no_noise, dtype):
    info = (0, 1) if dtype == "bool" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    values = np.array([0, 1, *info], dtype=dtype)
    expected = [max(-(2**61), min(2**61, int(v))) for v in values.tolist()]
    assert laplace(values, l1=1, epsilon=1.0, integer=True).tolist() == expected
    assert gaussian(values, l2=1, rho=1.0, integer=True).tolist() == expected


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
    assert laplace(np.zeros(50, dtype=int), l1=1, epsilon=0.5, integer=True).any()
    assert gaussian(np.zeros(50, dtype=int), l2=1, rho=0.05, integer=True).any()


def test_almost_no_privacy_is_almost_no_noise():
    """The noise exceeds 1e-3 with probability below e**-900."""
    assert laplace([10, 20], l1=1, epsilon=1e6, integer=True).tolist() == [10, 20]
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


HOSTILE = [
    None, "text", "\ud800", b"\xff", 1j, math.nan, math.inf, Decimal("sNaN"), Decimal("Infinity"), [1], [[1], [1, 2]],
    {}, object(), np.datetime64("2020"), np.timedelta64(3, "s"), np.ma.masked, np.zeros(2), pd.NA, pd.NaT,
]  # fmt: skip
NUMBERS = {
    2**64: 2.0**64, 2**70: 2.0**70, -(2**70): -(2.0**70), 10**400: 2.0**1023, Decimal("1.5"): 1.5, Fraction(1, 4): 0.25,
    np.float32(0.5): 0.5, np.uint8(7): 7.0, True: 1.0, 3 + 0j: 3.0, Decimal("1e400"): 2.0**1023,
}  # fmt: skip


@pytest.mark.few(38)
@pytest.mark.parametrize("integer", [False, True])
@pytest.mark.parametrize("add", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("bad", HOSTILE, ids=lambda value: type(value).__name__)
def test_what_is_no_number_counts_as_zero_and_nothing_else_changes(no_noise, add, bad, integer):
    clean, found = add([0, 20], integer=integer), add([bad, 20], integer=integer)
    assert (found.tolist(), found.dtype, found.shape) == (clean.tolist(), clean.dtype, clean.shape)
    single = add(None if isinstance(bad, list | np.ndarray) else bad, integer=integer)
    assert (float(single), single.dtype) == (0.0, clean.dtype)


@pytest.mark.parametrize("value", NUMBERS, ids=repr)
def test_numbers_of_any_type_are_numbers(no_noise, value):
    """Those beyond the grid are clipped to its end."""
    for one in ([value, 20.5], (value, 20.5), np.array([value, 20.5], dtype=object)):
        found = laplace(one, l1=2.0, epsilon=1.0)
        assert found.tolist() == laplace([NUMBERS[value], 20.5], l1=2.0, epsilon=1.0).tolist()
        whole = laplace(one, l1=2, epsilon=1.0, integer=True)
        assert whole.tolist() == [round(max(-(2**61), min(2**61, NUMBERS[value]))), 20]


@pytest.mark.parametrize("integer", [False, True])
def test_one_value_does_not_choose_the_mechanism(monkeypatch, integer):
    """A sum of whole numbers and one with a fraction in it have the same grid and the same scale."""
    seen = []
    monkeypatch.setattr(mechanism, "draw", lambda law: seen.append(law) or np.zeros(law.size, dtype=np.int64))
    for value in (30, 30.5, True, 2**64, 2**64 - 1, None, Decimal("30.5"), np.float32(30)):
        for values in (value, [value], np.array([value], dtype=object), pd.Series([value])):
            laplace(values, l1=1, epsilon=1.0, integer=integer)
    assert len({(law.exponent, law.scale) for law in seen}) == 1


@pytest.mark.parametrize(
    "values",
    [
        np.ma.array([1, 2**60 + 1], mask=[True, False]),
        pd.Series([None, 2**60 + 1], dtype="Int64"),
        pd.Series([None, 2**60 + 1], dtype=object),
        pl.Series([None, 2**60 + 1]),
        pa.array([None, 2**60 + 1]),
    ],
    ids=lambda values: type(values).__module__,
)
def test_series_and_masked_arrays_keep_whole_numbers_beside_a_gap(no_noise, values):
    assert _whole(values).tolist() == [0, 2**60 + 1]
    assert laplace(values, l1=1, epsilon=1.0, integer=True).tolist() == [0, 2**60]  # results have double precision
    assert laplace(values, l1=1e9, epsilon=1.0)[0] == 0


def test_whole_numbers_are_rounded_to_the_nearest(no_noise):
    values = [0.4, 0.5, 1.5, -2.5, Fraction(7, 2), Decimal("2.5"), np.float32(2.6), np.longdouble(-0.6)]
    expected = [0, 0, 2, -2, 4, 2, 3, -1]
    assert laplace(values, l1=1, epsilon=1.0, integer=True).tolist() == expected
    floats = np.array([float(value) for value in values])
    assert laplace(floats, l1=1, epsilon=1.0, integer=True).tolist() == expected


@pytest.mark.parametrize("integer", [None, 1, "yes"])
def test_integer_must_be_true_or_false(integer):
    with pytest.raises(ParameterError, match="integer must be True or False"):
        laplace([1], l1=1, epsilon=1.0, integer=integer)


@pytest.mark.parametrize(("bound", "expected"), [(1, 1), (1.5, 1), (2.9, 2), (0.25, 1)])
def test_whole_vectors_need_a_whole_bound_at_most(bound, expected, monkeypatch):
    """Integer vectors that differ by at most 1.5 in L1 differ by at most 1."""
    seen = []
    monkeypatch.setattr(mechanism, "draw", lambda law: seen.append(law) or np.zeros(law.size, dtype=np.int64))
    laplace([1, 2], l1=bound, epsilon=1.0, integer=True)
    assert seen[0].scale == expected
    assert seen[0].exponent == 0


@pytest.mark.parametrize("integer", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
def test_a_signalling_not_a_number_warns_nobody(integer, dtype):
    values = np.zeros(2, dtype)
    values.view(np.uint32)[:1] = 0x7F800001
    with warnings.catch_warnings(), np.errstate(all="warn"):
        warnings.simplefilter("error")
        assert sf.noise.laplace(values, l1=1.0, epsilon=1.0, integer=integer).shape == (2,)


def test_a_gap_in_a_frame_changes_no_other_number():
    for make in (pl.DataFrame, pa.table):
        found = _whole(make({"a": [2**53 + 1, 1], "b": [3, None]}))
        assert found.tolist() == [[2**53 + 1, 3], [1, 0]]
    assert _whole(pd.array([2**53 + 1, None], dtype="Int64")).tolist() == [2**53 + 1, 0]
