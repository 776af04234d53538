"""Choosing several values at once: sums over all vectors of places, and what is refused."""

import itertools
import math
import warnings
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from mpmath import mp, mpf

from sfumato.core import jointly, sampling
from sfumato.core.calibration import DEEPEST, MOST_VALUES
from sfumato.errors import ParameterError


def weights_of_all(ranks, wanted, rate):
    """The weight of every vector of places."""

    def weight(off):
        return mp.e ** (-rate * abs(int(off))) + mp.e ** (-mpf(DEEPEST / len(wanted)))

    found = {}
    for places in itertools.combinations_with_replacement(range(len(ranks)), len(wanted) - 1):
        path = [0, *(int(ranks[k]) for k in places), sum(wanted)]
        found[places] = mp.fprod(weight(b - a - t) for (a, b), t in zip(itertools.pairwise(path), wanted, strict=True))
    return found


@pytest.fixture(autouse=True)
def _fifty_digits():
    with mp.workdps(50):
        yield


@pytest.mark.parametrize("rate", [0.003, 0.3, 40.0])
@pytest.mark.parametrize("seed", range(4))
def test_sums_over_all_that_follows(seed, rate):
    """Right to 1e-13, also where most weights are at the floor; the last message but one is a sum over everything."""
    rng = np.random.default_rng(seed)
    ranks = np.cumsum(rng.integers(0, 5, size=8))
    wanted = [int(t) for t in rng.multinomial(ranks[-1], [0.2, 0.3, 0.1, 0.4])]
    floor = math.exp(-DEEPEST / 4)
    after = jointly._messages(ranks, wanted, rate, floor)
    law = weights_of_all(ranks, wanted, mpf(rate))
    first = jointly._weight(ranks - wanted[0], rate, floor) * after[0]
    for place in range(len(ranks)):
        ideal = mp.fsum(w for k, w in law.items() if k[0] == place)
        assert first[place] == pytest.approx(float(ideal), rel=1e-13, abs=0)


@pytest.mark.parametrize(
    "last", [range(6), [5] * 6, [0, 1, 4, 4, 4, 5], [2, 2, 2, 4, 5, 5], [1, 1, 3, 3, 5, 5], [0, 5, 5, 5, 5, 5]]
)
def test_sums_within_windows(last):
    values, decay = np.array([0.7, 1e-18, 3.0, 0.2, 1.1, 1e-17]), np.array([1.0, 0.9, 1e-9, 0.5, 1.0, 0.3])
    expected = [
        sum(values[k] * math.prod(decay[k + 1 : end + 1]) for k in range(i, end + 1)) for i, end in enumerate(last)
    ]
    found = jointly._windows(values, decay, np.array(last))
    assert found.tolist() == [pytest.approx(total, rel=1e-14, abs=0) for total in expected]


@pytest.mark.parametrize("values", [1, 2, 5, MOST_VALUES])
def test_the_smallest_weights_are_normal_doubles(values):
    ranks, floor = np.array([0] * 5 + [10**9]), math.exp(-DEEPEST / (values + 1))
    after = jointly._messages(ranks, [1] * values + [10**9 - values], 1.0, floor)
    assert min(float(beyond.min()) for beyond in after) * floor > 2.3e-308


def test_places_ascend_and_are_near_where_little_is_private():
    ranks = np.repeat(np.arange(1, 101) * 10, 3)
    for _ in range(5):
        places = jointly.joint_exponential(ranks, [250, 250, 500], 1, 50.0)
        assert places == sorted(places) and ranks[places].tolist() == [250, 500]


def test_a_place_is_drawn_in_proportion_to_its_weight():
    """Weights in different binades; each count within six deviations: one false alarm in 1e8 runs."""
    weights = np.array([1.0, 2.0**-3, 3.0, 1e-300, 2.75])
    draws = 4000
    counts = np.bincount([jointly.categorical(weights) for _ in range(draws)], minlength=5)
    share = weights / weights.sum()
    assert (np.abs(counts - draws * share) <= 6 * np.sqrt(draws * share) + 1e-9).all()


def test_weights_fall_by_the_rate_to_the_floor():
    """The floor of the proof: smaller ones leave the doubles, larger ones add up over 2**18 candidates."""
    off = np.array([0, 3, -3, 50, 10**9])
    assert DEEPEST / (MOST_VALUES + 1) == 40
    expected = [math.exp(-0.5 * x) + math.exp(-40) for x in (0, 3, 3, 50)] + [math.exp(-40)]
    assert jointly._weight(off, 0.5, math.exp(-40)).tolist() == [
        pytest.approx(weight, rel=1e-13, abs=0) for weight in expected
    ]


@pytest.mark.parametrize(("epsilon", "sensitivity"), [(1.0, 1), (2.0**-10, 3), (30.0, 2)])
def test_places_are_drawn_one_after_the_other_each_given_those_before(epsilon, sensitivity, monkeypatch):
    """With less than epsilon, by what the errors of doubles may cost."""
    rate = (Fraction(epsilon) - Fraction(1, 2**18)) / (2 * sensitivity)
    ranks, wanted = np.array([0, 2, 3, 3, 7, 9]), [2, 4, 1, 2]
    law = weights_of_all(ranks, wanted, mpf(rate.numerator) / rate.denominator)
    for steps in itertools.product(range(3), repeat=3):
        known, waiting = [], list(steps)
        if sum(steps) >= len(ranks):
            continue

        def categorical(weights, known=known, waiting=waiting):
            start = known[-1] if known else 0
            rest = {k: w for k, w in law.items() if list(k[: len(known)]) == known}
            chances = [mp.fsum(w for k, w in rest.items() if k[len(known)] == k_) for k_ in range(start, len(ranks))]
            shares = [float(chance / mp.fsum(chances)) for chance in chances]
            assert (weights / weights.sum()).tolist() == pytest.approx(shares, rel=1e-12, abs=0)
            known.append(start + waiting[0])
            return waiting.pop(0)

        monkeypatch.setattr(jointly, "categorical", categorical)
        assert jointly.joint_exponential(ranks, wanted, sensitivity, epsilon) == known
        assert len(known) == 3


def test_a_place_is_drawn_by_whole_numbers_alone(monkeypatch):
    """First a binade, by the sum of its weights; then a place in it, which its own 53 bits keep or not."""
    last = 2.0**-52
    weights = np.array([1.0, 3.0, 2.75, 1.0 + last, 2.0**-40 * (1.5 + last), 2.0 - last, 0.375])
    binades = {2.0**-40: [4], 0.25: [6], 1.0: [0, 3, 5], 2.0: [1, 2]}
    unit, asked = Fraction(1, 2**92), []  # of the 53 bits of the smallest
    drawn = words = places = None
    monkeypatch.setattr(sampling, "integer_below", lambda bound: asked.append(bound) or drawn)
    monkeypatch.setattr(sampling, "uniform_below", lambda bounds: asked.append(bounds.tolist()) or [places.pop(0)])
    monkeypatch.setattr(sampling, "words53", lambda count: asked.append(count) or [words.pop(0)])
    total, below = sum(map(Fraction, weights.tolist())), Fraction(0)
    for size, members in binades.items():
        share = sum(Fraction(weights[place]) for place in members)
        for number, place in enumerate(members):
            bits = int(Fraction(weights[place]) / Fraction(size) * 2**52)
            for edge in (below / unit, (below + share) / unit - 1):
                asked.clear()
                drawn, words, places = edge, [bits, 2**53 - 1, bits - 1], [number] * 3
                assert jointly.categorical(weights) == place
                assert asked == [total / unit, *[[len(members)], 1] * 3]
        below += share


def test_the_weights_of_all_candidates_are_added_exactly(monkeypatch):
    """As many as are allowed, all of 53 ones."""
    asked = []
    monkeypatch.setattr(sampling, "integer_below", lambda bound: asked.append(bound) or 0)
    jointly.categorical(np.full(2**18, 2.0 - 2.0**-52))
    assert asked == [2**18 * (2**53 - 1)]


@pytest.mark.parametrize("values", [1, 16])
def test_what_the_proof_covers_is_served(values):
    jointly.check_jointly(np.zeros(2**18, dtype=np.int64), [1] * (values + 1), 2.0**-10)


@pytest.mark.parametrize(
    ("ranks", "wanted", "epsilon"),
    [
        (np.arange(3), [3], 1.0),
        (np.arange(3), [1] * 18, 1.0),
        (np.arange(2**18 + 1), [1, 1], 1.0),
        (np.arange(3), [1, 1], math.nextafter(2.0**-10, 0.0)),
    ],
)
def test_what_the_proof_does_not_cover_is_refused(ranks, wanted, epsilon):
    with pytest.raises(ParameterError, match="to choose jointly"):
        jointly.joint_exponential(ranks, wanted, 1, epsilon)


def test_weights_that_underflow_tell_nobody():
    """Whether one does depends on private ranks, and what a caller lets numpy do about it is the caller's affair."""
    ranks = np.arange(0, 4_000_000, 1000)
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(jointly.joint_exponential(ranks, [1_000_000, 1_000_000, 2_000_000], 1, 5.0)) == 2


def test_the_floor_of_a_weight_is_shared_out_among_its_factors():
    with mock.patch.object(jointly, "_messages", wraps=jointly._messages) as messages:
        jointly.joint_exponential(np.arange(10), [3, 3, 4], 1, 1.0)
    assert messages.call_args.args[3] == math.exp(-DEEPEST / 3) > 0
