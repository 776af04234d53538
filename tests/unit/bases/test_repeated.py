"""A grant that several sums share: together they keep it, and lose next to nothing."""

import math
from fractions import Fraction

import pytest

import sfumato as sf
from sfumato.bases.repeated import grant_of_one, ratio_of_all
from sfumato.checks import as_written
from sfumato.core.gaussian import noise_multiplier


@pytest.mark.parametrize("times", [1, 2, 3, 64])
def test_parts_of_a_pure_grant_never_exceed_it(times):
    one = grant_of_one(sf.Privacy(epsilon=0.3), times)
    whole = times * as_written(one.epsilon)
    assert as_written(0.3) * (1 - Fraction(1, 10**12)) < whole <= as_written(0.3) and one.delta == 0.0


@pytest.mark.parametrize("times", [1, 3, 64])
def test_of_any_other_grant_all_are_one_gaussian_mechanism(times):
    loose = grant_of_one(sf.Privacy(1.0, 1e-6), times)
    assert loose.rho * times * 2 * noise_multiplier(1.0, 1e-6) ** 2 == pytest.approx(1, rel=1e-9)
    assert ratio_of_all(math.sqrt(2 * loose.rho), times) <= 1 / noise_multiplier(1.0, 1e-6) * (1 + 1e-12)
    assert times * grant_of_one(sf.Privacy(rho=0.1), times).rho <= 0.1
