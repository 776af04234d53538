"""Pictures of learners: curves, regions, slopes; what is certain and what is not."""

import re
from dataclasses import replace

import numpy as np
import pytest

import sfumato as sf
from sfumato.drawing.machine import PAINTER
from sfumato.errors import ParameterError
from sfumato.faces import face_of
from sfumato.faces.slices import slope_limits, slopes_of
from unit.drawing.support import LINE, PLANE, SPACE, machine

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

LINEAR = sf.LinearKernel()
STAGES = ("none", "mild", "severe")


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def captions(ax):
    return [text.get_text() for text in ax.texts]


# --- one column -------------------------------------------------------------------------------------------------


def test_a_curve_shows_the_decision_its_band_and_the_zero_line():
    release = machine(LINE)
    ax = release.plot(confidence=0.9)
    (curve,) = [a for a in ax.lines if a.get_label() == "decision function"]
    x, y = curve.get_data()
    low, high = release.band(x, 0.9)
    edges = [a.get_ydata() for a in ax.lines if len(a.get_xdata()) == len(x) and a is not curve]
    assert y == pytest.approx(release(x)) and (x[0], x[-1]) == (0, 110)
    assert edges[0] == pytest.approx(low) and edges[1] == pytest.approx(high)
    assert [0, 0] in [list(a.get_ydata()) for a in ax.lines]
    assert ax.get_title(loc="left") == "decision function for disease" and ax.get_xlabel() == "age"
    assert legend(ax)[:4] == ["decision function", "90 % band", "no", "yes"]
    assert captions(ax) == ["epsilon = 1, replace one row"]


def strips(ax):
    """The stretches of the strip of labels: left, right, whether hatched."""
    found = []
    for patch in ax.patches:
        left, right = sorted(patch.get_extents().transformed(ax.transData.inverted()).intervalx)
        found.append((left, right, patch.get_hatch() is not None))
    return found


def test_the_strip_is_hatched_where_the_label_is_not_certain():
    release = machine(LINE)
    ax = release.plot()
    ages = np.linspace(0, 110, 201)
    sure, half = release.certain(ages), 110 / 400
    assert 0 < sure.sum() < len(sure)
    for age, certain in zip(ages, sure, strict=True):
        hatched = [h for left, right, h in strips(ax) if left - 1e-6 <= age <= right + 1e-6 and right - left > half]
        assert any(hatched) != certain or len(set(hatched)) == 2, age
    assert "not certain" in legend(ax)
    assert "not certain" not in legend(machine(LINE, bound=1e-9, kernel=sf.LinearKernel(), weights=[[0.0, 3.0]]).plot())


def test_a_band_far_beyond_the_decision_leaves_the_decision_to_be_seen():
    """Which of both is the larger is said, and the strip of labels is hatched all along."""
    wide, narrow = machine(LINE, bound=100.0), machine(LINE, bound=1e-3)
    ages = np.linspace(0, 110, 201)
    largest = max(1.0, np.abs(wide(ages)).max())
    ax = wide.plot()
    bottom, top = ax.get_ylim()
    assert (wide.band(ages)[1] - wide.band(ages)[0]).max() > 20 * largest
    assert top <= 3 * largest and bottom >= -3.5 * largest
    assert "95 % band, wider than shown" in legend(ax) and "not certain" in legend(ax)
    ax = narrow.plot()
    assert "95 % band" in legend(ax)
    low, high = narrow.band(ages)
    assert ax.get_ylim()[0] <= low.min() and high.max() <= ax.get_ylim()[1]


def test_more_classes_have_a_line_each():
    release = machine(LINE, classes=STAGES)
    ax = release.plot()
    lines = {a.get_label(): a for a in ax.lines if a.get_label() in STAGES}
    x = lines["mild"].get_xdata()
    assert lines["severe"].get_ydata() == pytest.approx(release(x)[:, 2])
    assert len({a.get_linestyle() if isinstance(a.get_linestyle(), str) else 0 for a in lines.values()}) > 1
    assert legend(ax)[:4] == ["none", "95 % band of each", "mild", "severe"]


def test_a_regression_shows_its_prediction_in_its_own_units():
    release = machine(LINE, range=(60, 220), loss="huber")
    ax = release.plot()
    assert legend(ax) == ["prediction", "95 % band"] and ax.get_title(loc="left") == "predicted value"
    (curve,) = [a for a in ax.lines if a.get_label() == "prediction"]
    assert curve.get_ydata() == pytest.approx(release.predict(curve.get_xdata()))


# --- two columns ------------------------------------------------------------------------------------------------


def test_regions_are_those_of_the_labels_and_solid_where_they_are_certain():
    for classes in (("no", "yes"), STAGES):
        release = machine(PLANE, classes=classes)
        (panel,) = face_of(release, 0.95).picture().panels
        points = np.stack(np.meshgrid(panel.x, panel.y, indexing="ij"), axis=-1).reshape(-1, 2)
        named = np.array(classes)[panel.wins.argmax(axis=0)].ravel()
        assert (named == release.predict(points)).all()
        sure = (panel.surely > 0).any(axis=0).ravel()
        assert (sure == release.certain(points, 0.95)).all() and 0 < sure.sum() < len(sure)


def test_regions_say_what_they_are():
    ax = machine(PLANE).plot(confidence=0.9)
    assert legend(ax) == ["no", "yes", "not certain", "decision boundary"]
    assert ax.get_title(loc="left") == "label disease, and where it is certain"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("age", "bmi")
    assert captions(ax)[0].endswith("solid: surely the label that no noise would have given (confidence 90 %)")
    hatches = [h for c in ax.collections if getattr(c, "hatches", None) for h in c.hatches if h]
    assert hatches == ["////"]


def test_what_is_certain_everywhere_has_no_hatches():
    ax = machine(PLANE, kernel=LINEAR, weights=[[0.0, 0.0, 5.0]], bound=1e-6).plot()
    assert legend(ax) == ["no", "yes", "decision boundary"]
    assert not [h for c in ax.collections if getattr(c, "hatches", None) for h in c.hatches if h]


def test_nothing_may_be_certain():
    ax = machine(PLANE, bound=100.0).plot()
    assert "not certain" in legend(ax)
    ax.figure.canvas.draw()


def test_a_regression_of_two_columns_has_its_band_beside_it():
    left, right = machine(PLANE, range=(60, 220)).plot()
    assert left.get_title(loc="left") == "predicted value"
    assert re.fullmatch(r"reach of its 95 % band: [\d.]+ to [\d.]+", right.get_title(loc="left"))


def test_ripples_of_a_flat_band_are_no_news():
    release = machine(PLANE, range=(60, 220), kernel=sf.RBF(0.05), objective=500.0, bound=1e-6)
    release = replace(release, weights=release.weights / 100)
    (panel,) = face_of(release, 0.95).picture().panels
    panel = panel.field
    points = np.stack(np.meshgrid(panel.x, panel.y, indexing="ij"), axis=-1).reshape(-1, 2)
    low, high = release.band(points, 0.95)
    reach = np.maximum(high - release(points), release(points) - low)
    assert 0 < np.ptp(reach) < 0.01 * reach.max()
    assert (panel.reach == reach.max()).all()
    assert "everywhere" in release.plot()[1].texts[0].get_text()
    (rough,) = face_of(machine(PLANE, range=(60, 220)), 0.95).picture().panels
    assert np.ptp(rough.field.reach) > 0


# --- more columns -----------------------------------------------------------------------------------------------


def test_slopes_are_changes_over_the_width_of_the_box():
    release = machine(SPACE, kernel=LINEAR)
    ax = release.plot()
    slopes = slopes_of(release)[0]
    middle = np.array([55.0, 35.0, 150.0])
    for i, (low, high) in enumerate(SPACE.values()):
        ends = np.stack([middle, middle])
        ends[:, i] = low, high
        assert np.diff(release(ends))[0] == pytest.approx(slopes[i])
    order = np.argsort(-np.abs(slopes))
    names = np.array(release.box.names)[order].tolist()
    assert [text.get_text() for text in ax.get_yticklabels()] == names
    assert [bar.get_width() for bar in ax.patches] == pytest.approx(slopes[order])
    assert ax.get_xlabel() == "change over the width of the box"
    assert legend(ax)[:2] == ["a rise speaks for no", "a rise speaks for yes"]


def test_slopes_of_a_regression_are_in_its_units():
    release = machine(SPACE, kernel=LINEAR, range=(0, 200), weights=[[0.1, 0.0, 0.0, 0.0]])
    assert slopes_of(release)[0] == pytest.approx([10, 0, 0])
    assert slope_limits(release, 0.95)[0] == pytest.approx(
        100 * slope_limits(machine(SPACE, kernel=LINEAR), 0.95)[0], rel=1e-6
    )
    assert legend(release.plot())[0] == "slope"


def test_pale_bars_have_no_certain_sign():
    ax = machine(SPACE, kernel=LINEAR, weights=[[3.0, 1e-6, -2.0, 0.0]]).plot()
    densities = [bar.get_facecolor()[3] for bar in ax.patches]
    assert densities[0] == densities[1] > densities[2]
    assert legend(ax)[-1] == "sign not certain"


def test_many_columns_are_cut_to_the_largest_slopes():
    columns = {f"x{i}": (0, 1) for i in range(30)}
    ax = machine(columns, kernel=LINEAR).plot()
    assert len(ax.patches) == 20 and ax.get_title(loc="left").endswith("the 20 largest of 30")


def test_slopes_of_more_classes_are_dots():
    release = machine(SPACE, kernel=LINEAR, classes=STAGES)
    ax = release.plot()
    assert legend(ax) == list(STAGES) and not ax.patches
    seen, other = (face_of(one, 0.95).picture() for one in (release, machine(SPACE, kernel=LINEAR)))
    assert len(seen.panels) == 1
    assert PAINTER.size(seen, False)[1] > PAINTER.size(other, False)[1]


def test_other_kernels_are_shown_column_by_column():
    release = machine(SPACE)
    axes = release.plot()
    assert [ax.get_xlabel() for ax in axes] == list(SPACE)
    (curve,) = [a for a in axes[2].lines if a.get_label() == "decision function"]
    x = curve.get_xdata()
    points = np.stack([np.full_like(x, 55), np.full_like(x, 35), x], axis=1)
    assert curve.get_ydata() == pytest.approx(release(points))
    assert len({ax.get_ylim() for ax in axes}) == 1
    (made,) = axes[0].figure.legends
    title = "the other columns in the middle of the box: a learner does not tell what is typical"
    assert made.get_title().get_text().replace("\n", " ").endswith(title)
    assert [t.get_text() for t in made.get_texts()][:2] == ["decision function", "95 % band"]


def test_a_linear_kernel_at_landmarks_has_no_slopes_of_its_own():
    release = machine(SPACE, kernel=LINEAR, basis=sf.Landmarks(8))
    assert slopes_of(release) is None and len(release.plot()) == 3


def test_of_many_columns_the_most_telling_ones_are_drawn():
    columns = {f"x{i}": (0, 1) for i in range(11)}
    axes = np.ravel(machine(columns).plot())
    drawn = [ax for ax in axes if ax.axison]
    assert len(drawn) == 9 and len(axes) == 9
    assert len([ax for ax in np.ravel(machine({f"x{i}": (0, 1) for i in range(4)}).plot()) if ax.axison]) == 4


# --- axes of yours, and what cannot be drawn --------------------------------------------------------------------


def test_axes_of_yours():
    _, ax = pyplot.subplots()
    assert machine(PLANE).plot(ax) is ax and ax.collections
    _, pair = pyplot.subplots(1, 2)
    machine(PLANE, range=(0, 1)).plot(pair)
    _, three = pyplot.subplots(1, 3)
    machine(SPACE).plot(three)
    for given, release, words in (
        (pair, machine(PLANE), "one matplotlib Axes"),
        (ax, machine(PLANE, range=(0, 1)), "a pair of matplotlib Axes"),
        (ax, machine(SPACE), "3 matplotlib Axes"),
    ):
        with pytest.raises(ParameterError, match=f"ax must be {words}"):
            release.plot(given)


def test_dark_axes_get_light_curves():
    with matplotlib.rc_context({"axes.facecolor": "#111111"}):
        _, ax = pyplot.subplots()
        machine(LINE).plot(ax)
    (curve,) = [a for a in ax.lines if a.get_label() == "decision function"]
    assert sum(matplotlib.colors.to_rgb(curve.get_color())) > 2


def test_names_are_never_code():
    evil = "$x^{\\frac{$\n\u202e<b>"
    release = machine({evil: (0, 1), "b": (0, 1)}, classes=(evil, "other"))
    ax = release.plot()
    ax.figure.canvas.draw()
    assert not any("\u202e" in text or "\n" in text for text in [*legend(ax), ax.get_xlabel()])
    columns = {evil: (0, 1), "b": (0, 1), "c": (0, 1)}
    machine(columns, kernel=LINEAR, classes=(evil, "other")).plot().figure.canvas.draw()
    machine(columns, classes=(evil, "b", "c")).plot()[0].figure.canvas.draw()


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ParameterError, match="6 classes apart, this release has 7"):
        machine(PLANE, classes=tuple("abcdefg")).plot()
    objects = sf.Precomputed([[1.0, 0.2], [0.2, 1.0]], bound=1.0)
    release = machine(PLANE)
    features = release.handed.features
    for kernel, words in ((objects, "columns of numbers"), (None, "attach the kernel")):
        other = replace(release, handed=replace(release.handed, features=replace(features, kernel=kernel)))
        with pytest.raises(ParameterError, match=words):
            other.plot()
    with pytest.raises(ParameterError, match="confidence"):
        release.plot(confidence=2)
    assert pyplot.get_fignums() == []
