"""Where pictures look, and how fast."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.faces import face_of
from sfumato.faces.views import drawn_places, even_places, look, points_of

PLANE = sf.Box({"x": (0, 10), "y": (0, 8)})


@pytest.fixture(scope="module")
def fine():
    """A density on the finest nodes that two columns have."""
    places = np.random.default_rng(4).uniform((0, 0), (10, 8), (300, 2))
    return sf.release(sf.KDE([0.06, 0.05]), places, PLANE, sf.Privacy(epsilon=1.0), basis=sf.Binning(20))


def test_a_fine_map_is_evaluated_axis_by_axis(fine):
    assert fine.expansion.measure.shape == (512, 512)
    axes = even_places(PLANE, (200, 200))
    tracemalloc.start()
    values = fine.on_grid(axes)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 32e6  # weights of each point along one axis are 160 MB
    some = [(3, 70), (199, 0), (120, 121)]
    assert values[tuple(zip(*some, strict=True))] == pytest.approx(
        [fine([[axes[0][i], axes[1][j]]])[0] for i, j in some]
    )


def test_a_look_is_the_release_and_its_band(fine):
    axes = even_places(PLANE, (5, 4))
    values, low, high = look(fine, axes, 0.9)
    points = points_of(axes)
    assert values.shape == low.shape == high.shape == (5, 4)
    assert values.ravel() == pytest.approx(fine(points))
    for found, wanted in zip((low, high), fine.band(points, 0.9), strict=True):
        assert found.ravel() == pytest.approx(wanted)


def test_places_reach_from_bound_to_bound_and_not_beyond():
    box = sf.Box({"a": (0.1, 0.7), "b": (-3e7, 1e-7)})
    for places, low, high in zip(even_places(box, (7, 11)), box.low, box.high, strict=True):
        assert places[0] == low and places[-1] == high and (np.diff(places) > 0).all()


def test_narrow_kernels_are_looked_at_closely_up_to_a_limit():
    assert [len(axis) for axis in drawn_places(PLANE)] == [81, 81]
    assert [len(axis) for axis in drawn_places(PLANE, (0.2, 4.0))] == [151, 81]
    assert [len(axis) for axis in drawn_places(PLANE, (0.01, 0.01))] == [241, 241]


def test_the_faces_of_groups_know_which_group_they_are_of():
    box = sf.Box({"x": (0, 10), "kind": sf.Categorical([1, 2])})
    rows = pd.DataFrame({"x": np.linspace(0, 10, 40), "kind": np.arange(40) % 2 + 1})
    release = sf.release(sf.KDE(1.0, by="kind"), rows, box, sf.Privacy(epsilon=20.0), basis=sf.Binning(8))
    for group in (2, "2"):
        face = face_of(release, group=group)
        assert face.release is release.parts[2] and face.quantity == "density (kind = 2)"
        assert "density = release[2]  # one of its groups" in face.code("r")
