"""For any box and any records: cleaned records lie in the box, and each is read alone."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import sfumato as sf
from sfumato.bases.unit import to_unit
from sfumato.errors import OutsideBoxError, ParameterError

bounds = st.floats(-1e300, 1e300)
anything = st.one_of(
    st.floats(), st.floats(-200, 200), st.sampled_from([math.nan, math.inf, -math.inf, 5e-324, -0.0, 1.7e308, -1.7e308])
)


@st.composite
def columns(draw):
    low, high = draw(bounds), draw(bounds)
    assume(low < high and math.isfinite(high - low))
    kind = draw(st.sampled_from([None, sf.Integer, sf.Periodic]))
    if kind is sf.Integer:
        assume(math.ceil(low) <= math.floor(high))
    return (low, high) if kind is None else kind(low, high)


boxes = st.lists(columns(), min_size=1, max_size=4).map(sf.Box)


@st.composite
def boxes_and_records(draw):
    box = draw(boxes)
    rows = draw(st.integers(0, 6))
    return box, draw(arrays.arrays(np.float64, (rows, box.dimension), elements=anything))


def bits(array):
    """NaN-proof comparison, bit by bit, with one NaN for all."""
    return np.where(np.isnan(array), np.nan, array).tobytes()


@given(boxes_and_records())
def test_cleaned_records_lie_in_the_box_or_are_missing(case):
    box, records = case
    cleaned = box.clean(records)
    assert cleaned.shape == records.shape
    assert (np.isnan(cleaned) | ((cleaned >= box.low) & (cleaned <= box.high))).all()


@given(boxes_and_records())
def test_what_was_missing_stays_missing(case):
    box, records = case
    assert np.isnan(box.clean(records))[np.isnan(records)].all()


@given(boxes_and_records())
def test_cleaning_neither_warns_nor_raises(case):
    box, records = case
    with np.errstate(all="raise"):
        box.clean(records)


@given(boxes_and_records(), st.randoms(use_true_random=False))
def test_permuting_records_permutes_the_result(case, random):
    box, records = case
    order = list(range(len(records)))
    random.shuffle(order)
    assert bits(box.clean(records[order])) == bits(box.clean(records)[order])


@given(boxes_and_records(), st.data())
def test_replacing_other_records_changes_nothing(case, data):
    box, records = case
    assume(len(records))
    keep = data.draw(st.integers(0, len(records) - 1))
    others = data.draw(arrays.arrays(np.float64, records.shape, elements=anything))
    others[keep] = records[keep]
    assert bits(box.clean(others)[keep]) == bits(box.clean(records)[keep])


@given(boxes_and_records())
def test_a_record_alone_is_cleaned_as_in_company(case):
    box, records = case
    together = box.clean(records)
    for i in range(len(records)):
        assert bits(box.clean(records[i : i + 1])[0]) == bits(together[i])


@given(
    st.lists(st.tuples(st.floats(-1e200, 0), st.floats(0, 1e200)), min_size=1, max_size=4),
    st.floats(1e-200, 1e200),
    st.data(),
)
def test_records_keep_within_the_norm_and_the_box(sides, radius, data):
    assume(all(low < high for low, high in sides))
    box = sf.Box(sides, max_norm=radius)
    records = data.draw(arrays.arrays(np.float64, (3, len(sides)), elements=anything))
    cleaned = box.clean(records)
    usable = cleaned[~np.isnan(cleaned).any(axis=1)]
    assert all(math.hypot(*row) <= radius * (1 + 1e-12) for row in usable.tolist())
    assert ((usable >= box.low) & (usable <= box.high)).all()


@given(boxes, st.data())
def test_points_of_the_box_map_into_the_unit_cube(box, data):
    points = np.array([data.draw(st.tuples(*(st.floats(c.low, c.high) for c in box.columns)))])
    unit = to_unit(box, points)
    assert ((unit >= 0) & (unit <= 1)).all()


@given(boxes, st.data())
def test_any_points_are_accepted_clipped_or_refused_as_outside(box, data):
    points = data.draw(arrays.arrays(np.float64, (2, box.dimension), elements=anything))
    try:
        unit = to_unit(box, points, "clip")
    except OutsideBoxError:
        round_a_circle = [isinstance(kind, sf.Periodic) for kind in box.columns]
        assert np.isnan(points).any() or np.isinf(points[:, round_a_circle]).any()  # which is nowhere on it
    else:
        assert ((unit >= 0) & (unit <= 1)).all()


@pytest.mark.slow
@given(
    st.one_of(st.floats(), st.integers(), st.text(max_size=3), st.none()),
    st.one_of(st.floats(), st.integers(), st.none()),
)
def test_any_bounds_make_a_box_or_a_parameter_error(low, high):
    try:
        box = sf.Box({"x": (low, high)})
    except ParameterError:
        return
    assert box.low[0] < box.high[0]
    assert math.isfinite(box.high[0] - box.low[0])
