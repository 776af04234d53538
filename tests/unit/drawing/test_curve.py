"""Pictures of regression curves: lines with bands, maps that are blank where nothing is known."""

import numpy as np
import pytest

from sfumato.drawing.machine import PAINTER
from sfumato.errors import ParameterError
from sfumato.faces import face_of
from sfumato.faces.curve import most_frequent
from sfumato.faces.words import number
from unit.drawing.support import LINE, PLANE, SPACE, curve

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402


@pytest.fixture(scope="module")
def corner():
    """A curve whose records fill the middle of a plane."""
    return curve(PLANE, least=0.25, most=0.75)


def hatches(ax):
    return [h for c in ax.collections if getattr(c, "hatches", None) for h in c.hatches if h]


def test_one_column_is_a_line_with_its_band():
    release = curve(LINE)
    ax = release.plot(confidence=0.9)
    (line,) = [a for a in ax.lines if a.get_label() == "regression"]
    x, y = line.get_data()
    low, high = release.band(x, 0.9)
    edges = [a.get_ydata() for a in ax.lines if a is not line]
    assert y == pytest.approx(release(x)) and (x[0], x[-1]) == (0, 110)
    assert edges[0] == pytest.approx(low) and edges[1] == pytest.approx(high)
    assert ax.get_title(loc="left") == "mean bp" and ax.get_xlabel() == "age"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["regression", "90 % band"]
    assert [text.get_text() for text in ax.texts] == ["epsilon = 20, replace one row; bandwidth 8.8"]


def test_two_columns_are_a_map_beside_how_far_its_band_reaches():
    left, right = curve(PLANE).plot()
    assert left.get_title(loc="left") == "mean bp" and right.get_title(loc="left").startswith("reach of its 95 %")
    assert (left.get_xlabel(), left.get_ylabel()) == ("age", "bmi")
    assert not hatches(left) and "hatched" not in left.texts[0].get_text()


def test_what_noise_alone_drew_is_hatched_and_does_not_stretch_the_colours(corner):
    panel = face_of(corner, 0.95).picture().panels[0].field
    points = np.stack(np.meshgrid(panel.x, panel.y, indexing="ij"), axis=-1).reshape(-1, 2)
    low, high = corner.band(points, 0.95)
    nothing = (low == 60) & (high == 220)
    assert (panel.hatched.ravel() == nothing).all() and (np.isnan(panel.values).ravel() == nothing).all()
    assert 0 < nothing.sum() < len(nothing)
    left, right = corner.plot()
    assert hatches(left) == hatches(right) == ["////"]
    assert left.texts[0].get_text().endswith("hatched: too few records to say anything")
    bar = left.figure.axes[2]
    known = corner(points)[~nothing]
    step = np.ptp(bar.get_yticks()) / 4
    assert known.min() - step <= bar.get_yticks().min() and bar.get_yticks().max() <= known.max() + step


@pytest.mark.slow
def test_where_nothing_is_known_at_all_the_release_is_drawn():
    release = curve(PLANE, count=20, epsilon=0.01)
    (panel,) = face_of(release, 0.95).picture().panels
    assert panel.field.hatched.all() and np.isfinite(panel.field.values).all()
    left, _ = release.plot()
    assert hatches(left) == ["////"]
    left.figure.canvas.draw()


@pytest.mark.slow
def test_three_columns_are_drawn_one_by_one_with_the_others_where_most_records_are():
    release = curve(SPACE)
    seen = face_of(release, 0.95).picture()
    panels = seen.panels
    assert [panel.column for panel in panels] == [0, 1, 2] and PAINTER.size(seen, False)[0] > 9
    at = most_frequent(release)
    points = np.repeat(at[None, :], len(panels[1].x), axis=0)
    points[:, 1] = panels[1].x
    assert panels[1].values[0] == pytest.approx(release(points))
    figure = release.plot()[0].figure
    told = f"age {number(at[0])}, bmi {number(at[1])} and systolic {number(at[2])}"
    title = figure.legends[0].get_title().get_text().replace("\n", " ")
    assert title == f"mean bp, the other columns at their most frequent values: {told}"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["regression", "95 % band"]


def test_names_are_no_formulas():
    wild = {"$x^{\\frac{$": (0, 1), "b\x00": (0, 1)}
    curve(wild, response="$y^{$").plot()[0].figure.canvas.draw()
    curve(dict(list(wild.items())[:1]), response="$y^{$").plot().figure.canvas.draw()


def test_axes_of_the_caller():
    _, ax = pyplot.subplots(facecolor="black")
    ax.set_facecolor("black")
    assert curve(LINE).plot(ax=ax) is ax
    with pytest.raises(ParameterError, match="a pair of matplotlib Axes"):
        curve(PLANE).plot(ax=ax)
