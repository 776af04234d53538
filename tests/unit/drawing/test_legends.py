"""Legends: whatever a group is called, it is a name."""

import pandas
import pytest

import sfumato as sf

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402


def test_the_name_of_a_group_is_no_formula():
    groups = ("$x^{\\frac{$", "b")
    data = pandas.DataFrame({"age": [1.0, 2.0, 3.0, 4.0], "g": [groups[0], "b"] * 2})
    box = sf.Box({"age": (0, 10), "g": sf.Categorical(groups)})
    release = sf.release(sf.KDE(2.0, by="g"), data, box, sf.Privacy(epsilon=1.0), basis=sf.Binning(5))
    ax = release.plot()
    ax.figure.canvas.draw()
    assert any(groups[0] in text.get_text() for text in ax.get_legend().get_texts())
    pyplot.close("all")
