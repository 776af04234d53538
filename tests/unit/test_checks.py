"""Checks of public parameters: what passes, what is refused, and that the message says which and what."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from sfumato import checks
from sfumato.errors import ParameterError, ParameterTypeError


@pytest.mark.parametrize("value", [1, 1.5, np.float64(2.5), np.float32(0.1), np.int8(3), Fraction(1, 4), -7, 0])
def test_finite_numbers_pass_as_floats(value):
    found = checks.finite_number("x", value)
    assert type(found) is float
    assert found == float(value)


@pytest.mark.parametrize("value", ["1", None, True, np.True_, 1j, [1], np.array([1.0]), Decimal("1")])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(ParameterTypeError, match="x must be a number"):
        checks.finite_number("x", value)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, np.float64("nan"), 10**400, -(10**400)])
def test_what_is_not_finite_is_refused(value):
    with pytest.raises(ParameterError, match="x must be finite, got x="):
        checks.finite_number("x", value)


@pytest.mark.parametrize("value", [0, -1, -0.0, -5e-324])
def test_what_is_not_positive_is_refused(value):
    with pytest.raises(ParameterError, match="x must be positive") as error:
        checks.positive_number("x", value)
    assert f"x={value!r}" in str(error.value)


def test_the_smallest_double_is_positive():
    assert checks.positive_number("x", 5e-324) == 5e-324


@pytest.mark.parametrize("value", [1, 7, np.int64(3), np.uint8(2)])
def test_whole_numbers_pass_as_ints(value):
    assert type(checks.positive_integer("x", value)) is int


@pytest.mark.parametrize("value", [1.0, "1", None, True, Fraction(2, 1)])
def test_what_is_not_whole_is_refused(value):
    with pytest.raises(ParameterTypeError, match="x must be a whole number"):
        checks.positive_integer("x", value)


@pytest.mark.parametrize("value", [0, -3])
def test_what_is_below_one_is_refused(value):
    with pytest.raises(ParameterError, match=f"x={value}"):
        checks.positive_integer("x", value)


def test_words():
    assert checks.one_of("x", "a", ("a", "b")) == "a"
    for value in ("c", None, 3, ["a"]):
        with pytest.raises(ParameterError, match="x must be one of 'a', 'b', got x="):
            checks.one_of("x", value, ("a", "b"))


@pytest.mark.parametrize("value", [0, 1, -0.1, 1.1, math.nan])
def test_probabilities_lie_strictly_between(value):
    with pytest.raises(ParameterError, match="x"):
        checks.probability("x", value)
    assert checks.probability("x", 0.5) == 0.5


@pytest.mark.parametrize("amount", [1.0, 0.1, 0.3, 1 / 3, 1e-300, 1e300, 0.7000000000000001, 123456.789, 5e-324])
@pytest.mark.parametrize("share", [0.1, 0.3, 1 / 3, 0.9, 0.999999999999999, 1e-17])
def test_parts_read_as_written_never_exceed_the_whole(amount, share):
    fraction = checks.as_written(share)
    first, second = checks.share_of(amount, fraction), checks.share_of(amount, 1 - fraction)
    assert checks.as_written(first) <= checks.as_written(amount) * fraction
    assert checks.as_written(first) + checks.as_written(second) <= checks.as_written(amount)
    if amount > 1e-290:
        assert first == pytest.approx(amount * share, rel=1e-15, abs=0)


@pytest.mark.parametrize("number", [0.1, 1.0, 1e-300, 123.456, 5e-324])
def test_numbers_mean_what_they_print_as(number):
    assert checks.as_written(number) == Fraction(Decimal(repr(number)))
    assert checks.share_of(number, Fraction(1)) == number
