"""Whatever stands in a list of rows or in y: every estimator fits, and no value changes how another record is read."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import tries
from property.hostile import anything
from sfumato.errors import NothingThereWarning
from sfumato.estimators import (
    PrivateKernelClassifier,
    PrivateKernelDensity,
    PrivateKernelRegressor,
    PrivateKernelSmoother,
    PrivateLogisticRegression,
    PrivateNaiveBayes,
    PrivateRidge,
)
from sfumato.estimators.inputs import read_features
from sfumato.values import as_double

TEXT, RANGE = {"classes": ("no", "yes")}, {"response_range": (0, 1)}
BOUNDS = {"bounds": [(0, 100), (10, 50)]}
MODELS = {
    "density": PrivateKernelDensity(20.0, **BOUNDS),
    "kernel": PrivateKernelClassifier(**TEXT, **BOUNDS, landmarks=4),
    "numbers": PrivateKernelClassifier(classes=(0, 1), **BOUNDS, landmarks=4),
    "logistic": PrivateLogisticRegression(**TEXT, **BOUNDS),
    "bayes": PrivateNaiveBayes("normal", **TEXT, **BOUNDS),
    "kernel bayes": PrivateNaiveBayes(bandwidth=[20.0, 20.0], **TEXT, **BOUNDS),
    "regressor": PrivateKernelRegressor(**RANGE, **BOUNDS, landmarks=4),
    "ridge": PrivateRidge(**RANGE, **BOUNDS),
    "smoother": PrivateKernelSmoother(20.0, **RANGE, **BOUNDS),
}
rows = st.one_of(st.lists(anything, max_size=4), st.lists(anything, min_size=2, max_size=2), anything)
labels = st.one_of(anything, st.sampled_from(["no", "yes", "\ud800", 0, 1]))
tables = st.lists(st.tuples(rows, labels), min_size=1, max_size=5)


def objects(records):
    """An array of objects: its shape is public."""
    array = np.empty((len(records), 2), dtype=object)
    for i, (row, _) in enumerate(records):
        values = row if isinstance(row, list) and len(row) == 2 else [row, row]
        for j in (0, 1):
            array[i, j] = values[j]
    return array


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", MODELS)
@tries(10)
@given(tables, st.booleans(), st.sampled_from(["replace", "add-remove"]))
def test_no_value_raises_or_warns(kind, table, as_objects, neighbours):
    model, y = MODELS[kind].set_params(neighbours=neighbours), [label for _, label in table]
    data = objects(table) if as_objects else [row for row, _ in table]
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", NothingThereWarning)  # which noisy numbers decide on
        model.fit(data) if kind == "density" else model.fit(data, y)
    assert model.n_features_in_ == 2


@given(st.lists(rows, min_size=1, max_size=6), rows, st.data())
def test_a_row_is_read_as_it_is_alone(given, other, data):
    place = data.draw(st.integers(0, len(given) - 1))
    changed = [*given[:place], other, *given[place + 1 :]]
    before, after = (read_features(each, 2).data for each in (given, changed))
    assert before.shape == after.shape == (len(given), 2)
    assert np.delete(before, place, axis=0).tobytes() == np.delete(after, place, axis=0).tobytes()
    if isinstance(other, list):
        expected = [as_double(value) for value in other] if len(other) == 2 else [np.nan] * 2
        assert np.array_equal(after[place], expected, equal_nan=True)
