"""Edges of a histogram's cells: those of the caller, and those between whole numbers."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.bases.statistics.edges import edges_within, given_edges, whole_edges
from sfumato.bases.statistics.sums import Tally
from sfumato.errors import ParameterError

AGES = sf.Box({"age": sf.Integer(0, 9)})


def test_cells_of_whole_numbers_are_named_by_them():
    each = Tally("histogram", (10,), False, (whole_edges(AGES.columns[0], None, 200),))
    assert each.labels(AGES) == [[str(k) for k in range(10)]]
    three = Tally("histogram", (3,), False, (whole_edges(AGES.columns[0], 3, 200),))
    assert three.labels(AGES) == [["0 to 2", "3 to 5", "6 to 9"]]
    assert three.sides(AGES, 0).tolist() == [-0.5, 2.5, 5.5, 9.5]
    assert Tally("histogram", (2,), False).labels(AGES) == [["0 to 4.5", "4.5 to 9"]]  # files of older versions


def test_edges_come_back_from_plain_data():
    told = Tally("histogram", (3, 2), True, ((0.0, 1.0, 4.0, 9.0), None))
    assert told.to_json()["edges"] == [[0.0, 1.0, 4.0, 9.0], None]
    assert "edges" not in Tally("histogram", (3,), True).to_json()


@pytest.mark.parametrize(
    ("column", "given", "found"),
    [
        (sf.Box({"x": (0, 10)}).columns[0], [2.5, 7], (0, 2.5, 7, 10)),
        (sf.Box({"x": (0, 10)}).columns[0], [0, 5, 10], (0, 5, 10)),
        (AGES.columns[0], [3, 5], (-0.5, 2.5, 4.5, 9.5)),
        (AGES.columns[0], [0, 2.2, 2.9], (-0.5, 2.5, 9.5)),
        (sf.Periodic(0, 7, whole=True), [2, 5], (-0.5, 1.5, 4.5, 6.5)),
        (sf.Periodic(0, 7, whole=True), [2, 6.2, 6.7], (-0.5, 1.5, 6.5)),  # 7 is 0
    ],
)
def test_edges_lie_within_the_bounds_and_between_whole_numbers(column, given, found):
    assert edges_within(column, "x", given) == found


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([], "edges must be numbers within"),
        (3, "edges must be numbers within"),
        ([3, 3], "edges must ascend within"),
        ([5, 4], "edges must ascend within"),
        ([-1, 4], "edges must ascend within"),
        ([4, 99], "edges must ascend within"),
        (["a"], "edges must be a number"),
        ([float("nan")], "edges must be finite"),
    ],
)
def test_edges_that_cannot_be(given, words):
    with pytest.raises(ParameterError, match=words):
        edges_within(AGES.columns[0], "age", given)


def test_edges_belong_to_numeric_columns():
    assert given_edges(None, ["a"]) == {}
    assert given_edges([1, 2], ["a"]) == {"a": [1, 2]}
    for edges, words in (([1], "must say of which column"), ({"b": [1]}, "must be of numeric columns")):
        with pytest.raises(ParameterError, match=words):
            given_edges(edges, ["a", "c"])
    with pytest.raises(ParameterError, match="bins must be at most the column's 10 whole numbers, got 11"):
        whole_edges(AGES.columns[0], 11, 200)


def test_whole_numbers_round_a_circle_have_a_cell_each():
    hours = whole_edges(sf.Periodic(0, 24, whole=True), None, 200)
    assert hours == tuple(np.arange(25) - 0.5) and Tally("histogram", (24,), False, (hours,)).labels(
        sf.Box({"hour": sf.Periodic(0, 24, whole=True)})
    ) == [[str(hour) for hour in range(24)]]
