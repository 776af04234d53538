"""Published learners: what they predict, how sure they are, and that files of them are not trusted."""

import copy
import dataclasses
import json
import math

import numpy as np
import pandas as pd
import pytest
from safetensors import safe_open
from safetensors.numpy import save as pack
from scipy.special import expit

import sfumato as sf
from sfumato.core import mechanism
from sfumato.errors import FileFormatError, OutsideBoxError, ParameterError
from sfumato.releases.machine import machine
from sfumato.targets.machine import machine as targets

RNG = np.random.default_rng(1)
BOX = sf.Box({"age": (0, 110), "bmi": (10, 60)})
POINTS = RNG.uniform([0, 10], [110, 60], size=(600, 2))
LABELS = np.where(POINTS[:, 0] / 110 + (POINTS[:, 1] - 10) / 50 > 1, 1.0, -1.0)
THIRDS = np.floor(POINTS[:, 0] / 110 * 3)
PURE = sf.Privacy(epsilon=1.0)
SOME = POINTS[:15]


def publish(loss="hinge", kernel="rbf", C=5.0, classes=(-1, 1), privacy=PURE, basis=None, y=LABELS, box=BOX, **options):
    target = sf.KernelMachine(loss, kernel, C, classes=classes, **options)
    basis = basis or (sf.Coordinates() if kernel == "linear" else sf.Landmarks(81, 6))
    return sf.release(target, (POINTS, y), box, privacy, basis=basis)


FLAVOURS = {
    "output": lambda: publish(),
    "objective": lambda: publish("logistic", mechanism="objective"),
    "gaussian": lambda: publish("logistic", privacy=sf.Privacy(epsilon=1.0, delta=1e-6), mechanism="objective"),
    "concentrated": lambda: publish(privacy=sf.Privacy(rho=0.5)),
    "linear": lambda: publish("logistic", "linear"),
    "three": lambda: publish("logistic", classes=(0, 1, 2), y=THIRDS, mechanism="output"),
    "three linear": lambda: publish("logistic", "linear", classes=(0, 1, 2), y=THIRDS, mechanism="objective"),
    "bernstein": lambda: publish(basis=sf.Bernstein(5, 2)),
    "regression": lambda: publish("squared", classes=None, range=(-2, 2), mechanism="output"),
    "huber": lambda: publish("huber", "linear", classes=None, range=(-2, 2), mechanism="objective"),
}
every = pytest.mark.parametrize("flavour", FLAVOURS)


# --- answers ----------------------------------------------------------------------------------------------------


@every
def test_shapes_and_agreement_of_all_answers(flavour):
    release = FLAVOURS[flavour]()
    outputs = 3 if flavour.startswith("three") else 1
    shape = (15,) if outputs == 1 else (15, 3)
    low, high = release.band(SOME, 0.9)
    assert release(SOME).shape == release.decision(SOME).shape == low.shape == high.shape == shape
    assert release.predict(SOME).shape == (15,)
    assert (low <= release(SOME)).all() and (release(SOME) <= high).all()
    assert release.mechanism in repr(dict(release.target))
    if release.classes is None:
        assert np.array_equal(release.predict(SOME), release(SOME))
        assert ((low >= -2) & (high <= 2)).all()
        for ask in (release.certain, release.probability):
            with pytest.raises(ParameterError):
                ask(SOME)
        return
    assert np.isin(release.predict(SOME), release.classes).all()
    assert release.certain(SOME).shape == (15,) and release.certain(SOME).dtype == bool
    assert 0 <= release.certain_share() <= 1


@every
def test_no_points_are_fine(flavour):
    release = FLAVOURS[flavour]()
    assert len(release(np.zeros((0, 2)))) == len(release.predict(np.zeros((0, 2)))) == 0
    assert len(release.band(np.zeros((0, 2)))[0]) == 0


@every
def test_points_outside_are_refused_or_clipped(flavour):
    release = FLAVOURS[flavour]()
    for ask in (release, release.predict, release.decision, release.band):
        refused = {} if ask in (release, release.band) else {"outside": "refuse"}  # a prediction is for a record
        with pytest.raises(OutsideBoxError, match="outside='clip'"):
            ask([[111.0, 20.0]], **refused)
        if refused:
            assert np.array_equal(ask([[111.0, 5.0]]), ask([[110.0, 10.0]]))
        assert np.array_equal(ask([[111.0, 5.0]], outside="clip"), ask([[110.0, 10.0]]))
        with pytest.raises(OutsideBoxError, match="NaN"):
            ask([[math.nan, 20.0]])


def test_tables_of_points_are_read_by_name():
    release = FLAVOURS["output"]()
    table = pd.DataFrame({"bmi": SOME[:, 1], "other": 0, "age": SOME[:, 0]})
    assert np.array_equal(release(table), release(SOME))


def test_many_points_are_evaluated_in_blocks(monkeypatch):
    release = FLAVOURS["output"]()
    whole = release(POINTS)
    monkeypatch.setattr(machine, "_AT_ONCE", 100)
    assert release(POINTS) == pytest.approx(whole, abs=1e-12)


def test_probabilities_are_those_of_the_logistic_function():
    release = FLAVOURS["objective"]()
    found = release.probability(SOME)
    assert found[:, 1] == pytest.approx(expit(release(SOME)))
    assert found.sum(axis=1) == pytest.approx(np.ones(15))
    three = FLAVOURS["three"]().probability(SOME)
    assert three.shape == (15, 3) and three.sum(axis=1) == pytest.approx(np.ones(15))
    with pytest.raises(ParameterError, match="probabilities need loss='logistic' and classes, this has loss='hinge'"):
        FLAVOURS["output"]().probability(SOME)


@every
def test_slopes_are_those_of_the_decision(flavour):
    release = FLAVOURS[flavour]()
    if "linear" not in flavour and flavour != "huber":
        with pytest.raises(ParameterError, match="slopes are for a linear kernel in its own coordinates"):
            release.linear()
        return
    slopes, intercepts = release.linear()
    found = SOME @ slopes.T + intercepts
    if release.classes is None:
        assert np.clip(found[:, 0], -2, 2) == pytest.approx(release(SOME), abs=1e-9)
    else:
        assert found.reshape(release(SOME).shape) == pytest.approx(release(SOME), abs=1e-9)


def test_slopes_of_records_with_a_bounded_norm():
    box = sf.Box([(-110, 110), (-60, 60)], max_norm=100.0)
    release = publish("logistic", "linear", box=box)
    slopes, intercepts = release.linear()
    near = SOME / 4
    assert near @ slopes[0] + intercepts[0] == pytest.approx(release(near), abs=1e-9)


# --- certainty --------------------------------------------------------------------------------------------------


@pytest.mark.few(4)
@every
def test_more_confidence_is_less_certainty(flavour):
    release = FLAVOURS[flavour]()
    bands = [np.subtract(*release.band(SOME, c)[::-1]) for c in (0.5, 0.95, 0.9999)]
    assert (bands[0] <= bands[1]).all() and (bands[1] <= bands[2]).all()
    if release.classes is not None:
        shares = [release.certain_share(c) for c in (0.5, 0.95, 0.9999)]
        assert shares == sorted(shares, reverse=True)


@pytest.mark.parametrize("confidence", [0, 1, 1.5, math.nan])
def test_confidences_are_probabilities(confidence):
    for ask in (FLAVOURS["output"]().band, FLAVOURS["output"]().certain):
        with pytest.raises(ParameterError, match="confidence"):
            ask(SOME, confidence)


def test_much_privacy_leaves_nothing_certain_and_little_leaves_much():
    """A false alarm of the first has probability 1e-9: with less confidence, noise alone is certain as often."""
    assert publish(privacy=sf.Privacy(epsilon=1e-3)).certain_share(1 - 1e-9) < 0.05
    assert publish(privacy=sf.Privacy(epsilon=1e3)).certain_share() > 0.9


COVERED = {
    "pure": lambda: publish(privacy=sf.Privacy(epsilon=3.0)),
    "concentrated": lambda: publish(privacy=sf.Privacy(rho=0.5)),
    "linear": lambda: publish("logistic", "linear", mechanism="output", privacy=sf.Privacy(epsilon=3.0)),
    "bernstein": lambda: publish(basis=sf.Bernstein(5, 2), privacy=sf.Privacy(epsilon=3.0)),
    "three": lambda: publish("hinge", classes=(0, 1, 2), y=THIRDS, C=50.0, privacy=sf.Privacy(epsilon=60.0)),
    "three, bernstein": lambda: publish(
        classes=(0, 1, 2), y=THIRDS, C=50.0, privacy=sf.Privacy(epsilon=60.0, delta=1e-6), basis=sf.Bernstein(5, 2)
    ),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("flavour", COVERED)
def test_what_is_certain_is_what_no_noise_would_have_said(flavour, monkeypatch):
    """Confidence 0.8, 300 draws: if the promise holds, more than 108 misses have probability below 1e-9."""
    with monkeypatch.context() as patch:
        patch.setattr(mechanism, "draw", lambda law: np.zeros(law.size, dtype=np.int64))
        truth = COVERED[flavour]()
    points = POINTS[:60]
    labels, values = truth.predict(points), truth(points)
    width = truth.handed.half_width(truth.law, truth.box.clean(points), 0.8)  # public: the same in every draw
    monkeypatch.setattr(machine.Handed, "half_width", lambda *_: width)
    wrong = missed = told = 0
    for _ in range(300):
        noise = (mechanism.draw(truth.law) * truth.law.step).reshape(truth.weights.shape)
        release = dataclasses.replace(truth, weights=truth.weights + noise)
        low, high = release.band(points, 0.8)
        missed += bool(((values < low) | (values > high)).any())
        certain = release.certain(points, 0.8)
        told += certain.any()
        wrong += bool((release.predict(points) != labels)[certain].any())
    assert wrong <= missed <= 108
    assert told > 150
    assert missed >= 1  # a band that hardly ever misses at 0.8 is of no use


@pytest.mark.parametrize("size", [1e-3, 1.0, 30.0])
def test_objective_noise_moves_the_learner_no_further_than_it_is_long(size, no_noise, monkeypatch):
    """``|b| / strength`` in the norm of the features, whatever b is: what the wide band of such a release says."""
    found = {}
    for b in (0.0, size):
        monkeypatch.setattr(targets, "draw_objective", lambda law, b=b: b * np.sin(1.0 + np.arange(law.size)))
        found[b] = FLAVOURS["objective"]()
    noise, features = found[0.0].handed.objective, found[0.0].handed.features
    long = size * np.linalg.norm(np.sin(1.0 + np.arange(noise.law.size))) / noise.objective.strength
    moved = np.abs(found[size](SOME) - found[0.0](SOME))
    assert (moved <= long * np.linalg.norm(features(SOME), axis=1) + 1e-4).all()
    assert moved.max() > 0.05 * long - 1e-4


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["l2", "gaussian"])
def test_the_radius_of_objective_noise_is_a_quantile_of_its_norm(kind):
    privacy = PURE if kind == "l2" else sf.Privacy(epsilon=1.0, delta=1e-6)
    noise = publish("logistic", privacy=privacy, mechanism="objective").handed.objective
    assert noise.law.kind == kind
    norms = [np.linalg.norm(mechanism.draw_objective(noise.law)) / noise.objective.strength for _ in range(400)]
    share = np.mean(np.array(norms) <= noise.radius(0.9))
    assert 0.79 < share < 0.985  # outside with probability below 1e-9


# --- files ------------------------------------------------------------------------------------------------------


def read(path):
    with safe_open(path, framework="numpy") as container:
        return json.loads(container.metadata()["sfumato"]), {k: container.get_tensor(k) for k in container.keys()}  # noqa: SIM118


@every
def test_a_file_gives_the_same_answers(flavour, tmp_path):
    release = FLAVOURS[flavour]()
    release.save(tmp_path / "r.sfumato")
    loaded = sf.load(tmp_path / "r.sfumato")
    assert isinstance(loaded, sf.MachineRelease)
    assert loaded(SOME) == pytest.approx(release(SOME), rel=1e-12, abs=1e-12)
    assert np.array_equal(loaded.predict(SOME), release.predict(SOME))
    assert (loaded.mechanism, loaded.classes, loaded.response) == (release.mechanism, release.classes, release.response)
    assert (loaded.guarantee, loaded.law, loaded.target) == (release.guarantee, release.law, release.target)
    assert np.array_equal(loaded.band(SOME), release.band(SOME))


def changed(document, arrays, path, value):
    """A copy of a file's content with one entry replaced; ``path`` names it from the content on."""
    document, arrays = copy.deepcopy(document), dict(arrays)
    if path[0] in arrays:
        arrays[path[0]] = value
        return document, arrays
    place = document["content"]
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    return document, arrays


TAMPERED = [
    (("coefficients",), np.zeros((1, 2))),
    (("coefficients",), np.full((1, 9), np.nan)),
    (("whitening",), np.ones((3, 3))),
    (("landmarks",), np.ones((81, 5))),
    (("kernel",), {"kind": "magic"}),
    (("kernel",), {"kind": "rbf", "gamma": -1.0}),
    (("kernel",), {"kind": "rbf", "gamma": 0.5, "code": "x"}),
    (("kernel",), None),
    (("norm",), -1.0),
    (("norm",), "1"),
    (("basis",), {"kind": "step", "degree": 3}),
    (("basis",), {"kind": "bernstein", "degree": 3, "order": 1}),
    (("response",), {"name": "label", "classes": [-1, 1]}),
    (("response", "classes"), [-1]),
    (("response", "classes"), [0, 1, 2]),
    (("objective",), {"epsilon": 1.0}),
    (("objective", "law", "scale"), "1"),
    (("objective", "law", "scale"), "1/0"),
    (("objective", "law", "scale"), "9" * 3000),
    (("objective", "law", "scale"), "1e9"),
    (("objective", "law", "exponent"), -60),
    (("objective", "law", "exponent"), 5000),
    (("objective", "law", "exponent"), True),
    (("objective", "law", "kind"), "gaussian"),
    (("objective", "law", "size"), 1),
    (("objective", "objective", "lipschitz"), 1e3),
    (("objective", "objective", "strength"), -1.0),
    (("objective", "objective"), {"size": 3}),
    (("objective", "epsilon"), 0.5),
]


@pytest.mark.few(12)
@pytest.mark.parametrize(("path", "value"), TAMPERED)
def test_a_file_that_was_tampered_with_is_refused(path, value, tmp_path):
    file = tmp_path / "r.sfumato"
    FLAVOURS["objective"]().save(file)
    document, arrays = changed(*read(file), path, value)
    file.write_bytes(pack(arrays, metadata={"sfumato": json.dumps(document)}))
    with pytest.raises(FileFormatError):
        sf.load(file)


def test_entries_that_are_missing_or_too_many_are_refused(tmp_path):
    file = tmp_path / "r.sfumato"
    FLAVOURS["objective"]().save(file)
    document, arrays = read(file)
    for name in set(document["content"]) - {"learner"}:  # without it the sensitivity is taken as stated
        damaged = copy.deepcopy(document)
        del damaged["content"][name]
        file.write_bytes(pack(arrays, metadata={"sfumato": json.dumps(damaged)}))
        with pytest.raises(FileFormatError):
            sf.load(file)
    for name in arrays:
        file.write_bytes(
            pack({k: v for k, v in arrays.items() if k != name}, metadata={"sfumato": json.dumps(document)})
        )
        with pytest.raises(FileFormatError):
            sf.load(file)


# --- kernels that no file holds ---------------------------------------------------------------------------------


def similar(left, right):
    return np.exp(-((left[:, None] - right[None]) ** 2).sum(axis=2))


def test_a_users_kernel_must_be_attached_again(tmp_path):
    release = publish(kernel=sf.UserKernel(similar, 1.0, "mine"))
    release.save(tmp_path / "r.sfumato")
    loaded = sf.load(tmp_path / "r.sfumato")
    for ask in (loaded, loaded.predict, loaded.band, loaded.certain):
        with pytest.raises(ParameterError, match=r"attach the kernel with release.with_kernel\(function\) first"):
            ask(SOME)
    with pytest.raises(ParameterError, match="before saving again"):
        loaded.save(tmp_path / "again.sfumato")
    for kernel in (similar, sf.UserKernel(similar, 1.0, "mine")):
        assert loaded.with_kernel(kernel)(SOME) == pytest.approx(release(SOME), rel=1e-12, abs=1e-12)
    loaded.with_kernel(sf.UserKernel(similar, 1.0, "mine")).save(tmp_path / "again.sfumato")
    assert (tmp_path / "again.sfumato").read_bytes() == (tmp_path / "r.sfumato").read_bytes()


def spectrum_kernel(left, right):
    """How many pairs of letters two words share, scaled to 1 for a word and itself."""

    def counts(word):
        pairs = [word[i : i + 2] for i in range(len(word) - 1)]
        return {pair: pairs.count(pair) for pair in pairs}

    def product(a, b):
        return sum(n * b.get(pair, 0) for pair, n in a.items())

    first, second = [counts(w) for w in left], [counts(w) for w in right]
    return np.array([[product(a, b) / math.sqrt(product(a, a) * product(b, b)) for b in second] for a in first])


def test_words_are_classified_by_a_string_kernel(no_noise, tmp_path):
    public = ["abab", "baba", "cdcd", "dcdc", "abcd", "aabb", "ccdd"]
    private = ["ababab"] * 80 + ["abaabb"] * 60 + ["cdcdcd"] * 80 + ["ccddcd"] * 60
    labels = np.array(["ab"] * 140 + ["cd"] * 140)
    kernel = sf.Precomputed(spectrum_kernel(public, public), bound=1.0)
    target = sf.KernelMachine("hinge", kernel, 20.0, classes=["ab", "cd"])
    release = sf.release(target, (spectrum_kernel(private, public), labels), kernel.box, sf.Privacy(epsilon=50.0))
    asked = spectrum_kernel(["babab", "dcdcd", "bab", "cdc"], public)
    assert release.predict(asked).tolist() == ["ab", "cd", "ab", "cd"]
    release.save(tmp_path / "words.sfumato")
    assert np.array_equal(sf.load(tmp_path / "words.sfumato").predict(asked), release.predict(asked))
