"""X in lists and arrays of objects: each value is read alone, and the number of columns is never a record's word."""

from __future__ import annotations

import math
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.errors import ParameterError, SchemaError
from sfumato.estimators import (
    PrivateKernelClassifier,
    PrivateKernelDensity,
    PrivateKernelRegressor,
    PrivateKernelSmoother,
    PrivateLogisticRegression,
    PrivateNaiveBayes,
    PrivateRidge,
)
from sfumato.estimators.inputs import declared_width, public_box, read_features

BOUNDS = {"age": (0, 100), "bmi": (10, 50)}
CLASSES = {"classes": ("no", "yes")}
NUMBERS = {"response_range": (0, 1)}
MODELS = {
    "density": lambda **o: PrivateKernelDensity(5.0, **o),
    "kernel": lambda **o: PrivateKernelClassifier(**CLASSES, landmarks=8, **o),
    "logistic": lambda **o: PrivateLogisticRegression(**CLASSES, **o),
    "bayes": lambda **o: PrivateNaiveBayes(**CLASSES, **o),
    "regressor": lambda **o: PrivateKernelRegressor(**NUMBERS, landmarks=8, **o),
    "ridge": lambda **o: PrivateRidge(**NUMBERS, **o),
    "smoother": lambda **o: PrivateKernelSmoother(5.0, **NUMBERS, **o),
}
HOSTILE = [
    [None, 30.0], ["secret", 30.0], [2**70, -(10**400)], [Decimal("sNaN"), 1j], [math.nan, math.inf], ["\ud800", b""],
    [[1], {}], [object(), pd.NA], [30.0], [30.0, 30.0, 30.0], [], None, "ab", 7, {1: 2}, np.zeros((2, 2)), (30.0, None),
]  # fmt: skip
LABELS = {
    True: ["no", "yes", "secret", None, 3, "\ud800", ["no"], b"no"],
    False: [0, 1.0, None, "secret", 2**70, 1j, True],
}
EACH = pytest.mark.parametrize("kind", MODELS)


def labels(kind, count):
    pool = LABELS["classes" in MODELS[kind](bounds=BOUNDS).get_params()]
    return [pool[i % len(pool)] for i in range(count)]


def fit(kind, rows, y=None, **options):
    model = MODELS[kind](bounds=BOUNDS, **options)
    return model.fit(rows) if kind == "density" else model.fit(rows, labels(kind, len(rows)) if y is None else y)


@pytest.mark.few(1)
@EACH
def test_no_row_of_a_list_raises_or_warns(kind):
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", sf.errors.NothingThereWarning)  # which noisy numbers decide on
        fit(kind, [[40.0, 20.0], *HOSTILE])
        for row in HOSTILE:
            fit(kind, [row])


@EACH
def test_no_object_of_an_array_raises(kind):
    rows = np.empty((9, 2), dtype=object)
    rows[...] = 30.0
    for i, row in enumerate(HOSTILE[:8]):
        rows[i, 0], rows[i, 1] = row
    fit(kind, rows)


@pytest.mark.few(4)
@EACH
@pytest.mark.parametrize("empty", [[], (), np.zeros((0, 2), dtype=object)], ids=["list", "tuple", "array"])
def test_a_private_number_of_rows_may_be_none_in_a_list(kind, empty):
    fit(kind, empty, neighbours="add-remove")
    with pytest.raises(SchemaError, match="0 sample"):
        fit(kind, empty)


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["kernel", "logistic", "bayes"])
@pytest.mark.parametrize("label", ["\ud800", "no\ud800"])
def test_a_lone_surrogate_is_an_undeclared_label(kind, label):
    rows = np.tile([40.0, 20.0], (3, 1))
    for y in (["no", label, "yes"], np.array(["no", label, "yes"]), np.array(["no", label, "yes"], dtype=object)):
        fit(kind, rows, y)
        fit(kind, pd.DataFrame(rows, columns=list(BOUNDS)), y)


def test_a_lone_surrogate_beside_columns_of_text():
    frame = pd.DataFrame({"age": [40.0, 50.0], "sex": pd.Series(["f", "\ud800"], dtype=object)})
    bounds = {"age": (0, 100), "sex": sf.Categorical(["f", "m"])}
    PrivateNaiveBayes(bounds=bounds, **CLASSES).fit(frame, np.array(["no", "\ud800"]))


def test_values_are_read_one_by_one():
    rows = [[40, 20.5], (None, 30), [7], np.array([1, 2]), pd.Series([3, None]), pa.array([4, 5]), "ab"]
    found = read_features(rows, 2)
    assert (found.rows, found.width, found.names) == (7, 2, None)
    nan = math.nan
    expected = [[40, 20.5], [nan, 30], [nan, nan], [1, 2], [3, nan], [4, 5], [nan, nan]]
    assert np.array_equal(found.data, expected, equal_nan=True)
    masked = np.ma.array([[1.0, 2.0]], mask=[[True, False]])
    assert np.array_equal(read_features(masked).data, [[nan, 2.0]], equal_nan=True)


def test_a_list_agrees_with_the_array_of_the_same_numbers():
    rows = np.array([[40.0, 20.0], [30.0, 25.0]])
    for given in (rows.tolist(), tuple(map(tuple, rows)), rows.astype(object)):
        assert np.array_equal(read_features(given, 2).data, rows)


@pytest.mark.parametrize(
    ("bounds", "width"),
    [
        ((0, 1), None),
        ([0.0, 1.0], None),
        (np.array([0, 1]), None),
        ([(0, 1), (0, 1)], 2),
        ([(0, 1)], 1),
        (BOUNDS, 2),
        (sf.Box([(0, 1)] * 3), 3),
    ],
    ids=str,
)
def test_bounds_tell_how_many_columns_there_are(bounds, width):
    assert declared_width(bounds) == width
    if width is not None:
        assert public_box(bounds, read_features([], width))[0].dimension == width


def test_one_pair_for_every_column_does_not_tell_and_a_record_is_not_asked():
    for rows in ([[40.0, 20.0]], [], [[1.0], [2.0, 3.0]], [None]):
        with pytest.raises(SchemaError, match="X is a list of rows, and one pair of bounds does not say"):
            PrivateRidge(bounds=(0, 100), **NUMBERS, neighbours="add-remove").fit(rows, [0.5] * len(rows))


def test_points_have_the_width_of_the_fit():
    model = PrivateRidge(bounds=(0, 100), **NUMBERS).fit(np.full((5, 2), 40.0), np.zeros(5))
    assert model.predict([[1.0, 2.0], (3, 4)]).shape == (2,)
    for points in ([[1.0]], [[1.0, None]], ["ab"]):
        with pytest.raises(ParameterError, match="contains NaN in 1 of 1 rows"):
            model.predict(points)


@pytest.mark.parametrize(
    "data", [{"age": 1.0}, {1: [1.0]}, {1.0}, iter([[1.0]]), None, 5.0, "ages.csv", b"ab"], ids=type
)
def test_what_is_neither_a_list_nor_a_table_is_refused_by_its_type(data):
    with pytest.raises(SchemaError, match=r"X must (be|hold)"):
        read_features(data, 1)


def test_the_index_of_a_data_frame_is_not_looked_at():
    texts = pa.array([b"\xff", b"\xfe"] * 10, pa.binary()).view(pa.string())
    labels = pd.Index(pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([texts]))))
    X = pd.DataFrame({"x": np.linspace(0, 1, 20)}).set_axis(labels, axis=0)
    y = pd.Series(["no", "yes"] * 10, dtype=object).set_axis(labels, axis=0)
    model = PrivateNaiveBayes(bounds={"x": (0, 1)}, classes=["no", "yes"], epsilon=1.0).fit(X, y)
    assert len(model.predict(X)) == 20


def text_of_bytes(*values):
    return pa.array(values, pa.binary()).view(pa.string())


def test_a_refusal_shows_no_text_that_cannot_be_decoded():
    said = set()
    for first in (b"a", b"\xff"):
        for column in (text_of_bytes(first, b"b"), pa.chunked_array([text_of_bytes(first, b"b")])):
            with pytest.raises(SchemaError) as caught:
                PrivateKernelDensity(bounds=[(0, 1)], epsilon=1.0).fit(column)
            said.add(str(caught.value))
    assert len(said) == 1


@pytest.mark.parametrize("hostile", [b"no", b"\xff"])
def test_record_batches_and_arrays_of_arrow_are_read_as_they_are_stored(hostile):
    X = pa.record_batch({"x": np.linspace(0, 1, 20)})
    y = text_of_bytes(hostile, *[b"no", b"yes"] * 9, b"no")
    for response in (y, pa.chunked_array([y]), pa.record_batch({"y": y})):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a column
            PrivateNaiveBayes(bounds={"x": (0, 1)}, classes=["no", "yes"], epsilon=1.0).fit(X, response)


@pytest.mark.parametrize("missing", [False, True])
def test_arrays_of_pandas_are_read_as_they_are_stored(missing):
    X = np.linspace(0, 1, 20)[:, None]
    numbers = pd.array([pd.NA if missing else 1, *[0, 1] * 9, 1], dtype="Int64")
    for y in (numbers, pd.Index(numbers), pd.Series(numbers)):
        PrivateNaiveBayes(bounds=[(0, 1)], classes=[0, 1], epsilon=1.0).fit(X, y)
    texts = pd.Categorical([None if missing else "yes", *["no", "yes"] * 9, "no"])
    PrivateNaiveBayes(bounds=[(0, 1)], classes=["no", "yes"], epsilon=1.0).fit(X, texts)


@pytest.mark.parametrize("rows", [0, 2])
def test_types_are_looked_at_also_where_there_are_no_rows(rows):
    days = pa.array([0, 1], pa.timestamp("ns"))[:rows]
    numbers = pa.array([0.0, 1.0])[:rows]
    for X, y in ((pa.table({"x": days}), numbers), (pa.table({"x": numbers}), days)):
        model = PrivateRidge(bounds={"x": (0, 1)}, response_range=(0, 1), epsilon=1.0, neighbours="add-remove")
        with pytest.raises(SchemaError, match="must be numeric"):
            model.fit(X, y)


class Pages:
    """A sequence that does not say so; numpy reads it as a list."""

    def __init__(self, *rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, place):
        return self.rows[place]


@pytest.mark.parametrize("value", [1.0, "secret", None, [2]])
def test_what_is_no_list_and_no_array_is_refused_whatever_it_holds(value):
    with pytest.raises(SchemaError, match=r"^X must be a table of numbers, got a Pages that is none$"):
        read_features(Pages([1.0, 2.0], [3.0, value]), 2)
