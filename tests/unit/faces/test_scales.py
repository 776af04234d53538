"""Ticks where hours and degrees belong, maps to scale, colours that hide no town."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import ParameterError
from sfumato.faces.scales import Layout, axes_of, axis_of, laid_axes, layout_of, levels_of

FRACTIONS = st.floats(1e-6, 1.0)


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0, 24, (0, 6, 12, 18, 24)),
        (-12, 12, (-12, -6, 0, 6, 12)),
        (0, 360, (0, 90, 180, 270, 360)),
        (-180, 180, (-180, -90, 0, 90, 180)),
        (0, 60, (0, 15, 30, 45, 60)),
        (1, 13, tuple(range(1, 13))),
        (0, 7, tuple(range(7))),
        (1, 8, tuple(range(1, 8))),
        (0, 10, ()),
    ],
)
def test_circles_have_their_own_ticks(low, high, ticks):
    assert axis_of(sf.Box({"t": sf.Periodic(low, high)}), 0).ticks == ticks


def test_other_columns_have_any_ticks():
    box = sf.Box({"hours": (0, 24), "sex": sf.Categorical(["F", "M"])})
    assert [(axis.name, axis.ticks) for axis in axes_of(box)] == [("hours", ()), ("sex", ())]


# --- maps -------------------------------------------------------------------------------------------------------


def test_longitude_and_latitude_are_drawn_as_on_the_ground():
    aspect = 1 / math.cos(math.radians(51))
    for east, north in (("lon", "lat"), ("Longitude", "LATITUDE"), ("lng", "lat"), ("long", "latitude")):
        found = layout_of(sf.Box({east: (5, 15), north: (47, 55)}))
        assert not found.turned and found.aspect == pytest.approx(aspect)


def test_longitude_goes_to_the_right_whatever_its_place():
    box = sf.Box({"lat": (47, 55), "lon": (5, 15)})
    assert layout_of(box).turned
    assert [axis.name for axis in laid_axes(box, layout_of(box))] == ["lon", "lat"]


@pytest.mark.parametrize(
    "columns",
    [
        {"x": (0, 10), "y": (0, 8)},
        {"lon": (5, 15), "y": (47, 55)},
        {"platform": (5, 15), "latency": (0, 9)},
        {"long": (0, 1000), "lat": (0, 90)},  # no degrees
        {"lon": (5, 15), "lat": (0, 200)},
        {"lon": (5, 15)},
        {"lon": (5, 15), "lat": (47, 55), "height": (0, 9)},
    ],
)
def test_other_columns_are_not_taken_for_geography(columns):
    assert layout_of(sf.Box(columns)) == Layout()


def test_any_two_columns_can_be_drawn_to_scale():
    assert layout_of(sf.Box({"x": (0, 10), "y": (0, 8)}), to_scale=True) == Layout(aspect=1.0)
    assert layout_of(sf.Box({"lon": (5, 15), "lat": (-60, 60)}), to_scale=True).aspect == pytest.approx(1.0)
    for columns in ({"x": (0, 1)}, {"x": (0, 1), "sex": sf.Categorical(["F", "M"])}, dict.fromkeys("abc", (0, 1))):
        with pytest.raises(ParameterError, match="map draws two columns of numbers to scale, this release has"):
            layout_of(sf.Box(columns), to_scale=True)


# --- colours ----------------------------------------------------------------------------------------------------


def towns(sizes, width=0.02):
    """Round towns of these sizes on a square, as a density on a grid."""
    places = np.random.default_rng(2).uniform(0.05, 0.95, (len(sizes), 2))
    x = np.linspace(0, 1, 81)
    near = [np.exp(-((x[:, None] - place) ** 2) / (2 * width**2)) for place in places]
    return sum(size * part[:, :1] @ part[:, 1:].T for size, part in zip(sizes, near, strict=True)), places


def colour_of(levels, value):
    return int(np.searchsorted(levels, value, side="right")) - 1


def test_even_densities_have_even_steps():
    for values in (towns([1.0], 0.2)[0], np.linspace(0, 3, 50), towns([1.0, 0.8], 0.05)[0]):
        levels = np.array(levels_of(values, density=True))
        assert np.diff(levels) == pytest.approx(np.full(len(levels) - 1, levels[1] - levels[0]))
        assert levels[0] <= values.min() and values.max() <= levels[-1] and 4 <= len(levels) <= 13


def test_no_town_vanishes_beside_a_city():
    sizes = 1 / np.arange(1, 51) ** 1.3
    values, places = towns(sizes)
    even = np.linspace(0, values.max(), 11)
    levels = levels_of(values, density=True)
    x = np.linspace(0, 1, 81)
    peaks = [values[np.abs(x - a).argmin(), np.abs(x - b).argmin()] for a, b in places]
    assert sum(colour_of(even, peak) == 0 for peak in peaks) > 25  # what a picture did with them
    assert all(colour_of(levels, peak) > 2 for peak in peaks)
    assert levels[0] == 0 and max(b / a for a, b in pairwise(levels[1:])) <= 2.5 + 1e-9


def test_functions_that_are_no_densities_have_even_steps():
    levels = np.array(levels_of(towns(1 / np.arange(1, 51) ** 1.3)[0], density=False))
    assert np.ptp(np.diff(levels)) < 1e-9


def test_what_is_the_same_everywhere_has_no_levels():
    assert levels_of(np.full((3, 3), 0.2), density=True) == levels_of(np.zeros(4), density=False) == ()


@given(st.lists(FRACTIONS, min_size=2, max_size=60, unique=True), st.floats(1e-12, 1e12), st.booleans())
def test_levels_hold_all_values_and_rise(values, unit, density):
    numbers = unit * np.array(values)
    levels = levels_of(numbers, density)
    if levels:
        assert all(a < b for a, b in pairwise(levels)) and len(levels) <= 14
        assert levels[0] <= numbers.min() * (1 + 1e-9) and numbers.max() <= levels[-1] * (1 + 1e-9)
