"""Pictures of summaries: densities, shares, correlations, and how far off answers are by the width of the question."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.drawing import figure_of, plot
from sfumato.drawing.summary import PAINTER
from sfumato.errors import ParameterError
from sfumato.faces.summary import MOST_COLUMNS, Bars, Correlations, Curve, Plane, Reach, overview
from sfumato.releases.summary.quality import drawn_width, errors_by_width, sampling_error
from unit.drawing.summary_support import LINE, MIXED, PLANE, SEX, WARD, summary

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

BUMP = "error of a bump, in percentage points"
SPACE = {**PLANE, "systolic": (60, 240)}


@pytest.fixture(scope="module")
def mixed():
    return summary(MIXED, 6, count=200_000)


def titles(axes):
    return [ax.get_title(loc="left").replace("\n", " ") for ax in np.ravel(axes)]


def kinds(release, confidence=0.95):
    return [type(panel) for panel in overview(release, confidence).panels]


def test_one_column_is_drawn_as_a_density_with_its_limits():
    release = summary(LINE, 10)
    left, right = release.plot()
    assert titles([left, right]) == ["density of age", BUMP]
    (line,) = left.lines
    width = drawn_width(errors_by_width(release, [0]))
    assert left.get_xlabel() == f"age (bandwidth {110 * width:.3g})"
    own = release.kde(line.get_xdata(), bandwidth=110 * width)
    assert line.get_ydata() == pytest.approx(own.value, abs=1e-9)
    limits = overview(release, 0.95).panels[0].limits
    assert (limits.high - limits.value >= 0.99 * own.error).all() and (limits.low <= limits.value).all()
    assert left.get_ylim()[0] == 0


def test_limits_follow_the_confidence():
    release = summary(LINE, 10, count=500)
    close, sure = (overview(release, level).panels[0].limits for level in (0.5, 0.99))
    assert (sure.high - sure.low > close.high - close.low).mean() > 0.9


def test_the_error_of_a_bump_by_its_width():
    release = summary(PLANE, 8)
    ax = plot(release)[2]
    lines = {line.get_label(): line for line in ax.lines}
    assert list(lines) == ["noise", "missed", "both", "both, two columns", "sampling"]
    assert lines["sampling"].get_ydata()[0] == pytest.approx(100 * sampling_error(release))
    found = errors_by_width(release, [0])
    some = found.widths >= 0.0099
    assert lines["both"].get_xdata() == pytest.approx(100 * found.widths[some])
    assert lines["both"].get_ydata() == pytest.approx(100 * found.total[some])
    two = errors_by_width(release, [0, 1])
    assert lines["both, two columns"].get_ydata() == pytest.approx(100 * two.total[some])
    assert ax.get_xscale() == ax.get_yscale() == "log"


def test_two_columns_are_drawn_as_a_map_beside_its_limits():
    release = summary(PLANE, 8)
    axes = release.plot(confidence=0.9)
    assert kinds(release) == [Plane, Reach]
    assert titles(axes)[0].startswith("density, bandwidths ") and titles(axes)[1].startswith("reach of its 90 % limits")
    assert [ax.get_xlabel() for ax in axes[:2]] == ["age", "age"] and axes[0].get_ylabel() == "bmi"
    panel = overview(release, 0.95).panels[0]
    points = np.array([[panel.field.x[i], panel.field.y[j]] for i, j in ((3, 20), (20, 5))])
    own = release.kde(points, bandwidth=[110 * panel.width, 50 * panel.width]).value
    assert panel.field.values[[3, 20], [20, 5]] == pytest.approx(own, abs=1e-9)


def test_a_map_is_hatched_where_there_may_be_nobody():
    release = summary(PLANE, 6, count=100)
    assert "hatched: may be zero" in overview(release, 0.95).caption
    assert len(release.plot()[0].collections) > 2


def test_two_columns_that_do_not_interact_are_drawn_by_themselves():
    release = summary(PLANE, 6, 1)
    assert kinds(release) == [Curve, Curve, Reach]
    assert "no correlation is known to within 0.5" in overview(release, 0.95).caption


def test_categories_have_bars_with_whiskers(mixed):
    axes = mixed.plot()
    assert kinds(mixed) == [Curve, Curve, Bars, Bars, Correlations, Reach]
    assert titles(axes)[2:4] == ["shares of sex", "shares of ward"]
    own = [mixed.share({"ward": name}).value for name in WARD["ward"].categories]
    assert [bar.get_width() for bar in axes[3].patches] == pytest.approx(own)
    assert [label.get_text() for label in axes[3].get_yticklabels()] == list(WARD["ward"].categories)
    bars = overview(mixed, 0.95).panels[3]
    assert [line.get_xdata().tolist() for line in axes[3].lines] == np.stack(
        [bars.limits.low, bars.limits.high], axis=1
    ).tolist()


def test_only_categories():
    ax = summary(WARD).plot()
    assert titles(ax) == ["shares of ward"] and ax.figure.axes == [ax]
    assert "bands" not in overview(summary(WARD), 0.95).caption


def test_of_many_categories_the_largest_are_drawn():
    release = summary({"town": sf.Categorical([f"t{i}" for i in range(20)])}, count=3000)
    assert titles(release.plot()) == ["shares of town: the 12 largest of 20"]


def test_correlations_are_written_with_their_limits(mixed):
    panel = overview(mixed, 0.95).panels[4]
    assert panel.value == pytest.approx(mixed.correlation(["age", "bmi"]).value)
    texts = [text.get_text() for text in mixed.plot()[4].texts]
    assert len(texts) == 2 and texts[0].startswith(f"{panel.value[0, 1]:.2f}\n±") and panel.known[0, 1]
    assert float(texts[0].partition("±")[2]) >= panel.reach[0, 1]


def test_correlations_that_noise_hides_are_not_shown():
    release = summary(SPACE, 4, 2, count=200)
    assert Correlations not in kinds(release)
    assert "no correlation is known to within 0.5" in overview(release, 0.95).caption


def test_correlations_of_many_columns_have_a_bar():
    names = {f"x{i}": (0, 1) for i in range(7)}
    axes = summary(names, 3, 2, count=50_000, delta=1e-6, epsilon=100.0).plot()
    assert titles(axes)[7].startswith("correlations, ±") and not axes[7].texts and len(axes[0].figure.axes) == 10


@pytest.mark.few(1)
@pytest.mark.parametrize("columns", [8, 40])
def test_of_many_columns_the_first_are_drawn(columns):
    release = summary({f"x{i}": (0, 1) for i in range(columns)}, 3, 2, count=100)
    seen = overview(release, 0.95)
    assert sum(isinstance(panel, Curve) for panel in seen.panels) == MOST_COLUMNS
    assert f"the first 7 columns, and {columns - 7} more are in the file" in seen.caption


def test_the_last_panel_takes_what_is_left_of_its_row(mixed):
    seen = overview(mixed, 0.95)
    assert PAINTER.needed(seen) == 6
    assert PAINTER.shape(seen, False) == (2, 3) and PAINTER.shape(seen, True) == (6, 1)
    plane = overview(summary(PLANE, 6), 0.95)
    assert PAINTER.needed(plane) == 3 and PAINTER.shape(plane, False) == (2, 2)
    wide = figure_of(plane, stacked=False).axes
    assert wide[2].get_position().width > 1.5 * wide[0].get_position().width
    tall = figure_of(plane, stacked=True).axes
    assert tall[0].get_position().y0 > tall[1].get_position().y1 > tall[2].get_position().y1


def test_a_private_number_of_records():
    release = summary({**LINE, **SEX}, 8, neighbours="add-remove")
    release.plot()[0].figure.canvas.draw()
    nothing = summary(LINE, 8, count=2, neighbours="add-remove", epsilon=0.01)
    nothing.plot()[0].figure.canvas.draw()


def test_names_are_no_formulas():
    wild = {"$x^{\\frac{$": sf.Categorical(["$a^{$", "b"]), "b\x00": (0, 1), "$z^{$": (0, 1)}
    summary(wild, 4, count=100_000).plot()[0].figure.canvas.draw()
    summary({"$x^{$": (0, 1), "$y_{$": (0, 1)}, 4).plot()[0].figure.canvas.draw()


def test_axes_of_the_caller(mixed):
    _, axes = pyplot.subplots(2, 3, facecolor="black")
    for ax in axes.ravel():
        ax.set_facecolor("black")
    assert mixed.plot(ax=axes) is axes
    axes[0, 0].figure.canvas.draw()
    assert "95 % limits" in axes[0, 0].texts[0].get_text().replace("\n", " ")
    with pytest.raises(ParameterError, match="6 matplotlib Axes"):
        mixed.plot(ax=axes[0, 0])
