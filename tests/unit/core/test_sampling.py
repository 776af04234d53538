"""The deterministic parts of the samplers: what chosen bits turn into, against many digits.

Whether fresh bits follow the right *law* is asked in tests/statistical.
"""

import math
import random
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest

from sfumato.core import sampling

DIGITS = 120
SCALES = [Fraction(1, 7), Fraction(1), Fraction(10, 3), Fraction(12345, 67), Fraction(2**30 + 1, 3), Fraction(2**50)]


def exponential(numerator, bits):
    """-ln(numerator / 2**bits), to many digits."""
    with mpmath.workdps(DIGITS):
        return -mpmath.log(mpmath.mpf(numerator) / mpmath.mpf(2) ** bits)


def as_mpf(fraction):
    with mpmath.workdps(DIGITS):
        return mpmath.mpf(fraction.numerator) / fraction.denominator


def geometric(numerator, bits, scale):
    with mpmath.workdps(DIGITS):
        return int(mpmath.floor(as_mpf(scale) * exponential(numerator, bits)))


@pytest.fixture
def feed_bits(monkeypatch):
    """Let ``sampling._bits`` return chosen integers, in order, and fail when there are no more."""

    def feed(*values):
        waiting = list(values)
        asked = []

        def bits(count):
            asked.append(count)
            value = waiting.pop(0)
            assert 0 <= value < 2**count
            return value

        monkeypatch.setattr(sampling, "_bits", bits)
        return asked, waiting

    return feed


@pytest.fixture
def feed_words(monkeypatch):
    """Let ``sampling._words`` return chosen 64-bit words, in order."""

    def feed(*values):
        waiting = list(values)

        def words(count):
            taken = [waiting.pop(0) for _ in range(count)]
            return np.array(taken, dtype=np.uint64)

        monkeypatch.setattr(sampling, "_words", words)
        return waiting

    return feed


# --- entropy ------------------------------------------------------------------------------------------------


def test_words_and_bits_come_from_the_operating_system(monkeypatch):
    monkeypatch.setattr(sampling.os, "urandom", lambda count: b"\x01" + bytes(count - 2) + b"\x80")
    assert sampling._words(1).tolist() == [int.from_bytes(b"\x01" + bytes(6) + b"\x80", "little")]
    assert sampling._bits(64) == int.from_bytes(b"\x01" + bytes(6) + b"\x80", "big")


def test_words_have_the_asked_for_number():
    assert sampling._words(0).shape == (0,)
    assert sampling._words(1000).shape == (1000,)
    assert sampling._words(3).dtype == np.uint64


def test_short_words_come_from_the_operating_system(monkeypatch):
    asked = []
    monkeypatch.setattr(sampling.os, "urandom", lambda count: asked.append(count) or bytes(range(count)))
    assert sampling.words32(2).tolist() == [0x03020100, 0x07060504]
    assert sampling.words32(2).dtype == np.uint32
    assert sampling.words53(1).tolist() == [0x0706050403020100 >> 11]
    assert sampling.words53(3).dtype == np.int64
    assert asked == [8, 8, 8, 24]


def test_the_largest_short_word_has_53_bits(monkeypatch):
    monkeypatch.setattr(sampling.os, "urandom", lambda count: b"\xff" * count)
    assert sampling.words53(1).tolist() == [2**53 - 1]


def test_noise_cannot_be_seeded():
    """Two draws of 40 numbers agree with probability below 1e-300."""
    draws = []
    for _ in range(2):
        random.seed(1)
        np.random.seed(1)
        draws.append(sampling.discrete_laplace(40, Fraction(2**40)).tolist())
    assert draws[0] != draws[1]


# --- divisions, and their differences -------------------------------------------------------------------------


def test_bars_divide_a_whole_number_and_are_drawn_anew_unless_all_differ(monkeypatch):
    """Of 5 among 3: bars at 2 of 7 places."""
    drawn = [[4, 4], [6, 2]]
    monkeypatch.setattr(sampling, "uniform_below", lambda bounds: np.array(drawn.pop(0)) % bounds)
    assert sampling._division(5, 3).tolist() == [2, 3, 0]
    assert not drawn


@pytest.mark.parametrize("parts", [2, 3, 7])
@pytest.mark.parametrize("total", [0, 1, 2**40])
def test_divisions_add_up(total, parts):
    for _ in range(20):
        found = sampling._division(total, parts)
        assert len(found) == parts and found.sum() == total and found.min() >= 0


def test_every_division_is_as_likely_as_every_other():
    """All 6 ways to divide 2 among 3, 3,000 draws: one is rarer than 390 with probability below 1e-6."""
    found = [tuple(sampling._division(2, 3).tolist()) for _ in range(3000)]
    assert len(set(found)) == 6
    assert min(found.count(one) for one in set(found)) > 390


# --- the primitive --------------------------------------------------------------------------------------------


def word_sample():
    """Words of every magnitude, and random ones."""
    generator = np.random.default_rng(5)
    edges = [1, 2, 3, 2**10, 2**40, 2**52 + 1, 2**53 - 1, 2**62 - 1, 2**62, 2**62 + 1, 2**63 - 2, 2**63 - 1]
    return edges + [int(w) for w in generator.integers(0, 2**63, size=300, dtype=np.uint64)]


def test_double_exponentials_are_within_their_error():
    words = word_sample()
    values, errors = sampling._exponentials(np.array(words, dtype=np.uint64))
    for word, value, error in zip(words, values.tolist(), errors.tolist(), strict=True):
        if value < getattr(sampling, "_TAIL", math.inf):
            for end in (word, word + 1):
                assert abs(exponential(end, 63) - value) <= error, word


def test_decide_brackets_the_exponential_and_closes_in(feed_bits):
    more = [0x0123456789ABCDEF, 2**64 - 1, 0]
    for word in word_sample():
        feed_bits(*more)
        seen = []
        sampling._decide(word, lambda low, high: seen.append((low, high)) or (7 if len(seen) == 4 else None))  # noqa: B023
        whole, bits = word, 63
        for round_, (low, high) in enumerate(seen):
            if round_:
                whole, bits = whole << 64 | more[round_ - 1], bits + 64
            assert as_mpf(low) <= max(0, exponential(whole + 1, bits)) <= exponential(whole, bits) <= as_mpf(high)
            assert low >= 0
            assert high - low <= Fraction(3, whole) + Fraction(1, 2 ** (bits // 2))
        assert all(before[0] <= after[0] and after[1] <= before[1] for before, after in pairwise(seen))


def test_decide_returns_what_was_decided_and_asks_for_no_bits_it_does_not_need(feed_bits):
    asked, _ = feed_bits()
    assert sampling._decide(2**62, lambda low, high: 42) == 42
    assert asked == []


def test_a_zero_word_waits_for_its_first_one(feed_bits):
    asked, _ = feed_bits(0, 0, 1)
    scale = Fraction(1)
    assert sampling._decide(0, sampling._floor_of(scale)) == geometric(1, 63 + 3 * 64, scale) == 176
    assert asked == [64, 64, 64]


# --- geometric ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", SCALES)
def test_geometric_is_the_floor_of_the_scaled_exponential(scale, feed_bits):
    feed_bits(*[2**63] * 1000)
    words = word_sample()
    found = sampling._geometric(np.array(words, dtype=np.uint64), scale).tolist()
    for word, floor in zip(words, found, strict=True):
        assert geometric(word + 1, 63, scale) <= floor <= geometric(word, 63, scale)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("floor", [1, 2, 5])
def test_geometric_at_a_boundary_reads_more_bits_of_the_same_uniform(scale, floor, feed_bits):
    """The uniform at which the floor changes, to 127 bits: one unit to either side must be told apart."""
    with mpmath.workdps(DIGITS):
        boundary = int(mpmath.floor(mpmath.exp(-floor / as_mpf(scale)) * mpmath.mpf(2) ** 127))
    for whole in (boundary - 1, boundary + 1):
        word, rest = whole >> 64, whole & (2**64 - 1)
        asked, _ = feed_bits(rest, 2**63, 2**63)
        found = sampling._geometric(np.array([word], dtype=np.uint64), scale).tolist()
        assert found == [geometric(2 * whole + 1, 128, scale)]
        assert found == [floor if whole < boundary else floor - 1]
        assert asked[:1] == [64]


def test_geometric_at_a_boundary_hidden_by_64_bits_reads_on(feed_bits):
    with mpmath.workdps(DIGITS):
        boundary = int(mpmath.floor(mpmath.exp(-3) * mpmath.mpf(2) ** 191))
    for shift, floor in ((-1, 3), (1, 2)):
        whole = boundary + shift
        parts = [whole >> 128, whole >> 64 & (2**64 - 1), whole & (2**64 - 1)]
        asked, _ = feed_bits(*parts[1:], 2**63)
        assert sampling._geometric(np.array(parts[:1], dtype=np.uint64), Fraction(1)).tolist() == [floor]
        assert asked[:2] == [64, 64]


def test_geometric_of_a_zero_word(feed_bits):
    feed_bits(1 << 60)
    found = sampling._geometric(np.zeros(1, dtype=np.uint64), Fraction(10)).tolist()
    assert found == [geometric(1 << 60, 127, Fraction(10))]


def refuse(*_):
    raise AssertionError("exact arithmetic was asked for")


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(10, 3), Fraction(2**30 + 1, 3)])
def test_geometric_away_from_a_boundary_needs_no_exact_arithmetic(scale, monkeypatch):
    monkeypatch.setattr(sampling, "_decide", refuse)
    for value in (0.3, 0.5, 0.7, 1.1, 5.9, 10.4):
        if 0.01 < value * float(scale) % 1 < 0.99:
            word = int(math.exp(-value) * 2**63)
            found = sampling._geometric(np.array([word], dtype=np.uint64), scale).tolist()
            assert found == [geometric(word, 63, scale)]


# --- coins ----------------------------------------------------------------------------------------------------


def never(index):
    raise AssertionError("the exact rate was asked for")


def test_coins_compare_the_exponential_with_the_rate(feed_words):
    half = 2**63  # the shifted word is 2**62: U = 1/2, E = 0.693...
    feed_words(half, half, half, half)
    rates = np.array([0.0, 0.69, 0.70, 50.0])
    assert sampling.bernoulli_exp(rates, np.zeros(4), never).tolist() == [True, True, False, False]


@pytest.mark.parametrize("word", [2**61 + 12345, 2**62 + 1, 2**62 - 7, 2**63 - 1, 3 * 2**59])
def test_a_coin_on_the_edge_is_decided_exactly(word, feed_words, feed_bits):
    """A rate between -ln of two neighbouring 127-bit uniforms: a double cannot tell, more bits can."""
    with mpmath.workdps(DIGITS):
        whole = word << 64 | 0x0123456789ABCDEF
        rate = exponential(2 * whole + 1, 128)  # the middle of that uniform's interval
        exact = Fraction(int(mpmath.nint(rate * mpmath.mpf(2) ** 300)), 2**300)
    for rest, heads in ((0x0123456789ABCDEE, True), (0x0123456789ABCDF0, False)):
        feed_words(word << 1)
        asked, _ = feed_bits(rest)
        found = sampling.bernoulli_exp(np.array([float(rate)]), np.array([1e-15]), lambda i: exact)
        assert found.tolist() == [heads]  # a smaller U is a larger E: heads
        assert asked == [64]


def test_a_coin_away_from_the_edge_needs_no_exact_rate(feed_words):
    value = 10.9
    feed_words(*[int(math.exp(-value) * 2**64)] * 2)
    assert sampling.bernoulli_exp(np.array([10.8, 11.1]), np.full(2, 1e-9), never).tolist() == [True, False]


def test_doubt_about_the_rate_asks_for_the_exact_one(feed_words):
    feed_words(2**63, 2**63)
    asked = []
    found = sampling.bernoulli_exp(
        np.array([0.6, 0.6]), np.array([0.2, 0.01]), lambda i: asked.append(i) or Fraction(7, 10)
    )
    assert found.tolist() == [False, True]
    assert asked == [0]


def test_rates_beyond_the_doubles_show_tails(feed_words):
    feed_words(2**63)
    assert not sampling.bernoulli_exp(np.array([np.inf]), np.array([np.inf]), lambda i: Fraction(10) ** 400).any()


def test_a_zero_rate_always_shows_heads():
    """Also for the largest word, whose exponential a double cannot tell from 0."""
    assert sampling.bernoulli_exp(np.zeros(1000), np.zeros(1000), lambda i: Fraction(0)).all()


# --- scalar laws ----------------------------------------------------------------------------------------------


def test_laplace_reads_the_sign_from_the_lowest_bit(feed_words):
    word = 2**58  # U = 2**-6, E = 4.16, and scale 10 gives 41
    feed_words(word, word | 1)
    assert sampling.discrete_laplace(2, Fraction(10)).tolist() == [41, -41]


def test_laplace_draws_again_for_minus_zero(feed_words):
    near_one = 2**64 - 2  # E is almost 0
    waiting = feed_words((1 << 63) + 2**62 | 1, near_one | 1, near_one, 2**58)
    found = sampling.discrete_laplace(2, Fraction(1, 2))
    assert found.tolist() == [0, 0] or found.tolist() == [0, 2]
    assert len(waiting) < 2


@pytest.mark.parametrize(("count", "asked"), [(1, [1]), (4, [4]), (5, [4, 1]), (8, [4, 4]), (11, [4, 4, 3])])
def test_laplace_in_blocks_is_one_block_after_the_other(count, asked, monkeypatch):
    numbers, counts = iter(range(1, 1000)), []

    def words(count):
        counts.append(count)
        return np.array([int(math.exp(-next(numbers) / 2) * 2**63) * 2 for _ in range(count)], dtype=np.uint64)

    monkeypatch.setattr(sampling, "_words", words)
    monkeypatch.setattr(sampling, "_BLOCK", 4)
    assert sampling.discrete_laplace(count, Fraction(201, 100)).tolist() == list(range(1, count + 1))
    assert counts == asked


@pytest.mark.parametrize(
    "variance", [Fraction(1, 50), Fraction(9, 4), Fraction(16), Fraction(10**9, 7), Fraction(2**99)]
)
def test_gaussian_accepts_laplace_proposals_with_the_rates_of_canonne_kamath_and_steinke(variance, monkeypatch):
    """Proposals of scale t, kept with probability ``exp(-(|x| - variance / t)^2 / (2 variance))``."""
    scale, deviation = math.isqrt(int(variance)) + 1, math.sqrt(variance)
    proposals = np.array([0, 1, -1, *(int(deviation * k) for k in (-6, -1, 0.5, 1, 2, 9))])
    asked, tossed = [], []

    def laplace(count, wide):
        asked.append((count, wide))
        return proposals

    def toss(rates, errors, exact):
        tossed.append((rates.tolist(), errors.tolist(), [exact(i) for i in range(len(rates))]))
        return np.arange(len(rates)) % 4 == 2

    monkeypatch.setattr(sampling, "discrete_laplace", laplace)
    monkeypatch.setattr(sampling, "bernoulli_exp", toss)
    assert sampling.discrete_gaussian(3, variance).tolist() == [proposals[2], proposals[6], proposals[2]]
    assert asked == [(12, Fraction(scale)), (9, Fraction(scale))]
    for rates, errors, exact in tossed:
        assert exact == [(abs(int(x)) - variance / scale) ** 2 / (2 * variance) for x in proposals]
        for rate, error, true, x in zip(rates, errors, exact, proposals, strict=True):
            assert abs(Fraction(rate) - true) <= Fraction(error) / 16
            assert error <= 2.0**-46 * (1 + abs(int(x)) / deviation) ** 2


def test_gaussian_noise_is_drawn_in_blocks(monkeypatch):
    asked, laplace = [], sampling.discrete_laplace
    monkeypatch.setattr(sampling, "_BLOCK", 100)
    monkeypatch.setattr(sampling, "discrete_laplace", lambda count, t: asked.append(count) or laplace(count, t))
    assert sampling.discrete_gaussian(300, Fraction(4)).shape == (300,)
    assert max(asked) == 100


@pytest.mark.few(5)
@pytest.mark.parametrize("count", [0, 1, 2, 1000, 9000])
@pytest.mark.parametrize("scale", [Fraction(1, 50), Fraction(3, 2), Fraction(2**50)])
def test_laplace_has_the_asked_for_number(count, scale):
    found = sampling.discrete_laplace(count, scale)
    assert found.shape == (count,)
    assert found.dtype == np.int64


@pytest.mark.few(6)
@pytest.mark.parametrize("count", [0, 1, 2, 1000, 9000])
@pytest.mark.parametrize("variance", [Fraction(1, 50), Fraction(9, 4), Fraction(10**9, 7), Fraction(2**100)])
def test_gaussian_has_the_asked_for_number(count, variance):
    found = sampling.discrete_gaussian(count, variance)
    assert found.shape == (count,)
    assert found.dtype == np.int64


def test_noise_of_almost_no_scale_is_zero():
    """Each of these is not all zero with probability below e**-900."""
    tiny = Fraction(1, 1000)
    assert not sampling.discrete_laplace(50, tiny).any()
    assert not sampling.discrete_gaussian(50, tiny / 2).any()
    assert not sampling.linf_knorm(3, tiny).any()


def test_gaussian_noise_of_absurdly_small_variance_is_zero():
    with np.errstate(all="ignore"):
        assert not sampling.discrete_gaussian(20, Fraction(1, 10**308)).any()


# --- uniform --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 8, 9, 1000, 2**31, 2**40 + 1, 2**53, 2**62, 2**63 - 1])
def test_uniform_stays_below_its_bound(bound):
    found = sampling.uniform_below(np.full(2000, bound, dtype=np.int64))
    assert found.dtype == np.int64
    assert found.min() >= 0
    assert found.max() < bound


def test_uniform_reaches_every_value():
    """A value of 8 is missed by 4000 draws with probability (7/8)**4000 < 1e-230."""
    assert set(sampling.uniform_below(np.full(4000, 8, dtype=np.int64)).tolist()) == set(range(8))


def test_uniform_of_mixed_bounds():
    bounds = np.array([3, 5, 40, 8, 64], dtype=np.int64)
    for _ in range(200):
        assert (sampling.uniform_below(bounds) < bounds).all()


def test_uniform_of_nothing():
    assert sampling.uniform_below(np.zeros(0, dtype=np.int64)).shape == (0,)


def test_uniform_masks_and_rejects(feed_words):
    # Bound 5 needs three bits: 0b111 and 0b101 are rejected, high bits are ignored.
    waiting = feed_words(0b111, 2**63 | 0b100, 0b101, 0b010)
    assert sampling.uniform_below(np.array([5, 5])).tolist() == [2, 4]
    assert waiting == []


# --- vector laws ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "scale"), [(1, Fraction(1, 9)), (3, Fraction(1, 9)), (5, Fraction(10)), (300, Fraction(2**40))]
)
def test_linf_noise_has_the_asked_for_shape(size, scale):
    found = sampling.linf_knorm(size, scale)
    assert found.shape == (size,)
    assert found.dtype == np.int64


def test_linf_noise_is_a_uniform_point_of_a_cube_whose_radius_is_accepted(feed_words, monkeypatch):
    """The radius is a sum of one more geometric than coordinates; ``2R + 1`` of ``2R + 2i`` values keep it."""
    waiting = feed_words(*range(8, 24, 2))
    geometrics, uniforms, asked = [[1, 0, 4, 0], [0, 1, 0, 1]], [[10, 3, 11], [4, 0, 4], [0, 2, 4]], []

    def geometric(words, scale):
        asked.append((words.tolist(), scale))
        return np.array(geometrics.pop(0))

    monkeypatch.setattr(sampling, "_geometric", geometric)
    monkeypatch.setattr(sampling, "uniform_below", lambda b: asked.append(b.tolist()) or np.array(uniforms.pop(0)))
    assert sampling.linf_knorm(3, Fraction(5, 2)).tolist() == [-2, 0, 2]
    assert asked == [
        ([4, 5, 6, 7], Fraction(5, 2)),
        [12, 14, 16],  # a radius of 5: the last of the three draws is beyond 10
        ([8, 9, 10, 11], Fraction(5, 2)),
        [6, 8, 10],
        [5, 5, 5],
    ]
    assert waiting == []


def test_zero_sum_noise_is_a_difference_of_two_divisions_of_a_total_that_is_accepted(feed_words, monkeypatch):
    """The total is a sum of ``2 size + 1`` geometrics of half the scale; ``R + i`` of ``R + size + i`` keep it."""
    waiting = feed_words(*range(8, 28, 2))
    geometrics, uniforms, asked = [[1, 0, 4, 0, 2], [0, 1, 0, 1, 1]], [[7, 9], [3, 4]], []
    divisions = [[1, 2, 0], [0, 0, 3]]

    def geometric(words, scale):
        asked.append((words.tolist(), scale))
        return np.array(geometrics.pop(0))

    monkeypatch.setattr(sampling, "_geometric", geometric)
    monkeypatch.setattr(sampling, "uniform_below", lambda b: asked.append(b.tolist()) or np.array(uniforms.pop(0)))
    monkeypatch.setattr(sampling, "_division", lambda *sizes: asked.append(sizes) or np.array(divisions.pop(0)))
    found = sampling.zero_sum(2, Fraction(5, 2))
    assert found.tolist() == [1, 2] and found.dtype == np.int64
    assert asked == [
        ([4, 5, 6, 7, 8], Fraction(5, 4)),
        [10, 11],  # a total of 7: the second draw is not below 9
        ([9, 10, 11, 12, 13], Fraction(5, 4)),
        [6, 7],  # a total of 3: both draws are the largest that keep it
        (3, 3),
        (3, 3),
    ]
    assert waiting == []


@pytest.mark.parametrize("size", [1, 2, 3, 10])
@pytest.mark.parametrize("scale", [Fraction(1, 9), Fraction(10), Fraction(2**40)])
def test_l2_noise_has_the_asked_for_shape(size, scale):
    found = sampling.l2_knorm(size, scale)
    assert found.shape == (size,)
    assert found.dtype == np.int64


def l2_vector(uniforms, bits, size, scale):
    """The real vector that the uniforms describe, to many digits."""
    with mpmath.workdps(DIGITS):
        points = [(mpmath.mpf(k) + mpmath.mpf(1) / 2) / mpmath.mpf(2) ** bits for k in uniforms]
        pairs = (size + 1) // 2
        radius = as_mpf(scale) * sum(-mpmath.log(u) for u in points[:size])
        normals = []
        for length, turn in zip(points[size : size + pairs], points[size + pairs :], strict=True):
            long = mpmath.sqrt(-2 * mpmath.log(length))
            normals += [long * mpmath.cos(2 * mpmath.pi * turn), long * mpmath.sin(2 * mpmath.pi * turn)]
        normals = normals[:size]
        norm = mpmath.sqrt(sum(z * z for z in normals))
        return [radius * z / norm for z in normals]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(10), Fraction(2**40, 3)])
def test_l2_noise_is_the_rounding_of_the_real_vector(size, scale, feed_bits):
    generator = random.Random(11)
    count = size + 2 * ((size + 1) // 2)
    for _ in range(10):
        uniforms = [generator.getrandbits(128) for _ in range(count)]
        feed_bits(*uniforms)
        expected = [int(mpmath.nint(v)) for v in l2_vector(uniforms, 128, size, scale)]
        assert sampling.l2_knorm(size, scale).tolist() == expected


@pytest.mark.parametrize("side", [-1, 1])
def test_l2_noise_on_the_edge_of_rounding_reads_more_bits(side, feed_bits):
    """A uniform whose radius is 2.5 to within 128 bits: the next 64 bits decide between 2 and 3."""
    with mpmath.workdps(DIGITS):
        boundary = int(mpmath.floor(mpmath.exp(mpmath.mpf(-5) / 2) * mpmath.mpf(2) ** 192))
    whole = boundary + side * 2**20
    first, rest = whole >> 64, whole & (2**64 - 1)
    length, turn = 2**126, 2**120  # a positive normal
    asked, waiting = feed_bits(first, length, turn, rest, 5, 5)
    assert sampling.l2_knorm(1, Fraction(1)).tolist() == [2 if side > 0 else 3]
    assert asked == [128] * 3 + [64] * 3
    assert waiting == []


def test_l2_noise_waits_for_uniforms_that_are_not_zero(feed_bits):
    asked, _ = feed_bits(0, 2**126, 2**120, 2**63, 7, 7)
    uniforms = [2**63, 2**126 << 64 | 7, 2**120 << 64 | 7]
    expected = [int(mpmath.nint(v)) for v in l2_vector(uniforms, 192, 1, Fraction(1))]
    assert sampling.l2_knorm(1, Fraction(1)).tolist() == expected
    assert asked == [128] * 3 + [64] * 3


@pytest.mark.parametrize("turn", [1e-6, 0.125, 0.25, 0.3, 0.5, 0.7, 0.75, 0.99])
def test_l2_noise_points_where_the_turn_says(turn, feed_bits):
    uniforms = [2**127, 2**127, 2**126, int(turn * 2**128)]
    feed_bits(*uniforms)
    found = sampling.l2_knorm(2, Fraction(10**9))
    angle = math.atan2(found[1], found[0]) / (2 * math.pi) % 1
    assert math.isclose(angle, turn, abs_tol=1e-8)


def normals_of(uniforms, bits, size):
    """The normals that the uniforms describe, to many digits."""
    with mpmath.workdps(DIGITS):
        points = [(mpmath.mpf(k) + mpmath.mpf(1) / 2) / mpmath.mpf(2) ** bits for k in uniforms]
        pairs, found = (size + 1) // 2, []
        for length, turn in zip(points[:pairs], points[pairs:], strict=True):
            long = mpmath.sqrt(-2 * mpmath.log(length))
            found += [long * mpmath.cos(2 * mpmath.pi * turn), long * mpmath.sin(2 * mpmath.pi * turn)]
        return found[:size]


@pytest.mark.parametrize("size", [1, 2, 3, 9])
@pytest.mark.parametrize("deviation", [Fraction(1, 3), Fraction(10), Fraction(2**40, 3)])
def test_a_rounded_gaussian_is_the_rounding_of_the_real_vector(size, deviation, feed_bits):
    generator = random.Random(12)
    for _ in range(10):
        uniforms = [generator.getrandbits(128) for _ in range(2 * ((size + 1) // 2))]
        asked, _ = feed_bits(*uniforms)
        expected = [int(mpmath.nint(as_mpf(deviation) * z)) for z in normals_of(uniforms, 128, size)]
        found = sampling.rounded_gaussian(size, deviation)
        assert found.tolist() == expected
        assert found.dtype == np.int64
        assert asked == [128] * len(uniforms)


@pytest.mark.parametrize("side", [-1, 1])
def test_a_gaussian_on_the_edge_of_rounding_reads_more_bits(side, feed_bits):
    """A deviation that puts the normal at 2.5 to within 128 bits: the next 64 bits decide between 2 and 3."""
    length, turn, shift = 2**126, 2**125, 2**40
    with mpmath.workdps(DIGITS):
        (normal,) = normals_of([length << 64 | 2**63, turn << 64 | 2**63], 192, 1)
        deviation = Fraction(int(mpmath.nint(mpmath.mpf(5) / 2 / normal * 2**400)), 2**400)
    asked, waiting = feed_bits(length, turn, 2**63 - side * shift, 2**63)
    assert sampling.rounded_gaussian(1, deviation).tolist() == [3 if side > 0 else 2]  # a smaller U is longer
    assert asked == [128, 128, 64, 64]
    assert waiting == []


@pytest.mark.parametrize("side", [-1, 1])
def test_every_coordinate_must_be_certain(side, feed_bits):
    """The first is at 2.5 to within 128 bits, the second is nowhere near: the first asks for more bits."""
    length, turn, shift = 2**126, 2**124, 2**40
    with mpmath.workdps(DIGITS):
        first, second = normals_of([length << 64 | 2**63, turn << 64 | 2**63], 192, 2)
        deviation = Fraction(int(mpmath.nint(mpmath.mpf(5) / 2 / first * 2**400)), 2**400)
    asked, _ = feed_bits(length, turn, 2**63 - side * shift, 2**63)
    nearest = int(mpmath.nint(as_mpf(deviation) * second))
    assert sampling.rounded_gaussian(2, deviation).tolist() == [3 if side > 0 else 2, nearest]
    assert asked == [128, 128, 64, 64]


def coarse(bits):
    """Uniforms of a few bits, so that what is unknown about them can be seen: of every size, and near both ends."""
    generator = random.Random(13)
    yield from ([generator.randrange(2 ** (bits - 3), 7 * 2 ** (bits - 3)) for _ in range(8)] for _ in range(8))
    ends = [2 ** (bits // 2), 2 ** (bits - 1) + 3, 2**bits - 2 ** (bits // 2)]
    yield from ([generator.choice(ends) for _ in range(8)] for _ in range(8))


def corners(uniforms):
    """Uniforms within what is known of them, of many more bits: their ends, and some at random."""
    generator = random.Random(14)
    yield [u << 64 for u in uniforms]
    yield [(u + 1 << 64) - 1 for u in uniforms]
    for _ in range(6):
        yield [(u << 64) + generator.choice([0, 2**64 - 1]) for u in uniforms]


@pytest.mark.few(9)
@pytest.mark.parametrize(("bits", "scale"), [(16, Fraction(1, 50)), (20, Fraction(7, 3)), (24, Fraction(500))])
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_vectors_lie_within_the_stated_error_whatever_the_bits_to_come(size, bits, scale):
    """A doubt that is too large only asks for more bits."""
    pairs = (size + 1) // 2
    for uniforms in coarse(bits):
        for count, vector, true in [
            (
                2 * pairs,
                sampling._gaussian_vector,
                lambda u: [as_mpf(scale) * z for z in normals_of(u, bits + 64, size)],
            ),
            (size + 2 * pairs, sampling._l2_vector, lambda u: l2_vector(u, bits + 64, size, scale)),
        ]:
            known = uniforms[:count]
            with localcontext(sampling._context(60)):
                values, doubt = vector(known, bits, size, scale)
            middle = [mpmath.mpf(str(v)) for v in values]
            moved = [[a - b for a, b in zip(true(u), middle, strict=True)] for u in corners(known)]
            assert max(mpmath.norm(move) for move in moved) <= doubt


@pytest.mark.parametrize("size", [3, 4])
def test_a_direction_of_tiny_normals_is_in_greater_doubt(size):
    """All of them near 0: what is unknown about a length turns the direction by far more than itself."""
    bits, scale, near_one = 24, Fraction(7, 3), 2**24 - 2**13
    for turns in ([2**22, 2**23 + 5], [3, 2**24 - 9], [2**21 + 1, 2**21]):
        known = [2**20 + 7] * size + [near_one, near_one - 2**11, *turns]
        with localcontext(sampling._context(60)):
            values, doubt = sampling._l2_vector(known, bits, size, scale)
        middle = [mpmath.mpf(str(v)) for v in values]
        ends = [(u << 64, (u + 1 << 64) - 1) for u in known]
        moved = [[e[k >> i & 1] for i, e in enumerate(ends)] for k in range(0, 2 ** len(known), 5)]
        true = [l2_vector(u, bits + 64, size, scale) for u in moved]
        assert max(mpmath.norm([a - b for a, b in zip(t, middle, strict=True)]) for t in true) <= doubt


def test_the_logarithm_of_a_uniform_is_known_up_to_its_doubt():
    known = [1, 2, 3, 100, 253]
    with localcontext(sampling._context(40)):
        logarithms, doubts = sampling._log_uniforms(known, 8)
    for k, value, doubt in zip(known, logarithms, doubts, strict=True):
        assert all(abs(exponential(end, 8) - mpmath.mpf(str(value))) <= mpmath.mpf(str(doubt)) for end in (k, k + 1))
        assert doubt * k <= 1


def test_a_logarithm_that_could_be_zero_waits_for_more_bits():
    with localcontext(sampling._context(40)):
        assert sampling._log_uniforms([253, 2], 8) is not None  # 0.0098, and a doubt of 0.0040
        assert sampling._log_uniforms([2, 254], 8) is None  # 0.0059, and as much doubt
        assert sampling._l2_vector([2, 2, 254], 8, 1, Fraction(1)) is not None  # a turn is no logarithm
        assert sampling._l2_vector([254, 2, 2], 8, 1, Fraction(1)) is None
        assert sampling._l2_vector([2, 254, 2], 8, 1, Fraction(1)) is None
        assert sampling._gaussian_vector([254, 2], 8, 1, Fraction(1)) is None


# --- decimals -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("digits", [10, 28, 50, 67, 100, 300])
def test_pi(digits):
    with localcontext() as context, mpmath.workdps(digits + 20):
        context.prec = digits
        assert abs(mpmath.mpf(str(sampling._pi(digits))) - mpmath.pi) < mpmath.mpf(10) ** (3 - digits)


@pytest.mark.parametrize("digits", [30, 67, 200])
@pytest.mark.parametrize(
    "turn", ["0", "1e-40", "0.1", "0.125", "0.2499999", "0.25", "0.4", "0.5", "0.6", "0.75", "0.9", "0.99999999999"]
)
def test_cosine_and_sine_of_a_turn(turn, digits):
    with localcontext() as context, mpmath.workdps(digits + 20):
        context.prec = digits
        cosine, sine = sampling._cos_sin(Decimal(turn))
        angle = 2 * mpmath.pi * mpmath.mpf(turn)
        assert abs(mpmath.mpf(str(cosine)) - mpmath.cos(angle)) < mpmath.mpf(10) ** (3 - digits)
        assert abs(mpmath.mpf(str(sine)) - mpmath.sin(angle)) < mpmath.mpf(10) ** (3 - digits)
