"""Choosing several values at once: sums over all vectors of places, and what is refused."""

import itertools
import math
import warnings

import numpy as np
import pytest
from mpmath import mp, mpf

from sfumato.core import jointly
from sfumato.core.calibration import MOST_VALUES
from sfumato.errors import ParameterError


def weights_of_all(ranks, wanted, rate):
    """The weight of every vector of places, to fifty digits."""

    def weight(off):
        return mp.e ** (-rate * abs(int(off))) + mp.e ** (-mpf(jointly.FLOOR))

    found = {}
    for places in itertools.combinations_with_replacement(range(len(ranks)), len(wanted) - 1):
        path = [0, *(int(ranks[k]) for k in places), sum(wanted)]
        found[places] = mp.fprod(weight(b - a - t) for (a, b), t in zip(itertools.pairwise(path), wanted, strict=True))
    return found


@pytest.mark.parametrize("rate", [0.003, 0.3, 40.0])
@pytest.mark.parametrize("seed", range(4))
def test_sums_over_all_that_follows(seed, rate):
    """Right to 1e-13, also where most weights are at the floor; the last message but one is a sum over everything."""
    rng = np.random.default_rng(seed)
    ranks = np.cumsum(rng.integers(0, 5, size=8))
    wanted = [int(t) for t in rng.multinomial(ranks[-1], [0.2, 0.3, 0.1, 0.4])]
    after = jointly._messages(ranks, wanted, rate)
    law = weights_of_all(ranks, wanted, mpf(rate))
    first = jointly._weight(ranks - wanted[0], rate) * after[0]
    for place in range(len(ranks)):
        assert first[place] == pytest.approx(float(mp.fsum(w for k, w in law.items() if k[0] == place)), rel=1e-13)


def test_the_smallest_weights_are_normal_doubles():
    ranks = np.array([0] * 5 + [10**9])
    after = jointly._messages(ranks, [1] * MOST_VALUES + [10**9 - MOST_VALUES], 1.0)
    assert min(float(beyond.min()) for beyond in after) * math.exp(-jointly.FLOOR) > 2.3e-308


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


@pytest.mark.parametrize(
    ("ranks", "wanted", "epsilon"),
    [
        (np.arange(3), [3], 1.0),
        (np.arange(3), [1] * 18, 1.0),
        (np.arange(2**18 + 1), [1, 1], 1.0),
        (np.arange(3), [1, 1], 1e-4),
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
