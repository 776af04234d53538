"""A linear model from reports: its file says one thing, and refuses to say another."""

import json

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import FileFormatError, OutsideBoxError, ParameterError
from sfumato.laws import LocalLaw
from sfumato.releases.collected.moments import CollectedMoments

BOX = sf.Box({"age": (20, 60), "hours": (0, 80), "rich": sf.Categorical(["no", "yes"])})
PROTOCOL = sf.local.LinearModel(BOX, 2.0, "rich", seed=1)


def made(protocol=PROTOCOL):
    second = np.diag([0.6, 0.2, 0.2])
    return CollectedMoments.of(protocol, second, np.array([-0.3, 0.2, 0.0]), 5000)


def common(release):
    return {name: getattr(release, name) for name in ("guarantee", "law", "target", "receipt")}


def rebuilt(release, fields=None, arrays=None, **other):
    told = {**common(release), **other}
    return CollectedMoments.rebuild(
        told, BOX, {**release.fields(), **(fields or {})}, {**release.arrays(), **(arrays or {})}
    )


def test_it_cannot_be_changed_and_says_what_it_is():
    release = made()
    with pytest.raises(ValueError, match="read-only"):
        release.second_moments[0, 0] = 9.0
    assert (
        repr(release)
        == "<CollectedMoments of 2 columns and 'rich': 2-differential privacy for replacing one row, local model>"
    )
    assert release.columns == ("age", "hours") and release.features.names == ("age", "hours")
    second, cross = release.deviations
    assert second < release.noise_sd < cross < release.law.deviation
    assert release.noise_sd**2 == pytest.approx((9 * second**2 + 3 * cross**2) / 12)
    assert release.ridge == pytest.approx(second * np.sqrt(3))


def test_the_model_by_hand():
    release = made()
    ridge = release.ridge
    slopes = [c * m / (m**2 + ridge**2) for c, m in zip((-0.3, 0.2, 0.0), (0.6, 0.2, 0.2), strict=True)]
    model = release.fit()
    assert model.coefficients == pytest.approx((slopes[1] / 10, 0.0))
    assert model.intercept == pytest.approx(1.3 * slopes[0] - slopes[1] / 10 * 40)
    assert release.predict([[60.0, 0.0], [20.0, 0.0], [99.0, 0.0]]).tolist() == ["yes", "no", "yes"]


def test_points_are_read_as_those_of_every_other_release():
    """Tables by the names of their columns; what is outside is moved in, or refused; what is no number is."""
    release = made()
    table = {"hours": [0.0, 0.0], "age": [60.0, 990.0]}
    assert release.predict(table).tolist() == release.predict([[60.0, 0.0], [990.0, 0.0]]).tolist() == ["yes", "yes"]
    for points, outside in ((table, "refuse"), ([[float("nan"), 0.0]], "clip")):
        with pytest.raises(OutsideBoxError):
            release.predict(points, outside=outside)


def test_a_file_comes_back():
    release = made()
    again = rebuilt(release)
    assert again.fit() == release.fit() and again.reports == 5000 and again.deviations == release.deviations


def test_the_first_files_have_one_deviation_for_all_moments():
    """What they said of themselves, and the model that they gave, stay what they were."""
    release = made()
    fields = release.fields()
    del fields["deviations"]
    again = CollectedMoments.rebuild(common(release), BOX, fields, release.arrays())
    assert again.noise_sd == pytest.approx(release.law.deviation)
    assert again.ridge == release.law.deviation * np.sqrt(3) and again.fields() == fields


@pytest.mark.parametrize(
    ("fields", "arrays"),
    [
        ({"response": "ages"}, {}),
        ({"response": "age"}, {}),
        ({"scales": [[1.0, 2.0]]}, {}),
        ({"scales": [[1.0, 2.0], [1.0, 0.0]]}, {}),
        ({"constant": -1.0}, {}),
        ({"public": True}, {}),
        ({"public": 1}, {}),
        ({"reports": 0}, {}),
        ({"more": 1}, {}),
        ({"deviations": [0.0, 0.01]}, {}),
        ({"deviations": [0.01, 0.0]}, {}),
        ({"deviations": [-0.01, 0.01]}, {}),
        ({"deviations": [0.01, 9.0]}, {}),
        ({"deviations": [9.0, 0.01]}, {}),
        ({"deviations": [0.01]}, {}),
        ({"deviations": [float("nan"), 0.01]}, {}),
        ({}, {"second_moments": np.ones((2, 2))}),
        ({}, {"second_moments": np.triu(np.ones((3, 3)))}),
        ({}, {"cross_moments": np.ones(2)}),
        ({}, {"other": np.ones(3)}),
    ],
)
def test_files_that_say_something_else_are_refused(fields, arrays):
    with pytest.raises((ParameterError, FileFormatError, ValueError)):
        rebuilt(made(), fields, arrays)


def test_noise_of_another_size_is_refused():
    with pytest.raises(ParameterError, match="another number of moments"):
        rebuilt(made(), law=LocalLaw("privunit", 5, 0.1))


def test_its_face_says_all_of_it_as_data(tmp_path):
    made().save(tmp_path / "m.sfumato")
    from sfumato.faces import face_of

    face = face_of(sf.load(tmp_path / "m.sfumato"))
    data = json.loads(json.dumps(face.data()))
    assert data["response"] == "rich" and data["columns"] == ["age", "hours"] and not data["public"]
    assert face.title == "a linear model of rich from age and hours, collected from people's devices"
