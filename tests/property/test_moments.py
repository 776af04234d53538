"""For any records, any box and any index set: one record's moments depend on it alone, and two are never too far apart.

Also the inequalities of docs/proofs/moments.md that can be looked at in numbers.
"""

import itertools
import math
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import sfumato as sf
from effort import tries
from opening import numbers_of
from sfumato.bases.moments.cosine import Cosines
from sfumato.bases.moments.quadrature import fine_axis, grid_for
from sfumato.engines.memory import MemoryEngine
from sfumato.releases.summary.summary import _left_out
from sfumato.targets.moments import Sums

REPLACE, ADD = sf.Privacy(epsilon=1.0), sf.Privacy(epsilon=1.0, neighbours="add-remove")
STRANGE = [np.nan, np.inf, -np.inf, 5e-324, -5e-324, 1e-310, -0.0, 1e308, -1e308, 1.0, -1.0, 0.3]

anything = st.one_of(st.floats(), st.floats(-2, 3), st.sampled_from([*STRANGE, 0.0, 2.0, 10.0, -0.25]))
tables = arrays.arrays(np.float64, st.tuples(st.integers(2, 25), st.just(3)), elements=anything)
columns = st.sampled_from(
    [
        (0, 1),
        (-1, 1),
        (0, 5e-324),
        (-8e307, 8e307),
        (1e308, 1.1e308),
        (1.0, 1.0000000000000002),
        sf.Integer(0, 10),
        sf.Periodic(-1, 2),
        sf.Categorical((0, 1, 2)),
        sf.Categorical((0.3, -0.25, 1e98, 10)),
    ]
)
bases = st.one_of(
    st.builds(Cosines, st.integers(2, 7), st.sampled_from(["full", "cross", 1, 2])),
    st.builds(Cosines, st.tuples(*[st.integers(1, 5)] * 3), st.sampled_from(["full", 1, 2])),
)


def summed(box, basis, data, chunk_rows=65_536):
    """The whole numbers that are perturbed, with the count in front."""
    sums = Sums(MemoryEngine().open(data, box, "row"), box, MemoryEngine(chunk_rows))
    sums.add_up(basis)
    return numbers_of(sums.open())


def apart_within(gap, indices, privacy):
    """A difference of whole numbers is within every certificate, without rounding."""
    sizes = [abs(int(v)) for v in gap]
    assert max(sizes) <= indices.apart(privacy, "linf")
    assert sum(sizes) <= indices.apart(privacy, "l1")
    assert sum(v * v for v in sizes) <= Fraction(indices.apart(privacy, "l2")) ** 2


@tries(60)
@given(tables, columns, columns, columns, bases, st.integers(1, 30))
def test_any_two_records_are_within_every_certificate_and_do_not_feel_each_other(data, a, b, c, basis, chunk_rows):
    box = sf.Box([a, b, c])
    indices = basis.index_set(box)
    with warnings.catch_warnings(), np.errstate(all="raise"):  # whatever the caller has asked numpy for
        warnings.simplefilter("error")
        each = np.stack([summed(box, basis, record[None, :]) for record in data])
        whole = summed(box, basis, data, chunk_rows)
    assert (whole == each.sum(axis=0)).all()
    assert (each[:, 0] == 4**indices.bits).all()
    for one, other in itertools.pairwise(each):
        apart_within(one - other, indices, REPLACE)
        apart_within(one, indices, ADD)


@pytest.mark.slow
@tries(60)
@given(tables, st.sampled_from([0.5, 1.0, 1e-300, 3.0]), st.integers(2, 9))
def test_records_that_are_scaled_into_a_ball_do_not_feel_each_other(data, radius, degree):
    box, basis = sf.Box([(-1, 1), (-2, 2), (0, 5e-324)], max_norm=radius), Cosines(degree, "cross")
    each = [summed(box, basis, record[None, :]) for record in data]
    assert (summed(box, basis, data, 7) == np.sum(each, axis=0)).all()
    for one, other in itertools.pairwise(each):
        apart_within(one - other, basis.index_set(box), REPLACE)


LAYOUTS = {
    "plain": lambda data: data,
    "column by column": np.asfortranarray,
    "every other row": lambda data: np.repeat(data, 2, axis=0)[::2],
    "backwards": lambda data: np.ascontiguousarray(data[::-1])[::-1],
}
BOXES = {
    "plain": sf.Box([(-1, 1), (-1, 1)]),
    "whole and round": sf.Box([sf.Integer(0, 10), sf.Periodic(-1, 2)]),
    "ball": sf.Box([(-1, 1), (-2, 2)], max_norm=1.0),
    "categories": sf.Box([sf.Categorical((0, 1, 2)), (0, 1)]),
}


@pytest.mark.slow
@pytest.mark.parametrize("basis", [Cosines(3), Cosines(9), Cosines(5, 1), Cosines(6, "cross")], ids=str)
@pytest.mark.parametrize("name", BOXES)
def test_one_record_contributes_the_same_bits_in_any_place_block_and_layout(name, basis):
    rng, box = np.random.default_rng(1), BOXES[name]
    data = np.concatenate([np.array(list(itertools.product(STRANGE, repeat=2))), rng.uniform(-2, 2, (150, 2))])
    each = np.stack([summed(box, basis, record[None, :]) for record in data])
    for chunk_rows, layout in itertools.product((1, 7, 64, 100_000), LAYOUTS.values()):
        order = rng.permutation(len(data))[: rng.integers(1, len(data))]
        assert (summed(box, basis, layout(data[order]), chunk_rows) == each[order].sum(axis=0)).all()
    crowd = np.tile(data, (200, 1))  # several blocks of a batch
    assert (summed(box, basis, crowd) == 200 * each.sum(axis=0)).all()


def test_sums_beyond_what_doubles_hold_are_still_exact():
    """More rows than a matrix product may add up before it is saved: 2**21 of 2**32 steps each."""
    rows, basis, box = 2**21 + 12_345, Cosines(4), BOXES["plain"]
    few = np.array([[math.cos(1.0), 1.0], [1.0, 1.0], [-1.0, np.nan], [np.inf, 0.25]])
    data = np.concatenate([np.tile(few[:1], (rows - 3, 1)), few[1:]])
    each = [summed(box, basis, record[None, :]).tolist() for record in few]
    wanted = [(rows - 3) * first + sum(rest) for first, *rest in zip(*each, strict=True)]
    assert summed(box, basis, data).tolist() == wanted


def test_a_private_number_of_rows_chooses_nothing_and_is_not_published():
    """Automatic choices are the same for any number of rows, and the release does not carry it."""
    for privacy in (ADD, sf.Privacy(epsilon=1.0, unit=sf.Person("who", max_rows=2))):
        seen = []
        for rows in (0, 3, 3000):
            table = pd.DataFrame({"x0": np.linspace(0, 1, rows), "who": [f"{i}" for i in range(rows)]})
            found = sf.summarize(table, sf.Box([(0, 1)]), privacy)
            assert found.rows is None and found.fields()["rows"] is None
            seen.append((found.basis, found.law.scale, found.law.size, found.law.certificate, found.target))
        assert seen[0] == seen[1] == seen[2]


@pytest.mark.slow
def test_columns_of_very_many_categories_pay_for_the_error_of_a_longer_recurrence():
    """A degree is at most 1024; categories may be more, and the error grows like their square (Theorem 4)."""
    count = 20_000
    box = sf.Box([sf.Categorical(tuple(range(count)))])
    places = np.array([0, 1, 2, 3, 7, 100, count // 2, count - 2, count - 1])
    steps = 4 ** Cosines(2, 1).index_set(box).bits
    each = np.stack([summed(box, Cosines(2, 1), np.array([float(place)])) for place in places]) / steps
    true = np.cos(np.outer(places, np.arange(count)) * (math.pi / (count - 1)))
    assert np.abs(each - true).max() <= math.sqrt(1 / steps) + count**2 * 2.0**-51
    indices = Cosines(2, 1).index_set(box)
    rounding = indices.apart(REPLACE, "l1") / steps - (indices.size - indices.kernel_minimum())
    assert rounding >= 2 * (count - 1) * (math.sqrt(1 / steps) + count**2 * 2.0**-51)


# --- inequalities -----------------------------------------------------------------------------------------------------


@pytest.mark.few(14)
@pytest.mark.parametrize("count", [*range(2, 40), 64, 255, 400])
def test_squares_of_one_column_sum_to_at_most_twice_their_number(count):
    """Theorem 2: ``sum (1 - cos ra)^2 <= 2 t`` for all a, attained for even t."""
    angles = np.linspace(0.0, math.pi, 64 * count + 1)
    sums = sum((1 - np.cos(r * angles)) ** 2 for r in range(count))
    assert sums.max() <= 2 * count + 1e-9
    assert count % 2 or sums.max() >= 2 * count - 1e-9


@pytest.mark.parametrize("basis", [Cosines(4), Cosines((2, 5, 3)), Cosines(4, 2), Cosines((2, 3, 6), 2), Cosines(5, 1)])
def test_the_least_value_of_a_kernel_is_a_lower_bound_and_attained(basis):
    """Theorem 3, by random angles and by all choices between zero and the least place of each column."""
    indices = basis.index_set(sf.Box([(0, 1)] * 3))
    places = []
    for count in indices.shape:
        psi = np.linspace(0, math.pi, 4001)
        places.append([0.0, psi[int(np.cos(np.outer(np.arange(count), psi)).sum(axis=0).argmin())]])
    angles = np.concatenate([list(itertools.product(*places)), np.random.default_rng(0).uniform(0, math.pi, (4000, 3))])
    kernels = np.cos(indices.frequencies * angles[:, None, :]).prod(axis=2).sum(axis=1)
    assert indices.kernel_minimum() <= kernels.min() <= indices.kernel_minimum() + 1e-3 * indices.size


@tries(200)
@given(st.integers(2, 40), st.data())
def test_a_sum_of_cosines_is_hardly_larger_between_points_than_at_points(points, data):
    """Theorem 6: by at most ``1 / cos(pi m / 2 N)``, below ``sqrt(2)`` for degrees m below ``N / 2``."""
    degree = data.draw(st.integers(0, (points - 1) // 2))
    numbers = data.draw(st.lists(st.floats(-1, 1), min_size=degree + 1, max_size=degree + 1))
    fine = np.linspace(0, math.pi, 50 * points + 1)
    values = np.array(numbers) @ np.cos(np.outer(np.arange(degree + 1), fine))
    seen = np.array(numbers) @ np.cos(np.outer(np.arange(degree + 1), np.arccos(fine_axis(points).nodes)))
    factor = 1 / math.cos(math.pi * degree / (2 * points))
    assert factor < math.sqrt(2)
    assert np.abs(values).max() <= factor * np.abs(seen).max() + 1e-9


@tries(40)
@given(st.integers(2, 5), st.integers(0, 2**32 - 1))
def test_what_is_left_out_is_bounded_between_the_points_of_a_grid(count, seed):
    box = sf.Box([(-1, 1), (-1, 1)])
    grid = grid_for(box, (0, 1), (count, count))
    rng = np.random.default_rng(seed)
    rest = rng.normal(size=grid.shape) * np.exp(-0.3 * np.add.outer(*(np.arange(n) for n in grid.shape)))
    rest[:count, :count] = 0.0
    fine = np.cos(np.outer(np.linspace(0, math.pi, 301), np.arange(grid.shape[0])))
    assert np.abs(fine @ rest @ fine.T).max() <= _left_out(rest, grid) + 1e-9


def lebesgue(degree, points):
    """The norm of truncation by a transform of so many points: never less (Theorem 5), hardly more."""
    shifts = np.linspace(0, 0.5, 9)
    angles = (shifts[:, None] + np.arange(-points, points)) * (math.pi / points)
    with np.errstate(invalid="ignore"):
        kernel = np.sin((degree - 0.5) * angles) / np.sin(angles / 2)
    seen = np.abs(np.where(angles == 0, 2 * degree - 1, kernel)).sum(axis=1).max() / (2 * points)
    return seen / math.cos((degree - 1) * math.pi / (32 * points))


@pytest.mark.parametrize("degrees", [range(1, 40), pytest.param(range(40, 1025), marks=pytest.mark.slow)])
def test_truncation_magnifies_by_no_more_than_is_counted(degrees):
    """Theorem 5: for every number of points that a grid can have."""
    for degree in degrees:
        for factor, least in ((4, 64), (4, 32), (3, 16), (2, 8), (2, 1)):
            points = max(factor * degree, least)
            norm = lebesgue(degree, points)
            assert norm <= min(0.75 * (4 / math.pi**2 * math.log(degree) + 3), math.log(points) + 1.6)
