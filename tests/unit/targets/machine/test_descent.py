"""Learners by gradient descent with noise in every step."""

import json
from dataclasses import replace

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save as pack

import sfumato as sf
from sfumato.errors import BudgetExceededError, FileFormatError, ParameterError
from sfumato.faces import face_of
from sfumato.pipeline import prepare
from sfumato.targets.machine import examples

ROWS = 600
RNG = np.random.default_rng(5)
POINTS = RNG.random((ROWS, 2))
LABELS = np.where(POINTS @ [1.0, 2.0] + 0.1 * RNG.standard_normal(ROWS) > 1.5, "yes", "no")
BOX = sf.Box({"a": (0.0, 1.0), "b": (0.0, 1.0)})
LOOSE = sf.Privacy(8.0, 1e-5)
MANY = sf.Box([(0.0, 1.0)] * 40, max_norm=2.0)


def learner(**options):
    settings = {"response": "y", "classes": ["no", "yes"], "mechanism": "descent", "C": 1000.0, "prior": "even"}
    return sf.KernelMachine(**{"loss": "logistic", "kernel": "linear", **settings, **options})


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(examples, "BLOCK", 192)


@pytest.fixture(scope="module")
def released():
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(examples, "BLOCK", 192)
        return sf.release(learner(), (POINTS, LABELS), BOX, LOOSE)


@pytest.mark.parametrize("privacy", [LOOSE, sf.Privacy(rho=5.0), replace(LOOSE, neighbours="add-remove")])
def test_it_learns(privacy):
    found = sf.release(learner(expected_rows=ROWS), (POINTS, LABELS), BOX, privacy)
    assert found.mechanism == "descent"
    assert np.mean(found.predict(POINTS) == LABELS) > 0.8


def test_persons_with_several_rows():
    table = {"a": POINTS[:, 0], "b": POINTS[:, 1], "y": LABELS, "who": np.arange(ROWS) // 2}
    found = sf.release(learner(expected_rows=ROWS), table, BOX, replace(LOOSE, unit=sf.Person("who", 2)))
    assert found.law.certificate.bound == 4 * found.handed.descent.budget
    assert not found.guarantee.assumptions


@pytest.mark.parametrize("loss", ["logistic", sf.SmoothedHinge(0.5)])
def test_without_noise_it_comes_near_the_minimiser(loss, no_noise):
    own = sf.release(learner(loss=loss, C=20.0), (POINTS, LABELS), BOX, LOOSE)
    exact = sf.release(learner(loss=loss, C=20.0, mechanism="output"), (POINTS, LABELS), BOX, LOOSE)
    assert np.corrcoef(own(POINTS), exact(POINTS))[0, 1] > 0.995
    assert np.mean(own.predict(POINTS) == exact.predict(POINTS)) > 0.95


def test_a_regression_keeps_its_squared_loss(no_noise):
    found = sf.release(
        learner(loss="squared", classes=None, range=(0.0, 3.0), prior="auto"), (POINTS, POINTS @ [1.0, 2.0]), BOX, LOOSE
    )
    assert dict(found.target)["loss"] == "squared"
    assert np.abs(found(POINTS) - POINTS @ [1.0, 2.0]).mean() < 0.1


def test_classes_one_against_the_rest(no_noise):
    labels = np.where(POINTS[:, 0] > 0.6, "c", LABELS)
    found = sf.release(learner(classes=["no", "yes", "c"]), (POINTS, labels), BOX, LOOSE)
    assert found.weights.shape[0] == 3
    assert np.mean(found.predict(POINTS) == labels) > 0.8


@pytest.mark.parametrize(
    ("options", "privacy", "message"),
    [
        ({}, sf.Privacy(1.0), "delta > 0, or rho"),
        ({"loss": "hinge", "prior": "auto"}, LOOSE, "without corners"),
    ],
)
def test_what_it_cannot_do_is_refused(options, privacy, message):
    with pytest.raises(ParameterError, match=message) as refused:
        prepare(learner(**options), BOX, privacy, 100)
    assert refused.value.parameter == "mechanism"


def test_values_on_a_lattice_are_refused():
    with pytest.raises(ParameterError, match="mechanism='output'"):
        prepare(learner(kernel=sf.RBF(1.0)), BOX, LOOSE, 100, basis=sf.Bernstein(4))


def test_the_guarantee_is_the_grant_and_says_the_ratio_of_all_steps(released):
    assert (released.guarantee.epsilon, released.guarantee.delta, released.guarantee.rho) == (8.0, 1e-5, None)
    assert released.guarantee.epsilon_at(1e-5) <= 8.0 * (1 + 1e-9)
    assert released.guarantee.epsilon_at(1e-3) < 8.0
    concentrated = prepare(learner(), BOX, sf.Privacy(rho=0.5), 100).guarantee
    assert (concentrated.epsilon, concentrated.delta, concentrated.rho) == (None, None, 0.5)


def test_one_event_is_charged_for_all_steps(tmp_path):
    account = sf.Ledger(tmp_path / "budget.db").account("a", sf.Privacy(8.0, 2e-5))
    sf.release(learner(), (POINTS, LABELS), BOX, LOOSE, ledger=account)
    events = [entry.event for entry in account.history()]
    assert [event.mechanism for event in events] == ["descent"]
    assert events[0].mu == pytest.approx(prepare(learner(), BOX, LOOSE, ROWS).guarantee.mu)
    with pytest.raises(BudgetExceededError):
        sf.release(learner(), (POINTS, LABELS), BOX, LOOSE, ledger=account)


def test_a_file_keeps_it(released, tmp_path):
    released.save(tmp_path / "a.sfumato")
    found = sf.load(tmp_path / "a.sfumato")
    assert np.array_equal(found.weights, released.weights)
    assert found.handed.descent == released.handed.descent
    assert found.mechanism == "descent"


def forged(released, tmp_path, change):
    released.save(tmp_path / "a.sfumato")
    with safe_open(tmp_path / "a.sfumato", framework="numpy") as container:
        arrays = {key: container.get_tensor(key) for key in container.keys()}  # noqa: SIM118
        document = json.loads(container.metadata()["sfumato"])
    change(document)
    (tmp_path / "b.sfumato").write_bytes(pack(arrays, metadata={"sfumato": json.dumps(document)}))
    return sf.load(tmp_path / "b.sfumato")


CHANGES = {
    "more steps": lambda d: d["content"]["descent"].update(steps=65),
    "a smaller budget": lambda d: d["content"]["descent"].update(budget=d["content"]["descent"]["budget"] // 2),
    "no descent": lambda d: d["content"].pop("descent"),
    "a better ratio": lambda d: d["guarantee"].update(mu=d["guarantee"]["mu"] / 2),
    "a smaller epsilon": lambda d: d["guarantee"].update(epsilon=4.0),
    "pure": lambda d: d["guarantee"].update(delta=0.0),
    "a steeper loss": lambda d: d["content"]["learner"]["loss"].update(name="squared"),
    "no recipe": lambda d: d["content"].pop("learner"),
    "no steps": lambda d: d["content"]["descent"].update(steps=0),
}


@pytest.mark.parametrize("name", list(CHANGES))
def test_a_file_that_promises_more_than_its_steps_keep_is_refused(name, released, tmp_path):
    with pytest.raises(FileFormatError):
        forged(released, tmp_path, CHANGES[name])


def test_the_band_is_wide_and_holds_what_no_noise_gives(released, no_noise):
    quiet = sf.release(learner(), (POINTS, LABELS), BOX, LOOSE)
    low, high = released.band(POINTS)
    assert (low <= quiet(POINTS)).all() and (quiet(POINTS) <= high).all()
    assert np.linalg.norm(released.weights) <= released.handed.descent.ball * (1 + 1e-9)


def test_it_says_what_it_is(released):
    assert "gradient descent" in prepare(learner(), BOX, LOOSE, 100).noise_words()
    face = face_of(released)
    assert "in each of 64 steps of gradient descent" in face.noise_lines()[0]
    assert face.data()["descent"]["steps"] == 64
    assert face.page()["machine"]["descent"]["ball"] == released.handed.descent.ball


# --- where it is chosen -----------------------------------------------------------------------------------------------


def chosen(box=MANY, rows=20_000, privacy=None, **options):
    target = sf.KernelMachine("logistic", "linear", response="y", classes=["no", "yes"], **options)
    return target.settled(box, rows, privacy or sf.Privacy(0.1, 1e-6)).mechanism


def test_it_is_chosen_for_many_columns_at_little_privacy():
    assert chosen() == "descent"
    assert chosen(privacy=sf.Privacy(0.1)) != "descent"  # pure
    assert chosen(box=BOX) != "descent"  # few columns
    assert chosen(rows=10**8, privacy=sf.Privacy(3.0, 1e-6)) == "objective"
    assert chosen(privacy=sf.Privacy(rho=1e-3)) in ("descent", "output")


@pytest.mark.parametrize(("rows", "epsilon"), [(3_000, 0.3), (50_000, 1.0), (10**7, 3.0)])
def test_what_it_may_become_when_shares_are_known_can_be_prepared(rows, epsilon):
    privacy = sf.Privacy(epsilon, 1e-6)
    found = prepare(sf.KernelMachine("logistic", "linear", response="y", classes=["no", "yes"]), MANY, privacy, rows)
    others = found.target.others()
    assert [one.mechanism for one in others] == ([] if found.target.mechanism == "descent" else ["descent"])
    for one in others:
        assert prepare(one, MANY, privacy, rows).event().mechanism == "descent"
