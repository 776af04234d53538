"""The public domain: what a box accepts, what it refuses, and what it does to records."""

import math
from datetime import UTC, date, datetime

import numpy as np
import pytest

from sfumato.core.box import Box, Categorical, Date, Integer, Interval, Periodic
from sfumato.errors import ParameterError, ParameterTypeError

# --- making one ---------------------------------------------------------------------------------------------


def test_named_box_keeps_the_order_of_its_columns():
    box = Box({"bmi": (10, 60), "age": (0, 110)})
    assert box.names == ("bmi", "age")
    assert box.named
    assert box.dimension == 2


def test_unnamed_box_numbers_its_columns():
    box = Box([(0, 1), (2, 3)])
    assert box.names == ("x0", "x1")
    assert not box.named


def test_bounds_become_doubles():
    box = Box([(0, 110), (np.int64(1), np.float32(2))])
    assert box.low.tolist() == [0.0, 1.0]
    assert box.high.tolist() == [110.0, 2.0]
    assert box.low.dtype == box.high.dtype == np.float64


def test_lists_are_bounds_too():
    assert Box([[0, 1]]) == Box([(0, 1)])


def test_equal_boxes_are_equal_and_hash_alike():
    one, other = Box({"a": (0, 1)}), Box({"a": (0.0, 1.0)})
    assert one == other
    assert hash(one) == hash(other)
    assert one != Box({"a": (0, 2)})
    assert one != Box({"b": (0, 1)})


def test_every_kind_of_column_is_kept():
    day = (date(2024, 1, 1), date(2025, 1, 1))
    columns = {"a": (0, 1), "b": Integer(0, 9), "c": Periodic(0, 24), "d": Categorical(["x", "y"]), "e": day}
    kinds = ["interval", "integer", "periodic", "categorical", "date"]
    assert [column.kind for column in Box(columns).columns] == kinds


def test_box_is_immutable():
    box = Box([(0, 1)])
    with pytest.raises(AttributeError):
        box.names = ("other",)
    with pytest.raises(AttributeError):
        box.columns[0].low = -1.0


@pytest.mark.parametrize(("low", "high"), [(1, 1), (2, 1), (0.0, -0.0), (5, -5)])
def test_low_must_be_below_high(low, high):
    with pytest.raises(ParameterError, match="low") as error:
        Box({"age": (low, high)})
    assert "age" in str(error.value)
    assert repr(float(low)) in str(error.value)
    assert repr(float(high)) in str(error.value)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("side", [0, 1])
def test_bounds_must_be_finite(bad, side):
    bounds = [0.0, 1.0]
    bounds[side] = bad
    with pytest.raises(ParameterError, match="finite") as error:
        Box({"age": tuple(bounds)})
    assert "age" in str(error.value)
    assert (type(bad).__name__ if isinstance(bad, list) else repr(bad)) in str(error.value)  # a list may be data
    assert ("low", "high")[side] in str(error.value)


def test_width_must_be_finite():
    with pytest.raises(ParameterError, match="high - low"):
        Box([(-1.7e308, 1.7e308)])


def test_whole_numbers_beyond_the_doubles_are_refused_like_infinity():
    with pytest.raises(ParameterError, match="high"):
        Box([(0, 10**400)])


@pytest.mark.parametrize("bad", ["0", None, 1j, True])
def test_bounds_must_be_numbers(bad):
    with pytest.raises(ParameterTypeError, match="must be a number") as error:
        Box({"age": (bad, 2)})
    assert repr(bad) in str(error.value)


def test_data_in_the_place_of_a_bound_are_not_printed():
    with pytest.raises(ParameterTypeError, match=r"must be a number, got low=list$") as error:
        Box({"age": ([37], 2)})
    assert "37" not in str(error.value)


@pytest.mark.parametrize("spec", [None, 3, "0..1", (0, 1, 2), (1,), {"low": 0}, {0, 1}])
def test_missing_bounds_are_refused_never_inferred(spec):
    with pytest.raises(ParameterTypeError, match="never infers bounds") as error:
        Box({"age": spec})
    assert "age" in str(error.value)


@pytest.mark.parametrize("columns", [None, 3, "age", {1, 2}, 0.5])
def test_columns_must_be_a_mapping_or_a_list(columns):
    with pytest.raises(ParameterTypeError, match="columns"):
        Box(columns)


@pytest.mark.parametrize("columns", [[], {}, (), {"": (0, 1)}, {3: (0, 1)}])
def test_a_box_needs_named_columns(columns):
    with pytest.raises(ParameterError, match="column"):
        Box(columns)


@pytest.mark.parametrize("categories", ["abc", 3, None, {"a", "b"}])
def test_categories_must_be_a_list(categories):
    with pytest.raises(ParameterTypeError, match="categories"):
        Categorical(categories)


@pytest.mark.parametrize("categories", [[], ["a"], ["a", "a"], [1, True], [1, 1.0]])
def test_categories_must_be_different(categories):
    with pytest.raises(ParameterError, match="different"):
        Categorical(categories)


@pytest.mark.parametrize("categories", [["a", ("b",)], ["a", 1], [1, None], [b"a", b"b"]])
def test_categories_must_be_all_text_or_all_numbers(categories):
    with pytest.raises(ParameterTypeError, match="all text or all numbers"):
        Categorical(categories)


def test_categories_become_a_tuple():
    assert Categorical(["a", "b"]) == Categorical(("a", "b"))


@pytest.mark.parametrize("radius", [0, -1, math.inf, math.nan])
def test_max_norm_must_be_positive(radius):
    with pytest.raises(ParameterError, match="max_norm"):
        Box([(-1, 1)], max_norm=radius)


@pytest.mark.parametrize("columns", [[(1, 2)], [(-2, -1)], [Categorical(["a", "b"])], [(-1, 1), (1, 2)]])
def test_max_norm_needs_the_origin_in_the_box(columns):
    with pytest.raises(ParameterError, match="max_norm"):
        Box(columns, max_norm=1.0)


def test_an_integer_column_without_a_whole_number_is_refused():
    with pytest.raises(ParameterError):
        Integer(0.2, 0.8)


@pytest.mark.parametrize("bounds", [(0.5, 7), (0, 7.5), (0.5, 7.5), (1.5, 8)])
def test_a_circle_of_whole_numbers_has_whole_bounds(bounds):
    Periodic(*bounds)
    with pytest.raises(ParameterError, match="whole=True needs bounds that are whole numbers"):
        Periodic(*bounds, whole=True)


@pytest.mark.parametrize("bounds", [(0, 7), (1, 8), (1, 6), (-3, 3), (2, 5)])
def test_any_whole_bounds_will_do_for_it(bounds):
    assert Periodic(*bounds, whole=True).bounds == bounds


def test_whole_is_true_or_false_and_a_circle_has_a_width():
    with pytest.raises(ParameterTypeError, match="whole"):
        Periodic(0, 7, whole=1)
    with pytest.raises(ParameterError, match="low"):
        Periodic(7, 7, whole=True)


def test_dates_are_days_since_1970_inside_and_dates_outside():
    column = Date(date(1970, 1, 2), date(1970, 1, 11))
    assert (column.low, column.high, column.zoned) == (1.0, 10.0, False)
    assert column.bounds == ("1970-01-02", "1970-01-11")
    assert column.clean(np.array([0.0, 5.5, 99.0])).tolist() == [1.0, 5.5, 10.0]


def test_two_times_with_zones_make_a_column_with_one():
    column = Box({"when": ("1970-01-02T00:00Z", datetime(1970, 1, 3, 12, tzinfo=UTC))}).columns[0]
    assert (column.kind, column.low, column.high, column.zoned) == ("date", 1.0, 2.5, True)
    with pytest.raises(ParameterError, match="low"):
        Date(date(1970, 1, 2), date(1970, 1, 2))


@pytest.mark.parametrize("bounds", [(date(1970, 1, 2), 9), (1, date(1970, 1, 10))])
def test_one_date_makes_a_column_of_dates(bounds):
    assert Box({"when": bounds}).columns[0] == Date("1970-01-02", "1970-01-10")


def test_categorical_columns_are_refused_where_numbers_are_needed():
    box = Box({"sex": Categorical(["f", "m"])})
    for ask in (box.intervals, lambda: box.low, lambda: box.high, lambda: box.clean(np.zeros((1, 1)))):
        with pytest.raises(ParameterError, match="sex"):
            ask()


def test_repr_shows_public_bounds():
    text = repr(Box({"age": (0, 110), "sex": Categorical(["f", "m"])}))
    assert text == "Box({'age': (0.0, 110.0), 'sex': ['f', 'm']})"
    assert repr(Box([(-1, 1)], max_norm=2)) == "Box({'x0': (-1.0, 1.0)}, max_norm=2.0)"
    assert repr(Periodic(0, 7, whole=True)) == "Periodic(0.0, 7.0, whole=True)"
    assert repr(Periodic(0, 24)) == "Periodic(0.0, 24.0)"


# --- cleaning -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "cleaned"), [(5.0, 5.0), (-1.0, 0.0), (11.0, 10.0), (math.inf, 10.0), (-math.inf, 0.0), (1e300, 10.0)]
)
def test_interval_clips(value, cleaned):
    assert Interval(0, 10).clean(np.array([value])).tolist() == [cleaned]


@pytest.mark.parametrize("column", [Interval(0, 10), Integer(0, 10), Periodic(0, 10)])
def test_missing_stays_missing(column):
    assert np.isnan(column.clean(np.array([math.nan]))).all()


@pytest.mark.parametrize(
    ("value", "cleaned"), [(2.4, 2.0), (2.6, 3.0), (-9.0, 1.0), (99.0, 9.0), (math.inf, 9.0), (0.9, 1.0), (9.4, 9.0)]
)
def test_integer_rounds_and_clips_to_whole_numbers(value, cleaned):
    assert Integer(0.5, 9.5).clean(np.array([value])).tolist() == [cleaned]


@pytest.mark.parametrize(("value", "cleaned"), [(25.0, 1.0), (-1.0, 23.0), (24.0, 0.0), (0.0, 0.0), (48.5, 0.5)])
def test_periodic_wraps(value, cleaned):
    assert Periodic(0, 24).clean(np.array([value])).tolist() == [cleaned]


@pytest.mark.parametrize(("value", "cleaned"), [(2.4, 2.0), (2.6, 3.0), (6.7, 0.0), (-0.6, 6.0), (math.inf, math.nan)])
def test_a_circle_of_whole_numbers_rounds_then_wraps(value, cleaned):
    np.testing.assert_equal(Periodic(0, 7, whole=True).clean(np.array([value])), [cleaned])


def test_periodic_infinity_is_missing():
    assert np.isnan(Periodic(0, 24).clean(np.array([math.inf, -math.inf]))).all()


def test_periodic_stays_within_bounds_at_the_seam():
    column = Periodic(0.1, 0.7)
    values = np.concatenate([np.nextafter(0.1, [-1, 1]), np.nextafter(0.7, [-1, 1]), [-1e-300, 1e300]])
    cleaned = column.clean(values)
    assert ((cleaned >= 0.1) & (cleaned <= 0.7)).all()


def test_clean_leaves_its_input_alone():
    records = np.array([[-5.0], [500.0]])
    Box([(0, 1)]).clean(records)
    assert records.tolist() == [[-5.0], [500.0]]


def test_clean_of_nothing_is_nothing():
    assert Box([(0, 1), (0, 1)]).clean(np.zeros((0, 2))).shape == (0, 2)


def test_max_norm_scales_long_records_back_and_leaves_short_ones():
    box = Box([(-10, 10), (-10, 10)], max_norm=5)
    cleaned = box.clean(np.array([[6.0, 8.0], [1.0, 2.0]]))
    assert cleaned[0] == pytest.approx([3.0, 4.0])
    assert cleaned[1].tolist() == [1.0, 2.0]


@pytest.mark.parametrize("size", [1e-300, 1e-170, 1e-150, 1e-10, 1.0, 1e10, 1e150, 1e300])
@pytest.mark.parametrize("radius", [1e-200, 1e-3, 1.0, 1e200])
def test_max_norm_holds_at_every_magnitude(size, radius):
    box = Box([(-1e300, 1e300)] * 3, max_norm=radius)
    with np.errstate(all="ignore"):
        cleaned = box.clean(np.array([[size, -size, size / 2]]))[0]
    assert math.hypot(*cleaned) <= radius * (1 + 1e-12)


def test_a_record_far_beyond_a_tiny_norm_keeps_within_it():
    """Scaling by a quotient that is subnormal loses digits, and can end outside."""
    box = Box([(0, 3.2701220257039876e112)], max_norm=1e-200)
    assert 0.99e-200 < box.clean(np.array([[3.2701220257039876e112]]))[0, 0] <= 1e-200


def test_categories_are_text_that_can_be_stored():
    with pytest.raises(ParameterError, match="can be stored"):
        Categorical(["a", "\ud800"])


SIGNALLING = np.array([0x7FF0000000000001], dtype=np.uint64).view(np.float64)[0]


@pytest.mark.parametrize("column", [Interval(-1, 1), Integer(-1, 1), Periodic(-1, 1), Periodic(-1e308, 0.5e308)])
def test_no_value_makes_a_warning(column):
    """Not even a signalling NaN, which numpy warns about."""
    values = np.array([SIGNALLING, math.nan, math.inf, -math.inf, 1.7e308, -1.7e308, 5e-324, 0.0])
    with np.errstate(all="raise"):
        cleaned = column.clean(values)
        assert np.isnan(cleaned[:2]).all()
        Box([(-1e308, 0.7e308)] * 2, max_norm=1e-300).clean(np.column_stack([values, values[::-1]]))


def test_an_integer_column_has_bounds_that_are_numbers():
    with pytest.raises(ParameterTypeError, match="low"):
        Integer(True, 3)
    assert type(Integer(0, 3).low) is float


def test_one_whole_number_is_enough():
    assert Integer(1.5, 2.5).clean(np.array([-9.0, 2.2, 9.0])).tolist() == [2.0, 2.0, 2.0]


def test_periodic_wraps_around_bounds_away_from_zero():
    assert Periodic(10, 34).clean(np.array([9.0, 10.0, 35.5, 58.0, 100.0])).tolist() == [33.0, 10.0, 11.5, 10.0, 28.0]


def test_categories_with_letters_that_cannot_be_stored_are_refused():
    for letter in map(chr, (0, 0xD800, 0xDBFF, 0xDFFF)):
        with pytest.raises(ParameterError, match="can be stored"):
            Categorical((f"a{letter}", "b"))
    assert Categorical(("a?", "\ue000", "\ud7ff")).categories == ("a?", "\ue000", "\ud7ff")


def test_every_column_needs_a_name():
    with pytest.raises(ParameterError, match="each with a name"):
        Box({"a": (0, 1), "": (0, 1)})


def test_the_origin_may_lie_on_the_boundary():
    assert Box([(-1, 0), (0, 1), (-0.5, 0.5)], max_norm=1).max_norm == 1.0


@pytest.mark.parametrize("record", [[0.0, 100.0], [1e-200, 3.0], [-100.0, -1.0], [-3.0, 0.0], [1.0, -1e200]])
def test_long_records_are_scaled_back_whatever_their_signs_and_zeros(record):
    (cleaned,) = Box([(-1e300, 1e300)] * 2, max_norm=1).clean(np.array([record]))
    assert math.hypot(*cleaned) == pytest.approx(1.0, rel=1e-12)
    assert math.hypot(*cleaned) <= 1.0
    assert math.atan2(*cleaned) == pytest.approx(math.atan2(*record))
