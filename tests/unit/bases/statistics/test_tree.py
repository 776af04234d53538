"""Trees of counts: which cells and layers, what is summed, what is read from it."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.bases.statistics.quantiles import Grid
from sfumato.bases.statistics.tree import QuantileTree
from sfumato.core.box import Integer, Interval
from sfumato.errors import ParameterError
from sfumato.targets.statistic import noise_units

ROW, ADD = sf.Privacy(epsilon=1.0), sf.Privacy(epsilon=1.0, neighbours="add-remove")
LINE = sf.Box({"x": (0, 100)})


def plan(column, rows=10_000, privacy=ROW, asked=(0.5,), complete=True):
    return QuantileTree.plan("quantiles", asked, sf.Box({"x": column}), rows, privacy, complete, noise_units(privacy))


def tree(count=10, fan=3, height=3, asked=(0.25, 0.5), complete=True, statistic="quantiles"):
    return QuantileTree(statistic, asked, Grid(0, count, 0), complete, fan, height)


# --- which cells and layers -------------------------------------------------------------------------------------------


def test_every_whole_number_of_a_narrow_column_has_a_cell_of_its_own():
    for rows, epsilon in itertools.product((10, 10**6), (0.01, 10.0)):
        found = plan(Integer(0, 110), rows, sf.Privacy(epsilon=epsilon)).grid
        assert found == Grid(0, 111, 0)
    assert plan(Integer(-500, 499)).grid.count == 1000


@pytest.mark.parametrize("high", [1000, 10**5, 10**9])
def test_wide_columns_of_whole_numbers_have_cells_of_whole_steps(high):
    found = plan(Integer(0, high)).grid
    assert found.step.denominator == 1
    assert found.count <= 2**15


def test_more_records_or_more_privacy_make_finer_cells():
    steps = [plan((0, 1), rows).grid.step for rows in (100, 1000, 10**4, 10**5)]
    assert steps == sorted(steps, reverse=True) and steps[0] > 20 * steps[-1]
    strict, lax = (plan((0, 1), 10_000, sf.Privacy(epsilon=e)).grid.step for e in (0.01, 10.0))
    assert strict > lax


@settings(max_examples=60, deadline=None)
@given(
    st.floats(-1e6, 1e6), st.floats(1e-6, 1e9), st.integers(0, 10**7), st.sampled_from([1e-3, 0.1, 1.0, 50.0]),
    st.booleans(),
)  # fmt: skip
def test_cells_are_decimal_few_and_hold_the_box(low, width, rows, epsilon, private):
    if not low + width > low:
        return
    privacy = sf.Privacy(epsilon=epsilon, neighbours="add-remove" if private else "replace")
    found = plan((low, low + width), rows, privacy)
    grid = found.grid
    assert 2 <= grid.count <= 2**15 and grid.factor in (1, 2, 5)
    assert found.fan ** (found.height - 1) < grid.count <= found.fan**found.height
    edges = grid.edges()
    assert edges.low <= low < low + width <= edges.high
    assert (grid.first + Fraction(1, 2)) * grid.step >= Fraction(low)  # no cell beside the box
    assert (grid.first + grid.count - Fraction(3, 2)) * grid.step <= Fraction(low + width)


def test_the_layers_are_those_of_least_noise():
    """For cells that are given, no other number of layers has less noise in a rank."""
    found = plan((0, 1), 10_000)
    count = found.grid.count

    def noise(height):
        fan = next(f for f in itertools.count(2) if f**height >= count)
        return height**2 * height * (fan - 1)

    assert noise(found.height) == min(noise(height) for height in range(1, 13))
    assert found.height == 3
    assert plan((0, 1), 10_000, sf.Privacy(rho=0.5)).height > found.height  # Gaussian noise grows by a root


@pytest.mark.parametrize("column", [sf.Periodic(0, 24), (0.0, 1e-291)])
def test_what_has_no_quantiles_is_refused(column):
    with pytest.raises(ParameterError, match="quantiles need"):
        plan(column)


# --- what is summed ---------------------------------------------------------------------------------------------------


def test_layers_and_their_sums():
    small = tree()
    assert small.layers == [(0, 2), (2, 6), (6, 16)] and small.size(LINE) == 16
    counts = np.arange(10)
    assert small.sums(counts, 50).tolist() == [36, 9, 3, 12, 21, 9, *range(10)]
    told = replace(small, complete=False, absent=True)
    assert told.size(LINE) == 17 and told.sums(counts, 50).tolist() == [*small.sums(counts, 50).tolist(), 5]


@pytest.mark.parametrize(("norm", "pair", "single"), [("l1", 6, 3), ("l2", math.sqrt(6), math.sqrt(3))])
def test_a_record_counts_once_in_each_layer(norm, pair, single):
    small = tree()
    every = np.array([small.sums(row, 1) for row in np.eye(10, dtype=np.int64)])
    far = np.abs(every[:, None] - every[None]).sum(axis=2)
    assert far.max() == 6 and every.sum(axis=1).max() == 3
    assert small.pair(LINE, norm) == pytest.approx(pair, rel=1e-12) and small.pair(LINE, norm) >= pair
    assert small.single(LINE, norm) == pytest.approx(single, rel=1e-12) and small.single(LINE, norm) >= single


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 9), min_size=2, max_size=40), st.integers(2, 5))
def test_both_sides_of_every_edge_are_the_records_there(counts, fan):
    height = next(h for h in range(1, 9) if fan**h >= len(counts))
    found = tree(len(counts), fan, height)
    left, right = found._sides(found.sums(np.array(counts), sum(counts)).astype(float))
    up_to = np.cumsum(counts)
    assert left.tolist() == up_to[:-1].tolist() and right.tolist() == (up_to[-1] - up_to[:-1]).tolist()
    nodes = found._nodes()
    assert (np.minimum(*nodes) >= 0).all() and (nodes[0] >= 1).all() and (nodes[0] + nodes[1]).max() <= height * fan


# --- what is read -----------------------------------------------------------------------------------------------------


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.integers(0, 5), min_size=2, max_size=30), st.integers(2, 4), st.sampled_from([0.01, 0.25, 0.5, 0.9]),
    st.booleans(),
)  # fmt: skip
def test_without_noise_a_quantile_is_that_of_the_records(counts, fan, level, public):
    height = next(h for h in range(1, 9) if fan**h >= len(counts))
    found, n = tree(len(counts), fan, height, (level,)), sum(counts)
    if not n:
        return
    values = np.repeat(np.arange(len(counts)), counts)
    box, rows = sf.Box({"x": (0, len(counts) - 1)}), n if public else None
    numbers = found.sums(np.array(counts), sum(counts)).astype(float)
    (value,) = found.estimate(box, numbers, rows)
    exact = Fraction(str(level)) * n
    assert (values < value).sum() <= exact and (values > value).sum() <= n - exact
    low, high = found.limits(box, numbers, np.zeros((1, len(counts) - 1)), rows)
    assert low[0] <= np.quantile(values, level) <= high[0]


def test_no_records_give_a_value_of_the_box():
    for rows, numbers in itertools.product((0, None), (np.zeros(16), -np.ones(16), np.full(16, 3.0))):
        small, box = tree(), sf.Box({"x": (0, 9)})
        assert ((small.estimate(box, numbers, rows) >= 0) & (small.estimate(box, numbers, rows) <= 9)).all()
        low, high = small.limits(box, numbers, np.full((2, 9), 50.0), rows)
        assert (low.tolist(), high.tolist()) == ([0.0, 0.0], [9.0, 9.0])


def test_a_total_makes_limits_closer_and_a_noisy_one_is_nearly_as_good():
    known, noisy = (plan((0, 1), 10_000, asked=(0.1, 0.5), complete=complete) for complete in (True, False))
    assert (known.absent, noisy.absent) == (False, True)
    assert not plan((0, 1), privacy=ADD, complete=False).absent
    law = sf.plan(sf.Statistic("quantiles", "x", "none"), sf.Box({"x": (0, 1)}), ROW, 10_000).law
    widths = [tree.rank_widths(law, 0.95, rows) for tree, rows in ((known, 10_000), (noisy, 10_000), (known, None))]
    means = [part.mean(axis=1) for part in widths]
    assert (means[0] < means[1]).all() and (means[1] < 1.03 * means[0]).all()
    assert means[2][0] > 1.25 * means[0][0]  # far from the median


def test_a_record_that_loses_its_value_moves_no_further_than_one_that_changes_it():
    for height in (1, 2, 3):
        told = QuantileTree("median", (0.5,), Grid(0, 10, 0), False, {1: 10, 2: 4, 3: 3}[height], height, True)
        every = [told.sums(row, 1) for row in [*np.eye(10, dtype=np.int64), np.zeros(10, dtype=np.int64)]]
        far = max(np.abs(a - b).sum() for a, b in itertools.combinations(every, 2))
        assert far == told.apart(LINE, ROW, "l1") == 2 * height


def test_limits_of_whole_numbers_are_whole_and_of_real_ones_half_a_step_wider():
    counts = np.zeros(10, dtype=np.int64)
    counts[4] = 50
    numbers, widths = tree().sums(counts, 50).astype(float), np.full((2, 9), 5.0)
    low, high = tree().limits(sf.Box({"x": Integer(0, 9)}), numbers, widths, 50)
    assert (low.tolist(), high.tolist()) == ([4.0, 4.0], [4.0, 4.0])
    low, high = tree().limits(sf.Box({"x": (0, 9)}), numbers, widths, 50)
    assert (low.tolist(), high.tolist()) == ([3.5, 3.5], [4.5, 4.5])


@pytest.mark.parametrize(("digits", "factor"), [(2, 1), (1, 5), (0, 2), (-3, 5)])
def test_edges_of_cells_are_decimals(digits, factor):
    grid = Grid(-7, 30, digits, factor)
    step = factor * Fraction(10) ** -digits
    assert grid.values(1).tolist() == [float((k + Fraction(1, 2)) * step) for k in range(-7, 23)]
    assert grid.values().tolist() == [float(k * step) for k in range(-7, 23)]
    assert isinstance(grid.edges(), Interval) and grid.edges().low == grid.values(-1)[0]


def test_sums_of_very_many_records_are_exact():
    """A double would round them, and neighbours would be further apart than one."""
    counts = np.zeros(10, dtype=np.int64)
    counts[[0, 9]] = 2**60 + 1, 2**59 + 3
    for absent in (False, True):
        found = replace(tree(), complete=False, absent=absent).sums(counts, 2**61 + 5)
        assert found.dtype == np.int64 and found[:2].tolist() == [2**60 + 1, 2**59 + 3]
        assert not absent or found[-1] == 2**61 + 5 - 2**60 - 2**59 - 4


@pytest.mark.parametrize("privacy", [ADD, sf.Privacy(epsilon=1.0, unit=sf.Person("who", 2))])
def test_absent_records_are_not_counted_where_their_number_is_private(privacy):
    """All rows of a person beyond those that are kept would be among them."""
    told = replace(tree(), complete=False, absent=True)
    with pytest.raises(ParameterError, match="absent records are only counted where single rows are replaced"):
        sf.plan(sf.Statistic("quantiles"), sf.Box({"x": (0, 9)}), privacy, 9, basis=told)
    assert not plan((0, 9), privacy=privacy, complete=False).absent
