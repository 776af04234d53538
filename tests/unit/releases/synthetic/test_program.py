"""Rows by a linear program: what was published is in them, on a grid and on points of an ellipsoid."""

import warnings

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import FileFormatError, ParameterError
from sfumato.faces import face_of
from sfumato.releases.synthetic import program
from sfumato.releases.synthetic.table import TableRelease

QUIET, PURE = sf.Privacy(epsilon=1e5), sf.Privacy(epsilon=1.0)
RNG, N = np.random.default_rng(8), 3000
ALONG = RNG.normal(0, 0.3, (2, 6))
RECORDS = np.clip(RNG.standard_normal((N, 2)) @ ALONG + 0.15 * RNG.standard_normal((N, 6)) + 0.1, -1, 1)
PLANE, WIDE = sf.Box([(-1, 1)] * 2), sf.Box([(-1, 1)] * 5 + [sf.Integer(-1, 1)])
SHARES = {"means": 0.3, "norm": 0.1, "spreads": 0.3, "pairs": 0.3}


def made(box, privacy=QUIET, shares=SHARES, **more):
    data = RECORDS[:, : box.dimension]
    return sf.synthesize(data, box, privacy, shares=shares, method="lp", rows=4000, seed=2, **more)


def rows_of(release):
    return np.stack([release.data[name].to_numpy() for name in release.data.column_names], axis=1).astype(float)


def test_a_grid_has_the_moments_that_were_published():
    """Within a cell of 1/64, which rows fill evenly."""
    release = made(PLANE)
    assert release.method == "lp" and release.atoms.points.shape == (64**2, 2)
    found = rows_of(release)
    assert found.mean(axis=0) == pytest.approx(RECORDS[:, :2].mean(axis=0), abs=0.01)
    assert np.cov(found.T) == pytest.approx(np.cov(RECORDS[:, :2].T), abs=0.02)
    assert len(np.unique(found, axis=0)) > 3000


def test_points_of_an_ellipsoid_have_them_too():
    release = made(WIDE)
    assert release.atoms.reach == 0 and len(release.atoms.points) <= 2000
    found, true = rows_of(release), RECORDS[:, :5]
    assert found[:, :5].mean(axis=0) == pytest.approx(true.mean(axis=0), abs=0.02)
    assert np.cov(found[:, :5].T) == pytest.approx(np.cov(true.T), abs=0.03)
    assert {*found[:, 5]} <= {-1.0, 0.0, 1.0}
    assert np.count_nonzero(release.atoms.weights) <= program.bought_of(release.noisy) + 1


def test_the_candidates_are_the_ellipsoid_of_the_records():
    release = made(sf.Box([(-1, 1)] * 6))
    found = program.ellipsoid_of(release.noisy, release.box)
    values = np.linalg.eigvalsh(np.cov(RECORDS.T))[::-1]
    assert found.values == pytest.approx(values, abs=0.01)
    assert found.mean == pytest.approx(RECORDS.mean(axis=0), abs=0.01)


def test_the_face_says_how_pairs_of_its_points_go_together():
    told = face_of(made(PLANE)).data()["pairs"][0]
    assert told["independent"] == 0
    assert told["correlation"] == pytest.approx(np.corrcoef(RECORDS[:, :2].T)[0, 1], abs=0.05)


def test_rows_follow_from_the_file(tmp_path):
    release = made(PLANE, PURE)
    release.save(tmp_path / "t.sfumato")
    again = sf.load(tmp_path / "t.sfumato")
    assert isinstance(again, TableRelease) and again.method == "lp"
    assert again.data.equals(release.data) and not again.sample(4000, 3).equals(again.data)


def test_the_face_says_how_rows_were_made():
    told = dict(face_of(made(PLANE, PURE)).rows())
    assert "4,096 cells of a full grid" in told["method"][0]
    assert "linear program chose by means, spreads and products of pairs" in told["together"][0]
    assert "points of an ellipsoid" in dict(face_of(made(WIDE, PURE)).rows())["method"][0]
    assert "products" not in face_of(made(PLANE, PURE, {"means": 0.5, "spreads": 0.5})).independent


@pytest.mark.parametrize("grant", [PURE, sf.Privacy(1.0, 1e-6), sf.Privacy(rho=1e-9, neighbours="add-remove")], ids=str)
@pytest.mark.parametrize("shares", ["auto", {"means": 1.0}, {"means": 0.9, "norm": 0.1}], ids=str)
def test_every_grant_and_all_shares_make_rows_and_nothing_warns(grant, shares):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", sf.errors.NothingThereWarning)
        assert made(WIDE, grant, shares).data.num_rows == 4000


CATEGORIES = sf.Box({"a": (0, 1), "c": sf.Categorical(["x", "y"])})


@pytest.mark.parametrize(
    ("box", "more", "words"),
    [
        (CATEGORIES, {"label": "c"}, "label must be left out for method='lp'"),
        (CATEGORIES, {}, "'c' that is no number on a line"),
        (sf.Box({"a": (0, 1), "h": sf.Periodic(0, 24)}), {}, "'h' that is no number on a line"),
        (sf.Box([(0, 1)] * 116), {"shares": {"means": 0.5, "pairs": 0.5}}, "shares .*give shares without pairs"),
        (sf.Box([(0, 1)] * 900), {}, "box .*give fewer columns"),
    ],
)
def test_what_is_refused_is_refused_before_anything_is_read(box, more, words):
    with pytest.raises(ParameterError, match=words):
        sf.synthesize("no-such-file.csv", box, PURE, method="lp", **more)


def test_auto_leaves_pairs_out_where_their_program_would_not_fit():
    many = 10**9
    assert sf.plan(sf.TableMoments(method="lp"), sf.Box([(0, 1)] * 116), PURE, many).basis.budget["pairs"] == 0
    assert sf.plan(sf.TableMoments(method="lp"), sf.Box([(0, 1)] * 9), PURE, many).basis.budget["pairs"] > 0


def test_a_program_that_no_solver_solves_leaves_all_candidates_alike(monkeypatch):
    class Failed:
        status = 4

    monkeypatch.setattr("scipy.optimize.linprog", lambda *_, **__: Failed)
    assert program.nearest(np.ones((2, 5)), np.ones(2), np.ones(2)).tolist() == [0.2] * 5


def test_a_file_that_says_lp_of_what_is_no_matter_of_it_is_refused(tmp_path):
    release = sf.synthesize({"a": [0.5] * 9, "c": ["x"] * 9}, CATEGORIES, PURE, label="c", rows=5)
    object.__setattr__(release, "method", "lp")
    with pytest.raises((FileFormatError, sf.errors.UnreadableReleaseError, ParameterError)):
        release.save(tmp_path / "t.sfumato")
