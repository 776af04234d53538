"""What a learner predicts: declared classes or a declared range, and the way between them and its functions."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import ParameterError, ParameterTypeError
from sfumato.releases.machine.response import Response, response_from_json

RESPONSES = [
    Response("ill", classes=("no", "yes")),
    Response("grade", classes=[3, 1, 2]),
    Response("score", classes=np.array([0.5, 1.5])),
    Response("flag", classes=[False, True]),
    Response("bp", range=(60, 220)),
    Response("t", range=[-1e9, 1e-9]),
]


# --- making one -------------------------------------------------------------------------------------------------


def test_classes_become_a_tuple_of_plain_values():
    found = Response("y", classes=np.array([1, 2], dtype=np.int8))
    assert found.classes == (1, 2)
    assert [type(c) for c in found.classes] == [int, int]
    assert Response("y", classes=[np.str_("a"), "b"]).classes == ("a", "b")
    assert found.column == sf.Categorical((1, 2))


def test_ranges_become_doubles():
    found = Response("y", range=np.array([0, 1]))
    assert found.range == (0.0, 1.0)
    assert (found.column.low, found.column.high) == (0.0, 1.0)


@pytest.mark.parametrize("options", [{}, {"classes": [0, 1], "range": (0, 1)}])
def test_one_of_them_must_be_declared(options):
    with pytest.raises(ParameterError, match=r"declare what the response can be: classes=\[...\]"):
        Response("y", **options)


@pytest.mark.parametrize("name", ["", None, 3, ("y",)])
def test_a_response_has_a_name(name):
    with pytest.raises(ParameterTypeError, match="response must be the name of a column, got response="):
        Response(name, classes=[0, 1])


@pytest.mark.parametrize("classes", ["ab", 3, {0, 1}, {"a": 1}])
def test_classes_must_be_a_list(classes):
    with pytest.raises(ParameterTypeError, match="classes must be a list, got classes="):
        Response("y", classes=classes)


@pytest.mark.parametrize("classes", [[], [1], [1, 1], [1, 1.0], [0, False], ["a", "a"], ["a", 1], [1, None]])
def test_classes_must_be_different_and_alike(classes):
    with pytest.raises(ParameterError, match=r"different|all text or all numbers"):
        Response("y", classes=classes)


@pytest.mark.parametrize("classes", [[math.nan, 1.0], [0.0, math.inf], [2**53 + 1, 0]])
def test_classes_that_no_double_is_are_refused(classes):
    with pytest.raises(ParameterError, match=r"a class must be|all numbers below 1e99"):
        Response("y", classes=classes)


@pytest.mark.parametrize("pair", ["01", 3, (1,), (0, 1, 2), {0, 1}])
def test_a_range_is_a_pair(pair):
    with pytest.raises(ParameterTypeError, match=r"range must be a pair \(low, high\), got range="):
        Response("y", range=pair)


@pytest.mark.parametrize("pair", [(1, 0), (0, 0), (0, math.inf), (math.nan, 1)])
def test_a_range_has_an_inside(pair):
    with pytest.raises(ParameterError, match=r"low|high"):
        Response("y", range=pair)


# --- functions and what they mean -------------------------------------------------------------------------------


def test_two_classes_take_one_function_and_more_take_one_each():
    assert [r.outputs for r in RESPONSES] == [1, 3, 1, 1, 1, 1]


def test_the_sign_is_the_class():
    found = RESPONSES[0].labels(np.array([[-0.1], [0.1], [0.0], [-0.0], [1e-300]]))
    assert found.tolist() == ["no", "yes", "no", "no", "yes"]


def test_the_largest_function_is_the_class():
    assert RESPONSES[1].labels(np.array([[0.1, 0.2, 0.3], [-1, -2, -3], [5, 5, 5]])).tolist() == [2, 3, 3]


def test_labels_keep_their_type():
    assert RESPONSES[3].labels(np.array([[1.0], [-1.0]])).tolist() == [True, False]
    assert RESPONSES[2].labels(np.array([[1.0]])).dtype == np.float64


def test_ranges_map_to_one_and_back():
    found = RESPONSES[4]
    assert found.from_range(np.array([60.0, 140.0, 220.0])).tolist() == [-1.0, 0.0, 1.0]
    assert found.to_range(np.array([-1.0, 0.0, 1.0])).tolist() == [60.0, 140.0, 220.0]
    assert found.from_range(np.array([-1e300, math.inf, 300.0])).tolist() == [-1.0, 1.0, 1.0]
    assert np.isnan(found.from_range(np.array([math.nan]))).all()


@given(st.floats(-1e300, 1e300), st.floats(1e-6, 1e300), st.floats(allow_nan=False))
def test_any_number_lands_in_the_range(low, width, value):
    if not low < low + width:
        return
    found = Response("y", range=(low, low + width))
    unit = found.from_range(np.array([value]))
    assert abs(unit[0]) <= 1 + 1e-9
    assert low - 1e-9 * (abs(low) + width) <= found.to_range(unit)[0] <= low + width + 1e-9 * (abs(low) + width)


# --- files ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("response", RESPONSES, ids=lambda r: r.name)
def test_plain_data_and_back(response):
    again = response_from_json(json.loads(json.dumps(response.to_json())))
    assert again == response
    assert [type(c) for c in again.classes or ()] == [type(c) for c in response.classes or ()]


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"name": "y", "classes": [0, 1]},
        {"name": "y", "classes": [0, 1], "range": None, "more": 1},
        {"name": "y", "classes": None, "range": None},
        {"name": "y", "classes": [0, 1], "range": [0, 1]},
        {"name": 3, "classes": [0, 1], "range": None},
        {"name": "y", "classes": [0, 0], "range": None},
        {"name": "y", "classes": None, "range": [1, 0]},
        {"name": "y", "classes": None, "range": ["0", "1"]},
        {"name": "y", "classes": None, "range": [0, 1, 2]},
    ],
)
def test_damaged_data_are_refused(data):
    with pytest.raises(ParameterError):
        response_from_json(data)
