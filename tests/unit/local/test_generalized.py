"""Linear models by one pass of gradients: polynomials, copies, the walk, and what is refused."""

import dataclasses
import math

import numpy as np
import pytest

import sfumato as sf
from sfumato.core.randomizer import Codebook
from sfumato.errors import ParameterError
from sfumato.local import generalized
from sfumato.local.copies import UnitCopies
from sfumato.local.generalized import SLOPES, gradient_table
from sfumato.local.records import read_records, within

YESNO = sf.Categorical([0, 1])
BOX = sf.Box({"age": (20, 60), "hours": (0, 80), "rich": YESNO})
PAY = sf.Box({"age": (20, 60), "hours": (0, 80), "pay": (0, 100)})


def asked(epsilon=4.0, box=BOX, response="rich", **options):
    return sf.local.GeneralizedLinear(box, epsilon, response, **{"seed": 3, **options})


def people(count, seed=1):
    """Age and hours, and who is rich: the older, more or less."""
    generator = np.random.default_rng(seed)
    age, hours = generator.uniform(20, 60, count), generator.uniform(0, 80, count)
    return np.column_stack([age, hours, age + 0.2 * hours + generator.normal(0, 4, count) > 48])


def value(table, thetas):
    """A polynomial of copies, at some numbers of them."""
    for theta in thetas:
        table = table[0] + theta * table[1]
    return float(table)


# --- polynomials -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("degree", [1, 2, 3, 5])
@pytest.mark.parametrize("loss", SLOPES)
def test_algorithm_4_is_bernsteins_polynomial_of_the_derivative_on_the_right_interval(loss, degree):
    basis, box = sf.Bernstein(degree), sf.Box({"theta": (-1, 1)})
    expected = basis.approximate(lambda p: SLOPES[loss](p[:, 0]), box)
    table = gradient_table(loss, degree, 4)
    for theta in np.linspace(-1, 1, 9):
        assert value(table, [theta] * degree) == pytest.approx(float(expected([theta])[0]), abs=1e-12)
    assert value(table, [-1.0] * degree) == pytest.approx(float(SLOPES[loss](np.array(-1.0))))


def test_algorithm_5_is_a_mean_of_steps_over_the_second_derivative():
    """By drawing s as the paper does, 40,000 times: to .01, more than nine deviations."""
    generator = np.random.default_rng(1)
    for loss in ("logistic", "absolute"):
        ends = SLOPES[loss](np.array([-1.0, 1.0]))
        grid = np.linspace(-1, 1, 20_001)
        s = np.interp(generator.uniform(*ends, size=40_000), SLOPES[loss](grid), grid)
        for degree in (1, 2):
            nodes = generalized._rounded_step(2 * np.arange(degree + 1) / degree - 1)
            for theta in (-0.8, 0.1, 0.9):
                u = ((theta - s) / 2 + 1) / 2
                drawn = sum(nodes[j] * math.comb(degree, j) * u**j * (1 - u) ** (degree - j) for j in range(degree + 1))
                expected = ends[0] + (ends[1] - ends[0]) * drawn.mean()
                assert value(gradient_table(loss, degree, 5), [theta] * degree) == pytest.approx(expected, abs=0.01)


def test_a_polynomial_without_the_map_to_the_unit_interval_is_caught():
    """Negative control, as printed: Bernstein polynomials of [0, 1] at arguments in [-1, 1]."""
    printed = generalized.bernstein_table(20, SLOPES["hinge"](np.arange(21) / 20), 0.0, 1.0)
    assert abs(value(printed, [-0.5] * 20)) > 100
    assert abs(value(gradient_table("hinge", 6, 4), [-0.5] * 6) + 1) < 0.05


# --- copies ----------------------------------------------------------------------------------------------------------


def test_vectors_have_length_one_also_of_odd_records():
    odd = [[40, 40, 1], [1e9, None, "x"], [np.nan, -np.inf, None], [20, 0, 0]]
    for box, response, loss in ((BOX, "rich", "hinge"), (PAY, "pay", "absolute")):
        protocol = asked(box=box, response=response, loss=loss)
        answers = protocol.answers(within(box, read_records(box, odd)), np.arange(4, dtype=np.uint64))
        assert answers.shape == (4, protocol.size) and np.linalg.norm(answers, axis=1) == pytest.approx(1)


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize(("copies", "delta"), [("privunit", 0.0), ("gaussian", 1e-3)])
def test_products_are_unbiased(copies, delta):
    """All products of three copies of one vector, 6,000 people: within five of their own deviations."""
    channel = asked(24.0 if copies == "privunit" else 8.0, copies=copies, delta=delta, degree=2, steps=2).channel
    vector, users = np.array([0.6, 0.0, -0.8]), np.arange(6000, dtype=np.uint64)
    told = channel.estimates_of(channel.send(np.tile(vector, (6000, 1)), users), users)
    state, half = channel.empty(), (users % np.uint64(2)).astype(np.int64)
    channel.add(state, channel.send(np.tile(vector, (6000, 1)), users), half, users)
    tables = channel.tables(state)
    longer = np.concatenate([[1.0], vector])
    expected = np.multiply.outer(np.multiply.outer(vector, longer), longer)
    spread = [np.mean(told[:, c] ** 2, axis=0) for c in range(3)]
    longer_spread = [np.concatenate([[1.0], one]) for one in spread[1:]]
    deviation = np.sqrt(np.multiply.outer(np.multiply.outer(spread[0], longer_spread[0]), longer_spread[1]) / 3000)
    assert (np.abs(tables - expected) < 5.5 * deviation).all()
    assert state["asked"].tolist() == [3000, 3000]
    off = told.mean(axis=0) - vector
    assert (np.abs(off) < 5.5 * told.std(axis=0) / math.sqrt(6000)).all()
    assert told.var(axis=0).max() < channel.square * 1.15


def test_copies_have_codebooks_of_their_own_and_shares_of_epsilon():
    channel = asked(3.0, degree=2).channel
    assert isinstance(channel, UnitCopies) and channel._codebook == Codebook(1.0) and channel.width == 3
    books = channel.directions(np.array([7], dtype=np.uint64))[0]
    assert not np.allclose(books[0], books[1])
    named = np.array([[5, 200, 77]], dtype=np.uint8)
    found = channel.estimates_of(named, np.array([7], dtype=np.uint64))[0] * channel._gain
    assert found == pytest.approx(np.stack([books[c, named[0, c]] for c in range(3)]))


def test_the_deviations_of_the_paper_and_ours():
    """Adult's seven numbers: of Gaussian copies 70, 812 and 11,100 a person were found in the issue's prototype."""
    seven = sf.Box({**{f"c{j}": (0, 1) for j in range(6)}, "rich": YESNO})
    found = [asked(1.0, seven, copies="gaussian", delta=1e-6, degree=degree).gradient_deviation for degree in (1, 2, 3)]
    assert found == pytest.approx([70, 812, 11_100], rel=0.1)
    own = [asked(1.0, seven, degree=degree).gradient_deviation for degree in (1, 2)]
    assert own[0] < 20 and own[1] < 200


# --- the walk --------------------------------------------------------------------------------------------------------


def test_gradients_by_hand():
    protocol = asked(degree=1, steps=2)
    told = np.array([[0.6, 0.0, 0.8], [0.0, 1.0, 0.0]])
    longer = np.concatenate([np.ones((2, 1)), told], axis=1)
    products = (told[:, :, None] * longer[:, None, :]).mean(axis=0)
    at = np.array([0.1, -0.2, 0.3])
    table = gradient_table("hinge", 1, 4)
    expected = np.mean([(table[0] + table[1] * (row @ at)) * row for row in told], axis=0)
    assert protocol.gradient(products, at) == pytest.approx(expected)


def test_a_model_learns():
    records, protocol = people(6_000), asked(8.0, steps=16)
    collector = protocol.collector()
    collector.add_batch(protocol.encode_many(records))
    release = collector.release()
    assert np.linalg.norm(release.weights) <= 1 and release.reports == 6000
    new = people(3000, seed=2)
    assert np.mean(release.predict(new[:, :2]) == new[:, 2]) > 0.75


def test_negative_control_noise_that_is_used_twice_is_biased():
    """A copy used for the gradient and for its own factor: its square has the noise's variance as its mean."""
    generator = np.random.default_rng(3)
    vector = np.array([0.6, 0.8])
    noisy = vector + 3.0 * generator.normal(size=(200_000, 2, 2))
    at = np.array([0.5, 0.0])
    own = (noisy[:, 0] * (noisy[:, 0] @ at)[:, None]).mean(axis=0)
    apart = (noisy[:, 0] * (noisy[:, 1] @ at)[:, None]).mean(axis=0)
    assert np.abs(apart - vector * (vector @ at)).max() < 0.1 < 4 < own[0]


def gradients(walk, parts, monkeypatch):
    """Which part each gradient of a walk is of, and at which model."""
    usual, seen = sf.local.GeneralizedLinear.gradient, []

    def watched(self, products, at):
        seen.append(([np.array_equal(products, part) for part in parts].index(True), at.copy()))
        return usual(self, products, at)

    with monkeypatch.context() as patched:
        patched.setattr(sf.local.GeneralizedLinear, "gradient", watched)
        walk(parts, np.full(len(parts), 5))
    return seen


def knows_its_own_part(walk, monkeypatch):
    """Whether any gradient is taken at a model that would be another one if this part's people had sent others."""
    generator = np.random.default_rng(5)
    parts = generator.normal(size=(6, 3, 4))
    before = gradients(walk, parts, monkeypatch)
    assert {part for part, _ in before} == set(range(6))
    for part in range(6):
        others = parts.copy()
        others[part] = generator.normal(size=(3, 4))
        after = gradients(walk, others, monkeypatch)
        pairs = zip(before, after, strict=True)
        if any(not np.array_equal(at, now) for (one, at), (_, now) in pairs if one == part):
            return True
    return False


def test_no_part_is_used_at_a_model_that_it_made(monkeypatch):
    protocol = asked(8.0, copies="gaussian", delta=1e-3, steps=6)
    assert not knows_its_own_part(protocol.walk, monkeypatch)
    assert len(gradients(protocol.walk, np.random.default_rng(6).normal(size=(6, 3, 4)), monkeypatch)) == 6

    def twice(parts, counts):
        return protocol.walk(np.concatenate([parts, parts]), np.concatenate([counts, counts]))

    def in_two_steps(parts, counts):
        return protocol.walk(np.repeat(parts, 2, axis=0), np.repeat(counts, 2))

    assert knows_its_own_part(twice, monkeypatch) and knows_its_own_part(in_two_steps, monkeypatch)


@pytest.mark.slow
def test_negative_control_copies_that_are_reused_in_a_second_step_are_biased():
    """By ``-length a b sigma**2 / m`` along the people's vector, where ``a + b theta`` is the gradient's polynomial.

    Limits of six deviations: a false alarm in 1e8 runs; the bias is 15 of them or more, so it is missed in fewer.
    """
    protocol, people_in, turns = asked(8.0, loss="logistic", copies="gaussian", delta=1e-3), 4, 8000
    generator, vector = np.random.default_rng(7), np.array([0.6, 0.64, 0.48])
    sigma = math.sqrt(protocol.channel.square - 1)

    def parts():
        copies = vector + sigma * generator.normal(size=(turns, people_in, 2, 3))
        longer = np.concatenate([np.ones((turns, people_in, 1)), copies[:, :, 1]], axis=2)
        return np.einsum("tmi,tmj->tij", copies[:, :, 0], longer) / people_in

    truth, found = np.outer(vector, [1, *vector]), {"reused": [], "fresh": []}
    for used, fresh in zip(parts(), parts(), strict=True):
        model = protocol.walk(used[None], np.array([people_in]))
        for name, part in (("reused", used), ("fresh", fresh)):
            found[name].append((protocol.gradient(part, model) - protocol.gradient(truth, model)) @ vector)
    off = {name: np.mean(values) / (np.std(values) / math.sqrt(turns)) for name, values in found.items()}
    assert abs(off["fresh"]) < 6 < off["reused"]
    start, rise = gradient_table("logistic", 1, 4).tolist()
    length = math.sqrt(2 / (1 + protocol.gradient_deviation**2 * 3 / people_in))
    bias = -length * start * rise * sigma**2 / people_in
    assert np.mean(found["reused"]) == pytest.approx(bias, abs=6 * np.std(found["reused"]) / math.sqrt(turns))
    assert bias > 0.07  # of a gradient whose length is at most one


@pytest.mark.slow
def test_l1_regression():
    generator = np.random.default_rng(4)
    age, hours = generator.uniform(20, 60, 6000), generator.uniform(0, 80, 6000)
    records = np.column_stack([age, hours, 2 * (age - 20) + generator.normal(0, 3, 6000)])
    protocol = asked(16.0, PAY, "pay", loss="absolute", steps=32)
    collector = protocol.collector()
    collector.add_batch(protocol.encode_many(records))
    found = collector.release().predict(records[:, :2])
    assert np.corrcoef(found, records[:, 2])[0, 1] > 0.9


# --- promises, files, refusals ---------------------------------------------------------------------------------------


def test_delta_is_in_promises_and_files_of_this_kind_only(tmp_path):
    protocol = asked(copies="gaussian", delta=1e-6)
    protocol.save(tmp_path / "p.json")
    assert sf.local.load(tmp_path / "p.json") == protocol and '"delta": 1e-06' in (tmp_path / "p.json").read_text()
    assert "delta" not in str(asked().to_json())
    collector = protocol.collector()
    collector.add_batch(protocol.encode_many(people(100)))
    release = collector.release()
    assert str(release.guarantee) == "(4, 1e-06)-differential privacy for replacing one row, local model"
    release.save(tmp_path / "r.sfumato")
    assert sf.load(tmp_path / "r.sfumato").guarantee == release.guarantee
    pure = sf.local.LinearModel(BOX, 4.0, "rich").collector()
    pure.add_batch(pure.protocol.encode_many(people(100)))
    forged = dataclasses.replace(pure.release(), guarantee=release.guarantee)
    with pytest.raises(sf.errors.SfumatoError):
        forged.save(tmp_path / "f.sfumato")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"response": "ritch"}, "did you mean 'rich'"),
        ({"loss": "squared"}, "loss must be one of 'hinge', 'logistic', 'absolute'"),
        ({"loss": "absolute"}, "loss 'absolute' needs a response of a range, which 'rich' is not"),
        ({"box": PAY, "response": "pay"}, "loss 'hinge' needs a response of two categories"),
        ({"degree": 7}, "degree must be at most 6"),
        ({"degree": 0}, "degree must be at least 1"),
        ({"steps": 10**6}, "steps must be at most 4096"),
        ({"copies": "laplace"}, "copies must be one of"),
        ({"delta": 1e-6}, "delta must be 0 for copies='privunit', which are pure"),
        ({"copies": "gaussian"}, r"delta must lie in \(0, 1\) for copies='gaussian'"),
        ({"copies": "gaussian", "delta": 1.0}, r"delta must lie in \(0, 1\)"),
        ({"algorithm": 6}, "algorithm must be 4 or 5"),
        ({"degree": 6, "steps": 4096}, "lower degree or steps"),
        ({"epsilon": 1e-6, "copies": "gaussian", "delta": 1e-9, "degree": 3}, "noise beyond 64-bit sums"),
        ({"epsilon": 0.001}, "epsilon must lie in"),
        ({"constant": 0.0}, "constant must be"),
    ],
)
def test_parameters_that_make_no_protocol_are_refused(options, words):
    with pytest.raises(ParameterError, match=words):
        asked(**options)
