import itertools
import math

import numpy as np
import pytest

import sfumato as sf
from sfumato.bases.machine.coordinates import coded, corners, decoded, reach_of, read_records, scaled, spread, terms_of
from sfumato.errors import OutsideBoxError, ParameterError

WARD = sf.Categorical(["north", "south", "east"])
SEX = sf.Categorical(["F", "M"])
MIXED = sf.Box({"age": (0, 110), "ward": WARD, "sex": SEX, "visits": sf.Integer(0, 9)})


@pytest.mark.parametrize("count", [2, 3, 7, 40])
def test_corners_are_one_width_apart_around_the_origin(count):
    found = corners(count)
    apart = np.linalg.norm(found[:, None] - found[None], axis=2)
    assert found.shape == (count, count - 1)
    assert np.allclose(apart[~np.eye(count, dtype=bool)], 1) and np.allclose(found.sum(axis=0), 0)
    assert np.allclose(np.linalg.norm(found, axis=1), math.sqrt((count - 1) / (2 * count)))


@pytest.mark.parametrize(
    "box", [MIXED, sf.Box({"sex": SEX}), sf.Box({"a": (-3, 5), "b": (0, 1)}), sf.Box({"ward": WARD, "sex": SEX})]
)
def test_the_reach_is_attained_and_not_exceeded(box):
    ends = [range(int(c.high) + 1) if c.kind == "integer" else (c.low, c.high) for c in coded(box).columns]
    norms = np.linalg.norm(scaled(box, np.array(list(itertools.product(*ends)), dtype=float)), axis=1)
    assert norms.max() == pytest.approx(reach_of(box), rel=1e-14)


def test_two_categories_are_a_number_at_the_ends_of_its_bounds():
    records = np.array([[30.0, 0.0], [90.0, 1.0]])
    numbers = sf.Box({"age": (0, 110), "sex": (0, 1)})
    categories = sf.Box({"age": (0, 110), "sex": SEX})
    assert np.array_equal(scaled(numbers, records), scaled(categories, records))
    assert reach_of(numbers) == reach_of(categories)


def test_a_box_of_numbers_is_its_own():
    box = sf.Box({"a": (0, 1)})
    coded(sf.Box({"a": (0, 1)}))  # an equal one
    assert coded(box) is box and decoded(box, np.zeros((1, 1))).shape == (1, 1)


@pytest.mark.parametrize(
    "points",
    [
        [[40, "south", "M", 3], [50, "north", "F", 0]],
        {"sex": ["M", "F"], "age": [40, 50], "ward": ["south", "north"], "visits": [3, 0]},
    ],
)
def test_points_are_read_and_said_again(points):
    found = read_records(MIXED, points, "refuse")
    assert found.tolist() == [[40, 1, 1, 3], [50, 0, 0, 0]]
    assert read_records(MIXED, decoded(MIXED, found), "refuse").tolist() == found.tolist()


@pytest.mark.parametrize("outside", ["refuse", "clip"])
def test_a_category_that_was_not_declared_is_refused(outside):
    with pytest.raises(
        OutsideBoxError, match=r"'ward' must be one of \['north', 'south', 'east'\], got 'west' in 1 of 2"
    ):
        read_records(MIXED, [[40, "south", "M", 3], [50, "west", "F", 0]], outside)
    with pytest.raises(ParameterError, match="columns"):
        read_records(MIXED, {"age": [3]}, outside)
    assert read_records(MIXED, [[400, "south", "M", 3]], "clip")[0, 0] == 110


def test_a_refusal_speaks_of_columns_of_numbers_and_not_of_places_in_lists():
    with pytest.raises(OutsideBoxError) as refused:
        read_records(MIXED, [[400, "south", "M", 3]], "refuse")
    assert "'visits': Integer(0.0, 9.0)}), the first is [400.0, 3.0]" in str(refused.value)
    assert "ward" not in str(refused.value)


@pytest.mark.parametrize("count", [30, 200])
@pytest.mark.parametrize("box", [MIXED, sf.Box({"ward": WARD, "sex": SEX}), sf.Box({"x": (0, 1), "ward": WARD})])
def test_points_are_spread_over_all_categories(box, count):
    found = spread(box, count)
    assert np.array_equal(coded(box).clean(found), found) and len(found) <= 2 * count
    for place, column in enumerate(box.columns):
        if isinstance(column, sf.Categorical):
            shares = np.bincount(found[:, place].astype(int), minlength=len(column.categories)) / len(found)
            assert np.allclose(shares, 1 / len(column.categories), atol=0.1)


def test_terms_have_a_row_for_each_category():
    names, matrix = terms_of(MIXED)
    assert names == ("age", "ward = north", "ward = south", "ward = east", "sex = F", "sex = M", "visits")
    assert matrix.shape == (7, 5) and np.allclose(matrix.sum(axis=0)[1:4], 0) and matrix[0, 0] == matrix[-1, -1] == 1
