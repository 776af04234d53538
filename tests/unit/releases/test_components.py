"""Components as a release: the file holds noisy numbers, and a reader works their certificate out again."""

from dataclasses import replace

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import FileFormatError, ParameterError
from sfumato.releases.components import ComponentsRelease

BOX = sf.Box({"a": (0, 10), "b": (-5, 5), "c": sf.Integer(0, 9)})
DATA = np.random.default_rng(2).uniform(0, 5, (500, 3))
GRANTS = [sf.Privacy(epsilon=1.0), sf.Privacy(1.0, 1e-6, neighbours="add-remove"), sf.Privacy(rho=0.1)]


def made(noise="products", grant=GRANTS[0]):
    return sf.private_pca(DATA, BOX, grant, 2, noise=noise)


@pytest.mark.parametrize("noise", ["covariance", "products"])
@pytest.mark.parametrize("grant", GRANTS, ids=str)
def test_a_file_says_the_same(noise, grant, tmp_path):
    release = made(noise, grant)
    release.save(tmp_path / "c.sfumato")
    again = sf.load(tmp_path / "c.sfumato")
    assert isinstance(again, ComponentsRelease) and repr(again) == repr(release)
    assert (again.numbers == release.numbers).all() and (again.components == release.components).all()
    assert (again.guarantee, again.law, again.basis) == (release.guarantee, release.law, release.basis)
    assert not again.numbers.flags.writeable


def test_points_are_in_the_box_and_the_same_for_a_seed():
    release = made()
    points = release.points(200, seed=4)
    assert points.shape == (200, 3) and (points == release.points(200, seed=4)).all()
    assert (points >= BOX.low).all() and (points <= BOX.high).all()
    with pytest.raises(ParameterError, match="rows"):
        release.points(0)


def rebuilt(release, law=None, guarantee=None, **changes):
    fields = {**release.fields(), **changes}
    common = {"guarantee": guarantee or release.guarantee, "law": law or release.law, "target": (), "receipt": None}
    return ComponentsRelease.rebuild(common, BOX, fields, release.arrays())


@pytest.mark.parametrize(
    "changes",
    [{"records": None}, {"records": -1}, {"basis": {}}, {"more": 1}],
    ids=str,
)
def test_a_file_that_does_not_add_up_is_refused(changes):
    assert rebuilt(made()).basis.rank == 2
    with pytest.raises((ParameterError, FileFormatError, ValueError)):
        rebuilt(made(), **changes)


def test_less_noise_than_all_products_need_is_refused():
    release = made()
    more = {**release.basis.to_json(), "iterations": 9}
    with pytest.raises(ParameterError, match="less noise"):
        rebuilt(release, basis=more)
    loose = made(grant=GRANTS[1])
    with pytest.raises(ParameterError, match="mu"):
        rebuilt(loose, guarantee=replace(loose.guarantee, mu=loose.guarantee.mu / 1.2))
    certificate = replace(release.law.certificate, bound=release.law.certificate.bound / 2)
    with pytest.raises(ParameterError, match="certificate"):
        rebuilt(release, law=replace(release.law, certificate=certificate))
    with pytest.raises(ParameterError, match="norm"):
        rebuilt(release, law=replace(release.law, certificate=replace(certificate, norm="l1", bound=1)))
