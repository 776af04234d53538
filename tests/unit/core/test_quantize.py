"""Fixed-point numbers: the budget holds for every input, and rounding moves nothing too far."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from sfumato.core.quantize import (
    LARGEST_BUDGET,
    _ceil_root,
    clamp_integers,
    exact_doubles,
    round_vector,
    truncate_records,
)
from sfumato.errors import ParameterError

HOSTILE = [0.0, -0.0, 5e-324, -5e-324, 2.0**-1022, 1e-30, 0.1, 1 / 3, 1.0, -1.0, 1e15, 2.0**62, 1.7e308, -1.7e308,
           math.inf, -math.inf, math.nan]  # fmt: skip
floats = st.one_of(st.floats(width=64), st.sampled_from(HOSTILE), st.floats(-2, 2))
rows = arrays.arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 9)), elements=floats)
exponents = st.integers(-60, 30)
budgets = st.one_of(st.integers(1, 300), st.integers(1, LARGEST_BUDGET), st.just(LARGEST_BUDGET))


def size(row, norm):
    """The exact norm of an integer row (squared for L2)."""
    return sum(abs(int(q)) for q in row) if norm == "l1" else sum(int(q) ** 2 for q in row)


# --- records ------------------------------------------------------------------------------------------------


@given(rows, exponents, budgets, st.sampled_from(["l1", "l2"]))
def test_no_record_ever_exceeds_the_budget(features, exponent, budget, norm):
    quantised = truncate_records(features, exponent, budget, norm)
    limit = budget if norm == "l1" else budget**2
    assert quantised.dtype == np.int64
    assert all(size(row, norm) <= limit for row in quantised)


@given(rows, exponents, budgets, st.sampled_from(["l1", "l2"]))
def test_truncation_is_toward_zero(features, exponent, budget, norm):
    step = Fraction(2) ** exponent
    for row, quantised in zip(features, truncate_records(features, exponent, budget, norm), strict=True):
        for value, q in zip(row.tolist(), quantised.tolist(), strict=True):
            if math.isfinite(value):
                assert abs(q) * step <= abs(Fraction(value))
                assert q * value >= 0


@given(rows, exponents, budgets, st.sampled_from(["l1", "l2"]))
def test_a_record_is_read_alone(features, exponent, budget, norm):
    together = truncate_records(features, exponent, budget, norm)
    alone = [truncate_records(features[i : i + 1], exponent, budget, norm)[0] for i in range(len(features))]
    assert np.array_equal(together, np.array(alone))


@given(rows, exponents, budgets, st.sampled_from(["l1", "l2"]))
def test_a_record_with_anything_not_finite_contributes_nothing(features, exponent, budget, norm):
    quantised = truncate_records(features, exponent, budget, norm)
    assert not quantised[~np.isfinite(features).all(axis=1)].any()


@given(
    arrays.arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 5)), elements=st.floats(-1, 1)),
    st.sampled_from(["l1", "l2"]),
)
def test_a_record_within_the_budget_is_only_truncated(features, norm):
    quantised = truncate_records(features, -16, LARGEST_BUDGET, norm)
    assert np.array_equal(quantised, np.trunc(features * 2.0**16).astype(np.int64))


def test_a_long_record_is_scaled_not_cut():
    quantised = truncate_records(np.array([[300.0, -400.0]]), 0, 50, "l2")
    assert quantised.tolist() == [[35, -35]]  # each coordinate is clipped to 50 first, then the row is scaled
    quantised = truncate_records(np.array([[30.0, -40.0]]), 0, 25, "l1")
    assert abs(quantised).sum() <= 25
    assert (quantised != 0).all()


def test_scaling_wastes_little_of_the_budget():
    features = np.random.default_rng(0).normal(size=(200, 5))
    for norm in ("l1", "l2"):
        budget = 2**20
        quantised = truncate_records(features, -24, budget, norm)
        used = [size(row, norm) for row in quantised]
        assert min(used) >= (budget - 10 if norm == "l1" else (budget - 10) ** 2)


@pytest.mark.parametrize("budget", [0, -1, LARGEST_BUDGET + 1])
def test_budget_must_be_in_range(budget):
    with pytest.raises(ParameterError, match=f"budget={budget}"):
        truncate_records(np.zeros((1, 1)), 0, budget, "l1")


def test_a_budget_too_fine_for_so_many_features_is_refused():
    with pytest.raises(ParameterError, match="too fine"):
        truncate_records(np.zeros((1, 2**10)), 0, LARGEST_BUDGET, "l2")
    most = truncate_records(np.full((1, 2**10 - 1), 1e300), 0, LARGEST_BUDGET, "l2")
    assert 0.99 * LARGEST_BUDGET**2 < size(most[0], "l2") <= LARGEST_BUDGET**2


@pytest.mark.parametrize("norm", ["linf", None, 2])
def test_norm_must_be_known(norm):
    with pytest.raises(ParameterError, match="norm"):
        truncate_records(np.zeros((1, 1)), 0, 1, norm)


def test_no_records_are_fine():
    assert truncate_records(np.zeros((0, 3)), 0, 10, "l2").shape == (0, 3)


@given(st.lists(st.one_of(st.integers(0, 2**62), st.integers(0, 2**31 - 1).map(lambda r: r * r)), min_size=1))
def test_ceil_root_is_exact(squares):
    squares += [max(0, s - 1) for s in squares] + [min(2**62, s + 1) for s in squares]
    roots = _ceil_root(np.array(squares, dtype=np.int64)).tolist()
    assert roots == [0 if s == 0 else math.isqrt(s - 1) + 1 for s in squares]


# --- vectors ------------------------------------------------------------------------------------------------


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(-1000, 900))
def test_rounding_is_to_the_nearest_multiple_or_to_the_clamp(value, exponent):
    steps = int(round_vector(np.array([value]), exponent)[0])
    exact = Fraction(value) / Fraction(2) ** exponent
    if abs(exact) <= 2**61:
        assert abs(steps - exact) <= Fraction(1, 2)
    else:
        assert steps == (2**61 if value > 0 else -(2**61))


@given(st.floats(-1e20, 1e20), st.floats(-1e20, 1e20), st.integers(-70, 30))
def test_rounding_moves_neighbours_at_most_one_step_further_apart(here, there, exponent):
    rounded = round_vector(np.array([here, there]), exponent).tolist()
    distance = abs(Fraction(here) - Fraction(there)) / Fraction(2) ** exponent
    assert abs(rounded[0] - rounded[1]) <= math.floor(distance) + 1


def test_a_multiple_of_the_step_is_kept():
    assert round_vector(np.array([0.75, -2.5]), -2).tolist() == [3, -10]


def test_infinities_are_clamped():
    assert round_vector(np.array([math.inf, -math.inf]), 0).tolist() == [2**61, -(2**61)]


def test_the_nearest_multiple_is_taken():
    assert round_vector(np.array([0.4, 0.5, 0.75, 1.5, -0.4, -0.75, -1.5]), 0).tolist() == [0, 0, 1, 2, 0, -1, -2]


def test_what_is_not_a_number_counts_as_nothing():
    assert round_vector(np.array([math.nan, 1.0]), 0).tolist() == [0, 1]


@pytest.mark.parametrize("exponent", [-1000, 0, 900])
def test_no_value_makes_a_warning(exponent):
    with np.errstate(all="raise"):
        assert round_vector(np.array(HOSTILE), exponent).shape == (len(HOSTILE),)
        assert truncate_records(np.array(HOSTILE)[:, None], exponent, 7, "l2").shape == (len(HOSTILE), 1)


# --- whole numbers --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.uint8, np.uint64])
def test_whole_numbers_of_any_width_are_clamped_where_they_must(kind):
    ends = np.array([np.iinfo(kind).min, 0, 5, np.iinfo(kind).max], dtype=kind)
    assert clamp_integers(ends).tolist() == [min(max(int(v), -(2**61)), 2**61) for v in ends]
    assert clamp_integers(ends, 3).tolist() == [min(max(int(v), -3), 3) for v in ends]
    assert clamp_integers(ends).dtype == np.int64


def test_doubles_of_whole_numbers_are_exact():
    numbers = np.array([2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63), 7])
    assert exact_doubles(numbers).tolist() == [2.0**53 - 1, 2.0**53, 2.0**53, -(2.0**53), 2.0**53, -(2.0**53), 7.0]
