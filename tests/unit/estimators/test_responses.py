"""y as a list, an array or a series, of text or numbers: what raises, and what only counts for nothing."""

from __future__ import annotations

import math
import sys
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import DataConversionWarning

from sfumato.core.box import Box, Categorical, Interval
from sfumato.errors import SchemaError
from sfumato.estimators.responses import read_response, response_name
from sfumato.values import readable

TEXT = Categorical(("no", "yes"))
NUMBERS = Categorical((0, 1))
RANGE = Interval(0.0, 10.0)

ANSWERS = ["yes", "no", "no"]


class Exits(list):
    """A list that ends the process when it is asked for anything."""

    __len__ = __getitem__ = lambda *_: sys.exit("a private value")


class Answer(str):
    """A text that ends the process when it is compared."""

    __slots__ = ()
    __eq__ = __hash__ = lambda *_: sys.exit("a private value")


def test_a_response_that_exits_changes_no_other():
    """Once it ended the process."""
    assert read_response([["yes"], Exits(["no"]), Answer("no")], TEXT, 3).tolist()[::2] == ["yes", "no"]
    assert read_response([[1], Exits([0]), 0], NUMBERS, 3).tolist()[::2] == [1.0, 0.0]


TEXTS = {
    "list": ANSWERS,
    "tuple": tuple(ANSWERS),
    "array": np.array(ANSWERS),
    "objects": np.array(ANSWERS, dtype=object),
    "numpy text": np.array(ANSWERS, dtype=np.dtypes.StringDType()),
    "pandas": pd.Series(ANSWERS),
    "pandas objects": pd.Series(ANSWERS, dtype=object),
    "pandas categories": pd.Series(ANSWERS, dtype="category"),
    "polars": pl.Series(ANSWERS),
    "polars categories": pl.Series(ANSWERS, dtype=pl.Categorical),
    "pyarrow": pa.chunked_array([ANSWERS]),
    "pyarrow array": pa.array(ANSWERS),
    "index": pd.Index(ANSWERS),
}
FLAGS = [1, 0, 0]
FIGURES = {
    "list": FLAGS,
    "flags": [True, False, False],
    "numpy flags": list(np.array([True, False, False])),
    "array": np.array(FLAGS),
    "small": np.array(FLAGS, dtype=np.uint8),
    "objects": np.array(FLAGS, dtype=object),
    "fractions": [Fraction(1), Fraction(0), Fraction(0)],
    "pandas": pd.Series(FLAGS),
    "pandas nullable": pd.Series(FLAGS, dtype="Int64"),
    "pandas flags": pd.Series([True, False, False]),
    "polars": pl.Series(FLAGS),
    "pyarrow": pa.chunked_array([FLAGS]),
}


@pytest.mark.parametrize("y", TEXTS.values(), ids=TEXTS)
def test_text(y):
    found = read_response(y, TEXT, 3)
    assert found.dtype.kind == "U"
    assert found.tolist() == ANSWERS


@pytest.mark.parametrize("y", FIGURES.values(), ids=FIGURES)
@pytest.mark.parametrize("column", [NUMBERS, RANGE], ids=["classes", "range"])
def test_numbers(y, column):
    found = read_response(y, column, 3)
    assert found.dtype.kind in "iufb"
    assert found.astype(float).tolist() == [1.0, 0.0, 0.0]


@pytest.mark.parametrize(
    "y",
    [
        ["yes", "secret", None, 1, math.nan, b"no", ["no", "no"], {"no"}],
        np.array(["yes", "secret", "\ud800", "yes\ud800", "", "YES", "no ", "yesno"]),
        pd.Series(["yes", "secret", None, 1, math.nan, b"no", ["no"], {1: 2}], dtype=object),
        pl.Series(["yes", "secret", None, "", "YES", "no ", "yesno?", "yesno"]),
    ],
    ids=["list", "array", "pandas", "polars"],
)
def test_undeclared_text_is_none_of_the_classes(y):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = read_response(y, TEXT, 8)
    assert found[0] == "yes"
    assert not set(found[1:]) & {"yes", "no"}


def test_what_is_no_number_is_missing():
    y = [1, "secret", None, math.nan, 10**400, -(10**400), 1j, [1, 2], Decimal("sNaN"), Decimal("0.5"), [1]]
    most = sys.float_info.max
    expected = [1, np.nan, np.nan, np.nan, most, -most, np.nan, np.nan, np.nan, 0.5, 1]
    for given in (y, tuple(y), readable(y)):
        found = read_response(given, RANGE, len(y))
        assert np.array_equal(found[:10], expected[:10], equal_nan=True)
    assert np.array_equal(read_response(y, RANGE, len(y)), expected, equal_nan=True)
    assert np.isnan(read_response(pd.Series([1, None], dtype="Int64"), RANGE, 2)[1])


@pytest.mark.parametrize(
    ("y", "column", "words"),
    [
        (np.array([0, 1]), TEXT, "must hold text.*int64"),
        (np.array(["a", "b"]), NUMBERS, "must hold numbers.*dtype text"),
        (np.array(["a", "b"]), RANGE, "must hold numbers"),
        (np.array([b"a", b"b"]), TEXT, "must hold text"),
        (np.array([1j, 2j]), NUMBERS, "Complex data not supported"),
        (np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]"), NUMBERS, "must hold numbers"),
        (pd.Series([0, 1]), TEXT, "must hold text"),
        (pd.Series(["a", "b"]), NUMBERS, "must hold numbers"),
        (pl.Series(["a", "b"]), RANGE, "must be numeric"),
        (np.zeros((2, 2)), NUMBERS, "1d array"),
        (np.zeros(()), NUMBERS, "1d array"),
        ({"a": 0, "b": 1}, NUMBERS, "1d array"),
        ("yes", TEXT, "1d array"),
        (pd.DataFrame({"a": [0, 1], "b": [0, 1]}), NUMBERS, "1d array"),
        (np.zeros(3), NUMBERS, "inconsistent numbers of samples"),
        (pd.Series([0.0]), RANGE, "inconsistent numbers of samples"),
        (None, RANGE, "requires y to be passed, but the target y is None"),
    ],
    ids=str,
)
def test_the_schema_raises(y, column, words):
    with pytest.raises(SchemaError, match=words):
        read_response(y, column, 2)


@pytest.mark.parametrize("y", [np.array([[1], [0]]), pd.DataFrame({"a": [1, 0]}), pl.DataFrame({"a": [1, 0]})], ids=str)
def test_one_column_is_taken_with_a_warning(y):
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed when a 1d array was expected"):
        found = read_response(y, NUMBERS, 2)
    assert found.astype(float).tolist() == [1.0, 0.0]


def test_text_that_cannot_be_decoded_is_none_of_the_classes():
    offsets, letters = pa.py_buffer(np.array([0, 1, 3], dtype=np.int32).tobytes()), pa.py_buffer(b"\xffno")
    broken = pa.Array.from_buffers(pa.string(), 2, [None, offsets, letters])
    for y in (broken, pa.chunked_array([broken])):
        found = read_response(y, TEXT, 2)
        assert found[0] not in ("no", "yes")
        assert found[1] == "no"


def test_lists_of_one_are_their_value_and_nothing_is_said():
    """A warning would tell what the entries are."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_response([[1], (0,), 1], NUMBERS, 3).tolist() == [1.0, 0.0, 1.0]


class Faceless:
    @property
    def __class__(self):
        raise RuntimeError("a private value")


class Rude(list):
    def __len__(self):
        raise RuntimeError("a private value")


@pytest.mark.parametrize("made", [Faceless, lambda: Rude([1])], ids=["without a class", "without a length"])
def test_an_entry_that_raises_whatever_it_is_asked_is_missing(made):
    found = read_response([0, made(), 1], NUMBERS, 3)
    assert found[[0, 2]].tolist() == [0.0, 1.0]
    assert math.isnan(found[1])


@pytest.mark.parametrize("empty", [[], np.zeros(0), pd.Series([], dtype=float), pl.Series([], dtype=pl.Float64)])
def test_no_rows(empty):
    assert read_response(empty, RANGE, 0).shape == (0,)
    assert read_response(pd.Series([], dtype=object), TEXT, 0).shape == (0,)


def test_names():
    box = Box({"age": (0, 1), "y": (0, 1)})
    assert response_name(pd.Series([1], name="ill"), box) == "ill"
    assert response_name(pd.Series([1], name="age"), box) == "age_"
    assert response_name(pd.Series([1], name=3), box) == "y_"
    assert response_name(pl.Series([1]), Box([(0, 1)])) == "y"
    assert response_name([1], Box([(0, 1)])) == "y"
