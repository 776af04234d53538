"""Maps: to scale, in colours that hide nothing and are equally far apart."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.drawing.style import VALUES, WIDTHS, shaded
from sfumato.faces import face_of
from sfumato.faces.views import Sample, View
from unit.drawing.support import curve, machine
from unit.drawing.test_function import dense, make

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

EARTH = {"lat": (47, 55), "lon": (5, 15)}


def lightness(colour):
    """CIE L*, by a formula of its own."""
    linear = np.where(
        np.array(colour) <= 0.04045, np.array(colour) / 12.92, ((np.array(colour) + 0.055) / 1.055) ** 2.4
    )
    return 116 * np.cbrt(linear @ [0.2126, 0.7152, 0.0722]) - 16


@pytest.mark.parametrize("shades", [VALUES, WIDTHS])
def test_equal_steps_of_colour_look_equal(shades):
    steps = np.diff([lightness(colour[:3]) for colour in shaded(shades)(np.linspace(0, 1, 17))])
    assert (steps < 0).all() and np.abs(steps / steps.mean() - 1).max() < 0.02
    raw = matplotlib.colors.LinearSegmentedColormap.from_list("raw", shades)(np.linspace(0, 1, 17))
    assert np.abs(np.diff([lightness(c[:3]) for c in raw]) / steps.mean() - 1).max() > 0.15  # as they were


# --- what is hatched ---------------------------------------------------------------------------------------------


def view(values, low, high):
    axes = (np.arange(2.0), np.arange(2.0))
    parts = (np.array(part, dtype=float).reshape(2, 2) for part in (values, low, high))
    named = face_of(make(sf.Bernstein(1), sf.Box([(0, 1)] * 2))).picture().views[0].axes
    return View(named, (Sample(axes, *parts, 0.95),), "density", "", density=True)


def test_only_what_may_be_zero_is_hatched():
    # well above zero; above half of a band from zero; below it; nothing at all
    seen = view([1.0, 0.4, 0.1, 0.0], [0.5, 0.0, 0.0, 0.0], [1.5, 0.6, 0.6, 0.6]).field
    assert seen.hatched.ravel().tolist() == [False, False, True, True]


def test_a_density_is_hatched_where_it_may_be_zero():
    corner = np.random.default_rng(6).normal(0.25, 0.05, (2000, 2))
    box, grant = sf.Box({"x": (0, 1), "y": (0, 1)}), sf.Privacy(epsilon=5.0)
    release = sf.release(sf.KDE(0.1), corner, box, grant, basis=sf.Binning(10))
    seen = face_of(release).picture().views[0].field
    value, (low, high) = release.on_grid((seen.x, seen.y)), release.band_on_grid((seen.x, seen.y))
    assert (seen.hatched == ((low <= 0) & (value < (high - low) / 2))).all()
    assert seen.hatched[60:, 60:].any() and not seen.hatched[18:23, 18:23].any()  # nobody there, everybody here


# --- to scale ----------------------------------------------------------------------------------------------------


def test_longitude_goes_to_the_right_and_the_values_go_with_it():
    release = make(sf.Bernstein((2, 1)), sf.Box(EARTH))
    seen = face_of(release).picture().views[0].field
    assert [axis.name for axis in seen.axes] == ["lon", "lat"]
    assert (seen.x[0], seen.x[-1], seen.y[0], seen.y[-1]) == (5, 15, 47, 55)
    assert seen.values[3, 60] == pytest.approx(release([[seen.y[60], seen.x[3]]])[0])
    left, right = release.plot()
    assert left.get_aspect() == right.get_aspect() == pytest.approx(1 / np.cos(np.radians(51)))
    assert (left.get_xlabel(), left.get_ylabel()) == ("lon", "lat")


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize("made", [curve, machine], ids=["curve", "classifier"])
def test_learners_and_curves_on_a_map(made):
    release = made(EARTH)
    (panel,) = face_of(release).picture().panels
    drawn = np.ravel(release.plot())
    assert drawn[0].get_xlabel() == "lon" and drawn[0].get_aspect() == pytest.approx(1 / np.cos(np.radians(51)))
    if made is curve:
        assert panel.field.values[3, 60] == pytest.approx(release([[panel.field.y[60], panel.field.x[3]]])[0])
    else:
        assert panel.wins[1, 3, 60] == pytest.approx(release([[panel.y[60], panel.x[3]]])[0])


def test_a_map_is_as_high_as_its_columns_say():
    tall = make(sf.Bernstein((1, 1)), sf.Box({"x": (0, 1), "y": (0, 2)}))
    assert tall.plot()[0].get_aspect() == "auto"
    left, _ = tall.plot(map=True)
    left.figure.canvas.draw()
    box = left.get_window_extent()
    assert box.height / box.width == pytest.approx(2.0, rel=1e-6)
    assert left.figure.get_size_inches()[1] > tall.plot()[0].figure.get_size_inches()[1]


def test_a_band_without_limits_says_so():
    release = dense(2)
    endless = type(
        "Endless", (), {"band": lambda self, p, *_, **more: (np.full(len(p), -np.inf), np.full(len(p), np.inf))}
    )
    stand_in = type("Stand", (endless, sf.DensityRelease), {})
    _, right = stand_in(**vars(release)).plot()
    assert right.get_title(loc="left").replace("\n", " ").endswith("or more, in places without bound")
