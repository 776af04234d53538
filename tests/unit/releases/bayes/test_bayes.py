"""Published naive Bayes classifiers: points of every kind, probabilities, bands, certainty, and files."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from safetensors import safe_open
from safetensors.numpy import save as pack

import sfumato as sf
from sfumato.errors import FileFormatError, OutsideBoxError, ParameterError, ParameterTypeError

BOX = sf.Box({"age": (0, 110), "sex": sf.Categorical(["F", "M"]), "bmi": (10, 60)})
RNG = np.random.default_rng(9)
ROWS = 600
ILL = RNG.choice(["no", "yes"], ROWS, p=[0.7, 0.3])
FRAME = pd.DataFrame(
    {
        "age": np.where(ILL == "yes", RNG.normal(70, 12, ROWS), RNG.normal(40, 15, ROWS)).clip(0, 110),
        "sex": np.where(RNG.uniform(size=ROWS) < np.where(ILL == "yes", 0.7, 0.4), "M", "F"),
        "bmi": np.where(ILL == "yes", RNG.normal(31, 5, ROWS), RNG.normal(24, 4, ROWS)).clip(10, 60),
        "ill": ILL,
    }
)
SOME = FRAME[:25]


def publish(likelihood="kernel", privacy=None, data=FRAME, **options):
    target = sf.NaiveBayes("ill", ["no", "yes"], likelihood=likelihood, **options)
    return sf.release(target, data, BOX, privacy or sf.Privacy(epsilon=5.0))


@pytest.fixture(scope="module", params=["kernel", "normal"])
def release(request):
    return publish(request.param)


@pytest.fixture(scope="module")
def kernel():
    return publish()


# --- points -----------------------------------------------------------------------------------------------------

POINTS = {
    "pandas": SOME,
    "pandas, another order": SOME[["ill", "bmi", "sex", "age"]],
    "polars": pl.from_pandas(SOME),
    "pyarrow": pa.Table.from_pandas(SOME),
    "a mapping": {name: SOME[name].to_numpy() for name in BOX.names},
    "a mapping of lists": {name: SOME[name].tolist() for name in reversed(BOX.names)},
    "an array": SOME[list(BOX.names)].to_numpy(),
    "a list": SOME[list(BOX.names)].to_numpy().tolist(),
    "categories": SOME.astype({"sex": "category"}),
    "nullable": SOME.convert_dtypes(),
}


@pytest.mark.few(7)
@pytest.mark.parametrize("name", POINTS)
def test_points_of_every_kind(release, name):
    assert release.predict_proba(POINTS[name]).tolist() == release.predict_proba(SOME).tolist()
    assert release.predict(POINTS[name]).tolist() == release.predict(SOME).tolist()


def test_one_point_as_a_mapping(release):
    one = {"age": 60.0, "sex": "M", "bmi": 30}
    assert release.predict_proba(one).shape == (1, 2)
    assert release.predict_proba(one).tolist() == release.predict_proba([[60.0, "M", 30]]).tolist()


def test_a_single_column_may_be_a_plain_array():
    target = sf.NaiveBayes("ill", ["no", "yes"])
    single = sf.release(target, FRAME, sf.Box({"age": (0, 110)}), sf.Privacy(epsilon=5.0))
    assert single.predict_proba([30.0, 60.0]).tolist() == single.predict_proba([[30.0], [60.0]]).tolist()


@pytest.mark.parametrize(
    "hole",
    [
        pd.DataFrame({"age": [np.nan], "sex": ["M"], "bmi": [30.0]}),
        pl.DataFrame({"age": [None], "sex": ["M"], "bmi": [30.0]}, schema_overrides={"age": pl.Float64}),
        pa.table({"age": pa.array([None], pa.float64()), "sex": ["M"], "bmi": [30.0]}),
        {"age": [None], "sex": ["M"], "bmi": [30.0]},
        [[None, "M", 30.0]],
    ],
    ids=["pandas", "polars", "pyarrow", "mapping", "list"],
)
def test_a_missing_value_says_nothing(release, hole):
    """What is left are the other columns and the shares."""
    found = release.predict_proba(hole)
    assert np.isfinite(found).all()
    assert found.tolist() == release.predict_proba([[np.nan, "M", 30.0]]).tolist()
    assert found.tolist() != release.predict_proba([[20.0, "M", 30.0]]).tolist()


def test_a_gap_in_a_dictionary_says_nothing_either(release):
    """numpy reads it as the last entry."""
    columns = {"age": [20.0, 20.0], "sex": pa.array([None, "M"]).dictionary_encode(), "bmi": [30, None]}
    wanted = release.predict_proba([[20.0, None, 30.0], [20.0, "M", None]]).tolist()
    for points in (pa.table(columns), columns):
        assert release.predict_proba(points).tolist() == wanted


def test_without_any_value_the_shares_remain(release):
    found = release.predict_proba({"age": [None], "sex": ["?"], "bmi": [None]})
    assert found[0] == pytest.approx(release.counts / release.counts.sum())


def test_a_category_that_was_not_declared_says_nothing(release):
    asked = [[50.0, sex, 25.0] for sex in ("X", None, "f", 3)]
    found = release.predict_proba(asked)
    assert (found == found[0]).all()


@pytest.mark.parametrize(
    ("points", "kind", "words"),
    [
        (SOME[["age", "sex"]], ParameterError, r"the columns \['age', 'sex', 'bmi'\]"),
        ({"age": [1.0]}, ParameterError, "the columns"),
        ({"age": [1.0, 2.0], "sex": ["F"], "bmi": [20.0]}, ParameterError, "all of one length"),
        ([[1.0, "F"]], ParameterError, r"shape \(m, 3\), got shape \(1, 2\)"),
        ([[1.0, "F", 20.0], [1.0]], ParameterError, r"shape \(m, 3\)"),
        ("points.csv", ParameterTypeError, "a table or an array, got str"),
        (None, ParameterTypeError, "got NoneType"),
        (pl.from_pandas(SOME).lazy(), ParameterTypeError, "got LazyFrame"),
        ([["old", "F", 20.0]], OutsideBoxError, "'age' must hold numbers"),
    ],
)
def test_bad_points_are_refused(release, points, kind, words):
    for ask in (release.predict, release.predict_proba, release.band, release.certain):
        with pytest.raises(kind, match=words):
            ask(points)


def test_points_outside_are_moved_to_the_edge(release):
    for ask in (release.predict, release.predict_proba, release.certain):
        assert ask([[999.0, "F", 20.0]]).tolist() == ask([[110.0, "F", 20.0]]).tolist()
        with pytest.raises(OutsideBoxError, match="outside='clip'"):
            ask([[111.0, "F", 20.0]], outside="refuse")
    with pytest.raises(OutsideBoxError, match="outside='clip'"):
        release.band([[111.0, "F", 20.0]])
    with pytest.raises(ParameterError, match="outside must be one of 'refuse', 'clip'"):
        release.predict([[50.0, "F", 20.0]], outside="wrap")


def test_no_points_at_all(release):
    assert release.predict(FRAME[:0]).shape == (0,)
    assert release.predict_proba(FRAME[:0]).shape == (0, 2)
    assert [end.shape for end in release.band(FRAME[:0])] == [(0, 2)] * 2
    assert release.certain(FRAME[:0]).shape == (0,)


# --- probabilities ----------------------------------------------------------------------------------------------


def test_probabilities_are_some_and_predictions_the_largest(release):
    found = release.predict_proba(FRAME)
    assert ((found >= 0) & (found <= 1)).all()
    assert found.sum(axis=1) == pytest.approx(1.0)
    assert (release.predict(FRAME) == np.array(["no", "yes"])[found.argmax(axis=1)]).all()
    assert release.classes == ("no", "yes")


def test_classes_keep_their_type():
    coded = FRAME.assign(ill=np.where(ILL == "yes", 1, 0))
    target = sf.NaiveBayes("ill", [1, 0], likelihood="normal")
    found = sf.release(target, coded, BOX, sf.Privacy(epsilon=5.0)).predict(SOME)
    assert set(found.tolist()) <= {0, 1}
    assert found.dtype.kind == "i"


def test_counts_come_from_all_columns_together(no_noise):
    for likelihood in ("kernel", "normal"):
        assert publish(likelihood).counts == pytest.approx([(ILL == "no").sum(), (ILL == "yes").sum()], abs=0.01)


def test_counts_are_weighted_by_their_certainty():
    release = publish("normal")
    parts = [replace(part, numbers=np.zeros_like(part.numbers)) for part in release.likelihoods]
    seen = np.array([[30.0, 30.0], [10.0, 10.0]])  # the middle column has two categories: variance two
    parts[1] = replace(parts[1], numbers=seen)
    weight = (1 / 2) / (1 / 2 + 2 * (1 / 4))
    assert replace(release, likelihoods=tuple(parts)).counts == pytest.approx([60 * weight, 20 * weight])


def test_a_class_without_records_is_there_all_the_same():
    release = publish(data=FRAME[FRAME.ill == "no"], privacy=sf.Privacy(epsilon=1.0))
    found = release.predict_proba(SOME)
    assert np.isfinite(found).all()
    assert (release.counts >= 1).all()
    assert (release.predict(SOME) == "no").mean() > 0.5


# --- bands ------------------------------------------------------------------------------------------------------


@pytest.mark.few(2)
@pytest.mark.parametrize("likelihood", ["kernel", "normal"])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 100.0])
def test_bands_are_limits_of_probabilities(likelihood, epsilon):
    release = publish(likelihood, sf.Privacy(epsilon=epsilon))
    for include in ("noise", "total", "worst"):
        low, high = release.band(SOME, include=include)
        assert low.shape == high.shape == (25, 2)
        assert ((low >= 0) & (low <= high) & (high <= 1)).all()
        assert (low.sum(axis=1) <= 1 + 1e-9).all() and (high.sum(axis=1) >= 1 - 1e-9).all()


def test_two_classes_have_mirrored_bands(release):
    low, high = release.band(SOME)
    assert low[:, 0] == pytest.approx(1 - high[:, 1], abs=1e-9)
    assert low[:, 1] == pytest.approx(1 - high[:, 0], abs=1e-9)


def test_bands_grow_with_confidence_and_with_what_they_include(release):
    widths = [np.subtract(*release.band(SOME, c)[::-1]) for c in (0.5, 0.9, 0.999)]
    assert (widths[0] <= widths[1] + 1e-9).all() and (widths[1] <= widths[2] + 1e-9).all()
    parts = [np.subtract(*release.band(SOME, include=i)[::-1]) for i in ("noise", "total", "worst")]
    assert (parts[0] <= parts[1] + 1e-9).all() and (parts[1] <= parts[2] + 1e-9).all()


def test_little_noise_gives_narrow_bands_about_the_probabilities():
    for likelihood in ("kernel", "normal"):
        release = publish(likelihood, sf.Privacy(epsilon=1e5))
        low, high = release.band(SOME, include="noise")
        found = release.predict_proba(SOME)
        assert (high - low).max() < 0.05
        assert (np.abs(found - (low + high) / 2) < 0.05).all()


@pytest.mark.parametrize("confidence", [0, 1, 2, np.nan])
def test_confidence_is_a_probability(release, confidence):
    for ask in (release.band, release.certain):
        with pytest.raises(ParameterError, match="confidence"):
            ask(SOME, confidence)


def test_what_a_band_includes_is_named(release):
    with pytest.raises(ParameterError, match="include must be one of 'noise', 'total', 'worst', got include='all'"):
        release.band(SOME, include="all")


def test_labels_are_certain_where_noise_is_small_and_never_where_it_is_all():
    for likelihood in ("kernel", "normal"):
        assert publish(likelihood, sf.Privacy(epsilon=1e5)).certain(FRAME).mean() > 0.9
        assert not publish(likelihood, sf.Privacy(epsilon=1e-3)).certain(SOME).any()


def test_a_certain_label_is_more_probable_than_half_whatever_the_noise(release):
    low, _ = release.band(FRAME, include="noise")
    told = release.predict_proba(FRAME).argmax(axis=1)
    assert (release.certain(FRAME) == (low[np.arange(ROWS), told] > 0.5)).all()


# --- files ------------------------------------------------------------------------------------------------------


@pytest.mark.few(3)
@pytest.mark.parametrize("likelihood", ["kernel", "normal"])
@pytest.mark.parametrize(
    "privacy",
    [sf.Privacy(epsilon=1.0), sf.Privacy(rho=0.2), sf.Privacy(epsilon=1.0, delta=1e-6, neighbours="add-remove")],
)
def test_everything_comes_back_bit_by_bit(likelihood, privacy, tmp_path):
    release = publish(likelihood, privacy)
    release.save(tmp_path / "n.sfumato")
    loaded = sf.load(tmp_path / "n.sfumato")
    assert type(loaded) is sf.NaiveBayesRelease
    assert (loaded.response, loaded.box) == (release.response, release.box)
    assert (loaded.law, loaded.guarantee) == (release.law, release.guarantee)
    assert loaded.predict_proba(SOME).tobytes() == release.predict_proba(SOME).tobytes()
    assert [e.tobytes() for e in loaded.band(SOME)] == [e.tobytes() for e in release.band(SOME)]
    loaded.save(tmp_path / "again.sfumato")
    assert (tmp_path / "again.sfumato").read_bytes() == (tmp_path / "n.sfumato").read_bytes()


def test_words(release):
    assert repr(release).startswith("<NaiveBayesRelease of ill ['no', 'yes'] on Box(")
    assert dict(release.target)["classes"] == "no, yes"


def read(path):
    with safe_open(path, framework="numpy") as container:
        return json.loads(container.metadata()["sfumato"]), {k: container.get_tensor(k) for k in container.keys()}  # noqa: SIM118


HOSTILE = {
    "extra key": lambda d, a: d["content"].update(extra=1),
    "no response": lambda d, a: d["content"].pop("response"),
    "response of a range": lambda d, a: d["content"]["response"].update(classes=None, range=[0, 1]),
    "one class too many": lambda d, a: d["content"]["response"].update(classes=["no", "yes", "perhaps"]),
    "the same class twice": lambda d, a: d["content"]["response"].update(classes=["no", "no"]),
    "classes null": lambda d, a: d["content"]["response"].update(classes=None),
    "nested classes": lambda d, a: d["content"]["response"].update(classes=[["no"], ["yes"]]),
    "densities missing": lambda d, a: d["content"].pop("densities"),
    "densities null": lambda d, a: d["content"].update(densities=None),
    "a density missing": lambda d, a: d["content"]["densities"].pop("0"),
    "a density of a category": lambda d, a: d["content"]["densities"].update({"1": d["content"]["densities"]["0"]}),
    "a density of no column": lambda d, a: d["content"]["densities"].update({"7": d["content"]["densities"]["0"]}),
    "a density with an extra key": lambda d, a: d["content"]["densities"]["0"].update(extra=1),
    "a density with rows": lambda d, a: d["content"]["densities"]["0"].update(rows=600),
    "a polynomial": lambda d, a: d["content"]["densities"]["0"].update(basis=sf.Bernstein(5).to_json()),
    "numbers missing": lambda d, a: a.pop("1.numbers"),
    "measures missing": lambda d, a: a.pop("0.measures"),
    "one measure too few": lambda d, a: a.update({"0.measures": a["0.measures"][:1].copy()}),
    "a negative measure": lambda d, a: a.update({"0.measures": a["0.measures"] - 0.1}),
    "numbers too short": lambda d, a: a.update({"1.numbers": a["1.numbers"][:, :1].copy()}),
    "numbers of one class": lambda d, a: a.update({"1.numbers": a["1.numbers"][:1].copy()}),
    "numbers in a row": lambda d, a: a.update({"1.numbers": a["1.numbers"].ravel()}),
    "an array too many": lambda d, a: a.update(records=np.zeros(3)),
    "noise of another size": lambda d, a: d["noise"].update(size=d["noise"]["size"] + 2),
    "noise of another kind": lambda d, a: d["noise"].update(kind="l2"),
    "no noise": lambda d, a: d.update(noise=None),
    "kind density": lambda d, a: d.update(kind="density"),
    "kind of a curve": lambda d, a: d.update(kind="curve"),
    "a column fewer": lambda d, a: d["box"]["columns"].pop(),
}


@pytest.mark.few(10)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused(name, kernel, tmp_path):
    file = tmp_path / "small.sfumato"
    kernel.save(file)
    document, arrays = read(file)
    HOSTILE[name](document, arrays)
    file.write_bytes(pack(arrays, metadata={"sfumato": json.dumps(document)}))
    with pytest.raises(FileFormatError, match=r"small\.sfumato"):
        sf.load(file)
