"""Cells: which one a record falls into, and what has none."""

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import sfumato as sf
from opening import counted
from sfumato.engines.cells import MAX_CELLS, Cells
from sfumato.engines.memory import MemoryEngine
from sfumato.errors import ParameterError, ParameterTypeError, SchemaError

hostile = st.one_of(
    st.floats(),
    st.floats(-5, 15),
    st.sampled_from([math.nan, math.inf, -math.inf, 0.0, -0.0, 10.0, 5e-324, 1e308, -1e308, 9.999999999999998]),
)
KINDS = [sf.Box([(0, 10)]).columns[0], sf.Integer(0, 10), sf.Periodic(0, 10), sf.Integer(-0.5, 10.5)]


def place(kind, value, size):
    """The rule, in Python, for one value."""
    cleaned = float(kind.clean(np.array([value]))[0])
    if math.isnan(cleaned):
        return None
    return min(math.floor((cleaned - kind.low) / (kind.high - kind.low) * size), size - 1)


# --- where records fall -----------------------------------------------------------------------------------------


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", KINDS, ids=repr)
@given(values=st.lists(hostile, max_size=20), size=st.integers(1, 1000))
def test_each_value_falls_where_the_rule_says(kind, values, size):
    found = Cells(sf.Box([kind]), (size,)).index([np.array(values, dtype=float)])
    assert found.dtype == np.int64
    assert found.tolist() == [p for p in (place(kind, value, size) for value in values) if p is not None]


@given(arrays.arrays(np.float64, (12, 3), elements=hostile))
def test_a_record_has_one_cell_or_none(records):
    cells = Cells(sf.Box(KINDS[:3]), (4, 11, 7))
    expected = []
    for record in records.tolist():
        places = [place(kind, value, size) for kind, value, size in zip(KINDS, record, cells.shape, strict=False)]
        if None not in places:
            expected.append(int(np.ravel_multi_index(places, cells.shape)))
    assert cells.index(list(records.T)).tolist() == expected


@given(arrays.arrays(np.float64, (9, 2), elements=hostile), st.integers(1, 9))
def test_each_record_is_read_alone(records, cut):
    cells = Cells(sf.Box([(-1, 3), sf.Periodic(0, 24)]), (13, 5))
    parts = [cells.index(list(part.T)).tolist() for part in (records[:cut], records[cut:])]
    assert cells.index(list(records.T)).tolist() == parts[0] + parts[1]


@given(st.floats(-1e300, 1e300), st.floats(0, 1e300), st.lists(hostile, min_size=1))
def test_no_value_leaves_the_grid_or_warns(low, width, values):
    high = low + width
    if low < high:
        with np.errstate(all="raise"):
            found = Cells(sf.Box([(low, high)]), (MAX_CELLS,)).index([np.array(values)])
        assert ((found >= 0) & (found < MAX_CELLS)).all()
        assert len(found) == sum(value == value for value in values)


def test_edges_and_missing_values():
    values = np.array([0.0, 2.4999999, 2.5, 10.0, -3.0, 1e308, math.inf, -math.inf, math.nan])
    assert Cells(sf.Box([(0, 10)]), (4,)).index([values]).tolist() == [0, 0, 1, 3, 0, 3, 3, 0]


def test_an_infinite_value_has_no_place_on_a_circle():
    assert Cells(sf.Box([sf.Periodic(0, 24)]), (24,)).index([np.array([25.5, math.inf, -1.0])]).tolist() == [1, 23]


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float16", "float32", "bool", ">f8"])
def test_numbers_of_any_real_type(dtype):
    assert Cells(sf.Box([(0, 2)]), (4,)).index([np.array([0, 1], dtype=dtype)]).tolist() == [0, 2]


def test_the_given_numbers_are_left_alone():
    values = np.array([5.0, math.nan, 99.0])
    values.setflags(write=False)
    Cells(sf.Box([(0, 10)]), (4,)).index([values])
    assert np.array_equal(values, [5.0, math.nan, 99.0], equal_nan=True)


@given(arrays.arrays(np.float64, (8, 2), elements=hostile))
def test_a_largest_norm_is_kept(records):
    box = sf.Box([(-2, 2), sf.Integer(-3, 3)], max_norm=1.5)
    flat = Cells(sf.Box([(-2, 2), (-3, 3)]), (40, 60))
    cleaned = box.clean(records)
    found = Cells(box, (40, 60)).index(list(records.T))
    assert found.tolist() == flat.index(list(cleaned.T)).tolist()


def test_text_categories():
    cells = Cells(sf.Box({"sex": sf.Categorical(["f", "m"])}), (2,))
    values = ["m", "f", "x", None, "", "M", "f"]
    texts = pa.array(values)
    for column in (
        values,
        np.array(values, dtype=object),
        [*values, 3, [1], math.nan, b"f"],
        texts,
        texts.dictionary_encode(),
        texts.cast(pa.large_string()),
        texts.cast(pa.string_view()),
        pa.chunked_array([texts[:2], texts[2:]]),
        pa.concat_arrays([pa.array(["zzz"]), texts])[1:],
    ):
        assert cells.index([column]).tolist() == [1, 0, 0]
    assert cells.index([pa.array([1, 2])]).tolist() == []
    assert cells.index([pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"]).buffers())]).tolist() == []


def test_numeric_categories():
    cells = Cells(sf.Box({"grade": sf.Categorical([3, 1, 2.5]), "x": (0, 1)}), (3, 2))
    grades = np.array([1, 3, 2.5, 2, math.nan, math.inf, -math.inf, 99])
    assert cells.index([grades, np.full(8, 0.7)]).tolist() == [3, 1, 5]


def test_centres_lie_in_the_unit_interval():
    cells = Cells(sf.Box([(0, 10), sf.Periodic(0, 24)]), (4, 3))
    assert cells.centres(0).tolist() == [0.125, 0.375, 0.625, 0.875]
    assert len(cells.centres(1)) == 3
    assert cells.size == 12
    with pytest.raises(ParameterError, match="axis=2"):
        cells.centres(2)


# --- places: every record keeps its row ---------------------------------------------------------------------------


@given(arrays.arrays(np.float64, (12, 3), elements=hostile))
def test_places_say_which_records_have_none(records):
    """What stands beside each record, such as its response, stays beside it."""
    cells = Cells(sf.Box(KINDS[:3]), (4, 11, 7))
    flat, missing = cells.places(list(records.T))
    missing = np.zeros(12, dtype=bool) if missing is None else missing
    assert len(flat) == len(missing) == 12
    for record, found, gone in zip(records, flat.tolist(), missing.tolist(), strict=True):
        assert cells.index(list(record[:, None])).tolist() == ([] if gone else [found])


def test_places_of_complete_records_have_no_mask():
    flat, missing = Cells(sf.Box([(0, 10)]), (4,)).places([np.array([0.0, 9.0, 99.0])])
    assert flat.tolist() == [0, 3, 3]
    assert missing is None


def test_places_in_categories():
    cells = Cells(sf.Box({"sex": sf.Categorical(["f", "m"]), "x": (0, 1)}), (2, 4))
    flat, missing = cells.places([["m", "?", "f", None], np.array([0.3, 0.3, math.nan, math.nan])])
    assert missing.tolist() == [False, True, True, True]
    assert flat[0] == 5


def test_places_need_all_columns():
    with pytest.raises(SchemaError, match="2 columns, the records have 1"):
        Cells(sf.Box([(0, 1), (0, 1)]), (2, 2)).places([np.zeros(3)])


# --- what is refused --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(4096, 4097), (2**24 + 1, 1), (2**40, 2**40)])
def test_too_many_cells_are_refused(shape):
    with pytest.raises(ParameterError, match="fewer"):
        Cells(sf.Box([(0, 1), (0, 1)]), shape)


@pytest.mark.parametrize("shape", [(3,), (3, 3, 3), 9, None, (3, 2.5), (True, 2)])
def test_a_shape_must_fit_the_box(shape):
    with pytest.raises(ParameterTypeError, match="shape"):
        Cells(sf.Box([(0, 1), (0, 1)]), shape)


@pytest.mark.parametrize("shape", [(0, 3), (-1, 3)])
def test_a_column_must_have_cells(shape):
    with pytest.raises(ParameterError, match="shape"):
        Cells(sf.Box([(0, 1), (0, 1)]), shape)


def test_categories_must_have_one_cell_each():
    with pytest.raises(ParameterError, match="2 categories"):
        Cells(sf.Box({"sex": sf.Categorical(["f", "m"])}), (3,))
    with pytest.raises(ParameterError, match="'code'"):
        Cells(sf.Box({"code": sf.Categorical([1, 2**53 + 1])}), (2,))
    assert Cells(sf.Box({"yes": sf.Categorical([True, False])}), (2,)).index([np.array([0.0, 1.0, 2.0])]).tolist() == [
        1,
        0,
    ]


def test_the_box_must_be_one():
    with pytest.raises(ParameterTypeError, match="box"):
        Cells({"x": (0, 1)}, (3,))


def test_columns_of_the_wrong_type_or_number_are_refused():
    cells = Cells(sf.Box({"x": (0, 1)}), (3,))
    for column in (np.array(["secret"]), np.array([None, "secret"]), np.array([1j]), np.zeros((2, 2))):
        with pytest.raises(SchemaError, match="'x' must be numeric"):
            cells.index([column])
    with pytest.raises(SchemaError, match="2"):
        cells.index([np.zeros(3), np.zeros(3)])


# --- counts -----------------------------------------------------------------------------------------------------


@given(
    arrays.arrays(np.float64, (11, 2), elements=hostile),
    st.integers(0, 10),
    arrays.arrays(np.float64, (2,), elements=hostile),
)
def test_a_changed_record_changes_at_most_two_cells_by_one(records, which, record):
    cells = Cells(sf.Box([(0, 10), sf.Periodic(-1, 1)]), (6, 5))
    other = records.copy()
    other[which] = record
    before, after, without = (
        counted(data, cells.box, cells.shape, engine=MemoryEngine(chunk_rows=4))[1]
        for data in (records, other, np.delete(records, which, axis=0))
    )
    changed = (after - before)[after != before].tolist()
    assert len(changed) <= 2
    assert all(abs(c) == 1 for c in changed)
    assert sorted((before - without)[before != without].tolist()) in ([], [1])


def test_cells_between_edges():
    """A cell has its lower edge; what is missing is in none, what is beyond the outermost in the outermost."""
    box = sf.Box({"x": (0, 10), "y": (0, 1)})
    cells = Cells(box, (3, 2), ((0.0, 2.5, 7.0, 10.0), None))
    x = np.array([-9.0, 2.4999, 2.5, 6.9, 7.0, 99.0, np.nan])
    assert cells.index([x, np.zeros(7)]).tolist() == [0, 0, 2, 2, 4, 4]
    assert cells.index([x[:2], np.ones(2)]).tolist() == [1, 1]


@pytest.mark.parametrize("edges", [((0.0, 5.0, 10.0), None), ((0.0, 2.0, 3.0, 4.0, 10.0), None)])
def test_edges_fit_the_number_of_cells(edges):
    """Else a record could fall into a cell that is not there, and its error would tell of it."""
    with pytest.raises(ParameterError, match="edges of 'x' must be one more than its 3 cells"):
        Cells(sf.Box({"x": (0, 10), "y": (0, 1)}), (3, 2), edges)
