"""Public points: read from arrays and tables, refused or clipped outside the box, to the unit cube and back."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sfumato.bases.unit import from_unit, read_points, to_unit
from sfumato.core.box import Box, Periodic
from sfumato.errors import OutsideBoxError, ParameterError, ParameterTypeError


def test_bounds_map_to_zero_and_one_exactly():
    box = Box([(0.1, 0.7), (-3, 1e9)])
    assert to_unit(box, [[0.1, -3], [0.7, 1e9]]).tolist() == [[0.0, 0.0], [1.0, 1.0]]
    assert from_unit(box, np.array([[0.0, 0.0], [1.0, 1.0]])).tolist() == [[0.1, -3.0], [0.7, 1e9]]


def test_unit_and_back_is_the_identity():
    box = Box([(-3, 7), (100, 101)])
    points = np.array([[0.0, 100.25], [-2.5, 100.875]])
    assert from_unit(box, to_unit(box, points)) == pytest.approx(points, abs=1e-12)


@pytest.mark.parametrize("points", [[0.5], 0.5, np.array([0.5]), [[0.5]], (0.5,)])
def test_one_column_takes_flat_points(points):
    assert to_unit(Box([(0, 1)]), points).tolist() == [[0.5]]


@pytest.mark.parametrize("points", [[0.5, 0.5], [[0.5]], [[0.1, 0.2, 0.3]], np.zeros((1, 2, 2)), 0.5])
def test_points_of_the_wrong_shape_are_refused(points):
    with pytest.raises(ParameterError, match=r"shape \(m, 2\)"):
        to_unit(Box([(0, 1), (0, 1)]), points)


@pytest.mark.parametrize("bad", [-0.001, 1.001, math.inf, -math.inf])
def test_points_outside_are_refused_and_shown(bad):
    with pytest.raises(OutsideBoxError, match="outside='clip'") as error:
        to_unit(Box({"age": (0, 1)}), [0.5, bad, bad])
    assert "2 of 3" in str(error.value)
    assert repr(bad) in str(error.value)


@pytest.mark.parametrize(("bad", "edge"), [(-0.001, 0.0), (1.001, 1.0), (math.inf, 1.0), (-math.inf, 0.0)])
def test_points_outside_may_be_clipped(bad, edge):
    assert to_unit(Box([(0, 1)]), [bad], "clip").tolist() == [[edge]]


@pytest.mark.parametrize("outside", ["refuse", "clip"])
def test_points_must_be_numbers(outside):
    with pytest.raises(OutsideBoxError, match="NaN"):
        to_unit(Box([(0, 1)]), [math.nan], outside)


@pytest.mark.parametrize("outside", ["wrap", None, 3])
def test_outside_must_be_a_known_word(outside):
    with pytest.raises(ParameterError, match="outside"):
        to_unit(Box([(0, 1)]), [0.5], outside)


def test_no_points_are_fine():
    assert to_unit(Box([(0, 1), (0, 1)]), np.zeros((0, 2))).shape == (0, 2)
    assert to_unit(Box([(0, 1)]), []).shape == (0, 1)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_a_table_of_points_is_read_by_name(make):
    box = Box({"age": (0, 110), "bmi": (10, 60)})
    points = make({"name": ["a", "b"], "bmi": [20, 30], "age": [1.5, 2.0]})
    assert read_points(box, points).tolist() == [[1.5, 20.0], [2.0, 30.0]]


def test_a_table_without_a_column_of_the_box_is_refused():
    with pytest.raises(ParameterError, match="no column 'bmi'"):
        read_points(Box({"age": (0, 110), "bmi": (10, 60)}), pd.DataFrame({"age": [1.0], "weight": [70.0]}))


@pytest.mark.parametrize("points", [[["a", "b"]], [[None, {}]], object()])
def test_points_that_are_no_numbers_are_refused(points):
    with pytest.raises(ParameterTypeError, match="points must be numbers"):
        read_points(Box([(0, 1), (0, 1)]), points)


def test_points_stay_in_their_units():
    box = Box([(-3, 7), (100, 101)])
    assert read_points(box, [[-3, 101], [7, 100]]).tolist() == [[-3.0, 101.0], [7.0, 100.0]]
    assert read_points(box, [[-9, 200]], "clip").tolist() == [[-3.0, 101.0]]


def test_a_gap_is_no_number_in_a_dictionary_either():
    """numpy reads it as the last entry."""
    points = pa.table({"a": pa.array([1, 2, None]).dictionary_encode(), "b": [1, 2, 3]})
    with pytest.raises(OutsideBoxError, match="got NaN"):
        read_points(Box({"a": (0, 9), "b": (0, 9)}), points)
    assert read_points(Box({"a": (0, 9), "b": (0, 9)}), points[:2]).tolist() == [[1.0, 1.0], [2.0, 2.0]]


def test_on_a_circle_points_outside_go_round():
    box = Box([Periodic(0, 24), (0, 1)])
    assert read_points(box, [[25.0, 2.0], [24.0, 0.5], [-1.0, -3.0]], "clip").tolist() == [
        [1.0, 1.0],
        [24.0, 0.5],
        [23.0, 0.0],
    ]
