"""Selection, enumerated: the exact law of each mechanism on a worst pair, and the sampler against that law."""

from __future__ import annotations

import os
import threading
from itertools import product

import numpy as np
import pytest
from harness.empirical import epsilon_lower_bound
from harness.exact import max_log_ratio
from harness.laws import fits_cells
from mpmath import mp, mpf

import sfumato as sf
from sfumato.core import selection


def permute_and_flip_law(scores, rate):
    """Sum over all outcomes of the coins: a uniformly chosen head wins."""
    best = max(scores)
    heads = [mp.e ** (-rate * (best - s)) for s in scores]
    law = {i: mpf(0) for i in range(len(scores))}
    for coins in product((0, 1), repeat=len(scores)):
        if not any(coins):
            continue
        chance = mp.fprod(p if c else 1 - p for p, c in zip(heads, coins, strict=True))
        for i, c in enumerate(coins):
            law[i] += chance * c / sum(coins)
    return law


def exponential_law(scores, rate):
    weights = [mp.e ** (rate * s) for s in scores]
    return {i: w / mp.fsum(weights) for i, w in enumerate(weights)}


LAWS = {"permute-and-flip": permute_and_flip_law, "exponential": exponential_law}
SAMPLERS = {"permute-and-flip": selection.permute_and_flip, "exponential": selection.exponential_mechanism}


def worst_loss(law, factor):
    """The largest loss over all neighbouring score vectors on a small grid, with sensitivity 1."""
    worst = mpf(0)
    for scores in product(range(3), repeat=3):
        for move in product((-1, 0, 1), repeat=3):
            other = [s + m for s, m in zip(scores, move, strict=True)]
            worst = max(worst, max_log_ratio(law(scores, factor), law(other, factor)))
    return worst


@pytest.mark.parametrize("method", LAWS)
def test_selection_loses_at_most_epsilon(method):
    assert worst_loss(LAWS[method], mpf(1) / 2) <= 1


@pytest.mark.parametrize("method", LAWS)
def test_negative_control_a_missing_factor_two_is_caught(method):
    assert worst_loss(LAWS[method], mpf(1)) > 1.2


def test_exponential_mechanism_has_bounded_range_and_so_eps_squared_over_eight_zcdp():
    """Renyi divergences of all neighbouring pairs on a grid stay below alpha eps^2 / 8."""
    epsilon = mpf(1)
    for scores in product(range(3), repeat=3):
        for move in product((-1, 0, 1), repeat=3):
            p = exponential_law(scores, epsilon / 2)
            q = exponential_law([s + m for s, m in zip(scores, move, strict=True)], epsilon / 2)
            for alpha in (mpf("1.01"), mpf(2), mpf(8), mpf(50)):
                divergence = mp.log(mp.fsum(p[i] ** alpha * q[i] ** (1 - alpha) for i in p)) / (alpha - 1)
                assert divergence <= alpha * epsilon**2 / 8 + mpf(10) ** -40


@pytest.mark.parametrize("method", LAWS)
def test_samplers_follow_their_law(method):
    scores, sensitivity, epsilon, draws = np.array([0.0, 1.0, 2.5, 2.5]), 1.0, 1.5, 40_000
    # Rounding to the grid makes the sensitivity one step larger: the law is that of the grid.
    integers, steps = selection._on_grid(scores, sensitivity)
    law = LAWS[method](integers.tolist(), mpf(epsilon) / (2 * steps))
    picks = [SAMPLERS[method](scores, sensitivity, epsilon) for _ in range(draws)]
    counts = np.bincount(picks, minlength=len(scores))
    assert fits_cells(counts, np.array([float(law[i]) for i in range(len(scores))]))
    wrong = LAWS[method](integers.tolist(), mpf(epsilon) * mpf("1.15") / (2 * steps))
    assert not fits_cells(counts, np.array([float(wrong[i]) for i in range(len(scores))]))


def above_threshold_answers(values, factor=1.0):
    """How many questions it takes until the first yes."""

    def run():
        gate = sf.AboveThreshold(threshold=1.0, sensitivity=1.0 / factor, privacy=sf.Privacy(epsilon=1.0))
        for i, value in enumerate(values):
            if gate.above(value):
                return i
        return len(values)

    return lambda draws: np.array([run() for _ in range(draws)])


def test_above_threshold_stays_within_epsilon_and_halved_noise_is_caught():
    """Ten values below, then one above; the neighbour moves the ten up and the last one down."""
    first, second = [0.0] * 10 + [2.0], [1.0] * 10 + [1.0]
    late = lambda out: (out == 10).astype(float)  # noqa: E731
    honest = epsilon_lower_bound(above_threshold_answers(first), above_threshold_answers(second), 8000, late)
    assert honest <= 1.0
    third = [[v * 8 for v in values] for values in (first, second)]
    gates = [above_threshold_answers(values) for values in third]  # sensitivity stated 8 times too small
    assert epsilon_lower_bound(*gates, 8000, late) > 1.0


def test_ties_are_broken_evenly():
    picks = [selection.permute_and_flip(np.zeros(4), 1.0, 1.0) for _ in range(20_000)]
    assert fits_cells(np.bincount(picks, minlength=4), np.full(4, 0.25))


def test_one_yes_is_all_there_is_whatever_the_threads_do():
    """Eight threads ask one threshold at once; a second yes would be unpaid."""
    for _ in range(50):
        gate = sf.AboveThreshold(0.0, sensitivity=1e-9, privacy=sf.Privacy(epsilon=1.0))
        answers = []

        def ask(gate=gate, answers=answers):
            try:
                answers.append(gate.above(1.0))
            except sf.errors.ParameterError:
                answers.append(False)

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(answers) == 1


def test_a_forked_threshold_answers_nothing():
    gate = sf.AboveThreshold(0.0, sensitivity=1e-9, privacy=sf.Privacy(epsilon=1.0))
    child = os.fork()
    if child == 0:
        try:
            gate.above(1.0)
        except sf.errors.ParameterError:
            os._exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert gate.above(1.0)
