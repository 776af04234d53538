"""Walsh coefficients: a table, transformed, and back."""

from itertools import combinations, product

import numpy as np
import pytest

import sfumato as sf
from sfumato.bases.tables.walsh import LARGEST_SIZE, Walsh
from sfumato.errors import ParameterError

BINARY = sf.Box({name: sf.Categorical([0, 1]) for name in "abc"})
MIXED = sf.Box({"a": sf.Categorical([0, 1]), "b": sf.Categorical(["u", "v", "w"]),
                "c": sf.Categorical([1, 2, 3, 4, 5])})  # fmt: skip


def sample(box, count=400):
    generator = np.random.default_rng(5)
    sizes = [len(column.categories) for column in box.columns]
    return np.stack([generator.integers(0, size, count) for size in sizes], axis=1)


def coefficients(walsh, codes):
    """The exact mean sign of every coefficient, one question after the other."""
    return np.array([1 - 2 * walsh.parities(codes, np.full(len(codes), i)).mean() for i in range(walsh.size)])


def table_of(box, codes, columns):
    shape = [len(box.columns[j].categories) for j in columns]
    table = np.zeros(shape)
    np.add.at(table, tuple(codes[:, j] for j in columns), 1 / len(codes))
    return table


def test_sizes():
    assert Walsh(BINARY, 1).counts == (3,)
    assert Walsh(BINARY, 2).counts == (3, 3)
    assert Walsh(BINARY, 3).counts == (3, 3, 1)
    assert Walsh(MIXED, 1).bits == (1, 2, 3)
    assert Walsh(MIXED, 2).counts == (1 + 3 + 7, 3 + 7 + 21)
    assert Walsh(MIXED, 3).size == 2 * 4 * 8 - 1


@pytest.mark.parametrize("box", [BINARY, MIXED])
@pytest.mark.parametrize("ways", [1, 2, 3])
def test_terms_are_all_combinations_each_once(box, ways):
    walsh = Walsh(box, ways)
    columns, masks = walsh.terms
    assert columns.shape == masks.shape == (walsh.size, ways)
    used = [
        tuple((c, m) for c, m in zip(*row, strict=True) if m)
        for row in zip(columns.tolist(), masks.tolist(), strict=True)
    ]
    assert len(set(used)) == len(used)
    expected = {
        tuple(zip(chosen, own, strict=True))
        for order in range(1, ways + 1)
        for chosen in combinations(range(3), order)
        for own in product(*(range(1, 2 ** walsh.bits[j]) for j in chosen))
    }
    assert set(used) == expected
    assert walsh.orders.tolist() == [len(row) for row in used]


@pytest.mark.parametrize(("box", "ways"), [(BINARY, 1), (BINARY, 2), (BINARY, 3), (MIXED, 2), (MIXED, 3)])
def test_tables_come_back_exactly(box, ways):
    walsh, codes = Walsh(box, ways), sample(box)
    values = coefficients(walsh, codes)
    for order in range(1, ways + 1):
        for columns in combinations(range(3), order):
            assert walsh.table(columns, values) == pytest.approx(table_of(box, codes, columns), abs=1e-12)


def test_a_coefficient_of_independent_columns_is_a_product():
    walsh = Walsh(BINARY, 2)
    codes = np.array(list(product([0, 1], repeat=3)))
    codes = codes[np.repeat(np.arange(8), [1 if row[0] else 3 for row in codes])]  # a is one in a quarter, alone
    values = coefficients(walsh, codes)
    assert values[:3] == pytest.approx([0.5, 0.0, 0.0])
    assert walsh.table([0, 1], values) == pytest.approx(np.outer([0.75, 0.25], [0.5, 0.5]))


def test_parities_are_of_chosen_bits():
    walsh = Walsh(sf.Box({"c": sf.Categorical([0, 1, 2, 3])}), 1)
    codes = np.array([[0], [1], [2], [3]])
    assert walsh.terms[1].ravel().tolist() == [1, 2, 3]
    signs = [walsh.parities(codes, np.full(4, i)).tolist() for i in range(3)]
    assert signs == [[0, 1, 0, 1], [0, 0, 1, 1], [0, 1, 1, 0]]


def test_joint_is_whether_all_are_one():
    walsh, codes = Walsh(BINARY, 3), np.array(list(product([0, 1], repeat=3)))
    columns, masks = walsh.terms
    for i in range(walsh.size):
        own = columns[i][masks[i] > 0]
        expected = codes[:, own].all(axis=1)
        assert walsh.joint(codes, np.full(8, i)).astype(bool).tolist() == expected.tolist()


def test_each_person_may_be_asked_something_else():
    walsh, codes = Walsh(MIXED, 2), sample(MIXED, 60)
    asked = np.arange(60) % walsh.size
    one_by_one = [int(walsh.parities(codes[i : i + 1], asked[i : i + 1])[0]) for i in range(60)]
    assert walsh.parities(codes, asked).tolist() == one_by_one


def test_the_tensor_begins_with_one():
    walsh = Walsh(MIXED, 2)
    tensor = walsh.tensor([0, 1], np.arange(2.0, 2.0 + walsh.size))
    assert tensor.shape == (2, 4)
    assert tensor[0, 0] == 1.0
    assert tensor[1, 0] == 2.0
    assert tensor[0, 1:].tolist() == [3.0, 4.0, 5.0]


def test_numeric_columns_are_refused():
    with pytest.raises(ParameterError, match=r"column 'age' is numeric: .*declare its categories"):
        Walsh(sf.Box({"a": sf.Categorical([0, 1]), "age": (0, 110)}), 1)


@pytest.mark.parametrize("ways", [0, -1, 4])
def test_ways_are_between_one_and_the_number_of_columns(ways):
    with pytest.raises(ParameterError, match=r"ways must lie in \[1, 3\]"):
        Walsh(BINARY, ways)


def test_too_many_coefficients_are_refused_before_any_is_written_down():
    box = sf.Box({f"c{i}": sf.Categorical([0, 1]) for i in range(300)})
    with pytest.raises(ParameterError, match="lower ways") as error:
        Walsh(box, 4)
    assert f"{LARGEST_SIZE:,}" in str(error.value)
