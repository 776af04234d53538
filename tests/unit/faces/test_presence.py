"""Whether anybody is there, by released numbers alone: told where nobody is, and not where somebody is."""

import math
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.core import mechanism
from sfumato.errors import NothingThereWarning
from sfumato.faces import face_of
from sfumato.faces.presence import Presence, absence, sum_of
from sfumato.releases.uncertainty import simulate_noise

ROWS = 4000
DRAW = np.random.default_rng(7)
THERE = pd.DataFrame(
    {"x": DRAW.uniform(0, 10, ROWS), "y": DRAW.uniform(0, 1, ROWS), "sex": DRAW.choice(["F", "M"], ROWS)}
)
GONE = pd.DataFrame({"x": [math.nan] * ROWS, "y": [math.nan] * ROWS, "sex": ["f"] * ROWS})
LINE = sf.Box({"x": (0, 10)})
MIXED = sf.Box({"x": (0, 10), "sex": sf.Categorical(["F", "M"])})
TOLD = {
    "density": (sf.KDE(1.0), LINE),
    "groups": (sf.KDE(1.0, by="sex"), MIXED),
    "count": (sf.Statistic("count"), LINE),
    "mean": (sf.Statistic("mean"), LINE),
    "variance": (sf.Statistic("variance"), LINE),
    "histogram": (sf.Statistic("histogram"), LINE),
    "proportions": (sf.Statistic("proportions", "sex"), MIXED),
    "quantiles": (sf.Statistic("quantiles"), LINE),
    "curve": (sf.NadarayaWatson(1.0, response="y", range=(0, 1)), LINE),
    "naive Bayes": (sf.NaiveBayes("sex", ["F", "M"]), LINE),
    "normal": (sf.NaiveBayes("sex", ["F", "M"], likelihood="normal"), LINE),
    "learner": (sf.KernelMachine("logistic", "linear", response="sex", classes=["F", "M"]), LINE),
}
UNTOLD = {  # what is released there holds no number of records
    "stated sum": (sf.Statistic("sum", missing="none"), LINE),
    "sum of both signs": (sf.Statistic("sum"), sf.Box({"x": (-10, 10)})),
    "median": (sf.Statistic("median", interval="none"), LINE),
    "stated": (sf.Statistic("mean", missing="none"), LINE),
    "margin": (sf.KernelMachine("hinge", "linear", response="sex", classes=["F", "M"]), LINE),
    "known classes": (
        sf.KernelMachine("logistic", "linear", response="sex", classes=["F", "M"], prior=[1, 2]),
        LINE,
    ),
    "few moments": (sf.CosineMoments(3), LINE),
}
AFAR = {  # what is told there is no number of records
    "sum": (sf.Statistic("sum"), LINE),
    "summary": (sf.CosineMoments(6), LINE),
}
GRANTS = [
    sf.Privacy(epsilon=1.0),
    sf.Privacy(epsilon=1.0, neighbours="add-remove"),
    sf.Privacy(rho=0.5),
    sf.Privacy(epsilon=1.0, delta=1e-6),
]


def heard(name, data, grant):
    target, box = {**TOLD, **UNTOLD, **AFAR}[name]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        release = sf.release(target, data, box, grant)
    assert [str(one.message) for one in told] == face_of(release).nothing_there()
    assert all(one.category is NothingThereWarning and one.filename == __file__ for one in told)
    return [str(one.message) for one in told]


@pytest.mark.few(12)
@pytest.mark.parametrize("grant", GRANTS, ids=str)
@pytest.mark.parametrize("name", TOLD)
def test_nobody_is_told_of_and_somebody_is_not(name, grant, monkeypatch):
    """The records are more than a hundred standard deviations: each false alarm has probability below 1e-40."""
    assert heard(name, THERE, grant) == []
    monkeypatch.setattr(mechanism, "draw", lambda law: np.zeros(law.size, dtype=np.int64))  # which is seldom far from
    (words,) = heard(name, GONE, grant)
    assert words.startswith("next to no record may be there: the noisy number of records with ")


@pytest.fixture
def no_noise(monkeypatch):
    monkeypatch.setattr(mechanism, "draw", lambda law: np.zeros(law.size, dtype=np.int64))


@pytest.mark.parametrize("name", UNTOLD)
def test_where_no_number_of_records_is_released_nothing_is_said(name):
    assert heard(name, GONE, GRANTS[0]) == []


def test_a_group_or_a_class_alone_is_named(no_noise):
    only = THERE.assign(sex="F")
    (words,) = heard("groups", only, GRANTS[0])
    assert "of sex M (sex M: " in words
    (words,) = heard("naive Bayes", only, GRANTS[0])
    assert "of sex M (sex M: " in words


@pytest.mark.parametrize("what", ["histogram", "proportions"])
def test_a_declared_category_that_nobody_has_is_named(what, no_noise):
    told = sf.Box({"sex": sf.Categorical(["F", "M", "W"])})
    with pytest.warns(NothingThereWarning, match="next to no record may be there of sex W"):
        sf.release(sf.Statistic(what, "sex"), THERE, told, GRANTS[0])


def test_cells_of_numbers_may_be_empty(no_noise):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sf.release(sf.Statistic("histogram", "x"), THERE, sf.Box({"x": (-10, 10)}), GRANTS[0])


@pytest.mark.parametrize("grant", GRANTS, ids=str)
def test_sums_that_are_no_more_than_noise(grant, no_noise):
    """Values of one sign that add up to nothing: each record could have added up to ten."""
    assert heard("sum", THERE, grant) == []
    (words,) = heard("sum", GONE, grant)
    assert words.startswith("next to no record may be there: the noisy sum of x is no more than noise, of standard ")


@pytest.mark.parametrize("grant", GRANTS, ids=str)
def test_moments_that_are_those_of_missing_values(grant, no_noise):
    """Evenly spread values have moments of their own: -1/3 is the second."""
    assert heard("summary", THERE, grant) == []
    (words,) = heard("summary", GONE, grant)
    assert words.startswith("next to no record may be there: the moments of x are no more than noise")
    gone = np.full(10, math.nan)  # too few for anything to be said
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sf.release(sf.CosineMoments(6), gone, LINE, GRANTS[0])


def test_a_private_number_of_records_that_is_noise(no_noise):
    with pytest.warns(NothingThereWarning, match="the noisy number of records with x is 0"):
        sf.release(sf.CosineMoments(6), np.zeros(0), LINE, GRANTS[1])


def test_a_class_that_a_learner_counted_none_of(no_noise):
    (words,) = heard("learner", THERE.assign(sex="F"), GRANTS[0])
    assert "of sex M (sex M: " in words
    few = THERE[:20]  # their noise is larger than they are
    assert heard("learner", few, GRANTS[0]) == []
    some = THERE[:400].assign(sex=["M"] * 80 + ["F"] * 320)  # a fifth is not next to none, and noise would hide it
    assert heard("learner", some, GRANTS[0]) == []


def test_a_column_of_text_that_was_declared_a_number(tmp_path, no_noise):
    """A CSV file has no types, so the noisy number tells; other tables say what they hold, and are refused."""
    table = pd.DataFrame({"offense": ["theft", "fraud"] * 500})
    box = sf.Box({"offense": (0, 10)})
    table.to_csv(tmp_path / "crimes.csv", index=False)
    with pytest.warns(NothingThereWarning, match="records with offense is .* of 1,000 rows"):
        sf.release(sf.KDE(1.0), tmp_path / "crimes.csv", box, GRANTS[0])
    table.to_parquet(tmp_path / "crimes.parquet")
    for data in (table, tmp_path / "crimes.parquet"):
        with pytest.raises(sf.errors.SchemaError, match="column 'offense' must be numeric"):
            sf.release(sf.KDE(1.0), data, box, GRANTS[0])


def test_an_empty_table_is_refused_where_its_length_is_public_and_only_there(tmp_path, no_noise):
    (tmp_path / "empty.csv").write_text("x\n")
    for data in (THERE[:0], tmp_path / "empty.csv", np.zeros(0)):
        with pytest.raises(sf.errors.SchemaError, match="no records"):
            sf.release(sf.KDE(1.0), data, LINE, GRANTS[0])
        with pytest.warns(NothingThereWarning):
            sf.release(sf.KDE(1.0), data, LINE, GRANTS[1])


def test_where_warnings_are_errors_the_release_is_not_lost(no_noise):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(NothingThereWarning) as told:
            sf.release(sf.Statistic("count"), GONE, LINE, GRANTS[0])
    assert told.value.release.statistic == "count"


def test_next_to_none_of_many_rows():
    assert Presence("", 900.0, 1.0, 100_000).absent  # surely fewer than one in a hundred
    assert not Presence("", 999.0, 1.0, 100_000).absent
    assert not Presence("", 900.0, 1.0, None).absent
    assert absence(None) == []


def test_of_too_few_public_rows_nothing_can_be_said():
    assert not Presence("", 0.0, 3.0, 26).absent and Presence("", 0.0, 3.0, 27).absent
    assert Presence("", 8.0, 3.0).absent  # of a private number it can: it cannot be told from none


@pytest.mark.few(6)
@pytest.mark.parametrize("kind", ["laplace", "gaussian", "linf", "l2"])
@pytest.mark.parametrize("size", [1, 2, 5, 40])
def test_noise_alone_reaches_no_further_than_is_said(kind, size):
    """Of 400,000 draws 2,872 and 42 are expected at most; 3,250 and 90 have probabilities below 1e-9."""
    law = SimpleNamespace(kind=kind, size=size, deviation=1.0)
    draws = 400_000 // max(1, size // 5)
    sums = simulate_noise(law, draws, np.random.default_rng(3)).sum(axis=1)
    unsure = sum_of("", np.zeros(size), law).unsure
    assert np.std(sums) == pytest.approx(unsure, rel=0.03)
    assert np.count_nonzero(sums > 3 * unsure) <= 3250 * draws / 400_000 + 100
    assert np.count_nonzero(sums > 6 * unsure) <= 90


def test_a_single_laplace_number_is_the_worst():
    for far, often in ((3, 0.0072), (6, 1.04e-4)):
        single = 0.5 * math.exp(-far * math.sqrt(2))
        assert 0.99 * often < single <= often
        assert (2 + 2 * far) / 4 * math.exp(-2 * far) < single  # the sum of two


def test_the_limits_of_a_mean_say_what_missing_values_cost():
    drop, none = (sf.release(sf.Statistic("mean", missing=how), THERE, LINE, GRANTS[0]) for how in ("drop", "none"))
    told = {
        how: "\n".join(dict(face_of(release).rows())["limits"]) for how, release in (("drop", drop), ("none", none))
    }
    assert "missing='drop' counts the values, with noise, and costs the difference" in told["drop"]
    assert "those of noisy sums alone" in told["none"]
    assert np.ptp(drop.interval()) > np.ptp(none.interval())
    private = sf.release(sf.Statistic("mean"), THERE, LINE, GRANTS[1])  # their number is private: no choice
    assert "costs the difference" not in str(face_of(private).rows())
    assert face_of(drop).page()["value"]["price_of_missing"] in told["drop"]
