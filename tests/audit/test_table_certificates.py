"""Hunts for neighbours that move the numbers of a synthetic table further than certified, and for mistakes."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import sfumato as sf
from sfumato.bases.synthetic.blocks import budgets_of
from sfumato.bases.synthetic.contributions import add_block
from sfumato.bases.synthetic.line import line_of
from sfumato.targets.tables import TableSums

BOX = sf.Box(
    {
        "x": (-1, 1),
        "label": sf.Categorical(["a", "b", "c"]),
        "y": (0, 10),
        "few": sf.Integer(0, 3),
        "hour": sf.Periodic(0, 24),
        "two": sf.Categorical([0, 1]),
        "three": sf.Categorical(["p", "q", "r"]),
    }
)
SHARES = {"means": 0.4, "norm": 0.1, "spreads": 0.2, "pairs": 0.3}
BASIS = budgets_of(SHARES, BOX, "label", 4, True)
GRANTS = [sf.Privacy(epsilon=1.0), sf.Privacy(epsilon=1.0, neighbours="add-remove")]
ODD = [math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, -0.0]


def moved(records, basis=BASIS, box=BOX):
    """The numbers that some records add up to."""
    columns = [np.array([record[i] for record in records]) for i in range(box.dimension)]
    columns = [
        values.astype(np.int32) if isinstance(kind, sf.Categorical) else values.astype(float)
        for kind, values in zip(box.columns, columns, strict=True)
    ]
    total = np.zeros(basis.size(box), dtype=np.int64)
    add_block(total, box, basis, columns)
    return total


def norm(vector, basis=BASIS, box=BOX):
    """The sum over blocks of the largest numbers, of one vector or of each row."""
    sizes = [size for sizes in basis.sizes(box).values() for size in sizes]
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    return np.maximum.reduceat(np.abs(vector), starts, axis=-1).sum(axis=-1)


def furthest(vectors, length=norm):
    """How far any two of some vectors are apart."""
    return max(float(np.max(length(vectors - one))) for one in vectors)


def ends():
    """Records at the ends of their columns: where polynomials are largest, and where values are odd or missing."""
    generator = np.random.default_rng(6)
    places = list(itertools.product([-1.0, 0.0, 1.0], [-1, 0, 1, 2], [0.0, 5.0, 10.0]))
    for x, label, y in places:
        yield (x, label, y, generator.integers(0, 4), generator.uniform(0, 24), *generator.integers(-1, [2, 3]))
    for odd in ODD:
        yield (odd, 0, 10.0, odd, odd, 1, 2)
        yield (1.0, -1, odd, 0.0, odd, -1, -1)
    for _ in range(60):
        yield (*generator.choice([-1.0, 1.0], 1), generator.integers(-1, 3), *generator.choice([0.0, 10.0], 1),
               *generator.choice([-7.0, 1.4, 3.0], 1), *generator.choice([0.0, 6.0, 12.0, 24.0], 1),
               *generator.integers(-1, [2, 3]))  # fmt: skip


RECORDS = list(ends())
ALONE = np.stack([moved([record]) for record in RECORDS])


@pytest.mark.parametrize("privacy", GRANTS, ids=lambda one: one.neighbours)
def test_no_neighbours_are_further_apart_than_certified(privacy):
    """All pairs of telling records, label changes and missing labels among them.

    Nine tenths of the bound are attained: a record cannot turn every product round and change its length as well.
    """
    bound = BASIS.certified("l1-linf", BOX, privacy).bound
    found = furthest(ALONE) if privacy.neighbours == "replace" else norm(ALONE).max()
    assert 0.85 * bound < found <= bound


@pytest.mark.few(2)
@pytest.mark.parametrize("privacy", GRANTS, ids=lambda one: one.neighbours)
@pytest.mark.parametrize("shares", [SHARES, {"means": 1.0}, {"means": 0.5, "pairs": 0.5}])
def test_euclidean_bounds_hold_too(privacy, shares):
    basis = budgets_of(shares, BOX, "label", 3, False)
    bound = basis.certified("l2", BOX, privacy).bound
    vectors = np.stack([moved([record], basis).astype(float) for record in RECORDS])

    def length(found):
        return np.linalg.norm(found, axis=-1)

    longest = furthest(vectors, length) if privacy.neighbours == "replace" else length(vectors).max()
    assert 0.6 * bound < longest <= bound


def test_persons_move_as_often_as_they_have_rows():
    person = sf.Privacy(epsilon=1.0, unit=sf.Person("id", 3))
    bound = BASIS.certified("l1-linf", BOX, person).bound
    assert bound == 3 * BASIS.certified("l1-linf", BOX, GRANTS[0]).bound
    assert furthest(3 * ALONE) <= bound
    assert max(norm(3 * a - ALONE).max() for a in ALONE) <= bound  # with fewer rows


def test_each_number_keeps_within_its_budget():
    largest = np.abs(ALONE).max(axis=0)
    start = 0
    for word, sizes in BASIS.sizes(BOX).items():
        own = largest[start : start + sum(sizes)]
        assert own.max() <= BASIS.budget[word] and own.max() > 0.99 * BASIS.budget[word], word
        start += sum(sizes)


def test_a_sum_is_that_of_its_records_whatever_stands_beside_them():
    """Bit by bit: what a record adds depends on nothing else, in any order and cut anyhow."""
    whole = moved(RECORDS)
    assert (whole == ALONE.sum(axis=0)).all()
    assert (whole == moved(RECORDS[::-1])).all()
    assert (whole == moved(RECORDS[:50]) + moved(RECORDS[50:])).all()


def test_a_record_without_a_label_is_in_no_stratum_and_a_missing_value_adds_nothing():
    stratum, classes = BASIS.sizes(BOX)["means"][0], 3
    nobody = moved([(0.5, -1, 5.0, 1.0, 3.0, 1, 1)])
    assert not nobody[: stratum * classes].any() and nobody[stratum * classes :].any()
    blank = moved([(math.nan, 1, math.nan, math.nan, math.nan, -1, -1)])
    assert np.flatnonzero(blank).tolist() == [stratum]  # the count of its class alone
    assert TableSums(BOX, BASIS).largest == max(BASIS.budgets)


# --- the rule -------------------------------------------------------------------------------------------------------

SIDED = sf.Box({**dict(zip(BOX.names, BOX.columns, strict=True)), "label": sf.Categorical(["a", "b"])})
RULED = budgets_of({**SHARES, "rule": 0.2}, SIDED, "label", 3, True)
LINES = [
    line_of(SIDED, "label", np.array(slopes))
    for slopes in ([1, 2, *[3, -1, 0, 5], -2, *[1, -1], *[2, 0, -2]], [1e300] * 12, [0.0] * 12, [1, *[0.0] * 11])
]  # by columns: x, y, each of few, hour, each of two, each of three


def ruled(line):
    """Alone, the numbers of records whose labels are one of two, or none of them."""
    sided = [(x, -1 if label == 2 else label, *rest) for x, label, *rest in RECORDS]
    columns = [[np.array([record[i]]) for record in sided] for i in range(SIDED.dimension)]
    found = []
    for row in zip(*columns, strict=True):
        total = np.zeros(RULED.size(SIDED), dtype=np.int64)
        kinds = zip(SIDED.columns, row, strict=True)
        values = [v.astype(np.int32) if isinstance(kind, sf.Categorical) else v.astype(float) for kind, v in kinds]
        add_block(total, SIDED, RULED, values, line)
        found.append(total)
    return np.stack(found)


@pytest.mark.few(3)
@pytest.mark.parametrize("line", LINES, ids=["mixed", "huge", "flat", "one column"])
@pytest.mark.parametrize("privacy", GRANTS, ids=lambda one: one.neighbours)
def test_a_rule_moves_no_further_than_certified(line, privacy):
    """Its two numbers are a block of their own; the sign of the label alone attains its budget."""
    alone = ruled(line)
    bound = RULED.certified("l1-linf", SIDED, privacy).bound
    assert np.abs(alone[:, -2:]).max() == RULED.budget["rule"]

    def length(vectors):
        return norm(vectors, RULED, SIDED)

    found = furthest(alone, length) if privacy.neighbours == "replace" else length(alone).max()
    assert 0.7 * bound < found <= bound


def test_a_rules_numbers_are_sums_over_records_bit_by_bit():
    alone = ruled(LINES[0])
    sided = [(x, -1 if label == 2 else label, *rest) for x, label, *rest in RECORDS]
    columns = [np.array([record[i] for record in sided]) for i in range(SIDED.dimension)]
    values = [
        c.astype(np.int32 if isinstance(k, sf.Categorical) else float)
        for k, c in zip(SIDED.columns, columns, strict=True)
    ]
    total = np.zeros(RULED.size(SIDED), dtype=np.int64)
    add_block(total, SIDED, RULED, values, LINES[0])
    assert (total == alone.sum(axis=0)).all()


def test_negative_control_a_rule_that_is_left_out_of_the_sum_of_budgets():
    """Two more numbers are not free: without their budget the bound is exceeded."""
    without = RULED.certified("l1-linf", SIDED, GRANTS[1]).bound - RULED.budget["rule"]
    alone = ruled(LINES[0])
    attained = max(norm(one, RULED, SIDED) for one in alone)
    assert attained > without


# --- negative controls ----------------------------------------------------------------------------------------------


def test_negative_control_strata_as_if_a_record_could_not_change_its_class():
    """Parallel composition under replacement: one stratum's budget, where a record leaves one and enters another."""
    only = budgets_of({"means": 1.0}, BOX, "label", 2, True)
    first, second = (moved([(1.0, k, 10.0, 3.0, 0.0, 1, 1)], only) for k in (0, 2))
    bound = only.certified("l1-linf", BOX, GRANTS[0]).bound
    assert only.budget["means"] < norm(first - second, only) == bound


def test_negative_control_the_squared_length_with_half_its_range():
    """It goes from minus to plus its budget: who lets it count once only is caught."""
    only = budgets_of({"means": 1e-4, "norm": 1 - 1e-4}, BOX, "label", 2, True)
    wrong = only.budget["norm"] + 2 * only.budget["means"]
    middle, corner = (0.0, 0, 5.0, 1.0, 0.0, 0, 0), (1.0, 0, 10.0, 1.0, 0.0, 0, 0)
    apart = norm(moved([middle], only) - moved([corner], only), only)
    assert wrong < apart <= only.certified("l1-linf", BOX, GRANTS[0]).bound


def test_negative_control_a_bound_for_the_mean_of_the_blocks():
    """The largest of all blocks instead of their sum: noise for one cube, which blocks do not live in."""
    assert furthest(ALONE) > 2 * max(BASIS.budgets)
