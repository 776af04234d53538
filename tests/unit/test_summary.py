"""``sf.summarize``: the whole line from records to answers, and what it charges."""

import inspect

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.errors import BudgetExceededError, ParameterError, ParameterTypeError

BOX = sf.Box({"age": (0, 110), "bmi": (10, 60)})
MIXED = sf.Box(
    {
        "age": (0, 110),
        "sex": sf.Categorical(["F", "M"]),
        "hour": sf.Periodic(0, 24),
        "grade": sf.Categorical([5, 1, 2.5]),
        "visits": sf.Integer(0, 9),
    }
)
PURE = sf.Privacy(epsilon=1.0)
RNG = np.random.default_rng(9)
RECORDS = np.stack([RNG.uniform(0, 110, 500), RNG.normal(27, 4, 500)], axis=1)
TABLE = pd.DataFrame(
    {
        "age": RECORDS[:, 0],
        "sex": RNG.choice(["F", "M"], 500),
        "hour": RNG.uniform(0, 24, 500),
        "grade": RNG.choice([5, 1, 2.5], 500),
        "visits": RNG.integers(0, 10, 500),
        "id": np.arange(500) // 2,
    }
)


def bump(p):
    return np.exp(-((p[:, 0] - 40) ** 2) / 800)


def test_the_names_of_the_issue():
    found = sf.summarize(RECORDS, BOX, PURE, degree=8)
    assert isinstance(found, sf.SummaryRelease)
    one = found.answer(bump)
    assert isinstance(one, sf.Answer)
    assert one.error > 0 and one.noise_sd > 0 and one.confidence == 0.95
    assert found.answer_many([bump, bump]).value.shape == (2,)
    assert found.kde([[40.0, 27.0]], bandwidth=20.0).value.shape == (1,)
    assert found.covariance().value.shape == (2, 2)


def test_it_is_the_release_of_its_target(no_noise):
    options = {"degree": (4, 3), "interactions": 1, "noise": "laplace"}
    found, same = (
        sf.summarize(RECORDS, BOX, PURE, **options),
        sf.release(sf.CosineMoments(**options), RECORDS, BOX, PURE),
    )
    assert found.numbers.tobytes() == same.numbers.tobytes()
    assert (found.law, found.guarantee, found.basis, found.target) == (
        same.law, same.guarantee, same.basis, same.target,
    )  # fmt: skip
    assert found.law.kind == "laplace"
    defaults = {name: p.default for name, p in inspect.signature(sf.summarize).parameters.items()}
    for name in ("degree", "smoothness", "interactions", "noise", "expected_rows"):
        assert defaults[name] == getattr(sf.CosineMoments(), name)


def test_answers_without_noise_are_those_of_the_records(no_noise):
    found = sf.summarize(RECORDS, BOX, PURE, degree=10)
    assert found.answer(bump).value == pytest.approx(bump(RECORDS).mean(), abs=1e-3)
    assert found.mean().value == pytest.approx(RECORDS.mean(axis=0), abs=1e-3)


PRIVATE = {
    "add-remove": sf.Privacy(epsilon=1.0, neighbours="add-remove"),
    "person": sf.Privacy(epsilon=1.0, unit=sf.Person("id", 2)),
    "person, add-remove": sf.Privacy(epsilon=1.0, neighbours="add-remove", unit=sf.Person("id", 2)),
}


@pytest.mark.parametrize("grant", PRIVATE)
def test_every_kind_of_column_and_unit(grant, no_noise):
    found = sf.summarize(TABLE, MIXED, PRIVATE[grant], degree=4, interactions=2)
    assert found.rows is None
    assert found.numbers[0] == 500.0
    assert len(found.numbers) == found.indices.size
    assert found.share({"sex": "M", "grade": 2.5}).value == pytest.approx(
        ((TABLE.sex == "M") & (TABLE.grade == 2.5)).mean(), abs=1e-4
    )
    assert found.mean(["age", "visits"]).value == pytest.approx(TABLE[["age", "visits"]].mean().to_numpy(), abs=1e-3)
    assert found.covariance(["age", "visits"]).value == pytest.approx(
        np.cov(TABLE.age, TABLE.visits, bias=True), abs=0.1
    )
    assert found.guarantee.unit == PRIVATE[grant].unit


def test_a_public_number_of_rows_is_not_a_noisy_one():
    found = sf.summarize(TABLE, MIXED, PURE, degree=3, interactions=1)
    assert found.rows == 500
    assert len(found.numbers) == found.indices.size - 1
    assert found.count({"sex": ["F", "M"]}).value == pytest.approx(500)


def test_missing_values_are_spread_over_their_column(no_noise):
    """A missing value has the moments of an even angle: mean in the middle, half of the squares."""
    data = pd.DataFrame({"age": [np.nan, np.nan], "bmi": [20.0, 30.0]})
    found = sf.summarize(data, BOX, PURE, degree=4)
    assert found.mean().value == pytest.approx([55.0, 25.0], abs=1e-3)
    assert found.variance("age").value == pytest.approx(55**2 / 2, abs=0.1)
    assert found.covariance().value[0, 1] == pytest.approx(0.0, abs=0.1)
    kinds = pd.DataFrame({"s": ["F", None, "other", "M"]})
    spread = sf.summarize(kinds, sf.Box({"s": sf.Categorical(["F", "M"])}), PURE, degree=2)
    assert spread.share({"s": "F"}).value == pytest.approx(0.5, abs=1e-4)


@pytest.mark.parametrize("noise", ["linf", "laplace", "gaussian"])
def test_noise_can_be_chosen(noise):
    privacy = sf.Privacy(epsilon=1.0, delta=1e-6)
    found = sf.summarize(RECORDS, BOX, privacy, degree=4, noise=noise)
    assert found.law.kind == noise
    assert found.guarantee.delta == (1e-6 if noise == "gaussian" else 0.0)


def test_two_summaries_have_different_noise():
    first, second = (sf.summarize(RECORDS, BOX, PURE, degree=4) for _ in range(2))
    assert first.numbers.tobytes() != second.numbers.tobytes()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"degree": 4, "smoothness": 2}, "give degree or smoothness, not both"),
        ({"degree": 1}, "leaves no moments"),
        ({"degree": (2, 2, 2)}, r"one per column \(2\)"),
        ({"interactions": "most"}, "interactions must be"),
        ({"noise": "cauchy"}, "noise must be one of"),
        ({"degree": 1024, "interactions": "full"}, None),
    ],
)
def test_bad_parameters_are_refused_before_anything_is_read(options, words):
    box = BOX if words else sf.Box([(0, 1)] * 9)
    with pytest.raises(ParameterError, match=words or "use interactions=2"):
        sf.summarize("no-such-file.csv", box, PURE, **options)


def test_the_box_and_the_grant_are_needed():
    with pytest.raises(ParameterTypeError, match=r"box must be an sf\.Box"):
        sf.summarize(RECORDS, None, PURE)
    with pytest.raises(ParameterTypeError, match=r"privacy must be an sf\.Privacy"):
        sf.summarize(RECORDS, BOX, 1.0)
    with pytest.raises(TypeError):
        sf.summarize(RECORDS, BOX, PURE, 8)  # options have names


def test_a_ledger_is_charged_and_refuses_more_than_there_is(tmp_path):
    account = sf.Ledger(tmp_path / "budget.db").account("clinic", limit=sf.Privacy(epsilon=1.5))
    found = sf.summarize(RECORDS, BOX, PURE, degree=4, ledger=account)
    assert (found.receipt.account, found.receipt.entry) == ("clinic", 1)
    with pytest.raises(BudgetExceededError):
        sf.summarize(RECORDS, BOX, PURE, degree=4, ledger=account)
    found.save(tmp_path / "s.sfumato")
    assert sf.load(tmp_path / "s.sfumato").receipt == found.receipt
    answers = [found.answer(bump) for _ in range(3)]  # free, for ever
    assert answers[0] == answers[1] == answers[2]
