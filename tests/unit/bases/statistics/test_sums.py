"""Sums, counts and given numbers: bounded integers per record, how far neighbours are apart, how they are read."""

import itertools
import math

import numpy as np
import pytest

import sfumato as sf
from sfumato.bases.statistics.sums import UNIT, Given, Tally, Total, root, without_missing
from sfumato.core.privacy import Privacy

ONE = sf.Box({"age": (0, 110)})
TWO = sf.Box({"age": (0, 110), "change": (-3, 1)})
ROW = Privacy(epsilon=1.0)
ADD = Privacy(epsilon=1.0, neighbours="add-remove")
PERSON = Privacy(epsilon=1.0, unit=sf.Person("id", 4))
CODED = sf.Box({"age": (0, 110), "sex": sf.Categorical(["F", "M"])})


def corners(box):
    """Extreme records, with every way to have values missing."""
    ends = [[column.low, column.high, (column.low + column.high) / 2, math.nan] for column in box.columns]
    return np.array(list(itertools.product(*ends)))


def length(vector, norm):
    whole = [int(v) for v in np.atleast_1d(vector)]
    return sum(map(abs, whole)) if norm == "l1" else math.sqrt(sum(v * v for v in whole))


def check_apart(summary, box, norm, contributions):
    """No two extreme records are further apart than promised, and the promise is not 1 in a million too large."""
    singles = max(length(c, norm) for c in contributions)
    pairs = max(length(a - b, norm) for a in contributions for b in contributions)
    tight = 1 + 1e-6
    assert singles <= summary.apart(box, ADD, norm) <= singles * tight
    assert max(singles, pairs) <= summary.apart(box, ROW, norm) <= max(singles, pairs) * tight
    assert 4 * max(singles, pairs) <= summary.apart(box, PERSON, norm) <= 4 * max(singles, pairs) * tight


def test_a_root_is_never_below():
    for square in [0, 1, 2, 3, 4, 10**6, 10**40 + 1]:
        assert root(square) ** 2 >= square


def test_the_boxs_middle_stands_in_for_what_is_missing():
    filled, missing = without_missing(TWO, np.array([[1.0, math.nan], [math.nan, math.nan], [2.0, 0.0]]))
    assert filled.tolist() == [[1.0, -1.0], [55.0, -1.0], [2.0, 0.0]]
    assert missing.tolist() == [True, True, False]


# --- sums ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "box", [ONE, TWO, sf.Box([(-1e300, 1e-300)]), sf.Box([(5, 6)]), sf.Box([(-9, -2), (0, 1e-310)])]
)
@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("complete", [False, True])
def test_neighbouring_sums_are_as_far_apart_as_promised(box, norm, complete):
    total = Total(complete)
    contributions = total.contributions(box, corners(box))
    singles = max(length(c, norm) for c in contributions)
    pairs = max(length(a - b, norm) for a in contributions for b in contributions)
    far = pairs if complete else max(singles, pairs)
    assert singles <= total.apart(box, ADD, norm) <= singles * (1 + 1e-6)
    assert far <= total.apart(box, ROW, norm) <= far * (1 + 1e-6)
    assert 4 * max(singles, pairs) <= total.apart(box, PERSON, norm) <= 4 * max(singles, pairs) * (1 + 1e-6)


def test_a_complete_sum_far_from_zero_moves_by_its_width_only():
    box = sf.Box([(100, 101)])
    assert Total(True).apart(box, ROW, "l1") < Total(False).apart(box, ROW, "l1") / 90


def test_the_largest_value_counts_as_one():
    contributions = Total(False).contributions(TWO, np.array([[110.0, -3.0], [55.0, 1.0], [0.0, math.nan]]))
    assert contributions.tolist() == [[UNIT, -UNIT], [UNIT // 2, round(UNIT / 3)], [0, 0]]
    assert Total(True).contributions(TWO, np.array([[0.0, math.nan]])).tolist() == [[0, -round(UNIT / 3)]]


def test_a_sum_is_read_in_the_users_units():
    total = Total(False)
    assert total.estimate(TWO, np.array([2.0, -1.5]), 7).tolist() == [220.0, -4.5]
    assert total.estimate(ONE, np.array([2.0]), 7).shape == ()
    assert total.labels(TWO) == [["age", "change"]]
    assert total.labels(ONE) == []
    assert (total.size(ONE), total.size(TWO)) == (1, 2)


@pytest.mark.parametrize(("rows", "complete"), [(10, False), (10, True), (None, False)])
def test_the_limits_of_a_sum(rows, complete):
    low, high = Total(complete).limits(TWO, np.array([2.0, -1.5]), np.array([0.5, 0.25]), rows)
    rounding = 110 * (1.0 if rows is None else rows / UNIT)
    assert low[0] == pytest.approx(1.5 * 110 - rounding)
    assert high[0] == pytest.approx(2.5 * 110 + rounding)


def test_the_limits_of_a_sum_stay_within_what_so_many_records_can_be():
    box, wide = sf.Box([(5, 6)]), np.array([1e9])
    assert [float(end) for end in Total(True).limits(box, np.zeros(1), wide, 10)] == [50.0, 60.0]
    assert [float(end) for end in Total(False).limits(box, np.zeros(1), wide, 10)] == [0.0, 60.0]
    assert float(Total(False).limits(box, np.zeros(1), wide, None)[1]) > 1e9


def test_rounding_is_within_the_limits_even_without_noise():
    """A hundred thousand records that all fall between two steps of the grid."""
    records = np.full((100_000, 1), 110 * (0.3 + 0.49 / UNIT))
    sums = Total(False).contributions(ONE, records).sum(axis=0) / UNIT
    low, high = Total(False).limits(ONE, sums, np.zeros(1), 100_000)
    assert low <= math.fsum(records[:, 0]) <= high


# --- counts ----------------------------------------------------------------------------------------------------------


def cell_vectors(size):
    """A record is in one cell, or in none."""
    return np.vstack([np.eye(size, dtype=np.int64), np.zeros((1, size), dtype=np.int64)])


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize(
    ("statistic", "shape"), [("count", (1,)), ("histogram", (7,)), ("histogram", (1,)), ("histogram", (2, 3))]
)
@pytest.mark.parametrize("complete", [False, True])
def test_neighbouring_counts_are_as_far_apart_as_promised(statistic, shape, complete, norm):
    check_apart(Tally(statistic, shape, complete), ONE, norm, cell_vectors(math.prod(shape)))


def test_the_l2_distance_of_counts_is_never_rounded_down():
    assert Tally("histogram", (5,), True).apart(ONE, ROW, "l2") ** 2 >= 2
    assert Tally("histogram", (5,), True).apart(ONE, PERSON, "l2") ** 2 >= 32


def test_counts_are_not_negative_and_not_more_than_there_are():
    histogram = Tally("histogram", (3,), False)
    assert histogram.estimate(ONE, np.array([-2.0, 4.0, 5.0]), 10).tolist() == [0.0, 4.0, 5.0]  # one may be missing
    assert histogram.estimate(ONE, np.array([-2.0, 4.0, 8.0]), 10) == pytest.approx([0, 3, 7])  # the nearest that fits
    assert histogram.estimate(ONE, np.array([-2.0, 4.0, 99.0]), None).tolist() == [0.0, 4.0, 99.0]


def test_complete_counts_add_up():
    counts = Tally("histogram", (3,), True).estimate(ONE, np.array([-2.0, 4.0, 9.0]), 10)
    assert counts.sum() == pytest.approx(10.0)
    assert counts.min() >= 0
    assert Tally("count", (1,), True).estimate(ONE, np.array([3.0]), 10) == pytest.approx(10.0)


@pytest.mark.parametrize(("rows", "complete"), [(10, True), (10, False), (None, True), (None, False)])
@pytest.mark.parametrize("values", [[3.0, 7.0], [-5.0, -1.0], [0.0, 0.0], [99.0, -3.0]])
def test_proportions_are_proportions(values, rows, complete):
    shares = Tally("proportions", (2,), complete).estimate(CODED, np.array(values), rows)
    assert (shares >= 0).all()
    assert shares.sum() <= 1 + 1e-12
    if complete and rows is not None:
        assert shares.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("rows", [0, None])
def test_no_records_have_counts(rows):
    for complete in (True, False):
        tally = Tally("proportions", (2,), complete)
        assert np.isfinite(tally.estimate(CODED, np.zeros(2), rows)).all()
        assert np.isfinite(tally.limits(CODED, np.zeros(2), np.ones(2), rows)).all()


def test_the_limits_of_counts():
    histogram, values, widths = Tally("histogram", (3,), False), np.array([-2.0, 4.0, 9.0]), np.full(3, 3.0)
    assert [end.tolist() for end in histogram.limits(ONE, values, widths, 10)] == [[0, 1, 6], [1, 7, 10]]
    assert [end.tolist() for end in histogram.limits(ONE, values, widths, None)] == [[0, 1, 6], [1, 7, 12]]


def test_the_limits_of_shares():
    values, widths = np.array([30.0, 10.0]), np.full(2, 5.0)
    low, high = Tally("proportions", (2,), True).limits(CODED, values, widths, 40)
    assert (low.tolist(), high.tolist()) == ([25 / 40, 5 / 40], [35 / 40, 15 / 40])
    low, high = Tally("proportions", (2,), False).limits(CODED, values, widths, 100)
    assert low.tolist() == pytest.approx([25 / 40, 5 / 40])  # few of one, many of the other
    assert high.tolist() == pytest.approx([35 / 40, 15 / 40])


@pytest.mark.parametrize("seed", range(20))
def test_shares_of_any_counts_within_the_widths_are_within_the_limits(seed):
    generator = np.random.default_rng(seed)
    values, widths = generator.uniform(-5, 30, size=4), generator.uniform(0, 8, size=4)
    true = np.maximum(values + generator.uniform(-1, 1, size=4) * widths, 0.0)
    low, high = Tally("proportions", (4,), False).limits(CODED, values, widths, None)
    shares = true / max(true.sum(), 1e-300)
    assert (low <= shares + 1e-12).all() and (shares <= high + 1e-12).all()


def test_cells_are_named():
    tally = Tally("histogram", (2, 2), False)
    assert tally.labels(CODED) == [["0 to 55", "55 to 110"], ["F", "M"]]
    assert tally.estimate(CODED, np.arange(4.0), None).shape == (2, 2)
    assert Tally("count", (1, 1), False).labels(CODED) == []
    assert Tally("count", (1, 1), False).estimate(CODED, np.ones(1), None).shape == ()


def test_a_prediction_expects_records_everywhere():
    assert Tally("histogram", (4,), False).typical(ONE, 100).tolist() == [25.0] * 4
    assert Total(False).typical(TWO, 100).tolist() == [0.0, 0.0]


# --- given numbers ---------------------------------------------------------------------------------------------------


def test_given_numbers_are_kept_within_their_range():
    given = Given(3, (0.0, 1.0))
    assert given.estimate(ONE, np.array([-1.0, 0.5, 2.0]), None).tolist() == [0.0, 0.5, 1.0]
    low, high = given.limits(ONE, np.array([-1.0, 0.5, 2.0]), np.full(3, 0.75), None)
    assert (low.tolist(), high.tolist()) == ([0.0, 0.0, 1.0], [0.0, 1.0, 1.0])
    assert given.labels(ONE) == [["0", "1", "2"]]


def test_a_given_number_alone_has_no_axes():
    given = Given(1)
    assert given.estimate(ONE, np.array([-7.0]), None).shape == ()
    assert given.labels(ONE) == []
    assert given.apart(ONE, ROW, "l1") == 0.0  # the caller's own bound is what counts


@pytest.mark.parametrize("summary", [Total(False), Tally("histogram", (3,), True), Given(2, (0.0, 1.0)), Given(1)])
def test_summaries_are_plain_data(summary):
    import json

    stored = json.loads(json.dumps(summary.to_json()))
    assert stored["statistic"] == summary.statistic
