"""What a device sends: bits and small numbers, in shape, whatever comes in, decided by the words that were drawn."""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

from sfumato.checks import as_written
from sfumato.core import sampling
from sfumato.core.calibration import copies_law
from sfumato.core.randomizer import (
    UNIT,
    Codebook,
    GaussianCopies,
    LaplaceNumber,
    LikelihoodBit,
    LogLog,
    OneBit,
    Subset,
    exp_below,
    likelihoods,
    round_at_random,
)
from sfumato.errors import ParameterError, ParameterTypeError

RANDOMIZERS = [OneBit, LaplaceNumber, LikelihoodBit, LogLog, Codebook]
ODD = np.array([0.0, 1.0, 0.5, np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -0.0])


@pytest.fixture
def draws(monkeypatch):
    """Let the samplers return chosen numbers, in the shape that is asked for."""

    def feed(**chosen):
        for name, values in chosen.items():
            waiting = iter(values)
            kind = np.uint32 if name == "words32" else np.int64
            monkeypatch.setattr(sampling, name, lambda count, *_, w=waiting, k=kind: _next(w, count, k))

    return feed


def _next(waiting, count, kind):
    value = np.asarray(next(waiting), dtype=kind)
    size = count if isinstance(count, int) else len(count)
    return np.broadcast_to(value, (size,)) if value.ndim == 0 else value


# --- parameters -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("randomizer", RANDOMIZERS)
@pytest.mark.parametrize("epsilon", [0, -1.0, math.nan, math.inf, Fraction(1, 3)])
def test_an_epsilon_that_is_none_is_refused(randomizer, epsilon):
    with pytest.raises(ParameterError, match="epsilon must be"):
        randomizer(epsilon)


@pytest.mark.parametrize("randomizer", RANDOMIZERS)
@pytest.mark.parametrize("epsilon", ["1", None, True, 1j, [1.0]])
def test_an_epsilon_of_another_type_is_refused(randomizer, epsilon):
    with pytest.raises(ParameterTypeError, match="epsilon must be a number"):
        randomizer(epsilon)


@pytest.mark.parametrize(("randomizer", "most"), [(LikelihoodBit, 8.0), (LogLog, 2 * math.log(2)), (Codebook, 16.0)])
def test_an_epsilon_that_a_randomizer_cannot_serve_is_refused(randomizer, most):
    randomizer(most)
    beyond = math.nextafter(most, math.inf)
    with pytest.raises(ParameterError, match=f"epsilon.*{beyond}"):
        randomizer(beyond)


@pytest.mark.parametrize("randomizer", [OneBit, LaplaceNumber, LikelihoodBit, LogLog])
def test_an_epsilon_that_is_too_small_for_a_device_is_refused(randomizer):
    assert randomizer(1e-6).epsilon == 1e-6
    with pytest.raises(ParameterError, match="at least 1e-06"):
        randomizer(math.nextafter(1e-6, 0.0))


@pytest.mark.parametrize("tries", [0, 1, 257, -1])
def test_too_few_or_too_many_tries_are_refused(tries):
    with pytest.raises(ParameterError, match="tries must"):
        LogLog(1.0, tries)


@pytest.mark.parametrize(("name", "value"), [("tries", 2.0), ("tries", "3"), ("shares", 1.5), ("shares", True)])
def test_counts_of_another_type_are_refused(name, value):
    with pytest.raises(ParameterTypeError, match=f"{name} must be a whole number"):
        (LogLog if name == "tries" else LaplaceNumber)(1.0, value)


def test_a_number_of_shares_below_one_is_refused():
    with pytest.raises(ParameterError, match="shares must be at least 1"):
        LaplaceNumber(1.0, 0)


@pytest.mark.parametrize(("size", "near"), [(1, 1), (257, 64), (4, 4), (4, 0), (4, -1), (0, 0)])
def test_a_codebook_that_cannot_be_is_refused(size, near):
    with pytest.raises(ParameterError, match="near < size <= 256"):
        Codebook(1.0, size, near)


@pytest.mark.parametrize("randomizer", RANDOMIZERS)
def test_a_randomizer_cannot_be_changed(randomizer):
    with pytest.raises(dataclasses.FrozenInstanceError):
        randomizer(1.0).epsilon = 2.0
    assert randomizer(1.0) == randomizer(1.0) != randomizer(0.5)


# --- exponentials from below ------------------------------------------------------------------------------------------


@given(st.floats(1e-12, 1000), st.integers(1, 40))
def test_exponentials_are_below_and_close(epsilon, part):
    with mp.workdps(120):
        factor = Fraction(part, 40)
        exponent = as_written(epsilon) * factor
        true, found = mp.e ** (mpf(exponent.numerator) / exponent.denominator), exp_below(epsilon, factor)
        ratio = mpf(found.numerator) / found.denominator / true
        assert 1 - mpf(10) ** -49 < ratio < 1


def test_epsilon_is_read_as_it_is_written():
    """0.1 is one tenth, and not the double next to it, which is larger."""
    with mp.workdps(60):
        found = exp_below(0.1)
        tenth = mp.e ** (mpf(1) / 10)
        assert mpf(found.numerator) / found.denominator < tenth < mp.e ** mpf(0.1)


def test_the_decimal_context_of_the_caller_does_not_matter():
    from decimal import ROUND_CEILING, Inexact, localcontext

    expected = exp_below(1.3)
    with localcontext() as context:
        context.prec, context.rounding, context.traps[Inexact] = 3, ROUND_CEILING, True
        assert exp_below(1.3) == expected


# --- one bit ----------------------------------------------------------------------------------------------------------


def test_a_bit_is_flipped_just_below_the_threshold(draws):
    randomizer = OneBit(1.0)
    t = randomizer.threshold
    draws(words32=[[0, t - 1, t, UNIT - 1]] * 2)
    assert randomizer.flip(np.zeros(4, dtype=np.uint8)).tolist() == [1, 1, 0, 0]
    assert randomizer.flip(np.ones(4, dtype=np.uint8)).tolist() == [0, 0, 1, 1]


def test_the_threshold_is_the_least_that_is_within_epsilon():
    for epsilon in (0.01, 1.0, 5.0):
        t, odds = OneBit(epsilon).threshold, exp_below(epsilon)
        assert Fraction(UNIT - t, t) <= odds < Fraction(UNIT - t + 1, t - 1)


def test_a_bit_keeps_the_hyperbolic_tangent_of_half_of_epsilon():
    for epsilon in (0.01, 0.5, 1.0, 4.0):
        randomizer = OneBit(epsilon)
        assert randomizer.gain == pytest.approx(math.tanh(epsilon / 2), rel=1e-7)
        assert randomizer.flip_probability == Fraction(randomizer.threshold, 2**32)


@pytest.mark.parametrize("epsilon", [23, 50.0, 1e4])
def test_one_word_always_flips(epsilon):
    assert OneBit(epsilon).threshold == 1


@pytest.mark.parametrize("shape", [(0,), (1,), (7,), (3, 2)])
def test_bits_keep_their_shape(shape):
    for sent in (OneBit(1.0).flip(np.zeros(shape, dtype=np.uint8)), OneBit(1.0).send(np.zeros(shape))):
        assert sent.shape == shape and sent.dtype == np.uint8 and set(sent.ravel().tolist()) <= {0, 1}


def test_numbers_become_bits_at_their_share_of_words(draws):
    words = [0, 1, 2**31 - 1, 2**31, UNIT - 2, UNIT - 1]
    for value, expected in [(0.0, 0), (-3.0, 0), (-np.inf, 0), (0.5, 3), (np.nan, 3), (1.0, 6), (9.0, 6), (np.inf, 6),
                            (2.0**-32, 1), (5e-324, 1), (1 - 2.0**-32, 5)]:  # fmt: skip
        draws(words32=[words])
        assert round_at_random(np.full(6, value)).tolist() == [1] * expected + [0] * (6 - expected)


@given(st.lists(st.floats(), min_size=1, max_size=20))
def test_any_number_is_sent_as_a_bit(values):
    array = np.array(values)
    before = array.tobytes()
    assert set(OneBit(1.0).send(array).tolist()) <= {0, 1}
    assert array.tobytes() == before


# --- Laplace ----------------------------------------------------------------------------------------------------------


def test_numbers_are_whole_steps_within_the_grid_before_noise(draws):
    draws(discrete_laplace=[0])
    sent = LaplaceNumber(1.0).send(ODD)
    assert sent.tolist() == [0, 2**16, 2**15, 2**15, 2**16, 0, 2**16, 0, 0, 0]
    assert sent.dtype == np.int64


def test_numbers_are_rounded_to_the_nearest_step(draws):
    draws(discrete_laplace=[0])
    assert LaplaceNumber(1.0).send(np.array([0.4, 0.7, 1.6, 65535.6]) / 2**16).tolist() == [0, 1, 2, 65536]


def test_noise_is_added_and_keeps_the_shape(draws):
    draws(discrete_laplace=[[5, -7, 0, 2**40]])
    assert LaplaceNumber(1.0).send(np.array([[0, 1], [0.5, np.nan]])).tolist() == [[5, 65529], [32768, 2**40 + 32768]]


def test_the_scale_is_the_range_over_a_share_of_epsilon():
    assert LaplaceNumber(0.1, 3).scale == 2**16 * 30
    assert LaplaceNumber(2.0).scale == 2**15


# --- Algorithm 3 ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 8.0])
def test_inner_is_just_below_its_formula(epsilon):
    with mp.workdps(40):
        formula = mp.log(2 - mp.e ** -mpf(epsilon))
        assert formula * (1 - mpf("2e-6")) < LikelihoodBit(epsilon).inner < formula


def test_probabilities_are_half_where_nothing_can_be_told():
    randomizer = LikelihoodBit(1.0)
    assert randomizer.probabilities(np.zeros(5), np.array([-9, -0.1, 0, 0.3, 7.0])).tolist() == [2**52] * 5
    assert randomizer.probabilities(np.array([0.6]), np.array([0.3])).tolist() == [2**52]  # y is midway to v


def test_probabilities_stay_within_those_of_the_ends():
    randomizer = LikelihoodBit(2.0)
    ends = likelihoods(np.array([1.0, 1.0]), np.array([-2.0, 2.0]), randomizer.inner)
    public = np.array([-1e300, -1.0, 0.0, 0.5, 1.0, 2.0**53 + 2, 1e300])
    chances = randomizer.probabilities(ODD[:, None], public[None, :])
    assert chances.shape == (10, 7) and chances.dtype == np.int64
    assert ends[0] <= chances.min() and chances.max() <= ends[1] < 2**53
    assert (chances[3] == randomizer.probabilities(np.full(7, 0.5), public)).all()  # not a number: one half
    assert (chances[4] == chances[1]).all() and (chances[5] == chances[0]).all()  # beyond an end: the end


FAR = 2.0**53 + 2  # from here on a double cannot tell whether 1 was taken away


@pytest.mark.parametrize(
    ("public", "shift"),
    [(-FAR, -1.0), (-2, -1.0), (0, -1.0), (0.2, -0.6), (0.5, 0.0), (0.9, 0.8), (3, 1.0), (FAR, 1.0)],
)
def test_likelihoods_follow_their_formula(public, shift):
    found = likelihoods(np.ones(1), np.array([public]), 0.3)
    assert found.tolist() == [pytest.approx(math.exp(0.3 * shift) * 2**52, rel=1e-15)]


def test_a_likelihood_bit_is_one_just_below_its_probability(draws):
    randomizer = LikelihoodBit(1.0)
    chance = int(randomizer.probabilities(np.array([1.0]), np.array([2.0]))[0])
    draws(words53=[[0, chance - 1, chance, 2**53 - 1]])
    sent = randomizer.send(np.ones(4), np.full(4, 2.0))
    assert sent.tolist() == [1, 1, 0, 0] and sent.dtype == np.uint8


# --- Algorithm 8 ------------------------------------------------------------------------------------------------------


def test_sixteen_are_tried_unless_another_number_is_asked_for():
    assert LogLog(1.0).tries == 16


def test_inner_is_half_of_epsilon_or_less():
    assert 0.4999995 < LogLog(1.0).inner <= 0.5 * (1 - 2.0**-20)


def test_one_of_those_kept_is_named(draws):
    """Words zero keep, and the largest words drop; then the place among those kept is drawn."""
    keep, drop = 0, 2**53 - 1
    rows = [[drop, keep, drop, keep], [drop, keep, drop, keep], [keep, drop, drop, drop], [drop] * 4]
    draws(words53=[np.ravel(rows)], uniform_below=[[0, 1, 0, 2]])
    assert LogLog(1.0, 4).send(np.zeros(4), np.zeros((4, 4))).tolist() == [1, 3, 0, 2]


def test_those_are_kept_whose_word_is_below_their_likelihood(monkeypatch):
    """Also where the number is none (one half) or beyond an end: a word below keeps, one that is equal does not."""
    randomizer, asked = LogLog(1.0, 2), []
    values, meant = np.array([np.nan, 9.0, np.inf, -9.0, 0.3]), np.array([0.5, 1.0, 1.0, 0.0, 0.3])
    chances = likelihoods(meant, np.full(5, 0.8), randomizer.inner)
    monkeypatch.setattr(sampling, "words53", lambda count: np.column_stack([chances, chances - 1]).ravel())
    monkeypatch.setattr(sampling, "uniform_below", lambda bounds: asked.extend(bounds) or np.zeros(5, np.int64))
    assert randomizer.send(values, np.full((5, 2), 0.8)).tolist() == [1] * 5
    assert asked == [1] * 5


def test_the_place_is_drawn_among_as_many_as_were_kept(monkeypatch):
    asked = []
    keep, drop = 0, 2**53 - 1
    monkeypatch.setattr(
        sampling, "words53", lambda count: np.array([keep, keep, drop, drop, drop, drop, keep, keep, keep])
    )
    monkeypatch.setattr(
        sampling, "uniform_below", lambda bounds: asked.append(bounds.tolist()) or np.zeros(3, np.int64)
    )
    assert LogLog(1.0, 3).send(np.zeros(3), np.zeros((3, 3))).tolist() == [0, 0, 0]
    assert asked == [[2, 3, 3]]  # none kept: all of them


@pytest.mark.parametrize("tries", [2, 16, 256])
def test_names_are_of_tries(tries):
    sent = LogLog(1.0, tries).send(ODD, np.linspace(-9, 9, 10 * tries).reshape(10, tries))
    assert sent.dtype == np.uint8 and sent.shape == (10,) and sent.max() < tries


# --- codebooks --------------------------------------------------------------------------------------------------------


def test_weights_are_within_epsilon():
    close, far = Codebook(1.0).weights
    assert far == 2**16 and close == math.floor(math.e * 2**16)
    assert Codebook(1.0).size == 256 and Codebook(1.0).near == 64


def test_the_least_codebook_and_the_least_epsilon_of_one():
    assert Codebook(0.001, size=2, near=1).send(np.zeros((3, 2))).max() < 2
    with pytest.raises(ParameterError, match="must lie in"):
        Codebook(math.nextafter(0.001, 0.0))


def test_the_draws_are_as_many_as_all_weights_together(monkeypatch):
    asked = []
    monkeypatch.setattr(sampling, "uniform_below", lambda bounds: asked.append(bounds.tolist()) or 0 * bounds)
    Codebook(1.0, size=5, near=2).send(np.zeros((2, 5)))
    assert asked == [[2 * math.floor(math.e * 2**16) + 3 * 2**16] * 2]


def test_draws_name_the_nearest_first(draws):
    """Near places take ``close`` draws each, the others ``far``."""
    randomizer = Codebook(1.0, size=4, near=2)
    close, far = randomizer.weights
    first = [
        0,
        close - 1,
        close,
        2 * close - 1,
        2 * close,
        2 * close + far - 1,
        2 * close + far,
        2 * close + 2 * far - 1,
    ]
    draws(uniform_below=[first])
    sent = randomizer.send(np.tile([0.1, 0.9, -0.5, 0.3], (8, 1)))
    assert sent.tolist() == [1, 1, 3, 3, 0, 0, 2, 2] and sent.dtype == np.uint8


@pytest.mark.parametrize("closeness", [[np.nan] * 4, [np.inf, -np.inf, np.nan, 0.0], [0.0] * 4, [1e308, -1e308, 0, 0]])
def test_whatever_the_vector_every_direction_has_one_place(draws, closeness):
    randomizer = Codebook(1.0, size=4, near=2)
    close, far = randomizer.weights
    draws(uniform_below=[[0, close, 2 * close, 2 * close + far]])
    assert sorted(randomizer.send(np.tile(closeness, (4, 1))).tolist()) == [0, 1, 2, 3]


def test_no_vectors_give_no_names():
    assert Codebook(1.0).send(np.zeros((0, 256))).shape == (0,)


def test_the_largest_codebook_fits_into_64_bits():
    sent = Codebook(16.0, size=256, near=255).send(np.tile(np.arange(256.0), (200, 1)))
    assert sent.shape == (200,)


# --- subsets --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "size", "kept"), [(1.0, 22, 6), (0.5, 4, 2), (4.0, 22, 1), (1.0, 2, 1), (0.001, 3, 1), (16.0, 4096, 1)]
)
def test_the_set_is_about_one_in_one_and_e_to_the_epsilon(epsilon, size, kept):
    assert Subset(epsilon, size).kept == kept


@pytest.mark.parametrize("epsilon", [0.001, 0.1, 1.0, 16.0])
def test_a_turn_over_the_item_is_named_as_often_as_epsilon_allows(epsilon):
    close, far = Subset(epsilon, 22).weights
    assert far == 2**16
    assert Fraction(close, far) <= exp_below(epsilon) < Fraction(close + 1, far)


def test_a_turn_is_the_item_less_the_place_that_was_drawn(monkeypatch):
    randomizer = Subset(1.0, 5)
    close, far = randomizer.weights
    order = np.array([3, 1, 4, 0, 2])[:, None]
    assert randomizer.kept == 1
    draws = {
        0: 3,
        close - 1: 3,
        close: 1,
        close + far - 1: 1,
        close + far: 4,
        close + 2 * far: 0,
        close + 4 * far - 1: 2,
    }
    for drawn, place in draws.items():
        monkeypatch.setattr(sampling, "uniform_below", lambda bounds, drawn=drawn: np.full(len(bounds), drawn))
        for item in range(5):
            assert randomizer.send(np.array([item]), order).tolist() == [(item - place) % 5]


@given(item=st.integers(-(2**62), 2**62), size=st.integers(2, 300))
def test_any_whole_number_is_some_item(item, size):
    order = np.arange(size)[:, None]
    assert 0 <= Subset(1.0, size).send(np.array([item]), order)[0] < size


@pytest.mark.parametrize(("epsilon", "size"), [(0.0009, 5), (16.1, 5), (1.0, 1), (1.0, 4097), (-1.0, 5)])
def test_what_subsets_cannot_serve(epsilon, size):
    with pytest.raises(ParameterError):
        Subset(epsilon, size)


# --- copies of a vector -----------------------------------------------------------------------------------------------


@pytest.fixture
def zeros(monkeypatch):
    """Let Gaussian noise be zero, and note what was asked for."""
    asked = []
    noiseless = lambda *sizes: asked.append(sizes) or np.zeros(sizes[0], dtype=np.int64)  # noqa: E731
    monkeypatch.setattr(sampling, "discrete_gaussian", noiseless)
    return asked


def test_the_noise_of_copies_is_that_of_their_law(zeros):
    randomizer = GaussianCopies(1.0, 1e-6, 3, 2)
    law = copies_law(3, 2, 1.0, 1e-6)
    assert (randomizer.variance, randomizer.exponent) == (law.scale, law.exponent)
    assert randomizer.send(np.zeros((4, 2))).shape == (4, 3, 2)
    assert zeros == [(24, law.scale)]


def test_each_copy_of_each_number_has_noise_of_its_own(monkeypatch):
    noise = np.arange(12) * 10_000
    monkeypatch.setattr(sampling, "discrete_gaussian", lambda count, variance: noise[:count])
    sent = GaussianCopies(1.0, 1e-6, 3, 2).send(np.array([[0.5, 0.25], [0.0, -1.0]]))
    assert sent.dtype == np.int64
    assert sent.tolist() == [
        [[512, 10_256], [20_512, 30_256], [40_512, 50_256]],
        [[60_000, 68_976], [80_000, 88_976], [100_000, 108_976]],
    ]


@pytest.mark.parametrize(
    ("vector", "sent"),
    [
        ([0.25, -0.5], [256, -512]),  # short ones stay as they are
        ([0.6, 0.8], [614, 819]),
        ([1.5, 2.0], [614, 819]),  # longer ones are shortened
        ([-1.5, 0.0], [-1024, 0]),
        ([8.0, 1.5], [819, 614]),  # no number counts for more than 2
        ([np.nan, 0.5], [0, 512]),
        ([np.nan, np.nan], [0, 0]),
        ([-np.inf, 1.5], [-819, 614]),
        ([1e308, 1e308], [724, 724]),
        ([0.7 / 1024, 1.6 / 1024], [1, 2]),  # to the nearest step
    ],
)
def test_whatever_comes_in_is_a_vector_of_length_one_at_most(vector, sent, zeros):
    assert GaussianCopies(1.0, 1e-6, 2, 2).send(np.array([vector, [0.5, 0.0]])).tolist() == [[sent] * 2, [[512, 0]] * 2]


def test_vectors_are_not_longer_than_one_by_a_rounding(zeros):
    """On a grid so fine that nothing is rounded away: all of a double is seen."""

    class Fine(GaussianCopies):
        exponent = -60

    generator = np.random.default_rng(3)
    vectors = generator.normal(size=(300, 9))
    vectors[100:200] /= np.linalg.norm(vectors[100:200], axis=1, keepdims=True)
    vectors[200:] *= 1e300
    for sent in Fine(1.0, 1e-6, 1, 9).send(vectors)[:, 0].tolist():
        assert 1 - Fraction(1, 2**45) < Fraction(sum(x * x for x in sent), 2**120) < 1
