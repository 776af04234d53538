"""How much noise: exact formulas, the price of the grid, and what is refused."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from sfumato.checks import as_written, share_of
from sfumato.core.calibration import NoiseLaw, _grid_exponent, calibrate, copies_law
from sfumato.core.certificate import Certificate
from sfumato.core.gaussian import noise_multiplier
from sfumato.core.neighbours import Person
from sfumato.core.privacy import Privacy
from sfumato.core.quantize import round_vector
from sfumato.errors import ParameterError

PURE = Privacy(epsilon=1.0)
APPROXIMATE = Privacy(epsilon=1.0, delta=1e-6)
CONCENTRATED = Privacy(rho=0.5)


def real(norm, bound=0.1, known="proved"):
    return Certificate(norm, bound, "replace", known, "page")


def exact(norm, bound=100, exponent=-10):
    return Certificate(norm, bound, "replace", "enforced", "page", exponent)


# --- which noise --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("norm", "kind"), [("linf", "linf"), ("l1", "laplace"), ("l2", "l2")])
def test_pure_privacy_takes_the_noise_of_the_norm(norm, kind):
    assert calibrate(real(norm), 7, PURE)[0].kind == kind


def test_a_flow_takes_zero_sum_noise_and_is_a_bound_in_the_norms_below():
    law = calibrate(exact("flow"), 7, PURE)[0]
    assert (law.kind, law.scale, law.exponent) == ("zero-sum", 100, -10)
    assert calibrate(exact("flow"), 7, PURE, "zero-sum")[0] == law
    assert calibrate(exact("flow"), 7, PURE, "laplace")[0].scale == 100
    assert calibrate(exact("flow"), 7, PURE, "l2")[0].scale == 100
    assert calibrate(exact("flow"), 7, CONCENTRATED)[0].scale == calibrate(exact("l2"), 7, CONCENTRATED)[0].scale
    with pytest.raises(ParameterError, match="noise='linf'"):
        calibrate(exact("flow"), 7, PURE, "linf")


@pytest.mark.parametrize("norm", ["l1", "linf", "l2"])
def test_zero_sum_noise_needs_a_flow(norm):
    """Vectors whose sums differ are further apart than any of these norms say."""
    with pytest.raises(ParameterError, match="noise='zero-sum'"):
        calibrate(exact(norm), 7, PURE, "zero-sum")


@pytest.mark.parametrize(("size", "bound"), [(1001, 100), (2**10, 2**43)])
def test_zero_sum_noise_is_refused_where_drawing_it_takes_for_ever_or_too_many_bits(size, bound):
    with pytest.raises(ParameterError, match="64-bit"):
        calibrate(exact("flow", bound), size, PURE)
    assert calibrate(exact("flow", bound), size - 1 if bound == 100 else size // 2, PURE)[0].kind == "zero-sum"


@pytest.mark.parametrize("norm", ["linf", "l1", "l2"])
@pytest.mark.parametrize("privacy", [APPROXIMATE, CONCENTRATED])
def test_anything_weaker_takes_gaussian_noise(norm, privacy):
    assert calibrate(real(norm), 7, privacy)[0].kind == "gaussian"


@pytest.mark.parametrize(
    ("noise", "norm"), [("laplace", "l2"), ("linf", "l1"), ("linf", "l2")]
)  # an L2 bound says nothing useful about L1, an L1 bound only something wasteful about L-infinity
def test_noise_that_cannot_use_the_bound_is_refused(noise, norm):
    with pytest.raises(ParameterError, match=f"noise='{noise}'"):
        calibrate(real(norm), 7, PURE, noise)


@pytest.mark.parametrize("noise", ["cauchy", None, 3, ""])
def test_unknown_noise_is_refused(noise):
    with pytest.raises(ParameterError, match="noise"):
        calibrate(real("l1"), 7, PURE, noise)


def test_gaussian_noise_is_never_pure():
    with pytest.raises(ParameterError, match="never pure"):
        calibrate(real("l2"), 7, PURE, "gaussian")


@pytest.mark.parametrize("noise", ["laplace", "linf", "l2"])
def test_rho_needs_gaussian_noise(noise):
    with pytest.raises(ParameterError, match="needs epsilon"):
        calibrate(real("linf"), 7, CONCENTRATED, noise)


def test_certificate_and_privacy_must_speak_of_the_same_neighbours():
    with pytest.raises(ParameterError, match="neighbours"):
        calibrate(real("l1"), 7, Privacy(epsilon=1.0, neighbours="add-remove"))


@pytest.mark.parametrize("size", [0, -1, 1.5])
def test_size_must_be_a_positive_whole_number(size):
    with pytest.raises(ParameterError, match="size"):
        calibrate(real("l1"), size, PURE)


# --- how much, on a grid that was there before ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("norm", "noise", "scale"),
    [("l1", "laplace", 100), ("l2", "l2", 100), ("linf", "linf", 100), ("linf", "laplace", 700), ("l1", "l2", 100)],
)
def test_exact_certificates_are_paid_for_exactly(norm, noise, scale):
    law, _ = calibrate(exact(norm), 7, Privacy(epsilon=0.25), noise)
    assert law.scale == 4 * scale
    assert law.exponent == -10


def test_exact_linf_bound_gives_an_l2_bound_from_above():
    law, _ = calibrate(exact("linf"), 7, PURE, "l2")
    root = law.scale / 100
    assert (root - Fraction(1, 2**20)) ** 2 <= 7 < root**2


@pytest.mark.parametrize(("norm", "squared"), [("l2", 10_000), ("l1", 10_000), ("linf", 70_000)])
def test_gaussian_variance_for_rho(norm, squared):
    law, _ = calibrate(exact(norm), 7, Privacy(rho=0.125))
    assert law.scale == squared * 4


@pytest.mark.parametrize(("norm", "squared"), [("l2", 10_000), ("l1", 10_000), ("linf", 70_000)])
def test_gaussian_variance_for_epsilon_and_delta_makes_up_for_the_grid(norm, squared):
    law, _ = calibrate(exact(norm), 7, APPROXIMATE)
    assert law.scale == squared * Fraction(noise_multiplier(1.0, 1e-6)) ** 2 + 4


ROOT = Fraction(math.isqrt(7 * 4**20) + 1, 2**20)  # of 7, from above


@pytest.mark.parametrize(
    ("norm", "noise", "distance"),
    [
        ("linf", "linf", 2 + 1),  # 0.3 is 2.4 steps: each coordinate is rounded by up to half a step, at both ends
        ("linf", "laplace", 7 * (2 + 1)),
        ("linf", "l2", (2 + 1) * ROOT),
        ("l1", "laplace", 2 + 7),
        ("l2", "l2", Fraction(0.3) * 8 + ROOT),
        ("l1", "l2", Fraction(0.3) * 8 + ROOT),
    ],
)
def test_real_certificates_pay_for_rounding_and_no_more(norm, noise, distance):
    law, _ = calibrate(real(norm, 0.3), 7, Privacy(epsilon=0.25), noise, -3)
    assert law.scale == 4 * distance


@pytest.mark.parametrize(
    ("norm", "squared"),
    [("linf", 7 * 3**2), ("l1", (Fraction(0.3) * 8 + ROOT) ** 2), ("l2", (Fraction(0.3) * 8 + ROOT) ** 2)],
)
def test_gaussian_variance_pays_for_rounding_and_no_more(norm, squared):
    assert calibrate(real(norm, 0.3), 7, Privacy(rho=0.125), "auto", -3)[0].scale == 4 * squared


# --- how much, on a grid it chooses ---------------------------------------------------------------------------

SIZES = [1, 2, 7, 441, 10**4]
BOUNDS = [1e-250, 1e-9, 0.1, 1.0, 1e9, 1e250]
PAIRS = [("linf", "linf"), ("l1", "laplace"), ("l2", "l2"), ("linf", "laplace"), ("linf", "l2"), ("l1", "l2")]


def needed(norm, noise, size):
    """The sensitivity in the norm of the noise, for a bound of 1."""
    return {("linf", "laplace"): size, ("linf", "l2"): math.sqrt(size)}.get((norm, noise), 1)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 37.0, 1e6])
@pytest.mark.parametrize(("norm", "noise"), PAIRS)
def test_noise_covers_the_bound_and_little_more(norm, noise, epsilon, size):
    for bound in BOUNDS:
        law, _ = calibrate(real(norm, bound), size, Privacy(epsilon=epsilon), noise)
        ideal = needed(norm, noise, size) * bound / epsilon
        assert ideal * (1 - 1e-9) <= law.deviation <= ideal * (1 + 1.1e-3)


@pytest.mark.parametrize(("size", "epsilon"), [(10**6, 1.0), (10**4, 1e-6), (10**6, 1e-6), (1, 1e-9)])
@pytest.mark.parametrize(("norm", "noise"), PAIRS)
def test_a_grid_of_its_own_choice_is_never_too_fine(norm, noise, size, epsilon):
    law, _ = calibrate(real(norm), size, Privacy(epsilon=epsilon), noise)
    ideal = needed(norm, noise, size) * 0.1 / epsilon
    assert ideal * (1 - 1e-9) <= law.deviation <= ideal * 1.01


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("privacy", [CONCENTRATED, APPROXIMATE, Privacy(rho=1e-9), Privacy(epsilon=30.0, delta=1e-3)])
@pytest.mark.parametrize(("norm", "factor"), [("l2", lambda size: 1), ("linf", math.sqrt), ("l1", lambda size: 1)])
def test_gaussian_noise_covers_the_bound_and_little_more(norm, factor, privacy, size):
    law, _ = calibrate(real(norm, 0.3), size, privacy)
    multiplier = 1 / math.sqrt(2 * privacy.rho) if privacy.rho else noise_multiplier(privacy.epsilon, privacy.delta)
    ideal = 0.3 * factor(size) * multiplier
    assert ideal * (1 - 1e-9) <= law.deviation <= ideal * (1 + 1.1e-3)


@pytest.mark.parametrize("norm", ["linf", "l1", "l2"])
@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("coarser", [None, -4, 7, 30])
def test_rounded_neighbours_are_no_further_apart_than_was_paid_for(norm, bound, coarser):
    size = 50
    law, _ = calibrate(real(norm, bound), size, PURE)
    if coarser is not None:
        law, _ = calibrate(real(norm, bound), size, PURE, "auto" if norm != "linf" else "l2", law.exponent + coarser)
    generator = np.random.default_rng(1)
    paid = law.scale  # epsilon is 1: the scale is the integer sensitivity
    for _ in range(50):
        here = generator.normal(size=size) * bound * 3
        way = generator.choice([-1.0, 1.0], size=size)
        length = {"linf": 1.0, "l1": size, "l2": math.sqrt(size)}[norm]
        there = here + way * bound / length * (1 - 1e-12)
        apart = [
            abs(int(a) - int(b)) for a, b in zip(*(round_vector(x, law.exponent) for x in (here, there)), strict=True)
        ]
        if norm == "l2":
            assert sum(d * d for d in apart) <= paid**2
        else:
            assert {"linf": max, "l1": sum}[norm](apart) <= paid


@pytest.mark.parametrize("size", [1, 100, 2**16])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 1e6])
@pytest.mark.parametrize("norm", ["linf", "l1", "l2"])
def test_draws_fit_64_bits(norm, epsilon, size):
    law, _ = calibrate(real(norm, 1.0), size, Privacy(epsilon=epsilon))
    typical = law.scale * (size if law.kind in ("linf", "l2") else 1)
    assert typical < 2**53


@pytest.mark.parametrize(
    ("certificate", "privacy"),
    [
        (exact("l1", 2**60, 0), PURE),
        (exact("l1", 1, 0), Privacy(epsilon=1e-300)),
        (exact("l2", 1, 0), Privacy(rho=1e-300)),
        (exact("l2", 1, 0), Privacy(epsilon=1e-200, delta=1e-13)),
        (exact("l1", 1, 0), Privacy(epsilon=5e-324)),
        (real("l1", 1.0), Privacy(epsilon=5e-324)),
        (real("l1", 1e300), Privacy(epsilon=1e-300)),
        (real("linf", 1e300), Privacy(rho=5e-324)),
        (exact("l2", 1, 0), Privacy(epsilon=1e-308, delta=1e-13)),
    ],
)
def test_noise_too_large_for_the_grid_is_refused(certificate, privacy):
    with pytest.raises(ParameterError):
        calibrate(certificate, 3, privacy)


@pytest.mark.parametrize(
    ("norm", "size", "largest", "privacy"),
    [
        ("l1", 9, 2**52, PURE),
        ("linf", 4, 2**50, PURE),  # a coordinate is as large as the scale times the size
        ("l2", 9, 2**50, PURE),  # ... and as the scale times its root, plus one
        ("l2", 9, 2**52, Privacy(rho=0.5)),
    ],
)
def test_noise_is_as_large_as_64_bits_take_and_no_larger(norm, size, largest, privacy):
    calibrate(exact(norm, largest, 0), size, privacy)
    with pytest.raises(ParameterError, match="beyond 64-bit"):
        calibrate(exact(norm, largest + 1, 0), size, privacy)


def test_noise_on_a_cube_is_refused_where_drawing_it_would_reject_for_ever():
    calibrate(exact("linf", 1, 0), 10, PURE)
    with pytest.raises(ParameterError):
        calibrate(exact("linf", 1, 0), 11, PURE)
    calibrate(exact("l1", 1, 0), 11, PURE)


@pytest.mark.parametrize(
    ("norm", "noise", "unit"),
    [
        ("linf", "linf", lambda size: 1),
        ("linf", "l2", lambda size: 1),
        ("linf", "gaussian", lambda size: 1),
        ("l1", "laplace", lambda size: size),
        ("l1", "l2", lambda size: math.isqrt(size) + 1),
        ("l1", "gaussian", lambda size: math.isqrt(size) + 1),
        ("l2", "gaussian", lambda size: math.isqrt(size) + 1),
        ("l2", "l2", lambda size: math.isqrt(size) + 1),
    ],
)
def test_the_grid_is_a_thousandth_of_what_a_coordinate_moves(norm, noise, unit):
    """Finer where many coordinates share the noise, coarser where it would not fit 64 bits; a power of two below."""
    delta = 1e-6 if noise == "gaussian" else 0.0
    for bound, size, epsilon in itertools.product([0.3, 1.0], [1, 7, 10**4], [1e-9, 0.1, 1.0, 1e3]):
        natural, strength = Fraction(bound) / unit(size), Fraction(epsilon)
        sharing = max(1024, size * strength) if noise in ("linf", "l2") else 1024
        step = max(natural / sharing, 2 * natural * size / (strength * 2**50))
        exponent = _grid_exponent(real(norm, bound), size, Privacy(epsilon=epsilon, delta=delta), noise)
        assert Fraction(2) ** exponent <= step < Fraction(2) ** (exponent + 2)


def test_the_grid_of_rho_is_that_of_an_epsilon_of_the_root_of_twice_rho():
    grants = [Privacy(rho=2.0**-57), Privacy(epsilon=2.0**-28, delta=1e-6)]
    assert len({_grid_exponent(real("l2", 1.0), 2**16, grant, "gaussian") for grant in grants}) == 1


@pytest.mark.parametrize(("bound", "exponent"), [(5e-324, -960), (1.7e308, 900)])
def test_the_grid_keeps_within_doubles(bound, exponent):
    assert _grid_exponent(real("l1", bound), 1, PURE, "laplace") == exponent


def test_a_grid_of_ones_own_is_for_real_vectors():
    assert calibrate(real("l2"), 7, PURE, "auto", -3)[0].exponent == -3
    assert calibrate(exact("l2"), 7, PURE, "auto", -3)[0].exponent == -10


def test_tiny_bounds_get_a_grid_that_is_tiny_too():
    law, _ = calibrate(real("l1", 1e-320), 1, PURE)
    assert law.step < 1e-280


# --- the law and the promise ----------------------------------------------------------------------------------


def test_law_in_the_coefficients_own_units():
    assert NoiseLaw("laplace", 1, -3, Fraction(16), exact("l1")).deviation == 2.0
    assert NoiseLaw("gaussian", 1, -3, Fraction(16), exact("l2")).deviation == 0.5
    assert NoiseLaw("linf", 1, -3, Fraction(16), exact("linf")).step == 0.125


def test_law_remembers_its_certificate_and_size():
    law, _ = calibrate(real("l1"), 7, PURE)
    assert law.certificate == real("l1")
    assert law.size == 7


def test_promise_is_the_grant():
    _, guarantee = calibrate(real("linf"), 7, PURE)
    assert (guarantee.epsilon, guarantee.delta, guarantee.rho, guarantee.mu) == (1.0, 0.0, None, None)
    assert (guarantee.neighbours, guarantee.unit, guarantee.model) == ("replace", "row", "central")


def test_promise_of_pure_noise_under_an_approximate_grant_is_pure():
    _, guarantee = calibrate(real("l1"), 7, APPROXIMATE, "laplace")
    assert guarantee.delta == 0.0


def test_promise_in_rho():
    _, guarantee = calibrate(real("l2"), 7, CONCENTRATED)
    assert (guarantee.epsilon, guarantee.delta, guarantee.rho) == (None, None, 0.5)
    assert guarantee.mu == pytest.approx(1.0, rel=1e-3)
    assert guarantee.mu >= 1.0


def test_promise_of_gaussian_noise_knows_its_curve():
    _, guarantee = calibrate(real("l2"), 7, APPROXIMATE)
    assert guarantee.mu == pytest.approx(1 / noise_multiplier(1.0, 1e-6), rel=1e-6)
    assert guarantee.epsilon_at(1e-6) == pytest.approx(1.0, rel=1e-6)
    assert guarantee.epsilon_at(1e-3) < 1.0 < guarantee.epsilon_at(1e-9) < math.inf


@pytest.mark.parametrize(("bound", "known"), [(1, False), (2, False), (3, True), (1000, True)])
def test_the_curve_of_a_discrete_gaussian_is_that_of_one_with_four_less_variance(bound, known):
    law, guarantee = calibrate(exact("l2", bound, 0), 7, Privacy(rho=0.5))
    assert law.scale == bound**2
    if known:
        true = law.scale / (law.scale - 4)  # of the square
        assert true <= Fraction(guarantee.mu) ** 2 <= true * (1 + Fraction(1, 10**11))
    else:
        assert guarantee.mu is None


def test_the_curve_is_known_as_soon_as_the_variance_is_above_four():
    guarantee = calibrate(exact("l2", 2, 0), 7, Privacy(rho=0.4))[1]  # variance 5
    assert guarantee.mu == pytest.approx(2)


def test_promise_says_what_was_stated_first_and_about_whom():
    privacy = Privacy(epsilon=1.0, unit=Person("id", 3))
    stated = Certificate("l1", 0.5, "replace", "stated", "page", None, ("one", "two"))
    first, *others = calibrate(stated, 7, privacy)[1].assumptions
    assert first == "the l1 sensitivity 0.5 to one person is stated by the caller"
    assert others == ["one", "two"]


def test_promise_says_what_was_only_stated():
    _, guarantee = calibrate(real("linf", 0.1, "stated"), 7, PURE)
    assert guarantee.assumptions == ("the linf sensitivity 0.1 to one row is stated by the caller",)


def test_promise_of_a_sampled_bound_has_its_confidence():
    sampled = Certificate("linf", 0.1, "replace", "sampled", "page", confidence=0.9)
    assert calibrate(sampled, 7, PURE)[1].confidence == 0.9


SAMPLED = Certificate("l1", 0.1, "replace", "sampled", "sampler", None, ("from an oracle",), 0.9)


def test_promise_of_a_sampled_bound_says_what_it_rests_on():
    assert calibrate(SAMPLED, 7, PURE)[1].assumptions == ("from an oracle",)
    assert str(calibrate(SAMPLED, 7, PURE)[1]).startswith("random 1-differential privacy (confidence 0.9)")


@pytest.mark.parametrize("gamma", [None, 0.1, 0.5])
@pytest.mark.parametrize("amount", [{"epsilon": 1.0}, {"rho": 0.5}, {"epsilon": 1.0, "delta": 1e-6}])
def test_a_sampled_bound_is_used_where_the_grant_accepts_it(gamma, amount):
    law, promise = calibrate(SAMPLED, 7, Privacy(**amount, gamma=gamma))
    assert (promise.confidence, law.certificate) == (0.9, SAMPLED)
    assert law.scale == calibrate(real("l1", 0.1), 7, Privacy(**amount))[0].scale  # the same noise as for a proved one


@pytest.mark.parametrize("gamma", [0, 0.0, 0.05, 0.09999999])
def test_a_sampled_bound_is_refused_where_the_grant_demands_more(gamma):
    with pytest.raises(ParameterError, match=r"the grant takes gamma=.*only sampled, with confidence 0.9: sample more"):
        calibrate(SAMPLED, 7, Privacy(epsilon=1.0, gamma=gamma))


@pytest.mark.parametrize("known", ["proved", "stated"])
@pytest.mark.parametrize("gamma", [0, 0.5])
def test_any_other_bound_is_good_enough(known, gamma):
    assert calibrate(real("l1", known=known), 7, Privacy(epsilon=1.0, gamma=gamma))[1].confidence == 1


@pytest.mark.parametrize("gamma", [0.1, 0.05, 0.3, 0.7, 1 / 3, 0.001])
def test_a_gamma_accepts_itself_whatever_its_digits(gamma):
    confidence = share_of(1.0, 1 - as_written(gamma))
    sampled = Certificate("l1", 0.1, "replace", "sampled", "sampler", confidence=confidence)
    assert calibrate(sampled, 1, Privacy(epsilon=1.0, gamma=gamma))[1].confidence == confidence


@pytest.mark.parametrize("noise", ["auto", "laplace", "gaussian", "linf", "l2"])
@pytest.mark.parametrize("privacy", [PURE, APPROXIMATE, CONCENTRATED])
def test_no_noise_fits_a_norm_of_the_users_own(noise, privacy):
    own = Certificate("user", 0.5, "replace", "sampled", "sampler", confidence=0.9)
    with pytest.raises(ParameterError, match=r"in a norm of your own \('user'\), which no noise fits"):
        calibrate(own, 7, privacy, noise)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.1, 0.2)])
def test_laplace_noise_may_be_asked_for_where_delta_is_granted(epsilon, delta):
    """It leaves delta unused, and says so."""
    law, promise = calibrate(exact("l1"), 7, Privacy(epsilon=epsilon, delta=delta), "laplace")
    assert law.scale == 100 / as_written(epsilon)
    assert (promise.epsilon, promise.delta, promise.mu) == (epsilon, 0.0, None)


def test_promise_names_the_person():
    privacy = Privacy(epsilon=1.0, unit=Person("id", 3))
    _, guarantee = calibrate(real("l1").for_unit(privacy), 7, privacy)
    assert guarantee.unit == Person("id", 3)
    assert guarantee.assumptions


# --- blocks ---------------------------------------------------------------------------------------------------------

BLOCKS = Certificate("l1-linf", 6, "replace", "enforced", "blocks", 0, blocks=(3, 1))


def test_blocks_have_one_scale_which_is_the_bound_over_epsilon():
    law, promise = calibrate(BLOCKS, 4, Privacy(epsilon=0.1))
    assert (law.kind, law.scale, law.exponent) == ("blocks", Fraction(60), 0)
    assert (promise.epsilon, promise.delta, promise.mu) == (0.1, 0.0, None)
    assert calibrate(BLOCKS, 4, Privacy(epsilon=0.1), "blocks")[0] == law


def test_blocks_fill_the_vector():
    with pytest.raises(ParameterError, match="4 coefficients, not 5"):
        calibrate(BLOCKS, 5, Privacy(epsilon=1.0))


@pytest.mark.parametrize("noise", ["laplace", "linf", "l2"])
def test_no_other_noise_knows_blocks(noise):
    with pytest.raises(ParameterError, match="cannot use a bound in 'l1-linf'"):
        calibrate(BLOCKS, 4, Privacy(epsilon=1.0), noise)


@pytest.mark.parametrize("privacy", [Privacy(epsilon=1.0, delta=1e-6), Privacy(rho=0.1)])
def test_noise_in_blocks_is_pure(privacy):
    with pytest.raises(ParameterError, match="l1-linf"):
        calibrate(BLOCKS, 4, privacy)


def test_noise_in_blocks_needs_blocks():
    with pytest.raises(ParameterError, match="blocks"):
        calibrate(Certificate("l1", 2, "replace", "enforced", "rounding", 0), 4, Privacy(epsilon=1.0), "blocks")


@pytest.mark.parametrize(("size", "fits"), [(20, True), (21, False)])
def test_the_largest_block_decides_what_the_sampler_can_do(size, fits):
    """The limit of one cube, ten times the scale; other blocks do not count."""
    one = Certificate("l1-linf", 2, "replace", "enforced", "blocks", 0, blocks=(20, size))
    if fits:
        assert calibrate(one, 40, Privacy(epsilon=1.0))[0].scale == 2
    else:
        with pytest.raises(ParameterError, match="64-bit"):
            calibrate(one, 20 + size, Privacy(epsilon=1.0))


# --- copies of a vector -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.1, 1e-9)])
@pytest.mark.parametrize(("copies", "size"), [(1, 1), (3, 7), (6, 120)])
def test_copies_are_paid_for_all_together(copies, size, epsilon, delta):
    """Two vectors of length one: their copies lie ``2 sqrt(copies)`` apart, and rounding moves each number."""
    law = copies_law(copies, size, epsilon, delta)
    assert (law.kind, law.size, law.exponent) == ("gaussian", copies * size, -10)
    assert (law.certificate.norm, law.certificate.relation, law.certificate.known) == ("l2", "replace", "enforced")
    assert law.certificate.proof == "generalized-linear"
    # A little more than that: the code that makes a vector's length one is off by a few roundings.
    assert (1 + Fraction(1, 2**41)) ** 2 < Fraction(law.certificate.bound) ** 2 / (4 * copies) < 1 + Fraction(1, 2**38)
    apart = 2 * math.sqrt(copies) * 2**10 + math.sqrt(copies * size)
    variance = (apart * noise_multiplier(epsilon, delta)) ** 2 + 4
    assert variance * (1 - 1e-12) <= law.scale <= variance * (1 + 1e-5)
