"""Pictures of statistics: a number with its limits, bars with whiskers, maps of tables; what random ones say."""

from dataclasses import replace

import numpy as np
import pytest

import sfumato as sf
from sfumato.bases.quantiles import Grid, Quantiles
from sfumato.bases.summaries import Given, Tally
from sfumato.drawing.style import WARN, WARN_ON_DARK
from sfumato.drawing.value import MOST_BARS
from sfumato.errors import ParameterError
from sfumato.faces.promise import HEADLINE, sampled
from sfumato.faces.value import Figures, ValueFace, digits
from unit.drawing.support import PLANE, SEX, WARD, sampled_certificate, statistic

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402


@pytest.fixture(autouse=True)
def _close():
    yield
    pyplot.close("all")


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


# --- what is said of a sampled sensitivity ----------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["dkw", "exchangeable", "pac"])
def test_the_words_of_the_sampler_are_understood(rule):
    names = ("standard (normal); it speaks of nothing", "uniform on Box({'age': (0.0, 110.0)})", "two\nlines")
    for name in names:
        oracle = replace(sf.oracles.gaussian(), name=name)
        plan = sf.sampler_plan(gamma=0.05, rule=rule)
        told = sampled(0.95, sampled_certificate(0.05, rule, oracle).assumptions)
        assert (told.gamma, told.rule, told.oracle) == ("0.05", rule, name)
        assert (told.m, told.k, told.n) == (plan.m, plan.k, 5)
        assert told.how.startswith(f"{rule}: distance {plan.k:,} of {plan.m:,} pairs of tables of 5 records")


def test_a_proved_promise_was_not_sampled_and_other_words_are_no_secret():
    assert sampled(1.0, ("sampled (rule dkw, distance 1 of 1 pairs) from the oracle: x; it speaks",)) is None
    told = sampled(0.9, ("something else",))
    assert (told.gamma, told.rule, told.oracle, told.how) == ("0.1", None, None, "not told")


@pytest.mark.parametrize("gamma", [0.05, 1 / 3, 1 / 21, 0.123456789, 1e-9])
def test_a_gamma_is_never_rounded_down(gamma):
    certificate = replace(sampled_certificate(), confidence=1 - gamma)
    told = float(sampled(certificate.confidence, ()).gamma)
    assert 1 - certificate.confidence <= told * (1 + 1e-12) and told == pytest.approx(gamma, rel=1e-5)


# --- numbers for reading ----------------------------------------------------------------------------------------


def test_digits_are_rounded_to_the_side_asked_for():
    values = np.random.default_rng(1).normal(0, 50, 300)
    for value in values.tolist():
        for places in (0, 1, 3):
            low, high = (float(digits(value, places, side).replace(",", "")) for side in (-1, 1))
            assert low <= value <= high and high - low <= 10.0**-places * 1.001
    assert digits(1e20, 2) == "1e+20" and digits(1.23456789e-12, 13) == "1.23457e-12"
    assert digits(-0.0004, 2) == "0.00" and digits(-1234.5, 1) == "-1,234.5"


def test_digits_are_as_fine_as_the_limits():
    def told(what, columns=None, **more):
        return Figures.of(statistic(what, columns, **more), 0.95).entries()[0]

    assert told("mean").value == "60.50" and told("sum").value == "44,000"
    assert told("count", numbers=[987.0]).value == "987" and told("median").value == "40.00"
    assert told("bounds").value == "16" and told("bounds").low is None
    low, high = Figures.of(statistic("mean"), 0.95).release.interval(0.95)
    assert float(told("mean").low) <= low and high <= float(told("mean").high)


def test_entries_have_their_names():
    seen = Figures.of(statistic("proportions", {**SEX, **WARD}), 0.95)
    assert seen.heads == ("sex", "ward") and [e.names for e in seen.entries(2)] == [
        ("F", "surgery"),
        ("F", "cardiology"),
    ]
    assert (
        seen.count == 6
        and seen.entries()[0].share == 1.0
        and seen.entries()[-1].share == pytest.approx(1 / 6, rel=0.01)
    )
    matrix = Figures.of(statistic("covariance", PLANE), 0.95)
    assert [e.names for e in matrix.entries()] == [("age", "age"), ("age", "bmi"), ("bmi", "bmi")] and matrix.count == 3
    assert Figures.of(statistic("quantiles"), 0.95).heads == ("level",)
    assert Figures.of(statistic("bounds"), 0.95).heads == ("bound",)
    assert Figures.of(statistic("several"), 0.95).heads == ("number",)
    assert Figures.of(statistic("mean", PLANE), 0.95).heads == ("column",)
    assert Figures.of(statistic("mean"), 0.95).heads == ()


def test_how_quantiles_were_chosen():
    told = ValueFace(statistic("quantiles")).selection
    assert told["mechanism"] == "permute-and-flip" and told["candidates"] == 11001 and told["choices"] == 3
    concentrated = statistic("median")
    concentrated = replace(concentrated, guarantee=replace(concentrated.guarantee, epsilon=None, delta=None, rho=0.5))
    assert ValueFace(concentrated).selection["mechanism"] == "exponential mechanism"
    assert ValueFace(statistic("mean")).selection is None


def test_names_of_statistics():
    def names(*what):
        face = ValueFace(statistic(*what))
        return face.quantity, face.subject

    assert names("mean") == ("mean", "age") and names("mean", PLANE) == ("mean", "age and bmi")
    assert names("count") == ("number", "records with age")
    assert names(Tally("count", (1,), True))[1] == "records"
    assert names("own")[0] == "caller's own statistic"


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
