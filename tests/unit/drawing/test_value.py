"""Pictures of statistics: a number with its limits, bars with whiskers, maps of tables; what random ones say."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.bases.statistics.quantiles import Grid, Quantiles
from sfumato.bases.statistics.sums import Given, Tally
from sfumato.drawing.style import WARN, WARN_ON_DARK
from sfumato.drawing.value import MOST_BARS
from sfumato.errors import ParameterError
from sfumato.faces.promise import HEADLINE
from sfumato.faces.value import Figures, digits
from unit.drawing.support import PLANE, SEX, WARD, sampled_certificate, statistic

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402


def texts(ax):
    """All words on axes."""
    ax.figure.canvas.draw()
    return [text.get_text() for text in ax.texts] + [ax.get_title(loc="left"), ax.get_xlabel(), ax.get_ylabel()]


def whiskers(ax):
    """Both ends of every whisker, ``(m, 2)``: along the axis that they differ in."""
    (lines,) = [c for c in ax.collections if isinstance(c, matplotlib.collections.LineCollection)][-1:]
    ends = np.array(lines.get_segments())
    along = int(np.ptp(ends[:, :, 1]) > 0 and np.allclose(ends[:, 0, 0], ends[:, 1, 0]))
    return ends[:, :, along]


# --- pictures ---------------------------------------------------------------------------------------------------


def test_a_number_with_its_limits():
    release = statistic("mean")
    ax = release.plot(confidence=0.9)
    low, high = release.interval(0.9)
    assert whiskers(ax)[0] == pytest.approx([low, high])
    assert ax.lines[-1].get_xdata()[0] == pytest.approx(release.value)
    left, right = ax.get_xlim()
    assert left < low < high < right and high - low > 0.4 * (right - left)
    assert "60.50" in texts(ax) and "mean of age" in texts(ax)
    assert any("whiskers: 90 % limits of what the records themselves give" in text for text in texts(ax))


def test_a_number_without_room_to_move_and_one_by_one_matrices():
    empty = statistic("own", numbers=[3.0])
    assert empty.plot().get_xlim()[0] < 3 < empty.plot().get_xlim()[1]
    assert "whiskers" in " ".join(texts(statistic("covariance").plot()))


def test_limits_that_tell_nothing_are_said_to():
    assert any("nothing closer is known" in text for text in texts(statistic("median").plot()))
    near = statistic(Quantiles("median", (0.5,), Grid(0, 11001, 2), True, 0.4, 0.5), numbers=[50.0, 40.0, 60.0])
    assert not any("nothing closer" in text for text in texts(near.plot()))


def test_bounds_are_a_span():
    ax = statistic("bounds").plot()
    assert ax.lines[0].get_xdata().tolist() == [16, 128] and {"16", "128"} <= set(texts(ax))


def test_a_histogram_stands_on_its_axis():
    release = statistic("histogram")
    ax = release.plot()
    bars = ax.patches
    assert [bar.get_height() for bar in bars] == pytest.approx(release.value.tolist())
    assert [bar.get_x() + bar.get_width() / 2 for bar in bars] == pytest.approx((np.arange(10) * 11 + 5.5).tolist())
    assert ax.get_xlim() == (0, 110) and ax.get_ylim()[0] == 0 and ax.get_xlabel() == "age"
    low, high = release.interval()
    assert whiskers(ax) == pytest.approx(np.stack([low, high], axis=1))


def test_bars_with_whiskers():
    release = statistic("proportions", WARD)
    ax = release.plot()
    assert [bar.get_width() for bar in ax.patches] == pytest.approx(release.value.tolist())
    assert [label.get_text() for label in ax.get_yticklabels()] == ["surgery", "cardiology", "oncology"]
    low, high = release.interval()
    assert whiskers(ax) == pytest.approx(np.stack([low, high], axis=1))
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the first is on top
    assert [bar.get_width() for bar in statistic("several").plot().patches] == pytest.approx([-1, 0, 1, 2])


def test_quantiles_are_dots():
    ax = statistic("quantiles").plot()
    assert not ax.patches and ax.get_ylabel() == "level" and ax.get_xlabel() == "age"
    assert ax.lines[0].get_xdata().tolist() == [40, 50, 60]


def test_of_many_bars_the_largest_are_drawn():
    release = statistic(Given(50), numbers=np.arange(50.0))
    ax = release.plot()
    assert len(ax.patches) == MOST_BARS and min(bar.get_width() for bar in ax.patches) == 50 - MOST_BARS
    assert any("the 30 largest of 50" in text for text in texts(ax))


def test_a_table_is_a_map():
    release = statistic("proportions", {**SEX, **WARD})
    ax = release.plot()
    (mesh,) = [c for c in ax.collections if isinstance(c, matplotlib.collections.QuadMesh)]
    assert np.asarray(mesh.get_array()).reshape(2, 3) == pytest.approx(release.value)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["F", "M"] and ax.get_ylim()[0] > ax.get_ylim()[1]
    first = Figures.of(release, 0.95)
    assert f"{first.entries()[0].value}\n±{first.reach_text((0, 0))}" in texts(ax)


def test_two_numeric_columns_are_a_plane():
    release = statistic(Tally("histogram", (3, 4), False), PLANE)
    ax = release.plot()
    (mesh,) = [c for c in ax.collections if isinstance(c, matplotlib.collections.QuadMesh)]
    assert np.asarray(mesh.get_array()).reshape(4, 3) == pytest.approx(release.value.T)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("age", "bmi") and ax.get_ylim()[0] < ax.get_ylim()[1]
    spot = {text.get_text().split("\n")[0]: text.get_position() for text in ax.texts}
    assert spot[digits(release.value[2, 0], 0)] == (2.5, 0.5)  # the first column goes to the right


def test_a_large_map_has_a_bar_and_no_numbers():
    release = statistic(Tally("histogram", (10, 10), False), PLANE)
    ax = release.plot()
    assert len(ax.figure.axes) == 2 and len(ax.texts) == 1
    assert "all at once: within" in ax.texts[0].get_text()
    flat = statistic(Tally("histogram", (10, 10), False), PLANE, numbers=np.zeros(100))
    flat.plot().figure.canvas.draw()


def test_three_columns_are_too_many():
    with pytest.raises(ParameterError, match="along one or two columns, this one is along 3"):
        statistic("histogram", {**PLANE, **SEX}).plot()


def test_axes_of_the_caller_keep_their_look():
    _, ax = pyplot.subplots(facecolor="black")
    assert statistic("histogram").plot(ax=ax) is ax
    assert ax.get_facecolor()[:3] == (1, 1, 1)
    _, pair = pyplot.subplots(1, 2)
    with pytest.raises(ParameterError, match="one matplotlib Axes"):
        statistic("mean").plot(ax=pair)


def test_names_are_no_formulas():
    wild = {"$x^{\\frac{$": sf.Categorical(["$a^{$", "b"])}
    statistic("proportions", wild).plot().figure.canvas.draw()
    statistic("proportions", {**wild, **SEX}).plot().figure.canvas.draw()
    statistic("mean", {"$x^{\\frac{$": (0, 1)}).plot().figure.canvas.draw()


# --- random differential privacy --------------------------------------------------------------------------------


@pytest.mark.parametrize("dark", [False, True])
def test_a_picture_of_a_random_promise_warns(dark):
    release = statistic("own", certificate=sampled_certificate(0.1))
    assert release.guarantee.confidence == 0.9
    _, ax = pyplot.subplots(facecolor="black" if dark else "white")
    ax.set_facecolor("black" if dark else "white")
    release.plot(ax=ax)
    (warning,) = [text for text in ax.texts if text.get_text().replace("\n", " ").startswith(HEADLINE)]
    assert "gamma = 0.1" in warning.get_text().replace("\n", " ")
    assert warning.get_color() == (WARN_ON_DARK if dark else WARN) and warning.get_alpha() in (None, 1)
    assert not any(HEADLINE in text.replace("\n", " ") for text in texts(statistic("own").plot()))


def test_a_random_function_warns_too():
    oracle = sf.oracles.uniform(sf.Box([(0, 110)]))
    box, basis = sf.Box([(0, 110)]), sf.Bernstein(3)

    def fit(data):
        return lambda points: points[:, 0] * np.mean(data)

    settings = {"n": 20, "gamma": 0.1, "rule": "exchangeable", "box": box, "basis": basis, "seed": 1}
    certificate = sf.sample_sensitivity(fit, oracle, progress=False, **settings)
    privacy = sf.Privacy(epsilon=1.0, gamma=0.1)
    release = sf.release(sf.BlackBox(fit, certificate), np.full((20, 1), 40.0), box, privacy, basis=basis)
    ax = release.plot()
    assert any(HEADLINE in text.replace("\n", " ") and "gamma = 0.1" in text for text in texts(ax))
