"""Quantiles chosen from a decimal grid: the grid, the scores, their sensitivity, and what ranks say."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.bases.statistics.quantiles import Grid, Quantiles, check_level, rank_error
from sfumato.core.box import Integer, Interval
from sfumato.core.privacy import Privacy
from sfumato.errors import ParameterError, ParameterTypeError

ONE = sf.Box({"age": (0, 110)})
ROW = Privacy(epsilon=1.0)
ADD = Privacy(epsilon=1.0, neighbours="add-remove")
LEVELS = [Fraction(1, 2), Fraction(1, 4), Fraction(9, 10), Fraction(1, 1000), Fraction(0), Fraction(1)]


def quantiles(*asked, count=21, complete=True, **more):
    name = "median" if asked == (0.5,) else "quantiles"
    return Quantiles(name, asked, Grid(0, count, 0), complete, **more)


# --- the grid --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "grid"),
    [
        (Interval(0, 110), Grid(0, 11_001, 2)),
        (Interval(0, 1), Grid(0, 100_001, 5)),
        (Interval(-0.5, 0.25), Grid(-50_000, 75_001, 5)),
        (Interval(0, 2e6), Grid(0, 20_001, -2)),
        (Interval(0.123456, 1), Grid(12_346, 87_655, 5)),
        (Integer(0, 110), Grid(0, 111, 0)),
        (Integer(-2.5, 2.5), Grid(-2, 5, 0)),
        (Integer(0, 10**6), Grid(0, 10**6 + 1, 0)),
    ],
)
def test_a_grid_is_decimal_and_neither_coarse_nor_huge(column, grid):
    assert Grid.over(column) == grid


@pytest.mark.parametrize("low", [-1e300, -7e5, -1.0, 0.0, 1e-250, 12345.6, 1e200])
@pytest.mark.parametrize("width", [1e-200, 1e-7, 0.3, 1.0, 33.3, 1e9, 1e250])
def test_a_grid_fills_its_column(low, width):
    if low + width == low or abs(low) > 1e10 * width:
        return
    column = Interval(low, low + width)
    grid = Grid.over(column)
    values = grid.values()
    assert len(values) == grid.count <= 100_001
    assert grid.count >= 9_999
    tolerance = 1e-4 * width
    assert abs(values[0] - column.low) <= tolerance and abs(values[-1] - column.high) <= tolerance
    assert (np.diff(values) > 0).all()


def test_candidates_are_the_nearest_doubles_of_decimals():
    assert Grid(12, 3, 2).values().tolist() == [0.12, 0.13, 0.14]
    assert Grid(1, 3, -2).values().tolist() == [100.0, 200.0, 300.0]


def test_records_go_to_the_nearest_candidate():
    edges = Grid(12, 3, 2).edges()
    assert (edges.low, edges.high) == (0.115, 0.145)


def test_too_many_whole_numbers_are_refused():
    with pytest.raises(ParameterError, match=r"4194305 values in steps of 1 to choose from.*: declare a real column"):
        Grid.over(Integer(0, 2**22))


@pytest.mark.parametrize(
    ("step", "grid"),
    [(0.25, Grid(0, 441, 2, 25)), (1, Grid(0, 111, 0)), (10, Grid(0, 12, -1)), (5.0, Grid(0, 23, 0, 5))],
)  # fmt: skip
def test_a_step_of_the_callers(step, grid):
    found = Grid.over(Interval(0, 110), step)
    assert found == grid and float(found.step) == step
    assert found.values().tolist() == [step * k for k in range(grid.count)]


@pytest.mark.parametrize(("column", "step"), [(Integer(0, 9), 0.5), (Interval(0, 1), 1e-9), (Interval(1, 2), 5.0)])
def test_a_step_that_does_not_fit_is_refused(column, step):
    with pytest.raises(ParameterError, match="step") as caught:
        Grid.over(column, step)
    assert caught.value.parameter == "step"


# --- scores ----------------------------------------------------------------------------------------------------------


def exact_score(records, candidate, level):
    """Minus how many ranks a candidate is away from being a quantile, times the level's denominator."""
    below, above = sum(r < candidate for r in records), sum(r > candidate for r in records)
    q, total = level, len(records)
    return -max(below - q * total, above - (1 - q) * total) * level.denominator


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("seed", range(5))
def test_scores_are_ranks(level, seed):
    records = np.random.default_rng(seed).integers(0, 21, size=37)
    counts = np.bincount(records, minlength=21)
    scores = quantiles(0.5).scores(counts, level)
    assert scores.tolist() == [exact_score(records.tolist(), c, level) for c in range(21)]
    assert scores.max() >= 0  # some candidate is a quantile, whatever the level


@pytest.mark.parametrize("level", LEVELS[:4])
def test_the_best_score_is_that_of_a_quantile(level):
    records = np.sort(np.random.default_rng(1).integers(0, 21, size=40))
    best = np.flatnonzero(quantiles(0.5).scores(np.bincount(records, minlength=21), level) >= 0)
    assert np.quantile(records, float(level), method="inverted_cdf") in best


def test_no_records_score_alike():
    assert quantiles(0.5).scores(np.zeros(21, dtype=np.int64), Fraction(1, 2)).tolist() == [0] * 21


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("privacy", [ROW, ADD], ids=["replace", "add-remove"])
def test_neighbours_move_scores_by_no_more_than_promised(level, privacy):
    """Every neighbour of a few tables; where the promise is not reached, it is within one rank's share of it."""
    summary, worst = quantiles(0.5, count=6), 0
    for seed in range(12):
        counts = np.random.default_rng(seed).integers(0, 4, size=6)
        here = summary.scores(counts, level)
        for gone in range(6):
            if not counts[gone]:
                continue
            less = counts - np.eye(6, dtype=np.int64)[gone]
            others = [less] if privacy is ADD else [less + row for row in np.eye(6, dtype=np.int64)]
            worst = max(worst, *(int(np.abs(here - summary.scores(other, level)).max()) for other in others))
    promised = summary.sensitivity(level, privacy)
    assert worst <= promised
    assert 2 * worst >= promised


def test_the_sensitivity_of_a_rank():
    summary = quantiles(0.5)
    assert summary.sensitivity(Fraction(1, 4), ROW) == 4
    assert summary.sensitivity(Fraction(1, 4), ADD) == 3
    assert summary.sensitivity(Fraction(1, 2), ADD) == 1
    person = Privacy(epsilon=1.0, unit=sf.Person("id", 5))
    assert summary.sensitivity(Fraction(1, 4), person) == 20
    assert summary.apart(ONE, person, "l1") == 5


# --- what is chosen, and who pays for it -----------------------------------------------------------------------------


def plan(*asked, box=ONE, privacy=ROW, rows=1000, step=None):
    return Quantiles.plan("quantiles", asked, box, True, privacy, step, rows)


def flanked(*asked, share, flank=0.05):
    """As in files of older versions, where levels beside those asked for made the limits."""
    return Quantiles("quantiles", asked, Grid(0, 21, 0), True, flank, share)


def test_levels_are_put_in_order():
    assert plan(0.9, 0.1).asked == (0.1, 0.9)
    assert plan(0.9, 0.1).labels(ONE) == [["0.1", "0.9"]]


@pytest.mark.parametrize("asked", [(0.5,), (0.25, 0.5, 0.75), (0.1,) * 7])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.999])
def test_the_parts_are_the_whole(asked, share):
    summary = flanked(*asked, share=share) if share else plan(*asked)
    assert sum(summary.parts) == 1
    assert len(summary.parts) == len(summary.levels) == summary.size(ONE) == len(asked) * (3 if share else 1)
    assert min(summary.parts) > 0


def test_flanks_lie_around_what_was_asked():
    summary = flanked(0.01, 0.5, share=0.5)
    levels = [float(level) for level in summary.levels]
    assert levels[:2] == [0.01, 0.5]
    assert levels[2] == 0.0  # not below the smallest
    assert levels[4] == pytest.approx(0.5 - summary.flank) and levels[5] == pytest.approx(0.5 + summary.flank)
    assert all(10**6 % level.denominator == 0 for level in summary.levels)


@pytest.mark.parametrize("box", [sf.Box({"hour": sf.Periodic(0, 24)}), sf.Box([(0, 1), (0, 1)])])
def test_quantiles_need_one_column_with_two_ends(box):
    with pytest.raises(ParameterError, match="quantiles need one column that is not periodic"):
        plan(0.5, box=box)


@pytest.mark.parametrize("level", [0, 1, -0.1, 1.1, math.nan])
def test_a_level_lies_between_0_and_1(level):
    with pytest.raises(ParameterError, match="probabilities must"):
        check_level(level)


@pytest.mark.parametrize("level", [1 / 3, 0.1234567])
def test_a_level_has_at_most_six_decimals(level):
    with pytest.raises(ParameterError, match="probabilities must have at most six decimals"):
        check_level(level)


@pytest.mark.parametrize("level", ["0.5", None, True])
def test_a_level_is_a_number(level):
    with pytest.raises(ParameterTypeError, match="probabilities must be a number"):
        check_level(level)


# --- several at once -------------------------------------------------------------------------------------------------


def jointly(*asked, count=4, splits=2):
    return Quantiles("quantiles", asked, Grid(0, count, 0), True, splits=splits)


def test_ranks_are_the_parts_of_records_below_each_place():
    ranks, wanted = jointly(0.25, 0.5).ranks(np.array([2, 0, 4, 0]), [Fraction(1, 4), Fraction(1, 2)])
    assert (ranks / 16).tolist() == [0.5, 1.5, 2, 2, 3, 5, 6, 6]  # 2 splits, halved, and quarters
    assert [number / 16 for number in wanted] == [1.5, 1.5, 3.0]


def test_ranks_of_very_many_records_are_exact():
    counts = np.array([2**60, 2**59, 3, 0])
    ranks, wanted = jointly(0.123457, 0.5).ranks(counts, [Fraction(123457, 10**6), Fraction(1, 2)])
    total, unit = sum(counts.tolist()), 4 * 10**6
    assert ranks[1] == 3 * 2**60 * unit // 4 and ranks[-1] == total * unit == sum(wanted)


def worst_move(summary, levels, privacy, count=4):
    """The largest move of the numbers between places, in L1, of any places, over neighbours of a few tables."""
    worst, ways = 0, [*itertools.combinations_with_replacement(range(count * summary.splits), len(levels))]

    def off(counts):
        ranks, wanted = summary.ranks(counts, levels)
        paths = np.array([[0, *(ranks[k] for k in way), sum(wanted)] for way in ways])
        return np.diff(paths, axis=1) - np.array(wanted)

    for seed in range(4):
        counts = np.random.default_rng(seed).integers(0, 4, size=count)
        for gone in np.flatnonzero(counts):
            less = counts - np.eye(count, dtype=np.int64)[gone]
            comers = [] if privacy is ADD else [less + row for row in np.eye(count, dtype=np.int64)]
            worst = max(worst, *(int(np.abs(off(counts) - off(other)).sum(axis=1).max()) for other in [less, *comers]))
    return worst


@pytest.mark.parametrize("privacy", [ROW, ADD], ids=["replace", "add-remove"])
@pytest.mark.parametrize("levels", [(0.25, 0.5), (0.1, 0.5, 0.9), (0.3,)])
def test_the_sensitivity_of_joint_ranks_is_reached_and_never_exceeded(levels, privacy):
    summary, exact = jointly(*levels), [Fraction(str(level)) for level in levels]
    assert worst_move(summary, exact, privacy) == summary.joint_sensitivity(exact, privacy)
    person = replace(privacy, unit=sf.Person("id", 5))
    assert summary.joint_sensitivity(exact, person) == 5 * summary.joint_sensitivity(exact, privacy)


def test_negative_control_a_place_without_its_part_of_the_records_moves_further():
    """Were records of a value spread by rounding, one more of them could move parts of the others."""

    class Rounded(Quantiles):
        def ranks(self, counts, levels):
            ranks, wanted = super().ranks(counts, levels)
            return ranks // 32 * 32, wanted

    summary, exact = Rounded("quantiles", (0.25, 0.5), Grid(0, 4, 0), True, splits=4), [Fraction(1, 4), Fraction(1, 2)]
    assert worst_move(summary, exact, ROW) > summary.joint_sensitivity(exact, ROW)


def test_several_levels_are_chosen_jointly_where_they_can_be():
    assert plan(0.25, 0.5).splits >= 12 and plan(0.5).splits == 0 and plan(0.5, 0.5).splits == 0
    assert plan(0.25, 0.5, box=sf.Box({"x": Integer(0, 110)})).splits == 64
    assert plan(0.25, 0.5, box=sf.Box({"x": Integer(0, 10**6)})).splits == 0
    assert plan(0.25, 0.5, privacy=Privacy(epsilon=1e-3)).splits == 0
    assert plan(0.25, 0.5, privacy=Privacy(rho=0.5)).splits >= 12


def test_each_value_of_a_column_has_places_enough_and_a_grid_of_the_callers_stays():
    wide = sf.Box({"x": (0, 10**5)})
    found = plan(0.25, 0.5, box=wide)
    assert (found.grid.step, found.splits) == (5, 13)
    assert plan(0.5, box=wide).grid.step == 1
    assert plan(0.25, 0.5, box=wide, step=1.0).splits == 0
    assert plan(0.25, 0.5, box=wide, step=1.0).grid.step == 1


def test_so_many_records_that_ties_could_reach_the_floor_are_chosen_from_one_by_one():
    whole = sf.Box({"x": Integer(0, 110)})
    assert plan(0.1, 0.25, 0.5, box=whole, rows=20_000).splits == 64
    assert plan(0.1, 0.25, 0.5, box=whole, rows=100_000).splits == 0
    assert plan(0.1, 0.25, 0.5, box=whole, rows=100_000, privacy=Privacy(epsilon=0.1)).splits == 64
    assert plan(0.25, 0.5, rows=None).splits == 0  # nobody knows how many there are


@pytest.mark.few(2)
@pytest.mark.parametrize("n", [1_000, 5_000, 25_000, 1_000_000])
@pytest.mark.parametrize("column", [(0, 100_000), Integer(0, 110)])
def test_levels_within_a_value_that_many_share_are_that_value(n, column):
    """Nine tenths are 0: levels of .25 and .5 are 1,500 and more ranks away from others, or a hundred at n = 1,000."""
    values = np.r_[np.zeros(9 * n // 10), np.linspace(20, 100, n - 9 * n // 10)]
    target = sf.Statistic("quantiles", probabilities=[0.25, 0.5], interval="none")
    for _ in range(3):
        assert sf.release(target, values, sf.Box({"x": column}), ROW).value.tolist() == [0, 0]


def test_many_levels_are_chosen_in_groups():
    levels = [round(0.01 * k, 2) for k in range(1, 41)]
    groups = plan(*levels, 0.4, box=sf.Box({"x": Integer(0, 110)})).groups
    assert [len(group) for group in groups] == [14, 13, 13]
    assert sorted(level for group in groups for level in group) == [Fraction(str(level)) for level in levels]


def test_chosen_places_are_values_of_the_levels_asked_for():
    summary = jointly(0.25, 0.25, 0.5, count=10)
    assert summary.chosen([[5, 19]]).tolist() == [2.0, 2.0, 9.0]
    assert summary.limits(ONE, np.zeros(3), np.zeros(1), 10)[0].tolist() == [0.0] * 3  # nothing is claimed


# --- what ranks say --------------------------------------------------------------------------------------------------


def test_the_rank_error_is_that_of_the_mechanism():
    """Permute-and-flip and the exponential mechanism miss by t with probability at most |R| exp(-eps t / 2D)."""
    miss = 0.01
    far = rank_error(ROW, Fraction(1), 1000, miss, 1.0)
    assert 1000 * math.exp(-far / 2) <= miss
    assert far == pytest.approx(2 * math.log(1000 / miss), rel=1e-4)
    assert rank_error(ROW, Fraction(1, 4), 1000, miss, 1.0) == pytest.approx(4 * far)
    assert rank_error(Privacy(rho=1 / 8), Fraction(1), 1000, miss, 1.0) == pytest.approx(far)
    assert rank_error(Privacy(rho=1 / 8), Fraction(1, 4), 1000, miss, 1.0) == pytest.approx(2 * far)


def test_all_levels_hold_at_once():
    one, three = quantiles(0.5).rank_errors(ROW, 0.9), quantiles(0.25, 0.5, 0.75).rank_errors(ROW, 0.9)
    assert len(three) == 3
    assert three[0] > 3 * one[0]
    assert (quantiles(0.5).rank_errors(ROW, 0.99) > one).all()


def test_a_value_is_as_it_was_chosen():
    assert quantiles(0.5).estimate(ONE, np.array([7.0]), None).shape == ()
    assert quantiles(0.25, 0.75).estimate(ONE, np.array([9.0, 7.0]), None).tolist() == [7.0, 9.0]  # in order
    flanked = quantiles(0.5, flank=0.1, share=0.5)
    assert flanked.estimate(ONE, np.array([7.0, 1.0, 9.0]), 100) == 7.0


def test_limits_without_anything_to_tell_are_the_boxs():
    for rows, complete in ((None, True), (100, False)):
        low, high = quantiles(0.5, complete=complete).limits(ONE, np.array([7.0]), np.array([3.0]), rows)
        assert (float(low), float(high)) == (0.0, 110.0)
    low, high = quantiles(0.5).limits(ONE, np.array([7.0]), np.array([3.0]), 100)
    assert (float(low), float(high)) == (0.0, 110.0)  # the level itself says nothing about its own side


def test_levels_far_enough_below_and_above_make_limits():
    summary, box = quantiles(0.25, 0.5, 0.75), sf.Box({"age": sf.Integer(0, 110)})
    low, high = summary.limits(box, np.array([30.0, 50.0, 70.0]), np.full(3, 10.0), 100)
    assert low.tolist() == [0.0, 30.0, 50.0]
    assert high.tolist() == [50.0, 70.0, 110.0]
    low, high = summary.limits(box, np.array([30.0, 50.0, 70.0]), np.full(3, 25.0), 100)
    assert low.tolist() == [0.0, 0.0, 30.0]


def test_a_real_record_may_lie_a_step_from_its_candidate():
    """A limit in between candidates would be wrong for records that were counted at the next one."""
    low, high = quantiles(0.25, 0.5, 0.75).limits(ONE, np.array([30.0, 50.0, 70.0]), np.full(3, 10.0), 100)
    assert (low.tolist(), high.tolist()) == ([0.0, 29.0, 49.0], [51.0, 71.0, 110.0])


@pytest.mark.parametrize("seed", range(30))
def test_values_whose_ranks_are_within_the_widths_make_true_limits(seed):
    """Whole-number records; every level is answered with any candidate within its rank error."""
    generator = np.random.default_rng(seed)
    records = np.sort(generator.integers(0, 21, size=60))
    box, summary = sf.Box({"x": sf.Integer(0, 20)}), quantiles(0.2, 0.5, 0.9, flank=0.15, share=0.5)
    counts, widths = np.bincount(records, minlength=21), generator.uniform(0, 9, size=9)
    values = []
    for level, width in zip(summary.levels, widths, strict=True):
        near = np.flatnonzero(-summary.scores(counts, level) <= width * level.denominator)
        values.append(float(generator.choice(near)))
    low, high = summary.limits(box, np.array(values), widths, 60)
    for i, level in enumerate(summary.asked):
        for method in ("inverted_cdf", "linear", "median_unbiased"):
            assert low[i] <= np.quantile(records, level, method=method) <= high[i]


def test_the_median_has_no_axis():
    assert quantiles(0.5).labels(ONE) == []
    assert quantiles(0.5).limits(ONE, np.array([7.0]), np.array([3.0]), 9)[0].shape == ()
