"""Scores of quantiles on all small tables, and limits that hold whenever every number is within its width.

Everything here is enumerated or drawn with a fixed seed: there are no false alarms. docs/proofs/statistics.md.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from harness.sums import KINDS, RELATIONS, TARGETS, chosen, ends, neighbours, summed, tables
from scipy.spatial.distance import cdist

import sfumato as sf
from sfumato.bases.statistics.quantiles import Grid, Quantiles
from sfumato.bases.statistics.tree import QuantileTree
from sfumato.core.box import Integer

# --- quantiles --------------------------------------------------------------------------------------------------------

LEVELS = tuple(map(Fraction, ("0", "0.1", "0.25", "0.5", "0.9", "0.999999", "1")))
SMALL = Quantiles("quantiles", (0.5,), Grid(0, 5, 0), False)


def moved_scores(level, relation, sizes=(1, 2, 3, 4)):
    """How far neighbours move any score, in units of the level's denominator, over all small tables."""
    worst = 0
    for n in sizes:
        for table in tables(n):
            before = SMALL.scores(table[:5], level)
            for other in neighbours(table, relation):
                worst = max(worst, int(np.abs(before - SMALL.scores(other[:5], level)).max()))
    return worst


@pytest.mark.few(3)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("level", LEVELS, ids=str)
def test_no_table_moves_a_quantiles_score_further_and_one_moves_it_that_far(level, relation):
    stated = SMALL.sensitivity(level, sf.Privacy(epsilon=1.0, neighbours=relation))
    assert moved_scores(level, relation) == stated
    assert moved_scores(level, relation, (2, 3)) > stated / 2  # the control: half of it is beaten


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("level", [Fraction(1, 2), Fraction(9, 10)], ids=str)
def test_persons_move_a_quantiles_score_as_often_as_they_have_rows(level, relation):
    """Two rows of one person: every table of their rows against every other, beside every small table."""
    unit = sf.Person("who", max_rows=2)
    stated = SMALL.sensitivity(level, sf.Privacy(epsilon=1.0, neighbours=relation, unit=unit))
    persons = [table for rows in range(3) for table in tables(rows)]
    worst = 0
    for others in (table for n in (1, 3) for table in tables(n, 5)):
        crowd = np.append(others, 0)
        scores = np.array([SMALL.scores((crowd + person)[:5], level) for person in persons])
        pairs = cdist(scores, scores if relation == "replace" else scores[:1], "chebyshev")
        worst = max(worst, int(pairs.max()))
    assert worst == stated


@pytest.mark.parametrize("level", LEVELS, ids=str)
def test_a_quantile_of_the_records_has_no_score_below_nought_and_everything_else_has(level):
    for table in (t for n in range(6) for t in tables(n)):
        values = np.repeat(np.arange(5), table[:5])
        scores = SMALL.scores(table[:5], level)
        quantiles = {
            v for v in range(5)
            if (values < v).sum() <= level * len(values) and (values > v).sum() <= (1 - level) * len(values)
        }  # fmt: skip
        assert {int(v) for v in np.flatnonzero(scores >= 0)} == quantiles
        assert quantiles
        if len(values):
            assert int(values[max(0, math.ceil(level * len(values)) - 1)]) in quantiles


def test_levels_with_six_decimals_keep_their_scores_whole_for_two_thousand_million_records():
    counts = np.array([2**30, 2**30, 0, 0, 1])
    scores = SMALL.scores(counts, Fraction(999_999, 10**6))
    assert abs(int(scores.min())) < 2**53
    assert int(scores[0]) == -((2**30 + 1) * 10**6 - int(counts.sum()))


# --- limits -----------------------------------------------------------------------------------------------------------


def truth(name, box, records):
    """The statistic of the records themselves, in plain numpy; None where there is nothing to divide by."""
    target, _ = TARGETS[name]
    there = records[~np.isnan(records).any(axis=1)]
    if target.what == "count":
        return len(there)
    if target.what == "sum":
        return there.sum(axis=0)
    if not len(there):
        return None
    if target.what in ("mean", "variance"):
        return there.mean(axis=0) if target.what == "mean" else there.var(axis=0)
    if target.what == "covariance":
        return np.cov(there.T, bias=True)
    cells = np.stack([np.clip((there[:, 0] + 2) // 2, 0, 3)]) if target.what == "histogram" else there[:, 0]
    counts = np.bincount(cells.ravel().astype(int), minlength=4 if target.what == "histogram" else 3)
    return counts if target.what == "histogram" else counts / len(there)


LIMITED = ["count", "sum", "sum of three", "mean", "mean of three", "variance", "variance of two",
           "covariance of two", "covariance of three", "histogram", "proportions"]  # fmt: skip


@pytest.mark.few(4)
@pytest.mark.parametrize("public", [True, False])
@pytest.mark.parametrize("missing", ["drop", "none"])
@pytest.mark.parametrize("name", LIMITED)
def test_limits_hold_whenever_every_number_is_within_its_width(name, missing, public):
    """Noise at the ends of its widths, where interval arithmetic must be right; small tables, where counts matter."""
    privacy = sf.Privacy(epsilon=1.0, neighbours="replace" if public else "add-remove")
    target, box, basis, certificate = chosen(name, missing, privacy)
    rng = np.random.default_rng(1)
    low, high = ends(box)
    checked = 0
    for _ in range(150):
        n = int(rng.integers(1, 12))
        records = low + rng.beta(0.5, 0.5, size=(n, box.dimension)) * (high - low)
        if box is KINDS:
            records = rng.integers(3, size=(n, 1)).astype(np.float64)
        if missing == "drop":
            records[rng.random(n) < 0.2, 0] = np.nan
        exact = summed(target, box, basis, certificate, records) * 2.0**certificate.exponent
        widths = rng.uniform(0, rng.choice([0.1, 2.0, 20.0]), size=len(exact))
        noisy = exact + widths * rng.choice([-1.0, 1.0, 0.0], size=len(exact))
        real = truth(name, box, records)
        if real is None:
            continue
        below, above = basis.limits(box, noisy, widths, n if public else None)
        slack = 1e-12 * float(np.abs([low, high]).max()) ** 2
        assert (below <= np.asarray(real) + slack).all() and (np.asarray(real) <= above + slack).all()
        checked += 1
    assert checked > 100


@pytest.mark.parametrize("name", ["mean", "variance", "covariance of two", "sum", "histogram"])
def test_negative_control_limits_at_half_the_widths_fail(name):
    target, box, basis, certificate = chosen(name, "none", sf.Privacy(epsilon=1.0))
    low, high = ends(box)
    records = low + np.array([[0.3], [0.7], [0.45]]) * (high - low)
    exact = summed(target, box, basis, certificate, records) * 2.0**certificate.exponent
    widths = np.full(len(exact), 0.5)
    below, above = basis.limits(box, exact + widths, widths / 2, 3)
    real = np.asarray(truth(name, box, records))
    assert (below > real).any() or (above < real).any()


@pytest.mark.parametrize("column", [(0, 40), Integer(0, 40)])
def test_rank_limits_hold_whatever_was_chosen_within_its_ranks(column):
    """Any candidate whose score is within the stated ranks may have been chosen; records lie on the grid."""
    box, rng, checked = sf.Box({"x": column}), np.random.default_rng(2), 0
    for _ in range(300):
        n = int(rng.integers(5, 60))
        values = np.sort(rng.integers(0, 41, size=n) if rng.random() < 0.5 else rng.integers(18, 23, size=n))
        basis = Quantiles("quantiles", (0.25, 0.5), Grid(0, 41, 0), True, 0.2, 0.5)
        counts = np.bincount(values, minlength=41)
        widths = rng.uniform(0, n / 6, size=len(basis.levels))
        picked = [
            float(rng.choice(np.flatnonzero(-basis.scores(counts, level) <= width * level.denominator)))
            for level, width in zip(basis.levels, widths, strict=True)
        ]
        low, high = basis.limits(box, np.array(picked), widths, n)
        for i, level in enumerate(basis.asked):
            least, most = values[math.ceil(level * n) - 1], values[min(n - 1, math.floor(level * n))]
            assert low[i] <= least <= most <= high[i]
            checked += (low[i] > 0) + (high[i] < 40)
    assert checked > 200


def test_negative_control_rank_limits_from_too_narrow_ranks_fail():
    """A median chosen two ranks off, and said to be at most one off."""
    basis = Quantiles("quantiles", (0.5, 0.7), Grid(0, 41, 0), True)
    values = np.arange(10, 20)
    counts = np.bincount(values, minlength=41)
    wrong = 18.0
    assert -basis.scores(counts, Fraction(1, 2))[18] == 3 * 2
    low, _ = basis.limits(sf.Box({"x": (0, 40)}), np.array([wrong, wrong]), np.array([1.0, 1.0]), 10)
    assert low[1] > values[math.ceil(0.7 * 10) - 1]


# --- trees of counts --------------------------------------------------------------------------------------------------


def between(values, level):
    """The records between which every usual definition of a quantile lies."""
    n, rank = len(values), math.floor(round(level * len(values), 9))
    return values[max(rank, 1) - 1], values[min(rank + 2, n) - 1]


def tree_limits(rng, short=0.0):
    """Limits of random small tables with any noise, each rank within its width of the true one, or so much short."""
    complete, public, fan = bool(rng.integers(2)), bool(rng.integers(2)), int(rng.integers(2, 7))
    height = next(h for h in range(1, 9) if fan**h >= 41)
    basis = QuantileTree("quantiles", (0.25, 0.5), Grid(0, 41, 0), complete, fan, height, public and not complete)
    n = int(rng.integers(1, 60))
    values = np.sort(rng.integers(0, 41, size=n) if rng.random() < 0.5 else rng.integers(18, 23, size=n))
    rows = (n if complete else n + int(rng.integers(5))) if public else None
    exact = basis.sums(np.bincount(values, minlength=41), rows or n).astype(np.float64)
    noisy = exact + rng.uniform(-1, 1, size=len(exact)) * rng.choice([0.5, 3.0, 20.0])

    def ranks(numbers):
        left, right = basis._sides(numbers)
        weights = basis._weights(*basis._nodes(), rows)
        return (1 - weights) * left - weights * right + (weights - [[0.25], [0.5]]) * (basis._total(numbers, rows) or 0)

    widths = np.abs(ranks(noisy) - ranks(exact)) - short
    low, high = basis.limits(sf.Box({"x": Integer(0, 40)}), noisy, widths, rows)
    held = [low[i] <= between(values, q)[0] and between(values, q)[1] <= high[i] for i, q in enumerate(basis.asked)]
    return all(held), bool((low > 0).any() or (high < 40).any())


def test_limits_of_a_tree_hold_whenever_ranks_are_within_their_widths():
    rng = np.random.default_rng(5)
    found = np.array([tree_limits(rng) for _ in range(600)])
    assert found[:, 0].all() and found[:, 1].mean() > 0.5  # most tell something


def test_negative_control_limits_of_a_tree_from_too_narrow_ranks_fail():
    rng = np.random.default_rng(6)
    assert not np.array([tree_limits(rng, short=3.0) for _ in range(600)])[:, 0].all()


def test_ranks_of_a_tree_are_those_of_the_records():
    """Whatever the weights, without noise: the records up to each edge, less the level's share of all."""
    rng = np.random.default_rng(7)
    counts = rng.integers(0, 9, size=41)
    total, up_to = int(counts.sum()), np.cumsum(counts)[:-1]
    for complete, rows in ((True, total), (False, total + 4), (False, None)):
        basis = QuantileTree("quantiles", (0.25, 0.5), Grid(0, 41, 0), complete, 4, 3, rows == total + 4)
        numbers = basis.sums(counts, rows or total).astype(np.float64)
        weights, (left, right) = basis._weights(*basis._nodes(), rows), basis._sides(numbers)
        levels = np.array([[0.25], [0.5]])
        found = (1 - weights) * left - weights * right + (weights - levels) * (basis._total(numbers, rows) or 0)
        assert np.allclose(found, up_to - levels * total, atol=1e-9)
