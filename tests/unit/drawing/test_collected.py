"""Pictures of what people's devices reported."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ParameterError
from sfumato.faces import face_of
from sfumato.faces.collected import (
    MOST_BARS,
    MOST_PAIRED,
    Line,
    Pairs,
    Shares,
    association,
)

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

YESNO = sf.Categorical(["no", "yes"])
WARD = sf.Categorical(["surgery", "cardiology", "oncology"])
PEOPLE = 3000


def collected(protocol):
    """A release from made-up people."""
    turns = np.arange(PEOPLE)
    columns = {}
    for j, (name, kind) in enumerate(zip(protocol.box.names, protocol.box.columns, strict=True)):
        spread = np.mod(turns * np.sqrt(2 + j), 1.0)
        if isinstance(kind, sf.Categorical):
            columns[name] = np.array(kind.categories, dtype=object)[(spread * len(kind.categories)).astype(int)]
        else:
            columns[name] = kind.low + (kind.high - kind.low) * (spread + np.roll(spread, 1)) / 2
    rows = list(zip(*columns.values(), strict=True))
    collector = protocol.collector()
    collector.add_batch(protocol.encode_many(rows))
    return collector.release()


def density(dimension=1, lattice=5):
    box = sf.Box(dict.fromkeys(("age", "bmi", "hour", "d", "e", "f", "g")[:dimension], (0, 110)))
    return collected(sf.local.Density(box, 2.0, seed=1, lattice=lattice))


def marginals(columns=None, ways=2):
    box = sf.Box({"ill": YESNO, "ward": WARD} if columns is None else columns)
    return collected(sf.local.Marginals(box, 2.0, seed=1, ways=ways))


def summary(columns=None):
    box = sf.Box({"age": (0, 110), "ward": WARD} if columns is None else columns)
    return collected(sf.local.SmoothQueries(box, 2.0, seed=1, degree=4))


def axes_of(drawn):
    return list(np.atleast_1d(np.asarray(drawn, dtype=object)).ravel())


def texts(drawn):
    """All words of a picture."""
    found = []
    axes_of(drawn)[0].figure.canvas.draw()
    for ax in axes_of(drawn):
        found += [text.get_text() for text in ax.texts] + [ax.get_title(loc="left"), ax.get_xlabel(), ax.get_ylabel()]
        found += [label.get_text() for label in (*ax.get_yticklabels(), *ax.get_xticklabels())]
    return " ".join(found).replace("\n", " ")


MADE = {
    "line": (lambda: density(1), 1, ["density", "age"]),
    "plane": (lambda: density(2), 2, ["density", "reach of its 95 % band", "age", "bmi"]),
    "space": (lambda: density(3, 3), 3, ["density of age", "density of bmi", "density of hour"]),
    "many": (lambda: density(7, 2), 6, ["first 6 of 7 columns"]),
    "tables": (marginals, 2, ["share of the people", "ward = oncology", "association", "whiskers: 95 % limits"]),
    "shares": (lambda: marginals(ways=1), 1, ["share of the people", "ill = yes"]),
    "summary": (summary, 2, ["density of age", "shares of ward", "cardiology"]),
}


@pytest.mark.few(2)
@pytest.mark.parametrize("name", MADE)
def test_every_collected_release_has_a_picture(name):
    make, axes, words = MADE[name]
    release = make()
    drawn = release.plot()
    assert len([ax for ax in axes_of(drawn) if ax.axison]) == axes
    told = texts(drawn)
    for word in (*words, "nobody was trusted with a record", "3,000 reports", "local model"):
        assert word in told, word


def test_pictures_are_drawn_on_axes_of_the_caller():
    for release, count in ((density(1), 1), (density(2), 2), (marginals(), 2), (summary(), 2)):
        own = pyplot.subplots(1, count)[1]
        assert release.plot(ax=own) is own
        with pytest.raises(ParameterError, match="ax must be"):
            release.plot(ax=[*axes_of(own), *axes_of(own)])


def test_pictures_on_dark_axes_have_light_curves():
    with pyplot.style.context("dark_background"):
        ax = pyplot.figure().add_subplot()
        density(1).plot(ax=ax)
        assert sum(matplotlib.colors.to_rgb(ax.lines[-1].get_color())) > 1.5


def test_the_curve_is_the_release_and_lies_within_its_band():
    release = density(1)
    (line,) = face_of(release, 0.9).picture().panels
    assert isinstance(line, Line)
    assert np.allclose(line.values, release(line.x)) and (line.low <= line.values).all()
    assert (line.values <= line.high).all() and (line.low >= 0).all()
    wider = face_of(release, 0.999).picture().panels[0]
    assert (wider.high >= line.high).all() and (wider.high > line.high).any()


def test_bars_and_whiskers_are_the_tables_of_the_release():
    release = marginals()
    shares, pairs = face_of(release, 0.9).picture().panels
    assert isinstance(shares, Shares) and isinstance(pairs, Pairs)
    assert shares.names == ("ill = no", "ill = yes", "ward = surgery", "ward = cardiology", "ward = oncology")
    assert np.allclose(shares.values, np.concatenate([release.table("ill"), release.table("ward")]))
    assert np.allclose(shares.low, np.concatenate([release.band(name, 0.9)[0] for name in ("ill", "ward")]))
    assert pairs.values[0, 1] == pairs.values[1, 0] == association(release.table(("ill", "ward")))
    assert np.isnan(np.diag(pairs.values)).all()


@pytest.mark.slow
def test_many_columns_are_cut_and_it_is_said():
    columns = {f"question {j}": YESNO for j in range(MOST_PAIRED + 3)}
    release = marginals(columns)
    shares, pairs = face_of(release, 0.95).picture().panels
    assert len(shares.names) == MOST_BARS and len(pairs.names) == MOST_PAIRED
    told = texts(release.plot())
    assert f"first 10 of {len(columns)} columns" in told and f"first {MOST_PAIRED} of {len(columns)} columns" in told
    long = marginals({"code": sf.Categorical(list(range(40)))}, ways=1)
    assert len(face_of(long).picture().panels[0].names) == MOST_BARS and "first 20 categories" in texts(long.plot())
