"""Old files still load, still give the same values, and still promise the same."""

import json
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf

FILES = sorted(Path(__file__).parent.glob("*.sfumato"))
FLAVOURS = {"pure", "person", "concentrated", "derivative", "laplace"}
FLAVOURS |= {"density", "density-linear", "density-private", "density-matrix", "density-polynomial", "grouped-density"}
FLAVOURS |= {"machine-output", "machine-objective", "machine-linear", "machine-bernstein"}
FLAVOURS |= {"learner-output", "learner-objective", "learner-bernstein", "gaps", "clipped"}
FLAVOURS |= {"curve", "priestley-chao", "naive-bayes", "naive-bayes-normal"}
FLAVOURS |= {"value-mean", "value-histogram", "value-median", "value-random", "value-bounds"}
FLAVOURS |= {"summary", "summary-pairs", "summary-cross", "table", "table-lp", "components"}
FLAVOURS |= {"components-products"}
FLAVOURS |= {"density-space", "density-receipt", "grouped-density-plane", "space"}
FLAVOURS |= {"machine-line", "machine-number", "machine-space", "naive-bayes-classes"}
FLAVOURS |= {"curve-plane", "curve-private", "curve-space"}
FLAVOURS |= {"value-count", "value-sum", "value-variance", "value-covariance", "value-proportions", "value-own"}
FLAVOURS |= {"value-quantiles", "value-tree", "collected-density", "collected-density-line", "collected-summary"}
FLAVOURS |= {"collected-marginals", "collected-marginals-joint", "collected-density-circles", "density-dates"}
FLAVOURS |= {
    "collected-moments",
    "collected-density-subset",
    "collected-risk",
    "collected-risk-plane",
    "collected-risk-total",
    "collected-model",
}


def test_every_flavour_of_version_one_is_here():
    assert {file.stem.removesuffix("-v1") for file in FILES if file.stem.endswith("-v1")} >= FLAVOURS


@pytest.fixture(params=FILES, ids=lambda file: file.stem)
def golden(request):
    return sf.load(request.param), json.loads(request.param.with_suffix(".json").read_text(encoding="utf-8"))


def parts_of(release):
    """What can be evaluated: the release itself, or each of its groups by name."""
    return {str(name): release[name] for name in release} if release.kind == "grouped-density" else {"": release}


def first_part(release):
    return next(iter(parts_of(release).values()))


def basis_of(release):
    if release.kind == "naive-bayes":
        return ", ".join(type(part).__name__ for part in release.likelihoods)
    if release.kind == "value":
        return repr(release.summary)
    if release.kind in ("collected-moments", "collected-model"):
        return repr(release.scales)
    if release.kind in ("summary", "marginals", "table", "components"):
        return repr(release.walsh if release.kind == "marginals" else release.basis)
    part = release.high if release.kind == "curve" else first_part(release)
    return release.handed.words() if release.kind == "machine" else repr(part.basis)


def asked(release):
    """Answers to the questions whose answers are stored."""
    return [
        release.answer(lambda p: np.exp(-((p[:, 0] - 40) ** 2) / 800), columns="age"),
        release.answer(lambda p: p[:, 0] * p[:, 1], columns=["age", release.box.names[1]]),
        release.mean("age"),
        release.variance("age"),
        release.share({"age": (30, 70)}),
        release.kde([40.0], 30.0, columns="age").each(lambda part: part[0]),
    ]


def evaluated(release, points):
    """Its values; a naive Bayes classifier has probabilities."""
    return release.predict_proba(points) if release.kind == "naive-bayes" else release(points)


def test_it_still_evaluates_to_the_stored_values(golden):
    release, expected = golden
    if release.kind == "value":
        assert np.asarray(release.value) == pytest.approx(np.array(expected["value"]), rel=1e-12, abs=1e-12)
        assert release.labels == expected["labels"]
        return
    if release.kind == "summary":
        assert release.moments == pytest.approx(np.array(expected["moments"]), rel=1e-12, abs=1e-12)
        assert release.rows == expected["rows"]
        return
    if release.kind == "table":
        assert release.numbers.tolist() == expected["numbers"]
        assert (release.data.num_rows, list(release.classes)) == (expected["rows"], expected["classes"])
        return
    if release.kind == "components":
        for name in ("numbers", "mean", "components", "values"):
            assert getattr(release, name) == pytest.approx(np.array(expected[name]), rel=1e-9, abs=1e-9)
        assert release.records == expected["records"]
        return
    if release.kind == "marginals":
        for names, table in expected["tables"]:
            assert release.table(names) == pytest.approx(np.array(table), rel=1e-9, abs=1e-9)
        return
    if release.kind == "collected-moments":
        model, (second, cross) = release.fit(), expected["moments"]
        assert release.second_moments.tolist() == second and release.cross_moments.tolist() == cross
        assert [*model.coefficients, model.intercept] == pytest.approx(expected["model"], rel=1e-9)
        return
    if release.kind == "collected-model":
        assert [release.weights.tolist(), release.cross_moments.tolist()] == expected["model"]
        return
    values = np.array(expected["values"])
    assert evaluated(first_part(release), expected["points"]) == pytest.approx(values, rel=1e-12, abs=1e-12)
    for name, values in expected.get("groups", {}).items():
        assert parts_of(release)[name](expected["points"]) == pytest.approx(values, rel=1e-12, abs=1e-12)


@pytest.mark.few(36)
def test_a_density_still_has_about_the_stored_bands_and_counts(golden):
    """Bands may become sharper, or more cautious, in later versions; they may not become something else."""
    release, expected = golden
    for name, (low, high) in expected.get("bands", {}).items():
        part = parts_of(release)[name]
        count, least, most = expected["counts"][name]
        assert part.count == pytest.approx(count, rel=1e-9)
        assert part.count_band() == pytest.approx((least, most), rel=0.05)
        for now, then in zip(part.band(expected["points"]), (low, high), strict=True):
            assert now == pytest.approx(then, abs=0.2 * max(high))


@pytest.mark.few(36)
def test_a_statistic_still_has_about_the_stored_limits(golden):
    release, expected = golden
    if release.kind == "value" and expected["limits"]:
        low, high = (np.array(limit) for limit in expected["limits"])
        width = max(float(np.max(high - low)), 1e-9)
        for now, then in zip(release.interval(), (low, high), strict=True):
            assert np.asarray(now) == pytest.approx(then, abs=0.1 * width)


@pytest.mark.few(36)
def test_a_summary_still_answers_about_the_same(golden):
    """Errors may become sharper, or more cautious, in later versions; answers may not change by much of them."""
    release, expected = golden
    if release.kind == "summary":
        for now, value, error in zip(asked(release), expected["answers"], expected["errors"], strict=True):
            assert now.value == pytest.approx(value, abs=0.1 * error)
            assert now.error == pytest.approx(error, rel=0.5)


@pytest.mark.few(24)
def test_a_random_statistic_still_says_so(golden):
    release, expected = golden
    if expected["confidence"] < 1:
        assert str(release.guarantee).startswith("random ")
        assert "gamma 0.1" in release.guarantee.assumptions[0]
        assert release.law.certificate.known == "sampled"


@pytest.mark.few(36)
def test_a_learner_still_predicts_the_same_and_is_about_as_sure(golden):
    release, expected = golden
    if release.kind == "machine":
        assert release.predict(expected["points"]).tolist() == pytest.approx(expected["predictions"])
        assert release.mechanism == expected["mechanism"]
        low, high = release.band(expected["points"])
        assert high - low == pytest.approx(np.array(expected["widths"]), rel=0.1)


@pytest.mark.few(36)
def test_a_curve_or_classifier_still_has_about_the_stored_limits(golden):
    release, expected = golden
    if release.kind not in ("curve", "naive-bayes"):
        return
    for now, then in zip(release.band(expected["points"]), expected["limits"], strict=True):
        scale = np.ptp(release.response.range) if release.kind == "curve" else 1.0
        assert now == pytest.approx(np.array(then), abs=0.1 * scale)
    if release.kind == "curve":
        assert release.rows == expected["rows"]
    if release.kind == "naive-bayes":
        assert release.predict(expected["points"]).tolist() == expected["predictions"]
        assert release.counts == pytest.approx(expected["class_counts"], rel=1e-12)


def test_it_still_has_the_stored_guarantee(golden):
    release, expected = golden
    assert {name: getattr(release.guarantee, name) for name in expected["guarantee"]} == expected["guarantee"]
    assert release.guarantee.confidence == expected["confidence"]
    assert getattr(release.guarantee.unit, "max_rows", None) == expected["max_rows"]


# Written before files told what these sensitivities follow from: nobody can work them out again, and they say so.
UNTOLD = {"machine-output-v1", "machine-objective-v1", "machine-linear-v1", "machine-bernstein-v1", "priestley-chao-v1"}


@pytest.mark.parametrize("name", sorted(UNTOLD))
def test_what_an_old_file_cannot_show_is_read_as_stated(name):
    file = Path(__file__).parent / f"{name}.sfumato"
    release, expected = sf.load(file), json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
    assert release.law.certificate.known == "stated"
    first, *rest = release.guarantee.assumptions
    assert f"sensitivity {release.law.certificate.bound:g} to one row is stated by the caller" in first
    # Gaussian noise in the objective, and a private number of rows: two more things that nobody can check.
    told = [note for note in rest if "slope" in note or "records" in note]
    assert [note for note in rest if note not in told] == expected["assumptions"]
    assert len(told) == (2 if name == "machine-objective-v1" else 0)
    assert ("slope 1 and curvature 0.25 are stated" in " ".join(told)) == (name == "machine-objective-v1")


def test_it_still_reads_the_same(golden):
    release, expected = golden
    certificate = getattr(release.law, "certificate", None)  # devices have none, and what is chosen has no noise
    if certificate is None or certificate.known != "stated":
        assert list(release.guarantee.assumptions) == expected["assumptions"]
    assert {*expected["assumptions"]} <= {*release.guarantee.assumptions}
    assert list(release.box.names) == expected["names"]
    assert basis_of(release) == expected["basis"]
    assert [list(pair) for pair in release.target] == expected["target"]


@pytest.mark.few(36)
def test_it_still_knows_its_noise(golden):
    release, expected = golden
    if expected["noise"] is None:  # chosen, not perturbed
        assert release.law is None
        return
    kind, size, deviation = expected["noise"]
    assert (release.law.kind, release.law.size) == (kind, size)
    assert release.law.deviation == pytest.approx(deviation, rel=1e-12)
    if release.kind == "collected-moments":
        assert (release.slopes()[1] > 0).all()
    if release.kind in ("value", "summary", "marginals", "collected-moments", "collected-model", "table", "components"):
        return
    low, high = first_part(release).band(expected["points"])
    assert (low < high).all()


@pytest.mark.few(24)
def test_saving_it_again_keeps_it(golden, tmp_path):
    release, expected = golden
    release.save(tmp_path / "again.sfumato")
    again = sf.load(tmp_path / "again.sfumato")
    if release.kind == "value":
        assert again.numbers.tolist() == release.numbers.tolist()
        assert again.summary == release.summary
        return
    if release.kind in ("summary", "table", "components"):
        assert again.numbers.tolist() == release.numbers.tolist()
        assert (again.basis, again.guarantee, again.law) == (release.basis, release.guarantee, release.law)
        return
    if release.kind == "marginals":
        assert [table.tolist() for _, table in again.tables()] == [table.tolist() for _, table in release.tables()]
        assert (again.reports, again.guarantee, again.law) == (release.reports, release.guarantee, release.law)
        return
    if release.kind == "collected-moments":
        assert again.fit() == release.fit() and again.arrays().keys() == release.arrays().keys()
        assert (again.reports, again.guarantee, again.law) == (release.reports, release.guarantee, release.law)
        return
    if release.kind == "collected-model":
        assert again.fit() == release.fit() and again.guarantee == release.guarantee and again.law == release.law
        return
    for name, part in parts_of(release).items():
        before, after = (evaluated(one, expected["points"]) for one in (part, parts_of(again)[name]))
        assert after.tolist() == before.tolist()
    assert again.guarantee == release.guarantee
    assert again.law == release.law
    assert again.receipt == release.receipt
