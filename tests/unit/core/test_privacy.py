"""What a caller may grant, and what a guarantee says."""

import json
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from sfumato.checks import as_written
from sfumato.core.gaussian import gaussian_delta, zcdp_delta
from sfumato.core.neighbours import Person
from sfumato.core.privacy import Guarantee, Privacy, part_of
from sfumato.errors import ParameterError, ParameterTypeError

# --- Privacy ------------------------------------------------------------------------------------------------


def test_defaults():
    privacy = Privacy(epsilon=1)
    assert (privacy.epsilon, privacy.delta, privacy.rho) == (1.0, 0.0, None)
    assert (privacy.neighbours, privacy.unit) == ("replace", "row")
    assert isinstance(privacy.epsilon, float)


def test_other_grants():
    assert Privacy(epsilon=1, delta=1e-6).delta == 1e-6
    assert Privacy(rho=0.5).rho == 0.5
    assert Privacy(epsilon=1, neighbours="add-remove").neighbours == "add-remove"
    assert Privacy(epsilon=1, unit=Person("id", 3)).unit.max_rows == 3


@pytest.mark.parametrize("name", ["epsilon", "rho"])
@pytest.mark.parametrize("value", [0, 0.0, -1, -1e-300, math.inf, -math.inf, math.nan])
def test_the_amount_must_be_positive_and_finite(name, value):
    with pytest.raises(ParameterError, match=name) as error:
        Privacy(**{name: value})
    assert f"{name}={value!r}" in str(error.value)


@pytest.mark.parametrize("gamma", [None, 0, 0.0, 0.05, 0.999])
def test_how_often_a_sampled_sensitivity_may_fall_short(gamma):
    assert Privacy(epsilon=1, gamma=gamma).gamma == gamma
    assert Privacy(rho=1, gamma=gamma).gamma == gamma


def test_nothing_is_said_about_sampled_sensitivities_by_default():
    assert Privacy(epsilon=1).gamma is None


@pytest.mark.parametrize("share", [Fraction(1, 4), Fraction(1, 3), Fraction(7, 10)])
def test_shares_of_a_grant_are_of_epsilon_or_of_rho_and_never_more_than_all(share):
    """Delta is left to the release unless it is asked for; who is protected stays the same."""
    who = {"neighbours": "add-remove", "unit": Person("id", 3), "gamma": 0.1}
    grant = Privacy(epsilon=0.7, delta=1e-6, **who)
    part, rest = part_of(grant, share), part_of(grant, 1 - share, grant.delta)
    assert (part.delta, rest.delta) == (0.0, 1e-6)
    assert part == Privacy(epsilon=part.epsilon, **who)
    assert as_written(part.epsilon) + as_written(rest.epsilon) <= as_written(0.7)
    assert part.epsilon == pytest.approx(0.7 * float(share)) and rest.epsilon == pytest.approx(0.7 * float(1 - share))
    concentrated = part_of(Privacy(rho=0.1, **who), share)
    assert concentrated == Privacy(rho=concentrated.rho, **who)
    assert concentrated.rho == pytest.approx(0.1 * float(share))


@pytest.mark.parametrize("gamma", [1, 1.0, -0.1, 2, math.inf, math.nan])
def test_gamma_lies_below_one(gamma):
    with pytest.raises(ParameterError, match=f"gamma must .*got gamma={gamma!r}"):
        Privacy(epsilon=1, gamma=gamma)


@pytest.mark.parametrize("gamma", ["0.1", True, [0.1]])
def test_gamma_is_a_number(gamma):
    with pytest.raises(ParameterTypeError, match="gamma must be a number"):
        Privacy(epsilon=1, gamma=gamma)


@pytest.mark.parametrize("name", ["epsilon", "rho"])
def test_a_whole_number_beyond_the_doubles_is_refused_like_infinity(name):
    with pytest.raises(ParameterError, match=name):
        Privacy(**{name: 10**400})


@pytest.mark.parametrize("value", ["1", [1], 1j, True])
def test_the_amount_must_be_a_number(value):
    with pytest.raises(ParameterTypeError, match="epsilon"):
        Privacy(epsilon=value)


@pytest.mark.parametrize("delta", [-1e-300, -1, 1, 1.0, 2, math.inf, math.nan])
def test_delta_must_be_a_probability_below_one(delta):
    with pytest.raises(ParameterError, match="delta") as error:
        Privacy(epsilon=1, delta=delta)
    assert repr(delta) in str(error.value) or repr(float(delta)) in str(error.value)


@pytest.mark.parametrize("delta", [5e-324, 1e-310])
def test_a_delta_that_doubles_cannot_resolve_is_refused(delta):
    with pytest.raises(ParameterError, match="delta"):
        Privacy(epsilon=1, delta=delta)


@pytest.mark.parametrize("epsilon", [Fraction(1, 3), 2**53 + 1])
def test_an_amount_is_never_rounded(epsilon):
    with pytest.raises(ParameterError, match="epsilon must be exactly"):
        Privacy(epsilon=epsilon)


@pytest.mark.parametrize("grant", [{}, {"delta": 0.1}, {"epsilon": 1, "rho": 1}])
def test_exactly_one_currency(grant):
    with pytest.raises(ParameterError, match="either epsilon"):
        Privacy(**grant)


def test_rho_takes_no_delta():
    with pytest.raises(ParameterError, match="delta"):
        Privacy(rho=1, delta=1e-6)


@pytest.mark.parametrize("neighbours", ["swap", None, 1])
def test_neighbours_must_be_known(neighbours):
    with pytest.raises(ParameterError, match="neighbours"):
        Privacy(epsilon=1, neighbours=neighbours)


@pytest.mark.parametrize("unit", ["person", None, 3])
def test_unit_must_be_known(unit):
    with pytest.raises(ParameterTypeError, match="unit"):
        Privacy(epsilon=1, unit=unit)


def test_privacy_is_immutable():
    with pytest.raises(AttributeError):
        Privacy(epsilon=1).epsilon = 2


# --- Guarantee ----------------------------------------------------------------------------------------------

PURE = Guarantee(1.0, 0.0, None, None, "replace", "row")


def test_defaults_of_a_guarantee():
    assert (PURE.model, PURE.confidence, PURE.assumptions) == ("central", 1.0, ())


def test_pure_epsilon_at_zero_is_epsilon():
    assert PURE.epsilon_at(0) == 1.0


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 5.0, 50.0, 700.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.01, 0.3, 0.9])
def test_pure_epsilon_at_delta_is_that_of_randomised_response(epsilon, delta):
    guarantee = Guarantee(epsilon, 0.0, None, None, "replace", "row")
    with mpmath.workdps(50):
        grown = mpmath.exp(epsilon)
        rest = grown - mpmath.mpf(delta) * (1 + grown)
        expected = float(max(mpmath.mpf(0), mpmath.log(rest))) if rest > 0 else 0.0
    assert guarantee.epsilon_at(delta) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_approximate_guarantee_holds_from_its_delta_on():
    guarantee = Guarantee(1.0, 1e-6, None, None, "replace", "row")
    assert guarantee.epsilon_at(1e-6) == 1.0
    assert guarantee.epsilon_at(1e-7) == math.inf
    assert guarantee.epsilon_at(0) == math.inf


@pytest.mark.parametrize("delta", [1e-9, 1e-5, 0.1])
def test_gaussian_guarantee_inverts_its_curve_from_above(delta):
    guarantee = Guarantee(5.0, 1e-12, None, 0.8, "replace", "row")
    epsilon = guarantee.epsilon_at(delta)
    assert gaussian_delta(0.8, epsilon) <= delta
    assert epsilon == 0 or gaussian_delta(0.8, epsilon * (1 - 1e-9)) > delta


@pytest.mark.parametrize("delta", [1e-9, 1e-5, 0.1])
def test_concentrated_guarantee_inverts_its_curve_from_above(delta):
    guarantee = Guarantee(None, None, 0.3, None, "replace", "row")
    epsilon = guarantee.epsilon_at(delta)
    assert zcdp_delta(0.3, epsilon) <= delta
    assert zcdp_delta(0.3, epsilon * (1 - 1e-6)) > delta


def test_concentrated_guarantee_has_no_pure_epsilon():
    assert Guarantee(None, None, 0.3, None, "replace", "row").epsilon_at(0) == math.inf


def test_a_large_delta_needs_no_epsilon():
    assert Guarantee(None, None, 0.01, 0.1, "replace", "row").epsilon_at(0.9) == 0.0


def test_epsilon_at_decreases_in_delta():
    guarantee = Guarantee(None, None, 0.5, 1.0, "replace", "row")
    found = [guarantee.epsilon_at(10.0**-k) for k in range(1, 15)]
    assert found == sorted(found)


@pytest.mark.parametrize("delta", [-0.1, 1.0, math.nan, math.inf])
def test_epsilon_at_checks_delta(delta):
    with pytest.raises(ParameterError, match="delta"):
        PURE.epsilon_at(delta)


@pytest.mark.parametrize(
    ("guarantee", "words"),
    [
        (PURE, "1-differential privacy for replacing one row, central model"),
        (
            Guarantee(0.5, 1e-6, None, None, "add-remove", Person("id", 4)),
            "(0.5, 1e-06)-differential privacy for adding or removing one person (up to 4 rows), central model",
        ),
        (
            Guarantee(None, None, 0.25, None, "replace", "row", assumptions=("it is sunny",)),
            "0.25-zero-concentrated differential privacy for replacing one row, central model; it is sunny",
        ),
        (
            Guarantee(1.0, 0.0, None, None, "replace", "row", confidence=0.9),
            "random 1-differential privacy (confidence 0.9) for replacing one row, central model",
        ),
    ],
)
def test_a_guarantee_reads_as_a_sentence(guarantee, words):
    assert str(guarantee) == words


@pytest.mark.parametrize("gamma", [0, np.float32(0.5), np.float64(0.25)])
def test_gamma_becomes_a_float(gamma):
    assert type(Privacy(epsilon=1, gamma=gamma).gamma) is float
    json.dumps(Privacy(epsilon=1, gamma=gamma).gamma)


def test_delta_is_a_number_and_becomes_a_float():
    assert type(Privacy(epsilon=1, delta=0).delta) is float
    with pytest.raises(ParameterTypeError, match="delta"):
        Privacy(epsilon=1, delta=False)


def test_the_least_delta():
    assert Privacy(epsilon=1, delta=1e-300).delta == 1e-300
    with pytest.raises(ParameterError, match="delta"):
        Privacy(epsilon=1, delta=math.nextafter(1e-300, 0))


def test_the_central_model_and_certainty_are_the_default():
    guarantee = Guarantee(1.0, 0.0, None, None, "replace", "row")
    assert (guarantee.model, guarantee.confidence) == ("central", 1.0)


@pytest.mark.parametrize("epsilon", [1e-9, 0.1, 1.0, 5.0, 16.0, 20.0, 30.0])
def test_pure_epsilon_at_delta_is_never_rounded_down(epsilon):
    """Where ``1 - share`` is small, too; against 50 digits."""
    guarantee = Guarantee(epsilon, 0.0, None, None, "replace", "row")
    near_one = [1 - 1e-6 * (1 + i / 7) for i in range(12)]
    for part in (1e-9, 1e-3, 0.1, 0.3, 0.5, 0.77, 0.9, 0.99, *near_one):
        with mpmath.workdps(50):
            loss = mpmath.mpf(epsilon)
            delta = float(part / (1 + mpmath.exp(-loss)))
            true = loss + mpmath.log(1 - mpmath.mpf(delta) * (1 + mpmath.exp(-loss)))
        found = guarantee.epsilon_at(delta)
        assert max(true, 0) <= found <= max(true, 0) + 1e-13 * (1 + epsilon) / (1 - part)


def test_a_delta_of_randomised_response_itself_needs_no_epsilon():
    assert Guarantee(1e-300, 0.0, None, None, "replace", "row").epsilon_at(0.5) == 0.0


def test_no_finite_epsilon_is_infinite():
    assert Guarantee(None, None, None, 1e200, "replace", "row").epsilon_at(1e-6) == math.inf


def test_assumptions_follow_one_another():
    guarantee = Guarantee(1.0, 0.0, None, None, "replace", "row", assumptions=("one", "two"))
    assert str(guarantee).endswith("central model; one; two")
