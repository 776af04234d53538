"""Tuned releases attacked as a whole: what was chosen and what was published, together, stay within the grant.

Each test is wrong with probability at most 1e-9.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from harness.empirical import epsilon_lower_bound
from harness.hunter import NORMS

import sfumato as sf
from opening import chunks_of, numbers_of
from sfumato import paid_choice
from sfumato.engines.memory import MemoryEngine

BOX, GRANT = sf.Box([(0, 1)]), sf.Privacy(epsilon=1.0)


@dataclass(frozen=True)
class Worst(sf.BlackBox):
    """The worst that a tuned target can be: one record turns the scores around and moves every coefficient."""

    def questions(self, basis):
        return [basis] if isinstance(basis, sf.Tuned) else []

    def check_answers(self, box, basis):
        return None

    def scores(self, question, gathered, box, n, privacy, basis):
        moved = float(np.concatenate(list(chunks_of(gathered, box))).sum())
        return [1.0 - moved, moved], 1.0

    def answered(self, question, picked, basis):
        return self, picked


WORST = Worst(lambda data: lambda points: np.full(len(points), data.mean()), sensitivity=0.25)
CHOICE = sf.Tuned([sf.Bernstein(2, order=1), sf.Bernstein(2, order=2)], share=0.5)


def releases(data):
    """Whole releases: which candidate was chosen, and the coefficients."""

    def one():
        found = sf.release(WORST, data, BOX, GRANT, basis=CHOICE)
        return [found.basis.order, *found.coefficients]

    return lambda draws: np.array([one() for _ in range(draws)])


PAIR = releases(np.zeros(4)), releases(np.array([1.0, 0.0, 0.0, 0.0]))


def both(out):
    """About the likelihood ratio of choice and coefficients together."""
    chosen = np.where(out[:, 0] == 1, -1.0, 1.0) * math.log(2 * math.exp(0.25) - 1)
    return chosen + 2 * (np.abs(out[:, 1:]).max(axis=1) - np.abs(out[:, 1:] - 0.25).max(axis=1))


def doubly(out):
    """The same where choice and release have a whole epsilon of 1 each."""
    chosen = np.where(out[:, 0] == 1, -1.0, 1.0) * math.log(2 * math.exp(0.5) - 1)
    return chosen + 4 * (np.abs(out[:, 1:]).max(axis=1) - np.abs(out[:, 1:] - 0.25).max(axis=1))


@pytest.mark.slow
def test_choice_and_release_together_stay_within_the_grant():
    """And show more of it than the release alone may, half of it: the attack sees both."""
    assert 0.5 < epsilon_lower_bound(*PAIR, 6000, both) <= 1.0


@pytest.mark.slow
def test_negative_control_a_choice_that_nobody_pays_for_is_caught(monkeypatch):
    """The choice has the whole grant, and so has the release: one of the two is charged, both are made."""
    monkeypatch.setattr(paid_choice, "part_of", lambda privacy, share, delta=0.0: replace(privacy, delta=delta))
    assert epsilon_lower_bound(*PAIR, 6000, doubly) > 1.0


# --- a density whose bandwidth the data choose ------------------------------------------------------------------------

DENSITY = sf.KDE(bandwidth=sf.Tuned([0.15, 0.6], share=0.5))
PILE, STRAY = np.full((3, 1), 0.5), np.array([[0.5], [0.5], [0.85]])  # the others in one place, one near or aside
BASIS = sf.Binning(7)


def chances(data, epsilon):
    """The chance of each bandwidth, exactly: permute-and-flip between two candidates."""
    counts = DENSITY.gather(MemoryEngine().open(data, BOX, "row", DENSITY.columns), BOX, MemoryEngine())
    scores, sensitivity = DENSITY.scores(DENSITY.bandwidth, counts, BOX, len(data), GRANT, BASIS)
    flip = math.exp(-epsilon * abs(scores[0] - scores[1]) / (2 * sensitivity)) / 2
    return np.array([1 - flip, flip] if scores[0] >= scores[1] else [flip, 1 - flip])


def largest_loss(choice, release):
    """What choice and masses of a density lose together on the pair, exactly, given the epsilon of each."""
    lost = np.abs(np.log(chances(PILE, choice) / chances(STRAY, choice)))
    for i, bandwidth in enumerate(DENSITY.bandwidth.candidates):
        target = replace(DENSITY, bandwidth=bandwidth).settled(BOX, 3, GRANT, BASIS)
        certificate = target.certificate(BASIS, BOX, 3, GRANT)
        first, second = (
            numbers_of(
                target.coefficients(
                    target.gather(MemoryEngine().open(data, BOX, "row", DENSITY.columns), BOX, MemoryEngine()),
                    BASIS,
                    BOX,
                    certificate,
                )
            ).astype(float)
            for data in (PILE, STRAY)
        )
        moved = NORMS[certificate.norm](first - second)
        assert 0.5 * certificate.bound < moved <= certificate.bound
        lost[i] += release * moved / certificate.bound
    return float(lost.max())


def test_a_density_s_choice_and_masses_together_lose_at_most_the_grant():
    """With the halves of epsilon that the pipeline gives them; with a whole one each they lose more than it."""
    assert 0.5 < largest_loss(0.5, 0.5) <= 1.0
    assert largest_loss(1.0, 1.0) > 1.0
