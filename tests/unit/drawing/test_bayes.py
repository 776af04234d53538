"""Pictures of naive Bayes classifiers: shares of classes, and likelihoods column by column."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.drawing.bayes import PAINTER
from sfumato.errors import ParameterError
from sfumato.faces import face_of
from sfumato.faces.bayes import attributes, counts, evidence, shares
from unit.drawing.support import LINE, PLANE, SEX, WARD, bayes

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

MANY = {f"x{i}": (0, 1) for i in range(11)}


@pytest.fixture(scope="module")
def release():
    return bayes()


def titles(axes):
    return [ax.get_title(loc="left") for ax in np.ravel(axes)]


def test_the_first_panel_shows_the_shares_of_the_classes(release):
    axes = release.plot()
    assert titles(axes) == ["share of the records", "age", "sex"]
    assert [bar.get_width() for bar in axes[0].patches] == pytest.approx([0.5, 0.5])
    assert [label.get_text() for label in axes[0].get_yticklabels()] == ["no", "yes"]
    whiskers = [line.get_xdata() for line in axes[0].lines]
    part = shares(release, 0.95)
    assert np.array(whiskers) == pytest.approx(np.stack([part.low, part.high], axis=1))


def test_numbers_have_a_line_and_a_band_for_each_class(release):
    ax = release.plot(confidence=0.9)[1]
    ages = ax.lines[0].get_xdata()
    for k, line in enumerate(ax.lines):
        assert line.get_ydata() == pytest.approx(release.likelihoods[0].densities[k](ages))
    assert len(ax.lines) == len(ax.collections) == 2 and ax.get_ylim()[0] == 0
    (age, _) = attributes(release, 0.9)
    assert (age.low <= age.likelihoods).all() and (age.likelihoods <= age.high).all()
    sure = attributes(release, 0.999)[0]
    assert (sure.low <= age.low).all() and (sure.high >= age.high).all() and (sure.high > age.high).any()


def test_categories_have_bars(release):
    ax = release.plot()[2]
    sex = attributes(release, 0.95)[1]
    assert [bar.get_width() for bar in ax.patches] == pytest.approx(sex.likelihoods.ravel().tolist())
    assert sex.likelihoods.sum(axis=1) == pytest.approx([1, 1]) and sex.likelihoods[0, 0] == pytest.approx(
        0.8, abs=0.01
    )
    assert [label.get_text() for label in ax.get_yticklabels()] == ["F", "M"] and ax.get_ylim()[0] > ax.get_ylim()[1]


def test_normal_likelihoods(release):
    normal = bayes(likelihood="normal")
    ax = normal.plot()[1]
    ages = ax.lines[1].get_xdata()
    assert ax.lines[1].get_ydata() == pytest.approx(normal.likelihoods[0](ages, "clip")[:, 1])


def test_one_legend_tells_classes_apart(release):
    figure = release.plot()[0].figure
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["no", "yes"]
    assert legend.get_title().get_text() == "how likely values are in each class of ill"
    assert len({str(handle.get_linestyle()) for handle in legend.legend_handles}) == 2
    caption = " ".join(text.get_text() for ax in figure.axes for text in ax.texts).replace("\n", " ")
    assert caption == "epsilon = 20, replace one row bands, whiskers: 95 % limits of each class"


# --- what tells most --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_of_many_columns_those_are_drawn_that_tell_most():
    release = bayes({**MANY, **SEX}, count=400)
    seen = evidence(release, 0.95)
    assert len(seen.attributes) == 8 and [one.column for one in seen.attributes] == sorted(
        one.column for one in seen.attributes
    )
    found = sorted(attributes(release, 0.95), key=lambda one: -one.distance)
    assert {one.column for one in seen.attributes} == {one.column for one in found[:8]}
    assert PAINTER.shape(seen, False) == (3, 3) and PAINTER.shape(seen, True) == (9, 1)
    assert PAINTER.size(seen, True)[1] > PAINTER.size(seen, False)[1]
    figure = release.plot()[0, 0].figure
    assert "the 8 columns of 12 that tell most" in figure.legends[0].get_title().get_text().replace("\n", " ")


def test_of_many_categories_the_most_frequent_are_drawn():
    release = bayes({"town": sf.Categorical([f"t{i}" for i in range(20)])}, classes=("a", "b", "c"))
    (town,) = attributes(release, 0.95)
    assert town.values.tolist()[:4] == ["t0", "t1", "t2", "t3"] and len(town.values) == 8 and town.categories == 20
    assert titles(release.plot()) == ["share of the records", "town (8 of 20)"]


def test_axes_that_are_left_over_are_empty():
    axes = bayes({**PLANE, **WARD, "hour": sf.Periodic(0, 24)}, count=400).plot()
    assert axes.shape == (2, 3) and not axes[1, 2].axison


def test_of_more_classes_than_colours_the_largest_are_drawn():
    release = bayes(LINE, classes=tuple("abcdefg"))
    seen = face_of(release).picture()
    rare = 6 - int(release.counts[::-1].argmin())  # of equals, the last
    assert seen.classes == tuple(c for k, c in enumerate("abcdefg") if k != rare)
    assert seen.caption.endswith("the 6 largest of 7 classes, by released numbers of records")
    (age,) = seen.attributes
    assert [len(part) for part in (seen.shares.values, age.likelihoods, age.low, age.high)] == [6] * 4
    assert age.likelihoods[-1] == pytest.approx(release.likelihoods[0](age.values, "clip")[:, 6 if rare < 6 else 5])
    release.plot()


# --- counts and shares ------------------------------------------------------------------------------------------


def test_limits_of_counts_and_shares_hold_what_they_are_limits_of(release):
    low, high = counts(release, 0.95)
    assert (low <= release.counts).all() and (release.counts <= high).all() and (low > 1900).all()
    part = shares(release, 0.95)
    assert part.values.sum() == pytest.approx(1) and (part.low < 0.5).all() and (part.high > 0.5).all()
    assert part.low[0] == pytest.approx(low[0] / (low[0] + high[1]))
    empty = bayes(count=2, epsilon=0.01)
    nothing = shares(empty, 0.95)
    assert (nothing.low == 0).all() and (nothing.high == 1).all()
    empty.plot()[0].figure.canvas.draw()


# --- names and axes ---------------------------------------------------------------------------------------------


def test_names_are_no_formulas():
    wild = {"$x^{\\frac{$": sf.Categorical(["$a^{$", "b"]), "b\x00": (0, 1)}
    bayes(wild, classes=("$y^{$", "z"), response="$r^{$").plot()[0].figure.canvas.draw()


def test_axes_of_the_caller(release):
    _, axes = pyplot.subplots(1, 3, facecolor="black")
    for ax in axes:
        ax.set_facecolor("black")
    assert release.plot(ax=axes) is axes
    assert "95 % limits" in axes[0].texts[0].get_text()
    with pytest.raises(ParameterError, match="3 matplotlib Axes"):
        release.plot(ax=axes[0])
