"""Cosine moments: which there are, how far two records can be apart, and what one record contributes, bit by bit."""

import itertools
import math
import pickle
import re

import numpy as np
import pytest

import sfumato as sf
from sfumato.bases.moments.contributions import chebyshev_table, factors_of, hashed
from sfumato.bases.moments.cosine import LARGEST_DEGREE, Cosines, basis_from_json
from sfumato.errors import ParameterError, ParameterTypeError

PLANE = sf.Box({"age": (0, 110), "bmi": (10, 60)})
SPACE = sf.Box([(0, 1)] * 3)
MIXED = sf.Box({"age": (0, 110), "sex": sf.Categorical(["F", "M"]), "grade": sf.Categorical([1, 2, 3])})
REPLACE, ADD = sf.Privacy(epsilon=1.0), sf.Privacy(epsilon=1.0, neighbours="add-remove")

CASES = {
    "a line": (Cosines(7), sf.Box([(0, 1)])),
    "a full square": (Cosines(4), PLANE),
    "unequal sides": (Cosines((2, 5)), PLANE),
    "a full cube": (Cosines(3), SPACE),
    "single columns": (Cosines(4, 1), SPACE),
    "pairs of columns": (Cosines(3, 2), sf.Box([(0, 1)] * 5)),
    "pairs, unequal": (Cosines((2, 3, 4), 2), SPACE),
    "triples": (Cosines(3, 3), sf.Box([(0, 1)] * 4)),
    "a cross": (Cosines(6, "cross"), SPACE),
    "a full mixture": (Cosines(4), MIXED),
    "pairs of a mixture": (Cosines(4, 2), MIXED),
    "a cross of a mixture": (Cosines(4, "cross"), MIXED),
}


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


# --- parameters -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("degree", [0, -1, (2, 0), []])
def test_degrees_must_be_at_least_one(degree):
    with pytest.raises(ParameterError, match="degree must be"):
        Cosines(degree)


@pytest.mark.parametrize("degree", [1.5, "8", None, True, (2, 2.0), ("a", "b")])
def test_degrees_must_be_whole_numbers(degree):
    with pytest.raises(ParameterTypeError, match="degree must be a whole number"):
        Cosines(degree)


@pytest.mark.parametrize("degree", [LARGEST_DEGREE + 1, 10**9, (2, 10**30)])
def test_degrees_must_not_be_beyond_what_the_recurrence_is_bounded_for(degree):
    with pytest.raises(ParameterError, match="degree must be at most 1024"):
        Cosines(degree)


@pytest.mark.parametrize("interactions", ["all", "", 0, -2])
def test_interactions_are_a_word_or_a_number(interactions):
    with pytest.raises(ParameterError, match="interactions must be"):
        Cosines(4, interactions)


@pytest.mark.parametrize("interactions", [1.0, None, True, [2]])
def test_interactions_are_whole_numbers(interactions):
    with pytest.raises(ParameterTypeError, match="interactions must be a whole number"):
        Cosines(4, interactions)


def test_a_cross_has_one_degree():
    with pytest.raises(ParameterTypeError, match="a hyperbolic cross has one degree"):
        Cosines((4, 4), "cross")


def test_degrees_must_fit_the_box():
    with pytest.raises(ParameterError, match=r"one per column \(2\), got degree=\(3, 3, 3\)"):
        Cosines((3, 3, 3)).shape(PLANE)


@pytest.mark.parametrize(
    ("basis", "box", "size"),
    [
        (Cosines(40), sf.Box([(0, 1)] * 4), "2,560,000"),
        (Cosines(1024), sf.Box([(0, 1)] * 300), None),
        (Cosines(40, 2), sf.Box([(0, 1)] * 100), "7,532,851"),
        (Cosines(1024, "cross"), sf.Box([(0, 1)] * 40), None),
    ],
)
def test_an_index_set_too_large_says_its_size_and_what_helps(basis, box, size):
    """The set is counted before it is written down: this takes no time and no memory."""
    with pytest.raises(ParameterError, match=r"lower degree, use interactions=2 .*or leave out columns") as error:
        basis.size(box)
    assert f"{size or ''} moments of {box.dimension} columns" in str(error.value)
    assert re.search(r"at most [\d,]+ are allowed", str(error.value))


def test_moments_of_very_many_columns_are_refused_too():
    with pytest.raises(ParameterError, match="720,001 moments of 600 columns"):
        Cosines(3, 2).size(sf.Box([(0, 1)] * 600))


def test_equal_bases_are_equal_and_come_back_from_plain_data():
    for basis in (Cosines(8), Cosines((3, 4)), Cosines(5, 2), Cosines(6, "cross"), Cosines([3, 4])):
        assert basis_from_json(basis.to_json()) == basis
        assert hash(basis_from_json(basis.to_json())) == hash(basis)
        assert pickle.loads(pickle.dumps(basis)) == basis
    assert Cosines(np.array([3, 4])) == Cosines((3, 4)) == Cosines([np.int64(3), 4])
    assert Cosines(3) != Cosines(3, 1)
    with pytest.raises(AttributeError):
        Cosines(3).degree = 4


@pytest.mark.parametrize(
    "data",
    [
        {"name": "cosines", "degree": 3},
        {"name": "cosine", "degree": 3, "interactions": "full"},
        {"name": "cosines", "degree": 3, "interactions": "full", "data": [1]},
        {},
    ],
)
def test_other_plain_data_are_refused(data):
    with pytest.raises(ParameterError, match="not a basis of cosines"):
        basis_from_json(data)


# --- which frequencies ------------------------------------------------------------------------------------------


def wanted(basis, box, frequency):
    """Whether a frequency belongs to the set, by its definition."""
    if basis.interactions == "full":
        return True
    if basis.interactions == "cross":
        kinds = [isinstance(column, sf.Categorical) for column in box.columns]
        return math.prod(1 + (min(r, 1) if flat else r) for r, flat in zip(frequency, kinds, strict=True)) <= (
            basis.degree
        )
    return sum(r > 0 for r in frequency) <= basis.interactions


def test_the_frequencies_are_those_of_the_definition(case):
    basis, box = case
    shape = tuple(
        len(column.categories) if isinstance(column, sf.Categorical) else degree
        for column, degree in zip(box.columns, np.broadcast_to(basis.degree, box.dimension).tolist(), strict=True)
    )
    assert basis.shape(box) == shape
    expected = {r for r in itertools.product(*map(range, shape)) if wanted(basis, box, r)}
    found = basis.index_set(box).frequencies
    assert set(map(tuple, found.tolist())) == expected
    assert len(found) == basis.size(box) == len(expected)
    assert not found[0].any()
    assert not found.flags.writeable


def test_a_set_of_all_interactions_is_full():
    for ways in (2, 3, 10**12):
        found = Cosines(4, ways).index_set(PLANE)
        assert np.array_equal(found.frequencies, Cosines(4).index_set(PLANE).frequencies)
        assert found.apart(REPLACE, "l1") == Cosines(4).index_set(PLANE).apart(REPLACE, "l1")


def test_sizes_of_wide_tables():
    assert Cosines(3, 2).size(sf.Box([(0, 1)] * 100)) == 1 + 200 + 4 * math.comb(100, 2)
    assert Cosines(8, 1).size(sf.Box([(0, 1)] * 1000)) == 7001
    assert Cosines(1).size(PLANE) == 1


def test_hashes_tell_frequencies_apart():
    everything = np.indices((9, 9, 9, 9, 9)).reshape(5, -1).T
    assert len(np.unique(hashed(everything))) == 9**5


# --- how far two records can be apart ---------------------------------------------------------------------------


def angles_of(dimension):
    """Corners, places of least sums, and places at random."""
    generator = np.random.default_rng(4)
    few = np.array(list(itertools.product([0.0, math.pi, 2.0, 1.3], repeat=min(dimension, 4))))
    few = np.pad(few, ((0, 0), (0, dimension - few.shape[1])))
    return np.concatenate([few, generator.uniform(0, math.pi, size=(4000, dimension))])


def test_the_least_value_of_the_kernel_is_a_bound(case):
    basis, box = case
    indices = basis.index_set(box)
    psi = angles_of(box.dimension)
    kernel = np.cos(psi[:, None, :] * indices.frequencies[None]).prod(axis=2).sum(axis=1)
    assert kernel.min() >= indices.kernel_minimum()


@pytest.mark.parametrize("degree", [1, 2, 3, 4, 8, 16, 100])
def test_along_a_line_the_bound_is_attained(degree):
    indices = Cosines(degree).index_set(sf.Box([(0, 1)]))
    psi = np.linspace(0, math.pi, 200_001)
    least = np.min(sum(np.cos(r * psi) for r in range(degree)))
    assert least - 2e-4 * degree <= indices.kernel_minimum() <= least + 1e-12
    assert indices.kernel_minimum() >= -0.2173 * degree  # 1.2173 t in L1


def integer_moments(basis, box, scaled):
    """What records contribute, in whole steps: ``(size, m)``."""
    indices = basis.index_set(box)
    factors = factors_of(indices)
    table = chebyshev_table(scaled, indices.shape)
    left, right = factors.left.rounded(table), factors.right.rounded(table)
    return (left[factors.of_left] * right[factors.of_right]).astype(np.int64)


@pytest.mark.few(12)
@pytest.mark.parametrize("norm", ["linf", "l1", "l2"])
def test_no_two_records_are_further_apart_than_certified(case, norm):
    basis, box = case
    points = np.cos(angles_of(box.dimension)).T
    points[:, ::97] = np.nan
    moments = integer_moments(basis, box, points)[1:]
    order = {"linf": math.inf, "l1": 1, "l2": 2}[norm]
    for shift in (1, 2, 5, 17):
        apart = np.linalg.norm((moments - np.roll(moments, shift, axis=1)).astype(float), order, axis=0)
        assert apart.max() <= basis.index_set(box).apart(REPLACE, norm)


@pytest.mark.parametrize("degree", [2, 3, 8])
def test_full_sets_have_the_distances_that_theory_gives(degree):
    """L1 ``t^(d - 1) (t - min)``, L2 ``sqrt(2 t^d)``; rounding adds less than a thousandth."""
    indices = Cosines(degree).index_set(PLANE)
    psi = np.linspace(0, math.pi, 100_001)
    least = np.min(sum(np.cos(r * psi) for r in range(degree)))
    exact = {"l1": degree * (degree - least), "l2": math.sqrt(2 * degree**2), "linf": 2.0}
    for norm, value in exact.items():
        # Twice the number of released moments is a bound too, and smaller for very few of them.
        plain = {"l1": 2 * (degree**2 - 1), "l2": 2 * math.sqrt(degree**2 - 1), "linf": 2.0}[norm]
        assert indices.apart(REPLACE, norm) / 4**indices.bits == pytest.approx(min(value, plain), rel=1e-3)


def test_one_record_more_or_less(case):
    basis, box = case
    indices = basis.index_set(box)
    steps = 4**indices.bits
    assert indices.apart(ADD, "linf") == math.ceil(steps * (1 + 1e-12))
    assert indices.apart(ADD, "l1") == pytest.approx(indices.size * steps)
    assert indices.apart(ADD, "l2") == pytest.approx(math.sqrt(indices.size) * steps)


@pytest.mark.few(24)
@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
@pytest.mark.parametrize("norm", ["linf", "l1", "l2"])
def test_persons_move_the_sums_as_often_as_they_have_rows(case, norm, neighbours):
    """A person may also have fewer rows than before: then some rows leave, and are counted."""
    basis, box = case
    indices = basis.index_set(box)
    one, five = (sf.Privacy(epsilon=1.0, neighbours=neighbours, unit=sf.Person("id", rows)) for rows in (1, 5))
    single = indices.apart(one, norm)
    assert indices.apart(five, norm) == pytest.approx(5 * single, rel=1e-9)
    row = indices.apart(sf.Privacy(epsilon=1.0, neighbours=neighbours), norm)
    assert single == pytest.approx(max(row, indices.apart(ADD, norm)), rel=1e-9)


# --- what one record contributes --------------------------------------------------------------------------------


def test_the_table_holds_cosines_of_multiples():
    x = np.concatenate([np.cos(np.linspace(0, math.pi, 997)), [1.0, -1.0, 0.0, 1 - 1e-15, 1e-300]])
    table = chebyshev_table(np.stack([x, x[::-1]]), (4, LARGEST_DEGREE))
    for part, values, count in ((table[:4], x, 4), (table[4:], x[::-1], LARGEST_DEGREE)):
        exact = np.cos(np.outer(np.arange(count), np.arccos(values)))
        assert np.abs(part - exact).max() < 2.0**-31
    assert np.abs(table).max() <= 1.0


@pytest.mark.parametrize("shape", [(1,), (2,), (3, 3), (5, 2, 2, 7), (1, 4)])
def test_the_table_is_made_column_after_column(shape):
    x = np.random.default_rng(1).uniform(-1, 1, size=(len(shape), 9))
    table, start = chebyshev_table(x, shape), 0
    for values, count in zip(x, shape, strict=True):
        assert np.array_equal(table[start : start + count], chebyshev_table(values[None], (count,)))
        start += count
    assert start == len(table)


def test_a_missing_value_has_only_the_moments_that_leave_its_column_out(case):
    basis, box = case
    indices = basis.index_set(box)
    points = np.full((box.dimension, 1), 0.3)
    points[-1] = np.nan
    found = integer_moments(basis, box, points)[:, 0]
    whole = integer_moments(basis, box, np.full((box.dimension, 1), 0.3))[:, 0]
    assert np.array_equal(found, np.where(indices.frequencies[:, -1] > 0, 0, whole))


def test_contributions_are_rounded_products(case):
    basis, box = case
    indices = basis.index_set(box)
    x = np.random.default_rng(6).uniform(-1, 1, size=(box.dimension, 50))
    x[:, 0], x[:, 1] = 1.0, -1.0
    found = integer_moments(basis, box, x) / 4.0**indices.bits
    exact = np.cos(indices.frequencies[:, :, None] * np.arccos(x)[None]).prod(axis=1)
    assert np.abs(found - exact).max() <= 2.0**-indices.bits + box.dimension * 2.0**-31
    assert np.abs(found).max() <= 1.0
    assert (found[0] == 1).all()


def test_a_contribution_depends_on_its_record_alone_bit_by_bit(case):
    basis, box = case
    x = np.random.default_rng(7).uniform(-1, 1, size=(box.dimension, 301))
    x[0, ::13] = np.nan
    whole = integer_moments(basis, box, x)
    order = np.random.default_rng(8).permutation(301)
    assert np.array_equal(integer_moments(basis, box, x[:, order]), whole[:, order])
    for start, stop in ((0, 1), (5, 6), (17, 150), (300, 301)):
        assert np.array_equal(integer_moments(basis, box, x[:, start:stop]), whole[:, start:stop])


def test_pairs_of_columns_share_one_factor():
    factors = factors_of(Cosines(4, 2).index_set(sf.Box([(0, 1)] * 9)))
    assert factors.left is factors.right
    assert factors.left.count == 1 + 9 * 3


def test_many_moments_have_fewer_bits():
    small, large = (Cosines(t).index_set(PLANE) for t in (128, 129))
    assert (small.size, small.bits, large.bits) == (2**14, 16, 12)
