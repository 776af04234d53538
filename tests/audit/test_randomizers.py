"""The local model, enumerated: the exact likelihood ratio of every randomizer, its sampler, and what must be caught."""

from __future__ import annotations

import dataclasses
import functools
import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from harness.laws import fits_cells, fits_distribution
from mpmath import mp, mpf

import sfumato as sf
from sfumato.checks import as_written
from sfumato.core import sampling
from sfumato.core.box import Box, Categorical
from sfumato.core.randomizer import (
    UNIT,
    Codebook,
    GaussianCopies,
    LaplaceNumber,
    LikelihoodBit,
    LogLog,
    OneBit,
    Subset,
    likelihoods,
)
from sfumato.local.channels import LaplaceChannel
from sfumato.local.public import public_circles
from sfumato.local.records import read_records, within

mp.dps = 60

FINE = 2**53
EPSILONS = [1e-6, 0.001, 0.1, 0.5, 1, 3, 10, 20]


def precise(number):
    """A fraction in high precision."""
    return mpf(number.numerator) / number.denominator


def granted(epsilon):
    """Epsilon as it is written, in high precision."""
    return precise(as_written(epsilon))


def loss(laws):
    """The largest log likelihood ratio of any output between any two laws: lists of exact numbers, to one scale."""
    columns = list(zip(*laws, strict=True))
    return mp.log(precise(max(Fraction(max(c)) / min(c) for c in columns))) if all(map(min, columns)) else mp.inf


def answers_of_a_bit(flipped):
    """The laws of what is sent for a zero and for a one, if this many of ``2**32`` words flip it."""
    return [UNIT - flipped, flipped], [flipped, UNIT - flipped]


# --- randomised response ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_flipped_bit_loses_at_most_epsilon_and_nearly_all_of_it(epsilon):
    found = loss(answers_of_a_bit(OneBit(epsilon).threshold))
    assert found <= granted(epsilon)
    assert found >= granted(epsilon) * (1 - mpf("1e-3"))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_negative_control_one_word_fewer_that_flips_is_caught(epsilon):
    assert loss(answers_of_a_bit(OneBit(epsilon).threshold - 1)) > granted(epsilon)


# --- Algorithm 3 ------------------------------------------------------------------------------------------------------

EDGES = [0.0, 5e-324, 1e-17, 2.0**-53, 0.25, 0.5, 1 - 2.0**-53, 1.0, 1 + 2.0**-52, 2.0**53 + 2, 1e17, 1e300]
PUBLIC = np.unique(np.concatenate([np.linspace(-2, 2, 321), EDGES, np.negative(EDGES)]))
PRIVATE = np.unique(np.concatenate([np.linspace(0, 1, 321), [5e-324, 2.0**-53, 1e-17, 1 - 2.0**-53]]))


def worst_bit(inner, values=PRIVATE):
    """The largest loss of the likelihood bit over the grid, from its whole-number probabilities."""
    chances = likelihoods(values[:, None], PUBLIC[None, :], inner)
    highest, lowest = chances.max(axis=0).tolist(), chances.min(axis=0).tolist()
    ratios = {(h, low) for h, low in zip(highest, lowest, strict=True)}
    return max(loss(([h, FINE - h], [low, FINE - low])) for h, low in ratios)


@pytest.mark.parametrize("epsilon", [1e-6, 0.001, 0.1, 0.5, 1, 3, 8])
def test_the_mended_likelihood_bit_loses_at_most_epsilon_and_nearly_all_of_it(epsilon):
    found = worst_bit(LikelihoodBit(epsilon).inner)
    assert found <= granted(epsilon)
    assert found >= granted(epsilon) * (1 - mpf("2e-6"))


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.3, 0.5, 0.69])
def test_negative_control_algorithm_3_as_printed_is_caught(epsilon):
    """With ``inner = epsilon`` a zero is ``1 / (2 - e**epsilon)`` times as likely: more than ``e**epsilon``, always."""
    found = worst_bit(epsilon)
    assert found > granted(epsilon) * (1 + mpf("0.009"))
    assert abs(found + mp.log(2 - mp.e**epsilon)) < mpf("1e-13")


def test_likelihoods_are_as_exact_as_the_proof_assumes():
    """Within ``2**-49`` of ``exp(inner shift) / 2``, wherever the shift is exact."""
    values, public = np.arange(0, 1.0001, 2.0**-6), np.arange(-1.5, 1.5001, 2.0**-6)
    for inner in (1e-6, 0.3, 0.69):
        chances = likelihoods(values[:, None], public[None, :], inner)
        for i, j in product(range(0, len(values), 7), range(len(public))):
            shift = abs(public[j]) - abs(public[j] - values[i])
            assert abs(int(chances[i, j]) / (mp.e ** (mpf(inner) * shift) * FINE / 2) - 1) < mpf(2) ** -49


# --- Algorithm 8 ------------------------------------------------------------------------------------------------------


def naming_law(chances):
    """By all outcomes of keeping and dropping: the chance that each is named, exactly."""
    law = [Fraction(0)] * len(chances)
    for kept in product((0, 1), repeat=len(chances)):
        weight = math.prod((p if k else 1 - p) for p, k in zip(chances, kept, strict=True))
        among = [t for t, k in enumerate(kept) if k] or range(len(chances))
        for t in among:
            law[t] += weight / len(among)
    return law


def naming_formula(chances):
    """The same by the proof's integral: ``p_t`` times that of the product of ``1 - x p_s``, and the empty case."""
    none, law = math.prod(1 - p for p in chances), []
    for t, own in enumerate(chances):
        polynomial = [Fraction(1)]
        for p in chances[:t] + chances[t + 1 :]:
            polynomial = [a - p * b for a, b in zip([*polynomial, 0], [0, *polynomial], strict=True)]
        law.append(own * sum(c / Fraction(k + 1) for k, c in enumerate(polynomial)) + none / len(chances))
    return law


def worst_naming(inner, patterns, values, law=naming_law):
    """The largest loss of a name over public patterns and private values, from whole-number probabilities."""
    worst = mpf(0)
    for public in patterns:
        chances = likelihoods(np.asarray(values)[:, None], np.asarray(public)[None, :], inner)
        worst = max(worst, loss([law([Fraction(c, FINE) for c in row]) for row in chances.tolist()]))
    return worst


@pytest.mark.few(2)
@pytest.mark.parametrize("tries", [2, 3, 4])
@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 0.5, 1, 1.3862943611198906])
def test_the_mended_name_loses_at_most_epsilon(epsilon, tries):
    """All patterns of public numbers, in both orders of every pair of values."""
    patterns = product([-2.0, 0.3, 0.5, 0.8, 2.0], repeat=tries)
    chosen = (p for p in patterns if tuple(sorted(p[1:])) == p[1:])  # the order of the others does not matter
    found = worst_naming(LogLog(epsilon, tries).inner, chosen, [0.0, 0.3, 0.5, 0.8, 1.0])
    assert found <= granted(epsilon)
    assert found > granted(epsilon) * {2: 0.49, 3: 0.74, 4: 0.86}[tries]  # more tries, more of it: see sixteen


@pytest.mark.few(1)
@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 0.5, 1, 1.3862943611198906])
def test_sixteen_tries_lose_at_most_epsilon_and_nearly_all_of_it(epsilon):
    patterns = [(2.0, *[-2.0] * k, *[2.0] * (15 - k)) for k in (0, 8, 14, 15)]
    patterns += [(-2.0, *[2.0] * 15), (0.5, *[-2.0] * 15)]
    found = worst_naming(LogLog(epsilon).inner, patterns, [0.0, 0.5, 1.0], naming_formula)
    assert found <= granted(epsilon)
    assert found > granted(epsilon) * mpf("0.985")


def test_the_formula_of_the_proof_is_the_law_of_keeping_and_dropping():
    for chances in [(1, 2, 3), (5, 5, 5, 5), (1, 8, 8), (7, 0, 2)]:
        eighths = [Fraction(c, 8) for c in chances]
        assert naming_law(eighths) == naming_formula(eighths)


def test_negative_controls_of_algorithm_8_are_caught():
    """All of epsilon inside, as if the loss were not doubled; and signed values that were not mapped to [0, 1]."""
    patterns = [(2.0, *[-2.0] * 15), (-2.0, *[2.0] * 15)]
    assert worst_naming(0.5, patterns, [0.0, 1.0], naming_formula) > 0.99
    assert worst_naming(LogLog(0.5).inner, patterns, [-1.0, 1.0], naming_formula) > 0.9


# --- PrivUnit on a codebook -------------------------------------------------------------------------------------------

VECTORS = [[0.1, 0.9, -0.5, 0.3], [0.9, 0.1, 0.3, -0.5], [0.0] * 4, [np.nan] * 4, [np.inf, -np.inf, np.nan, 1e-320]]


def every_draw(randomizer, closeness, monkeypatch):
    """How many of all equally likely draws name each direction: the whole law, by the code that sends."""
    near, far = randomizer.weights
    total = randomizer.near * near + (randomizer.size - randomizer.near) * far
    with monkeypatch.context() as patched:
        patched.setattr(sampling, "uniform_below", lambda bounds: np.arange(total) if (bounds == total).all() else None)
        named = randomizer.send(np.broadcast_to(np.array(closeness), (total, randomizer.size)))
    return np.bincount(named, minlength=randomizer.size).tolist()


@pytest.mark.few(2)
@pytest.mark.parametrize(("epsilon", "near"), [(0.1, 1), (0.1, 3), (1, 1), (1, 3), (3, 1)])
def test_a_named_direction_loses_at_most_epsilon_and_nearly_all_of_it(epsilon, near, monkeypatch):
    randomizer = Codebook(epsilon, size=4, near=near)
    laws = [every_draw(randomizer, vector, monkeypatch) for vector in VECTORS]
    assert all(sorted(law) == sorted(laws[0]) and sum(law) == sum(laws[0]) for law in laws)
    assert granted(epsilon) * (1 - mpf("1e-3")) <= loss(laws) <= granted(epsilon)


@pytest.mark.parametrize("epsilon", [0.001, 0.01, 0.1, 1, 3, 10, 16])
def test_the_weights_of_a_codebook_are_within_epsilon(epsilon):
    close, far = Codebook(epsilon).weights
    assert granted(epsilon) * (1 - mpf("0.01")) <= mp.log(mpf(close) / far) <= granted(epsilon)


def test_negative_control_as_many_near_directions_as_it_happens_is_caught():
    """PrivUnit's cap on a codebook: how many lie in the cap depends on the vector, and so does the total."""
    close, far = Codebook(1.0, 4, 1).weights
    laws = [[Fraction(w, sum(law)) for w in law] for law in ([close, far, far, far], [far, close, close, close])]
    assert loss(laws) > 1.2


# --- subset selection -------------------------------------------------------------------------------------------------


def all_turns(epsilon, size, item, order, monkeypatch):
    """How many of all equally likely draws name each turn for an item: the whole law, by the code that sends."""
    randomizer = Subset(epsilon, size)
    close, far = randomizer.weights
    total = randomizer.kept * close + (size - randomizer.kept) * far
    circles = np.broadcast_to(np.array(order)[:, None], (size, total))
    with monkeypatch.context() as patched:
        patched.setattr(sampling, "uniform_below", lambda bounds: np.arange(total) if (bounds == total).all() else None)
        named = randomizer.send(np.full(total, item), circles)
    return np.bincount(named, minlength=size).tolist()


@pytest.mark.few(2)
@pytest.mark.parametrize(("epsilon", "size"), [(0.1, 2), (0.1, 5), (1, 3), (1, 4), (3, 4)])
def test_a_named_turn_loses_at_most_epsilon_and_nearly_all_of_it(epsilon, size, monkeypatch):
    """All items, whatever the public order of places is."""
    for order in (range(size), reversed(range(size)), np.roll(range(size), 2)):
        places = [*order]
        laws = [all_turns(epsilon, size, item, places, monkeypatch) for item in range(size)]
        assert all(sorted(law) == sorted(laws[0]) for law in laws)
        assert granted(epsilon) * (1 - mpf("1e-3")) <= loss(laws) <= granted(epsilon)


@pytest.mark.parametrize("epsilon", [0.001, 0.01, 0.1, 1, 3, 10, 16])
@pytest.mark.parametrize("size", [2, 22, 4096])
def test_the_weights_of_a_subset_are_within_epsilon(epsilon, size):
    close, far = Subset(epsilon, size).weights
    assert granted(epsilon) * (1 - mpf("0.01")) <= mp.log(mpf(close) / far) <= granted(epsilon)
    assert 1 <= Subset(epsilon, size).kept < size
    assert Subset(epsilon, size).kept * close + size * far < 2**62


@pytest.mark.parametrize(("seed", "user"), [(0, 0), (1, 2**48 - 1), (2**63 - 1, 17)])
@pytest.mark.parametrize(("size", "kept"), [(2, 1), (5, 2), (22, 6), (300, 150)])
def test_a_public_circle_has_every_place_once(seed, user, size, kept):
    """What the ratio rests on: whoever chose the seed and the number."""
    found = public_circles(seed, np.array([user, 3], dtype=np.uint64), size, kept)
    assert (np.sort(found, axis=0) == np.arange(size)[:, None]).all()


def test_negative_control_a_circle_with_a_place_twice_is_caught(monkeypatch):
    laws = [all_turns(1.0, 4, item, [0, 0, 1, 2], monkeypatch) for item in range(4)]
    assert loss(laws) > 1.2


def test_negative_control_public_sets_that_cover_items_unevenly_are_caught():
    """Of three public sets, an item is in one and another in two: the totals differ, and with them every chance."""
    close, far = Subset(1.0, 3).weights
    laws = [[Fraction(w, sum(law)) for w in law] for law in ([close, far, far], [far, close, close])]
    assert loss(laws) > 1.2


def test_negative_control_the_best_of_two_draws_is_caught(monkeypatch):
    """A device that draws again until its item is covered, once: more accurate, and no longer private."""
    law = all_turns(1.0, 4, 0, range(4), monkeypatch)
    total = sum(law)
    covers = [count == max(law) for count in law]
    missed = sum(count for count, good in zip(law, covers, strict=True) if not good)
    again = [
        Fraction(count, total) * (Fraction(missed, total) + (1 if good else 0))
        for count, good in zip(law, covers, strict=True)
    ]
    assert loss([again, again[1:] + again[:1]]) > 1.2


# --- Laplace ----------------------------------------------------------------------------------------------------------


def laplace_loss(first, second, scale):
    """Of independent discrete Laplace noise of this scale around two vectors of whole numbers."""
    return sum((Fraction(abs(int(a) - int(b))) for a, b in zip(first, second, strict=True)), Fraction(0)) / scale


def without_noise(send, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(sampling, "discrete_laplace", lambda count, scale: np.zeros(count, dtype=np.int64))
        return send()


@pytest.mark.parametrize("shares", [1, 7, 121])
@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1, 20])
def test_split_numbers_lose_exactly_epsilon_at_most(epsilon, shares, monkeypatch):
    randomizer = LaplaceNumber(epsilon, shares)
    odd = np.array([0, 1, np.nan, np.inf, -np.inf, 1e300, -1e300, 0.5, 1 - 2.0**-53, 5e-324, -0.0])
    whole = without_noise(lambda: randomizer.send(odd), monkeypatch)
    assert whole.dtype == np.int64 and whole.min() == 0 and whole.max() == LaplaceNumber.steps
    assert laplace_loss([0] * shares, [LaplaceNumber.steps] * shares, randomizer.scale) == as_written(epsilon)


@pytest.mark.parametrize("epsilon", [0.1, 1, 20])
def test_clamping_the_noise_costs_nothing(epsilon):
    """The tail that is heaped on the limit: geometric sums, for the two ends of the range."""
    channel = LaplaceChannel(epsilon, 3, 1)
    scale, low, high = channel._randomizer().scale, -channel._noise, channel.largest
    for limit in (low, high):
        heaped = [abs(Fraction(limit - c)) / scale for c in (0, LaplaceNumber.steps)]  # minus log of each tail
        assert 3 * abs(heaped[0] - heaped[1]) == as_written(epsilon)
    assert low < 0 < LaplaceNumber.steps < high


def chebyshev_coefficients(record):
    """Of Algorithm 6 for two-way questions: the polynomial (3 s - s^2)/2 of ``s = sum_j x_j y_j``, in y."""
    own = [1.5 * x for x in record] + [-0.5 * x * x for x in record]
    return np.array(own + [-x * z for i, x in enumerate(record) for z in record[i + 1 :]])


def cosine_moments(x, degree):
    return np.cos(np.arange(degree) * math.acos(x))


@pytest.mark.parametrize("epsilon", [0.1, 1])
def test_negative_control_algorithms_6_and_7_without_a_split_are_caught(epsilon, monkeypatch):
    """All of epsilon on every coordinate, noise ``b / epsilon`` for values in [-b, b]. Split, by range, it holds."""
    sixth = chebyshev_coefficients([0, 0, 0]) / 1.5, chebyshev_coefficients([1, 1, 1]) / 1.5
    seventh = cosine_moments(1.0, 6), cosine_moments(-1.0, 6)
    scale, steps = LaplaceNumber(epsilon).scale, LaplaceNumber.steps  # values over b, in steps, and noise b / epsilon
    for first, second in (sixth, seventh):
        assert laplace_loss(np.rint(first * steps), np.rint(second * steps), scale) >= 5 * as_written(epsilon)
        split = LaplaceNumber(epsilon, len(first))
        mapped = without_noise(lambda r=split, v=(first, second): r.send((np.stack(v) + 1) / 2), monkeypatch)
        assert laplace_loss(*mapped, split.scale) <= as_written(epsilon)
    # One coordinate alone: the range is 2b, not b.
    assert laplace_loss([-steps], [steps], scale) == 2 * as_written(epsilon)


# --- the samplers: by chi-square, one false alarm in 1e9 runs; an error of 3 % is missed in fewer than 1e-6 -----------

DRAWS = 600_000


def follows(counts, law):
    """Whether counts fit a law, and none in which one outcome is 3 % off."""
    law = np.array([float(p) for p in law])
    one = np.arange(len(law)) == np.argmin(abs(law - 0.4))
    wrong = [np.where(one, f * law, law * (1 - f * law[one]) / (1 - law[one])) for f in (0.97, 1.03)]
    return fits_cells(counts, law) and not any(fits_cells(counts, other) for other in wrong)


@pytest.mark.parametrize("value", [0.0, 1.0, 0.37, np.nan])
def test_sent_bits_follow_their_law(value):
    randomizer = OneBit(0.4)
    q = randomizer.flip_probability
    v = Fraction(1, 2) if np.isnan(value) else Fraction(value)
    counts = np.bincount(randomizer.send(np.full(DRAWS, value)), minlength=2)
    one = v * (1 - q) + (1 - v) * q
    assert follows(counts, [1 - one, one])


def test_likelihood_bits_follow_their_law():
    randomizer = LikelihoodBit(1.0)
    for value, public in ((0.0, 1.5), (1.0, 1.5), (1.0, -1.0), (0.3, 0.4)):
        one = Fraction(int(randomizer.probabilities(np.array([value]), np.array([public]))[0]), FINE)
        counts = np.bincount(randomizer.send(np.full(DRAWS, value), np.full(DRAWS, public)), minlength=2)
        assert follows(counts, [1 - one, one])


def test_names_follow_their_law():
    randomizer, public = LogLog(1.3, tries=3), np.array([1.4, -0.7, 0.2])
    chances = [Fraction(c, FINE) for c in likelihoods(np.array([[0.8]]), public[None, :], randomizer.inner)[0].tolist()]
    sent = randomizer.send(np.full(DRAWS, 0.8), np.broadcast_to(public, (DRAWS, 3)))
    assert follows(np.bincount(sent, minlength=3), naming_law(chances))


def test_named_directions_follow_their_law(monkeypatch):
    randomizer = Codebook(1.0, size=4, near=1)
    law = every_draw(randomizer, VECTORS[0], monkeypatch)
    sent = randomizer.send(np.broadcast_to(np.array(VECTORS[0]), (DRAWS, 4)))
    assert follows(np.bincount(sent, minlength=4), [Fraction(w, sum(law)) for w in law])


def test_named_turns_follow_their_law(monkeypatch):
    law, order = all_turns(1.0, 4, 2, [2, 0, 3, 1], monkeypatch), np.array([2, 0, 3, 1])[:, None]
    sent = Subset(1.0, 4).send(np.full(DRAWS, 2), np.broadcast_to(order, (4, DRAWS)))
    assert follows(np.bincount(sent, minlength=4), [Fraction(w, sum(law)) for w in law])


def test_laplace_numbers_follow_their_law():
    sent = LaplaceNumber(2.0, shares=3).send(np.full(DRAWS, 0.25)) - LaplaceNumber.steps // 4

    def below(x, scale):
        q, whole = math.exp(-1 / scale), np.floor(x)
        return np.where(whole < 0, q ** -np.minimum(whole, 0), 1 + q - q ** np.maximum(whole + 1, 0)) / (1 + q)

    scale = float(LaplaceNumber(2.0, shares=3).scale)
    assert fits_distribution(sent, functools.partial(below, scale=scale))
    assert not fits_distribution(sent, functools.partial(below, scale=scale * 1.03))
    assert not fits_distribution(sent, functools.partial(below, scale=scale * 0.97))


# --- whole reports ----------------------------------------------------------------------------------------------------

TWO = Box([(0, 1), (-3, 5)])
SICK = Box({"smoker": Categorical(["no", "yes"]), "ill": Categorical([0, 1])})
ODD = [[0, 0], [1, 5], [np.nan, np.inf], [-np.inf, 1e308], [None, "x"], ["yes", 1], ["YES", 7], ["", 10**400],
       (True, {})]  # fmt: skip
BITS = [
    sf.local.Density(TWO, 1.0, lattice=(3, 4), seed=3, randomizer="hadamard"),
    sf.local.Density(TWO, 1.0, lattice=3, seed=4, randomizer="bit"),
    sf.local.SmoothQueries(TWO, 1.0, degree=3, seed=5),
    sf.local.SmoothQueries(SICK, 1.0, degree=2, seed=6),
    sf.local.Marginals(SICK, 1.0, ways=2, seed=7),
    sf.local.Marginals(SICK, 1.0, ways=2, seed=8, randomizer="chebyshev"),
]
WEIGHTS = Box({"x0": (-2, 2), "intercept": (-1, 1)})
BITS += [
    sf.local.RiskMinimization(TWO, 1.0, loss, WEIGHTS, lattice=3, degree=2, response="x1", seed=9)
    for loss in ("logistic", "squared")
]
# A loss of the caller's that shows whatever it can of a record: it raises, prints and returns all sorts of things.
TELLING = sf.local.RiskMinimization(TWO, 1.0, "own", WEIGHTS, lattice=3, degree=2, range=(0, 1), seed=9)
BITS += [TELLING.with_loss(lambda w, x: print(x) or {0.0: 1 / 0, 1.0: "x"}[float(x[0])])]
PAPER = ("likelihood", "loglog", "laplace")
OTHERS = [sf.local.Density(TWO, 1.0, lattice=3, seed=9, randomizer=r) for r in (*PAPER, "privunit")]
SUBSETS = [
    sf.local.Density(TWO, 1.0, lattice=(2, 3), seed=9, randomizer="subset"),
    sf.local.Marginals(SICK, 1.0, ways=1, seed=9, randomizer="subset"),
]
OTHERS += SUBSETS
OTHERS += [
    sf.local.RiskMinimization(TWO, 1.0, "huber", WEIGHTS, lattice=3, degree=2, response="x1", seed=9, randomizer=r)
    for r in PAPER
]
OTHERS += [sf.local.SmoothQueries(TWO, 1.0, degree=3, seed=9, randomizer=r) for r in PAPER]


def name(protocol):
    return f"{protocol.kind}-{protocol.settings()['randomizer']}"


def fed_words(words):
    """Instead of fresh randomness, these words: the last ones are the last to be asked for."""
    waiting = iter(words)
    return lambda count: np.full(count, next(waiting), dtype=np.uint32)


@pytest.mark.few(1)
@pytest.mark.parametrize("protocol", BITS, ids=name)
def test_the_only_thing_that_differs_between_reports_is_one_flipped_bit(protocol, monkeypatch):
    """For every record and question: a report is fixed bytes and a bit, which the last private word flips or not.

    So its law is that of ``OneBit``, mixed over the words before, and no ratio is larger.
    """
    threshold = OneBit(1.0).threshold
    heads = set()
    for record, user in product(ODD, range(12)):
        for first in (0, 2**31, 2**32 - 1):  # rounding an answer at random, where a protocol does
            sent = []
            for last in (threshold - 1, threshold):
                rounds = [first] if protocol.kind != "marginals" and protocol.randomizer == "bit" else []
                monkeypatch.setattr(sampling, "words32", fed_words([*rounds, last]))
                report = protocol.encode(record, user=user)
                sent.append(report[-1])
                heads.add((report[:-1], len(report)))
            assert sorted(sent) == [0, 1]
    assert len(heads) == 1


RICH = Box({"age": (20, 60), "hours": (0, 80), "rich": Categorical(["no", "yes"])})
PAY = Box({"age": (20, 60), "hours": (0, 80), "pay": (0, 9)})
LINEAR = [
    sf.local.LinearModel(RICH, 1.0, "rich", seed=9),
    sf.local.LinearModel(PAY, 1.0, "pay", seed=9),
    sf.local.LinearModel(RICH, 1.0, "rich", seed=9, second_moments=np.eye(3) / 3, constant=1e-6),
]
ODD_LINEAR = [[40, 40, "yes"], [40, 40, "no"], [None, np.nan, None], [np.inf, -np.inf, "maybe"], [1e308, "x", 7],
              [10**400, {}, True], [20, 0, 9.0]]  # fmt: skip


@pytest.mark.parametrize("protocol", LINEAR, ids=["categories", "a number", "public"])
def test_reports_of_a_linear_model_are_within_epsilon(protocol, recwarn):
    """Exact ratios over odd records: each names every direction with one of two weights, as many with either.

    A report's law is that of ``Codebook``: which directions are near depends on the record, how many does not. The
    vector is what the codebook is told; whatever it were, the ratio would hold (see ``VECTORS``).
    """
    randomizer = Codebook(1.0)
    close, far = randomizer.weights
    codes = read_records(protocol.box, ODD_LINEAR)
    users = np.full(len(ODD_LINEAR), 5, dtype=np.uint64)
    answers = protocol.answers(within(protocol.box, codes), users)
    assert np.linalg.norm(answers, axis=1) == pytest.approx(1)  # also of a record of (nearly) no length
    laws = []
    for vector, directions in zip(answers, protocol.channel._directions(users), strict=True):
        order = np.argsort(-(directions @ vector), kind="stable")
        law = np.full(256, far)
        law[order[: randomizer.near]] = close
        laws.append(law.tolist())
        assert sum(law) == sum(laws[0])
    assert mpf("0.999") <= loss(laws) <= granted(1.0)
    reports = [protocol.encode(record, user=5) for record in ODD_LINEAR]
    assert len({(len(report), report[:-1]) for report in reports}) == 1 and not recwarn.list


WALKING = [
    sf.local.GeneralizedLinear(RICH, 1.0, "rich", seed=9),
    sf.local.GeneralizedLinear(PAY, 1.0, "pay", "absolute", degree=2, seed=9, constant=1e-6),
]


@pytest.mark.parametrize("protocol", WALKING, ids=["categories", "a number"])
def test_copies_together_are_within_epsilon(protocol, recwarn):
    """Exact ratios over odd records: each copy's law has one of two weights, and copies are independent given it."""
    randomizer = protocol.channel._codebook
    close, far = randomizer.weights
    codes = read_records(protocol.box, ODD_LINEAR)
    users = np.full(len(ODD_LINEAR), 5, dtype=np.uint64)
    answers = protocol.answers(within(protocol.box, codes), users)
    assert np.linalg.norm(answers, axis=1) == pytest.approx(1)
    books, total = protocol.channel.directions(users), mpf(0)
    for copy in range(protocol.channel.copies):
        laws = []
        for vector, directions in zip(answers, books[:, copy], strict=True):
            law = np.full(256, far)
            law[np.argsort(-(directions @ vector), kind="stable")[: randomizer.near]] = close
            laws.append(law.tolist())
        total += loss(laws)
    assert mpf("0.99") <= total <= granted(1.0)
    reports = [protocol.encode(record, user=5) for record in ODD_LINEAR]
    width = protocol.channel.width
    assert len({(len(report), report[:-width]) for report in reports}) == 1 and not recwarn.list


def test_negative_control_each_copy_with_all_of_epsilon_is_caught():
    """Composition per copy as if the others were not there: each is within epsilon, together they are not."""
    close, far = Codebook(1.0).weights
    assert loss([[close * close, far * far], [far * far, close * close]]) > 1.9


def joint_delta(randomizer, epsilon):
    """Of all copies together, from the variance that the code uses and the largest distance of whole numbers.

    The discrete Gaussian is within 1e-30 of a Gaussian of variance 4 less, added to whole numbers (discrete-noise.md).
    """
    steps = 2.0**-randomizer.exponent
    distance = math.sqrt(randomizer.copies) * 2 * steps + math.sqrt(randomizer.copies * randomizer.size)
    return gaussian_curve(mpf(distance) / mp.sqrt(precise(randomizer.variance) - 4), epsilon)


def gaussian_curve(mu, epsilon):
    """The exact delta at epsilon of a Gaussian that is moved by ``mu`` deviations."""
    return mp.ncdf(mu / 2 - epsilon / mu) - mp.e**epsilon * mp.ncdf(-mu / 2 - epsilon / mu)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.1, 1e-9), (4.0, 1e-3)])
@pytest.mark.parametrize(("copies", "size"), [(2, 7), (4, 7), (3, 120)])
def test_gaussian_copies_keep_their_joint_privacy_curve(epsilon, delta, copies, size, monkeypatch):
    randomizer = GaussianCopies(epsilon, delta, copies, size)
    assert 0.97 * delta < joint_delta(randomizer, granted(epsilon)) <= delta * (1 + mpf("1e-9"))
    monkeypatch.setattr(sampling, "discrete_gaussian", lambda count, variance: np.zeros(count, dtype=np.int64))
    odd = np.zeros((6, size))
    odd[0, 0], odd[1, 0], odd[2] = 1.0, -1.0, 1e300
    odd[3], odd[4, 0], odd[5, 1] = np.nan, np.inf, -np.inf
    sent = randomizer.send(odd)
    assert (sent == sent[:, :1]).all()  # copies of one vector
    apart = np.linalg.norm((sent[:, None] - sent[None]).reshape(36, -1), axis=1).max() * 2.0**randomizer.exponent
    assert 2 * math.sqrt(copies) <= apart <= 2 * math.sqrt(copies) + math.sqrt(copies * size) * 2.0**-10


def test_negative_control_noise_for_one_copy_only_is_caught():
    one, several = GaussianCopies(1.0, 1e-6, 1, 7), GaussianCopies(1.0, 1e-6, 4, 7)
    object.__setattr__(several, "variance", one.variance)
    assert joint_delta(several, granted(1.0)) > 1e-3


def printed_shift(epsilon, delta, degree, vectors=2, first=1):
    """How many deviations a record moves what Algorithms 4 and 5 send as printed: copies of x and of y.

    Copy 0 has variance ``32 log(1.25/delta)/epsilon**2``, the ``d (d + 1)`` others ``8 log(1.25/delta) (d (d + 1))**2 /
    epsilon**2``; any two x lie up to 2 apart, and so do any two y, at once.
    """
    many, unit = degree * (degree + 1), 8 * mp.log(mpf(1.25) / mpf(delta)) / mpf(epsilon) ** 2
    return mp.sqrt(vectors * 4 * (first / (4 * unit) + many / (unit * many**2)))


@pytest.mark.parametrize(
    ("epsilon", "delta", "beyond"), [(2, 1e-6, 1.9), (1, 1e-9, 3.4), (0.5, 1e-12, 9), (8, 1e-6, 109)]
)
def test_negative_control_composition_per_copy_as_printed_is_caught(epsilon, delta, beyond):
    """At degree 1. The shares do not add up to epsilon: half for each of the two copies 0, half for each other one."""
    assert gaussian_curve(printed_shift(epsilon, delta, 1), granted(epsilon)) > beyond * delta
    # Both x and y have to be counted, and copy 0 as well: without either it looks private.
    assert gaussian_curve(printed_shift(epsilon, delta, 1, vectors=1), granted(epsilon)) < delta
    assert gaussian_curve(printed_shift(epsilon, delta, 1, first=0), granted(epsilon)) < delta
    # What replaces it keeps the same promise, with less noise.
    ours = GaussianCopies(epsilon, delta, 2, 7)
    assert joint_delta(ours, granted(epsilon)) <= delta * (1 + mpf("1e-9"))


@pytest.mark.parametrize("degree", [2, 3])
def test_composition_per_copy_as_printed_has_far_more_noise_than_needed_at_higher_degrees(degree):
    """Its shares add up to three epsilon there, too, but by basic composition: the joint Gaussian loses less."""
    for epsilon, delta in ((2, 1e-6), (1, 1e-9), (8, 1e-6)):
        assert gaussian_curve(printed_shift(epsilon, delta, degree), granted(epsilon)) < 0.04 * delta


def test_negative_control_two_reports_about_one_record_are_caught():
    """The same person's second report, to a protocol of another seed: epsilon once, and spent twice."""
    close, far = Codebook(1.0).weights
    assert loss([[close * close, far * far], [far * far, close * close]]) > 1.9


@pytest.mark.few(1)
@pytest.mark.parametrize("protocol", SUBSETS[::-1], ids=name)
def test_reports_of_odd_records_by_subsets_are_within_epsilon(protocol, monkeypatch):
    """The whole law of a report, draw by draw, for every record and some persons: the exact ratio."""
    for user in range(3):
        group = 0 if protocol.channel.whole else int(protocol.asked(np.array([user], dtype=np.uint64))[0])
        randomizer = protocol.channel._randomizers[group]
        close, far = randomizer.weights
        total = randomizer.kept * close + (randomizer.size - randomizer.kept) * far
        laws = []
        for record in ODD:
            codes = read_records(protocol.box, [record])
            turns, start = np.zeros(randomizer.size, dtype=np.int64), 0
            for start in range(0, total, 2**16):
                draws = np.arange(start, min(start + 2**16, total))
                monkeypatch.setattr(sampling, "uniform_below", lambda bounds, draws=draws: draws[: len(bounds)])
                sent = protocol._payload(np.repeat(codes, len(draws), axis=0), np.full(len(draws), user, np.uint64))
                turns += np.bincount(sent[:, 0], minlength=randomizer.size)
                monkeypatch.undo()
            laws.append(turns.tolist())
        assert loss(laws) <= granted(1.0)
        assert loss(laws) >= granted(1.0) * (1 - mpf("1e-3"))


@pytest.mark.parametrize("protocol", BITS + OTHERS, ids=name)
def test_everything_but_the_payload_is_the_same_for_every_record(protocol, recwarn):
    width = protocol.channel.width
    reports = [protocol.encode(record, user=5) for record in ODD]
    assert len({(len(report), report[:-width]) for report in reports}) == 1
    batch = protocol.encode_many(ODD, first_user=5)
    assert len(batch) == len(protocol.encode_many([[0, 0]] * len(ODD), first_user=5))
    assert not recwarn.list  # a warning that depends on what a person holds would be an output


def test_the_number_that_a_device_draws_does_not_depend_on_the_record(monkeypatch):
    protocol, asked = dataclasses.replace(BITS[0], numbers="drawn"), []
    monkeypatch.setattr(sampling, "uniform_below", lambda bounds: asked.append(bounds.tolist()) or np.array([77]))
    reports = [protocol.encode(record) for record in ODD]
    assert asked == [[protocol.users]] * len(ODD)
    assert {report[:-1] for report in reports} == {reports[0][:-1]}
    assert int.from_bytes(reports[0][10:18], "little") == 77


@pytest.mark.parametrize("protocol", BITS + OTHERS, ids=name)
def test_what_is_promised_is_local_and_pure(protocol):
    promise = protocol.guarantee
    assert (promise.epsilon, promise.delta, promise.neighbours, promise.model) == (1.0, 0.0, "replace", "local")
    assert str(promise) == "1-differential privacy for replacing one row, local model"
