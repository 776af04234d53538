"""What is said of reports from people's own devices."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.faces import face_of
from sfumato.faces.collected import CollectedFace, association, one_column
from unit.drawing.support import statistic
from unit.drawing.test_collected import PEOPLE, density, marginals, summary


def test_the_density_of_one_column_is_what_the_others_add_up_to():
    release = density(3, 4)
    for place, name in enumerate(release.box.names):
        own = one_column(release, name)
        whole = release.masses.reshape(4, 4, 4).sum(axis=tuple(i for i in range(3) if i != place))
        assert np.allclose(own.masses, whole) and own.box.names == (name,)
        assert own.mass_error == pytest.approx(4 * release.mass_error)
        points = np.linspace(0, 110, 2001)[:, None]
        assert np.trapezoid(own(points), points[:, 0]) == pytest.approx(1, abs=1e-3)
    assert one_column(density(1), "age").box.dimension == 1


def test_association():
    assert association(np.array([[0.3, 0.3], [0.2, 0.2]])) == 0
    assert association(np.array([[0.5, 0.0, 0.0], [0.0, 0.25, 0.25]])) == 1
    assert association(np.array([[1.0, 0.0], [0.0, 0.0]])) == 0  # one category says nothing
    assert 0.2 < association(np.array([[0.35, 0.15], [0.2, 0.3]])) < 0.4


def test_which_releases_are_collected():
    assert all(isinstance(face_of(release), CollectedFace) for release in (density(1), marginals(), summary()))
    central = sf.summarize(np.zeros(10), sf.Box([(0, 1)]), sf.Privacy(epsilon=1.0), degree=3)
    assert not any(isinstance(face_of(release), CollectedFace) for release in (central, statistic("mean")))


def test_words():
    assert face_of(density(2)).content == "a density, piecewise linear between 5 x 5 lattice points"
    assert face_of(marginals(ways=1)).content == "the shares of every category of 2 columns"
    assert face_of(marginals()).content.endswith("2 columns, and every table of up to 2 of them")
    assert (
        face_of(summary({"age": (0, 110)})).content == "3 cosine moments, which answer smooth questions about 1 column"
    )
    assert [face_of(release).reports for release in (density(1), marginals(), summary())] == [PEOPLE] * 3
