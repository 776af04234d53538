"""Pictures of a release: what they show, what they say, and what they leave alone."""

import subprocess
import sys
import warnings

import numpy as np
import pandas
import pytest

import sfumato as sf
from sfumato.bases.lattice.expansion import Expansion
from sfumato.core.calibration import calibrate
from sfumato.core.certificate import Certificate
from sfumato.drawing import plot
from sfumato.errors import MissingExtraError, ParameterError
from sfumato.faces import face_of
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


@pytest.fixture(autouse=True)
def _no_leftovers():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield
    pyplot.close("all")


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
    assert right.get_title(loc="left") == "half-width of its 90 % band"
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


def test_more_columns_are_refused():
    release = make(sf.Bernstein(2), sf.Box([(0, 1)] * 3))
    with pytest.raises(ParameterError, match=r"this release has 3.*'x0', 'x1', 'x2'.*fix the other columns"):
        release.plot()


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
    assert right.get_title(loc="left").startswith("how far its 95 % band reaches")
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


def test_densities_that_cannot_be_drawn():
    many = dense(1, by="ward", groups=tuple("abcdefg"))
    with pytest.raises(ParameterError, match="tells 6 groups apart, this release has 7"):
        plot(many)
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
    endless = type("Endless", (), {"band": lambda self, p, c: (np.full(len(p), -np.inf), np.full(len(p), np.inf))})
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
