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
from sfumato.faces.presence import Presence, absence, quiet, sum_of
from sfumato.releases.uncertainty import simulate_noise

ROWS = 4000
DRAW = np.random.default_rng(7)
THERE = pd.DataFrame({"x": DRAW.uniform(0, 10, ROWS), "y": DRAW.uniform(0, 1, ROWS)})
WARDS = list("abcde")
THERE["sex"] = np.where(DRAW.uniform(0, 10, ROWS) < 1 + 0.8 * THERE["x"], "F", "M")  # something can be learned of it
THERE["ward"], THERE["visits"] = DRAW.choice(WARDS, ROWS), DRAW.integers(0, 5, ROWS)
GONE = pd.DataFrame({"x": [math.nan] * ROWS, "y": [math.nan] * ROWS, "sex": ["f"] * ROWS, "ward": ["Ward a"] * ROWS})
GONE["visits"] = math.nan
LINE = sf.Box({"x": (0, 10)})
MIXED = sf.Box({"x": (0, 10), "sex": sf.Categorical(["F", "M"])})
WARD, SEX = sf.Categorical(WARDS), sf.Categorical(["F", "M"])
TABLE = sf.Box({"x": (0, 10), "y": (0, 1), "visits": sf.Integer(0, 4), "ward": WARD, "sex": SEX})
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
    "noisy margin": (sf.KernelMachine("hinge", "linear", response="sex", classes=["F", "M"]), LINE),
    "known classes": (
        sf.KernelMachine("logistic", "linear", response="sex", classes=["F", "M"], prior=[1, 2]),
        LINE,
    ),
    "two categories": (sf.CosineMoments(6), sf.Box({"sex": sf.Categorical(["F", "M"])})),
}
AFAR = {  # what is told there is no number of records
    "sum": (sf.Statistic("sum"), LINE),
    "summary": (sf.CosineMoments(6), LINE),
    "few moments": (sf.CosineMoments(3), LINE),
    "categories": (sf.CosineMoments(6), sf.Box({"ward": sf.Categorical(WARDS)})),
    "stated variance": (sf.Statistic("variance", missing="none"), LINE),
    "stated covariance": (sf.Statistic("covariance", missing="none"), LINE),
    "table": (sf.TableMoments(), TABLE),
    "table of classes": (sf.TableMoments("sex"), TABLE),
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


@pytest.mark.few(6)
@pytest.mark.parametrize("grant", GRANTS, ids=str)
@pytest.mark.parametrize("name", TOLD)
def test_nobody_is_told_of_and_somebody_is_not(name, grant, monkeypatch):
    """The records are more than a hundred standard deviations: each false alarm has probability below 1e-40."""
    assert heard(name, THERE, grant) == []
    monkeypatch.setattr(mechanism, "draw", lambda law: np.zeros(law.size, dtype=np.int64))  # which is seldom far from
    (words,) = heard(name, GONE, grant)
    assert words.startswith("next to no record may be there: the noisy number of records with ")


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


# --- columns that nobody has, beside others ------------------------------------------------------------------------


@pytest.mark.few(2)
@pytest.mark.parametrize("grant", GRANTS, ids=str)
@pytest.mark.parametrize(
    "name", ["few moments", "categories", "stated variance", "stated covariance", "table", "table of classes"]
)
def test_moments_of_records_are_not_those_of_noise(name, grant):
    """With noise as it is drawn: 4,000 records, evenly spread, are far from what is said of none."""
    assert heard(name, THERE, grant) == []


@pytest.mark.parametrize("grant", [GRANTS[0], GRANTS[2]], ids=str)
@pytest.mark.parametrize("name", ["few moments", "categories", "stated variance", "stated covariance"])
def test_a_column_that_nobody_has_is_named(name, grant, no_noise):
    (words,) = heard(name, GONE, grant)
    assert f"the moments of {'ward' if name == 'categories' else 'x'} are no more than noise" in words


@pytest.mark.few(2)
@pytest.mark.parametrize("label", [None, "sex"])
@pytest.mark.parametrize("grant", GRANTS, ids=str)
def test_a_column_of_a_table_that_nobody_has_is_named(label, grant, no_noise):
    """Of categories by their marks, which count records; of numbers by mean and spread."""
    target, name = sf.TableMoments(label), "table" if label is None else "table of classes"
    for gone, words in (("ward", "be there of ward (ward: "), ("x", "the moments of x are no more than noise")):
        with pytest.warns(NothingThereWarning) as told:
            sf.release(target, THERE.assign(**{gone: GONE[gone]}), TABLE, grant)
        assert [words in str(one.message) for one in told] == [True], [str(one.message) for one in told]
    assert heard(name, THERE, grant) == []


def test_five_whole_numbers_are_no_gap(no_noise):
    """All equally frequent, their first two moments are zero, as those of missing values are."""
    five = sf.Box({"visits": sf.Integer(0, 4)})
    even = pd.DataFrame({"visits": np.arange(5).repeat(2000)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sf.release(sf.CosineMoments(3), even, five, GRANTS[0])
        sf.release(sf.CosineMoments(6), even, five, GRANTS[0])
        sf.release(sf.TableMoments(), even, five, GRANTS[0])


@pytest.mark.parametrize("many", [2, 4, 9])
def test_moments_that_could_be_anything_are_seldom_so_near_zero(many):
    """The share of the cube of moments in which is said that nobody is there."""
    assert (2 * 4 * quiet(many) / 2) ** many <= 0.01 + 1e-12 and quiet(many) <= 0.03


SIDES = {"response": "side", "classes": ["F", "M"], "C": 2.0}
LEARNERS = {
    "margin": sf.KernelMachine("hinge", "linear", **SIDES),
    "margins": sf.KernelMachine("hinge", "linear", **{**SIDES, "classes": ["F", "M", "W"]}),
    "kernel": sf.KernelMachine("hinge", sf.RBF(2.0), **SIDES),
    "counted": sf.KernelMachine("logistic", "linear", **SIDES),
    "inside": sf.KernelMachine("logistic", "linear", prior="even", mechanism="objective", **SIDES),
    "ridge": sf.KernelMachine("squared", "linear", response="y", range=(0, 1), C=2.0),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner_of_nobody_is_told_of(name):
    """40,000 records; noise is longer than is said once in a hundred, both of two draws once in 10,000."""
    side = np.where(THERE["x"] > 5, "M", "F")
    there = pd.concat([THERE.assign(side=side, y=THERE["x"] / 10)] * 10)
    text = {"y": math.nan} if name == "ridge" else {"side": "no"}
    told = {}
    for what, data in {"there": there, "text": there.assign(x=math.nan), "labels": there.assign(**text)}.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NothingThereWarning)
            found = [sf.release(LEARNERS[name], data, LINE, GRANTS[0]) for _ in range(2)]
        told[what] = [face_of(release).nothing_there() for release in found]
    assert told["there"] == [[], []]
    for what in ("text", "labels"):
        words = [word for each in told[what] for word in each]
        counted = name == "counted" and what == "labels"
        start = "next to no record" if counted else "next to nothing may be there: what was learned"
        assert words and all(word.startswith(start) for word in words)


def test_features_that_tell_nothing_are_told_as_such(no_noise):
    """Of records whose label has nothing to do with them nothing is learned either, and the words say so."""
    even = pd.DataFrame({"x": np.linspace(0, 10, 20_000).repeat(2), "side": ["F", "M"] * 20_000})
    with pytest.warns(NothingThereWarning, match="or do they tell nothing of it"):
        sf.release(LEARNERS["counted"], even, LINE, GRANTS[0])


def test_a_face_that_fails_does_not_take_the_release_along(monkeypatch):
    def broken(release):
        raise RuntimeError("out of order")

    monkeypatch.setattr("sfumato.pipeline.nothing_there", broken)
    with pytest.warns(UserWarning, match="could not be looked at .RuntimeError: out of order"):
        assert sf.release(sf.Statistic("count"), THERE, LINE, GRANTS[0]).statistic == "count"
