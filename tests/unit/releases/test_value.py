"""Published statistics: value, labels, limits, text; and files that say something else than what was published."""

import json

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save as pack

import sfumato as sf
from sfumato.errors import FileFormatError, ParameterError

BOX = sf.Box({"age": (0, 110), "bmi": (10, 60), "sex": sf.Categorical(["F", "M"])})
ROW = sf.Privacy(epsilon=1.0)
RECORDS = {
    "age": np.linspace(1, 109, 200),
    "bmi": np.linspace(15, 45, 200)[::-1].copy(),
    "sex": ["F", "M", "M", "M"] * 50,
}


def publish(what, column=None, privacy=ROW, **options):
    import pandas as pd

    return sf.release(sf.Statistic(what, column, **options), pd.DataFrame(RECORDS), BOX, privacy)


def sampled():
    certificate = sf.sample_sensitivity(
        np.mean, sf.oracles.uniform(sf.Box([(0, 1)])), 9, gamma=0.2, rule="exchangeable", seed=1, progress=False
    )
    grant = sf.Privacy(epsilon=1.0, gamma=0.2)
    return sf.release(sf.Statistic(np.mean, sensitivity=certificate), np.zeros(9), sf.Box([(0, 1)]), grant)


MAKERS = {
    "count": lambda: publish("count", "age"),
    "sum": lambda: publish("sum", "age"),
    "mean": lambda: publish("mean", ["age", "bmi"]),
    "complete mean": lambda: publish("mean", "age", missing="none"),
    "variance": lambda: publish("variance", "age", sf.Privacy(rho=0.5)),
    "covariance": lambda: publish("covariance", ["age", "bmi"], sf.Privacy(epsilon=1.0, delta=1e-6)),
    "histogram": lambda: publish("histogram", ["age", "sex"], bins=4),
    "edged": lambda: publish("histogram", "age", edges=[18, 65]),
    "proportions": lambda: publish("proportions", "sex"),
    "median": lambda: publish("median", "age", missing="none"),
    "chosen median": lambda: publish("median", "age", missing="none", interval="none"),
    "quantiles": lambda: publish("quantiles", "age", sf.Privacy(epsilon=1.0, neighbours="add-remove")),
    "your own": lambda: publish(lambda t: [1.0, 2.0], sensitivity=0.1, length=2, range=(0, 3)),
    "sampled": sampled,
}
BOUNDS = sf.private_bounds(RECORDS["age"], privacy=ROW)


def read(path):
    with safe_open(path, framework="numpy") as container:
        return json.loads(container.metadata()["sfumato"]), {k: container.get_tensor(k) for k in container.keys()}  # noqa: SIM118


def write(path, document, arrays):
    path.write_bytes(pack(arrays, metadata={"sfumato": json.dumps(document)}))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "r.sfumato"


# --- what one can ask ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("count", ()), ("sum", ()), ("mean", (2,)), ("variance", ()), ("covariance", (2, 2)), ("histogram", (4, 2)),
        ("proportions", (2,)), ("median", ()), ("quantiles", (3,)), ("your own", (2,)), ("sampled", ()),
    ],
)  # fmt: skip
def test_value_labels_and_limits_agree_in_shape(name, shape):
    found = MAKERS[name]()
    low, high = found.interval()
    assert np.shape(found.value) == np.shape(low) == np.shape(high) == shape
    assert tuple(len(names) for names in found.labels) == shape
    assert isinstance(found.value, np.ndarray if shape else float)
    assert np.all(low <= found.value) and np.all(found.value <= high)
    assert found.kind == "value"


def test_labels_name_the_entries():
    assert MAKERS["mean"]().labels == [["age", "bmi"]]
    assert MAKERS["histogram"]().labels == [["0 to 27.5", "27.5 to 55", "55 to 82.5", "82.5 to 110"], ["F", "M"]]
    assert MAKERS["quantiles"]().labels == [["0.25", "0.5", "0.75"]]
    assert MAKERS["proportions"]().labels == [["F", "M"]]


@pytest.mark.parametrize("name", MAKERS)
def test_more_confidence_is_wider(name):
    found = MAKERS[name]()
    (low, high), (lower, higher) = found.interval(0.6), found.interval(0.99)
    assert np.all(lower <= low) and np.all(high <= higher)


@pytest.mark.parametrize("confidence", [0, 1, -0.1, 1.5, "0.9"])
def test_confidence_lies_between_0_and_1(confidence):
    with pytest.raises(ParameterError, match="confidence must"):
        MAKERS["mean"]().interval(confidence)


def test_a_number_is_a_number():
    found = MAKERS["sum"]()
    assert float(found) == found.value
    with pytest.raises(TypeError):
        float(MAKERS["mean"]())


def test_noisy_numbers_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        MAKERS["mean"]().numbers[0] = 3.0


@pytest.mark.parametrize("name", MAKERS)
def test_its_text_says_what_it_is(name):
    found = MAKERS[name]()
    text = repr(found)
    assert text.startswith(f"<ValueRelease {found.statistic} of {', '.join(found.box.names)}")
    assert "differential privacy" in text
    assert ("numbers" in text) == (np.shape(found.value) != ())


def test_the_number_of_rows_is_told_where_it_is_public():
    assert MAKERS["mean"]().rows == 200
    assert MAKERS["quantiles"]().rows is None


def test_the_interval_of_a_median_tells_something():
    """2,000 records, epsilon 2: whatever the noise, up to one draw in a million, a few ranks in a hundred."""
    box = sf.Box({"x": (0, 1)})
    grant = sf.Privacy(epsilon=2.0)
    data = np.linspace(0, 1, 2001)
    chosen = sf.release(sf.Statistic("median", interval="none"), data, box, grant)
    counted = sf.release(sf.Statistic("median"), data, box, grant)
    assert chosen.interval() == (0.0, 1.0)
    low, high = counted.interval(1 - 1e-9)
    assert 0.4 < low <= counted.value <= high < 0.6


def test_the_interval_of_a_median_holds_records_between_candidates():
    """All records alike and off the grid: the limits are the edges of their cell, far from chance."""
    for place in (0.123456789, 0.1234501, 0.9999999, 1e-9):
        found = sf.release(sf.Statistic("median"), np.full(5000, place), sf.Box([(0, 1)]), sf.Privacy(epsilon=4.0))
        low, high = found.interval()
        assert low <= place <= high
        assert high - low <= float(found.summary.grid.step) * (1 + 1e-9)


# --- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MAKERS)
def test_everything_comes_back(name, path):
    found = MAKERS[name]()
    found.save(path)
    loaded = sf.load(path)
    assert isinstance(loaded, sf.ValueRelease)
    assert np.array_equal(loaded.value, found.value)
    assert np.array_equal(loaded.interval(), found.interval())
    for attribute in ("guarantee", "law", "target", "box", "summary", "rows", "labels", "statistic"):
        assert getattr(loaded, attribute) == getattr(found, attribute)


def test_private_bounds_come_back(path):
    BOUNDS.save(path)
    loaded = sf.load(path)
    assert loaded.value.tolist() == BOUNDS.value.tolist()
    assert (loaded.summary, loaded.law, loaded.guarantee) == (BOUNDS.summary, BOUNDS.law, BOUNDS.guarantee)
    for confidence in (0.5, 0.9):
        with pytest.raises(ParameterError, match="have no interval"):
            loaded.interval(confidence)


def put(*keys):
    """Change one entry of the document."""
    *way, last, value = keys

    def change(document):
        for key in way:
            document = document[key]
        assert last in document
        document[last] = value

    return change


def add(*keys):
    *way, last, value = keys

    def change(document):
        for key in way:
            document = document[key]
        document[last] = value

    return change


SUMMARY = ("content", "summary")
HOSTILE = {
    "an unknown statistic": ("sum", put(*SUMMARY, "statistic", "average"), "statistic must be one of"),
    "another statistic": ("sum", put(*SUMMARY, "statistic", "mean"), "unexpected or missing"),
    "an extra entry": ("sum", add(*SUMMARY, "data", [1]), "unexpected or missing"),
    "an extra content": ("sum", add("content", "data", [1]), "unexpected or missing"),
    "complete as a number": ("sum", put(*SUMMARY, "complete", 1), "complete must be true or false"),
    "negative rows": ("sum", put("content", "rows", -1), "rows must be a whole number"),
    "rows as text": ("sum", put("content", "rows", "9"), "rows must be a whole number"),
    "rows that are true": ("sum", put("content", "rows", True), "rows must be a whole number"),
    "rows that are private": ("quantiles", put("content", "rows", 9), "a number of rows contradicts the guarantee"),
    "more cells": ("histogram", put(*SUMMARY, "shape", [5, 2]), "needs 10 numbers"),
    "cells that are no categories": ("proportions", put(*SUMMARY, "shape", [3]), "2 categories cannot have 3 cells"),
    "a count of cells": ("count", put(*SUMMARY, "shape", [2]), "a count has one cell"),
    "too many axes": ("count", put(*SUMMARY, "shape", [1, 1]), "not a valid sfumato release"),
    "negative cells": ("histogram", put(*SUMMARY, "shape", [-4, -2]), "shape must be a whole number from 1"),
    "edges that do not ascend": ("edged", put(*SUMMARY, "edges", [[0, 65, 18, 110]]), "edges must ascend"),
    "too few edges": ("edged", put(*SUMMARY, "edges", [[0, 65, 110]]), "edges must ascend"),
    "edges that are text": ("edged", put(*SUMMARY, "edges", [["0", 18, 65, 110]]), "edges must be a number"),
    "edges of categories": ("histogram", add(*SUMMARY, "edges", [None, [0, 1, 2]]), "edges must ascend"),
    "a negative weight": ("mean", put(*SUMMARY, "weight", -1), "weight must be a whole number"),
    "a broken weight": ("mean", put(*SUMMARY, "weight", 0.5), "weight must be a whole number"),
    "a heavier weight": ("mean", put(*SUMMARY, "weight", 2**59), "smaller than one record's contribution"),
    "no weight": ("mean", put(*SUMMARY, "weight", 0), "needs 2 numbers"),
    "less noise than it needs": ("complete mean", put("noise", "scale", "1/1000"), "noise"),
    "a smaller certificate": ("sum", put("noise", "certificate", "bound", 5), "not a valid sfumato release"),
    "another grid": ("sum", put("noise", "certificate", "exponent", -29), "not a valid sfumato release"),
    "no noise": ("sum", put("noise", None), "differ in size"),
    "noise in a choice": (
        "chosen median",
        lambda d: d.update(noise=json.loads(json.dumps(NOISE))),
        "not a valid sfumato release",
    ),
    "no levels": ("median", put(*SUMMARY, "asked", []), "the levels do not fit a median"),
    "another median": ("median", put(*SUMMARY, "asked", [0.4]), "the levels do not fit a median"),
    "a level of two": ("quantiles", put(*SUMMARY, "asked", [0.25, 0.5, 2.0]), "probabilities must"),
    "a broken grid": ("median", put(*SUMMARY, "grid", "first", 0.5), "first must be a whole number"),
    "an empty grid": ("median", put(*SUMMARY, "grid", "count", 0), "count must be a whole number from 1"),
    "a grid beyond doubles": ("median", put(*SUMMARY, "grid", "digits", 400), "digits must be a whole number"),
    "a share without a flank": ("chosen median", put(*SUMMARY, "share", 0.5), "come together"),
    "a share of everything": ("chosen median", put(*SUMMARY, "share", 1.0), "come together"),
    "a wide flank": ("chosen median", put(*SUMMARY, "flank", 0.7), "come together"),
    "a step of nothing": ("chosen median", add(*SUMMARY, "grid", "factor", 0), "factor must"),
    "one split": ("chosen median", add(*SUMMARY, "splits", 1), "splits must"),
    "fewer layers": ("median", put(*SUMMARY, "height", 1), "layers, each .* do not fit"),
    "more layers": ("median", put(*SUMMARY, "height", 5), "layers, each .* do not fit"),
    "no layers": ("median", put(*SUMMARY, "height", 0), "height must be a whole number from 1"),
    "layers that do not fan out": ("median", put(*SUMMARY, "fan", 1), "fan must be a whole number from 2"),
    "layers that fan out too far": ("median", put(*SUMMARY, "fan", 1025), "fan must be a whole number from 2 to 1024"),
    "more cells of a tree": ("median", put(*SUMMARY, "grid", "count", 220), "needs .* numbers"),
    "absent records where none are missing": ("median", put(*SUMMARY, "absent", True), "absent must be true or false"),
    "absent as a number": ("median", put(*SUMMARY, "absent", 0), "absent must be true or false"),
    "a tree without noise": ("median", put("noise", None), "differ in size"),
    "a tree of a smaller bound": ("median", put("noise", "certificate", "bound", 1), "not a valid sfumato release"),
    "a range upside down": ("your own", put(*SUMMARY, "range", [3, 0]), r"range must be a pair \(low, high\)"),
    "a range of three": ("your own", put(*SUMMARY, "range", [0, 1, 2]), r"range must be a pair \(low, high\)"),
    "more numbers": ("your own", put(*SUMMARY, "length", 3), "needs 3 numbers"),
    "no numbers": ("your own", put(*SUMMARY, "length", 0), "length must be a whole number from 1"),
    "a sampled bound that is hidden": ("sampled", put("guarantee", "confidence", 1), "only sampled, and the guarantee"),
    "a sampled bound, half hidden": ("sampled", put("guarantee", "confidence", 0.9), "only sampled, and the guarantee"),
    "a sampled bound that is sure": ("sampled", put("noise", "certificate", "confidence", 1.0), "confidence"),
}
NOISE = {
    "kind": "laplace", "size": 3, "exponent": 0, "scale": "2",
    "certificate": {
        "norm": "l1", "bound": 2, "relation": "replace", "known": "enforced", "proof": "statistics", "exponent": 0,
        "assumptions": [], "confidence": 1.0,
    },
}  # fmt: skip


@pytest.mark.few(20)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_that_says_something_else_is_refused(name, path):
    maker, change, words = HOSTILE[name]
    MAKERS[maker]().save(path)
    document, arrays = read(path)
    change(document)
    write(path, document, arrays)
    with pytest.raises(FileFormatError, match=words):
        sf.load(path)


def test_a_function_without_noise_is_refused(path):
    """Only a choice has no law."""
    target = sf.BlackBox(lambda data: lambda points: points[:, 0], sensitivity=0.1)
    sf.release(target, np.zeros(5), sf.Box([(0, 1)]), ROW, basis=sf.Bernstein(2)).save(path)
    document, arrays = read(path)
    document["noise"] = None
    write(path, document, arrays)
    with pytest.raises(FileFormatError, match="there is no noise law"):
        sf.load(path)


@pytest.mark.few(7)
@pytest.mark.parametrize("name", ["mean", "histogram", "median", "chosen median", "your own"])
@pytest.mark.parametrize("digit", range(0, 10, 3))
def test_an_exchanged_character_is_refused_or_gives_a_working_release(name, digit, path):
    MAKERS[name]().save(path)
    document, arrays = read(path)
    text = json.dumps(document)
    for place in [i for i, c in enumerate(text) if c.isdigit()][digit::7]:
        path.write_bytes(pack(arrays, metadata={"sfumato": text[:place] + str(digit) + text[place + 1 :]}))
        try:
            found = sf.load(path)
        except FileFormatError:
            continue
        with np.errstate(all="ignore"):
            low, high = found.interval()
        assert np.shape(found.value) == np.shape(low) == np.shape(high)
        assert repr(found)


@pytest.mark.parametrize(
    "bad", [np.array([np.nan]), np.array([np.inf]), np.zeros(2), np.zeros((1, 1)), np.zeros(1, "f4")]
)
def test_numbers_must_be_finite_and_as_many_as_there_are(bad, path):
    MAKERS["sum"]().save(path)
    document, _ = read(path)
    write(path, document, {"numbers": bad})
    with pytest.raises(FileFormatError):
        sf.load(path)
