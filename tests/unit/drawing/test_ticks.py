"""Ticks stand where hours and degrees belong, and never run into each other."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.bases.statistics.sums import Tally
from sfumato.drawing.ticks import level_words, number_ticks
from sfumato.faces.slices import through_values
from unit.drawing.support import bayes, curve, machine, statistic
from unit.drawing.test_function import make

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

LONG = ["Married-civilian-spouse", "Married-spouse-absent", "Never-married-before", "Divorced"]
WIDE = {"weight": (0, 1_500_000), "gain": (0, 99_999), "year": (1_900, 2_030), "share": (0, 0.0001), "debt": (-2e5, 0)}


def labels(axis):
    return [label for label in axis.get_ticklabels() if label.get_text() and label.get_visible()]


def collisions(figure):
    """Pairs of tick labels anywhere in a figure that touch each other."""
    figure.canvas.draw()
    found, boxes = [], []
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis) if ax.axison else ():
            low, high = sorted(axis.get_view_interval())
            room = 1e-9 * (high - low)
            ticks = zip(axis.get_majorticklocs(), axis.get_ticklabels(), strict=True)
            inside = [label for place, label in ticks if low - room <= place <= high + room and label.get_text()]
            boxes += [(label.get_text(), label.get_window_extent()) for label in inside]
    for i, (one, box) in enumerate(boxes):
        found += [(one, other) for other, next_box in boxes[i + 1 :] if box.overlaps(next_box)]
    return found


def figure_of(drawn):
    return np.atleast_1d(np.asarray(drawn, dtype=object)).ravel()[0].figure


# --- hours and degrees ------------------------------------------------------------------------------------------


def test_hours_and_degrees_have_their_ticks():
    clock = make(sf.Bernstein(3), sf.Box({"hour": sf.Periodic(0, 24)})).plot()
    assert [label.get_text() for label in labels(clock.xaxis)] == ["0", "6", "12", "18", "24"]
    plane = sf.Box({"hour": sf.Periodic(0, 24), "wind": sf.Periodic(0, 360)})
    for ax in make(sf.Bernstein((2, 2)), plane).plot():
        assert ax.get_xticks().tolist() == [0, 6, 12, 18, 24] and ax.get_yticks().tolist() == [0, 90, 180, 270, 360]
    (line, *_) = np.ravel(bayes({"month": sf.Periodic(1, 13)}, count=200).plot())[1:]
    assert line.get_xticks().tolist() == list(range(1, 13, 2))  # all twelve do not fit
    assert machine({"month": sf.Periodic(1, 13)}).plot().get_xticks().tolist() == list(range(1, 13))
    regions = machine({"hour": sf.Periodic(0, 24), "age": (0, 110)}).plot()
    assert regions.get_xticks().tolist() == [0, 6, 12, 18, 24]


def test_the_hours_of_a_histogram():
    drawn = statistic(Tally("histogram", (12,), False), {"hour": sf.Periodic(0, 24)}).plot()
    assert drawn.get_xticks().tolist() == [0, 6, 12, 18, 24]


# --- dates ------------------------------------------------------------------------------------------------------

YEAR = sf.Date("2024-01-01", "2025-01-01")


@pytest.mark.slow
def test_dates_have_their_ticks_in_curves_slices_and_maps():
    for ax in (make(sf.Bernstein(3), sf.Box({"visit": YEAR})).plot(), machine({"visit": YEAR}).plot()):
        ax.figure.canvas.draw()
        words = [label.get_text() for label in labels(ax.xaxis)]
        assert words[0] == "2024" and {"Jul"} <= {*words} and not any(word.isdigit() for word in words[1:-1])
    along = {"visit": YEAR, "age": (0, 110), "bmi": (10, 60)}
    (slices, *_) = make(sf.Bernstein(1), sf.Box(along)).plot()
    plane = make(sf.Bernstein((2, 2)), sf.Box({"age": (0, 110), "visit": YEAR})).plot()
    for ax, axis in ((slices, slices.xaxis), (plane[0], plane[0].yaxis)):
        ax.figure.canvas.draw()
        assert "Jul" in [label.get_text() for label in labels(axis)]


def test_the_point_of_a_slice_and_the_edges_of_a_table_are_dates():
    seen = through_values(sf.Box({"visit": YEAR, "age": (0, 110)}), np.array([19723.0, 40.0]), "most frequent values")
    assert seen[1] == "the other columns at their most frequent values: visit 2024-01-01 and age 40"
    table = statistic(Tally("histogram", (2, 3), False), {"visit": YEAR, "age": (0, 110)}).plot()
    assert [label.get_text() for label in labels(table.xaxis)] == ["2024-01-01", "2024-07-02", "2025-01-01"]


# --- room -------------------------------------------------------------------------------------------------------


@pytest.mark.slow  # a quick run does not arrange what is in a picture
def test_large_numbers_leave_room_for_each_other():
    assert not collisions(figure_of(bayes(WIDE, count=400).plot()))
    assert not collisions(figure_of(make(sf.Bernstein(1), sf.Box(dict(list(WIDE.items())[:4]))).plot()))
    assert not collisions(figure_of(curve({"weight": WIDE["weight"]}, count=100).plot()))
    assert not collisions(figure_of(make(sf.Bernstein(2), sf.Box(dict(list(WIDE.items())[:2]))).plot()))


def test_a_power_of_ten_goes_to_the_name_of_its_column():
    axes = bayes(WIDE, count=400).plot().ravel()
    assert axes[1].get_xlabel() == "(×\N{NO-BREAK SPACE}10⁶)" and axes[2].get_xlabel() == ""
    ax = make(sf.Bernstein(2), sf.Box({"weight": (0, 1_500_000)})).plot()
    assert ax.get_xlabel() == "weight (×\N{NO-BREAK SPACE}10⁶)"
    ax.figure.canvas.draw()
    assert "1.0" in [label.get_text() for label in labels(ax.xaxis)]


@pytest.mark.slow
def test_long_names_of_categories_leave_room_and_stay_different():
    columns = {"marital": sf.Categorical(LONG), "age": (0, 110), "work": sf.Categorical([*LONG[1:], "other"])}
    axes = bayes(columns, count=400).plot().ravel()
    assert not collisions(axes[0].figure)
    names = [label.get_text() for label in labels(axes[1].yaxis)]
    assert len({*names}) == 4
    table = statistic(
        Tally("proportions", (4, 4), True), {"marital": columns["marital"], "work": columns["work"]}
    ).plot()
    assert not collisions(table.figure)
    assert [label.get_rotation() for label in labels(table.xaxis)] == [90.0] * 4
    assert len({label.get_text() for label in labels(table.xaxis)}) == 4


def test_short_names_lie_flat():
    columns = {"a": sf.Categorical(["x", "y"]), "b": sf.Categorical(["u", "v"])}
    table = statistic(Tally("proportions", (2, 2), True), columns).plot()
    assert [label.get_rotation() for label in labels(table.xaxis)] == [0.0, 0.0]


@pytest.mark.parametrize("limits", [(0, 1), (-3e7, 5), (99_000, 100_000), (1e-9, 3e-9), (5, 5.001)])
def test_ticks_fit_into_their_room(limits):
    ax = pyplot.figure().add_subplot()
    ax.set_xlim(*limits)
    for room in (12, 20, 60):
        number_ticks(ax.xaxis, limits, room)
        ax.figure.canvas.draw()
        shown = [label.get_text() for label in labels(ax.xaxis)]
        assert len(shown) <= 3 or len(shown) * (max(map(len, shown)) + 2) <= room + 2 * max(map(len, shown))


def test_levels_are_written_with_as_few_digits_as_tell_them_apart():
    assert level_words([0.0, 0.15, 0.3]) == (["0.00", "0.15", "0.30"], "")
    assert level_words([0.0, 0.001, 0.002, 0.005]) == (["0", "1", "2", "5"], " (×\N{NO-BREAK SPACE}10⁻³)")
    assert level_words([0.0, 0.005, 0.01, 2.0])[0] == ["0", "0.005", "0.01", "2"]
    assert level_words([-5e7, 0.0, 5e7]) == (["\N{MINUS SIGN}5", "0", "5"], " (×\N{NO-BREAK SPACE}10⁷)")
