"""Pictures of a release: what they show, what they say, and what they leave alone."""

import re
import subprocess
import sys

import numpy as np
import pandas
import pytest

import sfumato as sf
from sfumato.bases.lattice.expansion import Expansion
from sfumato.core.calibration import calibrate
from sfumato.core.certificate import Certificate
from sfumato.drawing import figure_of, plot
from sfumato.errors import MissingExtraError, ParameterError
from sfumato.faces import face_of
from sfumato.faces.words import number
from sfumato.releases.function import FunctionRelease

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

LINE = sf.Box({"age": (0, 110)})
PLANE = sf.Box({"age": (0, 110), "bmi": (10, 60)})


def make(basis, box, privacy=None, coefficients=None, target="black box", bound=0.01):
    """A release with chosen coefficients: nothing here is random."""
    privacy, size = privacy or sf.Privacy(epsilon=1.0), basis.size(box)
    law, guarantee = calibrate(Certificate("linf", bound, privacy.neighbours, "enforced", "bernstein"), size, privacy)
    values = np.sin(np.arange(size)) if coefficients is None else coefficients
    return FunctionRelease(
        guarantee=guarantee, law=law, target=(("target", target),), expansion=Expansion(basis, box, values)
    )


@pytest.fixture
def line():
    return make(sf.Bernstein(8, 2), LINE)


@pytest.fixture
def plane():
    return make(sf.Bernstein((4, 3), 2), PLANE)


def texts(ax):
    return [text.get_text() for text in ax.texts]


# --- one column -------------------------------------------------------------------------------------------------


def test_a_curve_shows_the_release_and_its_band(line):
    ax = line.plot()
    curve = next(a for a in ax.lines if a.get_label() == "release")
    x, y = curve.get_data()
    assert len(x) >= 400
    assert (x[0], x[-1]) == (0, 110) == ax.get_xlim()
    assert y == pytest.approx(line(x))
    low, high = line.band(x, 0.95)
    edges = [a.get_ydata() for a in ax.lines if a.get_label().startswith("_") and len(a.get_xdata()) == len(x)]
    assert edges[0] == pytest.approx(low)
    assert edges[1] == pytest.approx(high)


def test_a_curve_says_what_it_is(line):
    ax = line.plot(confidence=0.995)
    assert ax.get_xlabel() == "age"
    assert ax.get_title(loc="left") == "released function"
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["release", "99.5 % band of the noise"]
    assert texts(ax) == ["epsilon = 1, replace one row"]


def test_a_derivative_says_so(line):
    assert line.derivative().plot().get_title(loc="left") == "derivative along age of the released function"
    assert "age (twice)" in face_of(line.derivative().derivative()).quantity
    assert "age (3 times)" in face_of(line.derivative().derivative().derivative()).quantity


def test_a_target_with_a_name_is_called_by_it():
    assert face_of(make(sf.Bernstein(3), LINE, target="kernel density")).quantity == "kernel density"
    assert face_of(make(sf.Bernstein(3), LINE, target="x" * 200)).quantity == "released function"


def test_small_numbers_move_their_power_of_ten_to_the_title():
    release = make(sf.Bernstein(3), LINE, coefficients=[1e-6, 2e-6, 3e-6, 2e-6], bound=1e-9)
    assert release.plot().get_title(loc="left") == "released function (×\N{NO-BREAK SPACE}10⁻⁶)"


@pytest.mark.parametrize("coefficients", [[0.0] * 4, [5e9] * 4, [-1e-30, 0, 0, 1e-30]])
def test_flat_and_extreme_curves_can_be_drawn(coefficients):
    make(sf.Bernstein(3), LINE, coefficients=coefficients).plot().figure.canvas.draw()


def test_step_functions_can_be_drawn():
    make(sf.Step(5), LINE).plot()


# --- two columns ------------------------------------------------------------------------------------------------


def test_a_surface_has_two_panels(plane):
    left, right = plane.plot(confidence=0.9)
    assert (left.get_xlabel(), left.get_ylabel()) == ("age", "bmi") == (right.get_xlabel(), right.get_ylabel())
    assert left.get_title(loc="left") == "released function"
    assert re.fullmatch(r"half-width of its 90 % band: [\d.]+ to [\d.]+", right.get_title(loc="left"))
    assert len(left.figure.axes) == 4  # and two colour bars


def test_a_surface_of_a_derivative_says_so(plane):
    left, _ = plane.derivative("bmi").plot()
    assert left.get_title(loc="left").replace("\n", " ").startswith("derivative along bmi of the released function")
    mixed = plane.derivative("age").derivative("bmi")
    assert face_of(mixed).quantity == "derivative along age and bmi of the released function"


def test_places_of_uncertain_sign_are_hatched():
    quiet = make(sf.Bernstein(2), PLANE, coefficients=np.full(9, 5.0), bound=1e-3).plot()[0]
    loud = make(sf.Bernstein(2), PLANE, coefficients=np.linspace(-1, 1, 9)).plot()[0]
    assert texts(quiet)[-1] == "epsilon = 1, replace one row"
    assert texts(loud)[-1].endswith("\nhatched: zero lies inside the band")


def test_constants_and_steps_can_be_drawn():
    left, right = make(sf.Step((3, 4)), PLANE).plot()
    assert left.collections
    assert texts(right)[0].endswith("everywhere")  # a step function's noise is the same everywhere
    left, _ = make(sf.Bernstein(2), PLANE, coefficients=np.zeros(9)).plot()
    assert texts(left)[0] == "0 everywhere"


@pytest.mark.slow
def test_the_band_beside_it_is_in_the_same_steps_of_colour():
    for release in (make(sf.Bernstein((4, 3), 2), PLANE), dense(2)):
        left, right = release.plot()
        bars = [ax.get_yticks() for ax in left.figure.axes[2:]]
        assert np.diff(bars[0])[:2] == pytest.approx(np.diff(bars[1])[:2])
        seen = face_of(release).picture().views[0].field
        assert seen.reach_levels[0] == 0 and np.diff(seen.reach_levels) == pytest.approx(np.diff(seen.levels))
        fills = [ax.collections[0].get_facecolor() for ax in (left, right)]
        assert (seen.reach.max() > seen.reach_levels[-1]) == (len(fills[1]) > len(fills[0]))


def test_more_columns_are_drawn_one_by_one():
    release = make(sf.Bernstein(2), sf.Box([(0, 1), (0, 2), (0, 4)]))
    axes = release.plot()
    assert [ax.get_xlabel() for ax in axes] == ["x0", "x1", "x2"]
    (line,) = [line for line in axes[2].lines if line.get_label() == "release"]
    x, y = line.get_data()
    assert (x[0], x[-1]) == (0, 4) and y == pytest.approx(release(np.stack([0 * x + 0.5, 0 * x + 1, x], axis=1)))
    (made,) = axes[0].figure.legends
    assert made.get_title().get_text() == "released function, the other columns in the middle of the box"
    assert axes[0].figure._supxlabel.get_text() == "epsilon = 1, replace one row"


# --- densities --------------------------------------------------------------------------------------------------


def dense(columns, points=6, by=None, groups=("F", "M"), **settings):
    """A density of made-up records in the unit cube."""
    names = ["age", "bmi", "hour"][:columns]
    data = dict(zip(names, np.random.default_rng(3).beta(3, 4, (columns, 500)), strict=True))
    box = dict.fromkeys(names, (0, 1))
    if by is not None:
        data[by], box[by] = np.resize(groups, 500), sf.Categorical(list(groups))
    target = sf.KDE(0.2, by=by, **settings)
    return sf.release(target, pandas.DataFrame(data), sf.Box(box), sf.Privacy(epsilon=1.0), basis=sf.Binning(points))


def test_the_band_of_a_density_is_not_symmetric_and_nothing_is_negative():
    release = dense(1)
    ax = release.plot(confidence=0.9)
    x, y = next(a for a in ax.lines if a.get_label() == "release").get_data()
    low, high = release.band(x, 0.9)
    edges = [a.get_ydata() for a in ax.lines if a.get_label().startswith("_") and len(a.get_xdata()) == len(x)]
    assert y == pytest.approx(release(x)) and edges[0] == pytest.approx(low) and edges[1] == pytest.approx(high)
    assert ax.get_ylim()[0] == 0
    assert ax.get_title(loc="left") == "density"
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["release", "90 % band"]
    assert texts(ax) == ["epsilon = 1, replace one row; bandwidth 0.2"]


def test_an_unbiased_density_may_dip_below_zero_and_derivatives_have_a_picture():
    ax = dense(1, 12, post="none").derivative().plot()
    assert ax.get_title(loc="left").startswith("derivative along age of the density")
    assert ax.get_ylim()[0] < 0


def test_groups_are_drawn_over_each_other():
    release = dense(1, by="sex")
    ax = plot(release)
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["sex = F", "sex = M", "95 % band of each"]
    lines = {a.get_label(): a for a in ax.lines if a.get_label().startswith("sex")}
    assert lines["sex = M"].get_ydata() == pytest.approx(release["M"](lines["sex = M"].get_xdata()))
    assert lines["sex = F"].get_color() != lines["sex = M"].get_color()
    assert lines["sex = F"].get_linestyle() != lines["sex = M"].get_linestyle()  # told apart in grey too


def test_a_density_of_two_columns_is_a_map_and_its_uncertainty():
    release = dense(2)
    left, right = release.plot()
    assert left.get_title(loc="left") == "density"
    assert right.get_title(loc="left").startswith("reach of its 95 % band")
    assert "bandwidth 0.2 and 0.2" in texts(left)[-1]
    axes = plot(dense(2, by="sex"))
    assert axes.shape == (2, 2)
    assert [row[0].get_title(loc="left") for row in axes] == ["density, sex = F", "density, sex = M"]


def test_a_density_of_three_columns_is_three_curves():
    release = dense(3, 4)
    axes = release.plot()
    assert [ax.get_title(loc="left") for ax in axes] == ["density of age", "density of bmi", "density of hour"]
    assert [ax.get_legend() is None for ax in axes] == [False, True, True]
    x, y = next(a for a in axes[1].lines if a.get_label() == "release").get_data()
    assert y == pytest.approx(release.marginal("bmi")(x))


def test_a_density_without_densities_of_columns_is_cut_where_most_records_are():
    kernel = sf.KDE(0.3, post="none", missing="none")
    points = np.random.default_rng(3).beta(3, 4, (500, 3))
    release = sf.release(kernel, points, sf.Box([(0, 1)] * 3), sf.Privacy(epsilon=20.0), basis=sf.Bernstein(4, 2))
    seen = face_of(release).picture()
    (*_, panel), at = seen.panels, release.mode()
    assert seen.through.startswith(f"the other columns at their most frequent values: x0 {number(at[0])}, x1 ")
    expected = np.column_stack([np.tile(at[:2], (len(panel.x), 1)), panel.x])
    assert panel.values[0] == pytest.approx(release(expected))


MANY = tuple(f"ward {letter}" for letter in "abcdefghijklmno")


def test_many_groups_are_small_panels_on_one_scale():
    release = dense(1, by="ward", groups=MANY[:9])
    axes = plot(release)
    used = [ax for ax in axes.ravel() if ax.axison]
    assert axes.shape == (3, 4) and [ax.get_title(loc="left") for ax in used] == [f"ward = {name}" for name in MANY[:9]]
    assert len({ax.get_ylim() for ax in used}) == 1
    for name, ax in zip(MANY, used, strict=False):
        x, y = next(line for line in ax.lines if line.get_label() == "release").get_data()
        assert y == pytest.approx(release[name](x))
    (legend,) = used[0].figure.legends
    assert legend.get_title().get_text() == "density of age"
    assert [text.get_text() for text in legend.get_texts()] == ["release", "95 % band"]
    assert used[0].figure._supxlabel.get_text() == "epsilon = 1, replace one row; bandwidth 0.2"


def test_of_very_many_groups_the_largest_are_drawn_and_the_picture_says_so():
    release = dense(1, by="ward", groups=MANY)
    seen = face_of(release).picture()
    counts = {name: part.count for name, part in release.parts.items()}
    kept = sorted(sorted(counts, key=counts.get)[3:], key=MANY.index)
    assert [view.title for view in seen.views] == [f"ward = {name}" for name in kept]
    assert seen.note == "the 12 groups with the most records, as released; the file has 3 more"
    assert figure_of(seen, stacked=True)._supxlabel.get_text().replace("\n", " ").endswith(seen.note)


@pytest.mark.slow
def test_many_maps_are_small_and_share_their_colours():
    release = dense(2, by="ward", groups=MANY[:7])
    seen = face_of(release).picture()
    assert len({view.levels for view in seen.views}) == 1 and {view.panels for view in seen.views} == {1}
    figure = figure_of(seen, stacked=False)
    used = [ax for ax in figure.axes[:-1] if ax.axison]
    assert len(used) == 7 and len(figure.axes) == 8 + 1  # one bar for all
    for name, ax, view in zip(MANY, used, seen.views, strict=False):
        x, y = view.field.x, view.field.y
        assert view.field.values[5, 9] == pytest.approx(release[name]([[x[5], y[9]]])[0])
        assert (ax.get_xlim(), ax.get_ylim()) == ((0, 1), (0, 1))


@pytest.mark.slow
def test_of_many_groups_of_three_columns_six_are_drawn():
    seen = face_of(dense(3, 4, by="ward", groups=MANY[:7])).picture()
    assert [len(view.samples) for view in seen.views] == [6, 6, 6]
    assert seen.note == "the 6 groups with the most records, as released; the file has 1 more"


def test_one_group_can_be_drawn_and_the_picture_says_which():
    release = dense(1, by="sex")
    ax = plot(release, group="M")
    assert ax.get_title(loc="left") == "density (sex = M)"
    x, y = next(line for line in ax.lines if line.get_label() == "release").get_data()
    assert y == pytest.approx(release["M"](x))
    with pytest.raises(ParameterError, match="group must be one of F, M, got 'X'"):
        release.plot(group="X")
    with pytest.raises(ParameterError, match="got 'm'; did you mean 'M'"):
        release.plot(group="m")
    with pytest.raises(ParameterError, match="group F: this release has no groups; leave it out"):
        release["F"].plot(group="F")
    numbers = dense(1, by="ward", groups=(1, 2))
    assert plot(numbers, group=2).get_title(loc="left") == plot(numbers, group="2").get_title(loc="left")


def test_densities_that_cannot_be_drawn():
    with pytest.raises(ParameterError, match=r"ax must be 3 matplotlib Axes"):
        dense(3, 4).plot(ax=Figure().subplots())


def test_a_density_on_the_callers_axes():
    ax = Figure(facecolor="black").subplots()
    ax.set_facecolor("none")
    assert plot(dense(1, by="sex"), ax) is ax
    assert min(sum(matplotlib.colors.to_rgb(a.get_color())) for a in ax.lines if a.get_label()[0] != "_") > 1
    axes = Figure(figsize=(9, 4)).subplots(1, 3)
    assert dense(3, 4).plot(axes) is axes


def test_infinite_limits_have_an_edge_in_a_picture():
    release = dense(1)
    low, high = release.band([0.5])
    endless = type(
        "Endless", (), {"band": lambda self, p, *_, **more: (np.full(len(p), -np.inf), np.full(len(p), np.inf))}
    )
    stand_in = type("Stand", (endless, sf.DensityRelease), {})
    seen = face_of(stand_in(**vars(release)), 0.95).sampled()
    assert np.isfinite(seen.low).all() and np.isfinite(seen.high).all()
    assert low[0] < seen.values.max() < seen.high.max() and high[0] < seen.high.max()


# --- the caller's axes and settings -----------------------------------------------------------------------------


def test_it_draws_on_the_callers_axes(line, plane):
    ax = Figure().subplots()
    assert line.plot(ax) is ax
    assert ax.get_ylabel() == "released function"
    assert ax.get_title(loc="left") == ""
    pair = Figure(figsize=(9, 4)).subplots(1, 2)
    assert plane.plot(ax=pair) is pair
    assert pyplot.get_fignums() == []


def test_a_curve_is_lighter_on_dark_axes(line):
    shades = []
    for face in ("white", "black"):
        ax = Figure(facecolor=face).subplots()
        ax.set_facecolor("none")
        line.plot(ax)
        curve = next(a for a in ax.lines if a.get_label() == "release")
        shades.append(sum(matplotlib.colors.to_rgb(curve.get_color())))
    assert shades[0] < 1 < shades[1]


def test_the_callers_curves_keep_out_of_the_legend(line):
    ax = Figure().subplots()
    ax.plot([0, 110], [0, 1], label="something else")
    line.plot(ax)
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["release", "95 % band of the noise"]


@pytest.mark.few(1)
@pytest.mark.parametrize("columns", [1, 2])
def test_the_wrong_axes_are_refused(line, plane, columns):
    release = line if columns == 1 else plane
    wrong = Figure().subplots(1, 3 - columns)
    with pytest.raises(ParameterError, match="ax must be"):
        release.plot(ax=wrong)
    with pytest.raises(ParameterError, match="ax must be"):
        release.plot(ax="here")


def test_global_settings_stay_as_they_were(line, plane):
    before = dict(matplotlib.rcParams)
    line.plot()
    plane.plot()
    assert dict(matplotlib.rcParams) == before
    assert len(pyplot.get_fignums()) == 2


def test_a_figure_keeps_its_style_when_it_is_saved_later(line, tmp_path):
    ax = line.plot()
    family = ax.xaxis.get_ticklabels()[0].get_fontfamily()
    assert family[-1] == "DejaVu Sans"
    assert "sans-serif" not in family
    ax.figure.savefig(tmp_path / "curve.png")


@pytest.mark.parametrize("confidence", [0, 1, 1.5, "high", None])
def test_confidence_must_be_a_probability(line, confidence):
    with pytest.raises(ParameterError, match="confidence"):
        line.plot(confidence=confidence)
    assert pyplot.get_fignums() == []


# --- words ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["$x^{\\frac{", "<script>alert(1)</script>", "a\nb\x00c\u202ed\ud800", "long " * 50, "y" * 300, "%", "_x"]
)
def test_column_names_are_never_code(name):
    ax = make(sf.Bernstein(2), sf.Box({name: (0, 1)})).derivative().plot()
    for label in (ax.get_xlabel(), ax.get_title(loc="left")):
        assert len(label) <= 100
        assert not any(c in label for c in "\x00\u202e\ud800")


def test_long_names_leave_room_for_the_picture():
    left, right = make(sf.Bernstein(2), sf.Box({"y" * 300: (0, 1), "long " * 50: (0, 1)})).plot()
    assert min(left.get_position().width, right.get_position().width) > 0.2
    assert min(left.get_position().height, right.get_position().height) > 0.4


# --- optional dependencies --------------------------------------------------------------------------------------


def test_without_matplotlib_the_extra_is_named(line, monkeypatch):
    for name in [m for m in sys.modules if m.partition(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match=r"matplotlib is not installed; pip install 'sfumato\[plot\]'"):
        line.plot()


def test_a_release_loads_no_painter_before_it_is_asked():
    late = ["sfumato.drawing", "sfumato.pages", "matplotlib", "jinja2"]
    code = f"import sys, sfumato.releases.io; print([m for m in {late} if m in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert loaded.strip() == "[]"
