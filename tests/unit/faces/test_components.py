"""The face of principal components: what a terminal, a program, a page and a notebook are told."""

import json

import numpy as np
import pytest

import sfumato as sf
from sfumato import pages
from sfumato.errors import ParameterError
from sfumato.faces import face_of

X = np.linspace(-1, 1, 5000)
BOX = sf.Box({"height": (-2, 2), "weight": (-1, 1)})


@pytest.fixture(params=["covariance", "products"])
def release(request):
    return sf.private_pca({"height": X, "weight": X}, BOX, sf.Privacy(epsilon=50.0), 1, noise=request.param)


def test_it_tells_the_mean_the_directions_and_where_noise_went(release):
    face = face_of(release)
    told = dict(face.rows())
    assert face.title == "the principal components of height and weight"
    assert len(told["mean"]) == 3 and len(told["components"]) == 1
    assert "weight" in told["components"][0].split(",")[0]  # it fills its box
    assert ("once" in told["noise went"][0]) == (release.basis.noise == "covariance")


def test_limits_of_the_mean_hold(release):
    """Those of 99.999999 %: without noise the means are 0."""
    face = face_of(release, 1 - 1e-8)
    assert np.abs(release.ellipsoid.mean).max() <= face.reach < 0.2
    assert face.reach > face_of(release, 0.5).reach


def test_programs_get_the_same(release):
    data = json.loads(json.dumps(face_of(release).data()))
    assert data["records"] == 5000 and [*data["mean"]] == ["height", "weight"]
    assert data["components"][0]["parts"] == release.components[0].tolist()


def test_pages_and_cards_and_code(release, tmp_path):
    release.report(tmp_path / "r.html")
    assert "principal components" in (tmp_path / "r.html").read_text("utf-8").lower()
    assert "height" in pages.card(release)
    assert "release.components" in face_of(release).code("x")


def test_it_has_no_picture(release):
    with pytest.raises(ParameterError, match="no picture"):
        face_of(release).picture()


def test_many_columns_are_told_as_a_few():
    wide = sf.private_pca(np.zeros((200, 30)), sf.Box([(-1, 1)] * 30), sf.Privacy(epsilon=1.0), 14)
    told = dict(face_of(wide).rows())
    assert told["mean"][-2] == "and 18 columns more" and told["components"][-1] == "and 2 components more"
